//! Sources of the displacement programs: the wavelet.

use crate::modelling::exact_time::{ExactTime, Timing, first_share};
use anyhow::bail;
use kernels::grid::{AXES, Padded};
use kernels::stability::{Band, dominant_frequency};
use rsf_io::{Axis, Input, Job};

/// The frequency band and the first samples are determined from at most this number of series of the wavelet.
const SERIES: usize = 64;

/// A wavelet in the form that the engine needs.
pub struct Wavelet {
    /// The samples, `[time][component][source]`.
    pub values: Vec<f32>,
    /// The time axis.
    pub time: Axis,
}

impl Wavelet {
    /// Filters the wavelet for a run that is corrected for time dispersion (`tdc=y`); messages call it `name`.
    pub fn correct(&mut self, exact: &ExactTime, name: &str) -> anyhow::Result<()> {
        let together = self.values.len() / self.time.n;
        let series = |k: usize| self.values.iter().skip(k).step_by(together).copied().collect();
        let mut all: Vec<Vec<f32>> = (0..together).map(series).collect();
        exact.sources(&mut all, 0.0, name)?;
        let sample = |it: usize| all.iter().map(move |series| series[it]);
        self.values = (0..exact.steps).flat_map(sample).collect();
        Ok(())
    }
}

/// Reads a wavelet after checking it against the sources and the dimension.
pub fn wavelet(mut input: Input, sources: &Input, ndim: usize) -> anyhow::Result<Wavelet> {
    let (ns, nc, time) = (input.axis(1).n, input.axis(2).n, input.axis(3));
    let points = sources.axis(2).n;
    let name = input.name();
    if ns != points {
        bail!(
            "wavelet {name} has n1={ns} sources but {} has n2={points} points: give one series per source; \
            the axes are n1 sources, n2 components, n3 times (sftransp plane=12 | sftransp plane=23 converts \
            a series whose times come first)",
            sources.name()
        );
    }
    if nc != ndim {
        let order = if ndim == 3 { "z, x, y" } else { "z, x" };
        bail!("wavelet {name} has n2={nc} components; a {ndim}-D run needs n2={ndim}: {order}");
    }
    if time.n == 0 {
        bail!("wavelet {name} has n3=0 time samples; at least one is needed");
    }
    if input.len() != (ns * nc) as u64 * time.n as u64 {
        bail!(
            "wavelet {name} has {} values; it must have n1 x n2 x n3 = {ns} x {nc} x {} and no further axes",
            input.len(),
            time.n
        );
    }
    if !(time.d > 0.0 && time.d.is_finite()) {
        bail!(
            "wavelet {name} has d3={}: the time step must be a positive number",
            time.d
        );
    }
    let values: Vec<f32> = input.read_all_f32()?;
    if let Some(bad) = values.iter().position(|v| !v.is_finite()) {
        bail!(
            "wavelet {name} is not finite at time sample {} (value {})",
            bad / (ns * nc),
            values[bad]
        );
    }
    Ok(Wavelet { values, time })
}

/// The time steps of a run whose wavelet has `count` interleaved series.
pub fn timing(job: &Job, wave: &Wavelet, count: usize) -> anyhow::Result<Timing> {
    let (steps, dt) = (wave.time.n, f64::from(wave.time.d));
    Ok(Timing {
        steps,
        dt,
        band: band(&wave.values, count, wave.time.d),
        begins: begins(&wave.values, count),
        exact: ExactTime::read(job, steps, dt)?,
    })
}

/// The wavelet in messages about its series.
pub fn named(wavelet: &Input) -> String {
    match wavelet.name().as_str() {
        "standard input" => "the wavelet on standard input".into(),
        name => format!("the wavelet {name}"),
    }
}

/// The series of the wavelet that are analysed; `count` of them are interleaved.
fn series(wavelet: &[f32], count: usize) -> impl Iterator<Item = impl Iterator<Item = f32> + Clone> {
    (0..count.min(SERIES)).map(move |k| wavelet.iter().skip(k).step_by(count).copied())
}

/// The largest first sample among the wavelet's series, as a fraction of the largest value of its series.
fn begins(wavelet: &[f32], count: usize) -> f64 {
    series(wavelet, count).map(first_share).fold(0.0, f64::max)
}

/// The widest band of the wavelet's series, of which `count` are interleaved, with a time step of `dt`.
fn band(wavelet: &[f32], count: usize, dt: f32) -> Band {
    let mut widest = Band::default();
    for trace in series(wavelet, count) {
        let trace: Vec<f32> = trace.collect();
        let band = dominant_frequency(&trace, f64::from(dt));
        if band.max > widest.max {
            widest = band;
        }
    }
    widest
}

/// The least half width of the bell with which waves of a wavelength of two cells are below 1 % of the largest wave, in
/// the case that the help text describes.
const SMOOTH: usize = 4;

/// Refuses a source bell that does not fit into the grid at every possible position of the source. Warns of one so
/// narrow that it excites waves which the grid cannot propagate.
pub fn bell(job: &Job, padded: &Padded, nbell: usize) -> anyhow::Result<()> {
    if nbell < SMOOTH {
        job.warn(&format!(
            "nbell={nbell} also excites slow waves with a wavelength of two cells, which the grid cannot propagate (in a tested case 36 % of the largest wave with nbell=1, 11 % with 2 and 3 % with 3): give nbell={SMOOTH} or more"
        ));
    }
    let needed = 2 * nbell + 1;
    match (0..padded.ndim()).find(|&a| padded.n[a] < needed) {
        Some(a) => bail!(
            "nbell={nbell} spreads a source over {needed} nodes, but the grid has {} along {}, frame included: give a smaller nbell= (5 is usual) or a larger nb=",
            padded.n[a],
            AXES[a]
        ),
        None => Ok(()),
    }
}
