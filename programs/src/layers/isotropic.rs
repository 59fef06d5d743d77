//! Weighted sums over the fine nodes around a line of coarse ones, for isotropic fine media. The effective medium of
//! isotropic layers depends only on means of functions of their constants (Backus 1962), whatever the normal of the
//! layers, and so all weights are products of weights along the axes: the sums over x and y are computed once for a
//! line, and each coarse node of it adds them up along z.

use kernels::medium::effective::{IsotropicLayers, Layers};

use super::planes::Medium;
use super::upscale::{Fine, Weights};

/// Powers of the distances along x and y by which the Gaussian bell is multiplied in moments.
const POWERS: [[i32; 2]; 6] = [[0, 0], [1, 0], [0, 1], [2, 0], [1, 1], [0, 2]];
/// The number of fine nodes along z that are processed at a time, so that all sums fit the nearest cache.
const BLOCK: usize = 64;

/// The density, the P modulus rho vp^2 and the shear modulus rho vs^2 of a fine node.
type Rock = [f64; 3];

/// Weighted sums over rocks.
#[derive(Clone, Copy, Default)]
struct Stack {
    density: f64,
    layers: IsotropicLayers,
}

impl Stack {
    fn of([density, press, shear]: Rock) -> Self {
        Self {
            density,
            layers: IsotropicLayers::of(press, shear),
        }
    }

    fn add(&mut self, weight: f64, other: &Self) {
        self.density += weight * other.density;
        self.layers.add(weight, &other.layers);
    }
}

/// Sums over x and y of each plane of fine nodes along z.
pub(super) struct Sums {
    /// The sums with the weights of the window, and with those of the cell.
    stacks: [Vec<Stack>; 2],
    /// Moments of density, P modulus and shear modulus with a Gaussian bell of one coarse spacing, for each of [`POWERS`].
    moments: Vec<[[f64; 3]; POWERS.len()]>,
    /// Sums of the bell itself for each of [`POWERS`].
    bells: [f64; POWERS.len()],
    /// The smallest and the largest rock.
    extremes: Vec<[Rock; 2]>,
}

/// Zeroth, first and second moments around a coarse node.
#[derive(Default)]
pub(super) struct Moments {
    pub(super) sum: f64,
    pub(super) along: [f64; 3],
    pub(super) products: [[f64; 3]; 3],
}

impl Moments {
    /// Adds a weighted value at a distance along x, y and z.
    pub(super) fn add(&mut self, value: f64, off: [f64; 3]) {
        self.sum += value;
        for a in 0..3 {
            self.along[a] += value * off[a];
            (0..3).for_each(|b| self.products[a][b] += value * off[a] * off[b]);
        }
    }
}

/// What the fine nodes around a coarse one have in common.
pub(super) enum Mixture {
    /// All are the same rock.
    One,
    /// Some are fluid and some are solid.
    Contact,
    /// All are solid, or all are fluid.
    Coupled,
}

/// The rock of a fine node, for a medium of which [`Fine::is_isotropic`] holds.
fn rock(fine: &Fine, cell: usize) -> Rock {
    let [press, shear] = fine.moduli();
    [fine.density[cell].into(), press[cell].into(), shear[cell].into()]
}

impl Sums {
    /// The sums around a line of coarse nodes, whose weights along x and y are `across`.
    pub(super) fn of(fine: &Fine, across: &[Weights; 2]) -> Self {
        let n = fine.grid.n();
        let [xs, ys] = across;
        let mut sums = Self {
            stacks: [vec![Stack::default(); n[0]], vec![Stack::default(); n[0]]],
            moments: vec![[[0.0; 3]; POWERS.len()]; n[0]],
            bells: [0.0; POWERS.len()],
            extremes: vec![[[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]]; n[0]],
        };
        for first in (0..n[0]).step_by(BLOCK) {
            let block = first..n[0].min(first + BLOCK);
            for j in 0..ys.off.len() {
                for i in 0..xs.off.len() {
                    let column = n[0] * (xs.at(i, n[1]) + n[1] * ys.at(j, n[2]));
                    let weights = [xs.of_window[i] * ys.of_window[j], xs.of_cell[i] * ys.of_cell[j]];
                    let bells = bells([xs.off[i], ys.off[j]]);
                    if first == 0 {
                        (0..POWERS.len()).for_each(|p| sums.bells[p] += bells[p]);
                    }
                    for z in block.clone() {
                        sums.add(z, rock(fine, column + z), weights, &bells);
                    }
                }
            }
        }
        sums
    }

    fn add(&mut self, z: usize, rock: Rock, weights: [f64; 2], bells: &[f64; POWERS.len()]) {
        let own = Stack::of(rock);
        for (stacks, weight) in self.stacks.iter_mut().zip(weights) {
            if weight != 0.0 {
                stacks[z].add(weight, &own);
            }
        }
        for (moments, bell) in self.moments[z].iter_mut().zip(bells) {
            (0..3).for_each(|k| moments[k] += bell * rock[k]);
        }
        let [smallest, largest] = &mut self.extremes[z];
        for k in 0..3 {
            smallest[k] = smallest[k].min(rock[k]);
            largest[k] = largest[k].max(rock[k]);
        }
    }

    /// What the nodes in the window have in common; `along` are their weights along z.
    pub(super) fn mixture(&self, along: &Weights) -> Mixture {
        let [smallest, largest] = self.extremes(along);
        match (smallest == largest, smallest[2] == 0.0, largest[2] == 0.0) {
            (true, ..) => Mixture::One,
            (_, true, false) => Mixture::Contact,
            _ => Mixture::Coupled,
        }
    }

    /// The smallest and the largest rock in the window.
    fn extremes(&self, along: &Weights) -> [Rock; 2] {
        let nz = self.extremes.len();
        let mut both = [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]];
        for i in 0..along.off.len() {
            let [smallest, largest] = &self.extremes[along.at(i, nz)];
            for k in 0..3 {
                both[0][k] = both[0][k].min(smallest[k]);
                both[1][k] = both[1][k].max(largest[k]);
            }
        }
        both
    }

    /// Density and effective medium, in the frame of the layers, of the nodes in the window, or in the cell.
    pub(super) fn medium(&self, along: &Weights, of_cell: bool) -> Medium {
        let (stacks, weights) = match of_cell {
            true => (&self.stacks[1], &along.of_cell),
            false => (&self.stacks[0], &along.of_window),
        };
        let mut sum = Stack::default();
        for (i, weight) in weights.iter().enumerate() {
            sum.add(*weight, &stacks[along.at(i, stacks.len())]);
        }
        (sum.density, Layers::from(sum.layers).medium())
    }

    /// The largest density, c33 and c55 in the window.
    pub(super) fn largest(&self, along: &Weights) -> [f64; 3] {
        self.extremes(along)[1]
    }

    /// Moments of density, c33 and c55, then those of the bell itself.
    pub(super) fn moments(&self, along: &Weights) -> [Moments; 4] {
        let nz = self.moments.len();
        // Sums over z with the bell times z to the power of 0, 1 and 2.
        let mut raised = [[[0.0; 4]; POWERS.len()]; 3];
        for (i, z) in along.off.iter().enumerate() {
            let bell = (-0.5 * z * z).exp();
            let fields = &self.moments[along.at(i, nz)];
            for (power, raised) in raised.iter_mut().enumerate() {
                let weight = bell * z.powi(power as i32);
                for (p, to) in raised.iter_mut().enumerate() {
                    (0..3).for_each(|k| to[k] += weight * fields[p][k]);
                    to[3] += weight * self.bells[p];
                }
            }
        }
        std::array::from_fn(|k| {
            let [one, x, y, xx, xy, yy]: [[f64; 3]; 6] =
                std::array::from_fn(|p| [0, 1, 2].map(|z| raised[z][p][k]));
            Moments {
                sum: one[0],
                along: [x[0], y[0], one[1]],
                products: [[xx[0], xy[0], x[1]], [xy[0], yy[0], y[1]], [x[1], y[1], one[2]]],
            }
        })
    }
}

/// The Gaussian bell at a distance along x and y, times each of [`POWERS`] of it.
fn bells([x, y]: [f64; 2]) -> [f64; POWERS.len()] {
    let bell = (-0.5 * (x * x + y * y)).exp();
    POWERS.map(|[i, j]| bell * x.powi(i) * y.powi(j))
}
