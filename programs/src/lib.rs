//! See ARCHITECTURE.md.

pub mod stiffness;
