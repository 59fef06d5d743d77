//! Meshes of Gmsh in the formats MSH 4.1 and 2.2, as text or binary.
//!
//! Hexahedra (types 5 and 12) make a 3-D mesh; without any, quadrilaterals (3 and 10) make a 2-D mesh. Physical groups
//! of that dimension are regions, in the order of their tags; groups of one dimension less choose faces by their names:
//! `top` and `free` are the free surface; `bottom`, `xmin`, `xmax`, `ymin`, `ymax` and `absorbing` absorb.

mod sections;
mod version2;

use std::collections::{BTreeMap, HashMap};

use anyhow::{Result, anyhow, bail};
use kernels::mesh::geometry::{determinant, map};
use kernels::mesh::{Order, cell};

use super::{FaceFinder, RawMesh};
use sections::{Block, Sections};

/// Names of groups of faces.
const FREE: [&str; 2] = ["top", "free"];
const ABSORBING: [&str; 6] = ["bottom", "xmin", "xmax", "ymin", "ymax", "absorbing"];

/// The dimension and the number of nodes of the types of elements that make a mesh.
fn cell_type(kind: i32) -> Option<(usize, usize)> {
    match kind {
        3 => Some((2, 4)),
        10 => Some((2, 9)),
        5 => Some((3, 8)),
        12 => Some((3, 27)),
        _ => None,
    }
}

/// Reads the bytes of a file; messages call it `name`. With `up` the last axis of the file points upwards. The second
/// value lists groups of faces with unknown names, which are ignored.
///
/// # Errors
/// Returns an error for a file that is damaged or incomplete, or elements that are not supported.
pub fn read(name: &str, bytes: &[u8], up: bool) -> Result<(RawMesh, Vec<String>)> {
    let file = sections::read(name, bytes)?;
    let ndim = if file.blocks.iter().any(|b| b.dimension == 3) {
        3
    } else {
        2
    };
    let (mut mesh, numbers) = volume(name, &file, ndim)?;
    if up {
        mesh.turn_down();
    }
    put_right(&mut mesh);
    let strange = surfaces(&file, &mut mesh, &numbers)?;
    Ok((mesh, strange))
}

/// Elements, nodes and regions, and the numbers of the nodes by their tags; nodes are numbered as they first appear.
fn volume(name: &str, file: &Sections, ndim: usize) -> Result<(RawMesh, HashMap<u64, i32>)> {
    let mut mesh = RawMesh {
        ndim,
        ..RawMesh::default()
    };
    let mut numbers: HashMap<u64, i32> = HashMap::new();
    let regions = Regions::of(file, ndim);
    mesh.names = regions.numbers.values().map(|region| region.1.clone()).collect();
    let columns = columns(file, ndim);
    for block in file.blocks.iter().filter(|b| b.dimension == ndim) {
        let per_element = match cell_type(block.kind) {
            Some((dimension, nodes)) if dimension == ndim => nodes,
            _ => bail!(
                "{name}: the entity {} of dimension {ndim} has elements of type {} ({}); only {} are \
                supported: recombine the mesh, or set Mesh.SubdivisionAlgorithm",
                block.entity,
                block.kind,
                sections::kind_name(block.kind),
                if ndim == 3 {
                    "hex8 and hex27"
                } else {
                    "quad4 and quad9"
                }
            ),
        };
        if mesh.per_element != 0 && mesh.per_element != per_element {
            bail!(
                "{name}: {} has {per_element} nodes but the previous ones have {}; give all elements the same order (Mesh.ElementOrder)",
                file.shown(block, 0),
                mesh.per_element
            );
        }
        mesh.per_element = per_element;
        let region = regions.number(name, block)?;
        for (element, nodes) in block.nodes.chunks_exact(per_element).enumerate() {
            for tag in nodes {
                let next = numbers.len() as i32;
                let number = match numbers.get(tag) {
                    Some(number) => *number,
                    None => {
                        let x = file
                            .nodes
                            .get(tag)
                            .ok_or_else(|| missing(name, file, (block, element), *tag))?;
                        mesh.nodes.extend(columns.iter().map(|c| x[*c]));
                        numbers.insert(*tag, next);
                        next
                    }
                };
                mesh.elements.push(number);
            }
            mesh.regions.push(region);
        }
    }
    if mesh.is_empty() {
        bail!(
            "{name} has neither hexahedra nor quadrilaterals; mesh the volume (3-D) or the surface (2-D) and \
            recombine it before you save it"
        );
    }
    Ok((mesh, numbers))
}

/// The error for an element with a node that is not in $Nodes.
fn missing(name: &str, file: &Sections, (block, element): (&Block, usize), tag: u64) -> anyhow::Error {
    anyhow!(
        "{name}: {} names node {tag}, which is not in $Nodes; save the whole mesh again",
        file.shown(block, element)
    )
}

/// The coordinates of the file that the mesh uses: in 2-D x and y, or x and z if y is constant.
fn columns(file: &Sections, ndim: usize) -> Vec<usize> {
    if ndim == 3 {
        return vec![0, 1, 2];
    }
    let mut low = f64::INFINITY;
    let mut high = f64::NEG_INFINITY;
    file.nodes
        .values()
        .for_each(|x| (low, high) = (low.min(x[1]), high.max(x[1])));
    if high > low { vec![0, 1] } else { vec![0, 2] }
}

/// The regions: the physical groups of a dimension, or its entities if no entity is in a group.
struct Regions {
    by_entity: bool,
    /// Number and name by tag.
    numbers: BTreeMap<i32, (i32, String)>,
}

impl Regions {
    fn of(file: &Sections, dimension: usize) -> Self {
        let blocks = || file.blocks.iter().filter(|b| b.dimension == dimension);
        let mut tags: Vec<i32> = blocks().flat_map(|b| &b.groups).map(|t| t.abs()).collect();
        let by_entity = tags.is_empty();
        if by_entity {
            tags = blocks().map(|b| b.entity).collect();
        }
        tags.sort_unstable();
        tags.dedup();
        let word = if by_entity { "entity" } else { "group" };
        let name = |tag: i32| match file.names.get(&(dimension, tag)) {
            Some(name) if !by_entity => name.clone(),
            _ => format!("{word} {tag}"),
        };
        let numbers = tags
            .iter()
            .enumerate()
            .map(|(k, tag)| (*tag, (k as i32, name(*tag))));
        Self {
            by_entity,
            numbers: numbers.collect(),
        }
    }

    /// The region of a block of elements.
    fn number(&self, name: &str, block: &Block) -> Result<i32> {
        let entity = block.entity;
        let tag = match block.groups.as_slice() {
            _ if self.by_entity => entity,
            [tag] => tag.abs(),
            [] => bail!(
                "{name}: the elements of entity {entity} are in no physical group, while others are; put them into one"
            ),
            all => bail!(
                "{name}: the entity {entity} is in the physical groups {all:?}; an element has one region, so keep one of them"
            ),
        };
        match self.numbers.get(&tag) {
            Some((number, _)) => Ok(*number),
            None => bail!("{name}: the entity {entity} has no region; save the whole mesh again"),
        }
    }
}

/// Mirrors elements that are left-handed at all corners, because surfaces in Gmsh may have either
/// orientation. Folded elements remain unchanged, and the mesh refuses them.
fn put_right(mesh: &mut RawMesh) {
    fn handed<const D: usize>(mesh: &RawMesh, element: usize) -> bool {
        let nodes = &mesh.elements[element * mesh.per_element..(element + 1) * mesh.per_element];
        let place = |n: &i32| -> [f64; D] { std::array::from_fn(|c| mesh.nodes[*n as usize * D + c]) };
        let x: Vec<[f64; D]> = nodes.iter().map(place).collect();
        let order = Order::with_nodes::<D>(mesh.per_element).unwrap_or(Order::Linear);
        let corner = |n| cell::place::<D>(n).map(|c| f64::from(c) - 1.0);
        (0..1 << D).all(|n| determinant(&map(order, &x, corner(n)).1) < 0.0)
    }
    for element in 0..mesh.len() {
        let left = if mesh.ndim == 2 {
            handed::<2>(mesh, element)
        } else {
            handed::<3>(mesh, element)
        };
        if left {
            mesh.mirror(element);
        }
    }
}

/// Fills the lists of faces from the groups of one dimension less; returns the names that are unknown.
fn surfaces(file: &Sections, mesh: &mut RawMesh, numbers: &HashMap<u64, i32>) -> Result<Vec<String>> {
    let below = mesh.ndim - 1;
    let corners = 1 << below;
    let (mut free, mut absorbing, mut strange) = (Vec::new(), Vec::new(), Vec::new());
    let finder = FaceFinder::of_all(mesh);
    for block in file.blocks.iter().filter(|b| b.dimension == below) {
        let tags = block.groups.iter();
        for name in tags.filter_map(|tag| file.names.get(&(below, tag.abs()))) {
            let list = match name.to_lowercase().as_str() {
                word if FREE.contains(&word) => &mut free,
                word if ABSORBING.contains(&word) => &mut absorbing,
                _ => {
                    strange.push(name.clone());
                    continue;
                }
            };
            if block.per_element < corners {
                bail!(
                    "the group {name} has {} with {} nodes, but a face of this mesh has {corners} corners; mesh its \
                     surfaces together with the volume",
                    file.shown(block, 0),
                    block.per_element
                );
            }
            for (number, nodes) in block.nodes.chunks_exact(block.per_element).enumerate() {
                let known: Option<Vec<i32>> = nodes[..corners]
                    .iter()
                    .map(|tag| numbers.get(tag).copied())
                    .collect();
                let face = known.and_then(|corners| finder.find(&corners));
                list.push(face.ok_or_else(|| {
                    anyhow!(
                        "the group {name} has {} with the nodes {:?}, which is a face of no element of the mesh; \
                         mesh the volume together with its surfaces",
                        file.shown(block, number),
                        &nodes[..corners]
                    )
                })?);
            }
        }
    }
    strange.sort();
    strange.dedup();
    (mesh.free, mesh.absorbing) = (free, absorbing);
    Ok(strange)
}
