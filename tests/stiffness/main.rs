//! `sfstiffness` as a process: compared with planes made by the recipes and programs that it replaces, and run with bad
//! input.

#[path = "../support/built.rs"]
mod built;
#[path = "../support/largest.rs"]
mod largest;

mod errors;
mod golden;
mod grids;
mod rsf;
