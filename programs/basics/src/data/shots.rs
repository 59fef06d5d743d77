//! The shots in a header: which shots of a survey the data contain (`shots=1,3-4`), and a checksum of the points of each
//! (`made_at=`). Programs that leave out, join or reverse shots keep both up to date.

use rsf_io::{Axis, Header, Output, ranges};

/// The keys of the list of shots and of the checksums of their points, which are separated by blanks.
const LIST: &str = "shots";
const POINTS: &str = "made_at";

/// Whether an axis counts shots, as modelling programs and files of points label it.
pub(super) fn is_of_shots(axis: &Axis) -> bool {
    let label = axis.label.as_deref().unwrap_or_default().to_lowercase();
    ["shot", "shots", "source", "sources"].contains(&label.as_str())
}

/// The shots that a header lists.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shots {
    numbers: Vec<usize>,
    /// One for each number; empty if there are none, or not one for each.
    points: Vec<String>,
}

impl Shots {
    /// Reads the shots of a header, if it lists any.
    pub(super) fn of(header: &Header) -> Option<Self> {
        let numbers = ranges::numbers(&header.text(LIST)?)?;
        let points = header.text(POINTS).unwrap_or_default();
        Some(Self::new(
            numbers,
            points.split_whitespace().map(String::from).collect(),
        ))
    }

    /// Keeps the checksums only if there is one for each number.
    fn new(numbers: Vec<usize>, mut points: Vec<String>) -> Self {
        if points.len() != numbers.len() {
            points.clear();
        }
        Self { numbers, points }
    }

    /// The number of shots.
    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether both list the same shots.
    pub(super) fn same(&self, other: &Self) -> bool {
        self.numbers == other.numbers
    }

    /// The shots at these places.
    pub(super) fn at(&self, places: impl Iterator<Item = usize> + Clone) -> Self {
        Self {
            numbers: places.clone().map(|i| self.numbers[i]).collect(),
            points: places.filter_map(|i| self.points.get(i).cloned()).collect(),
        }
    }

    /// The shots of all, one after the other, or `None` if their numbers do not ascend.
    pub(super) fn joined<'a>(all: impl Iterator<Item = &'a Self> + Clone) -> Option<Self> {
        let numbers: Vec<usize> = all.clone().flat_map(|one| one.numbers.iter().copied()).collect();
        let points = all.flat_map(|one| one.points.iter().cloned()).collect();
        numbers
            .is_sorted_by(|a, b| a < b)
            .then(|| Self::new(numbers, points))
    }

    /// Writes both keys.
    pub(super) fn put(&self, output: &mut Output) {
        output.put_text(LIST, &ranges::list(&self.numbers));
        output.put_text(POINTS, &self.points.join(" "));
    }

    /// Writes empty keys: the shots are not known.
    pub(super) fn put_unknown(output: &mut Output) {
        output.put_text(LIST, "");
        output.put_text(POINTS, "");
    }
}
