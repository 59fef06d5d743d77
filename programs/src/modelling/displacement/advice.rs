//! Warnings, before a run, about settings that the user may not have intended.

use super::Run;
use crate::idle;
use crate::modelling::units;
use crate::modelling::words::counted;
use kernels::boundary::free_surface::Surface;
use kernels::boundary::one_way::Form;
use kernels::methods::displacement::Shot;
use rsf_io::Job;

/// The least width of a frame, in rows, with which a free surface is accurate.
const LEAST: usize = 5;

/// The number of steps beyond which growth of the published one-way condition is visible.
const LONG: usize = 2000;

/// Warns of parameters that have no effect because their feature is off by default. With `free=n`, `dabc=n`
/// or `snap=n` on the command line the feature is off by choice, and there is no warning.
///
/// # Errors
/// Returns an error if the program does not declare these parameters.
pub fn idle(job: &Job) -> anyhow::Result<()> {
    let window = ["jsnap", "nqz", "nqx", "oqz", "oqx", "dqz", "dqx"];
    for (switch, words) in [
        ("free", &["surface"][..]),
        ("dabc", &["oneway"]),
        ("snap", &window),
    ] {
        if !job.flag(switch)? && !job.given(switch) {
            idle::warn(job, words, &format!("without {switch}=y"));
        }
    }
    Ok(())
}

/// Warns of a free surface in a narrow frame, where the nodes above the model carry no stress even with `free=n`.
pub fn narrow(job: &Job, shot: &Shot, nb: usize) {
    if shot.surface != Surface::None && nb < LEAST {
        job.warn(&format!(
            "free=y has {nb} nodes above the surface, and records at the surface are wrong by tens of \
            percent: give nb={LEAST} or more, or nb=48 dabc=y"
        ));
    }
}

/// Warns of waves that are faster than any in the Earth in any unit of length.
pub fn fast(job: &Job, fastest: f64) {
    if fastest > units::FASTEST {
        job.warn(&format!(
            "the fastest wave of the model has a speed of {fastest:.4e}: no wave in the Earth is faster than 14000 m/s; with axes in m, ccc= must be in Pa and den= in kg/m3"
        ));
    }
}

/// Warns of a wavelet that is zero everywhere.
pub fn silent(job: &Job, shot: &Shot) {
    if shot.wavelet.iter().all(|&w| w == 0.0) {
        job.warn(
            "the wavelet is zero everywhere, so the sources make no waves: check the file of the wavelet",
        );
    }
}

/// Warns of runs in which the published one-way condition can grow, according to the table of the tests. `share` is the
/// ratio of the time step to the largest stable one.
pub fn growth(job: &Job, run: &Run, share: f64) {
    let risky = run.time.n > LONG && (share > 0.6 || run.padded.nb < 32);
    if run.shot.absorbing && run.shot.one_way == Form::Box && risky {
        job.warn(&format!(
            "{} steps at {:.0} % of the stability limit with a frame of {} nodes: the published one-way \
            condition can grow in such runs, and oneway=upwind much later; with nb=24, or better 48, neither \
            grows",
            run.time.n,
            100.0 * share,
            run.padded.nb
        ));
    }
}

/// Warns of fluid next to rock: this scheme has all components on the same nodes, and its finite differences
/// extend across the contact.
pub fn fluids(job: &Job, run: &Run, fluids: usize) {
    let ndim = run.padded.ndim();
    if fluids > 0 && fluids < run.padded.model.cells() {
        job.warn(&format!(
            "the model has a fluid in {} and is solid elsewhere: waves at such an interface are wrong by \
            tens of percent in this program; sfvsfd{ndim}d-gpu, on a staggered grid, and sfsem{ndim}d-gpu, \
            on a mesh, model them correctly",
            counted(fluids, "cell")
        ));
    }
}
