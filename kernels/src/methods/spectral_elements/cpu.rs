//! The method on processors: blocks of elements and ranges of points on all threads.

use rayon::prelude::*;

use super::Setup;
use super::assembly::{self, Block, LANES, Lanes, Sums};
use super::attenuation::Memory;
use super::boundary::{Absorbing, face_points};
use super::element::{self, Derivatives, Motion, Scratch};
use super::fluid::{Coupling, Fluid, contacts};
use super::mass::InverseMass;
use super::points::{Placed, Quantity, Receiver};
use crate::Error;
use crate::device::cpu::{Cpu, flushed};
use crate::mesh::geometry::Tabulated;
use crate::mesh::{Basis, Locator, Numbering};

/// Points that a thread takes at a time.
const POINTS: usize = 4096;

/// A run on processors.
pub struct Engine<const D: usize> {
    cpu: Cpu,
    basis: Basis,
    numbering: Numbering,
    blocks: Vec<Block>,
    absorbing: Vec<Absorbing<D>>,
    memories: Vec<Option<Memory>>,
    coupling: Vec<Coupling<D>>,
    fluid: Option<Fluid<D>>,
    sources: Vec<Vec<Placed<D>>>,
    /// What elements add to their points: `[block][local point][component][lane]`.
    contributions: Vec<Lanes>,
    sums: Sums,
    inverse_mass: InverseMass<D>,
    displacement: Vec<[f32; D]>,
    velocity: Vec<[f32; D]>,
    acceleration: Vec<[f32; D]>,
    dt: f64,
    step: usize,
}

impl<const D: usize> Engine<D> {
    /// Prepares a run at rest. The caller sees to a stable step ([`crate::mesh::step`]).
    ///
    /// # Errors
    /// A source outside of the mesh, or of a kind that does not act in a fluid where it is; too many points.
    pub fn new(cpu: Cpu, setup: &Setup<D>) -> Result<Self, Error> {
        let table = Tabulated::new(setup.mesh.order(), setup.basis);
        let numbering = Numbering::new(setup.mesh, setup.basis)?;
        let blocks = assembly::blocks(setup, &numbering, &table, false);
        let faces = face_points(setup, &numbering, &table);
        let contacts = contacts(setup, &numbering, &table);
        let locator = Locator::new(setup.mesh);
        let points = numbering.points();
        Ok(Self {
            fluid: Fluid::new(setup, &numbering, &table, &locator, (&faces, &contacts))?,
            sources: Placed::in_solid(setup, &locator, &blocks)?,
            absorbing: Absorbing::of_blocks(&blocks, &faces),
            coupling: Coupling::of_blocks(&blocks, &contacts, |contact| contact.solid),
            memories: assembly::memories(setup, &blocks),
            contributions: vec![[0.0; LANES]; blocks.len() * table.points() * D],
            sums: Sums::new(&blocks, points, D),
            inverse_mass: InverseMass::new(setup, &numbering, &table, &faces),
            displacement: vec![[0.0; D]; points],
            velocity: vec![[0.0; D]; points],
            acceleration: vec![[0.0; D]; points],
            basis: setup.basis.clone(),
            dt: setup.dt,
            step: 0,
            cpu,
            numbering,
            blocks,
        })
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
        Receiver::new(what, at, (setup, locator, &self.numbering))
    }

    /// What a receiver records now.
    pub fn record(&self, receiver: &Receiver<D>, quantity: Quantity) -> [f32; D] {
        match (&self.fluid, quantity) {
            (Some(fluid), _) if receiver.is_in_fluid() => receiver.slope(match quantity {
                Quantity::Displacement => &fluid.potential,
                Quantity::Velocity => &fluid.rate,
                Quantity::Acceleration => &fluid.second,
            }),
            (_, Quantity::Displacement) => receiver.value(&self.displacement),
            (_, Quantity::Velocity) => receiver.value(&self.velocity),
            (_, Quantity::Acceleration) => receiver.value(&self.acceleration),
        }
    }

    /// The pressure (Pa) at a receiver in a fluid; zero in a solid.
    pub fn pressure(&self, receiver: &Receiver<D>) -> f32 {
        match &self.fluid {
            Some(fluid) if receiver.is_in_fluid() => -receiver.value(&fluid.second)[0],
            _ => 0.0,
        }
    }

    /// Advances the fields by one step. Step n takes sample n of the sources and ends at their time n.
    pub fn step(&mut self) {
        self.predict();
        self.accelerate();
        self.step += 1;
    }

    /// Accelerations of the displacement, and half a step of them in the velocity.
    fn accelerate(&mut self) {
        match self.basis.len() {
            3 => self.forces::<3>(),
            4 => self.forces::<4>(),
            5 => self.forces::<5>(),
            6 => self.forces::<6>(),
            7 => self.forces::<7>(),
            8 => self.forces::<8>(),
            _ => self.forces::<9>(),
        }
        self.correct();
    }

    /// `u += dt v + dt^2/2 a; v += dt/2 a`
    fn predict(&mut self) {
        let (dt, half, square) = self.steps();
        let (u, v, a) = (&mut self.displacement, &mut self.velocity, &self.acceleration);
        let chunks = u
            .par_chunks_mut(POINTS)
            .zip(v.par_chunks_mut(POINTS))
            .zip(a.par_chunks(POINTS));
        self.cpu.install(|| {
            chunks.for_each(|((u, v), a)| {
                flushed(|| {
                    for ((u, v), a) in u.iter_mut().zip(v).zip(a) {
                        for c in 0..D {
                            u[c] += dt * v[c] + square * a[c];
                            v[c] += half * a[c];
                        }
                    }
                });
            });
        });
    }

    /// The fluid's step, then what every solid element adds to its points.
    fn forces<const N: usize>(&mut self) {
        let derivative: Derivatives<N> =
            std::array::from_fn(|q| std::array::from_fn(|p| self.basis.derivative(q, p) as f32));
        let (steps, step) = (self.steps(), self.step);
        if let Some(fluid) = &mut self.fluid {
            fluid.step::<N>(&self.cpu, &derivative, &self.displacement, steps, step);
        }
        let second = self.fluid.as_ref().map_or(&[][..], |fluid| &fluid.second);
        let arch = self.cpu.arch();
        let motion = Motion {
            displacement: &self.displacement,
            velocity: &self.velocity,
            dt: steps.0,
        };
        let parts = self.blocks.par_iter().zip(&mut self.memories);
        let added = self.absorbing.par_iter().zip(&self.coupling).zip(&self.sources);
        let all = self
            .contributions
            .par_chunks_mut(N.pow(D as u32) * D)
            .zip(parts)
            .zip(added);
        self.cpu.install(|| {
            all.for_each_init(
                Scratch::default,
                |scratch, ((out, (block, memory)), ((absorbing, coupling), sources))| {
                    flushed(|| {
                        arch.dispatch(
                            #[inline(always)]
                            || {
                                element::forces::<D, N>(
                                    block,
                                    &derivative,
                                    motion,
                                    memory.as_mut(),
                                    scratch,
                                    out,
                                )
                            },
                        );
                        absorbing.add(motion.velocity, out);
                        coupling.push_solid(second, out);
                        sources.iter().for_each(|source| source.add(step, out));
                    });
                },
            );
        });
    }

    /// `a = F / M; v += dt/2 a`
    fn correct(&mut self) {
        let (_, half, _) = self.steps();
        let (sums, inverse_mass) = (&self.sums, &self.inverse_mass);
        let contributions = self.contributions.as_flattened();
        let chunks = self
            .acceleration
            .par_chunks_mut(POINTS)
            .zip(self.velocity.par_chunks_mut(POINTS));
        self.cpu.install(|| {
            chunks.enumerate().for_each(|(k, (a, v))| {
                flushed(|| {
                    let first = k * POINTS;
                    for (point, a) in (first..).zip(a.iter_mut()) {
                        *a = sums.of(point, contributions);
                    }
                    inverse_mass.apply(first, a);
                    for (v, a) in v.iter_mut().zip(a) {
                        (0..D).for_each(|c| v[c] += half * a[c]);
                    }
                });
            });
        });
    }

    /// dt, dt/2 and dt^2/2, each rounded once.
    fn steps(&self) -> (f32, f32, f32) {
        (
            self.dt as f32,
            (self.dt / 2.0) as f32,
            (self.dt * self.dt / 2.0) as f32,
        )
    }

    /// Begins with a displacement (m) as a function of the place and with velocities of zero, in place of a body at
    /// rest: for solids without attenuation, before the first step of the run that `setup` made.
    pub fn displace(&mut self, setup: &Setup<D>, field: impl Fn([f64; D]) -> [f64; D]) {
        let table = Tabulated::new(setup.mesh.order(), setup.basis);
        for element in 0..setup.mesh.len() {
            let nodes = setup.mesh.coordinates(element);
            for (local, point) in self.numbering.element(element).iter().enumerate() {
                let at = table.position(&nodes, local);
                self.displacement[*point as usize] = field(at).map(|u| u as f32);
            }
        }
        // The acceleration of that displacement; half a step of it would otherwise be missing in the first prediction.
        self.accelerate();
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

    /// Acceleration, m/s2.
    pub fn acceleration(&self) -> &[[f32; D]] {
        &self.acceleration
    }

    /// Steps taken.
    pub fn steps_taken(&self) -> usize {
        self.step
    }

    /// One line for logs: the machine.
    pub fn describe(&self) -> String {
        self.cpu.describe()
    }
}
