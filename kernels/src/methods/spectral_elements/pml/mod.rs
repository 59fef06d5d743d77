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
//! d rises with the square of the depth in the layer, from zero to what leaves 1e-9 of a P wave that crosses the layer twice at
//! right angles; alpha falls from a tenth of the angular frequency whose wavelength of P is the thickness. Three elements of degree
//! 4 send back less than a thousandth of what a mirror would, from 0 to 80 degrees, of P and S waves of a Ricker wavelet whose S waves
//! are 4.25 elements long at the peak; of 3.1 elements 3e-3 of S at right angles and 5e-4 of P (tests/spectral_elements/pml.rs). Stronger
//! damping is better for P at grazing, and worse for S waves, which it stops within a few points. The outermost points do not move.
//!
//! Elements know waves that no medium has: S waves of two to four points a wavelength run along a layer with a group velocity against
//! their slowness, and whatever damps the others makes them grow (by exp(0.08 vp t/h) in elements of length h; eigenvalues of small
//! meshes show it, degree, profile and kind of rock change the rate alone). They live in the highest polynomial of the lines of points, of which waves that
//! a mesh resolves have next to nothing, so that velocities lose that part: `-eta T^t M T v` with T the projection of the lines of points that run along the
//! layer (at corners there are none), and eta = 0.12 times the largest d. A third of that does not suffice, reflections do not notice it, and
//! the stable step of elements in layers is some percent smaller (`Filters::smaller`). Layers that cut off a plate with two free surfaces
//! meet real waves of that kind (Skelton et al. 2007), which nothing here stops; fluids have none.

mod filters;
mod growth;

pub(super) use filters::{Damped, Filters, highest, highest_of, numbers, pairs};

use super::Setup;
use super::cut::Share;
use crate::Error;
use crate::mesh::geometry::Tabulated;
use crate::mesh::{Mesh, Place, Side, cell};

/// The part of a normal along an axis that is none.
const FLAT: f64 = 1e-3;

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

/// How the damping of layers rises, and what shifts their frequency.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Profile {
    /// As the head of this file says.
    #[default]
    Strong,
    /// As SPECFEM3D 4.1 has it, for comparisons: a P wave of the element keeps a thousandth, damping rises with the power 1.2 of the depth,
    /// and the shift is pi times this frequency (Hz), 0.9, 1 and 1.1 of it along x, y and z.
    Specfem {
        /// The dominant frequency of the source, Hz.
        frequency: f64,
    },
}

/// Perfectly matched layers of a mesh.
#[derive(Clone, Debug, PartialEq)]
pub struct Pml<const D: usize> {
    /// Of the low and the high end of every axis.
    pub zones: [[Option<Zone>; 2]; D],
    /// What damps in them.
    pub profile: Profile,
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
        let profile = Profile::default();
        Self { zones, profile }.checked(bounds)
    }

    /// Layers as a list of elements has them, with the axes across which each absorbs: bit a for axis a.
    ///
    /// # Errors
    /// A list that is not one of layers of constant thickness along whole sides of the mesh.
    pub fn of_elements(mesh: &Mesh<D>, flags: &[(usize, u8)]) -> Result<Self, Error> {
        let bounds = bounds(mesh);
        let mut zones = [[None::<Zone>; 2]; D];
        let mut given = vec![0u8; mesh.len()];
        for (element, axes) in flags {
            given[*element] = *axes;
            let (nodes, centre) = (mesh.coordinates(*element), mesh.centre(*element));
            for axis in (0..D).filter(|axis| axes >> axis & 1 == 1) {
                let [low, high] = bounds[axis];
                let upper = usize::from(centre[axis] > 0.5 * (low + high));
                let inner = nodes.iter().map(|x| x[axis]);
                let (begin, end) = match upper {
                    1 => (inner.fold(f64::INFINITY, f64::min), high),
                    _ => (inner.fold(f64::NEG_INFINITY, f64::max), low),
                };
                let zone = zones[axis][upper].get_or_insert(Zone { begin, end });
                if (begin - end).abs() > zone.thickness() {
                    zone.begin = begin;
                }
            }
        }
        let profile = Profile::default();
        let pml = Self { zones, profile }.checked(bounds)?;
        for (element, given) in given.iter().enumerate() {
            let found = pml.axes(&mesh.coordinates(element));
            if found != *given {
                let words = |axes: u8| match (0..D)
                    .filter(|a| axes >> a & 1 == 1)
                    .map(axis_name::<D>)
                    .collect::<Vec<_>>()
                {
                    names if names.is_empty() => "no axis".to_string(),
                    names => names.join(", "),
                };
                return Err(Error::setup(format!(
                    "element {} around {} absorbs across {} by the list of the layers' elements, and by where these begin across {}: layers must have the same thickness along the whole of a flat side",
                    element,
                    Place::from(mesh.centre(element)),
                    words(*given),
                    words(found)
                )));
            }
        }
        Ok(pml)
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

    /// The axes of the cell of an element in layers that run along them: bit a for axis a. The others are, as far as can be, the axes
    /// across the layers.
    fn lines(&self, nodes: &[[f64; D]]) -> u8 {
        let axes = self.axes(nodes);
        let mut lines = (1 << D) - 1;
        for axis in (0..D).filter(|axis| axes >> axis & 1 == 1) {
            let along = |a: usize| {
                let side = |corner: usize| f64::from(cell::place::<D>(corner)[a]) - 1.0;
                (0..1 << D)
                    .map(|corner| side(corner) * nodes[corner][axis])
                    .sum::<f64>()
                    .abs()
            };
            let left = (0..D).filter(|a| lines >> a & 1 == 1);
            if let Some(across) = left.max_by(|a, b| along(*a).total_cmp(&along(*b))) {
                lines &= !(1 << across);
            }
        }
        lines
    }

    /// What an element has of layers, for those that group them: the axes across which it lies in layers, and above these bits the axes
    /// of its cell along which highest polynomials lose; 0 outside of layers.
    pub(super) fn kind(&self, nodes: &[[f64; D]]) -> u8 {
        match self.axes(nodes) {
            0 => 0,
            axes => axes | self.lines(nodes) << D,
        }
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

/// Looks for what layers do not stand: sources in them, contacts of fluids and solids and absorbing faces that are not flat there.
///
/// # Errors
/// The first of these, with its place.
pub(super) fn check<const D: usize>(setup: &Setup<D>) -> Result<(), Error> {
    let Some(pml) = setup.pml else { return Ok(()) };
    check_sources(setup)?;
    if let Some((element, axis)) = growth::growing(setup) {
        return Err(Error::setup(format!(
            "waves would grow in the perfectly matched layer across {} in the anisotropic solid of element {element} around {}, where some carry their energy against their phase (Becache et al. 2003): take a sponge",
            axis_name::<D>(axis),
            Place::from(setup.mesh.centre(element))
        )));
    }
    let table = Tabulated::new(setup.mesh.order(), setup.basis);
    let slanted = |side: &Side| {
        let nodes = setup.mesh.coordinates(side.element);
        let axes = pml.axes(&nodes);
        if axes == 0 {
            return false;
        }
        let own = table.element(&nodes);
        let surface = table.surface(&own, cell::face::<D>(side.face));
        let points = surface.points.iter().zip(&surface.normal);
        let mut inside = points.filter(|(local, _)| !pml.ends(own.position[**local]));
        inside.any(|(_, normal)| (0..D).any(|axis| axes >> axis & 1 == 1 && normal[axis].abs() > FLAT))
    };
    let fluid = |element: usize| setup.is_fluid(element);
    let all = (0..setup.mesh.len())
        .filter(|element| fluid(*element))
        .flat_map(|element| (0..cell::faces::<D>()).map(move |face| Side { element, face }));
    let contacts = all.filter(|side| {
        setup
            .mesh
            .across(*side)
            .is_some_and(|other| !fluid(other.element))
    });
    for (what, side) in contacts
        .map(|side| ("the contact of a fluid and a solid", side))
        .chain(
            setup
                .mesh
                .absorbing()
                .iter()
                .map(|side| ("the absorbing face", *side)),
        )
    {
        if slanted(&side) {
            return Err(Error::setup(format!(
                "{what} of element {} around {} is not flat across a perfectly matched layer: continue the mesh by elements that do not change along the axis of the layer, or take a sponge",
                side.element,
                Place::from(setup.mesh.face_centre(side))
            )));
        }
    }
    Ok(())
}

/// Looks for sources in layers.
///
/// # Errors
/// The first one, with its place.
pub(super) fn check_sources<const D: usize>(setup: &Setup<D>) -> Result<(), Error> {
    let Some(pml) = setup.pml else { return Ok(()) };
    match (1..).zip(setup.sources).find(|(_, source)| pml.holds(source.at)) {
        None => Ok(()),
        Some((number, source)) => Err(Error::setup(format!(
            "source {number} at {} lies in a perfectly matched layer, which damps it: move it or take a thinner layer",
            Place::from(source.at)
        ))),
    }
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
