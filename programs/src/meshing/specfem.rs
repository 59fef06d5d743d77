//! A folder of mesh files in the format that SPECFEM3D's decomposer reads.
//!
//! `mesh_file` (count; element, 8 or 27 nodes), `nodes_coords_file` (count; node, x, y, z), `materials_file`
//! (element, material), `nummaterial_velocity_file` (domain, material, rho, vp, vs, Q_kappa, Q_mu,
//! anisotropy), `free_or_absorbing_surface_file_zmax` and `absorbing_surface_file_xmin` to `_bottom` (count;
//! element, corners), `absorbing_cpml_file` (count; element, axes). All count from 1; z is up in the files
//! and is reversed here. In the table of materials lines may be empty, and # or ! begins a comment. A row
//! that names a tomography file has a domain, a number below zero, `tomography`, a kind and the name of the
//! file, which is in the folder, or in `tomo_files` or `DATA/tomo_files` inside the folder or next to it.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use kernels::mesh::{MOST_ELEMENTS, Mesh, Near, cell};
use rsf_io::Job;

use super::materials::{Matter, Row, materials, open_tomography};
use super::scanner::Scanner;
use super::{FaceFinder, RawMesh, report_unlisted_faces, stored};

/// Files of faces, and whether these faces may be free.
const SURFACES: [(&str, bool); 6] = [
    ("free_or_absorbing_surface_file_zmax", true),
    ("absorbing_surface_file_xmin", false),
    ("absorbing_surface_file_xmax", false),
    ("absorbing_surface_file_ymin", false),
    ("absorbing_surface_file_ymax", false),
    ("absorbing_surface_file_bottom", false),
];

/// Files that every mesh has.
const NEEDED: [&str; 4] = [
    "nodes_coords_file",
    "mesh_file",
    "materials_file",
    "nummaterial_velocity_file",
];

/// The file that lists the elements in layers of CPML.
const LAYERS: &str = "absorbing_cpml_file";

/// Reads the folder of `specfem=`; `absorbing=none` leaves out its absorbing faces and layers of CPML.
///
/// # Errors
/// Returns the errors of [`read`], and an error for another value of `absorbing=`.
pub fn open(job: &Job) -> Result<RawMesh> {
    let folder = job.text("specfem")?.unwrap_or_default();
    accept(job, read(Path::new(&folder))?)
}

/// Reports materials that no element uses, and removes what `absorbing=none` leaves out.
///
/// # Errors
/// Returns an error for another value of `absorbing=`.
pub fn accept(job: &Job, mut mesh: RawMesh) -> Result<RawMesh> {
    if !mesh.unused.is_empty() {
        let numbers: Vec<String> = mesh.unused.iter().map(i64::to_string).collect();
        job.say(&format!(
            "no element uses {} {} of {}: regions 0 to {} are {}",
            if numbers.len() == 1 {
                "material"
            } else {
                "materials"
            },
            numbers.join(", "),
            NEEDED[3],
            mesh.names.len().saturating_sub(1),
            mesh.names.join(", ")
        ));
    }
    if stored::absorbs_nowhere(job)? {
        mesh.absorbing.clear();
        mesh.layers.clear();
    } else if job.given("absorbing") {
        bail!(
            "absorbing= and specfem= both say which sides absorb: leave out absorbing=, or give absorbing=none"
        );
    }
    Ok(mesh)
}

/// Reports how many outer faces of a mesh of `specfem=` are not listed in any file, so that they reflect
/// waves, and which files are missing.
///
/// # Errors
/// Returns an error for parameters that cannot be read.
pub fn report_open_faces<const D: usize>(job: &Job, raw: &RawMesh, mesh: &Mesh<D>) -> Result<()> {
    let Some(folder) = job.text("specfem")? else {
        return Ok(());
    };
    if stored::absorbs_nowhere(job)? || !raw.layers.is_empty() {
        return Ok(());
    }
    let absent: Vec<&str> = SURFACES
        .iter()
        .map(|(file, _)| *file)
        .filter(|file| !Path::new(&folder).join(file).exists())
        .collect();
    let missing = match absent[..] {
        [] => String::new(),
        _ => format!(" (without {})", absent.join(", ")),
    };
    report_unlisted_faces(job, mesh, &format!("file of {folder}{missing}"));
    Ok(())
}

/// Reads the folder. Without files of faces, no face is absorbing or free.
///
/// # Errors
/// Returns an error for a file that is missing or damaged, or does not fit the others; the message names file
/// and line.
pub fn read(folder: &Path) -> Result<RawMesh> {
    let path = |file: &str| folder.join(file);
    let (here, below) = (path(NEEDED[0]), path("MESH").join(NEEDED[0]));
    ensure!(
        here.exists() || !below.exists(),
        "specfem={0} holds no mesh, but {0}/MESH does: give specfem={0}/MESH",
        folder.display()
    );
    read_files(&|file| path(file).display().to_string(), &|file| {
        if !NEEDED.contains(&file) && !path(file).exists() {
            return Ok(None);
        }
        let bytes = fs::read(path(file));
        bytes
            .map(Some)
            .with_context(|| format!("cannot read {}", path(file).display()))
    })
}

/// Reads files from any source: `open` gives the bytes of a file, or `None` for a missing file of faces,
/// layers or tomography; `shown` gives the name of a file in messages.
///
/// # Errors
/// Returns the errors of [`read`].
pub fn read_files(
    shown: &dyn Fn(&str) -> String,
    open: &dyn Fn(&str) -> Result<Option<Vec<u8>>>,
) -> Result<RawMesh> {
    let text = |file: &str| Ok::<_, anyhow::Error>((shown(file), open(file)?.unwrap_or_default()));
    let (name, bytes) = text("nodes_coords_file")?;
    let nodes = nodes(&mut Scanner::new(&name, &bytes))?;
    let (name, bytes) = text("mesh_file")?;
    let (per_element, elements) = elements(&mut Scanner::new(&name, &bytes), nodes.len() / 3)?;
    let mut mesh = RawMesh {
        ndim: 3,
        nodes,
        per_element,
        elements,
        ..RawMesh::default()
    };
    let (name, bytes) = text("materials_file")?;
    let numbers = regions(&mut Scanner::new(&name, &bytes), mesh.len())?;
    let (name, bytes) = text("nummaterial_velocity_file")?;
    let mut table = materials(&mut Scanner::new(&name, &bytes))?;
    open_tomography(&mut table, &numbers, (shown, open))?;
    mesh.turn_down();
    fill(&mut mesh, &name, &numbers, table)?;
    for (file, is_free) in SURFACES {
        if let Some(bytes) = open(file)? {
            let name = shown(file);
            let list = faces(&mut Scanner::new(&name, &bytes), &mesh)?;
            if is_free {
                &mut mesh.free
            } else {
                &mut mesh.absorbing
            }
            .extend(list);
        }
    }
    if let Some(bytes) = open(LAYERS)? {
        mesh.layers = layers(&mut Scanner::new(&shown(LAYERS), &bytes), mesh.len())?;
    }
    Ok(mesh)
}

/// Gives the mesh the materials of its elements; rows that no element uses are left out.
fn fill(mesh: &mut RawMesh, name: &str, numbers: &[i64], table: Vec<Row>) -> Result<()> {
    let mut region = vec![None; table.len()];
    let mut rows = Vec::with_capacity(numbers.len());
    for (element, number) in numbers.iter().enumerate() {
        let near = || format!("element {}{}", element + 1, first_node(mesh, element));
        let Some(row) = table.iter().position(|row| row.number == *number) else {
            bail!(
                "{name} has no material {number}, which {} has; add its row",
                near()
            );
        };
        if let Matter::Unread(what) = &table[row].matter {
            bail!("{name}: {} is of material {number}, {what}", near());
        }
        region[row] = Some(());
        rows.push(row);
    }
    for (row, region) in table.iter().zip(&region) {
        if region.is_none() {
            mesh.unused.push(row.number);
            continue;
        }
        let (material, model) = match &row.matter {
            Matter::Rock(material) => (material, None),
            Matter::Model(material, model) => (material, Some(model.clone())),
            _ => continue,
        };
        stored::check(material).with_context(|| format!("{name}: material {}", row.number))?;
        mesh.materials.push(*material);
        mesh.names.push(format!("material {}", row.number));
        mesh.tomography.push(model);
    }
    if mesh.tomography.iter().all(Option::is_none) {
        mesh.tomography.clear();
    }
    let before = |row: usize| region[..row].iter().flatten().count() as i32;
    let place: Vec<i32> = (0..table.len()).map(before).collect();
    mesh.regions = rows.into_iter().map(|row| place[row]).collect();
    Ok(())
}

/// Where the first node of an element is.
fn first_node(mesh: &RawMesh, element: usize) -> Near {
    let node = mesh.elements[element * mesh.per_element] as usize;
    let place: [f64; 3] = std::array::from_fn(|c| mesh.nodes[3 * node + c]);
    Some(place).into()
}

/// The count at the beginning of a file, which has at least `least` numbers for each entry.
fn count(scanner: &mut Scanner, what: &str, least: usize) -> Result<usize> {
    let count: u64 = scanner.number(what)?;
    if count > MOST_ELEMENTS {
        return Err(scanner.wrong(format!(
            "the {what} {count} is too large: at most {MOST_ELEMENTS} can be counted; use fewer and larger \
            elements"
        )));
    }
    let count = count as usize;
    if count.saturating_mul(2 * least) > scanner.left() + 1 {
        return Err(scanner.wrong(format!(
            "the {what} is {count}, more than the file can hold; is the file cut short?"
        )));
    }
    Ok(count)
}

/// A number from 1 to `most`, as an index.
fn index(scanner: &mut Scanner, what: impl std::fmt::Display, most: usize) -> Result<usize> {
    scanner.peek();
    let before = scanner.clone();
    let number: i64 = scanner.number("number")?;
    match usize::try_from(number) {
        Ok(n) if (1..=most).contains(&n) => Ok(n - 1),
        _ => Err(before.wrong(format!(
            "{what} {number} does not exist; they are numbered from 1 to {most}"
        ))),
    }
}

fn nodes(scanner: &mut Scanner) -> Result<Vec<f64>> {
    let count = count(scanner, "number of nodes", 4)?;
    let mut nodes = vec![f64::NAN; 3 * count];
    for _ in 0..count {
        let node = index(scanner, "node", count)?;
        if !nodes[3 * node].is_nan() {
            return Err(scanner.wrong(format!("node {} is given twice", node + 1)));
        }
        for c in 0..3 {
            nodes[3 * node + c] = scanner.real("coordinate")?;
        }
    }
    Ok(nodes)
}

/// The number of nodes of an element, and the nodes of all elements in Gmsh's order, with z still up.
fn elements(scanner: &mut Scanner, nodes: usize) -> Result<(usize, Vec<i32>)> {
    let count = count(scanner, "number of elements", 9)?;
    let words = scanner.words_left();
    let per_element = match words.checked_div(count).map(|columns| (columns, words % count)) {
        Some((9, 0)) => 8,
        Some((28, 0)) => 27,
        _ => return Err(uneven(scanner, count)),
    };
    let order = gmsh_order(per_element);
    let mut elements = vec![-1; count * per_element];
    for _ in 0..count {
        let element = index(scanner, "element", count)?;
        let own = &mut elements[element * per_element..(element + 1) * per_element];
        if own[0] >= 0 {
            return Err(scanner.wrong(format!("element {} is given twice", element + 1)));
        }
        for slot in &order {
            let what = format_args!("element {}: node", element + 1);
            own[*slot] = index(scanner, what, nodes)? as i32;
        }
    }
    Ok((per_element, elements))
}

/// The error for a list of elements with a wrong number of words, which names the first line of another length.
fn uneven(scanner: &Scanner, count: usize) -> anyhow::Error {
    let (mut rest, mut usual) = (scanner.clone(), None);
    loop {
        let before = rest.clone();
        let Some(line) = rest.line() else {
            break;
        };
        let words: Vec<_> = line
            .split(u8::is_ascii_whitespace)
            .filter(|w| !w.is_empty())
            .collect();
        if words.is_empty() {
            continue;
        }
        let usual = *usual.get_or_insert(words.len());
        if words.len() != usual {
            return before.wrong(format!(
                "element {} has {} nodes but the previous ones have {}; all must have 8 or all 27",
                String::from_utf8_lossy(words[0])
                    .chars()
                    .take(20)
                    .collect::<String>(),
                words.len() - 1,
                usual - 1
            ));
        }
    }
    scanner.wrong(format!(
        "{} numbers follow for {count} elements; each must have its number and 8 or 27 nodes",
        scanner.words_left()
    ))
}

/// The place in Gmsh's order of each node in SPECFEM's order: corners, the edges of the lower face, the upright edges,
/// the edges of the upper face; the centres of the faces below, in front, right, behind, left and above; the centre of
/// the element.
fn gmsh_order(per_element: usize) -> Vec<usize> {
    const EDGES: [[usize; 2]; 12] = [
        [0, 1],
        [1, 2],
        [2, 3],
        [3, 0],
        [0, 4],
        [1, 5],
        [2, 6],
        [3, 7],
        [4, 5],
        [5, 6],
        [6, 7],
        [7, 4],
    ];
    const REST: [[u8; 3]; 7] = [
        [1, 1, 0],
        [1, 0, 1],
        [2, 1, 1],
        [1, 2, 1],
        [0, 1, 1],
        [1, 1, 2],
        [1, 1, 1],
    ];
    let middle = |[a, b]: [usize; 2]| {
        let (p, q) = (cell::place::<3>(a), cell::place::<3>(b));
        cell::node_at::<3>(std::array::from_fn(|c| (p[c] + q[c]) / 2))
    };
    let all = (0..8)
        .chain(EDGES.map(middle))
        .chain(REST.map(cell::node_at::<3>));
    all.take(per_element).collect()
}

/// The number of the material of every element.
fn regions(scanner: &mut Scanner, elements: usize) -> Result<Vec<i64>> {
    let mut materials: Vec<Option<i64>> = vec![None; elements];
    for _ in 0..elements {
        let element = index(scanner, "element", elements)?;
        let material = scanner.number("number of a material")?;
        if materials[element].replace(material).is_some() {
            return Err(scanner.wrong(format!("element {} is given twice", element + 1)));
        }
    }
    if scanner.peek().is_some() {
        return Err(scanner.wrong(format!(
            "there are more lines than the {elements} elements of mesh_file"
        )));
    }
    Ok(materials.into_iter().flatten().collect())
}

/// The elements of CPML, each with the axes across which it absorbs (1 x, 2 y, 3 z, 4 xy, 5 xz, 6 yz, 7 xyz).
fn layers(scanner: &mut Scanner, elements: usize) -> Result<Vec<[i32; 2]>> {
    let count = count(scanner, "number of elements of CPML", 2)?;
    let mut layers = Vec::with_capacity(count);
    let mut seen = vec![false; elements];
    for _ in 0..count {
        let element = index(scanner, "element", elements)?;
        let axes = 1 + index(scanner, "kind of CPML", 7)? as i32;
        if std::mem::replace(&mut seen[element], true) {
            return Err(scanner.wrong(format!("element {} is given twice", element + 1)));
        }
        layers.push([element as i32, axes]);
    }
    if scanner.peek().is_some() {
        return Err(scanner.wrong(format!(
            "there are more lines than the {count} elements of CPML that its first line says"
        )));
    }
    Ok(layers)
}

/// Element and local face of every entry.
fn faces(scanner: &mut Scanner, mesh: &RawMesh) -> Result<Vec<[i32; 2]>> {
    let count = count(scanner, "number of faces", 5)?;
    let words = scanner.words_left();
    let corners = match words.checked_div(count).map(|columns| (columns, words % count)) {
        None if words == 0 => return Ok(Vec::new()),
        Some((columns @ (5 | 10), 0)) => columns - 1,
        _ => {
            return Err(scanner.wrong(format!(
                "{words} numbers follow for {count} faces; each face must have its element and 4 or 9 nodes"
            )));
        }
    };
    let finder = FaceFinder::new(mesh);
    let mut faces = Vec::with_capacity(count);
    for _ in 0..count {
        let element = index(scanner, "element", mesh.len())?;
        let mut nodes = Vec::with_capacity(corners);
        for _ in 0..corners {
            nodes.push(index(scanner, "node", mesh.nodes.len() / 3)? as i32);
        }
        let Some(face) = finder.face_of(element, &nodes[..4]) else {
            let shown: Vec<i32> = nodes[..4].iter().map(|n| n + 1).collect();
            return Err(scanner.wrong(format!(
                "the nodes {shown:?} are not a face of element {}",
                element + 1
            )));
        };
        faces.push([element as i32, face as i32]);
    }
    Ok(faces)
}
