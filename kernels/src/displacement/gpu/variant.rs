//! Which kernel text a run compiles: the texts are joined behind the defines of their variant.

use crate::Error;
use crate::boundary::{free_surface::Surface, one_way::Form};
use crate::device::accelerator::Source;
use crate::displacement::SourceKind;
use crate::medium::stiffness::Symmetry;
use crate::stencil::RADIUS;
use std::fmt::Write;

const PRELUDE: &str = include_str!("../../device/prelude.cuh");
const SLAB: &str = include_str!("slab.cuh");
const STIFFNESS: &str = include_str!("../../medium/stiffness.cuh");
const TILE: &str = include_str!("tile.cuh");
const SWEEP: &str = include_str!("sweep.cu");
const RELAY: &str = include_str!("relay.cu");
const FACES: &str = include_str!("faces.cu");
const PAD: &str = include_str!("pad.cu");
const SURVEY: &str = include_str!("survey.cu");

/// Everything that a kernel text is specialised for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// float64 instead of float32 (tests).
    pub double: bool,
    /// 2 or 3.
    pub ndim: usize,
    /// Class of the medium.
    pub symmetry: Symmetry,
    /// One-way condition and sponge.
    pub absorbing: bool,
    /// Form of the one-way condition.
    pub one_way: Form,
    /// The top of the model.
    pub surface: Surface,
    /// How the wavelet enters.
    pub source: SourceKind,
    /// Divergence and curl are recorded.
    pub potentials: bool,
    /// How a block of the sweep is cut.
    pub tile: Tile,
}

/// The tile of a block of the sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Cells of a thread, along z: 1, 2 or 4, at most 16 bytes.
    pub vec: usize,
    /// Cells along z.
    pub z: usize,
    /// Rows (2-D: 1).
    pub rows: usize,
    /// Planes on their way to shared memory.
    pub ahead: usize,
    /// Blocks that one multiprocessor should hold at once.
    pub blocks: usize,
    /// Numbers between rows of a plane in shared memory (3-D), against conflicts of its banks.
    pub pad: usize,
    /// Planes come as whole rows (compute capability 9.0 and later), else in pieces of 16 bytes.
    pub bulk: bool,
    /// Stress and force by warps of their own (relay.cu; 3-D, with `bulk`), else by all (sweep.cu).
    pub relay: bool,
}

const fn tile(vec: usize, z: usize, rows: usize, ahead: usize, relay: bool) -> Tile {
    Tile {
        vec,
        z,
        rows,
        ahead,
        blocks: if rows == 1 { 4 } else { 1 },
        pad: 4,
        bulk: relay || rows == 1,
        relay,
    }
}

/// Tiles in the order of preference; the first whose shared memory fits a block is taken.
const TILES_3D: [Tile; 4] = [
    tile(2, 32, 12, 1, true),
    tile(4, 32, 16, 1, false),
    tile(4, 32, 8, 1, false),
    tile(2, 16, 4, 1, false),
];
const TILES_2D: [Tile; 2] = [tile(4, 248, 1, 3, false), tile(4, 120, 1, 2, false)];
const TILES_3D_DOUBLE: [Tile; 3] = [
    tile(1, 16, 8, 1, true),
    tile(1, 16, 8, 1, false),
    tile(1, 8, 4, 1, false),
];
const TILES_2D_DOUBLE: [Tile; 1] = [tile(2, 120, 1, 2, false)];

impl Tile {
    /// The tile for a device of this compute capability (times ten) whose blocks may use this much shared memory.
    pub fn choose(ndim: usize, double: bool, architecture: u32, shared_bytes: usize) -> Result<Self, Error> {
        let tiles: &[Tile] = match (ndim, double) {
            (3, false) => &TILES_3D,
            (3, true) => &TILES_3D_DOUBLE,
            (_, false) => &TILES_2D,
            (_, true) => &TILES_2D_DOUBLE,
        };
        let number = if double { 8 } else { 4 };
        // The kernel keeps some bytes of its own.
        let fits =
            |t: &&Tile| t.shared(ndim) * number + 256 <= shared_bytes && (architecture >= 90 || !t.relay);
        let found = tiles.iter().find(fits).map(|t| Tile {
            bulk: t.bulk && architecture >= 90,
            ..*t
        });
        found.ok_or_else(|| {
            Error::setup(format!(
                "a block of this GPU may use {shared_bytes} bytes of shared memory, which is less than the smallest tile needs; use device=cpu"
            ))
        })
    }

    /// Threads of a block, as sweep.cu counts them.
    pub fn threads(&self, ndim: usize) -> usize {
        let quads = self.z / self.vec;
        let side = RADIUS / self.vec;
        let all = match ndim {
            3 => quads * self.rows + 2 * side * self.rows + quads * 2 * RADIUS,
            _ => quads + 2 * side,
        };
        let all = all.next_multiple_of(32);
        if self.relay {
            all + (quads * self.rows).next_multiple_of(32) + 32
        } else {
            all
        }
    }

    /// Cells along z and rows of a plane of displacement in shared memory (3-D).
    pub fn around(&self) -> [usize; 2] {
        [self.z + 16 + self.pad, self.rows + 16]
    }

    /// Numbers of shared memory of a block: the ring of displacement and two planes of stress.
    pub fn shared(&self, ndim: usize) -> usize {
        let ring = 2 * RADIUS + self.ahead + 1;
        let (z, rows) = (self.z, self.rows);
        match ndim {
            3 => {
                let across = rows + 2 * RADIUS;
                let own = if self.relay { rows * z } else { 0 };
                let stress = 2 * rows * (z + 12) + across * (z + 12) + 2 * across * z + own;
                ring * (3 * (rows + 16) * (z + 16 + self.pad)).next_multiple_of(32) + 2 * stress
            }
            _ => ring * (2 * (z + 16)).next_multiple_of(32) + 4 * (z + 8),
        }
    }
}

/// The order of the classes in stiffness.cuh; in 2-D all but the isotropic are one.
fn class(ndim: usize, symmetry: Symmetry) -> u32 {
    match symmetry {
        Symmetry::Isotropic => 0,
        Symmetry::Vti if ndim == 3 => 1,
        Symmetry::Hti if ndim == 3 => 2,
        _ => 3,
    }
}

/// Kernel `pad`.
pub fn pad_source(double: bool, ndim: usize) -> Source {
    let head = format!(
        "#define REAL_IS_DOUBLE {}\n#define NDIM {ndim}\n#define VEC 1\n",
        u32::from(double)
    );
    Source {
        name: format!("pad.cu REAL_IS_DOUBLE={} NDIM={ndim}", u32::from(double)),
        text: [head.as_str(), PRELUDE, SLAB, PAD].join("\n"),
    }
}

impl Variant {
    fn source(&self, file: &str, text: &str, vec: usize, defines: &[(&str, usize)]) -> Source {
        let common = [
            ("REAL_IS_DOUBLE", usize::from(self.double)),
            ("NDIM", self.ndim),
            ("SYM", class(self.ndim, self.symmetry) as usize),
            ("DAMPED", usize::from(self.absorbing)),
            ("VEC", vec),
        ];
        let (mut head, mut name) = (String::new(), file.to_string());
        for (key, value) in common.iter().chain(defines) {
            let _ = writeln!(head, "#define {key} {value}");
            let _ = write!(name, " {key}={value}");
        }
        let text = [head.as_str(), PRELUDE, SLAB, STIFFNESS, text].join("\n");
        Source { name, text }
    }

    /// Kernel `sweep`.
    pub fn sweep(&self) -> Source {
        let t = self.tile;
        // Above a vacuum the medium itself carries no stress: no other text is needed.
        let surface = if self.surface == Surface::Traction { 2 } else { 0 };
        let defines = [
            ("SURFACE", surface),
            ("TZ", t.z),
            ("TX", t.rows),
            ("AHEAD", t.ahead),
            ("BLOCKS", t.blocks % 100),
            ("EARLY", usize::from(t.blocks < 100)),
            ("BULK", usize::from(t.bulk)),
            ("PAD", t.pad),
        ];
        let (file, text) = if t.relay {
            ("relay.cu", RELAY)
        } else {
            ("sweep.cu", SWEEP)
        };
        self.source(file, &[TILE, text].join("\n"), t.vec, &defines)
    }

    /// Kernels `faces` and, in 3-D, `plane_faces`.
    pub fn faces(&self) -> Source {
        let one_way = usize::from(self.one_way == Form::Upwind);
        let defines = [
            ("SURFACE", usize::from(self.surface != Surface::None)),
            ("ONE_WAY", one_way),
        ];
        self.source("faces.cu", FACES, 1, &defines)
    }

    /// Kernels `inject`, `extract`, `pack`, `look`, `tick`.
    pub fn survey(&self) -> Source {
        let source = usize::from(self.source == SourceKind::Stress);
        let defines = [("SOURCE", source), ("POTENTIALS", usize::from(self.potentials))];
        self.source("survey.cu", SURVEY, 1, &defines)
    }
}

/// One text of every kind that a run can need on a device with this much shared memory, for checks without a device.
pub fn all(double: bool, architecture: u32, shared_bytes: usize) -> Result<Vec<Source>, Error> {
    let mut found = vec![pad_source(double, 2), pad_source(double, 3)];
    let classes = [
        Symmetry::Isotropic,
        Symmetry::Vti,
        Symmetry::Hti,
        Symmetry::Orthorhombic,
    ];
    let surfaces = [Surface::None, Surface::Vacuum, Surface::Traction];
    for ndim in [2, 3] {
        let tile = Tile::choose(ndim, double, architecture, shared_bytes)?;
        for (symmetry, surface) in classes.into_iter().flat_map(|c| surfaces.map(|s| (c, s))) {
            for bits in 0..16 {
                let on = |bit: u32| bits >> bit & 1 == 1;
                let variant = Variant {
                    double,
                    ndim,
                    symmetry,
                    absorbing: on(0),
                    one_way: if on(1) { Form::Upwind } else { Form::Box },
                    surface,
                    source: if on(2) {
                        SourceKind::Stress
                    } else {
                        SourceKind::Force
                    },
                    potentials: on(3),
                    tile,
                };
                for source in [variant.sweep(), variant.faces(), variant.survey()] {
                    if !found.contains(&source) {
                        found.push(source);
                    }
                }
            }
        }
    }
    Ok(found)
}
