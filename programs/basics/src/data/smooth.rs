//! `sfsmooth`: smoothing by triangle filters.

use anyhow::Result;
use rayon::prelude::*;
use rsf_io::{Job, Kind, MAX_AXES, Param, Program};

use super::cube;

pub static SPEC: Program = Program {
    name: "sfsmooth",
    about: "Smooth data with a triangle on every axis.",
    usage: "< in.rsf rect1= rect2= repeat=1 > out.rsf",
    comments: "With rect#=m a neighbour at a distance of i samples, up to m-1, has the weight (m-|i|)/m^2, or the \
weight 1/(2m-1) with box#=y. Data are mirrored at the ends of an axis, so a constant does not change. With \
diff#=y the slope of the triangle is applied: the sum of a sample and the m-1 before it minus the sum of the m \
after it, divided by m^2, where data beyond the ends are zero and the filter is mirrored at the ends. A block \
that spans the axes up to the last smoothed one is held in memory.",
    example: "sfsmooth < vp.rsf rect1=10 rect2=10 repeat=2 > smooth.rsf",
    params: &PARAMS,
};

static PARAMS: [Param; 5] = [
    Param::int("rect#")
        .default_text("1")
        .range(">= 1", Some(1.0), None)
        .doc("half width of the triangle on axis #, in samples; 1: no smoothing"),
    Param::bool("box#")
        .default("n")
        .doc("y: smooth with a box instead of a triangle on axis #"),
    Param::bool("diff#")
        .default("n")
        .doc("y: compute the smoothed derivative along axis #"),
    Param::bool("adj")
        .default("n")
        .doc("y: apply the adjoint, which differs only with diff#=y"),
    Param::int("repeat")
        .default("1")
        .range(">= 1", Some(1.0), None)
        .doc("number of times that each axis is smoothed"),
];

/// The filter of one axis.
#[derive(Clone, Copy)]
pub(super) struct Filter {
    n: usize,
    /// The number of elements from one sample of the axis to the next.
    stride: usize,
    width: usize,
    shape: Shape,
    repeat: usize,
}

/// The shape of the filter.
#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Triangle,
    Box,
    /// The derivative of a triangle.
    Slope,
    /// The adjoint of [`Shape::Slope`].
    SlopeBack,
}

pub fn run(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    cube::expect(&input, Kind::Float)?;
    let axes = cube::shape(&input)?;
    cube::warn_of_axes_beyond(job, cube::present(&input), &["rect"], |key, _| {
        Ok(job.int_opt(key)? == Some(1))
    })?;
    if !(1..=MAX_AXES).any(|i| job.given(&format!("rect{i}"))) {
        job.warn(
            "no rect# is given, so nothing is smoothed: rect1=10 applies a triangle with a half width \
            of 10 samples on axis 1",
        );
    }
    let (repeat, adjoint) = (job.int("repeat")? as usize, job.flag("adj")?);
    let (mut filters, mut stride, mut group) = (Vec::new(), 1, 1);
    for (i, axis) in (1..).zip(&axes) {
        let width = job.int_opt(&format!("rect{i}"))?.unwrap_or(1) as usize;
        let shape = match (job.flag(&format!("diff{i}"))?, job.flag(&format!("box{i}"))?) {
            (true, _) if adjoint => Shape::SlopeBack,
            (true, _) => Shape::Slope,
            (false, true) => Shape::Box,
            (false, false) => Shape::Triangle,
        };
        let filter = Filter {
            n: axis.n,
            stride,
            width,
            shape,
            repeat,
        };
        stride *= axis.n;
        if width > 1 {
            filters.push(filter);
            group = stride;
        }
    }
    let mut output = job.output()?;
    if filters.is_empty() {
        cube::copy_all(&mut input, &mut output)?;
        return Ok(output.finish()?);
    }
    let mut values: Vec<f32> = cube::room(group)?;
    while input.remaining() > 0 {
        input.read_f32(&mut values)?;
        filters.iter().for_each(|filter| filter.smooth(&mut values));
        output.write_f32(&values)?;
    }
    Ok(output.finish()?)
}

impl Filter {
    /// A triangle on an axis of `n` samples that lie `stride` elements apart.
    pub(super) fn triangle((n, stride): (usize, usize), width: usize, repeat: usize) -> Self {
        Self {
            n,
            stride,
            width,
            shape: Shape::Triangle,
            repeat,
        }
    }

    /// Smooths groups of all axes up to this one.
    pub(super) fn smooth(self, values: &mut [f32]) {
        self.each(values, |x| f64::from(*x), |x| x as f32);
    }

    /// Does the same as [`Filter::smooth`], in double precision.
    pub(super) fn smooth_double(self, values: &mut [f64]) {
        self.each(values, |x| *x, |x| x);
    }

    fn each<T: Send>(
        self,
        values: &mut [T],
        double: impl Fn(&T) -> f64 + Sync,
        back: impl Fn(f64) -> T + Sync,
    ) {
        // The elements that the axis spans are contiguous, so threads work on disjoint slices.
        values.par_chunks_mut(self.n * self.stride).for_each(|slab| {
            let mut line = vec![0.0; self.n];
            let mut sums = Vec::new();
            for start in 0..self.stride {
                let at = |i: usize| start + i * self.stride;
                (0..self.n).for_each(|i| line[i] = double(&slab[at(i)]));
                (0..self.repeat).for_each(|_| self.line(&mut line, &mut sums));
                (0..self.n).for_each(|i| slab[at(i)] = back(line[i]));
            }
        });
    }

    /// Smooths one line. Sums are in double precision, so that their differences are accurate to single precision.
    fn line(self, line: &mut [f64], sums: &mut Vec<f64>) {
        if self.shape == Shape::Slope {
            return self.slope(line, sums);
        }
        let (n, m) = (self.n as i64, self.width as i64);
        let mirrored = |i: i64| {
            let i = i.rem_euclid(2 * n);
            line[i.min(2 * n - 1 - i) as usize]
        };
        // sums[k] is the sum of the samples from -m to k - m - 1 of the line, which is mirrored at its ends.
        sum_up((-m..n + m).map(mirrored), sums);
        let m = self.width;
        if self.shape == Shape::Box {
            for (i, value) in line.iter_mut().enumerate() {
                *value = (sums[i + 2 * m] - sums[i + 1]) / (2 * m - 1) as f64;
            }
            return;
        }
        if self.shape == Shape::SlopeBack {
            for (i, value) in line.iter_mut().enumerate() {
                *value = (sums[i + 2 * m] - 2.0 * sums[i + m] + sums[i]) / (m * m) as f64;
            }
            return;
        }
        // A triangle is a box convolved with a box.
        let boxes: Vec<f64> = sums.windows(m + 1).map(|window| window[m] - window[0]).collect();
        sum_up(boxes.into_iter(), sums);
        for (i, value) in line.iter_mut().enumerate() {
            *value = (sums[i + m + 1] - sums[i + 1]) / (m * m) as f64;
        }
    }

    /// Applies the slope of the triangle, with zeros beyond the ends; output beyond an end is mirrored into
    /// the line and added.
    fn slope(self, line: &mut [f64], sums: &mut Vec<f64>) {
        let (n, m) = (self.n as i64, self.width as i64);
        sum_up(line.iter().copied(), sums);
        let before = |i: i64| sums[i.clamp(0, n) as usize];
        line.fill(0.0);
        for i in -m..n + m {
            let slope = 2.0 * before(i + 1) - before(i + 1 - m) - before(i + 1 + m);
            let at = i.rem_euclid(2 * n);
            line[at.min(2 * n - 1 - at) as usize] += slope / (m * m) as f64;
        }
    }
}

/// Computes running sums: entry k is the sum of the first k values, so there is one more entry than there are values.
fn sum_up(values: impl Iterator<Item = f64>, sums: &mut Vec<f64>) {
    sums.clear();
    sums.push(0.0);
    let mut total = 0.0;
    for value in values {
        total += value;
        sums.push(total);
    }
}
