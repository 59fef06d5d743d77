//! Halos: the numbers that subdomains exchange after a stage, and their transfer.
//!
//! A subdomain has any number of neighbours, each with a [`Link`]: for every stage the ranges of numbers that are sent
//! and received, as positions in the *exchanged memory* of the subdomain (the fields that the stage computes). Numbers
//! that arrive replace the previous ones. On meshes, where a point belongs to several subdomains, contributions arrive
//! in addition to the subdomain's own, and an [`OrderedSum`] adds all of them in an order that does not depend on the
//! decomposition, so that every decomposition gives the same bits.
//!
//! A [`Network`] transfers the numbers: [`HostNetwork`] between subdomains in host memory and
//! [`super::device_halo::DeviceNetwork`] between subdomains on devices. [`Local`] runs a network inside one process,
//! and [`super::rank_halo::MessagePassing`] among several.

use super::message_buffers::MessageBuffers;
use super::options::Transport;
use crate::Error;
use crate::communicator::{Communicator, Span};
use crate::device::simd::Real;
use crate::time_loop::{Halo, Stepper};
use std::collections::BTreeMap;
use std::ops::Range;

/// The numbers that two neighbours exchange in a stage, in pieces, as positions in the exchanged memory of the
/// subdomain that has the link. Piece `k` that leaves here is as long as piece `k` that arrives at the neighbour.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Positions of the numbers that leave.
    pub send: Vec<Range<usize>>,
    /// Positions of the numbers that arrive.
    pub receive: Vec<Range<usize>>,
}

/// The connection of a subdomain to a neighbour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The neighbour's number among all subdomains of the run.
    pub neighbour: usize,
    /// The numbers to exchange, by stage.
    pub stages: Vec<Traffic>,
}

/// Sums of numbers of the exchanged memory in a fixed order: the number at `targets[i]` becomes the sum of the numbers
/// at `terms[starts[i]..starts[i + 1]]`, added from left to right. A target must not be a term of another sum.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OrderedSum {
    /// Positions of the sums.
    pub targets: Vec<u32>,
    /// Indices in `terms` of the first term of each sum; one more entry than `targets`.
    pub starts: Vec<u32>,
    /// Positions of the terms, in the order of global element numbers.
    pub terms: Vec<u32>,
}

impl OrderedSum {
    /// Computes the sums.
    pub fn apply<T: Real>(&self, memory: &mut [T]) {
        for (target, bounds) in self.targets.iter().zip(self.starts.windows(2)) {
            let mut sum = T::of(0.0);
            for &term in &self.terms[bounds[0] as usize..bounds[1] as usize] {
                sum += memory[term as usize];
            }
            memory[*target as usize] = sum;
        }
    }
}

/// A subdomain with links to its neighbours.
pub trait Linked: Stepper {
    /// Its number among all subdomains of the run.
    fn number(&self) -> usize;

    /// The links of a subdomain to its neighbours, in the order of the neighbours' numbers; every call returns the same
    /// links.
    fn links(&self) -> &[Link];

    /// The sums to compute when all numbers of a stage have arrived; `None` if these only replace others.
    fn sums(&self, _stage: usize) -> Option<&OrderedSum> {
        None
    }
}

/// A subdomain whose fields are in host memory.
pub trait HostHalo: Linked {
    /// The fields that the current stage computes, in which the positions of links count.
    fn exchanged(&mut self, stage: usize) -> &mut [Self::Number];
}

/// One end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct End {
    /// Index of the subdomain in the list of this process.
    pub subdomain: usize,
    /// Index of the link of this subdomain.
    pub link: usize,
}

/// The transfer of numbers between subdomains of one kind. Messages between ranks use memory that the network provides
/// ([`Network::spans`]); the network itself moves the numbers between that memory and the fields.
pub trait Network<S: Linked>: Sized {
    /// Makes a network for these subdomains, which must be all subdomains of this process.
    fn new(subdomains: &[S]) -> Result<Self, Error>;

    /// Prepares the ends of links to other ranks, and returns the transport of outgoing messages for each of them.
    ///
    /// Collective: all ranks must call it. An error on one rank is an error on all.
    fn connect(
        &mut self,
        subdomains: &mut [S],
        outer: &[(End, Peer)],
        ranks: &dyn Communicator,
        transport: Transport,
    ) -> Result<Vec<Transport>, Error>;

    /// Releases what [`Network::connect`] has prepared. Collective: all ranks must call it.
    fn disconnect(&mut self, ranks: &dyn Communicator) -> Result<(), Error>;

    /// Bytes of memory for messages between ranks; device memory if the fields are on devices.
    fn bytes(&self) -> usize;

    /// Starts to copy the numbers of a stage between the subdomains of this process.
    fn start(&mut self, subdomains: &mut [S], stage: usize) -> Result<(), Error>;

    /// Makes sure that these copies are done, or that all later work waits for them.
    fn finish(&mut self, subdomains: &mut [S], stage: usize) -> Result<(), Error>;

    /// Adds up contributions once all numbers of a stage have arrived.
    fn combine(&mut self, subdomains: &mut [S], stage: usize) -> Result<(), Error>;

    /// Memory of the outgoing and incoming messages of a stage, piece by piece. Its addresses do not change.
    fn spans(&mut self, subdomains: &mut [S], end: End, stage: usize) -> (Vec<Span>, Vec<Span>);

    /// Starts to move the numbers that leave to the memory of their messages; returns `true` if they are already there.
    fn pack(&mut self, subdomains: &mut [S], end: End, stage: usize) -> Result<bool, Error>;

    /// Waits until a piece is in the memory of its message.
    fn packed(&mut self, subdomains: &mut [S], end: End, stage: usize, piece: usize) -> Result<(), Error>;

    /// Moves a piece that has arrived to its position in the fields; all later work there waits for it.
    fn unpack(&mut self, subdomains: &mut [S], end: End, stage: usize, piece: usize) -> Result<(), Error>;
}

/// The other end of a link between ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The rank of the process at that end.
    pub rank: usize,
    /// The numbers of both subdomains among all subdomains of the run, this end first.
    pub numbers: [usize; 2],
}

/// Both ends of the links between subdomains of this process, each pair once and with the lower subdomain first.
pub(super) fn local_pairs<S: Linked>(subdomains: &[S]) -> Vec<[End; 2]> {
    let places: BTreeMap<usize, usize> = subdomains.iter().map(S::number).zip(0..).collect();
    let mut pairs = Vec::new();
    for (subdomain, s) in subdomains.iter().enumerate() {
        for (link, way) in s.links().iter().enumerate() {
            let Some(&other) = places.get(&way.neighbour).filter(|&&other| other > subdomain) else {
                continue;
            };
            let back = |l: &Link| l.neighbour == s.number();
            if let Some(back) = subdomains[other].links().iter().position(back) {
                let there = End {
                    subdomain: other,
                    link: back,
                };
                pairs.push([End { subdomain, link }, there]);
            }
        }
    }
    pairs
}

/// Both subdomains of a pair of ends.
pub(super) fn both<'a, S>(subdomains: &'a mut [S], ends: &[End; 2]) -> (&'a mut S, &'a mut S) {
    let [low, high] = ends.map(|end| end.subdomain);
    let (before, behind) = subdomains.split_at_mut(high);
    (&mut before[low], &mut behind[0])
}

/// The network of subdomains in host memory. Numbers are copied as soon as the boundary parts are ready; numbers for
/// other ranks go through buffers.
pub struct HostNetwork<T> {
    pairs: Vec<[End; 2]>,
    buffers: BTreeMap<End, MessageBuffers<T>>,
}

impl<T: Real, S: HostHalo<Number = T>> Network<S> for HostNetwork<T> {
    fn new(subdomains: &[S]) -> Result<Self, Error> {
        Ok(Self {
            pairs: local_pairs(subdomains),
            buffers: BTreeMap::new(),
        })
    }

    fn connect(
        &mut self,
        subdomains: &mut [S],
        outer: &[(End, Peer)],
        _ranks: &dyn Communicator,
        _transport: Transport,
    ) -> Result<Vec<Transport>, Error> {
        let buffers = |&(end, _): &(End, Peer)| {
            let link = &subdomains[end.subdomain].links()[end.link];
            (end, MessageBuffers::new(link))
        };
        self.buffers = outer.iter().map(buffers).collect();
        Ok(vec![Transport::HostStaged; outer.len()])
    }

    fn disconnect(&mut self, _ranks: &dyn Communicator) -> Result<(), Error> {
        self.buffers.clear();
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.buffers.values().map(MessageBuffers::bytes).sum()
    }

    fn start(&mut self, subdomains: &mut [S], stage: usize) -> Result<(), Error> {
        for ends in &self.pairs {
            let (low, high) = both(subdomains, ends);
            let up = low.links()[ends[0].link].stages[stage].clone();
            let down = high.links()[ends[1].link].stages[stage].clone();
            let (low, high) = (low.exchanged(stage), high.exchanged(stage));
            for (from, to) in up.send.into_iter().zip(down.receive) {
                high[to].copy_from_slice(&low[from]);
            }
            for (from, to) in down.send.into_iter().zip(up.receive) {
                low[to].copy_from_slice(&high[from]);
            }
        }
        Ok(())
    }

    fn finish(&mut self, _subdomains: &mut [S], _stage: usize) -> Result<(), Error> {
        Ok(())
    }

    fn combine(&mut self, subdomains: &mut [S], stage: usize) -> Result<(), Error> {
        for subdomain in subdomains {
            if let Some(sums) = subdomain.sums(stage).cloned() {
                sums.apply(subdomain.exchanged(stage));
            }
        }
        Ok(())
    }

    fn spans(&mut self, _subdomains: &mut [S], end: End, stage: usize) -> (Vec<Span>, Vec<Span>) {
        let buffers = self.buffers.get_mut(&end);
        buffers.map_or_else(Default::default, |buffers| buffers.spans(stage))
    }

    fn pack(&mut self, subdomains: &mut [S], end: End, stage: usize) -> Result<bool, Error> {
        let subdomain = &mut subdomains[end.subdomain];
        let ranges = subdomain.links()[end.link].stages[stage].send.clone();
        if let Some(buffers) = self.buffers.get_mut(&end) {
            buffers.pack(&ranges, subdomain.exchanged(stage));
        }
        Ok(true)
    }

    fn packed(&mut self, _: &mut [S], _: End, _stage: usize, _piece: usize) -> Result<(), Error> {
        Ok(())
    }

    fn unpack(&mut self, subdomains: &mut [S], end: End, stage: usize, piece: usize) -> Result<(), Error> {
        let subdomain = &mut subdomains[end.subdomain];
        let ranges = subdomain.links()[end.link].stages[stage].receive.clone();
        if let Some(buffers) = self.buffers.get(&end) {
            buffers.unpack(&ranges, piece, subdomain.exchanged(stage));
        }
        Ok(())
    }
}

/// The halo of a run whose subdomains are all in this process.
pub struct Local<'a, N>(pub &'a mut N);

impl<S: Linked, N: Network<S>> Halo<S> for Local<'_, N> {
    fn start(&mut self, subdomains: &mut [S], stage: usize) -> Result<(), Error> {
        self.0.start(subdomains, stage)
    }

    fn finish(&mut self, subdomains: &mut [S], stage: usize) -> Result<(), Error> {
        self.0.finish(subdomains, stage)?;
        self.0.combine(subdomains, stage)
    }
}
