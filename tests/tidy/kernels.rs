//! Rules inside `kernels`: which room may know which, and how long functions of kernel texts may grow.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};

use super::{files_ending, read, report};

/// Longest function of a kernel text; half of it is the aim.
const KERNEL_LINES: usize = 120;

type Arrows = BTreeMap<String, BTreeSet<String>>;

/// The room of a file or of a path below `crate`: a method is a room of its own.
fn room<'a>(mut parts: impl Iterator<Item = &'a str>) -> Option<String> {
    let first = parts.next()?.trim_end_matches(".rs");
    match (first, parts.next()) {
        ("lib" | "error" | "Error", _) => None,
        ("methods", Some("mod.rs") | None) => None,
        ("methods", Some(method)) => Some(method.to_string()),
        _ => Some(first.to_string()),
    }
}

/// The rooms behind every `crate::` of a text, nested braces of `use` included; items for tests are left out.
fn known(tokens: TokenStream, found: &mut BTreeSet<String>) {
    let all: Vec<TokenTree> = tokens.into_iter().collect();
    let mut k = 0;
    while k < all.len() {
        match &all[k] {
            TokenTree::Group(group) if group.stream().to_string().replace(' ', "") == "cfg(test)" => {
                // The item behind the attribute ends with its braces or a semicolon.
                while k < all.len() && !ends_item(&all[k]) {
                    k += 1;
                }
            }
            TokenTree::Group(group) => known(group.stream(), found),
            TokenTree::Ident(ident) if ident == "crate" => {
                let rest: TokenStream = all[k + 1..].iter().take(8).cloned().collect();
                let rest = rest.to_string().replace(' ', "");
                let path = rest.trim_start_matches("::");
                match path.strip_prefix('{') {
                    // Names stand at the beginning of the parts between commas.
                    Some(inside) => {
                        let parts = inside.trim_end_matches('}').split(',');
                        found.extend(parts.filter_map(|part| room(part.split("::"))));
                    }
                    None => found.extend(room(path.split("::").map(first_word))),
                }
            }
            _ => {}
        }
        k += 1;
    }
}

fn ends_item(token: &TokenTree) -> bool {
    match token {
        TokenTree::Group(group) => group.delimiter() == proc_macro2::Delimiter::Brace,
        TokenTree::Punct(punct) => punct.as_char() == ';',
        _ => false,
    }
}

/// The letters of a path's part, without what follows it in the text.
fn first_word(part: &str) -> &str {
    let end = part.find(|c: char| !(c.is_alphanumeric() || c == '_'));
    &part[..end.unwrap_or(part.len())]
}

/// The arrows in the code.
fn drawn_by_code() -> Arrows {
    let mut arrows = Arrows::new();
    let rooms: BTreeSet<String> = files_ending(".rs")
        .iter()
        .filter_map(|(name, _)| room(name.strip_prefix("kernels/src/")?.split('/')))
        .collect();
    for (name, text) in files_ending(".rs") {
        let Some(path) = name.strip_prefix("kernels/src/") else {
            continue;
        };
        let Some(own) = room(path.split('/')).filter(|_| !path.ends_with("tests.rs")) else {
            continue;
        };
        let mut found = BTreeSet::new();
        known(text.parse().unwrap_or_else(|e| panic!("{name}: {e}")), &mut found);
        found.retain(|other| *other != own && rooms.contains(other));
        arrows.entry(own).or_default().extend(found);
    }
    arrows
}

/// The arrows on the page: lines `room -> rooms` of its block.
fn drawn_by_page() -> Arrows {
    let page = read("ARCHITECTURE.md");
    let (_, rest) = page
        .split_once("## Rooms of kernels")
        .expect("ARCHITECTURE.md draws the rooms of kernels");
    let block = rest.split("```").nth(1).expect("the arrows stand in a block");
    let lines = block.lines().filter_map(|line| line.split_once("->"));
    let words = |text: &str| {
        text.split([',', ' '])
            .filter(|w| !w.is_empty())
            .map(String::from)
            .collect::<Vec<_>>()
    };
    let mut arrows = Arrows::new();
    for (from, to) in lines {
        for room in words(from) {
            arrows.entry(room).or_default().extend(words(to));
        }
    }
    arrows
}

#[test]
fn rooms_of_kernels_know_each_other_only_along_the_arrows() {
    let (code, page) = (drawn_by_code(), drawn_by_page());
    assert!(code.len() > 8, "the rooms were not found: {code:?}");
    let none = BTreeSet::new();
    let mut offenders = Vec::new();
    for (room, known) in &code {
        let allowed = page.get(room).unwrap_or(&none);
        let crossing = known.difference(allowed);
        offenders.extend(crossing.map(|other| format!("{room} uses {other}: no such arrow on the page")));
        let idle = allowed.difference(known);
        offenders.extend(idle.map(|other| format!("{room} -> {other}: on the page, but nothing uses it")));
    }
    let strange = page.keys().filter(|room| !code.contains_key(*room));
    offenders.extend(strange.map(|room| format!("{room}: on the page, but no such room")));
    report(
        "ARCHITECTURE.md, \"Rooms of kernels\", is not what the code does:",
        &offenders,
    );
}

#[test]
fn functions_of_kernel_texts_stay_short() {
    let mut offenders = Vec::new();
    for (name, text) in files_ending(".cu").into_iter().chain(files_ending(".cuh")) {
        let mut begun = None;
        for (k, line) in text.lines().enumerate() {
            if ["INLINE ", "KERNEL(", "template"]
                .iter()
                .any(|word| line.starts_with(word))
            {
                begun = Some((k, line));
            } else if line.starts_with('}')
                && let Some((first, head)) = begun.take()
                && k + 1 - first > KERNEL_LINES
            {
                let lines = k + 1 - first;
                offenders.push(format!(
                    "{name}:{}: {lines} lines, at most {KERNEL_LINES}: {head}",
                    first + 1
                ));
            }
        }
    }
    report("these kernels do too much; give their parts names:", &offenders);
}

/// Words of the command line, `ngpu=` for one, in the texts of a file; comments and items for tests are left out.
fn parameters_in(tokens: TokenStream, names: &BTreeSet<&str>, found: &mut Vec<String>) {
    let all: Vec<TokenTree> = tokens.into_iter().collect();
    let mut k = 0;
    while k < all.len() {
        match &all[k] {
            TokenTree::Group(group) => {
                let inside = group.stream().to_string();
                if inside.replace(' ', "") == "cfg(test)" {
                    while k < all.len() && !ends_item(&all[k]) {
                        k += 1;
                    }
                } else if !inside.starts_with("doc =") {
                    parameters_in(group.stream(), names, found);
                }
            }
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                for (at, _) in text.match_indices('=').filter(|_| text.starts_with('"')) {
                    let word = text[..at].rsplit(|c: char| !c.is_alphanumeric()).next();
                    if word.is_some_and(|word| names.contains(word)) {
                        found.push(text.clone());
                    }
                }
            }
            _ => {}
        }
        k += 1;
    }
}

/// Programs add the words of their users to the engine's advice (`programs/src/modelling/words.rs`).
#[test]
fn messages_of_kernels_name_no_parameter() {
    use programs::modelling::{displacement, spectral_elements, velocity_stress};
    let programs = [
        &displacement::PROGRAM_3D,
        &velocity_stress::PROGRAM_3D,
        &spectral_elements::PROGRAM_3D,
    ];
    let names: BTreeSet<&str> = programs.iter().flat_map(|p| p.params).map(|p| p.name).collect();
    assert!(names.contains("ngpu") && names.contains("nb"));
    let mut offenders = Vec::new();
    for (name, text) in files_ending(".rs") {
        if name.starts_with("kernels/src/") && !name.ends_with("tests.rs") {
            let tokens = text.parse().unwrap_or_else(|e| panic!("{name}: {e}"));
            let mut found = Vec::new();
            parameters_in(tokens, &names, &mut found);
            offenders.extend(found.into_iter().map(|text| format!("{name}: {text}")));
        }
    }
    report(
        "kernels speak of what can be done, programs add the word",
        &offenders,
    );
}

/// A method on a graph is what "Add a method" shows: lines without comments and blanks, for processors and ranks.
#[test]
fn the_example_of_a_method_stays_short() {
    const MOST: usize = 300;
    let code = |file: &&str| {
        let text = read(&format!("tests/graph/{file}"));
        let is_code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
        text.lines().filter(is_code).count()
    };
    let lines: usize = ["graph.rs", "waves.rs"].iter().map(code).sum();
    assert!(
        lines <= MOST,
        "tests/graph has {lines} lines of code, at most {MOST} are allowed; use what the rooms offer"
    );
}
