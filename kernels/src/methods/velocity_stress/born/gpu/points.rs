//! Tables of sources and receivers for the device, for all shots that run side by side.

use super::arguments::{GridArgs, Inject, Lists, int};
use super::sizes::{Sizes, after};
use super::slab::LocalProgram;
use super::transfer::Transfer;
use crate::Error;
use crate::device::accelerator::{Accelerator, Memory};
use crate::methods::velocity_stress::receivers::Quantity;
use std::collections::BTreeMap;
use std::ops::Range;

/// Concatenated lists of indices with weights.
#[derive(Default)]
struct Listed {
    first: Vec<i32>,
    place: Vec<i64>,
    weight: Vec<f32>,
}

impl Listed {
    fn of(lists: impl Iterator<Item = Vec<(i64, f32)>>) -> Result<Self, Error> {
        let mut points = Self::default();
        points.first.push(0);
        for list in lists {
            for (place, weight) in list {
                points.place.push(place);
                points.weight.push(weight);
            }
            let end = i32::try_from(points.place.len());
            points.first.push(end.map_err(|_| {
                Error::setup(format!(
                    "the points of a shot use {} nodes or more on a GPU; {} are possible: take fewer sources or receivers",
                    points.place.len(),
                    i32::MAX
                ))
            })?);
        }
        Ok(points)
    }
}

/// The bit above which an index holds the number of its shot, as in points.cu.
const SHOT_BITS: u32 = 40;

/// Adds the number of the shot to an index.
fn of_shot(shot: usize, place: i64) -> i64 {
    ((shot as i64) << SHOT_BITS) | place
}

/// Index of a cell among velocities and stresses.
fn place(slab: LocalProgram<'_, f32>, field: usize, [plane, row, z]: [usize; 3]) -> i64 {
    (field * slab.len() + slab.at(plane, row) + z) as i64
}

/// Cells of a stage with the time series that act on them.
fn spots(slab: LocalProgram<'_, f32>, stage: usize) -> BTreeMap<i64, Vec<(i64, f32)>> {
    let (program, own) = (slab.program, &slab.planes.own);
    let mut cells: BTreeMap<i64, Vec<(i64, f32)>> = BTreeMap::new();
    for plane in program.rows.planes.clone().filter(|plane| own.contains(plane)) {
        for spot in program.setup.spots.on(stage, plane) {
            if program.rows.rows.contains(&(spot.row as usize)) {
                let at = [plane, spot.row as usize, spot.z as usize];
                let cell = place(slab, usize::from(spot.field), at);
                let acting = (i64::from(spot.series), spot.weight);
                cells.entry(cell).or_default().push(acting);
            }
        }
    }
    cells
}

/// The nodes of an entry of a record that lie on some planes.
fn nodes(slab: LocalProgram<'_, f32>, number: usize, planes: &Range<usize>) -> Vec<(i64, f32)> {
    let nodes = slab.program.setup.receivers.nodes(number).iter();
    let there = nodes.filter(|node| planes.contains(&(node.plane as usize)));
    let at = there.map(|node| {
        let at = [node.plane, node.row, node.z].map(|k| k as usize);
        (place(slab, node.field as usize, at), node.weight)
    });
    at.collect()
}

/// Whether an entry of a record reads stresses.
fn reads_stresses(slab: LocalProgram<'_, f32>, number: usize) -> bool {
    let nodes = slab.program.setup.receivers.nodes(number).iter();
    nodes.into_iter().any(|node| node.field as usize >= slab.ndim())
}

struct ListMemory<A: Accelerator> {
    first: A::Memory,
    place: A::Memory,
    weight: A::Memory,
    /// The cell of each list, for lists by cell.
    cell: A::Memory,
    count: usize,
}

/// Sends tables to a device.
struct Sender<'a, A: Accelerator> {
    a: &'a A,
    transfer: &'a mut Transfer<A>,
}

impl<A: Accelerator> Sender<'_, A> {
    fn send<N: bytemuck::Pod>(&mut self, numbers: &[N]) -> Result<A::Memory, Error> {
        let memory = self.a.reserve(size_of_val(numbers).max(1))?;
        self.transfer.put(self.a, numbers, memory.address())?;
        Ok(memory)
    }

    fn lists(&mut self, listed: &Listed, cells: &[i64]) -> Result<ListMemory<A>, Error> {
        Ok(ListMemory {
            first: self.send(&listed.first)?,
            place: self.send(&listed.place)?,
            weight: self.send(&listed.weight)?,
            cell: self.send(cells)?,
            count: listed.first.len() - 1,
        })
    }

    /// Sends lists by cell.
    fn by_cell(&mut self, cells: BTreeMap<i64, Vec<(i64, f32)>>) -> Result<ListMemory<A>, Error> {
        let at: Vec<i64> = cells.keys().copied().collect();
        self.lists(&Listed::of(cells.into_values())?, &at)
    }
}

/// The adjoint fields into which a record is injected.
#[derive(Clone, Copy)]
pub enum Fields {
    Velocities,
    Stresses,
}

/// The points of all shots, collected on the host before they are copied to the device.
pub struct Tables {
    shots: usize,
    /// Cells by stage, with the time series that act on them.
    cells: [BTreeMap<i64, Vec<(i64, f32)>>; 2],
    /// Time series `[series]` of all shots.
    series: Vec<Vec<f32>>,
    /// The cells that each entry of a record reads, of all shots.
    reads: Vec<Vec<(i64, f32)>>,
    /// The entries of a record that read each cell, for velocities and for stresses.
    read_for: [BTreeMap<i64, Vec<(i64, f32)>>; 2],
    /// Whether receivers read stresses, on any device.
    read_stresses: bool,
    quantity: Quantity,
    dt: f32,
}

impl Tables {
    /// Empty tables for shots with the records of a program.
    pub fn new(slab: LocalProgram<'_, f32>) -> Self {
        let program = slab.program;
        Self {
            shots: 0,
            cells: Default::default(),
            series: Vec::new(),
            reads: Vec::new(),
            read_for: Default::default(),
            read_stresses: false,
            quantity: program.setup.quantity,
            dt: program.setup.dt as f32,
        }
    }

    pub fn shots(&self) -> usize {
        self.shots
    }

    /// Adds the points of another shot. A device reads the receivers located on its planes, if necessary from
    /// the neighbour's planes that it has in memory; its cells receive the adjoint contributions of all receivers.
    pub fn add(&mut self, slab: LocalProgram<'_, f32>) {
        let program = slab.program;
        let (shot, before) = (self.shots, self.series.len() as i64);
        self.shots += 1;
        self.series.extend(program.setup.spots.series().iter().cloned());
        for (stage, to) in self.cells.iter_mut().enumerate() {
            for (cell, acting) in spots(slab, stage) {
                let acting = acting
                    .into_iter()
                    .map(|(series, weight)| (before + series, weight));
                to.insert(of_shot(shot, cell), acting.collect());
            }
        }
        let velocities = (program.ndim() * slab.len()) as i64;
        let mut reads = vec![Vec::new(); program.values()];
        for number in program.setup.receivers.own(&slab.planes.own) {
            let nodes = nodes(slab, number, &slab.planes.memory);
            reads[number] = nodes
                .into_iter()
                .map(|(cell, weight)| (of_shot(shot, cell), weight))
                .collect();
        }
        self.reads.extend(reads);
        for number in 0..program.values() {
            self.read_stresses |= reads_stresses(slab, number);
            for (cell, weight) in nodes(slab, number, &slab.planes.own) {
                let lists = &mut self.read_for[usize::from(cell >= velocities)];
                let list = lists.entry(of_shot(shot, cell)).or_default();
                list.push((of_shot(shot, number as i64), weight));
            }
        }
    }
}

/// The points of the shots that a device runs side by side.
pub struct Points<A: Accelerator> {
    stages: [ListMemory<A>; 2],
    /// The time series of the lists of a stage.
    series: [A::Memory; 2],
    /// `[step][series]`
    strength: A::Memory,
    all_series: usize,
    steps: usize,
    /// The cells that each entry of a record reads.
    reads: ListMemory<A>,
    /// The entries of a record that read each cell, for velocities and for stresses.
    read_for: [ListMemory<A>; 2],
    read_stresses: bool,
    quantity: Quantity,
    dt: f32,
}

impl<A: Accelerator> Points<A> {
    /// Sends tables to the device.
    ///
    /// # Errors
    /// Returns an error for more nodes than 32 bits can count, or a device that fails.
    pub fn new(a: &A, transfer: &mut Transfer<A>, tables: Tables) -> Result<Self, Error> {
        let (mut to, all) = (Sender { a, transfer }, &tables.series);
        let steps = all.iter().map(Vec::len).max().unwrap_or(0);
        let at = |it: usize| {
            all.iter()
                .map(move |series| series.get(it).copied().unwrap_or(0.0))
        };
        let strength: Vec<f32> = (0..steps).flat_map(at).collect();
        let series = tables.cells.each_ref().map(|cells| {
            let numbers = cells.values().flatten().map(|(series, _)| *series as i32);
            numbers.collect::<Vec<_>>()
        });
        let all_series = all.len();
        let ([forces, moments], [velocities, stresses]) = (tables.cells, tables.read_for);
        let reads = Listed::of(tables.reads.into_iter())?;
        Ok(Self {
            stages: [to.by_cell(forces)?, to.by_cell(moments)?],
            series: [to.send(&series[0])?, to.send(&series[1])?],
            strength: to.send(&strength)?,
            all_series,
            steps,
            reads: to.lists(&reads, &[])?,
            read_for: [to.by_cell(velocities)?, to.by_cell(stresses)?],
            read_stresses: tables.read_stresses,
            quantity: tables.quantity,
            dt: tables.dt,
        })
    }

    /// The kernel arguments of the sources of a stage in step `it`, with `distance` numbers between shots; `None` if
    /// no source acts.
    pub fn inject(
        &self,
        (fields, grid): (u64, &GridArgs),
        (stage, it): (usize, usize),
        distance: usize,
    ) -> Option<Inject> {
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
            shot: distance as i64,
            low: [0; 3],
            high: [i32::MAX; 3],
            count: int(lists.count),
            sign: 1.0,
        })
    }

    pub fn read_stresses(&self) -> bool {
        self.read_stresses
    }

    fn lists(
        &self,
        lists: &ListMemory<A>,
        (sizes, distance): (&Sizes, usize),
        (state, record): (u64, u64),
    ) -> Lists {
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
            shot: distance as i64,
            dt: self.dt,
            integral: i32::from(self.quantity != Quantity::Acceleration),
            count: int(lists.count),
            of_shot: int(sizes.values.max(1)),
        }
    }

    /// The kernel arguments for reading states, whose velocities may be stored elsewhere, into records.
    pub fn read(&self, of: (&Sizes, usize), at: (u64, u64), velocity: u64) -> Lists {
        Lists {
            fields: velocity,
            ..self.lists(&self.reads, of, at)
        }
    }

    /// The kernel arguments of the transpose, for stresses or for velocities.
    pub fn read_back(&self, of: (&Sizes, usize), at: (u64, u64), to: Fields) -> Lists {
        self.lists(&self.read_for[to as usize], of, at)
    }
}
