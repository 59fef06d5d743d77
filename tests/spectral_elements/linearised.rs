//! Linearised runs on meshes: their transpose is the gradient, and they are the derivative of the records.

use kernels::device::cpu::Cpu;
use kernels::methods::spectral_elements::adjoint::{Adjoint, Change, Parameters};
use kernels::methods::spectral_elements::{Followed, Grain, Lattice, Quantity, Setup, Shot};
use kernels::time_loop::reversal::CheckpointSchedule;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use crate::gradients::{Case, ROCKS, Rocks, SOLID, WATER, body, shot, sources};
use crate::shots::largest;

/// A linear map and where its transpose is tried.
#[derive(Clone, Copy, Debug)]
struct Trial {
    case: Case,
    followed: Followed,
    parameters: Parameters,
    /// Nodes of the change along each axis; 0: one set of parameters a region.
    nodes: usize,
    seed: u64,
}

fn trials() -> impl Strategy<Value = (bool, Trial)> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let loss = prop_oneof![Just(None), Just(Some(Grain::Fine)), Just(Some(Grain::Coarse))];
    let quantity = prop_oneof![
        Just(Quantity::Displacement),
        Just(Quantity::Velocity),
        Just(Quantity::Acceleration)
    ];
    let parameters = prop_oneof![
        Just(Parameters::Speeds),
        Just(Parameters::Lame),
        Just(Parameters::Impedances)
    ];
    let numbers = (0..3usize, 1..4usize, any::<u64>());
    (flags, loss, quantity, parameters, numbers).prop_map(
        |((solid, water, sponge, now), loss, quantity, parameters, (grid, jdata, seed))| {
            let case = Case {
                sponge,
                loss,
                jdata,
                quantity: match (water, quantity) {
                    // In water pressure is what is mostly recorded.
                    (true, Quantity::Velocity | Quantity::Acceleration) => Quantity::Pressure,
                    _ => quantity,
                },
                ..if water { WATER } else { SOLID }
            };
            let trial = Trial {
                case,
                followed: if now { Followed::OfNow } else { Followed::Predicted },
                parameters,
                nodes: [0, 11, 14][grid],
                seed,
            };
            (solid, trial)
        },
    )
}

/// Numbers between -1 and 1.
fn numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed | 1;
    move || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// What moves parameters by some thousandths.
fn units(parameters: Parameters, [vp, vs, density]: [f64; 3]) -> [f64; 3] {
    match parameters {
        Parameters::Speeds => [vp, vs, density],
        Parameters::Lame => [density * vp * vp, density * vs * vs, density],
        Parameters::Impedances => [density * vp, density * vs, density],
    }
    .map(|x| 1e-3 * x)
}

/// How far the dot product of a change's records with other records is from that of the change with what the transpose makes of them.
fn apart<const D: usize>(trial: &Trial) -> f64 {
    let (case, parameters) = (&trial.case, trial.parameters);
    let nt = if D == 2 { 150 } else { 70 };
    let body = body::<D>(case, case.rocks);
    let (sources, shot) = (sources(case, body.dt, nt), shot(nt, case));
    let mut setup = body.setup(&sources);
    if let Some(attenuation) = &mut setup.relaxations {
        attenuation.followed = trial.followed;
    }
    let mut draw = numbers(trial.seed);
    let lattice = Lattice {
        n: [trial.nodes.max(2); D],
        o: [-120.0; D],
        d: [800.0 / (trial.nodes.max(2) - 1) as f64; D],
    };
    // The change, and its numbers `[parameter][region or node]`.
    let mut own = [0; 3].map(|_| Vec::new());
    let change = match trial.nodes {
        0 => {
            let regions = case
                .rocks
                .map(|rock| units(parameters, rock).map(|unit| unit * draw()));
            (0..3).for_each(|k| own[k].extend(regions.iter().map(|region| region[k])));
            Change::of_regions(&setup, &regions, parameters)
        }
        _ => {
            let unit = units(parameters, ROCKS[0]);
            (0..3).for_each(|k| own[k].extend((0..lattice.nodes()).map(|_| unit[k] * draw())));
            Change::on_grid(&setup, (lattice, 1), &own, parameters).unwrap()
        }
    };
    let mut adjoint = Adjoint::new(Cpu::new(2).unwrap(), &setup, &shot).unwrap();
    let records = adjoint.linearised((&setup, &shot), &change).unwrap();
    // Other records that are not at right angles to these.
    let most = f64::from(records.iter().fold(0.0f32, |most, x| most.max(x.abs())));
    let others: Vec<f32> = records
        .iter()
        .map(|x| (f64::from(*x) + 0.3 * most * draw()) as f32)
        .collect();
    let schedule = CheckpointSchedule::choose(adjoint.steps(), adjoint.sizes(), 1 << 33).unwrap();
    let gradient = adjoint
        .gradient((&setup, &shot), &schedule, |_| Ok(others.clone()))
        .unwrap();
    let back = match trial.nodes {
        0 => {
            let regions = gradient.of_regions(&body.mesh, 2, parameters);
            [0, 1, 2].map(|k| regions.iter().map(|region| region[k]).collect())
        }
        _ => gradient
            .on_grid((&body.mesh, &body.basis), (lattice, 1), parameters)
            .unwrap(),
    };
    let of_records: f64 = records
        .iter()
        .zip(&others)
        .map(|(x, y)| f64::from(*x) * f64::from(*y))
        .sum();
    let of_changes: f64 = own
        .iter()
        .flatten()
        .zip(back.iter().flatten())
        .map(|(x, y)| x * y)
        .sum();
    largest([(of_records - of_changes) / of_records])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: Some(Box::new(FileFailurePersistence::Direct("../tests/regressions/linearised_meshes.txt"))), ..ProptestConfig::default() })]

    /// Rounding of single precision alone.
    #[test]
    fn the_gradient_is_the_transpose_of_the_linearised_run((plane, trial) in trials()) {
        let found = if plane { apart::<2>(&trial) } else { apart::<3>(&trial) };
        println!("{found:.1e} {}-D {trial:?}", if plane { 2 } else { 3 });
        prop_assert!(found <= 1e-5, "{found:e} {trial:?}");
    }
}

/// The records of a body of these rocks, and their change to first order.
fn records<const D: usize>(case: &Case, rocks: Rocks, change: Option<&[[f64; 3]; 2]>) -> Vec<f32> {
    let nt = if D == 2 { 220 } else { 100 };
    let body = body::<D>(case, rocks);
    let (sources, shot) = (sources(case, body.dt, nt), shot(nt, case));
    let setup = body.setup(&sources);
    let mut adjoint = Adjoint::new(Cpu::new(2).unwrap(), &setup, &shot).unwrap();
    match change {
        Some(change) => {
            let change = Change::of_regions(&setup, change, Parameters::Speeds);
            adjoint.linearised((&setup, &shot), &change).unwrap()
        }
        None => of_run(&mut adjoint, &setup, &shot),
    }
}

/// The records that a gradient begins with.
fn of_run<const D: usize>(adjoint: &mut Adjoint<D>, setup: &Setup<D>, shot: &Shot<D>) -> Vec<f32> {
    let schedule = CheckpointSchedule::choose(adjoint.steps(), adjoint.sizes(), 1 << 33).unwrap();
    let mut kept = Vec::new();
    let ended = adjoint.gradient((setup, shot), &schedule, |records| {
        kept = records;
        Err(kernels::Error::setup("enough"))
    });
    assert!(ended.is_err() && !kept.is_empty());
    kept
}

/// How far the change of records to first order is from a quarter of it: from their central differences, for two sizes of the change.
fn taylor<const D: usize>(case: &Case) {
    let shares = [[0.6, -0.5, 0.8], [-0.7, 0.9, 0.4]];
    let change = |size: f64| -> [[f64; 3]; 2] {
        std::array::from_fn(|r| std::array::from_fn(|k| size * shares[r][k] * case.rocks[r][k]))
    };
    let changed = |size: f64| -> Rocks {
        let by = change(size);
        std::array::from_fn(|r| std::array::from_fn(|k| case.rocks[r][k] + by[r][k]))
    };
    let derivative = records::<D>(case, case.rocks, Some(&change(1.0)));
    let norm = |all: &[f64]| all.iter().map(|x| x * x).sum::<f64>().sqrt();
    let exact: Vec<f64> = derivative.iter().map(|x| f64::from(*x)).collect();
    let error = |size: f64| {
        let [ahead, behind] = [size, -size].map(|size| records::<D>(case, changed(size), None));
        let central = ahead
            .iter()
            .zip(&behind)
            .map(|(a, b)| (f64::from(*a) - f64::from(*b)) / (2.0 * size));
        let apart: Vec<f64> = central.zip(&exact).map(|(c, e)| c - e).collect();
        norm(&apart) / norm(&exact)
    };
    let [far, near] = [8e-3, 4e-3].map(error);
    println!(
        "{D}-D {case:?}: {far:.2e} and {near:.2e} from differences, order {:.2}",
        (far / near).log2()
    );
    // Central differences are of second order, down to the rounding of single precision.
    assert!(largest([near]) < 2e-3 && near < 0.3 * far, "{near:e} {far:e}");
}

#[test]
fn linearised_runs_are_the_derivative_of_the_records() {
    for case in [
        SOLID,
        Case {
            sponge: true,
            quantity: Quantity::Velocity,
            loss: Some(Grain::Fine),
            ..SOLID
        },
        Case {
            quantity: Quantity::Acceleration,
            loss: Some(Grain::Coarse),
            ..SOLID
        },
        WATER,
        Case {
            sponge: true,
            loss: Some(Grain::Fine),
            ..WATER
        },
        Case {
            quantity: Quantity::Displacement,
            ..WATER
        },
    ] {
        taylor::<2>(&case);
    }
    taylor::<3>(&Case {
        loss: Some(Grain::Fine),
        sponge: true,
        ..SOLID
    });
    taylor::<3>(&WATER);
}
