//! Numerical methods: each advances its own fields in time on the same loop, halos, records and states.

pub mod displacement;
pub mod spectral_elements;
pub mod velocity_stress;
