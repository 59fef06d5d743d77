//! Halos of subdomains on devices, for any method. Inside a process they are copied from device memory to device
//! memory; between ranks by CUDA IPC if both devices are in one host, otherwise by messages from device memory, if MPI
//! supports them, or from host memory.
//!
//! Between devices of one host a rank copies into memory that its neighbour has exported, and then sends a short
//! message. Such a copy must not overwrite numbers that the neighbour still reads. The rank cannot wait for events of
//! the neighbour's streams; it knows their progress only from messages. The message of a stage is sent when the
//! neighbour's boundary part of that stage is computed, and with it everything for which its boundary stream has
//! waited: the whole previous stage, and the records in between. It implies nothing about records after it. Hence the
//! halo is written directly if the method no longer reads it once the neighbour has computed the boundary of the
//! previous stage ([`DeviceHalo::exported`]). Otherwise copies go to a separate buffer, and the neighbour itself moves
//! them to the halo in its boundary stream. That move follows all uses of the halo and ends before the neighbour's
//! message of the next stage, and no rank overwrites that part of the buffer before that message.

use super::device_channels::{
    Connecting, HaloChannel, Making, Place, Store, Way, address, decode_ends, encode_end, leaving, message,
    parts, pieces, places, size,
};
use super::halo::{End, Linked, Network, Peer, both, local_pairs};
pub use super::ipc::IpcExport;
use super::ipc::IpcImport;
use super::options::Transport;
use super::ordered_sum::DeviceSums;
use crate::Error;
use crate::communicator::{Communicator, Span, agree};
use crate::device::accelerator::{Accelerator, Memory, Pinned, Stream};
use crate::device::simd::Real;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A subdomain whose fields are on a device. Its boundary part is computed in [`Stream::Edges`].
pub trait DeviceHalo: Linked<Number: Real> {
    /// The type of the device.
    type Device: Accelerator;

    /// The device that holds the fields.
    fn device(&self) -> &Arc<Self::Device>;

    /// Address of the fields that the current stage computes, the exchanged memory in which the positions of links
    /// count.
    fn exchanged(&self, stage: usize) -> u64;

    /// The event after the last use of the numbers that neighbours in this process overwrite in a stage.
    fn released(&self) -> &<Self::Device as Accelerator>::Event;

    /// Memory in which a neighbour on another rank may write this end's halo as soon as this subdomain has computed
    /// its boundary of the previous stage. `None` if the halo may still be read then; methods that return memory have
    /// two stages or more.
    fn exported(&self, _link: usize) -> Option<IpcExport<'_, Store<Self>>> {
        None
    }

    /// The index of a piece that leaves among the places that the neighbour has exported for pieces that arrive there.
    fn exported_place(&self, stage: usize, link: usize, piece: usize) -> usize {
        let stages = &self.links()[link].stages;
        stages[..stage].iter().map(|t| t.send.len()).sum::<usize>() + piece
    }

    /// Makes the boundary stream wait for boundary parts that are computed in another stream.
    fn await_boundary(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Whether the main stream also computes boundary parts, which read the halo.
    fn has_boundary_in_main(&self) -> bool {
        false
    }

    /// Tells the subdomain that messages go through host memory, which is the slowest transport.
    fn becomes_host_staged(&mut self) {}

    /// Called when all copies and sums of a stage are enqueued in the boundary stream; other streams that read the
    /// results must wait for it.
    fn received(&mut self, _stage: usize) -> Result<(), Error> {
        Ok(())
    }
}

/// The network of subdomains on devices.
pub struct DeviceNetwork<A: Accelerator> {
    pairs: Vec<[End; 2]>,
    /// Events that are reached when a copy to a neighbour in this process is done, by the end from which it is sent.
    sent: BTreeMap<End, A::Event>,
    channels: BTreeMap<End, HaloChannel<A>>,
    sums: DeviceSums<A>,
}

impl<A: Accelerator> DeviceNetwork<A> {
    /// Copies the numbers of a stage from one end to the other.
    fn send<S: DeviceHalo<Device = A>>(
        &self,
        (from, to): (&S, &S),
        ends: [End; 2],
        stage: usize,
    ) -> Result<(), Error> {
        let a = from.device();
        from.await_boundary()?;
        // The neighbour may still be reading the numbers that are overwritten.
        a.wait(Stream::Edges, to.released())?;
        let leaving = pieces(from, ends[0].link, stage, Way::Leaving);
        let arriving = pieces(to, ends[1].link, stage, Way::Arriving);
        for (here, there) in leaving.iter().zip(arriving) {
            let (here, bytes) = (address(from, stage, here), size::<S>(here));
            // SAFETY: both ranges lie in the fields and have equal lengths; the events order the copy among their uses.
            unsafe { a.copy_to(Stream::Edges, here, to.device(), address(to, stage, there), bytes)? };
        }
        a.record(Stream::Edges, &self.sent[&ends[0]])
    }

    fn channel(&self, end: End) -> &HaloChannel<A> {
        self.channels.get(&end).expect("the ranks are connected")
    }

    /// Makes later boundary work of a subdomain wait for the copies from a neighbour in this process.
    fn await_copies<S: DeviceHalo<Device = A>>(&self, to: &S, from: End) -> Result<(), Error> {
        let sent = &self.sent[&from];
        to.device().wait(Stream::Edges, sent)?;
        if to.has_boundary_in_main() {
            to.device().wait(Stream::Main, sent)?;
        }
        Ok(())
    }
}

/// Moves a piece that arrived in a part of device memory to its halo.
fn put<S: DeviceHalo>(
    subdomain: &S,
    (from, part): (&Store<S>, usize),
    link: usize,
    (stage, piece): (usize, usize),
) -> Result<(), Error> {
    let (offset, bytes) = places(subdomain, link, stage, Way::Arriving)[piece];
    let offset = offset + part * message(subdomain, link, Way::Arriving);
    let to = address(
        subdomain,
        stage,
        &pieces(subdomain, link, stage, Way::Arriving)[piece],
    );
    let (a, from) = (subdomain.device(), from.address() + offset as u64);
    // SAFETY: both ranges are whole pieces. The memory is overwritten only after this rank's message of a later stage,
    // which is sent after an event that follows this copy.
    unsafe { a.copy_to(Stream::Edges, from, a, to, bytes) }
}

impl<A: Accelerator, S: DeviceHalo<Device = A>> Network<S> for DeviceNetwork<A> {
    fn new(subdomains: &[S]) -> Result<Self, Error> {
        let pairs = local_pairs(subdomains);
        let mut sent = BTreeMap::new();
        for ends in &pairs {
            let [low, high] = ends.map(|end| &subdomains[end.subdomain]);
            low.device().enable_peer_access(high.device())?;
            sent.insert(ends[0], low.device().event()?);
            sent.insert(ends[1], high.device().event()?);
        }
        Ok(Self {
            pairs,
            sent,
            channels: BTreeMap::new(),
            sums: DeviceSums::new(subdomains)?,
        })
    }

    fn connect(
        &mut self,
        subdomains: &mut [S],
        outer: &[(End, Peer)],
        ranks: &dyn Communicator,
        transport: Transport,
    ) -> Result<Vec<Transport>, Error> {
        let connecting = Connecting {
            ranks,
            hosts: ranks.all_gather(ranks.host().as_bytes())?,
            transport,
        };
        let beside = outer
            .iter()
            .map(|(end, peer)| connecting.beside(&subdomains[end.subdomain], end.link, peer));
        let beside: Vec<Option<A::Memory>> = agree(ranks, beside.collect())?;
        let exports = || -> Result<Vec<u8>, Error> {
            let mut words = Vec::new();
            for ((end, peer), beside) in outer.iter().zip(&beside) {
                let to = (peer, beside.as_ref());
                let export = connecting.export(&subdomains[end.subdomain], end.link, to)?;
                encode_end(&mut words, peer.numbers, &export);
            }
            Ok(words)
        };
        let exports = decode_ends(&ranks.all_gather(&agree(ranks, exports())?)?);
        let import = |(end, peer): &(End, Peer)| {
            let [mine, theirs] = peer.numbers;
            let words = exports
                .get(&[theirs, mine])
                .filter(|_| connecting.is_near(peer))?;
            IpcImport::open(&**subdomains[end.subdomain].device(), words)
        };
        let mut imports: Vec<Option<IpcImport>> = outer.iter().map(import).collect();
        let all = imports.iter().all(Option::is_some);
        let mut words = Vec::new();
        for ((_, peer), import) in outer.iter().zip(&imports) {
            encode_end(&mut words, peer.numbers, &[u8::from(import.is_some())]);
        }
        let opened = decode_ends(&ranks.all_gather(&words)?);
        let make = || {
            connecting.possible(all)?;
            let mut transports = Vec::new();
            for (k, (&(end, peer), beside)) in outer.iter().zip(beside).enumerate() {
                let [mine, theirs] = peer.numbers;
                let making = Making {
                    is_reached: opened.get(&[theirs, mine]).is_some_and(|words| words == &[1]),
                    is_on_device: connecting.is_on_device(),
                    import: imports[k].take(),
                    beside,
                };
                let (channel, transport) = making.channel(&mut subdomains[end.subdomain], end.link)?;
                self.channels.insert(end, channel);
                transports.push(transport);
            }
            Ok(transports)
        };
        let transports = make();
        let agreed = agree(ranks, transports);
        if agreed.is_err() {
            drop(imports);
            Network::<S>::disconnect(self, ranks)?;
        }
        agreed
    }

    fn disconnect(&mut self, ranks: &dyn Communicator) -> Result<(), Error> {
        for channel in self.channels.values_mut() {
            channel.import = None;
        }
        // No rank may free memory before all others have closed it.
        ranks.all_gather(&[])?;
        self.channels.clear();
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.channels.values().map(HaloChannel::bytes).sum()
    }

    fn start(&mut self, subdomains: &mut [S], stage: usize) -> Result<(), Error> {
        for ends in &self.pairs {
            let (low, high) = both(subdomains, ends);
            self.send((low, high), *ends, stage)?;
            self.send((high, low), [ends[1], ends[0]], stage)?;
        }
        Ok(())
    }

    fn finish(&mut self, subdomains: &mut [S], _stage: usize) -> Result<(), Error> {
        for ends in &self.pairs {
            let (low, high) = both(subdomains, ends);
            self.await_copies(low, ends[1])?;
            self.await_copies(high, ends[0])?;
        }
        Ok(())
    }

    fn combine(&mut self, subdomains: &mut [S], stage: usize) -> Result<(), Error> {
        for (k, subdomain) in subdomains.iter_mut().enumerate() {
            self.sums.launch(k, subdomain, stage)?;
            subdomain.received(stage)?;
        }
        Ok(())
    }

    fn spans(&mut self, subdomains: &mut [S], end: End, stage: usize) -> (Vec<Span>, Vec<Span>) {
        let subdomain = &subdomains[end.subdomain];
        let channel = self.channel(end);
        let spans = |place: &Place<A>, way: Way| -> Vec<Span> {
            let places = places(subdomain, end.link, stage, way);
            if places.is_empty() {
                return Vec::new();
            }
            let start = match place {
                Place::Notice { word, .. } => {
                    return vec![Span {
                        address: &raw const **word as u64,
                        bytes: size_of::<u64>(),
                    }];
                }
                Place::Device(memory) => memory.address(),
                Place::Host(memory) => memory.bytes().as_ptr() as u64,
            };
            let span = |(offset, bytes)| Span {
                address: start + offset as u64,
                bytes,
            };
            places.into_iter().map(span).collect()
        };
        (
            spans(&channel.leaving, Way::Leaving),
            spans(&channel.arriving, Way::Arriving),
        )
    }

    fn pack(&mut self, subdomains: &mut [S], end: End, stage: usize) -> Result<bool, Error> {
        let subdomain = &subdomains[end.subdomain];
        let a = subdomain.device().clone();
        let link = end.link;
        subdomain.await_boundary()?;
        let channel = self.channels.get_mut(&end).expect("the ranks are connected");
        // There is a separate buffer if the method does not export its halo, which is the same for all
        // neighbours.
        let beside = parts(subdomain, link) > 1 && subdomain.exported(link).is_none();
        let turn = match beside {
            true => channel.turns[stage][0] % parts(subdomain, link) * leaving(subdomain, link),
            false => 0,
        };
        channel.turns[stage][0] += 1;
        let leaving = pieces(subdomain, link, stage, Way::Leaving);
        let offsets = places(subdomain, link, stage, Way::Leaving);
        for (k, (piece, (offset, bytes))) in leaving.iter().zip(offsets).enumerate() {
            let from = address(subdomain, stage, piece);
            // SAFETY: both ranges are whole pieces. Messages of the previous step have been sent; memory that a
            // neighbour has exported is no longer read, as explained at the top of this file.
            unsafe {
                match (&mut channel.leaving, &channel.import) {
                    (Place::Host(memory), _) => a.download(Stream::Edges, from, memory, offset, bytes)?,
                    (Place::Device(memory), _) => {
                        let to = memory.address() + offset as u64;
                        a.copy_to(Stream::Edges, from, &a, to, bytes)?;
                    }
                    (Place::Notice { .. }, Some(import)) => {
                        let to = import.address(turn + subdomain.exported_place(stage, link, k));
                        a.copy_to(Stream::Edges, from, &a, to, bytes)?;
                    }
                    (Place::Notice { .. }, None) => {
                        return Err(Error::setup(
                            "an empty message needs memory that the neighbour has exported",
                        ));
                    }
                }
            }
            a.record(Stream::Edges, &channel.packed[k])?;
        }
        Ok(false)
    }

    fn packed(&mut self, subdomains: &mut [S], end: End, stage: usize, piece: usize) -> Result<(), Error> {
        let subdomain = &subdomains[end.subdomain];
        let channel = self.channel(end);
        let piece = match channel.leaving {
            // There is one message for all pieces: wait for the last one of this stage, which may have fewer than
            // there are events.
            Place::Notice { .. } => pieces(subdomain, end.link, stage, Way::Leaving).len() - 1,
            _ => piece,
        };
        subdomain.device().synchronize(&channel.packed[piece])
    }

    fn unpack(&mut self, subdomains: &mut [S], end: End, stage: usize, piece: usize) -> Result<(), Error> {
        let (subdomain, link) = (&subdomains[end.subdomain], end.link);
        let a = subdomain.device();
        let channel = self.channels.get_mut(&end).expect("the ranks are connected");
        let part = channel.turns[stage][1] % parts(subdomain, link);
        channel.turns[stage][1] += 1;
        match &channel.arriving {
            Place::Notice { beside: None, .. } => return Ok(()),
            Place::Notice {
                beside: Some(memory), ..
            } => {
                let all = 0..pieces(subdomain, link, stage, Way::Arriving).len();
                all.into_iter()
                    .try_for_each(|k| put(subdomain, (memory, part), link, (stage, k)))?;
            }
            Place::Device(memory) => put(subdomain, (memory, 0), link, (stage, piece))?,
            Place::Host(memory) => {
                let (offset, bytes) = places(subdomain, link, stage, Way::Arriving)[piece];
                let range = &pieces(subdomain, link, stage, Way::Arriving)[piece];
                let to = address(subdomain, stage, range);
                // SAFETY: a whole piece is copied. The neighbour sends the next message after it has received one
                // from here, which waits for an event that follows this copy in the same stream.
                unsafe { a.upload(Stream::Edges, memory, offset, to, bytes)? };
            }
        }
        if subdomain.has_boundary_in_main() {
            a.record(Stream::Edges, &channel.unpacked)?;
            a.wait(Stream::Main, &channel.unpacked)?;
        }
        Ok(())
    }
}
