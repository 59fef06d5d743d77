//! Linear operators as programs: `sfdottest` recognises whether an operator has the right adjoint, `sfconjgrad` finds
//! the solution, and both report the faults of a program.

use rsf_io::Axis;

use crate::bench::{Bench, ramp};
use crate::largest::{largest_difference, relative_difference};

const N: usize = 40;

/// A bench with a model of spikes and its running sums.
fn bench() -> Bench {
    let bench = Bench::new();
    let model: Vec<f32> = (0..N).map(|k| ((7 * k) % 11) as f32 - 5.0).collect();
    bench.dataset("m.rsf", &[N], &model);
    bench.run("sfcausint < m.rsf > d.rsf");
    bench
}

fn apart(a: &[f32], b: &[f32]) -> f64 {
    relative_difference(a, b)
}

/// The numbers that sfdottest prints: both products and their relative difference.
fn products(bench: &Bench, line: &str) -> [f64; 3] {
    let run = bench.sh(line);
    assert_eq!(run.code, 0, "{run:?}");
    let number = |words: &str| -> f64 {
        let parts = run.err.lines().find_map(|line| line.split_once(words));
        let (_, number) = parts.unwrap_or_else(|| panic!("{words}: {run:?}"));
        number.trim().parse().unwrap()
    };
    [
        number("sfdottest:  L[m]*d="),
        number("sfdottest: L'[d]*m="),
        number("relative difference "),
    ]
}

#[test]
fn products_of_an_operator_and_its_adjoint_are_equal() {
    let bench = bench();
    let line = "sfdottest sfcausint mod=m.rsf dat=d.rsf seed=7";
    let [one, other, apart] = products(&bench, line);
    // Forty running sums of numbers from 0 to 1, multiplied by such numbers: about 40 * 41 / 2 / 4.
    assert!(
        (100.0..320.0).contains(&one) && (one - other).abs() < 1e-4,
        "{one} {other}"
    );
    assert!(apart < 1e-6);
    assert_eq!(products(&bench, line), [one, other, apart]);
    assert!(products(&bench, "sfdottest sfcausint mod=m.rsf dat=d.rsf seed=8")[0] != one);
    bench.run("sfdottest sfcausint mod=m.rsf dat=d.rsf tol=1e-5");
    // One operator has its own parameters, and the data of another are longer than its models.
    bench.run("sfpad < m.rsf end1=10 > longer.rsf");
    bench.put(
        "pad",
        "#!/bin/sh\ncase \"$*\" in *adj=y) sfwindow n1=40;; *) sfpad end1=10;; esac\n",
    );
    bench.run("chmod +x pad && sfdottest ./pad mod=m.rsf dat=longer.rsf tol=1e-6");
    bench.put(
        "scaled",
        "#!/bin/sh\nwhile [ \"${1#dscale}\" = \"$1\" ]; do shift; done; sfscale $1\n",
    );
    bench.run("chmod +x scaled && sfdottest ./scaled rows mod=m.rsf dat=d.rsf dscale=3 tol=1e-6");
}

/// Parameters of programs other than the everyday programs are queried with --sfdoc.
#[test]
fn programs_of_the_suite_document_their_adjoint() {
    let bench = bench();
    let documents = |name: &str, parameter: &str| {
        let text = format!("[ $1 = --sfdoc ] && echo '{{\"params\": [{{\"name\": \"{parameter}\"}}]}}'");
        bench.put(name, format!("#!/bin/sh\n{text} || exec sfcausint $1\n"));
    };
    documents("sfmodel-gpu", "nt");
    documents("sfadjoint-gpu", "adj");
    bench.run("chmod +x sfmodel-gpu sfadjoint-gpu");
    let [_, _, apart] = products(&bench, "PATH=.:$PATH sfdottest sfadjoint-gpu mod=m.rsf dat=d.rsf");
    assert!(apart < 1e-5, "{apart}");
    let refused = bench.refused("PATH=.:$PATH sfdottest sfmodel-gpu mod=m.rsf dat=d.rsf");
    assert!(refused.contains("sfmodel-gpu has no parameter adj="), "{refused}");
}

#[test]
fn what_is_no_adjoint_fails() {
    let bench = bench();
    bench.put("wrong", "#!/bin/sh\nexec sfcausint adj=n\n");
    bench.put("broken", "#!/bin/sh\necho broken: out of luck >&2; exit 3\n");
    bench.put("short", "#!/bin/sh\nexec sfwindow n1=5\n");
    bench.put("zeros", "#!/bin/sh\nexec sfmath output='0*input'\n");
    bench.run("chmod +x wrong broken short zeros");
    let run = bench.sh("sfdottest ./zeros mod=m.rsf dat=d.rsf");
    assert!(
        run.err.contains("both products are zero, which tests nothing")
            && run.err.contains("gives the same random numbers again"),
        "{run:?}"
    );
    let [_, _, apart] = products(&bench, "sfdottest ./wrong mod=m.rsf dat=d.rsf seed=1");
    assert!(apart > 1e-3);
    // Three digits of the difference are printed.
    let tol = |share: f64| {
        bench.sh(&format!(
            "sfdottest ./wrong mod=m.rsf dat=d.rsf seed=1 tol={}",
            share * apart
        ))
    };
    assert_eq!((tol(0.99).code, tol(1.01).code), (1, 0));
    for (line, words) in [
        (
            "sfdottest ./wrong mod=m.rsf dat=d.rsf seed=1 tol=1e-4",
            "is not the adjoint of the program with adj=n",
        ),
        (
            "sfdottest ./short mod=m.rsf dat=d.rsf",
            "has 5 elements, but dat=d.rsf has 40",
        ),
        (
            "sfdottest ./nothing mod=m.rsf dat=d.rsf",
            "cannot start ./nothing",
        ),
        ("sfdottest mod=m.rsf dat=d.rsf", "no program is named"),
        (
            "sfdottest sfscale mod=m.rsf dat=d.rsf dscale=3",
            "sfscale has no parameter adj=, so it is not a linear operator with an adjoint",
        ),
        ("sfdottest sfcausint dat=d.rsf", "missing: mod="),
        ("sfconjgrad mod=m.rsf < d.rsf", "no program is named"),
        (
            "sfdd type=int < m.rsf > i.rsf; sfconjgrad sfcausint mod=i.rsf < d.rsf",
            "int data",
        ),
        (
            "sfconjgrad sfcausint mod=m.rsf known=m.rsf < d.rsf",
            "int data are needed",
        ),
        (
            "sfwindow n1=9 < m.rsf > n.rsf; sfconjgrad sfcausint mod=m.rsf x0=n.rsf < d.rsf",
            "9 elements",
        ),
        ("sfconjgrad sfcausint mod=m.rsf niter=-1 < d.rsf", "niter="),
    ] {
        let run = bench.sh(line);
        let last = run.err.lines().last().unwrap_or_default();
        assert!(run.code == 1 && last.contains(words), "{line}: {run:?}");
    }
    let run = bench.sh("sfdottest ./broken mod=m.rsf dat=d.rsf");
    assert_eq!(run.code, 1);
    assert!(
        run.err.contains("broken: out of luck")
            && run.err.contains("./broken adj=n failed with exit status: 3"),
        "{run:?}"
    );
}

/// As many iterations as there are unknowns find the model; the first iteration is a step along the gradient.
#[test]
fn conjugate_gradients_find_the_model() {
    let bench = bench();
    bench.run("sfconjgrad sfcausint mod=m.rsf niter=80 < d.rsf > found.rsf");
    let model = bench.reals("m.rsf");
    assert!(apart(&bench.reals("found.rsf"), &model) < 1e-3);
    assert_eq!(bench.axes("found.rsf", 1), bench.axes("m.rsf", 1));
    let run = bench.sh("sfconjgrad sfcausint mod=m.rsf < d.rsf > one.rsf");
    assert!(
        run.err.contains("sfconjgrad: iter 1 of 1") && run.err.contains("sfconjgrad: grad="),
        "{run:?}"
    );
    let sums = |x: &[f64]| -> Vec<f64> {
        x.iter()
            .scan(0.0, |sum, x| {
                *sum += x;
                Some(*sum)
            })
            .collect()
    };
    let data: Vec<f64> = bench.reals("d.rsf").iter().map(|&x| f64::from(x)).collect();
    let reversed: Vec<f64> = data.iter().rev().copied().collect();
    let gradient: Vec<f64> = sums(&reversed).into_iter().rev().collect();
    let square = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>();
    let slope = run.err.lines().find_map(|line| line.split_once("grad="));
    let slope: f64 = slope.expect("the gradient").1.trim().parse().expect("a number");
    // Six digits are printed.
    assert!(
        (slope / square(&gradient) - 1.0).abs() < 5e-6,
        "{slope}: {}",
        square(&gradient)
    );
    let step = square(&gradient) / square(&sums(&gradient));
    let expected: Vec<f32> = gradient.iter().map(|g| (step * g) as f32).collect();
    assert!(apart(&bench.reals("one.rsf"), &expected) < 1e-6);
}

#[test]
fn weights_masks_and_first_models_do_what_they_say() {
    let bench = bench();
    let model = bench.reals("m.rsf");
    // The samples with even numbers are known; their values are given by x0.
    let known: Vec<i32> = (0..N).map(|k| i32::from(k % 2 == 0)).collect();
    bench.raw("known.rsf", &format!("n1={N}"), "native_int", &known);
    let start: Vec<f32> = (0..N).map(|k| if k % 2 == 0 { model[k] } else { 1.0 }).collect();
    bench.dataset("x0.rsf", &[N], &start);
    let weight: Vec<f32> = (0..N).map(|k| 0.5 + 0.05 * k as f32).collect();
    bench.dataset("w.rsf", &[N], &weight);
    for words in [
        "known=known.rsf x0=x0.rsf",
        "known=known.rsf x0=x0.rsf mwt=w.rsf",
        "mwt=w.rsf",
        "mwt=w.rsf x0=x0.rsf",
    ] {
        bench.run(&format!(
            "sfconjgrad sfcausint mod=m.rsf niter=120 {words} < d.rsf > found.rsf"
        ));
        let estimate = bench.reals("found.rsf");
        assert!(
            apart(&estimate, &model) < 2e-3,
            "{words}: {}",
            apart(&estimate, &model)
        );
        if words.contains("known") {
            assert!((0..N).step_by(2).all(|k| estimate[k] == model[k]));
        }
    }
    // The known samples remain zero without an initial model.
    bench.run("sfconjgrad sfcausint mod=m.rsf niter=5 known=known.rsf < d.rsf > found.rsf");
    assert!(bench.reals("found.rsf").iter().step_by(2).all(|&x| x == 0.0));
    // The true model fits the data, so the gradient is zero.
    bench.run("sfconjgrad sfcausint mod=m.rsf niter=3 x0=m.rsf < d.rsf > found.rsf");
    assert_eq!(bench.reals("found.rsf"), model);
}

/// Both directions of the time-dispersion operator have adjoints, and the second undoes the first.
#[test]
fn time_dispersion_is_an_operator() {
    let bench = Bench::new();
    let (n, traces) = (300, 2);
    let at = |i: usize| {
        let (k, trace) = ((i % n) as f32, (i / n) as f32);
        (-0.5 * ((k - 60.0 - 40.0 * trace) / 4.0).powi(2)).exp() * (1.0 + trace)
    };
    let series: Vec<f32> = (0..n * traces).map(at).collect();
    bench.dataset("m.rsf", &[n, traces], &series);
    bench.run("sfput d1=0.002 < m.rsf > x.rsf");
    for words in [
        "",
        "first=0.5 dt=0.001",
        "inv=y first=1",
        "inv=y mean=y dt=0.0005",
    ] {
        bench.run(&format!(
            "sfdottest sftimedisp mod=x.rsf dat=x.rsf seed=3 tol=1e-6 {words}"
        ));
    }
    bench.run("sftimedisp first=0.5 < x.rsf > y.rsf; sftimedisp inv=y first=0.5 < y.rsf > z.rsf");
    let [y, z] = ["y.rsf", "z.rsf"].map(|name| bench.reals(name));
    let off = |other: &[f32]| relative_difference(other, &series);
    // z differs by rounding in single precision (2e-7 measured); y differs because the pulse of 4 samples is earlier by
    // a fraction of a sample.
    assert!(off(&z) < 2e-6 && off(&y) > 1e-2, "{} {}", off(&z), off(&y));
    for (line, words) in [
        (
            "sftimedisp mean=y < x.rsf > e.rsf",
            "give inv=y, or leave out mean=",
        ),
        ("sftimedisp dt=0.003 < x.rsf > e.rsf", "dt=0.003 and d1=0.002"),
        ("sftimedisp dt=0 < x.rsf > e.rsf", "both must be positive"),
    ] {
        let run = bench.sh(line);
        assert!(run.code == 1 && run.err.contains(words), "{line}: {run:?}");
    }
}

/// If sizes disagree, there is a single message with both sizes, and no message about pipes.
#[test]
fn sizes_that_disagree_are_named_as_sizes() {
    let bench = bench();
    bench.put("long", "#!/bin/sh\nexec sfpad end1=1000000\n");
    bench.put("deaf", "#!/bin/sh\nexec sfspike n1=40 < /dev/null\n");
    bench.put("plain", "#!/bin/sh\nexec sfmath \"$@\"\n");
    bench.run("chmod +x long deaf plain; sfspike n1=1000 n2=1000 > big.rsf");
    for (line, words) in [
        (
            "sfdottest ./long mod=m.rsf dat=d.rsf",
            "standard output of ./long adj=n has 1000040 elements, but dat=d.rsf has 40",
        ),
        (
            "sfconjgrad ./long mod=m.rsf < d.rsf",
            "standard output of ./long adj=y has 1000040 elements, but mod=m.rsf has 40",
        ),
        (
            "sfdottest ./deaf mod=big.rsf dat=d.rsf",
            "./deaf adj=n did not read its whole input: mod=big.rsf has 1000000 elements (n1=1000 n2=1000)",
        ),
        (
            "sfconjgrad ./deaf mod=m.rsf < big.rsf",
            "standard input has 1000000 elements (n1=1000 n2=1000), but the operator takes fewer",
        ),
    ] {
        let run = bench.sh(line);
        assert!(run.code == 1 && run.err.contains(words), "{line}: {run:?}");
        assert!(!run.err.contains("pipe"), "{line}: {run:?}");
    }
    let run = bench.sh("sfdottest ./plain mod=m.rsf dat=d.rsf");
    assert!(
        run.code == 1 && run.err.contains("A linear operator must accept adj="),
        "{run:?}"
    );
}

#[test]
fn words_of_madagascars_drivers() {
    let bench = bench();
    // Madagascar's drivers pass their own parameters on to the operator.
    let run = bench
        .sh("RSF_STRICT=1 sfcausint mod=m.rsf dat=d.rsf mwt=w.rsf niter=3 known=k.rsf < m.rsf > sums.rsf");
    assert!(run.code == 0 && run.err.is_empty(), "{run:?}");
    assert_eq!(bench.reals("sums.rsf"), bench.reals("d.rsf"));
    // Programs that are not operators do not have these parameters.
    let run = bench.sh("sfreverse niter=3 < m.rsf > back.rsf");
    assert!(run.err.contains("unknown parameter niter="), "{run:?}");
    // mod0= is the initial model, and defines the axes.
    for words in ["mod=m.rsf mod0=m.rsf", "mod0=m.rsf"] {
        let run = bench.sh(&format!(
            "sfconjgrad sfcausint {words} niter=3 < d.rsf > found.rsf"
        ));
        assert!(
            run.code == 0 && run.err.contains("the gradient is zero"),
            "{run:?}"
        );
        assert_eq!(bench.reals("found.rsf"), bench.reals("m.rsf"), "{words}");
    }
    let message = bench.refused("sfconjgrad sfcausint mod=m.rsf mod0=m.rsf x0=m.rsf < d.rsf");
    assert!(message.contains("two names of one parameter"), "{message}");
    let message = bench.refused("sfconjgrad sfcausint < d.rsf");
    assert!(message.contains("neither mod= nor mod0= is given"), "{message}");
}

/// The programs accept these parameters and conventions of Madagascar's programs.
#[test]
fn small_words_of_madagascars_programs() {
    let bench = bench();
    // The origin of time changes the phase of each frequency, forward and inverse.
    bench.run("sffft1 ot=0.3 < m.rsf > a.rsf; sfput o1=0.3 < m.rsf | sffft1 > b.rsf; sffft1 < m.rsf > c.rsf");
    assert_eq!(bench.complex("a.rsf"), bench.complex("b.rsf"));
    assert_ne!(bench.complex("a.rsf"), bench.complex("c.rsf"));
    // An origin that is a multiple of four samples, for which the Nyquist frequency stays real.
    bench.run("sffft1 inv=y ot=12 < c.rsf > t.rsf");
    assert_eq!(bench.axes("t.rsf", 1)[0].o, 12.0);
    bench.run("sffft1 < t.rsf > d3.rsf");
    let (there, back) = (bench.complex("d3.rsf"), bench.complex("c.rsf"));
    // The error is the rounding error of two transforms of 40 numbers; the measured value is 2e-7.
    assert!(relative_difference(there.iter().flatten(), back.iter().flatten()) < 2e-6);
    // A third name, which Madagascar's flows append, is ignored.
    let run = bench.sh("sfcmplx m.rsf d.rsf sfcmplx > e.rsf");
    assert!(
        run.code == 0 && run.err.contains("warning: sfcmplx is not read"),
        "{run:?}"
    );
    bench.run("sfreal < e.rsf > re.rsf; sfimag < e.rsf > im.rsf");
    assert_eq!(bench.reals("re.rsf"), bench.reals("m.rsf"));
    assert_eq!(bench.reals("im.rsf"), bench.reals("d.rsf"));
    // Bytes from 0 to 255, rounded.
    bench.run("sfmath n1=9 d1=0.5 output='x1' | sfbyte allpos=y symcp=y clip=4.5 gainpanel=1 > b8.rsf");
    let bytes = bench.open("b8.rsf").read_all::<u8>().unwrap();
    let expected = [0, 28, 57, 85, 114, 142, 171, 199, 227];
    assert_eq!(bytes, expected);
    bench.run("sfmath n1=3 output='100*x1-1' | sfdd type=int > i.rsf");
    let text = bench.run("sfdisfil format='%x ' number=n < i.rsf");
    assert_eq!(text.trim(), "ffffffff 63 c7");
}

#[test]
fn cosines_are_lines_of_their_transform() {
    let bench = Bench::new();
    let same = |file: &str, expected: &[f32]| {
        let error = largest_difference(bench.reals(file), expected);
        // These are sums of up to 16 in single precision.
        assert!(error < 1.6e-5, "{file}: {error}");
    };
    // There are 16 = n1-1 intervals, because half the period of the mirrored line is the length of the axis.
    bench.run("sfmath n1=17 n2=5 d2=2 output='cos(3.14159265358979*x1*3/16)' | sfput d1=0.004 o1=0.5 label1=Time unit1=s > a.rsf");
    bench.run("sfcosft < a.rsf sign1=1 > b.rsf; sfcosft < b.rsf sign1=-1 > c.rsf; sfcosft < a.rsf sign1=1 sign2=1 | sfcosft sign2=-1 sign1=-1 > d.rsf");
    let line = |i: usize| if i % 17 == 3 { 16.0 } else { 0.0 };
    same("b.rsf", &(0..85).map(line).collect::<Vec<f32>>());
    let names = |axis: &Axis| [axis.label.clone(), axis.unit.clone()].map(Option::unwrap);
    let (before, forward) = (bench.axes("a.rsf", 2), bench.axes("b.rsf", 2));
    assert_eq!((forward[0].o, forward[0].d), (0.0, 7.8125));
    assert_eq!(names(&forward[0]), ["Frequency", "Hz"]);
    assert_eq!(forward[1], before[1]);
    for name in ["c.rsf", "d.rsf"] {
        same(name, &bench.reals("a.rsf"));
        let axis = &bench.axes(name, 2)[0];
        assert_eq!(names(axis), ["Time", "s"]);
        assert!(axis.o == 0.5 && (axis.d - 0.004).abs() < 1e-8, "{axis:?}");
    }
    // 7 intervals are padded to 8; the expected values are the sum itself, along axis 2 with lines of three samples.
    bench.dataset("e.rsf", &[3, 8, 2], &ramp(48));
    bench.run("sfscale < e.rsf dscale=0.03125 | sfcosft sign2=1 > f.rsf");
    let input = bench.reals("e.rsf");
    let sum = |at: usize| {
        let (i, k, plane) = (at % 3, at / 3 % 8, at / 24);
        let term = |j: usize| {
            let weight = if j == 0 { 1.0 } else { 2.0 };
            let x = f64::from(input[plane * 24 + j * 3 + i]);
            weight * x / 32.0 * (std::f64::consts::PI * (j * k) as f64 / 8.0).cos()
        };
        (0..8).map(term).sum::<f64>() as f32
    };
    same("f.rsf", &(0..48).map(sum).collect::<Vec<f32>>());
    assert_eq!(bench.axes("f.rsf", 3)[1].d, 1.0 / 16.0);
    for (line, words) in [
        ("sfcosft sign1=2 < e.rsf", "sign1= got `2`"),
        ("sfcosft sign4=1 < e.rsf", "the data have 3 axes"),
        (
            "sfwindow < e.rsf n1=1 squeeze=n | sfcosft sign1=1",
            "sign1= needs at least two samples",
        ),
        (
            "sfrtoc < e.rsf > z.rsf; sfcosft < z.rsf sign1=1",
            "float data are needed",
        ),
    ] {
        let err = bench.refused(&format!("{line} > o.rsf"));
        assert!(err.contains(words), "{line}: {err}");
    }
}

/// If an operator is called repeatedly, each of its warnings is shown once, and all other lines are shown every time.
#[test]
fn a_warning_of_an_operator_is_shown_once() {
    let bench = bench();
    bench.put(
        "loud",
        "#!/bin/sh\necho 'loud: warning: it is late' >&2\necho 'loud: begins' >&2\nprintf 'no end' >&2\nexec sfcausint \"$@\"\n",
    );
    bench.run("chmod +x loud");
    let messages = bench.messages("sfconjgrad ./loud mod=m.rsf niter=3 < d.rsf > found.rsf");
    let count = |words: &str| messages.matches(words).count();
    assert_eq!(
        [count("it is late"), count("loud: begins"), count("no end")],
        [1, 6, 6],
        "{messages}"
    );
    let messages = bench.messages("sfdottest ./loud mod=m.rsf dat=d.rsf seed=1");
    assert_eq!(messages.matches("it is late").count(), 1, "{messages}");
}

/// Data at times other than those that the operator writes are named, once, with both axes; axes that only number
/// their samples, and those that differ by rounding, are not.
#[test]
fn axes_that_differ_from_those_of_the_operator_are_named() {
    let bench = bench();
    let words = "standard output of sfcausint adj=n has o1=0 d1=0.004, but";
    bench.run("sfput o1=0 d1=0.004 < m.rsf > m4.rsf; sfput o1=0.002 < m4.rsf > late.rsf; sfput d1=0.002 < m4.rsf > fine.rsf");
    for (data, theirs) in [("late.rsf", "o1=0.002 d1=0.004"), ("fine.rsf", "o1=0 d1=0.002")] {
        for line in [
            format!("sfdottest sfcausint seed=1 mod=m4.rsf dat={data}"),
            format!("sfconjgrad sfcausint niter=3 mod=m4.rsf < {data} > found.rsf"),
        ] {
            let messages = bench.messages(&line);
            assert_eq!(messages.matches(words).count(), 1, "{line}: {messages}");
            assert!(
                messages.contains(&format!("has {theirs}: an operator")),
                "{messages}"
            );
            assert!(messages.contains("(sfput corrects a header)"), "{messages}");
        }
    }
    bench.raw(
        "counted.rsf",
        &format!("n1={N} o1=0 d1=1"),
        "native_float",
        &[1.0f32; N],
    );
    bench.run("sfput o1=0.00001 < m4.rsf > near.rsf; sfput o1=5 < counted.rsf > five.rsf");
    for line in [
        "sfdottest sfcausint seed=1 mod=m4.rsf dat=m4.rsf",
        "sfdottest sfcausint seed=1 mod=m4.rsf dat=near.rsf",
        "sfdottest sfcausint seed=1 mod=counted.rsf dat=five.rsf",
    ] {
        let messages = bench.messages(line);
        assert!(!messages.contains("warning"), "{line}: {messages}");
    }
}
