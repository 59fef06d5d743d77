//! The adjoint run through recorded steps, and its products with them.

use std::ops::Range;

use rayon::prelude::*;

use super::super::cpu::by_length;
use super::super::lanes::Lanes;
use super::super::points::Placed;
use super::super::shape::Tables;
use super::super::{Engine, Source};
use super::correlate::{Back, InFluid, InSolid, Products, Room};
use super::state::Kept;
use super::{Adjoint, TOGETHER};
use crate::Error;
use crate::device::cpu::flushed;
use crate::time_loop::Sampler;

impl<const D: usize> Adjoint<D> {
    /// Runs back through recorded steps; `sources` are those of the forward run in fluids, `of_shot` all of them.
    pub(super) fn sweep(
        &mut self,
        (tape, first): (&[Kept<D>], usize),
        (range, sources): (Range<usize>, &[Vec<Placed<1>>]),
        of_shot: &[Source<D>],
    ) -> Result<(), Error> {
        let memories = self.engine.memories.iter().flatten();
        let follows_before = memories.clone().any(|memory| !memory.follows_now());
        let mut before = Vec::new();
        for step in range.rev() {
            if follows_before {
                before.clone_from(&self.engine.acceleration);
            }
            self.engine.step();
            let kept = &tape[step - first];
            self.correlate(kept, &before);
            self.correlate_faces(kept);
            self.correlate_sources(sources, step);
            if let Some(mut probes) = self.probes.take() {
                probes.add(self, of_shot, step);
                self.probes = Some(probes);
            }
            if step.is_multiple_of(TOGETHER) {
                self.products.iter_mut().for_each(Products::flush);
            }
        }
        match self.engine.first_non_finite()? {
            None => Ok(()),
            Some(_) => Err(Error::setup(
                "the adjoint wavefield is not finite: the residuals are not finite or too large for single precision; look at the amplitudes of the data and of their weights",
            )),
        }
    }

    fn correlate(&mut self, kept: &Kept<D>, before: &[[f32; D]]) {
        let (engine, [solid, fluid]) = (&self.engine, &mut self.products);
        engine.in_blocks((kept, before, solid));
        engine.in_fluid_blocks((&kept.second, &mut fluid.sums));
    }

    fn correlate_faces(&mut self, kept: &Kept<D>) {
        for (p, sums) in self.faces.iter().zip(&mut self.face_sums) {
            let point = p.point as usize;
            let fluid = self.engine.fluid.as_ref();
            if let Some(fluid) = fluid.filter(|fluid| fluid.homes.find(p.element as usize).is_some()) {
                sums[0] += f64::from(kept.second[point][0]) * f64::from(fluid.rate[point][0]);
                continue;
            }
            let (u, v) = (
                kept.displacement[point].map(f64::from),
                self.engine.velocity[point].map(f64::from),
            );
            let dot = |a: [f64; D], b: [f64; D]| (0..D).map(|c| a[c] * b[c]).sum::<f64>();
            let along = dot(u, p.normal) * dot(v, p.normal);
            sums[0] += along;
            sums[1] += dot(u, v) - along;
        }
    }

    /// The products of the sources in fluids with the second derivative of the adjoint potential.
    fn correlate_sources(&mut self, sources: &[Vec<Placed<1>>], step: usize) {
        let Some(fluid) = &self.engine.fluid else { return };
        let blocks = sources.iter().zip(&mut self.source_sums).zip(&fluid.blocks);
        for ((sources, sums), block) in blocks {
            for (source, sums) in sources.iter().zip(sums) {
                let Some(now) = source.history.get(step) else {
                    continue;
                };
                for (sum, numbers) in sums.iter_mut().zip(&block.points) {
                    let [second] = fluid.second[numbers[source.lane] as usize];
                    *sum += f64::from(*now) * f64::from(second);
                }
            }
        }
    }
}

/// What is kept of the forward wavefield, the acceleration of the step before, and the sums.
type OfBlocks<'a, const D: usize> = (&'a Kept<D>, &'a [[f32; D]], &'a mut Products);

/// The second derivative of the forward potential, and the sums.
type OfFluid<'a> = (&'a [[f32; 1]], &'a mut [Vec<Lanes>]);

impl<const D: usize> Engine<D> {
    /// Adds the products of what is kept of the forward wavefield with the wavefield of this engine to the sums of the blocks.
    fn in_blocks(&self, step: OfBlocks<'_, D>) {
        compiled_here!(&self: D in [2, 3], (Engine<D>, in_blocks_by_length(step: OfBlocks<'_, D>)));
    }

    fn in_blocks_by_length(&self, step: OfBlocks<'_, D>) {
        by_length!(self, in_blocks_of(step));
    }

    fn in_blocks_of<const N: usize>(&self, (kept, before, products): OfBlocks<'_, D>) {
        let tables = Tables::<N>::new(&self.basis);
        let width = products.width;
        let back = Back {
            field: &self.displacement,
            rate: &self.velocity,
            second: &self.acceleration,
        };
        let (arch, points, square) = (self.cpu.arch(), N.pow(D as u32), (self.dt * self.dt) as f32);
        let blocks = self.blocks.par_iter().zip(&self.memories).zip(&mut products.sums);
        self.cpu.install(|| {
            blocks.for_each_init(
                || Room::<D>::new(points),
                |room, ((block, memory), sums)| {
                    flushed(|| {
                        arch.dispatch(InSolid {
                            block,
                            tables: &tables,
                            forward: &kept.displacement,
                            back,
                            memory: memory.as_ref().map(|memory| (memory, before, square)),
                            room,
                            sums,
                            width,
                        });
                    });
                },
            );
        });
    }

    /// The same in its fluid, if there is one.
    fn in_fluid_blocks(&self, step: OfFluid<'_>) {
        compiled_here!(&self: D in [2, 3], (Engine<D>, in_fluid_blocks_by_length(step: OfFluid<'_>)));
    }

    fn in_fluid_blocks_by_length(&self, step: OfFluid<'_>) {
        by_length!(self, in_fluid_blocks_of(step));
    }

    fn in_fluid_blocks_of<const N: usize>(&self, (forward, sums): OfFluid<'_>) {
        let Some(fluid) = &self.fluid else { return };
        let tables = Tables::<N>::new(&self.basis);
        let back = Back {
            field: &fluid.potential,
            rate: &fluid.rate,
            second: &fluid.second,
        };
        let (arch, points) = (self.cpu.arch(), N.pow(D as u32));
        self.cpu.install(|| {
            fluid.blocks.par_iter().zip(sums).for_each_init(
                || Room::<1>::new(points),
                |room, (block, sums)| {
                    flushed(|| {
                        arch.dispatch(InFluid {
                            block,
                            tables: &tables,
                            forward,
                            back,
                            room,
                            sums,
                        });
                    });
                },
            );
        });
    }
}
