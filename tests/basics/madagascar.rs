//! The datasets of tests/data/rsf were written by Madagascar's programs; the same commands must give the same results
//! here.

use rsf_io::{Element, Input};

use crate::bench::Bench;
use crate::desk::built::checkout;

fn theirs(name: &str) -> Input {
    let path = checkout("tests/data/rsf").join(format!("{name}.rsf"));
    Input::open(&path).unwrap()
}

/// The bytes of the data file that Madagascar wrote.
fn their_bytes(name: &str) -> Vec<u8> {
    std::fs::read(checkout("tests/data/rsf").join(format!("{name}.rsf@"))).unwrap()
}

/// A bench with copies of Madagascar's datasets.
fn bench(names: &[&str]) -> Bench {
    let bench = Bench::new();
    for name in names {
        for end in ["rsf", "rsf@"] {
            let file = format!("{name}.{end}");
            bench.put(
                &file,
                std::fs::read(checkout("tests/data/rsf").join(&file)).unwrap(),
            );
        }
    }
    bench
}

/// Checks that our dataset has the same form, type, axes and values as Madagascar's.
#[track_caller]
fn same<T: Element + PartialEq + std::fmt::Debug>(bench: &Bench, ours: &str, name: &str) {
    let (mut ours, mut theirs) = (bench.open(ours), theirs(name));
    assert_eq!(ours.format(), theirs.format(), "{name}");
    let rank = theirs.rank();
    assert_eq!(ours.rank(), rank, "{name}");
    for i in 1..=rank {
        let (a, b) = (ours.axis(i), theirs.axis(i));
        // For a user an empty label is the same as a missing one.
        let text = |text: Option<String>| text.unwrap_or_default();
        assert_eq!((a.n, a.o, a.d), (b.n, b.o, b.d), "{name} axis {i}");
        assert_eq!(
            (text(a.label), text(a.unit)),
            (text(b.label), text(b.unit)),
            "{name} axis {i}"
        );
    }
    assert_eq!(
        ours.read_all::<T>().unwrap(),
        theirs.read_all::<T>().unwrap(),
        "{name}"
    );
}

const AXES: &str = "n1=7 o1=0.5 d1=0.25 label1=Depth unit1=km n2=5 o2=-1.5 d2=0.125 label2=Lateral unit2=m";

#[test]
fn spikes_and_formulas() {
    let bench = Bench::new();
    bench.run("sfspike n1=7 k1=2 mag=3.25 > a.rsf");
    same::<f32>(&bench, "a.rsf", "spike1d");
    bench.run(&format!("sfmath {AXES} output='1.37*x1-2.11*x2' > b.rsf"));
    same::<f32>(&bench, "b.rsf", "f");
    let third = "n3=3 o3=100 d3=-2 label3='Shot number'";
    bench.run(&format!("sfmath {AXES} {third} output='10*x1+100*x2+x3' > c.rsf"));
    same::<f32>(&bench, "c.rsf", "float3d");
    bench.run("sfmath n1=3 n2=1 n3=2 n4=1 n5=2 output='x1+10*x3+100*x5' > d.rsf");
    same::<f32>(&bench, "d.rsf", "ones5d");
}

#[test]
fn joined_and_scaled() {
    let bench = bench(&["f", "g"]);
    bench.run("sfscale < f.rsf dscale=-3 > a.rsf");
    same::<f32>(&bench, "a.rsf", "g");
    bench.run("sfcat axis=2 f.rsf g.rsf > b.rsf");
    same::<f32>(&bench, "b.rsf", "cat2");
    bench.run("sfcat < f.rsf g.rsf axis=2 space=n > c.rsf");
    same::<f32>(&bench, "c.rsf", "cat2");
    bench.run("sfcat f.rsf g.rsf > d.rsf");
    same::<f32>(&bench, "d.rsf", "cat3");
    let history = String::from_utf8(bench.bytes("d.rsf")).unwrap();
    assert!(
        history.contains("sfmath") && history.contains("\tsfcat\t"),
        "the history of the first file is kept: {history}"
    );
    bench.run("sfcmplx f.rsf g.rsf > e.rsf; sfcmplx < f.rsf g.rsf > e2.rsf");
    same::<rsf_io::Complex>(&bench, "e.rsf", "complex");
    same::<rsf_io::Complex>(&bench, "e2.rsf", "complex");
    bench.run("sfimag < e.rsf > i.rsf; sfreal < e.rsf > r.rsf");
    same::<f32>(&bench, "i.rsf", "g");
    same::<f32>(&bench, "r.rsf", "f");
}

#[test]
fn other_forms_and_types() {
    let bench = bench(&["f", "complex", "int"]);
    for (line, name) in [
        ("sfdd < f.rsf form=xdr", "floatxdr"),
        ("sfdd < f.rsf form=ascii", "floatascii"),
        ("sfdd < f.rsf form=ascii format='%12.5e ' line=3", "floatascii3"),
        ("sfscale < f.rsf dscale=100 | sfdd type=int", "int"),
        ("sfdd < int.rsf form=xdr", "intxdr"),
        ("sfdd < int.rsf form=ascii", "intascii"),
        ("sfdd < int.rsf type=short", "short"),
        ("sfdd < complex.rsf form=xdr", "complexxdr"),
        ("sfdd < complex.rsf form=ascii", "complexascii"),
        ("sfbyte < f.rsf", "uchar"),
    ] {
        bench.run(&format!("{line} > a.rsf"));
        let (ours, theirs) = (bench.open("a.rsf"), theirs(name));
        assert_eq!(ours.format(), theirs.format(), "{line}");
        let (ours, theirs) = (bench.bytes("a.rsf@"), their_bytes(name));
        match name {
            // Madagascar writes a blank before the line break if the format has one.
            "floatascii3" => assert_eq!(words(&ours), words(&theirs), "{line}"),
            _ => assert_eq!(ours, theirs, "{line}"),
        }
    }
    assert_eq!(bench.run("sfbyte < f.rsf | sfget clip").trim(), "clip=5.905");
}

fn words(text: &[u8]) -> Vec<Vec<String>> {
    let text = String::from_utf8_lossy(text).into_owned();
    text.lines()
        .map(|line| line.split_whitespace().map(str::to_string).collect())
        .collect()
}

#[test]
fn headers_with_a_long_history() {
    let bench = bench(&["h1", "h2"]);
    bench.run("sfput < h1.rsf d1=0.5 label1='\"New label\"' o1=5 > a.rsf");
    let bytes = bench.bytes("a.rsf");
    let text = String::from_utf8_lossy(&bytes);
    let programs = [
        "sfspike",
        "sfbandpass",
        "sftransp",
        "sfwindow",
        "sfscale",
        "sfput",
    ];
    let places: Vec<Option<usize>> = programs
        .iter()
        .map(|name| text.find(&format!("\t{name}\t")))
        .collect();
    assert!(places.is_sorted() && places.iter().all(Option::is_some), "{text}");
    let axis = bench.open("a.rsf").axis(1);
    assert_eq!(
        (axis.o, axis.d, axis.label.as_deref()),
        (5.0, 0.5, Some("New label"))
    );
    assert_eq!(bench.bytes("a.rsf@"), their_bytes("h2"));
    // A label with a blank is kept whole even without inner quotes, whereas Madagascar keeps only the first word.
    bench.run("sfput < h1.rsf label1='two words' > b.rsf");
    assert_eq!(bench.open("b.rsf").axis(1).label.as_deref(), Some("two words"));
}

/// sfin prints exactly what Madagascar's sfin prints for the same file, including blanks.
#[test]
fn descriptions() {
    let bench = bench(&["f", "floatascii"]);
    let expected = "f.rsf:\n    in=\"./f.rsf@\"\n    esize=4 type=float form=native \n    \
        n1=7           d1=0.25        o1=0.5        label1=\"Depth\" unit1=\"km\" \n    \
        n2=5           d2=0.125       o2=-1.5       label2=\"Lateral\" unit2=\"m\" \n\t35 elements 140 bytes\n";
    assert_eq!(bench.run("sfin f.rsf"), expected);
    assert_eq!(
        bench.run("sfin info=n f.rsf floatascii.rsf").trim(),
        "./f.rsf@ ./floatascii.rsf@"
    );
}
