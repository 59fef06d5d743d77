//! Perfectly matched layers (CPML) along flat sides of a mesh that are perpendicular to the axes.
//!
//! In a layer across the axis j the coordinate is stretched by a complex factor (Chew & Weedon 1994): `d/dx_j` becomes
//! `(1/s_j) d/dx_j` with `s_j = 1 + d_j / (alpha_j + i omega)` (Kuzuoglu & Mittra 1996), where d is the damping and
//! alpha the complex frequency shift. The continuous equations then reflect nothing, at any angle of incidence.
//! Outside of the layers s is one. The equations of motion
//!
//! `rho u_i'' = sum_j (1/s_j) d/dx_j [ c_ijkl (1/s_l) du_k/dx_l ]`
//!
//! need one recursive filter of first order for every derivative across a layer, and one for the contribution of the
//! stresses across it to the force on a point. If the lines of points of an element follow the axes, this is the
//! symmetric weak form with the mass `s_x s_y s_z rho` (Xie et al. 2014), because the other factors do not change
//! along a line across j. Products of filters, which that form has along edges and at corners, are not needed. Both
//! filters belong to elements, so that sums over elements, subdomains and contacts of fluids and solids are the same
//! as without layers.
//!
//! The filter `y = x/s` is `y = x - psi` with the memory variable `psi' + (alpha + d) psi = d x`, integrated by the
//! trapezoidal rule. This is 1/s at the frequency to which the rule maps omega. In one dimension, with the same s
//! everywhere, the scheme is stable up to the time step of the medium without layers (by the Routh-Hurwitz criterion).
//!
//! The damping profile d is quadratic in the depth. It rises from zero to a value that, without the shift, leaves 1e-9
//! of a P wave that crosses the layer twice at normal incidence; alpha falls linearly to zero from a tenth of the
//! angular frequency at which the wavelength of P is the thickness. For a Ricker wavelet whose S wavelength at the peak
//! frequency is 4.25 elements, three elements of degree 4 reflect less than a thousandth of what a mirror would
//! reflect, at angles from 0 to 80 degrees (tests/spectral_elements/pml.rs, 2-D). With 3.4 elements in that wavelength
//! they reflected 3e-3 of S and 5e-4 of P at normal incidence. Displacement, in fluids the potential, is zero at the
//! outer end.
//!
//! On elements such layers are unstable by themselves: eigenvalues and time stepping of small 2-D meshes with layers
//! of two elements gave short waves, of S wavelengths of about half an element, that grow by about exp(0.08 vp t/h),
//! where h is the length of an element. A modal filter damps them: the force `-eta T^t M T v` takes energy from the
//! Legendre polynomial of the highest degree on every line of points along the layer, to which waves that the mesh
//! resolves contribute little. T projects a line of points on that polynomial, M is the mass, v the velocity, and eta
//! is 0.12 times the largest d of the layers of the element. Where layers across all axes meet there are no such
//! lines. The stable step of elements in layers is a few percent smaller (`Filters::smaller`). Fluids have no modal
//! filter.
//!
//! Plates with two free surfaces have physical waves whose group and phase velocities have opposite signs. They grow
//! in layers (Skelton et al. 2007), and the modal filter is not meant for them.

mod filters;
mod growth;

pub(super) use filters::{Damped, Filters, highest, highest_of, numbers, pairs};

use super::Setup;
use super::cut::Share;
use crate::Error;
use crate::mesh::geometry::Tabulated;
use crate::mesh::{Mesh, Place, Side, cell};

/// Bits of a kind ([`Pml::kind`]) that name axes of space; those above them name axes of the cell.
pub(super) const AXES: usize = 3;

/// Components of a unit normal count as zero below this value.
const FLAT: f64 = 1e-3;

/// Lengths below this fraction of a layer's thickness count as zero.
const NOTHING: f64 = 1e-5;

/// A perfectly matched layer along a side of a mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Zone {
    /// The coordinate at which it begins, on the axis perpendicular to it, m.
    pub begin: f64,
    /// The coordinate at which the layer and the mesh end, m.
    pub end: f64,
}

impl Zone {
    /// The depth of a coordinate in the layer as a fraction of its thickness: 0 at its beginning and in front of it, 1
    /// at its end.
    fn depth(&self, x: f64) -> f64 {
        ((x - self.begin) / (self.end - self.begin)).clamp(0.0, 1.0)
    }

    fn thickness(&self) -> f64 {
        (self.end - self.begin).abs()
    }
}

/// The damping profile and the complex frequency shift of layers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Profile {
    /// Quadratic damping that leaves 1e-9 of a P wave, with a shift that follows from the thickness, as described in
    /// the documentation of this module.
    #[default]
    Strong,
    /// The profile of SPECFEM3D 4.1, for comparisons: `d = vp ln(1000)/thickness * depth^1.2` with the largest vp in
    /// all layers and the thickness of the thicker one of the two layers across an axis, relative to which the depths
    /// in both are measured. The shift falls linearly to zero from pi times the frequency times 0.9, 1 and 1.1 along
    /// x, y and z. As in SPECFEM3D, rock in the layers has no attenuation: it keeps its unrelaxed moduli.
    Specfem {
        /// The dominant frequency of the source, Hz.
        frequency: f64,
    },
}

/// Perfectly matched layers of a mesh.
#[derive(Clone, Debug, PartialEq)]
pub struct Pml<const D: usize> {
    /// The layers at the low and at the high end of every axis.
    pub zones: [[Option<Zone>; 2]; D],
    /// The damping profile of all layers.
    pub profile: Profile,
}

impl<const D: usize> Pml<D> {
    /// Layers of this thickness (m) inside a mesh, along its absorbing faces.
    ///
    /// # Errors
    /// Returns an error if no face absorbs, if an absorbing face does not lie at the end of the mesh on an axis, or if
    /// layers meet.
    pub fn along_sides(mesh: &Mesh<D>, thickness: f64) -> Result<Self, Error> {
        let bounds = bounds(mesh);
        let mut zones = [[None; 2]; D];
        if mesh.absorbing().is_empty() {
            return Err(Error::setup(
                "perfectly matched layers lie along absorbing sides, but the mesh has none: name sides that absorb, or leave out the layers",
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
            let end_of_side = (0..D)
                .flat_map(|axis| [(axis, 0), (axis, 1)])
                .find(|end| at_end(*end));
            let Some((axis, high)) = end_of_side else {
                return Err(Error::setup(format!(
                    "perfectly matched layers need flat sides that are perpendicular to an axis, but the \
                    absorbing face of element {} around {} lies at no end of the mesh: flatten that side, \
                    do not let it absorb, or use a sponge",
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

    /// The layers that a list of elements describes, with the axes across which each element absorbs: bit a for axis a.
    ///
    /// # Errors
    /// Returns an error if the elements do not make up layers of constant thickness along whole sides of the mesh.
    pub fn of_elements(mesh: &Mesh<D>, flags: &[(usize, u8)]) -> Result<Self, Error> {
        let bounds = bounds(mesh);
        let mut given = vec![0u8; mesh.len()];
        flags.iter().for_each(|(element, axes)| given[*element] = *axes);
        let is_in = |element: usize, axis: usize| given[element] >> axis & 1 == 1;
        // On every axis, the layers lie before and after the elements that are in no layer.
        let zones = std::array::from_fn(|axis| {
            let ends = [f64::INFINITY, f64::NEG_INFINITY];
            let outside = (0..mesh.len()).filter(|element| !is_in(*element, axis));
            let [first, last] = outside.fold(ends, |ends, element| {
                let own = mesh.coordinates(element).into_iter().map(|x| x[axis]);
                own.fold(ends, |[low, high], x| [low.min(x), high.max(x)])
            });
            let has = |beyond: &dyn Fn(f64) -> bool| {
                let mut all = (0..mesh.len()).filter(|element| is_in(*element, axis));
                all.any(|element| beyond(mesh.centre(element)[axis]))
            };
            let [low, high] = bounds[axis];
            [
                has(&|x| x < first).then_some(Zone {
                    begin: first.min(high),
                    end: low,
                }),
                has(&|x| x > last).then_some(Zone {
                    begin: last.max(low),
                    end: high,
                }),
            ]
        });
        let profile = Profile::default();
        let pml = Self { zones, profile }.checked(bounds)?;
        for (element, given) in given.iter().enumerate() {
            let by_coordinates = pml.axes(&mesh.coordinates(element));
            if by_coordinates != *given {
                let words = |axes: u8| match (0..D)
                    .filter(|a| axes >> a & 1 == 1)
                    .map(axis_name::<D>)
                    .collect::<Vec<_>>()
                {
                    names if names.is_empty() => "no axis".to_string(),
                    names => names.join(", "),
                };
                return Err(Error::setup(format!(
                    "element {} around {} absorbs across {} in the list of elements in layers, but across {} by the coordinates at which these layers begin: a layer must have the same thickness along the whole of a flat side",
                    element,
                    Place::from(mesh.centre(element)),
                    words(*given),
                    words(by_coordinates)
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
                    "perfectly matched layers fill the mesh along {}, where it is {} m long: make them thinner",
                    axis_name::<D>(axis),
                    last - first
                )));
            }
        }
        Ok(self)
    }

    /// The axes across which an element lies in a layer, as a whole or in part: bit a for axis a.
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

    /// Number of elements of a mesh that lie in layers.
    pub fn elements(&self, mesh: &Mesh<D>) -> usize {
        let in_layer = |element: &usize| self.axes(&mesh.coordinates(*element)) != 0;
        (0..mesh.len()).filter(in_layer).count()
    }

    /// The axes of the reference cell of an element that run along its layers: bit a for axis a. For every layer the
    /// axis of the cell that runs most nearly across it is left out.
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

    /// A number that is the same for elements that one kernel can compute together: the axes across which an element
    /// lies in layers, and above these [`AXES`] bits the axes of its cell along which the modal filter acts; 0 outside
    /// layers.
    pub(super) fn kind(&self, nodes: &[[f64; D]]) -> u8 {
        match self.axes(nodes) {
            0 => 0,
            axes => axes | self.lines(nodes) << AXES,
        }
    }

    /// Whether a point lies in a layer.
    pub fn holds(&self, x: [f64; D]) -> bool {
        self.axes(&[x]) != 0
    }

    /// Whether a point lies at the outer end of a layer.
    pub(super) fn ends(&self, x: [f64; D]) -> bool {
        let at = |axis: usize, zone: &Zone| zone.depth(x[axis]) > 1.0 - NOTHING;
        (0..D).any(|axis| self.zones[axis].iter().flatten().any(|zone| at(axis, zone)))
    }
}

/// The smallest and the largest coordinate of the nodes of a mesh on every axis.
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

/// Checks that layers contain no sources, and no contacts of fluids and solids or absorbing faces that are not
/// perpendicular to the layer.
///
/// # Errors
/// Returns an error for the first of these, with its coordinates.
pub(super) fn check<const D: usize>(setup: &Setup<D>) -> Result<(), Error> {
    let Some(pml) = setup.pml else { return Ok(()) };
    check_sources(setup)?;
    if let Some((element, axis)) = growth::growing(setup) {
        return Err(Error::setup(format!(
            "waves would grow in the perfectly matched layer across {} in the anisotropic solid of \
            element {element} around {}, where the group velocity of some waves opposes their phase \
            velocity (Becache et al. 2003): use a sponge",
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
                "{what} of element {} around {} is not perpendicular to the perfectly matched layer in which it lies: continue the mesh through the layer by elements that do not change along its axis, or use a sponge",
                side.element,
                Place::from(setup.mesh.face_centre(side))
            )));
        }
    }
    Ok(())
}

/// Checks that no source lies in a layer.
///
/// # Errors
/// Returns an error for the first source that does, with its coordinates.
pub(super) fn check_sources<const D: usize>(setup: &Setup<D>) -> Result<(), Error> {
    let Some(pml) = setup.pml else { return Ok(()) };
    match (1..).zip(setup.sources).find(|(_, source)| pml.holds(source.at)) {
        None => Ok(()),
        Some((number, source)) => Err(Error::setup(format!(
            "source {number} at {} lies in a perfectly matched layer, where sources are not allowed: move it or make the layer thinner",
            Place::from(source.at)
        ))),
    }
}

/// The points of a subdomain at the outer end of layers, which are fixed, in solids and fluids; in ascending order and
/// without repetition.
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
