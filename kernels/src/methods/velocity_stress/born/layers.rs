//! The absorbing layers as linear operators on rows: the stretched derivative with its memory, and its transpose.

use super::Number;
use super::grid::Rows;
use crate::boundary::cpml;
use crate::methods::velocity_stress::absorbing_frame::Edges;
use crate::methods::velocity_stress::rows::NONE;
use std::ops::Range;

/// The layers of one axis.
struct Layer<T> {
    /// Factors at the nodes and half a cell further on.
    factors: [cpml::Factors<T>; 2],
    /// Number of each line (plane, row or `z`) among those in the layers, or [`NONE`].
    number: Vec<usize>,
    /// How many there are.
    count: usize,
}

/// The layers of all axes.
pub struct Layers<T> {
    axes: [Option<Layer<T>>; 3],
    planes: usize,
    rows: usize,
    pitch: usize,
    z: Range<usize>,
}

/// A part of a row in a layer: its cells along z, and where the memory of the first one stands.
pub type Piece = (Range<usize>, usize);

/// The factors `1/kappa`, `a`, `b` of a piece of a row.
#[derive(Clone, Copy)]
enum Factors<'a, T> {
    Cells([&'a [T]; 3]),
    Line([T; 3]),
}

impl<T: Number> Layers<T> {
    /// The layers of a frame.
    pub fn new(rows: &Rows<T>, edges: &Edges<T>) -> Self {
        let p = &rows.padded;
        let live = [rows.z.clone(), rows.rows.clone(), rows.planes.clone()];
        let axes = [0, 1, 2].map(|axis| {
            let factors = edges
                .factors(axis)
                .filter(|_| rows.axes().contains(&axis))?
                .clone();
            let one = |f: &cpml::Factors<T>, i: usize| {
                f.inverse_kappa[i] == T::of(1.0) && f.a[i] == T::of(0.0) && f.b[i] == T::of(0.0)
            };
            let mut count = 0;
            let lines = [p.n[0], p.rows(), p.planes()][axis];
            let number = (0..lines).map(|i| {
                if !live[axis].contains(&i) || factors.iter().all(|f| one(f, i)) {
                    return NONE;
                }
                count += 1;
                count - 1
            });
            let number = number.collect();
            (count > 0).then_some(Layer {
                factors,
                number,
                count,
            })
        });
        Self {
            axes,
            planes: p.planes(),
            rows: p.rows(),
            pitch: p.pitch(),
            z: rows.z.clone(),
        }
    }

    /// The factors across an axis at the nodes and half a cell further on, and the number of each line, where there are layers.
    pub fn lines(&self, axis: usize) -> Option<(&[cpml::Factors<T>; 2], &[usize])> {
        let layer = self.axes[axis].as_ref()?;
        Some((&layer.factors, &layer.number))
    }

    /// Numbers that the memory of one component takes across an axis.
    fn component(&self, axis: usize) -> usize {
        let count = self.axes[axis].as_ref().map_or(0, |layer| layer.count);
        count
            * [
                self.planes * self.rows,
                self.planes * self.pitch,
                self.rows * self.pitch,
            ][axis]
    }

    /// Zeroed memory of a stage in so many dimensions, by axis: `[component][plane][row][z]`, where the axis has its
    /// lines in the layers alone.
    pub fn memory(&self, ndim: usize) -> [Vec<T>; 3] {
        [0, 1, 2].map(|axis| vec![T::of(0.0); ndim * self.component(axis)])
    }

    /// The parts of a row that lie in the layers across an axis, with the memory of a component.
    pub fn pieces(&self, axis: usize, component: usize, plane: usize, row: usize) -> [Option<Piece>; 2] {
        let Some(layer) = &self.axes[axis] else {
            return [None, None];
        };
        let start = component * self.component(axis);
        let (line, across) = match axis {
            0 => return self.along(layer, start + (plane * self.rows + row) * layer.count),
            1 => (layer.number[row], plane * layer.count),
            _ => (layer.number[plane], 0),
        };
        if line == NONE {
            return [None, None];
        }
        let at = match axis {
            1 => (across + line) * self.pitch,
            _ => (line * self.rows + row) * self.pitch,
        };
        [Some((self.z.clone(), start + at + self.z.start)), None]
    }

    /// The same along z.
    fn along(&self, layer: &Layer<T>, start: usize) -> [Option<Piece>; 2] {
        let framed = |z: &usize| layer.number[*z] != NONE;
        let low = self.z.clone().take_while(framed).count();
        if low == self.z.len() {
            return [Some((self.z.clone(), start)), None];
        }
        let (first, end) = (self.z.start, self.z.end);
        let piece = |z: Range<usize>, at: usize| (!z.is_empty()).then_some((z, at));
        [
            piece(first..first + low, start),
            piece(end - (layer.count - low)..end, start + low),
        ]
    }

    /// The factors of a piece at the nodes or half a cell further on.
    fn factors(
        &self,
        axis: usize,
        half: bool,
        (plane, row): (usize, usize),
        z: &Range<usize>,
    ) -> Factors<'_, T> {
        let layer = self.axes[axis].as_ref().expect("a piece lies in a layer");
        let f = &layer.factors[usize::from(half)];
        let all = [&f.inverse_kappa, &f.a, &f.b];
        match axis {
            0 => Factors::Cells(all.map(|v| &v[z.clone()])),
            1 => Factors::Line(all.map(|v| v[row])),
            _ => Factors::Line(all.map(|v| v[plane])),
        }
    }

    /// Komatitsch & Martin 2007: `psi <- b psi + a D`, `D <- D / kappa + psi`.
    #[inline(always)]
    pub fn stretch(&self, at: Place<'_>, d: &mut [T], psi: &mut [T]) {
        let cell = |[k, a, b]: [T; 3], d: &mut T, psi: &mut T| {
            *psi = b * *psi + a * *d;
            *d = k * *d + *psi;
        };
        self.visit(at, d, psi, cell);
    }

    /// The transpose: with the numbers `g` and `q` that wait for `D` and `psi`, `p = q + g`; `psi` gets `b p`, the
    /// derivative `g / kappa + a p`.
    #[inline(always)]
    pub fn unstretch(&self, at: Place<'_>, d: &mut [T], psi: &mut [T]) {
        let cell = |[k, a, b]: [T; 3], d: &mut T, psi: &mut T| {
            let p = *psi + *d;
            *d = k * *d + a * p;
            *psi = b * p;
        };
        self.visit(at, d, psi, cell);
    }

    #[inline(always)]
    fn visit(&self, at: Place<'_>, d: &mut [T], psi: &mut [T], cell: impl Fn([T; 3], &mut T, &mut T)) {
        let pairs = d.iter_mut().zip(psi);
        match self.factors(at.axis, at.half, at.line, at.z) {
            Factors::Line(f) => pairs.for_each(|(d, psi)| cell(f, d, psi)),
            Factors::Cells([k, a, b]) => {
                let factors = k.iter().zip(a).zip(b);
                for ((d, psi), ((&k, &a), &b)) in pairs.zip(factors) {
                    cell([k, a, b], d, psi);
                }
            }
        }
    }
}

/// Where a stretched derivative is taken.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// Along which axis.
    pub axis: usize,
    /// Half a cell beyond the nodes.
    pub half: bool,
    /// Plane and row.
    pub line: (usize, usize),
    /// Cells along z.
    pub z: &'a Range<usize>,
}
