//! Memory that a rank lends to a neighbour on the same host: the words by which it is offered and opened.

use crate::Error;
use crate::device::accelerator::{Accelerator, Memory};

/// Memory that is lent to a neighbour.
pub struct IpcExport<'a, M> {
    /// What is lent.
    pub memories: Vec<&'a M>,
    /// Where pieces begin: the number of a memory, bytes from its start.
    pub places: Vec<(usize, u64)>,
}

/// Memory of a neighbour on another rank.
pub(super) struct IpcImport {
    memories: Vec<Box<dyn Memory>>,
    places: Vec<(usize, u64)>,
}

impl IpcImport {
    /// Where a place begins.
    pub fn address(&self, place: usize) -> u64 {
        let (memory, offset) = self.places[place];
        self.memories[memory].address() + offset
    }
}

/// What a rank tells a neighbour of the memory that it lends.
pub(super) fn offer<A: Accelerator>(a: &A, open: &IpcExport<'_, A::Memory>) -> Result<Vec<u8>, Error> {
    let mut words = Vec::new();
    let mut put = |number: u64, more: &[u8]| {
        words.extend(number.to_le_bytes());
        words.extend(more);
    };
    put(open.memories.len() as u64, &[]);
    for &memory in &open.memories {
        let handle = a.export_ipc(memory)?;
        put(handle.len() as u64, &handle);
    }
    for &(memory, offset) in &open.places {
        put(memory as u64, &offset.to_le_bytes());
    }
    Ok(words)
}

/// Opens what a neighbour has offered; `None` where that cannot be reached.
pub(super) fn borrow<A: Accelerator>(a: &A, mut words: &[u8]) -> Option<IpcImport> {
    fn take(words: &mut &[u8]) -> Option<u64> {
        let (first, rest) = words.split_first_chunk::<8>()?;
        *words = rest;
        Some(u64::from_le_bytes(*first))
    }
    let mut beyond = IpcImport {
        memories: Vec::new(),
        places: Vec::new(),
    };
    for _ in 0..take(&mut words)? {
        let length = take(&mut words)? as usize;
        let (handle, rest) = words.split_at_checked(length)?;
        words = rest;
        beyond.memories.push(a.import_ipc(handle)?);
    }
    while !words.is_empty() {
        let place = (take(&mut words)? as usize, take(&mut words)?);
        beyond.places.push(place);
    }
    Some(beyond)
}
