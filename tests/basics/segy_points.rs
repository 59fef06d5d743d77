//! Points of sources and receivers on their way to the trace headers of SEG-Y and back.

use crate::bench::{Bench, ramp};

/// Values of a key of the trace headers in `t.rsf`.
fn key(bench: &Bench, name: &str) -> Vec<i32> {
    bench.run(&format!("sfheadermath < t.rsf output={name} > key.rsf"));
    bench.open("key.rsf").read_all().unwrap()
}

/// The power of ten in scalco keeps the digits of the sums with an origin, not only those of the points.
#[test]
fn coordinates_keep_the_digits_of_their_origin() {
    let bench = Bench::new();
    bench.run("sfpoints x=100 y=20 z=0 > s.rsf; sfpoints x=200 y=70.5 z=3 > r.rsf");
    bench.run("sfmath n1=10 n2=1 d1=0.004 output=x1 > d.rsf");
    for (origin, scale, x, y) in [
        ("412300.5,4728900.25", -100, 41_240_050, 472_892_025),
        ("412300,4728900", -10, 4_124_000, 47_289_200),
        ("412300.3,4728900", -10, 4_124_003, 47_289_200),
    ] {
        let text = bench.messages(&format!(
            "sfsegywrite < d.rsf tape=o.sgy sou=s.rsf rec=r.rsf origin={origin}; \
             sfsegyread tape=o.sgy tfile=t.rsf sou=s1.rsf rec=r1.rsf origin={origin} > q.rsf"
        ));
        assert_eq!(text, "", "{origin}");
        assert_eq!(
            (key(&bench, "scalco"), key(&bench, "sx"), key(&bench, "sy")),
            (vec![scale], vec![x], vec![y]),
            "{origin}"
        );
        assert_eq!(bench.reals("s1.rsf"), [100.0, 20.0, 0.0], "{origin}");
        assert_eq!(bench.reals("r1.rsf"), [200.0, 70.5, 3.0], "{origin}");
    }
    // Digits that no power of ten keeps in four bytes are reported.
    let text = bench.messages("sfsegywrite < d.rsf tape=o.sgy sou=s.rsf rec=r.rsf origin=412300.123,4728900");
    assert!(text.contains("coordinates are rounded by up to 0.003"), "{text}");
}

/// Elevations and depths have their own power of ten, so that a large origin of x and y does not round them.
#[test]
fn depths_keep_their_digits_beside_large_coordinates() {
    let bench = Bench::new();
    bench.run("sfpoints x=0 z=5.678 > s.rsf; sfpoints x=0:200:100 z=1.234 > r.rsf");
    bench.run("sfmath n1=10 n2=3 d1=0.004 output=x1 > d.rsf");
    let text = bench.messages(
        "sfsegywrite < d.rsf tape=t.sgy sou=s.rsf rec=r.rsf origin=350100,4742010; \
         sfsegyread tape=t.sgy tfile=t.rsf sou=s1.rsf rec=r1.rsf origin=350100,4742010 > q.rsf",
    );
    assert_eq!(text, "");
    assert_eq!(key(&bench, "scalel"), [-1000; 3]);
    assert_eq!(
        (key(&bench, "sdepth"), key(&bench, "gelev")),
        (vec![5678; 3], vec![-1234; 3])
    );
    assert_eq!(
        (key(&bench, "scalco"), key(&bench, "gx")),
        (vec![1; 3], vec![350_100, 350_200, 350_300])
    );
    assert_eq!(bench.reals("s1.rsf"), [0.0, 5.678]);
}

/// A source above the datum is on the ground: its elevation is positive, and its depth below the ground zero.
#[test]
fn sources_above_the_datum_have_an_elevation() {
    let bench = Bench::new();
    bench.run("sfpoints x=0:200:100 z=-35.5,0,12 > s3.rsf; sfpoints x=50 z=-20 > r.rsf");
    bench.run("sfput < s3.rsf n2=1 n3=3 > s.rsf");
    bench.run("sfmath n1=10 n2=3 d1=0.004 output=x1 > d.rsf");
    let text = bench.messages(
        "sfsegywrite < d.rsf tape=t.sgy sou=s.rsf rec=r.rsf; sfsegyread tape=t.sgy tfile=t.rsf sou=s1.rsf rec=r1.rsf > q.rsf",
    );
    assert_eq!(text, "");
    assert_eq!(key(&bench, "scalel"), [-10; 3]);
    assert_eq!(
        [key(&bench, "selev"), key(&bench, "sdepth"), key(&bench, "gelev")],
        [vec![355, 0, 0], vec![0, 0, 120], vec![200; 3]]
    );
    assert_eq!(bench.reals("s1.rsf"), [0.0, -35.5, 100.0, 0.0, 200.0, 12.0]);
}

/// A line along x keeps its y, which is part of the origin to which the points are relative.
#[test]
fn a_line_along_x_keeps_its_y() {
    let bench = Bench::new();
    bench.run("sfpoints x=300 y=50 z=0 > s.rsf; sfpoints x=350:400:25 y=50 z=0 > r.rsf");
    bench.run("sfmath n1=10 n2=3 d1=0.004 output=x1 > d.rsf");
    bench.run("sfsegywrite < d.rsf tape=line.sgy sou=s.rsf rec=r.rsf origin=412000,4728900");
    for (words, origin) in [
        ("origin=412000,4728900", "412000,4728950"),
        ("origin=412000,0", "412000,4728950"),
        ("", "0,4728950"),
    ] {
        let text = bench.messages(&format!(
            "sfsegyread tape=line.sgy tfile=t0.rsf sou=s1.rsf rec=r1.rsf {words} > d1.rsf; \
             sfsegywrite < d1.rsf tape=back.sgy sou=s1.rsf rec=r1.rsf; sfsegyread tape=back.sgy tfile=t.rsf > q.rsf"
        ));
        assert_eq!(text, "", "{words}");
        assert_eq!(bench.lengths("r1.rsf", 2), [2, 3]);
        for list in ["s1.rsf", "r1.rsf"] {
            assert_eq!(bench.open(list).header().text("origin").as_deref(), Some(origin));
        }
        assert_eq!(key(&bench, "sy"), [4_728_950; 3], "{words}");
        assert_eq!(key(&bench, "gy"), [4_728_950; 3], "{words}");
        assert_eq!(key(&bench, "gx"), [412_350, 412_375, 412_400], "{words}");
    }
    let text = bench.messages("sfsegywrite < d1.rsf tape=back.sgy sou=s1.rsf rec=r1.rsf origin=1,2");
    assert!(
        text.contains("origin=1,2 replaces origin=0,4728950, which the header of sou= has"),
        "{text}"
    );
}

/// Field records at the same position become one shot of the points, and a message reports this.
#[test]
fn records_at_one_place_are_warned_of() {
    let bench = Bench::new();
    bench.dataset("d.rsf", &[4, 6], &ramp(24));
    let mut keys = vec![0i32; 6 * 91];
    for trace in 0..6 {
        let of = &mut keys[91 * trace..][..91];
        // The records are 7, 7, 8, 8, 9, 9, at 100, 100 and 200 m.
        (of[2], of[21], of[23]) = (
            7 + trace as i32 / 2,
            [100, 100, 200][trace / 2],
            10 * trace as i32,
        );
    }
    let same = |bench: &Bench, count: usize| {
        bench.raw("keys.rsf", "n1=91 n2=6", "native_int", &keys);
        bench.run(&format!(
            "sfwindow < d.rsf n2={count} > a.rsf; sfwindow < keys.rsf n2={count} > b.rsf; sfsegywrite < a.rsf tfile=b.rsf tape=a.sgy"
        ));
        bench.messages("sfsegyread tape=a.sgy tfile=t.rsf sou=s.rsf rec=r.rsf > q.rsf")
    };
    let text = same(&bench, 4);
    assert!(
        text.contains("1 times the field record (fldr) of a trace differs from that of the previous trace")
            && text.contains("these records form one shot"),
        "{text}"
    );
    assert_eq!(bench.lengths("r.rsf", 2), [2, 4]);
    assert_eq!(same(&bench, 2), "");
}

/// The lists of sources and receivers make the trace headers: one list alone does not suffice, and a table of headers
/// cannot be given in addition.
#[test]
fn lists_of_points_come_together_and_without_a_table_of_headers() {
    let bench = Bench::new();
    bench.run("sfpoints x=100 z=0 > s.rsf; sfpoints x=200 z=3 > r.rsf");
    bench.run("sfmath n1=10 n2=1 d1=0.004 output=x1 > d.rsf; sfsegywrite < d.rsf tape=o.sgy");
    bench.run("sfsegyread tape=o.sgy tfile=t.rsf > q.rsf");
    for words in ["sou=s.rsf", "rec=r.rsf", "sou=s.rsf rec=r.rsf tfile=t.rsf"] {
        let message = bench.refused(&format!("sfsegywrite < d.rsf tape=p.sgy {words}"));
        assert!(
            message.contains("sou= and rec= must be given together and without tfile="),
            "{words}: {message}"
        );
    }
}
