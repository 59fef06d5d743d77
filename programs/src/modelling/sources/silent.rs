//! Refuses sources that have no effect, and warns of sources that have no effect during the run.

use super::Sources;
use anyhow::bail;
use kernels::source::{Action, Source};
use rsf_io::Job;

/// A time function is silent if its largest value is at most this fraction of the largest value of all.
const SILENT: f32 = 1e-6;

/// Refuses sources of zero strength. Warns of time functions, the longest of which lasts `longest` seconds, that begin
/// after the end of the run, reach their `largest` value after it, or lie between two steps.
pub fn refuse(
    job: &Job,
    sources: &Sources,
    (duration, dt): (f64, f64),
    (largest, longest): (f32, f64),
) -> anyhow::Result<()> {
    let strong = |s: &Source| match s.action {
        Action::Moment(m) => m.iter().any(|&m| m != 0.0),
        Action::Force(f) => f.iter().any(|&f| f != 0.0),
    };
    if !sources.list.iter().any(strong) {
        bail!(
            "all sources have the strength zero: src={} takes {}, or mech=",
            job.choice("src")?,
            match job.choice("src")? {
                "moment" => "mxx=, mzz=, mxz= (3-D: myy=, mxy=, myz=)",
                "force" => "fx=, fz= (3-D: fy=)",
                _ => "m0=",
            }
        );
    }
    // Messages give it in single precision, because the product of a step and a count has rounding errors.
    let duration = duration as f32;
    let seen = sources
        .series
        .iter()
        .flatten()
        .fold(0.0f32, |most, x| most.max(x.abs()));
    if seen == 0.0 && longest <= dt {
        job.warn(&format!(
            "no time step falls within the source time functions, which last {} s: dt={dt} s is longer; reduce dt=",
            longest as f32
        ));
    } else if seen == 0.0 {
        job.warn(&format!(
            "the sources are silent through all {duration} s of the run: check tau=, freq=, series= and onset="
        ));
    } else if seen < 0.5 * largest {
        job.warn(&format!(
            "the run ends after {duration} s, before the sources have reached more than {:.2} % of their largest value: raise nt=, or check tau=, freq=, series= and onset=",
            100.0 * seen / largest
        ));
    }
    let is_mute = |series: &&Vec<f32>| series.iter().all(|x| x.abs() <= SILENT * seen);
    let mute = sources.series.iter().filter(is_mute).count();
    if seen > 0.0 && mute > 0 {
        job.warn(&format!(
            "{mute} of {} time functions are silent through all {duration} s of the run, so that their sources have no \
            effect: check onset= or the times of the events, or raise nt=",
            sources.series.len()
        ));
    }
    Ok(())
}
