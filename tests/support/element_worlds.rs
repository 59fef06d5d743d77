//! Small meshes with all features of spectral elements: fluids over solids, tables of constants, attenuation, absorbing
//! faces, curved elements.
#![allow(dead_code)] // each test target that includes this file uses a part of it

use kernels::mesh::step::{Law, Medium, steps};
use kernels::mesh::{Basis, Mesh, Order, Parts, cell};
use kernels::methods::spectral_elements::{
    Attenuation, Followed, Grain, Loss, Lumping, Pml, PointMedia, PointMedium, Profile, Quantity, Relaxation,
    Setup, Shot, Source, Sponge, Strength,
};

/// The material of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rock {
    Fluid,
    Isotropic,
    Table,
}

/// A mesh with its media, and a shot on it.
pub struct World<const D: usize> {
    pub what: String,
    pub mesh: Mesh<D>,
    pub basis: Basis,
    pub media: Vec<Medium>,
    pub speeds: Vec<[f64; 2]>,
    pub dt: f64,
    pub relaxations: Option<Vec<Relaxation>>,
    pub grain: Grain,
    pub followed: Followed,
    pub lumping: Lumping,
    pub sources: Vec<Source<D>>,
    pub shot: Shot<D>,
    pub uneven: Option<Uneven>,
    pub sponge: Option<Sponge>,
    pub pml: Option<Pml<D>>,
}

/// Constants that vary from point to point by an eighth around the constants of the regions.
pub struct Uneven(Vec<(Medium, [f64; 2])>);

impl<const D: usize> PointMedia<D> for Uneven {
    fn of_element(&self, _: usize, region: usize, positions: &[[f64; D]]) -> Option<Vec<PointMedium>> {
        let (medium, speeds) = &self.0[region];
        let point = |x: &[f64; D]| {
            let phase: f64 = x
                .iter()
                .enumerate()
                .map(|(c, x)| x * (0.012 + 0.003 * c as f64))
                .sum();
            let (stiff, heavy) = (1.0 + 0.125 * phase.sin(), 1.0 + 0.06 * phase.cos());
            PointMedium {
                medium: Medium {
                    density: heavy * medium.density,
                    law: match &medium.law {
                        Law::Isotropic { lambda, mu } => Law::Isotropic {
                            lambda: stiff * lambda,
                            mu: stiff * mu,
                        },
                        Law::Fluid(modulus) => Law::Fluid(stiff * modulus),
                        Law::Anisotropic(c) => {
                            Law::Anisotropic(Box::new(c.map(|row| row.map(|c| stiff * c))))
                        }
                    },
                },
                speeds: speeds.map(|speed| speed * (stiff / heavy).sqrt()),
                loss: Some(Loss {
                    factors: [1.05 + 0.01 * phase.sin(), 1.02],
                    shares: [1.0 + 0.2 * phase.cos(), 0.9],
                    slopes: None,
                }),
            }
        };
        Some(positions.iter().map(point).collect())
    }
}

/// The choices for a world.
#[derive(Clone, Copy, Debug)]
pub struct Recipe<const D: usize> {
    pub counts: [usize; D],
    pub order: Order,
    pub degree: usize,
    /// The materials of the upper and the lower half.
    pub rocks: [Rock; 2],
    pub loses: bool,
    /// The distribution of the mechanisms over the points.
    pub grain: Grain,
    /// The strain that drives the mechanisms.
    pub followed: Followed,
    /// Whether constants vary from point to point.
    pub varies: bool,
    /// Whether there is a sponge along the absorbing sides.
    pub soaks: bool,
    /// Perfectly matched layers along these sides, in a box that is not bent.
    pub matched: Option<Profile>,
    pub lumping: Lumping,
    pub quantity: Quantity,
    pub steps: usize,
}

impl<const D: usize> Recipe<D> {
    /// Rock over rock at degree 4.
    pub fn plain(counts: [usize; D]) -> Self {
        Self {
            counts,
            order: Order::Linear,
            degree: 4,
            rocks: [Rock::Isotropic, Rock::Table],
            loses: false,
            grain: Grain::Fine,
            followed: Followed::Predicted,
            varies: false,
            soaks: false,
            matched: None,
            lumping: Lumping::Matrix,
            quantity: Quantity::Velocity,
            steps: 40,
        }
    }
}

/// A box of elements of about 100 m, bent, or (`straight`) only with sides of different lengths; the lower half is
/// region 1. All sides except the top absorb.
fn bent<const D: usize>(counts: [usize; D], order: Order, straight: bool) -> Mesh<D> {
    let fine = if order == Order::Linear { 1 } else { 2 };
    let sizes = counts.map(|n| fine * n + 1);
    let split = |mut k: usize, n: [usize; D]| -> [usize; D] {
        std::array::from_fn(|a| {
            let here = k % n[a];
            k /= n[a];
            here
        })
    };
    let place = |k: usize| -> [f64; D] {
        let u = split(k, sizes).map(|i| i as f64 / fine as f64);
        std::array::from_fn(|c| {
            let bend = match straight {
                true => 1.8 * u[c],
                false => 1.1 * u[(c + 1) % D] + 0.7 * u[c] + 0.5 * u[D - 1],
            };
            100.0 * u[c] + 11.0 * bend.sin()
        })
    };
    let mut parts = Parts::<D> {
        per_element: order.nodes::<D>(),
        nodes: (0..sizes.iter().product()).map(place).collect(),
        ..Parts::default()
    };
    for element in 0..counts.iter().product() {
        let first = split(element, counts);
        for node in 0..parts.per_element {
            let at = cell::place::<D>(node).map(usize::from);
            let number = (0..D).rev().fold(0, |number, a| {
                number * sizes[a] + fine * first[a] + at[a] * fine / 2
            });
            parts.elements.push(number as i32);
        }
        parts.regions.push(i32::from(first[D - 1] >= counts[D - 1] / 2));
        for face in 0..cell::faces::<D>() {
            let side = cell::face::<D>(face);
            let outer = first[side.axis] == if side.high { counts[side.axis] - 1 } else { 0 };
            let top = side.axis == D - 1 && !side.high;
            if outer {
                let list = if top {
                    &mut parts.free
                } else {
                    &mut parts.absorbing
                };
                list.push([element as i32, face as i32]);
            }
        }
    }
    Mesh::new(parts).expect("a bent box is sound")
}

/// A medium and its velocities. `couples` is whether shear and compression are coupled in a table.
fn medium(rock: Rock, lower: bool, couples: bool) -> (Medium, [f64; 2]) {
    let [density, vp, vs] = match (rock, lower) {
        (Rock::Fluid, _) => [1000.0, 1500.0, 0.0],
        (_, false) => [1900.0, 2000.0, 1100.0],
        _ => [2400.0, 2900.0, 1600.0],
    };
    let mut medium = Medium::isotropic(density, vp, vs);
    if rock == Rock::Table {
        let mut table = [[0.0; 6]; 6];
        let (p, s) = (density * vp * vp, density * vs * vs);
        for i in 0..6 {
            for j in 0..6 {
                let plain = match (i < 3, j < 3, i == j) {
                    (true, true, true) => p * (1.0 + 0.1 * i as f64),
                    (true, true, false) => p - 2.0 * s,
                    (false, false, true) => s,
                    _ => 0.0,
                };
                // In perfectly matched layers shear must not couple to compression.
                let more = if couples || (i < 3 && j < 3) {
                    0.02 * s
                } else {
                    0.0
                };
                table[i][j] = plain + more * f64::from(i as u32 + j as u32);
            }
        }
        medium.law = Law::Anisotropic(Box::new(table));
    }
    (medium, [vp, vs])
}

/// A Ricker wavelet of 12 Hz.
fn ricker(dt: f64, nt: usize) -> Vec<f32> {
    let value = |n: usize| {
        let a = (std::f64::consts::PI * 12.0 * (n as f64 * dt - 0.04)).powi(2);
        ((1.0 - 2.0 * a) * (-a).exp()) as f32
    };
    (0..nt).map(value).collect()
}

impl<const D: usize> World<D> {
    pub fn new(recipe: Recipe<D>) -> Self {
        let mesh = bent(recipe.counts, recipe.order, recipe.matched.is_some());
        let basis = Basis::new(recipe.degree).expect("a degree of 2 to 8");
        let both = [(0, false), (1, true)]
            .map(|(k, lower)| medium(recipe.rocks[k], lower, recipe.matched.is_none()));
        let media: Vec<Medium> = both.iter().map(|m| m.0.clone()).collect();
        let bound = steps(&mesh, &basis, &media)
            .into_iter()
            .fold(f64::INFINITY, f64::min);
        let (dt, nt) = (0.7 * bound, recipe.steps);
        let size = recipe.counts.map(|n| 100.0 * n as f64);
        let at = |shares: [f64; 3]| std::array::from_fn(|c| size[c] * shares[if c + 1 == D { 2 } else { c }]);
        let explosion = Strength::Moment(std::array::from_fn(|i| {
            std::array::from_fn(|c| if i == c { 1e12 } else { 0.0 })
        }));
        let double_couple = Strength::Moment(std::array::from_fn(|i| {
            std::array::from_fn(|c| if i == c { 3e11 * (1.0 + i as f64) } else { 8e11 })
        }));
        let [wet, all_wet] = recipe.rocks.map(|rock| rock == Rock::Fluid);
        let force = Strength::Force(std::array::from_fn(|c| 1e9 * (c as f64 - 0.6)));
        let in_fluid = |is_fluid: bool, other: &Strength<D>| match is_fluid {
            true => explosion.clone(),
            false => other.clone(),
        };
        let source = |at: [f64; D], strength: Strength<D>, steps: usize| Source {
            at,
            strength,
            history: ricker(dt, steps),
        };
        let snapshot_points =
            (0..24).map(|k| at([0.03 + 0.04 * f64::from(k), 0.55, 0.1 + 0.03 * f64::from(k)]));
        let law = Relaxation {
            tau_stress: [0.5, 0.1, 0.02],
            tau_shear: [0.55, 0.11, 0.022],
            tau_bulk: [0.52, 0.104, 0.0205],
            factors: [1.05, 1.02],
        };
        Self {
            what: format!("{D}-D {recipe:?}"),
            sources: vec![
                source(at([0.43, 0.52, 0.3]), in_fluid(wet, &double_couple), nt),
                source(at([0.6, 0.5, 0.72]), in_fluid(all_wet, &double_couple), nt / 2),
                source(at([0.57, 0.45, 0.66]), in_fluid(all_wet, &force), nt),
            ],
            shot: Shot {
                nt,
                jdata: 3,
                receivers: vec![
                    at([0.48, 0.57, 0.32]),
                    at([0.52, 0.48, 0.61]),
                    at([0.87, 0.62, 0.72]),
                    at([0.4, 0.4, 0.12]),
                ],
                quantity: recipe.quantity,
                jsnap: Some(nt / 2 - 1),
                snapshot_points: snapshot_points.collect(),
                jcheck: 25,
            },
            relaxations: recipe.loses.then_some(vec![law; 2]),
            grain: recipe.grain,
            followed: recipe.followed,
            lumping: recipe.lumping,
            speeds: both.iter().map(|m| m.1).collect(),
            pml: recipe.matched.map(|profile| Pml {
                profile,
                ..Pml::along_sides(&mesh, 95.0).expect("flat sides")
            }),
            sponge: recipe.soaks.then_some(Sponge {
                thickness: 170.0,
                left: 0.05,
            }),
            uneven: recipe.varies.then(|| Uneven(both.to_vec())),
            mesh,
            basis,
            media,
            dt,
        }
    }

    pub fn setup(&self) -> Setup<'_, D> {
        Setup {
            mesh: &self.mesh,
            basis: &self.basis,
            media: &self.media,
            speeds: &self.speeds,
            points: self.uneven.as_ref().map(|uneven| uneven as &dyn PointMedia<D>),
            dt: self.dt,
            relaxations: self.relaxations.as_deref().map(|regions| Attenuation {
                grain: self.grain,
                followed: self.followed,
                ..Attenuation::from(regions)
            }),
            lumping: self.lumping,
            sponge: self.sponge,
            pml: self.pml.as_ref(),
            sources: &self.sources,
        }
    }
}
