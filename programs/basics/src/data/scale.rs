//! `sfscale`: scaling by a factor, or to a largest absolute value of 1.

use anyhow::{Result, bail};
use rsf_io::{Complex, Input, Job, Kind, Output, Param, Program};

use super::cube::{self, PIECE};

pub static SPEC: Program = Program {
    name: "sfscale",
    about: "Multiply data by a factor, or scale them to a largest absolute value of 1.",
    usage: "< in.rsf dscale=2 > out.rsf    or    < in.rsf axis=1 > out.rsf",
    comments: "With axis=# each block of the axes 1 to # is divided by its largest absolute value, unless rscale= gives \
a factor; a block of zeros does not change. With pclip= each block is divided by the value below which that percentage \
of its absolute values lies. axis=123 takes all axes together. A block of one sample is multiplied by dscale=. Integers \
become float.",
    example: "sfscale < wavelet.rsf axis=123 > unit.rsf",
    params: &PARAMS,
};

static PARAMS: [Param; 4] = [
    Param::int("axis")
        .default("0")
        .range(">= 0", Some(0.0), None)
        .doc("last axis of the blocks that are scaled by their maximum; 0: multiply by a factor"),
    Param::float("rscale")
        .default("0")
        .doc("factor to use instead of the maximum; 0: none"),
    Param::float("dscale")
        .default("1")
        .doc("factor, if neither axis= nor rscale= is given"),
    Param::float("pclip")
        .default("100")
        .range("0 to 100", Some(0.0), Some(100.0))
        .doc("percentage of absolute values that become at most 1; 100: all"),
];

pub fn run(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    let mut axes = cube::shape(&input)?;
    axes.truncate(job.int("axis")? as usize);
    let group = cube::count(&axes);
    let factor = match (job.float("rscale")?, group) {
        (0.0, 1) => Some(job.float("dscale")?),
        (0.0, _) => None,
        (factor, _) => Some(factor),
    };
    let mut output = job.output()?;
    match (input.format().kind, factor) {
        (Kind::Float, Some(factor)) => {
            cube::map::<f32>(&mut input, &mut output, |values| times(values, factor))?
        }
        (Kind::Complex, Some(factor)) => cube::map::<Complex>(&mut input, &mut output, |values| {
            times(values.as_flattened_mut(), factor);
        })?,
        (Kind::Int, Some(factor)) => integers(&mut input, &mut output, factor)?,
        (Kind::Float, None) => by_maximum(job, input, &mut output, group, |values: &mut [f32]| Parts {
            sizes: values.iter().map(|value| value.abs()).collect(),
            values,
        })?,
        (Kind::Complex, None) => {
            by_maximum(job, input, &mut output, group, |values: &mut [Complex]| Parts {
                sizes: values.iter().map(|[re, im]| re.hypot(*im)).collect(),
                values: values.as_flattened_mut(),
            })?
        }
        (Kind::Int, None) => {
            bail!(
                "axis= needs float or complex data, but the input holds int data (sfdd type=float converts)"
            )
        }
        (other, _) => bail!(
            "the input holds {} data, but sfscale takes float, complex and int only (sfdd converts)",
            other.word()
        ),
    }
    Ok(output.finish()?)
}

fn times(values: &mut [f32], factor: f32) {
    values.iter_mut().for_each(|value| *value *= factor);
}

fn integers(input: &mut Input, output: &mut Output, factor: f32) -> Result<()> {
    let mut numbers = vec![0i32; PIECE.min(input.len() as usize)];
    while input.remaining() > 0 {
        let now = numbers.len().min(input.remaining() as usize);
        input.read_i32(&mut numbers[..now])?;
        let scaled: Vec<f32> = numbers[..now]
            .iter()
            .map(|n| (f64::from(*n) * f64::from(factor)) as f32)
            .collect();
        output.write_f32(&scaled)?;
    }
    Ok(())
}

/// Absolute values of elements, and the elements as real numbers.
struct Parts<'a> {
    sizes: Vec<f32>,
    values: &'a mut [f32],
}

/// Determines the factor by which a group is multiplied so that the `rank` smallest of its absolute values
/// become at most 1. The values come in pieces; if these are all values, only the largest is kept.
struct Level {
    rank: usize,
    group: usize,
    sizes: Vec<f32>,
    largest: f32,
}

impl Level {
    fn of(job: &Job, group: usize) -> Result<Self> {
        let rank = f64::from(group as f32 * job.float("pclip")?) / 100.0 + 0.5;
        Ok(Self {
            rank: (rank as usize).min(group),
            group,
            sizes: Vec::new(),
            largest: 0.0,
        })
    }

    fn see(&mut self, sizes: &[f32]) {
        self.largest = sizes.iter().copied().fold(self.largest, f32::max);
        if self.rank < self.group {
            self.sizes.extend_from_slice(sizes);
        }
    }

    /// The factor of the group that is complete; resets the state for the next group.
    fn factor(&mut self) -> f32 {
        let mut level = std::mem::take(&mut self.largest);
        if self.rank < self.group {
            level = *self.sizes.select_nth_unstable_by(self.rank, f32::total_cmp).1;
            self.sizes.clear();
        }
        if level > 0.0 { 1.0 / level } else { 0.0 }
    }
}

/// Scales each group by its factor. Large groups are read twice instead of being held in memory.
fn by_maximum<T: rsf_io::Element>(
    job: &mut Job,
    mut input: Input,
    output: &mut Output,
    group: usize,
    parts: impl Fn(&mut [T]) -> Parts,
) -> Result<()> {
    let mut level = Level::of(job, group)?;
    if group <= 16 * PIECE {
        let mut values = vec![T::zeroed(); group];
        while input.remaining() > 0 {
            input.read(&mut values)?;
            let Parts { sizes, values: reals } = parts(&mut values);
            level.see(&sizes);
            times(reals, level.factor());
            output.write(&values)?;
        }
        return Ok(());
    }
    let input = job.by_position(input)?;
    let mut values = vec![T::zeroed(); PIECE.min(group)];
    for start in (0..input.len()).step_by(group) {
        let pieces = || {
            (0..group)
                .step_by(PIECE)
                .map(|at| (start + at as u64, PIECE.min(group - at)))
        };
        for (at, now) in pieces() {
            input.read_at(at, &mut values[..now])?;
            level.see(&parts(&mut values[..now]).sizes);
        }
        let factor = level.factor();
        for (at, now) in pieces() {
            input.read_at(at, &mut values[..now])?;
            times(parts(&mut values[..now]).values, factor);
            output.write(&values[..now])?;
        }
    }
    Ok(())
}
