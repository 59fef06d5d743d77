//! See ARCHITECTURE.md.

pub mod medium;
pub mod stability;
