//! Numerical methods: each advances its own fields in time, and all share the time loop, halos, records and states.

pub mod displacement;
#[cfg(feature = "spectral-elements")]
// In unit tests its numbers are in double precision already.
#[cfg_attr(test, allow(clippy::useless_conversion, clippy::unnecessary_cast))]
pub mod spectral_elements;
#[cfg(feature = "velocity-stress")]
pub mod velocity_stress;
