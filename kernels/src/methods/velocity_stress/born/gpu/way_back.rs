//! The way back through the steps on a device: checkpoints by a [`CheckpointSchedule`], one segment at a time recorded.
//!
//! The first way through all steps also makes the records of the run where a residual asks for them, so that a gradient runs every
//! step once and all but those of the last segment once more.

use super::super::engine::Source;
use super::super::schedule::{Action, CheckpointSchedule};
use super::arguments::Args;
use super::images::Imaging;
use super::shells::Shells;
use super::steps::Drive;
use super::variant::Pass;
use super::{OnDevice, Reel, room};
use crate::Error;
use crate::device::accelerator::{Accelerator, Memory, Stream};
use std::ops::Range;

/// What is asked for.
pub enum Wanted<'a, A: Accelerator> {
    /// What waits for the coefficients.
    Gradient {
        /// For all normal stiffnesses as one, and for all couplings.
        grouped: bool,
    },
    /// Images of both ways.
    Images(&'a Imaging<'a, A>),
}

/// A way back.
pub struct Way<'a, A: Accelerator> {
    pub on: &'a OnDevice<A>,
    /// The fields that run.
    pub run: A::Memory,
    /// What waits for the fields.
    pub waits: A::Memory,
    pub waiting: A::Memory,
    /// Where waves run backwards.
    pub shells: Option<Shells<A>>,
    /// Checkpoints beside the beginning of the run, those before the ones on the device.
    on_host: Vec<A::Pinned>,
    /// How many may be there.
    most_on_host: usize,
    /// What is asked for.
    pub found: A::Memory,
    pub wanted: Wanted<'a, A>,
    reel: Reel<A>,
    /// The records that the reel holds on the way back.
    held: Range<usize>,
    /// Records of the first way, where a residual asks for them, and how many of them are still on the device.
    records: Option<(Vec<f32>, usize)>,
}

impl<A: Accelerator> OnDevice<A> {
    /// Goes back; what was asked for lies in the memory returned.
    pub fn reversed(
        &self,
        from: Source<'_, f32>,
        schedule: &CheckpointSchedule,
        wanted: Wanted<'_, A>,
    ) -> Result<A::Memory, Error> {
        let mut way = Way::new(self, schedule, wanted)?;
        let (data, mut residual): (&[f32], _) = match from {
            Source::Data(data) => (data, None),
            Source::Residual(residual) => (&[], Some(residual)),
        };
        way.records = residual.is_some().then(|| (Vec::new(), 0));
        let made = &mut Vec::new();
        for action in schedule.actions(self.steps.nt) {
            match action {
                Action::Restore(mark) => way.restore(mark)?,
                Action::Save(mark) => way.save(mark)?,
                Action::Advance(steps) => way.advance(steps, false)?,
                Action::Record(steps) => way.advance(steps, true)?,
                Action::Reverse(steps) => {
                    if let Some(residual) = residual.take() {
                        *made = residual(&way.all_records()?)?;
                    }
                    let waits = if data.is_empty() { &made[..] } else { data };
                    way.steps_back(steps, waits)?;
                }
            }
        }
        if matches!(way.wanted, Wanted::Gradient { .. }) {
            let (device, found) = (&self.device, way.found.address());
            let args = device.of(0).changed(&device.sizes, found);
            device.cells(Pass::BuoyanciesBack, &args)?;
            if let Some(inside) = way.shells.as_ref().and_then(Shells::inside) {
                inside.end_inside(device, &args)?;
            }
        }
        Ok(way.found)
    }
}

impl<'a, A: Accelerator> Way<'a, A> {
    fn new(on: &'a OnDevice<A>, schedule: &CheckpointSchedule, wanted: Wanted<'a, A>) -> Result<Self, Error> {
        let (a, sizes) = match &wanted {
            Wanted::Gradient { .. } => (&*on.device.a, &on.device.sizes),
            Wanted::Images(imaging) => (&*on.device.a, &imaging.sizes()),
        };
        let state = sizes.state().all;
        let shells = match (&wanted, schedule.shells) {
            (_, false) => None,
            (Wanted::Gradient { grouped }, true) => Some(Shells::new(on, *grouped)?),
            (Wanted::Images(_), true) => {
                return Err(Error::setup(
                    "images need the waves of all cells: record whole steps, not their shells",
                ));
            }
        };
        let shelled = shells.as_ref().map(|shells| shells.sizes);
        let steps = shelled.as_ref().unwrap_or(sizes);
        on.stock.borrow_mut().serve(schedule, steps, on.steps.nt);
        Ok(Self {
            on,
            run: room(a, state)?,
            waits: room(a, state)?,
            waiting: room(a, sizes.waits().all)?,
            shells,
            on_host: Vec::new(),
            most_on_host: schedule.on_host,
            found: match wanted {
                Wanted::Gradient { .. } => room(a, sizes.changes_numbers())?,
                Wanted::Images(_) => room(a, 0)?,
            },
            wanted,
            reel: on.reel()?,
            held: 0..0,
            records: None,
        })
    }

    fn state(&self) -> usize {
        self.on.device.sizes.state().all
    }

    /// Where the checkpoint of a mark lies on the device; none if it is on the host, or at rest.
    fn slot(&self, mark: usize) -> Result<Option<u64>, Error> {
        let slot = mark.checked_sub(1 + self.most_on_host);
        let of = |slot| self.on.stock.borrow_mut().checkpoint(&self.on.device.a, slot);
        slot.map(of).transpose()
    }

    /// The fields as they were at a mark; those of mark 0 are at rest.
    fn restore(&self, mark: usize) -> Result<(), Error> {
        let device = &self.on.device;
        match (self.slot(mark)?, mark.checked_sub(1)) {
            (None, Some(slot)) => {
                let bytes = self.state() * size_of::<f32>();
                // SAFETY: a checkpoint is a state, and lives as long as the way back.
                unsafe {
                    device
                        .a
                        .upload(Stream::Main, &self.on_host[slot], 0, self.run.address(), bytes)
                }
            }
            (from, _) => device.copy(self.run.address(), from, self.state()),
        }
    }

    fn save(&mut self, mark: usize) -> Result<(), Error> {
        let device = &self.on.device;
        if let Some(to) = self.slot(mark)? {
            return device.copy(to, Some(self.run.address()), self.state());
        }
        let bytes = self.state() * size_of::<f32>();
        if self.on_host.len() < mark {
            self.on_host.push(device.a.pin(bytes)?);
        }
        let to = &mut self.on_host[mark - 1];
        // SAFETY: the same; nobody else looks at it before the stream has come as far as an upload of it.
        unsafe { device.a.download(Stream::Main, self.run.address(), to, 0, bytes) }
    }

    /// Where a recorded step lies.
    pub fn tape(&self, number: usize) -> Result<u64, Error> {
        let (at, fresh) = self.on.stock.borrow_mut().tape(&self.on.device.a, number)?;
        if fresh && self.shells.is_none() {
            self.on.device.clear(at)?;
        }
        Ok(at)
    }

    /// Runs some steps, and keeps them where asked for.
    fn advance(&mut self, steps: Range<usize>, keep: bool) -> Result<(), Error> {
        let device = &self.on.device;
        if keep && self.shells.is_some() {
            return self.advance_shelled(steps);
        }
        for it in steps.clone() {
            let (mut drive, mut velocity) = (Drive::Sources, self.run.address());
            if keep {
                let before = (it > steps.start)
                    .then(|| self.tape(it - steps.start - 1))
                    .transpose()?;
                velocity = self.tape(it - steps.start)?;
                drive = Drive::Kept(before, velocity);
            }
            device.step(self.run.address(), it, drive)?;
            self.record(it, velocity)?;
            if let (true, Wanted::Images(imaging)) = (keep, &self.wanted) {
                imaging.keep(self.run.address(), velocity)?;
            }
            self.on.check(it, velocity)?;
        }
        Ok(())
    }

    /// Takes the record of a step on the first way.
    pub fn record(&mut self, it: usize, velocity: u64) -> Result<(), Error> {
        let device = &self.on.device;
        let Some((all, waiting)) = &mut self.records else {
            return Ok(());
        };
        if !self.on.steps.records(it) {
            return match device.sizes.runs {
                true => device.record(self.run.address(), velocity, self.reel.spare()),
                false => Ok(()),
            };
        }
        device.record(self.run.address(), velocity, self.reel.at(*waiting))?;
        *waiting += 1;
        if *waiting == self.reel.most {
            self.reel.unload(&*device.a, std::mem::take(waiting), all)?;
        }
        Ok(())
    }

    /// All records of the first way, which is at its end.
    fn all_records(&mut self) -> Result<Vec<f32>, Error> {
        let (mut all, waiting) = self.records.take().unwrap_or_default();
        self.reel.unload(&*self.on.device.a, waiting, &mut all)?;
        Ok(all)
    }

    /// Where what waits for the record of a step lies; none where nothing does.
    pub fn data_of(&mut self, it: usize, data: &[f32]) -> Result<Option<u64>, Error> {
        let device = &self.on.device;
        if !self.on.steps.records(it) {
            if !device.sizes.runs {
                return Ok(None);
            }
            device.copy(self.reel.spare(), None, device.sizes.values)?;
            return Ok(Some(self.reel.spare()));
        }
        let (number, values) = (it / self.on.steps.jdata, self.reel.values);
        if !self.held.contains(&number) {
            // Those before it come next.
            self.held = (number + 1).saturating_sub(self.reel.most)..number + 1;
            // What the kernels still read of the others.
            device.a.finish()?;
            let from = &data[self.held.start * values..self.held.end * values];
            let to = self.reel.memory.address();
            self.reel.transfer.put(&*device.a, from, to)?;
        }
        Ok(Some(self.reel.at(number - self.held.start)))
    }

    /// Goes back through steps that are recorded.
    fn steps_back(&mut self, steps: Range<usize>, data: &[f32]) -> Result<(), Error> {
        if self.shells.is_some() {
            return self.steps_back_shelled(steps, data);
        }
        let on = self.on;
        let device = &on.device;
        let args = device
            .of(self.waits.address())
            .waiting(&device.sizes, self.waiting.address());
        for it in steps.clone().rev() {
            let mut record = self.data_of(it, data)?;
            if let Some(record) = record {
                device.record_back(&args, record)?;
            }
            let before = match it - steps.start {
                0 => self.run.address(),
                number => self.tape(number - 1)?,
            };
            let args: Args = args.back_through(&device.sizes, before, self.tape(it - steps.start)?);
            let args = match self.wanted {
                Wanted::Gradient { grouped } => Args {
                    grouped: i32::from(grouped),
                    ..args.changed(&device.sizes, self.found.address())
                },
                Wanted::Images(imaging) => {
                    device.velocities_back(&args, record.take())?;
                    imaging.correlate(&args, self.tape(it - steps.start)?)?;
                    args
                }
            };
            device.step_back(&args, matches!(self.wanted, Wanted::Gradient { .. }), record)?;
            on.check(it, self.waits.address())?;
        }
        Ok(())
    }
}
