//! The velocity-stress method as one of several ranks: each has slabs of its own, and no more of the medium than they
//! need.

use super::{CpuSlab, Simulation};
use crate::Error;
use crate::device::simd::Real;
use crate::parallel::communicator::{Alone, Communicator, Span, Topic};
use crate::parallel::gather::{Gather, own, share};
use crate::parallel::halo::{Copying, Neighbour};
use crate::parallel::options::ParallelOptions;
use crate::parallel::rank_halo::{RankHalo, Remote};
use crate::time_loop::state::{self as saved, Checkpoints, StateHeader, StateSource};
use crate::time_loop::{self, Recorder};

impl<T: Real + Default + bytemuck::Pod> Simulation<T> {
    /// Runs all steps.
    pub fn run(&mut self, recorder: &mut dyn Recorder<T>) -> Result<(), Error> {
        self.run_among(&Alone, recorder, ParallelOptions::default())
    }

    /// Runs all steps as one of several ranks. Rank 0's recorder gets the traces.
    pub fn run_among(
        &mut self,
        ranks: &dyn Communicator,
        recorder: &mut dyn Recorder<T>,
        options: ParallelOptions,
    ) -> Result<(), Error> {
        self.run_saving(ranks, recorder, options, None)
    }

    /// Collective: loads a state, behind which the next run goes on; every rank has a source of the same bytes.
    pub fn resume(
        &mut self,
        ranks: &dyn Communicator,
        source: &mut dyn StateSource,
    ) -> Result<StateHeader, Error> {
        let header = saved::load(ranks, source, &mut self.slabs)?;
        self.schedule.resume(&header)?;
        Ok(header)
    }

    /// Bytes of the host's memory and of the file that the slabs of this process take for a state.
    pub fn state_bytes(&self) -> usize {
        saved::owned_bytes(&self.slabs)
    }

    /// [`Simulation::run_among`], with states saved as `checkpoints` say.
    pub fn run_saving(
        &mut self,
        ranks: &dyn Communicator,
        recorder: &mut dyn Recorder<T>,
        options: ParallelOptions,
        checkpoints: Option<&mut Checkpoints<'_>>,
    ) -> Result<(), Error> {
        let setup = self.setup.clone();
        let report = |step: usize, cell: [usize; 3]| Error::NotFinite {
            step,
            cell: setup.padded.describe(cell),
            medium: setup.medium.describe(cell),
        };
        if ranks.size() == 1 {
            let (slabs, schedule) = (&mut self.slabs, &self.schedule);
            return time_loop::run(slabs, &mut Copying, schedule, recorder, &report, checkpoints);
        }
        let own = own(&self.slabs);
        let receivers = setup.receivers.within(&own);
        let share = share(&setup.window, setup.padded.ndim(), &own);
        let mut gather = Gather::new(
            ranks,
            recorder,
            &self.schedule,
            options.snapshots,
            (receivers, share),
        )?;
        let planes = setup.padded.planes();
        // SAFETY: the slabs keep their messages until they are dropped, after the exchange.
        let exchange = unsafe { Remote::new(Copying, ranks, &mut self.slabs, &own, planes)? };
        let mut exchange = exchange.manner(options.manner);
        time_loop::run(
            &mut self.slabs,
            &mut exchange,
            &self.schedule,
            &mut gather,
            &report,
            checkpoints,
        )
    }

    /// [`Simulation::peaks`] of all ranks on rank 0, in the order of the planes; nothing on the others. All call it.
    pub fn peaks_among(&self, ranks: &dyn Communicator) -> Result<Vec<T>, Error> {
        maps_of_all(self.peaks(), ranks)
    }
}

/// The maps of all ranks behind each other on rank 0, nothing on the others. All call it.
pub(super) fn maps_of_all<T: bytemuck::Pod>(
    mut map: Vec<T>,
    ranks: &dyn Communicator,
) -> Result<Vec<T>, Error> {
    if ranks.rank() > 0 {
        ranks.send_to_root(Topic::Maps, bytemuck::cast_slice(&map).to_vec())?;
        return Ok(Vec::new());
    }
    for from in 1..ranks.size() {
        let part = ranks.receive_from(Topic::Maps, from)?;
        map.extend(bytemuck::pod_collect_to_vec::<u8, T>(&part));
    }
    Ok(map)
}

impl<T: Real> RankHalo for CpuSlab<T> {
    fn spans(&mut self, stage: usize, upper: bool) -> (Vec<Span>, Vec<Span>) {
        self.messages.spans(upper, self.pieces(stage))
    }

    fn leave(&mut self, stage: usize, upper: bool) -> Result<bool, Error> {
        let mut messages = std::mem::take(&mut self.messages);
        for piece in 0..self.pieces(stage) {
            let edge = self.edge(stage, upper, piece);
            messages.leaving(upper, piece).copy_from_slice(edge);
        }
        self.messages = messages;
        Ok(true)
    }

    fn left(&mut self, _stage: usize, _upper: bool, _piece: usize) -> Result<(), Error> {
        Ok(())
    }

    fn arrive(&mut self, stage: usize, upper: bool, piece: usize) -> Result<(), Error> {
        let messages = std::mem::take(&mut self.messages);
        let ghost = self.ghost(stage, upper, piece);
        ghost.copy_from_slice(messages.arrived(upper, piece));
        self.messages = messages;
        Ok(())
    }
}
