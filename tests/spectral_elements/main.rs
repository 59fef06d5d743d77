//! Spectral elements compared with runs of SPECFEM3D and with laws of physics.
//!
//! `tests/data/sem` holds runs of SPECFEM3D Cartesian 4.1.1 (single precision, one process) on small meshes, z turned
//! downwards; a folder's case.json has its parameters and the tolerance, which is the rounding error of SPECFEM3D
//! itself (its results on three processes differ from those on one by a fraction of it).

mod contact;
mod crystals;
mod cuts;
mod energy;
mod exact;
mod golden;
mod gradients;
mod green;
mod halfspace;
mod laws;
mod layers;
mod linearised;
mod models;
mod modes;
mod pml;
mod quality;
mod source_gradients;
mod sponge;

#[path = "../support/built.rs"]
mod built;
#[path = "../support/christoffel.rs"]
mod christoffel;
#[path = "../support/element_worlds.rs"]
mod element_worlds;
#[path = "../support/emulator.rs"]
mod emulator;
#[path = "../support/full_space.rs"]
mod full_space;
#[path = "../support/layered.rs"]
mod layered;
#[path = "../support/pekeris.rs"]
mod pekeris;
#[path = "../support/thread_ranks.rs"]
mod thread_ranks;

use exact::{blocks, cases, shots};
