//! Sources, common to all methods: a moment tensor or a force at a point, with a source time function.

mod time_function;

pub use time_function::TimeFunction;

use crate::grid::points::Point;

/// The kind of a source: its moment tensor or force.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// Moment tensor xx, yy, zz, xy, xz, yz in N m (2-D: N m per metre; components with y are ignored).
    Moment([f64; 6]),
    /// Force along x, y, z in N (2-D: N per metre; y is ignored).
    Force([f64; 3]),
}

impl Action {
    /// The moment tensor of slip on a fault (Aki & Richards 2002, box 4.4, with x north, y east, z down). Angles are in
    /// degrees, and `m0` is in N m. `azimuth` is the azimuth of the grid's x axis, clockwise from north; the y axis is
    /// 90 degrees clockwise of it.
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

    /// The time, in steps, at which sample `it` of the source's series acts in schemes with alternating velocity and
    /// stress: midway between two time levels of velocity for moments, and of stress for forces.
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
    /// Position `[z, x, y]` in the coordinates of the grid.
    pub point: Point,
    /// Moment tensor or force where the series has the value one.
    pub action: Action,
    /// Index of its time series among those of the shot.
    pub series: usize,
}
