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
mod derivatives;
mod drive_rows;
mod engine;
mod forward;
mod gpu;
mod grid;
mod imaging;
mod layers;
mod nodes;
mod parameters;
mod placement;
mod program;
mod records;
mod reverse;
mod separation;

pub use crate::time_loop::reversal::{CheckpointSchedule, Room};
pub use checkpoint::CheckpointStore;
pub use derivatives::Derivatives;
pub use engine::Residuals;
pub use gpu::variant;
pub use imaging::{Kind, Picture, Wanted};
pub use parameters::Parameters;
pub use placement::RankPlanes;

use super::Shot;
use crate::Error;
use crate::communicator::{Alone, Communicator};
use crate::device::cpu::{Cpu, first_bad};
use crate::device::simd::Real;
use crate::medium::{Medium, Symmetry, needed};
use boundary::{Backwards, Core};
use coefficients::Background;
use derivatives::Spare;
use engine::{Engine, Source};
use parameters::Parametrisation;
use placement::Placed;
use program::{Changes, Discrete};
use std::cell::{Cell, RefCell};
use std::ops::{Add, Range, Sub};
use std::sync::{Arc, PoisonError};

/// Numbers in which the operator can run.
pub trait Number: Real + Default + Add<Output = Self> + Sub<Output = Self> {}

impl<T: Real + Default + Add<Output = T> + Sub<Output = T>> Number for T {}

/// Receives a record after the step `it`: of the background and of its change, `[component][receiver]` each.
pub type Take<'a, T> = &'a mut dyn FnMut(usize, &[T], &[T]) -> Result<(), Error>;

/// Makes the adjoint source of a shot from its records.
pub type Residual<'a, T> = &'a mut dyn FnMut(&[T]) -> Result<Vec<T>, Error>;

/// A shot that is linearised about its medium, or several of them that a device runs side by side.
pub struct Born<T: Number> {
    program: Discrete<T>,
    /// How many shots run side by side.
    shots: usize,
    medium: Arc<Background>,
    parameters: Arc<Parametrisation>,
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
    core: Arc<Result<Core, &'static str>>,
    /// How far they came back from where they began.
    drift: Cell<Option<f64>>,
    /// Memory of reversals on processors, once there has been one.
    memory: RefCell<Option<reverse::Memory<T>>>,
    /// Memory of sums by coefficient that no shot needs any more.
    spare: Spare<T>,
}

impl<T: Number> Born<T> {
    /// A shot over a medium as the files give it.
    ///
    /// # Errors
    /// What [`super::Simulation::new`] refuses, and maps of the largest speeds, which are not linear.
    pub fn new(shot: &Shot, raw: Medium<T>, of: (Symmetry, Parameters), cpu: Cpu) -> Result<Self, Error> {
        let all = 0..raw.padded().planes();
        Self::on_planes(shot, raw, of, (cpu, &all))
    }

    /// The same for a rank other than rank 0 of those that share the shot, which knows the medium on the planes of the grid that are
    /// `prepared` ([`RankPlanes`]): `raw`, which has memory for the whole medium, holds it there and four planes beyond, or is zero.
    ///
    /// # Errors
    /// The same.
    pub fn on_planes(
        shot: &Shot,
        raw: Medium<T>,
        (class, parameters): (Symmetry, Parameters),
        (cpu, prepared): (Cpu, &Range<usize>),
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
        let planes = needed(raw.padded(), prepared);
        let losses = shot.attenuation.as_ref();
        let (medium, parameters) = cpu.install(|| {
            let medium = Background::new(&raw, &planes, losses);
            (medium, Parametrisation::new(&raw, &planes, parameters))
        });
        let (medium, parameters) = (Arc::new(medium), Arc::new(parameters));
        let program = Discrete::new(shot, raw, (class, prepared), cpu)?;
        Ok(Self {
            core: Arc::new(Core::of(&program)),
            program,
            shots: 1,
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
            spare: Spare::default(),
        })
    }

    /// The same shot over the same medium once more with processors of its own, without what runs the steps: both share what is known of
    /// the medium.
    #[must_use]
    pub fn another(&self, cpu: Cpu) -> Self {
        Self {
            program: self.program.on(cpu),
            shots: 1,
            medium: self.medium.clone(),
            parameters: self.parameters.clone(),
            nt: self.nt,
            jdata: self.jdata,
            jcheck: self.jcheck,
            engine: None,
            placed: None,
            store: None,
            core: self.core.clone(),
            drift: Cell::new(None),
            memory: RefCell::new(None),
            spare: Spare::default(),
        }
    }

    /// Turns to another shot over the same medium: other sources, series and receivers. Everything else is as it was.
    ///
    /// # Errors
    /// A point from which the fields cannot be reached.
    pub fn next_shot(&mut self, shot: &Shot) -> Result<(), Error> {
        self.next_shots(std::slice::from_ref(shot))
    }

    /// The same for several shots, which a device runs side by side ([`Born::run_on`]).
    ///
    /// # Errors
    /// The same; shots whose records have different lengths; several shots on processors.
    pub fn next_shots(&mut self, shots: &[Shot]) -> Result<(), Error> {
        match (&mut self.engine, shots) {
            (Some(engine), _) => engine.next_shots(&mut self.program, shots)?,
            (None, [shot]) => self.program.next_shot(shot)?,
            (None, _) => {
                return Err(Error::setup(format!(
                    "{} shots are to run side by side and the processors run one at a time: run them one by one",
                    shots.len()
                )));
            }
        }
        self.shots = shots.len();
        Ok(())
    }

    /// Whether a device runs the steps ([`Born::run_on`]).
    pub fn runs_on_device(&self) -> bool {
        self.engine.is_some()
    }

    /// How many shots run side by side.
    pub fn shots(&self) -> usize {
        self.shots
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

    /// Bytes of a checkpoint and of the boundary of a recorded step, with which [`CheckpointSchedule::with_boundary_saving`] goes back, and bytes that it takes
    /// once.
    ///
    /// # Errors
    /// Says why waves cannot run backwards: attenuation, a grid that is too small.
    pub fn boundary_sizes(&self) -> Result<([usize; 2], usize), Error> {
        let why = |why: &str| Error::setup(format!("waves cannot run backwards: {why}"));
        if let Some(placed) = &self.placed {
            return placed.boundary_saving.map_err(why);
        }
        let core = (*self.core).as_ref().map_err(|words| why(words));
        let boundary = self.recorded(true, 0).bytes::<T>();
        core.map(|_| ([self.state_bytes(), boundary], Backwards::bytes(&self.program)))
    }

    /// Of runs with [`CheckpointSchedule::with_boundary_saving`] so far: the largest velocity that was left when the waves had come back to the beginning, where
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
        self.forward_among(&Alone, perturbation, take)
    }

    /// The same on all ranks that share the shot ([`Born::run_on_ranks`]), each of which takes all records.
    ///
    /// # Errors
    /// The same, and a connection that fails.
    pub fn forward_among(
        &self,
        ranks: &dyn Communicator,
        perturbation: Option<&[T]>,
        take: Take<'_, T>,
    ) -> Result<(), Error> {
        let program = &self.program;
        if perturbation.is_some() {
            self.fits_side_by_side()?;
        }
        let changes = perturbation.map(|p| self.changed(p)).transpose()?;
        if let Some(engine) = &self.engine {
            return engine.forward(changes.as_ref(), take, ranks);
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

    /// The changes of the coefficients that a perturbation makes.
    fn changed(&self, perturbation: &[T]) -> Result<Changes<T>, Error> {
        let (program, medium, parameters) = (&self.program, &*self.medium, &*self.parameters);
        let cpu = &program.setup.cpu;
        cpu.install(|| program.changed(medium, (parameters, perturbation)))
    }

    /// The adjoint: the derivative by the parameters of the product of the records with `data`, `[record][component][receiver]`.
    ///
    /// # Errors
    /// Fields that are not finite.
    pub fn adjoint(&self, data: &[T], schedule: &CheckpointSchedule) -> Result<Vec<T>, Error> {
        self.adjoints(&[data.to_vec()], schedule).map(first)
    }

    /// The same for every shot of those that run side by side.
    ///
    /// # Errors
    /// The same.
    pub fn adjoints(&self, data: &[Vec<T>], schedule: &CheckpointSchedule) -> Result<Vec<Vec<T>>, Error> {
        let derivatives = self.adjoints_among(&Alone, data, schedule)?;
        Ok(derivatives.by_parameters())
    }

    /// The same on all ranks that share the shot, each of which has all data: rank 0 gets what comes back, the others their part of it. The
    /// last part of the work, which no device does, is left to [`Derivatives::by_parameters`].
    ///
    /// # Errors
    /// The same, and a connection that fails.
    pub fn adjoints_among(
        &self,
        ranks: &dyn Communicator,
        data: &[Vec<T>],
        schedule: &CheckpointSchedule,
    ) -> Result<Derivatives<T>, Error> {
        self.derivatives(Source::Data(data), schedule, ranks)
    }

    /// Runs the shot, hands its records, `[record][component][receiver]`, to `residual`, and sweeps back with the adjoint source that it
    /// makes: the gradient of a misfit whose derivative by the records it is.
    ///
    /// # Errors
    /// Fields that are not finite, and what `residual` returns.
    pub fn gradient(
        &self,
        residual: Residual<'_, T>,
        schedule: &CheckpointSchedule,
    ) -> Result<Vec<T>, Error> {
        let mut each = |records: Vec<Vec<T>>| records.iter().map(|records| residual(records)).collect();
        self.gradients(&mut each, schedule).map(first)
    }

    /// The same for every shot of those that run side by side.
    ///
    /// # Errors
    /// The same.
    pub fn gradients(
        &self,
        residuals: Residuals<'_, T>,
        schedule: &CheckpointSchedule,
    ) -> Result<Vec<Vec<T>>, Error> {
        let derivatives = self.gradients_among(&Alone, residuals, schedule)?;
        Ok(derivatives.by_parameters())
    }

    /// The same on all ranks that share the shot, each of which gets all records and makes the same adjoint sources: rank 0 gets the gradient,
    /// the others their part of it. The last part of the work, which no device does, is left to [`Derivatives::by_parameters`].
    ///
    /// # Errors
    /// The same, and a connection that fails.
    pub fn gradients_among(
        &self,
        ranks: &dyn Communicator,
        residuals: Residuals<'_, T>,
        schedule: &CheckpointSchedule,
    ) -> Result<Derivatives<T>, Error> {
        self.derivatives(Source::Residual(residuals), schedule, ranks)
    }

    /// The derivatives by the coefficients, for every shot.
    fn derivatives(
        &self,
        from: Source<'_, T>,
        schedule: &CheckpointSchedule,
        ranks: &dyn Communicator,
    ) -> Result<Derivatives<T>, Error> {
        let made = |sums: Vec<Changes<T>>, spare: Option<Spare<T>>| Derivatives {
            program: self.program.clone(),
            medium: self.medium.clone(),
            parameters: self.parameters.clone(),
            leads: ranks.rank() == 0,
            sums,
            spare,
        };
        let Some(engine) = &self.engine else {
            return Ok(made(vec![self.gradient_on_processors(from, schedule)?], None));
        };
        if schedule.in_store > 0 {
            return Err(Error::setup(
                "on a device checkpoints stay in memory: choose a schedule without a store",
            ));
        }
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut sums = spare.unwrap_or_default();
        sums.truncate(self.shots);
        while sums.len() < self.shots {
            sums.push(self.program.changes()?);
        }
        engine.back(from, schedule, (&mut sums, self.parameters.isotropic()), ranks)?;
        Ok(made(sums, Some(self.spare.clone())))
    }

    /// The sums by coefficient of the shot on processors.
    fn gradient_on_processors(
        &self,
        from: Source<'_, T>,
        schedule: &CheckpointSchedule,
    ) -> Result<Changes<T>, Error> {
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
        Ok(sums)
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

/// The first of several results, which is the one of a single shot.
fn first<R: Default>(all: Vec<R>) -> R {
    all.into_iter().next().unwrap_or_default()
}

/// What is said of fields that are not finite.
fn not_finite(it: usize) -> Error {
    Error::setup(format!(
        "the waves are not finite at step {it}: the time step is too long, or the model or the data hold numbers that are not"
    ))
}
