//! The gathering of records of all ranks on rank 0, in batches that are sent without waiting.

use crate::Error;
use crate::communicator::{Communicator, Topic};
use crate::time_loop::{Recorder, Schedule, is_in_order};
use std::ops::Range;

/// Target size in bytes of a batch of records of all receivers.
const BATCH_BYTES: usize = 1 << 19;
/// Largest number of records in a batch.
const BATCH: usize = 256;

/// The recorders that receive snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotWriter {
    /// The recorder of every rank receives the rank's own share.
    EachRank,
    /// The recorder of rank 0 receives everything, in file order.
    Root,
}

/// A recorder that passes the records of this rank on. On rank 0 `inner` receives the traces of all ranks. Pieces of
/// snapshots are passed to the recorders that [`SnapshotWriter`] specifies, and steps to `inner` on every rank.
pub struct Gather<'a, T> {
    ranks: &'a dyn Communicator,
    inner: &'a mut dyn Recorder<T>,
    snapshots: SnapshotWriter,
    /// Numbers of the receivers of every rank.
    owners: Vec<Vec<usize>>,
    receivers: usize,
    components: usize,
    snapshot_components: usize,
    /// Steps of the records that have not been sent yet, and their values `[record][component][own receiver]`.
    steps: Vec<usize>,
    waiting: Vec<T>,
    batch: usize,
    /// Ranges, in one component of a snapshot, that every rank owns.
    shares: Vec<Vec<Range<usize>>>,
    /// The part received so far of a component of a snapshot of this rank.
    piece: Vec<T>,
    /// A component of all ranks, if their shares interleave (rank 0 only).
    whole: Option<Vec<T>>,
}

fn total(ranges: &[Range<usize>]) -> usize {
    ranges.iter().map(Range::len).sum()
}

impl<'a, T: bytemuck::Pod + Default> Gather<'a, T> {
    /// `own` holds the receivers of this rank, in any order, and `share` the ranges of one component of a snapshot
    /// that it owns, in file order. Collective: all ranks must call this.
    pub fn new(
        ranks: &'a dyn Communicator,
        inner: &'a mut dyn Recorder<T>,
        schedule: &Schedule,
        snapshots: SnapshotWriter,
        (own, share): (Vec<usize>, Vec<Range<usize>>),
    ) -> Result<Self, Error> {
        let ends = share.iter().flat_map(|range| [range.start, range.end]);
        let words = [share.len()].into_iter().chain(ends).chain(own);
        let words: Vec<u64> = words.map(|n| n as u64).collect();
        let all = ranks.all_gather(bytemuck::cast_slice(&words))?;
        let numbers = |bytes: &Vec<u8>| -> Vec<usize> {
            let chunks = bytes.as_chunks::<8>().0.iter();
            chunks.map(|&b| u64::from_ne_bytes(b) as usize).collect()
        };
        let all: Vec<Vec<usize>> = all.iter().map(numbers).collect();
        let split = |list: &Vec<usize>| list[1..].split_at(2 * list[0]).0.to_vec();
        let ranges = |list: &Vec<usize>| -> Vec<Range<usize>> {
            let ends = split(list);
            ends.as_chunks::<2>().0.iter().map(|&[a, b]| a..b).collect()
        };
        let shares: Vec<_> = all.iter().map(ranges).collect();
        let interleave = !is_in_order(shares.iter().flatten());
        let numbers = shares.iter().flatten().map(|range| range.end).max();
        let is_root = ranks.rank() == 0 && snapshots == SnapshotWriter::Root;
        let record = (schedule.receivers * schedule.components * size_of::<T>()).max(1);
        Ok(Self {
            ranks,
            inner,
            snapshots,
            owners: all.iter().map(|list| list[1 + 2 * list[0]..].to_vec()).collect(),
            whole: (interleave && is_root).then(|| vec![T::default(); numbers.unwrap_or(0)]),
            receivers: schedule.receivers,
            components: schedule.components,
            snapshot_components: schedule.snapshot_components,
            steps: Vec::new(),
            waiting: Vec::new(),
            batch: (BATCH_BYTES / record).clamp(1, BATCH),
            shares,
            piece: Vec::new(),
        })
    }

    fn own(&self) -> &[usize] {
        &self.owners[self.ranks.rank()]
    }

    /// Sends the waiting records to rank 0, which merges the records of all ranks.
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
            let due = steps.len() * self.components * list.len();
            parts.push(if due == 0 {
                Vec::new()
            } else {
                received(&self.ranks.receive_from(Topic::Traces, from)?, due)?
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

    /// Passes on a complete component of a snapshot of this rank.
    fn hand_on(&mut self, it: usize) -> Result<(), Error> {
        let piece = std::mem::take(&mut self.piece);
        if self.ranks.rank() > 0 {
            return self
                .ranks
                .send_to_root(Topic::Snapshots, bytemuck::cast_slice(&piece).to_vec());
        }
        self.hand_over(it, 0, &piece)?;
        self.others(it)
    }

    /// On rank 0: passes the share of a rank to the recorder, or copies it into the whole component.
    fn hand_over(&mut self, it: usize, rank: usize, share: &[T]) -> Result<(), Error> {
        let Some(whole) = &mut self.whole else {
            return self.inner.snapshot(it, share);
        };
        let mut from = 0;
        for range in &self.shares[rank] {
            whole[range.clone()].copy_from_slice(&share[from..from + range.len()]);
            from += range.len();
        }
        Ok(())
    }

    /// On rank 0: receives the shares of the other ranks, which follow its own.
    fn others(&mut self, it: usize) -> Result<(), Error> {
        for from in 1..self.shares.len() {
            let due = total(&self.shares[from]);
            if due > 0 {
                let message = self.ranks.receive_from(Topic::Snapshots, from)?;
                self.hand_over(it, from, &received(&message, due)?)?;
            }
        }
        match &self.whole {
            Some(whole) => self.inner.snapshot(it, whole),
            None => Ok(()),
        }
    }
}

fn received<T: bytemuck::Pod>(message: &[u8], due: usize) -> Result<Vec<T>, Error> {
    let numbers: Vec<T> = bytemuck::pod_collect_to_vec(message);
    if numbers.len() != due {
        return Err(Error::setup(format!(
            "a rank sent {} numbers where {due} were due: do all ranks run the same program?",
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
        if self.snapshots == SnapshotWriter::EachRank {
            return self.inner.snapshot(it, piece);
        }
        self.piece.extend_from_slice(piece);
        if self.piece.len() == total(&self.shares[self.ranks.rank()]) {
            self.hand_on(it)?;
        }
        Ok(())
    }

    fn empty_snapshot(&mut self, it: usize) -> Result<(), Error> {
        // Rank 0 has no part of the window, but still receives the parts of the other ranks.
        if self.snapshots == SnapshotWriter::Root && self.ranks.rank() == 0 {
            (0..self.snapshot_components).try_for_each(|_| self.others(it))?;
        }
        Ok(())
    }

    /// Rank 0 waits for the pieces of the other ranks, so they must not be delayed.
    fn is_prompt(&self) -> bool {
        self.snapshots == SnapshotWriter::Root
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

#[cfg(test)]
mod tests {
    use super::received;

    #[test]
    fn a_message_of_another_length_is_refused() {
        let two = bytemuck::cast_slice(&[1.5f32, -2.0]);
        assert_eq!(received::<f32>(two, 2).expect("as many as are due"), [1.5, -2.0]);
        for due in [1, 3] {
            let message = received::<f32>(two, due).expect_err("another number").to_string();
            assert!(
                message.contains(&format!("a rank sent 2 numbers where {due} were due")),
                "{message}"
            );
        }
    }
}
