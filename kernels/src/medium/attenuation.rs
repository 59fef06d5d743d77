//! Constant Q over a frequency band, by standard linear solids with common relaxation times.
//!
//! A modulus is `M(w) = M_U m(w)`, `m(w) = 1 - phi sum_l w_l / (1 + i w tau_l)`. The relaxation times are spaced
//! evenly in the logarithm of the frequency. The weights `w_l`, which are non-negative and the same for all cells,
//! make `Q(w)` as constant as possible in the band; `phi` is chosen for the Q of a cell, and `M_U` for its speed at
//! the reference frequency.

/// Number of frequencies at which the band is sampled.
const SAMPLES: usize = 60;

/// The distribution of relaxation mechanisms over the cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanisms {
    /// All of them, 1 to 4, in every cell: a generalised standard linear solid.
    Everywhere(usize),
    /// One mechanism in each cell, so that every block of two cells along each axis contains all of them: 4 in 2-D and
    /// 8 in 3-D (Day & Bradley 2001).
    Coarse,
}

/// A law of attenuation for one frequency band.
#[derive(Clone, Debug, PartialEq)]
pub struct Law {
    /// Relaxation times in seconds.
    pub times: Vec<f64>,
    /// Weights of the relaxation times.
    pub weights: Vec<f64>,
    /// Frequency in Hz for which the speeds of the model are given.
    pub reference: f64,
    band: [f64; 2],
}

/// Parameters of one modulus of a cell, derived from its Q.
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Zeroable)]
pub struct Loss {
    /// `phi`, the strength of the relaxation; 0 without loss.
    pub phi: f64,
    /// Ratio of `M_U` to the product of the density and the squared speed at the reference frequency.
    pub unrelaxed: f64,
}

impl Law {
    /// A law with `count` relaxation times for the band between two frequencies in Hz, fitted best for cells with the
    /// `typical` Q. `reference` is the frequency in Hz for which speeds are given.
    pub fn new(count: usize, band: [f64; 2], reference: f64, typical: f64) -> Self {
        let count = count.max(1);
        // Relaxation times somewhat beyond the ends of the band keep Q constant there; several distances are tried.
        let tries = (0..12).map(|k| {
            let beyond = if count == 1 { -0.5 } else { 0.03 * f64::from(k) };
            let share = |k: usize| k as f64 / (count.max(2) - 1) as f64 * (1.0 + 2.0 * beyond) - beyond;
            let at = |k: usize| band[0] * (band[1] / band[0]).powf(share(k));
            let times: Vec<f64> = (0..count)
                .map(|k| 1.0 / (std::f64::consts::TAU * at(k)))
                .collect();
            // Q times the loss for phi = 1/Q is one if the sum of these terms, which is linear in the weights, is one.
            let row = |w: f64| -> Vec<f64> {
                let term = |t: &f64| (w * t + 1.0 / typical) / (1.0 + (w * t).powi(2));
                times.iter().map(term).collect()
            };
            let rows: Vec<Vec<f64>> = frequencies(band).map(row).collect();
            let weights = non_negative(&rows);
            let off = rows.iter().map(|row| {
                let sum: f64 = row.iter().zip(&weights).map(|(r, w)| r * w).sum();
                (sum - 1.0).abs()
            });
            (off.fold(0.0, f64::max), times, weights)
        });
        let best = tries.min_by(|a, b| a.0.total_cmp(&b.0));
        let (_, times, weights) = best.expect("several are tried");
        Self {
            times,
            weights,
            reference,
            band,
        }
    }

    /// Real and imaginary part of `sum_l w_l / (1 + i w tau_l)`, the latter with its sign changed.
    fn sums(&self, w: f64) -> [f64; 2] {
        let terms = self.times.iter().zip(&self.weights);
        terms.fold([0.0, 0.0], |[re, im], (t, weight)| {
            let share = weight / (1.0 + (w * t).powi(2));
            [re + share, im + share * w * t]
        })
    }

    /// Quality factor of a modulus at a frequency in Hz, and its phase speed relative to the speed with the modulus
    /// `M_U`.
    pub fn at(&self, phi: f64, frequency: f64) -> [f64; 2] {
        let [re, im] = self.sums(std::f64::consts::TAU * frequency);
        let (re, im) = (1.0 - phi * re, phi * im);
        // The argument of 1/sqrt(m) is -1/2 times the argument of m.
        let slowness = (0.5 * im.atan2(re)).cos() / re.hypot(im).sqrt();
        [re / im, 1.0 / slowness]
    }

    /// The largest relative deviation from `q` in the band of the quality factor of a cell that should have `q`.
    pub fn unevenness(&self, q: f64) -> f64 {
        let phi = self.loss(q).phi;
        let off = |w: f64| (self.at(phi, w / std::f64::consts::TAU)[0] / q - 1.0).abs();
        frequencies(self.band).map(off).fold(0.0, f64::max)
    }

    /// The parameters with which the mean of 1/Q over the band is `1/q`. An infinite or non-positive `q` means no loss.
    pub fn loss(&self, q: f64) -> Loss {
        if !(q.is_finite() && q > 0.0) {
            return Loss {
                phi: 0.0,
                unrelaxed: 1.0,
            };
        }
        let most = 1.0 / self.weights.iter().sum::<f64>();
        let (mut low, mut high) = (0.0, most);
        let sums: Vec<_> = frequencies(self.band).map(|w| self.sums(w)).collect();
        for _ in 0..50 {
            let phi = 0.5 * (low + high);
            let lost: f64 = sums.iter().map(|[re, im]| phi * im / (1.0 - phi * re)).sum();
            if lost / SAMPLES as f64 > 1.0 / q {
                high = phi
            } else {
                low = phi
            }
        }
        Loss {
            phi: low,
            unrelaxed: self.at(low, self.reference)[1].powi(-2),
        }
    }
}

/// Angular frequencies of a band, evenly spaced in the logarithm.
fn frequencies(band: [f64; 2]) -> impl Iterator<Item = f64> {
    let ratio = band[1] / band[0];
    (0..SAMPLES).map(move |k| std::f64::consts::TAU * band[0] * ratio.powf((k as f64 + 0.5) / SAMPLES as f64))
}

/// Non-negative weights for which the weighted sums of the rows are closest to one in the least-squares sense, by
/// coordinate descent.
fn non_negative(rows: &[Vec<f64>]) -> Vec<f64> {
    let n = rows[0].len();
    let dot = |i: usize, j: usize| rows.iter().map(|r| r[i] * r[j]).sum::<f64>();
    let normal: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| dot(i, j)).collect()).collect();
    let right: Vec<f64> = (0..n).map(|i| rows.iter().map(|r| r[i]).sum()).collect();
    let mut x = vec![0.0f64; n];
    for _ in 0..3000 {
        for i in 0..n {
            let others: f64 = (0..n).filter(|&j| j != i).map(|j| normal[i][j] * x[j]).sum();
            x[i] = ((right[i] - others) / normal[i][i]).max(0.0);
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q_is_constant_in_the_band() {
        // Each row has the number of mechanisms, the ratio of the upper to the lower end of the band, and the largest
        // allowed deviation of Q.
        for (count, ratio, tolerance) in [
            (1, 1.3, 0.02),
            (2, 4.0, 0.03),
            (3, 12.0, 0.03),
            (4, 40.0, 0.03),
            (8, 200.0, 0.03),
        ] {
            for q in [20.0, 50.0, 200.0, 500.0] {
                let law = Law::new(count, [1.0, ratio], 3.0, q);
                let loss = law.loss(q);
                let off = |k: i32| law.at(loss.phi, ratio.powf(f64::from(k) / 20.0))[0] / q - 1.0;
                let worst = crate::largest::largest((0..=20).map(off));
                println!("{count} mechanisms over a ratio of {ratio}, Q {q}: {worst:.3}");
                assert!(worst < tolerance, "{count} {q}: {worst}");
                assert!((law.unevenness(q) - worst).abs() < 0.01);
                assert!((law.at(loss.phi, 3.0)[1].powi(2) * loss.unrelaxed - 1.0).abs() < 1e-12);
            }
        }
        // Three mechanisms cannot keep Q constant over four decades.
        assert!(Law::new(3, [0.01, 100.0], 1.0, 40.0).unevenness(40.0) > 0.3);
        assert_eq!(Law::new(3, [1.0, 10.0], 3.0, 50.0).loss(f64::INFINITY).phi, 0.0);
    }

    #[test]
    fn speeds_grow_with_frequency_as_constant_q_has_it() {
        // v(f2)/v(f1) = 1 + ln(f2/f1) / (pi Q)
        let law = Law::new(4, [0.5, 50.0], 5.0, 50.0);
        let loss = law.loss(50.0);
        let ratio = law.at(loss.phi, 10.0)[1] / law.at(loss.phi, 2.0)[1];
        assert!(
            ((ratio - 1.0) / (5.0f64.ln() / (std::f64::consts::PI * 50.0)) - 1.0).abs() < 0.06,
            "{ratio}"
        );
    }
}
