//! The exchange with neighbours: contributions to shared points are sent while the interior is computed, and the
//! kernel over the points adds the incoming ones to the subdomain's own.

use super::part::DevicePart;
use crate::Error;
use crate::device::accelerator::{Accelerator, Stream};
use crate::parallel::device_halo::{DeviceHalo, DeviceNetwork};
use crate::parallel::group::Subdomain;
use crate::parallel::halo::{Link, Linked};
use std::sync::Arc;

impl<const D: usize, A: Accelerator> Linked for DevicePart<D, A> {
    fn number(&self) -> usize {
        self.number
    }

    fn links(&self) -> &[Link] {
        &self.links
    }
}

impl<const D: usize, A: Accelerator> DeviceHalo for DevicePart<D, A> {
    type Device = A;

    fn device(&self) -> &Arc<A> {
        &self.accelerator
    }

    fn exchanged(&self, stage: usize) -> u64 {
        match &self.fluid {
            Some(fluid) if stage == 0 => fluid.field.exchanged(),
            _ => self.solid.exchanged(),
        }
    }

    fn released(&self) -> &A::Event {
        &self.advanced
    }

    fn received(&mut self, _: usize) -> Result<(), Error> {
        if self.links.is_empty() {
            return Ok(());
        }
        self.accelerator.record(Stream::Edges, &self.arrived)?;
        self.accelerator.wait(Stream::Main, &self.arrived)
    }
}

impl<const D: usize, A: Accelerator> Subdomain for DevicePart<D, A> {
    type Network = DeviceNetwork<A>;

    fn receivers(&self) -> Vec<usize> {
        self.recording.receivers.iter().map(|r| r.0).collect()
    }

    fn rewind(&mut self, _records: usize) {
        self.records.rewind();
    }

    fn owns(&self, place: usize) -> bool {
        self.recording.local(place).is_some()
    }

    fn describe(&self, place: usize) -> Result<(String, String), Error> {
        let point = self.recording.local(place);
        let point = point.ok_or_else(|| Error::setup("a point of another subdomain"))?;
        let fields = [Some(&self.solid), self.fluid.as_ref().map(|fluid| &fluid.field)];
        for field in fields.into_iter().flatten() {
            let points = field.host_points(&*self.accelerator, self.per_element)?;
            if let Some(k) = points.iter().position(|p| *p as usize == point) {
                let element = field.listing.elements[k / self.per_element];
                return Ok(self.recording.describe(element));
            }
        }
        Err(Error::setup("a point without an element"))
    }

    fn synchronize(&self) -> Result<(), Error> {
        self.accelerator.finish()
    }
}
