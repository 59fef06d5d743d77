//! Rotates records from the axes of the model to the directions up, north and east.

use kernels::earth::Frame;

/// The rotation from the components z, x, y of every receiver to its Z, N, E.
pub struct Turn {
    /// The matrix of every receiver, with rows Z, N, E and columns z, x, y.
    rows: Vec<[[f32; 3]; 3]>,
}

impl Turn {
    /// The rotation for receivers with these axes.
    pub fn new(frames: &[Frame]) -> Self {
        let row = |axis: [f64; 3]| [axis[2], axis[0], axis[1]].map(|c| c as f32);
        let rows = frames.iter().map(|f| [f.up, f.north, f.east].map(row)).collect();
        Self { rows }
    }

    /// Rotates records `[component][receiver]` of z, x, y to Z, N, E; values after the three components are
    /// not changed.
    pub fn apply(&self, traces: &[f32]) -> Vec<f32> {
        self.turned(traces, |row, to, from| row[to][from])
    }

    /// The transpose: from Z, N, E to z, x, y.
    pub fn transposed(&self, traces: &[f32]) -> Vec<f32> {
        self.turned(traces, |row, to, from| row[from][to])
    }

    fn turned(&self, traces: &[f32], entry: impl Fn(&[[f32; 3]; 3], usize, usize) -> f32) -> Vec<f32> {
        let n = self.rows.len();
        let value = |to: usize, r: usize| {
            let of = |from: usize| entry(&self.rows[r], to, from) * traces[from * n + r];
            (0..3).map(of).sum::<f32>()
        };
        let each = (0..3).flat_map(|to| (0..n).map(move |r| (to, r)));
        let turned = each.map(|(to, r)| value(to, r));
        turned.chain(traces[3 * n..].iter().copied()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_up_is_all_in_the_first_component() {
        let frames = [Frame::at(30.0, 50.0), Frame::at(-60.0, 200.0)];
        let mut traces = vec![7.0; 7];
        for (r, frame) in frames.iter().enumerate() {
            for (c, axis) in [2, 0, 1].into_iter().enumerate() {
                traces[2 * c + r] = (2.0 * frame.up[axis] - 0.5 * frame.east[axis]) as f32;
            }
        }
        let turned = Turn::new(&frames).apply(&traces);
        let back = Turn::new(&frames).transposed(&turned);
        assert!(back.iter().zip(&traces).all(|(a, b)| (a - b).abs() < 1e-6));
        for (got, want) in turned.iter().zip([2.0, 2.0, 0.0, 0.0, -0.5, -0.5, 7.0]) {
            assert!((got - want).abs() < 1e-6);
        }
    }
}
