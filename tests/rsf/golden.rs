//! Every dataset written by Madagascar is read as Madagascar's own library reads it.

use rsf_io::Input;
use serde_json::Value;

use crate::support::{data, numbers, out, probe, succeeded};

fn expected() -> Value {
    let text = std::fs::read(data().join("expected.json")).unwrap();
    serde_json::from_slice::<Value>(&text).unwrap()["files"].clone()
}

fn float(value: &Value) -> Option<f32> {
    value.as_f64().map(|v| v as f32)
}

/// Returns `None` for null.
fn word(value: &Value) -> Option<&str> {
    value.as_str()
}

#[test]
fn every_file_reads_as_the_library_of_madagascar_reads_it() {
    let expected = expected();
    let files = expected.as_object().unwrap();
    assert_eq!(files.len(), 49);
    for (name, want) in files {
        let mut input = Input::open(&data().join(format!("{name}.rsf"))).unwrap();
        check_header(name, &input, want);
        check_axes(name, &input, want);
        check_extra(name, &input, &want["extra"]);
        let values = want["values"].as_array().unwrap();
        let got = numbers(&mut input);
        assert_eq!(got.len(), values.len(), "{name}");
        for (i, (got, want)) in got.iter().zip(values).enumerate() {
            let want = match want.as_array() {
                Some(pair) => [float(&pair[0]), float(&pair[1])],
                None => [float(want), Some(0.0)],
            };
            assert_eq!(
                [Some(got[0] as f32), Some(got[1] as f32)],
                want,
                "{name}, element {i}"
            );
        }
    }
}

fn check_header(name: &str, input: &Input, want: &Value) {
    let header = input.header();
    let format = input.format();
    assert_eq!(Some(format.kind.word()), word(&want["type"]), "{name}");
    assert_eq!(Some(format.form.word()), word(&want["form"]), "{name}");
    assert_eq!(
        Some(format.kind.size() as u64),
        want["esize_lib"].as_u64(),
        "{name}"
    );
    assert_eq!(header.text("in").as_deref(), word(&want["in"]), "{name}");
    assert_eq!(
        header.text("data_format").as_deref(),
        word(&want["data_format"]),
        "{name}"
    );
    assert_eq!(Some(input.len()), want["size"].as_u64(), "{name}");
    let dims: Vec<u64> = (1..=input.rank()).map(|i| input.axis(i).n as u64).collect();
    let want: Vec<u64> = want["filedims"]
        .as_array()
        .unwrap()
        .iter()
        .map(|n| n.as_u64().unwrap())
        .collect();
    assert_eq!(dims, want, "{name}");
}

fn check_axes(name: &str, input: &Input, want: &Value) {
    let header = input.header();
    for (i, want) in want["axes"].as_array().unwrap().iter().enumerate() {
        let key = |what: &str| format!("{what}{}", i + 1);
        let axis = input.axis(i + 1);
        assert_eq!(header.large_int(&key("n")), want["n"].as_i64(), "{name}");
        assert_eq!(axis.n as u64, want["n"].as_u64().unwrap_or(1), "{name}");
        assert_eq!(header.float(&key("o")), float(&want["o"]), "{name}");
        assert_eq!(axis.o, float(&want["o"]).unwrap_or(0.0), "{name}");
        assert_eq!(header.float(&key("d")), float(&want["d"]), "{name}");
        assert_eq!(axis.d, float(&want["d"]).unwrap_or(1.0), "{name}");
        assert_eq!(axis.label.as_deref(), word(&want["label"]), "{name}");
        assert_eq!(axis.unit.as_deref(), word(&want["unit"]), "{name}");
    }
}

/// Other keys: `key` as text, `key.int` and so on as that type.
fn check_extra(name: &str, input: &Input, want: &Value) {
    let header = input.header();
    for (key, want) in want.as_object().unwrap() {
        match key.split_once('.') {
            None => assert_eq!(header.text(key).as_deref(), word(want), "{name} {key}"),
            Some((key, "int")) => assert_eq!(header.int(key).map(i64::from), want.as_i64(), "{name} {key}"),
            Some((key, "float")) => assert_eq!(header.float(key), float(want), "{name} {key}"),
            Some((key, "bool")) => assert_eq!(header.flag(key), want.as_bool(), "{name} {key}"),
            Some(other) => panic!("{name}: {other:?} is not understood by this test"),
        }
    }
}

#[test]
fn every_file_is_read_on_standard_input_too() {
    for (name, want) in expected().as_object().unwrap() {
        let stdin = std::fs::File::open(data().join(format!("{name}.rsf"))).unwrap();
        // in= is relative to the current directory.
        let run = probe(&data()).arg("form=native").stdin(stdin).output().unwrap();
        succeeded(&run);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.rsf");
        std::fs::write(&path, &run.stdout).unwrap();
        let mut got = Input::open(&path).unwrap();
        assert_eq!(Some(got.format().kind.word()), word(&want["type"]), "{name}");
        let mut first = Input::open(&data().join(format!("{name}.rsf"))).unwrap();
        assert_eq!(numbers(&mut got), numbers(&mut first), "{name}: {}", out(&run));
    }
}
