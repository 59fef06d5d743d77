//! The Earth: earthquakes, stations and PREM in whole runs, compared with rays and with a separate static solution.

mod lddrk;
mod maps;
mod places;
mod rays;
mod regular;
mod seismograms;
mod specfem;
mod still;
mod times;
mod tomography;
mod waves;

#[path = "../support/desk.rs"]
mod desk;
#[path = "../support/largest.rs"]
mod largest;
#[path = "../support/real.rs"]
mod real;
