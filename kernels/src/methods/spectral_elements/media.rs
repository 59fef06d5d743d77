//! The media at the points of elements: the medium of their region, or a model that varies from point to point.

use rayon::prelude::*;

use super::Setup;
use super::pml::Filters;
use crate::mesh::geometry::Tabulated;
use crate::mesh::step::{self, Bound, Law, Media, Medium};

/// The medium at a point of an element.
#[derive(Clone, Debug, PartialEq)]
pub struct PointMedium {
    /// Density and law, with the moduli that hold at the reference frequency.
    pub medium: Medium,
    /// P and S speed (m/s), for absorbing faces.
    pub speeds: [f64; 2],
    /// The loss of the point if the run has attenuation; `None` if the point has the loss of its region.
    pub loss: Option<Loss>,
}

/// The loss of a point, relative to the relaxation of its region.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// Ratios of the unrelaxed shear and bulk modulus to the given ones.
    pub factors: [f64; 2],
    /// The shares of the mechanisms in the unrelaxed shear and bulk moduli, divided by the shares in the region's
    /// relaxation.
    pub shares: [f64; 2],
    /// The derivatives of both with respect to the quality factors of P and S, if these vary from point to point.
    pub slopes: Option<LossSlopes>,
}

/// The dependence of a loss on the quality factors of P and S.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossSlopes {
    /// One over the quality factors of P and of S.
    pub inverse: [f64; 2],
    /// For the shear and for the bulk modulus: the derivatives of the factor and of the share with respect to one over
    /// the quality factor of the modulus.
    pub by_modulus: [[f64; 2]; 2],
}

/// A model that can be evaluated at any position.
///
/// It is evaluated several times per element and must always return the same media. All elements of a region have the
/// kind of law of the region's medium: fluid, isotropic solid or 21 constants. Points on a side shared by two regions
/// are evaluated for both regions, so a model can be discontinuous there; their coordinates are computed from single
/// elements and differ by rounding.
pub trait PointMedia<const D: usize>: Send + Sync {
    /// The media at the points of an element of a region at these positions (m; the axis u fastest), in the same order,
    /// or `None` if the constants of the region apply.
    fn of_element(&self, element: usize, region: usize, positions: &[[f64; D]]) -> Option<Vec<PointMedium>>;
}

impl<const D: usize, F> PointMedia<D> for F
where
    F: Fn(usize, usize, &[[f64; D]]) -> Option<Vec<PointMedium>> + Send + Sync,
{
    fn of_element(&self, element: usize, region: usize, positions: &[[f64; D]]) -> Option<Vec<PointMedium>> {
        self(element, region, positions)
    }
}

/// The media at the points of an element: one entry for all points, or one for each point.
pub(super) struct Contents(Vec<PointMedium>);

impl Contents {
    fn at(&self, point: usize) -> &PointMedium {
        &self.0[point.min(self.0.len() - 1)]
    }

    /// Density and law of a point.
    pub(super) fn medium(&self, point: usize) -> &Medium {
        &self.at(point).medium
    }

    /// P and S speed of a point, m/s.
    pub(super) fn speeds(&self, point: usize) -> [f64; 2] {
        self.at(point).speeds
    }

    /// P and S impedance of a point, kg/(m2 s).
    pub(super) fn impedances(&self, point: usize) -> [f64; 2] {
        let own = self.at(point);
        own.speeds.map(|speed| own.medium.density * speed)
    }

    /// Shear and bulk modulus of a point, unrelaxed if there is attenuation. For a table of constants, they are its
    /// Voigt means.
    pub(super) fn moduli(&self, point: usize) -> [f64; 2] {
        let (factors, [mu, kappa]) = (self.factors(point), moduli(&self.medium(point).law));
        [mu * factors[0], kappa * factors[1]]
    }

    /// Ratios of the unrelaxed shear and bulk modulus of a point to the given ones.
    pub(super) fn factors(&self, point: usize) -> [f64; 2] {
        self.at(point).loss.map_or([1.0; 2], |loss| loss.factors)
    }

    /// The loss of a point, if it has one.
    pub(super) fn loss(&self, point: usize) -> Option<&Loss> {
        self.at(point).loss.as_ref()
    }

    /// Factors that convert a region's mechanisms for unit moduli to the mechanisms at a point: for shear and for
    /// compression.
    pub(super) fn strengths(&self, point: usize) -> [f64; 2] {
        let shares = self.at(point).loss.map_or([1.0; 2], |loss| loss.shares);
        let [mu, kappa] = self.moduli(point);
        [mu * shares[0], kappa * shares[1]]
    }

    /// The media with unrelaxed moduli, which are the largest; tables of constants are not scaled.
    fn unrelaxed(mut self) -> Vec<Medium> {
        let moduli: Vec<[f64; 2]> = (0..self.0.len()).map(|point| self.moduli(point)).collect();
        for (own, [mu, kappa]) in self.0.iter_mut().zip(moduli) {
            if let Law::Isotropic { .. } = own.medium.law {
                own.medium.law = Law::Isotropic {
                    lambda: kappa - 2.0 / 3.0 * mu,
                    mu,
                };
            }
        }
        self.0.into_iter().map(|own| own.medium).collect()
    }
}

/// Shear and bulk modulus of a law.
pub(super) fn moduli(law: &Law) -> [f64; 2] {
    match law {
        Law::Isotropic { lambda, mu } => [*mu, lambda + 2.0 / 3.0 * mu],
        Law::Fluid(modulus) => [0.0, *modulus],
        Law::Anisotropic(c) => {
            let (a, b) = (c[0][0] + c[1][1] + c[2][2], c[0][1] + c[0][2] + c[1][2]);
            let shear = c[3][3] + c[4][4] + c[5][5];
            [(a - b + 3.0 * shear) / 15.0, (a + 2.0 * b) / 9.0]
        }
    }
}

impl<const D: usize> Setup<'_, D> {
    /// The media at the points of an element.
    pub(super) fn contents(&self, element: usize, table: &Tabulated<D>) -> Contents {
        let positions = || table.positions(&self.mesh.coordinates(element));
        match self.points {
            None => Contents(vec![self.of_region(element)]),
            Some(_) => self.contents_at(element, &positions()),
        }
    }

    fn contents_at(&self, element: usize, positions: &[[f64; D]]) -> Contents {
        let region = self.mesh.regions()[element] as usize;
        let of_points = self
            .points
            .and_then(|points| points.of_element(element, region, positions));
        let Some(mut points) = of_points.filter(|points| !points.is_empty()) else {
            return Contents(vec![self.of_region(element)]);
        };
        let loss = self.loss_of_region(region);
        points.iter_mut().for_each(|own| own.loss = own.loss.or(loss));
        Contents(points)
    }

    fn of_region(&self, element: usize) -> PointMedium {
        let region = self.mesh.regions()[element] as usize;
        PointMedium {
            medium: self.media[region].clone(),
            speeds: self.speeds[region],
            loss: self.loss_of_region(region),
        }
    }

    fn loss_of_region(&self, region: usize) -> Option<Loss> {
        let loss = |all: super::Attenuation<'_>| Loss {
            factors: all.regions[region].factors,
            shares: [1.0; 2],
            slopes: None,
        };
        self.relaxations.map(loss)
    }

    /// The slowest speed in every element, m/s: the S speed, or the P speed in fluids.
    pub fn slowest(&self) -> Vec<f64> {
        let table = Tabulated::new(self.mesh.order(), self.basis);
        let slowest = |element: usize| {
            let points = self.contents(element, &table).0;
            let speeds = points.iter().map(|p| {
                if p.speeds[1] > 0.0 {
                    p.speeds[1]
                } else {
                    p.speeds[0]
                }
            });
            speeds.fold(f64::INFINITY, f64::min)
        };
        (0..self.mesh.len()).into_par_iter().map(slowest).collect()
    }

    /// The largest stable step of the run, from the constants of the points with unrelaxed moduli.
    pub fn bound(&self) -> Bound {
        let unrelaxed =
            |element: usize, positions: &[[f64; D]]| self.contents_at(element, positions).unrelaxed();
        if self.points.is_some() {
            return self.smaller_in_layers(step::bound(self.mesh, self.basis, Media::Points(&unrelaxed)));
        }
        let region = |(region, medium): (usize, &Medium)| {
            let own = PointMedium {
                medium: medium.clone(),
                speeds: self.speeds[region],
                loss: self.loss_of_region(region),
            };
            Contents(vec![own]).unrelaxed().remove(0)
        };
        let media: Vec<Medium> = self.media.iter().enumerate().map(region).collect();
        self.smaller_in_layers(step::bound(self.mesh, self.basis, &media))
    }

    fn smaller_in_layers(&self, mut bound: Bound) -> Bound {
        let table = Tabulated::new(self.mesh.order(), self.basis);
        let Some(filters) = Filters::new(self, &table) else {
            return bound;
        };
        let damped = (0..self.mesh.len()).filter(|element| self.damped_axes(*element) != 0);
        for element in damped {
            let step = filters.smaller(self, element, bound.each[element]);
            bound.each[element] = step;
            if step < bound.limit {
                (bound.limit, bound.element) = (step, element);
            }
        }
        bound
    }
}
