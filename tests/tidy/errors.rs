//! Errors measured by tests must be computed with the functions of `tests/support/largest.rs`, which detect numbers
//! that are not finite, empty lists and lists of unequal lengths.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::str::FromStr;

use super::{files_ending, report};

const MEASURES: &str = "tests/support/largest.rs";

/// Collects the lines in which a test computes the largest of several floats in a way that can miss a value, each with
/// the reason.
fn unchecked(tokens: TokenStream, lines: &mut Vec<(usize, &'static str)>) {
    let all: Vec<TokenTree> = tokens.into_iter().collect();
    let word = |k: usize, text: &str| all.get(k).is_some_and(|token| token.to_string() == text);
    let call = |k: usize| match all.get(k) {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => Some(group.stream()),
        _ => None,
    };
    for (k, token) in all.iter().enumerate() {
        let line = token.span().start().line;
        if (word(k, "f64") || word(k, "f32")) && word(k + 1, ":") && word(k + 2, ":") && word(k + 3, "max") {
            lines.push((line, "a maximum of floats passes over what is not a number"));
        }
        if word(k, "fold") && call(k + 1).is_some_and(calls_max) {
            lines.push((line, "a fold by max passes over what is not a number"));
        }
        let measure = word(k, "largest") || word(k, "magnitude");
        if measure && call(k + 1).is_some_and(|inside| has_word(inside, "zip")) {
            lines.push((
                line,
                "zip passes over the end of the longer list: take largest_difference",
            ));
        }
        // x = x.max(..), x[k] = x[k].max(..), *x = x.max(..)
        if word(k, "=") && !word(k.wrapping_sub(1), "=") {
            let first = all[..k].iter().rposition(ends_statement).map_or(0, |at| at + 1);
            let left = &all[first + usize::from(word(first, "*"))..k];
            let same = left
                .iter()
                .enumerate()
                .all(|(i, token)| word(k + 1 + i, &token.to_string()));
            let after = k + 1 + left.len();
            if !left.is_empty() && same && word(after, ".") && word(after + 1, "max") {
                lines.push((line, "a running maximum passes over what is not a number"));
            }
        }
        if let TokenTree::Group(group) = token {
            unchecked(group.stream(), lines);
        }
    }
}

fn ends_statement(token: &TokenTree) -> bool {
    match token {
        TokenTree::Punct(punct) => ";,".contains(punct.as_char()),
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        _ => false,
    }
}

fn has_word(tokens: TokenStream, text: &str) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => has_word(group.stream(), text),
        token => token.to_string() == text,
    })
}

/// True if `.max(..)` is called with an argument, as for floats but not for iterators.
fn calls_max(tokens: TokenStream) -> bool {
    let all: Vec<TokenTree> = tokens.into_iter().collect();
    all.iter().enumerate().any(|(k, token)| match token {
        TokenTree::Ident(name) if name == "max" && k > 0 && all[k - 1].to_string() == "." => {
            matches!(all.get(k + 1), Some(TokenTree::Group(group)) if !group.stream().is_empty())
        }
        TokenTree::Group(group) => calls_max(group.stream()),
        _ => false,
    })
}

fn of(text: &str) -> Vec<(usize, &'static str)> {
    let mut lines = Vec::new();
    unchecked(TokenStream::from_str(text).expect("Rust"), &mut lines);
    lines
}

#[test]
fn errors_are_measured_by_functions_that_see_what_is_not_a_number() {
    let mut offenders = Vec::new();
    for (name, text) in files_ending(".rs") {
        let test = name.starts_with("tests/") || name.ends_with("tests.rs");
        if test && name != MEASURES {
            let lines = of(&text).into_iter();
            offenders.extend(lines.map(|(line, why)| format!("{name}:{line}: {why}")));
        }
    }
    report(
        &format!(
            "take the functions of {MEASURES} for errors, and max_by(f64::total_cmp) for other numbers:"
        ),
        &offenders,
    );
}

#[test]
fn maxima_that_pass_over_numbers_are_detected() {
    for text in [
        "a.fold(0.0, f64::max)",
        "a.fold(0.0_f32, |m, x| m.max(x.abs()))",
        "fn f() { worst = worst.max(e); }",
        "fn f() { worst[k] = worst[k].max(e); }",
        "for k in all { *worst = worst.max(e); }",
        "assert!(a.fold(0.0, f32::max) < 1.0)",
        "worst = f64::max(worst, e)",
        "largest(a.iter().zip(&b).map(|(a, b)| a - b))",
    ] {
        assert_eq!(of(text).len(), 1, "{text}");
    }
    for text in [
        "x.max(0.0).sqrt()",
        "a.iter().max().unwrap()",
        "let top = low.max(high);",
        "a.fold(0, |n, rows| n + rows.iter().max().unwrap())",
        "largest_difference(a, b.iter().zip(&c).map(|(b, c)| b + c))",
    ] {
        assert_eq!(of(text), [], "{text}");
    }
}
