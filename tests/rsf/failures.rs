//! Bad input gives a single clear message, exit code 1, and no file that looks complete.

use std::fs;

use crate::support::{Scratch, err, failed, out, succeeded};
use rsf_io::Input;

#[track_caller]
fn assert_refused(scratch: &Scratch, line: &str, sentence: &str) {
    let text = failed(&scratch.shell(line));
    assert!(text.contains(sentence), "{line}: {text}");
}

#[test]
fn inputs_that_cannot_be_read() {
    let scratch = Scratch::new();
    succeeded(&scratch.shell("probe mode=make n1=100 > a.rsf; mkdir dir; cp a.rsf b.rsf; head -c 396 a.rsf@ > short
        sed 's/a.rsf@/short/' a.rsf > cut.rsf; sed 's/a.rsf@/gone/' a.rsf > gone.rsf; sed 's/a.rsf@/dir/' a.rsf > indir.rsf
        grep -v 'in=' a.rsf > noin.rsf; grep -v data_format a.rsf > nofmt.rsf; : > empty.rsf
        echo hello > words.txt"));
    let tags = "probe mode=tags wfl=w.rsf < a.rsf > s.rsf";
    for (word, sentence) in [
        (
            "ccc=none.rsf",
            "rsf-probe: cannot read ccc=none.rsf: No such file or directory\n",
        ),
        (
            "ccc=dir",
            "cannot read ccc=dir: it is a directory; an RSF file was expected",
        ),
        (
            "ccc=empty",
            "cannot read ccc=empty (there is empty.rsf): No such file or directory",
        ),
        (
            "ccc=empty.rsf",
            "ccc=empty.rsf: is empty, an RSF header was expected",
        ),
        ("ccc=noin.rsf", "ccc=noin.rsf: no in= in the header"),
        ("ccc=nofmt.rsf", "ccc=nofmt.rsf: the header has no data_format="),
        (
            "ccc=words.txt",
            "ccc=words.txt: is not the header of a dataset: it has neither in=,",
        ),
        (
            "ccc=gone.rsf",
            "ccc=gone.rsf: cannot read data file ./gone (the numbers of a header; sfcp and sfmv take them along): No such file or directory",
        ),
        (
            "ccc=indir.rsf",
            "ccc=indir.rsf: cannot read data file ./dir: it is a directory",
        ),
        (
            "ccc=cut.rsf",
            "ccc=cut.rsf: data file ./short has 396 bytes of data, n1=100 of native_float need 400",
        ),
        (
            "",
            "ccc= is missing (an RSF file), and there is no file named ccc",
        ),
    ] {
        assert_refused(&scratch, &format!("{tags} {word}"), sentence);
        assert!(!scratch.file("w.rsf").exists());
    }
    assert_refused(&scratch, "probe < dir", "standard input is a directory");
    // The shell truncates a file that is both input and output.
    for own in ["ccc=own.rsf < a.rsf > own.rsf", "< own.rsf > own.rsf"] {
        assert_refused(
            &scratch,
            &format!("cp a.rsf own.rsf; probe mode=tags wfl=w.rsf {own}"),
            "is empty: it is standard output, too, and the shell emptied it before the program started",
        );
    }
    assert_refused(
        &scratch,
        "probe mode=copy < /dev/null",
        "standard input: is empty, an RSF header was expected",
    );
    assert_refused(
        &scratch,
        "cat cut.rsf | probe",
        "standard input: data file ./short has 396 bytes",
    );
}

#[test]
fn sizes_that_cannot_be() {
    let scratch = Scratch::new();
    scratch.write("d", [0u8; 40]);
    for (sizes, sentence) in [
        (
            "n1=1000000000 n2=1000000000",
            "d has 40 bytes of data, n1=1000000000 n2=1000000000 of native_float need 4000000000000000000",
        ),
        (
            "n1=1000000000000 n2=1000000000",
            "n1=1000000000000 n2=1000000000 is more elements than can be counted",
        ),
        ("n1=-5", "n1=-5 in the header is negative"),
        (
            "n1=123456789012345678901",
            "n1=123456789012345678901 in the header is too large",
        ),
    ] {
        assert_refused(
            &scratch,
            &format!("echo '{sizes} in=d data_format=native_float' | probe > x.rsf"),
            sentence,
        );
    }
    // In a pipe the length is known only at the end.
    let endless =
        "printf 'n1=1000000000 n2=1000000000 in=stdin data_format=native_float\\n\\014\\014\\004abcdefgh'";
    assert_refused(
        &scratch,
        &format!("{endless} | probe > x.rsf"),
        "standard input: the data end before element 3 of 1000000000000000000",
    );
}

#[test]
fn data_that_end_or_are_no_numbers() {
    let scratch = Scratch::new();
    let header = "n1=4 in=stdin data_format=ascii_float\\n\\014\\014\\004";
    assert_refused(
        &scratch,
        &format!("printf '{header}1 2 3' | probe > x.rsf"),
        "the data end before element 4 of 4 (n1=4)",
    );
    assert_refused(
        &scratch,
        &format!("printf '{header}1 2 three 4' | probe > x.rsf"),
        "element 3 of 4 is `three`, which is not of type float",
    );
    assert_refused(
        &scratch,
        "printf 'n1=\"4\\n' | probe n1=3",
        "line 1 of the header: unterminated string",
    );
    assert_refused(
        &scratch,
        "printf 'n1=1 in=stdin data_format=native_float' | probe n1=3",
        "in=\"stdin\" in the header, but no data follow it",
    );
    let ints = "printf 'n1=1 in=stdin data_format=native_int\\n\\014\\014\\004abcd' > i.rsf; probe mode=tags ccc=i.rsf wfl=w.rsf < i.rsf > x.rsf";
    assert_refused(
        &scratch,
        ints,
        "ccc=i.rsf holds int data, but float data are needed (sfdd type=float converts)",
    );
    assert_refused(
        &scratch,
        &ints
            .replace("native_int", "native_complex")
            .replace("abcd", "abcdefgh"),
        "ccc=i.rsf holds complex data, but float data are needed (sfreal and sfimag take their parts)",
    );
}

/// Another program may truncate a file after it was opened.
#[test]
fn data_that_vanish_between_opening_and_reading() {
    let scratch = Scratch::new();
    succeeded(&scratch.shell("probe mode=make n1=100 > a.rsf"));
    let input = Input::open(&scratch.file("a.rsf")).unwrap();
    let data = fs::File::options().write(true).open(scratch.file("a.rsf@"));
    data.unwrap().set_len(4 * 30 + 2).unwrap();
    let mut some = [0.0f32; 20];
    input.read_f32_at(10, &mut some).unwrap();
    let text = input.read_f32_at(20, &mut some).unwrap_err().to_string();
    assert!(text.contains("the data end before element 31 of 100"), "{text}");
}

#[test]
fn outputs_that_cannot_be_written() {
    let scratch = Scratch::new();
    succeeded(&scratch.shell("mkdir dir"));
    let make = "probe mode=make n1=5000000";
    assert_refused(
        &scratch,
        &format!("{make} wfl=none/w.rsf > x.rsf"),
        "cannot write wfl=none/w.rsf: No such file or directory",
    );
    assert_refused(
        &scratch,
        &format!("{make} wfl=dir > x.rsf"),
        "cannot write wfl=dir: Is a directory",
    );
    assert_refused(
        &scratch,
        &format!("{make} datapath=none/ > x.rsf"),
        "cannot write data file none/x.rsf@ of standard output: No such file",
    );
    assert_refused(
        &scratch,
        &format!("{make} wfl=w.rsf datapath=none/ > x.rsf"),
        "none/",
    );
    assert_refused(
        &scratch,
        &format!("{make} out=/dev/full > x.rsf"),
        "cannot write data file /dev/full of standard output: No space left on device (free some space",
    );
    assert_refused(
        &scratch,
        &format!("{make} out=stdout > /dev/full"),
        "cannot write standard output: No space left",
    );
    assert_refused(&scratch, &format!("{make} out='a\"b' > x.rsf"), "double quote");
    for name in scratch.names() {
        assert!(
            ["dir", "x.rsf", "x.rsf@"].contains(&name.as_str()),
            "{name} is left over"
        );
    }
}

#[test]
fn a_closed_pipe_ends_the_program_quietly() {
    let scratch = Scratch::new();
    let run = scratch.shell("(probe mode=make n1=5000000; echo $? > code) | head -c 100 > /dev/null");
    assert_eq!((err(&run).as_str(), scratch.text("code").as_str()), ("", "141\n"));
    // The only error therefore comes from the program that stopped reading.
    let run = scratch.shell("probe mode=make n1=5000000 | probe mode=nonsense > x.rsf");
    assert_eq!(err(&run).lines().count(), 1, "{}", err(&run));
}

#[test]
fn nothing_that_is_read_is_overwritten() {
    let scratch = Scratch::new();
    succeeded(&scratch.shell("probe mode=make n1=5 > a.rsf; cp a.rsf b.rsf; ln -s a.rsf link"));
    assert_refused(
        &scratch,
        "probe mode=tags ccc=a.rsf wfl=a.rsf < b.rsf > s.rsf",
        "wfl=a.rsf would overwrite the file of ccc=a.rsf",
    );
    assert_refused(
        &scratch,
        "probe mode=tags ccc=a.rsf wfl=./link < b.rsf > s.rsf",
        "wfl=./link would overwrite the file of ccc=a.rsf",
    );
    assert_refused(
        &scratch,
        "probe mode=tags ccc=a.rsf wfl=b.rsf < b.rsf > s.rsf",
        "would overwrite the file of standard input",
    );
    assert_refused(
        &scratch,
        "probe out=a.rsf@ < a.rsf > s.rsf",
        "data file a.rsf@ of standard output would overwrite the file of standard input",
    );
    assert_refused(
        &scratch,
        "probe mode=make wfl=x.rsf > x.rsf",
        "wfl=x.rsf would overwrite the file of standard output",
    );
    assert_eq!(scratch.reals("a.rsf"), [0.0, 1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn a_failure_before_the_first_number_leaves_no_files() {
    for mode in ["early", "panic"] {
        let scratch = Scratch::new();
        let run = scratch.shell(&format!("probe mode={mode} wfl=w.rsf > x.rsf"));
        let text = failed(&run);
        let sentence = if mode == "early" {
            "stopped before the first number"
        } else {
            "internal error"
        };
        assert!(text.contains(sentence), "{text}");
        assert_eq!(scratch.names(), ["x.rsf"]);
        assert_eq!(fs::metadata(scratch.file("x.rsf")).unwrap().len(), 0);
    }
}

#[test]
fn a_failure_in_the_middle_leaves_what_readers_refuse() {
    let scratch = Scratch::new();
    let text = failed(&scratch.shell("probe mode=late n1=10 > x.rsf"));
    assert_eq!(text, "rsf-probe: stopped in the middle: the cause of it\n");
    assert_eq!(fs::metadata(scratch.file("x.rsf@")).unwrap().len(), 20);
    assert_refused(
        &scratch,
        "probe < x.rsf",
        "data file ./x.rsf@ has 20 bytes of data, n1=10",
    );
    // In a pipe, the next program also reports an error.
    let run = scratch.shell("probe mode=late n1=10 | probe > y.rsf; echo $?");
    assert_eq!(out(&run), "1\n");
    assert!(
        err(&run).contains("standard input: the data end before element 6 of 10"),
        "{}",
        err(&run)
    );
}

#[test]
fn a_program_that_counts_wrong_is_an_error() {
    let scratch = Scratch::new();
    assert_refused(
        &scratch,
        "probe mode=short n1=10 > x.rsf",
        "5 elements were written, but the header says 10",
    );
    assert_refused(
        &scratch,
        "probe mode=long n1=10 > x.rsf",
        "element 11 is written, but the header says 10",
    );
}
