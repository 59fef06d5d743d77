//! Linearised modelling on accelerators: a second implementation of the discretised equations of [`super`], in single
//! precision. A thread has two cells along z, which it reads and writes as one vector: the kernels are bound by memory
//! latency, so more loads should be in flight.
//!
//! `grid.cuh` declares the data of a run in the kernels; `step.cu` has a step and its linearisation, `back.cu` the
//! transposed step, `surface.cu` both at a free surface, `points.cu` sources, receivers and their transposes,
//! `images.cu` images. All sums of a cell are gathered in a fixed order, so that a run gives the same bits every time,
//! independently of what it records.
//!
//! Several shots over the same medium run side by side in the same launches, since a launch for one shot on a small
//! grid does not fill the device: the blocks of all shots are concatenated, and the distance in memory between a part
//! of one shot and the same part of the next is the same for all parts (`shot_memory.rs`).
//!
//! Several devices share a shot by planes of the grid (`slab.rs`). Each has a thread and runs all of the above on its
//! own planes (`devices.rs`); planes next to a cut are exchanged before any kernel reads across it (`halo.rs`). The
//! arithmetic of each cell is the same as on a single device. Some of the devices may belong to other ranks
//! (`ranks.rs`), whose parts of a gradient or an image are sent to rank 0 (`collect.rs`).
//!
//! A recorded step keeps its velocities, without a copy because the next step writes elsewhere, and the memory
//! variables by which the layers stretch their derivatives. They occupy a third of the memory of strains and forces,
//! which the reverse sweep recomputes from them: the increment of the velocities in a step is buoyancy times force.
//!
//! With boundary saving (`bounds.rs`, `backwards.rs`, `boundary_saving.rs`) only the boundary of the velocities is
//! kept. The interior of an isotropic solid, most of a large grid, is then computed by separate kernels (`inside.cu`),
//! which undo a step of the run while they transpose it, with four cells per thread.

mod arguments;
mod backwards;
mod boundary_saving;
mod bounds;
mod collect;
mod copies;
mod devices;
mod halo;
mod image_plan;
mod images;
mod points;
mod ranks;
mod readings;
mod resident;
mod server;
mod shot_memory;
mod sizes;
mod slab;
mod steps;
mod sweep;
mod transfer;
pub mod variant;

use super::boundary::Core;
use super::engine::{Source, Steps};
use super::program::{Changes, Discrete};
use super::{ImageRequest, Number, Picture, Take, not_finite};
use crate::device::accelerator::{Accelerator, Pinned, Stream};
use crate::time_loop::reversal::CheckpointSchedule;
use crate::{Error, Hint, message};
use bounds::Bounds;
pub use bounds::solid;
pub use devices::Devices;
use image_plan::Plan;
use images::Imaging;
pub use ranks::Shares;
use shot_memory::{Needs, PARTS, Part, ShotMemory};
use sizes::{Sizes, after};
pub use slab::{LocalProgram, Planes};
use std::cell::{Cell, OnceCell, RefCell};
use std::sync::Arc;
use steps::{Device, Drive};
use sweep::Request;
use transfer::Transfer;

/// Number of threads that compute one value of a record, as in points.cu, and number of threads of a block.
const READERS: usize = 8;
const READ_BLOCK: usize = 128;

/// Approximate bytes of records that a device buffers for the host.
const RECORDS: usize = 16 << 20;

/// Number of bytes for the driver itself, buffered records and tables of points.
const OWN: usize = 256 << 20;

/// Bytes that a device needs for its part of a program in addition to the states of a reverse sweep: for all shots
/// together the coefficients, and for each shot the adjoint derivatives and the sums by coefficient.
pub fn bytes(slab: LocalProgram<'_, f32>) -> [usize; 2] {
    let sizes = Sizes::new(slab);
    let numbers = sizes.derivatives().all + sizes.changes_numbers() + sizes.surface;
    [resident::bytes(slab) + OWN, numbers * size_of::<f32>()]
}

/// Bytes that images need in addition. They use the memory of the gradient with respect to coefficients, which is not
/// computed with images.
pub fn bytes_of_images(slab: LocalProgram<'_, f32>, request: &ImageRequest) -> usize {
    let changes = Sizes::new(slab).changes_numbers() * size_of::<f32>();
    Plan::new(slab, request).bytes().saturating_sub(changes)
}

/// Number of bytes that images record in each step in addition to the velocities and layers.
pub fn image_field_bytes<T: Number>(slab: LocalProgram<'_, T>, request: &ImageRequest) -> usize {
    Plan::new(slab, request).kept * size_of::<f32>()
}

/// Bytes that a run with the scattered field needs on a device.
pub fn bytes_side_by_side(slab: LocalProgram<'_, f32>) -> usize {
    let sizes = Sizes::new(slab);
    let numbers = sizes.changes_numbers() + 2 * sizes.state().all + sizes.beside_numbers();
    resident::bytes(slab) + numbers * size_of::<f32>() + OWN
}

/// Bytes of a checkpoint and of a recorded step on a device, in this order.
pub fn schedule_sizes(slab: LocalProgram<'_, f32>) -> [usize; 2] {
    Sizes::new(slab).schedule()
}

/// [`schedule_sizes`] with boundary saving and the bytes of its working memory, or the reason why it is not possible.
pub fn boundary_sizes(
    slab: LocalProgram<'_, f32>,
    core: &Result<Core, &'static str>,
) -> Result<([usize; 2], usize), &'static str> {
    let sizes = Sizes {
        boundary: Bounds::of(slab, core)?.boundary,
        ..Sizes::new(slab)
    };
    let [state, tape] = sizes.schedule();
    // The boundary before a segment, and with a surface the velocities before a step.
    let before = sizes.surface.min(1) * sizes.ndim * sizes.len * size_of::<f32>();
    Ok(([state, tape], tape + before))
}

/// Linearised shots on a device, or the part of their planes on this device.
pub struct OnDevice<A: Accelerator> {
    device: Device<A>,
    /// Number of planes of the whole grid.
    planes: usize,
    steps: Steps,
    /// The memory of shots, reused by the next shots.
    memory: RefCell<Option<ShotMemory<A>>>,
    /// Transfers numbers between the host and the device.
    transfer: RefCell<Transfer<A>>,
    /// Pinned memory for the flag of non-finite values.
    flag: RefCell<A::Pinned>,
    /// Kernels of images, compiled on first use.
    of_images: OnceCell<Vec<A::Kernel>>,
    /// The largest velocity of the last run with boundary saving, and the largest velocity left at time zero.
    drift: Cell<Option<[f64; 2]>>,
}

/// A buffer of records on a device.
#[derive(Clone, Copy)]
struct RecordBuffer {
    /// The address of the first record of the first shot.
    address: u64,
    /// Length of a record of a shot.
    values: usize,
    /// Number of records that fit, without a spare record that is never read.
    most: usize,
}

impl RecordBuffer {
    /// The buffer at another address.
    fn at(self, address: u64) -> Self {
        Self { address, ..self }
    }

    /// Number of values per shot.
    fn numbers(&self) -> usize {
        (self.most + 1) * self.values
    }

    /// The address of a record of the first shot.
    fn record(&self, number: usize) -> u64 {
        after(self.address, number * self.values)
    }

    /// The address of the spare record of the first shot.
    fn spare(&self) -> u64 {
        self.record(self.most)
    }
}

impl<A: Accelerator> OnDevice<A> {
    /// Sends a program to a device; `solid` indicates whether its medium is isotropic and solid.
    ///
    /// # Errors
    /// Returns an error for a device that fails, and for a grid with 2^31 cells or more.
    pub fn new(
        a: Arc<A>,
        (slab, core, solid): (LocalProgram<'_, f32>, &Result<Core, &'static str>, bool),
        steps: Steps,
    ) -> Result<Self, Error> {
        if i32::try_from(slab.len()).is_err() {
            return Err(Error::setup(message![
                format!(
                    "the grid has {} cells, padding included; a linearised run takes fewer than 2^31 on a GPU: use a smaller grid or ",
                    slab.len()
                ),
                Hint::MoreGpus,
                " for a shot, or ",
                Hint::Processors,
            ]));
        }
        let mut transfer = Transfer::new(&*a, slab.len())?;
        let flag = RefCell::new(a.pin(size_of::<i32>())?);
        Ok(Self {
            device: Device::new(a, (slab, core, solid), &mut transfer)?,
            planes: slab.program.rows.padded.planes(),
            steps,
            memory: RefCell::new(None),
            transfer: RefCell::new(transfer),
            flag,
            of_images: OnceCell::new(),
            drift: Cell::new(None),
        })
    }

    /// The kernels of images, compiled on first use.
    fn image_kernels(&self) -> Result<&[A::Kernel], Error> {
        if self.of_images.get().is_none() {
            let (source, names) = self.device.variant.images();
            let loaded = self.device.a.load(&source, names)?;
            return Ok(self.of_images.get_or_init(|| loaded));
        }
        Ok(self.of_images.get().map_or(&[], Vec::as_slice))
    }

    /// Memory for shots with these requirements; the memory of the previous shots is reused if their requirements were
    /// equal. Its contents are undefined.
    fn memory_for(&self, needs: Needs) -> Result<ShotMemory<A>, Error> {
        let had = self.memory.take();
        let memory = match had {
            Some(memory) if *memory.needs() == needs => memory,
            // The old memory is freed before the new one is allocated.
            had => {
                self.device.a.finish()?;
                drop(had);
                ShotMemory::new(&*self.device.a, needs)?
            }
        };
        self.device.set_distance(memory.distance());
        Ok(memory)
    }

    /// The buffer of records of a shot, without its address.
    fn buffer(&self) -> RecordBuffer {
        let (values, shots) = (self.device.sizes.values, self.device.shots());
        let records = self.steps.nt.div_ceil(self.steps.jdata);
        let room = RECORDS / shots / (values * size_of::<f32>()).max(1);
        RecordBuffer {
            address: 0,
            values,
            most: room.clamp(1, records.max(1)),
        }
    }

    /// Appends the first `count` records of a buffer to the records of each shot.
    fn unload(&self, buffer: &RecordBuffer, count: usize, to: &mut [Vec<f32>]) -> Result<(), Error> {
        for (shot, to) in to.iter_mut().enumerate() {
            let (start, from) = (to.len(), self.device.of_shot(buffer.record(0), shot));
            to.resize(start + count * buffer.values, 0.0);
            self.transfer
                .borrow_mut()
                .get(&*self.device.a, from, &mut to[start..])?;
        }
        Ok(())
    }

    /// Sends the perturbations of all coefficients to an address.
    fn send_changes(&self, changes: &Changes<f32>, to: u64) -> Result<(), Error> {
        let [stiffness, weaker, ratios] = self.device.sizes.changes();
        let [planes, rows] = self.device.a_plane;
        let mut transfer = self.transfer.borrow_mut();
        for (from, at, a_plane) in [
            (&changes.buoyancy, 0, planes),
            (&changes.stiffness, stiffness, planes),
            (&changes.relaxing, weaker, planes),
            (&changes.ratios, ratios, rows),
        ] {
            let memory = &self.device.planes.memory;
            for (k, field) in from.chunks_exact(self.planes * a_plane).enumerate() {
                let to = after(to, at + k * memory.len() * a_plane);
                let own = &field[memory.start * a_plane..memory.end * a_plane];
                transfer.put(&*self.device.a, own, to)?;
            }
        }
        Ok(())
    }

    /// Reads, from an address, the sums by coefficient of the cells that the device computes.
    fn get_sums(&self, sums: &mut Changes<f32>, (from, grouped): (u64, bool)) -> Result<(), Error> {
        let [stiffness, weaker, ratios] = self.device.sizes.changes();
        let [planes, rows] = self.device.a_plane;
        let mut transfer = self.transfer.borrow_mut();
        for (to, at, a_plane, of_stress) in [
            (&mut sums.buoyancy, 0, planes, false),
            (&mut sums.stiffness, stiffness, planes, true),
            (&mut sums.relaxing, weaker, planes, true),
            (&mut sums.ratios, ratios, rows, false),
        ] {
            let (Planes { own, memory }, local) = (&self.device.planes, self.device.planes.local());
            for (k, field) in to.chunks_exact_mut(self.planes * a_plane).enumerate() {
                if grouped && of_stress && !Discrete::<f32>::is_summed(self.device.sizes.ndim, k) {
                    continue;
                }
                let from = after(from, at + (k * memory.len() + local.start) * a_plane);
                let own = &mut field[own.start * a_plane..own.end * a_plane];
                transfer.get(&*self.device.a, from, own)?;
            }
        }
        Ok(())
    }

    /// Returns an error for non-finite velocities at steps of the check interval.
    fn check(&self, it: usize, velocity: u64) -> Result<(), Error> {
        if !self.steps.checks(it) {
            return Ok(());
        }
        self.device.look(velocity)?;
        let (a, mut flag) = (&*self.device.a, self.flag.borrow_mut());
        // SAFETY: the flag is in device memory, and this function waits for the copy.
        unsafe {
            a.download(
                Stream::Main,
                self.device.non_finite(),
                &mut flag,
                0,
                size_of::<i32>(),
            )?
        };
        a.finish()?;
        match flag.bytes()[..size_of::<i32>()].iter().all(|&byte| byte == 0) {
            true => Ok(()),
            false => {
                self.device.forget()?;
                Err(not_finite(it))
            }
        }
    }

    /// The memory of a forward run, including the scattered field if `changed` is set.
    fn forward_needs(&self, changed: bool) -> Needs {
        let sizes = &self.device.sizes;
        let mut parts = [0; PARTS];
        let mut set = |part: Part, numbers: usize| parts[part as usize] = numbers;
        set(Part::Run, sizes.state().all);
        set(Part::Records, self.buffer().numbers());
        set(Part::Changes, self.buffer().numbers());
        if changed {
            set(Part::Adjoint, sizes.state().all);
            set(Part::Derivatives, sizes.beside_numbers());
            set(Part::Coefficients, sizes.changes_numbers());
        }
        Needs {
            shots: self.device.shots(),
            parts,
            reversal: None,
            steps: 0,
        }
    }

    /// Passes the buffered records of these steps to `take`.
    fn hand_over(
        &self,
        buffers: &[RecordBuffer; 2],
        waiting: &mut Vec<usize>,
        take: Take<'_, f32>,
    ) -> Result<(), Error> {
        let values = self.device.sizes.values;
        let mut records = [vec![Vec::new()], vec![Vec::new()]];
        for (records, buffer) in records.iter_mut().zip(buffers) {
            self.unload(buffer, waiting.len(), records)?;
        }
        let [background, change] = &records;
        for (k, it) in waiting.drain(..).enumerate() {
            let own = k * values..(k + 1) * values;
            take(it, &background[0][own.clone()], &change[0][own])?;
        }
        Ok(())
    }

    /// Like [`super::Born::forward`], with the perturbation of the coefficients.
    fn forward(&self, changes: Option<&Changes<f32>>, take: Take<'_, f32>) -> Result<(), Error> {
        let (device, sizes) = (&self.device, &self.device.sizes);
        let memory = self.memory_for(self.forward_needs(changes.is_some()))?;
        let part = |part: Part| memory.part(part);
        let (background, change) = (part(Part::Run), part(Part::Adjoint));
        let [beside, coefficients] = [part(Part::Derivatives), part(Part::Coefficients)];
        device.copy(background, None, sizes.state().all)?;
        if let Some(changes) = changes {
            device.copy(change, None, sizes.state().all)?;
            device.copy(beside, None, sizes.beside_numbers())?;
            self.send_changes(changes, coefficients)?;
        }
        let buffers = [Part::Records, Part::Changes].map(|buffer| self.buffer().at(part(buffer)));
        device.copy(buffers[1].record(0), None, buffers[1].numbers())?;
        let mut waiting = Vec::new();
        for it in 0..self.steps.nt {
            match changes {
                None => device.step(background, it, Drive::Sources)?,
                Some(_) => {
                    device.step(background, it, Drive::Background(beside))?;
                    device.step(change, it, Drive::Changes(beside, coefficients))?;
                }
            }
            let states = [Some(background), changes.map(|_| change)];
            for (state, buffer) in states.into_iter().zip(&buffers) {
                let Some(state) = state else {
                    continue;
                };
                if self.steps.records(it) {
                    device.record(state, state, buffer.record(waiting.len()))?;
                } else if sizes.runs {
                    device.record(state, state, buffer.spare())?;
                }
            }
            self.check(it, background)?;
            if self.steps.records(it) {
                waiting.push(it);
            }
            if waiting.len() == buffers[0].most || it + 1 == self.steps.nt {
                // The caller may wait for the records of all devices, so the exchange must have ended.
                device.end_exchange()?;
                self.hand_over(&buffers, &mut waiting, take)?;
            }
        }
        *self.memory.borrow_mut() = Some(memory);
        Ok(())
    }

    /// The reverse sweep of a gradient, whose sums by coefficient stay in the memory of the shots.
    fn back(&self, from: Source<'_, f32>, schedule: &CheckpointSchedule, grouped: bool) -> Result<(), Error> {
        let mut memory = self.memory_for(self.reversal_needs(schedule, (0, 0))?)?;
        self.reversed(&mut memory, (from, schedule), Request::Gradient { grouped })?;
        *self.memory.borrow_mut() = Some(memory);
        Ok(())
    }

    /// The sums of each shot after the sweep.
    fn gradients(&self, gradients: &mut [Changes<f32>], grouped: bool) -> Result<(), Error> {
        let memory = self.memory.borrow();
        let sums = memory
            .as_ref()
            .map_or(0, |memory| memory.part(Part::Coefficients));
        for (shot, gradient) in gradients.iter_mut().enumerate() {
            self.get_sums(gradient, (self.device.of_shot(sums, shot), grouped))?;
        }
        Ok(())
    }

    /// Images of each shot on the cells that the device computes.
    fn images(
        &self,
        slab: LocalProgram<'_, f32>,
        data: &[Vec<f32>],
        (schedule, request): (&CheckpointSchedule, &ImageRequest),
    ) -> Result<Vec<Vec<Picture<f32>>>, Error> {
        let plan = Plan::new(slab, request);
        let mut memory = self.memory_for(self.reversal_needs(schedule, (plan.all, plan.kept))?)?;
        let imaging = Imaging::new(self, (slab, plan), &memory)?;
        let request = Request::Images(&imaging);
        self.reversed(&mut memory, (Source::Data(data), schedule), request)?;
        let mut transfer = self.transfer.borrow_mut();
        let pictures = (0..self.device.shots()).map(|shot| imaging.pictures(shot, &mut transfer));
        let pictures = pictures.collect();
        *self.memory.borrow_mut() = Some(memory);
        pictures
    }
}
