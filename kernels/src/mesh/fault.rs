//! Errors of meshes, with messages that name the element and its position.

use std::fmt;

/// A position, printed as `(x, y, z) = (1, 2, 3)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Place(Vec<f64>);

impl<const D: usize> From<[f64; D]> for Place {
    fn from(x: [f64; D]) -> Self {
        Self(x.to_vec())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = if self.0.len() == 2 { "(x, z)" } else { "(x, y, z)" };
        // `{}` prints no more digits than the rounded number needs.
        let shown: Vec<String> = self.0.iter().map(|x| format!("{}", seven(*x))).collect();
        write!(f, "{names} = ({})", shown.join(", "))
    }
}

/// A position, if the mesh is valid enough to define one: printed as ` near (x, z) = (1, 2)`, or as nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Near(pub Option<Place>);

impl<const D: usize> From<Option<[f64; D]>> for Near {
    fn from(x: Option<[f64; D]>) -> Self {
        Self(x.map(Place::from))
    }
}

impl fmt::Display for Near {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(place) => write!(f, " near {place}"),
            None => Ok(()),
        }
    }
}

/// Rounds to the seven digits of single precision, or to centimetres for large numbers, which are map coordinates.
fn seven(x: f64) -> f64 {
    if x.abs() > 1e5 && x.abs() < 1e12 {
        return (x * 100.0).round() / 100.0;
    }
    format!("{x:.6e}").parse().unwrap_or(x)
}

/// An error of a mesh; the messages explain the fields. Elements, nodes, faces and regions are counted from 0, as in
/// the files.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs)]
pub enum Fault {
    #[error("degree {0} is not available; the degrees 2 to 8 are")]
    Degree(usize),
    #[error("the mesh has no elements; it needs at least one")]
    Empty,
    #[error("elements have {0} nodes; all elements of a mesh have 4 or 9 nodes in 2-D, and 8 or 27 in 3-D")]
    NodesOfElement(usize),
    #[error(
        "{what} has {got} entries, but {expected} are needed: {reason}; make the two files from one mesh"
    )]
    Count {
        what: &'static str,
        got: usize,
        expected: usize,
        reason: &'static str,
    },
    #[error(
        "the mesh would have {elements} elements, but at most {most} can be counted; use fewer and larger elements of a higher degree, which have the same resolution"
    )]
    TooMany { elements: u128, most: u64 },
    #[error(
        "the mesh has {points} points at degree {degree}, but at most 4294967295 can be counted; use fewer elements or a lower degree"
    )]
    TooManyPoints { points: u64, degree: usize },
    #[error(
        "element {element}{at} names node {node}, but nodes are numbered from 0 to {last}; was the file counted from 1?"
    )]
    IndexOutside {
        element: usize,
        node: i64,
        last: usize,
        at: Near,
    },
    #[error(
        "element {element} near {at} names node {node} twice; collapsed elements are not supported; use elements with distinct corners"
    )]
    NodeTwice { element: usize, node: usize, at: Place },
    #[error("node {node} of element {element} has a coordinate that is not a number ({at}); correct it")]
    NotANumber { element: usize, node: usize, at: Place },
    #[error(
        "the Jacobian of element {element} is {value:.3e} at {at}, but must be above zero: the element is {}; correct its nodes or their order (counter-clockwise when seen along increasing w)",
        if *.value < 0.0 { "folded or inside out" } else { "flat" }
    )]
    Jacobian { element: usize, value: f64, at: Place },
    #[error(
        "nodes {first} and {second} are both at {at}: elements {elements:?} are not connected there; merge duplicate nodes when the mesh is exported"
    )]
    DuplicateNodes {
        first: usize,
        second: usize,
        elements: [usize; 2],
        at: Place,
    },
    #[error(
        "node {node} at {at} is a hanging node: it lies on element {element}, which does not list it; only meshes whose elements share whole faces are supported"
    )]
    HangingNode { node: usize, element: usize, at: Place },
    #[error(
        "the face near {at} belongs to three elements, {elements:?}; a face has one element on each side"
    )]
    FaceThrice { elements: [usize; 3], at: Place },
    #[error(
        "elements {elements:?} do not lie on opposite sides of the face near {at} that they share; remove the one that occurs twice, or correct its nodes"
    )]
    SameSide { elements: [usize; 2], at: Place },
    #[error(
        "elements {elements:?} share corners near {at} but have different nodes between them; a curved face must be the same from both sides"
    )]
    MiddleDiffers { elements: [usize; 2], at: Place },
    #[error(
        "element {element} at {at} belongs to region {region}, but there are {materials} materials, numbered from 0; add a row to the materials or correct the regions"
    )]
    NoMaterial {
        element: usize,
        region: i64,
        materials: usize,
        at: Place,
    },
    #[error("element {element}{at} belongs to region {region}; regions are numbered from 0")]
    NegativeRegion { element: usize, region: i64, at: Near },
    #[error("region {region} has a material but no element; take the row out or correct the regions")]
    EmptyRegion { region: usize },
    #[error(
        "entry {entry} of {list} names face {face} of element {element}{at}; there are {elements} elements of {faces} faces, counted from 0"
    )]
    NoSuchFace {
        list: &'static str,
        entry: usize,
        element: i64,
        face: i64,
        elements: usize,
        faces: usize,
        at: Near,
    },
    #[error(
        "entry {entry} of {list} is face {face} of element {element} at {at}, but element {neighbour} lies behind it; only outer faces can be {list}"
    )]
    FaceInside {
        list: &'static str,
        entry: usize,
        element: usize,
        face: usize,
        neighbour: usize,
        at: Place,
    },
    #[error("face {face} of element {element} at {at} is in the list {list} twice; take one entry out")]
    FaceTwice {
        list: &'static str,
        element: usize,
        face: usize,
        at: Place,
    },
    #[error(
        "the fluid body around element {element} at {at} shares no face with a solid, so no wave can pass; let them share whole faces"
    )]
    StrandedFluid { element: usize, at: Place },
    #[error(
        "{what} at {at} is outside the mesh; the nearest point of the mesh is {nearest}, {} m away in element {element}",
        seven(*.distance)
    )]
    Outside {
        what: String,
        at: Place,
        nearest: Place,
        distance: f64,
        element: usize,
    },
}

impl From<Fault> for crate::Error {
    fn from(fault: Fault) -> Self {
        Self::Mesh(Box::new(fault))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_read_well() {
        assert_eq!(
            Place::from([1.0, 0.1_f32.into()]).to_string(),
            "(x, z) = (1, 0.1)"
        );
        let place = Place::from([1.0 / 3.0, 2e5, -0.5]);
        assert_eq!(place.to_string(), "(x, y, z) = (0.3333333, 200000, -0.5)");
        // Map coordinates are rounded to centimetres.
        let place = Place::from([493_211.123_456, 4_172_233.987_650, -1_234.567_891]);
        assert_eq!(
            place.to_string(),
            "(x, y, z) = (493211.12, 4172233.99, -1234.568)"
        );
        // Positions west and south of the origin of a national grid are printed in the same way.
        let place = Place::from([-493_211.123_456, -1_172_233.987_650, 0.0]);
        assert_eq!(place.to_string(), "(x, y, z) = (-493211.12, -1172233.99, 0)");
    }
}
