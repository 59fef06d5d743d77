//! Physics that needs no other program: the engine against formulas, symmetries and conservation laws.

#[path = "../support/christoffel.rs"]
mod christoffel;
#[path = "../support/shots.rs"]
mod shots;

mod arrivals;
mod energy;
mod green;
mod order;
mod reciprocity;
mod reversal;
mod symmetry;
mod turned;
