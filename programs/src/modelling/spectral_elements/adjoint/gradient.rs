//! Gradients on meshes: the common part of `sfsemgrad2d-gpu` and `sfsemgrad3d-gpu`.

use super::compared::Compared;
pub use super::params::{GRADIENT_2D as PROGRAM_2D, GRADIENT_3D as PROGRAM_3D};
use super::sources::{BySources, SourceFiles};
use super::station::{Station, at_work};
use super::{Opened, Progress, target};
use crate::modelling::checkpoint::Sums;
use crate::modelling::linearised::kept::{Stack, Summed};
use crate::modelling::linearised::records::Records;
use crate::modelling::linearised::{meet, survey};
use crate::modelling::observed::{Contribution, name_gradient, warn_of_silent_data, write_misfits};
use crate::modelling::shots::ShotResult;
use crate::modelling::world::World;
use anyhow::ensure;
use rsf_io::{Axis, Job, Output, format_g};

/// Runs `sfsemgrad2d-gpu`.
pub fn run_2d(job: &mut Job, world: &World) -> anyhow::Result<()> {
    run::<2>(job, world)
}

/// Runs `sfsemgrad3d-gpu`.
pub fn run_3d(job: &mut Job, world: &World) -> anyhow::Result<()> {
    run::<3>(job, world)
}

fn run<const D: usize>(job: &mut Job, world: &World) -> anyhow::Result<()> {
    meet(job, world)?;
    if job.flag("plan")? {
        return Opened::<D>::read(job, world)?.plan(job, world, true);
    }
    let observed = world.agree(job.stdin().map_err(Into::into))?;
    let opened = Opened::<D>::read(job, world)?;
    let (compared, records) = world.agree(Compared::read(
        job,
        (&opened.run, opened.machines.len() > 1),
        observed,
    ))?;
    let by_sources = world.agree(BySources::read(job, &opened.run))?;
    let mut kept = opened.kept(job, Vec::new(), world)?;
    let outputs = world.agree(Outputs::open(job, &opened, by_sources.as_ref(), world))?;
    if job.is_dry_run() {
        return Ok(outputs.map_or(Ok(()), |outputs| outputs.gradient.finish())?);
    }
    let stations = opened.stations(job, true, world)?;
    let of_sources = by_sources
        .as_ref()
        .map_or(0, |by| by.numbers(&opened.run).iter().sum());
    let job: &Job = job;
    let mut results = GradientResults {
        stack: Stack::new("the gradient", opened.target.numbers(), kept.done()),
        misfits: vec![0.0; opened.shots()],
        sources: vec![0.0; opened.shots() * of_sources],
        lost: [0; 2],
        contributions: vec![Contribution::Nonzero { faint: 0 }.code(); opened.shots()],
        progress: Progress::new(job, opened.shots())?,
    };
    kept.begin((job, opened.run.sum), &records, &mut results, world)?;
    let work = |number: usize, station: &mut Station<D>| {
        shot(
            (&opened, station),
            (&compared, &records, number),
            by_sources.as_ref(),
        )
    };
    let (clock, shots) = (kept.clock, kept.todo().len());
    clock.shots(job, shots, || {
        survey::sum(at_work(stations, &work), (&mut kept, &mut results), world)
    })?;
    world.agree(match outputs {
        Some(outputs) => outputs.write(job, &opened, (results, by_sources.as_ref())),
        None => Ok(()),
    })
}

/// The result of a shot: its gradient and the derivatives with respect to the sources; then, as words, the bits of the
/// misfit, whether any of the data contribute, whether single precision has lost numbers of the gradient or of the
/// derivatives with respect to the sources, and checksums of the data.
fn shot<const D: usize>(
    (opened, station): (&Opened<D>, &mut Station<D>),
    (compared, records, number): (&Compared, &Records, usize),
    by_sources: Option<&BySources>,
) -> anyhow::Result<ShotResult> {
    let of_shot = compared.observed(records, number)?;
    let mut misfit_of_shot = 0.0;
    let judge = |records| {
        let (misfit, residual) = compared.judge(records, &of_shot);
        ensure!(
            misfit.is_finite(),
            "the misfit is {misfit}: check the amplitudes of the data and of the sources"
        );
        misfit_of_shot = misfit;
        Ok(residual)
    };
    let (gradient, sources) = station.derivatives(by_sources.is_some(), judge)?;
    let (values, lost) = opened
        .target
        .values(&gradient, &station.run, &opened.machine().cpu)?;
    let (own, lost_sources) = by_sources.map_or((Vec::new(), false), |by| by.of_shot(&station.run, &sources));
    let flags = [
        of_shot.contribution.code(),
        u64::from(lost),
        u64::from(lost_sources),
    ];
    Ok(ShotResult {
        values,
        own,
        words: [&[misfit_of_shot.to_bits()], &flags[..], &of_shot.sums].concat(),
    })
}

/// The sums over the shots so far.
struct GradientResults<'a> {
    stack: Stack,
    misfits: Vec<f64>,
    /// The derivatives with respect to the sources, shot by shot.
    sources: Vec<f32>,
    /// Whether single precision has lost numbers of the gradient, or of the derivatives with respect to the sources.
    lost: [u64; 2],
    /// The contributions of the data of the shots, as codes of [`Contribution`].
    contributions: Vec<u64>,
    progress: Option<Progress<'a>>,
}

impl Summed for GradientResults<'_> {
    fn sums(&mut self) -> Sums<'_> {
        let sums = self.stack.sums();
        sums.with("the misfits", 1, &mut self.misfits)
            .with("whether data count", 1, &mut self.contributions)
            .with("the derivatives by the sources", 1, &mut self.sources)
            .with("whether numbers are lost", 1, &mut self.lost)
    }

    fn stack(&mut self) -> &mut Stack {
        &mut self.stack
    }

    fn note(&mut self, shot: usize, sources: &[f32], words: &[u64]) {
        let own = &mut self.sources[shot * sources.len()..][..sources.len()];
        own.copy_from_slice(sources);
        let Some((&[misfit, contribution, lost, lost_sources], sums)) = words.split_first_chunk() else {
            return;
        };
        self.misfits[shot] = f64::from_bits(misfit);
        self.contributions[shot] = contribution;
        self.lost[0] |= lost;
        self.lost[1] |= lost_sources;
        self.stack.note_read(sums);
        if let Some(progress) = &mut self.progress {
            let words = format!("misfit {}, ", format_g(self.misfits[shot], 6));
            progress.report(shot, &words);
        }
    }
}

/// The output files, on rank 0. All are created before the run, so that a file that cannot be written is
/// detected before the survey is computed.
struct Outputs {
    gradient: Output,
    misfit: Option<Output>,
    sources: Option<SourceFiles>,
}

impl Outputs {
    /// Creates the files, on rank 0.
    fn open<const D: usize>(
        job: &mut Job,
        opened: &Opened<D>,
        by_sources: Option<&BySources>,
        world: &World,
    ) -> anyhow::Result<Option<Self>> {
        if !world.leads() {
            return Ok(None);
        }
        let mut gradient = job.output()?;
        opened.target.head(&mut gradient);
        name_gradient(&mut gradient);
        gradient.put_note(&rsf_io::version(), &opened.machine().describe(None));
        let dry = job.is_dry_run();
        Ok(Some(Self {
            gradient,
            sources: match by_sources {
                Some(by) if !dry => Some(by.open(job, &opened.run)?),
                _ => None,
            },
            misfit: match job.given("misfit") && !dry {
                true => Some(job.tagged_output("misfit")?),
                false => None,
            },
        }))
    }

    /// Writes the results.
    fn write<const D: usize>(
        self,
        job: &Job,
        opened: &Opened<D>,
        (results, by_sources): (GradientResults<'_>, Option<&BySources>),
    ) -> anyhow::Result<()> {
        let spreads = &opened.run.spreads;
        warn_of_silent_data(job, &results.contributions, &spreads.picks)?;
        job.say(&format!("misfit {}", format_g(results.misfits.iter().sum(), 9)));
        target::write(job, self.gradient, &results.stack.total(), results.lost[0] != 0)?;
        if let (Some(files), Some(by)) = (self.sources, by_sources) {
            files.write(
                job,
                by.numbers(&opened.run),
                (&results.sources, results.lost[1] != 0),
            )?;
        }
        let Some(file) = self.misfit else { return Ok(()) };
        let shots = Axis {
            n: results.misfits.len(),
            ..spreads.axis.clone()
        };
        write_misfits(file, &shots, &results.misfits)
    }
}
