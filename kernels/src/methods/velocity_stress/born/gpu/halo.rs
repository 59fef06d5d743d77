//! What neighbouring devices of a shot need of each other. Each device has a thread of its own, and those of neighbours meet whenever fields
//! travel: planes beside a cut are copied from device to device, behind the work that makes them and before the work that reads them.
//!
//! The network of devices in `parallel/` walks through the stages of a step, whose fields lie where they are. Here velocities move from one
//! recorded step to the next, other fields travel in the reverse sweep than in the run, and images add their own, so that every exchange names
//! its addresses.

use super::sizes::after;
use super::slab::Planes;
use super::steps::Device;
use crate::Error;
use crate::device::accelerator::{Accelerator, Stream};
use crate::methods::velocity_stress::GHOST;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// A field some of whose planes travel.
#[derive(Clone, Copy, Debug)]
pub struct Travelling {
    /// Where it begins on this device.
    pub address: u64,
    /// Numbers of a plane.
    pub a_plane: usize,
}

/// What a device tells its neighbour.
enum Message<E> {
    /// Behind this event planes may be written into the fields at these addresses, those of all shots.
    Ready(Vec<u64>, Arc<E>),
    /// Behind this event they have been written.
    Sent(Arc<E>),
}

/// The way to a neighbour.
struct Link<A: Accelerator> {
    peer: Arc<A>,
    to: Sender<Message<A::Event>>,
    from: Receiver<Message<A::Event>>,
    /// The planes that leave, as they lie here, and where those lie there.
    leaving: Range<usize>,
    there: usize,
}

/// The ways of a device to its neighbours.
pub struct Links<A: Accelerator> {
    links: Vec<Link<A>>,
    ready: Arc<A::Event>,
    sent: Arc<A::Event>,
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
    /// The ways between devices with these planes, each of which lies beside the next one.
    ///
    /// # Errors
    /// A device that fails.
    pub fn between(devices: &[(&Arc<A>, &Planes)]) -> Result<Vec<Self>, Error> {
        let mut made = Vec::new();
        for (a, _) in devices {
            made.push(Self {
                links: Vec::new(),
                ready: Arc::new(a.event()?),
                sent: Arc::new(a.event()?),
            });
        }
        for (k, two) in devices.windows(2).enumerate() {
            let [(low, below), (high, above)] = [two[0], two[1]];
            let ((up, from_low), (down, from_high)) = (channel(), channel());
            let local = below.local();
            made[k].links.push(Link {
                peer: high.clone(),
                to: up,
                from: from_high,
                leaving: local.end - GHOST..local.end,
                there: 0,
            });
            let local = above.local();
            made[k + 1].links.push(Link {
                peer: low.clone(),
                to: down,
                from: from_low,
                leaving: local.start..local.start + GHOST,
                there: below.local().end,
            });
        }
        Ok(made)
    }

    /// Sends planes of fields to all neighbours and waits, on the device, for theirs; so many shots lie `distance` numbers apart.
    ///
    /// # Errors
    /// A device that fails, and a neighbour that has.
    pub fn exchange(
        &self,
        a: &A,
        fields: &[Travelling],
        (shots, distance): (usize, usize),
    ) -> Result<(), Error> {
        a.record(Stream::Main, &self.ready)?;
        let addresses: Vec<u64> = (0..shots)
            .flat_map(|shot| {
                fields
                    .iter()
                    .map(move |field| after(field.address, shot * distance))
            })
            .collect();
        for link in &self.links {
            let message = Message::Ready(addresses.clone(), self.ready.clone());
            link.to.send(message).map_err(stopped)?;
        }
        for link in &self.links {
            let Message::Ready(there, ready) = link.from.recv().map_err(stopped)? else {
                return Err(out_of_step());
            };
            a.wait(Stream::Main, &ready)?;
            for (k, (&from, to)) in addresses.iter().zip(there).enumerate() {
                let a_plane = fields[k % fields.len()].a_plane;
                let bytes = link.leaving.len() * a_plane * size_of::<f32>();
                let (from, to) = (
                    after(from, link.leaving.start * a_plane),
                    after(to, link.there * a_plane),
                );
                // SAFETY: whole planes of fields here and there, which live as long as the run; the neighbour has done with its
                // ones, and reads them again behind the event that follows.
                unsafe { a.copy_to(Stream::Main, from, &link.peer, to, bytes)? };
            }
        }
        a.record(Stream::Main, &self.sent)?;
        for link in &self.links {
            link.to.send(Message::Sent(self.sent.clone())).map_err(stopped)?;
        }
        for link in &self.links {
            let Message::Sent(sent) = link.from.recv().map_err(stopped)? else {
                return Err(out_of_step());
            };
            a.wait(Stream::Main, &sent)?;
        }
        Ok(())
    }
}

impl<A: Accelerator> Device<A> {
    /// So many fields that lie behind each other from an address on.
    pub fn behind_each_other(&self, address: u64, fields: usize) -> Vec<Travelling> {
        self.of_fields(address, &(0..fields).collect::<Vec<_>>())
    }

    /// The fields of these numbers from an address on.
    pub fn of_fields(&self, address: u64, fields: &[usize]) -> Vec<Travelling> {
        let field = |&number: &usize| Travelling {
            address: after(address, number * self.sizes.len),
            a_plane: self.a_plane[0],
        };
        fields.iter().map(field).collect()
    }

    /// The stresses at an address that are differentiated across planes.
    pub fn across(&self, address: u64) -> Vec<Travelling> {
        self.of_fields(address, &self.differentiated)
    }

    /// Velocities at an address travel.
    pub fn exchange_velocities(&self, address: u64) -> Result<(), Error> {
        self.exchange(&self.behind_each_other(address, self.sizes.ndim))
    }

    /// Planes beside the cuts travel to the neighbours and from them, of every shot; all devices of a run call it for the same fields.
    ///
    /// # Errors
    /// A device that fails, and a neighbour that has.
    pub fn exchange(&self, fields: &[Travelling]) -> Result<(), Error> {
        match &*self.links.borrow() {
            Some(links) => links.exchange(&*self.a, fields, (self.shots(), self.distance.get())),
            None => Ok(()),
        }
    }
}
