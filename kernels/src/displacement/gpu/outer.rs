//! Ghosts between the slabs of different ranks: from device to device where both lie in one host, else by messages from
//! the memory of the host, or of the device where MPI reaches it.

use super::arguments::component_len;
use super::slab::DeviceSlab;
use crate::Error;
use crate::device::accelerator::{Accelerator, Memory, Pinned, Queue};
use crate::device::simd::Real;
use crate::domain::company::Way;
use crate::domain::partition::GHOST;
use crate::domain::ranks::{Ranks, Span, agree};
use crate::domain::remote::Outer;

/// The ghosts of a neighbour on another rank, both time levels.
struct Beyond {
    levels: [Box<dyn Memory>; 2],
    /// Bytes from one component to the next.
    component: u64,
    /// Bytes from the start of a component.
    offset: u64,
}

/// Where messages wait.
enum Place<A: Accelerator> {
    /// Nowhere: the ghosts themselves are written, a note tells.
    Note(Box<u64>),
    Device(A::Memory),
    Host(A::Pinned),
}

/// One side of a slab whose neighbour is another rank's.
pub(super) struct Side<A: Accelerator> {
    beyond: Option<Beyond>,
    leaving: Place<A>,
    arriving: Place<A>,
    /// What leaves is there, piece by piece.
    there: Vec<A::Mark>,
    /// What arrived is in the ghosts.
    put: A::Mark,
}

/// What a rank tells its neighbours of a slab at its end.
fn offer<T: Real, A: Accelerator>(slab: &DeviceSlab<T, A>, upper: bool) -> Result<Vec<u8>, Error> {
    let (p, a) = (&slab.setup.padded, &slab.accelerator);
    let component = (component_len(p, &slab.layout) * size_of::<T>()) as u64;
    let plane = (p.plane_len() * size_of::<T>()) as u64;
    let planes = if upper { GHOST + slab.layout.own.len() } else { 0 };
    let mut words = Vec::new();
    for number in [component, planes as u64 * plane] {
        words.extend(number.to_le_bytes());
    }
    for level in &slab.levels {
        let handle = a.lend(level)?;
        words.extend((handle.len() as u64).to_le_bytes());
        words.extend(handle);
    }
    Ok(words)
}

fn number(words: &mut &[u8]) -> Option<u64> {
    let (first, rest) = words.split_first_chunk::<8>()?;
    *words = rest;
    Some(u64::from_le_bytes(*first))
}

/// Opens what a neighbour has offered; `None` where that cannot be reached.
fn borrow<A: Accelerator>(a: &A, mut words: &[u8]) -> Option<Beyond> {
    let (component, offset) = (number(&mut words)?, number(&mut words)?);
    let mut level = || {
        let length = number(&mut words)? as usize;
        let (handle, rest) = words.split_at_checked(length)?;
        words = rest;
        a.borrow(handle)
    };
    Some(Beyond {
        levels: [level()?, level()?],
        component,
        offset,
    })
}

impl<T: Real, A: Accelerator> DeviceSlab<T, A> {
    fn place(&self, by_note: bool, on_device: bool) -> Result<Place<A>, Error> {
        let bytes = self.setup.padded.ndim() * self.ghost_bytes();
        Ok(match (by_note, on_device) {
            (true, _) => Place::Note(Box::new(0)),
            (_, true) => Place::Device(self.accelerator.allocate(bytes)?),
            _ => Place::Host(self.accelerator.pin(bytes)?),
        })
    }

    fn side(&self, upper: bool) -> &Side<A> {
        let side = &self.outer[usize::from(upper)];
        side.as_ref().expect("the ranks have met")
    }

    fn spans_of(&self, place: &Place<A>) -> Vec<Span> {
        let bytes = self.ghost_bytes();
        let pieces = |start: u64| -> Vec<Span> {
            let piece = |k: usize| Span {
                address: start + (k * bytes) as u64,
                bytes,
            };
            (0..self.setup.padded.ndim()).map(piece).collect()
        };
        match place {
            Place::Note(note) => vec![Span {
                address: &raw const **note as u64,
                bytes: size_of::<u64>(),
            }],
            Place::Device(memory) => pieces(memory.address()),
            Place::Host(memory) => pieces(memory.bytes().as_ptr() as u64),
        }
    }
}

/// The slabs at the ends of all ranks agree on the way of their ghosts. All ranks call this; returns the ways of what
/// leaves downwards and upwards from this rank. What one of them cannot do is an error of all.
pub(super) fn meet<T: Real, A: Accelerator>(
    slabs: &mut [DeviceSlab<T, A>],
    ranks: &dyn Ranks,
    way: Way,
) -> Result<[Option<Way>; 2], Error> {
    let (rank, last) = (ranks.rank(), slabs.len() - 1);
    let hosts = ranks.share(ranks.host().as_bytes())?;
    let offers = || Ok([offer(&slabs[0], false)?, offer(&slabs[last], true)?]);
    let [low, high] = agree(ranks, offers())?;
    let (low, high) = (ranks.share(&low)?, ranks.share(&high)?);
    let peer = |upper: bool| (if upper { rank + 1 } else { rank.wrapping_sub(1) }) % ranks.size().max(1);
    let there = |upper: bool| if upper { rank + 1 < ranks.size() } else { rank > 0 };
    let open = |upper: bool| {
        let slab = &slabs[if upper { last } else { 0 }];
        let near = there(upper) && hosts[peer(upper)] == hosts[rank] && matches!(way, Way::Auto | Way::Peer);
        // The upper neighbour's lower ghosts.
        let offered = if upper { &low } else { &high };
        near.then(|| borrow(&*slab.accelerator, &offered[peer(upper)]))
            .flatten()
    };
    let mut beyond = [open(false), open(true)];
    let sides: Vec<bool> = [false, true].into_iter().filter(|&upper| there(upper)).collect();
    let on_device = matches!(way, Way::Auto | Way::Device) && ranks.reaches_devices();
    let reached = sides.iter().all(|&upper| beyond[usize::from(upper)].is_some());
    let opened = ranks.share(&beyond.each_ref().map(|b| u8::from(b.is_some())))?;
    let mut make = |slabs: &mut [DeviceSlab<T, A>]| {
        possible(way, reached, on_device)?;
        let mut ways = [None, None];
        for &upper in &sides {
            let k = usize::from(upper);
            let slab = &mut slabs[if upper { last } else { 0 }];
            let told = opened[peer(upper)][1 - k] == 1;
            ways[k] = Some(slab.take_side(upper, beyond[k].take(), (told, on_device))?);
        }
        Ok(ways)
    };
    let made = make(slabs);
    let agreed = agree(ranks, made);
    if agreed.is_err() {
        // What was borrowed is given back before its owner frees it.
        drop(beyond);
        slabs.iter_mut().for_each(|slab| slab.outer = [None, None]);
        ranks.share(&[])?;
    }
    agreed
}

/// Refuses a way that cannot be had: all neighbours must be `reached` for one, MPI must send from devices for the other.
fn possible(way: Way, reached: bool, on_device: bool) -> Result<(), Error> {
    match way {
        Way::Peer if !reached => Err(Error::setup(
            "exchange=peer: the GPU of a neighbour cannot be reached (it is on another host, or hidden by CUDA_VISIBLE_DEVICES); use exchange=auto",
        )),
        Way::Device if !on_device => Err(Error::setup(
            "exchange=device: this MPI does not say that it can send from GPUs; use exchange=auto",
        )),
        _ => Ok(()),
    }
}

impl<T: Real, A: Accelerator> DeviceSlab<T, A> {
    /// Makes the side towards a neighbour whose ghosts are `beyond`, where they can be reached; `told`: it reaches the
    /// ghosts here.
    fn take_side(
        &mut self,
        upper: bool,
        beyond: Option<Beyond>,
        (told, on_device): (bool, bool),
    ) -> Result<Way, Error> {
        let mark = |_| self.accelerator.mark();
        let side = Side {
            leaving: self.place(beyond.is_some(), on_device)?,
            arriving: self.place(told, on_device)?,
            there: (0..self.setup.padded.ndim())
                .map(mark)
                .collect::<Result<_, _>>()?,
            put: self.accelerator.mark()?,
            beyond,
        };
        let way = match side.leaving {
            Place::Note(_) => Way::Peer,
            Place::Device(_) => Way::Device,
            Place::Host(_) => Way::Host,
        };
        self.outer[usize::from(upper)] = Some(side);
        if way == Way::Host {
            self.hide_more();
        }
        Ok(way)
    }
}

impl<T: Real, A: Accelerator> Outer for DeviceSlab<T, A> {
    fn spans(&mut self, _stage: usize, upper: bool) -> (Vec<Span>, Vec<Span>) {
        let side = self.side(upper);
        (self.spans_of(&side.leaving), self.spans_of(&side.arriving))
    }

    fn leave(&mut self, _stage: usize, upper: bool) -> Result<bool, Error> {
        let a = self.accelerator.clone();
        let (bytes, ndim) = (self.ghost_bytes(), self.setup.padded.ndim());
        let edge: Vec<u64> = (0..ndim)
            .map(|c| self.ghosts_at(c, self.edge_plane(upper)))
            .collect();
        a.wait(Queue::Edges, &self.marks.first)?;
        let next = 1 - self.now;
        let side = self.outer[usize::from(upper)]
            .as_mut()
            .expect("the ranks have met");
        for (c, &from) in edge.iter().enumerate() {
            // SAFETY: eight whole planes of a component, here and there. The neighbour read that level in the step
            // before, which it had ended when its message of that step came.
            unsafe {
                match (&mut side.leaving, &side.beyond) {
                    (Place::Host(memory), _) => a.download(Queue::Edges, from, memory, c * bytes, bytes)?,
                    (Place::Device(memory), _) => {
                        let to = memory.address() + (c * bytes) as u64;
                        a.copy_to(Queue::Edges, from, &a, to, bytes)?;
                    }
                    (Place::Note(_), Some(beyond)) => {
                        let start = beyond.levels[next].address();
                        let to = start + c as u64 * beyond.component + beyond.offset;
                        a.copy_to(Queue::Edges, from, &a, to, bytes)?;
                    }
                    (Place::Note(_), None) => return Err(Error::setup("a note without a neighbour")),
                }
            }
            a.set(Queue::Edges, &side.there[c])?;
        }
        Ok(false)
    }

    fn left(&mut self, _stage: usize, upper: bool, piece: usize) -> Result<(), Error> {
        let side = self.side(upper);
        let piece = match side.leaving {
            Place::Note(_) => side.there.len() - 1,
            _ => piece,
        };
        self.accelerator.reach(&side.there[piece])
    }

    fn arrive(&mut self, _stage: usize, upper: bool, piece: usize) -> Result<(), Error> {
        let (a, bytes) = (&self.accelerator, self.ghost_bytes());
        let to = self.ghosts_at(piece, self.ghost_plane(upper));
        let side = self.side(upper);
        // SAFETY: eight whole planes of a component; the next message comes after the next mark of what leaves, which
        // stands behind this copy in the same queue.
        unsafe {
            match &side.arriving {
                Place::Note(_) => return Ok(()),
                Place::Device(memory) => {
                    let from = memory.address() + (piece * bytes) as u64;
                    a.copy_to(Queue::Edges, from, a, to, bytes)?;
                }
                Place::Host(memory) => a.upload(Queue::Edges, memory, piece * bytes, to, bytes)?,
            }
        }
        if self.has_two_edges() {
            a.set(Queue::Edges, &side.put)?;
            a.wait(Queue::Main, &side.put)?;
        }
        Ok(())
    }
}
