//! Headers of SEG-Y, byte by byte: the place of each field, counted from 1, follows the standard (SEG Technical
//! Standards Committee, SEG-Y revision 1, 2002, tables 2 and 3; revision 2.1, 2023).

use crate::bench::{Bench, ramp};

/// The keys of the trace header and the first byte of each. A key ends where the next begins; the last ends with byte
/// 240.
#[rustfmt::skip]
pub const KEYS: [(&str, usize); 91] = [
    ("tracl", 1), ("tracr", 5), ("fldr", 9), ("tracf", 13), ("ep", 17), ("cdp", 21), ("cdpt", 25), ("trid", 29), ("nvs", 31),
    ("nhs", 33), ("duse", 35), ("offset", 37), ("gelev", 41), ("selev", 45), ("sdepth", 49), ("gdel", 53), ("sdel", 57),
    ("swdep", 61), ("gwdep", 65), ("scalel", 69), ("scalco", 71), ("sx", 73), ("sy", 77), ("gx", 81), ("gy", 85),
    ("counit", 89), ("wevel", 91), ("swevel", 93), ("sut", 95), ("gut", 97), ("sstat", 99), ("gstat", 101), ("tstat", 103),
    ("laga", 105), ("lagb", 107), ("delrt", 109), ("muts", 111), ("mute", 113), ("ns", 115), ("dt", 117), ("gain", 119),
    ("igc", 121), ("igi", 123), ("corr", 125), ("sfs", 127), ("sfe", 129), ("slen", 131), ("styp", 133), ("stas", 135),
    ("stae", 137), ("tatyp", 139), ("afilf", 141), ("afils", 143), ("nofilf", 145), ("nofils", 147), ("lcf", 149),
    ("hcf", 151), ("lcs", 153), ("hcs", 155), ("year", 157), ("day", 159), ("hour", 161), ("minute", 163), ("sec", 165),
    ("timbas", 167), ("trwf", 169), ("grnors", 171), ("grnofr", 173), ("grnlof", 175), ("gaps", 177), ("otrav", 179),
    ("cdpx", 181), ("cdpy", 185), ("iline", 189), ("xline", 193), ("shnum", 197), ("shsca", 201), ("tval", 203),
    ("tconst4", 205), ("tconst2", 209), ("tunits", 211), ("device", 213), ("tscalar", 215), ("stype", 217), ("sendir", 219),
    ("unknown", 223), ("smeas4", 225), ("smeas2", 229), ("smeasu", 231), ("unass1", 233), ("unass2", 237),
];

/// Fields of the binary header that can be set by parameters, and the first byte of each in the file.
#[rustfmt::skip]
const WORDS: [(&str, usize); 27] = [
    ("jobid", 3201), ("lino", 3205), ("reno", 3209), ("ntrpr", 3213), ("nart", 3215), ("hdt", 3217), ("dto", 3219),
    ("hns", 3221), ("nso", 3223), ("format", 3225), ("fold", 3227), ("tsort", 3229), ("vscode", 3231), ("hsfs", 3233),
    ("hsfe", 3235), ("hslen", 3237), ("hstyp", 3239), ("schn", 3241), ("hstas", 3243), ("hstae", 3245), ("htatyp", 3247),
    ("hcorr", 3249), ("bgrcv", 3251), ("rcvm", 3253), ("mfeet", 3255), ("polyt", 3257), ("vpol", 3259),
];

/// The number in `size` bytes at byte `first` of a file.
fn number(bytes: &[u8], first: usize, size: usize, little: bool) -> i64 {
    let mut bytes = bytes[first - 1..][..size].to_vec();
    if little {
        bytes.reverse();
    }
    let start = if bytes[0] > 127 { -1 } else { 0 };
    bytes.iter().fold(start, |n, byte| n << 8 | i64::from(*byte))
}

/// Two trace headers in which neighbouring bytes always differ, of 3 samples every 2 ms.
fn headers(little: bool) -> Vec<Vec<u8>> {
    let header = |trace: usize| {
        let mut bytes: Vec<u8> = (0..240).map(|i| (i * 37 + 11 + 101 * trace) as u8).collect();
        let order = |x: u16| if little { x.to_le_bytes() } else { x.to_be_bytes() };
        bytes[114..116].copy_from_slice(&order(3));
        bytes[116..118].copy_from_slice(&order(2000));
        // Times are in ms.
        bytes[214..216].copy_from_slice(&order(1));
        bytes
    };
    (0..2).map(header).collect()
}

#[test]
fn every_key_lies_where_the_standard_has_it() {
    let bench = Bench::new();
    for little in [false, true] {
        let mut file = vec![0u8; 3600];
        let order = |x: u16| if little { x.to_le_bytes() } else { x.to_be_bytes() };
        for (at, value) in [(3216, 2000), (3220, 3), (3224, 5)] {
            file[at..at + 2].copy_from_slice(&order(value));
        }
        for header in headers(little) {
            file.extend(header);
            for x in [1.0f32, 2.0, -3.0] {
                file.extend(if little { x.to_le_bytes() } else { x.to_be_bytes() });
            }
        }
        bench.put("a.sgy", &file);
        bench.run("sfsegyread tape=a.sgy tfile=t.rsf hfile=h bfile=b > d.rsf");
        assert_eq!(bench.reals("d.rsf"), [1.0, 2.0, -3.0, 1.0, 2.0, -3.0]);
        assert_eq!(bench.bytes("b"), file[3200..3600]);
        let table: Vec<i32> = bench.open("t.rsf").read_all().unwrap();
        for (header, row) in headers(little).iter().zip(table.chunks_exact(91)) {
            for (i, (name, first)) in KEYS.iter().enumerate() {
                let end = KEYS.get(i + 1).map_or(241, |next| next.1);
                let expected = number(header, *first, end - first, little);
                assert_eq!(i64::from(row[i]), expected, "{name} little-endian {little}");
            }
        }
        for axis in bench.axes("t.rsf", 2) {
            assert_eq!((axis.o, axis.d), (0.0, 1.0));
        }
        // Listing the keys by name gives the same order.
        let list = bench.run("sfheaderattr < t.rsf desc=y");
        let names: Vec<&str> = list
            .lines()
            .filter_map(|line| line.split_once(' ').map(|(name, _)| name))
            .filter(|name| KEYS.iter().any(|key| key.0 == *name))
            .collect();
        assert_eq!(names, KEYS.map(|key| key.0));
        // The same bytes are written if the first delay equals the delay of the data.
        let endian = if little { "n" } else { "y" };
        bench.run(&format!(
            "sfsegywrite < d.rsf tape=b.sgy tfile=t.rsf hfile=h bfile=b endian={endian}"
        ));
        assert!(bench.bytes("b.sgy")[3200..] == file[3200..], "{little}");
    }
}

#[test]
fn words_go_to_the_bytes_of_the_binary_header() {
    let bench = Bench::new();
    bench.raw("a.rsf", "n1=4 d1=0.002 n2=3", "native_float", &ramp(12));
    let words: String = (1..)
        .zip(WORDS)
        .filter(|(_, (name, _))| !["hns", "hdt", "format"].contains(name))
        .map(|(i, (name, _))| format!(" {name}={}", 300 + i))
        .collect();
    bench.run(&format!(
        "sfsegywrite < a.rsf tape=a.sgy{words}; sfsegywrite < a.rsf tape=b.sgy{words} hdt=77 endian=n format=5"
    ));
    for (name, little) in [("a.sgy", false), ("b.sgy", true)] {
        let file = bench.bytes(name);
        for (i, (key, first)) in WORDS.iter().enumerate() {
            let size = WORDS.get(i + 1).map_or(3261, |next| next.1) - first;
            let expected = match *key {
                "hns" => 4,
                "hdt" if little => 77,
                "hdt" => 2000,
                "format" if little => 5,
                "format" => 1,
                _ => 301 + i as i64,
            };
            assert_eq!(number(&file, *first, size, little), expected, "{name}: {key}");
        }
        // In revision 0 there is nothing after these fields.
        assert!(file[3260..3600].iter().all(|byte| *byte == 0), "{name}");
        assert_eq!(file.len(), 3600 + 3 * (240 + 16));
    }
    // If they are not given, the first three numbers of the binary header are 1.
    bench.run("sfsegywrite < a.rsf tape=c.sgy");
    let file = bench.bytes("c.sgy");
    let numbers = [3201, 3205, 3209].map(|first| number(&file, first, 4, false));
    assert_eq!(numbers, [1, 1, 1]);
    let counted = (3213..3261)
        .step_by(2)
        .map(|first| number(&file, first, 2, false));
    let named = counted.enumerate().filter(|(_, x)| *x != 0);
    assert_eq!(named.collect::<Vec<_>>(), [(2, 2000), (4, 4), (6, 1)]);
    // The trace headers contain only their numbers, the kind of trace, the number of samples and the interval.
    for (i, trace) in file[3600..].chunks_exact(256).enumerate() {
        let mut expected = [0u8; 240];
        for (first, value) in [(4, 1 + i as u8), (8, 1 + i as u8), (30, 1), (116, 4), (118, 0xd0)] {
            expected[first - 1] = value;
        }
        expected[116] = 7;
        assert_eq!(trace[..240], expected);
    }
}

#[test]
fn revision_two_is_written_as_the_standard_has_it() {
    let bench = Bench::new();
    bench.raw("a.rsf", "n1=4 d1=0.002 n2=3", "native_float", &ramp(12));
    for (words, little) in [("", false), ("endian=n", true)] {
        bench.run(&format!("sfsegywrite < a.rsf tape=a.sgy format=6 {words}"));
        let file = bench.bytes("a.sgy");
        assert_eq!(number(&file, 3225, 2, little), 6);
        assert_eq!(number(&file, 3221, 2, little), 4);
        assert_eq!(number(&file, 3269, 4, little), 4, "samples");
        let interval = number(&file, 3273, 8, little) as u64;
        assert_eq!(f64::from_bits(interval), 2000.0, "interval in microseconds");
        assert_eq!(
            number(&file, 3297, 4, little),
            0x0102_0304,
            "the constant of the byte order"
        );
        assert_eq!(file[3500..3502], [2, 1], "revision 2.1");
        assert_eq!(number(&file, 3503, 2, little), 1, "traces of one length");
        assert_eq!(number(&file, 3505, 2, little), 0, "no further textual header");
        assert_eq!(number(&file, 3507, 4, little), 0, "no further trace header");
        assert_eq!(number(&file, 3521, 8, little), 3600, "the first trace");
        assert_eq!(number(&file, 3529, 4, little), 0, "no trailer");
        let sample = |k: usize| f64::from_bits(number(&file, 3841 + 8 * k, 8, little) as u64);
        assert_eq!([0, 1, 2, 3].map(sample), [-2.25, -1.5, -0.75, 0.0]);
    }
}

/// Letters have their codes in IBM's own table of code page 037.
#[test]
fn textual_headers_are_in_ebcdic() {
    let bench = Bench::new();
    bench.raw("a.rsf", "n1=2 d1=0.002 n2=1", "native_float", &ramp(2));
    bench.put("h", "C 1 AZ az 09 .<(+|&!$*);-/,%_>?`:#@'=\"~{}[]^\\\nC 2\n");
    bench.run("sfsegywrite < a.rsf tape=a.sgy hfile=h; sfsegyread tape=a.sgy hfile=back read=d > d.rsf");
    #[rustfmt::skip]
    let expected = [
        0xc3, 0x40, 0xf1, 0x40, 0xc1, 0xe9, 0x40, 0x81, 0xa9, 0x40, 0xf0, 0xf9, 0x40, 0x4b, 0x4c, 0x4d, 0x4e, 0x4f, 0x50,
        0x5a, 0x5b, 0x5c, 0x5d, 0x5e, 0x60, 0x61, 0x6b, 0x6c, 0x6d, 0x6e, 0x6f, 0x79, 0x7a, 0x7b, 0x7c, 0x7d, 0x7e, 0x7f,
        0xa1, 0xc0, 0xd0, 0xba, 0xbb, 0xb0, 0xe0,
    ];
    let file = bench.bytes("a.sgy");
    assert_eq!(file[..expected.len()], expected);
    assert_eq!(file[80..84], [0xc3, 0x40, 0xf2, 0x40]);
    assert!(
        file[84..3200].iter().all(|byte| *byte == 0x40),
        "blanks to the end"
    );
    let back = bench.bytes("back");
    assert_eq!(back.len(), 3200);
    assert!(back.starts_with(b"C 1 AZ az 09 .<(+|&!$*);-/,%_>?`:#@'=\"~{}[]^\\   "));
    // Whole headers are used unchanged; a character that has no code becomes a blank.
    let mut whole = vec![b'x'; 3200];
    whole[1] = 7;
    whole[2] = 200;
    bench.put("h", &whole);
    bench.run("sfsegywrite < a.rsf tape=a.sgy hfile=h");
    assert_eq!(bench.bytes("a.sgy")[..4], [0xa7, 0x40, 0x40, 0xa7]);
    // The text contains both line-end codes, and one code that is not a printable character.
    let mut file = bench.bytes("a.sgy");
    file[..3].copy_from_slice(&[0x15, 0x25, 0x16]);
    bench.put("b.sgy", &file);
    bench.run("sfsegyread tape=b.sgy hfile=back read=d > d.rsf");
    assert_eq!(bench.bytes("back")[..4], *b"\n\n x");
    // The default header has 40 lines, of which the last is as the standard requires.
    bench.run("sfsegywrite < a.rsf tape=a.sgy; sfsegyread tape=a.sgy hfile=back read=d > d.rsf");
    let text = String::from_utf8(bench.bytes("back")).unwrap();
    assert!(text.starts_with("C1  WRITTEN BY "), "{text}");
    assert!(text[80..].starts_with("C2  1 TRACES OF 2 SAMPLES, ONE EVERY 2000 MICROSECONDS  "));
    assert!(text[160..].starts_with("C3  THE FIRST SAMPLE IS TAKEN AT 0 MS  "));
    for i in 3..39 {
        assert_eq!(text[80 * i..80 * i + 80].trim_end(), format!("C{}", i + 1));
    }
    assert_eq!(text[3120..].trim_end(), "C40 END TEXTUAL HEADER");
}

/// A binary header from another file is adapted to the data that are written: no further textual headers, the current
/// number of samples, and the byte order of the file.
#[test]
fn binary_headers_of_other_files_fit_what_is_written() {
    let bench = Bench::new();
    bench.run("sfspike n1=40 d1=0.004 n2=3 k1=7 > a.rsf; sfsegywrite < a.rsf tape=a.sgy format=5; sfsegyread tape=a.sgy bfile=b tfile=t.rsf > d.rsf; sfwindow < a.rsf n1=15 j1=2 > w.rsf");
    let binary = bench.bytes("b");
    // The changes set the revision and the number of further textual headers; in revision 2 also the number of further
    // trace headers, the number of samples and the interval.
    for (changes, warns) in [
        (&[(300, &[1u8, 0][..]), (304, &[0, 2])][..], true),
        (
            &[
                (300, &[2, 0]),
                (306, &[0, 0, 0, 2]),
                (68, &[0, 0, 0, 40]),
                (72, &500.25f64.to_be_bytes()),
            ],
            false,
        ),
    ] {
        let mut bytes = binary.clone();
        for (at, value) in changes {
            bytes[*at..at + value.len()].copy_from_slice(value);
        }
        bench.put("other", &bytes);
        for data in ["a", "w"] {
            let text = bench.messages(&format!("sfsegywrite < {data}.rsf bfile=other tape=o.sgy"));
            assert_eq!(
                text.contains("announces 2 extended textual headers, but they are not written"),
                warns,
                "{text}"
            );
            bench.run("sfsegyread tape=o.sgy > back.rsf");
            assert_eq!(bench.reals("back.rsf"), bench.reals(&format!("{data}.rsf")));
            assert_eq!(
                bench.axes("back.rsf", 2)[0].d,
                bench.axes(&format!("{data}.rsf"), 2)[0].d
            );
        }
    }
    bench.run("sfsegywrite < a.rsf tape=l.sgy format=5 endian=n; sfsegyread tape=l.sgy bfile=little tfile=t.rsf > d.rsf");
    let text = bench.refused("sfsegywrite < a.rsf bfile=little tape=o.sgy");
    assert!(
        text.contains("little has the other byte order: endian=n writes a file with that order"),
        "{text}"
    );
    bench.run("sfsegywrite < a.rsf bfile=little tape=o.sgy endian=n; cmp o.sgy l.sgy");
}

/// Sampling intervals that do not fit in two bytes are written as the eight-byte real of SEG-Y revision 2.1; SU has no
/// such field.
#[test]
fn intervals_that_two_bytes_do_not_hold() {
    let bench = Bench::new();
    for (d1, short) in [
        ("0.1", 0u16),
        ("0.0001237", 124),
        ("0.0000007", 0),
        ("0.003333333", 3333),
    ] {
        bench.raw(
            "a.rsf",
            &format!("n1=4 d1={d1} unit1=s"),
            "native_float",
            &[1.0f32; 4],
        );
        let text = bench.messages("sfsegywrite < a.rsf tape=a.sgy");
        assert!(text.contains("the file is of revision 2.1"), "{d1}: {text}");
        let bytes = bench.bytes("a.sgy");
        assert_eq!(bytes[3500..3502], [2, 1], "{d1}");
        let half = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        assert_eq!((half(3216), half(3600 + 116)), (short, short), "{d1}");
        assert_eq!(
            bench.messages("sfsegyread tape=a.sgy tfile=t.rsf > b.rsf"),
            "",
            "{d1}"
        );
        assert_eq!(bench.axes("b.rsf", 1)[0].d, d1.parse::<f32>().unwrap(), "{d1}");
        // Headers that are written again do not change.
        assert!(
            !bench
                .messages("sfsegywrite < b.rsf tape=b.sgy tfile=t.rsf")
                .contains("corrected"),
            "{d1}"
        );
    }
    bench.raw("a.rsf", "n1=4 d1=0.1", "native_float", &[1.0f32; 4]);
    let text = bench.refused("sfsuwrite < a.rsf tape=a.su");
    assert!(
        text.contains("d1=0.1 is 100000 microseconds") && text.contains("sfsegywrite writes"),
        "{text}"
    );
}

/// Headers are made in the order of shots, then receivers.
#[test]
fn traces_in_another_order_than_their_points() {
    let bench = Bench::new();
    bench.run("sfmath n1=2 n2=5 output='100*x1+x2' > rec.rsf; sfmath n1=2 n2=3 output=x2 > sou.rsf; sfmath n1=2 n2=2 output='x2' > two.rsf");
    let write = |axes: &str, points: &str| {
        format!("sfmath n1=9 d1=0.004 {axes} output=1 > a.rsf; sfsegywrite < a.rsf tape=a.sgy {points}")
    };
    let survey = "sou=sou.rsf rec=rec.rsf";
    for axes in [
        "n2=5 n3=3",
        "n2=15",
        "n2=5 label2=Receiver n3=3 label3=Shot",
        "n2=5 n3=1 n4=3",
        "n2=1 n3=15",
    ] {
        bench.run(&write(axes, survey));
    }
    for (axes, points) in [
        ("n2=3 n3=5", survey),
        ("n2=3 label2=Shot n3=5 label3=Receiver", survey),
        ("n2=2 label2=Shot n3=2 label3=r", "sou=two.rsf rec=two.rsf"),
    ] {
        let text = bench.refused(&write(axes, points));
        assert!(
            text.contains("in the wrong order") && text.contains("sftransp plane=23"),
            "{axes}: {text}"
        );
    }
}

/// Keys that are read a byte too late, because the standard counts bytes from 1.
#[test]
fn keys_whose_bytes_are_counted_from_one_are_warned_of() {
    let bench = Bench::new();
    bench.run(
        "sfspike n1=3 d1=0.002 n2=4 | sfsegywrite tape=a.sgy > o.rsf 2> said; sfsegyread tape=a.sgy tfile=t.rsf > d.rsf; \
         sfheadermath < t.rsf output=N+101 key=cdpx > h.rsf; sfsegywrite < d.rsf tape=b.sgy tfile=h.rsf",
    );
    let read = |key: &str| bench.messages(&format!("sfsegyread tape=b.sgy tfile=k.rsf {key} > o.rsf"));
    let cdp = || -> Vec<i32> {
        let all: Vec<i32> = bench.open("k.rsf").read_all().unwrap();
        all.chunks_exact(91).map(|trace| trace[5]).collect()
    };
    let text = read("cdp=181");
    assert!(
        text.contains("all values of cdp=181 are multiples of 256")
            && text.contains("byte 181 of a description that counts from 1 is cdp=180"),
        "{text}"
    );
    let late = cdp();
    assert_eq!(read("cdp=180"), "");
    assert_eq!(late, cdp().iter().map(|number| number * 256).collect::<Vec<_>>());
    // A key without values, and a key whose last byte is not always zero.
    assert_eq!(read("cdp=233"), "");
    bench.run(
        "sfheadermath < h.rsf output=-1 key=cdpy > minus.rsf; sfsegywrite < d.rsf tape=b.sgy tfile=minus.rsf",
    );
    assert_eq!(read("cdp=181"), "");
}

/// The headers of traces on a common time axis have its delay and length, so that a file that is written with these
/// headers has every trace at its correct time.
#[test]
fn headers_of_aligned_traces_have_their_common_delay() {
    let bench = Bench::new();
    let delays = [100, 140, 180];
    bench.raw("a.rsf", "n1=50 d1=0.004 o1=0.1 n2=3", "native_float", &ramp(150));
    let mut keys = vec![0i32; 3 * 91];
    (0..3).for_each(|trace| keys[91 * trace + 35] = delays[trace]);
    bench.raw("keys.rsf", "n1=91 n2=3", "native_int", &keys);
    bench.run("sfsegywrite < a.rsf tape=a.sgy tfile=keys.rsf");
    let text = bench.messages(
        "sfsegyread tape=a.sgy tfile=h.rsf align=y > b.rsf; sfsegywrite < b.rsf tape=b.sgy tfile=h.rsf; \
         sfsegyread tape=b.sgy align=y > c.rsf",
    );
    assert_eq!(text, "");
    for (key, value) in [("delrt", 100), ("ns", 70)] {
        bench.run(&format!("sfheadermath < h.rsf output={key} > key.rsf"));
        assert_eq!(
            bench.open("key.rsf").read_all::<i32>().unwrap(),
            [value; 3],
            "{key}"
        );
    }
    assert_eq!(bench.axes("c.rsf", 2), bench.axes("b.rsf", 2));
    assert_eq!(bench.reals("c.rsf"), bench.reals("b.rsf"));
}
