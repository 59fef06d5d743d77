//! The kernel launches of a stage.

use super::Setup;
use super::arguments::{BoxArgs, MOST_BOXES, StageArgs, SurfaceArgs, int};
use super::frame::{Cells, stripped, walked};
use super::slab::DeviceSlab;
use super::variant::Variant;
use crate::Error;
use crate::device::accelerator::{Accelerator, Dims, Source, Stream, WALKERS, argument};
use crate::device::simd::Real;
use crate::methods::velocity_stress::cpu::rows;
use crate::methods::velocity_stress::medium::live;
use crate::methods::velocity_stress::rows::MOST;
use crate::methods::velocity_stress::surface::{DEGREE, STRESS_DEGREE};
use std::ops::Range;

/// Number of threads per block at the surface.
const SURFACE_THREADS: usize = 64;

pub(super) struct Kernels<A: Accelerator> {
    /// Kernels of the two stages outside layers.
    inside: Vec<A::Kernel>,
    /// Kernels of the two stages in layers, if there are any.
    framed: Vec<A::Kernel>,
    /// Kernels before and after the stresses at a free surface.
    surface: Vec<A::Kernel>,
    inject: A::Kernel,
}

impl<A: Accelerator> Kernels<A> {
    /// Compiles the kernels of a variant.
    pub(super) fn load<T: Real>(a: &A, variant: &Variant, setup: &Setup<T>) -> Result<Self, Error> {
        let maybe = |needed: bool, source: &Source, names: &[&str]| match needed {
            true => a.load(source, names),
            false => Ok(Vec::new()),
        };
        let stages = |framed: bool| -> Result<Vec<A::Kernel>, Error> {
            let mut both = a.load(&variant.stage(0, framed), &["velocity"])?;
            both.extend(a.load(&variant.stage(1, framed), &["stress"])?);
            Ok(both)
        };
        Ok(Self {
            inside: stages(false)?,
            framed: if setup.has_boxes() {
                stages(true)?
            } else {
                Vec::new()
            },
            surface: maybe(setup.surface.is_some(), &variant.surface(), &["above", "upon"])?,
            inject: a.load(&variant.points(), &["inject"])?.remove(0),
        })
    }
}

impl<T: Real, A: Accelerator> DeviceSlab<T, A> {
    /// Launches all kernels of a stage on some planes.
    pub(super) fn enqueue(
        &self,
        stream: Stream,
        stage: usize,
        planes: &Range<usize>,
        it: usize,
    ) -> Result<(), Error> {
        let live = live(self.setup.padded.planes());
        let planes = planes.start.max(live.start)..planes.end.min(live.end);
        if planes.is_empty() {
            return Ok(());
        }
        if stage == 1 {
            self.surface(stream, 0, &planes)?;
        }
        self.sweep(stream, stage, &planes)?;
        self.inject(stream, stage, &planes, it)?;
        if stage == 1 {
            self.surface(stream, 1, &planes)?;
        }
        Ok(())
    }

    /// Launches the kernels for the interior and the frame. In the main stream they run concurrently, since the frame
    /// is bound by latency and leaves capacity for the interior.
    fn sweep(&self, stream: Stream, stage: usize, planes: &Range<usize>) -> Result<(), Error> {
        let (inside, frame) = self.setup.bounds.boxes(planes);
        let a = &self.accelerator;
        let apart = stream == Stream::Main && inside.is_some() && !frame.is_empty();
        if apart {
            a.record(Stream::Main, &self.events.begun)?;
            a.wait(Stream::Beside, &self.events.begun)?;
        }
        if !frame.is_empty() {
            self.sweep_frame(if apart { Stream::Beside } else { stream }, stage, &frame)?;
        }
        if let Some(cells) = inside {
            self.sweep_inside(stream, stage, &cells)?;
        }
        if apart {
            a.record(Stream::Beside, &self.events.framed)?;
            a.wait(Stream::Main, &self.events.framed)?;
        }
        Ok(())
    }

    fn sweep_frame(&self, stream: Stream, stage: usize, frame: &[Cells]) -> Result<(), Error> {
        let threads = self.variant.tile.frame_threads;
        let (boxes, blocks) = walked(frame, threads, self.variant.vec());
        let args = self.stage_args(stage, boxes, frame.len());
        self.stage(stream, (&self.kernels.framed[stage], &args), blocks, threads)
    }

    fn sweep_inside(&self, stream: Stream, stage: usize, cells: &Cells) -> Result<(), Error> {
        let tile = &self.variant.tile;
        let mut boxes = [BoxArgs::default(); MOST_BOXES];
        let (first, blocks) = stripped(cells, tile, self.variant.vec());
        boxes[0] = first;
        let threads = tile.threads();
        let args = self.stage_args(stage, boxes, 1);
        self.stage(stream, (&self.kernels.inside[stage], &args), blocks, threads)
    }

    fn stage_args(&self, stage: usize, boxes: [BoxArgs; MOST_BOXES], count: usize) -> StageArgs<T> {
        StageArgs {
            slab: self.args,
            frame: self.frame.args(stage),
            loss: self.loss,
            boxes,
            count: int(count),
            z_end: int(self.setup.bounds.z_end()),
        }
    }

    fn stage(
        &self,
        stream: Stream,
        (kernel, args): (&A::Kernel, &StageArgs<T>),
        blocks: usize,
        threads: usize,
    ) -> Result<(), Error> {
        let dims = Dims {
            grid: [blocks, 1, 1],
            threads,
            shared: 0,
        };
        let dims = self.of_all_shots(dims);
        // SAFETY: the boxes lie within the computed cells of the planes that the slab owns, whose neighbours are in the
        // slab or its ghosts; a stage does not update the fields that it reads around a cell.
        unsafe { self.accelerator.launch(stream, kernel, dims, &argument(args)) }
    }

    /// Repeats the blocks of a launch for each of the shots.
    fn of_all_shots(&self, dims: Dims) -> Dims {
        let [blocks, _, _] = dims.grid;
        Dims {
            grid: [blocks, self.shots.len(), 1],
            ..dims
        }
    }

    fn inject(&self, stream: Stream, stage: usize, planes: &Range<usize>, it: usize) -> Result<(), Error> {
        let own = self.layout.own.start;
        let args = self.sources.args(self.args, (stage, own), planes, it);
        let cells = (args.end - args.begin) as usize;
        if cells == 0 {
            return Ok(());
        }
        let dims = Dims {
            grid: [cells.div_ceil(WALKERS), 1, 1],
            threads: WALKERS,
            shared: 0,
        };
        // SAFETY: the tables list cells of the slab, each once.
        unsafe {
            self.accelerator
                .launch(stream, &self.kernels.inject, dims, &argument(&args))
        }
    }

    /// Computes the images at a free surface before (0) or after (1) the stresses.
    fn surface(&self, stream: Stream, when: usize, planes: &Range<usize>) -> Result<(), Error> {
        let Some(images) = &self.setup.surface else {
            return Ok(());
        };
        let (p, rows) = (&self.setup.padded, rows(&self.setup.padded));
        let zero = T::of(0.0);
        let mut args = SurfaceArgs {
            slab: self.args,
            vertical: [[zero; DEGREE + 1]; MOST],
            horizontal: [[zero; DEGREE + 1]; MOST],
            normal: [[zero; STRESS_DEGREE]; MOST],
            shear: [[zero; STRESS_DEGREE]; MOST],
            spacing: T::of(f64::from(p.d()[0])),
            top: int(p.low[0]),
            begin: int(planes.start),
            end: int(planes.end),
            row_begin: int(rows.start),
            row_count: int(rows.len()),
        };
        for (to, (nodes, slope)) in args.vertical.iter_mut().zip(&images.vertical) {
            to[..DEGREE].copy_from_slice(nodes);
            to[DEGREE] = *slope;
        }
        for (to, nodes) in args.horizontal.iter_mut().zip(&images.horizontal) {
            to.copy_from_slice(nodes);
        }
        for (to, nodes) in args.normal.iter_mut().zip(&images.normal) {
            to[..nodes.len()].copy_from_slice(nodes);
        }
        for (to, nodes) in args.shear.iter_mut().zip(&images.shear) {
            to[..nodes.len()].copy_from_slice(nodes);
        }
        let dims = Dims {
            grid: [(planes.len() * rows.len()).div_ceil(SURFACE_THREADS), 1, 1],
            threads: SURFACE_THREADS,
            shared: 0,
        };
        let dims = self.of_all_shots(dims);
        // SAFETY: the nodes lie on computed rows and planes; a thread writes only on or above its own node.
        unsafe {
            self.accelerator
                .launch(stream, &self.kernels.surface[when], dims, &argument(&args))
        }
    }
}
