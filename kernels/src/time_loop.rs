//! The time loop: stages, edges, exchange, interior, recorder. It names no field and no device.

use crate::Error;
use crate::domain::exchange::Exchange;
use crate::domain::partition;
use std::ops::Range;

/// A method's fields on one slab of the grid: what a device owns.
pub trait Slab {
    /// Number type of the fields.
    type Number;

    /// Stages of a step between which ghosts must travel.
    fn stages(&self) -> usize;

    /// The slab's planes and how a step walks through them.
    fn layout(&self) -> &partition::Slab;

    /// Computes one stage on a range of own planes: stencil, sources, boundaries, in the order of the method. The
    /// ranges of a step cover the slab once, in any order.
    fn update(&mut self, stage: usize, planes: Range<usize>, it: usize) -> Result<(), Error>;

    /// The new level becomes the current one.
    fn finish_step(&mut self);

    /// Writes the receivers that lie on this slab into `out`, `[component][receiver]`; leaves the others alone.
    fn traces(&self, out: &mut [Self::Number]);

    /// Appends one component of one own plane of the snapshot window to `out`.
    fn snapshot(&self, component: usize, plane: usize, out: &mut Vec<Self::Number>);

    /// The first cell `[z, x, y]` (padded) whose field is not finite.
    fn first_non_finite(&self) -> Option<[usize; 3]>;
}

/// Takes what the engine measures; the program behind it writes files.
pub trait Recorder<T> {
    /// Receivers after step `it`, `[component][receiver]`.
    fn traces(&mut self, it: usize, traces: &[T]) -> Result<(), Error>;
    /// A piece of the snapshot after step `it`: pieces follow each other in file order until the window is whole.
    fn snapshot(&mut self, it: usize, piece: &[T]) -> Result<(), Error>;
    /// Step `it` is done: a place for progress.
    fn step(&mut self, _it: usize) -> Result<(), Error> {
        Ok(())
    }
}

/// When to record and to look.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Steps.
    pub nt: usize,
    /// Receivers after every `jdata`-th step, step 0 included.
    pub jdata: usize,
    /// Receivers.
    pub receivers: usize,
    /// Components of a trace and of a snapshot.
    pub components: usize,
    /// Snapshots after every so many steps, step 0 included.
    pub jsnap: Option<usize>,
    /// Planes of the snapshot window, in padded indices.
    pub snapshot_planes: Range<usize>,
    /// Steps between two searches for values that are not finite.
    pub jcheck: usize,
}

/// Where the search for values that are not finite found one.
pub type Report<'a> = &'a dyn Fn(usize, [usize; 3]) -> Error;

/// Runs all steps of a schedule over the slabs of this process, lowest plane first.
pub fn run<S: Slab<Number: Default + Clone>>(
    slabs: &mut [S],
    exchange: &mut dyn Exchange<S>,
    schedule: &Schedule,
    recorder: &mut dyn Recorder<S::Number>,
    report: Report<'_>,
) -> Result<(), Error> {
    let mut traces = vec![S::Number::default(); schedule.receivers * schedule.components];
    for it in 0..schedule.nt {
        step(slabs, exchange, it)?;
        let look = (it + 1) % schedule.jcheck == 0 || it + 1 == schedule.nt;
        if look && let Some(cell) = slabs.iter().find_map(|s| s.first_non_finite()) {
            return Err(report(it, cell));
        }
        if it % schedule.jdata == 0 {
            slabs.iter().for_each(|s| s.traces(&mut traces));
            recorder.traces(it, &traces)?;
        }
        if schedule.jsnap.is_some_and(|every| it % every == 0) {
            snapshot(slabs, schedule, it, recorder)?;
        }
        recorder.step(it)?;
    }
    Ok(())
}

/// One time step: edges first, so that their ghosts travel while the interior is computed.
pub fn step<S: Slab>(slabs: &mut [S], exchange: &mut dyn Exchange<S>, it: usize) -> Result<(), Error> {
    let stages = slabs.first().map_or(0, |s| s.stages());
    for stage in 0..stages {
        for slab in slabs.iter_mut() {
            let layout = slab.layout().clone();
            layout.edges().try_for_each(|part| slab.update(stage, part, it))?;
        }
        exchange.start(slabs, stage)?;
        for slab in slabs.iter_mut() {
            let interior = slab.layout().interior.clone();
            if !interior.is_empty() {
                slab.update(stage, interior, it)?;
            }
        }
        exchange.finish(slabs, stage)?;
    }
    slabs.iter_mut().for_each(|s| s.finish_step());
    Ok(())
}

fn snapshot<S: Slab>(
    slabs: &[S],
    schedule: &Schedule,
    it: usize,
    recorder: &mut dyn Recorder<S::Number>,
) -> Result<(), Error> {
    let mut piece = Vec::new();
    for component in 0..schedule.components {
        for plane in schedule.snapshot_planes.clone() {
            let owner = slabs
                .iter()
                .find(|s| s.layout().own.contains(&plane))
                .expect("slabs cover all planes");
            piece.clear();
            owner.snapshot(component, plane, &mut piece);
            recorder.snapshot(it, &piece)?;
        }
    }
    Ok(())
}
