//! Derives several quantities, each in its own file, from the values that the engine records in every step, and
//! resamples records to times other than the time steps.

use super::exact_time::{Correction, Held};
use super::fibre::Fibre;
use super::resample::{Resampler, Times};
use bytemuck::{cast_slice, pod_collect_to_vec};
use rsf_io::{Axis, Job, Output, Result, Written};
use std::borrow::Cow;
use std::fs::File;
use std::ops::Range;

/// How a quantity is derived from the recorded values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum How {
    /// The recorded values themselves.
    AsRead,
    /// Their sum times the time step.
    Sum,
    /// Their difference from the previous step, divided by the time step.
    Difference,
    /// Its value two steps earlier, plus twice the time step times the value recorded in the previous step: this gives
    /// displacements from velocities that are differences over two steps.
    Leap,
    /// Its value in the previous step, plus half a time step times the sum of the values recorded in the previous and
    /// in the current step: this gives velocities from accelerations.
    Mean,
}

impl How {
    /// The number of values that are kept from step to step for each value of the quantity.
    fn keeps(self) -> usize {
        match self {
            Self::AsRead | Self::Sum | Self::Difference => 1,
            Self::Mean => 2,
            Self::Leap => 3,
        }
    }
}

/// The recorded values that a quantity is derived from.
#[derive(Clone, Debug)]
pub enum Pick {
    /// All recorded values.
    All,
    /// The values of the first receivers in every component: the number of these receivers, and the number of all
    /// receivers.
    First(usize, usize),
    /// The strain of a fibre: the number of receivers in a component, and the first one to use.
    Along(Fibre, [usize; 2]),
}

impl Pick {
    fn of<'a>(&self, read: &'a [f32]) -> Cow<'a, [f32]> {
        match self {
            Self::All => read.into(),
            Self::First(own, of) => read.chunks(*of).flat_map(|part| &part[..*own]).copied().collect(),
            Self::Along(fibre, [of, first]) => fibre.strain(read, (*of, *first)).into(),
        }
    }
}

/// Which records of a quantity are written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum When {
    /// Every n-th record, for this n.
    Every(usize),
    /// Samples at times other than the time steps.
    At(Times),
}

/// The recipe of a derived quantity.
pub struct Derivation {
    /// The range of its values among those recorded in a step.
    pub numbers: Range<usize>,
    /// The values of this range that are used.
    pub pick: Pick,
    /// The way in which it is derived from them.
    pub how: How,
    /// The time step, s.
    pub dt: f64,
    /// Which records are written.
    pub when: When,
    /// The time-dispersion correction, after which `when` selects records.
    pub exact: Option<Correction>,
}

impl Derivation {
    /// The number of values in a record.
    fn len(&self) -> usize {
        self.pick.of(&vec![0.0; self.numbers.len()]).len()
    }

    /// The largest number of bytes that this quantity adds to [`Divide::kept`].
    pub fn kept(&self) -> usize {
        let records = match self.when {
            When::At(times) => times.kept(),
            When::Every(_) => 0,
        };
        let held = self.exact.map_or(0, |exact| 8 + exact.bytes(self.len()));
        24 + 4 * self.len() * (self.how.keeps() + records) + held
    }
}

/// A quantity and its file; `None` stands for the file of the data.
struct Way {
    derivation: Derivation,
    file: Option<Output>,
    /// Sums, and the values recorded in the previous step.
    kept: Vec<f32>,
    resampler: Option<Resampler>,
    /// Records that are kept, and corrected after the last record.
    held: Option<Held>,
}

/// All quantities of a run: the first is written to the data.
pub struct Divide(Vec<Way>);

impl Divide {
    /// A division with only the data, whose records of `numbers` values are corrected.
    pub fn of_corrected(correction: Correction, numbers: usize) -> Self {
        let derivation = Derivation {
            numbers: 0..numbers,
            pick: Pick::All,
            how: How::AsRead,
            dt: correction.dt(),
            when: When::Every(1),
            exact: Some(correction),
        };
        Self::new(vec![(derivation, None)])
    }

    /// Quantities with their files; the first quantity has no file.
    pub fn new(all: Vec<(Derivation, Option<Output>)>) -> Self {
        let way = |(derivation, file): (Derivation, Option<Output>)| Way {
            kept: vec![0.0; derivation.len() * derivation.how.keeps()],
            resampler: match derivation.when {
                When::At(times) => Some(Resampler::new(times)),
                When::Every(_) => None,
            },
            held: derivation.exact.map(|exact| Held::new(exact, derivation.len())),
            derivation,
            file,
        };
        Self(all.into_iter().map(way).collect())
    }

    /// Takes the values recorded in step `it`; `data` is the file of the first quantity.
    pub fn take(&mut self, it: usize, read: &[f32], data: &mut Output) -> Result<()> {
        for way in &mut self.0 {
            let records = way.record(it, read);
            way.write(records, data)?;
        }
        Ok(())
    }

    /// Ends a shot; the next step is the first of another shot.
    pub fn end_shot(&mut self, data: &mut Output) -> Result<()> {
        for way in &mut self.0 {
            way.kept.fill(0.0);
            let mut rest = way.corrected();
            rest.extend(way.resampler.iter_mut().flat_map(Resampler::finish));
            way.write(rest, data)?;
        }
        Ok(())
    }

    /// Writes the records that can be corrected in a run that has ended early.
    pub fn end_shot_early(&mut self, data: &mut Output) -> Result<()> {
        for way in &mut self.0 {
            let records = way.corrected();
            way.write(records, data)?;
        }
        Ok(())
    }

    /// The files in addition to the data.
    pub fn files(&mut self) -> impl Iterator<Item = &mut Output> {
        self.0.iter_mut().filter_map(|way| way.file.as_mut())
    }

    /// Gives the files a last axis of shots.
    pub fn count_shots(&mut self, shots: &Axis) {
        for file in self.files() {
            file.set_axis(4, shots);
            file.set_rank(4);
        }
    }

    /// The elements written so far into the files other than the data.
    pub fn so_far(&mut self) -> Result<Vec<Written>> {
        self.files().map(Output::so_far).collect()
    }

    /// Second handles to these files, for syncing them to disk.
    pub fn data_files(&mut self) -> Vec<File> {
        self.files().filter_map(|file| file.data_file()).collect()
    }

    /// The name of a file that is a pipe, if there is one.
    pub fn piped(&self) -> Option<String> {
        let mut files = self.0.iter().filter_map(|way| way.file.as_ref());
        files.find(|file| file.is_piped()).map(Output::name)
    }

    /// The values that later steps need: sums, the values of the last step, and records that samples still
    /// need.
    pub fn kept(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for way in &self.0 {
            bytes.extend_from_slice(cast_slice(&way.kept));
            if let Some(resampler) = &way.resampler {
                bytes.extend(resampler.kept());
            }
            bytes.extend(way.held.iter().flat_map(Held::state));
        }
        bytes
    }

    /// Restores the values of [`Divide::kept`]; `None` if they are of another run.
    pub fn restore(&mut self, mut bytes: &[u8]) -> Option<()> {
        for way in &mut self.0 {
            let (kept, rest) = bytes.split_at_checked(4 * way.kept.len())?;
            way.kept = pod_collect_to_vec(kept);
            bytes = rest;
            if let Some(resampler) = &mut way.resampler {
                bytes = resampler.restore(way.derivation.len(), bytes)?;
            }
            if let Some(held) = &mut way.held {
                bytes = held.restore(bytes)?;
            }
        }
        bytes.is_empty().then_some(())
    }

    /// Ends the files.
    pub fn finish(self) -> Result<()> {
        let mut files = self.0.into_iter().filter_map(|way| way.file);
        files.try_for_each(Output::finish)
    }

    /// Ends the files early, with the complete records along their last axis; returns a description of their contents.
    pub fn finish_early(self, axis: usize, what: &str) -> Result<Vec<String>> {
        let files = self.0.into_iter().filter_map(|way| way.file);
        files
            .map(|file| Ok(format!("{} {what}", ended(file, axis, None)?)))
            .collect()
    }
}

impl Way {
    /// The records that can be written after step `it`.
    fn record(&mut self, it: usize, read: &[f32]) -> Vec<Vec<f32>> {
        let (read, dt) = (
            self.derivation.pick.of(&read[self.derivation.numbers.clone()]),
            self.derivation.dt,
        );
        let record = match self.derivation.how {
            How::AsRead => read.to_vec(),
            How::Sum => {
                let dt = dt as f32;
                self.kept
                    .iter_mut()
                    .zip(read.iter())
                    .for_each(|(sum, x)| *sum += dt * x);
                self.kept.clone()
            }
            How::Difference => {
                let before = std::mem::replace(&mut self.kept, read.to_vec());
                let rate = |(&then, &now): (&f32, &f32)| ((f64::from(now) - f64::from(then)) / dt) as f32;
                before.iter().zip(read.iter()).map(rate).collect()
            }
            How::Leap => {
                let (sums, then) = self.kept.split_at_mut(2 * read.len());
                let (last, before) = sums.split_at_mut(read.len());
                for ((last, before), then) in last.iter_mut().zip(before).zip(then.iter()) {
                    let next = f64::from(*before) + 2.0 * dt * f64::from(*then);
                    (*before, *last) = (*last, next as f32);
                }
                then.copy_from_slice(&read);
                last.to_vec()
            }
            How::Mean => {
                let (sums, then) = self.kept.split_at_mut(read.len());
                for ((sum, then), now) in sums.iter_mut().zip(then.iter_mut()).zip(read.iter()) {
                    let change = 0.5 * dt * (f64::from(*then) + f64::from(*now));
                    *sum = (f64::from(*sum) + change) as f32;
                    *then = *now;
                }
                sums.to_vec()
            }
        };
        if let Some(held) = &mut self.held {
            if held.wants(it) {
                held.push(&record);
            }
            return Vec::new();
        }
        match (&mut self.resampler, self.derivation.when) {
            (Some(resampler), _) => resampler.push(&record),
            (None, When::Every(every)) if it.is_multiple_of(every) => vec![record],
            _ => Vec::new(),
        }
    }

    /// The records that were held, in exact time.
    fn corrected(&mut self) -> Vec<Vec<f32>> {
        let records = self.held.as_mut().map(Held::finish).unwrap_or_default();
        match &mut self.resampler {
            Some(resampler) => records.iter().flat_map(|record| resampler.push(record)).collect(),
            None => records,
        }
    }

    fn write(&mut self, records: Vec<Vec<f32>>, data: &mut Output) -> Result<()> {
        let file = self.file.as_mut().unwrap_or(data);
        records.iter().try_for_each(|record| file.write_f32(record))
    }
}

/// The quantity of data=.
///
/// # Errors
/// Returns an error if several quantities are given, because standard output takes only one.
pub fn one_quantity(job: &Job) -> anyhow::Result<String> {
    let text = job.text("data")?.unwrap_or_default();
    if let Some((first, rest)) = text.split_once(',') {
        let words: Vec<String> = rest.split(',').map(|word| format!("{word}={word}.rsf")).collect();
        anyhow::bail!(
            "data={text}: standard output takes one quantity, and each further one goes into a file that a \
            parameter of its name gives: data={first} {}",
            words.join(" ")
        );
    }
    Ok(text)
}

/// Sets the quantity of an output in its header, as in `velocity in m/s`.
pub fn put_quantity(output: &mut Output, quantity: &str) {
    let (label, unit) = quantity.split_once(" in ").unwrap_or((quantity, ""));
    let (first, rest) = label.split_at(label.len().min(1));
    output.put_text("quantity", quantity);
    output.put_text("label", &(first.to_uppercase() + rest));
    output.put_text("unit", unit);
}

/// Ends an output early and returns a description of its contents.
pub fn ended(output: Output, axis: usize, records: Option<u64>) -> Result<String> {
    let (written, of) = output.records(axis)?;
    let (name, records) = (output.name(), records.unwrap_or(written));
    output.finish_at(axis, records)?;
    Ok(format!("{name} holds {records} of {of}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn derivation(how: How) -> Derivation {
        Derivation {
            numbers: 1..3,
            pick: Pick::All,
            how,
            dt: 0.5,
            when: When::Every(1),
            exact: None,
        }
    }

    /// For `v = n` and `dt = 1/2`, `u(n + 1) = u(n - 1) + 2 dt v(n)` is a quarter of the square of the step,
    /// rounded down.
    #[test]
    fn leaps_are_those_of_the_formula() {
        let mut all = Divide::new(vec![(derivation(How::Leap), None)]);
        for it in 0..9 {
            let read = [7.0, it as f32, -2.0 * it as f32];
            let expected = ((it * it) / 4) as f32;
            assert_eq!(all.0[0].record(it, &read), [[expected, -2.0 * expected]], "{it}");
        }
    }

    /// Checks the values 1, 2, 3, ... with `dt = 1/2`: their integrals by the rectangle rule and by the trapezoidal
    /// rule, and their differences, each with the value zero before the first sample.
    #[test]
    fn sums_means_and_differences_are_those_of_their_formulas() {
        let mut all: Vec<_> = [How::AsRead, How::Sum, How::Difference, How::Mean]
            .map(|how| Divide::new(vec![(derivation(how), None)]))
            .into();
        for it in 0..7 {
            let x = it as f32 + 1.0;
            let read = [7.0, x, -4.0 * x];
            let records: Vec<_> = all.iter_mut().map(|all| all.0[0].record(it, &read)).collect();
            let sum = 0.25 * x * (x + 1.0);
            let trapezoids = 0.25 * x * x;
            for (record, expected) in records.into_iter().zip([x, sum, 2.0, trapezoids]) {
                assert_eq!(record, [[expected, -4.0 * expected]], "{it}");
            }
        }
    }

    /// A quantity is recorded once in a given number of steps, at the first receivers of every component or at all
    /// receivers.
    #[test]
    fn records_have_the_requested_receivers_and_steps() {
        let mut own = derivation(How::AsRead);
        (own.numbers, own.pick, own.when) = (1..7, Pick::First(2, 3), When::Every(3));
        assert_eq!(own.len(), 4);
        let mut all = Divide::new(vec![(own, None)]);
        let read: Vec<f32> = (0..9).map(|k| k as f32).collect();
        for it in 0..7 {
            let expected = match it {
                0 | 3 | 6 => vec![vec![1.0, 2.0, 4.0, 5.0]],
                _ => Vec::new(),
            };
            assert_eq!(all.0[0].record(it, &read), expected, "{it}");
        }
    }

    /// Each quantity continues from its own kept values; bytes of another run are refused.
    #[test]
    fn quantities_go_on_with_what_was_kept() {
        let new = || {
            Divide::new(
                [How::Sum, How::Leap, How::Mean]
                    .map(|how| (derivation(how), None))
                    .into(),
            )
        };
        let mut whole = new();
        let read = |it: usize| [0.0, 1.0 + it as f32, 0.5 - it as f32];
        let step = |all: &mut Divide, it: usize| -> Vec<_> {
            all.0.iter_mut().map(|way| way.record(it, &read(it))).collect()
        };
        (0..5).for_each(|it| _ = step(&mut whole, it));
        let bytes = whole.kept();
        let mut other = new();
        assert_eq!(other.restore(&bytes), Some(()));
        for it in 5..8 {
            assert_eq!(step(&mut whole, it), step(&mut other, it), "{it}");
        }
        for wrong in [&bytes[4..], &[&bytes[..], &[0; 4]].concat()] {
            assert_eq!(new().restore(wrong), None);
        }
    }

    #[test]
    fn memory_is_known_in_advance() {
        for how in [How::AsRead, How::Sum, How::Difference, How::Leap, How::Mean] {
            let held = Divide::new(vec![(derivation(how), None)]).kept().len();
            assert!(held > 0);
            assert_eq!(derivation(how).kept(), 24 + held, "{how:?}");
        }
    }
}
