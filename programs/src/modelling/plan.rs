//! What a run will be: stability, dispersion, memory and time, before the first step.

pub mod ranks;

use super::machine::{Engine, Machine, free};
use super::memory_check::MemoryCheck;
use super::model::words;
use super::world::World;
use super::{Run, cell_words};
use anyhow::bail;
use kernels::boundary::one_way::Form;
use kernels::device::gpu::Gpu;
use kernels::grid::Padded;
use kernels::medium::{Coefficients, Findings, Symmetry};
use kernels::methods::displacement;
use kernels::stability::{BadCell, Band, Extremes, dominant_frequency, points_per_wavelength};
use rsf_io::Job;
use std::sync::Arc;

/// Points per shortest wavelength below which a warning is due.
const COARSE: f64 = 5.0;
/// Ratio of neighbouring densities from which the limit of single cells is no longer the whole truth.
const JUMP: f32 = 1.2;
/// Share of that limit which is safe all the same (density ratio 4 at the fastest cells).
const SAFE: f64 = 0.8;
/// Steps from which growth of the published one-way condition can be seen.
const LONG: usize = 2000;
/// Series of the wavelet that are searched for their band.
const SERIES: usize = 64;

/// What one look at the model and the wavelet found.
pub struct Report {
    extremes: Extremes,
    /// The class whose kernels run: the model's own, or the wider one of `sym=`.
    pub class: Symmetry,
    band: Band,
    /// Points per shortest wavelength.
    points: f64,
}

/// What a run asks of its model.
pub struct Asked<'a> {
    /// The grid.
    pub padded: &'a Padded,
    /// Time step.
    pub dt: f32,
    /// The largest stable step as a share of the displacement scheme's.
    pub share: f64,
    /// What makes the step smaller, as [`kernels::Error::Unstable`] says it.
    pub cure: &'static str,
    /// Band of the sources.
    pub band: Band,
    /// Points per shortest wavelength below which a warning is due.
    pub coarse: f64,
    /// The files of the model.
    pub files: String,
}

/// What one look at the model found, with the limit of the scheme that runs; and points per shortest wavelength.
///
/// Refuses a medium that no run can use and an unstable time step.
pub fn judge(
    job: &Job,
    asked: &Asked<'_>,
    found: Result<Findings, BadCell>,
) -> anyhow::Result<(Extremes, f64)> {
    let padded = asked.padded;
    let Findings {
        mut extremes,
        density_jump: jump,
    } = match found {
        Ok(findings) => findings,
        Err(bad) => bail!(
            "{}: at {}: {}; values there: {}",
            asked.files,
            cell_words(padded, bad.cell),
            bad.fault,
            bad.values
        ),
    };
    extremes.dt_max *= asked.share;
    let dt = f64::from(asked.dt);
    if dt > extremes.dt_max * (1.0 + 1e-6) {
        let error = kernels::Error::Unstable {
            dt: asked.dt,
            limit: extremes.dt_max,
            cell: cell_words(padded, extremes.dt_cell),
            cure: asked.cure,
        };
        if job.choice("cfl")? == "error" {
            return Err(error.into());
        }
        job.warn(&error.to_string());
    }
    if jump > JUMP && dt > SAFE * extremes.dt_max {
        job.warn(&format!(
            "density changes by a factor {jump:.2} between neighbouring cells and dt is {:.0} % of the limit of single cells, {:.6e} s: at such jumps the true limit can lie up to a fifth lower; below {:.6e} s the run is safe",
            100.0 * dt / extremes.dt_max, extremes.dt_max, SAFE * extremes.dt_max
        ));
    }
    let spacing = padded.d()[..padded.ndim()].iter().copied().fold(0.0, f32::max);
    let points = points_per_wavelength(extremes.slowest, asked.band.max, f64::from(spacing));
    if points < asked.coarse {
        job.warn(&format!(
            "only {points:.1} points per shortest wavelength (slowest wave {:.4} at {}, highest frequency {:.4}): below {} the waves disperse; refine the grid or lower the frequency",
            extremes.slowest, cell_words(padded, extremes.slowest_cell), asked.band.max, asked.coarse
        ));
    }
    Ok((extremes, points))
}

/// Judges a run of the displacement method.
pub fn examine(job: &Job, run: &Run, found: Result<Findings, BadCell>) -> anyhow::Result<Report> {
    let band = wavelet_band(run);
    let asked = Asked {
        padded: &run.padded,
        dt: run.shot.dt,
        share: 1.0,
        cure: "resample the wavelet to d3",
        band,
        coarse: COARSE,
        files: format!("ccc={} den={}", named(job, "ccc"), named(job, "den")),
    };
    let (extremes, points) = judge(job, &asked, found)?;
    let class = class(job, extremes.symmetry, run.padded.ndim())?;
    warn_of_growth(job, run, f64::from(run.shot.dt) / extremes.dt_max);
    Ok(Report {
        extremes,
        class,
        band,
        points,
    })
}

/// The class that `sym=` asks for; `None` for the model's own. In 2-D an anisotropic medium is VTI by any of its names.
pub fn asked(job: &Job, ndim: usize) -> anyhow::Result<Option<Symmetry>> {
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

/// The widest class whose kernels may run: the one that `sym=` asks for, else that of all models with such planes.
pub fn widest(job: &Job, run: &Run) -> anyhow::Result<Symmetry> {
    let asked = asked(job, run.padded.ndim())?;
    Ok(asked.unwrap_or(Symmetry::widest(run.coefficients)))
}

/// The coefficients that a run on processors reads: those of the files, and all where `sym=` asks for them.
pub fn read_as(job: &Job, run: &Run) -> anyhow::Result<Coefficients> {
    Ok(match widest(job, run)? {
        Symmetry::Triclinic => Coefficients::All,
        _ => run.coefficients,
    })
}

/// The class whose kernels run: the one asked for must hold the one `found` in the model.
fn class(job: &Job, found: Symmetry, ndim: usize) -> anyhow::Result<Symmetry> {
    let class = asked(job, ndim)?.unwrap_or(found);
    if !class.holds(found) {
        let wide = match found {
            Symmetry::Triclinic => "sym=tri",
            _ => "sym=ort",
        };
        bail!(
            "sym={} asks for the kernels of {class} media, but the model is {found}: use sym=auto or a wider class ({wide} takes every model)",
            job.choice("sym")?
        );
    }
    Ok(class)
}

/// The published one-way condition can grow: told where the table of the tests shows it.
fn warn_of_growth(job: &Job, run: &Run, share: f64) {
    let risky = run.time.n > LONG && (share > 0.6 || run.padded.nb < 32);
    if run.shot.absorbing && run.shot.one_way == Form::Box && risky {
        job.warn(&format!(
            "{} steps at {:.0} % of the stability limit with a frame of {} nodes: the published one-way condition can grow on such runs; oneway=upwind is stable, else take nb=48 or more and a smaller time step",
            run.time.n, 100.0 * share, run.padded.nb
        ));
    }
}

/// The file of a parameter as it was given.
pub fn named(job: &Job, key: &str) -> String {
    job.text(key).ok().flatten().unwrap_or_else(|| key.into())
}

/// The widest band of the wavelet's series.
fn wavelet_band(run: &Run) -> Band {
    let series = run.shot.sources.len() * run.padded.ndim();
    let mut widest = Band::default();
    for k in 0..series.min(SERIES) {
        let trace: Vec<f32> = run.shot.wavelet.iter().skip(k).step_by(series).copied().collect();
        let band = dominant_frequency(&trace, f64::from(run.shot.dt));
        if band.max > widest.max {
            widest = band;
        }
    }
    widest
}

/// The grid, in lines of `verb=y`.
pub fn grid_lines(job: &Job, p: &Padded) {
    let frame = kernels::grid::Grid {
        n: p.n,
        ..p.model.clone()
    };
    job.say(&format!(
        "grid {} nodes, with the frame of {} nodes {}",
        words(&p.model),
        p.nb,
        words(&frame)
    ));
    for (a, name) in kernels::grid::AXES.iter().enumerate().take(p.ndim()) {
        job.say(&format!(
            "  {name}: n={} o={} d={}",
            p.model.n[a], p.model.o[a], p.model.d[a]
        ));
    }
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
        run.time.n,
        run.shot.dt,
        e.dt_max,
        cell_words(p, e.dt_cell)
    ));
    job.say(&format!(
        "wavelet peak {:.4}, highest {:.4} 1/s: {:.1} points per shortest wavelength",
        report.band.peak, report.band.max, report.points
    ));
    job.say(&format!(
        "{} ({}, nbell={}), {} every {}{}",
        counted(run.shot.sources.len(), "source"),
        if run.shot.kind == displacement::SourceKind::Stress {
            "stress"
        } else {
            "force"
        },
        run.shot.nbell,
        counted(run.shot.receivers.len(), "receiver"),
        counted(run.shot.jdata, "step"),
        run.shot.snapshots.as_ref().map_or(String::new(), |s| format!(
            ", a snapshot every {}",
            counted(s.every, "step")
        ))
    ));
}

/// `wave speeds 1.6000 to 3.0000, 12 fluid cells`
pub fn speed_words(e: &Extremes) -> String {
    let fluids = match e.fluids {
        0 => String::new(),
        count => format!(", {count} fluid cells"),
    };
    format!("wave speeds {:.4} to {:.4}{fluids}", e.slowest, e.fastest)
}

/// `1 source`, `2 sources`
pub fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// `12.34 GB`, with more digits for what would be none.
pub fn gigabytes(bytes: f64) -> String {
    let digits = if bytes < 1e8 { 4 } else { 2 };
    format!("{:.digits$} GB", bytes / 1e9)
}

/// Looks at the memory before the first volume is read; all ranks call it. What does not fit the host is a warning: the
/// system would stop the run without a word. The answer is a sentence where GPUs of this rank have not the room; a class
/// that is not known yet may still be narrow enough. `held`: bytes of inputs that cannot be read a block at a time.
pub fn memory(
    job: &Job,
    run: &Run,
    machine: &Machine,
    (gpus, held, world): (&[Arc<Gpu>], u64, &World),
) -> anyhow::Result<Option<String>> {
    let room = world.agree(MemoryCheck::new(job, run, (&machine.slabs, gpus), world))?;
    let host = match gpus.is_empty() {
        true => displacement::bytes(
            &run.padded,
            &machine.slabs,
            machine.cpu.threads(),
            read_as(job, run)?,
        ),
        false => room.host_bytes(),
    };
    warn_of_memory(job, world, host as f64 + held as f64)?;
    let narrowest = asked(job, run.padded.ndim())?.unwrap_or(Symmetry::Isotropic);
    Ok(match room.shortage(narrowest)? {
        Some(shortage) => Some(format!("{shortage}{}", room.narrower(narrowest)?)),
        None => None,
    })
}

/// Warns of a run that the memory of a host does not hold, all ranks there together; all ranks call it, rank 0 speaks.
pub fn warn_of_memory(job: &Job, world: &World, needed: f64) -> anyhow::Result<()> {
    let free = free_memory().unwrap_or(f64::INFINITY);
    for (host, ranks, [needed, free]) in world.by_host(needed, free)? {
        let who = match world.is_alone() {
            true => "this run needs".into(),
            false => format!("{} on {host} together need", counted(ranks, "rank")),
        };
        let cure = match world.is_alone() {
            true => "use a smaller grid or nb=",
            false => "use more hosts, a smaller grid or nb=",
        };
        if needed > free {
            job.warn(&format!(
                "{who} {:.2} GB of memory and {:.2} GB are free: the system may stop it; {cure}",
                needed / 1e9,
                free / 1e9
            ));
        }
    }
    Ok(())
}

/// Bytes that the system could give, swap included, where it tells.
fn free_memory() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let kilobytes = |key: &str| -> Option<f64> {
        let line = text.lines().find(|line| line.starts_with(key))?;
        line.split_whitespace().nth(1)?.parse().ok()
    };
    Some(1024.0 * (kilobytes("MemAvailable:")? + kilobytes("SwapFree:").unwrap_or(0.0)))
}

/// The answer of `plan=y`; all ranks call it, rank 0 speaks. `held`: as for [`memory`].
pub fn print(
    job: &Job,
    run: &Run,
    report: &Report,
    machine: &Machine,
    (gpus, held, world): (&[Arc<Gpu>], u64, &World),
) -> anyhow::Result<()> {
    let shortage = world.agree(memory(job, run, machine, (gpus, held, world)))?;
    if let Some(shortage) = world.complaint(shortage)? {
        job.warn(&shortage);
    }
    summary(job, run, report);
    job.say(&format!("device {}", machine.describe(Some(report.class))));
    let p = &run.padded;
    let (lines, bytes) = world.agree(places((job, run, world), report, machine, gpus))?;
    let speed = match gpus.first() {
        Some(gpu) => displacement::gpu::calibrate(p, gpu, report.class).map(|r| r * gpus.len() as f64),
        None => displacement::calibrate(p.ndim(), &machine.cpu),
    };
    let speed = world.agree(speed.map_err(Into::into))?;
    let own: usize = machine.slabs.iter().map(|slab| slab.own.len()).sum();
    let mine = own as f64 * p.cells() as f64 / p.planes() as f64 / speed;
    let all = ranks::lines(world, machine, &lines, mine)?;
    all.lines.iter().for_each(|line| job.say(line));
    let bytes = world.sum(bytes)?;
    job.say(&format!(
        "memory {}, {:.1} bytes a point of the padded grid",
        gigabytes(bytes as f64),
        bytes as f64 / p.cells() as f64
    ));
    if !world.is_alone() {
        ranks::share_of_step(job, run, machine, (world, all.step))?;
    }
    job.say(&format!(
        "time about {:.1} s at {:.0} million points a second (a small grid timed now); nothing was run (plan=y)",
        all.step * run.time.n as f64,
        p.cells() as f64 / all.step / 1e6
    ));
    Ok(())
}

/// The slabs of this rank, a line each, and the bytes that they take.
fn places(
    (job, run, world): (&Job, &Run, &World),
    report: &Report,
    machine: &Machine,
    gpus: &[Arc<Gpu>],
) -> anyhow::Result<(Vec<String>, usize)> {
    let (p, slabs) = (&run.padded, &machine.slabs);
    let room = MemoryCheck::new(job, run, (slabs, gpus), world)?;
    let (mut lines, mut bytes) = (Vec::new(), 0);
    for (k, slab) in slabs.iter().enumerate() {
        let own = &slab.own;
        let place = match gpus.get(k) {
            None => String::new(),
            Some(gpu) => {
                let needed = room.bytes(k, report.class);
                bytes += needed;
                let (free, name) = free(gpu)?;
                format!(
                    " on {name}, {:.2} GB of {:.2} GB that are free",
                    needed as f64 / 1e9,
                    free as f64 / 1e9
                )
            }
        };
        lines.push(format!(
            "  slab {}: planes {} to {} ({}){place}",
            machine.before + k + 1,
            own.start,
            own.end - 1,
            own.len()
        ));
    }
    if gpus.is_empty() {
        bytes = displacement::bytes(p, slabs, machine.cpu.threads(), read_as(job, run)?);
    } else {
        lines.push(format!(
            "  beside them {:.2} GB of the host, pinned",
            room.host_bytes() as f64 / 1e9
        ));
    }
    Ok((lines, bytes))
}

/// The lines of `verb=y` after a run.
pub fn speed(job: &Job, run: &Run, (engine, bytes): (&Engine, usize), set_up: f64, seconds: f64) {
    let (steps, words) = (engine.steps(), engine.words());
    let rate = run.padded.cells() as f64 * steps as f64 / seconds.max(1e-9);
    job.say(&format!(
        "set-up {set_up:.2} s; {steps} steps in {seconds:.2} s: {:.1} Mpt/s, {:.2} GB/s effective ({words} words a point), {} of memory",
        rate / 1e6,
        rate * words as f64 * 4.0 / 1e9,
        gigabytes(bytes as f64)
    ));
}
