//! The programs that draw: the contents of their pictures, and their messages if they cannot draw.

mod compose;
mod cube;
mod desk;
mod dots;
mod grey;
mod hostile;
mod kept;
mod layout;
mod lines;
mod pdf;

#[path = "../support/built.rs"]
mod built;
