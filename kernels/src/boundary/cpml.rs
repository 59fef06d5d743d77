//! The unsplit convolutional perfectly matched layer (Komatitsch & Martin 2007; Michea & Komatitsch 2010, eqs 6-9).
//!
//! In the frame every derivative `D` along the normal is replaced by `D/kappa + psi`, each with its memory variable
//! `psi`: `psi <- b psi + a D`, `b = exp(-(d/kappa + alpha) dt)`, `a = d (b - 1) / (kappa (d + kappa alpha))`. With
//! `s` the depth in the layer as a fraction of its thickness L: `d = d0 s^2`, `d0 = -3 v log(R) / (2 L)` with the
//! fastest wave speed `v` and the theoretical reflection coefficient R; `kappa = 1 + (kappa_max - 1) s^2`;
//! `alpha = alpha_max (1 - s)`, `alpha_max = pi f`.

use crate::device::simd::Real;

/// Parameters of the absorbing layer that all faces share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Layer {
    /// Theoretical reflection coefficient at normal incidence, above 0 and below 1.
    pub reflection: f64,
    /// Largest `kappa`, at least 1.
    pub kappa_max: f64,
    /// Frequency `f` of `alpha_max = pi f` (Hz), about the dominant frequency of the source.
    pub frequency: f64,
    /// Fastest wave speed of the model (m/s).
    pub fastest: f64,
}

/// Coefficients along one axis, at its nodes or at the points half a cell further on.
#[derive(Clone, Debug)]
pub struct Factors<T> {
    /// `1/kappa`; 1 outside the layer.
    pub inverse_kappa: Vec<T>,
    /// `a` of eq. 9; zero outside.
    pub a: Vec<T>,
    /// `b` of eq. 8; zero outside, where the memory variable thus stays zero.
    pub b: Vec<T>,
}

/// An axis with its layers: `n` cells in all, of which `outside` lie before and after the model. The innermost `thick`
/// cells outside the model form the absorbing layer.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    /// Number of cells in all.
    pub n: usize,
    /// Numbers of cells of the axis before the model and after it.
    pub outside: [usize; 2],
    /// Thickness of the layers in cells; 0 is none.
    pub thick: [usize; 2],
    /// Spacing of the cells, m.
    pub d: f64,
}

impl Ends {
    /// Depth of a position (in cells) in a layer as a fraction of the layer's thickness, and that thickness (m);
    /// `None` in the model.
    fn depth(&self, position: f64) -> Option<(f64, f64)> {
        let first = self.outside[0] as f64;
        let last = (self.n - self.outside[1] - 1) as f64;
        [
            (first - position, self.thick[0]),
            (position - last, self.thick[1]),
        ]
        .into_iter()
        .find(|&(cells, thick)| thick > 0 && cells > 0.0)
        .map(|(cells, thick)| ((cells / thick as f64).min(1.0), thick as f64 * self.d))
    }
}

impl Layer {
    /// Coefficients along an axis for a time step of `dt` seconds, at its nodes (`shift` 0) or half a cell further on
    /// (0.5).
    pub fn factors<T: Real>(&self, ends: &Ends, shift: f64, dt: f64) -> Factors<T> {
        let mut out = Factors {
            inverse_kappa: vec![T::of(1.0); ends.n],
            a: vec![T::of(0.0); ends.n],
            b: vec![T::of(0.0); ends.n],
        };
        for i in 0..ends.n {
            let Some((s, thickness)) = ends.depth(i as f64 + shift) else {
                continue;
            };
            let d = -1.5 * self.fastest * self.reflection.ln() / thickness * s * s;
            let kappa = 1.0 + (self.kappa_max - 1.0) * s * s;
            let alpha = std::f64::consts::PI * self.frequency * (1.0 - s);
            let b = (-(d / kappa + alpha) * dt).exp();
            let a = if d > 0.0 {
                d * (b - 1.0) / (kappa * (d + kappa * alpha))
            } else {
                0.0
            };
            out.inverse_kappa[i] = T::of(1.0 / kappa);
            out.a[i] = T::of(a);
            out.b[i] = T::of(b);
        }
        out
    }
}

/// Number of intervals into which [`holds`] divides the directions of a plane.
const DIRECTIONS: u32 = 64;

/// Whether layers normal to either axis of a symmetry plane are stable for all waves in that plane (Becache, Fauqueux &
/// Joly 2003): along neither axis may the group velocity of a wave oppose its phase velocity. `a` and `b` are the
/// normal stiffnesses of the axes, `shear` is the shear stiffness and `off` the coupling of the normal strains. An
/// isotropic medium always passes, and so does one with `off = -shear`.
///
/// With the squares p, q of the wave numbers `rho w^2 = ((a+s) p + (b+s) q -+ sqrt(((a-s) p - (b-s) q)^2 + 4 e^2 p
/// q))/2`, `e = off + s`; it must not decrease with p or with q. Only the expression with the minus sign, for the
/// slower wave, can decrease.
pub fn holds(a: f64, b: f64, shear: f64, off: f64) -> bool {
    let e = off + shear;
    (0..=DIRECTIONS).all(|k| {
        let p = f64::from(k) / f64::from(DIRECTIONS);
        let q = 1.0 - p;
        let difference = (a - shear) * p - (b - shear) * q;
        let root = (difference * difference + 4.0 * e * e * p * q).sqrt();
        if root <= 1e-12 * (a + b) {
            return true;
        }
        let by_p = a + shear - (difference * (a - shear) + 2.0 * e * e * q) / root;
        let by_q = b + shear - (-difference * (b - shear) + 2.0 * e * e * p) / root;
        by_p.min(by_q) >= -1e-6 * (a + b)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_of_becache_and_others_are_distinguished() {
        // c11, c22, c33 (shear) and c12 of two of their orthotropic examples; the layer is unstable in the second.
        assert!(holds(4.0, 20.0, 2.0, 3.8));
        assert!(!holds(4.0, 20.0, 2.0, 7.5));
        for (vp, vs) in [(3.0, 1.7), (2.0, 1.4), (1.5, 0.0), (3.0, 0.1)] {
            let (p, s) = (vp * vp, vs * vs);
            assert!(holds(p, p, s, p - 2.0 * s), "{vp} {vs}");
        }
        assert!(holds(9.0, 4.0, 1.0, -1.0));
        // Without coupling both waves are equally fast in one direction, where neither is the slower one.
        assert!(holds(4.0, 4.0, 1.0, -1.0));
    }

    /// For shear waves along an axis with a normal stiffness of one, the derivative of `w^2` with respect to the wave
    /// number along the other axis vanishes where the squared coupling `off + shear` equals that axis's normal
    /// stiffness times `1 - shear`. This also holds where P waves are hardly faster.
    #[test]
    fn a_layer_fails_where_shear_waves_along_an_axis_do() {
        for other in [2.0f64, 3.0, 4.0] {
            for shear in [0.3, 0.6, 0.9, 0.97, 0.99] {
                let coupling = (other * (1.0 - shear)).sqrt();
                for (factor, stable) in [(0.98, true), (1.02, false)] {
                    let off = factor * coupling - shear;
                    assert_eq!(holds(other, 1.0, shear, off), stable, "{other} {shear} {factor}");
                    assert_eq!(holds(1.0, other, shear, off), stable, "{other} {shear} {factor}");
                }
            }
        }
    }

    #[test]
    fn nothing_inside_and_growing_outwards_on_either_side() {
        let ends = Ends {
            n: 40,
            outside: [14, 9],
            thick: [10, 5],
            d: 2.0,
        };
        let layer = Layer {
            reflection: 1e-4,
            kappa_max: 2.0,
            frequency: 3.0,
            fastest: 5.0,
        };
        let nodes = layer.factors::<f64>(&ends, 0.0, 0.01);
        assert!((14..=30).all(|i| (nodes.inverse_kappa[i], nodes.a[i]) == (1.0, 0.0)));
        assert!((5..14).all(|i| nodes.inverse_kappa[i - 1] < nodes.inverse_kappa[i] && nodes.a[i] < 0.0));
        // Ten cells of 2 with v = 5: at full depth d = -1.5 * 5 * ln(1e-4) / 20, alpha = 0.
        let d = 1.5 * 5.0 * (1e4f64).ln() / 20.0;
        assert!((nodes.b[4] - (-d / 2.0 * 0.01).exp()).abs() < 1e-12);
        // Half a cell further on the upper layer begins at the last node of the model.
        let half = layer.factors::<f64>(&ends, 0.5, 0.01);
        assert!(half.a[30] < 0.0 && half.a[13] < 0.0 && half.a[14] == 0.0);
    }
}
