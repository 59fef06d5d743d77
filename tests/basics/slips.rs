//! Mistakes of users that the everyday programs report or refuse.

use crate::bench::Bench;

#[test]
fn slips_are_warned_of() {
    let bench = Bench::new();
    bench.run("sfmath n1=20 o1=100 d1=10 output=x1 > a.rsf");
    for (line, warning) in [
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
            "1 of 4 samples is NaN: the extremes are taken over the other samples",
        ),
        (
            "sfgrey3 frame1=99 < cube.rsf",
            "frame1=99: the axis has 4 samples, counted from 0",
        ),
        (
            "sfspectra < turned.rsf",
            "time is axis 3, but traces must run along axis 1. This transposes the data: sftransp plane=13",
        ),
    ] {
        bench.dataset("nan.rsf", &[4], &[f32::NAN, 2.0, 3.0, -1.0]);
        bench.dataset("big.rsf", &[4], &[1e6, 2.0, 3.0, -1e6]);
        bench.run("sfspike n1=4 n2=3 n3=5 > cube.rsf; sfput label1=r label2='z x y' label3=t unit1= unit2= unit3=s < cube.rsf > turned.rsf");
        let text = bench.messages(&format!("{line} > o.rsf"));
        assert!(text.contains(warning), "{line}: {text}");
    }
    for fine in [
        "sfspike n1=5 k1=3 l1=4",
        "sfdd type=int < a.rsf",
        "sfattr < a.rsf",
        "sfgrey3 frame1=3 < cube.rsf",
        "sfwindow min1=100 max1=200 < a.rsf",
    ] {
        assert_eq!(bench.messages(&format!("{fine} > o.rsf")), "", "{fine}");
    }
    let err = bench.refused("sfwindow min1=200 max1=100 < a.rsf > o.rsf");
    assert!(
        err.contains(
            "min1=200 max1=100: the first sample would be after the last, because d1=10; exchange min1= and max1="
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
    for (file, want, expected) in [
        ("nan", "max", "max = 3 at 3"),
        ("nan", "min", "min = -1 at 4"),
        ("none", "min", "min = nan at 1"),
        ("infinite", "min", "min = inf at 2"),
    ] {
        bench.run(&format!("sfattr want={want} < {file}.rsf > told.txt 2> said.txt"));
        let text = String::from_utf8(bench.bytes("told.txt")).unwrap();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(text, expected, "{file}");
    }
}

/// Making a header does not need memory for the samples.
#[test]
fn a_dry_run_of_any_size_writes_its_header() {
    let bench = Bench::new();
    bench.run("sfspike n1=200000000000 n2=3 --dryrun=y > o.rsf");
    let text = String::from_utf8_lossy(&bench.bytes("o.rsf")).into_owned();
    assert!(text.contains("n1=200000000000"), "{text}");
}

/// Records as the modelling programs write them have time as axis 3.
#[test]
fn traces_along_receivers_are_warned_of() {
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

/// There is a warning if names of stations no longer belong to their receivers.
#[test]
fn names_of_stations_that_stay_are_warned_of() {
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
fn decimals_with_a_comma_are_refused() {
    let bench = Bench::new();
    bench.put("t.csv", "1000,5;20,3\n2000,5;30,1\n");
    let message = bench.refused("sfcsv2rsf < t.csv > o.rsf");
    assert!(
        message.contains("write decimal fractions with a point"),
        "{message}"
    );
}

/// Programs warn if whole offsets are taken as half-offsets, and if traces do not begin at rest.
#[test]
fn what_a_program_takes_otherwise_is_warned_of() {
    let bench = Bench::new();
    bench.run("sfspike n1=50 n2=4 d1=0.004 d2=100 k1=20 label2=Offset unit2=m > d.rsf; sfmath n1=50 n2=1 d1=0.004 output=2000 > v.rsf");
    for (words, warns) in [("", true), ("half=n", false), ("half=y", false)] {
        let warning = "taken as half-offsets, because half= is not given";
        let run = bench.sh(&format!("sfnmo < d.rsf velocity=v.rsf {words} > o.rsf"));
        assert_eq!(
            (run.code, run.err.contains(warning)),
            (0, warns),
            "{words}: {}",
            run.err
        );
    }
    let run = bench.sh("sfput < d.rsf label2=Half-Offset | sfnmo velocity=v.rsf > o.rsf");
    assert!(!run.err.contains("half= is not given"), "{}", run.err);
    for (place, warns) in [(1, true), (20, false)] {
        let run = bench.sh(&format!("sfspike n1=50 d1=0.004 k1={place} | sftimedisp > o.rsf"));
        let warned = run.err.contains("1 of 1 traces do not begin at rest");
        assert_eq!((run.code, warned), (0, warns), "{place}: {}", run.err);
    }
}

/// There are warnings if parts are joined in the order of their names, with part10 before part2, and if samples belong
/// to an axis of another length.
#[test]
fn orders_and_axes_that_disagree_are_warned_of() {
    let bench = Bench::new();
    for k in [1, 2, 10] {
        bench.run(&format!("sfspike n1=3 n2=1 | sfput o2={k} d2=1 > part{k}.rsf"));
    }
    for (files, warns) in [
        ("part1.rsf part10.rsf part2.rsf", true),
        ("part1.rsf part2.rsf part10.rsf", false),
        ("part10.rsf part2.rsf part1.rsf", false),
        ("part1.rsf part1.rsf part1.rsf", false),
        ("part1.rsf part10.rsf part2.rsf order=0,2,1", false),
    ] {
        let run = bench.sh(&format!("sfcat axis=2 {files} > o.rsf"));
        let warned = run
            .err
            .contains("part2.rsf begins at o2=2 and follows part10.rsf, which begins at o2=10");
        assert_eq!((run.code, warned), (0, warns), "{files}: {}", run.err);
    }
    for (files, warning) in [
        (
            "part1.rsf part2.rsf part10.rsf",
            "part10.rsf begins at o2=10, but on the joined axis it begins at 3,",
        ),
        ("part1.rsf part2.rsf", ""),
        ("part1.rsf part1.rsf", ""),
    ] {
        let run = bench.sh(&format!("sfcat axis=2 {files} > o.rsf"));
        assert!(
            run.err.contains(warning) && run.err.is_empty() == warning.is_empty(),
            "{files}: {}",
            run.err
        );
    }
    bench.run("sfspike n1=50 n2=4 d1=0.004 d2=100 k1=20 > d.rsf");
    for (d1, unit, warns) in [(0.004, "s", false), (4.0, "ms", true)] {
        let own = format!("sfput d1={d1} unit1={unit} < d.rsf");
        let nmo = format!(
            "sfmath n1=50 n2=1 d1={d1} output=2000 > v.rsf; {own} | sfnmo half=n velocity=v.rsf > o.rsf"
        );
        let scan = format!("{own} | sfvscan half=n v0=1500 dv=100 nv=3 > o.rsf");
        for line in [nmo, scan] {
            let run = bench.sh(&line);
            let warned =
                run.err.contains("unit1=ms: times are not converted") && run.err.contains("d1=0.004 unit1=s");
            assert_eq!((run.code, warned), (0, warns), "{line}: {}", run.err);
        }
    }
    for (d1, warns) in [(0.004, false), (0.008, true)] {
        let run = bench.sh(&format!(
            "sfmath n1=50 n2=1 d1={d1} output=2000 > v.rsf; sfnmo half=n < d.rsf velocity=v.rsf > o.rsf"
        ));
        let warned = run
            .err
            .contains("its samples are used as if they were at the times of the data");
        assert_eq!((run.code, warned), (0, warns), "{d1}: {}", run.err);
    }
}

/// The first of several planes is zero, as the first snapshot of a run is.
#[test]
fn planes_that_are_zero_are_named_as_such() {
    let bench = Bench::new();
    bench.run("sfspike n1=5 n2=4 n3=3 nsp=1 k1=2 k2=2 k3=2 > d.rsf; sfspike n1=5 n2=4 mag=0 > zero.rsf");
    for program in ["sfgrey", "sfwiggle"] {
        for (file, warns) in [("d.rsf", true), ("zero.rsf", false)] {
            let run = bench.sh(&format!("{program} < {file} > p.png"));
            let words = "all values are 0 in the plane that is drawn; the file has 3 planes";
            assert_eq!(
                (run.code, run.err.contains(words)),
                (0, warns),
                "{program} {file}: {}",
                run.err
            );
            assert!(run.err.contains("all values are 0"), "{}", run.err);
        }
    }
}

/// Parameters with the number of an axis that the data do not have are reported, and so are parameters without any
/// effect.
#[test]
fn axes_that_are_not_there_are_warned_of() {
    let bench = Bench::new();
    bench.run("sfspike n1=9 n2=4 > d.rsf; sfspike n1=9 n2=4 n3=1 > flat.rsf; sfspike n1=9 n2=4 n3=2 > v.rsf");
    let none = "";
    for (line, warning) in [
        (
            "sfsmooth rect1=2 rect3=2 < d.rsf",
            "rect3= has no effect: there are 2 axes",
        ),
        ("sfsmooth rect1=2 rect3=1 < d.rsf", none),
        ("sfsmooth rect1=2 rect3=2 < flat.rsf", none),
        ("sfsmooth < d.rsf", "no rect# is given, so nothing is smoothed"),
        ("sfsmooth rect1=1 < d.rsf", none),
        (
            "sfreverse which=4 < d.rsf",
            "which=4 names an axis after the 2 axes of the data (n1=9 n2=4)",
        ),
        ("sfreverse which=3 < d.rsf", none),
        ("sfrotate rot3=1 < d.rsf", "rot3= has no effect"),
        ("sfrotate rot2=1 rot3=0 < d.rsf", none),
        ("sfwindow min3=5 < d.rsf", "min3= has no effect"),
        ("sfwindow min3=0 max3=0 j3=1 < d.rsf", none),
        ("sfwindow j3=2 < d.rsf", "j3= has no effect"),
        ("sfcut n1=2 max3=9 < d.rsf", "max3= has no effect"),
        (
            "sfcut < d.rsf",
            "the window is the whole dataset, all of which becomes zero",
        ),
        ("sfcut n1=9 n2=3 < d.rsf", none),
        (
            "sfpick rect1=2 rect3=2 < v.rsf",
            "rect3= has no effect: there are 2 axes",
        ),
        (
            "sfspike nostdin=y n1=9 n2=3 k3=2",
            "k3= has no effect: there are 2 axes",
        ),
        (
            "sfspike nostdin=y n1=9 k2=2",
            "k2= has no effect: there is one axis",
        ),
        ("sfspike nostdin=y n1=9 k1=2 k2=1 p2=0", none),
        ("sfspike nostdin=y n1=9 k1=2 p2=1", "p2= has no effect"),
    ] {
        let run = bench.sh(&format!("{line} > o.rsf"));
        assert!(
            run.code == 0 && run.err.contains(warning) && run.err.is_empty() == warning.is_empty(),
            "{line}: {}",
            run.err
        );
    }
}

/// There is one warning if interpolation goes far beyond the data, with the number of such samples.
#[test]
fn samples_outside_the_data_are_counted() {
    let bench = Bench::new();
    bench.run("sfmath n1=50 d1=0.01 output=x1 > d.rsf; sfspike n1=50 d1=0.01 k1=20 > rest.rsf");
    bench.run("sfmath n1=2 n2=6 n3=2 output=x2 > pairs.rsf");
    for (line, warning) in [
        (
            "sfspline o1=-0.1 d1=0.01 n1=70 < d.rsf",
            "20 of 70 new samples lie outside the data, which extend from 0 to 0.49",
        ),
        (
            "sfremap1 o1=-0.1 d1=0.01 n1=70 < d.rsf",
            "20 of 70 new samples lie outside the data, which extend from 0 to 0.49",
        ),
        // A finer sampling with the same n1 d1 adds samples only within one old interval after the end.
        ("sfspline o1=0 d1=0.005 n1=100 < d.rsf", ""),
        ("sfremap1 d1=0.005 n1=100 < d.rsf", ""),
        (
            "sfreverse which=1 < d.rsf | sfspline o1=0.59 d1=-0.01 n1=60",
            "10 of 60 new samples",
        ),
        // If the data end with zeros, zeros beyond them are correct.
        ("sfremap1 o1=-0.1 d1=0.01 n1=70 < rest.rsf", ""),
        (
            "sfspline o1=0 d1=1 n1=9 < pairs.rsf",
            "6 of 18 new samples lie outside the data, and values",
        ),
        ("sfspline o1=0 d1=0.5 n1=11 < pairs.rsf", ""),
    ] {
        let run = bench.sh(&format!("{line} > o.rsf"));
        assert!(
            run.code == 0
                && run.err.matches("new samples").count() == usize::from(!warning.is_empty())
                && run.err.contains(warning),
            "{line}: {}",
            run.err
        );
    }
}

/// With RSF_STRICT=1, misspelt parameters are refused even by programs that write other keys to the header, and by the
/// programs for SEG-Y.
#[test]
fn strict_programs_refuse_slips_among_keys() {
    let bench = Bench::new();
    bench.run("sfspike n1=9 n2=4 > d.rsf; sfsegywrite < d.rsf tape=d.sgy");
    for (line, warning) in [
        ("sfwindow nn1=3 < d.rsf", "(did you mean n1= ?)"),
        ("sfwindow mn1=3 < d.rsf", "(did you mean n1= ?)"),
        ("sfwindow mim1=3 < d.rsf", "(did you mean min1= ?)"),
        ("sfpad ned1=3 < d.rsf", "(did you mean end1= ?)"),
        ("sfpad end=3 < d.rsf", "(did you mean end1= ?)"),
        ("sfsegywrite tapee=e.sgy tape=x.sgy < d.rsf", "tapee= is neither"),
        ("sfsuwrite nsp=1 tape=x.su < d.rsf", "nsp= is neither"),
        ("sfsegyread wod=1 tape=d.sgy", "wod= is neither"),
    ] {
        let loose = bench.sh(&format!("{line} > o.rsf"));
        assert!(
            loose.code == 0
                && loose.err.contains(warning)
                && loose.err.contains("RSF_STRICT=1 makes this an error"),
            "{line}: {}",
            loose.err
        );
        let strict = bench.sh(&format!("RSF_STRICT=1 {line} > o.rsf"));
        assert!(
            strict.code == 1 && strict.err.contains(warning) && strict.err.contains("(RSF_STRICT is set)"),
            "{line}: {}",
            strict.err
        );
        // Nothing is written.
        assert!(!strict.err.contains("it is written"), "{line}: {}", strict.err);
    }
    for line in [
        "sfwindow t0=3 n1=5",
        "sfpad velocity=3 end1=2",
        "sfwindow title=a o1=3 label2=b",
    ] {
        let strict = bench.sh(&format!("RSF_STRICT=1 {line} < d.rsf > o.rsf"));
        assert_eq!(strict.code, 0, "{line}: {}", strict.err);
    }
}

/// A dataset that does not fit on the disk is refused before anything is written; for a picture of a single colour
/// there is a message.
#[test]
fn disks_and_colours_that_do_not_suffice_are_named() {
    let bench = Bench::new();
    let run = bench.sh("sfspike n1=100000 n2=10000 n3=10000 n4=100 nostdin=y > o.rsf");
    assert!(
        run.code == 1
            && run.err.contains("takes 4000000.00 GB, but its disk has ")
            && !bench.path("o.rsf@").exists(),
        "{}",
        run.err
    );
    bench.run("sfmath n1=20 n2=20 output='1e-6*(x1-x2)' > tiny.rsf; sfmath n1=20 n2=20 output='0.9+0.1*(x1-x2)' > near.rsf");
    for (line, warns) in [
        ("sfgrey bias=1 < tiny.rsf", true),
        ("sfgrey < tiny.rsf", false),
        ("sfgrey mean=y < tiny.rsf", false),
        ("sfgrey bias=1 < near.rsf", false),
    ] {
        let run = bench.sh(&format!("{line} > o.png"));
        assert_eq!(
            (
                run.code,
                run.err.contains("nothing to see: all values lie within")
            ),
            (0, warns),
            "{line}: {}",
            run.err
        );
    }
}

/// Files of values for the samples or traces of the data must have their axes in the order of the data, even if their
/// number is right.
#[test]
fn exchanged_axes_of_velocities_and_picks_are_refused() {
    let bench = Bench::new();
    bench.run(
        "sfmath n1=51 d1=0.004 n2=6 d2=50 o2=100 n3=4 output=x1+x2 > d.rsf; \
         sfmath n1=51 d1=0.004 n2=4 output=1800 > v.rsf; sftransp < v.rsf | sfput o1=0 d1=0.004 > vt.rsf; \
         sfmath n1=102 d1=0.004 n2=2 output=1800 > joined.rsf; sfspray < d.rsf axis=4 n=2 > e.rsf; \
         sfmath n1=51 d1=0.004 n2=2 n3=4 output=1800 > later.rsf; \
         sfmath n1=6 n2=4 output=x1 > x.rsf; sftransp < x.rsf > xt.rsf; \
         sfdd < x.rsf type=int > m.rsf; sfdd < xt.rsf type=int > mt.rsf",
    );
    let other = "axis 1 of both must be the same";
    let way = "sftransp plane=12 exchanges axes 1 and 2 of the file";
    let order = "has n1=4 n2=6, but standard input has n2=6 n3=4: the axes of both must be in the same order";
    for (line, expected) in [
        ("sfnmo half=n CDPtype=1 velocity=vt.rsf", way),
        (
            "sfnmo half=n CDPtype=1 velocity=vt.rsf",
            "velocity=vt.rsf has n1=4, but standard input has n1=51",
        ),
        ("sfnmo half=n CDPtype=1 velocity=joined.rsf", other),
        (
            "sfslice pick=vt.rsf",
            "pick=vt.rsf has n1=4, but standard input has n1=51",
        ),
        ("sfslice pick=vt.rsf", way),
        ("sfnmo half=n CDPtype=1 velocity=v.rsf offset=xt.rsf", order),
        ("sfvscan half=n v0=1500 dv=100 nv=3 offset=xt.rsf", order),
        ("sfvscan half=n CDPtype=1 v0=1500 dv=100 nv=3 mask=mt.rsf", order),
        ("sfmutter half=n v0=1500 offset=xt.rsf", order),
        ("sfdatstretch datum=xt.rsf", order),
        ("sfheaderwindow mask=mt.rsf", order),
        ("sfheadercut mask=mt.rsf", order),
    ] {
        let message = bench.refused(&format!("{line} < d.rsf > o.rsf"));
        assert!(message.contains(expected), "{line}: {message}");
    }
    let message = bench.refused("sfnmo < e.rsf half=n CDPtype=1 velocity=later.rsf > o.rsf");
    assert!(
        message.contains("has n1=51 n2=2 n3=4, but standard input has n1=51 n3=4 n4=2"),
        "{message}"
    );
    let message = bench.refused("sfconjgrad sfcausint mod=x.rsf mwt=xt.rsf niter=1 < x.rsf > o.rsf");
    assert!(
        message.contains("mwt=xt.rsf has n1=4, but mod=x.rsf has n1=6"),
        "{message}"
    );
    for fine in [
        "sfnmo half=n CDPtype=1 velocity=v.rsf offset=x.rsf",
        "sfslice pick=v.rsf",
        "sfvscan half=n v0=1500 dv=100 nv=3 mask=m.rsf offset=x.rsf",
        "sfdatstretch datum=x.rsf",
        "sfheaderwindow mask=m.rsf",
    ] {
        bench.run(&format!("{fine} < d.rsf > o.rsf"));
    }
}

/// A list of points that is repeated in as many shots as it has points was probably meant as one point in each shot.
#[test]
fn points_that_are_repeated_in_as_many_shots_are_warned_of() {
    let bench = Bench::new();
    let text = bench.messages("sfpoints x=20 z=30:270:40 n=7 > p.rsf");
    assert!(
        text.contains("n=7 repeats all 7 points in each of 7 shots: for one point in each shot leave out n="),
        "{text}"
    );
    // These are the commands that the message suggests.
    bench.run("sfpoints x=20 z=30:270:40 | sftransp plane=23 > a.rsf; sfpoints x=20 z=30 dz=40 n=7 > b.rsf");
    assert_eq!(bench.lengths("a.rsf", 3), [2, 1, 7]);
    assert_eq!(bench.lengths("b.rsf", 3), [2, 1, 7]);
    assert_eq!(bench.reals("a.rsf"), bench.reals("b.rsf"));
    // sfwindow turns the axis of shots into axis 2, and its label then distinguishes shots from sources of one shot.
    bench.run("sfwindow n3=4 < b.rsf > c.rsf");
    let axis = &bench.axes("c.rsf", 2)[1];
    assert_eq!((axis.n, axis.label.as_deref()), (4, Some("shot")));
    for fine in [
        "x=20 z=30:270:40 n=7 dx=10",
        "x=20 z=30:270:40 n=6",
        "x=1 z=2 n=1",
    ] {
        assert_eq!(bench.messages(&format!("sfpoints {fine} > p.rsf")), "", "{fine}");
    }
}
