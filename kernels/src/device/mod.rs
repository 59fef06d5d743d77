//! Machines: never a word about waves.

pub mod accelerator;
pub mod cpu;
pub mod cuda;
pub mod simd;
