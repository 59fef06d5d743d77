//! A sponge along absorbing sides only removes energy and does not change the stable step, and a thick one reflects
//! little.

use kernels::mesh::step::Medium;
use kernels::methods::spectral_elements::{Quantity, Source, Sponge, Strength};

use crate::blocks::{Body, block};
use crate::cases::ricker;
use crate::laws::bent;
use crate::shots::relative_difference;

const ROCK: [f64; 3] = [2500.0, 3000.0, 1700.0];

fn rock() -> (Vec<Medium>, Vec<[f64; 2]>) {
    let [density, vp, vs] = ROCK;
    (vec![Medium::isotropic(density, vp, vs); 2], vec![[vp, vs]; 2])
}

#[test]
fn a_sponge_only_loses_energy_at_the_largest_step() {
    let (media, speeds) = rock();
    let mut body = Body::new(bent([6, 5, 4], true), media, speeds, 1.0);
    body.sponge = Some(Sponge {
        thickness: 150.0,
        left: 0.01,
    });
    let mut engine = body.engine(&[]);
    let middle = [300.0, 250.0, 200.0];
    engine.displace(&body.setup(&[]), |x| {
        let square: f64 = (0..3).map(|c| ((x[c] - middle[c]) / 90.0).powi(2)).sum();
        [1e-3 * (-square).exp(), 0.0, -2e-3 * (-square).exp()]
    });
    let first = engine.energy();
    let (mut least, mut last) = (first, first);
    for step in 0..1500 {
        engine.step();
        last = engine.energy();
        // The scheme's own sum includes the work of the damping half a step late.
        assert!(
            last < least + 1e-2 * first,
            "step {step}: {last} after {least} of {first}"
        );
        least = least.min(last);
    }
    assert!(last < 2e-4 * first, "{last} of {first} is left");
}

const PEAK: f64 = 4.0;

/// Records in a block of 2400 x 1200 m of rock with a free surface, whose sides are `beyond` elements of 100 m farther
/// away. Waves meet the sides at angles up to grazing incidence.
fn plane(beyond: usize, sponge: Option<Sponge>) -> Vec<Vec<[f64; 2]>> {
    let mesh = block::<2>(
        [24 + 2 * beyond, 12 + beyond],
        |u| [100.0 * (u[0] - beyond as f64), 100.0 * u[1]],
        |_| 0,
        |axis, high| axis == 0 || high,
    );
    let (media, speeds) = rock();
    let mut body = Body::new(mesh, media, speeds, 1.0);
    body.dt = 3e-3;
    body.sponge = sponge;
    let source = Source {
        at: [1230.0, 230.0],
        strength: Strength::Force([0.3e9, 1e9]),
        history: ricker(PEAK, 3e-3, 400),
    };
    let receivers = [[500.0, 0.0], [700.0, 480.0], [1900.0, 100.0]];
    body.records(source, &receivers, (Quantity::Displacement, 700))
}

/// The sides without a sponge reflect 11 % of the largest wave. Layers of 0.5, 1, 1.5, 2 and 3 wavelengths of P at the
/// peak of a Ricker wavelet leave 9, 3, 1.2, 0.8 and 0.3 % of it, nearly the same for `left` from 0.01 to 0.1. The
/// reflections consist of lower frequencies, for which a layer is thinner.
#[test]
fn a_sponge_of_two_wavelengths_sends_back_a_hundredth() {
    let truth = plane(36, None);
    let all = || truth.iter().flatten().flatten();
    let echo = |records: &[Vec<[f64; 2]>]| relative_difference(records.iter().flatten().flatten(), all());
    let bare = echo(&plane(0, None));
    let [half, one, two] = [0.5, 1.0, 2.0].map(|wavelengths| {
        let thickness = wavelengths * ROCK[1] / PEAK;
        let beyond = (thickness / 100.0).round() as usize;
        echo(&plane(
            beyond,
            Some(Sponge {
                thickness,
                left: 0.03,
            }),
        ))
    });
    println!("sides only {bare:.4}, half a wavelength {half:.4}, one {one:.4}, two {two:.4}");
    assert!(bare > 0.1 && half > 0.08, "{bare} {half}");
    assert!(one < 0.035 && two < 0.01, "{one} {two}");
}
