//! Memory variables, one at a time.

use pulp::Simd;

use super::lanes::{Lanes, Part, Register};
use crate::device::simd::prefetch;

/// How a mechanism goes on in a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mechanism {
    /// A.
    pub(super) decay: Lanes,
    /// P C: of a strain in the variable now.
    pub(super) now: Lanes,
    /// A P C + P B: of a strain in what is kept.
    pub(super) kept: Lanes,
}

/// Memory variables, each of which takes something from the stress. This is a trait, for a closure that is not inlined would be compiled
/// without the processor's vector instructions and call a function for each of them.
pub(super) trait Variables<S: Simd> {
    /// What the variable of a number takes by its law from the stress at this strain.
    fn take(&mut self, part: Part<S>, law: &Mechanism, slot: usize, strain: Register<S>) -> Register<S>;
}

/// Variables by which memory is asked for ahead: the processor itself asks inside of a page alone.
const AHEAD: usize = 64;

/// Variables that are advanced.
pub(super) struct Advancing<'a>(pub(super) &'a mut [Lanes]);

impl<S: Simd> Variables<S> for Advancing<'_> {
    #[inline(always)]
    fn take(&mut self, part: Part<S>, law: &Mechanism, slot: usize, strain: Register<S>) -> Register<S> {
        prefetch(self.0.as_ptr().wrapping_add(slot + AHEAD));
        relax(part, law, &mut self.0[slot], strain)
    }
}

/// Variables that have been advanced with the same strain.
pub(super) struct Advanced<'a>(pub(super) &'a [Lanes]);

impl<S: Simd> Variables<S> for Advanced<'_> {
    #[inline(always)]
    fn take(&mut self, part: Part<S>, law: &Mechanism, slot: usize, strain: Register<S>) -> Register<S> {
        relaxed(part, law, &self.0[slot], strain)
    }
}

/// Advances one variable; returns it now.
#[inline(always)]
fn relax<S: Simd>(part: Part<S>, law: &Mechanism, variable: &mut Lanes, strain: Register<S>) -> Register<S> {
    let kept = part.load(variable);
    let next = part.load(&law.kept).mul_add(strain, part.load(&law.decay) * kept);
    part.store(variable, next);
    part.load(&law.now).mul_add(strain, kept)
}

/// What [`relax`] returned of a variable that it has advanced with this strain.
#[inline(always)]
fn relaxed<S: Simd>(part: Part<S>, law: &Mechanism, variable: &Lanes, strain: Register<S>) -> Register<S> {
    let kept = (part.load(variable) - part.load(&law.kept) * strain) / part.load(&law.decay);
    part.load(&law.now).mul_add(strain, kept)
}
