//! Mistakes of users that the modelling programs recognise, and the headers of snapshots.

use crate::desk::{Desk, Outcome};
use crate::shots::{largest_difference, magnitude};
use crate::{shot, velocity_stress};

/// The only message of a run that is refused.
#[track_caller]
fn sentence(run: &Outcome) -> String {
    assert_eq!(run.code, 1, "{run:?}");
    let errors: Vec<&str> = run.err.lines().filter(|l| !l.contains(": warning: ")).collect();
    assert_eq!(errors.len(), 1, "{run:?}");
    errors[0].to_string()
}

#[test]
fn shots_that_became_sources_of_one_shot_are_reported() {
    let desk = velocity_stress::desk(2);
    // The axis of the one source of each shot was dropped.
    desk.dataset("shots.rsf", "n1=2 n2=2 label2=shot", &[120.0, 60.0, 130.0, 60.0]);
    let line = velocity_stress::line(2).replace("sou=sou.rsf", "sou=shots.rsf");
    let text = desk.ran(&format!("{line} device=cpu plan=y > data.rsf")).err;
    assert!(
        text.contains("shots.rsf has its shots along axis 2 (n2=2, label2=shot)")
            && text.contains("squeeze=n"),
        "{text}"
    );
}

#[test]
fn points_in_the_frame_are_refused() {
    for ndim in [2, 3] {
        let desk = shot::desk(ndim);
        let mut outside = shot::middle(ndim);
        // The point is two cells beyond the last node along x, in the frame of eight cells.
        outside[0] = 0.25;
        let both: Vec<f32> = shot::middle(ndim).into_iter().chain(outside.clone()).collect();
        desk.dataset("rec2.rsf", &format!("n1={ndim} n2=2"), &both);
        desk.dataset("sou2.rsf", &format!("n1={ndim} n2=1"), &outside);
        for (key, file, number) in [("rec", "rec2.rsf", 2), ("sou", "sou2.rsf", 1)] {
            let line = shot::line(ndim).replace(&format!("{key}={key}.rsf"), &format!("{key}={file}"));
            let message = sentence(&desk.sh(&format!("{line} < wav.rsf > data.rsf")));
            let words = [
                format!("{key}={file}: point {number} at z=0.09 x=0.25"),
                "x from 0 to 0.23".into(),
                "z from 0 to 0.19".into(),
            ];
            assert!(
                words.iter().all(|word| message.contains(word)),
                "{words:?}: {message}"
            );
            assert!(!desk.path("data.rsf@").exists());
        }
        // The last node itself is inside, in spite of rounding.
        outside[0] = 0.230_000_1;
        desk.dataset("rec2.rsf", &format!("n1={ndim} n2=1"), &outside);
        let line = shot::line(ndim).replace("rec=rec.rsf", "rec=rec2.rsf");
        assert_eq!(desk.sh(&format!("{line} < wav.rsf > data.rsf")).code, 0);
    }
}

#[test]
fn messages_say_what_is_wrong() {
    let desk = shot::desk(2);
    for (words, expected) in [
        ("threads=99999", "from 0 (one for each core) to 65536"),
        (
            "nbell=1000",
            "nbell=1000 spreads a source over 2001 nodes, but the grid has 36 along z, frame included",
        ),
        (
            "gpu=-1",
            "gpu= got `-1`, but must be whole numbers separated by commas >= 0",
        ),
    ] {
        let message = sentence(&shot::shoot(&desk, 2, words));
        assert!(message.contains(expected), "{words}: {message}");
    }
    // A bell that is wider than the frame surrounds a source on the edge of the model.
    desk.dataset("edge.rsf", "n1=2 n2=1", &[0.1, 0.0]);
    let line = shot::line(2)
        .replace("sou=sou.rsf", "sou=edge.rsf")
        .replace("nbell=3", "nbell=12");
    let message = sentence(&desk.sh(&format!("{line} < wav.rsf > data.rsf")));
    assert!(
        message.contains("the bell of source 1 (12 cells) leaves the grid: z=0"),
        "{message}"
    );
    // The series has time as its first axis, as everyday programs make it.
    desk.dataset("series.rsf", "n1=50 d1=0.001", &[1.0; 50]);
    let message = sentence(&desk.sh(&format!("{} < series.rsf > data.rsf", shot::line(2))));
    assert!(
        message.contains("n1=50 sources")
            && message.contains("sftransp plane=12 | sftransp plane=23 converts a series"),
        "{message}"
    );
    // No wave has reached this receiver in the first step.
    desk.dataset("rec.rsf", "n1=2 n2=1", &[0.01, 0.01]);
    let run = shot::shoot(&desk, 2, "dt=0.0001 jdata=100000");
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.err
            .contains("dt= has no effect in this program (the time step is d3 of the wavelet")
            && run
                .err
                .contains("jdata=100000 leaves only the record of the first step")
            && !run.err.contains("check the source"),
        "{run:?}"
    );
    let run = shot::shoot(&desk, 2, "nz=3");
    assert!(!run.err.contains("did you mean nt="), "{run:?}");
}

/// If jdata=, jsnap= or every= is larger than the run, there is one record or snapshot, or no state: each case is
/// reported once, and smaller values are not reported.
#[test]
fn jumps_over_the_whole_run_are_warned_of() {
    let steps = shot::NT;
    let desk = shot::desk(2);
    let line = shot::line(2);
    let run = |words: &str| desk.ran(&format!("{line} {words} < wav.rsf > data.rsf")).err;
    let warned = |messages: &str, expected: &str| {
        let count = messages.lines().filter(|line| line.contains(expected)).count();
        assert_eq!(count, 1, "{expected}: {messages}");
    };
    for jump in [steps, steps + 1, 100_000] {
        let messages = run(&format!(
            "jdata={jump} snap=y wfl=wfl.rsf jsnap={jump} checkpoint=state every={jump}"
        ));
        let end = format!("first step: the run has {steps} steps; give a smaller");
        warned(
            &messages,
            &format!("jdata={jump} leaves only the record of the {end} jdata="),
        );
        warned(
            &messages,
            &format!("jsnap={jump} leaves only the snapshot of the {end} jsnap="),
        );
        warned(
            &messages,
            &format!("every={jump}: the run has {steps} steps and saves no state"),
        );
    }
    warned(
        &run("snap=y wfl=wfl.rsf"),
        "jsnap= is not given, so the only snapshot is the one of the first step",
    );
    let below = steps - 1;
    let messages = run(&format!(
        "jdata={below} snap=y wfl=wfl.rsf jsnap={below} checkpoint=state every={below}"
    ));
    assert!(
        !messages.contains("leaves") && !messages.contains("no state"),
        "{messages}"
    );
    assert_eq!(desk.axes("data.rsf", 3)[2].n, 2);

    let desk = velocity_stress::desk(2);
    let messages = desk
        .ran(&format!(
            "{} jdata=60 device=cpu > data.rsf",
            velocity_stress::line(2)
        ))
        .err;
    warned(
        &messages,
        "jdata=60 leaves only the record of the first step: the run has 60 steps",
    );
    assert!(!messages.contains("all data are zero"), "{messages}");
}

/// Points in km on a grid in m are in its first cell.
#[test]
fn a_source_in_the_first_cell_is_warned_of() {
    for ndim in [2, 3] {
        let desk = velocity_stress::desk(ndim);
        let line = velocity_stress::line(ndim);
        let expected =
            "the source lies within one cell of the origin: check that sou= is in the unit of the model, m";
        for (x, warns) in [(0.12, true), (0.0, false), (10.0, false), (120.0, false)] {
            desk.dataset("near.rsf", &format!("n1={ndim} n2=1"), &vec![x; ndim]);
            let run = desk.ran(&format!(
                "{} device=cpu plan=y > data.rsf",
                line.replace("sou=sou.rsf", "sou=near.rsf")
            ));
            assert_eq!(run.err.contains(expected), warns, "{x}: {run:?}");
        }
    }
}

#[test]
fn snapshots_keep_labels_units_and_the_quantity() {
    let desk = shot::desk(2);
    let run = shot::shoot(&desk, 2, "snap=y wfl=wfl.rsf jsnap=10");
    assert_eq!(run.code, 0, "{run:?}");
    let text = |desk: &Desk, name: &str, key: &str| desk.open(name).header().text(key).unwrap_or_default();
    for (key, expected) in [
        ("label1", "z"),
        ("unit1", "km"),
        ("label2", "x"),
        ("unit2", "km"),
        ("label3", "z x"),
        ("label", "Displacement"),
    ] {
        assert_eq!(text(&desk, "wfl.rsf", key), expected, "{key}");
    }
    assert_eq!(text(&desk, "data.rsf", "label"), "Displacement");
    assert_eq!(text(&desk, "data.rsf", "label2"), "z x");
    let desk = velocity_stress::desk(2);
    let line = velocity_stress::line(2);
    let run = desk.sh(&format!(
        "{line} snap=y wfl=wfl.rsf jsnap=10 data=pressure device=cpu > data.rsf"
    ));
    assert_eq!(run.code, 0, "{run:?}");
    for (key, expected) in [("label1", "z"), ("unit1", "m"), ("label2", "x"), ("unit2", "m")] {
        assert_eq!(text(&desk, "wfl.rsf", key), expected, "{key}");
    }
    for name in ["data.rsf", "wfl.rsf"] {
        assert_eq!(
            (
                text(&desk, name, "label").as_str(),
                text(&desk, name, "unit").as_str()
            ),
            ("Pressure", "Pa"),
            "{name}"
        );
    }
}

/// A plan refuses the same settings as the run: points that are out of reach.
#[test]
fn plans_refuse_points_outside() {
    let desk = velocity_stress::desk(2);
    desk.dataset("far.rsf", "n1=2 n2=1", &[1e6, 10.0]);
    for key in ["sou", "rec"] {
        let line = velocity_stress::line(2).replace(&format!("{key}={key}.rsf"), &format!("{key}=far.rsf"));
        for words in ["", "plan=y"] {
            let run = desk.sh(&format!("{line} {words} > data.rsf"));
            let last = run.err.lines().last().unwrap_or_default();
            assert_eq!(run.code, 1, "{run:?}");
            assert!(
                last.contains("1 at z=10 x=1000000 is outside the grid"),
                "{key}: {last}"
            );
        }
    }
}

/// There are messages about the effect of a frame without cells, and about the records of a receiver next to a source.
#[test]
fn walls_and_receivers_beside_sources_are_warned_of() {
    let desk = velocity_stress::desk(2);
    let line = velocity_stress::line(2);
    let run = desk.sh(&format!("{line} nb=0 verb=y > data.rsf"));
    assert_eq!((run.code, run.err.contains("rigid walls")), (0, true), "{run:?}");
    for (nb, warns) in [(8, true), (20, false)] {
        let run = desk.sh(&format!("{line} absorb=sponge nb={nb} > data.rsf"));
        let warned = run.err.contains("reflects waves");
        assert_eq!((run.code, warned), (0, warns), "{run:?}");
    }
    let line = line.replace("rec=rec.rsf", "rec=sou.rsf");
    let run = desk.sh(&format!("{line} verb=y > data.rsf"));
    let warned = run.err.contains("1 receiver lies within a cell of a source");
    assert_eq!((run.code, warned), (0, true), "{run:?}");
    // A cell that is 10 m high and 20 m wide reaches farther along x than along z.
    desk.put("rock", "0 2000 1000 2000\n");
    desk.dataset("one.rsf", "n1=2 n2=1", &[200.0, 100.0]);
    for (place, warns) in [([215.0, 100.0], true), ([200.0, 115.0], false)] {
        desk.dataset("near.rsf", "n1=2 n2=1", &place);
        let words = "layers=rock n1=20 n2=20 d1=10 d2=20 sou=one.rsf rec=near.rsf nt=5 dt=0.001 tau=0.02 m0=1e12 nb=4 plan=y";
        let messages = desk.ran(&format!("sfvsfd2d-gpu {words}")).err;
        assert_eq!(
            messages.contains("1 receiver lies within a cell of a source"),
            warns,
            "{place:?}: {messages}"
        );
    }
}

/// Warnings about a shot are also given for a survey in which only a later shot has the problem.
#[test]
fn points_of_later_shots_are_warned_of() {
    let desk = velocity_stress::desk(2);
    let desk_line = velocity_stress::line(2);
    // The second source is in the frame.
    desk.dataset("two.rsf", "n1=2 n2=1 n3=2", &[120.0, 113.0, 290.0, 113.0]);
    for words in ["", "plan=y"] {
        let run = desk.sh(&format!(
            "{} {words} > data.rsf",
            desk_line.replace("sou=sou.rsf", "sou=two.rsf")
        ));
        let warned = run.err.contains(
            "1 source lies in the frame around the model, where waves are damped (the first at z=113 x=290)",
        );
        assert_eq!((run.code, warned), (0, true), "{run:?}");
    }
}

/// A model whose labels have z on its second axis is transposed, whatever the label of the other axis is.
#[test]
fn models_on_their_sides_are_warned_of() {
    let desk = velocity_stress::desk(2);
    for (labels, warns) in [
        ("label1=y label2=z", true),
        ("label1=lon label2=Depth", true),
        ("label2=z", true),
        ("label1=z label2=lon", false),
        ("label1=depth label2=z", false),
    ] {
        desk.ran(&format!("sfbasics put {labels} < vp.rsf > other.rsf"));
        let line = velocity_stress::line(2).replace("vp=vp.rsf", "vp=other.rsf");
        let run = desk.sh(&format!("{line} plan=y > data.rsf"));
        assert_eq!(
            (run.code, run.err.contains("sftransp transposes the model")),
            (0, warns),
            "{labels}: {run:?}"
        );
    }
    desk.ran("sfbasics put unit1=ft unit2=ft < vp.rsf > other.rsf");
    let line = velocity_stress::line(2).replace("vp=vp.rsf", "vp=other.rsf");
    let run = desk.sh(&format!("{line} plan=y > data.rsf"));
    assert_eq!(
        (run.code, run.err.contains("says unit1=ft")),
        (0, true),
        "{run:?}"
    );
}

/// A wavelet of 25 Hz sampled at 4 ms gives the same result as a wavelet sampled at the steps, and its own band.
#[test]
fn wavelets_at_another_sampling_are_those_at_the_steps() {
    let desk = velocity_stress::desk(2);
    let write = |d: f64, name: &str| {
        let ricker = |t: f64| {
            let a = (std::f64::consts::PI * 25.0 * (t - 0.06)).powi(2);
            ((1.0 - 2.0 * a) * (-a).exp()) as f32
        };
        let count = (0.12 / d).round() as usize + 1;
        let values: Vec<f32> = (0..count).map(|k| ricker(d * k as f64)).collect();
        desk.dataset(name, &format!("n1={count} d1={d}"), &values);
    };
    write(0.004, "coarse.rsf");
    write(0.0005, "fine.rsf");
    let words =
        "nt=400 dt=0.0005 src=force fz=1e9 nb=8 vp=vp.rsf vs=vs.rsf den=den.rsf sou=sou.rsf rec=rec.rsf";
    let run = |series: &str| {
        let ended = desk.sh(&format!("sfvsfd2d-gpu {words} series={series} verb=y > data.rsf"));
        assert_eq!(ended.code, 0, "{ended:?}");
        let line = ended.err.lines().find(|line| line.contains("sources peak"));
        let highest = line.and_then(|line| line.split("highest ").nth(1)?.split(' ').next());
        (desk.read("data.rsf"), highest.unwrap().parse::<f64>().unwrap())
    };
    let ((coarse, band), (fine, own)) = (run("coarse.rsf"), run("fine.rsf"));
    // The measured difference is 1.7e-3; linear interpolation between the samples would give 0.06.
    let apart = largest_difference(&coarse, &fine) / f64::from(magnitude(&fine));
    println!("{apart:.1e}, {band} and {own} Hz");
    assert!(apart < 0.01, "{apart}");
    assert!((band / own - 1.0).abs() < 0.05, "{band} and {own} Hz");
}

/// On meshes there is a warning about receivers in an element that contains the source of a later shot.
#[test]
fn receivers_beside_sources_of_later_shots_are_warned_of() {
    let desk = Desk::new();
    desk.ran("sfhexmesh surfaces=500,0 layers=10 nx=10 xmin=0 xmax=500 rho=2000 vp=3000 vs=1500 > box.rsf");
    desk.dataset("rec.rsf", "n1=2 n2=3", &[320.0, 12.0, 340.0, 12.0, 360.0, 12.0]);
    for (second, warns) in [(320.0, true), (120.0, false)] {
        desk.dataset("sou.rsf", "n1=2 n2=1 n3=2", &[20.0, 12.0, second, 12.0]);
        let run = desk.sh("sfsem2d-gpu mesh=box.rsf sou=sou.rsf rec=rec.rsf m0=1e9 stf=ricker freq=6 nt=20 dt=0.001 > data.rsf");
        let words = "2 receivers are in elements that hold a source (the first is number 1 of shot 2)";
        assert_eq!((run.code, run.err.contains(words)), (0, warns), "{run:?}");
    }
}

/// If records are too far apart for the frequencies of the sources, there is a warning with the largest suitable
/// jdata=.
#[test]
fn aliased_records_are_warned_of() {
    let desk = velocity_stress::desk(2);
    let words = "nt=400 dt=0.0005 stf=ricker freq=25 m0=1e9 nb=8 vp=vp.rsf vs=vs.rsf den=den.rsf sou=sou.rsf rec=rec.rsf";
    // The band of the wavelet ends at 2.9 times its peak frequency, for which records may be 6.8 ms apart.
    for (more, warns) in [("jdata=16", true), ("jdata=13", false), ("dtout=0.008", false)] {
        let run = desk.sh(&format!("sfvsfd2d-gpu {words} {more} > data.rsf"));
        let words = run.err.contains("in the records; take at most jdata=13");
        assert_eq!((run.code, words), (0, warns), "{more}: {run:?}");
    }
}

/// There are warnings about parameters of `sfewefd2d-gpu` that have no effect without other parameters, and about the
/// smallest frame, with which a free surface does not work.
#[test]
fn idle_words_of_displacement_are_warned_of() {
    let desk = Desk::new();
    desk.ran("sfbasics spike n1=41 d1=10 n2=41 d2=10 mag=2000 | sfstiffness vs=1100 ro=2 sym=iso dim=2 > ccc.rsf; sfbasics spike n1=41 d1=10 n2=41 d2=10 mag=2 > den.rsf; sfbasics spike n1=60 d1=0.001 n2=1 n3=2 k1=20 | sfbasics transp plane=12 | sfbasics transp plane=23 > wave.rsf; sfbasics points x=200 z=200 > sou.rsf; sfbasics points x=100:300:50 z=0 > rec.rsf");
    let run = "sfewefd2d-gpu < wave.rsf ccc=ccc.rsf den=den.rsf sou=sou.rsf rec=rec.rsf ssou=y";
    for (words, warning) in [
        ("surface=traction", "surface= has no effect without free=y"),
        ("oneway=upwind", "oneway= has no effect without dabc=y"),
        ("jsnap=10", "jsnap= has no effect without snap=y"),
        (
            "free=y",
            "free=y has 4 nodes above the surface, and records at the surface are wrong by tens of percent: give nb=5 or more",
        ),
        ("free=y nb=5", ""),
        ("snap=n jsnap=10", ""),
        ("dabc=y nb=20 oneway=upwind", ""),
    ] {
        let ended = desk.sh(&format!("{run} {words} > data.rsf"));
        assert_eq!(ended.code, 0, "{ended:?}");
        match warning {
            "" => assert!(
                !ended.err.contains("no effect") && !ended.err.contains("nodes above"),
                "{ended:?}"
            ),
            warning => assert!(ended.err.contains(warning), "{words}: {ended:?}"),
        }
    }
}

/// Anisotropy parameters in per cent are reported, as by `sfstiffness`.
#[test]
fn percents_are_warned_of() {
    let desk = Desk::new();
    for (epsilon, warns) in [("0.2", false), ("0.2,20", true)] {
        let run = desk.sh(&format!(
            "sflayers horizons=50 rho=2000 vp=2000,2600 vs=1000 epsilon={epsilon} delta=0.1 n1=21 n2=11 d1=10 d2=10 den=den.rsf > ccc.rsf"
        ));
        assert_eq!(
            run.err
                .contains("epsilon=20: anisotropy parameters are fractions"),
            warns,
            "{run:?}"
        );
        let (start, end) = epsilon.split_once(',').unwrap_or((epsilon, epsilon));
        desk.ran(&format!(
            "sfbasics math n1=2 n2=2 output='{start}+({end}-{start})*x1' > e.rsf"
        ));
        let run = desk.sh("sfstiffness vp=3000 vs=1700 ro=2200 epsilon=e.rsf delta=0.1 sym=vti > x.rsf");
        let warned = run
            .err
            .contains("epsilon=20: anisotropy parameters are fractions");
        assert_eq!((run.code, warned), (0, warns), "{run:?}");
    }
}

/// The program warns of rocks that differ so much that effective media of cut cells are much stiffer than both. It does
/// not warn of a fluid next to a solid, where only a node's own cell is averaged.
#[test]
fn rocks_that_differ_much_are_warned_of() {
    let desk = Desk::new();
    let warning = "layers 2 and 3 differ by a factor of 16.7 in c33 (rho vp^2)";
    for (words, warns) in [
        (
            "horizons=50,102 rho=1800,1800,2700 vp=600,900,3000 vs=200,300,1700",
            true,
        ),
        (
            "horizons=50,102 rho=1800,1800,2700 vp=600,900,3000 vs=200,300,1700 average=n",
            false,
        ),
        (
            "horizons=50,102 rho=1800,1800,2700 vp=1600,1900,2600 vs=500,600,1400",
            false,
        ),
        ("horizons=102 rho=1000,2700 vp=1500,3500 vs=0,2000", false),
    ] {
        let run = desk.sh(&format!(
            "sflayers {words} n1=21 n2=11 d1=10 d2=10 den=den.rsf > ccc.rsf"
        ));
        assert_eq!(
            (run.code, run.err.contains(warning)),
            (0, warns),
            "{words}: {run:?}"
        );
        assert_eq!(run.err.contains("in c33"), warns, "{words}: {run:?}");
    }
}
