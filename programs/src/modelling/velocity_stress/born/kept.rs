//! Surveys whose sums are saved behind their shots, and go on from there: `checkpoint=`, `every=`, `resume=`.

use super::set_up::SetUp;
use super::stations::Records;
use crate::modelling::checkpoint::{Checksum, Identity, Resumed, Store, Sums, Wishes};
use crate::modelling::model::Fingerprint;
use crate::modelling::plan::{counted, gigabytes};
use crate::modelling::world::World;
use anyhow::{Context, ensure};
use kernels::parallel::communicator::Alone;
use kernels::time_loop::state::{Every, load, owned_bytes, save};
use rsf_io::{Job, Output};
use std::sync::{Arc, PoisonError};
use std::time::Instant;

/// A checksum of what a survey has read of its data.
#[derive(Default)]
pub struct Read {
    sum: u64,
}

impl Read {
    /// With those of the next shot.
    pub fn add(&mut self, sums: &[u64]) {
        for sum in sums {
            self.sum = Checksum::new().with(&[self.sum, *sum]).end();
        }
    }

    /// The checksum of all that was read.
    pub fn sum(&self) -> u64 {
        self.sum
    }
}

/// What shots are added to.
pub trait Summed {
    /// What a state holds.
    fn sums(&mut self) -> Sums<'_>;

    /// Checksum of the data that were read.
    fn read(&self) -> u64;
}

/// The states of a survey.
pub struct Kept {
    wishes: Wishes,
    /// Where there is anything to save or to go on with.
    identity: Option<Identity>,
    resumed: Option<Resumed>,
    store: Arc<Store>,
    shots: usize,
    /// When the last state was saved.
    saved: Instant,
}

impl Kept {
    /// Reads what is asked for and the header of the state that the survey goes on with; `contents` are checksums of what decides about
    /// the sums beside the shots. To be called before outputs are opened, which go on, and before the model is read; all ranks call it.
    pub fn open(
        job: &mut Job,
        made: &mut SetUp,
        contents: Vec<(&'static str, u64)>,
        world: &World,
    ) -> anyhow::Result<Self> {
        let (shots, wishes) = (made.shots(), world.agree(Wishes::of_shots(job, made.shots()))?);
        let (mut identity, mut resumed) = (None, None);
        if wishes.any() {
            let mut all = contents;
            all.push(("sou= and rec= of all shots", made.run.spreads.checksum()));
            all.extend(made.sampling.content());
            let known = world.agree(Identity::of_sums(job, &made.run, all))?;
            if let Some(file) = &wishes.resume {
                // A state behind the last shot is one, too: the outputs may be missing.
                resumed = Some(Resumed::open(job, file, &known, (shots + 1, world))?);
            }
            identity = Some(known);
            made.fingerprint = Some(Arc::<Fingerprint>::default());
        }
        let wanted = wishes.file.as_ref();
        let wanted = wanted.filter(|_| world.leads() && !job.is_dry_run());
        world.agree(wanted.map_or(Ok(()), |file| Store::try_place(file)))?;
        Ok(Self {
            store: Arc::new(Store::new(job, None, None)),
            wishes,
            identity,
            resumed,
            shots,
            saved: Instant::now(),
        })
    }

    /// Shots that the state has.
    pub fn done(&self) -> usize {
        self.resumed.as_ref().map_or(0, |resumed| resumed.step)
    }

    /// Loads the state into the sums, once the model is read; on rank 0, which has them.
    pub fn load(&mut self, job: &Job, made: &SetUp, mut sums: Sums<'_>) -> anyhow::Result<()> {
        let model = made.fingerprint.as_ref().map_or(0, |sum| sum.sum());
        if let Some(resumed) = &self.resumed {
            resumed.compare_model(model)?;
            let mut source = resumed.source()?;
            load(&Alone, &mut source, std::slice::from_mut(&mut sums)).with_context(|| resumed.name())?;
            let (name, done) = (resumed.name(), counted(resumed.step, "shot"));
            job.say(&format!("{name}: goes on behind {done} of {}", self.shots));
        }
        if let Some(file) = self
            .wishes
            .file
            .as_ref()
            .filter(|_| job.flag("verb").unwrap_or(false))
        {
            let size = gigabytes(owned_bytes(&[sums]) as f64);
            let file = file.display();
            job.say(&format!("a state takes {size} in {file} and {file}.1 each"));
        }
        let identity = self.identity.take().map(|identity| identity.over(model));
        self.store = Arc::new(Store::new(job, self.wishes.file.clone(), identity));
        self.saved = Instant::now();
        Ok(())
    }

    /// Begins sums on rank 0, with the state if there is one: loads it, once the model is read, and passes over the data of its shots. All
    /// ranks call it.
    pub fn begin(
        &mut self,
        (job, made): (&Job, &SetUp),
        records: &Records,
        found: &mut dyn Summed,
        world: &World,
    ) -> anyhow::Result<Read> {
        world.agree(match world.leads() {
            true => self
                .load(job, made, found.sums())
                .and_then(|()| self.pass(records, found.read())),
            false => Ok(Read::default()),
        })
    }

    /// Passes over the data of shots that the state has, which must be those that it was made of; on rank 0.
    fn pass(&self, records: &Records, wanted: u64) -> anyhow::Result<Read> {
        let mut read = Read::default();
        let Some(resumed) = &self.resumed else {
            return Ok(read);
        };
        for number in 0..resumed.step {
            read.add(&records.shot(number)?.1);
        }
        let names = records.names();
        ensure!(
            read.sum == wanted,
            "{}: the state is of other data: the first {} of {} {} not those of that run; go on with the files of that run",
            resumed.name(),
            counted(resumed.step, "shot"),
            names.join(" and "),
            if names.len() == 1 && resumed.step == 1 {
                "is"
            } else {
                "are"
            }
        );
        Ok(read)
    }

    /// Lets states count on what the output holds.
    pub fn watch(&self, job: &Job, output: &Output) {
        let Some(marks) = self.store.marks() else { return };
        if output.is_piped() {
            job.warn(&format!(
                "{} is a pipe, which keeps nothing: this survey can be saved but not resumed; write into a file",
                output.name()
            ));
        }
        let mut marks = marks.lock().unwrap_or_else(PoisonError::into_inner);
        marks.files = output.data_file().into_iter().collect();
    }

    /// Whether a state is due behind so many shots.
    fn is_due(&self, done: usize) -> bool {
        done < self.shots
            && match self.wishes.every {
                Every::Steps(jump) => done.is_multiple_of(jump),
                Every::Time(span) => self.saved.elapsed() >= span,
                Every::Never => false,
            }
    }

    /// Saves the sums behind shot number `number` if that is due; `output` is what has been written so far, if anything is.
    pub fn behind(
        &mut self,
        number: usize,
        output: Option<&mut Output>,
        sums: Sums<'_>,
    ) -> anyhow::Result<()> {
        let done = number + 1;
        if !self.is_due(done) {
            return Ok(());
        }
        if let (Some(output), Some(marks)) = (output, self.store.marks()) {
            marks.lock().unwrap_or_else(PoisonError::into_inner).data = Some(output.so_far()?);
        }
        let mut sums = sums;
        save(self.store.clone(), done, &mut sums)?;
        self.saved = Instant::now();
        Ok(())
    }
}
