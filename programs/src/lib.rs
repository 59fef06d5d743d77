//! What the programs share. See ARCHITECTURE.md.

// What a method alone uses is not used in a build without it.
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
