//! The arrays that make up the state of the velocity-stress method: all fields, the memory variables of the layers and
//! of attenuation, the running quantities at the receivers, and the largest speeds. They have the shape of the whole
//! grid, on processors and on GPUs.

use super::CpuSlab;
use super::absorbing_frame::Edges;
use super::cpu::GHOST;
use super::layout::{RIM, fields, velocity};
use super::receivers::{Quantity, Receivers};
use super::rows::NONE;
use crate::Error;
use crate::device::simd::Real;
use crate::grid::Padded;
use crate::time_loop::state::{State, StateArray};
use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `[field][plane][row][z]`
    Fields,
    /// Memory variables of the layers across an axis (z, row, plane) that a stage updates,
    /// `[velocity][plane][row][z]`: planes, rows or `z` cover only the frame of that axis, numbered as in [`Edges`].
    Layers { stage: usize, axis: usize },
    /// Memory variables of attenuation, `[mechanism][stress][plane][row][z]`.
    Relaxing,
    /// Running quantities at the receivers, `[component][receiver]`: 0 is a sum over time, 1 the velocity of the
    /// previous step.
    Kept(usize),
    /// Largest horizontal speeds, `[plane][row]`.
    Peaks,
}

/// The parts of a set-up that determine the shapes.
pub(super) struct Shape<'a, T> {
    pub padded: &'a Padded,
    pub edges: &'a Edges<T>,
    pub receivers: &'a Receivers<T>,
    pub quantity: Quantity,
    pub mechanisms: usize,
    pub peaks: bool,
}

impl<T: Real> Shape<'_, T> {
    /// All non-empty arrays of a run.
    pub fn arrays(&self) -> Vec<(Kind, StateArray)> {
        let p = self.padded;
        let (ndim, planes) = (p.ndim(), p.planes());
        let of = StateArray::of::<T>;
        let mut all = vec![(
            Kind::Fields,
            of("velocity and stress".into(), fields(ndim) * planes, p.plane_len()),
        )];
        for stage in 0..2 {
            for axis in 0..3 {
                let name = ["velocity", "stress"][stage];
                let name = format!("layers of {name} across {}", ["z", "rows", "planes"][axis]);
                let array = of(name, ndim * self.lines(axis), self.edges.layer_plane(p, axis));
                all.push((Kind::Layers { stage, axis }, array));
            }
        }
        let relaxing = self.mechanisms * (fields(ndim) - ndim) * planes;
        all.push((Kind::Relaxing, of("attenuation".into(), relaxing, p.plane_len())));
        let (kept, name) = match self.quantity {
            Quantity::Acceleration => (1, "velocity before at receivers"),
            _ => (0, "sums at receivers"),
        };
        let running = self.quantity.runs();
        let values = if running { self.receivers.values() } else { 0 };
        all.push((Kind::Kept(kept), of(name.into(), values, 1)));
        let peaks = if self.peaks { planes } else { 0 };
        all.push((Kind::Peaks, of("largest speeds".into(), peaks, p.rows())));
        all.retain(|(_, array)| array.bytes() > 0);
        all
    }

    /// Number of planes per component of the memory variables of the layers across an axis.
    fn lines(&self, axis: usize) -> usize {
        if axis == 2 {
            self.edges.framed_planes()
        } else {
            self.padded.planes()
        }
    }

    /// The number of components of an array that has planes, and the number of planes of each.
    fn components(&self, kind: Kind) -> (usize, usize) {
        let (ndim, planes) = (self.padded.ndim(), self.padded.planes());
        match kind {
            Kind::Fields => (fields(ndim), planes),
            Kind::Layers { axis, .. } => (ndim, self.lines(axis)),
            Kind::Relaxing => (self.mechanisms * (fields(ndim) - ndim), planes),
            Kind::Kept(_) => (0, 1),
            Kind::Peaks => (1, planes),
        }
    }

    /// Component and plane of a block. For layers across planes, the plane is an index into the planes of the frame.
    pub fn place(&self, kind: Kind, block: usize) -> (usize, usize) {
        let (_, planes) = self.components(kind);
        (block / planes, block % planes)
    }

    /// Blocks that the slab of these planes owns.
    pub fn owned(&self, kind: Kind, own: &Range<usize>) -> Vec<Range<usize>> {
        match kind {
            Kind::Kept(_) => runs(self.receivers.own(own)),
            Kind::Layers { axis: 2, .. } => self.blocks(kind, self.edges.framed_lines(own)),
            _ => self.blocks(kind, own.clone()),
        }
    }

    /// Blocks that the slab of these planes needs: those it owns and its ghosts.
    pub fn needed(&self, kind: Kind, own: &Range<usize>) -> Vec<Range<usize>> {
        if kind != Kind::Fields {
            return self.owned(kind, own);
        }
        let last = self.padded.planes().min(own.end + GHOST);
        self.blocks(kind, own.start.saturating_sub(GHOST)..last)
    }

    fn blocks(&self, kind: Kind, planes: Range<usize>) -> Vec<Range<usize>> {
        let (components, all) = self.components(kind);
        let of = |c: usize| c * all + planes.start..c * all + planes.end;
        (0..components).map(of).filter(|r| !r.is_empty()).collect()
    }
}

/// Groups increasing numbers into ranges.
fn runs(numbers: impl Iterator<Item = usize>) -> Vec<Range<usize>> {
    let mut all: Vec<Range<usize>> = Vec::new();
    for number in numbers {
        match all.last_mut() {
            Some(last) if last.end == number => last.end += 1,
            _ => all.push(number..number + 1),
        }
    }
    all
}

impl<T: Real> Edges<T> {
    /// Number of planes that lie in the frame.
    fn framed_planes(&self) -> usize {
        self.lines(2).iter().filter(|&&l| l != NONE).count()
    }

    /// The numbers of the planes `own` among the planes of the frame.
    fn framed_lines(&self, own: &Range<usize>) -> Range<usize> {
        let mut framed = self.lines(2)[own.clone()].iter().filter(|&&l| l != NONE);
        let first = framed.next();
        first.map_or(0..0, |&first| first..first + 1 + framed.count())
    }
}

impl<T: Real> CpuSlab<T> {
    fn shape(&self) -> Shape<'_, T> {
        let s = &self.setup;
        Shape {
            padded: &s.padded,
            edges: &s.edges,
            receivers: &s.receivers,
            quantity: s.quantity,
            mechanisms: s.relaxation.as_ref().map_or(0, |r| r.mechanisms()),
            peaks: s.peaks,
        }
    }

    /// The numbers of consecutive blocks of one component.
    fn state_part(&mut self, array: usize, blocks: &Range<usize>) -> &mut [T] {
        let shape = self.shape();
        let (kind, words) = shape.arrays().swap_remove(array);
        let numbers = blocks.len() * words.block / size_of::<T>();
        let (component, plane) = shape.place(kind, blocks.start);
        let (p, own) = (&self.setup.padded, self.layout.own.clone());
        let ndim = p.ndim();
        let (len, rows) = (p.plane_len(), p.rows());
        let (all, from) = match kind {
            Kind::Fields => {
                let from = self.at(component, plane, 0, 0);
                (self.fields.as_mut_slice(), from)
            }
            Kind::Layers { stage, axis } => {
                // In 2-D too the memory has room for the velocity along y, which does not exist.
                let of = (0..3).find(|&a| (ndim == 3 || a != 1) && velocity(ndim, a) == component);
                self.memory.component(stage, axis, (of.unwrap_or(0), plane))
            }
            Kind::Relaxing => {
                let from = (component * own.len() + plane - own.start) * len;
                let memory = self.anelastic.as_mut();
                (memory.map_or(&mut [][..], |m| m.as_mut_slice()), from)
            }
            Kind::Kept(k) => (self.kept[k].as_mut_slice(), blocks.start),
            Kind::Peaks => (self.peaks.as_mut_slice(), (plane - own.start) * rows),
        };
        &mut all[from..from + numbers]
    }
}

impl<T: Real> State for CpuSlab<T> {
    fn arrays(&self) -> Vec<StateArray> {
        self.shape()
            .arrays()
            .into_iter()
            .map(|(_, array)| array)
            .collect()
    }

    fn owned(&self, array: usize) -> Vec<Range<usize>> {
        let shape = self.shape();
        shape.owned(shape.arrays()[array].0, &self.layout.own)
    }

    fn needed(&self, array: usize) -> Vec<Range<usize>> {
        let shape = self.shape();
        shape.needed(shape.arrays()[array].0, &self.layout.own)
    }

    fn save(&mut self, array: usize, blocks: Range<usize>, out: &mut [u8]) -> Result<(), Error> {
        let setup = self.setup.clone();
        let kind = self.shape().arrays()[array].0;
        let part = self.state_part(array, &blocks);
        setup.cpu.copy(bytemuck::cast_slice(part), out);
        if let Kind::Layers { axis: 1 | 2, .. } = kind {
            // The memory of nodes above a free surface derives from images of other planes; it differs between
            // partitions and is never used.
            let row = setup.padded.pitch() * size_of::<T>();
            out.chunks_mut(row)
                .for_each(|row| row[..RIM * size_of::<T>()].fill(0));
        }
        Ok(())
    }

    fn load(&mut self, array: usize, blocks: Range<usize>, bytes: &[u8]) -> Result<(), Error> {
        let setup = self.setup.clone();
        let part = self.state_part(array, &blocks);
        setup.cpu.copy(bytes, bytemuck::cast_slice_mut(part));
        Ok(())
    }
}
