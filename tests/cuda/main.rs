//! The CUDA device without a GPU: messages name the missing parts, the driver is called correctly, and kernels compile.

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
