//! One slab of the grid on one device: its memory and its part of a step.

use super::super::reversible;
use super::Setup;
use super::arguments::{SlabArgs, component_len, kept};
use super::launch::{Kernels, SourceMemory};
use super::medium::Place;
use super::parts::Parts;
use super::record::Records;
use super::variant::Variant;
use crate::Error;
use crate::device::accelerator::{Accelerator, Boxes, Memory, Stream, send};
use crate::device::simd::Real;
use crate::device::staging::Staging;
use crate::grid::Padded;
use crate::methods::displacement::{GHOST, SLABS};
use crate::parallel::halo::Link;
use crate::parallel::slabs::Slab as Layout;
use crate::time_loop::{Direction, Part, Sampler, Stepper};
use std::ops::Range;
use std::sync::Arc;

/// Number of steps of a recorded graph; even, so that it ends on the level on which it began.
const GRAPH: usize = 20;
/// Number of padded cells up to which launches take longer than the computation, so that steps are replayed from a
/// graph.
const SMALL: usize = 4 << 20;
/// Events for which other streams wait.
pub(super) struct Events<A: Accelerator> {
    /// The main stream after a step, and after its records.
    pub main: A::Event,
    /// The stream of the edges before a step.
    pub begun: A::Event,
    /// Reached after the kernels of the lower edge, if it is in the main stream.
    pub first: A::Event,
    /// Reached after the kernels in the stream of the edges.
    pub edges: A::Event,
}

/// One slab on one device.
pub struct DeviceSlab<T: Real, A: Accelerator> {
    pub(super) setup: Arc<Setup<T>>,
    pub(super) accelerator: Arc<A>,
    pub(super) layout: Layout,
    pub(super) args: SlabArgs<T>,
    pub(super) levels: [A::Memory; 2],
    pub(super) medium: Vec<Option<A::Memory>>,
    _sponge: Vec<A::Memory>,
    /// Tensor maps, one for each level, by which the device copies planes around a tile.
    pub(super) boxes: Option<A::Memory>,
    pub(super) variant: Variant,
    pub(super) kernels: Kernels<A>,
    /// The division of a step into launches, if there are neighbours.
    pub(super) parts: Option<Parts>,
    pub(super) sources: SourceMemory<T, A>,
    pub(super) records: Records<T, A>,
    /// Index of the level `u(t)`; the other one is `u(t-dt)` and becomes `u(t+dt)`.
    pub(super) now: usize,
    pub(super) events: Events<A>,
    pub(super) links: Vec<Link>,
    direction: Direction,
    pub(super) staging: Staging<A>,
    graph: Option<A::Graph>,
    clock: A::Memory,
    /// Value of the device's clock.
    clock_shows: i64,
}

/// Tensor maps of the planes around a tile, for a variant that uses them.
fn boxes<A: Accelerator>(
    a: &A,
    p: &Padded,
    layout: &Layout,
    variant: &Variant,
    levels: &[A::Memory; 2],
) -> Result<Option<A::Memory>, Error> {
    if p.ndim() == 2 || !variant.tile.bulk {
        return Ok(None);
    }
    let [z, rows] = variant.tile.around();
    let map = |level: &A::Memory| {
        a.boxes(&Boxes {
            address: level.address(),
            double: variant.double,
            size: [p.pitch(), p.rows(), layout.own.len() + 2 * GHOST, p.ndim()],
            part: [z, rows, 1, p.ndim()],
        })
    };
    let maps = [map(&levels[0])?, map(&levels[1])?];
    send(a, maps.as_flattened()).map(Some)
}

impl<T: Real, A: Accelerator> DeviceSlab<T, A> {
    pub(super) fn new(setup: Arc<Setup<T>>, place: Place<A>, variant: Variant) -> Result<Self, Error> {
        let (p, a) = (&setup.padded, place.accelerator);
        let kernels = Kernels::load(&*a, &variant)?;
        let parts = kernels.parts(p, &place.layout, variant.tile);
        let layout = match parts {
            Some(parts) => SLABS.with_edges(&place.layout, p.planes(), parts.edge),
            None => place.layout,
        };
        let bytes = p.ndim() * component_len(p, &layout) * size_of::<T>();
        let levels = [a.allocate(bytes)?, a.allocate(bytes)?];
        let sponge: Vec<A::Memory> = setup
            .sponge
            .iter()
            .map(|w| send(&*a, w))
            .collect::<Result<_, _>>()?;
        let mut args = SlabArgs::new(p, &layout);
        args.level = [levels[0].address(), levels[1].address()];
        let address = |k: usize| place.arrays[k].as_ref().map_or(0, Memory::address);
        for (to, k) in args.stiffness.iter_mut().zip(kept(p.ndim(), variant.symmetry)) {
            *to = address(k);
        }
        args.buoyancy = address(place.arrays.len() - 1);
        for (to, w) in args.sponge.iter_mut().zip(&sponge) {
            *to = w.address();
        }
        let sources = SourceMemory::new(&*a, &setup, &layout.own)?;
        Ok(Self {
            kernels,
            parts,
            sources,
            records: Records::new(&*a, &setup, &layout.own, &variant)?,
            events: Events {
                main: a.event()?,
                begun: a.event()?,
                first: a.event()?,
                edges: a.event()?,
            },
            direction: Direction::Forward,
            links: layout.links(p.planes(), (GHOST, p.plane_len()), &[(0..p.ndim()).collect()]),
            staging: Staging::default(),
            graph: None,
            clock: a.allocate(size_of::<i32>())?,
            clock_shows: 0,
            now: 0,
            _sponge: sponge,
            boxes: boxes(&*a, p, &layout, &variant, &levels)?,
            medium: place.arrays,
            accelerator: a,
            layout,
            args,
            levels,
            variant,
            setup,
        })
    }

    /// Bytes of device memory.
    pub fn bytes(&self) -> usize {
        let medium: usize = self.medium.iter().flatten().map(Memory::bytes).sum();
        let levels: usize = self.levels.iter().map(Memory::bytes).sum();
        let sponge: usize = self._sponge.iter().map(Memory::bytes).sum();
        medium + levels + sponge + self.sources.bytes() + self.records.bytes()
    }

    /// The device.
    pub fn accelerator(&self) -> &Arc<A> {
        &self.accelerator
    }

    /// Address of the device's clock, which counts steps.
    pub(super) fn clock(&self) -> u64 {
        self.clock.address()
    }

    /// Records a graph of [`GRAPH`] steps that starts from level 0, with a sample after each step that is due.
    fn record_graph(&mut self, jdata: usize) -> Result<A::Graph, Error> {
        let accelerator = self.accelerator.clone();
        let slab = std::cell::RefCell::new(self);
        accelerator.capture(&mut || {
            let mut slab = slab.borrow_mut();
            for k in 0..GRAPH {
                slab.graph_step(k, jdata)?;
            }
            slab.extract(GRAPH - 1, jdata, true)?;
            slab.tick(GRAPH as i64)
        })
    }

    /// Replays whole graphs over `steps`, and returns the remaining steps at the end.
    fn replay(&mut self, steps: Range<usize>, jdata: usize) -> Result<Range<usize>, Error> {
        if self.graph.is_none() {
            self.graph = Some(self.record_graph(jdata)?);
        }
        let drift = steps.start as i64 - self.clock_shows;
        if drift != 0 {
            self.tick(drift)?;
        }
        let graphs = steps.len() / GRAPH;
        let graph = self.graph.as_ref().expect("recorded above");
        (0..graphs).try_for_each(|_| self.accelerator.launch_graph(graph))?;
        self.clock_shows = (steps.start + graphs * GRAPH) as i64;
        Ok(self.clock_shows as usize..steps.end)
    }
}

impl<T: Real, A: Accelerator> DeviceSlab<T, A> {
    /// Enqueues the edges: if there are two, the lower edge in the main stream; all others in the stream of the edges.
    fn update_edges(&mut self, step: usize) -> Result<(), Error> {
        let a = self.accelerator.clone();
        let edges: Vec<_> = self.layout.part(Part::Boundary).collect();
        if let [low, _] = &edges[..] {
            self.enqueue(Stream::Main, low, step, false)?;
            a.record(Stream::Main, &self.events.first)?;
        }
        let Some(last) = edges.last() else {
            return Ok(());
        };
        // The edges read fields that the main stream computed in the previous step; this stream has already waited for
        // the ghosts when they arrived.
        a.wait(Stream::Edges, &self.events.main)?;
        a.record(Stream::Edges, &self.events.begun)?;
        self.enqueue(Stream::Edges, last, step, false)?;
        a.record(Stream::Edges, &self.events.edges)
    }
}

impl<T: Real, A: Accelerator> Stepper for DeviceSlab<T, A> {
    type Number = T;

    fn stages(&self) -> usize {
        1
    }

    fn has_neighbours(&self) -> bool {
        !self.links.is_empty()
    }

    fn update(&mut self, _stage: usize, part: Part, step: usize) -> Result<(), Error> {
        if part == Part::Boundary {
            return self.update_edges(step);
        }
        let Some(interior) = self.layout.part(part).next() else {
            return Ok(());
        };
        if self.layout.is_cut() && !self.has_two_edges() {
            // The interior must not start before the edge, for which the neighbour waits.
            self.accelerator.wait(Stream::Main, &self.events.begun)?;
        }
        self.enqueue(Stream::Main, &interior, step, false)
    }

    fn finish_step(&mut self) -> Result<(), Error> {
        if self.layout.is_cut() {
            self.accelerator.wait(Stream::Main, &self.events.edges)?;
            self.accelerator.record(Stream::Main, &self.events.main)?;
        }
        self.now = 1 - self.now;
        Ok(())
    }

    /// The equation is the same in both directions of time; the two time levels are exchanged.
    fn turn(&mut self, direction: Direction) -> Result<(), Error> {
        if direction != self.direction {
            reversible(self.variant.absorbing)?;
            (self.direction, self.now) = (direction, 1 - self.now);
        }
        Ok(())
    }

    fn stride(&self) -> usize {
        let few = self.setup.padded.cells() <= SMALL;
        match few && !self.accelerator.is_synchronous() && !self.has_neighbours() {
            true => 2 * GRAPH,
            false => 1,
        }
    }

    fn run_alone(&mut self, steps: Range<usize>, jdata: usize) -> Result<bool, Error> {
        if self.stride() == 1 || steps.len() < self.stride() {
            return Ok(false);
        }
        let (mut rest, last) = (steps.clone(), steps.end - 1);
        if self.now == 1 {
            self.single(rest.start, jdata)?;
            rest.start += 1;
        }
        let rest = self.replay(rest, jdata)?;
        for it in rest {
            self.single(it, jdata)?;
        }
        self.extracted(last / jdata + 1)?;
        Ok(true)
    }
}

impl<T: Real, A: Accelerator> Sampler for DeviceSlab<T, A> {
    fn capacity(&self) -> usize {
        2 * self.records.half()
    }

    fn sample(&mut self, it: usize) -> Result<(), Error> {
        self.await_neighbours()?;
        self.extract(it, self.setup.jdata, false)?;
        self.recorded()?;
        self.extracted(it / self.setup.jdata + 1)
    }

    fn traces(&mut self, out: &mut [T]) -> Result<(), Error> {
        self.take_traces(out)
    }

    fn snapshot_share(&self) -> Vec<Range<usize>> {
        self.layout
            .snapshot_share(&self.setup.window, self.setup.padded.ndim())
    }

    fn pieces(&self) -> usize {
        let most = self.records.piece_planes();
        self.layout.pieces(self.window_planes(), most)
    }

    fn request_piece(&mut self, component: usize, piece: usize) -> Result<(), Error> {
        let most = self.records.piece_planes();
        let planes = self.layout.piece(self.window_planes(), most, piece);
        self.await_neighbours()?;
        self.pack(component, planes)?;
        self.recorded()
    }

    fn take_piece(&mut self, out: &mut Vec<T>) -> Result<(), Error> {
        DeviceSlab::take_piece(self, out)
    }

    fn search(&mut self) -> Result<(), Error> {
        self.look()
    }

    fn first_non_finite(&mut self) -> Result<Option<usize>, Error> {
        self.non_finite_cell()
    }
}

impl<T: Real, A: Accelerator> DeviceSlab<T, A> {
    /// Planes of the snapshot window.
    fn window_planes(&self) -> &Range<usize> {
        &self.setup.window[self.setup.padded.ndim() - 1]
    }

    fn single(&mut self, it: usize, jdata: usize) -> Result<(), Error> {
        self.enqueue(Stream::Main, &self.layout.own.clone(), it, false)?;
        self.now = 1 - self.now;
        if it.is_multiple_of(jdata) {
            self.extract(it, jdata, false)
        } else {
            Ok(())
        }
    }
}
