//! Copying, moving and removing datasets; names of programs, histories, and the places of data files.

use crate::bench::{Bench, ramp};

#[test]
fn copies_moves_and_removals_take_the_data_along() {
    let bench = Bench::new();
    bench.dataset("a.rsf", &[4, 3], &ramp(12));
    bench.run("sfwindow < a.rsf > b.rsf; sfcp b.rsf c.rsf; sfmv c.rsf d.rsf");
    assert!(
        !bench.path("c.rsf").exists() && !bench.path("c.rsf@").exists(),
        "a moved dataset is gone"
    );
    assert!(bench.path("b.rsf@").exists());
    assert_eq!(bench.reals("d.rsf"), ramp(12));
    assert_eq!(bench.axes("d.rsf", 2), bench.axes("a.rsf", 2));
    let text = bench.sh("sfrm -v b.rsf d.rsf a.rsf").err;
    assert_eq!(text.lines().count(), 3, "{text}");
    for name in ["a.rsf", "b.rsf", "b.rsf@", "d.rsf", "d.rsf@"] {
        assert!(!bench.path(name).exists(), "{name}");
    }
    bench.run("sfrm -f a.rsf nothing.rsf");
    assert!(bench.refused("sfrm a.rsf").contains("cannot read a.rsf"));
    assert!(bench.refused("sfrm -q a.rsf").contains("-i, -f and -v"));
}

/// Commands on a dataset of another folder use its own data file, even if the current folder has a dataset of the same
/// name.
#[test]
fn removals_and_moves_spare_the_data_of_other_datasets() {
    let bench = Bench::new();
    bench.run("mkdir one; cd one; for n in a b c d; do sfspike n1=3 mag=1 nostdin=y > $n.rsf; done");
    bench.run("for n in a b c; do sfspike n1=4 mag=7 nostdin=y > $n.rsf; done");
    bench.run("sfrm one/a.rsf; sfmv one/b.rsf moved.rsf");
    for gone in ["one/a.rsf", "one/a.rsf@", "one/b.rsf", "one/b.rsf@"] {
        assert!(!bench.path(gone).exists(), "{gone}");
    }
    assert_eq!(bench.reals("moved.rsf"), [1.0; 3]);
    for kept in ["a.rsf", "b.rsf"] {
        assert_eq!(bench.reals(kept), [7.0; 4]);
    }
    // Warnings about a dataset refer to its own data file.
    let run = bench.sh("sfin one/c.rsf");
    assert!(run.code == 0 && run.err.is_empty(), "{}", run.err);
    // There are two files of the same length, and it is unknown which of them belongs to the dataset, so neither is
    // removed.
    bench.run(
        "for f in one .; do cat one/c.rsf@ > n; rm $f/c.rsf@ && mv n $f/c.rsf@; cp one/c.rsf@ keep; done",
    );
    bench.run("mv keep one/c.rsf@; cp one/c.rsf n; mv n one/c.rsf");
    let message = bench.refused("sfrm one/c.rsf");
    assert!(
        message.contains("nothing is removed") && message.contains("one/c.rsf@"),
        "{message}"
    );
    assert!(bench.path("one/c.rsf@").exists() && bench.path("c.rsf@").exists());
    // If one of the two was cut short, the length of the other is not a sufficient reason to remove it.
    bench.run("printf 1234 > one/c.rsf@");
    let message = bench.refused("sfrm one/c.rsf");
    assert!(
        message.contains("only its length suggests that ./c.rsf@"),
        "{message}"
    );
    assert!(bench.path("c.rsf@").exists());
    // Removing a second header of the same data leaves the data, which belong to the first.
    bench.run("sed s/n1=4/n1=2/ a.rsf > half.rsf");
    let run = bench.sh("sfrm half.rsf");
    assert!(
        run.code == 0 && run.err.contains("a.rsf@ is not removed: it holds the data of"),
        "{}",
        run.err
    );
    assert_eq!(bench.reals("a.rsf"), [7.0; 4]);
}

/// The header of a mesh names its other files, which stay where they are: a copy in another folder has their absolute
/// names, even if that folder has files of these names.
#[test]
fn copies_of_meshes_find_the_files_of_the_mesh() {
    let bench = Bench::new();
    let mesh = "sfspike n1=4 n2=3 nostdin=y | sfdd type=int | sfput nodes=m-nodes.rsf pml=none.rsf";
    bench.run(&format!(
        "mkdir a b; for f in a b; do cd $f; sfspike n1=2 n2=8 nostdin=y > m-nodes.rsf; {mesh} > m.rsf; cd ..; done"
    ));
    let own = bench.path("b/m-nodes.rsf").canonicalize().unwrap();
    let names = |line: &str| {
        bench.run(&format!("cd a; rm -f c.rsf; {line}; sfcp c.rsf d.rsf"));
        let header = bench.open("a/d.rsf");
        ["nodes", "pml"].map(|word| header.header().text(word).unwrap_or_default())
    };
    for line in [
        "sfcp ../b/m.rsf c.rsf",
        "sfcp < ../b/m.rsf > c.rsf",
        "sfput title=x < ../b/m.rsf | sfcp > c.rsf",
        "cd ../b; sfcp m.rsf n.rsf; sfmv n.rsf ../a/c.rsf; cd ../a",
    ] {
        // A file that does not exist keeps its name.
        assert_eq!(names(line), [own.to_str().unwrap(), "none.rsf"], "{line}");
    }
    // A copy next to the mesh has the names of the mesh.
    assert_eq!(names("sfcp m.rsf c.rsf"), ["m-nodes.rsf", "none.rsf"]);
}

/// The attribute of data that were moved or copied together with their folder names a header that by now has data of
/// its own.
#[test]
fn datasets_that_were_moved_or_copied_whole_are_removed_whole() {
    let bench = Bench::new();
    bench.run("mkdir run; cd run; sfspike n1=3 nostdin=y > a.rsf; sfspike n1=3 nostdin=y > b.rsf");
    bench.run("cp -a run copy; mv run old; mkdir run; cd run; sfspike n1=3 nostdin=y > a.rsf; sfspike n1=3 nostdin=y > b.rsf");
    for folder in ["old", "copy"] {
        assert_eq!(
            bench
                .sh(&format!("cd {folder}; sfrm a.rsf; sfmv b.rsf c.rsf"))
                .err,
            ""
        );
        for gone in ["a.rsf", "a.rsf@", "b.rsf", "b.rsf@"] {
            assert!(
                !bench.path(&format!("{folder}/{gone}")).exists(),
                "{folder}/{gone}"
            );
        }
        assert!(bench.path(&format!("{folder}/c.rsf@")).exists());
    }
    assert!(bench.path("run/a.rsf@").exists() && bench.path("run/b.rsf@").exists());
    // Data that are not a regular file are kept, and a dangling link is removed.
    bench.run("cd run; rm a.rsf@; mkfifo a.rsf@; rm b.rsf@; ln -s nowhere b.rsf@");
    let text = bench.sh("cd run; sfrm a.rsf b.rsf").err;
    assert!(
        text.contains("a.rsf@ is not removed: it is not a regular file"),
        "{text}"
    );
    assert!(!bench.path("run/b.rsf").exists() && bench.path("run/b.rsf@").symlink_metadata().is_err());
}

#[test]
fn a_removal_asks_and_spares_what_is_no_dataset() {
    let bench = Bench::new();
    bench.dataset("a.rsf", &[2], &[1.0, 2.0]);
    bench.run("sfwindow < a.rsf > b.rsf; echo n | sfrm -i b.rsf");
    assert!(bench.path("b.rsf").exists());
    bench.run("echo y | sfrm -i b.rsf");
    assert!(!bench.path("b.rsf").exists() && !bench.path("b.rsf@").exists());
    bench.put("letter.txt", "Dear reader,\nnothing to remove here\n");
    assert!(bench.refused("sfrm letter.txt").contains("no in="));
    assert!(bench.path("letter.txt").exists());
    assert!(bench.refused("sfmv a.rsf a.rsf").contains("would overwrite"));
    assert!(bench.refused("sfcp a.rsf").contains("two are needed"));
    assert_eq!(bench.reals("a.rsf"), [1.0, 2.0]);
}

#[test]
fn text_keeps_its_digits() {
    let bench = Bench::new();
    bench.put("a.rsf", "n1=3 data_format=ascii_float esize=0 in=./a.txt\n");
    bench.put("a.txt", "1.23456789012 2 # no number but a note\n3.5e-12\n");
    bench.run("sfcp a.rsf b.rsf");
    assert_eq!(bench.bytes("b.rsf@"), bench.bytes("a.txt"));
    bench.put("a.txt", "1.23456789012 2\n3.5e-12\n");
    bench.run("sfput < a.rsf label1=x > c.rsf");
    assert_eq!(bench.bytes("c.rsf@"), bench.bytes("a.txt"));
    assert_eq!(bench.reals("c.rsf"), [1.234_567_9, 2.0, 3.5e-12]);
}

#[test]
fn one_binary_has_many_names() {
    let bench = Bench::new();
    bench.run(
        "sfspike n1=3 nostdin=y > a.rsf; ln -s bin/sfspike sfbasics; ./sfbasics spike n1=3 nostdin=y > b.rsf",
    );
    // The link is named sfbasics, so the first argument decides which program runs.
    assert_eq!(bench.reals("a.rsf"), bench.reals("b.rsf"));
    let history = String::from_utf8(bench.bytes("b.rsf")).unwrap();
    assert!(history.contains("\tsfspike\t"), "{history}");
    assert_eq!(bench.run("./sfbasics --help"), bench.run("./sfbasics"));
    assert!(bench.run("./sfbasics --version").starts_with("sfbasics sifaka-"));
    for (program, _) in basics::programs() {
        program.verify().unwrap();
        if program.params.iter().all(|param| !param.required) && program.name != "sfgrey" {
            let help = bench.run(&format!("{} < /dev/null", program.name));
            assert!(
                help.starts_with("NAME\n") && help.contains(program.about),
                "{}: {help}",
                program.name
            );
        }
        let json: serde_json::Value =
            serde_json::from_str(&bench.run(&format!("{} --sfdoc", program.name))).unwrap();
        assert_eq!(json["name"], program.name);
    }
}

#[test]
fn outputs_follow_the_form_of_their_input() {
    let bench = Bench::new();
    bench.dataset("a.rsf", &[4, 2], &ramp(8));
    bench.run("sfdd < a.rsf form=xdr > x.rsf; sfdd < a.rsf form=ascii > t.rsf");
    for (name, form) in [("x", "xdr_float"), ("t", "ascii_float")] {
        bench.run(&format!(
            "sfmath < {name}.rsf output='input*2' | sfscale dscale=0.5 | sftransp | sftransp > b.rsf; sfadd {name}.rsf {name}.rsf > c.rsf
             sfcat {name}.rsf {name}.rsf axis=2 | sfwindow n2=2 > d.rsf; sfmath a={name}.rsf output=a > e.rsf"
        ));
        for ours in ["b", "c", "d", "e"] {
            assert_eq!(
                bench.open(&format!("{ours}.rsf")).format().to_string(),
                form,
                "{ours}"
            );
        }
        assert_eq!(bench.reals("b.rsf"), ramp(8));
        assert_eq!(bench.reals("e.rsf"), ramp(8));
    }
}

#[test]
fn places_of_data_are_those_of_every_program() {
    let bench = Bench::new();
    bench.run("mkdir sub; sfspike n1=2 nostdin=y --out=sub/mine@ > sub/a.rsf; sfmath n1=2 nostdin=y output=x1 out=stdout > b.rsf");
    assert_eq!(bench.run("sfdisfil < sub/a.rsf number=n format='%g '"), "1 1 \n");
    assert!(bench.path("sub/mine@").exists() && !bench.path("b.rsf@").exists());
    assert_eq!(bench.reals("b.rsf"), [0.0, 1.0]);
}

/// A picture of the first plane leaves three million numbers unused, more than a pipe holds; the writer must still end
/// successfully.
#[test]
fn a_picture_reads_its_pipe_to_the_end() {
    let bench = Bench::new();
    for picture in ["sfgraph frame=1", "sfgrey frame=1", "sfwiggle frame=1"] {
        let line = format!(
            "{{ sfmath n1=100 n2=10 n3=3000 output=x1; echo $? > code; }} | {picture} > p.png; cat code"
        );
        assert_eq!(bench.run(&line), "0\n", "{picture}");
    }
}

/// Files of traces and pictures are not datasets, but a run must not overwrite its input with them either.
#[test]
fn nothing_that_is_read_is_overwritten() {
    let bench = Bench::new();
    bench.run("sfspike n1=100 d1=.004 n2=5 > t.rsf; sfsegywrite < t.rsf tape=z.sgy; sfsuwrite < t.rsf tape=z.su; sfsegyread tape=z.sgy tfile=h.rsf > u.rsf");
    let all = ["t.rsf", "t.rsf@", "z.sgy", "z.su", "h.rsf", "h.rsf@"];
    let before = all.map(|name| bench.bytes(name));
    for line in [
        "sfsegyread tape=z.sgy tfile=z.sgy",
        "sfsuread tape=z.su tfile=z.su",
        "sfsegyread tape=z.sgy tfile=k.rsf hfile=z.sgy",
        "sfsegyread tape=z.sgy tfile=k.rsf bfile=z.sgy",
        "sfsegywrite < t.rsf tape=t.rsf",
        "sfsegywrite < t.rsf tape=t.rsf@",
        "sfsegywrite < t.rsf tfile=h.rsf tape=h.rsf",
        "sfsegywrite < t.rsf tfile=h.rsf hfile=z.su tape=z.su",
        "sfgrey < t.rsf format=png out=t.rsf@",
        "sfgraph < t.rsf format=png out=t.rsf",
    ] {
        let run = bench.sh(&format!("{line} > v.rsf"));
        assert!(
            run.code == 1 && run.err.contains("would overwrite the file of"),
            "{line}: {run:?}"
        );
        for (name, bytes) in all.iter().zip(&before) {
            assert!(bench.bytes(name) == *bytes, "{line}: {name}");
        }
    }
}
