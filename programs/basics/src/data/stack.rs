//! `sfstack`: the sum, mean or extreme over an axis.

use std::ops::{AddAssign, DivAssign, MulAssign};

use anyhow::{Result, bail, ensure};
use num_complex::Complex64;
use rsf_io::{Axis, Complex, Element, Input, Job, Kind, Output, Param, Program};

use super::cube::{self, PIECE};

pub static SPEC: Program = Program {
    name: "sfstack",
    about: "Stack data over an axis: mean, sum, root mean square, product, smallest or largest value.",
    usage: "< in.rsf axis=2 > out.rsf",
    comments: "The axis is removed, and the axes after it move up by one; with axis=0 all axes are stacked and the \
result is a single number. The mean is taken over the samples that are not 0 (the fold), so muted samples do \
not count; with norm=n the result is the sum. For complex data the root mean square, the smallest and the largest \
value are computed from the absolute values.",
    example: "sfstack < gather.rsf axis=2 rms=y > strength.rsf",
    params: &PARAMS,
};

const AXIS: Param = Param::int("axis")
    .default("2")
    .range(">= 0", Some(0.0), None)
    .doc("axis that is stacked; 0: all axes");
const SCALE: Param = Param::floats("scale")
    .default_text("1")
    .doc("factors that multiply the samples of the axis; the last one also applies to the remaining samples");

static PARAMS: [Param; 7] = [
    AXIS,
    SCALE,
    Param::bool("norm").default("y").doc("y: the mean; n: the sum"),
    Param::bool("rms")
        .default("n")
        .doc("y: root mean square; norm= then has no effect"),
    Param::bool("min")
        .default("n")
        .doc("y: smallest value; norm= and rms= then have no effect"),
    Param::bool("max")
        .default("n")
        .doc("y: largest value; norm= and rms= then have no effect"),
    Param::bool("prod")
        .default("n")
        .doc("y: product; norm= and rms= then have no effect"),
];

/// The common part of the programs whose name gives the operation.
const NAMED: Program = Program {
    usage: "< in.rsf axis=2 > out.rsf",
    comments: "The axis is removed, and the axes after it move up by one; with axis=0 the result is a single number. \
sfstack has more options.",
    params: &[AXIS, SCALE],
    ..SPEC
};

pub static MAX: Program = Program {
    name: "sfmax",
    about: "Take the largest values over an axis.",
    example: "sfmax < gather.rsf axis=1 > peaks.rsf",
    ..NAMED
};

pub static MIN: Program = Program {
    name: "sfmin",
    about: "Take the smallest values over an axis.",
    example: "sfmin < vp.rsf axis=0 > slowest.rsf",
    ..NAMED
};

pub static PROD: Program = Program {
    name: "sfprod",
    about: "Multiply the samples over an axis.",
    example: "sfprod < factors.rsf axis=2 > product.rsf",
    ..NAMED
};

pub static RMS: Program = Program {
    name: "sfrms",
    about: "Take the root mean square over an axis, of the samples that are not 0.",
    example: "sfrms < gather.rsf axis=1 > strength.rsf",
    ..NAMED
};

/// The operation on the samples of the axis.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Mean,
    Sum,
    Rms,
    Least,
    Most,
    Product,
}

pub fn run(job: &mut Job) -> Result<()> {
    let way = way(job)?;
    all(job, way)
}

pub fn max(job: &mut Job) -> Result<()> {
    all(job, Way::Most)
}

pub fn min(job: &mut Job) -> Result<()> {
    all(job, Way::Least)
}

pub fn prod(job: &mut Job) -> Result<()> {
    all(job, Way::Product)
}

pub fn rms(job: &mut Job) -> Result<()> {
    all(job, Way::Rms)
}

fn way(job: &Job) -> Result<Way> {
    let ways = [("min", Way::Least), ("max", Way::Most), ("prod", Way::Product)];
    let mut chosen = Vec::new();
    for (name, way) in ways {
        if job.flag(name)? {
            chosen.push(way);
        }
    }
    ensure!(
        chosen.len() < 2,
        "min=y, max=y and prod=y exclude each other: give only one of them"
    );
    Ok(match chosen.first() {
        Some(way) => *way,
        None if job.flag("rms")? => Way::Rms,
        None if job.flag("norm")? => Way::Mean,
        None => Way::Sum,
    })
}

/// The operation, the number of elements below the axis, the number of samples on it, and a factor for each sample.
struct Plan {
    way: Way,
    row: usize,
    rows: usize,
    scale: Option<Vec<f32>>,
}

fn all(job: &mut Job, way: Way) -> Result<()> {
    let mut input = job.stdin()?;
    let (row, rows, axes) = shape(&input, job.int("axis")? as usize)?;
    let plan = Plan {
        way,
        row,
        rows,
        scale: scale(job, rows)?,
    };
    let mut output = job.output()?;
    cube::write_axes(&mut output, &axes);
    output.end_axes(axes.len());
    match input.format().kind {
        Kind::Float => stack::<f32>(&mut input, &mut output, &plan)?,
        Kind::Complex => stack::<Complex>(&mut input, &mut output, &plan)?,
        other => bail!(
            "the input holds {} data, but {} takes float and complex only (sfdd converts)",
            other.word(),
            job.program()
        ),
    }
    Ok(output.finish()?)
}

/// The number of elements below the stacked axis, the number of samples on it, and the axes of the result.
fn shape(input: &Input, axis: usize) -> Result<(usize, usize, Vec<Axis>)> {
    // A last axis of one sample is included if the header names it.
    let mut axes = cube::shape_to(input, axis.min(cube::present(input)))?;
    if axis == 0 {
        let rows = cube::count(&axes);
        axes.iter_mut().for_each(|axis| axis.n = 1);
        return Ok((1, rows, axes));
    }
    ensure!(
        axis <= axes.len(),
        "axis={axis}: the input has {} axes ({})",
        axes.len(),
        input.header().sizes()
    );
    let row = cube::count(&axes[..axis - 1]);
    let rows = axes.remove(axis - 1).n;
    if axes.is_empty() {
        axes.push(Axis {
            n: 1,
            ..input.axis(2)
        });
    }
    Ok((row, rows, axes))
}

/// A factor for each sample, if factors are given.
fn scale(job: &Job, rows: usize) -> Result<Option<Vec<f32>>> {
    let mut factors = job.floats("scale")?;
    let Some(last) = factors.last().copied() else {
        return Ok(None);
    };
    if factors.len() > rows {
        job.warn(&format!(
            "scale= holds {} factors for {rows} samples: only the first {rows} are used",
            factors.len()
        ));
    }
    factors.resize(rows, last);
    Ok(Some(factors))
}

fn stack<T: Sample>(input: &mut Input, output: &mut Output, plan: &Plan) -> Result<()> {
    let (row, rows) = (plan.row, plan.rows);
    let mut pile = Pile::<T>::new(plan.way, row)?;
    let at_once = (PIECE / row).clamp(1, rows);
    let mut values: Vec<T> = cube::room(at_once * row)?;
    while input.remaining() > 0 {
        pile.clear();
        for start in (0..rows).step_by(at_once) {
            let now = at_once.min(rows - start);
            input.read(&mut values[..now * row])?;
            for (number, line) in values[..now * row].chunks_exact_mut(row).enumerate() {
                if let Some(scale) = &plan.scale {
                    line.iter_mut()
                        .for_each(|value| *value = value.times(scale[start + number]));
                }
                pile.add(line);
            }
        }
        output.write(&pile.result())?;
    }
    Ok(())
}

/// An element type that can be stacked; sums are in double precision.
trait Sample: Element {
    type Sum: Copy + AddAssign + MulAssign + DivAssign<f64> + From<f64>;
    fn times(self, factor: f32) -> Self;
    fn wide(self) -> Self::Sum;
    fn narrow(sum: Self::Sum) -> Self;
    fn root(sum: Self::Sum) -> Self::Sum;
    /// The value by which extremes are compared.
    fn rank(self) -> f64;
    /// The square of the absolute value.
    fn square(self) -> f64;
}

impl Sample for f32 {
    type Sum = f64;

    fn times(self, factor: f32) -> Self {
        self * factor
    }

    fn wide(self) -> f64 {
        self.into()
    }

    fn narrow(sum: f64) -> Self {
        sum as f32
    }

    fn root(sum: f64) -> f64 {
        sum.sqrt()
    }

    fn rank(self) -> f64 {
        self.into()
    }

    fn square(self) -> f64 {
        f64::from(self) * f64::from(self)
    }
}

impl Sample for Complex {
    type Sum = Complex64;

    fn times(self, factor: f32) -> Self {
        self.map(|part| part * factor)
    }

    fn wide(self) -> Complex64 {
        Complex64::new(self[0].into(), self[1].into())
    }

    fn narrow(sum: Complex64) -> Self {
        [sum.re as f32, sum.im as f32]
    }

    fn root(sum: Complex64) -> Complex64 {
        sum.sqrt()
    }

    fn rank(self) -> f64 {
        self.wide().norm()
    }

    fn square(self) -> f64 {
        self.wide().norm_sqr()
    }
}

/// The sums or extremes so far, one for each element below the axis.
struct Pile<T: Sample> {
    way: Way,
    sums: Vec<T::Sum>,
    extremes: Vec<Option<T>>,
    fold: Vec<u64>,
}

impl<T: Sample> Pile<T> {
    fn new(way: Way, row: usize) -> Result<Self> {
        let extremes = if matches!(way, Way::Least | Way::Most) {
            row
        } else {
            0
        };
        // The allocation is tested first, so that a wrong header leads to an error message.
        let _: Vec<T> = cube::room(row)?;
        Ok(Self {
            way,
            sums: vec![T::Sum::from(0.0); row - extremes],
            extremes: vec![None; extremes],
            fold: vec![0; row - extremes],
        })
    }

    fn clear(&mut self) {
        let begin = if self.way == Way::Product { 1.0 } else { 0.0 };
        self.sums.fill(T::Sum::from(begin));
        self.extremes.fill(None);
        self.fold.fill(0);
    }

    /// Adds the elements of one sample of the axis.
    fn add(&mut self, row: &[T]) {
        for (extreme, new) in self.extremes.iter_mut().zip(row) {
            let better = match (self.way, *extreme) {
                (_, None) => true,
                // NaN gives way to any number.
                (_, Some(old)) if old.rank().is_nan() => !new.rank().is_nan(),
                (Way::Least, Some(old)) => new.rank() < old.rank(),
                (_, Some(old)) => new.rank() > old.rank(),
            };
            if better {
                *extreme = Some(*new);
            }
        }
        for ((sum, fold), new) in self.sums.iter_mut().zip(&mut self.fold).zip(row) {
            match self.way {
                Way::Product => *sum *= new.wide(),
                Way::Rms => *sum += T::Sum::from(new.square()),
                _ => *sum += new.wide(),
            }
            *fold += u64::from(new.square() != 0.0);
        }
    }

    fn result(&self) -> Vec<T> {
        let sums = self.sums.iter().zip(&self.fold).map(|(sum, fold)| {
            let mut sum = *sum;
            if matches!(self.way, Way::Mean | Way::Rms) {
                sum /= (*fold).max(1) as f64;
            }
            T::narrow(if self.way == Way::Rms { T::root(sum) } else { sum })
        });
        let extremes = self.extremes.iter().map(|extreme| extreme.unwrap_or(T::zeroed()));
        sums.chain(extremes).collect()
    }
}
