//! Data that are written are read back unchanged, and equal the data that Madagascar would have written.

use std::fs;

use rsf_io::{Form, Input};

use crate::support::{Scratch, data, failed, numbers, succeeded};

/// Copies a dataset of Madagascar with the probe.
fn copied(scratch: &Scratch, name: &str, words: &[&str]) -> Input {
    let line = format!(
        "cd {:?} && probe out={:?} {} < {name}.rsf > {:?}",
        data(),
        scratch.file("out.bin"),
        words.join(" "),
        scratch.file("out.rsf")
    );
    succeeded(&scratch.shell(&line));
    Input::open(&scratch.file("out.rsf")).unwrap()
}

#[test]
fn every_form_of_every_type_reads_back() {
    for (name, digits) in [
        ("f", 6),
        ("int", 9),
        ("complex", 6),
        ("floatbig", 6),
        ("floatdenorm", 6),
    ] {
        let scratch = Scratch::new();
        let first = numbers(&mut Input::open(&data().join(format!("{name}.rsf"))).unwrap());
        for form in ["native", "xdr", "ascii"] {
            let mut second = copied(&scratch, name, &[&format!("form={form}")]);
            assert_eq!(second.format().form.word(), form);
            let got = numbers(&mut second);
            if form == "ascii" {
                let tolerance = 5.01 * 10f64.powi(-digits);
                for (got, want) in got.iter().flatten().zip(first.iter().flatten()) {
                    assert!(
                        (got - want).abs() <= tolerance * want.abs(),
                        "{name}: {got} {want}"
                    );
                }
            } else {
                assert_eq!(got, first, "{name} {form}");
            }
        }
    }
}

#[test]
fn shorts_and_bytes_read_back() {
    let scratch = Scratch::new();
    for (name, form) in [
        ("short", "native"),
        ("short", "xdr"),
        ("uchar", "native"),
        ("uchar", "xdr"),
    ] {
        let first = numbers(&mut Input::open(&data().join(format!("{name}.rsf"))).unwrap());
        let mut second = copied(&scratch, name, &[&format!("form={form}")]);
        assert_eq!(second.format().kind.word(), name);
        assert_eq!(numbers(&mut second), first, "{name} {form}");
    }
}

#[test]
fn the_bytes_are_those_of_sfdd() {
    let scratch = Scratch::new();
    for (name, form, golden) in [
        ("f", "xdr", "floatxdr"),
        ("f", "ascii", "floatascii"),
        ("int", "xdr", "intxdr"),
        ("int", "ascii", "intascii"),
        ("complex", "xdr", "complexxdr"),
        ("complex", "ascii", "complexascii"),
    ] {
        copied(&scratch, name, &[&format!("form={form}")]);
        let got = fs::read(scratch.file("out.bin")).unwrap();
        assert_eq!(
            got,
            fs::read(data().join(format!("{golden}.rsf@"))).unwrap(),
            "{golden}"
        );
    }
}

#[test]
fn an_output_follows_the_format_of_standard_input() {
    let scratch = Scratch::new();
    for (name, form) in [
        ("floatxdr", Form::Xdr),
        ("floatascii", Form::Ascii),
        ("f", Form::Native),
    ] {
        assert_eq!(copied(&scratch, name, &[]).format().form, form);
    }
    assert_eq!(copied(&scratch, "floatascii", &[]).header().int("esize"), Some(0));
}

#[test]
fn text_values_survive_what_the_grammar_allows() {
    let scratch = Scratch::new();
    let input = copied(&scratch, "f", &["label='a=b  c n2=99'"]);
    assert_eq!(input.axis(1).label.as_deref(), Some("a=b  c n2=99"));
    assert_eq!(input.axis(2).n, 5);
    // A string is the text between the outer quotes. Headers have no escapes: double quotes become single ones, a line
    // break a blank.
    let input = copied(&scratch, "f", &["label='cut \"say \"hi\" n1=3 \" and\nmore\"'"]);
    assert_eq!(input.axis(1).label.as_deref(), Some("say 'hi' n1=3 ' and more"));
    assert_eq!(input.axis(1).n, 7);
}

#[test]
fn data_larger_than_the_buffers_pass_through_pipes_and_files() {
    let scratch = Scratch::new();
    for form in ["native", "xdr", "ascii"] {
        let line = format!(
            "probe mode=make n1=1000003 form={form} | probe scale=2 | probe scale=0.5 > a.rsf && probe < a.rsf > b.rsf"
        );
        succeeded(&scratch.shell(&line));
        let values = scratch.reals("b.rsf");
        assert_eq!(values.len(), 1_000_003);
        // Ascii data have six digits.
        assert!(
            values
                .iter()
                .enumerate()
                .all(|(i, v)| (v - i as f32).abs() <= if form == "ascii" { 5.0 } else { 0.0 })
        );
    }
}

#[test]
fn xdr_doubles_are_refused() {
    let scratch = Scratch::new();
    scratch.write("d.bin", [0u8; 16]);
    let header = "n1=2 in=d.bin data_format=native_double\n";
    succeeded(&scratch.pipe(&[], header.as_bytes()));
    let text = failed(&scratch.pipe(&["form=xdr"], header.as_bytes()));
    assert!(text.contains("xdr_double"), "{text}");
}

#[test]
fn reading_by_position_and_skipping_agree_with_the_stream() {
    let scratch = Scratch::new();
    succeeded(&scratch.shell("probe mode=make n1=70000 form=xdr > a.rsf; probe out=stdout < a.rsf > b.rsf; probe form=ascii < a.rsf > c.rsf"));
    for (name, seekable) in [("a.rsf", true), ("b.rsf", true), ("c.rsf", false)] {
        let mut input = Input::open(&scratch.file(name)).unwrap();
        assert_eq!(input.is_seekable(), seekable);
        let mut four = [0.0f32; 4];
        input.read_f32(&mut four[..1]).unwrap();
        input.skip(40_000).unwrap();
        input.read_f32(&mut four[1..]).unwrap();
        assert_eq!(four, [0.0, 40001.0, 40002.0, 40003.0], "{name}");
        assert_eq!(input.remaining(), 70_000 - 40_004);
        if seekable {
            input.read_f32_at(69_996, &mut four).unwrap();
            assert_eq!(four, [69996.0, 69997.0, 69998.0, 69999.0]);
            assert!(input.read_f32_at(69_997, &mut four).is_err());
            // The position of the stream has not changed.
            input.read_f32(&mut four[..1]).unwrap();
            assert_eq!(four[0], 40004.0);
        } else {
            assert!(input.read_f32_at(0, &mut four).is_err());
        }
        assert!(input.skip(30_000).is_err());
        let rest = input.read_all_f32().unwrap();
        assert_eq!(rest.last(), Some(&69999.0));
        assert!(
            input
                .read_f32(&mut four[..1])
                .unwrap_err()
                .to_string()
                .contains("requested")
        );
    }
}

#[test]
fn lines_of_text_are_counted_as_elements() {
    let scratch = Scratch::new();
    let run_of = |mode: &str, form: &str| {
        scratch.shell(&format!(
            "probe mode={mode} form={form} n1=7 out=here.bin > here.rsf"
        ))
    };
    succeeded(&run_of("lines", "ascii"));
    assert_eq!(scratch.reals("here.rsf"), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    // The program's own lines are unchanged: no line break is added.
    assert_eq!(scratch.text("here.bin"), "0\n1\n2\n3\n4\n5\n6\n");
    let message = failed(&run_of("excess", "ascii"));
    assert!(
        message.contains("element 8 is written, but the header says 7"),
        "{message}"
    );
    let message = failed(&run_of("lines", "native"));
    assert!(
        message.contains("text cannot be written as native_float"),
        "{message}"
    );
}
