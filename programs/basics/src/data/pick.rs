//! `sfpick`: automatic picking of the best path through semblance panels.

use anyhow::{Result, ensure};
use rayon::prelude::*;
use rsf_io::{Axis, Job, Kind, Param, Program};

use super::cube;
use super::smooth::Filter;

pub static SPEC: Program = Program {
    name: "sfpick",
    about: "Pick velocities (or another quantity on axis 2) automatically from semblance panels.",
    usage: "< scan.rsf vel0= rect1=20 rect2=5 > picks.rsf",
    comments: "In each panel of axes 1 and 2 the path of least cost runs along axis 1 from vel0= at the first sample: a \
    step over i samples of axis 2 costs sqrt(i^2+an^2) times the mean of exp(-semblance) at its ends, and i is below \
    gate= in all steps except the first. Positions between samples are found with parabolas through three costs. With \
    smooth=y the output is the smooth surface that fits the picks, with their semblances as weights, by shaping \
    regularization with triangles of rect# samples on the axes of the output (rect2 is for axis 3 of the input) and at \
    most niter= iterations of conjugate gradients. Axis 2 is removed.\n\n\
    Method: Fomel (2009), Velocity analysis using AB semblance, appendix B; Fomel (2007), Shaping regularization in \
    geophysical-estimation problems.\n\n\
    Differs from Madagascar: sums are computed in double precision, conjugate gradients end at a relative residual of \
    1e-6, and NaN values are an error.",
    example: "sfvscan < cmp.rsf semblance=y weight=n half=n v0=1.4 dv=0.02 nv=81 | sfpick vel0=1.5 rect1=20 > vnmo.rsf",
    params: &PARAMS,
};

static PARAMS: [Param; 6] = [
    Param::float("vel0")
        .default_text("o2")
        .doc("coordinate on axis 2 at which the path begins"),
    Param::int("gate")
        .default("3")
        .range(">= 2", Some(2.0), None)
        .doc("limit on the steps of the path, which are shorter than this number of samples of axis 2"),
    Param::float("an")
        .default("1")
        .range(">= 0", Some(0.0), None)
        .doc("length of a sample of axis 1, in samples of axis 2"),
    Param::bool("smooth").default("y").doc("y: smooth the picks"),
    Param::int("rect#")
        .default_text("1")
        .range(">= 1", Some(1.0), None)
        .doc("smoothing radius on axis # of the output"),
    Param::int("niter")
        .default("100")
        .range(">= 1", Some(1.0), None)
        .doc("largest number of iterations of conjugate gradients"),
];

pub fn run(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    cube::expect(&input, Kind::Float)?;
    let mut axes = cube::shape_to(&input, 2)?;
    let across = axes.remove(1);
    let (n1, n2) = (axes[0].n, across.n);
    ensure!(
        n1 >= 2 && n2 >= 2 && across.d != 0.0,
        "{} has {}, but a panel needs at least two samples on axes 1 and 2 and d2 other than 0",
        input.name(),
        input.header().sizes()
    );
    let (o, d) = (f64::from(across.o), f64::from(across.d));
    let vel0 = job.double_opt("vel0")?.unwrap_or(o);
    let (low, high) = (o.min(o + d * (n2 - 1) as f64), o.max(o + d * (n2 - 1) as f64));
    if !(low - 0.5 * d.abs()..=high + 0.5 * d.abs()).contains(&vel0) {
        job.warn(&format!(
            "vel0={vel0} is outside axis 2, which extends from {} to {}: the path begins at the nearest end (is it in the unit of the axis?)",
            low as f32, high as f32
        ));
    }
    let path = Path {
        first: ((vel0 - o) / d).round().clamp(0.0, (n2 - 1) as f64) as usize,
        gate: job.int("gate")? as usize,
        ahead: job.double("an")?,
    };
    let mut output = job.output()?;
    cube::write_axes(&mut output, &axes);
    output.end_axes(axes.len());
    for (key, text) in [("label", &across.label), ("unit", &across.unit)] {
        text.iter().for_each(|text| output.put_text(key, text));
    }
    let mut picks: Vec<f64> = Vec::new();
    let mut weights: Vec<f64> = Vec::new();
    let mut panel: Vec<f32> = cube::room(n1 * n2)?;
    while input.remaining() > 0 {
        input.read_f32(&mut panel)?;
        ensure!(
            panel.iter().all(|x| x.is_finite()),
            "{} has values that are NaN or infinite, so no path can be found",
            input.name()
        );
        let places = path.through(&panel, n1);
        weights.extend(places.iter().enumerate().map(|(i, place)| {
            let low = (*place as usize).min(n2 - 2);
            let (a, b) = (panel[low * n1 + i], panel[(low + 1) * n1 + i]);
            f64::from(a) + (place - low as f64) * f64::from(b - a)
        }));
        picks.extend(places.iter().map(|place| o + place * d));
    }
    if job.flag("smooth")? {
        cube::warn_of_axes_beyond(job, axes.len(), &["rect"], |key, _| {
            Ok(job.int_opt(key)? == Some(1))
        })?;
        let rect = |i: usize| Ok(job.int_opt(&format!("rect{i}"))?.unwrap_or(1) as usize);
        let rects = (1..=axes.len()).map(rect).collect::<Result<Vec<usize>>>()?;
        picks.iter_mut().for_each(|pick| *pick -= vel0);
        smoothed(&mut picks, weights, &filters(&axes, &rects), job.int("niter")?);
        picks.iter_mut().for_each(|pick| *pick += vel0);
    }
    output.write_f32(&picks.iter().map(|pick| *pick as f32).collect::<Vec<f32>>())?;
    Ok(output.finish()?)
}

/// The constraints of a path.
struct Path {
    first: usize,
    gate: usize,
    ahead: f64,
}

impl Path {
    /// The positions on axis 2, in samples, of the path of least cost through a panel with `n1` samples on axis 1.
    fn through(&self, panel: &[f32], n1: usize) -> Vec<f64> {
        let n2 = panel.len() / n1;
        let weight = |i1: usize, i2: usize| (-f64::from(panel[i2 * n1 + i1])).exp();
        let step = |i1: usize, from: usize, to: usize| {
            let length = (from.abs_diff(to) as f64).hypot(self.ahead);
            0.5 * length * (weight(i1 - 1, from) + weight(i1, to))
        };
        // The least cost of all paths to each sample of a line, and the sample of the previous line from
        // which the best path comes.
        let mut costs: Vec<f64> = (0..n2).map(|i| step(1, self.first, i)).collect();
        let mut origins = vec![vec![self.first as f64; n2]; 2];
        for i1 in 2..n1 {
            let best = |i2: usize| {
                let low = (i2 + 1).saturating_sub(self.gate);
                let range = low..(i2 + self.gate).min(n2);
                let all: Vec<f64> = range.map(|from| costs[from] + step(i1, from, i2)).collect();
                let (place, cost) = least(&all);
                (low as f64 + place, cost)
            };
            let (places, next): (Vec<f64>, Vec<f64>) = (0..n2).into_par_iter().map(best).unzip();
            origins.push(places);
            costs = next;
        }
        let end = (0..n2).min_by(|a, b| costs[*a].total_cmp(&costs[*b]));
        let mut places = vec![end.unwrap_or(0) as f64; n1];
        for i1 in (1..n1).rev() {
            places[i1 - 1] = between(&origins[i1], places[i1]);
        }
        places
    }
}

/// The value of a line at a fractional index, by linear interpolation.
fn between(line: &[f64], place: f64) -> f64 {
    let low = (place.max(0.0) as usize).min(line.len() - 2);
    line[low] + (place - low as f64) * (line[low + 1] - line[low])
}

/// The position and value of the minimum, by the parabola through the smallest value and its neighbours.
fn least(values: &[f64]) -> (f64, f64) {
    let (at, value) = (0..values.len())
        .map(|i| (i, values[i]))
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .unwrap_or((0, f64::INFINITY));
    if values.len() < 3 {
        return (at as f64, value);
    }
    let middle = at.clamp(1, values.len() - 2);
    let [left, centre, right] = [-1, 0, 1].map(|k: isize| values[middle.saturating_add_signed(k)]);
    let (slope, bend) = (0.5 * (left - right), left + right - 2.0 * centre);
    let shift = slope / bend;
    // At the edge of the gate the minimum of the parabola may lie outside the gate.
    if bend > 0.0 && shift.abs() <= 1.0 {
        let depth = centre - 0.5 * slope * shift;
        if depth >= 0.0 {
            return (middle as f64 + shift, depth);
        }
    }
    (at as f64, value)
}

/// The smoothing filters of those axes of the output that are smoothed.
fn filters(axes: &[Axis], rects: &[usize]) -> Vec<Filter> {
    let mut stride = 1;
    let filter = |(axis, rect): (&Axis, &usize)| {
        let filter = Filter::triangle((axis.n, stride), *rect, 1);
        stride *= axis.n;
        (axis.n > 1 && *rect > 1).then_some(filter)
    };
    axes.iter().zip(rects).filter_map(filter).collect()
}

/// Replaces the values d by smooth values m that fit d with the weights w (normalised to a mean square of 1), by
/// shaping regularization: m = H p, where (1 + H (w^2 - 1) H) p = H w^2 d and the smoothing filter H is self-adjoint.
fn smoothed(values: &mut [f64], mut weights: Vec<f64>, filters: &[Filter], steps: i64) {
    let mean = dot(&weights, &weights) / weights.len() as f64;
    // If all semblance is zero, all picks have the same weight.
    weights
        .iter_mut()
        .for_each(|w| *w = if mean > 0.0 { *w * *w / mean } else { 1.0 });
    let smooth = |line: &[f64]| {
        let mut line: Vec<f64> = line.to_vec();
        filters.iter().for_each(|filter| filter.smooth_double(&mut line));
        line
    };
    let product = |a: &[f64], b: &[f64]| -> Vec<f64> { a.iter().zip(b).map(|(a, b)| a * b).collect() };
    let operator = |p: &[f64]| -> Vec<f64> {
        let inside = smooth(p);
        let less: Vec<f64> = weights.iter().map(|w| w - 1.0).collect();
        let back = smooth(&product(&less, &inside));
        back.iter().zip(p).map(|(a, b)| a + b).collect()
    };
    let mut residual = smooth(&product(&weights, values));
    let (mut p, mut direction) = (vec![0.0; values.len()], residual.clone());
    let mut size = dot(&residual, &residual);
    let enough = 1e-12 * size;
    for _ in 0..steps {
        if size.is_nan() || size <= enough {
            break;
        }
        let image = operator(&direction);
        let length = size / dot(&direction, &image);
        for i in 0..p.len() {
            p[i] += length * direction[i];
            residual[i] -= length * image[i];
        }
        let now = dot(&residual, &residual);
        let share = now / size;
        let turn = direction.iter_mut().zip(&residual);
        turn.for_each(|(d, r)| *d = r + share * *d);
        size = now;
    }
    values.copy_from_slice(&smooth(&p));
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For equal weights the result equals smoothing twice, and constants do not change for any weights.
    #[test]
    fn smoothing_in_closed_form() {
        let filters = [Filter::triangle((20, 1), 4, 1), Filter::triangle((3, 20), 2, 1)];
        let ramp: Vec<f64> = (0..60).map(|i| ((i * 17) % 23) as f64).collect();
        let mut result = ramp.clone();
        smoothed(&mut result, vec![0.3; 60], &filters, 100);
        let mut expected = ramp.clone();
        for filter in filters.iter().chain(&filters) {
            filter.smooth_double(&mut expected);
        }
        let mut constant = vec![2.5; 60];
        smoothed(
            &mut constant,
            ramp.iter().map(|w| 0.1 + w).collect(),
            &filters,
            100,
        );
        for i in 0..60 {
            assert!(
                (result[i] - expected[i]).abs() < 1e-9,
                "{i}: {} {}",
                result[i],
                expected[i]
            );
            assert!((constant[i] - 2.5).abs() < 1e-4, "{i}: {}", constant[i]);
        }
    }

    #[test]
    fn parabolas_between_samples() {
        let line = |top: f64| {
            (0..5)
                .map(|i| 1.0 + (i as f64 - top).powi(2))
                .collect::<Vec<f64>>()
        };
        for top in [1.0, 2.25, 3.4, 0.7] {
            let (place, value) = least(&line(top));
            assert!((place - top).abs() < 1e-12 && (value - 1.0).abs() < 1e-12);
        }
        assert_eq!(least(&line(-3.0)), (0.0, 10.0));
        assert_eq!(least(&[2.0, 1.0]), (1.0, 1.0));
    }
}
