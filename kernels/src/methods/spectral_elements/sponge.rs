//! A sponge: waves lose energy on their way to absorbing sides and back, in any direction.
//!
//! In a layer of thickness L the equation of motion has the term -c rho v (in fluids -c chi'/kappa), with c = 3 vp
//! ln(1/R)/L (1 - d/L)^2 at the distance d from the nearest absorbing face: a P wave that crosses the layer at normal
//! incidence, is reflected and crosses it again keeps R of its amplitude; slower and oblique waves keep less. As with
//! absorbing faces, half a step of the damping is part of the mass, so that the damping never adds energy and does
//! not reduce the stable step.
//!
//! The impedance of the layer differs from the impedance of the medium in front of it, so the layer reflects waves that
//! are long compared with its thickness. For R = 0.03 the layer reflects 44, 17, 2.3, 1.7, 0.7 and 0.45 % of a plane P
//! wave at normal incidence if L is 1/4, 1/2, 3/4, 1, 2 and 3 wavelengths (from the solution of the one-dimensional
//! equation). Weaker damping is hardly better if L is small, and worse if it is large.

use super::Number;
use std::collections::HashMap;

use super::Setup;
use super::cut::Share;
use crate::mesh::geometry::{Tabulated, difference, dot, length};
use crate::mesh::{Basis, Mesh, cell};

/// A layer that damps along absorbing faces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sponge {
    /// Thickness in metres.
    pub thickness: f64,
    /// The fraction of its amplitude that a P wave keeps when it crosses the layer twice at normal incidence; between
    /// 0 and 1.
    pub left: f64,
}

/// An absorbing face, approximated by a disk.
#[derive(Clone, Copy, Debug)]
struct Disk<const D: usize> {
    centre: [f64; D],
    normal: [f64; D],
    radius: f64,
}

impl<const D: usize> Disk<D> {
    fn distance(&self, x: [f64; D]) -> f64 {
        let apart = difference(x, self.centre);
        let across = dot(apart, self.normal);
        let along = (dot(apart, apart) - across * across).max(0.0).sqrt();
        across.hypot((along - self.radius).max(0.0))
    }
}

/// The distance from the centre of a face to its farthest corner.
fn reach<const D: usize>(centre: [f64; D], corners: impl Iterator<Item = [f64; D]>) -> f64 {
    let distances = corners.map(|corner| length(difference(corner, centre)));
    distances.fold(0.0, f64::max)
}

/// The layer of a sponge: the absorbing faces of a mesh, sorted into boxes of the size of its thickness.
pub struct SpongeLayer<const D: usize> {
    /// In metres.
    thickness: f64,
    disks: Vec<Disk<D>>,
    boxes: HashMap<[i64; D], Vec<u32>>,
}

impl<const D: usize> SpongeLayer<D> {
    /// The layer of this thickness (m) along the absorbing faces of a mesh.
    pub fn new(mesh: &Mesh<D>, basis: &Basis, thickness: f64) -> Self {
        Self::tabulated(mesh, &Tabulated::new(mesh.order(), basis), thickness)
    }

    /// The thickness in metres.
    pub fn thickness(&self) -> f64 {
        self.thickness
    }

    fn tabulated(mesh: &Mesh<D>, table: &Tabulated<D>, thickness: f64) -> Self {
        let mut layer = Self {
            thickness,
            disks: Vec::new(),
            boxes: HashMap::new(),
        };
        for side in mesh.absorbing() {
            let element = table.element(&mesh.coordinates(side.element));
            let surface = table.surface(&element, cell::face::<D>(side.face));
            let corners = mesh.face_corners(*side);
            let centre = mesh.face_centre(*side);
            let corners = corners.iter().map(|node| mesh.nodes()[*node as usize]);
            let radius = reach(centre, corners);
            let sum = |c: usize| surface.normal.iter().map(|n| n[c]).sum::<f64>();
            let normal: [f64; D] = std::array::from_fn(sum);
            let disk = Disk {
                centre,
                normal: normal.map(|n| n / length(normal)),
                radius,
            };
            layer.add(disk);
        }
        layer
    }

    fn at(&self, x: [f64; D]) -> [i64; D] {
        x.map(|x| (x / self.thickness).floor() as i64)
    }

    /// Adds a face to all boxes within reach of its disk.
    fn add(&mut self, disk: Disk<D>) {
        let number = self.disks.len() as u32;
        let reach = disk.radius + self.thickness;
        let (low, high) = (
            self.at(disk.centre.map(|c| c - reach)),
            self.at(disk.centre.map(|c| c + reach)),
        );
        let count: [i64; D] = std::array::from_fn(|c| high[c] - low[c] + 1);
        for mut k in 0..count.iter().product() {
            let at = std::array::from_fn(|c| {
                let step = k % count[c];
                k /= count[c];
                low[c] + step
            });
            self.boxes.entry(at).or_default().push(number);
        }
        self.disks.push(disk);
    }

    /// The distance (m) from a position (m) to the nearest face, if it is less than the thickness.
    pub fn distance(&self, x: [f64; D]) -> Option<f64> {
        let near = self.boxes.get(&self.at(x))?.iter();
        let distances = near.map(|number| self.disks[*number as usize].distance(x));
        let least = distances.fold(f64::INFINITY, f64::min);
        (least < self.thickness).then_some(least)
    }
}

/// The damping of a run in the layer of its sponge.
pub(super) struct Damping<'a, 's, const D: usize> {
    setup: &'a Setup<'s, D>,
    sponge: Sponge,
    layer: SpongeLayer<D>,
}

impl<'a, 's, const D: usize> Damping<'a, 's, D> {
    /// The damping of a run; `None` without a sponge.
    pub(super) fn new(setup: &'a Setup<'s, D>, table: &Tabulated<D>) -> Option<Self> {
        let sponge = setup.sponge?;
        Some(Self {
            setup,
            sponge,
            layer: SpongeLayer::tabulated(setup.mesh, table, sponge.thickness),
        })
    }

    /// The damping c (1/s) at an absorbing face of a medium with a P speed (m/s).
    pub(super) fn strength(&self, vp: f64) -> f64 {
        3.0 * vp * (1.0 / self.sponge.left).ln() / self.sponge.thickness
    }

    /// The damping at some positions relative to that at the face; 0 outside the layer.
    pub(super) fn shares(&self, places: &[[f64; D]]) -> Vec<f64> {
        let share = |d: f64| (1.0 - d / self.sponge.thickness).powi(2);
        places
            .iter()
            .map(|x| self.layer.distance(*x).map_or(0.0, share))
            .collect()
    }

    /// The sum over elements of `c` times a factor of their medium, at the points of a subdomain: of density for
    /// solids, of compliance for fluids. Elements without a factor add nothing.
    pub(super) fn masses(
        &self,
        share: &Share<'_>,
        table: &Tabulated<D>,
        factor: impl Fn(&crate::mesh::step::Medium) -> Option<f64>,
    ) -> Vec<f64> {
        let setup = self.setup;
        let mut damping = vec![0.0; share.points()];
        for element in (0..setup.mesh.len()).filter(|e| share.touches(*e)) {
            let nodes = setup.mesh.coordinates(element);
            let shares = self.shares(&table.positions(&nodes));
            if shares.iter().all(|s| *s == 0.0) || factor(setup.medium(element)).is_none() {
                continue;
            }
            let (own, contents) = (table.element(&nodes), setup.contents(element, table));
            for (local, weight) in table.weights().iter().enumerate() {
                let Some(point) = share.at(element, local) else {
                    continue;
                };
                let mass = weight * own.determinant[local] * factor(contents.medium(local)).unwrap_or(0.0);
                damping[point as usize] += self.strength(contents.speeds(local)[0]) * shares[local] * mass;
            }
        }
        damping
    }
}

/// Points of a subdomain in the sponge, in ascending order, with the damping force per unit of velocity.
#[derive(Clone, Debug, Default)]
pub(super) struct Soaked(Vec<(u32, Number)>);

impl Soaked {
    /// Collects the points with damping.
    pub(super) fn of(damping: &[f64]) -> Self {
        let inside = damping.iter().enumerate().filter(|(_, d)| **d > 0.0);
        Self(inside.map(|(point, d)| (point as u32, *d as Number)).collect())
    }

    /// Subtracts the damping from the forces of the points `first ..`.
    #[inline(always)]
    pub(super) fn take<const C: usize>(
        &self,
        first: usize,
        velocity: &[[Number; C]],
        forces: &mut [[Number; C]],
    ) {
        let low = self.0.partition_point(|p| (p.0 as usize) < first);
        let high = self.0.partition_point(|p| (p.0 as usize) < first + forces.len());
        for (point, damping) in &self.0[low..high] {
            let k = *point as usize - first;
            (0..C).for_each(|c| forces[k][c] -= damping * velocity[k][c]);
        }
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.0[..])
    }
}

#[cfg(test)]
mod tests {
    use fourier::num_complex::Complex;

    type C = Complex<f64>;

    /// The reflection of a plane wave at normal incidence from a layer `wavelengths` wavelengths thick before an
    /// absorbing side: with unit speed and angular frequency, `u'' = -(1 + i c) u` is integrated from that side,
    /// where `u' = i u`, by the Runge-Kutta scheme of order 4.
    fn reflected(wavelengths: f64, left: f64) -> f64 {
        const STEPS: usize = 4000;
        let thickness = std::f64::consts::TAU * wavelengths;
        let strength = 3.0 * (1.0 / left).ln() / thickness;
        let h = thickness / STEPS as f64;
        // The derivatives of u and of its slope towards the side, at a distance from the side.
        let change = |d: f64, [u, slope]: [C; 2]| {
            let c = strength * (1.0 - d / thickness).powi(2);
            [-slope, C::new(1.0, c) * u]
        };
        let mut state = [C::new(1.0, 0.0), C::new(0.0, 1.0)];
        for step in 0..STEPS {
            let d = step as f64 * h;
            let ahead = |by: f64, k: [C; 2]| [0, 1].map(|i| state[i] + k[i] * by);
            let one = change(d, state);
            let two = change(d + 0.5 * h, ahead(0.5 * h, one));
            let three = change(d + 0.5 * h, ahead(0.5 * h, two));
            let four = change(d + h, ahead(h, three));
            state = [0, 1].map(|i| state[i] + (one[i] + (two[i] + three[i]) * 2.0 + four[i]) * (h / 6.0));
        }
        let [u, slope] = state;
        let over = slope / C::new(0.0, 1.0);
        ((u - over) / (u + over)).norm()
    }

    #[test]
    fn a_thin_layer_reflects_the_shares_at_the_head_of_this_file() {
        // The tolerance is half a unit of the last digit in the documentation of this module.
        for (wavelengths, percent, digit) in [
            (0.25, 44.0, 0.5),
            (0.5, 17.0, 0.5),
            (0.75, 2.3, 0.05),
            (1.0, 1.7, 0.05),
            (2.0, 0.7, 0.05),
            (3.0, 0.45, 0.005),
        ] {
            let reflection = 100.0 * reflected(wavelengths, 0.03);
            println!("{wavelengths}: {reflection:.3} %");
            assert!(
                (reflection - percent).abs() <= digit,
                "{wavelengths}: {reflection}"
            );
        }
    }

    /// The disk of a face that leans covers its sharp corners, too.
    #[test]
    fn disks_reach_the_farthest_corner() {
        let corners = [[0.0, 0.0, 5.0], [2.0, 0.0, 5.0], [3.0, 1.0, 5.0], [1.0, 1.0, 5.0]];
        let reach = super::reach([1.5, 0.5, 5.0], corners.into_iter());
        assert!((reach - 1.5_f64.hypot(0.5)).abs() < 1e-15, "{reach}");
    }
}
