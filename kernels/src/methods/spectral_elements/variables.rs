//! Memory variables, advanced one at a time.

use pulp::Simd;

use super::lanes::{Lanes, Part, Register};
use crate::device::simd::prefetch;

/// The coefficients by which a mechanism advances in a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mechanism {
    /// A, the factor of the kept value.
    pub(super) decay: Lanes,
    /// P C, the factor of the strain in the present variable.
    pub(super) now: Lanes,
    /// A P C + P B, the factor of the strain in the kept value.
    pub(super) kept: Lanes,
}

/// Memory variables that are subtracted from the stress. This is a trait because a closure that is not inlined would
/// be compiled without the processor's vector instructions and would cost a function call for each variable.
pub(super) trait Variables<S: Simd> {
    /// Returns the contribution of variable `slot`, by its law, for this strain.
    fn take(&mut self, part: Part<S>, law: &Mechanism, slot: usize, strain: Register<S>) -> Register<S>;
}

/// How many variables ahead memory is prefetched: the processor itself prefetches only within a page.
const AHEAD: usize = 64;

/// Variables that are advanced as they are used.
pub(super) struct Advancing<'a>(pub(super) &'a mut [Lanes]);

impl<S: Simd> Variables<S> for Advancing<'_> {
    #[inline(always)]
    fn take(&mut self, part: Part<S>, law: &Mechanism, slot: usize, strain: Register<S>) -> Register<S> {
        prefetch(self.0.as_ptr().wrapping_add(slot + AHEAD));
        relax(part, law, &mut self.0[slot], strain)
    }
}

/// Variables that have already been advanced with the same strain.
pub(super) struct Advanced<'a>(pub(super) &'a [Lanes]);

impl<S: Simd> Variables<S> for Advanced<'_> {
    #[inline(always)]
    fn take(&mut self, part: Part<S>, law: &Mechanism, slot: usize, strain: Register<S>) -> Register<S> {
        relaxed(part, law, &self.0[slot], strain)
    }
}

/// Advances one variable and returns its present value.
#[inline(always)]
fn relax<S: Simd>(part: Part<S>, law: &Mechanism, variable: &mut Lanes, strain: Register<S>) -> Register<S> {
    let kept = part.load(variable);
    let next = part.load(&law.kept).mul_add(strain, part.load(&law.decay) * kept);
    part.store(variable, next);
    part.load(&law.now).mul_add(strain, kept)
}

/// Returns again what [`relax`] returned when it advanced the variable with this strain.
#[inline(always)]
fn relaxed<S: Simd>(part: Part<S>, law: &Mechanism, variable: &Lanes, strain: Register<S>) -> Register<S> {
    let kept = (part.load(variable) - part.load(&law.kept) * strain) / part.load(&law.decay);
    part.load(&law.now).mul_add(strain, kept)
}
