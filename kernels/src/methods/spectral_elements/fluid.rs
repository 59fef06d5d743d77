//! Fluids: a potential chi with u = grad(chi)/rho and p = -chi'' (Chaljub, Capdeville & Vilotte 2003).
//!
//! At free faces chi is zero, absorbing faces have the term chi'/(rho vp), and all other faces are rigid. Where a fluid
//! and a solid share a face, the displacement u.n of the solid acts on the fluid, and the pressure of the fluid on the
//! solid. The fluid is advanced first in a step, since the solid needs the new chi''.

use super::Number;
use std::ops::Range;

use rayon::prelude::*;

use super::Setup;
use super::assembly::{self, Block, Homes};
use super::boundary::FacePoint;
use super::cpu::part_of;
use super::cut::{Exchange, Share};
use super::element::FluidForces;
use super::lanes::LANES;
use super::mass::masses;
use super::pml::{Damped, fixed_points};
use super::points::Placed;
use super::scratch::Rooms;
use super::shape::Tables;
use super::sponge::{Damping, Soaked};
use super::sums::Sums;
use super::sweep::{self, Job};
use super::waves::Waves;
use crate::Error;
use crate::device::cpu::{Cpu, flushed};
use crate::mesh::cell::{self, faces};
use crate::mesh::geometry::Tabulated;
use crate::mesh::step::{Law, Medium};
use crate::mesh::{Locator, Side};
use crate::time_loop::Part;

/// A point of a face: its index among the contributions of a block, and the point of the subdomain.
type At = (u32, u32);

/// A point where a fluid and a solid meet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contact<const D: usize> {
    pub(super) fluid: u32,
    pub(super) solid: u32,
    pub(super) point: u32,
    /// Normal out of the fluid, times area.
    pub(super) normal: [f64; D],
}

/// The contacts at the points of a subdomain, including the contacts of elements in other subdomains, in the order of
/// fluid elements and faces.
pub(super) fn contacts<const D: usize>(
    setup: &Setup<D>,
    share: &Share<'_>,
    table: &Tabulated<D>,
) -> Vec<Contact<D>> {
    let mut contacts = Vec::new();
    let sides =
        (0..setup.mesh.len()).flat_map(|element| (0..faces::<D>()).map(move |face| Side { element, face }));
    for side in sides.filter(|side| setup.is_fluid(side.element)) {
        let Some(other) = setup
            .mesh
            .across(side)
            .filter(|other| !setup.is_fluid(other.element))
        else {
            continue;
        };
        if !share.touches(side.element) {
            continue;
        }
        let own = table.element(&setup.mesh.coordinates(side.element));
        let surface = table.surface(&own, cell::face::<D>(side.face));
        for (k, local) in surface.points.iter().enumerate() {
            let Some(point) = share.at(side.element, *local) else {
                continue;
            };
            contacts.push(Contact {
                fluid: side.element as u32,
                solid: other.element as u32,
                point,
                normal: surface.normal[k].map(|n| n * surface.area[k]),
            });
        }
    }
    contacts
}

/// The points of absorbing faces and of contacts, where terms in addition to the elements' forces act on a subdomain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Surfaces<'a, const D: usize> {
    pub(super) faces: &'a [FacePoint<D>],
    pub(super) contacts: &'a [Contact<D>],
}

/// Contacts sorted to the blocks of their fluid or solid elements.
#[derive(Clone, Debug, Default)]
pub(super) struct Coupling<const D: usize> {
    places: Vec<At>,
    normals: Vec<[Number; D]>,
}

impl<const D: usize> Coupling<D> {
    pub(super) fn of_blocks(
        blocks: &[Block<D>],
        contacts: &[Contact<D>],
        element: impl Fn(&Contact<D>) -> u32,
    ) -> Vec<Self> {
        let mut sorted: Vec<&Contact<D>> = contacts.iter().collect();
        sorted.sort_by_key(|contact| element(contact));
        let gather = |block: &Block<D>| {
            let mut own = Self::default();
            for (lane, number) in block.elements.iter().enumerate() {
                let first = sorted.partition_point(|contact| element(contact) < *number);
                for contact in sorted[first..]
                    .iter()
                    .take_while(|contact| element(contact) == *number)
                {
                    let local = block
                        .points
                        .iter()
                        .position(|points| points[lane] == contact.point);
                    let place = block.place(lane, local.unwrap_or(0) as u32);
                    own.places.push((place, contact.point));
                    own.normals.push(contact.normal.map(|n| n as Number));
                }
            }
            own
        };
        blocks.iter().map(gather).collect()
    }

    /// Adds the pressure -chi'' of the fluid to the forces on the solid.
    pub(super) fn push_solid(&self, second: &[[Number; 1]], forces: &mut [[Number; D]]) {
        for ((place, point), n) in self.places.iter().zip(&self.normals) {
            let force = &mut forces[*place as usize];
            (0..D).for_each(|c| force[c] -= n[c] * second[*point as usize][0]);
        }
    }

    /// Adds the normal displacement of the solid to the forces on the fluid.
    fn push_fluid(&self, displacement: &[[Number; D]], forces: &mut [[Number; 1]]) {
        for ((place, point), n) in self.places.iter().zip(&self.normals) {
            let mut sum = 0.0;
            (0..D).for_each(|c| sum += displacement[*point as usize][c] * n[c]);
            forces[*place as usize][0] += sum;
        }
    }
}

/// The fluid elements of a subdomain.
pub(super) struct Fluid<const D: usize> {
    pub(super) blocks: Vec<Block<D>>,
    pub(super) homes: Homes,
    /// The number of boundary blocks, which come first; neighbours wait for their results.
    boundary: usize,
    pub(super) waves: Waves,
    scratch: Rooms<1>,
    pub(super) exchange: Exchange,
    /// Indices of the outgoing contributions.
    leaving: Vec<u32>,
    absorbing: Vec<Vec<(At, Number)>>,
    pub(super) damped: Vec<Option<Damped>>,
    coupling: Vec<Coupling<D>>,
    pub(super) sources: Vec<Vec<Placed<1>>>,
    contributions: Vec<[Number; 1]>,
    sums: Sums,
    inverse_mass: Vec<Number>,
    soaked: Soaked,
    /// Points of the free surface.
    zero: Vec<u32>,
    pub(super) potential: Vec<[Number; 1]>,
    pub(super) rate: Vec<[Number; 1]>,
    pub(super) second: Vec<[Number; 1]>,
}

impl<const D: usize> Fluid<D> {
    /// Sets up the fluid of a subdomain. `threads` is `None` for a subdomain with neighbours, whose step is not
    /// divided into several waves.
    ///
    /// # Errors
    /// Returns an error for a kind of source that cannot act in fluids.
    pub(super) fn new(
        setup: &Setup<D>,
        share: &Share<'_>,
        threads: Option<usize>,
        locator: &Locator<D>,
        surfaces: Surfaces<'_, D>,
        exchange: Exchange,
    ) -> Result<Self, Error> {
        let Surfaces { faces, contacts } = surfaces;
        let table = &Tabulated::new(setup.mesh.order(), setup.basis);
        let (blocks, boundary) = assembly::blocks(setup, share, table, true);
        let points = share.points();
        let waves = Waves::new(&blocks, points, threads);
        let own = admittances(setup, faces);
        let gather = |block: &Block<D>| {
            let of_lane = |(lane, element): (usize, &u32)| {
                let first = own.partition_point(|p| p.0.element < *element);
                let of_element: Vec<_> = own[first..]
                    .iter()
                    .take_while(|p| p.0.element == *element)
                    .collect();
                of_element
                    .into_iter()
                    .map(|(p, z)| ((block.place(lane, p.local), p.point), *z as Number))
                    .collect::<Vec<_>>()
            };
            block.elements.iter().enumerate().flat_map(of_lane).collect()
        };
        let sponge = sponge(setup, share, table);
        let homes = Homes::of(&blocks);
        let leaving = exchange.send.iter().filter_map(|(element, local)| {
            let home = homes.find(*element as usize)?;
            Some(assembly::place(home, *local as usize, table.points()) as u32)
        });
        Ok(Self {
            boundary,
            leaving: leaving.collect(),
            absorbing: blocks.iter().map(gather).collect(),
            damped: assembly::damped(setup, table, &blocks, 1),
            coupling: Coupling::of_blocks(&blocks, contacts, |contact| contact.fluid),
            sources: Placed::in_fluid(setup, locator, table, (&homes, blocks.len()))?,
            contributions: vec![[0.0]; waves.kept * LANES * table.points()],
            sums: Sums::new((&blocks, waves.kept), points, &exchange.arrived)?,
            scratch: Rooms::default(),
            waves,
            inverse_mass: inverse_mass(setup, share, table, (&own, &sponge)),
            soaked: Soaked::of(&sponge),
            zero: free_points(setup, share),
            exchange,
            potential: vec![[0.0]; points],
            rate: vec![[0.0]; points],
            second: vec![[0.0]; points],
            homes,
            blocks,
        })
    }

    /// Begins another shot, starting from rest.
    ///
    /// # Errors
    /// Returns an error for a kind of source that cannot act in fluids.
    pub(super) fn next_shot(&mut self, setup: &Setup<D>, locator: &Locator<D>) -> Result<(), Error> {
        let table = Tabulated::new(setup.mesh.order(), setup.basis);
        self.sources = Placed::in_fluid(setup, locator, &table, (&self.homes, self.blocks.len()))?;
        let fields = [&mut self.potential, &mut self.rate, &mut self.second];
        fields.into_iter().for_each(|field| field.fill([0.0]));
        self.damped.iter_mut().flatten().for_each(Damped::forget);
        Ok(())
    }

    /// Advances the fluid by a step, wave by wave.
    pub(super) fn advance<const N: usize>(
        &mut self,
        cpu: &Cpu,
        tables: &Tables<N>,
        displacement: &[[Number; D]],
        (job, steps): (Job<'_>, (Number, Number, Number)),
    ) {
        for k in 0..self.waves.all.len() {
            let wave = self.waves.all[k].clone();
            if job.predicts {
                self.predict_points(cpu, wave.predicted, steps);
            }
            self.forces(cpu, tables, displacement, (wave.blocks, job));
            self.correct_points(cpu, wave.corrected, steps.1);
        }
    }

    /// Predicts the potential at the end of the step, and adds half a step to its rate.
    pub(super) fn predict_points(
        &mut self,
        cpu: &Cpu,
        points: Range<usize>,
        steps: (Number, Number, Number),
    ) {
        let (dt, half, square) = steps;
        let size = sweep::chunk(points.len());
        let chunks = self.potential[points.clone()]
            .par_chunks_mut(size)
            .zip(self.rate[points.clone()].par_chunks_mut(size))
            .zip(self.second[points.clone()].par_chunks(size));
        let arch = cpu.arch();
        chunks.for_each(|((p, r), s)| {
            let advance = || {
                for ((p, r), s) in p.iter_mut().zip(r).zip(s) {
                    p[0] += dt * r[0] + square * s[0];
                    r[0] += half * s[0];
                }
            };
            flushed(|| arch.dispatch(advance));
        });
        self.hold_free(&points);
    }

    /// Computes the contributions of the boundary elements, or of the interior ones, to their points.
    pub(super) fn forces_of_part<const N: usize>(
        &mut self,
        cpu: &Cpu,
        tables: &Tables<N>,
        displacement: &[[Number; D]],
        (part, step): (Part, usize),
    ) {
        let blocks = part_of(part, self.boundary, self.blocks.len());
        let job = Job {
            step,
            predicts: false,
            added: &[],
        };
        cpu.install(|| self.forces(cpu, tables, displacement, (blocks, job)));
        if part == Part::Boundary {
            self.exchange.pack(&self.leaving, &self.contributions);
        }
    }

    /// Computes the contributions of some blocks to their points.
    fn forces<const N: usize>(
        &mut self,
        cpu: &Cpu,
        tables: &Tables<N>,
        displacement: &[[Number; D]],
        (blocks, job): (Range<usize>, Job<'_>),
    ) {
        let (points, layer) = (N.pow(D as u32), N * N);
        let places = LANES * points;
        let (arch, potential, rate) = (cpu.arch(), &self.potential, &self.rate);
        let (room, rooms) = (self.waves.room(&blocks), &self.scratch);
        let all = self.contributions[room.start * places..room.end * places]
            .par_chunks_mut(places)
            .zip(&self.blocks[blocks.clone()])
            .zip(&self.absorbing[blocks.clone()]);
        let all = all
            .zip(&self.coupling[blocks.clone()])
            .zip(&self.sources[blocks.clone()]);
        let all = all.zip(&mut self.damped[blocks.clone()]).zip(blocks);
        all.for_each_init(
            || rooms.one(points, layer),
            |scratch, ((((((out, block), absorbing), coupling), sources), damped), number)| {
                flushed(|| {
                    arch.dispatch(FluidForces {
                        block,
                        stiffness: &block.stiffness,
                        tables,
                        potential,
                        damped: damped.as_mut(),
                        scratch,
                        out: out.as_flattened_mut(),
                    });
                    for ((place, point), z) in absorbing {
                        out[*place as usize][0] -= z * rate[*point as usize][0];
                    }
                    coupling.push_fluid(displacement, out);
                    sources.iter().for_each(|source| source.add(job.step, out));
                    sweep::add(job.added, number, out.as_flattened_mut());
                });
            },
        );
    }

    /// Computes the second derivative of the potential from all contributions, and adds the other half step to its
    /// rate.
    pub(super) fn correct_points(&mut self, cpu: &Cpu, points: Range<usize>, half: Number) {
        let terms = (&self.contributions[..], self.exchange.memory.as_chunks().0);
        let (sums, inverse_mass, soaked) = (&self.sums, &self.inverse_mass, &self.soaked);
        let (arch, size) = (cpu.arch(), sweep::chunk(points.len()));
        let chunks = self.rate[points.clone()]
            .par_chunks_mut(size)
            .zip(self.second[points.clone()].par_chunks_mut(size));
        chunks.enumerate().for_each(|(k, (r, s))| {
            let first = points.start + k * size;
            let correct = || {
                sums.write(first, terms, s);
                soaked.take(first, r, s);
                for ((r, s), inverse) in r.iter_mut().zip(s).zip(&inverse_mass[first..]) {
                    s[0] *= inverse;
                    r[0] += half * s[0];
                }
            };
            flushed(|| arch.dispatch(correct));
        });
        self.hold_free(&points);
    }

    pub(super) fn bytes(&self) -> usize {
        let of_blocks = self.blocks.iter().map(Block::bytes).sum::<usize>();
        let contributions = size_of_val(&self.contributions[..]);
        let damped = self.damped.iter().flatten().map(Damped::bytes).sum::<usize>();
        of_blocks + contributions + damped + self.sums.bytes() + 16 * self.potential.len()
    }

    /// Sets the fields of the points that lie on the free surface to zero.
    fn hold_free(&mut self, points: &Range<usize>) {
        let below = |end: usize| self.zero.partition_point(|point| (*point as usize) < end);
        let (low, high) = (below(points.start), below(points.end));
        for point in &self.zero[low..high] {
            self.potential[*point as usize] = [0.0];
            self.rate[*point as usize] = [0.0];
            self.second[*point as usize] = [0.0];
        }
    }
}

/// The points of absorbing faces of fluids, and their factors of the rate of the potential.
pub(super) fn admittances<'a, const D: usize>(
    setup: &Setup<D>,
    faces: &'a [FacePoint<D>],
) -> Vec<(&'a FacePoint<D>, f64)> {
    let in_fluids = faces.iter().filter(|p| setup.is_fluid(p.element as usize));
    in_fluids.map(|p| (p, p.admittance)).collect()
}

/// The inverse mass of every point, including half a step of damping; zero outside fluids.
pub(super) fn inverse_mass<const D: usize>(
    setup: &Setup<D>,
    share: &Share<'_>,
    table: &Tabulated<D>,
    (faces, sponge): (&[(&FacePoint<D>, f64)], &[f64]),
) -> Vec<Number> {
    let mut mass = masses(setup, share, table, compliance);
    for (p, admittance) in faces {
        mass[p.point as usize] += setup.dt / 2.0 * admittance;
    }
    mass.iter_mut()
        .zip(sponge)
        .for_each(|(mass, damping)| *mass += setup.dt / 2.0 * damping);
    let fixed = fixed_points(setup, share, table);
    fixed.iter().for_each(|point| mass[*point as usize] = 0.0);
    mass.iter()
        .map(|m| if *m > 0.0 { (1.0 / m) as Number } else { 0.0 })
        .collect()
}

/// The contribution of a unit volume of fluid to the mass of the potential.
fn compliance(medium: &Medium) -> Option<f64> {
    match medium.law {
        Law::Fluid(modulus) => Some(1.0 / modulus),
        _ => None,
    }
}

/// The damping of the sponge at the points of fluids; empty without a sponge.
pub(super) fn sponge<const D: usize>(setup: &Setup<D>, share: &Share<'_>, table: &Tabulated<D>) -> Vec<f64> {
    Damping::new(setup, table).map_or(Vec::new(), |damping| damping.masses(share, table, compliance))
}

/// Points of the subdomain on free faces of fluids, in ascending order.
pub(super) fn free_points<const D: usize>(setup: &Setup<D>, share: &Share<'_>) -> Vec<u32> {
    let n = setup.basis.len();
    let free = setup.mesh.free().iter();
    let fluid = free.filter(|side| setup.is_fluid(side.element));
    let points = fluid.flat_map(|side| {
        let locals = cell::face::<D>(side.face).points::<D>(n);
        locals
            .into_iter()
            .filter_map(|local| share.at(side.element, local))
    });
    let mut all: Vec<u32> = points.collect();
    all.sort_unstable();
    all.dedup();
    all
}
