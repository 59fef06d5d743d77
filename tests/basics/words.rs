//! The messages and warnings that everyday programs print in addition to their results.

use crate::bench::Bench;

/// A bench with real, complex and integer data.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.run("sfmath n1=4 n2=2 d1=0.0078125 output='x1+x2' > a.rsf; sfdd < a.rsf type=int > i.rsf");
    bench.run("sfspike n1=30000 k1=30000 > end.rsf; sfspike n1=30000 k1=29000 > late.rsf; sfspike n1=30000 mag=0 > none.rsf; sfspike n1=1000 k1=900 > short.rsf");
    bench
}

#[test]
fn verb_describes_what_is_done() {
    let bench = bench();
    for (line, word) in [
        (
            "sfbandpass < a.rsf flo=16 fhi=32 nplo=6 nphi=5",
            "sfbandpass: flo=0.125 fhi=0.25 nplo=3 nphi=2\n",
        ),
        (
            "sfbandpass < a.rsf flo=16 fhi=32 nplo=4 nphi=3 phase=y",
            "nplo=4 nphi=3\n",
        ),
        ("sfbandpass < a.rsf flo=16", "fhi=0.5 nplo=3 nphi=3\n"),
        (
            "printf '1 2 3\\n4 5 6\\n' | sfcsv2rsf delimiter=",
            "sfcsv2rsf: 2 lines of 3 numbers\n",
        ),
        ("sfcut < a.rsf n1=1 f2=1", "f2=1"),
        ("sfspike n1=7 | sffft1", "sffft1: 7 samples padded to 8\n"),
        ("sfreverse < a.rsf which=2", "sfreverse: axis 2 is reversed\n"),
    ] {
        let text = bench.messages(&format!("{line} verb=y > o.rsf"));
        assert!(text.contains(word), "{line}: {text}");
        assert_eq!(bench.messages(&format!("{line} verb=n > o.rsf")), "", "{line}");
    }
    bench.put("list.txt", "1 2 3\n4 5 6\n");
    bench.run("sfcsv2rsf < list.txt delimiter= > o.rsf");
    assert_eq!(bench.reals("o.rsf"), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
}

#[test]
fn what_is_probably_wrong_is_warned_of() {
    let bench = bench();
    for (line, word) in [
        (
            "sfheaderattr < a.rsf",
            "float data with n1=4, but trace headers of SEG-Y are integers with n1=91 or more",
        ),
        (
            "sfspike n1=100 d1=1 | sfricker1 frequency=0.75",
            "the peak frequency is 1.5 times the Nyquist frequency, above which samples 1 apart",
        ),
        (
            "sfstack < a.rsf axis=1 scale=1,2,3,4,5",
            "scale= holds 5 factors for 4 samples: only the first 4 are used",
        ),
        (
            "sfadd a.rsf scale=1,2",
            "scale= holds 2 values for 1 datasets: only the first 1 are used",
        ),
        (
            "sfin end.rsf check=0.02",
            "the data may contain only zeros (20971 bytes were checked)",
        ),
        ("sfin end.rsf", "the first 119998 bytes of the data are zeros"),
        ("sfin late.rsf", "the first 115998 bytes of the data are zeros"),
        ("sfin none.rsf", "all of the data are zeros"),
    ] {
        let text = bench.messages(&format!("{line} > o.txt"));
        assert!(
            text.contains("warning: ") && text.contains(word),
            "{line}: {text}"
        );
    }
    for line in [
        "sfheaderattr < a.rsf segy=n",
        "sfheaderattr < i.rsf",
        "sfspike n1=91 n2=2 | sfheaderattr",
        "sfspike n1=100 d1=1 | sfricker1 frequency=0.5",
        "sfstack < a.rsf axis=1 scale=1,2,3,4",
        "sfadd a.rsf a.rsf scale=1,2",
        "sfin end.rsf check=0",
        "sfin short.rsf",
    ] {
        assert_eq!(bench.messages(&format!("{line} > o.txt")), "", "{line}");
    }
}

#[test]
fn texts_reach_headers() {
    let bench = bench();
    bench.run("sfmath < a.rsf output=input label=Speed unit=m/s > b.rsf; sfspike n1=3 title='Three spikes' > c.rsf; sfin < a.rsf > told.txt");
    assert_eq!(bench.run("sfget < b.rsf label unit"), "label=Speed\nunit=m/s\n");
    assert_eq!(
        bench.run("sfget < c.rsf title label1 unit1 d1"),
        "title=Three spikes\nlabel1=Time\nunit1=s\nd1=0.004\n"
    );
    let text = String::from_utf8(bench.bytes("told.txt")).unwrap();
    assert!(
        text.starts_with("in:\n    in=\"./a.rsf@\"\n    esize=4 type=float form=native \n"),
        "{text}"
    );
    assert!(text.ends_with("\t8 elements 32 bytes\n"), "{text}");
}

#[test]
fn refusals_of_single_programs() {
    let bench = bench();
    for (line, word) in [
        (
            "sfheadermath < a.rsf segy=n nkey=4 output=1",
            "nkey=4: the headers have the keys 0 to 3",
        ),
        ("sfin < /dev/null", "neither parameters nor an RSF file"),
        ("sfin info=y < /dev/null", "no dataset is given"),
        (
            "sfspike < i.rsf",
            "holds int data, but sfspike takes axes from float data only",
        ),
        (
            "sfspike n1=5 | sfspline n1=3 o1=0 d1=1 fp=1",
            "fp= and sort= are for pairs (n1=2 in the input); this input has regular samples, n1=5",
        ),
    ] {
        let message = bench.refused(&format!("{line} > o.rsf"));
        assert!(message.contains(word), "{line}: {message}");
    }
    // nkey=3 is the last of the keys and is accepted.
    bench.run("sfheadermath < a.rsf segy=n nkey=3 output=9 > o.rsf");
    assert_eq!(bench.reals("o.rsf").iter().filter(|x| **x == 9.0).count(), 2);
}

#[test]
fn removing_what_has_lost_its_data() {
    let bench = bench();
    bench.run("sfspike n1=3 > b.rsf; sfspike n1=3 > c.rsf; rm b.rsf@ c.rsf@");
    let text = bench.messages("sfrm b.rsf");
    assert!(
        text.contains("warning: b.rsf: cannot read data file ./b.rsf@ (the numbers of a header; sfcp and sfmv take them along): No such file"),
        "{text}"
    );
    assert_eq!(bench.messages("sfrm -f c.rsf"), "");
    assert!(!bench.path("b.rsf").exists() && !bench.path("c.rsf").exists());
    let message = bench.refused("sfrm b.rsf");
    assert!(message.contains("cannot read b.rsf"), "{message}");
    bench.run("sfrm -f b.rsf");
    assert_eq!(bench.messages("sfrm -v a.rsf"), "sfrm: a.rsf is removed\n");
    assert!(!bench.path("a.rsf").exists() && !bench.path("a.rsf@").exists());
}
