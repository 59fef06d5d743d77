//! Constant Q over a band of periods as in SPECFEM3D: stress relaxation times at the ends and in the middle of the
//! band, evenly spaced in the logarithm, and strain relaxation times by the downhill simplex method (Nelder & Mead
//! 1965), which minimises the sum of |Q tan(delta) - 1| over a hundred frequencies (Savage, Komatitsch & Tromp 2010).

use std::f64::consts::{PI, TAU};

/// Number of relaxation mechanisms.
const COUNT: usize = 3;
/// Number of frequencies at which the misfit is evaluated.
const SAMPLES: usize = 100;
/// Width in decades of the band that SPECFEM3D chooses for three mechanisms.
const DECADES: f64 = 1.75;
/// Ratio of the shortest period of that band to the shortest period that the mesh resolves.
const MARGIN: f64 = 0.99;
/// Tolerance of the size of the simplex (s) and of the differences of its misfits at which the search ends.
const ENOUGH: f64 = 1e-4;

/// The band (lowest and highest frequency, Hz) that SPECFEM3D chooses on a mesh that resolves frequencies up to
/// `resolved`.
pub fn band(resolved: f64) -> [f64; 2] {
    let highest = resolved / MARGIN;
    [highest / 10.0_f64.powf(DECADES), highest]
}

/// The stress relaxation times for a band (Hz), and the strain relaxation times for a quality factor, both in seconds.
pub fn times(quality: f64, band: [f64; 2]) -> [[f64; COUNT]; 2] {
    let stress: [f64; COUNT] = evenly(band).map(|frequency| 1.0 / (TAU * frequency));
    let frequencies: [f64; SAMPLES] = evenly(band);
    let cost = |strain: &[f64; COUNT]| -> f64 {
        let off = frequencies.iter().map(|frequency| {
            let w = TAU * frequency;
            let (mut lost, mut kept) = (0.0, 0.0);
            for (s, e) in stress.iter().zip(strain) {
                let share = 1.0 / (1.0 + (w * s).powi(2));
                lost += w * (e - s) * share;
                kept += (1.0 + w * w * e * s) * share;
            }
            (quality * lost / kept - 1.0).abs()
        });
        off.sum()
    };
    let first = stress.map(|time| time * (1.0 + 2.0 / quality));
    [stress, downhill(cost, first)]
}

/// The ratio of the unrelaxed modulus to that at the frequency `reference` (Hz). Between the reference and the middle
/// of the band the modulus varies as for constant Q, and beyond as given by the mechanisms.
pub fn unrelaxed(quality: f64, [stress, strain]: [[f64; COUNT]; 2], band: [f64; 2], reference: f64) -> f64 {
    let middle = (band[0] * band[1]).sqrt();
    let (mut whole, mut there) = (1.0, 1.0);
    for (s, e) in stress.iter().zip(strain) {
        let share = (e / s - 1.0) / COUNT as f64;
        whole += share;
        there += share / (1.0 + (TAU * middle * s).powi(-2));
    }
    whole / there * (1.0 + 2.0 * (middle / reference).ln() / (PI * quality))
}

/// Frequencies from one end of a band to the other, evenly spaced in the logarithm.
fn evenly<const N: usize>([low, high]: [f64; 2]) -> [f64; N] {
    std::array::from_fn(|k| low * (high / low).powf(k as f64 / (N - 1) as f64))
}

/// Minimises `cost` by the downhill simplex method: its steps are reflection of the worst corner, expansion,
/// contraction, and shrinking towards the best corner.
fn downhill<const N: usize>(cost: impl Fn(&[f64; N]) -> f64, first: [f64; N]) -> [f64; N] {
    let valued = |x: [f64; N]| (cost(&x), x);
    let mut corners = vec![valued(first)];
    corners.extend((0..N).map(|c| {
        let mut x = first;
        x[c] *= 1.05;
        valued(x)
    }));
    for _ in 0..200 * N {
        corners.sort_by(|a, b| a.0.total_cmp(&b.0));
        let ((best, at), (worst, far)) = (corners[0], corners[N]);
        let near = |x: &[f64; N]| x.iter().zip(&at).all(|(x, best)| (x - best).abs() <= ENOUGH);
        if worst - best <= ENOUGH && corners.iter().all(|(_, x)| near(x)) {
            break;
        }
        let middle: [f64; N] =
            std::array::from_fn(|c| corners[..N].iter().map(|(_, x)| x[c]).sum::<f64>() / N as f64);
        let along = |step: f64| valued(std::array::from_fn(|c| middle[c] + step * (middle[c] - far[c])));
        let reflected = along(1.0);
        let better = if reflected.0 < best {
            let stretched = along(2.0);
            Some(if stretched.0 < reflected.0 {
                stretched
            } else {
                reflected
            })
        } else if reflected.0 < corners[N - 1].0 {
            Some(reflected)
        } else {
            let outside = reflected.0 < worst;
            let shrunk = along(if outside { 0.5 } else { -0.5 });
            let good = if outside {
                shrunk.0 <= reflected.0
            } else {
                shrunk.0 < worst
            };
            good.then_some(shrunk)
        };
        match better {
            Some(corner) => corners[N] = corner,
            None => {
                for corner in &mut corners[1..] {
                    let x = corner.1;
                    *corner = valued(std::array::from_fn(|c| at[c] + 0.5 * (x[c] - at[c])));
                }
            }
        }
    }
    corners.sort_by(|a, b| a.0.total_cmp(&b.0));
    corners[0].1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::largest::largest;

    /// Results of SPECFEM3D Cartesian 4.1.1: periods (s), reference frequency (Hz), Q, strain relaxation times (s),
    /// and the ratio of moduli.
    type Row = ([f64; 2], f64, f64, [f64; 3], f64);
    const ROWS: [Row; 4] = [
        (
            [0.12, 3.0],
            3.0,
            25.0,
            [0.56337035, 0.10629255, 0.02291463],
            1.06280327,
        ),
        (
            [0.12, 3.0],
            3.0,
            60.0,
            [0.51278299, 0.09980094, 0.02057458],
            1.02576244,
        ),
        (
            [0.1, 2.5],
            4.0,
            90.0,
            [0.41744617, 0.08194631, 0.01672111],
            1.01635122,
        ),
        (
            [0.1, 2.5],
            4.0,
            200.0,
            [0.40666515, 0.08062966, 0.01627131],
            1.00733328,
        ),
    ];

    #[test]
    fn times_and_factors_are_those_of_specfem3d() {
        for ([shortest, longest], reference, quality, strain, factor) in ROWS {
            let band = [1.0 / longest, 1.0 / shortest];
            let mechanisms = times(quality, band);
            let off = largest((0..3).map(|k| mechanisms[1][k] / strain[k] - 1.0));
            assert!(off < 1e-6, "{quality}: {:?}", mechanisms[1]);
            let own = unrelaxed(quality, mechanisms, band, reference);
            assert!((own / factor - 1.0).abs() < 1e-7, "{quality}: {own}");
        }
    }

    #[test]
    fn its_band_ends_above_what_a_mesh_resolves() {
        let [low, high] = band(0.99);
        assert!((high - 1.0).abs() < 1e-12 && (low - 0.0177827941).abs() < 1e-9);
        // In such a band three mechanisms keep Q within 3 %.
        let [stress, strain] = times(100.0, [low, high]);
        for frequency in evenly::<50>([low, high]) {
            let w = TAU * frequency;
            let (mut lost, mut kept) = (0.0, 0.0);
            for (s, e) in stress.iter().zip(strain) {
                lost += w * (e - s) / (1.0 + (w * s).powi(2));
                kept += (1.0 + w * w * e * s) / (1.0 + (w * s).powi(2));
            }
            assert!((100.0 * lost / kept - 1.0).abs() < 0.03, "{frequency}");
        }
    }
}
