//! The method on processors: the fields of a subdomain, its blocks of elements and ranges of points on all threads.

use std::ops::Range;
use std::sync::Arc;

use super::assembly::{self, Block, Homes};
use super::attenuation::Memory;
use super::boundary::{Absorbing, face_points};
use super::cut::{Cut, Exchange};
use super::element::Motion;
use super::fluid::{Coupling, Fluid, Surfaces, contacts};
use super::lanes::LANES;
use super::mass::InverseMass;
use super::pml::{self, Damped};
use super::points::{Placed, Quantity, Receiver};
use super::recording::{Recording, receivers};
use super::scratch::Rooms;
use super::sponge::Soaked;
use super::sums::Sums;
use super::sweep::Job;
use super::waves::Waves;
use super::{Setup, Shot};
use crate::Error;
use crate::device::cpu::Cpu;
use crate::mesh::geometry::Tabulated;
use crate::mesh::{Basis, Locator};
use crate::parallel::halo::Link;
use crate::time_loop::Part;

/// Calls a method whose text knows how many points an element has along an axis.
macro_rules! by_length {
    ($engine:ident, $name:ident($($word:expr),*)) => {
        match $engine.basis.len() {
            3 => $engine.$name::<3>($($word),*),
            4 => $engine.$name::<4>($($word),*),
            5 => $engine.$name::<5>($($word),*),
            6 => $engine.$name::<6>($($word),*),
            7 => $engine.$name::<7>($($word),*),
            8 => $engine.$name::<8>($($word),*),
            _ => $engine.$name::<9>($($word),*),
        }
    };
}
pub(super) use by_length;

/// The blocks of a part of a subdomain, of which the first ones are those of the boundary.
pub(super) fn part_of(part: Part, boundary: usize, all: usize) -> Range<usize> {
    match part {
        Part::Boundary => 0..boundary,
        Part::Interior => boundary..all,
    }
}

/// A subdomain on processors; alone it is the whole mesh.
pub struct Engine<const D: usize> {
    pub(super) cpu: Arc<Cpu>,
    pub(super) basis: Basis,
    pub(super) number: usize,
    pub(super) links: Vec<Link>,
    pub(super) blocks: Vec<Block<D>>,
    /// How many of the blocks neighbours wait for.
    pub(super) boundary: usize,
    pub(super) waves: Waves,
    pub(super) scratch: Rooms<D>,
    pub(super) absorbing: Vec<Absorbing<D>>,
    pub(super) memories: Vec<Option<Memory>>,
    pub(super) damped: Vec<Option<Damped>>,
    pub(super) coupling: Vec<Coupling<D>>,
    pub(super) fluid: Option<Fluid<D>>,
    pub(super) sources: Vec<Vec<Placed<D>>>,
    /// What elements add to their points, `[block][lane][local point][component]`; waves keep it for some
    /// blocks at once.
    pub(super) contributions: Vec<[f32; D]>,
    /// Those that leave and arrive.
    pub(super) exchange: Exchange,
    /// Where those that leave stand.
    pub(super) leaving: Vec<u32>,
    pub(super) sums: Sums,
    pub(super) inverse_mass: InverseMass<D>,
    pub(super) soaked: Soaked,
    pub(super) displacement: Vec<[f32; D]>,
    pub(super) velocity: Vec<[f32; D]>,
    pub(super) acceleration: Vec<[f32; D]>,
    pub(super) dt: f64,
    pub(super) step: usize,
    /// What is recorded here, and what the mesh is like.
    pub(super) recording: Recording<D>,
    /// Blocks and lanes of the solid elements.
    pub(super) homes: Homes,
}

impl<const D: usize> Engine<D> {
    /// Prepares a run of the whole mesh at rest. The caller sees to a stable step ([`crate::mesh::step`]).
    ///
    /// # Errors
    /// A source outside of the mesh, or of a kind that does not act in a fluid where it is; too many points.
    pub fn new(cpu: Cpu, setup: &Setup<D>) -> Result<Self, Error> {
        let cut = Cut::new(setup, std::slice::from_ref(&(0..setup.mesh.len())))?;
        let locator = Locator::new(setup.mesh);
        Self::part(Arc::new(cpu), setup, &Shot::default(), (&cut, &locator, 0))
    }

    /// A subdomain of a cut.
    pub(super) fn part(
        cpu: Arc<Cpu>,
        setup: &Setup<D>,
        shot: &Shot<D>,
        (cut, locator, number): (&Cut, &Locator<'_, D>, usize),
    ) -> Result<Self, Error> {
        let table = Tabulated::new(setup.mesh.order(), setup.basis);
        let share = cut.share(number);
        let (blocks, boundary) = assembly::blocks(setup, &share, &table, false);
        let faces = face_points(setup, &share, &table);
        let contacts = contacts(setup, &share, &table);
        let points = share.points();
        let (links, [of_fluid, exchange]) = share.links(D);
        let threads = links.is_empty().then(|| cpu.threads());
        let waves = Waves::new(&blocks, points, threads);
        let fluid = cut.has_fluid().then(|| {
            let surfaces = Surfaces {
                faces: &faces,
                contacts: &contacts,
            };
            Fluid::new(setup, &share, threads, locator, surfaces, of_fluid)
        });
        let homes = Homes::of(&blocks);
        let leaving = exchange.send.iter().filter_map(|(element, local)| {
            let home = homes.find(*element as usize)?;
            Some(assembly::place(home, *local as usize, table.points()) as u32)
        });
        let inverse_mass = InverseMass::new(setup, &share, &table, &faces);
        Ok(Self {
            soaked: Soaked::of(&inverse_mass.sponge),
            leaving: leaving.collect(),
            fluid: fluid.transpose()?,
            sources: Placed::in_solid(setup, locator, (&homes, blocks.len()))?,
            absorbing: Absorbing::of_blocks(&blocks, &faces),
            coupling: Coupling::of_blocks(&blocks, &contacts, |contact| contact.solid),
            memories: assembly::memories(setup, &table, &blocks),
            damped: assembly::damped(setup, &table, &blocks, D),
            contributions: vec![[0.0; D]; waves.kept * LANES * table.points()],
            sums: Sums::new((&blocks, waves.kept), points, &exchange.arrived)?,
            scratch: Rooms::default(),
            waves,
            inverse_mass,
            displacement: vec![[0.0; D]; points],
            velocity: vec![[0.0; D]; points],
            acceleration: vec![[0.0; D]; points],
            basis: setup.basis.clone(),
            dt: setup.dt,
            step: 0,
            recording: Recording::new(setup, shot, &share, (cut.points(), locator))?,
            cpu,
            number,
            links,
            blocks,
            boundary,
            exchange,
            homes,
        })
    }

    /// Makes ready for another shot over the same mesh, from rest: other sources and receivers. Everything else of `setup` and
    /// `shot` is as it was.
    ///
    /// # Errors
    /// As of a new subdomain; what it was is lost then.
    pub(super) fn next_shot(
        &mut self,
        setup: &Setup<D>,
        shot: &Shot<D>,
        locator: &Locator<D>,
    ) -> Result<(), Error> {
        pml::check_sources(setup)?;
        self.sources = Placed::in_solid(setup, locator, (&self.homes, self.blocks.len()))?;
        if let Some(fluid) = &mut self.fluid {
            fluid.next_shot(setup, locator)?;
        }
        let points_of = |element: usize| Some(self.points_of(element)).filter(|points| !points.is_empty());
        let receivers = receivers(setup, shot, locator, points_of)?;
        self.recording.take(shot, receivers);
        let fields = [&mut self.displacement, &mut self.velocity, &mut self.acceleration];
        fields.into_iter().for_each(|field| field.fill([0.0; D]));
        self.memories.iter_mut().flatten().for_each(Memory::forget);
        self.damped.iter_mut().flatten().for_each(Damped::forget);
        self.step = 0;
        Ok(())
    }

    /// A receiver at a place of the mesh of `setup`; messages call it `what`.
    ///
    /// # Errors
    /// A place outside of the mesh.
    pub fn receiver(
        &self,
        what: &str,
        at: [f64; D],
        setup: &Setup<D>,
        locator: &Locator<D>,
    ) -> Result<Receiver<D>, Error> {
        let found = locator.locate(what, at)?;
        let points = self.points_of(found.element);
        Ok(Receiver::new(setup, points, &found, Quantity::Strain))
    }

    /// The points of one of the subdomain's elements; none of another.
    pub(super) fn points_of(&self, element: usize) -> Vec<u32> {
        let of = |blocks: &[Block<D>], (block, lane): (usize, usize)| {
            let points = blocks[block].points.iter();
            points.map(|numbers| numbers[lane]).collect()
        };
        if let Some(home) = self.homes.find(element) {
            return of(&self.blocks, home);
        }
        let fluid = self.fluid.as_ref();
        let found = fluid.and_then(|fluid| Some(of(&fluid.blocks, fluid.homes.find(element)?)));
        found.unwrap_or_default()
    }

    /// One of the subdomain's elements with this point.
    pub(super) fn element_with(&self, point: u32) -> Option<u32> {
        let fluid = self.fluid.iter().flat_map(|fluid| &fluid.blocks);
        self.blocks.iter().chain(fluid).find_map(|block| {
            let lanes = block.elements.iter().enumerate();
            let mut with = lanes.filter(|(lane, _)| block.points.iter().any(|n| n[*lane] == point));
            with.next().map(|(_, element)| *element)
        })
    }

    /// What a receiver records now along the axes of the mesh; its pressure comes first, and is that of a fluid, zero in a
    /// solid. Strain and rotation are made of [`Engine::slopes`].
    pub fn record(&self, receiver: &Receiver<D>, quantity: Quantity) -> [f32; D] {
        match (&self.fluid, quantity) {
            (_, Quantity::Pressure) => {
                let mut out = [0.0; D];
                out[0] = self.pressure(receiver);
                out
            }
            (Some(fluid), _) if receiver.is_in_fluid() => receiver.slope(match quantity {
                Quantity::Velocity => &fluid.rate,
                Quantity::Acceleration => &fluid.second,
                _ => &fluid.potential,
            }),
            (_, Quantity::Displacement | Quantity::Strain | Quantity::Rotation) => {
                receiver.value(&self.displacement)
            }
            (_, Quantity::Velocity) => receiver.value(&self.velocity),
            (_, Quantity::Acceleration) => receiver.value(&self.acceleration),
        }
    }

    /// The slopes of the displacement at a receiver in a solid: `[component][axis of the mesh]`.
    pub fn slopes(&self, receiver: &Receiver<D>) -> [[f32; D]; D] {
        receiver.slopes(&self.displacement)
    }

    /// The pressure (Pa) at a receiver in a fluid; zero in a solid.
    pub fn pressure(&self, receiver: &Receiver<D>) -> f32 {
        match &self.fluid {
            Some(fluid) if receiver.is_in_fluid() => -receiver.value(&fluid.second)[0],
            _ => 0.0,
        }
    }

    /// Advances the fields of a whole mesh by one step. Step n takes sample n of the sources and ends at their time n.
    pub fn step(&mut self) {
        self.step_with(&[], &[]);
    }

    /// The same with more forces on the points of elements, `[block][lane][point]`: of solids (N), and what a fluid's equation has in their
    /// place.
    pub(super) fn step_with(&mut self, solid: &[[f32; D]], fluid: &[[f32; 1]]) {
        let job = |added| Job {
            step: self.step,
            predicts: true,
            added,
        };
        let [solid, fluid] = [job(solid.as_flattened()), job(fluid.as_flattened())];
        self.advance_fluid(fluid);
        self.advance(solid);
        self.step += 1;
    }

    /// What elements ask of the fields.
    pub(super) fn motion(&self) -> Motion<'_, D> {
        Motion {
            displacement: &self.displacement,
            acceleration: &self.acceleration,
            velocity: &self.velocity,
            square: (self.dt * self.dt) as f32,
        }
    }

    /// Begins with a displacement (m) as a function of the place and with velocities of zero, in place of a body at
    /// rest: for whole meshes of solids without attenuation, before the first step of the run that `setup` made.
    pub fn displace(&mut self, setup: &Setup<D>, field: impl Fn([f64; D]) -> [f64; D]) {
        let table = Tabulated::new(setup.mesh.order(), setup.basis);
        for element in 0..setup.mesh.len() {
            let nodes = setup.mesh.coordinates(element);
            for (local, point) in self.points_of(element).into_iter().enumerate() {
                let at = table.position(&nodes, local);
                self.displacement[point as usize] = field(at).map(|u| u as f32);
            }
        }
        // The acceleration of that displacement; half a step of it would otherwise be missing in the first prediction.
        let job = Job {
            step: self.step,
            predicts: false,
            added: &[],
        };
        self.advance_fluid(job);
        self.advance(job);
        self.velocity.fill([0.0; D]);
    }

    /// Displacement, m: `[point][component]`.
    pub fn displacement(&self) -> &[[f32; D]] {
        &self.displacement
    }

    /// Velocity, m/s.
    pub fn velocity(&self) -> &[[f32; D]] {
        &self.velocity
    }

    /// Bytes of fields, shapes, medium and sums.
    pub fn bytes(&self) -> usize {
        let of_blocks = self.blocks.iter().map(Block::bytes).sum::<usize>();
        let memories = self.memories.iter().flatten().map(Memory::bytes).sum::<usize>();
        let fields =
            3 * size_of_val(&self.displacement[..]) + self.inverse_mass.bytes() + self.soaked.bytes();
        let contributions = size_of_val(&self.contributions[..]);
        let fluid = self.fluid.as_ref().map_or(0, Fluid::bytes);
        let damped = self.damped.iter().flatten().map(Damped::bytes).sum::<usize>();
        of_blocks + memories + damped + fields + contributions + self.sums.bytes() + fluid
    }
}
