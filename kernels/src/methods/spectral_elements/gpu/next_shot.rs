//! Prepares another shot over the mesh and medium on a device.

use super::field::{FieldMemory, held};
use super::part::{DevicePart, Standing};
use super::sources::SourceMemory;
use super::tables::{Listing, Spots};
use crate::Error;
use crate::device::accelerator::{Accelerator, Memory};
use crate::device::staging::Staging;
use crate::mesh::Locator;
use crate::mesh::geometry::Tabulated;
use crate::methods::spectral_elements::points::Placed;
use crate::methods::spectral_elements::recording::receivers;
use crate::methods::spectral_elements::{Setup, Shot, pml};
use std::collections::HashMap;

/// The indices of dressed points and of sums for the points of elements, by the index of the element in the listing.
type PointIndices = HashMap<usize, [Vec<i32>; 2]>;

impl<A: Accelerator> FieldMemory<A> {
    /// Replaces the sources.
    pub fn drive(&mut self, a: &A, spots: &Spots) -> Result<(), Error> {
        self.sources = SourceMemory::new(a, spots)?;
        Ok(())
    }

    /// Marks as held the elements on which sources act and the elements that receivers read.
    fn hold(&self, a: &A, spots: &Spots, (read, numbers): (&[usize], usize)) -> Result<(), Error> {
        let held = held(&self.listing, spots, (read, numbers));
        if held.is_empty() {
            return Ok(());
        }
        // SAFETY: the table has an entry for every listed element.
        unsafe { Staging::default().upload(a, bytemuck::cast_slice(&held), self.held.address()) }
    }

    /// The indices of these elements' points that receivers need.
    fn point_indices(&self, a: &A, homes: &[usize], per_element: usize) -> Result<PointIndices, Error> {
        let mut staging = Staging::default();
        let mut table = |address: u64, count: usize| -> Result<Vec<i32>, Error> {
            let mut numbers = vec![0; count];
            if count > 0 {
                // SAFETY: the callers below pass the sizes of the tables.
                unsafe { staging.download(a, address, bytemuck::cast_slice_mut(&mut numbers))? };
            }
            Ok(numbers)
        };
        let at = self.addresses();
        let targets = table(at.targets, self.sums)?;
        let list = table(self.list.address(), self.dressed)?;
        let place = |all: &[i32], sought: i32| all.binary_search(&sought).map_or(-1, |k| k as i32);
        let mut indices = PointIndices::new();
        for home in homes {
            let first = self.points.address() + (home * per_element * size_of::<i32>()) as u64;
            let sums: Vec<i32> = table(first, per_element)?
                .into_iter()
                .map(|point| place(&targets, point))
                .collect();
            let dressed = sums
                .iter()
                .map(|sum| if *sum < 0 { -1 } else { place(&list, *sum) });
            indices.insert(*home, [dressed.collect(), sums]);
        }
        Ok(indices)
    }
}

impl<const D: usize, A: Accelerator> DevicePart<D, A> {
    /// Replaces the sources and receivers by another shot's, and sets all fields to rest.
    pub(super) fn next_shot(
        &mut self,
        setup: &Setup<D>,
        shot: &Shot<D>,
        locator: &Locator<'_, D>,
    ) -> Result<(), Error> {
        pml::check_sources(setup)?;
        let a = self.accelerator.clone();
        let fluids = self.fluid.as_ref().map(|fluid| &fluid.field.listing);
        let owns = |element: usize| {
            let of = |listing: &Listing| listing.find(element as u32).is_some();
            of(&self.solid.listing) || fluids.is_some_and(of)
        };
        // The points of the elements are already on the device.
        let all = receivers(setup, shot, locator, |element| owns(element).then(Vec::new))?;
        self.recording.take(shot, all);
        let read = |listing: &Listing, wet: bool| -> Vec<usize> {
            let own = self.recording.receivers.iter();
            let own = own.filter(|(_, receiver)| receiver.is_in_fluid() == wet);
            own.filter_map(|(_, receiver)| listing.find(receiver.element))
                .collect()
        };
        let (listing, boundary) = (&self.solid.listing, self.solid.listing.boundary());
        let homes = (&listing.homes, listing.elements.len());
        let spots = Spots::new(&Placed::in_solid(setup, locator, homes)?, boundary);
        let homes_of_receivers = read(listing, false);
        let point_indices = self
            .solid
            .point_indices(&a, &homes_of_receivers, self.per_element)?;
        self.solid
            .hold(&a, &spots, (&homes_of_receivers, self.per_element * D))?;
        self.solid.drive(&a, &spots)?;
        if let Some(fluid) = &mut self.fluid {
            let (listing, boundary) = (&fluid.field.listing, fluid.field.listing.boundary());
            let (homes, table) = (
                (&listing.homes, listing.elements.len()),
                Tabulated::new(setup.mesh.order(), setup.basis),
            );
            let placed = Placed::in_fluid(setup, locator, &table, homes)?;
            fluid.field.drive(&a, &Spots::new(&placed, boundary))?;
        }
        let fluids = self.fluid.as_ref().map(|fluid| &fluid.field.listing);
        let of = |home: usize| point_indices.get(&home).cloned().unwrap_or_default();
        self.records
            .turn(&a, &self.recording, (&self.solid.listing, fluids), &of)?;
        self.rest()
    }

    /// Sets all fields and memory variables to zero.
    pub(super) fn rest(&mut self) -> Result<(), Error> {
        let a = &self.accelerator;
        let fluid = self.fluid.as_ref();
        let levels = self.levels.iter().chain(fluid.iter().flat_map(|f| &f.levels));
        for memory in levels.chain([&self.solid.relaxing]) {
            a.clear(memory)?;
        }
        let layers = [
            self.solid.layers.as_ref(),
            fluid.and_then(|f| f.field.layers.as_ref()),
        ];
        for layers in layers.into_iter().flatten() {
            layers.forget(a)?;
        }
        self.standing = Standing::Ended;
        self.inside = 0;
        Ok(())
    }
}
