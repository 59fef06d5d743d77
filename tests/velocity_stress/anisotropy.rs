//! Orthorhombic media: an exact solution in which every stiffness is involved, and layers in which waves grow.

use crate::desk::{frame, isotropic, layer, run_on, shot, source};
use crate::shots::{Ricker, Tape, largest, largest_difference, medium, relative_difference};
use kernels::grid::Grid;
use kernels::medium::attenuation::Mechanisms;
use kernels::medium::{Destination, Stiffness, Symmetry};
use kernels::methods::velocity_stress::{Absorber, Attenuation, Shot, Watch};
use kernels::source::Action;

fn go(s: &Shot, grid: &Grid, medium: (Stiffness, f64)) -> Tape<f32> {
    run_on(s, grid, |_| medium, Symmetry::Orthorhombic, (1, &[])).expect("the shot runs")
}

/// With `c12 = -c66`, `c13 = -c55`, `c23 = -c44` the components decouple: `rho v_tt = c11 v_xx + c66 v_yy + c55 v_zz`
/// and so on. In stretched coordinates each is a scalar wave: `v = F'(t - tau) sqrt(rho / (c11 c66 c55)) / (4 pi tau)`
/// with `tau^2 = rho (x^2/c11 + y^2/c66 + z^2/c55)`.
#[test]
fn components_that_part_are_scalar_waves() {
    let rho = 1.4;
    let c = Stiffness {
        c11: 9.0,
        c22: 7.0,
        c33: 6.0,
        c44: 2.2,
        c55: 2.6,
        c66: 3.1,
        c12: -3.1,
        c13: -2.6,
        c23: -2.2,
    };
    let w = Ricker::starting_at_zero((2.2f64 / rho).sqrt() / 10.0 / 2.5);
    let grid = Grid::new_3d([42, 40, 44], [0.0; 3], [1.0; 3]);
    let at = [20.3, 19.6, 21.2];
    let offsets = [
        [9.0, 0.4, 1.0],
        [-3.0, 12.0, 2.5],
        [4.0, -5.0, 13.0],
        [8.0, 8.0, -8.0],
    ];
    let (dt, nt) = (0.11, 700);
    let mut s = shot(dt, nt, frame(10, layer((9.0f64 / rho).sqrt(), w.f)));
    s.receivers = offsets.iter().map(|o| [0, 1, 2].map(|a| at[a] + o[a])).collect();
    source(&mut s, at, Action::Force([1.0, -0.6, 0.8]), |t| w.integral(t));
    let tape = go(&s, &grid, (c, rho));
    let of = [
        (0.8, [c.c33, c.c55, c.c44]),
        (1.0, [c.c55, c.c11, c.c66]),
        (-0.6, [c.c44, c.c66, c.c22]),
    ];
    for (k, o) in offsets.iter().enumerate() {
        for (component, (force, c)) in of.iter().enumerate() {
            let square: f64 = (0..3).map(|a| rho * f64::from(o[a]).powi(2) / c[a]).sum();
            let strength = force * (rho / c.iter().product::<f64>()).sqrt()
                / (4.0 * std::f64::consts::PI * square.sqrt());
            let exact: Vec<f64> = (0..nt)
                .map(|it| strength * w.value((it as f64 + 0.5) * dt - square.sqrt()))
                .collect();
            let trace = tape.trace(component, k, offsets.len());
            let apart = largest_difference(&trace, &exact) / strength.abs();
            println!("receiver {o:?} component {component}: {:.3} %", 100.0 * apart);
            assert!(apart < 0.01, "{o:?} {component}: {apart}");
        }
    }
}

/// An isotropic medium gives the same waves with the nine stiffnesses of the orthorhombic kernels, with and without
/// attenuation.
#[test]
fn classes_agree_where_they_overlap() {
    let grid = Grid::new_3d([16, 18, 17], [0.0; 3], [1.0; 3]);
    let mut s = shot(0.12, 60, frame(6, layer(2.5, 0.3)));
    s.surface = true;
    s.frame.cells[0][0] = 0;
    source(
        &mut s,
        [5.2, 8.3, 8.8],
        Action::Moment([1.0, 0.2, 0.5, 0.3, 0.1, 0.4]),
        |t| (-(t - 1.5).powi(2)).exp(),
    );
    s.receivers = vec![[0.0, 12.0, 10.0]];
    let cell = |at: [f64; 3]| isotropic(2.0 + 0.02 * at[0], 1.2, 2.0);
    let attenuated = Attenuation {
        qp: [40.0].into(),
        qs: [12.0].into(),
        mechanisms: Mechanisms::Everywhere(2),
        band: [0.1, 0.8],
        reference: 0.3,
    };
    for attenuation in [None, Some(attenuated)] {
        s.attenuation = attenuation;
        let on = |class: Symmetry| run_on::<f32>(&s, &grid, cell, class, (1, &[])).expect("the shot runs");
        let (one, other) = (on(Symmetry::Isotropic), on(Symmetry::Orthorhombic));
        let apart = relative_difference(other.traces.iter().flatten(), one.traces.iter().flatten());
        println!("{apart:.1e}");
        assert!(apart < 1e-5, "{apart}");
    }
}

/// The third medium of Becache et al. (2003): waves grow in layers, the criterion predicts it, and the sponge is
/// stable.
#[test]
fn a_medium_in_which_layers_grow_is_detected_and_the_sponge_holds() {
    let bad = Stiffness::from_planes_2d([4.0, 20.0, 2.0, 7.5]);
    let grid = Grid::new_2d([60, 60], [0.0; 2], [1.0; 2]);
    let mut s = shot(0.12, 6000, frame(10, layer(4.5, 0.1)));
    source(&mut s, [30.0, 30.0, 0.0], Action::Force([1.0, 0.0, 0.6]), |t| {
        (-((t - 6.0) / 2.0).powi(2)).exp()
    });
    s.receivers = vec![[30.0, 20.0, 0.0]];
    let padded = s.frame.around(&grid);
    let (cell, axes) = s
        .frame
        .first_growing(&medium::<f32>(&padded, |_| (bad, 1.0)))
        .expect("waves grow in layers");
    assert_eq!((cell, axes), ([14, 14, 0], [0, 1]));
    let good = Stiffness::from_planes_2d([4.0, 20.0, 2.0, 3.8]);
    assert!(
        s.frame
            .first_growing(&medium::<f32>(&padded, |_| (good, 1.0)))
            .is_none()
    );
    let last = |s: &Shot, c: Stiffness| match run_on::<f32>(
        s,
        &grid,
        |_| (c, 1.0),
        Symmetry::Orthorhombic,
        (1, &[]),
    ) {
        Ok(tape) => largest(&tape.trace(0, 0, 1)[5500..]) / tape.peak(),
        Err(_) => f64::INFINITY,
    };
    assert!(last(&s, good) < 1e-3);
    let grown = last(&s, bad);
    s.frame = frame(30, Absorber::Sponge(0.92));
    let held = last(&s, bad);
    println!("layers leave {grown:.1e} of the peak, the sponge {held:.1e}");
    assert!(grown > 1e-2 && held < 1e-3);
}

/// The check while a model is read finds the same cells as the check of the whole medium, wherever they are, with
/// blocks of any size.
#[test]
fn growing_layers_are_detected_without_a_medium() {
    let grid = Grid::new_3d([9, 7, 8], [0.0; 3], [1.0; 3]);
    let bad = |along: [f64; 3]| Stiffness {
        c11: 4.0,
        c22: 4.0,
        c33: 20.0,
        c44: 2.0,
        c55: 2.0,
        c66: 1.9,
        c12: 0.2,
        c13: 3.8 + along[0],
        c23: 3.8 + along[1],
    };
    let mut f = frame(5, layer(4.5, 0.1));
    f.cells[1][0] = 0;
    for (at, way) in [
        ([3.0, 6.0, 2.0], [3.7, 0.0, 0.0]),
        ([3.0, 0.0, 2.0], [3.7, 0.0, 0.0]),
        ([0.0, 0.0, 7.0], [0.0, 3.7, 0.0]),
        ([8.0, 3.0, 4.0], [3.7, 3.7, 0.0]),
        ([4.0, 3.0, 4.0], [3.7, 3.7, 0.0]),
    ] {
        let cell = |here: [f64; 3]| bad(if here == at { way } else { [0.0; 3] });
        let padded = f.around(&grid);
        let whole = f.first_growing(&medium::<f32>(&padded, |here| (cell(here), 1.0)));
        for step in [1, 5, 56] {
            let mut watch = Watch::new(&f, &padded);
            for first in (0..56).step_by(step) {
                let lines = step.min(56 - first);
                let block = watch.block(lines).expect("memory");
                for (line, z) in (0..lines).flat_map(|line| (0..9).map(move |z| (line, z))) {
                    let (x, y) = ((first + line) % 7, (first + line) / 7);
                    let planes = cell([z as f64, x as f64, y as f64]).planes();
                    for (k, c) in planes.iter().enumerate() {
                        block[(k * lines + line) * 9 + z] = *c as f32;
                    }
                }
                watch.commit(first, lines).expect("taken");
            }
            assert_eq!(watch.growing(), whole, "{at:?} {step}");
        }
        assert_eq!(
            whole.is_some(),
            at != [3.0, 0.0, 2.0] && at != [4.0, 3.0, 4.0],
            "{at:?}"
        );
    }
}
