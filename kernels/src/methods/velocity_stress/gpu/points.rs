//! Sources and receivers as tables for the device.

use super::arguments::{Inject, SlabArgs, int, shot_len};
use super::{Acquisition, Setup};
use crate::device::accelerator::{Accelerator, Memory, send};
use crate::device::simd::Real;
use crate::grid::Padded;
use crate::methods::velocity_stress::GHOST;
use crate::parallel::slabs::Slab as Layout;
use crate::{Error, Hint, message};
use std::collections::BTreeMap;
use std::ops::Range;

/// Index of a cell of a plane (own or ghost) in the fields of a slab for shot number `shot`.
fn place(p: &Padded, layout: &Layout, (shot, field): (usize, usize), [plane, row, z]: [usize; 3]) -> i64 {
    let local = plane + GHOST - layout.own.start;
    let planes = field * (layout.own.len() + 2 * GHOST) + local;
    (shot * shot_len(p, layout) + planes * p.plane_len() + row * p.pitch() + z) as i64
}

/// Converts an index into a list of nodes to the `int` of the kernels.
fn listed(n: usize, what: &str) -> Result<i32, Error> {
    i32::try_from(n).map_err(|_| {
        Error::setup(message![
            format!(
                "the {what} of one GPU use {n} nodes or more; {} are possible: use fewer {what}, or ",
                i32::MAX
            ),
            Hint::MoreGpus,
        ])
    })
}

/// The cells on which sources act in one stage.
struct Stage<A: Accelerator> {
    cell: A::Memory,
    first: A::Memory,
    series: A::Memory,
    weight: A::Memory,
    /// Index of the first cell of every plane that the slab owns, followed by the number of cells.
    begins: Vec<usize>,
}

/// The sources of a slab.
pub struct SourceMemory<A: Accelerator> {
    stages: [Stage<A>; 2],
    /// `[step][series]`
    strength: A::Memory,
    series: usize,
    steps: usize,
}

/// The time series of all sources, shot by shot, and the length of the longest.
fn histories<T: Real>(shots: &[Acquisition<T>]) -> (Vec<&Vec<T>>, usize) {
    let all: Vec<_> = shots.iter().flat_map(|shot| shot.spots.series()).collect();
    let steps = all.iter().map(|series| series.len()).max().unwrap_or(0);
    (all, steps)
}

/// The time series of all sources times `sign`, `[step][series]`.
fn strength<T: Real, A: Accelerator>(a: &A, shots: &[Acquisition<T>], sign: f64) -> Result<A::Memory, Error> {
    let (all, steps) = histories(shots);
    let at = |it: usize, series: &Vec<T>| T::of(sign * series.get(it).map_or(0.0, |x| x.f64()));
    let numbers: Vec<T> = (0..steps)
        .flat_map(|it| all.iter().map(move |&series| at(it, series)))
        .collect();
    send(a, &numbers)
}

impl<A: Accelerator> SourceMemory<A> {
    /// Multiplies all time series by `sign`, 1 or -1, from the next step on.
    pub fn set_sign<T: Real>(&mut self, a: &A, shots: &[Acquisition<T>], sign: f64) -> Result<(), Error> {
        // Kernels may still be reading the old points.
        a.finish()?;
        self.strength = strength(a, shots, sign)?;
        Ok(())
    }

    /// Copies the tables for the planes that the slab owns to the device.
    pub fn new<T: Real>(
        a: &A,
        (setup, shots): (&Setup<T>, &[Acquisition<T>]),
        layout: &Layout,
    ) -> Result<Self, Error> {
        let (all, steps) = histories(shots);
        let stage = |stage| Stage::new(a, (&setup.padded, shots), layout, stage);
        Ok(Self {
            stages: [stage(0)?, stage(1)?],
            strength: strength(a, shots, 1.0)?,
            series: all.len(),
            steps,
        })
    }

    /// Bytes of device memory.
    pub fn bytes(&self) -> usize {
        let stages = self.stages.iter().map(|s| {
            [&s.cell, &s.first, &s.series, &s.weight]
                .into_iter()
                .map(Memory::bytes)
                .sum::<usize>()
        });
        stages.sum::<usize>() + self.strength.bytes()
    }

    /// Kernel arguments for the sources on some planes in a stage; `own` is the first plane that the slab owns.
    pub fn args<T>(
        &self,
        slab: SlabArgs<T>,
        (stage, own): (usize, usize),
        planes: &Range<usize>,
        it: usize,
    ) -> Inject<T> {
        let s = &self.stages[stage];
        Inject {
            slab,
            cell: s.cell.address(),
            first: s.first.address(),
            series: s.series.address(),
            weight: s.weight.address(),
            strength: self.strength.address(),
            all_series: self.series as i64,
            begin: int(s.begins[planes.start - own]),
            end: int(s.begins[planes.end - own]),
            step: int(it),
            steps: int(self.steps),
        }
    }
}

impl<A: Accelerator> Stage<A> {
    fn new<T: Real>(
        a: &A,
        (p, shots): (&Padded, &[Acquisition<T>]),
        layout: &Layout,
        stage: usize,
    ) -> Result<Self, Error> {
        let (mut cell, mut first, mut series, mut weight) = (vec![], vec![0i32], vec![], vec![]);
        let mut begins = vec![0];
        for plane in layout.own.clone() {
            let mut cells: BTreeMap<i64, Vec<(i32, T)>> = BTreeMap::new();
            let mut before = 0;
            for (shot, Acquisition { spots, .. }) in shots.iter().enumerate() {
                for spot in spots.on(stage, plane) {
                    let at = [plane, spot.row as usize, spot.z as usize];
                    let at = place(p, layout, (shot, usize::from(spot.field)), at);
                    let series = int(before + spot.series as usize);
                    cells.entry(at).or_default().push((series, spot.weight));
                }
                before += spots.series().len();
            }
            for (at, acting) in cells {
                cell.push(at);
                for (number, strength) in acting {
                    series.push(number);
                    weight.push(strength);
                }
                first.push(listed(series.len(), "sources")?);
            }
            begins.push(cell.len());
        }
        Ok(Self {
            cell: send(a, &cell)?,
            first: send(a, &first)?,
            series: send(a, &series)?,
            weight: send(a, &weight)?,
            begins,
        })
    }
}

/// The receivers of a slab.
pub struct ReceiverMemory<A: Accelerator> {
    /// Indices into a record of the values that are read here; the records of the shots are concatenated.
    pub own: Vec<usize>,
    pub first: A::Memory,
    pub cell: A::Memory,
    pub weight: A::Memory,
}

impl<A: Accelerator> ReceiverMemory<A> {
    /// Copies the tables of the receivers on the planes that the slab owns to the device.
    pub fn new<T: Real>(
        a: &A,
        (p, shots): (&Padded, &[Acquisition<T>]),
        layout: &Layout,
    ) -> Result<Self, Error> {
        let (mut own, mut before) = (Vec::new(), 0);
        let (mut first, mut cell, mut weight) = (vec![0i32], Vec::new(), Vec::new());
        for (shot, Acquisition { receivers, .. }) in shots.iter().enumerate() {
            for number in receivers.own(&layout.own) {
                for node in receivers.nodes(number) {
                    let at = [node.plane, node.row, node.z].map(|k| k as usize);
                    cell.push(place(p, layout, (shot, node.field as usize), at));
                    weight.push(node.weight);
                }
                own.push(before + number);
                first.push(listed(cell.len(), "receivers")?);
            }
            before += receivers.values();
        }
        Ok(Self {
            own,
            first: send(a, &first)?,
            cell: send(a, &cell)?,
            weight: send(a, &weight)?,
        })
    }

    /// Bytes of device memory.
    pub fn bytes(&self) -> usize {
        self.first.bytes() + self.cell.bytes() + self.weight.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_that_are_too_long_are_refused() {
        assert_eq!(listed(i32::MAX as usize, "receivers").unwrap(), i32::MAX);
        let words = listed(1 << 31, "receivers").unwrap_err().to_string();
        assert!(
            words.contains("2147483648") && words.contains("2147483647"),
            "{words}"
        );
    }
}
