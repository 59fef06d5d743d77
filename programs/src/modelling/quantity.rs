//! The quantities that receivers record, with their names on the command line and in headers.

use super::divide::one_quantity;
use anyhow::bail;
use kernels::receiver::Quantity;
use rsf_io::Job;

/// The names of the components of a vector in 2-D and in 3-D.
const VECTOR: [&str; 2] = ["z x", "z x y"];

/// Quantities: parameter value, quantity, description, and the names of the components in 2-D and in 3-D.
const QUANTITIES: [(&str, Quantity, &str, [&str; 2]); 6] = [
    ("velocity", Quantity::Velocity, "velocity in m/s", VECTOR),
    (
        "displacement",
        Quantity::Displacement,
        "displacement in m",
        VECTOR,
    ),
    (
        "acceleration",
        Quantity::Acceleration,
        "acceleration in m/s2",
        VECTOR,
    ),
    ("pressure", Quantity::Pressure, "pressure in Pa", ["pressure"; 2]),
    (
        "strain",
        Quantity::Strain,
        "strain",
        ["zz xx zx", "zz xx yy zx zy xy"],
    ),
    ("rotation", Quantity::Rotation, "rotation in rad", ["y", "z x y"]),
];

/// A quantity in an output file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A quantity at the receivers.
    At(Quantity),
    /// The strain along a fibre.
    Das,
}

/// The parameter value for the strain along a fibre, and its description.
const DAS: (&str, &str) = ("das", "strain along the fibre");

impl What {
    /// The number of components of a record.
    pub fn components(self, ndim: usize) -> usize {
        match self {
            Self::At(quantity) => quantity.components(ndim),
            Self::Das => 1,
        }
    }

    /// The names of its components, separated by spaces.
    pub fn names(self, ndim: usize) -> &'static str {
        let Self::At(quantity) = self else {
            return "along the fibre";
        };
        let row = QUANTITIES.iter().find(|(_, own, ..)| *own == quantity);
        row.map_or(VECTOR, |(.., names)| *names)[ndim - 2]
    }

    /// Whether its components are the components of a vector along the axes.
    pub fn is_vector(self) -> bool {
        let vectors = [Quantity::Velocity, Quantity::Displacement, Quantity::Acceleration];
        matches!(self, Self::At(quantity) if vectors.contains(&quantity))
    }
}

/// All quantities that can be written: parameter value, quantity, and description.
pub fn all() -> impl Iterator<Item = (&'static str, What, &'static str)> {
    let quantities = QUANTITIES.map(|(key, quantity, words, _)| (key, What::At(quantity), words));
    quantities.into_iter().chain([(DAS.0, What::Das, DAS.1)])
}

/// The quantity of `data=`: parameter value, quantity, and description.
///
/// # Errors
/// Returns an error for an unknown quantity, and for several quantities, because standard output can hold only one.
pub fn of_data(job: &Job) -> anyhow::Result<(&'static str, What, &'static str)> {
    let text = one_quantity(job)?;
    match all().find(|(word, ..)| *word == text) {
        Some(known) => Ok(known),
        None => {
            let words: Vec<_> = all().map(|(word, ..)| word).collect();
            bail!("data={text}: receivers record {}", words.join(", "))
        }
    }
}
