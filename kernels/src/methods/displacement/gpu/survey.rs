//! Tables of sources and receivers for the device.

use super::arguments::Line;
use crate::device::simd::Real;
use crate::grid::Padded;
use crate::grid::stencil::{RADIUS, WEIGHTS};
use crate::methods::displacement::receivers::Receivers;
use crate::methods::displacement::sources::Sources;
use std::collections::BTreeMap;
use std::ops::Range;

/// For each axis of a triple, its axis in memory (0 z, 1 row, 2 plane).
fn axes(ndim: usize) -> &'static [usize] {
    if ndim == 3 { &[0, 1, 2] } else { &[0, 2] }
}

/// Tables for the kernel `inject`.
pub struct SourceTables<T> {
    /// Lines of cells that sources touch, sorted by plane and row.
    pub lines: Vec<Line>,
    /// Sources of all lines, line by line, in ascending order.
    pub list: Vec<i32>,
    /// First cell of every source, `[source][z, row, plane]`.
    pub places: Vec<i32>,
    /// Weights of the bells, `[source][z, row, plane][plain, derivative][length]`.
    pub weights: Vec<T>,
    /// Number of cells of a source along an axis.
    pub length: usize,
}

impl<T: Real> SourceTables<T> {
    /// Tables for the planes that a slab owns. With `derived` (stress sources) they include the derivatives of the
    /// bells, which are four cells wider on either side.
    pub fn new(p: &Padded, sources: &Sources<T>, own: &Range<usize>, derived: bool) -> Self {
        let halo = if derived { RADIUS } else { 0 };
        let longest = sources.bells().flat_map(|(_, w)| w.iter().map(Vec::len)).max();
        let length = longest.unwrap_or(1) + 2 * halo;
        let (mut places, mut weights) = (Vec::new(), Vec::new());
        let mut touched: BTreeMap<(usize, usize), (Range<usize>, Vec<i32>)> = BTreeMap::new();
        for (number, (first, bells)) in sources.bells().enumerate() {
            let (mut place, mut table) = ([0i32; 3], vec![T::of(0.0); 6 * length]);
            if p.ndim() == 2 {
                // The only row has unit weight.
                table[2 * length] = T::of(1.0);
            }
            let mut reach = [0..1, 0..1, 0..1];
            for (a, &axis) in axes(p.ndim()).iter().enumerate() {
                place[axis] = first[a] as i32 - halo as i32;
                let d = f64::from(p.d()[a]);
                let rows = table[2 * axis * length..2 * (axis + 1) * length].split_at_mut(length);
                fill(&bells[a], halo, d, rows);
                let end = (first[a] + bells[a].len() + halo).min(p.n[a]);
                reach[axis] = first[a].saturating_sub(halo)..end;
            }
            places.extend(place);
            weights.extend(table);
            for plane in reach[2].clone().filter(|plane| own.contains(plane)) {
                for row in reach[1].clone() {
                    let line = touched
                        .entry((plane, row))
                        .or_insert((reach[0].clone(), Vec::new()));
                    line.0 = line.0.start.min(reach[0].start)..line.0.end.max(reach[0].end);
                    line.1.push(number as i32);
                }
            }
        }
        let (mut lines, mut list) = (Vec::new(), Vec::new());
        for ((plane, row), (z, sources)) in touched {
            lines.push(Line {
                plane: plane as i32,
                row: row as i32,
                z_begin: z.start as i32,
                z_end: z.end as i32,
                first: list.len() as i32,
                count: sources.len() as i32,
            });
            list.extend(sources);
        }
        Self {
            lines,
            list,
            places,
            weights,
            length,
        }
    }

    /// The range of lines that lie in these planes.
    pub fn within(&self, planes: &Range<usize>) -> Range<usize> {
        let before = |plane: usize| self.lines.partition_point(|l| (l.plane as usize) < plane);
        before(planes.start)..before(planes.end)
    }
}

/// Writes the bell and its derivative, with the bell `halo` cells from the start of the rows.
fn fill<T: Real>(bell: &[T], halo: usize, d: f64, (plain, derivative): (&mut [T], &mut [T])) {
    plain[halo..halo + bell.len()].copy_from_slice(bell);
    if halo > 0 {
        let at = |i: usize| {
            i.checked_sub(halo)
                .and_then(|i| bell.get(i))
                .map_or(0.0, |w| w.f64())
        };
        for (i, out) in derivative.iter_mut().enumerate() {
            let pair = |m: usize| at(i + m) - i.checked_sub(m).map_or(0.0, at);
            let sum: f64 = (1..=RADIUS).rev().map(|m| WEIGHTS[m - 1] * pair(m)).sum();
            *out = T::of(sum / d);
        }
    }
}

/// Tables for the kernel `extract`.
pub struct ReceiverTables<T> {
    /// Numbers of the receivers whose lower cell lies on the slab.
    pub own: Vec<usize>,
    /// Lower cell of each receiver, `[receiver][z, row, plane]`.
    pub cells: Vec<i32>,
    /// Weight of the upper neighbour along each axis, in the same order.
    pub beyond: Vec<T>,
}

impl<T: Real> ReceiverTables<T> {
    /// Tables for the planes that a slab owns.
    pub fn new(p: &Padded, receivers: &Receivers<T>, own: &Range<usize>) -> Self {
        let mut tables = Self {
            own: Vec::new(),
            cells: Vec::new(),
            beyond: Vec::new(),
        };
        for (number, (cell, beyond)) in receivers.places().enumerate() {
            if own.contains(&cell[p.ndim() - 1]) {
                let (mut c, mut b) = ([0i32; 3], [T::of(0.0); 3]);
                for (a, &axis) in axes(p.ndim()).iter().enumerate() {
                    (c[axis], b[axis]) = (cell[a] as i32, beyond[a]);
                }
                tables.own.push(number);
                tables.cells.extend(c);
                tables.beyond.extend(b);
            }
        }
        tables
    }
}
