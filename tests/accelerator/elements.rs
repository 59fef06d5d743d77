//! Spectral elements on accelerators: they agree with processors to rounding, and give the same bits for every cut, on
//! ranks and after saved states.

use crate::cases::difference;
use crate::element_worlds::{Recipe, Rock, World};
use crate::ranks::ways;
use crate::runs::{Machines, misfit};
use crate::saved_states::{MemorySource, MemoryStore};
use crate::shots::Tape;
use crate::thread_ranks::thread_ranks;
use kernels::Error;
use kernels::communicator::{Alone, Communicator};
use kernels::device::accelerator::Accelerator;
use kernels::device::cpu::Cpu;
use kernels::mesh::Order;
use kernels::methods::spectral_elements::gpu::{self, DevicePart};
use kernels::methods::spectral_elements::{Engine, Followed, Grain, Lumping, Quantity, subdomains};
use kernels::parallel::gather::SnapshotWriter;
use kernels::parallel::group::Group;
use kernels::parallel::options::{ParallelOptions, Transport};
use kernels::time_loop::state::{Checkpoints, Every, read_header};
use std::ops::Range;
use std::sync::Arc;

/// Ranges of elements that end at these numbers.
fn parts<const D: usize>(world: &World<D>, cuts: &[usize]) -> Vec<Range<usize>> {
    let ends = cuts.iter().copied().chain([world.mesh.len()]);
    let starts = [0].into_iter().chain(cuts.iter().copied());
    starts.zip(ends).map(|(a, b)| a..b).collect()
}

/// Subdomains on processors.
fn on_processors<const D: usize>(world: &World<D>) -> Group<Engine<D>> {
    let cpu = Arc::new(Cpu::new(1).expect("one thread"));
    let whole = parts(world, &[]);
    subdomains(cpu, &world.setup(), &world.shot, (&whole, 0..1)).expect("a valid world")
}

/// Subdomains on devices.
pub fn on_devices<const D: usize, A: Accelerator>(
    machines: &Machines<A>,
    world: &World<D>,
    (cuts, own): (&[usize], Range<usize>),
) -> (Group<DevicePart<D, A>>, Vec<Arc<A>>) {
    let devices: Vec<Arc<A>> = own.clone().map(machines.open).collect();
    let parts = parts(world, cuts);
    let group = gpu::subdomains(&devices, &world.setup(), &world.shot, (&parts, own));
    (group.expect("a valid world"), devices)
}

/// All records of one process.
pub fn record<const D: usize, A: Accelerator>(
    machines: &Machines<A>,
    world: &World<D>,
    cuts: &[usize],
) -> Tape<f32> {
    let (mut group, devices) = on_devices(machines, world, (cuts, 0..cuts.len() + 1));
    let mut tape = Tape::default();
    group.run(&mut tape).expect("the shot runs");
    drop(group);
    devices
        .iter()
        .for_each(|d| d.finish().expect("no damage was done"));
    assert_records(world, &tape);
    tape
}

/// Checks that every record has one value per component of every receiver.
fn assert_records<const D: usize>(world: &World<D>, tape: &Tape<f32>) {
    let numbers = world.shot.receivers.len() * world.shot.quantity.components(D);
    assert!(tape.traces.iter().all(|record| record.len() == numbers));
}

pub fn close<const D: usize, A: Accelerator>(machines: &Machines<A>, recipe: Recipe<D>) {
    let world = World::new(recipe);
    let mut cpu = Tape::default();
    on_processors(&world).run(&mut cpu).expect("the shot runs");
    assert!(cpu.peak() > 0.0 && cpu.snapshots.len() >= 2, "{}", world.what);
    let far = misfit(&cpu, &record(machines, &world, &[]));
    println!("{}: {far:.1e}", world.what);
    assert!(far < 1e-5, "{}: {far:.1e}", world.what);
}

pub const DRY: [Rock; 2] = [Rock::Isotropic, Rock::Table];
pub const WET: [Rock; 2] = [Rock::Fluid, Rock::Isotropic];

pub fn elements_agree_with_the_processor<A: Accelerator>(machines: &Machines<A>) {
    let plane = Recipe::plain([8, 6]);
    let volume = Recipe::plain([5, 4, 4]);
    for (rocks, loses, order, lumping, quantity) in [
        (DRY, false, Order::Linear, Lumping::Matrix, Quantity::Displacement),
        (DRY, true, Order::Linear, Lumping::RowSums, Quantity::Velocity),
        (
            DRY,
            false,
            Order::Quadratic,
            Lumping::Matrix,
            Quantity::Acceleration,
        ),
        (WET, false, Order::Linear, Lumping::Matrix, Quantity::Pressure),
        (WET, true, Order::Quadratic, Lumping::RowSums, Quantity::Velocity),
        (WET, false, Order::Linear, Lumping::Matrix, Quantity::Acceleration),
        (
            [Rock::Fluid, Rock::Table],
            true,
            Order::Linear,
            Lumping::Matrix,
            Quantity::Displacement,
        ),
        (
            [Rock::Fluid, Rock::Fluid],
            false,
            Order::Linear,
            Lumping::Matrix,
            Quantity::Pressure,
        ),
    ] {
        close(
            machines,
            Recipe {
                rocks,
                loses,
                order,
                lumping,
                quantity,
                steps: 90,
                ..plane
            },
        );
        close(
            machines,
            Recipe {
                rocks,
                loses,
                order,
                lumping,
                quantity,
                ..volume
            },
        );
    }
}

pub fn constants_of_points_agree_with_the_processor<A: Accelerator>(machines: &Machines<A>) {
    for (rocks, loses, order) in [
        (DRY, false, Order::Linear),
        (DRY, true, Order::Quadratic),
        (WET, true, Order::Linear),
        ([Rock::Fluid, Rock::Table], true, Order::Linear),
    ] {
        close(
            machines,
            Recipe {
                rocks,
                loses,
                order,
                varies: true,
                steps: 90,
                ..Recipe::plain([8, 6])
            },
        );
        close(
            machines,
            Recipe {
                rocks,
                loses,
                order,
                varies: true,
                ..Recipe::plain([4, 3, 4])
            },
        );
    }
    let world = World::new(Recipe {
        rocks: WET,
        loses: true,
        varies: true,
        ..Recipe::plain([8, 6])
    });
    same_bits(machines, &world);
    goes_on(machines, &world);
    // If the host does not read the fields after a step, the next step begins at once inside the elements; saving a
    // state prevents that, too.
    let mut world = World::new(Recipe {
        rocks: [Rock::Table, Rock::Table],
        varies: true,
        ..Recipe::plain([4, 3, 4])
    });
    goes_on(machines, &world);
    let seldom = record(machines, &world, &[]).traces;
    world.shot.jsnap = Some(1);
    assert_eq!(
        seldom,
        record(machines, &world, &[]).traces,
        "{}: looking at the fields changes the waves",
        world.what
    );
}

pub fn a_sponge_agrees_with_the_processor<A: Accelerator>(machines: &Machines<A>) {
    for (rocks, loses, quantity) in [
        (DRY, false, Quantity::Acceleration),
        (WET, true, Quantity::Velocity),
        ([Rock::Fluid, Rock::Fluid], false, Quantity::Pressure),
    ] {
        let plane = Recipe {
            rocks,
            loses,
            quantity,
            soaks: true,
            steps: 90,
            ..Recipe::plain([8, 6])
        };
        close(machines, plane);
        same_bits(machines, &World::new(plane));
    }
    let volume = Recipe {
        loses: true,
        soaks: true,
        ..Recipe::plain([5, 4, 4])
    };
    close(machines, volume);
    goes_on(machines, &World::new(volume));
}

pub fn coarse_grained_attenuation_agrees_with_the_processor<A: Accelerator>(machines: &Machines<A>) {
    for (rocks, order, varies) in [
        (DRY, Order::Linear, false),
        (WET, Order::Quadratic, false),
        (DRY, Order::Linear, true),
    ] {
        let plane = Recipe {
            rocks,
            order,
            varies,
            loses: true,
            grain: Grain::Coarse,
            steps: 90,
            ..Recipe::plain([8, 6])
        };
        close(machines, plane);
        same_bits(machines, &World::new(plane));
        let volume = Recipe {
            rocks,
            order,
            varies,
            loses: true,
            grain: Grain::Coarse,
            ..Recipe::plain([5, 4, 4])
        };
        close(machines, volume);
        goes_on(machines, &World::new(volume));
    }
}

pub fn strain_and_rotation_agree_with_the_processor<A: Accelerator>(machines: &Machines<A>) {
    for quantity in [Quantity::Strain, Quantity::Rotation] {
        close(
            machines,
            Recipe {
                quantity,
                steps: 90,
                ..Recipe::plain([8, 6])
            },
        );
        let volume = Recipe {
            quantity,
            loses: true,
            ..Recipe::plain([5, 4, 4])
        };
        close(machines, volume);
        let world = World::new(volume);
        let whole = record(machines, &world, &[]);
        assert_eq!(difference(&whole, &record(machines, &world, CUTS[1])), None);
    }
}

pub fn elements_of_every_degree<A: Accelerator>(machines: &Machines<A>) {
    for degree in 2..=8 {
        let loses = degree % 2 == 0;
        let grain = if degree % 4 == 0 {
            Grain::Coarse
        } else {
            Grain::Fine
        };
        let followed = match degree > 4 {
            true => Followed::OfNow,
            false => Followed::Predicted,
        };
        let rocks = if degree % 3 == 0 { WET } else { DRY };
        let steps = 24;
        close(
            machines,
            Recipe {
                degree,
                loses,
                grain,
                followed,
                rocks,
                steps,
                ..Recipe::plain([4, 4])
            },
        );
        close(
            machines,
            Recipe {
                degree,
                loses,
                grain,
                followed,
                rocks,
                steps,
                ..Recipe::plain([3, 2, 2])
            },
        );
    }
}

/// Worlds with every kind of exchange, and where they are cut.
fn shared() -> (World<2>, World<3>) {
    let plane = Recipe {
        rocks: [Rock::Fluid, Rock::Table],
        loses: true,
        ..Recipe::plain([8, 6])
    };
    let volume = Recipe {
        rocks: WET,
        loses: true,
        steps: 30,
        ..Recipe::plain([5, 4, 4])
    };
    (World::new(plane), World::new(volume))
}

const CUTS: [&[usize]; 4] = [&[21], &[12, 31], &[6, 13, 20, 39], &[5, 11, 18, 24, 30, 41]];

pub fn same_bits<const D: usize, A: Accelerator>(machines: &Machines<A>, world: &World<D>) {
    let whole = record(machines, world, &[]);
    for cuts in CUTS {
        let first_difference = difference(&whole, &record(machines, world, cuts));
        assert_eq!(first_difference, None, "{cuts:?} {}", world.what);
    }
}

pub fn elements_in_parts_give_the_same_bits<A: Accelerator>(machines: &Machines<A>) {
    let (plane, volume) = shared();
    same_bits(machines, &plane);
    same_bits(machines, &volume);
    // Without fluids, a step has one stage.
    same_bits(machines, &World::new(Recipe::plain([8, 6])));
}

fn options(transport: Transport) -> ParallelOptions {
    ParallelOptions {
        snapshots: SnapshotWriter::Root,
        transport,
        ..ParallelOptions::default()
    }
}

pub fn elements_on_ranks_give_the_same_bits<A: Accelerator>(machines: &Machines<A>) {
    let (world, _) = shared();
    let whole = record(machines, &world, &[]);
    // The cut after 21 elements goes through a column, so that fluids send other values across it than they receive.
    for (cuts, dealt) in [(CUTS[0], &[1, 1][..]), (CUTS[1], &[2, 1]), (CUTS[2], &[1, 2, 2])] {
        for (talents, way) in ways(machines) {
            let run = |ranks: &dyn Communicator| {
                let first: usize = dealt[..ranks.rank()].iter().sum();
                let own = first..first + dealt[ranks.rank()];
                let (mut group, _devices) = on_devices(machines, &world, (cuts, own));
                let mut tape = Tape::default();
                let done = group.run_among(ranks, &mut tape, options(way));
                done.expect("the shot runs");
                tape
            };
            let tapes = thread_ranks(dealt.len(), talents, |ranks| run(ranks));
            assert_eq!(difference(&whole, &tapes[0]), None, "{cuts:?} {dealt:?} {way:?}");
        }
    }
}

/// Saved states by step.
type States = Vec<(usize, Vec<u8>)>;

/// Records of a run that may begin at a state, and the states that it saves.
fn saved<S: kernels::parallel::group::Subdomain<Number = f32>>(
    mut group: Group<S>,
    from: Option<&[u8]>,
    every: usize,
) -> Result<(Tape<f32>, States), Error> {
    let memory_store = Arc::new(MemoryStore::default());
    if let Some(state) = from {
        group.resume(&Alone, &mut MemorySource(state))?;
    }
    let mut tape = Tape::default();
    let mut checkpoints = Checkpoints::new(&Alone, memory_store.clone(), Every::Steps(every));
    group.run_saving(
        &Alone,
        &mut tape,
        options(Transport::Auto),
        Some(&mut checkpoints),
    )?;
    drop(checkpoints);
    Ok((tape, memory_store.states()))
}

pub fn goes_on<const D: usize, A: Accelerator>(machines: &Machines<A>, world: &World<D>) {
    let on = |cuts: &[usize]| on_devices(machines, world, (cuts, 0..cuts.len() + 1)).0;
    let whole = record(machines, world, &[]);
    let (tape, states) = saved(on(CUTS[0]), None, 11).expect("the shot runs");
    // Saving states does not change any bit.
    assert_eq!(difference(&whole, &tape), None, "{}", world.what);
    let (_, others) = saved(on(CUTS[1]), None, 11).expect("the shot runs");
    assert!(states == others, "states of other cuts: {}", world.what);
    let (step, state) = &states[0];
    let rest = |tape: &Tape<f32>| -> Vec<(usize, Vec<f32>)> {
        let all = tape.steps.iter().copied().zip(tape.traces.iter().cloned());
        all.filter(|(s, _)| s >= step).collect()
    };
    for cuts in [&[][..], CUTS[0], CUTS[2]] {
        let (tape, _) = saved(on(cuts), Some(state), 1000).expect("the shot continues");
        assert!(
            rest(&whole) == rest(&tape),
            "{cuts:?} after step {step}: {}",
            world.what
        );
    }
    // Processors continue from a state of a device, and a device from a state of processors; the results agree to
    // rounding.
    let mut cpu = Tape::default();
    on_processors(world).run(&mut cpu).expect("the shot runs");
    let peak = cpu.peak();
    let near = |tape: &Tape<f32>| {
        let pairs = rest(&cpu).into_iter().zip(rest(tape));
        pairs
            .flat_map(|((_, a), (_, b))| a.into_iter().zip(b))
            .all(|(a, b)| f64::from((a - b).abs()) < 1e-5 * peak)
    };
    let (behind, _) = saved(on_processors(world), Some(state), 1000).expect("the shot continues");
    assert!(near(&behind), "on processors: {}", world.what);
    let (_, states) = saved(on_processors(world), None, 11).expect("the shot runs");
    let (behind, _) = saved(on(CUTS[0]), Some(&states[0].1), 1000).expect("the shot continues");
    assert!(near(&behind), "on devices: {}", world.what);
}

pub fn saved_runs_of_elements_go_on_anywhere<A: Accelerator>(machines: &Machines<A>) {
    let (plane, volume) = shared();
    goes_on(machines, &plane);
    goes_on(machines, &volume);
    // 8 x 6 elements of degree 4 have 33 x 25 points, each of which has its own block of every field.
    let (_, states) = saved(on_processors(&plane), None, 11).expect("the shot runs");
    let header = read_header(&mut MemorySource(&states[0].1)).expect("a valid state");
    let blocks = |name: &str| header.arrays.iter().find(|a| a.name == name).map(|a| a.blocks);
    assert_eq!(["displacement", "potential"].map(blocks), [Some(33 * 25); 2]);
}

/// A few short runs that use every kernel, for tools that watch each access.
pub fn every_kernel_of_elements<A: Accelerator>(machines: &Machines<A>) {
    for (order, grain) in [(Order::Linear, Grain::Fine), (Order::Quadratic, Grain::Coarse)] {
        for (rocks, loses) in [(DRY, false), (WET, true)] {
            let plane = Recipe {
                rocks,
                loses,
                grain,
                order,
                steps: 14,
                ..Recipe::plain([4, 4])
            };
            let volume = Recipe {
                rocks,
                loses,
                grain,
                order,
                steps: 10,
                ..Recipe::plain([3, 2, 2])
            };
            let (plane, volume) = (World::new(plane), World::new(volume));
            assert_eq!(
                difference(&record(machines, &plane, &[]), &record(machines, &plane, &[6])),
                None
            );
            assert_eq!(
                difference(&record(machines, &volume, &[]), &record(machines, &volume, &[5])),
                None
            );
        }
    }
}
