//! Messages about the memory of GPUs are correct: the suggested size runs, the next larger size is refused, and a run
//! that is not refused at its start never runs out of memory later. The GPUs are fake, with as many bytes as a variable
//! gives.

use crate::desk::{Desk, Outcome};
use crate::fakes::Driver;
use crate::gpus::on;
use crate::velocity_stress::line;

/// Runs a command line on `devices` fake GPUs with `memory` bytes each.
fn run(desk: &Desk, (devices, memory): (usize, usize), line: &str) -> Option<Outcome> {
    let (devices, memory) = (devices.to_string(), memory.to_string());
    let variables = [("FAKE_DEVICES", &devices[..]), ("FAKE_MEMORY", &memory[..])];
    on(desk, Driver::Fake, &variables, line)
}

/// The number that follows these words.
fn number(text: &str, before: &str) -> f64 {
    let (_, rest) = text
        .split_once(before)
        .unwrap_or_else(|| panic!("`{before}` is missing in {text}"));
    let end = rest
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(rest.len());
    let word = rest[..end].trim_end_matches('.');
    word.parse()
        .unwrap_or_else(|_| panic!("no number follows `{before}` in {text}"))
}

/// A 3-D model for displacements with `n` nodes on each side.
fn cube(n: usize) -> Desk {
    let desk = crate::shot::desk(3);
    let header = format!("n1={n} n2={n} n3={n} d1=0.01 d2=0.01 d3=0.01");
    let (p, s) = (2.2 * 4.0, 2.2 * 1.21);
    let l = p - 2.0 * s;
    let planes = [p, p, p, s, s, s, l, l, l]
        .map(|c: f32| vec![c; n * n * n])
        .concat();
    desk.dataset("ccc.rsf", &format!("{header} n4=9"), &planes);
    desk.dataset("den.rsf", &header, &vec![2.2; n * n * n]);
    desk
}

/// A run fits on the suggested number of GPUs, but not on one GPU fewer; the same is true of the largest grid.
#[test]
fn advised_gpus_and_grids_hold_a_run_of_displacements() {
    let (memory, nodes) = (76_000_000, 100);
    let desk = cube(nodes);
    let of = |desk: &Desk, devices: &str| {
        let line = format!(
            "{} < wav.rsf > data.rsf",
            crate::shot::line_on(3, &format!("device=gpu {devices}"))
        );
        run(desk, (8, memory), &line)
    };
    let Some(lone) = of(&desk, "") else {
        return;
    };
    assert_eq!(lone.code, 1, "{lone:?}");
    let gpus = number(&lone.err, "such GPUs hold it (ngpu=");
    assert!((3.0..8.0).contains(&gpus), "{lone:?}");
    let of = |desk: &Desk, devices: &str| of(desk, devices).expect("the fake was there a moment ago");
    let fewer = of(&desk, &format!("ngpu={}", gpus - 1.0));
    assert_eq!(fewer.code, 1, "{fewer:?}");
    assert_eq!(number(&fewer.err, "such GPUs hold it (ngpu="), gpus, "{fewer:?}");
    assert!(
        fewer.err.contains("too little memory for its part of this run: "),
        "{fewer:?}"
    );
    let held = of(&desk, &format!("ngpu={gpus}"));
    assert_eq!(held.code, 0, "{held:?}");
    // There are frames of 8 nodes at both ends; the suggested grid is a whole percentage of the nodes.
    let side = number(&lone.err, "; a grid of z ") as usize;
    let percent = (1..100).rev().find(|percent| nodes * percent / 100 + 16 == side);
    let percent = percent.expect("a percentage of the nodes");
    for (n, code) in [(nodes * percent / 100, 0), (nodes * (percent + 1) / 100, 1)] {
        let ended = of(&cube(n), "");
        assert_eq!(ended.code, code, "{n} nodes on each side: {ended:?}");
    }
}

/// The velocity-stress programs suggest only a number of GPUs, and a run on that number fits.
#[test]
fn advised_gpus_hold_a_run_of_velocities() {
    let desk = Desk::new();
    let n = 80;
    let header = format!("n1={n} n2={n} n3={n} d1=10 d2=10 d3=10");
    for (name, value) in [("vp", 3000.0), ("vs", 1700.0), ("den", 2200.0)] {
        desk.dataset(&format!("{name}.rsf"), &header, &vec![value; n * n * n]);
    }
    desk.dataset("sou.rsf", "n1=3 n2=1", &[400.0; 3]);
    desk.dataset("rec.rsf", "n1=3 n2=1", &[300.0; 3]);
    let of = |devices: &str| {
        let line = line(3).replace("nt=60", "nt=5");
        run(
            &desk,
            (8, 70_000_000),
            &format!("{line} device=gpu {devices} > data.rsf"),
        )
    };
    let Some(lone) = of("") else {
        return;
    };
    assert_eq!(lone.code, 1, "{lone:?}");
    let gpus = number(&lone.err, " free; ");
    assert!((2.0..8.0).contains(&gpus), "{lone:?}");
    assert_eq!(number(&lone.err, "such GPUs hold it (ngpu="), gpus);
    let fewer = of(&format!("ngpu={}", gpus - 1.0)).expect("the fake was there a moment ago");
    assert_eq!(fewer.code, 1, "{fewer:?}");
    assert_eq!(number(&fewer.err, "such GPUs hold it (ngpu="), gpus, "{fewer:?}");
    let held = of(&format!("ngpu={gpus}")).expect("the fake was there a moment ago");
    assert_eq!(held.code, 0, "{held:?}");
}

/// The number of shots that is reported to fit needs no more than the free memory; one more shot needs more.
#[test]
fn shots_that_fit_a_gpu_are_counted() {
    let desk = crate::survey::desk(2);
    let line = line(2).replace("sou=sou.rsf", "sou=sous.rsf");
    let of = |program: &str, memory: usize, devices: String| {
        let line = line.replace("sfvsfd2d-gpu", program);
        run(&desk, (1, memory), &format!("{line} device=gpu plan=y {devices}"))
    };
    for (program, memory, before) in [
        ("sfvsfd2d-gpu", 60_000_000, "at most "),
        ("sfvsgrad2d-gpu", 400_000_000, "its memory holds at most "),
    ] {
        let Some(most) = of(program, memory, "groups=5000".into()) else {
            return;
        };
        assert_eq!(most.code, 1, "{most:?}");
        let fit = number(&most.err, before);
        assert!((8.0..5000.0).contains(&fit), "{most:?}");
        let of = |shots: f64| {
            let run = of(program, memory, format!("groups={shots}"));
            run.expect("the fake was there a moment ago")
        };
        let (held, more) = (of(fit), of(fit + 1.0));
        assert_eq!((held.code, more.code), (0, 1), "{held:?} {more:?}");
        assert_eq!(number(&more.err, before), fit, "{more:?}");
        if program == "sfvsfd2d-gpu" {
            // The message rounds to hundredths of a GB, and memory is allocated in pages of 2 MiB.
            let needed = number(&more.err, "which need ");
            assert!((0.06..0.075).contains(&needed), "{more:?}");
            assert_eq!(number(&more.err, "GB of memory, but "), 0.06, "{more:?}");
        }
    }
}

/// A GPU runs as many shots at a time as have eight million cells together, but at most 64, and two workers share them;
/// if there are fewer shots, each worker receives as many as the other.
#[test]
fn shots_fill_a_gpu() {
    let desk = crate::survey::desk(2);
    let places: Vec<f32> = (0..200).flat_map(|k| [60.0 + 0.5 * k as f32, 100.0]).collect();
    desk.dataset("many.rsf", "n1=2 n2=1 n3=200", &places);
    let of = |shots: usize, nb: usize| {
        let line = line(2).replace("sou=sou.rsf", &format!("sou=many.rsf shots=1-{shots}"));
        let line = line.replace("nb=8", &format!("nb={nb} plan=y device=gpu gpu=0"));
        run(&desk, (1, 20_000_000_000), &line)
    };
    for (shots, nb, at_a_time) in [
        // A shot has 40 x 42 cells. Two workers have batches of at most 32, so 200 shots are four rounds of two batches
        // of 25.
        (200, 8, 50),
        (64, 8, 64),
        (65, 8, 34),
        (5, 8, 5),
        // A shot has 1032 x 1034 cells, and seven shots have less than eight million, so two workers have four each; 20
        // shots are three rounds.
        (20, 500, 8),
        // Only one shot with 2032 x 2034 cells fits.
        (3, 1000, 1),
    ] {
        let Some(planned) = of(shots, nb) else {
            return;
        };
        assert_eq!(planned.code, 0, "{planned:?}");
        let expected = match at_a_time {
            1 => format!("there are {shots}, which takes"),
            _ => format!("there are {shots}, {at_a_time} at a time, which takes"),
        };
        assert!(planned.err.contains(&expected), "{expected}: {planned:?}");
    }
}

/// The smallest number of bytes with which a run has enough memory for all that it sets up. With fewer bytes it is
/// refused before it allocates memory, except for small arrays, such as those of absorbing faces, which are not
/// counted.
fn least(desk: &Desk, [low, high]: [usize; 2], line: &str) -> Option<usize> {
    let (mut low, mut high) = (low, high);
    while high - low > 16 {
        let middle = low.midpoint(high);
        let ended = run(desk, (1, middle), line)?;
        let late = ended.err.contains("has not enough memory for this run: ");
        if late {
            let needed = number(&ended.err, "has not enough memory for this run: ");
            let lacking = needed - number(&ended.err, " bytes more are needed, ");
            assert!(lacking < 0.01 * middle as f64, "{middle} bytes: {ended:?}");
        }
        let refused = late || ended.err.contains("has too little memory for ");
        let too_few = refused || ended.err.contains("the reverse sweep through 21 steps needs ");
        assert_eq!(ended.code == 1, too_few, "{middle} bytes: {ended:?}");
        match refused {
            true => low = middle,
            false => high = middle,
        }
    }
    Some(high)
}

/// A gradient on a mesh needs the memory of a run and of its adjoint wavefield and sums, and is refused if there is
/// less. 40 x 40 elements of degree 4 have 161 x 161 points, each with a displacement, a velocity and an acceleration
/// of two components in single precision; a product of the fields at each point of the mesh and two of their
/// derivatives at each of the 25 points of an element, in single and in double precision; and the displacements of
/// eight steps of the adjoint wavefield.
#[test]
fn gradients_on_meshes_take_what_is_printed() {
    let desk = Desk::new();
    let mesh = "sfhexmesh surfaces=400,0 layers=40 nx=40 xmin=0 xmax=400 rho=2300 vp=3000 vs=1700 judge=n";
    desk.ran(&format!("{mesh} > box.rsf"));
    desk.dataset("sou.rsf", "n1=2 n2=1", &[201.0, 103.0]);
    desk.dataset("rec.rsf", "n1=2 n2=2", &[151.0, 100.0, 251.0, 200.0]);
    desk.dataset("data.rsf", "n1=2 n2=2 n3=20 d3=0.0001", &[1e-6; 80]);
    let words = "mesh=box.rsf sou=sou.rsf rec=rec.rsf m0=1e12 stf=ricker freq=5 nt=20 dt=0.0001 device=gpu";
    let forward = format!("sfsem2d-gpu {words} > out.rsf");
    let Some(forward) = least(&desk, [1_000_000, 2_000_000], &forward) else {
        return;
    };
    let back = format!("sfsemgrad2d-gpu {words} < data.rsf > out.rsf");
    let least = least(&desk, [4_000_000, 6_000_000], &back).expect("the fake was there a moment ago");
    let (points, locals) = (161 * 161, 1600 * 25);
    let beside = 4 * 3 * 2 * points + (4 + 8) * (points + 2 * locals) + 4 * 8 * 2 * points;
    // The bisections end at 16 bytes; 120 absorbing faces of 5 points have up to 10 numbers per point.
    let more = least - forward;
    assert!(
        (beside - 16..beside + 120 * 5 * 10 * 4 + 500).contains(&more),
        "{more} {beside}"
    );
    // If more memory is requested, the refusal gives the free memory.
    let limited = back.replace("device=gpu", "device=gpu memory=0.002");
    let run_below = run(&desk, (1, least + 450_000), &limited).expect("the fake was there a moment ago");
    assert_eq!(run_below.code, 1, "{run_below:?}");
    let before = "memory=0.002 GB are requested, but the GPU has ";
    let left = number(&run_below.err, before);
    assert!((left - 0.00045).abs() < 0.0001, "{run_below:?}");
    assert!(
        run_below
            .err
            .contains(" left for the stored wavefield: give less, or leave out memory="),
        "{run_below:?}"
    );
}

/// Whichever of the GPUs that share a shot has the least memory sets the limit and is named.
#[test]
fn the_gpu_with_the_least_memory_is_named() {
    let desk = crate::survey::desk(2);
    let line = line(2).replace("sou=sou.rsf", "sou=sous.rsf");
    for (little, devices, named) in [
        ("FAKE_MEMORY_1", "ngpu=2", "GPU 1 Fake 1 (90)"),
        ("FAKE_MEMORY_0", "ngpu=2", "GPU 0 Fake 0 (90)"),
        ("FAKE_MEMORY_2", "gpu=3,2,1", "GPU 2 Fake 2 (90)"),
    ] {
        let on = |little_bytes: &str, line: &str| {
            let variables = [
                ("FAKE_DEVICES", "4"),
                ("FAKE_MEMORY", "1000000000"),
                (little, little_bytes),
            ];
            on(&desk, Driver::Fake, &variables, line)
        };
        let back = line.replace("sfvsfd2d-gpu", "sfvsgrad2d-gpu");
        let back = format!(
            "{back} {} plan=y device=gpu",
            devices.replace("gpu=3,2,1", "gpu=3,2,1 ngpu=3")
        );
        let Some(planned) = on("400000000", &back) else {
            return;
        };
        let count = if devices == "ngpu=2" { 2 } else { 3 };
        let expected = format!("{named}, one of {count} GPUs that share a shot: ");
        let line_of_gpu = planned.err.lines().find(|line| line.contains(&expected));
        let line_of_gpu = line_of_gpu.unwrap_or_else(|| panic!("{planned:?}"));
        assert!(
            planned.code == 0 && line_of_gpu.ends_with(", 0.40 GB are free"),
            "{planned:?}"
        );
        // A forward run is refused, and the message names the GPU that has too little memory.
        let line = line.replace("sou=sous.rsf", "sou=sou.rsf");
        let refused = on("20000000", &format!("{line} {devices} device=gpu > data.rsf"));
        let refused = refused.expect("the fake was there a moment ago");
        let expected = format!("{named} has too little memory for its part of this run: ");
        assert!(
            refused.code == 1
                && refused.err.contains(&expected)
                && refused.err.contains(", but 0.02 GB are free; "),
            "{refused:?}"
        );
    }
}
