//! The accelerator engine against the CPU engine and against itself: on a processor that plays accelerator everywhere,
//! on GPUs where there are any.

#[path = "../support/shim.rs"]
mod shim;
#[path = "../support/shots.rs"]
mod shots;
#[path = "../parity/worlds.rs"]
mod worlds;

mod memory;
mod chunks;
mod played;
mod runs;
