//! What comments and pages name must exist: files by their names or paths, items by the words of their paths.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};

use super::{PAGES, files, files_ending, read, report};

/// Extensions of the files whose names are checked.
const ENDINGS: [&str; 5] = [".rs", ".cu", ".cuh", ".py", ".md"];
/// Placeholders for names, and files that a reader creates or that every folder may have.
const ANY: [&str; 3] = ["NAME.rs", "mine.rs", "README.md"];

/// Lines to check: comments of code, whole pages.
fn speaking() -> Vec<(String, usize, String)> {
    let mut lines_of_text = Vec::new();
    for end in [".rs", ".cu", ".cuh"] {
        for (name, text) in files_ending(end) {
            let comments = text
                .lines()
                .enumerate()
                .filter(|(_, line)| line.trim_start().starts_with("//"));
            lines_of_text.extend(comments.map(|(k, line)| (name.clone(), k + 1, line.to_string())));
        }
    }
    // The change log may name things that no longer exist.
    let pages = PAGES.iter().filter(|name| **name != "CHANGELOG.md");
    let developer = files()
        .into_iter()
        .filter(|name| name.starts_with("book/developer/") && name.ends_with(".md"));
    for name in pages.map(ToString::to_string).chain(developer) {
        let lines = read(&name);
        lines_of_text.extend(
            lines
                .lines()
                .enumerate()
                .map(|(k, line)| (name.clone(), k + 1, line.to_string())),
        );
    }
    lines_of_text
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

/// Every identifier of the project's Rust and CUDA sources.
fn identifiers() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for end in [".rs", ".cu", ".cuh"] {
        for (_, text) in files_ending(end) {
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            for line in code {
                let words = line.split(|c: char| !(c.is_alphanumeric() || c == '_'));
                names.extend(words.filter(|w| !w.is_empty()).map(String::from));
            }
        }
    }
    for name in files() {
        let words = name.split(['/', '.']);
        names.extend(words.map(String::from));
    }
    names
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

/// Words that identifiers may not contain, and their replacements.
const VAGUE: [(&str, &str); 15] = [
    ("asked", "requested, given, or the value itself"),
    ("film", "snapshot"),
    ("films", "snapshots, snapshot points"),
    ("foretold", "predicted"),
    ("found", "what it holds: names, offenders, results, sums"),
    ("heard", "the contribution of the data"),
    ("made", "what it holds: files, executables, headers"),
    ("reel", "snapshots"),
    ("said", "message, text"),
    ("says", "message"),
    ("shelf", "recorded fields"),
    ("shine", "illumination"),
    ("tell", "warn, report, print, put"),
    ("told", "message, warning, text, expected"),
    ("wanted", "expected, requested, needed"),
];

/// Folders whose identifiers are checked.
const CHECKED: [&str; 4] = ["kernels/", "programs/", "rsf-io/", "tests/"];

/// Identifiers of Rust, with their lines.
fn identifiers_of(tokens: TokenStream) -> Vec<(usize, String)> {
    let of = |token| match token {
        TokenTree::Group(group) => identifiers_of(group.stream()),
        TokenTree::Ident(ident) => vec![(ident.span().start().line, ident.to_string())],
        TokenTree::Punct(_) | TokenTree::Literal(_) => Vec::new(),
    };
    tokens.into_iter().flat_map(of).collect()
}

/// Identifiers of CUDA, with their lines.
fn identifiers_of_cuda(text: &str) -> Vec<(usize, String)> {
    let code = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    let of = |(k, line): (usize, &str)| -> Vec<(usize, String)> {
        let words = line.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        words.map(|word| (k + 1, word.to_string())).collect()
    };
    code.enumerate().flat_map(of).collect()
}

/// The words of an identifier in small letters: it is split at underscores and before capitals.
fn words_of(identifier: &str) -> Vec<String> {
    let mut spaced = String::new();
    let mut last = '_';
    for letter in identifier.chars() {
        if letter.is_uppercase() && last.is_lowercase() {
            spaced.push('_');
        }
        spaced.extend(letter.to_lowercase());
        last = letter;
    }
    spaced.split('_').map(String::from).collect()
}

#[test]
fn identifiers_are_not_vague() {
    // The standard library has this name.
    let foreign = ["NotFound"];
    let mut offenders = Vec::new();
    for end in [".rs", ".cu", ".cuh"] {
        for (name, text) in files_ending(end) {
            if !CHECKED.iter().any(|folder| name.starts_with(folder)) {
                continue;
            }
            let identifiers = match end {
                ".rs" => identifiers_of(text.parse().expect("Rust")),
                _ => identifiers_of_cuda(&text),
            };
            for (line, identifier) in identifiers {
                let words = words_of(&identifier);
                let vague = VAGUE.iter().find(|(word, _)| words.iter().any(|own| own == word));
                if let Some((word, term)) = vague.filter(|_| !foreign.contains(&&identifier[..])) {
                    offenders.push(format!("{name}:{line}: {identifier}: {word} may be {term}"));
                }
            }
        }
    }
    report("these identifiers do not say what they are:", &offenders);
}
