//! The launches of a step.

use super::Setup;
use super::arguments::{Extract, Faces, Inject, Small, Sweep, Tick};
use super::parts::{Parts, parts};
use super::slab::DeviceSlab;
use super::survey::SourceTables;
use super::tile::{Form, Tile};
use super::variant::Variant;
use crate::Error;
use crate::boundary::one_way::DEPTH;
use crate::device::accelerator::{Accelerator, Dims, Memory, Source, Stream, argument, send};
use crate::device::simd::Real;
use crate::grid::Padded;
use crate::methods::displacement::SourceKind;
use crate::methods::displacement::{FACE, GHOST, SLABS};
use crate::parallel::slabs::Slab as Layout;
use std::ops::Range;

/// Number of threads per block of the kernels of faces.
const FACE_THREADS: usize = 128;
/// Number of lines along z, between the faces along the rows, that one block processes.
const LINES: usize = 32;

/// The kernels of a run.
pub(super) struct Kernels<A: Accelerator> {
    sweep: A::Kernel,
    faces: Option<A::Kernel>,
    plane_faces: Option<A::Kernel>,
    inject: A::Kernel,
    tick: A::Kernel,
    /// Number of blocks of the sweep that are resident on the whole device at once.
    resident: usize,
}

/// Tables of the sources on the device.
pub(super) struct SourceMemory<T, A: Accelerator> {
    tables: SourceTables<T>,
    line: A::Memory,
    list: A::Memory,
    place: A::Memory,
    weight: A::Memory,
    wavelet: A::Memory,
}

impl<T: Real, A: Accelerator> DeviceSlab<T, A> {
    /// Enqueues all kernels of a step on some planes. The step is `it`, or with `clock` the count of
    /// steps on the device plus `it`.
    pub(super) fn enqueue(
        &self,
        stream: Stream,
        planes: &Range<usize>,
        it: usize,
        clock: bool,
    ) -> Result<(), Error> {
        if self.variant.tile.form == Form::Small {
            let lines = self.sources.tables.within(planes);
            let nobody = Extract {
                receivers: 0,
                ..self.extract_args(0, 1, false)
            };
            return self.small(stream, planes, self.inject_args(&lines, it, clock), nobody);
        }
        self.sweep(stream, planes)?;
        self.inject(stream, planes, it, clock)?;
        match &self.kernels.faces {
            Some(kernel) => self.faces(stream, planes, kernel),
            None => Ok(()),
        }
    }

    /// Enlarges the interior to half of the planes, to hide an exchange that takes longer than a copy between devices.
    pub(super) fn hide_more(&mut self) {
        if self.parts.is_none() {
            return;
        }
        let (p, own) = (&self.setup.padded, self.layout.own.len());
        let parts = self
            .kernels
            .parts_that_hide(p, &self.layout, self.variant.tile, own / 2);
        self.layout = SLABS.with_edges(&self.layout, p.planes(), parts.edge);
        self.parts = Some(parts);
    }

    fn sweep(&self, stream: Stream, planes: &Range<usize>) -> Result<(), Error> {
        let (p, tile) = (&self.setup.padded, self.variant.tile);
        let (across, along) = (p.n[0].div_ceil(tile.z), tile.blocks_along(p.rows()));
        let chunks = match self.parts {
            Some(parts) if *planes == self.layout.interior => parts.interior_chunks,
            Some(parts) if planes.len() == parts.edge => parts.edge_chunks,
            _ => chunks(across * along, planes.len(), self.kernels.resident),
        };
        let args = self.sweep_args(planes, planes.len().div_ceil(chunks));
        let dims = Dims {
            grid: [across, along, planes.len().div_ceil(args.chunk as usize)],
            threads: tile.threads(p.ndim()),
            shared: tile.shared(p.ndim()) * size_of::<T>(),
        };
        // SAFETY: the levels hold eight planes on either side of the planes that the slab owns, and the medium all
        // planes that are needed there.
        unsafe {
            self.accelerator
                .launch(stream, &self.kernels.sweep, dims, &argument(&args))
        }
    }

    fn sweep_args(&self, planes: &Range<usize>, chunk: usize) -> Sweep<T> {
        Sweep {
            slab: self.args,
            now: self.now as i32,
            begin: planes.start as i32,
            end: planes.end as i32,
            chunk: chunk as i32,
            boxes: self
                .boxes
                .as_ref()
                .map_or([0; 2], |b| [b.address(), b.address() + 128]),
        }
    }

    fn inject_args(&self, lines: &Range<usize>, it: usize, clock: bool) -> Inject<T> {
        let s = &self.sources;
        Inject {
            slab: self.args,
            now: self.now as i32,
            steps: self.setup.sources.steps() as i32,
            clock: if clock { self.clock() } else { 0 },
            step: it as i32,
            lines: lines.start as i32,
            line: s.line.address(),
            source: s.list.address(),
            place: s.place.address(),
            weight: s.weight.address(),
            wavelet: s.wavelet.address(),
            length: s.tables.length as i32,
            sources: (s.tables.places.len() / 3) as i32,
            stress: i32::from(self.setup.kind == SourceKind::Stress),
        }
    }

    fn inject(&self, stream: Stream, planes: &Range<usize>, it: usize, clock: bool) -> Result<(), Error> {
        let tables = &self.sources.tables;
        let lines = tables.within(planes);
        if lines.is_empty() {
            return Ok(());
        }
        let reach = tables.lines[lines.clone()].iter().map(|l| l.z_end - l.z_begin);
        let widest = reach.max();
        let args = self.inject_args(&lines, it, clock);
        let dims = Dims {
            grid: [lines.len(), 1, 1],
            threads: (widest.unwrap_or(1) as usize).next_multiple_of(32).min(256),
            shared: 0,
        };
        // SAFETY: the tables contain only cells of the slab.
        unsafe {
            self.accelerator
                .launch(stream, &self.kernels.inject, dims, &argument(&args))
        }
    }

    fn faces_args(&self, planes: &Range<usize>) -> Faces<T> {
        Faces {
            slab: self.args,
            now: self.now as i32,
            begin: planes.start as i32,
            end: planes.end as i32,
            across: (self.setup.padded.n[0] / FACE_THREADS).max(1) as i32,
        }
    }

    fn faces(&self, stream: Stream, planes: &Range<usize>, faces: &A::Kernel) -> Result<(), Error> {
        let p = &self.setup.padded;
        let args = self.faces_args(planes);
        let lines = if p.ndim() == 3 { p.rows() } else { planes.len() };
        let between = lines.saturating_sub(if p.ndim() == 3 { 2 * FACE } else { 0 });
        let dims = Dims {
            grid: [
                args.across as usize + between.div_ceil(LINES),
                if p.ndim() == 3 { planes.len() } else { 1 },
                2,
            ],
            threads: FACE_THREADS,
            shared: 0,
        };
        // SAFETY: faces and the cells they read lie in the slab; a part contains whole faces of planes.
        unsafe { self.accelerator.launch(stream, faces, dims, &argument(&args))? };
        let outermost = planes.start == 0 || planes.end == p.planes();
        if let Some(kernel) = self.kernels.plane_faces.as_ref().filter(|_| outermost) {
            debug_assert!(planes.len() > DEPTH);
            let grid = [p.n[0].div_ceil(FACE_THREADS), p.rows(), 2];
            // SAFETY: as above.
            unsafe {
                self.accelerator
                    .launch(stream, kernel, Dims { grid, ..dims }, &argument(&args))?
            };
        }
        Ok(())
    }

    /// Launches a whole step of a small grid, with the receivers of the previous step if there are any in `extract`.
    fn small(
        &self,
        stream: Stream,
        planes: &Range<usize>,
        inject: Inject<T>,
        extract: Extract<T>,
    ) -> Result<(), Error> {
        let tile = self.variant.tile;
        let lines = self.sources.tables.within(planes).len();
        let across = self.setup.padded.n[0].div_ceil(tile.z);
        let tiles = across * planes.len().div_ceil(tile.planes);
        let threads = tile.threads(2);
        let receivers = (extract.receivers * extract.components) as usize;
        let args = Small {
            sweep: self.sweep_args(planes, tile.planes),
            inject,
            extract,
            across: across as i32,
            tiles: tiles as i32,
            lines: lines as i32,
        };
        let dims = Dims {
            grid: [tiles + receivers.div_ceil(threads), 1, 1],
            threads,
            shared: tile.shared(2) * size_of::<T>(),
        };
        // SAFETY: as for the sweep; tables of sources and receivers contain only cells of the slab.
        unsafe {
            self.accelerator
                .launch(stream, &self.kernels.sweep, dims, &argument(&args))
        }
    }

    /// Enqueues step `it` after the start of a graph, counted on the device. If a sample is due after the step, it is
    /// taken by this step or the next one.
    pub(super) fn graph_step(&mut self, it: usize, jdata: usize) -> Result<(), Error> {
        let whole = self.layout.own.clone();
        if self.variant.tile.form == Form::Small {
            let before = self.extract_args(it as i32 - 1, jdata, true);
            let lines = self.sources.tables.within(&whole);
            self.small(Stream::Main, &whole, self.inject_args(&lines, it, true), before)?;
            self.now = 1 - self.now;
            return Ok(());
        }
        self.enqueue(Stream::Main, &whole, it, true)?;
        self.now = 1 - self.now;
        self.extract(it, jdata, true)
    }

    pub(super) fn tick(&self, steps: i64) -> Result<(), Error> {
        let args = Tick {
            clock: self.clock(),
            steps: steps as i32,
        };
        let dims = Dims {
            grid: [1; 3],
            threads: 1,
            shared: 0,
        };
        // SAFETY: the clock is a number of this slab.
        unsafe {
            self.accelerator
                .launch(Stream::Main, &self.kernels.tick, dims, &argument(&args))
        }
    }
}

/// Number of planes of interior that hide an exchange of eight planes from device to device: the copy takes as long as
/// the computation of ten planes.
const HIDDEN: usize = 24;

/// Number of chunks of planes into which a sweep of `columns` columns is divided, so that the whole device is busy
/// until the end. Each chunk costs eight additional planes of stress.
fn chunks(columns: usize, planes: usize, resident: usize) -> usize {
    let cost = |chunks: usize| {
        let waves = (columns * chunks).div_ceil(resident.max(1));
        waves * (planes.div_ceil(chunks) + 2 * crate::grid::stencil::RADIUS)
    };
    (1..=planes.div_ceil(GHOST)).min_by_key(|&k| cost(k)).unwrap_or(1)
}

impl<A: Accelerator> Kernels<A> {
    /// The division of a slab's step into launches; `None` if the slab has no neighbours or its caller has set other
    /// edges.
    pub(super) fn parts(&self, p: &Padded, layout: &Layout, tile: Tile) -> Option<Parts> {
        let edges = layout.neighbours(p.planes());
        if edges == 0 || tile.form == Form::Small || *layout != SLABS.with_edges(layout, p.planes(), GHOST) {
            return None;
        }
        Some(self.parts_that_hide(p, layout, tile, HIDDEN))
    }

    fn parts_that_hide(&self, p: &Padded, layout: &Layout, tile: Tile, hidden: usize) -> Parts {
        let columns = p.n[0].div_ceil(tile.z) * tile.blocks_along(p.rows());
        let edges = layout.neighbours(p.planes());
        parts(columns, self.resident, layout.own.len(), edges, hidden)
    }

    /// Compiles the kernels of a variant.
    pub(super) fn load(a: &A, variant: &Variant) -> Result<Self, Error> {
        let one = |source: &Source, name: &str| -> Result<A::Kernel, Error> {
            Ok(a.load(source, &[name])?.remove(0))
        };
        let maybe = |needed: bool, source: &Source, name: &str| needed.then(|| one(source, name)).transpose();
        let (sweep, faces, survey) = (variant.sweep(), variant.faces(), variant.survey());
        let sweep = one(&sweep, "sweep")?;
        let bytes = if variant.double { 8 } else { 4 };
        let (threads, shared) = (
            variant.tile.threads(variant.ndim),
            variant.tile.shared(variant.ndim) * bytes,
        );
        let cluster = variant.tile.cluster;
        let resident = a.resident_blocks(&sweep, threads, shared)? * a.properties().multiprocessors;
        let faces_apart = variant.absorbing && variant.tile.form != Form::Small;
        Ok(Self {
            // A multiple of the cluster size, because blocks are launched in whole clusters.
            resident: resident / cluster * cluster,
            sweep,
            faces: maybe(faces_apart, &faces, "faces")?,
            plane_faces: maybe(faces_apart && variant.ndim == 3, &faces, "plane_faces")?,
            inject: one(&survey, "inject")?,
            tick: one(&survey, "tick")?,
        })
    }
}

impl<T: Real, A: Accelerator> SourceMemory<T, A> {
    pub(super) fn bytes(&self) -> usize {
        let all = [&self.line, &self.list, &self.place, &self.weight, &self.wavelet];
        all.into_iter().map(Memory::bytes).sum()
    }

    pub(super) fn new(a: &A, setup: &Setup<T>, own: &Range<usize>) -> Result<Self, Error> {
        let derived = setup.kind == SourceKind::Stress;
        let tables = SourceTables::new(&setup.padded, &setup.sources, own, derived);
        Ok(Self {
            line: send(a, &tables.lines)?,
            list: send(a, &tables.list)?,
            place: send(a, &tables.places)?,
            weight: send(a, &tables.weights)?,
            wavelet: send(a, setup.sources.wavelet())?,
            tables,
        })
    }
}
