//! The part of an engine that changes from step to step; the forward and the adjoint run share everything else.

use crate::methods::spectral_elements::Number;
use std::mem::swap;

use super::super::Engine;
use super::super::lanes::Lanes;
use super::super::pml::Damped;
use super::super::points::Placed;

/// The state of a run after a step.
#[derive(Clone)]
pub(super) struct State<const D: usize> {
    step: usize,
    /// Displacement, velocity and acceleration of the solid.
    solid: [Vec<[Number; D]>; 3],
    /// The potential of the fluid and its first and second time derivatives; empty without a fluid.
    fluid: [Vec<[Number; 1]>; 3],
    /// Memory variables of attenuation by block; empty without attenuation.
    memories: Vec<Vec<Lanes>>,
    /// Memory variables of perfectly matched layers, of solids and then of fluids, and whether the forces in layers
    /// belong to the adjoint wavefield.
    layers: Vec<Vec<Lanes>>,
    transposed: bool,
}

impl<const D: usize> State<D> {
    pub(super) fn rest(engine: &Engine<D>) -> Self {
        let mut state = Self::of(engine);
        state.solid.iter_mut().for_each(|field| field.fill([0.0; D]));
        state.fluid.iter_mut().for_each(|field| field.fill([0.0]));
        let variables = state.memories.iter_mut().chain(&mut state.layers);
        variables.for_each(|all| all.fill(Lanes::ZERO));
        state.step = 0;
        state
    }

    /// A state at rest for the adjoint wavefield.
    pub(super) fn transposed(engine: &Engine<D>) -> Self {
        Self {
            transposed: true,
            ..Self::rest(engine)
        }
    }

    /// A copy of the state of an engine.
    pub(super) fn of(engine: &Engine<D>) -> Self {
        let fluid = engine.fluid.as_ref();
        let memories = engine.memories.iter().flatten();
        Self {
            step: engine.step,
            solid: [&engine.displacement, &engine.velocity, &engine.acceleration].map(Clone::clone),
            fluid: fluid.map_or_else(Default::default, |fluid| {
                [&fluid.potential, &fluid.rate, &fluid.second].map(Clone::clone)
            }),
            memories: memories.map(|memory| memory.variables().clone()).collect(),
            layers: layers(engine).map(|damped| damped.variables().clone()).collect(),
            transposed: layers(engine).any(|damped| damped.transposed),
        }
    }

    /// Swaps this state with an engine's state.
    pub(super) fn swap(&mut self, engine: &mut Engine<D>) {
        let [u, v, a] = &mut self.solid;
        swap(u, &mut engine.displacement);
        swap(v, &mut engine.velocity);
        swap(a, &mut engine.acceleration);
        swap(&mut self.step, &mut engine.step);
        if let Some(fluid) = &mut engine.fluid {
            let [potential, rate, second] = &mut self.fluid;
            swap(potential, &mut fluid.potential);
            swap(rate, &mut fluid.rate);
            swap(second, &mut fluid.second);
        }
        let of_engine = engine.memories.iter_mut().flatten();
        for (own, memory) in self.memories.iter_mut().zip(of_engine) {
            swap(own, memory.variables_mut());
        }
        let fluid = engine.fluid.iter_mut().flat_map(|fluid| &mut fluid.damped);
        let of_engine = engine.damped.iter_mut().chain(fluid).flatten();
        let mut transposed = self.transposed;
        for (own, damped) in self.layers.iter_mut().zip(of_engine) {
            swap(own, damped.variables_mut());
            transposed = std::mem::replace(&mut damped.transposed, self.transposed);
        }
        self.transposed = transposed;
    }

    pub(super) fn bytes(engine: &Engine<D>) -> usize {
        let fluid = engine.fluid.as_ref();
        let memories = engine.memories.iter().flatten();
        3 * size_of_val(&engine.displacement[..])
            + 3 * fluid.map_or(0, |fluid| size_of_val(&fluid.potential[..]))
            + memories
                .map(|memory| size_of_val(&memory.variables()[..]))
                .sum::<usize>()
            + layers(engine)
                .map(|damped| size_of_val(&damped.variables()[..]))
                .sum::<usize>()
    }
}

/// The filters of an engine's blocks in perfectly matched layers, of solids and then of fluids.
fn layers<const D: usize>(engine: &Engine<D>) -> impl Iterator<Item = &Damped> {
    let fluid = engine.fluid.iter().flat_map(|fluid| &fluid.damped);
    engine.damped.iter().chain(fluid).flatten()
}

pub(super) struct Sources<const D: usize> {
    pub(super) solid: Vec<Vec<Placed<D>>>,
    pub(super) fluid: Vec<Vec<Placed<1>>>,
}

impl<const D: usize> Sources<D> {
    /// Swaps these sources with an engine's sources.
    pub(super) fn swap(&mut self, engine: &mut Engine<D>) {
        swap(&mut self.solid, &mut engine.sources);
        if let Some(fluid) = &mut engine.fluid {
            swap(&mut self.fluid, &mut fluid.sources);
        }
    }
}

/// The record of a step of the forward run.
#[derive(Clone, Default)]
pub(super) struct Kept<const D: usize> {
    pub(super) displacement: Vec<[Number; D]>,
    /// The second time derivative of the potential of the fluid; empty without a fluid.
    pub(super) second: Vec<[Number; 1]>,
}

impl<const D: usize> Kept<D> {
    /// Copies the current fields of an engine.
    pub(super) fn take(&mut self, engine: &Engine<D>) {
        self.displacement.clone_from(&engine.displacement);
        if let Some(fluid) = &engine.fluid {
            self.second.clone_from(&fluid.second);
        }
    }

    /// Bytes of a recorded step.
    pub(super) fn bytes(engine: &Engine<D>) -> usize {
        let fluid = engine.fluid.as_ref();
        size_of_val(&engine.displacement[..]) + fluid.map_or(0, |fluid| size_of_val(&fluid.second[..]))
    }
}
