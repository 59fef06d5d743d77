//! The header reader against any bytes, and against headers made by rule.

use std::fs;

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use rsf_io::{Header, Input};

/// Everything a program may ask of a header.
fn ask_everything(header: &Header) {
    let keys: Vec<String> = header
        .entries()
        .map(|(key, _)| String::from_utf8_lossy(key).into_owned())
        .collect();
    for key in keys
        .iter()
        .map(String::as_str)
        .chain(["n1", "esize", "data_format"])
    {
        let _ = (
            header.int(key),
            header.large_int(key),
            header.float(key),
            header.double(key),
        );
        let _ = (
            header.flag(key),
            header.text(key),
            header.path(key),
            header.raw(key),
        );
        for wanted in [0, 1, 5] {
            for length in [
                header.ints(key, wanted).map(|v| v.len()),
                header.floats(key, wanted).map(|v| v.len()),
                header.flags(key, wanted).map(|v| v.len()),
            ] {
                assert!(length.is_none_or(|length| length == wanted));
            }
        }
    }
    for i in 0..12 {
        header.axis(i);
    }
    let _ = (header.elements(), header.format(), header.rank(), header.sizes());
}

/// A dataset that is opened and read to its end, or refused, but never more.
fn open_and_read(bytes: &[u8]) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.rsf");
    fs::write(&path, bytes).unwrap();
    if let Ok(mut input) = Input::open(&path) {
        let _ = input.read_all_f32();
        let _ = input.read_all::<i32>();
        let _ = input.read_all::<[f32; 2]>();
        let _ = input.skip(1);
    }
}

/// Pieces of which headers are made, good and bad.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let words: Vec<&'static [u8]> = vec![
        b"n1=",
        b"n2=",
        b"in=",
        b"\"stdin\"",
        b"\"",
        b"=",
        b" ",
        b"\n",
        b"\t",
        b"\r\n",
        b"\x0c\x0c\x04",
        b"\x0c",
        b"3",
        b"-1",
        b"1e9",
        b"0x",
        b"9223372036854775807",
        b"nan",
        b"*",
        b"x",
        b",",
        b"esize=0",
        b"data_format=",
        b"ascii_float",
        b"native_float",
        b"xdr_int",
        b"complex",
        b"./",
        b"/dev/null",
        b"\xff\xfe",
        b"1.5 2 ",
        b"o1=",
        b"label1=",
    ];
    prop_oneof![
        4 => prop::sample::select(words).prop_map(<[u8]>::to_vec),
        1 => prop::collection::vec(any::<u8>(), 0..8),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: Some(Box::new(FileFailurePersistence::Direct("../tests/regressions/properties.txt"))), ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        if let Ok(header) = Header::parse(&bytes) {
            ask_everything(&header);
        }
    }

    #[test]
    fn near_headers_are_read_or_refused(pieces in prop::collection::vec(piece(), 0..40)) {
        let bytes = pieces.concat();
        if let Ok(header) = Header::parse(&bytes) {
            ask_everything(&header);
        }
    }

    #[test]
    fn a_generated_header_reads_back(
        keys in prop::collection::btree_map("[a-z][a-z0-9]{0,6}", "[ -!#-~]{0,20}", 0..12),
        number in any::<i32>(),
        real in -1e30f32..1e30,
        yes in any::<bool>(),
    ) {
        let mut text = String::from("version\tprogram\tsome words\n\n");
        for (key, value) in &keys {
            text.push_str(&format!("\t{key}=\"{value}\"\n"));
        }
        text.push_str(&format!("\tAn={number} Ar={real:e}\r\n\tAy={}", if yes { "y" } else { "n" }));
        let header = Header::parse(text.as_bytes()).unwrap();
        prop_assert_eq!(header.history(), text.as_bytes());
        for (key, value) in &keys {
            let got = header.text(key);
            prop_assert_eq!(got.as_ref(), Some(value));
        }
        prop_assert_eq!(header.int("An"), Some(number));
        prop_assert_eq!(header.float("Ar"), Some(real));
        prop_assert_eq!(header.flag("Ay"), Some(yes));
        prop_assert_eq!(header.entries().count(), keys.len() + 3);
    }

    #[test]
    fn percent_g_keeps_its_digits(value in any::<f32>().prop_filter("finite", |v| v.is_finite())) {
        let text = rsf_io::format_g(f64::from(value), 9);
        prop_assert_eq!(text.parse::<f32>().unwrap(), value);
        let short = rsf_io::format_g(f64::from(value), 6).parse::<f64>().unwrap();
        prop_assert!((short - f64::from(value)).abs() <= 5.01e-6 * f64::from(value).abs());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: Some(Box::new(FileFailurePersistence::Direct("../tests/regressions/properties.txt"))), ..ProptestConfig::default() })]

    #[test]
    fn any_file_is_opened_or_refused(pieces in prop::collection::vec(piece(), 0..40)) {
        open_and_read(&pieces.concat());
        let mut whole = b"n1=3 in=\"stdin\" data_format=\"ascii_complex\"\n\x0c\x0c\x04".to_vec();
        whole.extend(pieces.concat());
        open_and_read(&whole);
    }
}
