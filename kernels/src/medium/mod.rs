//! Elastic media at a point: coefficients, symmetry classes, builders and rotation.

pub mod eigen;
pub mod rotate;
pub mod stiffness;
pub mod thomsen;

pub use rotate::{Lost, Voigt};
pub use stiffness::{Fault, Stiffness, Symmetry};
pub use thomsen::{Speeds, Thomsen, Tsvankin, Unreal};
