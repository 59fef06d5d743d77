//! Checks of a mesh, and of its materials.

use std::collections::{HashMap, HashSet};

use rayon::prelude::*;

use super::basis::Basis;
use super::cell::faces;
use super::geometry::{Tabulated, difference, length};
use super::neighbours;
use super::search::{Locator, TOUCHES};
use super::{Fault, MOST_ELEMENTS, Material, Mesh, Order, Parts, Side};

/// Nodes that are closer than this fraction of the shortest edge count as coincident.
const SAME_PLACE: f64 = 1e-4;

/// Checks that the lengths of the lists agree.
pub(super) fn counts<const D: usize>(parts: &Parts<D>) -> Result<(), Fault> {
    let elements = parts.elements.len() / parts.per_element;
    if elements == 0 {
        return Err(Fault::Empty);
    }
    if elements as u64 > MOST_ELEMENTS {
        return Err(Fault::TooMany {
            elements: elements as u128,
            most: MOST_ELEMENTS,
        });
    }
    let agree = |what, got, expected, reason| match got == expected {
        true => Ok(()),
        false => Err(Fault::Count {
            what,
            got,
            expected,
            reason,
        }),
    };
    let whole = elements * parts.per_element;
    agree(
        "the list of elements",
        parts.elements.len(),
        whole,
        "every element has the same number of nodes",
    )?;
    agree(
        "the list of regions",
        parts.regions.len(),
        elements,
        "every element has a region",
    )
}

/// Coordinates of the first node of an element that exists in the mesh, for messages.
fn known_node<const D: usize>(parts: &Parts<D>, element: usize) -> Option<[f64; D]> {
    let nodes = parts.elements.chunks_exact(parts.per_element).nth(element)?;
    let place = |node: &i32| parts.nodes.get(usize::try_from(*node).ok()?).copied();
    nodes.iter().find_map(place)
}

/// Checks that every node of an element exists, has finite coordinates and is named only once, and returns the nodes
/// of all elements.
pub(super) fn connectivity<const D: usize>(parts: &Parts<D>) -> Result<Vec<u32>, Fault> {
    let last = parts.nodes.len().saturating_sub(1);
    let mut sorted = Vec::new();
    for (element, nodes) in parts.elements.chunks_exact(parts.per_element).enumerate() {
        for node in nodes {
            let known = usize::try_from(*node)
                .ok()
                .and_then(|n| Some((n, parts.nodes.get(n)?)));
            let Some((node, x)) = known else {
                return Err(Fault::IndexOutside {
                    element,
                    node: (*node).into(),
                    last,
                    at: known_node(parts, element).into(),
                });
            };
            if !x.iter().all(|c| c.is_finite()) {
                return Err(Fault::NotANumber {
                    element,
                    node,
                    at: (*x).into(),
                });
            }
        }
        sorted.clear();
        sorted.extend_from_slice(nodes);
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Fault::NodeTwice {
                element,
                node: pair[0] as usize,
                at: parts.nodes[pair[0] as usize].into(),
            });
        }
    }
    Ok(parts.elements.iter().map(|node| *node as u32).collect())
}

/// Checks that no region is negative, and returns the region of every element.
pub(super) fn regions<const D: usize>(parts: &Parts<D>) -> Result<Vec<u32>, Fault> {
    let checked = parts.regions.iter().enumerate().map(|(element, region)| {
        u32::try_from(*region).map_err(|_| Fault::NegativeRegion {
            element,
            region: (*region).into(),
            at: known_node(parts, element).into(),
        })
    });
    checked.collect()
}

/// Checks that the Jacobian determinant is positive at all points of the basis in every element.
pub(super) fn jacobians<const D: usize>(mesh: &Mesh<D>, basis: &Basis) -> Result<(), Fault> {
    let table = Tabulated::<D>::new(mesh.order(), basis);
    let fault = |element| {
        let nodes = mesh.coordinates(element);
        let (value, point) = table.smallest_determinant(&nodes);
        let sound = value > 0.0;
        (!sound).then(|| Fault::Jacobian {
            element,
            value,
            at: table.position(&nodes, point).into(),
        })
    };
    // The fault of the first faulty element is reported, for any number of threads.
    match (0..mesh.len()).into_par_iter().find_map_first(fault) {
        Some(fault) => Err(fault),
        None => Ok(()),
    }
}

/// The corners of a face in counter-clockwise order as seen from outside the element.
fn outline<const D: usize>(mesh: &Mesh<D>, side: Side) -> Vec<u32> {
    let face = super::cell::face::<D>(side.face);
    let mut corners = mesh.face_corners(side);
    if D == 3 {
        corners.swap(2, 3);
    }
    // The tangential axes, in ascending order, form a right-handed system only with the first and the last axis.
    if (face.axis == 1) == face.high {
        corners.reverse();
    }
    corners
}

/// Checks that elements that share a face lie on opposite sides of it: they see its corners in opposite orders.
pub(super) fn opposite<const D: usize>(mesh: &Mesh<D>) -> Result<(), Fault> {
    let fault = |element: usize| {
        (0..faces::<D>()).find_map(|face| {
            let side = Side { element, face };
            let other = mesh.across(side).filter(|other| side < *other)?;
            let (own, mut theirs) = (outline(mesh, side), outline(mesh, other));
            theirs.reverse();
            let turned = |k: usize| (0..own.len()).all(|i| own[(i + k) % own.len()] == theirs[i]);
            // In 2-D a face is a line of two corners, whose order must not be rotated.
            let turns = if D == 2 { 1 } else { own.len() };
            (!(0..turns).any(turned)).then(|| Fault::SameSide {
                elements: [element, other.element],
                at: mesh.face_centre(side).into(),
            })
        })
    };
    match (0..mesh.len()).into_par_iter().find_map_first(fault) {
        Some(fault) => Err(fault),
        None => Ok(()),
    }
}

/// Checks that quadratic elements that share corners also share the nodes between them.
fn same_middles<const D: usize>(mesh: &Mesh<D>) -> Result<(), Fault> {
    let places = neighbours::middles::<D>();
    let mut known: HashMap<[u32; 4], (u32, usize)> = HashMap::new();
    for element in 0..mesh.len() {
        let nodes = mesh.element(element);
        for (middle, corners) in &places {
            let mut key = [u32::MAX; 4];
            for (slot, corner) in key.iter_mut().zip(corners) {
                *slot = nodes[*corner];
            }
            key.sort_unstable();
            let (first, owner) = *known.entry(key).or_insert((nodes[*middle], element));
            if first != nodes[*middle] {
                return Err(Fault::MiddleDiffers {
                    elements: [owner, element],
                    at: mesh.nodes()[first as usize].into(),
                });
            }
        }
    }
    Ok(())
}

/// Runs [`same_middles`] for quadratic elements.
pub(super) fn middles<const D: usize>(mesh: &Mesh<D>) -> Result<(), Fault> {
    match mesh.order() {
        Order::Linear => Ok(()),
        Order::Quadratic => same_middles(mesh),
    }
}

/// The corners of outer faces in ascending order, each with one element that has it.
fn outer_corners<const D: usize>(mesh: &Mesh<D>) -> Vec<(u32, usize)> {
    let corners = mesh.outer().flat_map(|side| {
        mesh.face_corners(side)
            .into_iter()
            .map(move |node| (node, side.element))
    });
    let mut all: Vec<(u32, usize)> = corners.collect();
    all.sort_unstable();
    all.dedup_by_key(|pair| pair.0);
    all
}

/// Checks that no two corners of outer faces coincide. Inner nodes need no check, because a duplicate would turn
/// inner faces into outer ones.
pub(super) fn duplicates<const D: usize>(mesh: &Mesh<D>) -> Result<(), Fault> {
    let outer = outer_corners(mesh);
    let shortest = outer
        .iter()
        .map(|(_, element)| super::quality::edges(mesh, *element).0);
    let reach = SAME_PLACE * shortest.fold(f64::INFINITY, f64::min);
    // The shift keeps round coordinates away from the borders of the boxes; neighbouring boxes are searched
    // nevertheless.
    let boxed = |x: [f64; D]| x.map(|c| (c / (4.0 * reach) + 0.377).floor() as i64);
    let mut boxes: HashMap<[i64; D], Vec<(u32, usize)>> = HashMap::new();
    for (node, element) in outer {
        let x = mesh.nodes()[node as usize];
        let home = boxed(x);
        for step in 0..3_usize.pow(D as u32) {
            let near: [i64; D] = std::array::from_fn(|a| {
                home[a].saturating_add((step / 3_usize.pow(a as u32) % 3) as i64 - 1)
            });
            for (other, owner) in boxes.get(&near).into_iter().flatten() {
                if length(difference(x, mesh.nodes()[*other as usize])) <= reach {
                    return Err(Fault::DuplicateNodes {
                        first: *other as usize,
                        second: node as usize,
                        elements: [*owner, element],
                        at: x.into(),
                    });
                }
            }
        }
        boxes.entry(home).or_default().push((node, element));
    }
    Ok(())
}

/// Checks that no corner of an outer face lies on an element with outer faces that does not have this corner.
pub(super) fn hanging<const D: usize>(mesh: &Mesh<D>) -> Result<(), Fault> {
    let elements: HashSet<usize> = mesh.outer().map(|side| side.element).collect();
    let mut elements: Vec<usize> = elements.into_iter().collect();
    elements.sort_unstable();
    let locator = Locator::among(mesh, elements);
    let outer = outer_corners(mesh);
    let fault = |(node, _): &(u32, usize)| {
        let x = mesh.nodes()[*node as usize];
        let strange = |element: &usize| !mesh.corners(*element).contains(node);
        let hit = locator.candidates(x).filter(strange).find(|element| {
            locator
                .local(*element, x)
                .is_some_and(|(_, beyond)| beyond <= TOUCHES)
        })?;
        Some(Fault::HangingNode {
            node: *node as usize,
            element: hit,
            at: x.into(),
        })
    };
    match outer.par_iter().find_map_first(fault) {
        Some(fault) => Err(fault),
        None => Ok(()),
    }
}

/// Checks that each face of a list exists, is an outer face and is listed once, and returns the faces.
pub(super) fn sides<const D: usize>(
    mesh: &Mesh<D>,
    list: &'static str,
    pairs: &[[i32; 2]],
) -> Result<Vec<Side>, Fault> {
    let mut seen = HashSet::new();
    let mut sides = Vec::with_capacity(pairs.len());
    for (entry, [element, face]) in pairs.iter().enumerate() {
        let within = |value: i32, limit: usize| usize::try_from(value).ok().filter(|v| *v < limit);
        let (Some(e), Some(f)) = (within(*element, mesh.len()), within(*face, faces::<D>())) else {
            return Err(Fault::NoSuchFace {
                list,
                entry,
                element: (*element).into(),
                face: (*face).into(),
                elements: mesh.len(),
                faces: faces::<D>(),
                at: within(*element, mesh.len()).map(|e| mesh.centre(e)).into(),
            });
        };
        let side = Side { element: e, face: f };
        if let Some(other) = mesh.across(side) {
            return Err(Fault::FaceInside {
                list,
                entry,
                element: e,
                face: f,
                neighbour: other.element,
                at: mesh.face_centre(side).into(),
            });
        }
        if !seen.insert(side) {
            return Err(Fault::FaceTwice {
                list,
                element: e,
                face: f,
                at: mesh.face_centre(side).into(),
            });
        }
        sides.push(side);
    }
    Ok(sides)
}

/// Checks that every region has a material and every material a region, and that every fluid body shares a face with
/// a solid if there are solids.
pub(super) fn materials<const D: usize>(mesh: &Mesh<D>, materials: &[Material]) -> Result<(), Fault> {
    let mut used = vec![false; materials.len()];
    for (element, region) in mesh.regions().iter().enumerate() {
        let Some(used) = used.get_mut(*region as usize) else {
            return Err(Fault::NoMaterial {
                element,
                region: (*region).into(),
                materials: materials.len(),
                at: mesh.centre(element).into(),
            });
        };
        *used = true;
    }
    if let Some(region) = used.iter().position(|used| !used) {
        return Err(Fault::EmptyRegion { region });
    }
    let fluid: Vec<bool> = mesh
        .regions()
        .iter()
        .map(|r| materials[*r as usize].vs == 0.0)
        .collect();
    if fluid.iter().all(|f| *f) {
        return Ok(());
    }
    coupled(mesh, &fluid)
}

/// Checks that every connected fluid body shares a face with a solid.
fn coupled<const D: usize>(mesh: &Mesh<D>, fluid: &[bool]) -> Result<(), Fault> {
    let mut seen = vec![false; mesh.len()];
    for start in (0..mesh.len()).filter(|e| fluid[*e]) {
        if seen[start] {
            continue;
        }
        let (mut open, mut meets) = (vec![start], false);
        seen[start] = true;
        while let Some(element) = open.pop() {
            for face in 0..faces::<D>() {
                match mesh.across(Side { element, face }) {
                    Some(other) if !fluid[other.element] => meets = true,
                    Some(other) if !seen[other.element] => {
                        seen[other.element] = true;
                        open.push(other.element);
                    }
                    _ => {}
                }
            }
        }
        if !meets {
            return Err(Fault::StrandedFluid {
                element: start,
                at: mesh.centre(start).into(),
            });
        }
    }
    Ok(())
}
