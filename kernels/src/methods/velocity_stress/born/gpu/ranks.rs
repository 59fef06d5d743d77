//! Shots that ranks share: the ends of links to devices of other ranks, and the communication of the server thread
//! with those ranks.
//!
//! The planes of an exchange are concatenated in message memory. On one host that is memory of the neighbour's device
//! (CUDA IPC): it is written by copies and followed by a signal, a number for which the neighbour's stream waits, so
//! that no host waits. Otherwise it is host memory, which is sent as an MPI message.

use super::copies::Piece;
use super::halo::Travelling;
use super::sizes::after;
use super::slab::Planes;
use super::steps::Device;
use crate::Error;
use crate::communicator::{Channel, Communicator, Span};
use crate::device::accelerator::{Accelerator, Memory, Pinned, Stream};
use crate::methods::velocity_stress::GHOST;
use crate::parallel::ipc::{IpcExport, IpcImport};
use std::collections::BTreeMap;
use std::ops::Range;

/// Fields whose planes fit in one message; more fields take several messages.
const FIELDS: usize = 6;

/// Parts of the memory of a device that a neighbour writes alternately: it overwrites a part only after the signal
/// that this device sends when it has read that part.
const TURNS: usize = 2;

/// The memory of messages.
enum Place<A: Accelerator> {
    /// Memory of the neighbour's device, and of this device for messages from the neighbour: the parts, followed by the
    /// number of messages that have arrived.
    Device(IpcImport, A::Memory),
    /// Host memory for outgoing and incoming messages.
    Host([A::Pinned; 2]),
}

/// The end of a link to a device of another rank.
pub struct RankEnd<A: Accelerator> {
    /// The neighbour's rank.
    rank: usize,
    place: Place<A>,
    /// Largest size of a message in bytes.
    room: usize,
    exchanged: usize,
}

impl<A: Accelerator> RankEnd<A> {
    /// Largest size of a message in bytes.
    pub fn room(&self) -> usize {
        self.room
    }

    /// The MPI message of `bytes` bytes; `None` where devices access each other's memory.
    pub fn message(&self, bytes: usize) -> Option<Message> {
        let Place::Host(both) = &self.place else {
            return None;
        };
        let span = |memory: &A::Pinned| Span {
            address: memory.bytes().as_ptr() as u64,
            bytes,
        };
        Some(Message {
            rank: self.rank,
            spans: both.each_ref().map(span),
        })
    }

    /// Closes the memory of the neighbour. The memory that this device has exported is returned; it must live until
    /// the neighbour has closed it as well.
    pub fn close(self) -> Option<A::Memory> {
        match self.place {
            Place::Device(_, memory) => Some(memory),
            Place::Host(_) => None,
        }
    }

    /// Copies pieces, given by address and length, into the memory of the outgoing message.
    pub fn pack(&mut self, on: &Device<A>, stream: Stream, pieces: &[(u64, usize)]) -> Result<(), Error> {
        match &mut self.place {
            Place::Device(import, _) => {
                let piece = |(to, (from, numbers))| Piece { from, to, numbers };
                let laid = behind_each_other(import.address(self.exchanged % TURNS), pieces);
                let pieces: Vec<Piece> = laid.map(piece).collect();
                // SAFETY: the pieces are whole planes, which live as long as the run, as does the neighbour's number;
                // the neighbour has read the memory that is overwritten (see `TURNS`).
                unsafe {
                    on.copy_pieces(stream, &pieces)?;
                    let number = self.exchanged as u64 + 1;
                    on.a.signal(stream, import.address(TURNS), number)
                }
            }
            Place::Host([leaving, _]) => {
                behind_each_other(0, pieces).try_for_each(|(at, (from, numbers))| {
                    let bytes = numbers * size_of::<f32>();
                    // SAFETY: the pieces are whole planes, which live as long as the run; the previous message has
                    // been sent.
                    unsafe { on.a.download(stream, from, leaving, at as usize, bytes) }
                })
            }
        }
    }

    /// Copies the incoming message into pieces; if it comes from a device, the stream waits for it.
    pub fn unpack(&mut self, on: &Device<A>, stream: Stream, pieces: &[(u64, usize)]) -> Result<(), Error> {
        let turn = self.exchanged % TURNS;
        self.exchanged += 1;
        match &self.place {
            Place::Device(_, beside) => {
                let part = |turn: usize| beside.address() + (turn * self.room) as u64;
                let piece = |(from, (to, numbers))| Piece { from, to, numbers };
                let pieces: Vec<Piece> = behind_each_other(part(turn), pieces).map(piece).collect();
                // SAFETY: whole planes and the memory of this end live as long as the run. The signal means that the
                // part has arrived; it is overwritten only after the next signal to the neighbour, which follows this
                // copy in the stream.
                unsafe {
                    on.a.await_signal(stream, part(TURNS), self.exchanged as u64)?;
                    on.copy_pieces(stream, &pieces)
                }
            }
            Place::Host([_, arriving]) => {
                behind_each_other(0, pieces).try_for_each(|(at, (to, numbers))| {
                    let bytes = numbers * size_of::<f32>();
                    // SAFETY: as in `pack`; the next message is received only after the stream has completed these
                    // copies.
                    unsafe { on.a.upload(stream, arriving, at as usize, to, bytes) }
                })
            }
        }
    }
}

/// Concatenates pieces in a message that begins at `start`: each comes with its position in the message.
fn behind_each_other(start: u64, pieces: &[(u64, usize)]) -> impl Iterator<Item = (u64, (u64, usize))> {
    pieces.iter().scan(start, |next, &(address, numbers)| {
        let place = *next;
        *next = after(place, numbers);
        Some((place, (address, numbers)))
    })
}

/// The division of shots among the devices of all ranks.
#[derive(Clone, Debug)]
pub struct Shares {
    /// The planes of all devices of all ranks.
    pub planes: Vec<Planes>,
    /// The range of devices of each rank.
    pub of_ranks: Vec<Range<usize>>,
    pub rank: usize,
    /// Whether messages to other ranks go through host memory even where devices could access each other's memory.
    pub through_hosts: bool,
    /// Whether the medium is isotropic and solid everywhere, so that the interior of the grid can have separate
    /// kernels.
    pub solid: bool,
}

impl Shares {
    /// The planes of a rank's devices.
    pub fn planes_of(&self, rank: usize) -> &[Planes] {
        &self.planes[self.of_ranks[rank].clone()]
    }

    /// The planes that a rank computes.
    pub fn own(&self, rank: usize) -> Range<usize> {
        let planes = self.planes_of(rank);
        let first = planes.first().map_or(0, |planes| planes.own.start);
        first..planes.last().map_or(first, |planes| planes.own.end)
    }
}

/// Creates the ends of links to the ranks below and above this one. Collective: all ranks must call this. If a rank
/// cannot access the memory of its neighbour's device, or messages are to go through the hosts, both use host memory.
///
/// # Errors
/// Returns an error for a device that fails.
pub fn ends<A: Accelerator>(
    devices: [&A; 2],
    (ranks, a_plane): (&dyn Communicator, usize),
    through_hosts: bool,
) -> Result<[Option<RankEnd<A>>; 2], Error> {
    let (rank, size) = (ranks.rank(), ranks.size());
    if size == 1 {
        return Ok([None, None]);
    }
    let peers = [rank.checked_sub(1), Some(rank + 1).filter(|&peer| peer < size)];
    let room = FIELDS * GHOST * a_plane * size_of::<f32>();
    let hosts = ranks.all_gather(ranks.host().as_bytes())?;
    let mut beside = [None, None];
    // The data for the rank below, followed by those for the rank above.
    let mut words = Vec::new();
    for (k, peer) in peers.iter().enumerate() {
        let near = peer.is_some_and(|peer| hosts[peer] == hosts[rank])
            && !through_hosts
            && devices[k].properties().signals;
        let mut own = Vec::new();
        if near {
            let memory = devices[k].allocate(TURNS * room + size_of::<u64>())?;
            let places = (0..=TURNS).map(|turn| (0, (turn * room) as u64)).collect();
            own = IpcExport {
                memories: vec![&memory],
                places,
            }
            .words(devices[k])
            // A device that cannot export memory is reached through the host.
            .unwrap_or_default();
            beside[k] = Some(memory);
        }
        words.extend((own.len() as u64).to_le_bytes());
        words.extend(own);
    }
    let all = ranks.all_gather(&words)?;
    let mut imports = [None, None];
    for (k, peer) in peers.iter().enumerate() {
        let words = peer.and_then(|peer| part(&all[peer], 1 - k)).unwrap_or_default();
        if !words.is_empty() && beside[k].is_some() {
            imports[k] = IpcImport::open(devices[k], words);
        }
    }
    let reached = imports.each_ref().map(|import| u8::from(import.is_some()));
    let all = ranks.all_gather(&reached)?;
    let mut ends = [None, None];
    for (k, peer) in peers.into_iter().enumerate() {
        let Some(peer) = peer else {
            continue;
        };
        let both = all[peer].get(1 - k) == Some(&1);
        let place = match (imports[k].take(), beside[k].take()) {
            (Some(import), Some(memory)) if both => Place::Device(import, memory),
            _ => Place::Host([devices[k].pin(room)?, devices[k].pin(room)?]),
        };
        ends[k] = Some(RankEnd {
            rank: peer,
            place,
            room,
            exchanged: 0,
        });
    }
    Ok(ends)
}

/// One of several concatenated byte strings, each preceded by its length.
fn part(mut words: &[u8], number: usize) -> Option<&[u8]> {
    for k in 0.. {
        let (length, rest) = words.split_first_chunk::<8>()?;
        let (own, rest) = rest.split_at_checked(u64::from_le_bytes(*length) as usize)?;
        if k == number {
            return Some(own);
        }
        words = rest;
    }
    None
}

/// Groups consecutive fields into messages of at most `room` bytes.
pub fn rounds(fields: &[Travelling], room: usize) -> Vec<Range<usize>> {
    let (mut all, mut first, mut bytes) = (Vec::new(), 0, 0);
    for (k, field) in fields.iter().enumerate() {
        if k > first && bytes + field.bytes() > room {
            all.push(first..k);
            (first, bytes) = (k, 0);
        }
        bytes += field.bytes();
    }
    all.push(first..fields.len());
    all
}

/// An exchange of messages with another rank.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    rank: usize,
    spans: [Span; 2],
}

/// The MPI communication of a process, which must be done by a single thread.
pub struct RankExchange<'r> {
    pub ranks: &'r dyn Communicator,
    /// Channels by link and bytes of a message.
    channels: BTreeMap<(usize, usize), Box<dyn Channel>>,
    /// The size of the pending message on each link.
    under_way: [Option<usize>; 2],
}

impl<'r> RankExchange<'r> {
    /// The communication of a process, without any messages.
    pub fn new(ranks: &'r dyn Communicator) -> Self {
        Self {
            ranks,
            channels: BTreeMap::new(),
            under_way: [None; 2],
        }
    }

    /// Starts to send a message through a link and to receive the neighbour's.
    ///
    /// # Errors
    /// Returns an error if a connection fails.
    ///
    /// # Safety
    /// The memory of the message must outlive the exchange and stay untouched until [`RankExchange::end`] returns.
    pub unsafe fn start(&mut self, link: usize, message: Message) -> Result<(), Error> {
        let bytes = message.spans[0].bytes;
        if !self.channels.contains_key(&(link, bytes)) {
            let [leaving, arriving] = message.spans.map(|span| [span]);
            // SAFETY: guaranteed by the caller. Both ends of a link exchange the same messages in the same order, so
            // one tag suffices.
            let channel = unsafe { self.ranks.channel((message.rank, 0), &leaving, &arriving)? };
            self.channels.insert((link, bytes), channel);
        }
        self.under_way[link] = Some(bytes);
        let channel = self.channel(link)?;
        channel.start_receive()?;
        channel.start_send(0)
    }

    /// Waits until the message has been sent and the neighbour's message has arrived.
    ///
    /// # Errors
    /// Returns an error if a connection fails.
    pub fn end(&mut self, link: usize) -> Result<(), Error> {
        let channel = self.channel(link)?;
        while channel.wait_any()?.is_some() {}
        channel.wait_all()
    }

    /// The channel of the pending message.
    fn channel(&mut self, link: usize) -> Result<&mut Box<dyn Channel>, Error> {
        let channel = self.under_way[link].and_then(|bytes| self.channels.get_mut(&(link, bytes)));
        channel.ok_or_else(|| {
            Error::setup("no message is under way to another rank, which is a fault of this program")
        })
    }
}
