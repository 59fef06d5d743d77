//! One slab of the grid on one device: its memory and its part of a step.

use super::arguments::{LossArgs, SlabArgs, shot_len};
use super::frame::FrameMemory;
use super::launch::Kernels;
use super::lines::Lines;
use super::medium::{Held, Stiffness};
use super::points::SourceMemory;
use super::record::Records;
use super::variant::Variant;
use super::{Acquisition, Setup};
use crate::Error;
use crate::device::accelerator::{Accelerator, Memory, Pinned, Stream, send};
use crate::device::simd::Real;
use crate::device::staging::Staging;
use crate::medium::needed;
use crate::methods::velocity_stress::GHOST;
use crate::methods::velocity_stress::layout::fields;
use crate::methods::velocity_stress::stress_rows::Pattern;
use crate::parallel::halo::Link;
use crate::parallel::slabs::Slab as Layout;
use crate::time_loop::{Direction, Part, Sampler, Stepper};
use std::ops::Range;
use std::sync::Arc;

/// Events in the streams for which other streams wait.
pub(super) struct Events<A: Accelerator> {
    /// The main stream after a stage, and after the recording of a step.
    pub main: A::Event,
    /// The main stream before the boxes of a stage, and the side stream after the boxes of the frame.
    pub begun: A::Event,
    pub framed: A::Event,
    /// The stream of the edges after its kernels.
    pub edges: A::Event,
}

/// The relaxing stiffness and the memory variables of a slab.
struct LossMemory<A: Accelerator> {
    weak: Stiffness<A>,
    memory: Lines<A>,
    pattern: A::Memory,
}

/// One slab of the grid in the memory of a device.
pub struct DeviceSlab<T: Real, A: Accelerator> {
    pub(super) setup: Arc<Setup<T>>,
    pub(super) shots: Arc<[Acquisition<T>]>,
    pub(super) accelerator: Arc<A>,
    pub(super) layout: Layout,
    pub(super) args: SlabArgs<T>,
    pub(super) frame: FrameMemory<A>,
    pub(super) loss: LossArgs,
    pub(super) variant: Variant,
    pub(super) kernels: Kernels<A>,
    pub(super) sources: SourceMemory<A>,
    pub(super) records: Records<A>,
    pub(super) events: Events<A>,
    fields: Lines<A>,
    density: Lines<A>,
    stiffness: Stiffness<A>,
    relaxing: Option<LossMemory<A>>,
    pub(super) links: Vec<Link>,
    direction: Direction,
    pub(super) staging: Staging<A>,
}

impl<T: Real, A: Accelerator> DeviceSlab<T, A> {
    /// Allocates the memory of a slab, for these shots side by side, on the device that holds its part of the medium.
    pub(super) fn new(
        (setup, shots): (Arc<Setup<T>>, Arc<[Acquisition<T>]>),
        held: Held<A>,
        variant: Variant,
    ) -> Result<Self, Error> {
        let Held {
            accelerator: a,
            layout,
            density,
            stiffness,
            relaxing,
        } = held;
        let p = &setup.padded;
        let kernels = Kernels::load(&*a, &variant, &setup)?;
        let count = shots.len();
        let bytes = count * shot_len(p, &layout) * size_of::<T>();
        let memory = Lines::new(&*a, bytes, setup.first())?;
        let mut args = SlabArgs::new(p, &layout, setup.weights);
        (args.fields, args.density, args.stiff) = (memory.address(), density.address(), stiffness.args());
        let relaxing = match relaxing {
            Some(weak) => Some(LossMemory::new(&*a, (&setup, count), (weak, &layout), variant)?),
            None => None,
        };
        let stress = layout.own.len() * p.plane_len();
        let loss = relaxing.as_ref().map_or_else(LossArgs::default, |r| LossArgs {
            weak: r.weak.args(),
            memory: r.memory.address(),
            pattern: r.pattern.address(),
            stress: stress as i64,
            mechanism: ((fields(p.ndim()) - p.ndim()) * stress) as i64,
        });
        Ok(Self {
            frame: FrameMemory::new(&*a, p, (&setup.edges, count), &layout)?,
            sources: SourceMemory::new(&*a, (&setup, &shots), &layout)?,
            records: Records::new(&*a, (&setup, &shots), &layout, &variant)?,
            events: Events {
                main: a.event()?,
                begun: a.event()?,
                framed: a.event()?,
                edges: a.event()?,
            },
            loss,
            variant,
            kernels,
            fields: memory,
            density,
            stiffness,
            relaxing,
            links: layout.links(p.planes(), (GHOST, p.plane_len()), &setup.travelling),
            direction: Direction::Forward,
            staging: Staging::default(),
            args,
            accelerator: a,
            layout,
            setup,
            shots,
        })
    }

    /// Prepares other shots, at most as many as the slab was made for, starting from rest.
    pub(super) fn next_shots(&mut self, shots: Arc<[Acquisition<T>]>) -> Result<(), Error> {
        self.turn(Direction::Forward)?;
        let a = self.accelerator.clone();
        a.finish()?;
        a.clear(self.fields.memory())?;
        self.frame.clear(&*a)?;
        self.relaxing
            .as_ref()
            .map_or(Ok(()), |r| a.clear(r.memory.memory()))?;
        self.sources = SourceMemory::new(&*a, (&self.setup, &shots), &self.layout)?;
        self.records
            .next_shots(&*a, (&self.setup, &shots), &self.layout)?;
        self.shots = shots;
        a.finish()
    }

    /// Bytes of device memory.
    pub fn bytes(&self) -> usize {
        let loss = self.relaxing.as_ref();
        self.fields.bytes()
            + self.density.bytes()
            + self.stiffness.bytes()
            + self.frame.bytes()
            + self.sources.bytes()
            + self.records.bytes()
            + loss.map_or(0, |l| l.weak.bytes() + l.memory.bytes() + l.pattern.bytes())
    }

    /// The device that advances the slab.
    pub fn accelerator(&self) -> &Arc<A> {
        &self.accelerator
    }

    pub(super) fn fields_at(&self) -> u64 {
        self.fields.address()
    }

    /// Sets all fields on the planes that the slab owns; ghost planes are not set.
    pub(super) fn start_from(&self, field: &mut dyn FnMut(usize, usize, &mut [T])) -> Result<(), Error> {
        let p = &self.setup.padded;
        let bytes = p.plane_len() * size_of::<T>();
        let mut host = self.accelerator.pin(bytes)?;
        for number in 0..fields(p.ndim()) {
            for plane in self.layout.own.clone() {
                let numbers = bytemuck::cast_slice_mut(&mut host.bytes_mut()[..bytes]);
                field(number, plane, numbers);
                let to = self.ghosts_at(number, plane as isize);
                // SAFETY: the copy covers a plane of a field that the slab owns, and the host memory lives until it is
                // done.
                unsafe { self.accelerator.upload(Stream::Main, &host, 0, to, bytes)? };
                self.accelerator.finish()?;
            }
        }
        Ok(())
    }

    /// Describes the density and the wave speeds at a padded cell.
    pub(super) fn medium_words(&self, cell: [usize; 3]) -> Result<String, Error> {
        let p = &self.setup.padded;
        let (plane, row) = if p.ndim() == 3 {
            (cell[2], cell[1])
        } else {
            (cell[1], 0)
        };
        let rows = if p.ndim() == 3 { p.model.n[1] } else { 1 };
        let first = needed(p, &self.layout.own).start;
        let line = (p.model_plane(plane) - first) * rows + p.model_row(row);
        let z = cell[0].clamp(p.low[0], p.low[0] + p.model.n[0] - 1);
        let offset = ((line * p.pitch() + z) * size_of::<T>()) as u64;
        let read = |array: u64| -> Result<f64, Error> {
            let mut host = self.accelerator.pin(size_of::<T>())?;
            // SAFETY: the cell lies in the array, and the function waits for the copy.
            unsafe {
                self.accelerator
                    .download(Stream::Main, array + offset, &mut host, 0, size_of::<T>())?;
            }
            self.accelerator.finish()?;
            Ok(bytemuck::cast_slice::<u8, T>(&host.bytes()[..size_of::<T>()])[0].f64())
        };
        let (dt, stiff) = (self.setup.dt, self.args.stiff);
        let shear = stiff.shear.into_iter().find(|&array| array != 0);
        let (rho, mu) = (
            read(self.args.density)? * 2.0 * dt,
            0.25 / read(shear.unwrap_or_default())?,
        );
        let along = read(stiff.normal[0])? + if self.variant.isotropic { 2.0 * mu } else { 0.0 };
        let speed = |c: f64| (c / dt / rho).sqrt() as f32;
        Ok(format!(
            "medium there: density={} P speed={} S speed={}",
            rho as f32,
            speed(along),
            speed(mu)
        ))
    }
}

impl<A: Accelerator> LossMemory<A> {
    fn new<T: Real>(
        a: &A,
        (setup, shots): (&Setup<T>, usize),
        (weak, layout): (Stiffness<A>, &Layout),
        variant: Variant,
    ) -> Result<Self, Error> {
        let p = &setup.padded;
        let stress = layout.own.len() * p.plane_len();
        let stresses = fields(p.ndim()) - p.ndim();
        let bytes = shots * variant.mechanisms * stresses * stress * size_of::<T>();
        let memory = Lines::new(a, bytes, setup.first())?;
        let two = |pattern: &Pattern<T>| [pattern.keep[0], pattern.keep[1], pattern.take[0], pattern.take[1]];
        let mut numbers = Vec::new();
        for k in 0..variant.mechanisms {
            for plane in &setup.patterns {
                numbers.extend(plane[k].iter().flat_map(two));
            }
        }
        Ok(Self {
            weak,
            memory,
            pattern: send(a, &numbers)?,
        })
    }
}

impl<T: Real, A: Accelerator> DeviceSlab<T, A> {
    fn window_planes(&self) -> &Range<usize> {
        &self.setup.window[self.setup.padded.ndim() - 1]
    }
}

impl<T: Real, A: Accelerator> Stepper for DeviceSlab<T, A> {
    type Number = T;

    fn stages(&self) -> usize {
        2
    }

    fn has_neighbours(&self) -> bool {
        !self.links.is_empty()
    }

    fn update(&mut self, stage: usize, part: Part, step: usize) -> Result<(), Error> {
        let a = self.accelerator.clone();
        if part == Part::Boundary {
            for planes in self.layout.part(part) {
                // The kernels of the edges read fields that the main stream computed in the previous stage; this
                // stream has already waited for their ghosts.
                a.wait(Stream::Edges, &self.events.main)?;
                self.enqueue(Stream::Edges, stage, &planes, step)?;
                a.record(Stream::Edges, &self.events.edges)?;
            }
            return Ok(());
        }
        for planes in self.layout.part(part) {
            self.enqueue(Stream::Main, stage, &planes, step)?;
        }
        if self.layout.is_cut() {
            a.wait(Stream::Main, &self.events.edges)?;
            a.record(Stream::Main, &self.events.main)?;
        }
        Ok(())
    }

    fn finish_step(&mut self) -> Result<(), Error> {
        if !self.setup.peaks && !self.setup.quantity.runs() {
            return Ok(());
        }
        self.await_neighbours()?;
        self.keep()?;
        self.recorded()
    }

    /// Backward in time the stages swap their order and every update is subtracted: the derivatives and the sources
    /// change sign.
    fn turn(&mut self, direction: Direction) -> Result<(), Error> {
        if direction != self.direction {
            self.setup.reversible()?;
            self.direction = direction;
            self.args.weights = self.args.weights.map(|axis| axis.map(|w| T::of(-w.f64())));
            let sign = match direction {
                Direction::Forward => 1.0,
                Direction::Backward => -1.0,
            };
            self.sources.set_sign(&*self.accelerator, &self.shots, sign)?;
        }
        Ok(())
    }
}

impl<T: Real, A: Accelerator> Sampler for DeviceSlab<T, A> {
    fn capacity(&self) -> usize {
        self.records.slots()
    }

    fn sample(&mut self, _it: usize) -> Result<(), Error> {
        self.await_neighbours()?;
        self.record()?;
        self.recorded()
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
