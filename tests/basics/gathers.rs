//! Stretches, velocity scans and picks of gathers, each against its closed form.

use crate::bench::Bench;
use crate::largest::{largest, largest_difference};

/// The formula of a bell of 20 ms, in which `t` is the formula of the time from its centre.
fn bell(t: &str) -> String {
    format!("exp(-(({t})/0.02)^2)")
}

/// The value of the bell.
fn bell_at(t: f64) -> f64 {
    (-(t / 0.02).powi(2)).exp()
}

/// The values of a function of time and offset at 501 samples of 4 ms and 11 offsets up to 1 km.
fn gather(of: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    let value = |i: usize| of(0.004 * (i % 501) as f64, 0.1 * (i / 501) as f64);
    (0..11 * 501).map(value).collect()
}

fn doubles(bench: &Bench, name: &str) -> Vec<f64> {
    bench.reals(name).into_iter().map(f64::from).collect()
}

/// Writes `cmp.rsf` with the bell on the moveout hyperbola with t0 = 0.8 s and a velocity of 2 km/s.
fn hyperbola(bench: &Bench) {
    let formula = bell("x1-sqrt(0.64+x2*x2/4)");
    bench.run(&format!(
        "sfmath n1=501 d1=0.004 n2=11 d2=0.1 label1=Time unit1=s label2=Offset unit2=km output='{formula}' > cmp.rsf"
    ));
}

#[test]
fn hyperbolas_become_flat_and_flat_lines_hyperbolas() {
    let bench = Bench::new();
    hyperbola(&bench);
    let flat = bell("x1-0.8");
    bench.run(&format!(
        "sfnmostretch < cmp.rsf v0=2 half=n > a.rsf; sfput < cmp.rsf d2=0.05 | sfnmostretch v0=2 > b.rsf; \
         sfmath n1=501 d1=0.004 n2=11 d2=0.1 output='{flat}' | sfnmostretch inv=y v0=2 half=n > c.rsf"
    ));
    let there = gather(|t, x| bell_at((t * t + x * x / 4.0).sqrt() - (0.64 + x * x / 4.0).sqrt()));
    let back = gather(|t, x| bell_at((t * t - x * x / 4.0).max(0.0).sqrt() - 0.8));
    for (name, expected) in [("a.rsf", &there), ("b.rsf", &there), ("c.rsf", &back)] {
        let error = largest_difference(doubles(&bench, name), expected);
        // The error is the error of a cubic spline with 5 samples per 20 ms, as for sfnmo.
        assert!(error < 3e-4, "{name}: {error}");
    }
    // The stretched gather has twice as many samples; the inverse returns to the original number, which the header
    // records.
    bench.run("sfnmostretch < cmp.rsf v0=2 half=n nout=1001 > d.rsf; sfnmostretch < d.rsf inv=y v0=2 half=n > e.rsf; sfget < d.rsf nmonin v0 > f.txt");
    let axis = &bench.axes("d.rsf", 2)[0];
    assert_eq!((axis.n, axis.d), (1001, 0.002));
    assert_eq!(
        String::from_utf8(bench.bytes("f.txt")).unwrap(),
        "nmonin=501\nv0=2\n"
    );
    assert_eq!(bench.axes("e.rsf", 2), bench.axes("cmp.rsf", 2));
    let error = largest_difference(bench.reals("e.rsf"), bench.reals("cmp.rsf"));
    // The data are interpolated twice; the measured error is 2.0e-5.
    assert!(error < 1e-4, "{error}");
}

#[test]
fn stretched_samples_are_muted_and_tapered() {
    let bench = Bench::new();
    bench.run("sfmath n1=101 d1=0.01 n2=2 d2=1 output=1 > ones.rsf; sfnmostretch < ones.rsf v0=2 half=n maxstr=0.5 mute=3 > a.rsf");
    let values = bench.reals("a.rsf");
    assert_eq!(values[..101], [1.0; 101], "nothing is stretched at offset 0");
    // As for sfnmo: the steps to sample 30 and to later samples advance by half a sample or more, earlier steps by
    // less; the first sample has no step before it.
    let line = &values[101..];
    let taper: Vec<f32> = (1..4)
        .map(|i| (std::f32::consts::FRAC_PI_8 * i as f32).sin().powi(2))
        .collect();
    assert_eq!(line[1..30], [0.0; 29]);
    assert!(largest_difference(&line[30..33], &taper) < 1e-6, "{line:?}");
    assert_eq!(line[33..84], [1.0; 51]);
    // sqrt(t^2 + 1/4) <= 1 up to t = 0.866; there is a taper before the end, too.
    let end: Vec<f32> = taper.into_iter().rev().collect();
    assert!(largest_difference(&line[84..87], &end) < 1e-6, "{line:?}");
    assert_eq!(line[87..], [0.0; 14]);
}

#[test]
fn traces_are_shifted_by_times_of_their_own() {
    let bench = Bench::new();
    let formula = bell("x1-1");
    bench.run(&format!(
        "sfmath n1=501 d1=0.004 n2=11 d2=0.1 output='{formula}' > d.rsf; sfmath n1=11 output='0.0131*(x1-5)' > s.rsf; \
         sfdatstretch < d.rsf datum=s.rsf > a.rsf; sfdatstretch < d.rsf datum=s.rsf inv=y > b.rsf; \
         sfspike n1=50 k1=21 d1=0.004 n2=2 > spike.rsf"
    ));
    for (name, sign) in [("a.rsf", 1.0), ("b.rsf", -1.0)] {
        let expected = gather(|t, x| bell_at(t + sign * 0.0131 * (10.0 * x - 5.0) - 1.0));
        let error = largest_difference(doubles(&bench, name), &expected);
        assert!(error < 3e-4, "{name}: {error}");
    }
    // For shifts by whole samples, a spike moves without change, and samples from beyond the trace are 0.
    bench.run("sfmath n1=2 output='0.02-0.1*x1' > t.rsf; sfdatstretch < spike.rsf datum=t.rsf > c.rsf");
    let values = bench.reals("c.rsf");
    let expected: Vec<f32> = (0..100)
        .map(|i| f32::from(u8::from(i == 15 || i == 90)))
        .collect();
    let error = largest_difference(&values, &expected);
    // Times in single precision have an error of 2e-6 of a sample.
    assert!(error < 1e-5, "{error}");
    for (line, words) in [
        (
            "sfdatstretch < d.rsf datum=t.rsf",
            "holds 2 times, but one is needed for each of the 11 traces",
        ),
        ("sfdatstretch < d.rsf", "datum="),
        ("sfnmostretch < d.rsf", "v0="),
        ("sfnmostretch < d.rsf v0=0", "v0=0: the moveout is infinite"),
        (
            "sfnmostretch < d.rsf v0=2 nout=1",
            "the output would have 1 samples",
        ),
        (
            "sfwindow < d.rsf n1=1 squeeze=n | sfnmostretch v0=2",
            "at least two samples",
        ),
        (
            "sfrtoc < d.rsf > z.rsf; sfnmostretch < z.rsf v0=2",
            "float data are needed",
        ),
    ] {
        let err = bench.refused(&format!("{line} > o.rsf"));
        assert!(err.contains(words), "{line}: {err}");
    }
}

/// The largest value of a scan, its time sample and its velocity index.
fn top(bench: &Bench, name: &str) -> (f32, usize, usize) {
    let values = bench.reals(name);
    let most = largest(values.iter().copied());
    let at = values.iter().position(|x| *x == most).unwrap();
    (most, at % 501, at / 501)
}

#[test]
fn scans_have_their_top_at_the_velocity_of_the_hyperbola() {
    let bench = Bench::new();
    hyperbola(&bench);
    bench.run("sfvscan < cmp.rsf half=n v0=1.5 dv=0.05 nv=21 semblance=y weight=n > a.rsf; sfvscan < cmp.rsf half=n v0=1.5 dv=0.05 nv=21 weight=n > b.rsf");
    // 0.8 s is sample 200 and 2 km/s velocity 10, where all traces are equal.
    let (most, time, velocity) = top(&bench, "a.rsf");
    assert_eq!((time, velocity), (200, 10));
    assert!(most > 0.999 && most <= 1.0, "{most}");
    let (most, time, velocity) = top(&bench, "b.rsf");
    assert_eq!((time, velocity), (200, 10));
    // The result is an average, divided by n1.
    assert!((most * 501.0 - 1.0).abs() < 3e-4, "{most}");
    let axes = bench.axes("a.rsf", 3);
    assert_eq!((axes[1].n, axes[1].o, axes[1].d, axes[2].n), (21, 1.5, 0.05, 1));
    assert_eq!(
        (axes[1].label.as_deref(), axes[1].unit.as_deref()),
        (Some("Velocity"), Some("km/s"))
    );
    assert_eq!(bench.run("sfget < a.rsf h0 dh nh"), "h0=0\ndh=0.1\nnh=11\n");
    // A semblance has no unit; a stack keeps the unit of the data.
    bench.run("sfput < cmp.rsf label=Pressure unit=Pa > pressure.rsf; sfvscan < pressure.rsf half=n v0=1.5 dv=0.05 nv=2 semblance=y > c.rsf; sfvscan < pressure.rsf half=n v0=1.5 dv=0.05 nv=2 > d.rsf");
    assert_eq!(bench.run("sfget < c.rsf label unit parform=n"), "Semblance\n\n");
    assert_eq!(bench.run("sfget < d.rsf label unit parform=n"), "Pressure\nPa\n");
    // The same velocity results from other parameters, for half-offsets, and with offsets from a file.
    bench.run("sfvscan < cmp.rsf half=n v0=2 dv=1 nv=1 > v.rsf; sfmath n1=11 output='0.1*x1' > off.rsf");
    for line in [
        "sfvscan < cmp.rsf half=n v0=0.5 dv=1 nv=1 slowness=y",
        "sfvscan < cmp.rsf half=n v0=1.75 dv=0.25 nv=2 | sfwindow f2=1",
        "sfput < cmp.rsf d2=0.05 | sfvscan v0=2 dv=1 nv=1",
        "sfput < cmp.rsf d2=7 | sfvscan v0=2 dv=1 nv=1 half=n offset=off.rsf",
        "sfput < cmp.rsf v0=2 dv=1 nv=1 | sfvscan half=n",
    ] {
        bench.run(&format!("{line} > o.rsf"));
        let error = largest_difference(bench.reals("o.rsf"), bench.reals("v.rsf"));
        assert!(error < 1e-8, "{line}: {error}");
    }
    // With squared=y the moveout is the same as with a square root, but the weight differs.
    bench.run("sfvscan < cmp.rsf half=n v0=4 dv=1 nv=1 squared=y weight=n > q.rsf; sfvscan < cmp.rsf half=n v0=2 dv=1 nv=1 weight=n > w.rsf");
    assert!(largest_difference(bench.reals("q.rsf"), bench.reals("w.rsf")) < 1e-8);
    // For a single trace at 1 km the weight is x/v.
    bench.run("sfwindow < cmp.rsf f2=10 squeeze=n > one.rsf; sfvscan < one.rsf half=n v0=2 dv=1 nv=1 | sfscale dscale=2 > s.rsf; sfvscan < one.rsf half=n v0=2 dv=1 nv=1 weight=n > t.rsf");
    assert!(largest_difference(bench.reals("s.rsf"), bench.reals("t.rsf")) < 1e-8);
    for (line, words) in [
        ("sfvscan < cmp.rsf dv=1 nv=3", "v0= is missing"),
        ("sfvscan < cmp.rsf v0=-1 dv=1 nv=3", "the scan from v0=-1"),
        (
            "sfvscan < cmp.rsf v0=1 dv=1 nv=3 mask=off.rsf",
            "int data are needed",
        ),
        (
            "sfvscan < cmp.rsf v0=1 dv=1 nv=3 offset=v.rsf",
            "holds 501 offsets",
        ),
    ] {
        let err = bench.refused(&format!("{line} > o.rsf"));
        assert!(err.contains(words), "{line}: {err}");
    }
}

/// A mute ends in a taper of twelve samples, the default of both programs: a squared sine that would be 0 before its
/// first sample and 1 behind its last.
#[test]
fn mutes_end_in_a_taper_of_twelve_samples() {
    let bench = Bench::new();
    bench.run(
        "sfmath n1=101 d1=0.01 n2=1 o2=1 d2=1 output=1 > one.rsf; sfmath n1=101 d1=0.01 output=2 > v.rsf",
    );
    bench.run("sfvscan < one.rsf half=n v0=2 dv=1 nv=1 weight=n | sfscale dscale=101 > scan.rsf");
    bench.run("sfnmo < one.rsf velocity=v.rsf half=n > nmo.rsf");
    let taper: Vec<f32> = (1..=12)
        .map(|i| (std::f32::consts::PI / 26.0 * i as f32).sin().powi(2))
        .collect();
    for name in ["scan.rsf", "nmo.rsf"] {
        let trace = bench.reals(name);
        // A scan does not mute sample 0, which no other precedes.
        let last = trace[..50].iter().rposition(|x| *x == 0.0).unwrap();
        let rest = &trace[last + 1..];
        // The average of a single trace differs from the trace by the rounding of its division by 101.
        assert!(largest_difference(&rest[..12], &taper) < 1e-6, "{name}: {rest:?}");
        assert!(
            rest[12..20].iter().all(|x| (x - 1.0).abs() < 1e-6),
            "{name}: {rest:?}"
        );
    }
}

#[test]
fn scans_of_corrected_gathers_and_of_amplitudes_that_change() {
    let bench = Bench::new();
    hyperbola(&bench);
    // If the data were corrected with the same velocity before, no moveout is left.
    bench.run("sfnmostretch < cmp.rsf v0=2 half=n > flat.rsf; sfvscan < flat.rsf half=n v1=2 v0=1.5 dv=0.25 nv=5 semblance=y weight=n > a.rsf");
    let (most, time, velocity) = top(&bench, "a.rsf");
    assert!(
        velocity == 2 && time.abs_diff(200) < 3 && most > 0.999,
        "{most} {time} {velocity}"
    );
    // The polarity changes with offset: the mean vanishes, but a line fits.
    bench.run("sfmath < cmp.rsf output='input*(0.5-x2)' > avo.rsf; sfvscan < avo.rsf half=n v0=1.5 dv=0.05 nv=21 weight=n avosemblance=y > b.rsf; sfvscan < avo.rsf half=n v0=2 dv=1 nv=1 weight=n semblance=y nb=0 > c.rsf");
    let (most, time, velocity) = top(&bench, "b.rsf");
    assert_eq!((time, velocity), (200, 10));
    assert!((most - 1.0).abs() < 1e-3, "{most}");
    assert!(bench.reals("c.rsf")[200] < 1e-6);
    // Differences of neighbouring traces vanish only at the right velocity.
    bench.run("sfvscan < cmp.rsf half=n v0=1.75 dv=0.25 nv=3 weight=n diffsemblance=y > d.rsf");
    let at = |velocity: usize| bench.reals("d.rsf")[velocity * 501 + 200];
    assert!(
        at(1) < 1e-4 * at(0) && at(1) < 1e-4 * at(2),
        "{} {} {}",
        at(0),
        at(1),
        at(2)
    );
    // The mask leaves out a trace of noise; the other ten are equal.
    bench.run("sfmath < cmp.rsf output='input+exp(-(20*(x2-0.5))^2)' > e.rsf");
    bench.run("sfmath n1=11 output='(x1-5)^2' | sfdd type=int > m.rsf; sfvscan < e.rsf half=n mask=m.rsf v0=1.5 dv=0.05 nv=21 weight=n semblance=y nb=0 > f.rsf");
    let (most, time, velocity) = top(&bench, "f.rsf");
    assert_eq!((time, velocity), (200, 10));
    assert!((most - 1.0).abs() < 1e-4, "{most}");
    // Empty bins, whose traces are zeros, are left out too, even if a line is fitted over offset.
    for (measure, input) in [("semblance", "cmp.rsf"), ("avosemblance", "avo.rsf")] {
        let words = format!("half=n v0=1.5 dv=0.05 nv=21 weight=n {measure}=y");
        bench.run(&format!(
            "sfcut < {input} n2=3 f2=2 > cut.rsf; sfvscan < cut.rsf {words} > h.rsf"
        ));
        let (most, time, velocity) = top(&bench, "h.rsf");
        assert_eq!((time, velocity), (200, 10));
        assert!((most - 1.0).abs() < 1e-3, "{measure}: {most}");
    }
    bench.run(
        "sfscale < cmp.rsf dscale=0 | sfvscan half=n v0=1.5 dv=0.05 nv=21 weight=n avosemblance=y > z.rsf",
    );
    assert!(bench.reals("z.rsf").iter().all(|x| *x == 0.0));
    // A shifted hyperbola with heterogeneity 1.5.
    let formula = bell("x1-(0.8*(1-1/1.5)+sqrt(0.64+1.5*x2*x2/4)/1.5)");
    bench.run(&format!("sfmath n1=501 d1=0.004 n2=11 d2=0.2 output='{formula}' | sfvscan half=n v0=1.9 dv=0.1 nv=3 ns=5 smax=2 semblance=y weight=n > g.rsf"));
    let (most, time, place) = top(&bench, "g.rsf");
    assert_eq!((time, place), (200, 2 * 3 + 1));
    assert!(most > 0.99, "{most}");
    let axes = bench.axes("g.rsf", 3);
    assert_eq!((axes[2].n, axes[2].o, axes[2].d), (5, 1.0, 0.25));
}

#[test]
fn picks_follow_a_ridge() {
    let bench = Bench::new();
    // Two panels with ridges at 2 + t/2 and 2.2 + t/2, which lie between samples.
    bench.run("sfmath n1=201 d1=0.01 n2=61 o2=1.5 d2=0.05 n3=2 d3=0.2 label2=Velocity unit2=km/s output='4*exp(-((x2-2-0.5*x1-x3)/0.2)^2)' > scan.rsf");
    bench.run("sfpick < scan.rsf vel0=2 smooth=n > a.rsf; sfpick < scan.rsf vel0=2 > b.rsf; sfpick < scan.rsf vel0=2 rect1=10 rect2=1 > c.rsf; sfpick < scan.rsf smooth=n > d.rsf");
    assert_eq!(bench.lengths("a.rsf", 3), [201, 2, 1]);
    assert_eq!(
        bench.run("sfget < a.rsf label unit d2"),
        "label=Velocity\nunit=km/s\nd2=0.2\n"
    );
    let ridge = |i: usize| 2.0 + 0.005 * (i % 201) as f32 + if i < 201 { 0.0 } else { 0.2 };
    let values = bench.reals("a.rsf");
    assert_eq!((values[0], values[201]), (2.0, 2.0));
    let part = |name: &str| -> Vec<f32> {
        let values = bench.reals(name);
        [&values[20..190], &values[221..391]].concat()
    };
    let expected: Vec<f32> = (20..190).chain(221..391).map(ridge).collect();
    // Parabolas through the costs find a ridge between samples that are 0.05 apart.
    for (name, allowed) in [
        ("a.rsf", 0.025),
        ("b.rsf", 0.025),
        ("c.rsf", 0.01),
        ("d.rsf", 0.025),
    ] {
        let error = largest_difference(part(name), &expected);
        assert!(error < allowed, "{name}: {error}");
    }
    // Without smoothing radii, nothing is smoothed.
    let error = largest_difference(bench.reals("b.rsf"), bench.reals("a.rsf"));
    assert!(error < 1e-4, "{error}");
    assert_eq!(bench.reals("d.rsf")[0], 1.5);
    // The ridge jumps by 10 samples of 0.05 at sample 30; with a gate of 2 a path can follow it by only one sample per
    // step.
    bench.run("sfmath n1=61 output='2+0.25*(1+(x1-29.5)/sqrt((x1-29.5)^2))' | sfspray axis=2 n=41 d=0.05 o=1.5 | sfmath output='40*exp(-((x2-input)/0.02)^2)' > jump.rsf");
    bench.run("sfpick < jump.rsf gate=2 smooth=n > e.rsf; sfpick < jump.rsf gate=12 smooth=n > f.rsf");
    let step = |name: &str| {
        let values = bench.reals(name);
        assert!(
            (values[5] - 2.0).abs() < 1e-4 && (values[55] - 2.5).abs() < 1e-4,
            "{values:?}"
        );
        largest(values[1..].windows(2).map(|pair| (pair[1] - pair[0]).abs()))
    };
    let (narrow, wide) = (step("e.rsf"), step("f.rsf"));
    assert!(narrow < 0.0501 && wide > 0.45, "{narrow} {wide}");
    for (line, words) in [
        (
            "sfwindow < scan.rsf n2=1 n3=1 | sfpick",
            "a panel needs at least two samples",
        ),
        (
            "sfmath < scan.rsf output='log(-1-x1)' > n.rsf; sfpick < n.rsf",
            "NaN or infinite",
        ),
        ("sfpick < scan.rsf gate=1", "gate= got `1`"),
        (
            "sfdd < scan.rsf type=int > i.rsf; sfpick < i.rsf",
            "float data are needed",
        ),
    ] {
        let err = bench.refused(&format!("{line} > o.rsf"));
        assert!(err.contains(words), "{line}: {err}");
    }
}

/// The ridges are constant along axis 1, and 0.5 apart in neighbouring panels.
#[test]
fn picks_are_smoothed_from_panel_to_panel() {
    let bench = Bench::new();
    bench.run("sfmath n1=31 n2=31 o2=1.5 d2=0.05 n3=9 output='20*exp(-((x2-2.25-0.25*cos(3.14159265*x3))/0.1)^2)' > scan.rsf; sfpick < scan.rsf vel0=2.25 rect2=5 > p.rsf");
    let picks = bench.reals("p.rsf");
    assert_eq!(picks.len(), 31 * 9);
    // A path needs some samples to move from vel0= to its ridge, and then remains on the ridge; smooth picks are near
    // the mean of neighbouring panels.
    for (number, panel) in picks.chunks(31).enumerate() {
        let (pick, rest) = (panel[30], &panel[12..30]);
        let error = largest(rest.iter().map(|one| (one - pick).abs()));
        assert!(
            error < 1e-4,
            "picks of panel {number} differ by {error} along axis 1"
        );
        assert!((pick - 2.25).abs() < 0.1, "panel {number}: {pick}");
    }
}

#[test]
fn offsets_of_midpoint_gathers_alternate() {
    let bench = Bench::new();
    // Half-offsets are 0.2 apart and midpoints 0.1 apart, so the offsets of every second gather lie between the offsets
    // of the other gathers.
    let formula = bell("x1-sqrt(0.64+(x2+x3)^2)");
    bench.run(&format!(
        "sfmath n1=501 d1=0.004 n2=5 d2=0.2 n3=2 d3=0.1 output='{formula}' > d.rsf"
    ));
    bench.run("sfvscan < d.rsf v0=1.5 dv=0.05 nv=21 semblance=y weight=n > a.rsf; sfnmostretch < d.rsf v0=2 > b.rsf");
    for gather in 0..2 {
        bench.run(&format!("sfwindow < a.rsf f3={gather} n3=1 > one.rsf; sfwindow < b.rsf f3={gather} n3=1 min1=0.8 n1=1 > line.rsf"));
        let (most, time, velocity) = top(&bench, "one.rsf");
        assert_eq!((time, velocity), (200, 10));
        assert!(most > 0.999, "{most}");
        assert!(largest_difference(bench.reals("line.rsf"), [1.0; 5]) < 3e-4);
    }
}

/// Axis 3 numbers the midpoints, so d2/d3 of the axes does not give the number of sets of offsets.
#[test]
fn gathers_whose_third_axis_counts() {
    let bench = Bench::new();
    let formula = bell("x1-sqrt(0.25+x2*x2/4e6)");
    bench.run(&format!(
        "sfmath n1=251 d1=0.004 n2=24 d2=50 o2=100 label2=offset n3=20 label3=cdp output='{formula}' > cmp.rsf; sfmath n1=251 d1=0.004 n2=20 output=2000 > v.rsf"
    ));
    let stack = |words: &str| {
        bench.run(&format!(
            "sfnmo < cmp.rsf velocity=v.rsf half=n {words} 2> said > flat.rsf; sfstack < flat.rsf > s.rsf"
        ));
        let peaks = doubles(&bench, "s.rsf");
        let peak = |trace: &[f64]| trace.iter().copied().max_by(f64::total_cmp);
        let least = peaks.chunks(251).filter_map(peak).min_by(f64::total_cmp);
        let text = String::from_utf8(bench.bytes("said")).unwrap();
        (least.unwrap_or_default(), text)
    };
    let (least, text) = stack("");
    assert!(least < 0.97, "{least}");
    assert!(
        text.contains("CDPtype=25 is assumed from d2=50 and d3=1 (d2/d3/2, for half=n): the offsets of each gather of axis 3 are shifted by 2 from those of the previous gather and repeat after 25 gathers; use CDPtype=1 if"),
        "{text}"
    );
    let (least, text) = stack("CDPtype=1");
    assert!(least > 0.998, "{least}");
    assert_eq!(text, "");
    // The parameter has the same name in the header and in the other programs.
    bench.run("sfput < cmp.rsf CDPtype=1 > told.rsf");
    for program in [
        "sfnmostretch v0=2000",
        "sfmutter v0=2000",
        "sfvscan v0=1500 dv=100 nv=6",
    ] {
        bench.run(&format!("{program} < cmp.rsf half=n CDPtype=1 > a.rsf; {program} < told.rsf half=n > b.rsf; {program} < cmp.rsf half=n > c.rsf 2> said; grep -q CDPtype=25 said"));
        assert_eq!(bench.reals("a.rsf"), bench.reals("b.rsf"), "{program}");
        assert!(bench.reals("a.rsf") != bench.reals("c.rsf"), "{program}");
    }
    let message = bench.refused("sfnmo < cmp.rsf velocity=v.rsf CDPtype=0 > o.rsf");
    assert!(message.contains("CDPtype= got `0`"), "{message}");
}

/// The label of an axis that is removed is not left in the header.
#[test]
fn axes_that_are_gone_leave_no_name() {
    let bench = Bench::new();
    hyperbola(&bench);
    bench.run("sfspray < cmp.rsf axis=3 n=2 label=cdp unit=m | sfstack > s.rsf; sfin s.rsf > told; grep -q 'label2=\"cdp\"' told; ! grep -q label3=.cdp told");
    bench.run("sfvscan < cmp.rsf semblance=y half=n v0=1.5 dv=0.1 nv=11 | sfspray axis=3 n=2 label=cdp | sfpick > p.rsf; sfin p.rsf > told; grep -q 'label2=\"cdp\"' told; ! grep -q label3=.cdp told");
}

#[test]
fn offsets_in_another_unit_than_velocities_are_warned_of() {
    let bench = Bench::new();
    hyperbola(&bench);
    bench.run("sfmath n1=501 d1=0.004 output=2 > v.rsf");
    for (line, words) in [
        (
            "sfput < cmp.rsf d2=100 | sfnmo velocity=v.rsf half=n > a.rsf",
            "check that velocity= and the offsets are in the same units",
        ),
        (
            "sfput < cmp.rsf d2=100 | sfvscan v0=1 dv=0.1 nv=30 half=n > a.rsf",
            "check that the velocities (v0=, dv=, nv=) and the offsets are in consistent units",
        ),
    ] {
        let text = bench.messages(line);
        assert!(text.contains(words) && text.contains("unit"), "{line}: {text}");
        assert_eq!(bench.messages(&line.replace("d2=100", "d2=0.1")), "");
    }
    let text = bench.messages("sfbandpass < cmp.rsf > a.rsf");
    assert!(text.contains("nothing is filtered"), "{text}");
    assert_eq!(bench.reals("a.rsf"), bench.reals("cmp.rsf"));
}
