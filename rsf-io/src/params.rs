//! Parameters and programs, declared once.
//!
//! One [`Param`] gives the parsing, the range check and its message, the self-documentation, the
//! machine-readable list for sfdoc and the completion of the shell.

/// What a parameter holds.
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
}

/// One parameter of a program, made by the functions named like its kind and refined by the methods:
/// `Param::int("nb").default("4").range(">= 4", Some(4.0), None).doc("padding cells on every side")`.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// The key as typed before `=`.
    pub name: &'static str,
    /// What it holds.
    pub kind: ParamKind,
    /// Value used when the key is absent.
    pub default: Option<&'static str>,
    /// What the documentation shows as the default when it depends on other things (`nt`).
    pub default_text: Option<&'static str>,
    /// The range in words.
    pub range: Option<&'static str>,
    /// Smallest allowed number (of every item of a list).
    pub min: Option<f64>,
    /// Largest allowed number.
    pub max: Option<f64>,
    /// One sentence.
    pub doc: &'static str,
    /// Other keys with the same meaning.
    pub aliases: [Option<&'static str>; 3],
    /// The program cannot run without it.
    pub required: bool,
    /// Accepted without effect, for scripts written for the older programs.
    pub ignored: bool,
}

impl Param {
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

    /// Value used when the key is absent, written as the user would type it.
    pub const fn default(mut self, value: &'static str) -> Self {
        self.default = Some(value);
        self
    }

    /// Text shown as the default when the real one depends on other things (for instance `nt`); the
    /// program asks with `int_opt` and the like.
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

    /// The sentence of the documentation.
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

/// A program as its user sees it.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Name of the executable; messages use the name it was really called by.
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
    /// What follows the name in the synopsis: `< wav.rsf ccc=stiff.rsf > data.rsf`.
    pub usage: &'static str,
    /// Long text; paragraphs separated by empty lines, indented lines are kept as they are.
    pub comments: &'static str,
    /// A worked example, shown as it is.
    pub example: &'static str,
    /// Every parameter.
    pub params: &'static [Param],
}
