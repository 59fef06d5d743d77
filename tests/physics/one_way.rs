//! The upwind form of the one-way condition has the same reflections as the published form, at every face: for waves
//! that are long compared with the grid both are the same condition, and the original programs use the published one.

use crate::shots::{Ricker, Tape, largest_difference, medium, run_on, shot};
use kernels::boundary::one_way::Form;
use kernels::grid::{Grid, Padded};
use kernels::medium::{Speeds, Stiffness};
use kernels::methods::displacement::Shot;

const N: [usize; 3] = [34, 36, 38];
/// The frame is so thin that the condition at its end, not the sponge, absorbs the waves.
const NB: usize = 4;

#[test]
fn the_upwind_condition_sends_back_what_the_published_one_does_on_every_face() {
    let padded = Padded::new(&Grid::new_3d(N, [0.0; 3], [1.0; 3]), NB);
    let w = Ricker::starting_at_zero(0.045);
    let dt = 0.2f32;
    let nt = ((40.0 + w.t0) / f64::from(dt)) as usize;
    let middle = [17.0, 18.0, 19.0];
    // Receivers are two nodes in front of every face, near its middle.
    let receivers: Vec<[f32; 3]> = (0..3)
        .flat_map(|axis| [2.0, N[axis] as f32 - 3.0].map(|place| (axis, place)))
        .map(|(axis, place)| {
            let mut at = middle.map(|c| c + 3.0);
            at[axis] = place;
            at
        })
        .collect();
    let speeds = Speeds {
        vp: 2.0,
        vs: 1.2,
        rho: 2.0,
    };
    let run = |absorbing: bool, one_way: Form| -> Tape<f32> {
        let s = Shot {
            absorbing,
            one_way,
            ..shot(
                dt,
                w.samples(nt, dt, &[1.0, 0.8, -0.9]),
                vec![middle],
                receivers.clone(),
            )
        };
        run_on(
            &s,
            medium(&padded, |_| (Stiffness::isotropic(speeds), 2.0)),
            2,
            &[],
        )
        .expect("the shot runs")
    };
    let (rigid, published, upwind) = (
        run(false, Form::Box),
        run(true, Form::Box),
        run(true, Form::Upwind),
    );
    for (k, at) in receivers.iter().enumerate() {
        let apart = |a: &Tape<f32>, b: &Tape<f32>| {
            let all = |tape: &Tape<f32>| (0..3).flat_map(|c| tape.trace(c, k, 6)).collect::<Vec<_>>();
            largest_difference(all(a), all(b))
        };
        let share = apart(&upwind, &published) / apart(&rigid, &published);
        println!("{at:?}: {share:.4}");
        assert!(share < 0.07, "{at:?}: {share}");
    }
}
