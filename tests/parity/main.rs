//! One answer, to the last bit, whatever the machine is cut into.

#[path = "../support/crowd.rs"]
mod crowd;
#[path = "../support/shots.rs"]
mod shots;

mod cuts;
mod failures;
mod ranks;
mod receivers;
mod threads;
mod worlds;
