//! The reversal of a run on processors: checkpoints by a [`CheckpointSchedule`], and one segment at a time that is
//! recorded and swept back through.

use super::adjoint::{Adjoint, Beside, Gradient, Pass};
use super::boundary::{Backwards, Core};
use super::checkpoint::{Place, restore, save};
use super::engine::Source;
use super::forward::{Tape, Waves};
use super::imaging::Imaging;
use super::program::Discrete;
use super::{Born, Number};
use crate::Error;
use crate::device::cpu::Buffer;
use crate::time_loop::reversal::{Action, CheckpointSchedule};
use std::ops::Range;

/// Number of steps between two updates of the largest velocity in runs with boundary saving.
const LOOK: usize = 16;

/// Memory of a reversal, reused by the next one.
pub struct Memory<T: Number> {
    pub waves: Waves<T>,
    pub adjoint: Adjoint<T>,
    pub backwards: Option<Backwards<T>>,
    /// The record of the steps of a segment, `[step][velocities, then additional fields of images]`.
    steps: Buffer<T>,
    /// The record of the surface of these steps.
    surface: Vec<T>,
    places: Vec<Place<T>>,
}

/// Numbers of values that are recorded in each step.
#[derive(Clone, Copy)]
pub struct Recorded {
    /// Velocities, or the velocities of the boundary.
    pub velocity: usize,
    /// Additional fields of images: stresses, strain rates.
    pub beside: usize,
    /// Number of values at the surface.
    pub surface: usize,
}

impl Recorded {
    fn of_fields(&self) -> usize {
        self.velocity + self.beside
    }

    /// Bytes of a recorded step.
    pub fn bytes<T>(&self) -> usize {
        (self.of_fields() + self.surface) * size_of::<T>()
    }
}

impl<T: Number> Memory<T> {
    fn new(program: &Discrete<T>) -> Result<Self, Error> {
        Ok(Self {
            waves: Waves::new(program)?,
            adjoint: Adjoint::new(program.setup.clone())?,
            backwards: None,
            steps: Buffer::zeroed(0)?,
            surface: Vec::new(),
            places: Vec::new(),
        })
    }

    fn serve(&mut self, program: &Discrete<T>, steps: usize, recorded: Recorded) -> Result<(), Error> {
        self.adjoint.restart(program.setup.clone());
        if self.steps.as_slice().len() < steps * recorded.of_fields() {
            self.steps = Buffer::zeroed(0)?;
            self.steps = Buffer::zeroed(steps * recorded.of_fields())?;
        }
        self.surface.resize(steps * recorded.surface, T::of(0.0));
        Ok(())
    }
}

/// A reversal in progress.
struct Sweep<'a, T: Number> {
    born: &'a Born<T>,
    memory: &'a mut Memory<T>,
    schedule: &'a CheckpointSchedule,
    recorded: Recorded,
    core: Option<&'a Core>,
    imaging: Option<&'a mut Imaging<T>>,
    /// Records of the first forward pass, if a residual needs them.
    records: Option<Vec<T>>,
    /// The adjoint source, `[record][component][receiver]`.
    data: Vec<T>,
    record: Vec<T>,
    /// Number of steps that have been run at least once.
    passed: usize,
    /// The largest velocity so far.
    largest: f64,
}

impl<T: Number> Born<T> {
    /// The size of the record of a step.
    pub(super) fn recorded(&self, boundary: bool, beside: usize) -> Recorded {
        let program = &self.program;
        let (ndim, len) = (program.ndim(), program.rows.len);
        Recorded {
            velocity: match (&*self.core, boundary) {
                (Ok(core), true) => core.numbers(ndim),
                _ => ndim * len,
            },
            beside: beside * len,
            surface: program.of_surface(),
        }
    }

    /// Reverses the run: returns the gradient with respect to the coefficients, or accumulates images.
    pub(super) fn reverse(
        &self,
        from: Source<'_, T>,
        schedule: &CheckpointSchedule,
        mut imaging: Option<&mut Imaging<T>>,
    ) -> Result<Option<Gradient<T>>, Error> {
        if schedule.boundary_saving && imaging.is_some() {
            return Err(Error::setup(
                "images need the waves of all cells: record whole steps, not their boundaries",
            ));
        }
        let program = &self.program;
        let mut kept = self.memory.borrow_mut();
        let memory = match &mut *kept {
            Some(memory) => memory,
            none => none.insert(Memory::new(program)?),
        };
        let beside = imaging.as_ref().map_or(0, |imaging| imaging.recorded(program));
        let recorded = self.recorded(schedule.boundary_saving, beside);
        memory.serve(program, schedule.segment.min(self.nt), recorded)?;
        if imaging.is_none() {
            memory.adjoint.gradient = Some(Gradient {
                sums: program.changes()?,
                grouped: self.parameters.isotropic(),
            });
        }
        let core = (*self.core).as_ref().ok().filter(|_| schedule.boundary_saving);
        if core.is_some() && memory.backwards.is_none() {
            memory.backwards = Some(Backwards::new(program)?);
        }
        let (data, mut residual) = match from {
            Source::Data(data) => (data.first().cloned().unwrap_or_default(), None),
            Source::Residual(residual) => (Vec::new(), Some(residual)),
        };
        let mut sweep = Sweep {
            born: self,
            memory,
            schedule,
            recorded,
            core,
            imaging: imaging.take(),
            records: residual.is_some().then(Vec::new),
            data,
            record: vec![T::of(0.0); self.values()],
            passed: 0,
            largest: 0.0,
        };
        for action in schedule.actions(self.nt) {
            match action {
                Action::Restore(mark) => sweep.restore(mark)?,
                Action::Save(mark) => sweep.save(mark)?,
                Action::Advance(steps) => sweep.advance(steps, false)?,
                Action::Record(steps) => sweep.advance(steps, true)?,
                Action::Reverse(steps) => {
                    if let Some(residual) = residual.take() {
                        let records = sweep.records.take().unwrap_or_default();
                        sweep.data = residual(vec![records])?.pop().unwrap_or_default();
                    }
                    sweep.back(steps)?;
                }
            }
        }
        Ok(sweep.memory.adjoint.gradient.take())
    }
}

impl<T: Number> Sweep<'_, T> {
    /// Restores the wavefield of a checkpoint; at mark 0 it is at rest.
    fn restore(&mut self, mark: usize) -> Result<(), Error> {
        let (waves, program) = (&mut self.memory.waves, &self.born.program);
        match mark.checked_sub(1) {
            None => waves.restart(program),
            Some(place) if place < self.schedule.in_store => self.born.restore_from_store(waves, place)?,
            Some(place) => restore(
                program,
                waves,
                &self.memory.places[place - self.schedule.in_store],
            ),
        }
        Ok(())
    }

    fn save(&mut self, mark: usize) -> Result<(), Error> {
        let (waves, place) = (&mut self.memory.waves, mark - 1);
        if place < self.schedule.in_store {
            return self.born.save_in_store(waves, place);
        }
        let place = place - self.schedule.in_store;
        let most = self.memory.places.len().max(place + 1);
        self.memory.places.resize(most, Place::new());
        save(&self.born.program, waves, &mut self.memory.places[place]);
        Ok(())
    }

    /// The ranges of the record of step number `at` of a segment: fields, then surface.
    fn slots(&mut self, at: usize) -> [Range<usize>; 2] {
        let Recorded { surface, .. } = self.recorded;
        let fields = self.recorded.of_fields();
        [at * fields..(at + 1) * fields, at * surface..(at + 1) * surface]
    }

    /// Runs some steps, and records them if `keep` is set.
    fn advance(&mut self, steps: Range<usize>, keep: bool) -> Result<(), Error> {
        for it in steps.clone() {
            if keep {
                self.recorded_step(it, it - steps.start)?;
            } else {
                self.memory.waves.step(it, None)?;
            }
            self.born.check(it, self.memory.waves.velocities())?;
            if it < self.passed {
                continue;
            }
            self.passed = it + 1;
            if let Some(records) = self
                .records
                .as_mut()
                .filter(|_| it.is_multiple_of(self.born.jdata))
            {
                self.memory.waves.record(&mut self.record)?;
                records.extend_from_slice(&self.record);
            }
            if let Some(imaging) = &mut self.imaging {
                imaging.add_illumination(&self.born.program, &self.memory.waves);
            }
        }
        Ok(())
    }

    /// Runs step `it` and records it as number `at` of its segment.
    fn recorded_step(&mut self, it: usize, at: usize) -> Result<(), Error> {
        let [fields, surface] = self.slots(at);
        let Memory {
            waves,
            steps,
            surface: surfaces,
            ..
        } = &mut *self.memory;
        let program = &self.born.program;
        let fields = &mut steps.as_mut_slice()[fields];
        let mut tape = Tape {
            velocity: &mut [],
            surface: &mut surfaces[surface],
        };
        let Some(core) = self.core else {
            let (velocity, beside) = fields.split_at_mut(self.recorded.velocity);
            tape.velocity = velocity;
            waves.step(it, Some(&mut tape))?;
            if let Some(imaging) = &self.imaging {
                imaging.record(program, waves, beside);
            }
            return Ok(());
        };
        waves.step(it, Some(&mut tape))?;
        core.keep(program, waves, fields);
        if it.is_multiple_of(LOOK) || it + 1 == self.born.nt {
            let most = waves.velocities().map(largest);
            self.largest = most.fold(self.largest, f64::max);
        }
        Ok(())
    }

    /// Sweeps back through recorded steps.
    fn back(&mut self, steps: Range<usize>) -> Result<(), Error> {
        let silent = vec![T::of(0.0); self.born.values()];
        let program = &self.born.program;
        if let (Some(_), Some(backwards)) = (self.core, &mut self.memory.backwards) {
            backwards.begin(program, &self.memory.waves);
        }
        for it in steps.clone().rev() {
            let record = match it.is_multiple_of(self.born.jdata) {
                true => &self.data[it / self.born.jdata * silent.len()..][..silent.len()],
                false => &silent[..],
            };
            let injected = self.memory.adjoint.injected(record);
            self.back_through(it, it - steps.start, &injected)?;
        }
        if let (Some(core), Some(backwards)) =
            (self.core.filter(|_| steps.start == 0), &self.memory.backwards)
        {
            let left = core.largest(program, backwards.velocity());
            let share = if self.largest > 0.0 {
                left / self.largest
            } else {
                0.0
            };
            let drift = &self.born.drift;
            drift.set(Some(drift.get().unwrap_or(0.0).max(share)));
        }
        Ok(())
    }

    /// Sweeps back through step `it`, number `at` of its segment.
    fn back_through(&mut self, it: usize, at: usize, injected: &[T]) -> Result<(), Error> {
        let [fields, surface] = self.slots(at);
        let program = &self.born.program;
        let Memory {
            adjoint,
            backwards,
            steps,
            surface: surfaces,
            ..
        } = &mut *self.memory;
        let (fields, surface) = (&steps.as_slice()[fields], &surfaces[surface]);
        let shot = fields.split_at(self.recorded.velocity);
        let mut beside = Beside::NOTHING;
        if adjoint.gradient.is_some() {
            beside.velocity = shot.0.as_ptr();
        }
        if let (Some(core), Some(backwards)) = (self.core, backwards.as_mut()) {
            core.fill(program, fields, backwards.velocities()[0]);
            backwards.take_moments(program, it);
            beside.region = core.region().clone();
            beside.waves = backwards.stress.as_mut_slice().as_mut_ptr();
            let [now, before] = backwards.velocities();
            (beside.velocity, beside.before) = (now.as_ptr(), before.as_mut_ptr());
        }
        adjoint.beside = beside;
        adjoint.inject_stresses(injected);
        match &mut self.imaging {
            None => {
                adjoint.stress_images(surface, adjoint.pending);
                adjoint.pass(Pass::Step);
                adjoint.inject_velocities(injected);
            }
            Some(imaging) => {
                imaging.correlate(program, adjoint, (shot, surface, injected));
            }
        }
        adjoint.velocity_images(surface);
        adjoint.beside = Beside::NOTHING;
        if let (Some(_), Some(backwards)) = (self.core, backwards) {
            backwards.turn(program, it);
        }
        let forces = adjoint.force.as_slice().chunks_exact(program.rows.len);
        self.born.check(it, forces)
    }
}

fn largest<T: Number>(numbers: &[T]) -> f64 {
    numbers.iter().map(|x| x.f64().abs()).fold(0.0, f64::max)
}
