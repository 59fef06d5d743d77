//! sougrad= and stfgrad=: derivatives with respect to sources, compared with finite differences of the misfit that is
//! printed.

use crate::desk::Desk;
use crate::gradients::{RUN, desk, misfit};
use crate::largest::largest;

/// Writes the two sources of the first shot and their delays (s).
fn put(desk: &Desk, places: [f32; 4], delays: [f32; 2]) {
    desk.dataset("two.rsf", "n1=2 n2=2", &places);
    desk.dataset("late.rsf", "n1=2", &delays);
}

/// The derivative at zero by central differences of fourth order.
fn difference(step: f64, at: &dyn Fn(f64) -> f64) -> f64 {
    let [near, far] = [step, 2.0 * step].map(|step| (at(step) - at(-step)) / (2.0 * step));
    (4.0 * near - far) / 3.0
}

/// Checks the axes of the files.
fn check_axes(desk: &Desk) {
    let axes = desk.axes("sg.rsf", 3);
    assert_eq!(axes[0].label.as_deref(), Some("fz fx z x t"));
    assert_eq!([axes[0].n, axes[1].n, axes[2].n], [5, 2, 1]);
    let axes = desk.axes("tg.rsf", 3);
    assert_eq!([axes[0].n, axes[1].n], [420, 2]);
}

#[test]
fn derivatives_by_sources_are_differences_of_the_misfit() {
    let desk = desk();
    let (places, delays) = ([210.0, 60.0, 330.0, 240.0], [0.02, 0.05]);
    let forces = [1e9f32, 4e8];
    for words in ["", "tdc=y data=displacement"] {
        put(&desk, [240.0, 45.0, 300.0, 260.0], [0.02, 0.06]);
        let run = |forces: [f32; 2]| {
            RUN.replace("sou.rsf", "two.rsf")
                .replace("fz=1e9 fx=4e8", &format!("fz={} fx={}", forces[0], forces[1]))
                + " onset=late.rsf "
                + words
        };
        desk.ran(&format!("sfsem2d-gpu {} device=cpu > data.rsf", run([8e8, 6e8])));
        put(&desk, places, delays);
        let of = |places: [f32; 4], delays: [f32; 2], forces: [f32; 2]| {
            put(&desk, places, delays);
            misfit(
                &desk,
                &format!("data.rsf {} sougrad=sg.rsf stfgrad=tg.rsf", run(forces)),
            )
        };
        of(places, delays, forces);
        // fz fx z x t for each source.
        let gradient = desk.read("sg.rsf");
        check_axes(&desk);
        let mut apart = Vec::new();
        let mut judge = |what: &str, derivative: f64, truth: f64| {
            println!("{words} {what}: {derivative:e}, by differences {truth:e}");
            apart.push((derivative - truth) / truth);
        };
        for source in 0..2 {
            let own = &gradient[5 * source..][..5];
            for (k, name) in [(1, "z"), (0, "x")] {
                let at = |by: f64| {
                    let mut changed = places;
                    changed[2 * source + k] += by as f32;
                    of(changed, delays, forces)
                };
                judge(
                    &format!("{name} of {source}"),
                    f64::from(own[3 - k]),
                    difference(2.0, &at),
                );
            }
            let at = |by: f64| {
                let mut changed = delays;
                changed[source] += by as f32;
                of(places, changed, forces)
            };
            judge(
                &format!("t of {source}"),
                f64::from(own[4]),
                difference(1e-3, &at),
            );
        }
        // Both sources have these forces.
        for k in 0..2 {
            let at = |by: f64| {
                let mut changed = forces;
                changed[k] += by as f32;
                of(places, delays, changed)
            };
            let both = f64::from(gradient[k]) + f64::from(gradient[5 + k]);
            judge(
                &format!("force {k}"),
                both,
                difference(0.02 * f64::from(forces[k]), &at),
            );
        }
        let error = largest(apart);
        println!("{words}: within {error:.1e} of differences");
        assert!(error < 2e-3, "{error:e}");
    }
}

#[test]
fn the_samples_of_a_history_have_their_derivatives() {
    let desk = desk();
    let series: Vec<f32> = (0..420)
        .map(|k| (-((k as f32 - 90.0) / 22.0).powi(2)).exp())
        .collect();
    let run = RUN.replace("stf=ricker freq=7", "series=pulse.rsf") + " shots=1";
    let of = |change: Option<(usize, f32)>| {
        let mut changed = series.clone();
        if let Some((at, by)) = change {
            // The change is smooth, because the steps interpolate the time function.
            for (k, x) in changed.iter_mut().enumerate() {
                *x += by * (-((k as f32 - at as f32) / 15.0).powi(2)).exp();
            }
        }
        desk.dataset("pulse.rsf", "n1=420 d1=0.0015", &changed);
        misfit(&desk, &format!("data.rsf {run} stfgrad=tg.rsf"))
    };
    of(None);
    let gradient = desk.read("tg.rsf");
    let at = 100;
    let by: f64 = gradient
        .iter()
        .enumerate()
        .map(|(k, x)| f64::from(*x) * f64::from((-((k as f32 - at as f32) / 15.0).powi(2)).exp()))
        .sum();
    let [near, far] =
        [0.02, 0.04].map(|step| (of(Some((at, step))) - of(Some((at, -step)))) / f64::from(2.0 * step));
    let truth = (4.0 * near - far) / 3.0;
    println!("{by:e}, by differences {truth:e}");
    assert!(largest([(by - truth) / truth]) < 1e-3);
}
