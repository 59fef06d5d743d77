//! The CUDA device without a GPU: what is missing is said, the driver is called as it wants to be, kernels compile.

#[path = "../support/built.rs"]
mod built;

mod cache;
mod compile;
mod device;
mod fake;
mod probe;
mod variants;

#[path = "../support/fakes.rs"]
mod fakes;
