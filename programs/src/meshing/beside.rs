//! The files of a mesh in addition to the file of its elements: their names, their folder, and the mesh to
//! which they belong.

use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use rsf_io::{Header, Job, MESH_WORDS, folder_of, mesh_file};

/// The largest number of bytes of a file that are read as the header of a mesh.
const LONGEST_HEADER: u64 = 1 << 20;

/// Names of the files of a mesh that is written.
pub struct Names {
    /// Folder and base of the names.
    base: PathBuf,
    /// The beginning of the names in the header of the elements.
    shown: String,
}

impl Names {
    /// The names after base= or, without it, after the file that is standard output, in its folder; for a
    /// pipe they begin with `mesh`.
    ///
    /// # Errors
    /// Returns an error if the files exist and belong to another mesh.
    pub fn of(job: &Job) -> Result<Self> {
        let output = job.stdout_path();
        let names = match (job.text("base")?, &output) {
            (Some(base), _) => Self::new(base),
            (None, Some(path)) => Self::after(path),
            (None, None) => Self::new("mesh".into()),
        };
        match output {
            Some(output) => names.refuse_another(&output)?,
            // The pipe may lead to the same mesh that has these files.
            None => names.warn_of_another(job),
        }
        Ok(names)
    }

    fn new(base: String) -> Self {
        Self {
            base: PathBuf::from(&base),
            shown: base,
        }
    }

    /// Names in a file's folder that begin with the name of the file.
    fn after(path: &Path) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let shown = name.strip_suffix(".rsf").unwrap_or(&name).to_string();
        let folder = path.parent().unwrap_or(Path::new(""));
        let is_here = std::env::current_dir().is_ok_and(|here| here == folder);
        let base = if is_here {
            PathBuf::from(&shown)
        } else {
            folder.join(&shown)
        };
        Self { base, shown }
    }

    /// The path of a file, and its name in the header of the elements.
    pub fn of_file(&self, word: &str) -> (PathBuf, String) {
        let end = format!("-{word}.rsf");
        let mut path = self.base.clone().into_os_string();
        path.push(&end);
        (path.into(), format!("{}{end}", self.shown))
    }

    /// The files that exist.
    fn there(&self) -> impl Iterator<Item = PathBuf> {
        MESH_WORDS
            .iter()
            .map(|word| self.of_file(word).0)
            .filter(|path| path.exists())
    }

    /// Warns of files that exist.
    fn warn_of_another(&self, job: &Job) {
        if let Some(file) = self.there().next() {
            job.warn(&format!(
                "{} exists and will be overwritten, as will the other files of that name: if they belong to \
                another mesh, give base= with another name",
                file.display()
            ));
        }
    }

    /// Refuses files that another mesh names in its header, if that header is in their folder or in the folder of the
    /// output.
    fn refuse_another(&self, output: &Path) -> Result<()> {
        let own: Vec<PathBuf> = self.there().collect();
        if own.is_empty() {
            return Ok(());
        }
        let mut folders = vec![folder_of(&self.base), folder_of(output)];
        folders.dedup();
        for header in folders.into_iter().flat_map(headers) {
            let named = named(&header);
            let is_own = |file: &&PathBuf| named.iter().any(|path| is_same(path, file));
            if let Some(file) = own.iter().find(is_own).filter(|_| !is_same(output, &header)) {
                let header = header.strip_prefix(".").unwrap_or(&header).display();
                bail!(
                    "{} belongs to the mesh {header}, which would change: give base= with another name (the \
                    files are base-nodes.rsf and so on), or delete {header} first",
                    file.display()
                );
            }
        }
        Ok(())
    }
}

/// The RSF files of a folder, in the order of their names.
fn headers(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_header = |path: &PathBuf| path.extension().is_some_and(|end| end == "rsf") && path.is_file();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_header).collect();
    paths.sort();
    paths
}

/// The files that a header names, if it is the header of a mesh.
fn named(path: &Path) -> Vec<PathBuf> {
    let Some(header) = File::open(path)
        .ok()
        .and_then(|file| Header::read(&mut BufReader::new(file.take(LONGEST_HEADER))).ok())
    else {
        return Vec::new();
    };
    let files = header.mesh_files().into_iter();
    files.map(|(_, named)| mesh_file(path, &named)).collect()
}

fn is_same(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}
