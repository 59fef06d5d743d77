//! CMTSOLUTION and STATIONS files of SPECFEM3D Cartesian: positions in metres, depths below the ground.

use crate::desk::Desk;
use crate::largest::{magnitude, relative_difference};

/// A source as in the examples of SPECFEM3D.
pub fn cmt(x: f64, y: f64, depth: f64) -> String {
    format!(
        "PDE  1999 01 01 00 00 00.00  5000 2000 -1000 1.4 1.4 test
event name:       test
time shift:       0.0000
half duration:    0.5
latorUTM:       {y}
longorUTM:      {x}
depth:          {depth}
Mrr:       1.000000e+19
Mtt:       1.000000e+19
Mpp:       1.000000e+19
Mrt:       0.0
Mrp:       0.0
Mtp:       1.000000e+19
"
    )
}

/// A box from 1 to 11 km along x and to 9 km along y, whose top is 95 m above z = 0 at one end and has a slope of 5 %
/// along x.
pub fn slanted() -> Desk {
    let desk = Desk::new();
    let row = [-95.0, -345.0, -595.0];
    let header = "n1=3 o1=1000 d1=5000 n2=2 o2=1000 d2=8000";
    desk.dataset("top.rsf", header, &[row, row].concat());
    desk.ran("sfhexmesh surfaces=4000,top.rsf layers=4 nx=5 ny=4 rho=2300 vp=2800 vs=1500 judge=n > box.rsf");
    desk
}

pub const RUN: &str = "sfsem3d-gpu mesh=box.rsf nt=150 dt=0.02 device=cpu data=displacement";

#[test]
fn depths_count_from_the_ground_above() {
    let desk = slanted();
    let top = |x: f64| -95.0 - 0.05 * (x - 1000.0);
    desk.put("CMTSOLUTION", cmt(3500.0, 6500.0, 1.2));
    // The columns are name, network, y, x, elevation, burial.
    desk.put(
        "STATIONS",
        "X1 DB 5000.00 2000.0 700.0 0.0\nX2 DB 5000.00 4700.0 0.0 30.0\n",
    );
    desk.ran(&format!("{RUN} cmt=CMTSOLUTION stations=STATIONS > a.rsf"));
    desk.put("CMT0", cmt(3500.0, 6500.0, (1200.0 + top(3500.0)) / 1e3));
    let stations = format!(
        "X1 DB 5000.00 2000.0 {} 0.0\nX2 DB 5000.00 4700.0 {} 30.0\n",
        -top(2000.0),
        -top(4700.0)
    );
    desk.put("STATIONS0", stations);
    desk.ran(&format!("{RUN} cmt=CMT0 stations=STATIONS0 depth=z > b.rsf"));
    let (a, b) = (desk.read("a.rsf"), desk.read("b.rsf"));
    assert!(magnitude(&b) > 0.0);
    let apart = relative_difference(&a, &b);
    println!("{apart:.1e}");
    // Coordinates in the file of the surface are in single precision.
    assert!(apart < 1e-5, "{apart}");
    // A shift of the source by half a kilometre changes the waves.
    desk.ran(&format!(
        "{RUN} cmt=CMTSOLUTION stations=STATIONS0 depth=z > c.rsf"
    ));
    assert!(relative_difference(desk.read("c.rsf"), &b) > 0.01);
}

#[test]
fn places_beside_above_and_below_the_mesh_are_named() {
    let desk = slanted();
    desk.put("CMT", cmt(3500.0, 6500.0, 1.2));
    desk.put("DEGREES", crate::places::bolivia(0.5, 0.5, 1.0, 2.0));
    desk.put("DEEP", cmt(3500.0, 6500.0, 9.0));
    desk.put("FORCE", "FORCE 001\ntime shift: 0\nfactor force source: 1.d15\n");
    desk.put("STATIONS", "X1 DB 5000.00 2000.0 0.0 0.0\n");
    desk.put("ABOVE", "X1 DB 5000.00 2000.0 0.0 -40.0\n");
    desk.put("BELOW", "X1 DB 5000.00 2000.0 0.0 5000.0\n");
    desk.put("BESIDE", "X1 DB 5000.00 200.0 0.0 0.0\n");
    for (words, sentence) in [
        (
            "cmt=DEGREES stations=STATIONS",
            "cmt=DEGREES: source 1 is at x=0.5, y=0.5: the mesh has no ground there",
        ),
        (
            "cmt=DEEP stations=STATIONS",
            "cmt=DEEP: source 1 at (x, y, z) = (3500, 6500, 8780) is outside",
        ),
        (
            "cmt=FORCE stations=STATIONS",
            "cmt=FORCE: it is a FORCESOLUTION file; give it as force=",
        ),
        (
            "cmt=CMT stations=ABOVE",
            "stations=ABOVE: DB.X1 at (x, y, z) = (2000, 5000, -185) is outside",
        ),
        (
            "cmt=CMT stations=BELOW",
            "stations=BELOW: DB.X1 at (x, y, z) = (2000, 5000, 4855) is outside",
        ),
        (
            "cmt=CMT stations=BESIDE",
            "stations=BESIDE: DB.X1 is at x=200, y=5000: the mesh has no ground there",
        ),
    ] {
        let run = desk.sh(&format!("{RUN} outside=error {words} > d.rsf"));
        assert_eq!(run.code, 1, "{words}: {}", run.err);
        assert!(run.err.contains(sentence), "{words}: {}", run.err);
        assert_eq!(run.err.lines().count(), 1, "{words}: {}", run.err);
    }
    desk.ran("sfhexmesh sphere=y nx=2 width=10 bottom=5.8e6 skip=15000,24400,80000,220000,400000 judge=n base=e > e.rsf");
    let run = desk.sh("sfsem3d-gpu mesh=e.rsf cmt=CMT stations=STATIONS nt=2 dt=1 device=cpu > d.rsf");
    assert!(
        run.code == 1 && run.err.contains("has latorUTM: and longorUTM:, metres in a box"),
        "{}",
        run.err
    );
    let run = desk.sh(&format!("{RUN} cmt=TIMES stations=STATIONS > d.rsf"));
    assert!(run.err.contains("cannot read cmt=TIMES"), "{}", run.err);
    desk.put("TIMES", format!("{}DATA/stf.dat\n", cmt(3500.0, 6500.0, 1.2)));
    let run = desk.sh(&format!("{RUN} cmt=TIMES stations=STATIONS > d.rsf"));
    assert!(
        run.code == 1
            && run
                .err
                .contains("TIMES names DATA/stf.dat as the file of a time function"),
        "{}",
        run.err
    );
    desk.put("stf.dat", "# values\n0.0\n1.0\n");
    let run = desk.sh(&format!("{RUN} cmt=TIMES stations=STATIONS > d.rsf"));
    assert!(
        run.code == 1
            && run
                .err
                .contains("DATA/stf.dat of TIMES has 2 samples, but nt=150"),
        "{}",
        run.err
    );
}

#[test]
fn time_functions_in_files_are_the_moments_of_all_steps() {
    let desk = slanted();
    desk.put("STATIONS", "X1 DB 6000.00 5000.0 0.0 0.0\n");
    // The time shift has no effect if there is a file of samples.
    let shifted = cmt(3500.0, 6500.0, 1.2).replace("shift:       0.0", "shift:       3.5");
    desk.put("CMT", format!("{shifted}DATA/stf.dat\n"));
    let samples: Vec<f32> = (0..150)
        .map(|k| 0.5 + 0.5 * ((k as f32 - 30.0) / 9.0).tanh())
        .collect();
    let lines: Vec<String> = samples.iter().map(|x| format!("{x:e}")).collect();
    desk.put(
        "stf.dat",
        format!("# Source time function\n#   DT : 0.02\n{}\n", lines.join("\n")),
    );
    desk.dataset("series.rsf", "n1=150 d1=0.02 o1=0", &samples);
    desk.put("PLAIN", cmt(3500.0, 6500.0, 1.2));
    desk.ran(&format!("{RUN} cmt=CMT stations=STATIONS > a.rsf"));
    desk.ran(&format!(
        "{RUN} cmt=PLAIN stations=STATIONS series=series.rsf rate=n > b.rsf"
    ));
    let (a, b) = (desk.read("a.rsf"), desk.read("b.rsf"));
    assert!(magnitude(&b) > 0.0);
    // The step in a header is in single precision.
    let apart = relative_difference(&a, &b);
    println!("{apart:.1e}");
    assert!(apart < 1e-5, "{apart}");
    assert_eq!(desk.axes("a.rsf", 3)[2].o, 0.0);
    // The same samples on the command line are rates by default: the waves of moments are the derivatives of the waves
    // of rates.
    desk.ran(&format!(
        "{RUN} cmt=PLAIN stations=STATIONS series=series.rsf > c.rsf"
    ));
    let c = desk.read("c.rsf");
    let slope = c[6..].iter().zip(&c).map(|(next, last)| (next - last) / 0.04);
    let apart = relative_difference(slope, &b[3..b.len() - 3]);
    println!("{apart:.1e}");
    // The differences over two steps have an error of (w dt)^2/6 with w dt up to about 2/9, and the samples of the time
    // function are interpolated to the steps.
    assert!(apart < 1e-2, "{apart}");
}

/// A force of 1e12 N directed to the east and downwards.
fn push(kind: u8, span: f64) -> String {
    format!(
        "FORCE  001
time shift:     0.0000
hdurorf0:       {span}
latorUTM:       5000.0
longorUTM:      3500.0
depth:          1.0
source time function:            {kind}
factor force source:             1.d12
component dir vect source E:     3.d0
component dir vect source N:     0.d0
component dir vect source Z_UP:  -4.d0
"
    )
}

/// The step function is the integral of the Gaussian, so that the waves of the Gaussian are the derivatives of the
/// waves of the step; the sine function grows for 200 s.
#[test]
fn further_time_functions_of_forces_are_those_of_specfem3d() {
    let desk = slanted();
    desk.put("STATIONS", "X1 DB 6000.00 5000.0 0.0 0.0\n");
    let run = |kind: u8, span: f64| {
        desk.put("FORCESOLUTION", push(kind, span));
        desk.ran(&format!("{RUN} force=FORCESOLUTION stations=STATIONS > a.rsf"));
        desk.read("a.rsf")
    };
    let (gaussian, step) = (run(0, 1.2), run(2, 1.2));
    let [pulses, steps]: [Vec<Vec<f32>>; 2] = [&gaussian, &step].map(|data| {
        (0..3)
            .map(|c| data.iter().skip(c).step_by(3).copied().collect())
            .collect()
    });
    for (pulse, step) in pulses.iter().zip(&steps) {
        // The differences have an error of (w dt)^2/6, with w up to 6/s.
        let slope = step.windows(3).map(|u| (u[2] - u[0]) / 0.04);
        let apart = relative_difference(slope, &pulse[1..pulse.len() - 1]);
        println!("step: {apart:.1e}");
        assert!(apart < 5e-3, "{apart}");
    }
    // The function of Meschede, Myhrvold & Tromp (2011), sqrt(pi)/T exp(-(pi t/T)^2), is the Gaussian with T/pi in
    // place of half duration/1.628.
    let span: f64 = 2.4;
    let apart = relative_difference(run(4, span), run(0, span / std::f64::consts::PI * 1.628));
    assert!(apart < 1e-6, "{apart}");
    let sine = run(3, 1.5);
    // The sine begins at time zero, at which the other functions have their centroid.
    assert_eq!(desk.axes("a.rsf", 3)[2].o, 0.0);
    let growth = (200.0_f64 / 1.5).ceil() * 1.5;
    let samples: Vec<f32> = (0..150)
        .map(|k| 0.02 * f64::from(k))
        .map(|t| {
            let w = std::f64::consts::PI;
            ((2.0 * w * t / 1.5).sin() * (0.5 - 0.5 * (w * t / growth).cos())) as f32
        })
        .collect();
    desk.dataset("series.rsf", "n1=150 d1=0.02 o1=0", &samples);
    desk.ran(&format!(
        "{RUN} force=FORCESOLUTION stations=STATIONS series=series.rsf > b.rsf"
    ));
    let apart = relative_difference(sine, desk.read("b.rsf"));
    println!("sine: {apart:.1e}");
    assert!(apart < 1e-4, "{apart}");
}

#[test]
fn forces_are_those_of_their_directions_and_time_functions() {
    let desk = slanted();
    desk.put("STATIONS", "X1 DB 6000.00 5000.0 0.0 0.0\n");
    desk.dataset("sou.rsf", "n1=3 n2=1", &[3500.0, 5000.0, 1000.0 - 220.0]);
    let half = 0.8;
    // exp(-(t/h)^2) / (sqrt(pi) h) with h = half duration / 1.628.
    let h: f64 = half / 1.628;
    let height = 1.0 / (std::f64::consts::PI.sqrt() * h);
    for (kind, span, factor, stf) in [
        (0, half, height, format!("gauss tau={}", h / 2.0_f64.sqrt())),
        (1, 1.2, 1.0, "ricker freq=1.2".to_string()),
    ] {
        desk.put("FORCESOLUTION", push(kind, span));
        desk.ran(&format!("{RUN} force=FORCESOLUTION stations=STATIONS > a.rsf"));
        let [fx, fz] = [0.6e12 * factor, 0.8e12 * factor];
        desk.ran(&format!(
            "{RUN} sou=sou.rsf stations=STATIONS src=force fx={fx} fz={fz} stf={stf} > b.rsf"
        ));
        let apart = relative_difference(desk.read("a.rsf"), desk.read("b.rsf"));
        println!("{kind}: {apart:.1e}");
        assert!(apart < 1e-5, "{kind}: {apart}");
        // The middle of the time function is at time zero.
        let begin = desk.axes("a.rsf", 3)[2].o;
        let middle = if kind == 0 {
            4.0 * h / 2.0_f64.sqrt()
        } else {
            1.2 / span
        };
        assert!((f64::from(begin) + middle).abs() < 1e-5, "{kind}: {begin}");
    }
    desk.put("CMT", cmt(3500.0, 6500.0, 1.2));
    for (words, sentence) in [
        (
            "force=CMT",
            "force=CMT: it is a CMTSOLUTION file; give it as cmt=",
        ),
        (
            "force=FORCESOLUTION cmt=CMT",
            "cmt= and force= are given together",
        ),
        (
            "force=FORCESOLUTION sou=sou.rsf",
            "force= and sou= are given together",
        ),
        (
            "",
            "sou= is missing (an RSF file of points), or cmt=, force= or quakeml=",
        ),
    ] {
        let run = desk.sh(&format!("{RUN} {words} stations=STATIONS > d.rsf"));
        assert_eq!(run.code, 1, "{words}: {}", run.err);
        assert!(run.err.contains(sentence), "{words}: {}", run.err);
    }
}
