//! The kernel sources that a run compiles: each is a concatenation of files after the defines of the variant.

use super::tile::{CHUNK, Tile};
use crate::device::accelerator::Source;
use std::fmt::Write;

const PRELUDE: &str = include_str!("../../../device/prelude.cuh");
const SLAB: &str = include_str!("slab.cuh");
const FRAME: &str = include_str!("frame.cuh");
const STAGE: &str = include_str!("stage.cu");
const SURFACE: &str = include_str!("surface.cu");
const POINTS: &str = include_str!("points.cu");

/// The absorbing boundary of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// No absorber: faces reflect like a rigid wall.
    Rigid,
    /// Absorbing layers; rows and planes in them are updated in separate boxes.
    Layers {
        /// Whether there are layers at an end of `z`, too.
        along_z: bool,
    },
    /// A sponge, whose weights every cell checks.
    Sponge,
}

/// All options for which a kernel source is specialised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Whether numbers are float64 instead of float32 (in tests).
    pub double: bool,
    /// Number of dimensions, 2 or 3.
    pub ndim: usize,
    /// Half the order in space: 1, 2 or 4.
    pub half: usize,
    /// Whether the medium has two stiffnesses instead of nine (2-D: four).
    pub isotropic: bool,
    /// Whether shear stiffnesses are given at the shear stresses.
    pub shears_in_place: bool,
    /// The absorbing boundary.
    pub edge: Edge,
    /// Memory variables per stress; 0 without attenuation.
    pub mechanisms: usize,
    /// Whether several shots run side by side.
    pub several: bool,
    /// The division of boxes into thread blocks.
    pub tile: Tile,
}

impl Variant {
    /// Number of cells per thread along z: 16 bytes.
    pub fn vec(&self) -> usize {
        if self.double { 2 } else { 4 }
    }

    fn source(&self, file: &str, text: &[&str], vec: usize, defines: &[(&str, usize)]) -> Source {
        let common = [
            ("REAL_IS_DOUBLE", usize::from(self.double)),
            ("NDIM", self.ndim),
            ("HALF", self.half),
            ("VEC", vec),
            ("SHOTS", usize::from(self.several)),
        ];
        let (mut head, mut name) = (String::new(), file.to_string());
        for (key, value) in common.iter().chain(defines) {
            let _ = writeln!(head, "#define {key} {value}");
            let _ = write!(name, " {key}={value}");
        }
        let text = [&[head.as_str(), PRELUDE, SLAB], text].concat().join("\n");
        Source { name, text }
    }

    /// Kernel `velocity` (stage 0) or `stress` (1), for layers or for all other cells.
    pub fn stage(&self, stage: usize, framed: bool) -> Source {
        let t = self.tile;
        // Velocities depend on neither the symmetry nor the attenuation.
        let (isotropic, mechanisms) = match stage {
            0 => (true, 0),
            _ => (self.isotropic, self.mechanisms),
        };
        // With a sponge, velocities of several shots need more registers than four blocks leave on sm_120.
        let crowded = self.several && self.edge == Edge::Sponge && self.ndim == 3 && stage == 0;
        let blocks = match framed {
            true => t.frame_blocks,
            false if crowded => t.blocks[stage].min(3),
            false => t.blocks[stage],
        };
        let defines = [
            ("STAGE", stage),
            ("ISOTROPIC", usize::from(isotropic)),
            (
                "IN_PLACE",
                usize::from(stage == 1 && self.shears_in_place && !isotropic),
            ),
            ("MECHANISMS", mechanisms),
            ("FRAMED", usize::from(framed)),
            (
                "LAYERS",
                usize::from(framed || self.edge == Edge::Layers { along_z: true }),
            ),
            ("SPONGE", usize::from(self.edge == Edge::Sponge)),
            ("THREADS", if framed { t.frame_threads } else { t.threads() }),
            ("BLOCKS", blocks),
            ("AHEAD", usize::from(t.ahead)),
            ("CHUNK", CHUNK),
            ("ACROSS", t.z),
            ("ROWS", t.rows),
            ("DEEP", t.deep),
        ];
        self.source("stage.cu", &[FRAME, STAGE], self.vec(), &defines)
    }

    /// Kernels `above` and `upon`.
    pub fn surface(&self) -> Source {
        let defines = [("ISOTROPIC", usize::from(self.isotropic))];
        self.source("surface.cu", &[SURFACE], 1, &defines)
    }

    /// Kernels `inject`, `extract`, `pack`, `peaks`, `look`.
    pub fn points(&self) -> Source {
        // The lists of nodes contain the offset of their shot.
        let each = Self {
            several: false,
            ..*self
        };
        each.source("points.cu", &[POINTS], 1, &[])
    }
}

/// Every kind of edge.
const EDGES: [Edge; 4] = [
    Edge::Rigid,
    Edge::Layers { along_z: false },
    Edge::Layers { along_z: true },
    Edge::Sponge,
];

/// Every kind of kernel source that a run can need, for compilation checks without a device.
pub fn all(double: bool) -> Vec<Source> {
    let mut texts = Vec::new();
    let mut take = |text: Source| {
        if !texts.contains(&text) {
            texts.push(text);
        }
    };
    for (ndim, half, edge, isotropic) in [2, 3]
        .into_iter()
        .flat_map(|ndim| [1, 2, 4].map(|half| (ndim, half)))
        .flat_map(|(ndim, half)| EDGES.map(|edge| (ndim, half, edge)))
        .flat_map(|(ndim, half, edge)| [false, true].map(|isotropic| (ndim, half, edge, isotropic)))
    {
        // The most common options are tested with every number of mechanisms, others with the fewest and the most.
        let counts: &[usize] = match (double, half == 2 && isotropic) {
            (true, _) => &[0, 1],
            (_, true) => &[0, 1, 2, 3, 4],
            _ => &[0, 1, 4],
        };
        for &mechanisms in counts {
            // Several shots only add an offset to all addresses, so the fewest and the most mechanisms suffice.
            let several = [false, !double && matches!(mechanisms, 0 | 4)];
            for several in &several[..1 + usize::from(several[1])] {
                let variant = Variant {
                    double,
                    ndim,
                    half,
                    isotropic,
                    // One order suffices here.
                    shears_in_place: half == 2 && mechanisms < 2,
                    edge,
                    mechanisms,
                    several: *several,
                    tile: Tile::choose(ndim, half, mechanisms, double),
                };
                for stage in 0..2 {
                    take(variant.stage(stage, false));
                    if matches!(edge, Edge::Layers { .. }) {
                        take(variant.stage(stage, true));
                    }
                }
                take(variant.surface());
                take(variant.points());
            }
        }
    }
    texts
}
