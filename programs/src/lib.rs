//! What the programs share. See ARCHITECTURE.md.

pub mod basics;
pub mod earth;
pub mod hexmesh;
pub mod meshing;
pub mod modelling;
pub mod stiffness;
