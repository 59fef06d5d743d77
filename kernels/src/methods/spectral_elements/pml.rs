//! Perfectly matched layers along flat sides of a mesh that lie across the axes.
//!
//! In a layer across the axis j the coordinate becomes complex (Chew & Weedon 1994), `d/dx_j` becomes `(1/s_j) d/dx_j` with
//! `s_j = 1 + d_j / (alpha_j + i omega)` (Kuzuoglu & Mittra 1996), which has no reflection in the equations, whatever the
//! angle. Where no layer is, s is one. The equations of motion
//!
//! `rho u_i'' = sum_j (1/s_j) d/dx_j [ c_ijkl (1/s_l) du_k/dx_l ]`
//!
//! have one filter of first order for each slope across a layer, and one for what stresses across it add to a point. Along
//! the lines of an element that s_j does not change on, they are the symmetric weak form with `s_x s_y s_z rho` for the mass
//! (Xie et al. 2014), but products of filters, which those have at edges and corners, never arise. Both filters belong to
//! elements, so that sums, subdomains and fluids know nothing of them.
//!
//! A filter `y = x/s` is `y = x - psi`, `psi' + (alpha + d) psi = d x`, by the trapezoidal rule: that is 1/s for the frequency
//! that the rule makes of omega, and a layer of one s is stable up to the same time step as the medium alone.
//!
//! d rises with the square of the depth in the layer, from zero to what leaves [`LEFT`] of a P wave that crosses the layer twice at
//! right angles; alpha falls from [`SHIFT`] times the angular frequency whose wavelength of P is the thickness. Three elements of degree
//! 4 send back less than a thousandth of what a mirror would, from 0 to 80 degrees, of P and S waves of a Ricker wavelet whose S waves
//! are 4.25 elements long at the peak; of 3.1 elements 3e-3 of S at right angles and 5e-4 of P (tests/spectral_elements/pml.rs). Stronger
//! damping is better for P at grazing, and worse for S waves, which it stops within a few points. The outermost points do not move.
//!
//! Elements know waves that no medium has: S waves of two to four points a wavelength run along a layer with a group velocity against
//! their slowness, and whatever damps the others makes them grow (by exp(0.08 vp t/h) in elements of length h; eigenvalues of small
//! meshes show it, degree, profile and kind of rock change the rate alone). They live in the highest polynomial of the lines of points, of which waves that
//! a mesh resolves have next to nothing, so that velocities lose that part: `-eta T^t M T v` with T the projection of the lines of points along every axis
//! of the cell, and eta = [`SMOOTHING`] times the largest d. A third of that does not suffice, reflections do not notice it, and
//! the stable step of elements in layers is some percent smaller ([`Filters::smaller`]). Layers that cut off a plate with two free surfaces
//! meet real waves of that kind (Skelton et al. 2007), which nothing here stops; fluids have none.

use rayon::prelude::*;

use super::Setup;
use super::cut::Share;
use super::lanes::{LANES, Lanes, Part, Register};
use crate::Error;
use crate::mesh::geometry::Tabulated;
use crate::mesh::{Mesh, Place};
use pulp::Simd;

/// What is left of a P wave that crosses a layer twice at right angles, were it not for the points between which it is computed.
const LEFT: f64 = 1e-9;

/// The frequency shift where a layer begins, over the angular frequency whose wavelength of P is the thickness.
const SHIFT: f64 = 0.1;

/// What highest polynomials lose, over the largest damping of the layer.
const SMOOTHING: f64 = 0.12;

/// A length that is none, in thicknesses of a layer.
const NOTHING: f64 = 1e-5;

/// A layer along a side of a mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Zone {
    /// Where it begins, on the axis that it lies across, m.
    pub begin: f64,
    /// Where the mesh ends, m.
    pub end: f64,
}

impl Zone {
    /// How deep a place of the axis lies in the layer: 0 where it begins and before, 1 at its end.
    fn depth(&self, x: f64) -> f64 {
        ((x - self.begin) / (self.end - self.begin)).clamp(0.0, 1.0)
    }

    fn thickness(&self) -> f64 {
        (self.end - self.begin).abs()
    }
}

/// Perfectly matched layers of a mesh.
#[derive(Clone, Debug, PartialEq)]
pub struct Pml<const D: usize> {
    /// Of the low and the high end of every axis.
    pub zones: [[Option<Zone>; 2]; D],
}

impl<const D: usize> Pml<D> {
    /// Layers of this thickness (m) inside of a mesh, along its absorbing faces.
    ///
    /// # Errors
    /// No absorbing face, one that does not lie at an end of the mesh across an axis, layers that meet.
    pub fn along_sides(mesh: &Mesh<D>, thickness: f64) -> Result<Self, Error> {
        let bounds = bounds(mesh);
        let mut zones = [[None; 2]; D];
        if mesh.absorbing().is_empty() {
            return Err(Error::setup(
                "perfectly matched layers lie along absorbing sides, and the mesh has none: name some",
            ));
        }
        for side in mesh.absorbing() {
            let corners = mesh.face_corners(*side);
            let at_end = |(axis, high): (usize, usize)| {
                let end = bounds[axis][high];
                let near =
                    |node: &u32| (mesh.nodes()[*node as usize][axis] - end).abs() < NOTHING * thickness;
                corners.iter().all(near)
            };
            let found = (0..D)
                .flat_map(|axis| [(axis, 0), (axis, 1)])
                .find(|end| at_end(*end));
            let Some((axis, high)) = found else {
                return Err(Error::setup(format!(
                    "perfectly matched layers lie along flat sides across the axes, and the absorbing face of element {} around {} is at no end of the mesh; flatten that side, let it not absorb, or take a sponge",
                    side.element,
                    Place::from(mesh.face_centre(*side))
                )));
            };
            let end = bounds[axis][high];
            let inwards = if high == 1 { -thickness } else { thickness };
            zones[axis][high] = Some(Zone {
                begin: end + inwards,
                end,
            });
        }
        Self { zones }.checked(bounds)
    }

    fn checked(self, bounds: [[f64; 2]; D]) -> Result<Self, Error> {
        for (axis, [low, high]) in self.zones.iter().enumerate() {
            let [first, last] = bounds[axis];
            let (low, high) = (low.map_or(first, |z| z.begin), high.map_or(last, |z| z.begin));
            if high <= low {
                return Err(Error::setup(format!(
                    "perfectly matched layers leave nothing of the mesh along {}, where it is {} m long: take thinner ones",
                    axis_name::<D>(axis),
                    last - first
                )));
            }
        }
        Ok(self)
    }

    /// The axes across which an element, or a part of it, lies in a layer: bit a for axis a.
    pub fn axes(&self, nodes: &[[f64; D]]) -> u8 {
        let mut axes = 0;
        for (axis, zones) in self.zones.iter().enumerate() {
            let inside = |zone: &Zone| nodes.iter().any(|x| zone.depth(x[axis]) > NOTHING);
            if zones.iter().flatten().any(inside) {
                axes |= 1 << axis;
            }
        }
        axes
    }

    /// Whether a place lies in a layer.
    pub fn holds(&self, x: [f64; D]) -> bool {
        self.axes(&[x]) != 0
    }

    /// Whether a place is where a layer ends.
    pub(super) fn ends(&self, x: [f64; D]) -> bool {
        let at = |axis: usize, zone: &Zone| zone.depth(x[axis]) > 1.0 - NOTHING;
        (0..D).any(|axis| self.zones[axis].iter().flatten().any(|zone| at(axis, zone)))
    }
}

/// The least and largest coordinates of a mesh on every axis.
fn bounds<const D: usize>(mesh: &Mesh<D>) -> [[f64; 2]; D] {
    let mut bounds = [[f64::INFINITY, f64::NEG_INFINITY]; D];
    for x in mesh.nodes() {
        for (bounds, x) in bounds.iter_mut().zip(x) {
            *bounds = [bounds[0].min(*x), bounds[1].max(*x)];
        }
    }
    bounds
}

/// The name of an axis of the mesh.
fn axis_name<const D: usize>(axis: usize) -> &'static str {
    if axis == D - 1 { "z" } else { ["x", "y"][axis] }
}

/// The points of a subdomain where layers end, which do not move; of any elements.
pub(super) fn fixed_points<const D: usize>(
    setup: &Setup<D>,
    share: &Share<'_>,
    table: &Tabulated<D>,
) -> Vec<u32> {
    let Some(pml) = setup.pml else {
        return Vec::new();
    };
    let mut fixed = Vec::new();
    for element in (0..setup.mesh.len()).filter(|e| share.touches(*e)) {
        let nodes = setup.mesh.coordinates(element);
        if pml.axes(&nodes) == 0 {
            continue;
        }
        let places = table.positions(&nodes).into_iter().enumerate();
        let ends = places.filter(|(_, x)| pml.ends(*x));
        fixed.extend(ends.filter_map(|(local, _)| share.at(element, local)));
    }
    fixed.sort_unstable();
    fixed.dedup();
    fixed
}

/// The filters of the layers of a run.
#[derive(Clone, Debug)]
pub(super) struct Filters<const D: usize> {
    /// With the fastest P wave in it, m/s.
    zones: [[Option<(Zone, f64)>; 2]; D],
    dt: f64,
}

impl<const D: usize> Filters<D> {
    /// Of a run with layers; none without.
    pub(super) fn new(setup: &Setup<D>, table: &Tabulated<D>) -> Option<Self> {
        let pml = setup.pml?;
        let fastest = |axis: usize, zone: &Zone| {
            let of_element = |element: usize| {
                let nodes = setup.mesh.coordinates(element);
                if nodes.iter().all(|x| zone.depth(x[axis]) <= NOTHING) {
                    return 0.0;
                }
                let contents = setup.contents(element, table);
                let speeds = (0..table.points()).map(|point| contents.speeds(point)[0]);
                speeds.fold(0.0, f64::max)
            };
            let all = (0..setup.mesh.len()).into_par_iter().map(of_element);
            all.reduce(|| 0.0, f64::max)
        };
        let zones = std::array::from_fn(|axis| {
            pml.zones[axis].map(|zone| zone.map(|zone| (zone, fastest(axis, &zone))))
        });
        Some(Self { zones, dt: setup.dt })
    }

    /// The damping (1/s) at the end of a layer.
    fn strongest(zone: &Zone, speed: f64) -> f64 {
        1.5 * speed / zone.thickness() * (1.0 / LEFT).ln()
    }

    /// What the highest polynomials of an element's velocity lose in a second.
    fn smoothing(&self, nodes: &[[f64; D]]) -> f64 {
        let of = |axis: usize, (zone, speed): &(Zone, f64)| {
            let inside = nodes.iter().any(|x| zone.depth(x[axis]) > NOTHING);
            if inside {
                SMOOTHING * Self::strongest(zone, *speed)
            } else {
                0.0
            }
        };
        let all = (0..D).flat_map(|axis| self.zones[axis].iter().flatten().map(move |zone| of(axis, zone)));
        all.fold(0.0, f64::max)
    }

    /// Mass of the points of an element of solids (kg) times what their highest polynomials lose in a second.
    pub(super) fn smoothed(&self, setup: &Setup<D>, table: &Tabulated<D>, element: usize) -> Vec<f32> {
        let nodes = setup.mesh.coordinates(element);
        let (own, contents) = (table.element(&nodes), setup.contents(element, table));
        let rate = self.smoothing(&nodes);
        let weights = table.weights().iter().enumerate();
        let number = |(point, weight): (usize, &f64)| {
            (rate * weight * own.determinant[point] * contents.medium(point).density) as f32
        };
        weights.map(number).collect()
    }

    /// The stable step of an element in layers whose step without them is `dt`: with what its highest polynomials lose.
    pub(super) fn smaller(&self, setup: &Setup<D>, element: usize, dt: f64) -> f64 {
        if setup.is_fluid(element) {
            return dt;
        }
        let x = self.smoothing(&setup.mesh.coordinates(element)) * D as f64 * dt / 4.0;
        dt * (x.hypot(1.0) - x)
    }

    /// The filter at a place of an axis: what the input of now gives to the output, what stays of the variable, and what the input
    /// of now gives to it.
    pub(super) fn at(&self, axis: usize, x: f64) -> [f32; 3] {
        let zones = self.zones[axis].iter().flatten();
        let Some((zone, speed)) = zones.into_iter().find(|(zone, _)| zone.depth(x) > 0.0) else {
            return [1.0, 0.0, 0.0];
        };
        let (depth, thickness) = (zone.depth(x), zone.thickness());
        let damping = Self::strongest(zone, *speed) * depth * depth;
        let shift = SHIFT * std::f64::consts::TAU * speed / thickness * (1.0 - depth);
        let half = (shift + damping) * self.dt / 2.0;
        let (gain, decay) = (
            damping * self.dt / 2.0 / (1.0 + half),
            (1.0 - half) / (1.0 + half),
        );
        [1.0 - gain, decay, gain * (1.0 + decay)].map(|x| x as f32)
    }
}

/// The filters of a block of elements, all of which lie in layers across the same axes, with their variables.
#[derive(Clone, Debug)]
pub(super) struct Damped {
    /// Bit a for the axis a.
    pub(super) axes: u8,
    /// `[axis of the layers][point]`, as [`Filters::at`] gives them.
    filters: Vec<[Lanes; 3]>,
    /// `[axis of the layers][point][slope of a component, force of a component]`
    variables: Vec<Lanes>,
    points: usize,
    components: usize,
    /// Mass of a point (kg) times what the highest polynomials lose in a second; none in fluids.
    pub(super) smoothing: Vec<Lanes>,
}

impl Damped {
    /// At rest; for elements with these nodes.
    pub(super) fn new<const D: usize>(
        (setup, filters): (&Setup<D>, &Filters<D>),
        table: &Tabulated<D>,
        (axes, components): (u8, usize),
        elements: &[u32],
    ) -> Self {
        let lanes: Vec<_> = elements
            .iter()
            .map(|e| setup.mesh.coordinates(*e as usize))
            .collect();
        let count = axes.count_ones() as usize;
        let points = table.points();
        let mut all = vec![[Lanes::ZERO; 3]; count * points];
        for lane in 0..LANES {
            let places = table.positions(&lanes[lane.min(lanes.len() - 1)]);
            for (k, axis) in (0..D).filter(|axis| axes >> axis & 1 == 1).enumerate() {
                for (point, x) in places.iter().enumerate() {
                    let filter = all[k * points + point].iter_mut();
                    let numbers = filter.zip(filters.at(axis, x[axis]));
                    numbers.for_each(|(lanes, number)| lanes.0[lane] = number);
                }
            }
        }
        let mut smoothing = vec![Lanes::ZERO; if components == D { points } else { 0 }];
        for (lane, element) in elements.iter().enumerate() {
            let numbers = filters.smoothed(setup, table, *element as usize);
            smoothing
                .iter_mut()
                .zip(numbers)
                .for_each(|(lanes, number)| lanes.0[lane] = number);
        }
        Self {
            smoothing,
            axes,
            filters: all,
            variables: vec![Lanes::ZERO; count * points * 2 * components],
            points,
            components,
        }
    }

    /// The number of the axis among those of the layers.
    #[inline(always)]
    fn number(&self, axis: usize) -> Option<usize> {
        (self.axes >> axis & 1 == 1).then(|| (self.axes & ((1 << axis) - 1)).count_ones() as usize)
    }

    /// Filters the slope across layers (`force` 0), or what stresses across them add (1), of a component at a point.
    #[inline(always)]
    pub(super) fn filter<S: Simd>(
        &mut self,
        part: Part<S>,
        (axis, point): (usize, usize),
        (component, force): (usize, usize),
        x: Register<S>,
    ) -> Register<S> {
        let Some(number) = self.number(axis) else {
            return x;
        };
        let at = number * self.points + point;
        let [now, decay, kept] = &self.filters[at];
        let variable = &mut self.variables[(at * 2 + force) * self.components + component];
        let old = part.load(variable);
        let next = part.load(kept).mul_add(x, part.load(decay) * old);
        part.store(variable, next);
        part.load(now) * x - old
    }

    /// Begins at rest.
    pub(super) fn forget(&mut self) {
        self.variables.fill(Lanes::ZERO);
    }

    /// The variables of the element in a lane across the number-th axis of its layers.
    pub(super) fn save(&self, (number, lane): (usize, usize), out: &mut [f32]) {
        let own = &self.variables[number * out.len()..][..out.len()];
        out.iter_mut()
            .zip(own)
            .for_each(|(out, lanes)| *out = lanes.0[lane]);
    }

    /// Takes what [`Damped::save`] has copied.
    pub(super) fn load(&mut self, (number, lane): (usize, usize), numbers: &[f32]) {
        let own = self.variables[number * numbers.len()..].iter_mut();
        own.zip(numbers)
            .for_each(|(lanes, number)| lanes.0[lane] = *number);
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.filters[..]) + size_of_val(&self.variables[..]) + size_of_val(&self.smoothing[..])
    }
}

/// Elements in layers, of solids or of fluids, once for each axis of their layers: element and number of the axis among those, both
/// rising. States hold `numbers` numbers for each.
pub(super) fn pairs<const D: usize>(setup: &Setup<D>, is_fluid: bool) -> Vec<(u32, u32)> {
    if setup.pml.is_none() {
        return Vec::new();
    }
    let own = (0..setup.mesh.len()).filter(|element| setup.is_fluid(*element) == is_fluid);
    own.flat_map(|element| (0..setup.damped_axes(element).count_ones()).map(move |k| (element as u32, k)))
        .collect()
}

/// The highest Legendre polynomial at the points of a basis of N points, and what the values of a line of points give to its coefficient.
pub(super) fn highest<const N: usize>(points: &[f64], weights: &[f64]) -> [[f32; N]; 2] {
    let legendre = |x: f64| {
        let (mut last, mut value) = (1.0, x);
        for degree in 1..N - 1 {
            let k = degree as f64;
            (last, value) = (value, ((2.0 * k + 1.0) * x * value - k * last) / (k + 1.0));
        }
        value
    };
    let values: [f64; N] = std::array::from_fn(|p| legendre(points[p]));
    let norm: f64 = values
        .iter()
        .zip(weights)
        .map(|(value, weight)| weight * value * value)
        .sum();
    [
        values.map(|value| value as f32),
        std::array::from_fn(|p| (weights[p] * values[p] / norm) as f32),
    ]
}

/// Numbers of the state of an element across one axis of its layers.
pub(super) const fn numbers(points: usize, components: usize) -> usize {
    2 * points * components
}
