//! Records that grow behind waves that have passed: what an unstable absorbing layer leaves in them long before they are no numbers.

/// Windows of time whose largest records are kept.
const WINDOWS: usize = 64;

/// The share of all windows in which records must rise until the end without a pause, and by what factor.
const RISING: f32 = 0.25;
const FACTOR: f32 = 30.0;

/// The share of the rise, in logarithms, that either half of that time must have: a wave that arrives rises less and less.
const EVEN: f32 = 0.35;

/// By how much waves before must have been above where the rise begins.
const PASSED: f32 = 1.3;

/// The largest magnitudes of the records so far.
#[derive(Debug)]
pub struct Growth {
    largest: Vec<f32>,
    /// Records of a window, and those of the last one so far.
    records: usize,
    last: usize,
}

impl Default for Growth {
    fn default() -> Self {
        Self {
            largest: Vec::new(),
            records: 1,
            last: 1,
        }
    }
}

impl Growth {
    /// Takes a record.
    pub fn take(&mut self, record: &[f32]) {
        let most = record
            .iter()
            .map(|x| x.abs())
            .max_by(f32::total_cmp)
            .unwrap_or(0.0);
        if self.last < self.records {
            self.last += 1;
            if let Some(largest) = self.largest.last_mut() {
                *largest = largest.max(most);
            }
            return;
        }
        if self.largest.len() == 2 * WINDOWS {
            // Windows become twice as long.
            let pairs = self.largest.chunks_exact(2);
            self.largest = pairs.map(|pair| pair[0].max(pair[1])).collect();
            self.records *= 2;
        }
        self.largest.push(most);
        self.last = 1;
    }

    /// By what factor the records of a whole run rise, if they do.
    pub fn of<'a>(records: impl Iterator<Item = &'a [f32]>) -> Option<f32> {
        let mut growth = Self::default();
        records.for_each(|record| growth.take(record));
        growth.factor()
    }

    /// By what factor the records rise until the end, behind waves that have passed, if they do.
    pub fn factor(&self) -> Option<f32> {
        // The last window may be short.
        let whole = self.largest.len() - usize::from(self.last < self.records);
        let all = self.largest.get(..whole).filter(|all| all.len() >= WINDOWS)?;
        let rising = all.windows(2).rev().take_while(|pair| pair[1] >= pair[0]);
        let begin = all.len() - 1 - rising.count();
        let (before, rising) = all.split_at(begin);
        let (first, last) = (rising[0], rising[rising.len() - 1]);
        let passed = before.iter().copied().max_by(f32::total_cmp)?;
        let factor = last / first;
        let first_half = (rising[rising.len() / 2] / first).ln() / factor.ln();
        let grows = rising.len() as f32 >= RISING * all.len() as f32
            && (FACTOR..).contains(&factor)
            && (EVEN..=1.0 - EVEN).contains(&first_half)
            && passed >= PASSED * first;
        grows.then_some(factor)
    }
}

#[cfg(test)]
mod tests {
    use super::Growth;

    /// What is found in records that a function of time from 0 to 1 gives.
    fn found(count: usize, record: impl Fn(f32) -> f32) -> Option<f32> {
        let mut growth = Growth::default();
        (0..count).for_each(|k| growth.take(&[0.0, record(k as f32 / count as f32)]));
        growth.factor()
    }

    fn pulse(t: f32, at: f32, width: f32) -> f32 {
        (-((t - at) / width).powi(2)).exp()
    }

    #[test]
    fn waves_that_arrive_are_no_growth() {
        for count in [40, 100, 3000, 70_001] {
            // One wave at the end, a small one before a large one, and waves that fade.
            assert_eq!(found(count, |t| pulse(t, 1.0, 0.1)), None);
            assert_eq!(
                found(count, |t| 0.01 * pulse(t, 0.3, 0.05) + pulse(t, 1.0, 0.08) + 1e-4),
                None
            );
            assert_eq!(found(count, |t| (300.0 * t).sin() * (-20.0 * t).exp()), None);
            assert_eq!(found(count, |_| 0.0), None);
        }
    }

    #[test]
    fn what_grows_behind_waves_is_told() {
        for count in [100, 3000, 70_001] {
            let factor = found(count, |t| pulse(t, 0.1, 0.05) + 1e-9 * (30.0 * t).exp());
            // The pulse has passed at 0.3: e^(30 * 0.7).
            assert!(factor.is_some_and(|x| (1e7..1e10).contains(&x)), "{factor:?}");
            let slow = found(count, |t| 1e-3 * pulse(t, 0.1, 0.03) + 1e-4 * (12.0 * t).exp());
            assert!(slow.is_some_and(|x| x > 1e3), "{slow:?}");
        }
    }
}
