//! The reverse sweep with boundary saving: of a recorded step its boundary alone is kept, and the waves run backwards inside.

use super::OnDevice;
use super::arguments::Args;
use super::backwards::Backwards;
use super::shot_memory::{Part, ShotMemory};
use super::sizes::Sizes;
use super::steps::{Device, Drive};
use super::sweep::{Request, Sweep};
use crate::Error;
use crate::device::accelerator::Accelerator;
use std::ops::Range;

/// Steps between two looks at the largest velocity.
const LOOK: usize = 64;

/// What waves that run backwards need.
pub struct BoundarySaving<A: Accelerator> {
    with: Backwards<A>,
    /// Sizes with the boundary.
    pub sizes: Sizes,
    /// The address of the boundary before a segment.
    begin: u64,
    /// That of velocities before a step, whose surface needs those behind it, too.
    before: Option<u64>,
}

impl<A: Accelerator> BoundarySaving<A> {
    /// Kernels, and what they have of the memory of the shots.
    pub fn new(on: &OnDevice<A>, grouped: bool, memory: &ShotMemory<A>) -> Result<Self, Error> {
        let device = &on.device;
        let with = device.backwards(grouped)?;
        let sizes = with.sizes(&device.sizes);
        with.begin(device)?;
        let before = match sizes.surface {
            0 => None,
            _ => {
                let at = memory.part(Part::Before);
                device.copy(at, None, sizes.ndim * sizes.len)?;
                Some(at)
            }
        };
        Ok(Self {
            begin: memory.part(Part::Boundary),
            with,
            sizes,
            before,
        })
    }
}

/// What is said where no boundaries are kept.
fn no_boundary_saving() -> Error {
    Error::setup("waves run backwards for gradients alone, with a schedule of boundary saving")
}

impl<A: Accelerator> Sweep<'_, A> {
    /// Runs some steps and keeps their boundaries.
    pub(super) fn advance_saving_boundary(&mut self, steps: Range<usize>) -> Result<(), Error> {
        let (on, run) = (self.on, self.run);
        for it in steps.clone() {
            let tape = self.tape(it - steps.start)?;
            let before = match it - steps.start {
                0 => None,
                number => Some(self.tape(number - 1)?),
            };
            let Some(boundary_saving) = &self.boundary_saving else {
                return Err(no_boundary_saving());
            };
            if before.is_none() {
                boundary_saving
                    .with
                    .keep(&on.device, run, boundary_saving.begin)?;
            }
            let drive = Drive::Boundary(before, tape, &boundary_saving.with);
            on.device.step(run, it, drive)?;
            if it.is_multiple_of(LOOK) || it + 1 == on.steps.nt {
                boundary_saving.with.look(&on.device, run, false)?;
            }
            self.record(it, run)?;
            on.check(it, run)?;
        }
        on.device.end_exchange()
    }

    /// Goes back through steps whose boundaries are kept.
    pub(super) fn steps_back_from_boundary(
        &mut self,
        steps: Range<usize>,
        data: &[Vec<f32>],
    ) -> Result<(), Error> {
        let on = self.on;
        let device = &on.device;
        let adjoint = self.adjoint_args();
        let mut run = self.run;
        for it in steps.clone().rev() {
            let source = self.source_of(it, data)?;
            if let Some(source) = source {
                device.record_back(&adjoint, source)?;
            }
            let tape = self.tape(it - steps.start)?;
            let boundary = match it - steps.start {
                0 => None,
                number => Some(self.tape(number - 1)?),
            };
            let (Some(boundary_saving), Request::Gradient { grouped }) =
                (&self.boundary_saving, &self.request)
            else {
                return Err(no_boundary_saving());
            };
            let args = Args {
                grouped: i32::from(*grouped),
                ..adjoint
                    .back_through(&boundary_saving.sizes, run, tape)
                    .changed(&device.sizes, self.coefficients)
                    .running(&device.sizes, self.run, run)
            };
            let boundary = boundary.unwrap_or(boundary_saving.begin);
            boundary_saving.step_back(on, (&args, it), (boundary, source))?;
            if let Some(before) = &boundary_saving.before {
                // What was behind the step may be overwritten next.
                run = self.run + before - run;
            }
            on.check(it, self.adjoint)?;
        }
        match &self.boundary_saving {
            Some(boundary_saving) if steps.start == 0 => {
                boundary_saving.with.look(device, run, true)?;
                on.drift.set(Some(boundary_saving.with.drift(device)?));
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl<A: Accelerator> BoundarySaving<A> {
    /// What has kernels of its own for the inside of the grid.
    pub fn inside(&self) -> Option<&Backwards<A>> {
        Some(&self.with).filter(|with| with.has_inside())
    }

    /// The transpose of a step, and the step undone; `boundary` is that of the step before.
    fn step_back(
        &self,
        on: &OnDevice<A>,
        (args, it): (&Args, usize),
        (boundary, source): (u64, Option<u64>),
    ) -> Result<(), Error> {
        let (device, with) = (&on.device, &self.with);
        if with.has_inside() {
            with.take_sources(device, args, (1, it))?;
            with.step_back(device, args, source)?;
            with.restore(device, args.run_velocity, boundary)?;
            with.take_sources(device, args, (0, it))?;
            return self.exchange_velocities(device, args);
        }
        // At a surface the gradient by buoyancy needs velocities on both sides of a step.
        let before = match &self.before {
            Some(before) if args.after == *before => args.run_stress - self.stresses_behind(),
            Some(before) => *before,
            None => {
                device.step_back(args, true, source)?;
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
        device.exchange(&device.across(args.run_stress))?;
        with.undo_velocities(device, &args)?;
        with.restore(device, before, boundary)?;
        with.take_sources(device, &args, (0, it))?;
        device.exchange_velocities(before)?;
        match &self.before {
            Some(_) => device.step_back(&args, true, source),
            None => Ok(()),
        }
    }

    /// Velocities of the run and of the adjoint travel, which the inside of a grid makes in one pass.
    fn exchange_velocities(&self, device: &Device<A>, args: &Args) -> Result<(), Error> {
        let mut halo = device.behind_each_other(args.derivatives[0], self.sizes.ndim);
        halo.extend(device.behind_each_other(args.run_velocity, self.sizes.ndim));
        device.exchange(&halo)
    }

    /// Bytes from the velocities of a state to its stresses.
    fn stresses_behind(&self) -> u64 {
        (self.sizes.state().stress * size_of::<f32>()) as u64
    }
}
