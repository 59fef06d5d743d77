//! Linearised velocity-stress modelling: the change of the data by a small perturbation of the medium (the Born
//! approximation), and its exact adjoint.
//!
//! The operator is the derivative of the discretised equations of [`super::Simulation`] with respect to the medium,
//! step by step, rather than a discretisation of the linearised wave equation: it includes averages of the medium,
//! absorbing frame, free surface, attenuation, sources and receivers. Its adjoint is the transpose of the same steps in
//! reverse order. On processors the steps are the same as in a simulation: [`forward`] runs and records them,
//! [`adjoint`] sweeps back through them by the formulas of [`adjoint_rows`], [`reverse`] reverses a whole run, and
//! [`coefficients`] maps the medium to its coefficients and back. [`imaging`] correlates the forward and the adjoint
//! wavefield. [`gpu`] has the same steps for accelerators.
//!
//! Parameters that are chosen from the medium as a whole (time step, frame, limits) are not differentiated.

mod adjoint;
mod adjoint_ending;
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
mod image_kinds;
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
pub use imaging::{ImageRequest, Kind, Picture};
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

/// Floating-point types in which the operator can run.
pub trait Number: Real + Default + Add<Output = Self> + Sub<Output = Self> {}

impl<T: Real + Default + Add<Output = T> + Sub<Output = T>> Number for T {}

/// Receives, after a step, its number, the record of the background and its perturbation, both `[component][receiver]`.
pub type Take<'a, T> = &'a mut dyn FnMut(usize, &[T], &[T]) -> Result<(), Error>;

/// Computes the adjoint source of a shot from its records, both `[record][component][receiver]`.
pub type Residual<'a, T> = &'a mut dyn FnMut(&[T]) -> Result<Vec<T>, Error>;

/// A shot linearised about its medium, or several of them that a device runs side by side.
pub struct Born<T: Number> {
    program: Discrete<T>,
    /// Number of shots that run side by side.
    shots: usize,
    medium: Arc<Background>,
    parameters: Arc<Parametrisation>,
    nt: usize,
    jdata: usize,
    jcheck: usize,
    /// Runs the steps instead of the processors.
    engine: Option<Box<dyn Engine<T>>>,
    /// How the memory of the devices is used.
    placed: Option<Placed>,
    /// Receives those checkpoints that the schedule puts into a store.
    store: Option<Arc<dyn CheckpointStore>>,
    /// The part of the grid in which the wavefield can be reconstructed backwards, or the reason why there is none.
    core: Arc<Result<Core, &'static str>>,
    /// The largest relative velocity left after a backward reconstruction.
    drift: Cell<Option<f64>>,
    /// Memory of reversals on processors, which is kept after the first reversal.
    memory: RefCell<Option<reverse::Memory<T>>>,
    /// Memory of sums by coefficient that no shot needs any longer.
    spare: Spare<T>,
}

impl<T: Number> Born<T> {
    /// Linearises a shot over a medium as read from files.
    ///
    /// # Errors
    /// Returns the errors of [`super::Simulation::new`], and an error for maps of the largest speeds, which are not
    /// linear in the wavefield, and for parameters that do not describe an anisotropic medium.
    pub fn new(shot: &Shot, raw: Medium<T>, of: (Symmetry, Parameters), cpu: Cpu) -> Result<Self, Error> {
        let all = 0..raw.padded().planes();
        Self::on_planes(shot, raw, of, (cpu, &all))
    }

    /// The equivalent of [`Born::new`] on a rank other than rank 0 of the ranks that share the shot, where the medium
    /// is known on the `prepared` planes of the grid ([`RankPlanes`]): `raw` is allocated for the whole medium, must
    /// hold these planes and the four planes beyond them, and may be zero elsewhere.
    ///
    /// # Errors
    /// Returns the errors of [`Born::new`].
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
                "the medium is anisotropic: speeds, impedances and Lame's parameters do not describe it; take its stiffnesses as the parameters",
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

    /// Another instance of the same shot over the same medium, on the processors `cpu` and without an engine; both
    /// share the data of the medium.
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

    /// Prepares another shot over the same medium, with other sources, series and receivers. All other data must be
    /// unchanged.
    ///
    /// # Errors
    /// Returns an error for a point that lies outside the fields.
    pub fn next_shot(&mut self, shot: &Shot) -> Result<(), Error> {
        self.next_shots(std::slice::from_ref(shot))
    }

    /// Prepares several shots, which a device runs side by side ([`Born::run_on`]).
    ///
    /// # Errors
    /// Returns the errors of [`Born::next_shot`], and an error for records of unequal length or several shots on CPUs.
    pub fn next_shots(&mut self, shots: &[Shot]) -> Result<(), Error> {
        match (&mut self.engine, shots) {
            (Some(engine), _) => engine.next_shots(&mut self.program, shots)?,
            (None, [shot]) => self.program.next_shot(shot)?,
            (None, _) => {
                return Err(Error::setup(format!(
                    "{} shots are to run side by side, but the processors run one at a time: run them one by one",
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

    /// Number of shots that run side by side.
    pub fn shots(&self) -> usize {
        self.shots
    }

    /// Length of a perturbation, `[parameter][cell of the model in file order]`.
    pub fn perturbation_len(&self) -> usize {
        self.parameters.count() * self.medium.cells
    }

    /// Number of records of a run.
    pub fn records(&self) -> usize {
        self.nt.div_ceil(self.jdata)
    }

    /// Length of a record, `[component][receiver]`.
    pub fn values(&self) -> usize {
        self.program.values()
    }

    /// Bytes of a checkpoint and of a recorded step, in this order.
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

    /// Sets the store for the checkpoints that a schedule assigns to a store.
    pub fn set_store(&mut self, store: Arc<dyn CheckpointStore>) {
        self.store = Some(store);
    }

    /// Bytes of a checkpoint and of the boundary of a recorded step in the reverse sweep of
    /// [`CheckpointSchedule::with_boundary_saving`], and the bytes of its working memory.
    ///
    /// # Errors
    /// Returns an error that says why the wavefield cannot be reconstructed backwards: attenuation, a sponge in the
    /// model, a grid that is too small.
    pub fn boundary_sizes(&self) -> Result<([usize; 2], usize), Error> {
        let why = |why: &str| Error::setup(format!("waves cannot run backwards: {why}"));
        if let Some(placed) = &self.placed {
            return placed.boundary_saving.map_err(why);
        }
        let core = (*self.core).as_ref().map_err(|words| why(words));
        let boundary = self.recorded(true, 0).bytes::<T>();
        core.map(|_| ([self.state_bytes(), boundary], Backwards::bytes(&self.program)))
    }

    /// The largest velocity in the core at time zero, where the wavefield should be at rest, after backward
    /// reconstructions with [`CheckpointSchedule::with_boundary_saving`], relative to the largest velocity of the run.
    /// `None` before the first such run.
    pub fn drift(&self) -> Option<f64> {
        let engine = self.engine.as_ref();
        self.drift
            .get()
            .or_else(|| engine.and_then(|engine| engine.drift()))
    }

    /// Runs the background and, with a perturbation, the scattered field: `take` receives both records.
    ///
    /// # Errors
    /// Returns an error for non-finite fields, a device with too little memory for both fields, and any error of
    /// `take`.
    pub fn forward(&self, perturbation: Option<&[T]>, take: Take<'_, T>) -> Result<(), Error> {
        self.forward_among(&Alone, perturbation, take)
    }

    /// [`Born::forward`] on all ranks that share the shot ([`Born::run_on_ranks`]); each receives all records.
    ///
    /// # Errors
    /// Returns the errors of [`Born::forward`], and an error if a connection fails.
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

    /// The perturbation of the coefficients by a perturbation of the parameters.
    fn changed(&self, perturbation: &[T]) -> Result<Changes<T>, Error> {
        let (program, medium, parameters) = (&self.program, &*self.medium, &*self.parameters);
        let cpu = &program.setup.cpu;
        cpu.install(|| program.changed(medium, (parameters, perturbation)))
    }

    /// The adjoint of [`Born::forward`]: the derivative with respect to the parameters of the inner product of the
    /// records with `data`, `[record][component][receiver]`.
    ///
    /// # Errors
    /// Returns an error for non-finite fields.
    pub fn adjoint(&self, data: &[T], schedule: &CheckpointSchedule) -> Result<Vec<T>, Error> {
        self.adjoints(&[data.to_vec()], schedule).map(first)
    }

    /// [`Born::adjoint`] for each of the shots that run side by side.
    ///
    /// # Errors
    /// Returns the errors of [`Born::adjoint`].
    pub fn adjoints(&self, data: &[Vec<T>], schedule: &CheckpointSchedule) -> Result<Vec<Vec<T>>, Error> {
        let derivatives = self.adjoints_among(&Alone, data, schedule)?;
        Ok(derivatives.by_parameters())
    }

    /// [`Born::adjoints`] on all ranks that share the shot, each of which passes all data: rank 0 receives the whole
    /// result, the others their part of it. The conversion to parameters, which does not run on devices, is left to
    /// [`Derivatives::by_parameters`].
    ///
    /// # Errors
    /// Returns the errors of [`Born::adjoint`], and an error if a connection fails.
    pub fn adjoints_among(
        &self,
        ranks: &dyn Communicator,
        data: &[Vec<T>],
        schedule: &CheckpointSchedule,
    ) -> Result<Derivatives<T>, Error> {
        self.derivatives(Source::Data(data), schedule, ranks)
    }

    /// Runs the shot, passes its records, `[record][component][receiver]`, to `residual`, and sweeps back with the
    /// adjoint source that it returns: the gradient of a misfit with this derivative with respect to the records.
    ///
    /// # Errors
    /// Returns an error for non-finite fields, and any error of `residual`.
    pub fn gradient(
        &self,
        residual: Residual<'_, T>,
        schedule: &CheckpointSchedule,
    ) -> Result<Vec<T>, Error> {
        let mut each = |records: Vec<Vec<T>>| records.iter().map(|records| residual(records)).collect();
        self.gradients(&mut each, schedule).map(first)
    }

    /// [`Born::gradient`] for each of the shots that run side by side.
    ///
    /// # Errors
    /// Returns the errors of [`Born::gradient`].
    pub fn gradients(
        &self,
        residuals: Residuals<'_, T>,
        schedule: &CheckpointSchedule,
    ) -> Result<Vec<Vec<T>>, Error> {
        let derivatives = self.gradients_among(&Alone, residuals, schedule)?;
        Ok(derivatives.by_parameters())
    }

    /// [`Born::gradients`] on all ranks that share the shot, each of which receives all records and must compute the
    /// same adjoint sources: rank 0 receives the whole gradient, the others their part of it. The conversion to
    /// parameters, which does not run on devices, is left to [`Derivatives::by_parameters`].
    ///
    /// # Errors
    /// Returns the errors of [`Born::gradient`], and an error if a connection fails.
    pub fn gradients_among(
        &self,
        ranks: &dyn Communicator,
        residuals: Residuals<'_, T>,
        schedule: &CheckpointSchedule,
    ) -> Result<Derivatives<T>, Error> {
        self.derivatives(Source::Residual(residuals), schedule, ranks)
    }

    /// The derivatives with respect to the coefficients, for each shot.
    fn derivatives(
        &self,
        from: Source<'_, T>,
        schedule: &CheckpointSchedule,
        ranks: &dyn Communicator,
    ) -> Result<Derivatives<T>, Error> {
        let of_sums = |sums: Vec<Changes<T>>, spare: Option<Spare<T>>| Derivatives {
            program: self.program.clone(),
            medium: self.medium.clone(),
            parameters: self.parameters.clone(),
            leads: ranks.rank() == 0,
            sums,
            spare,
        };
        let Some(engine) = &self.engine else {
            return Ok(of_sums(vec![self.gradient_on_processors(from, schedule)?], None));
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
        Ok(of_sums(sums, Some(self.spare.clone())))
    }

    /// The sums by coefficient of the shot on processors.
    fn gradient_on_processors(
        &self,
        from: Source<'_, T>,
        schedule: &CheckpointSchedule,
    ) -> Result<Changes<T>, Error> {
        let gradient = self.reverse(from, schedule, None)?;
        let changes = gradient.map_or_else(|| self.program.changes(), |gradient| Ok(gradient.sums));
        let mut sums = changes?;
        let len = self.program.rows.len;
        for (component, sums) in sums.buoyancy.chunks_exact_mut(len).enumerate() {
            let b = self.program.setup.medium.buoyancy(component);
            for (sum, &b) in sums.iter_mut().zip(b) {
                *sum = if b > T::of(0.0) { *sum / b } else { T::of(0.0) };
            }
        }
        Ok(sums)
    }

    /// Returns an error for non-finite fields at steps of the check interval.
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

/// The first result, which is the only one of a single shot.
fn first<R: Default>(all: Vec<R>) -> R {
    all.into_iter().next().unwrap_or_default()
}

fn not_finite(it: usize) -> Error {
    Error::setup(format!(
        "the waves are not finite at step {it}: the time step is too long, or the model or the data hold numbers that are not"
    ))
}
