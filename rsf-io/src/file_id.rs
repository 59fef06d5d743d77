//! The identity of files, independent of their names.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use xattr::FileExt;

/// The extended attribute of a data file that holds the path of its header.
pub(crate) const OWNER: &str = "user.sifaka.header";

/// Device and inode, which are equal for two names of one file.
pub(crate) type FileId = (u64, u64);

/// Identity of a regular file; `None` for any other.
pub(crate) fn file_id(file: &File) -> Option<FileId> {
    file.metadata()
        .ok()
        .filter(|meta| meta.is_file())
        .map(|meta| (meta.dev(), meta.ino()))
}

/// The absolute path of the header that a data file belongs to, if the file has the attribute.
pub(crate) fn owner(file: &File) -> Option<Vec<u8>> {
    file.get_xattr(OWNER).ok().flatten()
}
