//! The filters of elements in layers, with their variables, and what their highest polynomials lose.

use std::f64::consts::{PI, TAU};

use pulp::Simd;
use rayon::prelude::*;

use super::{NOTHING, Profile, Zone};
use crate::mesh::geometry::Tabulated;
use crate::methods::spectral_elements::Setup;
use crate::methods::spectral_elements::lanes::{LANES, Lanes, Part, Register};

/// What is left of a P wave that crosses a layer twice at right angles, were it not for the points between which it is computed.
const LEFT: f64 = 1e-9;

/// The frequency shift where a layer begins, over the angular frequency whose wavelength of P is the thickness.
const SHIFT: f64 = 0.1;

/// What highest polynomials lose, over the largest damping of the layer.
const SMOOTHING: f64 = 0.12;

/// The filters of the layers of a run.
#[derive(Clone, Debug)]
pub struct Filters<const D: usize> {
    /// With the fastest P wave in it, m/s.
    zones: [[Option<(Zone, f64)>; 2]; D],
    profile: Profile,
    dt: f64,
}

impl<const D: usize> Filters<D> {
    /// Of a run with layers; none without.
    pub fn new(setup: &Setup<D>, table: &Tabulated<D>) -> Option<Self> {
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
        Some(Self {
            zones,
            profile: pml.profile,
            dt: setup.dt,
        })
    }

    /// The damping (1/s) at the end of a layer.
    fn strongest(&self, zone: &Zone, speed: f64) -> f64 {
        let factor = match self.profile {
            Profile::Strong => 1.5 * (1.0 / LEFT).ln(),
            Profile::Specfem { .. } => 1000f64.ln(),
        };
        factor * speed / zone.thickness()
    }

    /// What the highest polynomials of an element's velocity lose in a second.
    fn smoothing(&self, nodes: &[[f64; D]]) -> f64 {
        let of = |axis: usize, (zone, speed): &(Zone, f64)| {
            let inside = nodes.iter().any(|x| zone.depth(x[axis]) > NOTHING);
            if inside {
                SMOOTHING * self.strongest(zone, *speed)
            } else {
                0.0
            }
        };
        let all = (0..D).flat_map(|axis| self.zones[axis].iter().flatten().map(move |zone| of(axis, zone)));
        all.fold(0.0, f64::max)
    }

    /// Mass of the points of an element of solids (kg) times what their highest polynomials lose in a second.
    pub fn smoothed(&self, setup: &Setup<D>, table: &Tabulated<D>, element: usize) -> Vec<f32> {
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
    pub fn smaller(&self, setup: &Setup<D>, element: usize, dt: f64) -> f64 {
        if setup.is_fluid(element) {
            return dt;
        }
        let lines = (setup.layer_kind(element) >> D).count_ones();
        let x = self.smoothing(&setup.mesh.coordinates(element)) * f64::from(lines) * dt / 4.0;
        dt * (x.hypot(1.0) - x)
    }

    /// The filter at a place of an axis: what the input of now gives to the output, what stays of the variable, and what the input
    /// of now gives to it. `own` is the P speed of the element there, m/s.
    pub fn at(&self, axis: usize, x: f64, own: f64) -> [f32; 3] {
        let zones = self.zones[axis].iter().flatten();
        let Some((zone, speed)) = zones.into_iter().find(|(zone, _)| zone.depth(x) > 0.0) else {
            return [1.0, 0.0, 0.0];
        };
        let (depth, thickness) = (zone.depth(x), zone.thickness());
        let (damping, shift) = match self.profile {
            Profile::Strong => (
                self.strongest(zone, *speed) * depth * depth,
                SHIFT * TAU * speed / thickness * (1.0 - depth),
            ),
            Profile::Specfem { frequency } => {
                let share = [0.9, 1.0, 1.1][if axis + 1 == D { 2 } else { axis }];
                (
                    self.strongest(zone, own) * depth.powf(1.2),
                    PI * frequency * share * (1.0 - depth),
                )
            }
        };
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
pub struct Damped {
    /// Bit a for the axis a.
    pub axes: u8,
    /// `[axis of the layers][point]`, as [`Filters::at`] gives them.
    filters: Vec<[Lanes; 3]>,
    /// `[axis of the layers][point][slope of a component, force of a component]`
    variables: Vec<Lanes>,
    points: usize,
    components: usize,
    /// The axes of the cell along which highest polynomials lose: bit a for axis a.
    pub(in crate::methods::spectral_elements) lines: u8,
    /// Mass of a point (kg) times what the highest polynomials lose in a second; none in fluids.
    pub smoothing: Vec<Lanes>,
}

impl Damped {
    /// At rest; for elements with these nodes.
    pub fn new<const D: usize>(
        (setup, filters): (&Setup<D>, &Filters<D>),
        table: &Tabulated<D>,
        (kind, components): (u8, usize),
        elements: &[u32],
    ) -> Self {
        let lanes: Vec<_> = elements
            .iter()
            .map(|e| setup.mesh.coordinates(*e as usize))
            .collect();
        let axes = kind & ((1 << D) - 1);
        let count = axes.count_ones() as usize;
        let points = table.points();
        let mut all = vec![[Lanes::ZERO; 3]; count * points];
        for lane in 0..LANES {
            let lane_or_last = lane.min(lanes.len() - 1);
            let places = table.positions(&lanes[lane_or_last]);
            let contents = setup.contents(elements[lane_or_last] as usize, table);
            for (k, axis) in (0..D).filter(|axis| axes >> axis & 1 == 1).enumerate() {
                for (point, x) in places.iter().enumerate() {
                    let filter = all[k * points + point].iter_mut();
                    let speed = contents.speeds(point)[0];
                    let numbers = filter.zip(filters.at(axis, x[axis], speed));
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
            lines: kind >> D,
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
    pub fn filter<S: Simd>(
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
    pub fn forget(&mut self) {
        self.variables.fill(Lanes::ZERO);
    }

    /// The variables of the element in a lane across the number-th axis of its layers.
    pub fn save(&self, (number, lane): (usize, usize), out: &mut [f32]) {
        let own = &self.variables[number * out.len()..][..out.len()];
        out.iter_mut()
            .zip(own)
            .for_each(|(out, lanes)| *out = lanes.0[lane]);
    }

    /// Takes what [`Damped::save`] has copied.
    pub fn load(&mut self, (number, lane): (usize, usize), numbers: &[f32]) {
        let own = self.variables[number * numbers.len()..].iter_mut();
        own.zip(numbers)
            .for_each(|(lanes, number)| lanes.0[lane] = *number);
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.filters[..]) + size_of_val(&self.variables[..]) + size_of_val(&self.smoothing[..])
    }
}

/// Elements in layers, of solids or of fluids, once for each axis of their layers: element and number of the axis among those, both
/// rising. States hold `numbers` numbers for each.
pub fn pairs<const D: usize>(setup: &Setup<D>, is_fluid: bool) -> Vec<(u32, u32)> {
    if setup.pml.is_none() {
        return Vec::new();
    }
    let own = (0..setup.mesh.len()).filter(|element| setup.is_fluid(*element) == is_fluid);
    own.flat_map(|element| (0..setup.damped_axes(element).count_ones()).map(move |k| (element as u32, k)))
        .collect()
}

/// The highest Legendre polynomial at the points of a basis, and what the values of a line of points give to its coefficient.
pub(in crate::methods::spectral_elements) fn highest_of(points: &[f64], weights: &[f64]) -> [Vec<f64>; 2] {
    let legendre = |x: &f64| {
        let (mut last, mut value) = (1.0, *x);
        for degree in 1..points.len() - 1 {
            let k = degree as f64;
            (last, value) = (value, ((2.0 * k + 1.0) * x * value - k * last) / (k + 1.0));
        }
        value
    };
    let values: Vec<f64> = points.iter().map(legendre).collect();
    let norm: f64 = values
        .iter()
        .zip(weights)
        .map(|(value, weight)| weight * value * value)
        .sum();
    let takes = values
        .iter()
        .zip(weights)
        .map(|(value, weight)| weight * value / norm);
    let takes = takes.collect();
    [values, takes]
}

/// The same in single precision.
pub(in crate::methods::spectral_elements) fn highest<const N: usize>(
    points: &[f64],
    weights: &[f64],
) -> [[f32; N]; 2] {
    highest_of(points, weights).map(|all| std::array::from_fn(|p| all[p] as f32))
}

/// Numbers of the state of an element across one axis of its layers.
pub const fn numbers(points: usize, components: usize) -> usize {
    2 * points * components
}
