//! Planes of a dataset of any rank, read as a stream and thinned while they are read.
//!
//! A plane with more samples than a picture needs is held as means over blocks of samples, so that the memory does not
//! grow with the data.

use std::ops::Range;

use anyhow::{Context, Result, bail, ensure};
use rsf_io::{Axis, Input, Kind};

use super::samples::Samples;

/// Sides with more samples than this are thinned.
const LONGEST_SIDE: usize = 4096;
/// The largest length of axis 1.
const LONGEST_LINE: usize = 1 << 28;

/// The selection of planes: two axes that are shown, and indices on the others.
#[derive(Clone, Debug)]
pub struct Selection {
    /// All axes of the dataset.
    axes: Vec<Axis>,
    /// The selected indices on every axis; on an axis that is not shown, usually a single index.
    ranges: Vec<Range<usize>>,
    /// Axis 1 of the picture, counted from 0.
    one: usize,
    /// Axis 2 of the picture, counted from 0.
    two: usize,
}

/// A part of an axis, divided into blocks of samples.
#[derive(Clone, Debug)]
pub struct Side {
    /// Number of samples.
    pub samples: usize,
    /// Number of samples in a block; the last block may have fewer.
    pub block: usize,
    /// Coordinate of the outer edge of the first sample.
    pub first: f64,
    /// Coordinate of the outer edge of the last sample.
    pub last: f64,
}

impl Side {
    /// The samples in a `range` of an axis.
    pub fn new(axis: &Axis, range: &Range<usize>) -> Self {
        let step = step_of(axis);
        let rim = |index: usize| f64::from(axis.o) + (index as f64 - 0.5) * step;
        Self {
            samples: range.len(),
            block: range.len().div_ceil(LONGEST_SIDE),
            first: rim(range.start),
            last: rim(range.end),
        }
    }

    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.samples.div_ceil(self.block)
    }

    /// Coordinate of the centre of block `number`, interpolated for fractions.
    pub fn coordinate(&self, number: f64) -> f64 {
        let step = (self.last - self.first) / self.samples as f64;
        self.first + (number + 0.5) * self.block as f64 * step
    }

    /// The blocks, at least one, that pixel `pixel` of `pixels` covers.
    pub fn shown(&self, pixel: usize, pixels: usize) -> Range<usize> {
        let first = (pixel * self.samples / pixels).min(self.samples - 1);
        let end = ((pixel + 1) * self.samples / pixels).max(first + 1);
        first / self.block..end.div_ceil(self.block)
    }
}

/// A plane of values.
#[derive(Clone, Debug)]
pub struct Plane {
    /// Means of the blocks: `two.blocks()` columns of `one.blocks()` values.
    pub values: Vec<f32>,
    /// Axis 1, along a column.
    pub one: Side,
    /// Axis 2, from column to column.
    pub two: Side,
}

impl Selection {
    /// The plane of axes `one` and `two` (counted from 1) at the indices `frame` (counted from 0) on
    /// the other axes, in order; missing indices are 0.
    ///
    /// # Errors
    /// Returns an error if the data have no samples, no such axis or no such index.
    pub fn new(input: &Input, one: i64, two: i64, frame: &[i64]) -> Result<Self> {
        let rank = input.rank().max(2);
        let axes: Vec<Axis> = (1..=rank).map(|i| input.axis(i)).collect();
        ensure!(!input.is_empty(), "{} holds no samples", input.name());
        ensure!(
            axes[0].n <= LONGEST_LINE,
            "axis 1 of {} has more than {LONGEST_LINE} samples: extract a part of it with sfwindow",
            input.name()
        );
        let number = |axis: i64, key: &str| {
            let place = usize::try_from(axis - 1).ok().filter(|&i| i < rank);
            place.with_context(|| format!("{key}={axis}: {} has axes 1 to {rank}", input.name()))
        };
        let (one, two) = (number(one, "vertical")?, number(two, "horizontal")?);
        ensure!(
            one != two,
            "vertical= and horizontal= name the same axis; choose two different ones of 1 to {rank}"
        );
        let ranges = axes.iter().map(|axis| 0..axis.n).collect();
        let mut selection = Self {
            axes,
            ranges,
            one,
            two,
        };
        selection.choose(frame)?;
        Ok(selection)
    }

    /// The axes that are not shown, counted from 0.
    pub fn others(&self) -> Vec<usize> {
        (0..self.axes.len())
            .filter(|&i| i != self.one && i != self.two)
            .collect()
    }

    fn choose(&mut self, frame: &[i64]) -> Result<()> {
        let others = self.others();
        if frame.len() > others.len() {
            bail!(
                "frame= holds {} indices, but {} axes are not shown",
                frame.len(),
                others.len()
            );
        }
        for (position, &axis) in others.iter().enumerate() {
            let index = frame.get(position).copied().unwrap_or(0);
            let n = self.axes[axis].n;
            let place = usize::try_from(index).ok().filter(|&index| index < n);
            let index = place.with_context(|| {
                format!(
                    "frame={index}: axis {} has {n} planes, counted from 0 to {}",
                    axis + 1,
                    n as i64 - 1
                )
            })?;
            self.ranges[axis] = index..index + 1;
        }
        Ok(())
    }

    /// Selects the planes at `indices` (from 0) of axis `axis` (from 0, not shown) instead of one plane.
    pub fn take(&mut self, axis: usize, indices: Range<usize>) {
        self.ranges[axis] = indices;
    }

    /// Leaves out the samples that lie entirely outside `min` to `max` on axis 1 or 2 of the picture.
    ///
    /// # Errors
    /// Returns an error if no sample is left.
    pub fn narrow(&mut self, number: usize, min: Option<f64>, max: Option<f64>) -> Result<()> {
        let axis = if number == 1 { self.one } else { self.two };
        if let (Some(min), Some(max)) = (min, max) {
            ensure!(
                min < max,
                "min{number}={min} is not below max{number}={max}; to reverse an axis, use xreverse= or yreverse="
            );
        }
        let Axis { n, o, d, .. } = self.axes[axis];
        let step = step_of(&self.axes[axis]);
        let half = 0.5 * step.abs();
        // A tolerance of a hundredth of a sample, because o and d have only six digits in a header.
        let grace = 0.01 * step.abs();
        let inside = |i: &usize| {
            let at = f64::from(o) + *i as f64 * step;
            min.is_none_or(|min| at + half > min + grace) && max.is_none_or(|max| at - half < max - grace)
        };
        if min.is_none() && max.is_none() {
            return Ok(());
        }
        let first = (0..n).find(inside);
        let last = (0..n).rev().find(inside);
        let (Some(first), Some(last)) = (first, last) else {
            bail!(
                "no sample of axis {} (n={n} o={o} d={d}) lies within min{number}= and max{number}=",
                axis + 1
            );
        };
        self.ranges[axis] = first..last + 1;
        Ok(())
    }

    /// Axes 1 and 2 of the picture, from the header.
    pub fn axes(&self) -> (&Axis, &Axis) {
        (&self.axes[self.one], &self.axes[self.two])
    }

    /// All axes of the dataset.
    pub fn all_axes(&self) -> &[Axis] {
        &self.axes
    }

    /// The selected parts of axes 1 and 2 of the picture.
    pub fn sides(&self) -> (Side, Side) {
        let side = |axis: usize| Side::new(&self.axes[axis], &self.ranges[axis]);
        (side(self.one), side(self.two))
    }

    /// Reads the selected plane, and passes `samples` the lines that it needs.
    pub fn read(&self, input: &mut Input, samples: &mut Samples) -> Result<Plane> {
        let mut result = None;
        self.read_each(input, samples, |plane| {
            result = Some(plane);
            Ok(())
        })?;
        result.context("the plane was not found in the data")
    }

    /// Reads the selected planes in the order of the file and passes each to `done` as soon as it is complete. If axis
    /// 1 of the dataset is not shown, all planes are kept until the end.
    pub fn read_each(
        &self,
        input: &mut Input,
        samples: &mut Samples,
        mut done: impl FnMut(Plane) -> Result<()>,
    ) -> Result<()> {
        let length = self.axes[0].n as u64;
        let lines = if samples.wants_all() {
            input.len() / length
        } else {
            self.last_line() + 1
        };
        let mut line = vec![0.0; length as usize];
        let mut open: Vec<(Vec<usize>, Gathering)> = Vec::new();
        let mut unread = 0;
        for number in 0..lines {
            let place = self.indices(number);
            if place.is_none() && !samples.wants_all() {
                unread += length;
                continue;
            }
            input.skip(std::mem::take(&mut unread))?;
            read_line(input, &mut line)?;
            samples.see(
                number * length,
                &line,
                place.is_some().then(|| self.ranges[0].clone()),
            );
            let Some(indices) = place else { continue };
            self.put(&line, indices, &mut open);
            while open.first().is_some_and(|(_, first)| first.missing == 0) {
                done(open.remove(0).1.plane())?;
            }
        }
        if !input.is_seekable() {
            // The rest of a pipe is read, so that the program that writes it does not fail.
            input.skip(input.len() - lines * length)?;
        }
        Ok(())
    }

    /// The indices of line `number` of the dataset (0 on axis 1), if it belongs to a selected plane.
    fn indices(&self, mut number: u64) -> Option<Vec<usize>> {
        let mut indices = vec![0; self.axes.len()];
        for (axis, index) in indices.iter_mut().enumerate().skip(1) {
            let n = self.axes[axis].n as u64;
            *index = (number % n) as usize;
            number /= n;
            if !self.ranges[axis].contains(index) {
                return None;
            }
        }
        Some(indices)
    }

    fn last_line(&self) -> u64 {
        let from_last = (1..self.axes.len()).rev();
        from_last.fold(0, |line, axis| {
            line * self.axes[axis].n as u64 + (self.ranges[axis].end - 1) as u64
        })
    }

    /// Adds a line of the dataset to the planes to which it belongs.
    fn put(&self, line: &[f32], mut indices: Vec<usize>, open: &mut Vec<(Vec<usize>, Gathering)>) {
        let others = self.others();
        let part = &line[self.ranges[0].clone()];
        let key = |indices: &[usize]| others.iter().map(|&axis| indices[axis]).collect();
        let place = |axis: usize, indices: &[usize]| indices[axis] - self.ranges[axis].start;
        if !others.contains(&0) {
            // The line belongs to one plane, along one of its axes.
            let at = self.plane_of(key(&indices), open);
            let along_one = self.one == 0;
            let fixed = place(if along_one { self.two } else { self.one }, &indices);
            return open[at].1.add_run(along_one, fixed, part);
        }
        for (offset, value) in part.iter().enumerate() {
            indices[0] = self.ranges[0].start + offset;
            let at = self.plane_of(key(&indices), open);
            let (row, column) = (place(self.one, &indices), place(self.two, &indices));
            open[at].1.add(row, column, *value);
        }
    }

    /// The position, in the list of incomplete planes, of the plane with these indices on the axes that are
    /// not shown. A new plane is added to the list.
    fn plane_of(&self, key: Vec<usize>, open: &mut Vec<(Vec<usize>, Gathering)>) -> usize {
        let known = match open.last() {
            Some((last, _)) if *last == key => Some(open.len() - 1),
            _ => open.iter().position(|(known, _)| *known == key),
        };
        known.unwrap_or_else(|| {
            let (one, two) = self.sides();
            open.push((key, Gathering::new(one, two)));
            open.len() - 1
        })
    }
}

/// A plane that is being read.
pub struct Gathering {
    sums: Vec<f32>,
    one: Side,
    two: Side,
    missing: usize,
}

impl Gathering {
    /// A plane that has no samples yet.
    pub fn new(one: Side, two: Side) -> Self {
        Self {
            sums: vec![0.0; one.blocks() * two.blocks()],
            missing: one.samples * two.samples,
            one,
            two,
        }
    }

    /// Adds a run of samples that begins at index 0 of axis 1 (`along_one`) or 2, at index `fixed` of the other axis.
    pub fn add_run(&mut self, along_one: bool, fixed: usize, values: &[f32]) {
        let rows = self.one.blocks();
        let (block, first, step) = if along_one {
            (self.one.block, fixed / self.two.block * rows, 1)
        } else {
            (self.two.block, fixed / self.one.block, rows)
        };
        for (number, piece) in values.chunks(block).enumerate() {
            self.sums[first + number * step] += piece.iter().sum::<f32>();
        }
        self.missing = self.missing.saturating_sub(values.len());
    }

    /// Adds the sample at `row` of axis 1 and `column` of axis 2.
    pub fn add(&mut self, row: usize, column: usize, value: f32) {
        let (row, column) = (row / self.one.block, column / self.two.block);
        self.sums[column * self.one.blocks() + row] += value;
        self.missing = self.missing.saturating_sub(1);
    }

    /// Completes the plane: the sums of blocks become means.
    pub fn plane(mut self) -> Plane {
        let count = |side: &Side, block: usize| (side.samples - block * side.block).min(side.block);
        if self.one.block * self.two.block > 1 {
            for (column, values) in self.sums.chunks_mut(self.one.blocks()).enumerate() {
                for (row, value) in values.iter_mut().enumerate() {
                    *value /= (count(&self.one, row) * count(&self.two, column)) as f32;
                }
            }
        }
        Plane {
            values: self.sums,
            one: self.one,
            two: self.two,
        }
    }
}

/// Whether the data are bytes of `sfbyte`, which are colour numbers.
pub fn holds_colours(input: &Input) -> bool {
    matches!(input.format().kind, Kind::Uchar | Kind::Char)
}

/// Reads the next values: reals, or the bytes of `sfbyte`.
pub fn read_line(input: &mut Input, line: &mut [f32]) -> Result<()> {
    if holds_colours(input) {
        let mut bytes = vec![0u8; line.len()];
        input.read_bytes(&mut bytes)?;
        for (value, byte) in line.iter_mut().zip(bytes) {
            *value = f32::from(byte);
        }
        return Ok(());
    }
    Ok(input.read_f32(line)?)
}

/// The sampling interval of an axis, or 1 if it is 0.
pub fn step_of(axis: &Axis) -> f64 {
    if axis.d == 0.0 { 1.0 } else { f64::from(axis.d) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(samples: usize, block: usize) -> Side {
        Side {
            samples,
            block,
            first: 0.0,
            last: samples as f64,
        }
    }

    /// The last block of an axis may contain fewer samples than the others.
    #[test]
    fn blocks_have_the_mean_of_their_samples() {
        let mut gathering = Gathering::new(side(5, 3), side(3, 2));
        for column in 0..3 {
            let base = 10.0 * column as f32;
            gathering.add_run(true, column, &[1.0, 2.0, 3.0, 4.0, 5.0].map(|x| x + base));
        }
        assert_eq!(gathering.plane().values, [7.0, 9.5, 22.0, 24.5]);
    }

    #[test]
    fn every_sample_is_shown_and_no_pixel_is_empty() {
        for (samples, pixels) in [(1, 7), (5, 7), (7, 7), (100, 7), (101, 7)] {
            for block in [1, 3] {
                let side = side(samples, block);
                let mut seen = vec![false; side.blocks()];
                for pixel in 0..pixels {
                    let shown = side.shown(pixel, pixels);
                    assert!(
                        !shown.is_empty() && shown.end <= side.blocks(),
                        "{samples} samples, pixel {pixel}: {shown:?}"
                    );
                    seen[shown].fill(true);
                }
                assert!(
                    seen.iter().all(|&one| one),
                    "{samples} samples on {pixels} pixels: some are not shown"
                );
            }
        }
    }
}
