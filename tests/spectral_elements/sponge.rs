//! A sponge along absorbing sides only loses energy, and the stable step stays.

use kernels::mesh::step::Medium;
use kernels::methods::spectral_elements::Sponge;

use crate::blocks::Body;
use crate::laws::bent;

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
        // The scheme's own sum counts the work of the damping half a step late.
        assert!(
            last < least + 1e-2 * first,
            "step {step}: {last} after {least} of {first}"
        );
        least = least.min(last);
    }
    assert!(last < 2e-4 * first, "{last} of {first} is left");
}
