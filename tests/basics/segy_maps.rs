//! Maps of the trace header that files of revision 2.1 may contain (SEG-Y revision 2.1, appendix D-8).

use crate::bench::Bench;
use crate::segy_headers::KEYS;

/// A file of revision 2.1 with one trace of two samples, the bytes of its trace header, and a map in a textual header;
/// `whole` is whether the end of the map is present.
fn file(header: &[u8; 240], map: &str) -> Vec<u8> {
    let mut bytes = vec![b' '; 3200];
    bytes.extend([0; 400]);
    for (first, value) in [(3217, 2000u16), (3221, 2), (3225, 5), (3501, 0x201), (3505, 2)] {
        bytes[first - 1..first + 1].copy_from_slice(&value.to_be_bytes());
    }
    for text in [
        format!("((SEG: Layout:text/xml)) {map}"),
        "((SEG: EndText))".into(),
    ] {
        bytes.extend(format!("{text:3200}").bytes());
    }
    bytes.extend(header);
    bytes.extend([1.5f32, -2.5].iter().flat_map(|x| x.to_be_bytes()));
    bytes
}

/// A map with these entries: name, first byte, type.
fn map(entries: &[(&str, &str, &str)]) -> String {
    let entry = |(name, byte, kind): &(&str, &str, &str)| {
        format!("<entry name=\"{name}\" byte=\"{byte}\" type=\"{kind}\"/>")
    };
    let entries: String = entries.iter().map(entry).collect();
    format!("<segy-layout>{entries}</segy-layout>")
}

/// Writes a file, reads it with these parameters, and returns the program's messages.
#[track_caller]
fn read(bench: &Bench, header: &[u8; 240], entries: &[(&str, &str, &str)], words: &str) -> String {
    bench.put("m.sgy", file(header, &map(entries)));
    let done = bench.sh(&format!("sfsegyread tape=m.sgy tfile=t.rsf {words} > d.rsf"));
    assert_eq!(done.code, 0, "{}", done.err);
    assert_eq!(bench.reals("d.rsf"), [1.5, -2.5]);
    done.err
}

/// The value of a key of the only trace.
fn key(bench: &Bench, name: &str) -> i32 {
    let place = KEYS.iter().position(|key| key.0 == name).unwrap();
    bench.open("t.rsf").read_all::<i32>().unwrap()[place]
}

#[test]
fn every_type_of_a_map_is_read() {
    let bench = Bench::new();
    let mut header = [0u8; 240];
    let mut put = |first: usize, bytes: &[u8]| header[first - 1..][..bytes.len()].copy_from_slice(bytes);
    put(1, &(-7i16).to_be_bytes());
    put(3, &(-70_000i32).to_be_bytes());
    put(7, &(-900_000i64).to_be_bytes());
    put(15, &60_000u16.to_be_bytes());
    put(17, &2_000_000_000u32.to_be_bytes());
    put(21, &1_234_567u64.to_be_bytes());
    // 118.625 and 1 as IBM reals, examples from textbooks.
    put(29, &0xc276_a000u32.to_be_bytes());
    put(33, &(-41.0f32).to_be_bytes());
    put(37, &42.0f64.to_be_bytes());
    put(45, &[0, 0, 0, 77, 0xff, 0xfd]);
    put(51, b"SEG00000");
    put(59, &500i16.to_be_bytes());
    put(61, &(-10i16).to_be_bytes());
    put(63, &[9; 4]);
    put(237, &12i32.to_be_bytes());
    let entries = [
        ("trctype", "1", "int2"),
        ("offset", "3", "int4"),
        ("iline", "7", "int8"),
        ("nsamps", "15", "uint2"),
        ("cdp", "17", "uint4"),
        ("xline", "21", "uint8"),
        ("cdp_x", "29", "ibmfp"),
        ("sht_x", "33", "ieee32"),
        ("sht_y", "37", "ieee64"),
        ("trans_const", "45", "scale6"),
        ("header_name", "51", "string8"),
        ("delay", "59", "time2"),
        ("co_scal", "61", "int2"),
        ("tide", "63", "int4"),
        ("sp", "237", "spnum4"),
    ];
    let messages = read(&bench, &header, &entries, "ns=2");
    assert!(
        messages.contains("entries that are not among the 91 keys: tide (key1=tide tide=62 reads it)"),
        "{messages}"
    );
    // The IBM real is not a whole number.
    assert!(
        messages.contains("1 values of trace headers (of iline, xline, cdp_x, sht_x, sht_y in the map SEG:Layout) are fractions"),
        "{messages}"
    );
    for (name, expected) in [
        ("trid", -7),
        ("offset", -70_000),
        ("iline", -900_000),
        ("ns", 60_000 - 65_536),
        ("cdp", 2_000_000_000),
        ("xline", 1_234_567),
        ("cdpx", -119),
        ("sx", -41),
        ("sy", 42),
        ("tconst4", 77),
        ("tconst2", -3),
        ("delrt", 500),
        ("scalco", -10),
        ("shnum", 12),
        // The map does not list these keys.
        ("tracl", 0),
        ("gx", 0),
    ] {
        assert_eq!(key(&bench, name), expected, "{name}");
    }
    assert_eq!(bench.axes("d.rsf", 2)[0].o, 0.5, "the delay of the map");
    // A parameter of the user takes precedence over the map, and without the map keys are at the bytes of the standard.
    read(&bench, &header, &entries, "ns=2 cdp=2");
    assert_eq!((key(&bench, "cdp"), key(&bench, "offset")), (-70_000, -70_000));
    let messages = read(&bench, &header, &entries, "ns=2 layout=n");
    assert_eq!(messages, "");
    assert_eq!(key(&bench, "unass2"), 12);
    assert_eq!(key(&bench, "offset"), 0x4045_0000);
}

#[test]
fn values_beyond_a_key_are_cut_and_counted() {
    let bench = Bench::new();
    let reading = |first: usize, bytes: &[u8], entry: (&str, &str, &str)| {
        let mut header = [0u8; 240];
        header[first - 1..][..bytes.len()].copy_from_slice(bytes);
        read(&bench, &header, &[entry], "ns=2")
    };
    for (value, expected, warning) in [
        (-2_147_483_648.0, i32::MIN, false),
        (2_147_483_647.0, i32::MAX, false),
        (-2_147_483_649.0, i32::MIN, true),
        (2_147_483_648.0, i32::MAX, true),
        (0.5, 1, true),
        (-7.0, -7, false),
    ] {
        let words = reading(101, &f64::to_be_bytes(value), ("rec_y", "101", "ieee64"));
        assert_eq!(
            words.contains("1 values of trace headers"),
            warning,
            "{value}: {words}"
        );
        assert_eq!(key(&bench, "gy"), expected, "{value}");
    }
    for (value, expected, warning) in [
        (-32_768, -32_768, false),
        (-32_769, -32_768, true),
        (65_535, -1, false),
        (65_536, -1, true),
        (32_768, -32_768, false),
    ] {
        let words = reading(201, &i32::to_be_bytes(value), ("year", "201", "int4"));
        assert_eq!(
            words.contains("1 values of trace headers"),
            warning,
            "{value}: {words}"
        );
        assert_eq!(key(&bench, "year"), expected, "{value}");
    }
}

#[test]
fn maps_that_cannot_be_obeyed_are_refused() {
    let bench = Bench::new();
    let header = [0u8; 240];
    let good = ("cdp", "21", "int4");
    for (text, word) in [
        (
            map(&[("cdp", "238", "int4")]),
            "entry cdp has byte=238, but its 4 bytes must begin at one of the bytes 1 to 237",
        ),
        (
            map(&[("cdp", "234", "int8")]),
            "byte=234, but its 8 bytes must begin at one of the bytes 1 to 233",
        ),
        (map(&[("cdp", "0", "int4")]), "byte=0, but its 4 bytes must begin"),
        (
            map(&[("cdp", "here", "int4")]),
            "byte=here, but its 4 bytes must begin",
        ),
        (
            map(&[("cdp", "21", "int5")]),
            "type=int5, which is not one of int2",
        ),
        (
            map(&[("cdp", "21", "scale6")]),
            "entry cdp has a type that this key cannot have",
        ),
        (
            map(&[("trans_const", "21", "int4")]),
            "entry trans_const has a type that this key cannot have",
        ),
        (
            map(&[("cdp", "21", "string8")]),
            "a type that this key cannot have",
        ),
        (map(&[good, good]), "it has two entries cdp"),
        (map(&[("", "21", "int4")]), "an entry has no name="),
        (map(&[("cdp", "", "int4")]), "entry cdp lacks byte= or type="),
        (map(&[("cdp", "21", " ")]), "entry cdp lacks byte= or type="),
        (map(&[]), "it has no entry with the name of a key"),
        (
            map(&[("tide", "21", "int4")]),
            "it has no entry with the name of a key",
        ),
        ("<layout/>".into(), "it begins with <layout>"),
        ("<segy-layout>".into(), "it is not XML"),
    ] {
        bench.put("m.sgy", file(&header, &text));
        let message = bench.refused("sfsegyread tape=m.sgy tfile=t.rsf > d.rsf");
        assert!(message.contains(word), "{text}: {message}");
        assert!(
            message.contains("layout=n reads the keys at the bytes of the standard"),
            "{message}"
        );
        bench.run("sfsegyread tape=m.sgy tfile=t.rsf layout=n > d.rsf");
        assert_eq!(bench.reals("d.rsf"), [1.5, -2.5], "{text}");
    }
    bench.put(
        "m.sgy",
        file(&header, &map(&[("cdp", "237", "int4"), ("iline", "1", "int8")])),
    );
    bench.run("sfsegyread tape=m.sgy tfile=t.rsf > d.rsf");
}
