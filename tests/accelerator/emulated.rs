//! Tests that need an emulated accelerator.

use crate::cases::{World, difference, settings};
use crate::emulator::Emulator;
use crate::runs::{How, Machines, on, prepare, record, skip, world};
use crate::shots::Tape;
use crate::thread_ranks::{Capabilities, ThreadRank, thread_ranks};
use kernels::Error;
use kernels::communicator::{Channel, Communicator, Span, Topic};
use kernels::device::accelerator::Accelerator;
use kernels::medium::Symmetry;
use kernels::methods::displacement::gpu::{Transport, from_medium};
use kernels::methods::displacement::{ParallelOptions, SLABS};
use kernels::receiver::Quantity;
use std::cell::Cell;
use std::sync::Arc;

fn machines(test: &str) -> Option<Machines<Emulator>> {
    match Emulator::available() {
        Ok(()) => Some(Machines {
            open: |k| Arc::new(Emulator::new().numbered(k)),
            quick: false,
            open_memory: true,
        }),
        Err(why) => {
            skip(&format!("emulated::{test}"), &why);
            None
        }
    }
}

on!(machines);

#[test]
fn blocks_and_threads_in_reverse_give_the_same_bits() {
    let Some(forth) = machines("blocks_and_threads_in_reverse_give_the_same_bits") else {
        return;
    };
    let back = Machines {
        open: |k| Arc::new(Emulator::new().reversed().numbered(k)),
        quick: false,
        open_memory: true,
    };
    for (ndim, cut) in [(2, [13, 9, 24]), (3, [12, 8, 20])] {
        let small = World::slender(ndim);
        for k in [0, 3, 5, 10] {
            let mut shot = small.shot(settings()[k]);
            shot.quantity = Quantity::of_displacement(k == 3);
            let one = world(&forth, &small, &shot, &[]);
            for slabs in [&[][..], &cut] {
                let first_difference = difference(&one, &world(&back, &small, &shot, slabs));
                assert_eq!(first_difference, None, "{ndim}-D {:?} {slabs:?}", settings()[k]);
            }
        }
    }
    // These grids are so thin that the two faces of an axis overlap.
    for n in [&[2, 30][..], &[30, 2], &[2, 2, 9]] {
        let tiny = World::tiny(n);
        let mut shot = tiny.shot(settings()[0]);
        shot.nbell = 0;
        let [one, other] = [&forth, &back].map(|machines| world(machines, &tiny, &shot, &[]));
        assert_eq!(difference(&one, &other), None, "{n:?}");
    }
}

#[test]
fn steps_of_small_grids_are_replayed() {
    let Some(machines) = machines("steps_of_small_grids_are_replayed") else {
        return;
    };
    // If every launch is waited for, so that a fault is attributed to its launch, no steps are recorded for replay.
    let waiting = Machines {
        open: |_| Arc::new(Emulator::new().synchronous()),
        quick: false,
        open_memory: true,
    };
    // The columns are steps, jsnap (0: none), and the number of graphs of twenty steps that fit between two times at
    // which the host reads the fields.
    for (machines, steps, jsnap, replays) in [
        (&machines, 39, 0, 0),
        (&machines, 40, 0, 2),
        (&machines, 119, 0, 5),
        (&machines, 101, 50, 4),
        (&machines, 100, 39, 0),
        (&waiting, 119, 0, 0),
    ] {
        let mut tiny = World::tiny(&[8, 9]);
        tiny.steps = steps;
        let mut shot = tiny.shot(settings()[0]);
        (shot.nbell, shot.jcheck, shot.jdata) = (1, 1000, 3);
        match jsnap {
            0 => shot.snapshots = None,
            every => shot.snapshots.as_mut().expect("the world has snapshots").every = every,
        }
        let (mut simulation, devices) =
            prepare::<f32, _>(machines, &shot, &tiny.medium(), How::PLAIN).expect("a valid shot");
        simulation.run(&mut Tape::default()).expect("the shot runs");
        assert_eq!(
            devices[0].replays(),
            replays,
            "{steps} steps, snapshots every {jsnap}"
        );
    }
}

#[test]
fn any_number_of_multiprocessors_gives_the_same_bits() {
    let Some(two) = machines("any_number_of_multiprocessors_gives_the_same_bits") else {
        return;
    };
    // The cut of a sweep along the planes depends on the number of blocks that fit on the device.
    let many = Machines {
        open: |_| Arc::new(Emulator::new().with_multiprocessors(132)),
        quick: false,
        open_memory: true,
    };
    for ndim in [2, 3] {
        let small = World::slender(ndim);
        let (shot, medium) = (small.shot(settings()[4]), small.medium());
        let one: Tape<f32> = record(&two, &shot, &medium, How::PLAIN);
        for slabs in [&[][..], if ndim == 2 { &[23, 23] } else { &[8, 32] }] {
            assert_eq!(difference(&one, &record(&many, &shot, &medium, on(slabs))), None);
        }
    }
}

/// A rank that notes how many pieces of its neighbours' memory are open on its device, in gathers that send a message
/// and in gathers that only wait.
struct Watched<'a> {
    rank: &'a ThreadRank,
    device: Arc<Emulator>,
    open: [Cell<usize>; 2],
}

impl Communicator for Watched<'_> {
    fn rank(&self) -> usize {
        self.rank.rank()
    }

    fn size(&self) -> usize {
        self.rank.size()
    }

    fn host(&self) -> &str {
        self.rank.host()
    }

    fn all_gather(&self, words: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        let most = &self.open[usize::from(words.is_empty())];
        most.set(most.get().max(self.device.borrowed()));
        self.rank.all_gather(words)
    }

    unsafe fn channel(
        &self,
        peer: (usize, usize),
        leaving: &[Span],
        arriving: &[Span],
    ) -> Result<Box<dyn Channel>, Error> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.rank.channel(peer, leaving, arriving) }
    }

    fn send_to_root(&self, topic: Topic, message: Vec<u8>) -> Result<(), Error> {
        self.rank.send_to_root(topic, message)
    }

    fn receive_from(&self, topic: Topic, from: usize) -> Result<Vec<u8>, Error> {
        self.rank.receive_from(topic, from)
    }
}

/// A rank that reaches only one of its two neighbours is refused, and closes the memory that it has opened before the
/// neighbour may free it.
#[test]
fn refused_ranks_close_the_memory_of_others() {
    if machines("refused_ranks_close_the_memory_of_others").is_none() {
        return;
    }
    let small = World::slender(2);
    let shot = small.shot(settings()[0]);
    let layouts = SLABS
        .cut(small.padded.planes(), &[8, 15, 14, 9])
        .expect("the slabs fit");
    let open = thread_ranks(3, Capabilities::default(), |rank| {
        let mine = [0..1, 1..3, 3..4][rank.rank()].clone();
        let devices = mine.clone().map(|k| Emulator::new().numbered(k));
        let devices = devices.map(|device| match rank.rank() {
            1 if device.properties().number == 2 => device.closed(),
            _ => device,
        });
        let devices: Vec<_> = devices.map(Arc::new).collect();
        let placed = devices.iter().cloned().zip(layouts[mine].to_vec()).collect();
        let class = Symmetry::Orthorhombic;
        let mut simulation = from_medium(&shot, &small.medium(), placed, class).expect("a valid shot");
        let ranks = Watched {
            rank,
            device: devices[0].clone(),
            open: Default::default(),
        };
        let options = ParallelOptions {
            transport: Transport::Ipc,
            ..ParallelOptions::default()
        };
        let refused = simulation.run_among(&ranks, &mut Tape::default(), options);
        let message = refused.expect_err("an impossible transport").to_string();
        assert!(
            message.contains("the GPU of a neighbour cannot be reached"),
            "{message}"
        );
        ranks.open.map(|most| most.get() > 0)
    });
    assert_eq!(open[1], [true, false]);
}
