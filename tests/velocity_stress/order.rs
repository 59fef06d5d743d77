//! Observed order of convergence, in double precision: the field of a line explosion in two dimensions on a grid and on
//! one of half the spacing.
//!
//! With the potential of a line source, `phi(t) = integral over xi of f(t - r/a cosh xi) / (2 pi)`, the moment M(t) per
//! metre makes the radial velocity `1/(2 pi rho a^3) integral from 0 of cosh(xi) M''(t - r/a cosh xi) d xi`.

use crate::desk::{frame, isotropic, layer, run, shot, source};
use crate::shots::{Ricker, relative_difference};
use kernels::grid::Grid;
use kernels::grid::stencil::Family;
use kernels::source::Action;

pub const A: f64 = 1.0;
const S: f64 = 0.6;
pub const RHO: f64 = 1.3;
/// A step far below the limit: its error is smaller than the error to be measured, which is large for small orders.
fn step(order: usize) -> f64 {
    match order {
        2 => 1.0 / 60.0,
        4 => 1.0 / 240.0,
        _ => 1.0 / 600.0,
    }
}

pub fn exact(w: &Ricker, r: f64, t: f64) -> f64 {
    let last = (t * A / r).max(1.0).acosh();
    let n = 4000;
    let step = last / f64::from(n);
    // The integrand is even at 0, and the source is silent before its start, so the trapezoidal rule is sufficient.
    let value = |k: i32| {
        let xi = step * f64::from(k);
        xi.cosh() * w.slope(t - r / A * xi.cosh())
    };
    let sum = 0.5 * (value(0) + value(n)) + (1..n).map(value).sum::<f64>();
    step * sum / (2.0 * std::f64::consts::PI * RHO * A.powi(3))
}

/// The largest misfit of the vertical velocity relative to the largest value; `wavelength` is in coarse cells at the
/// wavelet's peak frequency.
fn misfit(order: usize, family: Family, wavelength: f64, refined: usize) -> f64 {
    // The wavelet is so late that its start is not a noticeable jump.
    let w = Ricker {
        f: A / wavelength,
        t0: 2.0 * wavelength / A,
    };
    let d = 1.0 / refined as f32;
    let reach = (2.2 * wavelength) as usize;
    let n = 2 * reach * refined + 1;
    let grid = Grid::new_2d([n, n], [0.0; 2], [d, d]);
    // No reflection from the rigid walls has arrived by then.
    let dt = step(order);
    let nt = ((3.7 * wavelength / A) / dt) as usize;
    let mut s = shot(dt, nt, frame(0, layer(A, w.f)));
    (s.order, s.family) = (order, family);
    s.jdata = (1.0 / (15.0 * dt)).round() as usize;
    let middle = reach as f32;
    let r = (0.5 * wavelength as f32).floor() + 0.5 * d;
    s.receivers = vec![[middle + r, middle, 0.0]];
    source(&mut s, [middle, middle, 0.0], Action::explosion(1.0), |t| {
        w.value(t)
    });
    let tape = run::<f64>(&s, &grid, |_| isotropic(A, S, RHO));
    let trace = tape.trace(0, 0, 1);
    let times = tape.steps.iter().map(|&it| (it as f64 + 0.5) * dt);
    let exact: Vec<f64> = times.map(|t| exact(&w, f64::from(r), t)).collect();
    relative_difference(&trace, &exact)
}

#[test]
fn errors_fall_with_the_order_of_the_weights() {
    for (order, wavelength) in [(2, 24.0), (4, 14.0), (8, 11.0)] {
        let (coarse, fine) = (
            misfit(order, Family::Taylor, wavelength, 1),
            misfit(order, Family::Taylor, wavelength, 2),
        );
        let observed = (coarse / fine).log2();
        println!("order {order}: {coarse:.2e} {fine:.2e}, observed {observed:.2}");
        assert!(observed > 0.95 * order as f64 - 0.2, "order {order}: {observed}");
    }
}

#[test]
fn holbergs_weights_serve_short_waves_better() {
    for (order, wavelength) in [(4, 10.0), (8, 5.5)] {
        let (taylor, holberg) = (
            misfit(order, Family::Taylor, wavelength, 1),
            misfit(order, Family::Holberg, wavelength, 1),
        );
        println!("order {order}: Taylor {taylor:.2e}, Holberg {holberg:.2e}");
        assert!(holberg < taylor, "order {order}: {holberg} {taylor}");
    }
}
