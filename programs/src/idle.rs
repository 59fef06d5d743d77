//! Warnings about parameters that have no effect because of other parameters.

use rsf_io::Job;

/// Warns that the parameters of `keys` that were given have no effect; `why` ends the warning with the
/// reason.
pub fn warn(job: &Job, keys: &[&str], why: &str) {
    let given: Vec<String> = keys
        .iter()
        .filter(|key| job.given(key))
        .map(|key| format!("{key}="))
        .collect();
    if !given.is_empty() {
        let verb = if given.len() == 1 { "has" } else { "have" };
        job.warn(&format!("{} {verb} no effect {why}", given.join(", ")));
    }
}

/// Parameters of a mechanism, and the values of `src=` that use them.
const MECHANISMS: [(&[&str], &[&str]); 5] = [
    (&["mxx", "myy", "mzz", "mxy", "mxz", "myz"], &["moment"]),
    (&["strike", "dip", "rake"], &["dc"]),
    (&["xaz"], &["dc"]),
    (&["m0"], &["explosion", "dc"]),
    (&["fx", "fy", "fz"], &["force"]),
];

/// Warns of parameters of mechanisms and time functions that have no effect; `files` are the parameters that
/// name files with mechanisms.
///
/// # Errors
/// Returns an error if the program does not declare src= and stf=.
pub fn of_sources(job: &Job, files: &[&str]) -> anyhow::Result<()> {
    let (src, stf) = (job.choice("src")?, job.choice("stf")?);
    let file = files.iter().find(|word| job.given(word));
    if let Some(file) = file {
        warn(
            job,
            &["src", "mech", "onset"],
            &format!("with {file}=, which contains it"),
        );
    }
    for (keys, takers) in MECHANISMS {
        if let Some(file) = file {
            warn(job, keys, &format!("with {file}=, which contains it"));
        } else if !takers.contains(&src) {
            let takers = takers.join(" or src=");
            warn(job, keys, &format!("with src={src}, only with src={takers}"));
        } else if job.has_input("mech") && keys != ["xaz"] {
            warn(job, keys, "with mech=, which has the strengths of all sources");
        }
    }
    if job.has_input("series") {
        warn(
            job,
            &["stf", "tau", "freq"],
            "with series=, which gives the time function",
        );
    } else if stf == "ricker" {
        warn(job, &["tau"], "with stf=ricker, which takes freq=");
    } else {
        warn(job, &["freq"], &format!("with stf={stf}, only with stf=ricker"));
    }
    Ok(())
}
