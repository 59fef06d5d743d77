//! The argument structures of the kernels, field by field as in the CUDA sources.

/// `struct Elements` of elements.cu.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Elements {
    pub field: u64,
    pub velocity: u64,
    pub acceleration: u64,
    pub inverse_mass: u64,
    pub forces: u64,
    pub points: u64,
    pub region: u64,
    pub held: u64,
    pub law: u64,
    pub loss: u64,
    pub shape: u64,
    pub strength: u64,
    pub memory: u64,
    pub dt: f32,
    pub half: f32,
    pub square: f32,
    pub first: i32,
    pub end: i32,
    pub goes_on: i32,
}

/// `struct Damped` of layers.cu.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Damped {
    pub e: Elements,
    pub pair: u64,
    pub filters: u64,
    pub variables: u64,
    pub smoothing: u64,
    pub lines: i32,
}

/// `struct Solid` of nodes.cuh.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Solid {
    pub displacement: u64,
    pub velocity: u64,
    pub acceleration: u64,
    pub forces: u64,
    pub targets: u64,
    pub starts: u64,
    pub places: u64,
    pub inverse_mass: u64,
    pub dress: u64,
    pub sponge: u64,
    pub pressure: u64,
    pub dt: f32,
    pub half: f32,
}

/// `struct Fluid` of nodes.cuh.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Fluid {
    pub potential: u64,
    pub rate: u64,
    pub second: u64,
    pub forces: u64,
    pub targets: u64,
    pub starts: u64,
    pub places: u64,
    pub inverse_mass: u64,
    pub dress: u64,
    pub sponge: u64,
    pub displacement: u64,
    pub dt: f32,
    pub half: f32,
}

/// `struct Advance` of nodes.cu.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Advance {
    pub s: Solid,
    pub list: u64,
    pub count: i32,
    pub goes_on: i32,
    pub keeps: i32,
}

/// `struct Inside` of nodes.cu.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Inside {
    pub a: Advance,
    pub points: u64,
    pub count: i64,
    pub along: i32,
}

/// `struct Paired` of nodes.cu.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Paired {
    pub forward: u64,
    pub sums: u64,
    pub kept: u64,
    pub points: i64,
    pub soaked: i32,
}

/// `struct AdvancePaired`, `struct InsidePaired` and `struct CorrectPaired` of nodes.cu.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Beside<T> {
    pub a: T,
    pub b: Paired,
}

/// `struct Predict` of nodes.cu.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Predict {
    pub field: u64,
    pub rate: u64,
    pub second: u64,
    pub dt: f32,
    pub half: f32,
    pub count: i64,
}

/// `struct Correct` of nodes.cu.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Correct {
    pub f: Fluid,
    pub list: u64,
    pub count: i32,
}

/// `struct Pack` of nodes.cu.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Pack {
    pub forces: u64,
    pub places: u64,
    pub out: u64,
    pub count: i32,
    pub components: i32,
}

/// `struct Inject` of points.cu.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Inject {
    pub forces: u64,
    pub place: u64,
    pub first: u64,
    pub series: u64,
    pub weight: u64,
    pub strength: u64,
    pub begin: i32,
    pub end: i32,
    pub all_series: i32,
    pub step: i32,
    pub steps: i32,
}

/// `struct Sample` of points.cu.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub s: Solid,
    pub f: Fluid,
    pub points: u64,
    pub fluid_points: u64,
    pub element: u64,
    pub in_fluid: u64,
    pub first: u64,
    pub weights: u64,
    pub dressed: u64,
    pub sums: u64,
    pub out: u64,
    pub count: i32,
    pub quantity: i32,
    pub outputs: i32,
    pub pending: i32,
    pub component: i32,
}

/// `struct Look` of points.cu.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Look {
    pub displacement: u64,
    pub second: u64,
    pub points: i32,
    pub first_non_finite: u64,
}

/// `struct Products` of products.cu.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Products {
    pub e: Elements,
    pub forward: [u64; STEPS],
    pub adjoint: [u64; STEPS],
    pub sums: u64,
    pub count: i32,
}

/// The largest number of steps whose products one launch adds up (`STEPS` of products.cu).
pub const STEPS: usize = 8;

/// `struct Flush` of gradient.cu.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Flush {
    pub sums: u64,
    pub totals: u64,
    pub count: i64,
}

/// `struct FaceProducts` of gradient.cu.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FaceProducts {
    pub point: u64,
    pub in_fluid: u64,
    pub normal: u64,
    pub displacement: u64,
    pub second: u64,
    pub velocity: u64,
    pub acceleration: u64,
    pub rate: u64,
    pub sums: u64,
    pub half: f32,
    pub ahead: i32,
    pub count: i32,
}

/// `struct Watch` of gradient.cu.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    pub displacement: u64,
    pub second: u64,
    pub numbers: u64,
    pub out: u64,
    pub count: i32,
}

/// `struct Largest` of gradient.cu.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Largest {
    pub field: u64,
    pub count: i64,
    pub most: u64,
}

/// `struct Inertia` of gradient.cu.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Inertia {
    pub forces: u64,
    pub points: u64,
    pub changes: u64,
    pub second: u64,
    pub first: u64,
    pub count: i64,
    pub components: i32,
}

/// `struct FaceForces` of gradient.cu.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FaceForces {
    pub forces: u64,
    pub place: u64,
    pub point: u64,
    pub damping: u64,
    pub first: u64,
    pub count: i32,
    pub components: i32,
}

/// Converts a number of elements or points to the `int` of the kernels; [`super::tables`] has refused numbers that do
/// not fit.
pub fn int(n: usize) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}
