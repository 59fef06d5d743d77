//! Who computes what: slabs of planes and what they send each other.

pub mod exchange;
pub mod partition;
