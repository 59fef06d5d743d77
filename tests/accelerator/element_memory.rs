//! Runs on meshes use exactly as much device memory as predicted, for all kinds of elements.

use crate::element_worlds::{Recipe, Rock, World};
use crate::elements::{DRY, WET};
use crate::emulator::Emulator;
use kernels::device::accelerator::Accelerator;
use kernels::device::cpu::Cpu;
use kernels::mesh::{Numbering, Order};
use kernels::methods::spectral_elements::adjoint::Parameters;
use kernels::methods::spectral_elements::gpu::{adjoint, bytes, subdomains};
use kernels::methods::spectral_elements::{Grain, Profile, Shot};
use std::sync::Arc;

const ROCK: [Rock; 2] = [Rock::Isotropic; 2];

/// Meshes with everything that is counted separately, so large that tables of a few bytes do not matter.
fn recipes<const D: usize>(counts: [usize; D]) -> Vec<Recipe<D>> {
    let plain = Recipe {
        rocks: ROCK,
        ..Recipe::plain(counts)
    };
    let lossy = Recipe { loses: true, ..plain };
    vec![
        plain,
        Recipe { degree: 7, ..plain },
        Recipe {
            order: Order::Quadratic,
            ..plain
        },
        lossy,
        Recipe {
            grain: Grain::Coarse,
            ..lossy
        },
        Recipe {
            varies: true,
            ..lossy
        },
        Recipe {
            varies: true,
            ..plain
        },
        Recipe {
            varies: true,
            rocks: DRY,
            ..plain
        },
        Recipe {
            matched: Some(Profile::Strong),
            ..plain
        },
        Recipe { rocks: WET, ..plain },
    ]
}

/// Ratio of the predicted bytes to the bytes that a run with a whole mesh uses on a device.
fn predicted_over_taken<const D: usize>(recipe: Recipe<D>) -> f64 {
    let world = World::new(recipe);
    let setup = world.setup();
    let device = Arc::new(Emulator::new());
    let whole = 0..world.mesh.len();
    let parts = (std::slice::from_ref(&whole), 0..1);
    // Records are not part of the prediction, so the shot is short.
    let shot = Shot {
        nt: 5,
        ..Shot::default()
    };
    let group = subdomains(std::slice::from_ref(&device), &setup, &shot, parts).expect("a valid world");
    let taken = device.properties().memory_bytes - device.free_bytes().expect("it reports its memory");
    drop(group);
    let points = Numbering::new(&world.mesh, &world.basis)
        .expect("a valid mesh")
        .points();
    // In 3-D, 13 numbers per point of absorbing faces are not counted; in a large mesh these points are few.
    let faces = match (D, world.pml.is_some()) {
        (3, false) => world.mesh.absorbing().len() * (recipe.degree + 1).pow(2),
        _ => 0,
    };
    let predicted = bytes(&setup, points) + 13 * 4 * faces;
    let ratio = predicted as f64 / taken as f64;
    println!("predicted {predicted}, taken {taken}, {ratio:.3}: {}", world.what);
    ratio
}

#[test]
fn a_run_on_a_mesh_takes_what_was_predicted() {
    if !Emulator::ready() {
        return;
    }
    let plane = recipes([14, 12]).into_iter().map(predicted_over_taken);
    let volume = recipes([6, 5, 4]).into_iter().map(predicted_over_taken);
    let ratios: Vec<f64> = plane.chain(volume).collect();
    assert_eq!(ratios.len(), 20);
    for (k, ratio) in ratios.into_iter().enumerate() {
        // Tables of constants are counted for all elements, although here only half of them have constants; the values
        // that fluids and solids exchange are not counted.
        let allowed = match k % 10 {
            7 => 1.0..1.5,
            9 => 0.7..1.0,
            _ => 0.97..1.1,
        };
        assert!(allowed.contains(&ratio), "{k}: {ratio}");
    }
}

/// A gradient that is accepted when it is made has room for the adjoint wavefield and the sums: the check includes all
/// memory that the gradient needs.
#[test]
fn gradients_are_refused_before_they_take_memory() {
    if !Emulator::ready() {
        return;
    }
    for recipe in recipes([8, 6]).into_iter().take(9).step_by(4) {
        let world = World::new(recipe);
        let bytes_with = |memory: usize| {
            let device = Arc::new(Emulator::new().with_memory(memory));
            let cpu = Cpu::new(1).expect("one thread");
            let parameters = Parameters::Speeds;
            let adjoint = adjoint((device.clone(), cpu), &world.setup(), &world.shot, parameters);
            let taken = memory - device.free_bytes().expect("it reports its memory");
            adjoint
                .map(|adjoint| (adjoint.machine_bytes(), taken))
                .map_err(|error| error.to_string())
        };
        let (_, taken) = bytes_with(1 << 30).expect("room for all");
        // With 5 % more memory than it needs, the gradient is computed; with half of this memory it is refused, and the
        // message gives the numbers.
        assert!(bytes_with(taken + taken / 20 + 4096).is_ok(), "{}", world.what);
        let message = bytes_with(taken / 2).expect_err("half of the room");
        assert!(
            message.contains("has too little memory for ") && message.contains(" GB are free; "),
            "{message}"
        );
    }
}

/// The memory that a gradient reports grows with the number of receivers by the amount that the receivers need.
#[test]
fn receivers_of_gradients_are_counted() {
    if !Emulator::ready() {
        return;
    }
    let recipe = Recipe {
        rocks: ROCK,
        ..Recipe::plain([8, 6])
    };
    let world = World::new(recipe);
    let of = |receivers: usize| {
        let device = Arc::new(Emulator::new());
        let free = || device.free_bytes().expect("it reports its memory");
        let (before, cpu) = (free(), Cpu::new(1).expect("one thread"));
        let all = world.shot.receivers.iter().cycle();
        let shot = Shot {
            receivers: all.take(receivers).copied().collect(),
            ..world.shot.clone()
        };
        let adjoint = adjoint((device.clone(), cpu), &world.setup(), &shot, Parameters::Speeds);
        [adjoint.expect("room").machine_bytes(), before - free()]
    };
    let (few, many) = (of(4), of(404));
    let [reported, taken] = [0, 1].map(|k| many[k] - few[k]);
    assert_eq!(reported, taken);
}
