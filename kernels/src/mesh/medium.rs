//! Media of elements: density and constitutive law, one for each region or one for each point.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};

use super::Mesh;
use super::geometry::Tabulated;

/// Constitutive law of a medium.
#[derive(Clone, Debug, PartialEq)]
pub enum Law {
    /// An isotropic solid with its Lame constants, Pa.
    Isotropic {
        /// First Lame constant.
        lambda: f64,
        /// Shear modulus.
        mu: f64,
    },
    /// Stiffness in Voigt order xx yy zz yz xz xy, Pa; in 2-D only the entries of x and z are used.
    Anisotropic(Box<[[f64; 6]; 6]>),
    /// A fluid with its bulk modulus, Pa.
    Fluid(f64),
}

/// The medium of a region or of a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Medium {
    /// Density, kg/m3.
    pub density: f64,
    /// Constitutive law.
    pub law: Law,
}

impl Medium {
    /// An isotropic solid, or a fluid if `vs` is zero, from density (kg/m3) and speeds (m/s).
    pub fn isotropic(density: f64, vp: f64, vs: f64) -> Self {
        let (modulus, mu) = (density * vp * vp, density * vs * vs);
        let law = match vs == 0.0 {
            true => Law::Fluid(modulus),
            false => Law::Isotropic {
                lambda: modulus - 2.0 * mu,
                mu,
            },
        };
        Self { density, law }
    }
}

/// Voigt index, from 0, of a pair of axes.
pub(super) const VOIGT: [[usize; 3]; 3] = [[0, 5, 4], [5, 1, 3], [4, 3, 2]];

impl Law {
    /// The stress (Pa) for a displacement gradient `[i][c] = d u_i / d x_c`; tension is positive.
    pub fn stress<const D: usize>(&self, gradient: &[[f64; D]; D]) -> [[f64; D]; D] {
        // The axis of space that belongs to axis c of the mesh: z is the last one in both.
        let axis = |c: usize| if D == 2 { 2 * c } else { c };
        let shear = |i: usize, c: usize| gradient[i][c] + gradient[c][i];
        match self {
            Self::Isotropic { lambda, mu } => {
                let pressure = lambda * (0..D).map(|i| gradient[i][i]).sum::<f64>();
                std::array::from_fn(|i| {
                    std::array::from_fn(|c| mu * shear(i, c) + if i == c { pressure } else { 0.0 })
                })
            }
            Self::Anisotropic(stiffness) => std::array::from_fn(|i| {
                std::array::from_fn(|c| {
                    let row = &stiffness[VOIGT[axis(i)][axis(c)]];
                    let pairs = (0..D).flat_map(|k| (k..D).map(move |l| (k, l)));
                    // Shear strains in Voigt notation are twice the tensor components.
                    let strain = |k: usize, l: usize| if k == l { gradient[k][k] } else { shear(k, l) };
                    pairs
                        .map(|(k, l)| row[VOIGT[axis(k)][axis(l)]] * strain(k, l))
                        .sum()
                })
            }),
            Self::Fluid(modulus) => {
                let pressure = modulus * (0..D).map(|i| gradient[i][i]).sum::<f64>();
                std::array::from_fn(|i| std::array::from_fn(|c| if i == c { pressure } else { 0.0 }))
            }
        }
    }
}

/// A function that returns the media of an element from its number and the positions (m) of its points: one medium
/// for all points, or one for each in the order of the points (the axis u fastest). All must have the same kind of
/// law.
pub type AtPoints<'a, const D: usize> = dyn Fn(usize, &[[f64; D]]) -> Vec<Medium> + Sync + 'a;

/// The media of a mesh.
#[derive(Clone, Copy)]
pub enum Media<'a, const D: usize> {
    /// One medium for each region.
    Regions(&'a [Medium]),
    /// Media as a function of position.
    Points(&'a AtPoints<'a, D>),
}

impl<'a, const D: usize> From<&'a [Medium]> for Media<'a, D> {
    fn from(regions: &'a [Medium]) -> Self {
        Self::Regions(regions)
    }
}

impl<'a, const D: usize> From<&'a Vec<Medium>> for Media<'a, D> {
    fn from(regions: &'a Vec<Medium>) -> Self {
        Self::Regions(regions)
    }
}

impl<'a, const D: usize, const N: usize> From<&'a [Medium; N]> for Media<'a, D> {
    fn from(regions: &'a [Medium; N]) -> Self {
        Self::Regions(regions)
    }
}

impl<'a, const D: usize> Media<'a, D> {
    /// The media of an element: one for all of its points, or one for each.
    pub(super) fn of(&self, mesh: &Mesh<D>, table: &Tabulated<D>, element: usize) -> Cow<'a, [Medium]> {
        match self {
            Self::Regions(media) => {
                let region = mesh.regions()[element] as usize;
                Cow::Borrowed(&media[region..=region])
            }
            Self::Points(at) => Cow::Owned(at(element, &table.positions(&mesh.coordinates(element)))),
        }
    }
}

impl Medium {
    /// Adds the medium to a hash.
    pub(super) fn hash<H: Hasher>(&self, hasher: &mut H) {
        let (kind, numbers): (u8, &[f64]) = match &self.law {
            Law::Isotropic { lambda, mu } => (0, &[*lambda, *mu]),
            Law::Anisotropic(c) => (1, c.as_flattened()),
            Law::Fluid(modulus) => (2, &[*modulus]),
        };
        (kind, self.density.to_bits()).hash(hasher);
        numbers.iter().for_each(|x| x.to_bits().hash(hasher));
    }
}
