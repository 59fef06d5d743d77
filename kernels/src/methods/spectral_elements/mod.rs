//! Spectral elements: the weak form of elastodynamics on quadrilaterals and hexahedra, with a diagonal mass.
//!
//! Komatitsch & Vilotte (1998), Komatitsch & Tromp (1999). A field in an element is a sum of products of Lagrange
//! polynomials on Gauss-Lobatto-Legendre points, which are also the quadrature points:
//!
//! | what | equation | file |
//! | --- | --- | --- |
//! | media of regions, or of each point | | `media.rs` |
//! | models on regular grids, at the points of elements | | `grid_model.rs`, `sampling.rs` |
//! | mass | `M_p = sum_e w_p J_p rho` | `mass.rs` |
//! | internal forces | `F_ip = - sum_q sum_a l'_a w_q J_q sum_c (du_a/dx_c) s_ic` | `element.rs` in the lanes of `lanes.rs` |
//! | Jacobians of elements, from their nodes in every step | `J_ca = dx_c/du_a` | `shape.rs` |
//! | attenuation | standard linear solids, memory variables | `attenuation.rs` |
//! | fluids by a potential chi, u = grad chi / rho, p = -chi'' (Chaljub et al. 2003) | `M chi'' = -K chi + coupling` | `fluid.rs` |
//! | absorbing faces (Clayton & Engquist 1977) | `t = -rho vp (v.n) n - rho vs (v - (v.n) n)` | `boundary.rs` |
//! | sponge along absorbing faces | `-c rho v` | `sponge.rs` |
//! | perfectly matched layers (Chew & Weedon 1994, Kuzuoglu & Mittra 1996) | `d/dx_j -> (1/s_j) d/dx_j` | `pml/` |
//! | sources and receivers | `F_i = f_i l_p`, `F_i = M_ij dl_p/dx_j` | `points.rs` |
//! | subdomains, and their halo exchange | | `cut.rs`, `subdomain.rs` |
//! | gradients: the same step backwards in time | `- w J u . D2 l`, ... | `adjoint/` |
//! | all of it on accelerators | | `gpu/` |
//! | time: Newmark, beta 0, gamma 1/2 | `u += dt v + dt^2/2 a; v += dt/2 a; a = F/M; v += dt/2 a` | `sweep.rs`, in the order of `waves.rs` |
//!
//! Fields are `[point][component]`, components x, y, z (x, z) with z downwards, SI units. All contributions of an
//! element to its points (internal forces, absorbing faces, sources) are first written to separate memory; the
//! contributions to a point are then summed in the order of the global element numbers (`sums.rs`). The bits of the
//! result therefore do not depend on threads, on the order in which elements are computed, or on how a mesh is
//! divided. A [`Group`] runs the subdomains of a mesh ([`subdomains`]).

pub mod adjoint;
mod assembly;
mod attenuation;
mod boundary;
mod cpu;
mod cut;
mod damped;
mod element;
mod energy;
mod fluid;
pub mod gpu;
mod grid_model;
mod lanes;
mod mass;
mod media;
mod plan;
mod pml;
mod points;
mod recording;
mod sampling;
mod scratch;
mod shape;
mod sponge;
mod subdomain;
mod sums;
mod sweep;
mod transfer;
mod variables;
mod waves;

pub use attenuation::MECHANISMS;
pub use cpu::Engine;
pub use grid_model::{Band, GridModel, Grids, Planes, not_definite};
pub use media::{Loss, LossSlopes, PointMedia, PointMedium};
pub use plan::calibrate;
pub use pml::{Pml, Profile, Zone};
pub use points::Receiver;
pub use sampling::Lattice;
pub use sponge::{Sponge, SpongeLayer};

/// The numbers of wave fields and of their arithmetic on processors. The unit tests of this crate run in double
/// precision, in which errors of formulas are not hidden by rounding errors.
#[cfg(not(test))]
pub type Number = f32;
/// The numbers of wave fields in unit tests.
#[cfg(test)]
pub type Number = f64;

use crate::Error;
use crate::device::cpu::Cpu;
use crate::mesh::step::{Law, Medium};
use crate::mesh::{Basis, Locator, Mesh};
use crate::parallel::group::Group;
pub use crate::receiver::Quantity;
use crate::time_loop::{Direction, Schedule};
use cut::Cut;
use std::ops::Range;
use std::sync::Arc;

/// How the damping matrix of absorbing faces enters the mass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lumping {
    /// The full damping matrix of a point is inverted with its mass.
    #[default]
    Matrix,
    /// Only its row sums are used, in axes with z upwards, as in SPECFEM3D; this is for comparisons.
    RowSums,
}

/// The strength of a source.
#[derive(Clone, Debug, PartialEq)]
pub enum Strength<const D: usize> {
    /// A force, N (in 2-D N/m), positive along the axes.
    Force([f64; D]),
    /// A moment tensor, N m (in 2-D N).
    Moment([[f64; D]; D]),
}

/// A source at a point.
#[derive(Clone, Debug)]
pub struct Source<const D: usize> {
    /// Position in metres.
    pub at: [f64; D],
    /// Strength, multiplied by the history.
    pub strength: Strength<D>,
    /// Source time function: sample n acts in the equation of motion of step n; beyond the end it is zero.
    pub history: Vec<Number>,
}

/// Relaxation of a region by three standard linear solids.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relaxation {
    /// Relaxation times of stress, s.
    pub tau_stress: [f64; 3],
    /// Relaxation times of strain of the shear modulus, s.
    pub tau_shear: [f64; 3],
    /// Relaxation times of strain of the bulk modulus, s.
    pub tau_bulk: [f64; 3],
    /// Ratios of the unrelaxed shear and bulk modulus to the given ones.
    pub factors: [f64; 2],
}

/// The distribution of the mechanisms of a relaxation over the points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grain {
    /// All mechanisms at every point.
    #[default]
    Fine,
    /// One mechanism at each point and all of them in every element, which needs a third of the memory: the
    /// coarse-grained attenuation of Day (1998), for spectral elements as in van Driel & Nissen-Meyer (2014). The
    /// strength of the mechanism at a point is increased so that its mean over the element, with the quadrature
    /// weights, equals the mean of all mechanisms.
    Coarse,
}

/// The strain that drives the mechanisms if all are at every point; the mechanisms of [`Grain::Coarse`] follow the
/// strain of the current step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Followed {
    /// The strain predicted by the previous step, as in SPECFEM3D: a different error of second order in the time step.
    #[default]
    Predicted,
    /// The strain of the current step, so that correcting the time dispersion is enough to make the wavefield exact
    /// in time.
    OfNow,
}

/// Attenuation of a run.
#[derive(Clone, Copy, Debug)]
pub struct Attenuation<'a> {
    /// One relaxation for each region; fluid regions are not attenuated.
    pub regions: &'a [Relaxation],
    /// The distribution of the mechanisms over the points.
    pub grain: Grain,
    /// The strain that drives them.
    pub followed: Followed,
}

impl<'a> From<&'a [Relaxation]> for Attenuation<'a> {
    fn from(regions: &'a [Relaxation]) -> Self {
        Self {
            regions,
            grain: Grain::Fine,
            followed: Followed::Predicted,
        }
    }
}

/// The parameters of a run.
pub struct Setup<'a, const D: usize> {
    /// The mesh, with coordinates in metres.
    pub mesh: &'a Mesh<D>,
    /// Points and weights along an axis of an element.
    pub basis: &'a Basis,
    /// The medium of each region.
    pub media: &'a [Medium],
    /// P and S speed (m/s) of each region, for the absorbing faces.
    pub speeds: &'a [[f64; 2]],
    /// A model that varies from point to point, if there is one; the media of the regions still determine which of
    /// them are fluids.
    pub points: Option<&'a dyn PointMedia<D>>,
    /// Time step, s.
    pub dt: f64,
    /// Attenuation, if there is any.
    pub relaxations: Option<Attenuation<'a>>,
    /// How absorbing faces enter the mass.
    pub lumping: Lumping,
    /// A sponge along absorbing faces.
    pub sponge: Option<Sponge>,
    /// Perfectly matched layers.
    pub pml: Option<&'a Pml<D>>,
    /// The sources, whose strengths add up.
    pub sources: &'a [Source<D>],
}

/// The recording and the length of a run.
#[derive(Clone, Debug)]
pub struct Shot<const D: usize> {
    /// Number of time steps.
    pub nt: usize,
    /// Number of steps between two records.
    pub jdata: usize,
    /// Positions of the receivers in metres.
    pub receivers: Vec<[f64; D]>,
    /// The quantity that they record.
    pub quantity: Quantity,
    /// Number of steps between two snapshots, if there are any.
    pub jsnap: Option<usize>,
    /// Points of a component of a snapshot in metres, in file order; zeros are written for points outside the mesh.
    pub snapshot_points: Vec<[f64; D]>,
    /// Number of steps between two searches for non-finite values.
    pub jcheck: usize,
}

impl<const D: usize> Default for Shot<D> {
    fn default() -> Self {
        Self {
            nt: 0,
            jdata: 1,
            receivers: Vec::new(),
            quantity: Quantity::default(),
            jsnap: None,
            snapshot_points: Vec::new(),
            jcheck: 100,
        }
    }
}

impl<const D: usize> Shot<D> {
    /// The quantity of snapshots: pressure if the receivers record it, otherwise velocity.
    pub fn snapshot_quantity(&self) -> Quantity {
        match self.quantity {
            Quantity::Pressure => Quantity::Pressure,
            _ => Quantity::Velocity,
        }
    }

    fn schedule(&self) -> Schedule {
        Schedule {
            first: 0,
            nt: self.nt,
            direction: Direction::Forward,
            jdata: self.jdata,
            receivers: self.receivers.len(),
            components: self.quantity.components(D),
            snapshot_components: self.snapshot_quantity().components(D),
            jsnap: self.jsnap,
            jcheck: self.jcheck,
        }
    }
}

/// A run on the subdomains `own` of a mesh. `parts` are ranges of the elements, sorted along the longest side of the
/// mesh; the other subdomains are run by other ranks.
///
/// # Errors
/// Returns an error for a source or receiver outside the mesh, a source of a kind that cannot act in the fluid around
/// it, too many points, and parts that do not make up all elements.
pub fn subdomains<const D: usize>(
    cpu: Arc<Cpu>,
    setup: &Setup<D>,
    shot: &Shot<D>,
    (parts, own): (&[Range<usize>], Range<usize>),
) -> Result<Group<Engine<D>>, Error> {
    let (cut, locator) = (Cut::new(setup, parts)?, Locator::new(setup.mesh));
    let engine = |number| Engine::part(cpu.clone(), setup, shot, (&cut, &locator, number));
    let engines: Result<Vec<_>, Error> = own.map(engine).collect();
    Group::new(engines?, shot.schedule())
}

/// Prepares subdomains for another shot over the same mesh, starting from rest, with other sources and receivers. All
/// other fields of `setup` and `shot` must be unchanged.
///
/// # Errors
/// Returns the errors of [`subdomains`]; after an error the subdomains are unusable.
pub fn next_shot<const D: usize>(
    group: &mut Group<Engine<D>>,
    setup: &Setup<D>,
    shot: &Shot<D>,
) -> Result<(), Error> {
    let locator = Locator::new(setup.mesh);
    let mut engines = group.subdomains.iter_mut();
    engines.try_for_each(|engine| engine.next_shot(setup, shot, &locator))?;
    *group.schedule() = shot.schedule();
    Ok(())
}

impl<const D: usize> Setup<'_, D> {
    fn medium(&self, element: usize) -> &Medium {
        &self.media[self.mesh.regions()[element] as usize]
    }

    /// Shear and bulk modulus of a region, unrelaxed where there is attenuation.
    fn moduli_of_region(&self, region: usize) -> [f64; 2] {
        let [mu, kappa] = media::moduli(&self.media[region].law);
        let factors = self
            .relaxations
            .map_or([1.0; 2], |all| all.regions[region].factors);
        [mu * factors[0], kappa * factors[1]]
    }

    /// The axes across which an element lies in perfectly matched layers: bit a for axis a.
    fn damped_axes(&self, element: usize) -> u8 {
        let axes = |pml: &Pml<D>| pml.axes(&self.mesh.coordinates(element));
        self.pml.map_or(0, axes)
    }

    /// Whether elements in layers are not attenuated, as in the layers of SPECFEM3D.
    fn has_lossless_layers(&self) -> bool {
        let specfem = |pml: &Pml<D>| matches!(pml.profile, Profile::Specfem { .. });
        self.relaxations.is_some() && self.pml.is_some_and(specfem)
    }

    /// Whether an element is not attenuated although its region is.
    fn is_lossless(&self, element: usize) -> bool {
        self.has_lossless_layers() && self.damped_axes(element) != 0
    }

    /// [`Pml::kind`] of an element; 0 without layers.
    fn layer_kind(&self, element: usize) -> u8 {
        let kind = |pml: &Pml<D>| pml.kind(&self.mesh.coordinates(element));
        self.pml.map_or(0, kind)
    }

    /// Whether an element is fluid.
    pub fn is_fluid(&self, element: usize) -> bool {
        self.is_of_fluid(self.mesh.regions()[element] as usize)
    }

    fn is_of_fluid(&self, region: usize) -> bool {
        matches!(self.media[region].law, Law::Fluid(_))
    }
}
