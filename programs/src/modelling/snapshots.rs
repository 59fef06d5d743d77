//! The parameters of records and snapshots: the steps between them, and the window of snapshots.

use anyhow::bail;
use kernels::grid::points::Snapshots;
use kernels::grid::{AXES, Padded};
use rsf_io::{Axis, Job};
use std::ops::Range;

/// Whether a run takes snapshots (`snap=`), with a warning if `wfl=`, their file, does not fit.
pub fn takes_snapshots(job: &Job) -> anyhow::Result<bool> {
    let takes = job.flag("snap")?;
    match (takes, job.given("wfl")) {
        (false, true) => job.warn("wfl= is given but snap=n: no snapshots are written; add snap=y"),
        (true, false) => job.warn("wfl= is not given: the snapshots are written to the file wfl"),
        _ => {}
    }
    Ok(takes)
}

/// The number of steps from one record (`jdata`) or snapshot (`jsnap`) to the next in a run of `nt` steps, with a
/// warning if only the one of the first step remains.
pub fn steps_between(job: &Job, key: &str, nt: usize) -> anyhow::Result<usize> {
    let given = job.int_opt(key)?.map(usize::try_from).transpose()?;
    let every = given.unwrap_or(nt.max(1));
    if every >= nt && nt > 1 {
        let what = if key == "jsnap" { "snapshot" } else { "record" };
        job.warn(&match given {
            Some(_) => format!("{key}={every} leaves only the {what} of the first step: the run has {nt} steps; give a smaller {key}="),
            None => format!("{key}= is not given, so the only {what} is the one of the first step: the run has \
            {nt} steps; give {key}=, the number of steps from one to the next"),
        });
    }
    Ok(every)
}

/// The snapshot window in padded cells and its axes, whose origins are nodes; `None` with `snap=n`. `whole`
/// is the window without `nq*=` and `oq*=`.
pub fn window(
    job: &Job,
    padded: &Padded,
    whole: [Range<usize>; 3],
    nt: usize,
) -> anyhow::Result<(Option<Snapshots>, Vec<Axis>)> {
    if !takes_snapshots(job)? {
        return Ok((None, Vec::new()));
    }
    let mut cells = [0..1, 0..1, 0..1];
    let mut axes = Vec::new();
    for a in 0..padded.ndim() {
        let (n_key, o_key) = (format!("nq{}", AXES[a]), format!("oq{}", AXES[a]));
        let n = job.int_opt(&n_key)?.map_or(Ok(whole[a].len()), usize::try_from)?;
        let d = padded.d()[a];
        // Positions are computed from the model's origin, because the origin of the frame is rounded.
        let model = Axis::new(1, padded.model.o[a], d);
        let place = |cell: f64| model.at(cell - padded.low[a] as f64);
        let o = job.float_opt(&o_key)?.unwrap_or(place(whole[a].start as f64));
        // Take the nearest node; an origin half-way between nodes (within a hundredth of a cell) is rounded
        // down, as in Madagascar's program.
        let first = ((f64::from(o) - f64::from(padded.o[a])) / f64::from(d) + 0.49).floor();
        if first < 0.0 || first + n as f64 > padded.n[a] as f64 {
            let last = padded.o[a] + (padded.n[a] - 1) as f32 * d;
            bail!(
                "snapshot window {n_key}={n} {o_key}={o} extends beyond the grid: along {} the grid has {} \
                nodes from {} to {last}, frame included",
                AXES[a],
                padded.n[a],
                padded.o[a]
            );
        }
        cells[a] = first as usize..first as usize + n;
        // This is the place of the data; an origin that differs from it only by rounding stays as requested.
        let node = place(first);
        let is_node = (o - node).abs() <= 0.01 * d.abs();
        axes.push(Axis::new(n, if is_node { o } else { node }, d));
    }
    let every = steps_between(job, "jsnap", nt)?;
    Ok((Some(Snapshots { every, window: cells }), axes))
}

/// Gives an axis of the snapshots the label and the unit of the axis `model` of the model, otherwise the label `name`.
pub fn named_as(axis: &mut Axis, model: &Axis, name: &str) {
    let nonempty = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    axis.label = nonempty(&model.label).or(Some(name.into()));
    axis.unit = nonempty(&model.unit);
}
