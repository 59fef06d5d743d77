//! Images lie where reflectors are: a flat one and a dipping one, within half a cell; they are positive where impedance grows.

use crate::desk::{frame, isotropic, layer, shot};
use crate::shots::medium;
use kernels::device::cpu::Cpu;
use kernels::grid::Grid;
use kernels::medium::{Stiffness, Symmetry};
use kernels::methods::velocity_stress::born::{Born, Ladder, Parameters};
use kernels::methods::velocity_stress::{Action, Quantity, Shot, Source};

/// Nodes along z and x.
const N: [usize; 2] = [90, 140];

/// Speed above the reflector, of P waves.
const SPEED: f64 = 2.0;

/// A shot at this x, with a wavelet that is the same forward and backward in time.
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

/// The stacked image of some shots over a reflector, `[x][z]`, divided by its illumination.
fn image(depth: Depth, quantity: Quantity) -> Vec<f64> {
    let grid = Grid::new_2d(N, [0.0; 2], [1.0; 2]);
    let first = shot_at(0.0, quantity);
    let padded = first.frame.around(&grid);
    let born = |depth: Option<Depth>| {
        let raw = medium::<f32>(&padded, |at| cell(at, depth));
        let cpu = Cpu::new(2).expect("threads start");
        Born::new(&first, raw, (Symmetry::Isotropic, Parameters::Speeds), cpu).expect("a sound shot")
    };
    let (mut rock, mut smooth) = (born(Some(depth)), born(None));
    let ladder = Ladder::choose(first.nt, smooth.sizes(), 400_000_000).expect("it fits");
    let (mut sum, mut light) = (vec![0.0; grid.cells()], vec![0.0; grid.cells()]);
    for x in [20.0, 45.0, 70.0, 95.0, 120.0] {
        let shot = shot_at(x, quantity);
        let records = |born: &mut Born<f32>| {
            born.next_shot(&shot).expect("points in the grid");
            let mut all = Vec::new();
            let mut take = |_: usize, record: &[f32], _: &[f32]| {
                all.extend_from_slice(record);
                Ok(())
            };
            born.forward(None, &mut take).expect("it runs");
            all
        };
        let data: Vec<f32> = records(&mut rock)
            .iter()
            .zip(records(&mut smooth))
            .map(|(a, b)| a - b)
            .collect();
        let found = smooth.image(&data, &ladder).expect("an image");
        sum.iter_mut()
            .zip(&found.pp)
            .for_each(|(sum, x)| *sum += f64::from(*x));
        light
            .iter_mut()
            .zip(&found.illumination)
            .for_each(|(sum, x)| *sum += f64::from(*x));
    }
    sum.iter()
        .zip(&light)
        .map(|(image, light)| image / light)
        .collect()
}

/// Where the largest value of a trace lies between the nodes, by a parabola, with its sign.
fn peak(trace: &[f64]) -> (f64, f64) {
    let far = 20..trace.len() - 4;
    let at = far
        .max_by(|&a, &b| trace[a].abs().total_cmp(&trace[b].abs()))
        .expect("a trace");
    let [before, here, behind] = [trace[at - 1], trace[at], trace[at + 1]];
    let off = 0.5 * (before - behind) / (before - 2.0 * here + behind);
    (at as f64 + off, here)
}

#[test]
fn reflectors_are_where_they_are() {
    // A number fills the cell around its node: the flat interface lies between nodes 50 and 51.
    let flat: Depth = |_| 50.5;
    let dipping: Depth = |x| 40.0 + 0.2 * x;
    for (name, depth, quantity) in [
        ("flat", flat, Quantity::Velocity),
        ("flat", flat, Quantity::Pressure),
        ("dipping", dipping, Quantity::Velocity),
    ] {
        let image = image(depth, quantity);
        for x in [50, 60, 70, 80, 90] {
            let (found, sign) = peak(&image[x * N[0]..][..N[0]]);
            let wanted = depth(x as f64);
            assert!(sign > 0.0, "impedance grows: {name} {quantity:?} x={x}");
            println!("{name} {quantity:?} x={x}: {found:.2} for {wanted:.2}, {sign:.2e}");
            assert!(
                (found - wanted).abs() <= 0.5,
                "{name} {quantity:?} x={x}: {found} for {wanted}"
            );
        }
    }
}
