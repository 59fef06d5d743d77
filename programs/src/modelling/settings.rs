//! The parameters with which a survey was computed, in the headers of its data.

use super::checkpoint::FREE;
use super::record::Outputs;
use rsf_io::Job;

/// The header key for the parameters of a survey.
pub const SETTINGS: &str = "settings";

/// Further parameters that may differ from the earlier run; `tdc=` has its own message.
const ALSO_FREE: [&str; 4] = ["tdc", "shots", "finished", "out"];

/// Writes the parameters of a survey into its headers.
pub fn write(job: &Job, outputs: &mut Outputs) -> anyhow::Result<()> {
    let words: Vec<String> = of(job)?
        .into_iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    outputs.put_text(SETTINGS, &words.join(" "));
    Ok(())
}

/// The parameters that determine the results of a survey and are not at their defaults, as one word each.
pub fn of(job: &Job) -> anyhow::Result<Vec<(&'static str, String)>> {
    let all = job.chosen(&[&FREE[..], &ALSO_FREE].concat())?.into_iter();
    Ok(all.map(|(name, value)| (name, value.replace(' ', "_"))).collect())
}
