//! Conversions and their inverses, and the output of the programs that describe data.

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use crate::bench::{Bench, element, place, ramp};

fn few() -> ProptestConfig {
    ProptestConfig {
        cases: 16,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(
            "../tests/regressions/exactness.txt",
        ))),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(few())]

    #[test]
    fn forms_there_and_back(values in prop::collection::vec(any::<f32>().prop_filter("finite", |x| x.is_finite()), 1..60), line in 1usize..12) {
        let bench = Bench::new();
        bench.dataset("a.rsf", &[values.len()], &values);
        bench.run(&format!(
            "sfdd < a.rsf form=xdr > x.rsf; sfdd < x.rsf form=native > n.rsf
             sfdd < a.rsf form=ascii > t.rsf; cat t.rsf > /dev/null; sfdd < t.rsf form=native > tn.rsf
             sfdd < a.rsf form=ascii line={line} format='%.9g ' | sfdd form=xdr | sfdd form=native > e.rsf"
        ));
        prop_assert_eq!(bench.reals("n.rsf"), values.clone());
        // Nine digits represent every float32 exactly; six lose digits as %g does.
        prop_assert_eq!(bench.reals("e.rsf"), values.clone());
        for (got, value) in bench.reals("tn.rsf").iter().zip(&values) {
            let exact = f64::from(*value);
            prop_assert!((f64::from(*got) - exact).abs() <= 5.01e-6 * exact.abs() + 1e-44, "{got} {value}");
        }
    }

    #[test]
    fn types_there_and_back(values in prop::collection::vec(-32768i32..32768, 1..40)) {
        let bench = Bench::new();
        bench.raw("i.rsf", &format!("n1={}", values.len()), "native_int", &values);
        for kind in ["float", "short", "long", "double"] {
            bench.run(&format!("sfdd < i.rsf type={kind} > k.rsf; sfdd < k.rsf type=int > b.rsf"));
            prop_assert_eq!(bench.open("k.rsf").format().kind.word(), kind);
            prop_assert_eq!(bench.open("b.rsf").read_all::<i32>().unwrap(), values.clone());
        }
    }

    #[test]
    fn attributes_are_those_of_the_numbers(lengths in prop::collection::vec(1usize..6, 1..4), seed in 0u32..1000) {
        let bench = Bench::new();
        let count: usize = lengths.iter().product();
        let values: Vec<f32> = (0..count as u32).map(|i| ((i * 7919 + seed) % 1009) as f32 / 8.0 - 50.0).collect();
        bench.dataset("a.rsf", &lengths, &values);
        let exact: Vec<f64> = values.iter().map(|x| f64::from(*x)).collect();
        let sum: f64 = exact.iter().sum();
        let squares: f64 = exact.iter().map(|x| x * x).sum();
        let n = count as f64;
        let variance = if count > 1 { (squares - sum * sum / n) / (n - 1.0) } else { 0.0 };
        let number = |want: &str| -> f64 {
            let text = bench.run(&format!("sfattr < a.rsf want={want}"));
            text.split('=').nth(1).unwrap().split_whitespace().next().unwrap().parse().unwrap()
        };
        for (want, value) in [
            ("rms", (squares / n).sqrt()),
            ("mean", sum / n),
            ("norm", squares.sqrt()),
            ("norm lval=1", exact.iter().map(|x| x.abs()).sum()),
            ("norm lval=3", exact.iter().map(|x| x.abs().powi(3)).sum::<f64>().cbrt()),
            ("norm lval=0", exact.iter().filter(|x| **x != 0.0).count() as f64),
            ("var", variance),
            ("std", variance.sqrt()),
            ("max", exact.iter().copied().max_by(f64::total_cmp).unwrap()),
            ("min", exact.iter().copied().fold(f64::MAX, f64::min)),
            ("samples", n),
        ] {
            prop_assert!((number(want) - value).abs() <= 1e-5 * value.abs() + 1e-4, "{want}: {} {value}", number(want));
        }
        let max = bench.run("sfattr < a.rsf want=max");
        let at: Vec<usize> = max.split(" at ").nth(1).unwrap().split_whitespace().map(|i| i.parse::<usize>().unwrap() - 1).collect();
        let largest = values.iter().copied().max_by(f32::total_cmp).unwrap();
        prop_assert_eq!(values[element(&at, &lengths)], largest);
        // Indices along axes of one sample after the last longer axis are not printed.
        prop_assert_eq!(at.len(), lengths.iter().rposition(|n| *n > 1).map_or(1, |last| last + 1));
    }

    #[test]
    fn a_stack_is_a_loop_over_one_axis(lengths in prop::collection::vec(1usize..7, 1..4), axis in 0usize..3) {
        let bench = Bench::new();
        let axis = axis % lengths.len();
        // The values have both signs and include zeros, which are not counted in means.
        let values: Vec<f32> = (0..lengths.iter().product()).map(|i: usize| (i * 7 % 5) as f32 - 1.0).collect();
        bench.dataset("a.rsf", &lengths, &values);
        let row: usize = lengths[..axis].iter().product();
        let n = lengths[axis];
        type Way<'a> = (&'a str, &'a dyn Fn(&[f32]) -> f32);
        let fold = |line: &[f32]| line.iter().filter(|x| **x != 0.0).count().max(1) as f32;
        // Complex numbers have no order; the smallest and the largest are the numbers with the smallest and the largest
        // absolute value.
        let by_size = |line: &[f32], most: bool| {
            line.iter().copied().reduce(|a, b| if (b.abs() > a.abs()) == most && a.abs() != b.abs() { b } else { a }).unwrap_or(0.0)
        };
        let ways: [Way; 6] = [
            ("", &|line| line.iter().sum::<f32>() / fold(line)),
            ("norm=n", &|line| line.iter().sum()),
            ("rms=y", &|line| (line.iter().map(|x| x * x).sum::<f32>() / fold(line)).sqrt()),
            ("min=y", &|line| line.iter().copied().fold(f32::INFINITY, f32::min)),
            ("max=y", &|line| line.iter().copied().max_by(f32::total_cmp).unwrap()),
            ("prod=y", &|line| line.iter().product()),
        ];
        let mut left = lengths.clone();
        left.remove(axis);
        left.push(1);
        for (words, way) in ways {
            bench.run(&format!("sfstack < a.rsf axis={} {words} > s.rsf; cat a.rsf | sfrtoc | sfstack axis={} {words} | sfreal > c.rsf", axis + 1, axis + 1));
            prop_assert_eq!(bench.lengths("s.rsf", lengths.len()), left.clone(), "{}", words);
            let expected = (0..values.len() / n).map(|i| {
                let start = i / row * row * n + i % row;
                let line: Vec<f32> = (0..n).map(|k| values[start + k * row]).collect();
                let complex = match words {
                    "min=y" => by_size(&line, false),
                    "max=y" => by_size(&line, true),
                    _ => way(&line),
                };
                [way(&line), complex]
            });
            let both = [bench.reals("s.rsf"), bench.reals("c.rsf")];
            for (i, expected) in expected.enumerate() {
                for (got, right) in both.iter().zip(expected) {
                    prop_assert!((got[i] - right).abs() <= 1e-6 * right.abs(), "{words}: {} {right}", got[i]);
                }
            }
        }
    }

    #[test]
    fn smoothing_is_a_sum_over_neighbours(
        lengths in prop::collection::vec(1usize..9, 1..4),
        widths in prop::collection::vec((1usize..7, any::<bool>()), 3),
    ) {
        let bench = Bench::new();
        let values = ramp(lengths.iter().product()).iter().map(|x| (x * 1.7).sin()).collect::<Vec<f32>>();
        bench.dataset("a.rsf", &lengths, &values);
        let words: String = (1..).zip(&lengths).zip(&widths).map(|((i, _), (w, flat))| {
            format!(" rect{i}={w} box{i}={}", if *flat { "y" } else { "n" })
        }).collect();
        bench.run(&format!("cat a.rsf | sfsmooth {words} repeat=2 > s.rsf"));
        let mut expected: Vec<f64> = values.iter().map(|x| f64::from(*x)).collect();
        for axis in 0..lengths.len() {
            for _ in 0..2 {
                expected = smoothed(&expected, &lengths, axis, widths[axis]);
            }
        }
        for (got, value) in bench.reals("s.rsf").iter().zip(&expected) {
            prop_assert!((f64::from(*got) - value).abs() < 1e-6, "{got} {value}");
        }
    }
}

/// Smoothing by definition, neighbour by neighbour, with the line mirrored at its ends again and again.
fn smoothed(values: &[f64], lengths: &[usize], axis: usize, (width, flat): (usize, bool)) -> Vec<f64> {
    let (n, m) = (lengths[axis] as i64, width as i64);
    if m == 1 {
        return values.to_vec();
    }
    (0..values.len())
        .map(|at| {
            let here = place(at, lengths);
            (1 - m..m)
                .map(|shift| {
                    let mut i = here[axis] as i64 + shift;
                    while i < 0 || i >= n {
                        i = if i < 0 { -1 - i } else { 2 * n - 1 - i };
                    }
                    let mut there = here.clone();
                    there[axis] = i as usize;
                    let weight = if flat {
                        1.0 / (2 * m - 1) as f64
                    } else {
                        (m - shift.abs()) as f64 / (m * m) as f64
                    };
                    weight * values[element(&there, lengths)]
                })
                .sum()
        })
        .collect()
}

#[test]
fn rounding_and_pairs() {
    let bench = Bench::new();
    bench.dataset("a.rsf", &[6, 1], &[0.5, -0.5, 1.4999, -2.7, 3e9, 254.6]);
    bench.run("sfdd < a.rsf type=int > i.rsf; sfdd < a.rsf type=int trunc=y > t.rsf; sfdd < a.rsf type=uchar > u.rsf; sfdd < a.rsf type=complex > c.rsf");
    assert_eq!(
        bench.open("i.rsf").read_all::<i32>().unwrap(),
        [1, -1, 1, -3, i32::MAX, 255]
    );
    assert_eq!(
        bench.open("t.rsf").read_all::<i32>().unwrap(),
        [0, 0, 1, -2, i32::MAX, 254]
    );
    assert_eq!(
        bench.open("u.rsf").read_all::<u8>().unwrap(),
        [1, 0, 1, 0, 255, 255]
    );
    assert_eq!(
        bench.complex("c.rsf"),
        [[0.5, -0.5], [1.4999, -2.7], [3e9, 254.6]]
    );
    assert_eq!(bench.lengths("c.rsf", 1), [3]);
    bench.run("sfdd < c.rsf type=float > f.rsf; sfrtoc < a.rsf > z.rsf; sfreal < z.rsf > zr.rsf; sfrtoc < a.rsf pair=y > p.rsf");
    assert_eq!(bench.reals("f.rsf"), bench.reals("a.rsf"));
    assert_eq!(bench.reals("zr.rsf"), bench.reals("a.rsf"));
    assert_eq!(bench.complex("z.rsf")[3], [-2.7, 0.0]);
    assert_eq!(bench.complex("p.rsf"), bench.complex("c.rsf"));
    assert!(
        bench
            .refused("sfwindow < a.rsf n1=5 | sfdd type=complex > x.rsf")
            .contains("n1=5 is odd")
    );
}

#[test]
fn numbers_as_lines() {
    let bench = Bench::new();
    bench.dataset("a.rsf", &[3, 4], &ramp(12));
    let expected = "   0:         -2.25         -1.5        -0.75            0         0.75\n   \
                    5:           1.5         2.25            3         3.75          4.5\n  \
                    10:          5.25            6\n";
    assert_eq!(bench.run("sfdisfil < a.rsf"), expected);
    assert_eq!(
        bench.run("sfwindow < a.rsf n2=1 | sfdisfil number=n col=2 format='<%5.1f>' header=top trailer=end"),
        "top\n< -2.2>< -1.5>\n< -0.8>\nend\n"
    );
    bench.raw("c.rsf", "n1=2", "native_complex", &[[1.0f32, -2.5], [0.0, 1e9]]);
    assert_eq!(
        bench.run("sfdisfil < c.rsf"),
        "   0:          1,      -2.5i         0,     1e+09i\n"
    );
    bench.raw("u.rsf", "n1=2", "native_uchar", &[0u8, 255]);
    assert_eq!(bench.run("sfdisfil < u.rsf"), "   0:    0  255 \n");
    assert_eq!(
        bench.run("sfget < a.rsf n1 label2 nothing parform=n"),
        "3\naxis2\n"
    );
    assert_eq!(bench.run("sfget < a.rsf n1 o2"), "n1=3\no2=20\n");
    bench.run("sfdd < a.rsf form=ascii line=3 strip=1 format='%g,' > t.rsf");
    assert_eq!(
        String::from_utf8(bench.bytes("t.rsf@")).unwrap(),
        "-2.25,-1.5,-0.75\n0,0.75,1.5\n2.25,3,3.75\n4.5,5.25,6\n"
    );
    let all = bench.run("sfattr < a.rsf");
    assert!(all.starts_with("******************************************* \n     rms =       3.19668 \n    mean =         1.875 \n"), "{all}");
    assert!(all.contains("     max =             6 at 3 4 \n     min =         -2.25 at 1 1 \nnonzero samples = 11 \n  total samples = 12 \n"), "{all}");
    assert_eq!(
        bench.run("sfattr < a.rsf want=short"),
        "  8.33% zeros; min: -2.25; max: 6 \n"
    );
    // It is not an error if a reader closes the pipe early.
    bench.run("sfspike n1=300000 nostdin=y | sfdisfil | head -1");
}

#[test]
fn noise_has_its_moments_and_its_seed() {
    let bench = Bench::new();
    let moments = |words: &str| {
        bench.run(&format!(
            "sfspike n1=40000 nostdin=y mag=3 | sfnoise seed=7 {words} > n.rsf"
        ));
        let values = bench.reals("n.rsf");
        let n = values.len() as f64;
        let mean = values.iter().map(|x| f64::from(*x)).sum::<f64>() / n;
        let variance = values.iter().map(|x| (f64::from(*x) - mean).powi(2)).sum::<f64>() / n;
        let low = values.iter().copied().min_by(f32::total_cmp).unwrap();
        let high = values.iter().copied().max_by(f32::total_cmp).unwrap();
        (mean, variance, low, high)
    };
    // For 40000 numbers the standard error of the mean is sigma/200 and the standard error of the variance about 0.7 %;
    // three times that is allowed.
    let (mean, variance, ..) = moments("var=4 mean=-1 rep=y");
    assert!(
        (mean + 1.0).abs() < 0.03 && (variance - 4.0).abs() < 0.1,
        "{mean} {variance}"
    );
    let (mean, variance, low, high) = moments("type=n range=2");
    assert!(
        (mean - 3.0).abs() < 0.02 && (variance - 16.0 / 12.0).abs() < 0.02,
        "{mean} {variance}"
    );
    assert!(low >= 1.0 && high <= 5.0 && high - low > 3.99, "{low} {high}");
    let (mean, variance, ..) = moments("range=9 rep=y");
    assert!(
        mean.abs() < 0.03 && (variance - 4.0).abs() < 0.1,
        "{mean} {variance}"
    );
    let first = bench.reals("n.rsf");
    moments("range=9 rep=y");
    assert_eq!(bench.reals("n.rsf"), first, "the same seed gives the same noise");
}

#[test]
fn a_ricker_wavelet_is_the_known_one() {
    let bench = Bench::new();
    let (n, d, peak, middle) = (400usize, 0.002f64, 20.0f64, 200usize);
    bench.run(&format!(
        "sfspike n1={n} d1={d} k1={} nostdin=y | sfricker1 frequency={peak} | sfscale axis=1 > w.rsf",
        middle + 1
    ));
    for (i, got) in bench.reals("w.rsf").iter().enumerate() {
        let a = (std::f64::consts::PI * peak * d * (i as f64 - middle as f64)).powi(2);
        let expected = (1.0 - 2.0 * a) * (-a).exp();
        assert!(
            (f64::from(*got) - expected).abs() < 2e-6,
            "sample {i}: {got} {expected}"
        );
    }
    // 20 Hz is 0.08 of the Nyquist frequency of 250 Hz; the wavelet wraps around the ends of the trace.
    bench.run(&format!(
        "sfspike n1={n} d1={d} k1={} nostdin=y | sfricker1 freq=0.08 | sfscale axis=1 > v.rsf",
        middle + 1
    ));
    let pairs = bench.reals("w.rsf").into_iter().zip(bench.reals("v.rsf"));
    assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-6));
    // freq= is not in Hz.
    let run = bench.sh("sfspike n1=400 d1=0.002 k1=1 nostdin=y | sfricker1 freq=20 > e.rsf");
    let warning =
        "freq= is a fraction of the Nyquist frequency, at most 1; for a frequency in Hz give frequency=20";
    assert!(run.err.contains(warning), "{}", run.err);
    bench.run("sfspike n1=400 d1=0.002 k1=1 nostdin=y | sfricker1 frequency=20 > e.rsf");
    let values = bench.reals("e.rsf");
    assert!((values[1] - values[399]).abs() < 1e-6 * values[0]);
}

/// Values of axes keep their digits, and usual values are written as Madagascar writes them.
#[test]
fn axes_keep_their_digits() {
    let bench = Bench::new();
    bench
        .run("sfmath n1=6 o1=4726277 d1=12.5 n2=5 d2=0.123456789 n3=4 o3=1000000 d3=0.004 output=x1 > a.rsf");
    let keys_of = |name: &str, keys: &str| {
        let text = bench.run(&format!("sfget < {name} {keys} parform=n"));
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    // The command line is read in single precision: 0.12345679.
    assert_eq!(
        keys_of("a.rsf", "o1 d1 d2 o3 d3"),
        "4726277 12.5 0.12345679 1e+06 0.004"
    );
    bench.run("sfput < a.rsf d2=0.123456789 o2=465277.04 > b.rsf");
    for (line, keys, expected) in [
        ("sfmath output=2*input", "d2 o2 o3", "0.123456789 465277.04 1e+06"),
        ("sfwindow n1=2", "o1 d2 o2", "4726277 0.123456789 465277.04"),
        ("sfwindow f1=1 f3=3 j3=2", "o1 o3 d3", "4726289.5 1e+06 0.008"),
        ("sftransp", "o1 d1 o2", "465277.04 0.123456789 4726277"),
        ("sfpad beg1=2 n1=9 beg3=3", "o1 o2", "4726252 465277.04"),
        ("sfreverse which=1", "o1 d1", "4726339.5 -12.5"),
        ("sfspline n1=3 o1=4726278 d1=0.3", "o1 d1", "4726278 0.3"),
        ("sfstack axis=3", "o1 d2", "4726277 0.123456789"),
    ] {
        bench.run(&format!("{line} < b.rsf > c.rsf"));
        assert_eq!(keys_of("c.rsf", keys), expected, "{line}");
    }
    // Products are written without the rounding noise of single precision.
    bench.run("sfmath n1=900 d1=0.004 output=1 > t.rsf");
    for first in [3, 7, 100, 333, 777] {
        bench.run(&format!("sfwindow < t.rsf f1={first} j1=3 > c.rsf"));
        let o = format!("{:.3}", f64::from(first) * 0.004);
        let o = o.trim_end_matches('0').trim_end_matches('.');
        assert_eq!(keys_of("c.rsf", "o1 d1"), format!("{o} 0.012"));
    }
    assert!(bench.run("sfin b.rsf").contains("o1=4726277"));
}
