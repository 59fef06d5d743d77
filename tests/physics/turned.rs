//! A tilted transversely isotropic medium has the rotated waves of the upright one: if receivers and force are rotated
//! with it, every trace in the rotated frame is the same up to grid dispersion, which depends on the direction.
//!
//! Angles have rational sines and cosines, so that receivers are at nodes in both frames and nothing is interpolated.
//! The records end before reflections from the boundaries arrive.

use crate::shots::{Ricker, Tape, lag, largest, largest_difference, magnitude, oblique_medium, run_on, shot};
use kernels::grid::{Grid, Padded};
use kernels::medium::rotate::{rotated, rotation};
use kernels::medium::{Speeds, Stiffness, Thomsen};

const RHO: f64 = 2.2;
const DT: f32 = 0.15;

/// The upright medium, with its axis along z.
fn upright() -> Stiffness {
    let speeds = Speeds {
        vp: 3.0,
        vs: 1.6,
        rho: RHO,
    };
    let t = Thomsen {
        epsilon: 0.25,
        delta: 0.1,
        gamma: 0.2,
    };
    Stiffness::vti(speeds, t).expect("a real medium")
}

/// The rotated vector (x, y, z).
fn turned(r: &[[f64; 3]; 3], v: [f64; 3]) -> [f64; 3] {
    r.map(|row| row.iter().zip(v).map(|(a, b)| a * b).sum())
}

/// Traces (x, y, z) of every receiver around a force in the middle of a medium rotated by `r`; all are given in the
/// frame of the medium.
fn traces(ndim: usize, r: &[[f64; 3]; 3], receivers: &[[f64; 3]], nt: usize) -> Vec<[Vec<f64>; 3]> {
    let half = if ndim == 2 { 230 } else { 66 };
    let (n, o) = (2 * half + 1, -(half as f32));
    let grid = match ndim {
        2 => Grid::new_2d([n; 2], [o; 2], [1.0; 2]),
        _ => Grid::new_3d([n; 3], [o; 3], [1.0; 3]),
    };
    let padded = Padded::new(&grid, 4);
    let [x, y, z] = turned(
        r,
        if ndim == 2 {
            [0.8, 0.0, 1.0]
        } else {
            [0.8, 0.5, 1.0]
        },
    );
    let force = if ndim == 2 { vec![z, x] } else { vec![z, x, y] };
    let wavelet = Ricker::starting_at_zero(FREQUENCY[ndim - 2]).samples(nt, DT, &force);
    let places = receivers.iter().map(|&v| {
        let at = turned(r, v);
        assert!(
            at.iter().all(|c| (c - c.round()).abs() < 1e-9),
            "{at:?} is not a node"
        );
        [at[2], at[0], at[1]].map(|c| c.round() as f32)
    });
    let s = shot(DT, wavelet, vec![[0.0; 3]], places.collect());
    let c = rotated(&upright().voigt(), r);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let tape: Tape<f32> =
        run_on(&s, oblique_medium(&padded, |_| (c, RHO)), threads, &[]).expect("the shot runs");
    let back: [[f64; 3]; 3] = std::array::from_fn(|i| std::array::from_fn(|j| r[j][i]));
    (0..receivers.len())
        .map(|k| {
            let u = |c: usize| tape.trace(c, k, receivers.len());
            let (z, x) = (u(0), u(1));
            let y = if ndim == 3 { u(2) } else { vec![0.0; nt] };
            let moved: Vec<_> = (0..nt).map(|it| turned(&back, [x[it], y[it], z[it]])).collect();
            [0, 1, 2].map(|c| moved.iter().map(|v| v[c]).collect())
        })
        .collect()
}

/// Peak frequencies in 2-D and 3-D: at least ten nodes per wavelength.
const FREQUENCY: [f64; 2] = [0.1, 0.14];

/// Traces at the receivers in the upright medium.
fn upright_traces(ndim: usize, receivers: &[[f64; 3]], nt: usize) -> Vec<[Vec<f64>; 3]> {
    traces(ndim, &rotation(0.0, 0.0), receivers, nt)
}

/// Checks that arrival times agree to 0.5 % and amplitudes to 2 % with the values in the upright medium.
fn same_waves(ndim: usize, (nu, alpha): (f64, f64), receivers: &[[f64; 3]], still: &[[Vec<f64>; 3]]) {
    let nt = still[0][0].len();
    let moved = traces(ndim, &rotation(nu, alpha), receivers, nt);
    for ((place, one), other) in receivers.iter().zip(still).zip(&moved) {
        let top = magnitude(one.iter().flatten().copied());
        let distance = place.iter().map(|v| v * v).sum::<f64>().sqrt();
        // The fastest wave travels less than 4 nodes per unit of time, which gives a lower bound of the travel times.
        let time = distance / 4.0;
        for (c, (a, b)) in one.iter().zip(other).enumerate() {
            let (peak, seen) = (largest(a.iter().copied()), largest(b.iter().copied()));
            // A component that is nearly zero has no arrival time.
            if peak < 0.05 * top {
                assert!(
                    (peak - seen).abs() < 0.02 * top,
                    "{nu} {alpha} {place:?} {c}: {peak} {seen} of {top}"
                );
                continue;
            }
            let late = lag(b, a, 5) * f64::from(DT) / time;
            let apart = largest_difference(a, b) / top;
            println!(
                "{ndim}-D {nu:.2} {alpha:.2} {place:?} {}: {:+.3} % of the time, amplitude {:+.2} %, apart {:.2} %",
                ["x", "y", "z"][c],
                100.0 * late,
                100.0 * (seen / peak - 1.0),
                100.0 * apart
            );
            assert!(late.abs() < 0.005, "{nu} {alpha} {place:?} {c}: {late}");
            assert!(
                (seen / peak - 1.0).abs() < 0.02,
                "{nu} {alpha} {place:?} {c}: {}",
                seen / peak
            );
        }
    }
}

#[test]
fn a_tilted_plane_carries_the_same_waves() {
    // Sines and cosines of the triangles 3 : 4 : 5, 5 : 12 : 13 and 8 : 15 : 17.
    let turns = [(3.0f64, 4.0, 5.0), (5.0, 12.0, 13.0), (-8.0, 15.0, 17.0)];
    let receivers = turns.map(|(_, _, whole)| {
        let unit: f64 = whole * (70.0f64 / whole).round();
        // These receivers are off the axes, at whole multiples along the rotated axes, which are nodes of both frames.
        [
            [0.0, 0.0, unit],
            [unit, 0.0, 0.0],
            [unit, 0.0, unit],
            [-unit, 0.0, unit],
        ]
    });
    // One upright run records for all rotations.
    let still = upright_traces(2, receivers.as_flattened(), 560);
    for (((short, long, _), receivers), still) in turns.iter().zip(&receivers).zip(still.chunks(4)) {
        same_waves(2, (short.atan2(*long).to_degrees(), 0.0), receivers, still);
    }
}

#[test]
#[ignore = "long: ./sconsw test full=y"]
fn a_tilted_and_turned_volume_carries_the_same_waves() {
    let angle = 3.0f64.atan2(4.0).to_degrees();
    let receivers = [
        [0.0, 0.0, 25.0],
        [25.0, 0.0, 0.0],
        [0.0, 25.0, 0.0],
        [20.0, 15.0, 10.0],
        [10.0, -20.0, 5.0],
    ];
    let still = upright_traces(3, &receivers, 187);
    same_waves(3, (angle, angle), &receivers, &still);
}
