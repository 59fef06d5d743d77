//! Ghosts between devices of different ranks, for any method: from memory to memory where both lie in one host, else by
//! messages from the memory of the host, or of the device where MPI reaches it.
//!
//! Between devices of one host a rank copies into memory that its neighbour has lent and then sends a note. Such a copy
//! may not overwrite what the neighbour still reads, and no event of its streams can be waited for from here: all that is
//! known of it are its notes. The note of a stage comes when the neighbour's edges of that stage are made, and with them
//! everything that its stream of the edges waited for: the whole stage before, and what was recorded in between. Nothing is
//! known of what it records after that note. So a method whose ghosts are read no more when the neighbour has made the
//! edges of the stage before has them written at once ([`DeviceHalo::open`]); else copies go to memory beside them, a part
//! for each stage, and the neighbour itself moves them on, in its stream of the edges. That move is behind all uses of the
//! ghosts, and it has ended before the neighbour's note of the next stage, without which nobody writes that part again.

use super::communicator::{Communicator, Span, agree};
pub use super::ipc::IpcExport;
use super::ipc::{IpcImport, borrow, offer};
use super::options::Transport;
use super::rank_halo::RankHalo;
use crate::Error;
use crate::device::accelerator::{Accelerator, Memory, Pinned, Stream};
use crate::time_loop::Slab;
use std::sync::Arc;

/// Memory of a device.
type Store<S> = <<S as DeviceHalo>::Device as Accelerator>::Memory;

/// A slab on a device, as what travels between ranks sees it.
pub trait DeviceHalo: Slab {
    /// The device.
    type Device: Accelerator;

    /// The device.
    fn device(&self) -> &Arc<Self::Device>;

    /// Pieces that travel in a stage.
    fn pieces(&self, stage: usize) -> usize;

    /// Bytes of each of them.
    fn piece_bytes(&self) -> usize;

    /// Address of a piece of what the lower or upper neighbour wants.
    fn edge(&self, stage: usize, upper: bool, piece: usize) -> u64;

    /// Address of a piece of the lower or upper ghosts.
    fn ghost(&self, stage: usize, upper: bool, piece: usize) -> u64;

    /// The sides whose neighbours are other ranks', lower and upper.
    fn sides(&self) -> &HaloChannels<Self::Device>;

    /// The same, to be changed.
    fn sides_mut(&mut self) -> &mut HaloChannels<Self::Device>;

    /// The lower or upper ghosts, where a neighbour may write them as soon as this slab's edges of the stage before are
    /// made; `None` where they may still be read then, which asks for two stages or more.
    fn open(&self, _upper: bool) -> Option<IpcExport<'_, Store<Self>>> {
        None
    }

    /// The number of a piece of this step among the places of [`DeviceHalo::open`].
    fn open_place(&self, stage: usize, piece: usize) -> usize {
        number(self, stage, piece)
    }

    /// Makes the stream of the edges wait for edges that another stream makes.
    fn await_edges(&self) -> Result<(), Error> {
        Ok(())
    }

    /// The main stream makes edges, too, which read the ghosts.
    fn has_edge_in_main(&self) -> bool {
        false
    }

    /// Messages will go by the memory of the host, which takes longest.
    fn goes_by_host(&mut self) {}
}

/// The sides of a slab whose neighbours are other ranks', lower and upper.
pub type HaloChannels<A> = [Option<HaloChannel<A>>; 2];

/// Where messages wait, those of all stages behind each other.
enum Place<A: Accelerator> {
    /// A note tells that the ghosts were written, or the memory beside them.
    Note {
        note: Box<u64>,
        beside: Option<A::Memory>,
    },
    Device(A::Memory),
    Host(A::Pinned),
}

/// One side of a slab whose neighbour is another rank's.
pub struct HaloChannel<A: Accelerator> {
    beyond: Option<IpcImport>,
    leaving: Place<A>,
    arriving: Place<A>,
    /// What leaves is there, piece by piece.
    there: Vec<A::Event>,
    /// What arrived is in the ghosts.
    put: A::Event,
}

impl<A: Accelerator> HaloChannel<A> {
    /// Bytes of device memory.
    fn bytes(&self) -> usize {
        let of = |place: &Place<A>| match place {
            Place::Note { beside, .. } => beside.as_ref().map_or(0, Memory::bytes),
            Place::Device(memory) => memory.bytes(),
            Place::Host(_) => 0,
        };
        of(&self.leaving) + of(&self.arriving)
    }
}

/// Bytes of device memory that messages of these slabs take.
pub fn bytes<S: DeviceHalo>(slabs: &[S]) -> usize {
    let sides = slabs.iter().flat_map(|slab| slab.sides().iter().flatten());
    sides.map(HaloChannel::bytes).sum()
}

/// The number of a piece among those of all stages.
fn number<S: DeviceHalo + ?Sized>(slab: &S, stage: usize, piece: usize) -> usize {
    (0..stage).map(|before| slab.pieces(before)).sum::<usize>() + piece
}

/// Bytes of the pieces of all stages.
fn message<S: DeviceHalo>(slab: &S) -> usize {
    number(slab, slab.stages(), 0) * slab.piece_bytes()
}

/// Who meets, and how they want to.
struct Meeting<'a> {
    ranks: &'a dyn Communicator,
    hosts: Vec<Vec<u8>>,
    way: Transport,
}

impl Meeting<'_> {
    /// The neighbour on a side, if there is one.
    fn peer(&self, upper: bool) -> Option<usize> {
        let rank = self.ranks.rank();
        let peer = if upper {
            rank.checked_add(1)
        } else {
            rank.checked_sub(1)
        };
        peer.filter(|&peer| peer < self.ranks.size())
    }

    /// The sides with neighbours.
    fn sides(&self) -> impl Iterator<Item = bool> + '_ {
        [false, true]
            .into_iter()
            .filter(|&upper| self.peer(upper).is_some())
    }

    /// The neighbour on this side may be able to reach memory of this rank.
    fn is_near(&self, upper: bool) -> bool {
        let same = |peer: usize| self.hosts[peer] == self.hosts[self.ranks.rank()];
        matches!(self.way, Transport::Auto | Transport::Ipc) && self.peer(upper).is_some_and(same)
    }

    /// Memory beside the ghosts on this side, where they cannot be lent themselves.
    fn beside<S: DeviceHalo>(&self, slabs: &[S], upper: bool) -> Result<Option<Store<S>>, Error> {
        let slab = &slabs[end(slabs, upper)];
        match self.is_near(upper) && slab.open(upper).is_none() {
            true => slab.device().allocate(message(slab)).map(Some),
            false => Ok(None),
        }
    }

    /// What is lent to the neighbour on this side.
    fn offer<S: DeviceHalo>(
        &self,
        slabs: &[S],
        upper: bool,
        beside: Option<&Store<S>>,
    ) -> Result<Vec<u8>, Error> {
        let slab = &slabs[end(slabs, upper)];
        let piece = slab.piece_bytes() as u64;
        let apart = |memory| IpcExport {
            memories: vec![memory],
            places: (0..number(slab, slab.stages(), 0) as u64)
                .map(|k| (0, k * piece))
                .collect(),
        };
        match beside.map(apart).or_else(|| slab.open(upper)) {
            Some(open) if self.is_near(upper) => offer(&**slab.device(), &open),
            _ => Ok(Vec::new()),
        }
    }

    /// Messages lie in the memory of devices.
    fn is_on_device(&self) -> bool {
        matches!(self.way, Transport::Auto | Transport::CudaAware) && self.ranks.reaches_devices()
    }

    /// Refuses a way that cannot be had: all neighbours must be `reached` for one, MPI must send from devices for the
    /// other.
    fn possible(&self, reached: bool) -> Result<(), Error> {
        match self.way {
            Transport::Ipc if !reached => Err(Error::setup(
                "exchange=peer: the GPU of a neighbour cannot be reached (it is on another host, or hidden by CUDA_VISIBLE_DEVICES); use exchange=auto",
            )),
            Transport::CudaAware if !self.is_on_device() => Err(Error::setup(
                "exchange=device: this MPI does not say that it can send from GPUs; use exchange=auto",
            )),
            _ => Ok(()),
        }
    }
}

/// The number of the slab at the lower or upper end of a rank.
fn end<S>(slabs: &[S], upper: bool) -> usize {
    if upper { slabs.len() - 1 } else { 0 }
}

/// The slabs at the ends of all ranks agree on the way of their ghosts. All ranks call this; returns the ways of what
/// leaves downwards and upwards from this rank. What one of them cannot do is an error of all.
pub fn meet<S: DeviceHalo>(
    slabs: &mut [S],
    ranks: &dyn Communicator,
    way: Transport,
) -> Result<[Option<Transport>; 2], Error> {
    let meeting = Meeting {
        ranks,
        hosts: ranks.all_gather(ranks.host().as_bytes())?,
        way,
    };
    let besides = || Ok([meeting.beside(slabs, false)?, meeting.beside(slabs, true)?]);
    let mut beside = agree(ranks, besides())?;
    let offers = || {
        let offer = |upper: bool| meeting.offer(slabs, upper, beside[usize::from(upper)].as_ref());
        Ok([offer(false)?, offer(true)?])
    };
    let [low, high] = agree(ranks, offers())?;
    let (low, high) = (ranks.all_gather(&low)?, ranks.all_gather(&high)?);
    let open = |upper: bool| {
        // The upper neighbour's lower ghosts.
        let offered = if upper { &low } else { &high };
        let peer = meeting.peer(upper).filter(|_| meeting.is_near(upper))?;
        borrow(&**slabs[end(slabs, upper)].device(), &offered[peer])
    };
    let mut beyond = [open(false), open(true)];
    let reached = meeting.sides().all(|upper| beyond[usize::from(upper)].is_some());
    let opened = ranks.all_gather(&beyond.each_ref().map(|b| u8::from(b.is_some())))?;
    let mut make = |slabs: &mut [S]| {
        meeting.possible(reached)?;
        let mut ways = [None, None];
        for upper in meeting.sides() {
            let k = usize::from(upper);
            let peer = meeting.peer(upper).expect("a side with a neighbour");
            let made = Making {
                told: opened[peer][1 - k] == 1,
                on_device: meeting.is_on_device(),
                beyond: beyond[k].take(),
                beside: beside[k].take(),
            };
            ways[k] = Some(made.side(&mut slabs[end(slabs, upper)], upper)?);
        }
        Ok(ways)
    };
    let made = make(slabs);
    let agreed = agree(ranks, made);
    if agreed.is_err() {
        drop(beyond);
        part(slabs, ranks)?;
    }
    agreed
}

/// Gives back what neighbours have lent, before anybody frees it. All ranks call this.
pub fn part<S: DeviceHalo>(slabs: &mut [S], ranks: &dyn Communicator) -> Result<(), Error> {
    for slab in slabs.iter_mut() {
        let sides = slab.sides_mut().iter_mut().flatten();
        sides.for_each(|side| side.beyond = None);
    }
    ranks.all_gather(&[])?;
    slabs.iter_mut().for_each(|slab| *slab.sides_mut() = [None, None]);
    Ok(())
}

/// What a side is made of.
struct Making<M> {
    /// The neighbour reaches the memory that was lent to it.
    told: bool,
    on_device: bool,
    beyond: Option<IpcImport>,
    beside: Option<M>,
}

impl<M> Making<M> {
    /// Makes a side of a slab; returns the way of what leaves.
    fn side<S: DeviceHalo>(self, slab: &mut S, upper: bool) -> Result<Transport, Error>
    where
        S::Device: Accelerator<Memory = M>,
    {
        let a = slab.device().clone();
        let bytes = message(slab);
        let note = |beside: Option<M>| Place::Note {
            note: Box::new(0),
            beside,
        };
        let place = |had: Option<M>| -> Result<Place<S::Device>, Error> {
            Ok(match (self.on_device, had) {
                (true, Some(memory)) => Place::Device(memory),
                (true, None) => Place::Device(a.allocate(bytes)?),
                _ => Place::Host(a.pin(bytes)?),
            })
        };
        let leaving = match self.beyond {
            Some(_) => note(None),
            None => place(None)?,
        };
        let arriving = match self.told {
            true => note(self.beside),
            false => place(self.beside)?,
        };
        let way = match leaving {
            Place::Note { .. } => Transport::Ipc,
            Place::Device(_) => Transport::CudaAware,
            Place::Host(_) => Transport::HostStaged,
        };
        let most = (0..slab.stages()).map(|stage| slab.pieces(stage)).max();
        let there = (0..most.unwrap_or(0)).map(|_| a.event());
        slab.sides_mut()[usize::from(upper)] = Some(HaloChannel {
            leaving,
            arriving,
            there: there.collect::<Result<_, _>>()?,
            put: a.event()?,
            beyond: self.beyond,
        });
        if way == Transport::HostStaged {
            slab.goes_by_host();
        }
        Ok(way)
    }
}

fn side<S: DeviceHalo>(slab: &S, upper: bool) -> &HaloChannel<S::Device> {
    let side = &slab.sides()[usize::from(upper)];
    side.as_ref().expect("the ranks have met")
}

fn spans_of<S: DeviceHalo>(slab: &S, stage: usize, place: &Place<S::Device>) -> Vec<Span> {
    let bytes = slab.piece_bytes();
    let pieces = |start: u64| -> Vec<Span> {
        let piece = |k: usize| Span {
            address: start + (number(slab, stage, k) * bytes) as u64,
            bytes,
        };
        (0..slab.pieces(stage)).map(piece).collect()
    };
    match place {
        Place::Note { note, .. } => vec![Span {
            address: &raw const **note as u64,
            bytes: size_of::<u64>(),
        }],
        Place::Device(memory) => pieces(memory.address()),
        Place::Host(memory) => pieces(memory.bytes().as_ptr() as u64),
    }
}

/// Moves a piece that arrived in memory of the device to its ghosts.
fn put<S: DeviceHalo>(
    slab: &S,
    from: &Store<S>,
    (stage, upper, piece): (usize, bool, usize),
) -> Result<(), Error> {
    let (a, bytes) = (slab.device(), slab.piece_bytes());
    let from = from.address() + (number(slab, stage, piece) * bytes) as u64;
    // SAFETY: a whole piece, here and there. The memory is written again when this rank has said, by an event behind this
    // copy, that its edges of a later stage have left.
    unsafe { a.copy_to(Stream::Edges, from, a, slab.ghost(stage, upper, piece), bytes) }
}

impl<S: DeviceHalo> RankHalo for S {
    fn spans(&mut self, stage: usize, upper: bool) -> (Vec<Span>, Vec<Span>) {
        let side = side(self, upper);
        (
            spans_of(self, stage, &side.leaving),
            spans_of(self, stage, &side.arriving),
        )
    }

    fn leave(&mut self, stage: usize, upper: bool) -> Result<bool, Error> {
        let (a, bytes) = (self.device().clone(), self.piece_bytes());
        let piece = |k: usize| {
            let offset = number(self, stage, k) * bytes;
            (self.edge(stage, upper, k), offset, self.open_place(stage, k))
        };
        let pieces: Vec<_> = (0..self.pieces(stage)).map(piece).collect();
        self.await_edges()?;
        let side = self.sides_mut()[usize::from(upper)]
            .as_mut()
            .expect("the ranks have met");
        for (k, (from, offset, place)) in pieces.into_iter().enumerate() {
            // SAFETY: a whole piece, here and there. Messages of the last step were sent; what a neighbour lent is no
            // longer read, as the top of this file says.
            unsafe {
                match (&mut side.leaving, &side.beyond) {
                    (Place::Host(memory), _) => a.download(Stream::Edges, from, memory, offset, bytes)?,
                    (Place::Device(memory), _) => {
                        let to = memory.address() + offset as u64;
                        a.copy_to(Stream::Edges, from, &a, to, bytes)?;
                    }
                    (Place::Note { .. }, Some(beyond)) => {
                        a.copy_to(Stream::Edges, from, &a, beyond.address(place), bytes)?;
                    }
                    (Place::Note { .. }, None) => return Err(Error::setup("a note without a neighbour")),
                }
            }
            a.record(Stream::Edges, &side.there[k])?;
        }
        Ok(false)
    }

    fn left(&mut self, stage: usize, upper: bool, piece: usize) -> Result<(), Error> {
        let side = side(self, upper);
        let piece = match side.leaving {
            // One note for all of them: of this stage, which may have fewer than there are events.
            Place::Note { .. } => self.pieces(stage) - 1,
            _ => piece,
        };
        self.device().synchronize(&side.there[piece])
    }

    fn arrive(&mut self, stage: usize, upper: bool, piece: usize) -> Result<(), Error> {
        let (a, bytes, side) = (self.device(), self.piece_bytes(), side(self, upper));
        match &side.arriving {
            Place::Note { beside: None, .. } => return Ok(()),
            Place::Note {
                beside: Some(memory), ..
            } => (0..self.pieces(stage)).try_for_each(|k| put(self, memory, (stage, upper, k)))?,
            Place::Device(memory) => put(self, memory, (stage, upper, piece))?,
            Place::Host(memory) => {
                let offset = number(self, stage, piece) * bytes;
                let to = self.ghost(stage, upper, piece);
                // SAFETY: a whole piece; the next message comes after the next event of what leaves, which stands behind
                // this copy in the same stream.
                unsafe { a.upload(Stream::Edges, memory, offset, to, bytes)? };
            }
        }
        if self.has_edge_in_main() {
            a.record(Stream::Edges, &side.put)?;
            a.wait(Stream::Main, &side.put)?;
        }
        Ok(())
    }
}
