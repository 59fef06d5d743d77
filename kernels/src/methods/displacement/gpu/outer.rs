//! What neighbours on other ranks and the team of its process see of a slab.

use super::arguments::{component_len, medium_planes};
use super::slab::DeviceSlab;
use crate::Error;
use crate::device::accelerator::{Accelerator, Memory, Pinned, Stream};
use crate::device::simd::Real;
use crate::grid::Padded;
use crate::medium::plane_names;
use crate::parallel::device_halo::{DeviceHalo, HaloChannels, IpcExport};
use crate::parallel::group::DeviceSubdomain;
use crate::parallel::slabs::GHOST;
use std::ops::Range;
use std::sync::Arc;

impl<T: Real, A: Accelerator> DeviceHalo for DeviceSlab<T, A> {
    type Device = A;

    fn device(&self) -> &Arc<A> {
        &self.accelerator
    }

    fn pieces(&self, _stage: usize) -> usize {
        self.setup.padded.ndim()
    }

    fn piece_bytes(&self) -> usize {
        self.ghost_bytes()
    }

    fn edge(&self, _stage: usize, upper: bool, piece: usize) -> u64 {
        self.ghosts_at(piece, self.layout.edge_plane(upper, GHOST))
    }

    fn ghost(&self, _stage: usize, upper: bool, piece: usize) -> u64 {
        self.ghosts_at(piece, self.layout.ghost_plane(upper, GHOST))
    }

    fn sides(&self) -> &HaloChannels<A> {
        &self.outer
    }

    fn sides_mut(&mut self) -> &mut HaloChannels<A> {
        &mut self.outer
    }

    /// The ghosts of both time levels: the one that a step makes was read in the step before, and recorded before that.
    fn open(&self, upper: bool) -> Option<IpcExport<'_, A::Memory>> {
        let p = &self.setup.padded;
        let first = if upper { GHOST + self.layout.own.len() } else { 0 };
        let place = |level: usize, component: usize| {
            let number = component * component_len(p, &self.layout) + first * p.plane_len();
            (level, (number * size_of::<T>()) as u64)
        };
        let components = |level: usize| (0..p.ndim()).map(move |c| place(level, c));
        Some(IpcExport {
            memories: self.levels.iter().collect(),
            places: (0..2).flat_map(components).collect(),
        })
    }

    fn open_place(&self, _stage: usize, piece: usize) -> usize {
        (1 - self.now) * self.setup.padded.ndim() + piece
    }

    fn await_edges(&self) -> Result<(), Error> {
        self.accelerator.wait(Stream::Edges, &self.events.first)
    }

    fn has_edge_in_main(&self) -> bool {
        self.has_two_edges()
    }

    fn goes_by_host(&mut self) {
        self.hide_more();
    }
}

impl<T: Real + Default, A: Accelerator> DeviceSubdomain for DeviceSlab<T, A> {
    fn padded(&self) -> &Padded {
        &self.setup.padded
    }

    fn window(&self) -> &[Range<usize>; 3] {
        &self.setup.window
    }

    fn receivers(&self, planes: &Range<usize>) -> Vec<usize> {
        self.setup.receivers.within(planes)
    }

    fn rewind(&mut self, records: usize) {
        self.records.rewind(records);
    }

    fn describe(&self, cell: [usize; 3]) -> Result<String, Error> {
        self.medium_words(cell)
    }
}

impl<T: Real, A: Accelerator> DeviceSlab<T, A> {
    /// Density and stiffness at a padded cell in words.
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
            // SAFETY: the cell lies in the array; the copy is waited for.
            unsafe {
                let from = memory.address() + at as u64;
                self.accelerator
                    .download(Stream::Main, from, &mut host, 0, size_of::<T>())?;
            }
            self.accelerator.finish()?;
            Ok(bytemuck::cast_slice::<u8, T>(&host.bytes()[..size_of::<T>()])[0].f64())
        };
        let mut words = Vec::new();
        let names = plane_names(p.ndim()).iter().copied().chain(["density"]);
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
