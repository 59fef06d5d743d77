//! Sources as all methods take them: a moment tensor or a force at a point, and how strong it is over time.

mod time_function;

pub use time_function::TimeFunction;

use crate::grid::points::Point;

/// What a source does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// Moment tensor xx, yy, zz, xy, xz, yz in N m (2-D: N m per metre, components with y are not used).
    Moment([f64; 6]),
    /// Force along x, y, z in N (2-D: N per metre; y is not used).
    Force([f64; 3]),
}

impl Action {
    /// The moment tensor of a slip on a fault (Aki & Richards 2002, box 4.4, their x north, y east, z down): angles in
    /// degrees, `m0` in N m. `azimuth` is that of the grid's x axis, clockwise from north; its y axis is 90 degrees
    /// further.
    pub fn double_couple(strike: f64, dip: f64, rake: f64, m0: f64, azimuth: f64) -> Self {
        let (phi, delta, lambda) = (
            (strike - azimuth).to_radians(),
            dip.to_radians(),
            rake.to_radians(),
        );
        let (along, up) = (delta.sin() * lambda.cos(), (2.0 * delta).sin() * lambda.sin());
        let (flat, steep) = (delta.cos() * lambda.cos(), (2.0 * delta).cos() * lambda.sin());
        let (s, c) = phi.sin_cos();
        Self::Moment(
            [
                -(along * (2.0 * phi).sin() + up * s * s),
                along * (2.0 * phi).sin() - up * c * c,
                up,
                along * (2.0 * phi).cos() + 0.5 * up * (2.0 * phi).sin(),
                -(flat * c + steep * s),
                -(flat * s - steep * c),
            ]
            .map(|m| m0 * m),
        )
    }

    /// An explosion of this moment in N m.
    pub fn explosion(m0: f64) -> Self {
        Self::Moment([m0, m0, m0, 0.0, 0.0, 0.0])
    }

    /// When, in steps, sample `it` of its series acts where velocity and stress alternate: moments between two levels of velocity,
    /// forces of stress.
    pub fn time(&self, it: usize) -> f64 {
        match self {
            Self::Moment(_) => it as f64 + 0.5,
            Self::Force(_) => it as f64,
        }
    }
}

/// A point source.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// Where.
    pub point: Point,
    /// What, at strength one of its series.
    pub action: Action,
    /// Number of its series among those of the shot.
    pub series: usize,
}
