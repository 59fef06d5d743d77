//! One slab of the grid on one device: its memory and its part of a step.

use super::Setup;
use super::arguments::{SlabArgs, component_len, kept};
use super::launch::{Kernels, SourceMemory};
use super::medium::Place;
use super::record::Records;
use super::variant::Variant;
use crate::Error;
use crate::device::accelerator::{Accelerator, Boxes, Memory, Pinned, Queue};
use crate::device::simd::Real;
use crate::domain::exchange::Peer;
use crate::domain::partition::{GHOST, Slab as Layout};
use crate::grid::Padded;
use crate::time_loop::Slab;
use std::ops::Range;
use std::sync::Arc;

/// Steps of a recorded graph; even, so that it ends on the level on which it began.
const GRAPH: usize = 20;
/// Padded cells below which launching costs more than computing, so that steps are replayed from a graph.
const SMALL: usize = 4 << 20;
/// Points in the queues that others wait for.
struct Marks<A: Accelerator> {
    /// The main queue after a step.
    main: A::Mark,
    /// The kernels of the edges of a step.
    edges: A::Mark,
    /// Copies to the lower and the upper neighbour.
    sent: [A::Mark; 2],
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
    /// How the device copies planes around a tile on its own, for each level.
    pub(super) boxes: Option<A::Memory>,
    pub(super) variant: Variant,
    pub(super) kernels: Kernels<A>,
    pub(super) sources: SourceMemory<T, A>,
    pub(super) records: Records<T, A>,
    /// Which level is `u(t)`; the other is `u(t-dt)` and becomes `u(t+dt)`.
    pub(super) now: usize,
    marks: Marks<A>,
    graph: Option<A::Graph>,
    clock: A::Memory,
    /// What the device's clock says.
    clock_shows: i64,
}

/// Numbers of the host into new memory of the device.
pub(super) fn send<A: Accelerator, N: bytemuck::Pod>(
    accelerator: &A,
    numbers: &[N],
) -> Result<A::Memory, Error> {
    let bytes: &[u8] = bytemuck::cast_slice(numbers);
    let memory = accelerator.allocate(bytes.len().max(1))?;
    if !bytes.is_empty() {
        let mut pinned = accelerator.pin(bytes.len())?;
        pinned.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
        // SAFETY: both live until the copy is done, which is waited for.
        unsafe { accelerator.upload(Queue::Main, &pinned, 0, memory.address(), bytes.len())? };
        accelerator.finish()?;
    }
    Ok(memory)
}

/// Descriptions of the planes around a tile, for a variant that wants them.
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
        let layout = place.layout;
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
        for (to, &k) in args.stiffness.iter_mut().zip(kept(p.ndim(), variant.symmetry)) {
            *to = address(k);
        }
        args.buoyancy = address(place.arrays.len() - 1);
        for (to, w) in args.sponge.iter_mut().zip(&sponge) {
            *to = w.address();
        }
        let sources = SourceMemory::new(&*a, &setup, &layout.own)?;
        Ok(Self {
            kernels: Kernels::load(&*a, &variant)?,
            sources,
            records: Records::new(&*a, &setup, &layout.own, &variant)?,
            marks: Marks {
                main: a.mark()?,
                edges: a.mark()?,
                sent: [a.mark()?, a.mark()?],
            },
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

    /// Where the device counts steps.
    pub(super) fn clock(&self) -> u64 {
        self.clock.address()
    }

    /// The planes `first..first+8` of a component of the level that is being made.
    fn ghosts_at(&self, component: usize, first: isize) -> u64 {
        let p = &self.setup.padded;
        let local = (first + GHOST as isize - self.layout.own.start as isize) as usize;
        let number = component * component_len(p, &self.layout) + local * p.plane_len();
        self.levels[1 - self.now].address() + (number * size_of::<T>()) as u64
    }

    /// A graph of [`GRAPH`] steps from level 0 on, with a sample after each that is due.
    fn record_graph(&mut self, jdata: usize) -> Result<A::Graph, Error> {
        let accelerator = self.accelerator.clone();
        let slab = std::cell::RefCell::new(self);
        accelerator.record(&mut || {
            let mut slab = slab.borrow_mut();
            for k in 0..GRAPH {
                slab.graph_step(k, jdata)?;
            }
            slab.extract(GRAPH - 1, jdata, true)?;
            slab.tick(GRAPH as i64)
        })
    }

    /// Replays whole graphs over `steps` and returns the steps left over at its end.
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
        (0..graphs).try_for_each(|_| self.accelerator.replay(graph))?;
        self.clock_shows = (steps.start + graphs * GRAPH) as i64;
        Ok(self.clock_shows as usize..steps.end)
    }
}

impl<T: Real, A: Accelerator> Slab for DeviceSlab<T, A> {
    type Number = T;

    fn stages(&self) -> usize {
        1
    }

    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn update(&mut self, _stage: usize, planes: Range<usize>, it: usize) -> Result<(), Error> {
        let queue = if planes == self.layout.interior {
            Queue::Main
        } else {
            Queue::Edges
        };
        if queue == Queue::Edges {
            // The edges read what the main queue made of the last step; their ghosts were waited for by `received`.
            self.accelerator.wait(Queue::Edges, &self.marks.main)?;
            self.enqueue(queue, &planes, it, false)?;
            return self.accelerator.set(Queue::Edges, &self.marks.edges);
        }
        self.enqueue(queue, &planes, it, false)
    }

    fn finish_step(&mut self) -> Result<(), Error> {
        if self.layout.interior != self.layout.own {
            self.accelerator.wait(Queue::Main, &self.marks.edges)?;
            self.accelerator.set(Queue::Main, &self.marks.main)?;
        }
        self.now = 1 - self.now;
        Ok(())
    }

    fn run_alone(&mut self, steps: Range<usize>, jdata: usize) -> Result<bool, Error> {
        if self.accelerator.is_synchronous()
            || self.setup.padded.cells() > SMALL
            || steps.len() < 2 * GRAPH
            || self.layout.own != self.layout.interior
        {
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

    fn lag(&self) -> usize {
        2 * self.records.half()
    }

    fn sample(&mut self, it: usize) -> Result<(), Error> {
        self.await_neighbours()?;
        self.extract(it, self.setup.jdata, false)?;
        self.extracted(it / self.setup.jdata + 1)
    }

    fn traces(&mut self, out: &mut [T]) -> Result<(), Error> {
        self.take_traces(out)
    }

    fn piece(&self) -> usize {
        self.records.piece_planes()
    }

    fn ask(&mut self, component: usize, planes: Range<usize>) -> Result<(), Error> {
        self.await_neighbours()?;
        self.pack(component, planes)
    }

    fn snapshot(&mut self, out: &mut Vec<T>) -> Result<(), Error> {
        self.take_piece(out)
    }

    fn search(&mut self) -> Result<(), Error> {
        self.look()
    }

    fn first_non_finite(&mut self) -> Result<Option<[usize; 3]>, Error> {
        self.found()
    }
}

impl<T: Real, A: Accelerator> DeviceSlab<T, A> {
    fn single(&mut self, it: usize, jdata: usize) -> Result<(), Error> {
        self.enqueue(Queue::Main, &self.layout.own.clone(), it, false)?;
        self.now = 1 - self.now;
        if it.is_multiple_of(jdata) {
            self.extract(it, jdata, false)
        } else {
            Ok(())
        }
    }

    /// What is recorded may lie in ghosts: their copies stand in the queue of the edges, behind the neighbours' marks.
    fn await_neighbours(&mut self) -> Result<(), Error> {
        if self.layout.interior == self.layout.own {
            return Ok(());
        }
        self.accelerator.set(Queue::Edges, &self.marks.edges)?;
        self.accelerator.wait(Queue::Main, &self.marks.edges)
    }
}

impl<T: Real, A: Accelerator> Peer for DeviceSlab<T, A> {
    fn send(&mut self, to: &Self, upper: bool) -> Result<(), Error> {
        let (a, p) = (&self.accelerator, &self.setup.padded);
        // The neighbour may still be reading the level that it overwrites in this step.
        a.wait(Queue::Edges, &to.marks.main)?;
        a.wait(Queue::Edges, &to.marks.edges)?;
        let (from, into) = match upper {
            true => (
                self.layout.own.end - GHOST,
                to.layout.own.start as isize - GHOST as isize,
            ),
            false => (self.layout.own.start, to.layout.own.end as isize),
        };
        let bytes = GHOST * p.plane_len() * size_of::<T>();
        for component in 0..p.ndim() {
            let (from, into) = (
                self.ghosts_at(component, from as isize),
                to.ghosts_at(component, into),
            );
            // SAFETY: both ranges are eight whole planes of a component; the marks order the copy among their uses.
            unsafe { a.copy_to(Queue::Edges, from, &to.accelerator, into, bytes)? };
        }
        a.set(Queue::Edges, &self.marks.sent[usize::from(upper)])
    }

    fn received(&mut self, from: &Self, upper: bool) -> Result<(), Error> {
        // The upper neighbour sent downwards.
        self.accelerator
            .wait(Queue::Edges, &from.marks.sent[usize::from(!upper)])
    }
}
