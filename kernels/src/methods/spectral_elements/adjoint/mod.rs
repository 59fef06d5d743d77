//! Gradients on meshes: derivatives of a misfit with respect to density and moduli at all points of elements.
//!
//! The step of `cpu.rs` is the central difference `M D2 u + C D1 u + K u = f`, with `D2` and `D1` the differences of
//! second and first order in time, and M, C and K symmetric. Its transpose is therefore the same step backwards in
//! time, driven by the derivative of the misfit with respect to the records instead of the forces (Tromp, Tape & Liu
//! 2005 show this for continuous time; here it holds for every discrete step). The adjoint wavefield is thus computed
//! by the same engine as the forward wavefield. With attenuation K is also a convolution in time, which is the same at
//! every step and symmetric in space; its transpose is the same convolution backwards in time.
//!
//! A fluid with the potential chi is coupled to the solid by `M D2 u + K u + A D2 chi = f` and `Mf D2 chi + Kf chi - A'
//! u = g`. The transpose has the same form if the second difference of the adjoint potential psi is minus the
//! multiplier of the second equation: then, for records of the pressure `-D2 chi`, the derivative of the misfit acts in
//! the fluid as a source of psi.
//!
//! Let u be the forward and l the adjoint displacement at the same time, and let w be the quadrature weight of a
//! point, J the Jacobian determinant there, n the normal of a face, and c the damping of the sponge over the P speed.
//! The derivatives, summed over steps, are
//!
//! | with respect to | derivative |
//! | --- | --- |
//! | density, in the mass | `- w J u . D2 l` |
//! | bulk modulus | `- w J div u (div l - r)` |
//! | mu at constant bulk modulus | `- 2 w J e(u) : (dev e(l) - R)` |
//! | impedances of absorbing faces | `- area (u . n) (D1 l . n)`, and the same across the normal |
//! | P impedance in the sponge | `- w J c u . D1 l` |
//! | one over the bulk modulus of a fluid | `w J D2 chi D2 psi`, at a source of the moment M also `M h D2 psi` |
//! | one over its density | `w J grad D2 chi . grad psi` |
//! | admittances of its absorbing faces | `area D2 chi D1 psi` |
//! | one over its P impedance in the sponge | `w J c D2 chi D1 psi` |
//!
//! `D1` of l and of psi is taken in the order of the adjoint run, backwards in time, and r and R are the contributions
//! of memory variables to the adjoint stress divided by the unrelaxed moduli. The time derivatives have been moved to
//! the adjoint wavefield by summation by parts, so that only the displacement of the forward wavefield and, in fluids,
//! `D2 chi` are kept. Records of velocity and acceleration are `D1 u` and `D2 u`; their transposes act on the adjoint
//! sources, and the run has one more step, because a central difference needs the following step.
//!
//! Perfectly matched layers filter derivatives across them, and the forces of the stresses across them. These are
//! recursive filters in time, each of which acts on one value at one point. The transpose filters the field at the
//! points of an element before it is differentiated, and the stresses before they become forces; backwards in time
//! the filters are unchanged. The modal filter is symmetric. Elements in the layers have no derivatives.
//!
//! The products are summed in single precision. The adjoint sources are therefore scaled by a power of two that keeps
//! the products far from the limits of single precision for sources of any strength.

mod blocks;
mod chain;
pub(super) mod change;
pub(super) mod correlate;
pub(super) mod linearised;
mod linearised_processors;
pub mod machine;
mod parameters;
mod processors;
mod scattering;
mod sources;
mod state;
mod unsupported;

use super::boundary::{FacePoint, face_points};
use super::cut::Cut;
use super::points::weights_in_fluid;
use super::{Engine, Number, Setup, Shot, Source, Strength};
use crate::Error;
use crate::device::cpu::Cpu;
use crate::mesh::geometry::Tabulated;
use crate::mesh::{Locator, Place};
use crate::receiver::Quantity;
use crate::time_loop::reversal::{Action, CheckpointSchedule};
pub use chain::{Gradient, covers};
pub use change::Change;
use correlate::{CONSTANTS, LOSSY, LOSSY_CONSTANTS, PRODUCTS};
use machine::Machine;
pub use parameters::Parameters;
pub use processors::Processors;
use sources::Probes;
pub use sources::SourceGradient;
pub use unsupported::{Unsupported, unsupported};

/// Number of steps whose products are summed in single precision before they are added to sums in double precision.
pub(super) const TOGETHER: usize = 32;

/// Products per point of a solid and of a fluid, as listed in `correlate.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Widths {
    pub(super) solid: usize,
    pub(super) fluid: usize,
}

impl Widths {
    fn of<const D: usize>(setup: &Setup<D>, parameters: Parameters) -> Self {
        Self {
            solid: match parameters {
                Parameters::Constants if setup.relaxations.is_some() => LOSSY_CONSTANTS,
                Parameters::Constants => CONSTANTS,
                _ if setup.relaxations.is_some() => LOSSY,
                _ => PRODUCTS,
            },
            fluid: PRODUCTS,
        }
    }
}

/// The forward and the adjoint run of one shot, for the gradient of a misfit of its records.
pub struct Adjoint<const D: usize, M = Processors<D>> {
    parameters: Parameters,
    /// Number of steps of the shot.
    nt: usize,
    /// Number of values in a record.
    values: usize,
    elements: usize,
    table: Tabulated<D>,
    faces: Vec<FacePoint<D>>,
    in_fluids: Vec<InFluid>,
    /// The sums for derivatives with respect to the sources, if requested.
    probes: Option<Probes<D>>,
    /// The time step, s.
    dt: f64,
    /// The factor of the adjoint sources, a power of two.
    scale: f64,
    pub(super) machine: M,
}

/// A source in a fluid, at the points of its element.
struct InFluid {
    element: u32,
    /// Minus its moment over the bulk modulus.
    weights: Vec<Number>,
    history: Vec<Number>,
    /// The sums of the products of its time function and the second derivative of the adjoint potential.
    sums: Vec<f64>,
}

impl InFluid {
    /// The sources in fluids of a shot.
    fn of<const D: usize>(setup: &Setup<D>, table: &Tabulated<D>) -> Result<Vec<Self>, Error> {
        let locator = Locator::new(setup.mesh);
        let mut all = Vec::new();
        for (number, source) in setup.sources.iter().enumerate() {
            let location = locator.locate(&format!("source {}", number + 1), source.at)?;
            let Strength::Moment(moment) = &source.strength else {
                continue;
            };
            if !setup.is_fluid(location.element) {
                continue;
            }
            let mean = (0..D).map(|c| moment[c][c]).sum::<f64>() / D as f64;
            let weights = weights_in_fluid(setup, table, &location, mean).into_iter();
            all.push(Self {
                element: location.element as u32,
                weights: weights.map(|[w]| w as Number).collect(),
                history: source.history.clone(),
                sums: vec![0.0; table.points()],
            });
        }
        Ok(all)
    }

    /// Adds the product of a step; `second` holds the second derivative of the adjoint potential.
    fn add(&mut self, step: usize, second: &[Number]) {
        let Some(now) = self.history.get(step) else {
            return;
        };
        for (sum, second) in self.sums.iter_mut().zip(second) {
            *sum += f64::from(*now) * f64::from(*second);
        }
    }
}

impl<const D: usize> Adjoint<D> {
    /// Prepares a shot over solids and fluids on processors, for derivatives with respect to these parameters.
    ///
    /// # Errors
    /// Returns an error for a set-up for which [`unsupported`] returns a reason, for a shot without receivers, and for
    /// a source or receiver outside the mesh.
    pub fn new(cpu: Cpu, setup: &Setup<D>, shot: &Shot<D>, parameters: Parameters) -> Result<Self, Error> {
        Self::on(setup, shot, parameters, |faces, widths| {
            Processors::new(cpu, setup, shot, (faces.to_vec(), widths))
        })
    }
}

impl<const D: usize, M: Machine<D>> Adjoint<D, M> {
    /// Prepares a shot on a machine, which is made for these points of absorbing faces.
    pub(super) fn on(
        setup: &Setup<D>,
        shot: &Shot<D>,
        parameters: Parameters,
        machine: impl FnOnce(&[FacePoint<D>], Widths) -> Result<M, Error>,
    ) -> Result<Self, Error> {
        check(setup, shot, parameters)?;
        let table = Tabulated::new(setup.mesh.order(), setup.basis);
        let cut = Cut::new(setup, std::slice::from_ref(&(0..setup.mesh.len())))?;
        let faces = face_points(setup, &cut.share(0), &table);
        let machine = machine(&faces, Widths::of(setup, parameters))?;
        check_receivers(&machine, shot)?;
        Ok(Self {
            parameters,
            in_fluids: InFluid::of(setup, &table)?,
            probes: None,
            dt: setup.dt,
            scale: 1.0,
            nt: shot.nt,
            values: shot.receivers.len() * shot.quantity.components(D),
            elements: setup.mesh.len(),
            table,
            faces,
            machine,
        })
    }

    /// Prepares another shot over the same mesh and medium, with other sources and receivers. All other fields of
    /// `setup` and `shot` must be unchanged.
    ///
    /// # Errors
    /// Returns the same errors as the set-up with the first shot; after an error the adjoint is unusable.
    pub fn next_shot(&mut self, setup: &Setup<D>, shot: &Shot<D>) -> Result<(), Error> {
        check(setup, shot, self.parameters)?;
        self.values = shot.receivers.len() * shot.quantity.components(D);
        self.machine.next_shot(setup, shot)?;
        self.in_fluids = InFluid::of(setup, &self.table)?;
        check_receivers(&self.machine, shot)
    }

    /// Bytes of a checkpoint and of a recorded step, for a [`CheckpointSchedule`].
    pub fn sizes(&self) -> [usize; 2] {
        self.machine.sizes()
    }

    /// Bytes of the other memory of the machine: the engine, the adjoint wavefield and the sums.
    pub fn machine_bytes(&self) -> usize {
        self.machine.bytes()
    }

    /// Bytes of host memory if the machine has separate memory: the adjoint sources, and the gradient at all points.
    pub fn host_bytes(&self) -> usize {
        let points = self.elements * self.table.points();
        let gradients = 2 * points * (self.parameters.count() + 3) * size_of::<f64>();
        let histories = 2 * self.values * self.steps() * size_of::<Number>();
        gradients + histories
    }

    /// Number of steps that are run: records of velocity and acceleration depend on the step after the last one.
    pub fn steps(&self) -> usize {
        self.nt + 1
    }

    /// The gradient of a misfit of the shot that was prepared last, whose `setup` and `shot` are passed. `judge`
    /// receives the records, `[record][component][receiver]` with components in the order of files (z, x[, y]) and one
    /// record every `jdata` steps, in m, m/s, m/s2 or Pa, and returns the derivative of the misfit with respect to each
    /// of them.
    ///
    /// # Errors
    /// Returns the errors of `judge`, and an error for a wrong number of derivatives or a wavefield that grows
    /// without bound.
    pub fn gradient(
        &mut self,
        (setup, shot): (&Setup<D>, &Shot<D>),
        schedule: &CheckpointSchedule,
        judge: impl FnOnce(Vec<Number>) -> Result<Vec<Number>, Error>,
    ) -> Result<Gradient<D>, Error> {
        let mut judge = Some(judge);
        let (mut records, mut run, mut first) = (Vec::new(), 0, 0);
        self.in_fluids.iter_mut().for_each(|source| source.sums.fill(0.0));
        let in_fluids = self.in_fluids.iter().map(|source| (source.element, true));
        let probed = self.probes.iter().flat_map(Probes::elements);
        self.machine.watch(&in_fluids.chain(probed).collect::<Vec<_>>())?;
        self.machine.begin()?;
        for action in schedule.actions(self.steps()) {
            match action {
                Action::Restore(mark) => self.machine.restore(mark)?,
                Action::Save(_) => self.machine.save()?,
                Action::Advance(range) => {
                    for step in range {
                        self.machine.step(None)?;
                        self.record(step, shot, (&mut run, &mut records))?;
                    }
                }
                Action::Record(range) => {
                    first = range.start;
                    for step in range {
                        self.machine.step(Some(step - first))?;
                        self.record(step, shot, (&mut run, &mut records))?;
                    }
                }
                Action::Reverse(range) => {
                    if let Some(judge) = judge.take() {
                        self.machine.finish_records(&mut records)?;
                        let count = records.len();
                        let residual = judge(std::mem::take(&mut records))?;
                        if residual.len() != count {
                            return Err(Error::setup(format!(
                                "the shot has {count} recorded values, but {} derivatives of the misfit with respect to them were given: one for each is needed",
                                residual.len()
                            )));
                        }
                        self.turn(&residual, setup, shot)?;
                    }
                    self.back(range, first, setup.sources)?;
                }
            }
        }
        self.machine.finish()?;
        self.chained(setup)
    }

    /// [`Adjoint::gradient`], and the derivatives with respect to the sources.
    ///
    /// # Errors
    /// Returns the errors of [`Adjoint::gradient`].
    pub fn gradient_with_sources(
        &mut self,
        (setup, shot): (&Setup<D>, &Shot<D>),
        schedule: &CheckpointSchedule,
        judge: impl FnOnce(Vec<Number>) -> Result<Vec<Number>, Error>,
    ) -> Result<(Gradient<D>, Vec<SourceGradient<D>>), Error> {
        self.probes = Some(Probes::new(&self.table, setup)?);
        let gradient = self.gradient((setup, shot), schedule, judge);
        let sources = self.probes.take().map(|probes| probes.finished(setup.sources));
        Ok((gradient?, sources.unwrap_or_default()))
    }

    /// Samples the receivers at a step that runs for the first time, and checks at some steps that the field is finite.
    fn record(
        &mut self,
        step: usize,
        shot: &Shot<D>,
        (run, records): (&mut usize, &mut Vec<Number>),
    ) -> Result<(), Error> {
        if step < *run {
            return Ok(());
        }
        *run = step + 1;
        let searches = step.is_multiple_of(shot.jcheck.max(1)) || *run == self.steps();
        if searches && self.machine.first_non_finite()?.is_some() {
            return Err(Error::setup(format!(
                "the wavefield is no longer finite at step {step}: the time step {} s is probably too large; take a smaller one",
                self.dt
            )));
        }
        if step.is_multiple_of(TOGETHER) {
            self.machine.note_largest()?;
        }
        if step < self.nt && step.is_multiple_of(shot.jdata) {
            self.machine.sample(records)?;
        }
        Ok(())
    }

    /// Starts an adjoint wavefield at rest, with the adjoint sources, reversed in time, at the receivers.
    fn turn(&mut self, residual: &[Number], setup: &Setup<D>, shot: &Shot<D>) -> Result<(), Error> {
        let (steps, count) = (self.steps(), shot.receivers.len());
        let components = shot.quantity.components(D);
        let mut histories = Vec::with_capacity(count * components);
        for (r, at) in shot.receivers.iter().enumerate() {
            for c in 0..components {
                let mut of_records = vec![0.0; steps];
                let rows = residual.chunks_exact(self.values);
                for (record, row) in rows.enumerate() {
                    of_records[record * shot.jdata] = f64::from(row[c * count + r]);
                }
                let mut force = [0.0; D];
                force[Engine::<D>::axis(shot.quantity, c)] = 1.0;
                histories.push((*at, force, transposed(shot.quantity, &of_records, setup.dt)));
            }
        }
        let all = histories.iter().flat_map(|(.., history)| history);
        let strongest = all.fold(0.0, |most: f64, x| most.max(x.abs()));
        let of_pressure = shot.quantity == Quantity::Pressure;
        let [displacement, pressure] = self.machine.largest()?;
        self.scale = match of_pressure {
            true => scale(strongest, pressure.into(), 1e8),
            false => scale(strongest, displacement.into(), 1e14),
        };
        let source = |(at, force, history): ([f64; D], [f64; D], Vec<f64>)| Source {
            at,
            strength: Strength::Force(force),
            history: history
                .into_iter()
                .rev()
                .map(|x| (self.scale * x) as Number)
                .collect(),
        };
        let sources: Vec<_> = histories.into_iter().map(source).collect();
        let setup = Setup {
            sources: &sources,
            ..*setup
        };
        self.machine.turn(&setup, of_pressure)
    }

    /// Runs back through recorded steps; `of_shot` are the sources of the forward run.
    fn back(
        &mut self,
        range: std::ops::Range<usize>,
        first: usize,
        of_shot: &[Source<D>],
    ) -> Result<(), Error> {
        let Self {
            machine,
            in_fluids,
            probes,
            scale,
            table,
            ..
        } = self;
        let mut seen = |step: usize, values: &[Number]| {
            let of_sources = in_fluids.len() * table.points();
            let (own, rest) = values.split_at(of_sources);
            for (source, second) in in_fluids.iter_mut().zip(own.chunks(table.points())) {
                source.add(step, second);
            }
            if let Some(probes) = probes {
                probes.add((of_shot, *scale), step, rest);
            }
        };
        match machine.back(range, first, &mut seen)? {
            true => Ok(()),
            false => Err(Error::setup(
                "the adjoint wavefield is not finite: the residuals are not finite or too large for single precision; check the amplitudes of the data and of their weights",
            )),
        }
    }
}

/// The factor of the adjoint sources, from the largest of them and the largest displacement (m) or pressure (Pa) of
/// the forward run: it makes the product of these two equal to `product`. A force of 1 N moves a point 100 m away in
/// rock by about 1e-14 m, and the displacements of both runs should have a product near one; for sources of 1 Pa in
/// fluids the products are then 1e-4 to 1e4 there, and 1e-16 in rock.
fn scale(strongest: f64, largest: f64, product: f64) -> f64 {
    let factor = product / (strongest * largest);
    // Sources stay below 1e30, far below the largest float.
    let most = 1e30 / strongest;
    let factor = factor.min(most);
    match factor.is_finite() && factor > 0.0 {
        true => factor.log2().round().exp2(),
        false => 1.0,
    }
}

/// Converts derivatives with respect to the records of every step to derivatives with respect to the displacement of
/// every step: the transpose of the difference by which a quantity is computed from the displacement.
fn transposed(quantity: Quantity, of_records: &[f64], dt: f64) -> Vec<f64> {
    let at = |step: Option<usize>| step.and_then(|step| of_records.get(step)).copied().unwrap_or(0.0);
    let each = 0..of_records.len();
    match quantity {
        Quantity::Velocity => each
            .map(|n| (at(n.checked_sub(1)) - at(Some(n + 1))) / (2.0 * dt))
            .collect(),
        Quantity::Acceleration => each
            .map(|n| (at(n.checked_sub(1)) - 2.0 * at(Some(n)) + at(Some(n + 1))) / (dt * dt))
            .collect(),
        _ => of_records.to_vec(),
    }
}

fn check<const D: usize>(setup: &Setup<D>, shot: &Shot<D>, parameters: Parameters) -> Result<(), Error> {
    match unsupported(setup, shot.quantity, parameters) {
        Some(why) => Err(Error::setup(why.to_string())),
        None if shot.receivers.is_empty() => Err(Error::setup(
            "there are no receivers: a gradient needs at least one",
        )),
        None => Ok(()),
    }
}

/// Returns an error for receivers whose records have no derivatives.
fn check_receivers<const D: usize>(machine: &impl Machine<D>, shot: &Shot<D>) -> Result<(), Error> {
    match (shot.quantity, machine.receivers_in_fluids().first()) {
        (Quantity::Pressure, None) => Err(Error::setup(
            "no receiver lies in a fluid, but pressure is recorded only there: record displacement, velocity or acceleration",
        )),
        (Quantity::Pressure, _) | (_, None) => Ok(()),
        (_, Some((number, element))) => Err(Error::setup(format!(
            "receiver {} at {} lies in element {element}, a fluid, where derivatives are those of pressure: record pressure, or leave the receiver out",
            number + 1,
            Place::from(shot.receivers[*number]),
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::scale;

    #[test]
    fn adjoint_sources_are_scaled_by_powers_of_two_below_the_largest_number() {
        // For displacements of 1e-14 m, the product of source and displacement becomes one.
        for (strongest, largest) in [(1.0, 1e-14), (3e-9, 2e-5), (7e12, 0.3)] {
            let product = scale(strongest, largest, 1.0) * strongest * largest;
            assert!((0.7..1.42).contains(&product), "{product}");
        }
        assert_eq!(scale(1.0, 1e-14, 1.0).log2().fract(), 0.0);
        // Here hardly any or no motion was found.
        for largest in [1e-35, 0.0] {
            let source = 1e3 * scale(1e3, largest, 1e14);
            assert!((7e29..1.42e30).contains(&source), "{source:e}");
        }
        assert_eq!(scale(0.0, 1.0, 1e14), 1.0);
    }
}
