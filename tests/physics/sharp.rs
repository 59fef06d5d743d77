//! The effect of a sharp interface on the displacement method: centred differences across a node are zero for a wave
//! that alternates from node to node, and a jump of stiffness makes such a wave. Chapters 2 and 4 of the book print these
//! figures.

use crate::shots::{Ricker, largest, medium, records_of, run_on, shot};
use kernels::grid::{Grid, Padded};
use kernels::medium::{Speeds, Stiffness};
use kernels::methods::displacement::{Shot, Snapshots};

/// The largest alternating wave above and below an interface, relative to the direct wave, if the rock changes over
/// `width` nodes; 0 is a jump.
fn alternating(width: f64) -> [f64; 2] {
    let padded = Padded::new(&Grid::new_2d([321, 161], [0.0; 2], [1.0; 2]), 20);
    // These are the rocks and the wavelet of the chapter, in units of 5 m (a node) and ms, with 27 nodes per wavelength
    // at the peak.
    let w = Ricker::starting_at_zero(0.015);
    let dt = 0.5f32;
    let nt = 1000;
    let cell = |at: [f64; 3]| {
        let share = ((at[0] - 219.5) / width.max(1e-9) + 0.5).clamp(0.0, 1.0);
        let mean = |a: f64, b: f64| (1.0 - share) * a + share * b;
        let speeds = Speeds {
            vp: mean(0.4, 0.52),
            vs: mean(0.22, 0.3),
            rho: mean(2.0, 2.3),
        };
        (Stiffness::isotropic(speeds), speeds.rho)
    };
    let line: Vec<[f32; 3]> = (0..161).map(|x| [140.0, x as f32, 0.0]).collect();
    let samples: Vec<f32> = (0..nt)
        .flat_map(|it| {
            let value = w.value(it as f64 * f64::from(dt)) as f32;
            (0..2).flat_map(move |c| std::iter::repeat_n(if c == 0 { value } else { 0.0 }, 161))
        })
        .collect();
    let s = Shot {
        absorbing: true,
        snapshots: Some(Snapshots {
            every: 1,
            window: [20..341, 100..101, 0..1],
        }),
        jdata: nt,
        ..shot(dt, samples, line, vec![[170.0, 80.0, 0.0]])
    };
    let tape = run_on::<f32>(&s, medium(&padded, cell), 2, &[]).expect("the shot runs");
    // `field` is the vertical component along the middle column.
    let all = records_of(2 * 321 * nt, tape.snapshots.iter().flat_map(|(_, u)| u));
    let field = |it: usize| &all[2 * 321 * it..][..321];
    let direct = largest((0..500).map(|it| field(it)[180]));
    // Eighth differences divided by 256 reduce a wave by the factor (k/2)^8, and leave an alternating wave unchanged.
    let binomials = [1.0, -8.0, 28.0, -56.0, 70.0, -56.0, 28.0, -8.0, 1.0];
    let mut roughness = [0.0f64; 2];
    for it in 400..nt {
        let u = field(it);
        let rough = |i: usize| {
            let terms = binomials.iter().zip(&u[i - 4..=i + 4]);
            terms.map(|(b, u)| b * u).sum::<f64>() / 256.0
        };
        roughness[0] = largest([roughness[0], largest((150..215).map(rough))]);
        roughness[1] = largest([roughness[1], largest((225..290).map(rough))]);
    }
    roughness.map(|f| f / direct)
}

/// Averaging over two nodes is enough: the remaining alternation is not due to the interface, because it is the same
/// for four and eight nodes.
#[test]
fn a_sharp_interface_makes_a_wave_that_alternates_and_two_nodes_of_means_make_none() {
    let (sharp, meant) = (alternating(0.0), alternating(2.0));
    println!("jump {sharp:.5?}, over two nodes {meant:.5?}");
    assert!(sharp.iter().all(|s| (0.014..0.019).contains(s)), "{sharp:?}");
    assert!(meant.iter().all(|&s| s < 0.004), "{meant:?}");
}
