//! Standard input and output, and where the numbers of an output go.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, IsTerminal, Seek};
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::banner::host;
use crate::error::os_text;
use crate::number::is_space;
use crate::{Error, Result};

/// Buffer of standard input.
const BUFFER: usize = 1 << 20;

/// A second handle to standard input, without the buffer of Rust's own.
pub(crate) fn stdin_reader() -> Result<BufReader<File>> {
    let fd = io::stdin().as_fd().try_clone_to_owned();
    let file = fd
        .map(File::from)
        .map_err(|e| Error::os("cannot use standard input", e))?;
    Ok(BufReader::with_capacity(BUFFER, file))
}

/// A second handle to standard output, without the buffer of Rust's own.
pub(crate) fn stdout_file() -> Result<File> {
    let fd = io::stdout().as_fd().try_clone_to_owned();
    fd.map(File::from)
        .map_err(|e| Error::os("cannot use standard output", e))
}

pub(crate) fn is_null(file: &File) -> bool {
    match (file.metadata(), fs::metadata("/dev/null")) {
        (Ok(file), Ok(null)) => {
            use std::os::unix::fs::FileTypeExt;
            file.file_type().is_char_device() && file.rdev() == null.rdev()
        }
        _ => false,
    }
}

/// Standard input, and whether something can be read from it: a terminal, /dev/null and an empty file or
/// pipe hold nothing. On a pipe this waits for the first byte or the end.
pub(crate) fn stdin_with_data() -> Result<(BufReader<File>, bool)> {
    let mut reader = stdin_reader()?;
    let some = holds_data(&mut reader)?;
    Ok((reader, some))
}

/// Whether something can be read from standard input; see [`stdin_with_data`].
pub(crate) fn holds_data(reader: &mut BufReader<File>) -> Result<bool> {
    let file = reader.get_ref();
    if file.is_terminal() || is_null(file) {
        return Ok(false);
    }
    // The reader of the dataset has the sentence for it.
    if file.metadata().is_ok_and(|meta| meta.is_dir()) {
        return Ok(true);
    }
    let some = reader
        .fill_buf()
        .map_err(|e| Error::os("cannot read standard input", e))?;
    Ok(!some.is_empty())
}

/// How a dataset is laid out in files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Header, terminator and numbers in one stream.
    Stream,
    /// Header here, numbers in that file.
    TwoFiles(PathBuf),
}

/// What the command line says about the places of outputs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    /// `datapath=`
    pub datapath: Option<OsString>,
    /// `out=`, else `--out=`
    pub out: Option<OsString>,
    /// Name of the running program.
    pub program: String,
}

impl Places {
    /// Layout of standard output: a pipe or a terminal takes a stream; else `out=` names the data file
    /// (`out=stdout`: a stream); else /dev/null takes a stream; else the data path decides.
    pub(crate) fn of_stdout(&self, stdout: &mut File) -> Result<Layout> {
        if stdout.stream_position().is_err() {
            return Ok(Layout::Stream);
        }
        match &self.out {
            Some(out) if out == "stdout" => return Ok(Layout::Stream),
            Some(out) => return Ok(Layout::TwoFiles(PathBuf::from(out))),
            None => {}
        }
        if is_null(stdout) {
            return Ok(Layout::Stream);
        }
        Ok(Layout::TwoFiles(match name_of(stdout) {
            Some(header) => self.beside(&header)?,
            None => self.data_path(format!("{}{}", self.program, std::process::id()))?,
        }))
    }

    /// Data file for the header file `header`: data path + name + `@` when the header lies in the current
    /// directory. Elsewhere a mark of the header's directory is added, because `a/x.rsf` and `b/x.rsf`
    /// may share one data path.
    pub(crate) fn beside(&self, header: &Path) -> Result<PathBuf> {
        let name = header.file_name().unwrap_or(OsStr::new("data"));
        let dir = header.parent().filter(|dir| !dir.as_os_str().is_empty());
        let dir = dir.map(|dir| dir.canonicalize().unwrap_or_else(|_| dir.to_path_buf()));
        match dir {
            Some(dir) if env::current_dir().ok().as_deref() != Some(&dir) => {
                let mut marked = name.to_os_string();
                marked.push(format!(".{:08x}", mark(dir.as_os_str().as_bytes())));
                self.data_path(marked)
            }
            _ => self.data_path(name),
        }
    }

    /// A file for numbers on the way, already without a name.
    pub(crate) fn scratch(&self) -> Result<File> {
        let path = self.data_path(format!("{}{}", self.program, std::process::id()))?;
        let failed = |cause| Error::os(format!("cannot use the temporary file {}", path.display()), cause);
        let mut options = OpenOptions::new();
        let file = options
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
            .map_err(failed)?;
        fs::remove_file(&path).map_err(failed)?;
        Ok(file)
    }

    fn data_path(&self, name: impl AsRef<OsStr>) -> Result<PathBuf> {
        let mut path = self.prefix()?;
        path.push(name);
        path.push("@");
        Ok(PathBuf::from(path))
    }

    /// The data path, a plain prefix: `datapath=`, `./.datapath`, `$DATAPATH`, `~/.datapath`, `./`.
    fn prefix(&self) -> Result<OsString> {
        if let Some(prefix) = &self.datapath {
            return Ok(prefix.clone());
        }
        if let Some(prefix) = prefix_of(Path::new(".datapath"))? {
            return Ok(prefix);
        }
        if let Some(prefix) = env::var_os("DATAPATH") {
            return Ok(prefix);
        }
        if let Some(home) = env::var_os("HOME")
            && let Some(prefix) = prefix_of(&Path::new(&home).join(".datapath"))?
        {
            return Ok(prefix);
        }
        Ok("./".into())
    }
}

/// A short mark of a directory name (FNV-1a).
fn mark(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    })
}

/// Reads a `.datapath` file; `None` when there is none.
fn prefix_of(file: &Path) -> Result<Option<OsString>> {
    match fs::read(file) {
        Ok(text) => parse_datapath(&text, host().as_bytes()).map(Some).ok_or_else(|| {
            Error::new(format!(
                "{}: the first line must be datapath=PATH (others: HOST datapath=PATH)",
                file.display()
            ))
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::new(format!(
            "cannot read {}: {}",
            file.display(),
            os_text(&error)
        ))),
    }
}

/// `datapath=PATH`, then lines `HOST datapath=PATH` of which one may be for this host.
fn parse_datapath(text: &[u8], host: &[u8]) -> Option<OsString> {
    const KEY: &[u8] = b"datapath=";
    let word = |text: &[u8]| {
        let end = text.iter().position(|b| is_space(*b)).unwrap_or(text.len());
        OsString::from_vec(text[..end].to_vec())
    };
    let mut lines = text.split(|b| *b == b'\n');
    let mut prefix = word(lines.next()?.strip_prefix(KEY)?);
    for line in lines {
        let mut words = line.split(|b| is_space(*b)).filter(|word| !word.is_empty());
        if words.next() == Some(host)
            && let Some(path) = words.next().and_then(|word| word.strip_prefix(KEY))
        {
            prefix = word(path);
        }
    }
    Some(prefix)
}

/// Name of the regular file behind an open one, if it still has one.
fn name_of(file: &File) -> Option<PathBuf> {
    use std::os::fd::AsRawFd;
    let path = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
    let (open, named) = (file.metadata().ok()?, fs::metadata(&path).ok()?);
    ((open.dev(), open.ino()) == (named.dev(), named.ino())).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datapath_files() {
        let text = b"datapath=/data/\nother datapath=/o/\nmine  datapath=/m/ # note\nmine\n";
        assert_eq!(parse_datapath(text, b"mine"), Some("/m/".into()));
        assert_eq!(parse_datapath(text, b"else"), Some("/data/".into()));
        assert_eq!(parse_datapath(b" datapath=/data/", b""), None);
        assert_eq!(parse_datapath(b"", b""), None);
    }

    #[test]
    fn the_data_path_is_a_prefix() {
        let places = Places {
            datapath: Some("/d/pre".into()),
            ..Places::default()
        };
        assert_eq!(
            places.beside(Path::new("x.rsf")).unwrap(),
            Path::new("/d/prex.rsf@")
        );
        let far = places.beside(Path::new("/x.rsf")).unwrap();
        assert!(far.to_str().unwrap().starts_with("/d/prex.rsf.") && far != Path::new("/d/prex.rsf@"));
    }
}
