//! Each reason for which a GPU can be missing has its own message.

use crate::fake::{Driver, on_machine};
use crate::fakes::scratch;
use kernels::Error;
use kernels::device::cuda::{Cuda, nvrtc, probe};
use kernels::error::Absent;

/// Returns the message, after checking that it names a remedy.
fn absent() -> (Absent, String) {
    let absent = probe().expect_err("nothing usable is here");
    let sentence = Error::from(absent.clone()).to_string();
    assert!(sentence.contains("run on the processors"), "{sentence}");
    let opened = Cuda::open(0).err().expect("nothing usable can be opened");
    assert!(matches!(opened, Error::NoDevice(_)), "{opened}");
    assert_eq!(opened.to_string(), sentence);
    (absent, sentence)
}

fn assert_contains(sentence: &str, words: &[&str]) {
    for word in words {
        assert!(sentence.contains(word), "{word:?} is missing in: {sentence}");
    }
}

#[test]
fn this_machine_is_probed_without_a_panic() {
    match probe() {
        Ok(devices) => assert!(devices.iter().all(|device| device.architecture >= 80)),
        Err(absent) => {
            let sentence = Error::from(absent).to_string();
            assert!(sentence.contains("run on the processors"), "{sentence}")
        }
    }
}

#[test]
fn no_driver() {
    on_machine("probe::no_driver", Driver::None, &[], || {
        let (kind, sentence) = absent();
        assert_eq!(kind, Absent::NoDriver);
        assert_contains(&sentence, &["libcuda.so.1 was not found", "install the driver"]);
    });
}

#[test]
fn driver_without_functions() {
    on_machine("probe::driver_without_functions", Driver::Hollow, &[], || {
        let (_, sentence) = absent();
        assert_contains(
            &sentence,
            &[
                "lacks cuCtxEnablePeerAccess, ",
                "more functions",
                "CUDA 12.0 or newer",
            ],
        );
    });
}

#[test]
fn old_driver() {
    let old = [("FAKE_DRIVER", "11080")];
    on_machine("probe::old_driver", Driver::Fake, &old, || {
        let (_, sentence) = absent();
        assert_contains(
            &sentence,
            &["for CUDA 11.8", "at least 12.0", "update the driver"],
        );
    });
}

#[test]
fn broken_driver() {
    let broken = [("FAKE_INIT", "999")];
    on_machine("probe::broken_driver", Driver::Fake, &broken, || {
        let (_, sentence) = absent();
        assert_contains(
            &sentence,
            &["CUDA_ERROR_UNKNOWN (999): as the fake says", "nvidia-smi works"],
        );
    });
}

#[test]
fn stub_of_a_toolkit() {
    let stub = [("FAKE_INIT", "34")];
    on_machine("probe::stub_of_a_toolkit", Driver::Fake, &stub, || {
        assert_contains(&absent().1, &["(34)", "LD_LIBRARY_PATH"]);
    });
}

#[test]
fn no_device() {
    let none = [("FAKE_INIT", "100")];
    on_machine("probe::no_device", Driver::Fake, &none, || {
        let (kind, sentence) = absent();
        assert_eq!(kind, Absent::NoDevice);
        assert_contains(&sentence, &["sees no GPU", "nvidia-smi"]);
    });
}

#[test]
fn devices_hidden_by_a_word() {
    let hidden = [("FAKE_INIT", "100"), ("CUDA_VISIBLE_DEVICES", "7")];
    on_machine("probe::devices_hidden_by_a_word", Driver::Fake, &hidden, || {
        assert_contains(
            &absent().1,
            &["CUDA_VISIBLE_DEVICES=\"7\" hides every", "unset it"],
        );
    });
}

#[test]
fn devices_hidden_by_nothing() {
    let hidden = [("FAKE_DEVICES", "0"), ("CUDA_VISIBLE_DEVICES", "")];
    on_machine("probe::devices_hidden_by_nothing", Driver::Fake, &hidden, || {
        assert_contains(&absent().1, &["CUDA_VISIBLE_DEVICES=\"\" hides every"]);
    });
}

#[test]
fn old_devices_only() {
    let old = [("FAKE_CAPABILITY", "70,75")];
    on_machine("probe::old_devices_only", Driver::Fake, &old, || {
        assert_contains(
            &absent().1,
            &["Fake 0 has 7.0, Fake 1 has 7.5", "compute capability 8.0"],
        );
    });
}

#[test]
fn old_devices_are_left_out() {
    let mixed = [("FAKE_CAPABILITY", "75,120"), ("FAKE_DEVICES", "2")];
    on_machine("probe::old_devices_are_left_out", Driver::Fake, &mixed, || {
        let devices = probe().expect("one is new enough");
        let [device] = devices.as_slice() else {
            panic!("one device is usable, not {devices:?}");
        };
        assert_eq!((device.number, device.architecture), (1, 120));
        assert_eq!((device.multiprocessors, device.shared_bytes), (7, 100_000));
        assert_eq!((device.name.as_str(), device.memory_bytes), ("Fake 1", 1 << 20));
        let refused = Cuda::open(0).err().expect("0 is too old").to_string();
        assert_contains(&refused, &["no usable GPU 0", "the numbers are 1"]);
    });
}

#[test]
fn no_compiler() {
    let nowhere = [("SIFAKA_NVRTC", "/nowhere/lib")];
    on_machine("probe::no_compiler", Driver::Fake, &nowhere, || {
        let words = [
            "SIFAKA_NVRTC names /nowhere/lib",
            "pip install nvidia-cuda-nvrtc==13.0.88",
        ];
        assert_contains(&absent().1, &words);
    });
}

#[test]
fn compiler_newer_than_the_driver() {
    let old = [("FAKE_DRIVER", "12040")];
    on_machine(
        "probe::compiler_newer_than_the_driver",
        Driver::Fake,
        &old,
        || {
            let words = [
                "NVRTC 13.0",
                "libnvrtc.so.13",
                "for CUDA 12.4",
                "nvidia-cuda-nvrtc-cu12",
            ];
            assert_contains(&absent().1, &words);
        },
    );
}

#[test]
fn older_minor_driver_of_the_same_major_is_fine() {
    let same = [("FAKE_DRIVER", "12040"), ("FAKE_NVRTC", "12")];
    on_machine(
        "probe::older_minor_driver_of_the_same_major_is_fine",
        Driver::Fake,
        &same,
        || {
            assert_eq!(probe().expect("usable").len(), 2);
        },
    );
}

/// The compiler is taken from the toolkit of CUDA_PATH before the toolkit of CUDA_HOME, and from lib64 before lib.
#[test]
fn toolkits_of_the_environment_are_searched_in_their_order() {
    let top = scratch().join("toolkits");
    let file = |toolkit: &str, folder: &str| top.join(toolkit).join(folder).join("libnvrtc.so.13");
    for (toolkit, folder) in [
        ("path", "lib64"),
        ("path", "lib"),
        ("home", "lib64"),
        ("home", "lib"),
    ] {
        let link = file(toolkit, folder);
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        if link.symlink_metadata().is_err() {
            std::os::unix::fs::symlink(scratch().join("compiler/libnvrtc.so.13"), link).unwrap();
        }
    }
    let [path, home] = ["path", "home"].map(|toolkit| top.join(toolkit).display().to_string());
    let both = [("SIFAKA_NVRTC", ""), ("CUDA_PATH", &path), ("CUDA_HOME", &home)];
    let name = "probe::toolkits_of_the_environment_are_searched_in_their_order";
    for (variables, toolkit) in [(&both[..], "path"), (&[both[0], both[2]], "home")] {
        on_machine(name, Driver::Fake, variables, || {
            // The process has one of the two settings, and finds the compiler once.
            let set = if std::env::var_os("CUDA_PATH").is_some() {
                "path"
            } else {
                "home"
            };
            if set == toolkit {
                let library = nvrtc::find().expect("both toolkits have a compiler");
                assert_eq!(library.place, file(toolkit, "lib64").display().to_string());
            }
        });
    }
}
