//! The parameters by which a survey was made, in the headers of its data.

use super::checkpoint::FREE;
use super::record::Outputs;
use rsf_io::Job;

/// The key of headers under which the parameters of a survey stand.
pub const SETTINGS: &str = "settings";

/// Parameters that may differ from those of the earlier run, beside those of a resumed one; `tdc=` has a sentence of its own.
const ALSO_FREE: [&str; 4] = ["tdc", "shots", "finished", "out"];

/// Says in the headers of a survey by which parameters it is made.
pub fn tell(job: &Job, outputs: &mut Outputs) -> anyhow::Result<()> {
    let words: Vec<String> = of(job)?
        .into_iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    outputs.tell(SETTINGS, &words.join(" "));
    Ok(())
}

/// The parameters that decide about the numbers of a survey, where they are not those by default, as one word each.
pub fn of(job: &Job) -> anyhow::Result<Vec<(&'static str, String)>> {
    let all = job.chosen(&[&FREE[..], &ALSO_FREE].concat())?.into_iter();
    Ok(all.map(|(name, value)| (name, value.replace(' ', "_"))).collect())
}
