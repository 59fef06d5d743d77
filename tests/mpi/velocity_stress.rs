//! The velocity-stress programs on several ranks: the same result, and a single message if there is an error.

use crate::{Desk, launch, launcher, messages};

/// Nodes along z, x, y.
const N: [usize; 3] = [20, 26, 23];

fn grid(ndim: usize) -> String {
    (1..=ndim)
        .map(|i| format!("n{i}={} o{i}=0 d{i}=10 ", N[i - 1]))
        .collect()
}

/// A desk with layers that dip across the planes, quality factors, two sources and three receivers.
pub fn desk(ndim: usize) -> Desk {
    let desk = Desk::new();
    let cells: usize = N[..ndim].iter().product();
    let value = |k: usize, low: f32, high: f32| {
        let (z, line) = (k % N[0], k / N[0]);
        if z + line / 7 > 16 { high } else { low }
    };
    for (name, low, high) in [
        ("vp", 2600.0, 3000.0),
        ("vs", 1500.0, 1700.0),
        ("den", 2100.0, 2200.0),
        ("qp", 60.0, 90.0),
        ("qs", 30.0, 50.0),
    ] {
        let values: Vec<f32> = (0..cells).map(|k| value(k, low, high)).collect();
        desk.dataset(&format!("{name}.rsf"), &grid(ndim), &values);
    }
    // The sources are in the middle of the planes and between nodes, so that even numbers of ranks cut both.
    let (sources, receivers): (&[f32], &[f32]) = match ndim {
        3 => (
            &[120.0, 110.0, 80.0, 64.0, 133.0, 55.0],
            &[80.0, 70.0, 40.0, 111.5, 118.0, 10.0, 201.5, 190.0, 90.0],
        ),
        _ => (
            &[120.0, 80.0, 133.0, 55.0],
            &[80.0, 40.0, 121.5, 10.0, 201.5, 90.0],
        ),
    };
    desk.dataset("sou.rsf", &format!("n1={ndim} n2=2"), sources);
    desk.dataset("rec.rsf", &format!("n1={ndim} n2=3"), receivers);
    desk
}

/// A frame so large that there are enough planes for seven ranks.
pub fn words(ndim: usize) -> String {
    format!(
        "sfvsfd{ndim}d-gpu vp=vp.rsf vs=vs.rsf den=den.rsf sou=sou.rsf rec=rec.rsf nt=41 dt=0.001 tau=0.008 m0=1e12 nb=15 device=cpu threads=1 jdata=2 snap=y jsnap=20"
    )
}

fn bits(desk: &Desk, name: &str) -> Vec<u32> {
    desk.read(name).into_iter().map(f32::to_bits).collect()
}

#[test]
fn any_number_of_ranks_gives_the_same_bits() {
    let Some(mpirun) = launcher("velocity_stress::any_number_of_ranks_gives_the_same_bits") else {
        return;
    };
    for ndim in [2, 3] {
        for (more, map) in [
            ("free=y", true),
            ("free=y order=8 qp=qp.rsf qs=qs.rsf data=displacement", ndim == 2),
            ("absorb=sponge order=2 data=pressure src=force fx=1 fz=2", false),
        ] {
            let (desk, words) = (desk(ndim), format!("{} {more}", words(ndim)));
            let pgv = |name: &str| {
                if map {
                    format!("pgv={name}.rsf")
                } else {
                    String::new()
                }
            };
            let line = format!("{words} {} wfl=wfl.rsf >data.rsf", pgv("map"));
            let one = desk.sh(&line);
            assert_eq!(one.code, 0, "{}", one.err);
            assert!(desk.read("data.rsf").iter().any(|&x| x != 0.0));
            // If the largest speeds are mapped, all six splits are tested, otherwise three of them.
            let all = [(2, 1), (3, 1), (2, 3), (1, 1), (4, 1), (7, 1)];
            for (ranks, slabs) in all.into_iter().take(if map { 6 } else { 3 }) {
                let line = format!("-n {ranks} {words} ngpu={slabs} {} wfl=w.rsf >d.rsf", pgv("m"));
                let done = launch(&desk, mpirun, &line);
                let what = format!("{ndim}-D {more}: {ranks} ranks x {slabs} slabs");
                assert_eq!(done.code, 0, "{what}: {}", done.err);
                assert_eq!(bits(&desk, "d.rsf"), bits(&desk, "data.rsf"), "data of {what}");
                assert_eq!(
                    bits(&desk, "w.rsf"),
                    bits(&desk, "wfl.rsf"),
                    "snapshots of {what}"
                );
                assert_eq!(desk.axes("d.rsf", 3), desk.axes("data.rsf", 3));
                if map {
                    assert_eq!(bits(&desk, "m.rsf"), bits(&desk, "map.rsf"), "peaks of {what}");
                }
            }
        }
    }
}

#[test]
fn what_is_wrong_is_reported_once() {
    let Some(mpirun) = launcher("velocity_stress::what_is_wrong_is_reported_once") else {
        return;
    };
    let desk = desk(3);
    let mut density = desk.read("den.rsf");
    let last = density.len() - 1;
    density[last] = -1.0;
    desk.dataset("bad.rsf", &grid(3), &density);
    for (wrong, expected) in [
        ("nt=0", "nt="),
        ("qp=20", "qp= and qs= belong together"),
        ("ngpu=100", "slabs do not fit"),
        ("dt=0.01", "stab"),
        ("pgv=nowhere/map.rsf", "nowhere"),
        ("wfl=nowhere/w.rsf", "nowhere"),
        ("den=bad.rsf", "rank 2 on "),
    ] {
        let done = launch(&desk, mpirun, &format!("-n 3 {} {wrong} >d.rsf", words(3)));
        let messages = messages(&done.err);
        assert_ne!(done.code, 0, "{wrong}");
        assert!(
            messages.len() == 1 && messages[0].contains(expected),
            "{wrong}: {}",
            done.err
        );
    }
}

/// Layers would be unstable in the part of the last rank, so all ranks use the sponge.
#[test]
fn all_ranks_leave_layers_that_would_grow() {
    let Some(mpirun) = launcher("velocity_stress::all_ranks_leave_layers_that_would_grow") else {
        return;
    };
    let desk = desk(2);
    let cells = N[0] * N[1];
    let planes = [4.0f32, 20.0, 2.0, 7.5].map(|c| 1e9 * c);
    let rock = [9.0f32, 9.0, 3.0, 3.0].map(|c| 1e9 * c);
    let values: Vec<f32> = (0..4)
        .flat_map(|k| (0..cells).map(move |cell| if cell / N[0] > 20 { planes[k] } else { rock[k] }))
        .collect();
    desk.dataset("ccc.rsf", &format!("{} n3=4", grid(2)), &values);
    let words = words(2).replace("vp=vp.rsf vs=vs.rsf", "ccc=ccc.rsf");
    let one = desk.sh(&format!("{words} wfl=wfl.rsf >data.rsf"));
    assert!(
        one.code == 0 && one.err.contains("CPML would be unstable"),
        "{}",
        one.err
    );
    let done = launch(&desk, mpirun, &format!("-n 3 {words} wfl=w.rsf >d.rsf"));
    assert_eq!(done.code, 0, "{}", done.err);
    assert_eq!(bits(&desk, "d.rsf"), bits(&desk, "data.rsf"));
    assert_eq!(bits(&desk, "w.rsf"), bits(&desk, "wfl.rsf"));
    let growth = |text: &str| -> Vec<String> {
        let lines = text
            .lines()
            .filter(|line| line.contains("CPML would be unstable"));
        lines.map(|line| line.trim().to_string()).collect()
    };
    assert_eq!(growth(&done.err), growth(&one.err));
}

#[test]
fn a_plan_names_ranks_slabs_and_exchange() {
    let Some(mpirun) = launcher("velocity_stress::a_plan_names_ranks_slabs_and_exchange") else {
        return;
    };
    let desk = desk(3);
    let line = format!("-n 3 {} ngpu=2 plan=y", words(3));
    let done = launch(&desk, mpirun, &line);
    assert_eq!(done.code, 0, "{}", done.err);
    // Three velocities and three stresses are exchanged, four planes of 64 rows of 64 numbers each.
    let bytes = 2 * 3 * 4 * (N[1] + 2 * 19) * 64 * 4;
    let exchange = format!("exchange {:.2} MB per step", bytes as f64 / 1e6);
    for expected in [
        "rank 0 on ",
        "rank 2 on ",
        "slab 6: planes",
        &exchange,
        "nothing was run",
    ] {
        assert!(done.err.contains(expected), "{expected}: {}", done.err);
    }
    assert_eq!(
        done.err.matches("slab 1:").count(),
        1,
        "only one rank prints: {}",
        done.err
    );
}
