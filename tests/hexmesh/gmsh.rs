//! Meshes that Gmsh wrote, and the messages if they are damaged.

use kernels::mesh::{Mesh, Side};
use programs::meshing::gmsh::read;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use crate::{close, fixture_bytes, volumes};

/// Number of faces in a list whose corners all have the coordinate `at` on `axis`.
fn faces_at<const D: usize>(mesh: &Mesh<D>, list: &[Side], axis: usize, at: f64) -> usize {
    let corner = |node: u32| (mesh.nodes()[node as usize][axis] - at).abs() < 1e-6;
    list.iter()
        .filter(|side| mesh.face_corners(**side).into_iter().all(corner))
        .count()
}

#[test]
fn a_box_of_hexahedra_as_text_and_as_binary_of_either_order() {
    for (name, nodes, per_element) in [("hex8.msh", 100, 8), ("hex27.msh", 567, 27)] {
        let (raw, strange) = read(name, &fixture_bytes(name), true).unwrap();
        assert_eq!(
            (raw.ndim, raw.len(), raw.per_element, raw.nodes.len() / 3),
            (3, 48, per_element, nodes)
        );
        // Regions are numbered in the order of the tags of the groups: soil has tag 3, rock 7.
        assert_eq!(raw.names, ["soil", "rock"]);
        assert_eq!(strange, ["a side"]);
        let volumes = volumes::<3>(&raw);
        assert!(close(volumes[0], 2000.0 * 1500.0 * 400.0) && close(volumes[1], 2000.0 * 1500.0 * 600.0));
        let mesh = Mesh::<3>::new(raw.parts()).unwrap();
        assert_eq!(mesh.outer().count(), 80);
        // In Gmsh's file the top is at z = 0 and the bottom at -1000; now z points downwards.
        assert_eq!(
            (mesh.free().len(), faces_at(&mesh, mesh.free(), 2, 0.0)),
            (12, 12)
        );
        assert_eq!(faces_at(&mesh, mesh.absorbing(), 2, 1000.0), 12);
        assert_eq!(
            faces_at(&mesh, mesh.absorbing(), 0, 2000.0) + faces_at(&mesh, mesh.absorbing(), 1, 1500.0),
            12
        );
    }
}

#[test]
fn a_plate_of_quadrilaterals_of_either_order() {
    for (name, nodes, per_element) in [("quad4.msh", 25, 4), ("quad9.msh", 81, 9)] {
        let (raw, _) = read(name, &fixture_bytes(name), true).unwrap();
        assert_eq!(
            (raw.ndim, raw.len(), raw.per_element, raw.nodes.len() / 2),
            (2, 16, per_element, nodes)
        );
        let areas = volumes::<2>(&raw);
        assert!(
            close(areas[0], 2000.0 * 400.0) && close(areas[1], 2000.0 * 600.0),
            "{areas:?}"
        );
        let mesh = Mesh::<2>::new(raw.parts()).unwrap();
        assert_eq!((mesh.free().len(), faces_at(&mesh, mesh.free(), 1, 0.0)), (4, 4));
        assert_eq!(
            (
                mesh.absorbing().len(),
                faces_at(&mesh, mesh.absorbing(), 1, 1000.0)
            ),
            (8, 4)
        );
    }
}

/// Gmsh writes the same mesh in both versions of its format.
#[test]
fn version_2_is_the_same_mesh() {
    for (old, new) in [("hex8-v2.msh", "hex8.msh"), ("quad9-v2.msh", "quad9.msh")] {
        let (raw, strange) = read(old, &fixture_bytes(old), true).unwrap();
        let (expected, other) = read(new, &fixture_bytes(new), true).unwrap();
        assert_eq!(strange, other);
        assert_eq!(
            (raw.ndim, raw.per_element, raw.len()),
            (expected.ndim, expected.per_element, expected.len())
        );
        assert_eq!((&raw.names, &raw.regions), (&expected.names, &expected.regions));
        assert_eq!((&raw.nodes, &raw.elements), (&expected.nodes, &expected.elements));
        assert!(!raw.free.is_empty() && !raw.absorbing.is_empty());
        assert_eq!((&raw.free, &raw.absorbing), (&expected.free, &expected.absorbing));
    }
}

/// Elements of version 2 may be in no group; then the entity is their region.
#[test]
fn elements_of_version_2_without_groups() {
    let text = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n6\n1 0 0 0\n2 1 0 0\n3 1 1 0\n4 0 1 0\n5 2 0 0\n6 2 1 0\n$EndNodes\n$Elements\n2\n1 3 2 0 9 1 2 3 4\n2 3 3 0 4 1 2 5 6 3\n$EndElements\n";
    let (raw, _) = read("v2.msh", text.as_bytes(), true).unwrap();
    assert_eq!((raw.len(), raw.regions.clone()), (2, vec![1, 0]));
    assert_eq!(raw.names, ["entity 4", "entity 9"]);
    let text = text.replace("$Elements\n2\n", "$Elements\n3\n");
    let error = format!("{:#}", read("v2.msh", text.as_bytes(), true).unwrap_err());
    assert!(
        error.contains("`$EndElements` is not a valid tag of an element"),
        "{error}"
    );
}

#[test]
fn without_up_the_axis_stays() {
    let (raw, _) = read("hex8.msh", &fixture_bytes("hex8.msh"), false).unwrap();
    let mesh = Mesh::<3>::new(raw.parts()).unwrap();
    assert_eq!(faces_at(&mesh, mesh.absorbing(), 2, -1000.0), 12);
}

#[test]
fn the_example_of_the_manual() {
    let text = "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n1 6 1 6\n2 1 0 6\n1\n2\n3\n4\n5\n6\n0. 0. 0.\n1. 0. 0.\n1. 1. 0.\n0. 1. 0.\n2. 0. 0.\n2. 1. 0.\n$EndNodes\n$Elements\n1 2 1 2\n2 1 3 2\n1 1 2 3 4\n2 2 5 6 3\n$EndElements\n";
    let (raw, _) = read("manual.msh", text.as_bytes(), true).unwrap();
    assert_eq!((raw.len(), raw.regions.clone()), (2, vec![0, 0]));
    assert!(close(volumes::<2>(&raw)[0], 2.0));
}

/// The message about a file that was changed.
fn sentence(name: &str, from: &str, to: &str) -> String {
    let text = String::from_utf8(fixture_bytes(name)).unwrap();
    assert!(text.contains(from), "{from}");
    let changed = text.replacen(from, to, 1);
    format!("{:#}", read(name, changed.as_bytes(), true).unwrap_err())
}

#[test]
fn what_cannot_be_read_is_a_sentence() {
    let text = sentence("quad4.msh", "4.1 0 8", "4.0 0 8");
    assert!(text.contains("version 4.0") && text.contains("4.1"), "{text}");
    let text = sentence("quad4.msh", "$EndElements", "");
    assert!(text.contains("$Elements has no $EndElements"), "{text}");
    let text = sentence("quad4.msh", "9 0 0 -400 2000 0 0 1 3", "9 0 0 -400 2000 0 0 0");
    assert!(text.contains("in no physical group"), "{text}");
    let text = sentence("quad4.msh", "$Nodes\n15 25", "$Nodes\n15 26");
    assert!(text.contains("line") && text.contains("says 26"), "{text}");
    let text = sentence("quad4.msh", "$Nodes\n15 25", "$Nodes\n15 1000000000000");
    assert!(text.contains("more than the file can hold"), "{text}");
    let text = sentence("quad4.msh", "2000 0 -1000", "2000 zero -1000");
    assert!(text.contains("`zero` is not a valid coordinate"), "{text}");
    let text = sentence("hex8.msh", "$Elements", "$Elephants");
    assert!(text.contains("$Elephants has no $EndElephants"), "{text}");
    let text = format!("{:#}", read("a.msh", b"", true).unwrap_err());
    assert!(text.contains("the file ends"), "{text}");
    let tetrahedron = "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n1 4 1 4\n3 1 0 4\n1\n2\n3\n4\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n$EndNodes\n$Elements\n1 1 1 1\n3 1 4 1\n1 1 2 3 4\n$EndElements\n";
    let text = format!("{:#}", read("t.msh", tetrahedron.as_bytes(), true).unwrap_err());
    assert!(text.contains("tetrahedron") && text.contains("hex8"), "{text}");
    let line = "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n1 2 1 2\n1 1 0 2\n1\n2\n0 0 0\n1 0 0\n$EndNodes\n$Elements\n1 1 1 1\n1 1 1 1\n1 1 2\n$EndElements\n";
    let text = format!("{:#}", read("l.msh", line.as_bytes(), true).unwrap_err());
    let expected =
        "l.msh has neither hexahedra nor quadrilaterals; mesh the volume (3-D) or the surface (2-D)";
    assert!(text.contains(expected), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: Some(Box::new(FileFailurePersistence::Direct("../tests/regressions/gmsh.txt"))), ..ProptestConfig::default() })]

    #[test]
    fn damaged_files_end_in_an_answer(
        which in 0..6_usize,
        at in any::<prop::sample::Index>(),
        bytes in prop::collection::vec(any::<u8>(), 0..9),
        cut in any::<prop::sample::Index>(),
        cuts in any::<bool>(),
    ) {
        let name = ["hex8.msh", "hex27.msh", "quad4.msh", "quad9.msh", "hex8-v2.msh", "quad9-v2.msh"][which];
        let mut file = fixture_bytes(name);
        let place = at.index(file.len());
        let end = file.len().min(place + bytes.len());
        file.splice(place..end, bytes);
        if cuts {
            file.truncate(cut.index(file.len()));
        }
        if let Ok((raw, _)) = read(name, &file, true) {
            // Reading returns a mesh or an error; no other outcome is allowed.
            let _ = if raw.ndim == 2 { Mesh::<2>::new(raw.parts()).err() } else { Mesh::<3>::new(raw.parts()).err() };
        }
    }

    #[test]
    fn other_numbers_in_a_text_end_in_an_answer(at in any::<prop::sample::Index>(), number in any::<i64>()) {
        let text = String::from_utf8(fixture_bytes("hex8.msh")).unwrap();
        let words: Vec<&str> = text.split(' ').collect();
        let k = at.index(words.len());
        let number = number.to_string();
        let changed: Vec<&str> = words.iter().enumerate().map(|(i, w)| if i == k { number.as_str() } else { w }).collect();
        if let Ok((raw, _)) = read("hex8.msh", changed.join(" ").as_bytes(), true) {
            let _ = Mesh::<3>::new(raw.parts()).err();
        }
    }
}
