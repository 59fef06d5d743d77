//! One axis of a dataset.

/// One axis: `n` samples at `o + i d`.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Number of samples.
    pub n: usize,
    /// Origin, in the axis' unit.
    pub o: f32,
    /// Sampling, in the axis' unit.
    pub d: f32,
    /// What runs along the axis.
    pub label: Option<String>,
    /// Unit of `o` and `d`.
    pub unit: Option<String>,
}

impl Axis {
    /// An axis without label and unit.
    pub fn new(n: usize, o: f32, d: f32) -> Self {
        Self {
            n,
            o,
            d,
            label: None,
            unit: None,
        }
    }

    /// The same axis with a label.
    pub fn label(mut self, label: &str) -> Self {
        self.label = Some(label.to_string());
        self
    }

    /// The same axis with a unit.
    pub fn unit(mut self, unit: &str) -> Self {
        self.unit = Some(unit.to_string());
        self
    }
}

impl Default for Axis {
    /// What an axis without keys is read as: one sample at 0, sampling 1.
    fn default() -> Self {
        Self::new(1, 0.0, 1.0)
    }
}
