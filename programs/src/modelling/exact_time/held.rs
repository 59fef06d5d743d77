//! Keeps records in the time of the steps and transforms them to exact time.

use super::Correction;
use bytemuck::{cast_slice, pod_collect_to_vec};
use fourier::time_dispersion::TimeDispersion;
use rayon::prelude::*;

/// The number of traces that are transformed together.
const TOGETHER: usize = 256;

/// Records at the times of the steps, which are stored until the run ends.
pub struct Held {
    correction: Correction,
    /// The number of values in a record.
    numbers: usize,
    /// The records, one after another.
    records: Vec<f32>,
}

impl Held {
    /// Starts without records; each will have `numbers` values.
    pub fn new(correction: Correction, numbers: usize) -> Self {
        Self {
            correction,
            numbers: numbers.max(1),
            records: Vec::new(),
        }
    }

    /// Whether the record after step `it` is kept.
    pub fn wants(&self, it: usize) -> bool {
        it.is_multiple_of(self.correction.every / self.correction.given)
    }

    /// Keeps a record.
    pub fn push(&mut self, record: &[f32]) {
        if self.records.is_empty() {
            self.records.reserve(record.len() * self.correction.kept());
        }
        self.records.extend_from_slice(record);
    }

    /// The records as bytes, for [`Held::restore`].
    pub fn state(&self) -> Vec<u8> {
        let count = [self.records.len() as u64];
        [cast_slice::<u64, u8>(&count), cast_slice(&self.records)].concat()
    }

    /// Restores records from the bytes of [`Held::state`]; returns the bytes after them, or `None` if the
    /// bytes are invalid.
    pub fn restore<'a>(&mut self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let (count, rest) = bytes.split_first_chunk::<8>()?;
        let count = usize::try_from(u64::from_ne_bytes(*count)).ok()?;
        let (records, rest) = rest.split_at_checked(count.checked_mul(4)?)?;
        self.records = pod_collect_to_vec(records);
        Some(rest)
    }

    /// All records in exact time, at the steps that are kept; fewer are known after a run that ended early.
    /// The next record is the first of another run.
    pub fn finish(&mut self) -> Vec<Vec<f32>> {
        let mut records = std::mem::take(&mut self.records);
        let (correction, numbers) = (self.correction, self.numbers);
        let steps = records.len() / numbers;
        let samples = match steps == correction.kept() {
            true => correction.samples(),
            false => {
                let further = correction.time.further();
                steps.saturating_sub(further.div_ceil(correction.every))
            }
        };
        let plan = correction.plan([samples, steps]);
        by_traces(&mut records, numbers, samples, |trace| {
            plan.to_time(trace, correction.reading)
        });
        records
            .chunks_exact(numbers)
            .step_by(correction.thinned)
            .map(<[f32]>::to_vec)
            .collect()
    }
}

/// The correction of all records of a shot as a linear operator.
pub struct Operator {
    correction: Correction,
    plan: TimeDispersion,
}

impl Operator {
    /// The operator for the records of a whole run.
    pub fn new(correction: Correction) -> Self {
        Self {
            plan: correction.plan([correction.samples(), correction.kept()]),
            correction,
        }
    }

    /// The number of requested records.
    pub fn count(&self) -> usize {
        self.correction.samples().div_ceil(self.correction.thinned)
    }

    /// Transforms the records that a run keeps, `[record][number]`, to the requested records in exact time, with the
    /// same bits as [`Held`].
    pub fn of(&self, mut records: Vec<f32>) -> Vec<f32> {
        let (numbers, thinned) = (records.len() / self.correction.kept(), self.correction.thinned);
        by_traces(&mut records, numbers, self.correction.samples(), |trace| {
            self.plan.to_time(trace, self.correction.reading)
        });
        match thinned {
            1 => records,
            _ => {
                let chosen = records.chunks_exact(numbers.max(1)).step_by(thinned);
                chosen.flatten().copied().collect()
            }
        }
    }

    /// The transpose: from the requested records to the records that the run keeps.
    pub fn transposed(&self, data: Vec<f32>) -> Vec<f32> {
        let (numbers, thinned) = (data.len() / self.count(), self.correction.thinned);
        let mut records = match thinned {
            1 => data,
            _ => {
                let mut records = vec![0.0; self.correction.samples() * numbers];
                let places = records.chunks_exact_mut(numbers.max(1)).step_by(thinned);
                for (place, record) in places.zip(data.chunks_exact(numbers.max(1))) {
                    place.copy_from_slice(record);
                }
                records
            }
        };
        by_traces(&mut records, numbers, self.correction.kept(), |trace| {
            self.plan.to_time_adjoint(trace, self.correction.reading)
        });
        records
    }
}

/// Replaces records of `numbers` values, `[record][number]`, with `count` others, trace by trace.
fn by_traces(
    records: &mut Vec<f32>,
    numbers: usize,
    count: usize,
    change: impl Fn(&[f64]) -> Vec<f64> + Sync,
) {
    let (numbers, given) = (numbers.max(1), records.len() / numbers.max(1));
    records.resize(given.max(count) * numbers, 0.0);
    for begin in (0..numbers).step_by(TOGETHER) {
        let traces = begin..(begin + TOGETHER).min(numbers);
        let results: Vec<Vec<f64>> = traces
            .clone()
            .into_par_iter()
            .map(|k| {
                let trace = records.iter().skip(k).step_by(numbers).take(given);
                change(&trace.map(|&x| f64::from(x)).collect::<Vec<_>>())
            })
            .collect();
        for (record, it) in records.chunks_exact_mut(numbers).zip(0..count) {
            for (k, trace) in traces.clone().zip(&results) {
                record[k] = trace[it] as f32;
            }
        }
    }
    records.truncate(count * numbers);
}

#[cfg(test)]
mod tests {
    use super::super::ExactTime;
    use super::super::tests::time;
    use super::*;
    use fourier::time_dispersion::Reading;

    #[test]
    fn records_of_a_run_that_is_saved_go_on() {
        let exact = time(40);
        let correction = exact.records((1.0, Reading::OfOneTime), [1, 2, 4]);
        let record = |it: usize| [(it as f32 * 0.2).sin(), (it as f32 * 0.1).cos()];
        let all = |save: Option<usize>| {
            let mut held = Held::new(correction, 2);
            for it in 0..exact.steps {
                if held.wants(it) {
                    held.push(&record(it));
                }
                if save == Some(it) {
                    let state = held.state();
                    held = Held::new(correction, 2);
                    assert!(held.restore(&state[..9]).is_none());
                    assert!(held.restore(&state).is_some_and(<[u8]>::is_empty));
                }
            }
            held.finish()
        };
        let whole = all(None);
        assert_eq!((whole.len(), whole[0].len()), (10, 2));
        assert_eq!(all(Some(21)), whole);
    }

    /// After a run that ended early, only those samples exist that were followed by enough steps.
    #[test]
    fn records_of_a_run_that_ends_early_are_those_that_are_known() {
        let exact = time(90);
        let (further, every) = (exact.further(), 4);
        assert!(further % every > 0);
        let correction = exact.records((1.0, Reading::OfOneTime), [1, every, every]);
        for records in [further / every + 2, further / every + 5] {
            let mut held = Held::new(correction, 1);
            (0..records).for_each(|it| held.push(&[(it as f32 * 0.2).sin()]));
            let last = (held.finish().len() - 1) * every;
            let done = (records - 1) * every;
            assert!(
                last + further <= done && done < last + every + further,
                "{last} of {done}"
            );
        }
    }

    /// The operator gives the same records as [`Held`], and has a transpose.
    #[test]
    fn all_records_at_once_have_a_transpose() {
        let noise = |k: usize| ((k * 7919 % 1009) as f32 / 504.5 - 1.0) * 1e3;
        for (first, given, every, jdata) in [(0.5, 1, 1, 1), (1.0, 2, 2, 6)] {
            let exact: ExactTime = time(90);
            let correction = exact.records((first, Reading::OfOneTime), [given, every, jdata]);
            let (operator, numbers) = (Operator::new(correction), 3);
            let records: Vec<f32> = (0..numbers * correction.kept()).map(noise).collect();
            let mut held = Held::new(correction, numbers);
            records.chunks(numbers).for_each(|record| held.push(record));
            let result = operator.of(records.clone());
            assert_eq!(result, held.finish().concat());
            assert_eq!(result.len(), numbers * operator.count());
            let other: Vec<f32> = (0..result.len()).map(|k| noise(k + 17)).collect();
            let back = operator.transposed(other.clone());
            assert_eq!(back.len(), records.len());
            let dot = |a: &[f32], b: &[f32]| -> f64 {
                a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
            };
            let products = [dot(&result, &other), dot(&records, &back)];
            let size = (dot(&result, &result) * dot(&other, &other)).sqrt();
            // Numbers are rounded to single precision on each side.
            assert!(
                (products[0] - products[1]).abs() < 1e-7 * size,
                "{products:?} {size}"
            );
        }
    }
}
