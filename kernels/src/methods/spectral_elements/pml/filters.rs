//! The recursive filters of elements in layers with their memory variables, and the modal filter.

use crate::methods::spectral_elements::Number;
use std::f64::consts::{PI, TAU};

use pulp::Simd;
use rayon::prelude::*;

use super::{AXES, NOTHING, Profile, Zone};
use crate::mesh::geometry::Tabulated;
use crate::methods::spectral_elements::Setup;
use crate::methods::spectral_elements::lanes::{LANES, Lanes, Part, Register};

/// The fraction of the amplitude of a P wave that remains after it has crossed a layer twice at normal incidence, with
/// the damping profile but without the shift.
const LEFT: f64 = 1e-9;

/// The frequency shift at the beginning of a layer, divided by the angular frequency at which the wavelength of P is the thickness.
const SHIFT: f64 = 0.1;

/// The rate of the modal filter, divided by the largest damping of the layer.
const SMOOTHING: f64 = 0.12;

/// Damping and frequency shift of the layers of a run.
#[derive(Clone, Debug)]
pub struct Filters<const D: usize> {
    /// Every layer, with the P speed (m/s) on which its profile is based.
    zones: [[Option<(Zone, f64)>; 2]; D],
    profile: Profile,
    dt: f64,
}

impl<const D: usize> Filters<D> {
    /// The filters of a run; `None` if it has no layers.
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
        let mut zones = std::array::from_fn(|axis| {
            pml.zones[axis].map(|zone| zone.map(|zone| (zone, fastest(axis, &zone))))
        });
        if let Profile::Specfem { .. } = pml.profile {
            let all = zones.iter().flatten().flatten();
            let highest = all.map(|(_, speed)| *speed).fold(0.0, f64::max);
            let all = zones.iter_mut().flatten().flatten();
            all.for_each(|(_, speed)| *speed = highest);
        }
        Some(Self {
            zones,
            profile: pml.profile,
            dt: setup.dt,
        })
    }

    /// The damping (1/s) at the outer end of a layer across an axis with this P speed, m/s.
    fn strongest(&self, axis: usize, zone: &Zone, speed: f64) -> f64 {
        let factor = match self.profile {
            Profile::Strong => 1.5 * (1.0 / LEFT).ln(),
            Profile::Specfem { .. } => 1000f64.ln(),
        };
        factor * speed / self.thickness(axis, zone)
    }

    /// The thickness (m) of a layer across an axis on which its profile is based: in the profile of SPECFEM3D, the
    /// thickness of the thicker of the two layers across the axis.
    fn thickness(&self, axis: usize, zone: &Zone) -> f64 {
        let both = self.zones[axis].iter().flatten();
        match self.profile {
            Profile::Strong => zone.thickness(),
            Profile::Specfem { .. } => both.map(|(zone, _)| zone.thickness()).fold(0.0, f64::max),
        }
    }

    /// The rate (1/s) of the modal filter in an element.
    fn smoothing(&self, nodes: &[[f64; D]]) -> f64 {
        let of = |axis: usize, (zone, speed): &(Zone, f64)| {
            let inside = nodes.iter().any(|x| zone.depth(x[axis]) > NOTHING);
            if inside {
                SMOOTHING * self.strongest(axis, zone, *speed)
            } else {
                0.0
            }
        };
        let all = (0..D).flat_map(|axis| self.zones[axis].iter().flatten().map(move |zone| of(axis, zone)));
        all.fold(0.0, f64::max)
    }

    /// The mass of every point of a solid element times the rate of the modal filter, kg/s (in 2-D per metre across the plane).
    pub fn smoothed(&self, setup: &Setup<D>, table: &Tabulated<D>, element: usize) -> Vec<Number> {
        let nodes = setup.mesh.coordinates(element);
        let (own, contents) = (table.element(&nodes), setup.contents(element, table));
        let rate = self.smoothing(&nodes);
        let weights = table.weights().iter().enumerate();
        let number = |(point, weight): (usize, &f64)| {
            (rate * weight * own.determinant[point] * contents.medium(point).density) as Number
        };
        weights.map(number).collect()
    }

    /// The stable step of an element in layers whose step without the modal filter is `dt`. With that filter's largest rate a for the lines of
    /// all axes together, and the velocity of half a step before, the shortest wave allows `(step/dt)^2 + a step/2 = 1`.
    pub fn smaller(&self, setup: &Setup<D>, element: usize, dt: f64) -> f64 {
        if setup.is_fluid(element) {
            return dt;
        }
        let lines = (setup.layer_kind(element) >> AXES).count_ones();
        let x = self.smoothing(&setup.mesh.coordinates(element)) * f64::from(lines) * dt / 4.0;
        dt * (x.hypot(1.0) - x)
    }

    /// The coefficients [a, b, c] of the recursive filter at a coordinate of an axis: with the input x and the memory variable w, the output
    /// is `a x - w`, and w becomes `b w + c x`.
    pub fn at(&self, axis: usize, x: f64) -> [Number; 3] {
        let zones = self.zones[axis].iter().flatten();
        let Some((zone, speed)) = zones.into_iter().find(|(zone, _)| zone.depth(x) > 0.0) else {
            return [1.0, 0.0, 0.0];
        };
        let thickness = self.thickness(axis, zone);
        let depth = zone.depth(x) * zone.thickness() / thickness;
        let (damping, shift) = match self.profile {
            Profile::Strong => (
                self.strongest(axis, zone, *speed) * depth * depth,
                SHIFT * TAU * speed / thickness * (1.0 - depth),
            ),
            Profile::Specfem { frequency } => {
                let share = [0.9, 1.0, 1.1][if axis + 1 == D { 2 } else { axis }];
                (
                    self.strongest(axis, zone, *speed) * depth.powf(1.2),
                    PI * frequency * share * (1.0 - depth),
                )
            }
        };
        let half = (shift + damping) * self.dt / 2.0;
        let (gain, decay) = (
            damping * self.dt / 2.0 / (1.0 + half),
            (1.0 - half) / (1.0 + half),
        );
        [1.0 - gain, decay, gain * (1.0 + decay)].map(|x| x as Number)
    }
}

/// The filters of a block of elements that all lie in layers across the same axes, with their memory variables.
#[derive(Clone, Debug)]
pub struct Damped {
    /// The axes across which the layers lie: bit a for axis a.
    pub axes: u8,
    /// The coefficients of [`Filters::at`], `[axis of the layers][point]`.
    filters: Vec<[Lanes; 3]>,
    /// The memory variables of the derivatives and of the forces: `[axis of the layers][point][derivative, force][component]`.
    variables: Vec<Lanes>,
    points: usize,
    components: usize,
    /// Whether the forces belong to the adjoint wavefield and are computed by the transpose of filters and derivatives.
    /// In that case the stresses are filtered with the memory variables of derivatives, and the field with the memory
    /// variables of forces.
    pub(in crate::methods::spectral_elements) transposed: bool,
    /// The axes of the cell along which the modal filter acts: bit a for axis a.
    pub(in crate::methods::spectral_elements) lines: u8,
    /// [`Filters::smoothed`] of every point; empty in fluids.
    pub smoothing: Vec<Lanes>,
}

impl Damped {
    /// The filters of these elements, at rest, for a field with `components` components; `kind` is the same as in
    /// `Pml::kind`.
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
        let axes = kind & ((1 << AXES) - 1);
        let count = axes.count_ones() as usize;
        let points = table.points();
        let mut all = vec![[Lanes::ZERO; 3]; count * points];
        for lane in 0..LANES {
            let lane_or_last = lane.min(lanes.len() - 1);
            let places = table.positions(&lanes[lane_or_last]);
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
            lines: kind >> AXES,
            smoothing,
            axes,
            filters: all,
            variables: vec![Lanes::ZERO; count * points * 2 * components],
            points,
            components,
            transposed: false,
        }
    }

    /// The position of an axis among the axes of the layers; `None` if no layer lies across it.
    #[inline(always)]
    fn number(&self, axis: usize) -> Option<usize> {
        (self.axes >> axis & 1 == 1).then(|| (self.axes & ((1 << axis) - 1)).count_ones() as usize)
    }

    /// Filters the derivative of a component along an axis (`force` 0), or the force of the stresses across that axis
    /// (1), at a point, and advances the memory variable. Where no layer lies across the axis, x is returned unchanged.
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

    /// Sets the memory variables to zero.
    pub fn forget(&mut self) {
        self.variables.fill(Lanes::ZERO);
    }

    /// The memory variables.
    pub fn variables(&self) -> &Vec<Lanes> {
        &self.variables
    }

    /// The memory variables, for replacing them.
    pub fn variables_mut(&mut self) -> &mut Vec<Lanes> {
        &mut self.variables
    }

    /// Copies the memory variables of the element in a lane for the number-th axis of its layers, `[point][derivative, force][component]`.
    pub fn save(&self, (number, lane): (usize, usize), out: &mut [Number]) {
        let own = &self.variables[number * out.len()..][..out.len()];
        out.iter_mut()
            .zip(own)
            .for_each(|(out, lanes)| *out = lanes.0[lane]);
    }

    /// Restores the variables that [`Damped::save`] has copied.
    pub fn load(&mut self, (number, lane): (usize, usize), numbers: &[Number]) {
        let own = self.variables[number * numbers.len()..].iter_mut();
        own.zip(numbers)
            .for_each(|(lanes, number)| lanes.0[lane] = *number);
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.filters[..]) + size_of_val(&self.variables[..]) + size_of_val(&self.smoothing[..])
    }
}

/// The elements in layers, either solid or fluid, once for every axis of their layers: the element, and the number of
/// the axis among these, in ascending order of both. A state holds [`numbers`] numbers for each pair.
pub fn pairs<const D: usize>(setup: &Setup<D>, is_fluid: bool) -> Vec<(u32, u32)> {
    if setup.pml.is_none() {
        return Vec::new();
    }
    let own = (0..setup.mesh.len()).filter(|element| setup.is_fluid(*element) == is_fluid);
    own.flat_map(|element| (0..setup.damped_axes(element).count_ones()).map(move |k| (element as u32, k)))
        .collect()
}

/// The Legendre polynomial of the highest degree at the points of a basis, and the weights with which the values on a line of points add
/// up to its coefficient.
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

/// [`highest_of`] in single precision.
pub(in crate::methods::spectral_elements) fn highest<const N: usize>(
    points: &[f64],
    weights: &[f64],
) -> [[Number; N]; 2] {
    highest_of(points, weights).map(|all| std::array::from_fn(|p| all[p] as Number))
}

/// Number of memory variables of an element for one axis of its layers.
pub const fn numbers(points: usize, components: usize) -> usize {
    2 * points * components
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The damping `d` and the shift `alpha` of a filter, from its response to a wave: the response is 1/s with `s = 1
    /// + d/(alpha + i w)`, where w is the frequency to which the trapezoidal rule maps the frequency of the wave.
    fn measured([now, decay, kept]: [Number; 3], dt: f64) -> [f64; 2] {
        let [now, decay, kept] = [now, decay, kept].map(f64::from);
        // 1/(1/s - 1) = -(alpha + d + i w)/d.
        let angle = 0.1f64;
        let w = 2.0 / dt * (0.5 * angle).tan();
        // The variable lags by a step: its sum is kept/(z - decay).
        let (re, im) = (angle.cos() - decay, angle.sin());
        let size = re * re + im * im;
        let less = [now - 1.0 - kept * re / size, kept * im / size];
        let size = less[0] * less[0] + less[1] * less[1];
        let inverse = [less[0] / size, -less[1] / size];
        let damping = -w / inverse[1];
        [damping, -inverse[0] * damping - damping]
    }

    /// In the profile of SPECFEM3D depth is relative to the thicker layer of an axis, in the other profile to each
    /// layer.
    #[test]
    fn layers_of_two_thicknesses_have_one_profile_or_two() {
        let [low, high] = [[200.0, 0.0], [1000.0, 1300.0]].map(|[begin, end]| Zone { begin, end });
        for (profile, same) in [
            (Profile::Strong, false),
            (Profile::Specfem { frequency: 30.0 }, true),
        ] {
            let filters = Filters::<2> {
                zones: [[Some((low, 3000.0)), Some((high, 3000.0))], [None; 2]],
                profile,
                dt: 2e-4,
            };
            let [thin, thick] = [100.0, 1100.0].map(|x| measured(filters.at(0, x), 2e-4)[0]);
            assert_eq!(
                (thin / thick - 1.0).abs() < 1e-4,
                same,
                "{profile:?}: {thin} {thick}"
            );
        }
    }

    /// There are two profiles: the one that `mod.rs` describes, and the profile of SPECFEM3D Cartesian 4.1.1, whose
    /// NPOWER is 1.2 and whose shifts are 0.9, 1 and 1.1 pi f0 across x, y and z.
    #[test]
    fn filters_stretch_coordinates_by_their_profiles() {
        let (dt, speed) = (2e-4, 3000.0);
        let zone = Zone {
            begin: 200.0,
            end: 0.0,
        };
        let near = |value: f64, expected: f64| (value / expected - 1.0).abs() < 1e-4;
        for profile in [Profile::Strong, Profile::Specfem { frequency: 30.0 }] {
            let filters = Filters::<3> {
                zones: [[Some((zone, speed)), None]; 3],
                profile,
                dt,
            };
            // exp(-2/c int d dx) of a P wave that crosses the layer twice, and the largest shift.
            let crossed = |axis: usize| {
                let n = 400;
                let at = |k: usize| 200.0 * (k as f64 + 0.5) / f64::from(n);
                let all = (0..n as usize).map(|k| measured(filters.at(axis, at(k)), dt)[0]);
                all.sum::<f64>() * 200.0 / f64::from(n) * 2.0 / speed
            };
            for axis in 0..3 {
                let [low, high] = [150.0, 100.0].map(|x| measured(filters.at(axis, x), dt));
                let (left, rise, shift) = match profile {
                    Profile::Strong => (1e-9f64.ln(), 4.0, 0.1 * TAU * speed / 200.0),
                    Profile::Specfem { .. } => {
                        // R is 0.001 for a linear profile, but the integral of (x/L)^1.2 is 1/2.2 instead of 1/2.
                        let share = [0.9, 1.0, 1.1][axis];
                        (0.001f64.ln() * 2.0 / 2.2, 2f64.powf(1.2), PI * 30.0 * share)
                    }
                };
                let integral = crossed(axis);
                assert!(near(integral, -left), "{profile:?} {axis}: {integral} {left}");
                assert!(near(high[0] / low[0], rise), "{low:?} {high:?}");
                assert!(near(high[1], 0.5 * shift), "{high:?} {shift}");
                assert_eq!(filters.at(axis, 201.0), [1.0, 0.0, 0.0]);
            }
        }
    }
}
