//! Converts sums of products of the wavefields to derivatives with respect to parameters, and derivatives at the points
//! of elements to derivatives for regions and grids.

use rayon::prelude::*;

use super::super::media::Contents;
use super::super::pml::Pml;
use super::super::sampling::{Lattice, Sampling};
use super::super::sponge::Damping;
use super::correlate::{CONSTANTS, PRODUCTS};
use super::machine::Machine;
use super::parameters::{LossChain, LossMeans, Parameters, impedances, means, media_of, medium_of};
use super::{Adjoint, Setup};
use crate::Error;
use crate::device::cpu::{Buffer, Cpu};
use crate::mesh::geometry::Tabulated;
use crate::mesh::step::Law;
use crate::mesh::{Basis, Mesh};

/// The number of elements whose points are looked up in a grid at a time.
const TOGETHER: usize = 1024;

/// A gradient with respect to the parameters of every point of every element.
#[derive(Debug)]
pub struct Gradient<const D: usize> {
    /// `[element][point][parameter]`, in the unit of the misfit divided by the unit of the parameter.
    values: Buffer<f64>,
    parameters: Parameters,
    points: usize,
}

impl<const D: usize, M: Machine<D>> Adjoint<D, M> {
    /// The derivatives with respect to the parameters of all points, from the sums over all steps.
    pub(super) fn chained(&self, setup: &Setup<D>) -> Result<Gradient<D>, Error> {
        let (table, points) = (&self.table, self.table.points());
        let (parameters, sponge) = (self.parameters, Damping::new(setup, table));
        let mut values = Buffer::zeroed(setup.mesh.len() * points * parameters.count())?;
        let of_element = |(element, values): (usize, &mut [f64])| {
            if setup.damped_axes(element) != 0 {
                return;
            }
            let mut sums = Vec::new();
            let width = self.machine.products(element, &mut sums);
            let nodes = setup.mesh.coordinates(element);
            let (determinants, contents) = (table.determinants(&nodes), setup.contents(element, table));
            let media = media_of(&contents, points);
            let in_sponge = sponge
                .as_ref()
                .map(|sponge| sponge.shares(&table.positions(&nodes)));
            let each = table.weights().iter().zip(sums.chunks_exact_mut(width.max(1)));
            for (local, (weight, sums)) in each.enumerate() {
                let strength = match (&sponge, &in_sponge) {
                    (Some(sponge), Some(shares)) => shares[local] * sponge.strength(1.0),
                    _ => 0.0,
                };
                let volume = weight * determinants[local] / self.scale;
                let medium = media[local];
                sums.iter_mut().for_each(|sum| *sum *= volume);
                let own = &mut values[local * parameters.count()..][..parameters.count()];
                let law = &contents.medium(local).law;
                let by_speeds = match (law, parameters) {
                    (Law::Fluid(_), _) => of_fluid(medium, strength, sums),
                    (_, Parameters::Constants) => {
                        let impedances = impedances::<D>(setup.points.is_some(), medium);
                        of_constants(&impedances[0], strength, sums, own);
                        if let Some(&[of_bulk, of_shear]) = sums.get(CONSTANTS..) {
                            let means = LossMeans::of::<D>(setup, (&contents, local));
                            means.add_transposed([of_bulk, of_shear], own);
                        }
                        continue;
                    }
                    _ => of_solid(
                        medium,
                        strength,
                        elastic(sums, setup.relaxations.map(|_| contents.factors(local))),
                    ),
                };
                add::<D>(parameters, (by_speeds, medium), own);
                if let (Some(chain), Law::Isotropic { .. }) =
                    (LossChain::of(contents.loss(local), medium), law)
                {
                    let [of_speeds, of_losses] =
                        of_loss(&chain, contents.moduli(local), contents.factors(local), sums);
                    add::<D>(parameters, ([of_speeds[0], of_speeds[1], 0.0], medium), own);
                    if parameters == Parameters::SpeedsAndLosses {
                        own[3..].copy_from_slice(&of_losses);
                    }
                }
            }
            self.add_faces(element, &contents, setup, values);
        };
        let elements = values.par_chunks_mut(points * parameters.count()).enumerate();
        self.machine.cpu().install(|| elements.for_each(of_element));
        self.add_sources(&mut values, setup);
        Ok(Gradient {
            values,
            parameters,
            points,
        })
    }

    /// Adds the contributions of the absorbing faces of an element.
    fn add_faces(&self, element: usize, contents: &Contents, setup: &Setup<D>, values: &mut [f64]) {
        let count = self.parameters.count();
        let first = self.faces.partition_point(|p| (p.element as usize) < element);
        let faces = self.faces[first..].iter().zip(&self.machine.face_sums()[first..]);
        for (p, [along, across]) in faces.take_while(|(p, _)| p.element as usize == element) {
            let local = p.local as usize;
            let medium @ [vp, vs, density] = medium_of(contents, local);
            let own = &mut values[local * count..][..count];
            let area = p.admittance * density * vp / self.scale;
            if setup.is_fluid(element) {
                let of = -area * along / (density * vp);
                add::<D>(self.parameters, ([of / vp, 0.0, of / density], medium), own);
                continue;
            }
            let of = [-area * along, -area * across];
            if self.parameters == Parameters::Constants {
                let slopes = impedances::<D>(setup.points.is_some(), medium);
                for (k, own) in own.iter_mut().enumerate() {
                    *own += of[0] * slopes[0][k] + of[1] * slopes[1][k];
                }
                continue;
            }
            let by_speeds = [of[0] * density, of[1] * density, of[0] * vp + of[1] * vs];
            add::<D>(self.parameters, (by_speeds, medium), own);
        }
    }

    /// Adds the contributions of sources in fluids, whose strength is their moment over the bulk modulus.
    fn add_sources(&self, values: &mut [f64], setup: &Setup<D>) {
        let (points, count) = (self.table.points(), self.parameters.count());
        for source in &self.in_fluids {
            let first = source.element as usize * points;
            let contents = setup.contents(source.element as usize, &self.table);
            for (local, (weight, sum)) in source.weights.iter().zip(&source.sums).enumerate() {
                // The weight is minus the moment over the modulus, so this is the derivative with respect to one over
                // the modulus times the derivative of the latter.
                let of = f64::from(*weight) * sum / self.scale;
                let medium @ [vp, _, density] = medium_of(&contents, local);
                let own = &mut values[(first + local) * count..][..count];
                add::<D>(self.parameters, ([2.0 * of / vp, 0.0, of / density], medium), own);
            }
        }
    }
}

/// Converts derivatives with respect to P speed, S speed and density, in a medium with these values, and adds them to a
/// point's derivatives with respect to its own parameters.
fn add<const D: usize>(parameters: Parameters, (by_speeds, medium): ([f64; 3], [f64; 3]), own: &mut [f64]) {
    let of = parameters.transposed(by_speeds, medium);
    if parameters == Parameters::Constants {
        // The bulk modulus of a fluid.
        let [bulk, _] = means::<D>();
        own.iter_mut()
            .zip(bulk)
            .for_each(|(own, slope)| *own += slope * of[0]);
        own[21] += of[2];
        return;
    }
    own.iter_mut().zip(of).for_each(|(own, of)| *own += of);
}

/// The derivatives with respect to constants and density at a point of a solid whose P impedance has these slopes, from
/// products times volume; `strength` is the damping of the sponge over the P speed.
fn of_constants(impedance: &[f64; 22], strength: f64, products: &[f64], own: &mut [f64]) {
    own[21] -= products[0];
    own.iter_mut()
        .zip(&products[2..CONSTANTS])
        .for_each(|(own, product)| *own -= product);
    for (own, slope) in own.iter_mut().zip(impedance) {
        *own -= products[1] * strength * slope;
    }
}

/// Converts the products of a point of a solid to those without attenuation. With attenuation the last two are
/// derivatives with respect to the unrelaxed bulk modulus and to the unrelaxed shear modulus at constant bulk modulus;
/// `factors` are the ratios of the unrelaxed shear and bulk modulus to the given ones.
fn elastic(products: &[f64], factors: Option<[f64; 2]>) -> [f64; PRODUCTS] {
    let products = std::array::from_fn(|k| products[k]);
    let Some([shear, bulk]) = factors else {
        return products;
    };
    let [mass, damping, by_bulk, by_shear] = products;
    let of_bulk = bulk * by_bulk;
    [mass, damping, of_bulk, shear * by_shear + 2.0 / 3.0 * of_bulk]
}

/// The derivatives with respect to speeds and losses at a point whose loss depends on them, from products times volume;
/// the moduli (shear, bulk) are unrelaxed.
fn of_loss(chain: &LossChain, [shear, bulk]: [f64; 2], factors: [f64; 2], products: &[f64]) -> [[f64; 2]; 2] {
    // Derivatives with respect to the factors, from the relaxed moduli; the contributions of the mechanisms reduce the
    // stress.
    let by_factors = [
        -shear / factors[0] * products[3],
        -bulk / factors[1] * products[2],
    ];
    let by_shares = [shear * products[5], bulk * products[4]];
    chain.transposed(by_factors, by_shares)
}

/// The derivatives with respect to P speed, S speed and density at a point of a solid, from products times volume;
/// `strength` is the damping of the sponge over the P speed.
fn of_solid([vp, vs, density]: [f64; 3], strength: f64, products: [f64; PRODUCTS]) -> [f64; 3] {
    let [mass, damping, lambda, mu] = products.map(|product| -product);
    [
        lambda * 2.0 * density * vp + damping * strength * density,
        (2.0 * mu - 4.0 * lambda) * density * vs,
        mass + lambda * (vp * vp - 2.0 * vs * vs) + mu * vs * vs + damping * strength * vp,
    ]
}

/// The counterpart of [`of_solid`] at a point of a fluid with this P speed and density.
fn of_fluid([vp, _, density]: [f64; 3], strength: f64, products: &[f64]) -> [f64; 3] {
    let [mass, damping, slopes] = [products[0], products[1], products[2]];
    let compliance = 1.0 / (density * vp * vp);
    // The damping of the sponge is its strength times the P speed over the modulus.
    let damping = damping * strength / (density * vp);
    [
        -2.0 * mass * compliance / vp - damping / vp,
        0.0,
        -(mass * compliance + damping + slopes / density) / density,
    ]
}

impl<const D: usize> Gradient<D> {
    /// The derivatives with respect to parameters that are constant in a region, `[parameter][region]`, in the unit of
    /// the misfit divided by the unit of the parameter; `regions` is larger than the largest region number. If the
    /// medium varies within a region, they are with respect to a constant that is added to the parameter there.
    pub fn of_regions(&self, mesh: &Mesh<D>, regions: usize) -> Vec<Vec<f64>> {
        let count = self.parameters.count();
        let mut sums = vec![vec![0.0; regions]; count];
        for (at, own) in self.values.chunks_exact(count).enumerate() {
            let region = mesh.regions()[at / self.points] as usize;
            (0..count).for_each(|k| sums[k][region] += own[k]);
        }
        sums
    }

    /// The derivatives with respect to the nodes of a regular grid, `[parameter][region, if there are `count`
    /// grids][node]`, z fastest, by the transpose of the interpolation with which a
    /// [`GridModel`](super::super::GridModel) evaluates these parameters.
    ///
    /// # Errors
    /// Returns an error for a grid that does not cover the mesh, and for a region without nodes.
    pub fn on_grid(
        &self,
        cpu: &Cpu,
        (mesh, basis, layers): (&Mesh<D>, &Basis, Option<&Pml<D>>),
        (lattice, count): (Lattice<D>, usize),
    ) -> Result<Vec<Vec<f64>>, Error> {
        let sampling = Sampling::new(mesh, lattice, count, layers);
        let table = Tabulated::new(mesh.order(), basis);
        let parameters = self.parameters.count();
        let mut sums = vec![vec![0.0; lattice.nodes() * count]; parameters];
        let corners = |element: usize| -> Result<Vec<_>, Error> {
            let region = mesh.regions()[element] as usize;
            let places = table.positions(&mesh.coordinates(element)).into_iter();
            places.map(|x| sampling.corners(region, x)).collect()
        };
        // The corners of points are looked up in parallel; then each thread sums one parameter in the order of
        // elements.
        for first in (0..mesh.len()).step_by(TOGETHER) {
            let elements = first..mesh.len().min(first + TOGETHER);
            let values = &self.values[elements.start * self.points * parameters..];
            cpu.install(|| {
                let all: Vec<Vec<_>> = elements.into_par_iter().map(corners).collect::<Result<_, _>>()?;
                sums.par_iter_mut().enumerate().for_each(|(k, sums)| {
                    for (corners, own) in all.iter().flatten().zip(values.chunks_exact(parameters)) {
                        for (node, weight) in corners {
                            sums[*node] += weight * own[k];
                        }
                    }
                });
                Ok::<_, Error>(())
            })?;
        }
        Ok(sums)
    }

    /// Adds the gradient of another shot, which must have the same mesh, medium and parameters.
    pub fn add(&mut self, other: &Self) {
        for (sum, more) in self.values.iter_mut().zip(other.values.iter()) {
            *sum += more;
        }
    }

    /// Whether the gradient is zero everywhere.
    pub fn is_zero(&self) -> bool {
        self.values.iter().all(|x| *x == 0.0)
    }
}

/// Checks that a grid has nodes for all points of a mesh ([`Gradient::on_grid`]).
///
/// # Errors
/// Returns an error for a point beyond the grid, or without a node of its region near it.
pub fn covers<const D: usize>(
    (mesh, basis, layers): (&Mesh<D>, &Basis, Option<&Pml<D>>),
    (lattice, count): (Lattice<D>, usize),
) -> Result<(), Error> {
    let sampling = Sampling::new(mesh, lattice, count, layers);
    let table = Tabulated::new(mesh.order(), basis);
    for element in 0..mesh.len() {
        let region = mesh.regions()[element] as usize;
        for x in table.positions(&mesh.coordinates(element)) {
            sampling.corners(region, x)?;
        }
    }
    Ok(())
}
