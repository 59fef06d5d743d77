//! The parameters of a medium, and how small changes of them go together.

use super::super::Setup;
use crate::mesh::geometry::Tabulated;

/// The parameters by which a gradient is taken, or which a linearised run changes. Each is varied while the other two of its triple are held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parameters {
    /// P speed (m/s), S speed (m/s), density (kg/m3).
    #[default]
    Speeds,
    /// Lame's constants lambda and mu (Pa), density.
    Lame,
    /// P impedance, S impedance (kg/(m2 s)), density.
    Impedances,
}

impl Parameters {
    /// From derivatives by P speed, S speed and density to those by these parameters, in a medium of these speeds and density.
    pub(super) fn transposed(self, [p, s, r]: [f64; 3], [vp, vs, density]: [f64; 3]) -> [f64; 3] {
        match self {
            Self::Speeds => [p, s, r],
            // vp = sqrt((lambda + 2 mu)/rho), vs = sqrt(mu/rho)
            Self::Lame => {
                let by_p = p / (2.0 * density * vp);
                // Fluids have no S waves, and nothing is to be had by a shear modulus of theirs.
                if vs == 0.0 {
                    return [by_p, 0.0, r - p * vp / (2.0 * density)];
                }
                let by_s = s / (2.0 * density * vs);
                [by_p, 2.0 * by_p + by_s, r - (p * vp + s * vs) / (2.0 * density)]
            }
            // vp = ip/rho, vs = is/rho
            Self::Impedances => [p / density, s / density, r - (p * vp + s * vs) / density],
        }
    }

    /// From small changes of these parameters to those of P speed, S speed and density: the transpose of [`Parameters::transposed`].
    pub(super) fn to_speeds(self, [a, b, r]: [f64; 3], [vp, vs, density]: [f64; 3]) -> [f64; 3] {
        match self {
            Self::Speeds => [a, b, r],
            Self::Lame if vs == 0.0 => [a / (2.0 * density * vp) - vp * r / (2.0 * density), 0.0, r],
            Self::Lame => [
                (a + 2.0 * b) / (2.0 * density * vp) - vp * r / (2.0 * density),
                b / (2.0 * density * vs) - vs * r / (2.0 * density),
                r,
            ],
            Self::Impedances => [(a - vp * r) / density, (b - vs * r) / density, r],
        }
    }
}

/// P speed, S speed (m/s) and density (kg/m3) of all points: `[element * points + point]`.
pub(super) fn media<const D: usize>(setup: &Setup<D>, table: &Tabulated<D>) -> Vec<[f64; 3]> {
    let of_element = |element: usize| {
        let contents = setup.contents(element, table);
        let of_point = move |point: usize| {
            let [vp, vs] = contents.speeds(point);
            [vp, vs, contents.medium(point).density]
        };
        (0..table.points()).map(of_point)
    };
    (0..setup.mesh.len()).flat_map(of_element).collect()
}
