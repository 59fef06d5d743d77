//! The subdomains of this process, on processors or on devices, and their runs, alone or together with other ranks.

use super::gather::Gather;
use super::halo::{End, Linked, Local, Network, Peer};
use super::options::{ParallelOptions, Transport};
use super::rank_halo::{MessagePassing, outer_ends};
use crate::Error;
use crate::communicator::Communicator;
use crate::time_loop::state::{self as saved, Checkpoints, State, StateHeader, StateSource};
use crate::time_loop::{self, Feed, Halo, Hooks, Recorder, Sampler, Schedule, Stepper, merge};

/// A subdomain of a group.
pub trait Subdomain: Sampler<Number: Default + bytemuck::Pod> + Linked + State + Sized {
    /// The network that exchanges the halos of such subdomains.
    type Network: Network<Self>;

    /// The numbers of the receivers that this subdomain owns, ascending.
    fn receivers(&self) -> Vec<usize>;

    /// Called before the first step of a run: `records` records were taken before it, and anything that a failed run
    /// left behind must be discarded.
    fn rewind(&mut self, _records: usize) {}

    /// Whether a place (cell of the padded grid, point of a mesh) belongs to this subdomain.
    fn owns(&self, place: usize) -> bool;

    /// Descriptions, for messages, of a place of this subdomain and of the medium there.
    fn describe(&self, place: usize) -> Result<(String, String), Error>;

    /// Waits until all work enqueued on the subdomain's device is done, and returns the error of any work that failed.
    fn synchronize(&self) -> Result<(), Error> {
        Ok(())
    }
}

/// All subdomains of this process.
pub struct Group<S: Subdomain> {
    /// The subdomains, in the order of their numbers.
    pub subdomains: Vec<S>,
    schedule: Schedule,
    network: S::Network,
    /// The ends of links to other ranks, while the network is connected.
    outer: Vec<(End, Peer)>,
    /// Bytes of message memory after the last [`Group::connect`].
    message_bytes: usize,
}

impl<S: Subdomain> Group<S> {
    /// Makes a group of subdomains and the network between them.
    pub fn new(subdomains: Vec<S>, schedule: Schedule) -> Result<Self, Error> {
        Ok(Self {
            network: S::Network::new(&subdomains)?,
            subdomains,
            schedule,
            outer: Vec::new(),
            message_bytes: 0,
        })
    }

    /// Number of steps of the run.
    pub fn steps(&self) -> usize {
        self.schedule.nt
    }

    /// The schedule: the steps and the direction of the run, and the steps at which it records.
    pub fn schedule(&mut self) -> &mut Schedule {
        &mut self.schedule
    }

    /// Bytes of memory for messages to other ranks after the last [`Group::connect`]; device memory if the fields are
    /// on devices.
    pub fn message_bytes(&self) -> usize {
        self.message_bytes
    }

    /// Runs all steps.
    pub fn run(&mut self, recorder: &mut dyn Recorder<S::Number>) -> Result<(), Error> {
        self.run_fed(recorder, None)
    }

    /// Runs all steps; the feed may change the fields before each of them.
    pub fn run_fed(
        &mut self,
        recorder: &mut dyn Recorder<S::Number>,
        feed: Option<&mut dyn Feed<S>>,
    ) -> Result<(), Error> {
        let between = Between {
            recorder,
            feed,
            checkpoints: None,
        };
        self.run_alone(between)
    }

    fn run_alone(&mut self, between: Between<'_, '_, '_, S>) -> Result<(), Error> {
        let halo = &mut Local(&mut self.network);
        run_by(&mut self.subdomains, &self.schedule, halo, between)
    }

    /// Loads a state, from which the next run continues; every rank must have a source of the same bytes. Collective:
    /// all ranks must call this.
    pub fn resume(
        &mut self,
        ranks: &dyn Communicator,
        source: &mut dyn StateSource,
    ) -> Result<StateHeader, Error> {
        let header = saved::load(ranks, source, &mut self.subdomains)?;
        self.schedule.resume(&header)?;
        Ok(header)
    }

    /// Bytes, in host memory and in the file, of the part of a state that belongs to the subdomains of this process.
    pub fn state_bytes(&self) -> usize {
        saved::owned_bytes(&self.subdomains)
    }

    /// Runs all steps as one of several ranks. Rank 0's recorder receives the traces. Collective: all ranks must call
    /// this.
    pub fn run_among(
        &mut self,
        ranks: &dyn Communicator,
        recorder: &mut dyn Recorder<S::Number>,
        options: ParallelOptions,
    ) -> Result<(), Error> {
        self.run_saving(ranks, recorder, options, None)
    }

    /// Does the same as [`Group::run_among`], and saves states as `checkpoints` specify.
    pub fn run_saving(
        &mut self,
        ranks: &dyn Communicator,
        recorder: &mut dyn Recorder<S::Number>,
        options: ParallelOptions,
        checkpoints: Option<&mut Checkpoints<'_>>,
    ) -> Result<(), Error> {
        let between = Between {
            recorder,
            feed: None,
            checkpoints,
        };
        if ranks.size() == 1 {
            return self.run_alone(between);
        }
        self.connect(ranks, options.transport)?;
        let result = self.run_together(ranks, options, between);
        let by_all = |e: &Error| {
            matches!(
                e,
                Error::NotFinite { .. } | Error::Elsewhere | Error::Stopped { .. }
            )
        };
        if result.as_ref().err().is_none_or(by_all) {
            self.disconnect(ranks)?;
        }
        result
    }

    /// Does the same as [`Group::run_among`], but must be called between [`Group::connect`] and
    /// [`Group::disconnect`], any number of times.
    pub fn run_connected(
        &mut self,
        ranks: &dyn Communicator,
        recorder: &mut dyn Recorder<S::Number>,
        options: ParallelOptions,
    ) -> Result<(), Error> {
        let between = Between {
            recorder,
            feed: None,
            checkpoints: None,
        };
        self.run_together(ranks, options, between)
    }

    fn run_together(
        &mut self,
        ranks: &dyn Communicator,
        options: ParallelOptions,
        between: Between<'_, '_, '_, S>,
    ) -> Result<(), Error> {
        let receivers = self.subdomains.iter().flat_map(S::receivers).collect();
        let shares: Vec<_> = self.subdomains.iter().map(S::snapshot_share).collect();
        let own = (receivers, merge(&shares));
        let recorder = between.recorder;
        let mut gather = Gather::new(ranks, recorder, &self.schedule, options.snapshots, own)?;
        let Self {
            subdomains,
            network,
            outer,
            ..
        } = self;
        // SAFETY: the network keeps the memory of its messages until it is disconnected, after the exchange.
        let mut halo = unsafe { MessagePassing::new(network, ranks, subdomains, outer, options.overlap)? };
        let between = Between {
            recorder: &mut gather,
            feed: between.feed,
            checkpoints: between.checkpoints,
        };
        run_by(subdomains, &self.schedule, &mut halo, between)
    }

    /// Connects the ranks, which agree on the transport of their halos. Returns the transport of outgoing messages
    /// for each link to another rank, in the order of subdomains and links. Collective: all ranks must call this.
    pub fn connect(
        &mut self,
        ranks: &dyn Communicator,
        transport: Transport,
    ) -> Result<Vec<Transport>, Error> {
        self.outer = outer_ends(&self.subdomains, ranks)?;
        let transports = self
            .network
            .connect(&mut self.subdomains, &self.outer, ranks, transport)?;
        self.message_bytes = self.network.bytes();
        Ok(transports)
    }

    /// Closes memory of neighbours before any rank frees it. Collective: all ranks must call this.
    pub fn disconnect(&mut self, ranks: &dyn Communicator) -> Result<(), Error> {
        self.network.disconnect(ranks)
    }
}

/// Recorder, feed and checkpoints, which are called between the steps of a run.
struct Between<'r, 'f, 'c, S: Stepper> {
    recorder: &'r mut dyn Recorder<S::Number>,
    feed: Option<&'f mut dyn Feed<S>>,
    checkpoints: Option<&'f mut Checkpoints<'c>>,
}

fn run_by<S: Subdomain>(
    subdomains: &mut [S],
    schedule: &Schedule,
    halo: &mut dyn Halo<S>,
    between: Between<'_, '_, '_, S>,
) -> Result<(), Error> {
    let before = schedule.first.div_ceil(schedule.jdata);
    subdomains.iter_mut().for_each(|s| s.rewind(before));
    let bad = std::cell::Cell::new(None);
    let report = |step: usize, place: usize| {
        bad.set(Some((step, place)));
        Error::setup("the wavefield is not finite")
    };
    let hooks = Hooks {
        recorder: between.recorder,
        report: &report,
        feed: between.feed,
        checkpoints: between.checkpoints,
    };
    let result = time_loop::run(subdomains, halo, schedule, hooks);
    // No work may be left in the streams, even after an error; the first error is the cause.
    let finished = subdomains.iter().map(Subdomain::synchronize);
    let finished = finished.fold(Ok(()), Result::and);
    let Some((step, place)) = bad.get() else {
        return result.and(finished);
    };
    let owner = subdomains.iter().find(|s| s.owns(place));
    let owner = owner.ok_or_else(|| Error::setup("no subdomain owns the place"))?;
    let (cell, medium) = owner.describe(place)?;
    Err(Error::NotFinite { step, cell, medium })
}
