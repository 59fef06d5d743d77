//! `sfspline`: interpolation by cubic splines along axis 1.

use anyhow::{Result, ensure};
use rsf_io::{Axis, Header, Input, Job, Kind, Output, Param, Program};

use super::outside::{Outside, largest};
use super::{cube, lines};

pub static SPEC: Program = Program {
    name: "sfspline",
    about: "Interpolate along axis 1 by cubic splines, from regular samples or from pairs.",
    usage: "< in.rsf n1= o1= d1= [pattern=other.rsf] fp= sort=n > out.rsf",
    comments: "If the input has n1=2, its axis 2 holds pairs of a coordinate and a value; otherwise axis 1 holds regular \
samples. The spline is natural (no curvature at its ends); for pairs, its slopes at the ends can be given by fp= \
instead. Outside the samples, the first and the last cubic polynomial are extrapolated.\n\n\
The new axis is given by n1=, o1=, d1= or by pattern=.\n\n\
Differs from Madagascar: splines are computed in double precision; pairs whose coordinates do not increase are an error \
(sort=y sorts them), and so are equal coordinates.",
    example: "sfspline < picks.rsf o1=0 d1=0.004 n1=1001 sort=y > velocity.rsf",
    params: &PARAMS,
};

static PARAMS: [Param; 6] = [
    Param::int("n1")
        .default_text("of pattern=")
        .range(">= 1", Some(1.0), None)
        .doc("number of samples of the output"),
    Param::float("o1")
        .default_text("of pattern=")
        .doc("origin of the output"),
    Param::float("d1")
        .default_text("of pattern=")
        .doc("sampling of the output"),
    Param::input("pattern")
        .default_text("none")
        .doc("dataset whose axis 1 is used for the output"),
    Param::floats("fp")
        .default_text("none: a natural spline")
        .doc("for pairs: slopes at the first and the last pair"),
    Param::bool("sort")
        .default("n")
        .doc("y: sort the pairs by their coordinates"),
];

/// The axis of the output: n1, o1 and d1 from the command line, otherwise from the file `pattern=`, otherwise from
/// `usual`.
///
/// # Errors
/// Returns an error if one of n1, o1 and d1 is missing, or n1 is less than 1.
pub(super) fn new_axis(job: &mut Job, usual: Option<&Axis>) -> Result<Axis> {
    let pattern = if job.has_input("pattern") {
        Some(job.input("pattern")?)
    } else {
        None
    };
    let pattern = pattern.as_ref().map(Input::header);
    let real = |key: &str, usual: Option<f32>| -> Result<f32> {
        let given = job
            .float_opt(key)?
            .or_else(|| pattern.and_then(|header| header.float(key)));
        given.or(usual).ok_or_else(|| lacking(key, pattern))
    };
    let n = job
        .int_opt("n1")?
        .or_else(|| pattern.and_then(|header| header.large_int("n1")));
    let Some(n) = n.or(usual.map(|axis| axis.n as i64)) else {
        return Err(lacking("n1", pattern));
    };
    ensure!(n >= 1, "n1={n} in pattern=: the output needs at least one sample");
    let mut axis = Axis::new(n as usize, 0.0, 1.0);
    axis.o = real("o1", usual.map(|axis| axis.o))?;
    axis.d = real("d1", usual.map(|axis| axis.d))?;
    Ok(axis)
}

fn lacking(key: &str, pattern: Option<&Header>) -> anyhow::Error {
    match pattern {
        Some(_) => anyhow::anyhow!("{key}= is missing on the command line and in the header of pattern="),
        None => anyhow::anyhow!(
            "{key}= is missing: give n1=, o1= and d1= of the output, or a file pattern= that has them"
        ),
    }
}

pub fn run(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    cube::expect(&input, Kind::Float)?;
    let axes = cube::shape_to(&input, cube::present(&input))?;
    let axis = new_axis(job, None)?;
    let mut output = job.output()?;
    for (key, value) in [("o1", axis.o), ("d1", axis.d)] {
        output.put_float(key, value);
    }
    output.put_int("n1", axis.n as i64);
    let at = |i: usize| f64::from(axis.o) + i as f64 * f64::from(axis.d);
    if axes[0].n == 2 {
        pairs(job, &mut input, &mut output, (&axes, axis.n), at)?;
    } else {
        ensure!(
            !job.given("fp") && !job.given("sort"),
            "fp= and sort= are for pairs (n1=2 in the input); this input has regular samples, n1={}",
            axes[0].n
        );
        let knots = positions(&axes[0])?;
        let ends = [knots[0], knots[knots.len() - 1]];
        let outside = Outside::default();
        let backwards = axes[0].d < 0.0;
        lines::each(
            &mut input,
            &mut output,
            (knots.len(), axis.n),
            Spline::default,
            |spline, _, line: &[f32], result: &mut [f32]| {
                let (x, y) = (knots.iter().copied(), line.iter().map(|y| f64::from(*y)));
                if backwards {
                    spline.fit(x.rev(), y.rev(), None);
                } else {
                    spline.fit(x, y, None);
                }
                let numbered = result.iter_mut().enumerate();
                numbered.for_each(|(i, value)| *value = spline.at(at(i)) as f32);
                let places = (0..axis.n).map(at).zip(result.iter().copied());
                outside.look(places, ends, axes[0].d.into(), largest(line.iter().copied()));
                Ok(())
            },
        )?;
        outside.warn(job, Some(ends));
    }
    Ok(output.finish()?)
}

/// The coordinates of regular samples.
fn positions(axis: &Axis) -> Result<Vec<f64>> {
    ensure!(
        axis.n >= 2 && axis.d != 0.0,
        "n1={} d1={} in the header, but a spline needs at least two samples and a sampling interval other than 0",
        axis.n,
        axis.d
    );
    let at = |i: usize| f64::from(axis.o) + i as f64 * f64::from(axis.d);
    Ok((0..axis.n).map(at).collect())
}

/// Interpolates sets of pairs; axis 2 of the output has one sample.
fn pairs(
    job: &Job,
    input: &mut Input,
    output: &mut Output,
    (axes, n): (&[Axis], usize),
    at: impl Fn(usize) -> f64 + Send + Sync,
) -> Result<()> {
    let count = axes.get(1).map_or(1, |axis| axis.n);
    ensure!(
        count >= 2,
        "n1=2 in the header means pairs of a coordinate and a value, but there is only one pair: a spline needs at least two"
    );
    let ends = match job.floats("fp")?[..] {
        [] => None,
        [first, last] => Some([f64::from(first), f64::from(last)]),
        ref others => anyhow::bail!(
            "fp= holds {} slopes, but two are needed: at the first and at the last pair",
            others.len()
        ),
    };
    let sort = job.flag("sort")?;
    let outside = Outside::default();
    // Comparisons with NaN are false, so that NaN is treated as not increasing.
    let rises = |a: f32, b: f32| a < b;
    output.put_int("n2", 1);
    lines::each(
        input,
        output,
        (2 * count, n),
        Spline::default,
        |spline, set, line: &[f32], result: &mut [f32]| {
            let mut pairs = line.as_chunks::<2>().0.to_vec();
            if sort {
                pairs.sort_by(|a, b| a[0].total_cmp(&b[0]));
            }
            if let Some(i) = (1..count).find(|i| !rises(pairs[i - 1][0], pairs[*i][0])) {
                anyhow::bail!(
                    "set {} of pairs: coordinate {} follows {}; coordinates must increase{}",
                    set + 1,
                    pairs[i][0],
                    pairs[i - 1][0],
                    if sort {
                        ", and no two can be equal"
                    } else {
                        " (sort=y sorts them)"
                    }
                );
            }
            let part = |k: usize| pairs.iter().map(move |pair| f64::from(pair[k]));
            spline.fit(part(0), part(1), ends);
            let numbered = result.iter_mut().enumerate();
            numbered.for_each(|(i, value)| *value = spline.at(at(i)) as f32);
            let span = [pairs[0][0], pairs[count - 1][0]].map(f64::from);
            let (places, d) = ((0..n).map(&at), (span[1] - span[0]) / (count - 1) as f64);
            let most = largest(pairs.iter().map(|pair| pair[1]));
            outside.look(places.zip(result.iter().copied()), span, d, most);
            Ok(())
        },
    )?;
    outside.warn(job, None);
    Ok(())
}

/// A cubic spline through the points (`x`, `y`), at which its second derivatives are `m`.
#[derive(Default)]
pub(super) struct Spline {
    x: Vec<f64>,
    y: Vec<f64>,
    m: Vec<f64>,
    room: Vec<f64>,
}

impl Spline {
    /// Fits the spline to points with increasing `x`, either natural or with the slopes `ends` at its ends.
    pub(super) fn fit(
        &mut self,
        x: impl Iterator<Item = f64>,
        y: impl Iterator<Item = f64>,
        ends: Option<[f64; 2]>,
    ) {
        self.x.clear();
        self.x.extend(x);
        self.y.clear();
        self.y.extend(y);
        let n = self.x.len();
        let (x, y) = (&self.x, &self.y);
        let h = |i: usize| x[i + 1] - x[i];
        let slope = |i: usize| (y[i + 1] - y[i]) / h(i);
        // The tridiagonal equations below m(i-1) + diagonal m(i) + above m(i+1) = right, solved by elimination and back
        // substitution.
        let row = |i: usize| match ends {
            Some([first, _]) if i == 0 => (0.0, 2.0 * h(0), h(0), 6.0 * (slope(0) - first)),
            Some([_, last]) if i == n - 1 => (h(n - 2), 2.0 * h(n - 2), 0.0, 6.0 * (last - slope(n - 2))),
            None if i == 0 || i == n - 1 => (0.0, 1.0, 0.0, 0.0),
            _ => (
                h(i - 1),
                2.0 * (h(i - 1) + h(i)),
                h(i),
                6.0 * (slope(i) - slope(i - 1)),
            ),
        };
        self.m.clear();
        self.room.clear();
        let (mut upper, mut right) = (0.0, 0.0);
        for i in 0..n {
            let (below, diagonal, above, target) = row(i);
            let pivot = diagonal - below * upper;
            right = (target - below * right) / pivot;
            upper = above / pivot;
            self.m.push(right);
            self.room.push(upper);
        }
        for i in (0..n - 1).rev() {
            self.m[i] -= self.room[i] * self.m[i + 1];
        }
    }

    /// Fits a natural spline to a trace as a function of the sample number.
    pub(super) fn through(&mut self, line: &[f32]) {
        let values = line.iter().map(|y| f64::from(*y));
        self.fit((0..line.len()).map(|i| i as f64), values, None);
    }

    /// The value of the spline at `x`.
    pub(super) fn at(&self, x: f64) -> f64 {
        let after = self.x.partition_point(|knot| *knot <= x);
        let i = after.clamp(1, self.x.len() - 1) - 1;
        let h = self.x[i + 1] - self.x[i];
        let (a, b) = ((self.x[i + 1] - x) / h, (x - self.x[i]) / h);
        let bend = (a * a * a - a) * self.m[i] + (b * b * b - b) * self.m[i + 1];
        a * self.y[i] + b * self.y[i + 1] + bend * h * h / 6.0
    }
}
