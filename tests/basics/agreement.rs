//! The results of Madagascar's everyday programs on a few numbers, compared with files that those programs wrote.

use crate::bench::{Bench, ramp};
use crate::largest::magnitude;

fn close(got: &[f32], expected: &[f32]) {
    assert_eq!(got.len(), expected.len(), "{got:?} {expected:?}");
    for (a, b) in got.iter().zip(expected) {
        assert!((a - b).abs() <= 1e-5 * b.abs().max(1.0), "{got:?} {expected:?}");
    }
}

/// `n` samples in `count.rsf` with the values 0, 1, 2, ...
fn counted(n: usize) -> Bench {
    let bench = Bench::new();
    bench.run(&format!("sfmath n1={n} output=x1 > count.rsf"));
    bench
}

#[test]
fn a_pipe_may_end_in_a_copy() {
    let bench = counted(4);
    bench.run("sfspike n1=3 mag=2 | sfcp > d.rsf; sfcp < count.rsf > e.rsf");
    assert_eq!(bench.reals("d.rsf"), [2.0; 3]);
    assert_eq!(bench.reals("e.rsf"), [0.0, 1.0, 2.0, 3.0]);
}

#[test]
fn samples_turn_from_the_end_to_the_beginning() {
    let bench = counted(6);
    bench.run("sfrotate < count.rsf rot1=2 > a.rsf; sfrotate < count.rsf rot1=-2 > b.rsf; sfrotate < count.rsf rot1=-6 > c.rsf");
    assert_eq!(bench.reals("a.rsf"), [4.0, 5.0, 0.0, 1.0, 2.0, 3.0]);
    assert_eq!(bench.reals("b.rsf"), [2.0, 3.0, 4.0, 5.0, 0.0, 1.0]);
    assert_eq!(bench.reals("c.rsf"), bench.reals("count.rsf"));
    bench.run("sfspike n1=3 n2=2 | sfreverse which=-1 > d.rsf");
    assert_eq!(
        (bench.axes("d.rsf", 2)[1].o, bench.axes("d.rsf", 2)[1].d),
        (0.1, -0.1)
    );
}

#[test]
fn a_leaning_spike_passes_its_place_behind_its_first_trace() {
    let bench = Bench::new();
    bench.run("sfspike n1=12 n2=6 k1=6 k2=3 l2=6 p2=1 > a.rsf; sfspike n1=12 n2=3 k1=6 p2=1 > b.rsf");
    let place = |name: &str, trace: usize| {
        let all = bench.reals(name);
        (0..12).find(|i| all[12 * trace + i] != 0.0).map(|i| i + 1)
    };
    let places: Vec<Option<usize>> = (0..6).map(|trace| place("a.rsf", trace)).collect();
    assert_eq!(places, [None, None, Some(5), Some(6), Some(7), Some(8)]);
    assert_eq!([place("b.rsf", 0), place("b.rsf", 2)], [Some(6), Some(8)]);
}

#[test]
fn stacks_of_complex_numbers_scaled_and_of_all_axes() {
    let bench = Bench::new();
    bench.run("sfmath n1=3 n2=4 type=complex output='x2+I*x1' > c.rsf; sfmath n1=2 n2=3 o1=1 output='x1+10*x2' > r.rsf");
    bench.run(
        "sfstack < c.rsf > mean.rsf; sfstack < c.rsf norm=n > sum.rsf; sfstack < c.rsf prod=y > prod.rsf",
    );
    // The fold is counted once per complex number, not once for each of its parts.
    assert_eq!(bench.complex("mean.rsf"), [[2.0, 0.0], [1.5, 1.0], [1.5, 2.0]]);
    assert_eq!(bench.complex("sum.rsf"), [[6.0, 0.0], [6.0, 4.0], [6.0, 8.0]]);
    // i (1+i) (2+i) (3+i) = -10
    assert_eq!(bench.complex("prod.rsf")[1], [-10.0, 0.0]);
    bench.run("sfstack < r.rsf scale=1,-1,2 norm=n > s.rsf; sfmax < r.rsf axis=0 > m.rsf; sfmin < r.rsf axis=1 > l.rsf");
    assert_eq!(bench.reals("s.rsf"), [32.0, 34.0]);
    assert_eq!(
        (bench.reals("m.rsf"), bench.lengths("m.rsf", 3)),
        (vec![22.0], vec![1, 1, 1])
    );
    assert_eq!(bench.reals("l.rsf"), [1.0, 11.0, 21.0]);
    bench.run("sfprod < r.rsf > p.rsf; sfrms < r.rsf > q.rsf; sfstack < r.rsf rms=y > q2.rsf");
    assert_eq!(bench.reals("p.rsf"), [1.0 * 11.0 * 21.0, 2.0 * 12.0 * 22.0]);
    assert_eq!(bench.reals("q.rsf"), bench.reals("q2.rsf"));
}

#[test]
fn datasets_are_joined_in_any_order() {
    let bench = Bench::new();
    bench.run("sfspike n1=2 mag=1 > a.rsf; sfspike n1=2 mag=2 > b.rsf; sfspike n1=2 mag=3 > c.rsf");
    bench
        .run("sfcat axis=2 order=2,0,1 a.rsf b.rsf c.rsf o=5 d=2 > j.rsf; sfrcat axis=0 a.rsf b.rsf > k.rsf");
    assert_eq!(bench.reals("j.rsf"), [2.0, 2.0, 3.0, 3.0, 1.0, 1.0]);
    let axis = &bench.axes("j.rsf", 2)[1];
    assert_eq!((axis.n, axis.o, axis.d), (3, 5.0, 2.0));
    assert_eq!(bench.reals("k.rsf"), [1.0, 1.0, 2.0, 2.0]);
    bench.run("sfmerge axis=1 order=1,0 a.rsf b.rsf > m.rsf");
    assert_eq!(bench.reals("m.rsf"), [2.0, 2.0, 0.0, 1.0, 1.0]);
}

#[test]
fn sums_of_integers_lose_their_fraction_at_the_end() {
    let bench = Bench::new();
    bench.raw("i.rsf", "n1=4", "native_int", &[3i32, -3, 7, 9]);
    bench.raw("j.rsf", "n1=4", "native_int", &[1i32, -1, 0, 2]);
    let ints = |line: &str| {
        bench.run(&format!("{line} > k.rsf"));
        bench.open("k.rsf").read_all::<i32>().unwrap()
    };
    assert_eq!(ints("sfadd < i.rsf j.rsf scale=1,1.5"), [4, -4, 7, 12]);
    assert_eq!(ints("sfdiv < i.rsf j.rsf"), [3, 3, 7, 4]);
    assert_eq!(ints("sfmul < i.rsf j.rsf scale=1,0.5"), [1, 1, 0, 9]);
}

#[test]
fn percentages_slopes_and_half_derivatives() {
    let bench = counted(9);
    bench.run("sfscale < count.rsf axis=1 pclip=50 > a.rsf");
    // The clip is the sample with number 5, counted from 0, of the nine.
    close(
        &bench.reals("a.rsf"),
        &(0..9).map(|i| i as f32 / 5.0).collect::<Vec<_>>(),
    );
    bench.run("sfsmooth < count.rsf rect1=2 diff1=y > b.rsf");
    close(&bench.reals("b.rsf")[2..6], &[-1.0; 4]);
    // Applying the half derivative twice to a wavelet gives its derivative.
    let wave = "sfspike n1=200 d1=0.004 k1=100 | sfricker1 frequency=15";
    bench.run(&format!(
        "{wave} deriv=y | sfricker1 frequency=15 deriv=y > c.rsf; {wave} | sfricker1 frequency=15 > d.rsf"
    ));
    let (twice, plain) = (bench.reals("c.rsf"), bench.reals("d.rsf"));
    let most = magnitude(&twice);
    for i in 60..140 {
        // The derivative is damped by one sample of the spectrum, which adds 2 pi / 200 of the function itself.
        let slope = 0.5 * (plain[i + 1] - plain[i - 1]) + std::f32::consts::TAU / 200.0 * plain[i];
        assert!(
            (twice[i] - slope).abs() < 0.05 * most,
            "{i}: {} {slope}",
            twice[i]
        );
    }
}

#[test]
fn an_adjoint_is_one() {
    let bench = Bench::new();
    let (n, x) = (7, ramp(35));
    let y: Vec<f32> = x.iter().map(|x| (x * 1.3).sin()).collect();
    bench.dataset("x.rsf", &[n, 5], &x);
    bench.dataset("y.rsf", &[n, 5], &y);
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(a * b)).sum::<f64>();
    for words in [
        "rect1=3",
        "rect1=3 diff1=y",
        "rect2=9 diff2=y",
        "rect1=4 rect2=2 box1=y",
    ] {
        bench.run(&format!(
            "sfsmooth < x.rsf {words} > a.rsf; sfsmooth < y.rsf {words} adj=y > b.rsf"
        ));
        let (one, other) = (dot(&bench.reals("a.rsf"), &y), dot(&x, &bench.reals("b.rsf")));
        assert!(
            (one - other).abs() < 1e-5 * one.abs().max(1.0),
            "{words}: {one} {other}"
        );
    }
}

#[test]
fn numbers_of_other_kinds() {
    let bench = Bench::new();
    bench.raw(
        "i.rsf",
        "n1=3",
        "native_int",
        &[0x4110_0000i32, 0xC276_A000u32 as i32, 0],
    );
    bench.run("sfdd < i.rsf type=float ibm=y > f.rsf");
    assert_eq!(bench.reals("f.rsf"), [1.0, -118.625, 0.0]);
    bench.raw("c.rsf", "n1=2", "native_complex", &[[1.0f32, 2.0], [3.0, 4.0]]);
    bench.run("sfput < c.rsf n1=4 data_format=native_float esize=4 > g.rsf; sfdd < c.rsf type=float > h.rsf");
    assert_eq!(bench.reals("g.rsf"), [1.0, 2.0, 3.0, 4.0]);
    bench.run("sfput < g.rsf n1=2 data_format=native_complex esize=8 > c2.rsf");
    assert_eq!(bench.complex("c2.rsf"), bench.complex("c.rsf"));
    assert!(
        bench
            .refused("sfput < c.rsf n1=4 data_format=native_float esize=8")
            .contains("has 4 bytes")
    );
    bench.run("sfnoise < c.rsf seed=3 rep=y > n.rsf; sfnoise < h.rsf seed=3 rep=y > m.rsf");
    assert_eq!(bench.complex("n.rsf").as_flattened(), bench.reals("m.rsf"));
    bench.run("sfmath n1=2 n2=5 output='x1+x2' | sfrtoc pair=y > p.rsf; sfmath n1=7 o1=-1.5 d1=0.5 output='round(x1)+10*int(x1)' > r.rsf");
    assert_eq!(
        (bench.complex("p.rsf")[4], bench.lengths("p.rsf", 2)),
        ([4.0, 5.0], vec![5, 1])
    );
    assert_eq!(bench.reals("r.rsf"), [-12.0, -11.0, -1.0, 0.0, 1.0, 11.0, 12.0]);
    bench.raw("nan.rsf", "n1=3", "native_float", &[1.0f32, f32::NAN, 3.0]);
    let attributes = bench.run("sfattr < nan.rsf");
    assert!(
        attributes.contains("variance =           nan") && attributes.contains("max =             3 at 3"),
        "{attributes}"
    );
}

#[test]
fn keys_reach_the_header() {
    let bench = Bench::new();
    bench.dataset("a.rsf", &[4, 2], &ramp(8));
    bench.run("sfwindow < a.rsf n1=2 title='two words' label1=New > b.rsf; sfpad < a.rsf end1=1 beg2=1 o1=9 o2=7 label1=New > c.rsf");
    assert_eq!(
        bench.run("sfget < b.rsf title label1 parform=n"),
        "two words\naxis1\n"
    );
    let axes = bench.axes("c.rsf", 2);
    assert_eq!((axes[0].o, axes[0].label.as_deref()), (9.0, Some("New")));
    assert_eq!(
        axes[1].o, 19.0,
        "an origin that shifts is not that of the command line"
    );
    bench.run("sfspike n1=20 d1=0.004 | sfwindow d1=0.006 > d.rsf; sfpad < a.rsf n1=9 end1=1 > e.rsf");
    assert_eq!(
        (bench.axes("d.rsf", 1)[0].d, bench.axes("e.rsf", 2)[0].n),
        (0.008, 5)
    );
    let all = bench.run("sfget < a.rsf all=y");
    assert!(
        all.contains("label1=axis1") && all.contains("data_format="),
        "{all}"
    );
}
