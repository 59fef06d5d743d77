//! The messages of runs that are refused.

use crate::golden::case;
use crate::runs::{HILL, hill};

/// Checks the error message of a command that fails.
#[track_caller]
fn refused(desk: &crate::desk::Desk, line: &str, words: &[&str]) {
    let run = desk.sh(&format!("{line} > out.rsf"));
    assert_eq!(run.code, 1, "{line}: {run:?}");
    // Warnings about the other parts of the run come first.
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
        &["gpu= names GPUs, but device=cpu requests the CPU"],
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

/// If jdata= or jsnap= is larger than the run, only the record or snapshot of the first step remains; there is a
/// warning for both.
#[test]
fn jumps_over_the_whole_run_are_warned_of() {
    let desk = hill();
    let text = desk
        .ran(&format!(
            "{HILL} nt=20 dt=0.001 jdata=20 snap=y wfl=w.rsf jsnap=50 > d.rsf"
        ))
        .err;
    for words in [
        "jdata=20 leaves only the record of the first step: the run has 20 steps",
        "jsnap=50 leaves only the snapshot of the first step: the run has 20 steps",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let unnamed = "wfl= is not given: the snapshots are written to the file wfl";
    assert!(!text.contains(unnamed), "{text}");
    let text = desk
        .ran(&format!("{HILL} nt=20 dt=0.001 snap=y jsnap=5 > d.rsf"))
        .err;
    assert!(text.contains(unnamed) && desk.path("wfl").exists(), "{text}");
}

/// If a Ricker wavelet is cut off at its start, the warning says so, and does not ask for a finer mesh because of the
/// cut.
#[test]
fn a_wavelet_that_begins_with_a_jump_is_distinguished_from_a_coarse_mesh() {
    let desk = hill();
    let ricker = |middle: f32| {
        let value = |i: i32| {
            let a = (std::f32::consts::PI * 2.0 * (i as f32 * 1e-3 - middle)).powi(2);
            (1.0 - 2.0 * a) * (-a).exp()
        };
        (0..1200).map(value).collect::<Vec<f32>>()
    };
    let messages = |middle: f32| {
        desk.dataset("series.rsf", "n1=1200 d1=0.001", &ricker(middle));
        let line = HILL.replace("stf=ricker freq=5", "series=series.rsf");
        desk.ran(&format!("{line} nt=1200 dt=0.001 plan=y")).err
    };
    let cut = messages(0.275);
    assert!(
        cut.contains("the wavelet begins with 25 % of its largest value") && cut.contains("delay it"),
        "{cut}"
    );
    assert!(!cut.contains("refine the mesh"), "{cut}");
    let whole = messages(0.75);
    assert!(
        !whole.contains("begins with") && !whole.contains("refine the mesh"),
        "{whole}"
    );
}

/// The messages of a run on the hill that is planned with these parameters.
fn messages(words: &str) -> String {
    let desk = hill();
    desk.dataset("slow.rsf", "n1=2 n2=2 d1=600 d2=800", &[3.0; 4]);
    desk.dataset("light.rsf", "n1=6", &[2.3, 3000.0, 1700.0, 9999.0, 9999.0, 0.0]);
    desk.dataset("km.rsf", "n1=2 n2=3", &[400.4, 200.3, 400.5, 200.3, 400.6, 200.3]);
    let run = desk.ran(&format!("{HILL} nt=20 dt=0.001 plan=y {words}"));
    run.err
}

#[test]
fn words_without_effect_and_units_that_are_not_si_are_warned_of() {
    for (words, expected) in [
        (
            "strike=3 dip=4",
            "strike=, dip= have no effect with src=force, only with src=dc",
        ),
        (
            "m0=1",
            "m0= has no effect with src=force, only with src=explosion or src=dc",
        ),
        ("tau=1", "tau= has no effect with stf=ricker, which takes freq="),
        ("rate=n", "rate= has no effect without series="),
        ("jsnap=3 oqz=5", "jsnap=, oqz= have no effect without snap=y"),
        (
            "nb=20 absorb=cpml",
            "unknown parameter nb=: sfvsfd2d-gpu and sfvsfd3d-gpu take it. Here sides that the mesh calls absorbing",
        ),
        (
            "dtout=0.004",
            "unknown parameter dtout=: sfvsfd2d-gpu and sfvsfd3d-gpu take it. Here jdata= is the number of steps between records",
        ),
        (
            "freesurface=y",
            "unknown parameter freesurface=: sides of a mesh that do not absorb are free already",
        ),
        (
            "frequency=5",
            "unknown parameter frequency= (did you mean freq= ?)",
        ),
        (
            "nqx=3",
            "nqx= has no effect without snap=y or a map (pgv=, pgd=, pga=)",
        ),
        (
            "materials=light.rsf",
            "the density is 2.3 kg/m3 in region 0: units are SI",
        ),
        (
            "vp=slow.rsf vs=slow.rsf cfl=warn",
            "the fastest wave of the model has a speed of 3.0000 m/s",
        ),
        ("den=slow.rsf", "the density is 3 kg/m3 at a node of den="),
        (
            "rec=km.rsf",
            "all 3 receivers lie within the distance between two neighbouring points of the mesh: check that rec= is in the unit",
        ),
    ] {
        // Speeds that do not form a medium end the run after the message.
        let text = match words.starts_with("vp=") {
            true => {
                let desk = hill();
                desk.dataset("slow.rsf", "n1=2 n2=2 d1=600 d2=800", &[3.0; 4]);
                desk.sh(&format!("{HILL} nt=20 dt=0.001 plan=y {words}")).err
            }
            false => messages(words),
        };
        assert!(text.contains(expected), "{words}: {expected}: {text}");
    }
    let quiet = messages("");
    assert!(!quiet.contains("effect") && !quiet.contains("units"), "{quiet}");
    assert!(!messages("pgv=map.rsf nqx=3").contains("effect"));
    let desk = hill();
    let run = format!("{HILL} nt=20 dt=1");
    let free = run.replace("dt=1", "dt=0.001 free=y");
    refused(
        &desk,
        &free,
        &["free=y: free= names an RSF file (free surface", "none called y"],
    );
    refused(&desk, &run, &["dt=1 s is above", "speeds in m/s"]);
}

/// The memory for records in a state is reported for all quantities together: 4 bytes per number, for each quantity
/// 2200000 steps, two receivers and two components.
#[test]
fn states_hold_the_records_of_all_quantities() {
    let desk = hill();
    let plan = |words: &str| {
        desk.sh(&format!(
            "{HILL} nt=2200000 dt=0.0005 tdc=y checkpoint=state plan=y {words}"
        ))
    };
    let one = plan("");
    assert!(one.code == 0, "{one:?}");
    let both = plan("data=velocity displacement=u.rsf");
    let expected = "saves sums and records of further quantities and of tdc=y with the state: 70.4 MB here, and at most 64 MB";
    assert!(both.code == 1 && both.err.contains(expected), "{both:?}");
}

#[test]
fn words_of_derivatives_without_effect_are_warned_of() {
    let desk = crate::gradients::desk();
    let run = crate::gradients::RUN;
    for (words, expected) in [
        ("nqz=3 dqx=5", "nqz=, dqx= have no effect without on=grid"),
        ("m0=5", "m0= has no effect with src=force"),
    ] {
        for program in ["sfsemgrad2d-gpu", "sfsemborn2d-gpu"] {
            let text = desk.ran(&format!("{program} {run} {words} plan=y")).err;
            assert!(text.contains(expected), "{program} {words}: {text}");
        }
    }
}

/// The programs accept the step that sfhexmesh prints, and warn of receivers next to a source.
#[test]
fn the_printed_step_is_taken_and_receivers_beside_a_source_are_counted() {
    let desk = hill();
    let meshing = desk
        .ran("sfhexmesh surfaces=600,topo.rsf layers=6 nx=8 curved=y rho=2300 vp=3000 vs=1700 > hill.rsf");
    let (_, rest) = meshing.err.split_once("largest stable step ").expect("a step");
    let step = rest.split(' ').next().expect("a number");
    let run = desk.ran(&format!("{HILL} nt=5 dt={step} > out.rsf"));
    assert!(
        !run.err.contains("certainly stable") && !run.err.contains("hold a source"),
        "{run:?}"
    );
    let more = format!("{:e}", 1.003 * step.parse::<f64>().expect("a number"));
    refused(
        &desk,
        &format!("{HILL} nt=5 dt={more}"),
        &["is above", "certainly stable"],
    );
    // A plan gives memory and time before the step is refused.
    let run = desk.sh(&format!("{HILL} nt=5 dt={more} plan=y"));
    let last = run.err.lines().last().unwrap_or_default();
    let expected = [
        "memory: about",
        "time about",
        "largest step that is certainly stable",
    ];
    assert!(expected.iter().all(|words| run.err.contains(words)), "{run:?}");
    assert!(run.code == 1 && last.contains("is above"), "{run:?}");
    desk.dataset(
        "near.rsf",
        "n1=2 n2=3",
        &[250.0, 200.0, 403.0, 297.0, 550.0, 200.0],
    );
    let run = desk.ran(&format!(
        "{} nt=5 dt=0.001 > out.rsf",
        HILL.replace("rec=rec.rsf", "rec=near.rsf")
    ));
    let words = "1 receiver is in elements that hold a source (the first is number 2)";
    assert!(run.err.contains(words), "{run:?}");
    // Points of a map do not count as receivers.
    desk.dataset("shallow.rsf", "n1=2 n2=1", &[403.0, 60.0]);
    let shallow = HILL.replace("sou=sou.rsf", "sou=shallow.rsf");
    let run = desk.ran(&format!(
        "{shallow} nt=5 dt=0.001 pgv=map.rsf oqx=200 dqx=203 nqx=2 > out.rsf"
    ));
    let words = "1 point of the map is in elements that hold a source (the first is number 2)";
    assert!(
        run.err.contains(words)
            && !run.err.contains("receiver is in")
            && !run.err.contains("receivers are in"),
        "{run:?}"
    );
}
