//! The misfit of a survey and its gradient: what `sfvsgrad2d-gpu` and `sfvsgrad3d-gpu` share.

use super::kept::Kept;
use super::memory::{self, WayBack};
use super::params;
use super::set_up::{self, SetUp};
use crate::modelling::checkpoint::Sums;
use crate::modelling::world::World;
use anyhow::ensure;
use kernels::methods::velocity_stress::Action;
use kernels::misfit::{Misfit, Observed};
pub use params::{GRADIENT_2D as PROGRAM_2D, GRADIENT_3D as PROGRAM_3D};
use rsf_io::{Axis, Input, Job, Output, format_g};

/// Runs `sfvsgrad2d-gpu`.
pub fn run_2d(job: &mut Job, world: &World) -> anyhow::Result<()> {
    run(job, 2, world)
}

/// Runs `sfvsgrad3d-gpu`.
pub fn run_3d(job: &mut Job, world: &World) -> anyhow::Result<()> {
    run(job, 3, world)
}

fn run(job: &mut Job, ndim: usize, world: &World) -> anyhow::Result<()> {
    if job.flag("plan")? {
        return SetUp::read(job, ndim, world)?.plan_survey(job, world, None);
    }
    let mut observed = job.stdin()?;
    let mut made = SetUp::read(job, ndim, world)?;
    made.check_data(&observed, "this program")?;
    let compared = Compared::read(job)?;
    let mut weight = match job.has_input("weight") {
        true => Some(job.input("weight")?),
        false => None,
    };
    if let Some(weight) = &weight {
        ensure!(
            weight.len() == observed.len(),
            "{} has {} values and the data {}: a weight has one for each",
            weight.name(),
            weight.len(),
            observed.len()
        );
    }
    let mut kept = Kept::open(job, &mut made, Vec::new(), world)?;
    let mut output = job.output()?;
    set_up::model_axes(&mut output, &made.run.padded.model, &made.names());
    output.put_note(&rsf_io::version(), &made.machine.describe(None));
    if job.is_dry_run() {
        return Ok(output.finish()?);
    }
    let mut born = made.born(job, world)?;
    let way = WayBack::choose(job, &mut born, made.run.shot.nt, None)?;
    if job.flag("verb")? {
        made.summary(job);
        way.tell(job);
    }
    let mut found = Found::new(&made, born.perturbation_len(), compared.estimate.is_some());
    kept.load(job, &made, found.sums())?;
    let count = born.records() * born.values();
    let mut inputs: Vec<&mut Input> = [&mut observed].into_iter().chain(&mut weight).collect();
    let mut read = kept.pass(&mut inputs, (count, found.read[0]))?;
    let (series, jdata) = (made.run.shot.series.clone(), made.run.shot.jdata);
    made.each_shot(kept.done(), &mut born, |number, born| {
        let mut given = read.shot(&mut inputs, count)?.into_iter();
        let mut next = || given.next().map(|all| all.into_iter().map(f64::from).collect());
        let wanted = Observed::new(born.values(), next().unwrap_or_default(), next())?;
        let mut residual = |made: &[f32]| {
            let (misfit, waits) =
                compared.records(made, &wanted, (&series, jdata), found.sources_of(number))?;
            found.misfits[number] = misfit;
            Ok(waits)
        };
        let gradient = born.gradient(&mut residual, &way.ladder)?;
        found.sum.iter_mut().zip(gradient).for_each(|(sum, x)| *sum += x);
        found.read = [read.sum()];
        kept.behind(number, None, found.sums())
    })?;
    memory::tell_drift(job, &born);
    job.say(&format!("misfit {}", format_g(found.misfits.iter().sum(), 9)));
    if job.given("misfit") {
        write_misfits(job, &made, &found.misfits)?;
    }
    if job.given("source") {
        write_sources(job, &made, &found.sources)?;
    }
    output.write_f32(&found.sum)?;
    Ok(output.finish()?)
}

/// How records are compared.
struct Compared {
    kind: Misfit,
    /// The damping of the filter of a source that is estimated.
    estimate: Option<f64>,
}

/// What is found: the gradient, summed over the shots, and what stands beside it.
struct Found {
    sum: Vec<f32>,
    /// Numbers of a line of the model.
    line: usize,
    /// By shot.
    misfits: Vec<f64>,
    /// Time functions that were estimated, `[shot][series][step]`.
    sources: Vec<f32>,
    /// Checksum of the data that were read.
    read: [u64; 1],
}

impl Found {
    fn new(made: &SetUp, parameters: usize, estimates: bool) -> Self {
        let (shot, shots) = (&made.run.shot, made.shots());
        let of_sources = if estimates { shot.series.len() * shot.nt } else { 0 };
        Self {
            sum: vec![0.0; parameters],
            line: made.run.padded.model.n[0],
            misfits: vec![0.0; shots],
            sources: vec![0.0; shots * of_sources],
            read: [0],
        }
    }

    /// Room for the time functions of a shot.
    fn sources_of(&mut self, shot: usize) -> &mut [f32] {
        let numbers = self.sources.len() / self.misfits.len().max(1);
        &mut self.sources[shot * numbers..][..numbers]
    }

    /// What a state holds.
    fn sums(&mut self) -> Sums<'_> {
        Sums::default()
            .with("the gradient", self.line, &mut self.sum)
            .with("the misfits", 1, &mut self.misfits)
            .with("the time functions", 1, &mut self.sources)
            .with("the checksum of the data", 1, &mut self.read)
    }
}

impl Compared {
    /// What `kind=` and `wavelet=` say.
    fn read(job: &Job) -> anyhow::Result<Self> {
        let estimate = job.choice("wavelet")? == "estimate";
        for key in ["source", "damp"] {
            ensure!(
                estimate || !job.given(key),
                "{key}= goes with wavelet=estimate, and here the time function is what stf= or series= say: leave {key}= out"
            );
        }
        Ok(Self {
            kind: match job.choice("kind")? {
                "correlation" => Misfit::Correlation,
                "envelope" => Misfit::Envelope,
                _ => Misfit::Squares,
            },
            estimate: estimate.then(|| job.double("damp")).transpose()?,
        })
    }

    /// The misfit of a shot, whose time functions are `series`, one record in so many steps, and what waits for its records; `sources`
    /// gets the time functions that are estimated.
    fn records(
        &self,
        made: &[f32],
        wanted: &Observed,
        (series, jdata): (&[Vec<f32>], usize),
        sources: &mut [f32],
    ) -> Result<(f64, Vec<f32>), kernels::Error> {
        let made: Vec<f64> = made.iter().copied().map(f64::from).collect();
        let (misfit, waits) = match self.estimate {
            None => self.kind.of(&made, wanted),
            Some(damping) => {
                let (misfit, waits, filter) = self.kind.of_filtered(&made, wanted, damping)?;
                let estimated = series.iter().flat_map(|series| filter.source(series, jdata));
                sources
                    .iter_mut()
                    .zip(estimated)
                    .for_each(|(to, from)| *to = from);
                (misfit, waits)
            }
        };
        Ok((misfit, waits.into_iter().map(|x| x as f32).collect()))
    }
}

/// The shots as an axis.
fn shots(made: &SetUp) -> Axis {
    Axis {
        n: made.shots(),
        ..made.run.spreads.axis.clone()
    }
}

/// Writes the misfit of every shot.
fn write_misfits(job: &mut Job, made: &SetUp, misfits: &[f64]) -> anyhow::Result<()> {
    let mut file: Output = job.tagged_output("misfit")?;
    file.set_axis(1, &shots(made));
    file.set_rank(1);
    let values: Vec<f32> = misfits.iter().map(|&x| x as f32).collect();
    file.write_f32(&values)?;
    Ok(file.finish()?)
}

/// Writes the estimated time functions of every shot.
fn write_sources(job: &mut Job, made: &SetUp, sources: &[f32]) -> anyhow::Result<()> {
    let shot = &made.run.shot;
    let action = shot
        .sources
        .first()
        .map_or(Action::Force([0.0; 3]), |source| source.action);
    let mut file: Output = job.tagged_output("source")?;
    let first = action.time(0) * shot.dt;
    file.set_axis(
        1,
        &Axis::new(shot.nt, first as f32, shot.dt as f32)
            .label("t")
            .unit("s"),
    );
    file.set_axis(2, &Axis::new(shot.series.len(), 0.0, 1.0).label("series"));
    file.set_axis(3, &shots(made));
    file.set_rank(3);
    file.put_text("quantity", "time functions of the sources, as series= takes them");
    file.write_f32(sources)?;
    Ok(file.finish()?)
}
