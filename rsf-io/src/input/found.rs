//! Where the numbers of a header lie.

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
pub(super) struct Found {
    pub file: File,
    /// Its path, from the current folder.
    path: PathBuf,
    /// A warning, where another file of that name may be meant.
    pub doubt: Option<String>,
    /// Whether its length alone has chosen it among two files of that name.
    guessed: bool,
}

impl Found {
    /// What messages call it.
    pub fn shown(&self) -> String {
        shown(&self.path)
    }
}

/// The file with the numbers of a header.
pub struct DataFile {
    /// Its path, from the current folder.
    pub path: PathBuf,
    /// A sentence where another file of that name may be meant.
    pub doubt: Option<String>,
    /// Whether it lies elsewhere than the header and its length alone has chosen it.
    pub guessed: bool,
    /// The path of another header that names it, too, and that has made it.
    pub of_other: Option<PathBuf>,
}

/// Where the numbers of a header lie that has this path; `None` where they follow it. It is the file that [`crate::Input`] reads.
///
/// # Errors
/// A file that is not there or cannot be opened, or a header without `in=`.
pub fn data_file(path: &Path, header: &Header) -> Result<Option<DataFile>> {
    let Some(data) = header.path("in") else {
        return Err(Error::new("no in= in the header, so there are no data"));
    };
    if data.as_os_str() == "stdin" {
        return Ok(None);
    }
    let found = open_data(&data, Some(path), header)?;
    let of_other = owner(&found.file).map(|owner| PathBuf::from(OsString::from_vec(owner)));
    Ok(Some(DataFile {
        of_other: of_other.filter(|other| is_other(other, path) && names(other, &found.file)),
        guessed: found.guessed && found.path == data,
        path: found.path,
        doubt: found.doubt,
    }))
}

/// Whether these are two files that are there.
fn is_other(one: &Path, other: &Path) -> bool {
    let id = |path: &Path| File::open(path).ok().and_then(|file| file_id(&file));
    id(one).is_some_and(|one| id(other) != Some(one))
}

/// Whether the header of this path names these data: in its own folder, or where nothing is there, in the current one.
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

/// What messages call a file of numbers.
fn shown(path: &Path) -> String {
    format!("data file {}", path.display())
}

/// Opens the file of `in=`: as named, else beside the header, whose path is `place` where it has one.
///
/// Where both are there, the attribute that outputs of this library leave on their data file says which one belongs to the header. Without
/// it the one is taken that is as long as the header says, if only one of them is; else the one that is named from the current
/// directory, as in Madagascar, with a warning. Where both belong to other headers, the one beside the header is taken, with a warning.
pub(super) fn open_data(path: &Path, place: Option<&Path>, header: &Header) -> Result<Found> {
    let here = open_file(path, &shown(path), "a file of numbers");
    let found = |file: File, doubt: Option<String>| Found {
        file,
        path: path.to_path_buf(),
        doubt,
        guessed: false,
    };
    if path.is_absolute() {
        return here.map(|file| found(file, None));
    }
    let Some(place) = place else {
        let doubt = made_elsewhere(header.history()).map(|made| {
            format!(
                "the header has come without its file, through a pipe, and was made in {made}: its data {} are read from the current folder; < FILE or the name of the file finds those beside it",
                path.display()
            )
        });
        return here.map(|file| found(file, doubt));
    };
    let beside = folder(place).join(path.strip_prefix(".").unwrap_or(path));
    let second = |file: File, doubt: Option<String>| Found {
        file,
        path: beside.clone(),
        doubt,
        guessed: false,
    };
    let by_length = |found: Found| Found {
        guessed: true,
        ..found
    };
    match here {
        Ok(here) => {
            let Ok(other) = File::open(&beside) else {
                return Ok(found(here, None));
            };
            if file_id(&here) == file_id(&other) || file_id(&other).is_none() {
                return Ok(found(here, None));
            }
            let own = own_path(place);
            let is_own = |file: &File| owner(file).map(|owner| owner == own.as_os_str().as_bytes());
            let long = expected(header);
            let fits = |file: &File| file.metadata().is_ok_and(|data| Some(data.len()) == long);
            let doubt = |which: &str| {
                Some(format!(
                    "{} is there and so is {}, and neither is known to belong to the header: the {which} is read. Rename one of them and set in= of its header (sfcp copies a dataset to a name of its own)",
                    path.display(),
                    beside.display()
                ))
            };
            Ok(match (is_own(&here), is_own(&other)) {
                (Some(true), _) => found(here, None),
                (_, Some(true)) | (Some(false), None) => second(other, None),
                // A header that was moved or copied with its data.
                (Some(false), Some(false)) => second(other, doubt("second")),
                (None, _) => match [fits(&here), fits(&other)] {
                    [true, false] => by_length(found(here, None)),
                    [false, true] => by_length(second(other, None)),
                    _ => found(here, doubt("first")),
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

/// The size in bytes that the header implies for its data file; `None` where the data are text, or the header does not say.
fn expected(header: &Header) -> Option<u64> {
    let format = header.format().ok()?;
    let size = match format.form {
        Form::Ascii if !format.is_binary() => return None,
        _ => format.kind.size() as u64,
    };
    header.elements().ok()?.checked_mul(size)
}

/// The last folders of the place where the last program of a history ran, where these are not those of the current folder.
fn made_elsewhere(text: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(text);
    let mut lines = text.lines().rev();
    let made = lines.find_map(|line| {
        let mut fields = line.split('\t').skip(2);
        let place = fields.next()?.strip_suffix(':')?;
        fields.next()?.contains('@').then(|| place.to_string())
    })?;
    // Madagascar writes fewer folders than this library.
    let here = banner::place();
    let is_here = here == made || here.ends_with(&format!("/{made}"));
    (!is_here && !made.is_empty()).then_some(made)
}

/// The folder of a file, `.` for a bare name.
fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// The path of a header from the root, as outputs write it on their data.
fn own_path(header: &Path) -> PathBuf {
    let folder = folder(header);
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
    folder.join(header.file_name().unwrap_or_default())
}

/// Names the file that is called like `path` with the usual suffix behind it, if only that one is there.
pub(super) fn near(path: &Path) -> String {
    let mut longer = path.as_os_str().to_owned();
    longer.push(".rsf");
    match !path.exists() && Path::new(&longer).is_file() {
        true => format!(" (there is {})", longer.display()),
        false => String::new(),
    }
}
