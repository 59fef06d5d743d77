//! Perfectly matched layers on a device: the filters of elements in them, and their variables.

use super::arguments::{Damped, Elements};
use super::tables::Listing;
use crate::Error;
use crate::device::accelerator::{Accelerator, Memory, send};
use crate::mesh::geometry::Tabulated;
use crate::methods::spectral_elements::Setup;
use crate::methods::spectral_elements::pml::{Filters, numbers};
use rayon::prelude::*;

/// What elements in layers have, before memory of a device is taken; empty without layers.
#[derive(Clone, Debug, Default)]
pub struct LayerPlan {
    /// Of every listed element the first of its pairs with the axes of its layers.
    pair: Vec<i32>,
    /// `[pair][of the input now, of the variable, of the input in it][point]`
    filters: Vec<f32>,
    /// `[pair][point]`, of the first pair of an element of solids.
    smoothing: Vec<f32>,
    /// Numbers of the variables.
    variables: usize,
    /// Numbers of a pair.
    of_pair: usize,
}

/// The numbers of an element's pairs: filters and smoothing.
type OfElement = (Vec<f32>, Vec<f32>);

impl LayerPlan {
    /// Of the solids or fluids that are listed, with fields of so many components.
    ///
    /// # Errors
    /// More pairs than 31 bits count.
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
            let contents = setup.contents(*element as usize, table);
            let (mut own, mut smoothing) = (Vec::new(), Vec::new());
            for axis in (0..D).filter(|axis| axes >> axis & 1 == 1) {
                let at =
                    |(point, x): (usize, &[f64; D])| filters.at(axis, x[axis], contents.speeds(point)[0]);
                let all: Vec<[f32; 3]> = places.iter().enumerate().map(at).collect();
                (0..3).for_each(|k| own.extend(all.iter().map(|numbers| numbers[k])));
                match smoothing.is_empty() && components == D {
                    true => smoothing.extend(filters.smoothed(setup, table, *element as usize)),
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
                Error::setup("perfectly matched layers have too many elements for one GPU: take more GPUs")
            })?);
            plan.filters.extend(own);
            plan.smoothing.extend(smoothing);
        }
        plan.variables = plan.smoothing.len() / points * plan.of_pair;
        Ok(plan)
    }

    /// Numbers on the device.
    pub fn numbers(&self) -> usize {
        self.pair.len() + self.filters.len() + self.smoothing.len() + self.variables
    }
}

/// The same on a device.
pub struct LayerMemory<A: Accelerator> {
    pair: A::Memory,
    filters: A::Memory,
    smoothing: A::Memory,
    variables: A::Memory,
    /// The pairs' beginnings, for states.
    first: Vec<i32>,
    of_pair: usize,
}

impl<A: Accelerator> LayerMemory<A> {
    /// Takes the memory; none without layers.
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

    /// For the kernel of elements in layers of a kind (`Pml::kind`).
    pub fn arguments<const D: usize>(&self, e: Elements, kind: u8) -> Damped {
        Damped {
            e,
            pair: self.pair.address(),
            filters: self.filters.address(),
            variables: self.variables.address(),
            smoothing: self.smoothing.address(),
            axes: i32::from(kind) & ((1 << D) - 1),
            lines: i32::from(kind >> D),
        }
    }

    /// Where the variables of a listed element across the number-th axis of its layers are, and how many there are.
    pub fn variables_of(&self, home: usize, number: usize) -> (u64, usize) {
        let pair = self.first[home] as usize + number;
        let bytes = pair * self.of_pair * size_of::<f32>();
        (self.variables.address() + bytes as u64, self.of_pair)
    }

    /// Bytes of device memory.
    pub fn bytes(&self) -> usize {
        let all = [&self.pair, &self.filters, &self.smoothing, &self.variables];
        all.into_iter().map(Memory::bytes).sum()
    }
}
