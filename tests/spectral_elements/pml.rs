//! Perfectly matched layers have the reflections that their documentation gives, and motion in them does not grow.

use kernels::mesh::step::{Law, Medium};
use kernels::methods::spectral_elements::{Engine, Pml, Profile, Quantity, Source, Strength, Zone};

use crate::blocks::{Body, block};
use crate::cases::ricker;
use crate::shots::largest;

const ROCK: [f64; 3] = [2500.0, 3000.0, 1700.0];
/// Side of an element, m.
const H: f64 = 100.0;

fn rock() -> Filling {
    let [density, vp, vs] = ROCK;
    (vec![Medium::isotropic(density, vp, vs); 2], vec![[vp, vs]; 2])
}

/// The media of the two regions of a mesh, with P and S speeds.
type Filling = (Vec<Medium>, Vec<[f64; 2]>);

/// Records at some points of a strip 900 m wide, next to a layer of three elements, or next to so much of the medium
/// that no waves return.
fn strip(
    layer: bool,
    (media, speeds): Filling,
    strength: &Strength<2>,
    places: &[[f64; 2]],
) -> Vec<Vec<[f64; 2]>> {
    let before = if layer { 3 } else { 34 };
    let mesh = block::<2>(
        [9 + before, 34],
        |u| [H * (u[0] - before as f64), H * u[1]],
        |_| 0,
        |axis, high| axis == 1 || high,
    );
    let mut body = Body::new(mesh, media, speeds, 0.6);
    body.pml = layer.then_some(Pml {
        zones: [
            [
                Some(Zone {
                    begin: 0.0,
                    end: -3.0 * H,
                }),
                None,
            ],
            [None; 2],
        ],
        profile: Profile::Strong,
    });
    let source = Source {
        at: [2.1 * H, 3.1 * H],
        strength: strength.clone(),
        history: ricker(4.0, body.dt, 400),
    };
    let steps = (1.9 / body.dt) as usize;
    body.records(source, places, (Quantity::Displacement, steps))
}

/// The reflection of a wave that meets the layer at an angle, relative to the reflection of a mirror, which is the wave
/// at the mirror image of the receiver.
fn reflected(filling: &dyn Fn() -> Filling, strength: &Strength<2>, degrees: &[f64]) -> Vec<f64> {
    let place = |angle: &f64, side: f64| [side * 2.1 * H, 3.1 * H + 4.2 * H * angle.to_radians().tan()];
    let here: Vec<_> = degrees.iter().map(|angle| place(angle, 1.0)).collect();
    let both: Vec<_> = here
        .iter()
        .copied()
        .chain(degrees.iter().map(|angle| place(angle, -1.0)))
        .collect();
    let (damped, truth) = (
        strip(true, filling(), strength, &here),
        strip(false, filling(), strength, &both),
    );
    let norm = |u: &[f64; 2]| u[0].hypot(u[1]);
    let echo = |k: usize| {
        let apart = damped[k]
            .iter()
            .zip(&truth[k])
            .map(|(a, b)| norm(&[a[0] - b[0], a[1] - b[1]]));
        let mirrored = truth[degrees.len() + k].iter().map(norm);
        largest(apart) / largest(mirrored)
    };
    (0..degrees.len()).map(echo).collect()
}

#[test]
fn three_elements_send_back_about_a_thousandth_or_less() {
    let degrees = [0.0, 15.0, 30.0, 45.0, 60.0, 70.0, 80.0];
    let moment = 1e12;
    let explosion = Strength::Moment([[moment, 0.0], [0.0, moment]]);
    let couple = Strength::Moment([[0.0, moment], [moment, 0.0]]);
    let [across, along] = [[1e9, 0.0], [0.0, 1e9]].map(Strength::Force);
    let cases: [(&str, &dyn Fn() -> Filling, Strength<2>); 8] = [
        ("explosion in rock", &rock, explosion.clone()),
        ("double couple in rock", &rock, couple),
        ("force across, in rock", &rock, across.clone()),
        ("force along, in rock", &rock, along.clone()),
        ("explosion in a crystal", &layered_rock, explosion.clone()),
        ("force across, in a crystal", &layered_rock, across),
        ("force along, in a crystal", &layered_rock, along),
        ("explosion in a fluid", &fluid, explosion),
    ];
    for (what, filling, strength) in cases {
        let reflections = reflected(filling, &strength, &degrees);
        let shown: Vec<String> = reflections.iter().map(|x| format!("{x:.1e}")).collect();
        println!("{what}: {}", shown.join(" "));
        for (angle, reflection) in degrees.iter().zip(&reflections) {
            // P waves of the crystal are a fifth faster along the strip, so the damping is weaker for its S waves
            // there.
            let most = if what.ends_with("crystal") { 1.5e-3 } else { 1e-3 };
            assert!(*reflection < most, "{what} at {angle} degrees: {reflection:e}");
        }
    }
}

/// The largest motion of a body during a push in its middle, and in each of several spans of steps after it.
fn motion<const D: usize>(
    body: &Body<D>,
    middle: [f64; D],
    (spans, steps): (usize, usize),
) -> (f64, Vec<f64>) {
    let source = Source {
        at: middle,
        strength: Strength::Force(std::array::from_fn(|c| 1e9 * (1.0 + c as f64))),
        history: ricker(4.0, body.dt, 400),
    };
    let sources = [source];
    let mut engine = body.engine(&sources);
    let moves =
        |engine: &Engine<D>| largest(engine.displacement().as_flattened().iter().map(|u| f64::from(*u)));
    let (mut early, mut all) = (Vec::new(), Vec::new());
    for span in 0..spans {
        for step in 0..steps {
            engine.step();
            if span == 0 && step < 200 {
                early.push(moves(&engine));
            }
        }
        all.push(moves(&engine));
    }
    (largest(early), all)
}

/// Layers of two elements on all sides but the top of a small mesh of rock, or on all sides.
fn layers<const D: usize>(length: [f64; D], top: bool) -> Pml<D> {
    let zone = |begin: f64, end: f64| Some(Zone { begin, end });
    let zones = std::array::from_fn(|axis| {
        let low = zone(2.0 * H, 0.0).filter(|_| top || axis < D - 1);
        [low, zone(length[axis] - 2.0 * H, length[axis])]
    });
    Pml {
        zones,
        profile: Profile::Strong,
    }
}

fn body<const D: usize>(counts: [usize; D], (media, speeds): Filling, top: bool) -> Body<D> {
    let mesh = block::<D>(
        counts,
        |u| u.map(|x| H * x),
        |at| i32::from(at[D - 1] >= counts[D - 1] / 2),
        |_, _| false,
    );
    let mut body = Body::new(mesh, media, speeds, 1.0);
    body.pml = Some(layers(counts.map(|n| n as f64 * H), top));
    body.dt = body.setup(&[]).bound().limit;
    body
}

/// A crystal with a vertical axis (Thomsen's epsilon 0.2, delta 0.1, gamma 0.15).
fn layered_rock() -> Filling {
    let [density, vp, vs] = ROCK;
    let (c33, c44) = (density * vp * vp, density * vs * vs);
    let (c11, c66) = (c33 * 1.4, c44 * 1.3);
    let c13 = (2.0 * 0.1 * c33 * (c33 - c44) + (c33 - c44).powi(2)).sqrt() - c44;
    let mut c = [[0.0; 6]; 6];
    for (i, value) in [c11, c11, c33, c44, c44, c66].into_iter().enumerate() {
        c[i][i] = value;
    }
    (c[0][1], c[1][0]) = (c11 - 2.0 * c66, c11 - 2.0 * c66);
    for i in 0..2 {
        (c[i][2], c[2][i]) = (c13, c13);
    }
    let medium = Medium {
        density,
        law: Law::Anisotropic(Box::new(c)),
    };
    (vec![medium; 2], vec![[vp * 1.2, vs]; 2])
}

/// A fluid as slow as the S waves of the rock.
fn fluid() -> Filling {
    let modulus = 1000.0 * ROCK[2] * ROCK[2];
    let medium = Medium {
        density: 1000.0,
        law: Law::Fluid(modulus),
    };
    (vec![medium; 2], vec![[ROCK[2], 0.0]; 2])
}

/// Water over rock.
fn sea() -> Filling {
    let [density, vp, vs] = ROCK;
    let water = Medium {
        density: 1000.0,
        law: Law::Fluid(1000.0 * 1500.0 * 1500.0),
    };
    (
        vec![water, Medium::isotropic(density, vp, vs)],
        vec![[1500.0, 0.0], [vp, vs]],
    )
}

/// After the wave has passed, the motion does not grow in any medium of the layers: the largest motions in five spans
/// of steps are compared.
fn rests<const D: usize>(what: &str, body: &Body<D>, middle: [f64; D], steps: usize) {
    let (peak, motions) = motion(body, middle, (5, steps / 5));
    let shown: Vec<String> = motions.iter().map(|x| format!("{:.1e}", x / peak)).collect();
    println!("{what}, over the largest motion: {}", shown.join(" "));
    assert!(motions.iter().all(|x| *x <= motions[0]), "{what}: {motions:?}");
    assert!(motions[4] < 1e-3 * peak, "{what}: {motions:?} of {peak}");
}

/// The inside of a layer moves, but its outer end does not.
#[test]
fn layers_end_at_rest() {
    let body = body([9, 8], rock(), false);
    let source = Source {
        at: [420.0, 330.0],
        strength: Strength::Force([1e9, 2e9]),
        history: ricker(4.0, body.dt, 400),
    };
    let places = [[0.0, 430.0], [900.0, 150.0], [450.0, 800.0], [150.0, 430.0]];
    let records = body.records(source, &places, (Quantity::Displacement, 250));
    let moves = |k: usize| largest(records[k].as_flattened());
    let ends = largest([moves(0), moves(1), moves(2)]);
    println!("{ends:e} at the ends, {:e} in a layer", moves(3));
    // Points are located to within rounding errors.
    assert!(ends < 1e-9 * moves(3), "{ends:e}");
}

fn every_kind(steps: [usize; 2]) {
    rests(
        "rock, 2-D, free top",
        &body([9, 8], rock(), false),
        [420.0, 330.0],
        steps[0],
    );
    rests("rock, 2-D", &body([9, 9], rock(), true), [420.0, 430.0], steps[0]);
    rests(
        "crystal, 2-D",
        &body([9, 8], layered_rock(), false),
        [420.0, 330.0],
        steps[0],
    );
    rests("sea, 2-D", &body([9, 8], sea(), false), [420.0, 530.0], steps[0]);
    rests(
        "rock, 3-D",
        &body([5, 5, 5], rock(), true),
        [220.0, 230.0, 240.0],
        steps[1],
    );
    rests(
        "crystal, 3-D",
        &body([5, 5, 4], layered_rock(), false),
        [220.0, 230.0, 140.0],
        steps[1],
    );
    rests(
        "sea, 3-D",
        &body([5, 5, 6], sea(), false),
        [220.0, 230.0, 340.0],
        steps[1],
    );
}

#[test]
fn motion_in_layers_does_not_grow() {
    every_kind([6000, 1500]);
}

/// In 3-D, 100,000 steps were run as well: after 20,000 of them at most 1e-9 of the largest motion is left, and later
/// less.
#[test]
#[ignore = "long: ./sconsw test full=y"]
fn motion_in_layers_does_not_grow_in_long_runs() {
    every_kind([100_000, 20_000]);
}
