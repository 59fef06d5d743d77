//! Mirror symmetry: a model that is symmetric about a plane has a symmetric wavefield, with the displacement across the
//! plane reversed. Only rounding may differ between the two sides, including frame and source.

use crate::shots::{Ricker, largest, largest_difference, medium, run, shot};
use kernels::grid::{Grid, Padded};
use kernels::medium::{Speeds, Stiffness, Tsvankin};
use kernels::methods::displacement::{Shot, SourceKind};

const FORCE: (SourceKind, bool) = (SourceKind::Force, true);
const STRESS: (SourceKind, bool) = (SourceKind::Stress, true);

/// A medium that is even in all coordinates, and symmetric under an exchange of x and y.
fn even(at: [f64; 3]) -> (Stiffness, f64) {
    let [z, x, y] = at.map(f64::abs);
    let bump = (-(x * x + y * y) / 80.0).exp() * (1.0 + (0.4 * z).cos());
    let rho = 2.0 + 0.2 * bump;
    let t = Tsvankin {
        eps1: 0.15,
        eps2: 0.15,
        del1: 0.08,
        del2: 0.08,
        del3: -0.04,
        gam1: 0.1,
        gam2: 0.1,
    };
    let speeds = Speeds {
        vp: 3.0 + 0.4 * bump,
        vs: 1.6 + 0.2 * bump,
        rho,
    };
    (Stiffness::orthorhombic(speeds, t).expect("a real medium"), rho)
}

/// Runs a shot in the middle of a grid of half width `half` cells; receivers come in pairs `p` and `mirror(p)`. Returns
/// the largest difference between them, with `sign[component]` and `order` applied to the mirrored components.
fn unevenness(
    strength: &[f64],
    mirror: impl Fn([f32; 3]) -> [f32; 3],
    (order, sign): ([usize; 3], [f64; 3]),
    (kind, absorbing): (SourceKind, bool),
) -> f64 {
    let ndim = strength.len();
    let half = if ndim == 2 { 40 } else { 16 };
    let (n, o) = (2 * half + 1, -(half as f32));
    let grid = match ndim {
        2 => Grid::new_2d([n; 2], [o; 2], [1.0; 2]),
        _ => Grid::new_3d([n; 3], [o; 3], [1.0; 3]),
    };
    let here = [
        [5.0, 7.0, 3.0],
        [-9.0, 2.0, 11.0],
        [12.0, 15.0, -6.0],
        [0.0, 9.0, 9.0],
        [-14.0, -3.0, 1.0],
    ];
    let receivers: Vec<[f32; 3]> = here.into_iter().flat_map(|p| [p, mirror(p)]).collect();
    let w = Ricker::starting_at_zero(0.15).samples(300, 0.15, strength);
    let s = Shot {
        kind,
        absorbing,
        ..shot(0.15, w, vec![[0.0; 3]], receivers.clone())
    };
    let tape = run::<f32>(&s, medium(&Padded::new(&grid, 8), even));
    let trace = |c: usize, r: usize| tape.trace(c, r, receivers.len());
    let pairs = (0..ndim).flat_map(|c| (0..here.len()).map(move |k| (c, 2 * k)));
    let worst = pairs.map(|(c, k)| {
        let (one, other) = (trace(c, k), trace(order[c], k + 1));
        largest_difference(&one, other.iter().map(|b| sign[c] * b))
    });
    let worst = largest(worst) / tape.peak();
    println!("{ndim}-D {kind:?}, frame {absorbing}: unevenness {worst:.2e} of the maximum");
    worst
}

#[test]
fn left_and_right_and_top_and_bottom_mirror_each_other_in_two_dimensions() {
    let same = [0, 1, 2];
    let x = |p: [f32; 3]| [p[0], -p[1], 0.0];
    let z = |p: [f32; 3]| [-p[0], p[1], 0.0];
    let cases = [
        unevenness(&[1.0, 0.0], x, (same, [1.0, -1.0, 1.0]), FORCE),
        unevenness(&[0.0, 1.0], x, (same, [-1.0, 1.0, 1.0]), FORCE),
        unevenness(&[1.0, 0.0], z, (same, [1.0, -1.0, 1.0]), FORCE),
        unevenness(&[1.0, 0.4], x, (same, [1.0, -1.0, 1.0]), STRESS),
        unevenness(&[1.0, 0.4], z, (same, [-1.0, 1.0, 1.0]), STRESS),
    ];
    assert!(cases.iter().all(|&c| c < 1e-5), "{cases:?}");
}

#[test]
fn all_three_mirrors_hold_in_three_dimensions() {
    let same = [0, 1, 2];
    let flip = |axis: usize| {
        move |mut p: [f32; 3]| {
            p[axis] = -p[axis];
            p
        }
    };
    for axis in 0..3 {
        let mut odd = [1.0; 3];
        odd[axis] = -1.0;
        let stress = unevenness(&[1.0, 0.4, -0.6], flip(axis), (same, odd), STRESS);
        // A force across the mirror plane reverses all components once more.
        let mut across = [0.0; 3];
        across[axis] = 1.0;
        let force = unevenness(&across, flip(axis), (same, odd.map(|s| -s)), FORCE);
        assert!(stress < 1e-5 && force < 1e-5, "axis {axis}: {stress} {force}");
    }
}

/// An exchange of x and y changes the order in which the engine adds, so only rounding may differ. (There is no frame,
/// because its faces are applied in the order z, x, y, which is visible at the edges between them.)
#[test]
fn exchanging_x_and_y_exchanges_the_components() {
    let diagonal = |p: [f32; 3]| [p[0], p[2], p[1]];
    let swapped = ([0, 2, 1], [1.0; 3]);
    let stress = unevenness(&[1.0, 0.4, 0.4], diagonal, swapped, (SourceKind::Stress, false));
    let force = unevenness(&[1.0, 0.3, 0.3], diagonal, swapped, (SourceKind::Force, false));
    assert!(stress < 1e-5 && force < 1e-5, "{stress} {force}");
}
