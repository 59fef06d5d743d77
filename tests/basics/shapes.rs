//! Programs that rearrange elements, compared with plain loops over random shapes.

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use crate::bench::{Bench, element, place, ramp};

/// Each case starts several processes.
fn few() -> ProptestConfig {
    ProptestConfig {
        cases: 20,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(
            "../tests/regressions/shapes.txt",
        ))),
        ..ProptestConfig::default()
    }
}

fn shape() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(1usize..7, 1..5)
}

/// Window of one axis: first sample, step, number of samples.
type Cut = (usize, usize, usize);

fn shape_with_cuts() -> impl Strategy<Value = (Vec<usize>, Vec<Cut>)> {
    shape().prop_flat_map(|lengths| {
        let cuts: Vec<_> = lengths
            .iter()
            .map(|&n| {
                (0..n, 1usize..4).prop_flat_map(move |(f, j)| (Just(f), Just(j), 1..=(n - 1 - f) / j + 1))
            })
            .collect();
        (Just(lengths), cuts)
    })
}

proptest! {
    #![proptest_config(few())]

    #[test]
    fn a_window_is_a_slice((lengths, cuts) in shape_with_cuts()) {
        let bench = Bench::new();
        let values = ramp(lengths.iter().product());
        bench.dataset("a.rsf", &lengths, &values);
        let words: String = (1..).zip(&cuts).map(|(i, (f, j, n))| format!(" f{i}={f} j{i}={j} n{i}={n}")).collect();
        bench.run(&format!("sfwindow < a.rsf squeeze=n {words} > file.rsf; cat a.rsf | sfwindow squeeze=n {words} > pipe.rsf"));
        let taken: Vec<usize> = cuts.iter().map(|cut| cut.2).collect();
        let expected: Vec<f32> = (0..taken.iter().product())
            .map(|at| {
                let from: Vec<usize> = place(at, &taken).iter().zip(&cuts).map(|(i, (f, j, _))| f + i * j).collect();
                values[element(&from, &lengths)]
            })
            .collect();
        prop_assert_eq!(bench.reals("file.rsf"), expected.clone());
        prop_assert_eq!(bench.reals("pipe.rsf"), expected.clone());
        let axes = bench.axes("file.rsf", lengths.len());
        let old = bench.axes("a.rsf", lengths.len());
        for (i, (f, j, n)) in cuts.iter().enumerate() {
            prop_assert_eq!(axes[i].n, *n);
            prop_assert_eq!(axes[i].o, old[i].o + *f as f32 * old[i].d);
            // A step along a single sample has no effect.
            prop_assert!(axes[i].d == old[i].d * *j as f32 || lengths[i] == 1, "{}", axes[i].d);
        }
        // In squeezed output, axes of one sample come after the others, with their labels.
        bench.run(&format!("sfwindow < a.rsf {words} > squeezed.rsf"));
        prop_assert_eq!(bench.reals("squeezed.rsf"), expected);
        let mut order: Vec<usize> = (0..taken.len()).collect();
        order.sort_by_key(|i| taken[*i] == 1);
        for (axis, from) in bench.axes("squeezed.rsf", lengths.len()).iter().zip(order) {
            prop_assert_eq!(axis.n, taken[from]);
            let label = format!("axis{}", from + 1);
            prop_assert_eq!(axis.label.as_deref(), Some(label.as_str()));
        }
    }

    #[test]
    fn a_window_by_coordinates_is_one_by_samples((lengths, cuts) in shape_with_cuts()) {
        let bench = Bench::new();
        bench.dataset("a.rsf", &lengths, &ramp(lengths.iter().product()));
        let (mut samples, mut coordinates) = (String::new(), String::new());
        for ((i, axis), (f, j, n)) in (1..).zip(bench.axes("a.rsf", lengths.len())).zip(&cuts) {
            samples.push_str(&format!(" f{i}={f} j{i}={j} n{i}={n}"));
            let at = |sample: usize| axis.o + sample as f32 * axis.d;
            // The coordinates are off by less than half a sample.
            coordinates.push_str(&format!(" min{i}={} max{i}={}", at(*f) + 0.3 * axis.d, at(f + (n - 1) * j) - 0.3 * axis.d));
            coordinates.push_str(&format!(" d{i}={}", axis.d * *j as f32));
        }
        bench.run(&format!("sfwindow < a.rsf {samples} > s.rsf; sfwindow < a.rsf {coordinates} > c.rsf"));
        prop_assert_eq!(bench.reals("s.rsf"), bench.reals("c.rsf"));
        prop_assert_eq!(bench.axes("s.rsf", lengths.len()), bench.axes("c.rsf", lengths.len()));
    }

    #[test]
    fn a_turn_swaps_two_places_and_twice_is_none(lengths in shape(), a in 1usize..4, more in 1usize..3) {
        let (b, rank) = (a + more, lengths.len().max(a + more));
        let bench = Bench::new();
        let values = ramp(lengths.iter().product());
        bench.dataset("a.rsf", &lengths, &values);
        // The order of the digits does not matter.
        bench.run(&format!("cat a.rsf | sftransp plane={a}{b} > t.rsf; sftransp < t.rsf plane={b}{a} > tt.rsf"));
        prop_assert_eq!(bench.reals("tt.rsf"), values.clone());
        let mut old = lengths.clone();
        old.resize(rank, 1);
        let mut new = old.clone();
        new.swap(a - 1, b - 1);
        prop_assert_eq!(bench.lengths("t.rsf", rank), new.clone());
        let turned = bench.reals("t.rsf");
        for (at, value) in turned.iter().enumerate() {
            let mut from = place(at, &new);
            from.swap(a - 1, b - 1);
            prop_assert_eq!(*value, values[element(&from, &old)]);
        }
        let (old, new) = (bench.axes("a.rsf", rank), bench.axes("t.rsf", rank));
        for (one, other) in [(&new[a - 1], &old[b - 1]), (&new[b - 1], &old[a - 1])] {
            prop_assert_eq!((one.n, one.o, one.d), (other.n, other.o, other.d));
            prop_assert_eq!(one.label.clone().unwrap_or_default(), other.label.clone().unwrap_or_default());
        }
    }

    #[test]
    fn what_is_joined_can_be_cut_apart(lengths in shape(), axis in 1usize..5, extra in 1usize..4) {
        let bench = Bench::new();
        let mut first = lengths.clone();
        first.resize(lengths.len().max(axis), 1);
        let mut second = first.clone();
        second[axis - 1] = extra;
        let (n, values) = (first[axis - 1], ramp(first.iter().product()));
        let others: Vec<f32> = ramp(second.iter().product()).iter().map(|x| -x - 100.0).collect();
        bench.dataset("a.rsf", &first, &values);
        bench.dataset("b.rsf", &second, &others);
        bench.run(&format!(
            "sfcat a.rsf b.rsf axis={axis} > c.rsf; sfwindow < c.rsf squeeze=n n{axis}={n} > a2.rsf
             cat a.rsf | sfcat b.rsf axis={axis} | sfwindow squeeze=n f{axis}={n} > b2.rsf
             sfmerge a.rsf b.rsf axis={axis} nspace=2 > m.rsf"
        ));
        prop_assert_eq!(bench.axes("c.rsf", 9)[axis - 1].n, n + extra);
        prop_assert_eq!(bench.reals("a2.rsf"), values);
        prop_assert_eq!(bench.reals("b2.rsf"), others);
        bench.run(&format!("sfwindow < m.rsf squeeze=n f{axis}={n} n{axis}=2 > gap.rsf"));
        prop_assert!(bench.reals("gap.rsf").iter().all(|x| *x == 0.0));
        prop_assert_eq!(bench.axes("m.rsf", 9)[axis - 1].n, n + extra + 2);
    }

    #[test]
    fn what_is_padded_can_be_cut_out(
        lengths in shape(),
        around in prop::collection::vec((0usize..4, 0usize..4), 5),
    ) {
        let bench = Bench::new();
        let values = ramp(lengths.iter().product());
        bench.dataset("a.rsf", &lengths, &values);
        let mut whole = lengths.clone();
        whole.resize(5, 1);
        let (mut pad, mut cut, mut total) = (String::new(), String::new(), 1);
        for ((i, n), (before, behind)) in (1..).zip(&whole).zip(&around) {
            total *= n + before + behind;
            // The output length may be given in three ways.
            pad.push_str(&match i % 3 {
                0 => format!(" beg{i}={before} n{i}={}", n + before + behind),
                1 => format!(" beg{i}={before} n{i}out={}", n + before + behind),
                _ => format!(" beg{i}={before} end{i}={behind}"),
            });
            cut.push_str(&format!(" f{i}={before} n{i}={n}"));
        }
        bench.run(&format!("cat a.rsf | sfpad {pad} > p.rsf; sfwindow < p.rsf squeeze=n {cut} > b.rsf"));
        prop_assert_eq!(bench.reals("b.rsf"), values.clone());
        let rank = lengths.len();
        let (old, new) = (bench.axes("a.rsf", rank), bench.axes("b.rsf", 5));
        for i in 0..rank {
            prop_assert!((old[i].o - new[i].o).abs() < 1e-4 * old[i].o.abs(), "{} {}", old[i].o, new[i].o);
            prop_assert_eq!((old[i].n, old[i].d, &old[i].label), (new[i].n, new[i].d, &new[i].label));
        }
        let padded = bench.reals("p.rsf");
        prop_assert_eq!(padded.len(), total);
        let zeros = values.iter().filter(|x| **x == 0.0).count();
        prop_assert_eq!(padded.iter().filter(|x| **x == 0.0).count(), total - values.len() + zeros);
    }

    #[test]
    fn orders_of_axes(lengths in shape(), which in 0usize..16, turns in prop::collection::vec(0usize..7, 4)) {
        let bench = Bench::new();
        let values = ramp(lengths.iter().product());
        bench.dataset("a.rsf", &lengths, &values);
        let rot: String = (1..).zip(lengths.iter().zip(&turns)).map(|(i, (n, r))| format!(" rot{i}={}", if i % 2 == 0 { (r % n) as i64 - *n as i64 } else { (r % n) as i64 })).collect();
        bench.run(&format!("sfreverse < a.rsf which={which} > v.rsf; cat v.rsf | sfreverse which={which} > vv.rsf; sfrotate < a.rsf {rot} > r.rsf"));
        prop_assert_eq!(bench.reals("vv.rsf"), values.clone());
        prop_assert_eq!(bench.axes("vv.rsf", 9), bench.axes("a.rsf", 9));
        let (reversed, rotated) = (bench.reals("v.rsf"), bench.reals("r.rsf"));
        for at in 0..values.len() {
            let here = place(at, &lengths);
            let from: Vec<usize> = (0..lengths.len())
                .map(|i| if which >> i & 1 == 1 { lengths[i] - 1 - here[i] } else { here[i] })
                .collect();
            prop_assert_eq!(reversed[at], values[element(&from, &lengths)]);
            let from: Vec<usize> = (0..lengths.len()).map(|i| (here[i] + lengths[i] - turns[i] % lengths[i]) % lengths[i]).collect();
            prop_assert_eq!(rotated[at], values[element(&from, &lengths)]);
        }
    }
}

#[test]
fn every_type_can_be_moved() {
    let bench = Bench::new();
    let axes = "n1=3 n2=2";
    bench.raw("u.rsf", axes, "native_uchar", &[1u8, 2, 3, 4, 5, 255]);
    bench.raw("s.rsf", axes, "native_short", &[1i16, -2, 3, 4, 5, -32768]);
    bench.raw("l.rsf", axes, "native_long", &[1i64 << 60, -2, 3, 4, 5, i64::MIN]);
    bench.raw(
        "d.rsf",
        axes,
        "native_double",
        &[1e300f64, -2.0, 3.0, 4.0, 5.0, 0.1],
    );
    bench.raw("c.rsf", axes, "native_complex", &[[1.0f32, 2.0]; 6]);
    for name in ["u", "s", "l", "d", "c"] {
        bench.run(&format!(
            "sftransp < {name}.rsf | sftransp | sfpad beg1=1 end2=1 | sfwindow f1=1 n2=2 | sfreverse which=3 | sfrotate rot2=1 |
             sfrotate rot2=1 | sfreverse which=3 | sfcat {name}.rsf axis=2 | sfwindow n2=2 > x.rsf; sfcp {name}.rsf y.rsf"
        ));
        bench.run(&format!("sfwindow < {name}.rsf out=w@ > w.rsf"));
        assert_eq!(bench.bytes("x.rsf@"), bench.bytes("w@"), "{name}");
        assert_eq!(bench.bytes("y.rsf@"), bench.bytes("w@"), "{name}");
        assert_eq!(
            bench.open("x.rsf").format(),
            bench.open(&format!("{name}.rsf")).format()
        );
    }
}

#[test]
fn windows_count_from_the_end_and_keep_what_is_not_cut() {
    let bench = Bench::new();
    bench.dataset("a.rsf", &[5, 3], &ramp(15));
    bench.run("sfwindow < a.rsf f1=-2 > b.rsf; sfwindow < a.rsf n3=1 f3=0 > c.rsf");
    assert_eq!(bench.lengths("b.rsf", 2), [2, 3]);
    assert_eq!(bench.reals("b.rsf")[..2], ramp(15)[3..5]);
    assert_eq!(bench.reals("c.rsf"), ramp(15));
    let text = bench.sh("sfwindow < a.rsf f1=1 n1=2 verb=y > d.rsf").err;
    assert_eq!(text, "sfwindow: f1=1 j1=1 n1=2 min1=10.5 max1=11\n");
    bench.run("sfpad < a.rsf n1=0 > p.rsf");
    assert_eq!(bench.lengths("p.rsf", 2), [8, 3]);
    // 0.004 in float32 is a little more than 0.004, and half-way between two samples the later one is taken.
    bench.run("sfput < a.rsf o1=0 d1=0.004 > t.rsf");
    for (min, first) in [("0.002", 1), ("0.006", 2), ("0.01", 3), ("0.014", 4)] {
        let text = bench
            .sh(&format!("sfwindow < t.rsf min1={min} verb=y > d.rsf"))
            .err;
        assert!(text.contains(&format!("f1={first} ")), "{min}: {text}");
    }
}

#[test]
fn points_come_from_tables_of_numbers() {
    let bench = Bench::new();
    bench.put("points.txt", "# x, z\n0.5, 0.1\n\n1.25,0.2 # the last one\n");
    bench.run("sfcsv2rsf < points.txt label2=receiver o1=1 d1=3 o2=5 d2=10 unit2=m > rec.rsf");
    assert_eq!(bench.reals("rec.rsf"), [0.5, 0.1, 1.25, 0.2]);
    assert_eq!(bench.lengths("rec.rsf", 2), [2, 2]);
    assert_eq!(
        bench.open("rec.rsf").header().text("label2").as_deref(),
        Some("receiver")
    );
    let axes = bench.axes("rec.rsf", 2);
    assert_eq!(
        [axes[0].o, axes[0].d, axes[1].o, axes[1].d],
        [1.0, 3.0, 5.0, 10.0]
    );
    assert_eq!(axes[1].unit.as_deref(), Some("m"));
    bench.run("printf 'x y z\\n1 2 3\\n' | sfcsv2rsf header=y dtype=int > i.rsf");
    assert_eq!(
        bench
            .run("sfdisfil number=n col=3 < i.rsf")
            .split_whitespace()
            .collect::<Vec<_>>(),
        ["1", "2", "3"]
    );
    for (text, words) in [
        ("x z\\n1 2\\n", "`x` is not a number; header=y"),
        (
            "1 2\\n3\\n",
            "line 2 of the table holds 1 numbers, but the first line holds 2",
        ),
        ("# none\\n", "contains no numbers"),
    ] {
        let message = bench.refused(&format!("printf '{text}' | sfcsv2rsf > bad.rsf"));
        assert!(message.contains(words), "{message}");
    }
}
