//! The derivatives of a misfit with respect to the sources of a shot: their strengths, positions and source time
//! functions.
//!
//! The adjoint wavefield l is the derivative of the misfit with respect to the forces of every step. For a source with
//! the weights w and the time function h, the derivative with respect to any quantity that changes the weights by dw
//! is `sum_n h_n (dw . l_n)`, and the derivative with respect to sample n of the time function is `w . l_n`. In a
//! fluid, minus the second difference of the adjoint potential takes the place of l. Derivatives of the weights with
//! respect to the position are central differences in double precision, within the element of the source.

use super::super::points::{moved, shares, weights, weights_in_fluid};
use super::super::{Setup, Source, Strength};
use crate::Error;
use crate::mesh::geometry::Tabulated;
use crate::mesh::{Location, Locator};
use crate::methods::spectral_elements::Number;

/// The derivatives of a misfit with respect to a source.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceGradient<const D: usize> {
    /// With respect to the components of its force or moment tensor, in units of the misfit over N or N m. Derivatives
    /// with respect to a tensor are computed as if all components were independent, and symmetrised. In a fluid the
    /// derivative depends on the trace only, and each diagonal component has an equal share.
    pub strength: Strength<D>,
    /// With respect to its coordinates, per metre.
    pub place: [f64; D],
    /// With respect to every sample of its time function.
    pub history: Vec<f64>,
}

/// A source in one of its elements.
struct Probe<const D: usize> {
    source: usize,
    element: u32,
    fluid: bool,
    /// Weights of the points for the source itself, for each component of its strength, and for each coordinate of
    /// its position: `[which][point * components + component]`.
    own: Vec<f64>,
    strengths: Vec<Vec<f64>>,
    places: Vec<Vec<f64>>,
}

/// The sums for the sources of a shot.
pub(super) struct Probes<const D: usize> {
    probes: Vec<Probe<D>>,
    /// Derivatives of each source with respect to the components of its strength, to its position, and to samples.
    strengths: Vec<Vec<f64>>,
    places: Vec<[f64; D]>,
    histories: Vec<Vec<f64>>,
}

/// Step of the central differences, as a fraction of the element's extent.
const APART: f64 = 1e-4;

/// Unit strengths, one for each component.
fn units<const D: usize>(strength: &Strength<D>) -> Vec<Strength<D>> {
    let one = |k: usize| match strength {
        Strength::Force(_) => {
            let mut force = [0.0; D];
            force[k] = 1.0;
            Strength::Force(force)
        }
        Strength::Moment(_) => {
            let mut moment = [[0.0; D]; D];
            moment[k / D][k % D] = 1.0;
            Strength::Moment(moment)
        }
    };
    let count = match strength {
        Strength::Force(_) => D,
        Strength::Moment(_) => D * D,
    };
    (0..count).map(one).collect()
}

impl<const D: usize> Probes<D> {
    /// Prepares the sums for the sources of `setup`, on elements with the points of this table.
    pub(super) fn new(table: &Tabulated<D>, setup: &Setup<D>) -> Result<Self, Error> {
        let locator = Locator::new(setup.mesh);
        let mut probes = Vec::new();
        for (number, source) in setup.sources.iter().enumerate() {
            let location = locator.locate(&format!("source {}", number + 1), source.at)?;
            let all = shares(setup, &locator, location, source);
            let part = 1.0 / all.len() as f64;
            probes.extend(
                all.iter()
                    .map(|location| Probe::new(table, setup, (number, source), (location, part))),
            );
        }
        let sources = setup.sources.iter();
        Ok(Self {
            probes,
            strengths: sources
                .clone()
                .map(|source| vec![0.0; units(&source.strength).len()])
                .collect(),
            places: vec![[0.0; D]; sources.len()],
            histories: sources.map(|source| vec![0.0; source.history.len()]).collect(),
        })
    }

    /// The elements at whose points the adjoint wavefield must be recorded, and whether each of them is fluid.
    pub(super) fn elements(&self) -> impl Iterator<Item = (u32, bool)> {
        self.probes.iter().map(|probe| (probe.element, probe.fluid))
    }

    /// Adds the contribution of a step of the adjoint run, given by its number in the forward run; `values` are the
    /// recorded values of the adjoint wavefield, which is multiplied by `scale`.
    pub(super) fn add(&mut self, (sources, scale): (&[Source<D>], f64), step: usize, values: &[Number]) {
        let mut rest = values;
        for probe in &self.probes {
            let (own, others) = rest.split_at(probe.own.len());
            rest = others;
            let Some(now) = sources[probe.source].history.get(step) else {
                continue;
            };
            // In a fluid, minus the second derivative of the potential multiplies the weights.
            let sign = if probe.fluid { -1.0 } else { 1.0 };
            let now = f64::from(*now) / scale;
            let of_weights = |weights: &[f64]| -> f64 {
                let terms = weights.iter().zip(own);
                terms.map(|(w, l)| w * (sign * f64::from(*l))).sum()
            };
            for (sum, weights) in self.strengths[probe.source].iter_mut().zip(&probe.strengths) {
                *sum += now * of_weights(weights);
            }
            for (sum, weights) in self.places[probe.source].iter_mut().zip(&probe.places) {
                *sum += now * of_weights(weights);
            }
            self.histories[probe.source][step] += of_weights(&probe.own) / scale;
        }
    }

    /// The derivatives, by source.
    pub(super) fn finished(self, sources: &[Source<D>]) -> Vec<SourceGradient<D>> {
        let all = self
            .strengths
            .iter()
            .zip(self.places)
            .zip(self.histories)
            .zip(sources);
        let gradient = |(((strengths, place), history), source): (((&Vec<f64>, _), _), &Source<D>)| {
            let strength = match source.strength {
                Strength::Force(_) => Strength::Force(std::array::from_fn(|c| strengths[c])),
                Strength::Moment(_) => Strength::Moment(std::array::from_fn(|i| {
                    std::array::from_fn(|c| 0.5 * (strengths[i * D + c] + strengths[c * D + i]))
                })),
            };
            SourceGradient {
                strength,
                place,
                history,
            }
        };
        all.map(gradient).collect()
    }
}

impl<const D: usize> Probe<D> {
    fn new(
        table: &Tabulated<D>,
        setup: &Setup<D>,
        (number, source): (usize, &Source<D>),
        (location, part): (&Location<D>, f64),
    ) -> Self {
        let fluid = setup.is_fluid(location.element);
        let weigh = |location: &Location<D>, strength: &Strength<D>| -> Vec<f64> {
            let all = match (fluid, strength) {
                (true, Strength::Moment(moment)) => {
                    let mean = (0..D).map(|c| moment[c][c]).sum::<f64>() / D as f64;
                    let all = weights_in_fluid(setup, table, location, mean);
                    all.into_iter().map(|[w]| w).collect()
                }
                _ => weights(setup, location, strength).into_flattened(),
            };
            all.into_iter().map(|w| part * w).collect()
        };
        let nodes = setup.mesh.coordinates(location.element);
        let extent = |c: usize| {
            let along = nodes.iter().map(|x| (x[c] - nodes[0][c]).abs());
            along.max_by(f64::total_cmp).unwrap_or(0.0)
        };
        let along = |c: usize| -> Vec<f64> {
            let apart = APART * extent(c);
            let at = |sign: f64| {
                let mut by = [0.0; D];
                by[c] = sign * apart;
                weigh(&moved(setup, location, by), &source.strength)
            };
            let both = at(1.0).into_iter().zip(at(-1.0));
            both.map(|(ahead, behind)| (ahead - behind) / (2.0 * apart))
                .collect()
        };
        Self {
            source: number,
            fluid,
            element: location.element as u32,
            own: weigh(location, &source.strength),
            strengths: units(&source.strength)
                .iter()
                .map(|unit| weigh(location, unit))
                .collect(),
            places: (0..D).map(along).collect(),
        }
    }
}
