//! The accelerator engine compared with the CPU engine and with itself, on emulated accelerators. Each test has the
//! same body here and on the GPUs of `on_gpus.rs`.

#[macro_use]
mod bodies;
#[path = "../parity/cases.rs"]
mod cases;
#[path = "../velocity_stress/desk.rs"]
mod desk;
#[path = "../support/element_worlds.rs"]
mod element_worlds;
#[path = "../support/emulator.rs"]
mod emulator;
#[path = "../support/saved_states.rs"]
mod saved_states;
#[path = "../support/shots.rs"]
mod shots;
#[path = "../support/thread_ranks.rs"]
mod thread_ranks;

mod chunks;
mod classes;
mod cuts;
mod element_gradients;
mod element_layers;
mod element_memory;
mod elements;
mod emulated;
mod engines;
mod failures;
mod graphs;
mod late;
mod memory;
mod ranks;
mod records;
mod runs;
mod side_by_side;
mod staggered;
mod staggered_memory;
mod staggered_ranks;
mod staggered_small;
mod states;
mod tiles;
mod watched;
