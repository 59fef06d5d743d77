//! Runs, alone or as one of several ranks, each with devices of its own and no more of the medium than they need.

use super::{DeviceSlab, Simulation};
use crate::Error;
use crate::device::accelerator::Accelerator;
use crate::device::simd::Real;
use crate::domain::company::{Company, Way};
use crate::domain::exchange::{Exchange, PeerToPeer};
use crate::domain::gather::{Gather, own, share};
use crate::domain::ranks::{Ranks, agree};
use crate::domain::remote::Remote;
use crate::domain::sides;
use crate::time_loop::{self, Recorder};
use crate::velocity_stress::ranks::maps_of_all;

impl<T: Real + Default + bytemuck::Pod, A: Accelerator> Simulation<T, A> {
    /// Runs all steps.
    pub fn run(&mut self, recorder: &mut dyn Recorder<T>) -> Result<(), Error> {
        self.run_by(&mut PeerToPeer, recorder)
    }

    /// Runs all steps as one of several ranks. Rank 0's recorder gets the traces.
    pub fn run_among(
        &mut self,
        ranks: &dyn Ranks,
        recorder: &mut dyn Recorder<T>,
        company: Company,
    ) -> Result<(), Error> {
        if ranks.size() == 1 {
            return self.run(recorder);
        }
        self.meet(ranks, company.way)?;
        let result = self.run_met(ranks, recorder, company);
        if matches!(result, Ok(()) | Err(Error::NotFinite { .. } | Error::Elsewhere)) {
            self.part(ranks)?;
        }
        result
    }

    /// [`Simulation::run_among`] between [`Simulation::meet`] and [`Simulation::part`], any number of times.
    pub fn run_met(
        &mut self,
        ranks: &dyn Ranks,
        recorder: &mut dyn Recorder<T>,
        company: Company,
    ) -> Result<(), Error> {
        let own = own(&self.slabs);
        let receivers = self.setup.receivers.within(&own);
        let share = share(&self.setup.window, self.setup.padded.ndim(), &own);
        let schedule = self.schedule.clone();
        let mut gather = Gather::new(ranks, recorder, &schedule, company.snapshots, (receivers, share))?;
        let planes = self.setup.padded.planes();
        // SAFETY: the slabs keep the memory of their messages until they part, after the exchange.
        let exchange = unsafe { Remote::new(PeerToPeer, ranks, &mut self.slabs, &own, planes)? };
        self.run_by(&mut exchange.manner(company.manner), &mut gather)
    }

    /// Ranks agree on the way of their ghosts. Returns the ways downwards and upwards. All ranks call this.
    pub fn meet(&mut self, ranks: &dyn Ranks, way: Way) -> Result<[Option<Way>; 2], Error> {
        let ways = sides::meet(&mut self.slabs, ranks, way)?;
        self.messages = sides::bytes(&self.slabs);
        Ok(ways)
    }

    /// Gives back what neighbours have lent, before anybody frees it. All ranks call this.
    pub fn part(&mut self, ranks: &dyn Ranks) -> Result<(), Error> {
        sides::part(&mut self.slabs, ranks)
    }

    /// [`Simulation::peaks`] of all ranks on rank 0, in the order of the planes; nothing on the others. All call it.
    pub fn peaks_among(&self, ranks: &dyn Ranks) -> Result<Vec<T>, Error> {
        maps_of_all(agree(ranks, self.peaks())?, ranks)
    }

    fn run_by(
        &mut self,
        exchange: &mut dyn Exchange<DeviceSlab<T, A>>,
        recorder: &mut dyn Recorder<T>,
    ) -> Result<(), Error> {
        self.slabs.iter_mut().for_each(DeviceSlab::rewind);
        let bad = std::cell::Cell::new(None);
        let report = |step: usize, cell: [usize; 3]| {
            bad.set(Some((step, cell)));
            Error::setup("the wavefield is not finite")
        };
        let result = time_loop::run(&mut self.slabs, exchange, &self.schedule, recorder, &report);
        // Nothing may be left in the queues, whatever happened; the first error is the one that tells why.
        let finished = self.slabs.iter().map(|slab| slab.accelerator().finish());
        let finished = finished.fold(Ok(()), Result::and);
        match bad.get() {
            Some((step, cell)) => Err(Error::NotFinite {
                step,
                cell: self.setup.padded.describe(cell),
                medium: self.describe(cell)?,
            }),
            None => result.and(finished),
        }
    }
}
