//! The method on processors: the fields of a subdomain, with its blocks of elements and ranges of points distributed
//! over all threads.

use super::Number;
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
use super::points::{Placed, Receiver};
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
use crate::receiver::Quantity;
use crate::time_loop::Part;

/// Calls a method that is generic over the number of points of an element along an axis.
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

/// The range of blocks in a part of a subdomain; the blocks of the boundary come first.
pub(super) fn part_of(part: Part, boundary: usize, all: usize) -> Range<usize> {
    match part {
        Part::Boundary => 0..boundary,
        Part::Interior => boundary..all,
    }
}

/// A subdomain on processors, or the whole mesh.
pub struct Engine<const D: usize> {
    pub(super) cpu: Arc<Cpu>,
    pub(super) basis: Basis,
    pub(super) number: usize,
    pub(super) links: Vec<Link>,
    pub(super) blocks: Vec<Block<D>>,
    /// The number of boundary blocks, for which neighbours wait.
    pub(super) boundary: usize,
    pub(super) waves: Waves,
    pub(super) scratch: Rooms<D>,
    pub(super) absorbing: Vec<Absorbing<D>>,
    pub(super) memories: Vec<Option<Memory>>,
    pub(super) damped: Vec<Option<Damped>>,
    pub(super) coupling: Vec<Coupling<D>>,
    pub(super) fluid: Option<Fluid<D>>,
    pub(super) sources: Vec<Vec<Placed<D>>>,
    /// The contributions of elements to their points, `[block][lane][local point][component]`; waves keep them for
    /// some blocks at once.
    pub(super) contributions: Vec<[Number; D]>,
    /// The outgoing and incoming contributions.
    pub(super) exchange: Exchange,
    /// Indices of the outgoing contributions.
    pub(super) leaving: Vec<u32>,
    pub(super) sums: Sums,
    pub(super) inverse_mass: InverseMass<D>,
    pub(super) soaked: Soaked,
    pub(super) displacement: Vec<[Number; D]>,
    pub(super) velocity: Vec<[Number; D]>,
    pub(super) acceleration: Vec<[Number; D]>,
    pub(super) dt: f64,
    pub(super) step: usize,
    /// The recording of this subdomain, and the description of its elements.
    pub(super) recording: Recording<D>,
    /// Blocks and lanes of the solid elements.
    pub(super) homes: Homes,
}

impl<const D: usize> Engine<D> {
    /// Prepares a run of the whole mesh at rest. The caller must choose a stable step ([`crate::mesh::step`]).
    ///
    /// # Errors
    /// Returns an error for a source outside the mesh, a source of a kind that cannot act in the fluid around it, and
    /// too many points.
    pub fn new(cpu: Cpu, setup: &Setup<D>) -> Result<Self, Error> {
        let cut = Cut::new(setup, std::slice::from_ref(&(0..setup.mesh.len())))?;
        let locator = Locator::new(setup.mesh);
        Self::part(Arc::new(cpu), setup, &Shot::default(), (&cut, &locator, 0))
    }

    /// Prepares one subdomain of a partition.
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

    /// Prepares another shot over the same mesh, starting from rest, with other sources and receivers. All other fields
    /// of `setup` and `shot` must be unchanged.
    ///
    /// # Errors
    /// Returns the same errors as the set-up of a new subdomain; after an error the subdomain is unusable.
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

    /// A receiver at a position in the mesh of `setup`; error messages call it `what`.
    ///
    /// # Errors
    /// Returns an error for a position outside the mesh.
    pub fn receiver(
        &self,
        what: &str,
        at: [f64; D],
        setup: &Setup<D>,
        locator: &Locator<D>,
    ) -> Result<Receiver<D>, Error> {
        let location = locator.locate(what, at)?;
        let points = self.points_of(location.element);
        Ok(Receiver::new(setup, points, &location, Quantity::Strain))
    }

    /// The points of one of the subdomain's elements; empty for other elements.
    pub(super) fn points_of(&self, element: usize) -> Vec<u32> {
        let of = |blocks: &[Block<D>], (block, lane): (usize, usize)| {
            let points = blocks[block].points.iter();
            points.map(|numbers| numbers[lane]).collect()
        };
        if let Some(home) = self.homes.find(element) {
            return of(&self.blocks, home);
        }
        let fluid = self.fluid.as_ref();
        let in_fluid = fluid.and_then(|fluid| Some(of(&fluid.blocks, fluid.homes.find(element)?)));
        in_fluid.unwrap_or_default()
    }

    /// One of the subdomain's elements that contain this point.
    pub(super) fn element_with(&self, point: u32) -> Option<u32> {
        let fluid = self.fluid.iter().flat_map(|fluid| &fluid.blocks);
        self.blocks.iter().chain(fluid).find_map(|block| {
            let lanes = block.elements.iter().enumerate();
            let mut with = lanes.filter(|(lane, _)| block.points.iter().any(|n| n[*lane] == point));
            with.next().map(|(_, element)| *element)
        })
    }

    /// The current reading of a receiver along the axes of the mesh. Pressure is returned in the first component; it
    /// is zero in a solid. Strain and rotation are computed from [`Engine::slopes`].
    pub fn record(&self, receiver: &Receiver<D>, quantity: Quantity) -> [Number; D] {
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
            (_, Quantity::Velocity) => receiver.value(&self.velocity),
            (_, Quantity::Acceleration) => receiver.value(&self.acceleration),
            _ => receiver.value(&self.displacement),
        }
    }

    /// The slopes of the displacement at a receiver in a solid: `[component][axis of the mesh]`.
    pub fn slopes(&self, receiver: &Receiver<D>) -> [[Number; D]; D] {
        receiver.slopes(&self.displacement)
    }

    /// The pressure (Pa) at a receiver in a fluid; zero in a solid.
    pub fn pressure(&self, receiver: &Receiver<D>) -> Number {
        match &self.fluid {
            Some(fluid) if receiver.is_in_fluid() => -receiver.value(&fluid.second)[0],
            _ => 0.0,
        }
    }

    /// Advances the fields of a whole mesh by one step. Step n uses sample n of the sources and ends at the time of
    /// that sample.
    pub fn step(&mut self) {
        self.step_with(&[], &[]);
    }

    /// Advances by one step with additional forces on the points of elements, `[block][lane][point]`: of solids (N),
    /// and the corresponding terms in the equation of fluids.
    pub(super) fn step_with(&mut self, solid: &[[Number; D]], fluid: &[[Number; 1]]) {
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

    /// The fields that elements read.
    pub(super) fn motion(&self) -> Motion<'_, D> {
        Motion {
            displacement: &self.displacement,
            acceleration: &self.acceleration,
            velocity: &self.velocity,
            square: (self.dt * self.dt) as Number,
        }
    }

    /// Starts from a displacement (m) given as a function of position, with zero velocity, instead of from rest. This
    /// is only for whole meshes of solids without attenuation, and before the first step of the run made from `setup`.
    pub fn displace(&mut self, setup: &Setup<D>, field: impl Fn([f64; D]) -> [f64; D]) {
        let table = Tabulated::new(setup.mesh.order(), setup.basis);
        for element in 0..setup.mesh.len() {
            let nodes = setup.mesh.coordinates(element);
            for (local, point) in self.points_of(element).into_iter().enumerate() {
                let at = table.position(&nodes, local);
                self.displacement[point as usize] = field(at).map(|u| u as Number);
            }
        }
        // This computes the acceleration of that displacement; without it, the first prediction would lack half a step
        // of acceleration.
        let job = Job {
            step: self.step,
            predicts: false,
            added: &[],
        };
        self.advance_fluid(job);
        self.advance(job);
        self.velocity.fill([0.0; D]);
    }

    /// Displacement in m, `[point][component]`.
    pub fn displacement(&self) -> &[[Number; D]] {
        &self.displacement
    }

    /// Velocity in m/s, `[point][component]`.
    pub fn velocity(&self) -> &[[Number; D]] {
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
