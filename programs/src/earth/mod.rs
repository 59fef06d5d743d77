//! The Earth in files: models of its radius, earthquakes, forces and stations. Formulas are those of `kernels::earth`.

mod blocks;
mod cmt;
mod force;
mod ground;
mod history;
mod model;
mod projection;
mod stations;
mod table;
mod xml;

pub use cmt::{Event, SourceTime};
pub use ground::{Ground, Quakes, SOURCES, Sites, Terrain, TurnedMechanism, refuse_pairs, times};
pub use history::read as read_history;
pub use model::open as open_model;
pub use projection::Projection;
pub use table::{Rock, Table};
