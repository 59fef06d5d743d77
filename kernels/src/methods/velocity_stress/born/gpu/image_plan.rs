//! The memory layout of images on a device.

use super::super::Number;
use super::super::imaging::{ImageRequest, Kind, halves};
use super::slab::LocalProgram;

/// The sums of a kind: for each field the bits of the axes along which it lies between the nodes, and the offsets of
/// image and illumination.
pub struct Sum {
    pub kind: Kind,
    pub halves: Vec<i32>,
    pub image: usize,
    pub light: usize,
}

/// The memory layout of images on a device, in numbers.
pub struct Plan {
    pub sums: Vec<Sum>,
    pub cells: usize,
    /// Lags along z, rows, planes, concatenated.
    pub lags: Vec<i32>,
    /// Offsets in the record of a step: pressure, force of S waves, stresses.
    pub image_fields: [usize; 3],
    /// Length of the record of a step.
    pub kept: usize,
    /// Offsets of the factors of the shot and of the data.
    pub own: usize,
    pub other: usize,
    /// Offsets of the potential of P waves, and of the factor by which it follows from the normal stresses.
    pub potential: usize,
    pub share: usize,
    /// Offset of the adjoint pressure, summed over the steps.
    pub later: usize,
    /// Offsets of the fields of the next time step, by kind, for means with the fields of the current step.
    pub next: [usize; 4],
    /// Total length without the records of steps.
    pub all: usize,
}

impl Plan {
    /// The layout of the requested images, on the planes of a device.
    pub fn new<T: Number>(slab: LocalProgram<'_, T>, request: &ImageRequest) -> Self {
        let program = slab.program;
        let (ndim, len, stresses) = (program.ndim(), slab.len(), program.stresses());
        let [_, n] = model(slab);
        let cells = n.iter().product();
        let has = |kinds: &[Kind]| request.kinds.iter().any(|kind| kinds.contains(kind));
        let place = |next: &mut usize, numbers: usize| {
            let at = *next;
            *next += numbers;
            at
        };
        let fields = |kinds: &[Kind], count: usize| if has(kinds) { count * len } else { 0 };
        let (mut kept, mut all) = (0, 0);
        let image_fields = [
            (&[Kind::Pp, Kind::Ps][..], 1),
            (&[Kind::Sp], ndim),
            (&[Kind::Energy], stresses),
        ];
        let image_fields = image_fields.map(|(kinds, count)| place(&mut kept, fields(kinds, count)));
        let turns = program.turns().len();
        let own = fields(&[Kind::Pp], 1).max(fields(&[Kind::Ps, Kind::Energy], ndim));
        let other = fields(&[Kind::Pp], 1)
            .max(fields(&[Kind::Ps, Kind::Sp], ndim))
            .max(fields(&[Kind::Energy], ndim + stresses));
        let turned = fields(&[Kind::Ss], turns);
        let of_p = fields(&[Kind::Ps, Kind::Sp], 1);
        let [own, other, potential, share, later] = [
            own.max(turned),
            other.max(turned),
            of_p,
            of_p,
            fields(&[Kind::Pp], 1),
        ]
        .map(|numbers| place(&mut all, numbers));
        let next = [
            (Kind::Ps, ndim),
            (Kind::Sp, ndim),
            (Kind::Ss, turns),
            (Kind::Energy, ndim + stresses),
        ]
        .map(|(kind, count)| place(&mut all, fields(&[kind], count)));
        let sums = request.kinds.iter().map(|&kind| Sum {
            kind,
            halves: halves(program, kind).into_iter().map(bits).collect(),
            image: place(&mut all, request.lags.len() * cells),
            light: place(&mut all, cells),
        });
        Self {
            sums: sums.collect(),
            cells,
            lags: request.along(ndim).flatten().map(|lag| lag as i32).collect(),
            image_fields,
            kept,
            own,
            other,
            potential,
            share,
            later,
            next,
            all,
        }
    }

    /// Bytes without the records of steps.
    pub fn bytes(&self) -> usize {
        (self.all + self.lags.len()) * size_of::<f32>()
    }

    /// Whether P and S waves are separated.
    pub fn separates(&self) -> bool {
        self.sums.iter().any(|sum| sum.kind.separates())
    }

    /// Whether the potential of P waves is needed.
    pub fn has_potentials(&self) -> bool {
        self.sums
            .iter()
            .any(|sum| matches!(sum.kind, Kind::Ps | Kind::Sp))
    }
}

/// Encodes a position between the nodes as a bit for every axis.
fn bits(half: [bool; 3]) -> i32 {
    (0..3).map(|axis| i32::from(half[axis]) << axis).sum()
}

/// The first of the model's cells that a device computes, as indices into its memory, and the number of these cells:
/// along z, rows, planes.
pub fn model<T: Number>(slab: LocalProgram<'_, T>) -> [[usize; 3]; 2] {
    let padded = &slab.program.rows.padded;
    let (low, n) = (padded.low, padded.model.n);
    let (first, n) = match slab.ndim() {
        3 => (low, n),
        _ => ([low[0], 0, low[1]], [n[0], 1, n[1]]),
    };
    let planes = slab.planes.within(&(first[2]..first[2] + n[2]));
    [[first[0], first[1], planes.start], [n[0], n[1], planes.len()]]
}
