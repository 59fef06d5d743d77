//! A field that leaves the range of numbers ends the run, and the message gives the step and the place, independently
//! of the slabs.

use crate::shots::{medium, run_on, shot};
use kernels::Error;
use kernels::grid::{Grid, Padded};
use kernels::medium::{Speeds, Stiffness};
use kernels::methods::displacement::Shot;

/// A run at twice the stable time step in a fast lens around x = 30, z = 20.
fn explode(jcheck: usize, slabs: &[usize]) -> (usize, String, String) {
    let padded = Padded::new(&Grid::new_2d([40, 60], [0.0; 2], [1.0; 2]), 8);
    let earth = |at: [f64; 3]| {
        let inside = (at[0] - 20.0).powi(2) + (at[1] - 30.0).powi(2) < 100.0;
        let vp = if inside { 4.0 } else { 1.0 };
        (
            Stiffness::isotropic(Speeds {
                vp,
                vs: 0.5 * vp,
                rho: 2.0,
            }),
            2.0,
        )
    };
    let mut wavelet = vec![0.0; 2 * 1000];
    wavelet[0] = 1.0;
    let s = shot(0.4, wavelet, vec![[20.0, 30.0, 0.0]], vec![[20.0, 30.0, 0.0]]);
    let s = Shot {
        nbell: 0,
        absorbing: true,
        jcheck,
        ..s
    };
    match run_on::<f32>(&s, medium(&padded, earth), 2, slabs) {
        Err(Error::NotFinite { step, cell, medium }) => (step, cell, medium),
        other => panic!(
            "an unstable run must end with NotFinite: {:?}",
            other.map(|t| t.steps.len())
        ),
    }
}

#[test]
fn an_unstable_time_step_is_noticed_within_jcheck_steps() {
    let (first, ..) = explode(1, &[]);
    assert!(
        first > 10,
        "the field must grow from finite numbers: step {first}"
    );
    for jcheck in [7, 50, 100, 1000] {
        let (step, ..) = explode(jcheck, &[]);
        println!("jcheck={jcheck}: noticed after step {step}, not finite since step {first}");
        assert!(
            step >= first && step < first + jcheck && (step + 1) % jcheck == 0,
            "{step}"
        );
    }
}

#[test]
fn the_message_names_step_cell_and_medium() {
    let (step, cell, medium) = explode(1, &[]);
    println!("step {step}: {cell}; {medium}");
    let number = |axis: &str| -> f64 {
        let (_, rest) = cell.split_once(&format!("{axis}=")).expect("the axis is named");
        rest.split(' ')
            .next()
            .and_then(|v| v.parse().ok())
            .expect("a coordinate")
    };
    // The stress of the lens acts up to four cells beyond it.
    let (z, x) = (number("z"), number("x"));
    assert!(
        (z - 20.0).hypot(x - 30.0) < 18.0,
        "the first cell is at the lens: {cell}"
    );
    assert!(medium.contains("density=") && medium.contains("c55="), "{medium}");
    let message = Error::NotFinite { step, cell, medium }.to_string();
    assert!(
        message.contains(&format!("at step {step}")) && message.contains("reduce the time step"),
        "{message}"
    );
}

#[test]
fn slabs_report_the_same_step_and_cell() {
    let whole = explode(10, &[]);
    for slabs in [&[38, 38][..], &[8, 30, 38], &[10, 12, 20, 16, 18]] {
        assert_eq!(explode(10, slabs), whole, "slabs {slabs:?}");
    }
}
