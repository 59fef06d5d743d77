//! Images of several kinds, with space lags.
//!
//! An image is the sum over time steps of the products of a field of the shot (the source wavefield) and a field of
//! the data, which are propagated backward in time, at the same point or (Sava and Fomel 2006) displaced by a lag `h`
//! to either side: `I(x, h) = sum a(x - h) b(x + h)`. Fields of the shot are recorded in the forward run. The fields
//! are, by [`Kind`]:
//!
//! - PP: the pressures (Claerbout 1971). In an isotropic medium the sum of the normal stresses contains P waves only.
//!   The recorded velocities give its rates `e_k` in the shot, so the correlation is summed by parts: `sum_n p_n q_n
//!   = sum_k e_k sum_(n >= k) q_n`, with the inner sum accumulated in the reverse sweep. `q` is the adjoint pressure,
//!   `sum c_ta g_aa` over the adjoint stresses
//! - PS, SP: the P-wave and the S-wave part of the force, as vectors. Both change sign with the angle of incidence,
//!   so their product has the same sign on both sides of a source, at any dip (Wang and McMechan 2015)
//! - SS: rotations
//! - energy: products of stresses minus products of velocities. This is the potential less the kinetic energy of both
//!   wavefields, which vanishes where they propagate in the same direction, so the image has no artefacts of waves
//!   that were not reflected (Rocha, Tanushev and Sava 2016)
//!
//! A sample of the data is injected for the step around that sample. The adjoint stresses after step `n` therefore
//! belong to a time half a step before the time of the stresses, and the adjoint velocities to a time half a step after
//! the velocities. Only fields of equal times are multiplied, so that images are of second order in the time step:
//! stresses by the mean of the adjoint stresses after steps `n` and `n + 1`, and the mean of the velocities after both
//! steps by the adjoint velocities after step `n`.
//!
//! Fields between nodes are multiplied where they lie, and the products are averaged to the nodes at the end.

use super::adjoint::{Adjoint, Beside, Pass};
use super::correlation::{add_pressure, add_pressure_illumination, add_to_nodes, correlate};
use super::engine::Source;
use super::forward::Waves;
pub use super::image_kinds::{ImageRequest, Kind};
use super::program::Discrete;
use super::{Born, Number, gpu};
use crate::Error;
use crate::communicator::{Alone, Communicator};
use crate::methods::velocity_stress::layout::velocity;
use crate::time_loop::reversal::CheckpointSchedule;
use std::ops::Range;

/// An image of one kind on the cells of the model, in file order.
pub struct Picture<T> {
    /// `[lag][cell]`
    pub image: Vec<T>,
    /// The illumination: the squares of the shot's fields, summed over the steps, `[cell]`.
    pub light: Vec<T>,
}

/// The position of a field between the nodes: for each axis (z, row, plane) whether it is half a cell beyond them.
pub type Half = [bool; 3];

/// The sums of an image of one kind.
struct Sums<T> {
    kind: Kind,
    halves: Vec<Half>,
    /// `[lag][field]`, where each entry is a field.
    images: Vec<Vec<Vec<T>>>,
    /// `[field]`
    light: Vec<Vec<T>>,
}

impl<T: Number> Sums<T> {
    /// Adds products of fields of the shot and the data to the images of each lag, from field `first` of the kind on.
    fn add(&mut self, program: &Discrete<T>, lags: &[[isize; 3]], first: usize, (own, other): (&[T], &[T])) {
        let len = program.rows.len;
        for (lag, images) in lags.iter().zip(&mut self.images) {
            let pairs = own.chunks_exact(len).zip(other.chunks_exact(len));
            for (image, pair) in images[first..].iter_mut().zip(pairs) {
                correlate(program, pair, *lag, image);
            }
        }
    }
}

/// Images while they are accumulated.
pub struct Imaging<T> {
    sums: Vec<Sums<T>>,
    /// Lags along the axes of the grid: z, rows, planes.
    lags: Vec<[isize; 3]>,
    /// The factor that turns the sum of the normal stresses into the potential of P waves.
    share: Vec<T>,
    /// The adjoint pressure, summed over the steps so far.
    later: Vec<T>,
    /// The PP image without lags, which the sweeps of the adjoint add to.
    plain: Vec<T>,
    /// The same sum with half of the current step, for images with lags.
    middle: Vec<T>,
    next: Next<T>,
}

/// Fields of the following time step, which the reverse sweep has already passed. Those that no kind needs are empty.
#[derive(Default)]
struct Next<T> {
    /// Forces of the adjoint P and S waves.
    forces: [Vec<T>; 2],
    stress: Vec<T>,
    /// Velocities of the shot, and their rotation.
    velocity: Vec<T>,
    rotation: Vec<T>,
}

/// The mean of a field in this step and the following one (zero after the last); `next` is then set to the field.
fn mean<T: Number>(next: &mut Vec<T>, mut field: Vec<T>) -> Vec<T> {
    next.resize(field.len(), T::of(0.0));
    for (next, here) in next.iter_mut().zip(&mut field) {
        (*next, *here) = (*here, T::of(0.5) * (*next + *here));
    }
    field
}

impl<T: Number> Imaging<T> {
    /// Allocates the sums of the requested images.
    pub fn new(program: &Discrete<T>, request: &ImageRequest) -> Self {
        let len = program.rows.len;
        let zeros = |fields: usize| vec![vec![T::of(0.0); len]; fields];
        let plain = request.lags.iter().all(|lag| *lag == [0; 3]);
        let sums = request.kinds.iter().map(|&kind| {
            let halves = halves(program, kind);
            Sums {
                kind,
                images: match kind == Kind::Pp && plain {
                    true => Vec::new(),
                    false => request.lags.iter().map(|_| zeros(halves.len())).collect(),
                },
                light: zeros(halves.len()),
                halves,
            }
        });
        Self {
            sums: sums.collect(),
            lags: request.along(program.ndim()).collect(),
            share: program.share_of_pressure(),
            later: vec![T::of(0.0); len],
            plain: match plain && request.kinds.contains(&Kind::Pp) {
                true => vec![T::of(0.0); len],
                false => Vec::new(),
            },
            middle: Vec::new(),
            next: Next::default(),
        }
    }

    /// Number of fields that are recorded in each step in addition to its velocities: stresses, then, for PP images
    /// with lags, the sum of the normal strain rates.
    pub fn recorded(&self, program: &Discrete<T>) -> usize {
        let kinds: Vec<Kind> = self.sums.iter().map(|sums| sums.kind).collect();
        recorded(program, &kinds, !self.plain())
    }

    /// Whether no image has a lag.
    fn plain(&self) -> bool {
        self.lags.iter().all(|lag| *lag == [0; 3])
    }

    /// Whether the sweeps of the adjoint form all images: PP images without lags.
    fn forms_in_sweeps(&self) -> bool {
        self.plain() && self.sums.iter().all(|sums| sums.kind == Kind::Pp)
    }

    pub fn record(&self, program: &Discrete<T>, waves: &mut Waves<T>, to: &mut [T]) {
        let len = program.rows.len;
        let mut fields = to.chunks_exact_mut(len);
        if self.sums.iter().any(|sums| sums.kind.records_stresses()) {
            for (k, to) in fields.by_ref().take(program.stresses()).enumerate() {
                let cpu = &program.setup.cpu;
                let from = waves.field(program.ndim() + k);
                cpu.copy(bytemuck::cast_slice(from), bytemuck::cast_slice_mut(to));
            }
        }
        if let Some(to) = fields.next() {
            waves.rates(program, to);
        }
    }

    /// Adds the squares of the fields of the shot after a step to the illumination. It is called for each step once,
    /// in order, in the forward run.
    pub fn add_illumination(&mut self, program: &Discrete<T>, waves: &Waves<T>) {
        let len = program.rows.len;
        let all = |fields: Range<usize>| fields.map(|k| waves.field(k)).collect::<Vec<_>>().concat();
        let ndim = program.ndim();
        let needs = |kinds: &[Kind]| self.sums.iter().any(|sums| kinds.contains(&sums.kind));
        let [of_p, of_s] = match needs(&[Kind::Ps, Kind::Sp]) {
            true => program.forces(&all(ndim..ndim + program.stresses()), &self.share),
            false => [Vec::new(), Vec::new()],
        };
        for sums in &mut self.sums {
            let fields: &[T] = match sums.kind {
                Kind::Pp => {
                    add_pressure_illumination(program, waves, &mut sums.light[0]);
                    continue;
                }
                Kind::Ps => &of_p,
                Kind::Sp => &of_s,
                Kind::Ss => &program.rotation(&all(0..ndim)),
                // Stresses and velocities differ in units, but have equal parts of the energy.
                Kind::Energy => &all(0..ndim),
            };
            for (light, own) in sums.light.iter_mut().zip(fields.chunks_exact(len)) {
                correlate(program, (own, own), [0; 3], light);
            }
        }
    }

    /// Adds the contribution of a step to the images, and takes the adjoint through the step.
    pub fn correlate(&mut self, program: &Discrete<T>, adjoint: &mut Adjoint<T>, step: Step<'_, T>) {
        let (shot, surface, injected) = step;
        let behind = adjoint.pending;
        let mut beside = Beside::NOTHING;
        if !self.plain.is_empty() {
            beside.velocity = shot.0.as_ptr();
            beside.pressure_image = [self.later.as_mut_ptr(), self.plain.as_mut_ptr()];
        }
        adjoint.beside = beside;
        if self.forms_in_sweeps() && program.setup.surface.is_none() {
            adjoint.pass(Pass::Step);
            adjoint.inject_velocities(injected);
            return;
        }
        // Images are formed from the adjoint fields before a free surface, or a sponge within reach of a lag, acts on
        // them.
        let damped = program.setup.edges.weights().is_some() && !self.plain();
        match program.setup.surface.is_some() || damped {
            true => {
                adjoint.pass(Pass::End);
                adjoint.beside = Beside::NOTHING;
                self.of_stresses(program, adjoint, shot.1, true);
                adjoint.stress_images(surface, behind);
                adjoint.pass(Pass::Strains);
            }
            false => {
                adjoint.pass(Pass::Strains);
                self.of_stresses(program, adjoint, shot.1, false);
            }
        }
        adjoint.inject_forces(injected);
        self.of_velocities(program, adjoint, shot.0);
        adjoint.pass(Pass::Forces);
    }

    /// Adds the contributions of the adjoint stresses.
    fn of_stresses(&mut self, program: &Discrete<T>, adjoint: &Adjoint<T>, beside: &[T], ended: bool) {
        let (ndim, plain) = (program.ndim(), self.plain());
        if self.forms_in_sweeps() {
            return;
        }
        let adjoint_stress;
        let back: &[T] = match program.setup.relaxation.is_none() && !ended {
            true => adjoint.strain.as_slice(),
            false => {
                adjoint_stress = program.stress_of_adjoint(adjoint.stress.as_slice());
                &adjoint_stress
            }
        };
        let recorded = self.sums.iter().any(|sums| sums.kind.records_stresses());
        let stresses = if recorded { program.stresses() } else { 0 };
        let (stress, rates) = beside.split_at(stresses * program.rows.len);
        let shot = self.forces(program, stress);
        let mut of_waves = self.forces(program, back);
        for (next, force) in self.next.forces.iter_mut().zip(&mut of_waves) {
            *force = mean(next, std::mem::take(force));
        }
        let [of_p, of_s] = of_waves;
        for sums in &mut self.sums {
            match sums.kind {
                Kind::Pp if plain => {}
                Kind::Pp => {
                    self.middle.resize(program.rows.len, T::of(0.0));
                    add_pressure(program, back, (&mut self.later, &mut self.middle));
                    sums.add(program, &self.lags, 0, (rates, &self.middle));
                }
                Kind::Ps => sums.add(program, &self.lags, 0, (&shot[0], &of_s)),
                Kind::Sp => sums.add(program, &self.lags, 0, (&shot[1], &of_p)),
                Kind::Ss => {}
                Kind::Energy => {
                    let back = mean(&mut self.next.stress, adjoint.stress.as_slice().to_vec());
                    sums.add(program, &self.lags, ndim, (stress, &back));
                }
            }
        }
    }

    /// Adds the contributions of the adjoint velocities, after the velocity receivers have been injected.
    fn of_velocities(&mut self, program: &Discrete<T>, adjoint: &Adjoint<T>, velocity: &[T]) {
        for sums in &mut self.sums {
            match sums.kind {
                Kind::Ss => {
                    let turned = program.rotation(adjoint.force.as_slice());
                    let rotation = mean(&mut self.next.rotation, program.rotation(velocity));
                    sums.add(program, &self.lags, 0, (&rotation, &turned));
                }
                Kind::Energy => {
                    let back = program.velocity_of_force(adjoint.force.as_slice());
                    let mut minus = mean(&mut self.next.velocity, velocity.to_vec());
                    minus.iter_mut().for_each(|v| *v = T::of(0.0) - *v);
                    sums.add(program, &self.lags, 0, (&minus, &back));
                }
                _ => {}
            }
        }
    }

    /// The forces of P and S waves, if a kind needs them.
    fn forces(&self, program: &Discrete<T>, stress: &[T]) -> [Vec<T>; 2] {
        match self
            .sums
            .iter()
            .any(|sums| matches!(sums.kind, Kind::Ps | Kind::Sp))
        {
            true => program.forces(stress, &self.share),
            false => [Vec::new(), Vec::new()],
        }
    }

    /// The pictures on the cells of the model.
    pub fn finish(self, program: &Discrete<T>) -> Vec<Picture<T>> {
        let picture = |sums: Sums<T>| {
            let sign = T::of(sums.kind.sign());
            let together = |fields: &[Vec<T>], sign: T| {
                let mut all = vec![T::of(0.0); program.rows.len];
                for (field, half) in fields.iter().zip(&sums.halves) {
                    add_to_nodes(program, field, (*half, sign), &mut all);
                }
                program.model_of(&all)
            };
            let images = match sums.images.is_empty() {
                true => program.model_of(&self.plain).repeat(self.lags.len()),
                false => sums
                    .images
                    .iter()
                    .flat_map(|fields| together(fields, sign))
                    .collect(),
            };
            Picture {
                image: images,
                light: together(&sums.light, T::of(1.0)),
            }
        };
        self.sums.into_iter().map(picture).collect()
    }
}

impl<T: Number> Discrete<T> {
    /// A field on the cells of the model, in file order.
    pub fn model_of(&self, field: &[T]) -> Vec<T> {
        let (rows, p) = (&self.rows, &self.rows.padded);
        let last = self.ndim() - 1;
        let lines = match self.ndim() {
            3 => p.low[1]..p.low[1] + p.model.n[1],
            _ => 0..1,
        };
        let mut model = Vec::with_capacity(p.model.cells());
        for plane in p.low[last]..p.low[last] + p.model.n[last] {
            for row in lines.clone() {
                model.extend_from_slice(&field[rows.at(plane, row) + p.low[0]..][..p.model.n[0]]);
            }
        }
        model
    }
}

/// The positions of the fields of a kind.
pub(super) fn halves<T: Number>(program: &Discrete<T>, kind: Kind) -> Vec<Half> {
    let half = |axes: &[usize]| [0, 1, 2].map(|axis| axes.contains(&axis));
    let velocities = || {
        let mut axes = program.rows.axes().to_vec();
        axes.sort_by_key(|&axis| velocity(program.ndim(), axis));
        axes.into_iter().map(|axis| half(&[axis])).collect::<Vec<_>>()
    };
    let turns = || program.turns().iter().map(|pair| half(pair)).collect::<Vec<_>>();
    match kind {
        Kind::Pp => vec![half(&[])],
        Kind::Ps | Kind::Sp => velocities(),
        Kind::Ss => turns(),
        Kind::Energy => {
            let normal = vec![half(&[]); program.ndim()];
            [velocities(), normal, turns()].concat()
        }
    }
}

/// Number of fields, besides velocities, that images of these kinds, with or without lags, need of a recorded step.
fn recorded<T: Number>(program: &Discrete<T>, kinds: &[Kind], lags: bool) -> usize {
    let stresses = match kinds.iter().any(|kind| kind.records_stresses()) {
        true => program.stresses(),
        false => 0,
    };
    stresses + usize::from(lags && kinds.contains(&Kind::Pp))
}

/// The data of a step for the images: velocities and additional fields of the shot, the record of the surface, and
/// the values injected at receivers.
pub type Step<'a, T> = ((&'a [T], &'a [T]), &'a [T], &'a [T]);

impl<T: Number> Born<T> {
    /// Bytes of a checkpoint and of a recorded step in the reverse sweep of [`Born::images`], in this order.
    pub fn sizes_of_images(&self, request: &ImageRequest) -> [usize; 2] {
        let [state, tape] = self.sizes();
        if self.engine.is_some() || self.placed.is_some() {
            let planes = self.planes();
            let image_fields = planes
                .iter()
                .map(|p| gpu::image_field_bytes(p.of(&self.program), request));
            return [state, tape + image_fields.max().unwrap_or(0)];
        }
        let lags = request.lags.iter().any(|lag| *lag != [0; 3]);
        let beside = recorded(&self.program, &request.kinds, lags);
        [state, self.recorded(false, beside).bytes::<T>()]
    }

    /// Images of `data`, `[record][component][receiver]`, in the order of the kinds in `request`. `schedule` must be
    /// made for the sizes of [`Born::sizes_of_images`].
    ///
    /// # Errors
    /// Returns an error for non-finite fields, and for a device that fails or has too little memory.
    pub fn images(
        &self,
        data: &[T],
        schedule: &CheckpointSchedule,
        request: &ImageRequest,
    ) -> Result<Vec<Picture<T>>, Error> {
        let images = self.images_of_shots(&[data.to_vec()], schedule, request)?;
        Ok(images.into_iter().flatten().collect())
    }

    /// [`Born::images`] for each of the shots that run side by side.
    ///
    /// # Errors
    /// Returns the errors of [`Born::images`].
    pub fn images_of_shots(
        &self,
        data: &[Vec<T>],
        schedule: &CheckpointSchedule,
        request: &ImageRequest,
    ) -> Result<Vec<Vec<Picture<T>>>, Error> {
        self.images_among(&Alone, data, (schedule, request))
    }

    /// [`Born::images_of_shots`] on all ranks that share the shot ([`Born::run_on_ranks`]), each of which passes all
    /// data: rank 0 receives the whole images, the others the part on their planes.
    ///
    /// # Errors
    /// Returns the errors of [`Born::images`], and an error if a connection fails.
    pub fn images_among(
        &self,
        ranks: &dyn Communicator,
        data: &[Vec<T>],
        (schedule, request): (&CheckpointSchedule, &ImageRequest),
    ) -> Result<Vec<Vec<Picture<T>>>, Error> {
        if let Some(engine) = &self.engine {
            return engine.images(&self.program, data, (schedule, request), ranks);
        }
        let mut imaging = Imaging::new(&self.program, request);
        self.reverse(Source::Data(data), schedule, Some(&mut imaging))?;
        Ok(vec![imaging.finish(&self.program)])
    }
}
