//! `sfsem2d-gpu` and `sfsem3d-gpu` as users run them. The physics is tested in `tests/spectral_elements`.

mod born;
mod frames;
mod golden;
mod gradients;
mod layers;
mod maps;
mod models;
mod runs;
mod sentences;
mod source_gradients;
mod surveys;

#[path = "../support/desk.rs"]
mod desk;
#[path = "../support/largest.rs"]
mod largest;
#[path = "../support/real.rs"]
mod real;
