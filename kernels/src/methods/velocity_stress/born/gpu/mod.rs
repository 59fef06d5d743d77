//! Linearised modelling on accelerators: the discrete program of [`super`] once more, in single precision. A thread has two cells
//! along z, whose numbers it reads and writes at once: kernels wait for loads, so that more of them should be under way.
//!
//! `grid.cuh` says how kernels see a run; `step.cu` has a step and its linearisation, `back.cu` the transposed step, `surface.cu`
//! both at a free surface, `points.cu` sources, receivers and images. All sums of a cell are gathered in a fixed order, so that
//! a run gives the same bits every time, whatever it keeps.
//!
//! Of a step that is recorded the velocities stay, in whose place the next step writes elsewhere, and the memory of the layers by which
//! they are stretched: a third of strains and forces, which come of them on the way back. What a step has added to the velocities is
//! buoyancy times its forces.
//!
//! Where waves run backwards (`bounds.rs`, `backwards.rs`, `shells.rs`) only the shell of the velocities is kept. Most of a large grid, the
//! inside of an isotropic solid, then has kernels of its own (`inside.cu`), which undo a step of the run while they transpose it, four cells a thread.

mod arguments;
mod backwards;
mod bounds;
mod images;
mod points;
mod resident;
mod shells;
mod sizes;
mod steps;
mod stock;
mod transfer;
pub mod variant;
mod way_back;

use super::boundary::Core;
use super::engine::{Engine, Source, Steps};
use super::program::{Changes, Discrete};
use super::schedule::CheckpointSchedule;
use super::{Number, Picture, Take, Wanted, not_finite};
use crate::Error;
use crate::device::accelerator::{Accelerator, Memory, Pinned, Stream};
use bounds::Bounds;
use images::{Imaging, Plan};
use sizes::{Sizes, after};
use std::cell::{Cell, OnceCell, RefCell};
use std::sync::Arc;
use steps::{Device, Drive};
use stock::Stock;
use transfer::Transfer;

/// Threads that read one number of a record.
const READERS: usize = 32;

/// Bytes of records that wait on a device for the host, about.
const RECORDS: usize = 16 << 20;

/// What a driver takes for itself, records that wait, and tables of points.
const OWN: usize = 256 << 20;

/// Bytes that a program takes on a device beside the way back: coefficients, what waits for derivatives and coefficients.
pub fn bytes(program: &Discrete<f32>) -> usize {
    let sizes = Sizes::new(program);
    let numbers = sizes.waits().all + sizes.changes_numbers();
    resident::bytes(program) + numbers * size_of::<f32>() + OWN
}

/// Bytes that images take there beyond these: nothing waits for coefficients, whose room they have, too.
pub fn bytes_of_images(program: &Discrete<f32>, wanted: &Wanted) -> usize {
    let changes = Sizes::new(program).changes_numbers() * size_of::<f32>();
    Plan::new(program, wanted).bytes().saturating_sub(changes)
}

/// Bytes that images keep of a step beside what is recorded of it.
pub fn film_of_images<T: Number>(program: &Discrete<T>, wanted: &Wanted) -> usize {
    Plan::new(program, wanted).kept * size_of::<f32>()
}

/// Bytes of all that a run takes on a device beside which a change of the waves runs.
pub fn bytes_side_by_side(program: &Discrete<f32>) -> usize {
    let sizes = Sizes::new(program);
    let numbers = sizes.changes_numbers() + 2 * sizes.state().all + sizes.beside_numbers();
    resident::bytes(program) + numbers * size_of::<f32>() + OWN
}

/// Bytes of a checkpoint and of a recorded step on a device.
pub fn schedule_sizes(program: &Discrete<f32>) -> [usize; 2] {
    Sizes::new(program).schedule()
}

/// The same where waves run backwards, and bytes that this takes once; or why they cannot.
pub fn shell_sizes(
    program: &Discrete<f32>,
    core: &Result<Core, &'static str>,
) -> Result<([usize; 2], usize), &'static str> {
    let sizes = Sizes {
        shell: Bounds::of(program, core)?.shell,
        ..Sizes::new(program)
    };
    let [state, tape] = sizes.schedule();
    // The shell before a segment, and at a surface velocities before a step.
    let before = sizes.surface.min(1) * sizes.ndim * sizes.len * size_of::<f32>();
    Ok(([state, tape], tape + before))
}

/// A linearised shot on a device.
pub struct OnDevice<A: Accelerator> {
    device: Device<A>,
    steps: Steps,
    /// What ways back leave to the next one.
    stock: RefCell<Stock<A>>,
    /// Kernels of images, once there have been some.
    of_images: OnceCell<Vec<A::Kernel>>,
    /// How far waves that ran backwards came from where they began.
    drift: Cell<Option<f64>>,
}

/// Memory for so many numbers.
fn room<A: Accelerator>(a: &A, numbers: usize) -> Result<A::Memory, Error> {
    a.allocate((numbers * size_of::<f32>()).max(1))
}

/// Records on their way from a device to the host, or back.
struct Reel<A: Accelerator> {
    memory: A::Memory,
    transfer: Transfer<A>,
    /// Numbers of a record.
    values: usize,
    /// Records that the memory holds, beside one that nobody takes.
    most: usize,
}

impl<A: Accelerator> Reel<A> {
    fn new(a: &A, values: usize, records: usize) -> Result<Self, Error> {
        let most = (RECORDS / (values * size_of::<f32>()).max(1)).clamp(1, records.max(1));
        Ok(Self {
            memory: room(a, (most + 1) * values)?,
            transfer: Transfer::new(a, most * values)?,
            values,
            most,
        })
    }

    /// The address of a record of those that the memory holds.
    fn at(&self, number: usize) -> u64 {
        after(self.memory.address(), number * self.values)
    }

    /// That of the one that nobody takes.
    fn spare(&self) -> u64 {
        self.at(self.most)
    }

    /// Appends the first records to `to`.
    fn unload(&mut self, a: &A, count: usize, to: &mut Vec<f32>) -> Result<(), Error> {
        let start = to.len();
        to.resize(start + count * self.values, 0.0);
        self.transfer.get(a, self.memory.address(), &mut to[start..])
    }
}

impl<A: Accelerator> OnDevice<A> {
    /// Sends a program to a device.
    ///
    /// # Errors
    /// A device that fails.
    pub fn new(
        a: Arc<A>,
        (program, core): (&Discrete<f32>, &Result<Core, &'static str>),
        steps: Steps,
    ) -> Result<Self, Error> {
        if i32::try_from(program.rows.len).is_err() {
            return Err(Error::setup(format!(
                "the grid has {} cells with its frame and rims; a linearised run takes fewer than 2^31 on a GPU: use a smaller grid, or the processors",
                program.rows.len
            )));
        }
        Ok(Self {
            device: Device::new(a, program, core)?,
            steps,
            stock: RefCell::new(Stock::empty()),
            of_images: OnceCell::new(),
            drift: Cell::new(None),
        })
    }

    /// The kernels of images, which are compiled when they are first wanted.
    fn image_kernels(&self) -> Result<&[A::Kernel], Error> {
        if self.of_images.get().is_none() {
            let (source, names) = self.device.variant.images();
            let loaded = self.device.a.load(&source, names)?;
            return Ok(self.of_images.get_or_init(|| loaded));
        }
        Ok(self.of_images.get().map_or(&[], Vec::as_slice))
    }

    fn reel(&self) -> Result<Reel<A>, Error> {
        let records = self.steps.nt.div_ceil(self.steps.jdata);
        Reel::new(&*self.device.a, self.device.sizes.values, records)
    }

    /// Memory with the changes of all coefficients.
    fn sent(&self, changes: &Changes<f32>) -> Result<A::Memory, Error> {
        let (a, sizes) = (&*self.device.a, &self.device.sizes);
        let memory = room(a, sizes.changes_numbers())?;
        let mut transfer = Transfer::<A>::new(a, sizes.len)?;
        let [stiffness, weaker, ratios] = sizes.changes();
        for (from, at) in [
            (&changes.buoyancy, 0),
            (&changes.stiffness, stiffness),
            (&changes.relaxing, weaker),
            (&changes.ratios, ratios),
        ] {
            transfer.put(a, from, after(memory.address(), at))?;
        }
        Ok(memory)
    }

    /// Refuses velocities that are not finite.
    fn check(&self, it: usize, velocity: u64) -> Result<(), Error> {
        if !self.steps.checks(it) {
            return Ok(());
        }
        self.device.look(velocity)?;
        let a = &*self.device.a;
        let mut found = a.pin(size_of::<i32>())?;
        // SAFETY: the device has the number, and the copy is waited for.
        unsafe { a.download(Stream::Main, self.device.found(), &mut found, 0, size_of::<i32>())? };
        a.finish()?;
        match found.bytes()[..size_of::<i32>()].iter().all(|&byte| byte == 0) {
            true => Ok(()),
            false => Err(not_finite(it)),
        }
    }
}

impl<A: Accelerator> Engine<f32> for OnDevice<A> {
    fn next_shot(&mut self, program: &Discrete<f32>) -> Result<(), Error> {
        self.device.next_shot(program)
    }

    fn forward(&self, changes: Option<&Changes<f32>>, take: Take<'_, f32>) -> Result<(), Error> {
        let (device, sizes) = (&self.device, &self.device.sizes);
        let a = &*device.a;
        *self.stock.borrow_mut() = Stock::empty();
        let background = room(a, sizes.state().all)?;
        let other = match changes {
            Some(changes) => Some((
                self.sent(changes)?,
                room(a, sizes.state().all)?,
                room(a, sizes.beside_numbers())?,
            )),
            None => None,
        };
        let (mut reels, mut waiting) = ([self.reel()?, self.reel()?], Vec::new());
        for it in 0..self.steps.nt {
            let beside = other.as_ref().map(|(_, _, beside)| beside.address());
            let drive = beside.map_or(Drive::Sources, Drive::Background);
            device.step(background.address(), it, drive)?;
            if let Some((changes, state, beside)) = &other {
                let drive = Drive::Changes(beside.address(), changes.address());
                device.step(state.address(), it, drive)?;
            }
            let states = [Some(&background), other.as_ref().map(|(_, state, _)| state)];
            for (state, reel) in states.into_iter().zip(&reels) {
                let Some(state) = state.map(Memory::address) else {
                    continue;
                };
                if self.steps.records(it) {
                    device.record(state, state, reel.at(waiting.len()))?;
                } else if sizes.runs {
                    device.record(state, state, reel.spare())?;
                }
            }
            self.check(it, background.address())?;
            if self.steps.records(it) {
                waiting.push(it);
            }
            if waiting.len() == reels[0].most || it + 1 == self.steps.nt {
                self.hand_over(&mut reels, &mut waiting, take)?;
            }
        }
        Ok(())
    }

    fn back(
        &self,
        from: Source<'_, f32>,
        schedule: &CheckpointSchedule,
        (gradient, grouped): (&mut Changes<f32>, bool),
    ) -> Result<(), Error> {
        let found = self.reversed(from, schedule, way_back::Wanted::Gradient { grouped })?;
        let (a, sizes) = (&*self.device.a, &self.device.sizes);
        let mut transfer = Transfer::<A>::new(a, sizes.len)?;
        let [stiffness, weaker, ratios] = sizes.changes();
        for (to, at) in [
            (&mut gradient.buoyancy, 0),
            (&mut gradient.stiffness, stiffness),
            (&mut gradient.relaxing, weaker),
            (&mut gradient.ratios, ratios),
        ] {
            transfer.get(a, after(found.address(), at), to)?;
        }
        Ok(())
    }

    fn drift(&self) -> Option<f64> {
        self.drift.get()
    }

    fn images(
        &self,
        program: &Discrete<f32>,
        data: &[f32],
        (schedule, wanted): (&CheckpointSchedule, &Wanted),
    ) -> Result<Vec<Picture<f32>>, Error> {
        let imaging = Imaging::new(self, program, wanted)?;
        self.reversed(Source::Data(data), schedule, way_back::Wanted::Images(&imaging))?;
        imaging.pictures()
    }
}

impl<A: Accelerator> OnDevice<A> {
    /// Hands the records that wait on the device, of these steps, to `take`.
    fn hand_over(
        &self,
        reels: &mut [Reel<A>; 2],
        waiting: &mut Vec<usize>,
        take: Take<'_, f32>,
    ) -> Result<(), Error> {
        let values = self.device.sizes.values;
        let mut records = [Vec::new(), Vec::new()];
        for (records, reel) in records.iter_mut().zip(reels) {
            reel.unload(&*self.device.a, waiting.len(), records)?;
        }
        let [background, change] = &records;
        for (k, it) in waiting.drain(..).enumerate() {
            let own = k * values..(k + 1) * values;
            take(it, &background[own.clone()], &change[own])?;
        }
        Ok(())
    }
}
