//! A linearised shot from its command line: the model, the machine, and what its inputs must be.

use super::super::{Films, Run, engine, plan};
use super::sampling::Sampling;
use super::stations::{Station, Ways};
use crate::modelling::linearised::kept::Kept;
use crate::modelling::machine::{Machine, at_the_same_time, free};
use crate::modelling::model::{Files, Fingerprint, Opened, Volumes, shared_grid};
use crate::modelling::plan::{Report, counted, free_memory, gigabytes};
use crate::modelling::shoot::{Method, Resources};
use crate::modelling::shots::sum::most_nodes;
use crate::modelling::shots::{self, AHEAD};
use crate::modelling::transport;
use crate::modelling::world::World;
use anyhow::{Context, bail, ensure};
use kernels::device::gpu::Gpu;
use kernels::grid::{AXES, Grid, Padded};
use kernels::medium::{Coefficients, Filler, Medium, Symmetry};
use kernels::methods::velocity_stress::born::{Born, Parameters, Wanted};
use rsf_io::{Axis, Input, Job, Output};
use std::sync::Arc;

/// A linearised shot.
pub struct SetUp {
    /// The shot.
    pub run: Run,
    /// Processors, and the GPU if there is one, of each group of this rank.
    pub machines: Vec<Machine>,
    /// Groups of all ranks of this host.
    pub sharing: usize,
    /// How data are made of records.
    pub sampling: Sampling,
    /// By what is linearised.
    parameters: Parameters,
    /// The opened model, until it is read.
    files: Option<Files>,
    /// What one look at it found.
    report: Option<Report>,
    /// What is said of the memory of a GPU.
    of_gpu: Option<String>,
    /// Gets the model's checksum, where states need it.
    fingerprint: Option<Arc<Fingerprint>>,
}

impl SetUp {
    /// Reads parameters and small inputs and opens the model, to be linearised by what `wrt=` says. All ranks call it.
    pub fn read(job: &mut Job, ndim: usize, world: &World) -> anyhow::Result<Self> {
        let read = Run::open(job, ndim, Films::Never);
        let read = read.and_then(|(run, files)| Ok((parameters(job, &files)?, run, files)));
        let (parameters, run, files) = world.agree(read)?;
        Self::of(job, (run, files), parameters, world)
    }

    /// The same without parameters, for a medium of speeds or stiffness planes.
    pub fn read_plain(job: &mut Job, ndim: usize, world: &World) -> anyhow::Result<Self> {
        let read = world.agree(Run::open(job, ndim, Films::Never))?;
        Self::of(job, read, Parameters::Stiffness, world)
    }

    fn of(
        job: &Job,
        (run, files): (Run, Files),
        parameters: Parameters,
        world: &World,
    ) -> anyhow::Result<Self> {
        let machines = Machine::groups(
            job,
            run.pieces(),
            Some([run.spreads.count(), run.padded.cells()]),
            world,
        )?;
        let mut set_up = Self {
            sampling: Sampling::of_records(&run),
            run,
            machines: Vec::new(),
            sharing: 1,
            parameters,
            files: Some(files),
            report: None,
            of_gpu: None,
            fingerprint: None,
        };
        set_up.take(machines, job, world)?;
        Ok(set_up)
    }

    /// Takes the machines, of which there need not be more than shots.
    fn take(&mut self, mut machines: Vec<Machine>, job: &Job, world: &World) -> anyhow::Result<()> {
        let (groups, shots) = (machines.len(), self.shots());
        if groups > shots {
            job.warn(&format!(
                "{} are asked for and there {} {}: the others have nothing to do",
                counted(groups, "group"),
                if shots == 1 { "is" } else { "are" },
                counted(shots, "shot")
            ));
            machines.truncate(shots.max(1));
        }
        self.sharing = machines.len() * world.of_host()?.ranks;
        self.machines = machines;
        Ok(())
    }

    /// The first of the machines.
    pub fn machine(&self) -> &Machine {
        &self.machines[0]
    }

    /// Names of the parameters in the order of their axis.
    pub fn names(&self) -> Vec<&'static str> {
        match self.parameters {
            Parameters::Speeds => vec!["vp", "vs", "rho"],
            Parameters::Lame => vec!["lambda", "mu", "rho"],
            Parameters::Impedances => vec!["ip", "is", "rho"],
            Parameters::Stiffness => {
                let table = Coefficients::Orthorhombic.table(self.run.padded.ndim());
                table.file_names().into_iter().chain(["rho"]).collect()
            }
        }
    }

    /// Refuses what is no perturbation of this model.
    pub fn check_perturbation(&self, input: &Input) -> anyhow::Result<()> {
        let (grid, names) = (&self.run.padded.model, self.names());
        let (last, cells) = (grid.ndim + 1, grid.cells());
        if input.axis(last).n != names.len() || input.len() != (cells * names.len()) as u64 {
            bail!(
                "{} has n{last}={} and {} values; adj=n takes a perturbation of the model: its axes, and n{last}={} for {}, {} values",
                input.name(),
                input.axis(last).n,
                input.len(),
                names.len(),
                names.join(" "),
                cells * names.len()
            );
        }
        if let Some(files) = &self.files {
            let model = files.inputs();
            shared_grid(&[model[0], input], grid.ndim)?;
        }
        Ok(())
    }

    /// Whether the model is one of speeds.
    pub fn is_isotropic(&self) -> bool {
        matches!(self.files, Some(Files::Speeds(_)))
    }

    /// Opens the states of the survey, which has these contents beside its shots; all ranks call it.
    pub fn kept(
        &mut self,
        job: &mut Job,
        contents: Vec<(&'static str, u64)>,
        world: &World,
    ) -> anyhow::Result<Kept> {
        let contents = contents.into_iter().chain(self.sampling.content());
        let kept = Kept::open(job, &self.run, contents.collect(), world)?;
        self.fingerprint = kept.knows_its_model().then(Arc::default);
        Ok(kept)
    }

    /// The checksum of the model, once it is read, where states need it.
    pub fn model(&self) -> u64 {
        self.fingerprint.as_ref().map_or(0, |sum| sum.sum())
    }

    /// Shots of the survey.
    pub fn shots(&self) -> usize {
        self.run.spreads.count()
    }

    /// Reads the model and makes the operator ready on each machine, with a reverse sweep if there is to be one. The GPUs of several ranks share
    /// a shot that is alone. All ranks call it.
    pub fn stations(&mut self, job: &Job, world: &World, ways: Ways<'_>) -> anyhow::Result<Vec<Station>> {
        let shared = self.shots() == 1 && !world.is_alone() && self.machine().has_gpus();
        let opening = Machine::begin_to_open(&self.machines);
        let stations = self.own_stations(job, ways);
        let _open = opening.join();
        let mut stations = world.agree(stations)?;
        if shared {
            stations.truncate(1);
            let station = world.agree(stations.pop().context("there is no machine"))?;
            let (station, words) = place_among(job, (station, self.machine()), (ways, self.sharing), world)?;
            self.of_gpu = Some(words);
            return Ok(vec![station]);
        }
        let of_machines = stations.into_iter().zip(&self.machines);
        let placed = at_the_same_time(of_machines, |of| place(job, of, (ways, self.sharing)));
        let placed = world.agree(placed)?;
        self.of_gpu = placed.iter().find_map(|(_, words)| words.clone());
        let batches = placed
            .into_iter()
            .flat_map(|(all, _)| all.into_iter().enumerate());
        let mut placed: Vec<_> = batches.collect();
        // Every machine gets shots before one of them gets more.
        placed.sort_by_key(|(batch, _)| *batch);
        Ok(placed.into_iter().map(|(_, station)| station).collect())
    }

    /// Reads the model and makes the operator of each machine, which none of them runs yet.
    fn own_stations(&mut self, job: &Job, ways: Ways<'_>) -> anyhow::Result<Vec<Station>> {
        let Some(files) = self.files.take() else {
            bail!("the model is read twice by the program");
        };
        let held = files.held();
        let volumes = files.volumes(self.run.padded.ndim(), self.fingerprint.clone())?;
        let [shared, each] = needed(&self.run.padded, volumes.widest());
        let groups = self.machines.len();
        let needed = self.sharing as f64 * (each + (shared + self.of_sums(ways)) / groups as f64);
        let free = free_memory().unwrap_or(f64::INFINITY);
        ensure!(
            needed <= free,
            "{} {} of memory beside the reverse sweep, and {} are free: use {}a smaller grid or nb=",
            match self.sharing {
                1 => "the operator needs".into(),
                count => format!("{count} groups on this host need"),
            },
            gigabytes(needed),
            gigabytes(free),
            if self.sharing > 1 { "fewer groups, " } else { "" }
        );
        let mut run = self.run.clone();
        let (born, report) = operator(job, (&mut run, self.machine()), (&volumes, held), self.parameters)?;
        drop(volumes);
        // The frame and the differences are those of the model now.
        self.run.adopt(&run);
        self.report = Some(report);
        let of = (self.shots(), self.sampling.clone());
        let mut stations = vec![Station::new(run, (born, self.machine().cpu.another()?), of)];
        for machine in &self.machines[1..] {
            stations.push(stations[0].another(&machine.cpu)?);
        }
        Ok(stations)
    }

    /// Bytes of the sums of the shots, and of what groups have made and is not added yet.
    fn of_sums(&self, ways: Ways<'_>) -> f64 {
        let cells = self.run.padded.model.cells();
        let numbers = match ways {
            Ways::Forward => return 0.0,
            Ways::Back(None) => self.names().len() * cells,
            Ways::Back(Some(wanted)) => wanted.numbers(cells),
        };
        let most = match self.shots() {
            1 => 1,
            shots => most_nodes(shots) + shots.min((AHEAD + 1) * self.machines.len()),
        };
        (most * numbers * size_of::<f32>()) as f64
    }

    /// The answer of `plan=y` for a survey: what one shot takes in its reverse sweep, with such images if they are asked for, and what
    /// all shots take. All ranks call it.
    pub fn plan_survey(mut self, job: &Job, images: Option<&Wanted>, world: &World) -> anyhow::Result<()> {
        let ways = Ways::Back(images);
        let stations = self.stations(job, world, ways)?;
        self.summary(job);
        stations[0].tell(job);
        self.tell_shots(job, &stations[0], ways, world)
    }

    /// The last line of `plan=y`; all ranks call it.
    pub fn tell_shots(
        &self,
        job: &Job,
        station: &Station,
        ways: Ways<'_>,
        world: &World,
    ) -> anyhow::Result<()> {
        let class = self
            .report
            .as_ref()
            .map_or(Symmetry::Orthorhombic, |report| report.class);
        let seconds = world.agree(station.seconds((self.machine(), class), ways))?;
        let (shots, groups) = (self.shots(), self.machines.len());
        let own = shots::of_rank(&(0..shots).collect::<Vec<_>>(), world).len();
        let batch = shots::batch(own, groups, station.at_a_time());
        let words = shots::plan((shots, shots), (groups, batch, seconds), world)?;
        job.say(&match shots {
            1 => format!("time about {seconds:.1} s (a small grid timed now); nothing was run (plan=y)"),
            _ => format!("that is one shot: {words} (a small grid timed now); nothing was run (plan=y)"),
        });
        Ok(())
    }

    /// The lines of `verb=y`.
    pub fn summary(&self, job: &Job) {
        if let Some(report) = &self.report {
            plan::summary(job, &self.run, report);
        }
        job.say(&format!("linearised by {}", self.names().join(" ")));
        self.sampling.tell(job);
        self.run.timing.words().iter().for_each(|words| job.say(words));
        if let Some(words) = &self.of_gpu {
            job.say(words);
        }
    }
}

/// Chooses the reverse sweep of a station, if there is to be one, and lets its GPU run it, if there is one and nothing is only planned. Where a
/// GPU runs several shots side by side, two stations have half of them each: while the processors work on the records of
/// one of them, the GPU runs the shots of the other. A line about the memory of the GPU comes with them.
fn place(
    job: &Job,
    (mut station, machine): (Station, &Machine),
    (ways, sharing): (Ways<'_>, usize),
) -> anyhow::Result<(Vec<Station>, Option<String>)> {
    let (gpus, sharing) = (machine.open()?, (sharing, of_host()));
    if gpus.is_empty() {
        if let Ways::Back(images) = ways {
            station.choose_way(job, images, (sharing, 1, None))?;
        }
        return Ok((vec![station], None));
    }
    let (free, name) = least(&gpus)?;
    let several = gpus.len();
    let advice = || format!("{name} (device=cpu runs in the memory of the host)");
    station.born.plan_on(several, free).with_context(advice)?;
    let mut devices = vec![gpus];
    match (ways, machine.asked) {
        (Ways::Back(images), asked) => {
            station.choose_way(job, images, (sharing, 1, asked))?;
            let half = match (asked, station.side_by_side()) {
                (_, 1) => None,
                (None, _) => Some(None),
                (Some(asked), _) => (asked % 2 == 0).then_some(Some(asked / 2)),
            };
            // Two batches, unless half of the memory would make a step run more often.
            if let Some(half) = half {
                let whole = station.clone_way();
                let halved = station.born.plan_on(several, free / 2).is_ok()
                    && station.choose_way(job, images, (sharing, 2, half)).is_ok()
                    && station.is_as_quick_as(whole.as_ref());
                if halved {
                    devices.push(machine.open()?);
                } else {
                    station.born.plan_on(several, free).with_context(advice)?;
                    station.choose_way(job, images, (sharing, 1, asked))?;
                }
            }
        }
        (Ways::Forward, Some(asked)) if asked > 1 => bail!(
            "groups= asks for {asked} shots at a time on a GPU, and adj=n runs one at a time on each: ask for as many groups as there are GPUs, or leave out groups="
        ),
        (Ways::Forward, _) => {}
    }
    let words = words_of_memory((&station, ways), (&name, several, free));
    let mut all = vec![station];
    while all.len() < devices.len() {
        all.push(all[0].another(&machine.cpu)?);
    }
    let planning = job.flag("plan")?;
    for (station, gpus) in all.iter_mut().zip(devices) {
        if !planning {
            station.born.run_on(gpus).with_context(advice)?;
        }
    }
    Ok((all, Some(words)))
}

/// The same on the GPUs of all ranks, which share the shot. All ranks call it.
fn place_among(
    job: &Job,
    (mut station, machine): (Station, &Machine),
    (ways, sharing): (Ways<'_>, usize),
    world: &World,
) -> anyhow::Result<(Station, String)> {
    let found = machine.open().and_then(|gpus| least(&gpus).map(|of| (gpus, of)));
    let (gpus, (free, name)) = world.agree(found)?;
    // The schedule must be one on all ranks: the least memory of any of them counts.
    let all = world.numbers(&[gpus.len(), free, of_host() as usize].map(|number| number as u64))?;
    let least = |k: usize| all.iter().filter_map(|numbers| numbers.get(k)).min().copied();
    let several = all.iter().filter_map(|numbers| numbers.first()).sum::<u64>() as usize;
    let (free, of_host) = (least(1).unwrap_or(0) as usize, least(2).unwrap_or(0) as f64);
    let most = world.numbers(&[sharing as u64])?.concat().into_iter().max();
    let sharing = (most.unwrap_or(1) as usize, of_host);
    let advice = || format!("{name} (device=cpu runs in the memory of the host)");
    let planned = station.born.plan_on(several, free).with_context(advice);
    let planned = planned.and_then(|()| match ways {
        Ways::Back(images) => station.choose_way(job, images, (sharing, 1, Some(1))),
        Ways::Forward => Ok(()),
    });
    world.agree(planned)?;
    station.shared = true;
    let words = words_of_memory((&station, ways), (&name, several, free));
    if !job.flag("plan")? {
        let transport = transport(job)?;
        let placed = station.born.run_on_ranks(gpus, world.ranks(), transport);
        world.agree(placed.with_context(advice))?;
    }
    Ok((station, words))
}

/// Bytes of the host's memory that are free.
fn of_host() -> f64 {
    free_memory().unwrap_or(4e9)
}

/// Of several GPUs that share a shot the least memory that is free, and the name of the GPU that has it.
fn least(gpus: &[Arc<Gpu>]) -> anyhow::Result<(usize, String)> {
    let all = gpus
        .iter()
        .map(|gpu| free(gpu))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let least = all.into_iter().min_by_key(|(free, _)| *free);
    Ok(least.unwrap_or_default())
}

/// What is said of the memory of a GPU, one of several that share a shot, of which so many bytes are free.
fn words_of_memory(
    (station, ways): (&Station, Ways<'_>),
    (name, several, free): (&str, usize, usize),
) -> String {
    let (shots, born) = (station.at_a_time(), &station.born);
    let taken = match ways.images() {
        Some(wanted) => born.device_bytes_of_images(wanted, shots),
        None => born.device_bytes(shots),
    };
    format!(
        "{name}{}: {} of its memory beside the reverse sweep, {} are free",
        match several {
            1 => String::new(),
            _ => format!(", as each of {several} GPUs that share a shot"),
        },
        gigabytes(taken as f64),
        gigabytes(free as f64)
    )
}

/// Reads the model and makes the operator of a shot ready; what was found in the model.
fn operator(
    job: &Job,
    (run, machine): (&mut Run, &Machine),
    (volumes, held): (&Volumes, u64),
    parameters: Parameters,
) -> anyhow::Result<(Born<f32>, Report)> {
    let on = Resources {
        machine,
        gpus: &[],
        held,
        world: &World::alone(),
    };
    let mut medium = Medium::<f32>::new(&run.padded)?;
    let mut filler = Filler::new(&mut medium, &machine.cpu);
    let report = engine::read(job, run, volumes, (on, &mut filler))?;
    drop(filler);
    let growing = run.shot.frame.first_growing(&medium);
    plan::layers_that_grow(job, run, growing, on.world)?;
    let class = match volumes.widest() {
        Symmetry::Isotropic => Symmetry::Isotropic,
        _ => report.class,
    };
    let cpu = machine.cpu.another()?;
    let born = Born::new(&run.shot, medium, (class, parameters), cpu)?;
    Ok((born, report))
}

/// By what `wrt=` lets a model be linearised.
fn parameters(job: &Job, files: &Files) -> anyhow::Result<Parameters> {
    Ok(match (job.choice("wrt")?, files) {
        ("ccc,rho", _) => Parameters::Stiffness,
        (_, Files::Stiffness(_)) if job.given("wrt") => bail!(
            "wrt={} with ccc=: a medium of stiffness planes is linearised by them, wrt=ccc,rho",
            job.choice("wrt")?
        ),
        (_, Files::Stiffness(_)) if files.shears_in_place() => bail!(
            "ccc= has shears=staggered in its header: its shear stiffnesses stand half a cell beyond the nodes; this program is linear in stiffnesses on the nodes, so make the model with average=n or sfstiffness"
        ),
        (_, Files::Stiffness(_)) => Parameters::Stiffness,
        ("lambda,mu,rho", _) => Parameters::Lame,
        ("ip,is,rho", _) => Parameters::Impedances,
        _ => Parameters::Speeds,
    })
}

/// Gives an output the axes of the model, and behind them one of these names.
pub fn model_axes(output: &mut Output, grid: &Grid, names: &[&str]) {
    for (a, name) in AXES.iter().enumerate().take(grid.ndim) {
        let axis = Axis::new(grid.n[a], grid.o[a], grid.d[a]).label(name).unit("m");
        output.set_axis(a + 1, &axis);
    }
    if !names.is_empty() {
        let axis = Axis::new(names.len(), 0.0, 1.0).label(&names.join(" "));
        output.set_axis(grid.ndim + 1, &axis);
    }
    output.end_axes(grid.ndim + usize::from(!names.is_empty()));
}

/// Bytes of the medium, which the groups of a process share, and of what each group has: fields and the gradient.
fn needed(padded: &Padded, class: Symmetry) -> [f64; 2] {
    let numbers = match (padded.ndim(), class) {
        (3, _) => [12 + 9, 9 + 9 + 12 + 9],
        _ => [6 + 4, 5 + 5 + 6 + 5],
    };
    numbers.map(|numbers| (numbers * padded.cells() * size_of::<f32>()) as f64)
}
