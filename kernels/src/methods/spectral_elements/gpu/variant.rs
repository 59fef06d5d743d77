//! The kernel sources that a run compiles: each is a concatenation of files after the defines and the constant
//! arrays of its variant.

use super::pairing::Pairing;
use crate::device::accelerator::{Dims, Source};
use crate::mesh::Basis;
use crate::methods::spectral_elements::Grain;
use crate::methods::spectral_elements::attenuation::Coarse;
use crate::methods::spectral_elements::pml::highest_of;
use std::fmt::Write;

const PRELUDE: &str = include_str!("../../../device/prelude.cuh");
pub(super) const COMMON: &str = include_str!("elements.cuh");
const INSIDE: &str = include_str!("inside.cuh");
pub(super) const ELEMENTS: &str = include_str!("elements.cu");
const COLUMNS: &str = include_str!("columns.cu");
const LAYERS: &str = include_str!("layers.cu");
pub(super) const ATTENUATION: &str = include_str!("attenuation.cuh");
const NODES: &str = include_str!("nodes.cuh");
const STEP: &str = include_str!("nodes.cu");
const POINTS: &str = include_str!("points.cu");
const GRADIENT: &str = include_str!("gradient.cu");

/// Largest number of threads per block, unless an element has more; fewer threads leave registers for more blocks.
const MOST_THREADS: usize = 256;

/// Bytes of shared memory that a block can use on every device without opting in.
pub(super) const MOST_SHARED: usize = 48 << 10;

/// Number of banks of shared memory.
pub(super) const BANKS: usize = 32;

/// Flag of `goes_on` in elements.cuh: in elements with sources or receivers, the previous step is completed and this
/// one begun at the interior points.
pub const IN_HELD: i32 = 1;
/// Flag: in all other elements, the previous step is completed and this one begun at the interior points.
pub const IN_OTHERS: i32 = 2;
/// Flag: in all other elements the next step begins at the end of this one.
pub const AT_ONCE: i32 = 4;

/// The medium of the elements of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Lame's constants.
    Isotropic,
    /// 21 constants (in 2-D the constants of x and z).
    Table,
    /// A fluid, whose field is a potential.
    Fluid,
}

/// All options for which the kernel of elements is specialised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Number of dimensions, 2 or 3.
    pub dimension: usize,
    /// Degree of the basis, 2 to 8.
    pub degree: usize,
    /// The medium.
    pub kind: Kind,
    /// Whether the geometry of every point is stored; otherwise it is computed from the corners, which are all nodes.
    pub stored: bool,
    /// Attenuation, if there is any, by the distribution of its mechanisms.
    pub loss: Option<Grain>,
    /// Whether constants vary from point to point; otherwise they are constant in each region.
    pub varies: bool,
    /// The axes across which the elements have perfectly matched layers (layers.cu): bit a for axis a.
    pub layers: u8,
}

/// Which forces a kernel computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Forces {
    /// The forces of the wavefield that advances.
    OfField,
    /// The forces of the adjoint wavefield in perfectly matched layers.
    Transposed,
    /// The forces of a perturbation of the medium; true if losses vary from point to point.
    Scattered(bool),
}

/// The size of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Number of elements per block.
    pub elements: usize,
    /// Number of threads per block, in whole warps.
    pub threads: usize,
}

impl Block {
    /// The size that wastes the smallest fraction of the threads of whole warps, with this many threads per element; of
    /// several, the smallest with four warps or more.
    pub(super) fn of(own: usize) -> Self {
        let threads = |elements: usize| (elements * own).next_multiple_of(32);
        let counts = (1..=MOST_THREADS / own).filter(|n| threads(*n) <= MOST_THREADS);
        let waste = |n: &usize| (threads(*n) - n * own) as f64 / threads(*n) as f64;
        // Blocks of fewer than four warps rank last.
        let small = |n: &usize| if threads(*n) < 128 { 1.0 } else { 0.0 };
        let best = counts.min_by(|a, b| (waste(a) + small(a)).total_cmp(&(waste(b) + small(b))));
        let (elements, threads) = best.map_or((1, threads(1)), |n| (n, threads(n)));
        Self { elements, threads }
    }
}

impl Variant {
    /// Whether the elements lie in perfectly matched layers.
    pub fn damped(&self) -> bool {
        self.layers != 0
    }

    /// Number of components of the field.
    pub fn components(&self) -> usize {
        if self.kind == Kind::Fluid {
            1
        } else {
            self.dimension
        }
    }

    /// Number of points of a sheet across the last axis.
    pub(super) fn sheet(&self) -> usize {
        (self.degree + 1).pow(self.dimension as u32 - 1)
    }

    /// Number of threads per element: one for every column of points, in perfectly matched layers one for every point.
    fn own_threads(&self) -> usize {
        if self.damped() {
            self.points()
        } else {
            self.sheet()
        }
    }

    /// Number of points of an element.
    pub(super) fn points(&self) -> usize {
        self.sheet() * (self.degree + 1)
    }

    /// The size of a block.
    pub fn block(&self) -> Block {
        Block::of(self.own_threads())
    }

    /// Floats of shared memory for an element whose whole field is stored there with its slopes (`SEAT` of
    /// elements.cuh).
    fn seat(&self) -> usize {
        let filled = self.dimension * self.components() * self.points();
        filled + (2 * BANKS + self.sheet() % BANKS - filled % BANKS) % BANKS
    }

    /// Whether slopes come from whole lines of the field in shared memory (`LINES` of elements.cu). With all
    /// mechanisms at every point the kernel is bound by memory variables, lines of few points save little, and the
    /// field of large elements does not fit.
    fn in_lines(&self) -> bool {
        !self.damped()
            && self.loss != Some(Grain::Fine)
            && self.degree >= 4
            && self.block().elements * self.seat() * size_of::<f32>() <= MOST_SHARED
    }

    /// Floats of shared memory of a block for staged constants of every point (`STAGED` of elements.cuh): the constants
    /// two levels ahead, in groups of four.
    fn staged(&self) -> usize {
        let strains = self.dimension * (self.dimension + 1) / 2;
        let fours = strains * (strains + 1) / 2 / 4;
        match (self.kind, self.varies, self.loss) {
            (Kind::Table, true, None) => 2 * 4 * fours * self.block().threads,
            _ => 0,
        }
    }

    /// Floats of shared memory of a block for the interior points of its elements: velocity, mass, point number.
    fn numbers_inside(&self) -> usize {
        let points = (self.degree - 1).pow(self.dimension as u32);
        self.block().elements * points * (self.components() + 2)
    }

    /// Whether a step may begin at the interior points of elements as soon as their forces are known (`AT_ONCE` of
    /// elements.cuh): only where the kernel is bound by memory. Kernels bound by latency are slower with it
    /// (RESULTS-ELEMENTS.md).
    fn at_once(&self) -> bool {
        let filled = self.filled() + self.numbers_inside() * size_of::<f32>();
        self.in_lines() && self.staged() > 0 && filled <= MOST_SHARED
    }

    /// The flags for interior points with which this variant is launched, given the requested ones.
    pub fn inside(&self, requested: i32) -> i32 {
        match (self.at_once(), requested & IN_HELD) {
            (true, _) => requested,
            // No step of this variant has begun before its launch.
            (false, 0) => 0,
            (false, _) => IN_HELD | IN_OTHERS,
        }
    }

    /// The launch over `elements` elements.
    pub fn dims(&self, elements: usize) -> Dims {
        let block = self.block();
        Dims {
            grid: [elements.div_ceil(block.elements), 1, 1],
            threads: block.threads,
            shared: self.shared(),
        }
    }

    /// Bytes of shared memory of a block.
    pub fn shared(&self) -> usize {
        let inside = if self.at_once() { self.numbers_inside() } else { 0 };
        self.filled() + inside * size_of::<f32>()
    }

    /// Bytes of shared memory of a block without the data of interior points.
    fn filled(&self) -> usize {
        if self.damped() {
            let numbers = (1 + self.dimension) * self.components() * self.own_threads();
            return self.block().elements * numbers * size_of::<f32>();
        }
        if self.in_lines() {
            let lines = (self.block().elements * self.seat()).next_multiple_of(4);
            return (lines + self.staged()) * size_of::<f32>();
        }
        let sheets = usize::from(self.loss == Some(Grain::Fine)) + self.dimension;
        let slopes = if self.loss.is_some() {
            (self.degree + 1).pow(2)
        } else {
            0
        };
        (self.block().elements * sheets * self.components() * self.sheet() + slopes) * size_of::<f32>()
    }

    /// Blocks per multiprocessor for which registers are limited, where the compiler's own choice is slower; none of
    /// these limits causes spills.
    fn blocks(&self) -> Option<usize> {
        if (self.dimension, self.degree) != (3, 4) || self.damped() {
            return None;
        }
        let table = self.kind == Kind::Table;
        match (self.loss, self.stored, self.varies) {
            (Some(Grain::Fine), false, false) if !table => Some(4),
            (None, true, _) if !table => Some(5),
            (None, false, true) if table => Some(4),
            _ => None,
        }
    }

    /// The shares of coarse mechanisms as a constant array, if there are any.
    pub(super) fn shares(&self, basis: &Basis) -> String {
        let shares = match self.dimension {
            3 => Coarse::new::<3>(basis).shares,
            _ => Coarse::new::<2>(basis).shares,
        };
        match self.loss {
            Some(Grain::Coarse) => format!("__constant__ REAL SHARES[3] = {};", list(&shares.map(f64::from))),
            _ => String::new(),
        }
    }

    /// The defines that describe the elements of a launch, named as in elements.cuh.
    pub(super) fn defines(&self, block: Block) -> Vec<(&'static str, usize)> {
        let law = match self.kind {
            Kind::Isotropic => 0,
            Kind::Table => 1,
            Kind::Fluid => 2,
        };
        vec![
            ("COMPONENTS", self.components()),
            ("LAW", law),
            ("STORED", usize::from(self.stored)),
            ("LOSS", usize::from(self.loss.is_some())),
            ("COARSE", usize::from(self.loss == Some(Grain::Coarse))),
            ("VARIES", usize::from(self.varies)),
            ("ELEMENTS", block.elements),
            ("THREADS", block.threads),
        ]
    }

    /// Kernel `forces`.
    pub fn source(&self, basis: &Basis) -> Source {
        self.forces(basis, Forces::OfField)
    }

    /// Kernel `forces` for the adjoint wavefield, for elements in perfectly matched layers.
    pub fn transposed(&self, basis: &Basis) -> Source {
        self.forces(basis, Forces::Transposed)
    }

    /// Kernel `forces` for linearised runs: the forces of a perturbation of the medium, for elements outside perfectly
    /// matched layers. With `constants` the 21 constants of all solids are perturbed.
    pub fn scattering(&self, basis: &Basis, constants: bool) -> Source {
        self.changed(constants)
            .forces(basis, Forces::Scattered(self.varies))
    }

    /// The variant of a perturbation of this medium, which varies from point to point.
    pub fn changed(&self, constants: bool) -> Self {
        Self {
            kind: match (self.kind, constants) {
                (Kind::Fluid, _) => Kind::Fluid,
                (_, true) => Kind::Table,
                (_, false) => Kind::Isotropic,
            },
            varies: true,
            ..*self
        }
    }

    fn forces(&self, basis: &Basis, forces: Forces) -> Source {
        let block = self.block();
        let mut defines = self.defines(block);
        let (scattered, own_loss) = match forces {
            Forces::Scattered(own_loss) => (true, own_loss),
            _ => (false, self.varies),
        };
        defines.extend([
            ("LINES", usize::from(self.in_lines())),
            ("AT_ONCE", usize::from(self.at_once() && !scattered)),
            ("SCATTERED", usize::from(scattered)),
            ("ADVANCED", usize::from(scattered)),
            ("OWN_LOSS", usize::from(own_loss)),
            ("DAMPED", usize::from(self.damped())),
            ("AXES", usize::from(self.layers)),
            ("TRANSPOSED", usize::from(forces == Forces::Transposed)),
        ]);
        let blocks = self
            .blocks()
            .filter(|_| !scattered)
            .map_or(String::new(), |blocks| format!(", {blocks}"));
        let bounds = format!(
            "#ifndef CUDA_ON_CPU\n#undef BOUNDS\n#define BOUNDS __launch_bounds__(THREADS{blocks})\n#endif"
        );
        let lossy = self.loss.is_some();
        let (loss, vector) = if lossy { (ATTENUATION, 2) } else { ("", 1) };
        let shares = self.shares(basis);
        let highest = if self.damped() {
            highest(basis)
        } else {
            String::new()
        };
        let kernel = if self.damped() { LAYERS } else { COLUMNS };
        let texts = [
            &bounds,
            &numbers(basis),
            &shares,
            &highest,
            COMMON,
            loss,
            INSIDE,
            ELEMENTS,
            kernel,
        ];
        source(
            ("elements.cu", vector),
            (self.dimension, basis.len()),
            &defines,
            &texts,
        )
    }
}

pub(super) fn source(
    (file, vector): (&str, usize),
    (dimension, points): (usize, usize),
    defines: &[(&str, usize)],
    texts: &[&str],
) -> Source {
    let common = [("NDIM", dimension), ("N", points)];
    let mut head = format!("#define REAL_IS_DOUBLE 0\n#define VEC {vector}\n");
    let mut name = file.to_string();
    for (key, value) in common.iter().chain(defines) {
        let _ = writeln!(head, "#define {key} {value}");
        let _ = write!(name, " {key}={value}");
    }
    let text = [&[head.as_str(), PRELUDE], texts].concat().join("\n");
    Source { name, text }
}

/// Formats numbers as the initialiser of a constant array.
fn list(numbers: &[f64]) -> String {
    let words: Vec<String> = numbers.iter().map(|x| format!("{x:.9e}f")).collect();
    format!("{{{}}}", words.join(", "))
}

/// The points of the basis, their weights and the derivatives, as constant arrays.
pub(super) fn numbers(basis: &Basis) -> String {
    let n = basis.len();
    let row = |q: usize| list(&(0..n).map(|p| basis.derivative(q, p)).collect::<Vec<f64>>());
    let rows: Vec<String> = (0..n).map(row).collect();
    format!(
        "__constant__ REAL NODES[N] = {};\n__constant__ REAL WEIGHTS[N] = {};\n__constant__ REAL SLOPES[N][N] = {{{}}};\n",
        list(basis.points()),
        list(basis.weights()),
        rows.join(",\n")
    )
}

/// The tables HIGHEST and TAKES of layers.cu: the highest-degree Legendre polynomial at the points, and the weights
/// of its coefficient.
fn highest(basis: &Basis) -> String {
    let [values, takes] = highest_of(basis.points(), basis.weights());
    format!(
        "__constant__ REAL HIGHEST[N] = {};\n__constant__ REAL TAKES[N] = {};\n",
        list(&values),
        list(&takes)
    )
}

/// Kernels `advance`, `predict`, `correct_fluid`, `pack`.
pub fn nodes(dimension: usize) -> Source {
    source(("nodes.cu", 1), (dimension, 0), &[], &[NODES, STEP])
}

/// Kernels `inject`, `extract`, `snapshot`, `look`.
pub fn points(dimension: usize, basis: &Basis) -> Source {
    source(("points.cu", 1), (dimension, basis.len()), &[], &[NODES, POINTS])
}

/// Kernels `flush`, `faces`, `watch`, `largest` of gradients, `inertia` and `face_forces` of linearised runs.
pub fn gradient(dimension: usize) -> Source {
    source(("gradient.cu", 1), (dimension, 0), &[], &[GRADIENT])
}

/// Every kind of source that a run with elements of these degrees can need, for compilation checks without a device.
pub fn all(degrees: impl Iterator<Item = usize> + Clone) -> Vec<Source> {
    let mut sources = Vec::new();
    for dimension in [2, 3] {
        sources.extend([nodes(dimension), gradient(dimension)]);
        for degree in degrees.clone() {
            let Ok(basis) = Basis::new(degree) else { continue };
            sources.push(points(dimension, &basis));
            for kind in [Kind::Isotropic, Kind::Table, Kind::Fluid] {
                // Other degrees differ only in their constants, so one source of each kind suffices.
                let most = if degree == 4 { 12 } else { 9 };
                for bits in 0..most {
                    let [stored, varies] = [1, 2].map(|bit| bits & bit != 0);
                    let loss = [None, Some(Grain::Fine), Some(Grain::Coarse)][bits / 4];
                    let variant = Variant {
                        dimension,
                        degree,
                        kind,
                        stored,
                        loss,
                        varies,
                        layers: 0,
                    };
                    if loss.is_none() || kind != Kind::Fluid {
                        sources.push(variant.source(&basis));
                        let constants = kind == Kind::Table;
                        if constants || !varies || loss.is_some() {
                            sources.push(variant.scattering(&basis, constants));
                        }
                        if kind != Kind::Table && (loss.is_some() || !varies) {
                            let both = [stored != varies, stored == varies];
                            let kinds = if degree == 4 { &both[..] } else { &both[..1] };
                            let pairing = |constants: &bool| Pairing::new(variant, *constants).source(&basis);
                            sources.extend(kinds.iter().map(pairing));
                        }
                        if degree == 4 {
                            // Layers lie across one axis, two axes or all axes.
                            let all = (1u8 << dimension) - 1;
                            let layers = [2, 3, all][bits % 3].min(all);
                            let variant = Variant { layers, ..variant };
                            sources.push(variant.source(&basis));
                            if !(stored || varies) {
                                sources.push(variant.transposed(&basis));
                            }
                        }
                    }
                }
            }
        }
    }
    sources
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_full() {
        for dimension in [2, 3] {
            for degree in 2..=8 {
                let variant = Variant {
                    dimension,
                    degree,
                    kind: Kind::Table,
                    stored: false,
                    loss: Some(Grain::Fine),
                    varies: true,
                    layers: 0,
                };
                let block = variant.block();
                let used = (block.elements * variant.sheet()) as f64 / block.threads as f64;
                assert!(used > 0.93, "{dimension} {degree} {block:?}");
                assert!(variant.shared() <= MOST_SHARED, "{dimension} {degree} {block:?}");
            }
        }
    }
}
