//! What a user may have meant otherwise: told before the run, which goes on.

use super::Run;
use crate::idle;
use crate::modelling::words::counted;
use kernels::boundary::free_surface::Surface;
use kernels::boundary::one_way::Form;
use kernels::methods::displacement::Shot;
use rsf_io::Job;

/// Rows of a frame from which on a free surface is one.
const LEAST: usize = 5;

/// Steps from which growth of the published one-way condition can be seen.
const LONG: usize = 2000;

/// Warns of words that have no effect because what they belong to is off by default. A flow that gives `free=n`, `dabc=n` or `snap=n`
/// has chosen so, and hears nothing.
///
/// # Errors
/// A program without these words.
pub fn idle(job: &Job) -> anyhow::Result<()> {
    let window = ["jsnap", "nqz", "nqx", "oqz", "oqx", "dqz", "dqx"];
    for (switch, words) in [
        ("free", &["surface"][..]),
        ("dabc", &["oneway"]),
        ("snap", &window),
    ] {
        if !job.flag(switch)? && !job.given(switch) {
            idle::tell(job, words, &format!("without {switch}=y"));
        }
    }
    Ok(())
}

/// Warns of a free surface in the smallest frame, in which the rows above the model have no stress with `free=n` either.
pub fn narrow(job: &Job, shot: &Shot, nb: usize) {
    if shot.surface != Surface::None && nb < LEAST {
        job.warn(&format!(
            "free=y has {nb} rows above the surface, and what is recorded there is wrong by tens of percent: give nb={LEAST} or more, or nb=48 dabc=y"
        ));
    }
}

/// Warns of a wavelet without a single number that is not zero.
pub fn silent(job: &Job, shot: &Shot) {
    if shot.wavelet.iter().all(|&w| w == 0.0) {
        job.warn("the wavelet is zero everywhere: the source injects nothing");
    }
}

/// The published one-way condition can grow: told where the table of the tests shows it. `share` is the time step as a
/// share of the largest stable one.
pub fn growth(job: &Job, run: &Run, share: f64) {
    let risky = run.time.n > LONG && (share > 0.6 || run.padded.nb < 32);
    if run.shot.absorbing && run.shot.one_way == Form::Box && risky {
        job.warn(&format!(
            "{} steps at {:.0} % of the stability limit with a frame of {} nodes: the published one-way condition can grow on such runs; oneway=upwind grows much later; nb=24 or more, better 48, keeps both quiet",
            run.time.n, 100.0 * share, run.padded.nb
        ));
    }
}

/// Fluid beside rock, whose contact this scheme does not model: all components stand on the same nodes, and its differences reach across.
pub fn fluids(job: &Job, run: &Run, fluids: usize) {
    let ndim = run.padded.ndim();
    if fluids > 0 && fluids < run.padded.model.cells() {
        job.warn(&format!(
            "the model has a fluid in {}, the rest is solid: waves over such an interface are wrong by tens of percent here; sfvsfd{ndim}d-gpu, on a staggered grid, and sfsem{ndim}d-gpu, on a mesh, model them",
            counted(fluids, "cell")
        ));
    }
}
