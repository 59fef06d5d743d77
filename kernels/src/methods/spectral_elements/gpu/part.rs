//! A subdomain on a device: its memory and its part of a step.

use super::arguments::{Advance, Correct, Fluid, Inside, Paired, Predict, Solid, int};
use super::dressed::{of_fluids, of_solids};
use super::field::{FieldMemory, Fields, Parts, Plan, Turn};
use super::paired::PairedKernels;
use super::record::Records;
use super::tables::{Listing, Spots};
use super::variant::{self, AT_ONCE, IN_HELD, IN_OTHERS};
use crate::device::accelerator::{Accelerator, Memory, Stream, argument, walk};
use crate::device::staging::Staging;
use crate::mesh::Locator;
use crate::mesh::geometry::Tabulated;
use crate::methods::spectral_elements::boundary::face_points;
use crate::methods::spectral_elements::cut::{Cut, Exchange, Share};
use crate::methods::spectral_elements::fluid::contacts;
use crate::methods::spectral_elements::points::Placed;
use crate::methods::spectral_elements::recording::Recording;
use crate::methods::spectral_elements::{Setup, Shot};
use crate::parallel::halo::Link;
use crate::time_loop::{Part, Stepper};
use crate::{Error, Hint, message};
use std::sync::Arc;

pub(super) struct Kernels<A: Accelerator> {
    pub advance: A::Kernel,
    pub advance_inside: A::Kernel,
    pub predict: A::Kernel,
    pub correct_fluid: A::Kernel,
    pub pack: A::Kernel,
    pub inject: A::Kernel,
    pub extract: A::Kernel,
    pub snapshot: A::Kernel,
    pub look: A::Kernel,
}

impl<A: Accelerator> Kernels<A> {
    fn load<const D: usize>(a: &A, setup: &Setup<D>) -> Result<Self, Error> {
        let names = ["advance", "advance_inside", "predict", "correct_fluid", "pack"];
        let others = ["inject", "extract", "snapshot", "look"];
        let mut all = a.load(&variant::nodes(D), &names)?;
        all.extend(a.load(&variant::points(D, setup.basis), &others)?);
        let all: [A::Kernel; 9] = all
            .try_into()
            .map_err(|_| Error::setup("kernels of points are missing"))?;
        let [
            advance,
            advance_inside,
            predict,
            correct_fluid,
            pack,
            inject,
            extract,
            snapshot,
            look,
        ] = all;
        Ok(Self {
            advance,
            advance_inside,
            predict,
            correct_fluid,
            pack,
            inject,
            extract,
            snapshot,
            look,
        })
    }
}

/// The time level of the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// The step is complete: displacements, velocities and accelerations belong to the same time.
    Ended,
    /// All contributions of the elements have been computed, but the step is not complete: velocities belong to a time
    /// half a step earlier.
    Pending,
    /// The next step has begun in solids.
    Begun,
}

/// The potential, its rate and its second derivative.
pub(super) struct FluidPart<A: Accelerator> {
    pub field: FieldMemory<A>,
    pub levels: [A::Memory; 3],
}

/// A subdomain on a device.
pub struct DevicePart<const D: usize, A: Accelerator> {
    pub(super) accelerator: Arc<A>,
    pub(super) number: usize,
    pub(super) links: Vec<Link>,
    pub(super) kernels: Kernels<A>,
    pub(super) solid: FieldMemory<A>,
    pub(super) fluid: Option<FluidPart<A>>,
    /// Displacement, velocity, acceleration: `[point][component]`.
    pub(super) levels: [A::Memory; 3],
    pub(super) points: usize,
    /// Number of points of an element along an axis.
    along: usize,
    /// Number of points of an element.
    pub(super) per_element: usize,
    pub(super) dt: f64,
    pub(super) standing: Standing,
    /// The flags for the interior points of elements in this step, as in elements.cuh.
    pub(super) inside: i32,
    /// Whether the fields may be read after this step.
    looked_at: bool,
    /// The kernels that complete adjoint steps, for gradients, and the products that the next end of a step adds in
    /// solids and in fluids.
    pub(super) paired_kernels: Option<PairedKernels<A>>,
    pub(super) paired: Option<[Paired; 2]>,
    /// The main stream after its last use of incoming contributions, and the stream of the edges after their arrival.
    pub(super) advanced: A::Event,
    pub(super) arrived: A::Event,
    /// The main stream after the forces of a step, and the side stream after the dressed points.
    forced: A::Event,
    dressed: A::Event,
    pub(super) recording: Recording<D>,
    pub(super) records: Records<A>,
    pub(super) staging: Staging<A>,
}

/// The plan of the solids of a subdomain, or of its fluids.
fn plan<const D: usize>(
    setup: &Setup<D>,
    share: &Share<'_>,
    locator: &Locator<'_, D>,
    exchange: &Exchange,
    (recording, fluid): (&Recording<D>, bool),
) -> Result<Plan, Error> {
    let table = Tabulated::new(setup.mesh.order(), setup.basis);
    let faces = face_points(setup, share, &table);
    let contacts = contacts(setup, share, &table);
    let listing = Listing::new(setup, share, fluid);
    let (homes, boundary) = ((&listing.homes, listing.elements.len()), listing.boundary());
    let (points, spots) = if fluid {
        let sources = Placed::in_fluid(setup, locator, &table, homes)?;
        let points = of_fluids(setup, share, &table, &faces, &contacts);
        (points, Spots::new(&sources, boundary))
    } else {
        let sources = Placed::in_solid(setup, locator, homes)?;
        let points = of_solids(setup, share, &table, &faces, &contacts);
        (points, Spots::new(&sources, boundary))
    };
    let receivers = recording
        .receivers
        .iter()
        .filter(|(_, r)| r.is_in_fluid() == fluid);
    let read = receivers.filter_map(|(_, r)| listing.find(r.element)).collect();
    let parts = Parts {
        listing,
        points,
        spots,
        read,
    };
    Plan::new(setup, share, &table, parts, exchange)
}

impl<const D: usize, A: Accelerator> DevicePart<D, A> {
    /// A subdomain of a partition, at rest.
    pub(super) fn new(
        a: Arc<A>,
        setup: &Setup<D>,
        shot: &Shot<D>,
        (cut, locator, number): (&Cut, &Locator<'_, D>, usize),
    ) -> Result<Self, Error> {
        let share = cut.share(number);
        let (links, [of_fluid, of_solid]) = share.links(D);
        let recording = Recording::new(setup, shot, &share, (cut.points(), locator))?;
        let solid = plan(setup, &share, locator, &of_solid, (&recording, false))?;
        let fluid = match cut.has_fluid() {
            true => Some(plan(setup, &share, locator, &of_fluid, (&recording, true))?),
            false => None,
        };
        let points = share.points();
        let level = (points * D * size_of::<f32>(), points * size_of::<f32>());
        let fields = 3 * level.0 + if fluid.is_some() { 3 * level.1 } else { 0 };
        let own = solid.bytes() + fluid.as_ref().map_or(0, Plan::bytes) + fields;
        super::fits(
            &*a,
            own + Records::<A>::bytes_of(&recording, setup),
            (
                &format!("{} elements", share.elements.len()),
                message![
                    "take ",
                    Hint::MoreGpus,
                    ", or ",
                    Hint::Processors,
                    ", which takes memory of the host"
                ],
            ),
        )?;
        let kernels = Kernels::load(&*a, setup)?;
        let three = |bytes: usize| -> Result<[A::Memory; 3], Error> {
            Ok([a.allocate(bytes)?, a.allocate(bytes)?, a.allocate(bytes)?])
        };
        let mut recording = recording;
        let of_fluid = fluid.as_ref().map(|plan| &plan.listing);
        let records = Records::new(&*a, &mut recording, (&solid, of_fluid), setup)?;
        let solid = FieldMemory::new(&*a, setup, solid)?;
        let fluid = match fluid {
            Some(plan) => Some(FluidPart {
                field: FieldMemory::new(&*a, setup, plan)?,
                levels: three(level.1)?,
            }),
            None => None,
        };
        Ok(Self {
            records,
            recording,
            levels: three(level.0)?,
            along: setup.basis.len(),
            per_element: setup.basis.len().pow(D as u32),
            dt: setup.dt,
            standing: Standing::Ended,
            inside: 0,
            looked_at: true,
            paired_kernels: None,
            paired: None,
            advanced: a.event()?,
            arrived: a.event()?,
            forced: a.event()?,
            dressed: a.event()?,
            staging: Staging::default(),
            accelerator: a,
            number,
            links,
            kernels,
            solid,
            fluid,
            points,
        })
    }

    /// Bytes of device memory.
    pub fn bytes(&self) -> usize {
        let levels = self.levels.iter().map(Memory::bytes).sum::<usize>();
        let fluid = self.fluid.as_ref().map_or(0, |fluid| {
            fluid.field.bytes() + fluid.levels.iter().map(Memory::bytes).sum::<usize>()
        });
        levels + fluid + self.solid.bytes() + self.records.bytes()
    }

    /// The device that advances the subdomain.
    pub fn accelerator(&self) -> &Arc<A> {
        &self.accelerator
    }

    /// Whether there is a sponge.
    fn soaks(&self) -> bool {
        self.solid.addresses().sponge != 0
    }

    pub(super) fn is_of_fluids(&self, stage: usize) -> bool {
        self.fluid.is_some() && stage == 0
    }

    /// dt and dt/2, each rounded once.
    fn steps(&self) -> [f32; 2] {
        [self.dt as f32, (self.dt / 2.0) as f32]
    }

    pub(super) fn solid_args(&self) -> Solid {
        let at = self.solid.addresses();
        let [displacement, velocity, acceleration] = self.levels.each_ref().map(Memory::address);
        let [dt, half] = self.steps();
        Solid {
            displacement,
            velocity,
            acceleration,
            forces: at.forces,
            targets: at.targets,
            starts: at.starts,
            places: at.places,
            inverse_mass: at.inverse_mass,
            dress: at.dress,
            sponge: at.sponge,
            pressure: self.fluid.as_ref().map_or(0, |fluid| fluid.levels[2].address()),
            dt,
            half,
        }
    }

    pub(super) fn fluid_args(&self) -> Fluid {
        let Some(fluid) = &self.fluid else {
            return Fluid::default();
        };
        let at = fluid.field.addresses();
        let [potential, rate, second] = fluid.levels.each_ref().map(Memory::address);
        let [dt, half] = self.steps();
        Fluid {
            potential,
            rate,
            second,
            forces: at.forces,
            targets: at.targets,
            starts: at.starts,
            places: at.places,
            inverse_mass: at.inverse_mass,
            dress: at.dress,
            sponge: at.sponge,
            displacement: self.levels[0].address(),
            dt,
            half,
        }
    }

    /// Completes the pending step at the points that elements share; with `goes_on` the next one begins at once.
    /// Without it, and if there is a sponge or products are added, the step is completed here at the interior points
    /// of elements as well.
    pub(super) fn advance(&self, goes_on: bool) -> Result<(), Error> {
        let a = &self.accelerator;
        let args = |list: u64, count: usize| Advance {
            s: self.solid_args(),
            list,
            count: int(count),
            goes_on: i32::from(goes_on),
            // Products on absorbing faces, whose points are dressed, need the acceleration.
            keeps: i32::from(!goes_on || self.recording.mechanisms > 1 || self.paired.is_some() && list != 0),
        };
        // Dressed and other points are disjoint; the kernel for the few dressed points runs concurrently.
        let apart = self.solid.dressed > 0;
        if apart {
            a.record(Stream::Main, &self.forced)?;
            a.wait(Stream::Beside, &self.forced)?;
        }
        let dressed = (Stream::Beside, self.solid.list.address(), self.solid.dressed);
        let lists = [dressed, (Stream::Main, 0, self.solid.sums)].into_iter();
        for (stream, list, count) in lists.filter(|list| list.2 > 0) {
            let plain = (&self.kernels.advance, args(list, count));
            self.launch_paired((stream, count), |all| &all.advance, plain, 0)?;
        }
        if apart {
            a.record(Stream::Beside, &self.dressed)?;
            a.wait(Stream::Main, &self.dressed)?;
        }
        let count = self.solid.listing.elements.len() * (self.along - 2).pow(D as u32);
        // The kernel of elements supports neither sponges nor products.
        if (goes_on && !self.soaks() && self.paired.is_none()) || count == 0 {
            return Ok(());
        }
        let args = Inside {
            a: args(0, 0),
            points: self.solid.points.address(),
            count: count as i64,
            along: int(self.along),
        };
        let plain = (&self.kernels.advance_inside, args);
        self.launch_paired((Stream::Main, count), |all| &all.advance_inside, plain, 0)
    }

    /// The first half of a step of a field with these levels.
    fn predict(&self, levels: &[A::Memory; 3]) -> Result<(), Error> {
        let [field, rate, second] = levels.each_ref().map(Memory::address);
        let [dt, half] = self.steps();
        let count = levels[0].bytes() / size_of::<f32>();
        let args = Predict {
            field,
            rate,
            second,
            dt,
            half,
            count: count as i64,
        };
        // SAFETY: the argument is the structure of the kernel; the levels have `count` numbers.
        unsafe {
            self.accelerator
                .launch(Stream::Main, &self.kernels.predict, walk(count), &argument(&args))
        }
    }

    /// Begins a step of all fields.
    fn begin(&mut self) -> Result<(), Error> {
        let began = self.inside & AT_ONCE != 0;
        self.inside = match self.standing {
            Standing::Pending if began => IN_HELD,
            Standing::Pending => IN_HELD | IN_OTHERS,
            Standing::Ended | Standing::Begun => 0,
        };
        if !self.looked_at && !self.soaks() && self.recording.mechanisms == 0 {
            self.inside |= AT_ONCE;
        }
        match self.standing {
            Standing::Pending => self.advance(true)?,
            Standing::Ended => self.predict(&self.levels)?,
            Standing::Begun => {}
        }
        if let Some(fluid) = &self.fluid {
            self.predict(&fluid.levels)?;
        }
        self.accelerator.record(Stream::Main, &self.advanced)
    }

    /// Completes the fluid's step.
    fn correct_fluid(&self) -> Result<(), Error> {
        let Some(fluid) = &self.fluid else { return Ok(()) };
        let dressed = (fluid.field.list.address(), fluid.field.dressed);
        for (list, count) in [(0, fluid.field.sums), dressed] {
            if count == 0 {
                continue;
            }
            let args = Correct {
                f: self.fluid_args(),
                list,
                count: int(count),
            };
            let plain = (&self.kernels.correct_fluid, args);
            self.launch_paired((Stream::Main, count), |all| &all.correct_fluid, plain, 1)?;
        }
        self.accelerator.record(Stream::Main, &self.advanced)
    }

    /// Completes the pending step, so that all fields belong to its end.
    pub(super) fn settle(&mut self) -> Result<(), Error> {
        if self.standing == Standing::Pending {
            assert!(self.inside & AT_ONCE == 0, "the next step has already begun");
            self.advance(false)?;
            self.standing = Standing::Ended;
            self.accelerator.record(Stream::Main, &self.advanced)?;
        }
        Ok(())
    }

    /// Launches the elements of a part of a stage, and packs the contributions for neighbours.
    fn elements(&self, stage: usize, part: Part, step: usize) -> Result<(), Error> {
        let stream = match part {
            Part::Boundary => Stream::Edges,
            Part::Interior => Stream::Main,
        };
        let fluid = self.fluid.as_ref().filter(|_| self.is_of_fluids(stage));
        let (field, levels) = fluid.map_or((&self.solid, &self.levels), |f| (&f.field, &f.levels));
        let fields = Fields {
            field: levels[0].address(),
            rate: levels[1].address(),
            second: levels[2].address(),
            dt: self.dt,
            inside: if fluid.is_none() && !self.soaks() {
                self.inside
            } else {
                0
            },
        };
        let a = &*self.accelerator;
        if part == Part::Boundary {
            a.wait(stream, &self.advanced)?;
        }
        let turn = Turn { stream, part, step };
        field.launch(a, turn, &self.kernels.inject, fields)?;
        match part {
            Part::Boundary => field.pack(a, &self.kernels.pack),
            Part::Interior => Ok(()),
        }
    }
}

impl<const D: usize, A: Accelerator> Stepper for DevicePart<D, A> {
    type Number = f32;

    fn stages(&self) -> usize {
        if self.fluid.is_some() { 2 } else { 1 }
    }

    fn has_neighbours(&self) -> bool {
        !self.links.is_empty()
    }

    fn expect_look(&mut self, looked_at: bool) {
        self.looked_at = looked_at;
    }

    fn update(&mut self, stage: usize, part: Part, step: usize) -> Result<(), Error> {
        if part == Part::Boundary || !self.has_neighbours() {
            match stage {
                0 => self.begin()?,
                _ => self.correct_fluid()?,
            }
        }
        self.elements(stage, part, step)
    }

    fn finish_step(&mut self) -> Result<(), Error> {
        self.standing = Standing::Pending;
        Ok(())
    }
}
