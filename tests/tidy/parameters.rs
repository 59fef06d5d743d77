//! Parameters are read as they are declared: with the name and the type of their `Param`. A run would refuse another
//! name or type as well, but only where it reads the parameter.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::{files_ending, report};

/// The methods of a `Job` that read a parameter, and the types that they read, as the constructors of `Param` name
/// them; without types any.
const READERS: [(&str, &[&str]); 17] = [
    ("int", &["int"]),
    ("int_opt", &["int"]),
    ("float", &["float"]),
    ("float_opt", &["float"]),
    ("double", &["float"]),
    ("double_opt", &["float"]),
    ("flag", &["bool"]),
    ("flag_opt", &["bool"]),
    ("choice", &["choice"]),
    ("text", &["string", "choice", "input", "output"]),
    ("ints", &["ints"]),
    ("floats", &["floats"]),
    ("number_or_file", &["number_or_file"]),
    ("input", &["input"]),
    ("has_input", &["input", "number_or_file"]),
    ("tagged_output", &["output"]),
    ("given", &[]),
];

/// The constructors of parameters of pictures (`programs/basics/src/pictures/words.rs`), and the types that they
/// declare.
const OF_PICTURES: [(&str, &str); 3] = [("word", "string"), ("real", "float"), ("size", "float")];

/// Types of declarations without a value that the program reads by name.
const UNREAD: [&str; 3] = ["words", "keys", "elsewhere"];

/// The parameters of a file.
#[derive(Default)]
struct Parameters {
    /// Name and type of every declaration.
    declared: Vec<(String, String)>,
    /// Names that are accepted without effect.
    ignored: BTreeSet<String>,
    /// Line, method and name of every reading whose name is a literal.
    readings: Vec<(usize, String, String)>,
    /// All strings, declarations left out.
    strings: BTreeSet<String>,
}

/// The first string of the arguments of a call.
fn first_string(token: Option<&TokenTree>) -> Option<String> {
    let Some(TokenTree::Group(group)) = token else {
        return None;
    };
    match group.stream().into_iter().next() {
        Some(TokenTree::Literal(literal)) if group.delimiter() == Delimiter::Parenthesis => {
            string(&literal.to_string())
        }
        _ => None,
    }
}

/// The text of a string literal.
fn string(literal: &str) -> Option<String> {
    let inside = literal.strip_prefix('"')?.strip_suffix('"')?;
    Some(inside.to_string())
}

/// The name and the type of the parameter that the first tokens declare.
fn declaration(tokens: &[TokenTree]) -> Option<(String, String)> {
    let TokenTree::Ident(first) = tokens.first()? else {
        return None;
    };
    let first = first.to_string();
    if let Some((_, kind)) = OF_PICTURES.iter().find(|(word, _)| first == *word) {
        return Some((first_string(tokens.get(1))?, kind.to_string()));
    }
    match tokens.get(3) {
        Some(TokenTree::Ident(kind)) if first == "Param" => {
            Some((first_string(tokens.get(4))?, kind.to_string()))
        }
        _ => None,
    }
}

/// Whether a text represents a name: the name itself, or a name with numbers or words in braces.
fn stands_for(text: &str, name: &str) -> bool {
    match (text.split_once('{'), text.rsplit_once('}')) {
        (Some((before, _)), Some((_, after))) => {
            let inside = name
                .strip_prefix(before)
                .and_then(|rest| rest.strip_suffix(after));
            before.len() + after.len() > 0 && inside.is_some_and(|inside| (1..6).contains(&inside.len()))
        }
        _ => text == name,
    }
}

impl Parameters {
    fn of(tokens: TokenStream) -> Self {
        let mut all = Self::default();
        all.collect(tokens);
        all
    }

    fn collect(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let word = |k: usize| match tokens.get(k) {
            Some(TokenTree::Ident(ident)) => ident.to_string(),
            Some(TokenTree::Punct(punct)) => punct.to_string(),
            _ => String::new(),
        };
        let mut k = 0;
        while k < tokens.len() {
            let is_method = k > 0 && word(k - 1) == ".";
            if let Some((name, kind)) = declaration(&tokens[k..]).filter(|_| !is_method) {
                let rest = tokens[k..].iter().take_while(|token| token.to_string() != ",");
                let rest: String = rest.map(|token| token.to_string()).collect();
                if rest.contains(".ignored") || rest.contains("accepted without effect") {
                    self.ignored.insert(name.clone());
                }
                self.declared.push((name, kind));
                // The name itself is not a string that reads it.
                k += 1;
                while !matches!(tokens[k], TokenTree::Group(_)) {
                    k += 1;
                }
                k += 1;
                continue;
            }
            if word(k) == "job"
                && word(k + 1) == "."
                && let Some(name) = first_string(tokens.get(k + 3))
            {
                let line = tokens[k].span().start().line;
                self.readings.push((line, word(k + 2), name));
            }
            match &tokens[k] {
                TokenTree::Group(group) => self.collect(group.stream()),
                TokenTree::Literal(literal) => self.strings.extend(string(&literal.to_string())),
                _ => {}
            }
            k += 1;
        }
    }
}

/// The declarations that match a name: its own, or the declaration of `n#` for `n1`.
fn types<'a>(declared: &'a BTreeMap<String, BTreeSet<String>>, name: &str) -> Option<&'a BTreeSet<String>> {
    let numbered = name.replace(|c: char| c.is_ascii_digit(), "#");
    declared.get(name).or_else(|| declared.get(&numbered))
}

/// The files of a crate of programs.
fn of_crate(folder: &str) -> Vec<(String, Parameters)> {
    let files = files_ending(".rs").into_iter().filter(|(name, _)| {
        name.starts_with(folder) && (folder != "programs/src/" || !name.starts_with("programs/basics/"))
    });
    let parsed = files.map(|(name, text)| {
        let tokens = text.parse().unwrap_or_else(|e| panic!("{name}: {e}"));
        (name, Parameters::of(tokens))
    });
    parsed.collect()
}

/// Name and types of all declarations of some files.
fn together<'a>(files: impl Iterator<Item = &'a Parameters>) -> BTreeMap<String, BTreeSet<String>> {
    let mut all = BTreeMap::<String, BTreeSet<String>>::new();
    for (name, kind) in files.flat_map(|file| &file.declared) {
        all.entry(name.clone()).or_default().insert(kind.clone());
    }
    all
}

/// The error in a call that reads a parameter of these types, if there is one; `None` for a method that reads no
/// parameter.
fn misreading(method: &str, key: &str, kinds: Option<&BTreeSet<String>>) -> Option<Option<String>> {
    let (_, allowed) = READERS.iter().find(|(reader, _)| *reader == method)?;
    Some(match kinds {
        None => Some(format!("{key}= is not declared")),
        Some(kinds) if allowed.is_empty() || kinds.iter().any(|kind| allowed.contains(&kind.as_str())) => {
            None
        }
        Some(kinds) => Some(format!("{key}= is declared as {kinds:?}")),
    })
}

#[test]
fn parameters_are_read_as_they_are_declared() {
    let (mut offenders, mut readings) = (Vec::new(), 0);
    for folder in ["programs/src/", "programs/basics/src/"] {
        let files = of_crate(folder);
        let everywhere = together(files.iter().map(|(_, file)| file));
        for (name, file) in &files {
            let own = together(std::iter::once(file));
            for (line, method, key) in &file.readings {
                let kinds = types(&own, key).or_else(|| types(&everywhere, key));
                let Some(wrong) = misreading(method, key, kinds) else {
                    continue;
                };
                readings += 1;
                offenders.extend(wrong.map(|wrong| format!("{name}:{line}: {method}(\"{key}\"): {wrong}")));
            }
        }
    }
    assert!(
        readings > 500,
        "only {readings} readings of parameters were recognised"
    );
    report(
        "these parameters are read otherwise than they are declared:",
        &offenders,
    );
}

#[test]
fn wrong_names_and_types_are_detected() {
    let text = r#"const ALL: &[Param] = &[Param::int("n#").doc("samples"), real("c0", "0", "value"), Param::bool("old").ignored()];
        fn run(job: &Job) { job.int("n2"); job.float("n2"); job.float("c0"); job.flag("absent"); job.say("text"); header.text("t"); }"#;
    let file = Parameters::of(text.parse().unwrap());
    let declared = together(std::iter::once(&file));
    let wrong = file
        .readings
        .iter()
        .map(|(_, method, key)| misreading(method, key, types(&declared, key)));
    let wrong: Vec<_> = wrong.map(|wrong| wrong.map(|text| text.is_some())).collect();
    assert_eq!(wrong, [Some(false), Some(true), Some(false), Some(true), None]);
    assert!(file.ignored.contains("old") && !file.ignored.contains("c0"));
    assert!(stands_for("d{number}", "d2") && !stands_for("d{number}", "o2") && !stands_for("{}", "d2"));
}

#[test]
fn declared_parameters_are_read() {
    let mut offenders = Vec::new();
    for folder in ["programs/src/", "programs/basics/src/"] {
        let files = of_crate(folder);
        let strings: BTreeSet<&String> = files.iter().flat_map(|(_, file)| &file.strings).collect();
        for (name, file) in &files {
            let unread = file.declared.iter().filter(|(key, kind)| {
                let read = strings.iter().any(|text| stands_for(text, key));
                !UNREAD.contains(&kind.as_str()) && !key.contains('#') && !file.ignored.contains(key) && !read
            });
            offenders.extend(unread.map(|(key, _)| format!("{name}: {key}=")));
        }
    }
    report(
        "these parameters are declared, and no program reads them:",
        &offenders,
    );
}
