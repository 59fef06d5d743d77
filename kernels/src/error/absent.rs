//! Why no device can be used.

/// Why no device can be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Absent {
    /// No libcuda.
    #[error(
        "no NVIDIA driver: libcuda.so.1 was not found by the system's loader; install the driver, in a container start it with the GPUs (--gpus all), or run on the processors"
    )]
    NoDriver,
    /// A libcuda that lacks functions.
    #[error(
        "the NVIDIA driver is too old, or no driver at all: its libcuda lacks {missing}; install a driver for CUDA {needed} or newer, or run on the processors"
    )]
    Incomplete {
        /// What it lacks.
        missing: String,
        /// The oldest CUDA that would do.
        needed: String,
    },
    /// A driver of another time.
    #[error(
        "the NVIDIA driver is too old: it is for CUDA {got}, at least {needed} is needed; update the driver, or run on the processors"
    )]
    OldDriver {
        /// What it is for.
        got: String,
        /// The oldest CUDA that would do.
        needed: String,
    },
    /// The driver does not start.
    #[error("the NVIDIA driver does not start: {problem}; repair it, or run on the processors")]
    Broken {
        /// Name, number and meaning of its error.
        problem: String,
    },
    /// The environment hides the devices.
    #[error(
        "CUDA_VISIBLE_DEVICES={value} hides every NVIDIA GPU of this machine; unset it or name devices that exist (CUDA_VISIBLE_DEVICES=0), or run on the processors"
    )]
    Hidden {
        /// What it is set to, quoted.
        value: String,
    },
    /// A driver without a device.
    #[error(
        "the NVIDIA driver sees no GPU; see whether nvidia-smi lists one, in a container start it with the GPUs (--gpus all), or run on the processors"
    )]
    NoDevice,
    /// Devices too old for the kernels.
    #[error(
        "no GPU here is new enough: {found}; the kernels need compute capability {}.{} (Ampere) or newer; run on the processors", oldest / 10, oldest % 10
    )]
    OldDevice {
        /// Names and capabilities.
        found: String,
        /// The smallest capability that would do, times ten.
        oldest: u32,
    },
    /// No compiler of kernels.
    #[error(
        "NVRTC, which compiles the kernels of the GPU, was not found: {looked}; `pip install nvidia-cuda-nvrtc==13.0.88`, or install a CUDA toolkit, or set SIFAKA_NVRTC=<the folder of libnvrtc.so.13>, or run on the processors"
    )]
    NoCompiler {
        /// Where it was looked for.
        looked: String,
    },
    /// The compiler makes code that the driver does not take.
    #[error(
        "NVRTC {compiler} ({place}) is newer than the NVIDIA driver, which is for CUDA {driver}; set SIFAKA_NVRTC to the folder of an NVRTC {} (`pip install nvidia-cuda-nvrtc-cu{}`), update the driver, or run on the processors",
        major(driver),
        major(driver)
    )]
    NewCompiler {
        /// Its version.
        compiler: String,
        /// The file.
        place: String,
        /// What the driver is for.
        driver: String,
    },
}

fn major(version: &str) -> &str {
    version.split('.').next().unwrap_or(version)
}
