//! Perfectly matched layers on a device: the filters of the elements in them, with their memory variables.

use super::arguments::{Damped, Elements};
use super::tables::Listing;
use super::{single, singles};
use crate::device::accelerator::{Accelerator, Memory, send};
use crate::mesh::geometry::Tabulated;
use crate::methods::spectral_elements::Setup;
use crate::methods::spectral_elements::pml::{AXES, Filters, numbers};
use crate::{Error, Hint, message};
use rayon::prelude::*;

/// The tables of elements in layers, before they are sent to the device; empty without layers.
#[derive(Clone, Debug, Default)]
pub struct LayerPlan {
    /// For every listed element the index of its first pair; a pair is an element and an axis across which it has a
    /// layer.
    pair: Vec<i32>,
    /// The coefficients of `Filters::at`, `[pair][coefficient][point]`.
    filters: Vec<f32>,
    /// `Filters::smoothed` of the first pair of every solid element, `[pair][point]`; zero elsewhere.
    smoothing: Vec<f32>,
    /// Total number of memory variables.
    variables: usize,
    /// Memory variables per pair.
    of_pair: usize,
}

/// Filter coefficients of the pairs of an element, and the masses of its modal filter.
type OfElement = (Vec<f32>, Vec<f32>);

impl LayerPlan {
    /// The tables of the listed elements, either solid or fluid, for a field with `components` components.
    ///
    /// # Errors
    /// Returns an error for more pairs than 31 bits can count.
    pub fn new<const D: usize>(
        setup: &Setup<D>,
        table: &Tabulated<D>,
        (listing, components): (&Listing, usize),
    ) -> Result<Self, Error> {
        let Some(filters) = Filters::new(setup, table) else {
            return Ok(Self::default());
        };
        let points = table.points();
        let of_element = |element: &u32| -> OfElement {
            let axes = setup.damped_axes(*element as usize);
            let places = table.positions(&setup.mesh.coordinates(*element as usize));
            let (mut own, mut smoothing) = (Vec::new(), Vec::new());
            for axis in (0..D).filter(|axis| axes >> axis & 1 == 1) {
                let all: Vec<[f32; 3]> = places
                    .iter()
                    .map(|x| filters.at(axis, x[axis]).map(single))
                    .collect();
                (0..3).for_each(|k| own.extend(all.iter().map(|numbers| numbers[k])));
                match smoothing.is_empty() && components == D {
                    true => smoothing.extend(singles(&filters.smoothed(setup, table, *element as usize))),
                    false => smoothing.extend(std::iter::repeat_n(0.0, points)),
                }
            }
            (own, smoothing)
        };
        let all: Vec<OfElement> = listing.elements.par_iter().map(of_element).collect();
        let mut plan = Self {
            of_pair: numbers(points, components),
            ..Self::default()
        };
        for (own, smoothing) in all {
            let pair = plan.smoothing.len() / points;
            plan.pair.push(i32::try_from(pair).map_err(|_| {
                Error::setup(message![
                    "perfectly matched layers have more elements on one GPU than 31 bits count: use ",
                    Hint::MoreGpus
                ])
            })?);
            plan.filters.extend(own);
            plan.smoothing.extend(smoothing);
        }
        plan.variables = plan.smoothing.len() / points * plan.of_pair;
        Ok(plan)
    }

    /// Number of values that the plan needs on the device.
    pub fn numbers(&self) -> usize {
        self.pair.len() + self.filters.len() + self.smoothing.len() + self.variables
    }
}

/// The tables and memory variables of elements in layers, in the memory of a device.
pub struct LayerMemory<A: Accelerator> {
    pair: A::Memory,
    filters: A::Memory,
    smoothing: A::Memory,
    pub variables: A::Memory,
    /// A copy of `pair` on the host, to locate the variables of states.
    first: Vec<i32>,
    of_pair: usize,
}

impl<A: Accelerator> LayerMemory<A> {
    /// Allocates the memory with all memory variables zero; `None` without layers.
    pub fn new(a: &A, plan: LayerPlan) -> Result<Option<Self>, Error> {
        if plan.variables == 0 {
            return Ok(None);
        }
        Ok(Some(Self {
            pair: send(a, &plan.pair)?,
            filters: send(a, &plan.filters)?,
            smoothing: send(a, &plan.smoothing)?,
            variables: a.allocate(plan.variables * size_of::<f32>())?,
            first: plan.pair,
            of_pair: plan.of_pair,
        }))
    }

    /// The arguments of the kernel for elements whose layers are of this kind (`Pml::kind`).
    pub fn arguments(&self, e: Elements, kind: u8) -> Damped {
        Damped {
            e,
            pair: self.pair.address(),
            filters: self.filters.address(),
            variables: self.variables.address(),
            smoothing: self.smoothing.address(),
            lines: i32::from(kind >> AXES),
        }
    }

    /// The address of the memory variables of a listed element for axis `number` of its layers, and how many there are.
    pub fn variables_of(&self, home: usize, number: usize) -> (u64, usize) {
        let pair = self.first[home] as usize + number;
        let bytes = pair * self.of_pair * size_of::<f32>();
        (self.variables.address() + bytes as u64, self.of_pair)
    }

    /// Sets the memory variables to zero.
    pub fn forget(&self, a: &A) -> Result<(), Error> {
        a.clear(&self.variables)
    }

    /// Bytes of device memory.
    pub fn bytes(&self) -> usize {
        let all = [&self.pair, &self.filters, &self.smoothing, &self.variables];
        all.into_iter().map(Memory::bytes).sum()
    }
}
