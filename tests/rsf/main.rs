//! The public behaviour of rsf-io: reading files of Madagascar, writing files for it, and the behaviour of a program.

#[path = "../support/built.rs"]
mod built;

mod command_line;
mod failures;
mod golden;
mod in_parts;
mod manners;
mod places;
mod properties;
mod round_trip;
mod signals;
mod support;
