//! Snapshots of the ground surface, maps of the largest motion on it, and faults of many patches.

use crate::desk::Desk;
use crate::largest::{largest, largest_difference, magnitude};
use crate::runs::{HILL, hill};

#[test]
fn the_ground_of_a_hill_is_what_receivers_on_it_record() {
    let desk = hill();
    // The corners of the elements are points of the topography; the last point is outside the mesh.
    let x: Vec<f32> = (0..10).map(|k| 100.0 * k as f32).collect();
    let z = |x: f32| 100.0 - 60.0 * (-((x / 20.0 - 20.0) / 6.0).powi(2)).exp();
    let places: Vec<f32> = x[..9].iter().flat_map(|x| [*x, z(*x)]).collect();
    desk.dataset("rec.rsf", "n1=2 n2=9", &places);
    let places = "nqx=10 oqx=0 dqx=100";
    desk.ran(&format!("{HILL} nt=300 dt=0.001 > whole.rsf"));
    desk.ran(&format!(
        "{HILL} nt=300 dt=0.001 jdata=5 snap=y ground=y jsnap=20 wfl=w.rsf pgv=pgv.rsf {places} > thin.rsf"
    ));
    let (whole, thin) = (desk.read("whole.rsf"), desk.read("thin.rsf"));
    assert_eq!(desk.axes("thin.rsf", 3)[2].n, 60);
    for (row, step) in thin.chunks(18).zip(whole.chunks(18).step_by(5)) {
        assert_eq!(row, step);
    }
    let top = magnitude(whole.iter().copied());
    let close = |a: f32, b: f32| (a - b).abs() <= 1e-5 * top;
    let (snapshots, axes) = (desk.read("w.rsf"), desk.axes("w.rsf", 3));
    assert_eq!(axes.iter().map(|a| a.n).collect::<Vec<_>>(), [10, 2, 15]);
    for (picture, step) in snapshots.chunks(20).zip(whole.chunks(18).step_by(20)) {
        for (of_place, of_receiver) in picture.chunks(10).zip(step.chunks(9)) {
            assert!(of_place.iter().zip(of_receiver).all(|(a, b)| close(*a, *b)));
            assert_eq!(of_place[9], 0.0);
        }
    }
    let map = desk.read("pgv.rsf");
    assert_eq!(desk.axes("pgv.rsf", 2)[0].n, 10);
    for (k, peak) in map.iter().take(9).enumerate() {
        // Component 1 is x.
        let expected = largest(whole.chunks(18).map(|step| step[9 + k]));
        assert!(expected > 0.0 && close(*peak, expected), "{k}: {peak} {expected}");
    }
    assert_eq!(map[9], 0.0);
    desk.ran(&format!(
        "{HILL} nt=300 dt=0.001 ngpu=3 pgv=cut.rsf {places} > cut-data.rsf"
    ));
    assert!(desk.read("cut.rsf") == map && desk.read("cut-data.rsf") == whole);
}

/// A box of rock with four receivers on its top and a source in it.
fn rock() -> Desk {
    let desk = Desk::new();
    desk.ran("sfhexmesh surfaces=400,0 layers=4 nx=5 ny=5 xmin=0 xmax=500 ymin=0 ymax=500 rho=2500 vp=3500 vs=2000 judge=n > box.rsf",
    );
    desk.dataset("sou.rsf", "n1=3 n2=1", &[230.0, 260.0, 210.0]);
    let places = [
        100.0, 150.0, 0.0, 300.0, 150.0, 0.0, 100.0, 400.0, 0.0, 300.0, 400.0, 0.0,
    ];
    desk.dataset("rec.rsf", "n1=3 n2=4", &places);
    desk
}

const ROCK: &str = "sfsem3d-gpu mesh=box.rsf rec=rec.rsf device=cpu nt=120 dt=0.002 stf=ricker freq=12";

#[test]
fn a_map_of_the_ground_in_space_is_what_receivers_record() {
    let desk = rock();
    for (data, word, unit) in [
        ("velocity", "pgv", "m/s"),
        ("acceleration", "pga", "m/s2"),
        ("displacement", "pgd", "m"),
    ] {
        desk.ran(&format!(
                "{ROCK} sou=sou.rsf src=force fx=2e9 fy=-1e9 fz=1e9 data={data} {word}=map.rsf nqx=2 oqx=100 dqx=200 nqy=2 oqy=150 dqy=250 > d.rsf"
            ),
        );
        let (map, values) = (desk.read("map.rsf"), desk.read("d.rsf"));
        let header = std::fs::read_to_string(desk.path("map.rsf")).unwrap();
        let named = [
            format!("label=\"Peak ground {data}\""),
            format!("unit=\"{unit}\""),
        ];
        assert!(named.iter().all(|line| header.contains(line)), "{header}");
        assert_eq!(
            desk.axes("map.rsf", 2).iter().map(|a| a.n).collect::<Vec<_>>(),
            [2, 2]
        );
        for (k, peak) in map.iter().enumerate() {
            let expected = largest(values.chunks(12).map(|step| step[4 + k].hypot(step[8 + k])));
            assert!(
                expected > 0.0 && (peak - expected).abs() < 1e-5 * expected,
                "{word} {k}: {peak} {expected}"
            );
        }
    }
    for (words, parts) in [
        (
            "pgv=map.rsf data=pressure",
            ["pgv= is a map of velocity", "give data=velocity"],
        ),
        (
            "pga=map.rsf",
            ["pga= is a map of acceleration", "give data=acceleration"],
        ),
        (
            "pgv=map.rsf nqx=1100 nqy=1100 checkpoint=s every=10",
            ["at most 1048576", "leave out checkpoint="],
        ),
        (
            "pgv=map.rsf oqx=9000 dqx=1",
            ["no place on the ground", "choose oqx="],
        ),
        (
            "snap=y wfl=w.rsf ground=y nqx=100000 nqy=100000",
            ["more than 16777216 points", "smaller"],
        ),
    ] {
        let got = desk.sh(&format!("{ROCK} sou=sou.rsf src=force fz=1 {words} > d.rsf"));
        assert_eq!(got.code, 1, "{words}");
        assert_eq!(got.err.lines().count(), 1, "{words}: {}", got.err);
        assert!(
            parts.iter().all(|part| got.err.contains(part)),
            "{words}: {}",
            got.err
        );
    }
    let dry = desk.ran(&format!(
        "{ROCK} sou=sou.rsf src=force fz=1 data=pressure > d.rsf"
    ));
    assert!(
        dry.err
            .contains("in solids (the first is number 1), which have no pressure on a mesh"),
        "{dry:?}"
    );
}

/// A run that ends after 90 steps represents a run that was killed there: its last state is the state after 75 steps,
/// from which a run with another number of subdomains continues.
#[test]
fn maps_of_the_ground_go_on_behind_a_state_with_the_same_bits() {
    let desk = rock();
    let run = |words: &str, name: &str| {
        desk.sh(&format!(
            "{ROCK} sou=sou.rsf src=force fx=2e9 fz=1e9 jdata=4 snap=y ground=y jsnap=10 nqx=7 oqx=20 dqx=70 nqy=5 oqy=30 dqy=100 {words} > {name}"
        ))
    };
    let ran = |words: &str, name: &str| {
        let done = run(words, name);
        assert_eq!(done.code, 0, "{words}: {}", done.err);
    };
    let bits = |name: &str| -> Vec<u32> { desk.read(name).into_iter().map(f32::to_bits).collect() };
    ran("pgv=whole-map.rsf wfl=whole-film.rsf", "whole.rsf");
    assert!(desk.read("whole-film.rsf").iter().any(|x| *x != 0.0));
    for parts in [[1, 3], [5, 2]] {
        let [before, behind] = parts;
        ran(
            &format!("pgv=first.rsf wfl=film.rsf nt=90 ngpu={before} checkpoint=s every=25"),
            "d.rsf",
        );
        assert_ne!(
            bits("first.rsf"),
            bits("whole-map.rsf"),
            "later steps change the map"
        );
        ran(
            &format!("pgv=map.rsf wfl=film.rsf ngpu={behind} resume=s"),
            "d.rsf",
        );
        assert_eq!(bits("map.rsf"), bits("whole-map.rsf"), "{parts:?}");
        assert_eq!(bits("d.rsf"), bits("whole.rsf"), "{parts:?}");
        assert_eq!(bits("film.rsf"), bits("whole-film.rsf"), "{parts:?}");
    }
    ran("wfl=bare-film.rsf nt=90 checkpoint=bare every=25", "bare.rsf");
    ran("pgv=first.rsf wfl=film.rsf nt=90 checkpoint=s every=25", "d.rsf");
    let before = bits("d.rsf");
    for words in ["pgv=map.rsf resume=bare", "pgv=map.rsf oqx=30 resume=s"] {
        let refused = run(&format!("wfl=film.rsf {words}"), "x.rsf");
        assert_eq!(refused.code, 1, "{words}");
        assert_eq!(refused.err.lines().count(), 1, "{words}: {}", refused.err);
        assert!(
            refused
                .err
                .contains("pgv=, pgd= or pga= has changed since the state was saved"),
            "{words}: {}",
            refused.err
        );
        assert!(bits("d.rsf") == before, "{words}");
    }
}

#[test]
fn a_fault_is_the_sum_of_its_patches_and_a_late_patch_a_late_record() {
    let desk = rock();
    let places = [
        [140.0, 180.0, 160.0],
        [230.0, 260.0, 210.0],
        [330.0, 310.0, 290.0],
    ];
    let mechanisms = [
        [20.0, 60.0, 90.0, 1e15],
        [30.0, 70.0, 40.0, 3e15],
        [40.0, 80.0, -20.0, 2e15],
    ];
    // Onsets are whole numbers of steps, so that a late patch gives the same values later.
    let onsets = [0.0, 0.024, 0.05];
    let fault = |name: &str, patches: &[usize], onsets: &[f32]| {
        let n = patches.len();
        let pick = |rows: &[[f32; 3]]| patches.iter().flat_map(|k| rows[*k]).collect::<Vec<_>>();
        desk.dataset("s.rsf", &format!("n1=3 n2={n}"), &pick(&places));
        let rows: Vec<f32> = patches.iter().flat_map(|k| mechanisms[*k]).collect();
        desk.dataset("m.rsf", &format!("n1=4 n2={n}"), &rows);
        desk.dataset("o.rsf", &format!("n1={n}"), onsets);
        desk.ran(&format!(
            "{ROCK} sou=s.rsf src=dc mech=m.rsf onset=o.rsf > {name}"
        ));
        desk.read(name)
    };
    let whole = fault("whole.rsf", &[0, 1, 2], &onsets);
    let alone: Vec<Vec<f32>> = (0..3).map(|k| fault("alone.rsf", &[k], &onsets[k..=k])).collect();
    let top = magnitude(whole.iter().copied());
    assert!(
        alone
            .iter()
            .all(|patch| largest(patch.iter().copied()) > 0.05 * top)
    );
    let sum = (0..whole.len()).map(|k| alone.iter().map(|patch| patch[k]).sum::<f32>());
    assert!(largest_difference(&whole, sum) < 1e-5 * f64::from(top));
    let prompt = fault("prompt.rsf", &[2], &[0.0]);
    let (late, early) = (&alone[2][25 * 12..], &prompt[..prompt.len() - 25 * 12]);
    assert!(largest_difference(late, early) < 1e-4 * f64::from(top));
    assert!(largest(alone[2][..24 * 12].iter().copied()) < 1e-5 * top);
}
