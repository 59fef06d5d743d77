//! The messages of the programs for SEG-Y and SU, and their behaviour if headers and parameters contradict each other.

use crate::bench::{Bench, ramp};

/// A bench with six traces of four samples in `a.rsf`, also as SEG-Y in `a.sgy` and as SU in `a.su`; bytes are changed
/// by [`change`].
fn bench() -> Bench {
    let bench = Bench::new();
    bench.raw("a.rsf", "n1=4 d1=0.002 n2=6", "native_float", &ramp(24));
    bench.run("sfsegywrite < a.rsf tape=a.sgy format=5; sfsuwrite < a.rsf tape=a.su");
    bench
}

/// Writes a copy of a file in which some two-byte integers are replaced; each is given with its first byte, counted
/// from 1.
fn change(bench: &Bench, from: &str, to: &str, values: &[(usize, i32)]) {
    let mut bytes = bench.bytes(from);
    for (first, value) in values {
        bytes[first - 1..first + 1].copy_from_slice(&(*value as u16).to_be_bytes());
    }
    bench.put(to, bytes);
}

/// The first byte of trace `k`, counted from 0, in `a.sgy`.
fn trace(k: usize) -> usize {
    3601 + k * (240 + 16)
}

#[test]
fn verb_and_what_is_left_over() {
    let bench = bench();
    let text = bench.messages("sfsegyread tape=a.sgy tfile=t.rsf verb=y > d.rsf");
    assert_eq!(
        text,
        "sfsegyread: 6 traces of 4 samples, IEEE reals, big-endian; 6 are read\n"
    );
    bench.raw("m.rsf", "n1=6", "native_int", &[0i32, 1, 0, 0, 1, 0]);
    let text = bench.messages("sfsegyread tape=a.sgy tfile=t.rsf mask=m.rsf verb=y > d.rsf");
    assert!(text.ends_with("; 2 are read\n"), "{text}");
    assert_eq!(
        bench.messages("sfsegywrite < a.rsf tape=b.sgy format=6 verb=y"),
        "sfsegywrite: 6 traces of 4 samples, IEEE reals of 8 bytes\n"
    );
    let mut more = bench.bytes("a.sgy");
    more.extend([7; 5]);
    bench.put("more.sgy", more);
    let text = bench.messages("sfsegyread tape=more.sgy tfile=t.rsf > d.rsf");
    assert!(
        text.contains(
            "has 5 bytes after its last complete trace: a trace of 4 samples has 256 bytes (IEEE reals)"
        ),
        "{text}"
    );
    assert_eq!(
        bench.messages("sfsegyread tape=more.sgy tfile=t.rsf n2=6 > d.rsf"),
        ""
    );
    let text = bench.messages("sfsegyread tape=a.sgy tfile=t.rsf fold=3 > d.rsf");
    assert!(
        text.contains("fold= is neither a parameter nor a key of trace headers"),
        "{text}"
    );
    assert_eq!(
        bench.messages("sfsegyread tape=a.sgy tfile=t.rsf gx=80 > d.rsf"),
        ""
    );
    let text = bench.messages("sfsegywrite < a.rsf tape=b.sgy traces=3");
    assert!(
        text.contains("traces= is neither a parameter nor a field of the binary header"),
        "{text}"
    );
    bench.put("header", format!("{:3200}", "C 1 USUAL"));
    assert_eq!(
        bench.messages("sfsegywrite < a.rsf tape=b.sgy verb=y"),
        "sfsegywrite: hfile= is not given: the file header is used\nsfsegywrite: 6 traces of 4 samples, IBM reals\n"
    );
    bench.run("cat a.sgy | sfsegyread n2=2 tfile=t.rsf > d.rsf");
    assert_eq!(bench.reals("d.rsf"), ramp(8));
    bench.put("short.sgy", &bench.bytes("a.sgy")[..trace(4) + 100]);
    bench.put("half.sgy", &bench.bytes("a.sgy")[..trace(4) + 244]);
    for (line, word) in [
        (
            "cat short.sgy | sfsegyread n2=6 tfile=t.rsf",
            "the file ends before trace 5 of 6: it is not a complete SEG-Y or SU file",
        ),
        (
            "cat half.sgy | sfsegyread n2=6 tfile=t.rsf read=h",
            "standard input ends in the middle of a trace",
        ),
    ] {
        let message = bench.refused(&format!("{line} > d.rsf"));
        assert!(message.contains(word), "{line}: {message}");
    }
}

#[test]
fn intervals_without_a_sign() {
    let bench = bench();
    for (binary, own, taken, words) in [
        (2000, 2000, 0.002, ""),
        (
            2000,
            4000,
            0.002,
            "the sampling interval is taken from the binary header, 2000 microseconds, but 1 trace headers have another one; the first is in trace 1, with 4000: if these are right, sfput d1=0.004 corrects it",
        ),
        (
            0,
            4000,
            0.004,
            "is taken from the first trace, 4000 microseconds, but 5 trace headers have another one; the first is in trace 2, with 2000: if these are right, sfput d1=0.002",
        ),
        (
            -2000,
            4000,
            0.004,
            "that of the binary header is|interval of the binary header is -2000, that of the first trace 4000: 4000 microseconds",
        ),
        (
            -2000,
            0,
            0.063536,
            "interval of the binary header is -2000, that of the first trace 0: 63536 microseconds",
        ),
        (
            -2000,
            -1000,
            0.063536,
            "interval of the binary header is -2000, that of the first trace -1000: 63536 microseconds",
        ),
        (2000, -1000, 0.002, ""),
        (
            0,
            -1000,
            0.064536,
            "interval of the binary header is 0, that of the first trace -1000: 64536 microseconds",
        ),
    ] {
        change(&bench, "a.sgy", "b.sgy", &[(3217, binary), (trace(0) + 116, own)]);
        let text = bench.messages("sfsegyread tape=b.sgy tfile=t.rsf > d.rsf");
        let words = words.split('|').next_back().unwrap();
        assert!(
            text.contains(words) && (words.is_empty() == text.is_empty()),
            "{text}"
        );
        assert_eq!(bench.axes("d.rsf", 2)[0].d, taken, "{binary} {own}");
    }
    change(&bench, "a.su", "b.su", &[(240 + 16 + 117, 1000)]);
    let text = bench.messages("sfsuread tape=b.su tfile=t.rsf suxdr=y > d.rsf");
    assert!(
        text.contains("is taken from the first trace, 2000 microseconds, but 1 trace headers"),
        "{text}"
    );
}

/// Traces of Seismic Unix may have their sampling interval as a real in place of the microseconds of the standard.
#[test]
fn the_spacing_of_seismic_unix_is_taken_where_there_is_no_interval() {
    let bench = bench();
    let [step, first] = [0.0005f32, 1.5].map(|x| (x.to_bits() >> 16, x.to_bits() & 0xffff));
    let reals = |keep: i32, kind: i32| {
        let halves = [(181, step.0), (183, step.1), (185, first.0), (187, first.1)];
        let halves = halves.map(|(at, half)| (at, half as i32));
        [&[(117, keep), (29, kind)][..], &halves].concat()
    };
    for (interval, kind, d1, label, words) in [
        (
            0,
            1,
            0.0005,
            Some("Time"),
            "no sampling interval (dt=0): d1=0.0005 from its bytes 181 to 184, where Seismic Unix stores the spacing, is used as seconds",
        ),
        (0, 130, 0.0005, None, "is used without a unit"),
        (2000, 1, 0.002, Some("Time"), ""),
    ] {
        change(&bench, "a.su", "b.su", &reals(interval, kind));
        let text = bench.messages("sfsuread tape=b.su tfile=t.rsf suxdr=y | sfwindow > d.rsf");
        let text = text
            .lines()
            .filter(|line| line.contains("dt=0"))
            .collect::<String>();
        assert!(
            text.contains(words) && words.is_empty() == text.is_empty(),
            "{text}"
        );
        let axis = &bench.axes("d.rsf", 2)[0];
        let begin = if interval == 0 { 1.5 } else { 0.0 };
        assert_eq!((axis.d, axis.o, axis.label.as_deref()), (d1, begin, label));
    }
    change(&bench, "a.su", "b.su", &[(117, 0)]);
    let text = bench.messages("sfsuread tape=b.su tfile=t.rsf suxdr=y > d.rsf");
    assert!(text.contains("axis 1 counts samples"), "{text}");
}

#[test]
fn delays_have_a_factor() {
    let bench = bench();
    for (delay, factor, expected) in [
        (500, 0, 0.5),
        (500, 1, 0.5),
        (500, 10, 5.0),
        (500, -10, 0.05),
        (-30, -100, -0.0003),
    ] {
        change(
            &bench,
            "a.sgy",
            "b.sgy",
            &[(trace(0) + 108, delay), (trace(0) + 214, factor)],
        );
        bench.run("sfsegyread tape=b.sgy tfile=t.rsf > d.rsf");
        assert_eq!(bench.axes("d.rsf", 2)[0].o, expected, "{delay} {factor}");
    }
    // The first header counts delays in steps of 10 ms, which cannot represent 25 ms.
    change(
        &bench,
        "a.sgy",
        "b.sgy",
        &[(trace(0) + 108, 3), (trace(0) + 214, 10)],
    );
    bench.run("sfsegyread tape=b.sgy tfile=t.rsf > d.rsf; sfput < d.rsf o1=0.024 > e.rsf");
    let text = bench.messages("sfsegywrite < e.rsf tape=c.sgy tfile=t.rsf");
    assert!(
        text.contains(
            "o1 is 24 ms, but tscalar of the first trace header means that delays are in units of 10 ms: it becomes 20 ms"
        ),
        "{text}"
    );
    assert!(
        text.contains("delrt of the first trace header is 30 ms, but the data begin at 24 ms (o1): -10 ms were added to all delays"),
        "{text}"
    );
    bench.run("sfsegyread tape=c.sgy tfile=u.rsf > d.rsf");
    assert_eq!(bench.axes("d.rsf", 2)[0].o, 0.02);
    bench.run("sfput < e.rsf o1=0.04 > f.rsf");
    let text = bench.messages("sfsegywrite < f.rsf tape=c.sgy tfile=t.rsf");
    assert!(!text.contains("it becomes"), "{text}");
}

#[test]
fn times_are_rounded_to_what_headers_hold() {
    let bench = Bench::new();
    for (header, interval, delay, words) in [
        ("d1=0.002 o1=0.1", 2000, 100, ""),
        ("d1=2 o1=100", 2000, 100, ""),
        ("d1=2 o1=100 unit1=ms", 2000, 100, ""),
        ("d1=0.5 o1=7 unit1=ms", 500, 7, ""),
        (
            "d1=0.0020004",
            2000,
            0,
            "d1=0.0020004 is 2000.4 microseconds, but the usual fields",
        ),
        (
            "d1=0.002 o1=0.0104",
            2000,
            10,
            "o1=0.0104 becomes a delay of 10 ms",
        ),
        (
            "d1=0.002 o1=-0.0106",
            2000,
            -11,
            "o1=-0.0106 becomes a delay of -11 ms",
        ),
    ] {
        bench.raw("a.rsf", &format!("n1=2 {header}"), "native_float", &[1.0f32, 2.0]);
        let text = bench.messages("sfsegywrite < a.rsf tape=a.sgy");
        assert!(
            text.contains(words) && (words.is_empty() == text.is_empty()),
            "{header}: {text}"
        );
        let bytes = bench.bytes("a.sgy");
        let half = |first: usize| i16::from_be_bytes([bytes[first - 1], bytes[first]]);
        assert_eq!(
            (half(3217), half(trace(0) + 116), half(trace(0) + 108)),
            (interval, interval, delay),
            "{header}"
        );
    }
}

#[test]
fn numbers_of_samples_that_words_give() {
    let bench = bench();
    // Only the first samples of longer traces are read.
    bench.run("sfsegyread tape=a.sgy tfile=t.rsf ns=2 n2=1 > d.rsf");
    assert_eq!(bench.reals("d.rsf"), ramp(2));
    change(&bench, "a.sgy", "none.sgy", &[(3221, 0), (trace(0) + 114, 0)]);
    change(&bench, "a.su", "none.su", &[]);
    let mut none = bench.bytes("a.su");
    none[114..116].fill(0);
    bench.put("none.su", none);
    for (line, word) in [
        (
            "sfsegyread tape=none.sgy",
            "neither the binary header nor the first trace has the number of samples per trace; give it by ns=",
        ),
        (
            "sfsuread tape=none.su",
            "the first trace header has 0 samples; give the number of samples by ns=",
        ),
    ] {
        let message = bench.refused(&format!("{line} tfile=t.rsf > d.rsf"));
        assert!(message.contains(word), "{line}: {message}");
        bench.run(&format!("{line} tfile=t.rsf ns=4 > d.rsf"));
        assert_eq!(bench.reals("d.rsf"), ramp(24), "{line}");
    }
    // If neither number fits the size of the file, the number in the binary header is used.
    change(&bench, "a.sgy", "odd.sgy", &[(3221, 5), (trace(0) + 114, 7)]);
    let text = bench.messages("sfsegyread tape=odd.sgy tfile=t.rsf n2=1 > d.rsf");
    assert!(!text.contains("whole number of such traces"), "{text}");
    assert_eq!(bench.lengths("d.rsf", 2), [5, 1]);
    let message = bench.refused("sfsegywrite < a.rsf tape=b.sgy tfile=a.rsf");
    assert!(message.contains("int data are needed"), "{message}");
    bench.raw("keys.rsf", "n1=92 n2=6", "native_int", &[0i32; 92 * 6]);
    let message = bench.refused("sfsegywrite < a.rsf tape=b.sgy tfile=keys.rsf");
    assert!(
        message.contains(
            "keys.rsf has 92 keys, but the 91 keys of SEG-Y and those named by key1=, key2=, ... are 91 in all"
        ),
        "{message}"
    );
}

#[test]
fn points_of_sources_and_receivers() {
    let bench = shots();
    let text = bench.messages("sfsegyread tape=a.sgy tfile=t.rsf sou=s.rsf rec=r.rsf > d.rsf");
    assert!(
        text.contains("all coordinates of sources and receivers are 0 in the trace headers"),
        "{text}"
    );
    // There is one shot of six traces; y is 0, so points consist of x and z.
    assert_eq!(
        (bench.reals("s.rsf"), bench.lengths("r.rsf", 3)),
        (vec![0.0; 2], vec![2, 6, 1])
    );
    assert_eq!(
        bench.messages("sfsegyread tape=g.sgy tfile=t.rsf sou=s.rsf rec=r.rsf > d.rsf"),
        ""
    );
    for name in ["s.rsf", "r.rsf"] {
        for (axis, first) in bench.axes(name, 3).iter().zip([0.0, 0.0, 1.0]) {
            assert_eq!((axis.o, axis.d), (first, 1.0), "{name}");
        }
    }
    let axes = bench.axes("d.rsf", 3);
    assert_eq!(
        (axes[1].n, axes[1].o, axes[1].d, axes[1].label.as_deref()),
        (3, 0.0, 1.0, Some("Receiver"))
    );
    assert_eq!(
        (axes[2].n, axes[2].o, axes[2].d, axes[2].label.as_deref()),
        (2, 1.0, 1.0, Some("Shot"))
    );
}

/// Data of two shots with three receivers in `g.sgy`.
fn shots() -> Bench {
    let bench = bench();
    bench.run("sfpoints x=1:3:1 z=0 > rec.rsf; sfpoints x=10 z=7 n=2 dx=5 > sou.rsf; sfpoints x=1,2 z=0 n=2 > two.rsf");
    bench.run("sfsegywrite < a.rsf tape=g.sgy sou=sou.rsf rec=rec.rsf");
    bench
}

#[test]
fn headers_hold_the_numbers_of_points() {
    let bench = shots();
    // The numbers in the headers: record, trace in the record, source point, offset, elevations, scales, unit.
    let bytes = bench.bytes("g.sgy");
    let int = |k: usize, first: usize| {
        let at = trace(k) + first - 2;
        i32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
    };
    let half = |k: usize, first: usize| {
        let at = trace(k) + first - 2;
        i16::from_be_bytes(bytes[at..at + 2].try_into().unwrap())
    };
    for k in 0..6 {
        let (shot, of_shot) = (k as i32 / 3, k as i32 % 3);
        let numbers = [9, 13, 17, 37, 41, 45, 49, 73, 77, 81, 85].map(|first| int(k, first));
        let (source, receiver) = (10 + 5 * shot, 1 + of_shot);
        let expected = [
            shot + 1,
            of_shot + 1,
            shot + 1,
            receiver - source,
            0,
            0,
            7,
            source,
            0,
            receiver,
            0,
        ];
        assert_eq!(numbers, expected, "trace {k}");
        assert_eq!([69, 71, 89].map(|first| half(k, first)), [1, 1, 1], "trace {k}");
    }
}

#[test]
fn points_have_scales() {
    let bench = shots();
    // Scales of both signs apply to coordinates, and to the elevation of the source.
    let at = trace(0);
    for (scale, by) in [(0, 1.0), (1, 1.0), (100, 100.0), (-100, 0.01)] {
        change(
            &bench,
            "g.sgy",
            "h.sgy",
            &[(at + 68, scale), (at + 70, -scale), (at + 46, 3), (at + 42, 4)],
        );
        bench.run("sfsegyread tape=h.sgy tfile=t.rsf sou=s.rsf rec=r.rsf n2=1 > d.rsf");
        let back = if scale == 0 || scale == 1 { 1.0 } else { 1.0 / by };
        let (s, r) = (bench.reals("s.rsf"), bench.reals("r.rsf"));
        let near = |a: f32, b: f64| (f64::from(a) / b - 1.0).abs() < 1e-6;
        assert!(
            near(s[0], 10.0 * back) && near(s[1], (7.0 - 3.0) * by),
            "{scale}: {s:?}"
        );
        assert!(near(r[0], back) && near(r[1], -4.0 * by), "{scale}: {r:?}");
    }
}

#[test]
fn points_that_do_not_fit_are_refused() {
    let bench = shots();
    for (line, word) in [
        (
            "sfsegywrite < a.rsf tape=b.sgy sou=two.rsf rec=rec.rsf",
            "sou= has 2 points in each of 2 shots, but a trace header holds one source",
        ),
        (
            "cat a.sgy | sfsegyread n2=6 tfile=t.rsf sou=s.rsf rec=r.rsf",
            "sou= and rec= need a file that can be read twice, but standard input is a pipe: give a file by tape=",
        ),
        (
            "sfpoints x=3e9 z=1 > far.rsf; sfsegywrite < a.rsf tape=b.sgy sou=far.rsf rec=rec.rsf",
            "6 traces, but 3 receivers (rec=) in each shot (n3=1 of sou=) need 3",
        ),
        (
            "sfpoints x=3e9 z=1 n=2 > far.rsf; sfsegywrite < a.rsf tape=b.sgy sou=far.rsf rec=rec.rsf",
            "a coordinate of 3000000000 does not fit into the four bytes of a header",
        ),
    ] {
        let message = bench.refused(&format!("{line} > o.rsf"));
        assert!(message.contains(word), "{line}: {message}");
    }
}

/// Coordinates are multiplied by the smallest power of ten that makes them whole numbers, if the result fits in four
/// bytes.
#[test]
fn the_scale_of_coordinates_is_as_small_as_it_can_be() {
    let bench = bench();
    bench.run("sfpoints x=1:3:1 z=0 > rec.rsf");
    for (x, scale, stored) in [
        ("10", 1, 10),
        ("10.5", -10, 105),
        ("10.25", -100, 1025),
        ("10.125", -1000, 10125),
        ("10.0625", -10000, 100_625),
        // These are read back with the same single-precision values.
        ("100000.125", -1000, 100_000_125),
        ("3000000.25", -10, 30_000_003),
        ("6543100.5", -10, 65_431_005),
        ("-0.5", -10, -5),
    ] {
        bench.run(&format!(
            "sfpoints x={x} z=0 n=2 > sou.rsf; sfsegywrite < a.rsf tape=g.sgy sou=sou.rsf rec=rec.rsf"
        ));
        let bytes = bench.bytes("g.sgy");
        let at = trace(0) - 1;
        let half = |first: usize| i16::from_be_bytes([bytes[at + first - 1], bytes[at + first]]);
        assert_eq!((half(69), half(71)), (1, scale), "{x}, at depth zero");
        let source = i32::from_be_bytes(bytes[at + 72..at + 76].try_into().unwrap());
        assert_eq!(source, stored, "{x}");
    }
    // In four bytes there is no room for hundredths if another number is so large.
    let text = bench.messages(
        "sfpoints x=2e8 z=0 n=2 > sou.rsf; sfpoints x=0.25:2.25:1 z=0 > rec.rsf; sfsegywrite < a.rsf tape=g.sgy sou=sou.rsf rec=rec.rsf",
    );
    assert!(text.contains("coordinates are rounded by up to 0.050"), "{text}");
}

#[test]
fn rounding_is_warned_of_from_two_percent_on() {
    let bench = Bench::new();
    for (most, warns) in [(24.0, true), (24.6, true), (26.0, false)] {
        bench.raw("a.rsf", "n1=2 d1=0.002", "native_float", &[most, 0.5f32]);
        let words = bench.messages("sfsegywrite < a.rsf tape=a.sgy format=3");
        assert_eq!(
            words.contains("are whole numbers: rounding"),
            warns,
            "{most}: {words}"
        );
    }
}
