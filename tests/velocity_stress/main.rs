//! The velocity-stress method against formulas, symmetries and conservation laws.

#[path = "../support/crowd.rs"]
mod crowd;
#[path = "../support/full_space.rs"]
mod full_space;
#[path = "../support/shots.rs"]
mod shots;

mod anisotropy;
mod attenuation;
mod cuts;
mod desk;
mod edges;
mod energy;
mod green;
mod layer;
mod order;
mod ranks;
mod surface;
mod symmetry;
