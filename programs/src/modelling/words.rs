//! The parameters for the remedies in errors of the engine, which does not know the command line. Also
//! warnings about records and snapshots: records that grow, data that are all zero, and files that do not fit
//! `snap=`.

use kernels::{Error, Hint};
use rsf_io::{Job, format_g};

/// The parameter for a remedy.
fn parameter(hint: Hint) -> &'static str {
    match hint {
        Hint::Processors => "device=cpu",
        Hint::MoreGpus | Hint::Slabs | Hint::FewerSubdomains | Hint::MoreSubdomains => "ngpu=",
        Hint::FewerThreads => "threads=",
        Hint::Transport => "exchange=auto",
        Hint::Explosion => "src=explosion",
        Hint::Pressure => "data=pressure",
        Hint::NarrowerFrame | Hint::WiderFrame => "nb=",
        Hint::SmallerBell => "nbell=",
        Hint::RunAnyway => "cfl=warn",
        Hint::CoarseMechanisms => "qmech=coarse",
        Hint::ThreeMechanisms => "qmech=3",
        Hint::QualityOfP => "qp=",
        Hint::QualityOfS => "qs=",
        Hint::SavedState => "checkpoint=",
    }
}

/// The message of an error of the engine, with the parameter in brackets after every remedy.
pub fn sentence(error: &Error) -> String {
    error.message().with(parameter)
}

/// The message of the error of a run, with its causes and the parameters for the remedies that they name.
pub fn explained(error: &anyhow::Error) -> String {
    let causes = error.chain().map(|cause| match cause.downcast_ref() {
        Some(of_engine) => sentence(of_engine),
        None => cause.to_string(),
    });
    causes.collect::<Vec<_>>().join(": ")
}

/// Like [`explained`], as an error. An error that names no remedy keeps its type and thus its exit code.
pub fn explain(error: anyhow::Error) -> anyhow::Error {
    let mut of_engine = error.chain().filter_map(|cause| cause.downcast_ref::<Error>());
    match of_engine.any(|error| error.message().hints().next().is_some()) {
        true => anyhow::Error::msg(explained(&error)),
        false => error,
    }
}

/// Whether a run takes snapshots (`snap=`), with a warning if `wfl=`, their file, does not fit.
pub fn takes_snapshots(job: &Job) -> anyhow::Result<bool> {
    let takes = job.flag("snap")?;
    match (takes, job.given("wfl")) {
        (false, true) => job.warn("wfl= is given but snap=n: no snapshots are written; add snap=y"),
        (true, false) => job.warn("wfl= is not given: the snapshots are written to the file wfl"),
        _ => {}
    }
    Ok(takes)
}

/// The number of steps from one record (`jdata`) or snapshot (`jsnap`) to the next in a run of `nt` steps,
/// with a warning if only that of the first step remains.
pub fn steps_between(job: &Job, key: &str, nt: usize) -> anyhow::Result<usize> {
    let given = job.int_opt(key)?.map(usize::try_from).transpose()?;
    let every = given.unwrap_or(nt.max(1));
    if every >= nt && nt > 1 {
        let what = if key == "jsnap" { "snapshot" } else { "record" };
        job.warn(&match given {
            Some(_) => format!("{key}={every} leaves only the {what} of the first step: the run has {nt} steps; give a smaller {key}="),
            None => format!("{key}= is not given, so the only {what} is that of the first step: the run has \
            {nt} steps; give {key}=, the number of steps from one to the next"),
        });
    }
    Ok(every)
}

/// Warns of records that grow by this factor; `shots` are their shots in a survey.
pub fn warn_of_growth(job: &Job, factor: f32, shots: Option<&str>) {
    let of = shots.map_or(String::new(), |shots| format!(" of {shots}"));
    job.warn(&format!(
        "the records{of} grow by a factor of {} until the end of the run, after the waves have passed: this \
        is an instability, unless a wave arrives at the end of the run (a larger nt= shows which). CPML can cause it in long runs with layered rock: absorb=sponge (on meshes \
        sponge= instead of cpml=, cpml=0 if the mesh has layers, or fcpml=) or a narrower frame (nb=) \
        removes it; without CPML use a smaller dt=",
        match factor {
            factor if factor < 1e5 => format!("{factor:.0}"),
            factor => format_g(factor.into(), 2),
        }
    ));
}

/// Warns of a run whose data are all zero.
pub fn warn_of_zeros(job: &Job) {
    job.warn(
        "all data are zero: no wave reached a receiver; check the sources, their histories or wavelets, and the number of steps",
    );
}

/// A number with its noun, as in `1 source` or `2 sources`.
pub fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remedies_get_their_parameters() {
        let error = Error::setup(kernels::message![
            "use ",
            Hint::MoreGpus,
            ", or ",
            Hint::Processors
        ]);
        let expected = "shot 3: use more GPUs (ngpu=), or run on the processors (device=cpu)";
        let error = anyhow::Error::from(error).context("shot 3");
        assert_eq!(explained(&error), expected);
        assert_eq!(explain(error).to_string(), expected);
    }

    #[test]
    fn other_errors_stay_what_they_are() {
        let error = explain(Error::Elsewhere.into());
        assert!(matches!(error.downcast_ref(), Some(Error::Elsewhere)));
    }
}
