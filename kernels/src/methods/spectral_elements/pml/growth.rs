//! Whether layers let all waves of an anisotropic solid die.

use std::f64::consts::TAU;

use crate::mesh::geometry::Tabulated;
use crate::mesh::step::Law;
use crate::methods::spectral_elements::Setup;
use rayon::prelude::*;

/// Directions of a circle that are looked at.
const DIRECTIONS: usize = 48;

/// Voigt's index of two axes of space.
fn voigt(i: usize, k: usize) -> usize {
    if i == k { i } else { 6 - i - k }
}

/// Voigt's matrix.
type Stiffness = [[f64; 6]; 6];

/// The eigenvalues of a symmetric matrix, falling, by the cosines of a third of an angle.
fn eigenvalues(m: [[f64; 3]; 3]) -> [f64; 3] {
    let mean = (m[0][0] + m[1][1] + m[2][2]) / 3.0;
    let off = m[0][1].powi(2) + m[0][2].powi(2) + m[1][2].powi(2);
    let spread = (0..3).map(|i| (m[i][i] - mean).powi(2)).sum::<f64>() + 2.0 * off;
    let p = (spread / 6.0).sqrt();
    if p <= 1e-14 * mean.abs() {
        return [mean; 3];
    }
    let b: [[f64; 3]; 3] =
        std::array::from_fn(|i| std::array::from_fn(|k| (m[i][k] - if i == k { mean } else { 0.0 }) / p));
    let determinant = b[0][0] * (b[1][1] * b[2][2] - b[1][2] * b[2][1])
        - b[0][1] * (b[1][0] * b[2][2] - b[1][2] * b[2][0])
        + b[0][2] * (b[1][0] * b[2][1] - b[1][1] * b[2][0]);
    let angle = (determinant / 2.0).clamp(-1.0, 1.0).acos() / 3.0;
    [0.0, 1.0, 2.0].map(|k| mean + 2.0 * p * (angle - k * TAU / 3.0).cos())
}

/// Density times the squares of the angular frequencies of the plane waves with this wave vector: eigenvalues of Christoffel's matrix.
fn frequencies(c: &Stiffness, k: [f64; 3]) -> [f64; 3] {
    let entry = |i: usize, l: usize| {
        let pairs = (0..3).flat_map(|j| (0..3).map(move |m| (j, m)));
        pairs
            .map(|(j, m)| c[voigt(i, j)][voigt(l, m)] * k[j] * k[m])
            .sum()
    };
    let mut all = eigenvalues(std::array::from_fn(|i| std::array::from_fn(|l| entry(i, l))));
    all.sort_by(f64::total_cmp);
    all
}

/// Whether no plane wave carries its energy along an axis against its phase (Becache, Fauqueux & Joly 2003): with the wave number along that
/// axis every frequency must rise.
fn holds(c: &Stiffness, axis: usize, dimension: usize) -> bool {
    let step = 1e-4;
    let scale = (0..3).map(|i| c[i][i]).sum::<f64>();
    // Angles from the axis; in 3-D planes through it.
    let planes = if dimension == 3 { DIRECTIONS / 2 } else { 1 };
    let waves = (1..DIRECTIONS / 4).flat_map(|a| (0..planes).map(move |b| (a, b)));
    waves.into_iter().all(|(a, b)| {
        let (angle, turn) = (a as f64 * TAU / DIRECTIONS as f64, b as f64 * TAU / planes as f64);
        let mut k = [0.0; 3];
        k[axis] = angle.cos();
        // In 2-D the plane is that of x and z.
        let others = if dimension == 3 {
            [(axis + 1) % 3, (axis + 2) % 3]
        } else {
            [2 - axis, 1]
        };
        k[others[0]] = angle.sin() * if dimension == 3 { turn.cos() } else { 1.0 };
        if dimension == 3 {
            k[others[1]] = angle.sin() * turn.sin();
        }
        let both_signs = if dimension == 3 { 1 } else { 2 };
        (0..both_signs).all(|sign| {
            let mut k = k;
            if sign == 1 {
                k[others[0]] = -k[others[0]];
            }
            let moved = |by: f64| {
                let mut k = k;
                k[axis] += by;
                frequencies(c, k)
            };
            let (low, high) = (moved(-step), moved(step));
            (0..3).all(|wave| high[wave] - low[wave] >= -2e-6 * scale * step)
        })
    })
}

/// An element in layers whose solid has waves that would grow there, with the axis of such a layer.
pub(super) fn growing<const D: usize>(setup: &Setup<D>) -> Option<(usize, usize)> {
    let table = Tabulated::new(setup.mesh.order(), setup.basis);
    let of_space = |axis: usize| if D == 2 { 2 * axis } else { axis };
    let grows =
        |c: &Stiffness, axes: u8| (0..D).find(|axis| axes >> axis & 1 == 1 && !holds(c, of_space(*axis), D));
    // Regions of one medium are looked at once for each kind of layer.
    let mut known = std::collections::BTreeMap::new();
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

    /// c11, c33, c55, c13 in the plane of x and z; along y like x.
    fn crystal([c11, c33, c55, c13]: [f64; 4]) -> Stiffness {
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
    fn media_of_becache_and_others_are_told_apart() {
        for dimension in [2, 3] {
            let all = |c: Stiffness| [0, 2].map(|axis| holds(&c, axis, dimension));
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

    #[test]
    fn eigenvalues_are_the_roots() {
        let found = eigenvalues([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 5.0]]);
        for (found, exact) in found.into_iter().zip([5.0, 3.0, 1.0]) {
            assert!((found - exact).abs() < 1e-12, "{found}");
        }
    }
}
