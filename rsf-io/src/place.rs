//! The places to which the data of outputs are written.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::banner::host;
use crate::error::os_text;
use crate::launcher::launched;
use crate::number::is_space;
use crate::pipe::{is_null, name_of};
use crate::{Error, Result};

/// How a dataset is laid out in files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Header, terminator and numbers in one stream.
    Stream,
    /// The header in its own file, numbers in this one.
    TwoFiles(PathBuf),
}

/// Where the data of an output may go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// After the header.
    Stream,
    /// Into the file that the user named.
    Named(PathBuf),
    /// Into the first of these files that belongs to no other header.
    Free(Names),
}

/// Names for the data file of a header, in the order in which they are tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Names {
    /// Data path and name, without the `@`.
    stem: PathBuf,
    /// A hash of the path of the header's folder, which makes the name unique.
    mark: String,
    /// The name without the mark is tried first.
    plain: bool,
    /// Absolute path of the header; `None` if it has no name.
    pub header: Option<PathBuf>,
}

/// A candidate for the name of a data file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub path: PathBuf,
    /// Whether a file of this name belongs to the header if the file has no attribute of its owner.
    pub own: bool,
}

impl Names {
    /// The names: `STEM@` for a header in the current folder, `STEM.MARK@`, then numbered ones. The first
    /// belongs to the header if data and header lie in one folder; otherwise headers of other folders may
    /// have taken it.
    pub(crate) fn tried(&self) -> impl Iterator<Item = Name> {
        let with = |end: String| {
            let mut path = self.stem.clone().into_os_string();
            path.push(end);
            PathBuf::from(path)
        };
        let plain = self.plain.then(|| Name {
            path: with("@".into()),
            own: self.is_beside(),
        });
        let marked = (0..1000).map(move |k| {
            let number = if k == 0 { String::new() } else { format!(".{k}") };
            Name {
                path: with(format!(".{}{number}@", self.mark)),
                own: self.header.is_some(),
            }
        });
        plain.into_iter().chain(marked)
    }

    /// True when data and header lie in one folder.
    fn is_beside(&self) -> bool {
        let folder = |path: &Path| folder_of(path).canonicalize().ok();
        let header = self.header.as_deref().and_then(folder);
        header.is_some() && header == folder(&self.stem)
    }
}

/// The folder of a file, `.` for a bare name.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// The settings on the command line for the places of outputs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    /// `datapath=`
    pub datapath: Option<OsString>,
    /// `out=` or, without it, `--out=`
    pub out: Option<OsString>,
    /// Name of the running program.
    pub program: String,
}

/// The data path, and where it was set.
struct Prefix {
    text: OsString,
    source: &'static str,
}

impl Places {
    /// The place of the data of standard output. In a pipe or a terminal they follow the header. Otherwise `out=` names
    /// the data file (`out=stdout`: they follow the header). Without `out=` they follow the header into /dev/null, or
    /// the data path decides. A launcher of several ranks always reads a pipe, so under a launcher `out=` takes
    /// precedence.
    pub(crate) fn of_stdout(&self, stdout: &mut File) -> Result<Place> {
        let chosen = launched().is_some() && self.out.is_some();
        if !chosen && stdout.stream_position().is_err() {
            return Ok(Place::Stream);
        }
        match &self.out {
            Some(out) if out == "stdout" => return Ok(Place::Stream),
            Some(out) => return Ok(Place::Named(PathBuf::from(out))),
            None => {}
        }
        if is_null(stdout) {
            return Ok(Place::Stream);
        }
        match name_of(stdout) {
            Some(header) => self.beside(&header).map(Place::Free),
            None => Ok(Place::Free(Names {
                stem: self.stem(&self.program)?,
                mark: std::process::id().to_string(),
                plain: false,
                header: None,
            })),
        }
    }

    /// Names for the data of the header file `header`: data path + name + `@` if the header lies in the
    /// current directory. Otherwise, and if that name belongs to another header, a hash of the header's
    /// directory is added, because `a/x.rsf` and `b/x.rsf` may share one data path. For headers in other
    /// directories the path is made absolute.
    pub(crate) fn beside(&self, header: &Path) -> Result<Names> {
        let name = header.file_name().unwrap_or(OsStr::new("data"));
        let folder = folder_of(header);
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
        let here = env::current_dir().ok();
        let (plain, stem) = (here.as_ref() == Some(&folder), self.stem(name)?);
        Ok(Names {
            // The path is absolute, because a program that reads the header in its folder would look for a
            // relative path there.
            stem: match here.filter(|_| !plain && stem.is_relative()) {
                Some(here) => here.join(stem.strip_prefix(".").unwrap_or(&stem)),
                None => stem,
            },
            mark: format!("{:08x}", mark(folder.as_os_str().as_bytes())),
            plain,
            header: Some(folder.join(name)),
        })
    }

    /// A temporary file, whose name is already removed.
    pub(crate) fn scratch(&self) -> Result<File> {
        let mut path = self
            .stem(format!("{}{}", self.program, std::process::id()))?
            .into_os_string();
        path.push("@");
        let path = PathBuf::from(path);
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

    /// Data path and name.
    fn stem(&self, name: impl AsRef<OsStr>) -> Result<PathBuf> {
        let mut path = self.prefix()?.text;
        if names_folder(&path) {
            path.push("/");
        }
        path.push(name);
        Ok(PathBuf::from(path))
    }

    /// A warning if the data path does not end in a slash: either it names a folder all the same, or it is a
    /// plain prefix, which is seldom intended.
    pub(crate) fn remark(&self) -> Option<String> {
        let Prefix { text, source } = self.prefix().ok()?;
        let shown = text.to_string_lossy();
        if names_folder(&text) {
            return Some(format!(
                "{source}{shown} names a folder but does not end in `/`; data files go into that folder"
            ));
        }
        let meant = self.datapath.is_some() || text.is_empty() || shown.ends_with('/');
        (!meant).then(|| {
            format!(
                "{source}{shown} does not end in `/` and names no folder: the names of data files begin with it, as in {shown}NAME.rsf@"
            )
        })
    }

    /// The data path, a plain prefix: `datapath=`, `./.datapath`, `$DATAPATH`, `~/.datapath`, `./`.
    fn prefix(&self) -> Result<Prefix> {
        let from = |source| move |text| Prefix { text, source };
        if let Some(prefix) = &self.datapath {
            return Ok(from("datapath=")(prefix.clone()));
        }
        if let Some(prefix) = prefix_of(Path::new(".datapath"))? {
            return Ok(from(".datapath: datapath=")(prefix));
        }
        if let Some(prefix) = env::var_os("DATAPATH") {
            return Ok(from("DATAPATH=")(prefix));
        }
        if let Some(home) = env::var_os("HOME")
            && let Some(prefix) = prefix_of(&Path::new(&home).join(".datapath"))?
        {
            return Ok(from("~/.datapath: datapath=")(prefix));
        }
        Ok(from("")("./".into()))
    }
}

/// True for the name of a folder without a slash at its end.
fn names_folder(prefix: &OsStr) -> bool {
    !prefix.is_empty() && !prefix.as_bytes().ends_with(b"/") && Path::new(prefix).is_dir()
}

/// A 32-bit hash of a directory name (FNV-1a).
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

/// Reads `datapath=PATH`, then lines `HOST datapath=PATH` of which one may be for this host.
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
        let first = |header: &str, k| {
            let names = places.beside(Path::new(header)).unwrap();
            names.tried().nth(k).unwrap()
        };
        assert_eq!(first("x.rsf", 0).path, Path::new("/d/prex.rsf@"));
        assert!(!first("x.rsf", 0).own && first("x.rsf", 1).own);
        let far = first("/x.rsf", 0).path;
        assert!(far.to_str().unwrap().starts_with("/d/prex.rsf.") && far != first("x.rsf", 1).path);
    }
}
