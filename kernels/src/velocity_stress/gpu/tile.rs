//! How boxes of cells are cut into blocks of threads.

/// The blocks of the two stages. Inside the frame a block has a tile of `z` x `rows` x `planes` threads, each with 16
/// bytes of cells along z; in the frame its threads walk along the boxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Threads along z.
    pub z: usize,
    /// Rows (2-D: 1).
    pub rows: usize,
    /// Planes.
    pub planes: usize,
    /// Tiles of rows of a strip: what neighbouring planes of it read should stay in the second-level cache.
    pub strip: usize,
    /// Blocks that one multiprocessor should hold at once, of velocity and stress.
    pub blocks: [usize; 2],
    /// Numbers that a stage reads once do not stay in the caches.
    pub stream: bool,
    /// Threads of a block in the frame.
    pub frame_threads: usize,
    /// Blocks in the frame that one multiprocessor should hold at once.
    pub frame_blocks: usize,
}

impl Tile {
    /// Threads of a block inside the frame.
    pub fn threads(&self) -> usize {
        self.z * self.rows * self.planes
    }

    /// The tile for a run (figures in `benches/RESULTS-GPU.md`).
    pub fn choose(ndim: usize, half: usize, mechanisms: usize, double: bool) -> Self {
        let wide = half == 4 || double || mechanisms > 1;
        Self {
            z: if ndim == 3 { 16 } else { 32 },
            rows: if ndim == 3 { 4 } else { 1 },
            planes: 4,
            strip: 16,
            blocks: if wide { [2, 2] } else { [3, 2] },
            stream: true,
            frame_threads: 128,
            frame_blocks: if wide { 3 } else { 4 },
        }
    }
}
