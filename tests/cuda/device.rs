//! The driver is called for the right device and in the right order, and everything is freed.

use crate::fake::{Driver, on_machine};
use kernels::Error;
use kernels::device::accelerator::{Accelerator, Dims, Memory, Pinned, Source, Stream};
use kernels::device::cuda::{Cuda, DeviceMemory, Kernel};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;

const FIVE: Dims = Dims {
    grid: [1, 1, 1],
    threads: 64,
    shared: 0,
};

fn on_fake(name: &str, variables: &[(&str, &str)], body: impl FnOnce()) {
    on_machine(&format!("device::{name}"), Driver::Fake, variables, body);
}

fn open(number: usize) -> Cuda {
    Cuda::open(number).expect("the fake opens")
}

fn source(body: &str) -> Source {
    Source {
        name: "test.cu X=1".to_string(),
        text: format!("__global__ void add(); __global__ void fault(); {body}"),
    }
}

fn kernels(cuda: &Cuda) -> [Kernel; 2] {
    let loaded = cuda.load(&source(""), &["add", "fault"]).expect("it has both");
    loaded.try_into().expect("two were asked for")
}

/// The fake's kernel `add(memory, count, value)` adds `value` to each number.
fn add(cuda: &Cuda, kernel: &Kernel, to: &DeviceMemory, value: f32) -> Result<(), Error> {
    let (address, count) = (to.address(), (to.bytes() / 4) as u32);
    let args = [
        (&raw const address).cast::<c_void>(),
        (&raw const count).cast(),
        (&raw const value).cast(),
    ];
    // SAFETY: these are the arguments of the fake's kernel, and the memory outlives the launch.
    unsafe { cuda.launch(Stream::Main, kernel, FIVE, &args) }
}

fn read(cuda: &Cuda, from: &DeviceMemory) -> Vec<f32> {
    let mut host = cuda.pin(from.bytes() + 8).expect("host memory");
    // SAFETY: both outlive the copy, which is awaited.
    unsafe { cuda.download(Stream::Out, from.address(), &mut host, 8, from.bytes()) }.expect("a copy");
    cuda.finish().expect("nothing failed");
    let numbers = host.bytes()[8..].chunks_exact(4);
    numbers
        .map(|four| f32::from_le_bytes(four.try_into().expect("four")))
        .collect()
}

/// The calls that the fake has received so far.
fn journal() -> String {
    // SAFETY: these are the fake's own functions.
    let text = unsafe {
        let read_journal =
            cudarc::driver::sys::culib().get::<extern "C" fn() -> *const c_char>("fake_journal");
        CStr::from_ptr(read_journal.expect("the fake is loaded")())
    };
    text.to_string_lossy().into_owned()
}

/// The number of objects of the driver that have not been freed.
fn live() -> c_int {
    // SAFETY: this is the fake's own function.
    unsafe { cudarc::driver::sys::culib().get::<extern "C" fn() -> c_int>("fake_live") }
        .expect("the fake is loaded")()
}

fn message<T>(result: Result<T, Error>) -> String {
    result.err().expect("it fails").to_string()
}

fn assert_contains(sentence: &str, words: &[&str]) {
    for word in words {
        assert!(sentence.contains(word), "{word:?} is missing in: {sentence}");
    }
}

#[test]
fn memory_is_zeroed_copied_and_given_back() {
    on_fake("memory_is_zeroed_copied_and_given_back", &[], || {
        let cuda = open(1);
        assert_eq!((cuda.properties().number, cuda.note()), (1, None));
        let memory = cuda.allocate(12).expect("there is room");
        assert_eq!(read(&cuda, &memory), [0.0; 3]);
        let mut host = cuda.pin(16).expect("host memory");
        assert_eq!(host.bytes(), [0; 16]);
        host.bytes_mut()[4..].copy_from_slice(&[0, 0, 128, 63, 0, 0, 0, 64, 0, 0, 64, 64]);
        // SAFETY: all memory lives until it is read back.
        unsafe {
            cuda.upload(Stream::Main, &host, 4, memory.address(), 12)
                .expect("up");
            let copy = cuda.allocate(12).expect("there is room");
            cuda.copy_to(Stream::Main, memory.address(), &cuda, copy.address(), 12)
                .expect("inside");
            assert_eq!(read(&cuda, &copy), [1.0, 2.0, 3.0]);
        }
        assert_eq!(cuda.allocate(0).expect("an empty allocation works").bytes(), 0);
        drop(cuda);
        assert!(live() > 0, "memory keeps its device alive");
        drop((memory, host));
        assert_eq!(live(), 0, "everything is freed");
        let journal = journal();
        // Host memory is not write-combined; streams are non-blocking, and one is made first; there are no events.
        assert_contains(
            &journal,
            &[
                "pin 16 1\n",
                "stream 1 -5\nstream 1 0\nstream 1 0\nstream 1 0\n",
                "inside 12 1\n",
            ],
        );
    });
}

#[test]
fn a_full_device_reports_what_was_requested_and_free() {
    let small = [("FAKE_MEMORY", "1000")];
    on_fake(
        "a_full_device_reports_what_was_requested_and_free",
        &small,
        || {
            let cuda = open(0);
            let _most = cuda.allocate(900).expect("there is room");
            assert_eq!(cuda.free_bytes().expect("it answers"), 100);
            let sentence = message(cuda.allocate(101));
            assert_contains(
                &sentence,
                &["GPU 0 (Fake 0)", "101 bytes more", "100 are free", "more GPUs"],
            );
        },
    );
}

#[test]
fn kernels_get_their_arguments_and_all_shared_memory() {
    on_fake("kernels_get_their_arguments_and_all_shared_memory", &[], || {
        let cuda = open(0);
        let [kernel, _] = kernels(&cuda);
        let memory = cuda.allocate(20).expect("there is room");
        add(&cuda, &kernel, &memory, 1.5).expect("it runs");
        assert_eq!(read(&cuda, &memory), [1.5; 5]);
        // The kernels of the fake use 1000 of the 100 000 bytes that a block can have.
        assert_eq!(
            cuda.resident_blocks(&kernel, 1024, 99_000).expect("it answers"),
            2
        );
        assert_eq!(
            cuda.resident_blocks(&kernel, 1024, 99_001).expect("it answers"),
            0
        );
        let drops = (cuda, kernel);
        drop(drops.0);
        assert!(live() > 0, "a kernel keeps its device alive");
    });
}

#[test]
fn failures_name_the_kernel() {
    on_fake("failures_name_the_kernel", &[], || {
        let cuda = open(0);
        let words = ["kernel gone of test.cu X=1", "(500)"];
        assert_contains(&message(cuda.load(&source(""), &["gone"])), &words);
        let words = [
            "test.cu X=1 does not compile for sm_90a by NVRTC 13.0",
            "the compiler's log",
        ];
        assert_contains(&message(cuda.load(&source("syntax error"), &["add"])), &words);
        let [kernel, _] = kernels(&cuda);
        let dims = Dims {
            threads: 2000,
            ..FIVE
        };
        // SAFETY: the copy is refused before it reads anything.
        let refused = message(unsafe { cuda.launch(Stream::Main, &kernel, dims, &[]) });
        assert_contains(
            &refused,
            &[
                "GPU 0 (Fake 0): starting kernel add of test.cu X=1",
                "threads: 2000",
                "(1)",
            ],
        );
        assert!(
            !refused.contains("CUDA_SYNC"),
            "no other kernel can be the cause: {refused}"
        );
    });
}

#[test]
fn blocks_are_counted_along_their_axes() {
    on_fake("blocks_are_counted_along_their_axes", &[], || {
        let cuda = open(0);
        let wide = cuda.load(&source("__global__ void wide();"), &["wide"]);
        let grid = [5, 3, 2];
        // SAFETY: the kernel takes no arguments and does nothing.
        unsafe {
            cuda.launch(
                Stream::Main,
                &wide.expect("it is there")[0],
                Dims { grid, ..FIVE },
                &[],
            )
        }
        .expect("it is small enough");
        assert_contains(&journal(), &["grid 3 2\nlaunch 5 64\n"]);
    });
}

#[test]
fn a_fault_surfaces_late_with_a_hint_how_to_find_it() {
    on_fake("a_fault_surfaces_late_with_a_hint_how_to_find_it", &[], || {
        let cuda = open(0);
        let [kernel, fault] = kernels(&cuda);
        let memory = cuda.allocate(4).expect("there is room");
        // SAFETY: the kernel takes no arguments.
        unsafe { cuda.launch(Stream::Main, &fault, FIVE, &[]) }.expect("only started");
        let first = message(cuda.finish());
        let words = [
            "finishing the work of stream Edges",
            "CUDA_ERROR_ILLEGAL_ADDRESS (700)",
            "CUDA_SYNC=1",
            "stays readable",
        ];
        assert_contains(&first, &words);
        let second = message(add(&cuda, &kernel, &memory, 1.0));
        assert_contains(&second, &["first seen while finishing the work of stream Edges"]);
    });
}

#[test]
fn cuda_sync_finds_the_kernel() {
    on_fake("cuda_sync_finds_the_kernel", &[("CUDA_SYNC", "1")], || {
        let cuda = open(0);
        let [kernel, fault] = kernels(&cuda);
        let memory = cuda.allocate(4).expect("there is room");
        add(&cuda, &kernel, &memory, 1.0).expect("it runs");
        // SAFETY: the kernel takes no arguments.
        let error = message(unsafe { cuda.launch(Stream::Edges, &fault, FIVE, &[]) });
        assert_contains(&error, &["running kernel fault of test.cu X=1", "(700)"]);
        assert!(!error.contains("CUDA_SYNC"), "the event is set already: {error}");
    });
}

#[test]
fn recorded_work_runs_when_it_is_replayed() {
    // Like the driver, the fake refuses to wait for a stream that is being captured.
    for sync in ["0", "1"] {
        on_fake(
            "recorded_work_runs_when_it_is_replayed",
            &[("CUDA_SYNC", sync)],
            || {
                let cuda = open(0);
                let [kernel, _] = kernels(&cuda);
                let memory = cuda.allocate(8).expect("there is room");
                let graph = cuda
                    .capture(&mut || {
                        add(&cuda, &kernel, &memory, 1.0)?;
                        add(&cuda, &kernel, &memory, 2.0)
                    })
                    .expect("it records");
                assert_eq!(read(&cuda, &memory), [0.0; 2]);
                cuda.launch_graph(&graph).expect("it runs");
                cuda.launch_graph(&graph).expect("it runs again");
                assert_eq!(read(&cuda, &memory), [6.0; 2]);
                drop(kernel);
                let broken = cuda.capture(&mut || Err(Error::setup("in the middle")));
                assert_eq!(message(broken), "in the middle");
                add(&cuda, &kernels(&cuda)[0], &memory, 1.0).expect("the stream records no longer");
                assert_eq!(read(&cuda, &memory), [7.0; 2]);
                // The unwinding prints no panic message, because the other process searches the output for panic
                // messages.
                let panicked = catch_unwind(AssertUnwindSafe(|| {
                    cuda.capture(&mut || resume_unwind(Box::new("in the middle of recorded work")))
                }));
                assert!(panicked.is_err());
                add(&cuda, &kernels(&cuda)[0], &memory, 1.0).expect("the stream records no longer");
                assert_eq!(read(&cuda, &memory), [8.0; 2]);
                drop((graph, memory, cuda));
                assert_eq!(live(), 0);
            },
        );
    }
}

/// The reported error is the one that occurred during the recording, not the invalid recording that results from it.
#[test]
fn the_reason_of_a_broken_recording_is_reported() {
    let broken = [("FAKE_CAPTURE", "901")];
    on_fake("the_reason_of_a_broken_recording_is_reported", &broken, || {
        let cuda = open(0);
        let inside = cuda.capture(&mut || Err(Error::setup("in the middle")));
        assert_eq!(message(inside), "in the middle");
        assert_contains(&message(cuda.capture(&mut || Ok(()))), &["(901)"]);
    });
}

#[test]
fn a_fault_in_recorded_work_names_its_kernels() {
    let faulty = [("FAKE_GRAPH", "700"), ("CUDA_SYNC", "1")];
    on_fake("a_fault_in_recorded_work_names_its_kernels", &faulty, || {
        let cuda = open(0);
        let [kernel, _] = kernels(&cuda);
        let memory = cuda.allocate(8).expect("there is room");
        let graph = cuda
            .capture(&mut || add(&cuda, &kernel, &memory, 1.0))
            .expect("it records");
        let words = ["running recorded work (kernel add of test.cu X=1)", "(700)"];
        assert_contains(&message(cuda.launch_graph(&graph)), &words);
    });
}

#[test]
fn neighbours_copy_and_wait_for_each_other() {
    on_fake("neighbours_copy_and_wait_for_each_other", &[], || {
        let (one, two) = (open(0), open(1));
        assert!(one.enable_peer_access(&two).expect("they answer"));
        assert!(two.enable_peer_access(&one).expect("once more does no harm"));
        let (from, to) = (one.allocate(4).expect("room"), two.allocate(4).expect("room"));
        add(&one, &kernels(&one)[0], &from, 2.5).expect("it runs");
        let event = one.event().expect("an event");
        one.synchronize(&event).expect("reached before it is set");
        // SAFETY: both live until the end.
        unsafe { one.copy_to(Stream::Edges, from.address(), &two, to.address(), 4) }.expect("a copy");
        one.record(Stream::Edges, &event).expect("set");
        two.wait(Stream::Main, &event).expect("another device's event");
        one.synchronize(&event).expect("reached");
        assert_eq!(read(&two, &to), [2.5]);
        let journal = journal();
        // Events have no timing; peer access is enabled in both directions; each call has its own device bound.
        assert_contains(
            &journal,
            &[
                "event 2 0\n",
                "peer 0 1\n",
                "peer 1 0\n",
                "across 0 1\n",
                "set 0 0\n",
                "wait 1 1\n",
            ],
        );
    });
}

/// The fake refuses the calls that CUDA refuses.
#[test]
fn an_event_of_another_device_and_a_thread_without_a_context_are_refused() {
    let name = "an_event_of_another_device_and_a_thread_without_a_context_are_refused";
    on_fake(name, &[], || {
        let (one, two) = (open(0), open(1));
        let event = two.event().expect("an event");
        assert_contains(&message(one.record(Stream::Main, &event)), &["400", "event"]);
        let alone = std::thread::spawn(|| {
            let mut event = std::ptr::null_mut();
            // SAFETY: the fake's function, which fills in a pointer.
            unsafe { cudarc::driver::sys::cuEventCreate(&mut event, 0) }
        });
        assert_eq!(alone.join().expect("it returns") as u32, 201);
    });
}

/// The fake counts correctly if many threads call it at once: if its journal had more than one writer, lines would be
/// missing or torn, and objects would seem to be left over.
#[test]
fn many_threads_use_many_devices() {
    const THREADS: usize = 16;
    const ROUNDS: usize = 400;
    let many = [("FAKE_DEVICES", "8"), ("FAKE_MEMORY", "100000000")];
    on_fake("many_threads_use_many_devices", &many, || {
        let devices: Vec<Cuda> = (0..8).map(open).collect();
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (own, next) = (&devices[thread % 8], &devices[(thread + 1) % 8]);
                scope.spawn(move || {
                    for _ in 0..ROUNDS {
                        let (from, to) = (own.allocate(64).expect("room"), next.allocate(64).expect("room"));
                        add(own, &kernels(own)[0], &from, 1.5).expect("it runs");
                        let event = own.event().expect("an event");
                        // SAFETY: both live until the end of the round.
                        unsafe { own.copy_to(Stream::Edges, from.address(), next, to.address(), 64) }
                            .expect("a copy");
                        own.record(Stream::Edges, &event).expect("set");
                        next.wait(Stream::Main, &event).expect("another device's event");
                        assert_eq!(read(next, &to), [1.5; 16]);
                    }
                });
            }
        });
        let journal = journal();
        for word in ["event 2 ", "across ", "set ", "wait ", "launch "] {
            let lines = journal.lines().filter(|line| line.starts_with(word));
            assert_eq!(lines.count(), THREADS * ROUNDS, "{word}");
        }
        assert!(journal.lines().all(|line| line.split(' ').count() == 3));
        drop(devices);
        assert_eq!(live(), 0, "everything is freed");
    });
}

#[test]
fn strangers_are_distinguished() {
    on_fake("strangers_are_distinguished", &[("FAKE_PEERS", "0")], || {
        assert!(!open(0).enable_peer_access(&open(1)).expect("they answer"));
    });
}

/// A query that the driver cannot answer is an error; it does not mean that the devices have no access to each other.
#[test]
fn a_driver_that_cannot_identify_strangers_is_an_error() {
    let variables = [("FAKE_PEERS", "0"), ("FAKE_ACCESS", "101")];
    on_fake(
        "a_driver_that_cannot_identify_strangers_is_an_error",
        &variables,
        || {
            let error = open(0)
                .enable_peer_access(&open(1))
                .expect_err("it does not answer");
            assert!(
                error.to_string().contains("asking for access to the memory of"),
                "{error}"
            );
        },
    );
}

#[test]
fn a_thread_binds_its_device_once() {
    on_fake("a_thread_binds_its_device_once", &[], || {
        let cuda = open(0);
        let event = cuda.event().expect("an event");
        let binds = || journal().matches("bind").count();
        let before = binds();
        for _ in 0..9 {
            cuda.record(Stream::Out, &event).expect("set");
        }
        assert_eq!(binds(), before);
        std::thread::scope(|scope| {
            scope.spawn(|| cuda.record(Stream::Out, &event).expect("set from elsewhere"));
        });
        assert_eq!(binds(), before + 1, "another thread binds the device for itself");
        std::thread::scope(|scope| {
            scope.spawn(|| cuda.capture(&mut || Ok(())).expect("work is recorded elsewhere"));
        });
        drop(event);
        std::thread::scope(|scope| {
            scope.spawn(move || drop(cuda));
        });
        assert_eq!(live(), 0, "everything is freed by the other thread");
    });
}

/// The number of texts that the fake compiler has compiled.
fn compiled() -> usize {
    let counted = std::env::var_os("FAKE_COMPILED").expect("the machine is set");
    let lines = std::fs::read_to_string(Path::new(&counted)).expect("it was written");
    lines.lines().count()
}

#[test]
fn a_text_is_compiled_once() {
    on_fake("a_text_is_compiled_once", &[], || {
        for _ in 0..3 {
            kernels(&open(0));
        }
        assert_eq!(compiled(), 1);
        open(0)
            .load(&source("// another"), &["add"])
            .expect("it compiles");
        assert_eq!(compiled(), 2);
    });
}

/// Machine code runs on one architecture only, so each of two unlike devices gets its own.
#[test]
fn a_text_is_compiled_for_every_architecture() {
    let unlike = [("FAKE_CAPABILITY", "90,120")];
    on_fake("a_text_is_compiled_for_every_architecture", &unlike, || {
        for (number, expected) in [(0, 1), (1, 2), (0, 2), (1, 2)] {
            kernels(&open(number));
            assert_eq!(compiled(), expected, "device {number}");
        }
    });
}
