//! Construction of the ends of links to other ranks: memory of messages on the device or the host, memory that
//! neighbours export, and the agreement of all ranks. [`super::device_halo`] explains their use.

use super::device_halo::DeviceHalo;
use super::halo::{Linked, Peer};
use super::ipc::{IpcExport, IpcImport};
use super::options::Transport;
use crate::communicator::Communicator;
use crate::device::accelerator::{Accelerator, Memory};
use crate::{Error, Hint, message};
use std::collections::BTreeMap;
use std::ops::Range;

/// Device memory of a subdomain.
pub(super) type Store<S> = <<S as DeviceHalo>::Device as Accelerator>::Memory;

/// Memory of the messages at one end of a link, with the messages of all stages in sequence.
pub(super) enum Place<A: Accelerator> {
    /// An empty message reports that the sender has written the halo, or the separate buffer for it.
    Notice {
        word: Box<u64>,
        beside: Option<A::Memory>,
    },
    Device(A::Memory),
    Host(A::Pinned),
}

/// One end of a link whose other end is on another rank.
pub(super) struct HaloChannel<A: Accelerator> {
    pub import: Option<IpcImport>,
    pub leaving: Place<A>,
    pub arriving: Place<A>,
    /// Reached when each piece that leaves is in the memory of its message.
    pub packed: Vec<A::Event>,
    /// Reached when the numbers that arrived are in the halo.
    pub unpacked: A::Event,
    /// Counts of the messages of every stage that have left and arrived, by which they alternate between two parts of
    /// the separate buffer.
    pub turns: Vec<[usize; 2]>,
}

impl<A: Accelerator> HaloChannel<A> {
    /// Bytes of device memory.
    pub fn bytes(&self) -> usize {
        let of = |place: &Place<A>| match place {
            Place::Notice { beside, .. } => beside.as_ref().map_or(0, Memory::bytes),
            Place::Device(memory) => memory.bytes(),
            Place::Host(_) => 0,
        };
        of(&self.leaving) + of(&self.arriving)
    }
}

/// The direction of the numbers of a link.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Way {
    Leaving,
    Arriving,
}

/// The ranges of numbers of a stage of a link.
pub(super) fn pieces<S: Linked>(subdomain: &S, link: usize, stage: usize, way: Way) -> &[Range<usize>] {
    let traffic = &subdomain.links()[link].stages[stage];
    match way {
        Way::Leaving => &traffic.send,
        Way::Arriving => &traffic.receive,
    }
}

/// Bytes of a piece.
pub(super) fn size<S: Linked>(piece: &Range<usize>) -> usize {
    piece.len() * size_of::<S::Number>()
}

/// Offset and size in bytes of the pieces of a stage, in memory that holds the pieces of all stages in sequence.
pub(super) fn places<S: Linked>(subdomain: &S, link: usize, stage: usize, way: Way) -> Vec<(usize, usize)> {
    let before = (0..stage).flat_map(|s| pieces(subdomain, link, s, way));
    let mut end: usize = before.map(size::<S>).sum();
    let place = |piece: &Range<usize>| {
        let bytes = size::<S>(piece);
        end += bytes;
        (end - bytes, bytes)
    };
    pieces(subdomain, link, stage, way).iter().map(place).collect()
}

/// Bytes of the pieces of all stages.
pub(super) fn message<S: Linked>(subdomain: &S, link: usize, way: Way) -> usize {
    let stages = 0..subdomain.links()[link].stages.len();
    let all = stages.flat_map(|stage| pieces(subdomain, link, stage, way));
    all.map(size::<S>).sum()
}

/// Number of parts of the separate buffer for a halo. A part may be overwritten after the neighbour's message of the
/// next stage has arrived. A link with messages in both directions in a single stage has no message in between, so the
/// messages of each stage alternate between two parts.
pub(super) fn parts<S: Linked>(subdomain: &S, link: usize) -> usize {
    let stages = subdomain.links()[link].stages.iter();
    let mutual = stages.filter(|traffic| !traffic.send.is_empty() && !traffic.receive.is_empty());
    if mutual.count() > 1 { 1 } else { 2 }
}

/// Number of pieces of all stages that are sent over a link, which equals the number that arrive at its other end.
pub(super) fn leaving<S: Linked>(subdomain: &S, link: usize) -> usize {
    let stages = &subdomain.links()[link].stages;
    stages.iter().map(|t| t.send.len()).sum()
}

/// Address of a piece in the fields.
pub(super) fn address<S: DeviceHalo>(subdomain: &S, stage: usize, piece: &Range<usize>) -> u64 {
    subdomain.exchanged(stage) + (piece.start * size_of::<S::Number>()) as u64
}

/// The ranks that are being connected, and the transport that was requested.
pub(super) struct Connecting<'a> {
    pub ranks: &'a dyn Communicator,
    pub hosts: Vec<Vec<u8>>,
    pub transport: Transport,
}

impl Connecting<'_> {
    /// Whether a peer may be able to reach memory of this rank.
    pub fn is_near(&self, peer: &Peer) -> bool {
        let same = self.hosts[peer.rank] == self.hosts[self.ranks.rank()];
        matches!(self.transport, Transport::Auto | Transport::Ipc) && same
    }

    /// Allocates the separate buffer for the halo of this end, if the peer may reach it and the halo itself cannot be
    /// exported.
    pub fn beside<S: DeviceHalo>(
        &self,
        subdomain: &S,
        link: usize,
        peer: &Peer,
    ) -> Result<Option<Store<S>>, Error> {
        match self.is_near(peer) && subdomain.exported(link).is_none() {
            true => {
                let bytes = parts(subdomain, link) * message(subdomain, link, Way::Arriving);
                subdomain.device().allocate(bytes).map(Some)
            }
            false => Ok(None),
        }
    }

    /// Returns the bytes with which a peer can open this end's halo or buffer; empty if it cannot.
    pub fn export<S: DeviceHalo>(
        &self,
        subdomain: &S,
        link: usize,
        (peer, beside): (&Peer, Option<&Store<S>>),
    ) -> Result<Vec<u8>, Error> {
        let stages = 0..subdomain.links()[link].stages.len();
        let one = message(subdomain, link, Way::Arriving);
        let offsets: Vec<usize> = stages
            .flat_map(|stage| places(subdomain, link, stage, Way::Arriving))
            .map(|(offset, _)| offset)
            .collect();
        let apart = |memory| IpcExport {
            memories: vec![memory],
            places: (0..parts(subdomain, link))
                .flat_map(|part| {
                    offsets
                        .iter()
                        .map(move |offset| (0, (part * one + offset) as u64))
                })
                .collect(),
        };
        match beside.map(apart).or_else(|| subdomain.exported(link)) {
            Some(export) if self.is_near(peer) => export.words(&**subdomain.device()),
            _ => Ok(Vec::new()),
        }
    }

    /// Whether messages are in device memory.
    pub fn is_on_device(&self) -> bool {
        matches!(self.transport, Transport::Auto | Transport::CudaAware) && self.ranks.reaches_devices()
    }

    /// Checks that the requested transport is possible: IPC requires that all neighbours are `reached`, and
    /// CUDA-aware MPI that MPI sends from devices.
    pub fn possible(&self, reached: bool) -> Result<(), Error> {
        match self.transport {
            Transport::Ipc if !reached => Err(Error::setup(message![
                "halos cannot be copied from GPU to GPU: the GPU of a neighbour cannot be reached (it is on another host, or hidden by CUDA_VISIBLE_DEVICES); ",
                Hint::Transport,
            ])),
            Transport::CudaAware if !self.is_on_device() => Err(Error::setup(message![
                "halos cannot be sent from GPU to GPU: this MPI does not say that it can send from GPUs; ",
                Hint::Transport,
            ])),
            _ => Ok(()),
        }
    }
}

/// Decodes the data that all ranks have encoded by [`encode_end`]: bytes for each end of a link, by the numbers of both
/// subdomains.
pub(super) fn decode_ends(all: &[Vec<u8>]) -> BTreeMap<[usize; 2], Vec<u8>> {
    let mut ends = BTreeMap::new();
    for mut rest in all.iter().map(Vec::as_slice) {
        while let Some((head, tail)) = rest.split_first_chunk::<24>() {
            let number = |k: usize| {
                let bytes = head[8 * k..8 * k + 8].try_into().expect("eight bytes");
                u64::from_le_bytes(bytes) as usize
            };
            let (words, next) = tail.split_at(number(2).min(tail.len()));
            ends.insert([number(0), number(1)], words.to_vec());
            rest = next;
        }
    }
    ends
}

/// Appends the numbers of both subdomains of a link and the bytes for one of its ends.
pub(super) fn encode_end(words: &mut Vec<u8>, numbers: [usize; 2], bytes: &[u8]) {
    for number in [numbers[0], numbers[1], bytes.len()] {
        words.extend((number as u64).to_le_bytes());
    }
    words.extend(bytes);
}

/// The components of one end of a link.
pub(super) struct Making<M> {
    /// Whether the neighbour has opened the memory that was exported to it.
    pub is_reached: bool,
    pub is_on_device: bool,
    pub import: Option<IpcImport>,
    pub beside: Option<M>,
}

impl<M> Making<M> {
    /// Makes one end, and returns the transport of the messages that leave there.
    pub fn channel<S: DeviceHalo>(
        self,
        subdomain: &mut S,
        link: usize,
    ) -> Result<(HaloChannel<S::Device>, Transport), Error>
    where
        S::Device: Accelerator<Memory = M>,
    {
        let a = subdomain.device().clone();
        let notice = |beside: Option<M>| Place::Notice {
            word: Box::new(0),
            beside,
        };
        let place = |had: Option<M>, way: Way| -> Result<Place<S::Device>, Error> {
            let bytes = message(subdomain, link, way);
            Ok(match (self.is_on_device, had) {
                (true, Some(memory)) => Place::Device(memory),
                (true, None) => Place::Device(a.allocate(bytes)?),
                _ => Place::Host(a.pin(bytes)?),
            })
        };
        let leaving = match self.import {
            Some(_) => notice(None),
            None => place(None, Way::Leaving)?,
        };
        let arriving = match self.is_reached {
            true => notice(self.beside),
            false => place(self.beside, Way::Arriving)?,
        };
        let transport = match leaving {
            Place::Notice { .. } => Transport::Ipc,
            Place::Device(_) => Transport::CudaAware,
            Place::Host(_) => Transport::HostStaged,
        };
        let stages = &subdomain.links()[link].stages;
        let most = stages.iter().map(|t| t.send.len()).max().unwrap_or(0);
        let packed = (0..most).map(|_| a.event()).collect::<Result<_, _>>()?;
        if transport == Transport::HostStaged {
            subdomain.becomes_host_staged();
        }
        let channel = HaloChannel {
            leaving,
            arriving,
            packed,
            unpacked: a.event()?,
            turns: vec![[0, 0]; subdomain.links()[link].stages.len()],
            import: self.import,
        };
        Ok((channel, transport))
    }
}
