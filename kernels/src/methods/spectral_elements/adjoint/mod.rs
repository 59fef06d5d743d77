//! Gradients on meshes: the derivative of a misfit by the density and the moduli of every point of every element.
//!
//! The step of `cpu.rs` is the central difference `M D2 u + C D1 u + K u = f`, with `D2` and `D1` the differences of second and first
//! order in time, and M, C and K symmetric. Its transpose is therefore the same step, backwards in time, with the derivative of the misfit by the
//! records in place of the forces (as Tromp, Tape & Liu 2005 have it for continuous time, here for every step of the discrete program):
//! the adjoint wavefield is computed by the same engine as the forward wavefield. With the forward displacement u and the adjoint
//! displacement l, both at the same time, and at a point of an element the weight w of the quadrature, the Jacobian's determinant J, the
//! normal n of a face and the damping c of the sponge,
//!
//! | by | derivative |
//! | --- | --- |
//! | density, in the mass | `- w J u . D2 l` |
//! | lambda | `- w J div u div l` |
//! | mu | `- 2 w J e(u) : e(l)` |
//! | impedances of absorbing faces | `- area (u . n) (D1 l . n)`, and the same across the normal |
//! | density and P speed in the sponge | `- w J c u . D1 l` |
//!
//! summed over steps. The time derivatives have been moved to the adjoint wavefield by summation by parts, so that only the displacement
//! of the forward wavefield is kept. Records of velocity and acceleration are `D1 u` and `D2 u`; their transposes act on the adjoint
//! sources, and the run has one step more, because a central difference needs the following step.
//!
//! The products are summed in single precision. The adjoint sources are therefore scaled by a power of two, so that the products are far
//! from its limits whatever the strength of the sources.

mod chain;
mod correlate;
mod unsupported;

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::boundary::{FacePoint, face_points};
use super::cpu::by_length;
use super::cut::Cut;
use super::lanes::{LANES, Lanes};
use super::points::{Placed, Quantity};
use super::shape::Tables;
use super::{Engine, Setup, Shot, Source, Strength};
use crate::Error;
use crate::device::cpu::{Cpu, flushed};
use crate::mesh::Locator;
use crate::mesh::geometry::Tabulated;
use crate::time_loop::Sampler;
use crate::time_loop::reversal::{Action, CheckpointSchedule};
pub use chain::{Gradient, Parameters, covers};
use correlate::{Back, Correlate, PRODUCTS, Room};
pub use unsupported::{Unsupported, unsupported};

/// Steps whose products are summed in single precision before they are added to sums in double precision.
const TOGETHER: usize = 32;

/// State that differs between the forward and the adjoint run: all else of the engine serves both.
struct Waves<const D: usize> {
    displacement: Vec<[f32; D]>,
    velocity: Vec<[f32; D]>,
    acceleration: Vec<[f32; D]>,
    sources: Vec<Vec<Placed<D>>>,
    step: usize,
}

impl<const D: usize> Waves<D> {
    /// At rest.
    fn new(points: usize, sources: Vec<Vec<Placed<D>>>) -> Self {
        let rest = || vec![[0.0; D]; points];
        Self {
            displacement: rest(),
            velocity: rest(),
            acceleration: rest(),
            sources,
            step: 0,
        }
    }

    /// Changes places with those of the engine.
    fn swap(&mut self, engine: &mut Engine<D>) {
        std::mem::swap(&mut self.displacement, &mut engine.displacement);
        std::mem::swap(&mut self.velocity, &mut engine.velocity);
        std::mem::swap(&mut self.acceleration, &mut engine.acceleration);
        std::mem::swap(&mut self.sources, &mut engine.sources);
        std::mem::swap(&mut self.step, &mut engine.step);
    }
}

/// Displacement, velocity and acceleration behind a step.
struct Mark<const D: usize> {
    step: usize,
    fields: [Vec<[f32; D]>; 3],
}

/// The forward and the adjoint run of one shot, for the gradient of a misfit of its records.
pub struct Adjoint<const D: usize> {
    /// Steps of the shot, numbers of a record, elements.
    nt: usize,
    values: usize,
    elements: usize,
    table: Tabulated<D>,
    engine: Engine<D>,
    faces: Vec<FacePoint<D>>,
    /// `[block][point][product]`, in single precision and in double.
    sums: Vec<Vec<[Lanes; PRODUCTS]>>,
    totals: Vec<[f64; PRODUCTS]>,
    /// Of the points of absorbing faces: along the normal and across it.
    face_sums: Vec<[f64; 2]>,
    /// The largest displacement (m) that was met in the forward run.
    largest: f32,
    /// By what the adjoint sources are multiplied, a power of two.
    scale: f64,
}

impl<const D: usize> Adjoint<D> {
    /// Prepares a shot over isotropic solids.
    ///
    /// # Errors
    /// What [`unsupported`] names; no receivers; a source or receiver outside of the mesh.
    pub fn new(cpu: Cpu, setup: &Setup<D>, shot: &Shot<D>) -> Result<Self, Error> {
        check(setup, shot)?;
        let cut = Cut::new(setup, std::slice::from_ref(&(0..setup.mesh.len())))?;
        let locator = Locator::new(setup.mesh);
        let engine = Engine::part(Arc::new(cpu), setup, shot, (&cut, &locator, 0))?;
        let table = Tabulated::new(setup.mesh.order(), setup.basis);
        let faces = face_points(setup, &cut.share(0), &table);
        let blocks = engine.blocks.len();
        Ok(Self {
            sums: vec![vec![[Lanes::ZERO; PRODUCTS]; table.points()]; blocks],
            totals: vec![[0.0; PRODUCTS]; blocks * LANES * table.points()],
            face_sums: vec![[0.0; 2]; faces.len()],
            largest: 0.0,
            scale: 1.0,
            nt: shot.nt,
            values: shot.receivers.len() * D,
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
        check(setup, shot)?;
        self.values = shot.receivers.len() * D;
        self.engine.next_shot(setup, shot, &Locator::new(setup.mesh))
    }

    /// Bytes of a checkpoint and of a recorded step, as a [`CheckpointSchedule`] asks for them.
    pub fn sizes(&self) -> [usize; 2] {
        let field = size_of_val(&self.engine.displacement[..]);
        [3 * field, field]
    }

    /// Bytes beside those: the engine, the adjoint wavefield with its sources, sums, and the gradient at all points.
    pub fn bytes(&self) -> usize {
        let sums = self.sums.len() * self.table.points() * size_of::<[Lanes; PRODUCTS]>();
        let points = self.elements * self.table.points();
        let gradients = 2 * points * 2 * size_of::<[f64; 3]>();
        let histories = 2 * self.values * self.steps() * size_of::<f32>();
        let faces = size_of_val(&self.faces[..]) + size_of_val(&self.face_sums[..]);
        self.engine.bytes()
            + self.sizes()[0]
            + sums
            + size_of_val(&self.totals[..])
            + gradients
            + histories
            + faces
    }

    /// Steps that are run: records of velocity and acceleration know the step behind the last one.
    pub fn steps(&self) -> usize {
        self.nt + 1
    }

    /// The gradient of a misfit of the shot that was prepared last, whose `setup` and `shot` are given. `judge` takes the records, `[record][component][receiver]` with components in the order of files (z, x[, y])
    /// and one record in `jdata` steps, in m, m/s or m/s2, and gives the derivative of the misfit by each of them.
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
        self.largest = 0.0;
        let mut marks: Vec<Mark<D>> = Vec::new();
        let (mut tape, mut first) = (Vec::new(), 0);
        let mut back: Option<Waves<D>> = None;
        for action in schedule.actions(steps) {
            match action {
                Action::Restore(mark) => {
                    marks.truncate(mark);
                    self.restore(marks.last());
                }
                Action::Save(_) => marks.push(self.mark()),
                Action::Advance(range) => {
                    for step in range {
                        self.engine.step();
                        self.record(step, shot, (&mut seen, &mut records))?;
                    }
                }
                Action::Record(range) => {
                    first = range.start;
                    tape.resize(tape.len().max(range.len()), Vec::new());
                    for step in range {
                        self.engine.step();
                        self.record(step, shot, (&mut seen, &mut records))?;
                        tape[step - first].clone_from(&self.engine.displacement);
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
                    let Some(back) = &mut back else { continue };
                    back.swap(&mut self.engine);
                    self.sweep(&tape, first, range)?;
                    back.swap(&mut self.engine);
                }
            }
        }
        self.flush();
        Ok(self.chained(setup))
    }

    fn mark(&self) -> Mark<D> {
        let e = &self.engine;
        Mark {
            step: e.step,
            fields: [&e.displacement, &e.velocity, &e.acceleration].map(Clone::clone),
        }
    }

    /// Takes the state of a mark; without one rest.
    fn restore(&mut self, mark: Option<&Mark<D>>) {
        let e = &mut self.engine;
        let fields = [&mut e.displacement, &mut e.velocity, &mut e.acceleration];
        match mark {
            Some(mark) => fields
                .into_iter()
                .zip(&mark.fields)
                .for_each(|(field, kept)| field.clone_from(kept)),
            None => fields.into_iter().for_each(|field| field.fill([0.0; D])),
        }
        e.step = mark.map_or(0, |mark| mark.step);
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
            let all = self.engine.displacement.as_flattened();
            self.largest = all.iter().fold(self.largest, |most, x| most.max(x.abs()));
        }
        if step < self.nt && step.is_multiple_of(shot.jdata) {
            let from = records.len();
            records.resize(from + self.values, 0.0);
            self.engine.traces(&mut records[from..])?;
        }
        Ok(())
    }

    /// The adjoint wavefield at rest, with the adjoint sources at the receivers, reversed in time.
    fn back(&mut self, residual: &[f32], setup: &Setup<D>, shot: &Shot<D>) -> Result<Waves<D>, Error> {
        let (steps, count) = (self.steps(), shot.receivers.len());
        let mut histories = Vec::with_capacity(count * D);
        for (r, at) in shot.receivers.iter().enumerate() {
            for c in 0..D {
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
        self.scale = scale(
            all.fold(0.0, |most: f64, x| most.max(x.abs())),
            self.largest.into(),
        );
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
        let homes = (&self.engine.homes, self.engine.blocks.len());
        let placed = Placed::in_solid(&setup, &Locator::new(setup.mesh), homes)?;
        Ok(Waves::new(self.engine.displacement.len(), placed))
    }

    /// Runs back through recorded steps.
    fn sweep(&mut self, tape: &[Vec<[f32; D]>], first: usize, range: Range<usize>) -> Result<(), Error> {
        for step in range.rev() {
            self.engine.step();
            self.correlate(&tape[step - first]);
            self.correlate_faces(&tape[step - first]);
            if step.is_multiple_of(TOGETHER) {
                self.flush();
            }
        }
        match self.engine.first_non_finite()? {
            None => Ok(()),
            Some(_) => Err(Error::setup(
                "the adjoint wavefield is not finite: the residuals are not finite or too large for single precision; look at the amplitudes of the data and of their weights",
            )),
        }
    }

    fn correlate(&mut self, forward: &[[f32; D]]) {
        let engine = &self.engine;
        by_length!(engine, in_blocks(forward, &mut self.sums));
    }

    fn correlate_faces(&mut self, forward: &[[f32; D]]) {
        for (p, sums) in self.faces.iter().zip(&mut self.face_sums) {
            let (u, v) = (
                forward[p.point as usize].map(f64::from),
                self.engine.velocity[p.point as usize].map(f64::from),
            );
            let dot = |a: [f64; D], b: [f64; D]| (0..D).map(|c| a[c] * b[c]).sum::<f64>();
            let along = dot(u, p.normal) * dot(v, p.normal);
            sums[0] += along;
            sums[1] += dot(u, v) - along;
        }
    }

    /// Adds sums in single precision to those in double.
    fn flush(&mut self) {
        let points = self.table.points();
        let totals = self.totals.par_chunks_mut(LANES * points);
        self.sums.par_iter_mut().zip(totals).for_each(|(sums, totals)| {
            for (local, products) in sums.iter_mut().enumerate() {
                for (product, lanes) in products.iter_mut().enumerate() {
                    for (lane, x) in lanes.0.iter_mut().enumerate() {
                        totals[lane * points + local][product] += f64::from(std::mem::take(x));
                    }
                }
            }
        });
    }
}

impl<const D: usize> Engine<D> {
    /// Adds the products of a forward displacement with the wavefield of this engine to the sums of the blocks.
    fn in_blocks<const N: usize>(&self, forward: &[[f32; D]], sums: &mut [Vec<[Lanes; PRODUCTS]>]) {
        let tables = Tables::<N>::new(&self.basis);
        let back = Back {
            displacement: &self.displacement,
            velocity: &self.velocity,
            acceleration: &self.acceleration,
        };
        let (arch, points) = (self.cpu.arch(), N.pow(D as u32));
        self.cpu.install(|| {
            self.blocks.par_iter().zip(sums).for_each_init(
                || Room::<D>::new(points),
                |room, (block, sums)| {
                    flushed(|| {
                        arch.dispatch(Correlate {
                            block,
                            tables: &tables,
                            forward,
                            back,
                            room,
                            sums,
                        });
                    });
                },
            );
        });
    }
}

/// By what adjoint sources are multiplied, the largest of which is given (N) and the largest displacement (m) of the forward run: a force of
/// 1 N moves a point 100 m away in rock by some 1e-14 m, and the displacements of both runs are to have a product near one.
fn scale(force: f64, displacement: f64) -> f64 {
    let wanted = 1e14 / (force * displacement);
    // Sources stay below 1e30 N, far from the largest number.
    let most = 1e30 / force;
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

fn check<const D: usize>(setup: &Setup<D>, shot: &Shot<D>) -> Result<(), Error> {
    match unsupported(setup, shot.quantity) {
        Some(why) => Err(Error::setup(why.to_string())),
        None if shot.receivers.is_empty() => Err(Error::setup("there are no receivers")),
        None => Ok(()),
    }
}
