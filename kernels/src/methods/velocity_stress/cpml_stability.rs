//! Searches a model for media in which the layers are unstable, while the model is read, for callers that
//! do not keep it.

use super::absorbing_frame::{Absorber, Frame, Growing, places};
use crate::Error;
use crate::boundary::cpml;
use crate::grid::Padded;
use crate::medium::{Destination, plane_names};
use std::ops::Range;

/// Receives a model block by block and keeps the first cell that [`Frame::first_growing`] would find in it.
pub struct Watch {
    frame: Frame,
    padded: Padded,
    block: Vec<f32>,
    /// The cell, preceded by its sort key in the search.
    first: Option<([usize; 6], Growing)>,
}

impl Watch {
    /// A search through a model on this grid with this frame.
    pub fn new(frame: &Frame, padded: &Padded) -> Self {
        Self {
            frame: *frame,
            padded: padded.clone(),
            block: Vec::new(),
            first: None,
        }
    }

    /// The first cell with unstable layers in the blocks so far.
    pub fn growing(&self) -> Option<Growing> {
        self.first.map(|(_, growing)| growing)
    }

    /// Length of a line, all arrays together.
    fn line(&self) -> usize {
        (plane_names(self.padded.ndim()).len() + 1) * self.padded.model.n[0]
    }

    /// The cells of a line of the model that lie on a face with absorbing layers.
    fn face(&self, (x, y): (usize, usize), axis: usize, side: usize) -> Range<usize> {
        let n = self.padded.model.n;
        let outermost = if side == 0 { 0 } else { n[axis] - 1 };
        match axis {
            0 => outermost..outermost + 1,
            1 if x == outermost => 0..n[0],
            2 if y == outermost => 0..n[0],
            _ => 0..0,
        }
    }

    /// Searches lines of all arrays, `[array][line][z of the model]`; the first of them is line `first` of the model.
    pub fn see(&mut self, block: &[f32], first: usize, lines: usize) {
        if matches!(self.frame.absorber, Absorber::Sponge(_)) {
            return;
        }
        let [nz, nx, _] = self.padded.model.n;
        for line in 0..lines {
            let at = first + line;
            let c = |plane: usize, z: usize| f64::from(block[(plane * lines + line) * nz + z]);
            self.look((at % nx, at / nx), &c);
        }
    }

    /// Searches a line with the stiffnesses `c(array, z)`.
    fn look(&mut self, (x, y): (usize, usize), c: &dyn Fn(usize, usize) -> f64) {
        let (ndim, low) = (self.padded.ndim(), self.padded.low);
        for (axis, side) in (0..ndim).flat_map(|axis| [(axis, 0), (axis, 1)]) {
            if self.frame.cells[axis][side] == 0 {
                continue;
            }
            for other in (0..ndim).filter(|&b| b != axis) {
                let mut last = [f64::NAN; 4];
                let grows = |&z: &usize| {
                    let stiff = places(ndim, axis, other).map(|k| c(k, z));
                    let known = stiff == last;
                    last = stiff;
                    !known && !cpml::holds(stiff[0], stiff[1], stiff[2], stiff[3])
                };
                if let Some(z) = self.face((x, y), axis, side).find(grows) {
                    let cell = [z + low[0], x + low[1], if ndim == 3 { y + low[2] } else { 0 }];
                    let place = [axis, side, other, y, x, z];
                    if self.first.is_none_or(|(before, _)| place < before) {
                        self.first = Some((place, (cell, [axis, other])));
                    }
                }
            }
        }
    }
}

impl Destination for Watch {
    fn block(&mut self, lines: usize) -> Result<&mut [f32], Error> {
        let len = lines * self.line();
        if self.block.len() < len {
            self.block.resize(len, 0.0);
        }
        Ok(&mut self.block[..len])
    }

    fn commit(&mut self, first_line: usize, lines: usize) -> Result<(), Error> {
        let block = std::mem::take(&mut self.block);
        self.see(&block, first_line, lines);
        self.block = block;
        Ok(())
    }
}
