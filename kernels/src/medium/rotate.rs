//! Exact rotation of a stiffness tensor, and a test whether a rotated stiffness can be represented by a solver's
//! coefficients.
//!
//! Convention: the medium is tilted by `nu` about y, then rotated by `alpha` about z (both in degrees), so that its
//! z axis ends up along `(-sin nu cos alpha, -sin nu sin alpha, cos nu)` in the axes (x, y, z).

use super::Stiffness;
use super::voigt::{Coefficients, Pair};

/// A full symmetric stiffness in Voigt order (11, 22, 33, 23, 13, 12), `c[i][j]` with i, j = 0..6.
pub type Voigt = [[f64; 6]; 6];

/// A rotated stiffness is accepted if each omitted coefficient is below this fraction of the largest coefficient.
pub const LOSS_ALLOWED: f64 = 1e-6;

/// The loss of the largest coefficient for which a file with this number of planes has no plane.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "the rotated stiffness does not fit {planes} planes: {name} = {value:.6e} is {:.3} % of the largest coefficient \
     (at most {:.0e} of it may be lost)", 100.0 * share, LOSS_ALLOWED
)]
pub struct Lost {
    /// Name of the coefficient, such as `c15`.
    pub name: String,
    /// Its value, in the unit of the coefficients.
    pub value: f64,
    /// Its magnitude as a fraction of the largest coefficient.
    pub share: f64,
    /// The number of planes of the file.
    pub planes: usize,
}

/// The coefficients that a model of this kind does not contain although they affect the displacements that it computes;
/// in 2-D these include the coupling of the x-z plane with u_y.
fn missing(ndim: usize, kind: Coefficients) -> impl Iterator<Item = Pair> {
    let held = kind.table(ndim).pairs;
    let moved = move |i: usize| ndim == 3 || matches!(i, 1 | 3 | 5);
    // In 2-D c44, c46 and c66 act only on u_y, and c12, c22 and c23 only on a strain that is zero.
    let matters = move |(i, j): Pair| match (moved(i), moved(j)) {
        (true, true) => true,
        (false, false) => false,
        _ => i != 2 && j != 2,
    };
    let upper = (1..=6).flat_map(|i| (i..=6).map(move |j| (i, j)));
    upper.filter(move |pair| matters(*pair) && !held.contains(pair))
}

impl Stiffness {
    /// The full matrix, with zeros for the coefficients that an orthorhombic medium does not have.
    pub fn voigt(&self) -> Voigt {
        matrix(3, &self.planes())
    }

    /// Keeps the nine orthorhombic coefficients of `c` and drops the others; see [`lost`].
    pub fn kept(c: &Voigt) -> Self {
        let table = Coefficients::Orthorhombic.table(3);
        Self::from_planes(std::array::from_fn(|k| entry(c, table.pairs[k])))
    }
}

/// A coefficient of a full matrix.
pub fn entry(c: &Voigt, (i, j): Pair) -> f64 {
    c[i - 1][j - 1]
}

/// The symmetric matrix of coefficients that are given in memory order; missing coefficients are zero.
pub fn matrix(ndim: usize, values: &[f64]) -> Voigt {
    let table = Coefficients::All.table(ndim);
    let mut c = [[0.0; 6]; 6];
    for (&(i, j), &value) in table.pairs.iter().zip(values) {
        (c[i - 1][j - 1], c[j - 1][i - 1]) = (value, value);
    }
    c
}

/// The largest coefficient of `c` that a model in `ndim` (2: x-z, or 3) dimensions with these coefficients does not
/// contain, whether it may be neglected ([`LOSS_ALLOWED`]) or not; `None` if the model contains all.
pub fn lost(c: &Voigt, ndim: usize, kind: Coefficients) -> Option<Lost> {
    let largest = c.iter().flatten().fold(0.0f64, |m, v| m.max(v.abs()));
    let magnitude = |pair: &Pair| entry(c, *pair).abs();
    let (i, j) = missing(ndim, kind).max_by(|a, b| magnitude(a).total_cmp(&magnitude(b)))?;
    let value = entry(c, (i, j));
    Some(Lost {
        name: format!("c{i}{j}"),
        value,
        share: value.abs() / largest,
        planes: kind.count(ndim),
    })
}

/// The orthorhombic part of `c`, if the other coefficients that matter in `ndim` dimensions may be neglected.
///
/// # Errors
/// Returns [`Lost`] if a coefficient that is not held reaches [`LOSS_ALLOWED`] of the largest.
pub fn fitted(c: &Voigt, ndim: usize) -> Result<Stiffness, Lost> {
    match lost(c, ndim, Coefficients::Orthorhombic) {
        Some(loss) if loss.share >= LOSS_ALLOWED => Err(loss),
        _ => Ok(Stiffness::kept(c)),
    }
}

/// The rotation of the module documentation as a matrix that acts on (x, y, z); angles in degrees.
pub fn rotation(nu: f64, alpha: f64) -> [[f64; 3]; 3] {
    let (sn, cn) = nu.to_radians().sin_cos();
    let (sa, ca) = alpha.to_radians().sin_cos();
    [[ca * cn, -sa, -ca * sn], [sa * cn, ca, -sa * sn], [sn, 0.0, cn]]
}

/// The stiffness of a medium after rotation by `r` (Bond 1943: `C' = M C M^T`).
pub fn rotated(c: &Voigt, r: &[[f64; 3]; 3]) -> Voigt {
    let m = bond(r);
    let mut half = [[0.0; 6]; 6];
    let mut full = [[0.0; 6]; 6];
    for i in 0..6 {
        for j in 0..6 {
            half[i][j] = (0..6).map(|k| m[i][k] * c[k][j]).sum();
        }
    }
    for i in 0..6 {
        for j in i..6 {
            let v = (0..6).map(|k| half[i][k] * m[j][k]).sum();
            (full[i][j], full[j][i]) = (v, v);
        }
    }
    full
}

/// The Bond matrix of a rotation, which acts on the six stresses.
fn bond(r: &[[f64; 3]; 3]) -> Voigt {
    let mut m = [[0.0; 6]; 6];
    for i in 0..3 {
        let (i1, i2) = ((i + 1) % 3, (i + 2) % 3);
        for j in 0..3 {
            let (j1, j2) = ((j + 1) % 3, (j + 2) % 3);
            m[i][j] = r[i][j] * r[i][j];
            m[i][j + 3] = 2.0 * r[i][j1] * r[i][j2];
            m[i + 3][j] = r[i1][j] * r[i2][j];
            m[i + 3][j + 3] = r[i1][j1] * r[i2][j2] + r[i1][j2] * r[i2][j1];
        }
    }
    m
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::medium::{Speeds, Thomsen, Tsvankin};

    const SPEEDS: Speeds = Speeds {
        vp: 3.0,
        vs: 1.6,
        rho: 2.2,
    };
    const WEAK: Thomsen = Thomsen {
        epsilon: 0.2,
        delta: -0.1,
        gamma: 0.15,
    };
    const PAIRS: [(usize, usize); 6] = [(0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1)];

    fn index(i: usize, j: usize) -> usize {
        if i == j { i } else { 6 - i - j }
    }

    /// The definition: c'_ijkl = r_ia r_jb r_kc r_ld c_abcd.
    fn by_tensor(c: &Voigt, r: &[[f64; 3]; 3]) -> Voigt {
        let mut out = [[0.0; 6]; 6];
        for (p, &(i, j)) in PAIRS.iter().enumerate() {
            for (q, &(k, l)) in PAIRS.iter().enumerate() {
                for n in 0..81 {
                    let [a, b, e, d] = [n % 3, n / 3 % 3, n / 9 % 3, n / 27];
                    out[p][q] += r[i][a] * r[j][b] * r[k][e] * r[l][d] * c[index(a, b)][index(e, d)];
                }
            }
        }
        out
    }

    fn orthorhombic() -> Voigt {
        let t = Tsvankin {
            eps1: 0.1,
            eps2: 0.2,
            del1: 0.05,
            del2: -0.1,
            del3: 0.07,
            gam1: 0.12,
            gam2: -0.06,
        };
        Stiffness::orthorhombic(SPEEDS, t).unwrap().voigt()
    }

    #[test]
    fn bond_is_the_tensor_rotation() {
        let c = orthorhombic();
        for (nu, alpha) in [
            (0.0, 0.0),
            (25.0, 0.0),
            (-71.0, 33.0),
            (90.0, 45.0),
            (13.0, 200.0),
        ] {
            let r = rotation(nu, alpha);
            let (fast, slow) = (rotated(&c, &r), by_tensor(&c, &r));
            for (f, s) in fast.iter().flatten().zip(slow.iter().flatten()) {
                assert!((f - s).abs() < 1e-12, "{nu} {alpha}: {f} {s}");
            }
        }
    }

    #[test]
    fn axis_goes_where_the_convention_has_it() {
        let (nu, alpha) = (30.0f64, 50.0f64);
        let r = rotation(nu, alpha);
        let (sn, cn) = nu.to_radians().sin_cos();
        let want = [-sn * alpha.to_radians().cos(), -sn * alpha.to_radians().sin(), cn];
        (0..3).for_each(|i| assert!((r[i][2] - want[i]).abs() < 1e-15));
    }

    #[test]
    fn quarter_turns_permute() {
        let vti = Stiffness::vti(SPEEDS, WEAK).unwrap();
        let turned = fitted(&rotated(&vti.voigt(), &rotation(90.0, 0.0)), 3).unwrap();
        let hti = Stiffness::hti_permuted(SPEEDS, WEAK).unwrap();
        turned
            .planes()
            .iter()
            .zip(hti.planes())
            .for_each(|(a, b)| assert!((a - b).abs() < 1e-12));
        assert!(fitted(&rotated(&vti.voigt(), &rotation(90.0, 90.0)), 2).is_ok());
        assert!(fitted(&rotated(&vti.voigt(), &rotation(0.0, 37.0)), 3).is_ok());
        assert!(
            fitted(
                &rotated(&Stiffness::isotropic(SPEEDS).voigt(), &rotation(20.0, 37.0)),
                3
            )
            .is_ok()
        );
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let vti = Stiffness::vti(SPEEDS, WEAK).unwrap().voigt();
        let tilted = rotated(&vti, &rotation(30.0, 0.0));
        let loss = fitted(&tilted, 2).unwrap_err();
        assert_eq!((loss.name.as_str(), loss.planes), ("c15", 4));
        assert!(loss.share > 0.05 && loss.to_string().contains("does not fit 4 planes"));
        let side = rotated(&vti, &rotation(40.0, 90.0));
        assert_eq!(fitted(&side, 3).unwrap_err().name, "c14".to_string());
        // Tilted about x: the x-z plane is not a symmetry plane although c15 = c35 = 0.
        assert!(fitted(&side, 2).is_err());
        // An HTI medium rotated in azimuth has c16 and c26, which are not held in 3-D.
        let hti = rotated(&vti, &rotation(90.0, 20.0));
        assert_eq!(fitted(&hti, 3).unwrap_err().name, "c26".to_string());
    }
}
