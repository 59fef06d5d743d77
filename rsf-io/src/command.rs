//! Reads Madagascar's command line by means of clap: `key=value`, where the last value of a key takes precedence, and
//! `par=` files.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io::BufReader;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use clap_complete::Shell;

use crate::header::unquoted;
use crate::input::open_file;
use crate::keyless::{blanks_beside, with_blanks, without_key};
use crate::params::{COMMON, OF_DRIVERS, Param, ParamKind, Program, WITHOUT_EFFECT};
use crate::value::{Parsed, Value};
use crate::{Error, Header, Result};

/// The action that the command line requests.
#[derive(Debug)]
pub(crate) enum Action {
    Run,
    Help,
    Version,
    Sfdoc,
    Completion(Shell),
}

/// A command line after parsing.
#[derive(Debug)]
pub(crate) struct Line {
    pub action: Action,
    pub values: BTreeMap<String, Value>,
    /// Arguments without `=`, for a program that takes them.
    pub free_words: Vec<OsString>,
    /// Undeclared keys in the order of the line, for a program that takes them.
    pub free_keys: Vec<(String, OsString)>,
    /// Values of the keys that all programs have ([`COMMON`]).
    pub common: BTreeMap<&'static str, OsString>,
    pub warnings: Vec<String>,
}

/// The arguments, sorted: the last value of each parameter, and options for clap.
#[derive(Default)]
struct Words {
    keys: BTreeMap<String, OsString>,
    /// The names under which parameters were typed on the command line itself.
    typed: BTreeMap<String, String>,
    free_words: Vec<OsString>,
    free_keys: Vec<(String, OsString)>,
    common: BTreeMap<&'static str, OsString>,
    options: Vec<OsString>,
    unknown: Vec<String>,
    /// Whether the argument before was a lone `=`.
    after_equals: bool,
}

impl Line {
    /// Reads the arguments (without the program's name).
    /// Returns an error for a value that is not allowed, an unreadable par= file or, under RSF_STRICT=1, an
    /// unknown key.
    pub(crate) fn read(program: &'static Program, arguments: Vec<OsString>) -> Result<Self> {
        let mut words = Words::default();
        let mut rest = arguments.into_iter();
        while let Some(argument) = rest.next() {
            words.take(program, argument, &mut rest)?;
        }
        if !words.unknown.is_empty() && strict() {
            return Err(Error::new(format!(
                "{} (RSF_STRICT is set)",
                words.unknown.join("; ")
            )));
        }
        let mut warnings = words.unknown;
        if let Some(last) = warnings.last_mut() {
            last.push_str("; RSF_STRICT=1 makes this an error");
        }

        let mut line = vec![OsString::from(program.name)];
        for (key, value) in &words.keys {
            let mut word = OsString::from(format!("--{key}="));
            word.push(value);
            line.push(word);
        }
        line.append(&mut words.options);
        let matches = clap_command(program)
            .try_get_matches_from(line)
            .map_err(|error| restyled(&error))?;
        let mut values = BTreeMap::new();
        for (param, key) in program.params.iter().flat_map(keys_of) {
            if let Some(parsed) = matches.get_one::<Parsed>(&key) {
                if param.ignored {
                    warnings.push(format!("{key}= has no effect in this program ({})", param.doc));
                }
                warnings.extend(parsed.remark.clone());
                values.insert(key, parsed.value.clone());
            }
        }
        Ok(Self {
            action: action(&matches),
            values,
            free_words: words.free_words,
            free_keys: words.free_keys,
            common: words.common,
            warnings,
        })
    }

    /// The value of a yes-or-no key that all programs have.
    pub(crate) fn common_flag(&self, key: &str) -> bool {
        self.common
            .get(key)
            .is_some_and(|v| matches!(v.as_bytes().first(), Some(b'y' | b'Y' | b'1')))
    }
}

pub(crate) fn strict() -> bool {
    env::var_os("RSF_STRICT").is_some_and(|v| matches!(v.as_bytes().first(), Some(b'y' | b'Y' | b'1')))
}

fn action(matches: &ArgMatches) -> Action {
    if matches.get_flag("help") {
        Action::Help
    } else if matches.get_flag("version") {
        Action::Version
    } else if matches.get_flag("sfdoc") {
        Action::Sfdoc
    } else if let Some(shell) = matches.get_one::<Shell>("completion") {
        Action::Completion(*shell)
    } else {
        Action::Run
    }
}

impl Words {
    /// Classifies one argument; a parameter typed as an option (`--nb 4`) takes the next argument as its value.
    fn take(
        &mut self,
        program: &'static Program,
        argument: OsString,
        rest: &mut impl Iterator<Item = OsString>,
    ) -> Result<()> {
        let bytes = argument.as_bytes();
        let after_equals = std::mem::take(&mut self.after_equals);
        if bytes.first() == Some(&b'=') && !takes(program, ParamKind::Words) {
            self.after_equals = bytes.len() == 1;
            blanks_beside(&mut self.unknown, &argument.to_string_lossy());
            return Ok(());
        }
        if let Some(at) = bytes.iter().position(|b| *b == b'=') {
            let value = OsString::from_vec(bytes[at + 1..].to_vec());
            let key = String::from_utf8_lossy(&bytes[..at]).into_owned();
            if key == "par" {
                return self.par_file(program, &value);
            }
            if key == "--completion" {
                self.options.push(argument);
            } else if !self.assign(program, &key, value, true)? {
                self.unknown.push(unknown(program, &key));
            }
            return Ok(());
        }
        let word = argument.to_string_lossy().into_owned();
        match word.as_str() {
            "-h" | "--help" | "-V" | "--version" | "--sfdoc" => self.options.push(argument),
            "--completion" => {
                self.options.push(argument);
                self.options.extend(rest.next());
            }
            _ => match word.strip_prefix("--").and_then(|key| declared(program, key)) {
                Some(param) => {
                    let value = rest.next().unwrap_or_default();
                    self.set(param, &word[2..], value, true)?;
                }
                None if takes(program, ParamKind::Words) => self.free_words.push(argument),
                // The message about the = before this value is enough.
                None if after_equals => {}
                None if Path::new(&argument).is_file() => self.unknown.push(without_key(program, &word)),
                None => self.unknown.push(with_blanks(&word)),
            },
        }
        Ok(())
    }

    /// Stores the value of a parameter. If one name has two values, the last one takes precedence; two names of one
    /// parameter on one command line are an error.
    fn set(&mut self, param: &'static Param, typed: &str, value: OsString, on_line: bool) -> Result<()> {
        let key = param.key(typed);
        if on_line {
            let before = self.typed.insert(key.clone(), typed.to_string());
            if let Some(before) = before.filter(|before| before != typed) {
                return Err(Error::new(format!(
                    "{before}= and {typed}= are two names of one parameter: give one of them"
                )));
            }
        }
        self.keys.insert(key, value);
        Ok(())
    }

    /// Stores a value; returns false for an unknown key.
    fn assign(
        &mut self,
        program: &'static Program,
        key: &str,
        value: OsString,
        on_line: bool,
    ) -> Result<bool> {
        // A program may declare a key that is otherwise common, such as out.
        let bare = key.strip_prefix("--").filter(|k| *k != "out").unwrap_or(key);
        if let Some(param) = declared(program, bare) {
            self.set(param, bare, value, on_line)?;
            return Ok(true);
        }
        let common = COMMON
            .iter()
            .map(|(key, _)| *key)
            .chain(["--out"])
            .chain(WITHOUT_EFFECT.iter().copied());
        for known in common {
            if known == key {
                self.common.insert(known, value);
                return Ok(true);
            }
        }
        if OF_DRIVERS.contains(&key) && declared(program, "adj").is_some() {
            return Ok(true);
        }
        let free =
            takes(program, ParamKind::Keys) && key.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        if free {
            self.free_keys.retain(|(known, _)| known != key);
            self.free_keys.push((key.to_string(), value));
        }
        Ok(free)
    }

    fn par_file(&mut self, program: &'static Program, file: &OsStr) -> Result<()> {
        let name = format!("par={}", file.to_string_lossy());
        let reader = open_file(Path::new(file), &name, "a file of parameters (key=value)")?;
        let header = Header::read(&mut BufReader::new(reader))
            .map_err(|error| Error::new(format!("{name}: {error}")))?;
        for (key, value) in header.entries() {
            let key = String::from_utf8_lossy(key).into_owned();
            // A par= inside a par= file has no effect.
            let value = OsString::from_vec(bare(value).ok_or_else(|| open_quote(&name, &key))?.to_vec());
            if key != "par" && !self.assign(program, &key, value, false)? {
                self.unknown.push(format!("{name}: {}", unknown(program, &key)));
            }
        }
        Ok(())
    }
}

/// A value of a par= file without the quotes around it, which may also be single quotes as in a shell; `None`
/// if a single quote is opened but not closed.
fn bare(value: &[u8]) -> Option<&[u8]> {
    match value {
        [b'\'', inner @ .., b'\''] => Some(inner),
        [b'\'', ..] => None,
        _ => Some(unquoted(value)),
    }
}

fn open_quote(name: &str, key: &str) -> Error {
    Error::new(format!(
        "{name}: the value of {key}= begins with a single quote that is not closed before the next blank: values with blanks are written in double quotes, as {key}=\"...\""
    ))
}

fn declared(program: &'static Program, key: &str) -> Option<&'static Param> {
    program.params.iter().find(|param| param.answers_to(key))
}

/// True when the program declares that it takes words or undeclared keys.
fn takes(program: &Program, kind: ParamKind) -> bool {
    program.params.iter().any(|param| param.kind == kind)
}

fn keys_of(param: &'static Param) -> impl Iterator<Item = (&'static Param, String)> {
    param.all_keys().into_iter().map(move |key| (param, key))
}

/// The warning about an unknown key, with the key that is probably meant: a key that has this name in other programs, a
/// key with similar letters, or a key with the same beginning (`freq` for `frequency`).
fn unknown(program: &'static Program, key: &str) -> String {
    let bare = key.trim_start_matches('-').to_lowercase();
    let mut named = program.params.iter();
    let named = named
        .find(|param| param.known_as.contains(&bare.as_str()) || (!param.is_shown() && param.name == key));
    if let Some(param) = named {
        return match param.is_shown() {
            true => format!("unknown parameter {key}= (did you mean {}= ?)", param.name),
            false => format!("unknown parameter {key}=: {}", param.doc),
        };
    }
    let known: Vec<&'static str> = program
        .params
        .iter()
        .filter(|param| !param.ignored && param.is_shown())
        .flat_map(Param::names)
        .chain(COMMON.iter().map(|(key, _)| *key))
        .collect();
    let distance = |name: &str| strsim::damerau_levenshtein(&bare, name.trim_start_matches('-'));
    let least = known.iter().map(|name| distance(name)).min();
    let is_near = |name: &&str| {
        let distance = distance(name);
        Some(distance) == least && distance <= 1 + name.len() / 4 && distance < name.len()
    };
    let mut all: Vec<&'static str> = known.iter().copied().filter(is_near).collect();
    all.sort_unstable();
    all.dedup();
    let begins = || {
        let short = known
            .iter()
            .filter(|name| name.len() > 2 && bare.starts_with(**name));
        short.max_by_key(|name| name.len()).copied()
    };
    all.extend(begins().filter(|_| all.is_empty()));
    // The # in a name stands for the number of an axis.
    let all: Vec<String> = all.iter().map(|name| name.replace('#', "1") + "=").collect();
    match all.as_slice() {
        [] => format!("unknown parameter {key}="),
        [name] => format!("unknown parameter {key}= (did you mean {name} ?)"),
        [first @ .., last] => format!(
            "unknown parameter {key}= (did you mean {} or {last} ?)",
            first.join(", ")
        ),
    }
}

/// The parameter that differs from a key by one letter. If its name has only one letter, the key must contain
/// that letter, so that `nn1` is a slip of `n1`, but `t0` is not.
pub(crate) fn slip(program: &'static Program, key: &str) -> Option<String> {
    let lower = key.to_lowercase();
    let letters = lower.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = &lower[letters.len()..];
    let named = |name: &&str| match name.strip_suffix('#') {
        Some(stem) if number.is_empty() => letters == stem,
        Some(stem) if stem.len() == 1 => letters.contains(stem) && letters.len() <= 2,
        Some(stem) => strsim::damerau_levenshtein(letters, stem) <= 1,
        None => name.len() > 2 && strsim::damerau_levenshtein(&lower, name) <= 1,
    };
    let mut names = program.params.iter().flat_map(Param::names);
    let name = names.find(named)?;
    Some(name.replace('#', if number.is_empty() { "1" } else { number }))
}

/// The program as a clap command, from which the completions are also generated.
pub(crate) fn clap_command(program: &'static Program) -> Command {
    let option = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).help(help).action(ArgAction::SetTrue)
    };
    Command::new(program.name)
        .about(program.about)
        .disable_help_flag(true)
        .disable_version_flag(true)
        .args(program.params.iter().flat_map(keys_of).map(clap_argument))
        .arg(option("help", "Show the documentation").short('h'))
        .arg(option("version", "Show the version").short('V'))
        .arg(option("sfdoc", "Show the parameters as JSON"))
        .arg(
            Arg::new("completion")
                .long("completion")
                .value_name("shell")
                .help("Write a completion script")
                .value_parser(value_parser!(Shell)),
        )
}

fn clap_argument((param, key): (&'static Param, String)) -> Arg {
    let argument = Arg::new(key.clone())
        .long(key.clone())
        .help(param.doc)
        .value_name(param.kind.word());
    let argument = argument
        .aliases(param.aliases.into_iter().flatten())
        .value_parser(ValueOf(param, key));
    match param.kind {
        ParamKind::Input | ParamKind::Output => argument.value_hint(clap::ValueHint::FilePath),
        _ => argument,
    }
}

/// A parser for clap that reads values according to the declaration of their parameter.
#[derive(Clone)]
struct ValueOf(&'static Param, String);

impl TypedValueParser for ValueOf {
    type Value = Parsed;

    fn parse_ref(
        &self,
        _: &Command,
        _: Option<&Arg>,
        value: &OsStr,
    ) -> std::result::Result<Parsed, clap::Error> {
        self.0
            .parse_as(&self.1, value)
            .map_err(|text| clap::Error::raw(ErrorKind::ValueValidation, text))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = clap::builder::PossibleValue> + '_>> {
        let words = match self.0.kind {
            ParamKind::Bool => &["y", "n"][..],
            ParamKind::Choice(words) => words,
            _ => return None,
        };
        Some(Box::new(
            words.iter().map(|word| clap::builder::PossibleValue::new(*word)),
        ))
    }
}

/// clap's message on one line, in the `key=` style.
fn restyled(error: &clap::Error) -> Error {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let first = text.split("\n\n").next().unwrap_or(text);
    let words: Vec<&str> = first.split_whitespace().collect();
    Error::new(words.join(" ").replace("'--", "'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    static CATCHES_ALL: Program = Program {
        name: "sfall",
        about: "Takes everything",
        usage: "",
        comments: "",
        example: "",
        params: &[
            Param::int("n#").range(">= 1", Some(1.0), None).doc("lengths"),
            Param::int("n#out").doc("other lengths"),
            Param::words("file ...").doc("files"),
            Param::keys("NAME").doc("tags"),
        ],
    };

    fn line(words: &[&str]) -> Result<Line> {
        Line::read(&CATCHES_ALL, words.iter().map(OsString::from).collect())
    }

    #[test]
    fn numbered_keys_words_and_free_keys() {
        CATCHES_ALL.verify().unwrap();
        let read = line(&[
            "n2=7", "a.rsf", "n2out=3", "--n9", "5", "vp=x", "n10=4", "b.rsf", "vp=y", "out=d", "-f",
        ])
        .unwrap();
        let int = |key: &str| read.values.get(key).cloned();
        assert_eq!(int("n2"), Some(Value::Int(7)));
        assert_eq!(int("n2out"), Some(Value::Int(3)));
        assert_eq!(
            (int("n9"), int("n1"), int("n#")),
            (Some(Value::Int(5)), None, None)
        );
        assert_eq!(read.free_words, ["a.rsf", "b.rsf", "-f"]);
        // The last value takes precedence, and keys that are common to all programs are not free.
        assert_eq!(
            read.free_keys,
            [("n10".to_string(), "4".into()), ("vp".to_string(), "y".into())]
        );
        assert!(read.common.contains_key("out") && read.warnings.is_empty());
    }

    #[test]
    fn slips_are_a_letter_away() {
        let slip = |key: &str| slip(&CATCHES_ALL, key);
        for key in ["nn1", "mn1", "N1", "n1_1"] {
            let expected = (key != "n1_1").then(|| "n1".to_string());
            assert_eq!(slip(key), expected, "{key}");
        }
        assert_eq!(slip("n"), Some("n1".to_string()));
        for key in ["t0", "d1", "label1", "name", "note2"] {
            assert_eq!(slip(key), None, "{key}");
        }
    }

    #[test]
    fn messages_name_the_number() {
        let message = line(&["n3=0"]).unwrap_err().to_string();
        assert_eq!(message, "n3= got `0`, but must be a whole number >= 1");
        assert_eq!(line(&["n3=7.5"]).unwrap().warnings, ["n3=7.5 is taken as 7"]);
    }
}
