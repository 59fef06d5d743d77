//! Everyday programs on a few numbers, compared with results that were computed by hand.

use std::f32::consts::FRAC_PI_2;

use rsf_io::Complex;

use crate::bench::Bench;
use crate::largest::{largest, largest_difference};

/// 1 + 2i and 3 - 4i in `a.rsf`, 0 and 2 + i in `b.rsf`.
fn complex() -> Bench {
    let bench = Bench::new();
    bench.raw("a.rsf", "n1=2", "native_complex", &[[1.0f32, 2.0], [3.0, -4.0]]);
    bench.raw("b.rsf", "n1=2", "native_complex", &[[0.0f32, 0.0], [2.0, 1.0]]);
    bench
}

#[track_caller]
fn gives(bench: &Bench, line: &str, expected: [Complex; 2]) {
    bench.run(&format!("{line} > o.rsf"));
    let values = bench.complex("o.rsf");
    let apart = largest_difference(values.as_flattened(), expected.as_flattened());
    let size = f64::from(largest(expected.as_flattened())).max(1.0);
    assert!(apart < 1e-5 * size, "{line}: {values:?} {expected:?}");
}

#[test]
fn complex_numbers_are_joined_and_changed() {
    let bench = complex();
    let root5 = 5.0f32.sqrt();
    gives(&bench, "sfadd a.rsf b.rsf", [[1.0, 2.0], [5.0, -3.0]]);
    gives(&bench, "sfmul a.rsf b.rsf", [[0.0, 0.0], [10.0, -5.0]]);
    // A number that is divided by 0 does not change.
    gives(&bench, "sfdiv a.rsf b.rsf", [[1.0, 2.0], [0.4, -2.2]]);
    gives(&bench, "sfadd a.rsf scale=-2 add=1", [[-4.0, -4.0], [-8.0, 8.0]]);
    gives(&bench, "sfadd a.rsf abs=y", [[root5, 0.0], [5.0, 0.0]]);
    let angles = [2.0f32.atan(), -(4.0f32 / 3.0).atan()];
    gives(
        &bench,
        "sfadd a.rsf log=y",
        [[root5.ln(), angles[0]], [5.0f32.ln(), angles[1]]],
    );
    gives(
        &bench,
        "sfadd a.rsf sqrt=y",
        [[1.2720196, 0.7861514], [2.0, -1.0]],
    );
    let exp = |x: f32, y: f32| [x.exp() * y.cos(), x.exp() * y.sin()];
    gives(&bench, "sfadd a.rsf exp=y", [exp(1.0, 2.0), exp(3.0, -4.0)]);
    gives(&bench, "sfscale < a.rsf rscale=3", [[3.0, 6.0], [9.0, -12.0]]);
    gives(&bench, "sfscale < a.rsf dscale=-1", [[-1.0, -2.0], [-3.0, 4.0]]);
    // There is one factor per sample: 1 for 1 + 2i and 2 for 3 - 4i.
    bench.run("sfstack < a.rsf axis=1 scale=1,2 norm=n > s.rsf; sfstack < a.rsf axis=1 max=y > m.rsf; sfstack < a.rsf axis=1 min=y > l.rsf");
    assert_eq!(bench.complex("s.rsf"), [[7.0, -6.0]]);
    assert_eq!(bench.complex("m.rsf"), [[3.0, -4.0]]);
    assert_eq!(bench.complex("l.rsf"), [[1.0, 2.0]]);
}

#[test]
fn complex_formulas() {
    let bench = complex();
    let formula = |text: &str, expected| gives(&bench, &format!("sfmath < a.rsf output='{text}'"), expected);
    // cos(x + iy) = cos x cosh y - i sin x sinh y, and similar formulas.
    let cos = |x: f32, y: f32| [x.cos() * y.cosh(), -x.sin() * y.sinh()];
    let sin = |x: f32, y: f32| [x.sin() * y.cosh(), x.cos() * y.sinh()];
    let cosh = |x: f32, y: f32| [x.cosh() * y.cos(), x.sinh() * y.sin()];
    let sinh = |x: f32, y: f32| [x.sinh() * y.cos(), x.cosh() * y.sin()];
    formula("cos(input)", [cos(1.0, 2.0), cos(3.0, -4.0)]);
    formula("sin(input)", [sin(1.0, 2.0), sin(3.0, -4.0)]);
    formula("cosh(input)", [cosh(1.0, 2.0), cosh(3.0, -4.0)]);
    formula("sinh(input)", [sinh(1.0, 2.0), sinh(3.0, -4.0)]);
    formula("tan(input)*cos(input)", [sin(1.0, 2.0), sin(3.0, -4.0)]);
    formula("tanh(input)*cosh(input)", [sinh(1.0, 2.0), sinh(3.0, -4.0)]);
    let same = [[1.0, 2.0], [3.0, -4.0]];
    for pair in ["acos", "asin", "atan", "acosh", "asinh", "atanh"] {
        let inverse = &pair[1..];
        formula(&format!("{inverse}({pair}(input))"), same);
    }
    formula("exp(log(input))", same);
    formula("real(input)+I*imag(input)", same);
    formula("abs(input)*exp(I*arg(input))", same);
    formula("conj(input)", [[1.0, -2.0], [3.0, 4.0]]);
    // Powers with whole, fractional and complex exponents.
    formula("input^2", [[-3.0, 4.0], [-7.0, -24.0]]);
    formula("input^(-1)", [[0.2, -0.4], [0.12, 0.16]]);
    formula("input^0.5", [[1.2720196, 0.7861514], [2.0, -1.0]]);
    let own = (-FRAC_PI_2).exp();
    formula("I^I+0*input", [[own, 0.0], [own, 0.0]]);
    formula("(I+0*input)^(2*I)", [[own * own, 0.0], [own * own, 0.0]]);
}

#[test]
fn attributes_of_complex_numbers_and_of_few() {
    let bench = Bench::new();
    let numbers = [[3.0f32, 4.0], [0.0, 0.0], [-6.0, 8.0]];
    bench.raw("c.rsf", "n1=1 n2=3", "native_complex", &numbers);
    // The absolute values are 5, 0 and 10: their mean is 5, the sum of squares 125, the variance (125 - 75)/2.
    let expected = "******************************************* 
   rms, mean, norm, var, and std refer to amplitude

     rms =       6.45497 
    mean =             5 
  2-norm =       11.1803 
variance =            25 
 std dev =             5 
max real = (3,4) at 1 1 
max imag = (-6,8) at 1 3 
min real = (-6,8) at 1 3 
min imag = (0,0) at 1 2 
nonzero samples = 2 
  total samples = 3 
******************************************* 
";
    assert_eq!(bench.run("sfattr < c.rsf"), expected);
    bench.raw("one.rsf", "n1=1", "native_float", &[3.0f32]);
    assert_eq!(
        bench.run("sfattr < one.rsf want=var"),
        "variance =             0 \n"
    );
    bench.raw("nan.rsf", "n1=2", "native_float", &[f32::NAN; 2]);
    assert_eq!(
        bench.run("sfattr < nan.rsf want=max"),
        "     max =           nan at 1 \n"
    );
    bench.raw("r.rsf", "n1=4", "native_float", &[1.0f32, -2.0, 0.0, -3.0]);
    // Norms: the number of nonzero samples, the sum of absolute values, the root of the sum of squares, and the third
    // root of the sum of third powers: 1 + 8 + 27.
    for (lval, expected) in [(0, "3"), (1, "6"), (2, "3.74166"), (3, "3.30193")] {
        let attributes = bench.run(&format!("sfattr < r.rsf want=norm lval={lval}"));
        assert_eq!(attributes, format!("  {lval}-norm = {expected:>13} \n"));
    }
    assert_eq!(
        bench.run("sfattr < r.rsf want=short"),
        " 25.00% zeros; min: -3; max: 1 \n"
    );
    assert_eq!(
        bench.run("sfattr < r.rsf want=nonzero; sfattr < r.rsf want=samples"),
        "nonzero samples = 3 \n  total samples = 4 \n"
    );
}

/// Writes panels with the values 1, 2, 3, 4 and 10, 20, 30, 40.
fn panels() -> Bench {
    let bench = Bench::new();
    bench.raw(
        "p.rsf",
        "n1=4 n2=1 n3=2",
        "native_float",
        &[1.0f32, 2.0, 3.0, 4.0, 10.0, 20.0, 30.0, 40.0],
    );
    bench
}

#[test]
fn gains_of_bytes_are_percentages_of_panels() {
    let bench = panels();
    let gains = |words: &str| {
        let run = bench.sh(&format!("sfbyte < p.rsf verb=y {words} > o.rsf"));
        assert_eq!(run.code, 0, "{words}: {}", run.err);
        let lines = run
            .err
            .lines()
            .map(|line| line.strip_prefix("sfbyte: ").unwrap_or(line).to_string());
        lines.collect::<Vec<_>>().join("; ")
    };
    for (words, expected) in [
        // The clip is the sorted value with number n p/100 + 1/2, counted from 0 and truncated to an integer.
        (
            "gainpanel=each pclip=50",
            "panel 1: bias=0 clip=3 gpow=1; panel 2: bias=0 clip=30 gpow=1",
        ),
        (
            "gainpanel=each pclip=30",
            "panel 1: bias=0 clip=2 gpow=1; panel 2: bias=0 clip=20 gpow=1",
        ),
        (
            "gainpanel=each pclip=100",
            "panel 1: bias=0 clip=4 gpow=1; panel 2: bias=0 clip=40 gpow=1",
        ),
        ("gainpanel=all pclip=100", "panel 1: bias=0 clip=40 gpow=1"),
        ("gainpanel=all pclip=25", "panel 1: bias=0 clip=20 gpow=1"),
        ("gainpanel=2 pclip=100 bias=5", "panel 1: bias=5 clip=35 gpow=1"),
        ("gainpanel=1 clip=7", "panel 1: bias=0 clip=7 gpow=1"),
        ("gainpanel=all clip=7 gpow=2", "panel 1: bias=0 clip=7 gpow=2"),
        // The means are 2.5 and 25.
        (
            "gainpanel=each pclip=100 mean=y",
            "panel 1: bias=2.5 clip=1.5 gpow=1; panel 2: bias=25 clip=15 gpow=1",
        ),
        ("gainpanel=2 pclip=100 mean=y", "panel 1: bias=25 clip=15 gpow=1"),
        (
            "gainpanel=all pclip=100 mean=y",
            "panel 1: bias=13.75 clip=26.25 gpow=1",
        ),
        // Only every second sample is used: 1, 3, 10, 30.
        (
            "gainpanel=each pclip=100 gainstep=2",
            "panel 1: bias=0 clip=3 gpow=1; panel 2: bias=0 clip=30 gpow=1",
        ),
        // gpow is at most 10, and 1 if the value of phalf= is the clip.
        (
            "gainpanel=1 pclip=100 gpow=0 phalf=85",
            "panel 1: bias=0 clip=4 gpow=1",
        ),
        (
            "gainpanel=1 clip=3.01 gpow=0 phalf=50",
            "panel 1: bias=0 clip=3.01 gpow=10",
        ),
        (
            "gainpanel=1 clip=30000 gpow=0 phalf=50",
            "panel 1: bias=0 clip=30000 gpow=1",
        ),
        // 2 of 4 is already one half, and 1 of 4 becomes one half through the square root.
        (
            "gainpanel=1 clip=4 gpow=0 phalf=25",
            "panel 1: bias=0 clip=4 gpow=1",
        ),
        (
            "gainpanel=1 clip=4 gpow=0 phalf=1",
            "panel 1: bias=0 clip=4 gpow=0.5",
        ),
    ] {
        assert_eq!(gains(words), expected, "{words}");
    }
    let long = (0..600).map(|i| if i % 2 == 1 { 9.0f32 } else { 1.0 });
    bench.raw("p.rsf", "n1=600", "native_float", &long.collect::<Vec<_>>());
    // 1/2 + 600/256, truncated, is 2: only samples with even numbers are used.
    assert_eq!(gains("pclip=100"), "panel 1: bias=0 clip=1 gpow=1");
    bench.raw("p.rsf", "n1=2", "native_float", &[f32::NAN; 2]);
    assert_eq!(gains(""), "panel 1: bias=0 clip=0 gpow=1");
}

#[test]
fn bytes_of_values_and_their_scale() {
    let bench = panels();
    bench.run("sfbyte < p.rsf gainpanel=all clip=40 bar=bar.rsf minval=0 maxval=40 > o.rsf; sfbyte < p.rsf gainpanel=each clip=4 allpos=y > q.rsf; sfget < bar.rsf minval maxval n1 n2 n3 > said");
    let bytes = |name: &str| bench.open(name).read_all::<u8>().unwrap();
    // Values between two bytes are rounded down, but below the middle they are rounded up.
    let near = |bytes: &[u8], expected: &[f32]| {
        let apart = largest_difference(bytes.iter().map(|x| f32::from(*x)), expected.iter().copied());
        assert!(apart < 0.75, "{bytes:?} {expected:?}");
    };
    // Bytes range from 3 to 255, with 129 in the middle.
    let about = |x: f32| 128.5 + 126.0 * x / 40.0;
    near(
        &bytes("o.rsf"),
        &[1.0, 2.0, 3.0, 4.0, 10.0, 20.0, 30.0, 40.0].map(about),
    );
    near(
        &bytes("q.rsf"),
        &[63.5, 127.5, 191.5, 255.0, 255.0, 255.0, 255.0, 255.0],
    );
    bench.raw(
        "s.rsf",
        "n1=5",
        "native_float",
        &[-80.0f32, -20.0, 4.0, 20.0, f32::INFINITY],
    );
    let shares = [-1.0, -0.5, 0.1, 0.5, 1.0f32];
    for (words, middle, length, less) in [
        ("", 128.5, 126.0, 0.0),
        ("polarity=y", 126.5, -126.0, 0.0),
        ("symcp=y", 128.0, 127.0, 0.5),
        ("symcp=y polarity=y", 127.0, -127.0, -0.5),
    ] {
        bench.run(&format!("sfbyte < s.rsf clip=40 {words} > t.rsf"));
        near(
            &bytes("t.rsf"),
            &shares.map(|x| middle + length * x - less * x.signum()),
        );
    }
    // This is the square of one half, above the middle.
    bench.run("sfbyte < s.rsf clip=40 gpow=2 > t.rsf");
    near(&bytes("t.rsf")[3..4], &[128.5 + 126.0 / 4.0]);
    let text = String::from_utf8(bench.bytes("said")).unwrap();
    assert_eq!(text, "minval=0\nmaxval=40\nn1=264\nn2=1\nn3=2\n");
    // Each panel of the bar has two reals and then 256 steps from the first to the second.
    for panel in bytes("bar.rsf").chunks_exact(264) {
        let real = |at: usize| f32::from_ne_bytes(panel[at..at + 4].try_into().unwrap());
        assert_eq!((real(0), real(4)), (0.0, 40.0));
        let steps: Vec<f32> = (0..256).map(|i| about(40.0 * i as f32 / 255.0)).collect();
        near(&panel[8..], &steps);
    }
}

#[test]
fn layers_have_speeds_and_gradients_of_their_own() {
    let bench = Bench::new();
    bench.run("sfmath n1=3 n2=1 d1=100 output=500 > i.rsf; sfunif2 < i.rsf n1=4 d1=250 > a.rsf; sfunif2 < i.rsf n1=4 d1=250 dvdx=0.5,0 x0=50,0 dvdz=0,2 z0=0,500 > b.rsf");
    let column = [1500.0, 1500.0, 2000.0, 2000.0];
    assert_eq!(bench.reals("a.rsf"), [column; 3].concat());
    let expected: Vec<f32> = [-25.0, 25.0, 75.0]
        .iter()
        .flat_map(|more| [1500.0 + more, 1500.0 + more, 2000.0, 2500.0])
        .collect();
    assert_eq!(bench.reals("b.rsf"), expected);
}

#[test]
fn noise_has_the_requested_variance() {
    let bench = Bench::new();
    bench.run("sfspike n1=20000 > s.rsf");
    // A uniform distribution of variance 3 lies within 3 of its mean; a normal distribution has 0.3 % of its values
    // beyond 3 standard deviations.
    for (words, mean, most, variance) in [
        ("type=n var=3", 0.0, 3.0, 3.0),
        ("type=n range=2 mean=5", 5.0, 2.0, 4.0 / 3.0),
        ("type=n", 0.0, 0.5, 1.0 / 12.0),
        ("type=y var=4 mean=-1", -1.0, 10.0, 4.0),
        ("type=y range=9", 0.0, 10.0, 4.0),
        ("type=y", 0.0, 5.0, 1.0),
    ] {
        bench.run(&format!(
            "sfnoise < s.rsf seed=7 rep=y {words} > n.rsf; sfnoise < s.rsf seed=7 {words} > m.rsf"
        ));
        let noise = bench.reals("n.rsf");
        let away: Vec<f64> = noise.iter().map(|x| f64::from(*x) - mean).collect();
        let sum: f64 = away.iter().sum();
        let squares: f64 = away.iter().map(|x| x * x).sum();
        let reach = largest(&away);
        assert!(
            reach <= most * (1.0 + 1e-6) && reach > 0.35 * most,
            "{words}: {reach}"
        );
        // For 20000 numbers the standard deviation of the mean is 0.7 % and the standard deviation of the variance 1 %.
        assert!((sum / 2e4).abs() < 0.03 * f64::sqrt(variance), "{words}");
        assert!((squares / 2e4 / variance - 1.0).abs() < 0.05, "{words}");
        let more: Vec<f32> = noise.iter().map(|x| 1.0 + x).collect();
        assert!(
            largest_difference(bench.reals("m.rsf"), &more) < 1e-6 * reach + 1e-6,
            "{words}"
        );
    }
}

#[test]
fn numbers_give_way_to_what_is_none() {
    let bench = Bench::new();
    let none = f32::NAN;
    bench.raw(
        "a.rsf",
        "n1=3 n2=3",
        "native_float",
        &[none, 4.0, none, 1.0, none, none, -2.0, 6.0, none],
    );
    bench.run("sfmax < a.rsf axis=2 > m.rsf; sfmin < a.rsf axis=2 > l.rsf");
    let (most, least) = (bench.reals("m.rsf"), bench.reals("l.rsf"));
    assert_eq!((&most[..2], &least[..2]), (&[1.0, 6.0][..], &[-2.0, 4.0][..]));
    assert!(most[2].is_nan() && least[2].is_nan());
}

#[test]
fn spectra_without_a_history_have_usual_names() {
    let bench = Bench::new();
    let header = "n1=5 d1=2 label1=Frequency unit1=Hz";
    bench.raw("k.rsf", header, "native_complex", &[[1.0f32, 0.0]; 5]);
    bench.run("sffft1 inv=y < k.rsf > a.rsf; sffft3 inv=y axis=1 < k.rsf > b.rsf");
    for (name, n, d) in [("a.rsf", 8, 0.0625), ("b.rsf", 5, 0.1)] {
        let axis = bench.axes(name, 1).remove(0);
        assert_eq!((axis.n, axis.o, axis.d), (n, 0.0, d), "{name}");
        assert_eq!(axis.label.as_deref(), Some("Time"), "{name}");
        assert_eq!(axis.unit.as_deref(), Some("s"), "{name}");
    }
    // The inverse transform of a spectrum of ones is a spike.
    assert!(largest_difference(bench.reals("a.rsf"), [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]) < 1e-6);
    bench.run("sfspike n1=4 n2=2 k1=2 k2=1 > s.rsf; sfcosft < s.rsf > c.rsf; cmp c.rsf@ s.rsf@");
    // With a single sign=, the result is the sum of x cos, with both ends counted once: 2 cos(pi k/3) for a spike at
    // sample 1 of 0 to 3.
    bench.run("sfcosft < s.rsf sign1=1 > c.rsf");
    let expected: Vec<f32> = (0..4)
        .map(|k| 2.0 * (std::f32::consts::PI / 3.0 * k as f32).cos())
        .collect();
    assert!(largest_difference(&bench.reals("c.rsf")[..4], &expected) < 1e-5);
}

/// A wave along the second of three axes has a single wavenumber in every column, and the amplitude of that column.
#[test]
fn every_column_of_many_is_transformed() {
    let bench = Bench::new();
    let [columns, samples] = [45, 8];
    let size = |column: usize, group: usize| 1.0 + column as f32 + 100.0 * group as f32;
    for groups in [1, 3] {
        let mut values: Vec<Complex> = Vec::new();
        for (group, sample) in (0..groups).flat_map(|g| (0..samples).map(move |s| (g, s))) {
            let (sin, cos) = (FRAC_PI_2 * sample as f32).sin_cos();
            values.extend((0..columns).map(|column| [cos, sin].map(|x| x * size(column, group))));
        }
        let header = format!("n1={columns} n2={samples} d2=0.5 n3={groups}");
        bench.raw("a.rsf", &header, "native_complex", &values);
        bench.run("sffft3 axis=2 pad=1 < a.rsf > k.rsf");
        // Two periods in four metres are a wavenumber of 0.5/m, on an axis that begins at -1/m with steps of 0.25/m.
        let rows = (0..groups).flat_map(|group| (0..samples).map(move |row| (group, row)));
        let expected = rows.flat_map(|(group, row)| {
            let there = if row == 6 { samples as f32 } else { 0.0 };
            (0..columns).map(move |column| [there * size(column, group), 0.0])
        });
        let expected: Vec<Complex> = expected.collect();
        let transformed = bench.complex("k.rsf");
        let apart = largest_difference(transformed.as_flattened(), expected.as_flattened());
        let top = f64::from(largest(expected.as_flattened()));
        assert!(apart < 1e-6 * top, "{groups}: {apart}");
    }
}

#[test]
fn a_turned_axis_runs_as_requested() {
    let bench = Bench::new();
    bench.run("sfmath n1=3 o1=1 d1=2 n2=2 o2=-1 output='x1+10*x2' > a.rsf");
    for (opt, expected) in [
        ("y", [(5.0, -2.0), (0.0, -1.0)]),
        ("n", [(-5.0, 2.0), (-0.0, 1.0)]),
        ("i", [(1.0, 2.0), (-1.0, 1.0)]),
    ] {
        bench.run(&format!("sfreverse < a.rsf which=3 opt={opt} > b.rsf"));
        let axes = bench.axes("b.rsf", 2);
        assert_eq!([0, 1].map(|i| (axes[i].o, axes[i].d)), expected, "{opt}");
        assert_eq!(bench.reals("b.rsf"), [5.0, 3.0, 1.0, -5.0, -7.0, -9.0], "{opt}");
    }
}
