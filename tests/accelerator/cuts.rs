//! Slabs and repeated runs give the same result, to the last bit.

use crate::cases::{World, difference, settings};
use crate::runs::{How, Machines, on, record, world};
use crate::shots::Tape;
use crate::tiles::turn;
use kernels::boundary::one_way::Form;
use kernels::device::accelerator::Accelerator;
use kernels::device::simd::Real;
use kernels::receiver::Quantity;
use std::sync::{Arc, Mutex};

/// 2, 3, 4 and 5 slabs of 46 planes; the frames are the planes 0 to 6 and 39 to 45. Every list cuts a bell, a frame or
/// both.
const CUTS_2D: [&[usize]; 6] = [
    &[24, 22],
    &[8, 38],
    &[38, 8],
    &[12, 9, 25],
    &[8, 15, 14, 9],
    &[8, 9, 12, 8, 9],
];
/// Slabs of 40 planes; the frames are the planes 0 to 6 and 33 to 39.
const CUTS_3D: [&[usize]; 6] = [
    &[17, 23],
    &[8, 32],
    &[31, 9],
    &[12, 8, 20],
    &[8, 14, 8, 10],
    &[8, 8, 8, 8, 8],
];

fn same_bits<T: Real + Default, A: Accelerator>(machines: &Machines<A>, small: &World, cuts: &[&[usize]]) {
    for (k, setting) in settings().into_iter().enumerate() {
        let mut shot = small.shot(setting);
        shot.quantity = Quantity::of_displacement(k % 3 == 1);
        shot.one_way = if k % 2 == 0 { Form::Box } else { Form::Upwind };
        let medium = small.medium_of();
        let tile = Some(turn::<T, A>(machines, small.padded.ndim(), k));
        let of = |slabs| How {
            slabs,
            tile,
            ..How::PLAIN
        };
        let whole: Tape<T> = record(machines, &shot, &medium, of(&[]));
        assert!(whole.peak() > 0.0 && whole.snapshots.len() > 1);
        for slabs in machines.some(cuts.iter(), k) {
            let first_difference = difference(&whole, &record(machines, &shot, &medium, of(slabs)));
            assert_eq!(first_difference, None, "{setting:?}, slabs {slabs:?}, {tile:?}");
        }
    }
}

pub fn slabs_of_a_plane_give_the_same_bits<A: Accelerator>(machines: &Machines<A>) {
    same_bits::<f32, A>(machines, &World::slender(2), &CUTS_2D);
}

pub fn slabs_of_a_volume_give_the_same_bits<A: Accelerator>(machines: &Machines<A>) {
    same_bits::<f32, A>(machines, &World::slender(3), &CUTS_3D);
}

pub fn slabs_in_float64_give_the_same_bits<A: Accelerator>(machines: &Machines<A>) {
    for (ndim, cuts) in [(2, CUTS_2D), (3, CUTS_3D)] {
        let small = World::slender(ndim);
        let (mut shot, medium) = (small.shot(settings()[0]), small.medium_of());
        shot.quantity = Quantity::of_displacement(true);
        let whole: Tape<f64> = record(machines, &shot, &medium, on(&[]));
        for slabs in &cuts[3..] {
            let first_difference = difference(&whole, &record(machines, &shot, &medium, on(slabs)));
            assert_eq!(first_difference, None, "{ndim}-D {slabs:?}");
        }
    }
}

pub fn repeats_give_the_same_bits<A: Accelerator>(machines: &Machines<A>) {
    for (ndim, cuts) in [(2, CUTS_2D), (3, CUTS_3D)] {
        // On fast machines there is enough work to fill them.
        let small = match machines.quick {
            true => World::wide(ndim, 60),
            false => World::slender(ndim),
        };
        let planes = small.padded.planes();
        let cut = [planes / 3, planes / 4, planes - planes / 3 - planes / 4];
        let several: &[usize] = if machines.quick { &cut } else { cuts[3] };
        let shot = small.shot(settings()[0]);
        let one = world(machines, &small, &shot, &[]);
        for repeat in 0..if machines.quick { 20 } else { 2 } {
            for slabs in [&[][..], several] {
                let first_difference = difference(&one, &world(machines, &small, &shot, slabs));
                assert_eq!(
                    first_difference, None,
                    "{ndim}-D repeat {repeat}, slabs {slabs:?}"
                );
            }
        }
    }
}

pub fn slabs_share_a_device<A: Accelerator>(machines: &Machines<A>) {
    use kernels::methods::displacement::SLABS;
    use kernels::methods::displacement::gpu::from_medium;
    for (ndim, slabs) in [(2, CUTS_2D[4]), (3, CUTS_3D[4])] {
        let small = World::slender(ndim);
        let shot = small.shot(settings()[2]);
        let one = world(machines, &small, &shot, &[]);
        let device: Arc<A> = (machines.open)(0);
        let layouts = SLABS.cut(small.padded.planes(), slabs).expect("the slabs fit");
        let placed = layouts.into_iter().map(|l| (device.clone(), l)).collect();
        let class = kernels::medium::Symmetry::Orthorhombic;
        let mut simulation = from_medium(&shot, &small.medium(), placed, class).expect("a valid shot");
        // The recorder and the simulation may be moved to another thread between two runs.
        let tape = Mutex::new(Tape::default());
        std::thread::scope(|scope| {
            scope.spawn(|| simulation.run(&mut *tape.lock().unwrap()).expect("the shot runs"));
        });
        assert_eq!(difference(&one, &tape.into_inner().unwrap()), None, "{ndim}-D");
    }
}
