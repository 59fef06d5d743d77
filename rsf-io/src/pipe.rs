//! Standard input and output as they are when a program begins.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, IsTerminal};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::file_id::file_id;
use crate::{Error, Result};

/// The size of the buffer of standard input, in bytes.
const BUFFER: usize = 1 << 20;

/// A second handle to standard input, for reads that bypass the buffer of [`std::io::Stdin`].
pub(crate) fn stdin_reader() -> Result<BufReader<File>> {
    let fd = io::stdin().as_fd().try_clone_to_owned();
    let file = fd
        .map(File::from)
        .map_err(|e| Error::os("cannot use standard input", e))?;
    Ok(BufReader::with_capacity(BUFFER, file))
}

/// Whether standard output was closed when the process began (`>&-`).
static CLOSED: AtomicBool = AtomicBool::new(false);

/// A function that looks at standard output. Before `main`, Rust's runtime opens /dev/null in place of a
/// closed standard output, so this check must run even earlier.
#[cfg(target_os = "linux")]
#[used]
// SAFETY: the section holds functions of this type, which the loader calls one after another before `main`.
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

#[cfg(target_os = "linux")]
extern "C" fn look() {
    // SAFETY: the call queries the flags of a descriptor and changes nothing.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    CLOSED.store(flags == -1, Ordering::Relaxed);
}

/// Checks that standard output can receive what the program writes; `file` is the name that the advice uses.
///
/// # Errors
/// Returns an error if standard output was closed when the process began.
pub fn ensure_stdout(file: &str) -> Result<()> {
    if CLOSED.load(Ordering::Relaxed) {
        return Err(Error::new(format!(
            "standard output is closed: send it to a file with > {file}, or to another program with |"
        )));
    }
    Ok(())
}

/// A second handle to standard output, for writes that bypass the buffer of [`std::io::Stdout`].
/// Returns an error if it was closed when the process began.
pub(crate) fn stdout_file() -> Result<File> {
    ensure_stdout("file.rsf")?;
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

/// Standard input, and whether something can be read from it: a terminal, /dev/null and an empty file or pipe provide
/// nothing. On a pipe this waits for the first byte or the end.
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
    // The code that reads the dataset reports the error.
    if file.metadata().is_ok_and(|meta| meta.is_dir()) {
        return Ok(true);
    }
    let some = reader
        .fill_buf()
        .map_err(|e| Error::os("cannot read standard input", e))?;
    Ok(!some.is_empty())
}

/// Whether an empty standard input is a pipe or a file, so that a dataset was expected.
pub(crate) fn is_empty(reader: &BufReader<File>) -> bool {
    use std::os::unix::fs::FileTypeExt;
    let kind = reader.get_ref().metadata().map(|meta| meta.file_type());
    kind.is_ok_and(|kind| kind.is_fifo() || kind.is_file())
}

/// Whether an empty standard input is a file.
pub(crate) fn is_empty_file(reader: &BufReader<File>) -> bool {
    reader.get_ref().metadata().is_ok_and(|meta| meta.is_file())
}

/// The error message of an input that is also the file of standard output.
pub(crate) const EMPTIED: &str = "is empty: it is standard output, too, and the shell emptied it before the \
program started; create it again, and give the output another name";

/// Whether standard input and standard output are the same file.
pub(crate) fn is_output(reader: &BufReader<File>) -> bool {
    let output = stdout_file().ok().and_then(|file| file_id(&file));
    output.is_some() && output == file_id(reader.get_ref())
}

/// The path of an open file, if it still has one.
pub(crate) fn name_of(file: &File) -> Option<PathBuf> {
    use std::os::fd::AsRawFd;
    let path = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
    let (open, named) = (file.metadata().ok()?, fs::metadata(&path).ok()?);
    ((open.dev(), open.ino()) == (named.dev(), named.ino())).then_some(path)
}
