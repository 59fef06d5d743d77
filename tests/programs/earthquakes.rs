//! Earthquakes, stations and flat layers from files in the 3-D velocity-stress program.

use crate::desk::Desk;
use crate::shots::{largest_difference, magnitude, relative_difference};

/// A CMTSOLUTION tensor of 6 numbers, r up, t south, p east, in dyne cm.
pub fn cmt(latitude: f64, longitude: f64, shift: f64) -> String {
    format!(
        " PDE 2026  3  4  5  6  7.50 42.7 13.2 0.3 3.0 3.0 TEST
event name:     test
time shift:     {shift}
half duration:  0.04
latitude:       {latitude}
longitude:      {longitude}
depth:          0.15
Mrr:       3.0e+20
Mtt:      -1.0e+20
Mpp:      -2.0e+20
Mrt:       0.4e+20
Mrp:       0.5e+20
Mtp:       0.6e+20
"
    )
}

/// The same earthquake as QuakeML, in N m and m, with a name space.
pub fn quakeml(latitude: f64, longitude: f64) -> String {
    let value = |name: &str, value: f64| format!("<{name}><value>{value}</value></{name}>");
    let tensor: String = [
        ("Mrr", 3e13),
        ("Mtt", -1e13),
        ("Mpp", -2e13),
        ("Mrt", 4e12),
        ("Mrp", 5e12),
        ("Mtp", 6e12),
    ]
    .map(|(name, m)| value(name, m))
    .concat();
    let place = value("latitude", latitude) + &value("longitude", longitude) + &value("depth", 150.0);
    format!(
        "<?xml version='1.0' encoding='utf-8'?>
<q:quakeml xmlns=\"http://quakeml.org/xmlns/bed/1.2\" xmlns:q=\"http://quakeml.org/xmlns/quakeml/1.2\"><eventParameters>
<event publicID=\"e\"><preferredOriginID>hypo</preferredOriginID>
<origin publicID=\"centroid\"><time><value>2026-03-04T05:06:08.0Z</value></time>{place}</origin>
<origin publicID=\"hypo\"><time><value>2026-03-04T05:06:07.500000Z</value></time>{}</origin>
<focalMechanism publicID=\"f\"><momentTensor publicID=\"m\"><derivedOriginID>centroid</derivedOriginID><tensor>{tensor}</tensor>
<sourceTimeFunction><type>triangle</type><duration>0.08</duration></sourceTimeFunction></momentTensor></focalMechanism></event>
</eventParameters></q:quakeml>
",
        value("latitude", 0.0) + &value("longitude", 0.0)
    )
}

const LAYERS: &str = "depth vp vs rho qp qs\n0 2500 1400 2200 60 30\n105 4000 2300 2600 0 0\n";
pub const GRID: &str = "n1=30 d1=10 n2=31 d2=10 o2=500000 n3=32 d3=10 o3=4727000";
pub const RUN: &str = "sfvsfd3d-gpu nt=60 dt=0.001 nb=6 device=cpu free=y";

/// A desk with layers, stations in metres, and two points as RSF at the same positions.
pub fn desk() -> Desk {
    let desk = Desk::new();
    desk.put("layers.txt", LAYERS);
    desk.put(
        "STATIONS",
        "AAA IV 4727100 500120 900 0\nBBB IV 4727170.5 500081.25 0 30\n",
    );
    let rec = [500_120.0f32, 4_727_100.0, 0.0, 500_081.25, 4_727_170.5, 30.0];
    desk.dataset("rec.rsf", "n1=3 n2=2", &rec);
    desk.dataset("sou.rsf", "n1=3 n2=1", &[500_150.0f32, 4_727_150.0, 150.0]);
    desk
}

#[test]
fn depths_in_km_are_refused() {
    let desk = desk();
    desk.put("CMT", cmt(4_727_150.0, 500_150.0, 0.5));
    desk.put("km.txt", LAYERS.replace("\n105 ", "\n0.105 "));
    let run = desk.sh(&format!(
        "{RUN} layers=km.txt {GRID} cmt=CMT stations=STATIONS plan=y"
    ));
    assert!(
        run.err.contains("all tops of layers= lie within 10 m of z=0")
            && run.err.contains("check that the depths are in m"),
        "{run:?}"
    );
}

/// A time function of the command line is centred at the centroid time, like the time function of the file.
#[test]
fn time_functions_of_the_command_line_keep_the_centroid_time() {
    let desk = desk();
    desk.put("CMT", cmt(4_727_150.0, 500_150.0, 0.5));
    let run = |words: &str| {
        desk.ran(&format!(
            "{RUN} layers=layers.txt {GRID} cmt=CMT stations=STATIONS {words} > a.rsf"
        ));
        (desk.read("a.rsf"), desk.axes("a.rsf", 3)[2].o)
    };
    let tau = 0.04 / 1.628 / 2f64.sqrt();
    let (own, begin) = run("");
    let (same, also) = run(&format!("tau={tau}"));
    assert!(magnitude(&own) > 0.0 && relative_difference(&own, &same) < 1e-6);
    assert_eq!(begin, also);
    // The peak of a Ricker wavelet is 1.2 periods after its beginning; half of a cosine's moment is released at half of
    // its duration; the mean time of Brune's rate is 2 tau.
    for (words, early) in [
        ("stf=ricker freq=20", 0.06),
        ("stf=cosine tau=0.05", 0.025),
        ("stf=brune tau=0.01", 0.02),
    ] {
        let (_, begin) = run(words);
        assert!((begin + early - 1e-3).abs() < 6e-4, "{words}: {begin}");
    }
}

/// A run agrees with a run whose model, points and mechanism are in RSF files, except for the axes of its records.
#[test]
fn files_of_seismology_are_points_and_moments() {
    let desk = desk();
    desk.put("CMT", cmt(4_727_150.0, 500_150.0, 0.5));
    desk.ran(&format!(
        "{RUN} layers=layers.txt {GRID} cmt=CMT stations=STATIONS displacement=u.rsf pressure=p.rsf snap=y wfl=w.rsf jsnap=30 > a.rsf"
    ));
    // x is east (p), y north (-t), z down (-r).
    let moments = "mxx=-2e13 myy=-1e13 mzz=3e13 mxy=-6e12 mxz=-5e12 myz=4e12";
    let model = [
        ("vp", 2500.0, 4000.0),
        ("vs", 1400.0, 2300.0),
        ("den", 2200.0, 2600.0),
        ("qp", 60.0, 0.0),
        ("qs", 30.0, 0.0),
    ];
    for (name, above, below) in model {
        // The interface is half way between nodes 10 and 11.
        let line: Vec<f32> = (0..30).map(|k| if k <= 10 { above } else { below }).collect();
        desk.dataset(&format!("{name}.rsf"), GRID, &line.repeat(31 * 32));
    }
    // The program's own Gaussian begins 4 tau before its middle; for a half duration h, tau = h / (1.628 sqrt 2).
    let tau = 0.04 / 1.628 / 2f64.sqrt();
    desk.ran(&format!(
        "{RUN} vp=vp.rsf vs=vs.rsf den=den.rsf qp=qp.rsf qs=qs.rsf sou=sou.rsf rec=rec.rsf src=moment {moments} tau={tau} \
         displacement=v.rsf pressure=q.rsf > b.rsf"
    ));
    for (by_files, by_points) in [("a.rsf", "b.rsf"), ("u.rsf", "v.rsf")] {
        let (a, b) = (desk.read(by_files), desk.read(by_points));
        // Z N E is -z, y, x.
        let turned: Vec<f32> = b
            .chunks(6)
            .flat_map(|r| [-r[0], -r[1], r[4], r[5], r[2], r[3]])
            .collect();
        assert!(
            magnitude(&turned) > 0.0 && relative_difference(&a, &turned) < 1e-6,
            "{by_files}"
        );
    }
    assert!(relative_difference(desk.read("p.rsf"), desk.read("q.rsf")) < 1e-6);
    let file = desk.open("a.rsf");
    let text = |key: &str| file.header().text(key).unwrap_or_default();
    assert_eq!(text("stations"), "IV.AAA,IV.BBB");
    assert_eq!(
        (text("origin_time"), text("time_shift")),
        ("2026-03-04T05:06:07.500000".into(), "0.5".into())
    );
    let (components, time) = (desk.axes("a.rsf", 3)[1].clone(), desk.axes("a.rsf", 3)[2].clone());
    assert_eq!(components.label.as_deref(), Some("Z N E"));
    assert!(
        (f64::from(time.o) - (0.0005 - 4.0 * tau)).abs() < 1e-6,
        "{time:?}"
    );
    let later = desk.axes("p.rsf", 3)[2].o - time.o;
    assert!((later - 0.0005).abs() < 1e-6, "{later}");
}

/// A FORCESOLUTION is equivalent to the force given by numbers, and a file with its time function to series=.
#[test]
fn files_of_forces_and_of_time_functions() {
    let desk = desk();
    let force = "FORCE 001\ntime shift: 0.0\nhdurorf0: 0.04\nlatorUTM: 4727150\nlongorUTM: 500150\ndepth: 0.15\n\
source time function: 0\nfactor force source: 1.d6\ncomponent dir vect source E: 0.6\n\
component dir vect source N: 0.\ncomponent dir vect source Z_UP: -0.8\n";
    desk.put("FORCE", force);
    let run = format!("{RUN} layers=layers.txt {GRID} rec=rec.rsf");
    desk.ran(&format!("{run} force=FORCE > a.rsf"));
    // An impulse of 1e6 N s: the Gaussian has unit area on the command line and unit height in the file.
    let tau = 0.04 / 1.628 / 2f64.sqrt();
    let height = 1e6 / ((2.0 * std::f64::consts::PI).sqrt() * tau);
    let numbers = format!("src=force fx={} fz={}", 0.6 * height, 0.8 * height);
    desk.ran(&format!("{run} sou=sou.rsf {numbers} tau={tau} > b.rsf"));
    assert!(magnitude(&desk.read("b.rsf")) > 0.0);
    assert!(relative_difference(desk.read("a.rsf"), desk.read("b.rsf")) < 1e-6);
    // The moment grows as sin^2 for 40 ms and is sampled at every step; its rate is half a step later.
    let moment = |t: f64| (std::f64::consts::FRAC_PI_2 * (t / 0.04).min(1.0)).sin().powi(2);
    let lines: Vec<String> = (0..61)
        .map(|k| format!("{:.9}", moment(f64::from(k) * 1e-3)))
        .collect();
    desk.put("stf.dat", lines.join("\n"));
    desk.put("CMT", cmt(4_727_150.0, 500_150.0, 0.0) + "stf.dat\n");
    desk.ran(&format!("{run} cmt=CMT > c.rsf"));
    let rates: Vec<f32> = (0..60)
        .map(|k| ((moment(f64::from(k + 1) * 1e-3) - moment(f64::from(k) * 1e-3)) / 1e-3) as f32)
        .collect();
    desk.dataset("rates.rsf", "n1=60 o1=0.0005 d1=0.001", &rates);
    let moments = "src=moment mxx=-2e13 myy=-1e13 mzz=3e13 mxy=-6e12 mxz=-5e12 myz=4e12";
    desk.ran(&format!("{run} sou=sou.rsf {moments} series=rates.rsf > d.rsf"));
    assert!(magnitude(&desk.read("d.rsf")) > 0.0);
    assert!(relative_difference(desk.read("c.rsf"), desk.read("d.rsf")) < 1e-4);
    assert_eq!(desk.axes("c.rsf", 3)[2].o, 0.0005);
}

/// QuakeML and StationXML have degrees; with a projection the run is the same.
#[test]
fn xml_of_data_centres_is_the_same() {
    let desk = desk();
    // On the central meridian of zone 33, x is 500 km and y is 0.9996 times the arc to the latitude.
    let latitude = 42.696_4;
    let station = |code: &str, channel: &str| {
        format!(
            "<Station code=\"{code}\"><Latitude>{latitude}</Latitude><Longitude>15.001</Longitude><Elevation>900</Elevation>{channel}</Station>"
        )
    };
    // Blanks are not a location code.
    let blank = format!(
        "<Channel code=\"HHZ\" locationCode=\"  \"><Latitude>{latitude}</Latitude><Longitude>15.001</Longitude><Elevation>900</Elevation><Depth>0</Depth></Channel>"
    );
    let channel = "<Channel code=\"HHZ\" locationCode=\"10\"><Latitude>42.6967</Latitude><Longitude>15.0015</Longitude><Elevation>900</Elevation><Depth>30</Depth></Channel>";
    desk.put(
        "st.xml",
        format!(
            "<?xml version=\"1.0\"?>\n<FDSNStationXML xmlns=\"http://www.fdsn.org/xml/station/1\"><Network code=\"IV\">{}{}</Network></FDSNStationXML>",
            station("AAA", &blank),
            station("BBB", channel)
        ),
    );
    desk.put(
        "STATIONS",
        format!("AAA IV {latitude} 15.001 0 0\nBBB.10 IV 42.6967 15.0015 0 30\n"),
    );
    desk.put("CMT", cmt(42.696_9, 15.001_8, 0.5));
    desk.put("q.xml", quakeml(42.696_9, 15.001_8));
    let run = format!("{RUN} layers=layers.txt {GRID} utm=33");
    desk.ran(&format!("{run} cmt=CMT stations=STATIONS > a.rsf"));
    let run = desk.sh(&format!("{run} quakeml=q.xml stations=st.xml > b.rsf"));
    let shallow = "has an earthquake at a depth of 150 m, because depths in QuakeML are in metres: if this depth is in \
        km, write 150000";
    assert_eq!((run.code, run.err.contains(shallow)), (0, true), "{run:?}");
    let (a, b) = (desk.read("a.rsf"), desk.read("b.rsf"));
    assert!(magnitude(&a) > 0.0);
    assert!(largest_difference(&a, &b) <= 1e-6 * f64::from(magnitude(&a)));
    let file = desk.open("b.rsf");
    for (key, expected) in [
        ("stations", "IV.AAA,IV.BBB.10"),
        ("origin_time", "2026-03-04T05:06:07.500000"),
        ("time_shift", "0.5"),
    ] {
        assert_eq!(file.header().text(key).as_deref(), Some(expected));
    }
}

/// Times of records of several sources are relative to the earliest centroid time, which the header gives as a number.
#[test]
fn headers_have_the_time_of_zero() {
    let desk = desk();
    let event = |shift: f64| cmt(4_727_150.0, 500_150.0, shift);
    let run = format!("{RUN} layers=layers.txt {GRID} stations=STATIONS");
    for (name, shifts) in [
        ("one", vec![12.0]),
        ("two", vec![0.01, 0.0, 0.02]),
        ("early", vec![0.0]),
    ] {
        let events: String = shifts.iter().map(|shift| event(*shift)).collect();
        desk.put("CMT", events);
        desk.ran(&format!("{run} cmt=CMT > {name}.rsf"));
    }
    let shift = |name: &str| desk.open(name).header().float("time_shift");
    assert_eq!(shift("one.rsf"), Some(12.0));
    assert_eq!(shift("two.rsf"), Some(0.0));
    // Until the second source acts, 10 ms later, the records are those of the earliest source alone.
    let before = 8 * 3 * desk.axes("two.rsf", 3)[0].n;
    let (two, early) = (desk.read("two.rsf"), desk.read("early.rsf"));
    assert!(two[before..] != early[before..]);
    assert_eq!(desk.axes("two.rsf", 3)[2].o, desk.axes("early.rsf", 3)[2].o);
}

/// A catalogue is one run of all its events; events that begin after the end of the run are reported.
#[test]
fn events_behind_the_end_of_a_run_are_warned_of() {
    let desk = desk();
    let event = |shift: f64| cmt(4_727_150.0, 500_150.0, shift);
    for (late, warns) in [(0.01, false), (700.0, true)] {
        desk.put("CMT", event(0.0) + &event(late));
        let run = format!("{RUN} layers=layers.txt {GRID} cmt=CMT stations=STATIONS > a.rsf");
        let run = desk.sh(&run);
        let words = "1 of 2 time functions are silent through all";
        assert!(
            run.code == 0 && run.err.contains(words) == warns,
            "{late}: {run:?}"
        );
    }
}

/// The plan of an attenuating model that is too large for the memory gives the size that would fit.
#[test]
fn a_plan_of_any_size_prints_what_fits() {
    let desk = desk();
    desk.put(
        "layers.txt",
        "0 2500 1400 2200 60 40\n105 4000 2300 2600 200 100\n",
    );
    desk.put("CMT", cmt(4_727_150.0, 500_150.0, 0.0));
    let run = format!(
        "{RUN} layers=layers.txt n1=4000 n2=6000 n3=6000 d1=10 d2=10 d3=10 o2=499000 o3=4726000 cmt=CMT stations=STATIONS"
    );
    let plan = desk.sh(&format!("{run} plan=y"));
    assert!(plan.code == 0, "{plan:?}");
    assert!(
        plan.err.contains("it will be refused; a model of") && plan.err.contains("with the same frame fits"),
        "{}",
        plan.err
    );
    let run = desk.sh(&format!("{run} > a.rsf"));
    assert!(
        run.code == 1
            && run
                .err
                .contains("plan=y prints what the run needs and what would fit"),
        "{run:?}"
    );
}

#[test]
fn tables_and_dates_that_may_be_meant_otherwise_are_warned_of() {
    let desk = desk();
    desk.put("CMT", cmt(4_727_150.0, 500_150.0, 0.0));
    let wrong = cmt(4_727_150.0, 500_150.0, 0.0).replacen("2026", "2026 13", 1);
    desk.put("WRONG", wrong);
    desk.put("deep.txt", "30 2500 1400 2200\n105 4000 2300 2600\n");
    let run = |words: &str| {
        desk.ran(&format!("{RUN} {GRID} stations=STATIONS {words} > told.rsf"))
            .err
    };
    let deep = run("layers=deep.txt cmt=CMT");
    let expected = "begins at z=30 m, below the first node of the model at z=0 m: its first layer also fills the nodes above";
    assert!(deep.contains(expected), "{deep}");
    let quiet = run("layers=layers.txt cmt=CMT");
    assert!(
        !quiet.contains("begins at z") && !quiet.contains("date"),
        "{quiet}"
    );
    let messages = run("layers=layers.txt cmt=WRONG src=dc fx=1");
    for words in [
        "cmt=WRONG: its first line has the date 2026-13-",
        "The data have no origin_time",
        "src= has no effect with cmt=, which contains it",
        "fx= has no effect with cmt=, which contains it",
    ] {
        assert!(messages.contains(words), "{words}: {messages}");
    }
    assert_eq!(desk.open("told.rsf").header().text("origin_time"), None);
}

/// A list of earthquakes that is given by the parameter of the other kind is an error.
#[test]
fn lists_of_earthquakes_are_recognised_by_their_words() {
    let desk = desk();
    desk.put("CMT", cmt(4_727_150.0, 500_150.0, 0.0));
    desk.put("q.xml", quakeml(42.696_9, 15.0));
    for (word, expected) in [
        ("cmt=q.xml", "it is XML; give a QuakeML file as quakeml="),
        ("quakeml=CMT", "it is a CMTSOLUTION file; give it as cmt="),
    ] {
        let run = desk.sh(&format!(
            "{RUN} layers=layers.txt {GRID} utm=33 {word} rec=rec.rsf > no.rsf"
        ));
        assert!(run.code == 1 && run.err.contains(expected), "{word}: {run:?}");
    }
}

/// The ground ends at the last node: a station there is accepted, but a station a quarter of a cell beyond it is not.
#[test]
fn the_ground_ends_with_the_last_node() {
    let desk = desk();
    desk.put("CMT", cmt(4_727_150.0, 500_150.0, 0.0));
    let line =
        format!("{RUN} layers=layers.txt {GRID} cmt=CMT stations=LAST > last.rsf").replace("nt=60", "nt=3");
    for (y, x, code) in [
        ("4727310", "500300", 0),
        ("4727312.5", "500300", 1),
        ("4727310", "500302.5", 1),
        ("4726997.5", "500300", 1),
    ] {
        desk.put("LAST", format!("S1 XX {y} {x} 0 0\n"));
        let run = desk.sh(&line);
        let expected =
            "no ground there; it extends from 500000 to 500300 along x and from 4727000 to 4727310 along y";
        assert_eq!(
            (run.code, run.err.contains(expected)),
            (code, code == 1),
            "{y} {x}: {run:?}"
        );
    }
}

#[test]
fn what_cannot_be_gets_a_sentence() {
    let desk = desk();
    desk.put("CMT", cmt(4_727_150.0, 500_150.0, 0.0));
    desk.put("q.xml", quakeml(42.696_9, 15.0));
    desk.put(
        "bare.xml",
        quakeml(42.696_9, 15.0).replace("focalMechanism", "mechanism"),
    );
    let layers = format!("layers=layers.txt {GRID}");
    for (words, expected) in [
        (
            format!("{layers} cmt=CMT sou=sou.rsf rec=rec.rsf"),
            "cmt= and sou= are given together",
        ),
        (
            format!("{layers} cmt=CMT stations=STATIONS rec=rec.rsf"),
            "stations= and rec= are given together",
        ),
        (
            format!("{layers} rec=rec.rsf"),
            "missing: sou= (an RSF file of points), or cmt=",
        ),
        (
            format!("{layers} cmt=CMT"),
            "missing: rec= (an RSF file of points), or stations=",
        ),
        (
            format!("{layers} quakeml=q.xml rec=rec.rsf"),
            "give the projection of the model by utm=",
        ),
        (
            format!("{layers} utm=33 quakeml=bare.xml rec=rec.rsf"),
            "event 1 has no moment tensor",
        ),
        (
            format!("{layers} utm=32 quakeml=q.xml rec=rec.rsf"),
            "the model has no ground there",
        ),
        (
            format!("{layers} cmt=CMT stations=STATIONS data=das"),
            "stations= does not describe fibres",
        ),
        (
            format!("{layers} qp=50 qs=30 sou=sou.rsf rec=rec.rsf"),
            "both give quality factors",
        ),
        (
            format!("{layers} vp=vp.rsf sou=sou.rsf rec=rec.rsf"),
            "layers= and vp= both describe",
        ),
        (
            "layers=layers.txt n1=30 d1=10 sou=sou.rsf rec=rec.rsf".into(),
            "layers= needs n2=",
        ),
        (
            "vp=sou.rsf vs=sou.rsf sou=sou.rsf rec=rec.rsf".into(),
            "missing: den=",
        ),
        (
            "layers=none.txt n1=3 n2=3 n3=3 d1=1 d2=1 d3=1 sou=sou.rsf rec=rec.rsf".into(),
            "cannot read layers=none.txt",
        ),
    ] {
        let run = desk.sh(&format!("{RUN} tau=0.01 {words} > no.rsf"));
        assert!(run.code == 1 && run.err.contains(expected), "{words}: {run:?}");
    }
    desk.put("remark.txt", "0 2500 1400 2200\nbasement\n105 4000 2300 2600\n");
    let run = desk.sh(&format!(
        "{RUN} tau=0.01 layers=remark.txt {GRID} cmt=CMT stations=STATIONS > no.rsf"
    ));
    assert!(
        run.code == 1 && run.err.contains("line 2 is `basement`"),
        "{run:?}"
    );
    // Of these parameters, programs in 2-D have only layers=.
    let run = desk.sh("sfvsfd2d-gpu layers=layers.txt n1=20 n2=20 d1=10 d2=10 nt=5 dt=0.001 tau=0.01 cmt=CMT rec=rec.rsf > no.rsf");
    assert!(run.err.contains("cmt="), "{run:?}");
}

/// The model ends at its last nodes, not a cell after them.
#[test]
fn stations_beyond_the_last_node_are_refused_with_the_reach_of_the_model() {
    let desk = desk();
    desk.put("CMT", cmt(4_727_150.0, 500_150.0, 0.5));
    let run = format!("{RUN} layers=layers.txt {GRID} cmt=CMT stations=OFF > data.rsf");
    for [x, y] in [[500_305, 4_727_100], [500_100, 4_727_315], [499_995, 4_727_100]] {
        desk.put("OFF", format!("AAA IV {y} {x} 0 0\n"));
        let refused = desk.sh(&run);
        let expected = format!(
            "IV.AAA is at x={x}, y={y}: the model has no ground there; it extends from 500000 to 500300 \
            along x and from 4727000 to 4727310 along y"
        );
        assert!(
            refused.code == 1 && refused.err.contains(&expected),
            "{refused:?}"
        );
    }
}
