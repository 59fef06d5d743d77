//! Datasets that two runs write one after the other, or several processes at different positions, and standard input
//! that one of several processes reads for all.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use rsf_io::{Input, Written};

use crate::support::{Scratch, err, failed, succeeded};

/// The values 0, 1, 2, ...
fn counted(n: usize) -> Vec<f32> {
    (0..n).map(|i| i as f32).collect()
}

/// The hash of bytes: FNV-1a with 64 bits (Fowler, Noll and Vo), with its published constants.
fn fnv(bytes: &[u8]) -> u64 {
    let mut hash = 14_695_981_039_346_656_037u64;
    for byte in bytes {
        hash ^= u64::from(*byte);
        hash = hash.wrapping_mul(1_099_511_628_211);
    }
    hash
}

#[test]
fn a_second_run_goes_on_in_the_same_file() {
    for form in ["native", "xdr", "ascii"] {
        let scratch = Scratch::new();
        let words = format!("n1=11 label=note form={form}");
        let text = succeeded(&scratch.shell(&format!("probe mode=part {words} > a.rsf")));
        assert_eq!(text, "rsf-probe: 5 are there, piped false, a file true\n");
        assert_eq!(scratch.reals("a.rsf"), counted(5), "{form}");
        let text = scratch.text("note");
        let place = fs::canonicalize(scratch.file("a.rsf@")).unwrap();
        let bytes = fs::read(&place).unwrap();
        let size = if form == "ascii" { bytes.len() } else { 20 };
        if form != "ascii" {
            assert_eq!(
                text,
                format!("{form}_float 0 {size} 5 {:016x} {}", fnv(&bytes), place.display())
            );
        }
        let written = Written::from_text(&text).unwrap();
        assert_eq!((written.elements(), written.to_text()), (5, text));
        // The values of the second run are ten times as large, which shows which run has written them.
        succeeded(&scratch.shell(&format!("probe mode=rest scale=10 {words} > a.rsf")));
        let expected: Vec<f32> = (0..11)
            .map(|i| if i < 5 { i as f32 } else { 10.0 * i as f32 })
            .collect();
        assert_eq!(scratch.reals("a.rsf"), expected, "{form}");
    }
}

#[test]
fn a_second_run_copies_what_lies_elsewhere() {
    let whole = |scratch: &Scratch, name: &str| assert_eq!(scratch.reals(name), counted(2001), "{name}");
    for form in ["native", "xdr", "ascii"] {
        let scratch = Scratch::new();
        let words = format!("n1=2001 label=note form={form}");
        succeeded(&scratch.shell(&format!("probe mode=part {words} > a.rsf")));
        succeeded(&scratch.shell(&format!("probe mode=rest {words} > b.rsf")));
        whole(&scratch, "b.rsf");
        assert_eq!(scratch.reals("a.rsf"), counted(1000), "the first file stays");
        // There is a longer file of that name before the run.
        succeeded(&scratch.shell(&format!(
            "probe mode=make n1=5000 > c.rsf; probe mode=rest {words} > c.rsf"
        )));
        whole(&scratch, "c.rsf");
    }
    // The first part, in one file after its header, is continued in two files, in one file, and in a pipe.
    let scratch = Scratch::new();
    succeeded(&scratch.shell("probe mode=part n1=2001 label=note out=stdout > a.rsf"));
    let bytes = fs::read(scratch.file("a.rsf")).unwrap();
    let text = scratch.text("note");
    let words: Vec<&str> = text.split(' ').collect();
    let start: usize = words[1].parse().unwrap();
    assert_eq!((words[0], words[2], words[3]), ("native_float", "4000", "1000"));
    assert_eq!(words[4], format!("{:016x}", fnv(&bytes[start..start + 4000])));
    assert_eq!(bytes[start + 4..start + 8], 1.0f32.to_ne_bytes());
    succeeded(&scratch.shell(
        "probe mode=rest n1=2001 label=note > b.rsf; probe mode=rest n1=2001 label=note out=stdout > c.rsf",
    ));
    whole(&scratch, "b.rsf");
    whole(&scratch, "c.rsf");
    succeeded(&scratch.shell("probe mode=rest n1=2001 label=note | cat > d.rsf"));
    whole(&scratch, "d.rsf");
    // The hash covers the last 4096 bytes.
    succeeded(&scratch.shell("probe mode=part n1=5000 label=note > e.rsf"));
    let bytes = fs::read(scratch.file("e.rsf@")).unwrap();
    assert!(
        scratch
            .text("note")
            .contains(&format!("{:016x}", fnv(&bytes[10_000 - 4096..10_000])))
    );
    let again = Written::from_text(&scratch.text("note"))
        .unwrap()
        .with_floats(2000);
    let text = again.to_text();
    assert!(text.starts_with("native_float 0 8000 2000 "), "{text}");
    assert!(
        text.contains(&format!("{:016x}", fnv(&bytes[8000 - 4096..8000]))),
        "{text}"
    );
}

#[test]
fn what_is_not_there_any_more_is_named() {
    let scratch = Scratch::new();
    let first = "probe mode=part n1=10 label=note > a.rsf 2> said";
    let rest = "probe mode=rest label=note";
    let assert_refused = |line: &str, words: &str| {
        let message = failed(&scratch.shell(line));
        assert!(message.contains(words), "{line}: {message}");
    };
    succeeded(&scratch.shell(first));
    // Another run has overwritten the last value.
    let data = OpenOptions::new()
        .write(true)
        .open(scratch.file("a.rsf@"))
        .unwrap();
    data.write_all_at(&7f32.to_ne_bytes(), 16).unwrap();
    assert_refused(
        &format!("{rest} n1=10 > a.rsf"),
        "does not hold what the interrupted run had written when its state was saved",
    );
    let there = fs::metadata(scratch.file("a.rsf@")).unwrap().len();
    assert_eq!(there, 20, "a failed run leaves the values unchanged");
    data.write_all_at(&4f32.to_ne_bytes(), 16).unwrap();
    assert_refused(
        &format!("{rest} n1=4 > b.rsf"),
        "the interrupted run wrote 5 elements, but the header says 4",
    );
    assert_refused(
        &format!("{rest} n1=10 form=xdr > b.rsf"),
        "the interrupted run wrote native_float, but this one would continue with xdr_float",
    );
    succeeded(&scratch.shell(&format!("{rest} n1=5 > b.rsf")));
    assert_eq!(scratch.reals("b.rsf"), counted(5));
    data.set_len(19).unwrap();
    assert_refused(
        &format!("{rest} n1=10 > a.rsf"),
        "of the interrupted run has 19 bytes, but the state requires 20",
    );
    fs::remove_file(scratch.file("a.rsf@")).unwrap();
    assert_refused(&format!("{rest} n1=10 > b.rsf"), "cannot read data file");
    // The old file is replaced by an empty one.
    assert_refused(
        &format!("{rest} n1=10 > a.rsf"),
        "has 0 bytes, but the state requires 20",
    );
}

#[test]
fn what_went_into_a_pipe_is_gone() {
    let scratch = Scratch::new();
    let rest = "probe mode=rest label=note";
    let assert_refused = |line: &str, words: &str| {
        let message = failed(&scratch.shell(line));
        assert!(message.contains(words), "{line}: {message}");
    };
    // Output to a pipe or to /dev/null cannot be read again.
    let text = succeeded(
        &scratch
            .shell("{ probe mode=part n1=10 label=note 3>&1 1>&2 2>&3 | cat; } 2>&1 >/dev/null | cat > x"),
    );
    assert_eq!(text, "");
    succeeded(&scratch.shell("probe mode=part n1=10 label=note 2> said | cat > x"));
    assert_eq!(
        scratch.text("said"),
        "rsf-probe: 5 are there, piped true, a file false\n"
    );
    assert!(scratch.text("note").starts_with("native_float 0 0 5 "));
    assert_refused(
        &format!("{rest} n1=10 > b.rsf"),
        "the 5 elements that the interrupted run has written went into a pipe",
    );
    let text = succeeded(&scratch.shell("probe mode=part n1=10 label=note > /dev/null"));
    assert_eq!(text, "rsf-probe: 5 are there, piped false, a file false\n");
    assert!(
        scratch.text("note").ends_with(" /dev/null"),
        "{}",
        scratch.text("note")
    );
    assert_refused(
        &format!("{rest} n1=10 > b.rsf"),
        "wrote its 5 elements to /dev/null: they are gone",
    );
    succeeded(&scratch.shell(&format!("{rest} n1=10 > /dev/null")));
    // Nothing was written yet, so nothing can be lost.
    succeeded(
        &scratch.shell(
            "probe mode=part n1=1 label=note 2> said | cat > x; probe mode=rest n1=1 label=note > b.rsf",
        ),
    );
    assert_eq!(scratch.reals("b.rsf"), [0.0]);
    for text in [
        "",
        "native_float",
        "native_float 0 20 5",
        "native_float 0 20 five 00 /a",
        "native_float 0 20 5 xyz /a",
    ] {
        assert!(Written::from_text(text).is_none(), "{text}");
    }
}

#[test]
fn several_write_at_their_places() {
    // The values are more than a process converts at a time for xdr.
    for n in [10, 700_000] {
        for form in ["native", "xdr"] {
            let scratch = Scratch::new();
            succeeded(&scratch.shell(&format!("probe mode=places n1={n} form={form} > a.rsf")));
            let mut input = Input::open(&scratch.file("a.rsf")).unwrap();
            assert_eq!(input.format().to_string(), format!("{form}_float"));
            assert!(input.read_all_f32().unwrap() == counted(n), "{n} {form}");
        }
    }
    let scratch = Scratch::new();
    for line in [
        "probe mode=places form=ascii > a.rsf",
        "probe mode=places | cat > a.rsf; exit 1",
        "probe mode=places out=stdout > a.rsf",
    ] {
        let message = failed(&scratch.shell(line));
        assert!(message.contains("this output has an order"), "{line}: {message}");
    }
}

/// When one process reads standard input for all, it stops at the end of the dataset, even if the stream stays open.
#[test]
fn standard_input_for_all_ends_with_the_dataset() {
    let scratch = Scratch::new();
    succeeded(&scratch.shell("probe mode=make n1=6 > two.rsf; probe mode=make n1=6 out=stdout > one.rsf; probe mode=make n1=6 form=ascii > text.rsf"));
    // There are other lines after the line that names the data, as in files edited by hand.
    let header = scratch.text("two.rsf");
    scratch.write("hand.rsf", format!("{header}\nlabel2=Later\n"));
    for (name, at_least, at_most) in [
        ("one.rsf", 0.0, 20.0),
        ("two.rsf", 0.25, 20.0),
        ("text.rsf", 0.25, 20.0),
        ("hand.rsf", 2.9, 20.0),
    ] {
        let begin = Instant::now();
        let line = format!(
            "rm -f f; mkfifo f; {{ cat {name}; exec sleep 30; }} > f & writer=$!; probe mode=all < f > o.rsf; done=$?; kill $writer; exit $done"
        );
        succeeded(&scratch.shell(&line));
        assert_eq!(scratch.reals("o.rsf"), counted(6), "{name}");
        let span = begin.elapsed();
        assert!(
            span >= Duration::from_secs_f64(at_least) && span < Duration::from_secs_f64(at_most),
            "{name}: {span:?}"
        );
    }
    // The dataset may end with the stream, or be in the file that a header from a stream names.
    succeeded(&scratch.shell("cat two.rsf | probe mode=all > o.rsf"));
    assert_eq!(scratch.reals("o.rsf"), counted(6));
    let run = scratch.shell(
        "{ echo n1=6; sleep 1; echo data_format=native_float esize=4 in=two.rsf@; } | probe mode=all > o.rsf",
    );
    assert_eq!(run.status.code(), Some(0), "{}", err(&run));
    assert_eq!(scratch.reals("o.rsf"), counted(6));
}
