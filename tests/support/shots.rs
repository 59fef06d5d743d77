//! Media from formulas, shots with plain defaults, and a recorder that keeps everything: the common part of the tests
//! of the engine. Triples are (z, x, y) as in `kernels::grid`.
#![allow(dead_code)] // each test target that includes this file uses a part of it

use kernels::Error;
use kernels::boundary::free_surface::Surface;
use kernels::boundary::one_way::Form;
use kernels::device::cpu::Cpu;
use kernels::device::simd::Real;
use kernels::grid::Padded;
use kernels::grid::points::Point;
use kernels::medium::rotate::entry;
use kernels::medium::{Coefficients, Medium, Property, Stiffness, Voigt, lines_of_plane, needed};
use kernels::methods::displacement::SLABS;
use kernels::methods::displacement::{Shot, Simulation, Snapshots, SourceKind};
use kernels::time_loop::Recorder;
use std::ops::Range;

#[path = "largest.rs"]
mod largest;
#[allow(unused_imports)] // each test target uses a part of them
pub use largest::{
    correlation, lag, largest, largest_difference, magnitude, pick, records, records_of, relative_difference,
    rms_difference, spoil,
};

/// All output of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tape<T> {
    /// Steps with records.
    pub steps: Vec<usize>,
    /// `[record][component][receiver]`.
    pub traces: Vec<Vec<T>>,
    /// Snapshots `[component][y][x][z]` with their step.
    pub snapshots: Vec<(usize, Vec<T>)>,
}

/// A copy of the numbers that an engine has recorded, or their replacement by `SPOIL`.
pub fn kept<T: Real>(numbers: &[T]) -> Vec<T> {
    spoil::spoiled(numbers.to_vec(), (T::of(f64::NAN), T::of(0.0)), &spoil::ALL)
}

impl<T: Real> Recorder<T> for Tape<T> {
    fn traces(&mut self, it: usize, traces: &[T]) -> Result<(), Error> {
        self.steps.push(it);
        self.traces.push(kept(traces));
        Ok(())
    }

    fn snapshot(&mut self, it: usize, piece: &[T]) -> Result<(), Error> {
        let piece = &kept(piece)[..];
        match self.snapshots.last_mut() {
            Some((step, snapshot)) if *step == it => snapshot.extend_from_slice(piece),
            _ => self.snapshots.push((it, piece.to_vec())),
        }
        Ok(())
    }
}

impl<T: Real> Tape<T> {
    /// The trace of one component of one of `receivers` receivers.
    pub fn trace(&self, component: usize, receiver: usize, receivers: usize) -> Vec<f64> {
        let at = component * receivers + receiver;
        self.traces.iter().map(|record| record[at].f64()).collect()
    }

    /// Checks the number of values in each record and in each snapshot.
    #[track_caller]
    pub fn assert_lengths(&self, [record, snapshot]: [usize; 2]) {
        for (it, values) in self.steps.iter().zip(&self.traces) {
            assert_eq!(values.len(), record, "numbers of the record of step {it}");
        }
        for (it, values) in &self.snapshots {
            assert_eq!(values.len(), snapshot, "numbers of the snapshot of step {it}");
        }
    }

    /// The largest magnitude in all traces, which is not zero.
    pub fn peak(&self) -> f64 {
        magnitude(self.traces.iter().flatten().map(|x| x.f64()))
    }
}

/// A medium whose stiffness and density at the coordinates (z, x, y) are given by a function.
pub fn medium<T: Real>(padded: &Padded, cell: impl Fn([f64; 3]) -> (Stiffness, f64)) -> Medium<T> {
    let medium = Medium::new(padded).expect("a small grid fits");
    filled(medium, |at| {
        let (stiffness, rho) = cell(at);
        (stiffness.voigt(), rho)
    })
}

/// Like [`medium`], for media with all coefficients.
pub fn oblique_medium<T: Real>(padded: &Padded, cell: impl Fn([f64; 3]) -> (Voigt, f64)) -> Medium<T> {
    let planes = 0..padded.model.n[padded.ndim() - 1];
    filled(
        Medium::holding(padded, planes, Coefficients::All).expect("a small grid fits"),
        cell,
    )
}

fn filled<T: Real>(mut medium: Medium<T>, cell: impl Fn([f64; 3]) -> (Voigt, f64)) -> Medium<T> {
    let grid = medium.padded().model.clone();
    let pairs = medium.coefficients().table(grid.ndim).pairs;
    let at = |a: usize, i: usize| f64::from(grid.o[a]) + i as f64 * f64::from(grid.d[a]);
    for line in 0..grid.cells() / grid.n[0] {
        let (x, y) = (at(1, line % grid.n[1]), at(2, line / grid.n[1]));
        let cells: Vec<_> = (0..grid.n[0]).map(|z| cell([at(0, z), x, y])).collect();
        for (k, &pair) in pairs.iter().enumerate() {
            let values: Vec<T> = cells.iter().map(|(c, _)| T::of(entry(c, pair))).collect();
            medium.fill(Property::Stiffness(k), line, &values);
        }
        let density: Vec<T> = cells.iter().map(|&(_, rho)| T::of(rho)).collect();
        medium.fill(Property::Density, line, &density);
    }
    medium
}

/// The lines of a medium that the padded planes `own` need, as a rank reads them.
pub fn part(whole: &Medium<f32>, own: &Range<usize>) -> Medium<f32> {
    let padded = whole.padded();
    let planes = needed(padded, own);
    let mut part = Medium::holding(padded, planes.clone(), whole.coefficients()).expect("a small grid fits");
    let (nz, low, pitch) = (padded.model.n[0], padded.low[0], padded.pitch());
    let rows = lines_of_plane(padded);
    for line in planes.start * rows..planes.end * rows {
        let of = |array: &[f32]| array[line * pitch + low..][..nz].to_vec();
        for (k, array) in whole.stiffness().enumerate() {
            part.fill(Property::Stiffness(k), line, &of(array));
        }
        part.fill(Property::Density, line, &of(whole.density()));
    }
    part
}

/// A shot with force sources and a bell of 5 cells; everything else is off.
pub fn shot(dt: f32, wavelet: Vec<f32>, sources: Vec<Point>, receivers: Vec<Point>) -> Shot {
    Shot {
        dt,
        wavelet,
        sources,
        receivers,
        kind: SourceKind::Force,
        nbell: 5,
        absorbing: false,
        one_way: Form::Box,
        surface: Surface::None,
        interpolate: true,
        quantity: kernels::receiver::Quantity::Displacement,
        jdata: 1,
        snapshots: None,
        jcheck: 100,
    }
}

/// Runs a shot on one thread and one slab.
pub fn run<T: Real + Default>(shot: &Shot, medium: Medium<T>) -> Tape<T> {
    run_on(shot, medium, 1, &[]).expect("the shot runs")
}

/// Runs a shot on `threads` threads with slabs of these thicknesses (without any: one slab).
pub fn run_on<T: Real + Default>(
    shot: &Shot,
    medium: Medium<T>,
    threads: usize,
    slabs: &[usize],
) -> Result<Tape<T>, Error> {
    run_with(shot, medium, Cpu::new(threads)?, slabs)
}

/// Like [`run_on`], on processors with other tiles, caches or registers.
pub fn run_with<T: Real + Default>(
    shot: &Shot,
    medium: Medium<T>,
    cpu: Cpu,
    slabs: &[usize],
) -> Result<Tape<T>, Error> {
    let (planes, ndim) = (medium.padded().planes(), medium.padded().ndim());
    let slabs = if slabs.is_empty() {
        SLABS.partition(planes, 1)?
    } else {
        SLABS.cut(planes, slabs)?
    };
    let mut tape = Tape {
        steps: Vec::new(),
        traces: Vec::new(),
        snapshots: Vec::new(),
    };
    Simulation::new(shot, medium, cpu, slabs)?.run(&mut tape)?;
    tape.assert_lengths(lengths(shot, ndim));
    Ok(tape)
}

/// Number of values of a record and of a snapshot of a shot.
pub fn lengths(shot: &Shot, ndim: usize) -> [usize; 2] {
    let window = |snapshots: &Snapshots| snapshots.window.iter().map(Range::len).product();
    let places = [shot.receivers.len(), shot.snapshots.as_ref().map_or(0, window)];
    places.map(|places| shot.components(ndim) * places)
}

/// A Ricker wavelet `(1 - 2a) exp(-a)`, `a = (pi f (t - t0))^2`, with its derivative and integrals in closed form.
#[derive(Clone, Copy, Debug)]
pub struct Ricker {
    /// Peak frequency.
    pub f: f64,
    /// Time of the peak.
    pub t0: f64,
}

impl Ricker {
    /// A wavelet that starts at time zero with 2e-5 of its peak.
    pub fn starting_at_zero(f: f64) -> Self {
        Self { f, t0: 1.2 / f }
    }

    /// 2.5 times the peak frequency, above which the spectrum is below 4 % of its peak.
    pub fn highest_frequency(&self) -> f64 {
        2.5 * self.f
    }

    /// `k = 2 (pi f)^2`, the time `tau` from the peak, and `exp(-k tau^2 / 2)`.
    fn parts(&self, t: f64) -> (f64, f64, f64) {
        let (k, tau) = (2.0 * (std::f64::consts::PI * self.f).powi(2), t - self.t0);
        (k, tau, (-0.5 * k * tau * tau).exp())
    }

    /// The wavelet.
    pub fn value(&self, t: f64) -> f64 {
        let (k, tau, bell) = self.parts(t);
        (1.0 - k * tau * tau) * bell
    }

    /// Its time derivative.
    pub fn slope(&self, t: f64) -> f64 {
        let (k, tau, bell) = self.parts(t);
        k * tau * (k * tau * tau - 3.0) * bell
    }

    /// Its integral from minus infinity.
    pub fn integral(&self, t: f64) -> f64 {
        let (_, tau, bell) = self.parts(t);
        tau * bell
    }

    /// The integral of its integral.
    pub fn second_integral(&self, t: f64) -> f64 {
        let (k, _, bell) = self.parts(t);
        -bell / k
    }

    /// Samples at `it dt`, times a factor for every component, for one source: `[time][component]`.
    pub fn samples(&self, nt: usize, dt: f32, components: &[f64]) -> Vec<f32> {
        let sample = |it: usize| self.value(it as f64 * f64::from(dt));
        (0..nt)
            .flat_map(|it| components.iter().map(move |c| (c * sample(it)) as f32))
            .collect()
    }
}
