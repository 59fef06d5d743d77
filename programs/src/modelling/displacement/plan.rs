//! Checks and describes a displacement run before the first step.

use super::memory::{MemoryCheck, host, shortage};
use super::{Run, advice};
use crate::modelling::machine::{Machine, free};
use crate::modelling::model::cell_words;
use crate::modelling::plan::{
    Criteria, Judged, Report, band_words, end, grid_lines, judge, named, print_memory, print_time, ranks,
    speed_words,
};
use crate::modelling::survey::shot::Resources;
use crate::modelling::words::counted;
use anyhow::bail;
use kernels::medium::{Coefficients, Symmetry};
use kernels::methods::displacement::GHOST;
use kernels::methods::displacement::{self, SourceKind};
use kernels::stability::{BadCell, Findings};
use rsf_io::Job;

/// The number of points per shortest wavelength below which a warning is due.
const COARSE: f64 = 5.0;

/// Checks the findings about the model: stability, dispersion and symmetry class.
pub fn examine(job: &Job, run: &Run, findings: Result<Findings, BadCell>) -> anyhow::Result<Report> {
    let band = run.timing.band;
    let criteria = Criteria {
        padded: &run.padded,
        dt: run.shot.dt,
        share: 1.0,
        holds_at_jumps: false,
        cure: "resample the wavelet to d3",
        timing: run.timing,
        si: false,
        coarse: COARSE,
        files: format!("ccc={} den={}", named(job, "ccc"), named(job, "den")),
    };
    if let Ok(Findings { extremes, .. }) = &findings {
        advice::fast(job, extremes.fastest);
    }
    let Judged {
        extremes,
        points,
        refused,
    } = judge(job, &criteria, findings)?;
    let class = class(job, extremes.symmetry, run.padded.ndim())?;
    advice::growth(job, run, f64::from(run.shot.dt) / extremes.dt_max);
    advice::fluids(job, run, extremes.fluids);
    Ok(Report {
        extremes,
        class,
        band,
        points,
        refused,
    })
}

/// The class that `sym=` requests; `None` for the class of the model. In 2-D `vti`, `hti` and `ort` all mean VTI.
pub fn requested_class(job: &Job, ndim: usize) -> anyhow::Result<Option<Symmetry>> {
    Ok(match job.choice("sym")? {
        "auto" => None,
        "iso" => Some(Symmetry::Isotropic),
        "tri" => Some(Symmetry::Triclinic),
        _ if ndim == 2 => Some(Symmetry::Vti),
        "vti" => Some(Symmetry::Vti),
        "hti" => Some(Symmetry::Hti),
        _ => Some(Symmetry::Orthorhombic),
    })
}

/// The widest class whose kernels may run: the class that `sym=` requests, otherwise the class of all models with these
/// planes.
pub fn widest(job: &Job, run: &Run) -> anyhow::Result<Symmetry> {
    let requested = requested_class(job, run.padded.ndim())?;
    Ok(requested.unwrap_or(Symmetry::widest(run.coefficients)))
}

/// The coefficients that a run on processors reads: the coefficients in the files, or all of them for `sym=tri`.
pub fn read_as(job: &Job, run: &Run) -> anyhow::Result<Coefficients> {
    Ok(match widest(job, run)? {
        Symmetry::Triclinic => Coefficients::All,
        _ => run.coefficients,
    })
}

/// The class whose kernels run. A requested class must contain that of the `model`.
fn class(job: &Job, model: Symmetry, ndim: usize) -> anyhow::Result<Symmetry> {
    let class = requested_class(job, ndim)?.unwrap_or(model);
    if !class.holds(model) {
        let wide = match model {
            Symmetry::Triclinic => "sym=tri",
            _ => "sym=ort",
        };
        bail!(
            "sym={} selects the kernels for {class} media, but the model is {model}: use sym=auto or a wider class ({wide} fits this model)",
            job.choice("sym")?
        );
    }
    Ok(class)
}

/// The lines of `verb=y` before a run.
pub fn summary(job: &Job, run: &Run, report: &Report) {
    let p = &run.padded;
    let e = &report.extremes;
    grid_lines(job, p);
    job.say(&format!(
        "medium {}{}, {}",
        e.symmetry,
        if report.class == e.symmetry {
            String::new()
        } else {
            format!(" (taken as {} for sym=)", report.class)
        },
        speed_words(e)
    ));
    let share = 100.0 * f64::from(run.shot.dt) / e.dt_max;
    job.say(&format!(
        "{} steps of {} s, {share:.0} % of the stability limit {:.6e} s (set by {})",
        run.steps,
        run.shot.dt,
        e.dt_max,
        cell_words(p, e.dt_cell)
    ));
    job.say(&format!(
        "wavelet {}: {:.1} points per shortest wavelength",
        band_words(report.band, "1/s"),
        report.points
    ));
    job.say(&format!(
        "{} ({}, nbell={}), {} every {}{}",
        counted(run.shot.sources.len(), "source"),
        if run.shot.kind == SourceKind::Stress {
            "stress"
        } else {
            "force"
        },
        run.shot.nbell,
        counted(run.shot.receivers.len(), "receiver"),
        counted(run.jdata, "step"),
        run.shot.snapshots.as_ref().map_or(String::new(), |s| format!(
            ", a snapshot every {}",
            counted(s.every, "step")
        ))
    ));
}

/// Prints the plan of `plan=y` and returns the expected seconds of the run. All ranks call it, and rank 0 prints.
pub fn print(job: &Job, run: &Run, report: &Report, on: Resources<'_>) -> anyhow::Result<f64> {
    let (machine, world) = (on.machine, on.world);
    // Without GPUs this was checked before the model was read.
    if !on.gpus.is_empty() {
        host(job, run, on)?;
    }
    let shortage = world.agree(shortage(job, run, on))?;
    if let Some(shortage) = world.complaint(shortage)? {
        job.warn(&shortage);
    }
    summary(job, run, report);
    job.say(&format!("device {}", machine.describe(Some(report.class))));
    let p = &run.padded;
    let (lines, bytes) = world.agree(places(job, run, report, on))?;
    let speed = match on.gpus.first() {
        Some(gpu) => displacement::gpu::calibrate(p, gpu, report.class).map(|r| r * on.gpus.len() as f64),
        None => displacement::calibrate(p.ndim(), &machine.cpu),
    };
    let speed = world.agree(speed.map_err(Into::into))?;
    let own: usize = machine.slabs.iter().map(|slab| slab.own.len()).sum();
    let mine = own as f64 * p.cells() as f64 / p.planes() as f64 / speed;
    let all = ranks::lines(world, machine, &lines, mine)?;
    all.lines.iter().for_each(|line| job.say(line));
    print_memory(job, p, "", world.sum(bytes)?);
    if !world.is_alone() {
        let piece = GHOST * p.plane_len() * size_of::<f32>();
        let hides = hidden_share(machine);
        ranks::share_of_step(job, (&[p.ndim()], piece), (all.step, hides), world)?;
    }
    run.timing.words().iter().for_each(|words| job.say(words));
    print_time(job, p, all.step, run.steps);
    world.agree(end(report.refused.as_ref()))?;
    Ok(all.step * run.steps as f64)
}

/// The fraction of a step that is spent on the interior of the thinnest slab.
fn hidden_share(machine: &Machine) -> f64 {
    let thinnest = machine.slabs.iter().map(|slab| slab.own.len()).min().unwrap_or(0);
    (1.0 - 2.0 * GHOST as f64 / thinnest.max(1) as f64).max(0.0)
}

/// A line for each slab of this rank, and the number of bytes that the slabs need.
fn places(job: &Job, run: &Run, report: &Report, on: Resources<'_>) -> anyhow::Result<(Vec<String>, usize)> {
    let (machine, memory) = (on.machine, MemoryCheck::new(run, on));
    let (mut lines, mut bytes) = (Vec::new(), 0);
    for k in 0..machine.slabs.len() {
        let place = match on.gpus.get(k) {
            None => String::new(),
            Some(gpu) => {
                let needed = memory.bytes(k, report.class);
                bytes += needed;
                let (free, name) = free(gpu)?;
                format!(
                    " on {name}, {:.2} GB of {:.2} GB that are free",
                    needed as f64 / 1e9,
                    free as f64 / 1e9
                )
            }
        };
        lines.push(machine.slab_words(k) + &place);
    }
    if on.gpus.is_empty() {
        bytes = displacement::bytes(&run.padded, &machine.slabs, &machine.cpu, read_as(job, run)?);
    } else {
        lines.push(format!(
            "  and {:.2} GB of the host, pinned",
            memory.host_bytes() as f64 / 1e9
        ));
    }
    Ok((lines, bytes))
}
