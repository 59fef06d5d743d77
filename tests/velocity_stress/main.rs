//! The velocity-stress method compared with formulas, symmetries and conservation laws.

#[path = "../support/full_space.rs"]
mod full_space;
#[path = "../support/layered.rs"]
mod layered;
#[path = "../support/pekeris.rs"]
mod pekeris;
#[path = "../support/saved_states.rs"]
mod saved_states;
#[path = "../support/shots.rs"]
mod shots;
#[path = "../support/thread_ranks.rs"]
mod thread_ranks;

mod anisotropy;
mod attenuation;
mod constant_q;
mod contrast;
mod cuts;
mod desk;
mod edges;
mod energy;
mod fluid;
mod green;
mod lamb;
mod layer;
mod order;
mod ranks;
mod reversal;
mod sides;
mod states;
mod stretched;
mod surface;
mod symmetry;
mod varying_q;
