//! Arguments without the key of a parameter: files, and pieces of a `key=value` that blanks have split.

use std::path::Path;

use crate::params::{ParamKind, Program};

/// The warning about a file that is given without a key: the parameter that has the name of the file, or else standard
/// input if the program has one, or else its first file.
pub(crate) fn without_key(program: &'static Program, word: &str) -> String {
    let stem = Path::new(word).file_stem().unwrap_or_default().to_string_lossy();
    let files = [ParamKind::Input, ParamKind::NumberOrFile];
    let mut inputs = program.params.iter().filter(|param| files.contains(&param.kind));
    let named = inputs
        .clone()
        .find(|param| param.answers_to(&stem))
        .map(|_| stem.to_string());
    let by_name = |key: &str| format!("give it by name, as in {key}={word}");
    // The usage of a program begins with its standard input.
    let cure = match (program.usage.contains('<'), named) {
        (true, None) => format!(
            "this program reads a dataset from standard input, as in {} < {word}",
            program.name
        ),
        (true, Some(key)) => format!(
            "{}, or on standard input, as in {} < {word}",
            by_name(&key),
            program.name
        ),
        (false, Some(key)) => by_name(&key),
        (false, None) => match inputs.next() {
            Some(param) => by_name(param.name),
            None => "this program reads no dataset from standard input (--help lists its parameters)".into(),
        },
    };
    format!("`{word}` is ignored: {cure}")
}

/// The end of the warning about blanks beside `=`.
const WITHOUT_BLANKS: &str = "is ignored: parameters are written key=value, without blanks";

/// The warning about a word that is neither a file nor has a key.
pub(crate) fn with_blanks(word: &str) -> String {
    format!("`{word}` {WITHOUT_BLANKS}")
}

/// Warns of an argument that begins with `=`, unless the last warning is about blanks already.
pub(crate) fn blanks_beside(warnings: &mut Vec<String>, argument: &str) {
    if !warnings.last().is_some_and(|last| last.ends_with(WITHOUT_BLANKS)) {
        warnings.push(with_blanks(argument));
    }
}
