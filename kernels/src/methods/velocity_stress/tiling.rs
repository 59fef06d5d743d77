//! Cuts planes into tiles that fit the caches of a thread: a stage reads rows of several planes and of several
//! neighbours, which should still be in the second-level cache when the next row or plane needs them.

use super::Simulation;
use crate::device::caches;
use crate::device::cpu::Cpu;
use crate::device::simd::{AHEAD, Real};
use crate::grid::{PITCH, Padded};
use std::ops::Range;

/// Bytes that the planes in use by a tile may occupy where the second-level cache has 1 MiB or more.
const TILE_BYTES: usize = 1 << 20;

/// Number of rows of the narrowest tile, which should not be fewer than the rows that are read on its sides.
const NARROWEST: usize = 8;

/// Number of cells along `z` of the shortest tile: the hardware prefetcher is inefficient on short rows.
const SHORTEST: usize = 256;

/// A piece of a slab that one thread sweeps; both ends of `z` are multiples of [`PITCH`].
pub(super) struct Tile {
    pub rows: Range<usize>,
    pub z: Range<usize>,
    pub planes: Range<usize>,
}

/// The number of columns of rows and of cuts along `z` that make the tiles of a plane, and the prefetch distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tiling {
    pub columns: usize,
    pub cuts: usize,
    /// Prefetch distance in cells, 0 where the second-level cache is large.
    pub ahead: usize,
}

impl Tiling {
    /// Number of rows (of fields, medium and neighbours) that a stage has in use for each computed row, with derivatives
    /// of `half` weights.
    pub const fn in_use(half: usize) -> usize {
        6 * half + 15
    }

    /// The tiling of `rows` computed rows by a sweep that has `in_use` rows (fields, medium and neighbours) in use
    /// for each and numbers of `bytes` bytes: the tile that the user has set, or else one that suits the caches.
    pub fn new(p: &Padded, rows: usize, (in_use, bytes): (usize, usize), cpu: &Cpu) -> Self {
        let cache = cpu.caches().share(2, cpu.threads()).unwrap_or(TILE_BYTES);
        let chosen = Self::fitting(p, rows, (in_use, bytes), cache);
        let Some(tile) = cpu.tile() else { return chosen };
        let count = |whole: usize, piece: usize| match piece {
            0 => 1,
            _ => whole.div_ceil(piece),
        };
        Self {
            columns: count(rows, tile.rows),
            cuts: count(p.pitch() / PITCH, tile.cells.div_ceil(PITCH)),
            ..chosen
        }
    }

    /// The tiling that fits a second-level cache of `cache` bytes. Long rows are faster, so `z` is cut only where
    /// eight whole rows do not fit.
    fn fitting(p: &Padded, rows: usize, (in_use, bytes): (usize, usize), cache: usize) -> Self {
        let row = in_use * p.pitch() * bytes;
        let small = cache < TILE_BYTES;
        let room = if small { cache / 4 * 3 } else { TILE_BYTES };
        let least = NARROWEST.min(rows.max(1));
        let cuts = match small {
            true => (least * row).div_ceil(room).min((p.pitch() / SHORTEST).max(1)),
            false => 1,
        };
        let most = (room * cuts / row).max(NARROWEST);
        Self {
            columns: rows.div_ceil(most).max(1),
            cuts,
            ahead: if small { AHEAD } else { 0 },
        }
    }

    /// All tiles of these rows and planes, with the planes in `chunks` pieces.
    pub fn tiles(self, p: &Padded, rows: &Range<usize>, planes: &Range<usize>, chunks: usize) -> Vec<Tile> {
        let cut =
            |r: &Range<usize>, k: usize, n: usize| r.start + r.len() * k / n..r.start + r.len() * (k + 1) / n;
        let units = 0..p.pitch() / PITCH;
        let mut tiles = Vec::with_capacity(chunks * self.columns * self.cuts);
        for chunk in 0..chunks {
            for column in 0..self.columns {
                for piece in 0..self.cuts {
                    let z = cut(&units, piece, self.cuts);
                    tiles.push(Tile {
                        rows: cut(rows, column, self.columns),
                        z: z.start * PITCH..z.end * PITCH,
                        planes: cut(planes, chunk, chunks),
                    });
                }
            }
        }
        tiles
    }
}

impl<T: Real + Default + bytemuck::Pod> Simulation<T> {
    /// Describes in words the tiles in which threads work, and the reason for their size.
    pub fn tiles(&self) -> String {
        let (p, cpu) = (&self.setup.padded, &self.setup.cpu);
        let all = super::cpu::rows(p);
        let Tiling { columns, cuts, .. } = Tiling::new(
            p,
            all.len(),
            (Tiling::in_use(self.setup.half), size_of::<T>()),
            cpu,
        );
        let rows = match p.ndim() {
            3 => format!(" and {} rows", all.len().div_ceil(columns)),
            _ => String::new(),
        };
        let cells = (p.pitch() / PITCH).div_ceil(cuts) * PITCH;
        format!("tiles of {cells} cells along z{rows}; {}", caches::reason(cpu))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::caches::Caches;
    use crate::device::cpu;
    use crate::grid::Grid;

    fn choice(p: &Padded, half: usize, second: usize) -> (usize, usize) {
        let cpu = Cpu::new(1).unwrap().with_caches(Caches::given(second << 10));
        let rows = if p.ndim() == 3 { p.rows() - 8 } else { 1 };
        let Tiling { columns, cuts, .. } = Tiling::new(p, rows, (Tiling::in_use(half), 4), &cpu);
        (rows.div_ceil(columns), p.pitch().div_ceil(cuts))
    }

    #[test]
    fn memory_is_prefetched_where_the_second_level_is_small() {
        let p = Padded::new(&Grid::new_3d([200; 3], [0.0; 3], [1.0; 3]), 10);
        for (kib, ahead) in [(256, AHEAD), (512, AHEAD), (1024, 0), (2048, 0)] {
            let cpu = Cpu::new(1).unwrap().with_caches(Caches::given(kib << 10));
            assert_eq!(
                Tiling::new(&p, 200, (Tiling::in_use(2), 4), &cpu).ahead,
                ahead,
                "{kib}"
            );
        }
    }

    #[test]
    fn rows_and_cells_of_a_tile_by_the_second_level() {
        let p = Padded::new(&Grid::new_3d([200; 3], [0.0; 3], [1.0; 3]), 10);
        let of = |half| [256, 512, 1024, 2048, 8192].map(|kib| choice(&p, half, kib));
        assert_eq!(of(2), [(8, 224), (16, 224), (43, 224), (43, 224), (43, 224)]);
        assert_eq!(of(4), [(8, 224), (11, 224), (27, 224), (27, 224), (27, 224)]);
        let tall = Padded::new(&Grid::new_3d([2000, 50, 50], [0.0; 3], [1.0; 3]), 10);
        assert_eq!(
            [256, 512, 2048].map(|kib| choice(&tall, 2, kib)),
            [(8, 291), (8, 407), (8, 2032)]
        );
        // Where z is cut in two, a tile has room for twice as many rows.
        let middle = Padded::new(&Grid::new_3d([488, 50, 50], [0.0; 3], [1.0; 3]), 10);
        assert_eq!((middle.pitch(), choice(&middle, 2, 512)), (512, (13, 256)));
        let flat = Padded::new(&Grid::new_2d([4000, 100], [0.0; 2], [1.0; 2]), 10);
        assert_eq!(
            [256, 512, 2048].map(|kib| choice(&flat, 2, kib)),
            [(1, 1344), (1, 2016), (1, 4032)]
        );
    }

    #[test]
    fn every_cell_lies_in_one_tile_whatever_is_requested() {
        let p = Padded::new(&Grid::new_3d([37, 11, 9], [0.0; 3], [1.0; 3]), 4);
        for (cells, rows) in [(0, 0), (1, 1), (16, 3), (40, 7), (9999, 9999)] {
            let cpu = Cpu::new(1).unwrap().with_tile(Some(cpu::Tile { cells, rows }));
            let tiles = Tiling::new(&p, 11, (Tiling::in_use(2), 4), &cpu).tiles(&p, &(4..15), &(4..13), 2);
            let mut seen = vec![0; 9 * 11 * p.pitch()];
            for tile in &tiles {
                for (plane, row) in tile
                    .planes
                    .clone()
                    .flat_map(|q| tile.rows.clone().map(move |r| (q, r)))
                {
                    let at = ((plane - 4) * 11 + row - 4) * p.pitch();
                    tile.z.clone().for_each(|z| seen[at + z] += 1);
                }
            }
            assert!(seen.iter().all(|&n| n == 1), "{cells} {rows}");
        }
    }
}
