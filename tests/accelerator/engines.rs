//! The CPU engine and the accelerator engine agree to the rounding of float32, and in float64 to the rounding of
//! float64.

use crate::cases::{World, settings};
use crate::runs::{How, Machines, apart, misfit, misfit_or_silence, on, record};
use crate::shots::{largest, run_on};
use crate::tiles::turn;
use kernels::boundary::one_way::Form;
use kernels::device::accelerator::Accelerator;
use kernels::device::simd::Real;
use kernels::grid::Padded;
use kernels::methods::displacement::Shot;
use kernels::methods::displacement::gpu::tile::Form as Cut;
use kernels::receiver::Quantity;

/// Compares every setting, form of the one-way condition and kind of record of a world; on slow machines some are left
/// out.
fn agree<T: Real + Default, A: Accelerator>(machines: &Machines<A>, small: &World, limit: f64) {
    let forms = [Form::Box, Form::Upwind];
    let each = settings().into_iter().flat_map(|s| {
        let forms = if s.0 { &forms[..] } else { &forms[..1] };
        forms
            .iter()
            .flat_map(move |&form| [false, true].map(|potentials| (s, form, potentials)))
    });
    for (k, (setting, form, potentials)) in each.enumerate() {
        // The step is odd, so that choices that alternate in twos all occur.
        let left_out = if size_of::<T>() == 8 {
            k % 5 > 0
        } else {
            potentials && form == Form::Upwind
        };
        if left_out && !machines.quick {
            continue;
        }
        let mut shot = small.shot(setting);
        (shot.one_way, shot.quantity) = (form, Quantity::of_displacement(potentials));
        let tile = Some(turn::<T, A>(machines, small.padded.ndim(), k));
        let far = apart::<T, A>(machines, small, &shot, How { tile, ..How::PLAIN });
        let what = format!(
            "{}-D {setting:?} {form:?} potentials {potentials}",
            small.padded.ndim()
        );
        println!("{what}: {far:.1e}");
        assert!(far < limit, "{what}: {far}");
    }
}

pub fn every_setting_of_a_plane<A: Accelerator>(machines: &Machines<A>) {
    agree::<f32, A>(machines, &World::small(2), 1e-5);
}

pub fn every_setting_of_a_volume<A: Accelerator>(machines: &Machines<A>) {
    agree::<f32, A>(machines, &World::small(3), 1e-5);
}

pub fn every_setting_of_a_plane_in_float64<A: Accelerator>(machines: &Machines<A>) {
    agree::<f64, A>(machines, &World::small(2), 1e-12);
}

pub fn every_setting_of_a_volume_in_float64<A: Accelerator>(machines: &Machines<A>) {
    agree::<f64, A>(machines, &World::small(3), 1e-12);
}

pub fn models_of_a_few_cells<A: Accelerator>(machines: &Machines<A>) {
    let models: [&[usize]; 8] = [
        &[1, 1],
        &[2, 5],
        &[4, 1],
        &[3, 4],
        &[1, 1, 1],
        &[2, 1, 4],
        &[4, 3, 2],
        &[1, 4, 3],
    ];
    let (mut all, mut loud) = (0, 0);
    let mut agree = |tiny: &World, shot: &Shot| {
        let cpu = run_on::<f32>(shot, tiny.medium(), 1, &[]).expect("the shot runs");
        let tile = turn::<f32, A>(machines, tiny.padded.ndim(), all);
        // Otherwise both faces of an axis would be in one tile.
        let tile = (tile.form != Cut::Small).then_some(tile);
        let how = How { tile, ..How::PLAIN };
        let far = misfit_or_silence(&cpu, &record(machines, shot, &tiny.medium(), how));
        let what = (shot.absorbing, shot.surface, shot.kind, shot.one_way);
        assert!(far < 1e-5, "{:?} {what:?}: {far}", tiny.padded);
        (all, loud) = (
            all + 1,
            loud + usize::from(largest(cpu.traces.iter().flatten()) > 0.0),
        );
    };
    for (k, n) in models.into_iter().enumerate() {
        let mut tiny = World::tiny(n);
        tiny.steps = 25;
        for (odd, setting) in machines.some(settings().into_iter(), k).enumerate() {
            let mut shot = tiny.shot(setting);
            shot.nbell = odd % 2;
            shot.one_way = if odd % 2 == 0 { Form::Upwind } else { Form::Box };
            agree(&tiny, &shot);
        }
        // The same few cells have a frame of another thickness.
        tiny.padded = Padded::new(&tiny.padded.model, 5);
        let mut shot = tiny.shot(settings()[k]);
        shot.nbell = 0;
        agree(&tiny, &shot);
    }
    // The stress of a single cell does not move anything, and faces can overwrite all cells.
    assert!(4 * loud > 3 * all, "{loud} of {all} runs recorded something");
}

/// Positions as fractions of the extent of the grid, z first: corners, outermost cells, frame, faces, middle.
const SHARES: [[f32; 3]; 7] = [
    [0.0, 0.0, 0.0],
    [0.99, 0.99, 0.99],
    [0.05, 0.5, 0.1],
    [0.5, 0.03, 0.97],
    [0.5, 0.5, 0.5],
    [0.51, 0.52, 0.48],
    [0.3, 0.98, 0.02],
];

pub fn points_anywhere<A: Accelerator>(machines: &Machines<A>) {
    for ndim in [2, 3] {
        let mut small = World::small(ndim);
        let bounds = [0, 1, 2].map(|a| {
            if a < ndim {
                small.padded.bounds(a)
            } else {
                (0.0, 0.0)
            }
        });
        let d = small.padded.d();
        // The points are as near to the faces as a bell may be.
        let at = |share: [f32; 3], margin: f32| {
            [0, 1, 2].map(|a| {
                let (low, high) = (bounds[a].0 + margin * d[a], bounds[a].1 - margin * d[a]);
                low + share[a] * (high - low)
            })
        };
        small.receivers = (0..=40)
            .flat_map(|k| SHARES.map(|s| s.map(|x| (x + k as f32 * 0.021) % 0.999)))
            .map(|share| at(share, 0.0))
            .collect();
        small.steps = 41;
        for (round, nbell) in [0, 1, 4, 9].into_iter().enumerate() {
            small.sources = SHARES.map(|share| at(share, nbell as f32 + 0.01)).to_vec();
            for setting in machines.some(settings().into_iter(), round) {
                let mut shot = small.shot(setting);
                shot.nbell = nbell;
                (shot.interpolate, shot.quantity) = (round % 2 == 0, Quantity::of_displacement(round > 1));
                shot.jdata = if round % 2 == 0 { 7 } else { 1 };
                let tile = Some(turn::<f32, A>(machines, ndim, 3 * round));
                let far = apart::<f32, A>(machines, &small, &shot, How { tile, ..How::PLAIN });
                println!("{ndim}-D nbell {nbell} {setting:?}: {far:.1e}");
                assert!(far < 1e-5, "{ndim}-D nbell {nbell} {setting:?}: {far}");
            }
        }
    }
}

pub fn windows_of_snapshots<A: Accelerator>(machines: &Machines<A>) {
    for (ndim, cuts) in [(2, [8, 9, 12, 8, 9]), (3, [8; 5])] {
        let small = World::slender(ndim);
        let n = small.padded.n;
        let windows = [
            [3..17, 2..n[1], 0..n[2]],
            [0..1, 0..1, 0..1],
            [n[0] - 1..n[0], n[1] - 1..n[1], n[2] - 1..n[2]],
            [12..13, 1..n[1] - 1, 9.min(n[2] - 1)..10.min(n[2])],
        ];
        for (k, window) in windows.into_iter().enumerate() {
            let mut shot = small.shot(settings()[k]);
            shot.quantity = Quantity::of_displacement(k % 2 == 1);
            let snapshots = shot.snapshots.as_mut().expect("a world takes snapshots");
            (snapshots.every, snapshots.window) = ([1, 4, 5, 24][k], window);
            let cpu = run_on::<f32>(&shot, small.medium(), 1, &[]).expect("the shot runs");
            for slabs in [&[][..], &cuts] {
                let far = misfit(&cpu, &record(machines, &shot, &small.medium(), on(slabs)));
                assert!(far < 1e-5, "{ndim}-D window {k} on slabs {slabs:?}: {far}");
            }
        }
    }
}
