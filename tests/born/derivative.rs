//! The operator is the derivative of the records with respect to the medium: the remainder is of second order, and
//! gradients agree with finite differences.

use crate::bench::{Case, Random, dot, plain, records};
use crate::shots::{largest, magnitude};
use kernels::medium::attenuation::Mechanisms;
use kernels::methods::velocity_stress::Quantity;
use kernels::methods::velocity_stress::born::{CheckpointSchedule, Parameters};

fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for ndim in [2, 3] {
        let base = plain(ndim);
        all.extend([
            Case {
                surface: true,
                ..base.clone()
            },
            Case {
                order: 8,
                parameters: Parameters::Lame,
                fluid: true,
                quantity: Quantity::Pressure,
                ..base.clone()
            },
            Case {
                order: 2,
                sponge: true,
                parameters: Parameters::Impedances,
                mechanisms: Some(Mechanisms::Everywhere(2)),
                surface: true,
                ..base.clone()
            },
            Case {
                anisotropic: true,
                surface: true,
                parameters: Parameters::Stiffness,
                mechanisms: Some(Mechanisms::Coarse),
                ..base.clone()
            },
        ]);
    }
    all
}

/// Records of the medium plus `share` times a perturbation.
fn data(case: &Case, perturbation: &[f64], share: f64) -> Vec<f64> {
    let shot = case.shot();
    let born = case.born(&shot, case.perturbed(perturbation, share));
    let [records, _] = records(&born, None);
    records
}

/// The remainder is of second order: `|d(m + h p) - d(m) - h L p| <= C h^2` holds for h over three decades.
#[test]
fn what_is_left_is_of_second_order() {
    for case in cases() {
        let shot = case.shot();
        let born = case.born::<f64>(&shot, case.medium());
        let mut perturbation = case.perturbation(&born, &mut Random(3));
        perturbation.iter_mut().for_each(|x| *x *= 0.2);
        let [before, change] = records(&born, Some(&perturbation));
        let left = |h: f64| {
            let after = data(&case, &perturbation, h);
            let rest = after
                .iter()
                .zip(&before)
                .zip(&change)
                .map(|((a, b), c)| a - b - h * c);
            rest.map(|x| x * x).sum::<f64>().sqrt()
        };
        let shares = [0.3, 0.03, 0.003, 0.0003];
        let remainders = shares.map(left);
        let orders: Vec<f64> = remainders
            .windows(2)
            .map(|pair| (pair[0] / pair[1]).log10())
            .collect();
        println!("orders {orders:.3?} {case:?}");
        assert!(
            orders.iter().all(|order| (order - 2.0).abs() < 0.1),
            "{orders:?} {case:?}"
        );
    }
}

/// The gradient of half the sum of squared residuals is compared for every parameter, at ten cells in 2-D and at four
/// in 3-D.
#[test]
fn gradients_are_finite_differences() {
    for case in cases() {
        let shot = case.shot();
        let born = case.born::<f64>(&shot, case.medium());
        let [before, _] = records(&born, None);
        let observed: Vec<f64> = before.iter().map(|x| 0.6 * x).collect();
        let apart =
            |records: &[f64]| -> Vec<f64> { records.iter().zip(&observed).map(|(a, b)| a - b).collect() };
        let residual = apart(&before);
        let schedule =
            CheckpointSchedule::choose(case.nt, born.sizes(), usize::MAX / 4).expect("unlimited memory");
        let gradient = born.adjoint(&residual, &schedule).expect("the reverse sweep");
        let cells = case.grid().cells();
        let misfit = |perturbation: &[f64], share: f64| {
            let rest = apart(&data(&case, perturbation, share));
            0.5 * dot(&rest, &rest)
        };
        for parameter in 0..born.perturbation_len() / cells {
            let own = &gradient[parameter * cells..][..cells];
            let most = magnitude(own);
            // Only cells with large derivatives are compared.
            let loud = (0..cells)
                .filter(|&cell| own[cell].abs() > 0.02 * most)
                .collect::<Vec<_>>();
            let mut all = Vec::new();
            let looked_at = if case.ndim == 3 { 4 } else { 10 };
            for cell in loud.iter().step_by(loud.len().div_ceil(looked_at)) {
                let mut single = vec![0.0; gradient.len()];
                single[parameter * cells + cell] = 1.0;
                let h = 1e-4;
                let difference = (misfit(&single, h) - misfit(&single, -h)) / (2.0 * h);
                let off = (difference - own[*cell]).abs() / own[*cell].abs();
                assert!(off <= 1e-3, "parameter {parameter} cell {cell}: {off} {case:?}");
                all.push(off);
            }
            println!("parameter {parameter}: {:.1e}", largest(all));
        }
    }
}
