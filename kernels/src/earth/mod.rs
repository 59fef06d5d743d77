//! The Earth as a sphere: positions on it, chunks of the cubed sphere, and radial models of its interior.
//!
//! | file | contents |
//! | --- | --- |
//! | `globe` | positions in geocentric x, y, z; up, north and east at a position; a chunk of the cubed sphere |
//! | `radial` | models that depend on the radius alone, in layers between discontinuities |
//! | `prem` | PREM (Dziewonski & Anderson 1981) without its ocean |
//!
//! Axes are geocentric, in metres: x goes through 0 N 0 E, y through 0 N 90 E, z through the north pole. Meshes of
//! the Earth use these axes, so that no axis points downwards as depth does elsewhere.

pub mod globe;
mod prem;
pub mod radial;

pub use globe::{Chunk, Frame};
pub use radial::{Layer, Matter, Profile, Radial};
