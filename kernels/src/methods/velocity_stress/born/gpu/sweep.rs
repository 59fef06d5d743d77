//! The reverse sweep on a device: checkpoints by a [`CheckpointSchedule`], with one segment recorded at a time.
//!
//! The first forward pass also records the receivers if a residual needs it, so a gradient runs every step once and,
//! with two or more segments, every step outside the last segment once more. Shots that run side by side share all
//! launches.

use super::super::engine::Source;
use super::arguments::Args;
use super::boundary_saving::BoundarySaving;
use super::images::Imaging;
use super::shot_memory::{Needs, PARTS, Part, ShotMemory};
use super::steps::Drive;
use super::variant::Pass;
use super::{OnDevice, RecordBuffer};
use crate::Error;
use crate::device::accelerator::{Accelerator, Stream};
use crate::time_loop::reversal::{Action, CheckpointSchedule};
use std::ops::Range;

/// The result of a reverse sweep.
pub enum Request<'a, A: Accelerator> {
    /// The derivatives with respect to the coefficients.
    Gradient {
        /// Whether all normal stiffnesses share one sum, and all couplings another.
        grouped: bool,
    },
    /// Images by correlation of the forward and the adjoint wavefield.
    Images(&'a Imaging<'a, A>),
}

pub struct Sweep<'a, A: Accelerator> {
    pub on: &'a OnDevice<A>,
    memory: &'a mut ShotMemory<A>,
    /// The address of the state of the run.
    pub run: u64,
    /// The address of the adjoint state.
    pub adjoint: u64,
    /// The address of the adjoint derivatives.
    pub derivatives: u64,
    /// The address of the sums by coefficient.
    pub coefficients: u64,
    /// The data of boundary saving, if the schedule uses it.
    pub boundary_saving: Option<BoundarySaving<A>>,
    /// The first checkpoints of the run, which are kept on the host; each contains the states of all shots, one after
    /// the other.
    on_host: Vec<A::Pinned>,
    /// Number of checkpoints on the host.
    most_on_host: usize,
    pub request: Request<'a, A>,
    buffer: RecordBuffer,
    /// The range of records that the buffer holds in the reverse sweep.
    held: Range<usize>,
    /// Records of the first pass by shot if a residual needs them, and the number of records still on the device.
    records: Option<(Vec<Vec<f32>>, usize)>,
}

impl<A: Accelerator> OnDevice<A> {
    /// Runs the reverse sweep; the sums stay in the memory of the shots.
    pub fn reversed(
        &self,
        memory: &mut ShotMemory<A>,
        (from, schedule): (Source<'_, f32>, &CheckpointSchedule),
        request: Request<'_, A>,
    ) -> Result<(), Error> {
        let mut sweep = Sweep::new((self, memory), schedule, request)?;
        let (data, mut residual): (&[Vec<f32>], _) = match from {
            Source::Data(data) => (data, None),
            Source::Residual(residual) => (&[], Some(residual)),
        };
        sweep.records = residual
            .is_some()
            .then(|| (vec![Vec::new(); self.device.shots()], 0));
        let mut adjoint_sources = Vec::new();
        for action in schedule.actions(self.steps.nt) {
            match action {
                Action::Restore(mark) => sweep.restore(mark)?,
                Action::Save(mark) => sweep.save(mark)?,
                Action::Advance(steps) => sweep.advance(steps, false)?,
                Action::Record(steps) => sweep.advance(steps, true)?,
                Action::Reverse(steps) => {
                    if let Some(residual) = residual.take() {
                        adjoint_sources = residual(sweep.all_records()?)?;
                    }
                    let of = if data.is_empty() {
                        &adjoint_sources[..]
                    } else {
                        data
                    };
                    sweep.steps_back(steps, of)?;
                }
            }
        }
        if matches!(sweep.request, Request::Gradient { .. }) {
            let device = &self.device;
            let args = device.of(0).changed(&device.sizes, sweep.coefficients);
            device.cells(Pass::BuoyanciesBack, &args)?;
            if let Some(inside) = sweep.boundary_saving.as_ref().and_then(BoundarySaving::inside) {
                inside.end_inside(device, &args)?;
            }
        }
        Ok(())
    }

    /// The memory of a reverse sweep for each shot.
    pub fn reversal_needs(
        &self,
        schedule: &CheckpointSchedule,
        (images, image_fields): (usize, usize),
    ) -> Result<Needs, Error> {
        let mut sizes = self.device.sizes;
        sizes.image_fields = image_fields;
        let mut parts = [0; PARTS];
        let mut set = |part: Part, numbers: usize| parts[part as usize] = numbers;
        set(Part::Run, sizes.state().all);
        set(Part::Adjoint, sizes.state().all);
        set(Part::Derivatives, sizes.derivatives().all);
        set(Part::Slopes, sizes.surface);
        set(Part::Records, self.buffer().numbers());
        match images {
            0 => set(Part::Coefficients, sizes.changes_numbers()),
            numbers => set(Part::Images, numbers),
        }
        if schedule.boundary_saving {
            if images > 0 {
                return Err(Error::setup(
                    "images need the waves of all cells: record whole steps, not their boundaries",
                ));
            }
            sizes.boundary = self.device.boundary()?;
            set(Part::Boundary, sizes.ndim * sizes.boundary);
            set(Part::Before, sizes.surface.min(1) * sizes.ndim * sizes.len);
        }
        Ok(Needs {
            shots: self.device.shots(),
            parts,
            reversal: Some((*schedule, [sizes.state().all, sizes.tape().all])),
            steps: schedule.segment.min(self.steps.nt),
        })
    }
}

impl<'a, A: Accelerator> Sweep<'a, A> {
    fn new(
        (on, memory): (&'a OnDevice<A>, &'a mut ShotMemory<A>),
        schedule: &CheckpointSchedule,
        request: Request<'a, A>,
    ) -> Result<Self, Error> {
        let [run, adjoint, derivatives, coefficients, records] = [
            Part::Run,
            Part::Adjoint,
            Part::Derivatives,
            Part::Coefficients,
            Part::Records,
        ]
        .map(|part| memory.part(part));
        let boundary_saving = match (&request, schedule.boundary_saving) {
            (Request::Gradient { grouped }, true) => Some(BoundarySaving::new(on, *grouped, memory)?),
            _ => None,
        };
        let sizes = &on.device.sizes;
        on.device.copy(adjoint, None, sizes.state().all)?;
        on.device.copy(derivatives, None, sizes.derivatives().all)?;
        on.device.copy(memory.part(Part::Slopes), None, sizes.surface)?;
        if let Request::Gradient { .. } = request {
            on.device.copy(coefficients, None, sizes.changes_numbers())?;
        }
        Ok(Self {
            on,
            run,
            adjoint,
            derivatives,
            coefficients,
            boundary_saving,
            on_host: Vec::new(),
            most_on_host: schedule.on_host,
            request,
            buffer: on.buffer().at(records),
            held: 0..0,
            records: None,
            memory,
        })
    }

    fn state(&self) -> usize {
        self.on.device.sizes.state().all
    }

    /// The address of the checkpoint of a mark on the device; `None` if it is on the host, or at rest.
    fn slot(&mut self, mark: usize) -> Result<Option<u64>, Error> {
        let slot = mark.checked_sub(1 + self.most_on_host);
        let of = |slot| self.memory.checkpoint(&self.on.device.a, slot);
        slot.map(of).transpose()
    }

    /// Restores the fields of a mark; at mark 0 they are at rest.
    fn restore(&mut self, mark: usize) -> Result<(), Error> {
        let (slot, device) = (self.slot(mark)?, &self.on.device);
        let Some(number) = mark.checked_sub(1).filter(|_| slot.is_none()) else {
            return device.copy(self.run, slot, self.state());
        };
        let bytes = self.state() * size_of::<f32>();
        for shot in 0..device.shots() {
            let (from, to) = (&self.on_host[number], device.of_shot(self.run, shot));
            // SAFETY: a checkpoint contains the states of all shots and lives as long as the sweep.
            unsafe { device.a.upload(Stream::Main, from, shot * bytes, to, bytes)? };
        }
        Ok(())
    }

    fn save(&mut self, mark: usize) -> Result<(), Error> {
        let (slot, device) = (self.slot(mark)?, &self.on.device);
        if let Some(to) = slot {
            return device.copy(to, Some(self.run), self.state());
        }
        let bytes = self.state() * size_of::<f32>();
        if self.on_host.len() < mark {
            self.on_host.push(device.a.pin(bytes * device.shots())?);
        }
        for shot in 0..device.shots() {
            let (from, to) = (device.of_shot(self.run, shot), &mut self.on_host[mark - 1]);
            // SAFETY: as in `restore`; nothing reads it before an upload in the same stream.
            unsafe { device.a.download(Stream::Main, from, to, shot * bytes, bytes)? };
        }
        Ok(())
    }

    /// The address of a recorded step.
    pub fn tape(&mut self, number: usize) -> Result<u64, Error> {
        let (at, fresh) = self.memory.step(&self.on.device.a, number)?;
        if fresh && self.boundary_saving.is_none() {
            self.on.device.clear(at)?;
        }
        Ok(at)
    }

    /// Runs some steps, and records them if `keep` is set.
    fn advance(&mut self, steps: Range<usize>, keep: bool) -> Result<(), Error> {
        let device = &self.on.device;
        if keep && self.boundary_saving.is_some() {
            return self.advance_saving_boundary(steps);
        }
        for it in steps.clone() {
            let (mut drive, mut velocity) = (Drive::Sources, self.run);
            if keep {
                let before = match it - steps.start {
                    0 => None,
                    number => Some(self.tape(number - 1)?),
                };
                velocity = self.tape(it - steps.start)?;
                drive = Drive::Kept(before, velocity);
            }
            device.step(self.run, it, drive)?;
            self.record(it, velocity)?;
            if let (true, Request::Images(imaging)) = (keep, &self.request) {
                imaging.keep(self.run, velocity)?;
            }
            self.on.check(it, velocity)?;
        }
        self.on.device.end_exchange()
    }

    /// Records the receivers at a step of the first pass.
    pub fn record(&mut self, it: usize, velocity: u64) -> Result<(), Error> {
        let device = &self.on.device;
        let Some((all, waiting)) = &mut self.records else {
            return Ok(());
        };
        if !self.on.steps.records(it) {
            return match device.sizes.runs {
                true => device.record(self.run, velocity, self.buffer.spare()),
                false => Ok(()),
            };
        }
        device.record(self.run, velocity, self.buffer.record(*waiting))?;
        *waiting += 1;
        if *waiting == self.buffer.most {
            self.on.unload(&self.buffer, std::mem::take(waiting), all)?;
        }
        Ok(())
    }

    /// All records of the first pass, which has ended, by shot.
    fn all_records(&mut self) -> Result<Vec<Vec<f32>>, Error> {
        let (mut all, waiting) = self.records.take().unwrap_or_default();
        self.on.unload(&self.buffer, waiting, &mut all)?;
        Ok(all)
    }

    /// The address of the adjoint source of a step; `None` if nothing is injected.
    pub fn source_of(&mut self, it: usize, data: &[Vec<f32>]) -> Result<Option<u64>, Error> {
        let device = &self.on.device;
        if !self.on.steps.records(it) {
            if !device.sizes.runs {
                return Ok(None);
            }
            device.copy(self.buffer.spare(), None, device.sizes.values)?;
            return Ok(Some(self.buffer.spare()));
        }
        let (number, values) = (it / self.on.steps.jdata, self.buffer.values);
        if !self.held.contains(&number) {
            // The records before it are needed next.
            self.held = (number + 1).saturating_sub(self.buffer.most)..number + 1;
            // Kernels may still be reading the others.
            device.a.finish()?;
            for (shot, data) in data.iter().enumerate() {
                let from = &data[self.held.start * values..self.held.end * values];
                let to = device.of_shot(self.buffer.record(0), shot);
                self.on.transfer.borrow_mut().put(&*device.a, from, to)?;
            }
        }
        Ok(Some(self.buffer.record(number - self.held.start)))
    }

    /// Sweeps back through recorded steps.
    fn steps_back(&mut self, steps: Range<usize>, data: &[Vec<f32>]) -> Result<(), Error> {
        if self.boundary_saving.is_some() {
            return self.steps_back_from_boundary(steps, data);
        }
        let on = self.on;
        let device = &on.device;
        let args = self.adjoint_args();
        for it in steps.clone().rev() {
            let mut source = self.source_of(it, data)?;
            if let Some(source) = source {
                device.record_back(&args, source)?;
            }
            let before = match it - steps.start {
                0 => self.run,
                number => self.tape(number - 1)?,
            };
            let tape = self.tape(it - steps.start)?;
            let args: Args = args.back_through(&device.sizes, before, tape);
            let args = match self.request {
                Request::Gradient { grouped } => Args {
                    grouped: i32::from(grouped),
                    ..args.changed(&device.sizes, self.coefficients)
                },
                Request::Images(imaging) => {
                    device.velocities_back(&args, source.take())?;
                    imaging.correlate(&args, tape)?;
                    args
                }
            };
            device.step_back(&args, matches!(self.request, Request::Gradient { .. }), source)?;
            on.check(it, self.adjoint)?;
        }
        Ok(())
    }

    /// Arguments for kernels that update the adjoint fields, with the addresses of the derivatives and of the surface
    /// slopes.
    pub fn adjoint_args(&self) -> Args {
        let device = &self.on.device;
        let mut args = device
            .of(self.adjoint)
            .with_derivatives(&device.sizes, self.derivatives);
        args.surface.slopes = self.memory.part(Part::Slopes);
        args
    }
}
