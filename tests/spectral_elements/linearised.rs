//! Linearised runs on meshes: their transpose is the gradient, and they are the derivative of the records.

use kernels::device::cpu::Cpu;
use kernels::mesh::step::Law;
use kernels::methods::spectral_elements::adjoint::{Adjoint, Change, Parameters};
use kernels::methods::spectral_elements::{Followed, Grain, Lattice, Quantity, Setup, Shot};
use kernels::time_loop::reversal::CheckpointSchedule;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use crate::blocks::Body;
use crate::gradients::{Case, ROCKS, SOLID, WATER, bent, body, recorded, shot, sources};
use crate::shots::{largest, magnitude};

/// A linear map, and the body on which its transpose is tested.
#[derive(Clone, Copy, Debug)]
struct Trial {
    case: Case,
    followed: Followed,
    parameters: Parameters,
    /// Nodes of the perturbation along each axis; 0: one set of parameters per region.
    nodes: usize,
    /// Whether receivers of pressure lie on the contact of water and rock.
    contact: bool,
    seed: u64,
}

fn trials() -> impl Strategy<Value = (bool, Trial)> {
    // A volume takes ten times as long as a plane.
    let flags = (
        prop::bool::weighted(0.75),
        any::<bool>(),
        0..3usize,
        any::<bool>(),
    );
    let loss = prop_oneof![Just(None), Just(Some(Grain::Fine)), Just(Some(Grain::Coarse))];
    let quantity = prop_oneof![
        Just(Quantity::Displacement),
        Just(Quantity::Velocity),
        Just(Quantity::Acceleration)
    ];
    let parameters = prop_oneof![
        Just(Parameters::Speeds),
        Just(Parameters::Lame),
        Just(Parameters::Impedances),
        Just(Parameters::SpeedsAndLosses),
        Just(Parameters::Constants)
    ];
    let numbers = (0..3usize, 1..4usize, any::<bool>(), any::<u64>());
    (flags, loss, quantity, parameters, numbers).prop_map(
        |((solid, water, border, now), loss, quantity, parameters, (grid, jdata, contact, seed))| {
            let case = Case {
                sponge: border == 1,
                layers: border == 2,
                loss,
                jdata,
                quantity: match (water, quantity) {
                    // In water, mostly pressure is recorded.
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
                contact,
                seed,
            };
            (solid, trial)
        },
    )
}

/// Random numbers between -1 and 1.
fn numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed | 1;
    move || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// Random perturbations of the parameters by some thousandths.
fn units(parameters: Parameters, [vp, vs, density]: [f64; 3]) -> Vec<f64> {
    let units = match parameters {
        Parameters::Speeds => vec![vp, vs, density],
        // The attenuation of regions does not depend on the parameters, and contributes nothing in either direction.
        Parameters::SpeedsAndLosses => vec![vp, vs, density, 0.02, 0.03],
        Parameters::Lame => vec![density * vp * vp, density * vs * vs, density],
        Parameters::Impedances => vec![density * vp, density * vs, density],
        Parameters::Constants => {
            let mut all = vec![0.3 * density * vp * vp; 21];
            all.push(density);
            all
        }
    };
    units.into_iter().map(|x| 1e-3 * x).collect()
}

/// Makes the lower region a crystal without any symmetry.
fn crystal<const D: usize>(body: &mut Body<D>) {
    let Law::Isotropic { lambda, mu } = body.media[1].law else {
        panic!("the lower region is a rock")
    };
    let mut table = [[0.0; 6]; 6];
    for (i, row) in table.iter_mut().enumerate() {
        for (j, c) in row.iter_mut().enumerate() {
            *c = match (i == j, i < 3 && j < 3) {
                (true, true) => lambda + 2.0 * mu,
                (true, false) => mu,
                (false, true) => lambda,
                _ => 0.0,
            };
            // The change is symmetric, and small enough for a stable medium.
            *c += 0.08 * mu * (1.7 * (i + j) as f64 + 0.4 * (i * j) as f64).sin();
        }
    }
    body.media[1].law = Law::Anisotropic(Box::new(table));
}

/// Nodes of the mesh on the contact of the regions.
fn on_contact<const D: usize>(case: &Case) -> Vec<[f64; D]> {
    let place = |k: usize| {
        let node: [f64; D] = std::array::from_fn(|c| if c + 1 == D { 2.0 } else { k as f64 });
        if case.layers {
            node.map(|u| 100.0 * u)
        } else {
            bent(node)
        }
    };
    (1..4).map(place).collect()
}

/// The relative difference between the dot product of perturbed records with other records, and the dot product of the
/// perturbation with the transpose applied to these records.
fn apart<const D: usize>(trial: &Trial) -> f64 {
    let (case, parameters) = (&trial.case, trial.parameters);
    let nt = if D == 2 { 150 } else { 70 };
    let mut body = body::<D>(case, case.rocks);
    if parameters == Parameters::Constants {
        crystal(&mut body);
    }
    let (sources, mut shot) = (sources(case, body.dt, nt), shot(nt, case));
    if trial.contact && case.quantity == Quantity::Pressure {
        shot.receivers = on_contact(case);
    }
    let mut setup = body.setup(&sources);
    if let Some(attenuation) = &mut setup.relaxations {
        attenuation.followed = trial.followed;
    }
    let mut draw = numbers(trial.seed);
    let lattice = Lattice {
        n: [trial.nodes.max(2); D],
        o: [-220.0; D],
        d: [950.0 / (trial.nodes.max(2) - 1) as f64; D],
    };
    // The perturbation, and its values `[parameter][region or node]`.
    let count = match trial.nodes {
        0 => body.media.len(),
        _ => lattice.nodes(),
    };
    let unit = |at: usize| match trial.nodes {
        0 => units(parameters, case.rocks[at % 2]),
        _ => units(parameters, ROCKS[0]),
    };
    let own: Vec<Vec<f64>> = (0..parameters.count())
        .map(|k| {
            // No value is near zero: the scattering of the other parameters cancels in water, and only rounding errors
            // would remain.
            let mut change = || draw().signum() * (0.5 + 0.5 * draw().abs());
            (0..count).map(|at| unit(at)[k] * change()).collect()
        })
        .collect();
    let change = match trial.nodes {
        0 => Change::of_regions(&setup, &own, parameters),
        _ => Change::on_grid(&setup, (lattice, 1), &own, parameters).unwrap(),
    };
    let mut adjoint = Adjoint::new(Cpu::new(1).unwrap(), &setup, &shot, parameters).unwrap();
    let records = recorded(&adjoint.linearised((&setup, &shot), &change).unwrap(), &shot);
    // Other records are not orthogonal to these.
    let most = f64::from(magnitude(&records));
    let others: Vec<f32> = records
        .iter()
        .map(|x| (f64::from(*x) + 0.3 * most * draw()) as f32)
        .collect();
    let schedule = CheckpointSchedule::choose(adjoint.steps(), adjoint.sizes(), 1 << 33).unwrap();
    let gradient = adjoint
        .gradient((&setup, &shot), &schedule, |_| Ok(others.clone()))
        .unwrap();
    let back = match trial.nodes {
        0 => gradient.of_regions(&body.mesh, body.media.len()),
        _ => gradient
            .on_grid(
                &Cpu::new(2).unwrap(),
                (&body.mesh, &body.basis, None),
                (lattice, 1),
            )
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
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: Some(Box::new(FileFailurePersistence::Direct("../tests/regressions/linearised_meshes.txt"))), ..ProptestConfig::default() })]

    /// The difference must be only the rounding of single precision.
    #[test]
    fn the_gradient_is_the_transpose_of_the_linearised_run((plane, trial) in trials()) {
        let difference = if plane { apart::<2>(&trial) } else { apart::<3>(&trial) };
        println!("{difference:.1e} {}-D {trial:?}", if plane { 2 } else { 3 });
        prop_assert!(difference <= 1e-5, "{difference:e} {trial:?}");
    }
}

#[test]
fn pressure_on_a_contact_is_that_of_the_water_in_both_directions() {
    for layers in [false, true] {
        let trial = Trial {
            case: Case { layers, ..WATER },
            followed: Followed::OfNow,
            parameters: Parameters::Speeds,
            nodes: 0,
            contact: true,
            seed: 7,
        };
        let differences = [apart::<2>(&trial), apart::<3>(&trial)];
        println!("{differences:?}");
        // The rounding of single precision; without the adjoint sources the gradient would be zero.
        assert!(largest(differences) <= 1e-5, "{differences:?} {trial:?}");
    }
}

/// The records of a linearised run, and the gradients for nodes and for regions, on a number of threads.
fn by_threads<const D: usize>(case: &Case, threads: usize) -> (Vec<f32>, Vec<Vec<f64>>) {
    let nt = if D == 2 { 30 } else { 8 };
    let body = body::<D>(case, case.rocks);
    let (sources, shot) = (sources(case, body.dt, nt), shot(nt, case));
    let setup = body.setup(&sources);
    let parameters = Parameters::Speeds;
    let [upper, lower] = case.rocks.map(|rock| units(parameters, rock));
    let change: Vec<Vec<f64>> = upper.iter().zip(lower).map(|(a, b)| vec![*a, -b]).collect();
    let change = Change::of_regions(&setup, &change, parameters);
    let mut adjoint = Adjoint::new(Cpu::new(threads).unwrap(), &setup, &shot, parameters).unwrap();
    let records = recorded(&adjoint.linearised((&setup, &shot), &change).unwrap(), &shot);
    let schedule = CheckpointSchedule::choose(adjoint.steps(), adjoint.sizes(), 1 << 33).unwrap();
    let gradient = adjoint
        .gradient((&setup, &shot), &schedule, |_| Ok(records.clone()))
        .unwrap();
    let lattice = Lattice {
        n: [9; D],
        o: [-120.0; D],
        d: [100.0; D],
    };
    let mut gradients = gradient.of_regions(&body.mesh, 2);
    gradients.extend(
        gradient
            .on_grid(
                &Cpu::new(2).unwrap(),
                (&body.mesh, &body.basis, None),
                (lattice, 1),
            )
            .unwrap(),
    );
    (records, gradients)
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    type ByThreads = fn(&Case, usize) -> (Vec<f32>, Vec<Vec<f64>>);
    let losing = |grain| Case {
        sponge: true,
        loss: Some(grain),
        ..SOLID
    };
    let alike = |what: &Case, of: ByThreads| {
        let one = of(what, 1);
        assert!(one.1.iter().flatten().any(|&x| x != 0.0), "{what:?}");
        for threads in [2, 3] {
            assert!(of(what, threads) == one, "{what:?}, {threads} threads");
        }
    };
    for case in [SOLID, WATER, losing(Grain::Fine), losing(Grain::Coarse)] {
        alike(&case, by_threads::<2>);
    }
    // In a volume, elements are distributed as in a plane.
    alike(&losing(Grain::Fine), by_threads::<3>);
}

/// The records of a body, or their first-order change.
fn records<const D: usize>(
    case: &Case,
    (body, parameters): (&Body<D>, Parameters),
    change: Option<&[Vec<f64>]>,
) -> Vec<f32> {
    let nt = if D == 2 { 220 } else { 100 };
    let (sources, shot) = (sources(case, body.dt, nt), shot(nt, case));
    let setup = body.setup(&sources);
    let mut adjoint = Adjoint::new(Cpu::new(1).unwrap(), &setup, &shot, parameters).unwrap();
    match change {
        Some(change) => {
            let change = Change::of_regions(&setup, change, parameters);
            recorded(&adjoint.linearised((&setup, &shot), &change).unwrap(), &shot)
        }
        None => of_run(&mut adjoint, &setup, &shot),
    }
}

/// The records with which a gradient begins.
fn of_run<const D: usize>(adjoint: &mut Adjoint<D>, setup: &Setup<D>, shot: &Shot<D>) -> Vec<f32> {
    let schedule = CheckpointSchedule::choose(adjoint.steps(), adjoint.sizes(), 1 << 33).unwrap();
    let mut kept = Vec::new();
    let ended = adjoint.gradient((setup, shot), &schedule, |records| {
        kept = recorded(&records, shot);
        Err(kernels::Error::setup("enough"))
    });
    assert!(ended.is_err() && !kept.is_empty());
    kept
}

/// Compares the first-order change of records with central differences of records for two sizes of the perturbation,
/// whose error is of second order down to the rounding of single precision.
fn taylor<const D: usize>(
    case: &Case,
    (parameters, change): (Parameters, &[Vec<f64>]),
    changed: impl Fn(f64) -> Body<D>,
) {
    let derivative = records(case, (&changed(0.0), parameters), Some(change));
    let norm = |all: &[f64]| all.iter().map(|x| x * x).sum::<f64>().sqrt();
    let exact: Vec<f64> = derivative.iter().map(|x| f64::from(*x)).collect();
    let error = |size: f64| {
        let [ahead, behind] = [size, -size].map(|size| records(case, (&changed(size), parameters), None));
        let central = ahead
            .iter()
            .zip(&behind)
            .map(|(a, b)| (f64::from(*a) - f64::from(*b)) / (2.0 * size));
        let apart: Vec<f64> = central.zip(&exact).map(|(c, e)| c - e).collect();
        norm(&apart) / norm(&exact)
    };
    let [far, near] = [8e-3, 4e-3].map(error);
    println!(
        "{D}-D {case:?} {parameters:?}: {far:.2e} and {near:.2e} from differences, order {:.2}",
        (far / near).log2()
    );
    // The ratio is a quarter, and 2e-5 are for rounding.
    assert!(
        largest([near]) < 2e-3 && near < 0.27 * far + 2e-5,
        "{near:e} {far:e}"
    );
}

/// Perturbs the speeds and densities of the regions.
fn by_speeds<const D: usize>(case: &Case) {
    let shares = [[0.6, -0.5, 0.8], [-0.7, 0.9, 0.4]];
    let change: Vec<Vec<f64>> = (0..3)
        .map(|k| (0..2).map(|r| shares[r][k] * case.rocks[r][k]).collect())
        .collect();
    taylor::<D>(case, (Parameters::Speeds, &change), |size| {
        let rock = |r: usize| std::array::from_fn(|k| case.rocks[r][k] + size * change[k][r]);
        body(case, std::array::from_fn(rock))
    });
}

/// Perturbs the constants of a crystal below rock or water, whose bulk modulus and density are perturbed, too.
/// Absorbing faces keep their speeds.
fn by_constants<const D: usize>(case: &Case, scale: f64) {
    let mut draw = numbers(7);
    let of = |r: usize, k: usize, draw: f64| match (k, case.rocks[r]) {
        (21, [.., density]) => 2.0 * scale * draw * density,
        (_, [vp, _, density]) => scale * draw * density * vp * vp,
    };
    let change: Vec<Vec<f64>> = (0..22)
        .map(|k| (0..2).map(|r| of(r, k, draw())).collect())
        .collect();
    taylor::<D>(case, (Parameters::Constants, &change), |size| {
        let mut body = body::<D>(case, case.rocks);
        crystal(&mut body);
        for (region, medium) in body.media.iter_mut().enumerate() {
            medium.density += size * change[21][region];
            let mut table = match &medium.law {
                Law::Anisotropic(table) => **table,
                Law::Isotropic { lambda, mu } => std::array::from_fn(|i| {
                    std::array::from_fn(|j| match (i == j, i < 3 && j < 3) {
                        (true, true) => lambda + 2.0 * mu,
                        (true, false) => *mu,
                        (false, true) => *lambda,
                        _ => 0.0,
                    })
                }),
                Law::Fluid(_) => continue,
            };
            let pairs = (0..6).flat_map(|i| (i..6).map(move |j| (i, j)));
            for (k, (i, j)) in pairs.enumerate() {
                table[i][j] += size * change[k][region];
                table[j][i] = table[i][j];
            }
            medium.law = Law::Anisotropic(Box::new(table));
        }
        body
    });
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
        by_speeds::<2>(&case);
    }
    by_speeds::<3>(&Case {
        loss: Some(Grain::Fine),
        sponge: true,
        ..SOLID
    });
    by_speeds::<3>(&WATER);
    let of_velocity = Case {
        sponge: true,
        quantity: Quantity::Velocity,
        ..SOLID
    };
    by_constants::<2>(&of_velocity, 0.2);
    for grain in [Grain::Fine, Grain::Coarse] {
        let loss = Some(grain);
        by_constants::<2>(&Case { loss, ..of_velocity }, 0.2);
    }
    by_constants::<3>(&SOLID, 1.0);
}
