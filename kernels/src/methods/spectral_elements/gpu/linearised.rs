//! Linearised runs on a device: the wavefields of the shot and of its linearised run use one subdomain alternately.

use super::adjoint::{Driving, Kernels, OnDevice};
use super::arguments::{FaceForces, Inertia, int};
use super::field::{FieldMemory, Fields};
use super::single;
use super::sources::SourceMemory;
use super::tables::{Spots, law_at, numbers_of_law, stride_of_law};
use super::variant::Variant;
use super::wavefield::copy;
use crate::device::accelerator::{Accelerator, Memory, Stream, argument, send, walk};
use crate::mesh::Locator;
use crate::methods::spectral_elements::adjoint::change::{Changes, ElementChange, FaceChange};
use crate::methods::spectral_elements::adjoint::linearised::Linearises;
use crate::methods::spectral_elements::adjoint::machine::Machine;
use crate::methods::spectral_elements::assembly::triangle;
use crate::methods::spectral_elements::points::Placed;
use crate::time_loop::{Part, Stepper};
use crate::{Error, Hint, message};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::mem::swap;

/// The elements of a launch, their kernel and their perturbed moduli.
struct Run<A: Accelerator> {
    /// The index of the launch in the listing.
    number: usize,
    variant: Variant,
    kernel: A::Kernel,
    moduli: A::Memory,
}

/// The perturbation of the elements of a field.
struct FieldChange<A: Accelerator> {
    runs: Vec<Run<A>>,
    /// Relative perturbations of the contribution of memory variables, `[element][mean, deviator][point]`.
    relative: A::Memory,
    /// Perturbations of masses and dampings, `[element][point][mass, damping]`.
    masses: A::Memory,
    /// The number of values of the forces.
    forces: usize,
    place: A::Memory,
    point: A::Memory,
    damping: A::Memory,
    /// The number of points of elements on absorbing faces.
    faces: usize,
    components: usize,
}

/// A linearised run on a device.
pub struct LinearisedRun<A: Accelerator> {
    solid: FieldChange<A>,
    fluid: Option<FieldChange<A>>,
    /// The sources of the linearised run while the shot uses the subdomain, otherwise the sources of the shot.
    driving: Driving<A>,
    /// The acceleration of the previous step, if memory variables are driven by the strain predicted from it.
    before: Option<A::Memory>,
}

/// The tables of a perturbed field on the host.
struct Tables {
    moduli: Vec<Vec<f32>>,
    relative: Vec<f32>,
    masses: Vec<f32>,
}

/// The indices of the launches outside perfectly matched layers, in which the medium is not perturbed.
fn runs<A: Accelerator>(field: &FieldMemory<A>) -> impl Iterator<Item = usize> {
    let all = field.listing.runs.iter().enumerate();
    all.filter(|(_, run)| run.layer == 0).map(|(number, _)| number)
}

/// The indices, among the 21 constants, of the constants that occur in this dimension, in the order of the tables of
/// elements.cu.
fn met(dimension: usize) -> Vec<usize> {
    let rows: &[usize] = match dimension {
        3 => &[0, 1, 2, 3, 4, 5],
        _ => &[0, 2, 4],
    };
    let pairs = (0..rows.len()).flat_map(|i| (i..rows.len()).map(move |j| triangle(rows[i], rows[j])));
    pairs.collect()
}

impl Tables {
    fn new<const D: usize, A: Accelerator>(
        field: &FieldMemory<A>,
        changes: &Changes<'_, '_, D>,
        points: usize,
    ) -> Self {
        let listing = &field.listing;
        let of_element = |element: &u32| changes.of_element(*element as usize);
        let all: Vec<ElementChange> = listing.elements.par_iter().map(of_element).collect();
        let met = met(D);
        let moduli = runs(field).map(|number| {
            let kind = field.variants[number].changed(changes.has_constants()).kind;
            let (count, stride) = (numbers_of_law::<D>(kind), stride_of_law::<D>(kind, points));
            let own = &all[listing.runs[number].elements.clone()];
            let mut law = vec![0.0; own.len() * stride];
            let rooms = law.par_chunks_exact_mut(stride).zip(own);
            rooms.for_each(|(law, change)| {
                let width = change.moduli.len() / points;
                for (point, moduli) in change.moduli.chunks_exact(width).enumerate() {
                    for k in 0..count {
                        let from = if width == 21 { met[k] } else { k };
                        law[law_at(kind, (k, count), (point, points))] = single(moduli[from]);
                    }
                }
            });
            law
        });
        let relative = |change: &ElementChange| {
            let of = |k: usize| change.losses.iter().map(move |both| single(both[k]));
            of(0).chain(of(1)).collect::<Vec<f32>>()
        };
        let masses = all.iter().flat_map(|change| change.masses.as_flattened());
        Self {
            moduli: moduli.collect(),
            relative: all.iter().flat_map(relative).collect(),
            masses: masses.copied().map(single).collect(),
        }
    }

    fn numbers(&self) -> usize {
        self.moduli.iter().map(Vec::len).sum::<usize>() + self.relative.len() + self.masses.len()
    }
}

/// The points of absorbing faces in the elements of a field: indices of their forces, the points, and their perturbed
/// dampings as matrices `[force component][velocity component]`.
#[derive(Default)]
struct Faces {
    place: Vec<i32>,
    point: Vec<i32>,
    damping: Vec<f32>,
}

impl Faces {
    fn new<const D: usize, A: Accelerator>(
        field: &FieldMemory<A>,
        changes: &[FaceChange<D>],
        (points, components): (usize, usize),
    ) -> Self {
        // Faces of an element that meet at an edge share points: their dampings are added.
        let mut sums: BTreeMap<usize, (usize, Vec<f32>)> = BTreeMap::new();
        for face in changes {
            let Some(home) = field.listing.find(face.element as u32) else {
                continue;
            };
            let at = home * points + face.local;
            let zeros = (face.point, vec![0.0; components * components]);
            let (_, sum) = sums.entry(at).or_insert(zeros);
            for (k, sum) in sum.iter_mut().enumerate() {
                let (i, j) = (k / components, k % components);
                let [along, across] = face.damping;
                *sum += single(match components {
                    1 => along,
                    _ => {
                        (along - across) * face.normal[i] * face.normal[j] + if i == j { across } else { 0.0 }
                    }
                });
            }
        }
        let mut own = Self::default();
        for (place, (point, damping)) in sums {
            own.place.push(place as i32);
            own.point.push(point as i32);
            own.damping.extend(damping);
        }
        own
    }
}

impl<A: Accelerator> FieldChange<A> {
    fn new<const D: usize>(
        a: &A,
        field: &FieldMemory<A>,
        (changes, of_faces): (&Changes<'_, '_, D>, &[FaceChange<D>]),
        components: usize,
    ) -> Result<Self, Error> {
        let (setup, points) = (changes.setup, changes.setup.basis.len().pow(D as u32));
        let tables = Tables::new(field, changes, points);
        let needed = tables.numbers() * size_of::<f32>();
        let what = format!("the perturbation of {} elements", field.listing.elements.len());
        super::fits(
            a,
            needed,
            (&what, message!["make the mesh smaller, or ", Hint::Processors]),
        )?;
        let run = |(number, moduli): (usize, &Vec<f32>)| {
            let variant = field.variants[number];
            let source = variant.scattering(setup.basis, changes.has_constants());
            let kernel = a.load(&source, &["forces"])?.pop();
            Ok(Run {
                number,
                variant: variant.changed(changes.has_constants()),
                kernel: kernel.ok_or_else(|| Error::setup("no kernel for perturbations of elements"))?,
                moduli: send(a, moduli)?,
            })
        };
        let faces = Faces::new(field, of_faces, (points, components));
        Ok(Self {
            runs: runs(field)
                .zip(&tables.moduli)
                .map(run)
                .collect::<Result<_, Error>>()?,
            relative: send(a, &tables.relative)?,
            masses: send(a, &tables.masses)?,
            forces: field.listing.elements.len() * points * components,
            place: send(a, &faces.place)?,
            point: send(a, &faces.point)?,
            damping: send(a, &faces.damping)?,
            faces: faces.place.len(),
            components,
        })
    }

    /// Adds the forces of the perturbed moduli on a wavefield with these memory variables to the forces of the elements.
    fn scatter(
        &self,
        a: &A,
        field: &FieldMemory<A>,
        (fields, variables): (Fields, u64),
    ) -> Result<(), Error> {
        for run in &self.runs {
            let mut args = field.arguments(run.number, fields);
            args.law = run.moduli.address();
            args.inverse_mass = self.relative.address();
            args.memory = variables;
            let dims = run.variant.dims(field.listing.runs[run.number].elements.len());
            // SAFETY: the argument is the structure of the kernel; elements and points come from the tables.
            unsafe { a.launch(Stream::Main, &run.kernel, dims, &argument(&args))? };
        }
        Ok(())
    }

    /// Adds the forces of the perturbed masses and dampings, which are proportional to the second and the first
    /// derivative of the field at these addresses.
    fn add_inertia(
        &self,
        (a, kernels): (&A, &Kernels<A>),
        field: &FieldMemory<A>,
        [second, first]: [u64; 2],
    ) -> Result<(), Error> {
        if self.forces == 0 {
            return Ok(());
        }
        let forces = field.addresses().forces;
        let args = Inertia {
            forces,
            points: field.points.address(),
            changes: self.masses.address(),
            second,
            first,
            count: self.forces as i64,
            components: int(self.components),
        };
        // SAFETY: the argument is the structure of the kernel; the tables have that many numbers.
        unsafe {
            a.launch(
                Stream::Main,
                &kernels.inertia,
                walk(self.forces),
                &argument(&args),
            )?
        };
        if self.faces == 0 {
            return Ok(());
        }
        let args = FaceForces {
            forces,
            place: self.place.address(),
            point: self.point.address(),
            damping: self.damping.address(),
            first,
            count: int(self.faces),
            components: int(self.components),
        };
        let count = self.faces * self.components;
        // SAFETY: as above.
        unsafe { a.launch(Stream::Main, &kernels.face_forces, walk(count), &argument(&args)) }
    }
}

/// The sources of the linearised run, all of which are in fluids.
fn driving<const D: usize, A: Accelerator>(
    machine: &OnDevice<D, A>,
    changes: &Changes<'_, '_, D>,
) -> Result<Driving<A>, Error> {
    let (a, setup) = (&*machine.part.accelerator, changes.setup);
    let fluid = match &machine.part.fluid {
        Some(fluid) => {
            let listing = &fluid.field.listing;
            let homes = (&listing.homes, listing.elements.len());
            let locator = Locator::new(setup.mesh);
            let mut placed = Placed::in_fluid(setup, &locator, changes.table(), homes)?;
            for (element, sources) in listing.elements.iter().zip(&mut placed) {
                for source in sources {
                    changes.change_weights(*element as usize, &mut source.weights);
                }
            }
            Some(SourceMemory::new(a, &Spots::new(&placed, 0))?)
        }
        None => None,
    };
    Ok((SourceMemory::new(a, &Spots::default())?, fluid))
}

impl<const D: usize, A: Accelerator> Linearises<D> for OnDevice<D, A> {
    type Run = LinearisedRun<A>;

    fn linearise(&mut self, changes: &Changes<'_, '_, D>) -> Result<Self::Run, Error> {
        Machine::begin(self)?;
        self.reversed.clear(&self.part.accelerator)?;
        let (a, of_faces) = (&*self.part.accelerator, changes.of_faces());
        Ok(LinearisedRun {
            solid: FieldChange::new(a, &self.part.solid, (changes, &of_faces), D)?,
            fluid: match &self.part.fluid {
                Some(fluid) => Some(FieldChange::new(a, &fluid.field, (changes, &of_faces), 1)?),
                None => None,
            },
            driving: driving(self, changes)?,
            before: match self.part.solid.follows_before() {
                true => Some(a.allocate(self.part.levels[2].bytes())?),
                false => None,
            },
        })
    }

    fn step_linearised(&mut self, run: &mut Self::Run) -> Result<(), Error> {
        let a = self.a();
        if let Some(before) = &run.before {
            copy(&*a, &self.part.levels[2], before)?;
        }
        self.advance()?;
        self.turn_to_linearised(run)?;
        let ([solid, fluid], on) = (self.reversed.levels(), (&*a, &self.kernels));
        for stage in 0..self.part.stages() {
            self.part.update(stage, Part::Interior, self.step)?;
            let is_of_fluids = self.part.is_of_fluids(stage);
            let (levels, change, field) = match (&run.fluid, &self.part.fluid) {
                (Some(change), Some(part)) if is_of_fluids => (fluid, change, &part.field),
                _ => (solid, &run.solid, &self.part.solid),
            };
            let fields = Fields {
                field: levels[0],
                rate: levels[1],
                second: run.before.as_ref().map_or(levels[2], Memory::address),
                dt: self.part.dt,
                inside: 0,
            };
            change.scatter(&*a, field, (fields, self.reversed.variables()))?;
            change.add_inertia(on, field, [levels[2], levels[1]])?;
        }
        self.step += 1;
        self.part.finish_step()?;
        self.turn_to_linearised(run)
    }

    fn turn_to_linearised(&mut self, run: &mut Self::Run) -> Result<(), Error> {
        self.reversed.swap(&mut self.part, &mut self.step)?;
        let (solid, fluid) = &mut run.driving;
        swap(solid, &mut self.part.solid.sources);
        if let (Some(own), Some(theirs)) = (fluid, &mut self.part.fluid) {
            swap(own, &mut theirs.field.sources);
        }
        Ok(())
    }

    fn linearised_bytes(&self, constants: bool) -> usize {
        let points = self.part.per_element;
        let of = |field: &FieldMemory<A>| {
            let elements = field.listing.elements.len() * points * size_of::<f32>();
            let moduli = |number: usize| {
                let run = &field.listing.runs[number];
                let kind = field.variants[number].changed(constants).kind;
                run.elements.len() * stride_of_law::<D>(kind, points) * size_of::<f32>()
            };
            let losses = if field.variants.iter().any(|variant| variant.loss.is_some()) {
                2
            } else {
                0
            };
            runs(field).map(moduli).sum::<usize>() + elements * (2 + losses)
        };
        let fluid = self.part.fluid.as_ref().map_or(0, |fluid| of(&fluid.field));
        let before = match self.part.solid.follows_before() {
            true => self.part.levels[2].bytes(),
            false => 0,
        };
        Machine::bytes(self) + before + of(&self.part.solid) + fluid
    }
}
