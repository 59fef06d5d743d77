//! Lamb's problem for several Poisson's ratios, both components, along both axes: a vertical force on a half-space
//! compared with the sum over wavenumbers of tests/support/layered.rs, and that sum with Pekeris' closed form.

use crate::desk::{frame, isotropic, layer, run, shot, source};
use crate::layered::{self, Rock, Source, Stack, spectrum_of};
use crate::pekeris;
use crate::shots::{Ricker, largest, largest_difference, magnitude, relative_difference};
use kernels::grid::Grid;
use kernels::source::Action;

/// The S velocity and the density; lengths are in cells.
const B: f64 = 1.0;
const RHO: f64 = 1.0;

/// Ten cells per shortest wavelength of S.
fn wavelet() -> Ricker {
    Ricker::starting_at_zero(B / 10.0 / 2.5)
}

/// Velocities half a step after the steps at receivers on the surface, `[receiver][z, x, y]`.
fn exact(vp: f64, (dt, nt): (f64, usize), receivers: &[[f64; 3]]) -> Vec<[Vec<f64>; 3]> {
    let w = wavelet();
    let stack = Stack {
        rocks: &[Rock::new(vp, B, RHO)],
        interfaces: &[],
        surface: true,
        reference: 1.0,
    };
    let shot = layered::Shot {
        source: Source::Force,
        depth: 0.0,
        ndim: 3,
        dt,
        nt,
        first: 0.5 * dt,
        spectrum: &spectrum_of(&w),
        highest: 4.0 * std::f64::consts::TAU * w.f,
        bell: 0.0,
    };
    layered::traces(&stack, &shot, receivers)
}

#[test]
fn the_sum_over_wavenumbers_is_pekeris_closed_form() {
    let (w, dt, nt) = (wavelet(), 1.0, 150);
    for r in [15.0, 60.0] {
        let summed = &exact(3f64.sqrt() * B, (dt, nt), &[[0.0, 0.6 * r, 0.8 * r]])[0][0];
        let closed: Vec<f64> = (0..nt)
            .map(|it| pekeris::exact(&w, r, (it as f64 + 0.5) * dt))
            .collect();
        let apart = relative_difference(summed, &closed);
        println!("{r}: {apart:.1e}");
        assert!(apart < 2e-3, "{r}: {apart}");
    }
}

/// The largest misfits of the vertical velocity, and of the horizontal one away from the source, at any receiver.
fn misfits(poisson: f64) -> [f64; 2] {
    let vp = B * (2.0 * (1.0 - poisson) / (1.0 - 2.0 * poisson)).sqrt();
    let w = wavelet();
    let mut f = frame(10, layer(vp, w.f));
    f.cells[0][0] = 0;
    let dt = 0.45 / vp;
    let nt = ((40.0 / 0.88 + w.t0 + 0.8 / w.f) / dt) as usize;
    let mut s = shot(dt, nt, f);
    s.surface = true;
    let at = [0.0, 12.0, 12.0];
    let away: [[f32; 3]; 4] = [
        [0.0, 15.0, 0.0],
        [0.0, 0.0, 15.0],
        [0.0, 40.0, 0.0],
        [0.0, 0.0, 40.0],
    ];
    s.receivers = away.iter().map(|r| [0, 1, 2].map(|a| at[a] + r[a])).collect();
    source(&mut s, at, Action::Force([0.0, 0.0, 1.0]), |t| w.integral(t));
    let grid = Grid::new_3d([24, 60, 60], [0.0; 3], [1.0; 3]);
    let tape = run::<f32>(&s, &grid, |_| isotropic(vp, B, RHO));
    let exact = exact(vp, (dt, nt), &away.map(|r| r.map(f64::from)));
    let mut worst = [0.0f64; 2];
    for (k, exact) in exact.iter().enumerate() {
        let scale = magnitude(exact.iter().flatten().copied());
        // There is no motion across the axis.
        for component in [0, 1, 2] {
            let trace = tape.trace(component, k, away.len());
            let apart = largest_difference(&trace, &exact[component]) / scale;
            println!(
                "Poisson {poisson}, receiver {:?}, component {component}: {:.2} %",
                away[k],
                100.0 * apart
            );
            let way = usize::from(component > 0);
            worst[way] = largest([worst[way], apart]);
        }
    }
    worst
}

#[test]
fn vertical_and_radial_motion_are_lambs_for_stiff_and_soft_rock() {
    for poisson in [0.1, 0.4] {
        let errors = misfits(poisson);
        assert!(errors.iter().all(|&f| f < 0.02), "{poisson}: {errors:?}");
    }
}
