//! From sums of products of the wavefields to derivatives by parameters, and from the points of elements to regions and grids.

use super::super::sampling::{Lattice, Sampling};
use super::super::sponge::Damping;
use super::correlate::{PRODUCTS, Products};
use super::parameters::{Parameters, media};
use super::{Adjoint, Setup};
use crate::Error;
use crate::mesh::geometry::Tabulated;
use crate::mesh::step::Law;
use crate::mesh::{Basis, Mesh};

/// A gradient by the parameters of every point of every element.
#[derive(Clone, Debug)]
pub struct Gradient<const D: usize> {
    /// `[element * points + point]`: by P speed, S speed and density there, the misfit's unit over theirs.
    values: Vec<[f64; 3]>,
    /// P speed, S speed, density there.
    media: Vec<[f64; 3]>,
    points: usize,
}

impl<const D: usize> Adjoint<D> {
    /// The derivatives by speeds and density at all points, of the sums of all steps, which begin anew.
    pub(super) fn chained(&mut self, setup: &Setup<D>) -> Gradient<D> {
        let (table, points) = (&self.table, self.table.points());
        let sponge = Damping::new(setup, table);
        let media = media(setup, table);
        let mut values = vec![[0.0; 3]; media.len()];
        for element in 0..setup.mesh.len() {
            let nodes = setup.mesh.coordinates(element);
            let (own, contents) = (table.element(&nodes), setup.contents(element, table));
            let in_sponge = sponge
                .as_ref()
                .map(|sponge| sponge.shares(&table.positions(&nodes)));
            for (local, weight) in table.weights().iter().enumerate() {
                let strength = match (&sponge, &in_sponge) {
                    (Some(sponge), Some(shares)) => shares[local] * sponge.strength(1.0),
                    _ => 0.0,
                };
                let sums = self.summed(element, local);
                let volume = weight * own.determinant[local] / self.scale;
                let at = element * points + local;
                let sums = sums.map(|sum| volume * sum);
                values[at] = match contents.medium(local).law {
                    Law::Fluid(_) => of_fluid(media[at], strength, sums),
                    _ => of_solid(
                        media[at],
                        strength,
                        elastic(sums, setup.relaxations.map(|_| contents.factors(local))),
                    ),
                };
            }
        }
        self.add_faces(&mut values, &media);
        self.add_sources(&mut values, &media);
        self.products.iter_mut().for_each(Products::clear);
        self.face_sums.fill([0.0; 2]);
        Gradient {
            values,
            media,
            points,
        }
    }

    /// The sums of products of a point of an element.
    fn summed(&self, element: usize, local: usize) -> [f64; PRODUCTS] {
        let (engine, [solid, fluid]) = (&self.engine, &self.products);
        let of_fluid = || engine.fluid.as_ref()?.homes.find(element);
        match engine.homes.find(element) {
            Some(home) => solid.at(home, local),
            None => of_fluid().map_or([0.0; PRODUCTS], |home| fluid.at(home, local)),
        }
    }

    /// Adds what absorbing faces give to the derivatives by speeds and density.
    fn add_faces(&self, values: &mut [[f64; 3]], media: &[[f64; 3]]) {
        let points = self.table.points();
        for (p, [along, across]) in self.faces.iter().zip(&self.face_sums) {
            let at = p.element as usize * points + p.local as usize;
            let [vp, vs, density] = media[at];
            let area = p.admittance * density * vp / self.scale;
            if self.engine.homes.find(p.element as usize).is_none() {
                let of = -area * along / (density * vp);
                values[at][0] += of / vp;
                values[at][2] += of / density;
                continue;
            }
            let of = [-area * along, -area * across];
            values[at][0] += of[0] * density;
            values[at][1] += of[1] * density;
            values[at][2] += of[0] * vp + of[1] * vs;
        }
    }

    /// Adds what sources in fluids give, whose strength is their moment over the bulk modulus.
    fn add_sources(&self, values: &mut [[f64; 3]], media: &[[f64; 3]]) {
        let Some(fluid) = &self.engine.fluid else { return };
        let points = self.table.points();
        let blocks = fluid.blocks.iter().zip(&fluid.sources).zip(&self.source_sums);
        for ((block, sources), sums) in blocks {
            for (source, sums) in sources.iter().zip(sums) {
                let first = block.elements[source.lane] as usize * points;
                for (local, ([weight], sum)) in source.weights.iter().zip(sums).enumerate() {
                    // The weight is minus the moment over the modulus: by one over the modulus, times the derivative of that.
                    let of = f64::from(*weight) * sum / self.scale;
                    let [vp, _, density] = media[first + local];
                    values[first + local][0] += 2.0 * of / vp;
                    values[first + local][2] += of / density;
                }
            }
        }
    }
}

/// Products of a point of a solid as they are without attenuation. With it the last two are those by the bulk modulus and by the shear modulus
/// at the same bulk modulus, both unrelaxed, to which these `factors` lead from the shear and the bulk modulus.
fn elastic(products: [f64; PRODUCTS], factors: Option<[f64; 2]>) -> [f64; PRODUCTS] {
    let Some([shear, bulk]) = factors else {
        return products;
    };
    let [mass, damping, by_bulk, by_shear] = products;
    let of_bulk = bulk * by_bulk;
    [mass, damping, of_bulk, shear * by_shear + 2.0 / 3.0 * of_bulk]
}

/// The derivatives by P speed, S speed and density at a point of a solid, of products times volume; `strength` is the damping of the sponge
/// over the P speed.
fn of_solid([vp, vs, density]: [f64; 3], strength: f64, products: [f64; PRODUCTS]) -> [f64; 3] {
    let [mass, damping, lambda, mu] = products.map(|product| -product);
    [
        lambda * 2.0 * density * vp + damping * strength * density,
        (2.0 * mu - 4.0 * lambda) * density * vs,
        mass + lambda * (vp * vp - 2.0 * vs * vs) + mu * vs * vs + damping * strength * vp,
    ]
}

/// The same at a point of a fluid with this P speed and density.
fn of_fluid([vp, _, density]: [f64; 3], strength: f64, products: [f64; PRODUCTS]) -> [f64; 3] {
    let [mass, damping, slopes, _] = products;
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
    /// By other parameters: `[element * points + point]`.
    fn by(&self, parameters: Parameters) -> impl Iterator<Item = [f64; 3]> {
        let all = self.values.iter().zip(&self.media);
        all.map(move |(own, medium)| parameters.transposed(*own, *medium))
    }

    /// The derivatives by parameters that are constant in a region, `[region][parameter]`, in the unit of the misfit over that of the
    /// parameter; `regions` is above the largest number of a region. In a medium that varies within regions: by a constant that is added to
    /// the parameter there.
    pub fn of_regions(&self, mesh: &Mesh<D>, regions: usize, parameters: Parameters) -> Vec<[f64; 3]> {
        let mut sums = vec![[0.0; 3]; regions];
        for (at, own) in self.by(parameters).enumerate() {
            let sum = &mut sums[mesh.regions()[at / self.points] as usize];
            (0..3).for_each(|k| sum[k] += own[k]);
        }
        sums
    }

    /// By the nodes of a regular grid from which points of elements take these parameters as [`GridModel`](super::super::GridModel) has
    /// them, by the transpose of that interpolation: `[parameter][region, where there are `count` grids][node]`, z fastest.
    ///
    /// # Errors
    /// A grid that does not cover the mesh; a region without nodes.
    pub fn on_grid(
        &self,
        (mesh, basis): (&Mesh<D>, &Basis),
        (lattice, count): (Lattice<D>, usize),
        parameters: Parameters,
    ) -> Result<[Vec<f64>; 3], Error> {
        let sampling = Sampling::new(mesh, lattice, count);
        let table = Tabulated::new(mesh.order(), basis);
        let mut sums = [0; 3].map(|_| vec![0.0; lattice.nodes() * count]);
        let mut all = self.by(parameters);
        for element in 0..mesh.len() {
            let region = mesh.regions()[element] as usize;
            for x in table.positions(&mesh.coordinates(element)) {
                let own = all.next().unwrap_or_default();
                for (node, weight) in sampling.corners(region, x)? {
                    (0..3).for_each(|k| sums[k][node] += weight * own[k]);
                }
            }
        }
        Ok(sums)
    }

    /// Adds the gradient of another shot over the same mesh and medium; of others the result has no meaning.
    pub fn add(&mut self, other: &Self) {
        for (sum, more) in self.values.iter_mut().zip(&other.values) {
            (0..3).for_each(|k| sum[k] += more[k]);
        }
    }

    /// Whether all of it is zero.
    pub fn is_zero(&self) -> bool {
        self.values.iter().flatten().all(|x| *x == 0.0)
    }

    /// By P speed, S speed and density at every point of every element: `[element][point]`, points with the first axis of the cell fastest.
    pub fn values(&self) -> &[[f64; 3]] {
        &self.values
    }
}

/// Whether a grid has nodes for all points of a mesh ([`Gradient::on_grid`]).
///
/// # Errors
/// A point beyond the grid, or without a node of its region near it.
pub fn covers<const D: usize>(
    (mesh, basis): (&Mesh<D>, &Basis),
    (lattice, count): (Lattice<D>, usize),
) -> Result<(), Error> {
    let sampling = Sampling::new(mesh, lattice, count);
    let table = Tabulated::new(mesh.order(), basis);
    for element in 0..mesh.len() {
        let region = mesh.regions()[element] as usize;
        for x in table.positions(&mesh.coordinates(element)) {
            sampling.corners(region, x)?;
        }
    }
    Ok(())
}
