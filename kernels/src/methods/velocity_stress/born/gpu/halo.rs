//! The exchange of ghosts between neighbouring devices of a shot. Each device has a thread, and the threads of
//! neighbours synchronise whenever fields are exchanged: planes next to a cut are copied from device to device, after
//! the kernels that compute them and before the kernels that read them. To the device of another rank they are sent as
//! a message (`ranks.rs`).
//!
//! The network of devices in `parallel/` follows the stages of a step with fields at fixed addresses. Here velocities
//! move from one recorded step to the next, the reverse sweep exchanges different fields from the run, and images
//! exchange further fields, so every exchange specifies its addresses.

use super::copies::Piece;
use super::ranks::{Message, RankEnd, rounds};
use super::sizes::after;
use super::slab::Planes;
use super::steps::Device;
use crate::Error;
use crate::device::accelerator::{Accelerator, Stream};
use std::cell::RefCell;
use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A field some of whose planes are exchanged.
#[derive(Clone, Copy, Debug)]
pub struct Travelling {
    pub address: u64,
    /// Number of values per plane.
    pub a_plane: usize,
    /// Number of planes on either side of a cut that are exchanged, at most
    /// [`GHOST`](crate::methods::velocity_stress::GHOST).
    pub planes: usize,
}

impl Travelling {
    /// Number of values exchanged each way.
    pub fn numbers(&self) -> usize {
        self.planes * self.a_plane
    }

    /// Bytes exchanged each way.
    pub fn bytes(&self) -> usize {
        self.numbers() * size_of::<f32>()
    }

    fn at(&self, plane: usize) -> u64 {
        after(self.address, plane * self.a_plane)
    }
}

/// The streams of copies to the two neighbours. An exchange that the device waits for uses two streams, so that both
/// copies run concurrently. An exchange that runs at the same time as a kernel uses the high-priority stream for both:
/// in the other one, copies would wait until all blocks of that kernel have been scheduled.
const AT_ONCE: [Stream; 2] = [Stream::Edges, Stream::Beside];
const MEANWHILE: [Stream; 2] = [Stream::Edges, Stream::Edges];

/// A message of a device to its neighbour.
enum Word<E> {
    /// After this event planes may be written into the fields of all shots at these addresses.
    Ready(Vec<u64>, Arc<E>),
    /// After this event the planes have been written.
    Sent(Arc<E>),
}

/// A request of a device to the thread that communicates with other ranks.
#[derive(Clone, Copy, Debug)]
pub enum ExchangeStep {
    /// Start to send a message and to receive the neighbour's message.
    Start(Message),
    /// Wait until the message has been sent and the neighbour's message has arrived.
    End,
}

/// Sends a request to that thread; only the end of a message is answered.
pub type AskExchange = Box<dyn Fn(ExchangeStep) -> Result<(), Error> + Send>;

/// The end of a link to a device of another rank, for the thread of a device.
pub struct Outer<A: Accelerator> {
    /// The end of the link, which outlives the run.
    pub end: Arc<Mutex<RankEnd<A>>>,
    /// Sends requests to exchange the messages of this link.
    pub post: AskExchange,
}

/// The connection to a neighbour.
enum Way<A: Accelerator> {
    /// A device of this process.
    Device {
        peer: Arc<A>,
        /// Whether kernels of this device can access its memory.
        is_reached: bool,
        to: Sender<Word<A::Event>>,
        from: Receiver<Word<A::Event>>,
    },
    /// A device of another rank.
    Rank(Outer<A>),
}

struct Link<A: Accelerator> {
    way: Way<A>,
    /// After this event all copies of this device for an exchange are done.
    done: Arc<A::Event>,
    /// Whether the neighbour has the planes above the cut.
    above: bool,
    /// The index of the plane at the cut, in the numbering of this device and, if the neighbour is a device of this
    /// process, in that of the neighbour.
    cut: [usize; 2],
}

impl<A: Accelerator> Link<A> {
    /// The index of the first of `planes` outgoing planes, in the numbering of this device and in that of the neighbour.
    fn leaving(&self, planes: usize) -> [usize; 2] {
        self.cut.map(|cut| if self.above { cut - planes } else { cut })
    }

    /// The first of `planes` incoming planes.
    fn arriving(&self, planes: usize) -> usize {
        if self.above {
            self.cut[0]
        } else {
            self.cut[0] - planes
        }
    }
}

/// The links of a device to its neighbours.
pub struct Links<A: Accelerator> {
    links: Vec<Link<A>>,
    ready: Arc<A::Event>,
    under_way: RefCell<Option<Exchange>>,
}

/// The fields of all shots in an exchange, and the stream of each link.
struct Exchange {
    fields: Vec<Travelling>,
    streams: [Stream; 2],
}

/// The error for a device whose neighbour has stopped; the user sees the neighbour's own error.
fn stopped<E>(_: E) -> Error {
    Error::setup("another device of the shot has stopped")
}

/// The error for devices that do not exchange the same fields in the same order.
fn out_of_step() -> Error {
    Error::setup(
        "the devices of a shot are out of step, which is a fault of this program: run the shot on one GPU and report it",
    )
}

impl<A: Accelerator> Links<A> {
    /// The links between devices with these planes, each adjacent to the next one, and the links to devices of the
    /// ranks below and above.
    ///
    /// # Errors
    /// Returns an error for a device that fails.
    pub fn between(devices: &[(&Arc<A>, &Planes)], outer: [Option<Outer<A>>; 2]) -> Result<Vec<Self>, Error> {
        let mut all = Vec::new();
        for (a, _) in devices {
            all.push(Self {
                links: Vec::new(),
                ready: Arc::new(a.event()?),
                under_way: RefCell::new(None),
            });
        }
        let mut put = |k: usize, way: Way<A>, above: bool, cut: [usize; 2]| {
            let done = Arc::new(devices[k].0.event()?);
            all[k].links.push(Link {
                way,
                done,
                above,
                cut,
            });
            Ok::<_, Error>(())
        };
        let last = devices.len() - 1;
        for (outer, (k, above)) in outer.into_iter().zip([(0, false), (last, true)]) {
            let own = devices[k].1.local();
            let cut = if above { own.end } else { own.start };
            if let Some(outer) = outer {
                put(k, Way::Rank(outer), above, [cut; 2])?;
            }
        }
        for (k, two) in devices.windows(2).enumerate() {
            let [(low, below), (high, above)] = [two[0], two[1]];
            let ((up, from_low), (down, from_high)) = (channel(), channel());
            let (end, start) = (below.local().end, above.local().start);
            let is_reached = low.enable_peer_access(high)?;
            let way = |peer: &Arc<A>, to, from| Way::Device {
                peer: peer.clone(),
                is_reached,
                to,
                from,
            };
            put(k, way(high, up, from_high), true, [end, start])?;
            put(k + 1, way(low, down, from_low), false, [start, end])?;
        }
        Ok(all)
    }

    /// Begins to exchange planes of fields with all neighbours; `shots` shots lie `distance` numbers apart. Until
    /// [`Links::end`] nothing may be launched in the main stream that changes the outgoing planes or reads the incoming
    /// ones. `streams` are the streams of the links.
    fn begin(
        &self,
        on: &Device<A>,
        fields: &[Travelling],
        (shots, distance): (usize, usize),
        streams: [Stream; 2],
    ) -> Result<(), Error> {
        self.end(on)?;
        let a = &*on.a;
        let of_shot = |shot: usize| {
            fields.iter().map(move |field| Travelling {
                address: after(field.address, shot * distance),
                ..*field
            })
        };
        let all: Vec<Travelling> = (0..shots).flat_map(of_shot).collect();
        a.record(Stream::Main, &self.ready)?;
        for link in &self.links {
            if let Way::Device { to, .. } = &link.way {
                let addresses = all.iter().map(|field| field.address).collect();
                to.send(Word::Ready(addresses, self.ready.clone()))
                    .map_err(stopped)?;
            }
        }
        for (link, stream) in self.links.iter().zip(streams) {
            a.wait(stream, &self.ready)?;
            self.send_to_device(on, (link, stream), &all)?;
        }
        let begun = Exchange { fields: all, streams };
        if let Some(first) = self.rounds(&begun).first() {
            self.pack(on, &begun, first.clone())?;
        }
        *self.under_way.borrow_mut() = Some(begun);
        Ok(())
    }

    /// Sends planes to a device of this process, if the link leads to one.
    fn send_to_device(
        &self,
        on: &Device<A>,
        (link, stream): (&Link<A>, Stream),
        all: &[Travelling],
    ) -> Result<(), Error> {
        let Way::Device {
            peer,
            is_reached,
            to,
            from,
        } = &link.way
        else {
            return Ok(());
        };
        let a = &*on.a;
        let Word::Ready(there, ready) = from.recv().map_err(stopped)? else {
            return Err(out_of_step());
        };
        a.wait(stream, &ready)?;
        let piece = |(field, there): (&Travelling, u64)| {
            let [here, beyond] = link.leaving(field.planes);
            Piece {
                from: field.at(here),
                to: after(there, beyond * field.a_plane),
                numbers: field.numbers(),
            }
        };
        let pieces: Vec<Piece> = all.iter().zip(there).map(piece).collect();
        // SAFETY: these are whole planes of fields on both devices, which live as long as the run; the neighbour has
        // finished reading its planes, and reads them again only after the event that follows.
        unsafe {
            match is_reached {
                true => on.copy_pieces(stream, &pieces)?,
                false => pieces.iter().try_for_each(|piece| {
                    let bytes = piece.numbers * size_of::<f32>();
                    a.copy_to(stream, piece.from, peer, piece.to, bytes)
                })?,
            }
        }
        a.record(stream, &link.done)?;
        to.send(Word::Sent(link.done.clone())).map_err(stopped)
    }

    /// Makes the main stream wait for the exchange in progress, if any.
    fn end(&self, on: &Device<A>) -> Result<(), Error> {
        let Some(begun) = self.under_way.take() else {
            return Ok(());
        };
        for (number, round) in self.rounds(&begun).into_iter().enumerate() {
            if number > 0 {
                self.pack(on, &begun, round.clone())?;
            }
            self.unpack(on, &begun, round)?;
        }
        for link in &self.links {
            if let Way::Device { from, .. } = &link.way {
                let Word::Sent(sent) = from.recv().map_err(stopped)? else {
                    return Err(out_of_step());
                };
                on.a.wait(Stream::Main, &sent)?;
            }
            on.a.wait(Stream::Main, &link.done)?;
        }
        Ok(())
    }

    /// The links to devices of other ranks, and the stream of each.
    fn outer(&self, streams: [Stream; 2]) -> impl Iterator<Item = (&Link<A>, &Outer<A>, Stream)> {
        let links = self.links.iter().zip(streams);
        links.filter_map(|(link, stream)| match &link.way {
            Way::Rank(outer) => Some((link, outer, stream)),
            Way::Device { .. } => None,
        })
    }

    /// The ranges of fields of each message to other ranks; empty without other ranks.
    fn rounds(&self, begun: &Exchange) -> Vec<Range<usize>> {
        let room = self
            .outer(begun.streams)
            .map(|(_, outer, _)| outer.end().room())
            .next();
        room.map_or_else(Vec::new, |room| rounds(&begun.fields, room))
    }

    /// Copies planes of some fields into the messages to other ranks.
    fn pack(&self, on: &Device<A>, begun: &Exchange, round: Range<usize>) -> Result<(), Error> {
        for (link, outer, stream) in self.outer(begun.streams) {
            let leaving = pieces(&begun.fields[round.clone()], |planes| link.leaving(planes)[0]);
            outer.end().pack(on, stream, &leaving)?;
            on.a.record(stream, &link.done)?;
        }
        Ok(())
    }

    /// Sends the messages to all other ranks concurrently, and copies planes out of the incoming ones.
    fn unpack(&self, on: &Device<A>, begun: &Exchange, round: Range<usize>) -> Result<(), Error> {
        let fields = &begun.fields[round];
        let bytes = fields.iter().map(Travelling::bytes).sum();
        for (link, outer, _) in self.outer(begun.streams) {
            let message = outer.end().message(bytes);
            if let Some(message) = message {
                on.a.synchronize(&link.done)?;
                (outer.post)(ExchangeStep::Start(message))?;
            }
        }
        for (link, outer, stream) in self.outer(begun.streams) {
            if outer.end().message(bytes).is_some() {
                (outer.post)(ExchangeStep::End)?;
            }
            let arriving = pieces(fields, |planes| link.arriving(planes));
            outer.end().unpack(on, stream, &arriving)?;
            on.a.record(stream, &link.done)?;
        }
        Ok(())
    }
}

/// The exchanged planes of fields; `first` gives the first plane from their number.
fn pieces(fields: &[Travelling], first: impl Fn(usize) -> usize) -> Vec<(u64, usize)> {
    let piece = |field: &Travelling| (field.at(first(field.planes)), field.numbers());
    fields.iter().map(piece).collect()
}

impl<A: Accelerator> Outer<A> {
    fn end(&self) -> MutexGuard<'_, RankEnd<A>> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<A: Accelerator> Device<A> {
    /// The exchange of `fields` consecutive fields at an address, with as many planes as a derivative reaches.
    pub fn behind_each_other(&self, address: u64, fields: usize) -> Vec<Travelling> {
        self.of_fields(address, &(0..fields).collect::<Vec<_>>())
    }

    /// The exchange of the fields with these indices, counted from `address`, with as many planes as a derivative
    /// reaches.
    pub fn of_fields(&self, address: u64, fields: &[usize]) -> Vec<Travelling> {
        let field = |&number: &usize| Travelling {
            address: after(address, number * self.sizes.len),
            a_plane: self.a_plane[0],
            planes: self.variant.half,
        };
        fields.iter().map(field).collect()
    }

    /// The exchange of those stresses at an address that are differentiated across planes.
    pub fn across(&self, address: u64) -> Vec<Travelling> {
        self.of_fields(address, &self.differentiated)
    }

    /// Exchanges the velocities at an address, with as many planes as a derivative reaches.
    pub fn exchange_velocities(&self, address: u64) -> Result<(), Error> {
        self.exchange(&self.behind_each_other(address, self.sizes.ndim))
    }

    /// Exchanges planes next to the cuts with the neighbours, for every shot; all devices of a run must call it for
    /// the same fields.
    ///
    /// # Errors
    /// Returns an error for a device that fails, or a neighbour that has failed.
    pub fn exchange(&self, fields: &[Travelling]) -> Result<(), Error> {
        self.exchange_in(AT_ONCE, fields)?;
        self.end_exchange()
    }

    /// Begins an exchange without waiting for it. It ends in [`Device::end_exchange`], which every launch in the main
    /// stream calls except [`Device::launch_meanwhile`]. [`Device::end_exchange`] must also be called before the
    /// threads of several devices wait for each other.
    ///
    /// # Errors
    /// Returns the errors of [`Device::exchange`].
    pub fn begin_exchange(&self, fields: &[Travelling]) -> Result<(), Error> {
        self.exchange_in(MEANWHILE, fields)
    }

    fn exchange_in(&self, streams: [Stream; 2], fields: &[Travelling]) -> Result<(), Error> {
        match &*self.links.borrow() {
            Some(links) => links.begin(self, fields, (self.shots(), self.distance.get()), streams),
            None => Ok(()),
        }
    }

    /// Makes the main stream wait for the planes of an exchange in progress.
    ///
    /// # Errors
    /// Returns the errors of [`Device::exchange`].
    pub fn end_exchange(&self) -> Result<(), Error> {
        match &*self.links.borrow() {
            Some(links) => links.end(self),
            None => Ok(()),
        }
    }
}
