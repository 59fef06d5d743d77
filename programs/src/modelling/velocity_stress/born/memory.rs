//! What the way back of a run keeps, and where: `memory=`, `disk=`, `scratch=`, `keep=`.

use super::folder::Folder;
use crate::modelling::plan::{free_memory, gigabytes};
use anyhow::{bail, ensure};
use kernels::methods::velocity_stress::born::{Born, CheckpointSchedule, Room, Wanted};
use rsf_io::Job;
use std::path::PathBuf;
use std::sync::Arc;

/// Bytes of a GB, in which `memory=` and `disk=` count.
const GIGA: f64 = 1e9;

/// The share of the free memory that a run takes, all shots together, unless `memory=` says otherwise.
const SHARE: f64 = 0.5;

/// The same of a GPU, which nobody else uses meanwhile.
const SHARE_OF_GPU: f64 = 0.9;

/// The way back of a run.
pub struct WayBack {
    /// What is kept of it.
    pub schedule: CheckpointSchedule,
    steps: usize,
    /// Bytes of a checkpoint and of what is kept of a step.
    sizes: [usize; 2],
    /// Bytes taken once.
    once: usize,
    /// The folder of checkpoints on the disk.
    folder: PathBuf,
    /// What boundary saving would take, where that is quicker.
    quicker: Option<String>,
}

impl WayBack {
    /// Chooses the quickest way back through the steps that memory and disk have room for, where so many shots share the memory of the
    /// host; `images` are those that are asked for.
    pub fn choose(
        job: &Job,
        born: &mut Born<f32>,
        (steps, sharing): (usize, usize),
        images: Option<&Wanted>,
    ) -> anyhow::Result<Self> {
        let on_gpu = match images {
            Some(wanted) => born.room_of_images(wanted)?,
            None => born.room(),
        };
        let share = SHARE / sharing as f64;
        let room = Room {
            memory: memory(job, on_gpu, share)?,
            host: match on_gpu {
                Some(_) => (share * free_memory().unwrap_or(0.0)) as usize,
                None => 0,
            },
            store: (job.double("disk")? * GIGA) as usize,
        };
        ensure!(
            room.store == 0 || on_gpu.is_none(),
            "disk= keeps checkpoints of runs on the CPU, and those of a GPU go to the memory of the host: leave out disk=, or run with device=cpu"
        );
        let keep = job.choice("keep")?;
        let sizes = match images {
            Some(wanted) => born.sizes_of_images(wanted),
            None => born.sizes(),
        };
        let of = |schedule: CheckpointSchedule, sizes: [usize; 2], once: usize| Self {
            schedule,
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
                    "keep=boundary keeps no waves inside of the model, which images are made of: leave it out, or say keep=auto"
                )
            }
            Some(_) => None,
            None => boundary(born, steps, room, keep == "boundary")?
                .map(|(schedule, sizes, once)| of(schedule, sizes, once)),
        };
        let way = match (keep, whole, boundary) {
            ("boundary", _, Some(boundary)) | ("auto", Err(_), Some(boundary)) => boundary,
            ("auto", Ok(whole), Some(boundary)) if boundary.schedule.beats(&whole.schedule, steps) => {
                boundary
            }
            (_, Ok(whole), Some(boundary)) if boundary.schedule.beats(&whole.schedule, steps) => Self {
                quicker: Some(boundary.words()),
                ..whole
            },
            (_, whole, _) => whole?,
        };
        if way.schedule.in_store > 0 && !job.flag("plan")? {
            born.set_store(Arc::new(Folder::new(&way.folder)?));
        }
        Ok(way)
    }

    /// Tells what is kept, and what would be quicker.
    pub fn tell(&self, job: &Job) {
        job.say(&format!("way back: {}", self.words()));
        if let Some(words) = &self.quicker {
            job.say(&format!("keep=boundary would be quicker: {words}"));
        }
    }

    /// Seconds of a shot, of which a step takes so many forward, and so many forward and back where all steps are kept.
    pub fn seconds(&self, [forward, all]: [f64; 2]) -> f64 {
        let (schedule, steps) = (&self.schedule, self.steps as f64);
        let again = f64::from(schedule.shells);
        steps * (all + again * forward) + schedule.extra(self.steps) as f64 * forward
    }

    /// What is kept, and what it costs.
    fn words(&self) -> String {
        let schedule = &self.schedule;
        let what = match schedule.shells {
            true => " at the boundary of the model, inside of which waves run backwards",
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
        let memory = schedule.bytes(self.sizes) + self.once;
        format!(
            "{kept}, {} of memory; {} of {} steps are run once more{}",
            gigabytes(memory as f64),
            schedule.extra(self.steps),
            self.steps,
            if schedule.shells {
                ", and all of them backwards"
            } else {
                ""
            }
        )
    }

    /// Which checkpoints are not in the memory of what runs.
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

/// Tells how far waves that ran backwards are from those that ran forward, where any did.
pub fn tell_drift(job: &Job, drift: Option<f64>) {
    if let Some(drift) = drift {
        job.say(&format!(
            "boundary saving: waves that ran backwards came to rest within {drift:.0e} of their largest velocity"
        ));
    }
}

fn chosen(schedule: Result<CheckpointSchedule, kernels::Error>) -> anyhow::Result<CheckpointSchedule> {
    schedule.map_err(|error| anyhow::anyhow!("{error} (memory= in GB)"))
}

/// The quickest way with boundary saving, its sizes and what it takes once; an error where it must be `had`.
fn boundary(
    born: &Born<f32>,
    steps: usize,
    room: Room,
    had: bool,
) -> anyhow::Result<Option<(CheckpointSchedule, [usize; 2], usize)>> {
    let found = born
        .shell_sizes()
        .map_err(anyhow::Error::from)
        .and_then(|(sizes, once)| {
            let memory = room.memory.saturating_sub(once);
            let schedule = chosen(CheckpointSchedule::choose_in(
                steps,
                sizes,
                Room { memory, ..room },
            ))?;
            Ok((schedule.of_shells(), sizes, once))
        });
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if had => Err(error.context("keep=boundary")),
        Err(_) => Ok(None),
    }
}

/// Where checkpoints on the disk go.
fn folder(job: &Job) -> PathBuf {
    if let Ok(Some(named)) = job.text("scratch") {
        return named.into();
    }
    let found = ["TMPDATAPATH", "DATAPATH"].iter().find_map(std::env::var_os);
    let found = found.map(PathBuf::from).unwrap_or_default();
    // A data path may end with the beginning of a name.
    let folder = match found.is_dir() {
        true => found,
        false => found.parent().map(PathBuf::from).unwrap_or_default(),
    };
    match folder.as_os_str().is_empty() {
        true => ".".into(),
        false => folder,
    }
}

/// Bytes that the way back may take: this `share` of what is free, unless `memory=` says otherwise; `room` is what a GPU has left for it.
fn memory(job: &Job, room: Option<usize>, share: f64) -> anyhow::Result<usize> {
    let asked = job.double_opt("memory")?.map(|gigabytes| gigabytes * GIGA);
    let allowed = match (asked, room) {
        (Some(asked), Some(room)) if asked > room as f64 => bail!(
            "memory={} GB are asked for and the GPU has {} left for the way back: ask for less, or leave out memory=",
            asked / GIGA,
            gigabytes(room as f64)
        ),
        (Some(asked), _) => asked,
        (None, Some(room)) => SHARE_OF_GPU * room as f64,
        (None, None) => share * free_memory().unwrap_or(4.0 * GIGA),
    };
    Ok(allowed as usize)
}
