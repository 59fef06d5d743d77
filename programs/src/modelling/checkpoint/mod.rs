//! Saves states during a run, and resumes a run from a saved state: `checkpoint=`, `every=`, `resume=`.

mod identity;
mod resume;
mod store;
mod sums;

pub use identity::{FREE, Identity};
pub use resume::Resumed;
pub use store::{Growing, MOST_KEPT, MOST_PLACES, Marks, Store};
pub use sums::Sums;

use anyhow::{Context, bail};
use kernels::time_loop::state::Every;
use rsf_io::Job;
use std::path::PathBuf;
use std::time::Duration;

/// The time between two states without `every=`.
const USUAL: Duration = Duration::from_secs(600);

/// The parameters that concern saved states.
pub struct Wishes {
    /// The file in which states are saved, if they are saved.
    pub file: Option<PathBuf>,
    /// The interval at which they are saved.
    pub every: Every,
    /// The state from which the run resumes.
    pub resume: Option<PathBuf>,
}

impl Wishes {
    /// Reads `checkpoint=`, `every=` and `resume=` of a run of `steps` steps.
    pub fn read(job: &Job, steps: usize) -> anyhow::Result<Self> {
        Self::counted(job, steps, "steps", Every::Time(USUAL))
    }

    /// Reads `checkpoint=`, `every=` and `resume=` of a survey of `shots` shots, after each of which a state can be
    /// saved.
    pub fn of_shots(job: &Job, shots: usize) -> anyhow::Result<Self> {
        Self::counted(job, shots, "shots", Every::Steps(1))
    }

    fn counted(job: &Job, count: usize, what: &str, usual: Every) -> anyhow::Result<Self> {
        let path = |key: &str| -> anyhow::Result<Option<PathBuf>> {
            match job.text(key)? {
                Some(text) if text.is_empty() => bail!("{key}= is empty: it takes the name of a file"),
                text => Ok(text.map(PathBuf::from)),
            }
        };
        let file = path("checkpoint")?;
        let every = match job.text("every")? {
            Some(text) => interval(&text, what)?,
            None => usual,
        };
        if file.is_none() && job.given("every") {
            job.warn("every= has no effect without checkpoint=, the file in which states are saved");
        }
        if let (Some(_), Every::Steps(jump)) = (&file, every)
            && jump >= count
        {
            job.warn(&match job.given("every") {
                true => format!("every={jump}: the run has {count} {what} and saves no state during the run; give a smaller every="),
                false => "checkpoint= saves a state after each shot except the last, but there is only one shot".into(),
            });
        }
        Ok(Self {
            every: if file.is_some() { every } else { Every::Never },
            file,
            resume: path("resume")?,
        })
    }

    /// Whether the run needs an identity, because it saves or resumes states.
    pub fn any(&self) -> bool {
        self.file.is_some() || self.resume.is_some()
    }
}

/// Reads a number of steps (or shots, as `what` says), or a time with its unit.
fn interval(text: &str, what: &str) -> anyhow::Result<Every> {
    let wrong = || {
        format!(
            "every={text}: give a number of {what}, as in every=5, or a time, as in every=30s, every=10min, \
            every=2h"
        )
    };
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = &text[digits.len()..];
    if unit.is_empty() {
        let steps: usize = digits.parse().ok().filter(|&n| n > 0).with_context(wrong)?;
        return Ok(Every::Steps(steps));
    }
    let number: f64 = digits.parse().ok().with_context(wrong)?;
    let seconds = match unit {
        "s" => number,
        "min" => 60.0 * number,
        "h" => 3600.0 * number,
        _ => bail!(wrong()),
    };
    let span = Duration::try_from_secs_f64(seconds).ok();
    Ok(Every::Time(
        span.filter(|span| !span.is_zero()).with_context(wrong)?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_steps_or_times() {
        let time = |seconds| Every::Time(Duration::from_secs(seconds));
        for (text, every) in [
            ("1", Every::Steps(1)),
            ("500", Every::Steps(500)),
            ("30s", time(30)),
            ("1.5min", time(90)),
            ("2h", time(7200)),
        ] {
            assert_eq!(interval(text, "steps").unwrap(), every, "{text}");
        }
        for text in [
            "", "0", "-3", "1.5", "0s", "-1h", "10m", "min", "infh", "nans", "1e99h", "5 s", "5é",
        ] {
            let sentence = interval(text, "steps").unwrap_err().to_string();
            assert!(sentence.contains("every=10min"), "{text}: {sentence}");
        }
    }
}
