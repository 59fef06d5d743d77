//! The result is bit-identical however the work is divided.

#[path = "../support/saved_states.rs"]
mod saved_states;
#[path = "../support/shots.rs"]
mod shots;
#[path = "../support/thread_ranks.rs"]
mod thread_ranks;

mod cases;
mod cuts;
mod failures;
mod ranks;
mod receivers;
mod states;
mod threads;
mod tiles;
