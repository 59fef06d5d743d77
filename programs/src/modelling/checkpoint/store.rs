//! Stores states: the latest in FILE and the previous one in FILE.1.

use super::Identity;
use anyhow::{Context, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kernels::time_loop::state::{StateHeader, StateSink, StateStore};
use rsf_io::{Job, Written};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The first bytes of every state.
const MAGIC: &[u8] = b"SIFAKA STATE ";

/// A map that grows with the records of a run, on the rank that writes it. It is not in the arrays of the
/// engine.
pub type Growing = Arc<Mutex<Vec<f32>>>;

/// The label of a map in the header of a state.
const MAP: &str = "map";

/// The largest number of values of a map in a state, whose header must be smaller than 128 MB.
pub const MOST_PLACES: usize = 1 << 20;

/// The label of the intermediate values of quantities that are derived from the records.
const KEPT: &str = "kept";

/// The largest number of bytes of these values, so that there is room for them and a map.
pub const MOST_KEPT: usize = 64 << 20;

/// The label of the file `number` in addition to data and snapshots.
pub fn label_of(number: usize) -> String {
    format!("output {}", number + 1)
}

/// The intermediate values in a state.
pub fn kept_of(header: &StateHeader) -> Option<Vec<u8>> {
    STANDARD.decode(header.label(KEPT)?).ok()
}

/// The map in a state.
pub fn map_of(header: &StateHeader) -> Option<Vec<f32>> {
    let bytes = STANDARD.decode(header.label(MAP)?).ok()?;
    let numbers = bytes.chunks_exact(4).map(|b| [b[0], b[1], b[2], b[3]]);
    Some(numbers.map(f32::from_le_bytes).collect())
}

/// The contents of the outputs, as last noted by their writer.
#[derive(Default)]
pub struct Marks {
    /// The data.
    pub data: Option<Written>,
    /// The snapshots.
    pub snapshots: Option<Written>,
    /// If ranks write snapshots in parallel: the steps between two snapshots, and the numbers in each.
    pub places: Option<(usize, u64)>,
    /// Files of further quantities, in the order in which they were opened.
    pub divided: Vec<Written>,
    /// Intermediate values of these quantities.
    pub kept: Option<Vec<u8>>,
    /// Whether all data so far were zero.
    pub silent: bool,
    /// The map that is written after the last step.
    pub map: Option<Growing>,
    /// Files that must be synced to disk before a state that relies on them.
    pub files: Vec<File>,
}

/// The states of one run, on one rank. Without a file it saves none, but still ends the run after a signal.
pub struct Store {
    program: String,
    file: Option<PathBuf>,
    identity: Option<Identity>,
    marks: Arc<Mutex<Marks>>,
    /// Whether a failure to save was reported.
    reported: AtomicBool,
    /// The step of the last state that was saved.
    saved: AtomicUsize,
}

impl Store {
    /// The store of the run with this identity.
    pub fn new(job: &Job, file: Option<PathBuf>, identity: Option<Identity>) -> Self {
        Self {
            program: job.program().into(),
            file,
            identity,
            marks: Arc::default(),
            reported: AtomicBool::new(false),
            saved: AtomicUsize::new(0),
        }
    }

    /// Refuses a path where no state can be written, and a file that is not a state. Only rank 0 does this.
    pub fn try_place(file: &Path) -> anyhow::Result<()> {
        let name = || format!("checkpoint={}", file.display());
        let mut first = [0; MAGIC.len()];
        if file.exists() {
            let read = File::open(file).and_then(|mut file| file.read_exact(&mut first));
            if read.is_err() || first != MAGIC {
                bail!(
                    "{}: this file exists already but is not a state: choose another name, or remove it",
                    name()
                );
            }
        }
        let new = beside(file, ".new");
        let created =
            File::create(&new).with_context(|| format!("{}: cannot write {}", name(), new.display()));
        drop(created?);
        fs::remove_file(&new).with_context(name)
    }

    /// The marks that the writer of the outputs updates; `None` if no states are saved.
    pub fn marks(&self) -> Option<Arc<Mutex<Marks>>> {
        self.file.as_ref().map(|_| self.marks.clone())
    }

    /// Keeps a map in the states, if states are saved.
    pub fn keep(&self, map: Growing) {
        let mut marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        marks.map = Some(map);
    }

    /// Words on how a run that ended after `step` steps can be resumed, as the end of a message.
    pub fn left(&self, step: usize) -> String {
        match &self.file {
            None => String::new(),
            Some(file) if self.saved.load(Ordering::SeqCst) == step => {
                format!("; resume={} continues from there", file.display())
            }
            Some(_) => "; its state could not be saved".into(),
        }
    }

    fn path(&self) -> io::Result<&Path> {
        let none = || io::Error::other("no states are kept");
        self.file.as_deref().ok_or_else(none)
    }

    fn sink(&self, options: &OpenOptions) -> io::Result<Box<dyn StateSink>> {
        let file = options.open(beside(self.path()?, ".new"))?;
        let marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        let outputs = marks.files.iter().map(File::try_clone);
        let outputs = outputs.collect::<io::Result<_>>()?;
        Ok(Box::new(Sink { file, outputs }))
    }
}

/// The number of snapshots that the first `steps` steps take: one in `every`, from the first step on.
fn snapshots_of(steps: usize, every: usize) -> u64 {
    steps.div_ceil(every) as u64
}

/// The path of a file with this ending appended: `FILE.new` or `FILE.1`.
pub fn beside(file: &Path, end: &str) -> PathBuf {
    let mut name = file.as_os_str().to_os_string();
    name.push(end);
    name.into()
}

impl StateStore for Store {
    fn labels(&self, step: usize) -> Vec<(String, String)> {
        let mut labels = self.identity.as_ref().map_or(Vec::new(), |i| i.labels(step));
        let marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        let snapshots = marks.snapshots.as_ref().map(|written| match marks.places {
            Some((every, numbers)) => written.with_floats(snapshots_of(step, every) * numbers),
            None => written.clone(),
        });
        for (key, written) in [("data", &marks.data), ("snapshots", &snapshots)] {
            labels.extend(written.as_ref().map(|w| (key.into(), w.to_text())));
        }
        let divided = marks.divided.iter().enumerate();
        labels.extend(divided.map(|(number, written)| (label_of(number), written.to_text())));
        labels.extend(marks.kept.iter().map(|kept| (KEPT.into(), STANDARD.encode(kept))));
        if marks.silent {
            labels.push(("silent".into(), "y".into()));
        }
        if let Some(map) = &marks.map {
            let map = map.lock().unwrap_or_else(PoisonError::into_inner);
            let bytes: Vec<u8> = map.iter().flat_map(|x| x.to_le_bytes()).collect();
            labels.push((MAP.into(), STANDARD.encode(bytes)));
        }
        labels
    }

    fn create(&self, _bytes: u64) -> io::Result<Box<dyn StateSink>> {
        self.sink(OpenOptions::new().write(true).create(true).truncate(true))
    }

    fn join(&self) -> io::Result<Box<dyn StateSink>> {
        self.sink(OpenOptions::new().write(true))
    }

    fn commit(&self, step: usize) -> io::Result<()> {
        let file = self.path()?;
        let (new, before) = (beside(file, ".new"), beside(file, ".1"));
        if file.exists() {
            // A hard link keeps a state under the first name at every moment; not all file systems have hard
            // links.
            let _ = fs::remove_file(&before);
            if fs::hard_link(file, &before).is_err() {
                fs::rename(file, &before)?;
            }
        }
        fs::rename(new, file)?;
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        // If the folder cannot be synced, the names reach the disk a little later.
        let _ = File::open(folder.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all());
        self.saved.store(step, Ordering::SeqCst);
        self.reported.store(false, Ordering::SeqCst);
        Ok(())
    }

    fn failed(&self, step: usize, reason: &str) {
        let Some(file) = &self.file else {
            return;
        };
        let _ = fs::remove_file(beside(file, ".new"));
        // The failure is reported only once until a state is saved again, because a disk may stay full for a
        // long time.
        if !self.reported.swap(true, Ordering::SeqCst) {
            let kept = match file.exists() {
                true => format!("{} stays as it is", file.display()),
                false => "there is none yet".into(),
            };
            eprintln!(
                "{}: warning: the state after step {step} could not be saved: {reason}; the run continues, and {kept}",
                self.program
            );
        }
    }

    fn stops(&self) -> bool {
        rsf_io::interrupted().is_some()
    }
}

/// A state that is being written.
struct Sink {
    file: File,
    /// Files of the outputs.
    outputs: Vec<File>,
}

impl StateSink for Sink {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.outputs.iter().try_for_each(File::sync_data)?;
        self.file.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::snapshots_of;

    #[test]
    fn snapshots_are_counted_from_that_of_the_first_step() {
        let counts = [0, 1, 4, 5, 8, 9].map(|steps| snapshots_of(steps, 4));
        assert_eq!(counts, [0, 1, 1, 2, 2, 3]);
    }
}
