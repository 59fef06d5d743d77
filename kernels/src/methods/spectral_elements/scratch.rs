//! Scratch memory of a thread for the forces of one block of elements.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

use super::lanes::Lanes;

/// Scratch memory for one block.
#[derive(Clone, Debug)]
pub(super) struct Scratch<const C: usize> {
    /// Values at all points.
    pub(super) field: Vec<[Lanes; C]>,
    /// The field that drives memory variables.
    pub(super) strained: Vec<[Lanes; C]>,
    /// The contributions of the block to its points.
    pub(super) force: Vec<[Lanes; C]>,
    /// Fluxes of a layer of points along each axis of the cell: `[axis][point]`.
    pub(super) flux: [Vec<[Lanes; C]>; 3],
    /// In perfectly matched layers, the forces due to the stresses across each axis with a layer, and the forces due to
    /// all other stresses together: `[axis, or D for the others][point]`.
    pub(super) along: Vec<[Lanes; C]>,
    /// Cofactors on a layer of points, `[point][axis of the cell][axis of space]`, and the stresses there,
    /// `[point][axis of space][component]`.
    pub(super) turns: Vec<Lanes>,
    pub(super) stresses: Vec<[Lanes; C]>,
}

impl<const C: usize> Scratch<C> {
    /// Scratch memory for blocks with `points` points, `layer` of them in a layer.
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

/// A pool of scratch memory, so that the blocks of later waves reuse memory that is still in the caches.
#[derive(Debug, Default)]
pub(super) struct Rooms<const C: usize>(Mutex<Vec<Scratch<C>>>);

impl<const C: usize> Rooms<C> {
    /// Takes scratch memory from the pool, or allocates it for blocks with `points` points, `layer` of them in a layer.
    pub(super) fn one(&self, points: usize, layer: usize) -> Room<'_, C> {
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Room {
            scratch: waiting.unwrap_or_else(|| Scratch::new(points, layer)),
            rooms: self,
        }
    }
}

/// Scratch memory that returns to the pool when it is dropped.
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
