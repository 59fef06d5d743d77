//! The recorder that writes RSF files, and the axes of these files.

use super::checkpoint::{Marks, Resumed};
use super::divide::{Divide, ended, put_quantity};
use super::exact_time::{CLOCK, Timing};
use super::growth::Growth;
use super::part::Part;
use super::turn::Turn;
use super::words::{warn_of_growth, warn_of_zeros};
use super::world::World;
use anyhow::Context;
use kernels::grid::points::Snapshots;
use kernels::parallel::gather::SnapshotWriter;
use kernels::time_loop::Recorder;
use rsf_io::{Axis, Job, Output, Places, SharedData};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// The axes of the outputs of a run.
pub struct Records {
    /// The axis of all steps, which begins at the time of the first record.
    pub time: Axis,
    /// The axis of the receivers.
    pub receivers: Axis,
    /// Components of the data.
    pub components: Axis,
    /// The number of steps from record to record.
    pub jdata: usize,
    /// The axes of the snapshots, if there are any.
    pub snapshots: Option<SnapshotAxes>,
}

/// The axes of snapshots.
pub struct SnapshotAxes {
    /// The axis of all steps, which begins at the time of the first snapshot.
    pub time: Axis,
    /// The number of steps from one snapshot to the next.
    pub every: usize,
    /// Axes z, x[, y].
    pub window: Vec<Axis>,
    pub components: Axis,
}

/// The time axis of one record in `every` steps.
pub fn thinned(time: &Axis, every: usize) -> Axis {
    Axis {
        n: time.n.div_ceil(every),
        d: time.d * every as f32,
        label: Some("t".into()),
        ..time.clone()
    }
}

/// The files of a run on one rank: rank 0 has the data, and each rank has its planes of the snapshots.
pub struct Outputs {
    data: Option<Output>,
    /// The number of the axis that counts the snapshots.
    last_axis: usize,
    snapshots: Wavefield,
    /// The conversion of the data to other axes before they are written.
    turn: Option<Turn>,
    /// The derivation of several quantities from the data, or their correction.
    divide: Option<Divide>,
    /// The number of steps of which snapshots are written.
    steps: usize,
}

/// The snapshots of a run.
enum Wavefield {
    /// This rank writes no snapshots.
    Nothing,
    /// Snapshots are written one after another.
    Stream(Output),
    /// Snapshots are written at their positions, in parallel with other ranks.
    Places {
        /// The header, on rank 0.
        header: Option<Output>,
        data: Places,
        part: Part,
    },
}

impl Outputs {
    /// Opens the outputs and sets their axes; on all ranks.
    pub fn open(job: &mut Job, records: &Records, world: &World) -> anyhow::Result<Self> {
        let opened = match world.leads() {
            true => Self::first(job, records).map(Some),
            false => Ok(None),
        };
        let opened = world.agree(opened)?;
        let (data, snapshots) = opened.map_or((None, None), |(data, wfl)| (Some(data), wfl));
        Ok(Self {
            data,
            last_axis: records
                .snapshots
                .as_ref()
                .map_or(0, |snapshots| snapshots.window.len() + 2),
            snapshots: snapshots.map_or(Wavefield::Nothing, Wavefield::Stream),
            turn: None,
            divide: None,
            steps: records
                .snapshots
                .as_ref()
                .map_or(usize::MAX, |snapshots| snapshots.time.n),
        })
    }

    /// The outputs of rank 0.
    fn first(job: &mut Job, records: &Records) -> anyhow::Result<(Output, Option<Output>)> {
        let mut data = job.output()?;
        data.set_axis(1, &records.receivers);
        data.set_axis(2, &records.components);
        data.set_axis(3, &thinned(&records.time, records.jdata));
        data.set_rank(3);
        let Some(snapshots) = &records.snapshots else {
            return Ok((data, None));
        };
        let mut wfl = job.tagged_output("wfl")?;
        snapshots
            .window
            .iter()
            .enumerate()
            .for_each(|(i, axis)| wfl.set_axis(i + 1, axis));
        let rank = snapshots.window.len();
        wfl.set_axis(rank + 1, &snapshots.components);
        wfl.set_axis(rank + 2, &thinned(&snapshots.time, snapshots.every));
        wfl.set_rank(rank + 2);
        Ok((data, Some(wfl)))
    }

    /// Converts the data, whose components are z, x, y, to other axes before they are written.
    pub fn turn(&mut self, turn: Turn) {
        self.turn = Some(turn);
    }

    /// Derives several quantities, or other times, from the data.
    pub fn divide(&mut self, divide: Divide) {
        self.divide = Some(divide);
    }

    /// Puts a text into the headers.
    pub fn put_text(&mut self, key: &str, text: &str) {
        self.each(|file| file.put_text(key, text));
    }

    /// Puts a value into the headers, a number or a text between quotes.
    pub fn put_raw(&mut self, key: &str, value: &str) {
        self.each(|file| file.put_raw(key, value));
    }

    /// Changes the headers of all files.
    fn each(&mut self, put: impl Fn(&mut Output)) {
        let others = self.divide.iter_mut().flat_map(Divide::files);
        self.data.iter_mut().chain(others).for_each(&put);
        if let Wavefield::Stream(wfl) = &mut self.snapshots {
            put(wfl);
        }
    }

    /// Sets the quantity in the headers, as in `velocity in m/s`: as a whole, and as label and unit for pictures.
    pub fn put_quantity(&mut self, quantity: &str) {
        if let Some(data) = &mut self.data {
            put_quantity(data, quantity);
        }
        self.put_quantity_of_snapshots(quantity);
    }

    /// Sets the quantity only in the header of the snapshots.
    pub fn put_quantity_of_snapshots(&mut self, quantity: &str) {
        if let Wavefield::Stream(wfl) = &mut self.snapshots {
            put_quantity(wfl, quantity);
        }
    }

    /// Writes into the headers which time the data and snapshots use if it is unusual: exact time, or the time of the
    /// steps.
    pub fn put_clock(&mut self, timing: &Timing) {
        if let (Some(records), Some(steps)) = (timing.clock_of_records(), timing.clock_of_steps()) {
            self.put_text(CLOCK, records);
            self.put_text_of_snapshots(CLOCK, &steps);
        }
    }

    /// Puts a text into the header of the snapshots.
    pub fn put_text_of_snapshots(&mut self, key: &str, text: &str) {
        if let Wavefield::Stream(wfl) = &mut self.snapshots {
            wfl.put_text(key, text);
        }
    }

    /// Puts the device into the history of the outputs.
    pub fn note(&mut self, device: &str) {
        let version = rsf_io::version();
        for data in self
            .data
            .iter_mut()
            .chain(self.divide.iter_mut().flat_map(Divide::files))
        {
            data.put_note(&version, device);
        }
        if let Wavefield::Stream(wfl) = &mut self.snapshots {
            wfl.put_note(&version, device);
        }
    }

    /// Lets several ranks write their planes of the snapshots themselves if the file allows it. All ranks
    /// call it, after [`Outputs::note`]. `own` holds the padded planes of this rank; `done` steps are
    /// done already. Returns which ranks write snapshots.
    pub fn spread(
        &mut self,
        snapshots: Option<&Snapshots>,
        ndim: usize,
        (world, own): (&World, &Range<usize>),
        done: usize,
    ) -> anyhow::Result<SnapshotWriter> {
        let Some(snapshots) = snapshots.filter(|_| !world.is_alone()) else {
            return Ok(SnapshotWriter::EachRank);
        };
        let mut header = None;
        let shared = match std::mem::replace(&mut self.snapshots, Wavefield::Nothing) {
            Wavefield::Stream(mut wfl) => {
                let shared = wfl.share();
                header = Some(wfl);
                shared
            }
            _ => Ok(None),
        };
        let shared = world.agree(shared.map_err(Into::into))?;
        let words = world
            .ranks()
            .all_gather(&shared.map_or_else(Vec::new, |s| s.to_words()))?;
        let Some(shared) = SharedData::from_words(&words[0]) else {
            self.snapshots = header.map_or(Wavefield::Nothing, Wavefield::Stream);
            return Ok(SnapshotWriter::Root);
        };
        self.snapshots = Wavefield::Places {
            header,
            data: world.agree(shared.open().map_err(Into::into))?,
            part: Part::new(snapshots, ndim, own, done),
        };
        Ok(SnapshotWriter::EachRank)
    }

    /// The name of an output that is a pipe, whose data cannot be read again.
    pub fn piped(&self) -> Option<String> {
        let wfl = match &self.snapshots {
            Wavefield::Stream(wfl) => Some(wfl),
            _ => None,
        };
        let mut outputs = self.data.iter().chain(wfl);
        let piped = outputs.find(|output| output.is_piped()).map(Output::name);
        piped.or_else(|| self.divide.as_ref().and_then(Divide::piped))
    }

    /// Restores the intermediate values of derived quantities from a state.
    pub fn restore(&mut self, resumed: &Resumed) -> anyhow::Result<()> {
        let Some(divide) = &mut self.divide else {
            return Ok(());
        };
        let kept = resumed.kept.as_deref();
        kept.and_then(|kept| divide.restore(kept)).with_context(|| {
            format!(
                "{}: the state has no intermediate values of these quantities: start the run from the beginning",
                resumed.name()
            )
        })
    }

    /// Gives the data a last axis of shots.
    pub fn count_shots(&mut self, shots: &Axis) {
        if let Some(data) = &mut self.data {
            data.set_axis(4, shots);
            data.set_rank(4);
        }
        if let Some(divide) = &mut self.divide {
            divide.count_shots(shots);
        }
    }

    /// The data alone, on the rank that has them, with the operations that derive them from the records.
    pub fn into_data(self) -> Option<(Output, Option<Divide>, Option<Turn>)> {
        self.data.map(|data| (data, self.divide, self.turn))
    }

    /// Ends a dry run, which writes only the header of the data.
    pub fn header_only(self) -> anyhow::Result<()> {
        Ok(self.data.map_or(Ok(()), Output::finish)?)
    }
}

/// Writes what the engine records.
pub struct Writer {
    outputs: Outputs,
    components: usize,
    silent: bool,
    growth: Growth,
    /// Notes about the files for states, if states are saved.
    marks: Option<Arc<Mutex<Marks>>>,
}

impl Writer {
    /// A writer to these files. `components` is the number of components of a snapshot, `silent` says whether
    /// all previous data were zero, and `growth` watches the records.
    pub fn new(
        mut outputs: Outputs,
        components: usize,
        (silent, growth): (bool, Growth),
        marks: Option<Arc<Mutex<Marks>>>,
    ) -> Self {
        if let Some(marks) = &marks {
            let mut marks = marks.lock().unwrap_or_else(PoisonError::into_inner);
            let wfl = match &outputs.snapshots {
                Wavefield::Stream(wfl) => wfl.data_file(),
                Wavefield::Places { data, .. } => data.data_file(),
                Wavefield::Nothing => None,
            };
            let data = outputs.data.as_ref().and_then(Output::data_file);
            let divided = outputs.divide.as_mut().map(Divide::data_files);
            marks.files = data
                .into_iter()
                .chain(wfl)
                .chain(divided.unwrap_or_default())
                .collect();
        }
        Self {
            outputs,
            components,
            silent,
            growth,
            marks,
        }
    }

    /// Notes the contents of the files for a state.
    fn mark(&mut self, marks: &mut Marks) -> rsf_io::Result<()> {
        marks.silent = self.silent;
        marks.data = self.outputs.data.as_mut().map(Output::so_far).transpose()?;
        if let Some(divide) = &mut self.outputs.divide {
            (marks.divided, marks.kept) = (divide.so_far()?, Some(divide.kept()));
        }
        (marks.snapshots, marks.places) = match &mut self.outputs.snapshots {
            Wavefield::Nothing => (None, None),
            Wavefield::Stream(wfl) => (Some(wfl.so_far()?), None),
            Wavefield::Places { header, part, .. } => {
                let header = header.as_mut().map(Output::so_far).transpose()?;
                (header, Some((part.every, (self.components * part.whole) as u64)))
            }
        };
        Ok(())
    }

    /// Ends the files of an interrupted run at the last complete records before `step`; returns a description of their
    /// contents.
    pub fn finish_early(mut self, step: usize) -> anyhow::Result<String> {
        let axis = self.outputs.last_axis;
        let mut held = Vec::new();
        if let Some(mut divide) = self.outputs.divide {
            let data = self.outputs.data.as_mut();
            data.map_or(Ok(()), |data| divide.end_shot_early(data))?;
            held.extend(divide.finish_early(3, "records")?);
        }
        if let Some(data) = self.outputs.data {
            held.push(ended(data, 3, None)? + " records");
        }
        match self.outputs.snapshots {
            Wavefield::Nothing => {}
            Wavefield::Stream(wfl) => held.push(ended(wfl, axis, None)? + " snapshots"),
            Wavefield::Places { header, data, part } => {
                data.finish()?;
                let whole = step.min(self.outputs.steps).div_ceil(part.every) as u64;
                if let Some(header) = header {
                    held.push(ended(header, axis, Some(whole))? + " snapshots");
                }
            }
        }
        Ok(held.join(", "))
    }

    /// Ends the files; warns if all data are zero.
    pub fn finish(self, job: &Job) -> anyhow::Result<()> {
        match self.outputs.snapshots {
            Wavefield::Nothing => {}
            Wavefield::Stream(wfl) => wfl.finish()?,
            Wavefield::Places { header, data, .. } => {
                data.finish()?;
                header.map_or(Ok(()), Output::finish)?;
            }
        }
        if let Some(mut data) = self.outputs.data {
            if let Some(mut divide) = self.outputs.divide {
                divide.end_shot(&mut data)?;
                divide.finish()?;
            }
            let records = data.records(3)?.1;
            data.finish()?;
            // A single record of the first step precedes all waves; another warning has reported that.
            if self.silent && !(records == 1 && job.int("jdata")? > 1) {
                warn_of_zeros(job);
            }
            if let Some(factor) = self.growth.factor() {
                warn_of_growth(job, factor, None);
            }
        }
        Ok(())
    }
}

fn failed(error: rsf_io::Error) -> kernels::Error {
    kernels::Error::Recorder(Box::new(error))
}

impl Recorder<f32> for Writer {
    fn traces(&mut self, it: usize, traces: &[f32]) -> Result<(), kernels::Error> {
        self.silent &= traces.iter().all(|&x| x == 0.0);
        self.growth.take(traces);
        let Some(data) = &mut self.outputs.data else {
            return Ok(());
        };
        let turned = self.outputs.turn.as_ref().map(|turn| turn.apply(traces));
        let traces = turned.as_deref().unwrap_or(traces);
        match &mut self.outputs.divide {
            Some(divide) => divide.take(it, traces, data),
            None => data.write_f32(traces),
        }
        .map_err(failed)
    }

    fn snapshot(&mut self, it: usize, piece: &[f32]) -> Result<(), kernels::Error> {
        match &mut self.outputs.snapshots {
            // These steps come after the requested ones.
            _ if it >= self.outputs.steps => Ok(()),
            Wavefield::Nothing => Ok(()),
            Wavefield::Stream(wfl) => wfl.write_f32(piece),
            Wavefield::Places { data, part, .. } => {
                let at = part.place(it, self.components, piece.len());
                data.write_f32(at as u64, piece)
            }
        }
        .map_err(failed)
    }

    fn sync(&mut self) -> Result<(), kernels::Error> {
        let Some(marks) = self.marks.clone() else {
            return Ok(());
        };
        let mut marks = marks.lock().unwrap_or_else(PoisonError::into_inner);
        self.mark(&mut marks).map_err(failed)
    }
}
