//! Images show reflectors at their positions, a flat reflector and a dipping one, to half a cell; they are positive if
//! the impedance increases with depth.

use crate::desk::{frame, isotropic, layer, shot};
use crate::shots::{magnitude, medium, records};
use kernels::device::cpu::Cpu;
use kernels::grid::Grid;
use kernels::medium::{Stiffness, Symmetry};
use kernels::methods::velocity_stress::born::{Born, CheckpointSchedule, ImageRequest, Kind, Parameters};
use kernels::methods::velocity_stress::{Quantity, Shot};
use kernels::source::{Action, Source};
use std::ops::Range;

/// Nodes along z and x.
const N: [usize; 2] = [90, 140];

/// P-wave speed above the reflector.
const SPEED: f64 = 2.0;

/// A shot at this x, with a wavelet that is symmetric in time.
fn shot_at(x: f32, quantity: Quantity) -> Shot {
    let (dt, nt) = (0.2, 560);
    let mut s = shot(dt, nt, frame(12, layer(SPEED * 1.15, 0.1)));
    s.quantity = quantity;
    s.sources = vec![Source {
        point: [4.0, x, 0.0],
        action: Action::explosion(1.0),
        series: 0,
    }];
    let ricker = |it: usize| {
        let a = (std::f64::consts::PI * 0.1 * ((it as f64 + 0.5) * dt - 14.0)).powi(2);
        ((1.0 - 2.0 * a) * (-a).exp()) as f32
    };
    s.series = vec![(0..nt).map(ricker).collect()];
    s.receivers = (0..N[1]).step_by(2).map(|k| [4.0, k as f32, 0.0]).collect();
    s
}

/// The depth of the reflector in cells at this x.
type Depth = fn(f64) -> f64;

fn cell(at: [f64; 3], depth: Option<Depth>) -> (Stiffness, f64) {
    match depth.is_some_and(|depth| at[0] > depth(at[1])) {
        true => isotropic(SPEED * 1.1, SPEED * 1.1 / 1.7, 2.1),
        false => isotropic(SPEED, SPEED / 1.7, 2.0),
    }
}

/// The operators of the medium with a reflector and without it.
fn media(depth: Depth, quantity: Quantity, slower: f64) -> [Born<f32>; 2] {
    let grid = Grid::new_2d(N, [0.0; 2], [1.0; 2]);
    let first = shot_at(0.0, quantity);
    let padded = first.frame.around(&grid);
    [Some(depth), None].map(|depth| {
        let raw = medium::<f32>(&padded, |at| match depth {
            Some(_) => cell(at, depth),
            None => isotropic(slower * SPEED, slower * SPEED / 1.7, 2.0),
        });
        let cpu = Cpu::new(1).expect("threads start");
        Born::new(&first, raw, (Symmetry::Isotropic, Parameters::Speeds), cpu).expect("a valid shot")
    })
}

/// The waves of a shot that a reflector reflects.
fn reflections([rock, smooth]: &mut [Born<f32>; 2], shot: &Shot) -> Vec<f32> {
    let records = |born: &mut Born<f32>| {
        born.next_shot(shot).expect("points in the grid");
        let mut all = Vec::new();
        let mut take = |_: usize, record: &[f32], _: &[f32]| {
            all.extend_from_slice(record);
            Ok(())
        };
        born.forward(None, &mut take).expect("it runs");
        all
    };
    let both = records(rock).into_iter().zip(records(smooth));
    both.map(|(a, b)| a - b).collect()
}

fn add(sum: &mut Vec<f64>, values: &[f32]) {
    sum.resize(values.len(), 0.0);
    sum.iter_mut()
        .zip(values)
        .for_each(|(sum, x)| *sum += f64::from(*x));
}

/// The stacked image of some shots over a reflector, `[x][z]`, divided by its illumination.
fn image(depth: Depth, quantity: Quantity) -> Vec<f64> {
    let mut both = media(depth, quantity, 1.0);
    let schedule = CheckpointSchedule::choose(
        shot_at(0.0, quantity).nt,
        both[1].sizes_of_images(&ImageRequest::plain()),
        400_000_000,
    )
    .expect("it fits");
    let (mut sum, mut light) = (Vec::new(), Vec::new());
    for x in [20.0, 45.0, 70.0, 95.0, 120.0] {
        let shot = shot_at(x, quantity);
        let data = reflections(&mut both, &shot);
        let pictures = both[1]
            .images(&data, &schedule, &ImageRequest::plain())
            .expect("an image");
        add(&mut sum, &pictures[0].image);
        add(&mut light, &pictures[0].light);
    }
    sum.iter()
        .zip(&light)
        .map(|(image, light)| image / light)
        .collect()
}

/// Images of a shot, each `[lag][x][z]`.
fn pictures(both: &mut [Born<f32>; 2], shot: &Shot, request: &ImageRequest) -> Vec<Vec<f64>> {
    let data = reflections(both, shot);
    let sizes = both[1].sizes_of_images(request);
    let schedule = CheckpointSchedule::choose(shot.nt, sizes, 400_000_000).expect("it fits");
    let pictures = both[1].images(&data, &schedule, request).expect("images");
    pictures
        .into_iter()
        .map(|picture| picture.image.into_iter().map(f64::from).collect())
        .collect()
}

/// The position between the nodes of the largest absolute value of a trace, by a parabola, and the value.
fn peak(trace: &[f64]) -> (f64, f64) {
    peak_in(trace, 20..trace.len() - 4)
}

fn peak_in(trace: &[f64], cells: Range<usize>) -> (f64, f64) {
    let trace = records(trace);
    let at = cells
        .max_by(|&a, &b| trace[a].abs().total_cmp(&trace[b].abs()))
        .expect("a trace");
    let [before, here, behind] = [trace[at - 1], trace[at], trace[at + 1]];
    let off = 0.5 * (before - behind) / (before - 2.0 * here + behind);
    (at as f64 + off, here)
}

#[test]
fn reflectors_are_where_they_are() {
    // The value at a node fills the cell around it: the flat interface lies between nodes 50 and 51.
    let flat: Depth = |_| 50.5;
    let dipping: Depth = |x| 40.0 + 0.2 * x;
    for (name, depth, quantity) in [
        ("flat", flat, Quantity::Velocity),
        ("flat", flat, Quantity::Pressure),
        ("dipping", dipping, Quantity::Velocity),
    ] {
        let image = image(depth, quantity);
        for x in [50, 60, 70, 80, 90] {
            let (place, sign) = peak(&image[x * N[0]..][..N[0]]);
            let expected = depth(x as f64);
            assert!(sign > 0.0, "impedance grows: {name} {quantity:?} x={x}");
            println!("{name} {quantity:?} x={x}: {place:.2} for {expected:.2}, {sign:.2e}");
            assert!(
                (place - expected).abs() <= 0.5,
                "{name} {quantity:?} x={x}: {place} for {expected}"
            );
        }
    }
}

/// Images of PS waves and of the energy lie on the reflector; images of PS have the same sign on both sides of the
/// source, although the rotation of S waves changes its sign there.
#[test]
fn converted_waves_have_one_polarity() {
    for (name, depth) in [("flat", (|_| 50.5) as Depth), ("dipping", |x| 38.0 + 0.18 * x)] {
        let mut both = media(depth, Quantity::Velocity, 1.0);
        let request = ImageRequest {
            kinds: vec![Kind::Pp, Kind::Ps, Kind::Energy],
            lags: vec![[0; 3]],
        };
        let images = pictures(&mut both, &shot_at(70.0, Quantity::Velocity), &request);
        for (kind, image) in request.kinds.iter().zip(&images) {
            // Near vertical incidence below the source no waves are converted.
            let at: &[usize] = match kind {
                Kind::Ps => &[45, 50, 55, 85, 90],
                _ => &[60, 65, 70, 75, 80],
            };
            for &x in at {
                let expected = depth(x as f64);
                // Back-propagated velocities make waves of both kinds, and waves of the wrong kind give an image
                // elsewhere.
                let near = expected as usize - 6..expected as usize + 8;
                let (place, sign) = peak_in(&image[x * N[0]..][..N[0]], near);
                println!("{name} {kind:?} x={x}: {place:.2} for {expected:.2}, {sign:.2e}");
                assert!(
                    (place - expected).abs() <= 0.5,
                    "{name} {kind:?} x={x}: {place} for {expected}"
                );
                assert!(sign > 0.0, "{name} {kind:?} x={x}: {sign}");
            }
        }
    }
}

/// A source that rotates the rock around it: four forces without divergence, which make only S waves.
fn torque_at(x: f32) -> Shot {
    let mut shot = shot_at(x, Quantity::Velocity);
    let force = |dz: f32, dx: f32| Source {
        point: [6.0 + dz, x + dx, 0.0],
        action: Action::Force([f64::from(dz), 0.0, -f64::from(dx)]),
        series: 0,
    };
    shot.sources = vec![
        force(-1.0, 0.0),
        force(1.0, 0.0),
        force(0.0, -1.0),
        force(0.0, 1.0),
    ];
    shot
}

/// The position between the nodes of the largest positive value near a depth. Half a wavelength of the image, three
/// cells, away from the reflector the image has the opposite sign.
fn crest(trace: &[f64], depth: f64) -> f64 {
    let trace = records(trace);
    let at = (depth as usize - 3..=depth as usize + 4)
        .max_by(|&a, &b| trace[a].total_cmp(&trace[b]))
        .expect("a trace");
    let [before, here, behind] = [trace[at - 1], trace[at], trace[at + 1]];
    assert!(
        here > 0.0 && before <= here && behind <= here,
        "a crest near {depth}"
    );
    at as f64 + 0.5 * (before - behind) / (before - 2.0 * here + behind)
}

/// Images of SS and, stacked over several shots, of SP lie on a reflector; both have the same sign on both sides of a
/// source. The SS reflection coefficient keeps its sign only near normal incidence: here, `(dvs/vs + drho/rho) / 2` is
/// outweighed beyond 24 degrees by `sin^2` of the angle times `7/2 dvs/vs + 2 drho/rho` (Aki and Richards 2002, eq.
/// 5.40). At normal incidence nothing is converted, and the SP image of the few cells around consists of
/// contributions of other cells that are smeared over a wavelength.
fn s_waves_lie_on(name: &str, depth: Depth, steep: &[usize]) {
    let mut both = media(depth, Quantity::Velocity, 1.0);
    let request = ImageRequest {
        kinds: vec![Kind::Sp, Kind::Ss],
        lags: vec![[0; 3]],
    };
    let mut sum = vec![0.0; N[0] * N[1]];
    let off = |trace: &[f64], x: usize| {
        let expected = depth(x as f64);
        let place = crest(trace, expected);
        println!("{name} x={x}: {place:.2} for {expected:.2}");
        (place - expected).abs()
    };
    for x in [28.0, 42.0, 56.0, 70.0, 84.0, 98.0, 112.0] {
        let images = pictures(&mut both, &torque_at(x), &request);
        sum.iter_mut().zip(&images[0]).for_each(|(sum, x)| *sum += x);
        if x != 70.0 {
            continue;
        }
        for &x in steep {
            let trace = &images[1][x * N[0]..][..N[0]];
            assert!(off(trace, x) <= 0.5, "{name} SS x={x}");
        }
        for x in [50, 55, 60, 80, 85, 90] {
            let at = x * N[0] + depth(x as f64).round() as usize;
            let on: f64 = images[0][at - 1..=at + 1].iter().sum();
            assert!(on > 0.0, "{name} SP x={x}: {on}");
        }
    }
    for x in (50..=90).step_by(5) {
        let trace = &sum[x * N[0]..][..N[0]];
        assert!(off(trace, x) <= 0.5, "{name} SP x={x}");
    }
}

#[test]
fn s_waves_of_the_source_lie_on_a_flat_reflector() {
    s_waves_lie_on("flat", |_| 50.5, &[62, 66, 70, 74, 78]);
}

/// Waves of the source meet the reflector at normal incidence at x = 65.
#[test]
fn s_waves_of_the_source_lie_on_a_dipping_reflector() {
    s_waves_lie_on("dipping", |x| 40.0 + 0.12 * x, &[57, 61, 65, 69, 73]);
}

/// Lag gathers are focused if the model is correct, and less focused if it is too slow.
#[test]
fn lags_reveal_a_wrong_model() {
    let lags: Vec<[isize; 3]> = (-4..=4).map(|k| [0, 3 * k, 0]).collect();
    let none = lags.len() / 2;
    let request = ImageRequest {
        kinds: vec![Kind::Pp],
        lags,
    };
    let focus = |slower: f64| {
        let mut both = media(|_| 50.5, Quantity::Velocity, slower);
        let mut sum = vec![0.0; request.lags.len() * N[0] * N[1]];
        for x in [30.0, 60.0, 90.0] {
            // The data are reflections from the true rock, and the images are computed in a medium that may be wrong.
            let data = reflections(
                &mut media(|_| 50.5, Quantity::Velocity, 1.0),
                &shot_at(x, Quantity::Velocity),
            );
            both[1]
                .next_shot(&shot_at(x, Quantity::Velocity))
                .expect("points in the grid");
            let schedule = CheckpointSchedule::choose(560, both[1].sizes_of_images(&request), 400_000_000)
                .expect("it fits");
            let pictures = both[1].images(&data, &schedule, &request).expect("an image");
            sum.iter_mut()
                .zip(&pictures[0].image)
                .for_each(|(sum, x)| *sum += f64::from(*x));
        }
        let at = |lag: usize| {
            let trace = &sum[(lag * N[1] + 60) * N[0]..][..N[0]];
            magnitude(&trace[25..N[0] - 4])
        };
        let edge = magnitude([at(none - 4), at(none + 4)]);
        println!(
            "model {slower}: {:.3e} at no lag, {edge:.3e} at the largest",
            at(none)
        );
        assert!((0..request.lags.len()).all(|lag| lag == none || slower < 1.0 || at(lag) <= at(none)));
        edge / at(none)
    };
    assert!(focus(1.0) < 0.9 * focus(0.85));
}
