//! The range of two bytes of a trace header, and byte orders of truncated files.

use crate::bench::Bench;

/// The complete traces of a truncated SU file are read in its own byte order, with a warning.
#[test]
fn files_of_su_that_were_cut_short_keep_their_byte_order() {
    let bench = Bench::new();
    for samples in [1000usize, 512, 300, 256, 7] {
        bench.run(&format!(
            "sfmath n1={samples} n2=100 d1=0.002 output='sin(x1*x2)+x2' > full.rsf"
        ));
        let (full, size) = (bench.reals("full.rsf"), 240 + 4 * samples);
        for (endian, order) in [("y", "big"), ("n", "little")] {
            bench.run(&format!("sfsuwrite < full.rsf tape=full.su endian={endian}"));
            let bytes = bench.bytes("full.su");
            for cut in [
                100 * size - 1,
                99 * size + 240,
                50 * size + 13,
                2 * size + 2,
                size + 241,
            ] {
                bench.put("cut.su", &bytes[..cut]);
                let text = bench.messages("sfsuread tape=cut.su tfile=h.rsf > cut.rsf");
                let (traces, rest) = (cut / size, cut % size);
                assert!(
                    text.contains(&format!("cut.su has {rest} bytes after its last complete trace"))
                        && text.lines().count() == 1,
                    "{order} {samples} {cut}: {text}"
                );
                assert_eq!(bench.lengths("cut.rsf", 2), [samples, traces], "{order} {cut}");
                assert_eq!(bench.reals("cut.rsf"), full[..traces * samples], "{order} {cut}");
            }
        }
    }
}

#[test]
fn the_number_of_samples_is_that_of_the_data() {
    let bench = Bench::new();
    bench.run("sfmath n1=20 n2=3 d1=0.004 output=x1 > d.rsf");
    let message = bench.refused("sfsegywrite < d.rsf tape=k.sgy hns=77");
    assert!(
        message.contains(
            "hns=77: the binary header must contain the length of the traces, which is 20 samples (n1)"
        ),
        "{message}"
    );
    bench.run("sfsegywrite < d.rsf tape=k.sgy hns=20 hdt=2000");
    assert_eq!(bench.bytes("k.sgy")[3216..3222], [7, 208, 0, 0, 0, 20]);
}

#[test]
fn keys_of_two_bytes_do_not_wrap() {
    let bench = Bench::new();
    bench.run("sfmath n1=10 n2=2 d1=0.004 output=x1 > d.rsf");
    let with = |formula: &str, key: &str| {
        bench.run(&format!(
            "sfspike n1=91 n2=2 mag=0 | sfdd type=int | sfheadermath output={formula} key={key} > h.rsf"
        ));
    };
    // The number of samples and the interval are in two bytes as well.
    for (axis, words) in [
        ("n1=40000 d1=0.0005", "ns=40000 of all traces is above 32767"),
        ("n1=100 d1=0.04", "dt=40000 of all traces is above 32767"),
    ] {
        let text = bench.messages(&format!("sfmath {axis} n2=2 output=1 | sfsegywrite tape=k"));
        assert!(
            text.contains(words) && text.contains("read it as -25536"),
            "{text}"
        );
    }
    for (program, read) in [("sfsegywrite", "sfsegyread"), ("sfsuwrite", "sfsuread")] {
        with("39999+N", "nhs");
        let text = bench.messages(&format!(
            "{program} < d.rsf tfile=h.rsf tape=k; {read} tape=k tfile=t.rsf > q.rsf"
        ));
        assert!(
            text.contains("2 keys of trace headers are above 32767")
                && text.contains("the first is nhs=39999 of trace 1")
                && text.contains("read it as -25537"),
            "{text}"
        );
        for (formula, key, value) in [
            ("70000*N", "nhs", "70000"),
            ("-32769*N", "laga", "-32769"),
            ("40000*N", "delrt", "40000"),
        ] {
            with(formula, key);
            let message = bench.refused(&format!("{program} < d.rsf tfile=h.rsf tape=k"));
            assert!(
                message.contains(&format!(
                    "{key}={value} of trace 2 does not fit into the two bytes"
                )),
                "{message}"
            );
        }
        // These numbers fit, have four bytes, or are replaced by the values of the data.
        for (formula, key) in [
            ("-32768", "nhs"),
            ("32767", "trid"),
            ("2000000000", "sx"),
            ("65536+N", "ns"),
        ] {
            with(formula, key);
            let text = bench.messages(&format!("{program} < d.rsf tfile=h.rsf tape=k"));
            assert!(!text.contains("keys of trace headers"), "{key}: {text}");
        }
    }
}

/// SU has whole microseconds: another interval is rounded with a warning, and an interval that is too far from whole
/// microseconds is refused.
#[test]
fn intervals_of_su_are_whole_microseconds() {
    let bench = Bench::new();
    let write = |d1: &str| {
        bench.sh(&format!(
            "sfmath n1=20 n2=3 d1={d1} output=x1 > d.rsf; sfsuwrite < d.rsf tape=k.su"
        ))
    };
    let run = write("0.00100025");
    let expected = "d1=0.00100025 is 1000.25 microseconds and becomes 1000, because headers of SU hold whole microseconds";
    assert!(run.code == 0 && run.err.contains(expected), "{run:?}");
    let run = write("0.001");
    assert!(run.code == 0 && !run.err.contains("microseconds"), "{run:?}");
    let run = write("2.5e-5");
    assert!(run.code == 0 && !run.err.contains("microseconds"), "{run:?}");
    let run = write("2.55e-5");
    assert!(
        run.code == 1
            && run
                .err
                .contains("but headers of SU hold whole microseconds from 1 to 65535"),
        "{run:?}"
    );
}

/// An axis of depth in the header becomes one of times, with a warning that says how to restore it.
#[test]
fn lengths_that_are_written_as_times_are_warned_of() {
    let bench = Bench::new();
    bench.run("sfspike n1=9 d1=10 o1=20 unit1=m > a.rsf");
    for program in ["sfsegywrite", "sfsuwrite"] {
        let text = bench.messages(&format!("{program} < a.rsf tape=a.sgy"));
        let expected = "unit1=m: trace headers hold times, so d1=10 m is written as 10 ms";
        assert!(text.contains(expected), "{text}");
    }
    bench.run("sfsegywrite < a.rsf tape=a.sgy");
    bench.run("sfsegyread tape=a.sgy | sfput d1=10 o1=20 unit1=m > b.rsf");
    let [a, b] = ["a.rsf", "b.rsf"].map(|name| bench.axes(name, 1).remove(0));
    assert_eq!((a.o, a.d, a.unit), (b.o, b.d, b.unit));
    bench.run("sfput < a.rsf unit1=ms > c.rsf");
    assert_eq!(bench.messages("sfsegywrite < c.rsf tape=a.sgy"), "");
}

/// Delays in fractions of a millisecond, which tscalar of the header table allows, survive; new headers hold whole
/// ones.
#[test]
fn delays_keep_the_fractions_of_the_table() {
    let bench = Bench::new();
    bench.run("sfmath n1=5 n2=3 d1=0.002 o1=0.1234 output=x1 > a.rsf");
    let text = bench.messages("sfsegywrite < a.rsf tape=a.sgy format=5");
    assert!(
        text.contains("o1=0.1234 becomes a delay of 123 ms, because new headers hold whole milliseconds (a table tfile= whose tscalar is -10"),
        "{text}"
    );
    let text = bench.messages("sfsuwrite < a.rsf tape=a.su");
    assert!(
        text.contains("whole milliseconds") && !text.contains("tfile="),
        "{text}"
    );
    // Bytes 109 and 215 of the trace headers.
    let mut file = bench.bytes("a.sgy");
    for trace in 0..3 {
        let header = 3600 + trace * (240 + 20);
        file[header + 108..][..2].copy_from_slice(&1234_i16.to_be_bytes());
        file[header + 214..][..2].copy_from_slice(&(-10_i16).to_be_bytes());
    }
    bench.put("b.sgy", &file);
    bench.run("sfsegyread tape=b.sgy tfile=t.rsf > b.rsf");
    let text = bench.messages("sfsegywrite < b.rsf tfile=t.rsf tape=c.sgy format=5");
    assert!(text.is_empty(), "{text}");
    assert!(bench.bytes("c.sgy")[3600..] == file[3600..]);
    // Another beginning of the data moves the delays in their unit.
    bench.run("sfput < b.rsf o1=0.1241 > d.rsf");
    let text = bench.messages("sfsegywrite < d.rsf tfile=t.rsf tape=d.sgy format=5");
    assert!(
        text.contains("delrt of the first trace header is 123.4 ms, but the data begin at 124.1 ms (o1): 0.7 ms were added"),
        "{text}"
    );
    bench.run("sfsegyread tape=d.sgy tfile=u.rsf > e.rsf");
    assert_eq!(bench.axes("e.rsf", 2)[0].o, 0.1241);
    // A delay that rounds to zero is not called -0.
    bench.run("sfput < a.rsf o1=-0.34 d1=2 > f.rsf");
    let text = bench.messages("sfsegywrite < f.rsf tape=f.sgy");
    assert!(text.contains("o1=-0.34 becomes a delay of 0 ms"), "{text}");
}
