//! The list of shots in a header (`shots=1,3-4`), which says which shots of a survey the data contain. Programs that
//! leave out, join or reverse shots keep it up to date.

use rsf_io::{Axis, Header, ranges};

/// The key of the list.
pub(super) const SHOTS: &str = "shots";

/// Whether an axis counts shots, as modelling programs label it.
pub(super) fn is_of_shots(axis: &Axis) -> bool {
    axis.label.as_deref() == Some("shot")
}

/// The list of shots in a header, if it has one.
pub(super) fn list(header: &Header) -> Option<String> {
    header.text(SHOTS).filter(|list| !list.is_empty())
}

/// The numbers of the shots in a list, if there are `n`.
pub(super) fn numbers(list: &str, n: usize) -> Option<Vec<usize>> {
    ranges::numbers(list).filter(|all| all.len() == n)
}

/// The list of these shots.
pub(super) fn listed(numbers: &[usize]) -> String {
    let words: Vec<String> = numbers.iter().map(usize::to_string).collect();
    words.join(",")
}
