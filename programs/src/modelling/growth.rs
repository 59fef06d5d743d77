//! Detects records that grow after the waves have passed, as happens with an unstable absorbing layer long
//! before values are no longer finite.

use super::exact_time::Timing;

/// The least number of time windows in a long run. When there are twice as many, they are merged in pairs.
const WINDOWS: usize = 64;

/// The fraction of all windows through which records must rise without a pause until the end, and the factor of
/// that rise.
const RISING: f32 = 0.25;
const FACTOR: f32 = 30.0;

/// The least fraction of the logarithmic rise in either half of that time: the rise of an arriving wave slows
/// down.
const EVEN: f32 = 0.35;

/// The factor by which earlier waves must have exceeded the level at which the rise begins.
const PASSED: f32 = 1.3;

/// The least duration of the rise in periods of the sources: rounding errors before the first wave, and waves that
/// arrive at one receiver after the other, rise for a shorter time.
const PERIODS: f64 = 5.0;

/// The factor by which the rise must be longer as long as it stays below the earlier waves: the last waves of a run
/// that ends too early are often smaller than the first waves.
const BELOW: f64 = 2.0;

/// The dominant frequency of pulses of one sign, whose spectrum has no peak, as a fraction of their highest frequency.
const PULSE: f64 = 0.3;

/// The largest magnitudes of the records so far.
#[derive(Clone, Debug)]
pub struct Growth {
    /// The number of records in a period of the sources; 0 if they have no frequency.
    period: f64,
    largest: Vec<f32>,
    /// The number of records in a window, and the number of the latest window.
    records: usize,
    last: usize,
}

impl Growth {
    /// Starts without records. A run of `steps` steps with this timing has `records` records.
    pub fn new(timing: &Timing, [steps, records]: [usize; 2]) -> Self {
        let peak = timing.band.peak.max(PULSE * timing.band.max);
        let period = records as f64 / steps.max(1) as f64 / (peak * timing.dt);
        Self {
            period: if period.is_finite() { period } else { 0.0 },
            largest: Vec::new(),
            records: 1,
            last: 1,
        }
    }

    /// Takes a record.
    pub fn take(&mut self, record: &[f32]) {
        // Magnitudes have the order of their bits, with numbers that are not finite above all others.
        let magnitude = |x: &f32| x.to_bits() & !(1 << 31);
        let most = f32::from_bits(record.iter().map(magnitude).fold(0, u32::max));
        if self.last < self.records {
            self.last += 1;
            if let Some(largest) = self.largest.last_mut() {
                *largest = largest.max(most);
            }
            return;
        }
        if self.largest.len() == 2 * WINDOWS {
            // From now on windows are twice as long.
            let pairs = self.largest.chunks_exact(2);
            self.largest = pairs.map(|pair| pair[0].max(pair[1])).collect();
            self.records *= 2;
        }
        self.largest.push(most);
        self.last = 1;
    }

    /// The factor by which the records rise until the end after waves have passed, if they do.
    pub fn factor(&self) -> Option<f32> {
        // The largest records of single windows, and of half a period: slow growth oscillates with the waves from
        // window to window.
        let together = (0.5 * self.period / self.records as f64).ceil() as usize;
        self.factor_of(1).or_else(|| self.factor_of(together))
    }

    /// Like [`Growth::factor`], for the largest records of `together` windows up to each window.
    fn factor_of(&self, together: usize) -> Option<f32> {
        // The last window may be short.
        let whole = self.largest.len() - usize::from(self.last < self.records);
        let all = self.largest.get(..whole).filter(|all| all.len() >= WINDOWS)?;
        let together = together.clamp(1, all.len() / 8);
        let most = |part: &[f32]| part.iter().copied().fold(0.0, f32::max);
        let all: Vec<f32> = (1..=all.len())
            .map(|end| most(&all[end.saturating_sub(together)..end]))
            .collect();
        let rising = all.windows(2).rev().take_while(|pair| pair[1] >= pair[0]);
        let begin = all.len() - 1 - rising.count();
        let (before, rising) = all.split_at(begin);
        let (first, last) = (rising[0], rising[rising.len() - 1]);
        let passed = before.iter().copied().max_by(f32::total_cmp)?;
        let factor = last / first;
        let least = PERIODS * self.period * if last >= passed { 1.0 } else { BELOW };
        let first_half = (rising[rising.len() / 2] / first).ln() / factor.ln();
        let grows = rising.len() as f32 >= RISING * all.len() as f32
            && ((rising.len() + together - 1) * self.records) as f64 >= least
            && (FACTOR..).contains(&factor)
            && (EVEN..=1.0 - EVEN).contains(&first_half)
            && passed >= PASSED * first;
        grows.then_some(factor)
    }
}

#[cfg(test)]
mod tests {
    use super::Growth;
    use crate::modelling::exact_time::Timing;
    use kernels::stability::Band;

    /// The result for records that are a function of time from 0 to 1, with sources of ten periods in that
    /// time.
    fn growth_of(count: usize, record: impl Fn(f32) -> f32) -> Option<f32> {
        growth_with_periods(10.0, count, record)
    }

    /// Like [`growth_of`], with this number of periods.
    fn growth_with_periods(periods: f64, count: usize, record: impl Fn(f32) -> f32) -> Option<f32> {
        growth_in_a_band([periods, 3.0 * periods], count, record)
    }

    /// Like [`growth_of`], with a peak and a highest frequency.
    fn growth_in_a_band([peak, max]: [f64; 2], count: usize, record: impl Fn(f32) -> f32) -> Option<f32> {
        let timing = Timing {
            steps: count,
            dt: 1.0 / count as f64,
            band: Band { peak, max },
            begins: 0.0,
            exact: None,
        };
        let mut growth = Growth::new(&timing, [count; 2]);
        (0..count).for_each(|k| growth.take(&[0.0, record(k as f32 / count as f32)]));
        growth.factor()
    }

    fn pulse(t: f32, at: f32, width: f32) -> f32 {
        (-((t - at) / width).powi(2)).exp()
    }

    #[test]
    fn waves_that_arrive_are_no_growth() {
        for count in [40, 100, 3000, 70_001] {
            // These records have one wave at the end, a small wave before a large one, or waves that fade.
            assert_eq!(growth_of(count, |t| pulse(t, 1.0, 0.1)), None);
            assert_eq!(
                growth_of(count, |t| 0.01 * pulse(t, 0.3, 0.05) + pulse(t, 1.0, 0.08) + 1e-4),
                None
            );
            assert_eq!(growth_of(count, |t| (300.0 * t).sin() * (-20.0 * t).exp()), None);
            assert_eq!(growth_of(count, |_| 0.0), None);
            // This run ends during its first wave, before which there is only noise at the level of rounding.
            let first = |t: f32| 1e-12 * pulse(t, 0.2, 0.05) + 1e-16 * (25.0 * t).exp();
            assert_eq!(growth_with_periods(1.0, count, first), None);
            assert!(count < 100 || growth_of(count, first).is_some());
            // The spectra of pulses of one sign have no peak.
            assert_eq!(growth_in_a_band([0.0, 4.0], count, first), None);
            assert!(count < 100 || growth_in_a_band([0.0, 30.0], count, first).is_some());
        }
    }

    #[test]
    fn growth_that_oscillates_with_the_waves_is_detected() {
        // Windows of 1500 records are shorter than half a period, so that their largest records rise and fall.
        let turns = |t: f32| (std::f32::consts::TAU * 24.0 * t).sin();
        let factor = growth_with_periods(24.0, 1500, |t| {
            pulse(t, 0.1, 0.05) + 1e-3 * (14.0 * t).exp() * turns(t)
        });
        assert!(factor.is_some_and(|x| x > 1e3), "{factor:?}");
    }

    #[test]
    fn last_waves_below_the_first_ones_must_rise_for_longer() {
        let record = |t: f32| pulse(t, 0.3, 0.05) + 0.5 * (12.0 * (t - 1.0)).exp();
        assert_eq!(growth_with_periods(10.0, 3000, record), None);
        assert!(growth_with_periods(40.0, 3000, record).is_some());
    }

    #[test]
    fn what_grows_behind_waves_is_detected() {
        for count in [100, 3000, 70_001] {
            let factor = growth_of(count, |t| pulse(t, 0.1, 0.05) + 1e-9 * (30.0 * t).exp());
            // The pulse has passed at 0.3: e^(30 * 0.7).
            assert!(factor.is_some_and(|x| (1e7..1e10).contains(&x)), "{factor:?}");
            let slow = growth_of(count, |t| 1e-3 * pulse(t, 0.1, 0.03) + 1e-4 * (12.0 * t).exp());
            assert!(slow.is_some_and(|x| x > 1e3), "{slow:?}");
        }
    }
}
