//! Parameters and programs, declared once.
//!
//! One [`Param`] defines the parsing, the range check and its message, the documentation that the program prints, the
//! machine-readable list for sfdoc, and shell completion.

/// The kind of a parameter's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// A whole number.
    Int,
    /// A real number.
    Float,
    /// `y` or `n`.
    Bool,
    /// Any text.
    Text,
    /// One of the listed words.
    Choice(&'static [&'static str]),
    /// Whole numbers separated by commas; `3*7` is three sevens.
    Ints,
    /// Real numbers separated by commas; `3*0.5` repeats.
    Floats,
    /// An RSF file that is read.
    Input,
    /// An RSF file that is written.
    Output,
    /// A real number, or the name of an RSF file.
    NumberOrFile,
    /// Arguments without `=`, such as the files of `sfcat`.
    Words,
    /// Every key that is not declared, such as the tags of `sfmath`.
    Keys,
    /// A key that users may expect here but that this program does not take; its `doc` says what to do
    /// instead.
    Elsewhere,
}

/// One parameter of a program, created by the function named after its kind and refined by the methods:
/// `Param::int("nb").default("4").range(">= 4", Some(4.0), None).doc("padding cells on every side")`.
///
/// A `#` in the name stands for the number of an axis: `n#` declares `n1` to `n9`, each of which the program
/// requests separately.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// The key as typed before `=`.
    pub name: &'static str,
    /// The kind of its value.
    pub kind: ParamKind,
    /// Value used when the key is absent.
    pub default: Option<&'static str>,
    /// The text that the documentation shows as the default if it depends on other parameters (`nt`).
    pub default_text: Option<&'static str>,
    /// The range in words.
    pub range: Option<&'static str>,
    /// Smallest allowed number (for every item of a list).
    pub min: Option<f64>,
    /// Largest allowed number.
    pub max: Option<f64>,
    /// A short description, a phrase without a full stop.
    pub doc: &'static str,
    /// Other keys with the same meaning.
    pub aliases: [Option<&'static str>; 3],
    /// Names of this parameter in other programs: they are not accepted, but the message to a user who types
    /// one gives the name to use.
    pub known_as: &'static [&'static str],
    /// Advice on how to make the file, for a user who gives a number instead.
    pub recipe: Option<&'static str>,
    /// The program cannot run without it.
    pub required: bool,
    /// It is accepted without effect, for scripts written for the older programs.
    pub ignored: bool,
}

impl Param {
    /// Whether the range in words agrees with the bounds that are checked: `>= 1`, `1 or more`, `1 to 9` or `from 1 to
    /// 9`. Ranges in other words are not checked.
    fn is_described_by(&self, words: &str) -> bool {
        let numbers = |part: &str| part.trim().parse::<f64>().ok();
        let words = words.strip_prefix("from ").unwrap_or(words);
        let limits = if let Some(least) = words.strip_prefix(">= ") {
            (numbers(least), None)
        } else if let Some(least) = words.strip_suffix(" or more") {
            (numbers(least), None)
        } else if let Some((least, Some(most))) = words
            .split_once(" to ")
            .map(|(least, most)| (least, numbers(most)))
        {
            (numbers(least), Some(most))
        } else {
            return true;
        };
        limits == (self.min, self.max) || limits.0.is_none()
    }

    const fn new(name: &'static str, kind: ParamKind) -> Self {
        Self {
            name,
            kind,
            default: None,
            default_text: None,
            range: None,
            min: None,
            max: None,
            doc: "",
            aliases: [None; 3],
            known_as: &[],
            recipe: None,
            required: false,
            ignored: false,
        }
    }

    /// A whole number.
    pub const fn int(name: &'static str) -> Self {
        Self::new(name, ParamKind::Int)
    }

    /// A real number.
    pub const fn float(name: &'static str) -> Self {
        Self::new(name, ParamKind::Float)
    }

    /// `y` or `n`.
    pub const fn bool(name: &'static str) -> Self {
        Self::new(name, ParamKind::Bool)
    }

    /// Any text.
    pub const fn string(name: &'static str) -> Self {
        Self::new(name, ParamKind::Text)
    }

    /// One of `words`.
    pub const fn choice(name: &'static str, words: &'static [&'static str]) -> Self {
        Self::new(name, ParamKind::Choice(words))
    }

    /// A list of whole numbers.
    pub const fn ints(name: &'static str) -> Self {
        Self::new(name, ParamKind::Ints)
    }

    /// A list of real numbers.
    pub const fn floats(name: &'static str) -> Self {
        Self::new(name, ParamKind::Floats)
    }

    /// An RSF file that is read.
    pub const fn input(name: &'static str) -> Self {
        Self::new(name, ParamKind::Input)
    }

    /// An RSF file that is written.
    pub const fn output(name: &'static str) -> Self {
        Self::new(name, ParamKind::Output)
    }

    /// A real number or the name of an RSF file.
    pub const fn number_or_file(name: &'static str) -> Self {
        Self::new(name, ParamKind::NumberOrFile)
    }

    /// Arguments without `=`, which the documentation calls `name`. [`crate::Job::words`] returns them.
    pub const fn words(name: &'static str) -> Self {
        Self::new(name, ParamKind::Words)
    }

    /// Every key that is not declared; the documentation calls these keys `name`. [`crate::Job::keys`]
    /// returns them.
    pub const fn keys(name: &'static str) -> Self {
        Self::new(name, ParamKind::Keys)
    }

    /// A key that this program does not take; `doc` says what to do instead.
    pub const fn elsewhere(name: &'static str) -> Self {
        Self::new(name, ParamKind::Elsewhere)
    }

    /// Value used when the key is absent, written as the user would type it.
    pub const fn default(mut self, value: &'static str) -> Self {
        self.default = Some(value);
        self
    }

    /// The text shown as the default if the real default depends on other parameters (for instance `nt`); the program
    /// then uses `int_opt` or a similar method.
    pub const fn default_text(mut self, text: &'static str) -> Self {
        self.default_text = Some(text);
        self
    }

    /// Allowed range: in words for the documentation, and as inclusive bounds for the check.
    pub const fn range(mut self, words: &'static str, min: Option<f64>, max: Option<f64>) -> Self {
        self.range = Some(words);
        self.min = min;
        self.max = max;
        self
    }

    /// The description in the documentation.
    pub const fn doc(mut self, sentence: &'static str) -> Self {
        self.doc = sentence;
        self
    }

    /// Another key with the same meaning (at most three).
    pub const fn alias(mut self, name: &'static str) -> Self {
        let mut i = 0;
        while self.aliases[i].is_some() {
            i += 1;
        }
        self.aliases[i] = Some(name);
        self
    }

    /// Names of this parameter in other programs, in lower case: the message to a user who types one gives
    /// the name to use.
    pub const fn known_as(mut self, names: &'static [&'static str]) -> Self {
        self.known_as = names;
        self
    }

    /// Advice on how to make the file, worded to follow a colon in the message to a user who gives a number instead.
    pub const fn recipe(mut self, words: &'static str) -> Self {
        self.recipe = Some(words);
        self
    }

    /// The program cannot run without it.
    pub const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Accepted without effect.
    pub const fn ignored(mut self) -> Self {
        self.ignored = true;
        self
    }
}

/// The declaration of a program: its parameters and documentation.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Name of the executable; messages use the name by which it was actually called.
    pub name: &'static str,
    /// A description in one line.
    pub about: &'static str,
    /// The text after the name in the synopsis: `< wav.rsf ccc=stiff.rsf > data.rsf`.
    pub usage: &'static str,
    /// Long text. Paragraphs are separated by empty lines, and indented lines are kept as they are.
    pub comments: &'static str,
    /// A worked example, shown as it is.
    pub example: &'static str,
    /// Every parameter.
    pub params: &'static [Param],
}

impl ParamKind {
    /// The type as sfdoc names it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Int => "int",
            Self::Float => "float",
            Self::Bool => "bool",
            Self::Text | Self::Choice(_) => "string",
            Self::Ints => "ints",
            Self::Floats => "floats",
            Self::Input | Self::Output => "file",
            Self::NumberOrFile => "float/file",
            Self::Words => "words",
            Self::Keys => "keys",
            Self::Elsewhere => "elsewhere",
        }
    }
}

impl Param {
    /// Whether the program takes this parameter, so that the documentation lists it.
    pub(crate) fn is_shown(&self) -> bool {
        self.kind != ParamKind::Elsewhere
    }

    /// The name and the aliases.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.into_iter().flatten())
    }

    /// True when `key` is the name or an alias, or the name with the number of an axis for its `#`.
    pub(crate) fn answers_to(&self, key: &str) -> bool {
        if !self.is_shown() || matches!(self.kind, ParamKind::Words | ParamKind::Keys) {
            return false;
        }
        match self.name.split_once('#') {
            None => self.names().any(|name| name == key),
            Some((before, after)) => key
                .strip_prefix(before)
                .and_then(|rest| rest.strip_suffix(after))
                .is_some_and(|number| matches!(number.as_bytes(), [b'1'..=b'9'])),
        }
    }

    /// The key under which a value is kept: the name, or the numbered name that was typed.
    pub(crate) fn key(&self, typed: &str) -> String {
        let numbered = self.name.contains('#');
        if numbered { typed } else { self.name }.to_string()
    }

    /// Every key under which values can be kept.
    pub(crate) fn all_keys(&self) -> Vec<String> {
        match self.kind {
            ParamKind::Words | ParamKind::Keys | ParamKind::Elsewhere => Vec::new(),
            _ if self.name.contains('#') => (1..=crate::MAX_AXES)
                .map(|i| self.name.replace('#', &i.to_string()))
                .collect(),
            _ => vec![self.name.to_string()],
        }
    }

    /// The range as the documentation shows it, without brackets.
    pub(crate) fn range_text(&self) -> String {
        match self.kind {
            ParamKind::Bool => "y/n".into(),
            ParamKind::Choice(words) => words.join("|"),
            _ => self.range.unwrap_or_default().into(),
        }
    }
}

/// Keys that every program understands, with their descriptions.
pub(crate) const COMMON: &[(&str, &str)] = &[
    (
        "par",
        "file of parameters, which is read at its place on the command line; later values replace earlier ones",
    ),
    (
        "datapath",
        "folder of the data files, with a slash at its end; otherwise ./.datapath, $DATAPATH, ~/.datapath or ./",
    ),
    (
        "out",
        "data file of standard output (out=stdout: after the header in the same file); several ranks can use it even if standard output is a pipe; also --out=",
    ),
    ("--dryrun", "y: write the header of the first output and stop"),
];

/// Keys that Madagascar's own library understands and that have no meaning here.
pub(crate) const WITHOUT_EFFECT: &[&str] = &["--readwrite", "tmpdatapath"];

/// Keys that Madagascar's drivers of linear operators (sfdottest, sfconjgrad) pass on to an operator, which
/// does not need them.
pub(crate) const OF_DRIVERS: &[&str] = &["mod", "dat", "mwt", "known", "x0", "mod0", "niter"];

/// Options of every program.
pub(crate) const OPTIONS: &[(&str, &str)] = &[
    ("--help", "this text"),
    ("--version", "version of the program"),
    ("--completion=bash|zsh|fish", "completion for the shell"),
    ("--sfdoc", "the parameters as JSON, for sfdoc"),
];

impl Program {
    /// Checks the declaration itself, for the tests of a program: names are unique and differ from the
    /// options of every program, ranges in words agree with the bounds, defaults are allowed values, and
    /// every parameter has a description.
    pub fn verify(&self) -> Result<(), String> {
        let mut seen = std::collections::BTreeSet::new();
        let taken = [
            "par",
            "datapath",
            "help",
            "version",
            "completion",
            "sfdoc",
            "dryrun",
        ];
        for param in self.params {
            for name in param.names() {
                if taken.contains(&name) || !seen.insert(name) {
                    return Err(format!("{}: the name {name}= is used twice", self.name));
                }
            }
            if param.name.contains('#') && param.aliases[0].is_some() {
                return Err(format!("{}: {}= cannot have an alias", self.name, param.name));
            }
            if param.doc.is_empty() {
                return Err(format!("{}: {}= has no description", self.name, param.name));
            }
            if let Some(words) = param.range.filter(|words| !param.is_described_by(words)) {
                return Err(format!(
                    "{}: {}= says `{words}` but takes {:?} to {:?}",
                    self.name, param.name, param.min, param.max
                ));
            }
            if let Some(default) = param.default {
                if param.required {
                    return Err(format!(
                        "{}: {}= is required but has a default",
                        self.name, param.name
                    ));
                }
                param
                    .parse(default.as_ref())
                    .map_err(|error| format!("{}: default: {error}", self.name))?;
            }
        }
        Ok(())
    }
}
