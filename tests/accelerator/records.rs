//! Records of receivers: the ring that carries them, and slabs without receivers.

use crate::cases::{World, difference, settings};
use crate::element_worlds::{self, Recipe};
use crate::elements::{self, DRY};
use crate::runs::{How, Machines, apart, misfit, on, prepare, record, world};
use crate::shots::{Tape, medium};
use kernels::boundary::one_way::Form;
use kernels::device::accelerator::Accelerator;
use kernels::device::cpu::Cpu;
use kernels::device::device_to_host::HALF;
use kernels::methods::displacement;
use kernels::methods::displacement::SLABS;
use kernels::receiver::Quantity;

/// The number of records ranges from half of the ring to more than twice the ring.
pub fn a_ring_of_records_goes_round<A: Accelerator>(machines: &Machines<A>) {
    for (n, slabs) in [(&[12, 13][..], [9, 12]), (&[3, 2, 11], [10, 9])] {
        let mut tiny = World::tiny(n);
        // The ring does not depend on the number of dimensions, so 2-D has all cases and 3-D two of them.
        let turns = [(HALF + 1, 1), (2 * HALF + 1, 2), (HALF, 1), (4 * HALF + 8, 1)];
        let count = if n.len() == 2 { turns.len() } else { 2 };
        for (records, jdata) in turns.into_iter().take(count) {
            tiny.steps = (records - 1) * jdata + 1;
            let mut shot = tiny.shot(settings()[1]);
            // In so thin a frame the published form is unstable, and rounding errors grow with it.
            (shot.jdata, shot.nbell, shot.one_way) = (jdata, 1, Form::Upwind);
            // If the host never reads the fields in between, the ring is emptied only by halves; otherwise it is also
            // emptied before it is half full.
            for (jcheck, jsnap) in [(1000, None), (23, Some(17))] {
                shot.jcheck = jcheck;
                shot.snapshots = jsnap.and(tiny.shot(settings()[1]).snapshots);
                let far = apart::<f32, A>(machines, &tiny, &shot, How::PLAIN);
                assert!(far < 1e-5, "{records} records, jdata {jdata}: {far}");
                let one = world(machines, &tiny, &shot, &[]);
                assert_eq!(one.steps.len(), records);
                let first_difference = difference(&one, &world(machines, &tiny, &shot, &slabs));
                assert_eq!(first_difference, None, "{records} records, jdata {jdata}");
            }
        }
    }
}

/// Records of runs on meshes fill the ring several times, too, and nothing is written beyond its last slot.
pub fn a_ring_of_records_of_elements_goes_round<A: Accelerator>(machines: &Machines<A>) {
    let recipe = Recipe {
        rocks: DRY,
        steps: 2 * HALF + 9,
        ..Recipe::plain([3, 4])
    };
    let mut world = element_worlds::World::new(recipe);
    world.shot.jdata = 1;
    assert_eq!(elements::record(machines, &world, &[]).steps.len(), recipe.steps);
}

pub fn slabs_without_receivers<A: Accelerator>(machines: &Machines<A>) {
    for (ndim, slabs) in [(2, [12, 9, 25]), (3, [12, 8, 20])] {
        let whole = World::slender(ndim);
        let axis = ndim - 1;
        let (low, d) = (whole.padded.o[axis], whole.padded.d()[axis]);
        let plane = |at: f32| ((at - low) / d) as usize;
        // There are no receivers in the lower, the middle or the upper slab, and finally only one plane has receivers.
        let kept: [fn(usize) -> bool; 4] = [|p| p >= 12, |p| !(12..21).contains(&p), |p| p < 21, |p| p == 20];
        for (k, keep) in kept.into_iter().enumerate() {
            let mut small = World::slender(ndim);
            small.receivers.retain(|r| keep(plane(r[axis])));
            assert!(!small.receivers.is_empty() && small.receivers.len() < whole.receivers.len());
            let mut shot = small.shot(settings()[0]);
            (shot.quantity, shot.jdata) = (Quantity::of_displacement(k % 2 == 0), 1 + k);
            let far = apart::<f32, A>(machines, &small, &shot, on(&slabs));
            assert!(far < 1e-5, "{ndim}-D case {k}: {far}");
            let first_difference = difference(
                &world(machines, &small, &shot, &[]),
                &world(machines, &small, &shot, &slabs),
            );
            assert_eq!(first_difference, None, "{ndim}-D case {k}");
        }
    }
}

/// Benchmarks and surveys run a simulation more than once; a second run continues from the last fields.
pub fn a_simulation_runs_again<A: Accelerator>(machines: &Machines<A>) {
    for (ndim, slabs) in [(2, vec![]), (2, vec![24, 22]), (3, vec![8, 14, 8, 10])] {
        let small = World::slender(ndim);
        let mut shot = small.shot(settings()[1]);
        shot.jdata = 2;
        let cpu = Cpu::new(1).expect("threads start");
        let one = SLABS.partition(small.padded.planes(), 1).expect("one slab fits");
        let mut there = displacement::Simulation::new(&shot, small.medium(), cpu, one).expect("a valid shot");
        let (mut here, devices) =
            prepare(machines, &shot, &small.medium(), on(&slabs)).expect("a valid shot");
        for run in 0..3 {
            let (mut a, mut b) = (Tape::<f32>::default(), Tape::default());
            there.run(&mut a).expect("it runs");
            here.run(&mut b).expect("it runs");
            let far = misfit(&a, &b);
            assert!(far < 1e-5, "{ndim}-D run {run} on {slabs:?}: {far}");
        }
        drop(here);
        devices
            .iter()
            .for_each(|d| d.finish().expect("no damage was done"));
    }
    // The medium of one shot does not affect the next.
    let small = World::slender(2);
    let shot = small.shot(settings()[0]);
    let quiet = medium::<f32>(&small.padded, |_| {
        let speeds = kernels::medium::Speeds {
            vp: 2.0,
            vs: 1.0,
            rho: 1.0,
        };
        (kernels::medium::Stiffness::isotropic(speeds), 1.0)
    });
    let first = record(machines, &shot, &small.medium(), How::PLAIN);
    record(machines, &shot, &quiet, How::PLAIN);
    assert_eq!(
        difference(&first, &record(machines, &shot, &small.medium(), How::PLAIN)),
        None
    );
}
