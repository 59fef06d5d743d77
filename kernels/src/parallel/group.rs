//! The slabs of this process on devices of their own: their run, alone or together with other ranks.

use super::communicator::Communicator;
use super::device_halo::{self, DeviceHalo};
use super::gather::{Gather, own, share};
use super::halo::{Exchange, Peer, PeerToPeer};
use super::options::{ParallelOptions, Transport};
use super::rank_halo::Remote;
use crate::Error;
use crate::device::accelerator::Accelerator;
use crate::grid::Padded;
use crate::time_loop::state::{self as saved, Checkpoints, State, StateHeader, StateSource};
use crate::time_loop::{self, Recorder, Schedule};
use std::ops::Range;

/// A slab of a team.
pub trait DeviceSubdomain: DeviceHalo<Number: Default + Clone> + Peer + State {
    /// The grid that all share.
    fn padded(&self) -> &Padded;

    /// The window of the snapshots.
    fn window(&self) -> &[Range<usize>; 3];

    /// Receivers whose plane is among these.
    fn receivers(&self, planes: &Range<usize>) -> Vec<usize>;

    /// Before the first step: so many records were taken before it, and what a run that failed left behind is forgotten.
    fn rewind(&mut self, records: usize);

    /// The medium at a padded cell of an own plane, in words.
    fn describe(&self, cell: [usize; 3]) -> Result<String, Error>;
}

/// All slabs of this process, lowest plane first.
pub struct DeviceGroup<S> {
    /// The slabs.
    pub slabs: Vec<S>,
    schedule: Schedule,
    /// Bytes of the messages of the ranks that met last.
    messages: usize,
}

impl<S: DeviceSubdomain> DeviceGroup<S> {
    /// Makes the devices known to each other.
    pub fn new(slabs: Vec<S>, schedule: Schedule) -> Result<Self, Error> {
        for pair in slabs.windows(2) {
            pair[0].device().enable_peer_access(pair[1].device())?;
        }
        Ok(Self {
            slabs,
            schedule,
            messages: 0,
        })
    }

    /// Steps to run.
    pub fn steps(&self) -> usize {
        self.schedule.nt
    }

    /// Bytes of the messages of the ranks that met last.
    pub fn messages(&self) -> usize {
        self.messages
    }

    /// Runs all steps.
    pub fn run(&mut self, recorder: &mut dyn Recorder<S::Number>) -> Result<(), Error> {
        run_by(&mut self.slabs, &self.schedule, &mut PeerToPeer, recorder, None)
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

    /// Runs all steps as one of several ranks. Rank 0's recorder gets the traces.
    pub fn run_among(
        &mut self,
        ranks: &dyn Communicator,
        recorder: &mut dyn Recorder<S::Number>,
        options: ParallelOptions,
    ) -> Result<(), Error>
    where
        S::Number: bytemuck::Pod,
    {
        self.run_saving(ranks, recorder, options, None)
    }

    /// [`DeviceGroup::run_among`], with states saved as `checkpoints` say.
    pub fn run_saving(
        &mut self,
        ranks: &dyn Communicator,
        recorder: &mut dyn Recorder<S::Number>,
        options: ParallelOptions,
        checkpoints: Option<&mut Checkpoints<'_>>,
    ) -> Result<(), Error>
    where
        S::Number: bytemuck::Pod,
    {
        if ranks.size() == 1 {
            let (slabs, schedule) = (&mut self.slabs, &self.schedule);
            return run_by(slabs, schedule, &mut PeerToPeer, recorder, checkpoints);
        }
        self.meet(ranks, options.way)?;
        let result = self.run_together(ranks, recorder, options, checkpoints);
        let together = |e: &Error| {
            matches!(
                e,
                Error::NotFinite { .. } | Error::Elsewhere | Error::Stopped { .. }
            )
        };
        if result.as_ref().err().is_none_or(together) {
            self.part(ranks)?;
        }
        result
    }

    /// [`DeviceGroup::run_among`] between [`DeviceGroup::meet`] and [`DeviceGroup::part`], any number of times.
    pub fn run_met(
        &mut self,
        ranks: &dyn Communicator,
        recorder: &mut dyn Recorder<S::Number>,
        options: ParallelOptions,
    ) -> Result<(), Error>
    where
        S::Number: bytemuck::Pod,
    {
        self.run_together(ranks, recorder, options, None)
    }

    fn run_together(
        &mut self,
        ranks: &dyn Communicator,
        recorder: &mut dyn Recorder<S::Number>,
        options: ParallelOptions,
        checkpoints: Option<&mut Checkpoints<'_>>,
    ) -> Result<(), Error>
    where
        S::Number: bytemuck::Pod,
    {
        let (own, first) = (own(&self.slabs), &self.slabs[0]);
        let (padded, receivers) = (first.padded(), first.receivers(&own));
        let share = share(first.window(), padded.ndim(), &own);
        let planes = padded.planes();
        let schedule = &self.schedule;
        let mut gather = Gather::new(ranks, recorder, schedule, options.snapshots, (receivers, share))?;
        // SAFETY: the slabs keep the memory of their messages until they part, after the exchange.
        let exchange = unsafe { Remote::new(PeerToPeer, ranks, &mut self.slabs, &own, planes)? };
        let mut exchange = exchange.manner(options.manner);
        run_by(&mut self.slabs, schedule, &mut exchange, &mut gather, checkpoints)
    }

    /// Ranks agree on the way of their ghosts. Returns the ways downwards and upwards. All ranks call this.
    pub fn meet(
        &mut self,
        ranks: &dyn Communicator,
        way: Transport,
    ) -> Result<[Option<Transport>; 2], Error> {
        let ways = device_halo::meet(&mut self.slabs, ranks, way)?;
        self.messages = device_halo::bytes(&self.slabs);
        Ok(ways)
    }

    /// Gives back what neighbours have lent, before anybody frees it. All ranks call this.
    pub fn part(&mut self, ranks: &dyn Communicator) -> Result<(), Error> {
        device_halo::part(&mut self.slabs, ranks)
    }
}

fn run_by<S: DeviceSubdomain>(
    slabs: &mut [S],
    schedule: &Schedule,
    exchange: &mut dyn Exchange<S>,
    recorder: &mut dyn Recorder<S::Number>,
    checkpoints: Option<&mut Checkpoints<'_>>,
) -> Result<(), Error> {
    let before = schedule.first.div_ceil(schedule.jdata);
    slabs.iter_mut().for_each(|slab| slab.rewind(before));
    let bad = std::cell::Cell::new(None);
    let seen = |step: usize, cell: [usize; 3]| {
        bad.set(Some((step, cell)));
        Error::setup("the wavefield is not finite")
    };
    let result = time_loop::run(slabs, exchange, schedule, recorder, &seen, checkpoints);
    // Nothing may be left in the queues, whatever happened; the first error is the one that tells why.
    let finished = slabs.iter().map(|slab| slab.device().finish());
    let finished = finished.fold(Ok(()), Result::and);
    let Some((step, cell)) = bad.get() else {
        return result.and(finished);
    };
    let padded = slabs[0].padded();
    let plane = cell[padded.ndim() - 1];
    let slab = slabs.iter().find(|s| s.layout().own.contains(&plane));
    let slab = slab.ok_or_else(|| Error::setup("no slab owns the cell"))?;
    Err(Error::NotFinite {
        step,
        cell: padded.describe(cell),
        medium: slab.describe(cell)?,
    })
}
