//! The misfit of a survey and its gradient: what `sfvsgrad2d-gpu` and `sfvsgrad3d-gpu` share.

use super::params;
use super::set_up::{self, SetUp};
use crate::modelling::world::World;
use anyhow::ensure;
use kernels::methods::velocity_stress::Action;
use kernels::methods::velocity_stress::born::Born;
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
        return SetUp::read(job, ndim, world)?.plan_survey(job, world, Born::sizes);
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
    let mut output = job.output()?;
    set_up::model_axes(&mut output, &made.run.padded.model, &made.names());
    output.put_note(&rsf_io::version(), &made.machine.describe(None));
    if job.is_dry_run() {
        return Ok(output.finish()?);
    }
    let mut born = made.born(job, world)?;
    let ladder = set_up::ladder(job, made.run.shot.nt, (born.sizes(), born.room()))?;
    if job.flag("verb")? {
        made.summary(job);
        job.say(&set_up::way_back(&ladder, made.run.shot.nt, born.sizes()));
    }
    let (series, jdata) = (made.run.shot.series.clone(), made.run.shot.jdata);
    let (mut sum, mut found) = (vec![0.0f32; born.perturbation_len()], Found::default());
    made.each_shot(&mut born, |_, born| {
        let count = born.records() * born.values();
        let mut read = |file: &mut Input| -> anyhow::Result<Vec<f64>> {
            let values = set_up::finite(file, count)?;
            Ok(values.into_iter().map(f64::from).collect())
        };
        let wanted = read(&mut observed)?;
        let weight = weight.as_mut().map(&mut read).transpose()?;
        let wanted = Observed::new(born.values(), wanted, weight)?;
        let mut residual = |made: &[f32]| compared.records(made, &wanted, (&series, jdata), &mut found);
        let gradient = born.gradient(&mut residual, &ladder)?;
        sum.iter_mut().zip(gradient).for_each(|(sum, x)| *sum += x);
        Ok(())
    })?;
    job.say(&format!("misfit {}", format_g(found.misfits.iter().sum(), 9)));
    if job.given("misfit") {
        write_misfits(job, &made, &found.misfits)?;
    }
    if job.given("source") {
        write_sources(job, &made, &found.sources)?;
    }
    output.write_f32(&sum)?;
    Ok(output.finish()?)
}

/// How records are compared.
struct Compared {
    kind: Misfit,
    /// The damping of the filter of a source that is estimated.
    estimate: Option<f64>,
}

/// What is found beside the gradient, shot behind shot.
#[derive(Default)]
struct Found {
    misfits: Vec<f64>,
    /// Time functions that were estimated.
    sources: Vec<f32>,
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

    /// What waits for the records of a shot, whose time functions are `series`, one record in so many steps.
    fn records(
        &self,
        made: &[f32],
        wanted: &Observed,
        (series, jdata): (&[Vec<f32>], usize),
        found: &mut Found,
    ) -> Result<Vec<f32>, kernels::Error> {
        let made: Vec<f64> = made.iter().copied().map(f64::from).collect();
        let (misfit, waits) = match self.estimate {
            None => self.kind.of(&made, wanted),
            Some(damping) => {
                let (misfit, waits, filter) = self.kind.of_filtered(&made, wanted, damping)?;
                let sources = series.iter().flat_map(|series| filter.source(series, jdata));
                found.sources.extend(sources);
                (misfit, waits)
            }
        };
        found.misfits.push(misfit);
        Ok(waits.into_iter().map(|x| x as f32).collect())
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
