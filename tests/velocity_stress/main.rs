//! The velocity-stress method against formulas, symmetries and conservation laws.

#[path = "../support/shots.rs"]
mod shots;

mod desk;
mod green;
