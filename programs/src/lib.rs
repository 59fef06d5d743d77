//! What the programs share. See ARCHITECTURE.md.

pub mod basics;
pub mod modelling;
pub mod stiffness;
