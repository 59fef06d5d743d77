//! Gradients on meshes by the programs, compared with finite differences of the misfit that they print, and the
//! requests that they refuse.

use crate::desk::Desk;
use crate::largest::{largest, magnitude};

/// The two regions: rho, vp, vs and three further constants each.
pub const ROCKS: [f32; 12] = [
    2300.0, 2900.0, 1700.0, 9999.0, 9999.0, 0.0, 2100.0, 2600.0, 1500.0, 9999.0, 9999.0, 0.0,
];

pub const RUN: &str = "mesh=box.rsf sou=sou.rsf rec=rec.rsf nt=420 dt=0.0015 src=force fz=1e9 fx=4e8 stf=ricker freq=7 sponge=150";

/// Two layers with a free surface and two shots, and data of other rocks.
pub fn desk() -> Desk {
    let desk = Desk::new();
    desk.ran("sfhexmesh surfaces=500,220,0 layers=3,2 nx=7 xmin=0 xmax=700 rho=2300,2100 vp=2900,2600 vs=1700,1500 judge=n > box.rsf");
    desk.dataset("sou.rsf", "n1=2 n2=1 n3=2", &[210.0, 60.0, 480.0, 170.0]);
    desk.dataset(
        "rec.rsf",
        "n1=2 n2=4",
        &[100.0, 5.0, 290.0, 20.0, 430.0, 150.0, 610.0, 330.0],
    );
    desk.dataset("rocks.rsf", "n1=6 n2=2", &ROCKS);
    let mut other = ROCKS;
    for (k, share) in [(1, 1.05), (2, 0.96), (6, 1.04), (7, 0.97), (8, 1.03)] {
        other[k] *= share;
    }
    desk.dataset("other.rsf", "n1=6 n2=2", &other);
    desk.ran(&format!(
        "sfsem2d-gpu {RUN} device=cpu materials=other.rsf > data.rsf"
    ));
    desk
}

/// The misfit that a run prints.
pub fn misfit(desk: &Desk, words: &str) -> f64 {
    let ended = desk.ran(&format!("sfsemgrad2d-gpu < {words} > gradient.rsf"));
    let line = ended.err.lines().find_map(|line| line.split("misfit ").nth(1));
    line.unwrap().parse().unwrap()
}

/// Compares a derivative with fourth-order differences of a misfit, which is a function of a relative change.
fn differences(derivative: f64, at: impl Fn(f64) -> f64) -> [f64; 2] {
    let step = 4e-3;
    let central = |step: f64| (at(step) - at(-step)) / (2.0 * step);
    [derivative, (4.0 * central(step) - central(2.0 * step)) / 3.0]
}

#[test]
fn gradients_of_regions_are_differences_of_the_misfit() {
    let desk = desk();
    for words in ["", "kind=correlation tdc=y"] {
        let run = |share: f64, at: usize| {
            let mut rocks = ROCKS;
            rocks[at] = (f64::from(rocks[at]) * (1.0 + share)) as f32;
            desk.dataset("changed.rsf", "n1=6 n2=2", &rocks);
            misfit(
                &desk,
                &format!("data.rsf {RUN} materials=changed.rsf misfit=m.rsf {words}"),
            )
        };
        let all = run(0.0, 0);
        let parts = desk.read("m.rsf");
        assert!(parts.len() == 2 && (f64::from(parts[0] + parts[1]) - all).abs() < 1e-5 * all);
        // Parameters vp, vs, rho, each for both regions.
        let gradient = desk.read("gradient.rsf");
        let mut apart = Vec::new();
        for (region, column, parameter) in [(0, 2, 1), (1, 1, 0), (1, 0, 2)] {
            let at = 6 * region + column;
            let by = f64::from(gradient[2 * parameter + region]) * f64::from(ROCKS[at]);
            let [derivative, truth] = differences(by, |share| run(share, at));
            println!(
                "{words} region {region} parameter {parameter}: {derivative:e}, by differences {truth:e}"
            );
            apart.push((derivative - truth) / truth);
        }
        assert!(largest(apart) < 2e-3);
    }
}

#[test]
fn gradients_of_nodes_are_differences_of_the_misfit() {
    let desk = desk();
    // Every second record from the third on is used: the records are resampled to the times of the data.
    desk.ran("sfbasics window < data.rsf f3=2 j3=2 n4=1 > few.rsf");
    let grid = "n1=6 d1=100 o1=0 n2=8 d2=100 o2=0";
    let speeds: Vec<f32> = (0..48).map(|k| 2700.0 + 40.0 * (k % 6) as f32).collect();
    let run = |node: usize, share: f64, words: &str| {
        let mut changed = speeds.clone();
        changed[node] = (f64::from(changed[node]) * (1.0 + share)) as f32;
        desk.dataset("vp.rsf", grid, &changed);
        misfit(&desk, &format!("few.rsf {RUN} shots=1 vp=vp.rsf {words}"))
    };
    run(0, 0.0, "memory=0.0011 verb=y threads=1");
    let short = desk.read("gradient.rsf");
    run(0, 0.0, "");
    let gradient = desk.read("gradient.rsf");
    assert_eq!(gradient.len(), 3 * 48);
    assert!(
        gradient
            .iter()
            .zip(&short)
            .all(|(a, b)| a.to_bits() == b.to_bits())
    );
    let scale = f64::from(magnitude(&gradient[..48])) * 2800.0;
    let mut apart = Vec::new();
    for node in [7, 14, 27] {
        let by = f64::from(gradient[node]) * f64::from(speeds[node]);
        // A node changes the misfit less than a region does, so the step is larger.
        let [derivative, truth] = differences(by, |share| run(node, 4.0 * share, "") / 4.0);
        println!("node {node}: {derivative:e}, by differences {truth:e}");
        apart.push((derivative - truth) / scale);
    }
    assert!(largest(apart) < 2e-3);
    // The sum over the nodes of a grid is the derivative with respect to the region.
    let line = format!("sfsemgrad2d-gpu < data.rsf {RUN} materials=rocks.rsf");
    desk.ran(&format!(
        "{line} on=grid nqz=23 nqx=15 wrt=lambda,mu,rho > grid.rsf"
    ));
    desk.ran(&format!("{line} wrt=lambda,mu,rho > regions.rsf"));
    let (grid, regions) = (desk.read("grid.rsf"), desk.read("regions.rsf"));
    for parameter in 0..3 {
        let sum: f64 = grid[parameter * 345..][..345].iter().map(|x| f64::from(*x)).sum();
        let whole = f64::from(regions[2 * parameter]) + f64::from(regions[2 * parameter + 1]);
        assert!((sum - whole).abs() < 1e-4 * whole.abs(), "{sum:e} {whole:e}");
    }
}

/// The water above attenuating rock contains explosions and pressure receivers.
#[test]
fn gradients_in_water_over_lossy_rock_are_differences_of_the_misfit() {
    let desk = desk();
    let run = RUN.replace("src=force fz=1e9 fx=4e8", "m0=1e12") + " data=pressure";
    let sea = [
        2300.0, 2900.0, 1700.0, 60.0, 30.0, 0.0, 1000.0, 1500.0, 0.0, 9999.0, 9999.0, 0.0,
    ];
    desk.dataset(
        "rec.rsf",
        "n1=2 n2=4",
        &[100.0, 15.0, 290.0, 60.0, 430.0, 150.0, 610.0, 190.0],
    );
    let mut other = sea;
    for (k, share) in [(1, 1.05), (2, 0.95), (6, 1.06)] {
        other[k] *= share;
    }
    desk.dataset("other.rsf", "n1=6 n2=2", &other);
    desk.ran(&format!(
        "sfsem2d-gpu {run} device=cpu materials=other.rsf > data.rsf"
    ));
    desk.dataset("deep.rsf", "n1=2 n2=2", &[100.0, 15.0, 290.0, 260.0]);
    let messages_with = |rec: &str| {
        let run = run.replace("rec=rec.rsf", rec);
        desk.ran(&format!(
            "sfsem2d-gpu {run} device=cpu materials=other.rsf plan=y > plan.txt"
        ))
        .err
    };
    let (wet, dry) = (messages_with("rec=rec.rsf"), messages_with("rec=deep.rsf"));
    assert!(
        !wet.contains("in solids") && dry.contains("in solids (the first is number 2"),
        "{wet}{dry}"
    );
    let at = |share: f64, at: usize| {
        let mut rocks = sea;
        rocks[at] = (f64::from(rocks[at]) * (1.0 + share)) as f32;
        desk.dataset("changed.rsf", "n1=6 n2=2", &rocks);
        misfit(&desk, &format!("data.rsf {run} materials=changed.rsf"))
    };
    at(0.0, 0);
    // Parameters vp, vs, rho, each for both regions.
    let gradient = desk.read("gradient.rsf");
    let mut apart = Vec::new();
    for (region, column, parameter) in [(0, 2, 1), (0, 1, 0), (1, 1, 0), (1, 0, 2)] {
        let number = 6 * region + column;
        let by = f64::from(gradient[2 * parameter + region]) * f64::from(sea[number]);
        let [derivative, truth] = differences(by, |share| at(share, number));
        println!("region {region} parameter {parameter}: {derivative:e}, by differences {truth:e}");
        apart.push([derivative - truth, truth]);
    }
    // The misfit is printed with nine digits, from records in single precision, so its differences are too inaccurate
    // for derivatives far below the largest.
    let most = largest(apart.iter().map(|[_, truth]| *truth));
    let shares = apart
        .iter()
        .map(|[apart, truth]| apart / truth.abs().max(0.01 * most));
    assert!(largest(shares) < 2e-3);
    assert_eq!(
        gradient[3], 0.0,
        "the derivative with respect to the S speed of water"
    );
}

/// The gradient of a least-squares misfit is quadratic in the strength of the sources, even for the default strength of
/// one newton-metre.
#[test]
fn weak_sources_have_the_gradient_of_strong_ones() {
    let desk = desk();
    let run = |moment: &str| -> Vec<f32> {
        let words =
            format!("mesh=box.rsf sou=sou.rsf rec=rec.rsf nt=420 dt=0.0015 m0={moment} stf=ricker freq=7");
        desk.ran(&format!(
            "sfsem2d-gpu {words} device=cpu materials=other.rsf data=displacement > weak.rsf"
        ));
        desk.ran(&format!(
            "sfsemgrad2d-gpu < weak.rsf {words} data=displacement > gradient.rsf"
        ));
        desk.read("gradient.rsf")
    };
    let (weak, strong) = (run("1"), run("1e12"));
    for (weak, strong) in weak.iter().zip(&strong) {
        let apart = f64::from(*weak) * 1e24 / f64::from(*strong) - 1.0;
        assert!(largest([apart]) < 1e-3, "{weak:e} {strong:e}");
    }
}

/// Data with the time step of the run may end before the run does: later records are not compared, but the adjoint run
/// still begins at the end of the run.
#[test]
fn data_may_end_before_the_run() {
    let desk = desk();
    desk.ran("sfbasics window < data.rsf n3=300 > short.rsf; sfbasics pad < short.rsf n3=420 > padded.rsf");
    desk.ran("sfbasics math < short.rsf output=1 | sfbasics pad n3=420 > weight.rsf");
    for (program, beside) in [
        ("sfsemgrad2d-gpu", "weight=weight.rsf"),
        ("sfsemborn2d-gpu adj=y", ""),
    ] {
        let gradient_of = |data: &str, more: &str| {
            desk.ran(&format!(
                "{program} {RUN} materials=rocks.rsf {more} < {data} > made.rsf"
            ));
            desk.read("made.rsf")
        };
        let expected = gradient_of("padded.rsf", beside);
        assert!(magnitude(&expected) > 0.0);
        assert_eq!(gradient_of("short.rsf", ""), expected, "{program}");
    }
}

#[test]
fn what_has_no_gradient_is_refused() {
    let desk = desk();
    for (words, expected) in [
        (
            "data=strain",
            "records are of strain, but derivatives are those of displacement, velocity, acceleration or pressure",
        ),
        (
            "data=pressure",
            "this program takes data of this survey: n1=4 receivers, n2=1 components",
        ),
        ("lumping=specfem", "give lumping=matrix"),
        ("on=model", "the model is not on a grid"),
        ("nt=300", "has n3=420 records, but this run has 300"),
        ("materials=wet.rsf", "a fluid, where no force can act"),
        ("memory=1e-6", "GB of memory at least"),
        (
            "data=displacement",
            "holds velocity in m/s, but this run models displacement in m",
        ),
        ("on=grid nqz=5 dqz=10", "beyond the grid"),
        ("on=grid oqx=900", "lies beyond the mesh, which ends at 700 m"),
        ("weight=few.rsf", "weights need one value for each"),
        (
            "weight=turned.rsf",
            "weight=turned.rsf has n1=420 n2=2 n3=4 n4=2, but standard input has n1=4 n2=2 n3=420 n4=2: weights need the axes",
        ),
    ] {
        let mut rocks = ROCKS;
        rocks[8] = 0.0;
        desk.dataset("wet.rsf", "n1=6 n2=2", &rocks);
        desk.dataset("few.rsf", "n1=3", &[1.0, 1.0, 1.0]);
        desk.dataset("turned.rsf", "n1=420 n2=2 n3=4 n4=2", &[1.0; 420 * 16]);
        let ended = desk.sh(&format!("sfsemgrad2d-gpu < data.rsf {RUN} {words} > x.rsf"));
        assert!(
            ended.code != 0 && ended.err.contains(expected),
            "{words}: {ended:?}"
        );
    }
    for (turn, back) in [
        ("sftransp plane=13", "sftransp plane=13"),
        (
            "sftransp plane=23 | sftransp plane=12",
            "sftransp plane=12 | sftransp plane=23",
        ),
        ("sftransp plane=12", "sftransp plane=12"),
        ("sftransp plane=23", "sftransp plane=23"),
    ] {
        let [turned, same] = [turn, back].map(|words| words.replace("sftransp", "sfbasics transp"));
        let first = turned.replacen("plane", "< data.rsf plane", 1);
        let ended = desk.sh(&format!("{first} | sfsemgrad2d-gpu {RUN} > x.rsf"));
        let expected = format!("with their axes in another order: {back} transposes them");
        assert!(
            ended.code != 0 && ended.err.contains(&expected),
            "{turn}: {ended:?}"
        );
        desk.ran(&format!("{first} | {same} > same.rsf"));
        assert!(desk.read("same.rsf") == desk.read("data.rsf"), "{turn}");
    }
    // The data of three of the four receivers do not fit the survey, in any order of the axes.
    let few = "sfbasics window n1=3 < data.rsf | sfbasics transp plane=12";
    let ended = desk.sh(&format!("{few} | sfsemgrad2d-gpu {RUN} > x.rsf"));
    let is_refused =
        ended.err.contains("takes data of this survey") && !ended.err.contains("in another order");
    assert!(ended.code != 0 && is_refused, "{ended:?}");
    let plan = desk.ran(&format!("sfsemgrad2d-gpu {RUN} plan=y"));
    assert!(plan.err.contains("421 of 421 steps at a time"), "{plan:?}");
}
