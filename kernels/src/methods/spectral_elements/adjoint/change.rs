//! Small perturbations of the medium, and the masses, dampings and moduli that they perturb at the points of an element.

use super::super::Setup;
use super::super::boundary::FacePoint;
use super::super::media::Contents;
use super::super::sampling::{Lattice, Sampling};
use super::super::sponge::Damping;
use super::parameters::{LossChain, LossMeans, Parameters, dot, impedances, means, media};
use crate::Error;
use crate::mesh::geometry::Tabulated;
use crate::mesh::step::Law;
use crate::methods::spectral_elements::Number;
use rayon::prelude::*;

/// A small perturbation of the medium at every point of every element.
#[derive(Clone, Debug)]
pub struct Change<const D: usize> {
    pub(super) parameters: Parameters,
    /// `[element][point][parameter]`.
    values: Vec<f64>,
    /// The same perturbation in P speed, S speed and density; zeros in solids if the parameters are constants.
    speeds: Vec<[f64; 3]>,
}

impl<const D: usize> Change<D> {
    /// A perturbation `[parameter][region]` that is constant in regions.
    pub fn of_regions(setup: &Setup<D>, regions: &[Vec<f64>], parameters: Parameters) -> Self {
        let of_point = |region: usize, _, own: &mut [f64]| {
            own.iter_mut()
                .zip(regions)
                .for_each(|(own, of)| *own = of[region]);
            Ok(())
        };
        Self::of(setup, parameters, of_point).unwrap_or_else(|_: Error| unreachable!())
    }

    /// A perturbation at the nodes of a grid, `[parameter][region, if there are `count` grids][node]`, z fastest,
    /// interpolated to the points of elements as in a [`GridModel`](super::super::GridModel).
    ///
    /// # Errors
    /// Returns an error for a grid that does not cover the mesh, and for a region without nodes.
    pub fn on_grid(
        setup: &Setup<D>,
        (lattice, count): (Lattice<D>, usize),
        nodes: &[Vec<f64>],
        parameters: Parameters,
    ) -> Result<Self, Error> {
        let sampling = Sampling::new(setup.mesh, lattice, count, setup.pml);
        Self::of(setup, parameters, |region, x, own| {
            let corners = sampling.corners(region, x)?;
            let mean = |of: &Vec<f64>| corners.iter().map(|(node, weight)| weight * of[*node]).sum();
            own.iter_mut().zip(nodes).for_each(|(own, of)| *own = mean(of));
            Ok(())
        })
    }

    /// A perturbation from a function of the region and the position, which writes the parameters of a point.
    fn of(
        setup: &Setup<D>,
        parameters: Parameters,
        at: impl Fn(usize, [f64; D], &mut [f64]) -> Result<(), Error> + Sync,
    ) -> Result<Self, Error> {
        let table = Tabulated::new(setup.mesh.order(), setup.basis);
        let (count, points) = (parameters.count(), table.points());
        let mut speeds = media(setup, &table);
        let mut values = vec![0.0; speeds.len() * count];
        let [bulk, _] = means::<D>();
        let of_element = |(element, (values, speeds)): (usize, (&mut [f64], &mut [[f64; 3]]))| {
            let region = setup.mesh.regions()[element] as usize;
            let places = table.positions(&setup.mesh.coordinates(element));
            let in_layers = setup.damped_axes(element) != 0;
            for ((x, own), speeds) in places.into_iter().zip(values.chunks_exact_mut(count)).zip(speeds) {
                at(region, x, own)?;
                // The medium in perfectly matched layers is not perturbed.
                if in_layers {
                    own.fill(0.0);
                }
                *speeds = match (parameters, setup.is_of_fluid(region)) {
                    (Parameters::Constants, false) => [0.0; 3],
                    (Parameters::Constants, true) => {
                        let modulus = bulk.iter().zip(&*own).map(|(slope, x)| slope * x).sum();
                        parameters.to_speeds([modulus, 0.0, own[21]], *speeds)
                    }
                    _ => parameters.to_speeds([own[0], own[1], own[2]], *speeds),
                };
            }
            Ok(())
        };
        let elements = values
            .par_chunks_exact_mut(points * count)
            .zip(speeds.par_chunks_exact_mut(points));
        // If there are several errors, the error of the first element is returned, for any number of threads.
        let all: Vec<Result<(), Error>> = elements.enumerate().map(of_element).collect();
        all.into_iter().collect::<Result<(), Error>>()?;
        Ok(Self {
            parameters,
            values,
            speeds,
        })
    }

    fn at(&self, point: usize) -> &[f64] {
        let count = self.parameters.count();
        &self.values[point * count..][..count]
    }

    /// The perturbation of one over the quality factors of P and S of a point.
    fn losses(&self, point: usize) -> [f64; 2] {
        match (self.parameters, self.at(point)) {
            (Parameters::SpeedsAndLosses, [.., p, s]) => [*p, *s],
            _ => [0.0; 2],
        }
    }
}

/// The perturbations at the points of an element.
pub struct ElementChange {
    /// Perturbations of the mass (kg) and of the damping of the sponge (kg/s), in 2-D per metre across the plane; in
    /// fluids, of the factors of the second and of the first derivative of the potential: `[point]`.
    pub masses: Vec<[Number; 2]>,
    /// Perturbations of the unrelaxed moduli: lambda and mu, or the 21 constants of [`Parameters::Constants`] (Pa); in
    /// fluids, of one over the density (m3/kg): `[point][number]`.
    pub moduli: Vec<Number>,
    /// Relative perturbations of the contribution of memory variables to the stress, of its mean and of its deviator:
    /// `[point]`. Empty without attenuation and in fluids.
    pub losses: Vec<[Number; 2]>,
}

/// The perturbation of the damping of an absorbing face at a point of an element, a factor of the velocity or of the rate
/// of a fluid's potential.
pub struct FaceChange<const D: usize> {
    pub element: usize,
    /// The index of the point within the element, and within the mesh.
    pub local: usize,
    pub point: usize,
    pub normal: [Number; D],
    /// Along the normal and across it, kg/s (in 2-D per metre across the plane); in a fluid only the first.
    pub damping: [Number; 2],
}

/// A perturbation of the medium of a run, from which machines make the tables of their elements.
pub struct Changes<'a, 's, const D: usize> {
    pub setup: &'a Setup<'s, D>,
    pub change: &'a Change<D>,
    table: &'a Tabulated<D>,
    faces: &'a [FacePoint<D>],
    media: Vec<[f64; 3]>,
    sponge: Option<Damping<'a, 's, D>>,
}

impl<'a, 's, const D: usize> Changes<'a, 's, D> {
    /// The perturbation of a run whose absorbing faces have these points.
    pub(super) fn new(
        setup: &'a Setup<'s, D>,
        change: &'a Change<D>,
        (table, faces): (&'a Tabulated<D>, &'a [FacePoint<D>]),
    ) -> Self {
        Self {
            media: media(setup, table),
            sponge: Damping::new(setup, table),
            setup,
            change,
            table,
            faces,
        }
    }

    /// The points of elements and their weights.
    pub fn table(&self) -> &Tabulated<D> {
        self.table
    }

    /// Whether the 21 constants of solids are perturbed.
    pub fn has_constants(&self) -> bool {
        self.change.parameters == Parameters::Constants
    }

    /// The perturbations at the points of an element.
    pub fn of_element(&self, element: usize) -> ElementChange {
        let (setup, table, points) = (self.setup, self.table, self.table.points());
        let nodes = setup.mesh.coordinates(element);
        let (shape, contents) = (table.element(&nodes), setup.contents(element, table));
        let in_sponge = self
            .sponge
            .as_ref()
            .map(|sponge| (sponge, sponge.shares(&table.positions(&nodes))));
        let lossy = setup.relaxations.is_some() && !setup.is_fluid(element);
        let mut own = ElementChange {
            masses: Vec::with_capacity(points),
            moduli: Vec::new(),
            losses: Vec::with_capacity(if lossy { points } else { 0 }),
        };
        for (local, weight) in table.weights().iter().enumerate() {
            let strength = in_sponge
                .as_ref()
                .map_or(0.0, |(sponge, shares)| shares[local] * sponge.strength(1.0));
            let at = element * points + local;
            let (masses, moduli, losses) = self.of_point((&contents, local), at, strength);
            let volume = weight * shape.determinant[local];
            own.masses.push(masses.map(|x| (volume * x) as Number));
            own.moduli.extend(moduli.into_iter().map(|x| x as Number));
            if lossy {
                own.losses.push(losses.map(|x| x as Number));
            }
        }
        own
    }

    /// The perturbations at a point of an element: mass and damping of a unit volume, moduli, relative losses. `strength`
    /// is the damping of the sponge over the impedance of P.
    fn of_point(
        &self,
        (contents, local): (&Contents, usize),
        at: usize,
        strength: f64,
    ) -> ([f64; 2], Vec<f64>, [f64; 2]) {
        let (setup, change) = (self.setup, self.change);
        let ([vp, vs, density], [by_p, by_s, by_density]) = (self.media[at], change.speeds[at]);
        if let Law::Fluid(modulus) = contents.medium(local).law {
            let share = by_density / density + by_p / vp;
            let of_modulus = -(share + by_p / vp) / modulus;
            let damping = -strength * share / (density * vp);
            let lightness = -by_density / (density * density);
            return ([of_modulus, damping], vec![lightness], [0.0; 2]);
        }
        if self.has_constants() {
            let by_constants = change.at(at);
            let impedance = &impedances::<D>(setup.points.is_some(), self.media[at])[0];
            let masses = [by_constants[21], strength * dot(impedance, by_constants)];
            let losses = match setup.relaxations {
                Some(_) => LossMeans::of::<D>(setup, (contents, local)).changes(by_constants),
                None => [0.0; 2],
            };
            return (masses, by_constants[..21].to_vec(), losses);
        }
        let masses = [by_density, strength * (by_density * vp + density * by_p)];
        let mu = density * 2.0 * vs * by_s + vs * vs * by_density;
        let lambda = density * 2.0 * vp * by_p + vp * vp * by_density - 2.0 * mu;
        if setup.relaxations.is_none() {
            return (masses, vec![lambda, mu], [0.0; 2]);
        }
        let chain = LossChain::of(contents.loss(local), self.media[at]);
        let losses = chain.map(|chain| chain.changes([by_p, by_s], change.losses(at)));
        let ([bulk, shear], losses) = unrelaxed((contents, local), [mu, lambda + 2.0 / 3.0 * mu], losses);
        (masses, vec![bulk - 2.0 / 3.0 * shear, shear], losses)
    }

    /// The perturbations of the dampings of absorbing faces.
    pub fn of_faces(&self) -> Vec<FaceChange<D>> {
        let points = self.table.points();
        let of_face = |p: &FacePoint<D>| {
            let at = p.element as usize * points + p.local as usize;
            let ([vp, vs, density], [by_p, by_s, by_density]) = (self.media[at], self.change.speeds[at]);
            let area = p.admittance * density * vp;
            let damping = match (self.setup.is_fluid(p.element as usize), self.has_constants()) {
                (true, _) => [-p.admittance * (by_density / density + by_p / vp), 0.0],
                (_, true) => impedances::<D>(self.setup.points.is_some(), self.media[at])
                    .map(|slopes| area * dot(&slopes, self.change.at(at))),
                _ => [(vp, by_p), (vs, by_s)].map(|(v, by)| area * (by_density * v + density * by)),
            };
            FaceChange {
                element: p.element as usize,
                local: p.local as usize,
                point: p.point as usize,
                normal: p.normal.map(|n| n as Number),
                damping: damping.map(|x| x as Number),
            }
        };
        self.faces.iter().map(of_face).collect()
    }

    /// Replaces the weights of a source in a fluid element by those of the linearised run, in which the source acts
    /// through the perturbation of the bulk modulus.
    pub fn change_weights(&self, element: usize, weights: &mut [[Number; 1]]) {
        let contents = self.setup.contents(element, self.table);
        for (local, [weight]) in weights.iter_mut().enumerate() {
            let [by_p, _, by_density] = self.change.speeds[element * self.table.points() + local];
            let share = by_density / contents.medium(local).density;
            *weight *= -(share + 2.0 * by_p / contents.speeds(local)[0]) as Number;
        }
    }
}

/// The perturbations of the unrelaxed bulk and shear modulus of a point, and the relative perturbations of the mean and of
/// the deviator of the contribution of memory variables, for perturbations of the shear and the bulk modulus and, if losses
/// are perturbed, of `[factors, logarithms of shares]` of these two.
fn unrelaxed(
    (contents, local): (&Contents, usize),
    changes: [f64; 2],
    losses: Option<[[f64; 2]; 2]>,
) -> ([f64; 2], [f64; 2]) {
    let (moduli, factors) = (contents.moduli(local), contents.factors(local));
    let [of_factors, of_shares] = losses.unwrap_or_default();
    let own: [f64; 2] =
        std::array::from_fn(|k| factors[k] * changes[k] + moduli[k] / factors[k] * of_factors[k]);
    let relative: [f64; 2] = std::array::from_fn(|k| own[k] / moduli[k] + of_shares[k]);
    ([own[1], own[0]], [relative[1], relative[0]])
}
