//! The two free surfaces of the displacement method, compared with the closed form. Chapter 5 of the book prints these
//! figures, and this test checks them.
//!
//! The source is a vertical force a third of a Rayleigh wavelength below the surface of a half-space with Poisson's
//! ratio 1/4. The closed form is the sum over wavenumbers of tests/support/layered.rs, with the cells of the bell taken
//! one by one along z and together along x.

use crate::layered::{self, Rock, Source, Stack, spectrum_of};
use crate::shots::{Ricker, lag, largest, largest_difference, magnitude, medium, run_on, shot};
use kernels::boundary::free_surface::Surface;
use kernels::grid::{Grid, Padded};
use kernels::medium::{Speeds, Stiffness};
use kernels::methods::displacement::Shot;

const VS: f64 = 1.0;
/// Speed of the Rayleigh wave relative to the S speed.
const RAYLEIGH: f64 = 0.9194;
const NBELL: i32 = 3;
/// Distances of the receivers from the epicentre, in Rayleigh wavelengths.
const AWAY: [f64; 2] = [2.0, 6.0];

/// The errors of the Rayleigh wave at a surface.
struct WaveErrors {
    /// The amount by which the wave is too slow between the receivers, in per cent of its speed.
    slow: f64,
    /// Largest vertical displacement at the nearer receiver relative to the exact displacement, in per cent.
    amplitude: f64,
    /// Largest misfit there relative to the largest displacement, in per cent.
    misfit: f64,
}

fn wavelet(nodes: f64) -> Ricker {
    Ricker::starting_at_zero(RAYLEIGH * VS / nodes)
}

/// Exact vertical displacements at the receivers, for a number of nodes per Rayleigh wavelength at the peak frequency.
fn exact(nodes: f64, (dt, nt): (f64, usize)) -> [Vec<f64>; 2] {
    let w = wavelet(nodes);
    let stack = Stack {
        rocks: &[Rock::new(3f64.sqrt() * VS, VS, 1.0)],
        interfaces: &[],
        surface: true,
        reference: 1.0,
    };
    let width = 0.5 * f64::from(NBELL);
    let mut out = [vec![0.0; nt], vec![0.0; nt]];
    for j in -NBELL..=NBELL {
        let shot = layered::Shot {
            source: Source::Force,
            depth: (nodes / 3.0).round() + f64::from(j),
            ndim: 2,
            dt,
            nt,
            first: dt,
            spectrum: &spectrum_of(&w),
            highest: 3.2 * std::f64::consts::TAU * w.f,
            bell: width,
        };
        let weight = (-f64::from(j * j) / width).exp() * (std::f64::consts::PI * width).sqrt();
        let traces = layered::traces(&stack, &shot, &AWAY.map(|x| [0.0, (x * nodes).round(), 0.0]));
        for (out, traces) in out.iter_mut().zip(&traces) {
            out.iter_mut()
                .zip(&traces[0])
                .for_each(|(to, u)| *to += weight * u);
        }
    }
    out
}

/// Vertical displacements of the engine, with the sign for a downward force.
fn engine(surface: Surface, nodes: f64, (dt, nt): (f64, usize)) -> [Vec<f64>; 2] {
    let n = [(2.5 * nodes) as usize, (8.0 * nodes) as usize];
    let padded = Padded::new(&Grid::new_2d(n, [0.0; 2], [1.0; 2]), 50);
    let at = |x: f64| (nodes + (x * nodes).round()) as f32;
    let from = [(nodes / 3.0).round() as f32, at(0.0), 0.0];
    // The engine subtracts the wavelet.
    let samples = wavelet(nodes).samples(nt, dt as f32, &[-1.0, 0.0]);
    let s = Shot {
        surface,
        absorbing: true,
        nbell: NBELL as usize,
        ..shot(
            dt as f32,
            samples,
            vec![from],
            AWAY.map(|x| [0.0, at(x), 0.0]).to_vec(),
        )
    };
    let rock = Stiffness::isotropic(Speeds {
        vp: 3f64.sqrt() * VS,
        vs: VS,
        rho: 1.0,
    });
    let tape = run_on::<f32>(&s, medium(&padded, |_| (rock, 1.0)), 2, &[]).expect("the shot runs");
    [0, 1].map(|k| tape.trace(0, k, 2))
}

fn wave_errors(surface: Surface, nodes: f64) -> WaveErrors {
    let dt = 0.4;
    let w = wavelet(nodes);
    let nt = ((AWAY[1] * nodes * 1.12 / (RAYLEIGH * VS) + 2.0 * w.t0) / dt) as usize;
    let (right, seen) = (exact(nodes, (dt, nt)), engine(surface, nodes, (dt, nt)));
    let late = [0, 1].map(|k| lag(&seen[k], &right[k], right[k].len() as i64 / 6) * dt);
    let time = (AWAY[1] - AWAY[0]) * nodes / (RAYLEIGH * VS);
    let top = magnitude(right[0].iter().copied());
    WaveErrors {
        slow: 100.0 * (1.0 - time / (time + late[1] - late[0])),
        amplitude: 100.0 * largest(seen[0].iter().copied()) / top,
        misfit: 100.0 * largest_difference(&right[0], &seen[0]) / top,
    }
}

/// The row of the table in the book for a number of nodes: delay, amplitude and misfit in per cent, for both surfaces.
fn printed(nodes: f64) -> Vec<f64> {
    let page = include_str!("../../book/user/05-boundaries/README.md");
    let row = page
        .lines()
        .find_map(|line| line.strip_prefix(&format!("| {nodes} nodes |")))
        .expect("the chapter has a row of these nodes");
    let numbers = row.split('|').filter_map(|cell| cell.trim().strip_suffix(" %"));
    numbers.map(|cell| cell.parse().expect("a number")).collect()
}

#[test]
fn rayleigh_waves_are_as_wrong_as_in_the_book() {
    for nodes in [14.0, 28.0, 56.0] {
        let measured = [Surface::Vacuum, Surface::Traction].map(|surface| wave_errors(surface, nodes));
        let measured: Vec<f64> = measured
            .iter()
            .flat_map(|f| [f.slow, f.amplitude, f.misfit])
            .collect();
        let printed = printed(nodes);
        println!("{nodes} nodes: measured {measured:.1?}, printed {printed:.1?}");
        assert_eq!(printed.len(), 6);
        for (m, p) in measured.iter().zip(&printed) {
            assert!((m - p).abs() < 0.2, "{nodes} nodes: {measured:?} {printed:?}");
        }
    }
}
