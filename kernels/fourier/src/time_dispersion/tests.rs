use super::*;
use crate::largest::{largest, largest_difference};

/// Pseudo-random samples from -1 to 1.
fn noise(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn product(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The time of the middle of a Gaussian pulse in units of its spread. At time zero the pulse is below 1e-12.
const MIDDLE: f64 = 7.5;

fn pulse(t: f64, spread: f64) -> f64 {
    (-0.5 * (t / spread - MIDDLE).powi(2)).exp()
}

/// A harmonic oscillator `u'' = -w^2 u + f` after a pulse: `u = A/w sin(w (t - t0))`, where `A` is the spectrum of the
/// pulse.
struct Oscillator {
    /// Radians per step.
    omega: f64,
    /// Spread of the pulse, in steps.
    spread: f64,
    steps: usize,
}

impl Oscillator {
    fn exact(&self, t: f64) -> [f64; 2] {
        let (w, s) = (self.omega, self.spread);
        let size = (2.0 * PI).sqrt() * s * (-0.5 * (w * s).powi(2)).exp();
        let phase = w * (t - MIDDLE * s);
        [size / w * phase.sin(), size * phase.cos()]
    }

    /// The pulse at the steps.
    fn force(&self) -> Vec<f64> {
        (0..self.steps).map(|n| pulse(n as f64, self.spread)).collect()
    }

    /// Displacements at the ends of the steps, velocities in the middle of the steps, and velocities at their ends as
    /// in Newmark's scheme.
    fn leap(&self, force: &[f64]) -> [Vec<f64>; 3] {
        let (mut u, mut v) = (0.0, 0.0);
        let mut all: [Vec<f64>; 3] = Default::default();
        for f in force {
            let before = v;
            v += f - self.omega * self.omega * u;
            all[2].push(0.5 * (before + v));
            u += v;
            all[0].push(u);
            all[1].push(v);
        }
        all
    }

    /// The largest error after the pulse of a record that begins at time `first`, relative to the largest value.
    fn error(&self, record: &[f64], first: f64, which: usize) -> f64 {
        let behind = (2.0 * MIDDLE * self.spread) as usize;
        let exact = |n: usize| self.exact(n as f64 + first)[which];
        let size = largest((behind..self.steps).map(exact));
        largest((behind..self.steps).map(|n| record[n] - exact(n))) / size
    }
}

/// The transforms of `samples` samples in true time from `first` on, and of the steps that they need.
fn plan(samples: usize, first: f64) -> TimeDispersion {
    TimeDispersion::new(Sampling {
        samples,
        steps: samples + run_on(samples),
        every: 1.0,
        first,
    })
}

/// With both transforms, displacements and both kinds of velocities of a leap-frog oscillator follow the exact solution
/// up to the last record, for steps of up to 0.6 of the stability limit.
#[test]
fn an_oscillator_keeps_exact_time() {
    for (omega, spread, steps) in [
        (1.0, 2.5, 1500),
        (0.3, 7.0, 4001),
        (0.02, 40.0, 1500),
        (1.2, 2.7, 300),
    ] {
        let body = Oscillator { omega, spread, steps };
        let raw = body.leap(&body.force());
        let records = body.leap(&plan(steps, 0.0).to_steps(&body.force()));
        for (k, first, which, reading) in [
            (0, 1.0, 0, Reading::OfOneTime),
            (1, 0.5, 1, Reading::OfOneTime),
            (2, 0.0, 1, Reading::OfTwoTimes),
        ] {
            let error = body.error(&plan(steps, first).to_time(&records[k], reading), first, which);
            let before = body.error(&raw[k], first, which);
            println!("{omega} {k}: {before:.2e} becomes {error:.2e}");
            // Measured 1e-8 to 6e-6.
            assert!(
                error < 5e-5 && error < 0.1 * before,
                "{omega} {k}: {before} {error}"
            );
        }
    }
}

/// Rates are given in the middle of the steps, as for moment rates, and every third or fifth step is recorded.
#[test]
fn offsets_and_coarse_records_keep_exact_time() {
    let body = Oscillator {
        omega: 0.25,
        spread: 9.0,
        steps: 3000,
    };
    // With u' = v + g in the middle of the steps and v' = -w^2 u, u is the velocity of the oscillator with the force
    // g.
    let rates: Vec<f64> = (0..body.steps)
        .map(|n| pulse(n as f64 + 0.5, body.spread))
        .collect();
    let (mut u, mut v) = (0.0, 0.0);
    let mut record = Vec::new();
    for g in plan(body.steps, 0.5).to_steps(&rates) {
        v -= body.omega * body.omega * u;
        u += v + g;
        record.push(u);
    }
    for every in [1, 3, 5] {
        let coarse: Vec<f64> = record.iter().copied().step_by(every).collect();
        let sampling = Sampling {
            samples: body.steps.div_ceil(every),
            steps: coarse.len(),
            every: every as f64,
            first: 1.0,
        };
        let in_time = TimeDispersion::new(sampling).to_time(&coarse, Reading::OfOneTime);
        let (mut most, mut off) = (0.0f64, 0.0f64);
        for (k, x) in in_time.iter().enumerate() {
            let t = (k * every) as f64 + 1.0;
            if t > 2.0 * MIDDLE * body.spread {
                let exact = body.exact(t)[1];
                (most, off) = (most.max(exact.abs()), off.max((x - exact).abs()));
            }
        }
        println!("every {every}: {:.2e}", off / most);
        assert!(off < 5e-5 * most, "{every}: {off} of {most}");
    }
}

#[test]
fn both_directions_have_their_transposes() {
    for (samples, more, every, first) in [
        (1, 0, 1.0, 0.5),
        (2, 3, 1.0, 1.0),
        (77, 0, 1.0, 0.5),
        (900, 17, 2.5, 0.0),
    ] {
        let steps = samples + more;
        let plan = TimeDispersion::new(Sampling {
            samples,
            steps,
            every,
            first,
        });
        let (x, y) = (noise(samples, 7), noise(steps, 9));
        let size = (product(&x, &x) * product(&y, &y)).sqrt();
        let apart = |one: f64, other: f64| (one - other).abs() / size;
        let apart = [
            apart(
                product(&plan.to_steps(&x), &y),
                product(&x, &plan.to_steps_adjoint(&y)),
            ),
            apart(
                product(&plan.to_time(&y, Reading::OfOneTime), &x),
                product(&y, &plan.to_time_adjoint(&x, Reading::OfOneTime)),
            ),
            apart(
                product(&plan.to_time(&y, Reading::OfTwoTimes), &x),
                product(&y, &plan.to_time_adjoint(&x, Reading::OfTwoTimes)),
            ),
        ];
        // The differences are rounding errors of double precision.
        assert!(apart.iter().all(|&apart| apart < 1e-12), "{samples}: {apart:?}");
    }
}

/// Each direction undoes the other, and a record that ends early is transformed like the same part of a longer record.
#[test]
fn directions_are_inverse_and_causal() {
    let (samples, spread) = (800, 3.0);
    // There are pulses throughout the series, and the last one is truncated.
    let series: Vec<f64> = (0..samples)
        .map(|n| {
            (0..18)
                .map(|k| pulse(n as f64 - 45.0 * f64::from(k), spread) * f64::from(k % 5 - 2))
                .sum()
        })
        .collect();
    let steps = plan(samples, 0.5).to_steps(&series);
    let whole = plan(samples, 0.5).to_time(&steps, Reading::OfOneTime);
    let off = largest_difference(&whole, &series);
    println!("there and back: {off:.1e}");
    // Measured 4e-7 at the last sample, 1e-8 away from it.
    assert!(off < 2e-6, "{off:e}");
    let inside = largest_difference(&whole[..760], &series[..760]);
    println!("away from the end: {inside:.1e}");
    assert!(inside < 5e-8, "{inside:e}");
    let cut = plan(500, 0.5).to_time(&steps[..500 + run_on(500)], Reading::OfOneTime);
    let off = largest_difference(&cut, &whole[..500]);
    println!("a cut record: {off:.1e}");
    assert!(off < 1e-6, "{off:e}");
    let none = TimeDispersion::new(Sampling {
        samples: 0,
        steps: 0,
        every: 1.0,
        first: 0.5,
    });
    assert!(none.to_steps(&[]).is_empty() && none.to_time(&[], Reading::OfOneTime).is_empty());
}

#[test]
fn waves_run_early_by_the_square_of_their_frequency() {
    let (early_1, early_2) = (early(10.0, 1e-3).unwrap(), early(20.0, 1e-3).unwrap());
    assert!((early_1 / ((2.0 * PI * 10.0 * 1e-3).powi(2) / 24.0) - 1.0).abs() < 1e-3);
    assert!((early_2 / early_1 - 4.0).abs() < 0.01);
    assert_eq!((early(0.0, 1e-3), early(400.0, 1e-3)), (Some(0.0), None));
}
