//! Files about the Earth: models that depend on the radius, earthquakes, forces and stations. The formulas are in
//! `kernels::earth`.

mod blocks;
mod cmt;
mod epochs;
mod force;
mod ground;
mod history;
mod model;
mod origin;
mod projection;
mod stations;
mod table;
mod xml;

use anyhow::{Context, Result};
use std::fs;
use std::path::Path;

pub use cmt::{Event, SourceTime};
pub use ground::{Ground, Quakes, SOURCES, Sites, Terrain, TurnedMechanism, refuse_pairs};
pub use history::read as read_history;
pub use model::open as open_model;
pub use origin::{OriginTime, origin_time};
pub use projection::Projection;
pub use table::{Rock, Table};

/// The text of a file.
///
/// # Errors
/// Returns an error for a file that cannot be read or is not text.
fn read_text(path: impl AsRef<Path>) -> Result<String> {
    String::from_utf8(fs::read(path)?)
        .ok()
        .context("it is not UTF-8 text but binary, or text in another encoding: save it as UTF-8 text")
}
