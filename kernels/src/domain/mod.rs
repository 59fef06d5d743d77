//! Who computes what: slabs of planes and what they send each other.

pub mod company;
pub mod exchange;
pub mod gather;
mod lent;
pub mod messages;
#[cfg(feature = "mpi")]
pub mod mpi;
pub mod partition;
pub mod ranks;
pub mod remote;
pub mod sides;
pub mod team;
