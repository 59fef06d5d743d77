//! The code of the programs. See ARCHITECTURE.md.

// Code that only one method uses is unused in a build without that method.
#![cfg_attr(
    not(all(feature = "spectral-elements", feature = "velocity-stress")),
    allow(dead_code, unused_imports)
)]

pub mod earth;
#[cfg(feature = "spectral-elements")]
pub mod hexmesh;
mod idle;
pub mod layers;
#[cfg(feature = "spectral-elements")]
pub mod meshing;
pub mod modelling;
pub mod stiffness;
mod surfaces;
