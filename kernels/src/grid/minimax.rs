//! Minimax weights of staggered derivatives: for a given number of weights and a shortest wavelength they minimise
//! the largest relative error of the wave number of all longer waves (Holberg 1987 for group velocities, Liu 2014 for
//! the error itself). They are found by the Remez exchange algorithm, which takes a few iterations for two to four
//! weights.

use super::stencil::{Family, StaggeredWeights, staggered};
use std::f64::consts::PI;

/// Number of wave numbers at which the error is evaluated.
const LOOKED_AT: usize = 4000;

/// Iterations after which the Remez algorithm is stopped; it converges in less than ten.
const ROUNDS: usize = 40;

/// Number of points per wavelength beyond which the error cannot be reduced any further in double precision.
const LONGEST: f64 = 60.0;

/// The numerical wave number of a staggered derivative with these weights divided by the true one, for waves with
/// `points` points per wavelength. With exact time stepping this is also the relative phase velocity of plane waves
/// along an axis.
pub fn velocity(weights: &[f64], points: f64) -> f64 {
    let kappa = 2.0 * PI / points;
    let term = |(m, c): (usize, &f64)| c * 2.0 * ((m as f64 + 0.5) * kappa).sin() / kappa;
    weights.iter().enumerate().map(term).sum()
}

/// The largest relative error of the phase velocity of all waves with at least `points` points per wavelength, with
/// exact time stepping. It bounds the error in any direction of a grid with equal spacings, for P and S waves alike.
pub fn largest_error(weights: &[f64], points: f64) -> f64 {
    let error = |k: usize| (velocity(weights, points * LOOKED_AT as f64 / k as f64) - 1.0).abs();
    (1..=LOOKED_AT).map(error).fold(0.0, f64::max)
}

/// The weights of this order (2, 4 or 8) with the smallest [`largest_error`] for waves with at least `points` points
/// per wavelength. `None` for other orders, and unless `points` is above 2.
pub fn minimax(order: usize, points: f64) -> Option<Family> {
    let taylor = staggered(order, Family::Taylor)?;
    if points.is_nan() || points <= 2.0 {
        return None;
    }
    let points = points.min(LONGEST);
    let optimum = exchanged(taylor.len(), 2.0 * PI / points);
    let mut best = StaggeredWeights::new(&taylor);
    if let Some(weights) = optimum.filter(|weights| weights.iter().all(|c| c.is_finite())) {
        let better = StaggeredWeights::new(&weights);
        if largest_error(&better, points) < largest_error(&best, points) {
            best = better;
        }
    }
    Some(Family::Chosen(best))
}

/// Computes `count` weights by the Remez exchange algorithm on wave numbers (radians per cell) up to `most`; `None`
/// if it fails.
fn exchanged(count: usize, most: f64) -> Option<Vec<f64>> {
    let basis = |m: usize, kappa: f64| 2.0 * ((m as f64 + 0.5) * kappa).sin() / kappa;
    let at = |k: usize| most * k as f64 / LOOKED_AT as f64;
    // Start from the extrema of a Chebyshev polynomial between zero and the largest wave number.
    let share = |k: usize| 0.5 * (1.0 - (PI * (k as f64 + 0.5) / (count as f64 + 0.5)).cos());
    let mut places: Vec<usize> = (0..=count)
        .map(|k| ((share(k) * LOOKED_AT as f64) as usize).clamp(1, LOOKED_AT))
        .collect();
    places[count] = LOOKED_AT;
    let mut weights = Vec::new();
    for _ in 0..ROUNDS {
        let row = |(sign, &place): (f64, &usize)| -> Vec<f64> {
            let terms = (0..count).map(|m| basis(m, at(place)));
            terms.chain([sign, 1.0]).collect()
        };
        let signs = [1.0, -1.0].into_iter().cycle();
        let mut solved = crate::grid::solve::solved(signs.zip(&places).map(row).collect());
        solved.pop();
        weights = solved;
        let errors: Vec<f64> = (1..=LOOKED_AT)
            .map(|k| {
                let terms = weights.iter().enumerate();
                terms.map(|(m, c)| c * basis(m, at(k))).sum::<f64>() - 1.0
            })
            .collect();
        // The largest error of every interval in which the error keeps its sign.
        let mut tops: Vec<usize> = Vec::new();
        for (k, error) in errors.iter().enumerate() {
            match tops.last_mut() {
                Some(top) if errors[*top].signum() == error.signum() => {
                    if error.abs() > errors[*top].abs() {
                        *top = k;
                    }
                }
                _ => tops.push(k),
            }
        }
        // If there are too many, keep the last ones, which are the largest.
        let tops: Vec<usize> = tops.iter().rev().take(count + 1).rev().map(|k| k + 1).collect();
        if tops.len() <= count {
            return None;
        }
        if tops == places {
            break;
        }
        places = tops;
    }
    Some(weights)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(order: usize, points: f64) -> StaggeredWeights {
        match minimax(order, points) {
            Some(Family::Chosen(weights)) => weights,
            other => panic!("{other:?}"),
        }
    }

    /// The error takes its largest absolute value with alternating signs, one time more than there are weights: by
    /// Chebyshev's equioscillation theorem no weights are better.
    #[test]
    fn errors_alternate() {
        for order in [2usize, 4, 8] {
            for points in [2.2, 2.6, 3.65, 5.0, 8.0, 12.0] {
                let weights = of(order, points);
                let most = largest_error(&weights, points);
                let error = |k: usize| velocity(&weights, points * 2000.0 / k as f64) - 1.0;
                let mut signs = Vec::new();
                for k in 1..=2000 {
                    let error = error(k);
                    if error.abs() > 0.999 * most && signs.last() != Some(&error.signum()) {
                        signs.push(error.signum());
                    }
                }
                // Smaller errors are rounding errors of double precision.
                if most > 1e-11 {
                    assert_eq!(signs.len(), order / 2 + 1, "order {order}, {points}: {most:e}");
                }
                let taylor = staggered(order, Family::Taylor).unwrap();
                assert!(most <= largest_error(&taylor, points), "order {order}, {points}");
            }
        }
        assert!(minimax(6, 5.0).is_none() && minimax(4, 2.0).is_none());
    }

    /// The numbers of points per wavelength at which a derivative has errors of 1e-2 to 1e-5 were computed
    /// independently by linear programming.
    #[test]
    fn points_are_those_of_a_linear_programme() {
        for (order, published) in [(4, [3.2, 5.6, 9.8, 17.4]), (8, [2.2, 2.8, 3.65, 4.8])] {
            for (error, points) in [1e-2, 1e-3, 1e-4, 1e-5].into_iter().zip(published) {
                let ratio = |points: f64| largest_error(&of(order, points), points) / error;
                println!("order {order}, {points}: {}", ratio(points));
                // The table is rounded to a few hundredths.
                assert!(
                    ratio(0.97 * points) > 1.0 && ratio(1.03 * points) < 1.0,
                    "order {order}, {points}"
                );
            }
        }
    }

    #[test]
    fn long_waves_have_weights_too() {
        for points in [100.0, 1e4, f64::INFINITY] {
            for order in [2, 4, 8] {
                let most = largest_error(&of(order, points), points);
                assert!(most < 5e-4, "order {order}: {most}");
            }
        }
    }
}
