//! The modelling programs from outside, as their users meet them.

mod classes;
mod manners;
mod outputs;
mod refusals;
mod shot;

#[path = "../support/desk.rs"]
mod desk;
