//! Reflections of the absorbing layers: a small grid compared with one so large that nothing returns from its faces.

use crate::desk::{frame, isotropic, layer, run, shot, source};
use crate::shots::{Ricker, Tape, largest, largest_difference, magnitude};
use kernels::grid::Grid;
use kernels::methods::velocity_stress::Shot;
use kernels::source::Action;

const A: f64 = 2.0;
const B: f64 = 1.15;
const RHO: f64 = 2.0;

/// The largest reflection in 3-D, in decibels relative to the largest value at any receiver, and relative to the
/// largest value at the same receiver.
fn of_volume(order: usize) -> [f64; 2] {
    // There are five cells per shortest wavelength of S, so that there are few steps: the size of the large grid grows
    // with their third power.
    let w = Ricker::starting_at_zero(B / 5.0 / 2.5);
    let (dt, n) = (0.21, [16usize, 20, 18]);
    let nt = ((20.0 / B + 1.8 * w.t0) / dt) as usize;
    let receivers = [
        [1.0, 17.0, 9.0],
        [13.0, 3.0, 2.0],
        [8.0, 18.0, 16.0],
        [14.0, 10.0, 15.0],
    ];
    let record = |beyond: usize, cells: usize| {
        let mut s = shot(dt, nt, frame(cells, layer(A, w.f)));
        s.order = order;
        source(
            &mut s,
            [7.0, 5.0, 6.0],
            Action::Moment([1.0, 0.0, 0.2, 0.3, 0.8, 0.4]),
            |t| w.value(t),
        );
        s.receivers = receivers.to_vec();
        let grid = Grid::new_3d(n.map(|n| n + 2 * beyond), [-(beyond as f32); 3], [1.0; 3]);
        run::<f32>(&s, &grid, |_| isotropic(A, B, RHO))
    };
    // Waves to the rigid faces of the large grid and back take longer than the run: their path is twice `beyond`,
    // plus eight cells or more from the source to a face of the small grid and from there to a receiver.
    let beyond = (dt * nt as f64 * A / 2.0) as usize - 3;
    let (small, large) = (record(0, 10), record(beyond, 0));
    let echo = |k: usize| {
        let all = |tape: &Tape<f32>| (0..3).flat_map(|c| tape.trace(c, k, 4)).collect::<Vec<_>>();
        largest_difference(all(&small), all(&large))
    };
    let own = |k: usize| magnitude((0..3).flat_map(|c| large.trace(c, k, 4)));
    let decibel = |shares: f64| 20.0 * shares.log10();
    [
        decibel(largest((0..4).map(echo)) / large.peak()),
        decibel(largest((0..4).map(|k| echo(k) / own(k)))),
    ]
}

fn ready(n: [usize; 2], o: [f32; 2], cells: usize, w: &Ricker, nt: usize) -> (Shot, Grid) {
    let mut s = shot(0.28, nt, frame(cells, layer(A, w.f)));
    source(
        &mut s,
        [10.0, 10.0, 0.0],
        Action::Moment([1.0, 0.0, 0.2, 0.0, 0.8, 0.0]),
        |t| w.value(t),
    );
    (s, Grid::new_2d(n, o, [1.0, 1.0]))
}

/// The largest difference in decibels relative to the largest value at any receiver.
fn reflection(n: [usize; 2], receivers: &[[f32; 3]], nt: usize) -> f64 {
    // There are ten cells per wavelength of S at the highest frequency.
    let w = Ricker::starting_at_zero(B / 10.0 / 2.5);
    let record = |(mut s, grid): (Shot, Grid)| {
        s.receivers = receivers.to_vec();
        run::<f64>(&s, &grid, |_| isotropic(A, B, RHO))
    };
    let small = record(ready(n, [0.0; 2], 10, &w, nt));
    // Waves to the faces of the large grid and back take longer than the run.
    let beyond = (0.28 * nt as f64 * A / 2.0) as usize + 5;
    let large = record(ready(
        [n[0] + 2 * beyond, n[1] + 2 * beyond],
        [-(beyond as f32); 2],
        10,
        &w,
        nt,
    ));
    let peak = large.peak();
    let apart = largest_difference(small.traces.iter().flatten(), large.traces.iter().flatten());
    20.0 * (apart / peak).log10()
}

#[test]
fn ten_cells_send_back_less_than_a_thousandth() {
    let head_on = reflection(
        [61, 61],
        &[[2.0, 30.0, 0.0], [30.0, 58.0, 0.0], [40.0, 40.0, 0.0]],
        500,
    );
    println!("at all angles: {head_on:.1} dB");
    // In a long thin model the waves meet the layers at grazing incidence.
    let grazing = reflection(
        [21, 201],
        &[[18.0, 60.0, 0.0], [3.0, 120.0, 0.0], [10.0, 190.0, 0.0]],
        900,
    );
    println!("grazing: {grazing:.1} dB");
    assert!(head_on < -60.0, "{head_on}");
    assert!(grazing < -60.0, "{grazing}");
}

#[test]
fn ten_cells_around_a_volume_send_back_little_at_any_receiver() {
    for order in [4, 8] {
        let [all, own] = of_volume(order);
        println!("order {order}: {all:.1} dB, {own:.1} dB relative to each receiver's own maximum");
        assert!(all < -65.0 && own < -65.0, "{order}: {all} {own}");
    }
}
