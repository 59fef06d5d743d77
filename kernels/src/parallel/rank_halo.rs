//! Ghosts between ranks, beside an exchange inside each of them.

use super::communicator::{Communicator, Line, Span};
use super::halo::Exchange;
use crate::Error;
use crate::time_loop::Slab;
use std::ops::Range;
use std::time::Instant;

/// How ghosts travel between ranks; all but [`Overlap::Overlapped`] are for measurements (`benches/ranks.rs`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overlap {
    /// While the interior is computed.
    #[default]
    Overlapped,
    /// Before the interior is begun.
    Blocking,
    /// Buffers are filled and emptied, nothing is sent: what the messages cost. The numbers are wrong.
    WithoutSends,
    /// Nothing at all: what the exchange costs. The numbers are wrong.
    WithoutBuffers,
}

/// A slab with neighbours on other ranks.
pub trait RankHalo: Slab {
    /// Memory of the messages to and from the lower or upper neighbour in a stage: what leaves and what arrives, piece by
    /// piece. It stays where it is, whatever other stages ask for.
    fn spans(&mut self, stage: usize, upper: bool) -> (Vec<Span>, Vec<Span>);

    /// The edge begins to move to the memory of its messages; `true` when it is there.
    fn leave(&mut self, stage: usize, upper: bool) -> Result<bool, Error>;

    /// Returns when a piece is in the memory of its message.
    fn left(&mut self, stage: usize, upper: bool, piece: usize) -> Result<(), Error>;

    /// Moves a piece that arrived to the ghosts; what follows on the edges waits for it.
    fn arrive(&mut self, stage: usize, upper: bool, piece: usize) -> Result<(), Error>;
}

/// The exchange inside a rank and that with the ranks below and above it.
pub struct Remote<'a, I> {
    inside: I,
    ranks: &'a dyn Communicator,
    manner: Overlap,
    /// To the lower and the upper neighbour, of each stage.
    lines: [Vec<Box<dyn Line + 'a>>; 2],
    /// What leaves has reached the memory of its messages, downwards and upwards.
    ready: [bool; 2],
    /// Pieces of a message, downwards and upwards, of each stage.
    pieces: [Vec<usize>; 2],
}

impl<'a, I> Remote<'a, I> {
    /// For the slabs of this rank, lowest planes first; `planes` are all planes of the grid, `own` those of the rank.
    ///
    /// # Safety
    /// The memory that the slabs name in [`RankHalo::spans`] must outlive the exchange.
    pub unsafe fn new<S: RankHalo>(
        inside: I,
        ranks: &'a dyn Communicator,
        slabs: &mut [S],
        own: &Range<usize>,
        planes: usize,
    ) -> Result<Self, Error> {
        let mut lines = [Vec::new(), Vec::new()];
        let mut pieces = [Vec::new(), Vec::new()];
        for upper in [false, true] {
            let is_outermost = if upper { own.end == planes } else { own.start == 0 };
            let slab = if upper {
                slabs.last_mut()
            } else {
                slabs.first_mut()
            };
            let Some(slab) = slab.filter(|_| !is_outermost) else {
                continue;
            };
            let peer = if upper { ranks.rank() + 1 } else { ranks.rank() - 1 };
            for stage in 0..slab.stages() {
                let (leaving, arriving) = slab.spans(stage, upper);
                pieces[usize::from(upper)].push(leaving.len());
                // SAFETY: the caller's promise; between `send` and `sent` nobody writes what leaves, between `listen`
                // and `arrived` nobody reads what arrives.
                lines[usize::from(upper)].push(unsafe { ranks.line(peer, &leaving, &arriving)? });
            }
        }
        Ok(Self {
            inside,
            ranks,
            manner: Overlap::default(),
            lines,
            ready: [false; 2],
            pieces,
        })
    }

    /// Another manner than overlapped.
    pub fn manner(mut self, manner: Overlap) -> Self {
        self.manner = manner;
        self
    }

    /// Neighbours on other ranks: whether upwards, and their number in the arrays.
    fn sides(&self) -> impl Iterator<Item = (bool, usize)> + use<I> {
        let there = self.lines.each_ref().map(|lines| !lines.is_empty());
        [(false, 0), (true, 1)]
            .into_iter()
            .filter(move |&(_, k)| there[k])
    }

    fn depart<S: RankHalo>(&mut self, slabs: &mut [S], stage: usize) -> Result<(), Error> {
        for (upper, k) in self.sides() {
            self.ready[k] = end(slabs, upper).leave(stage, upper)?;
        }
        if self.manner == Overlap::WithoutSends {
            return Ok(());
        }
        for (_, k) in self.sides().filter(|&(_, k)| self.ready[k]) {
            let line = &mut self.lines[k][stage];
            line.listen()?;
            (0..self.pieces[k][stage]).try_for_each(|piece| line.send(piece))?;
        }
        Ok(())
    }

    fn settle<S: RankHalo>(&mut self, slabs: &mut [S], stage: usize) -> Result<(), Error> {
        let mute = self.manner == Overlap::WithoutSends;
        for (upper, k) in self.sides().filter(|&(_, k)| !self.ready[k]) {
            let line = &mut self.lines[k][stage];
            for piece in 0..self.pieces[k][stage] {
                // Once a piece has left, what arrived in the last step has been used.
                end(slabs, upper).left(stage, upper, piece)?;
                if !mute {
                    if piece == 0 {
                        line.listen()?;
                    }
                    line.send(piece)?;
                }
            }
        }
        for (upper, k) in self.sides() {
            let slab = end(slabs, upper);
            if mute {
                (0..self.pieces[k][stage]).try_for_each(|piece| slab.arrive(stage, upper, piece))?;
                continue;
            }
            let line = &mut self.lines[k][stage];
            while let Some(piece) = line.arrived()? {
                slab.arrive(stage, upper, piece)?;
            }
        }
        if mute {
            return Ok(());
        }
        self.sides().try_for_each(|(_, k)| self.lines[k][stage].sent())
    }
}

/// The slab at the lower or upper end of a rank.
fn end<S>(slabs: &mut [S], upper: bool) -> &mut S {
    let last = slabs.len() - 1;
    &mut slabs[if upper { last } else { 0 }]
}

impl<S: RankHalo, I: Exchange<S>> Exchange<S> for Remote<'_, I> {
    fn start(&mut self, slabs: &mut [S], stage: usize) -> Result<(), Error> {
        self.inside.start(slabs, stage)?;
        match self.manner {
            Overlap::WithoutBuffers => Ok(()),
            Overlap::Blocking => {
                self.depart(slabs, stage)?;
                self.settle(slabs, stage)
            }
            Overlap::Overlapped | Overlap::WithoutSends => self.depart(slabs, stage),
        }
    }

    fn finish(&mut self, slabs: &mut [S], stage: usize) -> Result<(), Error> {
        if matches!(self.manner, Overlap::Overlapped | Overlap::WithoutSends) {
            self.settle(slabs, stage)?;
        }
        self.inside.finish(slabs, stage)
    }

    fn agree(&mut self, found: Option<[usize; 3]>) -> Result<Option<[usize; 3]>, Error> {
        let words: Vec<u8> = found
            .iter()
            .flatten()
            .flat_map(|&i| (i as u64).to_le_bytes())
            .collect();
        let all = self.ranks.all_gather(&words)?;
        // Planes rise with the ranks, so the first one's cell is the first.
        let first = all.iter().find(|words| words.len() == 24);
        Ok(first.map(|words| {
            let number =
                |k: usize| u64::from_le_bytes(words[8 * k..8 * k + 8].try_into().expect("eight bytes"));
            [0, 1, 2].map(|k| number(k) as usize)
        }))
    }
}

/// Exchanges that [`trial`] times.
const TRIALS: usize = 5;

/// Seconds of an exchange of `pieces` messages of `bytes` bytes with both neighbours, from host to host: the quickest
/// of a few. All ranks call it.
pub fn trial(ranks: &dyn Communicator, bytes: usize, pieces: usize) -> Result<f64, Error> {
    let (rank, size) = (ranks.rank(), ranks.size());
    let below = rank.checked_sub(1);
    let peers = below.into_iter().chain((rank + 1 < size).then_some(rank + 1));
    let mut ends = Vec::new();
    for peer in peers {
        let mut buffers = [vec![1u8; bytes * pieces], vec![0u8; bytes * pieces]];
        let [leaving, arriving] = buffers.each_mut().map(|buffer| {
            let start = buffer.as_mut_ptr() as u64;
            let address = |k: usize| start + (k * bytes) as u64;
            let span = |k| Span {
                address: address(k),
                bytes,
            };
            (0..pieces).map(span).collect::<Vec<_>>()
        });
        // SAFETY: the line is dropped before the buffers, which nobody touches until then.
        ends.push((unsafe { ranks.line(peer, &leaving, &arriving)? }, buffers));
    }
    let mut best = f64::INFINITY;
    for _ in 0..TRIALS {
        ranks.all_gather(&[])?;
        let begun = Instant::now();
        for (line, _) in &mut ends {
            line.listen()?;
            (0..pieces).try_for_each(|piece| line.send(piece))?;
        }
        for (line, _) in &mut ends {
            while line.arrived()?.is_some() {}
            line.sent()?;
        }
        best = best.min(begun.elapsed().as_secs_f64());
    }
    Ok(best)
}
