//! Wavefields besides the one that a subdomain advances: checkpoints, and the adjoint wavefield.

use super::part::{DevicePart, Standing};
use crate::Error;
use crate::device::accelerator::{Accelerator, Memory, Stream};
use std::mem::swap;

/// The state of a run after a step.
pub struct Wavefield<A: Accelerator> {
    pub step: usize,
    /// Displacement, velocity and acceleration of the solid.
    solid: [A::Memory; 3],
    /// The potential of the fluid and its derivatives.
    fluid: Option<[A::Memory; 3]>,
    /// Memory variables of attenuation, and of perfectly matched layers of solids and of fluids.
    relaxing: A::Memory,
    layers: Vec<A::Memory>,
}

/// The memory variables of the layers of a subdomain.
fn layers<const D: usize, A: Accelerator>(of: &DevicePart<D, A>) -> impl Iterator<Item = &A::Memory> {
    let fluid = of.fluid.iter().filter_map(|fluid| fluid.field.layers.as_ref());
    let all = of.solid.layers.iter().chain(fluid);
    all.map(|layers| &layers.variables)
}

fn three<A: Accelerator>(a: &A, like: &[A::Memory; 3]) -> Result<[A::Memory; 3], Error> {
    let one = |k: usize| a.allocate(like[k].bytes());
    Ok([one(0)?, one(1)?, one(2)?])
}

impl<A: Accelerator> Wavefield<A> {
    pub fn rest<const D: usize>(of: &DevicePart<D, A>) -> Result<Self, Error> {
        let a = &*of.accelerator;
        Ok(Self {
            step: 0,
            solid: three(a, &of.levels)?,
            fluid: match &of.fluid {
                Some(fluid) => Some(three(a, &fluid.levels)?),
                None => None,
            },
            relaxing: a.allocate(of.solid.relaxing.bytes())?,
            layers: layers(of)
                .map(|memory| a.allocate(memory.bytes()))
                .collect::<Result<_, _>>()?,
        })
    }

    /// The addresses of displacement, velocity and acceleration of the solid, and of the potential of the fluid with its
    /// first and second derivative; zeros without a fluid.
    pub fn levels(&self) -> [[u64; 3]; 2] {
        let of = |levels: &[A::Memory; 3]| levels.each_ref().map(Memory::address);
        [of(&self.solid), self.fluid.as_ref().map_or([0; 3], of)]
    }

    /// The address of the memory variables of attenuation.
    pub fn variables(&self) -> u64 {
        self.relaxing.address()
    }

    pub fn bytes_of<const D: usize>(of: &DevicePart<D, A>) -> usize {
        let fluid = of.fluid.iter().flat_map(|fluid| &fluid.levels);
        let levels = of.levels.iter().chain(fluid);
        let variables = layers(of).chain([&of.solid.relaxing]);
        levels.chain(variables).map(Memory::bytes).sum()
    }

    /// Sets the wavefield to rest.
    pub fn clear(&mut self, a: &A) -> Result<(), Error> {
        self.step = 0;
        let all = self.solid.iter().chain(self.fluid.iter().flatten());
        let mut all = all.chain([&self.relaxing]).chain(&self.layers);
        all.try_for_each(|memory| a.clear(memory))
    }

    /// Pairs of corresponding memories of a subdomain and of this wavefield.
    fn pairs<'a, const D: usize>(&'a self, of: &'a DevicePart<D, A>) -> Vec<[&'a A::Memory; 2]> {
        let fluid = of.fluid.iter().flat_map(|fluid| &fluid.levels);
        let theirs = of.levels.iter().chain(fluid).chain([&of.solid.relaxing]);
        let theirs = theirs.chain(layers(of));
        let own = self.solid.iter().chain(self.fluid.iter().flatten());
        theirs
            .zip(own.chain([&self.relaxing]).chain(&self.layers))
            .map(|(a, b)| [a, b])
            .collect()
    }

    /// Copies the state of a subdomain after `step` steps.
    pub fn take<const D: usize>(&mut self, of: &mut DevicePart<D, A>, step: usize) -> Result<(), Error> {
        of.settle()?;
        self.step = step;
        for [from, to] in self.pairs(of) {
            copy(&*of.accelerator, from, to)?;
        }
        Ok(())
    }

    /// Copies this state to a subdomain.
    pub fn give<const D: usize>(&self, to: &mut DevicePart<D, A>) -> Result<(), Error> {
        for [theirs, own] in self.pairs(to) {
            copy(&*to.accelerator, own, theirs)?;
        }
        to.standing = Standing::Ended;
        to.inside = 0;
        Ok(())
    }

    /// Swaps this state and its number of steps with a subdomain's.
    pub fn swap<const D: usize>(
        &mut self,
        with: &mut DevicePart<D, A>,
        step: &mut usize,
    ) -> Result<(), Error> {
        with.settle()?;
        swap(&mut self.step, step);
        swap(&mut self.solid, &mut with.levels);
        if let (Some(own), Some(theirs)) = (&mut self.fluid, &mut with.fluid) {
            swap(own, &mut theirs.levels);
        }
        swap(&mut self.relaxing, &mut with.solid.relaxing);
        let fluid = with
            .fluid
            .iter_mut()
            .filter_map(|fluid| fluid.field.layers.as_mut());
        let theirs = with.solid.layers.iter_mut().chain(fluid);
        for (own, theirs) in self.layers.iter_mut().zip(theirs) {
            swap(own, &mut theirs.variables);
        }
        Ok(())
    }
}

/// Copies a whole memory to another of the same size, in the main stream.
pub fn copy<A: Accelerator>(a: &A, from: &A::Memory, to: &A::Memory) -> Result<(), Error> {
    // SAFETY: both memories have this size and live as long as the run.
    unsafe {
        a.copy_to(
            Stream::Main,
            from.address(),
            a,
            to.address(),
            from.bytes().min(to.bytes()),
        )
    }
}
