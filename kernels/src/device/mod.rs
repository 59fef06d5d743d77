//! Machines: never a word about waves.

pub mod accelerator;
pub mod caches;
pub mod cpu;
pub mod cuda;
pub mod device_to_host;
pub mod simd;
pub mod staging;

/// Memory and threads of the host, for rooms that do not care which machine computes.
pub mod host {
    pub use super::cpu::{Buffer, stand_back};
}

/// The GPUs that programs run on, by names that do not tell who makes them.
pub mod gpu {
    pub use super::cuda::{Cuda as Gpu, probe};
}
