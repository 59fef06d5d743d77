//! The discretised equations of a run, called its program in this folder: the data of its steps, and the data that
//! depend on the medium.

use super::Number;
use super::grid::Rows;
use super::layers::Layers;
use super::nodes::Nodes;
use crate::Error;
use crate::device::cpu::{Buffer, Cpu};
use crate::device::simd::Real;
use crate::medium::{Medium, Symmetry};
use crate::methods::velocity_stress::layout::{fields, stress};
use crate::methods::velocity_stress::rows::PAIR;
use crate::methods::velocity_stress::{Setup, Shot};
use std::ops::Range;
use std::sync::Arc;

/// The places of [`PAIR`] that a 3-D run uses: normal stiffnesses, couplings, shear stiffnesses.
pub const PLACES_3D: [usize; 9] = [0, 1, 2, 3, 4, 5, 6, 7, 8];
/// The places of [`PAIR`] that a 2-D run uses.
pub const PLACES_2D: [usize; 4] = [0, 2, 4, 7];

/// The places of a run in `ndim` dimensions.
pub fn places(ndim: usize) -> &'static [usize] {
    if ndim == 3 { &PLACES_3D } else { &PLACES_2D }
}

/// The index of a place among the places of a run.
pub fn place(ndim: usize, place: usize) -> usize {
    places(ndim).iter().position(|&p| p == place).unwrap_or(0)
}

/// The discretised equations of a run: all data that its steps need and that no step changes.
#[derive(Clone)]
pub struct Discrete<T> {
    /// The data of a forward run.
    pub setup: Arc<Setup<T>>,
    /// The layout of the grid.
    pub rows: Rows<T>,
    pub layers: Layers<T>,
    /// The medium on the nodes of the model.
    pub nodes: Arc<Nodes<T>>,
    /// `c_za / c_zz` on the nodes of the surface, by horizontal axis, `[plane][row]`.
    pub ratios: Vec<Vec<T>>,
    /// Planes of the grid on which the medium is known: all of them, except on a rank that has only some planes of a
    /// shot.
    pub prepared: Range<usize>,
}

impl<T: Number> Discrete<T> {
    /// The program of a shot over a medium whose speeds hold at the reference frequency of its attenuation, computed
    /// on the planes of the grid that are `prepared`.
    pub fn new(
        shot: &Shot,
        mut raw: Medium<T>,
        (class, prepared): (Symmetry, &Range<usize>),
        cpu: Cpu,
    ) -> Result<Self, Error> {
        let all = 0..raw.padded().planes();
        let (setup, weak) = Setup::new(shot, &mut raw, (class, &all, prepared), cpu)?;
        let nodes = Arc::new(Nodes::new(raw, weak, class));
        let rows = Rows::new(&setup);
        let mut program = Self {
            layers: Layers::new(&rows, &setup.edges),
            setup: Arc::new(setup),
            ratios: Vec::new(),
            prepared: prepared.clone(),
            nodes,
            rows,
        };
        program.ratios = program.surface_ratios();
        Ok(program)
    }

    /// Prepares another shot over the same medium, with other sources, series and receivers.
    pub fn next_shot(&mut self, shot: &Shot) -> Result<(), Error> {
        self.setup = Arc::new(self.setup.another(shot, &(0..self.rows.padded.planes()))?);
        Ok(())
    }

    /// The same program on other processors.
    pub fn on(&self, cpu: Cpu) -> Self {
        Self {
            setup: Arc::new(Setup {
                cpu: Arc::new(cpu),
                ..(*self.setup).clone()
            }),
            ..self.clone()
        }
    }

    /// The planes that are computed and on which the medium is known.
    pub fn known(&self) -> Range<usize> {
        let live = &self.rows.planes;
        live.start.max(self.prepared.start)..live.end.min(self.prepared.end)
    }

    fn surface_ratios(&self) -> Vec<Vec<T>> {
        let rows = &self.rows;
        if self.setup.surface.is_none() {
            return Vec::new();
        }
        let of = |axis: usize| {
            let mut all = vec![T::of(0.0); rows.count()];
            for plane in self.known() {
                for row in rows.rows.clone() {
                    let at = rows.at(plane, row) + rows.padded.low[0];
                    let c = |place: usize| self.setup.medium.stiffness(place)[at].f64();
                    all[rows.number(plane, row)] = T::of(c(PAIR[0][axis]) / c(0));
                }
            }
            all
        };
        rows.horizontal().iter().map(|&axis| of(axis)).collect()
    }

    /// Number of dimensions, 2 or 3.
    pub fn ndim(&self) -> usize {
        self.rows.ndim()
    }

    /// Length of a record, `[component][receiver]`.
    pub fn values(&self) -> usize {
        self.setup.receivers.values()
    }

    /// The index of a stress among the stresses, from its place in [`PAIR`].
    pub fn stress(&self, pair: usize) -> usize {
        stress(self.ndim(), pair) - self.ndim()
    }

    pub fn stresses(&self) -> usize {
        fields(self.ndim()) - self.ndim()
    }

    /// Number of relaxation mechanisms per cell.
    pub fn mechanisms(&self) -> usize {
        self.setup.relaxation.as_ref().map_or(0, |r| r.mechanisms())
    }

    /// Length of the record of the surface in a step: for each horizontal axis `D_a v_a`, then `szz` before it is set
    /// to zero, `[..][plane][row]`.
    pub fn of_surface(&self) -> usize {
        match self.setup.surface {
            Some(_) => self.ndim() * self.rows.count(),
            None => 0,
        }
    }

    /// Perturbations of zero.
    ///
    /// # Errors
    /// Returns an error if memory is insufficient.
    pub fn changes(&self) -> Result<Changes<T>, Error> {
        let (ndim, len) = (self.ndim(), self.rows.len);
        let zeros = |fields: usize| Buffer::zeroed(fields * len);
        let places = places(ndim).len();
        let surface = match self.setup.surface {
            Some(_) => (ndim - 1) * self.rows.count(),
            None => 0,
        };
        Ok(Changes {
            buoyancy: zeros(ndim)?,
            stiffness: zeros(places)?,
            relaxing: zeros(if self.setup.relaxation.is_some() {
                places
            } else {
                0
            })?,
            ratios: Buffer::zeroed(surface)?,
        })
    }
}

/// Perturbations of the coefficients of the discretised equations, or derivatives with respect to them.
pub struct Changes<T: Real> {
    /// For `dt/rho`, `[velocity][plane][row][z]`.
    pub buoyancy: Buffer<T>,
    /// For `dt c`, in the order of [`places`].
    pub stiffness: Buffer<T>,
    /// For `dt` times the relaxing stiffness, in the order of [`places`].
    pub relaxing: Buffer<T>,
    /// For the ratios on the surface, `[horizontal axis][plane][row]`.
    pub ratios: Buffer<T>,
}
