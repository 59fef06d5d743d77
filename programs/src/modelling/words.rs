//! Adds parameters of the command line to the advice of the engine: the engine knows no parameters, so its errors
//! describe the remedies, and a program adds the parameters for them. Also warnings about growing records and about
//! data that are all zero.

use rsf_io::{Job, format_g};

/// Phrases in the engine's errors, and the parameter of the command line for each.
const WORDS: [(&str, &str); 18] = [
    ("run on the processors", "device=cpu"),
    ("more GPUs", "ngpu="),
    ("fewer subdomains", "ngpu="),
    ("more subdomains", "ngpu="),
    ("make it an explosion", "src=explosion"),
    ("record pressure there", "data=pressure"),
    ("slabs are possible", "ngpu="),
    ("fewer threads", "threads="),
    ("a narrower frame", "nb="),
    ("a wider frame", "nb="),
    ("a smaller bell", "nbell="),
    ("run anyway", "cfl=warn"),
    ("coarse-grained mechanisms", "qmech=coarse"),
    ("three mechanisms a cell", "qmech=3"),
    ("the Q of P waves", "qp="),
    ("the Q of S waves", "qs="),
    ("a higher degree", "degree="),
    ("one that a run has saved", "checkpoint="),
];

/// Adds the parameter after every phrase of `WORDS` in a text, unless brackets or `with` follow already.
pub fn explained(said: &str) -> String {
    let mut text = said.to_string();
    for (advice, word) in WORDS {
        let mut from = 0;
        while let Some(at) = text[from..].find(advice) {
            from += at + advice.len();
            if !text[from..].starts_with(" (") && !text[from..].starts_with(" with ") {
                text.insert_str(from, &format!(" ({word})"));
            }
        }
    }
    text
}

/// The same for the error of a run; an error without such a phrase keeps its type and so its exit code.
pub fn explain(error: anyhow::Error) -> anyhow::Error {
    let said = format!("{error:#}");
    let text = explained(&said);
    if text == said {
        error
    } else {
        anyhow::Error::msg(text)
    }
}

/// Steps from one record (`jdata`) or snapshot (`jsnap`) to the next in a run of `nt` steps, with a warning if only
/// that of the first step remains.
pub fn steps_between(job: &Job, key: &str, nt: usize) -> anyhow::Result<usize> {
    let given = job.int_opt(key)?.map(usize::try_from).transpose()?;
    let every = given.unwrap_or(nt.max(1));
    if every >= nt && nt > 1 {
        let what = if key == "jsnap" { "snapshot" } else { "record" };
        job.warn(&match given {
            Some(_) => format!("{key}={every} leaves only the {what} of the first step: the run has {nt} steps; give a smaller {key}="),
            None => format!("{key}= is not given, so the only {what} is that of the first step: the run has {nt} steps; give {key}=, the steps from one to the next"),
        });
    }
    Ok(every)
}

/// Warns of records, of these shots of a survey, that grow by this factor.
pub fn tell_growth(job: &Job, factor: f32, shots: Option<&str>) {
    let of = shots.map_or(String::new(), |shots| format!(" of {shots}"));
    job.warn(&format!(
        "the records{of} grow by a factor of {} until the end of the run, behind waves that had passed: this is an instability. CPML does that in long runs of layered rock: absorb=sponge (on meshes sponge= in place of cpml=, cpml=0 where the mesh brings its layers, or fcpml=) or a narrower frame (nb=) takes it away; without CPML take a smaller dt=",
        match factor {
            factor if factor < 1e5 => format!("{factor:.0}"),
            factor => format_g(factor.into(), 2),
        }
    ));
}

/// Warns of a run whose data are all zero.
pub fn tell_all_zero(job: &Job) {
    // On grids pressure is the mean stress of solids, too.
    let on_mesh = ["mesh", "specfem", "elements"].iter().any(|key| job.given(key));
    let pressure = job.given("data") && matches!(job.text("data"), Ok(Some(words)) if words == "pressure");
    let or = match on_mesh && pressure {
        true => {
            ", or all receivers lie in solids, which have no pressure on a mesh (data=strain has their strains)"
        }
        false => "",
    };
    job.warn(&format!(
        "all data are zero: no wave reached a receiver{or}; look at the sources, their histories or wavelets, and the number of steps"
    ));
}

/// `1 source`, `2 sources`
pub fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_gets_its_word_once() {
        assert_eq!(
            explained("take more GPUs, or run on the processors"),
            "take more GPUs (ngpu=), or run on the processors (device=cpu)"
        );
        let twice = "a wider frame (nb=) or a wider frame";
        assert_eq!(explained(twice), "a wider frame (nb=) or a wider frame (nb=)");
        assert_eq!(explained("run anyway with cfl=warn"), "run anyway with cfl=warn");
    }

    #[test]
    fn other_errors_stay_what_they_are() {
        let error = explain(kernels::Error::Elsewhere.into());
        assert!(matches!(error.downcast_ref(), Some(kernels::Error::Elsewhere)));
    }

    /// Each phrase occurs in the engine's source: an error that is reworded would lose its parameter.
    #[test]
    fn the_engine_still_says_so() {
        fn texts(folder: &std::path::Path, all: &mut String) {
            for entry in std::fs::read_dir(folder).unwrap().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    texts(&path, all);
                } else if path.extension().is_some_and(|e| e == "rs") {
                    *all += &std::fs::read_to_string(&path).unwrap();
                }
            }
        }
        let mut all = String::new();
        // A test that was carried to another machine runs in the checkout there.
        let room = std::env::var("CARGO_MANIFEST_DIR");
        let room = room.unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").into());
        texts(&std::path::Path::new(&room).join("../kernels/src"), &mut all);
        for (advice, _) in WORDS {
            assert!(all.contains(advice), "no error of kernels says `{advice}`");
        }
    }
}
