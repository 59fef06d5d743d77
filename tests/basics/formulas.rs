//! Formulas, factors and sums, compared with the same computations in Rust.

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use crate::bench::{Bench, place, ramp};
use crate::largest::largest;

fn few() -> ProptestConfig {
    ProptestConfig {
        cases: 16,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(
            "../tests/regressions/formulas.txt",
        ))),
        ..ProptestConfig::default()
    }
}

#[track_caller]
fn close(got: &[f32], expected: &[f32]) {
    assert_eq!(got.len(), expected.len());
    for (i, (a, b)) in got.iter().zip(expected).enumerate() {
        // The last bits of float32 functions may differ between libraries.
        assert!(
            (a - b).abs() <= 4e-6 * (1.0 + b.abs()),
            "element {i}: {a}, expected {b}"
        );
    }
}

#[test]
fn every_function_and_operator() {
    let bench = Bench::new();
    let values: Vec<f32> = (0..9).map(|i| 0.1 + 0.1 * i as f32).collect();
    bench.dataset("a.rsf", &[9], &values);
    type Function = fn(f32) -> f32;
    let cases: [(&str, Function); 24] = [
        ("abs(-input)", |x| x),
        ("acos(input)", f32::acos),
        ("acosh(1+input)", |x| (1.0 + x).acosh()),
        ("asin(input)", f32::asin),
        ("asinh(input)", f32::asinh),
        ("atan(input)", f32::atan),
        ("atanh(input/2)", |x| (x / 2.0).atanh()),
        ("cos(input)", f32::cos),
        ("cosh(input)", f32::cosh),
        // The series of the error function converges fast here.
        ("erf(input)", |x| series_of_erf(x)),
        ("erfc(input)", |x| 1.0 - series_of_erf(x)),
        ("exp(input)", f32::exp),
        ("log(input)", f32::ln),
        ("sign(input-0.45)", |x| if x >= 0.45 { 1.0 } else { -1.0 }),
        ("sin(input)", f32::sin),
        ("sinh(input)", f32::sinh),
        ("sqrt(input)", f32::sqrt),
        ("tan(input)", f32::tan),
        ("tanh(input)", f32::tanh),
        ("input^3", |x| x.powi(3)),
        ("input^-0.5", |x| x.powf(-0.5)),
        ("input&2", |x| x.atan2(2.0)),
        ("-input^2+1/input", |x| -(x * x) + 1.0 / x),
        ("exp(-(x1-12)^2/input)", |x| {
            let x1 = 10.0 + 0.5 * ((x - 0.1) / 0.1).round();
            (-(x1 - 12.0f32).powi(2) / x).exp()
        }),
    ];
    for (formula, expected) in cases {
        bench.run(&format!("sfmath < a.rsf output='{formula}' > b.rsf"));
        close(
            &bench.reals("b.rsf"),
            &values.iter().map(|x| expected(*x)).collect::<Vec<_>>(),
        );
    }
}

fn series_of_erf(x: f32) -> f32 {
    let x = f64::from(x);
    let (mut term, mut sum) = (x, x);
    for n in 1..40 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    (sum * 2.0 / std::f64::consts::PI.sqrt()) as f32
}

#[test]
fn complex_formulas() {
    let bench = Bench::new();
    let values = [[1.0f32, 2.0], [-0.5, 0.25], [0.0, -1.0], [3.0, 0.0]];
    bench.raw("a.rsf", "n1=4", "native_complex", &values);
    let run = |formula: &str| {
        bench.run(&format!("sfmath < a.rsf output='{formula}' > b.rsf"));
        bench.complex("b.rsf").as_flattened().to_vec()
    };
    close(
        &run("conj(input)*I"),
        values.map(|[re, im]| [im, re]).as_flattened(),
    );
    close(&run("input*input-input^2"), &[0.0; 8]);
    close(&run("exp(log(input))"), values.as_flattened());
    close(&run("real(input)+imag(input)*I"), values.as_flattened());
    close(
        &run("imag(input)"),
        values.map(|[_, im]| [im, 0.0]).as_flattened(),
    );
    close(
        &run("abs(input)"),
        values.map(|[re, im]| [re.hypot(im), 0.0]).as_flattened(),
    );
    close(&run("sqrt(input)*sqrt(input)"), values.as_flattened());
    bench.run("sfmath n1=3 d1=0.5 type=complex output='exp(I*x1)' > c.rsf");
    let expected = [0.0f32, 0.5, 1.0].map(|x| [x.cos(), x.sin()]);
    close(bench.complex("c.rsf").as_flattened(), expected.as_flattened());
}

/// The message about an unknown function lists the functions of the type of the data: all that are accepted, and no
/// other.
#[test]
fn an_unknown_function_is_answered_with_all_functions() {
    let all = [
        "abs", "acos", "acosh", "arg", "asin", "asinh", "atan", "atanh", "conj", "cos", "cosh", "erf",
        "erfc", "exp", "imag", "int", "log", "real", "round", "sign", "sin", "sinh", "sqrt", "tan", "tanh",
    ];
    let bench = Bench::new();
    for kind in ["float", "complex"] {
        let line = |name: &str| format!("sfmath n1=1 type={kind} output='{name}(x1)' > b.rsf");
        let message = bench.refused(&line("nothing"));
        let (_, list) = message.split_once("use one of ").expect("a list");
        let listed: Vec<&str> = list.trim().split(", ").collect();
        let refused = |name: &&str| bench.sh(&line(name)).err.contains("is not a function");
        let accepted: Vec<&str> = all.into_iter().filter(|name| !refused(name)).collect();
        assert_eq!(listed, accepted, "{kind}");
    }
}

proptest! {
    #![proptest_config(few())]

    #[test]
    fn coordinates_and_several_files(
        lengths in prop::collection::vec(1usize..30, 1..5),
        factors in prop::collection::vec(-3.0f32..3.0, 3),
    ) {
        let bench = Bench::new();
        let values = ramp(lengths.iter().product());
        bench.dataset("a.rsf", &lengths, &values);
        let rank = lengths.len();
        let sum: String = (1..=rank).map(|i| format!("+{i}*x{i}")).collect();
        let [p, q, r] = factors[..] else { unreachable!() };
        bench.run(&format!(
            "sfmath < a.rsf output='input*({p})' | sfmath a=a.rsf b_2=a.rsf output='a*({q})-b_2/2+input{sum}+({r})' > b.rsf"
        ));
        let axes = bench.axes("a.rsf", rank);
        let expected: Vec<f32> = values
            .iter()
            .enumerate()
            .map(|(at, value)| {
                let here = place(at, &lengths);
                let terms = (0..rank).map(|i| (i + 1) as f32 * (axes[i].o + here[i] as f32 * axes[i].d));
                let start = value * q - value / 2.0 + value * p;
                terms.fold(start, |sum, term| sum + term) + r
            })
            .collect();
        close(&bench.reals("b.rsf"), &expected);
        prop_assert_eq!(bench.axes("b.rsf", rank), axes);
    }

    #[test]
    fn factors_and_sums(count in 1usize..200, a in -4.0f32..4.0, b in -4.0f32..4.0) {
        let bench = Bench::new();
        let (x, y) = (ramp(count), ramp(count).iter().map(|v| v * v - 2.0).collect::<Vec<_>>());
        bench.dataset("x.rsf", &[count], &x);
        bench.dataset("y.rsf", &[count], &y);
        let reals = |line: &str| {
            bench.run(&format!("{line} > out.rsf"));
            bench.reals("out.rsf")
        };
        let pairs = |f: &dyn Fn(f32, f32) -> f32| x.iter().zip(&y).map(|(x, y)| f(*x, *y)).collect::<Vec<_>>();
        close(&reals(&format!("sfscale < x.rsf dscale={a}")), &pairs(&|x, _| x * a));
        close(&reals(&format!("sfadd x.rsf y.rsf scale={a},{b}")), &pairs(&|x, y| x * a + y * b));
        close(&reals(&format!("cat x.rsf | sfadd y.rsf add={a} mode=p")), &pairs(&|x, y| (x + a) * (y + a)));
        close(&reals("sfadd x.rsf y.rsf mode=multiply"), &pairs(&|x, y| x * y));
        close(&reals("sfadd x.rsf y.rsf mode=divide abs=n,y"), &pairs(&|x, y| if y == 0.0 { x } else { x / y.abs() }));
        close(
            &reals("sfadd x.rsf y.rsf abs=y add=1,2 log=y sqrt=n,y exp=y,n"),
            &pairs(&|x, y| x.abs() + 1.0 + (y.abs() + 2.0).ln().sqrt()),
        );
        // Each trace, or the whole dataset, is scaled to a maximum of 1.
        let most = largest(&x);
        let unit = if count == 1 { 1.0 } else { 1.0 / most };
        close(&reals("sfscale < x.rsf axis=1"), &pairs(&|x, _| x * unit));
        close(&reals("cat x.rsf | sfscale axis=123"), &pairs(&|x, _| x * unit));
    }
}

#[test]
fn scaled_groups_and_integers() {
    let bench = Bench::new();
    bench.dataset("a.rsf", &[2, 3], &[1.0, -4.0, 0.0, 0.0, 3.0, 1.5]);
    bench.run("sfscale < a.rsf axis=1 > b.rsf; sfscale < a.rsf axis=1 rscale=2 > c.rsf");
    assert_eq!(bench.reals("b.rsf"), [0.25, -1.0, 0.0, 0.0, 1.0, 0.5]);
    assert_eq!(bench.reals("c.rsf"), [2.0, -8.0, 0.0, 0.0, 6.0, 3.0]);
    bench.raw("i.rsf", "n1=3", "native_int", &[1i32, -7, 1 << 30]);
    bench.run("sfscale < i.rsf dscale=0.5 > d.rsf; sfadd i.rsf i.rsf scale=1,-2 > e.rsf");
    assert_eq!(bench.reals("d.rsf"), [0.5, -3.5, (1 << 29) as f32]);
    assert_eq!(
        bench.open("e.rsf").read_all::<i32>().unwrap(),
        [-1, 7, -(1 << 30)]
    );
    bench.raw("c1.rsf", "n1=2", "native_complex", &[[3.0f32, 4.0], [0.0, 10.0]]);
    bench.run("sfscale < c1.rsf axis=1 > c2.rsf; sfadd c1.rsf c1.rsf mode=p > c3.rsf");
    assert_eq!(bench.complex("c2.rsf"), [[0.3, 0.4], [0.0, 1.0]]);
    assert_eq!(bench.complex("c3.rsf"), [[-7.0, 24.0], [-100.0, 0.0]]);
}

/// Results that are not finite are written unchanged, with a single warning on standard error.
#[test]
fn results_that_are_not_finite_are_counted() {
    let bench = Bench::new();
    let text = bench.messages("sfmath n1=4 n2=2 o2=-1 output='x1/(x2+1)' > a.rsf");
    let words = "warning: 4 of 8 results are not finite (3 infinite, 1 NaN), the first where x1=0, x2=-1 (sfwindow f1=0 f2=0 shows it)";
    assert!(text.contains(words) && text.lines().count() == 1, "{text}");
    assert!(bench.reals("a.rsf")[0].is_nan());
    assert_eq!(bench.reals("a.rsf")[1], f32::INFINITY);
    // This also holds after the first piece of the data, and for complex numbers.
    let text = bench.messages("sfmath n1=3000001 output='sqrt(3000000-x1)+1/(2999999-x1)' > b.rsf");
    assert!(text.contains("1 of 3000001 results are not finite (1 infinite, 0 NaN), the first where x1=2999999 (sfwindow f1=2999999"), "{text}");
    let text = bench.messages("sfmath n1=3 type=complex output='I/x1' > c.rsf");
    assert!(text.contains("1 of 3 results are not finite"), "{text}");
    for line in [
        "sfmath n1=4 output='1/(x1+1)' > d.rsf",
        "sfmath n1=4 output='log(x1)' 2> /dev/null > d.rsf",
    ] {
        assert_eq!(bench.messages(line), "", "{line}");
    }
}

/// A dataset named `pi` takes precedence over the number, as does a dataset named `I` over the imaginary unit.
#[test]
fn pi_is_a_number_of_its_own() {
    let bench = Bench::new();
    bench.run("sfmath n1=1 output='2*pi' > a.rsf; sfmath pi=a.rsf output=pi/2 > b.rsf; sfmath n1=1 type=complex output='pi*I' > c.rsf");
    let pi = std::f32::consts::PI;
    assert_eq!(bench.reals("a.rsf"), [2.0 * pi]);
    assert_eq!(bench.reals("b.rsf"), [pi]);
    assert_eq!(bench.complex("c.rsf"), [[0.0, pi]]);
}

/// Powers that are not finite cause a warning, as in sfmath.
#[test]
fn factors_that_are_not_finite_are_warned_of() {
    let bench = Bench::new();
    for (line, expected) in [
        (
            "sfmath n1=4 n2=3 o2=-10 d2=5 output=1 | sfpow pow2=0.5",
            "pow2=0.5: 1 of 3 factors on axis 2 are not finite, the first for sample 0, counted from 0 (-5 to the power of 0.5 is NaN)",
        ),
        (
            "sfspike n1=5 o1=-2 d1=1 | sftpow tpow=-1",
            "tpow=-1: 1 of 5 factors on axis 1 are not finite, the first for sample 1, counted from 0 (0 to the power of -1 is inf)",
        ),
        ("sfspike n1=5 o1=-2 d1=1 | sfpow pow1=2", ""),
        ("sfspike n1=5 o1=0 d1=1 | sftpow tpow=-0.5", ""),
    ] {
        let text = bench.messages(&format!("{line} > o.rsf"));
        assert!(
            text.contains(expected) && text.is_empty() == expected.is_empty(),
            "{line}: {text}"
        );
    }
}
