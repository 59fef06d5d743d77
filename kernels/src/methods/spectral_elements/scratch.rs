//! Memory of a thread for the forces of one block of elements.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

use super::lanes::Lanes;

/// Room for one block.
#[derive(Clone, Debug)]
pub(super) struct Scratch<const C: usize> {
    /// Values at all points.
    pub(super) field: Vec<[Lanes; C]>,
    /// The field that memory variables follow.
    pub(super) strained: Vec<[Lanes; C]>,
    /// What the block adds to its points.
    pub(super) force: Vec<[Lanes; C]>,
    /// Fluxes of a layer of points along each axis of the cell: `[axis][point]`.
    pub(super) flux: [Vec<[Lanes; C]>; 3],
    /// In perfectly matched layers, the forces of the stresses across each axis that has a layer, and those of all other stresses together:
    /// `[axis, or D for the others][point]`.
    pub(super) along: Vec<[Lanes; C]>,
    /// Cofactors at a sheet of points, `[point][axis of the cell][axis of space]`, and its stresses, `[point][axis of space][component]`.
    pub(super) turns: Vec<Lanes>,
    pub(super) stresses: Vec<[Lanes; C]>,
}

impl<const C: usize> Scratch<C> {
    /// For blocks with so many points, and so many in a layer of them.
    pub(super) fn new(points: usize, layer: usize) -> Self {
        let room = |points: usize| vec![[Lanes::ZERO; C]; points];
        Self {
            field: room(points),
            strained: room(points),
            force: room(points),
            flux: std::array::from_fn(|_| room(layer)),
            along: Vec::new(),
            turns: Vec::new(),
            stresses: Vec::new(),
        }
    }
}

/// A pool of scratch memory: the blocks of later waves use what is still in the caches.
#[derive(Debug, Default)]
pub(super) struct Rooms<const C: usize>(Mutex<Vec<Scratch<C>>>);

impl<const C: usize> Rooms<C> {
    /// Takes scratch memory from the pool, or makes it for blocks with so many points, and so many in a layer
    /// of them.
    pub(super) fn one(&self, points: usize, layer: usize) -> Room<'_, C> {
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Room {
            scratch: waiting.unwrap_or_else(|| Scratch::new(points, layer)),
            rooms: self,
        }
    }
}

/// Scratch memory that goes back to the pool when it is dropped.
pub(super) struct Room<'a, const C: usize> {
    scratch: Scratch<C>,
    rooms: &'a Rooms<C>,
}

impl<const C: usize> Deref for Room<'_, C> {
    type Target = Scratch<C>;

    fn deref(&self) -> &Scratch<C> {
        &self.scratch
    }
}

impl<const C: usize> DerefMut for Room<'_, C> {
    fn deref_mut(&mut self) -> &mut Scratch<C> {
        &mut self.scratch
    }
}

impl<const C: usize> Drop for Room<'_, C> {
    fn drop(&mut self) {
        let scratch = std::mem::replace(&mut self.scratch, Scratch::new(0, 0));
        let mut waiting = self.rooms.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push(scratch);
    }
}
