//! Sizes of the parts of a run, and the offset of each within one piece of memory.

use super::super::program::places;
use super::resident;
use super::slab::LocalProgram;

/// The address `numbers` numbers further on.
pub fn after(address: u64, numbers: usize) -> u64 {
    address + (numbers * size_of::<f32>()) as u64
}

/// Parts begin at multiples of this number, 64 bytes, the unit of memory accesses; a thread can read 16 bytes at once.
pub const WHOLE: usize = 16;

/// The offset of a part of `numbers` numbers that follows the previous parts.
fn taken(next: &mut usize, numbers: usize) -> usize {
    let start = *next;
    *next += numbers.next_multiple_of(WHOLE);
    start
}

/// Sizes of the parts, in numbers.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Number of dimensions, 2 or 3.
    pub ndim: usize,
    /// Length of a field.
    pub len: usize,
    /// Number of stresses.
    pub stresses: usize,
    /// Number of stiffnesses per cell.
    pub places: usize,
    /// Memory variables of the layers of a stage by axis.
    pub layers: [usize; 3],
    /// Mechanisms per stress.
    pub mechanisms: usize,
    /// Number of rows of the grid if there is a free surface, otherwise 0.
    pub surface: usize,
    /// Length of a record.
    pub values: usize,
    /// Whether quantities are integrated at the receivers between two records.
    pub runs: bool,
    /// Number of values that images record in each step in addition.
    pub image_fields: usize,
    /// Length of the boundary of a velocity in a recorded step with boundary saving; 0 if whole fields are recorded.
    pub boundary: usize,
}

/// Offsets of the parts of a state after the velocities.
pub struct State {
    /// Offset of the stresses.
    pub stress: usize,
    /// Memory variables of the layers by stage and axis.
    pub memory: [[usize; 3]; 2],
    /// Memory variables of attenuation.
    pub relaxing: usize,
    /// Running quantities at the receivers.
    pub kept: usize,
    /// Total length.
    pub all: usize,
}

/// Offsets of the parts of a recorded step after the velocities.
pub struct Tape {
    /// Memory variables of the layers by axis.
    pub memory: [usize; 3],
    /// The surface record.
    pub surface: usize,
    /// Additional fields of images.
    pub image_fields: usize,
    /// Total length.
    pub all: usize,
}

/// Offsets of the parts of the adjoint derivatives, by stage.
pub struct Derivatives {
    /// Fields of all cells.
    pub fields: [usize; 2],
    /// Derivatives in the layers of each axis.
    pub layers: [[usize; 3]; 2],
    /// Total length.
    pub all: usize,
}

impl Sizes {
    /// Sizes for the part of a program on a device.
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
            image_fields: 0,
            boundary: 0,
        }
    }

    /// The parts of a state: velocities, stresses, memory variables of the layers and of attenuation, running
    /// quantities at the receivers.
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

    /// Offsets of the strains and of the surface record after the forces, in the background data that drive the
    /// scattered field.
    pub fn beside(&self) -> [usize; 2] {
        let strain = self.ndim * self.len;
        [strain, strain + self.stresses * self.len]
    }

    /// Length of the background data.
    pub fn beside_numbers(&self) -> usize {
        self.beside()[1] + self.ndim * self.surface
    }

    /// The parts of a recorded step: velocities or their boundaries, memory variables of stage 1, and the surface
    /// record.
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
            image_fields: take(self.image_fields),
            all: take(0),
        }
    }

    /// Offsets of the stiffness, its relaxing part and the ratios after the buoyancy.
    pub fn changes(&self) -> [usize; 3] {
        let stiffness = self.ndim * self.len;
        let weaker = stiffness + self.places * self.len;
        [stiffness, weaker, weaker + self.weaker()]
    }

    /// Length of the relaxing stiffness.
    fn weaker(&self) -> usize {
        if self.mechanisms > 0 {
            self.places * self.len
        } else {
            0
        }
    }

    /// Length of the perturbations of all coefficients.
    pub fn changes_numbers(&self) -> usize {
        self.changes()[2] + (self.ndim - 1) * self.surface
    }

    /// The parts of the adjoint derivatives; without a surface, the part of stage 0 belongs to a state.
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

    /// Bytes of a checkpoint and of a recorded step, in this order.
    pub fn schedule(&self) -> [usize; 2] {
        [self.state().all, self.tape().all].map(|n| n * size_of::<f32>())
    }
}
