//! The programs that draw pictures.
//!
//! A program makes a [`frame`] and marks inside it; both become one SVG ([`drawing`]), which is written as it is, as
//! pixels or as [`pdf`] ([`delivery`]). The parameters that all of them share are listed in [`words`] and read in
//! [`standard`]; the parameters of colours are in [`gain`].

pub mod animation;
pub mod axes;
pub mod clipping;
pub mod colours;
pub mod compose;
pub mod contour;
pub mod delivery;
pub mod dots;
pub mod drawing;
pub mod faces;
pub mod frame;
pub mod gain;
pub mod graph;
pub mod grey;
pub mod grey3;
pub mod label;
pub mod levels;
pub mod lines;
pub mod markup;
pub mod movie;
pub mod pdf;
pub mod pen;
pub mod pixels;
pub mod plane;
pub mod resample;
pub mod samples;
pub mod standard;
pub mod ticks;
pub mod wiggle;
pub mod words;

use super::Programs;

/// The programs of this module.
pub const PROGRAMS: Programs = &[
    (&grey::SPEC, grey::run),
    (&grey3::SPEC, grey3::run),
    (&graph::SPEC, graph::run),
    (&wiggle::SPEC, wiggle::run),
    (&dots::SPEC, dots::run),
    (&contour::SPEC, contour::run),
    (&movie::SPEC, movie::run),
    (&label::SPEC, label::run),
    (&compose::SPEC, compose::run),
    (&pen::SPEC, pen::run),
];

#[cfg(test)]
mod tests {
    #[test]
    fn declarations_are_sound() {
        for (program, _) in super::PROGRAMS {
            program.verify().unwrap();
        }
    }
}
