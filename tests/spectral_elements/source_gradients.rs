//! The derivatives of a misfit with respect to the sources, compared with finite differences.

use kernels::Error;
use kernels::device::cpu::Cpu;
use kernels::methods::spectral_elements::adjoint::{Adjoint, Parameters, SourceGradient};
use kernels::methods::spectral_elements::{Grain, Quantity, Source, Strength};
use kernels::time_loop::reversal::CheckpointSchedule;

use crate::cases::{Case, SOLID, WATER, bent, body, recorded, shot, sources};
use crate::shots::largest;

/// Number of steps of the runs; in three dimensions they cost more.
const fn steps<const D: usize>() -> usize {
    if D == 2 { 220 } else { 150 }
}

/// Half the sum of the squares of the records, and its derivatives with respect to the sources if requested.
fn run<const D: usize>(
    case: &Case,
    changed: &[Source<D>],
    with_gradient: bool,
) -> (f64, Option<Vec<SourceGradient<D>>>) {
    let body = body::<D>(case, case.rocks);
    let setup = body.setup(changed);
    let shot = shot(steps::<D>(), case);
    let mut adjoint = Adjoint::new(Cpu::new(1).unwrap(), &setup, &shot, Parameters::Speeds).unwrap();
    // Some steps are computed twice.
    let most = adjoint.sizes()[1] * adjoint.steps() / 3;
    let schedule = CheckpointSchedule::choose(adjoint.steps(), adjoint.sizes(), most).unwrap();
    let mut misfit = 0.0;
    let gradients = adjoint.gradient_with_sources((&setup, &shot), &schedule, |records| {
        let records = recorded(&records, &shot);
        misfit = records.iter().map(|x| 0.5 * f64::from(*x).powi(2)).sum();
        match with_gradient {
            true => Ok(records),
            // The adjoint run is not needed.
            false => Err(Error::setup("enough")),
        }
    });
    assert_eq!(gradients.is_ok(), with_gradient);
    (misfit, gradients.ok().map(|(_, sources)| sources))
}

/// The index of the largest sample.
fn largest_sample(history: &[f32]) -> usize {
    let by_size = |a: &usize, b: &usize| history[*a].abs().total_cmp(&history[*b].abs());
    (0..history.len()).max_by(by_size).unwrap()
}

/// A central difference of the misfit if the sources change by steps.
fn central<const D: usize>(
    (case, sources): (&Case, &[Source<D>]),
    step: f64,
    change: &dyn Fn(&mut Vec<Source<D>>, f64),
) -> f64 {
    let at = |by: f64| {
        let mut changed = sources.to_vec();
        change(&mut changed, by);
        run(case, &changed, false).0
    };
    (at(step) - at(-step)) / (2.0 * step)
}

/// Compares the derivatives with respect to all parameters of a source with central differences, the derivatives with
/// respect to its position with fourth-order differences.
fn compare<const D: usize>(case: &Case) {
    let dt = body::<D>(case, case.rocks).dt;
    let mut all = sources::<D>(case, dt, steps::<D>());
    // The waves of this force are about as strong as the waves of the moment.
    if let Strength::Force(force) = &mut all[1].strength {
        force.iter_mut().for_each(|force| *force *= 30.0);
    }
    let gradients = run(case, &all, true).1.unwrap();
    assert_eq!(gradients.len(), 2);
    // Records are linear in strengths and time functions, so that the misfit is quadratic in them and these differences
    // are exact.
    let difference =
        |step: f64, change: &dyn Fn(&mut Vec<Source<D>>, f64)| central((case, &all), 2.0 * step, change);
    let mut apart = Vec::new();
    let mut judge = |what: &str, derivative: f64, truth: f64| {
        println!("{D}-D {what}: {derivative:e}, by differences {truth:e}");
        apart.push((derivative - truth) / truth);
    };
    for (number, source) in gradients.iter().enumerate() {
        for c in 0..D {
            let moved = |step: f64| central((case, &all), step, &|all, by| all[number].at[c] += by);
            // In 3-D, second order is sufficient.
            let truth = match D {
                2 => (4.0 * moved(1.0) - moved(2.0)) / 3.0,
                _ => moved(1.0),
            };
            judge(&format!("source {number} place {c}"), source.place[c], truth);
        }
        match (&all[number].strength, &source.strength) {
            (Strength::Force(force), Strength::Force(by)) => {
                for c in 0..D {
                    let truth = difference(0.1 * force[c], &|all, by| {
                        if let Strength::Force(force) = &mut all[number].strength {
                            force[c] += by;
                        }
                    });
                    judge(&format!("force {c}"), by[c], truth);
                }
            }
            (Strength::Moment(moment), Strength::Moment(by)) => {
                // In water the moment remains an explosion.
                let water = case.rocks[0][1] == 0.0;
                let pairs: &[(usize, usize)] = if water { &[(0, 0)] } else { &[(0, 0), (0, D - 1)] };
                for &(i, c) in pairs {
                    let truth = difference(0.1 * moment[0][0], &|all, by| {
                        let Strength::Moment(moment) = &mut all[number].strength else {
                            return;
                        };
                        match (water, i == c) {
                            (true, _) => (0..D).for_each(|c| moment[c][c] += by),
                            (false, true) => moment[i][i] += by,
                            (false, false) => {
                                moment[i][c] += by;
                                moment[c][i] += by;
                            }
                        }
                    });
                    let whole = match (water, i == c) {
                        (true, _) => (0..D).map(|c| by[c][c]).sum(),
                        (false, true) => by[i][i],
                        (false, false) => by[i][c] + by[c][i],
                    };
                    judge(&format!("moment {i} {c}"), whole, truth);
                }
            }
            other => panic!("{other:?}"),
        }
        let history = &all[number].history;
        let at = largest_sample(history);
        let step = 0.2 * f64::from(history[at]);
        let truth = difference(step, &|all, by| all[number].history[at] += by as f32);
        judge(&format!("sample {at}"), source.history[at], truth);
    }
    let error = largest(apart);
    println!("{D}-D {case:?}: within {error:.1e} of finite differences");
    // The remaining error is due to differences between misfits of records in single precision; it is smaller for fewer
    // steps.
    let most = if D == 2 { 1e-3 } else { 5e-3 };
    assert!(error < most, "{error:e}");
}

#[test]
fn gradients_by_sources_are_those_of_finite_differences() {
    compare::<2>(&SOLID);
    compare::<2>(&Case {
        quantity: Quantity::Velocity,
        loss: Some(Grain::Coarse),
        sponge: true,
        ..SOLID
    });
    compare::<2>(&WATER);
    compare::<3>(&Case {
        loss: Some(Grain::Fine),
        ..SOLID
    });
}

/// For a source at a corner of elements: the sum of the derivatives with respect to its strength, times the strength,
/// and the sum of the derivatives with respect to its time function. Records are linear in both, so half the sum of
/// their squares is quadratic, and each sum is twice the misfit (Euler).
fn sums<const D: usize>(case: &Case, which: usize) -> f64 {
    let dt = body::<D>(case, case.rocks).dt;
    let mut source = sources::<D>(case, dt, steps::<D>()).swap_remove(which);
    source.at = bent(std::array::from_fn(|c| if c + 1 == D { 1.0 } else { 2.0 }));
    let (misfit, gradient) = run(case, &[source.clone()], true);
    let gradient = gradient.unwrap().remove(0);
    let by_strength: f64 = match (&source.strength, &gradient.strength) {
        (Strength::Force(force), Strength::Force(by)) => force.iter().zip(by).map(|(f, by)| f * by).sum(),
        (Strength::Moment(moment), Strength::Moment(by)) => {
            let pairs = (0..D).flat_map(|i| (0..D).map(move |c| (i, c)));
            pairs
                .map(|(i, c)| {
                    assert_eq!(by[i][c], by[c][i], "the tensor is symmetric");
                    moment[i][c] * by[i][c]
                })
                .sum()
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(gradient.history.len(), source.history.len());
    let samples = source.history.iter().zip(&gradient.history);
    let by_history: f64 = samples.map(|(h, by)| f64::from(*h) * by).sum();
    let error = largest([by_strength, by_history].map(|sum| sum / (2.0 * misfit) - 1.0));
    println!(
        "{D}-D {:?}: within {error:.1e} of twice the misfit",
        source.strength
    );
    error
}

/// All elements around a corner have a part of a source there.
#[test]
fn derivatives_by_sources_at_corners_sum_up_to_twice_the_misfit() {
    let errors = [
        sums::<2>(&SOLID, 0),
        sums::<2>(&SOLID, 1),
        sums::<3>(&SOLID, 0),
        sums::<3>(&SOLID, 1),
        sums::<2>(&WATER, 0),
        sums::<3>(&WATER, 0),
    ];
    // The tolerance is the rounding of single precision.
    assert!(largest(errors) < 1e-5);
}
