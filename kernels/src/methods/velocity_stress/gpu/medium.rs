//! Transfer of the medium to the devices in blocks of whole lines. The devices hold node values, from which the
//! kernels compute means.

use super::arguments::Stiff;
use super::lines::Lines;
use crate::Error;
use crate::device::accelerator::{Accelerator, Pinned, Stream};
use crate::device::cpu::Cpu;
use crate::device::simd::Real;
use crate::grid::Padded;
use crate::medium::attenuation::Law;
use crate::medium::{Destination, Medium, Symmetry, framed, lines_of_plane, needed, plane_names};
use crate::methods::velocity_stress::attenuation::{Attenuation, Split};
use crate::methods::velocity_stress::layout::RIM;
use crate::methods::velocity_stress::medium::{PLACES_2D, PLACES_3D, buoyancy_at};
use crate::methods::velocity_stress::points::Placer;
use crate::methods::velocity_stress::sources::SourceNodes;
use crate::methods::velocity_stress::{Growing, Shot, Watch, check};
use crate::parallel::slabs::Slab as Layout;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Number of blocks that are in transfer at the same time.
const DEPTH: usize = 2;
/// Bytes of a block, summed over all arrays, which are enough to make the latency of a transfer negligible.
const BLOCK_BYTES: usize = 32 << 20;
/// Number of values per piece of work of a thread.
const PIECE: usize = 1 << 14;

/// The form in which a value of the model is stored on the device.
#[derive(Clone, Copy)]
enum Form {
    /// `dt c`
    Times(f64),
    /// `1 / (4 dt c)`
    Quarter(f64),
    /// `rho / (2 dt)`
    Half(f64),
}

impl Form {
    fn of(self, x: f64) -> f64 {
        match self {
            Self::Times(dt) => dt * x,
            Self::Quarter(dt) => 1.0 / (4.0 * dt * x),
            Self::Half(dt) => x / (2.0 * dt),
        }
    }
}

/// The normal stiffnesses that a device stores, as indices among all six, and the shear stiffnesses, as indices among
/// all three.
pub fn kept(ndim: usize, isotropic: bool) -> (&'static [usize], &'static [usize]) {
    match (ndim, isotropic) {
        (_, true) => (&[0], &[0]),
        (3, _) => (&[0, 1, 2, 3, 4, 5], &[0, 1, 2]),
        _ => (&[0, 2, 4], &[1]),
    }
}

/// Index in memory order of the kept normal stiffness `k`. An isotropic medium keeps the coupling, from which the
/// others follow by adding twice the shear stiffness.
fn normal_place(ndim: usize, isotropic: bool, k: usize) -> usize {
    let order = if ndim == 3 { PLACES_3D } else { PLACES_2D };
    order[if isotropic { 3 } else { k }]
}

/// Index in memory order of the kept shear stiffness `k`.
fn shear_place(ndim: usize, k: usize) -> usize {
    let order = if ndim == 3 { PLACES_3D } else { PLACES_2D };
    order[6 + k]
}

/// An array of the medium that devices store.
#[derive(Clone, Copy)]
struct Array {
    /// Its index in memory order; the density follows the stiffnesses.
    place: usize,
    /// Whether it belongs to the relaxing part of the medium.
    relaxing: bool,
    form: Form,
}

/// The arrays of a medium of this class: density, then stiffnesses, then relaxing stiffnesses.
fn arrays(ndim: usize, class: Symmetry, dt: f64, lossy: bool) -> Vec<Array> {
    let isotropic = class == Symmetry::Isotropic;
    let (normals, shears) = kept(ndim, isotropic);
    let mut all = vec![Array {
        place: plane_names(ndim).len(),
        relaxing: false,
        form: Form::Half(dt),
    }];
    for relaxing in [false, true].into_iter().take(1 + usize::from(lossy)) {
        all.extend(normals.iter().map(|&k| Array {
            place: normal_place(ndim, isotropic, k),
            relaxing,
            form: Form::Times(dt),
        }));
        all.extend(shears.iter().map(|&k| Array {
            place: shear_place(ndim, k),
            relaxing,
            form: Form::Quarter(dt),
        }));
    }
    all
}

/// Number of lines per block for values of `number` bytes.
fn capacity(padded: &Padded, arrays: usize, number: usize) -> usize {
    let lines = padded.model.cells() / padded.model.n[0];
    (BLOCK_BYTES / (padded.pitch() * arrays * number)).clamp(1, lines)
}

/// Bytes of host memory needed to send a medium of this class to devices, in float32.
pub fn host_bytes(padded: &Padded, class: Symmetry, lossy: bool) -> usize {
    let ndim = padded.ndim();
    let arrays = arrays(ndim, class, 1.0, lossy).len();
    let lines = capacity(padded, arrays, size_of::<f32>());
    let read = (1 + usize::from(lossy)) * (plane_names(ndim).len() + 1) * padded.model.n[0];
    lines * (DEPTH * arrays * padded.pitch() + read) * size_of::<f32>()
}

/// The stiffness on a device.
pub struct Stiffness<A: Accelerator> {
    memory: Vec<Lines<A>>,
    args: Stiff,
}

impl<A: Accelerator> Stiffness<A> {
    pub fn args(&self) -> Stiff {
        self.args
    }

    /// Bytes of device memory.
    pub fn bytes(&self) -> usize {
        self.memory.iter().map(Lines::bytes).sum()
    }
}

/// The medium of a slab on its device.
pub(super) struct Held<A: Accelerator> {
    pub accelerator: Arc<A>,
    pub layout: Layout,
    /// `rho / (2 dt)` of every cell.
    pub density: Lines<A>,
    pub stiffness: Stiffness<A>,
    /// The relaxing part of the stiffness.
    pub relaxing: Option<Stiffness<A>>,
}

/// One device, its slab, and its part of the medium.
struct Place<A: Accelerator> {
    accelerator: Arc<A>,
    layout: Layout,
    /// Lines of the model that this device needs.
    lines: Range<usize>,
    /// Memory of each of [`Upload::arrays`].
    memory: Vec<Option<Lines<A>>>,
    done: Vec<A::Event>,
}

/// A medium that is being sent to devices.
pub struct Upload<'a, T, A: Accelerator> {
    padded: Padded,
    cpu: &'a Cpu,
    /// Attenuation, with the relaxation law that makes the medium an unrelaxed one.
    pub(super) losses: Option<(Attenuation, Law)>,
    arrays: Vec<Array>,
    places: Vec<Place<A>>,
    /// Lines of the model that have been read, `[array of the model][line][z]`, and their relaxing part.
    read: Vec<T>,
    relaxing: Vec<T>,
    /// Converted lines for the devices, `[kept array][line][padded z]`.
    blocks: Vec<A::Pinned>,
    /// Number of lines that fit into a block.
    capacity: usize,
    turn: usize,
    watch: Watch,
    /// Densities of the lines that the sources need.
    densities: Densities<T>,
}

/// Densities of some lines of the model, by line number.
pub(super) struct Densities<T>(HashMap<usize, Vec<T>>);

impl<T: Real> Densities<T> {
    /// `dt/rho` at the velocity along z, x, y (0, 1, 2) of a cell on which a source acts; NaN if the densities of its
    /// lines have not been kept.
    pub fn buoyancy(&self, p: &Padded, dt: f64, component: usize, cell: [usize; 3]) -> f64 {
        buoyancy_at((p.ndim(), dt), component, cell, |plane, row, z| {
            let z = z.clamp(p.low[0], p.low[0] + p.model.n[0] - 1) - p.low[0];
            let line = self.0.get(&model_line(p, plane, row));
            line.and_then(|line| line.get(z))
                .map_or(f64::NAN, |rho| rho.f64())
        })
    }
}

impl<'a, T: Real, A: Accelerator> Upload<'a, T, A> {
    /// Checks the shot against its grid, which [`crate::methods::velocity_stress::Frame::around`] made, and allocates
    /// memory on the devices, one slab each. The medium need not have been read yet; it must be known to be of class
    /// `class` or of a narrower one. `cpu` converts the medium.
    ///
    /// # Errors
    /// Returns an error if the shot cannot run on the grid or memory is insufficient.
    pub fn new(
        shot: &Shot,
        padded: &Padded,
        machines: Vec<(Arc<A>, Layout)>,
        class: Symmetry,
        cpu: &'a Cpu,
    ) -> Result<Self, Error> {
        check(shot, padded)?;
        let losses = shot.attenuation.as_ref();
        losses.map_or(Ok(()), |losses| losses.check(padded))?;
        let own = machines.first().map_or(0, |m| m.1.own.start)..machines.last().map_or(0, |m| m.1.own.end);
        let arrays = arrays(padded.ndim(), class, shot.dt, losses.is_some());
        let capacity = capacity(padded, arrays.len(), size_of::<T>());
        let read = capacity * (plane_names(padded.ndim()).len() + 1) * padded.model.n[0];
        let bytes = capacity * arrays.len() * padded.pitch() * size_of::<T>();
        let first = &machines
            .first()
            .ok_or_else(|| Error::setup("no device to run on"))?
            .0;
        let blocks = (0..DEPTH).map(|_| first.pin(bytes)).collect::<Result<_, _>>()?;
        let densities = Densities(density_lines(shot, padded, &own)?);
        let place = |machine| Place::new::<T>(padded, machine, arrays.len());
        Ok(Self {
            padded: padded.clone(),
            cpu,
            losses: losses.map(|losses| (losses.clone(), losses.law(padded.ndim()))),
            places: machines.into_iter().map(place).collect::<Result<_, _>>()?,
            read: vec![T::of(0.0); read],
            relaxing: vec![T::of(0.0); if losses.is_some() { read } else { 0 }],
            blocks,
            arrays,
            capacity,
            turn: 0,
            watch: Watch::new(&shot.frame, padded),
            densities,
        })
    }

    /// The grid of the medium with its frame.
    pub fn padded(&self) -> &Padded {
        &self.padded
    }

    /// Planes of all slabs.
    pub(super) fn own(&self) -> Range<usize> {
        let own = |place: &Place<A>| place.layout.own.clone();
        self.places.first().map_or(0, |p| own(p).start)..self.places.last().map_or(0, |p| own(p).end)
    }

    /// The first cell read so far whose anisotropy makes the layers unstable.
    pub fn growing(&self) -> Option<Growing> {
        self.watch.growing()
    }

    /// Also keeps the densities that the sources of a further shot need. This must be called before any of the medium
    /// is sent.
    ///
    /// # Errors
    /// Returns an error for a source that lies outside the grid.
    pub fn keep_for(&mut self, shot: &Shot) -> Result<(), Error> {
        let more = density_lines(shot, &self.padded, &self.own())?;
        self.densities.0.extend(more);
        Ok(())
    }

    /// Memory for the next block of lines, `[array][line][z of the model]`.
    fn numbers(&mut self, lines: usize) -> &mut [T] {
        assert!(lines <= self.capacity, "a block holds {} lines", self.capacity);
        let len = lines * (plane_names(self.padded.ndim()).len() + 1) * self.padded.model.n[0];
        &mut self.read[..len]
    }

    /// Sends the block last returned by [`Upload::numbers`], whose first line is `first`, to the devices that need it.
    fn send(&mut self, first: usize, lines: usize) -> Result<(), Error> {
        let (nz, turn) = (self.padded.model.n[0], self.turn);
        let array = lines * nz;
        let len = array * (plane_names(self.padded.ndim()).len() + 1);
        if let Some((losses, law)) = &self.losses {
            let split = Split {
                padded: &self.padded,
                losses,
                law,
            };
            split.lines(first, &mut self.read[..len], &mut self.relaxing[..len], self.cpu);
        }
        let density = &self.read[len - array..len];
        for (&line, numbers) in &mut self.densities.0 {
            if (first..first + lines).contains(&line) {
                *numbers = density[(line - first) * nz..][..nz].to_vec();
            }
        }
        for place in &self.places {
            place.accelerator.synchronize(&place.done[turn])?;
        }
        self.prepare(lines);
        for place in &self.places {
            let own = place.lines.start.max(first)..place.lines.end.min(first + lines);
            if !own.is_empty() {
                self.send_to(place, first..first + lines, own)?;
            }
        }
        self.turn = (turn + 1) % DEPTH;
        Ok(())
    }

    /// Converts the lines that were read to the layout that the devices use.
    fn prepare(&mut self, lines: usize) {
        use rayon::prelude::*;
        let (p, arrays) = (&self.padded, &self.arrays);
        let (nz, pitch) = (p.model.n[0], p.pitch());
        let (read, relaxing) = (&self.read, &self.relaxing);
        let count = arrays.len() * lines * pitch;
        let bytes = &mut self.blocks[self.turn].bytes_mut()[..count * size_of::<T>()];
        let block: &mut [T] = bytemuck::cast_slice_mut(bytes);
        let step = (PIECE / pitch).max(1);
        self.cpu.install(|| {
            let each = block.par_chunks_mut(lines * pitch).zip(arrays);
            each.for_each(|(to, array)| {
                let from = if array.relaxing { relaxing } else { read };
                let from = &from[array.place * lines * nz..][..lines * nz];
                let pieces = to.par_chunks_mut(step * pitch).zip(from.par_chunks(step * nz));
                pieces.for_each(|(to, from)| {
                    framed(p, from, to);
                    to.iter_mut().for_each(|x| *x = T::of(array.form.of(x.f64())));
                });
            });
        });
    }

    fn send_to(&self, place: &Place<A>, block: Range<usize>, own: Range<usize>) -> Result<(), Error> {
        let row = self.padded.pitch() * size_of::<T>();
        for (k, memory) in place.memory.iter().flatten().enumerate() {
            let from = (k * block.len() + own.start - block.start) * row;
            let to = memory.address() + ((own.start - place.lines.start) * row) as u64;
            // SAFETY: the block is not accessed again before the event below is reached; `memory` contains all lines.
            unsafe {
                place
                    .accelerator
                    .upload(Stream::Main, &self.blocks[self.turn], from, to, own.len() * row)?;
            }
        }
        place.accelerator.record(Stream::Main, &place.done[self.turn])
    }

    /// Sends a whole medium from the host.
    pub fn medium(&mut self, medium: &Medium<T>) -> Result<(), Error> {
        let rows = lines_of_plane(&self.padded);
        let (first, end) = (medium.planes().start * rows, medium.planes().end * rows);
        for line in (first..end).step_by(self.capacity) {
            let count = self.capacity.min(end - line);
            medium.copy_lines(line, self.numbers(count));
            self.send(line, count)?;
        }
        Ok(())
    }

    /// Completes the transfers: returns the medium of each slab, without arrays that a medium of this class does not
    /// need, and the densities for the sources.
    pub(super) fn finish(mut self, class: Symmetry) -> Result<(Vec<Held<A>>, Densities<T>), Error> {
        let (ndim, isotropic) = (self.padded.ndim(), class == Symmetry::Isotropic);
        let arrays = std::mem::take(&mut self.arrays);
        let held = |mut place: Place<A>| -> Result<Held<A>, Error> {
            place.accelerator.finish()?;
            let mut take = |coefficient: usize, relaxing: bool| -> Result<Lines<A>, Error> {
                let at = arrays
                    .iter()
                    .position(|a| (a.place, a.relaxing) == (coefficient, relaxing));
                let memory = at.and_then(|at| place.memory[at].take());
                memory.ok_or_else(|| Error::setup("the kernels need stiffnesses that were not sent: the medium was sent for a narrower symmetry class"))
            };
            let mut stiffness = |relaxing: bool| -> Result<Stiffness<A>, Error> {
                let (normals, shears) = kept(ndim, isotropic);
                let (mut memory, mut args) = (Vec::new(), Stiff::default());
                for &k in normals {
                    memory.push(take(normal_place(ndim, isotropic, k), relaxing)?);
                    args.normal[k] = memory[memory.len() - 1].address();
                }
                for &k in shears {
                    memory.push(take(shear_place(ndim, k), relaxing)?);
                    args.shear[k] = memory[memory.len() - 1].address();
                }
                Ok(Stiffness { memory, args })
            };
            Ok(Held {
                stiffness: stiffness(false)?,
                relaxing: self.losses.is_some().then(|| stiffness(true)).transpose()?,
                density: take(plane_names(ndim).len(), false)?,
                accelerator: place.accelerator,
                layout: place.layout,
            })
        };
        let slabs = std::mem::take(&mut self.places).into_iter().map(held);
        let slabs = slabs.collect::<Result<_, Error>>()?;
        Ok((slabs, Densities(std::mem::take(&mut self.densities.0))))
    }
}

/// The line of the model that a padded row repeats.
fn model_line(p: &Padded, plane: usize, row: usize) -> usize {
    p.model_plane(plane) * lines_of_plane(p) + p.model_row(row)
}

/// The lines whose density the sources on the planes `own` need, still empty.
fn density_lines<T: Real>(
    shot: &Shot,
    p: &Padded,
    own: &Range<usize>,
) -> Result<HashMap<usize, Vec<T>>, Error> {
    let weights = check(shot, p)?;
    let free = shot.surface.then(|| super::Adjoint::new(&weights));
    let placer = Placer {
        padded: p,
        free: free.as_ref(),
    };
    let lines = RefCell::new(HashMap::new());
    let buoyancy = |component: usize, plane: usize, row: usize, z: usize| {
        buoyancy_at(
            (p.ndim(), shot.dt),
            component,
            [plane, row, z],
            |plane, row, _| {
                lines.borrow_mut().insert(model_line(p, plane, row), Vec::new());
                1.0
            },
        )
    };
    SourceNodes::<T>::new(&placer, (buoyancy, own), &shot.sources, &[], shot.dt)?;
    Ok(lines.into_inner())
}

/// Blocks of the model are sent while the next one is read.
impl<A: Accelerator> Destination for Upload<'_, f32, A> {
    fn lines(&self, lines: usize) -> usize {
        lines.min(self.capacity)
    }

    fn block(&mut self, lines: usize) -> Result<&mut [f32], Error> {
        Ok(self.numbers(lines))
    }

    fn commit(&mut self, first_line: usize, lines: usize) -> Result<(), Error> {
        let len = self.numbers(lines).len();
        self.watch.see(&self.read[..len], first_line, lines);
        self.send(first_line, lines)
    }
}

impl<T, A: Accelerator> Drop for Upload<'_, T, A> {
    fn drop(&mut self) {
        // Transfers may still be reading the pinned blocks; their errors no longer matter.
        self.places
            .iter()
            .for_each(|place| drop(place.accelerator.finish()));
    }
}

impl<A: Accelerator> Place<A> {
    fn new<T: Real>(
        padded: &Padded,
        (accelerator, layout): (Arc<A>, Layout),
        arrays: usize,
    ) -> Result<Self, Error> {
        let (planes, rows) = (needed(padded, &layout.own), lines_of_plane(padded));
        let lines = planes.start * rows..planes.end * rows;
        let (bytes, first) = (
            lines.len() * padded.pitch() * size_of::<T>(),
            RIM * size_of::<T>(),
        );
        let memory = (0..arrays).map(|_| Lines::new(&*accelerator, bytes, first).map(Some));
        Ok(Self {
            memory: memory.collect::<Result<_, _>>()?,
            done: (0..DEPTH)
                .map(|_| accelerator.event())
                .collect::<Result<_, _>>()?,
            lines,
            accelerator,
            layout,
        })
    }
}
