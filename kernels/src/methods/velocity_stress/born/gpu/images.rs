//! Images on a device: the counterpart of [`super::super::imaging`] on processors, with the kernels of images.cu.
//!
//! As few fields as possible are recorded in each step in addition to its velocities: one pressure field for PP and
//! PS, the force of S waves for SP, stresses for the energy. All other factors are computed in the reverse sweep, one
//! kind after the other, in memory that the kinds share. Products are averaged to the nodes in every step, and only
//! those in the model are kept, so that an image needs one number per lag and cell, however many fields its kind has.

use super::super::imaging::{Kind, Picture};
use super::OnDevice;
use super::arguments::{Args, int};
use super::halo::Travelling;
use super::image_plan::{Plan, Sum, model};
use super::shot_memory::{Part, ShotMemory};
use super::sizes::after;
use super::slab::LocalProgram;
use super::steps::Device;
use super::transfer::Transfer;
use super::variant::Pass;
use crate::Error;
use crate::device::accelerator::{Accelerator, Dims, Memory, Stream, send, walk};
use crate::methods::velocity_stress::GHOST;
use std::ops::Range;

/// Kernels of the source, in order.
#[derive(Clone, Copy)]
enum Kernel {
    Shares,
    Sums,
    AdjointWaves,
    AdjointVelocities,
    Mean,
    Forces,
    Rotations,
    Multiply,
}

/// Cells along z and lines per block of [`Kernel::Multiply`].
const BLOCK: [usize; 2] = [32, 4];

/// Largest number of blocks along an axis.
const MOST_BLOCKS: usize = 32_768;

/// `struct Waves` of images.cu.
#[repr(C)]
#[derive(Clone, Copy)]
struct Waves {
    args: Args,
    from: u64,
    share: u64,
    potential: u64,
    next: u64,
    to: u64,
    fields: i32,
    padding: i32,
}

/// `struct Products` of images.cu.
#[repr(C)]
#[derive(Clone, Copy)]
struct Products {
    own: [u64; 2],
    other: [u64; 2],
    shining: u64,
    lags: u64,
    image: u64,
    light: u64,
    len: i64,
    signs: [f32; 2],
    bright: f32,
    fields: [i32; 2],
    shines: i32,
    all_lags: i32,
    halves: [i32; 9],
    stride: [i32; 3],
    begin: [i32; 3],
    end: [i32; 3],
    first: [i32; 3],
    n: [i32; 3],
    along: i32,
    shot: i64,
}

/// The products of a step without their fields: the position of the model in the grid.
fn products(slab: LocalProgram<'_, f32>) -> Products {
    let rows = &slab.program.rows;
    // The first planes of the grid may lie before those in memory.
    let behind = [0, 0, int(slab.planes.memory.start)];
    let live = [&rows.z, &rows.rows, &rows.planes];
    let bound = |of: fn(&Range<usize>) -> usize| [0, 1, 2].map(|axis| int(of(live[axis])) - behind[axis]);
    let [first, n] = model(slab);
    Products {
        own: [0; 2],
        other: [0; 2],
        shining: 0,
        lags: 0,
        image: 0,
        light: 0,
        len: slab.len() as i64,
        signs: [1.0; 2],
        bright: 1.0,
        fields: [0; 2],
        shines: 0,
        all_lags: 0,
        halves: [0; 9],
        stride: rows.stride.map(int),
        begin: bound(|range| range.start),
        end: bound(|range| range.end),
        first: first.map(int),
        n: n.map(int),
        along: 1,
        shot: 0,
    }
}

/// Images while they are accumulated.
pub struct Imaging<'a, A: Accelerator> {
    device: &'a Device<A>,
    kernels: &'a [A::Kernel],
    plan: Plan,
    plain: Products,
    /// The address of the images' memory of the first shot.
    memory: u64,
    lags: A::Memory,
}

impl<'a, A: Accelerator> Imaging<'a, A> {
    /// Prepares images in the memory of shots, laid out by `plan`.
    pub fn new(
        on: &'a OnDevice<A>,
        (slab, plan): (LocalProgram<'_, f32>, Plan),
        memory: &ShotMemory<A>,
    ) -> Result<Self, Error> {
        let device = &on.device;
        let images = Self {
            kernels: on.image_kernels()?,
            plain: products(slab),
            memory: memory.part(Part::Images),
            lags: send(&*device.a, &plan.lags)?,
            device,
            plan,
        };
        device.copy(images.memory, None, images.plan.all)?;
        if images.plan.has_potentials() {
            let waves = images.waves(&device.of(0), (0, 0), images.at(images.plan.share));
            images.cells(Kernel::Shares, &waves)?;
        }
        Ok(images)
    }

    fn at(&self, number: usize) -> u64 {
        after(self.memory, number)
    }

    fn launch<S>(&self, kernel: Kernel, dims: Dims, args: &S) -> Result<(), Error> {
        let kernel = &self.kernels[kernel as usize];
        // SAFETY: the callers pass the structure of the kernel; its addresses point to this memory, to the run and to a
        // recorded step. Neighbours of computed cells lie in the grid, and no kernel writes the fields that it reads
        // around a cell.
        unsafe { self.device.launch_on(Stream::Main, kernel, dims, args) }
    }

    /// Launches a kernel with a thread for every number of a field.
    fn walk(&self, kernel: Kernel, waves: &Waves) -> Result<(), Error> {
        let (args, dims) = self.device.side_by_side(waves.args, walk(self.device.sizes.len));
        self.launch(kernel, dims, &Waves { args, ..*waves })
    }

    /// Launches a kernel with a thread for every computed cell.
    fn cells(&self, kernel: Kernel, waves: &Waves) -> Result<(), Error> {
        let (args, dims) = self.device.blocks(&waves.args, 1);
        self.launch(kernel, dims, &Waves { args, ..*waves })
    }

    /// Arguments of a kernel that computes `to` from `fields` fields at `from`.
    fn waves(&self, args: &Args, (from, fields): (u64, usize), to: u64) -> Waves {
        Waves {
            args: *args,
            from,
            share: 0,
            potential: self.at(self.plan.potential),
            next: 0,
            to,
            fields: int(fields),
            padding: 0,
        }
    }

    /// The mean of fields of this step and of the following time step, in `to`, which may be `from`; `next` is then
    /// set to the fields of this step.
    fn mean(&self, args: &Args, (from, fields): (u64, usize), next: u64, to: u64) -> Result<(), Error> {
        let waves = self.waves(args, (from, fields), to);
        self.walk(Kernel::Mean, &Waves { next, ..waves })
    }

    /// Computes in `to` the P-wave part of the force from the normal stresses or their sum or, with `stress`, the S-wave
    /// part.
    fn force(&self, args: &Args, normal: (u64, usize), stress: Option<u64>, to: u64) -> Result<(), Error> {
        let potential = self.waves(args, normal, self.at(self.plan.potential));
        let share = self.at(self.plan.share);
        self.walk(Kernel::Sums, &Waves { share, ..potential })?;
        let potential = self.at(self.plan.potential);
        self.device
            .exchange(&self.device.behind_each_other(potential, 1))?;
        self.cells(Kernel::Forces, &self.waves(args, (stress.unwrap_or(0), 0), to))
    }

    /// The addresses of the additional fields of a recorded step: pressure, force of S waves, stresses.
    fn image_fields(&self, tape: u64) -> [u64; 3] {
        let image_fields = self.device.sizes.tape().image_fields;
        self.plan.image_fields.map(|at| after(tape, image_fields + at))
    }

    /// Records the fields of a state that images need in addition to the tape.
    pub fn keep(&self, state: u64, tape: u64) -> Result<(), Error> {
        let (args, sizes) = (self.device.of(state), &self.device.sizes);
        let has = |kinds: &[Kind]| self.plan.sums.iter().any(|sum| kinds.contains(&sum.kind));
        let [pressure, force, stress] = self.image_fields(tape);
        let normal = (args.stress, sizes.ndim);
        if has(&[Kind::Pp, Kind::Ps]) {
            self.walk(Kernel::Sums, &self.waves(&args, normal, pressure))?;
        }
        if has(&[Kind::Sp]) {
            self.force(&args, normal, Some(args.stress), force)?;
        }
        if has(&[Kind::Energy]) {
            self.device
                .copy(stress, Some(args.stress), sizes.stresses * sizes.len)?;
        }
        Ok(())
    }

    /// Adds the contribution of a recorded step to the images; `args` are the arguments of the reverse sweep through
    /// the step, after its record has been injected and before its transpose.
    pub fn correlate(&self, args: &Args, tape: u64) -> Result<(), Error> {
        if self.plan.separates() {
            self.cells(Kernel::AdjointWaves, &self.waves(args, (0, 0), 0))?;
            let mut halo = self.device.across(args.derivatives[1]);
            halo.extend(
                self.device
                    .behind_each_other(args.derivatives[0], self.device.sizes.ndim),
            );
            self.device.exchange(&halo)?;
        }
        for sum in &self.plan.sums {
            let fields = self.fields(sum, args, tape)?;
            self.multiply(sum, fields)?;
        }
        Ok(())
    }

    /// Computes the fields of a kind.
    fn fields(&self, sum: &Sum, args: &Args, tape: u64) -> Result<Products, Error> {
        let (sizes, [pressure, force, stress]) = (&self.device.sizes, self.image_fields(tape));
        let (own, other) = (self.at(self.plan.own), self.at(self.plan.other));
        let [adjoint_velocity, adjoint_stress] = args.derivatives;
        let (ndim, adjoint) = (sizes.ndim, (adjoint_stress, sizes.ndim));
        let count = int(sum.halves.len());
        let next = self.plan.next.map(|at| self.at(at));
        let products = Products {
            own: [own, 0],
            other: [other, 0],
            shining: own,
            signs: [sum.kind.sign() as f32, 0.0],
            fields: [count, 0],
            shines: count,
            ..self.plain
        };
        Ok(match sum.kind {
            Kind::Pp => {
                let later = self.at(self.plan.later);
                self.device
                    .cells(Pass::Pressures, &args.pressures(own, [later, other]))?;
                Products {
                    shining: pressure,
                    // The illumination uses the pressure, the mean of the normal stresses.
                    bright: 1.0 / (ndim * ndim) as f32,
                    ..products
                }
            }
            Kind::Ps => {
                self.force(args, (pressure, 1), None, own)?;
                self.force(args, adjoint, Some(adjoint_stress), other)?;
                self.mean(args, (other, ndim), next[0], other)?;
                products
            }
            Kind::Sp => {
                self.force(args, adjoint, None, other)?;
                self.mean(args, (other, ndim), next[1], other)?;
                Products {
                    own: [force, 0],
                    shining: force,
                    ..products
                }
            }
            Kind::Ss => {
                self.cells(Kernel::Rotations, &self.waves(args, (tape, 0), own))?;
                self.cells(Kernel::Rotations, &self.waves(args, (adjoint_velocity, 0), other))?;
                self.mean(args, (own, sum.halves.len()), next[2], own)?;
                Products {
                    shining: next[2],
                    ..products
                }
            }
            Kind::Energy => {
                let mut velocity = args.velocity;
                if adjoint_velocity == velocity {
                    velocity = other;
                    self.cells(Kernel::AdjointVelocities, &self.waves(args, (0, 0), other))?;
                }
                let (stresses, back) = (sizes.stresses, after(other, ndim * sizes.len));
                self.mean(args, (tape, ndim), next[3], own)?;
                let next = after(next[3], ndim * sizes.len);
                self.mean(args, (args.stress, stresses), next, back)?;
                Products {
                    own: [own, stress],
                    other: [velocity, back],
                    shining: tape,
                    signs: [-1.0, 1.0],
                    fields: [int(ndim), count - int(ndim)],
                    shines: int(ndim),
                    ..products
                }
            }
        })
    }

    /// Adds the products of a step.
    fn multiply(&self, sum: &Sum, fields: Products) -> Result<(), Error> {
        let mut products = Products {
            lags: self.lags.address(),
            image: self.at(sum.image),
            light: self.at(sum.light),
            all_lags: int(self.plan.lags.len() / 3),
            ..fields
        };
        products.halves[..sum.halves.len()].copy_from_slice(&sum.halves);
        self.device.exchange(&self.multiplied(&products))?;
        // A device may have only planes of the frame.
        if self.plan.cells == 0 {
            return Ok(());
        }
        let [z, rows, planes] = products.n.map(|n| n as usize);
        let blocks = (rows * planes).div_ceil(BLOCK[1]);
        let shots = self.device.shots();
        let deep = (blocks * shots).div_ceil(MOST_BLOCKS);
        let dims = Dims {
            grid: [z.div_ceil(BLOCK[0]), blocks.div_ceil(deep), deep],
            threads: BLOCK[0] * BLOCK[1],
            shared: 0,
        };
        let (args, dims) = self.device.side_by_side(self.device.of(0), dims);
        (products.along, products.shot) = (args.along, args.shot);
        self.launch(Kernel::Multiply, dims, &products)
    }

    /// The fields that are multiplied.
    fn multiplied(&self, products: &Products) -> Vec<Travelling> {
        let [own, more] = products.fields;
        let fields = [
            (products.own[0], own),
            (products.own[1], more),
            (products.other[0], own),
            (products.other[1], more),
            (products.shining, products.shines),
        ];
        let all = fields
            .into_iter()
            .flat_map(|(address, count)| self.device.behind_each_other(address, count as usize));
        // Lags across planes may reach all planes of the neighbours that are in memory.
        let all = all.map(|field| Travelling {
            planes: GHOST,
            ..field
        });
        all.collect()
    }

    /// The accumulated images of a shot.
    pub fn pictures(&self, shot: usize, transfer: &mut Transfer<A>) -> Result<Vec<Picture<f32>>, Error> {
        let (a, plan) = (&*self.device.a, &self.plan);
        let lags = plan.lags.len() / 3;
        let mut of = |at: usize, count: usize| {
            let mut numbers = vec![0.0; count];
            transfer.get(a, self.device.of_shot(self.at(at), shot), &mut numbers)?;
            Ok::<_, Error>(numbers)
        };
        let picture = |sum: &Sum| {
            Ok(Picture {
                image: of(sum.image, lags * plan.cells)?,
                light: of(sum.light, plan.cells)?,
            })
        };
        plan.sums.iter().map(picture).collect()
    }
}
