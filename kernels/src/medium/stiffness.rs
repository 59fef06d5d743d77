//! The nine stiffness coefficients of a cell, their order in files, their symmetry class and their faults.
//!
//! Voigt numbers: 1 = x, 2 = y, 3 = z, 4 = yz, 5 = zx, 6 = xy; shear strains are engineering sums
//! (`e_zx = d_x u_z + d_z u_x`), so `s_zx = c55 e_zx`. Units: density times velocity squared of the inputs
//! (km/s and g/cm3 give GPa, m/s and kg/m3 give Pa); nothing here depends on the choice.

use super::eigen;

/// Names of the nine planes of a 3-D stiffness file, in file order.
pub const NAMES_3D: [&str; 9] = ["c11", "c22", "c33", "c44", "c55", "c66", "c12", "c13", "c23"];
/// Names of the four planes of a 2-D (x-z) stiffness file, in file order.
pub const NAMES_2D: [&str; 4] = ["c11", "c33", "c55", "c13"];

/// Two coefficients are one when they differ by no more than this share of the largest diagonal one: what
/// float32 arithmetic of a few steps leaves behind. The same share of a negative eigenvalue counts as zero.
pub const ROUNDING: f64 = 1e-6;

/// An orthorhombic elastic medium whose symmetry planes are the coordinate planes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)] // the fields are the Voigt coefficients of the module's head
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

/// The narrowest class that a medium belongs to. `Hti` has its axis along x; an axis along y is `Orthorhombic`.
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
}

impl Symmetry {
    /// All classes.
    pub const ALL: [Self; 4] = [Self::Isotropic, Self::Vti, Self::Hti, Self::Orthorhombic];

    /// The narrowest class that holds both.
    pub fn joined(self, other: Self) -> Self {
        match (self.holds(other), other.holds(self)) {
            (true, _) => self,
            (_, true) => other,
            _ => Self::Orthorhombic,
        }
    }

    /// Every medium of the class `other` also belongs to this one.
    pub fn holds(self, other: Self) -> bool {
        self == other || self == Self::Orthorhombic || other == Self::Isotropic
    }
}

impl std::fmt::Display for Symmetry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Isotropic => "isotropic",
            Self::Vti => "VTI",
            Self::Hti => "HTI (axis along x)",
            Self::Orthorhombic => "orthorhombic",
        })
    }
}

/// Why a cell is no elastic medium.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Fault {
    // Values are shown in float32, which is what files hold: more digits would be noise.
    /// A NaN or an infinity.
    #[error("{name} is {}, not a finite number", *.value as f32)]
    NotFinite {
        /// `c11` ... or `density`.
        name: &'static str,
        /// What was found.
        value: f64,
    },
    /// Density zero or below.
    #[error("the density is {}; it must be positive", *.0 as f32)]
    Density(f64),
    /// A coefficient of the diagonal below zero, or c11, c22, c33 equal to zero.
    #[error("{name} = {}; c11, c22 and c33 must be positive, c44, c55 and c66 positive or zero (fluid)", *.value as f32)]
    Negative {
        /// `c11` ...
        name: &'static str,
        /// What was found.
        value: f64,
    },
    /// The block of c11 ... c23 has a negative eigenvalue: some strain would release energy.
    #[error("the stiffness is not positive definite: the block of {block} has the eigenvalue {smallest:.6e}")]
    Indefinite {
        /// The coefficients of the block.
        block: &'static str,
        /// Its smallest eigenvalue, in the unit of the coefficients.
        smallest: f64,
    },
}

/// One plane, by its place in the file order, of isotropic cells by their speeds P and S; `values` holds their density
/// and becomes the plane. A negative speed makes a negative stiffness, so that the look at every cell finds it: its square
/// would hide it.
pub fn isotropic_plane(ndim: usize, plane: usize, [vp, vs]: [&[f32]; 2], values: &mut [f32]) {
    let (normal, shear) = if ndim == 3 { (0..3, 3..6) } else { (0..2, 2..3) };
    for ((value, &vp), &vs) in values.iter_mut().zip(vp).zip(vs) {
        let [rho, p, s] = [*value, vp, vs].map(f64::from);
        let (normal_stiffness, shear_stiffness) = (rho * p * p.abs(), rho * s * s.abs());
        *value = if normal.contains(&plane) {
            normal_stiffness
        } else if shear.contains(&plane) {
            shear_stiffness
        } else {
            rho * (p * p.abs() - 2.0 * s * s.abs())
        } as f32;
    }
}

impl Stiffness {
    /// From the nine planes of a 3-D file, in the order of [`NAMES_3D`].
    pub fn from_planes(c: [f64; 9]) -> Self {
        let [c11, c22, c33, c44, c55, c66, c12, c13, c23] = c;
        Self {
            c11,
            c22,
            c33,
            c44,
            c55,
            c66,
            c12,
            c13,
            c23,
        }
    }

    /// The nine planes of a 3-D file, in the order of [`NAMES_3D`].
    pub fn planes(&self) -> [f64; 9] {
        [
            self.c11, self.c22, self.c33, self.c44, self.c55, self.c66, self.c12, self.c13, self.c23,
        ]
    }

    /// From the four planes of a 2-D file, in the order of [`NAMES_2D`]: the VTI medium with them and c66 = c55.
    pub fn from_planes_2d(c: [f64; 4]) -> Self {
        let [c11, c33, c55, c13] = c;
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

    /// The four planes of a 2-D file, in the order of [`NAMES_2D`].
    pub fn planes_2d(&self) -> [f64; 4] {
        [self.c11, self.c33, self.c55, self.c13]
    }

    /// The narrowest symmetry class, coefficients compared within [`ROUNDING`] of the largest diagonal one.
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

    /// No shear stiffness: a fluid. In 2-D only c55 is asked.
    pub fn is_fluid(&self, ndim: usize) -> bool {
        self.c55 == 0.0 && (ndim == 2 || (self.c44 == 0.0 && self.c66 == 0.0))
    }

    /// What keeps this from being an elastic medium in `ndim` (2: the x-z plane, or 3) dimensions, if anything.
    /// Fluids and blocks semidefinite within [`ROUNDING`] pass.
    pub fn fault(&self, ndim: usize) -> Option<Fault> {
        if ndim == 2 {
            return Self::fault_2d(self.planes_2d());
        }
        if self.is_surely_sound() {
            return None;
        }
        let c = self.planes();
        first_bad(&NAMES_3D, &c).or_else(|| {
            let smallest = self.smallest_of_block();
            let allowed = -ROUNDING * self.c11.max(self.c22).max(self.c33);
            let block = "c11, c22, c33, c12, c13, c23";
            (smallest < allowed).then_some(Fault::Indefinite { block, smallest })
        })
    }

    fn fault_2d(c: [f64; 4]) -> Option<Fault> {
        first_bad(&NAMES_2D, &c).or_else(|| {
            let [_, smallest] = eigen::pair(c[0], c[1], c[3]);
            let block = "c11, c33, c13";
            (smallest < -ROUNDING * c[0].max(c[1])).then_some(Fault::Indefinite { block, smallest })
        })
    }

    /// Positive definite by Sylvester's criterion and finite: the cheap answer for nearly every cell.
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

/// The first coefficient that is not finite, or of the wrong sign.
fn first_bad(names: &[&'static str], c: &[f64]) -> Option<Fault> {
    let named = || names.iter().copied().zip(c.iter().copied());
    if let Some((name, value)) = named().find(|(_, v)| !v.is_finite()) {
        return Some(Fault::NotFinite { name, value });
    }
    let wrong = |name: &str, v: f64| match name {
        "c11" | "c22" | "c33" => v <= 0.0,
        "c44" | "c55" | "c66" => v < 0.0,
        _ => false,
    };
    named()
        .find(|&(name, v)| wrong(name, v))
        .map(|(name, value)| Fault::Negative { name, value })
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
        // vs between vp sqrt(3)/2 and vp: fine in 2-D, not in 3-D
        let stiff_shear = isotropic(1.0 - 2.0 * 0.81, 0.81);
        assert_eq!(stiff_shear.fault(2), None);
        assert!(text(stiff_shear, 3).contains("not positive definite"));
        // an eigenvalue of -1e-5 beside one of 1e-3: the determinant alone would hide it
        let sly = Stiffness {
            c12: 1.0 - 1e-3,
            c13: 1.0,
            c23: 1.0,
            ..isotropic(1.0, 0.0)
        };
        assert!(sly.fault(3).is_some());
    }
}
