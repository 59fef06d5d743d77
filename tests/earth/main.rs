//! The Earth: earthquakes, stations and PREM in whole runs, against rays and a static solution of their own.

mod places;
mod rays;
mod seismograms;
mod specfem;
mod still;
mod times;
mod waves;

#[path = "../support/desk.rs"]
mod desk;
#[path = "../support/largest.rs"]
mod largest;
#[path = "../support/real.rs"]
mod real;
