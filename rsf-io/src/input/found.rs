//! Where the numbers of a header lie.

use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::{file_id, open_file};
use crate::banner;
use crate::files::owner;
use crate::{Error, Result};

/// The file of `in=`.
pub(super) struct Found {
    pub file: File,
    /// What messages call it.
    pub shown: String,
    /// A sentence where another file of that name may be meant.
    pub doubt: Option<String>,
}

/// Opens the file of `in=`: as named, else beside the header, whose path is `header` where it has one and whose lines are `text`.
///
/// Where both are there, the attribute that outputs of this library leave on their data file says which one belongs to the header; without
/// it the one that is named from the current directory is taken, as in Madagascar, with a warning. Where both belong to other headers, the
/// one beside the header is taken, with a warning.
pub(super) fn open_data(path: &Path, header: Option<&Path>, text: &[u8]) -> Result<Found> {
    let shown = format!("data file {}", path.display());
    let here = open_file(path, &shown, "a file of numbers");
    let found = |file: File, doubt: Option<String>| Found {
        file,
        shown: shown.clone(),
        doubt,
    };
    if path.is_absolute() {
        return here.map(|file| found(file, None));
    }
    let Some(header) = header else {
        let doubt = made_elsewhere(text).map(|made| {
            format!(
                "the header has come without its file, through a pipe, and was made in {made}: its data {} are read from the current folder; < FILE or the name of the file finds those beside it",
                path.display()
            )
        });
        return here.map(|file| found(file, doubt));
    };
    let beside = folder(header).join(path);
    match here {
        Ok(here) => {
            let Ok(other) = File::open(&beside) else {
                return Ok(found(here, None));
            };
            if file_id(&here) == file_id(&other) || file_id(&other).is_none() {
                return Ok(found(here, None));
            }
            let own = own_path(header);
            let is_own = |file: &File| owner(file).map(|owner| owner == own.as_os_str().as_bytes());
            let doubt = |which: &str| {
                Some(format!(
                    "{} is there and so is {}, and neither is known to belong to the header: the {which} is read",
                    path.display(),
                    beside.display()
                ))
            };
            Ok(match (is_own(&here), is_own(&other)) {
                (Some(true), _) => found(here, None),
                (_, Some(true)) | (Some(false), None) => found(other, None),
                // A header that was moved or copied with its data.
                (Some(false), Some(false)) => found(other, doubt("second")),
                (None, _) => found(here, doubt("first")),
            })
        }
        Err(Error::Os { cause, what }) if cause.kind() == io::ErrorKind::NotFound => {
            match open_file(&beside, &shown, "a file of numbers") {
                Ok(file) => Ok(found(file, None)),
                Err(_) => Err(Error::Os { cause, what }),
            }
        }
        Err(error) => Err(error),
    }
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
