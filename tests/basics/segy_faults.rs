//! SEG-Y and SU files as other programs write them, and data that these formats cannot represent: they are read
//! correctly, or refused with a message that gives the fault.

use crate::bench::{Bench, ramp};
use crate::desk::built::checkout;

/// A bench with one file, and its bytes.
fn bench(name: &str) -> (Bench, Vec<u8>) {
    let bytes = std::fs::read(checkout("tests/data/segy").join(name)).unwrap();
    let bench = Bench::new();
    bench.put(name, &bytes);
    let program = if name.ends_with("su") {
        "sfsuread"
    } else {
        "sfsegyread"
    };
    bench.run(&format!("{program} tape={name} tfile=whole-t.rsf > whole.rsf"));
    (bench, bytes)
}

/// Reads a file, checks that its samples equal those of the intact file, and returns the warnings.
#[track_caller]
fn same(bench: &Bench, name: &str, words: &str) -> String {
    let program = if name.ends_with("su") {
        "sfsuread"
    } else {
        "sfsegyread"
    };
    let run = bench.sh(&format!("{program} tape={name} tfile=t.rsf {words} > d.rsf"));
    assert_eq!(run.code, 0, "{name}: {}", run.err);
    assert_eq!(bench.reals("d.rsf"), bench.reals("whole.rsf"), "{name}");
    run.err
}

/// A textual header in ASCII that begins with these words.
fn stanza(words: &str) -> Vec<u8> {
    let mut text = words.as_bytes().to_vec();
    text.resize(3200, b' ');
    text
}

#[test]
fn headers_of_a_table_get_what_the_data_say() {
    let bench = Bench::new();
    bench.raw("a.rsf", "n1=4 d1=0.002 o1=0.1 n2=3", "native_float", &ramp(12));
    let mut keys = vec![0i32; 3 * 91];
    (0..3).for_each(|trace| keys[91 * trace + 23] = 500 + trace as i32);
    bench.raw("keys.rsf", "n1=91 n2=3", "native_int", &keys);
    for format in [1, 2, 3, 5, 8] {
        let run = bench.sh(&format!(
            "sfsegywrite < a.rsf tape=a.sgy tfile=keys.rsf format={format}"
        ));
        assert_eq!(run.code, 0);
        assert!(!run.err.contains("delrt"), "{}", run.err);
        let (bytes, size) = (bench.bytes("a.sgy"), [0, 4, 4, 2, 0, 4, 0, 0, 1][format]);
        for trace in bytes[3600..].chunks_exact(240 + 4 * size) {
            let half = |at: usize| i16::from_be_bytes([trace[at], trace[at + 1]]);
            assert_eq!(
                (half(108), half(114), half(116)),
                (100, 4, 2000),
                "format {format}"
            );
        }
        bench.run("sfsegyread tape=a.sgy tfile=t.rsf > d.rsf");
        let axis = bench.axes("d.rsf", 2).remove(0);
        assert_eq!((axis.n, axis.o, axis.d), (4, 0.1, 0.002));
    }
    // Delays keep their differences from the first delay, which becomes the delay of the data.
    (0..3).for_each(|trace| keys[91 * trace + 35] = 40 + 10 * trace as i32);
    bench.raw("keys.rsf", "n1=91 n2=3", "native_int", &keys);
    let run =
        bench.sh("sfsegywrite < a.rsf tape=a.sgy tfile=keys.rsf; sfsegyread tape=a.sgy tfile=t.rsf > d.rsf");
    assert!(
        run.err
            .contains("is 40 ms, but the data begin at 100 ms (o1): 60 ms were added"),
        "{}",
        run.err
    );
    let back: Vec<i32> = bench.open("t.rsf").read_all().unwrap();
    let delays: Vec<i32> = back.chunks(91).map(|header| header[35]).collect();
    assert_eq!(delays, [100, 110, 120]);
}

#[test]
fn samples_that_a_format_cannot_hold_are_counted() {
    let bench = Bench::new();
    let header = "n1=4 d1=0.004 n2=1";
    bench.raw(
        "odd.rsf",
        header,
        "native_float",
        &[f32::NAN, f32::INFINITY, 1.0, -2.0],
    );
    bench.raw(
        "loud.rsf",
        header,
        "native_float",
        &[44507.0f32, -50000.0, 3.0, 0.0],
    );
    bench.raw("quiet.rsf", header, "native_float", &[1e-9f32, 0.0, 3e-9, -2e-9]);
    bench.raw("small.rsf", header, "native_float", &[7.0f32, 0.0, -3.0, 1.0]);
    let words = |line: &str| {
        let run = bench.sh(&format!(
            "sfsegywrite tape=x.sgy {line} && sfsegyread tape=x.sgy tfile=t.rsf > d.rsf"
        ));
        assert_eq!(run.code, 0, "{line}: {}", run.err);
        (run.err, bench.reals("d.rsf"))
    };
    let (text, back) = words("format=1 < odd.rsf");
    assert!(text.contains("1 samples are NaN and became 0"), "{text}");
    assert!(
        text.contains("1 samples are infinite and became the largest number of IBM reals"),
        "{text}"
    );
    assert_eq!(back, [0.0, f32::MAX, 1.0, -2.0]);
    let (text, back) = words("format=5 < odd.rsf");
    assert!(
        text.contains("1 samples are NaN and were written as they are"),
        "{text}"
    );
    assert!(back[0].is_nan() && back[1] == f32::INFINITY);
    let (text, back) = words("format=3 < loud.rsf");
    assert!(text.contains("2 samples were clipped at 32767"), "{text}");
    assert!(text.contains("the largest of the data is 50000"), "{text}");
    assert_eq!(back, [32767.0, -32768.0, 3.0, 0.0]);
    let (text, back) = words("format=2 < quiet.rsf");
    assert!(
        text.contains("the largest sample is 0.000000003, and integers of 4 bytes are whole numbers: rounding leaves little"),
        "{text}"
    );
    assert_eq!(back, [0.0; 4]);
    // If nothing is lost, there is no warning.
    for format in [1, 2, 3, 5, 8] {
        assert_eq!(
            words(&format!("format={format} < small.rsf")).0,
            "",
            "format {format}"
        );
    }
    for format in [1, 5] {
        assert_eq!(
            words(&format!("format={format} < quiet.rsf")).0,
            "",
            "format {format}"
        );
    }
    // These times do not fit in two bytes.
    for (header, word) in [
        ("n1=2 d1=0", "the interval between samples must be more than 0"),
        ("n1=2 d1=0.004 o1=40", "o1=40 is a delay of 40000 ms"),
    ] {
        bench.raw("t.rsf", header, "native_float", &[1.0f32, 2.0]);
        let message = bench.refused("sfsegywrite < t.rsf tape=t.sgy");
        assert!(message.contains(word), "{header}: {message}");
    }
}

#[test]
fn textual_headers_are_recognised_by_their_stanzas() {
    let (bench, whole) = bench("ieee.sgy");
    let ebcdic: Vec<u8> = {
        // The header is `((` and blanks in EBCDIC.
        let mut text = vec![0x40; 3200];
        text[..2].copy_from_slice(&[0x4d, 0x4d]);
        text
    };
    let end = stanza("((SEG: EndText))");
    let with = |count: i16, revision: u16, texts: &[&[u8]]| {
        let mut bytes = whole[..3600].to_vec();
        bytes[3504..3506].copy_from_slice(&count.to_be_bytes());
        bytes[3500..3502].copy_from_slice(&revision.to_be_bytes());
        texts.iter().for_each(|text| bytes.extend_from_slice(text));
        bytes.extend_from_slice(&whole[3600..]);
        bench.put("text.sgy", bytes);
    };
    let first = stanza("((OGP: P1/11)) any ellipsoid");
    let second = stanza("((JohnDoe: of 1999)) lines");
    for (count, revision, texts) in [
        (2, 0, [&first[..], &second].as_slice()),
        (2, 0, &[&ebcdic, &second]),
        (-1, 0, &[&first, &second, &end]),
        (-1, 0x100, &[&first, &end]),
        (-1, 0x200, &[&end]),
        (0, 0, &[&first, &end]),
        (1, 0x100, &[&second]),
        // If the number of textual headers is given, it decides where they end, independently of their text.
        (2, 0x100, &[&end, &second]),
    ] {
        with(count, revision, texts);
        assert_eq!(same(&bench, "text.sgy", ""), "", "{count} {revision}");
        // The length of a pipe is unknown, so the number cannot be guessed from it.
        bench.run("cat text.sgy | sfsegyread n2=4 tfile=t.rsf > d.rsf");
        assert_eq!(bench.reals("d.rsf"), bench.reals("whole.rsf"));
    }
    with(-1, 0x100, &[&first, &second]);
    let message = bench.refused("sfsegyread tape=text.sgy > d.rsf");
    assert!(
        message.contains("textual headers up to `((SEG: EndText))`"),
        "{message}"
    );
}

#[test]
fn revision_two_gives_the_places_of_traces_and_samples() {
    let (bench, whole) = bench("ieee.sgy");
    let size = (whole.len() - 3600) / 4;
    let put =
        |at: usize, bytes: &[u8], file: &mut Vec<u8>| file[3200 + at..][..bytes.len()].copy_from_slice(bytes);
    let mut file = whole[..3600].to_vec();
    put(300, &0x201u16.to_be_bytes(), &mut file);
    put(306, &2i32.to_be_bytes(), &mut file);
    // The fields of revision 0 are no longer read.
    put(20, &0u16.to_be_bytes(), &mut file);
    put(68, &9i32.to_be_bytes(), &mut file);
    put(72, &4000f64.to_be_bytes(), &mut file);
    put(320, &5000u64.to_be_bytes(), &mut file);
    put(328, &1i32.to_be_bytes(), &mut file);
    file.resize(5000, 0);
    for trace in whole[3600..].chunks_exact(size) {
        file.extend_from_slice(&trace[..240]);
        file.extend_from_slice(&[b'x'; 480]);
        file.extend_from_slice(&trace[240..]);
    }
    file.extend_from_slice(&stanza("((SEG: EndText))"));
    bench.put("two.sgy", &file);
    assert_eq!(same(&bench, "two.sgy", ""), "");
    assert_eq!(bench.axes("d.rsf", 2)[0].d, 0.004);
    bench.run("cmp t.rsf@ whole-t.rsf@ && sfsegyread tape=two.sgy read=h tfile=h.rsf && cmp h.rsf@ t.rsf@");
    put(306, &(-7i32).to_be_bytes(), &mut file);
    bench.put("two.sgy", &file);
    let message = bench.refused("sfsegyread tape=two.sgy > d.rsf");
    assert!(
        message.contains("announces -7 additional headers of 240 bytes for each trace"),
        "{message}"
    );
}

#[test]
fn headers_that_contradict_each_other_are_warned_of() {
    let (bench, whole) = bench("ieee.sgy");
    let size = (whole.len() - 3600) / 4;
    let file = |changes: &[(usize, i16)]| {
        let mut bytes = whole.clone();
        for (at, value) in changes {
            bytes[*at..at + 2].copy_from_slice(&value.to_be_bytes());
        }
        bench.put("odd.sgy", &bytes);
    };
    // The sampling interval or the number of samples is missing in the binary header, but present in the trace headers.
    file(&[(3216, 0), (3220, 0)]);
    assert_eq!(same(&bench, "odd.sgy", ""), "");
    assert_eq!(bench.axes("d.rsf", 2)[0].d, 0.004);
    let no_step: Vec<(usize, i16)> = (0..4).map(|trace| (3600 + trace * size + 116, 0)).collect();
    file(&[no_step.as_slice(), &[(3216, 0)]].concat());
    let text = same(&bench, "odd.sgy", "");
    assert!(
        text.contains("has a sampling interval: axis 1 counts samples"),
        "{text}"
    );
    let axis = bench.axes("d.rsf", 2).remove(0);
    assert_eq!(
        (axis.o, axis.d, axis.label.as_deref()),
        (0.0, 1.0, Some("Sample"))
    );
    // The binary header has another trace length, which does not fit the size of the file.
    file(&[(3220, 8)]);
    let text = same(&bench, "odd.sgy", "");
    assert!(
        text.contains("has 8 samples per trace, but the first trace header 9"),
        "{text}"
    );
    // One trace header has another length.
    file(&[(3600 + 2 * size + 114, 100)]);
    let text = same(&bench, "odd.sgy", "");
    assert!(
        text.contains("1 trace headers give a number of samples other than the 9"),
        "{text}"
    );
    assert!(text.contains("in trace 3, with 100"), "{text}");
    // Another format is given on the command line.
    let run = bench.sh("sfsegyread tape=ieee.sgy tfile=t.rsf format=1 > d.rsf");
    assert!(
        run.err
            .contains("has format 5 (IEEE reals), but samples are read as IBM reals because of format="),
        "{}",
        run.err
    );
    assert_eq!(same(&bench, "ieee.sgy", "format=5"), "");
}

#[test]
fn seismic_unix_in_two_orders_of_bytes() {
    for name in ["ieee.su", "little.su"] {
        let (bench, whole) = bench(name);
        let mut mixed = whole.clone();
        for trace in mixed.chunks_exact_mut(240 + 36) {
            trace[240..].chunks_exact_mut(4).for_each(|word| word.reverse());
        }
        bench.put("mixed.su", &mixed);
        let messages = same(&bench, "mixed.su", "");
        assert!(
            messages.contains("as Madagascar's sfsuwrite writes them, and are read accordingly"),
            "{messages}"
        );
        assert_eq!(same(&bench, name, ""), "");
        // If the byte order is given, it is used even if it is wrong.
        let option = if name == "ieee.su" { "suxdr=y" } else { "endian=n" };
        let listing = bench.run(&format!("sfsuread tape=mixed.su {option} tfile=t.rsf > d.rsf"));
        assert_eq!(listing, "");
        assert_ne!(bench.reals("d.rsf"), bench.reals("whole.rsf"));
    }
    let (bench, _) = bench("ieee.sgy");
    bench.put(
        "ibm.sgy",
        std::fs::read(checkout("tests/data/segy/ibm.sgy")).unwrap(),
    );
    for name in ["ieee.sgy", "ibm.sgy"] {
        let message = bench.refused(&format!("sfsuread tape={name} tfile=t.rsf > d.rsf"));
        assert!(
            message.contains("is SEG-Y and not SU: sfsegyread reads it"),
            "{message}"
        );
    }
}

#[test]
fn the_list_of_keys_is_whole() {
    let (bench, _) = bench("ieee.sgy");
    let rows = |line: &str| {
        bench
            .run(line)
            .lines()
            .filter(|line| line.starts_with('['))
            .count()
    };
    assert_eq!(rows("sfheaderattr < whole-t.rsf desc=y"), 91);
    assert_eq!(rows("sfheaderattr < whole-t.rsf"), 0);
}

/// Three traces of one spike at 0.24 s that begin at different times: read unchanged, they cause a warning, and on a
/// common axis they agree.
#[test]
fn traces_that_begin_at_other_times_are_warned_of_or_put_on_one_axis() {
    let bench = Bench::new();
    let delays = [80, 0, 40];
    // The sampling interval is 4 ms.
    let spikes = delays.map(|delay| (240 - delay) / 4);
    let values: Vec<f32> = (0..3 * 70)
        .map(|k| f32::from(u8::from(spikes[k / 70] as usize == k % 70)))
        .collect();
    bench.raw("a.rsf", "n1=70 d1=0.004 o1=0.08 n2=3", "native_float", &values);
    let mut keys = vec![0i32; 3 * 91];
    (0..3).for_each(|trace| keys[91 * trace + 35] = delays[trace]);
    bench.raw("keys.rsf", "n1=91 n2=3", "native_int", &keys);
    bench.run("sfsegywrite < a.rsf tape=a.sgy tfile=keys.rsf; sfsuwrite < a.rsf tape=a.su tfile=keys.rsf");
    bench.raw("last.rsf", "n1=3", "native_int", &[0, 1, 1]);
    for (program, file) in [("sfsegyread", "a.sgy"), ("sfsuread", "a.su")] {
        let run = bench.sh(&format!("{program} tape={file} > d.rsf"));
        assert_eq!((run.code, bench.reals("d.rsf")), (0, values.clone()));
        for words in [
            "begins at 80 ms",
            "2 others at other times; the first of these is trace 2 at 0 ms",
            "align=y",
        ] {
            assert!(run.err.contains(words), "{words}: {}", run.err);
        }
        // The common axis begins with the earliest trace and ends with the latest.
        for (words, traces, samples) in [("", 3, 90), ("mask=last.rsf", 2, 80)] {
            let line = format!("{program} tape={file} align=y {words} > d.rsf");
            assert_eq!(bench.messages(&line), "", "{line}");
            let axis = bench.axes("d.rsf", 2).remove(0);
            assert_eq!((axis.n, axis.o, axis.d), (samples, 0.0, 0.004), "{line}");
            for trace in bench.reals("d.rsf").chunks(samples) {
                let ones: Vec<usize> = (0..samples).filter(|&k| trace[k] != 0.0).collect();
                assert_eq!((ones, bench.lengths("d.rsf", 2)[1]), (vec![60], traces), "{line}");
            }
        }
    }
    let message = bench.refused("cat a.sgy | sfsegyread align=y n2=3 > d.rsf");
    assert!(message.contains("read twice"), "{message}");
    (0..3).for_each(|trace| keys[91 * trace + 35] = 10 * trace as i32);
    bench.raw("keys.rsf", "n1=91 n2=3", "native_int", &keys);
    let messages =
        bench.refused("sfsegywrite < a.rsf tape=b.sgy tfile=keys.rsf; sfsegyread tape=b.sgy align=y > d.rsf");
    for words in [
        "trace 2 begins 10 ms",
        "not a whole number of samples of 4 ms",
        "sfdatstretch",
    ] {
        assert!(messages.contains(words), "{words}: {messages}");
    }
}

#[test]
fn coordinates_in_degrees_are_warned_of_with_lists_of_points() {
    let bench = Bench::new();
    bench.run("sfmath n1=9 d1=0.004 n2=2 output=x1 > a.rsf; sfmath n1=2 n2=2 output='x1+7*x2+1' > rec.rsf; sfmath n1=2 output=5 > sou.rsf");
    bench.run("sfsegywrite < a.rsf tape=a.sgy sou=sou.rsf rec=rec.rsf");
    let read = "sfsegyread tape=a.sgy sou=s.rsf rec=r.rsf > d.rsf";
    assert_eq!(bench.messages(read), "");
    let mut bytes = bench.bytes("a.sgy");
    for (unit, words) in [(2, "seconds of arc (counit=2"), (3, "decimal degrees (counit=3")] {
        let size = (bytes.len() - 3600) / 2;
        (0..2).for_each(|trace| bytes[3600 + trace * size + 89] = unit);
        bench.put("a.sgy", &bytes);
        let text = bench.messages(read);
        assert!(text.contains(words) && text.contains("project them"), "{text}");
    }
}

#[test]
fn coordinates_in_feet_are_warned_of_with_lists_of_points() {
    let bench = Bench::new();
    bench.run("sfmath n1=9 d1=0.004 n2=2 output=x1 > a.rsf; sfmath n1=2 n2=2 output='1000*x1+70*x2+1000' > rec.rsf; sfmath n1=2 output=2000 > sou.rsf");
    let read = "sfsegyread tape=a.sgy sou=s.rsf rec=r.rsf > d.rsf";
    for (mfeet, warns) in [(1, false), (2, true)] {
        bench.run(&format!(
            "sfsegywrite < a.rsf tape=a.sgy sou=sou.rsf rec=rec.rsf mfeet={mfeet}"
        ));
        let text = bench.messages(read);
        assert_eq!(text.contains("lengths are in feet (mfeet=2)"), warns, "{text}");
        assert_eq!(text.contains("by feet=convert"), warns, "{text}");
        // Without points, there are no lengths to convert.
        assert_eq!(bench.messages("sfsegyread tape=a.sgy > d.rsf"), "");
    }
    // Points, depths and the origin are converted to metres together, and are metres in the next file.
    let converted = read.replace("> d.rsf", "feet=convert origin=500,0 > d.rsf");
    assert_eq!(bench.messages(&converted), "");
    bench.run("sfsegywrite < d.rsf tape=m.sgy sou=s.rsf rec=r.rsf; sfsegyread tape=m.sgy sou=s2.rsf rec=r2.rsf > d2.rsf");
    let metres = |feet: &[f32]| feet.iter().map(|x| 0.3048 * x).collect::<Vec<f32>>();
    for (name, feet) in [
        ("s.rsf", &[1500.0, 2000.0][..]),
        ("r.rsf", &[500.0, 2000.0, 570.0, 2070.0]),
        ("s2.rsf", &[2000.0, 2000.0]),
        ("r2.rsf", &[1000.0, 2000.0, 1070.0, 2070.0]),
    ] {
        let (metres_of_file, expected) = (bench.reals(name), metres(feet));
        let close = |(a, b): (&f32, &f32)| (a - b).abs() < 1e-3;
        assert!(
            metres_of_file.len() == expected.len() && metres_of_file.iter().zip(&expected).all(close),
            "{name}: {metres_of_file:?} {expected:?}"
        );
    }
    let refused = bench.refused("sfsegyread tape=m.sgy sou=s.rsf rec=r.rsf feet=convert > d.rsf");
    assert!(refused.contains("lengths are in metres (mfeet=1)"), "{refused}");
    assert!(bench.refused(&read.replace(">", "feet=y >")).contains("use keep"));
}

#[test]
fn new_headers_describe_what_they_hold() {
    let bench = Bench::new();
    bench.run("sfspike n1=10 d1=0.004 o1=0.02 n2=3 > a.rsf; sfpoints x=0 z=5 > s.rsf; sfpoints x=0:200:100 z=5 > r.rsf");
    bench.run("sfsegywrite < a.rsf tape=a.sgy sou=s.rsf rec=r.rsf; sfsegyread tape=a.sgy hfile=text bfile=binary > b.rsf");
    let text = String::from_utf8(bench.bytes("text")).unwrap();
    for words in [
        "3 TRACES OF 10 SAMPLES, ONE EVERY 4000 MICROSECONDS",
        "AT 20 MS",
        "IN METRES",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    // The unit code stands for metres.
    assert_eq!(bench.bytes("a.sgy")[3254..3256], [0, 1]);
}

#[test]
fn files_without_a_geometry_and_files_of_su_are_named() {
    let bench = Bench::new();
    bench.run(
        "sfspike n1=10 d1=0.004 n2=3 > a.rsf; sfsegywrite < a.rsf tape=a.sgy; sfsuwrite < a.rsf tape=a.su",
    );
    let run = bench.sh("sfsegyread tape=a.sgy sou=s.rsf rec=r.rsf > b.rsf");
    assert!(
        run.code == 0 && run.err.contains("all coordinates of the trace headers are 0"),
        "{}",
        run.err
    );
    // Rounding by less than half a thousandth of the unit causes no warning.
    bench.run("sfpoints x=0 z=12.345678 > s.rsf; sfpoints x=1:3:1 z=12.345678 > r.rsf");
    let run = bench.sh("sfsegywrite < a.rsf sou=s.rsf rec=r.rsf tape=a.sgy");
    assert!(run.code == 0 && !run.err.contains("rounded"), "{}", run.err);
    // Offsets in kilometres are not whole numbers, and there is no scale for offsets.
    bench.run("sfpoints x=0.4 z=0 > s.rsf; sfpoints x=0.1:0.5:0.2 z=0 > r.rsf");
    let run = bench.sh("sfsegywrite < a.rsf sou=s.rsf rec=r.rsf tape=a.sgy");
    let expected = "offsets are rounded by up to 0.300, and the largest is 0.300";
    assert!(run.code == 0 && run.err.contains(expected), "{}", run.err);
    // A SU file is recognised for any bytes in the middle of a trace, which are read as the binary header.
    bench.run("sfspike n1=2000 d1=0.004 n2=5 mag=-1e7 > a.rsf; sfsuwrite < a.rsf tape=a.su");
    let message = bench.refused("sfsegyread tape=a.su > b.rsf");
    assert!(message.contains("sfsuread"), "{message}");
}
