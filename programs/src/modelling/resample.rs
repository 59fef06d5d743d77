//! Records at other times than those of the steps, behind a filter against aliasing: `dtout=`.

use bytemuck::{cast_slice, pod_collect_to_vec};
use kernels::time_dispersion::bessel;
use std::collections::VecDeque;
use std::f64::consts::PI;

/// Half the length of the filter, in samples of the coarser step.
const HALF: f64 = 16.0;
/// Where the filter has fallen to a half, as a share of the sampling frequency of the coarser step. With the window below the band from
/// 0.34 to 0.5 is its slope.
const CUT: f64 = 0.42;
/// Shape of Kaiser's window (Kaiser 1974): what lies beyond the slope is 80 dB down.
const BETA: f64 = 8.0;

/// The times of records, and those of samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// Of the first record, s.
    pub first: f64,
    /// From record to record, s.
    pub dt: f64,
    /// From sample to sample, s; the first one is at zero.
    pub step: f64,
    /// Samples.
    pub count: usize,
}

impl Times {
    /// Half the length of the filter, s.
    fn half(&self) -> f64 {
        HALF * self.dt.max(self.step)
    }

    /// Records that a [`Resampler`] keeps at most.
    pub fn kept(&self) -> usize {
        ((2.0 * self.half() + self.step) / self.dt) as usize + 3
    }
}

/// Makes samples of records as they come. Before the first record everything was at rest; behind the last one its numbers stay.
pub struct Resampler {
    times: Times,
    /// The last records, and the number of the first of them.
    records: VecDeque<Vec<f32>>,
    begin: usize,
    /// The number of the next sample.
    next: usize,
}

impl Resampler {
    /// For records at these times.
    pub fn new(times: Times) -> Self {
        Self {
            times,
            records: VecDeque::new(),
            begin: 0,
            next: 0,
        }
    }

    /// All that was not used up, for [`Resampler::restore`]: the next sample, the number of the first record, how many there are,
    /// the records.
    pub fn kept(&self) -> Vec<u8> {
        let counts = [self.next, self.begin, self.records.len()].map(|n| n as u64);
        let mut bytes = cast_slice::<u64, u8>(&counts).to_vec();
        self.records
            .iter()
            .for_each(|record| bytes.extend_from_slice(cast_slice(record)));
        bytes
    }

    /// Goes on with what was kept of records of so many numbers; what is left of the bytes, or `None` where they are something else.
    pub fn restore<'a>(&mut self, numbers: usize, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let (counts, rest) = bytes.split_at_checked(24)?;
        let counts: Vec<u64> = pod_collect_to_vec(counts);
        let count = usize::try_from(counts[2]).ok()?;
        let (records, rest) = rest.split_at_checked(count.checked_mul(4 * numbers)?)?;
        (self.next, self.begin) = (counts[0] as usize, counts[1] as usize);
        let records = records.chunks_exact((4 * numbers).max(1));
        self.records = records.map(pod_collect_to_vec).collect();
        Some(rest)
    }

    /// The records that a sample needs; those before the first are at rest.
    fn needed(&self, sample: usize) -> [i64; 2] {
        let at = sample as f64 * self.times.step - self.times.first;
        let record = |time: f64| time / self.times.dt;
        [
            record(at - self.times.half()).ceil() as i64,
            record(at + self.times.half()).floor() as i64,
        ]
    }

    /// Takes the next record, and gives the samples that can be made then.
    pub fn push(&mut self, record: &[f32]) -> Vec<Vec<f32>> {
        self.records.push_back(record.to_vec());
        let mut made = Vec::new();
        while self.next < self.times.count
            && self.needed(self.next)[1] < (self.begin + self.records.len()) as i64
        {
            made.push(self.sample());
        }
        made
    }

    /// The rest of the samples; what follows is the first record of another run.
    pub fn finish(&mut self) -> Vec<Vec<f32>> {
        let mut made = Vec::new();
        while self.next < self.times.count && !self.records.is_empty() {
            made.push(self.sample());
        }
        *self = Self::new(self.times);
        made
    }

    /// The next sample.
    fn sample(&mut self) -> Vec<f32> {
        let [first, last] = self.needed(self.next);
        let kept = self.begin as i64..(self.begin + self.records.len()) as i64;
        let mut sums = vec![0.0f64; self.records[0].len()];
        let mut all = 0.0;
        for number in first..=last {
            let time = self.times.first + number as f64 * self.times.dt;
            let weight = self.weight(self.next as f64 * self.times.step - time);
            all += weight;
            if number < 0 {
                continue;
            }
            let record = &self.records[(number.clamp(kept.start, kept.end - 1) - kept.start) as usize];
            for (sum, &x) in sums.iter_mut().zip(record) {
                *sum += weight * f64::from(x);
            }
        }
        self.next += 1;
        // What no later sample needs, but for the last record, which stands for those behind it.
        while (self.begin as i64) < self.needed(self.next)[0] && self.records.len() > 1 {
            self.records.pop_front();
            self.begin += 1;
        }
        sums.into_iter().map(|sum| (sum / all) as f32).collect()
    }

    /// The filter: a sinc under Kaiser's window.
    fn weight(&self, time: f64) -> f64 {
        let share = time / self.times.half();
        let x = 2.0 * PI * CUT * time / self.times.dt.max(self.times.step);
        let sinc = if x == 0.0 { 1.0 } else { x.sin() / x };
        sinc * bessel(BETA * (1.0 - share * share).max(0.0).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples of a wave of so many periods a second, and the times of them.
    fn resampled(times: Times, frequency: f64) -> Vec<f64> {
        let mut made = Vec::new();
        let mut resampler = Resampler::new(times);
        let records = (times.count as f64 * times.step / times.dt) as usize + 1;
        for k in 0..records {
            let t = times.first + k as f64 * times.dt;
            made.extend(resampler.push(&[(2.0 * PI * frequency * t).sin() as f32, 3.0]));
        }
        made.extend(resampler.finish());
        assert_eq!(made.len(), times.count);
        // Numbers that stay have their value once the rest before them is behind.
        let behind = (HALF * times.dt.max(times.step) / times.step) as usize + 2;
        assert!(made[behind..].iter().all(|x| (x[1] - 3.0).abs() < 1e-5));
        made.into_iter().map(|x| f64::from(x[0])).collect()
    }

    /// The largest magnitude; what is not a number is larger than all.
    fn largest(numbers: impl Iterator<Item = f64>) -> f64 {
        let most = numbers.map(f64::abs).max_by(f64::total_cmp);
        most.expect("there are numbers")
    }

    /// Before the first record there is rest: of records of one the filter takes the half that lies behind it.
    #[test]
    fn before_the_first_record_there_is_rest() {
        let times = Times {
            first: 0.0,
            dt: 0.001,
            step: 0.004,
            count: 20,
        };
        let mut resampler = Resampler::new(times);
        let mut made = Vec::new();
        for _ in 0..80 {
            made.extend(resampler.push(&[1.0]));
        }
        made.extend(resampler.finish());
        let [first, last] = resampler.needed(0);
        let all: f64 = (first..=last)
            .map(|k| resampler.weight(k as f64 * times.dt))
            .sum();
        let wanted = 0.5 * (1.0 + resampler.weight(0.0) / all);
        assert!(
            (f64::from(made[0][0]) - wanted).abs() < 1e-6,
            "{} for {wanted}",
            made[0][0]
        );
        assert!((made[19][0] - 1.0).abs() < 1e-6, "{}", made[19][0]);
    }

    #[test]
    fn what_is_below_the_band_stays_and_what_is_above_goes() {
        for (first, dt, step) in [
            (0.0005, 0.001, 0.004),
            (0.0, 0.001, 0.0037),
            (0.001, 0.001, 0.00025),
        ] {
            let times = Times {
                first,
                dt,
                step,
                count: (2.0 / step) as usize,
            };
            let coarse = f64::max(dt, step);
            // Away from both ends.
            let inner = (HALF * coarse / step) as usize + 1;
            let inside = inner..times.count - inner;
            let frequency = 0.3 / coarse;
            let made = resampled(times, frequency);
            let off = largest(
                inside
                    .clone()
                    .map(|k| made[k] - (2.0 * PI * frequency * k as f64 * step).sin()),
            );
            assert!(off < 1e-4, "{step}: {off}");
            if step > dt {
                // Half of a wave is left in the middle of the slope, and nothing behind it. At half the sampling frequency itself
                // all samples of a sine are zero.
                let left = |frequency: f64| {
                    let made = resampled(times, frequency / step);
                    largest(inside.clone().map(|k| made[k]))
                };
                let shares = [0.34, CUT, 0.501, 0.52, 0.55, 0.8].map(left);
                println!("{step}: {shares:?}");
                // The highest of fifty different samples of a wave is up to 0.2 % below its top.
                assert!((shares[0] - 1.0).abs() < 3e-3, "{step}: {shares:?}");
                assert!((shares[1] - 0.5).abs() < 3e-3, "{step}: {shares:?}");
                assert!(
                    shares[2..].iter().all(|share| *share < 1e-4),
                    "{step}: {shares:?}"
                );
            }
        }
    }
}
