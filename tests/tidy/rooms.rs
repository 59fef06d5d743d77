//! The dependencies of modules, which are files or folders of a crate: there are no cycles, and the dependencies in
//! `kernels` are the same as in ARCHITECTURE.md.
//!
//! `cargo test --release -p programs --test tidy rooms -- --nocapture` prints the dependencies of all crates as
//! Graphviz reads them.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::{files_ending, read, report};

type Arrows = BTreeMap<String, BTreeSet<String>>;

/// The sources of a crate. A module is a file or a folder of them; in the folders of `opened` each file or folder is a
/// module.
struct Sources {
    folder: &'static str,
    opened: &'static [&'static str],
}

const KERNELS: Sources = Sources {
    folder: "kernels/src/",
    opened: &["methods"],
};

const ALL: [Sources; 4] = [
    KERNELS,
    Sources {
        folder: "programs/src/",
        opened: &["modelling"],
    },
    Sources {
        folder: "programs/basics/src/",
        opened: &[],
    },
    Sources {
        folder: "rsf-io/src/",
        opened: &[],
    },
];

impl Sources {
    /// The module to which a path below the crate belongs.
    fn room(&self, path: &[String]) -> Option<String> {
        let first = match path.first()?.as_str() {
            // The crate re-exports it under this name.
            "Error" => "error",
            first => first,
        };
        match self.opened.contains(&first) {
            true => path.get(1).cloned(),
            false => Some(first.to_string()),
        }
    }

    /// The modules from which each module imports, except in tests.
    fn arrows(&self) -> Arrows {
        let files: Vec<(Vec<String>, String)> = files_ending(".rs")
            .into_iter()
            .filter_map(|(name, text)| Some((modules(name.strip_prefix(self.folder)?), text)))
            .filter(|(path, _)| path.last().is_none_or(|name| name != "tests"))
            .collect();
        let rooms: BTreeSet<String> = files.iter().filter_map(|(path, _)| self.room(path)).collect();
        let mut arrows = Arrows::new();
        for (path, text) in &files {
            let Some(own) = self.room(path) else { continue };
            let tokens = text
                .parse()
                .unwrap_or_else(|e| panic!("{}{}: {e}", self.folder, path.join("/")));
            let mut paths = Vec::new();
            imports(tokens, path, &mut paths);
            let known = paths.iter().filter_map(|path| self.room(path));
            let others = known.filter(|other| *other != own && rooms.contains(other));
            arrows.entry(own.clone()).or_default().extend(others);
        }
        arrows
    }
}

/// The modules of a file below the sources of its crate.
fn modules(name: &str) -> Vec<String> {
    let mut path: Vec<String> = name
        .trim_end_matches(".rs")
        .split('/')
        .map(String::from)
        .collect();
    path.pop_if(|last| ["mod", "lib", "main"].contains(&last.as_str()));
    path
}

/// The paths after every `crate::` and `super::` of a text, relative to the crate, including nested braces of `use`;
/// items for tests are left out.
fn imports(tokens: TokenStream, own: &[String], paths: &mut Vec<Vec<String>>) {
    let all: Vec<TokenTree> = tokens.into_iter().collect();
    let mut k = 0;
    while k < all.len() {
        match &all[k] {
            TokenTree::Group(group) if group.stream().to_string().replace(' ', "") == "cfg(test)" => {
                // The item after the attribute ends with its braces or a semicolon.
                while k < all.len() && !ends_item(&all[k]) {
                    k += 1;
                }
            }
            TokenTree::Group(group) => imports(group.stream(), own, paths),
            TokenTree::Ident(ident) if ident == "crate" || ident == "super" => {
                let rest: TokenStream = all[k + 1..].iter().take(12).cloned().collect();
                let text = rest.to_string().replace(' ', "");
                let mut path = text.trim_start_matches("::");
                let mut from = match ident == "crate" {
                    true => Vec::new(),
                    false => own[..own.len().saturating_sub(1)].to_vec(),
                };
                while let Some(above) = path.strip_prefix("super::") {
                    path = above;
                    from.pop();
                    // This skips the identifier and its two colons.
                    k += 3;
                }
                let joined = |part: &str| {
                    let names = part
                        .split("::")
                        .map(|name| first_word(name).to_string())
                        .filter(|name| !name.is_empty());
                    from.iter().cloned().chain(names).collect::<Vec<_>>()
                };
                match path.strip_prefix('{') {
                    Some(inside) => paths.extend(inside.trim_end_matches('}').split(',').map(joined)),
                    None => paths.push(joined(path)),
                }
            }
            _ => {}
        }
        k += 1;
    }
}

pub fn ends_item(token: &TokenTree) -> bool {
    match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(punct) => punct.as_char() == ';',
        _ => false,
    }
}

/// The letters at the beginning of a part of a path.
fn first_word(part: &str) -> &str {
    let end = part.find(|c: char| !(c.is_alphanumeric() || c == '_'));
    &part[..end.unwrap_or(part.len())]
}

/// The dependencies on the page: lines `module -> modules` of its block.
fn drawn_by_page() -> Arrows {
    let page = read("ARCHITECTURE.md");
    let (_, rest) = page
        .split_once("## Modules of kernels")
        .expect("ARCHITECTURE.md lists the dependencies of the modules of kernels");
    let block = rest.split("```").nth(1).expect("the dependencies are in a block");
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

/// Modules on a cycle of imports, or on a path between two cycles: the modules that remain when modules that import
/// none of the others, and modules that none of the others imports, are removed repeatedly.
fn circles(arrows: &Arrows) -> BTreeSet<String> {
    let mut left: BTreeSet<String> = arrows.keys().cloned().collect();
    loop {
        let ties = |room: &String, back: bool| {
            left.iter().any(|other| {
                let (from, to) = if back { (other, room) } else { (room, other) };
                arrows[from].contains(to)
            })
        };
        let kept: BTreeSet<String> = left
            .iter()
            .filter(|room| ties(room, false) && ties(room, true))
            .cloned()
            .collect();
        if kept.len() == left.len() {
            return left;
        }
        left = kept;
    }
}

#[test]
fn rooms_of_kernels_know_each_other_only_along_the_arrows() {
    let (mut code, page) = (KERNELS.arrows(), drawn_by_page());
    assert!(code.len() > 8, "the modules were not found: {code:?}");
    // Every module may return errors.
    code.remove("error");
    code.values_mut().for_each(|known| {
        known.remove("error");
    });
    let none = BTreeSet::new();
    let mut offenders = Vec::new();
    for (room, known) in &code {
        let allowed = page.get(room).unwrap_or(&none);
        let crossing = known.difference(allowed);
        offenders.extend(crossing.map(|other| format!("{room} uses {other}, but the page does not say so")));
        let idle = allowed.difference(known);
        offenders.extend(
            idle.map(|other| format!("{room} -> {other} is on the page, but {room} does not use {other}")),
        );
    }
    let strange = page.keys().filter(|room| !code.contains_key(*room));
    offenders.extend(strange.map(|room| format!("{room} is on the page, but there is no such module")));
    report(
        "the section \"Modules of kernels\" of ARCHITECTURE.md does not agree with the code:",
        &offenders,
    );
}

#[test]
fn no_rooms_import_each_other_in_a_circle() {
    let mut offenders = Vec::new();
    for sources in &ALL {
        let arrows = sources.arrows();
        assert!(arrows.len() > 1, "{} has no modules", sources.folder);
        println!("digraph \"{}\" {{", sources.folder);
        for (room, known) in &arrows {
            known
                .iter()
                .for_each(|other| println!("  \"{room}\" -> \"{other}\";"));
        }
        println!("}}");
        let round = circles(&arrows);
        for room in &round {
            let ties: Vec<&str> = arrows[room].intersection(&round).map(String::as_str).collect();
            offenders.push(format!("{}{room} -> {}", sources.folder, ties.join(", ")));
        }
    }
    report(
        "these modules import each other in a circle; move what both need to another module:",
        &offenders,
    );
}

/// A cycle of three is found, and modules that lead to it or depend on it are not part of it.
#[test]
fn circles_are_detected() {
    let arrows = |list: &[(&str, &[&str])]| -> Arrows {
        let set = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
        list.iter()
            .map(|(room, known)| (room.to_string(), set(known)))
            .collect()
    };
    let straight = arrows(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[])]);
    assert!(circles(&straight).is_empty());
    let round = arrows(&[
        ("a", &["b"]),
        ("b", &["c"]),
        ("c", &["d"]),
        ("d", &["b", "e"]),
        ("e", &[]),
    ]);
    assert_eq!(circles(&round), ["b", "c", "d"].map(String::from).into());
    let mut paths = Vec::new();
    let text = "use super::super::grid::{self, points}; fn f() { super::one(); crate::medium::two() }";
    let own = ["methods", "displacement", "rows"].map(String::from);
    imports(text.parse().unwrap(), &own, &mut paths);
    let paths: Vec<String> = paths.iter().map(|path| path.join("::")).collect();
    assert_eq!(paths[0], "methods::grid");
    assert!(paths[1].starts_with("methods::displacement::one") && paths[2].starts_with("medium::two"));
}
