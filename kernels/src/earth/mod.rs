//! The Earth as a sphere: places on it, pieces of the cubed sphere, and what fills it.
//!
//! | file | what it knows |
//! | --- | --- |
//! | `globe` | latitude, longitude and depth as geocentric x, y, z; up, north and east at a place; a chunk of the cubed sphere |
//! | `radial` | models that depend on the radius alone, in layers between discontinuities |
//! | `prem` | PREM (Dziewonski & Anderson 1981) without its ocean |
//!
//! Axes are geocentric: x goes through 0 N 0 E, y through 0 N 90 E, z through the north pole; metres. Nothing points
//! downwards here: meshes of the Earth have these axes.

pub mod globe;
mod prem;
pub mod radial;

pub use globe::{Chunk, Frame};
pub use radial::{Layer, Matter, Profile, Radial};
