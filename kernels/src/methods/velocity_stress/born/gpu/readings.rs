//! The kernel launches for receivers: the records of a step, and the adjoint of reading them.

use super::arguments::Args;
use super::points::Fields;
use super::sizes::Sizes;
use super::steps::{Device, threads};
use super::variant::Pass;
use super::{READ_BLOCK, READERS};
use crate::Error;
use crate::device::accelerator::{Accelerator, Dims, WALKERS};

impl<A: Accelerator> Device<A> {
    /// The sizes and the distance of shots for the tables of receivers.
    fn of_lists(&self) -> (&Sizes, usize) {
        (&self.sizes, self.distance.get())
    }

    /// Ends a step, whose velocities may be stored apart from its state: updates the running quantities at the
    /// receivers, and writes the record to this address.
    pub fn record(&self, state: u64, velocity: u64, record: u64) -> Result<(), Error> {
        let lists = self.points.read(self.of_lists(), (state, record), velocity);
        if lists.count == 0 {
            return Ok(());
        }
        let dims = Dims {
            grid: [(lists.count as usize * READERS).div_ceil(READ_BLOCK), 1, 1],
            threads: READ_BLOCK,
            shared: READ_BLOCK * size_of::<f32>(),
        };
        if self.points.read_stresses() {
            self.end_exchange()?;
        }
        // SAFETY: the tables list cells of the fields; the record has a value for each list. If receivers read no
        // stresses, the exchange in progress is one of stresses, which are not read here.
        unsafe { self.launch_meanwhile(Pass::Extract, dims, &lists) }
    }

    /// The transpose of [`Device::record`] for stresses; velocities follow in [`Device::step_back`]. It overwrites
    /// the adjoint of the record.
    pub fn record_back(&self, args: &Args, record: u64) -> Result<(), Error> {
        let state = args.velocity;
        let numbers = self.points.read(self.of_lists(), (state, record), state);
        if self.sizes.runs && numbers.count > 0 {
            let dims = threads(numbers.count as usize, WALKERS);
            // SAFETY: there are as many running quantities at the receivers as lists.
            unsafe { self.launch(Pass::ReadingsBack, dims, &numbers)? };
        }
        self.spread(args, record, Fields::Stresses)
    }

    /// The transpose of [`Device::record`] for velocities.
    pub fn velocities_back(&self, args: &Args, record: Option<u64>) -> Result<(), Error> {
        record.map_or(Ok(()), |record| self.spread(args, record, Fields::Velocities))
    }

    /// Adds the adjoint of the readings of a record to the cells that were read.
    fn spread(&self, args: &Args, record: u64, to: Fields) -> Result<(), Error> {
        let mut cells = self
            .points
            .read_back(self.of_lists(), (args.velocity, record), to);
        if cells.count == 0 {
            return Ok(());
        }
        if matches!(to, Fields::Velocities) && self.sizes.surface == 0 {
            (cells.density, cells.stride) = (args.grid.density, args.grid.stride);
            (cells.after, cells.gradient) = (args.after, args.buoyancy);
        }
        // SAFETY: the tables list cells of the fields, each once, and entries of the record.
        unsafe { self.launch(Pass::Spread, threads(cells.count as usize, WALKERS), &cells) }
    }
}
