//! Linearised runs: the first-order change of the records by a perturbation of the medium (Born approximation).
//!
//! With `M D2 u + C D1 u + K u = f` and small perturbations dM, dC and dK, the perturbation w of the displacement
//! obeys the equation of the same medium, `M D2 w + C D1 w + K w = -(dM D2 u + dC D1 u + dK u)`. The same holds for
//! fluids, where the perturbation of one over the bulk modulus also changes the sources. Both runs advance together
//! in one engine. The contributions of the memory variables to the stress are proportional to its modulus, so their
//! share of dK follows from the memory variables of the run of u.
//!
//! [`Adjoint::gradient`] is the exact transpose, for arbitrary derivatives with respect to the records.

use rayon::prelude::*;

use super::super::assembly::{Homes, Stiffness, place};
use super::super::boundary::FacePoint;
use super::super::cpu::by_length;
use super::super::element::FluidForces;
use super::super::lanes::{LANES, Lanes};
use super::super::media::Contents;
use super::super::sampling::{Lattice, Sampling};
use super::super::scratch::Scratch;
use super::super::shape::Tables;
use super::super::sponge::Damping;
use super::machine::Machine;
use super::parameters::{LossChain, LossMeans, Parameters, dot, impedances, means, media};
use super::scattering::{InSolid, inertia};
use super::state::{Sources, State};
use super::{Adjoint, Engine, Setup, Shot};
use crate::Error;
use crate::device::cpu::flushed;
use crate::mesh::geometry::Tabulated;
use crate::mesh::step::Law;
use crate::time_loop::Sampler;

/// A small perturbation of the medium at every point of every element.
#[derive(Clone, Debug)]
pub struct Change<const D: usize> {
    parameters: Parameters,
    /// `[element][point][parameter]`.
    values: Vec<f64>,
    /// The same perturbation in P speed, S speed and density; zeros in solids if the parameters are constants.
    speeds: Vec<[f64; 3]>,
}

impl<const D: usize> Change<D> {
    /// A perturbation `[parameter][region]` that is constant in regions.
    pub fn of_regions(setup: &Setup<D>, regions: &[Vec<f64>], parameters: Parameters) -> Self {
        let of_point = |region: usize, _| Ok(regions.iter().map(|of| of[region]).collect());
        Self::of(setup, parameters, of_point).unwrap_or_else(|_: Error| unreachable!())
    }

    /// A perturbation at the nodes of a grid, `[parameter][region, if there are `count` grids][node]`, z fastest,
    /// interpolated to the points of elements as in a [`GridModel`](super::super::GridModel).
    ///
    /// # Errors
    /// Returns an error for a grid that does not cover the mesh, and for a region without nodes.
    pub fn on_grid(
        setup: &Setup<D>,
        (lattice, count): (Lattice<D>, usize),
        nodes: &[Vec<f64>],
        parameters: Parameters,
    ) -> Result<Self, Error> {
        let sampling = Sampling::new(setup.mesh, lattice, count, setup.pml);
        Self::of(setup, parameters, |region, x| {
            let corners = sampling.corners(region, x)?;
            let mean = |of: &Vec<f64>| corners.iter().map(|(node, weight)| weight * of[*node]).sum();
            Ok(nodes.iter().map(mean).collect())
        })
    }

    /// A perturbation from a function of the region and the position.
    fn of(
        setup: &Setup<D>,
        parameters: Parameters,
        at: impl Fn(usize, [f64; D]) -> Result<Vec<f64>, Error>,
    ) -> Result<Self, Error> {
        let table = Tabulated::new(setup.mesh.order(), setup.basis);
        let mut speeds = media(setup, &table);
        let mut values = Vec::with_capacity(speeds.len() * parameters.count());
        let [bulk, _] = means::<D>();
        for (element, speeds) in speeds.chunks_exact_mut(table.points()).enumerate() {
            let region = setup.mesh.regions()[element] as usize;
            let places = table.positions(&setup.mesh.coordinates(element));
            for (x, speeds) in places.into_iter().zip(speeds) {
                let mut own = at(region, x)?;
                // The medium in perfectly matched layers is not perturbed.
                if setup.damped_axes(element) != 0 {
                    own.fill(0.0);
                }
                *speeds = match (parameters, setup.is_of_fluid(region)) {
                    (Parameters::Constants, false) => [0.0; 3],
                    (Parameters::Constants, true) => {
                        let modulus = bulk.iter().zip(&own).map(|(slope, x)| slope * x).sum();
                        parameters.to_speeds([modulus, 0.0, own[21]], *speeds)
                    }
                    _ => parameters.to_speeds([own[0], own[1], own[2]], *speeds),
                };
                values.extend(own);
            }
        }
        Ok(Self {
            parameters,
            values,
            speeds,
        })
    }

    fn at(&self, point: usize) -> &[f64] {
        let count = self.parameters.count();
        &self.values[point * count..][..count]
    }

    /// The perturbation of one over the quality factors of P and S of a point.
    fn losses(&self, point: usize) -> [f64; 2] {
        match (self.parameters, self.at(point)) {
            (Parameters::SpeedsAndLosses, [.., p, s]) => [*p, *s],
            _ => [0.0; 2],
        }
    }

    /// Whether the parameters are constants, so that solids have no perturbation of speeds.
    fn has_constants(&self) -> bool {
        self.parameters == Parameters::Constants
    }
}

/// The perturbation of the damping of an absorbing face at a point, a factor of the velocity or the potential's rate.
struct FaceChange<const D: usize> {
    fluid: bool,
    /// The index of its force in the added forces.
    place: usize,
    point: usize,
    normal: [f32; D],
    /// Along the normal and across it; in a fluid only the first.
    damping: [f32; 2],
}

/// Perturbations of masses and dampings at the points of elements, `[block][lane][point]`.
type Masses = Vec<[f32; 2]>;

/// A perturbation of the medium in the form of the engine.
struct Scattering<const D: usize> {
    /// Perturbations of the moduli in the blocks of solids: of constants, or of lambda and mu, or with attenuation of
    /// the unrelaxed bulk and shear modulus.
    moduli: Vec<Stiffness>,
    /// Perturbed logarithms of the mechanisms' shares in bulk and shear modulus, `[block][point]`; empty if lossless.
    shares: Vec<Vec<[Lanes; 2]>>,
    /// Perturbations of one over the density of fluids.
    lightness: Vec<Stiffness>,
    /// Perturbations of masses and dampings in solids and in fluids.
    masses: [Masses; 2],
    faces: Vec<FaceChange<D>>,
}

impl<const D: usize> Scattering<D> {
    /// A perturbation of zero.
    fn none(of: &Adjoint<D>, setup: &Setup<D>, change: &Change<D>) -> Self {
        let (engine, points) = (&of.machine.engine, of.table.points());
        let blocks = engine.fluid.as_ref().map_or(&[][..], |fluid| &fluid.blocks);
        Self {
            moduli: vec![
                match change.has_constants() {
                    true => Stiffness::Anisotropic(vec![[Lanes::ZERO; 21]; points]),
                    false => Stiffness::Isotropic(vec![[Lanes::ZERO; 2]; points]),
                };
                engine.blocks.len()
            ],
            shares: match setup.relaxations {
                Some(_) => vec![vec![[Lanes::ZERO; 2]; points]; engine.blocks.len()],
                None => Vec::new(),
            },
            lightness: vec![Stiffness::Fluid(vec![[Lanes::ZERO; 1]; points]); blocks.len()],
            masses: [engine.blocks.len(), blocks.len()].map(|count| vec![[0.0; 2]; count * LANES * points]),
            faces: Vec::new(),
        }
    }

    fn new(of: &Adjoint<D>, setup: &Setup<D>, change: &Change<D>) -> Self {
        let (engine, table, points) = (&of.machine.engine, &of.table, of.table.points());
        let mut own = Self::none(of, setup, change);
        let media = media(setup, table);
        let sponge = Damping::new(setup, table);
        for element in 0..setup.mesh.len() {
            let nodes = setup.mesh.coordinates(element);
            let (shape, contents) = (table.element(&nodes), setup.contents(element, table));
            let in_sponge = sponge
                .as_ref()
                .map(|sponge| sponge.shares(&table.positions(&nodes)));
            let Some((fluid, home)) = home(engine, element) else {
                continue;
            };
            for (local, weight) in table.weights().iter().enumerate() {
                let at = element * points + local;
                let ([vp, vs, density], [by_p, by_s, by_density]) = (media[at], change.speeds[at]);
                let strength = match (&sponge, &in_sponge) {
                    (Some(sponge), Some(shares)) => shares[local] * sponge.strength(1.0),
                    _ => 0.0,
                };
                let volume = weight * shape.determinant[local];
                let masses = &mut own.masses[usize::from(fluid)][place(home, local, points)];
                if let Law::Fluid(modulus) = contents.medium(local).law {
                    let share = by_density / density + by_p / vp;
                    let of_modulus = -(share + by_p / vp) / modulus;
                    let damping = -strength * share / (density * vp);
                    *masses = [of_modulus, damping].map(|x| (volume * x) as f32);
                    if let Stiffness::Fluid(all) = &mut own.lightness[home.0] {
                        all[local][0].0[home.1] = (-by_density / (density * density)) as f32;
                    }
                    continue;
                }
                if let Stiffness::Anisotropic(constants) = &mut own.moduli[home.0] {
                    let by_constants = change.at(at);
                    let impedance = &impedances::<D>(setup.points.is_some(), media[at])[0];
                    let damping = strength * dot(impedance, by_constants);
                    *masses = [by_constants[21], damping].map(|x| (volume * x) as f32);
                    for (lanes, x) in constants[local].iter_mut().zip(by_constants) {
                        lanes.0[home.1] = *x as f32;
                    }
                    if setup.relaxations.is_some() {
                        let logarithms = LossMeans::of::<D>(setup, (&contents, local)).changes(by_constants);
                        let own = &mut own.shares[home.0][local];
                        (0..2).for_each(|k| own[k].0[home.1] = logarithms[k] as f32);
                    }
                    continue;
                }
                let damping = strength * (by_density * vp + density * by_p);
                *masses = [by_density, damping].map(|x| (volume * x) as f32);
                let mu = density * 2.0 * vs * by_s + vs * vs * by_density;
                let lambda = density * 2.0 * vp * by_p + vp * vp * by_density - 2.0 * mu;
                let moduli = match setup.relaxations {
                    None => [lambda, mu],
                    Some(_) => {
                        let chain = LossChain::of(contents.loss(local), media[at]);
                        let losses = chain.map(|chain| chain.changes([by_p, by_s], change.losses(at)));
                        let relaxed = [mu, lambda + 2.0 / 3.0 * mu];
                        let (moduli, shares) = unrelaxed((&contents, local), relaxed, losses);
                        let own = &mut own.shares[home.0][local];
                        (0..2).for_each(|k| own[k].0[home.1] = shares[k] as f32);
                        moduli
                    }
                };
                if let Stiffness::Isotropic(all) = &mut own.moduli[home.0] {
                    (0..2).for_each(|k| all[local][k].0[home.1] = moduli[k] as f32);
                }
            }
        }
        own.faces = faces(of, setup, change, &media);
        own
    }
}

/// The perturbations of the unrelaxed bulk and shear modulus of a point, and of the logarithms of the mechanisms'
/// shares in both, for perturbations of the shear and the bulk modulus and, if losses are perturbed, of `[factors,
/// logarithms of shares]` of these two.
fn unrelaxed(
    (contents, local): (&Contents, usize),
    changes: [f64; 2],
    losses: Option<[[f64; 2]; 2]>,
) -> ([f64; 2], [f64; 2]) {
    let (moduli, factors) = (contents.moduli(local), contents.factors(local));
    let [of_factors, of_shares] = losses.unwrap_or_default();
    let own = |k: usize| factors[k] * changes[k] + moduli[k] / factors[k] * of_factors[k];
    ([own(1), own(0)], [of_shares[1], of_shares[0]])
}

/// The perturbations of absorbing faces.
fn faces<const D: usize>(
    of: &Adjoint<D>,
    setup: &Setup<D>,
    change: &Change<D>,
    media: &[[f64; 3]],
) -> Vec<FaceChange<D>> {
    let (engine, points) = (&of.machine.engine, of.table.points());
    let of_face = |p: &FacePoint<D>| {
        let at = p.element as usize * points + p.local as usize;
        let ([vp, vs, density], [by_p, by_s, by_density]) = (media[at], change.speeds[at]);
        let (fluid, home) = home(engine, p.element as usize)?;
        let area = p.admittance * density * vp;
        let damping = match (fluid, change.has_constants()) {
            (true, _) => [-p.admittance * (by_density / density + by_p / vp), 0.0],
            (_, true) => impedances::<D>(setup.points.is_some(), media[at])
                .map(|slopes| area * dot(&slopes, change.at(at))),
            _ => [(vp, by_p), (vs, by_s)].map(|(v, by)| area * (by_density * v + density * by)),
        };
        Some(FaceChange {
            fluid,
            place: place(home, p.local as usize, points),
            point: p.point as usize,
            normal: p.normal.map(|n| n as f32),
            damping: damping.map(|x| x as f32),
        })
    };
    of.faces.iter().filter_map(of_face).collect()
}

/// Whether an element is a fluid, and its block and lane.
fn home<const D: usize>(engine: &Engine<D>, element: usize) -> Option<(bool, (usize, usize))> {
    let of_fluid = || {
        let homes: &Homes = &engine.fluid.as_ref()?.homes;
        Some((true, homes.find(element)?))
    };
    let solid = engine.homes.find(element).map(|home| (false, home));
    solid.or_else(of_fluid)
}

/// The forces that a perturbation of the medium adds to the points of elements, of solids and of fluids.
struct Added<const D: usize> {
    solid: Vec<[f32; D]>,
    fluid: Vec<[f32; 1]>,
}

impl<const D: usize> Adjoint<D> {
    /// The perturbation of the records of the shot that was prepared last, whose `setup` and `shot` are passed, to
    /// first order in a small perturbation of the medium: `[record][component][receiver]` as in [`Adjoint::gradient`].
    ///
    /// # Errors
    /// Returns an error for parameters other than those of this run, and for a growing wavefield; it is then unusable.
    pub fn linearised(
        &mut self,
        (setup, shot): (&Setup<D>, &Shot<D>),
        change: &Change<D>,
    ) -> Result<Vec<f32>, Error> {
        if change.parameters != self.parameters {
            return Err(Error::setup(format!(
                "a perturbation of {:?} does not fit a run with derivatives with respect to {:?}: both need the same parameters",
                change.parameters, self.parameters
            )));
        }
        let scattering = Scattering::new(self, setup, change);
        let mut sources = self.changed_sources(setup, change);
        State::rest(&self.machine.engine).swap(&mut self.machine.engine);
        let mut state = State::rest(&self.machine.engine);
        let mut added = Added {
            solid: vec![[0.0; D]; scattering.masses[0].len()],
            fluid: vec![[0.0; 1]; scattering.masses[1].len()],
        };
        let memories = self.machine.engine.memories.iter().flatten();
        let follows_before = memories.clone().any(|memory| !memory.follows_now());
        let (mut before, mut records) = (Vec::new(), Vec::new());
        for step in 0..shot.nt {
            if follows_before {
                before.clone_from(&self.machine.engine.acceleration);
            }
            self.machine.engine.step();
            let engine = &self.machine.engine;
            engine.scattered((&scattering, &before, &mut added));
            scattering
                .faces
                .iter()
                .for_each(|face| face.add(engine, &mut added));
            state.swap(&mut self.machine.engine);
            sources.swap(&mut self.machine.engine);
            self.machine.engine.step_with(&added.solid, &added.fluid);
            let searches = step.is_multiple_of(shot.jcheck.max(1)) || step + 1 == shot.nt;
            if searches && self.machine.engine.first_non_finite()?.is_some() {
                return Err(Error::setup(format!(
                    "the linearised wavefield is no longer finite at step {step}: the time step {} s or the change of the medium is probably too large",
                    self.machine.engine.dt
                )));
            }
            if step.is_multiple_of(shot.jdata) {
                let from = records.len();
                records.resize(from + self.values, 0.0);
                self.machine.engine.traces(&mut records[from..])?;
            }
            sources.swap(&mut self.machine.engine);
            state.swap(&mut self.machine.engine);
        }
        Ok(records)
    }

    /// Bytes of a linearised run: the engine, the second wavefield, and the perturbation.
    pub fn linearised_bytes(&self) -> usize {
        let (points, count) = (self.table.points(), self.parameters.count());
        let fluids = self
            .machine
            .engine
            .fluid
            .as_ref()
            .map_or(0, |fluid| fluid.blocks.len());
        let solid = self.machine.engine.blocks.len() * points * LANES * (4 * (count - 1) + 8 + 4 * D);
        let fluid = fluids * points * LANES * 16;
        let change = self.elements * points * (8 * count + 2 * size_of::<[f64; 3]>());
        self.machine.engine.bytes() + Machine::sizes(&self.machine)[0] + solid + fluid + change
    }

    /// The sources of the second run: sources in fluids act there by the perturbation of the bulk modulus.
    fn changed_sources(&self, setup: &Setup<D>, change: &Change<D>) -> Sources<D> {
        let engine = &self.machine.engine;
        let (table, points) = (&self.table, self.table.points());
        let mut sources = Sources {
            solid: vec![Vec::new(); engine.blocks.len()],
            fluid: Vec::new(),
        };
        let Some(fluid) = &engine.fluid else {
            return sources;
        };
        sources.fluid.clone_from(&fluid.sources);
        for (block, sources) in fluid.blocks.iter().zip(&mut sources.fluid) {
            for source in sources {
                let element = block.elements[source.lane] as usize;
                let contents = setup.contents(element, table);
                for (local, [weight]) in source.weights.iter_mut().enumerate() {
                    let [by_p, _, by_density] = change.speeds[element * points + local];
                    let share = by_density / contents.medium(local).density;
                    *weight *= -(share + 2.0 * by_p / contents.speeds(local)[0]) as f32;
                }
            }
        }
        sources
    }
}

impl<const D: usize> FaceChange<D> {
    /// Adds the force of the perturbation, which acts on the velocity of an engine.
    fn add(&self, engine: &Engine<D>, added: &mut Added<D>) {
        if self.fluid {
            let rate = engine
                .fluid
                .as_ref()
                .map_or(0.0, |fluid| fluid.rate[self.point][0]);
            added.fluid[self.place][0] -= self.damping[0] * rate;
            return;
        }
        let (v, n) = (&engine.velocity[self.point], &self.normal);
        let normal: f32 = v.iter().zip(n).map(|(v, n)| v * n).sum();
        let force = &mut added.solid[self.place];
        for c in 0..D {
            let along = normal * n[c];
            force[c] -= self.damping[0] * along + self.damping[1] * (v[c] - along);
        }
    }
}

/// A perturbation of the medium, the acceleration of the previous step, and the memory of the forces.
type Scattered<'a, const D: usize> = (&'a Scattering<D>, &'a [[f32; D]], &'a mut Added<D>);

impl<const D: usize> Engine<D> {
    /// The forces of a perturbation of the medium for the wavefield of this engine.
    fn scattered(&self, step: Scattered<'_, D>) {
        compiled_here!(&self: D in [2, 3], (Engine<D>, scattered_by_length(step: Scattered<'_, D>)));
    }

    fn scattered_by_length(&self, step: Scattered<'_, D>) {
        by_length!(self, scattered_of(step));
    }

    fn scattered_of<const N: usize>(&self, (scattering, before, added): Scattered<'_, D>) {
        let tables = Tables::<N>::new(&self.basis);
        let (arch, points, square) = (self.cpu.arch(), N.pow(D as u32), (self.dt * self.dt) as f32);
        let places = LANES * points;
        let numbers = 0..self.blocks.len();
        let blocks = numbers.into_par_iter().zip(&self.blocks).zip(&self.memories);
        let changes = scattering.moduli.par_iter();
        let changes = changes.zip(scattering.masses[0].par_chunks(places));
        let all = added.solid.par_chunks_mut(places).zip(blocks).zip(changes);
        self.cpu.install(|| {
            all.for_each_init(
                || Scratch::<D>::new(points, N * N),
                |scratch, ((out, ((number, block), memory)), (change, masses))| {
                    flushed(|| {
                        arch.dispatch(InSolid {
                            block,
                            tables: &tables,
                            change,
                            shares: scattering.shares.get(number).map_or(&[], |shares| shares),
                            displacement: &self.displacement,
                            memory: memory.as_ref().map(|memory| (memory, before, square)),
                            scratch,
                            out: out.as_flattened_mut(),
                        });
                        inertia(block, masses, (&self.acceleration, &self.velocity), out);
                    });
                },
            );
        });
        let Some(fluid) = &self.fluid else { return };
        let changes = scattering.lightness.par_iter();
        let changes = changes.zip(scattering.masses[1].par_chunks(places));
        let all = added.fluid.par_chunks_mut(places).zip(&fluid.blocks).zip(changes);
        self.cpu.install(|| {
            all.for_each_init(
                || Scratch::<1>::new(points, N * N),
                |scratch, ((out, block), (stiffness, masses))| {
                    flushed(|| {
                        arch.dispatch(FluidForces {
                            block,
                            tables: &tables,
                            stiffness,
                            potential: &fluid.potential,
                            damped: None,
                            scratch,
                            out: out.as_flattened_mut(),
                        });
                        inertia(block, masses, (&fluid.second, &fluid.rate), out);
                    });
                },
            );
        });
    }
}
