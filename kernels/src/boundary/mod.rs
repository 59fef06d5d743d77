//! Edges of the grid: each boundary in a file of its own.

pub mod cpml;
pub mod free_surface;
pub mod one_way;
pub mod sponge;
