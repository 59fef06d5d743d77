//! Stiffness from velocities, density and anisotropy parameters.
//!
//! | builder | parameters | source |
//! | --- | --- | --- |
//! | [`Stiffness::isotropic`] | vp, vs | |
//! | [`Stiffness::vti`] | vertical vp, vs; epsilon, delta (exact, not weak), gamma | Thomsen 1986 |
//! | [`Stiffness::hti_permuted`] | the same, all with respect to the symmetry axis x | Weiss & Shragge 2013 |
//! | [`Stiffness::hti_tsvankin`] | vertical vp, vs (shear along x); epsilon(V), delta(V), gamma(V) | Tsvankin 1997a, Rueger 1997 |
//! | [`Stiffness::orthorhombic`] | vertical vp, vs (shear along x); seven parameters | Tsvankin 1997b |

use super::Stiffness;

/// Velocities and density of a cell, in units of the user's choice (see [`super::stiffness`]).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speeds {
    /// P velocity along the reference axis: z, or x for [`Stiffness::hti_permuted`].
    pub vp: f64,
    /// S velocity along the reference axis, polarised along x where the two differ: `sqrt(c55 / rho)`.
    pub vs: f64,
    /// Density; together with the velocities it determines the unit of the stiffness, `rho v^2`.
    pub rho: f64,
}

/// The three anisotropy parameters of a transversely isotropic medium.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs)] // names as in the literature; each builder defines them
pub struct Thomsen {
    pub epsilon: f64,
    pub delta: f64,
    pub gamma: f64,
}

/// The seven anisotropy parameters of an orthorhombic medium. Number 1 belongs to the plane y-z, 2 to x-z, 3 to x-y.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs)] // names as in the literature; the builder defines them
pub struct Tsvankin {
    pub eps1: f64,
    pub eps2: f64,
    pub del1: f64,
    pub del2: f64,
    pub del3: f64,
    pub gam1: f64,
    pub gam2: f64,
}

/// The reason why no real stiffness has the given parameters.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Unreal {
    /// The square root of an off-diagonal coefficient has a negative argument.
    #[error(
        "{name} has no real value: 2 A (A - B) {delta_name} + (A - B)^2 = {radicand:.6e} with A = {along:.6e}, \
         B = {shear:.6e}, {delta_name} = {delta}; {delta_name} must be at least {least:.6}"
    )]
    Radicand {
        /// `c13`, `c23` or `c12`.
        name: &'static str,
        /// Name of the parameter delta.
        delta_name: &'static str,
        /// Its value.
        delta: f64,
        /// A: the P coefficient of the reference axis.
        along: f64,
        /// B: the shear coefficient of the plane.
        shear: f64,
        /// The negative argument of the square root.
        radicand: f64,
        /// The smallest delta with a real root.
        least: f64,
    },
    /// The divisor `1 + 2 gamma` is zero, negative or infinite.
    #[error(
        "{name} = {value} makes c44 = c66 / (1 + 2 {name}) zero, infinite or negative; it must be above -0.5"
    )]
    Gamma {
        /// Name of the parameter: `gamma(V)` or `gam2`.
        name: &'static str,
        /// The value that was given.
        value: f64,
    },
}

impl Speeds {
    fn p(&self) -> f64 {
        self.rho * self.vp * self.vp
    }

    fn s(&self) -> f64 {
        self.rho * self.vs * self.vs
    }
}

impl Stiffness {
    /// Isotropic: lambda = rho (vp^2 - 2 vs^2), mu = rho vs^2.
    pub fn isotropic(speeds: Speeds) -> Self {
        let (p, mu) = (speeds.p(), speeds.s());
        let lambda = p - 2.0 * mu;
        Self::from_planes([p, p, p, mu, mu, mu, lambda, lambda, lambda])
    }

    /// Transversely isotropic, axis along z: epsilon = (c11 - c33) / 2 c33, gamma = (c66 - c44) / 2 c44,
    /// delta = ((c13 + c44)^2 - (c33 - c44)^2) / 2 c33 (c33 - c44); vp and vs along z.
    ///
    /// # Errors
    /// Returns [`Unreal::Radicand`] for a delta without a real c13.
    pub fn vti(speeds: Speeds, t: Thomsen) -> Result<Self, Unreal> {
        let (c33, c55) = (speeds.p(), speeds.s());
        let c11 = c33 * (1.0 + 2.0 * t.epsilon);
        let c66 = c55 * (1.0 + 2.0 * t.gamma);
        let c13 = coupling(["c13", "delta"], c33, c55, t.delta)?;
        Ok(Self {
            c11,
            c22: c11,
            c33,
            c44: c55,
            c55,
            c66,
            c12: c11 - 2.0 * c66,
            c13,
            c23: c13,
        })
    }

    /// Transversely isotropic, axis along x, by exchanging x and z of [`Stiffness::vti`]: all of vp, vs, epsilon,
    /// delta, gamma refer to the axis, as in the HTI examples of Weiss & Shragge (2013).
    ///
    /// # Errors
    /// Returns the errors of [`Stiffness::vti`].
    pub fn hti_permuted(speeds: Speeds, t: Thomsen) -> Result<Self, Unreal> {
        let v = Self::vti(speeds, t)?;
        Ok(Self::from_planes([
            v.c33, v.c22, v.c11, v.c66, v.c55, v.c44, v.c23, v.c13, v.c12,
        ]))
    }

    /// Transversely isotropic, axis along x, from vertical velocities: vp = sqrt(c33 / rho), vs = sqrt(c55 / rho)
    /// (the vertical shear wave polarised along the axis), epsilon(V) = (c11 - c33) / 2 c33,
    /// delta(V) = ((c13 + c55)^2 - (c33 - c55)^2) / 2 c33 (c33 - c55), gamma(V) = (c66 - c44) / 2 c44.
    /// The shear-wave splitting parameter g = (c44 - c55) / 2 c55 gives gamma(V) = -g / (1 + 2 g).
    ///
    /// # Errors
    /// Returns [`Unreal::Radicand`] for a delta(V) without a real c13, or [`Unreal::Gamma`] for gamma(V) <= -0.5.
    pub fn hti_tsvankin(speeds: Speeds, t: Thomsen) -> Result<Self, Unreal> {
        let (c33, c55) = (speeds.p(), speeds.s());
        let c11 = c33 * (1.0 + 2.0 * t.epsilon);
        let c44 = divided("gamma(V)", c55, t.gamma)?;
        let c13 = coupling(["c13", "delta(V)"], c33, c55, t.delta)?;
        Ok(Self {
            c11,
            c22: c33,
            c33,
            c44,
            c55,
            c66: c55,
            c12: c13,
            c13,
            c23: c33 - 2.0 * c44,
        })
    }

    /// Orthorhombic (Tsvankin 1997b). The parameters eps2, del2, gam2 belong to the plane x-z, eps1, del1, gam1 to
    /// y-z, and del3 to x-y: c33 and c55 from vp and vs, c11 = c33 (1 + 2 eps2), c22 = c33 (1 + 2 eps1), c66 = c55 (1
    /// + 2 gam1), c44 = c66 / (1 + 2 gam2); c13, c23 and c12 from del2, del1 and del3.
    ///
    /// # Errors
    /// Returns [`Unreal::Radicand`] for a delta without a real coefficient, or [`Unreal::Gamma`] for gam2 <= -0.5.
    pub fn orthorhombic(speeds: Speeds, t: Tsvankin) -> Result<Self, Unreal> {
        let (c33, c55) = (speeds.p(), speeds.s());
        let c11 = c33 * (1.0 + 2.0 * t.eps2);
        let c22 = c33 * (1.0 + 2.0 * t.eps1);
        let c66 = c55 * (1.0 + 2.0 * t.gam1);
        let c44 = divided("gam2", c66, t.gam2)?;
        let c13 = coupling(["c13", "del2"], c33, c55, t.del2)?;
        let c23 = coupling(["c23", "del1"], c33, c44, t.del1)?;
        let c12 = coupling(["c12", "del3"], c11, c66, t.del3)?;
        Ok(Self {
            c11,
            c22,
            c33,
            c44,
            c55,
            c66,
            c12,
            c13,
            c23,
        })
    }
}

/// The off-diagonal coefficient that follows from the exact Thomsen delta, the P coefficient `along` and the shear
/// coefficient `shear`; NaN inputs give NaN, which the checks of the result report.
fn coupling(names: [&'static str; 2], along: f64, shear: f64, delta: f64) -> Result<f64, Unreal> {
    let gap = along - shear;
    let radicand = 2.0 * along * gap * delta + gap * gap;
    if radicand < 0.0 {
        let least = -gap / (2.0 * along);
        let [name, delta_name] = names;
        return Err(Unreal::Radicand {
            name,
            delta_name,
            delta,
            along,
            shear,
            radicand,
            least,
        });
    }
    Ok(radicand.sqrt() - shear)
}

fn divided(name: &'static str, c66: f64, gamma: f64) -> Result<f64, Unreal> {
    let divisor = 1.0 + 2.0 * gamma;
    if divisor <= 0.0 || divisor.is_infinite() {
        return Err(Unreal::Gamma { name, value: gamma });
    }
    Ok(c66 / divisor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::medium::Symmetry;

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

    fn assert_close(a: Stiffness, b: Stiffness) {
        a.planes()
            .iter()
            .zip(b.planes())
            .for_each(|(x, y)| assert!((x - y).abs() < 1e-12, "{a:?}\n{b:?}"));
    }

    fn delta(along: f64, shear: f64, off: f64) -> f64 {
        ((off + shear).powi(2) - (along - shear).powi(2)) / (2.0 * along * (along - shear))
    }

    #[test]
    fn parameters_come_back() {
        let c = Stiffness::vti(SPEEDS, WEAK).unwrap();
        assert_eq!(c.symmetry(), Symmetry::Vti);
        assert!((c.c33 - 2.2 * 9.0).abs() < 1e-12 && (c.c55 - 2.2 * 2.56).abs() < 1e-12);
        assert!(((c.c11 - c.c33) / (2.0 * c.c33) - 0.2).abs() < 1e-14);
        assert!(((c.c66 - c.c44) / (2.0 * c.c44) - 0.15).abs() < 1e-14);
        assert!((delta(c.c33, c.c44, c.c13) + 0.1).abs() < 1e-14);

        let h = Stiffness::hti_tsvankin(SPEEDS, WEAK).unwrap();
        assert_eq!(h.symmetry(), Symmetry::Hti);
        assert!(((h.c11 - h.c33) / (2.0 * h.c33) - 0.2).abs() < 1e-14);
        assert!(((h.c66 - h.c44) / (2.0 * h.c44) - 0.15).abs() < 1e-14);
        assert!((delta(h.c33, h.c55, h.c13) + 0.1).abs() < 1e-14);

        let t = Tsvankin {
            eps1: 0.1,
            eps2: 0.2,
            del1: 0.05,
            del2: -0.1,
            del3: 0.07,
            gam1: 0.12,
            gam2: -0.06,
        };
        let o = Stiffness::orthorhombic(SPEEDS, t).unwrap();
        assert_eq!(o.symmetry(), Symmetry::Orthorhombic);
        let back = [
            (o.c22 - o.c33) / (2.0 * o.c33),
            (o.c11 - o.c33) / (2.0 * o.c33),
            delta(o.c33, o.c44, o.c23),
            delta(o.c33, o.c55, o.c13),
            delta(o.c11, o.c66, o.c12),
            (o.c66 - o.c55) / (2.0 * o.c55),
            (o.c66 - o.c44) / (2.0 * o.c44),
        ];
        let given = [t.eps1, t.eps2, t.del1, t.del2, t.del3, t.gam1, t.gam2];
        back.iter()
            .zip(given)
            .for_each(|(b, g)| assert!((b - g).abs() < 1e-14, "{back:?}"));
    }

    #[test]
    fn narrower_classes_are_special_cases() {
        let iso = Stiffness::isotropic(SPEEDS);
        assert_eq!(iso.symmetry(), Symmetry::Isotropic);
        assert_close(Stiffness::vti(SPEEDS, Thomsen::default()).unwrap(), iso);
        assert_close(Stiffness::hti_tsvankin(SPEEDS, Thomsen::default()).unwrap(), iso);
        assert_close(Stiffness::orthorhombic(SPEEDS, Tsvankin::default()).unwrap(), iso);
        let v = Stiffness::vti(SPEEDS, WEAK).unwrap();
        let as_ort = Tsvankin {
            eps1: 0.2,
            eps2: 0.2,
            del1: -0.1,
            del2: -0.1,
            del3: 0.0,
            gam1: 0.15,
            gam2: 0.15,
        };
        assert_close(Stiffness::orthorhombic(SPEEDS, as_ort).unwrap(), v);
        let h = Stiffness::hti_tsvankin(SPEEDS, WEAK).unwrap();
        let as_ort = Tsvankin {
            eps2: 0.2,
            del2: -0.1,
            gam2: 0.15,
            del3: delta(h.c11, h.c66, h.c12),
            ..Tsvankin::default()
        };
        assert_close(Stiffness::orthorhombic(SPEEDS, as_ort).unwrap(), h);
    }

    /// The two HTI conventions describe the same media: one set of parameters is converted into the other.
    #[test]
    fn conventions_of_hti_agree() {
        let h = Stiffness::hti_permuted(SPEEDS, WEAK).unwrap();
        assert_eq!(h.symmetry(), Symmetry::Hti);
        assert!((h.c11 - 2.2 * 9.0).abs() < 1e-12, "vp is the velocity along x");
        let vertical = Speeds {
            vp: (h.c33 / 2.2).sqrt(),
            vs: (h.c55 / 2.2).sqrt(),
            rho: 2.2,
        };
        let v = Thomsen {
            epsilon: (h.c11 - h.c33) / (2.0 * h.c33),
            delta: delta(h.c33, h.c55, h.c13),
            gamma: -WEAK.gamma / (1.0 + 2.0 * WEAK.gamma),
        };
        assert_close(Stiffness::hti_tsvankin(vertical, v).unwrap(), h);
    }

    #[test]
    fn impossible_parameters_are_named() {
        let e = Stiffness::vti(SPEEDS, Thomsen { delta: -0.6, ..WEAK })
            .unwrap_err()
            .to_string();
        assert!(
            e.starts_with("c13 has no real value") && e.contains("delta = -0.6"),
            "{e}"
        );
        let e = Stiffness::orthorhombic(
            SPEEDS,
            Tsvankin {
                gam2: -0.5,
                ..Default::default()
            },
        )
        .unwrap_err();
        assert_eq!(
            e,
            Unreal::Gamma {
                name: "gam2",
                value: -0.5
            }
        );
        let e = Stiffness::orthorhombic(
            SPEEDS,
            Tsvankin {
                del3: -0.8,
                ..Default::default()
            },
        )
        .unwrap_err();
        assert!(matches!(
            e,
            Unreal::Radicand {
                name: "c12",
                delta_name: "del3",
                ..
            }
        ));
    }
}
