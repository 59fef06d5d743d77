//! Step 8 on processors: the one-way condition is applied to one face after the other, and then the sponge.

use super::FACE;
use super::frame_rows::{OneWayRow, SpongeRow};
use super::sweep::View;
use super::tiling::Tile;
use crate::boundary::free_surface::Surface;
use crate::boundary::one_way::Form;
use crate::device::simd::Real;
use crate::grid::PITCH;
use std::ops::Range;

impl<T: Real> View<'_, T> {
    /// Applies the one-way condition to the z faces and the row faces of a plane of a tile, and then the sponge,
    /// unless the plane belongs to a plane face, whose condition must come before its sponge.
    pub fn finish_rows(&self, tile: &Tile, plane: usize) {
        let Some(frame) = &self.setup.frame else { return };
        let p = &self.setup.padded;
        for row in tile.rows.clone() {
            self.z_faces(plane, row, &tile.z);
        }
        if p.ndim() == 3 {
            let first = self.setup.medium.planes().start;
            let (n, q) = (p.rows(), (p.model_plane(plane) - first) * p.pitch());
            let b = |side: usize| &frame.one_way.rows[side][q..q + p.pitch()];
            if tile.rows.start == 0 {
                (1..FACE - 1)
                    .rev()
                    .for_each(|r| self.one_way((plane, r), (plane, r + 1), b(0), &tile.z));
            }
            if tile.rows.end == n {
                (n + 1 - FACE..n - 1).for_each(|r| self.one_way((plane, r), (plane, r - 1), b(1), &tile.z));
            }
        }
        if plane >= FACE && plane + FACE < p.planes() {
            tile.rows
                .clone()
                .for_each(|row| self.sponge_row(plane, row, &tile.z));
        }
    }

    /// Applies the one-way condition, then the sponge, to the first and last planes of the grid if they are in this
    /// part.
    pub fn plane_faces(&self, planes: &Range<usize>) {
        let Some(frame) = &self.setup.frame else { return };
        let p = &self.setup.padded;
        let n = p.planes();
        let (low, high) = (planes.start == 0, planes.end == n);
        if !low && !high {
            return;
        }
        let faced = planes
            .clone()
            .filter(|&q| q < FACE || q + FACE >= n)
            .collect::<Vec<_>>();
        let whole = 0..p.pitch();
        self.setup.cpu.for_each(p.rows(), |_, row| {
            let b = |side: usize| &frame.one_way.planes[side][p.model_row(row) * p.pitch()..];
            if low {
                (1..FACE - 1)
                    .rev()
                    .for_each(|q| self.one_way((q, row), (q + 1, row), b(0), &whole));
            }
            if high {
                (n + 1 - FACE..n - 1).for_each(|q| self.one_way((q, row), (q - 1, row), b(1), &whole));
            }
            faced.iter().for_each(|&q| self.sponge_row(q, row, &whole));
        });
    }

    /// The one-way condition at the top (without a free surface) and the bottom of a row, if they are in the tile.
    fn z_faces(&self, plane: usize, row: usize, z: &Range<usize>) {
        let (s, n) = (self.setup, self.setup.padded.n[0]);
        let Some(frame) = &s.frame else { return };
        let top = z.start == 0 && s.surface == Surface::None;
        let bottom = z.contains(&(n - 1));
        if !top && !bottom {
            return;
        }
        let line = s.medium.row_start(plane, row) / s.padded.pitch();
        for component in 0..s.padded.ndim() {
            let (next, curr) = (
                self.next_row(component, plane, row),
                self.curr_row(component, plane, row),
            );
            let mut face = |i: usize, inner: usize, b: T| {
                let (u, v) = (curr[i].f64(), next[inner].f64());
                next[i] = T::of(match frame.one_way.form {
                    Form::Box => curr[inner].f64() + (u - v) * b.f64(),
                    Form::Upwind => 0.5 * ((u + v) + (u - v) * b.f64()),
                });
            };
            if top {
                (1..FACE - 1)
                    .rev()
                    .for_each(|i| face(i, i + 1, frame.one_way.z[0][line]));
            }
            if bottom {
                (n + 1 - FACE..n - 1).for_each(|i| face(i, i - 1, frame.one_way.z[1][line]));
            }
        }
    }

    /// The one-way condition between a row and the adjacent row towards the interior, for all components.
    fn one_way(&self, at: (usize, usize), inner: (usize, usize), b: &[T], z: &Range<usize>) {
        let form = self.setup.frame.as_ref().map_or(Form::Box, |f| f.one_way.form);
        for component in 0..self.setup.padded.ndim() {
            let job = OneWayRow {
                next: self.next_row(component, at.0, at.1)[z.clone()].as_mut_ptr(),
                next_in: self.next_row(component, inner.0, inner.1)[z.clone()].as_ptr(),
                curr: self.curr_row(component, at.0, at.1)[z.clone()].as_ptr(),
                curr_in: self.curr_row(component, inner.0, inner.1)[z.clone()].as_ptr(),
                form,
                b: b[z.clone()].as_ptr(),
                len: z.len(),
            };
            self.setup.cpu.arch().dispatch(job);
        }
    }

    /// The sponge on cells `z` of a row of the next time level.
    fn sponge_row(&self, plane: usize, row: usize, z: &Range<usize>) {
        let Some(frame) = &self.setup.frame else { return };
        let sponge = frame.sponge[1][row] * frame.sponge[2][plane];
        let (n, nb) = (self.setup.padded.n[0], self.setup.padded.nb);
        // If the weights of the other axes are one, only the ends of the row are damped.
        let (top, bottom) = match sponge == T::of(1.0) {
            true => (nb.next_multiple_of(PITCH), (n - nb) / PITCH * PITCH),
            false => (z.end, z.end),
        };
        let first = z.start..top.clamp(z.start, z.end);
        let last = bottom.max(first.end).min(z.end)..z.end;
        let rows: [_; 3] = std::array::from_fn(|component| match component < self.setup.padded.ndim() {
            true => self.next_row(component, plane, row)[..z.end].as_mut_ptr(),
            false => std::ptr::null_mut(),
        });
        self.setup.cpu.arch().dispatch(SpongeRow {
            rows: &rows[..self.setup.padded.ndim()],
            sponge_z: frame.sponge[0][..z.end].as_ptr(),
            sponge,
            parts: [first, last],
        });
    }
}
