//! A step on processors: predictor, forces and corrector; wave by wave in subdomains without neighbours.

use super::Number;
use std::ops::Range;

use rayon::prelude::*;

use super::cpu::{Engine, by_length, part_of};
use super::element::{Forces, Motion};
use super::fluid::Fluid;
use super::lanes::LANES;
use super::shape::Tables;
use crate::device::cpu::flushed;
use crate::device::simd::prefetch;
use crate::time_loop::Part;

/// The parameters of a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job<'a> {
    /// The index of the sample of the sources.
    pub(super) step: usize,
    /// Whether the fields still belong to the previous step and must be predicted.
    pub(super) predicts: bool,
    /// Additional forces on the points of elements, `[block][lane][point][component]`; empty if there are
    /// none.
    pub(super) added: &'a [Number],
}

/// Floats per cache line, and the prefetch distance of fields in floats: the hardware prefetcher does not cross page
/// boundaries.
const LINE: usize = 16;
const AHEAD: usize = 512;

/// Number of points that a thread takes at a time.
pub(super) fn chunk(points: usize) -> usize {
    points.div_ceil(2 * rayon::current_num_threads()).clamp(256, 4096)
}

/// Adds the additional forces of a block, if there are any, to its forces.
pub(super) fn add(added: &[Number], block: usize, forces: &mut [Number]) {
    if let Some(added) = added.get(block * forces.len()..(block + 1) * forces.len()) {
        forces
            .iter_mut()
            .zip(added)
            .for_each(|(force, more)| *force += more);
    }
}

impl<const D: usize> Engine<D> {
    /// Advances the fluid by a step. It precedes the solid, whose predicted displacement drives the fluid.
    pub(super) fn advance_fluid_by_length(&mut self, job: Job<'_>) {
        if self.fluid.is_none() {
            return;
        }
        let cpu = self.cpu.clone();
        cpu.install(|| {
            if job.predicts {
                self.predict_points(self.waves.points.clone());
            }
            by_length!(self, advance_fluid_of(job));
        });
    }

    fn advance_fluid_of<const N: usize>(&mut self, job: Job<'_>) {
        let tables = Tables::<N>::new(&self.basis);
        let steps = self.steps();
        if let Some(fluid) = &mut self.fluid {
            fluid.advance(&self.cpu, &tables, &self.displacement, (job, steps));
        }
    }

    /// Advances the solid by a step; if there is a fluid, its step has already predicted the solid.
    pub(super) fn advance_by_length(&mut self, job: Job<'_>) {
        let cpu = self.cpu.clone();
        cpu.install(|| by_length!(self, advance_of(job)));
    }

    fn advance_of<const N: usize>(&mut self, job: Job<'_>) {
        let tables = Tables::<N>::new(&self.basis);
        let predicts = job.predicts && self.fluid.is_none();
        for k in 0..self.waves.all.len() {
            let wave = self.waves.all[k].clone();
            if predicts {
                self.predict_points(wave.predicted);
            }
            self.forces_of(wave.blocks, &tables, job);
            self.correct_points(wave.corrected);
        }
    }

    pub(super) fn predict_fields(&mut self) {
        let (cpu, steps) = (self.cpu.clone(), self.steps());
        cpu.install(|| {
            self.predict_points(self.waves.points.clone());
            if let Some(fluid) = &mut self.fluid {
                fluid.predict_points(&self.cpu, fluid.waves.points.clone(), steps);
            }
        });
    }

    /// `u += dt v + dt^2/2 a; v += dt/2 a`
    fn predict_points(&mut self, points: Range<usize>) {
        let (dt, half, square) = self.steps();
        let size = D * chunk(points.len());
        let (u, v, a) = (
            self.displacement[points.clone()].as_flattened_mut(),
            self.velocity[points.clone()].as_flattened_mut(),
            self.acceleration[points].as_flattened(),
        );
        let chunks = u
            .par_chunks_mut(size)
            .zip(v.par_chunks_mut(size))
            .zip(a.par_chunks(size));
        let arch = self.cpu.arch();
        chunks.for_each(|((u, v), a)| {
            let advance = || {
                let lines = u.chunks_mut(LINE).zip(v.chunks_mut(LINE)).zip(a.chunks(LINE));
                for ((u, v), a) in lines {
                    for field in [u.as_ptr(), v.as_ptr(), a.as_ptr()] {
                        prefetch(field.wrapping_add(AHEAD));
                    }
                    for ((u, v), a) in u.iter_mut().zip(v).zip(a) {
                        *u += dt * *v + square * a;
                        *v += half * a;
                    }
                }
            };
            flushed(|| arch.dispatch(advance));
        });
    }

    /// Computes the contributions of the fluid elements of a part to their points.
    pub(super) fn fluid_forces_by_length(&mut self, (part, step): (Part, usize)) {
        by_length!(self, fluid_forces_of(part, step));
    }

    fn fluid_forces_of<const N: usize>(&mut self, part: Part, step: usize) {
        let tables = Tables::<N>::new(&self.basis);
        if let Some(fluid) = &mut self.fluid {
            fluid.forces_of_part(&self.cpu, &tables, &self.displacement, (part, step));
        }
    }

    /// Completes the step of the fluid, because the solid needs the second derivative of its potential.
    pub(super) fn correct_fields_of_fluid(&mut self) {
        let (cpu, half) = (self.cpu.clone(), self.steps().1);
        let correct = |fluid: &mut Fluid<D>| fluid.correct_points(&cpu, fluid.waves.points.clone(), half);
        if let Some(fluid) = &mut self.fluid {
            cpu.install(|| correct(fluid));
        }
    }

    /// Computes the contributions of the solid elements of a part to their points.
    pub(super) fn forces_by_length(&mut self, (part, step): (Part, usize)) {
        let cpu = self.cpu.clone();
        cpu.install(|| by_length!(self, forces_of_part(part, step)));
        if part == Part::Boundary {
            self.exchange.pack(&self.leaving, &self.contributions);
        }
    }

    fn forces_of_part<const N: usize>(&mut self, part: Part, step: usize) {
        let job = Job {
            step,
            predicts: false,
            added: &[],
        };
        let blocks = part_of(part, self.boundary, self.blocks.len());
        self.forces_of(blocks, &Tables::<N>::new(&self.basis), job);
    }

    /// Computes the contributions of some blocks to their points.
    fn forces_of<const N: usize>(&mut self, own: Range<usize>, tables: &Tables<N>, job: Job<'_>) {
        let second = self.fluid.as_ref().map_or(&[][..], |fluid| &fluid.second);
        let (arch, velocity, rooms) = (self.cpu.arch(), &self.velocity, &self.scratch);
        let motion = Motion {
            displacement: &self.displacement,
            acceleration: &self.acceleration,
            velocity: &self.velocity,
            square: (self.dt * self.dt) as Number,
        };
        let (points, layer) = (N.pow(D as u32), N * N);
        let places = LANES * points;
        let room = self.waves.room(&own);
        let parts = self.blocks[own.clone()]
            .par_iter()
            .zip(&mut self.memories[own.clone()])
            .zip(&mut self.damped[own.clone()]);
        let added = self.absorbing[own.clone()]
            .par_iter()
            .zip(&self.coupling[own.clone()]);
        let added = added.zip(&self.sources[own.clone()]).zip(own);
        let all = self.contributions[room.start * places..room.end * places]
            .par_chunks_mut(places)
            .zip(parts)
            .zip(added);
        all.for_each_init(
            || rooms.one(points, layer),
            |scratch, ((out, ((block, memory), damped)), (((absorbing, coupling), sources), number))| {
                flushed(|| {
                    let forces = Forces {
                        block,
                        tables,
                        motion,
                        memory: memory.as_mut(),
                        damped: damped.as_mut(),
                        scratch,
                        out: out.as_flattened_mut(),
                    };
                    forces.run(arch);
                    absorbing.add(velocity, out);
                    coupling.push_solid(second, out);
                    sources.iter().for_each(|source| source.add(job.step, out));
                    add(job.added, number, out.as_flattened_mut());
                });
            },
        );
    }

    /// Completes the step of all points.
    pub(super) fn correct_fields(&mut self) {
        let cpu = self.cpu.clone();
        cpu.install(|| self.correct_points(self.waves.points.clone()));
    }

    /// `a = F / M; v += dt/2 a`
    fn correct_points(&mut self, points: Range<usize>) {
        let (_, half, _) = self.steps();
        let (sums, inverse_mass, soaked) = (&self.sums, &self.inverse_mass, &self.soaked);
        let terms = (&self.contributions[..], self.exchange.memory.as_chunks().0);
        let (arch, size) = (self.cpu.arch(), chunk(points.len()));
        let chunks = self.acceleration[points.clone()]
            .par_chunks_mut(size)
            .zip(self.velocity[points.clone()].par_chunks_mut(size));
        chunks.enumerate().for_each(|(k, (a, v))| {
            let first = points.start + k * size;
            let correct = || {
                sums.write(first, terms, a);
                soaked.take(first, v, a);
                inverse_mass.apply(first, a);
                for (v, a) in v.as_flattened_mut().iter_mut().zip(a.as_flattened()) {
                    *v += half * a;
                }
            };
            flushed(|| arch.dispatch(correct));
        });
    }

    /// dt, dt/2 and dt^2/2, each rounded once.
    fn steps(&self) -> (Number, Number, Number) {
        (
            self.dt as Number,
            (self.dt / 2.0) as Number,
            (self.dt * self.dt / 2.0) as Number,
        )
    }
}
