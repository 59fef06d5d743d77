//! The distribution of the masses of points over their elements.

use rayon::prelude::*;

use super::Numbering;
use super::medium::Law;
use super::step::Elements;

/// The masses of all points. At a contact the fluid and the solid have separate masses.
pub(super) struct Masses<'a> {
    numbering: &'a Numbering,
    /// Contribution of every element, `[element][local point]`.
    own: Vec<f64>,
    /// Whether each element is fluid.
    fluid: Vec<bool>,
    /// Total masses `[point]` of solids, followed by the masses of fluids if there are any.
    all: Vec<f64>,
}

impl<'a> Masses<'a> {
    pub(super) fn of(elements: &dyn Elements, numbering: &'a Numbering) -> Self {
        let points = numbering.per_element();
        let mut own = vec![0.0; elements.count() * points];
        let fill = |(element, own): (usize, &mut [f64])| {
            let piece = elements.piece(element);
            own.copy_from_slice(&piece.mass);
            matches!(piece.media[0].law, Law::Fluid(_))
        };
        let fluid: Vec<bool> = own.par_chunks_exact_mut(points).enumerate().map(fill).collect();
        let kinds = if fluid.contains(&true) { 2 } else { 1 };
        let mut masses = Self {
            numbering,
            own,
            fluid,
            all: vec![0.0; kinds * numbering.points()],
        };
        masses.all = masses.sums(|_| 1.0);
        masses
    }

    /// The indices of an element's points in `all`.
    fn places(&self, element: usize) -> impl Iterator<Item = usize> + '_ {
        let first = if self.fluid[element] {
            self.numbering.points()
        } else {
            0
        };
        let points = self.numbering.element(element).iter();
        points.map(move |point| first + *point as usize)
    }

    fn own(&self, element: usize) -> &[f64] {
        let points = self.numbering.per_element();
        &self.own[element * points..(element + 1) * points]
    }

    /// Sums, at all points, of the contributions of elements multiplied by a factor for each element.
    fn sums(&self, factor: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut sums = vec![0.0; self.all.len()];
        for element in 0..self.fluid.len() {
            let factor = factor(element);
            let own = self.own(element);
            self.places(element)
                .zip(own)
                .for_each(|(place, mass)| sums[place] += factor * mass);
        }
        sums
    }

    /// Distributes the masses in proportion to the needs of elements per unit of their own mass.
    pub(super) fn shares<'b>(&'b self, needs: &'b [f64]) -> Shares<'b> {
        let sums = self.sums(|element| needs[element]);
        Shares {
            masses: self,
            needs,
            mean: sums.iter().zip(&self.all).map(|(sum, all)| sum / all).collect(),
        }
    }
}

/// A distribution of the mass of every point over its elements.
pub(super) struct Shares<'a> {
    masses: &'a Masses<'a>,
    needs: &'a [f64],
    /// Mean need at every point, weighted by mass.
    mean: Vec<f64>,
}

impl Shares<'_> {
    /// The factors by which the masses of an element are multiplied, point by point.
    pub(super) fn of(&self, element: usize) -> impl Iterator<Item = f64> + '_ {
        let need = self.needs[element];
        self.masses
            .places(element)
            .map(move |place| need / self.mean[place])
    }

    pub(super) fn apply(&self, element: usize, mass: &mut [f64]) {
        mass.iter_mut().zip(self.of(element)).for_each(|(m, s)| *m *= s);
    }
}
