//! The velocity-stress programs, run as processes.

use crate::desk::{Desk, Outcome};
use crate::real;
use crate::shots::{largest_difference, magnitude, relative_difference};

/// Nodes along z, x, y.
pub const N: [usize; 3] = [24, 26, 23];
const STEPS: usize = 60;

pub fn grid(ndim: usize) -> String {
    (1..=ndim)
        .map(|i| format!("n{i}={} o{i}=0 d{i}=10 ", N[i - 1]))
        .collect()
}

/// A desk with a model in SI units, a source and three receivers.
pub fn desk(ndim: usize) -> Desk {
    let desk = Desk::new();
    let cells = N[..ndim].iter().product();
    for (name, value) in [("vp", 3000.0f32), ("vs", 1700.0), ("den", 2200.0)] {
        desk.dataset(&format!("{name}.rsf"), &grid(ndim), &vec![value; cells]);
    }
    let at = |x: f32| {
        if ndim == 3 {
            vec![x, x + 3.0, x - 7.0]
        } else {
            vec![x, x - 7.0]
        }
    };
    desk.dataset("sou.rsf", &format!("n1={ndim} n2=1"), &at(120.0));
    let points: Vec<f32> = [80.0, 110.0, 171.5].into_iter().flat_map(at).collect();
    desk.dataset("rec.rsf", &format!("n1={ndim} n2=3 o2=5 d2=2"), &points);
    desk
}

pub fn line(ndim: usize) -> String {
    format!(
        "sfvsfd{ndim}d-gpu vp=vp.rsf vs=vs.rsf den=den.rsf sou=sou.rsf rec=rec.rsf nt={STEPS} dt=0.001 tau=0.008 m0=1e12 nb=8"
    )
}

fn shoot(desk: &Desk, ndim: usize, extra: &str) -> Outcome {
    desk.sh(&format!("{} {extra} > data.rsf", line(ndim)))
}

fn data(desk: &Desk, ndim: usize, extra: &str) -> Vec<f32> {
    let run = shoot(desk, ndim, extra);
    assert_eq!(run.code, 0, "{run:?}");
    desk.read("data.rsf")
}

fn refused(desk: &Desk, run: &Outcome, words: &[&str]) {
    assert_eq!(run.code, 1, "{run:?}");
    let sentences: Vec<&str> = run.err.lines().filter(|l| !l.contains(": warning: ")).collect();
    assert_eq!(sentences.len(), 1, "{run:?}");
    assert!(
        words.iter().all(|word| sentences[0].contains(word)),
        "{words:?}: {run:?}"
    );
    assert!(!desk.path("data.rsf@").exists());
}

#[test]
fn data_and_snapshots_have_the_axes_of_what_they_are() {
    for ndim in [2, 3] {
        let desk = desk(ndim);
        let values = data(&desk, ndim, "snap=y wfl=wfl.rsf jsnap=20 jdata=2 free=y");
        assert!(values.iter().any(|x| x.abs() > 1e-6) && values.iter().all(|x| x.is_finite()));
        let axes = desk.axes("data.rsf", 3);
        assert_eq!((axes[0].n, axes[1].n, axes[2].n), (3, ndim, STEPS / 2));
        assert_eq!((axes[0].o, axes[0].d), (5.0, 2.0));
        assert!((axes[2].o - 0.0005).abs() < 1e-9 && (axes[2].d - 0.002).abs() < 1e-9);
        let axes = desk.axes("wfl.rsf", ndim + 2);
        assert_eq!(axes[..ndim].iter().map(|a| a.n).collect::<Vec<_>>(), N[..ndim]);
        assert_eq!((axes[ndim].n, axes[ndim + 1].n, axes[0].o), (ndim, 3, 0.0));
        assert!(
            desk.open("data.rsf")
                .header()
                .text("quantity")
                .unwrap()
                .contains("velocity in m/s")
        );
    }
}

#[test]
fn strains_have_six_components_or_three_and_snapshots_stay_velocities() {
    for ndim in [2, 3] {
        let desk = desk(ndim);
        let values = data(&desk, ndim, "data=strain snap=y wfl=wfl.rsf jsnap=20");
        assert!(values.iter().any(|x| *x != 0.0) && values.iter().all(|x| x.is_finite()));
        let (components, label) = [(3, "zz xx zx"), (6, "zz xx yy zx zy xy")][ndim - 2];
        let axes = desk.axes("data.rsf", 3);
        assert_eq!((axes[0].n, axes[1].n, axes[2].n), (3, components, STEPS));
        assert_eq!(axes[1].label.as_deref(), Some(label));
        assert!((axes[2].o - 0.001).abs() < 1e-9);
        assert_eq!(desk.axes("wfl.rsf", ndim + 2)[ndim].n, ndim);
        let snapshots = desk.read("wfl.rsf");
        data(&desk, ndim, "snap=y wfl=other.rsf jsnap=20");
        assert!(snapshots == desk.read("other.rsf"));
    }
}

/// A window of one row is a map of the surface in time; its values equal the records of receivers at the nodes of each
/// field.
#[test]
fn snapshots_of_one_row_are_maps_of_the_surface_in_time() {
    for ndim in [2, 3] {
        let desk = desk(ndim);
        let nodes = [[9usize, 8], [15, 14]];
        // The points are shifted by half a cell along x, to the nodes of the velocity along x.
        let points: Vec<f32> = nodes
            .iter()
            .flat_map(|n| [10.0 * n[0] as f32 + 5.0, 10.0 * n[1] as f32, 0.0])
            .enumerate()
            .filter(|(k, _)| ndim == 3 || k % 3 != 1)
            .map(|(_, x)| x)
            .collect();
        desk.dataset("rec.rsf", &format!("n1={ndim} n2=2"), &points);
        let window = "snap=y wfl=map.rsf jsnap=5 nqz=1 oqz=0";
        let values = data(&desk, ndim, &format!("free=y jdata=5 {window}"));
        let axes = desk.axes("map.rsf", ndim + 2);
        let sizes: Vec<usize> = axes.iter().map(|a| a.n).collect();
        assert_eq!(sizes, [&[1], &N[1..ndim], &[ndim, STEPS / 5][..]].concat());
        assert!((axes[ndim + 1].d - 0.005).abs() < 1e-9 && (axes[ndim + 1].o - 0.0005).abs() < 1e-9);
        let units: Vec<_> = axes.iter().map(|a| a.unit.as_deref()).collect();
        assert!(
            units[..ndim].iter().all(|unit| *unit == Some("m")) && units[ndim + 1] == Some("s"),
            "{units:?}"
        );
        let header = desk.open("map.rsf").header().clone();
        assert!(header.text("nodes").unwrap().contains("raw staggered fields"));
        assert!(header.text("quantity").unwrap().contains("m/s"));
        let map = desk.read("map.rsf");
        let component: usize = N[1..ndim].iter().product();
        let scale = magnitude(values.iter().copied());
        for (it, (k, n)) in (0..STEPS / 5).flat_map(|it| nodes.iter().enumerate().map(move |n| (it, n))) {
            let x = values[(it * ndim + 1) * 2 + k];
            let node = n[0] + if ndim == 3 { n[1] * N[1] } else { 0 };
            let mapped = map[(it * ndim + 1) * component + node];
            assert!(
                (x - mapped).abs() < 1e-5 * scale,
                "{ndim}-D {it} {k}: {x} {mapped}"
            );
        }
        assert!(map.iter().any(|x| x.abs() > 0.1 * scale));
    }
}

/// The map is compared with receivers on nodes of the surface.
#[test]
fn peak_maps_are_the_largest_horizontal_speeds_of_receivers() {
    for ndim in [2, 3] {
        let desk = desk(ndim);
        let nodes = [[9usize, 8], [15, 14]];
        let points: Vec<f32> = nodes
            .iter()
            .flat_map(|n| [10.0 * n[0] as f32, 10.0 * n[1] as f32, 0.0])
            .enumerate()
            .filter(|(k, _)| ndim == 3 || k % 3 != 1)
            .map(|(_, x)| x)
            .collect();
        desk.dataset("rec.rsf", &format!("n1={ndim} n2=2"), &points);
        let values = data(&desk, ndim, "free=y pgv=pgv.rsf device=cpu");
        let map = desk.read("pgv.rsf");
        let axes = desk.axes("pgv.rsf", ndim - 1);
        assert_eq!(axes.iter().map(|a| a.n).collect::<Vec<_>>(), N[1..ndim]);
        let record = 2 * ndim;
        for (k, n) in nodes.iter().enumerate() {
            let speed = |it: usize| {
                let at = |c: usize| values[it * record + 2 * c + k];
                (1..ndim).map(|c| at(c) * at(c)).sum::<f32>().sqrt()
            };
            let peak = magnitude((0..STEPS).map(speed));
            let mapped = map[n[0] + if ndim == 3 { n[1] * N[1] } else { 0 }];
            assert!(
                peak > 0.0 && (mapped / peak - 1.0).abs() < 0.03,
                "{ndim} {k}: {mapped} {peak}"
            );
        }
        data(&desk, ndim, "free=y pgv=cut.rsf ngpu=2 device=cpu");
        assert!(desk.read("cut.rsf") == map);
    }
}

#[test]
fn slabs_and_threads_give_the_same_bits() {
    let desk = desk(3);
    let one = data(&desk, 3, "free=y threads=1 device=cpu");
    for extra in ["ngpu=2 threads=2", "ngpu=3 threads=1", "ngpu=5"].map(|words| format!("{words} device=cpu"))
    {
        assert!(data(&desk, 3, &format!("free=y {extra}")) == one, "{extra}");
    }
}

#[test]
fn stiffness_planes_and_speeds_are_one_medium() {
    for ndim in [2, 3] {
        let desk = desk(ndim);
        let cells: usize = N[..ndim].iter().product();
        let (p, s) = (2200.0f32 * 9e6, 2200.0f32 * 1700.0 * 1700.0);
        let l = p - 2.0 * s;
        let planes: &[f32] = if ndim == 3 {
            &[p, p, p, s, s, s, l, l, l]
        } else {
            &[p, p, s, l]
        };
        let values: Vec<f32> = planes
            .iter()
            .flat_map(|&c| std::iter::repeat_n(c, cells))
            .collect();
        desk.dataset(
            "ccc.rsf",
            &format!("{} n{}={}", grid(ndim), ndim + 1, planes.len()),
            &values,
        );
        let one = data(&desk, ndim, "");
        let run = desk.sh(&format!(
            "{} > data.rsf",
            line(ndim).replace("vp=vp.rsf vs=vs.rsf", "ccc=ccc.rsf")
        ));
        assert_eq!(run.code, 0, "{run:?}");
        let apart = relative_difference(desk.read("data.rsf"), &one);
        assert!(apart < 1e-5, "{apart}");
    }
}

#[test]
fn layers_that_would_grow_become_a_sponge_and_the_user_knows() {
    let desk = desk(2);
    let cells = N[0] * N[1];
    for (c13, grows) in [(16.5e9f32, true), (8.4e9, false)] {
        // The rock is isotropic before x = 90 m.
        let planes = [(9e9, 8.8e9), (9e9, 44e9), (3e9, 4.4e9), (3e9, c13)];
        let values: Vec<f32> = planes
            .iter()
            .flat_map(|&(rock, c)| (0..cells).map(move |k| if k / N[0] < 9 { rock } else { c }))
            .collect();
        desk.dataset("ccc.rsf", &format!("{} n3=4", grid(2)), &values);
        let run = desk.sh(&format!(
            "{} > data.rsf",
            line(2).replace("vp=vp.rsf vs=vs.rsf", "ccc=ccc.rsf")
        ));
        assert_eq!(run.code, 0, "{run:?}");
        let line_of = |run: &Outcome| {
            let line = run
                .err
                .lines()
                .find(|line| line.contains("CPML would be unstable"));
            line.map(str::to_string)
        };
        let place = "at z=0.000000 (index 0), x=90.000000 (index 9) a wave in the plane of z and x ";
        let there = line_of(&run).map(|line| line.contains(place));
        assert_eq!(there, grows.then_some(true), "{run:?}");
        // A plan says the same, and gives the frame that will be used.
        let plan = desk.sh(&format!(
            "{} plan=y",
            line(2).replace("vp=vp.rsf vs=vs.rsf", "ccc=ccc.rsf")
        ));
        assert_eq!(plan.code, 0, "{plan:?}");
        assert_eq!(line_of(&plan), line_of(&run));
        let frame = if grows {
            "sponge of 8,8,8,8"
        } else {
            "CPML of 8,8,8,8"
        };
        assert!(plan.err.contains(frame), "{plan:?}");
    }
}

#[test]
fn quality_factors_are_numbers_or_files_and_take_energy() {
    for ndim in [2, 3] {
        let desk = desk(ndim);
        let cells = N[..ndim].iter().product();
        desk.dataset("q.rsf", &grid(ndim), &vec![20.0; cells]);
        let energy = |values: &[f32]| values.iter().map(|x| x * x).sum::<f32>();
        let none = data(&desk, ndim, "");
        let some = data(&desk, ndim, "qp=20 qs=20 qmech=2 qref=1");
        assert_eq!(data(&desk, ndim, "qp=q.rsf qs=q.rsf qmech=2 qref=1"), some);
        assert!(energy(&some) < 0.9 * energy(&none));
        let zero = data(&desk, ndim, "qp=0 qs=0");
        let apart = relative_difference(&zero, &none);
        assert!(apart < 1e-5, "{apart}");
        let coarse = data(&desk, ndim, "qp=20 qs=20 qmech=coarse qref=1 verb=y");
        assert!(energy(&coarse) < 0.9 * energy(&none));
    }
}

/// Air above rock: with the stability limit of single cells the wavefield would grow.
#[test]
fn contrasts_of_density_lower_the_limit() {
    let desk = desk(2);
    let cells: usize = N[..2].iter().product();
    for (name, air, rock) in [("vp", 340.0f32, 2000.0), ("vs", 0.0, 900.0), ("den", 1.2, 2200.0)] {
        let plane: Vec<f32> = (0..cells)
            .map(|k| if k % N[0] < 4 { air } else { rock })
            .collect();
        desk.dataset(&format!("{name}.rsf"), &grid(2), &plane);
    }
    let run = |extra: &str| {
        desk.sh(&format!(
            "{} {extra} > data.rsf",
            line(2).replace("dt=0.001", "dt=0.0029")
        ))
    };
    // 98 % of the limit of rock is 2.97 ms in order 4 and 3.46 ms in order 2.
    refused(
        &desk,
        &run("order=4"),
        &[
            "densities that differ",
            "use order=2 with a step within its limit, or dt <= 1.55",
        ],
    );
    let fine = run("order=2");
    assert!(
        fine.code == 0 && !fine.err.contains("density changes"),
        "{fine:?}"
    );
}

#[test]
fn anisotropic_rock_attenuates_too() {
    for ndim in [2, 3] {
        let desk = desk(ndim);
        let cells: usize = N[..ndim].iter().product();
        let (p, s) = (2200.0f32 * 9e6, 2200.0f32 * 1700.0 * 1700.0);
        let planes: &[f32] = if ndim == 3 {
            &[1.2, 1.2, 1.0, 0.0, 0.0, 0.0, 0.5, 0.3, 0.3]
        } else {
            &[1.2, 1.0, 0.0, 0.3]
        };
        let plane = |c: &f32| std::iter::repeat_n(if *c == 0.0 { s } else { c * p }, cells);
        let values: Vec<f32> = planes.iter().flat_map(plane).collect();
        let axes = format!("{} n{}={}", grid(ndim), ndim + 1, planes.len());
        desk.dataset("ccc.rsf", &axes, &values);
        let run = |extra: &str| {
            let line = line(ndim).replace("vp=vp.rsf vs=vs.rsf", "ccc=ccc.rsf");
            let run = desk.sh(&format!("{line} verb=y {extra} > data.rsf"));
            assert!(run.code == 0 && !run.err.contains("medium isotropic"), "{run:?}");
            desk.read("data.rsf").iter().map(|x| x * x).sum::<f32>()
        };
        assert!(run("qp=20 qs=20 qmech=2 qref=1") < 0.9 * run(""));
    }
}

#[test]
fn mechanisms_series_and_onsets_from_files_are_those_of_the_parameters() {
    let desk = desk(3);
    desk.dataset("mech.rsf", "n1=4 n2=1", &[30.0, 60.0, 45.0, 1e12]);
    let one = data(&desk, 3, "src=dc strike=30 dip=60 rake=45");
    let apart = relative_difference(data(&desk, 3, "src=dc mech=mech.rsf"), &one);
    assert!(apart < 1e-5, "{apart}");
    desk.dataset("late.rsf", "n1=1", &[0.004]);
    let late = data(&desk, 3, "onset=late.rsf");
    let now = data(&desk, 3, "");
    let records = 3 * 3;
    let scale = f64::from(magnitude(&now));
    let apart = largest_difference(&late[4 * records..], &now[..now.len() - 4 * records]) / scale;
    assert!(apart < 1e-5, "{apart}");
    // `rate` gives the Gaussian of eq. 10 as samples.
    let rate = |k: usize| {
        let t = 0.0005 * k as f64 / 0.008 - 4.0;
        ((-0.5 * t * t).exp() / ((2.0 * std::f64::consts::PI).sqrt() * 0.008)) as f32
    };
    desk.dataset(
        "series.rsf",
        "n1=200 d1=0.0005 o1=0",
        &(0..200).map(rate).collect::<Vec<_>>(),
    );
    let sampled = data(&desk, 3, "series=series.rsf");
    let apart = relative_difference(&sampled, &now);
    assert!(apart < 1e-4, "{apart}");
}

#[test]
fn devices_are_named() {
    let desk = desk(2);
    let count = real::gpus("devices_are_named");
    let run = shoot(&desk, 2, "device=gpu");
    if count == 0 {
        refused(&desk, &run, &["NVIDIA", "device=cpu"]);
    } else {
        assert!(run.code == 0 && run.err.contains("GPU 0"), "{run:?}");
    }
    let run = shoot(&desk, 2, "device=auto");
    let device = if count == 0 { "CPU" } else { "GPU 0" };
    assert!(run.code == 0 && run.err.contains(device), "{run:?}");
    let run = shoot(&desk, 2, "plan=y ngpu=2 device=cpu");
    assert!(
        run.code == 0
            && run.err.contains("slab 2")
            && run.err.contains("time about")
            && run.err.contains("nothing was run"),
        "{run:?}"
    );
    // The moment of an explosion with a Gaussian rate is a step, whose spectrum has no peak; a Ricker wavelet has one.
    let step = "sources without a peak (a step or a pulse of one sign, strongest towards 0 Hz), highest ";
    assert!(run.err.contains(step) && !run.err.contains("peak 0.0"), "{run:?}");
    let ricker = shoot(&desk, 2, "plan=y device=cpu stf=ricker freq=40");
    assert!(
        ricker.err.contains("sources peak 4") && !ricker.err.contains(step),
        "{ricker:?}"
    );
}

/// The plan of a run that will be refused for its step still gives memory and time, and ends with the refusal.
#[test]
fn the_plan_of_an_unstable_run_is_whole() {
    let desk = desk(2);
    for line in ["dt=0.01", "dt=0.01 qp=40 qs=30"] {
        let run = shoot(&desk, 2, &format!("{line} plan=y device=cpu"));
        let lines: Vec<&str> = run.err.lines().collect();
        for words in ["memory ", "time about", "% of the stability limit"] {
            assert!(lines.iter().any(|line| line.contains(words)), "{words}: {run:?}");
        }
        let last = lines.last().copied().unwrap_or_default();
        assert!(
            run.code == 1 && last.contains("unstable") && last.contains("dt <= "),
            "{run:?}"
        );
    }
    let born = desk.sh(&format!(
        "{} dt=0.01 adj=y plan=y device=cpu",
        line(2).replace("sfvsfd2d", "sfvsborn2d")
    ));
    let words = ["reverse sweep", "unstable"].map(|words| born.err.contains(words));
    assert_eq!((born.code, words), (1, [true, true]), "{born:?}");
}

#[test]
fn bad_input_is_refused_in_a_sentence() {
    let desk = desk(2);
    for (extra, words) in [
        ("dt=0.01", &["unstable", "dt <= 2."][..]),
        ("dt=0", &["dt=0"]),
        ("tau=-1", &["tau=-1"]),
        ("stf=ricker", &["freq="]),
        ("src=force", &["strength zero", "fx="]),
        ("faces=1,2,3", &["faces=", "needs 4"]),
        ("free=y faces=5,5,5,5", &["free surface"]),
        ("ngpu=40 device=cpu", &["40 slabs do not fit", "(ngpu=)"]),
        ("sou=far.rsf", &["source 1", "outside the grid", "x=9000"]),
        ("free=y sou=high.rsf", &["source 1", "below the free surface"]),
        ("mech=sou.rsf", &["mech=", "n1=1"]),
        ("series=nan.rsf", &["nan.rsf", "value 2"]),
        (
            "onset=sou.rsf",
            &["onset=", "has 2 values", "one for each source, 1 here"],
        ),
        ("den=small.rsf", &["n1=3", "one grid"]),
        ("den=zero.rsf", &["density is 0", "z=0"]),
        ("vs=fast.rsf", &["vs is 3100", "to vp"]),
        ("qp=30", &["qp= and qs= belong together"]),
        ("qp=30 qs=-1", &["qs=", "-1"]),
        ("qp=30 qs=0.5", &["qs= has the quality factor 0.5", "1 or more"]),
        ("qp=30 qs=20 qband=5", &["qband=", "two"]),
        ("qp=30 qs=sou.rsf", &["sou.rsf", "2 values"]),
        ("ccc=vp.rsf", &["ccc=", "vp="]),
    ] {
        let cells = N[0] * N[1];
        desk.dataset("far.rsf", "n1=2 n2=1", &[9000.0, 50.0]);
        desk.dataset("high.rsf", "n1=2 n2=1", &[90.0, -5.0]);
        desk.dataset("nan.rsf", "n1=2 d1=0.1", &[0.0, f32::NAN]);
        desk.dataset("small.rsf", "n1=3 n2=3 d1=10 d2=10", &[1.0; 9]);
        desk.dataset("zero.rsf", &grid(2), &vec![0.0; cells]);
        desk.dataset("fast.rsf", &grid(2), &vec![3100.0; cells]);
        refused(&desk, &shoot(&desk, 2, extra), words);
    }
    let run = desk.sh("sfvsfd2d-gpu den=den.rsf sou=sou.rsf rec=rec.rsf nt=5 dt=0.001 tau=1 > data.rsf");
    refused(&desk, &run, &["vp=", "ccc="]);
}

#[test]
fn real_gpus_agree_with_the_processors() {
    let count = real::gpus("velocity-stress programs on real GPUs");
    if count == 0 {
        return;
    }
    let apart = |a: &[f32], b: &[f32]| relative_difference(b, a);
    for ndim in [2, 3] {
        let desk = desk(ndim);
        let mut all = Vec::new();
        let gpus = [1, count.min(2)].map(|n| format!("device=gpu ngpu={n}"));
        for machine in ["device=cpu"].into_iter().chain(gpus.iter().map(String::as_str)) {
            let words = "free=y qp=80 qs=40 snap=y wfl=wfl.rsf jsnap=20 pgv=pgv.rsf";
            let traces = data(&desk, ndim, &format!("{words} {machine}"));
            all.push([traces, desk.read("wfl.rsf"), desk.read("pgv.rsf")]);
        }
        for (cpu, gpu) in all[0].iter().zip(&all[1]) {
            let far = apart(cpu, gpu);
            assert!(far < 1e-5, "{ndim}-D: {far}");
        }
        assert!(all[1] == all[2], "{ndim}-D: the bits differ on {count} GPUs");
    }
}
