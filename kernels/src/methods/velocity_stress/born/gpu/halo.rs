//! What neighbouring devices of a shot need of each other. Each device has a thread of its own, and those of neighbours meet whenever fields
//! travel: planes beside a cut are copied from device to device, behind the work that makes them and before the work that reads them. To the
//! device of another rank they go as a message (`ranks.rs`).
//!
//! The network of devices in `parallel/` walks through the stages of a step, whose fields lie where they are. Here velocities move from one
//! recorded step to the next, other fields travel in the reverse sweep than in the run, and images add their own, so that every exchange names
//! its addresses.

use super::copies::Piece;
use super::ranks::{Message, RankEnd, rounds};
use super::sizes::after;
use super::slab::Planes;
use super::steps::Device;
use crate::Error;
use crate::device::accelerator::{Accelerator, Stream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A field some of whose planes travel.
#[derive(Clone, Copy, Debug)]
pub struct Travelling {
    /// Where it begins on this device.
    pub address: u64,
    /// Numbers of a plane.
    pub a_plane: usize,
    /// How many planes on either side of a cut travel, at most [`GHOST`](crate::methods::velocity_stress::GHOST).
    pub planes: usize,
}

impl Travelling {
    /// Numbers that travel each way.
    pub fn numbers(&self) -> usize {
        self.planes * self.a_plane
    }

    /// Their bytes.
    pub fn bytes(&self) -> usize {
        self.numbers() * size_of::<f32>()
    }

    /// The address of its planes from number `plane` on.
    fn at(&self, plane: usize) -> u64 {
        after(self.address, plane * self.a_plane)
    }
}

/// The streams of copies to the neighbours: to both at the same time.
const WAYS: [Stream; 2] = [Stream::Edges, Stream::Beside];

/// What a device tells its neighbour.
enum Word<E> {
    /// Behind this event planes may be written into the fields at these addresses, those of all shots.
    Ready(Vec<u64>, Arc<E>),
    /// Behind this event they have been written.
    Sent(Arc<E>),
}

/// What a device asks of the thread that speaks to other ranks.
#[derive(Clone, Copy, Debug)]
pub enum ExchangeStep {
    /// A message may leave, and that of the neighbour may arrive.
    Start(Message),
    /// The message must have left, and that of the neighbour must be there.
    End,
}

/// Asks that thread, which answers the end of a message alone.
pub type AskExchange = Box<dyn Fn(ExchangeStep) -> Result<(), Error> + Send>;

/// The end of a link to a device of another rank, for the thread of a device.
pub struct Outer<A: Accelerator> {
    /// The end, which outlives the run.
    pub end: Arc<Mutex<RankEnd<A>>>,
    /// How its messages travel.
    pub post: AskExchange,
}

/// The way to a neighbour.
enum Way<A: Accelerator> {
    /// A device of this process.
    Device {
        peer: Arc<A>,
        /// Whether kernels reach its memory.
        is_reached: bool,
        to: Sender<Word<A::Event>>,
        from: Receiver<Word<A::Event>>,
    },
    /// A device of another rank.
    Rank(Outer<A>),
}

/// A link to a neighbour.
struct Link<A: Accelerator> {
    way: Way<A>,
    /// Behind this event all copies of this device for an exchange are done.
    done: Arc<A::Event>,
    /// Whether the neighbour has the planes above.
    above: bool,
    /// The cut as planes are numbered here and, on a device of this process, there.
    cut: [usize; 2],
}

impl<A: Accelerator> Link<A> {
    /// The first of so many planes that leave, here and there.
    fn leaving(&self, planes: usize) -> [usize; 2] {
        self.cut.map(|cut| if self.above { cut - planes } else { cut })
    }

    /// The first of so many planes that arrive here.
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
}

/// What a device says whose neighbour has stopped; the user is told the neighbour's own error.
fn stopped<E>(_: E) -> Error {
    Error::setup("another device of the shot has stopped")
}

/// What is said where devices do not exchange the same fields in the same order.
fn out_of_step() -> Error {
    Error::setup(
        "the devices of a shot are out of step, which is a fault of this program: run the shot on one GPU and report it",
    )
}

impl<A: Accelerator> Links<A> {
    /// The links between devices with these planes, each of which lies beside the next one, and those to devices of the ranks below and
    /// above.
    ///
    /// # Errors
    /// A device that fails.
    pub fn between(devices: &[(&Arc<A>, &Planes)], outer: [Option<Outer<A>>; 2]) -> Result<Vec<Self>, Error> {
        let mut made = Vec::new();
        for (a, _) in devices {
            made.push(Self {
                links: Vec::new(),
                ready: Arc::new(a.event()?),
            });
        }
        let mut put = |k: usize, way: Way<A>, above: bool, cut: [usize; 2]| {
            let done = Arc::new(devices[k].0.event()?);
            made[k].links.push(Link {
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
        Ok(made)
    }

    /// Sends planes of fields to all neighbours and waits, on the device, for theirs; so many shots lie `distance` numbers apart.
    ///
    /// # Errors
    /// A device that fails, and a neighbour that has.
    pub fn exchange(
        &self,
        on: &Device<A>,
        fields: &[Travelling],
        (shots, distance): (usize, usize),
    ) -> Result<(), Error> {
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
        for (link, stream) in self.links.iter().zip(WAYS) {
            a.wait(stream, &self.ready)?;
            if let Way::Device {
                peer,
                is_reached,
                to,
                from,
            } = &link.way
            {
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
                // SAFETY: whole planes of fields here and there, which live as long as the run; the neighbour has done with its ones, and
                // reads them again behind the event that follows.
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
                to.send(Word::Sent(link.done.clone())).map_err(stopped)?;
            }
        }
        self.exchange_with_ranks(on, &all)?;
        for link in &self.links {
            if let Way::Device { from, .. } = &link.way {
                let Word::Sent(sent) = from.recv().map_err(stopped)? else {
                    return Err(out_of_step());
                };
                a.wait(Stream::Main, &sent)?;
            }
            a.wait(Stream::Main, &link.done)?;
        }
        Ok(())
    }

    /// The links to devices of other ranks, and the stream of each.
    fn outer(&self) -> impl Iterator<Item = (&Link<A>, &Outer<A>, Stream)> {
        let links = self.links.iter().zip(WAYS);
        links.filter_map(|(link, stream)| match &link.way {
            Way::Rank(outer) => Some((link, outer, stream)),
            Way::Device { .. } => None,
        })
    }

    /// The same with the devices of other ranks, to all of which messages travel at the same time.
    fn exchange_with_ranks(&self, on: &Device<A>, all: &[Travelling]) -> Result<(), Error> {
        let a = &*on.a;
        let Some(room) = self.outer().map(|(_, outer, _)| outer.end().room()).next() else {
            return Ok(());
        };
        for round in rounds(all, room) {
            let fields = &all[round];
            let bytes = fields.iter().map(Travelling::bytes).sum();
            let pieces = |first: &dyn Fn(usize) -> usize| -> Vec<(u64, usize)> {
                let piece = |field: &Travelling| (field.at(first(field.planes)), field.numbers());
                fields.iter().map(piece).collect()
            };
            for (link, outer, stream) in self.outer() {
                let leaving = pieces(&|planes| link.leaving(planes)[0]);
                outer.end().pack(on, stream, &leaving)?;
                a.record(stream, &link.done)?;
            }
            for (link, outer, _) in self.outer() {
                let message = outer.end().message(bytes);
                if let Some(message) = message {
                    a.synchronize(&link.done)?;
                    (outer.post)(ExchangeStep::Start(message))?;
                }
            }
            for (link, outer, stream) in self.outer() {
                if outer.end().message(bytes).is_some() {
                    (outer.post)(ExchangeStep::End)?;
                }
                let arriving = pieces(&|planes| link.arriving(planes));
                outer.end().unpack(on, stream, &arriving)?;
                a.record(stream, &link.done)?;
            }
        }
        Ok(())
    }
}

impl<A: Accelerator> Outer<A> {
    fn end(&self) -> MutexGuard<'_, RankEnd<A>> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<A: Accelerator> Device<A> {
    /// So many fields that lie behind each other from an address on, as far as a derivative reaches.
    pub fn behind_each_other(&self, address: u64, fields: usize) -> Vec<Travelling> {
        self.of_fields(address, &(0..fields).collect::<Vec<_>>())
    }

    /// The fields of these numbers from an address on, as far as a derivative reaches.
    pub fn of_fields(&self, address: u64, fields: &[usize]) -> Vec<Travelling> {
        let field = |&number: &usize| Travelling {
            address: after(address, number * self.sizes.len),
            a_plane: self.a_plane[0],
            planes: self.variant.half,
        };
        fields.iter().map(field).collect()
    }

    /// The stresses at an address that are differentiated across planes.
    pub fn across(&self, address: u64) -> Vec<Travelling> {
        self.of_fields(address, &self.differentiated)
    }

    /// Velocities at an address travel, as far as a derivative reaches.
    pub fn exchange_velocities(&self, address: u64) -> Result<(), Error> {
        self.exchange(&self.behind_each_other(address, self.sizes.ndim))
    }

    /// Planes beside the cuts travel to the neighbours and from them, of every shot; all devices of a run call it for the same fields.
    ///
    /// # Errors
    /// A device that fails, and a neighbour that has.
    pub fn exchange(&self, fields: &[Travelling]) -> Result<(), Error> {
        match &*self.links.borrow() {
            Some(links) => links.exchange(self, fields, (self.shots(), self.distance.get())),
            None => Ok(()),
        }
    }
}
