//! Absorbing faces: the traction of outgoing plane waves at normal incidence.

use super::Number;
use super::Setup;
use super::assembly::Block;
use super::cut::Share;
use crate::mesh::cell;
use crate::mesh::geometry::Tabulated;

/// A point of an absorbing face.
#[derive(Clone, Copy, Debug)]
pub(super) struct FacePoint<const D: usize> {
    pub(super) element: u32,
    /// The point within the element.
    pub(super) local: u32,
    pub(super) point: u32,
    /// Outward unit normal.
    pub(super) normal: [f64; D],
    /// Impedance times area for motion along the normal and across it.
    pub(super) impedance: [f64; 2],
    /// Area over the P impedance, for fluids.
    pub(super) admittance: f64,
}

/// All points of the subdomain on absorbing faces of any elements, in the order of elements and faces.
pub(super) fn face_points<const D: usize>(
    setup: &Setup<D>,
    share: &Share<'_>,
    table: &Tabulated<D>,
) -> Vec<FacePoint<D>> {
    let mut sides = setup.mesh.absorbing().to_vec();
    sides.sort_unstable();
    let mut points = Vec::new();
    for side in sides.into_iter().filter(|side| share.touches(side.element)) {
        let own = table.element(&setup.mesh.coordinates(side.element));
        let surface = table.surface(&own, cell::face::<D>(side.face));
        let contents = setup.contents(side.element, table);
        // The points at the outer end of a perfectly matched layer are fixed.
        let places = surface.points.iter().map(|local| own.position[*local]);
        if setup.pml.is_some_and(|pml| places.clone().all(|x| pml.ends(x))) {
            continue;
        }
        for (k, local) in surface.points.iter().enumerate() {
            let Some(point) = share.at(side.element, *local) else {
                continue;
            };
            let impedances = contents.impedances(*local);
            points.push(FacePoint {
                element: side.element as u32,
                local: *local as u32,
                point,
                normal: surface.normal[k],
                impedance: impedances.map(|impedance| impedance * surface.area[k]),
                admittance: surface.area[k] / impedances[0],
            });
        }
    }
    points
}

/// The points of absorbing faces of a block, in single precision.
#[derive(Clone, Debug, Default)]
pub(super) struct Absorbing<const D: usize> {
    /// Index in the forces of the block, and the point of the subdomain.
    points: Vec<(u32, u32)>,
    normals: Vec<[Number; D]>,
    impedances: Vec<[Number; 2]>,
}

impl<const D: usize> Absorbing<D> {
    /// Sorts face points by the blocks of their elements.
    pub(super) fn of_blocks(blocks: &[Block<D>], all: &[FacePoint<D>]) -> Vec<Self> {
        let of_element = |element: u32| {
            let first = all.partition_point(|p| p.element < element);
            all[first..].iter().take_while(move |p| p.element == element)
        };
        let gather = |block: &Block<D>| {
            let mut own = Self::default();
            for (lane, element) in block.elements.iter().enumerate() {
                for p in of_element(*element) {
                    own.points.push((block.place(lane, p.local), p.point));
                    own.normals.push(p.normal.map(|n| n as Number));
                    own.impedances.push(p.impedance.map(|z| z as Number));
                }
            }
            own
        };
        blocks.iter().map(gather).collect()
    }

    /// Subtracts the traction from the forces of the block.
    #[inline(always)]
    pub(super) fn add(&self, velocity: &[[Number; D]], forces: &mut [[Number; D]]) {
        for (((place, point), n), [along, across]) in
            self.points.iter().zip(&self.normals).zip(&self.impedances)
        {
            let v = velocity[*point as usize];
            let mut normal = 0.0;
            (0..D).for_each(|c| normal += v[c] * n[c]);
            let force = &mut forces[*place as usize];
            for c in 0..D {
                force[c] -= along * normal * n[c] + across * (v[c] - normal * n[c]);
            }
        }
    }
}
