//! The kernel launches of a step and of its transpose.

use super::super::boundary::Core;
use super::arguments::{Args, Inject, int};
use super::backwards::Backwards;
use super::bounds::{Bounds, Cells};
use super::halo::{Links, Travelling};
use super::points::{Points, Tables};
use super::resident;
use super::sizes::{Sizes, after};
use super::slab::{LocalProgram, Planes};
use super::transfer::Transfer;
use super::variant::{Pass, Turn, Variant, cells_of};
use crate::Error;
use crate::device::accelerator::{Accelerator, Dims, Stream, WALKERS, argument};
use crate::methods::velocity_stress::GHOST;
use crate::methods::velocity_stress::receivers::Quantity;
use crate::methods::velocity_stress::travelling;
use std::cell::{Cell, OnceCell, RefCell};
use std::ops::Range;
use std::sync::Arc;

/// Number of threads per block: ACROSS along z, or half as many if there are few cells along z; in 3-D on ROWS rows;
/// and all remaining threads on planes.
const BLOCK: usize = 128;
const ACROSS: usize = 16;
const ROWS: usize = 4;

/// Number of rows per strip, chosen so that the planes around a tile stay in the second-level cache.
pub const STRIP: usize = 128;

/// Number of threads per block at the surface.
const SURFACE_THREADS: usize = 64;

/// The terms that drive the fields of a step, and the recording of the step.
pub enum Drive<'a, A: Accelerator> {
    Sources,
    /// The sources; the background data that drive the scattered field are written to this address.
    Background(u64),
    /// The sources; velocities and memory variables of the layers are written to a tape (second address), starting from
    /// the tape of the previous step, if any.
    Kept(Option<u64>, u64),
    /// Like `Kept`, with boundary saving: only the boundary of the velocities is written to the tape.
    Boundary(Option<u64>, u64, &'a Backwards<A>),
    /// The perturbations of the coefficients (second address), with the background data of the same step (first
    /// address).
    Changes(u64, u64),
}

/// A device with a program, or with some planes of it.
pub struct Device<A: Accelerator> {
    pub a: Arc<A>,
    pub planes: Planes,
    /// The links of this device to its neighbours while a run is in progress.
    pub links: RefCell<Option<Links<A>>>,
    /// Numbers of a plane of a field, and rows of a plane.
    pub a_plane: [usize; 2],
    /// Stresses that are exchanged in a step of the run: the stresses that are differentiated across planes, and the
    /// stresses that receivers read.
    pub travelling: Vec<usize>,
    /// The stresses that are differentiated across planes.
    pub differentiated: Vec<usize>,
    pub sizes: Sizes,
    /// The options of its kernel sources.
    pub variant: Variant,
    pub points: Points<A>,
    /// The number of shots that run side by side, and the offset of a part of a shot from the same part of the previous
    /// shot.
    shots: usize,
    pub distance: Cell<usize>,
    kernels: Vec<Option<A::Kernel>>,
    pub base: Args,
    /// First computed cell along z and number of cells that may receive contributions: with a surface including the
    /// images.
    reached: [i32; 2],
    /// Non-zero if a value was not finite.
    pub non_finite: A::Memory,
    /// The bounds of the reconstructed wavefield, or the reason why there are none.
    bounds: Result<Bounds, &'static str>,
    /// Whether the interior of the grid can have separate kernels.
    solid: bool,
    /// Kernels of boundary saving.
    turns: OnceCell<Vec<A::Kernel>>,
    _memory: Vec<A::Memory>,
}

impl<A: Accelerator> Device<A> {
    /// Sends a program to a device.
    pub fn new(
        a: Arc<A>,
        (slab, core, solid): (LocalProgram<'_, f32>, &Result<Core, &'static str>, bool),
        transfer: &mut Transfer<A>,
    ) -> Result<Self, Error> {
        let program = slab.program;
        let variant = Variant {
            ndim: program.ndim(),
            half: program.setup.half,
            lossy: program.setup.relaxation.is_some(),
            isotropic: program.nodes.isotropic(),
            surface: program.setup.surface.is_some(),
        };
        let mut kernels = Vec::new();
        for (source, names) in variant.texts() {
            match source {
                Some(source) => kernels.extend(a.load(&source, names)?.into_iter().map(Some)),
                None => kernels.extend(names.iter().map(|_| None)),
            }
        }
        let (base, memory) = resident::send(&*a, slab, transfer)?;
        let mut tables = Tables::new(slab);
        tables.add(slab);
        let z = &program.rows.z;
        assert!(z.start.is_multiple_of(2), "threads begin at even cells");
        let top = if program.setup.surface.is_some() {
            0
        } else {
            z.start
        };
        let (ndim, padded) = (program.ndim(), &program.rows.padded);
        let stresses = |[_, fields]: &[Vec<usize>; 2]| fields.iter().map(|field| field - ndim).collect();
        Ok(Self {
            sizes: Sizes::new(slab),
            planes: slab.planes.clone(),
            links: RefCell::new(None),
            a_plane: [padded.plane_len(), padded.rows()],
            travelling: stresses(&program.setup.travelling),
            differentiated: stresses(&travelling(ndim, Quantity::Velocity)),
            variant,
            points: Points::new(&*a, transfer, tables)?,
            shots: 1,
            distance: Cell::new(0),
            kernels,
            base,
            reached: [int(top), int(z.end - top)],
            non_finite: a.allocate(size_of::<i32>())?,
            bounds: Bounds::of(slab, core),
            solid: variant.has_inside() && solid,
            turns: OnceCell::new(),
            _memory: memory,
            a,
        })
    }

    /// Prepares the points of other shots over the same medium, which run side by side.
    pub fn next_shots(
        &mut self,
        slab: LocalProgram<'_, f32>,
        tables: Tables,
        transfer: &mut Transfer<A>,
    ) -> Result<(), Error> {
        self.a.finish()?;
        self.shots = tables.shots();
        self.points = Points::new(&*self.a, transfer, tables)?;
        self.sizes = Sizes::new(slab);
        Ok(())
    }

    /// The number of shots that run side by side.
    pub fn shots(&self) -> usize {
        self.shots
    }

    /// Sets the distance between the same parts of two shots, in numbers.
    pub fn set_distance(&self, distance: usize) {
        self.distance.set(distance);
    }

    /// The address of a part of a shot, given its address in the first shot.
    pub fn of_shot(&self, address: u64, shot: usize) -> u64 {
        after(address, shot * self.distance.get())
    }

    /// The kernel arguments with the fields of a state.
    pub fn of(&self, state: u64) -> Args {
        self.base.of(&self.sizes, state)
    }

    /// Launches a kernel in the main stream.
    ///
    /// # Safety
    /// `args` must be the structure of the kernel, with addresses that stay valid until it is done.
    pub unsafe fn launch<S>(&self, pass: Pass, dims: Dims, args: &S) -> Result<(), Error> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.launch_in(Stream::Main, pass, dims, args) }
    }

    /// Launches a kernel in a stream.
    ///
    /// # Safety
    /// The requirements of [`Device::launch`] apply.
    pub unsafe fn launch_in<S>(&self, stream: Stream, pass: Pass, dims: Dims, args: &S) -> Result<(), Error> {
        let Some(kernel) = &self.kernels[pass as usize] else {
            return Ok(());
        };
        // SAFETY: guaranteed by the caller.
        unsafe { self.launch_on(stream, kernel, dims, args) }
    }

    /// Launches a kernel in the main stream while an exchange with neighbours may be in progress.
    ///
    /// # Safety
    /// The requirements of [`Device::launch`] apply; the kernel must neither read the incoming planes nor change the
    /// outgoing ones.
    pub unsafe fn launch_meanwhile<S>(&self, pass: Pass, dims: Dims, args: &S) -> Result<(), Error> {
        let Some(kernel) = &self.kernels[pass as usize] else {
            return Ok(());
        };
        // SAFETY: guaranteed by the caller.
        unsafe { self.a.launch(Stream::Main, kernel, dims, &argument(args)) }
    }

    /// Launches a given kernel in a stream.
    ///
    /// # Safety
    /// The requirements of [`Device::launch`] apply.
    pub unsafe fn launch_on<S>(
        &self,
        stream: Stream,
        kernel: &A::Kernel,
        dims: Dims,
        args: &S,
    ) -> Result<(), Error> {
        if stream == Stream::Main {
            self.end_exchange()?;
        }
        // SAFETY: guaranteed by the caller.
        unsafe { self.a.launch(stream, kernel, dims, &argument(args)) }
    }

    /// Length of the saved boundary of a component.
    ///
    /// # Errors
    /// Returns an error that says why the wavefield cannot be reconstructed.
    pub fn boundary(&self) -> Result<usize, Error> {
        Ok(self.bounds()?.boundary)
    }

    fn bounds(&self) -> Result<&Bounds, Error> {
        let why = |why: &&str| Error::setup(format!("waves cannot run backwards: {why}"));
        self.bounds.as_ref().map_err(why)
    }

    /// The kernels and memory of boundary saving; parameters of an isotropic medium are `grouped`.
    ///
    /// # Errors
    /// Returns an error that says why the wavefield cannot be reconstructed.
    pub fn backwards(&self, grouped: bool) -> Result<Backwards<A>, Error> {
        let bounds = self.bounds()?;
        let inside = self.solid && grouped && !self.points.read_stresses();
        Backwards::new(&*self.a, bounds, inside)
    }

    /// A kernel of boundary saving; all of them are compiled when the first is requested.
    pub fn turn(&self, turn: Turn) -> Result<&A::Kernel, Error> {
        if self.turns.get().is_none() {
            let mut kernels = Vec::new();
            for (source, names) in self.variant.turns() {
                kernels.extend(self.a.load(&source, names)?);
            }
            let _ = self.turns.set(kernels);
        }
        let kernels = self.turns.get().map_or(&[][..], Vec::as_slice);
        Ok(&kernels[turn as usize])
    }

    /// Arguments and blocks of a kernel on all cells along z from `top` on, `reach` of them, with `in_thread` cells
    /// per thread.
    pub fn blocks(&self, args: &Args, in_thread: usize) -> (Args, Dims) {
        let [_, rows, planes] = args.grid.count.map(|n| n as usize);
        let along = if self.sizes.ndim == 3 { ROWS } else { 1 };
        // Threads begin at whole vectors; if all cells of a row are covered, at the start of the row.
        let reach = args.reach as usize;
        let (across, start) = match reach <= ACROSS / 2 * in_thread {
            true => (ACROSS / 2, args.top as usize / in_thread * in_thread),
            false => (ACROSS, 0),
        };
        let threads = (args.top as usize + reach - start).div_ceil(in_thread);
        let deep = planes.div_ceil(BLOCK / across / along);
        let tiles = rows.div_ceil(along);
        let strips = rows.div_ceil(STRIP);
        let dims = Dims {
            grid: [threads.div_ceil(across), tiles.div_ceil(strips), deep * strips],
            threads: BLOCK,
            shared: 0,
        };
        let args = Args {
            deep: int(deep),
            start: int(start),
            across: across.ilog2() as i32,
            ..*args
        };
        self.side_by_side(args, dims)
    }

    /// Repeats the blocks for all shots along y.
    pub fn side_by_side(&self, mut args: Args, mut dims: Dims) -> (Args, Dims) {
        (args.along, args.shot) = (int(dims.grid[1]), self.distance.get() as i64);
        dims.grid[1] *= self.shots;
        (args, dims)
    }

    /// Launches a kernel on all computed cells.
    pub fn cells(&self, pass: Pass, args: &Args) -> Result<(), Error> {
        self.cells_on(Stream::Main, pass, args)
    }

    /// Launches a kernel on all computed cells in a stream.
    pub fn cells_on(&self, stream: Stream, pass: Pass, args: &Args) -> Result<(), Error> {
        let (args, dims) = self.blocks(args, cells_of(pass));
        // SAFETY: the neighbours of computed cells lie in the grid, and a pass changes no field that it reads around
        // a cell.
        unsafe { self.launch_in(stream, pass, dims, &args) }
    }

    /// Launches a kernel on all computed cells in the main stream that reads fields across planes as far as a
    /// derivative reaches and changes no field that is exchanged. While an exchange is in progress, the cells that
    /// need no planes of neighbours are computed.
    fn cells_meanwhile(&self, pass: Pass, args: &Args) -> Result<(), Error> {
        let of_planes = |planes: Range<usize>| {
            let mut args = *args;
            (args.grid.begin[2], args.grid.count[2]) = (int(planes.start), int(planes.len()));
            args
        };
        let start = args.grid.begin[2] as usize;
        let [low, inside, high] = self
            .planes
            .apart(start..start + args.grid.count[2] as usize, self.variant.half);
        if inside.is_empty() || low.is_empty() && high.is_empty() {
            return self.cells(pass, args);
        }
        let (args, dims) = self.blocks(&of_planes(inside), cells_of(pass));
        // SAFETY: as in `cells_on`; these cells read no plane of a neighbour.
        unsafe { self.launch_meanwhile(pass, dims, &args)? };
        for planes in [low, high].into_iter().filter(|planes| !planes.is_empty()) {
            self.cells(pass, &of_planes(planes))?;
        }
        Ok(())
    }

    /// Launches a kernel with a thread for every node of the surface, if there is one.
    fn surface(&self, pass: Pass, args: &Args) -> Result<(), Error> {
        let [_, rows, planes] = args.grid.count.map(|n| n as usize);
        let (args, dims) = self.side_by_side(*args, threads(rows * planes, SURFACE_THREADS));
        // SAFETY: nodes of the surface are computed cells; a thread writes only on or above its own node.
        unsafe { self.launch(pass, dims, &args) }
    }

    /// Runs step `it` of the fields of a state. The exchange of its stresses may still be in progress on return, as
    /// after [`Device::begin_exchange`].
    pub fn step(&self, state: u64, it: usize, drive: Drive<'_, A>) -> Result<(), Error> {
        let (args, sizes) = (self.of(state), &self.sizes);
        let mut saving = None;
        let (args, changed) = match drive {
            Drive::Sources => (args, false),
            Drive::Background(beside) => (args.about(sizes, beside), false),
            Drive::Kept(before, tape) => (args.kept(sizes, before, tape), false),
            Drive::Boundary(before, tape, with) => {
                saving = Some((with, tape));
                (args.boundary_saved(&with.sizes(sizes), before, tape), false)
            }
            Drive::Changes(beside, changes) => (args.about(sizes, beside).changed(sizes, changes), true),
        };
        let either = |plain: Pass, other: Pass| if changed { other } else { plain };
        self.cells_meanwhile(either(Pass::Velocities, Pass::VelocitiesChanged), &args)?;
        self.sources(&args, (0, it), changed)?;
        let keep = || saving.map_or(Ok(()), |(with, tape)| with.keep(self, args.velocity, tape));
        let velocities = widened(self.behind_each_other(args.velocity, sizes.ndim));
        if sizes.surface == 0 {
            keep()?;
            self.begin_exchange(&velocities)?;
        } else {
            self.exchange(&velocities)?;
            self.surface(either(Pass::VelocityImages, Pass::VelocityImagesChanged), &args)?;
            keep()?;
        }
        self.cells_meanwhile(either(Pass::Stresses, Pass::StressesChanged), &args)?;
        if !changed {
            self.sources(&args, (1, it), false)?;
        }
        self.surface(either(Pass::StressImages, Pass::StressImagesChanged), &args)?;
        let stresses = self.of_fields(args.stress, &self.travelling);
        match self.travelling == self.differentiated {
            true => self.begin_exchange(&stresses),
            false => self.exchange(&widened(stresses)),
        }
    }

    /// Adds the sources of a stage; for the scattered field, the effect of the perturbed buoyancy on forces.
    fn sources(&self, args: &Args, when: (usize, usize), changed: bool) -> Result<(), Error> {
        let changes = if changed { args.buoyancy } else { 0 };
        self.inject(args, when, |inject| Inject { changes, ..inject })
    }

    /// Subtracts the contributions of sources from some cells.
    pub fn take_sources(&self, args: &Args, when: (usize, usize), cells: &Cells) -> Result<(), Error> {
        let bounds = cells.each_ref().map(|axis| [axis.start, axis.end].map(int));
        self.inject(args, when, |inject| Inject {
            low: bounds.map(|[low, _]| low),
            high: bounds.map(|[_, high]| high),
            sign: -1.0,
            ..inject
        })
    }

    /// Launches the sources of a stage of a step.
    fn inject(&self, args: &Args, when: (usize, usize), how: impl Fn(Inject) -> Inject) -> Result<(), Error> {
        // Indices of stresses follow the indices of velocities.
        let velocities = (self.sizes.ndim * self.sizes.len * size_of::<f32>()) as u64;
        let fields = [args.velocity, args.stress - velocities][when.0];
        let Some(inject) = self
            .points
            .inject((fields, &args.grid), when, self.distance.get())
            .map(how)
        else {
            return Ok(());
        };
        // SAFETY: the tables list cells of the fields, each once.
        unsafe { self.launch(Pass::Inject, threads(inject.count as usize, WALKERS), &inject) }
    }

    /// Applies the transpose of a step, with a gradient if `args` have one. With `wait`, the contributions of this
    /// step to the adjoint stresses are gathered only in the next call, together with the work of that step on the
    /// same cells. The record of the step, if any, must have been passed to [`Device::record_back`].
    pub fn step_back(&self, args: &Args, wait: bool, record: Option<u64>) -> Result<(), Error> {
        let reached = Args {
            top: self.reached[0],
            reach: self.reached[1],
            ..*args
        };
        // With a surface, its images are treated between a gather and the next kernel.
        let plain = self.sizes.surface == 0;
        if plain && wait {
            self.cells(Pass::StressesGatherBack, args)?;
        } else {
            self.surface(Pass::StressImagesBack, args)?;
            self.cells(Pass::StressesBack, args)?;
        }
        self.exchange(&self.across(args.derivatives[1]))?;
        self.velocities_back(args, record)?;
        if plain {
            self.cells(Pass::VelocitiesGatherBack, args)?;
        } else {
            self.cells(Pass::VelocitiesGather, &reached)?;
            self.surface(Pass::VelocityImagesBack, args)?;
            self.exchange(&[Travelling {
                address: args.surface.slopes,
                a_plane: self.a_plane[1],
                planes: self.variant.half,
            }])?;
            self.surface(Pass::SlopesBack, args)?;
            self.cells(Pass::VelocitiesBack, args)?;
        }
        self.exchange_velocities(args.derivatives[0])?;
        if plain && wait {
            return Ok(());
        }
        self.cells(Pass::StressesGather, &reached)
    }
}

/// Extends the exchange of fields to as many planes as receivers between nodes read.
fn widened(mut fields: Vec<Travelling>) -> Vec<Travelling> {
    fields.iter_mut().for_each(|field| field.planes = GHOST);
    fields
}

/// Enough blocks for `count` threads.
pub fn threads(count: usize, block: usize) -> Dims {
    Dims {
        grid: [count.div_ceil(block).max(1), 1, 1],
        threads: block,
        shared: 0,
    }
}
