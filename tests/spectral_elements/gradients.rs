//! Gradients on meshes against finite differences of the misfit, with parameters of regions and of nodes of grids.

use kernels::Error;
use kernels::device::cpu::Cpu;
use kernels::mesh::Mesh;
use kernels::mesh::step::Medium;
use kernels::methods::spectral_elements::adjoint::{Adjoint, Gradient, Parameters};
use kernels::methods::spectral_elements::{Quantity, Setup, Shot, Source, Sponge, Strength};
use kernels::time_loop::reversal::CheckpointSchedule;

use crate::blocks::{Body, block};
use crate::laws::ricker;
use crate::shots::largest;

/// P speed, S speed, density of the two regions.
const ROCKS: [[f64; 3]; 2] = [[2600.0, 1500.0, 2100.0], [3100.0, 1750.0, 2300.0]];

/// Where a node lies: elements of 100 m whose sides bend.
fn bent<const D: usize>(u: [f64; D]) -> [f64; D] {
    let wave: f64 = u.iter().map(|x| (1.3 * x).sin()).product();
    std::array::from_fn(|c| 100.0 * (u[c] + 0.12 * wave * (1.0 + c as f64)))
}

/// A bent body of two regions with a free top, absorbing elsewhere; elements of 100 m.
fn body<const D: usize>(rocks: [[f64; 3]; 2], sponge: bool) -> Body<D> {
    let counts: [usize; D] = std::array::from_fn(|c| if c + 1 == D { 4 } else { 5 });
    let mesh: Mesh<D> = block(
        counts,
        bent,
        |k| i32::from(k[D - 1] > 1),
        |axis, high| axis + 1 < D || high,
    );
    let media = rocks.map(|[vp, vs, density]| Medium::isotropic(density, vp, vs));
    let speeds = rocks.map(|[vp, vs, _]| [vp, vs]);
    let mut body = Body::new(mesh, media.to_vec(), speeds.to_vec(), 0.7);
    // Of the rocks as they are, whatever is changed.
    body.dt = 0.7 * Body::new(body.mesh.clone(), of(ROCKS).0, of(ROCKS).1, 1.0).dt;
    body.sponge = sponge.then_some(Sponge {
        thickness: 120.0,
        left: 0.1,
    });
    body
}

fn of(rocks: [[f64; 3]; 2]) -> (Vec<Medium>, Vec<[f64; 2]>) {
    (
        rocks
            .map(|[vp, vs, density]| Medium::isotropic(density, vp, vs))
            .to_vec(),
        rocks.map(|[vp, vs, _]| [vp, vs]).to_vec(),
    )
}

fn sources<const D: usize>(dt: f64, nt: usize) -> Vec<Source<D>> {
    let history = |delay: f64| -> Vec<f32> {
        let late = vec![0.0; (delay / dt) as usize];
        late.into_iter().chain(ricker(12.0, dt, nt)).take(nt).collect()
    };
    let mut moment = [[0.0; D]; D];
    (0..D).for_each(|c| moment[c][c] = 1e12);
    (moment[0][D - 1], moment[D - 1][0]) = (4e11, 4e11);
    vec![
        Source {
            at: std::array::from_fn(|c| 140.0 + 13.0 * c as f64),
            strength: Strength::Moment(moment),
            history: history(0.0),
        },
        Source {
            at: std::array::from_fn(|c| 330.0 - 40.0 * c as f64),
            strength: Strength::Force(std::array::from_fn(|c| 2e9 + 1e9 * c as f64)),
            history: history(0.02),
        },
    ]
}

fn shot<const D: usize>(nt: usize, jdata: usize, quantity: Quantity) -> Shot<D> {
    let place = |k: usize| {
        std::array::from_fn(|c| {
            if c + 1 == D {
                40.0 + 90.0 * k as f64
            } else {
                90.0 + 110.0 * k as f64 + 7.0 * c as f64
            }
        })
    };
    Shot {
        nt,
        jdata,
        receivers: (0..3).map(place).collect(),
        quantity,
        ..Shot::default()
    }
}

/// Half the sum of squares of records minus what one would expect of them, and its derivative by the records.
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

/// What a shot gives: the misfit, its records, and the gradient if that is wanted.
type Found<const D: usize> = (f64, Vec<f32>, Option<Gradient<D>>);

/// The misfit of a shot whose expected records are these, or zeros.
fn run<const D: usize>(setup: &Setup<D>, shot: &Shot<D>, expected: Option<&[f32]>, wanted: bool) -> Found<D> {
    let mut adjoint = Adjoint::new(Cpu::new(2).unwrap(), setup, shot).unwrap();
    let schedule = CheckpointSchedule::choose(adjoint.steps(), adjoint.sizes(), PLENTY).unwrap();
    let (mut found, mut kept) = (0.0, Vec::new());
    let gradient = adjoint.gradient((setup, shot), &schedule, |records| {
        kept.clone_from(&records);
        let zero = vec![0.0; records.len()];
        let (sum, residual) = misfit(&records, expected.unwrap_or(&zero));
        found = sum;
        match wanted {
            true => Ok(residual),
            // The adjoint run is not needed.
            false => Err(Error::setup("enough")),
        }
    });
    assert_eq!(gradient.is_ok(), wanted);
    (found, kept, gradient.ok())
}

const PLENTY: usize = 1 << 33;

/// Rocks with one parameter changed by a share of it.
fn changed(region: usize, parameter: usize, share: f64) -> [[f64; 3]; 2] {
    let mut rocks = ROCKS;
    rocks[region][parameter] *= 1.0 + share;
    rocks
}

fn regions_of<const D: usize>(nt: usize, cases: &[(Quantity, usize, bool)], looked_at: &[(usize, usize)]) {
    for (quantity, jdata, sponge) in cases {
        let of = |rocks: [[f64; 3]; 2], expected: Option<&[f32]>, wanted: bool| {
            let body = body::<D>(rocks, *sponge);
            let (sources, shot) = (sources(body.dt, nt), shot(nt, *jdata, *quantity));
            let (misfit, records, gradient) = run(&body.setup(&sources), &shot, expected, wanted);
            let by = gradient.map(|gradient| gradient.of_regions(&body.mesh, 2, Parameters::Speeds));
            (misfit, records, by.unwrap_or_default())
        };
        let (_, expected, _) = of([[2450.0, 1430.0, 2200.0], [3300.0, 1800.0, 2250.0]], None, false);
        let by = of(ROCKS, Some(&expected), true).2;
        let step = 4e-3;
        let mut apart = Vec::new();
        for &(region, parameter) in looked_at {
            let at = |share: f64| of(changed(region, parameter, share), Some(&expected), false).0;
            // Central differences of fourth order.
            let near = (at(step) - at(-step)) / (2.0 * step);
            let far = (at(2.0 * step) - at(-2.0 * step)) / (4.0 * step);
            let difference = (4.0 * near - far) / 3.0;
            let found = by[region][parameter] * ROCKS[region][parameter];
            println!(
                "{D}-D {quantity:?} region {region} parameter {parameter}: {found:e}, by differences {difference:e}"
            );
            apart.push((found - difference) / difference);
        }
        let error = largest(apart);
        println!("{D}-D {quantity:?}: within {error:.1e} of finite differences");
        // The misfits are of records in single precision: 1e-4 to 3e-3 of the smallest derivatives.
        assert!(error < 5e-3, "{error:e}");
    }
}

#[test]
fn gradients_by_regions_are_those_of_finite_differences() {
    let all = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)];
    regions_of::<2>(
        260,
        &[
            (Quantity::Displacement, 1, false),
            (Quantity::Velocity, 3, true),
            (Quantity::Acceleration, 2, true),
        ],
        &all,
    );
    regions_of::<3>(120, &[(Quantity::Velocity, 1, true)], &[(0, 0), (1, 1), (1, 2)]);
}
