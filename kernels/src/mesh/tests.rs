//! Numbering, errors, search and quality measures of whole meshes.

use super::fixtures::{bend, bricks, turn};
use super::geometry::{Tabulated, difference, length};
use super::*;

/// A smooth deformation that folds no element.
fn wavy<const D: usize>(x: [f64; D]) -> [f64; D] {
    std::array::from_fn(|c| x[c] + 0.1 * (1.3 * x[(c + 1) % D] + 0.4 * x[c]).sin())
}

/// Bent bricks in random orientations.
pub(super) fn tangled<const D: usize>(counts: [usize; D], order: Order) -> Mesh<D> {
    let mut parts = bend(bricks(counts, order), wavy);
    for element in 0..parts.regions.len() {
        turn(&mut parts, element, element * 7 + 3);
    }
    Mesh::new(parts).unwrap()
}

fn check_numbers<const D: usize>(counts: [usize; D], order: Order, degree: usize) {
    let mesh = tangled(counts, order);
    let basis = Basis::new(degree).unwrap();
    let numbering = Numbering::new(&mesh, &basis).unwrap();
    let expected: usize = counts.iter().map(|n| n * degree + 1).product();
    assert_eq!(numbering.points(), expected);
    let table = Tabulated::new(order, &basis);
    let mut place: Vec<Option<[f64; D]>> = vec![None; numbering.points()];
    for element in 0..mesh.len() {
        let nodes = mesh.coordinates(element);
        let mut own = numbering.element(element).to_vec();
        for (local, number) in own.iter().enumerate() {
            let x = table.position(&nodes, local);
            let known = place[*number as usize].get_or_insert(x);
            assert!(length(difference(*known, x)) < 1e-12, "{number} of {element}");
        }
        own.sort_unstable();
        own.dedup();
        assert_eq!(own.len(), numbering.per_element());
    }
    assert!(place.iter().all(Option::is_some));
}

#[test]
fn points_have_one_number_and_one_place() {
    for degree in [2, 3, 4, 5, 8] {
        check_numbers([3, 4], Order::Linear, degree);
        check_numbers([3, 2], Order::Quadratic, degree);
    }
    for degree in [2, 4, 5] {
        check_numbers([3, 2, 4], Order::Linear, degree);
        check_numbers([2, 3, 2], Order::Quadratic, degree);
    }
}

#[test]
fn faces_meet_and_the_rest_is_the_skin() {
    let mesh = tangled([3, 4, 5], Order::Linear);
    assert_eq!(mesh.outer().count(), 2 * (12 + 15 + 20));
    for element in 0..mesh.len() {
        for face in 0..6 {
            let side = Side { element, face };
            if let Some(other) = mesh.across(side) {
                assert_eq!(mesh.across(other), Some(side));
                assert!(length(difference(mesh.face_centre(side), mesh.face_centre(other))) < 1e-12);
            }
        }
    }
}

/// The error for a mesh that `spoil` has damaged, and its message.
fn fault<const D: usize>(order: Order, spoil: impl Fn(&mut Parts<D>)) -> (Fault, String) {
    let mut parts = bricks([3; D], order);
    spoil(&mut parts);
    let fault = Mesh::new(parts).expect_err("a fault is found");
    let sentence = fault.to_string();
    (fault, sentence)
}

#[test]
fn every_bad_mesh_is_a_sentence_with_its_element_and_place() {
    let (error, text) = fault::<3>(Order::Linear, |m| m.elements[8 * 5 + 2] = 64);
    assert!(
        matches!(
            error,
            Fault::IndexOutside {
                element: 5,
                node: 64,
                last: 63,
                ..
            }
        ),
        "{text}"
    );
    assert!(
        text.contains("counted from 1") && text.contains("element 5 near (x, y, z) = ("),
        "{text}"
    );
    let (_, text) = fault::<2>(Order::Linear, |m| m.elements[..4].fill(99));
    assert!(text.contains("element 0 names node 99"), "{text}");
    let (_, text) = fault::<2>(Order::Linear, |m| m.elements[3] = -1);
    assert!(
        text.contains("element 0 near (x, z) = (0, 0) names node -1"),
        "{text}"
    );
    let (error, _) = fault::<3>(Order::Linear, |m| m.elements[8 * 5 + 2] = m.elements[8 * 5]);
    assert!(matches!(error, Fault::NodeTwice { element: 5, .. }), "{error}");
    let (error, text) = fault::<3>(Order::Linear, |m| m.elements[8 * 4..8 * 5].rotate_left(4));
    assert!(matches!(error, Fault::Jacobian { element: 4, .. }), "{error}");
    assert!(
        text.contains("inside out") && text.contains("(x, y, z) = ("),
        "{text}"
    );
    let (error, text) = fault::<2>(Order::Linear, |m| m.nodes[5] = [3.0, 3.0]);
    assert!(matches!(error, Fault::Jacobian { .. }), "{text}");
    let (_, text) = fault::<3>(Order::Linear, |m| m.nodes[21][2] = f64::NAN);
    assert!(
        text.contains("node 21 of element 0") && text.contains("not a number"),
        "{text}"
    );
    let (_, text) = fault::<3>(Order::Linear, |m| m.regions.truncate(26));
    assert!(text.contains("26 entries, but 27 are needed"), "{text}");
    let (_, text) = fault::<3>(Order::Linear, |m| m.regions[7] = -2);
    assert!(
        text.contains("element 7 near (x, y, z) = (1, 2, 0) belongs to region -2"),
        "{text}"
    );
    let (_, text) = fault::<3>(Order::Linear, |m| m.per_element = 20);
    assert!(text.contains("20 nodes"), "{text}");
    let empty = Mesh::<3>::new(Parts {
        per_element: 8,
        ..Parts::default()
    })
    .unwrap_err();
    assert_eq!(empty, Fault::Empty);
}

#[test]
fn bad_connections_are_distinguished() {
    // An element is duplicated.
    let (error, text) = fault::<3>(Order::Linear, |m| {
        let again = m.elements[..8].to_vec();
        m.elements.extend(again);
        m.regions.push(0);
    });
    assert!(matches!(error, Fault::FaceThrice { .. }), "{text}");
    // The duplicated element has no neighbours: both lie on the same side of all their faces.
    for order in [Order::Linear, Order::Quadratic] {
        let mut parts = bricks([1; 3], order);
        parts.elements.extend_from_within(..);
        parts.regions.push(0);
        turn(&mut parts, 1, 7);
        let error = Mesh::new(parts).unwrap_err();
        assert!(
            matches!(error, Fault::SameSide { elements: [0, 1], .. }),
            "{error}"
        );
    }
    let (error, text) = fault::<2>(Order::Linear, |m| {
        m.elements.truncate(4);
        m.elements.extend_from_within(..);
        m.regions.truncate(2);
    });
    assert!(matches!(error, Fault::SameSide { .. }), "{text}");
    // An element has a separate node instead of the common one.
    let (error, text) = fault::<3>(Order::Linear, |m| {
        m.nodes.push(m.nodes[21]);
        let slot = m.elements.iter().rposition(|n| *n == 21).unwrap();
        m.elements[slot] = 64;
    });
    assert!(
        matches!(
            error,
            Fault::DuplicateNodes {
                first: 21,
                second: 64,
                ..
            }
        ),
        "{text}"
    );
    assert!(text.contains("(x, y, z) = (1, 1, 1)"), "{text}");
    // An edge is curved in one element and straight in its neighbour.
    let (error, text) = fault::<2>(Order::Quadratic, |m| {
        m.nodes.push([1.05, 0.5]);
        m.elements[5] = 49;
    });
    assert!(
        matches!(error, Fault::MiddleDiffers { elements: [0, 1], .. }),
        "{text}"
    );
}

#[test]
fn a_node_in_the_middle_of_a_face_hangs() {
    // Two small elements lie next to a large one.
    let parts = Parts::<2> {
        nodes: vec![
            [0.0, 0.0],
            [2.0, 0.0],
            [2.0, 2.0],
            [0.0, 2.0],
            [3.0, 0.0],
            [3.0, 1.0],
            [2.0, 1.0],
            [3.0, 2.0],
        ],
        per_element: 4,
        elements: vec![0, 1, 2, 3, 1, 4, 5, 6, 6, 5, 7, 2],
        regions: vec![0; 3],
        ..Parts::default()
    };
    let error = Mesh::new(parts).unwrap_err();
    assert!(
        matches!(
            error,
            Fault::HangingNode {
                node: 6,
                element: 0,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn lists_of_faces_name_outer_ones_once() {
    let (error, text) = fault::<3>(Order::Linear, |m| m.absorbing = vec![[0, 0], [13, 2]]);
    assert!(
        matches!(
            error,
            Fault::FaceInside {
                entry: 1,
                element: 13,
                neighbour: 12,
                ..
            }
        ),
        "{text}"
    );
    assert!(text.contains("only outer faces can be absorbing"), "{text}");
    let (error, text) = fault::<3>(Order::Linear, |m| m.free = vec![[0, 6]]);
    assert!(matches!(error, Fault::NoSuchFace { list: "free", .. }), "{text}");
    assert!(
        text.contains("element 0 near (x, y, z) = (0.5, 0.5, 0.5)"),
        "{text}"
    );
    let (error, _) = fault::<3>(Order::Linear, |m| m.free = vec![[27, 0]]);
    assert!(matches!(error, Fault::NoSuchFace { .. }), "{error}");
    let (error, _) = fault::<3>(Order::Linear, |m| m.free = vec![[0, 1], [0, 1]]);
    assert!(
        matches!(
            error,
            Fault::FaceTwice {
                element: 0,
                face: 1,
                ..
            }
        ),
        "{error}"
    );
}

const ROCK: Material = Material {
    density: 2500.0,
    vp: 3000.0,
    vs: 1700.0,
    q_kappa: 9999.0,
    q_mu: 9999.0,
    anisotropic: false,
};

#[test]
fn materials_and_regions_fit() {
    let water = Material { vs: 0.0, ..ROCK };
    let mesh = |regions: &[i32]| {
        let mut parts = bricks([3, 2], Order::Linear);
        parts.regions = regions.to_vec();
        Mesh::new(parts).unwrap()
    };
    assert_eq!(mesh(&[0; 6]).check_materials(&[ROCK]), Ok(()));
    let missing = mesh(&[0, 0, 0, 0, 1, 0]).check_materials(&[ROCK]).unwrap_err();
    assert!(matches!(
        missing,
        Fault::NoMaterial {
            element: 4,
            region: 1,
            materials: 1,
            ..
        }
    ));
    assert_eq!(
        mesh(&[1; 6]).check_materials(&[ROCK; 2]),
        Err(Fault::EmptyRegion { region: 0 })
    );
    assert_eq!(mesh(&[0, 0, 0, 1, 1, 1]).check_materials(&[ROCK, water]), Ok(()));
    assert_eq!(mesh(&[0; 6]).check_materials(&[water]), Ok(()));
    // The two elements share only a corner.
    let parts = Parts::<2> {
        nodes: vec![
            [0.0, 0.0],
            [1.0, 0.0],
            [1.0, 1.0],
            [0.0, 1.0],
            [2.0, 1.0],
            [2.0, 2.0],
            [1.0, 2.0],
        ],
        per_element: 4,
        elements: vec![0, 1, 2, 3, 2, 4, 5, 6],
        regions: vec![0, 1],
        ..Parts::default()
    };
    let stranded = Mesh::new(parts)
        .unwrap()
        .check_materials(&[ROCK, water])
        .unwrap_err();
    assert!(
        matches!(stranded, Fault::StrandedFluid { element: 1, .. }),
        "{stranded}"
    );
}

#[test]
fn the_locator_inverts_the_map_in_any_element() {
    for order in [Order::Linear, Order::Quadratic] {
        let mesh = tangled([4, 3, 5], order);
        let locator = Locator::new(&mesh);
        for element in 0..mesh.len() {
            let u = std::array::from_fn(|c| ((element * 5 + c * 3) % 17) as f64 / 9.0 - 0.9);
            let (x, _) = geometry::map(order, &mesh.coordinates(element), u);
            let location = locator.find(x).expect("the place is inside");
            assert_eq!(location.element, element);
            assert!(length(difference(location.local, u)) < 1e-9);
        }
        // A node belongs to the first of its elements.
        let node = mesh.element(0)[6];
        let first = (0..mesh.len()).find(|e| mesh.element(*e).contains(&node));
        assert_eq!(
            locator.find(mesh.nodes()[node as usize]).map(|f| f.element),
            first
        );
    }
}

#[test]
fn places_outside_are_reported_with_the_nearest_point() {
    let mesh = Mesh::new(bricks([3, 3, 3], Order::Linear)).unwrap();
    let locator = Locator::new(&mesh);
    let fault = locator.locate("receiver 4", [1.25, 2.5, -0.5]).unwrap_err();
    let text = fault.to_string();
    assert!(
        text.starts_with("receiver 4 at (x, y, z) = (1.25, 2.5, -0.5) is outside"),
        "{text}"
    );
    let Fault::Outside {
        nearest,
        distance,
        element,
        ..
    } = fault
    else {
        panic!("{text}")
    };
    assert!(nearest.to_string().contains("(1.25, 2.5, 0)"), "{text}");
    assert!((distance - 0.5).abs() < 1e-6 && element == 7, "{text}");
    assert!(locator.find([f64::NAN; 3]).is_none());
    assert!(
        locator.find([3.0 + 1e-5, 1.0, 1.0]).is_some(),
        "single precision reaches beyond"
    );
}

/// A place a little outside the mesh belongs to the nearest element, not to the first one that is near.
#[test]
fn a_place_just_outside_belongs_to_the_nearest_element() {
    let mesh = Mesh::new(bricks([3, 3, 3], Order::Linear)).unwrap();
    let locator = Locator::new(&mesh);
    // The distance from the mesh is 1e-4; that from the elements on the other side of x = 1 is 4e-4.
    for (x, inside) in [
        (1.0 + 4e-4, 1.0..2.0),
        (1.0 - 4e-4, 0.0..1.0),
        (2.0 + 4e-4, 2.0..3.0),
    ] {
        let place = [x, 0.5, 3.0 + 1e-4];
        let location = locator.find(place).expect("single precision reaches beyond");
        let nodes = mesh.coordinates(location.element);
        let (at, _) = geometry::map(Order::Linear, &nodes, location.local);
        assert!(inside.contains(&at[0]), "{at:?}");
        assert!((length(difference(at, place)) - 1e-4).abs() < 1e-9, "{at:?}");
    }
}

#[test]
fn figures_of_known_elements() {
    let basis = Basis::new(4).unwrap();
    let sheared = bend(bricks([2, 2, 2], Order::Quadratic), |x| {
        [3.0 * x[0] + x[2], 2.0 * x[1], x[2]]
    });
    for figure in quality::all(&Mesh::new(sheared).unwrap(), &basis) {
        assert!((figure.jacobian - 6.0 / 8.0).abs() < 1e-12 && (figure.evenness - 1.0).abs() < 1e-12);
        assert!((figure.angles[0] - 45.0).abs() < 1e-9 && (figure.angles[1] - 135.0).abs() < 1e-9);
        assert!((figure.edges[0] - 2.0_f64.sqrt()).abs() < 1e-12 && (figure.edges[1] - 3.0).abs() < 1e-12);
        assert!((figure.spacing - 2.0_f64.sqrt() * 0.172_673).abs() < 1e-5);
        assert!((figure.frequency(1500.0, 4) - 400.0).abs() < 1e-9);
    }
}

/// The length of an edge with a node off its middle is the sum of its two chords.
#[test]
fn edges_that_bend_are_as_long_as_their_chords() {
    let arched = bend(bricks([1, 1], Order::Quadratic), |x| {
        [x[0], x[1] + 1.2 * x[0] * (1.0 - x[0])]
    });
    let figures = quality::all(&Mesh::new(arched).unwrap(), &Basis::new(4).unwrap());
    // The middle of the horizontal edges is 0.3 above their ends.
    let arch = 2.0 * 0.5_f64.hypot(0.3);
    assert!(
        (figures[0].edges[0] - 1.0).abs() < 1e-12,
        "{:?}",
        figures[0].edges
    );
    assert!(
        (figures[0].edges[1] - arch).abs() < 1e-12,
        "{:?}",
        figures[0].edges
    );
}
