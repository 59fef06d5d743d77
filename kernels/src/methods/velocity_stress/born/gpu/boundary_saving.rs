//! The reverse sweep with boundary saving: only the boundary of a recorded step is kept, and the wavefield inside is
//! reconstructed.

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

/// Number of steps between two updates of the largest velocity.
const LOOK: usize = 64;

/// The kernels and memory of a reverse sweep with boundary saving.
pub struct BoundarySaving<A: Accelerator> {
    with: Backwards<A>,
    /// Sizes with the boundary.
    pub sizes: Sizes,
    /// Address of the boundary values at the beginning of a segment.
    begin: u64,
    /// Address of the velocities before a step; with a surface, those after it are needed as well.
    before: Option<u64>,
}

impl<A: Accelerator> BoundarySaving<A> {
    /// Prepares the kernels, and allocates its parts of the memory of the shots.
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

/// The error for a sweep without boundary saving.
fn no_boundary_saving() -> Error {
    Error::setup("waves run backwards only for gradients, with a schedule of boundary saving")
}

impl<A: Accelerator> Sweep<'_, A> {
    /// Runs some steps and saves their boundaries.
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

    /// Sweeps back through steps whose boundaries are saved.
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
                // The memory of the velocities after this step is free for the next one.
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
    /// The kernels of the interior, if it has separate ones.
    pub fn inside(&self) -> Option<&Backwards<A>> {
        Some(&self.with).filter(|with| with.has_inside())
    }

    /// Applies the transpose of a step, and undoes the step; `boundary` belongs to the previous step.
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
        // With a surface, the gradient with respect to buoyancy needs the velocities on both sides of a step.
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

    /// Exchanges the velocities of the run and of the adjoint, which the kernels of the interior compute in one pass.
    fn exchange_velocities(&self, device: &Device<A>, args: &Args) -> Result<(), Error> {
        let mut halo = device.behind_each_other(args.derivatives[0], self.sizes.ndim);
        halo.extend(device.behind_each_other(args.run_velocity, self.sizes.ndim));
        device.exchange(&halo)
    }

    /// Offset in bytes of the stresses in a state.
    fn stresses_behind(&self) -> u64 {
        (self.sizes.state().stress * size_of::<f32>()) as u64
    }
}
