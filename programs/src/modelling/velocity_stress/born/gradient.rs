//! The misfit of a survey and its gradient: the common part of `sfvsgrad2d-gpu` and `sfvsgrad3d-gpu`.

use super::memory;
use super::params;
use super::set_up::{self, SetUp};
use super::stations::{Rest, Station, Ways, at_work, records_for};
use crate::modelling::checkpoint::Sums;
use crate::modelling::linearised::kept::{Stack, Summed};
use crate::modelling::linearised::records::Records;
use crate::modelling::linearised::{meet, survey};
use crate::modelling::observed::{self, Contribution};
use crate::modelling::shots::ShotResult;
use crate::modelling::world::World;
use anyhow::ensure;
use kernels::communicator::Communicator;
use kernels::misfit::{Misfit, Observed};
pub use params::{GRADIENT_2D as PROGRAM_2D, GRADIENT_3D as PROGRAM_3D};
use rayon::prelude::*;
use rsf_io::{Axis, Input, Job, Output, format_g};
use std::panic::resume_unwind;

/// Runs `sfvsgrad2d-gpu`.
pub fn run_2d(job: &mut Job, world: &World) -> anyhow::Result<()> {
    run(job, 2, world)
}

/// Runs `sfvsgrad3d-gpu`.
pub fn run_3d(job: &mut Job, world: &World) -> anyhow::Result<()> {
    run(job, 3, world)
}

fn run(job: &mut Job, ndim: usize, world: &World) -> anyhow::Result<()> {
    meet(job, world)?;
    if job.flag("plan")? {
        return SetUp::read(job, ndim, world)?.plan_survey(job, None, world);
    }
    let observed = world.agree(job.stdin().map_err(Into::into))?;
    let mut set_up = SetUp::read(job, ndim, world)?;
    let (compared, inputs) = world.agree(compared(job, &mut set_up, observed))?;
    let mut kept = set_up.kept(job, Vec::new(), world)?;
    let outputs = world.agree(Outputs::open(job, &set_up, world))?;
    if job.is_dry_run() {
        return Ok(outputs.map_or(Ok(()), |outputs| outputs.gradient.finish())?);
    }
    let stations = set_up.stations(job, world, Ways::Back(None))?;
    if job.flag("verb")? {
        set_up.summary(job);
        stations[0].print_summary(job);
    }
    let parameters = stations[0].born.perturbation_len();
    let estimates = compared.estimate.is_some();
    let mut results = GradientResults::new(&set_up, (parameters, estimates), kept.done());
    let records = world.agree(records_for(job, inputs, &set_up.run, &stations))?;
    kept.begin((job, set_up.model()), &records, &mut results, world)?;
    let (series, every) = (series(&set_up), compared.every);
    let work = |numbers: &[usize], station: &Station, ranks: &dyn Communicator| {
        compared.shots((numbers, station, ranks), &records, (&series, every))
    };
    let (clock, shots) = (kept.clock, kept.todo().len());
    let drift = clock.shots(job, shots, || {
        survey::sum(at_work(stations, &work, world), (&mut kept, &mut results), world)
    })?;
    memory::report_drift(job, drift);
    world.agree(match outputs {
        Some(outputs) => outputs.write(job, &set_up, results),
        None => Ok(()),
    })
}

/// The comparison of records; the data, and their weights if there are any.
fn compared(job: &mut Job, set_up: &mut SetUp, observed: Input) -> anyhow::Result<(Compared, Vec<Input>)> {
    set_up.take_data(job, &observed, "this program")?;
    let mut compared = Compared::read(job)?;
    if compared.estimate.is_some() {
        compared.every = set_up.sampling.steps(set_up, job.given("source"))?;
    }
    let weight = observed::weight(job, &observed)?;
    Ok((compared, [observed].into_iter().chain(weight).collect()))
}

/// The output files, on rank 0. All are created before the run, so that a file that cannot be written is
/// detected before the survey is computed.
struct Outputs {
    gradient: Output,
    misfit: Option<Output>,
    source: Option<Output>,
}

impl Outputs {
    /// Creates the files, on rank 0.
    fn open(job: &mut Job, set_up: &SetUp, world: &World) -> anyhow::Result<Option<Self>> {
        if !world.leads() {
            return Ok(None);
        }
        let mut gradient = job.output()?;
        set_up::model_axes(&mut gradient, &set_up.run.padded.model, &set_up.names());
        observed::name_gradient(&mut gradient);
        gradient.put_note(&rsf_io::version(), &set_up.machine().describe(None));
        let mut further = |key: &str| match job.given(key) && !job.is_dry_run() {
            true => job.tagged_output(key).map(Some),
            false => Ok(None),
        };
        Ok(Some(Self {
            gradient,
            misfit: further("misfit")?,
            source: further("source")?,
        }))
    }

    /// Writes the results.
    fn write(mut self, job: &Job, set_up: &SetUp, results: GradientResults) -> anyhow::Result<()> {
        observed::warn_of_silent_data(job, &results.contributions, &set_up.run.spreads.picks)?;
        job.say(&format!("misfit {}", format_g(results.misfits.iter().sum(), 9)));
        if let Some(file) = self.misfit {
            observed::write_misfits(file, &shots(set_up), &results.misfits)?;
        }
        if let Some(file) = self.source {
            write_sources(file, set_up, &results.sources)?;
        }
        self.gradient.write_f32(&results.stack.total())?;
        Ok(self.gradient.finish()?)
    }
}

/// The way in which records are compared.
struct Compared {
    kind: Misfit,
    /// The damping of the filter of an estimated source.
    estimate: Option<f64>,
    /// The number of steps from one time of the data to the next, if the source is estimated.
    every: usize,
}

/// The results: the gradient, summed over the shots, and the results of single shots.
struct GradientResults {
    stack: Stack,
    /// The misfit of each shot.
    misfits: Vec<f64>,
    /// The estimated time functions, `[shot][series][step]`.
    sources: Vec<f32>,
    /// The contributions of the data of the shots, as codes of [`Contribution`].
    contributions: Vec<u64>,
}

impl GradientResults {
    /// Results for `parameters` parameters, with time functions if they are estimated, after `done` shots.
    fn new(set_up: &SetUp, (parameters, estimates): (usize, bool), done: usize) -> Self {
        let shots = set_up.shots();
        let of_sources = match estimates {
            true => set_up.run.shot.series.len() * set_up.run.timing.steps,
            false => 0,
        };
        let numbers = [parameters, set_up.run.padded.model.n[0]];
        Self {
            stack: Stack::new("the gradient", numbers, done),
            misfits: vec![0.0; shots],
            sources: vec![0.0; shots * of_sources],
            contributions: vec![Contribution::Nonzero { faint: 0 }.code(); shots],
        }
    }
}

impl Summed for GradientResults {
    fn sums(&mut self) -> Sums<'_> {
        let sums = self.stack.sums();
        sums.with("the misfits", 1, &mut self.misfits)
            .with("whether data count", 1, &mut self.contributions)
            .with("the time functions", 1, &mut self.sources)
    }

    fn stack(&mut self) -> &mut Stack {
        &mut self.stack
    }

    fn note(&mut self, shot: usize, sources: &[f32], words: &[u64]) {
        let own = &mut self.sources[shot * sources.len()..][..sources.len()];
        own.copy_from_slice(sources);
        if let Some((&[misfit, contribution], sums)) = words.split_first_chunk() {
            self.misfits[shot] = f64::from_bits(misfit);
            self.contributions[shot] = contribution;
            self.stack.note_read(sums);
        }
    }
}

impl Compared {
    /// Reads `kind=` and `wavelet=`.
    fn read(job: &Job) -> anyhow::Result<Self> {
        let estimate = job.choice("wavelet")? == "estimate";
        for key in ["source", "damp"] {
            ensure!(
                estimate || !job.given(key),
                "{key}= requires wavelet=estimate, but here stf= or series= gives the time function: leave \
                out {key}="
            );
        }
        Ok(Self {
            kind: observed::kind(job)?,
            estimate: estimate.then(|| job.double("damp")).transpose()?,
            every: 1,
        })
    }

    /// Computes shots whose time functions are `series`, with data at one in `every` steps. The result of
    /// each is the gradient, the estimated time functions, the bits of the misfit, the contribution of the
    /// data, and checksums of the data.
    fn shots<'a>(
        &self,
        (numbers, station, ranks): (&[usize], &Station, &dyn Communicator),
        records: &Records,
        (series, every): (&[Vec<f32>], usize),
    ) -> anyhow::Result<Rest<'a>> {
        let values = station.born.values();
        let read = move || Self::observed((numbers, values), records);
        std::thread::scope(|scope| {
            // A GPU propagates the waves forward while the data are read, which are needed only at the end of this run.
            let mut given: Option<Reading<'_>> = Some(match station.on_gpu() {
                true => {
                    let reading = scope.spawn(read);
                    Box::new(move || reading.join().unwrap_or_else(|panic| resume_unwind(panic)))
                }
                false => {
                    let given = read()?;
                    Box::new(move || Ok(given))
                }
            });
            let (mut sums, mut judged, mut failed) = (Vec::new(), Vec::new(), None);
            let mut residuals = |modelled: Vec<Vec<f32>>| {
                let compared = match given.take().map(|given| given()) {
                    Some(Ok((compared, of_shots))) => {
                        sums = of_shots;
                        compared
                    }
                    other => {
                        failed = other.and_then(Result::err);
                        return Err(kernels::Error::setup("the data could not be read"));
                    }
                };
                let sampling = &station.sampling;
                let judge = |(modelled, observed): (Vec<f32>, &Observed<f32>)| {
                    let judged = self.judge(&sampling.data(modelled), observed, (series, every))?;
                    Ok(Judged {
                        residual: sampling.records(judged.residual),
                        ..judged
                    })
                };
                let all = station
                    .cpu
                    .install(|| modelled.into_par_iter().zip(&compared).map(judge).collect());
                let all: Vec<Result<Judged, kernels::Error>> = all;
                let mut residuals = Vec::new();
                for one in all {
                    let one = one?;
                    residuals.push(one.residual);
                    judged.push((one.misfit, one.sources));
                }
                Ok(residuals)
            };
            let gradients = station
                .born
                .gradients_among(ranks, &mut residuals, station.schedule()?);
            let gradients = match failed {
                Some(error) => return Err(error),
                None => gradients?,
            };
            let rest: Rest<'a> = Box::new(move || {
                let all = gradients.by_parameters().into_iter().zip(judged).zip(sums);
                let results = all.map(|((values, (misfit, own)), sums)| ShotResult {
                    values,
                    own,
                    words: [vec![misfit.to_bits()], sums].concat(),
                });
                results.collect()
            });
            Ok(rest)
        })
    }

    /// The data of shots with which records of `values` values are compared, and for each shot the contribution of
    /// its data and their checksums.
    fn observed((numbers, values): (&[usize], usize), records: &Records) -> anyhow::Result<Given> {
        let (mut compared, mut sums) = (Vec::new(), Vec::new());
        for &number in numbers {
            let (given, of_shot) = records.shot(number)?;
            let mut given = given.into_iter();
            let (records, weight) = (given.next().unwrap_or_default(), given.next());
            let contribution = Contribution::of(&records, weight.as_deref(), values);
            compared.push(Observed::new(values, records, weight)?);
            sums.push([vec![contribution.code()], of_shot].concat());
        }
        Ok((compared, sums))
    }

    /// The misfit of the records of a shot.
    fn judge(
        &self,
        modelled: &[f32],
        observed: &Observed<f32>,
        (series, every): (&[Vec<f32>], usize),
    ) -> Result<Judged, kernels::Error> {
        let (misfit, residual, sources) = match self.estimate {
            None => {
                let (misfit, residual) = self.kind.of(modelled, observed);
                (misfit, residual, Vec::new())
            }
            Some(damping) => {
                let (misfit, residual, filter) = self.kind.of_filtered(modelled, observed, damping)?;
                let sources = series.iter().flat_map(|series| filter.source(series, every));
                (misfit, residual, sources.collect())
            }
        };
        Ok(Judged {
            misfit,
            residual,
            sources,
        })
    }
}

/// The data of shots, and for each shot numbers for its result.
type Given = (Vec<Observed<f32>>, Vec<Vec<u64>>);

/// Returns the data of shots once they have been read.
type Reading<'a> = Box<dyn FnOnce() -> anyhow::Result<Given> + Send + 'a>;

/// The comparison of a shot's records with its data.
struct Judged {
    misfit: f64,
    /// The derivative of the misfit with respect to the records.
    residual: Vec<f32>,
    /// The estimated time functions.
    sources: Vec<f32>,
}

/// The time in steps at which the time functions of the sources begin.
fn first_step(set_up: &SetUp) -> f64 {
    let source = set_up.run.shot.sources.first();
    source.map_or(0.0, |source| source.action.time(0))
}

/// The time functions of the sources, in exact time.
fn series(set_up: &SetUp) -> Vec<Vec<f32>> {
    let series = &set_up.run.shot.series;
    match set_up.run.timing.exact {
        Some(exact) => exact.histories(series, first_step(set_up)),
        None => series.clone(),
    }
}

/// The shots as an axis.
fn shots(set_up: &SetUp) -> Axis {
    Axis {
        n: set_up.shots(),
        ..set_up.run.spreads.axis.clone()
    }
}

/// Writes the estimated time functions of every shot.
fn write_sources(mut file: Output, set_up: &SetUp, sources: &[f32]) -> anyhow::Result<()> {
    let shot = &set_up.run.shot;
    let first = first_step(set_up) * shot.dt;
    let times = Axis::new(set_up.run.timing.steps, first as f32, shot.dt as f32);
    file.set_axis(1, &times.label("t").unit("s"));
    file.set_axis(2, &Axis::new(shot.series.len(), 0.0, 1.0).label("series"));
    file.set_axis(3, &shots(set_up));
    file.end_axes(3);
    let quantity = "time functions of the sources, as series= takes them";
    observed::name(&mut file, "Time function", quantity);
    file.write_f32(sources)?;
    Ok(file.finish()?)
}
