//! Linearised velocity-stress modelling: what a small change of the medium changes in the data (the Born approximation), and
//! its exact adjoint.
//!
//! The operator is the derivative of the discrete program of [`super::Simulation`] by the medium, step by step and not that of the
//! wave equation: averages of the medium, absorbing frame, free surface, attenuation, sources and receivers included. Its adjoint is
//! the transpose of the same steps in the other order. On processors the steps are those of a simulation: [`forward`] runs and
//! records them, [`adjoint`] sweeps back through them by the formulas of [`adjoint_rows`], [`reverse`] does so for a whole run,
//! [`coefficients`] goes from the medium to its coefficients and back. [`imaging`] correlates the waves of both ways. [`gpu`] has the
//! same steps for accelerators.
//!
//! Not differentiated are the numbers that are chosen by the medium as a whole: time step, layers of the frame, limits.

mod adjoint;
mod adjoint_forces;
mod adjoint_layers;
mod adjoint_pass;
mod adjoint_rows;
mod adjoint_stretch;
mod adjoint_surface;
mod boundary;
mod checkpoint;
mod coefficients;
mod correlation;
mod drive_rows;
mod engine;
mod forward;
mod gpu;
mod grid;
mod imaging;
mod layers;
mod nodes;
mod parameters;
mod program;
mod records;
mod reverse;
mod schedule;
mod separation;

pub use checkpoint::CheckpointStore;
pub use gpu::variant;
pub use imaging::{Kind, Picture, Wanted};
pub use parameters::Parameters;
pub use schedule::{CheckpointSchedule, Room};

use super::Shot;
use crate::Error;
use crate::device::accelerator::Accelerator;
use crate::device::cpu::{Cpu, first_bad};
use crate::device::simd::Real;
use crate::medium::{Medium, Symmetry};
use boundary::{Backwards, Core};
use coefficients::Background;
use engine::{Engine, Source, Steps};
use parameters::Parametrisation;
use program::{Changes, Discrete};
use std::cell::{Cell, RefCell};
use std::ops::{Add, Sub};
use std::sync::Arc;

/// Numbers in which the operator can run.
pub trait Number: Real + Default + Add<Output = Self> + Sub<Output = Self> {}

impl<T: Real + Default + Add<Output = T> + Sub<Output = T>> Number for T {}

/// Receives a record after the step `it`: of the background and of its change, `[component][receiver]` each.
pub type Take<'a, T> = &'a mut dyn FnMut(usize, &[T], &[T]) -> Result<(), Error>;

/// Makes of the records of a run what waits for them.
pub type Residual<'a, T> = &'a mut dyn FnMut(&[T]) -> Result<Vec<T>, Error>;

/// A shot that is linearised about its medium.
pub struct Born<T: Number> {
    program: Discrete<T>,
    medium: Background,
    parameters: Parametrisation,
    nt: usize,
    jdata: usize,
    jcheck: usize,
    /// What runs the steps in place of the processors.
    engine: Option<Box<dyn Engine<T>>>,
    /// The memory of that.
    placed: Option<Placed>,
    /// Where checkpoints go that the schedule puts into a store.
    store: Option<Arc<dyn CheckpointStore>>,
    /// Where waves can run backwards, or why they cannot.
    core: Result<Core, &'static str>,
    /// How far they came back from where they began.
    drift: Cell<Option<f64>>,
    /// Memory of reversals on processors, once there has been one.
    memory: RefCell<Option<reverse::Memory<T>>>,
}

/// The memory of a device.
struct Placed {
    /// Bytes that are free.
    free: usize,
    /// Bytes for the way back.
    room: usize,
    /// Bytes that the run takes with what a perturbation changes beside it.
    side_by_side: usize,
    /// Bytes of a checkpoint and of a recorded step.
    sizes: [usize; 2],
    /// The same where waves run backwards, and bytes that this takes once.
    shells: Result<([usize; 2], usize), &'static str>,
}

impl<T: Number> Born<T> {
    /// A shot over a medium as the files give it.
    ///
    /// # Errors
    /// What [`super::Simulation::new`] refuses, and maps of the largest speeds, which are not linear.
    pub fn new(
        shot: &Shot,
        raw: Medium<T>,
        (class, parameters): (Symmetry, Parameters),
        cpu: Cpu,
    ) -> Result<Self, Error> {
        if shot.peaks {
            return Err(Error::setup(
                "maps of the largest speeds are not linear in the waves; run without them",
            ));
        }
        let isotropic = class == Symmetry::Isotropic;
        if !isotropic && parameters != Parameters::Stiffness {
            return Err(Error::setup(
                "the medium is anisotropic: speeds, impedances and Lame's parameters do not describe it; linearise by its stiffness",
            ));
        }
        let medium = Background::new(&raw, shot.attenuation.as_ref());
        let parameters = Parametrisation::new(&raw, parameters);
        let program = Discrete::new(shot, raw, class, cpu)?;
        Ok(Self {
            core: Core::of(&program),
            program,
            medium,
            parameters,
            nt: shot.nt,
            jdata: shot.jdata,
            jcheck: shot.jcheck,
            engine: None,
            placed: None,
            store: None,
            drift: Cell::new(None),
            memory: RefCell::new(None),
        })
    }

    /// Turns to another shot over the same medium: other sources, series and receivers. Everything else is as it was.
    ///
    /// # Errors
    /// A point from which the fields cannot be reached.
    pub fn next_shot(&mut self, shot: &Shot) -> Result<(), Error> {
        self.program.next_shot(shot)?;
        match &mut self.engine {
            Some(engine) => engine.next_shot(&self.program),
            None => Ok(()),
        }
    }

    /// Bytes that a device has left for the way back; none where processors run the steps.
    pub fn room(&self) -> Option<usize> {
        self.placed.as_ref().map(|placed| placed.room)
    }

    /// Whether a device has room for a run with what a perturbation changes beside it, which a way back may do with less than.
    ///
    /// # Errors
    /// Too little memory; the sentence says how much is needed.
    pub fn fits_side_by_side(&self) -> Result<(), Error> {
        match &self.placed {
            Some(placed) if placed.side_by_side > placed.free => Err(Error::setup(format!(
                "the device has {:.2} GB of memory free, and a run with what a perturbation changes beside it needs {:.2} GB there: use a smaller grid, or the processors",
                placed.free as f64 / 1e9,
                placed.side_by_side as f64 / 1e9
            ))),
            _ => Ok(()),
        }
    }

    /// Numbers of a perturbation, `[parameter][cell of the model in file order]`.
    pub fn perturbation_len(&self) -> usize {
        self.parameters.count() * self.medium.cells
    }

    /// Records of a run.
    pub fn records(&self) -> usize {
        self.nt.div_ceil(self.jdata)
    }

    /// Numbers of a record.
    pub fn values(&self) -> usize {
        self.program.values()
    }

    /// Bytes of a checkpoint and of a recorded step.
    pub fn sizes(&self) -> [usize; 2] {
        if let Some(placed) = &self.placed {
            return placed.sizes;
        }
        [self.state_bytes(), self.recorded(false, 0).bytes::<T>()]
    }

    /// Bytes of a checkpoint on processors.
    fn state_bytes(&self) -> usize {
        let setup = &self.program.setup;
        let p = &setup.padded;
        let (ndim, len) = (p.ndim(), p.planes() * p.plane_len());
        let fields = super::layout::fields(ndim);
        let ghosts = 2 * super::GHOST * fields * p.plane_len();
        let anelastic = self.program.mechanisms() * self.program.stresses() * len;
        (fields * len + ghosts + anelastic + setup.edges.variables(p, &(0..p.planes()))) * size_of::<T>()
    }

    /// Lets checkpoints that a schedule puts into a store go to this one.
    pub fn set_store(&mut self, store: Arc<dyn CheckpointStore>) {
        self.store = Some(store);
    }

    /// Bytes of a checkpoint and of the shell of a recorded step, with which [`CheckpointSchedule::of_shells`] goes back, and bytes that it takes
    /// once.
    ///
    /// # Errors
    /// Says why waves cannot run backwards: attenuation, a grid that is too small.
    pub fn shell_sizes(&self) -> Result<([usize; 2], usize), Error> {
        let why = |why: &str| Error::setup(format!("waves cannot run backwards: {why}"));
        if let Some(placed) = &self.placed {
            return placed.shells.map_err(why);
        }
        let core = self.core.as_ref().map_err(|words| why(words));
        let boundary = self.recorded(true, 0).bytes::<T>();
        core.map(|_| ([self.state_bytes(), boundary], Backwards::bytes(&self.program)))
    }

    /// Of runs with [`CheckpointSchedule::of_shells`] so far: the largest velocity that was left when the waves had come back to the beginning, where
    /// they were at rest, as a share of the largest one on their way.
    pub fn drift(&self) -> Option<f64> {
        let engine = self.engine.as_ref();
        self.drift
            .get()
            .or_else(|| engine.and_then(|engine| engine.drift()))
    }

    /// Runs the background, and beside it what a perturbation changes: `take` gets both records.
    ///
    /// # Errors
    /// Fields that are not finite, a device with too little memory for both, and what `take` returns.
    pub fn forward(&self, perturbation: Option<&[T]>, take: Take<'_, T>) -> Result<(), Error> {
        let program = &self.program;
        if perturbation.is_some() {
            self.fits_side_by_side()?;
        }
        let changes = perturbation
            .map(|p| program.changed(&self.medium, &self.parameters.change(p)))
            .transpose()?;
        if let Some(engine) = &self.engine {
            return engine.forward(changes.as_ref(), take);
        }
        let mut waves = forward::Waves::new(program)?;
        let mut scattered = changes
            .as_ref()
            .map(|_| forward::Waves::new(program))
            .transpose()?;
        let mut surface = vec![T::of(0.0); program.of_surface()];
        let mut records = [(); 2].map(|()| vec![T::of(0.0); self.values()]);
        for it in 0..self.nt {
            match (&changes, &mut scattered) {
                (Some(changes), Some(scattered)) => {
                    forward::scatter([&mut waves, scattered], it, changes, &mut surface)?;
                }
                _ => waves.step(it, None)?,
            }
            self.check(it, waves.velocities())?;
            if it.is_multiple_of(self.jdata) {
                let [background, change] = &mut records;
                waves.record(background)?;
                if let Some(scattered) = &mut scattered {
                    scattered.record(change)?;
                }
                take(it, background, change)?;
            }
        }
        Ok(())
    }

    /// The adjoint: what `data`, `[record][component][receiver]`, are when they come back to the parameters.
    ///
    /// # Errors
    /// Fields that are not finite.
    pub fn adjoint(&self, data: &[T], schedule: &CheckpointSchedule) -> Result<Vec<T>, Error> {
        if let Some(engine) = &self.engine {
            return self.engine_back(&**engine, Source::Data(data), schedule);
        }
        self.gradient_from(Source::Data(data), schedule)
    }

    /// Runs the shot, hands its records, `[record][component][receiver]`, to `residual`, and brings what that makes of them back to the
    /// parameters: the gradient of a misfit whose derivative by the records it is.
    ///
    /// # Errors
    /// Fields that are not finite, and what `residual` returns.
    pub fn gradient(
        &self,
        residual: Residual<'_, T>,
        schedule: &CheckpointSchedule,
    ) -> Result<Vec<T>, Error> {
        if let Some(engine) = &self.engine {
            return self.engine_back(&**engine, Source::Residual(residual), schedule);
        }
        self.gradient_from(Source::Residual(residual), schedule)
    }

    /// The same on processors.
    fn gradient_from(&self, from: Source<'_, T>, schedule: &CheckpointSchedule) -> Result<Vec<T>, Error> {
        let made = self.reverse(from, schedule, None)?;
        let made = made.map_or_else(|| self.program.changes(), |gradient| Ok(gradient.sums));
        let mut sums = made?;
        let len = self.program.rows.len;
        for (component, sums) in sums.buoyancy.chunks_exact_mut(len).enumerate() {
            let b = self.program.setup.medium.buoyancy(component);
            for (sum, &b) in sums.iter_mut().zip(b) {
                *sum = if b > T::of(0.0) { *sum / b } else { T::of(0.0) };
            }
        }
        Ok(self.brought_back(sums))
    }

    /// What an engine brings back to the parameters.
    fn engine_back(
        &self,
        engine: &dyn Engine<T>,
        from: Source<'_, T>,
        schedule: &CheckpointSchedule,
    ) -> Result<Vec<T>, Error> {
        if schedule.in_store > 0 {
            return Err(Error::setup(
                "on a device checkpoints stay in memory: choose a schedule without a store",
            ));
        }
        let mut waits = self.program.changes()?;
        engine.back(from, schedule, (&mut waits, self.parameters.isotropic()))?;
        Ok(self.brought_back(waits))
    }

    /// What waits for the parameters, from what waits for the coefficients.
    fn brought_back(&self, waits: Changes<T>) -> Vec<T> {
        let waits = self.program.changed_transposed(&self.medium, waits);
        let (cpu, parameters) = (&self.program.setup.cpu, &self.parameters);
        cpu.install(|| parameters.change_transposed(&waits))
    }

    /// Refuses fields that are not finite.
    fn check<'a>(&self, it: usize, mut fields: impl Iterator<Item = &'a [T]>) -> Result<(), Error> {
        if !(it + 1).is_multiple_of(self.jcheck) && it + 1 != self.nt {
            return Ok(());
        }
        match fields.find_map(first_bad) {
            None => Ok(()),
            Some(_) => Err(not_finite(it)),
        }
    }
}

/// What is said of fields that are not finite.
fn not_finite(it: usize) -> Error {
    Error::setup(format!(
        "the waves are not finite at step {it}: the time step is too long, or the model or the data hold numbers that are not"
    ))
}

impl Born<f32> {
    /// Bytes of device memory that the run takes beside the way back.
    pub fn device_bytes(&self) -> usize {
        gpu::bytes(&self.program)
    }

    /// The same of a run that makes images.
    pub fn device_bytes_of_images(&self, wanted: &Wanted) -> usize {
        self.device_bytes() + gpu::bytes_of_images(&self.program, wanted)
    }

    /// Bytes that a device has left for the way back of images; none where processors run the steps.
    ///
    /// # Errors
    /// Too little memory; the sentence says how much is needed.
    pub fn room_of_images(&self, wanted: &Wanted) -> Result<Option<usize>, Error> {
        let Some(placed) = &self.placed else {
            return Ok(None);
        };
        let needed = self.device_bytes_of_images(wanted);
        let refused = || {
            Error::setup(format!(
                "the device has {:.2} GB of memory free and these images need {:.2} GB there beside the way back: ask for fewer images or lags, use a smaller grid, or the processors",
                placed.free as f64 / 1e9,
                needed as f64 / 1e9
            ))
        };
        placed.free.checked_sub(needed).map(Some).ok_or_else(refused)
    }

    /// Plans the run for a device that has so many bytes free: the sizes are those there.
    ///
    /// # Errors
    /// Too little memory; the sentence says how much is needed.
    pub fn plan_on(&mut self, free: usize) -> Result<(), Error> {
        let needed = self.device_bytes();
        let Some(room) = free.checked_sub(needed) else {
            return Err(Error::setup(format!(
                "the device has {:.2} GB of memory free and the linearised run needs {:.2} GB there beside the way back: use a smaller grid, or the processors",
                free as f64 / 1e9,
                needed as f64 / 1e9
            )));
        };
        let sizes = gpu::schedule_sizes(&self.program);
        let side_by_side = gpu::bytes_side_by_side(&self.program);
        self.placed = Some(Placed {
            free,
            room,
            side_by_side,
            sizes,
            shells: gpu::shell_sizes(&self.program, &self.core),
        });
        Ok(())
    }

    /// Lets a device run the steps. Coefficients stay on the host, too, where a change of the medium becomes theirs, and back.
    ///
    /// # Errors
    /// A device that fails or has too little memory.
    pub fn run_on<A: Accelerator>(&mut self, device: Arc<A>) -> Result<(), Error> {
        self.plan_on(device.free_bytes()?)?;
        let steps = Steps {
            nt: self.nt,
            jdata: self.jdata,
            jcheck: self.jcheck,
        };
        self.engine = Some(Box::new(gpu::OnDevice::new(
            device,
            (&self.program, &self.core),
            steps,
        )?));
        Ok(())
    }
}
