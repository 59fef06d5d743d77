//! A standing wave in a block whose sides are all free, known in closed form.
//!
//! Where lambda is zero a plane P wave pulls at no side, so that u_x = cos(pi x / L) cos(pi vp t / L) is a motion of a free
//! block of any number of dimensions.

use std::f64::consts::PI;

use kernels::device::cpu::Cpu;
use kernels::mesh::step::{Law, Medium, steps};
use kernels::mesh::{Basis, Mesh, Order, Parts, cell};
use kernels::methods::spectral_elements::{Engine, Lumping, Setup};

/// A block of 1 m with 3 elements a side, bent inside.
fn block<const D: usize>() -> Mesh<D> {
    const SIDE: usize = 3;
    let split = |k: usize, n: usize| -> [usize; D] { std::array::from_fn(|c| k / n.pow(c as u32) % n) };
    let node = |k: usize| -> [f64; D] {
        let x = split(k, SIDE + 1).map(|i| i as f64 / SIDE as f64);
        let bump: f64 = x.iter().map(|x| (PI * x).sin()).product();
        std::array::from_fn(|c| x[c] + 0.06 * bump * (1.0 + c as f64 - 2.0 * x[c]))
    };
    let count = SIDE.pow(D as u32);
    let mut parts = Parts {
        nodes: (0..(SIDE + 1).pow(D as u32)).map(node).collect(),
        per_element: Order::Linear.nodes::<D>(),
        regions: vec![0; count],
        ..Parts::default()
    };
    for element in 0..count {
        let first = split(element, SIDE);
        for corner in 0..parts.per_element {
            let place = cell::place::<D>(corner);
            let number = (0..D).map(|c| (first[c] + usize::from(place[c] / 2)) * (SIDE + 1).pow(c as u32));
            parts.elements.push(number.sum::<usize>() as i32);
        }
    }
    Mesh::new(parts).unwrap()
}

/// Largest error of the displacement after two thirds of a period, in `fraction` of the largest step.
fn error<const D: usize>(degree: usize, fraction: f64) -> f64 {
    let (mesh, basis) = (block::<D>(), Basis::new(degree).unwrap());
    let media = [Medium {
        density: 1.0,
        law: Law::Isotropic { lambda: 0.0, mu: 0.5 },
    }];
    let end = 4.0 / 3.0;
    let bound = fraction
        * steps(&mesh, &basis, &media)
            .into_iter()
            .fold(f64::INFINITY, f64::min);
    let count = (end / bound).ceil();
    let setup = Setup {
        mesh: &mesh,
        basis: &basis,
        media: &media,
        speeds: &[[1.0, 0.5_f64.sqrt()]],
        dt: end / count,
        relaxations: None,
        lumping: Lumping::Matrix,
        sources: &[],
    };
    let mut engine = Engine::new(Cpu::new(2).unwrap(), &setup).unwrap();
    let wave = |x: [f64; D]| std::array::from_fn(|c| if c == 0 { (PI * x[0]).cos() } else { 0.0 });
    engine.displace(&setup, wave);
    let start = engine.displacement().to_vec();
    (0..count as usize).for_each(|_| engine.step());
    let factor = (PI * end).cos() as f32;
    let misfits = engine.displacement().iter().zip(&start);
    let worst = misfits.flat_map(|(u, s)| (0..D).map(move |c| (u[c] - factor * s[c]).abs()));
    f64::from(worst.fold(0.0, f32::max))
}

/// Errors of all degrees fall to what single precision leaves.
fn falls<const D: usize>(degrees: std::ops::RangeInclusive<usize>) {
    let errors: Vec<f64> = degrees.map(|degree| error::<D>(degree, 0.05)).collect();
    println!("{D}-D: {errors:?}");
    for pair in errors.windows(2) {
        assert!(pair[1] < 0.35 * pair[0] || pair[1] < 1e-4, "{D}-D: {errors:?}");
    }
    assert!(errors.last().is_some_and(|e| *e < 1e-4), "{D}-D: {errors:?}");
}

#[test]
fn errors_fall_exponentially_with_the_degree() {
    falls::<2>(2..=8);
    falls::<3>(2..=6);
}

#[test]
fn the_order_in_time_is_two() {
    let (coarse, fine) = (error::<2>(6, 0.9), error::<2>(6, 0.45));
    let order = (coarse / fine).log2();
    assert!((order - 2.0).abs() < 0.1, "{coarse} {fine} {order}");
}
