//! A full space compared with Aki & Richards (2002), equations 4.23 and 4.29, on distorted elements.

use kernels::device::cpu::Cpu;
use kernels::mesh::step::Medium;
use kernels::mesh::{Basis, Locator, quality};
use kernels::methods::spectral_elements::{Engine, Lumping, Quantity, Setup, Source, Strength};

use crate::full_space::{Rock, of_force, of_moment};
use crate::laws::bent;
use crate::shots::{Ricker, relative_difference};

const ROCK: Rock = Rock {
    a: 2600.0,
    b: 1500.0,
    rho: 2300.0,
};
const SOURCE: [f64; 3] = [826.0, 765.0, 790.0];
/// Positions of the receivers relative to the source.
const OFFSETS: [[f64; 3]; 4] = [
    [200.0, 150.0, -120.0],
    [-270.0, 40.0, 30.0],
    [15.0, -20.0, 283.0],
    [-140.0, -130.0, -180.0],
];

/// Largest error that is allowed, relative to the largest displacement.
const BAR: f64 = 0.01;

/// The highest frequency of a displacement relative to the peak frequency of its Ricker wavelet: above it the spectrum,
/// `x^n exp(-x^2)` with n = 2 far from a force and 3 far from a moment, whose waves follow the wavelet's slope, is
/// below the bound times its largest value. Higher frequencies are not resolved, and cannot contribute an error above
/// the bound.
fn highest_frequency(n: i32) -> f64 {
    let spectrum = |x: f64| x.powi(n) * (-x * x).exp();
    let peak = (f64::from(n) / 2.0).sqrt();
    let (mut low, mut high) = (peak, 5.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        *(if spectrum(middle) > BAR * spectrum(peak) {
            &mut low
        } else {
            &mut high
        }) = middle;
    }
    high
}

/// Largest difference from `exact` relative to its largest value, until waves return from the sides.
fn misfit(strength: Strength<3>, exact: impl Fn(&Ricker, [f64; 3], f64) -> [f64; 3]) -> f64 {
    let (mesh, basis) = (bent([16, 16, 16], true), Basis::new(4).unwrap());
    // The largest element has five points per wavelength of S at the highest frequency.
    let resolved = quality::all(&mesh, &basis)
        .iter()
        .map(|q| q.frequency(ROCK.b, 4))
        .fold(f64::INFINITY, f64::min);
    let powers = if matches!(strength, Strength::Force(_)) {
        2
    } else {
        3
    };
    let wavelet = Ricker::starting_at_zero(resolved / highest_frequency(powers));
    let (dt, nt) = (0.0016, 310);
    let media = vec![Medium::isotropic(ROCK.rho, ROCK.a, ROCK.b); 2];
    let sources = [Source {
        at: SOURCE,
        strength,
        history: (0..nt).map(|n| wavelet.value(n as f64 * dt) as f32).collect(),
    }];
    let setup = Setup {
        mesh: &mesh,
        basis: &basis,
        media: &media,
        speeds: &[[ROCK.a, ROCK.b]; 2],
        points: None,
        dt,
        relaxations: None,
        lumping: Lumping::Matrix,
        sponge: None,
        pml: None,
        sources: &sources,
    };
    let mut engine = Engine::new(Cpu::new(1).unwrap(), &setup).unwrap();
    let locator = Locator::new(&mesh);
    let place = |offset: [f64; 3]| std::array::from_fn(|c| SOURCE[c] + offset[c]);
    let receivers = OFFSETS.map(|offset| engine.receiver("it", place(offset), &setup, &locator).unwrap());
    let (mut recorded, mut expected) = (Vec::new(), Vec::new());
    for n in 0..nt {
        engine.step();
        for (receiver, offset) in receivers.iter().zip(OFFSETS) {
            recorded.extend(engine.record(receiver, Quantity::Displacement));
            expected.extend(exact(&wavelet, offset, n as f64 * dt));
        }
    }
    let apart = relative_difference(&recorded, &expected);
    println!("{:.2} % of the largest displacement", 100.0 * apart);
    apart
}

#[test]
fn a_force_is_exact_within_one_percent() {
    let force = [1e9, -0.6e9, 0.8e9];
    assert!(misfit(Strength::Force(force), |w, x, t| of_force(ROCK, w, force, x, t)) < BAR);
}

#[test]
fn an_explosion_and_a_double_couple_are_exact_within_one_percent() {
    let explosion = Strength::Moment([[1e12, 0.0, 0.0], [0.0, 1e12, 0.0], [0.0, 0.0, 1e12]]);
    let even = [1e12, 1e12, 1e12, 0.0, 0.0, 0.0];
    assert!(misfit(explosion, |w, x, t| of_moment(ROCK, w, even, x, t)) < BAR);
    let couple = Strength::Moment([[0.0, 1e12, 0.0], [1e12, 0.0, 0.0], [0.0, 0.0, 0.0]]);
    let sheared = [0.0, 0.0, 0.0, 1e12, 0.0, 0.0];
    assert!(misfit(couple, |w, x, t| of_moment(ROCK, w, sheared, x, t)) < BAR);
}
