//! Bodies of two regions with sources and receivers, for tests of derivatives.

use super::blocks::{Body, block};
use super::shots::{kept, magnitude};
use kernels::mesh::Mesh;
use kernels::mesh::step::{Law, Medium};
use kernels::methods::spectral_elements::{
    Grain, Number, Pml, Quantity, Relaxation, Shot, Source, Sponge, Strength,
};

/// A Ricker wavelet.
pub fn ricker(frequency: f64, dt: f64, nt: usize) -> Vec<Number> {
    let value = |n: usize| {
        let a = (std::f64::consts::PI * frequency * (n as f64 * dt - 1.2 / frequency)).powi(2);
        ((1.0 - 2.0 * a) * (-a).exp()) as Number
    };
    (0..nt).map(value).collect()
}

/// P speed, S speed and density of the two regions, the upper one first.
pub type Rocks = [[f64; 3]; 2];

pub const ROCKS: Rocks = [[2600.0, 1500.0, 2100.0], [3100.0, 1750.0, 2300.0]];

/// Water over rock.
pub const SEA: Rocks = [[1500.0, 0.0, 1000.0], [2600.0, 1200.0, 2100.0]];

/// The options of a run.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub rocks: Rocks,
    /// The quantity of the data.
    pub expected: Rocks,
    pub sponge: bool,
    /// Whether there are perfectly matched layers outside the absorbing sides, of a rock that is not changed.
    pub layers: bool,
    /// Whether the regions attenuate, and how.
    pub loss: Option<Grain>,
    pub quantity: Quantity,
    pub jdata: usize,
}

pub const SOLID: Case = Case {
    rocks: ROCKS,
    expected: [[2450.0, 1430.0, 2200.0], [3300.0, 1800.0, 2250.0]],
    sponge: false,
    layers: false,
    loss: None,
    quantity: Quantity::Displacement,
    jdata: 1,
};

pub const WATER: Case = Case {
    rocks: SEA,
    // The water has the same speed in both: its density does not affect the direct wave.
    expected: [[1500.0, 0.0, 1060.0], [2750.0, 1280.0, 2050.0]],
    quantity: Quantity::Pressure,
    ..SOLID
};

/// The position of a node: elements of 100 m with bent sides.
pub fn bent<const D: usize>(u: [f64; D]) -> [f64; D] {
    let wave: f64 = u.iter().map(|x| (1.3 * x).sin()).product();
    std::array::from_fn(|c| 100.0 * (u[c] + 0.12 * wave * (1.0 + c as f64)))
}

/// Thickness of a layer in elements.
const THICK: usize = 2;

/// A bent body of two regions with a free top, absorbing elsewhere, with elements of 100 m. With layers the body is
/// straight, and the layers are regions 2 and 3 around it.
pub fn body<const D: usize>(case: &Case, rocks: Rocks) -> Body<D> {
    let inner: [usize; D] = std::array::from_fn(|c| if c + 1 == D { 4 } else { 5 });
    let absorbs = |axis: usize, high: bool| axis + 1 < D || high;
    let mesh: Mesh<D> = match case.layers {
        false => block(inner, bent, |k| i32::from(k[D - 1] > 1), absorbs),
        true => {
            let before: [usize; D] = std::array::from_fn(|c| if c + 1 == D { 0 } else { THICK });
            let region = |k: [usize; D]| {
                let outside = (0..D).any(|c| k[c] < before[c] || k[c] >= before[c] + inner[c]);
                i32::from(k[D - 1] > 1) + 2 * i32::from(outside)
            };
            block(
                std::array::from_fn(|c| before[c] + inner[c] + THICK),
                |u| std::array::from_fn(|c| 100.0 * (u[c] - before[c] as f64)),
                region,
                absorbs,
            )
        }
    };
    // The values describe the unchanged rocks.
    let (mut held, mut speeds_held) = of(case.rocks);
    let dt = 0.6
        * Body::new(
            mesh.clone(),
            [&held[..]; 2].concat(),
            [&speeds_held[..]; 2].concat(),
            1.0,
        )
        .dt;
    let (mut media, mut speeds) = of(rocks);
    if case.layers {
        media.append(&mut held);
        speeds.append(&mut speeds_held);
    }
    let mut body = Body::new(mesh, media, speeds, 0.7);
    body.dt = dt;
    body.pml = case
        .layers
        .then(|| Pml::along_sides(&body.mesh, 100.0 * THICK as f64).unwrap());
    body.sponge = case.sponge.then_some(Sponge {
        thickness: 120.0,
        left: 0.1,
    });
    if let Some(grain) = case.loss {
        let of = |quality| Relaxation::constant(quality, [3.0, 36.0], 10.0);
        let both = [of([30.0, 60.0]), of([20.0, 90.0])];
        body.relaxations = Some(both.iter().cycle().take(body.media.len()).copied().collect());
        body.grain = grain;
    }
    body
}

fn of(rocks: Rocks) -> (Vec<Medium>, Vec<[f64; 2]>) {
    let medium = |[vp, vs, density]: [f64; 3]| match vs {
        0.0 => Medium {
            density,
            law: Law::Fluid(density * vp * vp),
        },
        _ => Medium::isotropic(density, vp, vs),
    };
    (
        rocks.map(medium).to_vec(),
        rocks.map(|[vp, vs, _]| [vp, vs]).to_vec(),
    )
}

/// A source in either region; in water an explosion.
pub fn sources<const D: usize>(case: &Case, dt: f64, nt: usize) -> Vec<Source<D>> {
    let history = |delay: f64| -> Vec<Number> {
        let late = vec![0.0; (delay / dt) as usize];
        late.into_iter().chain(ricker(12.0, dt, nt)).take(nt).collect()
    };
    let mut moment = [[0.0; D]; D];
    (0..D).for_each(|c| moment[c][c] = 1e12);
    if case.rocks[0][1] > 0.0 {
        (moment[0][D - 1], moment[D - 1][0]) = (4e11, 4e11);
    }
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

/// Receivers in the part of the body in which the quantity is recorded.
pub fn shot<const D: usize>(nt: usize, case: &Case) -> Shot<D> {
    // Pressure is recorded in water, other quantities in the rock below it.
    let top = match (case.rocks[0][1] == 0.0, case.quantity) {
        (true, Quantity::Pressure) | (false, _) => 40.0,
        (true, _) => 230.0,
    };
    let apart = if case.rocks[0][1] == 0.0 { 50.0 } else { 90.0 };
    let place = |k: usize| {
        std::array::from_fn(|c| {
            if c + 1 == D {
                top + apart * k as f64
            } else {
                90.0 + 110.0 * k as f64 + 7.0 * c as f64
            }
        })
    };
    Shot {
        nt,
        jdata: case.jdata,
        receivers: (0..3).map(place).collect(),
        quantity: case.quantity,
        ..Shot::default()
    }
}

/// The records of a shot, kept for tests.
pub fn recorded<const D: usize>(records: &[Number], shot: &Shot<D>) -> Vec<Number> {
    let records = kept(records);
    let count = shot.receivers.len() * shot.quantity.components(D);
    assert_eq!(records.len(), shot.nt.div_ceil(shot.jdata) * count);
    magnitude(&records);
    records
}
