//! Mistakes of users that no program may ignore silently, and files of other programs that no program may overwrite.

use std::fs::{self, File};
use std::io::Read;
use std::os::fd::FromRawFd;
use std::process::Stdio;

use crate::support::{Scratch, failed, out, probe, succeeded};

#[test]
fn two_folders_with_one_data_path_keep_their_own_numbers() {
    let scratch = Scratch::new();
    succeeded(&scratch.shell("mkdir a b s; export DATAPATH=$PWD/s/
        (cd a; probe mode=make n1=2 | probe scale=1 > m.rsf); (cd b; probe mode=make n1=4 | probe scale=3 > m.rsf)"));
    assert_eq!(scratch.reals("a/m.rsf"), [0.0, 1.0]);
    assert_eq!(scratch.reals("b/m.rsf"), [0.0, 3.0, 6.0, 9.0]);
    assert!(scratch.file("s/m.rsf@").exists());
    let files = || fs::read_dir(scratch.file("s")).unwrap().count();
    let before = files();
    assert_eq!(before, 2);
    // If the programs run again, each uses the data file that it had, even if its header was removed.
    succeeded(&scratch.shell(
        "export DATAPATH=$PWD/s/; rm a/m.rsf b/m.rsf
        (cd b; probe mode=make n1=5 > m.rsf); (cd a; probe mode=make n1=3 > m.rsf)",
    ));
    assert_eq!(
        (scratch.reals("a/m.rsf").len(), scratch.reals("b/m.rsf").len()),
        (3, 5)
    );
    // On a file system without attributes, one more name may be used, but no further names later.
    assert!(files() <= before + 1, "{:?}", out(&scratch.shell("ls s")));
}

/// A header that comes through a pipe has no folder: the data in the current folder are read, with a warning if the
/// header was made elsewhere.
#[test]
fn headers_of_another_folder_through_a_pipe_are_warned_of() {
    let scratch = Scratch::new();
    succeeded(&scratch.shell("mkdir a b; for f in a b; do (cd $f; probe mode=make n1=2 > m.rsf); done"));
    let run = scratch.shell("cd b; cat ../a/m.rsf | probe > read.rsf");
    let text = crate::support::err(&run);
    succeeded(&run);
    for words in [
        "through a pipe",
        "/a: its data ./m.rsf@ are read from the current folder",
    ] {
        assert!(text.contains(words), "{text}");
    }
    let text = crate::support::err(
        &scratch.shell("cd a; cat m.rsf | probe > read.rsf; probe < m.rsf | probe > read.rsf"),
    );
    assert!(!text.contains("pipe"), "{text}");
}

/// A header in another folder has the data in that folder, even if the current folder has a file of the same name.
#[test]
fn headers_of_another_folder_have_their_own_numbers() {
    let scratch = Scratch::new();
    succeeded(
        &scratch
            .shell("mkdir a b c; (cd a; probe mode=make n1=2 > m.rsf); (cd b; probe mode=make n1=4 > m.rsf)"),
    );
    for folder in ["b", "c"] {
        succeeded(&scratch.shell(&format!("cd {folder}; probe scale=3 < ../a/m.rsf > read.rsf")));
        assert_eq!(
            scratch.reals(&format!("{folder}/read.rsf")),
            [0.0, 3.0],
            "{folder}"
        );
    }
    // The data of a header that is written into another folder are also read from there.
    succeeded(
        &scratch
            .shell("cd a; probe mode=make n1=3 > ../c/far.rsf; cd ../c; probe scale=2 < far.rsf > read.rsf"),
    );
    assert_eq!(scratch.reals("c/read.rsf"), [0.0, 2.0, 4.0]);
    // In a folder that was moved, the data belong to the header next to them, and the data in the current folder belong
    // to another header.
    let run = scratch.shell("mv a e; cd b; probe scale=3 < ../e/m.rsf > read.rsf; mv ../e ../a");
    assert_eq!(scratch.reals("b/read.rsf"), [0.0, 3.0]);
    let text = crate::support::err(&run);
    assert!(text.contains("the second is read"), "{text}");
    // If it is unknown to which header the data belong, the data whose length matches the header are read.
    let forget = "for f in a b; do cat $f/m.rsf@ > $f/n; mv $f/n $f/m.rsf@; cp $f/m.rsf $f/m2; mv $f/m2 $f/m.rsf; done";
    succeeded(&scratch.shell(forget));
    let run = scratch.shell("cd b; probe scale=3 < ../a/m.rsf > read.rsf");
    assert_eq!(crate::support::err(&run), "");
    assert_eq!(scratch.reals("b/read.rsf"), [0.0, 3.0]);
    // If both exist, the data in the current folder are read, with a warning.
    succeeded(&scratch.shell(&format!("cd b; probe mode=make n1=2 > m.rsf; cd ..; {forget}")));
    let run = scratch.shell("cd b; probe < ../a/m.rsf > read.rsf");
    let text = crate::support::err(&run);
    assert!(
        text.contains("./m.rsf@ and ")
            && text.contains("/a/m.rsf@ both exist, and neither")
            && text.contains("the first is read. Rename one"),
        "{text}"
    );
}

#[test]
fn programs_that_start_at_once_do_not_race() {
    let scratch = Scratch::new();
    let jobs: String = (1..=16)
        .map(|k| format!("(cd d{k}; exec \"$PROBE\" mode=make n1={k} > m.rsf) & "))
        .collect();
    let line = format!(
        "mkdir s; for k in $(seq 16); do mkdir d$k; done; export DATAPATH=$PWD/s/ PROBE={:?}; {jobs} wait",
        crate::support::place()
    );
    succeeded(&scratch.shell(&line));
    for k in 1..=16 {
        assert_eq!(scratch.reals(&format!("d{k}/m.rsf")).len(), k);
    }
}

#[test]
fn data_that_another_header_names_are_spared() {
    let scratch = Scratch::new();
    // A header that was copied still names the data of the original.
    succeeded(&scratch.shell("probe mode=make n1=3 > x.rsf; cp x.rsf y.rsf; probe scale=5 < y.rsf > x.rsf"));
    assert_eq!(scratch.reals("y.rsf"), [0.0, 1.0, 2.0]);
    assert_eq!(scratch.reals("x.rsf"), [0.0, 5.0, 10.0]);
}

#[test]
fn a_closed_standard_output_is_no_place() {
    let scratch = Scratch::new();
    let text = failed(&scratch.shell("probe mode=make n1=3 >&-"));
    assert!(
        text.contains("standard output is closed: send it to a file"),
        "{text}"
    );
    succeeded(&scratch.shell("probe mode=make n1=3 > /dev/null"));
}

#[test]
fn the_documentation_is_no_dataset() {
    let scratch = Scratch::new();
    let text = failed(&scratch.shell("probe < /dev/null > out.rsf"));
    assert!(text.contains("neither parameters nor an RSF file"), "{text}");
    assert_eq!(scratch.text("out.rsf"), "");
    succeeded(&scratch.shell("probe --help > help.txt"));
    assert!(scratch.text("help.txt").contains("rsf-probe"));
    assert!(out(&scratch.shell("probe < /dev/null | cat")).contains("rsf-probe"));
    // The documentation is not printed after a program without output either.
    for nothing in ["false | probe", "true > none; probe < none"] {
        let done = scratch.shell(nothing);
        assert!(failed(&done).contains("standard input is empty (did the program before it fail?)"));
        assert_eq!(out(&done), "");
    }
}

#[test]
fn what_is_no_dataset_is_called_by_its_name() {
    let scratch = Scratch::new();
    succeeded(
        &scratch.shell("probe mode=make n1=100 > x.rsf; printf '\\211PNG\\r\\n' > p.png; mkdir folder"),
    );
    let assert_refused = |line: &str, words: &str| {
        let message = failed(&scratch.shell(line));
        assert!(message.contains(words), "{line}: {message}");
    };
    assert_refused(
        "cat x.rsf@ | probe > y.rsf",
        "standard input: contains numbers (as native_float they begin with 0, 1, 2) without an RSF header",
    );
    assert_refused(
        "probe < x.rsf@ > y.rsf",
        "give the header (x.rsf), which names these numbers",
    );
    assert_refused("probe < p.png > y.rsf", "is not an RSF file but a picture (PNG)");
    assert_refused(
        "printf 'ncols 11\\nnrows 11\\n601 602\\n' | probe > y.rsf",
        "is not an RSF file but an ASCII grid of ESRI (sifaka.grids in Python reads it)",
    );
    assert_refused(
        "probe mode=make par=folder > y.rsf",
        "par=folder: it is a directory; a file of parameters (key=value) was expected",
    );
    // The instructions in the message are sufficient to read them.
    succeeded(
        &scratch.shell("echo 'n1=100 data_format=native_float in=x.rsf@' > raw.rsf; probe < raw.rsf > y.rsf"),
    );
    assert_eq!(scratch.reals("y.rsf"), scratch.reals("x.rsf"));
}

#[test]
fn two_names_of_one_parameter_are_a_mistake() {
    let scratch = Scratch::new();
    let text = failed(&scratch.shell("probe mode=make n1=3 count=4 > x.rsf"));
    assert!(
        text.ends_with("n1= and count= are two names of one parameter: give one of them\n"),
        "{text}"
    );
    // There is no warning if a name is given twice, or if the command line changes a value of a par= file.
    scratch.write("p", "count=9");
    succeeded(&scratch.shell("probe mode=make n1=3 n1=4 > x.rsf; probe mode=make par=p n1=5 > y.rsf"));
    assert_eq!(
        (scratch.reals("x.rsf").len(), scratch.reals("y.rsf").len()),
        (4, 5)
    );
}

#[test]
fn headers_that_contradict_themselves() {
    let scratch = Scratch::new();
    scratch.write("d", [0u8; 16]);
    let text = failed(&scratch.shell("echo n1=forty in=d data_format=native_float | probe > x.rsf"));
    assert!(
        text.contains("standard input: n1=forty in the header is not a whole number"),
        "{text}"
    );
    let run = scratch.shell("echo n1=4 in=d data_format=native_float esize=8 | probe > x.rsf");
    let text = succeeded(&run);
    assert!(
        text.contains("warning: standard input: esize=8 in the header is not the size of native_float"),
        "{text}"
    );
}

#[test]
fn a_data_path_without_a_slash_is_warned_of() {
    let scratch = Scratch::new();
    succeeded(&scratch.shell("mkdir here"));
    let text = succeeded(&scratch.shell("DATAPATH=here probe mode=make n1=2 > x.rsf"));
    assert!(
        text.contains("warning: DATAPATH=here names a folder but does not end in `/`"),
        "{text}"
    );
    assert!(scratch.file("here/x.rsf@").exists());
    let text = succeeded(&scratch.shell("DATAPATH=here/bad probe mode=make n1=2 > x.rsf"));
    assert!(
        text.contains("names of data files begin with it, as in here/badNAME.rsf@"),
        "{text}"
    );
    // There is no warning for datapath= on the command line, which is meant as a prefix, nor for a run that writes no
    // data file.
    assert_eq!(
        succeeded(&scratch.shell("probe mode=make n1=2 datapath=here/shot1_ > x.rsf")),
        ""
    );
    assert_eq!(
        succeeded(&scratch.shell("DATAPATH=here probe mode=make n1=2 | cat > y")),
        ""
    );
}

/// Both ends of a new terminal: our end, and the end for a program.
fn terminal() -> (File, File) {
    let (mut ours, mut theirs) = (0, 0);
    let none = std::ptr::null_mut();
    // SAFETY: two live local variables are filled; null pointers request a terminal without a name and with default
    // settings.
    let status = unsafe {
        libc::openpty(
            &mut ours,
            &mut theirs,
            none,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
        )
    };
    assert_eq!(status, 0);
    // SAFETY: both were just opened, and nobody else owns them.
    unsafe { (File::from_raw_fd(ours), File::from_raw_fd(theirs)) }
}

#[test]
fn a_terminal_gets_text_only() {
    let scratch = Scratch::new();
    for (form, code) in [("native", 1), ("ascii", 0)] {
        let (mut ours, theirs) = terminal();
        let mut child = probe(scratch.path())
            .args(["mode=make", "n1=3", &format!("form={form}")])
            .stdout(Stdio::from(theirs))
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut text = String::new();
        child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code), "{text}");
        if form == "native" {
            assert!(
                text.starts_with("rsf-probe: standard output is a terminal, which shows no binary numbers"),
                "{text}"
            );
        } else {
            let mut shown = [0; 4096];
            let count = ours.read(&mut shown).unwrap();
            assert!(count > 0 && text.is_empty());
        }
    }
}
