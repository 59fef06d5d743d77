//! States that are kept in memory, and random numbers: the common part of the tests of saved states.
#![allow(dead_code)] // each test target that includes this file uses a part of it

use crate::shots::Tape;
use kernels::device::simd::Real;
use kernels::time_loop::state::{StateSink, StateSource, StateStore};
use std::io::{Error, ErrorKind};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

type Bytes = Arc<Mutex<Vec<u8>>>;

/// Keeps every state that was completed.
#[derive(Default)]
pub struct MemoryStore {
    begun: Mutex<Bytes>,
    kept: Mutex<Vec<(usize, Vec<u8>)>>,
    /// The reasons why states were not kept, by step.
    pub failures: Mutex<Vec<(usize, String)>>,
    /// Whether the run is asked to stop.
    pub stop: AtomicBool,
    /// The number of the write that finds the disk full; 0 if none does.
    pub room: AtomicUsize,
    /// Whether no state can be begun.
    pub locked: AtomicBool,
}

impl MemoryStore {
    /// The states in the order of their steps.
    pub fn states(&self) -> Vec<(usize, Vec<u8>)> {
        self.kept.lock().unwrap().clone()
    }
}

struct MemorySink {
    bytes: Bytes,
    /// Number of writes until one fails.
    room: usize,
}

impl StateSink for MemorySink {
    fn write_at(&mut self, offset: u64, from: &[u8]) -> Result<(), Error> {
        self.room -= 1;
        if self.room == 0 {
            return Err(ErrorKind::StorageFull.into());
        }
        let mut bytes = self.bytes.lock().unwrap();
        let (first, end) = (offset as usize, offset as usize + from.len());
        let len = bytes.len().max(end);
        bytes.resize(len, 0);
        bytes[first..end].copy_from_slice(from);
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

impl MemoryStore {
    fn sink(&self) -> Box<dyn StateSink> {
        let room = self.room.load(Ordering::SeqCst);
        Box::new(MemorySink {
            bytes: self.begun.lock().unwrap().clone(),
            room: if room == 0 { usize::MAX } else { room },
        })
    }
}

impl StateStore for MemoryStore {
    fn labels(&self, step: usize) -> Vec<(String, String)> {
        let pair = |key: &str, value: String| (key.to_string(), value);
        vec![
            pair("program", "test".into()),
            pair("records", step.to_string()),
            pair("two\nlines\\", "a=b\nc\\n\r".into()),
        ]
    }

    fn create(&self, _bytes: u64) -> Result<Box<dyn StateSink>, Error> {
        if self.locked.load(Ordering::SeqCst) {
            return Err(ErrorKind::PermissionDenied.into());
        }
        *self.begun.lock().unwrap() = Bytes::default();
        Ok(self.sink())
    }

    fn join(&self) -> Result<Box<dyn StateSink>, Error> {
        Ok(self.sink())
    }

    fn commit(&self, step: usize) -> Result<(), Error> {
        let bytes = self.begun.lock().unwrap().lock().unwrap().clone();
        self.kept.lock().unwrap().push((step, bytes));
        Ok(())
    }

    fn failed(&self, step: usize, reason: &str) {
        self.failures.lock().unwrap().push((step, reason.into()));
    }

    fn stops(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }
}

/// Reads a state from these bytes.
pub struct MemorySource<'a>(pub &'a [u8]);

impl StateSource for MemorySource<'_> {
    fn bytes(&mut self) -> Result<u64, Error> {
        Ok(self.0.len() as u64)
    }

    fn read_at(&mut self, offset: u64, out: &mut [u8]) -> Result<(), Error> {
        let first = offset as usize;
        let from = self.0.get(first..first + out.len());
        out.copy_from_slice(from.ok_or(ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

/// The records and snapshots from this step on.
pub fn from_step<T: Real>(tape: &Tape<T>, first: usize) -> Tape<T> {
    let late = |step: &usize| *step >= first;
    let records = tape.steps.iter().zip(&tape.traces);
    let records = records.filter(|(step, _)| late(step));
    let (steps, traces) = records.map(|(step, record)| (*step, record.clone())).unzip();
    let snapshots = tape.snapshots.iter().filter(|(step, _)| late(step));
    Tape {
        steps,
        traces,
        snapshots: snapshots.cloned().collect(),
    }
}

/// Pseudo-random numbers that are the same in every run (SplitMix64).
pub struct Draw(pub u64);

impl Draw {
    /// A number in a range.
    pub fn of(&mut self, range: Range<usize>) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        range.start + ((x ^ (x >> 31)) as usize) % range.len()
    }

    /// `planes` planes divided into 1 to `most` slabs of at least eight.
    pub fn slabs(&mut self, planes: usize, most: usize) -> Vec<usize> {
        let count = self.of(1..most.min(planes / 8) + 1);
        let mut sizes = vec![8; count];
        for _ in 0..planes - 8 * count {
            let k = self.of(0..count);
            sizes[k] += 1;
        }
        sizes
    }

    /// The same slabs, distributed to ranks in order.
    pub fn ranks(&mut self, slabs: &[usize]) -> Vec<Vec<usize>> {
        let mut parts: Vec<Vec<usize>> = Vec::new();
        for &slab in slabs {
            match parts.last_mut() {
                Some(last) if self.of(0..3) == 0 => last.push(slab),
                _ => parts.push(vec![slab]),
            }
        }
        parts
    }
}
