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
        &["n2=4: axis 2 has 5 samples with those of beg2=2, and padding cannot shorten it"],
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
            " holds int data: all datasets must have one type",
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
        "sfdottest nothing mod=a.rsf dat=a.rsf",
        &["cannot start nothing: "],
    ),
    (
        "sfheaderattr segy=n desc=y < /dev/null",
        &["with segy=n the headers name their keys, and there are none"],
    ),
    ("sfspike n1=5 nsp=2 k1=1,6", &["k1=6", "5"]),
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
    let mut missing = Vec::new();
    for (line, words) in NUMBERS.iter().chain(PICTURES) {
        let line = match line.contains(" > ") {
            true => line.to_string(),
            false => format!("{line} > out.rsf"),
        };
        let told = bench.refused(&line);
        let mut rest = &told[..];
        for word in *words {
            match rest.find(word) {
                Some(at) => rest = &rest[at + word.len()..],
                None => missing.push(format!("{line}: `{word}` in {told}")),
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}
