//! Which kernel text a run compiles: the texts are joined behind the defines of their variant.

use super::tile::{CHUNK, Tile};
use crate::device::accelerator::Source;
use std::fmt::Write;

const PRELUDE: &str = include_str!("../../../device/prelude.cuh");
const SLAB: &str = include_str!("slab.cuh");
const FRAME: &str = include_str!("frame.cuh");
const STAGE: &str = include_str!("stage.cu");
const SURFACE: &str = include_str!("surface.cu");
const POINTS: &str = include_str!("points.cu");

/// What absorbs at the edges of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// Nothing.
    Rigid,
    /// Layers, which rows and planes in them meet in boxes of their own.
    Layers {
        /// There are some at an end of `z`, too.
        along_z: bool,
    },
    /// A sponge, which every cell looks up.
    Sponge,
}

/// Everything that a kernel text is specialised for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// float64 instead of float32 (tests).
    pub double: bool,
    /// 2 or 3.
    pub ndim: usize,
    /// Half the order in space: 1, 2 or 4.
    pub half: usize,
    /// Two coefficients instead of nine (2-D: four).
    pub isotropic: bool,
    /// Shear stiffnesses stand at the shear stresses.
    pub shears_in_place: bool,
    /// What absorbs.
    pub edge: Edge,
    /// Memory variables of a stress; 0 without attenuation.
    pub mechanisms: usize,
    /// Several shots run side by side.
    pub several: bool,
    /// How a box is cut.
    pub tile: Tile,
}

impl Variant {
    /// Cells of a thread along z: 16 bytes.
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

    /// Kernel `velocity` (stage 0) or `stress` (1), for layers or for all else.
    pub fn stage(&self, stage: usize, framed: bool) -> Source {
        let t = self.tile;
        // Velocities feel neither the symmetry nor the losses.
        let (isotropic, mechanisms) = match stage {
            0 => (true, 0),
            _ => (self.isotropic, self.mechanisms),
        };
        // Velocities of several shots with a sponge need more registers than four blocks leave on sm_120.
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
        // Lists of nodes say which shot they are of.
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

/// One text of every kind that a run can need, for checks without a device.
pub fn all(double: bool) -> Vec<Source> {
    let mut found = Vec::new();
    let mut take = |text: Source| {
        if !found.contains(&text) {
            found.push(text);
        }
    };
    for (ndim, half, edge, isotropic) in [2, 3]
        .into_iter()
        .flat_map(|ndim| [1, 2, 4].map(|half| (ndim, half)))
        .flat_map(|(ndim, half)| EDGES.map(|edge| (ndim, half, edge)))
        .flat_map(|(ndim, half, edge)| [false, true].map(|isotropic| (ndim, half, edge, isotropic)))
    {
        // All numbers of mechanisms where they are usual, else the fewest and the most.
        let counts: &[usize] = match (double, half == 2 && isotropic) {
            (true, _) => &[0, 1],
            (_, true) => &[0, 1, 2, 3, 4],
            _ => &[0, 1, 4],
        };
        for &mechanisms in counts {
            // Several shots add the same number to places of all kinds: the fewest and the most mechanisms show it.
            let several = [false, !double && matches!(mechanisms, 0 | 4)];
            for several in &several[..1 + usize::from(several[1])] {
                let variant = Variant {
                    double,
                    ndim,
                    half,
                    isotropic,
                    // One order shows it.
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
    found
}
