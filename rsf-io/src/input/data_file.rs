//! Finds the data file of a header.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufReader};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::open_file;
use crate::banner;
use crate::data::Form;
use crate::file_id::{file_id, owner};
use crate::{Error, Header, Result};

/// The data file that `in=` of a header names.
pub(super) struct OpenData {
    pub file: File,
    /// Its path, absolute or relative to the current folder.
    path: PathBuf,
    /// A warning, if another file of that name may be meant.
    pub doubt: Option<String>,
    /// Whether it was chosen from two files of that name by its length alone.
    guessed: bool,
}

impl OpenData {
    /// Its name in messages.
    pub fn shown(&self) -> String {
        shown(&self.path)
    }
}

/// The data file of a header.
pub struct DataFile {
    /// Its path, absolute or relative to the current folder.
    pub path: PathBuf,
    /// A warning, if another file of that name may be meant.
    pub doubt: Option<String>,
    /// Whether it lies in the current folder rather than the header's folder, and was chosen by its length alone.
    pub guessed: bool,
    /// The path of another header with which it was written and which still names it.
    pub of_other: Option<PathBuf>,
}

/// Finds the data file of a header at `path`, the one that [`crate::Input`] reads; `None` if the data follow the
/// header.
///
/// # Errors
/// Returns an error for a file that does not exist or cannot be opened, or a header without `in=`.
pub fn data_file(path: &Path, header: &Header) -> Result<Option<DataFile>> {
    let Some(data) = header.path("in") else {
        return Err(Error::new("no in= in the header, so there are no data"));
    };
    if data.as_os_str() == "stdin" {
        return Ok(None);
    }
    let opened = open_data(&data, Some(path), header)?;
    let of_other = owner(&opened.file).map(|owner| PathBuf::from(OsString::from_vec(owner)));
    Ok(Some(DataFile {
        of_other: of_other.filter(|other| is_other(other, path) && names(other, &opened.file)),
        guessed: opened.guessed && opened.path == data,
        path: opened.path,
        doubt: opened.doubt,
    }))
}

/// Whether the first file exists and is not the second one.
fn is_other(one: &Path, other: &Path) -> bool {
    let id = |path: &Path| File::open(path).ok().and_then(|file| file_id(&file));
    id(one).is_some_and(|one| id(other) != Some(one))
}

/// Whether the header at this path names these data, in its own folder or, if the file does not exist there, in the
/// current folder.
fn names(header: &Path, data: &File) -> bool {
    let read = |file: File| Header::read(&mut BufReader::new(file)).ok();
    let Some(named) = File::open(header)
        .ok()
        .and_then(read)
        .and_then(|header| header.path("in"))
    else {
        return false;
    };
    let same = |path: PathBuf| File::open(path).is_ok_and(|file| file_id(&file) == file_id(data));
    let beside = folder(header).join(&named);
    same(if beside.exists() { beside } else { named })
}

/// The name of a data file in messages.
fn shown(path: &Path) -> String {
    format!("data file {}", path.display())
}

/// Opens the file that `in=` names: as named or, if it does not exist there, in the folder of the header, whose path is
/// `place` if it has one.
///
/// Where both exist, the attribute that this library gives to its data files shows which one belongs to the header.
/// Without the attribute, the file whose length agrees with the header is used if there is only one; otherwise the file
/// in the current directory is used, as in Madagascar, with a warning. If both belong to other headers, the file in the
/// header's folder is used, with a warning.
pub(super) fn open_data(path: &Path, place: Option<&Path>, header: &Header) -> Result<OpenData> {
    let here = open_file(path, &shown(path), "a file of numbers");
    let first = |file: File, doubt: Option<String>| OpenData {
        file,
        path: path.to_path_buf(),
        doubt,
        guessed: false,
    };
    if path.is_absolute() {
        return here.map(|file| first(file, None));
    }
    let Some(place) = place else {
        let doubt = other_folder(header.history()).map(|origin| {
            format!(
                "the header came through a pipe and was made in {origin}: its data {} are read from the \
                current folder; to read the data next to the header, redirect its file (< FILE) or give the \
                file's name",
                path.display()
            )
        });
        return here.map(|file| first(file, doubt));
    };
    let beside = folder(place).join(path.strip_prefix(".").unwrap_or(path));
    let second = |file: File, doubt: Option<String>| OpenData {
        file,
        path: beside.clone(),
        doubt,
        guessed: false,
    };
    let by_length = |data: OpenData| OpenData {
        guessed: true,
        ..data
    };
    match here {
        Ok(here) => {
            let Ok(other) = File::open(&beside) else {
                return Ok(first(here, None));
            };
            if file_id(&here) == file_id(&other) || file_id(&other).is_none() {
                return Ok(first(here, None));
            }
            let own = own_path(place);
            let is_own = |file: &File| owner(file).map(|owner| owner == own.as_os_str().as_bytes());
            let long = expected(header);
            let fits = |file: &File| file.metadata().is_ok_and(|data| Some(data.len()) == long);
            let doubt = |which: &str| {
                Some(format!(
                    "{} and {} both exist, and neither is known to belong to the header: the {which} is \
                    read. Rename one of them and set in= of its header (sfcp copies a dataset and gives the \
                    data a new name)",
                    path.display(),
                    beside.display()
                ))
            };
            Ok(match (is_own(&here), is_own(&other)) {
                (Some(true), _) => first(here, None),
                (_, Some(true)) | (Some(false), None) => second(other, None),
                // The header was moved or copied with its data.
                (Some(false), Some(false)) => second(other, doubt("second")),
                (None, _) => match [fits(&here), fits(&other)] {
                    [true, false] => by_length(first(here, None)),
                    [false, true] => by_length(second(other, None)),
                    _ => first(here, doubt("first")),
                },
            })
        }
        Err(Error::Os { cause, what }) if cause.kind() == io::ErrorKind::NotFound => {
            match open_file(&beside, &shown(&beside), "a file of numbers") {
                Ok(file) => Ok(second(file, None)),
                Err(_) => {
                    let what = format!("{what} (the numbers of a header; sfcp and sfmv take them along)");
                    Err(Error::Os { cause, what })
                }
            }
        }
        Err(error) => Err(error),
    }
}

/// The size in bytes that the header implies for its data file; `None` if the data are text, or if the header
/// does not give the size.
fn expected(header: &Header) -> Option<u64> {
    let format = header.format().ok()?;
    let size = match format.form {
        Form::Ascii if !format.is_binary() => return None,
        _ => format.kind.size() as u64,
    };
    header.elements().ok()?.checked_mul(size)
}

/// The last folders of the directory in which the last program of a history ran, if it is not the current directory.
fn other_folder(text: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(text);
    let mut lines = text.lines().rev();
    let origin = lines.find_map(|line| {
        let mut fields = line.split('\t').skip(2);
        let place = fields.next()?.strip_suffix(':')?;
        fields.next()?.contains('@').then(|| place.to_string())
    })?;
    // Madagascar writes fewer folders than this library.
    let here = banner::place();
    let is_here = here == origin || here.ends_with(&format!("/{origin}"));
    (!is_here && !origin.is_empty()).then_some(origin)
}

/// The folder of a file, `.` for a bare name.
fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// The absolute path of a header, as outputs write it into the attribute of their data files.
fn own_path(header: &Path) -> PathBuf {
    let folder = folder(header);
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
    folder.join(header.file_name().unwrap_or_default())
}

/// The words ` (there is PATH.rsf)` for a message, if that file exists and `path` does not.
pub(super) fn near(path: &Path) -> String {
    let mut longer = path.as_os_str().to_owned();
    longer.push(".rsf");
    match !path.exists() && Path::new(&longer).is_file() {
        true => format!(" (there is {})", longer.display()),
        false => String::new(),
    }
}
