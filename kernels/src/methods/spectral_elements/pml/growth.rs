//! Whether perfectly matched layers let all waves of an anisotropic solid decay.

use std::collections::BTreeMap;
use std::f64::consts::{PI, TAU};

use rayon::prelude::*;

use crate::medium::{Voigt, eigen, triclinic};
use crate::mesh::geometry::Tabulated;
use crate::mesh::step::Law;
use crate::methods::spectral_elements::Setup;

/// Number of angles between the axis and the plane across it, exclusive of both, at which waves are examined.
const ANGLES: usize = 12;
/// Number of planes through the axis in which they are examined in 3-D; in 2-D there is one plane, and both of its
/// sides are examined.
const TURNS: usize = 24;

/// Whether the frequencies of all plane waves of a solid increase with the wave number along an axis (of space), so
/// that no group velocity along it opposes the phase velocity. This is the necessary condition of Becache, Fauqueux &
/// Joly (2003) for layers across that axis to be stable.
fn holds(c: &Voigt, axis: usize, dimension: usize) -> bool {
    let (step, scale) = (1e-4, c[0][0] + c[1][1] + c[2][2]);
    let (others, turns) = match dimension {
        3 => ([(axis + 1) % 3, (axis + 2) % 3], TURNS),
        _ => ([2 - axis, 1], 2),
    };
    let waves = (1..ANGLES).flat_map(|a| (0..turns).map(move |b| (a, b)));
    waves.into_iter().all(|(a, b)| {
        let (angle, turn) = (a as f64 * PI / 2.0 / ANGLES as f64, b as f64 * TAU / turns as f64);
        // Density times the squared angular frequencies, largest first, of waves whose wave number along the axis is
        // larger by `more`.
        let squares = |more: f64| {
            let mut k = [0.0; 3];
            k[axis] = angle.cos() + more;
            k[others[0]] = angle.sin() * turn.cos();
            k[others[1]] = angle.sin() * turn.sin();
            eigen::triple(&triclinic::christoffel(c, k))
        };
        let (low, high) = (squares(-step), squares(step));
        (0..3).all(|wave| high[wave] - low[wave] >= -2e-6 * scale * step)
    })
}

/// A solid element in layers in which some of its waves would grow, with the axis of one of those layers.
pub(super) fn growing<const D: usize>(setup: &Setup<D>) -> Option<(usize, usize)> {
    let table = Tabulated::new(setup.mesh.order(), setup.basis);
    let of_space = |axis: usize| if D == 2 { 2 * axis } else { axis };
    let grows =
        |c: &Voigt, axes: u8| (0..D).find(|axis| axes >> axis & 1 == 1 && !holds(c, of_space(*axis), D));
    // A region with a single medium is examined once for each kind of layer.
    let mut known = BTreeMap::new();
    let mut varied = Vec::new();
    for element in 0..setup.mesh.len() {
        let axes = setup.damped_axes(element);
        let region = setup.mesh.regions()[element];
        if axes == 0 || !matches!(setup.medium(element).law, Law::Anisotropic(_)) {
            continue;
        }
        match setup.points {
            Some(_) => varied.push((element, axes)),
            None => {
                known.entry((region, axes)).or_insert(element);
            }
        }
    }
    varied.extend(known.iter().map(|((_, axes), element)| (*element, *axes)));
    let of_element = |(element, axes): &(usize, u8)| {
        let contents = setup.contents(*element, &table);
        match &contents.medium(table.points() / 2).law {
            Law::Anisotropic(c) => grows(c, *axes).map(|axis| (*element, axis)),
            _ => None,
        }
    };
    varied.par_iter().filter_map(of_element).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A crystal with c11, c33, c55 and c13 in the plane of x and z, and the same constants along y as along x.
    fn crystal([c11, c33, c55, c13]: [f64; 4]) -> Voigt {
        let mut c = [[0.0; 6]; 6];
        for (i, value) in [c11, c11, c33, c55, c55, c55].into_iter().enumerate() {
            c[i][i] = value;
        }
        (c[0][1], c[1][0]) = (c11 - 2.0 * c55, c11 - 2.0 * c55);
        for i in 0..2 {
            (c[i][2], c[2][i]) = (c13, c13);
        }
        c
    }

    #[test]
    fn media_of_becache_and_others_are_distinguished() {
        for dimension in [2, 3] {
            let all = |c: Voigt| [0, 2].map(|axis| holds(&c, axis, dimension));
            assert_eq!(all(crystal([4.0, 20.0, 2.0, 3.8])), [true; 2], "{dimension}");
            assert!(
                all(crystal([4.0, 20.0, 2.0, 7.5])).contains(&false),
                "{dimension}"
            );
            for (vp, vs) in [(3.0f64, 1.7f64), (2.0, 1.4), (3.0, 0.1)] {
                let (p, s) = (vp * vp, vs * vs);
                assert_eq!(all(crystal([p, p, s, p - 2.0 * s])), [true; 2], "{vp} {vs}");
            }
        }
    }
}
