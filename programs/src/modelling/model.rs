//! Reads a model from RSF files: checks their axes against each other, then reads the volumes in one pass of blocks.

mod axes;
mod checksum;
mod order;

pub use axes::{on_the_grid, shared_grid};

use anyhow::Context;
use kernels::device::cpu::Cpu;
use kernels::grid::{AXES, Grid, Padded};
use kernels::medium::stiffness::isotropic_plane;
use kernels::medium::{Coefficients, Destination, Symmetry, lines_of_plane, needed};
use kernels::stability::{BadCell, Findings, Inspection};
use rsf_io::{Input, Job};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The number of bytes of a block, all arrays together: large enough that every thread has a fraction of every
/// array and that a transfer runs at full speed, small enough for the caches that all threads share.
const BLOCK_BYTES: usize = 32 << 20;

/// Header key for the positions of the shear stiffnesses of a file.
pub const SHEARS: &str = "shears";
/// Value of [`SHEARS`]: the shear stiffnesses apply at the shear stresses, half a cell beyond the nodes.
pub const IN_PLACE: &str = "staggered";
/// Value of [`SHEARS`]: the shear stiffnesses of cut cells apply at the nodes.
pub const ON_NODES: &str = "collocated";

/// The name of the corresponding program for `ndim` dimensions.
pub fn of_dimensions(ndim: usize) -> String {
    let called = std::env::args_os().next().unwrap_or_default();
    let name = Path::new(&called)
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    name.replace(&format!("{}d", 5 - ndim), &format!("{ndim}d"))
}

/// The grid with its frame; an error if its cells cannot be counted.
pub fn padded(grid: &Grid, nb: usize) -> anyhow::Result<Padded> {
    let padded = Padded::new(grid, nb);
    let framed = Grid {
        n: padded.n,
        ..grid.clone()
    };
    framed
        .check()
        .with_context(|| format!("nb={nb} around the grid {}", words(grid)))?;
    Ok(padded)
}

/// The grid in words, such as `z 200 x x 300`.
pub fn words(grid: &Grid) -> String {
    (0..grid.ndim)
        .map(|a| format!("{} {}", AXES[a], grid.n[a]))
        .collect::<Vec<_>>()
        .join(" x ")
}

/// The volumes of a model. Files of binary numbers are never kept in memory as a whole; a pipe or text can only be read
/// in order, plane after plane, and is kept in memory from the start.
pub struct Volumes {
    planes: Planes,
    density: Source,
    fingerprint: Option<Arc<Fingerprint>>,
    stiff: AtomicUsize,
}

/// A number that stands for no cell.
const NONE: usize = usize::MAX;

/// A checksum of all numbers of a model; it does not depend on the parts in which the model is read.
#[derive(Default)]
pub struct Fingerprint(AtomicU64);

impl Fingerprint {
    /// The checksum of the last reading.
    pub fn sum(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    /// Adds lines of an array; lines outside `own` belong to another rank and are ignored.
    fn add(&self, (array, first): (usize, usize), nz: usize, values: &[f32], own: &Range<usize>) {
        for (k, line) in values.chunks_exact(nz).enumerate() {
            if own.contains(&(first + k)) {
                let seed = ((array as u64) << 56) ^ (first + k) as u64;
                let sum = xxh3_64_with_seed(bytemuck::cast_slice(line), seed);
                self.0.fetch_add(sum, Ordering::Relaxed);
            }
        }
    }
}

/// The origin of the stiffness planes.
enum Planes {
    /// A file that contains them, and the plane of the file for each place in memory.
    Stiffness(Source, Vec<usize>),
    /// P and S velocities of an isotropic medium.
    Speeds([Source; 2]),
}

impl Volumes {
    /// One cell, by its number in file order.
    pub fn cell(&self, cell: usize) -> rsf_io::Result<Cell> {
        let one = |source: &Source| {
            let mut value = [0.0];
            source.read(cell, &mut value).map(|()| value[0])
        };
        Ok(Cell {
            speeds: match &self.planes {
                Planes::Stiffness(..) => None,
                Planes::Speeds([vp, vs]) => Some([one(vp)?, one(vs)?]),
            },
            density: one(&self.density)?,
        })
    }

    /// The first cell read so far whose P and S velocities are possible in a plane but not in a solid: its bulk modulus
    /// would be negative.
    pub fn too_stiff(&self) -> Option<usize> {
        Some(self.stiff.load(Ordering::SeqCst)).filter(|cell| *cell != NONE)
    }

    /// The widest class that the model can have: isotropic if it is given by velocities.
    pub fn widest(&self) -> Symmetry {
        match self.planes {
            Planes::Speeds(_) => Symmetry::Isotropic,
            Planes::Stiffness(..) => Symmetry::Orthorhombic,
        }
    }

    /// Whether the model has the same values along z at all places.
    pub fn are_flat(&self) -> bool {
        let Planes::Speeds([vp, vs]) = &self.planes else {
            return false;
        };
        [vp, vs, &self.density]
            .iter()
            .all(|source| matches!(source, Source::Column(_)))
    }

    /// Reads and checks the part of the model that the padded planes `own` need and passes it to the destination, in
    /// one pass, a block at a time: the requested coefficients, with zeros for coefficients that the files do not have.
    ///
    /// Returns the findings about the model inside `own`, or the first cell inside it that no run can use.
    pub fn read(
        &self,
        padded: &Padded,
        own: &Range<usize>,
        cpu: &Cpu,
        destination: &mut dyn Destination,
    ) -> anyhow::Result<Result<Findings, BadCell>> {
        self.read_around(padded, [own, own], cpu, destination)
    }

    /// Like [`Self::read`], for the padded planes `prepared`, of which `own` are a part.
    pub fn read_around(
        &self,
        padded: &Padded,
        [own, prepared]: [&Range<usize>; 2],
        cpu: &Cpu,
        destination: &mut dyn Destination,
    ) -> anyhow::Result<Result<Findings, BadCell>> {
        let (ndim, nz, cells) = (padded.ndim(), padded.model.n[0], padded.model.cells());
        let kind = destination.coefficients();
        let names = kind.count(ndim);
        let numbers = |array: usize, line: usize, to: &mut [f32]| {
            if array == names {
                return self.density.read(line * nz, to);
            }
            match &self.planes {
                Planes::Stiffness(file, planes) => match planes.get(array) {
                    Some(plane) => file.read(plane * cells + line * nz, to),
                    None => {
                        to.fill(0.0);
                        Ok(())
                    }
                },
                Planes::Speeds([vp, vs]) => {
                    let (mut p, mut s) = (vec![0.0; to.len()], vec![0.0; to.len()]);
                    vp.read(line * nz, &mut p)?;
                    vs.read(line * nz, &mut s)?;
                    self.density.read(line * nz, to)?;
                    let stiff = |(p, s): (&f32, &f32)| 4.0 * s * s >= 3.0 * p * p && *p > 0.0;
                    if let Some(at) = p.iter().zip(&s).position(stiff).filter(|_| array == 0) {
                        self.stiff.fetch_min(line * nz + at, Ordering::SeqCst);
                    }
                    isotropic_plane(ndim, array, [&p, &s], to);
                    Ok(())
                }
            }
        };
        let rows = lines_of_plane(padded);
        let lines = |planes: Range<usize>| planes.start * rows..planes.end * rows;
        let low = padded.low[ndim - 1];
        let model = |plane: usize| plane.saturating_sub(low).min(padded.model.n[ndim - 1]);
        let judged = lines(model(own.start)..model(own.end));
        let fingerprint = self.fingerprint.as_deref();
        if let Some(fingerprint) = fingerprint {
            fingerprint.0.store(0, Ordering::SeqCst);
        }
        let load = |array: usize, line: usize, to: &mut [f32]| -> rsf_io::Result<()> {
            numbers(array, line, to)?;
            if let Some(fingerprint) = fingerprint {
                fingerprint.add((array, line), nz, to, &judged);
            }
            Ok(())
        };
        let range = lines(needed(padded, prepared));
        let mut inspection = Inspection::part(padded, kind, range.start, judged.clone());
        let step = destination.lines((BLOCK_BYTES / (4 * nz * (names + 1))).max(1));
        for first in range.clone().step_by(step) {
            let count = step.min(range.end - first);
            inspection.block(cpu, destination.block(count)?, load)?;
            destination.commit(first, count)?;
        }
        Ok(inspection.finish())
    }
}

/// The opened files of a model of any kind.
pub trait Opened {
    /// The volumes that are read from the files.
    type Volumes;

    /// The number of bytes of inputs that must be held in memory as a whole.
    fn held(&self) -> u64;

    /// Prepares the volumes of a model of this dimension; reading them puts the checksum into `fingerprint`.
    fn volumes(self, ndim: usize, fingerprint: Option<Arc<Fingerprint>>) -> anyhow::Result<Self::Volumes>;

    /// A checksum of a model whose checksum is not among the contents of a run.
    fn checksum(_volumes: &Self::Volumes) -> anyhow::Result<Option<u64>> {
        Ok(None)
    }
}

impl Opened for Files {
    type Volumes = Volumes;

    fn held(&self) -> u64 {
        held(&self.inputs())
    }

    fn volumes(self, ndim: usize, fingerprint: Option<Arc<Fingerprint>>) -> anyhow::Result<Volumes> {
        self.ready(ndim, fingerprint)
    }

    fn checksum(volumes: &Volumes) -> anyhow::Result<Option<u64>> {
        volumes.checksum().map(Some)
    }
}

/// The description of a grid in states.
pub fn layout(grid: &Grid) -> String {
    let axes = (0..grid.ndim).map(|a| format!("{} n={} o={} d={}", AXES[a], grid.n[a], grid.o[a], grid.d[a]));
    axes.collect::<Vec<_>>().join(", ")
}

/// The opened files of a model on a grid.
pub enum Files {
    /// P velocity, S velocity and density.
    Speeds([Input; 3]),
    /// Stiffness planes and density.
    Stiffness([Input; 2]),
    /// P velocity, S velocity and density along z, the same at all places of a grid.
    Layers(Grid, [Vec<f32>; 3]),
}

impl Files {
    /// All inputs.
    pub fn inputs(&self) -> Vec<&Input> {
        match self {
            Self::Speeds(files) => files.iter().collect(),
            Self::Stiffness(files) => files.iter().collect(),
            Self::Layers(..) => Vec::new(),
        }
    }

    /// The grid, after a check that all files have the same.
    pub fn grid(&self, job: &Job, ndim: usize) -> anyhow::Result<Grid> {
        let grid = match self {
            Self::Speeds([vp, vs, den]) => axes::plain_grid(&[vp, vs, den], ndim),
            Self::Stiffness([ccc, den]) => axes::grid(ccc, den, ndim),
            Self::Layers(grid, _) => Ok(grid.clone()),
        }?;
        order::warn(job, &self.inputs(), ndim);
        Ok(grid)
    }

    /// The coefficients in the planes of a model of this dimension; for velocities, the coefficients of an orthorhombic
    /// medium.
    pub fn coefficients(&self, ndim: usize) -> Coefficients {
        let kind = match self {
            Self::Speeds(_) | Self::Layers(..) => None,
            Self::Stiffness([ccc, _]) => Coefficients::of_count(ndim, ccc.axis(ndim + 1).n),
        };
        kind.unwrap_or(Coefficients::Orthorhombic)
    }

    /// Whether the header says that the shear stiffnesses of cut cells are at this place ([`SHEARS`]).
    pub fn shears_stand(&self, place: &str) -> bool {
        matches!(self, Self::Stiffness([ccc, _]) if ccc.header().text(SHEARS).as_deref() == Some(place))
    }

    /// Prepares the volumes of a model of this dimension; reading them puts the checksum into `fingerprint`.
    fn ready(self, ndim: usize, fingerprint: Option<Arc<Fingerprint>>) -> anyhow::Result<Volumes> {
        let order = self.coefficients(ndim).table(ndim).file_order();
        let mut planes = vec![0; order.len()];
        order
            .iter()
            .enumerate()
            .for_each(|(plane, &place)| planes[place] = plane);
        Ok(match self {
            Self::Speeds([vp, vs, density]) => Volumes {
                planes: Planes::Speeds([Source::of(vp)?, Source::of(vs)?]),
                density: Source::of(density)?,
                fingerprint,
                stiff: AtomicUsize::new(NONE),
            },
            Self::Stiffness([stiffness, density]) => Volumes {
                planes: Planes::Stiffness(Source::of(stiffness)?, planes),
                density: Source::of(density)?,
                fingerprint,
                stiff: AtomicUsize::new(NONE),
            },
            Self::Layers(_, [vp, vs, density]) => Volumes {
                planes: Planes::Speeds([vp, vs].map(Source::Column)),
                density: Source::Column(density),
                fingerprint,
                stiff: AtomicUsize::new(NONE),
            },
        })
    }
}

/// The values of the files in one cell.
pub struct Cell {
    /// P and S velocity, if the files contain velocities.
    pub speeds: Option<[f32; 2]>,
    /// Density in kg/m3.
    pub density: f32,
}

/// The number of bytes of the inputs that [`Volumes`] must keep in memory.
fn held(inputs: &[&Input]) -> u64 {
    inputs
        .iter()
        .filter(|input| !input.is_seekable())
        .map(|input| 4 * input.len())
        .sum()
}

/// Numbers that threads read at any position.
enum Source {
    /// Numbers in a file of binary numbers.
    File(Input),
    /// All numbers of an input that can only be read in order.
    Held(Vec<f32>),
    /// The values along z, which are the same at every x and y.
    Column(Vec<f32>),
}

impl Source {
    fn of(mut input: Input) -> anyhow::Result<Self> {
        Ok(if input.is_seekable() {
            Self::File(input)
        } else {
            Self::Held(input.read_all_f32()?)
        })
    }

    fn read(&self, start: usize, to: &mut [f32]) -> rsf_io::Result<()> {
        match self {
            Self::File(input) => input.read_f32_at(start as u64, to),
            Self::Held(all) => {
                to.copy_from_slice(&all[start..start + to.len()]);
                Ok(())
            }
            Self::Column(line) => {
                let values = line.iter().cycle().skip(start % line.len());
                to.iter_mut().zip(values).for_each(|(to, value)| *to = *value);
                Ok(())
            }
        }
    }
}

/// A cell of the model in words, given its number in file order.
pub fn cell_words(padded: &Padded, cell: usize) -> String {
    padded.describe(kernels::medium::cell_of(padded, cell))
}
