//! Processors and accelerators, independent of the wave equation.

pub mod accelerator;
pub mod caches;
pub mod cpu;
pub mod cuda;
pub mod device_to_host;
pub mod simd;
pub mod staging;

/// Memory and threads of the host, for modules that do not depend on the device that computes.
pub mod host {
    pub use super::cpu::{Buffer, stand_back};
}

/// The GPUs that programs run on, under names that do not depend on the vendor.
pub mod gpu {
    pub use super::cuda::{Cuda as Gpu, probe};
}
