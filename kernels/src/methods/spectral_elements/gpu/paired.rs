//! The end of a step of the adjoint wavefield, which also adds its products with the forward wavefield at every point.

use super::arguments::{Beside, Paired};
use super::part::{DevicePart, Standing};
use super::variant;
use crate::Error;
use crate::device::accelerator::{Accelerator, Stream, argument, walk};

/// The kernels that complete a step of the adjoint wavefield and add its products with the forward one at every point.
pub struct PairedKernels<A: Accelerator> {
    pub advance: A::Kernel,
    pub advance_inside: A::Kernel,
    pub correct_fluid: A::Kernel,
}

impl<A: Accelerator> PairedKernels<A> {
    /// Compiles the kernels.
    pub fn load(a: &A, dimension: usize) -> Result<Self, Error> {
        let names = ["advance_paired", "advance_inside_paired", "correct_fluid_paired"];
        let all: [A::Kernel; 3] = a
            .load(&variant::nodes(dimension), &names)?
            .try_into()
            .map_err(|_| Error::setup("kernels of gradients are missing"))?;
        let [advance, advance_inside, correct_fluid] = all;
        Ok(Self {
            advance,
            advance_inside,
            correct_fluid,
        })
    }
}

impl<const D: usize, A: Accelerator> DevicePart<D, A> {
    /// Launches a kernel over `count` points: the plain kernel or, after [`Self::pair`], the kernel that also adds the
    /// products of a field.
    pub(super) fn launch_paired<T: Copy>(
        &self,
        (stream, count): (Stream, usize),
        kernel: impl Fn(&PairedKernels<A>) -> &A::Kernel,
        (plain, args): (&A::Kernel, T),
        field: usize,
    ) -> Result<(), Error> {
        let a = &self.accelerator;
        match (&self.paired_kernels, &self.paired) {
            (Some(kernels), Some(paired)) => {
                let args = Beside {
                    a: args,
                    b: paired[field],
                };
                // SAFETY: the arguments have the kernel's structure; places and points come from the tables.
                unsafe { a.launch(stream, kernel(kernels), walk(count), &argument(&args)) }
            }
            // SAFETY: as above.
            _ => unsafe { a.launch(stream, plain, walk(count), &argument(&args)) },
        }
    }

    /// Makes the next step add these products, of solids and of fluids, until [`Self::end_paired`].
    pub(super) fn pair(&mut self, paired: [Paired; 2]) {
        self.paired = Some(paired);
    }

    /// Completes the pending step of the adjoint wavefield and adds its products; with `goes_on` the next step begins
    /// at once.
    pub(super) fn end_paired(&mut self, goes_on: bool) -> Result<(), Error> {
        self.advance(goes_on)?;
        self.standing = if goes_on { Standing::Begun } else { Standing::Ended };
        self.paired = None;
        self.accelerator.record(Stream::Main, &self.advanced)
    }
}
