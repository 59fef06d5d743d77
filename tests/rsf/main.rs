//! What outsiders rely on in rsf-io: files of Madagascar, files for it, the behaviour of a program.

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
