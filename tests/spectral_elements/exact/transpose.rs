//! The transpose of linearised runs on meshes is the gradient: `<L m, d> = <m, L' d>` for random set-ups.

use super::blocks::Body;
use super::cases::{Case, ROCKS, SOLID, WATER, bent, body, recorded, shot, sources};
use super::shots::{largest, magnitude};
use kernels::device::cpu::Cpu;
use kernels::mesh::step::Law;
use kernels::methods::spectral_elements::adjoint::{Adjoint, Change, Parameters};
use kernels::methods::spectral_elements::{Followed, Grain, Lattice, Number, Quantity};
use kernels::time_loop::reversal::CheckpointSchedule;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

/// The largest relative difference of dot products, which is due to rounding.
const ROUNDING: f64 = if size_of::<Number>() == 8 { 1e-12 } else { 1e-5 };

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
    // A case in 3-D takes ten times as long as a case in 2-D.
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
pub fn numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed | 1;
    move || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// Random perturbations of the parameters by a few thousandths.
pub fn units(parameters: Parameters, [vp, vs, density]: [f64; 3]) -> Vec<f64> {
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
pub fn crystal<const D: usize>(body: &mut Body<D>) {
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
    let others: Vec<Number> = records
        .iter()
        .map(|x| (f64::from(*x) + 0.3 * most * draw()) as Number)
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
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: Some(Box::new(FileFailurePersistence::Direct("../tests/regressions/linearised_meshes.txt"))), ..ProptestConfig::default() })]

    /// The difference must be only the rounding of the numbers.
    #[test]
    fn the_gradient_is_the_transpose_of_the_linearised_run((plane, trial) in trials()) {
        let difference = if plane { apart::<2>(&trial) } else { apart::<3>(&trial) };
        println!("{difference:.1e} {}-D {trial:?}", if plane { 2 } else { 3 });
        prop_assert!(difference <= ROUNDING, "{difference:e} {trial:?}");
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
        // Without the adjoint sources the gradient would be zero.
        assert!(largest(differences) <= ROUNDING, "{differences:?} {trial:?}");
    }
}
