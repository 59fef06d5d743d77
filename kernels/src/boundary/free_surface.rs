//! A free surface at the top of the model, and the stresses that vanish above it.

/// Condition at the top of the model. A free surface lies at the padded z index `nb`, at the top nodes of the model;
/// the variants say which stresses are zero above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// No free surface: the absorbing frame (or the rigid boundary) also covers the top.
    None,
    /// All stresses are zero above the top nodes of the model, as in the original CPU programs; the one-way condition
    /// is not applied at the top.
    Vacuum,
    /// Only the stresses with a `z` index vanish there, as in the original CUDA program.
    Traction,
}

impl Surface {
    /// First padded `z` index at which stress components with a `z` index may be non-zero; without a free surface it is
    /// `rim`.
    pub fn traction_top(self, nb: usize, rim: usize) -> usize {
        if self == Self::None { rim } else { nb }
    }

    /// First padded `z` index at which stress components without a `z` index may be non-zero; `rim` as in
    /// [`Self::traction_top`].
    pub fn lateral_top(self, nb: usize, rim: usize) -> usize {
        if self == Self::Vacuum { nb } else { rim }
    }
}
