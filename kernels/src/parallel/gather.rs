//! Records of all ranks to rank 0, in batches that nobody waits for.

use super::communicator::{Communicator, Topic};
use crate::Error;
use crate::time_loop::{Recorder, Schedule, Slab};
use std::ops::Range;

/// Bytes of a batch of records of all receivers.
const BATCH_BYTES: usize = 1 << 19;
/// Records of a batch at most.
const BATCH: usize = 256;

/// Where snapshots go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Snapshots {
    /// Every rank's recorder takes the rank's own planes.
    Own,
    /// Rank 0's recorder takes all, in file order.
    First,
}

/// The planes of slabs that follow each other.
pub fn own<S: Slab>(slabs: &[S]) -> Range<usize> {
    let first = slabs.first().map_or(0, |s| s.layout().own.start);
    first..slabs.last().map_or(0, |s| s.layout().own.end)
}

/// Numbers of one component of a snapshot on the planes `own`.
pub fn share(window: &[Range<usize>; 3], ndim: usize, own: &Range<usize>) -> usize {
    let planes = &window[ndim - 1];
    let count = own
        .end
        .min(planes.end)
        .saturating_sub(own.start.max(planes.start));
    count * window[..ndim - 1].iter().map(Range::len).product::<usize>()
}

/// Hands the records of this rank on. On rank 0 `inner` gets the traces of all ranks; pieces of snapshots go where
/// [`Snapshots`] says, steps stay here.
pub struct Gather<'a, T> {
    ranks: &'a dyn Communicator,
    inner: &'a mut dyn Recorder<T>,
    snapshots: Snapshots,
    /// Receivers of every rank (rank 0), else of this rank alone.
    owners: Vec<Vec<usize>>,
    receivers: usize,
    components: usize,
    snapshot_components: usize,
    /// Steps of the records that wait, and their numbers `[record][component][own receiver]`.
    steps: Vec<usize>,
    waiting: Vec<T>,
    batch: usize,
    /// Numbers of one component of a snapshot, of every rank.
    shares: Vec<usize>,
    /// The component of a snapshot that is coming.
    piece: Vec<T>,
}

impl<'a, T: bytemuck::Pod + Default> Gather<'a, T> {
    /// `own`: the receivers of this rank, in rising order; `share`: numbers of one component of a snapshot on its
    /// planes. All ranks call this.
    pub fn new(
        ranks: &'a dyn Communicator,
        inner: &'a mut dyn Recorder<T>,
        schedule: &Schedule,
        snapshots: Snapshots,
        (own, share): (Vec<usize>, usize),
    ) -> Result<Self, Error> {
        let words: Vec<u64> = [share].iter().chain(&own).map(|&n| n as u64).collect();
        let all = ranks.all_gather(bytemuck::cast_slice(&words))?;
        let numbers = |bytes: &Vec<u8>| -> Vec<usize> {
            let chunks = bytes.as_chunks::<8>().0.iter();
            chunks.map(|&b| u64::from_ne_bytes(b) as usize).collect()
        };
        let all: Vec<Vec<usize>> = all.iter().map(numbers).collect();
        let record = (schedule.receivers * schedule.components * size_of::<T>()).max(1);
        Ok(Self {
            ranks,
            inner,
            snapshots,
            owners: all.iter().map(|list| list[1..].to_vec()).collect(),
            receivers: schedule.receivers,
            components: schedule.components,
            snapshot_components: schedule.snapshot_components,
            steps: Vec::new(),
            waiting: Vec::new(),
            batch: (BATCH_BYTES / record).clamp(1, BATCH),
            shares: all.iter().map(|list| list[0]).collect(),
            piece: Vec::new(),
        })
    }

    fn own(&self) -> &[usize] {
        &self.owners[self.ranks.rank()]
    }

    /// Sends what waits to rank 0, where everyone's records become whole.
    fn flush(&mut self) -> Result<(), Error> {
        let numbers = std::mem::take(&mut self.waiting);
        let steps = std::mem::take(&mut self.steps);
        if steps.is_empty() {
            return Ok(());
        }
        if self.ranks.rank() > 0 {
            if self.own().is_empty() {
                return Ok(());
            }
            return self
                .ranks
                .send_to_root(Topic::Traces, bytemuck::cast_slice(&numbers).to_vec());
        }
        let mut parts = vec![numbers];
        for (from, list) in self.owners.iter().enumerate().skip(1) {
            let wanted = steps.len() * self.components * list.len();
            parts.push(if wanted == 0 {
                Vec::new()
            } else {
                received(&self.ranks.receive_from(Topic::Traces, from)?, wanted)?
            });
        }
        let mut record = vec![T::default(); self.receivers * self.components];
        for (k, &it) in steps.iter().enumerate() {
            for (list, part) in self.owners.iter().zip(&parts) {
                for component in 0..self.components {
                    let from = &part[(k * self.components + component) * list.len()..][..list.len()];
                    for (&number, &value) in list.iter().zip(from) {
                        record[component * self.receivers + number] = value;
                    }
                }
            }
            self.inner.traces(it, &record)?;
        }
        Ok(())
    }

    /// A component of a snapshot of this rank is whole.
    fn hand_on(&mut self, it: usize) -> Result<(), Error> {
        let piece = std::mem::take(&mut self.piece);
        if self.ranks.rank() > 0 {
            return self
                .ranks
                .send_to_root(Topic::Snapshots, bytemuck::cast_slice(&piece).to_vec());
        }
        self.inner.snapshot(it, &piece)?;
        self.others(it)
    }

    /// On rank 0: the planes of the other ranks behind its own.
    fn others(&mut self, it: usize) -> Result<(), Error> {
        for from in 1..self.shares.len() {
            if self.shares[from] > 0 {
                let message = self.ranks.receive_from(Topic::Snapshots, from)?;
                self.inner.snapshot(it, &received(&message, self.shares[from])?)?;
            }
        }
        Ok(())
    }
}

fn received<T: bytemuck::Pod>(message: &[u8], wanted: usize) -> Result<Vec<T>, Error> {
    let numbers: Vec<T> = bytemuck::pod_collect_to_vec(message);
    if numbers.len() != wanted {
        return Err(Error::setup(format!(
            "a rank sent {} numbers where {wanted} were due: do all ranks run the same program?",
            numbers.len()
        )));
    }
    Ok(numbers)
}

impl<T: bytemuck::Pod + Default> Recorder<T> for Gather<'_, T> {
    fn traces(&mut self, it: usize, traces: &[T]) -> Result<(), Error> {
        let own = &self.owners[self.ranks.rank()];
        for component in traces.chunks(self.receivers) {
            self.waiting.extend(own.iter().map(|&number| component[number]));
        }
        self.steps.push(it);
        if self.steps.len() == self.batch {
            self.flush()?;
        }
        Ok(())
    }

    fn snapshot(&mut self, it: usize, piece: &[T]) -> Result<(), Error> {
        if self.snapshots == Snapshots::Own {
            return self.inner.snapshot(it, piece);
        }
        self.piece.extend_from_slice(piece);
        if self.piece.len() == self.shares[self.ranks.rank()] {
            self.hand_on(it)?;
        }
        Ok(())
    }

    fn empty_snapshot(&mut self, it: usize) -> Result<(), Error> {
        // Rank 0 has no plane of the window: what the others have comes all the same.
        if self.snapshots == Snapshots::First && self.ranks.rank() == 0 {
            (0..self.snapshot_components).try_for_each(|_| self.others(it))?;
        }
        Ok(())
    }

    /// Rank 0 waits for the others' pieces, so nobody may keep them until later.
    fn is_prompt(&self) -> bool {
        self.snapshots == Snapshots::First
    }

    fn step(&mut self, it: usize) -> Result<(), Error> {
        self.inner.step(it)
    }

    fn sync(&mut self) -> Result<(), Error> {
        self.flush()?;
        self.inner.sync()
    }

    fn end(&mut self) -> Result<(), Error> {
        self.flush()?;
        self.inner.end()
    }
}
