//! What a user hears of a run that cannot be.

use crate::golden::case;
use crate::runs::{HILL, hill};

/// The sentence of a command that fails.
#[track_caller]
fn refused(desk: &crate::desk::Desk, line: &str, words: &[&str]) {
    let run = desk.sh(&format!("{line} > out.rsf"));
    assert_eq!(run.code, 1, "{line}: {run:?}");
    // Warnings about what could be run come first.
    let sentences: Vec<&str> = run.err.lines().filter(|l| !l.contains(": warning: ")).collect();
    assert_eq!(sentences.len(), 1, "{line}: {}", run.err);
    for word in words {
        assert!(
            sentences[0].contains(word),
            "{line}: {word} is not in {}",
            run.err
        );
    }
}

#[test]
fn runs_that_cannot_be_are_sentences() {
    let desk = hill();
    let run = format!("{HILL} nt=20 dt=0.001");
    refused(
        &desk,
        &format!("{run} gpu=0"),
        &["gpu= names GPUs and device=cpu asks for the CPU"],
    );
    let fast = run.replace("dt=0.001", "dt=0.1");
    refused(&desk, &fast, &["dt=0.1 s is above", "element", "cfl=warn"]);
    refused(
        &desk,
        &run.replace("sfsem2d", "sfsem3d"),
        &["the mesh has 2 dimensions", "sfsem2d-gpu runs this one"],
    );
    refused(&desk, &run.replace("mesh=hill.rsf", ""), &["no mesh: give mesh="]);
    refused(
        &desk,
        &format!("{run} specfem=folder"),
        &["specfem= and mesh=", "leave out one"],
    );
    refused(
        &desk,
        &format!("{run} ngpu=1000"),
        &["1000 subdomains", "48 elements"],
    );
    refused(&desk, &format!("{run} degree=9"), &["degree= got `9`", "2 to 8"]);
    refused(
        &desk,
        &format!("{run} snap=y dqz=-5 wfl=w.rsf"),
        &["dqz=-5", "positive"],
    );
    desk.dataset("air.rsf", "n1=2 n2=1", &[0.0, -500.0]);
    refused(
        &desk,
        &run.replace("rec=rec.rsf", "rec=air.rsf"),
        &["receiver 1", "nearest point"],
    );
    refused(
        &desk,
        &run.replace("sou=sou.rsf", "sou=air.rsf"),
        &["source 1", "nearest point"],
    );
    desk.dataset("sls.rsf", "n1=11 n2=2", &[1.0; 22]);
    refused(
        &desk,
        &format!("{run} sls=sls.rsf"),
        &["sls= takes n1=11 for each of the 1 regions"],
    );
    let grows = desk.sh(&format!(
        "{} cfl=warn jcheck=10 > out.rsf",
        fast.replace("nt=20", "nt=400")
    ));
    assert!(
        grows.code == 1 && grows.err.contains("not finite at step") && grows.err.contains("vp 3000"),
        "{grows:?}"
    );
}

#[test]
fn media_and_sources_that_do_not_fit_are_sentences() {
    let aniso = case("aniso");
    let line = format!("{} nt=3", aniso.line);
    refused(
        &aniso.desk,
        &line.replace("ccc=ccc.rsf", ""),
        &["region 0", "ccc= is missing"],
    );
    let mut table = aniso.desk.read("ccc.rsf");
    table[0] = -table[0];
    let regions = table.len() / 21;
    aniso
        .desk
        .dataset("bad.rsf", &format!("n1=21 n2={regions}"), &table);
    refused(
        &aniso.desk,
        &line.replace("ccc=ccc.rsf", "ccc=bad.rsf"),
        &["region 0", "not positive definite"],
    );
    let water = case("water-pressure");
    let line = format!("{} nt=3", water.line).replace("src=moment mech=mech.rsf", "src=force fx=1");
    refused(&water.desk, &line, &["a fluid, where no force can act"]);
}

/// A jump over the whole run leaves the record and the snapshot of the first step, before any wave: both are told.
#[test]
fn jumps_over_the_whole_run_are_told() {
    let desk = hill();
    let said = desk
        .ran(&format!(
            "{HILL} nt=20 dt=0.001 jdata=20 snap=y wfl=w.rsf jsnap=50 > d.rsf"
        ))
        .err;
    for words in [
        "jdata=20 leaves the record of the first step alone: the run has 20 steps",
        "jsnap=50 leaves the snapshot of the first step alone: the run has 20 steps",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
}
