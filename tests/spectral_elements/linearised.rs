//! Linearised runs on meshes are the derivative of the records, whatever the number of threads. That their transpose is
//! the gradient is tested in `exact/transpose.rs`.

use kernels::device::cpu::Cpu;
use kernels::mesh::step::Law;
use kernels::methods::spectral_elements::adjoint::{Adjoint, Change, Parameters};
use kernels::methods::spectral_elements::{Grain, Lattice, Quantity, Setup, Shot};
use kernels::time_loop::reversal::CheckpointSchedule;

use crate::blocks::Body;
use crate::cases::{Case, SOLID, WATER, body, recorded, shot, sources};
use crate::exact::transpose::{crystal, numbers, units};
use crate::shots::largest;

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
    // In 3-D, elements are distributed as in 2-D.
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
    // The expected ratio is a quarter; 2e-5 allows for rounding.
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
