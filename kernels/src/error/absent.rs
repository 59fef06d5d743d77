//! Reasons why no GPU can be used.

/// The reason why no GPU can be used. The message says how to make one usable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Absent {
    /// The loader does not find the driver's library, libcuda.so.1.
    #[error(
        "no NVIDIA driver: libcuda.so.1 was not found by the system's loader; install the driver, and in a container start it with the GPUs (--gpus all)"
    )]
    NoDriver,
    /// The library libcuda lacks functions.
    #[error(
        "the NVIDIA driver is too old, or no driver at all: its libcuda lacks {missing}; install a driver for CUDA {needed} or newer"
    )]
    Incomplete {
        /// The functions that it lacks.
        missing: String,
        /// The oldest version of CUDA that is supported.
        needed: String,
    },
    /// The driver is too old.
    #[error(
        "the NVIDIA driver is too old: it is for CUDA {got}, but at least {needed} is needed; update the driver"
    )]
    OldDriver {
        /// The version of CUDA that the driver supports.
        got: String,
        /// The oldest version of CUDA that is supported.
        needed: String,
    },
    /// The driver does not start.
    #[error("the NVIDIA driver does not start: {problem}; repair it")]
    Broken {
        /// Name, number and meaning of its error.
        problem: String,
    },
    /// The environment hides the devices.
    #[error(
        "CUDA_VISIBLE_DEVICES={value} hides every NVIDIA GPU of this machine; unset it or name devices that exist (CUDA_VISIBLE_DEVICES=0)"
    )]
    Hidden {
        /// The value of `CUDA_VISIBLE_DEVICES`, quoted.
        value: String,
    },
    /// The driver finds no device.
    #[error(
        "the NVIDIA driver sees no GPU; see whether nvidia-smi lists one, and in a container start it with the GPUs (--gpus all)"
    )]
    NoDevice,
    /// All devices are too old for the kernels.
    #[error(
        "no GPU here is new enough: {devices}; the kernels need compute capability {}.{} (Ampere) or newer; use another GPU", oldest / 10, oldest % 10
    )]
    OldDevice {
        /// Names and compute capabilities of the devices.
        devices: String,
        /// The lowest compute capability that is supported, times ten.
        oldest: u32,
    },
    /// The compiler of the kernels was not found.
    #[error(
        "NVRTC, which compiles the kernels of the GPU, was not found: {looked}; `pip install nvidia-cuda-nvrtc==13.0.88`, install a CUDA toolkit, or set SIFAKA_NVRTC=<the folder of libnvrtc.so.13>"
    )]
    NoCompiler {
        /// The places that were searched.
        looked: String,
    },
    /// The compiler is too new for the driver to run its code.
    #[error(
        "NVRTC {compiler} ({place}) is newer than the NVIDIA driver, which is for CUDA {driver}; set SIFAKA_NVRTC to the folder of an NVRTC {} (`pip install nvidia-cuda-nvrtc-cu{}`) or update the driver",
        major(driver),
        major(driver)
    )]
    NewCompiler {
        /// Version of the compiler.
        compiler: String,
        /// File of its library.
        place: String,
        /// The version of CUDA that the driver supports.
        driver: String,
    },
}

fn major(version: &str) -> &str {
    version.split('.').next().unwrap_or(version)
}
