//! Where everything lies that images take on a device.

use super::super::Number;
use super::super::imaging::{Kind, Wanted, halves};
use super::slab::LocalProgram;

/// The sums of a kind: a bit of a field for every axis along which it lies between the nodes, and where image and illumination begin.
pub struct Sum {
    pub kind: Kind,
    pub halves: Vec<i32>,
    pub image: usize,
    pub light: usize,
}

/// Where everything lies that images take on a device, in numbers.
pub struct Plan {
    pub sums: Vec<Sum>,
    /// Cells of the model.
    pub cells: usize,
    /// By lag, along z, rows, planes.
    pub lags: Vec<i32>,
    /// In what is kept of a step: pressure, force of S waves, stresses.
    pub film: [usize; 3],
    /// Numbers that are kept of a step.
    pub kept: usize,
    /// What is multiplied, of the shot and of the data.
    pub own: usize,
    pub other: usize,
    /// The potential of P waves, and its share of the normal stresses.
    pub potential: usize,
    pub share: usize,
    /// The adjoint pressure, summed over the steps.
    pub later: usize,
    /// Fields of the next step, of which the mean with those of this step is multiplied, by kind.
    pub next: [usize; 4],
    /// All numbers beside those of steps.
    pub all: usize,
}

impl Plan {
    /// Of the images that are wanted, on the planes that a device has.
    pub fn new<T: Number>(slab: LocalProgram<'_, T>, wanted: &Wanted) -> Self {
        let program = slab.program;
        let (ndim, len, stresses) = (program.ndim(), slab.len(), program.stresses());
        let [_, n] = model(slab);
        let cells = n.iter().product();
        let has = |kinds: &[Kind]| wanted.kinds.iter().any(|kind| kinds.contains(kind));
        let place = |next: &mut usize, numbers: usize| {
            let at = *next;
            *next += numbers;
            at
        };
        let fields = |kinds: &[Kind], count: usize| if has(kinds) { count * len } else { 0 };
        let (mut kept, mut all) = (0, 0);
        let film = [
            (&[Kind::Pp, Kind::Ps][..], 1),
            (&[Kind::Sp], ndim),
            (&[Kind::Energy], stresses),
        ];
        let film = film.map(|(kinds, count)| place(&mut kept, fields(kinds, count)));
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
        let sums = wanted.kinds.iter().map(|&kind| Sum {
            kind,
            halves: halves(program, kind).into_iter().map(bits).collect(),
            image: place(&mut all, wanted.lags.len() * cells),
            light: place(&mut all, cells),
        });
        Self {
            sums: sums.collect(),
            cells,
            lags: wanted.along(ndim).flatten().map(|lag| lag as i32).collect(),
            film,
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

    /// Bytes beside those of steps.
    pub fn bytes(&self) -> usize {
        (self.all + self.lags.len()) * size_of::<f32>()
    }

    /// Whether P and S waves are taken apart.
    pub fn separates(&self) -> bool {
        self.sums.iter().any(|sum| sum.kind.separates())
    }

    /// Whether potentials of P waves are asked for.
    pub fn has_potentials(&self) -> bool {
        self.sums
            .iter()
            .any(|sum| matches!(sum.kind, Kind::Ps | Kind::Sp))
    }
}

/// A bit for every axis.
fn bits(half: [bool; 3]) -> i32 {
    (0..3).map(|axis| i32::from(half[axis]) << axis).sum()
}

/// Where the cells of the model that a device computes begin in its memory, and how many there are: along z, rows, planes.
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
