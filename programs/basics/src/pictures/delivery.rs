//! The output of a picture: its file and its format.

use std::fs;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use rsf_io::Job;

use super::drawing::Svg;

/// File formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// PNG; animated for a movie.
    Png,
    /// SVG.
    Svg,
    /// PDF.
    Pdf,
    /// Animated GIF of 256 colours.
    Gif,
}

impl Kind {
    /// The extension of file names.
    pub fn ending(self) -> &'static str {
        word(self)
    }
}

/// The formats of programs that draw one picture, the default first.
pub const PICTURES: [Kind; 3] = [Kind::Png, Kind::Svg, Kind::Pdf];

/// The destination and the format of a picture.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The format.
    pub kind: Kind,
    /// Number of pixels for a unit of the drawing.
    pub fineness: f64,
    file: Option<PathBuf>,
}

impl Delivery {
    /// Reads `format=`, `out=` and `res=`. Without `format=` the format follows from the extension of the file in
    /// `out=`, or of the file to which standard output is redirected. `allowed` are the formats of the program, the
    /// default first.
    ///
    /// # Errors
    /// Returns an error if the format or the extension is not supported, or the output is a terminal.
    pub fn of(job: &mut Job, allowed: &[Kind]) -> Result<Self> {
        let file = job.text("out")?.map(PathBuf::from);
        if let Some(file) = &file {
            job.will_write(file, &format!("out={}", file.display()))?;
        }
        ensure!(
            file.is_some() || !std::io::stdout().is_terminal(),
            "the picture would go to the terminal; send it to a file: > picture.png"
        );
        let target = file.clone().or_else(name_of_stdout);
        let ending = target.as_deref().and_then(kind_of);
        let kind = match job.text("format")? {
            Some(word) => match named(&word) {
                Some(kind) => kind,
                None => bail!("format={word} is not allowed: format= must be {}", words(allowed)),
            },
            None => match target.as_deref().and_then(strange_ending) {
                Some(strange) => bail!(
                    "{strange} is not a format of {}; give the file the extension {} (or choose one of these \
                    formats with format=, under any name)",
                    job.program(),
                    words(allowed)
                ),
                None => ending.unwrap_or(allowed[0]),
            },
        };
        ensure!(
            allowed.contains(&kind),
            "{} is not a format of {}; the format must be {} (from format= or the extension of the file)",
            word(kind),
            job.program(),
            words(allowed)
        );
        Ok(Self {
            kind,
            fineness: job.double_opt("res")?.unwrap_or(1.0),
            file,
        })
    }

    /// Writes one picture.
    ///
    /// # Errors
    /// Returns an error if the picture is too large, or cannot be written.
    pub fn picture(&self, svg: &Svg) -> Result<()> {
        match self.kind {
            Kind::Svg => self.write(svg.text.as_bytes()),
            Kind::Pdf => self.write(&svg.pdf()?),
            _ => self.write(&svg.pixels(self.fineness)?.png()?),
        }
    }

    /// Writes the bytes of the file.
    pub fn write(&self, bytes: &[u8]) -> Result<()> {
        if let Some(file) = &self.file {
            return fs::write(file, bytes).with_context(|| format!("cannot write out={}", file.display()));
        }
        let mut stdout = std::io::stdout().lock();
        stdout
            .write_all(bytes)
            .and_then(|()| stdout.flush())
            .context("the picture could not be written")
    }
}

const KINDS: [(&str, Kind); 4] = [
    ("png", Kind::Png),
    ("svg", Kind::Svg),
    ("pdf", Kind::Pdf),
    ("gif", Kind::Gif),
];
/// Extensions of formats of pictures and movies that are not supported.
const STRANGE: [&str; 14] = [
    "jpg", "jpeg", "tif", "tiff", "bmp", "webp", "eps", "ps", "mp4", "m4v", "avi", "mov", "mkv", "webm",
];

fn named(name: &str) -> Option<Kind> {
    let row = KINDS.iter().find(|(known, _)| name.eq_ignore_ascii_case(known));
    row.map(|(_, kind)| *kind)
}

/// The format of the last known extension in a file name: `a.svg` and `a.svg.part` are SVG.
fn kind_of(path: &Path) -> Option<Kind> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    name.split('.').skip(1).filter_map(named).last()
}

/// The extension of a file name, if it belongs to a format that cannot be written.
fn strange_ending(path: &Path) -> Option<String> {
    let ending = path.extension()?.to_string_lossy().to_lowercase();
    STRANGE.contains(&ending.as_str()).then_some(ending)
}

fn word(kind: Kind) -> &'static str {
    KINDS
        .iter()
        .find(|(_, known)| *known == kind)
        .map_or("", |(word, _)| word)
}

fn words(kinds: &[Kind]) -> String {
    let words: Vec<&str> = kinds.iter().map(|&kind| word(kind)).collect();
    match words.split_last() {
        Some((last, [])) => (*last).to_string(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

/// The file to which standard output is redirected, on systems where it can be found.
fn name_of_stdout() -> Option<PathBuf> {
    fs::read_link("/proc/self/fd/1").ok()
}
