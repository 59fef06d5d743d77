//! Several quantities of one run, and records at times other than the time steps.

use crate::desk::Desk;
use crate::shots::{largest_difference, magnitude};
use crate::velocity_stress::{desk as model, line};

const ALL: [&str; 6] = [
    "velocity",
    "displacement",
    "acceleration",
    "pressure",
    "strain",
    "rotation",
];

fn bits(desk: &Desk, file: &str) -> Vec<u32> {
    desk.read(file).iter().map(|x| x.to_bits()).collect()
}

/// Files for all quantities except the data's.
fn others(data: &str) -> String {
    let all = ALL.iter().filter(|word| **word != data);
    all.map(|word| format!("{word}={word}.rsf ")).collect()
}

/// Every quantity has the same values and axes as in a separate run.
#[test]
fn each_has_the_bits_of_a_run_of_its_own() {
    for (ndim, data, extra) in [
        (2, "velocity", "free=y jdata=3"),
        (2, "pressure", "ngpu=2 qp=50 qs=40"),
        (3, "strain", "jdata=2 ngpu=2"),
        (2, "acceleration", "jdata=2 shots"),
    ] {
        let desk = model(ndim);
        let mut words = format!("{} device=cpu {extra}", line(ndim));
        let rank = if extra.ends_with("shots") { 4 } else { 3 };
        if rank == 4 {
            desk.dataset("sous.rsf", "n1=2 n2=1 n3=2", &[100.0, 80.0, 130.0, 90.0]);
            words = words.replace("sou=sou.rsf", "sou=sous.rsf").replace(" shots", "");
        }
        desk.ran(&format!("{words} data={data} {} > {data}.rsf", others(data)));
        for word in ALL {
            desk.ran(&format!("{words} data={word} > one.rsf"));
            let own = format!("{word}.rsf");
            assert!(bits(&desk, "one.rsf").iter().any(|&x| x != 0));
            assert!(
                bits(&desk, &own) == bits(&desk, "one.rsf"),
                "{ndim}-D {extra}: {word}"
            );
            assert_eq!(desk.axes(&own, rank), desk.axes("one.rsf", rank), "{word}");
            let text = |file: &str, key: &str| desk.open(file).header().text(key).map(|t| t.to_string());
            for key in ["quantity", "label", "unit", "convention"] {
                assert_eq!(text(&own, key), text("one.rsf", key), "{word}");
            }
        }
    }
}

/// Snapshots are the same as with data= set to their quantity.
#[test]
fn snapshots_are_those_of_the_data() {
    let desk = model(2);
    let of = |words: &str| {
        desk.ran(&format!(
            "{} device=cpu data=pressure snap=y jsnap=20 {words} > data.rsf",
            line(2)
        ));
    };
    of("wfl=one.rsf");
    of("wfl=two.rsf velocity=v.rsf");
    assert_eq!(desk.axes("one.rsf", 4), desk.axes("two.rsf", 4));
    assert!(bits(&desk, "one.rsf") == bits(&desk, "two.rsf"));
}

/// Resampled records agree with the records of the steps at the same times.
#[test]
fn resampled_records_have_the_same_times() {
    let desk = model(2);
    let line = line(2).replace("nt=60", "nt=300");
    desk.ran(&format!("{line} device=cpu data=pressure velocity=v.rsf > p.rsf"));
    desk.ran(&format!(
        "{line} device=cpu data=pressure velocity=v2.rsf dtout=0.002 > p2.rsf"
    ));
    for file in ["p2.rsf", "v2.rsf"] {
        let time = &desk.axes(file, 3)[2];
        assert_eq!((time.n, time.o, time.d), (151, 0.0, 0.002), "{file}");
    }
    let samples = |n: usize| (1..130usize).flat_map(move |k| (0..n).map(move |r| (k, r)));
    let (fine, coarse) = (desk.read("p.rsf"), desk.read("p2.rsf"));
    let most = f64::from(magnitude(&fine));
    // Pressure is known at the ends of the steps; the last samples are inaccurate because the following records are
    // unknown.
    let resampled = samples(3).map(|(k, r)| coarse[3 * k + r]);
    let off = largest_difference(resampled, samples(3).map(|(k, r)| fine[3 * (2 * k - 1) + r])) / most;
    println!("pressure: {off:.1e}");
    assert!(off < 1e-3, "{off}");
    // Velocity is known half a step later: the mean of two records is accurate to second order.
    let (fine, coarse) = (desk.read("v.rsf"), desk.read("v2.rsf"));
    let most = f64::from(magnitude(&fine));
    let mean = |(k, r)| 0.5 * (f64::from(fine[6 * (2 * k - 1) + r]) + f64::from(fine[12 * k + r]));
    let resampled = samples(6).map(|(k, r)| coarse[6 * k + r]);
    let off = largest_difference(resampled, samples(6).map(mean)) / most;
    println!("velocity: {off:.1e}");
    assert!(off < 0.02, "{off}");
}

/// Half the distance over which displacements are differentiated, m.
const NEAR: f64 = 0.5;
/// Number of steps of a run.
const STEPS: usize = 120;
/// Length of the gauges, m.
const GAUGE: f64 = 30.0;

/// For each of the receivers of the usual desk (x[, y], z), one after the other: both ends of a gauge, and points on
/// either side along z, x[, y].
fn around(desk: &Desk, ndim: usize, unit: &[f64]) -> Vec<f32> {
    let moved = |p: &[f32], by: &dyn Fn(usize) -> f64| -> Vec<f32> {
        let places = p.iter().enumerate();
        places.map(|(a, &x)| (f64::from(x) + by(a)) as f32).collect()
    };
    let mut all = Vec::new();
    for p in desk.read("rec.rsf").chunks(ndim) {
        for half in [-0.5 * GAUGE, 0.5 * GAUGE] {
            all.extend(moved(p, &|a| half * unit[a]));
        }
        for axis in (0..ndim).map(|a| (a + ndim - 1) % ndim) {
            for step in [-NEAR, NEAR] {
                all.extend(moved(p, &|a| if a == axis { step } else { 0.0 }));
            }
        }
    }
    all
}

/// The largest difference of two records relative to the largest value.
fn apart(one: &[f32], other: impl Iterator<Item = f64>) -> f64 {
    largest_difference(one, other) / f64::from(magnitude(one))
}

/// The components of strains and rotations as pairs of a component of displacement and an axis: a strain is half the
/// sum of the derivatives with both exchanged, a rotation half of their difference (about z, of d u_y / d x and d u_x /
/// d y, and cyclically).
fn pairs(ndim: usize) -> [&'static [[usize; 2]]; 2] {
    match ndim {
        2 => [&[[0, 0], [1, 1], [0, 1]], &[[1, 0]]],
        _ => [
            &[[0, 0], [1, 1], [2, 2], [0, 1], [0, 2], [1, 2]],
            &[[2, 1], [0, 2], [1, 0]],
        ],
    }
}

/// The values of the first and the last receiver. The second receiver is a cell and a half from the source, where
/// derivatives differ between the two sides of a point.
fn outer(data: &[f32]) -> Vec<f32> {
    data.chunks(3).flat_map(|part| [part[0], part[2]]).collect()
}

/// Strain along a fibre is computed from the strain tensor, or the difference of the displacements at the ends of a
/// gauge; strains and rotations are differences of displacements at neighbouring points.
#[test]
fn fibres_and_rotations_are_differences_of_displacements() {
    for (ndim, along) in [(2, &[0.6, 0.8][..]), (3, &[2.0 / 3.0, -1.0 / 3.0, 2.0 / 3.0])] {
        let desk = model(ndim);
        let direction: Vec<f32> = along.iter().map(|&x| 3.0 * x as f32).collect();
        desk.dataset("along.rsf", &format!("n1={ndim} n2=1"), &direction);
        // S waves have a dozen cells per wavelength; a force rotates the rock on its sides.
        let line = line(ndim)
            .replace("nt=60", &format!("nt={STEPS} device=cpu"))
            .replace("tau=0.008 m0=1e12", "tau=0.016 src=force fx=1e9 fz=-7e8");
        let fibre = format!("along=along.rsf gauge={GAUGE}");
        let run = desk.ran(&format!(
            "{line} data=das {fibre} rotation=turn.rsf velocity=v.rsf > das.rsf"
        ));
        assert!(
            !run.err.contains("first line"),
            "there is only one direction: {run:?}"
        );
        desk.ran(&format!("{line} data=velocity > v1.rsf"));
        assert!(bits(&desk, "v.rsf") == bits(&desk, "v1.rsf"), "{ndim}-D");
        desk.ran(&format!(
            "{line} data=strain das=place.rsf along=along.rsf > strain.rsf"
        ));
        desk.ran(&format!("{line} data=das {fibre} ngpu=3 > cut.rsf"));
        assert!(bits(&desk, "das.rsf") == bits(&desk, "cut.rsf"), "{ndim}-D");
        let axes = desk.axes("das.rsf", 3);
        assert_eq!((axes[0].n, axes[1].n, axes[2].n), (3, 1, STEPS));
        let (of, places) = (2 + 2 * ndim, around(&desk, ndim, along));
        desk.dataset("many.rsf", &format!("n1={ndim} n2={}", 3 * of), &places);
        let many = line.replace("rec=rec.rsf", "rec=many.rsf");
        desk.ran(&format!("{many} data=displacement > u.rsf"));
        let u = desk.read("u.rsf");
        let u = |it: usize, c: usize, k: usize| f64::from(u[(it * ndim + c) * 3 * of + k]);
        let records = || (0..STEPS).flat_map(|it| (0..3).map(move |k| (it, k)));
        // The order of components is z, x, y, and the order of directions is x[, y], z.
        let unit: Vec<f64> = (0..ndim).map(|c| along[(c + ndim - 1) % ndim]).collect();
        let gauges = records().map(|(it, k)| {
            let ends = |c: usize| u(it, c, k * of + 1) - u(it, c, k * of);
            (0..ndim).map(|c| unit[c] * ends(c)).sum::<f64>() / GAUGE
        });
        let slope = |it: usize, k: usize, c: usize, axis: usize| {
            let beside = |side: usize| u(it, c, k * of + 2 + 2 * axis + side);
            (beside(1) - beside(0)) / (2.0 * NEAR)
        };
        let [tensor, turns] = pairs(ndim);
        let of_all = |pairs: &'static [[usize; 2]], sign: f64| {
            let all =
                (0..STEPS).flat_map(move |it| pairs.iter().flat_map(move |p| [0, 2].map(|k| (it, *p, k))));
            all.map(move |(it, [a, b], k)| (it, a, b, k, sign))
        };
        let half = |(it, a, b, k, sign): (usize, usize, usize, usize, f64)| {
            0.5 * (slope(it, k, a, b) + sign * slope(it, k, b, a))
        };
        let strain = desk.read("strain.rsf");
        let whole = |it: usize, c: usize, k: usize| f64::from(strain[(it * tensor.len() + c) * 3 + k]);
        let seen = records().map(|(it, k)| {
            let term = |(c, [a, b]): (usize, &[usize; 2])| {
                let twice = if a == b { 1.0 } else { 2.0 };
                twice * unit[*a] * unit[*b] * whole(it, c, k)
            };
            tensor.iter().enumerate().map(term).sum::<f64>()
        });
        let errors = [
            apart(&desk.read("das.rsf"), gauges),
            apart(&desk.read("place.rsf"), seen),
            apart(&outer(&strain), of_all(tensor, 1.0).map(half)),
            apart(&outer(&desk.read("turn.rsf")), of_all(turns, -1.0).map(half)),
        ];
        println!("{ndim}-D: gauges, places, strains, rotations: {errors:?}");
        // The errors are the rounding of sums in single precision, and the kink of interpolated fields at a node.
        assert!(errors[0] < 1e-5 && errors[1] < 1e-5, "{errors:?}");
        assert!(errors[2] < 2e-3 && errors[3] < 2e-3, "{errors:?}");
    }
}

#[test]
fn what_does_not_go_together_is_refused() {
    let desk = model(2);
    desk.dataset("along.rsf", "n1=2 n2=1", &[0.0, -1.0]);
    desk.dataset("two.rsf", "n1=2 n2=2", &[0.0, -1.0, 1.0, 0.0]);
    desk.dataset("zero.rsf", "n1=2 n2=3", &[0.0, -1.0, 0.0, 0.0, 1.0, 0.0]);
    for (extra, expected) in [
        (
            "data=velocity,pressure",
            "each further one goes into a file that a parameter of its name gives: data=velocity pressure=pressure.rsf",
        ),
        ("data=speed", "receivers record velocity, displacement"),
        ("data=das", "data=das needs along=, the direction of the fibre"),
        ("data=das", "(sfpoints x=0 z=1 > along.rsf is straight down)"),
        (
            "data=das along=two.rsf",
            "has 2 directions for 3 receivers: give one direction for all or one for each",
        ),
        (
            "data=das along=zero.rsf",
            "direction 2 is zero; give a vector along the fibre",
        ),
        (
            "data=pressure das=d.rsf along=along.rsf gauge=900",
            "an end of the gauge of receiver 1 at ",
        ),
        (
            "velocity=v.rsf",
            "velocity= names a file for the quantity on standard output",
        ),
        ("dtout=0.002 jdata=2", "both select the records that are written"),
        ("dtout=5", "not above the 0.06 s of the run"),
    ] {
        let run = desk.sh(&format!("{} device=cpu {extra} > data.rsf", line(2)));
        let sentences: Vec<&str> = run.err.lines().filter(|l| !l.contains(": warning: ")).collect();
        assert!(run.code == 1 && sentences.len() == 1, "{extra}: {run:?}");
        assert!(sentences[0].contains(expected), "{extra}: {run:?}");
    }
    // The warning says that frequencies are filtered away, and which part would remain.
    let run = desk.sh(&format!("{} device=cpu dtout=0.03 > data.rsf", line(2)));
    let expected = "dtout=0.03 keeps frequencies below 16.6667 Hz, 1/(2 dtout), but the sources extend to 60";
    assert!(run.code == 0 && run.err.contains(expected), "{run:?}");
}

/// The memory for records in a state is reported for all quantities together: 4 bytes per number, for each quantity
/// 1500000 steps, three receivers and two components.
#[test]
fn states_hold_the_records_of_all_quantities() {
    let desk = model(2);
    let line = line(2).replace("nt=60", "nt=1500000");
    let plan = |words: &str| {
        desk.sh(&format!(
            "{line} device=cpu tdc=y checkpoint=state plan=y {words}"
        ))
    };
    let one = plan("data=velocity");
    assert!(one.code == 0, "{one:?}");
    let both = plan("data=velocity displacement=u.rsf");
    let expected = "saves sums and records of further quantities, of dtout= and of tdc=y with the state: 72.0 MB here, and at most 64 MB";
    assert!(both.code == 1 && both.err.contains(expected), "{both:?}");
}

/// There is a warning if `dtout=` removes frequencies of the sources; the interval that it gives removes nothing.
#[test]
fn frequencies_that_are_filtered_away_are_warned_of() {
    let desk = model(2);
    let expected = "amplitudes above that are removed; dtout=";
    let born = "sfvsborn2d-gpu adj=n";
    desk.ran("sfbasics cat axis=3 vp.rsf vs.rsf den.rsf | sfbasics math output='0.01*input' > dm.rsf");
    for (program, input) in [("sfvsfd2d-gpu", ""), (born, "< dm.rsf")] {
        let line = line(2).replace("sfvsfd2d-gpu", program);
        let run = desk.sh(&format!("{line} device=cpu dtout=0.015 {input} > data.rsf"));
        assert!(run.code == 0 && run.err.contains(expected), "{run:?}");
        let (_, rest) = run.err.split_once(expected).unwrap();
        let (step, _) = rest.split_once(" keeps all frequencies").unwrap();
        let run = desk.sh(&format!("{line} device=cpu dtout={step} {input} > data.rsf"));
        assert!(run.code == 0 && !run.err.contains("dtout="), "{run:?}");
    }
}
