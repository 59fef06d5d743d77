//! The axes and names of stations in joined datasets and windows.

use crate::bench::{Bench, ramp};

#[test]
fn another_sampling_of_the_joined_axis_is_warned_of() {
    let bench = Bench::new();
    bench.run("sfmath n1=5 d1=0.1 output=x1 > a.rsf; sfmath n1=5 d1=0.2 o1=0.5 output=x1 > b.rsf");
    for program in ["sfcat", "sfmerge", "sfrcat"] {
        let text = bench.messages(&format!("{program} axis=1 a.rsf b.rsf > c.rsf"));
        assert!(
            text.contains("d1=0.1 in a.rsf and d1=0.2 in b.rsf: the joined axis has the first sampling"),
            "{text}"
        );
        assert_eq!(
            bench.messages(&format!("{program} axis=1 a.rsf b.rsf d=0.1 > c.rsf")),
            ""
        );
    }
    // A single sample has no sampling interval, and equal intervals cause no warning.
    bench.run("sfwindow < b.rsf n1=1 > one.rsf; sfmath n1=5 d1=0.1 o1=0.5 output=x1 > next.rsf");
    assert_eq!(
        bench.messages("sfcat axis=1 a.rsf one.rsf > c.rsf; sfcat axis=1 a.rsf next.rsf > c.rsf"),
        ""
    );
}

/// Writes records of this number of receivers at three times, with `stations` as further keys of the header.
fn records(bench: &Bench, name: &str, receivers: usize, stations: &str) {
    bench.raw(
        name,
        &format!("n1={receivers} d1=1 o1=0 label1=r n2=3 d2=0.1 o2=0 label2=t unit2=s {stations}"),
        "native_float",
        &ramp(3 * receivers),
    );
}

fn names(bench: &Bench, file: &str) -> String {
    bench.open(file).header().text("stations").unwrap_or_default()
}

#[test]
fn names_of_stations_are_joined_as_their_traces_are() {
    let bench = Bench::new();
    records(&bench, "a.rsf", 4, "stations=XX.A,XX.B,XX.C,XX.D");
    records(&bench, "e.rsf", 4, "stations=XX.E,XX.F,XX.G,XX.H");
    records(&bench, "none.rsf", 4, "");
    bench.run(
        "sfwindow < a.rsf n1=2 > u.rsf; sfwindow < e.rsf f1=2 > v.rsf; sfwindow < e.rsf f1=1 j1=2 > j.rsf; sfwindow < a.rsf n2=1 > t.rsf",
    );
    assert_eq!(names(&bench, "u.rsf"), "XX.A,XX.B");
    assert_eq!(names(&bench, "v.rsf"), "XX.G,XX.H");
    assert_eq!(names(&bench, "j.rsf"), "XX.F,XX.H");
    assert_eq!(names(&bench, "t.rsf"), "XX.A,XX.B,XX.C,XX.D");
    assert_eq!(bench.messages("sfcat axis=1 u.rsf v.rsf > w.rsf"), "");
    assert_eq!(names(&bench, "w.rsf"), "XX.A,XX.B,XX.G,XX.H");
    assert_eq!(bench.messages("sfcat axis=1 u.rsf v.rsf order=1,0 > w.rsf"), "");
    assert_eq!(names(&bench, "w.rsf"), "XX.G,XX.H,XX.A,XX.B");
    // Along another axis, names are kept if all datasets agree.
    assert_eq!(
        bench.messages("sfcat axis=3 a.rsf a.rsf > w.rsf; sfcat axis=3 a.rsf none.rsf > w2.rsf"),
        ""
    );
    assert_eq!(names(&bench, "w.rsf"), "XX.A,XX.B,XX.C,XX.D");
    assert_eq!(names(&bench, "w2.rsf"), "XX.A,XX.B,XX.C,XX.D");
    for (line, why) in [
        (
            "sfcat axis=1 a.rsf none.rsf",
            "not every dataset has a name for each of its receivers",
        ),
        (
            "sfcat axis=1 none.rsf a.rsf",
            "not every dataset has a name for each of its receivers",
        ),
        (
            "sfmerge axis=1 a.rsf e.rsf nspace=1",
            "the gaps between the datasets have no names",
        ),
        (
            "sfcat axis=3 a.rsf e.rsf",
            "the datasets have receivers with different names",
        ),
    ] {
        let text = bench.messages(&format!("{line} > w.rsf"));
        assert!(
            text.contains(&format!("stations= is left out of the header: {why}")),
            "{line}: {text}"
        );
        assert_eq!(names(&bench, "w.rsf"), "", "{line}");
    }
}

/// The list of picked shots in a header is that of the shots in the data, even after some were left out or joined.
#[test]
fn lists_of_shots_follow_their_data() {
    let bench = Bench::new();
    bench.raw(
        "a.rsf",
        "n1=2 n2=1 n3=1 n4=5 d4=1 o4=0 label4=shot shots=1,3-5,9 made_at=\"aa cc dd ee ff\"",
        "native_float",
        &ramp(10),
    );
    let list = |file: &str| bench.open(file).header().text("shots").unwrap_or_default();
    bench.run(
        "sfwindow < a.rsf f4=1 n4=1 squeeze=n > b.rsf; sfwindow < a.rsf j4=2 > c.rsf; sfwindow < a.rsf n1=1 > d.rsf; sfwindow < a.rsf f4=4 squeeze=n > e.rsf",
    );
    assert_eq!(
        ["b.rsf", "c.rsf", "d.rsf", "e.rsf"].map(list),
        ["3", "1,4-9:5", "1,3-5,9", "9"]
    );
    let points = |file: &str| bench.open(file).header().text("made_at").unwrap_or_default();
    assert_eq!(["b.rsf", "c.rsf"].map(points), ["cc", "aa dd ff"]);
    bench.run("sfwindow < a.rsf f4=2 squeeze=n > rest.rsf");
    assert_eq!(bench.messages("sfcat axis=4 b.rsf rest.rsf > f.rsf"), "");
    assert_eq!(list("f.rsf"), "3-5,9");
    assert_eq!(points("f.rsf"), "cc dd ee ff");
    assert_eq!(
        bench.messages("sfcat axis=4 rest.rsf b.rsf order=1,0 > f.rsf"),
        ""
    );
    assert_eq!(list("f.rsf"), "3-5,9");
    // Along another axis the shots must be the same.
    bench.run("sfput < a.rsf shots=1,3,4,5,9 > same.rsf; sfput < a.rsf shots=2-6 > other.rsf");
    assert_eq!(bench.messages("sfcat axis=1 a.rsf same.rsf > f.rsf"), "");
    assert_eq!(list("f.rsf"), "1,3-5,9");
    for (line, why) in [
        (
            "sfcat axis=1 a.rsf other.rsf",
            "the datasets have different shots",
        ),
        (
            "sfmerge axis=4 b.rsf rest.rsf",
            "the gaps between the datasets are not shots",
        ),
    ] {
        let text = bench.messages(&format!("{line} > f.rsf"));
        assert!(
            text.contains(&format!("shots= is left out of the header: {why}")),
            "{text}"
        );
        assert_eq!(list("f.rsf") + &points("f.rsf"), "");
    }
    let turned = bench.messages("sfcat axis=4 e.rsf b.rsf > f.rsf");
    assert!(
        turned.contains("shots= is left out of the header: the shots of the joined datasets do not ascend"),
        "{turned}"
    );
    assert_eq!(list("f.rsf"), "");
    let reversed = bench.messages("sfreverse < a.rsf which=8 opt=i > g.rsf");
    assert!(
        reversed.contains("shots= is left out of the header, because a list of shots is ascending"),
        "{reversed}"
    );
    assert_eq!(list("g.rsf"), "");
}
