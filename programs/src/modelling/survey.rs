//! RSF files of the acquisition: wavelet, sources, receivers.

use anyhow::bail;
use kernels::grid::points::Point;
use kernels::grid::{AXES, Padded};
use rsf_io::{Axis, Input, Job, format_g};

/// A wavelet as the engine takes it.
pub struct Wavelet {
    /// `[time][component][source]`
    pub values: Vec<f32>,
    /// The time axis.
    pub time: Axis,
}

/// Reads a wavelet after checking it against the sources and the dimension.
pub fn wavelet(mut input: Input, sources: &Input, ndim: usize) -> anyhow::Result<Wavelet> {
    let (ns, nc, time) = (input.axis(1).n, input.axis(2).n, input.axis(3));
    let points = sources.axis(2).n;
    let name = input.name();
    if ns != points {
        bail!(
            "wavelet {name} has n1={ns} sources but {} has n2={points} points: give one series a source",
            sources.name()
        );
    }
    if nc != ndim {
        let order = if ndim == 3 { "z, x, y" } else { "z, x" };
        bail!("wavelet {name} has n2={nc} components; a {ndim}-D run needs n2={ndim}: {order}");
    }
    if time.n == 0 {
        bail!("wavelet {name} has n3=0 time samples; at least one is needed");
    }
    if input.len() != (ns * nc) as u64 * time.n as u64 {
        bail!(
            "wavelet {name} has {} values; n1 x n2 x n3 = {ns} x {nc} x {} are allowed, no more axes",
            input.len(),
            time.n
        );
    }
    if !(time.d > 0.0 && time.d.is_finite()) {
        bail!(
            "wavelet {name} has d3={}: the time step must be a positive number",
            time.d
        );
    }
    let values: Vec<f32> = input.read_all_f32()?;
    if let Some(bad) = values.iter().position(|v| !v.is_finite()) {
        bail!(
            "wavelet {name} is not finite at time sample {} (value {})",
            bad / (ns * nc),
            values[bad]
        );
    }
    Ok(Wavelet { values, time })
}

/// Reads points: n1 = coordinates x[, y], z; n2 = how many. More axes are lines of further points, of which the first is
/// used, as Madagascar's programs do; a warning says so.
pub fn points(job: &Job, mut input: Input, ndim: usize) -> anyhow::Result<Vec<Point>> {
    let (coordinates, count) = (input.axis(1).n, input.axis(2).n);
    let name = input.name();
    if coordinates != ndim {
        let order = if ndim == 3 { "x, y, z" } else { "x, z" };
        bail!("{name} has n1={coordinates} coordinates a point; a {ndim}-D run needs n1={ndim}: {order}");
    }
    if count == 0 || input.is_empty() {
        bail!("{name} has no points; at least one is needed");
    }
    let all = input.len() / ndim as u64;
    if all > count as u64 {
        job.warn(&format!(
            "{name} holds {all} points, only those of its first line are used, n2={count}; `sfput n2={all} n3=1` makes them one line"
        ));
    }
    let mut values = vec![0.0f32; ndim * count];
    input.read_f32(&mut values)?;
    if let Some(bad) = values.iter().position(|v| !v.is_finite()) {
        bail!(
            "{name}: point {} has the coordinate {}",
            bad / ndim + 1,
            values[bad]
        );
    }
    let point = |p: &[f32]| {
        if ndim == 3 {
            [p[2], p[0], p[1]]
        } else {
            [p[1], p[0], 0.0]
        }
    };
    Ok(values.chunks(ndim).map(point).collect())
}

/// Refuses a point of the file `name` outside the model, where the frame changes what is recorded there. Half a cell is
/// left to rounding.
pub fn inside(padded: &Padded, points: &[Point], name: &str) -> anyhow::Result<()> {
    let (model, d, axes) = (&padded.model, padded.d(), 0..padded.ndim());
    let last = |a: usize| model.o[a] + (model.n[a] - 1) as f32 * d[a];
    let outside = |p: &Point| {
        axes.clone()
            .any(|a| p[a] < model.o[a] - 0.501 * d[a] || p[a] > last(a) + 0.501 * d[a])
    };
    let Some(bad) = points.iter().position(outside) else {
        return Ok(());
    };
    let at = axes.clone().map(|a| format!("{}={}", AXES[a], points[bad][a]));
    let shown = |x: f32| format_g(f64::from(x), 6);
    let allowed = axes
        .clone()
        .map(|a| format!("{} from {} to {}", AXES[a], shown(model.o[a]), shown(last(a))));
    bail!(
        "{name}: point {} at {} is outside the model, which has {}: move the point or enlarge the model (the frame of nb= is no place for points)",
        bad + 1,
        at.collect::<Vec<_>>().join(" "),
        allowed.collect::<Vec<_>>().join(", ")
    )
}

/// Refuses a source bell that the grid cannot hold wherever its source lies.
pub fn bell(padded: &Padded, nbell: usize) -> anyhow::Result<()> {
    let needed = 2 * nbell + 1;
    match (0..padded.ndim()).find(|&a| padded.n[a] < needed) {
        Some(a) => bail!(
            "nbell={nbell} spreads a source over {needed} nodes, and the grid has {} along {}, frame included: give a smaller nbell= (5 is usual) or a larger nb=",
            padded.n[a],
            AXES[a]
        ),
        None => Ok(()),
    }
}
