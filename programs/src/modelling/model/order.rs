//! The order of the axes of a model: z first, then x and y.

use rsf_io::{Input, Job};

/// What is said of two files of which one has its first two axes exchanged.
pub fn swapped(first: &Input, other: &Input) -> Option<&'static str> {
    let [a, b] = [first, other].map(|file| [1, 2].map(|i| file.axis(i).n));
    (a[0] != a[1] && a == [b[1], b[0]])
        .then_some("; sftransp exchanges the first two axes of a file, and z comes first")
}

/// Warns of the first of these files whose labels say that x is its first axis and z its second one.
pub fn tell(job: &Job, files: &[&Input]) {
    let is = |file: &Input, number: usize, names: &[&str]| {
        let label = file.axis(number).label.unwrap_or_default().to_lowercase();
        names.contains(&label.as_str())
    };
    let is_turned =
        |file: &&&Input| is(file, 1, &["x", "distance", "lateral"]) && is(file, 2, &["z", "depth"]);
    if let Some(file) = files.iter().find(is_turned) {
        job.warn(&format!(
            "{} has label1=x and label2=z, and its first axis is taken as z, downwards: sftransp turns the model; if the labels are wrong, sfput label1=z label2=x sets them",
            file.name()
        ));
    }
}
