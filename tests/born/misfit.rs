//! Misfits and their gradients with respect to the medium: the remainder beyond the gradient is of second order, and
//! derivatives with respect to single cells agree with finite differences, for every kind of misfit, with the given
//! source and with an estimated source.

use crate::bench::{Case, Random, dot, plain, records};
use crate::shots::{largest, magnitude};
use kernels::methods::velocity_stress::born::CheckpointSchedule;
use kernels::misfit::{Misfit, Observed};

/// A run longer than the others, so that traces contain more than one wave.
fn case() -> Case {
    Case {
        nt: 110,
        surface: true,
        ..plain(2)
    }
}

fn kinds() -> impl Iterator<Item = (Misfit, bool)> {
    let kinds = [Misfit::Squares, Misfit::Correlation, Misfit::Envelope];
    kinds.into_iter().flat_map(|kind| [(kind, false), (kind, true)])
}

fn compared(kind: Misfit, estimate: bool, modelled: &[f64], observed: &Observed<f64>) -> (f64, Vec<f64>) {
    match estimate {
        false => kind.of(modelled, observed),
        true => {
            let (misfit, adjoint_source, _) = kind
                .of_filtered(modelled, observed, 0.01)
                .expect("waves have arrived");
            (misfit, adjoint_source)
        }
    }
}

/// Records of the medium plus `share` times a perturbation.
fn data(case: &Case, perturbation: &[f64], share: f64) -> Vec<f64> {
    let shot = case.shot();
    let born = case.born(&shot, case.perturbed(perturbation, share));
    let [records, _] = records(&born, None);
    records
}

/// Observed records of another medium, delayed and with a mute.
fn observed(case: &Case, values: usize) -> Observed<f64> {
    let born = case.born::<f64>(&case.shot(), case.medium());
    let far: Vec<f64> = case.perturbation(&born, &mut Random(11));
    let mut data = data(case, &far.iter().map(|x| 0.4 * x).collect::<Vec<_>>(), 1.0);
    data.rotate_right(2 * values);
    let weight = (0..data.len()).map(|k| {
        if k < 12 * values {
            0.0
        } else {
            1.0 + 0.2 * (k % 3) as f64
        }
    });
    let weight = weight.collect();
    Observed::new(values, data, Some(weight)).expect("sizes agree")
}

#[test]
fn what_is_left_is_of_second_order() {
    let case = case();
    let born = case.born::<f64>(&case.shot(), case.medium());
    let observed = observed(&case, born.values());
    let mut perturbation = case.perturbation(&born, &mut Random(3));
    perturbation.iter_mut().for_each(|x| *x *= 0.01);
    let schedule =
        CheckpointSchedule::choose(case.nt, born.sizes(), usize::MAX / 4).expect("unlimited memory");
    let shares = [0.3, 0.03, 0.003, 0.0003];
    let after = shares.map(|h| data(&case, &perturbation, h));
    for (kind, estimate) in kinds() {
        let mut before = 0.0;
        let mut residual = |modelled: &[f64]| {
            let (misfit, adjoint_source) = compared(kind, estimate, modelled, &observed);
            before = misfit;
            Ok(adjoint_source)
        };
        let gradient = born.gradient(&mut residual, &schedule).expect("the shot runs");
        let slope = dot(&gradient, &perturbation);
        let left = |k: usize| {
            let (misfit, _) = compared(kind, estimate, &after[k], &observed);
            (misfit - before - shares[k] * slope).abs()
        };
        let remainders = [0, 1, 2, 3].map(left);
        let orders: Vec<f64> = remainders
            .windows(2)
            .map(|pair| (pair[0] / pair[1]).log10())
            .collect();
        println!("{kind:?} estimate={estimate}: misfit {before:.3e}, orders {orders:.3?}");
        assert!(
            orders.iter().all(|order| (order - 2.0).abs() < 0.1),
            "{kind:?} {estimate}: {orders:?}"
        );
    }
}

#[test]
fn gradients_are_finite_differences() {
    let case = case();
    let born = case.born::<f64>(&case.shot(), case.medium());
    let observed = observed(&case, born.values());
    let schedule =
        CheckpointSchedule::choose(case.nt, born.sizes(), usize::MAX / 4).expect("unlimited memory");
    let cells = case.grid().cells();
    let gradients: Vec<Vec<f64>> = kinds()
        .map(|(kind, estimate)| {
            let mut residual = |modelled: &[f64]| Ok(compared(kind, estimate, modelled, &observed).1);
            born.gradient(&mut residual, &schedule).expect("the shot runs")
        })
        .collect();
    for parameter in 0..3 {
        // These are the ten cells where all of the gradients are largest.
        let loud = |cell: usize| {
            let share = gradients.iter().map(|gradient| {
                let own = &gradient[parameter * cells..][..cells];
                own[cell].abs() / magnitude(own)
            });
            share.fold(1.0, f64::min)
        };
        let mut all: Vec<(f64, usize)> = (0..cells).map(|cell| (loud(cell), cell)).collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut offs = Vec::new();
        for &(share, cell) in &all[..10] {
            let mut single = vec![0.0; gradients[0].len()];
            single[parameter * cells + cell] = 1.0;
            let h = 1e-4;
            let both = [h, -h].map(|h| data(&case, &single, h));
            for ((kind, estimate), gradient) in kinds().zip(&gradients) {
                let [plus, minus] = both
                    .each_ref()
                    .map(|modelled| compared(kind, estimate, modelled, &observed).0);
                let (difference, own) = ((plus - minus) / (2.0 * h), gradient[parameter * cells + cell]);
                let off = (difference - own).abs() / own.abs();
                assert!(
                    off <= 1e-3,
                    "{kind:?} {estimate} parameter {parameter} cell {cell} ({share:.2}): {difference} {own}"
                );
                offs.push(off);
            }
        }
        println!("parameter {parameter}: {:.1e}", largest(offs));
    }
}
