//! Machines: never a word about waves.

pub mod cpu;
pub mod simd;
