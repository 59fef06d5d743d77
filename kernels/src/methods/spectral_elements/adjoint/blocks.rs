//! The products of recorded steps with the adjoint wavefield in an engine.

use crate::methods::spectral_elements::Number;
use rayon::prelude::*;

use super::super::Engine;
use super::super::cpu::by_length;
use super::super::lanes::Lanes;
use super::super::shape::Tables;
use super::correlate::{Back, InFluid, InSolid, Products, Room};
use super::state::Kept;
use crate::device::cpu::flushed;

/// The record of the forward wavefield, the acceleration of the previous adjoint step, and the sums.
pub(super) type OfBlocks<'a, const D: usize> = (&'a Kept<D>, &'a [[Number; D]], &'a mut Products);

/// The second derivative of the forward potential, and the sums.
pub(super) type OfFluid<'a> = (&'a [[Number; 1]], &'a mut [Vec<Lanes>]);

impl<const D: usize> Engine<D> {
    /// Adds the products of the recorded forward wavefield and the wavefield of this engine to the sums of the solid
    /// blocks.
    pub(super) fn in_blocks(&self, step: OfBlocks<'_, D>) {
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
        let (arch, points, square) = (self.cpu.arch(), N.pow(D as u32), (self.dt * self.dt) as Number);
        let blocks = self.blocks.par_iter().zip(&self.memories).zip(&mut products.sums);
        let blocks = blocks.zip(&self.damped);
        self.cpu.install(|| {
            blocks.for_each_init(
                || Room::<D>::new(points),
                |room, (((block, memory), sums), damped)| {
                    // The medium in perfectly matched layers is not a parameter.
                    if damped.is_some() {
                        return;
                    }
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

    /// Adds the products of the fluid blocks, if there is a fluid.
    pub(super) fn in_fluid_blocks(&self, step: OfFluid<'_>) {
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
            let blocks = fluid.blocks.par_iter().zip(sums).zip(&fluid.damped);
            blocks.for_each_init(
                || Room::<1>::new(points),
                |room, ((block, sums), damped)| {
                    if damped.is_some() {
                        return;
                    }
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
