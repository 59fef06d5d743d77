//! Rules inside `kernels`: the largest length of functions of kernel sources, and the size of a minimal method.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};

use super::rooms::ends_item;
use super::{files_ending, read, report};

/// Largest length of a function of a kernel source; the aim is half of it.
const KERNEL_LINES: usize = 120;

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

/// Parameters of the command line, for example `ngpu=`, in the strings of a file; comments and items for tests are left
/// out.
fn parameters_in(tokens: TokenStream, names: &BTreeSet<&str>, texts: &mut Vec<String>) {
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
                    parameters_in(group.stream(), names, texts);
                }
            }
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                for (at, _) in text.match_indices('=').filter(|_| text.starts_with('"')) {
                    let word = text[..at].rsplit(|c: char| !c.is_alphanumeric()).next();
                    if word.is_some_and(|word| names.contains(word)) {
                        texts.push(text.clone());
                    }
                }
            }
            _ => {}
        }
        k += 1;
    }
}

/// Programs add the names of their parameters to the engine's advice (`programs/src/modelling/words.rs`).
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
            let mut texts = Vec::new();
            parameters_in(tokens, &names, &mut texts);
            offenders.extend(texts.into_iter().map(|text| format!("{name}: {text}")));
        }
    }
    report(
        "kernels speak of what can be done, programs add the word",
        &offenders,
    );
}

/// "Add a method" describes a method on a graph. The test counts its lines without comments and blanks, for processors
/// and ranks.
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
        "tests/graph has {lines} lines of code, at most {MOST} are allowed; use what the modules of kernels offer"
    );
}
