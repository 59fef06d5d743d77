//! Boundary conditions, one file for each.

pub mod cpml;
pub mod free_surface;
pub mod one_way;
pub mod sponge;
