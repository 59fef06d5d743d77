//! The kernel sources that a run compiles: each is a concatenation of files after the defines of the variant.

use crate::device::accelerator::Source;
use std::fmt::Write;

const PRELUDE: &str = include_str!("../../../../device/prelude.cuh");
const GRID: &str = include_str!("grid.cuh");

/// A kernel, in the order of the source files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    Velocities,
    VelocitiesChanged,
    Stresses,
    StressesChanged,
    StressesBack,
    StressesGatherBack,
    VelocitiesBack,
    VelocitiesGatherBack,
    VelocitiesGather,
    StressesGather,
    BuoyanciesBack,
    Pressures,
    VelocityImages,
    VelocityImagesChanged,
    StressImages,
    StressImagesChanged,
    StressImagesBack,
    VelocityImagesBack,
    SlopesBack,
    Inject,
    Extract,
    ReadingsBack,
    Spread,
    Copy,
    CopyPieces,
    Look,
    Clear,
}

/// Number of cells per thread along z in a step and in the reverse sweep.
pub(super) const CELLS: usize = 2;

/// Number of cells per thread in the kernels of the interior: 16 bytes.
pub(super) const INSIDE: usize = 4;

/// Number of cells per thread of a kernel.
pub(super) fn cells_of(pass: Pass) -> usize {
    if (pass as usize) < Pass::VelocityImages as usize {
        CELLS
    } else {
        1
    }
}

/// A source file: its name and text, its kernels in the order of [`Pass`], and whether it depends on the order of
/// derivatives, on attenuation and on a surface.
#[derive(Clone, Copy)]
struct Text {
    file: &'static str,
    text: &'static str,
    kernels: &'static [&'static str],
    derives: bool,
    loses: bool,
    /// Whether it reads stiffnesses.
    moduli: bool,
    surface: bool,
    /// Number of cells per thread along z.
    cells: usize,
    /// Whether consecutive threads of its kernels compute consecutive vectors of cells of some boxes.
    framed: bool,
}

/// A source file whose kernels compute derivatives and read stiffnesses.
const PLAIN: Text = Text {
    file: "",
    text: "",
    kernels: &[],
    derives: true,
    loses: false,
    moduli: true,
    surface: false,
    cells: CELLS,
    framed: false,
};

const TEXTS: [Text; 4] = [
    Text {
        file: "born/gpu/step.cu",
        text: include_str!("step.cu"),
        kernels: &["velocities", "velocities_changed", "stresses", "stresses_changed"],
        loses: true,
        ..PLAIN
    },
    Text {
        file: "born/gpu/back.cu",
        text: include_str!("back.cu"),
        kernels: &[
            "stresses_back",
            "stresses_gather_back",
            "velocities_back",
            "velocities_gather_back",
            "velocities_gather",
            "stresses_gather",
            "buoyancies_back",
            "pressures",
        ],
        loses: true,
        ..PLAIN
    },
    Text {
        file: "born/gpu/surface.cu",
        text: include_str!("surface.cu"),
        kernels: &[
            "velocity_images",
            "velocity_images_changed",
            "stress_images",
            "stress_images_changed",
            "stress_images_back",
            "velocity_images_back",
            "slopes_back",
        ],
        moduli: false,
        surface: true,
        cells: 1,
        ..PLAIN
    },
    Text {
        file: "born/gpu/points.cu",
        text: include_str!("points.cu"),
        kernels: &[
            "inject",
            "extract",
            "readings_back",
            "spread",
            "copy",
            "copy_pieces",
            "look",
            "clear",
        ],
        derives: false,
        moduli: false,
        cells: 1,
        ..PLAIN
    },
];

/// The source file of images, which other runs do not compile.
const IMAGES: Text = Text {
    file: "born/gpu/images.cu",
    text: include_str!("images.cu"),
    kernels: &[
        "shares",
        "sums",
        "adjoint_waves",
        "adjoint_velocities",
        "mean",
        "forces",
        "rotations",
        "multiply",
    ],
    cells: 1,
    ..PLAIN
};

/// A kernel of boundary saving, in the order of the source files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    KeepBoundary,
    RestoreBoundary,
    Largest,
    StressesUndo,
    VelocitiesUndo,
    VelocitiesInside,
    StressesInside,
    StiffnessesInside,
}

/// The kernel source files of boundary saving. The last file is used only if the interior of a grid has separate
/// kernels.
const TURNS: [Text; 3] = [
    Text {
        file: "born/gpu/boundary.cu",
        text: include_str!("boundary.cu"),
        kernels: &["keep_boundary", "restore_boundary", "largest"],
        derives: false,
        moduli: false,
        framed: true,
        ..PLAIN
    },
    Text {
        file: "born/gpu/undo.cu",
        text: include_str!("undo.cu"),
        kernels: &["stresses_undo", "velocities_undo"],
        ..PLAIN
    },
    Text {
        file: "born/gpu/inside.cu",
        text: include_str!("inside.cu"),
        kernels: &["velocities_inside", "stresses_inside", "stiffnesses_inside"],
        cells: INSIDE,
        ..PLAIN
    },
];

/// All options for which the kernel sources are specialised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Number of dimensions, 2 or 3.
    pub ndim: usize,
    /// Half the order in space: 1, 2 or 4.
    pub half: usize,
    /// Whether the medium attenuates.
    pub lossy: bool,
    /// Whether the stiffness is given by two moduli on the nodes instead of an array for each place.
    pub isotropic: bool,
    /// Whether there is a free surface.
    pub surface: bool,
}

impl Variant {
    fn source(&self, text: &Text) -> Source {
        let defines = [
            ("REAL_IS_DOUBLE", 0),
            ("NDIM", self.ndim),
            ("HALF", if text.derives { self.half } else { 1 }),
            ("VEC", text.cells),
            ("FRAMED", usize::from(text.framed)),
            ("LOSSY", usize::from(text.loses && self.lossy)),
            ("ISOTROPIC", usize::from(text.moduli && self.isotropic)),
        ];
        let (mut head, mut name) = (String::new(), text.file.to_string());
        for (key, value) in defines {
            let _ = writeln!(head, "#define {key} {value}");
            let _ = write!(name, " {key}={value}");
        }
        let text = [head.as_str(), PRELUDE, GRID, text.text].join("\n");
        Source { name, text }
    }

    /// The kernel sources of a run with their kernels; `None` instead of a source that the run does not need.
    pub fn texts(&self) -> impl Iterator<Item = (Option<Source>, &'static [&'static str])> + '_ {
        TEXTS.iter().map(|text| {
            let needed = self.surface || !text.surface;
            (needed.then(|| self.source(text)), text.kernels)
        })
    }

    /// Whether the interior of a grid can have separate kernels, which requires an isotropic medium without
    /// attenuation or a surface.
    pub(super) fn has_inside(&self) -> bool {
        self.isotropic && !self.lossy && !self.surface
    }

    /// The kernel sources of boundary saving, in the order of [`Turn`]; the last one only if [`Variant::has_inside`]
    /// is true.
    pub(super) fn turns(&self) -> impl Iterator<Item = (Source, &'static [&'static str])> + '_ {
        let all = TURNS
            .iter()
            .filter(|text| self.has_inside() || text.cells < INSIDE);
        all.map(|text| (self.source(text), text.kernels))
    }

    /// The kernel source of images with its kernels.
    pub(super) fn images(&self) -> (Source, &'static [&'static str]) {
        (self.source(&IMAGES), IMAGES.kernels)
    }
}

/// Every kind of source that a run can need, for compilation checks without a device.
pub fn all() -> Vec<Source> {
    let mut sources: Vec<Source> = Vec::new();
    for (ndim, half, lossy) in [2, 3]
        .into_iter()
        .flat_map(|ndim| [1, 2, 4].map(|half| (ndim, half)))
        .flat_map(|(ndim, half)| [false, true].map(|lossy| (ndim, half, lossy)))
    {
        for isotropic in [false, true] {
            let variant = Variant {
                ndim,
                half,
                lossy,
                isotropic,
                surface: true,
            };
            let plain = Variant {
                surface: false,
                ..variant
            };
            let turns = plain.turns().filter(|_| !lossy);
            let texts = variant.texts().filter_map(|(source, _)| source);
            let texts = texts.chain([variant.images().0]);
            for source in texts.chain(turns.map(|(source, _)| source)) {
                if !sources.contains(&source) {
                    sources.push(source);
                }
            }
        }
    }
    sources
}
