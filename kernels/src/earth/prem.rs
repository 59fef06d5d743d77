//! PREM: the preliminary reference Earth model (Dziewonski & Anderson 1981, Phys. Earth Planet. Inter. 25, table I).
//!
//! The properties are polynomials in the radius divided by 6371 km, in km/s and g/cm3 as in the table; functions
//! return SI units. The ocean is replaced by upper crust.

use super::radial::{Layer, Matter, Profile};

/// Radius of the surface, m.
const SURFACE: f64 = 6.371e6;

/// Coefficients of 1, x, x^2, x^3.
type Cubic = [f64; 4];

/// An isotropic layer: polynomials of density, P and S speed, and the quality factors of bulk and shear modulus.
struct Rock {
    density: Cubic,
    vp: Cubic,
    vs: Cubic,
    q: [f64; 2],
}

/// Quality factor of the shear modulus in the fluid core.
const FLUID: f64 = f64::INFINITY;
const Q_KAPPA: f64 = 57823.0;
const MANTLE_DENSITY: Cubic = [7.9565, -6.4761, 5.5283, -3.0807];
const CAP_DENSITY: Cubic = [2.6910, 0.6924, 0.0, 0.0];
const CAP_VP: Cubic = [4.1875, 3.9382, 0.0, 0.0];
const CAP_VS: Cubic = [2.1519, 2.3481, 0.0, 0.0];

const INNER_CORE: Rock = Rock {
    density: [13.0885, 0.0, -8.8381, 0.0],
    vp: [11.2622, 0.0, -6.3640, 0.0],
    vs: [3.6678, 0.0, -4.4475, 0.0],
    q: [1327.7, 84.6],
};
const OUTER_CORE: Rock = Rock {
    density: [12.5815, -1.2638, -3.6426, -5.5281],
    vp: [11.0487, -4.0362, 4.8023, -13.5732],
    vs: [0.0; 4],
    q: [Q_KAPPA, FLUID],
};
const MANTLE_FOOT: Rock = Rock {
    density: MANTLE_DENSITY,
    vp: [15.3891, -5.3181, 5.5242, -2.5514],
    vs: [6.9254, 1.4672, -2.0834, 0.9783],
    q: [Q_KAPPA, 312.0],
};
const LOWER_MANTLE: Rock = Rock {
    density: MANTLE_DENSITY,
    vp: [24.9520, -40.4673, 51.4832, -26.6419],
    vs: [11.1671, -13.7818, 17.4575, -9.2777],
    q: [Q_KAPPA, 312.0],
};
const LOWER_MANTLE_TOP: Rock = Rock {
    density: MANTLE_DENSITY,
    vp: [29.2766, -23.6027, 5.5242, -2.5514],
    vs: [22.3459, -17.2473, -2.0834, 0.9783],
    q: [Q_KAPPA, 312.0],
};
const TRANSITION_FOOT: Rock = Rock {
    density: [5.3197, -1.4836, 0.0, 0.0],
    vp: [19.0957, -9.8672, 0.0, 0.0],
    vs: [9.9839, -4.9324, 0.0, 0.0],
    q: [Q_KAPPA, 143.0],
};
const TRANSITION: Rock = Rock {
    density: [11.2494, -8.0298, 0.0, 0.0],
    vp: [39.7027, -32.6166, 0.0, 0.0],
    vs: [22.3512, -18.5856, 0.0, 0.0],
    q: [Q_KAPPA, 143.0],
};
const UPPER_MANTLE: Rock = Rock {
    density: [7.1089, -3.8045, 0.0, 0.0],
    vp: [20.3926, -12.2569, 0.0, 0.0],
    vs: [8.9496, -4.4597, 0.0, 0.0],
    q: [Q_KAPPA, 143.0],
};
const LOW_VELOCITY: Rock = Rock {
    density: CAP_DENSITY,
    vp: CAP_VP,
    vs: CAP_VS,
    q: [Q_KAPPA, 80.0],
};
const LID: Rock = Rock {
    density: CAP_DENSITY,
    vp: CAP_VP,
    vs: CAP_VS,
    q: [Q_KAPPA, 600.0],
};
const LOWER_CRUST: Rock = Rock {
    density: [2.900, 0.0, 0.0, 0.0],
    vp: [6.800, 0.0, 0.0, 0.0],
    vs: [3.900, 0.0, 0.0, 0.0],
    q: [Q_KAPPA, 600.0],
};
const UPPER_CRUST: Rock = Rock {
    density: [2.600, 0.0, 0.0, 0.0],
    vp: [5.800, 0.0, 0.0, 0.0],
    vs: [3.200, 0.0, 0.0, 0.0],
    q: [Q_KAPPA, 600.0],
};

/// The value of a polynomial at a radius (m), converted from the table's units to SI units.
fn value(c: &Cubic, radius: f64) -> f64 {
    let x = radius / SURFACE;
    1000.0 * (c[0] + x * (c[1] + x * (c[2] + x * c[3])))
}

impl Rock {
    fn at(&self, radius: f64) -> Matter {
        let [density, vp, vs] = [&self.density, &self.vp, &self.vs].map(|c| value(c, radius));
        Matter::isotropic(density, vp, vs, self.q)
    }
}

/// The transversely isotropic cap between 24.4 and 220 km.
fn cap(radius: f64, q: [f64; 2]) -> Matter {
    let linear = |a: f64, b: f64| value(&[a, b, 0.0, 0.0], radius);
    Matter {
        density: value(&CAP_DENSITY, radius),
        vpv: linear(0.8317, 7.2180),
        vph: linear(3.5908, 4.6172),
        vsv: linear(5.8582, -1.4678),
        vsh: linear(-1.0839, 5.7176),
        eta: linear(3.3687, -2.4778) / 1000.0,
        q_kappa: q[0],
        q_mu: q[1],
    }
}

/// Matter as a function of the radius (m).
type Formula = fn(f64) -> Matter;

/// The layers from the centre to the surface; `isotropic` chooses the isotropic version of the uppermost mantle.
pub(super) fn layers(isotropic: bool) -> Vec<Layer> {
    let (low, lid): (Formula, Formula) = match isotropic {
        true => (|r| LOW_VELOCITY.at(r), |r| LID.at(r)),
        false => (|r| cap(r, LOW_VELOCITY.q), |r| cap(r, LID.q)),
    };
    let shells: [(f64, Formula); 12] = [
        (1221.5, |r| INNER_CORE.at(r)),
        (3480.0, |r| OUTER_CORE.at(r)),
        (3630.0, |r| MANTLE_FOOT.at(r)),
        (5600.0, |r| LOWER_MANTLE.at(r)),
        (5701.0, |r| LOWER_MANTLE_TOP.at(r)),
        (5771.0, |r| TRANSITION_FOOT.at(r)),
        (5971.0, |r| TRANSITION.at(r)),
        (6151.0, |r| UPPER_MANTLE.at(r)),
        (6291.0, low),
        (6346.6, lid),
        (6356.0, |r| LOWER_CRUST.at(r)),
        (6371.0, |r| UPPER_CRUST.at(r)),
    ];
    let mut bottom = 0.0;
    let layer = |(top, formula): (f64, Formula)| {
        let layer = Layer {
            bottom,
            top: 1000.0 * top,
            profile: Profile::Formula(formula),
        };
        bottom = layer.top;
        layer
    };
    shells.into_iter().map(layer).collect()
}

#[cfg(test)]
mod tests {
    use crate::earth::Radial;

    /// Rows of the authors' printed table: radius (km), side of the discontinuity (1 above, -1 below), and density, P
    /// and S speed.
    const PRINTED: [(f64, f64, [f64; 3]); 17] = [
        (0.0, 1.0, [13.08848, 11.26220, 3.66780]),
        (1221.5, -1.0, [12.76360, 11.02827, 3.50432]),
        (1221.5, 1.0, [12.16634, 10.35568, 0.0]),
        (3480.0, -1.0, [9.90349, 8.06482, 0.0]),
        (3480.0, 1.0, [5.56645, 13.71660, 7.26466]),
        (3630.0, -1.0, [5.49145, 13.68041, 7.26597]),
        (5600.0, -1.0, [4.44317, 11.06557, 6.24046]),
        (5701.0, -1.0, [4.38071, 10.75131, 5.94508]),
        (5701.0, 1.0, [3.99214, 10.26622, 5.57020]),
        (5771.0, 1.0, [3.97584, 10.15782, 5.51602]),
        (5971.0, -1.0, [3.72378, 9.13397, 4.93259]),
        (5971.0, 1.0, [3.54325, 8.90522, 4.76989]),
        (6151.0, -1.0, [3.43578, 8.55896, 4.64391]),
        // These are both ends of the isotropic cap, where properties are linear.
        (6151.0, 1.0, [3.35950, 7.98970, 4.41885]),
        (6346.6, -1.0, [3.38076, 8.11061, 4.49094]),
        (6346.6, 1.0, [2.90000, 6.80000, 3.90000]),
        (6371.0, -1.0, [2.60000, 5.80000, 3.20000]),
    ];

    #[test]
    fn the_polynomials_give_the_printed_table() {
        let model = Radial::prem(true);
        for (radius, side, expected) in PRINTED {
            let m = model.seen_from(1000.0 * (radius + side), 1000.0 * radius);
            for (got, want) in [m.density, m.vpv, m.vsv].iter().zip(expected) {
                // Two to four coefficients are printed with four decimals and the table with five, so that
                // differences of 1e-4 to 2e-4 are possible.
                assert!((got / 1000.0 - want).abs() < 1.1e-4, "{radius} km: {got} {want}");
            }
        }
        // The printed horizontal and vertical speeds at 220 km, from above.
        let m = Radial::prem(false).seen_from(6.152e6, 6.151e6);
        for (got, want) in [m.vpv, m.vph, m.vsv, m.vsh]
            .iter()
            .zip([7.80050, 8.04862, 4.44110, 4.43629])
        {
            assert!((got / 1000.0 - want).abs() < 1.1e-4, "{got} {want}");
        }
        assert!((m.eta - 0.97654).abs() < 1.1e-4, "{}", m.eta);
        assert_eq!([m.q_mu, m.q_kappa], [80.0, 57823.0]);
    }

    /// The authors' printed quality factors: bottom and top (km) of the layers, and Q of shear and bulk modulus.
    const QUALITY: [([f64; 2], [f64; 2]); 7] = [
        ([0.0, 1221.5], [84.6, 1327.7]),
        ([1221.5, 3480.0], [f64::INFINITY, 57823.0]),
        ([3480.0, 5701.0], [312.0, 57823.0]),
        ([5701.0, 6151.0], [143.0, 57823.0]),
        ([6151.0, 6291.0], [80.0, 57823.0]),
        ([6291.0, 6346.6], [600.0, 57823.0]),
        ([6346.6, 6371.0], [600.0, 57823.0]),
    ];

    #[test]
    fn quality_factors_are_the_printed_ones() {
        for isotropic in [true, false] {
            let model = Radial::prem(isotropic);
            let mut layers = 0;
            for ([foot, top], expected) in QUALITY {
                let inside =
                    |layer: &&crate::earth::Layer| layer.bottom >= 999.9 * foot && layer.top <= 1000.1 * top;
                for layer in model.layers().iter().filter(inside) {
                    let middle = 0.5 * (layer.bottom + layer.top);
                    for radius in [layer.bottom, middle, layer.top] {
                        let m = model.seen_from(middle, radius);
                        assert_eq!([m.q_mu, m.q_kappa], expected, "{radius} m");
                    }
                    layers += 1;
                }
            }
            assert_eq!(layers, model.layers().len());
        }
    }

    #[test]
    fn mass_and_moment_of_inertia_are_those_of_the_earth() {
        let (mut mass, mut inertia) = (0.0, 0.0);
        let model = Radial::prem(true);
        for layer in model.layers() {
            let n = 2000;
            let h = (layer.top - layer.bottom) / f64::from(n);
            for k in 0..n {
                let r = layer.bottom + (f64::from(k) + 0.5) * h;
                let shell = 4.0 * std::f64::consts::PI * r * r * h * model.seen_from(r, r).density;
                mass += shell;
                inertia += 2.0 / 3.0 * r * r * shell;
            }
        }
        // The Earth has a mass of 5.974e24 kg and a moment of inertia of 0.3308 M a^2; with crust instead of the ocean
        // the model is 0.04 % heavier.
        assert!((mass / 5.974e24 - 1.0).abs() < 6e-4, "{mass}");
        assert!((inertia / (mass * 6.371e6 * 6.371e6) - 0.3308).abs() < 3e-4);
    }
}
