//! The medium on its way to a device: numbers on the nodes, from which kernels take their means.

use super::arguments::Stiff;
use super::lines::Lines;
use crate::Error;
use crate::device::accelerator::{Accelerator, Pinned, Stream};
use crate::device::cpu::Cpu;
use crate::device::simd::Real;
use crate::medium::{Medium, needed};
use crate::methods::velocity_stress::medium::{PLACES_2D, PLACES_3D};
use crate::parallel::slabs::Slab as Layout;
use std::ops::Range;

/// Numbers of a block on its way.
const BLOCK: usize = 8 << 20;

/// What becomes of a number of the model.
#[derive(Clone, Copy)]
enum Form {
    /// `dt c`
    Times(f64),
    /// `1 / (4 dt c)`
    Quarter(f64),
    /// `rho / (2 dt)`
    Half(f64),
}

impl Form {
    fn of(self, x: f64) -> f64 {
        match self {
            Self::Times(dt) => dt * x,
            Self::Quarter(dt) => 1.0 / (4.0 * dt * x),
            Self::Half(dt) => x / (2.0 * dt),
        }
    }
}

/// Places of the normal stiffnesses that a medium keeps, among the six, and of its shears, among the three.
pub fn kept(ndim: usize, isotropic: bool) -> (&'static [usize], &'static [usize]) {
    match (ndim, isotropic) {
        (_, true) => (&[0], &[0]),
        (3, _) => (&[0, 1, 2, 3, 4, 5], &[0, 1, 2]),
        _ => (&[0, 2, 4], &[1]),
    }
}

/// Stiffness on a device.
pub struct Stiffness<A: Accelerator> {
    normal: Vec<Lines<A>>,
    shear: Vec<Lines<A>>,
    args: Stiff,
}

impl<A: Accelerator> Stiffness<A> {
    /// Addresses.
    pub fn args(&self) -> Stiff {
        self.args
    }

    /// Bytes of device memory.
    pub fn bytes(&self) -> usize {
        self.normal.iter().chain(&self.shear).map(Lines::bytes).sum()
    }
}

/// Sends what a slab needs of a medium.
pub struct Upload<'a, T, A: Accelerator> {
    a: &'a A,
    cpu: &'a Cpu,
    raw: &'a Medium<T>,
    /// Numbers of an array of the medium that the slab needs.
    part: Range<usize>,
    isotropic: bool,
    dt: f64,
    /// Bytes from the start of a row to its first cell that is computed.
    first: usize,
}

impl<'a, T: Real, A: Accelerator> Upload<'a, T, A> {
    /// For a slab on a device; `isotropic` media are sent as two numbers a cell.
    pub fn new(
        a: &'a A,
        cpu: &'a Cpu,
        (raw, layout): (&'a Medium<T>, &Layout),
        isotropic: bool,
        (dt, first): (f64, usize),
    ) -> Self {
        let p = raw.padded();
        let rows = if p.ndim() == 3 { p.model.n[1] } else { 1 };
        let (wanted, held) = (needed(p, &layout.own), raw.planes());
        let at = |plane: usize| (plane - held.start) * rows * p.pitch();
        Self {
            a,
            cpu,
            raw,
            part: at(wanted.start)..at(wanted.end),
            isotropic,
            dt,
            first,
        }
    }

    /// `rho / (2 dt)` of every cell.
    pub fn density(&self) -> Result<Lines<A>, Error> {
        self.send(self.raw.density(), Form::Half(self.dt))
    }

    /// The stiffness of every cell.
    pub fn stiffness(&self) -> Result<Stiffness<A>, Error> {
        let ndim = self.raw.padded().ndim();
        let order = if ndim == 3 { PLACES_3D } else { PLACES_2D };
        let (normals, shears) = kept(ndim, self.isotropic);
        let mut args = Stiff::default();
        let (mut normal, mut shear) = (Vec::new(), Vec::new());
        for &k in normals {
            // Of isotropic media the coupling: the rest is twice the shear.
            let place = order[if self.isotropic { 3 } else { k }];
            let memory = self.send(self.raw.stiffness_array(place), Form::Times(self.dt))?;
            args.normal[k] = memory.address();
            normal.push(memory);
        }
        for &k in shears {
            let memory = self.send(self.raw.stiffness_array(order[6 + k]), Form::Quarter(self.dt))?;
            args.shear[k] = memory.address();
            shear.push(memory);
        }
        Ok(Stiffness { normal, shear, args })
    }

    fn send(&self, from: &[T], form: Form) -> Result<Lines<A>, Error> {
        use rayon::prelude::*;
        let from = &from[self.part.clone()];
        let number = size_of::<T>();
        let to = Lines::new(self.a, size_of_val(from), self.first)?;
        let mut blocks = [(); 2].map(|()| self.a.pin(BLOCK.min(from.len()) * number));
        let done = [self.a.event()?, self.a.event()?];
        for (k, numbers) in from.chunks(BLOCK).enumerate() {
            let turn = k % 2;
            self.a.synchronize(&done[turn])?;
            let Ok(block) = &mut blocks[turn] else { break };
            let out: &mut [T] = bytemuck::cast_slice_mut(&mut block.bytes_mut()[..size_of_val(numbers)]);
            self.cpu.install(|| {
                let pieces = out.par_chunks_mut(1 << 14).zip(numbers.par_chunks(1 << 14));
                pieces.for_each(|(out, from)| {
                    out.iter_mut()
                        .zip(from)
                        .for_each(|(out, x)| *out = T::of(form.of(x.f64())));
                });
            });
            // SAFETY: the block is not touched again before its event is reached; `to` holds all numbers.
            unsafe {
                let at = to.address() + (k * BLOCK * number) as u64;
                self.a.upload(Stream::Main, block, 0, at, size_of_val(numbers))?;
            }
            self.a.record(Stream::Main, &done[turn])?;
        }
        self.a.finish()?;
        blocks.into_iter().try_for_each(|block| block.map(drop))?;
        Ok(to)
    }
}
