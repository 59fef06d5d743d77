//! Gradients on meshes, compared with finite differences of the misfit, for parameters of regions and of nodes of
//! grids.

use kernels::Error;
use kernels::device::cpu::Cpu;
use kernels::methods::spectral_elements::adjoint::{Adjoint, Gradient, Parameters};
use kernels::methods::spectral_elements::{Grain, Quantity, Setup, Shot};
use kernels::time_loop::reversal::CheckpointSchedule;

use crate::cases::{Case, ROCKS, Rocks, SOLID, WATER, body, recorded, shot, sources};
use crate::shots::{largest, magnitude};

/// Half the sum of squared differences between the records and the expected ones, and its derivative with respect to
/// the records.
fn misfit(records: &[f32], expected: &[f32]) -> (f64, Vec<f32>) {
    assert_eq!(records.len(), expected.len());
    let apart: Vec<f64> = records
        .iter()
        .zip(expected)
        .map(|(x, y)| f64::from(*x) - f64::from(*y))
        .collect();
    let sum = apart.iter().map(|x| x * x / 2.0).sum();
    (sum, apart.into_iter().map(|x| x as f32).collect())
}

/// The results of a shot: the misfit, its records, and the gradient if requested.
type ShotResults<const D: usize> = (f64, Vec<f32>, Option<Gradient<D>>);

/// The misfit of a shot with respect to the `expected` records, or to zeros if they are `None`.
fn run<const D: usize>(
    setup: &Setup<D>,
    shot: &Shot<D>,
    expected: Option<&[f32]>,
    with_gradient: bool,
) -> ShotResults<D> {
    let mut adjoint = Adjoint::new(Cpu::new(1).unwrap(), setup, shot, Parameters::Speeds).unwrap();
    let schedule = CheckpointSchedule::choose(adjoint.steps(), adjoint.sizes(), PLENTY).unwrap();
    let (mut total, mut kept) = (0.0, Vec::new());
    let gradient = adjoint.gradient((setup, shot), &schedule, |records| {
        let records = recorded(&records, shot);
        kept.clone_from(&records);
        let zero = vec![0.0; records.len()];
        let (sum, residual) = misfit(&records, expected.unwrap_or(&zero));
        total = sum;
        match with_gradient {
            true => Ok(residual),
            // The adjoint run is not needed.
            false => Err(Error::setup("enough")),
        }
    });
    assert_eq!(gradient.is_ok(), with_gradient);
    (total, kept, gradient.ok())
}

const PLENTY: usize = 1 << 33;

fn regions_of<const D: usize>(nt: usize, case: &Case, looked_at: &[(usize, usize)], bound: f64) {
    let of = |rocks: Rocks, expected: Option<&[f32]>, with_gradient: bool| {
        let body = body::<D>(case, rocks);
        let (sources, shot) = (sources(case, body.dt, nt), shot(nt, case));
        let (misfit, records, gradient) = run(&body.setup(&sources), &shot, expected, with_gradient);
        let by = gradient.map(|gradient| gradient.of_regions(&body.mesh, body.media.len()));
        (misfit, records, by.unwrap_or_default())
    };
    let (_, expected, _) = of(case.expected, None, false);
    let by = of(case.rocks, Some(&expected), true).2;
    let (step, mut apart) = (4e-3, Vec::new());
    for &(region, parameter) in looked_at {
        let at = |share: f64| {
            let mut rocks = case.rocks;
            rocks[region][parameter] *= 1.0 + share;
            of(rocks, Some(&expected), false).0
        };
        // These are central differences of fourth order.
        let near = (at(step) - at(-step)) / (2.0 * step);
        let far = (at(2.0 * step) - at(-2.0 * step)) / (4.0 * step);
        let difference = (4.0 * near - far) / 3.0;
        let derivative = by[parameter][region] * case.rocks[region][parameter];
        println!(
            "{D}-D region {region} parameter {parameter}: {derivative:e}, by differences {difference:e}"
        );
        apart.push((derivative - difference) / difference);
    }
    let error = largest(apart);
    println!(
        "{D}-D {:?}, loss {:?}, sponge {}, layers {}: within {error:.1e} of finite differences",
        case.quantity, case.loss, case.sponge, case.layers
    );
    assert!(error < bound, "{error:e}");
}

const ALL: [(usize, usize); 6] = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)];

/// The misfits are computed from records in single precision, which limits the accuracy to 1e-4 to 3e-3 of the smallest
/// derivatives.
const SINGLE: f64 = 5e-3;

#[test]
fn gradients_by_regions_are_those_of_finite_differences() {
    for (quantity, jdata, sponge) in [
        (Quantity::Displacement, 1, false),
        (Quantity::Velocity, 3, true),
        (Quantity::Acceleration, 2, true),
    ] {
        let case = Case {
            quantity,
            jdata,
            sponge,
            ..SOLID
        };
        regions_of::<2>(260, &case, &ALL, SINGLE);
    }
    let case = Case {
        quantity: Quantity::Velocity,
        sponge: true,
        ..SOLID
    };
    regions_of::<3>(120, &case, &[(0, 0), (1, 1), (1, 2)], SINGLE);
}

#[test]
fn gradients_with_attenuation_are_those_of_finite_differences() {
    for (grain, quantity) in [
        (Grain::Fine, Quantity::Displacement),
        (Grain::Coarse, Quantity::Velocity),
    ] {
        let case = Case {
            loss: Some(grain),
            quantity,
            sponge: true,
            ..SOLID
        };
        regions_of::<2>(260, &case, &ALL, SINGLE);
    }
    let case = Case {
        loss: Some(Grain::Fine),
        ..SOLID
    };
    regions_of::<3>(120, &case, &[(0, 0), (1, 1), (1, 2)], SINGLE);
}

#[test]
fn gradients_in_water_and_below_it_are_those_of_finite_differences() {
    let all = [(0, 0), (0, 2), (1, 0), (1, 1), (1, 2)];
    for (quantity, sponge, loss) in [
        (Quantity::Pressure, false, None),
        (Quantity::Pressure, true, Some(Grain::Fine)),
        (Quantity::Displacement, true, None),
    ] {
        let case = Case {
            quantity,
            sponge,
            loss,
            ..WATER
        };
        regions_of::<2>(300, &case, &all, SINGLE);
    }
    regions_of::<3>(140, &WATER, &[(0, 0), (0, 2), (1, 1)], SINGLE);
}

#[test]
fn gradients_between_matched_layers_are_those_of_finite_differences() {
    for (loss, quantity) in [
        (None, Quantity::Displacement),
        (Some(Grain::Fine), Quantity::Velocity),
        (Some(Grain::Coarse), Quantity::Displacement),
    ] {
        let case = Case {
            layers: true,
            loss,
            quantity,
            ..SOLID
        };
        regions_of::<2>(260, &case, &ALL, SINGLE);
    }
    let water = Case {
        layers: true,
        ..WATER
    };
    regions_of::<2>(300, &water, &[(0, 0), (0, 2), (1, 0), (1, 1), (1, 2)], SINGLE);
    let rock = Case {
        layers: true,
        ..SOLID
    };
    regions_of::<3>(120, &rock, &[(0, 0), (1, 1), (1, 2)], SINGLE);
}

/// The medium in layers is held fixed, and has no gradient for any waves in the layers.
#[test]
fn matched_layers_have_no_derivatives() {
    let case = Case {
        layers: true,
        ..SOLID
    };
    let body = body::<2>(&case, ROCKS);
    let (sources, shot) = (sources(&case, body.dt, 200), shot(200, &case));
    let (_, _, gradient) = run(&body.setup(&sources), &shot, None, true);
    let by = gradient.unwrap().of_regions(&body.mesh, 4);
    for of in by {
        assert!(of[..2].iter().all(|x| *x != 0.0) && of[2..] == [0.0; 2], "{of:?}");
    }
}

/// Steps are run again from the last state before them, so the gradient does not depend on which states are kept.
#[test]
fn gradients_from_any_checkpoints_have_the_same_bits() {
    let losing = Case {
        loss: Some(Grain::Fine),
        ..SOLID
    };
    for case in [losing, WATER] {
        let (body, nt) = (body::<2>(&case, case.rocks), 90);
        let (sources, shot) = (sources(&case, body.dt, nt), shot(nt, &case));
        let setup = body.setup(&sources);
        let mut adjoint = Adjoint::new(Cpu::new(1).unwrap(), &setup, &shot, Parameters::Speeds).unwrap();
        let steps = adjoint.steps();
        let mut by_regions = |segment: usize, checkpoints: usize| {
            let schedule = CheckpointSchedule {
                segment,
                checkpoints,
                on_host: 0,
                in_store: 0,
                segments: steps.div_ceil(segment),
                boundary_saving: false,
            };
            let records = |records: Vec<f32>| Ok(recorded(&records, &shot));
            let gradient = adjoint.gradient((&setup, &shot), &schedule, records).unwrap();
            gradient.of_regions(&body.mesh, body.media.len())
        };
        let whole = by_regions(steps, 0);
        magnitude(&whole.concat());
        for (segment, checkpoints) in [(40, 1), (13, 2), (7, 4), (1, 5)] {
            assert_eq!(
                by_regions(segment, checkpoints),
                whole,
                "{checkpoints} states, {case:?}"
            );
        }
    }
}

/// A wavefield that grows after the last regular check is noticed at the end of the run.
#[test]
fn a_wavefield_that_grows_is_reported_at_every_check() {
    let mut body = body::<2>(&SOLID, ROCKS);
    body.dt *= 4.0;
    let nt = 200;
    let (sources, mut shot) = (sources(&SOLID, body.dt, nt), shot(nt, &SOLID));
    let setup = body.setup(&sources);
    for (jcheck, step) in [(nt / 2, 100), (2 * nt, nt)] {
        shot.jcheck = jcheck;
        let mut adjoint = Adjoint::new(Cpu::new(1).unwrap(), &setup, &shot, Parameters::Speeds).unwrap();
        let schedule = CheckpointSchedule::choose(adjoint.steps(), adjoint.sizes(), PLENTY).unwrap();
        let error = adjoint.gradient((&setup, &shot), &schedule, Ok).unwrap_err();
        let expected = format!("no longer finite at step {step}:");
        assert!(error.to_string().contains(&expected), "{error}");
    }
}

/// Without records there is no misfit: neither the first shot of an adjoint nor a later one may have no receivers.
#[test]
fn shots_without_receivers_are_refused() {
    let body = body::<2>(&SOLID, ROCKS);
    let sources = sources(&SOLID, body.dt, 20);
    let (setup, with_receivers) = (body.setup(&sources), shot(20, &SOLID));
    let without_receivers = Shot {
        receivers: Vec::new(),
        ..shot(20, &SOLID)
    };
    let adjoint = |shot| Adjoint::new(Cpu::new(1).unwrap(), &setup, shot, Parameters::Speeds);
    let first = adjoint(&without_receivers).err();
    let later = adjoint(&with_receivers)
        .unwrap()
        .next_shot(&setup, &without_receivers)
        .err();
    for refused in [first, later] {
        assert_eq!(
            refused.unwrap().to_string(),
            "there are no receivers: a gradient needs at least one"
        );
    }
}
