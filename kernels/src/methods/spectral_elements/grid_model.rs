//! A model on a regular grid, evaluated at the points of elements: speeds, density, quality factors, or stiffness
//! constants.

use rayon::prelude::*;

use super::attenuation::MECHANISMS;
use super::media::{Loss, LossSlopes, PointMedia, PointMedium, moduli};
use super::sampling::{Corners, Lattice, Sampling};
use super::{Pml, Relaxation};
use crate::Error;
use crate::medium::attenuation;
use crate::mesh::geometry::Tabulated;
use crate::mesh::step::{Law, Medium};
use crate::mesh::{Basis, Material, Mesh, Place};

/// Values of a model in file order: z fastest, then x[, y], then the regions if each has a separate grid. A plane with
/// a single number is constant.
pub type Plane = Vec<f32>;

/// The data of a model from files. Missing data are taken from the materials of the regions.
#[derive(Clone, Debug, Default)]
pub struct Planes {
    /// P speed, m/s.
    pub vp: Option<Plane>,
    /// S speed of solids, m/s.
    pub vs: Option<Plane>,
    /// Density, kg/m3.
    pub density: Option<Plane>,
    /// Quality factors of P and S; zero means no loss.
    pub quality: Option<[Plane; 2]>,
    /// Constants of solids (Pa), instead of speeds, by their row and column in Voigt's matrix (from 0, the row not
    /// below the column); missing constants are zero.
    pub constants: Vec<([usize; 2], Plane)>,
}

/// The band of constant Q and the reference frequency.
#[derive(Clone, Copy, Debug)]
pub struct Band {
    /// The band of frequencies (Hz) in which Q is constant.
    pub band: [f64; 2],
    /// The frequency (Hz) at which the speeds hold.
    pub reference: f64,
}

/// Intervals of the table of losses.
const LOSSES: usize = 2048;

/// A table of losses as a function of one over the quality factor, from zero to its largest value in the model.
#[derive(Clone, Debug)]
struct Losses {
    most: f64,
    /// Share of the mechanisms, and ratio of the unrelaxed modulus to the given one.
    table: Vec<[f64; 2]>,
}

impl Losses {
    fn new(law: &attenuation::Law, most: f64) -> Self {
        let entry = |k: usize| {
            let loss = law.loss(LOSSES as f64 / (k as f64 * most));
            [loss.phi, loss.unrelaxed]
        };
        Self {
            most,
            table: (0..=LOSSES).into_par_iter().map(entry).collect(),
        }
    }

    /// The entry below one over a quality factor, and the fractional distance to the next entry.
    fn place(&self, inverse: f64) -> (usize, f64) {
        let t = (inverse / self.most * LOSSES as f64).clamp(0.0, LOSSES as f64);
        let k = (t as usize).min(LOSSES - 1);
        (k, t - k as f64)
    }

    fn of(&self, inverse: f64) -> [f64; 2] {
        let (k, share) = self.place(inverse);
        let (low, high) = (self.table[k], self.table[k + 1]);
        std::array::from_fn(|i| low[i] + share * (high[i] - low[i]))
    }

    /// The derivatives of [`Losses::of`].
    fn slopes(&self, inverse: f64) -> [f64; 2] {
        if !(0.0..=self.most).contains(&inverse) {
            return [0.0; 2];
        }
        let (k, _) = self.place(inverse);
        let (low, high) = (self.table[k], self.table[k + 1]);
        std::array::from_fn(|i| (high[i] - low[i]) * LOSSES as f64 / self.most)
    }
}

/// The data of a model: values on one grid for all regions, or on one grid for each region, all of the same shape.
pub struct Grids<const D: usize> {
    /// The positions of the nodes of a grid.
    pub lattice: Lattice<D>,
    /// Number of grids in every plane, one after the other.
    pub count: usize,
    /// The parameters at the nodes of the grids.
    pub planes: Planes,
}

/// A model on a grid, which can be evaluated at the points of elements.
#[derive(Clone, Debug)]
pub struct GridModel<const D: usize> {
    sampling: Sampling<D>,
    planes: Planes,
    materials: Vec<Material>,
    losses: Option<(Losses, Relaxation)>,
}

impl<const D: usize> GridModel<D> {
    /// A model on one grid for all regions, or on one grid per region. On a single grid a point uses only the nodes
    /// that lie in its own region: nodes on an interface, beyond it or outside the mesh are ignored. In perfectly
    /// matched layers the values at the edge of the grid are continued.
    ///
    /// # Errors
    /// Returns an error for a grid that does not cover the mesh, a region without nodes, and values that no medium
    /// can have, each with its position.
    pub fn new(
        mesh: &Mesh<D>,
        basis: &Basis,
        grids: Grids<D>,
        (materials, layers): (&[Material], Option<&Pml<D>>),
        band: Option<Band>,
    ) -> Result<Self, Error> {
        let mut model = Self {
            sampling: Sampling::new(mesh, grids.lattice, grids.count, layers),
            planes: grids.planes,
            materials: materials.to_vec(),
            losses: None,
        };
        let lowest = model.check(mesh, basis)?;
        if let (Some(band), true) = (band, lowest.is_finite()) {
            let law = attenuation::Law::new(MECHANISMS, band.band, band.reference, lowest);
            let losses = Losses::new(&law, 1.0 / lowest);
            model.losses = Some((losses, Relaxation::by(&law, [lowest; 2])));
        }
        Ok(model)
    }

    /// Attenuation of the regions, if the model has any; the attenuation of the points is relative to it.
    pub fn relaxations(&self) -> Option<Vec<Relaxation>> {
        let (_, relaxation) = self.losses.as_ref()?;
        Some(vec![*relaxation; self.materials.len()])
    }

    /// The grid and the number of grids; `None` if all planes are single numbers.
    pub fn lattice(&self) -> Option<(Lattice<D>, usize)> {
        let lattice = self.sampling.lattice;
        (lattice.nodes() > 1).then_some((lattice, self.sampling.grids))
    }

    /// Row and column in Voigt's matrix (from 0) of the constants on the grid, in the order of their planes.
    pub fn constants(&self) -> Vec<[usize; 2]> {
        self.planes.constants.iter().map(|(pair, _)| *pair).collect()
    }

    /// The quality factors of P and S, each a single number or one per node.
    pub fn quality(&self) -> Option<&[Plane; 2]> {
        self.planes.quality.as_ref()
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        let p = &self.planes;
        let speeds = [&p.vp, &p.vs, &p.density].into_iter().flatten();
        let quality = p.quality.iter().flatten();
        let all = speeds.chain(quality).chain(p.constants.iter().map(|c| &c.1));
        4 * (all.map(Vec::len).sum::<usize>() + self.sampling.lattice.nodes())
    }

    /// Checks the medium at every point of every element; returns the lowest quality factor of the bulk or the shear
    /// modulus.
    fn check(&self, mesh: &Mesh<D>, basis: &Basis) -> Result<f64, Error> {
        let table = Tabulated::new(mesh.order(), basis);
        let lowest = |element: usize| -> Result<f64, Error> {
            let region = mesh.regions()[element] as usize;
            let mut lowest = f64::INFINITY;
            for x in table.positions(&mesh.coordinates(element)) {
                let corners = self.sampling.corners(region, x)?;
                let place = || format!("at {}, in element {element} of region {region},", Place::from(x));
                let medium = self.medium(region, &corners);
                self.sound(region, &medium)
                    .map_err(|words| Error::setup(format!("the model {} {words}", place())))?;
                let inverse = match self.materials[region].vs > 0.0 {
                    true => Self::of_moduli(self.inverse_quality(&corners), &medium.medium.law),
                    false => [0.0; 2],
                };
                if let Some(bad) = inverse.iter().find(|q| q.is_nan() || **q < -1e-6) {
                    return Err(Error::setup(format!(
                        "the quality factors {} make the bulk modulus gain energy (1/Qkappa = {bad:.3e}): qp must not exceed qs times 3/4 (vp/vs)^2",
                        place()
                    )));
                }
                lowest = inverse.iter().map(|q| 1.0 / q.max(0.0)).fold(lowest, f64::min);
            }
            Ok(lowest)
        };
        let all: Vec<Result<f64, Error>> = (0..mesh.len()).into_par_iter().map(lowest).collect();
        all.into_iter()
            .try_fold(f64::INFINITY, |least, own| Ok(least.min(own?)))
    }

    /// The value of a plane: its mean over the corners, or the value of the material.
    fn value(plane: &Option<Plane>, corners: &Corners, usual: f64) -> f64 {
        plane
            .as_ref()
            .map_or(usual, |plane| mean(plane, corners, f64::from))
    }

    fn medium(&self, region: usize, corners: &Corners) -> PointMedium {
        let (p, m) = (&self.planes, &self.materials[region]);
        let density = Self::value(&p.density, corners, m.density);
        if m.vs > 0.0 && !p.constants.is_empty() {
            let mut table = [[0.0; 6]; 6];
            for ([i, j], plane) in &p.constants {
                let c = mean(plane, corners, f64::from);
                (table[*i][*j], table[*j][*i]) = (c, c);
            }
            if D == 2 {
                complete(&mut table);
            }
            let law = Law::Anisotropic(Box::new(table));
            let [mu, kappa] = moduli(&law);
            return PointMedium {
                medium: Medium { density, law },
                speeds: [(kappa + 4.0 / 3.0 * mu) / density, mu / density].map(f64::sqrt),
                loss: None,
            };
        }
        let vp = Self::value(&p.vp, corners, m.vp);
        let vs = if m.vs > 0.0 {
            Self::value(&p.vs, corners, m.vs)
        } else {
            0.0
        };
        PointMedium {
            medium: Medium::isotropic(density, vp, vs),
            speeds: [vp, vs],
            loss: None,
        }
    }

    /// Returns an error with the reason if a medium is impossible.
    fn sound(&self, region: usize, point: &PointMedium) -> Result<(), String> {
        let (density, [vp, vs]) = (point.medium.density, point.speeds);
        if !(density > 0.0 && density.is_finite()) {
            return Err(format!("has the density {density}; it must be above zero"));
        }
        if let Law::Anisotropic(c) = &point.medium.law {
            return match not_definite::<D>(c) {
                Some(row) => Err(format!(
                    "has constants that are not positive definite (row {row}): no rock is like that; check the order of the planes and the unit, Pa"
                )),
                None => Ok(()),
            };
        }
        let solid = self.materials[region].vs > 0.0;
        if solid && (vs.is_nan() || vs <= 0.0) {
            return Err(format!(
                "has the S speed {vs}, but its region is a solid: give water a region of its own, or an S speed above zero there"
            ));
        }
        if !(vp > 0.0 && vp.is_finite() && 4.0 * vs * vs < 3.0 * vp * vp) {
            return Err(format!(
                "has the P speed {vp} and the S speed {vs}; P must be above zero, and S from 0 to below 0.866 of it"
            ));
        }
        Ok(())
    }

    /// One over the quality factors of P and S at a point of a solid.
    fn inverse_quality(&self, corners: &Corners) -> [f64; 2] {
        let Some(planes) = &self.planes.quality else {
            return [0.0; 2];
        };
        let inverse = |q: f32| if q == 0.0 { 0.0 } else { 1.0 / f64::from(q) };
        planes.each_ref().map(|plane| mean(plane, corners, inverse))
    }

    /// Converts the inverse quality factors of P and S to the inverse quality factors of the shear and bulk moduli.
    fn of_moduli([p, s]: [f64; 2], law: &Law) -> [f64; 2] {
        let [mu, kappa] = moduli(law);
        // The loss of P is the mean of the losses of the two moduli, weighted by their shares.
        let shear = 4.0 / 3.0 * mu / (kappa + 4.0 / 3.0 * mu);
        [s, (p - shear * s) / (1.0 - shear)]
    }

    fn point(&self, region: usize, x: [f64; D]) -> Option<PointMedium> {
        let corners = self.sampling.corners(region, x).ok()?;
        let mut point = self.medium(region, &corners);
        if let (Some((losses, _)), true) = (&self.losses, self.materials[region].vs > 0.0) {
            let inverse = self.inverse_quality(&corners);
            let of_moduli = Self::of_moduli(inverse, &point.medium.law);
            let (own, whole) = (of_moduli.map(|q| losses.of(q)), losses.of(losses.most));
            let slopes = of_moduli.map(|q| losses.slopes(q));
            point.loss = Some(Loss {
                factors: own.map(|[_, unrelaxed]| unrelaxed),
                shares: own.map(|[phi, _]| phi / whole[0]),
                slopes: Some(LossSlopes {
                    inverse,
                    by_modulus: slopes.map(|[phi, unrelaxed]| [unrelaxed, phi / whole[0]]),
                }),
            });
        }
        Some(point)
    }
}

impl<const D: usize> PointMedia<D> for GridModel<D> {
    fn of_element(&self, _: usize, region: usize, positions: &[[f64; D]]) -> Option<Vec<PointMedium>> {
        positions.iter().map(|x| self.point(region, *x)).collect()
    }
}

/// Extends a table of x and z constants to the y axis, such that its isotropic means are exact if it is isotropic;
/// the added constants do not affect waves in the plane.
pub(super) fn complete(table: &mut [[f64; 6]; 6]) {
    table[1][1] = 0.5 * (table[0][0] + table[2][2]);
    (table[3][3], table[5][5]) = (table[4][4], table[4][4]);
    for (i, j) in [(0, 1), (1, 2)] {
        (table[i][j], table[j][i]) = (table[0][2], table[0][2]);
    }
}

/// The weighted mean of a plane over nodes; the value itself if the plane is a single number.
fn mean(plane: &Plane, corners: &Corners, of: impl Fn(f32) -> f64) -> f64 {
    match plane.as_slice() {
        [one] => of(*one),
        all => corners.iter().map(|(node, weight)| weight * of(all[*node])).sum(),
    }
}

/// The first row (from 1) whose pivot shows that a table is not positive definite; in 2-D only the rows of x and z
/// are tested.
pub fn not_definite<const D: usize>(table: &[[f64; 6]; 6]) -> Option<usize> {
    let met: &[usize] = if D == 3 { &[0, 1, 2, 3, 4, 5] } else { &[0, 2, 4] };
    // Cholesky: every pivot of a stable medium is above zero.
    let mut rest = *table;
    for (n, &k) in met.iter().enumerate() {
        let pivot = rest[k][k];
        if pivot.is_nan() || pivot <= 1e-9 * table[k][k].abs() {
            return Some(k + 1);
        }
        for &i in &met[n + 1..] {
            for &j in &met[n + 1..] {
                rest[i][j] -= rest[i][k] * rest[k][j] / pivot;
            }
        }
    }
    None
}
