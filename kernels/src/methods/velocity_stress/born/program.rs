//! The discrete program of a run and the numbers that it works on.

use super::Number;
use super::grid::Rows;
use super::layers::Layers;
use super::nodes::Nodes;
use crate::Error;
use crate::device::cpu::Cpu;
use crate::grid::Padded;
use crate::medium::{Medium, Symmetry};
use crate::methods::velocity_stress::absorbing_frame::Edges;
use crate::methods::velocity_stress::adjoint::Adjoint;
use crate::methods::velocity_stress::attenuation::{Relaxation, patterns};
use crate::methods::velocity_stress::layout::{fields, stress};
use crate::methods::velocity_stress::medium::Staggered;
use crate::methods::velocity_stress::points::Placer;
use crate::methods::velocity_stress::receivers::{Quantity, Receivers};
use crate::methods::velocity_stress::rows::PAIR;
use crate::methods::velocity_stress::sources::SourceNodes;
use crate::methods::velocity_stress::stress_rows::Pattern;
use crate::methods::velocity_stress::surface::Images;
use crate::methods::velocity_stress::{Shot, check};

/// Places of [`PAIR`] that a run has: normal stiffnesses, couplings, shears.
pub const PLACES_3D: [usize; 9] = [0, 1, 2, 3, 4, 5, 6, 7, 8];
/// The same in 2-D.
pub const PLACES_2D: [usize; 4] = [0, 2, 4, 7];

/// The places of a run in so many dimensions.
pub fn places(ndim: usize) -> &'static [usize] {
    if ndim == 3 { &PLACES_3D } else { &PLACES_2D }
}

/// Relaxation: what relaxes of the stiffness, and how mechanisms go on.
pub struct Relaxing<T> {
    /// Relaxing stiffness.
    pub medium: Relaxation<T>,
    /// By whether the plane is odd, by mechanism, by whether the row is odd.
    pub patterns: [Vec<[Pattern<T>; 2]>; 2],
}

/// Sources and receivers on the nodes.
fn placed<T: Number>(
    shot: &Shot,
    (padded, weights): (&Padded, &[f64]),
    medium: &Staggered<T>,
) -> Result<(SourceNodes<T>, Receivers<T>), Error> {
    let adjoint = shot.surface.then(|| Adjoint::new(weights));
    let placer = Placer {
        padded,
        free: adjoint.as_ref(),
    };
    let buoyancy = |field: usize, plane: usize, row: usize, z: usize| {
        medium.buoyancy(field)[medium.row(plane, row) + z].f64()
    };
    let own = 0..padded.planes();
    Ok((
        SourceNodes::new(&placer, (buoyancy, &own), &shot.sources, &shot.series, shot.dt)?,
        Receivers::new(&placer, &shot.receivers, shot.quantity)?,
    ))
}

/// The discrete program of a run: everything that its steps need and no step changes.
pub struct Discrete<T> {
    /// The grid.
    pub rows: Rows<T>,
    /// Absorbing layers.
    pub layers: Layers<T>,
    /// Weights of the sponge along z, row, plane.
    pub sponge: Option<[Vec<T>; 3]>,
    /// Stiffness and buoyancy.
    pub medium: Staggered<T>,
    /// The same where the model has them.
    pub nodes: Nodes<T>,
    /// Attenuation.
    pub relaxing: Option<Relaxing<T>>,
    /// Images above a free surface.
    pub images: Option<Images<T>>,
    /// `c_za / c_zz` on the nodes of the surface, by horizontal axis, `[plane][row]`.
    pub ratios: Vec<Vec<T>>,
    /// Sources.
    pub spots: SourceNodes<T>,
    /// Receivers.
    pub receivers: Receivers<T>,
    /// What they record.
    pub quantity: Quantity,
    /// Time step.
    pub dt: f64,
    /// Threads.
    pub cpu: Cpu,
}

impl<T: Number> Discrete<T> {
    /// The program of a shot over a medium whose speeds hold at the reference frequency of its attenuation.
    pub fn new(shot: &Shot, mut raw: Medium<T>, class: Symmetry, cpu: Cpu) -> Result<Self, Error> {
        let padded = raw.padded().clone();
        let (ndim, weights) = (padded.ndim(), check(shot, &padded)?);
        let own = 0..padded.planes();
        let (relaxing, weak) = match &shot.attenuation {
            None => (None, None),
            Some(losses) => {
                let law = losses.law(ndim);
                let (medium, weak) = Relaxation::new(&mut raw, class, losses, shot.dt, (&cpu, &own))?;
                let of = |plane| patterns(&law, losses.mechanisms, ndim, plane, shot.dt);
                let patterns = [0, 1].map(of);
                (Some(Relaxing { medium, patterns }), Some(weak))
            }
        };
        let nodes = Nodes::new(&raw, weak.as_ref(), class);
        drop(weak);
        let medium = Staggered::new(&raw, class, shot.dt, (&cpu, &own))?;
        drop(raw);
        let (spots, receivers) = placed(shot, (&padded, weights), &medium)?;
        let rows = Rows::new(&padded, weights);
        let edges = Edges::new(&padded, &shot.frame, shot.dt);
        let mut made = Self {
            layers: Layers::new(&rows, &edges),
            sponge: edges.weights().cloned(),
            relaxing,
            images: shot.surface.then(|| Images::new(weights.len())),
            ratios: Vec::new(),
            spots,
            receivers,
            quantity: shot.quantity,
            dt: shot.dt,
            cpu,
            medium,
            nodes,
            rows,
        };
        made.ratios = made.surface_ratios();
        Ok(made)
    }

    /// The program of another shot over the same medium: other sources, series and receivers.
    pub fn next_shot(&mut self, shot: &Shot) -> Result<(), Error> {
        let padded = &self.rows.padded;
        let weights = check(shot, padded)?;
        (self.spots, self.receivers) = placed(shot, (padded, weights), &self.medium)?;
        Ok(())
    }

    fn surface_ratios(&self) -> Vec<Vec<T>> {
        let rows = &self.rows;
        if self.images.is_none() {
            return Vec::new();
        }
        let of = |axis: usize| {
            let mut all = vec![T::of(0.0); rows.count()];
            for plane in rows.planes.clone() {
                for row in rows.rows.clone() {
                    let at = rows.at(plane, row) + rows.padded.low[0];
                    let c = |place: usize| self.medium.stiffness(place)[at].f64();
                    all[rows.number(plane, row)] = T::of(c(PAIR[0][axis]) / c(0));
                }
            }
            all
        };
        rows.horizontal().iter().map(|&axis| of(axis)).collect()
    }

    /// 2 or 3.
    pub fn ndim(&self) -> usize {
        self.rows.ndim()
    }

    /// The number of a stress among the stresses, from its place in [`PAIR`].
    pub fn stress(&self, pair: usize) -> usize {
        stress(self.ndim(), pair) - self.ndim()
    }

    /// Stresses of a cell.
    pub fn stresses(&self) -> usize {
        fields(self.ndim()) - self.ndim()
    }

    /// Mechanisms of a cell.
    pub fn mechanisms(&self) -> usize {
        self.relaxing.as_ref().map_or(0, |r| r.medium.mechanisms())
    }

    /// What the sponge leaves of the cells of a row is `z[k] * rest`.
    pub fn damping(&self, plane: usize, row: usize) -> Option<(&[T], T)> {
        let [z, rows, planes] = self.sponge.as_ref()?;
        Some((&z[self.rows.z.clone()], rows[row] * planes[plane]))
    }

    /// Fields at rest.
    pub fn state(&self) -> State<T> {
        let (ndim, len) = (self.ndim(), self.rows.len);
        let zeros = |fields: usize| vec![T::of(0.0); fields * len];
        let kept = if self.quantity.runs() {
            self.receivers.values()
        } else {
            0
        };
        State {
            velocity: zeros(ndim),
            stress: zeros(self.stresses()),
            layers: [self.layers.memory(ndim), self.layers.memory(ndim)],
            relaxing: zeros(self.mechanisms() * self.stresses()),
            kept: [vec![T::of(0.0); kept], vec![T::of(0.0); kept]],
        }
    }

    /// Room for what a step of the background is linearised about.
    pub fn tape(&self) -> Tape<T> {
        let (ndim, len) = (self.ndim(), self.rows.len);
        let zeros = |fields: usize| vec![T::of(0.0); fields * len];
        let surface = match self.images {
            Some(_) => ndim * self.rows.count(),
            None => 0,
        };
        Tape {
            force: zeros(ndim),
            strain: zeros(self.stresses()),
            surface: vec![T::of(0.0); surface],
        }
    }

    /// Changes of nothing.
    pub fn changes(&self) -> Changes<T> {
        let (ndim, len) = (self.ndim(), self.rows.len);
        let zeros = |fields: usize| vec![T::of(0.0); fields * len];
        let places = places(ndim).len();
        let surface = match self.images {
            Some(_) => (ndim - 1) * self.rows.count(),
            None => 0,
        };
        Changes {
            buoyancy: zeros(ndim),
            stiffness: zeros(places),
            relaxing: zeros(if self.relaxing.is_some() { places } else { 0 }),
            ratios: vec![T::of(0.0); surface],
        }
    }
}

/// The numbers that a step changes, or those that wait for them in the transposed program.
#[derive(Clone)]
pub struct State<T> {
    /// `[component][plane][row][z]`, components z, x, y.
    pub velocity: Vec<T>,
    /// `[stress][plane][row][z]`
    pub stress: Vec<T>,
    /// Memory of the layers by stage and axis.
    pub layers: [[Vec<T>; 3]; 2],
    /// Memory of attenuation, `[mechanism][stress][plane][row][z]`.
    pub relaxing: Vec<T>,
    /// What runs at the receivers, `[component][receiver]`: a sum over time, or the velocities before.
    pub kept: [Vec<T>; 2],
}

impl<T: Number> State<T> {
    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let layers: usize = self.layers.iter().flatten().map(Vec::len).sum();
        (self.velocity.len() + self.stress.len() + layers + self.relaxing.len()) * size_of::<T>()
    }
}

/// What a step of the background is linearised about.
#[derive(Clone)]
pub struct Tape<T> {
    /// `D_j s_ij` in the layers, `[velocity][plane][row][z]`.
    pub force: Vec<T>,
    /// Rates of strain in the layers, `[stress][plane][row][z]`; shears are the sum of both derivatives.
    pub strain: Vec<T>,
    /// On the surface: by horizontal axis `D_a v_a`, then `szz` before it is put to zero, `[..][plane][row]`.
    pub surface: Vec<T>,
}

impl<T: Number> Tape<T> {
    /// Bytes held.
    pub fn bytes(&self) -> usize {
        (self.force.len() + self.strain.len() + self.surface.len()) * size_of::<T>()
    }
}

/// Changes of the coefficients of the discrete program, or what waits for them in the transposed one.
pub struct Changes<T> {
    /// Of `dt/rho`, `[velocity][plane][row][z]`.
    pub buoyancy: Vec<T>,
    /// Of `dt c`, in the order of [`places`].
    pub stiffness: Vec<T>,
    /// Of what relaxes of it.
    pub relaxing: Vec<T>,
    /// Of the ratios on the surface, `[horizontal axis][plane][row]`.
    pub ratios: Vec<T>,
}
