//! Sources and receivers at arbitrary positions within an element.

use super::Number;
use super::assembly::Homes;
use super::recording::on_its_side;
use super::{Setup, Source, Strength};
use crate::mesh::geometry::{Tabulated, inverse, lattice, map};
use crate::mesh::step::Law;
use crate::mesh::{Basis, Location, Locator, Place};
use crate::receiver::Quantity;
use crate::{Error, Hint, message};

/// Values of the polynomials of all points of an element at a position, and their slopes along the axes of the cell.
fn polynomials<const D: usize>(basis: &Basis, local: [f64; D]) -> Vec<(f64, [f64; D])> {
    let axes = local.map(|x| basis.cardinal(x));
    let n = basis.len();
    (0..n.pow(D as u32))
        .map(|point| {
            let at = lattice::<D>(point, n);
            let slope = |d: usize| {
                let factor = |a: usize| {
                    let along = if a == d { &axes[a].1 } else { &axes[a].0 };
                    along[at[a]]
                };
                (0..D).map(factor).product()
            };
            let value = (0..D).map(|a| axes[a].0[at[a]]).product();
            (value, std::array::from_fn(slope))
        })
        .collect()
}

/// A source in an element.
#[derive(Clone, Debug)]
pub(super) struct Placed<const C: usize> {
    pub(super) lane: usize,
    /// Force on every point of the element for a unit source time function.
    pub(super) weights: Vec<[Number; C]>,
    pub(super) history: Vec<Number>,
}

/// Sorts the sources that lie in `count` blocks into a list per block: a source acts with equal shares in the elements
/// that `elements` returns for the element in which it was found, with weights from `weigh`.
fn sort<const D: usize, const C: usize>(
    setup: &Setup<D>,
    locator: &Locator<D>,
    (homes, count): (&Homes, usize),
    elements: impl Fn(Location<D>, &Source<D>) -> Vec<Location<D>>,
    weigh: impl Fn(usize, &Location<D>, &Source<D>) -> Result<Vec<[f64; C]>, Error>,
) -> Result<Vec<Vec<Placed<C>>>, Error> {
    let mut placed = vec![Vec::new(); count];
    for (k, source) in setup.sources.iter().enumerate() {
        let location = locator.locate(&format!("source {}", k + 1), source.at)?;
        let shares = elements(location, source);
        let part = 1.0 / shares.len() as f64;
        for location in shares {
            let Some((block, lane)) = homes.find(location.element) else {
                continue;
            };
            let weights = weigh(k, &location, source)?.into_iter();
            placed[block].push(Placed {
                lane,
                weights: weights.map(|w| w.map(|x| (part * x) as Number)).collect(),
                history: source.history.clone(),
            });
        }
    }
    Ok(placed)
}

/// The elements in which a source acts, each with an equal share of it: the one that contains it, or, for a moment in a
/// solid on sides of elements, all elements of its region at that position. Slopes of polynomials are discontinuous
/// there, so a moment in a single element would be biased; values are continuous, so one element is enough for a force.
pub(super) fn shares<const D: usize>(
    setup: &Setup<D>,
    locator: &Locator<D>,
    location: Location<D>,
    source: &Source<D>,
) -> Vec<Location<D>> {
    if matches!(source.strength, Strength::Force(_)) || setup.is_fluid(location.element) {
        return vec![location];
    }
    let region = |element: usize| setup.mesh.regions()[element];
    let mut all = locator.sharing(source.at);
    all.retain(|other| region(other.element) == region(location.element));
    all
}

impl<const C: usize> Placed<C> {
    /// Adds the source at a step to the forces of its block.
    pub(super) fn add(&self, step: usize, forces: &mut [[Number; C]]) {
        let Some(now) = self.history.get(step) else { return };
        let own = &mut forces[self.lane * self.weights.len()..];
        for (force, weight) in own.iter_mut().zip(&self.weights) {
            (0..C).for_each(|c| force[c] += weight[c] * now);
        }
    }
}

impl<const D: usize> Placed<D> {
    /// The sources in solids.
    ///
    /// # Errors
    /// Returns an error for a source outside the mesh.
    pub(super) fn in_solid(
        setup: &Setup<D>,
        locator: &Locator<D>,
        homes: (&Homes, usize),
    ) -> Result<Vec<Vec<Self>>, Error> {
        let elements = |location, source: &_| shares(setup, locator, location, source);
        sort(setup, locator, homes, elements, |_, location, source| {
            Ok(weights(setup, location, &source.strength))
        })
    }
}

impl Placed<1> {
    /// The adjoint sources of pressure receivers in fluids, with the weights of the second derivative of the
    /// potential in a record. On a contact they act in the fluid, where its pressure is recorded. Receivers in solids,
    /// which record no pressure, are left out.
    ///
    /// # Errors
    /// Returns an error for a receiver outside the mesh.
    pub(super) fn of_pressure<const D: usize>(
        setup: &Setup<D>,
        locator: &Locator<D>,
        homes: (&Homes, usize),
    ) -> Result<Vec<Vec<Self>>, Error> {
        let elements = |location, source: &Source<D>| {
            vec![on_its_side(
                setup,
                locator,
                (Quantity::Pressure, source.at),
                location,
            )]
        };
        sort(setup, locator, homes, elements, |_, location, _| {
            let all = polynomials(setup.basis, location.local).into_iter();
            Ok(all.map(|(h, _)| [h]).collect())
        })
    }

    /// The sources in fluids, which are -M h / kappa, where M is the moment of an explosion and h its time function.
    ///
    /// # Errors
    /// Returns an error for a source outside the mesh, a force, or a moment tensor that is not isotropic.
    pub(super) fn in_fluid<const D: usize>(
        setup: &Setup<D>,
        locator: &Locator<D>,
        table: &Tabulated<D>,
        homes: (&Homes, usize),
    ) -> Result<Vec<Vec<Self>>, Error> {
        let elements = |location, source: &_| shares(setup, locator, location, source);
        sort(setup, locator, homes, elements, |k, location, source| {
            let place = format!(
                "source {} at {} lies in element {}, a fluid",
                k + 1,
                Place::from(source.at),
                location.element
            );
            let Strength::Moment(moment) = &source.strength else {
                return Err(Error::setup(message![
                    format!("{place}, where no force can act; "),
                    Hint::Explosion,
                    " or move it into a solid",
                ]));
            };
            let mean = (0..D).map(|c| moment[c][c]).sum::<f64>() / D as f64;
            let entries = (0..D * D).map(|k| (k / D, k % D));
            let odd = entries
                .map(|(i, c)| (moment[i][c] - if i == c { mean } else { 0.0 }).abs())
                .fold(0.0, f64::max);
            if odd > 1e-5 * mean.abs() {
                return Err(Error::setup(format!(
                    "{place}, where only explosions are possible: make it one (equal mxx, myy and mzz, and no shear), or move it into a solid"
                )));
            }
            Ok(weights_in_fluid(setup, table, location, mean))
        })
    }
}

/// The contribution of an explosion of a unit time function to the equation of every point of a fluid element.
pub(super) fn weights_in_fluid<const D: usize>(
    setup: &Setup<D>,
    table: &Tabulated<D>,
    location: &Location<D>,
    moment: f64,
) -> Vec<[f64; 1]> {
    let contents = setup.contents(location.element, table);
    let polynomials = polynomials(setup.basis, location.local);
    let weight = |(point, (h, _)): (usize, &(f64, _))| match contents.medium(point).law {
        Law::Fluid(modulus) => [h * (-moment / modulus)],
        _ => [0.0],
    };
    polynomials.iter().enumerate().map(weight).collect()
}

/// The position displaced by `by` metres, in the coordinates of the same element, which is extrapolated beyond its
/// sides.
pub(super) fn moved<const D: usize>(setup: &Setup<D>, location: &Location<D>, by: [f64; D]) -> Location<D> {
    let nodes = setup.mesh.coordinates(location.element);
    let at = |local: [f64; D]| map(setup.mesh.order(), &nodes, local);
    let (start, mut local) = (at(location.local).0, location.local);
    // Newton's method converges in a few steps, because sides bend little over a small distance.
    for _ in 0..4 {
        let (x, slopes) = at(local);
        let turn = inverse(&slopes);
        let left: [f64; D] = std::array::from_fn(|c| start[c] + by[c] - x[c]);
        for (a, local) in local.iter_mut().enumerate() {
            *local += (0..D).map(|c| turn[a][c] * left[c]).sum::<f64>();
        }
    }
    Location { local, ..*location }
}

/// Force on every point of the element.
pub(super) fn weights<const D: usize>(
    setup: &Setup<D>,
    location: &Location<D>,
    strength: &Strength<D>,
) -> Vec<[f64; D]> {
    let polynomials = polynomials(setup.basis, location.local);
    match strength {
        Strength::Force(force) => polynomials.iter().map(|(h, _)| force.map(|f| h * f)).collect(),
        Strength::Moment(moment) => {
            let slope = along_space(setup, location);
            let at_point = |slopes: &[f64; D]| -> [f64; D] {
                let slopes = slope(slopes);
                moment.map(|row| (0..D).map(|d| row[d] * slopes[d]).sum())
            };
            polynomials.iter().map(|(_, slopes)| at_point(slopes)).collect()
        }
    }
}

/// Converts slopes along the axes of the cell to slopes along the axes of the mesh.
fn along_space<const D: usize>(setup: &Setup<D>, location: &Location<D>) -> impl Fn(&[f64; D]) -> [f64; D] {
    let nodes = setup.mesh.coordinates(location.element);
    let inverse = inverse(&map(setup.mesh.order(), &nodes, location.local).1);
    move |slopes| std::array::from_fn(|d| (0..D).map(|a| inverse[a][d] * slopes[a]).sum())
}

/// The slopes of a polynomial along the axes of the mesh.
fn turned<const D: usize>(
    setup: &Setup<D>,
    location: &Location<D>,
) -> impl Fn(&(f64, [f64; D])) -> [Number; D] {
    let slope = along_space(setup, location);
    move |(_, slopes)| slope(slopes).map(|x| x as Number)
}

impl Quantity {
    /// Whether the quantity consists of slopes of the displacement, which are not defined in fluids.
    pub fn is_of_slopes(self) -> bool {
        matches!(self, Self::Strain | Self::Rotation)
    }

    /// Component `c` of a strain or rotation, from the slopes `[i][d]` of the displacement along the axes of the mesh.
    pub(super) fn of_slopes<const D: usize>(self, c: usize, slopes: &[[Number; D]; D]) -> Number {
        // Axes of the mesh: x, then y in 3-D, z last.
        let (x, y, z) = (0, 1, D - 1);
        let half = |a: usize, b: usize| 0.5 * (slopes[a][b] + slopes[b][a]);
        let turn = |a: usize, b: usize| 0.5 * (slopes[b][a] - slopes[a][b]);
        match (self, D) {
            (Self::Rotation, 2) => turn(z, x),
            (Self::Rotation, _) => [turn(x, y), turn(y, z), turn(z, x)][c],
            (_, 2) => [half(z, z), half(x, x), half(z, x)][c],
            _ => {
                let (a, b) = [(z, z), (x, x), (y, y), (z, x), (z, y), (x, y)][c];
                half(a, b)
            }
        }
    }
}

/// A position at which fields are interpolated.
#[derive(Clone, Debug)]
pub struct Receiver<const D: usize> {
    pub(super) element: u32,
    points: Vec<u32>,
    pub(super) weights: Vec<Number>,
    /// In a fluid: weights from the potential to grad(chi)/rho, evaluated at the points of the element and
    /// interpolated.
    pub(super) gradient: Option<Vec<[Number; D]>>,
    /// In a solid, if requested: weights from a field to its slopes.
    slopes: Vec<[Number; D]>,
}

impl<const D: usize> Receiver<D> {
    /// A receiver in an element; `points` are the element's points in the subdomain.
    pub(super) fn new(
        setup: &Setup<D>,
        points: Vec<u32>,
        location: &Location<D>,
        quantity: Quantity,
    ) -> Self {
        let polynomials = polynomials(setup.basis, location.local);
        let weights: Vec<f64> = polynomials.iter().map(|(h, _)| *h).collect();
        let slopes = match quantity.is_of_slopes() {
            true => polynomials.iter().map(turned(setup, location)).collect(),
            false => Vec::new(),
        };
        Self {
            element: location.element as u32,
            points,
            slopes,
            gradient: setup
                .is_fluid(location.element)
                .then(|| gradient(setup, location.element, &weights)),
            weights: weights.iter().map(|h| *h as Number).collect(),
        }
    }

    /// Whether the receiver is in a fluid.
    pub fn is_in_fluid(&self) -> bool {
        self.gradient.is_some()
    }

    /// The value of a field, `[point][component]`, at the receiver.
    pub(super) fn value<const C: usize>(&self, field: &[[Number; C]]) -> [Number; C] {
        let mut sum = [0.0; C];
        for (point, weight) in self.points.iter().zip(&self.weights) {
            let u = field[*point as usize];
            (0..C).for_each(|c| sum[c] += weight * u[c]);
        }
        sum
    }

    /// The slopes `[i][d]` of a field at the receiver; zero in a fluid or if not requested.
    pub(super) fn slopes(&self, field: &[[Number; D]]) -> [[Number; D]; D] {
        let mut sum = [[0.0; D]; D];
        for (point, slope) in self.points.iter().zip(&self.slopes) {
            let u = field[*point as usize];
            for (sum, u) in sum.iter_mut().zip(u) {
                (0..D).for_each(|d| sum[d] += slope[d] * u);
            }
        }
        sum
    }

    /// The weights of every displacement component at every point in a strain or rotation: `[point][component of the
    /// strain or rotation][component]`.
    pub(super) fn outputs_of_slopes(&self, quantity: Quantity) -> Vec<Number> {
        let mut weights = Vec::with_capacity(self.slopes.len() * quantity.components(D) * D);
        for slope in &self.slopes {
            for (c, i) in (0..quantity.components(D) * D).map(|k| (k / D, k % D)) {
                let mut alone = [[0.0; D]; D];
                alone[i] = *slope;
                weights.push(quantity.of_slopes(c, &alone));
            }
        }
        weights
    }

    /// grad(chi)/rho at the receiver; zero in a solid.
    pub(super) fn slope(&self, potential: &[[Number; 1]]) -> [Number; D] {
        let mut sum = [0.0; D];
        for (point, weight) in self.points.iter().zip(self.gradient.iter().flatten()) {
            let chi = potential[*point as usize][0];
            (0..D).for_each(|c| sum[c] += weight[c] * chi);
        }
        sum
    }
}

/// Weights of the potential at all points of an element: the sum over points q of h_q D_qp du_a/dx_c / rho.
fn gradient<const D: usize>(setup: &Setup<D>, element: usize, weights: &[f64]) -> Vec<[Number; D]> {
    let table = Tabulated::new(setup.mesh.order(), setup.basis);
    let (own, contents) = (
        table.element(&setup.mesh.coordinates(element)),
        setup.contents(element, &table),
    );
    let n = setup.basis.len();
    let mut sums = vec![[0.0; D]; weights.len()];
    for (q, h) in weights.iter().enumerate() {
        for a in 0..D {
            let (stride, at) = (n.pow(a as u32), lattice::<D>(q, n)[a]);
            for p in 0..n {
                let slope = h * setup.basis.derivative(at, p) / contents.medium(q).density;
                let sum = &mut sums[q - at * stride + p * stride];
                (0..D).for_each(|c| sum[c] += slope * own.inverse[q][a][c]);
            }
        }
    }
    sums.iter().map(|s| s.map(|x| x as Number)).collect()
}
