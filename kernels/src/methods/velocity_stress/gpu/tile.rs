//! The division of boxes of cells into thread blocks.

/// Number of threads whose cells along z fill a cache line of 128 bytes.
pub const CHUNK: usize = 8;

/// The thread blocks of the two stages. A block has threads along z, on some rows and planes, each of which updates 16
/// bytes of cells along z; in rows and planes of layers a block is a plain run of threads over the cells of the boxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Number of threads along z, a multiple of [`CHUNK`].
    pub z: usize,
    /// Number of rows of a block.
    pub rows: usize,
    /// Number of planes of a block.
    pub deep: usize,
    /// Number of rows of a strip: the data that neighbouring planes of a strip read should stay in the second-level
    /// cache.
    pub strip: usize,
    /// Number of blocks that should be resident on a multiprocessor at once, for velocity and for stress.
    pub blocks: [usize; 2],
    /// Whether to prefetch values that are needed late.
    pub ahead: bool,
    /// Number of threads of a block in layers.
    pub frame_threads: usize,
    /// Number of blocks in layers that should be resident on a multiprocessor at once.
    pub frame_blocks: usize,
}

impl Tile {
    /// Number of threads of a block outside layers.
    pub fn threads(&self) -> usize {
        self.z * self.rows * self.deep
    }

    /// The tile for a run, by the measurements in `benches/RESULTS-STAGGERED.md`.
    pub fn choose(ndim: usize, half: usize, mechanisms: usize, double: bool) -> Self {
        let wide = half == 4 || double || mechanisms > 1;
        let blocks = match (wide, mechanisms) {
            (true, _) => [2, 2],
            (_, 0) => [4, 3],
            _ => [4, 2],
        };
        let frame_blocks = if wide { 3 } else { 4 };
        let (z, frame_threads) = (32, 128);
        match ndim {
            3 => Self {
                z,
                rows: 4,
                deep: 2,
                strip: 128,
                blocks,
                ahead: true,
                frame_threads,
                frame_blocks,
            },
            _ => Self {
                z,
                rows: 1,
                deep: 4,
                strip: 1,
                blocks: blocks.map(|n| 2 * n),
                ahead: true,
                frame_threads,
                frame_blocks,
            },
        }
    }
}
