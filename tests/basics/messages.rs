//! The messages with which the everyday programs refuse input, and the numbers in them.

use crate::bench::{Bench, ramp};

/// A command, and texts that its message must contain, in this order.
type Case = (&'static str, &'static [&'static str]);

const NUMBERS: &[Case] = &[
    ("sfbandpass < w.rsf flo=30 fhi=20", &["flo=30 is above fhi=20"]),
    (
        "sfbandpass < w.rsf flo=40 fhi=130",
        &["flo=40, fhi=130: the Nyquist frequency is 125 (d1=0.004)"],
    ),
    (
        "sfbandpass < w.rsf flo=125",
        &["flo=125, fhi=125: the Nyquist frequency is 125 (d1=0.004), and both"],
    ),
    (
        "sfcostaper < a.rsf nw1=2 nw2=4",
        &["nw2=4: axis 2 has only 3 samples, and a taper cannot be longer"],
    ),
    (
        "sfwindow < a.rsf n3=2",
        &["axis 3 has 1 sample: n3= can only be 1 and f3= only 0"],
    ),
    (
        "sfwindow < a.rsf f4=1",
        &["axis 4 has 1 sample: n4= can only be 1"],
    ),
    (
        "sfmask < a.rsf min=3 max=2",
        &["min=3 is above max=2: no value lies between them"],
    ),
    (
        "sfclip2 < a.rsf lower=5 upper=-1",
        &["lower=5 is above upper=-1: no value lies between"],
    ),
    (
        "sfpad < a.rsf n2=4 beg2=2",
        &["n2=4: axis 2 has 5 samples including beg2=2, and padding cannot shorten it"],
    ),
    ("sfmutter < a.rsf v0=0", &["v0=0: the slope 1/v0 is infinite"]),
    ("sfcmplx < a.rsf", &["no file is given, but two are needed"]),
    (
        "sfcp a.rsf",
        &["1 names are given, but two are needed: the old and the new one"],
    ),
    (
        "sfmv a.rsf b.rsf c.rsf",
        &["3 names are given, but two are needed"],
    ),
    (
        "sfmath a=a.rsf b=i.rsf output=a+b",
        &[
            " holds float data and ",
            " holds int data: all datasets must have the same type",
        ],
    ),
    (
        "sfmath < c.rsf output='input&2'",
        &["the operator & (angle of a point) needs float data"],
    ),
    (
        "sfmath < a.rsf input=a.rsf output=input",
        &["input= names a second dataset in addition to standard input"],
    ),
    (
        "sfmath < a.rsf x1=a.rsf output=x1",
        &["x1= cannot name a dataset"],
    ),
    (
        "sfadd u.rsf u.rsf",
        &["u.rsf holds uchar data, but sfadd takes float, complex and int"],
    ),
    (
        "sfmul u.rsf u.rsf",
        &["u.rsf holds uchar data, but sfmul takes float, complex and int"],
    ),
    (
        "sfscale < u.rsf dscale=2",
        &["the input holds uchar data, but sfscale takes float, complex and int"],
    ),
    (
        "sfscale < i.rsf axis=1",
        &["axis= needs float or complex data, but the input holds int data"],
    ),
    (
        "sfricker1 < i.rsf",
        &["the input holds int data, but sfricker1 needs float"],
    ),
    (
        "sffft3 < c.rsf axis=1 pad=1000000000000",
        &["pad= makes axis 1 longer than 2^40 samples"],
    ),
    (
        "sfdottest causint mod=a.rsf dat=a.rsf",
        &["cannot start causint (did you mean sfcausint ?)"],
    ),
    (
        "touch sfmodel2d-gpu; PATH=$PATH:. sfdottest sfmodel2d mod=a.rsf dat=a.rsf",
        &["cannot start sfmodel2d (did you mean sfmodel2d-gpu ?)"],
    ),
    (
        "sfdottest nothing mod=a.rsf dat=a.rsf",
        &["cannot start nothing: "],
    ),
    (
        "sfheaderattr segy=n desc=y < /dev/null",
        &["with segy=n the names of the keys come from the headers, but there are no headers"],
    ),
    (
        "sfsegywrite < w.rsf tape=w.sgy hfile=long",
        &["long has 41 lines, the longest with 12 characters, but a textual header holds 40 lines of 80"],
    ),
    ("sfspike n1=5 nsp=2 k1=1,6", &["k1=6", "5"]),
    (
        "sfwindow < a.rsf d1=0.1",
        &[
            "d1=0.1: the sampling of the input is 0.5, and the window can only have the same or a coarser sampling",
        ],
    ),
    (
        "sfput < a.rsf n1=2 data_format=native_complex esize=4",
        &["esize=4: an element of native_complex has 8 bytes"],
    ),
    (
        "sfmath < a.rsf output='1+sin'",
        &["the function sin needs parentheses: sin(...)"],
    ),
    (
        "sfspline < pairs.rsf n1=3 o1=0 d1=1",
        &["set 2 of pairs: coordinate 1 follows 3; coordinates must increase (sort=y sorts them)"],
    ),
    (
        "sfspline < equal.rsf n1=3 o1=0 d1=1 sort=y",
        &["set 1 of pairs: coordinate 2 follows 2; coordinates must increase, and no two can be equal"],
    ),
    (
        "sfnmo < w.rsf velocity=a.rsf",
        &["a.rsf has 12 values, but 1 gathers of 50 samples need 50: a velocity trace for each gather"],
    ),
];

const PICTURES: &[Case] = &[
    (
        "sfgrey < a.rsf wheretitle=x > p.png",
        &["wheretitle= must be top or bottom"],
    ),
    (
        "sfgrey < a.rsf scalebar=y bartype=u > p.png",
        &["bartype=u is not allowed: bartype= must be v (next to the picture) or h (below)"],
    ),
    (
        "sfbyte < a.rsf | sfgrey fade=0.2 > p.png",
        &["fade=0.2: byte data do not hold the values"],
    ),
    // Only after a letter does C mark values beyond the range.
    (
        "sfgrey < a.rsf color=viridisC > p.png",
        &[
            "color=viridisC is unknown; colour tables are ",
            "viridis",
            "and the letters",
        ],
    ),
    (
        "sfwiggle < a.rsf clip=-2 > p.png",
        &["clip=-2: it must be more than 0"],
    ),
    (
        "sfwiggle < a.rsf clip=0 > p.png",
        &["clip=0: it must be more than 0"],
    ),
    (
        "sfwiggle < a.rsf xmin=5 xmax=2 > p.png",
        &["the axis of traces would extend from xmin=5 to xmax=2"],
    ),
];

#[test]
fn refusals_have_their_numbers() {
    let bench = Bench::new();
    bench.dataset("a.rsf", &[4, 3], &ramp(12));
    bench.raw("w.rsf", "n1=50 d1=0.004 n2=2", "native_float", &ramp(100));
    bench.raw("i.rsf", "n1=4 n2=3", "native_int", &[1i32; 12]);
    bench.raw("u.rsf", "n1=4 n2=3", "native_uchar", &[1u8; 12]);
    bench.run("sfrtoc < a.rsf > c.rsf");
    bench.put("long", "C 1 A REMARK\n".repeat(41));
    let pairs = [1.0, 5.0, 2.0, 6.0, 3.0, 7.0, 0.0, 5.0, 3.0, 6.0, 1.0, 7.0];
    bench.dataset("pairs.rsf", &[2, 3, 2], &pairs);
    bench.dataset("equal.rsf", &[2, 3], &[2.0, 5.0, 1.0, 6.0, 2.0, 7.0]);
    let mut missing = Vec::new();
    for (line, words) in NUMBERS.iter().chain(PICTURES) {
        let line = match line.contains(" > ") {
            true => line.to_string(),
            false => format!("{line} > out.rsf"),
        };
        let message = bench.refused(&line);
        let mut rest = &message[..];
        for word in *words {
            match rest.find(word) {
                Some(at) => rest = &rest[at + word.len()..],
                None => missing.push(format!("{line}: `{word}` in {message}")),
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// The keys of a single trace are one trace; a column of another length, of real numbers or with segy=n has one key of
/// many traces.
#[test]
fn headers_of_a_single_trace_are_one_trace() {
    let bench = Bench::new();
    bench.run("sfmath n1=10 n2=1 d1=0.004 output=x1 | sfsegywrite tape=o.sgy; sfsegyread tape=o.sgy tfile=t.rsf > q.rsf");
    bench.run("sfheadermath < t.rsf output=sx+gx+3+N > z.rsf; sfheadermath < t.rsf output=7 key=sx > t7.rsf");
    assert_eq!(bench.lengths("z.rsf", 2), [1, 1]);
    assert_eq!(bench.open("z.rsf").read_all::<i32>().unwrap(), [3]);
    let back: Vec<i32> = bench.open("t7.rsf").read_all().unwrap();
    assert_eq!((back.len(), back[21]), (91, 7));
    // The header names an additional key.
    bench.run("sfsegyread tape=o.sgy tfile=t.rsf key1=deep deep=180 > q.rsf; sfheadermath < t.rsf output=deep+5 > z.rsf");
    assert_eq!(bench.open("z.rsf").read_all::<i32>().unwrap(), [5]);
    let column: Vec<i32> = (0..91).collect();
    bench.raw("c.rsf", "n1=91", "native_int", &column);
    for line in [
        "sfheadermath < c.rsf segy=n output=2*input",
        "sfwindow < c.rsf n1=90 | sfheadermath output=2*input",
        "sfdd < c.rsf type=float | sfheadermath output=2*input",
    ] {
        let samples = bench.run(&format!(
            "{line} | sfwindow f1=80 n1=3 | sfdd type=float | sfdisfil number=n"
        ));
        let samples: Vec<&str> = samples.split_whitespace().collect();
        assert_eq!(samples, ["160", "162", "164"], "{line}");
    }
}

#[test]
fn results_that_headers_cannot_hold_are_counted() {
    let bench = Bench::new();
    let run = |formula: &str| {
        let done = bench.sh(&format!(
            "sfspike n1=91 n2=2 mag=500000 | sfdd type=int | sfheadermath output='{formula}' > z.rsf"
        ));
        assert_eq!(done.code, 0, "{}", done.err);
        (bench.open("z.rsf").read_all::<i32>().unwrap(), done.err)
    };
    let (keys, text) = run("sx*sy");
    assert_eq!(keys, [i32::MAX; 2]);
    assert!(
        text.contains("output= becomes int, the type of the headers: 2 of the values are beyond the range of the type, and became its limit"),
        "{text}"
    );
    let (keys, text) = run("N/N");
    assert_eq!(keys, [0, 1]);
    assert!(text.contains("1 of the values are NaN, and became 0"), "{text}");
    let (keys, text) = run("2147483647.9*(1-2*N)");
    assert_eq!((keys, text.as_str()), (vec![i32::MAX, -i32::MAX], ""));
}

/// A closed standard output is an error for programs that print; a reader that stops reading early is not.
#[test]
fn text_for_a_closed_output_is_an_error() {
    let bench = Bench::new();
    bench.dataset("a.rsf", &[4, 3], &ramp(12));
    for program in ["sfattr", "sfdisfil", "sfin", "sfget n1", "sfheaderattr segy=n"] {
        let message = bench.refused(&format!("{program} < a.rsf >&-"));
        assert!(
            message.contains("standard output is closed: send it to a file"),
            "{message}"
        );
    }
    assert_eq!(bench.sh("sfdisfil < a.rsf | true").code, 0);
}

#[test]
fn quotes_of_par_files_are_those_of_a_shell() {
    let bench = Bench::new();
    for (text, value) in [
        ("output='x1*2'\n", 6.0),
        ("output=\"x1*2 + 1\"\n", 7.0),
        ("output=x1*3\n", 9.0),
    ] {
        bench.put("p.par", text);
        bench.run("sfmath n1=4 d1=1 par=p.par > a.rsf");
        assert_eq!(bench.reals("a.rsf")[3], value, "{text}");
    }
    bench.put("p.par", "output='x1 * 2'\n");
    let message = bench.refused("sfmath n1=4 d1=1 par=p.par > a.rsf");
    assert!(
        message.contains("the value of output= begins with a single quote")
            && message.contains("output=\"...\""),
        "{message}"
    );
}
