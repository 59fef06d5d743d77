//! The nine stiffness coefficients of an orthorhombic cell, symmetry classes, and the checks of a cell.
//!
//! Voigt numbers: 1 = x, 2 = y, 3 = z, 4 = yz, 5 = zx, 6 = xy; shear strains are engineering sums
//! (`e_zx = d_x u_z + d_z u_x`), so `s_zx = c55 e_zx`. Units: density times velocity squared of the inputs
//! (km/s and g/cm3 give GPa, m/s and kg/m3 give Pa); no function of this module depends on the choice.

use super::eigen;
use super::voigt::{Coefficients, Pair, slot};

/// Two coefficients count as equal if they differ by no more than this fraction of the largest normal stiffness,
/// which allows for the rounding errors of a few operations in float32. Negative eigenvalues down to this fraction
/// count as zero.
pub const ROUNDING: f64 = 1e-6;

/// An orthorhombic elastic medium whose symmetry planes are the coordinate planes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)] // the fields are the Voigt coefficients of the module documentation
pub struct Stiffness {
    pub c11: f64,
    pub c22: f64,
    pub c33: f64,
    pub c44: f64,
    pub c55: f64,
    pub c66: f64,
    pub c12: f64,
    pub c13: f64,
    pub c23: f64,
}

/// Symmetry class of a medium. `Hti` has its axis along x; a medium with its axis along y is `Orthorhombic`. Media
/// whose symmetry planes are not the coordinate planes, such as tilted ones, are `Triclinic`, even if they have a
/// higher symmetry in rotated axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symmetry {
    /// Two coefficients.
    Isotropic,
    /// Transversely isotropic, axis along z.
    Vti,
    /// Transversely isotropic, axis along x.
    Hti,
    /// Nine coefficients.
    Orthorhombic,
    /// 21 coefficients; in 2-D six.
    Triclinic,
}

impl Symmetry {
    /// All classes.
    pub const ALL: [Self; 5] = [
        Self::Isotropic,
        Self::Vti,
        Self::Hti,
        Self::Orthorhombic,
        Self::Triclinic,
    ];

    /// The coefficients that media of this class need.
    pub fn coefficients(self) -> Coefficients {
        match self {
            Self::Triclinic => Coefficients::All,
            _ => Coefficients::Orthorhombic,
        }
    }

    /// The class of all media with these coefficients.
    pub fn widest(coefficients: Coefficients) -> Self {
        match coefficients {
            Coefficients::Orthorhombic => Self::Orthorhombic,
            Coefficients::All => Self::Triclinic,
        }
    }

    /// The narrowest class that contains both classes.
    pub fn joined(self, other: Self) -> Self {
        match (self.holds(other), other.holds(self)) {
            (true, _) => self,
            (_, true) => other,
            _ => Self::Orthorhombic,
        }
    }

    /// Whether every medium of the class `other` also belongs to this class.
    pub fn holds(self, other: Self) -> bool {
        self == other
            || self == Self::Triclinic
            || other == Self::Isotropic
            || (self == Self::Orthorhombic && other != Self::Triclinic)
    }
}

impl std::fmt::Display for Symmetry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Isotropic => "isotropic",
            Self::Vti => "VTI",
            Self::Hti => "HTI (axis along x)",
            Self::Orthorhombic => "orthorhombic",
            Self::Triclinic => "triclinic",
        })
    }
}

/// The reason why a cell is not a stable elastic medium.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Fault {
    // Values are shown in float32, the precision of files: more digits would be noise.
    /// A value is NaN or infinite.
    #[error("{name} is {}, not a finite number", *.value as f32)]
    NotFinite {
        /// The name, such as `c11` or `density`.
        name: &'static str,
        /// The value that was given.
        value: f64,
    },
    /// The density is zero or negative.
    #[error("the density is {}; it must be positive", *.0 as f32)]
    Density(f64),
    /// A diagonal coefficient is negative, or one of c11, c22, c33 is zero.
    #[error("{name} = {}; c11, c22 and c33 must be positive, c44, c55 and c66 positive or zero (fluid)", *.value as f32)]
    Negative {
        /// Name of the coefficient, such as `c11`.
        name: &'static str,
        /// The value that was given.
        value: f64,
    },
    /// A block of the matrix has a negative eigenvalue, so that some strain would have negative energy.
    #[error("the stiffness is not positive definite: the block of {block} has the eigenvalue {smallest:.6e}")]
    Indefinite {
        /// The coefficients of the block.
        block: &'static str,
        /// Its smallest eigenvalue, in the unit of the coefficients.
        smallest: f64,
    },
}

/// Computes one stiffness array, given by its index in memory order, of isotropic cells from their P and S speeds.
/// `values` holds the density and is overwritten with the result. Negative speeds yield negative stiffnesses, because
/// squaring would hide them from the check of every cell.
pub fn isotropic_plane(ndim: usize, place: usize, [vp, vs]: [&[f32]; 2], values: &mut [f32]) {
    let (i, j) = Coefficients::All.table(ndim).pairs[place];
    for ((value, &vp), &vs) in values.iter_mut().zip(vp).zip(vs) {
        let [rho, p, s] = [*value, vp, vs].map(f64::from);
        *value = match (i <= 3, j <= 3, i == j) {
            (true, _, true) => rho * p * p.abs(),
            (false, _, true) => rho * s * s.abs(),
            (true, true, _) => rho * (p * p.abs() - 2.0 * s * s.abs()),
            _ => 0.0,
        } as f32;
    }
}

impl Stiffness {
    /// Makes a medium from nine numbers in memory order ([`Coefficients::table`]), the order of a 3-D file of nine
    /// planes.
    pub fn from_planes(c: [f64; 9]) -> Self {
        let c = |i: usize, j: usize| c[slot(3, (i, j))];
        Self {
            c11: c(1, 1),
            c22: c(2, 2),
            c33: c(3, 3),
            c44: c(4, 4),
            c55: c(5, 5),
            c66: c(6, 6),
            c12: c(1, 2),
            c13: c(1, 3),
            c23: c(2, 3),
        }
    }

    /// The coefficient with these Voigt indices; zero if an orthorhombic medium does not have it.
    pub fn get(&self, pair: Pair) -> f64 {
        match pair {
            (1, 1) => self.c11,
            (2, 2) => self.c22,
            (3, 3) => self.c33,
            (4, 4) => self.c44,
            (5, 5) => self.c55,
            (6, 6) => self.c66,
            (1, 2) => self.c12,
            (1, 3) => self.c13,
            (2, 3) => self.c23,
            _ => 0.0,
        }
    }

    /// The nine coefficients in memory order, the order of a 3-D file of nine planes.
    pub fn planes(&self) -> [f64; 9] {
        let table = Coefficients::Orthorhombic.table(3);
        std::array::from_fn(|k| self.get(table.pairs[k]))
    }

    /// Makes a medium from four numbers in memory order, the order of a 2-D file of four planes: the VTI medium that
    /// has them and c66 = c55.
    pub fn from_planes_2d(c: [f64; 4]) -> Self {
        let [c11, c33, c55, c13] = [(1, 1), (3, 3), (5, 5), (1, 3)].map(|pair| c[slot(2, pair)]);
        Self {
            c11,
            c22: c11,
            c33,
            c44: c55,
            c55,
            c66: c55,
            c12: c11 - 2.0 * c55,
            c13,
            c23: c13,
        }
    }

    /// The four coefficients of 2-D in memory order, the order of a 2-D file of four planes.
    pub fn planes_2d(&self) -> [f64; 4] {
        let table = Coefficients::Orthorhombic.table(2);
        std::array::from_fn(|k| self.get(table.pairs[k]))
    }

    /// The narrowest symmetry class to which the medium belongs. Coefficients count as equal if they differ by at most
    /// [`ROUNDING`] times the largest normal stiffness.
    pub fn symmetry(&self) -> Symmetry {
        let s = self;
        let tolerance = ROUNDING * s.c11.max(s.c22).max(s.c33);
        let same = |pairs: [(f64, f64); 4]| pairs.iter().all(|(a, b)| (a - b).abs() <= tolerance);
        let vti = same([
            (s.c11, s.c22),
            (s.c44, s.c55),
            (s.c13, s.c23),
            (s.c12, s.c11 - 2.0 * s.c66),
        ]);
        let hti = same([
            (s.c22, s.c33),
            (s.c55, s.c66),
            (s.c12, s.c13),
            (s.c23, s.c33 - 2.0 * s.c44),
        ]);
        match (vti, hti) {
            (true, true) => Symmetry::Isotropic,
            (true, false) => Symmetry::Vti,
            (false, true) => Symmetry::Hti,
            (false, false) => Symmetry::Orthorhombic,
        }
    }

    /// Whether the medium is a fluid, which has no shear stiffness. In 2-D only c55 counts.
    pub fn is_fluid(&self, ndim: usize) -> bool {
        self.c55 == 0.0 && (ndim == 2 || (self.c44 == 0.0 && self.c66 == 0.0))
    }

    /// The reason why this is not a stable elastic medium in `ndim` (2: the x-z plane, or 3) dimensions, `None` if it
    /// is. Fluids pass, and so do blocks that are positive semidefinite to within [`ROUNDING`].
    pub fn fault(&self, ndim: usize) -> Option<Fault> {
        if ndim == 2 {
            return Self::fault_2d(self.planes_2d());
        }
        if self.is_surely_sound() {
            return None;
        }
        let c = self.planes();
        first_bad(3, &c).or_else(|| {
            let smallest = self.smallest_of_block();
            let allowed = -ROUNDING * self.c11.max(self.c22).max(self.c33);
            let block = "c11, c22, c33, c12, c13, c23";
            (smallest < allowed).then_some(Fault::Indefinite { block, smallest })
        })
    }

    fn fault_2d(c: [f64; 4]) -> Option<Fault> {
        first_bad(2, &c).or_else(|| {
            let [c11, c33, c13] = [(1, 1), (3, 3), (1, 3)].map(|pair| c[slot(2, pair)]);
            let [_, smallest] = eigen::pair(c11, c33, c13);
            let block = "c11, c33, c13";
            (smallest < -ROUNDING * c11.max(c33)).then_some(Fault::Indefinite { block, smallest })
        })
    }

    /// Whether all coefficients are finite and the matrix is positive definite by Sylvester's criterion, a cheap test
    /// that nearly every cell passes.
    fn is_surely_sound(&self) -> bool {
        let s = self;
        let minor = s.c11 * s.c22 - s.c12 * s.c12;
        let determinant =
            s.c33 * minor - s.c13 * (s.c13 * s.c22 - s.c12 * s.c23) - s.c23 * (s.c11 * s.c23 - s.c12 * s.c13);
        let positive = [s.c11, s.c44, s.c55, s.c66, minor, determinant];
        positive.iter().all(|v| *v > 0.0) && s.planes().iter().all(|v| v.is_finite())
    }

    fn smallest_of_block(&self) -> f64 {
        let s = self;
        eigen::triple(&[
            [s.c11, s.c12, s.c13],
            [s.c12, s.c22, s.c23],
            [s.c13, s.c23, s.c33],
        ])[2]
    }
}

/// The first coefficient (in memory order) that is not finite or, if all are finite, that has the wrong sign.
pub(super) fn first_bad(ndim: usize, c: &[f64]) -> Option<Fault> {
    let table = Coefficients::All.table(ndim);
    let each = || (0..).zip(c.iter().copied());
    if let Some((k, value)) = each().find(|(_, v)| !v.is_finite()) {
        let name = table.names[k];
        return Some(Fault::NotFinite { name, value });
    }
    let wrong = |k: usize, v: f64| match table.pairs[k] {
        (1..=3, j) if j == table.pairs[k].0 => v <= 0.0,
        (i, j) if i == j => v < 0.0,
        _ => false,
    };
    let negative: Option<(usize, f64)> = each().find(|&(k, v)| wrong(k, v));
    negative.map(|(k, value)| Fault::Negative {
        name: table.names[k],
        value,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn isotropic(lambda: f64, mu: f64) -> Stiffness {
        let p = lambda + 2.0 * mu;
        Stiffness::from_planes([p, p, p, mu, mu, mu, lambda, lambda, lambda])
    }

    #[test]
    fn planes_keep_their_order() {
        let c: [f64; 9] = std::array::from_fn(|i| i as f64);
        let s = Stiffness::from_planes(c);
        assert_eq!((s.c66, s.c12, s.c23), (5.0, 6.0, 8.0));
        assert_eq!(s.planes(), c);
        let flat = Stiffness::from_planes_2d([9.0, 8.0, 2.0, 3.0]);
        assert_eq!(flat.planes_2d(), [9.0, 8.0, 2.0, 3.0]);
        assert_eq!(flat.symmetry(), Symmetry::Vti);
    }

    #[test]
    fn classes() {
        let iso = isotropic(3.0, 2.0);
        assert_eq!(iso.symmetry(), Symmetry::Isotropic);
        let rounded = Stiffness {
            c13: iso.c13 * (1.0 + 3e-7),
            ..iso
        };
        assert_eq!(rounded.symmetry(), Symmetry::Isotropic);
        let vti = Stiffness { c33: 6.0, ..iso };
        assert_eq!(vti.symmetry(), Symmetry::Vti);
        assert_eq!(Stiffness { c11: 6.0, ..iso }.symmetry(), Symmetry::Hti);
        assert_eq!(Stiffness { c22: 6.0, ..iso }.symmetry(), Symmetry::Orthorhombic);
    }

    #[test]
    fn solids_and_fluids_pass() {
        for ndim in [2, 3] {
            assert_eq!(isotropic(3.0, 2.0).fault(ndim), None);
            assert_eq!(
                isotropic(-1.3, 2.0).fault(ndim),
                None,
                "negative lambda, positive bulk modulus"
            );
            let water = isotropic(2.25, 0.0);
            assert!(water.is_fluid(ndim));
            assert_eq!(water.fault(ndim), None);
            let rounded = Stiffness {
                c13: 2.25 * (1.0 + 2e-7),
                ..water
            };
            assert_eq!(rounded.fault(ndim), None);
        }
    }

    #[test]
    fn faults_are_named() {
        let good = isotropic(3.0, 2.0);
        let text = |s: Stiffness, ndim| s.fault(ndim).expect("a fault").to_string();
        assert!(
            text(
                Stiffness {
                    c23: f64::NAN,
                    ..good
                },
                3
            )
            .starts_with("c23 is NaN")
        );
        assert_eq!(
            Stiffness {
                c23: f64::NAN,
                ..good
            }
            .fault(2),
            None,
            "c23 has no part in 2-D"
        );
        assert!(text(Stiffness { c55: -1.0, ..good }, 2).starts_with("c55 = -1"));
        assert!(text(Stiffness { c33: 0.0, ..good }, 3).starts_with("c33 = 0"));
        assert!(text(Stiffness { c13: 7.1, ..good }, 2).contains("not positive definite"));
        // A medium with vs between vp sqrt(3)/2 and vp is stable in 2-D, but not in 3-D.
        let stiff_shear = isotropic(1.0 - 2.0 * 0.81, 0.81);
        assert_eq!(stiff_shear.fault(2), None);
        assert!(text(stiff_shear, 3).contains("not positive definite"));
        // This matrix is nearly singular with a negative eigenvalue, which a test of the determinant alone could miss.
        let sly = Stiffness {
            c12: 1.0 - 1e-3,
            c13: 1.0,
            c23: 1.0,
            ..isotropic(1.0, 0.0)
        };
        assert!(sly.fault(3).is_some());
    }
}
