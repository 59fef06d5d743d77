//! The way back where waves run backwards: of a recorded step its shell stays alone.

use super::arguments::Args;
use super::backwards::Backwards;
use super::sizes::Sizes;
use super::steps::Drive;
use super::way_back::{Wanted, Way};
use super::{OnDevice, room};
use crate::Error;
use crate::device::accelerator::{Accelerator, Memory};
use std::ops::Range;

/// Steps between two looks at the largest velocity.
const LOOK: usize = 64;

/// What waves that run backwards need.
pub struct Shells<A: Accelerator> {
    with: Backwards<A>,
    /// Sizes with the shell.
    pub sizes: Sizes,
    /// The shell before a segment.
    begin: A::Memory,
    /// Velocities before a step, whose surface wants those behind it, too.
    before: Option<A::Memory>,
}

impl<A: Accelerator> Shells<A> {
    /// Memory and kernels.
    pub fn new(on: &OnDevice<A>, grouped: bool) -> Result<Self, Error> {
        let (device, a) = (&on.device, &*on.device.a);
        let with = device.backwards(grouped)?;
        let sizes = with.sizes(&device.sizes);
        with.begin(device)?;
        let before = match sizes.surface {
            0 => None,
            _ => Some(room(a, sizes.ndim * sizes.len)?),
        };
        Ok(Self {
            begin: room(a, sizes.ndim * sizes.shell)?,
            with,
            sizes,
            before,
        })
    }
}

/// What is said where no shells are kept.
fn no_shells() -> Error {
    Error::setup("waves run backwards for gradients alone, with a schedule of shells")
}

impl<A: Accelerator> Way<'_, A> {
    /// Runs some steps and keeps their shells.
    pub(super) fn advance_shelled(&mut self, steps: Range<usize>) -> Result<(), Error> {
        let (on, run) = (self.on, self.run.address());
        for it in steps.clone() {
            let tape = self.tape(it - steps.start)?;
            let before = match it - steps.start {
                0 => None,
                number => Some(self.tape(number - 1)?),
            };
            let Some(shells) = &self.shells else {
                return Err(no_shells());
            };
            if before.is_none() {
                shells.with.keep(&on.device, run, shells.begin.address())?;
            }
            let drive = Drive::Shelled(before, tape, &shells.with);
            on.device.step(run, it, drive)?;
            if it.is_multiple_of(LOOK) || it + 1 == on.steps.nt {
                shells.with.look(&on.device, run, false)?;
            }
            self.record(it, run)?;
            on.check(it, run)?;
        }
        Ok(())
    }

    /// Goes back through steps whose shells are kept.
    pub(super) fn steps_back_shelled(&mut self, steps: Range<usize>, data: &[f32]) -> Result<(), Error> {
        let on = self.on;
        let device = &on.device;
        let waits = device
            .of(self.waits.address())
            .waiting(&device.sizes, self.waiting.address());
        let mut run = self.run.address();
        for it in steps.clone().rev() {
            let record = self.data_of(it, data)?;
            if let Some(record) = record {
                device.record_back(&waits, record)?;
            }
            let tape = self.tape(it - steps.start)?;
            let shell = match it - steps.start {
                0 => None,
                number => Some(self.tape(number - 1)?),
            };
            let (Some(shells), Wanted::Gradient { grouped }) = (&self.shells, &self.wanted) else {
                return Err(no_shells());
            };
            let args = Args {
                grouped: i32::from(*grouped),
                ..waits
                    .back_through(&shells.sizes, run, tape)
                    .changed(&device.sizes, self.found.address())
                    .running(&device.sizes, self.run.address(), run)
            };
            let shell = shell.unwrap_or(shells.begin.address());
            shells.step_back(on, (&args, it), (shell, record))?;
            if let Some(before) = &shells.before {
                // What was behind the step may be overwritten next.
                run = self.run.address() + before.address() - run;
            }
            on.check(it, self.waits.address())?;
        }
        match &self.shells {
            Some(shells) if steps.start == 0 => {
                shells.with.look(device, run, true)?;
                let drift = shells.with.drift(device)?;
                on.drift.set(Some(on.drift.get().unwrap_or(0.0).max(drift)));
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl<A: Accelerator> Shells<A> {
    /// What has kernels of its own for the inside of the grid.
    pub fn inside(&self) -> Option<&Backwards<A>> {
        Some(&self.with).filter(|with| with.has_inside())
    }

    /// The transpose of a step, and the step undone; `shell` is that of the step before.
    fn step_back(
        &self,
        on: &OnDevice<A>,
        (args, it): (&Args, usize),
        (shell, record): (u64, Option<u64>),
    ) -> Result<(), Error> {
        let (device, with) = (&on.device, &self.with);
        if with.has_inside() {
            with.take_sources(device, args, (1, it))?;
            with.step_back(device, args, record)?;
            with.restore(device, args.run_velocity, shell)?;
            return with.take_sources(device, args, (0, it));
        }
        // At a surface what waits for buoyancy needs velocities on both sides of a step.
        let before = match &self.before {
            Some(before) if args.after == before.address() => args.run_stress - self.stresses_behind(),
            Some(before) => before.address(),
            None => {
                device.step_back(args, true, record)?;
                args.after
            }
        };
        let args = Args {
            before,
            run_velocity: before,
            ..*args
        };
        with.take_sources(device, &args, (1, it))?;
        with.undo_stresses(device, &args)?;
        with.undo_velocities(device, &args)?;
        with.restore(device, before, shell)?;
        with.take_sources(device, &args, (0, it))?;
        match &self.before {
            Some(_) => device.step_back(&args, true, record),
            None => Ok(()),
        }
    }

    /// Bytes from the velocities of a state to its stresses.
    fn stresses_behind(&self) -> u64 {
        (self.sizes.state().stress * size_of::<f32>()) as u64
    }
}
