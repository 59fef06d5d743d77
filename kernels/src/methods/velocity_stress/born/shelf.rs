//! Checkpoints that no memory holds: a place for them that the program gives, such as a folder on a disk.

use super::program::State;
use super::{Born, Number};
use crate::Error;
use std::io;

/// Numbered places for checkpoints, each of which is filled again and again.
pub trait Shelf: Send + Sync {
    /// Puts bytes at a place, the parts behind each other, instead of what lay there.
    ///
    /// # Errors
    /// What the place says.
    fn put(&self, place: usize, parts: &[&[u8]]) -> io::Result<()>;

    /// Fills the parts with what lies there.
    ///
    /// # Errors
    /// What the place says.
    fn get(&self, place: usize, parts: &mut [&mut [u8]]) -> io::Result<()>;
}

/// A state from which a run goes on.
pub enum Checkpoint<T> {
    /// In memory.
    Memory(Box<State<T>>),
    /// At a place of the shelf.
    Shelf(usize),
}

impl<T: Number> State<T> {
    fn parts(&self) -> Vec<&[u8]> {
        let Self {
            velocity,
            stress,
            layers,
            relaxing,
            kept,
        } = self;
        let fields = [velocity, stress, relaxing].into_iter();
        let all = fields.chain(layers.iter().flatten()).chain(kept);
        all.map(|numbers| bytemuck::cast_slice(numbers)).collect()
    }

    fn parts_mut(&mut self) -> Vec<&mut [u8]> {
        let Self {
            velocity,
            stress,
            layers,
            relaxing,
            kept,
        } = self;
        let fields = [velocity, stress, relaxing].into_iter();
        let all = fields.chain(layers.iter_mut().flatten()).chain(kept);
        all.map(|numbers| bytemuck::cast_slice_mut(numbers)).collect()
    }
}

impl<T: Number> Born<T> {
    fn on_shelf(&self, act: impl FnOnce(&dyn Shelf) -> io::Result<()>) -> Result<(), Error> {
        let Some(shelf) = &self.shelf else {
            return Err(Error::setup(
                "checkpoints are to go to a shelf, and there is none",
            ));
        };
        act(&**shelf).map_err(|error| Error::setup(format!("a checkpoint of the way back is lost: {error}")))
    }

    /// Puts a state at a place of the shelf.
    pub(super) fn put(&self, state: State<T>, place: usize) -> Result<Checkpoint<T>, Error> {
        self.on_shelf(|shelf| shelf.put(place, &state.parts()))?;
        Ok(Checkpoint::Shelf(place))
    }

    /// The state of a checkpoint, which stays.
    pub(super) fn copied(&self, from: &Checkpoint<T>) -> Result<State<T>, Error> {
        match from {
            Checkpoint::Memory(state) => Ok((**state).clone()),
            Checkpoint::Shelf(place) => {
                let mut state = self.program.state();
                self.on_shelf(|shelf| shelf.get(*place, &mut state.parts_mut()))?;
                Ok(state)
            }
        }
    }

    /// The state of a checkpoint that is not needed any more.
    pub(super) fn taken(&self, from: Checkpoint<T>) -> Result<State<T>, Error> {
        match from {
            Checkpoint::Memory(state) => Ok(*state),
            Checkpoint::Shelf(_) => self.copied(&from),
        }
    }
}
