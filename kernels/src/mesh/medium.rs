//! What fills elements: density and law, one a region or one a point.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};

use super::Mesh;
use super::geometry::Tabulated;

/// What the points of an element obey.
#[derive(Clone, Debug, PartialEq)]
pub enum Law {
    /// Lame's constants, Pa.
    Isotropic {
        /// First constant.
        lambda: f64,
        /// Shear modulus.
        mu: f64,
    },
    /// Stiffness in Voigt's order xx yy zz yz xz xy, Pa; of 2-D meshes x and z count.
    Anisotropic(Box<[[f64; 6]; 6]>),
    /// Bulk modulus of a fluid, Pa.
    Fluid(f64),
}

/// Density (kg/m3) and law of a region.
#[derive(Clone, Debug, PartialEq)]
pub struct Medium {
    /// kg/m3.
    pub density: f64,
    /// The law.
    pub law: Law,
}

impl Medium {
    /// An isotropic solid, or a fluid where `vs` is zero (kg/m3, m/s).
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

/// Voigt's index of two axes.
pub(super) const VOIGT: [[usize; 3]; 3] = [[0, 5, 4], [5, 1, 3], [4, 3, 2]];

impl Law {
    /// The stress of a displacement gradient `[i][c] = d u_i / d x_c`, extension positive.
    pub fn stress<const D: usize>(&self, gradient: &[[f64; D]; D]) -> [[f64; D]; D] {
        // Axis c of the mesh as an axis of space: z is the last one of either.
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
                    // Voigt's shear strains are twice the tensor's.
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

/// Media of an element's points from its number and their positions (m): one for all points, or one each in their order
/// (the axis u fastest). All of an element have one kind of law.
pub type AtPoints<'a, const D: usize> = dyn Fn(usize, &[[f64; D]]) -> Vec<Medium> + Sync + 'a;

/// What fills the elements of a mesh.
#[derive(Clone, Copy)]
pub enum Media<'a, const D: usize> {
    /// One a region.
    Regions(&'a [Medium]),
    /// As a function of the place.
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
    /// Of the points of an element: one for all, or one each.
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
    /// Feeds the numbers of the medium to a hash.
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
