//! Sources and receivers as tables for the device.

use super::super::program::Discrete;
use super::arguments::{GridArgs, Inject, Lists, int};
use super::sizes::{Sizes, after};
use crate::Error;
use crate::device::accelerator::{Accelerator, Memory, send};
use crate::methods::velocity_stress::receivers::Quantity;
use std::collections::BTreeMap;

/// Lists of places with weights.
#[derive(Default)]
struct Listed {
    first: Vec<i32>,
    place: Vec<i64>,
    weight: Vec<f32>,
}

impl Listed {
    /// From the entries of each list.
    fn of(lists: impl Iterator<Item = Vec<(i64, f32)>>) -> Result<Self, Error> {
        let mut made = Self::default();
        made.first.push(0);
        for list in lists {
            for (place, weight) in list {
                made.place.push(place);
                made.weight.push(weight);
            }
            let end = i32::try_from(made.place.len());
            made.first.push(end.map_err(|_| {
                Error::setup(format!(
                    "the points of a shot use {} nodes or more on a GPU; {} are possible: take fewer sources or receivers",
                    made.place.len(),
                    i32::MAX
                ))
            })?);
        }
        Ok(made)
    }
}

/// Where a cell stands among velocities and stresses.
fn place(program: &Discrete<f32>, field: usize, [plane, row, z]: [usize; 3]) -> i64 {
    (field * program.rows.len + program.rows.at(plane, row) + z) as i64
}

/// Cells of a stage with the series that act on them.
fn spots(program: &Discrete<f32>, stage: usize) -> BTreeMap<i64, Vec<(i64, f32)>> {
    let mut cells: BTreeMap<i64, Vec<(i64, f32)>> = BTreeMap::new();
    for plane in program.rows.planes.clone() {
        for spot in program.setup.spots.on(stage, plane) {
            if program.rows.rows.contains(&(spot.row as usize)) {
                let at = [plane, spot.row as usize, spot.z as usize];
                let cell = place(program, usize::from(spot.field), at);
                let acting = (i64::from(spot.series), spot.weight);
                cells.entry(cell).or_default().push(acting);
            }
        }
    }
    cells
}

/// The nodes of a number of a record.
fn nodes(program: &Discrete<f32>, number: usize) -> Vec<(i64, f32)> {
    let nodes = program.setup.receivers.nodes(number).iter();
    let at = nodes.map(|node| {
        let at = [node.plane, node.row, node.z].map(|k| k as usize);
        (place(program, node.field as usize, at), node.weight)
    });
    at.collect()
}

/// Lists on a device.
struct ListMemory<A: Accelerator> {
    first: A::Memory,
    place: A::Memory,
    weight: A::Memory,
    /// The cells of lists that have one.
    cell: A::Memory,
    count: usize,
}

impl<A: Accelerator> ListMemory<A> {
    fn new(a: &A, listed: &Listed, cells: &[i64]) -> Result<Self, Error> {
        Ok(Self {
            first: send(a, &listed.first)?,
            place: send(a, &listed.place)?,
            weight: send(a, &listed.weight)?,
            cell: send(a, cells)?,
            count: listed.first.len() - 1,
        })
    }

    /// The lists of cells.
    fn by_cell(a: &A, cells: BTreeMap<i64, Vec<(i64, f32)>>) -> Result<Self, Error> {
        let at: Vec<i64> = cells.keys().copied().collect();
        Self::new(a, &Listed::of(cells.into_values())?, &at)
    }
}

/// Which fields something comes back to.
#[derive(Clone, Copy)]
pub enum Fields {
    /// Velocities.
    Velocities,
    /// Stresses.
    Stresses,
}

/// The points of a shot.
pub struct Points<A: Accelerator> {
    stages: [ListMemory<A>; 2],
    /// The series of the lists of a stage.
    series: [A::Memory; 2],
    /// `[step][series]`
    strength: A::Memory,
    all_series: usize,
    steps: usize,
    /// What each number of a record reads.
    reads: ListMemory<A>,
    /// The numbers of a record that each cell is read for, and how many cells of velocities there are.
    read_for: ListMemory<A>,
    read_velocities: usize,
    quantity: Quantity,
    dt: f32,
}

impl<A: Accelerator> Points<A> {
    /// Sends the tables of a shot.
    pub fn new(a: &A, program: &Discrete<f32>) -> Result<Self, Error> {
        let all = program.setup.spots.series();
        let steps = all.iter().map(Vec::len).max().unwrap_or(0);
        let at = |it: usize| {
            all.iter()
                .map(move |series| series.get(it).copied().unwrap_or(0.0))
        };
        let strength: Vec<f32> = (0..steps).flat_map(at).collect();
        let cells = [spots(program, 0), spots(program, 1)];
        let series = cells.each_ref().map(|cells| {
            let numbers = cells.values().flatten().map(|(series, _)| *series as i32);
            numbers.collect::<Vec<_>>()
        });
        let [forces, moments] = cells;
        let mut read_for: BTreeMap<i64, Vec<(i64, f32)>> = BTreeMap::new();
        for number in 0..program.values() {
            for (cell, weight) in nodes(program, number) {
                read_for.entry(cell).or_default().push((number as i64, weight));
            }
        }
        let reads = Listed::of((0..program.values()).map(|number| nodes(program, number)))?;
        Ok(Self {
            stages: [ListMemory::by_cell(a, forces)?, ListMemory::by_cell(a, moments)?],
            series: [send(a, &series[0])?, send(a, &series[1])?],
            strength: send(a, &strength)?,
            all_series: all.len(),
            steps,
            reads: ListMemory::new(a, &reads, &[])?,
            read_velocities: read_for
                .range(..(program.ndim() * program.rows.len) as i64)
                .count(),
            read_for: ListMemory::by_cell(a, read_for)?,
            quantity: program.setup.quantity,
            dt: program.setup.dt as f32,
        })
    }

    /// What acts on the fields in a stage of step `it`; nothing where no source does.
    pub fn inject(&self, (fields, grid): (u64, &GridArgs), (stage, it): (usize, usize)) -> Option<Inject> {
        let lists = &self.stages[stage];
        if lists.count == 0 || it >= self.steps {
            return None;
        }
        Some(Inject {
            fields,
            cell: lists.cell.address(),
            first: lists.first.address(),
            series: self.series[stage].address(),
            weight: lists.weight.address(),
            strength: after(self.strength.address(), it * self.all_series),
            density: grid.density,
            changes: 0,
            len: grid.len,
            stride: grid.stride,
            low: [0; 3],
            high: [i32::MAX; 3],
            count: int(lists.count),
            sign: 1.0,
        })
    }

    /// Whether receivers read stresses.
    pub fn read_stresses(&self) -> bool {
        self.read_for.count > self.read_velocities
    }

    fn lists(&self, lists: &ListMemory<A>, (sizes, state, record): (&Sizes, u64, u64)) -> Lists {
        Lists {
            fields: state,
            stresses: state,
            velocities: (sizes.ndim * sizes.len) as i64,
            first: lists.first.address(),
            place: lists.place.address(),
            cell: lists.cell.address(),
            weight: lists.weight.address(),
            record,
            kept: match sizes.runs {
                true => after(state, sizes.state().kept),
                false => 0,
            },
            density: 0,
            after: 0,
            gradient: 0,
            len: sizes.len as i64,
            stride: [0; 3],
            dt: self.dt,
            integral: i32::from(self.quantity != Quantity::Acceleration),
            count: int(lists.count),
            padding: 0,
        }
    }

    /// Reading a state, whose velocities may lie elsewhere, into a record.
    pub fn read(&self, of: (&Sizes, u64, u64), velocity: u64) -> Lists {
        Lists {
            fields: velocity,
            ..self.lists(&self.reads, of)
        }
    }

    /// The transpose: what comes back to stresses, or to velocities.
    pub fn read_back(&self, of: (&Sizes, u64, u64), to: Fields) -> Lists {
        let (all, velocities) = (self.lists(&self.read_for, of), self.read_velocities);
        // Velocities come first.
        match to {
            Fields::Velocities => Lists {
                count: int(velocities),
                ..all
            },
            Fields::Stresses => Lists {
                first: all.first + (velocities * size_of::<i32>()) as u64,
                cell: all.cell + (velocities * size_of::<i64>()) as u64,
                count: all.count - int(velocities),
                ..all
            },
        }
    }
}
