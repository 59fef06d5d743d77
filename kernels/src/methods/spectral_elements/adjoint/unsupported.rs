//! Set-ups without derivatives.

use std::fmt;

use super::super::{Lumping, Setup};
use super::Parameters;
use crate::mesh::step::{Law, Medium};
use crate::receiver::Quantity;

/// The reason why a run has no derivatives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsupported {
    /// This region has a table of constants, but the derivatives are with respect to other parameters.
    Constants(usize),
    /// The mass of absorbing faces contains row sums of the damping, which differs from the damping in the forces.
    RowSums,
    /// Records are of a quantity other than displacement, velocity, acceleration and pressure.
    Quantity(Quantity),
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constants(region) => write!(
                f,
                "region {region} has a table of constants, which has no derivative with respect to speeds, impedances or Lame's constants"
            ),
            Self::RowSums => f.write_str(
                "the mass contains row sums of the damping of absorbing faces, which have no \
                exact adjoint",
            ),
            Self::Quantity(quantity) => write!(
                f,
                "records are of {}, but derivatives are those of displacement, velocity, acceleration or pressure",
                format!("{quantity:?}").to_lowercase()
            ),
        }
    }
}

/// The reason why the records of a run have no derivatives; `None` if they have.
pub fn unsupported<const D: usize>(
    setup: &Setup<D>,
    quantity: Quantity,
    parameters: Parameters,
) -> Option<Unsupported> {
    let by_constants = parameters == Parameters::Constants;
    let of_law = |(region, medium): (usize, &Medium)| match medium.law {
        Law::Anisotropic(_) if !by_constants => Some(Unsupported::Constants(region)),
        _ => None,
    };
    let known = [
        Quantity::Displacement,
        Quantity::Velocity,
        Quantity::Acceleration,
        Quantity::Pressure,
    ];
    let others = [
        (setup.lumping != Lumping::Matrix, Unsupported::RowSums),
        (!known.contains(&quantity), Unsupported::Quantity(quantity)),
    ];
    let of_media = setup.media.iter().enumerate().find_map(of_law);
    of_media.or(others.into_iter().find(|(holds, _)| *holds).map(|(_, why)| why))
}
