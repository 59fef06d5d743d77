//! Gradients on meshes: the derivative of a misfit by the density and the moduli of every point of every element.
//!
//! The step of `cpu.rs` is the central difference `M D2 u + C D1 u + K u = f`, with `D2` and `D1` the differences of second and first
//! order in time, and M, C and K symmetric. Its transpose is therefore the same step, backwards in time, with the derivative of the misfit by the
//! records in place of the forces (as Tromp, Tape & Liu 2005 have it for continuous time, here for every step of the discrete program):
//! the adjoint wavefield is computed by the same engine as the forward wavefield. With attenuation K is a convolution in time as well, the
//! same at every step and symmetric in space, whose transpose is again the same backwards in time.
//!
//! A fluid with the potential chi meets the solid as `M D2 u + K u + A D2 chi = f` and `Mf D2 chi + Kf chi - A' u = g`. The transpose has the
//! same form where the adjoint potential psi is the one whose second difference is minus the multiplier of the second equation: then records of
//! the pressure `-D2 chi` put the derivative of the misfit into the fluid as a source of psi.
//!
//! With the forward displacement u and the adjoint displacement l, both at the same time, and at a point of an element the weight w of the
//! quadrature, the Jacobian's determinant J, the normal n of a face and the damping c of the sponge over the P speed, the derivatives are
//!
//! | by | derivative |
//! | --- | --- |
//! | density, in the mass | `- w J u . D2 l` |
//! | bulk modulus | `- w J div u (div l - r)` |
//! | mu at a held bulk modulus | `- 2 w J e(u) : (dev e(l) - R)` |
//! | impedances of absorbing faces | `- area (u . n) (D1 l . n)`, and the same across the normal |
//! | P impedance in the sponge | `- w J c u . D1 l` |
//! | one over the bulk modulus of a fluid | `w J D2 chi D2 psi`, at a source of the moment M also `M h D2 psi` |
//! | one over its density | `w J grad D2 chi . grad psi` |
//! | admittances of its absorbing faces | `area D2 chi D1 psi` |
//! | one over its P impedance in the sponge | `w J c D2 chi D1 psi` |
//!
//! summed over steps, with `D1` of l and of psi in the order of the adjoint run, backwards in time, and with r and R what memory variables take from the adjoint stress over the unrelaxed moduli. The time derivatives have been
//! moved to the adjoint wavefield by summation by parts, so that only the displacement of the forward wavefield is kept, and `D2 chi` of
//! fluids. Records of velocity and acceleration are `D1 u` and `D2 u`; their transposes act on the adjoint sources, and the run has one step
//! more, because a central difference needs the following step.
//!
//! The products are summed in single precision. The adjoint sources are therefore scaled by a power of two, so that the products are far
//! from its limits whatever the strength of the sources.

mod chain;
mod correlate;
mod linearised;
mod parameters;
mod scattering;
mod sources;
mod state;
mod sweep;
mod unsupported;

use std::sync::Arc;

use super::boundary::{FacePoint, face_points};
use super::cut::Cut;
use super::points::{Placed, Quantity};
use super::{Engine, Setup, Shot, Source, Strength};
use crate::Error;
use crate::device::cpu::Cpu;
use crate::mesh::geometry::Tabulated;
use crate::mesh::{Locator, Place};
use crate::time_loop::Sampler;
use crate::time_loop::reversal::{Action, CheckpointSchedule};
pub use chain::{Gradient, covers};
use correlate::{CONSTANTS, LOSSY, PRODUCTS, Products};
pub use linearised::Change;
pub use parameters::Parameters;
use sources::Probes;
pub use sources::SourceGradient;
use state::{Kept, Sources, State};
pub use unsupported::{Unsupported, unsupported};

/// Steps whose products are summed in single precision before they are added to sums in double precision.
const TOGETHER: usize = 32;

/// The forward and the adjoint run of one shot, for the gradient of a misfit of its records.
pub struct Adjoint<const D: usize> {
    parameters: Parameters,
    /// Steps of the shot, numbers of a record, elements.
    nt: usize,
    values: usize,
    elements: usize,
    table: Tabulated<D>,
    engine: Engine<D>,
    faces: Vec<FacePoint<D>>,
    /// Of solids and of fluids.
    products: [Products; 2],
    /// Of the points of absorbing faces: along the normal and across it; of a fluid the first alone.
    face_sums: Vec<[f64; 2]>,
    /// Of the sources in fluids at every point of their element: `[block][source][point]`.
    source_sums: Vec<Vec<Vec<f64>>>,
    /// Of the sources, where they are asked for.
    probes: Option<Probes<D>>,
    /// The largest displacement (m) and pressure (Pa) that were met in the forward run.
    largest: [f32; 2],
    /// By what the adjoint sources are multiplied, a power of two.
    scale: f64,
}

impl<const D: usize> Adjoint<D> {
    /// Prepares a shot over solids and fluids, for derivatives by these parameters.
    ///
    /// # Errors
    /// What [`unsupported`] names; no receivers; a source or receiver outside of the mesh.
    pub fn new(cpu: Cpu, setup: &Setup<D>, shot: &Shot<D>, parameters: Parameters) -> Result<Self, Error> {
        check(setup, shot, parameters)?;
        let cut = Cut::new(setup, std::slice::from_ref(&(0..setup.mesh.len())))?;
        let locator = Locator::new(setup.mesh);
        let engine = Engine::part(Arc::new(cpu), setup, shot, (&cut, &locator, 0))?;
        let table = Tabulated::new(setup.mesh.order(), setup.basis);
        let faces = face_points(setup, &cut.share(0), &table);
        let blocks = [
            engine.blocks.len(),
            engine.fluid.as_ref().map_or(0, |f| f.blocks.len()),
        ];
        check_receivers(&engine, shot)?;
        let widths = match parameters {
            Parameters::Constants => [CONSTANTS, PRODUCTS],
            _ if setup.relaxations.is_some() => [LOSSY, PRODUCTS],
            _ => [PRODUCTS; 2],
        };
        let products = |k: usize| Products::new(blocks[k], table.points(), widths[k]);
        Ok(Self {
            products: [products(0), products(1)],
            parameters,
            face_sums: vec![[0.0; 2]; faces.len()],
            source_sums: Vec::new(),
            probes: None,
            largest: [0.0; 2],
            scale: 1.0,
            nt: shot.nt,
            values: shot.receivers.len() * shot.quantity.components(D),
            elements: setup.mesh.len(),
            table,
            engine,
            faces,
        })
    }

    /// Prepares another shot over the same mesh and medium: other sources and receivers. Everything else of `setup` and `shot` is as it was.
    ///
    /// # Errors
    /// As of the first one; it is of no use then.
    pub fn next_shot(&mut self, setup: &Setup<D>, shot: &Shot<D>) -> Result<(), Error> {
        check(setup, shot, self.parameters)?;
        self.values = shot.receivers.len() * shot.quantity.components(D);
        self.engine.next_shot(setup, shot, &Locator::new(setup.mesh))?;
        check_receivers(&self.engine, shot)
    }

    /// Bytes of a checkpoint and of a recorded step, as a [`CheckpointSchedule`] asks for them.
    pub fn sizes(&self) -> [usize; 2] {
        [State::bytes(&self.engine), Kept::bytes(&self.engine)]
    }

    /// Bytes beside those: the engine, the adjoint wavefield with its sources, sums, and the gradient at all points.
    pub fn bytes(&self) -> usize {
        let points = self.elements * self.table.points();
        let gradients = 2 * points * (self.parameters.count() + 3) * size_of::<f64>();
        let histories = 2 * self.values * self.steps() * size_of::<f32>();
        let faces = size_of_val(&self.faces[..]) + size_of_val(&self.face_sums[..]);
        self.engine.bytes()
            + self.sizes()[0]
            + self.products.iter().map(Products::bytes).sum::<usize>()
            + gradients
            + histories
            + faces
    }

    /// Steps that are run: records of velocity and acceleration know the step behind the last one.
    pub fn steps(&self) -> usize {
        self.nt + 1
    }

    /// The gradient of a misfit of the shot that was prepared last, whose `setup` and `shot` are given. `judge` takes the records, `[record][component][receiver]` with components in the order of files (z, x[, y])
    /// and one record in `jdata` steps, in m, m/s, m/s2 or Pa, and gives the derivative of the misfit by each of them.
    ///
    /// # Errors
    /// Those of `judge`; as many derivatives as there are no records; a wavefield that grows without bound.
    pub fn gradient(
        &mut self,
        (setup, shot): (&Setup<D>, &Shot<D>),
        schedule: &CheckpointSchedule,
        judge: impl FnOnce(Vec<f32>) -> Result<Vec<f32>, Error>,
    ) -> Result<Gradient<D>, Error> {
        let steps = self.steps();
        let mut judge = Some(judge);
        let (mut records, mut seen) = (Vec::new(), 0);
        self.largest = [0.0; 2];
        let fluid = self.engine.fluid.as_ref();
        self.source_sums = fluid.map_or_else(Vec::new, |fluid| {
            let zeros = |source: &Placed<1>| vec![0.0; source.weights.len()];
            let of_block = |all: &Vec<Placed<1>>| all.iter().map(zeros).collect();
            fluid.sources.iter().map(of_block).collect()
        });
        let mut marks: Vec<State<D>> = Vec::new();
        let (mut tape, mut first) = (Vec::<Kept<D>>::new(), 0);
        let mut back: Option<(State<D>, Sources<D>)> = None;
        for action in schedule.actions(steps) {
            match action {
                Action::Restore(mark) => {
                    marks.truncate(mark);
                    let state = marks.last().cloned();
                    let mut state = state.unwrap_or_else(|| State::rest(&self.engine));
                    state.swap(&mut self.engine);
                }
                Action::Save(_) => marks.push(State::of(&self.engine)),
                Action::Advance(range) => {
                    for step in range {
                        self.engine.step();
                        self.record(step, shot, (&mut seen, &mut records))?;
                    }
                }
                Action::Record(range) => {
                    first = range.start;
                    tape.resize(tape.len().max(range.len()), Kept::default());
                    for step in range {
                        self.engine.step();
                        self.record(step, shot, (&mut seen, &mut records))?;
                        tape[step - first].take(&self.engine);
                    }
                }
                Action::Reverse(range) => {
                    if let Some(judge) = judge.take() {
                        let count = records.len();
                        let residual = judge(std::mem::take(&mut records))?;
                        if residual.len() != count {
                            return Err(Error::setup(format!(
                                "a shot has {count} records and {} derivatives of the misfit by them",
                                residual.len()
                            )));
                        }
                        back = Some(self.back(&residual, setup, shot)?);
                    }
                    let Some((state, sources)) = &mut back else {
                        continue;
                    };
                    state.swap(&mut self.engine);
                    sources.swap(&mut self.engine);
                    self.sweep((&tape, first), (range, &sources.fluid), setup.sources)?;
                    sources.swap(&mut self.engine);
                    state.swap(&mut self.engine);
                }
            }
        }
        self.products.iter_mut().for_each(Products::flush);
        Ok(self.chained(setup))
    }

    /// The same with the derivatives by the sources.
    ///
    /// # Errors
    /// Those of [`Adjoint::gradient`].
    pub fn gradient_with_sources(
        &mut self,
        (setup, shot): (&Setup<D>, &Shot<D>),
        schedule: &CheckpointSchedule,
        judge: impl FnOnce(Vec<f32>) -> Result<Vec<f32>, Error>,
    ) -> Result<(Gradient<D>, Vec<SourceGradient<D>>), Error> {
        self.probes = Some(Probes::new(self, setup)?);
        let gradient = self.gradient((setup, shot), schedule, judge);
        let sources = self.probes.take().map(|probes| probes.finished(setup.sources));
        Ok((gradient?, sources.unwrap_or_default()))
    }

    /// Takes the records of a step that is run for the first time.
    fn record(
        &mut self,
        step: usize,
        shot: &Shot<D>,
        (seen, records): (&mut usize, &mut Vec<f32>),
    ) -> Result<(), Error> {
        if step < *seen {
            return Ok(());
        }
        *seen = step + 1;
        let searches = step.is_multiple_of(shot.jcheck.max(1)) || *seen == self.steps();
        if searches && self.engine.first_non_finite()?.is_some() {
            return Err(Error::setup(format!(
                "the wavefield is no longer finite at step {step}: the time step {} s is probably too large; take a smaller one",
                self.engine.dt
            )));
        }
        if step.is_multiple_of(TOGETHER) {
            let largest = |most: f32, all: &[f32]| all.iter().fold(most, |most, x| most.max(x.abs()));
            self.largest[0] = largest(self.largest[0], self.engine.displacement.as_flattened());
            if let Some(fluid) = &self.engine.fluid {
                self.largest[1] = largest(self.largest[1], fluid.second.as_flattened());
            }
        }
        if step < self.nt && step.is_multiple_of(shot.jdata) {
            let from = records.len();
            records.resize(from + self.values, 0.0);
            self.engine.traces(&mut records[from..])?;
        }
        Ok(())
    }

    /// The adjoint wavefield at rest, with the adjoint sources at the receivers, reversed in time.
    fn back(
        &mut self,
        residual: &[f32],
        setup: &Setup<D>,
        shot: &Shot<D>,
    ) -> Result<(State<D>, Sources<D>), Error> {
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
        self.scale = match shot.quantity {
            Quantity::Pressure => scale(strongest, self.largest[1].into(), 1e8),
            _ => scale(strongest, self.largest[0].into(), 1e14),
        };
        let source = |(at, force, history): ([f64; D], [f64; D], Vec<f64>)| Source {
            at,
            strength: Strength::Force(force),
            history: history
                .into_iter()
                .rev()
                .map(|x| (self.scale * x) as f32)
                .collect(),
        };
        let sources: Vec<_> = histories.into_iter().map(source).collect();
        let setup = Setup {
            sources: &sources,
            ..*setup
        };
        let (engine, locator) = (&self.engine, Locator::new(setup.mesh));
        let homes = (&engine.homes, engine.blocks.len());
        let mut placed = Sources {
            solid: vec![Vec::new(); engine.blocks.len()],
            fluid: vec![Vec::new(); engine.fluid.as_ref().map_or(0, |f| f.blocks.len())],
        };
        match (shot.quantity, &engine.fluid) {
            (Quantity::Pressure, Some(fluid)) => {
                let homes = (&fluid.homes, fluid.blocks.len());
                placed.fluid = Placed::of_pressure(&setup, &locator, homes)?;
            }
            (Quantity::Pressure, None) => {}
            _ => placed.solid = Placed::in_solid(&setup, &locator, homes)?,
        }
        Ok((State::rest(engine), placed))
    }
}

/// By what adjoint sources are multiplied, the largest of which is given, as is the largest displacement (m) or pressure (Pa) of the forward
/// run: their product becomes `wanted`. A force of 1 N moves a point 100 m away in rock by some 1e-14 m, and the displacements of both runs
/// are to have a product near one; for sources of 1 Pa in fluids the products are 1e-4 to 1e4 there, and 1e-16 in rock.
fn scale(strongest: f64, largest: f64, wanted: f64) -> f64 {
    let wanted = wanted / (strongest * largest);
    // Sources stay below 1e30, far from the largest number.
    let most = 1e30 / strongest;
    let found = wanted.min(most);
    match found.is_finite() && found > 0.0 {
        true => found.log2().round().exp2(),
        false => 1.0,
    }
}

/// From derivatives by the records of every step to those by the displacement of every step: the transpose of the difference that a
/// quantity is of the displacement.
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
        None if shot.receivers.is_empty() => Err(Error::setup("there are no receivers")),
        None => Ok(()),
    }
}

/// Refuses receivers whose records have no derivative.
fn check_receivers<const D: usize>(engine: &Engine<D>, shot: &Shot<D>) -> Result<(), Error> {
    let receivers = engine.recording.receivers.iter();
    let mut in_fluids = receivers.filter(|(_, receiver)| receiver.is_in_fluid());
    match (shot.quantity, in_fluids.next()) {
        (Quantity::Pressure, None) => Err(Error::setup(
            "no receiver lies in a fluid, and pressure is recorded there alone: record displacement, velocity or acceleration",
        )),
        (Quantity::Pressure, _) | (_, None) => Ok(()),
        (_, Some((number, receiver))) => Err(Error::setup(format!(
            "receiver {} at {} lies in element {}, a fluid, where derivatives are those of pressure: record pressure, or leave the receiver out",
            number + 1,
            Place::from(shot.receivers[*number]),
            receiver.element
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::scale;

    #[test]
    fn adjoint_sources_are_scaled_by_powers_of_two_below_the_largest_number() {
        // Displacements of 1e-14 m: the product of source and displacement becomes one.
        for (strongest, largest) in [(1.0, 1e-14), (3e-9, 2e-5), (7e12, 0.3)] {
            let product = scale(strongest, largest, 1.0) * strongest * largest;
            assert!((0.7..1.42).contains(&product), "{product}");
        }
        assert_eq!(scale(1.0, 1e-14, 1.0).log2().fract(), 0.0);
        // Next to nothing was met, and nothing at all.
        for largest in [1e-35, 0.0] {
            let source = 1e3 * scale(1e3, largest, 1e14);
            assert!((7e29..1.42e30).contains(&source), "{source:e}");
        }
        assert_eq!(scale(0.0, 1.0, 1e14), 1.0);
    }
}
