//! `sffft3`: the Fourier transform of complex numbers along any axis.

use ::fourier::{Fft, FftDirection};
use anyhow::{Result, ensure};
use num_complex::Complex32;
use rayon::prelude::*;
use rsf_io::{Axis, Input, Job, Kind, Output, Param, Program};

use super::{cube, fourier};

/// The number of neighbouring columns that a thread transforms together, so that it reads contiguous memory.
const TOGETHER: usize = 16;

pub static SPEC: Program = Program {
    name: "sffft3",
    about: "Fourier transform of complex numbers along any axis.",
    usage: "< in.rsf axis=2 pad=2 inv=n > out.rsf",
    comments: "The axis is padded with zeros to pad= times its length (with opt=y to the next length with the factors 2, \
3 and 5 only) and transformed, with zero wavenumber in the middle of the new axis: n = nk, d = 1/(nk d), o = -1/(2 d). \
The origin of the axis is ignored: its first sample has phase 0, and every second sample changes its sign, which moves \
zero wavenumber to the middle. inv=y divides by nk; sym=y divides by the square root of nk in both directions instead.\n\n\
The header stores the axis of the input in fft3_n#, fft3_o#, fft3_d# and fft3_label#, from which inv=y restores it. A \
block of the axes up to the transformed one is held in memory.\n\n\
Differs from Madagascar: an axis that the data do not have, d=0 and an fft3_n# that does not match are errors.",
    example: "sffft1 < cube.rsf | sffft3 axis=2 | sffft3 axis=3 > spectrum.rsf",
    params: &PARAMS,
};

static PARAMS: [Param; 6] = [
    Param::int("axis")
        .default("2")
        .range("1 to 9", Some(1.0), Some(9.0))
        .doc("axis that is transformed"),
    Param::int("pad")
        .default("2")
        .range(">= 1", Some(1.0), None)
        .doc("factor by which the axis becomes longer"),
    Param::bool("inv")
        .default("n")
        .doc("y: transform back from wavenumbers"),
    Param::bool("sym")
        .default("n")
        .doc("y: use the same factor in both directions, so that the transform preserves the norm"),
    Param::bool("opt")
        .default("y")
        .doc("y: pad to a length whose only prime factors are 2, 3 and 5"),
    Param::int("sign")
        .default_text("0, with inv=y 1")
        .range("0 or 1", Some(0.0), Some(1.0))
        .doc("sign of the exponent: 0 minus, 1 plus"),
];

/// The transform of one group: `inner` columns of `before` elements become `after` elements each.
struct Group {
    inner: usize,
    before: usize,
    after: usize,
    plan: std::sync::Arc<dyn Fft<f32>>,
    /// The factor of elements of even index; elements of odd index have the opposite sign.
    scale: f32,
    inverse: bool,
}

pub fn run(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    cube::expect(&input, Kind::Complex)?;
    let number = job.int("axis")? as usize;
    let axes = cube::shape_to(&input, cube::present(&input))?;
    ensure!(
        number <= axes.len(),
        "axis={number}: the data have {} axes ({})",
        axes.len(),
        input.header().sizes()
    );
    let axis = &axes[number - 1];
    ensure!(
        axis.d != 0.0,
        "d{number}=0 in the header, but the transform needs a sampling interval (sfput d{number}= sets it)"
    );
    let inverse = job.flag("inv")?;
    let mut output = job.output()?;
    let (after, length) = match inverse {
        true => back(number, axis, &input, &mut output)?,
        false => there(job, number, axis, &mut output)?,
    };
    let direction = match job.int_opt("sign")? {
        Some(0) => FftDirection::Forward,
        Some(_) => FftDirection::Inverse,
        None if inverse => FftDirection::Inverse,
        None => FftDirection::Forward,
    };
    let scale = match (job.flag("sym")?, inverse) {
        (true, _) => (length as f32).powf(-0.5),
        (false, true) => 1.0 / length as f32,
        (false, false) => 1.0,
    };
    let group = Group {
        inner: cube::count(&axes[..number - 1]),
        before: axis.n,
        after,
        plan: ::fourier::complex(length, direction),
        scale,
        inverse,
    };
    group.stream(&mut input, &mut output)?;
    Ok(output.finish()?)
}

/// Writes the axis of wavenumbers; returns the lengths of the output and of the transform.
fn there(job: &Job, number: usize, axis: &Axis, output: &mut Output) -> Result<(usize, usize)> {
    let samples = axis.n.checked_mul(job.int("pad")? as usize);
    let samples = samples.filter(|n| *n < 1 << 40);
    let Some(samples) = samples else {
        anyhow::bail!("pad= makes axis {number} longer than 2^40 samples: give a smaller factor");
    };
    let length = if job.flag("opt")? {
        fourier::fast_length(samples)
    } else {
        samples
    };
    if length != axis.n {
        job.say(&format!(
            "axis {number} is padded from {} to {length} samples",
            axis.n
        ));
    }
    output.put_int(&format!("fft3_n{number}"), axis.n as i64);
    output.put_float(&format!("fft3_o{number}"), axis.o);
    output.put_float(&format!("fft3_d{number}"), axis.d);
    if let Some(label) = &axis.label {
        output.put_text(&format!("fft3_label{number}"), label);
    }
    let wavenumbers = Axis {
        n: length,
        o: -0.5 / axis.d,
        d: (1.0 / (length as f64 * f64::from(axis.d))) as f32,
        label: fourier::label(axis.label.as_deref(), axis.unit.as_deref(), true),
        unit: fourier::unit(axis.unit.as_deref()),
    };
    output.set_axis(number, &wavenumbers);
    Ok((length, length))
}

/// Writes the axis that the data had before the forward transform; returns the lengths of the output and of
/// the transform.
fn back(number: usize, axis: &Axis, input: &Input, output: &mut Output) -> Result<(usize, usize)> {
    let (header, key) = (input.header(), |name: &str| format!("fft3_{name}{number}"));
    let n = header.large_int(&key("n")).unwrap_or(axis.n as i64);
    ensure!(
        n >= 1 && n <= axis.n as i64,
        "fft3_n{number}={n} in the header does not fit axis {number}: its {} wavenumbers can be transformed to 1 to {} samples",
        axis.n,
        axis.n
    );
    let label = header.text(&key("label"));
    let axis = Axis {
        n: n as usize,
        o: header.float(&key("o")).unwrap_or(0.0),
        d: fourier::sampling(header, &key("d"), axis.n, axis.d) as f32,
        label: label.or_else(|| fourier::label(axis.label.as_deref(), axis.unit.as_deref(), false)),
        unit: fourier::unit(axis.unit.as_deref()),
    };
    output.set_axis(number, &axis);
    Ok((axis.n, input.axis(number).n))
}

impl Group {
    /// Transforms group after group. The elements of a column lie `inner` elements apart. Small groups are processed
    /// together.
    fn stream(&self, input: &mut Input, output: &mut Output) -> Result<()> {
        let size = self.inner * self.before;
        let together = (cube::PIECE / size).max(1) as u64;
        let (mut values, mut results): (Vec<[f32; 2]>, Vec<[f32; 2]>) = (Vec::new(), Vec::new());
        while input.remaining() > 0 {
            let now = (input.remaining() / size as u64).min(together) as usize;
            if values.len() != now * size {
                values = cube::room(now * size)?;
                results = cube::room(now * self.inner * self.after)?;
            }
            input.read(&mut values)?;
            let (from, to): (&[Complex32], &mut [Complex32]) = (
                bytemuck::cast_slice(&values),
                bytemuck::cast_slice_mut(&mut results),
            );
            if now > 1 || self.inner == 1 {
                let groups = to.par_chunks_exact_mut(self.inner * self.after);
                let both = groups.zip(from.par_chunks_exact(size));
                both.for_each(|(to, from)| self.whole(from, to));
            } else {
                self.one(from, to)?;
            }
            output.write(&results)?;
        }
        Ok(())
    }

    /// Transforms a small group, by one thread.
    fn whole(&self, from: &[Complex32], to: &mut [Complex32]) {
        for first in (0..self.inner).step_by(TOGETHER) {
            let columns = self.columns(from, first);
            let width = columns.len() / self.after;
            for (row, values) in to.chunks_exact_mut(self.inner).zip(columns.chunks_exact(width)) {
                row[first..first + width].copy_from_slice(values);
            }
        }
    }

    /// Transforms a large group, by all threads, and gathers the rows of the result from the transformed columns.
    fn one(&self, from: &[Complex32], to: &mut [Complex32]) -> Result<()> {
        let starts: Vec<usize> = (0..self.inner).step_by(TOGETHER).collect();
        // Half of the columns are transformed at a time, so that these buffers need no more memory than half
        // of a group.
        for some in starts.chunks(starts.len().div_ceil(2).max(1)) {
            let done: Vec<Vec<Complex32>> = some.par_iter().map(|first| self.columns(from, *first)).collect();
            to.par_chunks_exact_mut(self.inner)
                .enumerate()
                .for_each(|(i, row)| {
                    for (first, columns) in some.iter().zip(&done) {
                        let width = columns.len() / self.after;
                        row[*first..first + width].copy_from_slice(&columns[i * width..][..width]);
                    }
                });
        }
        Ok(())
    }

    /// Transforms up to [`TOGETHER`] columns from column `first` on; the result is ordered by rows, as in the output.
    fn columns(&self, from: &[Complex32], first: usize) -> Vec<Complex32> {
        let (width, length) = (TOGETHER.min(self.inner - first), self.plan.len());
        let mut columns = vec![Complex32::default(); width * length];
        let sign = |i: usize| {
            if i.is_multiple_of(2) {
                self.scale
            } else {
                -self.scale
            }
        };
        for (i, row) in from.chunks_exact(self.inner).enumerate() {
            let factor = if self.inverse { 1.0 } else { sign(i) };
            for (j, value) in row[first..first + width].iter().enumerate() {
                columns[j * length + i] = value * factor;
            }
        }
        self.plan.process(&mut columns);
        let mut rows = vec![Complex32::default(); width * self.after];
        for (i, row) in rows.chunks_exact_mut(width).enumerate() {
            let factor = if self.inverse { sign(i) } else { 1.0 };
            for (j, value) in row.iter_mut().enumerate() {
                *value = columns[j * length + i] * factor;
            }
        }
        rows
    }
}
