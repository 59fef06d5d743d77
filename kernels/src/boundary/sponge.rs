//! The exponential sponge (Cerjan et al. 1985): in the frame, fields are multiplied by weights below one in every step.

use crate::device::simd::Real;

/// Weights along an axis of `n` padded cells with `nb` cells of frame at both ends: `exp(-(k/(4 sqrt(2) nb))^2)`, with
/// `k` counted outwards from the innermost frame cell (0) to the outermost (`nb-1`), and 1 inside the model.
///
/// The weight of a cell is the product over the axes. Each operation rounds to float32, as in the original programs.
pub fn profile<T: Real>(n: usize, nb: usize) -> Vec<T> {
    let mut w = vec![T::of(1.0); n];
    let scale = (2f32.sqrt()) * 4.0 * nb as f32;
    for i in 0..nb {
        let x = (nb - 1 - i) as f32 / scale;
        let weight = T::of(f64::from((-(x * x)).exp()));
        w[i] = weight;
        w[n - 1 - i] = weight;
    }
    w
}

/// Weights along an axis of `n` cells, of which `outside` lie before and after the model and `thick`, from the model
/// outwards, are sponge: `exp(-(a k)^2)`, `k` counted outwards from 1, with `a` such that the weight is `edge` at full
/// thickness and beyond. Cerjan et al. use 20 cells and `edge = 0.914`; the AWP code uses 0.92.
pub fn faces<T: Real>(n: usize, outside: [usize; 2], thick: [usize; 2], edge: f64) -> Vec<T> {
    let weight = |k: usize, thick: usize| {
        let share = (k as f64 / thick as f64).min(1.0);
        T::of(edge.powf(share * share))
    };
    let mut w = vec![T::of(1.0); n];
    for k in 1..=outside[0] {
        if thick[0] > 0 {
            w[outside[0] - k] = weight(k, thick[0]);
        }
    }
    for k in 1..=outside[1] {
        if thick[1] > 0 {
            w[n - outside[1] - 1 + k] = weight(k, thick[1]);
        }
    }
    w
}

#[cfg(test)]
mod tests {
    #[test]
    fn faces_differ_and_reach_their_edge() {
        let w = super::faces::<f64>(30, [9, 4], [5, 0], 0.92);
        assert!(w[9..].iter().all(|&x| x == 1.0));
        assert!((w[4] - 0.92).abs() < 1e-12 && w[0] == w[4] && w[8] > w[7]);
    }

    #[test]
    fn one_inside_falling_outwards_and_symmetric() {
        let w = super::profile::<f32>(30, 10);
        assert!(w[9..=20].iter().all(|&x| x == 1.0));
        assert!(w[..10].windows(2).all(|p| p[0] < p[1]));
        assert!((f64::from(w[0]) - (-(0.9f64.powi(2)) / 32.0).exp()).abs() < 1e-7);
        assert!((0..30).all(|i| w[i] == w[29 - i]));
    }
}
