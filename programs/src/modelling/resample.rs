//! Resamples records to times other than the time steps, with an anti-alias filter: `dtout=`.

use bytemuck::{cast_slice, pod_collect_to_vec};
use fourier::time_dispersion::bessel;
use std::collections::VecDeque;
use std::f64::consts::PI;

/// Half of the length of the filter, in samples of the coarser step.
const HALF: f64 = 16.0;
/// The frequency at which the filter has fallen to one half, as a fraction of the sampling frequency of the
/// coarser step. With the window below, the filter falls from one to zero between 0.34 and 0.5.
const CUT: f64 = 0.42;
/// The part of the frequencies below the Nyquist frequency of the coarser step that the filter leaves unchanged.
pub const UNCHANGED: f64 = 2.0 * (2.0 * CUT - 0.5);
/// The shape of Kaiser's window (Kaiser 1974), for which the stop band is 80 dB down.
const BETA: f64 = 8.0;

/// The times of records, and the times of samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// Time of the first record, s.
    pub first: f64,
    /// Interval of the records, s.
    pub dt: f64,
    /// Interval of the samples, s; the first one is at zero.
    pub step: f64,
    /// Number of samples.
    pub count: usize,
}

impl Times {
    /// Half of the length of the filter, s.
    fn half(&self) -> f64 {
        HALF * self.dt.max(self.step)
    }

    /// The largest number of records that a [`Resampler`] keeps.
    pub fn kept(&self) -> usize {
        ((2.0 * self.half() + self.step) / self.dt) as usize + 3
    }

    /// The numbers of the first and the last record that a sample needs; records with negative numbers are
    /// zero.
    fn needed(&self, sample: usize) -> [i64; 2] {
        let at = sample as f64 * self.step - self.first;
        let record = |time: f64| time / self.dt;
        [
            record(at - self.half()).ceil() as i64,
            record(at + self.half()).floor() as i64,
        ]
    }

    /// The weights with which the records of a run with `records` records contribute to a sample.
    fn row(&self, sample: usize, records: usize) -> Row {
        let [first, last] = self.needed(sample);
        let from = first.clamp(0, (records as i64 - 1).max(0));
        let mut weights = Vec::new();
        let mut all = 0.0;
        for number in first..=last {
            let time = self.first + number as f64 * self.dt;
            let weight = self.weight(sample as f64 * self.step - time);
            all += weight;
            if number < 0 {
                continue;
            }
            let place = (number.clamp(from, records as i64 - 1) - from) as usize;
            weights.resize(weights.len().max(place + 1), 0.0);
            weights[place] += weight;
        }
        weights.iter_mut().for_each(|weight| *weight /= all);
        Row {
            first: from as usize,
            weights,
        }
    }

    /// The filter: a sinc under Kaiser's window.
    fn weight(&self, time: f64) -> f64 {
        let share = time / self.half();
        let x = 2.0 * PI * CUT * time / self.dt.max(self.step);
        let sinc = if x == 0.0 { 1.0 } else { x.sin() / x };
        sinc * bessel(BETA * (1.0 - share * share).max(0.0).sqrt())
    }
}

/// The weights of successive records in a sample.
struct Row {
    /// The number of the first of these records.
    first: usize,
    weights: Vec<f64>,
}

/// Computes samples from records as they arrive. Before the first record all values are zero; after the last one they
/// are constant.
pub struct Resampler {
    times: Times,
    /// The last records, and the number of the first of them.
    records: VecDeque<Vec<f32>>,
    begin: usize,
    /// The number of the next sample.
    next: usize,
}

impl Resampler {
    /// A resampler for these times.
    pub fn new(times: Times) -> Self {
        Self {
            times,
            records: VecDeque::new(),
            begin: 0,
            next: 0,
        }
    }

    /// The state, for [`Resampler::restore`]: the number of the next sample, the number of the first record
    /// that is kept, the number of these records, and the records.
    pub fn kept(&self) -> Vec<u8> {
        let counts = [self.next, self.begin, self.records.len()].map(|n| n as u64);
        let mut bytes = cast_slice::<u64, u8>(&counts).to_vec();
        self.records
            .iter()
            .for_each(|record| bytes.extend_from_slice(cast_slice(record)));
        bytes
    }

    /// Restores the state from the bytes of [`Resampler::kept`], for records of `numbers` values; returns the
    /// bytes after them, or `None` if the bytes are invalid.
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

    /// Takes the next record and returns the samples that can then be computed.
    pub fn push(&mut self, record: &[f32]) -> Vec<Vec<f32>> {
        self.records.push_back(record.to_vec());
        let mut samples = Vec::new();
        while self.next < self.times.count
            && self.times.needed(self.next)[1] < (self.begin + self.records.len()) as i64
        {
            samples.push(self.sample());
        }
        samples
    }

    /// The rest of the samples; the next record is the first of another run.
    pub fn finish(&mut self) -> Vec<Vec<f32>> {
        let mut samples = Vec::new();
        while self.next < self.times.count && !self.records.is_empty() {
            samples.push(self.sample());
        }
        *self = Self::new(self.times);
        samples
    }

    /// The next sample.
    fn sample(&mut self) -> Vec<f32> {
        let row = self.times.row(self.next, self.begin + self.records.len());
        let mut sums = vec![0.0f64; self.records[0].len()];
        for (record, weight) in (row.first..).zip(&row.weights) {
            add(*weight, &self.records[record - self.begin], &mut sums);
        }
        self.next += 1;
        // Records that no later sample needs are removed, except the last one, which represents all later records.
        while (self.begin as i64) < self.times.needed(self.next)[0] && self.records.len() > 1 {
            self.records.pop_front();
            self.begin += 1;
        }
        sums.into_iter().map(|sum| sum as f32).collect()
    }
}

/// The resampling of a shot as a linear operator, with its transpose.
pub struct Samples {
    rows: Vec<Row>,
    records: usize,
}

impl Samples {
    /// The operator for `records` records at these times.
    pub fn new(times: &Times, records: usize) -> Self {
        Self {
            rows: (0..times.count)
                .map(|sample| times.row(sample, records))
                .collect(),
            records,
        }
    }

    /// The first `count` of `records` records, unchanged, for data that end before the run. The transpose has zeros
    /// after them.
    pub fn first(count: usize, records: usize) -> Self {
        let row = |first| Row {
            first,
            weights: vec![1.0],
        };
        Self {
            rows: (0..count.min(records)).map(row).collect(),
            records,
        }
    }

    /// Number of samples.
    pub fn count(&self) -> usize {
        self.rows.len()
    }

    /// Resamples records `[record][number]` to samples `[sample][number]`, with the same bits as [`Resampler`].
    pub fn of(&self, records: &[f32]) -> Vec<f32> {
        let numbers = records.len() / self.records.max(1);
        let mut values = Vec::with_capacity(self.count() * numbers);
        for row in &self.rows {
            let mut sums = vec![0.0; numbers];
            for (record, weight) in (row.first..).zip(&row.weights) {
                add(*weight, &records[record * numbers..][..numbers], &mut sums);
            }
            values.extend(sums.into_iter().map(|sum| sum as f32));
        }
        values
    }

    /// The transpose: from samples to records.
    pub fn transposed(&self, samples: &[f32]) -> Vec<f32> {
        let numbers = samples.len() / self.count().max(1);
        let mut sums = vec![0.0; self.records * numbers];
        for (row, sample) in self.rows.iter().zip(samples.chunks_exact(numbers.max(1))) {
            for (record, weight) in (row.first..).zip(&row.weights) {
                add(*weight, sample, &mut sums[record * numbers..][..numbers]);
            }
        }
        sums.into_iter().map(|sum| sum as f32).collect()
    }
}

/// Adds `weight` times the numbers to their sums.
fn add(weight: f64, numbers: &[f32], sums: &mut [f64]) {
    for (sum, &x) in sums.iter_mut().zip(numbers) {
        *sum += weight * f64::from(x);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The resampled values of a sine wave with this frequency in Hz.
    fn resampled(times: Times, frequency: f64) -> Vec<f64> {
        let mut samples = Vec::new();
        let mut resampler = Resampler::new(times);
        let records = (times.count as f64 * times.step / times.dt) as usize + 1;
        for k in 0..records {
            let t = times.first + k as f64 * times.dt;
            samples.extend(resampler.push(&[(2.0 * PI * frequency * t).sin() as f32, 3.0]));
        }
        samples.extend(resampler.finish());
        assert_eq!(samples.len(), times.count);
        // A constant is reproduced once the zeros before it have left the filter.
        let behind = (HALF * times.dt.max(times.step) / times.step) as usize + 2;
        assert!(samples[behind..].iter().all(|x| (x[1] - 3.0).abs() < 1e-5));
        samples.into_iter().map(|x| f64::from(x[0])).collect()
    }

    /// The largest magnitude; NaN counts as larger than all numbers.
    fn largest(numbers: impl Iterator<Item = f64>) -> f64 {
        let most = numbers.map(f64::abs).max_by(f64::total_cmp);
        most.expect("there are numbers")
    }

    /// Before the first record all values are zero: with records that are all one, the filter covers only the records
    /// after the sample.
    #[test]
    fn before_the_first_record_there_is_rest() {
        let times = Times {
            first: 0.0,
            dt: 0.001,
            step: 0.004,
            count: 20,
        };
        let mut resampler = Resampler::new(times);
        let mut samples = Vec::new();
        for _ in 0..80 {
            samples.extend(resampler.push(&[1.0]));
        }
        samples.extend(resampler.finish());
        let [first, last] = times.needed(0);
        let all: f64 = (first..=last).map(|k| times.weight(k as f64 * times.dt)).sum();
        let expected = 0.5 * (1.0 + times.weight(0.0) / all);
        assert!(
            (f64::from(samples[0][0]) - expected).abs() < 1e-6,
            "{} for {expected}",
            samples[0][0]
        );
        assert!((samples[19][0] - 1.0).abs() < 1e-6, "{}", samples[19][0]);
    }

    /// All samples computed at once equal the samples computed one by one, and the transpose is exact, for records that
    /// begin anywhere and for samples that are coarser, finer, before the first record and after the last one.
    #[test]
    fn all_samples_at_once_have_a_transpose() {
        for (first, dt, step, count) in [
            (0.0005, 0.001, 0.004, 26),
            (0.001, 0.001, 0.0003, 300),
            (0.3, 0.001, 0.002, 250),
            (-0.05, 0.002, 0.0031, 90),
        ] {
            let times = Times {
                first,
                dt,
                step,
                count,
            };
            let (records, numbers) = (100, 3);
            let noise = |k: usize| ((k * 7919 % 1009) as f32 / 504.5 - 1.0) * 1e3;
            let given: Vec<f32> = (0..records * numbers).map(noise).collect();
            let samples = Samples::new(&times, records);
            let result = samples.of(&given);
            let (mut resampler, mut expected) = (Resampler::new(times), Vec::new());
            for record in given.chunks_exact(numbers) {
                expected.extend(resampler.push(record));
            }
            expected.extend(resampler.finish());
            assert_eq!(result, expected.concat());
            let other: Vec<f32> = (0..count * numbers).map(|k| noise(k + 17)).collect();
            let dot = |a: &[f32], b: &[f32]| -> f64 {
                assert_eq!(a.len(), b.len());
                a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
            };
            let products = [dot(&result, &other), dot(&given, &samples.transposed(&other))];
            // Numbers are rounded once on each side, by 1e-7 of sums of a few hundred terms that partly
            // cancel.
            let off =
                (products[0] - products[1]).abs() / dot(&result, &result).sqrt() / dot(&other, &other).sqrt();
            println!("{first} {step}: {off:.1e}");
            assert!(off < 1e-8, "{products:?}");
        }
    }

    /// A run that was interrupted after any record and continued is bit-identical to an uninterrupted run, and does not
    /// change the bytes of other values.
    #[test]
    fn what_was_kept_goes_on_behind_any_record() {
        let times = Times {
            first: 0.0005,
            dt: 0.001,
            step: 0.002,
            count: 60,
        };
        let given: Vec<[f32; 3]> = (0..120u16)
            .map(|k| [0, 1, 2].map(|number| f32::from((k % 97) * 61 % 89 + number)))
            .collect();
        let mut whole = Resampler::new(times);
        let mut expected: Vec<_> = given.iter().flat_map(|record| whole.push(record)).collect();
        expected.extend(whole.finish());
        for end in 0..given.len() {
            let mut earlier = Resampler::new(times);
            let mut samples: Vec<_> = given[..end]
                .iter()
                .flat_map(|record| earlier.push(record))
                .collect();
            let mut bytes = earlier.kept();
            bytes.extend(b"others");
            let mut later = Resampler::new(times);
            assert_eq!(later.restore(3, &bytes), Some(&b"others"[..]), "{end}");
            samples.extend(given[end..].iter().flat_map(|record| later.push(record)));
            samples.extend(later.finish());
            assert_eq!(samples, expected, "{end}");
        }
        assert_eq!(Resampler::new(times).restore(3, &whole.kept()[..23]), None);
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
            // These samples are far from both ends.
            let inner = (HALF * coarse / step) as usize + 1;
            let inside = inner..times.count - inner;
            let frequency = 0.3 / coarse;
            let samples = resampled(times, frequency);
            let off = largest(
                inside
                    .clone()
                    .map(|k| samples[k] - (2.0 * PI * frequency * k as f64 * step).sin()),
            );
            assert!(off < 1e-4, "{step}: {off}");
            if step > dt {
                // Half of a wave is left in the middle of the slope, and nothing beyond it. At half the sampling
                // frequency itself all samples of a sine are zero.
                let left = |frequency: f64| {
                    let samples = resampled(times, frequency / step);
                    largest(inside.clone().map(|k| samples[k]))
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
