//! The parameters for the remedies in errors of the engine, which does not know the command line. Also warnings
//! about records that grow and data that are all zero.

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
    let quantity = job
        .given("data")
        .then(|| job.text("data").ok().flatten())
        .flatten();
    let of_pressure = quantity.as_deref() == Some("pressure");
    let why = match of_pressure {
        true => {
            "either no wave reached a receiver, or all receivers lie where the pressure is zero, as at a free surface of water and in rock on meshes: lower such receivers, move them into the fluid or record data=velocity; otherwise"
        }
        false => "no wave reached a receiver;",
    };
    job.warn(&format!(
        "all data are zero: {why} check the sources, their time functions or wavelets, and the number of steps"
    ));
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
