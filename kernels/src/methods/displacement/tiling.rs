//! The division of a slab into tiles according to each thread's share of the caches: a sweep along the planes of a
//! tile keeps the displacement and the stress that it needs again in the second-level cache.

use super::FACE;
use super::rows::{RP, STRESSES};
use crate::device::caches::{self, Caches};
use crate::device::cpu::{self, Cpu};
use crate::device::simd::AHEAD;
use crate::grid::stencil::RADIUS;
use crate::grid::{PITCH, Padded};
use std::ops::Range;

/// Size in bytes from which the second-level cache holds the data that a sweep needs again.
const LARGE: usize = 1 << 20;
/// Bytes of ring and displacement that a tile may touch in that case (measurements are in `benches/RESULTS.md`).
const TILE_BYTES: usize = 25 << 16;
/// Number of rows of the narrowest tile: its halo should not have more rows than the tile itself.
const NARROWEST: usize = 12;
/// Number of rows of the widest tile if no tile fits: its halo is then relatively small.
const WIDEST: usize = 56;
/// Largest number of planes that a sweep computes together.
pub(super) const TOGETHER: usize = 2;

/// Number of planes of the ring for each stress if planes are swept one by one. Stresses differentiated along planes
/// are needed four planes to either side; the others are needed from the plane of the stress to the plane of the
/// update.
const SLOTS: [usize; STRESSES] = [
    2 * RADIUS + 1,
    2 * RADIUS + 1,
    RADIUS + 1,
    2 * RADIUS + 1,
    RADIUS + 1,
    RADIUS + 1,
];

/// A part of a slab that one thread sweeps; both ends of `z` are multiples of [`PITCH`].
pub(super) struct Tile {
    pub rows: Range<usize>,
    pub z: Range<usize>,
    pub planes: Range<usize>,
}

/// The division of rows and `z` into tiles, and the parameters of a sweep.
pub(super) struct Tiling {
    ndim: usize,
    rows: Vec<Range<usize>>,
    z: Vec<Range<usize>>,
    /// Number of planes that a sweep computes together, row after row, so that data they share are loaded only once
    /// into the second-level cache.
    pub together: usize,
    /// Prefetch distance in cells; 0 for none.
    pub ahead: usize,
}

/// Number of tiles along rows (`columns`) and `z` (`cuts`), planes swept together, and distance of prefetching.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Choice {
    columns: usize,
    cuts: usize,
    together: usize,
    ahead: usize,
}

impl Tiling {
    /// The tiling for numbers of `bytes` bytes that suits the caches, or with the tile that the user has set.
    pub fn new(p: &Padded, bytes: usize, cpu: &Cpu) -> Self {
        let mut choice = Choice::new(p, bytes, cpu.caches(), cpu.threads());
        if let Some(tile) = cpu.tile() {
            choice = choice.with_tile(p, tile);
        }
        let cut = |n: usize, count: usize, unit: usize| -> Vec<Range<usize>> {
            (0..count)
                .map(|k| n * k / count * unit..n * (k + 1) / count * unit)
                .collect()
        };
        Self {
            ndim: p.ndim(),
            rows: cut(p.rows(), choice.columns, 1),
            z: cut(p.pitch() / PITCH, choice.cuts, PITCH),
            together: choice.together,
            ahead: choice.ahead,
        }
    }

    /// Numbers of cells along `z`, rows and planes of the largest tile.
    pub fn size(&self) -> [usize; 3] {
        let longest = |v: &[Range<usize>]| v.iter().map(Range::len).max().unwrap_or(0);
        [longest(&self.z), longest(&self.rows), self.together]
    }

    /// Rows and `z` range of every tile.
    pub fn columns(&self) -> Vec<(Range<usize>, Range<usize>)> {
        self.rows
            .iter()
            .flat_map(|r| self.z.iter().map(|z| (r.clone(), z.clone())))
            .collect()
    }

    /// Length, in numbers, of a ring that is large enough for every tile.
    pub fn ring_len(&self) -> usize {
        let [cells, rows, _] = self.size();
        let halo = if self.ndim == 3 { RADIUS } else { 0 };
        let pitch = cells + 2 * PITCH;
        (0..STRESSES)
            .map(|k| self.slots(k) * (rows + if k < RP { 0 } else { 2 * halo }) * pitch)
            .sum::<usize>()
            + 2 * PITCH
    }

    /// Number of planes of the ring for a stress.
    fn slots(&self, stress: usize) -> usize {
        SLOTS[stress] + self.together - 1
    }

    /// The ring of a tile in this memory.
    pub fn ring<'a, T>(&self, tile: &Tile, data: &'a mut [T]) -> Ring<'a, T> {
        let halo = if self.ndim == 3 { RADIUS } else { 0 };
        let pitch = tile.z.len() + 2 * PITCH;
        let mut ring = Ring {
            data,
            start: [0; STRESSES],
            first_row: [0; STRESSES],
            plane_len: [0; STRESSES],
            slots: std::array::from_fn(|k| self.slots(k)),
            pitch,
            first_z: tile.z.start as isize - PITCH as isize,
        };
        let mut start = PITCH;
        for k in 0..STRESSES {
            let halo = if k < RP { 0 } else { halo };
            ring.start[k] = start;
            ring.first_row[k] = tile.rows.start as isize - halo as isize;
            ring.plane_len[k] = (tile.rows.len() + 2 * halo) * pitch;
            start += self.slots(k) * ring.plane_len[k];
        }
        ring
    }
}

/// Description of the tiles for logs, such as `tiles of 304 cells along z and 36 rows, 4 planes together`.
pub(super) fn words(tiling: &Tiling, cpu: &Cpu) -> String {
    let [cells, rows, together] = tiling.size();
    let rows = match tiling.ndim {
        3 => format!(" and {rows} rows"),
        _ => String::new(),
    };
    let planes = match together {
        1 => "one plane after the other".to_string(),
        n => format!("{n} planes together"),
    };
    format!(
        "tiles of {cells} cells along z{rows}, {planes}; {}",
        caches::reason(cpu)
    )
}

impl Choice {
    /// The choice that suits the share of the caches that each of `threads` threads has. If the second-level cache is
    /// small, a 3-D grid is swept in wide tiles that fit in the third-level cache, because any tile that fits in the
    /// second-level cache would have more halo than cells; data are then prefetched. In 2-D, two planes swept together
    /// share most of their data in the first-level cache.
    fn new(p: &Padded, bytes: usize, caches: &Caches, threads: usize) -> Self {
        let second = caches.share(2, threads).unwrap_or(LARGE);
        match (second >= LARGE, p.ndim()) {
            (true, 3) => Self::fitting(p, bytes, (TILE_BYTES, 1)),
            (false, 3) => {
                let third = caches.share(3, threads).unwrap_or(4 * LARGE);
                Self::wide(p, bytes, third, threads)
            }
            (true, _) => Self::fitting(p, bytes, (TILE_BYTES, TOGETHER)),
            (false, _) => Self {
                ahead: AHEAD,
                ..Self::fitting(p, bytes, (second / 4 * 3, TOGETHER))
            },
        }
    }

    /// Tiles that access at most `room` bytes. Long rows are faster, so that `z` is divided only if a dozen whole rows
    /// do not fit.
    fn fitting(p: &Padded, bytes: usize, (room, together): (usize, usize)) -> Self {
        let (rows, units) = (p.rows(), p.pitch() / PITCH);
        let fits = |width: usize, cuts: usize| touched(p, bytes, width, (cuts, together)) <= room;
        let narrowest = NARROWEST.min(rows);
        let cuts = (1..=(units / 2).max(1))
            .find(|&c| fits(narrowest, c))
            .unwrap_or((units / 2).max(1));
        let width = (narrowest..=rows)
            .rev()
            .find(|&w| fits(w, cuts))
            .unwrap_or(narrowest);
        let columns = (rows / width).max(1).min((rows / NARROWEST).max(1));
        let columns = if rows.div_ceil(columns) > width {
            (columns + 1).min((rows / FACE).max(1))
        } else {
            columns
        };
        Self {
            columns,
            cuts,
            together,
            ahead: 0,
        }
    }

    /// Tiles of whole rows whose planes fit in half of the third-level cache.
    fn wide(p: &Padded, bytes: usize, third: usize, threads: usize) -> Self {
        let rows = p.rows();
        let narrowest = NARROWEST.min(rows);
        let width = (narrowest..=WIDEST.min(rows).max(narrowest))
            .rev()
            .find(|&w| touched(p, bytes, w, (1, 1)) <= third / 2)
            .unwrap_or(narrowest);
        // A multiple of the number of threads avoids idle threads at the end.
        let columns = rows.div_ceil(width).next_multiple_of(threads.max(1));
        Self {
            columns: columns.min((rows / NARROWEST).max(1)),
            cuts: 1,
            together: 1,
            ahead: AHEAD,
        }
    }

    /// The same choice with tiles of the size that the user has set, unless they would divide the faces of the frame.
    fn with_tile(self, p: &Padded, tile: cpu::Tile) -> Self {
        let pieces = |whole: usize, piece: usize, most: usize| match piece {
            0 => 1,
            n => whole.div_ceil(n).min(most).max(1),
        };
        let units = p.pitch() / PITCH;
        Self {
            columns: pieces(p.rows(), tile.rows, p.rows() / FACE),
            cuts: pieces(units, tile.cells.div_ceil(PITCH), units / 2),
            ..self
        }
    }
}

/// Number of cells along `z` that a tile computes, including its halo.
fn cells(p: &Padded, cuts: usize) -> usize {
    (p.pitch() / PITCH).div_ceil(cuts) * PITCH + if cuts > 1 { 2 * PITCH } else { 0 }
}

/// Bytes of ring and displacement that a tile of `width` rows touches.
fn touched(p: &Padded, bytes: usize, width: usize, (cuts, together): (usize, usize)) -> usize {
    let slots = |stresses: &[usize]| stresses.iter().sum::<usize>() + stresses.len() * (together - 1);
    let (core, wide) = (slots(&SLOTS[..RP]), slots(&SLOTS[RP..]));
    let fields = p.ndim() * (2 * RADIUS + together);
    let spread = if width < p.rows() {
        width + 2 * RADIUS
    } else {
        width
    };
    let across = match p.ndim() {
        3 => core * width + (wide + fields) * spread,
        _ => core + fields,
    };
    across * cells(p, cuts) * bytes
}

/// The ring buffer of stress planes of a tile, `[slot][row][z]` for each stress, with [`PITCH`] cells of halo at
/// either end of `z`.
pub(super) struct Ring<'a, T> {
    data: &'a mut [T],
    start: [usize; STRESSES],
    first_row: [isize; STRESSES],
    plane_len: [usize; STRESSES],
    slots: [usize; STRESSES],
    /// Distance between rows in memory, in numbers.
    pub pitch: usize,
    first_z: isize,
}

impl<T> Ring<'_, T> {
    fn at(&self, stress: usize, plane: usize, row: usize, z: usize) -> usize {
        let row = (row as isize - self.first_row[stress]) as usize;
        let z = (z as isize - self.first_z) as usize;
        self.start[stress] + plane % self.slots[stress] * self.plane_len[stress] + row * self.pitch + z
    }

    /// Cells of a row that the ring holds.
    pub fn cells(&mut self, stress: usize, plane: usize, row: usize, z: Range<usize>) -> &mut [T] {
        let at = self.at(stress, plane, row, z.start);
        &mut self.data[at..at + z.len()]
    }

    /// Consecutive rows of a plane that the ring holds, from the first of the cells `z` of the first row to the last
    /// of the last row.
    pub fn rows(&mut self, stress: usize, plane: usize, rows: &Range<usize>, z: &Range<usize>) -> &mut [T] {
        let at = self.at(stress, plane, rows.start, z.start);
        let len = match rows.len() {
            0 => 0,
            rows => (rows - 1) * self.pitch + z.len(),
        };
        &mut self.data[at..at + len]
    }

    /// Pointer to the position of cell 0 of row 0 of a plane, even if the ring does not hold that cell.
    pub fn origin(&mut self, stress: usize, plane: usize) -> *mut T {
        let [origin] = self.origins(stress, plane);
        origin
    }

    /// [`Ring::origin`] of `N` consecutive planes from `first` on.
    pub fn origins<const N: usize>(&mut self, stress: usize, first: usize) -> [*mut T; N] {
        let back = self.first_row[stress] * self.pitch as isize + self.first_z;
        let slots = self.slots[stress];
        let mut slot = first % slots;
        std::array::from_fn(|_| {
            let start = self.start[stress] + slot * self.plane_len[stress];
            slot = if slot + 1 == slots { 0 } else { slot + 1 };
            self.data.as_mut_ptr().wrapping_offset(start as isize - back)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Grid;

    fn volume(n: [usize; 3], nb: usize) -> Padded {
        Padded::new(&Grid::new_3d(n, [0.0; 3], [1.0; 3]), nb)
    }

    /// Numbers of cells along `z`, rows, and planes swept together, for a second-level cache of `kib` KiB.
    fn choice(p: &Padded, kib: usize, threads: usize) -> [usize; 3] {
        let caches = Caches::given(kib << 10);
        let Choice {
            columns,
            cuts,
            together,
            ..
        } = Choice::new(p, 4, &caches, threads);
        [
            p.pitch() / PITCH * PITCH / cuts,
            p.rows().div_ceil(columns),
            together,
        ]
    }

    /// For second-level caches of 1 MiB and more, the tiles measured with 2 MiB are used; for smaller ones, wide tiles.
    #[test]
    fn tiles_of_a_volume_by_the_second_level() {
        let p = volume([200; 3], 48);
        for kib in [1024, 1280, 2048, 8192] {
            assert_eq!(choice(&p, kib, 1), [304, 14, 1], "{kib}");
            assert_eq!(choice(&p, kib, 16), [304, 14, 1], "{kib}");
        }
        for kib in [256, 512] {
            let [cells, rows, together] = choice(&p, kib, 1);
            assert_eq!((cells, together), (304, 1), "{kib}");
            assert!((NARROWEST..=WIDEST).contains(&rows), "{rows}");
        }
        // Every thread receives the same number of columns, and data are prefetched.
        let caches = Caches::given(512 << 10);
        let two = Choice::new(&p, 4, &caches, 2);
        assert_eq!((two.columns % 2, two.ahead), (0, AHEAD));
        // Long rows stay undivided if the second-level cache is small.
        let tall = volume([1500, 100, 100], 24);
        assert_eq!(choice(&tall, 512, 1)[0], 1552);
        assert!(choice(&tall, 2048, 1)[0] < 1552);
    }

    /// Wide tiles use at most half of the third-level cache, and as many rows as that allows.
    #[test]
    fn wide_tiles_leave_half_of_the_third_level() {
        let p = volume([200; 3], 48);
        for width in [16, 30, 48] {
            let third = 2 * touched(&p, 4, width, (1, 1));
            let columns = |third: usize| Choice::wide(&p, 4, third, 1).columns;
            assert_eq!(columns(third), p.rows().div_ceil(width), "{width}");
            assert_eq!(columns(third - 2), p.rows().div_ceil(width - 1), "{width}");
        }
        // With more threads than columns of the narrowest tiles, the tiles do not become narrower.
        let columns = Choice::wide(&p, 4, 4 * LARGE, 1000).columns;
        assert_eq!(columns, p.rows() / NARROWEST);
    }

    #[test]
    fn tiles_of_a_plane_by_the_second_level() {
        let plane = |n: usize| Padded::new(&Grid::new_2d([n; 2], [0.0; 2], [1.0; 2]), 48);
        for kib in [512, 1024, 2048] {
            assert_eq!(choice(&plane(1000), kib, 1), [1104, 1, 2], "{kib}");
        }
        assert_eq!(choice(&plane(4000), 2048, 1), [4096, 1, 2]);
        assert_eq!(choice(&plane(4000), 512, 1), [2048, 1, 2]);
        assert!(choice(&plane(4000), 256, 1)[0] < 2048);
    }

    #[test]
    fn a_user_may_ask_for_any_tile() {
        let p = volume([37, 21, 9], 4);
        let most = Choice {
            columns: p.rows() / FACE,
            cuts: 1,
            together: 1,
            ahead: 0,
        };
        for (cells, rows, columns, cuts) in [
            (0, 0, 1, 1),
            (1, 1, most.columns, 1),
            (16, 15, 2, 1),
            (999, 999, 1, 1),
        ] {
            let with_tile = most.with_tile(&p, cpu::Tile { cells, rows });
            assert_eq!(
                (with_tile.columns, with_tile.cuts),
                (columns, cuts),
                "{cells} {rows}"
            );
        }
        let ring = |cells: usize| {
            let cpu = Cpu::new(1).unwrap().with_tile(Some(cpu::Tile { cells, rows: 0 }));
            Tiling::new(&volume([300, 21, 9], 4), 4, &cpu).ring_len()
        };
        assert!(ring(64) < ring(0));
    }
}
