//! Checkpoints of a run that is reversed, in memory or in a store that the program provides.

use super::forward::Waves;
use super::program::Discrete;
use super::{Born, Number};
use crate::Error;
use std::io;

/// Numbered slots for checkpoints, which are overwritten repeatedly.
pub trait CheckpointStore: Send + Sync {
    /// Writes the concatenated parts to a slot, replacing its contents.
    ///
    /// # Errors
    /// Returns the error of the storage.
    fn put(&self, place: usize, parts: &[&[u8]]) -> io::Result<()>;

    /// Reads the contents of a slot into the parts.
    ///
    /// # Errors
    /// Returns the error of the storage.
    fn get(&self, place: usize, parts: &mut [&mut [u8]]) -> io::Result<()>;
}

/// A slot for a checkpoint in memory, overwritten repeatedly.
pub type Place<T> = Vec<Vec<T>>;

impl<T: Number> Born<T> {
    fn in_store(&self, act: impl FnOnce(&dyn CheckpointStore) -> io::Result<()>) -> Result<(), Error> {
        let Some(store) = &self.store else {
            return Err(Error::setup(
                "the schedule puts checkpoints into a store, but no store is set",
            ));
        };
        act(&**store)
            .map_err(|error| Error::setup(format!("a checkpoint of the reverse sweep is lost: {error}")))
    }

    /// Saves a wavefield to a slot of the store.
    pub(super) fn save_in_store(&self, waves: &mut Waves<T>, place: usize) -> Result<(), Error> {
        let parts = waves.slab.parts();
        let bytes: Vec<&[u8]> = parts.iter().map(|part| bytemuck::cast_slice(part)).collect();
        self.in_store(|store| store.put(place, &bytes))
    }

    /// Restores a wavefield from a slot of the store.
    pub(super) fn restore_from_store(&self, waves: &mut Waves<T>, place: usize) -> Result<(), Error> {
        let parts = waves.slab.parts().into_iter();
        let mut bytes: Vec<&mut [u8]> = parts.map(bytemuck::cast_slice_mut).collect();
        self.in_store(|store| store.get(place, &mut bytes))
    }
}

/// Saves a wavefield to a slot in memory.
pub fn save<T: Number>(program: &Discrete<T>, waves: &mut Waves<T>, place: &mut Place<T>) {
    let parts = waves.slab.parts();
    place.resize(parts.len(), Vec::new());
    for (to, from) in place.iter_mut().zip(parts) {
        to.resize(from.len(), T::of(0.0));
        let cpu = &program.setup.cpu;
        cpu.copy(bytemuck::cast_slice(from), bytemuck::cast_slice_mut(to));
    }
}

/// Restores a wavefield from a slot in memory.
pub fn restore<T: Number>(program: &Discrete<T>, waves: &mut Waves<T>, place: &Place<T>) {
    for (to, from) in waves.slab.parts().into_iter().zip(place) {
        let cpu = &program.setup.cpu;
        cpu.copy(bytemuck::cast_slice(from), bytemuck::cast_slice_mut(to));
    }
}
