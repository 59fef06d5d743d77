//! The absorbing frame of a slab on a device: its boxes, factors and memory variables.

use super::arguments::{BoxArgs, FrameArgs, Layer, MOST_BOXES, int};
use super::tile::{CHUNK, Tile};
use crate::Error;
use crate::device::accelerator::{Accelerator, Memory, send};
use crate::device::simd::Real;
use crate::grid::Padded;
use crate::methods::velocity_stress::absorbing_frame::Edges;
use crate::methods::velocity_stress::cpu::rows;
use crate::methods::velocity_stress::layout::RIM;
use crate::methods::velocity_stress::medium::live;
use crate::methods::velocity_stress::rows::NONE;
use crate::parallel::slabs::Slab as Layout;
use std::ops::Range;

/// Largest number of cells per thread: along z, the bounds of the frame are multiples of it.
const VECTOR: usize = 4;

/// Bounds of the computed cells along z. For rows and planes, the two inner bounds of the frame lie between them.
#[derive(Clone, Debug)]
pub struct Bounds {
    z: Range<usize>,
    rows: [usize; 4],
    planes: [usize; 4],
    along_z: bool,
}

/// A box of cells.
pub type Cells = [Range<usize>; 3];

impl Bounds {
    /// The bounds of a grid. The sponge does not count as frame here: its cells are computed like all others.
    pub fn new<T: Real>(p: &Padded, edges: &Edges<T>) -> Self {
        let [low, high] = edges.z_by(VECTOR);
        let inside = |axis: usize, all: Range<usize>| {
            let sponge = edges.weights().is_some();
            let plain = |&k: &usize| sponge || edges.lines(axis)[k] == NONE;
            let first = all.clone().find(plain).unwrap_or(all.end);
            let last = all.clone().rev().find(plain).map_or(first, |k| k + 1);
            [all.start, first, last, all.end]
        };
        Self {
            z: RIM..p.n[0] - RIM,
            along_z: low > 0 || high < p.pitch(),
            rows: inside(1, rows(p)),
            planes: inside(2, live(p.planes())),
        }
    }

    /// The boxes of some planes: the interior, whose rows lie outside the frame except at their ends, and the boxes of
    /// the frame.
    pub fn boxes(&self, planes: &Range<usize>) -> (Option<Cells>, Vec<Cells>) {
        let within = |from: usize, to: usize| planes.start.max(from)..planes.end.min(to);
        let [p0, p1, p2, p3] = self.planes;
        let [r0, r1, r2, r3] = self.rows;
        let (z, middle) = (self.z.clone(), within(p1, p2));
        let mut frame = vec![
            [z.clone(), r0..r3, within(p0, p1)],
            [z.clone(), r0..r3, within(p2, p3)],
            [z.clone(), r0..r1, middle.clone()],
            [z.clone(), r2..r3, middle.clone()],
        ];
        let full = |cells: &Cells| cells.iter().all(|r| !r.is_empty());
        frame.retain(full);
        let inside = [z, r1..r2, middle];
        (full(&inside).then_some(inside), frame)
    }

    /// Whether some cells along z lie in the frame of that axis.
    pub fn along_z(&self) -> bool {
        self.along_z
    }

    /// The first cell along z of the rim at the high end.
    pub fn z_end(&self) -> usize {
        self.z.end
    }
}

/// Divides the interior box into strips; also returns the number of thread blocks.
pub fn stripped(cells: &Cells, tile: &Tile, vec: usize) -> (BoxArgs, usize) {
    let mut args = args(cells, vec);
    let [_, rows, planes] = cells;
    let (chunks, tiles) = (
        (args.vectors as usize).div_ceil(CHUNK),
        rows.len().div_ceil(tile.rows),
    );
    let strips = tiles.div_ceil((tile.strip / tile.rows).max(1));
    let along = tiles.div_ceil(strips);
    let across = (along * chunks).div_ceil(tile.z / CHUNK);
    let deep = planes.len().div_ceil(tile.deep);
    (args.chunks, args.along, args.across, args.deep) = (int(chunks), int(along), int(across), int(deep));
    (args, across * deep * strips)
}

/// The boxes of the frame in one launch, and the number of its blocks of `threads` threads.
pub fn walked(boxes: &[Cells], threads: usize, vec: usize) -> ([BoxArgs; MOST_BOXES], usize) {
    let mut all = [BoxArgs::default(); MOST_BOXES];
    let mut blocks = 0;
    for (to, cells) in all.iter_mut().zip(boxes) {
        *to = args(cells, vec);
        to.begin = int(blocks);
        blocks += (to.vectors as usize * cells[1].len() * cells[2].len()).div_ceil(threads);
    }
    (all, blocks)
}

fn args([z, rows, planes]: &Cells, vec: usize) -> BoxArgs {
    BoxArgs {
        z: int(z.start),
        row: int(rows.start),
        plane: int(planes.start),
        vectors: int(z.len().div_ceil(vec)),
        rows: int(rows.len()),
        planes: int(planes.len()),
        ..BoxArgs::default()
    }
}

pub struct FrameMemory<A: Accelerator> {
    /// Kernel arguments of both stages.
    args: [FrameArgs; 2],
    /// Along z the frame ends before the first number and begins again at the second.
    z: [usize; 2],
    tables: Vec<A::Memory>,
    layers: Vec<A::Memory>,
}

/// Sizes of the memory variables of a slab.
pub struct Sizes {
    /// Along z the frame ends before the first number and begins again at the second.
    z: [usize; 2],
    /// Number of cells along z that have memory variables.
    width: usize,
    framed_rows: usize,
    /// The index, among the planes of the frame, of the slab's first plane that lies in the frame.
    first_plane: usize,
    /// Memory variables per component, by axis.
    component: [usize; 3],
}

impl Sizes {
    /// Sizes for the planes that a slab owns.
    pub fn new<T: Real>(p: &Padded, edges: &Edges<T>, own: &Range<usize>) -> Self {
        let z = edges.z_by(VECTOR);
        let framed = |&&l: &&usize| l != NONE;
        let here: Vec<usize> = edges.lines(2)[own.clone()]
            .iter()
            .filter(framed)
            .copied()
            .collect();
        let width = z[0] + p.pitch() - z[1];
        let framed_rows = edges.lines(1).iter().filter(framed).count();
        let component = [
            own.len() * p.rows() * width,
            own.len() * framed_rows * p.pitch(),
            here.len() * p.rows() * p.pitch(),
        ];
        let some = usize::from(edges.factors(0).is_some());
        Self {
            z,
            width,
            framed_rows,
            first_plane: here.first().copied().unwrap_or(0),
            component: component.map(|n| some * n),
        }
    }

    /// Length of each array, for both stages and all axes.
    pub fn pieces(&self, ndim: usize) -> [usize; 6] {
        let [z, row, plane] = self.component.map(|n| ndim * n);
        [z, row, plane, z, row, plane]
    }
}

impl<A: Accelerator> FrameMemory<A> {
    /// Copies the factors to the device and allocates the memory variables of `shots` shots.
    pub fn new<T: Real>(
        a: &A,
        p: &Padded,
        (edges, shots): (&Edges<T>, usize),
        layout: &Layout,
    ) -> Result<Self, Error> {
        let sizes = Sizes::new(p, edges, &layout.own);
        let mut frame = Self {
            args: [FrameArgs::default(); 2],
            z: sizes.z,
            tables: Vec::new(),
            layers: Vec::new(),
        };
        let mut common = FrameArgs {
            low: int(sizes.z[0]),
            high: int(sizes.z[1]),
            width: int(sizes.width),
            framed_rows: int(sizes.framed_rows),
            first_plane: int(sizes.first_plane),
            ..FrameArgs::default()
        };
        for axis in [1, 2] {
            let number = |&l: &usize| if l == NONE { -1 } else { int(l) };
            let lines: Vec<i32> = edges.lines(axis).iter().map(number).collect();
            common.line[axis] = frame.table(a, &lines)?;
        }
        if let Some(weights) = edges.weights() {
            for (to, w) in common.sponge.iter_mut().zip(weights) {
                *to = frame.table(a, w)?;
            }
        }
        for axis in 0..3 {
            let Some(factors) = edges.factors(axis) else {
                continue;
            };
            for (to, f) in common.layer[axis].factor.iter_mut().zip(factors) {
                for (to, numbers) in to.iter_mut().zip([&f.inverse_kappa, &f.a, &f.b]) {
                    *to = frame.table(a, numbers)?;
                }
            }
        }
        for stage in 0..2 {
            let mut args = common;
            for (layer, &numbers) in args.layer.iter_mut().zip(&sizes.component) {
                if numbers > 0 {
                    let memory = a.allocate(shots * p.ndim() * numbers * size_of::<T>())?;
                    *layer = Layer {
                        psi: memory.address(),
                        component: numbers as i64,
                        ..*layer
                    };
                    frame.layers.push(memory);
                }
            }
            frame.args[stage] = args;
        }
        Ok(frame)
    }

    /// Sets all memory variables to zero.
    pub fn clear(&self, a: &A) -> Result<(), Error> {
        self.layers.iter().try_for_each(|memory| a.clear(memory))
    }

    fn table<N: bytemuck::Pod>(&mut self, a: &A, numbers: &[N]) -> Result<u64, Error> {
        let memory = send(a, numbers)?;
        let address = memory.address();
        self.tables.push(memory);
        Ok(address)
    }

    /// Index at which a plane begins among the memory variables of a component. Across planes (axis 2), `plane` is an
    /// index into the planes of the frame; `first` is the slab's first plane.
    pub fn plane(&self, axis: usize, first: usize, plane: usize, p: &Padded) -> usize {
        let args = &self.args[0];
        match axis {
            0 => (plane - first) * p.rows() * args.width as usize,
            1 => (plane - first) * args.framed_rows as usize * p.pitch(),
            _ => (plane - args.first_plane as usize) * p.plane_len(),
        }
    }

    /// Along z the frame ends before the first number and begins again at the second.
    pub fn z(&self) -> [usize; 2] {
        self.z
    }

    /// Kernel arguments of a stage.
    pub fn args(&self, stage: usize) -> FrameArgs {
        self.args[stage]
    }

    /// Bytes of device memory.
    pub fn bytes(&self) -> usize {
        self.tables.iter().chain(&self.layers).map(Memory::bytes).sum()
    }
}
