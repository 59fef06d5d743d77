//! Shots that ranks share: the ends of links to devices of other ranks, and the thread that speaks to those ranks for the devices of this one.
//!
//! Planes that travel lie behind each other in memory of messages. On one host that is memory of the neighbour's device (CUDA IPC): copies
//! reach it, a number behind them says that they have been made, and the neighbour's stream waits for that number, so that no host waits.
//! Elsewhere it is memory of the host, and a message of MPI takes it along.

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

/// Fields of which planes travel in one message; more of them take several.
const FIELDS: usize = 6;

/// Parts of the memory of a device into which a neighbour writes by turns: it writes a part again when the signal of this device has come
/// that stands behind the reading of that part.
const TURNS: usize = 2;

/// Where the planes of a message lie.
enum Place<A: Accelerator> {
    /// Memory of the neighbour's device, and of this one for what comes from there: the parts, and behind them how many messages have come.
    Device(IpcImport, A::Memory),
    /// Memory of the host for what leaves and what arrives.
    Host([A::Pinned; 2]),
}

/// The end of a link to a device of another rank.
pub struct RankEnd<A: Accelerator> {
    /// The neighbour's rank.
    rank: usize,
    place: Place<A>,
    /// Bytes of a message at most.
    room: usize,
    /// Messages that have been exchanged.
    exchanged: usize,
}

impl<A: Accelerator> RankEnd<A> {
    /// Bytes of a message at most.
    pub fn room(&self) -> usize {
        self.room
    }

    /// The message of so many bytes that MPI takes along; none where devices reach each other.
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

    /// Closes the memory of the neighbour; what this device has exported must live until the neighbour has done so, too.
    pub fn close(self) -> Option<A::Memory> {
        match self.place {
            Place::Device(_, memory) => Some(memory),
            Place::Host(_) => None,
        }
    }

    /// Copies pieces, each an address and numbers, into the memory of the message that leaves.
    pub fn pack(&mut self, on: &Device<A>, stream: Stream, pieces: &[(u64, usize)]) -> Result<(), Error> {
        match &mut self.place {
            Place::Device(import, _) => {
                let piece = |(to, (from, numbers))| Piece { from, to, numbers };
                let laid = behind_each_other(import.address(self.exchanged % TURNS), pieces);
                let pieces: Vec<Piece> = laid.map(piece).collect();
                // SAFETY: whole planes, which live as long as the run; the neighbour has read what is overwritten, as `TURNS` says, and keeps
                // the number as long.
                unsafe {
                    on.copy_pieces(stream, &pieces)?;
                    let number = self.exchanged as u64 + 1;
                    on.a.signal(stream, import.address(TURNS), number)
                }
            }
            Place::Host([leaving, _]) => {
                behind_each_other(0, pieces).try_for_each(|(at, (from, numbers))| {
                    let bytes = numbers * size_of::<f32>();
                    // SAFETY: the same; the last message has been sent.
                    unsafe { on.a.download(stream, from, leaving, at as usize, bytes) }
                })
            }
        }
    }

    /// Copies what has arrived into pieces; the stream waits for it where it comes from a device.
    pub fn unpack(&mut self, on: &Device<A>, stream: Stream, pieces: &[(u64, usize)]) -> Result<(), Error> {
        let turn = self.exchanged % TURNS;
        self.exchanged += 1;
        match &self.place {
            Place::Device(_, beside) => {
                let part = |turn: usize| beside.address() + (turn * self.room) as u64;
                let piece = |(from, (to, numbers))| Piece { from, to, numbers };
                let pieces: Vec<Piece> = behind_each_other(part(turn), pieces).map(piece).collect();
                // SAFETY: whole planes and memory of this end, which live as long as the run. The signal says that the part is there; it is
                // overwritten behind the next signal to the neighbour, which stands behind this copy.
                unsafe {
                    on.a.await_signal(stream, part(TURNS), self.exchanged as u64)?;
                    on.copy_pieces(stream, &pieces)
                }
            }
            Place::Host([_, arriving]) => {
                behind_each_other(0, pieces).try_for_each(|(at, (to, numbers))| {
                    let bytes = numbers * size_of::<f32>();
                    // SAFETY: the same; the next message comes when the stream has come behind these copies.
                    unsafe { on.a.upload(stream, arriving, at as usize, to, bytes) }
                })
            }
        }
    }
}

/// Pieces, each behind its place in a message that begins at `start`.
fn behind_each_other(start: u64, pieces: &[(u64, usize)]) -> impl Iterator<Item = (u64, (u64, usize))> {
    pieces.iter().scan(start, |next, &(address, numbers)| {
        let place = *next;
        *next = after(place, numbers);
        Some((place, (address, numbers)))
    })
}

/// The devices of all ranks that share a shot.
#[derive(Clone, Debug)]
pub struct Shares {
    /// The planes of every device of all ranks.
    pub planes: Vec<Planes>,
    /// Which of the devices every rank has.
    pub of_ranks: Vec<Range<usize>>,
    /// This rank.
    pub rank: usize,
    /// Messages to other ranks go through the hosts, even where devices could reach each other.
    pub through_hosts: bool,
    /// The medium is isotropic and solid everywhere, so that the inside of the grid can have kernels of its own.
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

/// The ends of links to the ranks below and above this one. Collective: all ranks must call this. Where a rank cannot reach the memory of its
/// neighbour's device, or messages are to go through the hosts, both use memory of the host.
///
/// # Errors
/// A device that fails.
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
    // The words for the rank below, and behind them those for the one above.
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
            // A device that exports nothing is reached through the host.
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
    let mut made = [None, None];
    for (k, peer) in peers.into_iter().enumerate() {
        let Some(peer) = peer else {
            continue;
        };
        let both = all[peer].get(1 - k) == Some(&1);
        let place = match (imports[k].take(), beside[k].take()) {
            (Some(import), Some(memory)) if both => Place::Device(import, memory),
            _ => Place::Host([devices[k].pin(room)?, devices[k].pin(room)?]),
        };
        made[k] = Some(RankEnd {
            rank: peer,
            place,
            room,
            exchanged: 0,
        });
    }
    Ok(made)
}

/// A part of words that stand behind each other, each behind its length.
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

/// Pieces of fields that go into one message: so many of them from the first on.
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

/// A message to another rank and from it.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    rank: usize,
    spans: [Span; 2],
}

/// What the thread of a process does that speaks to other ranks: MPI may be called by one thread alone.
pub struct RankExchange<'r> {
    /// The ranks.
    pub ranks: &'r dyn Communicator,
    /// By link and bytes of a message.
    channels: BTreeMap<(usize, usize), Box<dyn Channel>>,
    /// The bytes of the message under way on each link.
    under_way: [Option<usize>; 2],
}

impl<'r> RankExchange<'r> {
    /// Of a process.
    pub fn new(ranks: &'r dyn Communicator) -> Self {
        Self {
            ranks,
            channels: BTreeMap::new(),
            under_way: [None; 2],
        }
    }

    /// Sends a message through a link and lets the neighbour's arrive.
    ///
    /// # Errors
    /// A connection that fails.
    ///
    /// # Safety
    /// The memory of the message must outlive the exchange and stay untouched until [`RankExchange::end`] returns.
    pub unsafe fn start(&mut self, link: usize, message: Message) -> Result<(), Error> {
        let bytes = message.spans[0].bytes;
        if !self.channels.contains_key(&(link, bytes)) {
            let [leaving, arriving] = message.spans.map(|span| [span]);
            // SAFETY: the caller's promise. Both ends of a link exchange the same messages in the same order, so that one tag will do.
            let channel = unsafe { self.ranks.channel((message.rank, 0), &leaving, &arriving)? };
            self.channels.insert((link, bytes), channel);
        }
        self.under_way[link] = Some(bytes);
        let channel = self.channel(link)?;
        channel.start_receive()?;
        channel.start_send(0)
    }

    /// Waits until the message has left and that of the neighbour is there.
    ///
    /// # Errors
    /// A connection that fails.
    pub fn end(&mut self, link: usize) -> Result<(), Error> {
        let channel = self.channel(link)?;
        while channel.wait_any()?.is_some() {}
        channel.wait_all()
    }

    /// The channel of the message under way.
    fn channel(&mut self, link: usize) -> Result<&mut Box<dyn Channel>, Error> {
        let channel = self.under_way[link].and_then(|bytes| self.channels.get_mut(&(link, bytes)));
        channel.ok_or_else(|| {
            Error::setup("no message is under way to another rank, which is a fault of this program")
        })
    }
}
