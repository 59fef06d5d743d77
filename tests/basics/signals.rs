//! Filters, transforms, gains and interpolation, compared with numpy and scipy (`tests/data/signals/make.py`), with
//! closed forms, and with their inverses.

use rsf_io::Complex;
use serde_json::Value;

use crate::bench::{Bench, ramp};
use crate::desk::built::checkout;
use crate::largest::largest;

fn numbers(value: &Value) -> Vec<f64> {
    let list = value.as_array().unwrap();
    list.iter().map(|x| x.as_f64().unwrap()).collect()
}

/// Writes a dataset with the numbers of the test data.
fn put(bench: &Bench, name: &str, data: &Value) {
    let parts = ["n", "o", "d"].map(|key| numbers(&data[key]));
    let keys = parts.iter().zip(["n", "o", "d"]).flat_map(|(list, key)| {
        let numbered = list.iter().enumerate();
        numbered.map(move |(i, x)| format!("{key}{}={x}\n", i + 1))
    });
    let header: String = keys.collect();
    let values: Vec<f32> = numbers(&data["values"]).iter().map(|x| *x as f32).collect();
    if data["kind"] == "complex" {
        bench.raw::<Complex>(name, &header, "native_complex", values.as_chunks().0);
    } else {
        bench.raw(name, &header, "native_float", &values);
    }
}

/// All numbers of a dataset; each complex number gives its two parts.
fn all(bench: &Bench, name: &str) -> Vec<f64> {
    let mut input = bench.open(name);
    match input.format().kind {
        rsf_io::Kind::Complex => {
            let values: Vec<Complex> = input.read_all().unwrap();
            values.as_flattened().iter().map(|x| f64::from(*x)).collect()
        }
        rsf_io::Kind::Int => input
            .read_all::<i32>()
            .unwrap()
            .into_iter()
            .map(f64::from)
            .collect(),
        _ => input.read_all_f32().unwrap().into_iter().map(f64::from).collect(),
    }
}

#[track_caller]
fn near(got: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(got.len(), expected.len(), "{what}");
    // Errors of single precision grow with the largest number that went into a sum.
    let size = largest(expected.iter().copied().chain([1.0]));
    for (i, (a, b)) in got.iter().zip(expected).enumerate() {
        // A program that only copies numbers writes them in single precision.
        let b = if tolerance == 0.0 {
            f64::from(*b as f32)
        } else {
            *b
        };
        assert!(
            (a - b).abs() <= tolerance * size,
            "{what}: element {i} is {a}, expected {b}"
        );
    }
}

#[test]
fn every_program_against_another_algorithm() {
    let text = std::fs::read_to_string(checkout("tests/data/signals/expected.json")).unwrap();
    let expected: Value = serde_json::from_str(&text).unwrap();
    let bench = Bench::new();
    for (name, data) in expected["inputs"].as_object().unwrap() {
        put(&bench, &format!("{name}.rsf"), data);
    }
    let cases = expected["cases"].as_array().unwrap();
    assert!(cases.len() > 35);
    for case in cases {
        let (command, output) = (case["command"].as_str().unwrap(), &case["output"]);
        let (program, words) = command.split_once(' ').unwrap_or((command, ""));
        let source = case["input"].as_str().unwrap();
        // The second way reads big-endian data through a pipe.
        let ways = [
            format!("{program} < {source}.rsf {words} > out.rsf"),
            format!(
                "sfdd < {source}.rsf form=xdr | {program} {words} | sfdd form=native type={} > out.rsf",
                output["kind"].as_str().unwrap()
            ),
        ];
        for way in ways {
            bench.run(&way);
            let result = bench.open("out.rsf");
            assert_eq!(result.format().kind.word(), output["kind"], "{way}");
            let n = numbers(&output["n"]);
            let (o, d) = (numbers(&output["o"]), numbers(&output["d"]));
            for i in 0..n.len() {
                let axis = result.axis(i + 1);
                assert_eq!(axis.n, n[i] as usize, "{way}: n{}", i + 1);
                // Headers have six digits.
                near(&[axis.o.into(), axis.d.into()], &[o[i], d[i]], 1e-5, &way);
            }
            let tolerance = case["tolerance"].as_f64().unwrap();
            near(
                &all(&bench, "out.rsf"),
                &numbers(&output["values"]),
                tolerance,
                &way,
            );
        }
    }
}

/// A cosine of `periods` in `n` samples.
fn wave(n: usize, periods: f64, phase: f64) -> Vec<f32> {
    let angle = |i: usize| 2.0 * std::f64::consts::PI * periods * i as f64 / n as f64 + phase;
    (0..n).map(|i| angle(i).cos() as f32).collect()
}

#[test]
fn transforms_there_and_back() {
    let bench = Bench::new();
    for n in [1, 2, 7, 49, 53, 128] {
        let values: Vec<f32> = ramp(3 * n).iter().map(|x| (x * 1.7).sin()).collect();
        bench.dataset("a.rsf", &[n, 3], &values);
        for words in ["", "sym=y", "opt=n"] {
            bench.run(&format!(
                "sffft1 {words} < a.rsf > s.rsf; sffft1 {words} inv=y < s.rsf > b.rsf"
            ));
            // With opt=n a trace of odd length is returned with its single padding zero.
            let back = bench.run(&format!(
                "sfwindow n1={n} squeeze=n < b.rsf > c.rsf; sfget < b.rsf n1 o1 d1 label1 unit1"
            ));
            let padded = if words == "opt=n" {
                n.next_multiple_of(2)
            } else {
                n
            };
            assert_eq!(
                back,
                format!("n1={padded}\no1=10\nd1=0.5\nlabel1=axis1\nunit1=u1\n"),
                "{n} {words}"
            );
            near(&all(&bench, "c.rsf"), &all(&bench, "a.rsf"), 1e-6, words);
        }
        bench.run(
            "sfrtoc < a.rsf > c.rsf; sffft3 < c.rsf axis=1 2> /dev/null | sffft3 axis=2 pad=1 > k.rsf
             sffft3 inv=y axis=2 < k.rsf | sffft3 inv=y axis=1 | sfreal > b.rsf",
        );
        near(&all(&bench, "b.rsf"), &all(&bench, "a.rsf"), 1e-6, "fft3");
        assert_eq!(bench.axes("b.rsf", 2), bench.axes("a.rsf", 2));
    }
}

#[test]
fn spectra_have_names_and_units() {
    let bench = Bench::new();
    let keys = "label1 unit1 d1 n1";
    let keys_of = |line: &str| bench.run(&format!("sfspike nostdin=y n1=100 d1=0.002 {line}"));
    let time = "Frequency Hz 5 51";
    assert_eq!(
        keys_of(&format!("| sffft1 | sfget parform=n {keys}"))
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" "),
        time
    );
    let space = keys_of(&format!(
        "label1=Depth unit1=km | sfspectra | sfget parform=n {keys}"
    ));
    assert_eq!(
        space.split_whitespace().collect::<Vec<_>>().join(" "),
        "Wavenumber 1/km 5 51"
    );
    // The axis of time in records is labelled t.
    for program in ["sffft1", "sfspectra"] {
        let records = keys_of(&format!("label1=t unit1=s | {program} | sfget parform=n {keys}"));
        assert_eq!(
            records.split_whitespace().collect::<Vec<_>>().join(" "),
            time,
            "{program}"
        );
    }
    // Parseval's theorem: with sym=y both sides have the same energy; frequencies inside the band count twice.
    let values: Vec<f32> = ramp(64).iter().map(|x| (x * x * 0.3).cos()).collect();
    bench.dataset("a.rsf", &[64], &values);
    bench.run("sffft1 sym=y < a.rsf > s.rsf");
    let energy: f64 = values.iter().map(|x| f64::from(x * x)).sum();
    let spectrum = bench.complex("s.rsf");
    let of = |x: &Complex| f64::from(x[0] * x[0] + x[1] * x[1]);
    let twice: f64 = spectrum[1..32].iter().map(of).sum();
    near(
        &[of(&spectrum[0]) + 2.0 * twice + of(&spectrum[32])],
        &[energy],
        1e-6,
        "Parseval",
    );
}

#[test]
fn a_bandpass_has_its_response() {
    let bench = Bench::new();
    let n = 4096;
    let mut spike = vec![0.0; n];
    spike[n / 2] = 1.0;
    bench.raw("a.rsf", &format!("n1={n} d1=0.002 o1=0"), "native_float", &spike);
    bench.run("sfbandpass < a.rsf flo=20 fhi=60 nplo=6 nphi=8 | sffft1 > s.rsf");
    let spectrum = bench.complex("s.rsf");
    // |H|^2 of a Butterworth filter with N poles is 1 / (1 + (tan(w/2) / tan(wc/2))^(2N)), the response of two passes.
    let warped = |f: f64| (std::f64::consts::PI * f * 0.002).tan();
    let low = |f: f64, cut: f64, poles: i32| 1.0 / (1.0 + (warped(f) / warped(cut)).powi(2 * poles));
    for (i, value) in spectrum.iter().enumerate().skip(1).take(n / 2 - 1) {
        let f = i as f64 / (n as f64 * 0.002);
        let expected = (1.0 - low(f, 20.0, 3)) * low(f, 60.0, 4);
        let got = f64::from(value[0]).hypot(f64::from(value[1]));
        assert!(
            (got - expected).abs() < 2e-6,
            "{f} Hz: {got}, expected {expected}"
        );
    }
    // The filter has zero phase: the result is symmetric about the spike.
    bench.run("sfbandpass < a.rsf flo=20 fhi=60 > z.rsf; sfbandpass < a.rsf > same.rsf");
    let z = bench.reals("z.rsf");
    for i in 1..200 {
        assert!((z[n / 2 - i] - z[n / 2 + i]).abs() < 1e-7, "{i}");
    }
    assert_eq!(bench.reals("same.rsf"), spike);
}

#[test]
fn envelopes_and_phases_of_a_wave() {
    let bench = Bench::new();
    let (n, periods) = (2000, 310.0);
    bench.raw(
        "a.rsf",
        &format!("n1={n}"),
        "native_float",
        &wave(n, periods, 0.4),
    );
    bench.run("sfenvelope < a.rsf > e.rsf; sfenvelope < a.rsf hilb=y > h.rsf; sfenvelope < a.rsf hilb=y phase=60 > p.rsf");
    // The response of the filter at this frequency: sin w times the first terms of (1 - cos^2 w)^(-1/2).
    let w = 2.0 * std::f64::consts::PI * periods / n as f64;
    let (mut sum, mut term) = (0.0, 1.0);
    for k in 0..=100 {
        sum += term;
        term *= w.cos().powi(2) * f64::from(2 * k + 1) / f64::from(2 * k + 2);
    }
    let response = w.sin() * sum;
    assert!((response - 1.0).abs() < 1e-9, "{response}");
    let shifted = |degrees: f64| wave(n, periods, 0.4 - degrees.to_radians());
    // These samples are farther from the ends than the filter is long.
    let inner = 250..n - 250;
    for (name, expected) in [
        ("h.rsf", shifted(90.0)),
        ("p.rsf", shifted(60.0)),
        ("e.rsf", vec![1.0; n]),
    ] {
        let got: Vec<f64> = all(&bench, name)[inner.clone()].to_vec();
        let expected: Vec<f64> = expected[inner.clone()].iter().map(|x| f64::from(*x)).collect();
        near(&got, &expected, 1e-6, name);
    }
}

#[test]
fn derivatives_of_polynomials_are_exact() {
    let bench = Bench::new();
    let (n, order) = (60usize, 3usize);
    let x = |i: usize| (i as f64 - 30.0) / 30.0;
    // The filter is exact up to degree 2 order + 2.
    let degree = 2 * order as i32 + 2;
    let values: Vec<f32> = (0..n).map(|i| x(i).powi(degree) as f32).collect();
    bench.raw("a.rsf", &format!("n1={n} d1=0.5"), "native_float", &values);
    bench.run(&format!(
        "sfderiv order={order} < a.rsf > d.rsf; sfderiv order={order} scale=y < a.rsf > s.rsf"
    ));
    let (plain, scaled) = (bench.reals("d.rsf"), bench.reals("s.rsf"));
    for i in order + 1..n - order - 1 {
        let exact = f64::from(degree) * x(i).powi(degree - 1) / 30.0;
        assert!((f64::from(plain[i]) - exact).abs() < 1e-6, "{i}");
        assert!((scaled[i] - 2.0 * plain[i]).abs() < 1e-6, "{i}");
    }
}

#[test]
fn integration_is_adjoint_and_spraying_that_of_stacking() {
    let bench = Bench::new();
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let x: Vec<f32> = ramp(40).iter().map(|x| (x * 3.1).sin()).collect();
    let y: Vec<f32> = ramp(40).iter().map(|x| (x * 1.3).cos()).collect();
    bench.dataset("x.rsf", &[8, 5], &x);
    bench.dataset("y.rsf", &[8, 5], &y);
    bench.run("sfcausint < x.rsf > fx.rsf; sfcausint adj=y < y.rsf > ay.rsf");
    let all = |name: &str| all(&bench, name);
    near(
        &[dot(&all("fx.rsf"), &all("y.rsf"))],
        &[dot(&all("x.rsf"), &all("ay.rsf"))],
        1e-6,
        "causint",
    );
    bench.run(
        "sfwindow n2=1 < x.rsf > one.rsf; sfspray n=5 < one.rsf > fx.rsf; sfstack norm=n < y.rsf > ay.rsf",
    );
    near(
        &[dot(&all("fx.rsf"), &all("y.rsf"))],
        &[dot(&all("one.rsf"), &all("ay.rsf"))],
        1e-6,
        "spray",
    );
}

#[test]
fn interpolation_keeps_what_it_should() {
    let bench = Bench::new();
    let values: Vec<f32> = (0..12).map(|i| if i < 6 { 0.0 } else { 1.0 }).collect();
    bench.raw("step.rsf", "n1=12 o1=0 d1=1", "native_float", &values);
    bench.raw(
        "fine.rsf",
        "n1=111 o1=0 d1=0.1",
        "native_float",
        &vec![0.0f32; 111],
    );
    bench.run("sfremap1 < step.rsf pattern=fine.rsf > r.rsf; sfspline < step.rsf pattern=fine.rsf > s.rsf; sfremap1 < step.rsf > same.rsf");
    let (eno, spline) = (bench.reals("r.rsf"), bench.reals("s.rsf"));
    assert!(
        eno.iter().all(|x| (-1e-6..=1.0 + 1e-6).contains(x)),
        "a jump does not overshoot"
    );
    assert!(spline.iter().any(|x| *x > 1.05), "a spline does");
    assert_eq!(bench.reals("same.rsf"), values);
    for i in 0..12 {
        assert!((eno[10 * i] - values[i]).abs() < 1e-5 && (spline[10 * i] - values[i]).abs() < 1e-5);
    }
    // The axis has a negative step.
    bench.run("sfreverse which=1 opt=y < step.rsf | sfspline pattern=fine.rsf > b.rsf");
    near(&all(&bench, "b.rsf"), &all(&bench, "s.rsf"), 1e-6, "backwards");
}

#[test]
fn mutes_of_other_offsets() {
    let bench = Bench::new();
    bench.raw(
        "a.rsf",
        "n1=20 d1=0.1 o1=0 n2=2 d2=1 o2=0",
        "native_float",
        &[1.0f32; 40],
    );
    bench.raw("x.rsf", "n1=2", "native_float", &[0.5f32, 1.0]);
    bench.run("sfmutter < a.rsf offset=x.rsf half=n v0=1 tp=0 > m.rsf; sfmutter < a.rsf offset=x.rsf half=n v0=1 tp=0 nan=y > n.rsf");
    let (muted, nan) = (bench.reals("m.rsf"), bench.reals("n.rsf"));
    let zeros = |trace: usize| muted[20 * trace..][..20].iter().filter(|x| **x == 0.0).count();
    // The sample on the edge is kept: the taper has no width.
    assert_eq!((zeros(0), zeros(1)), (5, 10));
    assert!(muted.iter().all(|x| *x == 0.0 || *x == 1.0));
    assert_eq!(nan.iter().filter(|x| x.is_nan()).count(), 15);
    // Midpoints are half as far apart as offsets, so gathers alternate between two sets.
    bench.raw(
        "c.rsf",
        "n1=10 d1=0.1 o1=0 n2=2 d2=0.4 o2=0 n3=2 d3=0.2",
        "native_float",
        &[1.0f32; 40],
    );
    bench.run("sfmutter < c.rsf v0=1 tp=0 2> said > m.rsf; grep -q CDPtype=2 said");
    let muted = bench.reals("m.rsf");
    let zeros = |trace: usize| muted[10 * trace..][..10].iter().filter(|x| **x == 0.0).count();
    assert_eq!([0, 1, 2, 3].map(zeros), [0, 8, 4, 10]);
}

#[test]
fn what_the_signal_programs_refuse() {
    let bench = Bench::new();
    bench.dataset("a.rsf", &[4, 3], &ramp(12));
    bench.raw(
        "c.rsf",
        "n1=4 n2=3 fft_n1=9",
        "native_complex",
        &[[0.0f32; 2]; 12],
    );
    bench.raw("flat.rsf", "n1=4 d1=0", "native_float", &[0.0f32; 4]);
    bench.raw(
        "pair.rsf",
        "n1=2 n2=3",
        "native_float",
        &[0.0f32, 1.0, 1.0, 1.0, 0.5, 2.0],
    );
    for (line, word) in [
        ("sffft1 < c.rsf", "float data are needed"),
        ("sffft1 inv=y < a.rsf", "complex data are needed"),
        ("sffft1 < flat.rsf", "d1=0 in the header"),
        (
            "sffft1 inv=y < c.rsf",
            "fft_n1=9 in the header, but 4 frequencies make 1 to 6",
        ),
        ("sffft3 < a.rsf", "complex data are needed"),
        ("sffft3 axis=3 < c.rsf", "axis=3: the data have 2 axes"),
        ("sffft3 pad=0 < c.rsf", "pad= got `0`"),
        ("sfspectra < c.rsf", "float data are needed"),
        ("sfbandpass flo=-1 < a.rsf", "flo= got `-1`"),
        ("sfbandpass fhi=2 < a.rsf", "the Nyquist frequency is 1"),
        ("sfbandpass flo=0.6 fhi=0.5 < a.rsf", "flo=0.6 is above fhi=0.5"),
        ("sfbandpass < flat.rsf flo=1", "d1=0"),
        ("sfmask min=2 max=1 < a.rsf", "min=2 is above max=1"),
        ("sfmask < c.rsf", "complex data"),
        ("sfclip2 lower=2 upper=1 < a.rsf", "lower=2 is above upper=1"),
        ("sfcut n1=9 < a.rsf", "4 can be taken"),
        ("sfspray < a.rsf", "missing: n="),
        ("sfspray n=0 < a.rsf", "n= got `0`"),
        ("sfmutter v0=0 < a.rsf", "v0=0"),
        (
            "sfmutter offset=flat.rsf < a.rsf",
            "holds 4 offsets, but 3 are needed",
        ),
        ("sfenvelope < pair.rsf", "traces of at least 4 samples"),
        ("sfenvelope ref=0.2 < a.rsf", "ref= got `0.2`"),
        ("sfderiv < pair.rsf", "traces of at least 3 samples"),
        ("sfderiv scale=y < flat.rsf", "d1=0"),
        ("sfpow pow4=2 < a.rsf", "pow4= is given, but the data have 2 axes"),
        ("sfcostaper nw1=5 < a.rsf", "nw1=5: axis 1 has only 4 samples"),
        ("sfagc rect1=0 < a.rsf", "rect1= got `0`"),
        ("sfspline < a.rsf n1=3 o1=0", "d1= is missing"),
        ("sfspline < pair.rsf n1=3 o1=0 d1=1", "coordinate 0.5 follows 1"),
        ("sfspline < pair.rsf n1=3 o1=0 d1=1 fp=1", "fp= holds 1 slopes"),
        (
            "sfspline < flat.rsf n1=3 o1=0 d1=1",
            "a sampling interval other than 0",
        ),
        ("sfremap1 < flat.rsf n1=3", "d1=0"),
        ("sfremap1 < a.rsf order=0", "order= got `0`"),
    ] {
        let message = bench.refused(&format!("{line} > out.rsf"));
        assert!(message.contains(word), "{line}: {message}");
    }
}

/// 200 MB go through an address space of 120 MB.
#[test]
fn signals_are_streams() {
    let bench = Bench::new();
    for line in [
        "sffft1",
        "sfspectra all=y",
        "sfbandpass flo=0.1 phase=y nplo=1",
        "sfmutter v0=3",
        "sfcut f2=3",
        "sfpow pow1=1 pow2=1",
        "sfcausint",
        "sfremap1 d1=0.008",
    ] {
        // There is only one thread, because each reserves address space for its stack and heap.
        let run = bench.sh(&format!(
            "export RAYON_NUM_THREADS=1; sfspike n1=1000 n2=50000 nostdin=y | (ulimit -v 120000; {line}) > /dev/null"
        ));
        assert_eq!(run.code, 0, "{line}: {}", run.err);
    }
}
