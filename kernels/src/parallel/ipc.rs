//! Memory that a rank exports to a neighbour on the same host (CUDA IPC), and its encoding as bytes.

use crate::Error;
use crate::device::accelerator::{Accelerator, Memory};

/// Memory that is exported to a neighbour.
pub struct IpcExport<'a, M> {
    /// The memory.
    pub memories: Vec<&'a M>,
    /// Start of each piece: index of its memory, and offset in bytes.
    pub places: Vec<(usize, u64)>,
}

impl<M: Memory> IpcExport<'_, M> {
    /// The bytes with which a neighbour can open it by [`IpcImport::open`].
    pub fn words<A: Accelerator<Memory = M>>(&self, a: &A) -> Result<Vec<u8>, Error> {
        let mut words = Vec::new();
        let mut put = |number: u64, more: &[u8]| {
            words.extend(number.to_le_bytes());
            words.extend(more);
        };
        put(self.memories.len() as u64, &[]);
        for &memory in &self.memories {
            let handle = a.export_ipc(memory)?;
            put(handle.len() as u64, &handle);
        }
        for &(memory, offset) in &self.places {
            put(memory as u64, &offset.to_le_bytes());
        }
        Ok(words)
    }
}

/// Memory that a neighbour on another rank has exported.
pub struct IpcImport {
    memories: Vec<Box<dyn Memory>>,
    places: Vec<(usize, u64)>,
}

impl IpcImport {
    /// Address of a piece.
    pub fn address(&self, place: usize) -> u64 {
        let (memory, offset) = self.places[place];
        self.memories[memory].address() + offset
    }

    /// Opens memory that a neighbour has exported; `None` where it cannot be reached.
    pub fn open<A: Accelerator>(a: &A, mut words: &[u8]) -> Option<Self> {
        fn take(words: &mut &[u8]) -> Option<u64> {
            let (first, rest) = words.split_first_chunk::<8>()?;
            *words = rest;
            Some(u64::from_le_bytes(*first))
        }
        let mut import = Self {
            memories: Vec::new(),
            places: Vec::new(),
        };
        for _ in 0..take(&mut words)? {
            let length = take(&mut words)? as usize;
            let (handle, rest) = words.split_at_checked(length)?;
            words = rest;
            import.memories.push(a.import_ipc(handle)?);
        }
        while !words.is_empty() {
            let place = (take(&mut words)? as usize, take(&mut words)?);
            import.places.push(place);
        }
        Some(import)
    }
}
