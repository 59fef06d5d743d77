//! One plane out of a dataset of any rank, read as a stream: only the plane is held in memory.

use std::ops::Range;

use anyhow::{Context, Result, bail, ensure};
use rsf_io::{Axis, Input};

/// More samples than this are no picture.
const LARGEST_PLANE: usize = 1 << 28;
/// A quantile over a whole file needs no more numbers than this.
const ENOUGH_FOR_A_QUANTILE: u64 = 1 << 22;

/// Which plane: two axes that are shown, and an index on every other.
#[derive(Clone, Debug)]
pub struct Selection {
    /// All axes of the dataset.
    axes: Vec<Axis>,
    /// For every axis, the indices that are wanted: one for the axes that are not shown.
    wanted: Vec<Range<usize>>,
    /// Axis that runs down, counted from 0.
    down: usize,
    /// Axis that runs to the right, counted from 0.
    across: usize,
}

impl Selection {
    /// The plane of axes `down` and `across` (counted from 1) at the indices `frame` (counted from 0) on
    /// the other axes, in their order; indices that are left out are 0.
    pub fn new(input: &Input, down: i64, across: i64, frame: &[i64]) -> Result<Self> {
        let rank = input.rank().max(2);
        let axes: Vec<Axis> = (1..=rank).map(|i| input.axis(i)).collect();
        let number = |axis: i64, key: &str| {
            let found = usize::try_from(axis - 1).ok().filter(|&i| i < rank);
            found.with_context(|| format!("{key}={axis}: {} has axes 1 to {rank}", input.name()))
        };
        let (down, across) = (number(down, "vertical")?, number(across, "horizontal")?);
        ensure!(
            down != across,
            "vertical= and horizontal= name the same axis; take two of 1 to {rank}"
        );

        let mut wanted: Vec<Range<usize>> = axes.iter().map(|axis| 0..axis.n).collect();
        let others: Vec<usize> = (0..rank).filter(|&i| i != down && i != across).collect();
        if frame.len() > others.len() {
            bail!(
                "frame= holds {} indices, but {} axes are not shown",
                frame.len(),
                others.len()
            );
        }
        for (position, &axis) in others.iter().enumerate() {
            let index = frame.get(position).copied().unwrap_or(0);
            let n = axes[axis].n;
            let found = usize::try_from(index).ok().filter(|&index| index < n);
            let index = found.with_context(|| {
                format!(
                    "frame={index}: axis {} has {n} planes, counted from 0 to {}",
                    axis + 1,
                    n as i64 - 1
                )
            })?;
            wanted[axis] = index..index + 1;
        }
        Ok(Self {
            axes,
            wanted,
            down,
            across,
        })
    }

    /// Narrows the side that runs down to coordinates from `min` to `max`.
    pub fn narrow_down(&mut self, min: Option<f32>, max: Option<f32>) -> Result<()> {
        self.narrow(self.down, min, max)
    }

    /// Narrows the side that runs to the right to coordinates from `min` to `max`.
    pub fn narrow_across(&mut self, min: Option<f32>, max: Option<f32>) -> Result<()> {
        self.narrow(self.across, min, max)
    }

    fn narrow(&mut self, axis: usize, min: Option<f32>, max: Option<f32>) -> Result<()> {
        let Axis { n, o, d, .. } = self.axes[axis];
        let inside = |i: &usize| {
            let at = f64::from(o) + *i as f64 * f64::from(d);
            // Half a sample of grace: o and d in a header have six digits.
            let grace = 0.5 * f64::from(d.abs());
            min.is_none_or(|min| at >= f64::from(min) - grace)
                && max.is_none_or(|max| at <= f64::from(max) + grace)
        };
        if min.is_none() && max.is_none() {
            return Ok(());
        }
        let first = (0..n).find(inside);
        let last = (0..n).rev().find(inside);
        let (Some(first), Some(last)) = (first, last) else {
            bail!(
                "no sample of axis {} (n={n} o={o} d={d}) lies between the given min and max",
                axis + 1
            );
        };
        self.wanted[axis] = first..last + 1;
        Ok(())
    }

    /// The axis that runs down, as narrowed.
    pub fn down(&self) -> Axis {
        self.shown(self.down)
    }

    /// The axis that runs to the right, as narrowed.
    pub fn across(&self) -> Axis {
        self.shown(self.across)
    }

    fn shown(&self, axis: usize) -> Axis {
        let (whole, wanted) = (&self.axes[axis], &self.wanted[axis]);
        let o = (f64::from(whole.o) + wanted.start as f64 * f64::from(whole.d)) as f32;
        Axis {
            n: wanted.len(),
            o,
            ..whole.clone()
        }
    }

    /// Reads the plane: `across` columns of `down` values. With `all`, the whole dataset is read, and an
    /// even choice of its values is put there.
    pub fn read(&self, input: &mut Input, mut all: Option<&mut Vec<f32>>) -> Result<Vec<f32>> {
        let mut plane = self.room(input)?;
        let mut line = vec![0.0; self.axes[0].n];
        let length = line.len() as u64;
        // Odd, so that it does not keep step with the usual lengths of lines.
        let stride = input.len().div_ceil(ENOUGH_FOR_A_QUANTILE) | 1;
        let lines = if all.is_some() {
            input.len() / length
        } else {
            self.last_line() + 1
        };

        let mut unread = 0;
        for number in 0..lines {
            let place = self.indices(number);
            if place.is_none() && all.is_none() {
                unread += length;
                continue;
            }
            input.skip(std::mem::take(&mut unread))?;
            input.read_f32(&mut line)?;
            if let Some(values) = &mut all {
                let first = (stride - number * length % stride) % stride;
                values.extend(line.iter().skip(first as usize).step_by(stride as usize));
            }
            if let Some(indices) = place {
                self.put(&line, indices, &mut plane);
            }
        }
        if !input.is_seekable() {
            // Whoever writes the pipe is let finish in peace.
            input.skip(input.len() - lines * length)?;
        }
        Ok(plane)
    }

    /// An empty plane of the right size.
    fn room(&self, input: &Input) -> Result<Vec<f32>> {
        let (rows, columns) = (self.wanted[self.down].len(), self.wanted[self.across].len());
        ensure!(!input.is_empty(), "{} holds no samples", input.name());
        let size = rows.checked_mul(columns).filter(|&size| size <= LARGEST_PLANE);
        let size = size.with_context(|| {
            format!("a plane of {rows} x {columns} samples is too large for a picture; narrow it with min1= max1= min2= max2=")
        })?;
        ensure!(
            self.axes[0].n <= LARGEST_PLANE,
            "axis 1 of {} is too long for a picture",
            input.name()
        );
        Ok(vec![0.0; size])
    }

    /// Indices (axis 1 left at 0) of line `number` of the dataset, when the plane has part in it.
    fn indices(&self, mut number: u64) -> Option<Vec<usize>> {
        let mut indices = vec![0; self.axes.len()];
        for (axis, index) in indices.iter_mut().enumerate().skip(1) {
            let n = self.axes[axis].n as u64;
            *index = (number % n) as usize;
            number /= n;
            if !self.wanted[axis].contains(index) {
                return None;
            }
        }
        Some(indices)
    }

    fn last_line(&self) -> u64 {
        let from_last = (1..self.axes.len()).rev();
        from_last.fold(0, |line, axis| {
            line * self.axes[axis].n as u64 + (self.wanted[axis].end - 1) as u64
        })
    }

    fn put(&self, line: &[f32], mut indices: Vec<usize>, plane: &mut [f32]) {
        let rows = self.wanted[self.down].len();
        for i in self.wanted[0].clone() {
            indices[0] = i;
            let row = indices[self.down] - self.wanted[self.down].start;
            let column = indices[self.across] - self.wanted[self.across].start;
            plane[column * rows + row] = line[i];
        }
    }
}
