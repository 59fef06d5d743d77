//! Resumes a run from a saved state.

use super::Identity;
use super::store::{Growing, kept_of, label_of, map_of};
use crate::modelling::world::World;
use anyhow::{Context, anyhow, bail};
use kernels::error::StateError;
use kernels::time_loop::state::{StateHeader, StateSource, read_header};
use rsf_io::{Job, Written};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

/// A state whose header belongs to this run; it is the same on all ranks.
pub struct Resumed {
    file: PathBuf,
    /// The number of steps done.
    pub step: usize,
    /// Whether all data so far were zero.
    pub silent: bool,
    model: u64,
    /// The map in the state, on rank 0.
    map: Option<Vec<f32>>,
    /// Intermediate values of quantities that are derived from the records, on rank 0.
    pub kept: Option<Vec<u8>>,
}

/// The contents of a header, read on rank 0: the step, whether all data were zero, and the model's checksum;
/// then the state's map and intermediate values, which are not in the arrays of the engine.
#[derive(Default)]
struct SavedState {
    words: Vec<u64>,
    map: Option<Vec<f32>>,
    kept: Option<Vec<u8>>,
}

impl Resumed {
    /// Reads the header of the state, compares it with this run except for the model, and prepares the outputs that are
    /// opened next to continue those of the interrupted run. All ranks must call it.
    pub fn open(
        job: &mut Job,
        file: &Path,
        identity: &Identity,
        (steps, world): (usize, &World),
    ) -> anyhow::Result<Self> {
        let saved = match world.leads() {
            true => read(job, file, identity, steps).map(Some),
            false => Ok(None),
        };
        let saved = world.agree(saved.with_context(|| shown(file)))?;
        let saved = saved.unwrap_or_default();
        let all = world.numbers(&saved.words)?;
        let [step, silent, model] = all[0].as_slice().try_into().unwrap_or_default();
        Ok(Self {
            file: file.to_path_buf(),
            step: step as usize,
            silent: silent == 1,
            model,
            map: saved.map,
            kept: saved.kept,
        })
    }

    /// Opens the file on this rank.
    pub fn source(&self) -> anyhow::Result<Source> {
        open(&self.file).with_context(|| shown(&self.file))
    }

    /// Copies the map of the state into `growing`. Call it on rank 0, which has the map.
    pub fn fill(&self, growing: &Growing) -> anyhow::Result<()> {
        let mut map = growing.lock().unwrap_or_else(PoisonError::into_inner);
        match &self.map {
            Some(saved) if saved.len() == map.len() => map.clone_from(saved),
            _ => bail!(
                "{}: the state holds no map of {} places, because it was saved by a run without this map: start the \
                run from the beginning",
                self.name(),
                map.len()
            ),
        }
        Ok(())
    }

    /// The name of the file for messages: `resume=FILE`.
    pub fn name(&self) -> String {
        shown(&self.file)
    }

    /// Refuses the state of a run with another model.
    pub fn compare_model(&self, model: u64) -> anyhow::Result<()> {
        if model != self.model {
            bail!(
                "{}: the state belongs to another model: grid and parameters are the same, but the numbers in the \
                model's files differ; continue with the files of that run",
                self.name()
            );
        }
        Ok(())
    }
}

fn shown(file: &Path) -> String {
    format!("resume={}", file.display())
}

/// Reads and compares the header, on rank 0.
fn read(job: &mut Job, file: &Path, identity: &Identity, steps: usize) -> anyhow::Result<SavedState> {
    let header = read_header(&mut open(file)?)?;
    if let Some(difference) = identity.difference(&header) {
        bail!(difference);
    }
    if header.step >= steps {
        let step = header.step;
        return Err(StateError::AtEnd { step, steps }.into());
    }
    let version = rsf_io::version();
    if let Some(other) = header.label("version").filter(|&other| other != version) {
        job.warn(&format!(
            "{}: the state was saved by {other}, but this is {version}: the last digits may differ from an \
            uninterrupted run",
            shown(file)
        ));
    }
    job.continue_outputs(written(&header)?);
    let model = header.label("model").unwrap_or_default();
    let model = u64::from_str_radix(model, 16).map_err(|_| unknown("model"))?;
    let silent = u64::from(header.label("silent") == Some("y"));
    Ok(SavedState {
        words: vec![header.step as u64, silent, model],
        map: map_of(&header),
        kept: kept_of(&header),
    })
}

fn unknown(label: &str) -> anyhow::Error {
    anyhow!("the state does not have its {label}: it was not written by this program")
}

/// The elements that the outputs held, in the order in which outputs are opened.
fn written(header: &StateHeader) -> anyhow::Result<Vec<Written>> {
    let first = ["data", "snapshots"].map(String::from).into_iter();
    let divided = (0..).map(label_of).take_while(|key| header.label(key).is_some());
    let all = first.chain(divided);
    let known = all.filter_map(|key| header.label(&key).map(|text| (key, text)));
    known
        .map(|(key, text)| Written::from_text(text).ok_or_else(|| unknown(&key)))
        .collect()
}

/// A state in a file.
pub struct Source(File);

fn open(file: &Path) -> anyhow::Result<Source> {
    File::open(file).map(Source).map_err(|error| {
        let before = super::store::beside(file, ".1");
        let hint = match before.exists() {
            true => format!("; {} is the state before it", before.display()),
            false => String::new(),
        };
        anyhow!("cannot read the state: {error}{hint}")
    })
}

impl StateSource for Source {
    fn bytes(&mut self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read_at(&mut self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(out, offset)
    }
}
