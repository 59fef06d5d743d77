//! The elements of one kind of field (displacements of solids, potential of fluids) in the memory of a device, and the
//! launches over them.

use super::arguments::{self, Pack, int};
use super::dressed::Points;
use super::layers::{LayerMemory, LayerPlan};
use super::sources::SourceMemory;
use super::tables::{
    Elements, Listing, Places, Spots, is_inside, laws, laws_of_points, losses, relaxing, strengths, variants,
};
use super::variant::Variant;
use crate::Error;
use crate::device::accelerator::{Accelerator, Memory, Stream, argument, send, walk};
use crate::device::staging::Staging;
use crate::mesh::geometry::Tabulated;
use crate::methods::spectral_elements::cut::{Exchange, Share};
use crate::methods::spectral_elements::{Followed, Grain, Setup};
use crate::time_loop::Part;

/// Elements, points and sources of a field.
pub struct Parts {
    pub listing: Listing,
    pub points: Points,
    pub spots: Spots,
    /// Elements with receivers, by their indices in the listing.
    pub read: Vec<usize>,
}

/// The data of a field, before they are sent to the device.
pub struct Plan {
    pub listing: Listing,
    pub variants: Vec<Variant>,
    /// The constants of each run of the listing.
    laws: Vec<Vec<f32>>,
    losses: Vec<f32>,
    /// Factors of the losses at every point, if they differ between points.
    strengths: Vec<f32>,
    pub elements: Elements,
    /// Whether an element contains sources or receivers.
    held: Vec<i32>,
    pub places: Places,
    pub points: Points,
    pub spots: Spots,
    layers: LayerPlan,
    /// Indices of the outgoing contributions.
    leaving: Vec<i32>,
    /// Number of memory variables, of values of the contributions of the elements, and of values that are exchanged.
    relaxing: usize,
    own: usize,
    travelling: usize,
    components: usize,
    followed: Followed,
}

impl Plan {
    /// The plan of the solids or the fluids of a subdomain, with the points `points`.
    ///
    /// # Errors
    /// Returns an error for too many points.
    pub fn new<const D: usize>(
        setup: &Setup<D>,
        share: &Share<'_>,
        table: &Tabulated<D>,
        parts: Parts,
        exchange: &Exchange,
    ) -> Result<Self, Error> {
        let Parts {
            listing,
            points,
            spots,
            read,
        } = parts;
        let variants = variants(setup, &listing);
        let elements = Elements::new(setup, share, table, &listing.elements);
        let per_element = table.points();
        let held = held(&listing, &spots, (&read, per_element * exchange.components));
        let leaving = exchange.send.iter().filter_map(|(element, local)| {
            let place = listing.find(*element)?;
            Some((place * per_element + *local as usize) as i32)
        });
        let leaving = leaving.collect();
        let loses = variants.iter().find_map(|v| v.loss);
        // The kernel of solid elements advances the interior points.
        let skip = |local: usize| exchange.components == D && is_inside::<D>(local, table.per_axis());
        let skips: Vec<bool> = (0..per_element).map(skip).collect();
        Ok(Self {
            laws: listing
                .runs
                .iter()
                .map(|run| match setup.points {
                    None => laws(setup, run.kind),
                    Some(_) => {
                        let own = &listing.elements[run.elements.clone()];
                        laws_of_points(setup, table, (run.kind, own))
                    }
                })
                .collect(),
            losses: losses(setup),
            strengths: match setup.points {
                Some(_) if loses.is_some() => strengths(setup, table, &listing.elements),
                _ => Vec::new(),
            },
            places: Places::new(&listing, (&elements.points, share.points()), exchange, &skips)?,
            relaxing: loses.map_or(0, |grain| {
                listing.elements.len() * relaxing(D, per_element, grain.mechanisms())
            }),
            own: elements.points.len() * exchange.components,
            travelling: exchange.memory.len(),
            components: exchange.components,
            followed: setup.relaxations.map_or(Followed::default(), |all| all.followed),
            layers: LayerPlan::new(setup, table, (&listing, exchange.components))?,
            leaving,
            elements,
            held,
            points,
            spots,
            variants,
            listing,
        })
    }

    /// Bytes of device memory.
    pub fn bytes(&self) -> usize {
        let (e, s) = (&self.elements, &self.spots);
        let laws: usize = self.laws.iter().map(Vec::len).sum();
        let numbers = laws
            + self.losses.len()
            + self.strengths.len()
            + e.points.len()
            + e.regions.len()
            + self.held.len()
            + e.shape.len()
            + self.places.targets.len()
            + self.places.starts.len()
            + self.places.places.len()
            + self.points.inverse_mass.len()
            + self.points.list.len()
            + self.points.dress.len()
            + self.points.sponge.len()
            + 2 * s.place.len()
            + s.first.len()
            + s.series.len()
            + s.weight.len()
            + s.strength.len()
            + self.leaving.len()
            + self.layers.numbers()
            + self.relaxing
            + self.own
            + self.travelling;
        numbers * size_of::<f32>()
    }
}

pub struct FieldMemory<A: Accelerator> {
    pub listing: Listing,
    pub variants: Vec<Variant>,
    pub kernels: Vec<A::Kernel>,
    laws: Vec<A::Memory>,
    loss: A::Memory,
    strength: A::Memory,
    pub relaxing: A::Memory,
    pub points: A::Memory,
    regions: A::Memory,
    pub held: A::Memory,
    shape: A::Memory,
    targets: A::Memory,
    starts: A::Memory,
    places: A::Memory,
    /// Number of points whose forces are summed.
    pub sums: usize,
    inverse_mass: A::Memory,
    /// Sums that belong to dressed points.
    pub list: A::Memory,
    pub dressed: usize,
    dress: A::Memory,
    sponge: Option<A::Memory>,
    pub layers: Option<LayerMemory<A>>,
    pub sources: SourceMemory<A>,
    leaving: A::Memory,
    leaves: usize,
    forces: A::Memory,
    own: usize,
    components: usize,
    followed: Followed,
}

/// Whether sources act on a listed element, which has `numbers` contributions, or receivers read it.
pub fn held(listing: &Listing, spots: &Spots, (read, numbers): (&[usize], usize)) -> Vec<i32> {
    let mut held = vec![0; listing.elements.len()];
    let driven = spots.place.iter().map(|place| *place as usize / numbers);
    let all = driven.chain(read.iter().copied());
    all.for_each(|element| held[element] = 1);
    held
}

/// Addresses that the kernels of points need.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    pub forces: u64,
    pub targets: u64,
    pub starts: u64,
    pub places: u64,
    pub inverse_mass: u64,
    pub dress: u64,
    /// The damping of the sponge; zero without a sponge.
    pub sponge: u64,
}

/// The elements of a launch, its stream and its step.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    pub stream: Stream,
    pub part: Part,
    pub step: usize,
}

/// The fields that a launch of elements reads.
#[derive(Clone, Copy, Debug)]
pub struct Fields {
    /// Addresses of the field, of its rate and of its second derivative.
    pub field: u64,
    pub rate: u64,
    pub second: u64,
    /// The time step, s.
    pub dt: f64,
    /// The flags for the interior points of elements, as in elements.cuh.
    pub inside: i32,
}

impl<A: Accelerator> FieldMemory<A> {
    /// Allocates the memory and compiles the kernels of the elements.
    pub fn new<const D: usize>(a: &A, setup: &Setup<D>, plan: Plan) -> Result<Self, Error> {
        let kernel = |variant: &Variant| -> Result<A::Kernel, Error> {
            let mut all = a.load(&variant.source(setup.basis), &["forces"])?;
            all.pop().ok_or_else(|| Error::setup("no kernel for elements"))
        };
        let sum = |point: &i32| plan.places.sums[*point as usize];
        let list: Vec<i32> = plan.points.list.iter().map(sum).collect();
        let bytes = |numbers: usize| (numbers * size_of::<f32>()).max(4);
        Ok(Self {
            kernels: plan.variants.iter().map(kernel).collect::<Result<_, _>>()?,
            laws: plan
                .laws
                .iter()
                .map(|law| send(a, law))
                .collect::<Result<_, _>>()?,
            loss: send(a, &plan.losses)?,
            strength: send(a, &plan.strengths)?,
            relaxing: a.allocate(bytes(plan.relaxing))?,
            points: send(a, &plan.elements.points)?,
            regions: send(a, &plan.elements.regions)?,
            held: send(a, &plan.held)?,
            shape: send(a, &plan.elements.shape)?,
            targets: send(a, &plan.places.targets)?,
            starts: send(a, &plan.places.starts)?,
            places: send(a, &plan.places.places)?,
            sums: plan.places.targets.len(),
            inverse_mass: send(a, &plan.points.inverse_mass)?,
            list: send(a, &list)?,
            dressed: list.len(),
            dress: send(a, &plan.points.dress)?,
            sponge: match plan.points.sponge.as_slice() {
                [] => None,
                sponge => Some(send(a, sponge)?),
            },
            layers: LayerMemory::new(a, plan.layers)?,
            sources: SourceMemory::new(a, &plan.spots)?,
            leaves: plan.leaving.len(),
            leaving: send(a, &plan.leaving)?,
            forces: a.allocate(bytes(plan.own + plan.travelling))?,
            own: plan.own,
            components: plan.components,
            followed: plan.followed,
            variants: plan.variants,
            listing: plan.listing,
        })
    }

    /// The addresses for the kernels of points.
    pub fn addresses(&self) -> Addresses {
        Addresses {
            forces: self.forces.address(),
            targets: self.targets.address(),
            starts: self.starts.address(),
            places: self.places.address(),
            inverse_mass: self.inverse_mass.address(),
            dress: self.dress.address(),
            sponge: self.sponge.as_ref().map_or(0, Memory::address),
        }
    }

    /// The address of the outgoing and incoming contributions.
    pub fn exchanged(&self) -> u64 {
        self.forces.address() + (self.own * size_of::<f32>()) as u64
    }

    /// The kernel arguments of a run of the listing.
    pub fn arguments(&self, number: usize, fields: Fields) -> arguments::Elements {
        let (run, variant) = (&self.listing.runs[number], &self.variants[number]);
        arguments::Elements {
            field: fields.field,
            velocity: fields.rate,
            acceleration: fields.second,
            inverse_mass: self.inverse_mass.address(),
            forces: self.forces.address(),
            points: self.points.address(),
            region: self.regions.address(),
            held: self.held.address(),
            law: self.laws[number].address(),
            loss: self.loss.address(),
            shape: self.shape.address(),
            strength: self.strength.address(),
            memory: self.relaxing.address(),
            dt: fields.dt as f32,
            half: (fields.dt / 2.0) as f32,
            square: match self.followed {
                Followed::Predicted => (fields.dt * fields.dt) as f32,
                Followed::OfNow => 0.0,
            },
            goes_on: variant.inside(fields.inside),
            first: int(run.elements.start),
            end: int(run.elements.end),
        }
    }

    /// Launches the elements of a part and adds its sources.
    pub fn launch(&self, a: &A, turn: Turn, inject: &A::Kernel, fields: Fields) -> Result<(), Error> {
        for (k, run) in self.listing.runs.iter().enumerate() {
            if run.part != turn.part {
                continue;
            }
            let args = self.arguments(k, fields);
            let dims = self.variants[k].dims(run.elements.len());
            // SAFETY: the argument is the structure of the kernel; elements, points and regions come from the tables.
            unsafe {
                match &self.layers {
                    Some(layers) if run.layer != 0 => {
                        let args = layers.arguments(args, run.layer);
                        a.launch(turn.stream, &self.kernels[k], dims, &argument(&args))?;
                    }
                    _ => a.launch(turn.stream, &self.kernels[k], dims, &argument(&args))?,
                }
            };
        }
        self.sources.inject(a, turn, inject, self.forces.address())
    }

    /// Copies the outgoing contributions to the exchange buffer.
    pub fn pack(&self, a: &A, kernel: &A::Kernel) -> Result<(), Error> {
        if self.leaves == 0 {
            return Ok(());
        }
        let args = Pack {
            forces: self.forces.address(),
            places: self.leaving.address(),
            out: self.exchanged(),
            count: int(self.leaves),
            components: int(self.components),
        };
        // SAFETY: the argument is the structure of the kernel; places belong to elements of the subdomain.
        unsafe {
            a.launch(
                Stream::Edges,
                kernel,
                walk(self.leaves * self.components),
                &argument(&args),
            )
        }
    }

    /// Whether memory variables follow the strain that the previous step has predicted.
    pub fn follows_before(&self) -> bool {
        let mut variants = self.variants.iter();
        self.followed == Followed::Predicted && variants.any(|variant| variant.loss == Some(Grain::Fine))
    }

    /// The points of all elements, downloaded from the device.
    pub fn host_points(&self, a: &A, per_element: usize) -> Result<Vec<i32>, Error> {
        let mut points = vec![0i32; self.listing.elements.len() * per_element];
        let bytes = bytemuck::cast_slice_mut(&mut points);
        // SAFETY: the copy covers the whole table.
        unsafe { Staging::default().download(a, self.points.address(), bytes)? };
        Ok(points)
    }

    /// Bytes of device memory.
    pub fn bytes(&self) -> usize {
        let own = [
            &self.loss,
            &self.strength,
            &self.relaxing,
            &self.points,
            &self.regions,
            &self.held,
            &self.shape,
            &self.targets,
            &self.starts,
            &self.places,
            &self.inverse_mass,
            &self.list,
            &self.dress,
            &self.leaving,
            &self.forces,
        ];
        let all = own.into_iter().chain(&self.laws).chain(&self.sponge);
        let layers = self.layers.as_ref().map_or(0, LayerMemory::bytes);
        all.map(Memory::bytes).sum::<usize>() + self.sources.bytes() + layers
    }
}
