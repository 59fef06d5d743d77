//! The queue of outputs between the subdomains of this process and its recorder, which receives them in file order.

use super::{Recorder, Sampler, Schedule};
use crate::Error;
use std::collections::VecDeque;
use std::ops::Range;

/// Whether ranges are in ascending order without overlap, so that the values of each can be passed on as they arrive.
pub fn is_in_order<'a>(ranges: impl IntoIterator<Item = &'a Range<usize>>) -> bool {
    let mut end = 0;
    ranges.into_iter().all(|range| {
        let rises = range.start >= end;
        end = end.max(range.end);
        rises
    })
}

/// All ranges of the lists, in ascending order.
pub fn merge(lists: &[Vec<Range<usize>>]) -> Vec<Range<usize>> {
    let mut all: Vec<Range<usize>> = lists.iter().flatten().cloned().collect();
    all.sort_by_key(|range| range.start);
    all
}

/// The assembly of snapshots of this process.
struct Assembly<T> {
    /// The share of each subdomain.
    shares: Vec<Vec<Range<usize>>>,
    /// The shares of all subdomains in file order.
    merged: Vec<Range<usize>>,
    /// A component of the snapshot, if the pieces do not come in file order.
    whole: Option<Vec<T>>,
}

impl<T: Default + Clone> Assembly<T> {
    fn new<S: Sampler<Number = T>>(subdomains: &[S]) -> Self {
        let shares: Vec<_> = subdomains.iter().map(S::snapshot_share).collect();
        let merged = merge(&shares);
        let ordered = is_in_order(shares.iter().flatten());
        let numbers = merged.iter().map(|range| range.end).max().unwrap_or(0);
        Self {
            whole: (!ordered).then(|| vec![T::default(); numbers]),
            shares,
            merged,
        }
    }

    /// Copies the share of a subdomain into the component.
    fn scatter(&mut self, subdomain: usize, share: &[T]) {
        let Some(whole) = &mut self.whole else { return };
        let mut from = 0;
        for range in &self.shares[subdomain] {
            whole[range.clone()].clone_from_slice(&share[from..from + range.len()]);
            from += range.len();
        }
    }
}

/// Outputs that were requested from subdomains and not yet passed to the recorder.
pub(super) struct OutputQueue<'a, T> {
    pub schedule: &'a Schedule,
    pub recorder: &'a mut dyn Recorder<T>,
    capacity: usize,
    samples: VecDeque<usize>,
    /// Step and subdomain of the requested pieces of snapshots.
    pieces: VecDeque<(usize, usize)>,
    traces: Vec<T>,
    piece: Vec<T>,
    assembly: Assembly<T>,
}

impl<'a, T: Default + Clone> OutputQueue<'a, T> {
    pub fn new<S: Sampler<Number = T>>(
        schedule: &'a Schedule,
        subdomains: &[S],
        recorder: &'a mut dyn Recorder<T>,
    ) -> Self {
        let capacities = subdomains.iter().map(Sampler::capacity);
        Self {
            schedule,
            recorder,
            capacity: capacities.min().unwrap_or(1).max(1),
            samples: VecDeque::new(),
            pieces: VecDeque::new(),
            traces: vec![T::default(); schedule.receivers * schedule.components],
            piece: Vec::new(),
            assembly: Assembly::new(subdomains),
        }
    }

    /// Number of samples that may still be requested.
    pub fn room(&self) -> usize {
        self.capacity - self.samples.len()
    }

    /// Notes that a sample was requested. If there is no room for more, half of the samples are taken.
    pub fn sampled<S: Sampler<Number = T>>(
        &mut self,
        subdomains: &mut [S],
        step: usize,
    ) -> Result<(), Error> {
        self.samples.push_back(step);
        if self.room() == 0 {
            for _ in 0..self.capacity.div_ceil(2) {
                self.take_sample(subdomains)?;
            }
        }
        Ok(())
    }

    fn take_sample<S: Sampler<Number = T>>(&mut self, subdomains: &mut [S]) -> Result<(), Error> {
        if let Some(step) = self.samples.pop_front() {
            subdomains
                .iter_mut()
                .try_for_each(|s| s.traces(&mut self.traces))?;
            self.recorder.traces(step, &self.traces)?;
        }
        Ok(())
    }

    /// Requests a whole snapshot piece by piece, at most two pieces ahead of the recorder.
    pub fn snapshot<S: Sampler<Number = T>>(
        &mut self,
        subdomains: &mut [S],
        step: usize,
    ) -> Result<(), Error> {
        if self.assembly.merged.is_empty() {
            return self.recorder.empty_snapshot(step);
        }
        if self.assembly.whole.is_some() {
            return self.assembled(subdomains, step);
        }
        for component in 0..self.schedule.snapshot_components {
            for k in 0..subdomains.len() {
                for piece in 0..subdomains[k].pieces() {
                    if self.pieces.len() == 2 {
                        self.take_piece(subdomains)?;
                    }
                    subdomains[k].request_piece(component, piece)?;
                    self.pieces.push_back((step, k));
                }
            }
        }
        if self.recorder.is_prompt() {
            self.take_pieces(subdomains)?;
        }
        Ok(())
    }

    /// Takes a snapshot whose shares interleave: every component is assembled before it is passed to the recorder.
    fn assembled<S: Sampler<Number = T>>(&mut self, subdomains: &mut [S], step: usize) -> Result<(), Error> {
        for component in 0..self.schedule.snapshot_components {
            for (k, subdomain) in subdomains.iter_mut().enumerate() {
                self.piece.clear();
                for piece in 0..subdomain.pieces() {
                    subdomain.request_piece(component, piece)?;
                    subdomain.take_piece(&mut self.piece)?;
                }
                self.assembly.scatter(k, &self.piece);
            }
            let Assembly { whole, merged, .. } = &self.assembly;
            let whole = whole.as_deref().unwrap_or_default();
            self.piece.clear();
            for range in merged {
                self.piece.extend_from_slice(&whole[range.clone()]);
            }
            self.recorder.snapshot(step, &self.piece)?;
        }
        Ok(())
    }

    fn take_piece<S: Sampler<Number = T>>(&mut self, subdomains: &mut [S]) -> Result<(), Error> {
        if let Some((step, k)) = self.pieces.pop_front() {
            self.piece.clear();
            subdomains[k].take_piece(&mut self.piece)?;
            self.recorder.snapshot(step, &self.piece)?;
        }
        Ok(())
    }

    fn take_pieces<S: Sampler<Number = T>>(&mut self, subdomains: &mut [S]) -> Result<(), Error> {
        while !self.pieces.is_empty() {
            self.take_piece(subdomains)?;
        }
        Ok(())
    }

    /// Passes all requested outputs to the recorder.
    pub fn hand_over<S: Sampler<Number = T>>(&mut self, subdomains: &mut [S]) -> Result<(), Error> {
        while !self.samples.is_empty() {
            self.take_sample(subdomains)?;
        }
        self.take_pieces(subdomains)
    }

    /// Passes all requested outputs to the recorder, and ends it.
    pub fn flush<S: Sampler<Number = T>>(&mut self, subdomains: &mut [S]) -> Result<(), Error> {
        self.hand_over(subdomains)?;
        self.recorder.end()
    }
}
