//! The order of the axes of a model: z first, then x and y.

use kernels::grid::Grid;
use rsf_io::{Input, Job};

/// Words of labels for the axes z, x and y.
const LABELS: [&[&str]; 3] = [
    &["z", "depth"],
    &["x", "distance", "lateral", "inline"],
    &["y", "crossline"],
];

/// A hint for a file whose first two axes are exchanged compared with a grid.
pub fn swapped(grid: &Grid, file: &Input) -> Option<&'static str> {
    let ([a, b], other) = ([grid.n[0], grid.n[1]], [1, 2].map(|i| file.axis(i).n));
    (a != b && [b, a] == other)
        .then_some("; z must be the first axis, and sftransp exchanges the first two axes of a file")
}

/// Warns of the first of these files whose labels say that its axes are in an order other than z, x and y.
pub fn warn(job: &Job, files: &[&Input], ndim: usize) {
    let label = |file: &Input, number: usize| file.axis(number).label.unwrap_or_default();
    let axis_of = |label: &str| {
        let label = label.to_lowercase();
        LABELS.iter().position(|words| words.contains(&label.as_str()))
    };
    for file in files {
        let labels: Vec<String> = (1..=ndim).map(|number| label(file, number)).collect();
        let axes: Option<Vec<usize>> = labels.iter().map(|label| axis_of(label)).collect();
        let all_known =
            axes.is_some_and(|axes| (0..ndim).all(|axis| axes.contains(&axis)) && !axes.is_sorted());
        let is_z = |label: &String| axis_of(label) == Some(0);
        let is_turned = all_known || !is_z(&labels[0]) && labels[1..].iter().any(is_z);
        if is_turned {
            let numbered = |labels: &[String]| {
                let words = labels.iter().enumerate();
                let words: Vec<String> = words
                    .map(|(k, label)| format!("label{}={label}", k + 1))
                    .collect();
                words.join(" ")
            };
            let expected = ["z", "x", "y"].map(String::from);
            job.warn(&format!(
                "{} has {}, but its axes are taken as {}, z downwards: sftransp transposes the model; if the \
                labels are wrong, sfput {} sets them",
                file.name(),
                numbered(&labels),
                expected[..ndim].join(", "),
                numbered(&expected[..ndim]),
            ));
            return;
        }
    }
}
