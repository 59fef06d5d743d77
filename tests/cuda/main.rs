//! The CUDA device without a GPU: what is missing is said, the driver is called as it wants to be, kernels compile.

mod cache;
mod compile;
mod device;
mod fake;
mod probe;
mod variants;

#[path = "../support/fakes.rs"]
mod fakes;
