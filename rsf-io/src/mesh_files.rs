//! The other files that the header of a mesh names, relative to its folder: its nodes, materials and so on.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Header, Kind};

/// Keys in the header of a mesh's elements that name its other files; parameters of the same names do so, too.
pub const MESH_WORDS: [&str; 6] = ["nodes", "regions", "materials", "absorbing", "free", "pml"];

/// The path of a file that the header of a mesh names: in the folder of that header, or otherwise as named.
pub fn mesh_file(header: &Path, named: &str) -> PathBuf {
    let beside = folder_of(header).join(named);
    if beside.exists() {
        beside
    } else {
        PathBuf::from(named)
    }
}

/// The folder of a file, `.` for a bare name.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

impl Header {
    /// The keys that name the other files of a mesh, with these names; none if this is not the header of the elements
    /// of a mesh.
    pub fn mesh_files(&self) -> Vec<(&'static str, String)> {
        let has_elements = self.format().is_ok_and(|format| format.kind == Kind::Int)
            && [4, 8, 9, 27].contains(&self.int("n1").unwrap_or(0));
        let words = MESH_WORDS.into_iter().filter(|_| has_elements);
        words
            .filter_map(|word| self.text(word).map(|named| (word, named)))
            .collect()
    }

    /// The keys whose names would lead to other files, or to none, from the header `copy`, with absolute names
    /// instead. A copy in a pipe may end in any folder.
    pub(crate) fn mesh_files_from(&self, copy: Option<&Path>) -> Vec<(&'static str, String)> {
        let Some(own) = &self.path else {
            return Vec::new();
        };
        let whole = |path: &Path| fs::canonicalize(path).ok();
        if copy.is_some_and(|copy| whole(folder_of(copy)) == whole(folder_of(own))) {
            return Vec::new();
        }
        let absolute = |(word, named): (&'static str, String)| {
            let file = whole(&mesh_file(own, &named))?;
            (!Path::new(&named).is_absolute()).then(|| (word, file.to_string_lossy().into_owned()))
        };
        self.mesh_files().into_iter().filter_map(absolute).collect()
    }
}
