//! Trace headers: their type, and the names of their keys.

use anyhow::{Result, bail, ensure};
use rsf_io::{Input, Job, Kind};

use super::segy::keys;

/// The type of the headers, integers or floating-point numbers.
pub fn kind(input: &Input) -> Result<Kind> {
    let kind = input.format().kind;
    ensure!(
        matches!(kind, Kind::Int | Kind::Float),
        "the input holds {} data, but headers must be int or float ({})",
        kind.word(),
        kind.to(Kind::Int)
    );
    Ok(kind)
}

/// The number of keys of a trace in a table of SEG-Y: the 91 keys of the standard and the keys that key1=, key2=, ...
/// name.
pub fn keys_of_segy(job: &Job, input: &Input) -> Result<usize> {
    let mut count = keys::trace_fields().len();
    for i in 1..=9 {
        let key = format!("key{i}");
        if job.text(&key)?.or_else(|| input.header().text(&key)).is_none() {
            break;
        }
        count += 1;
    }
    Ok(count)
}

/// Name and meaning of each of the `count` keys of a trace. If neither the command line nor the header names the i-th
/// key after the keys of SEG-Y, `unnamed(i)` provides the name.
pub fn meanings(
    job: &Job,
    input: &Input,
    count: usize,
    unnamed: impl Fn(usize) -> String,
) -> Result<Vec<(String, &'static str)>> {
    let known = if job.flag("segy")? {
        keys::trace_fields()
    } else {
        Vec::new()
    };
    let known = known.into_iter().take(count);
    let mut all: Vec<_> = known.map(|field| (field.name, field.about)).collect();
    for i in 1..=count - all.len() {
        let key = format!("key{i}");
        // The command line has keys 1 to 9 only.
        let given = if i <= 9 { job.text(&key)? } else { None };
        let name = given.or_else(|| input.header().text(&key));
        all.push((name.unwrap_or_else(|| unnamed(i)), "an additional key (key#=)"));
    }
    Ok(all)
}

/// The names of the keys of a trace, in order, by which formulas and other parameters refer to them.
///
/// # Errors
/// Returns an error if two keys have the same name.
pub fn names(job: &Job, input: &Input, count: usize) -> Result<Vec<String>> {
    let all = meanings(job, input, count, |i| format!("key{i}"))?;
    let names: Vec<String> = all.into_iter().map(|(name, _)| name).collect();
    let mut numbered = names.iter().enumerate();
    if let Some((_, twice)) = numbered.find(|(i, name)| names[..*i].contains(name)) {
        bail!("two keys are called {twice}: key1=, key2=, ... give them other names");
    }
    Ok(names)
}
