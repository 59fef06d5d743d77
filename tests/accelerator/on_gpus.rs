//! The tests of `main.rs` on the GPUs of this machine. They are a separate target because the generic engine is
//! compiled once more for them, and they run only if there is a GPU (`cargo test -p checks --test gpus`; `./sconsw
//! test` runs them).
#![allow(dead_code)] // Shared modules have helpers that only emulated accelerators need.

#[macro_use]
mod bodies;
#[path = "../parity/cases.rs"]
mod cases;
#[path = "../velocity_stress/desk.rs"]
mod desk;
#[path = "../support/element_worlds.rs"]
mod element_worlds;
#[path = "../support/real.rs"]
mod real;
#[path = "../support/saved_states.rs"]
mod saved_states;
#[path = "../support/shots.rs"]
mod shots;
#[path = "../support/thread_ranks.rs"]
mod thread_ranks;

mod classes;
mod cuts;
mod element_gradients;
mod element_layers;
mod elements;
mod engines;
mod failures;
mod gpus;
mod graphs;
mod ranks;
mod records;
mod runs;
mod side_by_side;
mod staggered;
mod staggered_ranks;
mod staggered_small;
mod states;
mod tiles;
mod watched;
