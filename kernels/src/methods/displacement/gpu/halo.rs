//! Halos of a slab on a device: the order of edges, copies and interior in the streams.
//!
//! At the start of a step the upper edge is enqueued in the stream of the edges, and the lower one in the main
//! stream, followed by the interior. With one neighbour, the edge is in the stream of the edges and the interior in
//! the main stream. The device fills multiprocessors that one launch leaves free with blocks of the next
//! ([`super::parts`]), the upper edge first.

use super::arguments::medium_planes;
use super::slab::DeviceSlab;
use crate::Error;
use crate::device::accelerator::{Accelerator, Memory, Pinned, Stream};
use crate::device::simd::Real;
use crate::medium::Coefficients;
use crate::parallel::device_halo::{DeviceHalo, DeviceNetwork, IpcExport};
use crate::parallel::group::Subdomain;
use crate::parallel::halo::{Link, Linked};
use std::sync::Arc;

impl<T: Real, A: Accelerator> DeviceSlab<T, A> {
    /// Whether the slab has two neighbours; the lower edge is then in the main stream.
    pub(super) fn has_two_edges(&self) -> bool {
        !self.layout.low_edge.is_empty() && !self.layout.high_edge.is_empty()
    }

    /// Makes the main stream wait for copies to ghosts, which records may read. They are in the stream of the edges,
    /// after the neighbours' events.
    pub(super) fn await_neighbours(&mut self) -> Result<(), Error> {
        if !self.layout.is_cut() {
            return Ok(());
        }
        self.accelerator.record(Stream::Edges, &self.events.edges)?;
        self.accelerator.wait(Stream::Main, &self.events.edges)
    }

    /// Records an event after the fields have been recorded. Neighbours must not overwrite ghosts before this event.
    pub(super) fn recorded(&mut self) -> Result<(), Error> {
        if !self.layout.is_cut() {
            return Ok(());
        }
        self.accelerator.record(Stream::Main, &self.events.main)
    }
}

impl<T: Real, A: Accelerator> Linked for DeviceSlab<T, A> {
    fn number(&self) -> usize {
        self.layout.number
    }

    fn links(&self) -> &[Link] {
        &self.links
    }
}

impl<T: Real, A: Accelerator> DeviceHalo for DeviceSlab<T, A> {
    type Device = A;

    fn device(&self) -> &Arc<A> {
        &self.accelerator
    }

    /// The address of the next time level, whose planes are exchanged.
    fn exchanged(&self, _stage: usize) -> u64 {
        self.levels[1 - self.now].address()
    }

    fn released(&self) -> &A::Event {
        &self.events.main
    }

    /// The ghosts of both time levels. The ghosts that a step writes were last read by the previous step, and by
    /// records before it.
    fn exported(&self, link: usize) -> Option<IpcExport<'_, A::Memory>> {
        let ghosts = &self.links[link].stages[0].receive;
        let places = |level: usize| {
            ghosts
                .iter()
                .map(move |g| (level, (g.start * size_of::<T>()) as u64))
        };
        Some(IpcExport {
            memories: self.levels.iter().collect(),
            places: (0..2).flat_map(places).collect(),
        })
    }

    fn exported_place(&self, _stage: usize, _link: usize, piece: usize) -> usize {
        (1 - self.now) * self.setup.padded.ndim() + piece
    }

    fn await_boundary(&self) -> Result<(), Error> {
        self.accelerator.wait(Stream::Edges, &self.events.first)
    }

    fn has_boundary_in_main(&self) -> bool {
        self.has_two_edges()
    }

    fn becomes_host_staged(&mut self) {
        self.hide_more();
    }
}

impl<T: Real + Default, A: Accelerator> Subdomain for DeviceSlab<T, A> {
    type Network = DeviceNetwork<A>;

    fn receivers(&self) -> Vec<usize> {
        self.setup.receivers.within(&self.layout.own)
    }

    fn rewind(&mut self, records: usize) {
        self.records.rewind(records);
    }

    fn owns(&self, place: usize) -> bool {
        let plane = place / self.setup.padded.plane_len();
        self.layout.own.contains(&plane)
    }

    fn describe(&self, place: usize) -> Result<(String, String), Error> {
        let cell = self.setup.padded.cell_at(place);
        Ok((self.setup.padded.describe(cell), self.medium_words(cell)?))
    }

    fn synchronize(&self) -> Result<(), Error> {
        self.accelerator.finish()
    }
}

impl<T: Real, A: Accelerator> DeviceSlab<T, A> {
    /// Density and stiffness at a padded cell, for messages.
    fn medium_words(&self, cell: [usize; 3]) -> Result<String, Error> {
        let p = &self.setup.padded;
        let (plane, row) = if p.ndim() == 3 {
            (cell[2], cell[1])
        } else {
            (cell[1], 0)
        };
        let z = cell[0].clamp(p.nb, p.nb + p.model.n[0] - 1);
        let rows = if p.ndim() == 3 { p.model.n[1] } else { 1 };
        let first = medium_planes(p, &self.layout).start;
        let line = (p.model_plane(plane) - first) * rows + p.model_row(row);
        let at = (line * p.pitch() + z) * size_of::<T>();
        let read = |memory: &A::Memory| -> Result<f64, Error> {
            let mut host = self.accelerator.pin(size_of::<T>())?;
            // SAFETY: the cell lies in the array, and the function waits for the copy.
            unsafe {
                let from = memory.address() + at as u64;
                self.accelerator
                    .download(Stream::Main, from, &mut host, 0, size_of::<T>())?;
            }
            self.accelerator.finish()?;
            Ok(bytemuck::cast_slice::<u8, T>(&host.bytes()[..size_of::<T>()])[0].f64())
        };
        let mut words = Vec::new();
        let names = &Coefficients::All.table(p.ndim()).names[..self.medium.len() - 1];
        let names = names.iter().copied().chain(["density"]);
        for (name, memory) in names.zip(&self.medium) {
            if let Some(memory) = memory {
                let value = read(memory)?;
                let value = if name == "density" {
                    self.setup.dt * self.setup.dt / value
                } else {
                    value
                };
                words.push(format!("{name}={}", value as f32));
            }
        }
        words.rotate_right(1);
        Ok(format!(
            "medium there ({}): {}",
            self.variant.symmetry,
            words.join(" ")
        ))
    }
}
