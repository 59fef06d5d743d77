//! Meshes in map coordinates: points next to them, latitudes and longitudes, nodes far from zero.

use crate::desk::Desk;
use crate::largest::{magnitude, relative_difference};
use crate::specfem::{RUN, cmt, slanted};

#[test]
fn points_that_a_mesh_misses_by_a_little_move_to_it() {
    let desk = slanted();
    desk.put("CMT", cmt(3500.0, 6500.0, 1.2));
    // A point on the ground, a point 40 m above it, and a point 700 m outside the mesh, whose elements are 2 km wide.
    desk.put(
        "STATIONS",
        "A DB 5000 2000 0 0\nB DB 5000 4700 0 -40\nC DB 5000 300 0 0\n",
    );
    let moved = desk.ran(&format!("{RUN} cmt=CMT stations=STATIONS > a.rsf")).err;
    assert!(
        moved.contains("2 points outside the mesh moved to the nearest place in it, by at most 7.0000e2 m (stations=STATIONS: DB.C); outside=error ends such a run, outside=leave leaves them out"),
        "{moved}"
    );
    desk.put(
        "NEAR",
        "A DB 5000 2000 0 0\nB DB 5000 4701.995 0 0\nC DB 5000 1000 0 0\n",
    );
    let text = desk.ran(&format!("{RUN} cmt=CMT stations=NEAR > b.rsf")).err;
    assert!(!text.contains("outside"), "{text}");
    let b = desk.read("b.rsf");
    assert!(magnitude(&b) > 0.0);
    // B is moved at right angles to the ground, which has a slope of 5 %: by 40/(1 + 0.05^2) 0.05 m along x.
    let apart = relative_difference(desk.read("a.rsf"), &b);
    println!("{apart:.1e}");
    assert!(apart < 1e-4, "{apart}");
    let names = |file: &str| desk.open(file).header().text("stations");
    assert_eq!(names("a.rsf").as_deref(), Some("DB.A,DB.B,DB.C"));

    let left = desk
        .ran(&format!("{RUN} cmt=CMT stations=STATIONS outside=leave > c.rsf"))
        .err;
    assert!(
        left.contains("2 points outside the mesh left out, the first of which is stations=STATIONS: DB.B"),
        "{left}"
    );
    assert_eq!(
        (names("c.rsf").as_deref(), desk.axes("c.rsf", 3)[0].n),
        (Some("DB.A"), 1)
    );
    let first: Vec<f32> = b.iter().step_by(3).copied().collect();
    assert_eq!(desk.read("c.rsf"), first);

    // Points of RSF files are moved, too, but not left out.
    desk.dataset(
        "rec.rsf",
        "n1=3 n2=2",
        &[2000.0, 5000.0, 0.0, 4700.0, 5000.0, -290.0],
    );
    let moved = desk.ran(&format!("{RUN} cmt=CMT rec=rec.rsf > d.rsf")).err;
    assert!(
        moved.contains("1 point outside") && moved.contains("(receiver 2); outside=error ends such a run\n"),
        "{moved}"
    );
    for (words, sentence) in [
        (
            "rec=rec.rsf outside=leave",
            "receiver 2 is outside the mesh, and outside=leave leaves out only points of cmt=, force=, quakeml= and stations=",
        ),
        (
            "rec=rec.rsf outside=error",
            "receiver 2 at (x, y, z) = (4700, 5000, -290) is outside the mesh",
        ),
        ("stations=FAR", "points less than half an element away are moved"),
        ("stations=FAR outside=leave", "all stations are outside the mesh"),
    ] {
        desk.put("FAR", "A DB 5000 2000 0 -4000\n");
        let run = desk.sh(&format!("{RUN} cmt=CMT {words} > e.rsf"));
        assert!(
            run.code == 1 && run.err.contains(sentence),
            "{words}: {}",
            run.err
        );
    }
}

/// A source outside the mesh is left out with its tensor and time; the other source keeps its moment and its later
/// time, as if the first one were too weak to matter.
#[test]
fn sources_that_are_left_out_leave_the_others_as_they_are() {
    let desk = slanted();
    let later = cmt(3500.0, 6500.0, 1.2).replace("shift:       0.0", "shift:       0.8");
    let strong = cmt(40_000.0, 6500.0, 1.2)
        .replace("e+19", "e+20")
        .replace("duration:    0.5", "duration:    0.9");
    let weak = cmt(5500.0, 3500.0, 1.2).replace("e+19", "e+05");
    desk.put("LEFT", format!("{strong}{later}"));
    desk.put("WEAK", format!("{weak}{later}"));
    desk.put("STATIONS", "X1 DB 6000.00 5000.0 0.0 0.0\n");
    let run = desk.ran(&format!("{RUN} cmt=LEFT stations=STATIONS outside=leave > a.rsf"));
    assert!(run.err.contains("1 point outside the mesh left out"), "{run:?}");
    desk.ran(&format!("{RUN} cmt=WEAK stations=STATIONS > b.rsf"));
    // The run without the early source begins later, by 40 steps.
    let late = desk.axes("a.rsf", 3)[2].o - desk.axes("b.rsf", 3)[2].o;
    assert!((late - 0.8).abs() < 1e-5, "{late}");
    let (a, b) = (desk.read("a.rsf"), desk.read("b.rsf"));
    let apart = relative_difference(&a[..3 * 110], &b[3 * 40..]);
    println!("{apart:.1e}");
    assert!(apart < 1e-5, "{apart:e}");
}

/// A time function in a file stays with its source when another source is left out.
#[test]
fn files_of_sources_that_are_left_out_are_not_used() {
    let desk = slanted();
    desk.put("STATIONS", "X1 DB 6000.00 5000.0 0.0 0.0\n");
    for (name, width) in [("far.dat", 30.0), ("near.dat", 8.0)] {
        let lines = (0..150).map(|k| format!("{}\n", 0.5 + 0.5 * ((f64::from(k) - 40.0) / width).tanh()));
        desk.put(name, lines.collect::<String>());
    }
    let near = cmt(3500.0, 6500.0, 1.2) + "DATA/near.dat\n";
    desk.put(
        "BOTH",
        format!("{}DATA/far.dat\n{near}", cmt(40_000.0, 6500.0, 1.2)),
    );
    desk.put("NEAR", near);
    desk.ran(&format!("{RUN} cmt=BOTH stations=STATIONS outside=leave > a.rsf"));
    desk.ran(&format!("{RUN} cmt=NEAR stations=STATIONS > b.rsf"));
    let records = desk.read("a.rsf");
    assert!(magnitude(&records) > 0.0);
    assert_eq!(records, desk.read("b.rsf"));
}

/// A box of 6 by 6 by 3 km that begins at these x and y.
fn box_at(desk: &Desk, name: &str, [x, y]: [f64; 2]) {
    desk.ran(&format!(
        "sfhexmesh surfaces=3000,0 layers=4 nx=6 ny=6 xmin={x} xmax={} ymin={y} ymax={} rho=2300 vp=2800 vs=1500 judge=n base={name} > {name}.rsf",
        x + 6000.0,
        y + 6000.0
    ));
}

const FAR_RUN: &str = "sfsem3d-gpu nt=300 dt=0.01 device=cpu data=displacement";

#[test]
fn waves_are_the_same_far_from_zero() {
    let desk = Desk::new();
    // On the central meridian of zone 11, the latitude of 45 degrees is at y = 0.9996 times the arc of the meridian,
    // 4984944.378 m.
    let north = 0.9996 * 4_984_944.378;
    let corner = [497_000.0, 4_980_000.0];
    box_at(&desk, "near", [0.0, 0.0]);
    box_at(&desk, "far", corner);
    let places = |from: [f64; 2]| {
        let (x, y) = (500_000.0 - from[0], north - from[1]);
        desk.put("CMT", cmt(x + 10.3, y + 20.7, 1.3));
        desk.put(
            "STATIONS",
            format!("S XX {y} {x} 0 0\nT XX {} {} 0 0\n", y - 1234.56, x + 987.65),
        );
    };
    places([0.0; 2]);
    desk.ran(&format!(
        "{FAR_RUN} mesh=far.rsf cmt=CMT stations=STATIONS > a.rsf"
    ));
    places(corner);
    desk.ran(&format!(
        "{FAR_RUN} mesh=near.rsf cmt=CMT stations=STATIONS > b.rsf"
    ));
    let (a, b) = (desk.read("a.rsf"), desk.read("b.rsf"));
    assert!(magnitude(&b) > 0.0);
    let apart = relative_difference(&a, &b);
    println!("far from zero: {apart:.1e}");
    // The difference is due to the rounding of waves. Nodes in single precision would be off by up to a quarter of a
    // metre there.
    assert!(apart < 5e-6, "{apart}");
    let origin = desk.open("far-nodes.rsf").header().text("nodes_origin");
    assert_eq!(origin.as_deref(), Some("500000,4983000,0"));
    assert_eq!(desk.open("near-nodes.rsf").header().text("nodes_origin"), None);
    assert!(magnitude(desk.read("far-nodes.rsf")) <= 3000.0);

    // The same points are given in degrees.
    places([0.0; 2]);
    desk.put("DEGREES", "S XX 45 -117 0 0\n");
    desk.ran(&format!(
        "{FAR_RUN} mesh=far.rsf cmt=CMT stations=STATIONS > c.rsf"
    ));
    desk.put("CMT", cmt(-117.0, 45.0, 1.3));
    desk.put("STATIONS", format!("S XX {north} 500000 0 0\n"));
    for words in ["utm=11", "epsg=32611"] {
        desk.ran(&format!(
            "{FAR_RUN} mesh=far.rsf cmt=CMT stations=DEGREES {words} > d.rsf"
        ));
        desk.put("METRES", cmt(5e5, north, 1.3));
        desk.ran(&format!(
            "{FAR_RUN} mesh=far.rsf cmt=METRES stations=STATIONS > e.rsf"
        ));
        let apart = relative_difference(desk.read("d.rsf"), desk.read("e.rsf"));
        println!("{words}: {apart:.1e}");
        // The arc is known to a millimetre, which is 1e-6 of a wavelength.
        assert!(apart < 2e-5, "{words}: {apart}");
    }
    for (words, sentence) in [
        ("utm=11 epsg=32611", "utm= and epsg= both name a projection"),
        ("utm=77", "utm=77: zones are 1 to 60"),
        (
            "epsg=3",
            "epsg=3 is not a code of a projection that this program knows",
        ),
        ("epsg=4326", "epsg=4326 is not a map projection"),
        ("epsg=2225", "epsg=2225 has units of 0.3048"),
        ("utm=33", "the mesh has no ground there"),
    ] {
        let run = desk.sh(&format!(
            "{FAR_RUN} mesh=far.rsf cmt=CMT stations=DEGREES outside=error {words} > f.rsf"
        ));
        assert!(
            run.code == 1 && run.err.contains(sentence),
            "{words}: {}",
            run.err
        );
        short_places(&run.err);
    }
}

#[test]
fn moments_in_fluids_are_those_of_specfem3d_on_request() {
    let desk = Desk::new();
    desk.ran("sfhexmesh surfaces=3000,0 layers=4 nx=5 ny=5 xmin=0 xmax=5000 ymin=0 ymax=5000 rho=1000 vp=1500 vs=0 judge=n > water.rsf");
    desk.put(
        "CMT",
        cmt(2500.0, 2600.0, 1.3).replace("Mtp:       1.000000e+19", "Mtp: 0"),
    );
    desk.put("STATIONS", "S XX 3300 2900 0 900\n");
    let run = "sfsem3d-gpu mesh=water.rsf cmt=CMT stations=STATIONS nt=300 dt=0.01 device=cpu data=pressure";
    let text = desk.ran(&format!("{run} > a.rsf")).err;
    assert!(
        text.contains("cmt=CMT: source 1 is in a fluid") && text.contains("fluid=specfem does the same"),
        "{text}"
    );
    let text = desk.ran(&format!("{run} fluid=specfem > b.rsf")).err;
    assert!(!text.contains("fluid"), "{text}");
    desk.ran(&format!("{run} fluid=moment > c.rsf"));
    assert_eq!(desk.read("a.rsf"), desk.read("c.rsf"));
    // Sources and receivers from other files do not have these parameters.
    desk.dataset("sou.rsf", "n1=3 n2=1", &[2600.0, 2500.0, 1300.0]);
    let other = run.replace(
        "cmt=CMT stations=STATIONS",
        "sou=sou.rsf rec=sou.rsf stf=ricker freq=1",
    );
    let text = desk.ran(&format!("{other} fluid=specfem depth=z plan=y")).err;
    for words in [
        "fluid= has no effect without cmt= or quakeml=",
        "depth= has no effect without cmt=, force=, quakeml= or stations=",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    // A time function in a file of samples is the moment itself, in a fluid as well.
    let samples: String = (0..300)
        .map(|k| format!("{}\n", f64::from(k.min(40)) / 40.0))
        .collect();
    desk.put("stf.dat", format!("#   DT : 0.01\n{samples}"));
    let own = std::fs::read_to_string(desk.path("CMT")).unwrap();
    desk.put("OWN", format!("{own}DATA/stf.dat\n"));
    let own = run.replace("cmt=CMT", "cmt=OWN");
    let text = desk.ran(&format!("{own} > d.rsf")).err;
    assert!(!text.contains("fluid"), "{text}");
    let text = desk.ran(&format!("{own} fluid=specfem > e.rsf")).err;
    assert!(text.contains("fluid= has no effect"), "{text}");
    assert_eq!(desk.read("d.rsf"), desk.read("e.rsf"));
    // Velocity is the derivative of displacement.
    let (plain, bell) = (desk.read("a.rsf"), desk.read("b.rsf"));
    let slope = plain.windows(3).map(|p| (p[2] - p[0]) / 0.02);
    let apart = relative_difference(slope, &bell[1..bell.len() - 1]);
    println!("{apart:.1e}");
    // Differences over two steps have an error of (w dt)^2/6, with w up to 8/s.
    assert!(apart < 2e-3, "{apart}");
}

/// Positions in metres are printed to centimetres, not with the fifteen digits of a projection.
fn short_places(message: &str) {
    if let Some((_, place)) = message.split_once("is at x=") {
        let numbers = place.split_once(": the mesh").unwrap().0.split(", y=");
        let decimals = numbers.map(|number| number.split_once('.').map_or(0, |(_, behind)| behind.len()));
        assert!(decimals.max().unwrap() <= 2, "{message}");
    }
}
