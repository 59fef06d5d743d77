//! Tests of exactness on meshes. The target `spectral_elements` runs them in the numbers of the programs, and the unit tests
//! of `kernels` in double precision.

pub mod blocks;
pub mod cases;
#[path = "../../support/shots.rs"]
pub mod shots;
pub mod transpose;
