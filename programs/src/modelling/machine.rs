//! Chooses the devices that run a shot, and divides the grid or mesh among them.

mod groups;

pub use groups::at_the_same_time;

use super::world::{Places, World};
use anyhow::{anyhow, bail, ensure};
use kernels::device::accelerator::{Accelerator, Properties};
use kernels::device::cpu::{Cpu, Tile};
use kernels::device::gpu::{Gpu, probe};
use kernels::error::Absent;
use kernels::grid::{Grid, Padded};
use kernels::medium::Symmetry;
use kernels::methods::displacement::{self, gpu};
use kernels::parallel::slabs::{Cutting, Slab};
use rsf_io::Job;
use std::ops::Range;
use std::sync::Arc;
use std::thread::{JoinHandle, spawn};

/// The grid or mesh that is divided among the devices of a run.
#[derive(Clone, Copy)]
pub enum Pieces<'a> {
    /// The planes of a grid, the number of frame planes at either end, and the way in which the method
    /// divides them.
    Planes(&'a Padded, usize, Cutting),
    /// The dimension and the number of elements of a mesh.
    Elements(usize, usize),
}

impl Pieces<'_> {
    /// The dimension.
    pub fn ndim(self) -> usize {
        match self {
            Self::Planes(padded, ..) => padded.ndim(),
            Self::Elements(ndim, _) => ndim,
        }
    }
}

/// The devices of a run on one rank.
pub struct Machine {
    /// The threads that read the model; without GPUs they also run the shot.
    pub cpu: Cpu,
    /// This rank's slabs of the grid; on GPUs there is one for each GPU.
    pub slabs: Vec<Slab>,
    /// The ranges of all subdomains of all ranks, and the number of this rank's subdomains.
    ranges: (Vec<Range<usize>>, usize),
    /// The number of slabs of lower ranks.
    before: usize,
    /// GPUs in the order of the slabs; empty on the CPU.
    gpus: Vec<Properties>,
    /// The ranks and hosts in words, if there are several ranks.
    options: String,
    /// The number of groups like this one on this rank, which run shots at the same time.
    pub groups: usize,
    /// The number of shots that `groups=` requests to run at the same time on this single GPU.
    pub requested_shots: Option<usize>,
}

/// The devices that this rank offers.
struct Offer {
    gpus: Vec<Properties>,
    parts: usize,
    cpu: Cpu,
    requested_shots: Option<usize>,
}

/// The value of `device=`. Under the names of Madagascar's CPU programs, such as `sfewefd2d_omp`, the default
/// is the CPU.
fn device(job: &Job) -> rsf_io::Result<&'static str> {
    if job.program().ends_with("_omp") && !job.given("device") {
        return Ok("cpu");
    }
    job.choice("device")
}

impl Machine {
    /// Chooses the devices that `device=`, `gpu=` and `ngpu=` request, and divides the work so that all of
    /// them finish together; no device stays open.
    pub fn choose(job: &Job, pieces: Pieces<'_>, world: &World) -> anyhow::Result<Self> {
        let places = world.of_host()?;
        let offer = device(job)
            .map_err(Into::into)
            .and_then(|device| offer(job, device, places));
        Self::of(world.agree(offer)?, pieces, world)
    }

    /// This machine with the tiles of `tile=`, which have no effect on GPUs.
    pub fn with_tile(self, job: &Job, tile: Option<Tile>) -> Self {
        if tile.is_some() && self.has_gpus() {
            job.warn("tile= is not used: it cuts the work of CPU threads, and GPUs run the shot");
        }
        Self {
            cpu: self.cpu.with_tile(tile),
            ..self
        }
    }

    /// The number of GPUs of this rank that run the shot.
    pub fn gpus(&self) -> usize {
        self.gpus.len()
    }

    /// Whether GPUs run the shot.
    pub fn has_gpus(&self) -> bool {
        !self.gpus.is_empty()
    }

    /// Divides the work among the devices of all ranks.
    fn of(offer: Offer, pieces: Pieces<'_>, world: &World) -> anyhow::Result<Self> {
        let speeds = speeds(&offer, pieces.ndim(), world)?;
        let counts: Vec<usize> = speeds.iter().map(Vec::len).collect();
        let rank = world.ranks().rank();
        let first: usize = counts[..rank].iter().sum();
        let own = first..first + counts[rank];
        let (slabs, ranges) = match pieces {
            Pieces::Planes(padded, frame, cutting) => {
                let slabs = cutting.balance(padded.planes(), frame, &speeds.concat());
                let slabs = world.agree(slabs.map_err(Into::into))?;
                let ranges = slabs.iter().map(|slab| slab.own.clone()).collect();
                (slabs[own.clone()].to_vec(), ranges)
            }
            Pieces::Elements(_, count) => (Vec::new(), world.agree(shared_out(count, &speeds.concat()))?),
        };
        Ok(Self {
            slabs,
            ranges: (ranges, own.len()),
            before: first,
            cpu: offer.cpu,
            gpus: offer.gpus,
            options: world.describe()?,
            groups: 1,
            requested_shots: offer.requested_shots,
        })
    }

    /// The ranges of all subdomains, and the indices of this rank's subdomains.
    pub fn subdomains(&self) -> (&[Range<usize>], Range<usize>) {
        let (ranges, own) = &self.ranges;
        (ranges, self.before..self.before + own)
    }

    /// The planes of this rank.
    pub fn own(&self) -> Range<usize> {
        let first = self.slabs.first().map_or(0, |s| s.own.start);
        first..self.slabs.last().map_or(0, |s| s.own.end)
    }

    /// One line that describes the processors, or the GPUs and the class of their kernels.
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
        let parts = if self.slabs.is_empty() {
            "subdomains"
        } else {
            "slabs"
        };
        if self.ranges.1 > 1 {
            words += &format!(", {} {parts}", self.ranges.1);
        }
        if self.groups > 1 {
            words += &format!(", the first of {} groups", self.groups);
        }
        self.options.clone() + &words
    }

    /// A line such as `  slab 2: planes 40 to 79 (40)` for one of this rank's slabs, counted over all ranks.
    pub fn slab_words(&self, number: usize) -> String {
        let own = &self.slabs[number].own;
        format!(
            "  slab {}: planes {} to {} ({})",
            self.before + number + 1,
            own.start,
            own.end - 1,
            own.len()
        )
    }

    /// A second handle of the same machine, for other work at the same time.
    pub fn another(&self) -> anyhow::Result<Self> {
        Ok(Self {
            cpu: self.cpu.another()?,
            slabs: self.slabs.clone(),
            ranges: self.ranges.clone(),
            gpus: self.gpus.clone(),
            options: self.options.clone(),
            ..*self
        })
    }

    /// Opens the GPUs, if any.
    pub fn open(&self) -> anyhow::Result<Vec<Arc<Gpu>>> {
        at_the_same_time(&self.gpus, |gpu| Ok(Arc::new(Gpu::open(gpu.number)?)))
    }

    /// Begins to open the GPUs of these machines, which takes a second, while other work is done. Until the
    /// thread is joined and the GPUs that it returns are dropped, [`Machine::open`] finds them open.
    /// [`Machine::open`] reports errors.
    pub fn begin_to_open(machines: &[Self]) -> JoinHandle<Vec<Gpu>> {
        let gpus = machines.iter().flat_map(|machine| &machine.gpus);
        let numbers: Vec<_> = gpus.map(|gpu| gpu.number).collect();
        spawn(|| at_the_same_time(numbers, |number| Ok(Gpu::open(number)?)).unwrap_or_default())
    }
}

/// Cuts `count` elements into a range for each of `speeds`, so that all finish at the same time.
fn shared_out(count: usize, speeds: &[f64]) -> anyhow::Result<Vec<Range<usize>>> {
    if speeds.len() > count {
        bail!(
            "{} subdomains (ngpu= times ranks) are requested, but the mesh has only {count} elements, and each \
            subdomain needs one: give a smaller ngpu=, or start fewer ranks",
            speeds.len()
        );
    }
    let all: f64 = speeds.iter().sum();
    let (mut start, mut target, mut ranges) = (0, 0.0, Vec::new());
    for (k, speed) in speeds.iter().enumerate() {
        target += count as f64 * speed / all;
        // Each of the later subdomains needs at least one element, too.
        let last = count - (speeds.len() - 1 - k);
        let end = (target.round() as usize).clamp(start + 1, last);
        ranges.push(start..end);
        start = end;
    }
    if let Some(range) = ranges.last_mut() {
        range.end = count;
    }
    Ok(ranges)
}

/// The GPUs or processors that this rank uses for this `device=`; `places` contains its number on its host and the
/// number of ranks on the host.
fn offer(job: &Job, device: &str, places: Places) -> anyhow::Result<Offer> {
    let list = job.ints("gpu")?;
    let count = usize::try_from(job.int("ngpu")?)?;
    let listed = job.given("gpu");
    let gpus = match existing_gpus(job, device)? {
        Some(existing) if listed => named(&existing, &list, places)?,
        Some(existing) => first(&existing, count, places)?,
        None => Vec::new(),
    };
    if listed && job.given("ngpu") && count != gpus.len() {
        job.warn(&format!(
            "ngpu={count} is not used: gpu= names {} GPUs",
            gpus.len()
        ));
    }
    Ok(Offer {
        parts: if gpus.is_empty() { count } else { gpus.len() },
        gpus,
        cpu: processors(job, places.sharing)?,
        requested_shots: None,
    })
}

/// The GPUs that exist, if this `device=` allows GPUs.
fn existing_gpus(job: &Job, device: &str) -> anyhow::Result<Option<Vec<Properties>>> {
    let listed = job.given("gpu");
    if device == "cpu" {
        ensure!(
            !listed,
            "gpu= names GPUs, but device=cpu requests the CPU: leave out one of them"
        );
        return Ok(None);
    }
    match probe() {
        Ok(gpus) => return Ok(Some(gpus)),
        Err(absent) if device == "gpu" || listed => return Err(kernels::Error::from(absent).into()),
        // Without a driver the user expects the processors to run the shot, and only a plan gives the reason.
        Err(absent) if job.flag("plan")? || job.flag("verb")? && absent != Absent::NoDriver => {
            job.say(&format!("no GPU is used: {absent}"));
        }
        Err(_) => {}
    }
    Ok(None)
}

/// The relative speeds of the slabs of all ranks. They are equal if all ranks have the same devices, and
/// otherwise measured on a small grid.
fn speeds(offer: &Offer, ndim: usize, world: &World) -> anyhow::Result<Vec<Vec<f64>>> {
    let kind = match offer.gpus.first() {
        Some(gpu) => format!("GPU {} {}", gpu.name, gpu.architecture),
        None => format!("CPU {}", offer.cpu.describe()),
    };
    let words = format!("{}\n{kind}", offer.parts);
    let all = world.ranks().all_gather(words.as_bytes())?;
    let all: Vec<String> = all
        .iter()
        .map(|words| String::from_utf8_lossy(words).into_owned())
        .collect();
    let read = |words: &String| -> Option<(usize, String)> {
        let (parts, kind) = words.split_once('\n')?;
        Some((parts.parse().ok()?, kind.to_string()))
    };
    let all: Option<Vec<(usize, String)>> = all.iter().map(read).collect();
    let all = all.ok_or_else(|| anyhow!("ranks disagree"))?;
    let on_gpus = all.iter().map(|(_, kind)| kind.starts_with("GPU"));
    all_or_none(&on_gpus.collect::<Vec<_>>(), world)?;
    let alike = all.iter().all(|(_, kind)| *kind == all[0].1);
    let mine = if alike { Ok(1.0) } else { timed(offer, ndim) };
    let mine = world.agree(mine)?;
    let each = world.ranks().all_gather(&mine.to_le_bytes())?;
    let speed = |words: &[u8]| words.try_into().map_or(1.0, f64::from_le_bytes);
    Ok(all
        .iter()
        .zip(&each)
        .map(|((parts, kind), words)| {
            // Slabs of one processor share it.
            let share = if kind.starts_with("GPU") {
                1.0
            } else {
                *parts as f64
            };
            vec![speed(words) / share; *parts]
        })
        .collect())
}

/// Refuses ranks of which some have GPUs and some have none.
fn all_or_none(on_gpus: &[bool], world: &World) -> anyhow::Result<()> {
    let place = |on: bool| on_gpus.iter().position(|&own| own == on);
    world.agree(match (place(true), place(false)) {
        (Some(with), Some(without)) => Err(anyhow!(
            "rank {with} has a GPU but rank {without} has none: either all ranks need one (device=gpu \
            reports what is missing), or none may use one (device=cpu)"
        )),
        _ => Ok(()),
    })
}

/// Measures the speed of one of the devices, in points per second.
fn timed(offer: &Offer, ndim: usize) -> anyhow::Result<f64> {
    Ok(match offer.gpus.first() {
        Some(properties) => {
            let gpu = Arc::new(Gpu::open(properties.number)?);
            let whole = Padded::new(&Grid::new_3d([256; 3], [0.0; 3], [1.0; 3]), 0);
            gpu::calibrate(&whole, &gpu, Symmetry::Orthorhombic)?
        }
        None => displacement::calibrate(ndim, &offer.cpu)?,
    })
}

/// The numbers of the GPUs, as in `0, 1`.
fn numbers(gpus: &[Properties]) -> String {
    let numbers: Vec<String> = gpus.iter().map(|g| g.number.to_string()).collect();
    numbers.join(", ")
}

/// A GPU in words, such as `GPU 0 NVIDIA H200 (90)`: number, name, compute capability times ten.
fn gpu_words(gpu: &Properties) -> String {
    format!("GPU {} {} ({})", gpu.number, gpu.name, gpu.architecture)
}

/// The GPUs with these numbers, in this order; if the list names the GPUs of all ranks of a host, the share of this
/// rank.
fn named(
    existing: &[Properties],
    list: &[i64],
    Places { place, ranks, .. }: Places,
) -> anyhow::Result<Vec<Properties>> {
    if ranks > 1 && !list.len().is_multiple_of(ranks) {
        bail!(
            "gpu= names {} GPUs for {ranks} ranks on this host: name the same number for each rank, all in \
            one list",
            list.len()
        );
    }
    let share = list.len() / ranks;
    let list = &list[place * share..(place + 1) * share];
    let mut taken: Vec<Properties> = Vec::new();
    for &number in list {
        let Some(gpu) = existing.iter().find(|g| i64::try_from(g.number) == Ok(number)) else {
            bail!(
                "gpu={number}: there is no such GPU, or none that the kernels can use; there is {} (CUDA_VISIBLE_DEVICES changes the numbers)",
                existing.iter().map(gpu_words).collect::<Vec<_>>().join(", ")
            );
        };
        if taken.contains(gpu) {
            bail!(
                "gpu= names GPU {number} twice: a GPU takes one slab; there is {}",
                numbers(existing)
            );
        }
        taken.push(gpu.clone());
    }
    Ok(taken)
}

/// Returns the `count` GPUs of this rank. If a host has several ranks, each uses the next `count` GPUs, unless each
/// rank sees only its own GPUs.
fn first(
    existing: &[Properties],
    count: usize,
    Places { place, ranks, .. }: Places,
) -> anyhow::Result<Vec<Properties>> {
    if ranks > 1 && count <= existing.len() && existing.len() < ranks * count {
        let apart = std::env::var_os("CUDA_VISIBLE_DEVICES").is_some() && existing.len() == count;
        if !apart {
            bail!(
                "{ranks} ranks on this host request ngpu={count} GPUs each, but there are {} ({}); start \
                fewer ranks, name GPUs by gpu= (several ranks may share one), or set CUDA_VISIBLE_DEVICES \
                for each rank",
                existing.len(),
                numbers(existing)
            );
        }
        return Ok(existing.to_vec());
    }
    if count > existing.len() {
        bail!(
            "ngpu={count} GPUs are requested, but there {} ({}); use ngpu={} or less, or device=cpu, where \
            ngpu= cuts the grid into slabs",
            if existing.len() == 1 {
                "is 1".into()
            } else {
                format!("are {}", existing.len())
            },
            numbers(existing),
            existing.len()
        );
    }
    Ok(existing[place * count..(place + 1) * count].to_vec())
}

/// The threads that `threads=` or the environment requests.
pub fn processors(job: &Job, ranks: usize) -> anyhow::Result<Cpu> {
    Ok(Cpu::new(threads(job, ranks)?)?)
}

/// The number of threads that `threads=` or the environment requests; otherwise this rank's share of the cores.
fn threads(job: &Job, ranks: usize) -> anyhow::Result<usize> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let count = match job.int_opt("threads")? {
        Some(n) => usize::try_from(n)?.min(4 * cores),
        // Madagascar's flows set this variable to the number of cores of the whole machine, even if the
        // process may use only a few.
        None => std::env::var("OMP_NUM_THREADS")
            .ok()
            .and_then(|n| n.trim().parse::<usize>().ok())
            .map_or(0, |n| n.min(cores)),
    };
    // Ranks of a host share its cores.
    Ok(if count == 0 { (cores / ranks).max(1) } else { count })
}

/// The tile that `tile=` requests on a grid of `ndim` dimensions.
pub fn tile(job: &Job, ndim: usize) -> anyhow::Result<Option<Tile>> {
    let sizes: Vec<usize> = job
        .ints("tile")?
        .into_iter()
        .map(usize::try_from)
        .collect::<Result<_, _>>()?;
    match *sizes.as_slice() {
        [] => Ok(None),
        [cells] => Ok(Some(Tile { cells, rows: 0 })),
        [cells, rows] if ndim == 3 => Ok(Some(Tile { cells, rows })),
        _ if ndim == 3 => bail!(
            "tile= has {} numbers: give cells along z, or cells along z and rows along x, as in tile=0,16 (0: all)",
            sizes.len()
        ),
        _ => bail!(
            "tile= has {} numbers: in 2-D tiles are cut only along z; give one number, as in tile=512 (0: all)",
            sizes.len()
        ),
    }
}

/// The number of bytes that are free on a GPU now, and its name.
pub fn free(gpu: &Gpu) -> anyhow::Result<(usize, String)> {
    Ok((gpu.free_bytes()?, gpu_words(gpu.properties())))
}

/// Number of neighbours on other ranks of slab `number` of a rank, in a grid of `planes` planes.
pub fn outer(slabs: &[Slab], planes: usize, number: usize) -> usize {
    let own = &slabs[number].own;
    let below = number == 0 && own.start > 0;
    let above = number + 1 == slabs.len() && own.end < planes;
    usize::from(below) + usize::from(above)
}

#[cfg(test)]
mod tests;
