//! Fluids: a potential chi with u = grad(chi)/rho and p = -chi'' (Chaljub, Capdeville & Vilotte 2003).
//!
//! Free faces hold chi at zero, absorbing ones take chi'/(rho vp), all others are rigid. Where a fluid and a solid share a
//! face, the fluid gets u.n of the solid and the solid the pressure; the fluid goes first in a step, for the solid needs the
//! new chi''.

use rayon::prelude::*;

use super::Setup;
use super::assembly::{self, Block, LANES, Lanes, Sums};
use super::boundary::FacePoint;
use super::element::{self, Derivatives, Scratch};
use super::points::Placed;
use crate::Error;
use crate::device::cpu::{Cpu, flushed};
use crate::mesh::cell::{self, faces};
use crate::mesh::geometry::Tabulated;
use crate::mesh::step::Law;
use crate::mesh::{Locator, Numbering, Side};

/// A point of a face that is added to one lane of a block: local point, lane, point of the mesh.
type At = (u32, u32, u32);

/// A point where a fluid and a solid meet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contact<const D: usize> {
    pub(super) fluid: u32,
    pub(super) solid: u32,
    pub(super) point: u32,
    /// Normal out of the fluid, times area.
    pub(super) normal: [f64; D],
}

/// All contacts, in the order of fluid elements and faces.
pub(super) fn contacts<const D: usize>(
    setup: &Setup<D>,
    numbering: &Numbering,
    table: &Tabulated<D>,
) -> Vec<Contact<D>> {
    let mut found = Vec::new();
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
        let own = table.element(&setup.mesh.coordinates(side.element));
        let surface = table.surface(&own, cell::face::<D>(side.face));
        for (k, local) in surface.points.iter().enumerate() {
            found.push(Contact {
                fluid: side.element as u32,
                solid: other.element as u32,
                point: numbering.element(side.element)[*local],
                normal: surface.normal[k].map(|n| n * surface.area[k]),
            });
        }
    }
    found
}

/// Contacts sorted to the blocks of their fluid or solid elements.
#[derive(Clone, Debug, Default)]
pub(super) struct Coupling<const D: usize> {
    places: Vec<At>,
    normals: Vec<[f32; D]>,
}

impl<const D: usize> Coupling<D> {
    pub(super) fn of_blocks(
        blocks: &[Block],
        contacts: &[Contact<D>],
        element: impl Fn(&Contact<D>) -> u32,
    ) -> Vec<Self> {
        let mut sorted: Vec<&Contact<D>> = contacts.iter().collect();
        sorted.sort_by_key(|contact| element(contact));
        let gather = |block: &Block| {
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
                    own.places
                        .push((local.unwrap_or(0) as u32, lane as u32, contact.point));
                    own.normals.push(contact.normal.map(|n| n as f32));
                }
            }
            own
        };
        blocks.iter().map(gather).collect()
    }

    /// The pressure -chi'' of the fluid on the solid.
    pub(super) fn push_solid(&self, second: &[[f32; 1]], forces: &mut [Lanes]) {
        for ((local, lane, point), n) in self.places.iter().zip(&self.normals) {
            for c in 0..D {
                forces[*local as usize * D + c][*lane as usize] -= n[c] * second[*point as usize][0];
            }
        }
    }

    /// The normal displacement of the solid in the fluid.
    fn push_fluid(&self, displacement: &[[f32; D]], forces: &mut [Lanes]) {
        for ((local, lane, point), n) in self.places.iter().zip(&self.normals) {
            let mut sum = 0.0;
            (0..D).for_each(|c| sum += displacement[*point as usize][c] * n[c]);
            forces[*local as usize][*lane as usize] += sum;
        }
    }
}

/// All fluid elements of a run.
pub(super) struct Fluid<const D: usize> {
    blocks: Vec<Block>,
    absorbing: Vec<Vec<(At, f32)>>,
    coupling: Vec<Coupling<D>>,
    sources: Vec<Vec<Placed<1>>>,
    contributions: Vec<Lanes>,
    sums: Sums,
    inverse_mass: Vec<f32>,
    /// Points of the free surface.
    zero: Vec<u32>,
    pub(super) potential: Vec<[f32; 1]>,
    pub(super) rate: Vec<[f32; 1]>,
    pub(super) second: Vec<[f32; 1]>,
}

impl<const D: usize> Fluid<D> {
    /// The fluid of a run, if it has any.
    ///
    /// # Errors
    /// A source outside of the mesh or of a kind that fluids do not know.
    pub(super) fn new(
        setup: &Setup<D>,
        numbering: &Numbering,
        table: &Tabulated<D>,
        locator: &Locator<D>,
        (faces, contacts): (&[FacePoint<D>], &[Contact<D>]),
    ) -> Result<Option<Self>, Error> {
        let blocks = assembly::blocks(setup, numbering, table, true);
        if blocks.is_empty() {
            return Ok(None);
        }
        let points = numbering.points();
        let admittance = |p: &FacePoint<D>| {
            // The face knows rho vp dA; the fluid takes dA / (rho vp).
            let region = setup.mesh.regions()[p.element as usize] as usize;
            let resistance = setup.media[region].density * setup.speeds[region][0];
            p.impedance[0] / (resistance * resistance)
        };
        let own: Vec<(&FacePoint<D>, f64)> = faces
            .iter()
            .filter(|p| setup.is_fluid(p.element as usize))
            .map(|p| (p, admittance(p)))
            .collect();
        let gather = |block: &Block| {
            let of_lane = |(lane, element): (usize, &u32)| {
                let first = own.partition_point(|p| p.0.element < *element);
                let found: Vec<_> = own[first..]
                    .iter()
                    .take_while(|p| p.0.element == *element)
                    .collect();
                found
                    .into_iter()
                    .map(move |(p, z)| ((p.local, lane as u32, p.point), *z as f32))
                    .collect::<Vec<_>>()
            };
            block.elements.iter().enumerate().flat_map(of_lane).collect()
        };
        Ok(Some(Self {
            absorbing: blocks.iter().map(gather).collect(),
            coupling: Coupling::of_blocks(&blocks, contacts, |contact| contact.fluid),
            sources: Placed::in_fluid(setup, locator, table, &blocks)?,
            contributions: vec![[0.0; LANES]; blocks.len() * table.points()],
            sums: Sums::new(&blocks, points, 1),
            inverse_mass: inverse_mass(setup, numbering, table, &own),
            zero: free_points(setup, numbering),
            potential: vec![[0.0]; points],
            rate: vec![[0.0]; points],
            second: vec![[0.0]; points],
            blocks,
        }))
    }

    /// The potential and its derivatives at the end of a step, from the solid's displacement.
    pub(super) fn step<const N: usize>(
        &mut self,
        cpu: &Cpu,
        derivative: &Derivatives<N>,
        displacement: &[[f32; D]],
        (dt, half, square): (f32, f32, f32),
        step: usize,
    ) {
        for ((p, r), s) in self.potential.iter_mut().zip(&mut self.rate).zip(&self.second) {
            p[0] += dt * r[0] + square * s[0];
            r[0] += half * s[0];
        }
        self.hold_free();
        let (arch, potential, rate) = (cpu.arch(), &self.potential, &self.rate);
        let all = self
            .contributions
            .par_chunks_mut(N.pow(D as u32))
            .zip(&self.blocks)
            .zip(&self.absorbing);
        let all = all.zip(&self.coupling).zip(&self.sources);
        cpu.install(|| {
            all.for_each_init(
                Scratch::default,
                |scratch, ((((out, block), absorbing), coupling), sources)| {
                    flushed(|| {
                        arch.dispatch(
                            #[inline(always)]
                            || element::fluid_forces::<D, N>(block, derivative, potential, scratch, out),
                        );
                        for ((local, lane, point), z) in absorbing {
                            out[*local as usize][*lane as usize] -= z * rate[*point as usize][0];
                        }
                        coupling.push_fluid(displacement, out);
                        sources.iter().for_each(|source| source.add(step, out));
                    });
                },
            );
        });
        let contributions = self.contributions.as_flattened();
        for (point, (s, r)) in self.second.iter_mut().zip(&mut self.rate).enumerate() {
            s[0] = self.sums.of::<1>(point, contributions)[0] * self.inverse_mass[point];
            r[0] += half * s[0];
        }
        self.hold_free();
    }

    fn hold_free(&mut self) {
        for point in &self.zero {
            self.potential[*point as usize] = [0.0];
            self.rate[*point as usize] = [0.0];
            self.second[*point as usize] = [0.0];
        }
    }
}

/// One over the mass of every point with its share of the damping; zero outside of fluids.
fn inverse_mass<const D: usize>(
    setup: &Setup<D>,
    numbering: &Numbering,
    table: &Tabulated<D>,
    faces: &[(&FacePoint<D>, f64)],
) -> Vec<f32> {
    let mut mass = vec![0.0; numbering.points()];
    for element in 0..setup.mesh.len() {
        let Law::Fluid(modulus) = setup.medium(element).law else {
            continue;
        };
        let own = table.element(&setup.mesh.coordinates(element));
        for (local, point) in numbering.element(element).iter().enumerate() {
            mass[*point as usize] += table.weights()[local] * own.determinant[local] / modulus;
        }
    }
    for (p, admittance) in faces {
        mass[p.point as usize] += setup.dt / 2.0 * admittance;
    }
    mass.iter()
        .map(|m| if *m > 0.0 { (1.0 / m) as f32 } else { 0.0 })
        .collect()
}

/// Points of the fluid's free faces, ascending.
fn free_points<const D: usize>(setup: &Setup<D>, numbering: &Numbering) -> Vec<u32> {
    let n = setup.basis.len();
    let own = setup
        .mesh
        .free()
        .iter()
        .filter(|side| setup.is_fluid(side.element));
    let points = own.flat_map(|side| {
        let numbers = numbering.element(side.element);
        cell::face::<D>(side.face)
            .points::<D>(n)
            .into_iter()
            .map(move |local| numbers[local])
    });
    let mut all: Vec<u32> = points.collect();
    all.sort_unstable();
    all.dedup();
    all
}
