//! Reads files of sources in the format of SPECFEM3D: blocks of lines, each with a keyword, a colon and a
//! number.

use anyhow::{Context, Result, bail};

/// The numbers of one source.
#[derive(Clone, Debug, PartialEq)]
pub struct Block<const N: usize> {
    /// One number per keyword, in the order of the keywords.
    pub values: [f64; N],
    /// The index of the spelling of each keyword that the file uses.
    pub spellings: [usize; N],
    /// The file of the source's time function, if a line names one.
    pub history: Option<String>,
}

/// Reads blocks from text. Each block has every keyword once, in any order; `words` lists the spellings of
/// each keyword. The first line of a source and lines with other keywords are skipped.
///
/// # Errors
/// Returns an error for a keyword that is missing or has no number; `kind` is the kind of file in messages.
pub fn read<const N: usize>(text: &str, kind: &str, words: &[&[&str]; N]) -> Result<Vec<Block<N>>> {
    let mut blocks: Vec<Block<N>> = Vec::new();
    let mut values: [Option<(f64, usize)>; N] = [None; N];
    for (number, line) in text.lines().enumerate().map(|(k, line)| (k + 1, line.trim())) {
        let is_started = values.iter().any(Option::is_some);
        // The first line of an event, the hypocentre of a catalogue, has no colon in any file.
        let Some((word, value)) = line.split_once(':') else {
            if let ([name], Some(last), false) = (
                &line.split_whitespace().collect::<Vec<_>>()[..],
                blocks.last_mut(),
                is_started,
            ) {
                last.history.get_or_insert_with(|| (*name).to_string());
            }
            continue;
        };
        let spelling = |known: &[&str]| known.iter().position(|k| k.eq_ignore_ascii_case(word.trim()));
        let known = words.iter().map(|known| spelling(known)).enumerate();
        let Some((k, spelling)) = known.filter_map(|(k, s)| Some((k, s?))).next() else {
            continue;
        };
        let value = value
            .split_whitespace()
            .next()
            .unwrap_or_default()
            .replace(['d', 'D'], "e");
        let value: f64 = value
            .parse()
            .ok()
            .filter(|v: &f64| v.is_finite())
            .with_context(|| format!("line {number} is `{line}`: a number must follow the colon"))?;
        if values[k].replace((value, spelling)).is_some() {
            bail!(
                "line {number} has `{word}` again, but the previous source has no {}",
                missing(&values, words)
            );
        }
        if values.iter().all(Option::is_some) {
            let whole = values.map(Option::unwrap_or_default);
            blocks.push(Block {
                values: whole.map(|(value, _)| value),
                spellings: whole.map(|(_, spelling)| spelling),
                history: None,
            });
            values = [None; N];
        }
    }
    if values.iter().any(Option::is_some) || blocks.is_empty() {
        bail!(
            "it has no {}; a {kind} file has {} for every source",
            missing(&values, words),
            words.map(|known| format!("`{}:`", known[0])).join(" ")
        );
    }
    Ok(blocks)
}

fn missing<const N: usize>(values: &[Option<(f64, usize)>; N], words: &[&[&str]; N]) -> String {
    let first = values.iter().position(Option::is_none).unwrap_or(0);
    format!("`{}:`", words[first].join(":` or `"))
}
