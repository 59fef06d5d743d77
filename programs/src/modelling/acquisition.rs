//! RSF files of the acquisition, for all methods.

use super::model::of_dimensions;
use anyhow::bail;
use kernels::grid::points::Point;
use kernels::grid::{AXES, Padded};
use rsf_io::{Input, Job, format_g};

/// Reads `count` finite numbers of an input, from number `first` (counted from 0) on.
pub fn finite(input: &mut Input, first: u64, count: usize) -> anyhow::Result<Vec<f32>> {
    let mut values = vec![0.0; count];
    if input.is_seekable() {
        input.read_f32_at(first, &mut values)?;
    } else {
        let passed = input.len() - input.remaining();
        input.skip(first.saturating_sub(passed))?;
        input.read_f32(&mut values)?;
    }
    if let Some(bad) = values.iter().position(|x| !x.is_finite()) {
        bail!(
            "{}: value {} is {}; all must be finite numbers",
            input.name(),
            first + bad as u64 + 1,
            values[bad]
        );
    }
    Ok(values)
}

/// Reads points: n1 = coordinates x[, y], z; n2 = number of points. Further axes are lines of points, of
/// which only the first is used, as in Madagascar's programs; a warning says so.
pub fn points(job: &Job, mut input: Input, ndim: usize) -> anyhow::Result<Vec<Point>> {
    let count = counted(&input, ndim)?;
    let all = input.len() / ndim as u64;
    if all > count as u64 {
        job.warn(&format!(
            "{} holds {all} points, but only the points of its first line are used, n2={count}; `sfput n2={all} n3=1` \
            makes them one line",
            input.name()
        ));
    }
    read(&mut input, ndim, count)
}

/// Reads the points of several shots: n1 = coordinates x[, y], z; n2 = points of a shot; all further axes are shots.
pub fn lines(mut input: Input, ndim: usize) -> anyhow::Result<Vec<Vec<Point>>> {
    let count = counted(&input, ndim)?;
    let all = usize::try_from(input.len() / ndim as u64)?;
    let points = read(&mut input, ndim, all)?;
    Ok(points.chunks(count).map(<[Point]>::to_vec).collect())
}

/// The number of points of a line.
fn counted(input: &Input, ndim: usize) -> anyhow::Result<usize> {
    let (coordinates, count) = (input.axis(1).n, input.axis(2).n);
    let name = input.name();
    if coordinates != ndim {
        let order = if ndim == 3 { "x, y, z" } else { "x, z" };
        let other = match (coordinates, ndim) {
            (2, 3) | (3, 2) => format!(
                " ({} takes points of n1={coordinates})",
                of_dimensions(coordinates)
            ),
            _ => String::new(),
        };
        bail!(
            "{name} has n1={coordinates} coordinates per point; a {ndim}-D run needs n1={ndim}: {order}{other}"
        );
    }
    if count == 0 || input.is_empty() {
        bail!("{name} has no points; at least one is needed");
    }
    Ok(count)
}

/// The next points.
fn read(input: &mut Input, ndim: usize, count: usize) -> anyhow::Result<Vec<Point>> {
    let name = input.name();
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

/// Refuses a point of the file `name` that lies outside the model, in the frame, where the boundaries affect
/// records. Half a cell is allowed for rounding.
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
        "{name}: point {} at {} is outside the model, which has {}: move the point or enlarge the model (points must not lie in the frame of nb=)",
        bad + 1,
        at.collect::<Vec<_>>().join(" "),
        allowed.collect::<Vec<_>>().join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernels::grid::Grid;

    #[test]
    fn points_may_lie_half_a_cell_outside_and_no_more() {
        let padded = Padded::new(&Grid::new_2d([11, 21], [100.0, -50.0], [10.0, 5.0]), 4);
        for (point, allowed) in [
            ([95.0, 0.0, 0.0], true),
            ([94.0, 0.0, 0.0], false),
            ([205.0, 0.0, 0.0], true),
            ([206.0, 0.0, 0.0], false),
            ([150.0, -52.5, 0.0], true),
            ([150.0, -53.0, 0.0], false),
            ([150.0, 52.5, 0.0], true),
            ([150.0, 53.0, 0.0], false),
        ] {
            let result = inside(&padded, &[[150.0, 0.0, 0.0], point], "rec.rsf");
            assert_eq!(result.is_ok(), allowed, "{point:?}");
            let result = result.map_or_else(|error| error.to_string(), |()| String::new());
            assert!(allowed || result.starts_with("rec.rsf: point 2 at "), "{result}");
        }
    }
}
