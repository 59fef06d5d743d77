//! The values of the adjoint wavefield at single points that a gradient needs: products on absorbing faces, and
//! values that are sent to the host.

use super::arguments::{FaceProducts, Watch, int};
use crate::Error;
use crate::device::accelerator::{Accelerator, Memory, Stream, argument, send, walk};
use crate::device::staging::Staging;
use crate::methods::spectral_elements::adjoint::machine::Seen;
use crate::methods::spectral_elements::boundary::FacePoint;
use crate::methods::spectral_elements::{Number, Setup};

/// Number of bytes of recorded values that are buffered on the device.
const WATCHED: usize = 32 << 20;

/// The points of absorbing faces.
pub struct FaceMemory<A: Accelerator> {
    point: A::Memory,
    in_fluid: A::Memory,
    normal: A::Memory,
    pub sums: A::Memory,
    /// The sums of the last run, on the host.
    pub host_sums: Vec<[f64; 2]>,
}

/// The adjoint wavefield on absorbing faces: addresses of the velocity and the acceleration of solids and of the first
/// derivative of the potential, half a time step (s), and whether the velocity is half a step ahead of the others.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    pub velocity: u64,
    pub acceleration: u64,
    pub rate: u64,
    pub half: f64,
    pub ahead: bool,
}

impl<A: Accelerator> FaceMemory<A> {
    /// Copies the tables of the points to the device.
    pub fn new<const D: usize>(a: &A, setup: &Setup<D>, faces: &[FacePoint<D>]) -> Result<Self, Error> {
        let each = faces.iter();
        let points: Vec<i32> = each.clone().map(|p| p.point as i32).collect();
        let in_fluid = each.clone().map(|p| setup.is_fluid(p.element as usize));
        let in_fluid: Vec<i32> = in_fluid.map(i32::from).collect();
        let normals: Vec<f64> = each.flat_map(|p| p.normal).collect();
        Ok(Self {
            point: send(a, &points)?,
            in_fluid: send(a, &in_fluid)?,
            normal: send(a, &normals)?,
            sums: a.allocate((faces.len() * 2 * size_of::<f64>()).max(8))?,
            host_sums: vec![[0.0; 2]; faces.len()],
        })
    }

    /// Bytes of device memory for `points` points.
    pub fn bytes_of<const D: usize>(points: usize) -> usize {
        let [numbers, normal] = [2 * size_of::<i32>(), D * size_of::<f64>()];
        points * (numbers + normal + 2 * size_of::<f64>())
    }

    /// Adds the products of a recorded step with the adjoint wavefield; the addresses point to the displacement and to
    /// the second derivative of the potential.
    pub fn add(
        &self,
        a: &A,
        kernel: &A::Kernel,
        ([displacement, second], adjoint): ([u64; 2], Rates),
    ) -> Result<(), Error> {
        let count = self.host_sums.len();
        if count == 0 {
            return Ok(());
        }
        let args = FaceProducts {
            point: self.point.address(),
            in_fluid: self.in_fluid.address(),
            normal: self.normal.address(),
            displacement,
            second,
            velocity: adjoint.velocity,
            acceleration: adjoint.acceleration,
            rate: adjoint.rate,
            sums: self.sums.address(),
            half: adjoint.half as f32,
            ahead: i32::from(adjoint.ahead),
            count: int(count),
        };
        // SAFETY: the argument is the structure of the kernel, and the points belong to the subdomain.
        unsafe { a.launch(Stream::Main, kernel, walk(count), &argument(&args)) }
    }

    /// Downloads the sums to the host.
    pub fn fetch(&mut self, a: &A, staging: &mut Staging<A>) -> Result<(), Error> {
        if self.host_sums.is_empty() {
            return Ok(());
        }
        let bytes = bytemuck::cast_slice_mut(&mut self.host_sums);
        // SAFETY: the copy covers the whole memory.
        unsafe { staging.download(a, self.sums.address(), bytes) }
    }

    /// Bytes of device memory.
    pub fn bytes(&self) -> usize {
        let all = [&self.point, &self.in_fluid, &self.normal, &self.sums];
        all.into_iter().map(Memory::bytes).sum()
    }
}

/// Watched values of the adjoint wavefield for some steps, buffered on the device.
pub struct Watched<A: Accelerator> {
    numbers: A::Memory,
    count: usize,
    values: A::Memory,
    /// Number of steps that fit into the buffer.
    room: usize,
    /// The steps in the buffer.
    steps: Vec<usize>,
}

impl<A: Accelerator> Watched<A> {
    /// Watches these indices of the displacement; -1 - k stands for index k of the second derivative of the potential.
    pub fn new(a: &A, numbers: &[i64]) -> Result<Self, Error> {
        let bytes = numbers.len() * size_of::<f32>();
        let room = (WATCHED / bytes).max(1);
        Ok(Self {
            numbers: send(a, numbers)?,
            count: numbers.len(),
            values: a.allocate(room * bytes)?,
            room,
            steps: Vec::new(),
        })
    }

    /// Records the adjoint wavefield of a step from these addresses of the displacement and of the second derivative
    /// of the potential; returns true if the buffer is full.
    pub fn take(
        &mut self,
        a: &A,
        kernel: &A::Kernel,
        (step, [displacement, second]): (usize, [u64; 2]),
    ) -> Result<bool, Error> {
        let bytes = self.count * size_of::<f32>();
        let args = Watch {
            displacement,
            second,
            numbers: self.numbers.address(),
            out: self.values.address() + (self.steps.len() * bytes) as u64,
            count: int(self.count),
        };
        // SAFETY: the argument is the structure of the kernel, and the buffer has room for the values.
        unsafe { a.launch(Stream::Main, kernel, walk(self.count), &argument(&args))? };
        self.steps.push(step);
        Ok(self.steps.len() == self.room)
    }

    /// Passes the buffered values to `seen`, step by step.
    pub fn show(&mut self, a: &A, staging: &mut Staging<A>, seen: &mut Seen<'_>) -> Result<(), Error> {
        let mut values = vec![0f32; self.steps.len() * self.count];
        if values.is_empty() {
            return Ok(());
        }
        let bytes = bytemuck::cast_slice_mut(&mut values);
        // SAFETY: that many steps have been written.
        unsafe { staging.download(a, self.values.address(), bytes)? };
        for (step, values) in self.steps.drain(..).zip(values.chunks_exact(self.count)) {
            let values: Vec<Number> = values.iter().map(|x| *x as Number).collect();
            seen(step, &values);
        }
        Ok(())
    }
}
