//! Corner cases of everyday programs: data of unsuitable types, axes of one sample, lists that are too short,
//! contradictory parameters.

use crate::bench::{Bench, ramp};
use crate::largest::largest_difference;

/// Programs that take only reals, with the parameters that they need.
const REALS: [&str; 20] = [
    "sfbandpass flo=1",
    "sfenvelope",
    "sfpow pow1=1",
    "sftpow tpow=1",
    "sfagc",
    "sffft1",
    "sfcosft sign1=1",
    "sfspectra",
    "sfspline n1=3 o1=0 d1=1",
    "sfremap1 n1=3 o1=0 d1=1",
    "sfbyte",
    "sfsmooth rect1=2",
    "sfnoise",
    "sfricker1 frequency=0.1",
    "sfcausint",
    "sfderiv",
    "sfmutter v0=1",
    "sfnmostretch v0=1",
    "sfvscan v0=1 dv=1 nv=2",
    "sfpick",
];

#[test]
fn whole_numbers_are_refused_where_reals_are_needed() {
    let bench = Bench::new();
    bench.raw("i.rsf", "n1=8 n2=2", "native_int", &(0..16).collect::<Vec<i32>>());
    for line in REALS {
        let message = bench.refused(&format!("{line} < i.rsf > o.rsf"));
        assert!(
            message.contains("(sfdd type=float converts)"),
            "{line}: {message}"
        );
    }
}

#[test]
fn datasets_beyond_the_list_of_places() {
    let bench = Bench::new();
    bench.run("sfspike n1=1 mag=1 > a.rsf; sfspike n1=1 mag=2 > b.rsf; sfspike n1=1 mag=3 > c.rsf");
    let run = bench.sh("sfcat axis=1 order=2,1 a.rsf b.rsf c.rsf > o.rsf");
    assert_eq!(run.code, 0);
    assert!(
        run.err.contains(
            "order= holds 2 positions for 3 datasets: the remaining datasets take the last of these positions"
        ),
        "{}",
        run.err
    );
    // The third dataset takes position 1, too, and follows the second.
    assert_eq!(bench.reals("o.rsf"), [2.0, 3.0, 1.0]);
}

#[test]
fn an_axis_of_one_sample_is_not_turned() {
    let bench = Bench::new();
    bench.run("sfmath n1=3 n2=1 o2=5 d2=2 n3=2 output=x1 > a.rsf; sfreverse < a.rsf which=3 > b.rsf");
    let axes = bench.axes("b.rsf", 3);
    assert_eq!((axes[1].o, axes[1].d), (5.0, 2.0));
    assert_eq!((axes[0].o, axes[0].d), (2.0, -1.0));
    assert_eq!(bench.reals("b.rsf"), [2.0, 1.0, 0.0, 2.0, 1.0, 0.0]);
}

#[test]
fn steps_and_frequencies_that_are_none() {
    let bench = Bench::new();
    bench.run("sfspike n1=8 d1=0.0003 > a.rsf; sfspike n1=8 d1=0 > none.rsf; sfspike n1=8 n2=2 d1=1 > b.rsf; sfspike n1=1 > one.rsf");
    for (line, word) in [
        (
            "sfbandpass < a.rsf flo=2000",
            "the Nyquist frequency is 1666.67 (d1=0.0003), and both cut-offs must lie below it",
        ),
        ("sfbandpass < a.rsf fhi=2000", "the Nyquist frequency is 1666.67"),
        ("sfbandpass < a.rsf flo=200 fhi=100", "flo=200 is above fhi=100"),
        ("sfbandpass < none.rsf flo=1", "d1=0 in the header"),
        (
            "sfricker1 < none.rsf frequency=3",
            "d1=0 in the header, but frequency= needs a sampling interval other than 0",
        ),
        ("sffft1 < none.rsf", "d1=0 in the header"),
        (
            "sfcosft < one.rsf sign1=1",
            "n1=1 d1=0.004 in the header, but sign1= needs at least two samples",
        ),
        (
            "sfcosft < none.rsf sign1=1",
            "n1=8 d1=0 in the header, but sign1= needs at least two samples",
        ),
        (
            "sfspline < one.rsf n1=3 o1=0 d1=1",
            "n1=1 d1=0.004 in the header, but a spline needs at least two samples",
        ),
        ("sfcosft < b.rsf sign3=1", "sign3="),
    ] {
        let message = bench.refused(&format!("{line} > o.rsf"));
        assert!(message.contains(word), "{line}: {message}");
    }
    // The Nyquist frequency itself is allowed, and does not cut anything.
    bench.run("sfbandpass < b.rsf fhi=0.5 > o.rsf; sfricker1 < none.rsf > p.rsf");
    assert_eq!(bench.reals("o.rsf"), bench.reals("b.rsf"));
}

#[test]
fn bins_of_headers_have_limits() {
    let bench = Bench::new();
    bench.raw("d.rsf", "n1=2 n2=3", "native_float", &ramp(6));
    bench.raw("h.rsf", "n1=2 n2=3", "native_int", &[1i32, 5, 3, 5, 2, 6]);
    let words = "head=h.rsf segy=n key1=a key2=b xkey=0 ykey=1";
    bench.run(&format!("sfintbin < d.rsf {words} map=m.rsf mask=k.rsf > o.rsf"));
    let traces = ramp(6);
    let expected = [
        &traces[..2],
        &[0.0; 2],
        &traces[2..4],
        &[0.0; 2],
        &traces[4..],
        &[0.0; 2],
    ]
    .concat();
    assert_eq!(bench.reals("o.rsf"), expected);
    let axes = bench.axes("o.rsf", 3);
    assert_eq!(
        [1, 2].map(|i| (axes[i].n, axes[i].o, axes[i].d)),
        [(3, 1.0, 1.0), (2, 5.0, 1.0)]
    );
    assert_eq!(
        bench.open("m.rsf").read_all::<i32>().unwrap(),
        [0, -1, 1, -1, 2, -1]
    );
    assert_eq!(bench.open("k.rsf").read_all::<i32>().unwrap(), [1, 0, 1, 0, 1, 0]);
    bench.run(&format!(
        "sfintbin < d.rsf {words} xmin=2 xmax=3 ymin=5 ymax=5 > o.rsf"
    ));
    assert_eq!(bench.reals("o.rsf"), [&[0.0; 2], &traces[2..4]].concat());
    // If a bin has two traces, the later one is used, with a warning; if three traces are in three bins, there is no
    // warning.
    for (keys, warns) in [("xkey=1 ykey=1", true), ("xkey=0 ykey=1", false)] {
        let text = bench.messages(&format!(
            "sfintbin < d.rsf head=h.rsf segy=n key1=a key2=b {keys} > o.rsf"
        ));
        let words = "1 of 3 traces are left out, because a later trace lies in the same bin: choose xk= and yk= so that each trace has its own pair of values (now xk=b and yk=b)";
        assert_eq!(text.contains(words), warns, "{text}");
    }
    // If values are far apart, most bins are empty; the warning gives the step between them.
    bench.raw("far.rsf", "n1=2 n2=3", "native_int", &[100i32, 5, 350, 5, 225, 6]);
    let text = bench
        .messages("sfintbin < d.rsf head=far.rsf segy=n key1=offset key2=shot xk=offset yk=shot > o.rsf");
    let expected = "499 of 502 bins are empty, because a bin is one unit of its key wide: xk=offset has 3 of the 251 numbers from 100 to 350, all 125 or a multiple of it apart (sfheadermath output=offset/125 key=offset makes them neighbours), yk=shot has 2 of the 2 numbers from 5 to 6;";
    assert!(text.contains(expected), "{text}");
    // Bins that no trace can fill are zeros: no other key would help.
    bench.raw("ends.rsf", "n1=2 n2=3", "native_int", &[1i32, 1, 2, 2, 3, 3]);
    let text = bench
        .messages("sfintbin < d.rsf head=ends.rsf segy=n key1=offset key2=shot xk=offset yk=shot > o.rsf");
    let expected = "6 of 9 bins are empty and hold zeros, because not every value of one key occurs with every value of the other: xk=offset has 3 of the 3 numbers from 1 to 3, yk=shot has 3 of the 3 numbers from 1 to 3; sfstack does not count such traces";
    assert!(text.contains(expected), "{text}");
    bench.run("sfheadermath < far.rsf segy=n key1=offset key2=shot output=offset/125 key=offset > near.rsf");
    let text = bench
        .messages("sfintbin < d.rsf head=near.rsf segy=n key1=offset key2=shot xk=offset yk=shot > o.rsf");
    assert_eq!(
        (text.as_str(), &bench.lengths("o.rsf", 3)[1..]),
        ("", &[3, 2][..])
    );
    for (line, word) in [
        (
            "sfdd < d.rsf form=ascii > t.rsf; sfintbin < t.rsf".to_string(),
            "must be a file of binary numbers, because its traces are read out of order: make one with sfdd form=native",
        ),
        (
            "sfintbin < d.rsf xmin=0 xmax=1000000 ymin=0 ymax=1000000".to_string(),
            "1000001 values of xk= times 1000001 of yk= are more than 268435456 bins",
        ),
        ("sfintbin < d.rsf ymin=7".to_string(), "ymin=7 is above ymax=6"),
    ] {
        let message = bench.refused(&format!("{line} {words} > o.rsf"));
        assert!(message.contains(word), "{line}: {message}");
    }
    let message = bench.refused("sfintbin < d.rsf head=h.rsf segy=n key1=a key2=b xkey=2 ykey=1 > o.rsf");
    assert!(message.contains("xk= or xkey= does not name a key"), "{message}");
}

/// Offsets at which nothing is moved: h0= is given as the half-offset of the data, and doubled if the data have whole
/// offsets.
#[test]
fn moveout_from_an_offset_of_reference() {
    let bench = Bench::new();
    let formula = "exp(-((x1-sqrt(0.64+(x2*x2-0.09)/4))/0.02)^2)";
    bench.run(&format!(
        "sfmath n1=501 d1=0.004 n2=11 d2=0.1 output='{formula}' > cmp.rsf; sfmath n1=501 d1=0.004 output=2 > v.rsf"
    ));
    bench.run("sfnmo < cmp.rsf velocity=v.rsf half=n h0=0.3 > a.rsf; sfput < cmp.rsf d2=0.05 | sfnmo velocity=v.rsf h0=0.15 > b.rsf");
    for name in ["a.rsf", "b.rsf"] {
        let gather = bench.reals(name);
        for trace in 4..11 {
            let top = (0..501)
                .max_by(|a, b| gather[501 * trace + a].total_cmp(&gather[501 * trace + b]))
                .unwrap();
            assert_eq!(top, 200, "{name} {trace}: 0.8 s");
        }
        // At the reference offset, nothing is changed.
        let there = &bench.reals("cmp.rsf")[3 * 501..4 * 501];
        assert!(
            largest_difference(&gather[3 * 501..4 * 501], there) < 1e-5,
            "{name}"
        );
    }
}

#[test]
fn keys_of_formulas_count_traces_and_places() {
    let bench = Bench::new();
    bench.run("sfmath n1=2 n2=3 o2=10 d2=5 output='x1+100*x2' > h.rsf; sfheadermath < h.rsf segy=n key1=a key2=b output='N+1000*T+a' > o.rsf");
    // a is 100 times 10, 15 and 20; T is the index along axis 2.
    assert_eq!(bench.reals("o.rsf"), [11_000.0, 16_501.0, 22_002.0]);
    assert_eq!(bench.lengths("o.rsf", 2), [1, 3]);
    bench.run("sfheadermath < h.rsf segy=n key1=a key2=b nkey=1 output='a+b+input' > o.rsf");
    assert_eq!(
        bench.reals("o.rsf"),
        [1000.0, 3001.0, 1500.0, 4501.0, 2000.0, 6001.0]
    );
}

/// Sums are formed in double precision: in single precision, a running sum of 16777216 would not change if ones are
/// added.
#[test]
fn smoothing_keeps_small_numbers_beside_large_ones() {
    let bench = Bench::new();
    bench
        .run("sfmath n1=64 output='1+16777216*(1-sign(x1-0.5))/2' > a.rsf; sfsmooth < a.rsf rect1=4 > b.rsf");
    let smooth = bench.reals("b.rsf");
    assert_eq!(smooth[8..], [1.0; 56]);
}

#[test]
fn data_lie_beside_their_header() {
    let bench = Bench::new();
    bench.run("mkdir sub; cd sub; sfspike n1=3 mag=4 > a.rsf; cd ..; sfin sub/a.rsf info=n > said; sfspike n1=3 mag=5 > b.rsf; sfrm sub/a.rsf");
    assert_eq!(bench.bytes("said"), b"./a.rsf@ \n");
    assert!(!bench.path("sub/a.rsf@").exists() && bench.path("b.rsf@").exists());
    // There are two files of that name, one here and one next to the header; the file that belongs to the header is
    // checked.
    bench.run("cd sub; sfspike n1=2 > c.rsf; cd ..; cp sub/c.rsf@ c.rsf@; printf 1234 >> c.rsf@; sfin sub/c.rsf > said 2> warned");
    let warned = String::from_utf8(bench.bytes("warned")).unwrap();
    assert_eq!(warned, "");
    bench.run("rm c.rsf@; sfin sub/c.rsf > said 2> warned; ! test -s warned");
}

#[test]
fn programs_by_their_names_and_words() {
    let bench = Bench::new();
    bench.run("ln -s \"$(readlink bin/sfspike)\" sfbasics; ./sfbasics spike n1=2 mag=3 > a.rsf; ./sfbasics sfspike n1=2 mag=4 > b.rsf");
    assert_eq!(
        (bench.reals("a.rsf"), bench.reals("b.rsf")),
        (vec![3.0; 2], vec![4.0; 2])
    );
    let list = bench.run("./sfbasics --help");
    assert!(
        list.starts_with("sfbasics: the first argument names a program:\n"),
        "{list}"
    );
    assert!(
        list.contains("    sfbasics window     Cut a window out of a dataset.\n"),
        "{list}"
    );
    let run = bench.sh("./sfbasics nothing");
    assert_ne!(run.code, 0);
    assert!(run.err.contains("nothing"), "{}", run.err);
}

/// A plane of the middle axes is larger than the part of a pipe that is held in memory at a time.
#[test]
fn a_large_pipe_is_turned_in_parts() {
    let bench = Bench::new();
    bench.run("sfmath n1=3 n2=1500000 n3=2 output='x1+0.0009765625*x2+1000000*x3' > a.rsf; sftransp < a.rsf plane=13 > b.rsf; cat a.rsf | sftransp plane=13 > c.rsf; cmp b.rsf@ c.rsf@");
    bench.run("sfwindow < b.rsf n2=1 f2=1499999 > w.rsf");
    let near = 1_499_999.0 * 0.0009765625;
    let all: Vec<f32> = (0..3)
        .flat_map(|i| [i as f32 + near, 1_000_000.0 + (i as f32 + near)])
        .collect();
    assert_eq!(bench.lengths("w.rsf", 2), [2, 3]);
    assert!(largest_difference(bench.reals("w.rsf"), &all) < 0.1);
}

#[test]
fn samples_far_apart_are_taken_one_by_one() {
    let bench = Bench::new();
    bench.run("sfmath n1=70000 n2=9 output='x1+100000*x2' > a.rsf; sfwindow < a.rsf j2=4 > b.rsf; cat a.rsf | sfwindow j2=4 f1=69998 > c.rsf");
    let values = bench.reals("b.rsf");
    assert_eq!(values.len(), 210_000);
    for (trace, place) in [(0, 0.0), (1, 400_000.0), (2, 800_000.0)] {
        assert_eq!(values[70_000 * trace], place);
        assert_eq!(values[70_000 * trace + 69_999], place + 69_999.0);
    }
    assert_eq!(
        bench.reals("c.rsf"),
        [69_998.0, 69_999.0, 469_998.0, 469_999.0, 869_998.0, 869_999.0]
    );
}

#[test]
fn the_table_of_header_attributes() {
    let bench = Bench::new();
    bench.raw(
        "h.rsf",
        "n1=2 n2=2 key1=a key2=b",
        "native_int",
        &[1i32, 0, 2_000_000_001, 0],
    );
    let rule = |c: &str| format!("{} \n", c.repeat(79));
    let expected = [
        "2 headers, 2 traces\n".to_string(),
        rule("*"),
        "     key     \t            min     \t              max    \t          mean\n".into(),
        rule("-"),
        "a           0              1 @ 0\t    2000000001 @ 1\t         1e+09\n".into(),
        rule("*"),
    ];
    assert_eq!(bench.run("sfheaderattr < h.rsf segy=n"), expected.concat());
}

#[test]
fn tables_with_and_without_separators() {
    let bench = Bench::new();
    bench.put("semicolons", "1;2;3\n4;5;6\n");
    bench.put("blanks", "1 2 3\n4 5 6\n");
    bench.run("sfcsv2rsf < semicolons delimiter=';' > a.rsf; sfcsv2rsf < blanks delimiter= > b.rsf; sfcsv2rsf < blanks > c.rsf");
    for name in ["a.rsf", "b.rsf", "c.rsf"] {
        assert_eq!(bench.reals(name), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "{name}");
        assert_eq!(bench.lengths(name, 2), [3, 2], "{name}");
    }
}

#[test]
fn axes_of_spikes_come_from_the_input() {
    let bench = Bench::new();
    bench.run("sfspike n1=3 n2=2 o2=7 label2=Shot > a.rsf; sfspike < a.rsf n1=5 mag=2 > b.rsf; sfspike < a.rsf nostdin=y n1=4 > c.rsf");
    assert_eq!(bench.reals("b.rsf"), [2.0; 10]);
    let axis = bench.axes("b.rsf", 2).remove(1);
    assert_eq!((axis.n, axis.o, axis.label.as_deref()), (2, 7.0, Some("Shot")));
    assert_eq!(bench.lengths("c.rsf", 2), [4, 1]);
}

#[test]
fn one_number_is_enough() {
    let bench = Bench::new();
    bench.run("sfspike n1=1 mag=3 > a.rsf; sfheadermath < a.rsf segy=n output='input+N' > b.rsf; sfmath < a.rsf output='2*input' > c.rsf; sfscale < a.rsf dscale=2 > d.rsf; sfsmooth < a.rsf rect1=3 > e.rsf; sfdd < a.rsf type=int > f.rsf; sfattr < a.rsf want=mean > said");
    assert_eq!(
        ["b.rsf", "c.rsf", "d.rsf", "e.rsf"].map(|name| bench.reals(name)),
        [[3.0], [6.0], [6.0], [3.0]]
    );
    assert_eq!(bench.open("f.rsf").read_all::<i32>().unwrap(), [3]);
    assert_eq!(bench.bytes("said"), b"    mean =             3 \n");
}

#[test]
fn padded_axes_are_reported() {
    let bench = Bench::new();
    bench.run("sfmath n1=4 n2=3 type=complex output=1 > c.rsf");
    let text = bench.sh("sffft3 axis=1 pad=3 < c.rsf > o.rsf").err;
    assert_eq!(text, "sffft3: axis 1 is padded from 4 to 12 samples\n");
    assert_eq!(bench.lengths("o.rsf", 2), [12, 3]);
    let text = bench.sh("sffft3 axis=2 pad=1 < c.rsf > o.rsf").err;
    assert_eq!(text, "");
}

#[test]
fn masks_of_scans_and_picks_of_silence() {
    let bench = Bench::new();
    bench.run("sfmath n1=20 d1=0.1 n2=2 d2=0.1 n3=2 output='x1+1+x2+10*x3' > d.rsf; sfmath n1=4 output='1-x1*(x1-2)*(x1-3)' | sfdd type=int > m.rsf");
    // With mask m.rsf, traces 1, 2 and 3 of four are used; with g.rsf, trace 1 of each gather.
    bench.raw("m.rsf", "n1=4", "native_int", &[0i32, 1, 1, 1]);
    bench.raw("g.rsf", "n1=2", "native_int", &[0i32, 1]);
    let words = "half=n v0=2 dv=1 nv=1 weight=n nb=0";
    bench.run(&format!("sfvscan < d.rsf {words} mask=m.rsf > a.rsf; sfvscan < d.rsf {words} mask=g.rsf > b.rsf; sfvscan < d.rsf {words} > c.rsf"));
    let (a, b, c) = (bench.reals("a.rsf"), bench.reals("b.rsf"), bench.reals("c.rsf"));
    // In the first gather both masks remove the first trace; in the second gather only g.rsf does.
    assert_eq!((&a[..20], &a[20..]), (&b[..20], &c[20..]));
    assert!(b[20..] != c[20..] && b[..20] != c[..20]);
    // If the panel is zero everywhere, the picks remain at the initial velocity vel0=.
    bench.run("sfmath n1=10 n2=5 o2=2 d2=0.5 output=0 | sfpick vel0=3 > p.rsf");
    let picks = bench.reals("p.rsf");
    assert_eq!(picks.len(), 10);
    assert!(picks.iter().all(|x| (x - 3.0).abs() < 1e-3), "{picks:?}");
    bench.run("sfspike n1=10 > one.rsf");
    let message = bench.refused("sfvscan < one.rsf v0=1 dv=0 nv=10 > o.rsf");
    assert!(
        message.contains("dv=0: all 10 velocities would be equal"),
        "{message}"
    );
    let message = bench.refused("sfvscan < one.rsf v0=1 dv=1 > o.rsf");
    assert!(
        message.contains("nv= is missing: v0=, dv= and nv= set the velocities that are scanned"),
        "{message}"
    );
    let message = bench.refused("sfput < d.rsf d3=0.01 CDPtype=0 | sfmutter v0=1 half=n > o.rsf");
    assert!(
        message.contains("CDPtype=0: the number of sets of offsets must be 1 to 1048576 (d2=0.1, d3=0.01)"),
        "{message}"
    );
}

/// There are more copies than are written at a time.
#[test]
fn many_copies_of_few_numbers() {
    let bench = Bench::new();
    bench.run("sfmath n1=2 output='x1+1' | sfspray axis=1 n=700001 > a.rsf");
    let values = bench.reals("a.rsf");
    assert_eq!(bench.lengths("a.rsf", 2), [700_001, 2]);
    assert!(values[..700_001].iter().all(|x| *x == 1.0));
    assert!(values[700_001..].iter().all(|x| *x == 2.0));
}

#[test]
fn noise_of_neighbours_is_not_alike() {
    let bench = Bench::new();
    for kind in ["y", "n"] {
        bench.run(&format!(
            "sfspike n1=20000 | sfnoise seed=11 rep=y type={kind} > n.rsf"
        ));
        let noise = bench.reals("n.rsf");
        let dot = |lag: usize| -> f64 {
            let pairs = noise.iter().zip(&noise[lag..]);
            pairs.map(|(a, b)| f64::from(a * b)).sum()
        };
        // For 20000 numbers the correlation has a standard deviation of 0.7 %; for the 10000 disjoint pairs it is 1 %.
        let pairs: f64 = noise
            .chunks_exact(2)
            .map(|pair| f64::from(pair[0] * pair[1]))
            .sum();
        for apart in [dot(1), dot(2), 2.0 * pairs] {
            assert!((apart / dot(0)).abs() < 0.06, "{kind}: {apart} of {}", dot(0));
        }
    }
}

/// The output has the axis of the command line where it gives one, and otherwise the axis of pattern=.
#[test]
fn the_command_line_comes_before_a_pattern() {
    let bench = Bench::new();
    bench
        .run("sfmath n1=8 o1=0 d1=1 output='2*x1+1' > line.rsf; sfspike n1=4 o1=2 d1=1.25 nostdin=y > p.rsf");
    for program in ["sfspline", "sfremap1"] {
        for (words, n, o, d) in [
            ("", 4, 2.0, 1.25),
            ("n1=5 o1=1 d1=0.5", 5, 1.0, 0.5),
            ("o1=3", 4, 3.0, 1.25),
        ] {
            bench.run(&format!("{program} < line.rsf pattern=p.rsf {words} > o.rsf"));
            let axis = &bench.axes("o.rsf", 1)[0];
            assert_eq!((axis.n, axis.o, axis.d), (n, o, d), "{program} {words}");
            // Both interpolations are exact on a straight line.
            for (k, value) in bench.reals("o.rsf").into_iter().enumerate() {
                let expected = 2.0 * (o + k as f32 * d) + 1.0;
                assert!(
                    (value - expected).abs() < 1e-5,
                    "{program} {words}: {value} {expected}"
                );
            }
        }
    }
}

/// Equal limits leave a single value.
#[test]
fn equal_limits_select_one_value() {
    let bench = Bench::new();
    bench.raw("a.rsf", "n1=4", "native_float", &[1.0f32, 3.0, 2.0, 3.0]);
    bench.run("sfmask < a.rsf min=3 max=3 > m.rsf; sfclip2 < a.rsf lower=3 upper=3 > c.rsf");
    assert_eq!(bench.open("m.rsf").read_all::<i32>().unwrap(), [0, 1, 0, 1]);
    assert_eq!(bench.reals("c.rsf"), [3.0; 4]);
}
