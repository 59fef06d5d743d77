//! `sfstiffness` from outside: the real program against planes made by the recipes and programs it replaces, and
//! against bad input.

#[path = "../support/built.rs"]
mod built;
#[path = "../support/largest.rs"]
mod largest;

mod errors;
mod golden;
mod grids;
mod rsf;
