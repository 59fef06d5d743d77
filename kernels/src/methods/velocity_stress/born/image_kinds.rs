//! Which images a run accumulates: their kinds and lags.

/// The wave types that an image correlates: first in the forward wavefield, then in the adjoint wavefield.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// P waves with P waves.
    Pp,
    /// P waves with S waves.
    Ps,
    /// S waves with P waves.
    Sp,
    /// S waves with S waves.
    Ss,
    /// All waves, by the energy norm.
    Energy,
}

impl Kind {
    /// Whether the kind separates P and S waves, which is possible in isotropic media only.
    pub fn separates(self) -> bool {
        matches!(self, Self::Ps | Self::Sp | Self::Ss)
    }

    /// Whether the kind needs the stresses of the shot in the reverse sweep.
    pub(super) fn records_stresses(self) -> bool {
        matches!(self, Self::Ps | Self::Sp | Self::Energy)
    }

    /// The sign of the image: at an increase of impedance, converted waves have the opposite polarity.
    pub(super) fn sign(self) -> f64 {
        match self {
            Self::Ps | Self::Sp => -1.0,
            _ => 1.0,
        }
    }
}

/// The images that are requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageRequest {
    /// Kinds, in the order of the results.
    pub kinds: Vec<Kind>,
    /// Lags in cells along z, x, y.
    pub lags: Vec<[isize; 3]>,
}

impl ImageRequest {
    /// Number of values of all images and illuminations of a model of `cells` cells.
    pub fn numbers(&self, cells: usize) -> usize {
        self.kinds.len() * (self.lags.len() + 1) * cells
    }

    /// The PP image without lags.
    pub fn plain() -> Self {
        Self {
            kinds: vec![Kind::Pp],
            lags: vec![[0; 3]],
        }
    }

    /// The largest lag across planes.
    pub(super) fn lags_across(&self, ndim: usize) -> usize {
        let across = self.along(ndim).map(|lag| lag[2].unsigned_abs());
        across.max().unwrap_or(0)
    }

    /// Lags along the axes of the grid: z, rows, planes; in 2-D the y component is ignored.
    pub(super) fn along(&self, ndim: usize) -> impl Iterator<Item = [isize; 3]> + '_ {
        self.lags.iter().map(move |&[z, x, y]| match ndim {
            3 => [z, x, y],
            _ => [z, 0, x],
        })
    }
}
