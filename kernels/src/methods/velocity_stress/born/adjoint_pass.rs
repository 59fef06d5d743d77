//! Passes of the adjoint fields over the grid, by tiles and threads.

use super::adjoint::{Adjoint, Beside, Gradient, Pass};
use super::adjoint_forces::{AdjointForce, Waves};
use super::adjoint_layers::{AdjointLayers, rows_of};
use super::adjoint_rows::{AdjointStress, Sums};
use super::program::place;
use crate::device::cpu::Buffer;
use crate::device::simd::Real;
use crate::methods::velocity_stress::layout::{stress, velocity};
use crate::methods::velocity_stress::medium::live;
use crate::methods::velocity_stress::rows::{Plane, STIFFNESSES, STRESSES};
use crate::methods::velocity_stress::tiling::{Tile, Tiling};
use crate::methods::velocity_stress::{Setup, cpu};
use std::ops::Range;

/// Number of planes per thread below which a sweep is not divided further.
const CHUNK_PLANES: usize = 8;

impl<T: Real> Adjoint<T> {
    pub fn pass(&mut self, pass: Pass) {
        // `f64` is used only by tests and is compiled with them.
        if const { size_of::<T>() != size_of::<f32>() } {
            return self.pass_over(pass);
        }
        compiled_here!(self: Adjoint<f32>, pass_over(pass): Pass);
    }

    fn pass_over(&mut self, pass: Pass) {
        let setup = self.setup.clone();
        match pass {
            // In 2-D the planes between the two sweeps stay in the innermost caches. In 3-D they would not, and tiles
            // are faster.
            Pass::Step if setup.padded.ndim() == 2 => self.both(&setup),
            Pass::Step => {
                self.tiled(&setup, Pass::Strains);
                self.tiled(&setup, Pass::Forces);
            }
            _ => self.tiled(&setup, pass),
        }
        self.pending = pass != Pass::End;
    }

    /// One of the sweeps, by tiles.
    fn tiled(&mut self, setup: &Setup<T>, pass: Pass) {
        let (p, threads) = (&setup.padded, setup.cpu.threads());
        let planes = live(p.planes());
        let Tiling { columns, cuts, .. } = self.tiling;
        let per_column = match threads {
            1 => 1,
            _ => (4 * threads).div_ceil(columns * cuts),
        };
        let chunks = per_column.min(planes.len() / CHUNK_PLANES).max(1);
        let tiles = self.tiling.tiles(p, &cpu::rows(p), &planes, chunks);
        let view = self.view(setup);
        setup
            .cpu
            .for_each(tiles.len(), |_, k| view.sweep(pass, &tiles[k]));
    }

    /// Both sweeps together, one piece of the planes per thread; the second sweep ends with the planes at the edges
    /// of the pieces.
    fn both(&mut self, setup: &Setup<T>) {
        let (p, half) = (&setup.padded, setup.half);
        let planes = live(p.planes());
        let pieces = match setup.cpu.threads() {
            1 => 1,
            threads => (4 * threads).min(planes.len() / (4 * half)).max(1),
        };
        let piece = |k: usize| {
            let at = |k: usize| planes.start + planes.len() * k / pieces;
            at(k)..at(k + 1)
        };
        let view = self.view(setup);
        let tile = |planes: Range<usize>| Tile {
            rows: cpu::rows(p),
            z: 0..p.pitch(),
            planes,
        };
        setup.cpu.for_each(pieces, |_, k| {
            let planes = piece(k);
            for plane in planes.clone() {
                view.sweep(Pass::Strains, &tile(plane..plane + 1));
                if plane >= planes.start + 2 * half {
                    view.sweep(Pass::Forces, &tile(plane - half..plane - half + 1));
                }
            }
        });
        setup.cpu.for_each(pieces, |_, k| {
            let planes = piece(k);
            let low = planes.start..(planes.start + half).min(planes.end);
            let high = planes.end.saturating_sub(half).max(low.end)..planes.end;
            view.sweep(Pass::Forces, &tile(low));
            view.sweep(Pass::Forces, &tile(high));
        });
    }

    fn view<'a>(&'a mut self, setup: &'a Setup<T>) -> View<'a, T> {
        let start = |buffer: &mut Buffer<T>| buffer.as_mut_slice().as_mut_ptr();
        let origins = self.layers.origins();
        let sums = self.gradient.as_mut().map(|gradient| {
            let ndim = setup.padded.ndim();
            let len = setup.padded.planes() * setup.padded.plane_len();
            let Gradient { sums, grouped } = gradient;
            let own = |numbers: &mut [T]| -> [*mut T; STIFFNESSES] {
                let from = numbers.as_mut_ptr();
                let none = numbers.is_empty();
                std::array::from_fn(|k| {
                    let k = match (*grouped, k) {
                        (true, 0..3) => 0,
                        (true, 3..6) => {
                            if ndim == 3 {
                                3
                            } else {
                                4
                            }
                        }
                        _ => k,
                    };
                    match none {
                        true => std::ptr::null_mut(),
                        false => from.wrapping_add(place(ndim, k) * len),
                    }
                })
            };
            let both = Sums {
                stiffness: own(&mut sums.stiffness),
                relaxing: own(&mut sums.relaxing),
            };
            (both, sums.buoyancy.as_mut_ptr())
        });
        View {
            setup,
            force: start(&mut self.force),
            stress: start(&mut self.stress),
            strain: start(&mut self.strain),
            anelastic: self.anelastic.as_mut().map_or(std::ptr::null_mut(), start),
            layers: &self.layers,
            origins,
            sums,
            beside: &self.beside,
            pending: self.pending,
            ahead: self.tiling.ahead,
        }
    }
}

/// Adjoint fields as raw memory, shared by the threads of a sweep.
struct View<'a, T: Real> {
    setup: &'a Setup<T>,
    force: *mut T,
    stress: *mut T,
    strain: *mut T,
    anelastic: *mut T,
    layers: &'a AdjointLayers<T>,
    origins: [*mut T; 3],
    sums: Option<(Sums<T>, *mut T)>,
    beside: &'a Beside<T>,
    pending: bool,
    ahead: usize,
}

// SAFETY: in a sweep every row of the fields it changes belongs to one tile; data of neighbours that are read are not
// changed.
unsafe impl<T: Real> Sync for View<'_, T> {}

impl<T: Real> View<'_, T> {
    fn sweep(&self, pass: Pass, tile: &Tile) {
        for plane in tile.planes.clone() {
            match (self.setup.padded.ndim(), self.setup.half) {
                (3, 1) => self.plane::<3, 1>(pass, tile, plane),
                (3, 2) => self.plane::<3, 2>(pass, tile, plane),
                (3, _) => self.plane::<3, 4>(pass, tile, plane),
                (_, 1) => self.plane::<2, 1>(pass, tile, plane),
                (_, 2) => self.plane::<2, 2>(pass, tile, plane),
                _ => self.plane::<2, 4>(pass, tile, plane),
            }
        }
    }

    /// Pointers to a plane of the velocity-like fields, by axis.
    fn velocities(&self, from: *const T, plane: usize) -> [*const T; 3] {
        let p = &self.setup.padded;
        let (ndim, len) = (p.ndim(), p.planes() * p.plane_len());
        let component = |axis: usize| velocity(ndim, if ndim == 3 || axis != 1 { axis } else { 0 });
        [0, 1, 2].map(|axis| from.wrapping_add(component(axis) * len + plane * p.plane_len()))
    }

    /// Pointers to a plane of the stress-like fields.
    fn stresses(&self, from: *mut T, plane: usize) -> [*mut T; STRESSES] {
        let p = &self.setup.padded;
        let (ndim, len) = (p.ndim(), p.planes() * p.plane_len());
        std::array::from_fn(|k| {
            let k = if ndim == 3 || k.is_multiple_of(2) { k } else { 0 };
            from.wrapping_add((stress(ndim, k) - ndim) * len + plane * p.plane_len())
        })
    }

    /// The rows of a plane in the region of the reconstructed wavefield; `None` without reconstruction.
    fn waves(&self, plane: usize) -> Option<Range<usize>> {
        let back = !self.beside.waves.is_null();
        back.then(|| rows_of(&self.beside.region, plane))
    }

    fn plane<const NDIM: usize, const N: usize>(&self, pass: Pass, tile: &Tile, plane: usize) {
        let s = self.setup;
        let p = &s.padded;
        let sponge = s.edges.weights().is_some();
        let framed = |row: usize| match sponge {
            true => s.edges.framed(plane, row),
            false => self.layers.framed(plane, row),
        };
        let plane_of = Plane {
            rows: tile.rows.clone(),
            cells: tile.z.clone(),
            framed: &framed,
            z: if sponge { s.edges.z() } else { self.layers.z() },
            stride: [1, p.pitch(), p.plane_len()],
            weights: &s.weights,
            layers: self.layers.layers(&s.edges, self.origins, plane),
            sponge: s.edges.sponge(plane),
            ahead: self.ahead,
        };
        let arch = s.cpu.arch();
        match (pass, s.relaxation.is_some()) {
            (Pass::Forces, _) => arch.dispatch(self.of_forces::<NDIM, N>(plane_of, plane)),
            (_, false) => arch.dispatch(self.of_stresses::<NDIM, N, false>(plane_of, pass, plane)),
            (_, true) => arch.dispatch(self.of_stresses::<NDIM, N, true>(plane_of, pass, plane)),
        }
    }

    /// The first sweep on a plane.
    fn of_stresses<'b, const NDIM: usize, const N: usize, const LOSSY: bool>(
        &'b self,
        plane_of: Plane<'b, T>,
        pass: Pass,
        plane: usize,
    ) -> AdjointStress<'b, T, NDIM, N, LOSSY> {
        let (s, p) = (self.setup, &self.setup.padded);
        let (len, first) = (p.planes() * p.plane_len(), plane * p.plane_len());
        let nothing = [std::ptr::null(); 3];
        let at = |to: *mut T| if to.is_null() { to } else { to.wrapping_add(first) };
        let loss = s.relaxation.as_ref();
        AdjointStress {
            plane: plane_of,
            ends: pass == Pass::End,
            force: match self.pending {
                true => self.velocities(self.force, plane),
                false => nothing,
            },
            stress: self.stresses(self.stress, plane),
            strain: self.stresses(self.strain, plane),
            c: std::array::from_fn(|k| s.medium.stiffness(k)[first..].as_ptr()),
            loss: loss.map(|r| r.plane(p, self.anelastic, (len, first, first), plane)),
            velocity: match self.beside.velocity.is_null() {
                true => nothing,
                false => self.velocities(self.beside.velocity, plane),
            },
            sums: self.sums.as_ref().map(|(sums, _)| Sums {
                stiffness: sums.stiffness.map(at),
                relaxing: sums.relaxing.map(at),
            }),
            waves: self
                .waves(plane)
                .map(|rows| (self.stresses(self.beside.waves, plane), rows)),
            pressure_image: match self.beside.pressure_image {
                [later, _] if later.is_null() => None,
                image => Some(image.map(at)),
            },
        }
    }

    /// The second sweep on a plane.
    fn of_forces<'b, const NDIM: usize, const N: usize>(
        &'b self,
        plane_of: Plane<'b, T>,
        plane: usize,
    ) -> AdjointForce<'b, T, NDIM, N> {
        let (s, first) = (self.setup, plane * self.setup.padded.plane_len());
        let own = |to: *mut T| self.velocities(to, plane).map(<*const T>::cast_mut);
        let component = |axis: usize| velocity(NDIM, if NDIM == 3 || axis != 1 { axis } else { 0 });
        AdjointForce {
            plane: plane_of,
            force: own(self.force),
            strain: self.stresses(self.strain, plane).map(<*mut T>::cast_const),
            b: [0, 1, 2].map(|axis| s.medium.buoyancy(component(axis))[first..].as_ptr()),
            sums: self
                .sums
                .as_ref()
                .map(|&(_, sums)| (self.velocities(self.beside.velocity, plane), own(sums))),
            waves: self.waves(plane).map(|rows| Waves {
                stress: self.stresses(self.beside.waves, plane).map(<*mut T>::cast_const),
                from: self.velocities(self.beside.velocity, plane),
                to: own(self.beside.before),
                rows,
            }),
        }
    }
}
