//! On small grids a single slab replays recorded steps, twenty at a time, if the host does not look at the fields for
//! forty steps; several slabs never do.

use crate::cases::{World, difference, settings};
use crate::runs::{Machines, on, prepare, world};
use crate::shots::Tape;
use kernels::device::accelerator::Accelerator;

/// Steps, jdata, jsnap (0: none) and jcheck: numbers around multiples of twenty, and starts on odd steps.
const CASES: [[usize; 4]; 16] = [
    [39, 1, 0, 100],
    [40, 1, 0, 100],
    [41, 1, 0, 100],
    [60, 3, 0, 100],
    [79, 7, 0, 1000],
    [101, 1, 0, 40],
    [101, 1, 0, 41],
    [123, 4, 0, 43],
    [130, 20, 0, 65],
    [130, 19, 41, 1000],
    [130, 21, 42, 61],
    [170, 50, 43, 1000],
    [200, 200, 0, 1000],
    [257, 1, 0, 1000],
    [141, 2, 47, 94],
    [90, 3, 1, 1000],
];

pub fn replayed_steps_equal_steps<A: Accelerator>(machines: &Machines<A>) {
    for (n, slabs) in [(&[20, 13][..], [9, 12]), (&[3, 2, 11], [10, 9])] {
        let mut tiny = World::tiny(n);
        for (k, [steps, jdata, jsnap, jcheck]) in machines.some(CASES.into_iter(), n.len()).enumerate() {
            tiny.steps = steps;
            let mut shot = tiny.shot(settings()[5 * k % 12]);
            (shot.nbell, shot.jdata, shot.jcheck) = (k % 3, jdata, jcheck);
            match jsnap {
                0 => shot.snapshots = None,
                every => shot.snapshots.as_mut().expect("the world has snapshots").every = every,
            }
            let replayed = world(machines, &tiny, &shot, &[]);
            assert_eq!(replayed.steps.len(), steps.div_ceil(jdata));
            let first_difference = difference(&replayed, &world(machines, &tiny, &shot, &slabs));
            assert_eq!(
                first_difference,
                None,
                "{n:?} {:?}",
                [steps, jdata, jsnap, jcheck]
            );
        }
    }
}

/// The recorded steps of a simulation that runs again are counted from the beginning of the second run, as its sources
/// are.
pub fn replayed_steps_begin_again<A: Accelerator>(machines: &Machines<A>) {
    let mut tiny = World::tiny(&[20, 13]);
    tiny.steps = 119;
    let mut shot = tiny.shot(settings()[1]);
    (shot.nbell, shot.jdata, shot.jcheck, shot.snapshots) = (1, 3, 1000, None);
    let [mut replayed, mut stepwise] = [&[][..], &[9, 12]].map(|slabs| {
        let (simulation, _) =
            prepare::<f32, _>(machines, &shot, &tiny.medium(), on(slabs)).expect("a valid shot");
        simulation
    });
    for run in 0..3 {
        let [one, other] = [&mut replayed, &mut stepwise].map(|simulation| {
            let mut tape = Tape::default();
            simulation.run(&mut tape).expect("the shot runs");
            tape
        });
        assert_eq!(difference(&one, &other), None, "run {run}");
    }
}
