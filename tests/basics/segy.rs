//! SEG-Y and SU, compared with files that segyio wrote (`tests/data/segy/make.py`): read as segyio reads them, and
//! written byte for byte.

use std::io::Write;
use std::os::unix::fs::FileExt;

use serde_json::Value;

use crate::bench::{Bench, ramp};
use crate::desk::built::checkout;

const FILES: [&str; 7] = [
    "ibm.sgy",
    "int4.sgy",
    "int2.sgy",
    "int1.sgy",
    "ieee.sgy",
    "little.sgy",
    "further.sgy",
];

fn expected() -> Value {
    let text = std::fs::read_to_string(checkout("tests/data/segy/expected.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// A bench with the SEG-Y and SU files.
fn bench() -> Bench {
    let bench = Bench::new();
    for name in FILES.iter().chain(&["ieee.su", "little.su"]) {
        bench.put(
            name,
            std::fs::read(checkout("tests/data/segy").join(name)).unwrap(),
        );
    }
    bench
}

/// Names and bytes of some of the 91 keys, as in sfheaderattr and in the standard.
const KEYS: [(&str, usize, u64); 10] = [
    ("tracl", 0, 0),
    ("fldr", 2, 8),
    ("trid", 7, 28),
    ("offset", 11, 36),
    ("scalco", 20, 70),
    ("gx", 23, 80),
    ("delrt", 35, 108),
    ("ns", 38, 114),
    ("dt", 39, 116),
    ("xline", 74, 192),
];

#[track_caller]
fn holds(bench: &Bench, name: &str, answer: &Value) {
    let values: Vec<f32> = answer["values"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|trace| trace.as_array().unwrap())
        .map(|x| x.as_f64().unwrap() as f32)
        .collect();
    assert_eq!(bench.reals("d.rsf"), values, "{name}");
    let axes = bench.axes("d.rsf", 2);
    assert_eq!((axes[0].n, axes[0].o, axes[0].d), (9, 0.008, 0.004), "{name}");
    assert_eq!(
        (axes[0].label.as_deref(), axes[0].unit.as_deref()),
        (Some("Time"), Some("s"))
    );
    assert_eq!(
        (axes[1].n, axes[1].label.as_deref()),
        (4, Some("Trace")),
        "{name}"
    );
    assert_eq!(
        bench.open("d.rsf").header().text("head").as_deref(),
        Some("t.rsf")
    );
    let headers: Vec<i32> = bench.open("t.rsf").read_all().unwrap();
    assert_eq!(bench.lengths("t.rsf", 2), [91, 4], "{name}");
    for (trace, header) in headers.chunks(91).zip(answer["headers"].as_array().unwrap()) {
        for (key, place, byte) in KEYS {
            let expected = header.get(byte.to_string()).map_or(0, |x| x.as_i64().unwrap());
            assert_eq!(i64::from(trace[place]), expected, "{name}: {key}");
        }
        // Nothing that segyio finds is lost, wherever it is stored.
        let nonzero = header.as_object().unwrap().len();
        assert_eq!(trace.iter().filter(|x| **x != 0).count(), nonzero, "{name}");
    }
}

#[test]
fn files_of_segyio_there_and_back() {
    let (bench, expected) = (bench(), expected());
    for name in FILES {
        bench.run(&format!(
            "sfsegyread tape={name} tfile=t.rsf hfile=h bfile=b > d.rsf"
        ));
        holds(&bench, name, &expected[name]);
        let text = bench.bytes("h");
        assert_eq!(text.len(), 3200);
        assert_eq!(
            String::from_utf8(text).unwrap(),
            expected[name]["text"].as_str().unwrap()
        );
        let endian = if name == "little.sgy" { "endian=n" } else { "" };
        bench.run(&format!(
            "sfsegywrite < d.rsf tape=back.sgy tfile=t.rsf hfile=h bfile=b {endian}"
        ));
        let (mut before, after) = (bench.bytes(name), bench.bytes("back.sgy"));
        if name == "further.sgy" {
            // Further textual headers are skipped when a file is read, so none are written.
            before.drain(3600..6800);
        }
        assert!(before == after, "{name}: the file comes back byte for byte");
        // Files are also read from standard input and from a pipe, and written to standard output and in other forms.
        bench.run(&format!("sfsegyread < {name} tfile=t.rsf > d.rsf"));
        holds(&bench, name, &expected[name]);
        if name != "further.sgy" {
            bench.run(&format!("cat {name} | sfsegyread n2=4 tfile=t.rsf > d.rsf"));
            holds(&bench, name, &expected[name]);
        }
        bench.run(&format!(
            "sfdd < d.rsf form=xdr | sfsegywrite tfile=t.rsf hfile=h bfile=b {endian} > pipe.sgy; cmp pipe.sgy back.sgy"
        ));
    }
}

#[test]
fn without_a_word_and_in_a_dry_run() {
    let (bench, expected) = (bench(), expected());
    bench.run(
        "sfsegyread < int2.sgy > d.rsf; sfcp tfile t.rsf; sfput < d.rsf head=t.rsf > e.rsf; sfmv e.rsf d.rsf",
    );
    holds(&bench, "bare", &expected["int2.sgy"]);
    bench.run("sfsegyread < int2.sgy tfile=u.rsf hfile=u --dryrun=y > dry.rsf; sfsegywrite < d.rsf tape=u.sgy --dryrun=y");
    assert_eq!(bench.open("d.rsf").header().int("n1"), Some(9));
    assert!(!bench.path("u").exists() && !bench.path("u.sgy").exists());
}

#[test]
fn seismic_unix_there_and_back() {
    let (bench, expected) = (bench(), expected());
    for (name, endian) in [("ieee", ""), ("little", "endian=n")] {
        bench.run(&format!("sfsuread tape={name}.su tfile=t.rsf > d.rsf"));
        holds(&bench, name, &expected[&format!("{name}.sgy")]);
        bench.run(&format!(
            "sfsuwrite < d.rsf tape=back.su tfile=t.rsf {endian}; cmp back.su {name}.su"
        ));
        bench.run(&format!("sfsegyread su=y tape={name}.su tfile=t.rsf > e.rsf; sfsegywrite su=y < e.rsf {endian} tfile=t.rsf > back.su; cmp back.su {name}.su"));
    }
    bench.run("sfsuread suxdr=y tape=ieee.su tfile=t.rsf > d.rsf; sfsuread endian=n tape=little.su tfile=t.rsf > e.rsf");
    holds(&bench, "suxdr", &expected["ieee.sgy"]);
}

#[test]
fn parts_of_a_file() {
    let bench = bench();
    bench.run("sfsegyread tape=int2.sgy tfile=all.rsf > d.rsf");
    let headers: Vec<i32> = bench.open("all.rsf").read_all().unwrap();
    bench.run("sfsegyread tape=int2.sgy tfile=h.rsf read=h; cmp h.rsf@ all.rsf@");
    bench.run("sfsegyread tape=int2.sgy read=d > e.rsf; cmp e.rsf@ d.rsf@; ! test -e tfile");
    bench.raw("m.rsf", "n1=4", "native_int", &[0i32, 1, 0, 1]);
    bench.run("sfsegyread tape=int2.sgy mask=m.rsf tfile=t.rsf > d.rsf; sfsegyread tape=int2.sgy mask=m.rsf read=h tfile=h.rsf; cmp t.rsf@ h.rsf@");
    assert_eq!(bench.lengths("d.rsf", 2), [9, 2]);
    let kept: Vec<i32> = bench.open("t.rsf").read_all().unwrap();
    assert_eq!(kept[..91], headers[91..182]);
    assert_eq!(kept[91..], headers[273..]);
    bench.run("sfsegyread tape=int2.sgy n2=3 ns=9 format=3 tfile=t.rsf > d.rsf");
    assert_eq!(bench.lengths("d.rsf", 2), [9, 3]);
    // A key is read from another byte, and an added key is written back to its place.
    bench.run(
        "sfsegyread tape=int2.sgy cdp=80 key1=mine mine=84 key1_len=2 key2=far far=36 tfile=t.rsf > d.rsf",
    );
    assert_eq!(bench.lengths("t.rsf", 2), [93, 4]);
    let more: Vec<i32> = bench.open("t.rsf").read_all().unwrap();
    for (row, old) in more.chunks(93).zip(headers.chunks(91)) {
        assert_eq!((row[5], row[91], row[92]), (old[23], 0, old[11]));
    }
    let changed: Vec<i32> = more
        .iter()
        .enumerate()
        .map(|(i, x)| if i % 93 == 91 { 77 } else { *x })
        .collect();
    bench.raw(
        "n.rsf",
        "n1=93 n2=4 key1=mine key1_len=2 mine=84 key2=far key2_len=4 far=36",
        "native_int",
        &changed,
    );
    bench.run("sfsegywrite < d.rsf tape=n.sgy tfile=n.rsf; sfsegyread tape=n.sgy key1=mine mine=84 key1_len=2 tfile=t.rsf > d.rsf");
    let back: Vec<i32> = bench.open("t.rsf").read_all().unwrap();
    assert!(back.chunks(92).all(|row| row[91] == 77));
}

#[test]
fn headers_are_created_where_there_are_none() {
    let bench = Bench::new();
    bench.raw("a.rsf", "n1=4 d1=0.0003 o1=0.05 n2=3", "native_float", &ramp(12));
    for (words, exact) in [("", true), ("format=5", true), ("format=2", false)] {
        bench.run(&format!("sfsegywrite < a.rsf tape=a.sgy {words} fold=3 jobid=9; sfsegyread tape=a.sgy tfile=t.rsf hfile=h bfile=b > d.rsf"));
        let samples = bench.reals("d.rsf");
        for (x, expected) in samples.iter().zip(ramp(12)) {
            let expected = if exact {
                expected
            } else {
                expected.round_ties_even()
            };
            assert_eq!(*x, expected, "{words}");
        }
        let axis = bench.axes("d.rsf", 2).remove(0);
        assert_eq!((axis.n, axis.o, axis.d), (4, 0.05, 0.0003));
        let headers: Vec<i32> = bench.open("t.rsf").read_all().unwrap();
        assert_eq!(
            (headers[91], headers[92], headers[91 + 38], headers[91 + 39]),
            (2, 2, 4, 300)
        );
        let binary = bench.bytes("b");
        assert_eq!((binary[3], binary[17], binary[16], binary[27]), (9, 44, 1, 3));
        assert!(bench.bytes("h").starts_with(b"C1  WRITTEN BY"));
    }
    // If hfile= and bfile= are not given, files with the usual names are used; headers that contradict the data are
    // corrected.
    bench.run(
        "sfsegyread tape=a.sgy tfile=t.rsf hfile=header bfile=binary > d.rsf; sfwindow < d.rsf n1=2 > w.rsf",
    );
    let own = "C 1 A LINE OF THE USUAL FILE";
    bench.put("header", format!("{own:3200}"));
    let text = bench.sh("sfsegywrite < w.rsf tape=w.sgy tfile=t.rsf").err;
    assert!(
        text.contains("3 trace headers had an ns or dt that differs from"),
        "{text}"
    );
    bench.run("sfsegyread tape=w.sgy tfile=t.rsf hfile=h > e.rsf");
    assert!(bench.bytes("h").starts_with(own.as_bytes()));
    assert_eq!(bench.lengths("e.rsf", 2), [2, 3]);
    assert_eq!(bench.reals("e.rsf")[..2], bench.reals("d.rsf")[..2]);
}

/// Fields of two bytes accept all numbers that fit, signed or unsigned.
#[test]
fn words_of_binary_headers_take_what_they_hold() {
    let bench = Bench::new();
    bench.run("sfspike n1=4 n2=2 > d.rsf");
    for (fold, bytes) in [
        (-32768, [0x80, 0]),
        (-1, [255, 255]),
        (32767, [0x7f, 255]),
        (32768, [0x80, 0]),
        (65535, [255, 255]),
    ] {
        bench.run(&format!("sfsegywrite < d.rsf tape=x.sgy fold={fold}"));
        assert_eq!(bench.bytes("x.sgy")[3226..3228], bytes, "fold={fold}");
    }
    for fold in [-32769, 65536] {
        let message = bench.refused(&format!("sfsegywrite < d.rsf tape=x.sgy fold={fold} > o.rsf"));
        assert!(
            message.contains(&format!("fold={fold} does not fit into 2 bytes")),
            "{message}"
        );
    }
}

/// Every format that the current standard defines, in both byte orders, including traces whose length does not fit in
/// two bytes.
#[test]
fn formats_of_revision_two_there_and_back() {
    let bench = Bench::new();
    for (n, always) in [(20, false), (70_000, true)] {
        let whole = "sfdd type=int | sfdd type=float";
        bench.run(&format!(
            "sfmath n1={n} n2=3 d1=0.001 output='abs(80*sin(3*x1)+20*x2)' | {whole} > d.rsf"
        ));
        for format in [1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 15, 16] {
            let new = always || format > 8 || format == 6 || format == 7;
            for words in ["", "endian=n"] {
                bench.run(&format!(
                    "sfsegywrite < d.rsf tape=x.sgy format={format} {words}; sfsegyread tape=x.sgy > back.rsf"
                ));
                assert!(
                    bench.reals("back.rsf") == bench.reals("d.rsf"),
                    "{n} {format} {words}"
                );
                let file = std::fs::read(bench.path("x.sgy")).unwrap();
                assert_eq!(file[3500..3502] == [2, 1], new, "{n} {format} {words}");
            }
        }
    }
}

#[test]
fn a_number_of_traces_of_zero_stands_for_all() {
    let bench = Bench::new();
    bench.run("sfmath n1=5 n2=3 d1=0.001 output='x1+10*x2' > a.rsf; sfsegywrite < a.rsf tape=a.sgy format=5");
    for (words, traces) in [("", 3), ("n2=0", 3), ("n2=2", 2)] {
        bench.run(&format!("sfsegyread tape=a.sgy {words} > back.rsf"));
        assert_eq!(bench.lengths("back.rsf", 2), [5, traces], "{words}");
        let all = bench.reals("a.rsf");
        assert_eq!(bench.reals("back.rsf"), all[..5 * traces], "{words}");
    }
}

/// Numbers of samples are unsigned and have two bytes: the largest are above 32,767.
#[test]
fn long_traces_there_and_back() {
    let bench = Bench::new();
    for n in [32767, 32768, 40000, 65535] {
        bench.run(&format!(
            "sfmath n1={n} n2=2 d1=0.001 output='x1+10*x2' > long.rsf; sfsegywrite < long.rsf tape=long.sgy format=5; sfsegyread tape=long.sgy > back.rsf"
        ));
        assert_eq!(bench.lengths("back.rsf", 2), [n, 2]);
        assert!(bench.reals("back.rsf") == bench.reals("long.rsf"), "{n}");
        bench.run("sfsuwrite < long.rsf > long.su; sfsuread tape=long.su > back.rsf");
        assert!(bench.reals("back.rsf") == bench.reals("long.rsf"), "{n}");
    }
}

#[test]
fn sixteen_gigabytes_are_passed_in_no_time() {
    let bench = Bench::new();
    // A sparse file with traces of 32000 samples, of which only the last has nonzero samples.
    let (samples, traces) = (32_000usize, 135_000u64);
    let size = (240 + 4 * samples) as u64;
    let path = bench.path("large.sgy");
    let file = std::fs::File::create(&path).unwrap();
    let length = 3600 + traces * size;
    if file.set_len(length).is_err() {
        let name = "segy::sixteen_gigabytes_are_passed_in_no_time";
        let why = format!("no files of {length} bytes can be made here");
        let _ = writeln!(std::io::stderr(), "skipped {name}: {why}");
        return;
    }
    let mut binary = [0u8; 400];
    binary[16..18].copy_from_slice(&2000u16.to_be_bytes());
    binary[20..22].copy_from_slice(&(samples as u16).to_be_bytes());
    binary[24..26].copy_from_slice(&5u16.to_be_bytes());
    file.write_all_at(&binary, 3200).unwrap();
    let last = 3600 + (traces - 1) * size;
    file.write_all_at(&77i32.to_be_bytes(), last + 36).unwrap();
    file.write_all_at(&2.5f32.to_be_bytes(), length - 4).unwrap();
    assert!(length > 17_000_000_000);
    let mask: Vec<i32> = (0..traces).map(|i| i32::from(i + 1 == traces)).collect();
    bench.raw("m.rsf", &format!("n1={traces}"), "native_int", &mask);
    // The address space is a small part of the size of the file, so memory that grew with the file would fail.
    bench.run(
        "ulimit -v 800000; RAYON_NUM_THREADS=2 sfsegyread tape=large.sgy mask=m.rsf tfile=t.rsf > d.rsf",
    );
    let (values, headers) = (
        bench.reals("d.rsf"),
        bench.open("t.rsf").read_all::<i32>().unwrap(),
    );
    assert_eq!(
        (values.len(), values[samples - 1], headers[11]),
        (samples, 2.5, 77)
    );
}

#[test]
fn attributes_of_headers() {
    let bench = bench();
    bench.run("sfsegyread tape=ibm.sgy tfile=t.rsf read=h");
    let table = bench.run("sfheaderattr < t.rsf");
    let row = |name: &str| {
        let line = table.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(table.starts_with("91 headers, 4 traces\n*****"), "{table}");
    assert_eq!(row("tracl"), "tracl 0 1 @ 0 4 @ 3 2.5");
    assert_eq!(row("offset"), "offset 11 -750 @ 3 0 @ 0 -375");
    assert_eq!(row("gx"), "gx 23 123456 @ 0 123459 @ 3 123458");
    assert!(!table.contains("\ncdp "), "keys of zeros are left out");
    let described = bench.run("sfheaderattr < t.rsf desc=y");
    assert!(described.contains("[distance from the source to the receiver]"));
    let keys = bench.run("sfheaderattr desc=y < /dev/null");
    assert!(
        keys.lines().count() == 91
            && keys.contains("\noffset     11  distance from the source to the receiver\n"),
        "{keys}"
    );
    bench.raw(
        "f.rsf",
        "n1=2 n2=2 key1=depth",
        "native_float",
        &[0.25f32, 0.0, -1.5, 0.0],
    );
    let table = bench.run("sfheaderattr < f.rsf segy=n");
    assert!(
        table.contains("depth       0           -1.5 @ 1\t          0.25 @ 0\t        -0.625"),
        "{table}"
    );
}

#[test]
fn what_is_refused() {
    let bench = bench();
    bench.put("short.sgy", &bench.bytes("ibm.sgy")[..3700]);
    bench.put("text.sgy", "no SEG-Y at all");
    let mut strange = bench.bytes("ibm.sgy");
    strange[3224..3226].copy_from_slice(&[0, 4]);
    bench.put("strange.sgy", &strange);
    bench.raw("m.rsf", "n1=3", "native_int", &[1i32; 3]);
    bench.raw("long.rsf", "n1=70000", "native_float", &vec![0.0f32; 70_000]);
    bench.raw("slow.rsf", "n1=2 d1=0.5 unit1=s", "native_float", &[0.0f32; 2]);
    bench.run("sfsegyread tape=ibm.sgy tfile=t.rsf > d.rsf");
    for (line, word) in [
        ("sfsegyread tape=nothing.sgy", "cannot read tape=nothing.sgy"),
        ("sfsegyread tape=text.sgy", "the 3200 bytes of the textual header"),
        (
            "sfsegyread tape=short.sgy",
            "has no complete trace: a trace of 9 samples has 276 bytes (IBM reals)",
        ),
        (
            "sfsegyread tape=strange.sgy",
            "format 4 (fixed point with a gain code, which the standard calls obsolete) cannot be read or written: formats are 1 (IBM reals)",
        ),
        (
            "sfsegyread tape=ibm.sgy n2=5",
            "n2=5: tape=ibm.sgy has only 4 traces",
        ),
        (
            "sfsegyread tape=ibm.sgy mask=m.rsf",
            "but one is needed for each of 4 traces",
        ),
        ("sfsegyread tape=ibm.sgy read=x", "read=x is not allowed"),
        (
            "sfsegyread tape=ibm.sgy gx=238",
            "a key of 4 bytes must begin at one of the bytes 0 to 236",
        ),
        ("sfsegyread tape=ibm.sgy gx=here", "gx=here is not allowed"),
        ("sfsegyread tape=ibm.sgy key1=mine", "key1=mine needs mine="),
        (
            "sfsegyread tape=ibm.sgy key1=mine mine=2 key1_len=3",
            "it must have 2 or 4 of the bytes 0 to 239",
        ),
        (
            "cat ibm.sgy | sfsegyread tfile=t2.rsf",
            "is a pipe, whose length is unknown",
        ),
        ("sfsuread tape=text.sgy", "has no trace"),
        ("sfsuread tape=ieee.su format=1", "format= applies to SEG-Y only"),
        (
            "sfsuwrite < d.rsf tape=x format=5",
            "format= applies to SEG-Y only",
        ),
        ("sfsuwrite < long.rsf tape=x", "hold at most 65535 samples"),
        ("sfsuwrite < slow.rsf tape=x", "is 500000 microseconds"),
        (
            "sfsegywrite < d.rsf tape=x tfile=m.rsf",
            "4 traces need one header each, with 91 keys or more",
        ),
        (
            "sfsegywrite < d.rsf tape=x format=13",
            "format 13 cannot be read or written",
        ),
        (
            "sfsegywrite < d.rsf tape=x fold=99999",
            "fold=99999 does not fit into 2 bytes",
        ),
        (
            "sfsegywrite < d.rsf tape=x bfile=text.sgy",
            "has 15 bytes, but a binary header has 400",
        ),
        ("sfsegywrite < m.rsf tape=x", "float data are needed"),
    ] {
        let message = bench.refused(&format!("{line} > out.rsf"));
        assert!(message.contains(word), "{line}: {message}");
    }
}
