//! What comments and pages name must exist: files by their names or paths, items by the words of their paths.

use std::collections::BTreeSet;

use super::{PAGES, files, files_ending, read, report};

/// Extensions of the files whose names are checked.
const ENDINGS: [&str; 5] = [".rs", ".cu", ".cuh", ".py", ".md"];
/// Names that stand for any name, or for a file that a reader makes.
const ANY: [&str; 3] = ["NAME.rs", "mine.rs", "README.md"];

/// Lines to check: comments of code, whole pages.
fn speaking() -> Vec<(String, usize, String)> {
    let mut found = Vec::new();
    for end in [".rs", ".cu", ".cuh"] {
        for (name, text) in files_ending(end) {
            let comments = text
                .lines()
                .enumerate()
                .filter(|(_, line)| line.trim_start().starts_with("//"));
            found.extend(comments.map(|(k, line)| (name.clone(), k + 1, line.to_string())));
        }
    }
    // The change log may name things that no longer exist.
    let pages = PAGES.iter().filter(|name| **name != "CHANGELOG.md");
    let developer = files()
        .into_iter()
        .filter(|name| name.starts_with("book/developer/") && name.ends_with(".md"));
    for name in pages.map(ToString::to_string).chain(developer) {
        let lines = read(&name);
        found.extend(
            lines
                .lines()
                .enumerate()
                .map(|(k, line)| (name.clone(), k + 1, line.to_string())),
        );
    }
    found
}

/// Words of a line that may be file names: letters, digits and `_-./`.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_ascii_alphanumeric() || "_-./".contains(c)))
        .map(|word| word.trim_end_matches('.'))
}

#[test]
fn files_that_are_named_exist() {
    let all = files();
    let known = |word: &str| {
        let inside = format!("/{word}");
        all.iter().any(|file| file == word || file.ends_with(&inside))
    };
    let mut offenders = Vec::new();
    for (name, line, text) in speaking() {
        for word in words(&text) {
            let word = word.trim_start_matches("./");
            let stem = ENDINGS.iter().find_map(|end| word.strip_suffix(end));
            let is_name = stem.is_some_and(|stem| stem.ends_with(|c: char| c.is_ascii_alphanumeric()));
            let any = ANY.iter().any(|any| word.ends_with(any));
            if is_name && !any && !word.starts_with(['/', '.']) && !known(word) {
                offenders.push(format!("{name}:{line}: {word}"));
            }
        }
    }
    report("these files are named but are not there:", &offenders);
}

/// Every identifier of the project's Rust and kernel texts.
fn identifiers() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for end in [".rs", ".cu", ".cuh"] {
        for (_, text) in files_ending(end) {
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            for line in code {
                let words = line.split(|c: char| !(c.is_alphanumeric() || c == '_'));
                found.extend(words.filter(|w| !w.is_empty()).map(String::from));
            }
        }
    }
    for name in files() {
        let words = name.split(['/', '.']);
        found.extend(words.map(String::from));
    }
    found
}

#[test]
fn items_that_are_named_exist() {
    let known = identifiers();
    let mut offenders = Vec::new();
    for (name, line, text) in speaking() {
        for quoted in text.split('`').skip(1).step_by(2) {
            let path = quoted.trim_start_matches('[').trim_end_matches(['(', ')', ']']);
            let is_path = path.contains("::")
                && path
                    .split("::")
                    .all(|part| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_'));
            if is_path && !path.starts_with("std::") {
                let missing = path.split("::").filter(|part| !known.contains(*part));
                offenders.extend(missing.map(|part| format!("{name}:{line}: `{quoted}`: no `{part}`")));
            }
        }
    }
    report("these items are named but are not there:", &offenders);
}

/// Private words that the project used to have, and the terms of the field that replace them.
const PRIVATE: [(&str, &str); 7] = [
    ("foresee", "prefetch"),
    ("foretell", "predict, tell in advance"),
    ("foretold", "predicted"),
    ("ladder", "checkpoint schedule"),
    ("shelled", "boundary saving"),
    ("what waits for stresses", "the adjoint of stresses"),
    ("what waits for velocities", "the adjoint of velocities"),
];

#[test]
fn terms_are_those_of_the_field() {
    let mut offenders = Vec::new();
    let texts = [".rs", ".cu", ".cuh", ".md"].into_iter().flat_map(files_ending);
    for (name, text) in texts.filter(|(name, _)| name != "tests/tidy/names.rs") {
        for (number, line) in text.lines().enumerate() {
            let line = line.to_lowercase();
            let used = PRIVATE.iter().filter(|(word, _)| line.contains(word));
            offenders.extend(used.map(|(word, term)| format!("{name}:{}: {word}: say {term}", number + 1)));
        }
    }
    report("the field has terms for these:", &offenders);
}
