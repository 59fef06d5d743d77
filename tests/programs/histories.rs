//! Time functions of sources in files of samples.

use crate::desk::Desk;
use crate::earthquakes::{GRID, RUN, desk};
use crate::shots::{magnitude, relative_difference};

/// Runs a force with these parameters and returns the data.
fn run(desk: &Desk, words: &str) -> Vec<f32> {
    desk.ran(&format!(
        "{RUN} layers=layers.txt {GRID} rec=rec.rsf {words} > data.rsf"
    ));
    desk.read("data.rsf")
}

/// The samples of a force are its values at each time, not their rates.
#[test]
fn a_force_acts_as_the_numbers_of_its_file_say() {
    let desk = desk();
    let growing = |k: i32| (f64::from(k) * 1e-3 * std::f64::consts::PI / 0.04).sin().powi(2);
    let number = |k: i32| if k < 40 { growing(k) as f32 } else { 0.0 };
    let numbers: Vec<f32> = (0..=60).map(number).collect();
    let lines: Vec<String> = numbers.iter().map(|number| format!("{number}")).collect();
    desk.put("stf.dat", lines.join("\n"));
    let force = "FORCE 001\ntime shift: 0.0\nhdurorf0: 0.04\nlatorUTM: 4727150\nlongorUTM: 500150\ndepth: 0.15\n\
source time function: 0\nfactor force source: 1.d6\ncomponent dir vect source E: 0.6\n\
component dir vect source N: 0.\ncomponent dir vect source Z_UP: -0.8\nstf.dat\n";
    desk.put("FORCE", force);
    desk.dataset("series.rsf", "n1=61 d1=0.001", &numbers);
    let wanted = run(&desk, "sou=sou.rsf src=force fx=6e5 fz=8e5 series=series.rsf");
    assert!(magnitude(&wanted) > 0.0);
    // The values are the same; the products with the force are rounded in another order, a few times float32's 6e-8 at
    // each step.
    let difference = relative_difference(run(&desk, "force=FORCE"), wanted);
    assert!(difference < 1e-5, "{difference}");
}
