//! The kernel sources that a run compiles: each is a concatenation of files after the defines of its variant.

use super::arguments::kept_pairs;
use super::tile::{Form as Cut, Terms, Tile};
use crate::Error;
use crate::boundary::{free_surface::Surface, one_way::Form};
use crate::device::accelerator::Source;
use crate::medium::stiffness::Symmetry;
use std::fmt::Write;

const PRELUDE: &str = include_str!("../../../device/prelude.cuh");
const SLAB: &str = include_str!("slab.cuh");
const STIFFNESS: &str = include_str!("../../../medium/stiffness.cuh");
const TILE: &str = include_str!("tile.cuh");
const POINT_FUNCTIONS: &str = include_str!("points.cuh");
const STRESS_PLANES: &str = include_str!("stress_planes.cuh");
const CLUSTER: &str = include_str!("cluster.cuh");
const FUSED_TILE: &str = include_str!("fused_tile.cuh");
const SWEEP: &str = include_str!("sweep.cu");
const RELAY: &str = include_str!("warp_specialized.cu");
const SMALL: &str = include_str!("fused_2d.cu");
const FACES: &str = include_str!("faces.cu");
const PAD: &str = include_str!("pad.cu");
const ONE_WAY: &str = include_str!("../../../boundary/one_way.cuh");
const POINTS: &str = include_str!("survey.cuh");
const SURVEY: &str = include_str!("survey.cu");

/// The properties for which kernel sources are specialised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Whether numbers are float64 (tests) instead of float32.
    pub double: bool,
    /// Number of dimensions, 2 or 3.
    pub ndim: usize,
    /// Symmetry class of the medium.
    pub symmetry: Symmetry,
    /// Whether the frame has the one-way condition and the sponge.
    pub absorbing: bool,
    /// Form of the one-way condition.
    pub one_way: Form,
    /// Condition on top of the model.
    pub surface: Surface,
    /// Tile of the sweep.
    pub tile: Tile,
}

/// Number of a class in stiffness.cuh; in 2-D all classes between isotropic and triclinic are the same.
fn class(ndim: usize, symmetry: Symmetry) -> u32 {
    match symmetry {
        Symmetry::Isotropic => 0,
        Symmetry::Vti if ndim == 3 => 1,
        Symmetry::Hti if ndim == 3 => 2,
        Symmetry::Triclinic => 4,
        _ => 3,
    }
}

/// The source of the kernel `pad`.
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
        for (place, (i, j)) in kept_pairs(self.ndim, self.symmetry).iter().enumerate() {
            let _ = writeln!(head, "#define C{i}{j} {place}");
        }
        let text = [head.as_str(), PRELUDE, SLAB, STIFFNESS, text].join("\n");
        Source { name, text }
    }

    /// The source of the kernel `sweep`; the kernel in fused_2d.cu computes the whole step.
    pub fn sweep(&self) -> Source {
        let t = self.tile;
        let surface = match self.surface {
            Surface::Traction => 2,
            // Under a vacuum the stiffness above the surface is zero, so that only faces depend on the surface.
            Surface::Vacuum if t.form == Cut::Small => 1,
            _ => 0,
        };
        let [start, stress, force, copy] = match t.form {
            Cut::Relay => t.registers(self.double),
            _ => [0; 4],
        };
        let defines = [
            ("SURFACE", surface),
            ("TZ", t.z),
            ("TX", t.rows.max(t.planes)),
            ("AHEAD", t.ahead),
            ("BLOCKS", t.blocks),
            ("BULK", usize::from(t.bulk)),
            ("PAD", t.pad),
            ("START_REGISTERS", start),
            ("STRESS_REGISTERS", stress),
            ("FORCE_REGISTERS", force),
            ("COPY_REGISTERS", copy),
            ("CLUSTER", t.cluster),
            ("FORCE_CELLS", if t.form == Cut::Sweep { t.vec } else { 1 }),
        ];
        let walking = |text: &str| [TILE, POINT_FUNCTIONS, STRESS_PLANES, CLUSTER, text].join("\n");
        match t.form {
            Cut::Sweep => self.source("sweep.cu", &walking(SWEEP), t.vec, &defines),
            Cut::Relay => self.source("warp_specialized.cu", &walking(RELAY), t.vec, &defines),
            Cut::Small => {
                let defines = [&defines[..], &[self.form()]].concat();
                let text = [ONE_WAY, POINTS, FUSED_TILE, POINT_FUNCTIONS, SMALL].join("\n");
                self.source("fused_2d.cu", &text, t.vec, &defines)
            }
        }
    }

    /// The define that selects the form of the one-way condition; runs without the condition always have the same
    /// value.
    fn form(&self) -> (&'static str, usize) {
        (
            "ONE_WAY",
            usize::from(self.absorbing && self.one_way == Form::Upwind),
        )
    }

    /// The source of the kernels `faces` and, in 3-D, `plane_faces`.
    pub fn faces(&self) -> Source {
        let surface = usize::from(self.surface != Surface::None);
        let defines = [("SURFACE", surface), self.form()];
        self.source("faces.cu", &[ONE_WAY, FACES].join("\n"), 1, &defines)
    }

    /// The source of the kernels `inject`, `extract`, `pack`, `look` and `tick`.
    pub fn survey(&self) -> Source {
        self.source("survey.cu", &[POINTS, SURVEY].join("\n"), 1, &[])
    }
}

/// All different sources that runs can need on a device with this much shared memory, for compilation checks without a
/// device.
pub fn all(double: bool, architecture: u32, shared_bytes: usize) -> Result<Vec<Source>, Error> {
    let mut sources = vec![pad_source(double, 2), pad_source(double, 3)];
    let classes = Symmetry::ALL;
    let surfaces = [Surface::None, Surface::Vacuum, Surface::Traction];
    let sizes = [(2, 1), (2, 500_000), (2, usize::MAX), (3, usize::MAX)];
    let runs = sizes
        .into_iter()
        .flat_map(|size| classes.map(|class| (size, class)));
    for (((ndim, cells), symmetry), surface) in runs.flat_map(|run| surfaces.map(|s| (run, s))) {
        let terms = Terms {
            ndim,
            double,
            symmetry,
            cells,
            shortest: usize::MAX,
            rows: 1 << 10,
            architecture,
            clusters: architecture >= 90,
            shared_bytes,
        };
        let tile = Tile::choose(&terms)?;
        for bits in 0..4 {
            let on = |bit: u32| bits >> bit & 1 == 1;
            let variant = Variant {
                double,
                ndim,
                symmetry,
                absorbing: on(0),
                one_way: if on(1) { Form::Upwind } else { Form::Box },
                surface,
                tile,
            };
            let mut texts = vec![variant.sweep(), variant.survey()];
            if variant.absorbing && tile.form != Cut::Small {
                texts.push(variant.faces());
            }
            texts.retain(|text| !sources.contains(text));
            sources.extend(texts);
        }
    }
    Ok(sources)
}
