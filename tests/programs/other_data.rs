//! Data whose components or quantity differ from those that the run models.

use crate::desk::Desk;
use crate::shots::{largest_difference, magnitude};
use crate::survey::{desk as survey, with};

/// The commands in a message, from the first program to the file that they make.
fn commands(sentence: &str) -> String {
    let from = sentence.find("sfwindow <").expect("a command");
    let (line, _) = sentence[from..]
        .split_once(" makes them")
        .expect("the end of the commands");
    everyday(line)
}

/// Replaces the names of everyday programs by the programs of this build.
fn everyday(line: &str) -> String {
    let names = ["window", "scale", "cat", "put"];
    names.iter().fold(line.to_string(), |line, name| {
        line.replace(&format!("sf{name} "), &format!("sfbasics {name} "))
    })
}

/// A desk with a hundred cells of 100 m and receivers at two stations, given by names and as points.
fn stations() -> Desk {
    let desk = Desk::new();
    for (name, value) in [("vp", 3000.0f32), ("vs", 1700.0), ("den", 2200.0)] {
        desk.dataset(
            &format!("{name}.rsf"),
            "n1=16 n2=20 n3=22 d1=100 d2=100 d3=100",
            &[value; 7040],
        );
    }
    desk.put("STATIONS", "A XX 1300 1000 0 0\nB XX 700 800 0 0\n");
    desk.dataset("sou.rsf", "n1=3 n2=1", &[900.0, 1000.0, 800.0]);
    desk.dataset("rec.rsf", "n1=3 n2=2", &[1000.0, 1300.0, 0.0, 800.0, 700.0, 0.0]);
    desk
}

const SHOT: &str = "vp=vp.rsf vs=vs.rsf den=den.rsf sou=sou.rsf nt=80 dt=0.01 src=force fz=1e9 fx=5e8 stf=ricker freq=2 nb=3 device=cpu";

/// Records at stations are up, north and east; a run with points models down, east and north. It refuses the records
/// with a message whose commands convert them.
#[test]
fn other_components_are_refused_with_the_commands_that_turn_them() {
    let desk = stations();
    desk.ran(&format!("sfvsfd3d-gpu {SHOT} stations=STATIONS > data.rsf"));
    desk.ran(&format!("sfvsfd3d-gpu {SHOT} rec=rec.rsf > points.rsf"));
    for line in ["sfvsgrad3d-gpu", "sfvsrtm3d-gpu", "sfvsborn3d-gpu adj=y"] {
        let run = desk.sh(&format!("{line} {SHOT} rec=rec.rsf < data.rsf > out.rsf"));
        let expected = "standard input has the components Z N E (Z is up), but this run models z x y (z is down): where E is x and N is y, ";
        assert!(run.code == 1 && run.err.contains(expected), "{line}: {run:?}");
        desk.ran(&commands(&run.err));
        let (turned, points) = (desk.read("turned.rsf"), desk.read("points.rsf"));
        assert!(largest_difference(&turned, &points) <= 1e-6 * f64::from(magnitude(&points)));
        desk.ran(&format!("{line} {SHOT} rec=rec.rsf < turned.rsf > out.rsf"));
        desk.ran("rm turned.rsf");
    }
    for (label, code, expected) in [
        ("Z 1 2", 1, "where 1 is x and 2 is y, sfwindow <"),
        (
            "Z E N",
            1,
            "n2=1 f2=1 squeeze=n > cx.rsf; sfwindow < data.rsf n2=1 f2=2 ",
        ),
        (
            "Z R T",
            1,
            "bring them into that order, with z down, and name them accordingly (sfput label2=\"z x y\")",
        ),
        ("Z", 1, "has the components Z (Z is up)"),
        ("z", 0, "misfit"),
        ("component", 0, "misfit"),
        ("", 0, "misfit"),
    ] {
        desk.ran(&format!("sfbasics put label2='{label}' < points.rsf > named.rsf"));
        let run = desk.sh(&format!(
            "sfvsgrad3d-gpu {SHOT} rec=rec.rsf < named.rsf > out.rsf"
        ));
        assert!(run.code == code && run.err.contains(expected), "{label}: {run:?}");
    }
}

/// Both conversions work for runs on a mesh as well.
#[test]
fn components_are_compared_on_meshes_too() {
    let desk = stations();
    desk.ran("sfhexmesh surfaces=1500,0 layers=5 nx=6 ny=6 xmin=0 xmax=1900 ymin=0 ymax=2100 rho=2200 vp=3000 vs=1700 judge=n > mesh.rsf");
    let shot = "mesh=mesh.rsf sou=sou.rsf nt=40 dt=0.01 src=force fz=1e9 stf=ricker freq=2 device=cpu";
    for (own, other, expected) in [
        (
            "stations=STATIONS",
            "rec=rec.rsf",
            "Z N E (Z is up), but this run models z x y (z is down): give the receivers by stations= instead of rec=, which models Z N E, or where E is x",
        ),
        (
            "rec=rec.rsf",
            "stations=STATIONS",
            "z x y (z is down), but this run models Z N E (Z is up): give the points of the receivers by rec= instead of stations=, which models z x y, or where y is N and x is E, ",
        ),
    ] {
        desk.ran(&format!("sfsem3d-gpu {shot} {own} > data.rsf"));
        let run = desk.sh(&format!("sfsemgrad3d-gpu {shot} {other} < data.rsf > out.rsf"));
        assert!(run.code == 1 && run.err.contains(expected), "{run:?}");
        desk.ran(&commands(&run.err));
        desk.ran(&format!("sfsem3d-gpu {shot} {other} > other.rsf"));
        let (turned, expected) = (desk.read("turned.rsf"), desk.read("other.rsf"));
        assert!(largest_difference(&turned, &expected) <= 1e-4 * f64::from(magnitude(&expected)));
        desk.ran(&format!("sfsemgrad3d-gpu {shot} {other} < turned.rsf > out.rsf"));
        desk.ran(&format!("sfsemgrad3d-gpu {shot} {own} < data.rsf > out.rsf"));
    }
}

/// Both families of programs refuse data of another quantity with a single message, whether their key or their label
/// identifies it.
#[test]
fn other_quantities_are_refused() {
    let desk = survey(2);
    let of = |program: &str, extra: &str| {
        with(2, "sous.rsf", "recs.rsf", extra).replacen("sfvsfd2d-gpu", program, 1)
    };
    desk.ran(&format!(
        "{} > data.rsf",
        of("sfvsfd2d-gpu", "data=displacement jdata=2")
    ));
    desk.ran("sfbasics put quantity= < data.rsf > label.rsf; sfbasics put quantity= label= unit= < data.rsf > plain.rsf");
    desk.ran("sfbasics put label=Displacement unit=m < plain.rsf > named.rsf");
    for (program, extra) in [
        ("sfvsgrad2d-gpu", ""),
        ("sfvsrtm2d-gpu", ""),
        ("sfvsborn2d-gpu", "adj=y"),
    ] {
        let line = of(program, extra);
        for data in ["data", "label", "named"] {
            let run = desk.sh(&format!("{line} < {data}.rsf > out.rsf"));
            let expected = "standard input holds displacement in m, but this run models velocity in m/s: give the quantity of the data as data=; if the header is wrong, ";
            assert!(run.code == 1 && run.err.contains(expected), "{data}: {run:?}");
            let (_, cure) = run.err.split_once("header is wrong, ").unwrap();
            let cure = everyday(cure.trim_end().trim_end_matches(" corrects it"));
            desk.ran(&format!(
                "{cure} < {data}.rsf > out.rsf && {line} < out.rsf > again.rsf"
            ));
        }
        desk.ran(&format!("{line} < plain.rsf > out.rsf"));
        desk.ran(&format!("{line} data=displacement < data.rsf > out.rsf"));
    }
}

const EARTHQUAKE: &str = " PDE 2026  3  4  5  6  7.50 42.7 13.2 0.3 3.0 3.0 TEST
event name:     test
time shift:     0
half duration:  0.1
latorUTM:       1000
longorUTM:      900
depth:          0.8
Mrr:       3.0e+20
Mtt:      -1.0e+20
Mpp:      -2.0e+20
Mrt:       0.4e+20
Mrp:       0.5e+20
Mtp:       0.6e+20
";

/// If data and run both give names of stations, or the time of an earthquake, these must be equal; data must not begin
/// before the run.
#[test]
fn stations_and_clocks_are_compared() {
    let desk = stations();
    desk.put("CMT", EARTHQUAKE);
    desk.ran("sfhexmesh surfaces=1500,0 layers=5 nx=6 ny=6 xmin=0 xmax=1900 ymin=0 ymax=2100 rho=2200 vp=3000 vs=1700 judge=n > mesh.rsf");
    let shot = "mesh=mesh.rsf cmt=CMT stations=STATIONS nt=60 dt=0.01 device=cpu";
    desk.ran(&format!("sfsem3d-gpu {shot} > data.rsf"));
    desk.ran(&format!("sfsemgrad3d-gpu {shot} < data.rsf > out.rsf"));
    let header = std::fs::read_to_string(desk.path("data.rsf")).expect("a header");
    assert!(
        header.contains("stations=\"XX.A,XX.B\"") && header.contains("origin_time="),
        "{header}"
    );
    for (change, expected) in [
        (
            "stations=XX.B,XX.A",
            "has the stations XX.B,XX.A, but this run has XX.A,XX.B: the same ones in another order",
        ),
        (
            "stations=YY.A,XX.B",
            "others: give the stations of the data in stations=",
        ),
        (
            "origin_time=2026-03-04T05:06:09.5",
            "has times relative to 2026-03-04T05:06:09.5 (origin_time, time_shift), but the times of this run are relative to 2026-03-04T05:06:07.5",
        ),
        (
            "origin_time=2026-03-04T05:06:10",
            "sets the time of its first sample relative to 2026-03-04T05:06:07.500000, together with origin_time=\"2026-03-04T05:06:07.500000\" time_shift=0 (in Python from_stream(stream, origin_time=obspy.UTCDateTime(\"2026-03-04T05:06:07.500000\") + 0)",
        ),
        (
            "time_shift=2.5",
            "has times relative to 2026-03-04T05:06:07.500000 + 2.5 s (origin_time, time_shift), but the times of this run are relative to",
        ),
        ("o3=-5", "standard input begins at -5 s but this run at -"),
    ] {
        desk.ran(&format!("sfbasics put {change} < data.rsf > changed.rsf"));
        let run = desk.sh(&format!("sfsemgrad3d-gpu {shot} < changed.rsf > out.rsf"));
        assert!(run.code == 1 && run.err.contains(expected), "{change}: {run:?}");
    }
    // Data without this information are accepted.
    desk.ran("sfbasics put stations= origin_time= < data.rsf > plain.rsf");
    desk.ran(&format!("sfsemgrad3d-gpu {shot} < plain.rsf > out.rsf"));
}

/// Constants at the points of staggered stresses cannot be used on a mesh.
#[test]
fn meshes_refuse_staggered_shears() {
    let desk = stations();
    desk.ran("sfhexmesh surfaces=1500,0 layers=5 nx=6 xmin=0 xmax=1900 rho=2200 vp=3000 vs=1700 judge=n > plane.rsf");
    desk.ran("sflayers horizons=700 rho=2000,2300 vp=2500,3000 vs=1300,1700 n1=17 n2=21 d1=100 d2=100 scheme=staggered den=rho.rsf > ccc.rsf");
    desk.dataset("point.rsf", "n1=2 n2=1", &[900.0, 800.0]);
    let line = "sfsem2d-gpu mesh=plane.rsf ccc=ccc.rsf den=rho.rsf sou=point.rsf rec=point.rsf nt=9 dt=0.004 m0=1e9 stf=ricker freq=2 device=cpu > out.rsf";
    let run = desk.sh(line);
    assert!(
        run.code == 1
            && run
                .err
                .contains("make the model for meshes (sflayers or sfupscale with scheme=collocated)"),
        "{run:?}"
    );
}

/// The pressure of water is zero at its free surface, which the warning about records of zeros says.
#[test]
fn records_of_zero_pressure_have_their_reason() {
    let desk = crate::velocity_stress::desk(2);
    desk.ran("sfbasics math < vs.rsf output=0 > no.rsf");
    let top = desk.axes("vp.rsf", 2)[0].o;
    desk.dataset("top.rsf", "n1=2 n2=1", &[120.0, top]);
    let line = crate::velocity_stress::line(2).replace("vs=vs.rsf", "vs=no.rsf free=y");
    let messages = |words: &str| desk.ran(&format!("{line} {words} > data.rsf")).err;
    let at_surface = messages("rec=top.rsf data=pressure");
    assert!(
        at_surface.contains("all data are zero: either no wave reached a receiver, or all receivers lie where the pressure is zero"),
        "{at_surface}"
    );
    let silent = messages("rec=top.rsf nt=2");
    assert!(
        silent.contains("all data are zero: no wave reached a receiver; check the sources"),
        "{silent}"
    );
}
