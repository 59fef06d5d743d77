//! Predicts a run before its first step: stability, dispersion, memory and time.

pub mod ranks;

use super::exact_time::Timing;
use super::model::{cell_words, words};
use super::world::World;
use crate::modelling::words::{counted, sentence};
use anyhow::bail;
use kernels::grid::Padded;
use kernels::medium::Symmetry;
use kernels::stability::{BadCell, Band, Extremes, Findings, points_per_wavelength};
use rsf_io::Job;
pub use rsf_io::memory::{free as free_memory, gigabytes};

/// The ratio of neighbouring densities above which the stability limit of single cells may be too large.
const JUMP: f32 = 1.2;
/// The fraction of that limit that is safe for ratios up to [`SAFE_TO`] at the fastest cells; for larger ratios the
/// safe fraction decreases with the square root of the ratio.
const SAFE: f64 = 0.8;
const SAFE_TO: f64 = 4.0;

/// The number of points per shortest wavelength above which the units are doubtful, as for axes in km with
/// speeds in m/s.
const FINE: f64 = 500.0;
/// A step that exceeds its limit by this factor is probably in another unit.
const HOPELESS: f64 = 50.0;

/// Findings about the model and the sources.
pub struct Report {
    /// Speeds, stability limit and class of the model.
    pub extremes: Extremes,
    /// The class whose kernels run: the model's own, or a wider one.
    pub class: Symmetry,
    /// Band of the sources.
    pub band: Band,
    /// Points per shortest wavelength.
    pub points: f64,
    /// The reason why the run will be refused, with which its plan ends.
    pub refused: Option<String>,
}

/// Ends a complete plan, with an error if the run will be refused.
pub fn end(refused: Option<&String>) -> anyhow::Result<()> {
    refused.map_or(Ok(()), |refused| bail!("{refused}"))
}

/// The findings about the model, with the limit of the scheme that runs.
pub struct Judged {
    /// Speeds, stability limit and class of the model.
    pub extremes: Extremes,
    /// Points per shortest wavelength.
    pub points: f64,
    /// The reason why the run will be refused, which `plan=y` prints after memory and time.
    pub refused: Option<String>,
}

/// The frequencies of the sources in words; `unit` is the inverse of the unit of the time step.
pub fn band_words(band: Band, unit: &str) -> String {
    let Band { peak, max } = band;
    match (max > 0.0, peak > 0.0) {
        (false, _) => "silent".into(),
        (true, true) => format!("peak {peak:.4}, highest {max:.4} {unit}"),
        (true, false) => format!(
            "without a peak (a step or a pulse of one sign, strongest towards 0 {unit}), highest {max:.4} {unit}"
        ),
    }
}

/// The properties of a run by which its model is checked.
pub struct Criteria<'a> {
    /// The grid.
    pub padded: &'a Padded,
    /// Time step.
    pub dt: f32,
    /// The largest stable step as a fraction of the largest stable step of the displacement scheme.
    pub share: f64,
    /// Whether `share` also holds at jumps of density.
    pub holds_at_jumps: bool,
    /// Advice on how to make the step smaller, worded for [`kernels::Error::Unstable`].
    pub cure: &'static str,
    /// Band of the sources, and how they begin.
    pub timing: Timing,
    /// Whether all units are SI.
    pub si: bool,
    /// Points per shortest wavelength below which a warning is due.
    pub coarse: f64,
    /// The files of the model.
    pub files: String,
}

/// A number rounded down to tenths or, if it is small, rounded to one digit.
fn floored(x: f64) -> String {
    match x {
        0.1.. => format!("{:.1}", (10.0 * x).floor() / 10.0),
        _ => format!("{x:.0e}"),
    }
}

/// Checks the findings about the model. Refuses a medium that no run can use, and an unstable time step; a
/// plan (`plan=y`) refuses the latter only at its end.
pub fn judge(
    job: &Job,
    criteria: &Criteria<'_>,
    findings: Result<Findings, BadCell>,
) -> anyhow::Result<Judged> {
    let padded = criteria.padded;
    let Findings {
        mut extremes,
        density_jump: jump,
        ..
    } = match findings {
        Ok(findings) => findings,
        Err(bad) => bail!(
            "{}: at {}: {}; values there: {}",
            criteria.files,
            cell_words(padded, bad.cell),
            bad.fault,
            bad.values
        ),
    };
    extremes.dt_max *= criteria.share;
    let dt = f64::from(criteria.dt);
    let refused = unstable(job, criteria, &extremes)?;
    let safe = SAFE * (SAFE_TO / f64::from(jump)).sqrt().min(1.0);
    if !criteria.holds_at_jumps && jump > JUMP && dt > safe * extremes.dt_max {
        job.warn(&format!(
            "density changes by a factor {jump:.2} between neighbouring cells and dt is {:.0} % of the limit of single cells, {:.6e} s: at such jumps the true limit can be as low as {:.0} % of it; below {:.6e} s the run is safe",
            100.0 * dt / extremes.dt_max, extremes.dt_max, 100.0 * safe, safe * extremes.dt_max
        ));
    }
    let spacing = padded.d()[..padded.ndim()].iter().copied().fold(0.0, f32::max);
    let points = points_per_wavelength(extremes.slowest, criteria.timing.band.max, f64::from(spacing));
    if points < criteria.coarse {
        job.warn(&criteria.timing.jump().unwrap_or_else(|| format!(
            "only {} points per shortest wavelength (slowest wave {:.4} at {}, highest frequency {:.4}): below {} the waves disperse; refine the grid or lower the frequency",
            // The number is rounded down, so that it does not reach the bound.
            floored(points), extremes.slowest, cell_words(padded, extremes.slowest_cell), criteria.timing.band.max, criteria.coarse
        )));
    }
    if criteria.si {
        fine(job, points);
    }
    Ok(Judged {
        extremes,
        points,
        refused,
    })
}

/// Refuses a time step above the limit, or warns of it; for `plan=y`, which continues, it returns the message
/// of the refusal.
fn unstable(job: &Job, criteria: &Criteria<'_>, extremes: &Extremes) -> anyhow::Result<Option<String>> {
    let (dt, limit) = (f64::from(criteria.dt), extremes.dt_max);
    if dt <= limit * (1.0 + 1e-6) {
        return Ok(None);
    }
    let error = kernels::Error::Unstable {
        dt: criteria.dt,
        limit,
        cell: cell_words(criteria.padded, extremes.dt_cell),
        cure: criteria.cure,
    };
    if job.choice("cfl")? != "error" {
        job.warn(&sentence(&error));
        return Ok(None);
    }
    let units = if criteria.si { of_step(dt, limit) } else { "" };
    match job.flag("plan")? {
        true => Ok(Some(sentence(&error) + units)),
        false if criteria.si => bail!(sentence(&error) + units),
        false => Err(error.into()),
    }
}

/// A reminder of the units, which is appended to the message about a step far above its limit.
pub fn of_step(dt: f64, limit: f64) -> &'static str {
    match dt > HOPELESS * limit {
        true => ". Check the units: dt= must be in s, coordinates in m and speeds in m/s",
        false => "",
    }
}

/// A positive number rounded up to `digits` digits, so that the advice of a message is enough.
pub fn up(x: f64, digits: i32) -> f64 {
    let unit = 10f64.powi(x.log10().floor() as i32 + 1 - digits);
    (x / unit * (1.0 - 1e-9)).ceil() * unit
}

/// Warns of a grid that is far finer than the waves.
fn fine(job: &Job, points: f64) {
    if points > FINE && points.is_finite() {
        job.warn(&format!(
            "the shortest wavelength has {points:.0} points: check that the axes of the model are in m and \
            frequencies in Hz. Such a fine grid takes much time and gains nothing"
        ));
    }
}

/// The file of a parameter, as it was given.
pub fn named(job: &Job, key: &str) -> String {
    job.text(key).ok().flatten().unwrap_or_else(|| key.into())
}

/// Prints the grid for `verb=y`.
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

/// The wave speeds in words, as in `wave speeds 1.6000 to 3.0000, 12 fluid cells`.
pub fn speed_words(e: &Extremes) -> String {
    let fluids = match e.fluids {
        0 => String::new(),
        count => format!(", {count} fluid cells"),
    };
    format!("wave speeds {:.4} to {:.4}{fluids}", e.slowest, e.fastest)
}

/// Refuses a run for which a host has too little memory for all of its ranks together; with `plan=y` this is a warning.
/// It is also a warning if the memory is exceeded only by the second number, which the run may need, and not by the
/// first, which it needs in any case. `fits` describes the size that would fit into a fraction of the memory. All ranks
/// call it, and rank 0 prints.
pub fn check_host(
    job: &Job,
    world: &World,
    needed: [f64; 2],
    fits: impl Fn(f64) -> String,
) -> anyhow::Result<()> {
    let free = free_memory().unwrap_or(f64::INFINITY);
    let surely = world.by_host(needed[0], free)?;
    for ((host, ranks, [most, free]), (_, _, [least, _])) in
        world.by_host(needed[1], free)?.into_iter().zip(surely)
    {
        if most <= free {
            continue;
        }
        let (who, cure) = match world.is_alone() {
            true => ("this run needs".into(), fits(free / most)),
            false => (
                format!("{} on {host} together need", counted(ranks, "rank")),
                format!(
                    "{} on the same number of hosts, or use more hosts",
                    fits(free / most)
                ),
            ),
        };
        let words = |needed: f64| {
            format!(
                "{who} {:.2} GB of memory, but {:.2} GB are free",
                needed / 1e9,
                free / 1e9
            )
        };
        if least <= free {
            job.warn(&format!(
                "{} if the model is not isotropic: the system may stop it; {cure}",
                words(most)
            ));
        } else if job.flag("plan")? {
            job.warn(&format!("{}: it will be refused; {cure}", words(least)));
        } else {
            bail!("{}: the run was not started; {cure}", words(least));
        }
    }
    Ok(())
}

/// Words such as `a model of 650 x 650 x 650 points (z, x, y) with the same frame fits`, for a model whose
/// padded grid has at most this fraction of the cells of `p`.
pub fn smaller_grid(p: &Padded, share: f64) -> String {
    // The factor is a little smaller, because some memory does not shrink with the grid.
    let factor = 0.98 * share.powf(1.0 / p.ndim() as f64);
    let lengths = (0..p.ndim()).map(|axis| {
        let frame = (p.n[axis] - p.model.n[axis]) as f64;
        (factor * p.n[axis] as f64 - frame).floor()
    });
    let lengths: Vec<f64> = lengths.collect();
    if lengths.iter().any(|n| *n < 1.0) {
        return "use a smaller grid and a thinner frame (nb=)".into();
    }
    let words: Vec<String> = lengths.iter().map(|n| format!("{n:.0}")).collect();
    format!(
        "a model of {} points (z, x{}) with the same frame fits",
        words.join(" x "),
        if p.ndim() == 3 { ", y" } else { "" }
    )
}

/// Prints `memory 1.20 GB, 60.0 bytes per point of the padded grid`, from the `bytes` of all ranks; `whose` (such as `
/// of GPUs`) follows the first word.
pub fn print_memory(job: &Job, p: &Padded, whose: &str, bytes: usize) {
    job.say(&format!(
        "memory{whose} {}, {:.1} bytes per point of the padded grid",
        gigabytes(bytes as f64),
        bytes as f64 / p.cells() as f64
    ));
}

/// A number of seconds in words; from five minutes on also in minutes, hours or days.
pub fn span(seconds: f64) -> String {
    let (unit, name) = match seconds {
        ..300.0 => return format!("{seconds:.1} s"),
        ..7200.0 => (60.0, "minutes"),
        ..172_800.0 => (3600.0, "hours"),
        _ => (86_400.0, "days"),
    };
    format!("{seconds:.0} s ({:.1} {name})", seconds / unit)
}

/// The last line of `plan=y`: the time of `nt` steps of `step` seconds each.
pub fn print_time(job: &Job, p: &Padded, step: f64, nt: usize) {
    job.say(&format!(
        "time about {} at {:.0} million points per second (a small grid timed now); nothing was run (plan=y)",
        span(step * nt as f64),
        p.cells() as f64 / step / 1e6
    ));
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernels::grid::Grid;
    use kernels::medium::Symmetry;

    #[test]
    fn spans_have_units_that_are_easily_read() {
        for (seconds, words) in [
            (0.04, "0.0 s"),
            (12.34, "12.3 s"),
            (299.94, "299.9 s"),
            (300.0, "300 s (5.0 minutes)"),
            (7199.0, "7199 s (120.0 minutes)"),
            (7200.0, "7200 s (2.0 hours)"),
            (171_000.0, "171000 s (47.5 hours)"),
            (172_800.0, "172800 s (2.0 days)"),
        ] {
            assert_eq!(span(seconds), words);
        }
    }

    /// The advised numbers are sufficient, and rounding never makes insufficient numbers look sufficient.
    #[test]
    fn numbers_are_rounded_to_the_safe_side() {
        for (x, digits, expected) in [
            (245.76, 3, 246.0),
            (246.0, 3, 246.0),
            (0.012_31, 2, 0.013),
            (99.91, 3, 100.0),
            (1000.0, 1, 1000.0),
            (1001.0, 1, 2000.0),
        ] {
            assert!(
                (up(x, digits) / expected - 1.0).abs() < 1e-12,
                "{x}: {}",
                up(x, digits)
            );
        }
        let words = [3.99, 4.0, 0.19, 0.1, 0.042].map(floored);
        assert_eq!(words, ["3.9", "4.0", "0.1", "0.1", "4e-2"]);
    }

    /// A step at its limit has the right unit, however long it is; beyond fifty times the limit the message
    /// asks to check the units.
    #[test]
    fn hopeless_steps_have_a_question_about_their_unit() {
        assert_eq!(of_step(50.0, 1.0), "");
        assert!(of_step(50.1, 1.0).starts_with(". Check the units: dt= must be in s"));
        assert_eq!(of_step(1.0, 50.0), "");
    }

    /// In 2-D a quarter of the cells has sides of half the length, and in 3-D an eighth. The sides are a fiftieth
    /// shorter to leave memory for everything else, and the frame keeps its width.
    #[test]
    fn smaller_grids_have_that_share_of_the_cells() {
        let plane = Padded::new(&Grid::new_2d([100, 200], [0.0; 2], [1.0; 2]), 20);
        assert_eq!(
            smaller_grid(&plane, 0.25),
            "a model of 28 x 77 points (z, x) with the same frame fits"
        );
        let volume = Padded::new(&Grid::new_3d([100, 200, 300], [0.0; 3], [1.0; 3]), 10);
        // These numbers are 0.49 times 120, 220 and 320, less 20.
        assert_eq!(
            smaller_grid(&volume, 0.125),
            "a model of 38 x 87 x 136 points (z, x, y) with the same frame fits"
        );
        assert_eq!(
            smaller_grid(&plane, 0.08),
            "use a smaller grid and a thinner frame (nb=)"
        );
    }

    #[test]
    fn bands_and_speeds_are_described_in_words() {
        let words = |peak: f64, max: f64| band_words(Band { peak, max }, "Hz");
        assert_eq!(words(0.0, 0.0), "silent");
        assert_eq!(words(12.5, 40.25), "peak 12.5000, highest 40.2500 Hz");
        let pulse = words(0.0, 40.25);
        assert!(
            pulse.starts_with("without a peak (") && pulse.ends_with("towards 0 Hz), highest 40.2500 Hz"),
            "{pulse}"
        );
        let mut extremes = Extremes {
            dt_max: 1.0,
            dt_cell: 0,
            slowest: 1600.0,
            slowest_cell: 0,
            fastest: 3000.5,
            fastest_cell: 0,
            fluids: 0,
            symmetry: Symmetry::Isotropic,
        };
        assert_eq!(speed_words(&extremes), "wave speeds 1600.0000 to 3000.5000");
        extremes.fluids = 12;
        assert_eq!(
            speed_words(&extremes),
            "wave speeds 1600.0000 to 3000.5000, 12 fluid cells"
        );
    }
}
