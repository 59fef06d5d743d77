//! By what files are known, whatever their names.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use xattr::FileExt;

/// The attribute of a data file that holds the path of its header.
pub(crate) const OWNER: &str = "user.sifaka.header";

/// Device and inode: what tells two names of one file.
pub(crate) type FileId = (u64, u64);

/// Identity of a regular file.
pub(crate) fn file_id(file: &File) -> Option<FileId> {
    file.metadata()
        .ok()
        .filter(|meta| meta.is_file())
        .map(|meta| (meta.dev(), meta.ino()))
}

/// The header that a data file belongs to, from the root, where something is written about it.
pub(crate) fn owner(file: &File) -> Option<Vec<u8>> {
    file.get_xattr(OWNER).ok().flatten()
}
