//! One run of a program: its parameters, its datasets and its messages.

mod checks;
mod continued;
mod piped;
mod voice;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufReader, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::command::Line;
use crate::data::Format;
use crate::files::{Files, is_regular, remove};
use crate::input::{Cut, Input, NumberOrFile};
use crate::output::{Output, Parts, Written};
use crate::params::{Param, ParamKind, Program};
use crate::pipe;
use crate::place::{Layout, Place, Places};
use crate::second::is_second;
use crate::value::Value;
use crate::{Error, Header, Result};

/// One run.
#[derive(Debug)]
pub struct Job {
    program: &'static Program,
    name: String,
    values: BTreeMap<String, Value>,
    words: Vec<OsString>,
    keys: Vec<(String, OsString)>,
    places: Places,
    stdin: Option<BufReader<File>>,
    history: Option<Arc<Header>>,
    files: Files,
    dry: bool,
    mute: bool,
    /// Whether the warning about the data path was given.
    path_reported: bool,
    /// See [`Job::accept_cut_data`].
    cut: Cut,
    /// Whether standard input is a copy that another process has sent, so that no output can overwrite it.
    handed: bool,
    /// See [`Job::continue_outputs`].
    continued: VecDeque<Written>,
    /// The warnings that have been printed.
    warned: Mutex<BTreeSet<String>>,
}

impl Job {
    pub(crate) fn new(
        program: &'static Program,
        name: &str,
        mut line: Line,
        stdin: BufReader<File>,
    ) -> Result<Self> {
        let dry = line.common_flag("--dryrun");
        let out = line.common.remove("out").or_else(|| line.common.remove("--out"));
        let places = Places {
            datapath: line.common.remove("datapath"),
            out,
            program: name.to_string(),
        };
        let job = Self {
            program,
            name: name.to_string(),
            values: line.values,
            words: line.free_words,
            keys: line.free_keys,
            places,
            stdin: Some(stdin),
            history: None,
            files: Files::default(),
            dry,
            mute: is_second(),
            path_reported: false,
            cut: Cut::Refused,
            handed: false,
            continued: VecDeque::new(),
            warned: Mutex::default(),
        };
        for warning in line.warnings {
            job.warn(&warning);
        }
        job.check_required()?;
        job.check_outputs()?;
        Ok(job)
    }

    /// The name by which the program was called.
    pub fn program(&self) -> &str {
        &self.name
    }

    /// True for a dry run, which ends when the first header is written.
    pub fn is_dry_run(&self) -> bool {
        self.dry
    }

    /// True when the parameter was on the command line or in a par= file.
    pub fn given(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// The arguments without `=`, in the order given, of a program that declares [`Param::words`].
    pub fn words(&self) -> &[OsString] {
        &self.words
    }

    /// The parameters that were given, except `names`, as one text in a fixed order; equal runs have equal texts.
    pub fn words_but(&self, names: &[&str]) -> String {
        let values = self
            .values
            .iter()
            .filter(|(name, _)| !names.contains(&name.as_str()));
        let words: Vec<String> = values.map(|(name, value)| format!("{name}={value:?}")).collect();
        format!("{}{}", if self.dry { "--dryrun=y " } else { "" }, words.join(" "))
    }

    /// The undeclared keys, in the order given, of a program that declares [`Param::keys`].
    pub fn keys(&self) -> &[(String, OsString)] {
        &self.keys
    }

    fn declared(&self, name: &str) -> Result<&'static Param> {
        let param = self.program.params.iter().find(|param| param.answers_to(name));
        param.ok_or_else(|| Error::new(format!("{name}= is used by the program but not declared")))
    }

    /// The given value, or the default.
    fn value(&self, name: &str) -> Result<Option<Value>> {
        let param = self.declared(name)?;
        if let Some(value) = self.values.get(name) {
            return Ok(Some(value.clone()));
        }
        match param.default {
            Some(text) => param
                .parse_as(name, text.as_ref())
                .map(|p| Some(p.value))
                .map_err(Error::Message),
            None => Ok(None),
        }
    }

    fn missing(&self, name: &str) -> Error {
        let allowed = self.declared(name).map(Param::allowed).unwrap_or_default();
        Error::new(format!("{name}= is missing; it must be {allowed}"))
    }

    fn other_kind(name: &str) -> Error {
        Error::new(format!(
            "{name}= is declared with a type other than the one requested"
        ))
    }

    /// A whole number.
    pub fn int(&self, name: &str) -> Result<i64> {
        self.int_opt(name)?.ok_or_else(|| self.missing(name))
    }

    /// A whole number that may be absent.
    pub fn int_opt(&self, name: &str) -> Result<Option<i64>> {
        match self.value(name)? {
            Some(Value::Int(value)) => Ok(Some(value)),
            None => Ok(None),
            Some(_) => Err(Self::other_kind(name)),
        }
    }

    /// A real number, rounded to f32.
    pub fn float(&self, name: &str) -> Result<f32> {
        self.double(name).map(|value| value as f32)
    }

    /// A real number that may be absent, rounded to f32.
    pub fn float_opt(&self, name: &str) -> Result<Option<f32>> {
        Ok(self.double_opt(name)?.map(|value| value as f32))
    }

    /// A real number in double precision.
    pub fn double(&self, name: &str) -> Result<f64> {
        self.double_opt(name)?.ok_or_else(|| self.missing(name))
    }

    /// A real number in double precision that may be absent.
    pub fn double_opt(&self, name: &str) -> Result<Option<f64>> {
        match self.value(name)? {
            Some(Value::Float(value)) => Ok(Some(value)),
            None => Ok(None),
            Some(_) => Err(Self::other_kind(name)),
        }
    }

    /// A flag, y or n.
    pub fn flag(&self, name: &str) -> Result<bool> {
        self.flag_opt(name)?.ok_or_else(|| self.missing(name))
    }

    /// A flag, y or n, that may be absent.
    pub fn flag_opt(&self, name: &str) -> Result<Option<bool>> {
        match self.value(name)? {
            Some(Value::Flag(value)) => Ok(Some(value)),
            None => Ok(None),
            Some(_) => Err(Self::other_kind(name)),
        }
    }

    /// One of the declared words.
    pub fn choice(&self, name: &str) -> Result<&'static str> {
        let ParamKind::Choice(words) = self.declared(name)?.kind else {
            return Err(Self::other_kind(name));
        };
        match self.value(name)? {
            Some(Value::Text(text)) => words
                .iter()
                .find(|word| text == **word)
                .copied()
                .ok_or_else(|| Self::other_kind(name)),
            None => Err(self.missing(name)),
            Some(_) => Err(Self::other_kind(name)),
        }
    }

    /// A text; `None` if it is absent and has no default. Invalid UTF-8 is replaced.
    pub fn text(&self, name: &str) -> Result<Option<String>> {
        match self.value(name)? {
            Some(Value::Text(text)) => Ok(Some(text.to_string_lossy().into_owned())),
            None => Ok(None),
            Some(_) => Err(Self::other_kind(name)),
        }
    }

    /// A list of whole numbers; empty when absent.
    pub fn ints(&self, name: &str) -> Result<Vec<i64>> {
        match self.value(name)? {
            Some(Value::Ints(values)) => Ok(values),
            None => Ok(Vec::new()),
            Some(_) => Err(Self::other_kind(name)),
        }
    }

    /// A list of real numbers; empty when absent.
    pub fn floats(&self, name: &str) -> Result<Vec<f32>> {
        match self.value(name)? {
            Some(Value::Floats(values)) => Ok(values.into_iter().map(|value| value as f32).collect()),
            None => Ok(Vec::new()),
            Some(_) => Err(Self::other_kind(name)),
        }
    }

    /// A number, or an open file; `None` if it is absent and has no default.
    pub fn number_or_file(&mut self, name: &str) -> Result<Option<NumberOrFile>> {
        match self.value(name)? {
            Some(Value::Float(value)) => Ok(Some(NumberOrFile::Number(value as f32))),
            Some(Value::Text(path)) => self
                .open(name, &path)
                .map(|input| Some(NumberOrFile::File(input))),
            None => Ok(None),
            Some(_) => Err(Self::other_kind(name)),
        }
    }

    /// The dataset on standard input; `None` if that is a terminal, /dev/null or an empty pipe. On a pipe
    /// this waits for the first byte or the end.
    ///
    /// # Errors
    /// Returns an error if standard input is an empty file, which should have held a dataset.
    pub fn stdin_if_any(&mut self) -> Result<Option<Input>> {
        let some = self.stdin.as_mut().map(pipe::holds_data).transpose()?;
        match some {
            Some(true) => self.stdin().map(Some),
            Some(false) if self.stdin.as_ref().is_some_and(pipe::is_empty_file) => {
                Err(Error::new(match self.stdin.as_ref().is_some_and(pipe::is_output) {
                    true => format!("standard input {}", pipe::EMPTIED),
                    false => "standard input is an empty file: the program that should have written it failed or was ended; check its message and run it again".to_string(),
                }))
            }
            _ => Ok(None),
        }
    }

    /// Makes outputs that are opened from now on carry the history of `input` and follow its format, as [`Job::stdin`]
    /// does for the dataset on standard input.
    pub fn follow(&mut self, input: &Input) {
        self.history = Some(input.shared_header());
    }

    /// Accepts, in inputs opened from now on, data that end earlier than their header says, and reads their
    /// complete records with a warning. Without this call such data are an error.
    pub fn accept_cut_data(&mut self) {
        self.cut = Cut::Records;
    }

    /// Like [`Job::accept_cut_data`], with records only along this axis (from 1), even if none is complete.
    pub fn accept_cut_along(&mut self, axis: usize) {
        self.cut = Cut::Along(axis);
    }

    /// Warns about flaws of an input that do not prevent reading.
    fn warn_of(&self, input: &Input) {
        input.flaws().iter().for_each(|flaw| self.warn(flaw));
    }

    pub(crate) fn take_stdin(&mut self) -> Result<BufReader<File>> {
        self.stdin
            .take()
            .ok_or_else(|| Error::new("standard input is read twice by the program"))
    }

    /// Everything on standard input, which need not be a dataset.
    pub fn stdin_bytes(&mut self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = self.take_stdin()?.read_to_end(&mut bytes);
        read.map_err(|cause| Error::os("cannot read standard input", cause))?;
        Ok(bytes)
    }

    pub(crate) fn put_stdin(&mut self, reader: BufReader<File>) {
        self.stdin = Some(reader);
        self.handed = true;
    }

    /// A temporary file, whose name is already removed.
    pub(crate) fn scratch(&self) -> Result<File> {
        self.places.scratch()
    }

    /// The dataset on standard input, to be opened once. Outputs that are opened later adopt its history and format.
    pub fn stdin(&mut self) -> Result<Input> {
        let reader = self.take_stdin()?;
        if reader.get_ref().is_terminal() {
            return Err(Error::new(
                "standard input is a terminal: give an RSF file with < file.rsf",
            ));
        }
        if reader.get_ref().metadata().is_ok_and(|meta| meta.is_dir()) {
            return Err(Error::new(
                "standard input is a directory; an RSF file was expected",
            ));
        }
        let path = pipe::name_of(reader.get_ref());
        let input = Input::from_reader("standard input".into(), reader, path.as_deref(), self.cut)?;
        self.warn_of(&input);
        if !self.handed {
            self.files.reading(&input)?;
        }
        self.history = Some(input.shared_header());
        Ok(input)
    }

    /// The dataset of the tag `name`; without the parameter, the file with the name of the tag.
    pub fn input(&mut self, name: &str) -> Result<Input> {
        match self.value(name)? {
            Some(Value::Text(path)) => self.open(name, &path),
            Some(_) => Err(Self::other_kind(name)),
            None if Path::new(name).exists() => self.open(name, &OsString::from(name)),
            None => Err(Error::new(format!(
                "{name}= is missing (an RSF file), and there is no file named {name}"
            ))),
        }
    }

    fn open(&mut self, name: &str, path: &OsString) -> Result<Input> {
        self.check_name(name, path)?;
        self.open_as(format!("{name}={}", path.to_string_lossy()), path)
    }

    /// The dataset of the header file `path`, which messages call `name`.
    pub fn open_as(&mut self, name: String, path: &OsStr) -> Result<Input> {
        let input = Input::open_as(name, Path::new(path), self.cut)?;
        self.warn_of(&input);
        self.files.reading(&input)?;
        Ok(input)
    }

    /// Remembers a file that is not a dataset and is read under this name.
    /// Returns an error if an output would overwrite it.
    pub fn reads(&mut self, file: &File, name: &str) -> Result<()> {
        self.files.reading_file(file, name)
    }

    /// Remembers that the file `path`, which is not a dataset, will be written under this name.
    /// Returns an error if this run reads or writes it.
    pub fn will_write(&mut self, path: &Path, name: &str) -> Result<()> {
        self.files.spare(path, name)
    }

    /// The same dataset in a form whose elements can be read by position ([`Input::read_at`]). Data from a pipe or in
    /// text form are written to a temporary file in the data path, whose name is removed at once, so that the file
    /// disappears when the run ends.
    pub fn by_position(&mut self, input: Input) -> Result<Input> {
        if input.is_seekable() {
            return Ok(input);
        }
        input.spooled(self.scratch()?)
    }

    /// True if the parameter of this input was given.
    pub fn has_input(&self, name: &str) -> bool {
        self.given(name)
    }

    /// The path of the regular file that is standard output; `None` for a pipe, or if the system does not report it.
    pub fn stdout_path(&self) -> Option<PathBuf> {
        let stdout = pipe::stdout_file().ok().filter(is_regular);
        stdout.as_ref().and_then(pipe::name_of)
    }

    /// The dataset on standard output.
    pub fn output(&mut self) -> Result<Output> {
        let mut stdout = pipe::stdout_file()?;
        let name = "standard output".to_string();
        self.files.writing(&stdout, &name)?;
        let place = self.places.of_stdout(&mut stdout)?;
        self.new_output(name, place, stdout, None)
    }

    /// The dataset of the tag `name`; without the parameter, a file with the name of the tag. The files are
    /// created at once, so that a path that cannot be written fails before the work begins; they are removed
    /// if the run fails before the first element.
    pub fn tagged_output(&mut self, name: &str) -> Result<Output> {
        let path = match self.value(name)? {
            Some(Value::Text(path)) => PathBuf::from(path),
            Some(_) => return Err(Self::other_kind(name)),
            None => PathBuf::from(name),
        };
        self.output_to(format!("{name}={}", path.display()), path)
    }

    /// The dataset of the new header file `path`, which messages call `shown`; see [`Job::tagged_output`].
    pub fn output_to(&mut self, shown: String, path: PathBuf) -> Result<Output> {
        let header = self.files.create(&path, &shown)?;
        if !is_regular(&header) {
            return self.new_output(shown, Place::Stream, header, None);
        }
        let kept = !self.continued.is_empty();
        let new_header = (!kept).then(|| path.clone());
        let names = self.places.beside(&path);
        let names = names.inspect_err(|_| new_header.iter().for_each(|path| remove(path)))?;
        self.new_output(shown, Place::Free(names), header, new_header)
    }

    fn new_output(
        &mut self,
        name: String,
        place: Place,
        first: File,
        header: Option<PathBuf>,
    ) -> Result<Output> {
        let opened = match place {
            Place::Stream => Ok(None),
            Place::Named(path) => {
                let shown = format!("data file {} of {name}", path.display());
                self.files.create(&path, &shown).map(|file| Some((file, path)))
            }
            Place::Free(names) => self.files.create_data(&names, &name).map(Some),
        };
        let opened = opened.inspect_err(|_| header.iter().for_each(|path| remove(path)))?;
        let mut created: Vec<PathBuf> = header.into_iter().collect();
        let (layout, second) = match opened {
            None => (Layout::Stream, None),
            Some((file, path)) => {
                created.extend((!self.files.keeps).then(|| path.clone()));
                (Layout::TwoFiles(path), Some(file))
            }
        };
        let before = self.next_continued(&name)?;
        let history = self.history.as_ref();
        let format = history.map_or(Ok(Format::NATIVE_FLOAT), |header| header.format())?;
        let names = history.map_or_else(Vec::new, |header| {
            header.mesh_files_from(pipe::name_of(&first).as_deref())
        });
        let mut output = Output::new(Parts {
            name,
            program: self.name.clone(),
            history: history.map_or_else(Vec::new, |header| header.history().to_vec()),
            format,
            layout,
            first,
            second,
            created,
            dry: self.dry,
            before,
        })?;
        names.iter().for_each(|(word, file)| output.put_text(word, file));
        self.warn_of_the_data_path(&output);
        Ok(output)
    }
}
