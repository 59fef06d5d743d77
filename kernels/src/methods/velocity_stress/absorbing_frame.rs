//! The absorbing frame of the grid: its cells, the factors of its layers and their memory variables.

use super::layout::RIM;
use super::medium::live;
use super::rows::{Layer as RowLayer, NONE, Sponge};
use crate::Error;
use crate::boundary::{cpml, sponge};
use crate::device::cpu::Buffer;
use crate::device::simd::Real;
use crate::grid::{PITCH, Padded};
use crate::medium::Medium;
use crate::medium::voigt::{number, slot};
use std::ops::Range;

/// The absorbing boundary in the frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Absorber {
    /// Convolutional perfectly matched layers.
    Cpml(cpml::Layer),
    /// Cerjan's sponge with this damping weight at the outermost cells.
    Sponge(f64),
}

/// The frame: its cells on the low and high face of z, x, y, and the absorber in them. Faces without cells reflect
/// like a rigid wall.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Cells before and after the model along z, x, y.
    pub cells: [[usize; 2]; 3],
    /// The absorber in these cells.
    pub absorber: Absorber,
}

impl Frame {
    /// The grid with this frame and the rim around it.
    pub fn around(&self, grid: &crate::grid::Grid) -> Padded {
        Padded::framed(grid, self.cells.map(|ends| ends.map(|n| n + RIM)))
    }
}

/// A cell of the model in whose medium the adjacent layers are unstable: `[z, x, y]` in padded indices, and the axes of
/// the plane in which the wavefield grows.
pub type Growing = ([usize; 3], [usize; 2]);

impl Frame {
    /// The first cell on a face with layers whose medium makes them unstable (by [`cpml::holds`] in a plane
    /// through the face's normal), among the planes of the model that `medium` holds.
    pub fn first_growing<T: Real>(&self, medium: &Medium<T>) -> Option<Growing> {
        if matches!(self.absorber, Absorber::Sponge(_)) {
            return None;
        }
        let p = medium.padded();
        let mut last = [f64::NAN; 4];
        (0..p.ndim()).find_map(|axis| {
            let others = (0..p.ndim()).filter(move |&b| b != axis);
            (0..2)
                .filter(|&side| self.cells[axis][side] > 0)
                .find_map(|side| {
                    others.clone().find_map(|other| {
                        face(medium, axis, side)
                            .find(|&cell| {
                                let c = plane(medium, cell, axis, other);
                                let known = c == last;
                                last = c;
                                !known && !cpml::holds(c[0], c[1], c[2], c[3])
                            })
                            .map(|cell| (cell, [axis, other]))
                    })
                })
        })
    }
}

impl Frame {
    /// The sort key of a cell with unstable layers in the order of the search: the least key found in the parts of a
    /// model is the key found in the whole.
    pub fn order(&([z, x, y], [axis, other]): &Growing) -> [usize; 6] {
        [axis, [z, x, y][axis], other, y, x, z]
    }
}

/// The model's cells on a face, in padded indices, on the planes that the medium holds.
fn face<T: Real>(medium: &Medium<T>, axis: usize, side: usize) -> impl Iterator<Item = [usize; 3]> + use<T> {
    let (p, held) = (medium.padded(), medium.planes());
    let last = p.ndim() - 1;
    let ranges = [0, 1, 2].map(|a| {
        let (low, n) = (p.low[a], p.model.n[a]);
        let all = match (a == axis, side) {
            (false, _) => low..low + n,
            (true, 0) => low..low + 1,
            (true, _) => low + n - 1..low + n,
        };
        if a == last {
            all.start.max(low + held.start)..all.end.min(low + held.end)
        } else {
            all
        }
    });
    let [z, x, y] = ranges;
    y.flat_map(move |y| {
        let z = z.clone();
        x.clone().flat_map(move |x| z.clone().map(move |z| [z, x, y]))
    })
}

/// Normal stiffnesses of two axes (z, x, y), their shear stiffness and their coupling at a cell.
fn plane<T: Real>(medium: &Medium<T>, [z, x, y]: [usize; 3], a: usize, b: usize) -> [f64; 4] {
    let three = medium.padded().ndim() == 3;
    let at = if three {
        medium.row_start(y, x)
    } else {
        medium.row_start(x, 0)
    } + z;
    places(medium.padded().ndim(), a, b).map(|k| medium.stiffness_array(k)[at].f64())
}

/// Indices in memory order of the normal stiffnesses of two axes (z, x, y), their shear stiffness and their coupling.
pub(super) fn places(ndim: usize, a: usize, b: usize) -> [usize; 4] {
    // z, x, y are the third, first and second axis of Voigt numbers.
    let [a, b] = [a, b].map(|axis| (axis + 2) % 3);
    let shear = number(a, b);
    let [one, other] = [number(a, a), number(b, b)];
    let coupling = (one.min(other), one.max(other));
    [(one, one), (other, other), (shear, shear), coupling].map(|pair| slot(ndim, pair))
}

/// Factors at the nodes and half a cell beyond, of each axis z, row, plane.
type Factors<T> = [[cpml::Factors<T>; 2]; 3];

/// The frame of a grid, shared by all slabs. Axes are z, row, plane.
pub(super) struct Edges<T> {
    /// Number of each row and plane among the rows and planes of the frame, or [`NONE`].
    lines: [Vec<usize>; 3],
    /// Number of rows and planes in the frame.
    counts: [usize; 3],
    /// Bounds along `z`: frame, interior, frame.
    z: [usize; 4],
    /// Cells of the frame before and after the model along z, x, y.
    faces: [[usize; 2]; 3],
    /// The extent of the axis `z`.
    depth: cpml::Ends,
    layer: Option<Factors<T>>,
    sponge: Option<[Vec<T>; 3]>,
}

impl<T: Real> Edges<T> {
    /// The frame for a step of `dt`.
    pub fn new(padded: &Padded, frame: &Frame, dt: f64) -> Self {
        let ndim = padded.ndim();
        // In 2-D, rows are an axis of one cell without a frame.
        let ends = [0, if ndim == 3 { 1 } else { 3 }, ndim - 1].map(|a| match a {
            3 => cpml::Ends {
                n: 1,
                outside: [0; 2],
                thick: [0; 2],
                d: 1.0,
            },
            _ => cpml::Ends {
                n: padded.n[a],
                outside: [padded.low[a], padded.n[a] - padded.low[a] - padded.model.n[a]],
                thick: frame.cells[a],
                d: f64::from(padded.d()[a]),
            },
        });
        let numbered = |e: &cpml::Ends| {
            let mut count = 0;
            let number = |i: usize| {
                let low = e.thick[0] > 0 && i < e.outside[0];
                let high = e.thick[1] > 0 && i + 1 + e.outside[1] >= e.n;
                if !(low || high) || !live(e.n).contains(&i) {
                    return NONE;
                }
                count += 1;
                count - 1
            };
            (0..e.n).map(number).collect::<Vec<_>>()
        };
        let lines = [
            vec![],
            if ndim == 3 { numbered(&ends[1]) } else { vec![NONE] },
            numbered(&ends[2]),
        ];
        let counts = [0, 1, 2].map(|a| lines[a].iter().filter(|&&l| l != NONE).count());
        let pitch = padded.pitch();
        let [low, high] = cut(&ends[0], pitch, PITCH);
        let (mut layer, mut weights) = (None, None);
        match &frame.absorber {
            Absorber::Cpml(settings) => {
                let axis = |k: usize| {
                    [0.0, 0.5].map(|shift| padded_to(settings.factors(&ends[k], shift, dt), k, pitch))
                };
                layer = Some([axis(0), axis(1), axis(2)]);
            }
            Absorber::Sponge(edge) => {
                let axis = |k: usize| sponge::faces(ends[k].n, ends[k].outside, ends[k].thick, *edge);
                let mut all: [Vec<T>; 3] = [axis(0), axis(1), axis(2)];
                all[0].resize(pitch, T::of(1.0));
                weights = Some(all);
            }
        }
        Self {
            lines,
            counts,
            z: [0, low, high, pitch],
            faces: frame.cells,
            depth: ends[0],
            layer,
            sponge: weights,
        }
    }

    /// Whether any face has a frame that absorbs.
    pub fn absorbs(&self) -> bool {
        self.width() + self.counts[1] + self.counts[2] > 0
    }

    /// Number of cells of a row that lie in the frame along `z`.
    fn width(&self) -> usize {
        self.z[1] + self.z[3] - self.z[2]
    }

    /// Memory variables of an axis per plane; 0 without layers.
    pub fn layer_plane(&self, padded: &Padded, axis: usize) -> usize {
        let (rows, pitch) = (padded.rows(), padded.pitch());
        let plane = [rows * self.width(), self.counts[1] * pitch, rows * pitch];
        if self.layer.is_some() { plane[axis] } else { 0 }
    }

    /// Sizes of the memory variables of a slab.
    fn sizes(&self, padded: &Padded, own: &Range<usize>) -> Sizes {
        let (rows, pitch) = (padded.rows(), padded.pitch());
        let mut framed = own.clone().map(|p| self.lines[2][p]).filter(|&l| l != NONE);
        let first = framed.next();
        Sizes {
            plane: [rows * self.width(), self.counts[1] * pitch, rows * pitch],
            planes: [
                own.len(),
                own.len(),
                framed.count() + usize::from(first.is_some()),
            ],
            first,
            on: if self.layer.is_some() { 3 } else { 0 },
        }
    }

    /// Number of memory variables of a slab, both stages together.
    pub fn variables(&self, padded: &Padded, own: &Range<usize>) -> usize {
        let sizes = self.sizes(padded, own);
        let all: usize = sizes.planes.iter().zip(sizes.plane).map(|(a, b)| a * b).sum();
        2 * sizes.on * all
    }

    /// Cells of the frame before and after the model along z, x, y.
    pub fn faces(&self) -> &[[usize; 2]; 3] {
        &self.faces
    }

    /// Bounds along `z` of the frame, the interior and the frame.
    pub fn z(&self) -> [usize; 4] {
        self.z
    }

    /// The two inner bounds of [`Edges::z`] rounded to multiples of another number: where the frame ends above the
    /// model's first cells (0 without one) and where it begins again (`pitch` without one).
    pub fn z_by(&self, multiple: usize) -> [usize; 2] {
        cut(&self.depth, self.z[3], multiple)
    }

    /// Index of each row (axis 1) or plane (axis 2) within the frame, or [`NONE`].
    pub fn lines(&self, axis: usize) -> &[usize] {
        &self.lines[axis]
    }

    /// Factors of the layers of an axis at its nodes and half a cell further on; `None` without layers.
    pub fn factors(&self, axis: usize) -> Option<&[cpml::Factors<T>; 2]> {
        self.layer.as_ref().map(|all| &all[axis])
    }

    /// Weights of the sponge along z, row, plane.
    pub fn weights(&self) -> Option<&[Vec<T>; 3]> {
        self.sponge.as_ref()
    }

    /// Whether all cells of a row of a plane lie in the frame.
    pub fn framed(&self, plane: usize, row: usize) -> bool {
        self.lines[1][row] != NONE || self.lines[2][plane] != NONE
    }

    pub fn sponge(&self, plane: usize) -> Option<Sponge<'_, T>> {
        self.sponge.as_ref().map(|w| Sponge {
            z: &w[0],
            rows: &w[1],
            plane: w[2][plane],
        })
    }
}

/// Where along `z` the frame ends and begins again, rounded towards the inside of the model to multiples of a number.
fn cut(ends: &cpml::Ends, pitch: usize, multiple: usize) -> [usize; 2] {
    let low = match ends.thick[0] {
        0 => 0,
        _ => ends.outside[0].next_multiple_of(multiple).min(pitch),
    };
    let high = match ends.thick[1] {
        0 => pitch,
        _ => (ends.n - ends.outside[1] - 1) / multiple * multiple,
    };
    [low, high.max(low)]
}

/// Pads the factors along `z` to the end of the row, since they are read a register at a time.
fn padded_to<T: Real>(mut factors: cpml::Factors<T>, axis: usize, pitch: usize) -> cpml::Factors<T> {
    if axis == 0 {
        factors.inverse_kappa.resize(pitch, T::of(1.0));
        factors.a.resize(pitch, T::of(0.0));
        factors.b.resize(pitch, T::of(0.0));
    }
    factors
}

/// Sizes of the memory variables of a slab, by axis.
struct Sizes {
    /// Memory variables per plane.
    plane: [usize; 3],
    /// Numbers of planes of a component.
    planes: [usize; 3],
    /// The index, among the planes of the frame, of the slab's first plane that lies in the frame.
    first: Option<usize>,
    /// Number of components per stage.
    on: usize,
}

/// The memory variables of a slab: `[component][plane][row][z]` for each stage and axis, where planes, rows or `z`
/// cover only the frame of that axis.
pub(super) struct Memory<T> {
    buffers: [[Buffer<T>; 3]; 2],
    /// Where rows start in a plane, by axis.
    starts: [Vec<usize>; 3],
    /// Memory variables per plane, by axis.
    plane: [usize; 3],
    /// Numbers of planes of a component, by axis.
    planes: [usize; 3],
    /// First plane, by axis, in that axis' numbering.
    first: [usize; 3],
}

impl<T: Real> Memory<T> {
    /// Allocates memory variables, initially zero, for the planes that a slab owns.
    pub fn new(padded: &Padded, edges: &Edges<T>, own: &Range<usize>) -> Result<Self, Error> {
        let (rows, pitch) = (padded.rows(), padded.pitch());
        let width = edges.width();
        let starts = [
            (0..rows).map(|r| r * width).collect::<Vec<_>>(),
            edges.lines[1]
                .iter()
                .map(|&l| if l == NONE { NONE } else { l * pitch })
                .collect(),
            (0..rows).map(|r| r * pitch).collect(),
        ];
        let Sizes {
            plane,
            planes,
            first,
            on,
        } = edges.sizes(padded, own);
        let stage = || -> Result<[Buffer<T>; 3], Error> {
            Ok([
                Buffer::zeroed(on * planes[0] * plane[0])?,
                Buffer::zeroed(on * planes[1] * plane[1])?,
                Buffer::zeroed(on * planes[2] * plane[2])?,
            ])
        };
        Ok(Self {
            buffers: [stage()?, stage()?],
            starts,
            plane,
            planes,
            first: [own.start, own.start, first.unwrap_or(0)],
        })
    }

    pub fn bytes(&self) -> usize {
        self.buffers.iter().flatten().map(Buffer::bytes).sum()
    }

    /// Sets all variables to zero.
    pub fn clear(&mut self) {
        let all = self.buffers.iter_mut().flatten();
        all.for_each(|buffer| buffer.as_mut_slice().fill(T::of(0.0)));
    }

    /// All memory variables, by stage and axis.
    pub fn parts(&mut self) -> impl Iterator<Item = &mut [T]> {
        self.buffers.iter_mut().flatten().map(Buffer::as_mut_slice)
    }

    /// The memory variables of an axis in a stage, and the index at which a plane of a component begins. Planes are
    /// numbered as on that axis.
    pub fn component(
        &mut self,
        stage: usize,
        axis: usize,
        (component, plane): (usize, usize),
    ) -> (&mut [T], usize) {
        let plane = component * self.planes[axis] + plane - self.first[axis];
        let from = plane * self.plane[axis];
        (self.buffers[stage][axis].as_mut_slice(), from)
    }

    /// Pointers to the memory variables of each axis in a stage.
    pub fn origins(&mut self, stage: usize) -> [*mut T; 3] {
        self.buffers[stage]
            .each_mut()
            .map(|b| b.as_mut_slice().as_mut_ptr())
    }

    /// The layers of a plane of the slab, with `origins` from [`Memory::origins`].
    pub fn layers<'a>(
        &'a self,
        edges: &'a Edges<T>,
        origins: [*mut T; 3],
        plane: usize,
    ) -> [RowLayer<'a, T>; 3] {
        [0, 1, 2].map(|axis| {
            let number = if axis == 2 { edges.lines[2][plane] } else { plane };
            let empty = edges.layer.is_none() || self.plane[axis] == 0 || number == NONE;
            let psi = match empty {
                true => std::ptr::null_mut(),
                false => origins[axis].wrapping_add((number - self.first[axis]) * self.plane[axis]),
            };
            let ahead = if axis == 2 { plane } else { 0 };
            let factors = match &edges.layer {
                None => [[std::ptr::null(); 3]; 2],
                Some(all) => all[axis]
                    .each_ref()
                    .map(|f| [&f.inverse_kappa, &f.a, &f.b].map(|v| v.as_ptr().wrapping_add(ahead))),
            };
            RowLayer {
                psi,
                component: self.planes[axis] * self.plane[axis],
                starts: &self.starts[axis],
                factors,
                per_row: usize::from(axis == 1),
                gap: 0,
            }
        })
    }
}
