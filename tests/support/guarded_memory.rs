//! Memory of an emulated accelerator: memory of the host between guards, and a ledger of it.

use super::cuda_on_cpu::GUARD;
use super::streams::Late;
use kernels::Error;
use kernels::device::accelerator::{Memory, Pinned};
use memmap2::MmapMut;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The byte that fills memory that nobody has written to.
pub const POISON: u8 = 0xFF;

/// The bytes of a word of guards, by their addresses: a signaling NaN, which no sum or product returns unchanged, so
/// that numbers that are changed in place are detected, and as an index far outside any array.
const WORD: [u8; 4] = 0x7FA0_0001_u32.to_ne_bytes();
static FENCE: [u8; GUARD + WORD.len()] = {
    let (mut all, mut k) = ([0; GUARD + WORD.len()], 0);
    while k < all.len() {
        all[k] = WORD[k % WORD.len()];
        k += 1;
    }
    all
};

/// All allocated memory.
#[derive(Default)]
pub struct Ledger {
    /// Addresses and sizes.
    pub live: Mutex<BTreeMap<u64, usize>>,
    /// Memory of other emulators that this one has opened.
    pub borrowed: Mutex<BTreeMap<u64, usize>>,
    /// Damage that was found when memory was freed.
    pub damage: Mutex<Vec<String>>,
}

/// Host memory that serves as device memory: guard, bytes, guard.
pub struct Lump {
    /// Never borrowed as a slice, because kernels write through the address.
    pub start: *mut u8,
    pub bytes: usize,
    pub ledger: Arc<Ledger>,
    pub late: Option<Late>,
    pub _pages: MmapMut,
}

// SAFETY: `start` is an address; only kernels and copies use it, under the rules of `Accelerator`.
unsafe impl Send for Lump {}
// SAFETY: as above.
unsafe impl Sync for Lump {}

/// Memory of another emulator.
pub struct Borrowed {
    pub address: u64,
    pub bytes: usize,
    pub ledger: Arc<Ledger>,
}

impl Memory for Borrowed {
    fn address(&self) -> u64 {
        self.address
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        self.ledger.borrowed.lock().unwrap().remove(&self.address);
    }
}

/// Host memory for transfers.
pub struct Buffer {
    pub pages: MmapMut,
    pub bytes: usize,
    pub late: Option<Late>,
}

impl Ledger {
    /// Number of allocated bytes.
    pub fn used(&self) -> usize {
        self.live.lock().unwrap().values().sum()
    }

    /// Refuses a range that is not inside allocated memory.
    pub fn check(&self, address: u64, bytes: usize) -> Result<(), Error> {
        let end = address + bytes as u64;
        let holds = |all: &BTreeMap<u64, usize>| {
            let last = all.range(..=address).next_back();
            last.is_some_and(|(start, size)| end <= start + *size as u64)
        };
        if holds(&self.borrowed.lock().unwrap()) {
            return Ok(());
        }
        let live = self.live.lock().unwrap();
        match live.range(..=address).next_back() {
            Some((start, size)) if end <= start + *size as u64 => Ok(()),
            Some((start, size)) => Err(Error::setup(format!(
                "copy of {bytes} bytes at byte {} of device memory of {size} bytes",
                address - start
            ))),
            None => Err(Error::setup(format!(
                "copy of {bytes} bytes at {address:#x}: no device memory"
            ))),
        }
    }
}

/// The contents of a guard at an address.
pub fn fence(address: u64) -> &'static [u8] {
    &FENCE[(address % WORD.len() as u64) as usize..][..GUARD]
}

/// A description of a write outside device memory, if there was one.
///
/// # Safety
/// There are guards on both sides of the memory and nothing writes to them now.
pub unsafe fn damage(address: u64, bytes: usize) -> Option<String> {
    let first = |from: u64| {
        // SAFETY: guaranteed by the caller.
        let guard = unsafe { std::slice::from_raw_parts(from as *const u8, GUARD) };
        let fence = fence(from);
        // All allocated memory is checked often, so whole guards are compared at once.
        if guard == fence {
            None
        } else {
            guard.iter().zip(fence).position(|(byte, whole)| byte != whole)
        }
    };
    let message = |place: String| format!("a kernel wrote {place} device memory of {bytes} bytes");
    let behind = first(address + bytes as u64).map(|at| message(format!("{at} bytes behind the end of")));
    behind.or_else(|| first(address - GUARD as u64).map(|at| message(format!("{} bytes before", GUARD - at))))
}

impl Memory for Lump {
    fn address(&self) -> u64 {
        self.start as u64
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Lump {
    fn drop(&mut self) {
        // A device frees memory after all submitted work; failures of that work are reported elsewhere.
        let _ = self.late.as_ref().map(Late::finish);
        self.ledger.live.lock().unwrap().remove(&self.address());
        // SAFETY: the pages are still owned and the queues are empty.
        let damage = unsafe { damage(self.address(), self.bytes) };
        self.ledger.damage.lock().unwrap().extend(damage);
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let _ = self.late.as_ref().map(Late::finish);
    }
}

impl Pinned for Buffer {
    fn bytes(&self) -> &[u8] {
        &self.pages[..self.bytes]
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.pages[..self.bytes]
    }
}

/// Zeroed pages, at least one.
pub fn pages(bytes: usize) -> Result<MmapMut, Error> {
    MmapMut::map_anon(bytes.max(1)).map_err(|e| Error::setup(format!("no {bytes} bytes of memory: {e}")))
}

/// Refuses a range that exceeds a buffer.
pub fn inside(buffer: &Buffer, offset: usize, bytes: usize) -> Result<(), Error> {
    match offset + bytes <= buffer.bytes {
        true => Ok(()),
        false => Err(Error::setup(format!(
            "copy of {bytes} bytes at byte {offset} of {} bytes of host memory",
            buffer.bytes
        ))),
    }
}
