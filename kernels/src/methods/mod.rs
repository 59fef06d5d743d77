//! Numerical methods: each advances its own fields in time, and all share the time loop, halos, records and states.

pub mod displacement;
#[cfg(feature = "spectral-elements")]
pub mod spectral_elements;
#[cfg(feature = "velocity-stress")]
pub mod velocity_stress;
