//! Files of sources and stations: samples of time functions, stations that were moved, and missing entries in lists.

use crate::desk::Desk;
use crate::earthquakes::{GRID, RUN, cmt, desk, quakeml};
use crate::shots::{magnitude, relative_difference};

/// Runs a force with these parameters and returns the data.
fn run(desk: &Desk, words: &str) -> Vec<f32> {
    desk.ran(&format!(
        "{RUN} layers=layers.txt {GRID} rec=rec.rsf {words} > data.rsf"
    ));
    desk.read("data.rsf")
}

/// The samples of a force are its values at each time, not their rates.
#[test]
fn a_force_acts_as_the_numbers_of_its_file_say() {
    let desk = desk();
    let growing = |k: i32| (f64::from(k) * 1e-3 * std::f64::consts::PI / 0.04).sin().powi(2);
    let number = |k: i32| if k < 40 { growing(k) as f32 } else { 0.0 };
    let numbers: Vec<f32> = (0..=60).map(number).collect();
    let lines: Vec<String> = numbers.iter().map(|number| format!("{number}")).collect();
    desk.put("stf.dat", lines.join("\n"));
    let force = "FORCE 001\ntime shift: 0.0\nhdurorf0: 0.04\nlatorUTM: 4727150\nlongorUTM: 500150\ndepth: 0.15\n\
source time function: 0\nfactor force source: 1.d6\ncomponent dir vect source E: 0.6\n\
component dir vect source N: 0.\ncomponent dir vect source Z_UP: -0.8\nstf.dat\n";
    desk.put("FORCE", force);
    desk.dataset("series.rsf", "n1=61 d1=0.001", &numbers);
    let expected = run(&desk, "sou=sou.rsf src=force fx=6e5 fz=8e5 series=series.rsf");
    assert!(magnitude(&expected) > 0.0);
    // The values are the same; the products with the force are rounded in another order, a few times float32's 6e-8 at
    // each step.
    let difference = relative_difference(run(&desk, "force=FORCE"), expected);
    assert!(difference < 1e-5, "{difference}");
}

/// Every force of a list has its own half duration: the order of the list does not matter.
#[test]
fn forces_may_be_listed_in_any_order() {
    let desk = desk();
    let force = |half: f64, north: f64| {
        format!(
            "FORCE 001\ntime shift: 0.0\nhdurorf0: {half}\nlatorUTM: {north}\nlongorUTM: 500150\ndepth: 0.15\n\
            source time function: 0\nfactor force source: 1.d6\ncomponent dir vect source E: 0.6\n\
            component dir vect source N: 0.\ncomponent dir vect source Z_UP: -0.8\n"
        )
    };
    let of = |list: String| {
        desk.put("FORCE", list);
        run(&desk, "force=FORCE")
    };
    let (short, long) = (force(0.03, 4_727_150.0), force(0.05, 4_727_170.0));
    let records = of(format!("{short}{long}"));
    assert!(magnitude(&records) > 0.0);
    // The two forces act in different cells, so the sums are the same.
    assert_eq!(of(format!("{long}{short}")), records);
}

/// A station in StationXML is where it was at the time of the earthquake of cmt=, not where it was moved later.
#[test]
fn stations_are_where_they_were_at_the_time_of_the_earthquake() {
    let desk = desk();
    let place = |dates: &str, longitude: f64| {
        format!(
            "<Station code=\"AAA\" {dates}><Latitude>42.6964</Latitude><Longitude>{longitude}</Longitude><Elevation>900</Elevation></Station>"
        )
    };
    let (before, later) = (
        place(
            "startDate=\"2020-01-01T00:00:00\" endDate=\"2026-05-01T00:00:00\"",
            15.001,
        ),
        place("startDate=\"2026-05-01T00:00:00\"", 15.0018),
    );
    desk.put(
        "st.xml",
        format!("<FDSNStationXML><Network code=\"IV\">{before}{later}</Network></FDSNStationXML>"),
    );
    desk.put("STATIONS", "AAA IV 42.6964 15.001 0 0\n");
    desk.put("CMT", cmt(42.696_9, 15.001_8, 0.0));
    let at = |stations: &str| {
        let run = desk.ran(&format!(
            "{RUN} layers=layers.txt {GRID} utm=33 cmt=CMT stations={stations} > data.rsf"
        ));
        assert!(!run.err.contains("epoch"), "{run:?}");
        desk.read("data.rsf")
    };
    let (of_xml, expected) = (at("st.xml"), at("STATIONS"));
    assert!(magnitude(&expected) > 0.0 && of_xml == expected);
}

/// A file that lacks required data is refused, and missing numbers are not replaced by zero.
#[test]
fn what_lists_of_earthquakes_and_stations_lack_is_named() {
    let desk = desk();
    let whole = quakeml(42.696_9, 15.001_8);
    desk.put("whole.xml", &whole);
    desk.put("depth.xml", whole.replace("depth>", "height>"));
    desk.put(
        "origin.xml",
        whole
            .replace("preferredOriginID", "other")
            .replace("origin", "place"),
    );
    desk.put("time.xml", whole.replace("time>", "hour>"));
    desk.put("SHORT", "AAA IV 42.6964 15.001 0 0\nBBB\n");
    desk.put("NUMBERS", "AAA IV 42.6964\n");
    for (words, expected) in [
        ("quakeml=depth.xml rec=rec.rsf", "event 1 has no depth/value"),
        ("quakeml=origin.xml rec=rec.rsf", "event 1 has no origin"),
        ("quakeml=time.xml rec=rec.rsf", "event 1 has no time/value"),
        (
            "quakeml=whole.xml stations=SHORT",
            "line 2 is `BBB`; a station has name, network, latitude, longitude, elevation and burial",
        ),
        (
            "quakeml=whole.xml stations=NUMBERS",
            "line 1 is `AAA IV 42.6964`: the longitude is missing",
        ),
    ] {
        let run = desk.sh(&format!("{RUN} layers=layers.txt {GRID} utm=33 {words} > no.rsf"));
        assert!(run.code == 1 && run.err.contains(expected), "{words}: {run:?}");
    }
}

#[test]
fn depths_at_sea_level_and_above_have_no_wrong_unit() {
    let desk = desk();
    let event = quakeml(42.696_9, 15.001_8);
    for (depth, hints) in [("150", true), ("0", false), ("-20", false)] {
        let moved = event.replace("<value>150</value>", &format!("<value>{depth}</value>"));
        assert!(depth == "150" || event != moved);
        desk.put("moved.xml", moved);
        let words = "utm=33 quakeml=moved.xml rec=rec.rsf plan=y";
        let run = desk.sh(&format!("{RUN} layers=layers.txt {GRID} {words} > plan.txt"));
        let is_hinted = run.err.contains("because depths in QuakeML are in metres");
        assert_eq!(is_hinted, hints, "{depth}: {run:?}");
    }
}
