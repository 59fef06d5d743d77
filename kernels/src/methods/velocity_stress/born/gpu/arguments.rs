//! The argument structures of the kernels, field by field as in the CUDA sources.

use super::super::program::Discrete;
use super::sizes::{Sizes, after};
use super::slab::LocalProgram;
use crate::methods::velocity_stress::rows::MOST;
use crate::methods::velocity_stress::surface::{DEGREE, Images, STRESS_DEGREE};

/// Converts a number of cells to the `int` of the kernels.
pub fn int(n: usize) -> i32 {
    i32::try_from(n).expect("an axis fits 32 bits")
}

/// `struct Layer` of grid.cuh.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LayerArgs {
    pub factors: u64,
    pub component: i64,
    pub first: i32,
    pub low: i32,
    pub high: i32,
    pub end: i32,
    pub lines: i32,
    pub beyond: i32,
    pub count: i32,
    pub padding: i32,
}

impl LayerArgs {
    /// An axis without layers.
    pub const NONE: Self = Self {
        factors: 0,
        component: 0,
        first: 0,
        low: i32::MIN,
        high: i32::MAX,
        end: 0,
        lines: 0,
        beyond: 0,
        count: 0,
        padding: 0,
    };
}

/// `struct Grid` of grid.cuh.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct GridArgs {
    pub len: i64,
    pub stride: [i64; 3],
    pub weights: [[f32; MOST]; 3],
    pub layers: [LayerArgs; 3],
    pub sponge: [u64; 3],
    pub density: u64,
    pub stiffness: [u64; 9],
    pub relaxing: [u64; 9],
    pub patterns: u64,
    pub rows: i32,
    pub planes: i32,
    pub begin: [i32; 3],
    pub count: [i32; 3],
    pub mechanisms: i32,
    pub padding: i32,
}

/// `struct Surface` of grid.cuh.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct SurfaceArgs {
    pub vertical: [[f32; DEGREE + 1]; MOST],
    pub horizontal: [[f32; DEGREE + 1]; MOST],
    pub normal: [[f32; STRESS_DEGREE]; MOST],
    pub shear: [[f32; STRESS_DEGREE]; MOST],
    pub ratios: u64,
    pub slopes: u64,
    pub spacing: f32,
    pub top: i32,
}

/// Largest number of boxes of `struct Args`.
pub const BOXES: usize = 6;

/// `struct Box` of grid.cuh.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct BoxArgs {
    pub z: i32,
    pub row: i32,
    pub plane: i32,
    pub width: i32,
    pub rows: i32,
    pub planes: i32,
    pub begin: i32,
    pub number: i32,
}

/// `struct Args` of grid.cuh.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Args {
    pub grid: GridArgs,
    pub surface: SurfaceArgs,
    pub velocity: u64,
    pub stress: u64,
    pub memory: [[u64; 3]; 2],
    pub relaxing: u64,
    pub before: u64,
    pub after: u64,
    pub psi: [u64; 3],
    pub force: u64,
    pub strain: u64,
    pub upon: u64,
    pub buoyancy: u64,
    pub stiffness: u64,
    pub weaker: u64,
    pub ratios: u64,
    pub derivatives: [u64; 2],
    pub behind: [[u64; 3]; 2],
    pub later: u64,
    pub middle: u64,
    pub rate: u64,
    pub top: i32,
    pub reach: i32,
    pub deep: i32,
    pub start: i32,
    pub across: i32,
    pub grouped: i32,
    pub boxes: i32,
    pub along: i32,
    pub shot: i64,
    pub run_velocity: u64,
    pub run_stress: u64,
    pub boundary: u64,
    pub boundary_len: i64,
    pub around: [BoxArgs; BOXES],
}

/// `struct Inject` of points.cu.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Inject {
    pub fields: u64,
    pub cell: u64,
    pub first: u64,
    pub series: u64,
    pub weight: u64,
    pub strength: u64,
    pub density: u64,
    pub changes: u64,
    pub len: i64,
    pub stride: [i64; 3],
    pub shot: i64,
    pub low: [i32; 3],
    pub high: [i32; 3],
    pub count: i32,
    pub sign: f32,
}

/// `struct Lists` of points.cu.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Lists {
    pub fields: u64,
    pub stresses: u64,
    pub velocities: i64,
    pub first: u64,
    pub place: u64,
    pub cell: u64,
    pub weight: u64,
    pub record: u64,
    pub kept: u64,
    pub density: u64,
    pub after: u64,
    pub gradient: u64,
    pub len: i64,
    pub stride: [i64; 3],
    pub shot: i64,
    pub dt: f32,
    pub integral: i32,
    pub count: i32,
    pub of_shot: i32,
}

/// `struct Walk` of points.cu.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    pub to: u64,
    pub from: u64,
    pub non_finite: u64,
    pub count: i64,
    pub shot: i64,
}

/// Largest number of pieces that a launch copies.
pub const PIECES: usize = 16;

/// `struct Pieces` of points.cu.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Pieces {
    pub to: [u64; PIECES],
    pub from: [u64; PIECES],
    pub count: [i64; PIECES],
}

impl GridArgs {
    /// Arguments without the addresses.
    pub fn new(slab: LocalProgram<'_, f32>) -> Self {
        let (rows, live) = (&slab.program.rows, slab.live());
        Self {
            len: slab.len() as i64,
            stride: rows.stride.map(|n| n as i64),
            weights: rows.weights,
            layers: [LayerArgs::NONE; 3],
            sponge: [0; 3],
            density: 0,
            stiffness: [0; 9],
            relaxing: [0; 9],
            patterns: 0,
            rows: int(rows.padded.rows()),
            planes: int(slab.count()),
            begin: live.each_ref().map(|range| int(range.start)),
            count: live.each_ref().map(|range| int(range.len())),
            mechanisms: int(slab.program.mechanisms()),
            padding: 0,
        }
    }
}

impl SurfaceArgs {
    /// Arguments without the addresses.
    pub fn new(program: &Discrete<f32>, images: &Images<f32>) -> Self {
        let p = &program.rows.padded;
        let mut args = Self {
            spacing: p.d()[0],
            top: int(p.low[0]),
            ..Self::default()
        };
        for (to, (nodes, slope)) in args.vertical.iter_mut().zip(&images.vertical) {
            to[..DEGREE].copy_from_slice(nodes);
            to[DEGREE] = *slope;
        }
        let sides = [
            (&mut args.horizontal, &images.horizontal),
            (&mut args.normal, &images.normal),
            (&mut args.shear, &images.shear),
        ];
        for (to, from) in sides {
            for (to, nodes) in to.iter_mut().zip(from) {
                to[..nodes.len()].copy_from_slice(nodes);
            }
        }
        args
    }
}

impl Args {
    /// Arguments without fields.
    pub fn new(grid: GridArgs, surface: SurfaceArgs) -> Self {
        Self {
            grid,
            surface,
            velocity: 0,
            stress: 0,
            memory: [[0; 3]; 2],
            relaxing: 0,
            before: 0,
            after: 0,
            psi: [0; 3],
            force: 0,
            strain: 0,
            upon: 0,
            buoyancy: 0,
            stiffness: 0,
            weaker: 0,
            ratios: 0,
            derivatives: [0; 2],
            behind: [[0; 3]; 2],
            later: 0,
            middle: 0,
            rate: 0,
            top: grid.begin[0],
            reach: grid.count[0],
            deep: 1,
            start: 0,
            across: 0,
            grouped: 0,
            boxes: 0,
            along: 1,
            shot: 0,
            run_velocity: 0,
            run_stress: 0,
            boundary: 0,
            boundary_len: 0,
            around: [BoxArgs::default(); BOXES],
        }
    }

    /// Sets the fields of a state.
    pub fn of(mut self, sizes: &Sizes, state: u64) -> Self {
        let parts = sizes.state();
        (self.velocity, self.stress) = (state, after(state, parts.stress));
        self.memory = parts.memory.map(|axes| axes.map(|at| after(state, at)));
        self.relaxing = after(state, parts.relaxing);
        (self.before, self.psi) = (self.velocity, self.memory[1]);
        self
    }

    /// Sets the memory for the forces and strains of the background that drive the scattered field.
    pub fn about(mut self, sizes: &Sizes, beside: u64) -> Self {
        let [strain, upon] = sizes.beside();
        (self.force, self.strain, self.upon) = (beside, after(beside, strain), after(beside, upon));
        self
    }

    /// Sets a step that writes its velocities and the memory variables of stage 1 to a tape; the values of the previous
    /// step are on another tape, if any.
    pub fn kept(mut self, sizes: &Sizes, before: Option<u64>, tape: u64) -> Self {
        let parts = sizes.tape();
        if let Some(before) = before {
            (self.before, self.psi) = (before, parts.memory.map(|at| after(before, at)));
        }
        (self.velocity, self.upon) = (tape, after(tape, parts.surface));
        self.memory[1] = parts.memory.map(|at| after(tape, at));
        self
    }

    /// Sets a step that writes the memory variables of stage 1 and the surface record to a tape; the values of the
    /// previous step are on another tape, if any. The velocities are updated in the state.
    pub fn boundary_saved(mut self, sizes: &Sizes, before: Option<u64>, tape: u64) -> Self {
        let parts = sizes.tape();
        if let Some(before) = before {
            self.psi = parts.memory.map(|at| after(before, at));
        }
        self.memory[1] = parts.memory.map(|at| after(tape, at));
        self.upon = after(tape, parts.surface);
        self
    }

    /// Sets the reconstructed wavefield of the run: its stresses are in a state, and its velocities after the step
    /// are at `velocity`.
    pub fn running(mut self, sizes: &Sizes, state: u64, velocity: u64) -> Self {
        (self.run_velocity, self.run_stress) = (velocity, after(state, sizes.state().stress));
        self.after = velocity;
        self
    }

    /// Sets the reverse sweep through a step recorded on a tape, with the velocities before it.
    pub fn back_through(mut self, sizes: &Sizes, before: u64, tape: u64) -> Self {
        let parts = sizes.tape();
        (self.before, self.after) = (before, tape);
        self.psi = parts.memory.map(|at| after(tape, at));
        self.upon = after(tape, parts.surface);
        self
    }

    /// Sets the perturbations of the coefficients, or the gradient with respect to them.
    pub fn changed(mut self, sizes: &Sizes, changes: u64) -> Self {
        let [stiffness, weaker, ratios] = sizes.changes();
        (self.buoyancy, self.stiffness) = (changes, after(changes, stiffness));
        (self.weaker, self.ratios) = (after(changes, weaker), after(changes, ratios));
        self
    }

    /// Sets the memory of the adjoint derivatives. Without a surface, the adjoint velocities are stored as adjoint
    /// forces, which are the adjoint derivatives of stage 0.
    pub fn with_derivatives(mut self, sizes: &Sizes, derivatives: u64) -> Self {
        let parts = sizes.derivatives();
        self.derivatives = parts.fields.map(|at| after(derivatives, at));
        if sizes.surface == 0 {
            self.derivatives[0] = self.velocity;
        }
        self.behind = parts.layers.map(|axes| axes.map(|at| after(derivatives, at)));
        self
    }

    /// Sets the memory of the normal strain rate of a step and of the adjoint pressure, summed over the steps and up
    /// to the middle of this one.
    pub fn pressures(mut self, rate: u64, [later, middle]: [u64; 2]) -> Self {
        (self.rate, self.later, self.middle) = (rate, later, middle);
        self
    }
}
