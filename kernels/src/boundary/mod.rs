//! Boundary conditions, each in its own file.

pub mod cpml;
pub mod free_surface;
pub mod one_way;
pub mod sponge;
