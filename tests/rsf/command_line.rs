//! The command line in Madagascar's conventions, and additions to it.

use std::fs;
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::Stdio;

use crate::support::{Scratch, err, failed, out, place, probe, succeeded};

#[test]
fn a_bare_call_shows_the_documentation() {
    let scratch = Scratch::new();
    for line in [
        "probe < /dev/null",
        "probe --help",
        "probe -h",
        "probe n1=3 --help",
    ] {
        let run = scratch.shell(line);
        succeeded(&run);
        let text = out(&run);
        for part in [
            "NAME\n    rsf-probe\n",
            "DESCRIPTION\n    Exercises the library as a program does\n",
            "SYNOPSIS\n    rsf-probe < in.rsf mode=copy > out.rsf\n",
            "COMMENTS\n    One paragraph of two lines.\n\n      kept   as it is\n",
            "    int         n1=10  [>= 0]\n                Numbers to make. (also count=)\n",
            "    int         nqz=n1\n",
            "    bool        verb=n  [y/n]\n",
            "    string      form=of the input  [native|xdr|ascii]\n",
            "    file        ccc=\n",
            "datapath=",
            "EXAMPLE\n    rsf-probe mode=make n1=10 | rsf-probe > out.rsf\n",
            "VERSION\n    sifaka-",
        ] {
            assert!(text.contains(part), "{line}: {part:?} is missing in\n{text}");
        }
    }
    assert_eq!(scratch.names(), [""; 0]);
}

/// Both ends of a terminal.
fn terminal() -> (OwnedFd, OwnedFd) {
    let (mut near, mut far) = (-1, -1);
    let (name, modes, size) = (std::ptr::null_mut(), std::ptr::null(), std::ptr::null());
    // SAFETY: the first two pointers are to live local variables, and the others may be null.
    let failed = unsafe { libc::openpty(&mut near, &mut far, name, modes, size) };
    assert_eq!(
        failed,
        0,
        "no terminal can be opened: {}",
        std::io::Error::last_os_error()
    );
    // SAFETY: both were just opened, and have no other owner.
    unsafe { (OwnedFd::from_raw_fd(near), OwnedFd::from_raw_fd(far)) }
}

#[test]
fn at_a_terminal() {
    let scratch = Scratch::new();
    let (_near, far) = terminal();
    let run = probe(scratch.path())
        .stdin(far.try_clone().unwrap())
        .output()
        .unwrap();
    succeeded(&run);
    assert!(out(&run).starts_with("NAME\n"));
    let run = probe(scratch.path())
        .arg("mode=copy")
        .stdin(far)
        .output()
        .unwrap();
    assert!(failed(&run).contains("standard input is a terminal: give an RSF file with < file.rsf"));
    // A terminal accepts a stream, as a pipe does.
    let (near, far) = terminal();
    let words = ["mode=make", "n1=3", "form=ascii", "out=x"];
    let run = probe(scratch.path()).args(words).stdout(far).output().unwrap();
    succeeded(&run);
    let mut bytes = vec![0; 4096];
    let got = std::fs::File::from(near).read(&mut bytes).unwrap();
    let text = String::from_utf8_lossy(&bytes[..got]).replace('\r', "");
    assert!(text.contains("\tin=\"stdout\"\n"), "{text}");
    assert!(scratch.names().is_empty());
}

#[test]
fn a_bare_call_with_data_runs() {
    let scratch = Scratch::new();
    succeeded(
        &scratch.shell("probe mode=make n1=4 > a.rsf && probe < a.rsf > b.rsf && cat a.rsf | probe > c.rsf"),
    );
    assert_eq!(scratch.reals("b.rsf"), [0.0, 1.0, 2.0, 3.0]);
    assert_eq!(scratch.reals("c.rsf"), [0.0, 1.0, 2.0, 3.0]);
}

#[test]
fn the_documentation_may_be_cut_by_a_pager() {
    let scratch = Scratch::new();
    let run = scratch.shell("probe --help | head -1");
    assert_eq!((out(&run).as_str(), err(&run).as_str()), ("NAME\n", ""));
}

#[test]
fn version_list_and_completion() {
    let scratch = Scratch::new();
    let run = scratch.pipe(&["--version"], b"");
    assert!(out(&run).starts_with("rsf-probe sifaka-") && run.status.success());

    let list: serde_json::Value = serde_json::from_slice(&scratch.pipe(&["--sfdoc"], b"").stdout).unwrap();
    assert_eq!(list["name"], "rsf-probe");
    let n1 = list["params"]
        .as_array()
        .unwrap()
        .iter()
        .find(|p| p["name"] == "n1")
        .unwrap();
    assert_eq!(
        (&n1["type"], &n1["default"], &n1["range"]),
        (&"int".into(), &"10".into(), &">= 0".into())
    );
    assert_eq!(n1["aliases"][0], "count");
    assert_eq!(n1["file"], "");

    for shell in ["bash", "zsh", "fish"] {
        let run = scratch.pipe(&[&format!("--completion={shell}")], b"");
        succeeded(&run);
        assert!(
            out(&run).contains("rsf-probe") && out(&run).contains("scale"),
            "{shell}"
        );
    }
    let text = failed(&scratch.pipe(&["--completion=cmd"], b""));
    assert!(text.contains("'cmd'"), "{text}");
}

/// The parameters as the probe prints them.
fn shown(words: &[&str]) -> String {
    let run = Scratch::new().pipe(&[&["mode=show"], words].concat(), b"");
    succeeded(&run)
}

#[test]
fn values_and_defaults() {
    assert_eq!(
        shown(&[]),
        "rsf-probe: n1=10 nqz=None scale=1 verb=false list=[] reals=[0.5, 0.5, 1.0] label=None vp=none given=false\n"
    );
    let text = shown(&[
        "n1=3",
        "nqz=-7",
        "scale=1e-3",
        "verb=1",
        "list=0,2*5",
        "reals=1",
        "label=a b=c",
        "vp=2.5",
        "n1=4",
    ]);
    assert!(text.starts_with("rsf-probe: mode is show\n"), "{text}");
    assert!(text.ends_with(
        "n1=4 nqz=Some(-7) scale=0.001 verb=true list=[0, 5, 5] reals=[1.0] label=Some(\"a b=c\") vp=2.5 given=true\n"
    ), "{text}");
    assert!(shown(&["count=6"]).contains("n1=6 "));
    assert!(shown(&["--n1=6"]).contains("n1=6 "));
    assert!(shown(&["--n1", "6"]).contains("n1=6 "));
}

#[test]
fn a_wrong_value_is_refused_with_what_is_allowed() {
    let scratch = Scratch::new();
    for (word, sentence) in [
        ("n1=abc", "n1= got `abc`, but must be a whole number >= 0"),
        ("n1=-1", "n1= got `-1`, but must be a whole number >= 0"),
        ("n1=", "n1= got an empty value, but must be a whole number >= 0"),
        ("count=1e3", "n1= got `1e3`, but must be a whole number >= 0"),
        ("scale=2km", "scale= got `2km`, but must be a number"),
        ("verb=true", "verb= got `true`, but must be y or n"),
        (
            "mode=cpoy",
            "mode= got `cpoy`, but must be copy or make or lines or excess or",
        ),
        (
            "list=1,a",
            "list= got `1,a`, but must be whole numbers separated by commas",
        ),
        (
            "vp=0",
            "vp= got `0`, but must be a number or the name of an RSF file > 0",
        ),
        (
            "ccc=",
            "ccc= got an empty value, but must be the name of an RSF file",
        ),
    ] {
        let text = failed(&scratch.pipe(&[word], b""));
        assert!(text.contains(sentence), "{text}");
    }
}

#[test]
fn doubtful_words_are_warned_of() {
    for (word, sentence) in [
        ("n1=7.9", "rsf-probe: warning: n1=7.9 is taken as 7\n"),
        (
            "ompchunk=1",
            "rsf-probe: warning: ompchunk= has no effect in this program (For older scripts.)\n",
        ),
        (
            "n1",
            "rsf-probe: warning: `n1` is ignored: parameters are written key=value, without blanks; RSF_STRICT=1 makes this an error\n",
        ),
        (
            "scael=2",
            "rsf-probe: warning: unknown parameter scael= (did you mean scale= ?); RSF_STRICT=1 makes this an error\n",
        ),
        // The suggestion is the parameter whose name begins with the unknown word.
        (
            "scalefactor=2",
            "rsf-probe: warning: unknown parameter scalefactor= (did you mean scale= ?); RSF_STRICT=1 makes this an error\n",
        ),
        (
            "quite-other=2",
            "rsf-probe: warning: unknown parameter quite-other=; RSF_STRICT=1 makes this an error\n",
        ),
        (
            "--i=2",
            "rsf-probe: warning: unknown parameter --i=; RSF_STRICT=1 makes this an error\n",
        ),
    ] {
        let text = shown(&[word]);
        assert!(text.starts_with(sentence), "{text}");
        assert_eq!(text.lines().count(), 2);
    }
    for quiet in ["--readwrite=y", "tmpdatapath=/tmp/", "--out=x", "datapath=./"] {
        assert_eq!(shown(&[quiet]).lines().count(), 1, "{quiet}");
    }
}

#[test]
fn strict_runs_refuse_unknown_parameters() {
    let scratch = Scratch::new();
    let run = probe(scratch.path())
        .args(["mode=show", "scael=2", "zzz=1"])
        .env("RSF_STRICT", "1")
        .output()
        .unwrap();
    let text = failed(&run);
    assert!(
        text.contains("scael= (did you mean scale= ?); unknown parameter zzz="),
        "{text}"
    );
}

#[test]
fn par_files_count_at_their_place() {
    let scratch = Scratch::new();
    scratch.write(
        "a.par",
        "# comment n1 = 5\nn1=3 label=\"two words\" par=b.par\r\nscale=2\n\x0c\x0c\x04 scale=3",
    );
    scratch.write("b.par", "n1=4 scale=9");
    scratch.write("c.par", "n1=\"oops");
    let show = |line: &str| succeeded(&scratch.shell(&format!("probe mode=show {line}")));
    let text = show("n1=1 par=a.par");
    assert!(
        text.contains("n1=3 ") && text.contains("scale=2 ") && text.contains("Some(\"two words\")"),
        "{text}"
    );
    assert!(show("par=a.par n1=1").contains("n1=1 "));
    assert!(show("par=a.par par=b.par").contains("n1=4 "));
    assert!(show("par=b.par par=a.par").contains("scale=2 "));
    scratch.write("d.par", "scael=1");
    assert!(show("par=d.par").contains("par=d.par: unknown parameter scael= (did you mean scale= ?)"));
    for (line, sentence) in [
        (
            "probe par=none",
            "cannot read par=none: No such file or directory",
        ),
        ("probe par=.", "par=.: it is a directory"),
        (
            "probe par=c.par",
            "par=c.par: line 1 of the header: unterminated string",
        ),
    ] {
        let text = failed(&scratch.shell(line));
        assert!(text.contains(sentence), "{text}");
    }
}

#[test]
fn numbers_or_files() {
    let scratch = Scratch::new();
    succeeded(&scratch.shell("probe mode=make n1=4 > 2.5km.rsf"));
    let run = scratch.shell("probe mode=show vp=2.5km.rsf");
    assert!(
        succeeded(&run).contains("vp=vp=2.5km.rsf with 4 "),
        "{}",
        err(&run)
    );
    assert!(
        failed(&scratch.shell("probe mode=show vp=2.5miles"))
            .contains("cannot read vp=2.5miles: No such file")
    );
}

#[test]
fn messages_survive_a_closed_stderr() {
    let scratch = Scratch::new();
    let run = scratch.shell("probe mode=make n1=3 nonsense=1 > a.rsf 2>&-; echo $?");
    assert_eq!(out(&run), "0\n");
    assert_eq!(scratch.reals("a.rsf").len(), 3);
    let run = probe(scratch.path())
        .arg("n1=x")
        .stderr(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(run.status.code(), Some(1));
}

#[test]
fn the_name_is_the_one_it_was_called_by() {
    let scratch = Scratch::new();
    std::os::unix::fs::symlink(place(), scratch.file("sfother")).unwrap();
    let run = scratch.shell("./sfother mode=make n1=1 > a.rsf; ./sfother n1=x");
    assert!(err(&run).starts_with("sfother: n1="));
    assert!(
        fs::read_to_string(scratch.file("a.rsf"))
            .unwrap()
            .contains("\tsfother\t")
    );
}
