//! A free surface on top of the model: which stresses vanish above it.

/// The row of cells at padded index `nb` (the first row of the model) is the last one that carries stress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// No surface: the absorbing frame (or the rigid rim) continues over the top.
    None,
    /// All stresses are zero strictly above the first model row, as the original CPU programs have it; the one-way
    /// condition is off on top.
    Vacuum,
    /// Only the stresses with a `z` index vanish there, as in the original CUDA program.
    Traction,
}

impl Surface {
    /// First padded `z` index at which stresses with a `z` index may be non-zero, given where they start without a surface.
    pub fn traction_top(self, nb: usize, rim: usize) -> usize {
        if self == Self::None { rim } else { nb }
    }

    /// The same for the stresses without a `z` index.
    pub fn lateral_top(self, nb: usize, rim: usize) -> usize {
        if self == Self::Vacuum { nb } else { rim }
    }
}
