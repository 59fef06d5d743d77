//! Queues that only events keep in order give the same bits as queues that run every item as soon as it is enqueued.

use crate::cases::{self, difference, settings};
use crate::element_worlds::{Recipe, Rock, World};
use crate::elements;
use crate::emulator::Emulator;
use crate::runs::{Machines, skip, world};
use crate::staggered::{cases, record};
use kernels::device::accelerator::{Accelerator, Memory};
use kernels::device::staging::Staging;
use kernels::receiver::Quantity;
use std::sync::Arc;

/// A late device, whose queues take turns in an order that depends on the seed.
fn late<const SEED: u64>(k: usize) -> Arc<Emulator> {
    Arc::new(Emulator::new().numbered(k).late(SEED))
}

/// Four of the possible orders.
const LATE: [fn(usize) -> Arc<Emulator>; 4] = [late::<1>, late::<2>, late::<3>, late::<4>];

fn on_queues(open: fn(usize) -> Arc<Emulator>) -> Machines<Emulator> {
    Machines {
        open,
        quick: false,
        open_memory: true,
    }
}

/// Machines whose queues run every item as soon as it is enqueued; without them, the reason for skipping the test is
/// printed.
fn prompt(test: &str) -> Option<Machines<Emulator>> {
    match Emulator::available() {
        Ok(()) => Some(on_queues(|k| Arc::new(Emulator::new().numbered(k)))),
        Err(why) => {
            skip(&format!("late::{test}"), &why);
            None
        }
    }
}

#[test]
fn staggered_slabs_need_their_marks_alone() {
    let Some(prompt) = prompt("staggered_slabs_need_their_marks_alone") else {
        return;
    };
    for ndim in [2, 3] {
        for (k, mut case) in cases(ndim).into_iter().enumerate().skip(1).step_by(2 * ndim - 1) {
            case.shot.nt = 22;
            let planes = case.shot.frame.around(&case.grid).planes();
            let (one, peaks) = record::<f32, _>(&prompt, &case, &[]).expect("the shot runs");
            // The cuts are one slab, slabs of the smallest thickness, and two slabs of which the second has only edges.
            let mut thin = vec![8; planes / 8];
            thin[k % (planes / 8)] += planes % 8;
            for (j, sizes) in [vec![], thin, vec![planes - 8, 8]].into_iter().enumerate() {
                let machines = on_queues(LATE[(j + k) % LATE.len()]);
                let (tape, late_peaks) = record::<f32, _>(&machines, &case, &sizes).expect("the shot runs");
                assert_eq!(difference(&one, &tape), None, "{sizes:?} {}", case.what);
                assert!(peaks == late_peaks, "{sizes:?}: peaks of {}", case.what);
            }
        }
    }
}

#[test]
fn staggered_ranks_need_their_marks_alone() {
    if prompt("staggered_ranks_need_their_marks_alone").is_none() {
        return;
    }
    crate::staggered_ranks::staggered_ranks_run_again(&on_queues(LATE[3]));
    crate::staggered_ranks::staggered_ranks_give_the_same_bits(&on_queues(LATE[0]));
    crate::staggered_ranks::a_staggered_rank_that_grows_ends_all(&on_queues(LATE[1]));
}

#[test]
fn long_records_and_growing_runs_need_their_marks_alone() {
    let Some(prompt) = prompt("long_records_and_growing_runs_need_their_marks_alone") else {
        return;
    };
    for open in LATE {
        crate::staggered::a_staggered_run_that_grows_is_noticed(&on_queues(open));
    }
    // More records than a ring holds, some of which are fetched one by one.
    let mut case = cases(2).swap_remove(0);
    (case.shot.nt, case.shot.jdata, case.shot.snapshots) = (700, 1, None);
    let (one, _) = record::<f32, _>(&prompt, &case, &[]).expect("the shot runs");
    for open in LATE {
        let (tape, _) = record::<f32, _>(&on_queues(open), &case, &[2]).expect("the shot runs");
        assert_eq!(difference(&one, &tape), None);
    }
}

#[test]
fn displacement_needs_its_marks_alone() {
    let Some(prompt) = prompt("displacement_needs_its_marks_alone") else {
        return;
    };
    for (ndim, cuts) in [
        (2, [&[13, 9, 24][..], &[8, 38]]),
        (3, [&[12, 8, 20][..], &[32, 8]]),
    ] {
        let small = cases::World::slender(ndim);
        // The queues do not depend on the number of dimensions, so 3-D has only the settings with most options.
        for &k in if ndim == 2 { &[0, 3, 5, 10][..] } else { &[3, 10] } {
            let mut shot = small.shot(settings()[k]);
            // The potentials of a snapshot are computed from neighbouring cells, too.
            shot.quantity = Quantity::of_displacement([3, 10].contains(&k));
            // Records wait for all queues; between two records only the events of a step order them.
            shot.jdata = if k.is_multiple_of(2) { 7 } else { 1 };
            let one = world(&prompt, &small, &shot, &[]);
            for (j, slabs) in [&[][..], cuts[0], cuts[1]].into_iter().enumerate() {
                let machines = on_queues(LATE[(j + k) % LATE.len()]);
                let first_difference = difference(&one, &world(&machines, &small, &shot, slabs));
                assert_eq!(first_difference, None, "{ndim}-D {:?} {slabs:?}", settings()[k]);
            }
        }
    }
    crate::ranks::ranks_give_the_same_bits(&on_queues(LATE[2]));
    crate::ranks::ranks_run_again(&on_queues(LATE[3]));
}

#[test]
fn parts_of_meshes_need_their_marks_alone() {
    let Some(prompt) = prompt("parts_of_meshes_need_their_marks_alone") else {
        return;
    };
    let recipe = Recipe {
        rocks: [Rock::Fluid, Rock::Table],
        loses: true,
        steps: 24,
        ..Recipe::plain([6, 4])
    };
    let world = World::new(recipe);
    let one = elements::record(&prompt, &world, &[]);
    for (k, open) in LATE.into_iter().enumerate() {
        let cuts: &[usize] = [&[][..], &[11], &[5, 13], &[4, 9, 14, 19]][k];
        let tape = elements::record(&on_queues(open), &world, cuts);
        assert_eq!(difference(&one, &tape), None, "{cuts:?}");
    }
}

/// There are more pieces than the two halves of the buffer that carry them in turn.
#[test]
fn long_transfers_need_their_marks_alone() {
    if prompt("long_transfers_need_their_marks_alone").is_none() {
        return;
    }
    let bytes: Vec<u8> = (0..56 << 10)
        .flat_map(|k| [(k * 31 % 251) as u8; 1 << 10])
        .collect();
    for open in LATE {
        let (device, mut staging) = (open(0), Staging::default());
        let memory = device.allocate(bytes.len()).expect("memory");
        let mut back = vec![0; bytes.len()];
        // SAFETY: the memory is as long as `bytes`.
        unsafe {
            staging
                .upload(&*device, &bytes, memory.address())
                .expect("it is sent");
            staging
                .download(&*device, memory.address(), &mut back)
                .expect("it comes back");
        }
        assert!(bytes == back);
    }
}
