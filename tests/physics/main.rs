//! Physics that can be tested without other programs: the engine compared with formulas, symmetries and conservation
//! laws.

#[path = "../support/christoffel.rs"]
mod christoffel;
#[path = "../support/layered.rs"]
mod layered;
#[path = "../support/shots.rs"]
mod shots;

mod arrivals;
mod energy;
mod green;
mod one_way;
mod order;
mod reciprocity;
mod reversal;
mod sharp;
mod surfaces;
mod symmetry;
mod turned;
