//! Slabs: any number, any thickness, any cuts.

use crate::cases::{World, difference, settings};
use crate::shots::run_on;
use kernels::boundary::one_way::Form;
use kernels::methods::displacement::Shot;
use kernels::receiver::Quantity;

/// 2, 3 and 5 slabs of 60 planes. Planes 0 to 11 and 48 to 59 are frame, and the bells cover planes 22 to 33 and 31 to
/// 42; every list cuts one of the bells, the frame, or both.
const CUTS_2D: [&[usize]; 5] = [
    &[27, 33],
    &[9, 51],
    &[8, 31, 21],
    &[29, 22, 9],
    &[8, 17, 12, 10, 13],
];
/// Slabs of 52 planes; planes 0 to 9 and 42 to 51 are frame, and the bells cover planes 19 to 30 and 27 to 38.
const CUTS_3D: [&[usize]; 5] = [
    &[24, 28],
    &[44, 8],
    &[8, 21, 23],
    &[22, 11, 19],
    &[8, 9, 10, 8, 17],
];

fn same_bits(world: &World, cuts: &[&[usize]], change: impl Fn(&mut Shot)) {
    for setting in settings() {
        let mut shot = world.shot(setting);
        change(&mut shot);
        let whole = world.run(&shot, 1, &[]);
        for slabs in cuts {
            let first_difference = difference(&whole, &world.run(&shot, 1, slabs));
            assert!(
                first_difference.is_none(),
                "{setting:?}, slabs {slabs:?}: {}",
                first_difference.unwrap_or_default()
            );
        }
    }
}

#[test]
fn slabs_of_a_plane_give_the_same_displacement() {
    same_bits(&World::plane(), &CUTS_2D, |_| {});
}

#[test]
fn slabs_give_the_same_displacement_under_the_upwind_condition() {
    same_bits(&World::plane(), &CUTS_2D[2..], |s| s.one_way = Form::Upwind);
    same_bits(&World::volume(), &CUTS_3D[4..], |s| s.one_way = Form::Upwind);
}

#[test]
fn slabs_of_a_plane_give_the_same_divergence_and_curl() {
    same_bits(&World::plane(), &CUTS_2D, |s| {
        s.quantity = Quantity::of_displacement(true)
    });
}

#[test]
fn slabs_of_a_volume_give_the_same_displacement() {
    same_bits(&World::volume(), &CUTS_3D, |_| {});
}

#[test]
fn slabs_of_a_volume_give_the_same_divergence_and_curl() {
    same_bits(&World::volume(), &CUTS_3D, |s| {
        s.quantity = Quantity::of_displacement(true)
    });
}

#[test]
fn slabs_see_the_same_bare_points_and_widest_bells() {
    for nbell in [0, 9] {
        same_bits(&World::volume(), &CUTS_3D[2..4], |s| s.nbell = nbell);
        same_bits(&World::plane(), &CUTS_2D[2..4], |s| s.nbell = nbell);
    }
}

#[test]
fn a_window_is_the_same_cells_of_the_whole_snapshot_on_any_slabs() {
    let world = World::volume();
    let shot = world.shot(settings()[0]);
    let whole = world.run(&shot, 1, &[]);
    let window = [3..17, 5..26, 7..33];
    let mut small = shot.clone();
    small.snapshots.as_mut().expect("the shot takes snapshots").window = window.clone();
    let n = world.padded.n;
    for slabs in [&[][..], &[8, 21, 23], &[8, 9, 10, 8, 17]] {
        let tape = world.run(&small, 1, slabs);
        for ((it, full), (step, part)) in whole.snapshots.iter().zip(&tape.snapshots) {
            let cell = |c: usize, y: usize, x: usize, z: usize| full[((c * n[2] + y) * n[1] + x) * n[0] + z];
            let [z, x, y] = window.clone();
            let lines = (0..3).flat_map(|c| y.clone().flat_map(move |y| (5..26).map(move |x| (c, y, x))));
            assert_eq!(x, 5..26);
            let want: Vec<f32> = lines
                .flat_map(|(c, y, x)| z.clone().map(move |z| cell(c, y, x, z)))
                .collect();
            assert_eq!((it, &want), (step, part), "slabs {slabs:?}");
        }
    }
}

#[test]
fn slabs_and_threads_give_the_same_bits_without_symmetry_planes() {
    for (world, cuts) in [(World::plane(), CUTS_2D), (World::volume(), CUTS_3D)] {
        let shot = world.shot(settings()[0]);
        let run =
            |threads, slabs| run_on(&shot, world.oblique::<f32>(), threads, slabs).expect("the shot runs");
        let whole = run(1, &[]);
        assert!(whole.peak() > 0.0);
        for (threads, slabs) in [(3, cuts[0]), (1, cuts[2]), (2, cuts[4])] {
            assert_eq!(difference(&whole, &run(threads, slabs)), None, "slabs {slabs:?}");
        }
    }
}
