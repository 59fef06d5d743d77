//! What linearised shots take of the memory of a device, and what is left for their reverse sweeps.

use super::engine::Steps;
use super::{Born, Number, Wanted, gpu};
use crate::Error;
use crate::device::accelerator::Accelerator;
use std::sync::Arc;

/// The memory of a device.
pub(super) struct Placed {
    /// Bytes that are free.
    pub free: usize,
    /// Bytes that all shots share, and that each of those that run side by side takes beside its states.
    pub needed: [usize; 2],
    /// Bytes that the run takes with what a perturbation changes beside it.
    pub side_by_side: usize,
    /// Bytes of a checkpoint and of a recorded step.
    pub sizes: [usize; 2],
    /// The same where waves run backwards, and bytes that this takes once.
    pub shells: Result<([usize; 2], usize), &'static str>,
}

/// Bytes that are left for each of so many shots side by side; none where they do not fit.
fn left_for(free: usize, [shared, each]: [usize; 2], shots: usize) -> Option<usize> {
    (free.checked_sub(shared)? / shots.max(1)).checked_sub(each)
}

impl<T: Number> Born<T> {
    /// Bytes that a device has left for the reverse sweep of each of so many shots side by side; none where processors run the steps.
    pub fn room(&self, shots: usize) -> Option<usize> {
        let of = |placed: &Placed| left_for(placed.free, placed.needed, shots).unwrap_or(0);
        self.placed.as_ref().map(of)
    }

    /// Whether a device has room for a run with what a perturbation changes beside it, which a reverse sweep may do with less than.
    ///
    /// # Errors
    /// Too little memory; the sentence says how much is needed.
    pub fn fits_side_by_side(&self) -> Result<(), Error> {
        match &self.placed {
            Some(placed) if placed.side_by_side > placed.free => Err(Error::setup(format!(
                "the device has {:.2} GB of memory free, and a run with what a perturbation changes beside it needs {:.2} GB there: use a smaller grid, or the processors",
                placed.free as f64 / 1e9,
                placed.side_by_side as f64 / 1e9
            ))),
            _ => Ok(()),
        }
    }
}

impl Born<f32> {
    /// Bytes of device memory that so many shots side by side take beside their states.
    pub fn device_bytes(&self, shots: usize) -> usize {
        let [shared, each] = gpu::bytes(&self.program);
        shared + shots * each
    }

    /// The same of a run that makes images.
    pub fn device_bytes_of_images(&self, wanted: &Wanted, shots: usize) -> usize {
        self.device_bytes(shots) + shots * gpu::bytes_of_images(&self.program, wanted)
    }

    /// Bytes that a device has left for the reverse sweep of images for each of so many shots side by side; none where processors run the
    /// steps.
    ///
    /// # Errors
    /// Too little memory; the sentence says how much is needed.
    pub fn room_of_images(&self, wanted: &Wanted, shots: usize) -> Result<Option<usize>, Error> {
        let Some(placed) = &self.placed else {
            return Ok(None);
        };
        let [shared, each] = placed.needed;
        let needed = [shared, each + gpu::bytes_of_images(&self.program, wanted)];
        let refused = || {
            Error::setup(format!(
                "the device has {:.2} GB of memory free and these images need {:.2} GB there beside the reverse sweep: ask for fewer images or lags, use a smaller grid, or the processors",
                placed.free as f64 / 1e9,
                self.device_bytes_of_images(wanted, shots) as f64 / 1e9
            ))
        };
        left_for(placed.free, needed, shots).map(Some).ok_or_else(refused)
    }

    /// Plans the run for a device that has so many bytes free: the sizes are those there.
    ///
    /// # Errors
    /// Too little memory; the sentence says how much is needed.
    pub fn plan_on(&mut self, free: usize) -> Result<(), Error> {
        let needed = gpu::bytes(&self.program);
        if left_for(free, needed, 1).is_none() {
            return Err(Error::setup(format!(
                "the device has {:.2} GB of memory free and the linearised run needs {:.2} GB there beside the reverse sweep: use a smaller grid, or the processors",
                free as f64 / 1e9,
                self.device_bytes(1) as f64 / 1e9
            )));
        }
        self.placed = Some(Placed {
            free,
            needed,
            side_by_side: gpu::bytes_side_by_side(&self.program),
            sizes: gpu::schedule_sizes(&self.program),
            shells: gpu::shell_sizes(&self.program, &self.core),
        });
        Ok(())
    }

    /// Lets a device run the steps. Coefficients stay on the host, too, where a change of the medium becomes theirs, and back.
    ///
    /// # Errors
    /// A device that fails or has too little memory.
    pub fn run_on<A: Accelerator>(&mut self, device: Arc<A>) -> Result<(), Error> {
        self.plan_on(device.free_bytes()?)?;
        let steps = Steps {
            nt: self.nt,
            jdata: self.jdata,
            jcheck: self.jcheck,
        };
        self.engine = Some(Box::new(gpu::OnDevice::new(
            device,
            (&self.program, &self.core),
            steps,
        )?));
        Ok(())
    }
}
