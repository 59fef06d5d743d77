//! The messages about faulty meshes: one line that names the element and its position, from the program itself.

use crate::desk::Desk;
use crate::fixture;

/// A box of 2 x 2 x 2 elements of 50 m in files that can be damaged.
struct Spoilt {
    desk: Desk,
    nodes: Vec<f32>,
    elements: Vec<i32>,
    regions: Vec<i32>,
    materials: Vec<f32>,
    absorbing: Vec<i32>,
    free: Vec<i32>,
}

impl Spoilt {
    fn new() -> Self {
        let desk = Desk::new();
        let run = desk.sh("sfhexmesh surfaces=100,0 layers=2 nx=2 ny=2 xmin=0 xmax=100 ymin=0 ymax=100 rho=2500 vp=3000 vs=1700 judge=n > mesh.rsf");
        assert_eq!((run.code, run.err.as_str()), (0, ""));
        let ints = |name: &str| desk.open(name).read_all::<i32>().unwrap();
        Self {
            nodes: desk.read("mesh-nodes.rsf"),
            elements: ints("mesh.rsf"),
            regions: ints("mesh-regions.rsf"),
            materials: desk.read("mesh-materials.rsf"),
            absorbing: ints("mesh-absorbing.rsf"),
            free: ints("mesh-free.rsf"),
            desk,
        }
    }

    /// The message about the files in their current state, which must be the only one.
    #[track_caller]
    fn sentence(&self) -> String {
        let desk = &self.desk;
        desk.dataset("n.rsf", &format!("n1=3 n2={}", self.nodes.len() / 3), &self.nodes);
        desk.dataset(
            "m.rsf",
            &format!("n1=6 n2={}", self.materials.len() / 6),
            &self.materials,
        );
        ints(desk, "e.rsf", 8, &self.elements);
        ints(desk, "r.rsf", 1, &self.regions);
        ints(desk, "a.rsf", 2, &self.absorbing);
        ints(desk, "f.rsf", 2, &self.free);
        refused(
            desk,
            "elements=e.rsf nodes=n.rsf regions=r.rsf materials=m.rsf absorbing=a.rsf free=f.rsf",
        )
    }
}

#[test]
fn lists_have_whole_numbers_in_rows_of_one_length() {
    let desk = Spoilt::new().desk;
    ints(&desk, "three.rsf", 3, &[0; 6]);
    ints(&desk, "six.rsf", 6, &[0; 6]);
    desk.dataset("real.rsf", "n1=2 n2=2", &[0.0; 4]);
    for (words, expected) in [
        ("absorbing=three.rsf", "three.rsf has n1=3; n1=2 is needed"),
        (
            "absorbing=real.rsf",
            "holds float numbers; int is needed (sfdd type=int)",
        ),
        (
            "materials=six.rsf",
            "holds int numbers; float is needed (sfdd type=float)",
        ),
    ] {
        let text = refused(&desk, &format!("mesh=mesh.rsf {words}"));
        assert!(text.contains(expected), "{words}: {text}");
    }
}

/// A way to damage a box, and a text in the message.
type Case = (fn(&mut Spoilt), &'static str);

/// Writes a dataset of integers.
fn ints(desk: &Desk, name: &str, n1: usize, values: &[i32]) {
    let header = format!(
        "n1={n1} n2={} data_format=native_int esize=4 in=stdin\n",
        values.len() / n1
    );
    let mut bytes = header.into_bytes();
    bytes.extend_from_slice(&rsf_io::TERMINATOR);
    bytes.extend(values.iter().flat_map(|x| x.to_ne_bytes()));
    desk.put(name, bytes);
}

/// The only message of a command that ends with code 1.
#[track_caller]
fn refused(desk: &Desk, words: &str) -> String {
    let got = desk.sh(&format!("sfhexmesh {words} > x.rsf"));
    assert_eq!(got.code, 1, "{words}: {got:?}");
    assert_eq!(got.err.trim().lines().count(), 1, "{words}: {}", got.err);
    got.err
}

#[test]
fn every_fault_of_a_mesh_is_one_sentence_with_the_element_and_its_place() {
    let cases: [Case; 18] = [
        (
            |m| m.elements[24..32].rotate_left(4),
            "the Jacobian of element 3 is -",
        ),
        (|m| m.elements[24..32].rotate_left(4), "at (x, y, z) = ("),
        // The corner of the box is moved to the next node, so that two edges have no length.
        (
            |m| m.nodes.copy_within(3..6, 0),
            "the Jacobian of element 0 is 0.000e0 at (x, y, z) = (50, 0, ",
        ),
        (|m| m.elements[8] = 99, "element 1 near (x, y, z) = ("),
        (
            |m| m.elements[8] = 99,
            "names node 99, but nodes are numbered from 0 to 26; was the file counted from 1?",
        ),
        (|m| m.elements[8] = -1, "names node -1"),
        (|m| m.elements[9] = m.elements[8], "element 1 near (x, y, z) = ("),
        (|m| m.nodes[3] = f32::NAN, "has a coordinate that is not a number"),
        (
            |m| {
                m.nodes.extend_from_within(39..42);
                let slot = m.elements.iter().rposition(|n| *n == 13).unwrap();
                m.elements[slot] = 27;
            },
            "nodes 13 and 27 are both at (x, y, z) = (50, 100, 100): elements [2, 3] are not connected there",
        ),
        (
            |m| {
                m.elements.extend_from_within(..8);
                m.regions.push(0);
            },
            "belongs to three elements, [0, ",
        ),
        (
            |m| m.regions.truncate(7),
            "the list of regions has 7 entries, but 8 are needed",
        ),
        (|m| m.regions[5] = 1, "element 5 at (x, y, z) = ("),
        (
            |m| m.regions[5] = 1,
            "belongs to region 1, but there are 1 materials",
        ),
        (|m| m.regions[5] = -1, "element 5 near (x, y, z) = ("),
        (
            |m| m.materials.extend_from_within(..),
            "region 1 has a material but no element",
        ),
        (
            |m| m.materials[2] = 2900.0,
            "row 0: rho=2500 vp=3000 vs=2900 is not an elastic medium",
        ),
        (
            |m| m.free.extend([0, 9]),
            "names face 9 of element 0 near (x, y, z) = (25, 25, ",
        ),
        (|m| m.free.extend_from_within(..2), "is in the list free twice"),
    ];
    for (spoil, words) in cases {
        let mut mesh = Spoilt::new();
        spoil(&mut mesh);
        let text = mesh.sentence();
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn an_absorbing_face_inside_is_refused_with_both_elements() {
    let mut mesh = Spoilt::new();
    // The inner faces of an element are the faces in neither list.
    let own: Vec<i32> = [&mesh.absorbing, &mesh.free]
        .into_iter()
        .flat_map(|list| list.chunks(2).filter(|pair| pair[0] == 0).map(|pair| pair[1]))
        .collect();
    let inner = (0..6).find(|face| !own.contains(face)).unwrap();
    mesh.absorbing.extend([0, inner]);
    let text = mesh.sentence();
    assert!(
        text.contains(&format!(
            "absorbing is face {inner} of element 0 at (x, y, z) = ("
        )) && text.contains("lies behind it; only outer faces can be absorbing"),
        "{text}"
    );
}

/// Nodes and elements of quadrilaterals, each with a region, of rock and of water.
#[track_caller]
fn plates(nodes: &[f32], elements: &[i32], regions: &[i32]) -> String {
    let desk = Desk::new();
    desk.dataset("n.rsf", &format!("n1=2 n2={}", nodes.len() / 2), nodes);
    ints(&desk, "e.rsf", 4, elements);
    ints(&desk, "r.rsf", 1, regions);
    let rows = [
        [2500.0, 3000.0, 1700.0, 9999.0, 9999.0, 0.0],
        [1000.0, 1500.0, 0.0, 9999.0, 9999.0, 0.0],
    ];
    desk.dataset("m.rsf", "n1=6 n2=2", rows.as_flattened());
    refused(&desk, "elements=e.rsf nodes=n.rsf regions=r.rsf materials=m.rsf")
}

#[test]
fn hanging_nodes_and_stranded_fluids_are_named_with_their_elements() {
    // Two small elements are next to a large one.
    let nodes = [0., 0., 2., 0., 2., 2., 0., 2., 3., 0., 3., 1., 2., 1., 3., 2.];
    let text = plates(&nodes, &[0, 1, 2, 3, 1, 4, 5, 6, 6, 5, 7, 2], &[0, 0, 1]);
    assert!(
        text.contains(
            "node 6 at (x, z) = (2, 1) is a hanging node: it lies on element 0, which does not list it"
        ),
        "{text}"
    );
    // The water touches rock only at a corner.
    let nodes = [0., 0., 1., 0., 1., 1., 0., 1., 2., 1., 2., 2., 1., 2.];
    let text = plates(&nodes, &[0, 1, 2, 3, 2, 4, 5, 6], &[0, 1]);
    assert!(
        text.contains("the fluid body around element 1 at (x, z) = (1.5, 1.5) shares no face with a solid"),
        "{text}"
    );
}

/// A Gmsh file with two quadrilaterals, whose second block of elements is given by a test.
fn two_plates(second: &str) -> String {
    format!(
        "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n1 9 1 9\n2 1 0 9\n1\n2\n3\n4\n5\n6\n7\n8\n9\n0 0 0\n2 0 0\n2 2 0\n0 2 0\n1 0 0\n2 1 0\n1 2 0\n0 1 0\n1 1 0\n$EndNodes\n\
         $Elements\n2 2 1 9\n2 1 3 1\n4 1 2 3 4\n{second}$EndElements\n"
    )
}

#[test]
fn elements_of_foreign_files_are_named_as_the_files_name_them() {
    let desk = Desk::new();
    for (second, words) in [
        (
            "2 1 10 1\n9 1 2 3 4 5 6 7 8 9\n",
            [
                "element 9 near (x, y, z) = (0, 0, 0) has 9 nodes but the previous ones have 4",
                "Mesh.ElementOrder",
            ],
        ),
        (
            "2 1 3 1\n9 1 2 3 77\n",
            [
                "element 9 near (x, y, z) = (0, 0, 0) names node 77",
                "is not in $Nodes",
            ],
        ),
        (
            "2 1 3 1000000000000\n9 1 2 3 4\n",
            ["is 1000000000000, more than the file can hold", "line 30"],
        ),
        ("2 1 16 1\n9 1 2 3 4 5 6 7 8\n", ["quad8", "only quad4 and quad9"]),
    ] {
        desk.put("two.msh", two_plates(second));
        let text = refused(&desk, "gmsh=two.msh");
        assert!(words.iter().all(|word| text.contains(word)), "{second}: {text}");
    }
    // Fuzzing found this surface made of points.
    let groups = "$EndMeshFormat\n$PhysicalNames\n1\n1 1 \"top\"\n$EndPhysicalNames\n\
                  $Entities\n0 1 1 0\n1 0 0 0 2 0 0 1 1 0\n1 0 0 0 2 2 0 0 0\n$EndEntities\n";
    let points = two_plates("1 1 15 1\n9 1\n").replace("$EndMeshFormat\n", groups);
    desk.put("points.msh", points);
    let text = refused(&desk, "gmsh=points.msh");
    assert!(text.contains("the group top has element 9 near"), "{text}");
    assert!(
        text.contains("with 1 nodes, but a face of this mesh has 2 corners"),
        "{text}"
    );
    let bytes = std::fs::read(fixture("hex27.msh")).unwrap();
    desk.put("short.msh", &bytes[..bytes.len() / 2]);
    let text = refused(&desk, "gmsh=short.msh");
    assert!(
        text.contains("cut short") || text.contains("the file ends"),
        "{text}"
    );
}

/// SPECFEM3D's files of two cubes.
fn cubes() -> [(&'static str, String); 5] {
    let corner = |k: usize| format!("{} {} {} {}\n", k + 1, k % 3, k / 3 % 2, k / 6);
    [
        (
            "nodes_coords_file",
            format!("12\n{}", (0..12).map(corner).collect::<String>()),
        ),
        (
            "mesh_file",
            "2\n1 1 2 5 4 7 8 11 10\n2 2 3 6 5 8 9 12 11\n".into(),
        ),
        ("materials_file", "1 1\n2 1\n".into()),
        (
            "nummaterial_velocity_file",
            "2 1 2500 3000 1700 9999 9999 0\n".into(),
        ),
        ("free_or_absorbing_surface_file_zmax", "1\n1 7 8 11 10\n".into()),
    ]
}

/// A file of the folder, a text in it, its replacement, and a text in the message.
const CHANGES: [[&str; 4]; 12] = [
    [
        "mesh_file",
        "8 9 12 11",
        "8 9 13 11",
        "mesh_file: line 3: element 2: node 13 does not exist; they are numbered from 1 to 12",
    ],
    [
        "mesh_file",
        "8 9 12 11",
        "8 9 12 11 1 2 3 4 5 6 7 8 9 10 11 12 1 2 3 4 5 6 7",
        "line 3: element 2 has 27 nodes but the previous ones have 8; all must have 8 or all 27",
    ],
    [
        "mesh_file",
        "2\n1",
        "1000000000000\n1",
        "the number of elements 1000000000000 is too large: at most 500000000",
    ],
    [
        "mesh_file",
        "8 9 12 11",
        "9 8 12 11",
        "the Jacobian of element 1 is -",
    ],
    [
        "mesh_file",
        "2 2 3 6 5 8 9 12 11",
        "2 1 2 5 4 7 8 11 10",
        "elements [0, 1] do not lie on opposite sides of the face near (x, y, z) = (",
    ],
    [
        "materials_file",
        "2 1",
        "2 7",
        "has no material 7, which element 2 near (x, y, z) = (1, 0, ",
    ],
    [
        "materials_file",
        "2 1\n",
        "",
        "materials_file: line 2: the file ends where",
    ],
    [
        "nummaterial_velocity_file",
        "\n",
        "\n\n# again\n1 1 1000 1500 0 9999 9999 0\n",
        "line 4: material 1 is given twice",
    ],
    // P and S speeds are exchanged.
    [
        "nummaterial_velocity_file",
        "3000 1700",
        "1700 3000",
        "material 1: rho=2500 vp=1700 vs=3000 is not an elastic medium; rho and vp must be above zero and vs from 0 to below 0.866 vp",
    ],
    [
        "free_or_absorbing_surface_file_zmax",
        "1 7 8 11 10",
        "1 2 8 11 5",
        "only outer faces can be free",
    ],
    [
        "free_or_absorbing_surface_file_zmax",
        "1 7 8 11 10",
        "1 7 8 11",
        "4 numbers follow for 1 faces; each face must have its element and 4 or 9 nodes",
    ],
    [
        "free_or_absorbing_surface_file_zmax",
        "1 7 8 11 10",
        "1 7 8 11 9",
        "line 2: the nodes [7, 8, 11, 9] are not a face of element 1",
    ],
];

#[test]
fn faults_in_folders_of_specfem_are_named_with_file_line_and_element() {
    let desk = Desk::new();
    std::fs::create_dir(desk.path("folder")).unwrap();
    let put = |files: &[(&str, String)]| {
        files
            .iter()
            .for_each(|(name, text)| desk.put(&format!("folder/{name}"), text));
    };
    put(&cubes());
    let sound = desk.sh("sfhexmesh specfem=folder judge=n > x.rsf");
    assert_eq!(sound.code, 0, "{}", sound.err);
    for [file, from, to, words] in CHANGES {
        let changed = cubes().map(|(name, text)| match name == file {
            true => {
                assert!(text.contains(from), "{from}");
                (name, text.replacen(from, to, 1))
            }
            false => (name, text),
        });
        put(&changed);
        let text = refused(&desk, "specfem=folder");
        assert!(text.contains(words), "{file}, {to}: {text}");
    }
}

#[test]
fn a_million_million_elements_take_no_memory() {
    let mesh = Spoilt::new();
    let header = "n1=8 n2=1000000000000 data_format=native_int esize=4 in=stdin\n";
    let mut bytes = header.as_bytes().to_vec();
    bytes.extend_from_slice(&rsf_io::TERMINATOR);
    mesh.desk.put("many.rsf", bytes);
    let text = refused(&mesh.desk, "elements=many.rsf nodes=mesh-nodes.rsf");
    assert!(text.contains("many.rsf"), "{text}");
}
