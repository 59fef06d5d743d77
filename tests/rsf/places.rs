//! Where headers and data are written, and what headers contain.

use std::fs;

use rsf_io::{Header, Input};

use crate::support::{Scratch, data, err, out, succeeded};

/// The value of `in=` in a header file.
fn data_file(scratch: &Scratch, name: &str) -> String {
    Header::parse(&fs::read(scratch.file(name)).unwrap())
        .unwrap()
        .text("in")
        .unwrap()
}

#[test]
fn the_data_path_is_searched_in_order() {
    let scratch = Scratch::new();
    let make = "probe mode=make n1=2";
    fs::create_dir(scratch.file("d")).unwrap();
    let check = |line: &str, place: &str| {
        succeeded(&scratch.shell(line));
        assert_eq!(data_file(&scratch, "x.rsf"), place, "{line}");
        assert_eq!(scratch.reals("x.rsf"), [0.0, 1.0], "{line}");
    };
    check(&format!("{make} > x.rsf"), "./x.rsf@");
    scratch.write(".datapath", "datapath=d/home\n");
    let home = format!(
        "mkdir -p w; cd w; mkdir -p d; HOME=.. {make} > x.rsf; mv x.rsf ..; cd ..; mv w/d/* d; rm -r w"
    );
    check(&home, "d/homex.rsf@");
    fs::remove_file(scratch.file(".datapath")).unwrap();
    check(&format!("DATAPATH=d/pre {make} > x.rsf"), "d/prex.rsf@");
    scratch.write(".datapath", "datapath=d/dot_\nnohost datapath=/nowhere/\n");
    check(&format!("DATAPATH=d/pre {make} > x.rsf"), "d/dot_x.rsf@");
    scratch.write(".datapath", "datapath=d/dot_\n`hostname` datapath=/nowhere/\n");
    succeeded(
        &scratch.shell("printf 'datapath=d/dot_\\n%s datapath=d/host_\\n' \"$(uname -n)\" > .datapath"),
    );
    check(&format!("DATAPATH=d/pre {make} > x.rsf"), "d/host_x.rsf@");
    check(&format!("{make} datapath=d/line_ > x.rsf"), "d/line_x.rsf@");
    check(&format!("{make} --out=d/two > x.rsf"), "d/two");
    check(&format!("{make} --out=d/two out=d/one > x.rsf"), "d/one");
    scratch.write(".datapath", "d/\n");
    let run = scratch.shell(&format!("{make} > x.rsf"));
    assert!(
        err(&run).contains(".datapath: the first line must be datapath=PATH"),
        "{}",
        err(&run)
    );
}

#[test]
fn streams() {
    let scratch = Scratch::new();
    let text = out(&scratch.shell("probe mode=make n1=1 out=ignored | cat"));
    assert!(
        text.ends_with("\tin=\"stdout\"\n\tin=\"stdin\"\n\n\x0c\x0c\x04\0\0\0\0"),
        "{text:?}"
    );
    succeeded(&scratch.shell("probe mode=make n1=2 out=stdout > x.rsf"));
    assert_eq!(scratch.names(), ["x.rsf"]);
    assert_eq!(scratch.reals("x.rsf"), [0.0, 1.0]);
    // With /dev/null nothing is left anywhere; with out= the data are kept.
    succeeded(&scratch.shell("probe mode=make n1=2 > /dev/null"));
    assert_eq!(scratch.names(), ["x.rsf"]);
    succeeded(&scratch.shell("probe mode=make n1=2 out=y > /dev/null"));
    assert_eq!(fs::read(scratch.file("y")).unwrap().len(), 8);
}

#[test]
fn headers_of_one_name_in_two_folders_keep_their_own_data() {
    let scratch = Scratch::new();
    succeeded(&scratch.shell(
        "mkdir a b; probe mode=make n1=2 > a/x.rsf; probe mode=make n1=3 > b/x.rsf; probe mode=make n1=4 > x.rsf
         probe mode=make n1=5 wfl=a/t.rsf > y.rsf; probe mode=make n1=5 wfl=t.rsf > y.rsf; probe mode=make n1=2 > a/x.rsf",
    ));
    for (name, n) in [
        ("a/x.rsf", 2),
        ("b/x.rsf", 3),
        ("x.rsf", 4),
        ("y.rsf", 5),
        ("a/t.rsf", 2),
        ("t.rsf", 2),
    ] {
        // The data are found from the current directory.
        let run = scratch.shell(&format!("probe < {name} | wc -c"));
        assert!(succeeded(&run).is_empty());
        let header = Header::parse(&fs::read(scratch.file(name)).unwrap()).unwrap();
        let path = scratch.file(&header.text("in").unwrap());
        assert_eq!(fs::metadata(path).unwrap().len(), 4 * n, "{name}");
    }
    assert_eq!(
        (data_file(&scratch, "x.rsf"), data_file(&scratch, "t.rsf")),
        ("./x.rsf@".into(), "./t.rsf@".into())
    );
    // The name is used again by the next run.
    assert_eq!(
        scratch
            .names()
            .iter()
            .filter(|name| name.starts_with("x.rsf"))
            .count(),
        4
    );
}

#[test]
fn history_banner_and_notes() {
    let scratch = Scratch::new();
    let line = format!("probe < {:?} > x.rsf", data().join("pipedint.rsf"));
    succeeded(&scratch.shell(&line));
    let text = scratch.text("x.rsf");
    let whole = fs::read(data().join("pipedint.rsf")).unwrap();
    let end = whole.windows(3).position(|w| w == rsf_io::TERMINATOR).unwrap();
    let history = String::from_utf8(whole[..end].to_vec()).unwrap();
    assert!(text.starts_with(&history));
    let ours = &text[history.len()..];
    let mut lines = ours.lines();
    let banner: Vec<&str> = lines.next().unwrap().split('\t').collect();
    assert!(banner[0].starts_with("sifaka-"), "{banner:?}");
    assert_eq!(banner[1], "rsf-probe");
    let tail = scratch.path().canonicalize().unwrap();
    assert!(
        banner[2]
            .strip_suffix(':')
            .is_some_and(|place| tail.ends_with(place)),
        "{banner:?}"
    );
    let host = out(&scratch.shell("uname -n"));
    assert!(
        banner[3]
            .split_once('@')
            .is_some_and(|(user, at)| !user.is_empty() && at == host.trim())
    );
    let date = out(&scratch.shell("LC_ALL=C date '+%a %b %e'"));
    assert!(banner[4].starts_with(date.trim()), "{banner:?} {date}");
    assert_eq!(lines.next(), Some(""));
    assert_eq!(lines.next(), Some("\trsf-probe n1:99\tdevice:'none'"));
    assert!(
        ours.ends_with("\tdata_format=\"native_int\"\n\tesize=4\n\tin=\"./x.rsf@\"\n"),
        "{ours}"
    );
    assert_eq!(Input::open(&scratch.file("x.rsf")).unwrap().axis(1).n, 7);
}

#[test]
fn a_header_without_a_last_newline_is_not_run_into() {
    let scratch = Scratch::new();
    scratch.write("d", 1.5f32.to_le_bytes());
    succeeded(&scratch.shell("printf 'n1=1 in=d data_format=native_float label2=old n3=1' | probe > x.rsf"));
    let input = Input::open(&scratch.file("x.rsf")).unwrap();
    assert_eq!(input.format(), rsf_io::Format::NATIVE_FLOAT);
    assert_eq!(input.axis(2).label.as_deref(), Some("old"));
}

#[test]
fn tagged_outputs_carry_the_history_of_standard_input_only() {
    let scratch = Scratch::new();
    let golden = data();
    succeeded(&scratch.shell(&format!(
        "cp {golden:?}/f.rsf@ {golden:?}/floatxdr.rsf* {golden:?}/f.rsf .; cp {golden:?}/labels.rsf* .
         probe mode=tags ccc=f.rsf wfl=w.rsf < labels.rsf > s.rsf"
    )));
    let (w, s) = (
        Input::open(&scratch.file("w.rsf")).unwrap(),
        Input::open(&scratch.file("s.rsf")).unwrap(),
    );
    assert_eq!(scratch.reals("w.rsf"), scratch.reals("f.rsf"));
    assert_eq!(
        scratch.reals("s.rsf"),
        [scratch.reals("f.rsf").iter().sum::<f32>()]
    );
    assert_eq!(w.header().text("mystr").as_deref(), Some("two words"));
    assert_eq!((w.axis(1).label.as_deref(), w.axis(3).n), (Some("Depth"), 1));
    assert_eq!(s.header().int("from"), Some(105));
    // A stale label is emptied, and a stale length reset.
    assert_eq!(
        (s.axis(1).label.as_deref(), s.axis(2).n, s.len()),
        (Some(""), 1, 1)
    );
    // Tagged outputs have the form of standard input, too.
    succeeded(&scratch.shell("probe mode=tags ccc=f.rsf wfl=w.rsf < floatxdr.rsf > s.rsf"));
    assert_eq!(
        Input::open(&scratch.file("w.rsf")).unwrap().format().to_string(),
        "xdr_float"
    );
}

#[test]
fn absent_tags_are_file_names() {
    let scratch = Scratch::new();
    succeeded(&scratch.shell("probe mode=make n1=3 > ccc && probe mode=tags < ccc > s.rsf"));
    assert_eq!(scratch.reals("wfl"), [0.0, 1.0, 2.0]);
}

#[test]
fn tagged_outputs_to_pipes_and_devices_are_streams() {
    let scratch = Scratch::new();
    let run = scratch.shell("probe mode=make n1=3 wfl=/dev/null > a.rsf && mkfifo p && (cat p > got & probe mode=make n1=3 wfl=p > b.rsf; wait)");
    succeeded(&run);
    assert_eq!(scratch.reals("got"), [1.0, 2.0]);
    assert_eq!(
        scratch.names(),
        ["a.rsf", "a.rsf@", "b.rsf", "b.rsf@", "got", "p"]
    );
}

#[test]
fn a_dry_run_writes_the_header_only() {
    let scratch = Scratch::new();
    let run = scratch.shell("probe mode=make n1=3 wfl=w.rsf nonsense=1 --dryrun=y > x.rsf");
    assert_eq!(succeeded(&run), "");
    assert_eq!(data_file(&scratch, "x.rsf"), "./x.rsf@");
    assert_eq!(fs::metadata(scratch.file("x.rsf@")).unwrap().len(), 0);
    assert_eq!(scratch.names(), ["x.rsf", "x.rsf@"]);
    let run = scratch.shell("probe mode=make n1=3 --dryrun=y | cat");
    assert!(out(&run).ends_with("\n\x0c\x0c\x04"));
    succeeded(&scratch.shell("probe mode=make n1=3 --dryrun=n > x.rsf"));
    assert_eq!(scratch.reals("x.rsf").len(), 3);
}
