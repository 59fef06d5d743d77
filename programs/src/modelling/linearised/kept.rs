//! Saves the sums of a survey after its shots, and resumes from the saved sums: `checkpoint=`, `every=`, `resume=`.

use super::Clock;
use super::records::Records;
use crate::modelling::checkpoint::{Identity, Resumed, Store, Sums, Wishes};
use crate::modelling::checksum::Checksum;
use crate::modelling::plan::gigabytes;
use crate::modelling::shots::sum::TreeSum;
use crate::modelling::survey::Survey;
use crate::modelling::words::counted;
use crate::modelling::world::World;
use anyhow::{Context, ensure};
use kernels::communicator::Alone;
use kernels::time_loop::state::{Every, load, owned_bytes, save};
use rsf_io::{Job, Output};
use std::ops::Range;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

/// The sum over the shots of a survey so far, and a checksum of their data.
pub struct Stack {
    sum: TreeSum,
    name: &'static str,
    /// The number of values of the sum, and of a line of it.
    numbers: [usize; 2],
    read: [u64; 1],
}

impl Stack {
    /// A sum of `numbers[0]` numbers in lines of `numbers[1]`, which states call `name`. The sum over the first `done`
    /// shots is zero until a state is loaded into it.
    pub fn new(name: &'static str, numbers: [usize; 2], done: usize) -> Self {
        Self {
            sum: TreeSum::of_first(done, numbers[0]),
            name,
            numbers,
            read: [0],
        }
    }

    /// Adds the sum of the next shots.
    pub fn add(&mut self, shots: Range<usize>, values: Vec<f32>) {
        self.sum.add(shots, values);
    }

    /// Includes the checksums of the data that were read for the next shot.
    pub fn note_read(&mut self, sums: &[u64]) {
        self.read = [with_sums(self.read[0], sums)];
    }

    /// The arrays in a state.
    pub fn sums(&mut self) -> Sums<'_> {
        let mut sums = Sums::default();
        for (shots, values) in self.sum.nodes_mut() {
            let name = format!("{} of shots {} to {}", self.name, shots.start, shots.end - 1);
            sums = sums.with(&name, self.numbers[1], values);
        }
        sums.with("the checksum of the data", 1, &mut self.read)
    }

    /// The sum of all shots.
    pub fn total(self) -> Vec<f32> {
        let sum = self.sum.total();
        match sum.is_empty() {
            true => vec![0.0; self.numbers[0]],
            false => sum,
        }
    }
}

/// The checksum of all data so far, updated with the data of the next shot.
fn with_sums(known: u64, sums: &[u64]) -> u64 {
    let with = |known: u64, sum: &u64| Checksum::new().with(&[known, *sum]).end();
    sums.iter().fold(known, with)
}

/// A sum to which shots are added.
pub trait Summed {
    /// The arrays that a state holds.
    fn sums(&mut self) -> Sums<'_>;

    /// The sum.
    fn stack(&mut self) -> &mut Stack;

    /// Stores the results of a shot that are not summed, as numbers and words.
    fn note(&mut self, shot: usize, own: &[f32], words: &[u64]);
}

/// The states of a survey.
pub struct Kept {
    wishes: Wishes,
    /// The identity of the survey, if states are saved or loaded.
    identity: Option<Identity>,
    resumed: Option<Resumed>,
    store: Arc<Store>,
    shots: usize,
    /// The time at which the last state was saved.
    saved: Instant,
    /// The time at which the set-up of the survey began.
    pub clock: Clock,
}

impl Kept {
    /// Reads the parameters and the header of the state from which the survey resumes. `contents` are
    /// checksums of everything except the shots that determines the sums. Call it before outputs are opened,
    /// which then continue, and before the model is read. All ranks call it.
    pub fn open<M: Survey>(
        job: &mut Job,
        run: &M,
        contents: Vec<(&'static str, u64)>,
        world: &World,
    ) -> anyhow::Result<Self> {
        let shots = run.spreads().count();
        let wishes = world.agree(Wishes::of_shots(job, shots))?;
        let (mut identity, mut resumed) = (None, None);
        if wishes.any() {
            let mut all = vec![("sou= and rec= of all shots", run.spreads().checksum())];
            all.extend(contents);
            let histories = Checksum::new().with(&run.sources_by_step()).end();
            let shared = [
                run.contents(),
                vec![("the time functions of the sources", histories)],
            ];
            let contents = [shared.concat(), all].concat();
            let known = world.agree(Identity::of_sums(job, run.layout(), contents))?;
            if let Some(file) = &wishes.resume {
                // A state after the last shot is allowed, too: the outputs may be missing.
                resumed = Some(Resumed::open(job, file, &known, (shots + 1, world))?);
            }
            identity = Some(known);
        }
        let file_of_rank = wishes.file.as_ref();
        let file_of_rank = file_of_rank.filter(|_| world.leads() && !job.is_dry_run());
        world.agree(file_of_rank.map_or(Ok(()), |file| Store::try_place(file)))?;
        Ok(Self {
            store: Arc::new(Store::new(job, None, None)),
            wishes,
            identity,
            resumed,
            shots,
            saved: Instant::now(),
            clock: Clock::start(),
        })
    }

    /// Whether a checksum of the model is needed, because states are saved or loaded.
    pub fn knows_its_model(&self) -> bool {
        self.wishes.any()
    }

    /// The number of shots in the state.
    pub fn done(&self) -> usize {
        self.resumed.as_ref().map_or(0, |resumed| resumed.step)
    }

    /// The shots that are still to be computed.
    pub fn todo(&self) -> Range<usize> {
        self.done()..self.shots
    }

    /// Loads the state into the sums, on rank 0, which has them. Call it once the model, whose checksum is
    /// `model`, is read.
    pub fn load(&mut self, job: &Job, model: u64, mut sums: Sums<'_>) -> anyhow::Result<()> {
        if let Some(resumed) = &self.resumed {
            resumed.compare_model(model)?;
            let mut source = resumed.source()?;
            load(&Alone, &mut source, std::slice::from_mut(&mut sums)).with_context(|| resumed.name())?;
            let (name, done) = (resumed.name(), counted(resumed.step, "shot"));
            job.say(&format!("{name}: continues after {done} of {}", self.shots));
        }
        if let Some(file) = self
            .wishes
            .file
            .as_ref()
            .filter(|_| job.flag("verb").unwrap_or(false))
        {
            let size = gigabytes(owned_bytes(&[sums]) as f64);
            let file = file.display();
            job.say(&format!("a state takes {size} in each of {file} and {file}.1"));
        }
        let identity = self.identity.take().map(|identity| identity.over(model));
        self.store = Arc::new(Store::new(job, self.wishes.file.clone(), identity));
        self.saved = Instant::now();
        Ok(())
    }

    /// Begins the sums on rank 0. If there is a state, loads it and skips the data of its shots. Call it once
    /// the model, whose checksum is `model`, is read. All ranks call it.
    pub fn begin(
        &mut self,
        (job, model): (&Job, u64),
        records: &Records,
        sum: &mut dyn Summed,
        world: &World,
    ) -> anyhow::Result<()> {
        world.agree(match world.leads() {
            true => self
                .load(job, model, sum.sums())
                .and_then(|()| self.pass(records, sum.stack().read[0])),
            false => Ok(()),
        })
    }

    /// Skips the data of the shots in the state, and checks that they are the data of that run; on rank 0.
    fn pass(&self, records: &Records, expected: u64) -> anyhow::Result<()> {
        let Some(resumed) = &self.resumed else {
            return Ok(());
        };
        let mut read = 0;
        for number in 0..resumed.step {
            read = with_sums(read, &records.shot(number)?.1);
        }
        let names = records.names();
        ensure!(
            read == expected,
            "{}: the state belongs to other data: the first {} of {} {} not the data of the interrupted run; \
            continue with the files of that run",
            resumed.name(),
            counted(resumed.step, "shot"),
            names.join(" and "),
            if names.len() == 1 && resumed.step == 1 {
                "is"
            } else {
                "are"
            }
        );
        Ok(())
    }

    /// Makes every state wait until the output is synced to disk; warns of an output that is a pipe.
    pub fn watch(&self, job: &Job, output: &Output) {
        let Some(marks) = self.store.marks() else { return };
        if output.is_piped() {
            job.warn(&format!(
                "{} is a pipe, whose data are not kept: this survey can be saved but not resumed; write to a file",
                output.name()
            ));
        }
        let mut marks = marks.lock().unwrap_or_else(PoisonError::into_inner);
        marks.files = output.data_file().into_iter().collect();
    }

    /// The largest number of shots that may be added up before a state is due.
    pub fn most_together(&self) -> usize {
        match (&self.wishes.file, self.wishes.every) {
            (None, _) | (_, Every::Never) => usize::MAX,
            (_, Every::Steps(jump)) => jump,
            (_, Every::Time(_)) => 1,
        }
    }

    /// Whether a state is due after these shots.
    fn is_due(&self, shots: &Range<usize>) -> bool {
        shots.end < self.shots
            && match self.wishes.every {
                Every::Steps(jump) => shots.end / jump > shots.start / jump,
                Every::Time(span) => self.saved.elapsed() >= span,
                Every::Never => false,
            }
    }

    /// Saves the sums after these shots, which were added last, if a state is due; `output` is the output so far, if
    /// there is one.
    pub fn behind(
        &mut self,
        shots: &Range<usize>,
        output: Option<&mut Output>,
        sums: Sums<'_>,
    ) -> anyhow::Result<()> {
        let done = shots.end;
        if !self.is_due(shots) {
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
