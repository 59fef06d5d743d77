//! Data at times other than the time steps, in operators, gradients and images.

use crate::desk::Desk;
use crate::shots::{largest_difference, magnitude};
use crate::survey::{desk as survey, with};

/// The command line of a program for the survey of three shots.
fn of(program: &str, extra: &str) -> String {
    let line = with(2, "sous.rsf", "recs.rsf", extra);
    line.replacen("sfvsfd2d-gpu", program, 1)
}

/// A desk with a survey, its data every 2.3 ms, a slower model and a perturbation of that.
fn observed() -> Desk {
    let desk = survey(2);
    let cells = desk.read("vp.rsf").len();
    let header: String = desk
        .axes("vp.rsf", 2)
        .iter()
        .enumerate()
        .map(|(i, axis)| format!("n{0}={1} o{0}=0 d{0}=10 ", i + 1, axis.n))
        .collect();
    desk.ran(&format!("{} > coarse.rsf", of("sfvsfd2d-gpu", "dtout=0.0023")));
    let change: Vec<f32> = (0..cells).map(|k| (k * 7919 % 100) as f32).collect();
    let shifted = |share: f32| change.iter().map(|x| 2960.0 + share * x).collect::<Vec<_>>();
    for (name, share) in [("slow", 0.0), ("more", 0.02), ("less", -0.02)] {
        desk.dataset(&format!("{name}.rsf"), &header, &shifted(share));
    }
    let all: Vec<f32> = [change, vec![0.0; 2 * cells]].concat();
    desk.dataset("dm.rsf", &format!("{header} n3=3"), &all);
    desk
}

/// The operator with `dtout=` passes the dot-product test, and its adjoint can take the times from the header, too.
#[test]
fn operators_resample() {
    let desk = observed();
    for extra in ["dtout=0.0023", "dtout=0.0004 data=pressure qp=60 qs=40 shots=2"] {
        desk.ran(&format!("{} < dm.rsf > data.rsf", of("sfvsborn2d-gpu", extra)));
        let line = of(
            "sfbasics dottest sfvsborn2d-gpu mod=dm.rsf dat=data.rsf seed=3 tol=1e-5",
            extra,
        );
        let run = desk.ran(&line);
        println!("{extra}: {}", run.err);
    }
    desk.ran(&format!(
        "{} < dm.rsf > data.rsf",
        of("sfvsborn2d-gpu", "dtout=0.0023")
    ));
    assert_eq!(desk.axes("data.rsf", 4), desk.axes("coarse.rsf", 4));
    // The same number of samples at other times is named with the remedy.
    desk.ran(&format!(
        "{} < dm.rsf | sfbasics put o3=0 > early.rsf",
        of("sfvsborn2d-gpu", "")
    ));
    let line = of(
        "sfbasics dottest sfvsborn2d-gpu mod=dm.rsf dat=early.rsf seed=3",
        "",
    );
    let messages = desk.ran(&line).err;
    assert!(
        messages.contains("has o3=0.0005 d3=0.001, but dat=early.rsf has o3=0 d3=0.001")
            && messages.contains("dtout= makes the operator write data at the times 0, dtout"),
        "{messages}"
    );
    let back = |extra: &str| {
        desk.ran(&format!("{} < data.rsf > back.rsf", of("sfvsborn2d-gpu", extra)));
        desk.read("back.rsf")
    };
    let resampled = back("adj=y");
    assert!(magnitude(&resampled) > 0.0);
    assert_eq!(resampled, back("adj=y dtout=0.0023"));
}

/// Data with `dtout=` have no misfit for the true model, and the gradient for another model is the slope of the misfit.
#[test]
fn gradients_compare_at_the_times_of_the_data() {
    let desk = observed();
    let misfit = |extra: &str| -> f64 {
        let line = of("sfvsgrad2d-gpu", extra);
        let run = desk.ran(&format!("{line} < coarse.rsf > gradient.rsf"));
        let (_, number) = run.err.rsplit_once("misfit ").unwrap();
        number.trim().parse().unwrap()
    };
    assert_eq!(misfit(""), 0.0);
    // The data have the sampling of the steps but begin at time 0, whereas velocity is recorded at half steps.
    desk.ran(&format!("{} > fine.rsf", of("sfvsfd2d-gpu", "dtout=0.001")));
    desk.ran(&format!(
        "{} < fine.rsf > fine-gradient.rsf",
        of("sfvsgrad2d-gpu", "")
    ));
    for kind in ["squares", "correlation"] {
        let of_kind = |model: &str| misfit(&format!("vp={model}.rsf kind={kind} fcpml=20"));
        let [more, less] = ["more", "less"].map(of_kind);
        assert!(of_kind("slow") > 0.0);
        let products = desk.read("gradient.rsf").into_iter().zip(desk.read("dm.rsf"));
        let slope: f64 = products.map(|(g, x)| f64::from(g) * f64::from(x)).sum();
        let expected = (more - less) / 0.04;
        println!("{kind}: {slope} {expected}");
        // The changes are at most 2 m/s, so the difference is accurate to a few parts in a thousand.
        assert!(
            (slope - expected).abs() < 0.01 * expected.abs(),
            "{kind}: {slope} {expected}"
        );
    }
}

/// The amplitude of an image from data of every fourth step is a quarter of that from data of every step, because there
/// are a quarter as many samples.
#[test]
fn images_take_data_of_any_sampling() {
    let desk = observed();
    let image = |data: &str, extra: &str| {
        desk.ran(&format!(
            "{} < {data} > image.rsf",
            of("sfvsrtm2d-gpu", &format!("norm=n {extra}"))
        ));
        desk.read("image.rsf")
    };
    desk.ran(&format!("{} > data.rsf", of("sfvsfd2d-gpu", "nt=120")));
    desk.ran(&format!(
        "{} > four.rsf",
        of("sfvsfd2d-gpu", "nt=120 dtout=0.004")
    ));
    let every: Vec<f64> = image("data.rsf", "nt=120")
        .iter()
        .map(|&x| f64::from(x))
        .collect();
    let four: Vec<f32> = image("four.rsf", "nt=120").iter().map(|x| 4.0 * x).collect();
    let off = largest_difference(&four, &every) / magnitude(&every);
    println!("images differ by {off:.1e}");
    // The filter for 4 ms removes a small part of the sources' band, and the first and last waves of a run are
    // truncated.
    assert!(off < 0.05, "{off}");
}

/// Data with the time step of the run may end before the run does: later records are not compared, but the adjoint run
/// still begins at the end of the run.
#[test]
fn data_may_end_before_the_run() {
    let desk = observed();
    let gradient_of = |program: &str, data: &str, extra: &str| {
        desk.ran(&format!("{} < {data} > made.rsf", of(program, extra)));
        desk.read("made.rsf")
    };
    for (records, jdata) in [(41, ""), (13, "jdata=3")] {
        desk.ran(&format!("{} > data.rsf", of("sfvsfd2d-gpu", jdata)));
        let n = desk.axes("data.rsf", 4)[2].n;
        desk.ran(&format!(
            "sfbasics window < data.rsf n3={records} > short.rsf; sfbasics pad < short.rsf n3={n} > padded.rsf
            sfbasics math < short.rsf output=1 | sfbasics pad n3={n} > weight.rsf"
        ));
        for (program, extra, beside) in [
            ("sfvsrtm2d-gpu", "", ""),
            ("sfvsborn2d-gpu", "adj=y", ""),
            ("sfvsgrad2d-gpu", "vp=slow.rsf", "weight=weight.rsf"),
        ] {
            let extra = format!("{extra} {jdata}");
            let short = gradient_of(program, "short.rsf", &extra);
            let expected = gradient_of(program, "padded.rsf", &format!("{extra} {beside}"));
            assert!(magnitude(&expected) > 0.0);
            assert_eq!(short, expected, "{program} {extra}");
        }
        let line = of("sfvsgrad2d-gpu", &format!("verb=y {jdata}"));
        let messages = desk.ran(&format!("{line} < short.rsf > made.rsf")).err;
        assert!(
            messages.contains(&format!("data: {records} times from "))
                && messages.contains("the run continues after them"),
            "{messages}"
        );
        assert!(messages.trim_end().ends_with("misfit 0"), "{messages}");
    }
}

/// Times that do not fit are refused with a message that gives times that would fit.
#[test]
fn times_that_do_not_fit_are_refused() {
    let desk = observed();
    let long = desk.read("coarse.rsf").len() / 18;
    let values = vec![1.0f32; 18 * long];
    let named =
        |name: &str, times: &str| desk.dataset(name, &format!("n1=3 n2=2 n3={long} {times} n4=3"), &values);
    named("late.rsf", "o3=0.1 d3=0.001");
    named("none.rsf", "d3=0");
    // This is half a step after the end of a run of 60 ms.
    let first = 0.0605 - 0.0023 * (long - 1) as f64;
    named("behind.rsf", &format!("o3={first:.6} d3=0.0023"));
    // A difference due to rounding is not after the end.
    named("end.rsf", &format!("o3={:.7} d3=0.0023", first - 0.0005 + 1e-7));
    desk.ran(&format!("{} < end.rsf > out.rsf", of("sfvsgrad2d-gpu", "")));
    for (program, input, extra, expected) in [
        ("sfvsrtm2d-gpu", "late.rsf", "", "give nt="),
        ("sfvsgrad2d-gpu", "behind.rsf", "", "give nt=61"),
        (
            "sfvsgrad2d-gpu",
            "none.rsf",
            "",
            "its third axis must be time in s",
        ),
        ("sfvsgrad2d-gpu", "coarse.rsf", "jdata=2", "leave out jdata="),
        (
            "sfvsborn2d-gpu",
            "coarse.rsf",
            "adj=y dtout=0.002",
            "leave out dtout=",
        ),
        (
            "sfvsborn2d-gpu",
            "dm.rsf",
            "dtout=0.002 jdata=2",
            "give one of them",
        ),
        (
            "sfvsborn2d-gpu",
            "dm.rsf",
            "dtout=9",
            "above 0 and not above the 0.06 s",
        ),
        (
            "sfvsgrad2d-gpu",
            "coarse.rsf",
            "wavelet=estimate source=s.rsf",
            "a multiple of dt=",
        ),
    ] {
        let run = desk.sh(&format!("{} < {input} > out.rsf", of(program, extra)));
        assert!(
            run.code == 1 && run.err.contains(expected),
            "{input} {extra}: {run:?}"
        );
    }
}
