//! Slips that used to go by without a word.

use crate::bench::Bench;

#[test]
fn slips_are_told() {
    let bench = Bench::new();
    bench.run("sfmath n1=20 o1=100 d1=10 output=x1 > a.rsf");
    for (line, told) in [
        ("sfspike n1=5 k1=3 l1=2", "k1=3 l1=2: the spike is empty"),
        (
            "sfdd type=int < nan.rsf",
            "type=int: 1 of the samples are NaN, and became 0",
        ),
        (
            "sfdd type=short < big.rsf",
            "type=short: 2 of the samples are beyond the range of the type",
        ),
        (
            "sfattr < nan.rsf",
            "1 of 4 samples is NaN: the extremes are those of the others",
        ),
        (
            "sfgrey3 frame1=99 < cube.rsf",
            "frame1=99: the axis has 4 samples, counted from 0",
        ),
        (
            "sfspectra < turned.rsf",
            "time is axis 3: traces run along axis 1. This turns them: sftransp plane=13",
        ),
    ] {
        bench.dataset("nan.rsf", &[4], &[f32::NAN, 2.0, 3.0, -1.0]);
        bench.dataset("big.rsf", &[4], &[1e6, 2.0, 3.0, -1e6]);
        bench.run("sfspike n1=4 n2=3 n3=5 > cube.rsf; sfput label1=r label2='z x y' label3=t unit1= unit2= unit3=s < cube.rsf > turned.rsf");
        let said = bench.said(&format!("{line} > o.rsf"));
        assert!(said.contains(told), "{line}: {said}");
    }
    for fine in [
        "sfspike n1=5 k1=3 l1=4",
        "sfdd type=int < a.rsf",
        "sfattr < a.rsf",
        "sfgrey3 frame1=3 < cube.rsf",
        "sfwindow min1=100 max1=200 < a.rsf",
    ] {
        assert_eq!(bench.said(&format!("{fine} > o.rsf")), "", "{fine}");
    }
    let err = bench.refused("sfwindow min1=200 max1=100 < a.rsf > o.rsf");
    assert!(
        err.contains(
            "min1=200 max1=100: the first sample would lie after the last, because d1=10; exchange them"
        ),
        "{err}"
    );
}

#[test]
fn extremes_pass_over_what_is_no_number() {
    let bench = Bench::new();
    bench.dataset("nan.rsf", &[4], &[f32::NAN, 2.0, 3.0, -1.0]);
    bench.dataset("none.rsf", &[2], &[f32::NAN; 2]);
    bench.dataset("infinite.rsf", &[3], &[f32::NAN, f32::INFINITY, f32::INFINITY]);
    for (file, want, told) in [
        ("nan", "max", "max = 3 at 3"),
        ("nan", "min", "min = -1 at 4"),
        ("none", "min", "min = nan at 1"),
        ("infinite", "min", "min = inf at 2"),
    ] {
        bench.run(&format!("sfattr want={want} < {file}.rsf > told.txt 2> said.txt"));
        let text = String::from_utf8(bench.bytes("told.txt")).unwrap();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(text, told, "{file}");
    }
}

/// A header needs no memory for its samples.
#[test]
fn a_dry_run_of_any_size_writes_its_header() {
    let bench = Bench::new();
    bench.run("sfspike n1=200000000000 n2=3 --dryrun=y > o.rsf");
    let text = String::from_utf8_lossy(&bench.bytes("o.rsf")).into_owned();
    assert!(text.contains("n1=200000000000"), "{text}");
}

/// Records as the modelling programs write them have time on axis 3.
#[test]
fn traces_along_receivers_are_told() {
    let bench = Bench::new();
    bench.run(
        "sfspike n1=12 n2=2 n3=30 d1=1 d3=0.0015 label1=r unit1=m label2=component label3=t unit3=s > d.rsf",
    );
    for line in [
        "sfmutter v0=1500",
        "sfvscan v0=1000 dv=100 nv=3 half=n",
        "sfnmostretch v0=1500",
        "sfagc rect1=3",
        "sftpow tpow=1",
        "sftimedisp inv=y",
        "sfenvelope",
    ] {
        bench.run(&format!("{line} < d.rsf > o.rsf 2> said; grep -q 'axis 1 of the data is .r., and time is axis 3' said; ! grep -q CDPtype said"));
    }
}

/// Names of stations that no longer belong to their receivers are told.
#[test]
fn names_of_stations_that_stay_are_told() {
    let bench = Bench::new();
    bench.run("sfspike n1=3 n2=5 | sfput stations=A,B,C > d.rsf");
    for line in ["sfreverse which=1", "sfrotate rot1=1"] {
        bench.run(&format!(
            "{line} < d.rsf > o.rsf 2> said; grep -q 'stations=A,B,C in the header keeps this order' said"
        ));
    }
    bench.run("sfreverse which=2 < d.rsf > o.rsf 2> said; ! grep -q stations said");
}

#[test]
fn decimals_with_a_comma_are_told() {
    let bench = Bench::new();
    bench.put("t.csv", "1000,5;20,3\n2000,5;30,1\n");
    let told = bench.refused("sfcsv2rsf < t.csv > o.rsf");
    assert!(told.contains("write decimal fractions with a point"), "{told}");
}

/// Whole offsets where half-offsets are the rule, and series that begin in motion.
#[test]
fn what_a_program_takes_otherwise_is_told() {
    let bench = Bench::new();
    bench.run("sfspike n1=50 n2=4 d1=0.004 d2=100 k1=20 label2=Offset unit2=m > d.rsf; sfmath n1=50 n2=1 d1=0.004 output=2000 > v.rsf");
    for (words, told) in [("", true), ("half=n", false), ("half=y", false)] {
        let told_of = "taken as half-offsets, because half= is not given";
        let said = bench.sh(&format!("sfnmo < d.rsf velocity=v.rsf {words} > o.rsf"));
        assert_eq!(
            (said.code, said.err.contains(told_of)),
            (0, told),
            "{words}: {}",
            said.err
        );
    }
    let said = bench.sh("sfput < d.rsf label2=Half-Offset | sfnmo velocity=v.rsf > o.rsf");
    assert!(!said.err.contains("half= is not given"), "{}", said.err);
    for (place, told) in [(1, true), (20, false)] {
        let said = bench.sh(&format!("sfspike n1=50 d1=0.004 k1={place} | sftimedisp > o.rsf"));
        let found = said.err.contains("1 of 1 traces do not begin at rest");
        assert_eq!((said.code, found), (0, told), "{place}: {}", said.err);
    }
}

/// Parts that are joined in the order of their names, part10 before part2, and samples of another axis.
#[test]
fn orders_and_axes_that_disagree_are_told() {
    let bench = Bench::new();
    for k in [1, 2, 10] {
        bench.run(&format!("sfspike n1=3 n2=1 | sfput o2={k} d2=1 > part{k}.rsf"));
    }
    for (files, told) in [
        ("part1.rsf part10.rsf part2.rsf", true),
        ("part1.rsf part2.rsf part10.rsf", false),
        ("part10.rsf part2.rsf part1.rsf", false),
        ("part1.rsf part1.rsf part1.rsf", false),
        ("part1.rsf part10.rsf part2.rsf order=0,2,1", false),
    ] {
        let said = bench.sh(&format!("sfcat axis=2 {files} > o.rsf"));
        let found = said
            .err
            .contains("part2.rsf begins at o2=2 and follows part10.rsf, which begins at o2=10");
        assert_eq!((said.code, found), (0, told), "{files}: {}", said.err);
    }
    for (files, told) in [
        (
            "part1.rsf part2.rsf part10.rsf",
            "part10.rsf begins at o2=10, but on the joined axis it begins at 3,",
        ),
        ("part1.rsf part2.rsf", ""),
        ("part1.rsf part1.rsf", ""),
    ] {
        let said = bench.sh(&format!("sfcat axis=2 {files} > o.rsf"));
        assert!(
            said.err.contains(told) && said.err.is_empty() == told.is_empty(),
            "{files}: {}",
            said.err
        );
    }
    bench.run("sfspike n1=50 n2=4 d1=0.004 d2=100 k1=20 > d.rsf");
    for (d1, unit, told) in [(0.004, "s", false), (4.0, "ms", true)] {
        let own = format!("sfput d1={d1} unit1={unit} < d.rsf");
        let nmo = format!(
            "sfmath n1=50 n2=1 d1={d1} output=2000 > v.rsf; {own} | sfnmo half=n velocity=v.rsf > o.rsf"
        );
        let scan = format!("{own} | sfvscan half=n v0=1500 dv=100 nv=3 > o.rsf");
        for line in [nmo, scan] {
            let said = bench.sh(&line);
            let found = said.err.contains("unit1=ms: times are not converted")
                && said.err.contains("d1=0.004 unit1=s");
            assert_eq!((said.code, found), (0, told), "{line}: {}", said.err);
        }
    }
    for (d1, told) in [(0.004, false), (0.008, true)] {
        let said = bench.sh(&format!(
            "sfmath n1=50 n2=1 d1={d1} output=2000 > v.rsf; sfnmo half=n < d.rsf velocity=v.rsf > o.rsf"
        ));
        let found = said
            .err
            .contains("its samples are used as if they were at the times of the data");
        assert_eq!((said.code, found), (0, told), "{d1}: {}", said.err);
    }
}

/// The first of several planes is zero, as the first snapshot of a run is.
#[test]
fn planes_that_are_zero_are_told_as_such() {
    let bench = Bench::new();
    bench.run("sfspike n1=5 n2=4 n3=3 nsp=1 k1=2 k2=2 k3=2 > d.rsf; sfspike n1=5 n2=4 mag=0 > zero.rsf");
    for program in ["sfgrey", "sfwiggle"] {
        for (file, told) in [("d.rsf", true), ("zero.rsf", false)] {
            let said = bench.sh(&format!("{program} < {file} > p.png"));
            let words = "all values are 0 in what is drawn; the file has 3 planes";
            assert_eq!(
                (said.code, said.err.contains(words)),
                (0, told),
                "{program} {file}: {}",
                said.err
            );
            assert!(said.err.contains("all values are 0"), "{}", said.err);
        }
    }
}
