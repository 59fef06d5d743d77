//! The parameters of a medium, and the relations between small changes of them.

use super::super::Setup;
use super::super::assembly::triangle;
use super::super::media::{Contents, Loss, LossSlopes, moduli};
use crate::mesh::geometry::Tabulated;
use crate::mesh::step::Law;
use rayon::prelude::*;

/// The parameters with respect to which a gradient is computed, or which a linearised run perturbs. Each is varied
/// while the others of its set are constant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parameters {
    /// P speed (m/s), S speed (m/s), density (kg/m3).
    #[default]
    Speeds,
    /// Lame's constants lambda and mu (Pa), density.
    Lame,
    /// P impedance, S impedance (kg/(m2 s)), density.
    Impedances,
    /// P speed, S speed, density, and one over the quality factors of P and S. At points without loss the latter have
    /// no derivative.
    SpeedsAndLosses,
    /// The constants of Voigt's matrix (Pa), row by row of its upper triangle, and density. In 2-D only the constants
    /// of x and z are used. A fluid's bulk modulus is the mean of the nine constants of its normal strains.
    Constants,
}

impl Parameters {
    /// Number of parameters per point.
    pub fn count(self) -> usize {
        match self {
            Self::Constants => 22,
            Self::SpeedsAndLosses => 5,
            _ => 3,
        }
    }

    /// The index within [`Parameters::Constants`] of a constant of Voigt's matrix; row and column count from 0, and
    /// the column is not before the row.
    pub fn constant(row: usize, column: usize) -> usize {
        triangle(row, column)
    }

    /// Converts derivatives with respect to P speed, S speed and density to derivatives with respect to these
    /// parameters, in a medium with these speeds and density.
    pub(super) fn transposed(self, [p, s, r]: [f64; 3], [vp, vs, density]: [f64; 3]) -> [f64; 3] {
        match self {
            // vp = sqrt((lambda + 2 mu)/rho), vs = sqrt(mu/rho)
            Self::Lame | Self::Constants => {
                let by_p = p / (2.0 * density * vp);
                // Fluids have no S waves, and the derivative with respect to their shear modulus is zero.
                if vs == 0.0 {
                    return [by_p, 0.0, r - p * vp / (2.0 * density)];
                }
                let by_s = s / (2.0 * density * vs);
                [by_p, 2.0 * by_p + by_s, r - (p * vp + s * vs) / (2.0 * density)]
            }
            // vp = ip/rho, vs = is/rho
            Self::Impedances => [p / density, s / density, r - (p * vp + s * vs) / density],
            Self::Speeds | Self::SpeedsAndLosses => [p, s, r],
        }
    }

    /// Converts small changes of these parameters to changes of P speed, S speed and density: the transpose of
    /// [`Parameters::transposed`].
    pub(super) fn to_speeds(self, [a, b, r]: [f64; 3], [vp, vs, density]: [f64; 3]) -> [f64; 3] {
        match self {
            Self::Lame | Self::Constants if vs == 0.0 => {
                [a / (2.0 * density * vp) - vp * r / (2.0 * density), 0.0, r]
            }
            Self::Lame | Self::Constants => [
                (a + 2.0 * b) / (2.0 * density * vp) - vp * r / (2.0 * density),
                b / (2.0 * density * vs) - vs * r / (2.0 * density),
                r,
            ],
            Self::Impedances => [(a - vp * r) / density, (b - vs * r) / density, r],
            Self::Speeds | Self::SpeedsAndLosses => [a, b, r],
        }
    }
}

/// The derivatives of the Voigt means of the bulk and of the shear modulus with respect to the constants. In 2-D the
/// table of x and z is completed as in models on grids.
pub(super) fn means<const D: usize>() -> [[f64; 21]; 2] {
    let mut slopes = [[0.0; 21]; 2];
    let mut set = |(row, column): (usize, usize), bulk: f64, shear: f64| {
        let at = triangle(row, column);
        (slopes[0][at], slopes[1][at]) = (bulk / 9.0, shear / 15.0);
    };
    if D == 2 {
        [(0, 0), (2, 2)].into_iter().for_each(|at| set(at, 1.5, 1.5));
        set((0, 2), 6.0, -3.0);
        set((4, 4), 0.0, 9.0);
        return slopes;
    }
    for k in 0..3 {
        set((k, k), 1.0, 1.0);
        set((k + 3, k + 3), 0.0, 3.0);
    }
    [(0, 1), (0, 2), (1, 2)]
        .into_iter()
        .for_each(|at| set(at, 2.0, -1.0));
    slopes
}

/// The derivatives of the P and the S impedance, for absorbing faces and the sponge, with respect to the 21 constants,
/// then to density. The speeds of regions with tables are given separately and are constant; models on grids have the
/// speeds of the Voigt means.
pub(super) fn impedances<const D: usize>(on_a_grid: bool, [vp, vs, _]: [f64; 3]) -> [[f64; 22]; 2] {
    let mut slopes = [[0.0; 22]; 2];
    (slopes[0][21], slopes[1][21]) = (vp, vs);
    if on_a_grid {
        let [bulk, shear] = means::<D>();
        for k in 0..21 {
            // rho vp = sqrt(rho P) with the P-wave modulus P, and likewise for S.
            slopes[0][k] = (bulk[k] + 4.0 / 3.0 * shear[k]) / (2.0 * vp);
            slopes[1][k] = shear[k] / (2.0 * vs);
        }
        (slopes[0][21], slopes[1][21]) = (vp / 2.0, vs / 2.0);
    }
    slopes
}

/// The dependence of the memory variables' contributions on the constants of a point: the moduli that are factors of
/// them are the Voigt means. Constants describe the unrelaxed medium, as in a table.
pub(super) struct LossMeans {
    /// Derivatives of the logarithms of the bulk and of the shear modulus with respect to the constants.
    slopes: [[f64; 21]; 2],
}

impl LossMeans {
    /// The derivatives at a point of an element.
    pub(super) fn of<const D: usize>(setup: &Setup<D>, (contents, point): (&Contents, usize)) -> Self {
        let law = &contents.medium(point).law;
        let [shear, bulk] = match law {
            // Tables are not scaled.
            Law::Anisotropic(_) => moduli(law),
            _ => contents.moduli(point),
        };
        // A table of a region has all constants, even in 2-D.
        let mut slopes = match setup.points {
            Some(_) => means::<D>(),
            None => means::<3>(),
        };
        slopes[0].iter_mut().for_each(|slope| *slope /= bulk);
        slopes[1].iter_mut().for_each(|slope| *slope /= shear);
        Self { slopes }
    }

    /// The changes of both logarithms for a change of the constants.
    pub(super) fn changes(&self, by_constants: &[f64]) -> [f64; 2] {
        self.slopes
            .map(|slopes| slopes.iter().zip(by_constants).map(|(slope, x)| slope * x).sum())
    }

    /// Adds the derivatives of the memory variables' contributions with respect to the constants, computed from the
    /// derivatives with respect to both logarithms: the products with the contribution to each normal stress, and twice
    /// the products with the deviator.
    pub(super) fn add_transposed(&self, taken: [f64; 2], own: &mut [f64]) {
        for (k, own) in own.iter_mut().enumerate().take(21) {
            *own += taken[0] * self.slopes[0][k] + 0.5 * taken[1] * self.slopes[1][k];
        }
    }
}

/// The dependence of the quality factors of the shear and bulk moduli on the quality factors of P and S and on the
/// speeds: derivatives of the inverse quality factors of the moduli with respect to the inverse quality factors of P
/// and S and to the share of the shear modulus in the loss of P, `4/3 (vs/vp)^2`.
pub(super) struct LossChain {
    slopes: LossSlopes,
    /// The ratios of the unrelaxed shear and bulk modulus to the given ones, and the shares of their mechanisms.
    loss: Loss,
    shear: f64,
    speeds: [f64; 2],
}

impl LossChain {
    /// The dependence at a point with these speeds; `None` if the point has the loss of its region.
    pub(super) fn of(loss: Option<&Loss>, [vp, vs, _]: [f64; 3]) -> Option<Self> {
        let loss = loss?;
        Some(Self {
            slopes: loss.slopes?,
            loss: *loss,
            shear: 4.0 / 3.0 * (vs / vp).powi(2),
            speeds: [vp, vs],
        })
    }

    /// Converts derivatives with respect to the factors and to the logarithms of the shares, of the shear and bulk
    /// moduli, to derivatives with respect to `[vp, vs]` and to the inverse quality factors of P and S.
    pub(super) fn transposed(&self, factors: [f64; 2], shares: [f64; 2]) -> [[f64; 2]; 2] {
        let by: [f64; 2] = std::array::from_fn(|k| {
            let [factor, share] = self.slopes.by_modulus[k];
            factors[k] * factor + shares[k] * over(share, self.loss.shares[k])
        });
        let ([p, s], rest) = (self.slopes.inverse, 1.0 - self.shear);
        let by_shear = by[1] * (p - s) / (rest * rest);
        [
            [
                -2.0 * by_shear * self.shear / self.speeds[0],
                2.0 * by_shear * self.shear / self.speeds[1],
            ],
            [by[1] / rest, by[0] - by[1] * self.shear / rest],
        ]
    }

    /// Converts changes of `[vp, vs]` and of the inverse quality factors to changes of the factors and of the
    /// logarithms of the shares.
    pub(super) fn changes(&self, speeds: [f64; 2], inverse: [f64; 2]) -> [[f64; 2]; 2] {
        let ([p, s], rest) = (self.slopes.inverse, 1.0 - self.shear);
        let of_shear = 2.0 * self.shear * (speeds[1] / self.speeds[1] - speeds[0] / self.speeds[0]);
        let of_bulk = (inverse[0] - self.shear * inverse[1]) / rest + of_shear * (p - s) / (rest * rest);
        let own = [inverse[1], of_bulk];
        let factor = |k: usize| own[k] * self.slopes.by_modulus[k][0];
        let share = |k: usize| own[k] * over(self.slopes.by_modulus[k][1], self.loss.shares[k]);
        [std::array::from_fn(factor), std::array::from_fn(share)]
    }
}

/// The logarithmic derivative `slope / of`; zero if `of` is.
fn over(slope: f64, of: f64) -> f64 {
    if of > 0.0 { slope / of } else { 0.0 }
}

/// The change of an impedance by changes of constants and density, from the slopes of [`impedances`].
pub(super) fn dot(slopes: &[f64; 22], change: &[f64]) -> f64 {
    slopes.iter().zip(change).map(|(slope, x)| slope * x).sum()
}

/// P speed, S speed (m/s) and density (kg/m3) of a point of an element.
pub(super) fn medium_of(contents: &Contents, point: usize) -> [f64; 3] {
    let [vp, vs] = contents.speeds(point);
    [vp, vs, contents.medium(point).density]
}

/// P speed, S speed and density of all points of an element.
pub(super) fn media_of(contents: &Contents, points: usize) -> Vec<[f64; 3]> {
    (0..points).map(|point| medium_of(contents, point)).collect()
}

/// P speed, S speed and density of the points of all elements: `[element * points + point]`.
pub(super) fn media<const D: usize>(setup: &Setup<D>, table: &Tabulated<D>) -> Vec<[f64; 3]> {
    let of_element = |element: usize| media_of(&setup.contents(element, table), table.points());
    (0..setup.mesh.len())
        .into_par_iter()
        .flat_map_iter(of_element)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::grid_model::complete;
    use super::super::super::media::moduli;
    use super::{impedances, means};
    use crate::mesh::step::Law;

    /// The shear and the bulk modulus that a model on a grid assigns to a point with these constants.
    fn of_table<const D: usize>(constants: &[f64]) -> [f64; 2] {
        let mut table = [[0.0; 6]; 6];
        let pairs = (0..6).flat_map(|i| (i..6).map(move |j| (i, j)));
        for ((i, j), c) in pairs.zip(constants) {
            (table[i][j], table[j][i]) = (*c, *c);
        }
        if D == 2 {
            complete(&mut table);
        }
        moduli(&Law::Anisotropic(Box::new(table)))
    }

    /// Moduli are linear in the constants; the derivatives of impedances are compared with central differences.
    fn slopes<const D: usize>() {
        let [bulk, shear] = means::<D>();
        for k in 0..21 {
            let mut one = [0.0; 21];
            one[k] = 1.0;
            let [mu, kappa] = of_table::<D>(&one);
            assert!(
                (mu - shear[k]).abs() < 1e-15 && (kappa - bulk[k]).abs() < 1e-15,
                "{D}-D {k}"
            );
        }
        // The numbers of a rock are 21 constants followed by the density.
        let mut rock = vec![0.0; 22];
        for (at, c) in [(0, 9.0), (1, 3.0), (2, 2.5), (6, 9.5), (7, 2.8), (11, 8.0)] {
            rock[at] = c;
        }
        for (at, c) in [(15, 2.9), (18, 3.1), (20, 3.3), (21, 2.2)] {
            rock[at] = c;
        }
        let of = |rock: &[f64]| {
            let [mu, kappa] = of_table::<D>(&rock[..21]);
            [kappa + 4.0 / 3.0 * mu, mu].map(|modulus| (rock[21] * modulus).sqrt())
        };
        let [ip, is] = of(&rock);
        let derivatives = impedances::<D>(true, [ip / rock[21], is / rock[21], rock[21]]);
        for k in 0..22 {
            let changed = |by: f64| {
                let mut rock = rock.clone();
                rock[k] += by;
                of(&rock)
            };
            let (ahead, behind) = (changed(1e-4), changed(-1e-4));
            for wave in 0..2 {
                let difference = (ahead[wave] - behind[wave]) / 2e-4;
                assert!(
                    (derivatives[wave][k] - difference).abs() < 1e-8,
                    "{D}-D {k}: {} {difference}",
                    derivatives[wave][k]
                );
            }
        }
        // For tables of regions the speeds are given separately.
        let held = impedances::<D>(false, [2.0, 1.0, 3.0]);
        assert_eq!(held.map(|slopes| slopes[21]), [2.0, 1.0]);
        assert!(held.iter().all(|slopes| slopes[..21].iter().all(|x| *x == 0.0)));
    }

    #[test]
    fn slopes_by_constants_are_those_of_models_on_grids() {
        slopes::<2>();
        slopes::<3>();
    }
}
