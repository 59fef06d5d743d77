//! Folders of SPECFEM3D's mesh files, written here according to its documentation, and damaged.

use std::fs;
use std::path::Path;

use kernels::mesh::{Mesh, cell};
use programs::meshing::{RawMesh, gmsh, specfem};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use crate::desk::Desk;
use crate::{close, fixture_bytes, volumes};

/// Positions of SPECFEM's nodes with z up: corners, edges (below, vertical, above), faces, centre.
const ORDER: [[u8; 3]; 27] = [
    [0, 0, 0],
    [2, 0, 0],
    [2, 2, 0],
    [0, 2, 0],
    [0, 0, 2],
    [2, 0, 2],
    [2, 2, 2],
    [0, 2, 2],
    [1, 0, 0],
    [2, 1, 0],
    [1, 2, 0],
    [0, 1, 0],
    [0, 0, 1],
    [2, 0, 1],
    [2, 2, 1],
    [0, 2, 1],
    [1, 0, 2],
    [2, 1, 2],
    [1, 2, 2],
    [0, 1, 2],
    [1, 1, 0],
    [1, 0, 1],
    [2, 1, 1],
    [1, 2, 1],
    [0, 1, 1],
    [1, 1, 2],
    [1, 1, 1],
];

/// Writes a mesh with elements and nodes numbered and listed in a shuffled order.
fn write(folder: &Path, mesh: &RawMesh, shuffle: usize) {
    // Steps that have no common divisor with the count visit every item once.
    let shuffled = |count: usize| -> Vec<usize> {
        let step = (shuffle..)
            .find(|s| {
                (1..=count)
                    .filter(|d| s.is_multiple_of(*d) && count.is_multiple_of(*d))
                    .count()
                    == 1
            })
            .unwrap();
        (0..count).map(|k| (k * step + shuffle) % count).collect()
    };
    let (nodes, elements) = (mesh.nodes.len() / 3, mesh.len());
    let (node_id, element_id) = (shuffled(nodes), shuffled(elements));
    let mut text = format!("{nodes}\n");
    for (node, x) in mesh.nodes.chunks(3).enumerate() {
        text += &format!("  {} {} {:e} {}\n", node_id[node] + 1, x[0], x[1], -x[2]);
    }
    fs::write(folder.join("nodes_coords_file"), text).unwrap();
    let (mut text, mut materials) = (format!("{elements}\n"), String::new());
    for element in (0..elements).rev() {
        let own = &mesh.elements[element * mesh.per_element..];
        let list = ORDER[..mesh.per_element]
            .iter()
            .map(|[u, v, w]| own[cell::node_at([*u, *v, 2 - w])] as usize);
        let list: Vec<String> = list.map(|n| (node_id[n] + 1).to_string()).collect();
        text += &format!("{} {}\n", element_id[element] + 1, list.join(" "));
        materials += &format!("{} {}\n", element_id[element] + 1, mesh.regions[element] + 4);
    }
    fs::write(folder.join("mesh_file"), text).unwrap();
    fs::write(folder.join("materials_file"), materials).unwrap();
    let table = "# rows may be remarks\n2 4 2000. 1800.d0 800. 9999. 40.0 0\n2 5 2500 3500 2000 120 60 0\n";
    fs::write(folder.join("nummaterial_velocity_file"), table).unwrap();
    for (file, list) in [
        ("free_or_absorbing_surface_file_zmax", &mesh.free),
        ("absorbing_surface_file_bottom", &mesh.absorbing),
    ] {
        let mut text = format!("{}\n", list.len());
        for [element, face] in list {
            let own = &mesh.elements[*element as usize * mesh.per_element..];
            let corners = cell::corners(cell::face::<3>(*face as usize).code::<3>());
            let list: Vec<String> = corners
                .iter()
                .map(|c| (node_id[own[*c] as usize] + 1).to_string())
                .collect();
            text += &format!("{} {}\n", element_id[*element as usize] + 1, list.join(" "));
        }
        fs::write(folder.join(file), text).unwrap();
    }
}

fn original(name: &str) -> RawMesh {
    gmsh::read(name, &fixture_bytes(name), true).unwrap().0
}

#[test]
fn a_folder_gives_the_mesh_that_was_written() {
    for (name, shuffle) in [("hex8.msh", 7), ("hex27.msh", 11)] {
        let (mesh, folder) = (original(name), tempfile::tempdir().unwrap());
        write(folder.path(), &mesh, shuffle);
        let read = specfem::read(folder.path()).unwrap();
        assert_eq!((read.len(), read.per_element), (mesh.len(), mesh.per_element));
        let volumes = volumes::<3>(&read);
        assert!(close(volumes[0], 2000.0 * 1500.0 * 400.0) && close(volumes[1], 2000.0 * 1500.0 * 600.0));
        assert_eq!((read.materials[0].vp, read.materials[0].q_mu), (1800.0, 40.0));
        let whole = Mesh::<3>::new(read.parts()).unwrap();
        assert_eq!((whole.free().len(), whole.absorbing().len()), (12, 24));
        let top = |side: &kernels::mesh::Side| whole.face_centre(*side)[2].abs() < 1e-6;
        assert!(whole.free().iter().all(top));
    }
}

/// The message about a folder in which a file was changed.
fn sentence(file: &str, change: impl Fn(String) -> String) -> String {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &original("hex8.msh"), 5);
    let path = folder.path().join(file);
    fs::write(&path, change(fs::read_to_string(&path).unwrap())).unwrap();
    let text = format!("{:#}", specfem::read(folder.path()).unwrap_err());
    assert!(text.contains(file), "{text}");
    text
}

#[test]
fn what_does_not_fit_together_is_a_sentence() {
    let text = sentence("nodes_coords_file", |t| t.replacen("100\n", "101\n", 1));
    assert!(
        text.contains("the file ends") || text.contains("does not exist"),
        "{text}"
    );
    let text = sentence("nodes_coords_file", |t| t.replacen("100\n", "1000000000000\n", 1));
    assert!(
        text.contains("the number of nodes 1000000000000 is too large"),
        "{text}"
    );
    let text = sentence("mesh_file", |t| t.replacen("48\n", "47\n", 1));
    assert!(text.contains("8 or 27 nodes"), "{text}");
    let text = sentence("materials_file", |t| {
        t.lines().skip(1).map(|l| format!("{l}\n")).collect()
    });
    assert!(text.contains("the file ends"), "{text}");
    let text = sentence("materials_file", |t| format!("{t}1 4\n"));
    assert!(text.contains("more lines than the 48 elements"), "{text}");
    let text = sentence("nummaterial_velocity_file", |t| t.replace("2 5 ", "2 6 "));
    assert!(text.contains("no material 5"), "{text}");
    let text = sentence("nummaterial_velocity_file", |t| t.replace(" 9999. 40.0 0", ""));
    assert!(
        text.contains("line 2: material 4 ends where Q_kappa should be"),
        "{text}"
    );
    let text = sentence("nummaterial_velocity_file", |t| t.replace("2 5 ", "1 5 "));
    assert!(text.contains("vs may be zero in domain 1"), "{text}");
    let text = sentence("free_or_absorbing_surface_file_zmax", |t| {
        let mut lines: Vec<String> = t.lines().map(str::to_string).collect();
        lines[1] = format!("{} 1 2 3 4", lines[1].split(' ').next().unwrap());
        lines.join("\n")
    });
    assert!(
        text.contains("are not a face of element") && text.contains("line"),
        "{text}"
    );
}

/// The table has the features of SPECFEM3D's examples: comments, empty lines, materials that no element has, tomography
/// files.
#[test]
fn tables_of_materials_are_read_as_they_are() {
    let (mesh, folder) = (original("hex8.msh"), tempfile::tempdir().unwrap());
    write(folder.path(), &mesh, 5);
    let table = folder.path().join("nummaterial_velocity_file");
    let text = "# domain material rho vp vs Q_kappa Q_mu flag\n\n2 -1 tomography elastic tomo.xyz 1\n3 7 1 2 3 4 5 6\n\
2 9 2300 2800 1500 9999 9999 0\n   2   5   2500. 3500. 2000. 120. 60. 0 ! granite\n\n2 4 2000. 1800.d0 800. 9999. 40.0 0\n\n\
! note: format of nummaterial_velocity_file must be\n! #(1)material_domain_id #(2)material_id\n";
    fs::write(&table, text).unwrap();
    let read = specfem::read(folder.path()).unwrap();
    assert_eq!(read.names, ["material 5", "material 4"]);
    assert_eq!(read.unused, [-1, 7, 9]);
    assert_eq!((read.materials[0].vp, read.materials[1].vp), (3500.0, 1800.0));
    let turned: Vec<i32> = read.regions.iter().map(|region| 1 - region).collect();
    write(folder.path(), &mesh, 5);
    assert_eq!(turned, specfem::read(folder.path()).unwrap().regions);

    let materials = folder.path().join("materials_file");
    let used = fs::read_to_string(&materials)
        .unwrap()
        .replacen(" 5\n", " -1\n", 1);
    fs::write(&materials, used).unwrap();
    fs::write(&table, text).unwrap();
    let text = format!("{:#}", specfem::read(folder.path()).unwrap_err());
    assert!(
        text.contains("material -1 is defined by the tomography file")
            && text.contains("tomo.xyz, which was not found there"),
        "{text}"
    );
}

#[test]
fn layers_of_cpml_are_refused_with_their_file() {
    let (mesh, folder) = (original("hex8.msh"), tempfile::tempdir().unwrap());
    write(folder.path(), &mesh, 5);
    let file = folder.path().join("absorbing_cpml_file");
    fs::write(&file, "3\n   1   7\n   4   1\n  2 3\n").unwrap();
    assert_eq!(
        specfem::read(folder.path()).unwrap().layers,
        [[0, 7], [3, 1], [1, 3]]
    );
    for (text, words) in [
        ("3\n1 7\n4 1\n", "is 3, more than the file can hold"),
        ("1\n1 7\n4 1\n", "more lines than the 1 elements of CPML"),
        ("2\n1 7\n1 1\n", "element 1 is given twice"),
        (
            "1\n49 7\n",
            "line 2: element 49 does not exist; they are numbered from 1 to 48",
        ),
        (
            "1\n1 8\n",
            "line 2: kind of CPML 8 does not exist; they are numbered from 1 to 7",
        ),
    ] {
        fs::write(&file, text).unwrap();
        let message = format!("{:#}", specfem::read(folder.path()).unwrap_err());
        assert!(
            message.contains(words) && message.contains("absorbing_cpml_file"),
            "{message}"
        );
    }
}

#[test]
fn a_folder_of_a_run_is_distinguished_from_that_of_its_mesh() {
    let (mesh, folder) = (original("hex8.msh"), tempfile::tempdir().unwrap());
    let below = folder.path().join("MESH");
    fs::create_dir(&below).unwrap();
    write(&below, &mesh, 5);
    let text = format!("{:#}", specfem::read(folder.path()).unwrap_err());
    let advice = format!(
        "holds no mesh, but {0}/MESH does: give specfem={0}/MESH",
        folder.path().display()
    );
    assert!(text.contains(&advice), "{text}");
    specfem::read(&below).unwrap();
}

/// Faces that are in no file reflect waves, which only absorbing=none allows.
#[test]
fn missing_files_of_absorbing_faces_are_reported() {
    let (mesh, desk) = (original("hex8.msh"), Desk::new());
    let folder = desk.path("mesh");
    fs::create_dir(&folder).unwrap();
    write(&folder, &mesh, 5);
    let messages_of = |more: &str| {
        let run = desk.sh(&format!("sfhexmesh specfem=mesh {more} > mesh.rsf"));
        assert_eq!(run.code, 0, "{run:?}");
        run.err.contains("they reflect waves").then_some(run.err)
    };
    assert!(messages_of("").is_some_and(|text| text.contains("44 of 80 outer faces are in no file of mesh")));
    fs::remove_file(folder.join("absorbing_surface_file_bottom")).unwrap();
    let words = "68 of 80 outer faces are in no file of mesh (without absorbing_surface_file_xmin, absorbing_surface_file_xmax,";
    assert!(messages_of("").is_some_and(|text| text.contains(words)));
    assert_eq!(messages_of("absorbing=none"), None);
}

#[test]
fn a_missing_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("{:#}", specfem::read(folder.path()).unwrap_err());
    assert!(text.contains("nodes_coords_file"), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: Some(Box::new(FileFailurePersistence::Direct("../tests/regressions/specfem.txt"))), ..ProptestConfig::default() })]

    #[test]
    fn damaged_folders_end_in_an_answer(
        which in 0..6_usize,
        at in any::<prop::sample::Index>(),
        bytes in prop::collection::vec(any::<u8>(), 0..6),
        shuffle in 1..50_usize,
    ) {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &original("hex8.msh"), shuffle);
        let files = ["mesh_file", "nodes_coords_file", "materials_file", "nummaterial_velocity_file",
            "free_or_absorbing_surface_file_zmax", "absorbing_surface_file_bottom"];
        let path = folder.path().join(files[which]);
        let mut file = fs::read(&path).unwrap();
        let place = at.index(file.len());
        let end = file.len().min(place + bytes.len());
        file.splice(place..end, bytes);
        fs::write(&path, file).unwrap();
        if let Ok(raw) = specfem::read(folder.path()) {
            let _ = Mesh::<3>::new(raw.parts()).err();
        }
    }

    #[test]
    fn other_numbers_in_a_folder_end_in_an_answer(
        which in 0..6_usize,
        at in any::<prop::sample::Index>(),
        number in any::<i32>(),
        small in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &original("hex8.msh"), 7);
        let files = ["mesh_file", "nodes_coords_file", "materials_file", "nummaterial_velocity_file",
            "free_or_absorbing_surface_file_zmax", "absorbing_surface_file_bottom"];
        let path = folder.path().join(files[which]);
        let text = fs::read_to_string(&path).unwrap();
        let words: Vec<&str> = text.split(' ').collect();
        let k = at.index(words.len());
        let number = if small { number % 100 } else { number }.to_string();
        let changed: Vec<&str> = words.iter().enumerate().map(|(i, w)| if i == k { number.as_str() } else { w }).collect();
        fs::write(&path, changed.join(" ")).unwrap();
        match specfem::read(folder.path()) {
            Ok(raw) => drop(Mesh::<3>::new(raw.parts()).err()),
            Err(fault) => prop_assert_eq!(format!("{fault:#}").lines().count(), 1),
        }
    }
}
