//! The rules of ARCHITECTURE.md as a test: dependencies, largest lengths, and words that must not be used.
//!
//! Each test collects all violations and prints them, so that one run shows everything that must be changed.

#[path = "tidy/claims.rs"]
mod claims;
#[path = "tidy/errors.rs"]
mod errors;
#[path = "tidy/kernels.rs"]
mod kernels;
#[path = "tidy/names.rs"]
mod names;
#[path = "tidy/parameters.rs"]
mod parameters;
#[path = "tidy/rooms.rs"]
mod rooms;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

const FILE_LINES: usize = 500;
/// Largest number of characters of a source file: the number of lines alone does not limit long lines of Python and of
/// texts in Rust.
const FILE_CHARACTERS: usize = 26_000;
const PROGRAM_LINES: usize = 120;
const FUNCTION_LINES: usize = 80;
const ARGUMENTS: usize = 6;
/// Two printed pages, including tables.
const PAGE_LINES: usize = 150;
/// Characters of a line of text in a page. Rows of tables and blocks of code may be longer.
const TEXT_CHARACTERS: usize = 400;
const FOLDERS: [&str; 5] = ["book", "kernels", "programs", "rsf-io", "tests"];
const PAGES: [&str; 5] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "kernels/README.md",
];

/// The attribute of tests that run only with `./sconsw test full=y`, as `.ci/run` does.
const LONG: &str = concat!("#[ign", "ore = \"long: ./sconsw test full=y\"]");

/// Words (parts of identifiers, outside test code) that a module must not use, and the reason.
const NEVER: [(&str, &[&str], &str); 7] = [
    (
        "rsf-io/src/",
        &["kernels", "rayon", "cuda", "gpu", "wavefield"],
        "rsf-io knows no waves, GPUs or threads",
    ),
    (
        "kernels/src/",
        &["rsf", "println", "eprintln", "argv", "exit", "stdin", "stdout"],
        "kernels know no RSF, console or process",
    ),
    (
        "kernels/src/grid",
        &["thread", "rayon", "cuda", "gpu", "file"],
        "mathematics knows no machine",
    ),
    (
        "kernels/src/grid/stencil",
        &["thread", "rayon", "cuda", "gpu", "file"],
        "mathematics knows no machine",
    ),
    (
        "kernels/src/time_loop",
        &["cpu", "gpu", "cuda", "mpi", "rayon", "stress", "velocity"],
        "the time loop names no device and no field",
    ),
    (
        "programs/src/",
        &["unsafe", "cuda", "cudarc"],
        "programs hold no unsafe code and no machines",
    ),
    (
        "programs/basics/src/",
        &["unsafe", "cuda", "kernels"],
        "everyday programs hold no unsafe code and know no engine",
    ),
];

/// (crate, crates on which it must not depend): the arrows of ARCHITECTURE.md.
const ARROWS: [(&str, &[&str]); 6] = [
    ("rsf-io", &["kernels", "programs", "rayon", "cudarc", "mpi"]),
    (
        "kernels",
        &["rsf-io", "programs", "clap", "indicatif", "mpi", "ranks"],
    ),
    ("kernels/fourier", &["kernels", "rsf-io", "programs", "basics"]),
    ("kernels/mpi", &["rsf-io", "programs", "clap", "indicatif"]),
    ("programs", &["mpi", "basics"]),
    ("programs/basics", &["kernels", "programs", "mpi", "cudarc"]),
];

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the workspace is the parent of a crate")
        .to_path_buf()
}

/// Paths (relative to the top, `/` between parts) of the project's own files, without files that tools leave behind.
fn files() -> Vec<String> {
    let (top, mut names) = (top(), Vec::new());
    let mut open = vec![top.clone()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the project can be listed") {
            let path = entry.expect("an entry can be read").path();
            let relative = path
                .strip_prefix(&top)
                .expect("inside the top")
                .to_string_lossy()
                .replace('\\', "/");
            if path.is_file() {
                names.push(relative);
            } else if path.is_dir() && !is_left_by_tools(&path, &relative) {
                open.push(path);
            }
        }
    }
    names.sort();
    names
}

/// True for build folders, virtual environments, git's own data and names at the top of .gitignore.
fn is_left_by_tools(path: &Path, relative: &str) -> bool {
    let ignored = read(".gitignore")
        .lines()
        .any(|line| line.strip_prefix('/') == Some(relative));
    let hidden = relative.starts_with('.') && relative != ".ci";
    ignored || hidden || relative.ends_with("__pycache__") || path.join("CACHEDIR.TAG").exists()
}

fn read(relative: &str) -> String {
    fs::read_to_string(top().join(relative)).unwrap_or_else(|e| panic!("{relative}: {e}"))
}

fn files_ending(end: &str) -> Vec<(String, String)> {
    let names = files().into_iter().filter(|name| name.ends_with(end));
    names.map(|name| (name.clone(), read(&name))).collect()
}

fn report(rule: &str, offenders: &[String]) {
    assert!(offenders.is_empty(), "{rule}\n  {}\n", offenders.join("\n  "));
}

/// (section, name) of every dependency that a manifest declares.
fn dependencies(manifest: &str) -> Vec<(String, String)> {
    let (mut section, mut rows) = (String::new(), Vec::new());
    for line in manifest.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']').to_string();
        } else if section.ends_with("dependencies")
            && !line.starts_with('#')
            && let Some((key, _)) = line.split_once('=')
        {
            let name = key.trim().split('.').next().unwrap_or_default().trim_matches('"');
            rows.push((section.clone(), name.to_string()));
        }
    }
    rows
}

#[test]
fn crates_depend_only_along_the_arrows() {
    let mut offenders = Vec::new();
    for (room, banned) in ARROWS {
        for (section, name) in dependencies(&read(&format!("{room}/Cargo.toml"))) {
            if banned.contains(&name.as_str()) {
                offenders.push(format!("{room}/Cargo.toml [{section}] {name}"));
            }
        }
    }
    report(
        "programs -> kernels, ranks and rsf-io, basics -> fourier and rsf-io, kernels -> fourier and ranks -> kernels are the only dependencies, and only ranks may use MPI; these are others:",
        &offenders,
    );
}

#[test]
fn rooms_keep_to_their_words() {
    let mut offenders = Vec::new();
    for (name, text) in files_ending(".rs") {
        let rules: Vec<_> = NEVER.iter().filter(|(room, ..)| name.starts_with(room)).collect();
        if rules.is_empty() || name.ends_with("tests.rs") || name.contains("/tests/") {
            continue;
        }
        let tokens = text.parse().unwrap_or_else(|e| panic!("{name}: {e}"));
        for (line, ident) in identifiers_outside_tests(tokens) {
            for (room, words, reason) in &rules {
                if ident.to_lowercase().split('_').any(|part| words.contains(&part)) {
                    offenders.push(format!("{name}:{line}: `{ident}` ({room}: {reason})"));
                }
            }
        }
    }
    report("these words belong to another module:", &offenders);
}

/// Every identifier with its line, including macro bodies, without the item after `#[cfg(test)]`.
fn identifiers_outside_tests(tokens: TokenStream) -> Vec<(usize, String)> {
    let (mut identifiers, mut in_test_item) = (Vec::new(), false);
    for token in tokens {
        match token {
            TokenTree::Group(group)
                if group.delimiter() == Delimiter::Bracket && is_cfg_test(&group.stream()) =>
            {
                in_test_item = true;
            }
            TokenTree::Group(group) if in_test_item && group.delimiter() == Delimiter::Brace => {
                in_test_item = false
            }
            TokenTree::Punct(punct) if in_test_item && punct.as_char() == ';' => in_test_item = false,
            _ if in_test_item => {}
            TokenTree::Group(group) => identifiers.extend(identifiers_outside_tests(group.stream())),
            TokenTree::Ident(ident) => identifiers.push((ident.span().start().line, ident.to_string())),
            _ => {}
        }
    }
    identifiers
}

fn is_cfg_test(attribute: &TokenStream) -> bool {
    attribute.to_string().replace(' ', "") == "cfg(test)"
}

#[test]
fn files_stay_short() {
    let mut offenders = Vec::new();
    let code = [".rs", ".cu", ".cuh", ".py", ".sh", "SConstruct", "sconsw"];
    for name in files() {
        let ceiling = if name.starts_with("programs/src/bin/") {
            PROGRAM_LINES
        } else if code.iter().any(|end| name.ends_with(end)) {
            FILE_LINES
        } else if PAGES.contains(&name.as_str()) {
            PAGE_LINES
        } else {
            continue;
        };
        let text = read(&name);
        let (lines, characters) = (text.lines().count(), text.chars().count());
        if lines > ceiling {
            offenders.push(format!("{name}: {lines} lines, at most {ceiling}"));
        }
        if ceiling != PAGE_LINES && characters > FILE_CHARACTERS {
            offenders.push(format!(
                "{name}: {characters} characters, at most {FILE_CHARACTERS}"
            ));
        }
    }
    report(
        "these files are too long; split them by what they know:",
        &offenders,
    );
}

#[test]
fn lines_of_pages_stay_short() {
    let mut offenders = Vec::new();
    for (name, page) in files_ending(".md") {
        let mut in_code = false;
        for (number, line) in page.lines().enumerate() {
            in_code ^= line.trim_start().starts_with("```");
            let characters = line.chars().count();
            if characters > TEXT_CHARACTERS && !in_code && !line.trim_start().starts_with('|') {
                offenders.push(format!(
                    "{name}:{}: {characters} characters, at most {TEXT_CHARACTERS}",
                    number + 1
                ));
            }
        }
    }
    report("these lines of text are too long; wrap them:", &offenders);
}

/// The functions of one file that exceed the limits.
struct Functions<'a> {
    file: &'a str,
    offenders: Vec<String>,
}

impl Functions<'_> {
    fn check(&mut self, signature: &syn::Signature, whole: Span) {
        let first = signature.span().start().line;
        let lines = whole.end().line + 1 - first;
        // Parts of a tuple count one by one, because a tuple would otherwise hide arguments.
        let arguments: usize = signature
            .inputs
            .iter()
            .map(|input| match input {
                syn::FnArg::Typed(typed) => parts(&typed.pat),
                syn::FnArg::Receiver(_) => 0,
            })
            .sum();
        let place = format!("{}:{first}: {}", self.file, signature.ident);
        if lines > FUNCTION_LINES {
            self.offenders
                .push(format!("{place}: {lines} lines, at most {FUNCTION_LINES}"));
        }
        if arguments > ARGUMENTS {
            self.offenders
                .push(format!("{place}: {arguments} arguments, at most {ARGUMENTS}"));
        }
    }
}

/// The names that a pattern binds through tuples.
fn parts(pattern: &syn::Pat) -> usize {
    match pattern {
        syn::Pat::Tuple(tuple) => tuple.elems.iter().map(parts).sum(),
        _ => 1,
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, node: &'ast syn::ItemFn) {
        self.check(&node.sig, node.block.span());
        visit::visit_item_fn(self, node);
    }

    fn visit_impl_item_fn(&mut self, node: &'ast syn::ImplItemFn) {
        self.check(&node.sig, node.block.span());
        visit::visit_impl_item_fn(self, node);
    }

    fn visit_trait_item_fn(&mut self, node: &'ast syn::TraitItemFn) {
        self.check(
            &node.sig,
            node.default
                .as_ref()
                .map_or(node.sig.span(), |block| block.span()),
        );
        visit::visit_trait_item_fn(self, node);
    }
}

#[test]
fn functions_stay_short() {
    let mut offenders = Vec::new();
    for (name, text) in files_ending(".rs") {
        let tree = syn::parse_file(&text).unwrap_or_else(|e| panic!("{name}:{}: {e}", e.span().start().line));
        let mut functions = Functions {
            file: &name,
            offenders: Vec::new(),
        };
        functions.visit_file(&tree);
        offenders.extend(functions.offenders);
    }
    report("these functions do too much; give their parts names:", &offenders);
}

#[test]
fn nothing_unfinished_and_no_machine_is_named() {
    let banned = [
        (concat!("TO", "DO"), "do it or open an issue"),
        (concat!("FIX", "ME"), "do it or open an issue"),
        (concat!("unimpl", "emented!"), "a stub is not a feature"),
        (concat!("to", "do!("), "a stub is not a feature"),
        (
            concat!("#[ign", "ore"),
            "a test runs, by `./sconsw test full=y` at least, or does not exist",
        ),
        (concat!("/ro", "ot/"), "a path of one machine"),
        (concat!("/wo", "rk/"), "a path of one machine"),
        (concat!("/ho", "me/"), "a path of one machine"),
        (concat!("C:", "\\Users"), "a path of one machine"),
    ];
    let mut offenders = Vec::new();
    for name in files().iter().filter(|name| *name != "Cargo.lock") {
        // Files that are not text (fonts, RSF data) are skipped.
        let Ok(text) = fs::read_to_string(top().join(name)) else {
            continue;
        };
        for (number, line) in text.lines().enumerate() {
            let line = line.replace(LONG, "");
            for (word, advice) in banned.iter().filter(|(word, _)| line.contains(word)) {
                offenders.push(format!("{name}:{}: `{word}`: {advice}", number + 1));
            }
        }
    }
    report("these lines must not be in the tree:", &offenders);
}

#[test]
fn the_top_level_folders_are_fixed() {
    let folders: BTreeSet<String> = files()
        .iter()
        .filter_map(|name| name.split_once('/'))
        .map(|(folder, _)| folder.to_string())
        .collect();
    let strange = folders
        .into_iter()
        .filter(|name| !FOLDERS.contains(&name.as_str()) && name != ".ci");
    let offenders: Vec<String> = strange.collect();
    report(
        "every top-level folder has a row in ARCHITECTURE.md; these have none:",
        &offenders,
    );
}

#[test]
fn every_dependency_has_its_reason() {
    let page = read("ARCHITECTURE.md");
    let (_, table) = page
        .split_once("## Dependencies")
        .expect("ARCHITECTURE.md lists the dependencies");
    let rows = table
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
    let with_reason = rows.filter(|(_, reason)| reason.len() > 20);
    let explained: BTreeSet<String> = with_reason.map(|(name, _)| name.to_string()).collect();
    let own = ["checks", "fourier", "kernels", "programs", "ranks", "rsf-io"];
    let (mut used, mut declared) = (BTreeSet::new(), BTreeSet::new());
    for (_, text) in files_ending("Cargo.toml") {
        for (section, name) in dependencies(&text)
            .into_iter()
            .filter(|(_, name)| !own.contains(&name.as_str()))
        {
            if section.starts_with("workspace") {
                &mut declared
            } else {
                &mut used
            }
            .insert(name);
        }
    }
    let mut offenders = Vec::new();
    offenders.extend(
        used.difference(&explained)
            .map(|name| format!("{name}: no row with its reason in ARCHITECTURE.md")),
    );
    offenders.extend(
        explained
            .difference(&used)
            .map(|name| format!("{name}: a row in ARCHITECTURE.md, but no crate uses it")),
    );
    offenders.extend(
        declared
            .difference(&used)
            .map(|name| format!("{name}: in Cargo.toml, but no crate uses it")),
    );
    report(
        "every dependency is used and has one row with its reason:",
        &offenders,
    );
}
