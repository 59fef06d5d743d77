//! The data that the reverse sweep of a run keeps, and their places: `memory=`, `disk=`, `scratch=`, `keep=`.

use super::super::memory::FILLED;
use super::folder::Folder;
use crate::modelling::plan::gigabytes;
use anyhow::{bail, ensure};
use kernels::methods::velocity_stress::born::{Born, CheckpointSchedule, ImageRequest, Room};
use rsf_io::Job;
use std::path::PathBuf;
use std::sync::Arc;

/// The number of bytes in a GB, the unit of `memory=` and `disk=`.
const GIGA: f64 = 1e9;

/// The fraction of the free memory that all shots of a run may use together, without `memory=`.
const SHARE: f64 = 0.5;

/// The fraction of the free memory of a GPU that all shots may use together; nothing else uses the GPU.
const SHARE_OF_GPU: f64 = 0.9;

/// The fraction of the memory of a GPU that is lost at the ends of its pieces if shots run side by side.
const LOST: f64 = 1.0 / 64.0;

/// The input for the choice of a reverse sweep.
#[derive(Clone, Copy)]
pub struct For<'a> {
    /// The number of steps of a shot.
    pub steps: usize,
    /// The number of runs that share the memory of the host.
    pub sharing: usize,
    /// The number of free bytes of the memory of the host.
    pub free: f64,
    /// The number of cells of the grid with its frame.
    pub cells: usize,
    /// The largest number of shots of the survey that one GPU receives.
    pub shots: usize,
    /// The number of batches that a GPU runs at the same time.
    pub batches: usize,
    /// The number of shots that `groups=` requests to run side by side in each batch.
    pub requested_shots: Option<usize>,
    /// The requested images.
    pub images: Option<&'a ImageRequest>,
}

/// The reverse sweep of a run.
#[derive(Clone)]
pub struct ReverseSweep {
    /// Its checkpoint schedule.
    pub schedule: CheckpointSchedule,
    /// The number of shots of a batch, which run side by side, and the number of batches that a GPU runs at
    /// the same time.
    pub side_by_side: usize,
    batches: usize,
    /// The number of shots of the survey.
    shots: usize,
    steps: usize,
    /// The number of bytes of a checkpoint, and of the data that are kept for each step.
    sizes: [usize; 2],
    /// The number of bytes that are needed once.
    once: usize,
    /// The folder for checkpoints on disk.
    folder: PathBuf,
    /// The cost of boundary saving, in words, if it is faster.
    quicker: Option<String>,
}

impl ReverseSweep {
    /// Chooses the fastest reverse sweep for which memory and disk have room. On a GPU as many shots run side
    /// by side as fill it, unless steps would then run more often than for a single shot.
    pub fn choose(job: &Job, born: &mut Born<f32>, of: For<'_>) -> anyhow::Result<Self> {
        let chosen = match (born.room(1), of.requested_shots) {
            (None, _) => Self::of_shots(job, born, of, 1)?,
            (Some(_), Some(requested)) => Self::of_shots(job, born, of, requested).map_err(|error| {
                let fits = |&shots: &usize| Self::of_shots(job, born, of, shots).is_ok();
                match (1..requested).rev().find(fits) {
                    Some(fits) => error.context(format!(
                        "groups= requests {requested} shots at a time on a GPU, but its memory holds at most \
                        {fits} of them: give fewer groups"
                    )),
                    None => error,
                }
            })?,
            (Some(_), None) => {
                let one = Self::of_shots(job, born, of, 1)?;
                let most = (FILLED / of.batches / of.cells.max(1)).min(of.shots.div_ceil(of.batches));
                let more = |shots: usize| Self::of_shots(job, born, of, shots).ok();
                let as_quick = |way: &Self| !one.schedule.beats(&way.schedule, of.steps);
                let several = (2..=most).rev().filter_map(more).find(as_quick);
                several.unwrap_or(one)
            }
        };
        if chosen.schedule.in_store > 0 && !job.flag("plan")? {
            born.set_store(Arc::new(Folder::new(&chosen.folder)?));
        }
        Ok(chosen)
    }

    /// The fastest reverse sweep for `shots` shots side by side.
    fn of_shots(job: &Job, born: &Born<f32>, of: For<'_>, shots: usize) -> anyhow::Result<Self> {
        let For {
            steps,
            images,
            batches,
            shots: all,
            free,
            ..
        } = of;
        let on_gpu = match images {
            Some(request) => born.room_of_images(request, shots)?,
            None => born.room(shots),
        };
        let share = SHARE / (of.sharing * batches * shots) as f64;
        let room = Room {
            memory: memory(job, on_gpu, (share, free), [shots, batches])?,
            host: match on_gpu {
                Some(_) => (share * free) as usize,
                None => 0,
            },
            store: (job.double("disk")? * GIGA) as usize,
        };
        ensure!(
            room.store == 0 || on_gpu.is_none(),
            "disk= keeps checkpoints of runs on the CPU, but the checkpoints of a GPU go to the memory of the host: \
            leave out disk=, or run with device=cpu"
        );
        let keep = job.choice("keep")?;
        let sizes = match images {
            Some(request) => born.sizes_of_images(request),
            None => born.sizes(),
        };
        let of = |schedule: CheckpointSchedule, sizes: [usize; 2], once: usize| Self {
            schedule,
            side_by_side: shots,
            batches,
            shots: all,
            steps,
            sizes,
            once,
            folder: folder(job),
            quicker: None,
        };
        let whole =
            chosen(CheckpointSchedule::choose_in(steps, sizes, room)).map(|schedule| of(schedule, sizes, 0));
        let boundary = match images {
            Some(_) if keep == "boundary" => {
                bail!(
                    "keep=boundary does not keep the waves inside the model, which images need: leave it out, or give \
                    keep=auto"
                )
            }
            Some(_) => None,
            None => boundary(born, steps, room, keep == "boundary")?
                .map(|(schedule, sizes, once)| of(schedule, sizes, once)),
        };
        Ok(match (keep, whole, boundary) {
            ("boundary", _, Some(boundary)) | ("auto", Err(_), Some(boundary)) => boundary,
            ("auto", Ok(whole), Some(boundary)) if boundary.schedule.beats(&whole.schedule, steps) => {
                boundary
            }
            (_, Ok(whole), Some(boundary)) if boundary.schedule.beats(&whole.schedule, steps) => Self {
                quicker: Some(boundary.words()),
                ..whole
            },
            (_, whole, _) => whole?,
        })
    }

    /// Prints which data are kept, and which choice would be faster.
    pub fn print_summary(&self, job: &Job) {
        job.say(&format!("reverse sweep: {}", self.words()));
        match self.at_a_time() {
            1 => {}
            shots if self.batches > 1 => job.say(&format!(
                "{shots} shots run side by side on each GPU, in {} batches: one computes while the processors work on the records of the other",
                self.batches
            )),
            shots => job.say(&format!("{shots} shots run side by side on each GPU")),
        }
        if let Some(words) = &self.quicker {
            job.say(&format!("keep=boundary would be faster: {words}"));
        }
    }

    /// The number of shots that a GPU runs at the same time.
    pub fn at_a_time(&self) -> usize {
        (self.side_by_side * self.batches).min(self.shots)
    }

    /// The expected seconds of a shot, even while other shots run, given the seconds of a forward step, and the seconds
    /// of a step forward and back if all steps are kept.
    pub fn seconds(&self, [forward, all]: [f64; 2]) -> f64 {
        let (schedule, steps) = (&self.schedule, self.steps as f64);
        let again = f64::from(schedule.boundary_saving);
        steps * (all + again * forward) + schedule.extra(self.steps) as f64 * forward
    }

    /// A description of the data that are kept and of their cost.
    fn words(&self) -> String {
        let schedule = &self.schedule;
        let what = match schedule.boundary_saving {
            true => " at the boundary of the model, while waves inside it run backwards",
            false => "",
        };
        let kept = match schedule.segments {
            0 | 1 => format!("all steps are kept{what}"),
            _ => format!(
                "{} steps at a time are kept{what}, with {} checkpoints{}",
                schedule.segment,
                schedule.checkpoints,
                self.elsewhere()
            ),
        };
        let memory = self.at_a_time() * (schedule.bytes(self.sizes) + self.once);
        format!(
            "{kept}, {} of memory; {} of {} steps are run once more{}",
            gigabytes(memory as f64),
            schedule.extra(self.steps),
            self.steps,
            if schedule.boundary_saving {
                ", and all of them backwards"
            } else {
                ""
            }
        )
    }

    /// The checkpoints that are not in the memory of the device, in words.
    fn elsewhere(&self) -> String {
        let mut places = Vec::new();
        if self.schedule.on_host > 0 {
            places.push(format!(
                "{} of them in the memory of the host",
                self.schedule.on_host
            ));
        }
        if self.schedule.in_store > 0 {
            places.push(format!(
                "{} of them on disk, {} in {}",
                self.schedule.in_store,
                gigabytes(self.schedule.bytes_in_store(self.sizes) as f64),
                self.folder.display()
            ));
        }
        match places.is_empty() {
            true => String::new(),
            false => format!(" ({})", places.join("; ")),
        }
    }
}

/// Reports the drift of waves that were run backwards, if any were.
pub fn report_drift(job: &Job, drift: Option<f64>) {
    if let Some(drift) = drift {
        job.say(&format!(
            "boundary saving: waves that ran backwards came to rest within {drift:.0e} of their largest velocity"
        ));
    }
}

fn chosen(schedule: Result<CheckpointSchedule, kernels::Error>) -> anyhow::Result<CheckpointSchedule> {
    schedule.map_err(|error| anyhow::anyhow!("{error} (memory= in GB)"))
}

/// The fastest sweep with boundary saving, its sizes and the number of bytes that it needs once; an error if it is
/// required (`had`).
fn boundary(
    born: &Born<f32>,
    steps: usize,
    room: Room,
    had: bool,
) -> anyhow::Result<Option<(CheckpointSchedule, [usize; 2], usize)>> {
    let result = born
        .boundary_sizes()
        .map_err(anyhow::Error::from)
        .and_then(|(sizes, once)| {
            let memory = room.memory.saturating_sub(once);
            let schedule = chosen(CheckpointSchedule::choose_in(
                steps,
                sizes,
                Room { memory, ..room },
            ))?;
            Ok((schedule.with_boundary_saving(), sizes, once))
        });
    match result {
        Ok(result) => Ok(Some(result)),
        Err(error) if had => Err(error.context("keep=boundary")),
        Err(_) => Ok(None),
    }
}

/// The folder for checkpoints on disk.
fn folder(job: &Job) -> PathBuf {
    if let Ok(Some(named)) = job.text("scratch") {
        return named.into();
    }
    let path = ["TMPDATAPATH", "DATAPATH"].iter().find_map(std::env::var_os);
    let path = path.map(PathBuf::from).unwrap_or_default();
    // A data path may end with the beginning of a name.
    let folder = match path.is_dir() {
        true => path,
        false => path.parent().map(PathBuf::from).unwrap_or_default(),
    };
    match folder.as_os_str().is_empty() {
        true => ".".into(),
        false => folder,
    }
}

/// The number of bytes for the reverse sweep of each of `shots` shots in each of `batches` batches: this
/// `share` of the `free` memory, unless `memory=` gives another number. `room` is the memory that a GPU has
/// left for each of them.
fn memory(
    job: &Job,
    room: Option<usize>,
    (share, free): (f64, f64),
    [shots, batches]: [usize; 2],
) -> anyhow::Result<usize> {
    let all = shots * batches;
    let lost = if shots > 1 { LOST } else { 0.0 };
    let room = room.map(|room| ((1.0 - lost) * room as f64) as usize);
    let given = job.double_opt("memory")?;
    let requested = given.map(|gigabytes| gigabytes * GIGA / all as f64);
    let allowed = match (requested, room) {
        (Some(requested), Some(room)) if requested > room as f64 => bail!(
            "memory={} GB are requested, but the GPU has {} left for the reverse sweep: give less, or leave \
            out memory=",
            given.unwrap_or_default(),
            gigabytes((all * room) as f64)
        ),
        (Some(requested), _) => requested,
        (None, Some(room)) => SHARE_OF_GPU * room as f64,
        (None, None) => share * free,
    };
    Ok(allowed as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten steps make three segments of at most four; the first one has the remaining two.
    fn sweep(checkpoints: usize, [on_host, in_store]: [usize; 2], boundary_saving: bool) -> ReverseSweep {
        ReverseSweep {
            schedule: CheckpointSchedule {
                segment: 4,
                checkpoints,
                on_host,
                in_store,
                segments: 3,
                boundary_saving,
            },
            side_by_side: 3,
            batches: 2,
            shots: 5,
            steps: 10,
            sizes: [100_000_000, 50_000_000],
            once: 20_000_000,
            folder: "/scratch".into(),
            quicker: None,
        }
    }

    /// The third segment begins after six steps, and the second after two; the first forward run writes a
    /// checkpoint at each of them.
    #[test]
    fn steps_that_run_again_take_their_time() {
        let (forward, all) = (0.5, 3.0);
        let seconds = |sweep: ReverseSweep| sweep.seconds([forward, all]);
        assert_eq!(
            seconds(sweep(0, [0; 2], false)),
            10.0 * all + (6.0 + 2.0) * forward
        );
        assert_eq!(seconds(sweep(2, [0; 2], false)), 10.0 * all + 6.0 * forward);
        // Waves that run backwards run all steps once more.
        assert_eq!(
            seconds(sweep(0, [0; 2], true)),
            10.0 * (all + forward) + 8.0 * forward
        );
    }

    /// Five shots run at a time; each has two states, four steps and the memory that is allocated once.
    #[test]
    fn what_is_kept_is_described_with_its_places() {
        assert_eq!(sweep(0, [0; 2], false).at_a_time(), 5);
        assert_eq!(
            sweep(0, [0; 2], false).words(),
            "4 steps at a time are kept, with 0 checkpoints, 2.10 GB of memory; 8 of 10 steps are run once more"
        );
        assert_eq!(
            sweep(2, [1, 1], false).words(),
            "4 steps at a time are kept, with 2 checkpoints (1 of them in the memory of the host; 1 of them on disk, 0.10 GB in /scratch), 2.10 GB of memory; 6 of 10 steps are run once more"
        );
        assert_eq!(
            sweep(2, [0, 0], true).words(),
            "4 steps at a time are kept at the boundary of the model, while waves inside it run backwards, \
            with 2 checkpoints, 3.10 GB of memory; 6 of 10 steps are run once more, and all of them \
            backwards"
        );
        let mut whole = sweep(0, [0; 2], false);
        whole.shots = 20;
        (whole.schedule.segments, whole.schedule.segment) = (1, 10);
        assert_eq!(
            (whole.at_a_time(), whole.words()),
            (
                6,
                "all steps are kept, 4.32 GB of memory; 0 of 10 steps are run once more".into()
            )
        );
    }
}
