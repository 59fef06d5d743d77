//! Models of the Earth that depend on the radius alone.

use super::prem;
use crate::mesh::step::{Law, Medium};

/// Fraction of the distance to the middle of an element by which its points are shifted before their layer is
/// determined.
const NUDGE: f64 = 1e-2;

/// Density, wave speeds and attenuation at a point; the medium is transversely isotropic about the radial direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Matter {
    /// Density, kg/m3.
    pub density: f64,
    /// Speed of P waves along the radius, m/s.
    pub vpv: f64,
    /// Speed of P waves perpendicular to the radius, m/s.
    pub vph: f64,
    /// Speed of S waves along the radius, m/s; 0 in a fluid.
    pub vsv: f64,
    /// Speed of horizontally polarised S waves perpendicular to the radius, m/s.
    pub vsh: f64,
    /// `F / (A - 2 L)` of Love's constants.
    pub eta: f64,
    /// Quality factor of the bulk modulus.
    pub q_kappa: f64,
    /// Quality factor of the shear modulus; meaningless in fluids.
    pub q_mu: f64,
}

impl Matter {
    /// Isotropic matter with this density (kg/m3) and these wave speeds (m/s).
    pub fn isotropic(density: f64, vp: f64, vs: f64, [q_kappa, q_mu]: [f64; 2]) -> Self {
        Self {
            density,
            vpv: vp,
            vph: vp,
            vsv: vs,
            vsh: vs,
            eta: 1.0,
            q_kappa,
            q_mu,
        }
    }

    /// Whether speeds do not depend on the direction.
    pub fn is_isotropic(&self) -> bool {
        self.vpv == self.vph && self.vsv == self.vsh && self.eta == 1.0
    }

    /// Love's constants A, C, F, L, N, Pa (Love 1927).
    fn love(&self) -> [f64; 5] {
        let of = |speed: f64| self.density * speed * speed;
        let (a, l) = (of(self.vph), of(self.vsv));
        [a, of(self.vpv), self.eta * (a - 2.0 * l), l, of(self.vsh)]
    }

    /// P and S speed (m/s) of the isotropic matter with the Voigt averages of the moduli.
    pub fn mean_speeds(&self) -> [f64; 2] {
        if self.is_isotropic() {
            return [self.vpv, self.vsv];
        }
        let [a, c, f, l, n] = self.love();
        let bulk = (4.0 * a + c + 4.0 * f - 4.0 * n) / 9.0;
        let shear = (a + c - 2.0 * f + 5.0 * n + 6.0 * l) / 15.0;
        [bulk + 4.0 / 3.0 * shear, shear].map(|modulus| (modulus / self.density).sqrt())
    }

    /// The medium at a point whose radial direction is the unit vector `up`.
    pub fn medium(&self, up: [f64; 3]) -> Medium {
        match self.is_isotropic() {
            true => Medium::isotropic(self.density, self.vpv, self.vsv),
            false => self.general_medium(up),
        }
    }

    /// [`Self::medium`], but always with all 21 constants.
    fn general_medium(&self, up: [f64; 3]) -> Medium {
        Medium {
            density: self.density,
            law: Law::Anisotropic(Box::new(self.stiffness(up))),
        }
    }

    /// The stiffness (Pa) in Voigt order xx yy zz yz xz xy, from Love's five constants with the symmetry axis `up`.
    pub fn stiffness(&self, up: [f64; 3]) -> [[f64; 6]; 6] {
        let [a, c, f, l, n] = self.love();
        let same = |i: usize, k: usize| f64::from(i == k);
        let component = |[i, k, p, q]: [usize; 4]| {
            let s = |i: usize, k: usize| up[i] * up[k];
            (a - 2.0 * n) * same(i, k) * same(p, q)
                + n * (same(i, p) * same(k, q) + same(i, q) * same(k, p))
                + (f - a + 2.0 * n) * (same(i, k) * s(p, q) + same(p, q) * s(i, k))
                + (l - n)
                    * (same(i, p) * s(k, q)
                        + same(i, q) * s(k, p)
                        + same(k, p) * s(i, q)
                        + same(k, q) * s(i, p))
                + (a + c - 2.0 * f - 4.0 * l) * s(i, k) * s(p, q)
        };
        const PAIRS: [[usize; 2]; 6] = [[0, 0], [1, 1], [2, 2], [1, 2], [0, 2], [0, 1]];
        PAIRS.map(|[i, k]| PAIRS.map(|[p, q]| component([i, k, p, q])))
    }
}

/// Matter as a function of the radius inside a layer.
#[derive(Clone, Debug)]
pub enum Profile {
    /// A function of the radius (m).
    Formula(fn(f64) -> Matter),
    /// Ascending radii (m) and the material at each of them, interpolated linearly.
    Table(Vec<(f64, Matter)>),
}

impl Profile {
    fn at(&self, radius: f64) -> Matter {
        match self {
            Self::Formula(formula) => formula(radius),
            Self::Table(rows) => interpolated(rows, radius),
        }
    }
}

/// Interpolates linearly between the rows (for quality factors: their inverses); values are constant beyond them.
fn interpolated(rows: &[(f64, Matter)], radius: f64) -> Matter {
    let behind = rows
        .partition_point(|row| row.0 <= radius)
        .clamp(1, rows.len().max(2) - 1);
    let (low, high) = (rows[behind - 1], rows[behind.min(rows.len() - 1)]);
    let part = match high.0 > low.0 {
        true => ((radius - low.0) / (high.0 - low.0)).clamp(0.0, 1.0),
        false => 0.0,
    };
    let mix = |of: fn(&Matter) -> f64| (1.0 - part) * of(&low.1) + part * of(&high.1);
    Matter {
        density: mix(|m| m.density),
        vpv: mix(|m| m.vpv),
        vph: mix(|m| m.vph),
        vsv: mix(|m| m.vsv),
        vsh: mix(|m| m.vsh),
        eta: mix(|m| m.eta),
        // 1/Q is interpolated, because a quality factor may be infinite.
        q_kappa: mix(|m| m.q_kappa.recip()).recip(),
        q_mu: mix(|m| m.q_mu.recip()).recip(),
    }
}

/// A shell in which matter varies smoothly.
#[derive(Clone, Debug)]
pub struct Layer {
    /// Radius of its bottom, m.
    pub bottom: f64,
    /// Radius of its top, m.
    pub top: f64,
    /// The matter inside.
    pub profile: Profile,
}

/// A model of layers from the centre to the surface.
#[derive(Clone, Debug)]
pub struct Radial {
    layers: Vec<Layer>,
}

impl Radial {
    /// A model of layers, from the bottom up. Returns `None` if there are no layers, or if a layer does not
    /// begin where the one below ends or has no thickness.
    pub fn new(layers: Vec<Layer>) -> Option<Self> {
        let sound =
            layers.iter().all(|l| l.bottom < l.top) && layers.windows(2).all(|w| w[0].top == w[1].bottom);
        (sound && !layers.is_empty()).then_some(Self { layers })
    }

    /// PREM at a period of 1 s with its ocean replaced by upper crust. Between depths of 24.4 and 220 km it is
    /// transversely isotropic, or has the isotropic speeds that its authors give for these depths.
    pub fn prem(isotropic: bool) -> Self {
        Self {
            layers: prem::layers(isotropic),
        }
    }

    /// The layers from the centre up.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// The radius of the surface, m.
    pub fn surface(&self) -> f64 {
        self.layers[self.layers.len() - 1].top
    }

    /// The material at a radius (m). At a discontinuity, the side of the radius `inside` (m) is used. An element that
    /// lies in one layer passes the radius of its middle and, in spite of rounding errors, never receives the material
    /// of the next layer.
    pub fn seen_from(&self, inside: f64, radius: f64) -> Matter {
        // Points between the nodes of a curved element deviate from the sphere by a few metres.
        let towards = radius + NUDGE * (inside - radius);
        let number = self.layers.partition_point(|layer| layer.top <= towards);
        let layer = &self.layers[number.min(self.layers.len() - 1)];
        layer.profile.at(radius.clamp(layer.bottom, layer.top))
    }

    /// The media at the points of an element (m, z the last axis) and their P and S speeds (m/s). At a discontinuity,
    /// the values on the element's side are used. With `general`, solids have 21 constants even where they are
    /// isotropic.
    pub fn media<const D: usize>(&self, positions: &[[f64; D]], general: bool) -> Vec<(Medium, [f64; 2])> {
        let radius = |x: &[f64; D]| x.iter().map(|c| c * c).sum::<f64>().sqrt();
        let inside = positions.iter().map(radius).sum::<f64>() / positions.len().max(1) as f64;
        let matters: Vec<Matter> = positions
            .iter()
            .map(|x| self.seen_from(inside, radius(x)))
            .collect();
        let general = general || matters.iter().any(|matter| !matter.is_isotropic());
        let point = |(x, matter): (&[f64; D], Matter)| {
            let r = radius(x);
            let along = |c: usize| if r > 0.0 { x[c] / r } else { 0.0 };
            let up = match D {
                3 => [along(0), along(1), along(2)],
                _ => [along(0), 0.0, along(D - 1)],
            };
            let medium = match general && matter.vsv > 0.0 {
                true => matter.general_medium(up),
                false => matter.medium(up),
            };
            (medium, matter.mean_speeds())
        };
        positions.iter().zip(matters).map(point).collect()
    }

    /// The radii (m) of the interfaces between layers, ascending, without centre and surface.
    pub fn discontinuities(&self) -> Vec<f64> {
        self.layers[1..].iter().map(|layer| layer.bottom).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_linear_inside_and_never_looks_across_a_discontinuity() {
        let m = |v: f64| Matter::isotropic(v / 2.0, v, v / 2.0, [9999.0; 2]);
        let model = Radial::new(vec![
            Layer {
                bottom: 0.0,
                top: 100.0,
                profile: Profile::Table(vec![(0.0, m(10.0)), (100.0, m(20.0))]),
            },
            Layer {
                bottom: 100.0,
                top: 300.0,
                profile: Profile::Table(vec![(100.0, m(30.0)), (200.0, m(50.0)), (300.0, m(40.0))]),
            },
        ])
        .unwrap();
        for (inside, radius, expected) in [
            (50.0, 25.0, 12.5),
            (50.0, 100.0, 20.0),
            (50.0, 100.0001, 20.0),
            (150.0, 100.0, 30.0),
            (150.0, 99.9999, 30.0),
            (150.0, 250.0, 45.0),
            (250.0, 300.0, 40.0),
        ] {
            assert_eq!(
                model.seen_from(inside, radius).vpv,
                expected,
                "{radius} from {inside}"
            );
        }
        assert_eq!(model.discontinuities(), [100.0]);
        assert_eq!(model.surface(), 300.0);
        assert!(Radial::new(Vec::new()).is_none());
    }

    /// 1/Q is linear between the rows; half way to a row without loss it is half as large.
    #[test]
    fn quality_factors_of_a_table_are_linear_in_their_inverses() {
        let m = |q: [f64; 2]| Matter::isotropic(3000.0, 8000.0, 4500.0, q);
        let rows = vec![
            (0.0, m([400.0, 100.0])),
            (100.0, m([f64::INFINITY, 300.0])),
            (200.0, m([1000.0, f64::INFINITY])),
        ];
        let model = Radial::new(vec![Layer {
            bottom: 0.0,
            top: 200.0,
            profile: Profile::Table(rows),
        }]);
        let model = model.expect("a layer");
        for (radius, kappa, mu) in [
            (0.0, 400.0, 100.0),
            (50.0, 800.0, 150.0),
            (75.0, 1600.0, 200.0),
            (100.0, f64::INFINITY, 300.0),
            (150.0, 2000.0, 600.0),
            (200.0, 1000.0, f64::INFINITY),
        ] {
            let rock = model.seen_from(50.0, radius);
            // The inverses are rounded once or twice.
            let apart = |a: f64, b: f64| (a.recip() - b.recip()).abs();
            assert!(apart(rock.q_kappa, kappa) < 1e-17, "{radius}: {}", rock.q_kappa);
            assert!(apart(rock.q_mu, mu) < 1e-17, "{radius}: {}", rock.q_mu);
        }
    }

    #[test]
    fn a_stiffness_about_the_third_axis_is_the_one_of_textbooks_and_turns_with_the_axis() {
        let matter = Radial::prem(false).seen_from(6.25e6, 6.2e6);
        assert!(!matter.is_isotropic());
        let of = |v: f64| matter.density * v * v;
        let upright = matter.stiffness([0.0, 0.0, 1.0]);
        let close = |a: f64, b: f64| assert!((a - b).abs() <= 1e-12 * of(matter.vph), "{a} {b}");
        close(upright[0][0], of(matter.vph));
        close(upright[2][2], of(matter.vpv));
        close(upright[3][3], of(matter.vsv));
        close(upright[5][5], of(matter.vsh));
        close(
            upright[0][2],
            matter.eta * (of(matter.vph) - 2.0 * of(matter.vsv)),
        );
        close(upright[0][1], of(matter.vph) - 2.0 * of(matter.vsh));
        // With the symmetry axis x, axes 3 and 1 are exchanged.
        let lying = matter.stiffness([1.0, 0.0, 0.0]);
        close(lying[0][0], upright[2][2]);
        close(lying[3][3], upright[5][5]);
        close(lying[1][2], upright[0][1]);
        close(lying[0][4], 0.0);
        // The Voigt averages are computed from the stiffness matrix.
        let [vp, vs] = matter.mean_speeds();
        let trace = (0..3).map(|i| upright[i][i]).sum::<f64>();
        let across = upright[0][1] + upright[0][2] + upright[1][2];
        let shear = (trace - across + 3.0 * (upright[3][3] + upright[4][4] + upright[5][5])) / 15.0;
        close(of(vs), shear);
        close(of(vp) - 4.0 / 3.0 * shear, (trace + 2.0 * across) / 9.0);
        // Isotropic constants do not depend on the direction.
        let plain = Matter::isotropic(3000.0, 8000.0, 4500.0, [9999.0; 2]);
        let turned = plain.stiffness([0.6, 0.0, 0.8]);
        close(turned[0][0], 3000.0 * 6.4e7);
        close(turned[0][4], 0.0);
    }
}
