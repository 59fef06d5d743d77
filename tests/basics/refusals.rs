//! Input that must be refused, each with a single message that says what is allowed.

use crate::bench::{Bench, ramp};

/// A command, and a text that its error message must contain.
type Case = (&'static str, &'static str);

const FILES: &[Case] = &[
    ("sfcat a.rsf missing.rsf", "cannot read missing.rsf: No such file"),
    ("sfwindow n1=11 < cut.rsf", "11"),
    ("head -c 150 a.rsf | sfwindow", "standard input"),
    ("sfattr want=all < empty.rsf", "is empty"),
    ("sfattr < none.rsf", "no elements"),
    ("sfcat axis=2", "no dataset is given"),
    ("sfadd scale=2", "no dataset is given"),
    ("sfin nothing.rsf", "cannot read nothing.rsf"),
    (
        "sfin empty.rsf",
        "empty.rsf is empty, but an RSF header was expected",
    ),
    (
        "sfspike n1=9 n2=2 nostdin=y | sfsegywrite tape=own.sgy; sfattr < own.sgy",
        "is not an RSF file but SEG-Y (sfsegyread reads it)",
    ),
];

const AXES: &[Case] = &[
    (
        "sfwindow < a.rsf n1=5",
        "of its 4 samples (up to 11.5) 4 can be taken",
    ),
    ("sfwindow < a.rsf f2=3", "axis 2, which has 3 samples"),
    ("sfwindow < a.rsf f1=-5", "axis 1, which has 4 samples"),
    ("sfwindow < a.rsf n4=2", "axis 4 has 1 sample"),
    (
        "sfwindow < a.rsf min1=100",
        "axis 1, which has 4 samples, from 10 to 11.5",
    ),
    (
        "sfwindow < a.rsf max1=100",
        "of its 4 samples (up to 11.5) 4 can be taken",
    ),
    (
        "sfwindow < a.rsf n1=zero",
        "n1= got `zero`, but must be a whole number >= 1",
    ),
    ("sfwindow < a.rsf j2=0", "j2= got `0`"),
    (
        "sftransp < a.rsf plane=11",
        "plane=11: two different axes from 1 to 9",
    ),
    ("sftransp < a.rsf plane=10", "two different axes"),
    ("sftransp < a.rsf plane=22", "two different axes"),
    ("sftransp < a.rsf plane=7", "plane= got `7`"),
    ("sfcat a.rsf b.rsf axis=1", "n2=3 in a.rsf and n2=2 in b.rsf"),
    ("sfcat a.rsf i.rsf", "float data and i.rsf holds int data"),
    ("sfcat a.rsf axis=10", "axis= got `10`"),
    ("sfpad < a.rsf n1=3", "axis 1 has 4 samples"),
    ("sfpad < a.rsf beg1=-1", "beg1= got `-1`"),
    ("sfput < a.rsf n1=5", "does not fit the 12 elements"),
    ("sfput < a.rsf n2=no", "n2=no is not allowed"),
    ("sfrotate < a.rsf rot1=4", "rot1= can be -4 to 3"),
    ("sfrotate < a.rsf rot1=-5", "rot1=-5"),
    ("sfadd a.rsf b.rsf", "the lengths must be equal"),
    ("sfadd a.rsf b.rsf", "the lengths must be equal"),
    ("sfadd a.rsf mode=x", "mode= must be"),
    ("sfadd a.rsf abs=perhaps", "abs=perhaps is not allowed"),
    ("sfmath a=a.rsf b=b.rsf output=a+b", "the lengths must be equal"),
];

const FORMULAS: &[Case] = &[
    ("sfmath n1=3 nostdin=y", "missing: output="),
    ("sfmath output=1 nostdin=y", "n1= is missing"),
    ("sfmath n1=2 n3=2 output=1 nostdin=y", "n2= is missing"),
    (
        "sfmath < a.rsf output='input+speed'",
        "`speed`, which is not defined; use one of input, x1, x2",
    ),
    ("sfmath < a.rsf output='input+'", "at its end"),
    ("sfmath < a.rsf output='in put'", "before `put`"),
    (
        "sfmath < a.rsf output='conj(input)'",
        "not a function of float data",
    ),
    ("sfmath < a.rsf output='x3'", "`x3`, which is not defined"),
    (
        "sfmath < a.rsf output=input x1=a.rsf",
        "x1= cannot name a dataset",
    ),
    (
        "sfmath < a.rsf output=input type=complex",
        "type=complex does not agree with standard input",
    ),
    (
        "sfmath < i.rsf output=input",
        "formulas need float or complex data",
    ),
    (
        "sfmath < a.rsf output=input+v v=missing.rsf",
        "cannot read v=missing.rsf",
    ),
];

const TYPES: &[Case] = &[
    ("sfscale < u.rsf dscale=2", "uchar data"),
    ("sfscale < i.rsf axis=1", "sfdd type=float converts"),
    ("sfnoise < i.rsf", "int data"),
    ("sfricker1 < i.rsf frequency=3", "int data"),
    ("sfricker1 < a.rsf frequency=-3", "frequency= got `-3`"),
    ("sfsmooth < i.rsf rect1=3", "int data"),
    ("sfstack < i.rsf", "int data"),
    ("sfstack < a.rsf axis=9", "axis=9: the input has"),
    ("sfstack < a.rsf axis=1 min=y max=y", "only one of"),
    ("sfreal < a.rsf", "complex data are needed"),
    ("sfcmplx a.rsf b.rsf", "the lengths must be equal"),
    ("sfcmplx a.rsf", "standard input"),
    ("sfbyte < i.rsf", "float data are needed"),
    ("sfbyte < a.rsf gainpanel=9", "a number from 1 to 1"),
    ("sfbyte < a.rsf clip=0", "clip= must be more than 0"),
    ("sfdd < a.rsf", "neither form= nor type="),
    (
        "sfdd < a.rsf type=string",
        "type=string is not allowed: type= must be float or int",
    ),
    (
        "sfput < a.rsf d1=nan",
        "d1=nan is not allowed: d1= must be a number",
    ),
    (
        "sfput < a.rsf o2=abc",
        "o2=abc is not allowed: o2= must be a number",
    ),
    (
        "sfdd < a.rsf type=quaternion",
        "type=quaternion is not allowed: type= must be float or int",
    ),
    ("sfdd < a.rsf form=ascii format=%s", "not a format of printf"),
    ("sfdd < a.rsf form=ascii format='%g %g'", "2 conversions"),
    (
        "sfdd < a.rsf form=xdr type=double",
        "xdr_double cannot be written",
    ),
    ("sfdisfil < a.rsf format=five", "0 conversions"),
    ("sfattr < a.rsf want=everything", "want= got `everything`"),
    ("sfreverse < a.rsf opt=x", "opt= must be"),
];

const SPIKES: &[Case] = &[
    ("sfspike nostdin=y", "n1= is missing"),
    (
        "sfspike n1=1000000000000000 nostdin=y",
        "there is not enough memory for",
    ),
    (
        "sfspike n1=1000000000 n2=1000000000 n3=1000 nostdin=y",
        "more elements than can be counted",
    ),
    ("sfspike n1=3 n3=2 nostdin=y", "n2= is missing"),
    (
        "sfspike n1=3 k1=4 nostdin=y",
        "k1=4 is beyond the axis, which has 3 samples",
    ),
    ("sfspike n1=3 l1=4 k1=1 nostdin=y", "l1=4 is beyond the axis"),
];

#[test]
fn wrong_input_is_refused_in_one_sentence() {
    let bench = Bench::new();
    bench.dataset("a.rsf", &[4, 3], &ramp(12));
    bench.dataset("b.rsf", &[4, 2], &ramp(8));
    bench.raw("i.rsf", "n1=4 n2=3", "native_int", &[1i32; 12]);
    bench.raw("u.rsf", "n1=2", "native_uchar", &[1u8; 2]);
    bench.put("empty.rsf", "");
    bench.put("none.rsf", "n1=0 data_format=native_float in=./none.rsf@\n");
    bench.put("none.rsf@", "");
    bench.put("cut.rsf", "n1=100 data_format=native_float in=./cut.rsf@\n");
    bench.put("cut.rsf@", [0; 40]);
    let mut offenders = Vec::new();
    for (line, expected) in [FILES, AXES, FORMULAS, TYPES, SPIKES].concat() {
        let input = if line.contains(['<', '|']) {
            ""
        } else {
            "< /dev/null"
        };
        let ended = bench.sh(&format!("{line} {input} > out.rsf"));
        let sentences = ended
            .err
            .lines()
            .filter(|text| !text.contains("warning:"))
            .count();
        let named = ended.err.starts_with("sf") || ended.err.contains("warning:");
        if ended.code != 1 || sentences != 1 || !named || !ended.err.contains(expected) {
            offenders.push(format!(
                "{line}: exit {}, {}, expected {expected}",
                ended.code,
                ended.err.trim()
            ));
        }
    }
    assert!(offenders.is_empty(), "{}", offenders.join("\n"));
}

#[test]
fn warnings_name_what_differs_and_what_is_unknown() {
    let bench = Bench::new();
    bench.dataset("a.rsf", &[4], &ramp(4));
    bench.raw("o.rsf", "n1=4 o1=12 d1=0.25", "native_float", &ramp(4));
    let warned = |line: &str, expected: &str| {
        let run = bench.sh(&format!("{line} > out.rsf < /dev/null"));
        assert!(
            run.code == 0 && run.err.contains("warning:") && run.err.contains(expected),
            "{line}: {}",
            run.err
        );
    };
    warned("sfadd a.rsf o.rsf", "o1=10 in a.rsf and o1=12 in o.rsf");
    warned("sfcat a.rsf o.rsf axis=2", "d1=0.5 in a.rsf and d1=0.25 in o.rsf");
    warned("sfmath x=a.rsf n1=7 output=x", "n1= has no effect");
    warned("sfspike n1=9 k1=1,2", "k1= holds 2 values, but nsp=1");
    warned("sfadd a.rsf scale=1,2", "scale= holds 2 values for 1 datasets");
    warned(
        "sfcat a.rsf a.rsf axis=2 order=1,0,2",
        "order= holds 3 positions for 2",
    );
    let piped = |line: &str, expected: &str| {
        let run = bench.sh(&format!("{line} < a.rsf > out.rsf"));
        assert!(run.code == 0 && run.err.contains(expected), "{line}: {}", run.err);
    };
    piped("sfpad n1=9 end1=3", "n1= has no effect with end1=3");
    piped("sfwindow nn1=2", "nn1= is not a parameter of this program");
    piped("sfput data_format=native_int", "no effect without esize=");
    piped("sfput esize=8", "esize=8 has no effect without data_format=");
    piped("sfput in=/nowhere", "in= has no effect: the data are copied");
    piped("sfbandpass fhi=0.2 nphi=0", "nphi=0 is taken as 1");
    piped("sfbandpass flo=0.2 nplo=-4", "nplo=-4 is taken as 1");
    piped("sfget", "no key is given");
    piped("sfget n1 nothing", "there is no key nothing in the header");
    warned(
        "sfcmplx a.rsf a.rsf o.rsf",
        "o.rsf is not read: the first two files are the real and the imaginary part",
    );
    warned("sfspike n1=9 mags=2", "did you mean mag=");
    piped("sfsmooth rect=3", "did you mean rect1=");
    piped("sfmutter v0=1e9 tp=0", "no sample was muted: check v0=");
    piped("sfmutter slope0=1e9 t0=1e9 tp=0", "every sample was muted");
    for (d2, warns) in [(50.0, true), (0.05, false)] {
        let text = bench.messages(&format!(
            "sfspike n1=99 n2=5 d2={d2} nostdin=y | sfmutter half=n v0=2 > out.rsf"
        ));
        let words = "every sample beyond offset 0 was muted: check v0=";
        assert_eq!(text.contains(words), warns, "{d2}: {text}");
    }
    for program in ["sfmutter v0=1", "sfvscan v0=1 dv=1 nv=2"] {
        let own = format!("sfspike n1=9 n2=3 d2=1 nostdin=y label2=LABEL | {program} > out.rsf");
        let messages = |label: &str| bench.sh(&own.replace("LABEL", label)).err;
        let counts = "axis 2 is `r`, which counts traces, but its coordinates are taken as offsets (the first two are 0 and 1)";
        assert!(
            messages("r unit2=").contains(counts),
            "{program}: {}",
            messages("r unit2=")
        );
        assert!(!messages("Offset").contains("counts traces"), "{program}");
    }
    warned("sfspike n1=9 n10=2", "unknown parameter n10=");
    warned("sfspike n1=9 word", "`word` is ignored");
    let strict = bench.sh("RSF_STRICT=1 sfspike n1=9 mags=2 > out.rsf < /dev/null");
    assert_eq!(strict.code, 1, "{}", strict.err);
}

#[test]
fn sfin_describes_odd_files() {
    let bench = Bench::new();
    bench.put(
        "short.rsf",
        "n1=10 data_format=native_float esize=4 in=./short.rsf@\n",
    );
    bench.put("short.rsf@", [1; 30]);
    bench.put(
        "zero.rsf",
        "n1=4 data_format=native_float esize=4 in=./zero.rsf@\n",
    );
    bench.put("zero.rsf@", [0; 16]);
    let run = bench.sh("sfin short.rsf");
    assert!(
        run.code == 0 && run.err.contains("30 bytes, 75% of the 40"),
        "{}",
        run.err
    );
    // The size of the data is checked for every data type.
    for (format, size) in [
        ("native_uchar", 1),
        ("native_short", 2),
        ("native_int", 4),
        ("native_complex", 8),
        ("native_double", 8),
    ] {
        let header = format!("n1=10 n2=2 data_format={format} esize={size} in=./sized.rsf@\n");
        bench.put("sized.rsf", &header);
        bench.put("sized.rsf@", vec![1u8; 20 * size]);
        let run = bench.sh("sfin sized.rsf");
        assert!(
            run.code == 0 && !run.err.contains("that the header states"),
            "{format}: {}",
            run.err
        );
        for (there, percent) in [(15, 75), (25, 125)] {
            bench.put("sized.rsf@", vec![1u8; there * size]);
            let expected = format!("{} bytes, {percent}% of the {}", there * size, 20 * size);
            let run = bench.sh("sfin sized.rsf");
            assert!(run.err.contains(&expected), "{format}: {}", run.err);
        }
    }
    assert!(
        bench
            .sh("sfin zero.rsf")
            .err
            .contains("all of the data are zeros")
    );
    bench.put("gone.rsf", "n1=4 data_format=native_float in=./gone.rsf@\n");
    assert!(bench.refused("sfin gone.rsf").contains("cannot read data file"));
    bench.put("letter.txt", "Dear reader\n");
    assert!(
        bench
            .refused("sfin letter.txt")
            .contains("not the header of a dataset")
    );
}

#[test]
fn an_empty_file_on_standard_input_is_not_nothing() {
    let bench = Bench::new();
    bench.put("killed.rsf", "");
    bench.run("sfspike n1=5 mag=3 > quake.rsf");
    let message = bench.refused("sfadd scale=1,-1 < killed.rsf quake.rsf > out.rsf");
    assert!(message.contains("standard input is an empty file"), "{message}");
    // If the shell itself emptied the file, the message says so.
    bench.run("sfspike n1=5 nostdin=y > own.rsf");
    for line in [
        "sfmath output='input*2'",
        "sfadd scale=2",
        "sftransp",
        "sfscale dscale=2",
    ] {
        bench.run("sfspike n1=5 nostdin=y > own.rsf");
        let message = bench.refused(&format!("{line} < own.rsf > own.rsf"));
        assert!(
            message.contains("it is standard output, too, and the shell emptied it"),
            "{line}: {message}"
        );
    }
    bench.run("sfadd scale=1 < /dev/null quake.rsf > out.rsf");
    assert_eq!(bench.reals("out.rsf"), [3.0; 5]);
}
