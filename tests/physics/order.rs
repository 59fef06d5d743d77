//! Observed orders of convergence, in float64: eight in space (Weiss & Shragge 2013, eqs 4-5), two in time (eq. 6).
//!
//! With the engine's bell, the source is the same physical body on every grid: `exp(-r^2 / (0.5 nbell))` in cells has
//! the standard deviation `d sqrt(nbell) / 2`, so `nbell` grows with `1 / d^2`; it is cut at 8 standard deviations or
//! more, and the comparison ends before reflections from the edges of the grid arrive. In space all grids share one
//! time step, so they differ only by the spatial error. With errors `e = C h^p` on three grids, the finest as
//! reference, `(e_1 - e_3) / (e_2 - e_3)` gives p.

use crate::shots::{Ricker, medium, rms_difference, run, shot};
use kernels::grid::{Grid, Padded};
use kernels::medium::{Speeds, Stiffness, Thomsen, Tsvankin};
use kernels::methods::displacement::Shot;

/// Half width, in cells of size `d`, of the bell with the standard deviation `width`.
fn bell(width: f64, d: f32) -> usize {
    let nbell = 4.0 * (width / f64::from(d)).powi(2);
    assert_eq!(nbell.fract(), 0.0, "the same body on every grid");
    nbell as usize
}

/// The p for which errors `C h^p` on grids of spacing `h` have these differences from the finest grid.
fn order(h: [f64; 3], to_finest: [f64; 2]) -> f64 {
    let ratio = |p: f64| (h[0].powf(p) - h[2].powf(p)) / (h[1].powf(p) - h[2].powf(p));
    let (mut low, mut high) = (0.1, 30.0);
    for _ in 0..80 {
        let p = 0.5 * (low + high);
        if ratio(p) < to_finest[0] / to_finest[1] {
            low = p
        } else {
            high = p
        }
    }
    0.5 * (low + high)
}

/// A smooth VTI medium: all nine coefficients and density vary over some 200 length units.
fn smooth(at: [f64; 3]) -> (Stiffness, f64) {
    let wave = |k: [f64; 2], phase: f64| (k[0] * at[0] + k[1] * at[1] + phase).sin();
    let rho = 2.0 + 0.2 * wave([0.02, -0.03], 0.3);
    let speeds = Speeds {
        vp: 3.0 + 0.3 * wave([0.03, 0.02], 0.0),
        vs: 1.8 + 0.1 * wave([-0.02, 0.03], 1.0),
        rho,
    };
    let epsilon = 0.15 + 0.05 * wave([0.02, 0.02], 2.0);
    (
        Stiffness::vti(
            speeds,
            Thomsen {
                epsilon,
                delta: 0.05,
                gamma: 0.1,
            },
        )
        .expect("a real medium"),
        rho,
    )
}

fn orthorhombic() -> Stiffness {
    let t = Tsvankin {
        eps1: 0.1,
        eps2: 0.2,
        del1: 0.05,
        del2: 0.1,
        del3: -0.05,
        gam1: 0.1,
        gam2: 0.05,
    };
    Stiffness::orthorhombic(
        Speeds {
            vp: 3.0,
            vs: 1.8,
            rho: 2.0,
        },
        t,
    )
    .expect("a real medium")
}

/// A physical shot whose length scale is the standard deviation of its source.
struct Body {
    ndim: usize,
    width: f64,
    /// Half width of the grid.
    half: f32,
}

/// The duration in units of the body's width: enough for the waves to pass the receivers, but too short for reflections
/// to reach them.
const TIME: f64 = 5.4;
const PLANE: Body = Body {
    ndim: 2,
    width: 12.0,
    half: 300.0,
};
const VOLUME: Body = Body {
    ndim: 3,
    width: 15.0,
    // The bell, which is cut at 16 standard deviations on the finest grid, fits into the grid.
    half: 240.0,
};

impl Body {
    /// The records on a grid of spacing `d`.
    fn record(&self, d: f32, dt: f32, nt: usize) -> Vec<f64> {
        let (n, o) = ((2.0 * self.half / d) as usize + 1, -self.half);
        let grid = match self.ndim {
            2 => Grid::new_2d([n; 2], [o; 2], [d; 2]),
            _ => Grid::new_3d([n; 3], [o; 3], [d; 3]),
        };
        let mut wavelet =
            Ricker::starting_at_zero(0.42 / self.width).samples(nt, dt, &[1.0, -0.6, 0.8][..self.ndim]);
        wavelet.iter_mut().for_each(|x| *x *= 1e-3);
        let far = [
            [4.0f32, 0.0, 0.0],
            [-2.0, 4.0, 2.0],
            [2.0, -4.0, -4.0],
            [0.0, 4.0, 2.0],
        ];
        let receivers = far.map(|p| p.map(|v| v * self.width as f32));
        let s = Shot {
            nbell: bell(self.width, d),
            ..shot(dt, wavelet, vec![[0.0; 3]], receivers.to_vec())
        };
        let (ort, flat) = (orthorhombic(), self.ndim == 2);
        let earth = |at| if flat { smooth(at) } else { (ort, 2.0) };
        let tape = run::<f64>(&s, medium(&Padded::new(&grid, 4), earth));
        assert!(tape.peak() > 0.0);
        tape.traces.concat()
    }

    /// The records on grids of these spacings, the finest last, with one small time step.
    fn records<const N: usize>(&self, d: [f32; N]) -> [Vec<f64>; N] {
        let dt = 0.15 * d[N - 1];
        let nt = (TIME * self.width / f64::from(dt)) as usize;
        d.map(|d| self.record(d, dt, nt))
    }

    /// The observed order in space from three spacings and their records.
    fn order_in_space(&self, d: [f32; 3], [a, b, c]: [&[f64]; 3]) -> f64 {
        let errors = [rms_difference(a, c), rms_difference(b, c)];
        let p = order(d.map(f64::from), errors);
        println!(
            "{}-D space: spacings {d:?}, differences to the finest {errors:?}, order {p:.3}",
            self.ndim
        );
        assert!(
            errors[0] < 0.05,
            "the coarsest grid must already resolve the wave: {errors:?}"
        );
        p
    }
}

#[test]
fn the_order_in_space_is_at_least_seven_and_a_half_in_a_smooth_vti_plane() {
    let d = [6.0, 4.0, 3.0, 2.0];
    let records = PLANE.records(d);
    for three in [[1, 2, 3], [0, 1, 3]] {
        let p = PLANE.order_in_space(three.map(|k| d[k]), three.map(|k| &records[k][..]));
        assert!(p >= 7.5, "order {p}");
    }
}

#[test]
#[ignore = "long: ./sconsw test full=y"]
fn the_order_in_space_is_at_least_seven_and_a_half_in_an_orthorhombic_volume() {
    let d = [6.0, 5.0, 3.75];
    let records = VOLUME.records(d);
    let p = VOLUME.order_in_space(d, records.each_ref().map(|record| &record[..]));
    assert!(p >= 8.0 - 0.5, "order {p}");
}

#[test]
fn the_order_in_time_is_at_least_one_point_nine() {
    let (longest, steps) = (0.8, 80);
    // The sample after step `it` is at time (it + 1) dt, so every 2^k-th sample of the finer records is taken.
    let records = [0u32, 1, 2, 3].map(|k| {
        let all = PLANE.record(4.0, longest / 2f32.powi(k as i32), steps << k);
        let per_step = all.len() / (steps << k);
        let kept = all.chunks(per_step).skip((1 << k) - 1).step_by(1 << k);
        kept.flatten().copied().collect::<Vec<f64>>()
    });
    for k in [0, 1] {
        let errors = [
            rms_difference(&records[k], &records[k + 2]),
            rms_difference(&records[k + 1], &records[k + 2]),
        ];
        let p = order([4.0, 2.0, 1.0], errors);
        println!(
            "time: dt {} and halves, differences to the finest {errors:?}, order {p:.3}",
            longest / 2f32.powi(k as i32)
        );
        assert!(p >= 2.0 - 0.1, "order {p}");
    }
}

#[test]
fn the_estimate_gives_the_order_of_artificial_errors() {
    let h = [6.0, 4.0, 3.0f64];
    let e = h.map(|h| 2.5 * h.powf(7.3));
    assert!((order(h, [e[0] - e[2], e[1] - e[2]]) - 7.3).abs() < 1e-9);
}
