//! The run of a slab on processors: its stages, its recording, and the search for non-finite values.

use super::cpu::CpuSlab;
use super::receivers::Quantity;
use crate::Error;
use crate::device::cpu::first_bad;
use crate::device::simd::Real;
use crate::time_loop::{Direction, Part, Sampler, Stepper};
use std::ops::Range;

impl<T: Real> CpuSlab<T> {
    pub(super) fn update_part(&mut self, stage: usize, part: Part, step: usize) {
        // `f64` is used only by tests and is compiled with them.
        if const { size_of::<T>() != size_of::<f32>() } {
            return self.update_part_of((stage, part, step));
        }
        compiled_here!(self: CpuSlab<f32>, update_part_of((stage, part, step)): (usize, Part, usize));
    }

    fn update_part_of(&mut self, (stage, part, step): (usize, Part, usize)) {
        let planes = self.layout.part(part);
        planes.for_each(|planes| self.update_planes(stage, planes, step));
    }
}

impl<T: Real> Stepper for CpuSlab<T> {
    type Number = T;

    fn stages(&self) -> usize {
        2
    }

    fn has_neighbours(&self) -> bool {
        !self.links.is_empty()
    }

    fn update(&mut self, stage: usize, part: Part, step: usize) -> Result<(), Error> {
        self.update_part(stage, part, step);
        Ok(())
    }

    fn finish_step(&mut self) -> Result<(), Error> {
        let setup = self.setup.clone();
        if setup.peaks {
            self.keep_peaks();
        }
        if !setup.quantity.runs() {
            return Ok(());
        }
        let [mut running, mut before] = std::mem::take(&mut self.kept);
        let (dt, own) = (T::of(setup.dt), &self.layout.own);
        let value = |f: usize, plane: usize, row: usize, z: usize| self.value(f, plane, row, z);
        match setup.quantity {
            Quantity::Acceleration => {
                running.copy_from_slice(&before);
                setup
                    .receivers
                    .extract(own, value, |old, v| *old = v, &mut before);
                for (then, now) in running.iter_mut().zip(&before) {
                    *then = T::of((now.f64() - then.f64()) / setup.dt);
                }
            }
            // The others are time integrals.
            _ => setup
                .receivers
                .extract(own, value, |u, v| *u += dt * v, &mut running),
        }
        self.kept = [running, before];
        Ok(())
    }

    /// Backward in time the stages swap their order and every update is subtracted: the derivatives and the sources
    /// change sign.
    fn turn(&mut self, direction: Direction) -> Result<(), Error> {
        if direction != self.direction {
            self.setup.reversible()?;
            self.direction = direction;
            self.weights = self.weights.map(|axis| axis.map(|w| T::of(-w.f64())));
        }
        Ok(())
    }
}

impl<T: Real> Sampler for CpuSlab<T> {
    fn traces(&mut self, out: &mut [T]) -> Result<(), Error> {
        let receivers = &self.setup.receivers;
        if self.setup.quantity.runs() {
            let kept = receivers.own(&self.layout.own);
            kept.for_each(|k| out[k] = self.kept[0][k]);
            return Ok(());
        }
        let value = |f: usize, plane: usize, row: usize, z: usize| self.value(f, plane, row, z);
        receivers.extract(&self.layout.own, value, |out, x| *out = x, out);
        Ok(())
    }

    fn snapshot_share(&self) -> Vec<Range<usize>> {
        self.layout
            .snapshot_share(&self.setup.window, self.setup.padded.ndim())
    }

    fn pieces(&self) -> usize {
        self.layout.pieces(self.window_planes(), 1)
    }

    fn request_piece(&mut self, component: usize, piece: usize) -> Result<(), Error> {
        let planes = self.layout.piece(self.window_planes(), 1, piece);
        let p = &self.setup.padded;
        let [z, x, _] = &self.setup.window;
        let (fields, share) = self.setup.quantity.of_snapshots().fields(p.ndim(), component);
        let mut piece = Vec::new();
        for plane in planes {
            for row in if p.ndim() == 3 { x.clone() } else { 0..1 } {
                piece.extend(z.clone().map(|z| {
                    let sum: f64 = fields.iter().map(|&f| self.value(f, plane, row, z).f64()).sum();
                    T::of(sum * share)
                }));
            }
        }
        self.pieces.push_back(piece);
        Ok(())
    }

    fn take_piece(&mut self, out: &mut Vec<T>) -> Result<(), Error> {
        out.extend(self.pieces.pop_front().expect("a piece was requested"));
        Ok(())
    }

    fn first_non_finite(&mut self) -> Result<Option<usize>, Error> {
        let p = &self.setup.padded;
        let own = &self.layout.own;
        let cell = self.setup.cpu.least(own.len(), |k| {
            let bad = (0..p.ndim()).find_map(|f| {
                let from = self.at(f, own.start + k, 0, 0);
                first_bad(&self.fields.as_slice()[from..from + p.plane_len()])
            });
            bad.map(|cell| (own.start + k) * p.plane_len() + cell)
        });
        Ok(cell)
    }
}
