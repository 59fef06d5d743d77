//! How many numbers the parts of a run are, and where they lie in one piece of memory each.

use super::super::program::places;
use super::resident;
use super::slab::LocalProgram;

/// The address so many numbers further on.
pub fn after(address: u64, numbers: usize) -> u64 {
    address + (numbers * size_of::<f32>()) as u64
}

/// Parts begin at multiples of so many numbers, 64 bytes, in which memory is read; a thread can read 16 at once.
pub const WHOLE: usize = 16;

/// Where a part of so many numbers begins, behind those before it.
fn taken(next: &mut usize, numbers: usize) -> usize {
    let start = *next;
    *next += numbers.next_multiple_of(WHOLE);
    start
}

/// Numbers of the parts.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// 2 or 3.
    pub ndim: usize,
    /// Numbers of a field.
    pub len: usize,
    /// Stresses of a cell.
    pub stresses: usize,
    /// Stiffnesses of a cell.
    pub places: usize,
    /// Memory of the layers of a stage by axis.
    pub layers: [usize; 3],
    /// Mechanisms of a stress.
    pub mechanisms: usize,
    /// Rows of the grid where there is a free surface, else none.
    pub surface: usize,
    /// Numbers of a record.
    pub values: usize,
    /// Whether something runs at the receivers between two records.
    pub runs: bool,
    /// Numbers that images keep of a step behind what is recorded of it.
    pub film: usize,
    /// Of a recorded step, numbers of the boundary of a velocity that is kept in place of all of it; 0 where all of it is.
    pub boundary: usize,
}

/// Where the parts of a state begin, behind the velocities.
pub struct State {
    /// Stresses.
    pub stress: usize,
    /// Memory of the layers by stage and axis.
    pub memory: [[usize; 3]; 2],
    /// Memory of attenuation.
    pub relaxing: usize,
    /// What runs at the receivers.
    pub kept: usize,
    /// All numbers.
    pub all: usize,
}

/// Where the parts of a recorded step begin, behind the velocities.
pub struct Tape {
    /// Memory of the layers by axis.
    pub memory: [usize; 3],
    /// What is kept at the surface.
    pub surface: usize,
    /// What images keep.
    pub film: usize,
    /// All numbers.
    pub all: usize,
}

/// Where the parts of the adjoint of derivatives begin, by the stage of these.
pub struct Derivatives {
    /// Of all cells.
    pub fields: [usize; 2],
    /// In the layers of each axis.
    pub layers: [[usize; 3]; 2],
    /// All numbers.
    pub all: usize,
}

impl Sizes {
    /// Of the part of a program that a device has.
    pub fn new(slab: LocalProgram<'_, f32>) -> Self {
        let (program, ndim) = (slab.program, slab.ndim());
        Self {
            ndim,
            len: slab.len(),
            stresses: program.stresses(),
            places: places(ndim).len(),
            layers: [0, 1, 2].map(|axis| ndim * resident::component(slab, axis)),
            mechanisms: program.mechanisms(),
            surface: program.setup.surface.as_ref().map_or(0, |_| slab.rows()),
            values: program.values(),
            runs: program.setup.quantity.runs(),
            film: 0,
            boundary: 0,
        }
    }

    /// The parts of a state: velocities, stresses, memory of the layers and of attenuation, what runs at the receivers.
    pub fn state(&self) -> State {
        let mut next = self.ndim * self.len;
        let mut take = |numbers| taken(&mut next, numbers);
        State {
            stress: take(self.stresses * self.len),
            memory: [(); 2].map(|()| self.layers.map(&mut take)),
            relaxing: take(self.mechanisms * self.stresses * self.len),
            kept: take(if self.runs { self.values } else { 0 }),
            all: take(0),
        }
    }

    /// Where strains and what is kept at the surface begin, behind the forces, beside which a change of the waves runs.
    pub fn beside(&self) -> [usize; 2] {
        let strain = self.ndim * self.len;
        [strain, strain + self.stresses * self.len]
    }

    /// Numbers of that.
    pub fn beside_numbers(&self) -> usize {
        self.beside()[1] + self.ndim * self.surface
    }

    /// The parts of a recorded step: velocities or their boundaries, memory of the layers of stage 1, and what is kept at the surface.
    pub fn tape(&self) -> Tape {
        let kept = if self.boundary > 0 {
            self.boundary
        } else {
            self.len
        };
        let mut next = (self.ndim * kept).next_multiple_of(WHOLE);
        let mut take = |numbers| taken(&mut next, numbers);
        Tape {
            memory: self.layers.map(&mut take),
            surface: take(self.ndim * self.surface),
            film: take(self.film),
            all: take(0),
        }
    }

    /// Where stiffness, what relaxes of it and ratios begin, behind buoyancy.
    pub fn changes(&self) -> [usize; 3] {
        let stiffness = self.ndim * self.len;
        let weaker = stiffness + self.places * self.len;
        [stiffness, weaker, weaker + self.weaker()]
    }

    /// Numbers of what relaxes.
    fn weaker(&self) -> usize {
        if self.mechanisms > 0 {
            self.places * self.len
        } else {
            0
        }
    }

    /// Numbers of the changes of all coefficients.
    pub fn changes_numbers(&self) -> usize {
        self.changes()[2] + (self.ndim - 1) * self.surface
    }

    /// The parts of the adjoint of derivatives; without a surface the part of stage 0 lies in a state.
    pub fn derivatives(&self) -> Derivatives {
        let forces = if self.surface > 0 { self.ndim } else { 0 };
        let mut next = 0;
        let mut take = |numbers| taken(&mut next, numbers);
        Derivatives {
            fields: [forces, self.stresses].map(|fields| take(fields * self.len)),
            layers: [(); 2].map(|()| self.layers.map(&mut take)),
            all: take(0),
        }
    }

    /// Bytes of a checkpoint and of a recorded step.
    pub fn schedule(&self) -> [usize; 2] {
        [self.state().all, self.tape().all].map(|n| n * size_of::<f32>())
    }
}
