//! Forward runs on processors: the steps of a [`CpuSlab`], recorded for a reverse sweep or together with the field
//! that a perturbation of the coefficients scatters.
//!
//! The scattered field obeys the same program without its sources. In every step it is driven by the perturbation of
//! a coefficient times the factor of that coefficient in the background: `db S_j s_ij` in a velocity, `dc e` in a
//! stress (Michea & Komatitsch 2010, eqs 2, 6-9; `S` is the stretched derivative of a layer). All terms are linear and
//! are added before the next stage reads them.

use super::Number;
use super::drive_rows::{Drive, Part};
use super::program::{Changes, Discrete, place};
use crate::Error;
use crate::device::cpu::Buffer;
use crate::methods::velocity_stress::SLABS;
use crate::methods::velocity_stress::cpu::{CpuSlab, GHOST, Hooks};
use crate::methods::velocity_stress::layout::{stress, velocity};
use crate::methods::velocity_stress::medium::live;
use crate::methods::velocity_stress::rows::{Plane, STIFFNESSES, STRESSES};
use crate::methods::velocity_stress::stress_rows::Loss;
use crate::time_loop::{Sampler, Stepper};

/// The record of a step.
pub struct Tape<'a, T> {
    /// Velocities with their images above a surface, `[component][plane][row][z]`.
    pub velocity: &'a mut [T],
    /// Values at the surface, as in [`Discrete::of_surface`].
    pub surface: &'a mut [T],
}

pub struct Waves<T: crate::device::simd::Real> {
    pub slab: CpuSlab<T>,
}

/// A pointer to the first number; null for an empty slice.
fn start<T>(numbers: &mut [T]) -> *mut T {
    match numbers.is_empty() {
        true => std::ptr::null_mut(),
        false => numbers.as_mut_ptr(),
    }
}

impl<T: Number> Waves<T> {
    /// A wavefield at rest.
    ///
    /// # Errors
    /// Returns an error if memory is insufficient.
    pub fn new(program: &Discrete<T>) -> Result<Self, Error> {
        let slabs = SLABS.partition(program.rows.padded.planes(), 1)?;
        let slab = slabs
            .into_iter()
            .next()
            .ok_or(Error::setup("a grid without planes"))?;
        Ok(Self {
            slab: CpuSlab::new(program.setup.clone(), slab)?,
        })
    }

    /// Resets the wavefield to rest, for another shot over the same medium.
    pub fn restart(&mut self, program: &Discrete<T>) {
        self.slab.restart(program.setup.clone());
    }

    /// Runs step `it`, and records it if there is a tape.
    pub fn step(&mut self, it: usize, tape: Option<&mut Tape<'_, T>>) -> Result<(), Error> {
        let mut none = Tape {
            velocity: &mut [],
            surface: &mut [],
        };
        let tape = tape.unwrap_or(&mut none);
        for stage in 0..2 {
            let hooks = Hooks {
                velocity: start(tape.velocity),
                surface: start(tape.surface),
                ..Hooks::NONE
            };
            // SAFETY: the tape has the documented shapes and is borrowed here.
            unsafe { self.slab.stage_with(stage, it, hooks) };
        }
        self.slab.finish_step()
    }

    /// The values of the receivers after a step, `[component][receiver]`.
    pub fn record(&mut self, out: &mut [T]) -> Result<(), Error> {
        self.slab.traces(out)
    }

    /// A field without ghosts, `[plane][row][z]`.
    pub fn field(&self, field: usize) -> &[T] {
        let (all, plane) = (self.slab.field_len(), self.slab.setup.padded.plane_len());
        &self.slab.fields.as_slice()[field * all + GHOST * plane..(field + 1) * all - GHOST * plane]
    }

    /// The sum of the normal strain rates in the last step, stretched in layers.
    pub fn rates(&mut self, program: &Discrete<T>, out: &mut [T]) {
        let setup = self.slab.setup.clone();
        let (rows, ndim) = (&program.rows, program.ndim());
        let origins = self
            .slab
            .memory
            .origins(1)
            .map(|origin| Shared(origin, std::ptr::null_mut()));
        let (z, n, this) = (rows.z.clone(), rows.z.len(), &*self);
        let out = super::grid::Shared::new(out);
        rows.each(&setup.cpu, 1, |scratch, plane, row| {
            let (d, base) = (&mut scratch[0][..n], rows.at(plane, row));
            // SAFETY: every row of the field is accessed by one call only.
            let sum = unsafe { out.row(base + z.start, n) };
            sum.fill(T::of(0.0));
            let layers = this
                .slab
                .memory
                .layers(&setup.edges, origins.each_ref().map(|o| o.get()), plane);
            for &t in rows.axes() {
                rows.derivative(this.field(velocity(ndim, t)), (base, &z), (t, false), d);
                for (i, (sum, d)) in z.clone().zip(sum.iter_mut().zip(&*d)) {
                    // SAFETY: nothing changes the memory variables of the step here.
                    *sum += unsafe { layers[t].stretched(&setup.edges.z(), (row, i), t, *d) };
                }
            }
        });
    }

    /// The velocities, a field for each component.
    pub fn velocities(&self) -> impl Iterator<Item = &[T]> {
        (0..self.slab.setup.padded.ndim()).map(|field| self.field(field))
    }
}

/// Runs step `it` of the background and of the field scattered by a perturbation of the coefficients; `surface`
/// receives the record of the surface.
pub fn scatter<T: Number>(
    [background, scattered]: [&mut Waves<T>; 2],
    it: usize,
    changes: &Changes<T>,
    surface: &mut [T],
) -> Result<(), Error> {
    let none = std::ptr::null_mut;
    let recorded = Hooks {
        surface: start(surface),
        ..Hooks::NONE
    };
    let ratios = || match changes.ratios.is_empty() {
        true => std::ptr::null(),
        false => changes.ratios.as_ptr(),
    };
    let driven = |background: *const T| Hooks {
        sources: false,
        velocity: none(),
        surface: none(),
        background,
        ratios: ratios(),
    };
    // SAFETY: in both stages the surface has a value for every row and is borrowed here; no stage changes the data
    // that it reads.
    unsafe {
        background.slab.stage_with(0, it, recorded);
        background.drive(scattered, changes, Part::Forces);
        scattered.slab.stage_with(0, it, driven(std::ptr::null()));
        background.relative_sources(scattered, it, changes);
        let recorded = Hooks {
            surface: start(surface),
            ..Hooks::NONE
        };
        background.slab.stage_with(1, it, recorded);
        background.drive(scattered, changes, Part::Strains);
        let from = if surface.is_empty() {
            std::ptr::null()
        } else {
            surface.as_ptr()
        };
        scattered.slab.stage_with(1, it, driven(from));
        background.drive(scattered, changes, Part::Relaxing);
    }
    background.slab.finish_step()?;
    scattered.slab.finish_step()
}

impl<T: Number> Waves<T> {
    /// Adds to the scattered field the effect of a perturbation of the buoyancy on the force sources in step `it`.
    fn relative_sources(&self, to: &mut Self, it: usize, changes: &Changes<T>) {
        let setup = &self.slab.setup;
        let p = &setup.padded;
        let (len, rows) = (
            p.planes() * p.plane_len(),
            crate::methods::velocity_stress::cpu::rows(p),
        );
        for plane in live(p.planes()) {
            setup
                .spots
                .for_rows((0, plane, it), &rows, |field, row, z, value| {
                    let cell = plane * p.plane_len() + row * p.pitch() + z;
                    let change = changes.buoyancy[field * len + cell] / setup.medium.buoyancy(field)[cell];
                    let at = to.slab.at(field, plane, row, z);
                    to.slab.fields.as_mut_slice()[at] += value * change;
                });
        }
    }

    /// Drives the scattered field by perturbations of the coefficients.
    fn drive(&mut self, to: &mut Self, changes: &Changes<T>, part: Part) {
        if matches!(part, Part::Relaxing) && changes.relaxing.is_empty() {
            return;
        }
        let stage = usize::from(!matches!(part, Part::Forces));
        let setup = self.slab.setup.clone();
        let p = &setup.padded;
        let origins = self.slab.memory.origins(stage);
        let fields = to.slab.fields.as_mut_slice().as_mut_ptr();
        let anelastic = match &mut to.slab.anelastic {
            Some(memory) => memory.as_mut_slice().as_mut_ptr(),
            None => std::ptr::null_mut(),
        };
        let (from, to) = (self.slab.fields.as_slice().as_ptr(), Shared(fields, anelastic));
        let (memory, len, field) = (
            &self.slab.memory,
            p.planes() * p.plane_len(),
            self.slab.field_len(),
        );
        let from = Shared(from.cast_mut(), std::ptr::null_mut());
        let origins = origins.map(|origin| Shared(origin, std::ptr::null_mut()));
        let planes = live(p.planes());
        setup.cpu.for_each(planes.len(), |_, k| {
            let plane = planes.start + k;
            let layers = memory.layers(&setup.edges, origins.each_ref().map(|o| o.get()), plane);
            let framed = |row: usize| setup.edges.framed(plane, row);
            let plane_of = Plane {
                rows: crate::methods::velocity_stress::cpu::rows(p),
                cells: 0..p.pitch(),
                framed: &framed,
                z: setup.edges.z(),
                stride: [1, p.pitch(), p.plane_len()],
                weights: &setup.weights,
                layers,
                sponge: None,
                ahead: 0,
            };
            let local = (plane + GHOST) * p.plane_len();
            let of = |from: *mut T, number: usize| from.wrapping_add(number * field + local);
            let ndim = p.ndim();
            let exists = |axis: usize| ndim == 3 || axis != 1;
            let number = |k: usize| stress(ndim, if ndim == 3 || k.is_multiple_of(2) { k } else { 0 });
            let velocities =
                |from: *mut T| [0, 1, 2].map(|a| of(from, velocity(ndim, if exists(a) { a } else { 0 })));
            let stresses =
                |from: *mut T| -> [*mut T; STRESSES] { std::array::from_fn(|k| of(from, number(k))) };
            let first = plane * p.plane_len();
            let coefficients = |numbers: &[T]| -> [*const T; STIFFNESSES] {
                std::array::from_fn(|k| match numbers.is_empty() {
                    true => std::ptr::null(),
                    false => numbers[place(ndim, k) * len + first..].as_ptr(),
                })
            };
            let loss: Option<Loss<'_, T>> = setup
                .relaxation
                .as_ref()
                .map(|r| r.plane(p, to.1, (len, first, first), plane));
            let drive = Drive {
                plane: plane_of,
                part,
                velocity: velocities(from.get()).map(<*mut T>::cast_const),
                stress: stresses(from.get()).map(<*mut T>::cast_const),
                to_velocity: velocities(to.get()),
                to_stress: stresses(to.get()),
                buoyancy: [0, 1, 2].map(|a| {
                    let component = velocity(ndim, if exists(a) { a } else { 0 });
                    changes.buoyancy[component * len + first..].as_ptr()
                }),
                stiffness: coefficients(&changes.stiffness),
                relaxing: coefficients(&changes.relaxing),
                loss,
            };
            drive.run(setup.cpu.arch(), ndim, setup.half);
        });
    }
}

/// Raw memory that the threads of a sweep share: fields and memory variables of attenuation.
#[derive(Clone, Copy)]
struct Shared<T>(*mut T, *mut T);

// SAFETY: each row is changed by one thread only, and no data that are read are changed in the same sweep.
unsafe impl<T: Sync> Sync for Shared<T> {}

impl<T> Shared<T> {
    fn get(&self) -> *mut T {
        self.0
    }
}

impl<T: Number> CpuSlab<T> {
    /// Resets all fields to rest, for another shot over the same medium.
    pub(super) fn restart(&mut self, setup: std::sync::Arc<crate::methods::velocity_stress::Setup<T>>) {
        let zero = T::of(0.0);
        self.fields.as_mut_slice().fill(zero);
        self.memory.clear();
        if let Some(memory) = &mut self.anelastic {
            memory.as_mut_slice().fill(zero);
        }
        let kept = if setup.quantity.runs() {
            setup.receivers.values()
        } else {
            0
        };
        self.kept = [vec![zero; kept], vec![zero; kept]];
        self.setup = setup;
    }

    /// The complete state of the run, array by array.
    pub fn parts(&mut self) -> Vec<&mut [T]> {
        let Self {
            fields,
            memory,
            anelastic,
            kept,
            ..
        } = self;
        let mut all = vec![fields.as_mut_slice()];
        all.extend(memory.parts());
        all.extend(anelastic.as_mut().map(Buffer::as_mut_slice));
        all.extend(kept.iter_mut().map(Vec::as_mut_slice));
        all
    }
}
