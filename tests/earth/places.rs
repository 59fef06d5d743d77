//! CMTSOLUTION and STATIONS files in whole runs.

use kernels::earth::Frame;
use kernels::earth::globe::{geocentric, position};

use crate::desk::Desk;
use crate::largest::{largest_difference, magnitude, relative_difference};

/// A CMTSOLUTION file of the Bolivian earthquake of 9 June 1994 (060994A), moved to another position.
pub fn bolivia(latitude: f64, longitude: f64, depth: f64, half: f64) -> String {
    format!(
        " PDE  1994  6  9  0 33 16.40 -13.8300  -67.5600 637.0 6.9 6.8 NORTHERN BOLIVIA
event name:     060994A
time shift:     29.0000
half duration:  {half}
latitude:       {latitude}
longitude:      {longitude}
depth:          {depth}
Mrr:      -7.590000e+27
Mtt:       7.750000e+27
Mpp:      -1.600000e+26
Mrt:      -2.503000e+28
Mrp:       4.200000e+26
Mtp:      -2.480000e+27
"
    )
}

/// Latitude and longitude of the point at this distance (degrees) and in this direction (degrees east of north) from
/// another point.
pub fn beside(latitude: f64, longitude: f64, distance: f64, azimuth: f64) -> [f64; 2] {
    let frame = Frame::at(latitude, longitude);
    let (s, c) = distance.to_radians().sin_cos();
    let (e, n) = azimuth.to_radians().sin_cos();
    let x: [f64; 3] = std::array::from_fn(|k| c * frame.up[k] + s * (n * frame.north[k] + e * frame.east[k]));
    [x[2].asin().to_degrees(), x[1].atan2(x[0]).to_degrees()]
}

fn run(desk: &Desk, line: &str) -> String {
    let run = desk.sh(line);
    assert_eq!(run.code, 0, "{line}: {}", run.err);
    run.err
}

#[test]
fn an_earthquake_in_a_box_is_its_tensor_along_the_axes() {
    let desk = Desk::new();
    run(
        &desk,
        "sfhexmesh surfaces=30000,0 layers=4 nx=5 ny=5 xmin=0 xmax=40000 ymin=0 ymax=40000 rho=2700 vp=6000 vs=3400 judge=n > box.rsf",
    );
    let half = 4.0;
    desk.put("CMT", bolivia(21e3, 18.5e3, 11.3, half));
    // The columns are name, network, y, x, elevation, burial.
    desk.put("STATIONS", "A XX 30000 9000 0 100\nB XX 12000 33000 -50 200\n");
    let steps = "nt=120 dt=0.08 device=cpu data=displacement";
    run(
        &desk,
        &format!("sfsem3d-gpu mesh=box.rsf cmt=CMT stations=STATIONS depth=z {steps} > a.rsf"),
    );
    desk.dataset("sou.rsf", "n1=3 n2=1", &[18.5e3, 21e3, 11.3e3]);
    desk.dataset("rec.rsf", "n1=3 n2=2", &[9e3, 30e3, 100.0, 33e3, 12e3, 250.0]);
    let tau = half / 1.628 / 2.0_f64.sqrt();
    // With x east, y north and z down: xx = pp, yy = tt, zz = rr, xy = -tp, xz = -rp, yz = rt.
    let tensor = "mxx=-1.6e19 myy=7.75e20 mzz=-7.59e20 mxy=2.48e20 mxz=-4.2e19 myz=-2.503e21";
    run(
        &desk,
        &format!(
            "sfsem3d-gpu mesh=box.rsf sou=sou.rsf rec=rec.rsf src=moment {tensor} stf=gauss tau={tau} {steps} > b.rsf"
        ),
    );
    let file = desk.open("a.rsf");
    let text = |key: &str| file.header().text(key);
    assert_eq!(text("stations").as_deref(), Some("XX.A,XX.B"));
    assert_eq!(text("origin_time").as_deref(), Some("1994-06-09T00:33:16.400000"));
    assert!(text("time_shift").is_some());
    let (a, b) = (desk.read("a.rsf"), desk.read("b.rsf"));
    let top = magnitude(&b);
    let expected = b.chunks(6).flat_map(|plain| {
        // The order is Z, N, E, each at both receivers.
        [-plain[0], -plain[1], plain[4], plain[5], plain[2], plain[3]]
    });
    let apart = largest_difference(&a, expected) / f64::from(top);
    println!("{apart:.1e}");
    assert!(apart < 1e-5, "{apart}");
    // Time zero is when half of the moment is released.
    let axes = desk.axes("a.rsf", 3);
    assert!((f64::from(axes[2].o) + 4.0 * tau).abs() < 1e-4, "{}", axes[2].o);
    assert_eq!(axes[1].label.as_deref(), Some("Z N E"));
}

#[test]
fn records_do_not_depend_on_where_on_the_globe_it_happens() {
    let seen = |latitude: f64, longitude: f64| -> Vec<f32> {
        let desk = Desk::new();
        run(
            &desk,
            &format!(
                "sfhexmesh sphere=y nx=5 width=24 lat={latitude} lon={longitude} bottom=5e6 skip=15000,24400,80000 judge=n > earth.rsf"
            ),
        );
        desk.put("CMT", bolivia(latitude, longitude, 320.0, 20.0));
        let stations: Vec<String> = [(3.0, 0.0), (5.0, 90.0), (4.0, 215.0)]
            .iter()
            .map(|(distance, azimuth)| {
                let [lat, lon] = beside(latitude, longitude, *distance, *azimuth);
                format!("S{azimuth} XX {lat} {lon} 2000 0")
            })
            .collect();
        desk.put("STATIONS", stations.join("\n"));
        run(
            &desk,
            "sfsem3d-gpu mesh=earth.rsf cmt=CMT stations=STATIONS latitude=geocentric nt=200 dt=0.8 device=cpu data=displacement > d.rsf",
        );
        // The direction of north at a station changes with the latitude, but the size of the horizontal motion does
        // not.
        let across = |step: &[f32]| (0..3).map(|r| step[3 + r].hypot(step[6 + r])).collect::<Vec<_>>();
        let data = desk.read("d.rsf");
        data.chunks(9)
            .flat_map(|step| [step[..3].to_vec(), across(step)].concat())
            .collect()
    };
    // The chunk moves with the earthquake, so only the directions up, south and east matter.
    let (home, away) = (seen(-13.82, -67.25), seen(38.0, 142.0));
    let top = magnitude(&home);
    assert!(top > 1e-4, "{top}");
    let apart = relative_difference(&away, &home);
    println!("{apart:.1e}");
    // Coordinates are float32, with errors of up to half a metre in thousands of kilometres.
    assert!(apart < 2e-4, "{apart}");
}

/// On the globe the directions up, south and east are local to each place.
#[test]
fn earthquakes_of_one_file_add_up() {
    let desk = Desk::new();
    run(
        &desk,
        "sfhexmesh sphere=y nx=5 width=24 lat=10 lon=20 bottom=5e6 skip=15000,24400,80000 judge=n > earth.rsf",
    );
    let [latitude, longitude] = beside(10.0, 20.0, 7.0, 60.0);
    let one = bolivia(10.0, 20.0, 320.0, 20.0);
    let other = bolivia(latitude, longitude, 200.0, 20.0);
    let [lat, lon] = beside(10.0, 20.0, 4.0, 30.0);
    desk.put("STATIONS", format!("S XX {lat} {lon} 2000 0\n"));
    let records = |events: &str| {
        desk.put("CMT", events);
        run(
            &desk,
            "sfsem3d-gpu mesh=earth.rsf cmt=CMT stations=STATIONS latitude=geocentric nt=160 dt=0.8 device=cpu data=displacement > d.rsf",
        );
        desk.read("d.rsf")
    };
    let (first, second) = (records(&one), records(&other));
    let both = records(&format!("{one}{other}"));
    let sum = first.iter().zip(&second).map(|(a, b)| a + b);
    let apart = relative_difference(&both, sum);
    println!("{apart:.1e}");
    // The difference is caused by rounding errors of float32.
    assert!(
        magnitude(&second) > 0.1 * magnitude(&first) && apart < 1e-5,
        "{apart}"
    );
    // Times count from the earliest one, wherever it is in the file.
    let late = other.replace("shift:     29.0", "shift:     37.0");
    let ordered = records(&format!("{one}{late}"));
    let begin = desk.axes("d.rsf", 3)[2].o;
    let apart = relative_difference(records(&format!("{late}{one}")), &ordered);
    assert!(ordered != both && apart < 1e-5, "{apart}");
    assert_eq!(desk.axes("d.rsf", 3)[2].o, begin);
}

#[test]
fn latitudes_are_geographic_by_default() {
    let desk = Desk::new();
    run(
        &desk,
        "sfhexmesh sphere=y nx=2 width=10 lat=45 lon=10 bottom=5.8e6 skip=15000,24400,80000,220000,400000 judge=n > e.rsf",
    );
    desk.put("CMT", bolivia(45.0, 10.0, 100.0, 20.0));
    // A globe has no topography, so the elevation is ignored, but the burial is used.
    desk.put("STATIONS", "S XX 46.0 11.0 700 30000\n");
    let steps = "nt=60 dt=1 device=cpu data=displacement";
    run(
        &desk,
        &format!("sfsem3d-gpu mesh=e.rsf cmt=CMT stations=STATIONS {steps} > a.rsf"),
    );
    let (source, station) = (geocentric(45.0), geocentric(46.0));
    desk.put("CMT2", bolivia(source, 10.0, 100.0, 20.0));
    desk.put("STATIONS2", format!("S XX {station} 11.0 0 30000\n"));
    run(
        &desk,
        &format!("sfsem3d-gpu mesh=e.rsf cmt=CMT2 stations=STATIONS2 latitude=geocentric {steps} > b.rsf"),
    );
    assert_eq!(desk.read("a.rsf"), desk.read("b.rsf"));
    // The same points are computed here, in Cartesian coordinates of the globe.
    let at = |lat: f64, lon: f64, r: f64| position(lat, lon, r).map(|c| c as f32);
    desk.dataset("sou.rsf", "n1=3 n2=1", &at(source, 10.0, 6.271e6));
    desk.dataset("rec.rsf", "n1=3 n2=1", &at(station, 11.0, 6.341e6));
    run(
        &desk,
        &format!("sfsem3d-gpu mesh=e.rsf cmt=CMT rec=rec.rsf {steps} > c.rsf"),
    );
    let frame = Frame::at(station, 11.0);
    let (turned, plain) = (desk.read("a.rsf"), desk.read("c.rsf"));
    let expected: Vec<f64> = plain
        .chunks(3)
        .flat_map(|zxy| {
            let x = [zxy[1], zxy[2], zxy[0]].map(f64::from);
            [frame.up, frame.north, frame.east].map(|axis| axis.iter().zip(x).map(|(a, x)| a * x).sum())
        })
        .collect();
    let apart = relative_difference(&turned, &expected);
    println!("{apart:.1e}");
    assert!(apart < 1e-5, "{apart}");
}

#[test]
fn what_cannot_be_placed_gets_a_sentence() {
    let desk = Desk::new();
    run(
        &desk,
        "sfhexmesh sphere=y nx=2 width=10 bottom=5.8e6 skip=15000,24400,80000,220000,400000 judge=n > e.rsf",
    );
    desk.put("CMT", bolivia(0.5, 0.5, 100.0, 20.0));
    desk.put("FAR", bolivia(50.0, 0.5, 100.0, 20.0));
    desk.put("POLE", bolivia(95.0, 0.5, 100.0, 20.0));
    desk.put("STATIONS", "S XX 1.0 1.0 0 0\n");
    desk.put("EMPTY", "");
    for (words, sentence) in [
        ("cmt=CMT", "rec= is missing (an RSF file of points), or stations="),
        (
            "stations=STATIONS",
            "sou= is missing (an RSF file of points), or cmt=",
        ),
        ("cmt=nowhere stations=STATIONS", "cannot read cmt=nowhere"),
        ("cmt=CMT stations=EMPTY", "stations=EMPTY: it has no stations"),
        (
            "cmt=EMPTY stations=STATIONS",
            "cmt=EMPTY: it has no `time shift:`",
        ),
        ("cmt=POLE stations=STATIONS", "latitude 95"),
        ("cmt=FAR stations=STATIONS", "outside"),
        (
            "cmt=CMT sou=e.rsf stations=STATIONS",
            "cmt= and sou= are given together",
        ),
        ("cmt=CMT stations=STATIONS radius=-1", "radius=-1"),
    ] {
        let run = desk.sh(&format!(
            "sfsem3d-gpu mesh=e.rsf {words} nt=2 dt=1 device=cpu > d.rsf"
        ));
        assert_eq!(run.code, 1, "{words}: {}", run.err);
        assert!(run.err.contains(sentence), "{words}: {}", run.err);
    }
}

/// Degrees in a box without a projection, and a name that two stations have, cause messages.
#[test]
fn degrees_in_a_box_and_names_that_stand_twice_are_warned_of() {
    let desk = Desk::new();
    run(
        &desk,
        "sfhexmesh surfaces=30000,0 layers=4 nx=5 ny=5 xmin=0 xmax=40000 ymin=0 ymax=40000 rho=2700 vp=6000 vs=3400 judge=n > box.rsf",
    );
    let local = |text: String| {
        text.replace("latitude:", "latorUTM:")
            .replace("longitude:", "longorUTM:")
    };
    desk.put("DEGREES", local(bolivia(42.7, 13.2, 11.3, 4.0)));
    desk.put("METRES", local(bolivia(21e3, 18.5e3, 11.3, 4.0)));
    desk.put(
        "TWICE",
        "A XX 30000 9000 0 100\nB XX 20000 9000 0 100\nA XX 12000 33000 0 200\n",
    );
    desk.put("ONCE", "A XX 30000 9000 0 100\nB XX 12000 33000 0 200\n");
    let messages = |cmt: &str, stations: &str| {
        run(
            &desk,
            &format!(
                "sfsem3d-gpu mesh=box.rsf cmt={cmt} stations={stations} nt=3 dt=0.08 device=cpu > a.rsf"
            ),
        )
    };
    let both = messages("DEGREES", "TWICE");
    assert!(
        both.contains(
            "cmt=DEGREES: source 1 has latitude 42.7 and longitude 13.2, which are taken as y and x"
        ),
        "{both}"
    );
    assert!(both.contains("stations=TWICE has XX.A more than once"), "{both}");
    let none = messages("METRES", "ONCE");
    assert!(
        !none.contains("if they are degrees") && !none.contains("more than once"),
        "{none}"
    );
}
