//! Describes and checks a velocity-stress run before its first step.

use super::memory::{self, bytes_of_gpu};
use super::{Run, accuracy, spreads};
use crate::idle;
use crate::modelling::model::cell_words;
use crate::modelling::plan::{
    Criteria, Judged, Report, band_words, end, grid_lines, judge, named, print_memory, print_time, ranks,
    speed_words,
};
use crate::modelling::survey::shot::Resources;
use crate::modelling::words::counted;
use crate::modelling::world::World;
use anyhow::Context;
use kernels::grid::AXES;
use kernels::grid::points::Point;
use kernels::medium::attenuation::Mechanisms;
use kernels::methods::velocity_stress::{
    self, Absorber, Frame, GHOST, Growing, bytes, contrast_step, stable_step,
};
use kernels::stability::{BadCell, Findings};
use rsf_io::Job;

/// The dominant frequency as a fraction of the highest frequency, as for a Ricker wavelet. It is not determined from
/// the spectrum, because the largest amplitude of a moment rate may lie at zero frequency.
const DOMINANT: f64 = 0.36;

/// If density contrasts reduce the stability limit to less than this fraction, an error names them as the
/// reason.
const LOWERED: f64 = 0.95;

/// The distance from a source, in cells, within which records depend on the spacing.
const NEAR: f32 = 0.9;

/// The number of points per shortest wavelength below which waves disperse visibly, for each order in space.
fn coarse(order: usize) -> f64 {
    match order {
        2 => 16.0,
        4 => 6.0,
        _ => 4.0,
    }
}

/// Judges the findings about the model, and sets the velocity and frequency of the absorbing layers.
pub fn examine(job: &Job, run: &mut Run, findings: Result<Findings, BadCell>) -> anyhow::Result<Report> {
    let (band, ndim) = (run.timing.band, run.padded.ndim());
    // Above the reference frequency of Q, waves are faster than the velocities of the model.
    let losses = run.shot.attenuation.as_ref();
    let quicker = losses.map_or(1.0, |losses| losses.quickening(ndim));
    let files = ["vp", "vs", "ccc", "den"].iter().filter(|key| job.has_input(key));
    let ratio = findings
        .as_ref()
        .map_or(1.0, |f| f64::from(f.densities[1] / f.densities[0]));
    if let Ok(findings) = &findings {
        accuracy::choose(run, findings, |order, family| {
            let contrast = contrast_step(order, family, ratio).unwrap_or(1.0);
            Ok(share(order, family)? * contrast / quicker)
        })?;
    }
    let shot = &mut run.shot;
    let contrast = contrast_step(shot.order, shot.family, ratio).unwrap_or(1.0);
    let criteria = Criteria {
        padded: &run.padded,
        dt: shot.dt as f32,
        share: share(shot.order, shot.family)? * contrast / quicker,
        holds_at_jumps: true,
        cure: match contrast < LOWERED {
            true => {
                "densities that differ as much as in air and rock lower the limit of order=4 and 8: \
                use order=2 with a step within its limit, or dt"
            }
            false => "use dt",
        },
        timing: run.timing,
        si: true,
        // The choice for an accuracy already takes the number of points into account.
        coarse: run.accuracy.map_or(coarse(shot.order), |_| 0.0),
        files: files
            .map(|key| format!("{key}={}", named(job, key)))
            .collect::<Vec<_>>()
            .join(" "),
    };
    let Judged {
        extremes,
        points,
        refused,
    } = judge(job, &criteria, findings)?;
    if let Absorber::Cpml(layer) = &mut shot.frame.absorber {
        layer.fastest = extremes.fastest * quicker;
        if layer.frequency == 0.0 {
            layer.frequency = DOMINANT * band.max;
        }
    }
    Ok(Report {
        class: extremes.symmetry,
        extremes,
        band,
        points,
        refused,
    })
}

/// If waves would grow in the layers, makes the frame a sponge and warns. All ranks call it, each with the findings
/// about its part of the medium.
pub fn layers_that_grow(
    job: &Job,
    run: &mut Run,
    mine: Option<Growing>,
    world: &World,
) -> anyhow::Result<()> {
    let words = mine.map(|([z, x, y], [a, b])| [z, x, y, a, b].map(|n| n as u64));
    let all = world.numbers(words.as_ref().map_or(&[], |words| &words[..]))?;
    let read = |words: &Vec<u64>| -> Option<Growing> {
        let [z, x, y, a, b] = <[u64; 5]>::try_from(words.as_slice()).ok()?.map(|n| n as usize);
        Some(([z, x, y], [a, b]))
    };
    if let Some((cell, [a, b])) = all.iter().filter_map(read).min_by_key(Frame::order) {
        run.shot.frame.absorber = Absorber::Sponge(job.double("edge")?);
        job.warn(&format!(
            "CPML would be unstable in this anisotropic medium: at {} a wave in the plane of {} and {} carries its energy backwards (Becache et al. 2003); the frame is a sponge instead, which needs nb= of 20 or more",
            run.padded.describe(cell), AXES[a], AXES[b]
        ));
    } else if job.choice("absorb")? == "cpml" {
        idle::warn(job, &["edge"], "with absorb=cpml, only with absorb=sponge");
    }
    Ok(())
}

/// The largest stable step as a fraction of the largest stable step of the displacement scheme.
fn share(order: usize, family: kernels::grid::stencil::Family) -> anyhow::Result<f64> {
    stable_step(order, family).with_context(|| format!("order={order}"))
}

/// Prints the lines of `verb=y` before a run.
pub fn summary(job: &Job, run: &Run, report: &Report) {
    let (p, e, shot) = (&run.padded, &report.extremes, &run.shot);
    grid_lines(job, p);
    job.say(&format!("medium {}, {}", e.symmetry, speed_words(e)));
    job.say(&format!(
        "{} steps of {} s, {:.0} % of the stability limit {:.6e} s (set by {})",
        shot.nt,
        shot.dt,
        100.0 * shot.dt / e.dt_max,
        e.dt_max,
        cell_words(p, e.dt_cell)
    ));
    job.say(&format!(
        "sources {}: {:.1} points per shortest wavelength, order {}",
        band_words(report.band, "Hz"),
        report.points,
        shot.order
    ));
    if let Some(accuracy) = &run.accuracy {
        accuracy.words(&run.shot).iter().for_each(|line| job.say(line));
    }
    if let Some(losses) = &shot.attenuation {
        let [low, high, reference] =
            [losses.band[0], losses.band[1], losses.reference].map(|f| f * run.timing.relaxation());
        job.say(&format!(
            "Q constant from {low:.4} to {high:.4} Hz by {}; the speeds of the model apply at {:.4} Hz",
            match losses.mechanisms {
                Mechanisms::Everywhere(n) => counted(n, "mechanism"),
                Mechanisms::Coarse => "coarse-grained mechanisms".into(),
            },
            reference
        ));
    }
    let faces: Vec<String> = shot.frame.cells[..p.ndim()]
        .iter()
        .flatten()
        .map(|n| n.to_string())
        .collect();
    if shot.frame.cells[..p.ndim()].iter().flatten().all(|n| *n == 0) {
        job.say(
            "no frame: the faces of the model, except a free surface, are rigid walls and reflect all waves",
        );
    }
    job.say(&format!(
        "{}{} of {} cells on the faces of z, x{}",
        if shot.surface { "free surface on top; " } else { "" },
        match shot.frame.absorber {
            Absorber::Cpml(_) => "CPML",
            Absorber::Sponge(_) => "sponge",
        },
        faces.join(","),
        if p.ndim() == 3 { ", y" } else { "" }
    ));
    let d = p.d();
    let near = |r: &&Point| {
        let mut points = shot.sources.iter().map(|source| source.point);
        points.any(|s| (0..p.ndim()).all(|a| (s[a] - r[a]).abs() < NEAR * d[a].abs()))
    };
    let beside = shot.receivers.iter().filter(near).count();
    if beside > 0 {
        job.say(&format!(
            "{} within a cell of a source: these records depend on the spacing, because a point source is \
            spread over neighbouring nodes",
            if beside == 1 {
                "1 receiver lies".into()
            } else {
                format!("{} lie", counted(beside, "receiver"))
            }
        ));
    }
    job.say(&format!(
        "{}, {} of {} every {}",
        counted(shot.sources.len(), "source"),
        counted(shot.receivers.len(), "receiver"),
        run.quantity,
        counted(run.jdata, "step")
    ));
}

/// Prints the plan of `plan=y` on rank 0; returns the expected seconds of the run. All ranks call it.
pub fn print(job: &Job, run: &Run, report: &Report, on: Resources<'_>) -> anyhow::Result<f64> {
    let (machine, world) = (on.machine, on.world);
    world.agree(spreads::check(&run.spreads, &run.padded))?;
    // Without GPUs this was checked before the model was read.
    if !on.gpus.is_empty() {
        memory::check(job, run, on)?;
    }
    summary(job, run, report);
    let slabs = &machine.slabs;
    let mine: Vec<String> = (0..slabs.len()).map(|k| machine.slab_words(k)).collect();
    let (p, class) = (&run.padded, report.class);
    job.say(&format!("device {}", machine.describe(Some(class))));
    let speed = match on.gpus.first() {
        Some(gpu) => velocity_stress::calibrate_device(&run.shot, p, class, (gpu, &machine.cpu))
            .map(|rate| rate * on.gpus.len() as f64),
        None => velocity_stress::calibrate(&run.shot, p, class, &machine.cpu),
    };
    let speed = world.agree(speed.map_err(Into::into))?;
    let own: usize = slabs.iter().map(|slab| slab.own.len()).sum();
    let seconds = own as f64 * p.cells() as f64 / p.planes() as f64 / speed;
    let all = ranks::lines(world, machine, &mine, seconds)?;
    all.lines.iter().for_each(|line| job.say(line));
    let bytes = match machine.has_gpus() {
        true => (0..slabs.len()).map(|k| bytes_of_gpu(run, class, k, on)).sum(),
        false => bytes(p, &run.shot, slabs, class),
    };
    let bytes = world.sum(bytes)?;
    if !world.is_alone() {
        let plane = GHOST * p.plane_len() * size_of::<f32>();
        ranks::exchange(job, &run.shot.travelling(p.ndim()), plane, world)?;
    }
    let whose = if machine.has_gpus() { " of GPUs" } else { "" };
    print_memory(job, p, whose, bytes);
    run.timing.words().iter().for_each(|words| job.say(words));
    print_time(job, p, all.step, run.shot.nt);
    world.agree(end(report.refused.as_ref()))?;
    Ok(all.step * run.shot.nt as f64)
}
