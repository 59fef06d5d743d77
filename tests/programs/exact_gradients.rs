//! Exact time in operators, gradients and images.

use crate::desk::Desk;
use crate::exact_time::{ROCK, rock};
use crate::shots::rms_difference;
use crate::survey::{desk as survey, with};
use crate::velocity_stress::{desk as model, line};

/// The step of the runs, s: 0.95 of the limit of order 8.
const DT: f64 = 1.275e-3;
/// The number of their steps.
const STEPS: usize = 380;

/// The command line of a program for the rock, with the step divided by `shorter`.
fn of(program: &str, shorter: usize, extra: &str) -> String {
    let line = ROCK
        .replacen("sfvsfd2d-gpu", program, 1)
        .replace("NT", &(STEPS * shorter).to_string())
        .replace("DT", &format!("{:e}", DT / shorter as f64));
    format!("{line} order=8 stf=ricker freq=14 fcpml=14 {extra}")
}

/// A desk with the rock, a model without its lumps, and data of the rock in exact time.
fn observed() -> Desk {
    let desk = Desk::new();
    rock(&desk);
    let plain = |name: &str, value: f32| desk.dataset(name, "n1=60 n2=80 d1=10 d2=10", &[value; 4800]);
    plain("vp0.rsf", 3050.0);
    plain("vs0.rsf", 1740.0);
    desk.ran(&format!("{} > observed.rsf", of("sfvsfd2d-gpu", 1, "tdc=y")));
    desk
}

/// The same values multiplied by the factor that minimises their difference from the other values.
fn scaled(numbers: &[f32], to: &[f32]) -> Vec<f32> {
    let dot = |a: &[f32], b: &[f32]| -> f64 { a.iter().zip(b).map(|(&a, &b)| f64::from(a * b)).sum() };
    let share = dot(numbers, to) / dot(numbers, numbers);
    numbers.iter().map(|&x| (f64::from(x) * share) as f32).collect()
}

/// `sfdottest` runs programs with exact time and options of every kind.
#[test]
fn operators_keep_their_adjoint() {
    for (ndim, extra) in [
        (2, "free=y data=pressure jdata=6"),
        (2, "dtout=0.0023 qp=60 qs=40 src=force fx=1e6 fz=2e6"),
        (3, "order=8 data=displacement"),
    ] {
        let desk = survey(ndim);
        let axes = desk.axes("vp.rsf", ndim);
        let header: String = (1..)
            .zip(&axes)
            .map(|(i, axis)| format!("n{i}={} d{i}=10 ", axis.n))
            .collect();
        let cells: usize = axes.iter().map(|axis| axis.n).product();
        let change: Vec<f32> = (0..3 * cells).map(|k| (k * 7919 % 100) as f32 - 20.0).collect();
        desk.dataset("dm.rsf", &format!("{header} n{}=3", ndim + 1), &change);
        let words = with(ndim, "sous.rsf", "recs.rsf", &format!("tdc=y {extra}"));
        // Runs in 3-D take half as many steps.
        let words = words.replace("nt=60", if ndim == 3 { "nt=30" } else { "nt=60" });
        let (_, words) = words.split_once(' ').unwrap();
        let born = format!("sfvsborn{ndim}d-gpu {words}");
        desk.ran(&format!("{born} < dm.rsf > data.rsf"));
        assert_eq!(
            desk.open("data.rsf").header().text("clock").as_deref(),
            Some("exact time (tdc=y)")
        );
        let run = desk.ran(&format!(
            "sfbasics dottest sfvsborn{ndim}d-gpu mod=dm.rsf dat=data.rsf seed=3 tol=1e-5 {words}"
        ));
        println!("{ndim}-D {extra}: {}", run.err);
        // The shots run side by side, and then one after the other.
        let back = |extra: &str| {
            desk.ran(&format!("{born} adj=y {extra} < data.rsf > back.rsf"));
            desk.read("back.rsf")
        };
        assert_eq!(back("groups=2"), back(""));
    }
}

/// The linearised program is the derivative of the modelling program with exact time: Born data agree with the central
/// difference of two models to second order.
#[test]
fn data_are_those_of_the_difference() {
    let desk = observed();
    let header = "n1=60 n2=80 d1=10 d2=10";
    let change: Vec<f32> = (0..4800).map(|k| (k * 7919 % 100) as f32 * 0.2).collect();
    for (name, sign) in [("more", 1.0f32), ("less", -1.0)] {
        let vp: Vec<f32> = change.iter().map(|x| 3050.0 + sign * x).collect();
        desk.dataset(&format!("{name}.rsf"), header, &vp);
    }
    let all: Vec<f32> = [change, vec![0.0; 9600]].concat();
    desk.dataset("dm.rsf", &format!("{header} n3=3"), &all);
    let of_model = |vp: &str| {
        let extra = format!("tdc=y jdata=4 data=displacement vp={vp} vs=vs0.rsf");
        desk.ran(&format!("{} > d.rsf", of("sfvsfd2d-gpu", 1, &extra)));
        desk.read("d.rsf")
    };
    let pairs = of_model("more.rsf").into_iter().zip(of_model("less.rsf"));
    let expected: Vec<f32> = pairs.map(|(a, b)| 0.5 * (a - b)).collect();
    let extra = "tdc=y jdata=4 data=displacement vp=vp0.rsf vs=vs0.rsf";
    desk.ran(&format!("{} < dm.rsf > d.rsf", of("sfvsborn2d-gpu", 1, extra)));
    let off = rms_difference(desk.read("d.rsf"), &expected);
    println!("off by {off:.1e}");
    // The error is of third order in changes of half a per cent, plus the rounding of the difference.
    assert!(off < 2e-3, "{off}");
}

/// A gradient near the stability limit agrees with the gradient of short steps, and with the slope of its misfit.
#[test]
fn gradients_of_long_steps_are_those_of_short_ones() {
    let desk = observed();
    let gradient = |shorter: usize, extra: &str| -> (Vec<f32>, f64) {
        let line = of("sfvsgrad2d-gpu", shorter, extra);
        let run = desk.ran(&format!("{line} < observed.rsf > g.rsf"));
        let (_, number) = run.err.rsplit_once("misfit ").unwrap();
        // The misfit of the true model is zero.
        (desk.read_as_it_is("g.rsf"), number.trim().parse().unwrap())
    };
    assert!(gradient(1, "tdc=y").1 < 1e-12 * gradient(1, "tdc=y vp=vp0.rsf vs=vs0.rsf").1);
    for kind in ["squares", "correlation"] {
        let at = |shorter: usize, extra: &str| {
            let (gradient, misfit) = gradient(shorter, &format!("vp=vp0.rsf vs=vs0.rsf kind={kind} {extra}"));
            (gradient, misfit)
        };
        let (short, expected) = at(4, "tdc=y");
        let (long, long_misfit) = at(1, "tdc=y");
        let (raw, early) = at(1, "");
        // This run has no exact time, but its steps are so short that the effect of exact time is negligible.
        let (plain, _) = at(12, "");
        let offs = [&long, &raw, &plain].map(|gradient| rms_difference(gradient, &short));
        // The measured errors are 3e-4 and 1.5e-5; without exact time 4 %.
        println!("{kind}: {offs:?}, misfits {long_misfit} {early} for {expected}");
        assert!(
            offs[0] < 1e-3 && offs[1] > 10.0 * offs[0] && offs[2] < 1e-3,
            "{kind}: {offs:?}"
        );
        assert!(
            (long_misfit - expected).abs() < 1e-3 * expected,
            "{kind}: {long_misfit} {expected}"
        );
    }
}

/// An image near the stability limit agrees with the image of short steps.
#[test]
fn images_of_long_steps_are_those_of_short_ones() {
    let desk = observed();
    for images in ["pp", "ps"] {
        let image = |shorter: usize, tdc: &str| {
            let extra = format!("vp=vp0.rsf vs=vs0.rsf image={images} norm=n {tdc}");
            let line = of("sfvsrtm2d-gpu", shorter, &extra);
            desk.ran(&format!("{line} < observed.rsf > i.rsf"));
            desk.read("i.rsf")
        };
        let short = image(4, "tdc=y");
        let off = |tdc: &str| rms_difference(scaled(&image(1, tdc), &short), &short);
        let [exact, raw] = ["tdc=y", "tdc=n"].map(off);
        println!("{images}: {raw:.1e} becomes {exact:.1e}");
        // The measured errors are 1.3e-3 and 1.1e-3, and 2.1e-2 and 2.3e-2 without tdc=y.
        assert!(exact < 3e-3 && raw > 10.0 * exact, "{images}: {raw} {exact}");
    }
}

/// The estimated time function is the true one, in true time, if the model is the true one.
#[test]
fn estimated_time_functions_are_in_true_time() {
    let desk = observed();
    // The second pulse is the same, but half as strong.
    let rate = |strength: f32, k: usize| {
        let t = (k as f32 + 0.5) * DT as f32 - 0.08;
        strength * -t * (-(t / 0.013).powi(2)).exp()
    };
    for (name, strength) in [("true.rsf", 1.0), ("half.rsf", 0.5)] {
        let samples: Vec<f32> = (0..STEPS).map(|k| rate(strength, k)).collect();
        desk.dataset(name, &format!("n1={STEPS} o1={:e} d1={DT:e}", 0.5 * DT), &samples);
    }
    let with = |program: &str, extra: &str| of(program, 1, extra).replace("stf=ricker freq=14 ", "");
    desk.ran(&format!(
        "{} > data.rsf",
        with("sfvsfd2d-gpu", "tdc=y series=true.rsf")
    ));
    let line = with(
        "sfvsgrad2d-gpu",
        "tdc=y series=half.rsf wavelet=estimate source=source.rsf damp=1e-6",
    );
    desk.ran(&format!("{line} < data.rsf > g.rsf"));
    let axis = desk.axes("source.rsf", 3)[0].clone();
    assert_eq!((axis.n, axis.o), (STEPS, 0.5 * DT as f32));
    let off = rms_difference(desk.read("source.rsf"), desk.read("true.rsf"));
    println!("off by {off:.1e}");
    // The measured error is 2e-5.
    assert!(off < 1e-4, "{off}");
}

/// Data with exact time are reported in a run without it, and a run does not continue from a state of a run with exact
/// time if it has none itself.
#[test]
fn clocks_are_distinguished() {
    let desk = model(2);
    let line = format!("{} device=cpu", line(2));
    desk.ran(&format!("{line} tdc=y > data.rsf"));
    let gradient = line.replacen("sfvsfd2d-gpu", "sfvsgrad2d-gpu", 1);
    let run = desk.ran(&format!("{gradient} < data.rsf > g.rsf"));
    assert!(
        run.err
            .contains("has exact time, but the waves of this run have the time of their steps"),
        "{run:?}"
    );
    let run = desk.ran(&format!("{gradient} tdc=y verb=y < data.rsf > g.rsf"));
    assert!(
        run.err.contains("exact time: the error of the time steps, ") && !run.err.contains("has exact time"),
        "{run:?}"
    );
    let run = desk.sh(&format!("{gradient} tdc=y tau=0.0004 < data.rsf > g.rsf"));
    assert!(
        run.code == 1 && run.err.contains("lies above 318.3099 Hz"),
        "{run:?}"
    );
    let desk = survey(2);
    let line = with(2, "sous.rsf", "recs.rsf", "");
    desk.ran(&format!("{line} tdc=y > data.rsf"));
    let gradient = line.replacen("sfvsfd2d-gpu", "sfvsgrad2d-gpu", 1);
    // The data are halved, so that the gradient is not zero.
    let half: Vec<f32> = desk.read("data.rsf").iter().map(|x| 0.5 * x).collect();
    let axes = desk.axes("data.rsf", 4).into_iter().zip(1..);
    let axes = axes.map(|(axis, k)| format!("n{k}={} o{k}={} d{k}={} ", axis.n, axis.o, axis.d));
    desk.dataset("half.rsf", &axes.collect::<String>(), &half);
    desk.ran(&format!("{gradient} tdc=y checkpoint=state < half.rsf > g.rsf"));
    let whole = desk.read("g.rsf");
    desk.ran(&format!("{gradient} tdc=y resume=state.1 < half.rsf > g.rsf"));
    assert_eq!(desk.read("g.rsf"), whole);
    let run = desk.sh(&format!("{gradient} resume=state < half.rsf > g.rsf"));
    assert!(run.code == 1 && run.err.contains("tdc"), "{run:?}");
}
