//! Gradients and linearised runs on meshes on accelerators: they agree with results on processors to rounding, are the
//! transposes of each other, and give the same bits for every amount of memory and when shot follows shot.

use crate::element_worlds::{Recipe, Rock, World};
use crate::elements::{DRY, WET};
use crate::runs::Machines;
use crate::shots::{largest, magnitude, relative_difference};
use kernels::device::accelerator::Accelerator;
use kernels::device::cpu::Cpu;
use kernels::mesh::Order;
use kernels::methods::spectral_elements::adjoint::machine::Machine;
use kernels::methods::spectral_elements::adjoint::{Adjoint, Change, Gradient, Parameters, SourceGradient};
use kernels::methods::spectral_elements::gpu::{self, OnDevice};
use kernels::methods::spectral_elements::{Followed, Grain, Lattice, Profile, Quantity, Strength};
use kernels::time_loop::reversal::CheckpointSchedule;
use std::sync::Arc;

const PLENTY: usize = 1 << 33;

/// The results of a shot: the gradient at the nodes of a grid by parameter, the derivatives with respect to sources,
/// and the records.
struct ShotResults<const D: usize> {
    gradient: Vec<Vec<f64>>,
    sources: Vec<SourceGradient<D>>,
    records: Vec<f32>,
}

fn on_processors<const D: usize>(world: &World<D>, parameters: Parameters) -> Adjoint<D> {
    let cpu = Cpu::new(1).expect("one thread");
    Adjoint::new(cpu, &world.setup(), &world.shot, parameters).expect("a valid world")
}

fn on_a_device<const D: usize, A: Accelerator>(
    machines: &Machines<A>,
    world: &World<D>,
    parameters: Parameters,
) -> (Adjoint<D, OnDevice<D, A>>, Arc<A>) {
    let device = (machines.open)(0);
    let cpu = Cpu::new(1).expect("one thread");
    let adjoint = gpu::adjoint((device.clone(), cpu), &world.setup(), &world.shot, parameters);
    (adjoint.expect("a valid world"), device)
}

/// A grid of nodes around a mesh, about 45 m apart.
fn lattice<const D: usize>(world: &World<D>) -> Lattice<D> {
    let along = |c: usize| world.mesh.nodes().iter().map(move |node| node[c]);
    let first: [f64; D] = std::array::from_fn(|c| along(c).min_by(f64::total_cmp).expect("nodes"));
    let last: [f64; D] = std::array::from_fn(|c| along(c).max_by(f64::total_cmp).expect("nodes"));
    let n = std::array::from_fn(|c| ((last[c] - first[c]) / 45.0).ceil() as usize + 1);
    let d = std::array::from_fn(|c| (last[c] - first[c]) / (n[c] - 1) as f64 * 1.0001);
    Lattice { n, o: first, d }
}

/// The gradient of half the sum of the squared records, with `memory` bytes for the stored wavefield.
fn shot_results<const D: usize, M: Machine<D>>(
    adjoint: &mut Adjoint<D, M>,
    world: &World<D>,
    memory: usize,
) -> ShotResults<D> {
    let (setup, sizes) = (world.setup(), adjoint.sizes());
    let schedule = CheckpointSchedule::choose(adjoint.steps(), sizes, memory).expect("enough memory");
    let mut kept = Vec::new();
    let result = adjoint.gradient_with_sources((&setup, &world.shot), &schedule, |records| {
        kept.clone_from(&records);
        Ok(records)
    });
    let (gradient, sources) = result.expect("the shot runs");
    ShotResults {
        gradient: at_nodes(&gradient, world),
        sources,
        records: kept,
    }
}

/// The gradient at the nodes of a grid for each of the two regions.
fn at_nodes<const D: usize>(gradient: &Gradient<D>, world: &World<D>) -> Vec<Vec<f64>> {
    let grids = (lattice(world), 2);
    let cpu = Cpu::new(1).expect("one thread");
    let all = gradient.on_grid(&cpu, (&world.mesh, &world.basis, None), grids);
    all.expect("the grid covers the mesh")
}

/// The values of a derivative with respect to a source, separated by their units.
fn of_source<const D: usize>(source: &SourceGradient<D>) -> [Vec<f64>; 3] {
    let strength = match source.strength {
        Strength::Force(force) => force.to_vec(),
        Strength::Moment(moment) => moment.concat(),
    };
    [strength, source.place.to_vec(), source.history.clone()]
}

/// Compares a device with processors and returns the largest misfit of all parameters.
fn close<const D: usize, A: Accelerator>(
    machines: &Machines<A>,
    recipe: Recipe<D>,
    parameters: Parameters,
) -> f64 {
    let world = World::new(recipe);
    let cpu = shot_results(&mut on_processors(&world, parameters), &world, PLENTY);
    let (mut adjoint, device) = on_a_device(machines, &world, parameters);
    let own = shot_results(&mut adjoint, &world, PLENTY);
    drop(adjoint);
    device.finish().expect("no damage was done");
    let mut far = vec![relative_difference(&own.records, &cpu.records)];
    for (a, b) in cpu.gradient.iter().zip(&own.gradient) {
        // The derivatives with respect to constants that do not affect waves in a plane are zero.
        if a.iter().chain(b).any(|x| *x != 0.0) {
            far.push(relative_difference(b, a));
        }
    }
    assert_eq!(cpu.sources.len(), own.sources.len());
    for (a, b) in cpu.sources.iter().zip(&own.sources) {
        let (a, b) = (of_source(a), of_source(b));
        far.extend((0..3).map(|k| relative_difference(&b[k], &a[k])));
    }
    let far = largest(far);
    println!("{} by {parameters:?}: {far:.1e}", world.what);
    far
}

const ROCK: [Rock; 2] = [Rock::Isotropic, Rock::Isotropic];

/// A recipe and the parameters of derivatives.
fn recipes<const D: usize>(plain: Recipe<D>) -> Vec<(Recipe<D>, Parameters)> {
    let rock = Recipe { rocks: ROCK, ..plain };
    let lossy = Recipe { loses: true, ..rock };
    let mut all = vec![
        (
            Recipe {
                quantity: Quantity::Displacement,
                ..rock
            },
            Parameters::Speeds,
        ),
        (
            Recipe {
                soaks: true,
                order: Order::Quadratic,
                ..rock
            },
            Parameters::Lame,
        ),
        (
            Recipe {
                rocks: DRY,
                soaks: true,
                quantity: Quantity::Acceleration,
                ..plain
            },
            Parameters::Constants,
        ),
        (
            Recipe {
                rocks: DRY,
                loses: true,
                ..plain
            },
            Parameters::Constants,
        ),
        (
            Recipe {
                rocks: DRY,
                loses: true,
                grain: Grain::Coarse,
                order: Order::Quadratic,
                soaks: true,
                ..plain
            },
            Parameters::Constants,
        ),
        (lossy, Parameters::Speeds),
        (
            Recipe {
                grain: Grain::Coarse,
                soaks: true,
                varies: true,
                ..lossy
            },
            Parameters::Impedances,
        ),
        (
            Recipe {
                followed: Followed::OfNow,
                varies: true,
                ..lossy
            },
            Parameters::Speeds,
        ),
    ];
    all.extend(bordered_or_wet(plain));
    all
}

/// The recipes with perfectly matched layers or a fluid.
fn bordered_or_wet<const D: usize>(plain: Recipe<D>) -> Vec<(Recipe<D>, Parameters)> {
    let lossy = Recipe {
        rocks: ROCK,
        loses: true,
        ..plain
    };
    let wet = Recipe {
        rocks: WET,
        quantity: Quantity::Pressure,
        ..plain
    };
    vec![
        (
            Recipe {
                matched: Some(Profile::Strong),
                rocks: DRY,
                ..plain
            },
            Parameters::Constants,
        ),
        (
            Recipe {
                matched: Some(Profile::Strong),
                grain: Grain::Coarse,
                ..lossy
            },
            Parameters::Speeds,
        ),
        (
            Recipe {
                matched: Some(Profile::Strong),
                ..wet
            },
            Parameters::Speeds,
        ),
        (wet, Parameters::Speeds),
        (
            Recipe {
                soaks: true,
                loses: true,
                order: Order::Quadratic,
                ..wet
            },
            Parameters::Lame,
        ),
    ]
}

/// Both run in single precision; they differ by 5e-7 to 1e-5 on the emulated accelerator, and by 3.5e-5 with
/// attenuation next to water.
const SINGLE: f64 = 1.2e-4;

pub fn gradients_of_elements_agree_with_the_processor<A: Accelerator>(machines: &Machines<A>) {
    let plane = Recipe {
        steps: 90,
        ..Recipe::plain([6, 6])
    };
    let mut far: Vec<f64> = Vec::new();
    far.extend(
        recipes(plane)
            .into_iter()
            .map(|(recipe, by)| close(machines, recipe, by)),
    );
    let volume = Recipe::plain([4, 3, 4]);
    far.extend(
        recipes(volume)
            .into_iter()
            .map(|(recipe, by)| close(machines, recipe, by)),
    );
    let far = largest(far);
    assert!(far < SINGLE, "{far:.1e}");
}

/// A perturbation of the two regions, and its values `[parameter][region]`.
fn perturbation<const D: usize>(world: &World<D>, parameters: Parameters) -> (Change<D>, Vec<Vec<f64>>) {
    let wave = |k: usize, x: f64| x * (0.3 + (k as f64 * 0.7).sin());
    let sizes = [20.0, 11.0, 19.0];
    let regions: Vec<Vec<f64>> = (0..parameters.count())
        .map(|k| vec![wave(k, sizes[k % 3]), wave(k + 5, sizes[k % 3])])
        .collect();
    (Change::of_regions(&world.setup(), &regions, parameters), regions)
}

/// A linearised run on a device, for tools that watch its kernels.
fn perturbed<const D: usize, A: Accelerator>(
    adjoint: &mut Adjoint<D, OnDevice<D, A>>,
    world: &World<D>,
    parameters: Parameters,
) {
    let (change, _) = perturbation(world, parameters);
    let run = adjoint.linearised((&world.setup(), &world.shot), &change);
    magnitude(run.expect("the shot runs"));
}

/// A linearised run on a device compared with a run on processors, and its adjoint applied to data on the device.
/// Returns the misfits of the records and of both dot products.
fn dots<const D: usize, A: Accelerator>(
    machines: &Machines<A>,
    recipe: Recipe<D>,
    parameters: Parameters,
) -> [f64; 2] {
    let world = World::new(recipe);
    let setup = world.setup();
    let (change, regions) = perturbation(&world, parameters);
    let mut forward = on_processors(&world, parameters);
    let of_processors = forward
        .linearised((&setup, &world.shot), &change)
        .expect("the shot runs");
    let (mut adjoint, device) = on_a_device(machines, &world, parameters);
    let mut run = || {
        adjoint
            .linearised((&setup, &world.shot), &change)
            .expect("the shot runs")
    };
    let data = run();
    assert_eq!(run(), data, "a second run has the same bits");
    let apart = relative_difference(&data, &of_processors);
    let schedule = CheckpointSchedule::choose(adjoint.steps(), adjoint.sizes(), PLENTY).expect("plenty");
    let given: Vec<f32> = data
        .iter()
        .enumerate()
        .map(|(k, x)| x * (1.0 + (k as f32).sin()))
        .collect();
    let gradient = adjoint.gradient((&setup, &world.shot), &schedule, |records| {
        assert_eq!(records.len(), given.len());
        Ok(given.clone())
    });
    let back = gradient.expect("the shot runs").of_regions(&world.mesh, 2);
    let of_data: f64 = data
        .iter()
        .zip(&given)
        .map(|(a, b)| f64::from(*a) * f64::from(*b))
        .sum();
    let products = back.iter().flatten().zip(regions.iter().flatten());
    let of_model: f64 = products.map(|(a, b)| a * b).sum();
    let far = (of_data / of_model - 1.0).abs();
    println!(
        "{} by {parameters:?}: {of_data:e} {of_model:e}, {far:.1e}; records {apart:.1e}",
        world.what
    );
    drop(adjoint);
    device.finish().expect("no damage was done");
    [far, apart]
}

pub fn adjoints_of_elements_are_transposes<A: Accelerator>(machines: &Machines<A>) {
    let plane = Recipe {
        steps: 90,
        ..Recipe::plain([6, 6])
    };
    let mut all: Vec<[f64; 2]> = Vec::new();
    let planes = recipes(plane).into_iter();
    all.extend(planes.map(|(recipe, by)| dots(machines, recipe, by)));
    let volumes = recipes(Recipe::plain([4, 3, 4])).into_iter();
    all.extend(volumes.map(|(recipe, by)| dots(machines, recipe, by)));
    let [far, apart] = [0, 1].map(|k| largest(all.iter().map(|both| both[k])));
    assert!(far < 1e-5, "{far:.1e}");
    assert!(apart < SINGLE, "{apart:.1e}");
}

pub fn adjoints_of_elements_have_the_same_bits_in_any_memory<A: Accelerator>(machines: &Machines<A>) {
    for (recipe, parameters) in recipes(Recipe {
        steps: 70,
        ..Recipe::plain([5, 4])
    })
    .into_iter()
    .step_by(3)
    {
        let world = World::new(recipe);
        let (mut adjoint, _device) = on_a_device(machines, &world, parameters);
        let all = shot_results(&mut adjoint, &world, PLENTY);
        let [state, step] = adjoint.sizes();
        let few = shot_results(&mut adjoint, &world, 4 * state + 9 * step);
        assert_eq!(all.gradient, few.gradient, "{}", world.what);
        assert_eq!(all.sources, few.sources, "{}", world.what);
        assert_eq!(all.records, few.records, "{}", world.what);
    }
}

pub fn the_next_shot_of_elements_has_its_own_gradient<A: Accelerator>(machines: &Machines<A>) {
    for (recipe, parameters) in [
        (Recipe::plain([6, 6]), Parameters::Constants),
        (
            Recipe {
                rocks: WET,
                quantity: Quantity::Pressure,
                loses: true,
                ..Recipe::plain([6, 6])
            },
            Parameters::Speeds,
        ),
    ] {
        let recipe = Recipe { steps: 70, ..recipe };
        let (first, mut second) = (World::new(recipe), World::new(recipe));
        second.sources.remove(0);
        second.sources.iter_mut().for_each(|source| source.at[0] -= 90.0);
        second.shot.receivers.pop();
        second.shot.receivers.reverse();
        let (mut adjoint, _device) = on_a_device(machines, &first, parameters);
        shot_results(&mut adjoint, &first, PLENTY);
        adjoint
            .next_shot(&second.setup(), &second.shot)
            .expect("a valid world");
        let next = shot_results(&mut adjoint, &second, PLENTY);
        let (mut alone, _device) = on_a_device(machines, &second, parameters);
        let alone = shot_results(&mut alone, &second, PLENTY);
        assert_eq!(next.gradient, alone.gradient, "{}", first.what);
        assert_eq!(next.sources, alone.sources, "{}", first.what);
        assert_eq!(next.records, alone.records, "{}", first.what);
    }
}

pub fn every_kernel_of_element_gradients<A: Accelerator>(machines: &Machines<A>) {
    let plane = Recipe {
        steps: 14,
        ..Recipe::plain([5, 5])
    };
    for (recipe, parameters) in recipes(plane) {
        let world = World::new(recipe);
        let (mut adjoint, _device) = on_a_device(machines, &world, parameters);
        shot_results(&mut adjoint, &world, PLENTY);
        perturbed(&mut adjoint, &world, parameters);
    }
    let volume = Recipe {
        steps: 10,
        ..Recipe::plain([4, 3, 4])
    };
    for (recipe, parameters) in recipes(volume) {
        let world = World::new(recipe);
        let (mut adjoint, _device) = on_a_device(machines, &world, parameters);
        let [state, step] = adjoint.sizes();
        shot_results(&mut adjoint, &world, 3 * state + 4 * step);
        perturbed(&mut adjoint, &world, parameters);
    }
}
