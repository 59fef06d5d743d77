//! Sets up a linearised shot from its command line: the model, the devices, and the checks of its inputs.

use super::super::{ModellingParameters, Run, plan};
use super::operator::{OfModel, needed, operator};
use super::placing::{place, place_among};
use super::sampling::Sampling;
use super::stations::{Station, Ways};
use crate::modelling::linearised::kept::Kept;
use crate::modelling::machine::{Machine, at_the_same_time};
use crate::modelling::model::{Files, Fingerprint, IN_PLACE, Opened, shared_grid};
use crate::modelling::plan::{Report, end, free_memory, gigabytes};
use crate::modelling::shots::sum::most_nodes;
use crate::modelling::shots::{self, AHEAD};
use crate::modelling::survey::shot::{Method, sum_of_ranks};
use crate::modelling::words::counted;
use crate::modelling::world::World;
use anyhow::{Context, anyhow, bail};
use kernels::grid::{AXES, Grid};
use kernels::medium::{Coefficients, Symmetry};
use kernels::methods::velocity_stress::born::{ImageRequest, Parameters, RankPlanes};
use rsf_io::{Axis, Input, Job, Output};
use std::sync::Arc;

/// A linearised shot.
pub struct SetUp {
    /// The shot.
    pub run: Run,
    /// The processors of each group of this rank, and its GPUs, if there are any.
    pub machines: Vec<Machine>,
    /// The number of groups of all ranks on this host.
    pub sharing: usize,
    /// The linear map from records to data.
    pub sampling: Sampling,
    /// The parameters of the linearisation.
    parameters: Parameters,
    /// The opened model, until it is read.
    files: Option<Files>,
    /// The findings about the model.
    report: Option<Report>,
    /// A line about the memory of a GPU.
    of_gpu: Option<String>,
    /// The checksum of the part of the model that this rank reads, which is computed if states need it.
    fingerprint: Option<Arc<Fingerprint>>,
    /// The checksum of the model, once it is read, if states need it.
    checksum: u64,
}

impl SetUp {
    /// Reads parameters and small inputs and opens the model, to be linearised with respect to `wrt=`. All ranks call
    /// it.
    pub fn read(job: &mut Job, ndim: usize, world: &World) -> anyhow::Result<Self> {
        let read = Run::open(job, ndim, ModellingParameters::Absent);
        let read = read.and_then(|(run, files)| Ok((parameters(job, &files)?, run, files)));
        let (parameters, run, files) = world.agree(read)?;
        Self::of(job, (run, files), parameters, world)
    }

    /// Like [`Self::read`] but without `wrt=`, for a medium given by velocities or by stiffness planes.
    pub fn read_plain(job: &mut Job, ndim: usize, world: &World) -> anyhow::Result<Self> {
        let read = world.agree(Run::open(job, ndim, ModellingParameters::Absent))?;
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
            checksum: 0,
        };
        set_up.take(machines, job, world)?;
        Ok(set_up)
    }

    /// Opens the groups of devices, at most one for each shot.
    fn take(&mut self, mut machines: Vec<Machine>, job: &Job, world: &World) -> anyhow::Result<()> {
        let (groups, shots) = (machines.len(), self.shots());
        if groups > shots {
            job.warn(&format!(
                "{} are requested, but there {} only {}: the remaining groups are idle",
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

    /// The devices of the first group.
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

    /// Refuses an input that is not a perturbation of this model.
    pub fn check_perturbation(&self, input: &Input) -> anyhow::Result<()> {
        let (grid, names) = (&self.run.padded.model, self.names());
        let (last, cells) = (grid.ndim + 1, grid.cells());
        if input.axis(last).n != names.len() || input.len() != (cells * names.len()) as u64 {
            bail!(
                "{} has n{last}={} and {} values; adj=n takes a perturbation of the model, with its axes and \
                n{last}={} for {}: {} values",
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

    /// Whether the model consists of velocities.
    pub fn is_isotropic(&self) -> bool {
        matches!(self.files, Some(Files::Speeds(_)))
    }

    /// Opens the states of the survey, whose identity has these contents in addition to its shots; all ranks call it.
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

    /// The checksum of the model, once it is read, if states need it.
    pub fn model(&self) -> u64 {
        self.checksum
    }

    /// The number of shots of the survey.
    pub fn shots(&self) -> usize {
        self.run.spreads.count()
    }

    /// Reads the model and prepares the operator for each group of devices, with a reverse sweep if one is needed. A
    /// single shot is shared by the GPUs of several ranks. All ranks call it.
    pub fn stations(&mut self, job: &Job, world: &World, ways: Ways<'_>) -> anyhow::Result<Vec<Station>> {
        let shared = self.shots() == 1 && !world.is_alone() && self.machine().has_gpus();
        let opening = Machine::begin_to_open(&self.machines);
        let part = match shared {
            true => self.part(world)?,
            false => None,
        };
        let alone = World::alone();
        let mut stations = match &part {
            Some(part) => self.own_stations(job, ways, (Some(part), world))?,
            None => world.agree(self.own_stations(job, ways, (None, &alone)))?,
        };
        let _open = opening.join();
        let read = match part {
            Some(_) => world,
            None => &alone,
        };
        self.checksum = sum_of_ranks(read, self.fingerprint.clone())?;
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
        // Every group receives shots before any group receives more.
        placed.sort_by_key(|(batch, _)| *batch);
        Ok(placed.into_iter().map(|(_, station)| station).collect())
    }

    /// The part of the model that this rank needs for a shot that the GPUs of all ranks share; `None` if it needs all
    /// of it, for finite-difference weights that depend on the model, or if the grid cannot be divided.
    fn part(&self, world: &World) -> anyhow::Result<Option<RankPlanes>> {
        let devices = world.numbers(&[self.machine().gpus() as u64])?.concat();
        let devices: Vec<usize> = devices.into_iter().map(|count| count as usize).collect();
        if self.run.accuracy.is_some() {
            return Ok(None);
        }
        let parts = RankPlanes::of(&self.run.shot, &self.run.padded, &devices);
        Ok(parts.map(|mut parts| parts.swap_remove(world.ranks().rank())))
    }

    /// Reads the model, or the part of it that a rank needs, and creates the operator of each group, which has not been
    /// placed on a device yet. Ranks that need parts of the model call it together.
    fn own_stations(
        &mut self,
        job: &Job,
        ways: Ways<'_>,
        (part, world): (Option<&RankPlanes>, &World),
    ) -> anyhow::Result<Vec<Station>> {
        let Some(files) = self.files.take() else {
            bail!("internal error: the model is read twice");
        };
        let held = files.held();
        let volumes = files.volumes(self.run.padded.ndim(), self.fingerprint.clone());
        let of_model = OfModel {
            volumes: world.agree(volumes)?,
            held,
            parameters: self.parameters,
        };
        self.check_memory(ways, of_model.volumes.widest(), (part, world))?;
        let mut run = self.run.clone();
        let (born, report) = operator(job, (&mut run, self.machine()), &of_model, (part, world))?;
        drop(of_model);
        // Frame and finite-difference weights depend on the model, which is known now.
        self.run.adopt(&run);
        self.report = Some(report);
        let of = (self.shots(), self.sampling.clone());
        let cpu = world.agree(self.machine().cpu.another().map_err(Into::into))?;
        let mut stations = vec![Station::new(run, (born, cpu), of)];
        for machine in &self.machines[1..] {
            stations.push(stations[0].another(&machine.cpu)?);
        }
        Ok(stations)
    }

    /// Refuses a run if the memory of this host or of another host is too small.
    fn check_memory(
        &self,
        ways: Ways<'_>,
        class: Symmetry,
        (part, world): (Option<&RankPlanes>, &World),
    ) -> anyhow::Result<()> {
        let [shared, each] = needed(&self.run.padded, class);
        let free = free_memory().unwrap_or(f64::INFINITY);
        let needed = match part.filter(|_| !world.leads()) {
            None => each + (shared + self.of_sums(ways)) / self.machines.len() as f64,
            Some(part) => (each + shared) * part.prepared.len() as f64 / self.run.padded.planes() as f64,
        };
        let (needed, sharing) = match part {
            None => (self.sharing as f64 * needed, self.sharing),
            Some(_) => {
                let hosts = world.by_host(needed, free)?;
                let here = hosts.iter().find(|(name, ..)| name == world.ranks().host());
                here.map_or((needed, 1), |(_, ranks, [needed, _])| (*needed, *ranks))
            }
        };
        let who = if part.is_some() { "rank" } else { "group" };
        world.agree(match needed <= free {
            true => Ok(()),
            false => Err(anyhow!(
                "{} {} of memory in addition to the reverse sweep, but only {} are free: use {}a smaller grid or nb=",
                match sharing {
                    1 => "the operator needs".into(),
                    count => format!("{count} {who}s on this host need"),
                },
                gigabytes(needed),
                gigabytes(free),
                if sharing > 1 {
                    format!("fewer {who}s, ")
                } else {
                    String::new()
                }
            )),
        })
    }

    /// The number of bytes of the sums over shots, including results that are not yet added.
    fn of_sums(&self, ways: Ways<'_>) -> f64 {
        let cells = self.run.padded.model.cells();
        let numbers = match ways {
            Ways::Forward => return 0.0,
            Ways::Back(None) => self.names().len() * cells,
            Ways::Back(Some(request)) => request.numbers(cells),
        };
        let most = match self.shots() {
            1 => 1,
            shots => most_nodes(shots) + shots.min((AHEAD + 1) * self.machines.len()),
        };
        (most * numbers * size_of::<f32>()) as f64
    }

    /// Prints the plan of `plan=y` for a survey: the reverse sweep of one shot, with images if they are
    /// requested, and the time of all shots. All ranks call it.
    pub fn plan_survey(
        mut self,
        job: &Job,
        images: Option<&ImageRequest>,
        world: &World,
    ) -> anyhow::Result<()> {
        let ways = Ways::Back(images);
        let stations = self.stations(job, world, ways)?;
        self.summary(job);
        job.say(&format!("device {}", self.machine().describe(None)));
        stations[0].print_summary(job);
        self.print_shots(job, &stations[0], ways, world)
    }

    /// Prints the last line of `plan=y`; all ranks call it.
    pub fn print_shots(
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
        world.agree(end(self
            .report
            .as_ref()
            .and_then(|report| report.refused.as_ref())))
    }

    /// Prints the lines of `verb=y`.
    pub fn summary(&self, job: &Job) {
        if let Some(report) = &self.report {
            plan::summary(job, &self.run, report);
        }
        job.say(&format!("linearised by {}", self.names().join(" ")));
        self.sampling.print_summary(job);
        self.run.timing.words().iter().for_each(|words| job.say(words));
        if let Some(words) = &self.of_gpu {
            job.say(words);
        }
    }
}

/// The parameters of the linearisation that `wrt=` names.
fn parameters(job: &Job, files: &Files) -> anyhow::Result<Parameters> {
    Ok(match (job.choice("wrt")?, files) {
        ("ccc,rho", _) => Parameters::Stiffness,
        (_, Files::Stiffness(_)) if job.given("wrt") => bail!(
            "wrt={} with ccc=: a medium of stiffness planes is linearised with respect to them; give wrt=ccc,rho",
            job.choice("wrt")?
        ),
        (_, Files::Stiffness(_)) if files.shears_stand(IN_PLACE) => bail!(
            "ccc= has shears=staggered in its header: its shear stiffnesses are half a cell beyond the \
            nodes, but this program is linear in stiffnesses on the nodes; make the model with average=n or \
            sfstiffness"
        ),
        (_, Files::Stiffness(_)) => Parameters::Stiffness,
        ("lambda,mu,rho", _) => Parameters::Lame,
        ("ip,is,rho", _) => Parameters::Impedances,
        _ => Parameters::Speeds,
    })
}

/// Gives an output the axes of the model, followed by an axis with these names, if there are any.
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
