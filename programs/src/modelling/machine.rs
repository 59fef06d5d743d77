//! Which machine runs a shot, and the engine on it.

use super::model::Volumes;
use super::plan::{self, Report};
use super::{Run, room};
use anyhow::bail;
use kernels::device::accelerator::{Accelerator, Properties};
use kernels::device::cpu::Cpu;
use kernels::device::gpu::{Gpu, probe};
use kernels::displacement::{self, gpu};
use kernels::domain::partition::{Slab, partition};
use kernels::grid::Padded;
use kernels::medium::{Discard, Filler, Medium, Symmetry};
use kernels::time_loop::Recorder;
use rsf_io::Job;
use std::sync::Arc;

/// The machine of a run.
pub struct Machine {
    /// Threads that read the model; where there are no GPUs they run the shot, too.
    pub cpu: Cpu,
    /// The grid in parts; on GPUs one each.
    pub slabs: Vec<Slab>,
    /// In the order of the slabs; empty on the CPU.
    gpus: Vec<Properties>,
}

/// `device=`; under the names of Madagascar's CPU programs, such as `sfewefd2d_omp`, the CPU unless it says otherwise.
fn device(job: &Job) -> rsf_io::Result<&'static str> {
    if job.program().ends_with("_omp") && !job.given("device") {
        return Ok("cpu");
    }
    job.choice("device")
}

impl Machine {
    /// What `device=`, `gpu=` and `ngpu=` ask for; nothing is opened yet.
    pub fn choose(job: &Job, padded: &Padded) -> anyhow::Result<Self> {
        let (device, list) = (device(job)?, job.ints("gpu")?);
        let count = usize::try_from(job.int("ngpu")?)?;
        let listed = job.given("gpu");
        let mut gpus = Vec::new();
        if device == "cpu" && listed {
            bail!("gpu= names GPUs and device=cpu asks for the CPU: leave out one of them");
        }
        if device != "cpu" {
            match probe() {
                Ok(found) if listed => gpus = named(&found, &list)?,
                Ok(found) => gpus = first(&found, count)?,
                Err(absent) if device == "gpu" || listed => return Err(absent.into()),
                Err(absent) if job.flag("verb")? || job.flag("plan")? => {
                    job.say(&format!("no GPU is taken: {absent}"));
                }
                Err(_) => {}
            }
        }
        if listed && job.given("ngpu") && count != gpus.len() {
            job.warn(&format!(
                "ngpu={count} is not used: gpu= names {} of them",
                gpus.len()
            ));
        }
        let parts = if gpus.is_empty() { count } else { gpus.len() };
        Ok(Self {
            cpu: processors(job)?,
            slabs: partition(padded.planes(), parts)?,
            gpus,
        })
    }

    /// One line: the processors, or the GPUs and whose kernels they run.
    pub fn describe(&self, class: Option<Symmetry>) -> String {
        let mut words = match self.gpus.as_slice() {
            [] => self.cpu.describe(),
            [one] => gpu_words(one),
            [one, rest @ ..]
                if rest
                    .iter()
                    .all(|g| (&g.name, g.architecture) == (&one.name, one.architecture)) =>
            {
                format!("GPUs {} {} ({})", numbers(&self.gpus), one.name, one.architecture)
            }
            several => several.iter().map(gpu_words).collect::<Vec<_>>().join(" and "),
        };
        if let Some(class) = class.filter(|_| !self.gpus.is_empty()) {
            words += &format!(", {class} kernels");
        }
        if self.slabs.len() > 1 {
            words += &format!(", {} slabs", self.slabs.len());
        }
        words
    }

    /// Opens the GPUs, if any.
    pub fn open(&self) -> anyhow::Result<Vec<Arc<Gpu>>> {
        let open = |found: &Properties| Ok(Arc::new(Gpu::open(found.number)?));
        self.gpus.iter().map(open).collect()
    }

    /// Reads the model into the machine and prepares the shot there. `gpus` as [`Machine::open`] gave them.
    pub fn prepare(
        &self,
        job: &Job,
        run: &Run,
        model: &Volumes,
        gpus: &[Arc<Gpu>],
    ) -> anyhow::Result<(Engine, Report)> {
        if gpus.is_empty() {
            let mut medium = Medium::new(&run.padded)?;
            let found = model.read(&run.padded, &self.cpu, &mut Filler::new(&mut medium, &self.cpu))?;
            let report = plan::examine(job, run, found)?;
            let cpu = Cpu::new(self.cpu.threads())?;
            let engine = displacement::Simulation::new(&run.shot, medium, cpu, self.slabs.clone())?;
            return Ok((Engine::Cpu(engine), report));
        }
        let widest = plan::asked(job, run.padded.ndim())?.unwrap_or(Symmetry::Orthorhombic);
        let mut report = None;
        if room::shortage(run, &self.slabs, gpus, widest)?.is_some() {
            // Room for a narrower class only: which one the model has must be known before memory is taken.
            let seen = self.look(job, run, model)?;
            if let Some(shortage) = room::shortage(run, &self.slabs, gpus, seen.class)? {
                bail!("{shortage}");
            }
            report = Some(seen);
        }
        let class = report.as_ref().map_or(widest, |seen| seen.class);
        let machines = gpus.iter().cloned().zip(self.slabs.iter().cloned()).collect();
        let shot = &run.shot;
        let mut upload = gpu::Upload::of_class(&run.padded, machines, shot.surface, shot.dt, class)?;
        let found = model.read(&run.padded, &self.cpu, &mut upload)?;
        let report = match report {
            Some(seen) => seen,
            None => plan::examine(job, run, found)?,
        };
        let engine = gpu::Simulation::new(shot, upload, report.class, None)?;
        Ok((Engine::Gpu(engine), report))
    }

    /// Reads the model without keeping it.
    pub fn look(&self, job: &Job, run: &Run, model: &Volumes) -> anyhow::Result<Report> {
        let found = model.read(&run.padded, &self.cpu, &mut Discard::new(&run.padded))?;
        plan::examine(job, run, found)
    }
}

/// `0, 1`
fn numbers(gpus: &[Properties]) -> String {
    let numbers: Vec<String> = gpus.iter().map(|g| g.number.to_string()).collect();
    numbers.join(", ")
}

/// `GPU 0 NVIDIA H200 (90)`: number, name, compute capability times ten.
fn gpu_words(gpu: &Properties) -> String {
    format!("GPU {} {} ({})", gpu.number, gpu.name, gpu.architecture)
}

/// The GPUs with these numbers, in this order.
fn named(found: &[Properties], list: &[i64]) -> anyhow::Result<Vec<Properties>> {
    let mut taken: Vec<Properties> = Vec::new();
    for &number in list {
        let Some(gpu) = found.iter().find(|g| i64::try_from(g.number) == Ok(number)) else {
            bail!(
                "gpu={number}: there is no such GPU, or none that the kernels can use; there is {} (CUDA_VISIBLE_DEVICES changes the numbers)",
                found.iter().map(gpu_words).collect::<Vec<_>>().join(", ")
            );
        };
        if taken.contains(gpu) {
            bail!(
                "gpu= names GPU {number} twice: a GPU takes one slab; there is {}",
                numbers(found)
            );
        }
        taken.push(gpu.clone());
    }
    Ok(taken)
}

/// The first GPUs.
fn first(found: &[Properties], count: usize) -> anyhow::Result<Vec<Properties>> {
    if count > found.len() {
        bail!(
            "ngpu={count} GPUs are asked for and there {} ({}); use ngpu={} or less, or device=cpu, where ngpu= cuts the grid into slabs",
            if found.len() == 1 {
                "is 1".into()
            } else {
                format!("are {}", found.len())
            },
            numbers(found),
            found.len()
        );
    }
    Ok(found[..count].to_vec())
}

/// The threads that `threads=` or the environment ask for.
pub fn processors(job: &Job) -> anyhow::Result<Cpu> {
    let asked = match job.int_opt("threads")? {
        Some(n) => usize::try_from(n)?,
        None => std::env::var("OMP_NUM_THREADS")
            .ok()
            .and_then(|n| n.trim().parse().ok())
            .unwrap_or(0),
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(Cpu::new(if asked == 0 { cores } else { asked.min(4 * cores) })?)
}

/// A shot ready to run.
pub enum Engine {
    /// On the processors.
    Cpu(displacement::Simulation<f32>),
    /// On GPUs.
    Gpu(gpu::Simulation<f32, Gpu>),
}

impl Engine {
    /// Steps to run.
    pub fn steps(&self) -> usize {
        match self {
            Self::Cpu(engine) => engine.steps(),
            Self::Gpu(engine) => engine.steps(),
        }
    }

    /// Bytes of memory that fields and medium take.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Cpu(engine) => engine.bytes(),
            Self::Gpu(engine) => engine.bytes(),
        }
    }

    /// Numbers that a step must move at least for a point of the padded grid.
    pub fn words(&self, padded: &Padded) -> usize {
        match self {
            Self::Cpu(_) => 3 * padded.ndim() + kernels::medium::plane_names(padded.ndim()).len() + 1,
            Self::Gpu(engine) => engine.words(),
        }
    }

    /// Runs all steps.
    pub fn run(&mut self, recorder: &mut dyn Recorder<f32>) -> Result<(), kernels::Error> {
        match self {
            Self::Cpu(engine) => engine.run(recorder),
            Self::Gpu(engine) => engine.run(recorder),
        }
    }
}

/// Bytes free on a GPU now, and its name.
pub fn free(gpu: &Gpu) -> anyhow::Result<(usize, String)> {
    Ok((gpu.free_bytes()?, gpu_words(gpu.properties())))
}
