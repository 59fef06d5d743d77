//! The Earth in files: models of its radius, earthquakes and stations. Formulas are those of `kernels::earth`.

mod blocks;
mod cmt;
mod ground;
mod model;
mod stations;

pub use cmt::Event;
pub use ground::{Ground, Quakes, Sites, Terrain, names};
pub use model::open as open_model;
