//! Linearised velocity-stress modelling: the steps of the waves, their derivative, and the exact transpose of the
//! derivative.

#[path = "../velocity_stress/desk.rs"]
mod desk;
#[path = "../support/emulator.rs"]
mod emulator;
#[path = "../support/real.rs"]
mod real;
#[path = "../support/shots.rs"]
mod shots;
#[path = "../support/thread_ranks.rs"]
mod thread_ranks;

mod adjoint;
mod bench;
mod derivative;
#[macro_use]
mod devices;
mod device_images;
mod device_records;
mod drift;
mod image;
mod image_physics;
mod misfit;
mod program;
mod reverse_sweep;
mod schedule;
mod shared_ranks;
mod shared_shots;
mod side_by_side;
