//! Meshes as RSF files.
//!
//! `nodes=` float n1=3 (x, y, z; in 2-D 2: x, z), `elements=` int n1=8, 27, 4 or 9, `regions=` int,
//! `materials=` float n1=6 (rho, vp, vs, Q_kappa, Q_mu, and 1 if a table gives the constants), `absorbing=`
//! and `free=` int n1=2 (element, local face), `pml=` int n1=2 (element, axes: [`RawMesh::layers`]).
//! Coordinates of nodes are relative to `nodes_origin` in their header, if it has one, which is in double
//! precision. `mesh=` names the elements, in whose header the same keys name the other files; `radius` in it
//! is the radius of the surface of a globe, whose axes are geocentric.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use kernels::mesh::Material;
use rsf_io::{Axis, Input, Job, Kind, Output, mesh_file};

use super::beside::Names;
use super::{RawMesh, countable};

/// Opens the datasets of a mesh.
struct Files<'a> {
    job: &'a mut Job,
    /// The dataset of `mesh=`, which contains the elements, and its path.
    whole: Option<(Input, PathBuf)>,
}

impl Files<'_> {
    /// The dataset that a parameter names, on the command line or, otherwise, in the header of the mesh.
    fn open(&mut self, word: &str) -> Result<Option<Input>> {
        if ["absorbing", "pml"].contains(&word) && absorbs_nowhere(self.job)? {
            return Ok(None);
        }
        if self.job.given(word) {
            return Ok(Some(self.job.input(word)?));
        }
        let Some((whole, header)) = &self.whole else {
            return Ok(None);
        };
        let Some(named) = whole.header().text(word) else {
            return Ok(None);
        };
        let shown = format!("{word}={named} of {}", whole.name());
        Ok(Some(
            self.job.open_as(shown, mesh_file(header, &named).as_os_str())?,
        ))
    }
}

/// True if `absorbing=none` removes the absorbing sides.
pub fn absorbs_nowhere(job: &Job) -> Result<bool> {
    Ok(job.text("absorbing")?.as_deref() == Some("none"))
}

/// Reads the mesh that `mesh=` or `elements=` and the other parameters name.
///
/// # Errors
/// Returns an error for a file that is missing, or shapes that do not fit together.
pub fn read(job: &mut Job) -> Result<RawMesh> {
    let whole = match job.text("mesh")? {
        Some(path) => Some((job.input("mesh")?, PathBuf::from(path))),
        None => None,
    };
    let mut files = Files { job, whole };
    let nodes = files.open("nodes")?.with_context(|| match files.whole.as_ref() {
        Some((whole, _)) => format!(
            "{} is not a mesh as sfhexmesh writes it: its header does not have nodes=, the file with the \
            coordinates of the mesh's nodes",
            whole.name()
        ),
        None => "nodes= is missing: the coordinates of the mesh's nodes".into(),
    })?;
    let radius = files
        .whole
        .as_ref()
        .and_then(|(whole, _)| whole.header().text("radius"));
    let regions = files.open("regions")?;
    let materials = files.open("materials")?;
    let absorbing = files.open("absorbing")?;
    let free = files.open("free")?;
    let layers = files.open("pml")?;
    let elements = match (files.open("elements")?, files.whole.take()) {
        (Some(elements), _) => elements,
        (None, Some((whole, _))) => whole,
        (None, None) => bail!(
            "elements= or mesh= is missing: give the file with the nodes of the mesh's \
        elements"
        ),
    };
    let ndim = nodes.axis(1).n;
    if !(2..=3).contains(&ndim) {
        bail!(
            "{} has n1={ndim}; nodes have n1=3 (x, y, z) or n1=2 (x, z)",
            nodes.name()
        );
    }
    let per_element = elements.axis(1).n;
    let of_elements = match per_element {
        4 | 9 => 2,
        8 | 27 => 3,
        _ => ndim,
    };
    if of_elements != ndim {
        bail!(
            "{} has elements of {per_element} nodes, as in meshes of {of_elements} dimensions, but {} has coordinates in \
            {ndim}: they belong to different meshes. sfhexmesh names the files of a mesh after it, or after base=",
            elements.name(),
            nodes.name()
        );
    }
    countable(
        &elements.name(),
        u128::from(elements.len()) / per_element.max(1) as u128,
    )?;
    let elements = table(elements, &[per_element])?;
    let regions = match regions {
        Some(input) => ints(input)?,
        None => vec![0; elements.len() / per_element.max(1)],
    };
    let count = regions.len();
    Ok(RawMesh {
        ndim,
        nodes: coordinates(nodes)?,
        per_element,
        elements,
        regions,
        materials: materials.map_or(Ok(Vec::new()), read_materials)?,
        absorbing: absorbing.map_or(Ok(Vec::new()), pairs)?,
        free: free.map_or(Ok(Vec::new()), pairs)?,
        names: Vec::new(),
        layers: layers.map_or(Ok(Vec::new()), |input| of_layers(input, count, ndim))?,
        tomography: Vec::new(),
        unused: Vec::new(),
        radius: radius.and_then(|word| word.parse().ok()),
    })
}

fn ints(mut input: Input) -> Result<Vec<i32>> {
    if input.format().kind != Kind::Int {
        bail!(
            "{} holds {} numbers; int is needed (sfdd type=int)",
            input.name(),
            input.format().kind.word()
        );
    }
    Ok(input.read_all()?)
}

/// Reads whole numbers in rows of one of these lengths.
fn table(input: Input, columns: &[usize]) -> Result<Vec<i32>> {
    if !columns.contains(&input.axis(1).n) {
        bail!(
            "{} has n1={}; n1={} is needed",
            input.name(),
            input.axis(1).n,
            columns[0]
        );
    }
    ints(input)
}

fn reals(mut input: Input) -> Result<Vec<f64>> {
    if input.format().kind != Kind::Float {
        bail!(
            "{} holds {} numbers; float is needed (sfdd type=float)",
            input.name(),
            input.format().kind.word()
        );
    }
    Ok(input.read_all_f32()?.into_iter().map(f64::from).collect())
}

/// The key in the header of nodes for the origin of their coordinates.
const ORIGIN: &str = "nodes_origin";
/// Distance from zero, in lengths of the mesh along an axis, beyond which coordinates are relative to an
/// origin.
const FAR: f64 = 4.0;

/// Absolute coordinates, in double precision.
fn coordinates(input: Input) -> Result<Vec<f64>> {
    let (name, ndim, origin) = (input.name(), input.axis(1).n, input.header().text(ORIGIN));
    let mut nodes = reals(input)?;
    if let Some(text) = origin {
        let numbers: Vec<f64> = text
            .split(',')
            .filter_map(|word| word.trim().parse().ok())
            .collect();
        if numbers.len() != ndim || !numbers.iter().all(|x: &f64| x.is_finite()) {
            bail!(
                "{name} has {ORIGIN}={text}; it takes {ndim} numbers in m, the place to which its \
                coordinates are relative"
            );
        }
        for (x, c) in nodes.iter_mut().zip((0..ndim).cycle()) {
            *x += numbers[c];
        }
    }
    Ok(nodes)
}

/// The origin for the coordinates of a mesh, in whole metres, so that single precision suffices; `None` for a
/// mesh near zero.
fn origin(mesh: &RawMesh) -> Option<Vec<f64>> {
    let along = |c: usize| {
        let ends = [f64::INFINITY, f64::NEG_INFINITY];
        let own = mesh.nodes.iter().skip(c).step_by(mesh.ndim);
        let [low, high] = own.fold(ends, |[low, high], x| [low.min(*x), high.max(*x)]);
        match low.abs().max(high.abs()) > FAR * (high - low) {
            true => (0.5 * (low + high)).round(),
            false => 0.0,
        }
    };
    let place: Vec<f64> = (0..mesh.ndim).map(along).collect();
    (mesh.radius.is_none() && place.iter().any(|x| *x != 0.0)).then_some(place)
}

fn pairs(input: Input) -> Result<Vec<[i32; 2]>> {
    let values = table(input, &[2])?;
    Ok(values.chunks_exact(2).map(|p| [p[0], p[1]]).collect())
}

/// The elements in layers and their axes, in a mesh of `count` elements.
fn of_layers(input: Input, count: usize, ndim: usize) -> Result<Vec<[i32; 2]>> {
    let (name, layers) = (input.name(), pairs(input)?);
    let axes: &[i32] = if ndim == 2 {
        &[1, 3, 5]
    } else {
        &[1, 2, 3, 4, 5, 6, 7]
    };
    let strange = |[element, code]: &&[i32; 2]| {
        usize::try_from(*element).map_or(true, |element| element >= count) || !axes.contains(code)
    };
    let mut elements: Vec<i32> = layers.iter().map(|[element, _]| *element).collect();
    elements.sort_unstable();
    if let Some(pair) = elements.windows(2).find(|pair| pair[0] == pair[1]) {
        bail!(
            "{name} has element {} twice: give each element once, with all axes across which its layers absorb",
            pair[0]
        );
    }
    if let Some([element, code]) = layers.iter().find(strange) {
        bail!(
            "{name} has element {element} with axes {code}: elements are numbered from 0 to {}, and axes are {}",
            count.saturating_sub(1),
            match ndim {
                2 => "1 (x), 3 (z) or 5 (both)",
                _ => "1 (x), 2 (y), 3 (z), 4 (x, y), 5 (x, z), 6 (y, z) or 7 (all)",
            }
        );
    }
    Ok(layers)
}

/// Rows of materials: rho, vp, vs, Q_kappa, Q_mu, flag.
fn read_materials(input: Input) -> Result<Vec<Material>> {
    let name = input.name();
    if input.axis(1).n != 6 {
        bail!(
            "{name} has n1={}; materials have n1=6: rho, vp, vs, Q_kappa, Q_mu, and 1 if a table gives the \
            constants",
            input.axis(1).n
        );
    }
    let values = reals(input)?;
    let row = |(region, r): (usize, &[f64])| {
        let material = Material {
            density: r[0],
            vp: r[1],
            vs: r[2],
            q_kappa: r[3],
            q_mu: r[4],
            anisotropic: r[5] > 0.0,
        };
        check(&material).with_context(|| format!("{name}: row {region}"))?;
        Ok(material)
    };
    values.chunks_exact(6).enumerate().map(row).collect()
}

/// A P velocity in m/s that is far above any in the Earth.
const FASTEST: f64 = 3e4;

/// Checks that the numbers of a material are possible.
///
/// # Errors
/// Returns an error for a density, a velocity or a quality factor that is not possible.
pub fn check(material: &Material) -> Result<()> {
    let Material { density, vp, vs, .. } = *material;
    let sound = density > 0.0 && vp > 0.0 && vs >= 0.0 && [density, vp, vs].iter().all(|v| v.is_finite());
    if !sound || (!material.anisotropic && 4.0 * vs * vs >= 3.0 * vp * vp) {
        bail!(
            "rho={density} vp={vp} vs={vs} is not an elastic medium; rho and vp must be above zero and vs from 0 to below 0.866 vp"
        );
    }
    if vp > FASTEST {
        bail!(
            "vp={vp:e} m/s: no wave in the Earth is faster than 14000 m/s, and such a speed makes the time \
            step tiny; give speeds in m/s"
        );
    }
    for (name, q) in [("Qkappa", material.q_kappa), ("Qmu", material.q_mu)] {
        // A fluid has no shear to attenuate, and files have 0 for its quality factor.
        if (q.is_nan() || q < 1.0) && (vs > 0.0 || q != 0.0) {
            bail!(
                "{name}={}: quality factors are 1 or more (rock has 20 to 1000), and 9999 means no loss",
                q as f32
            );
        }
    }
    Ok(())
}

/// Opens standard output with the axes of `count` elements.
///
/// # Errors
/// Returns an error if standard output cannot be written to.
pub fn elements(job: &mut Job, per_element: usize, count: usize) -> Result<Output> {
    let mut whole = job.output()?;
    whole.set_kind(Kind::Int);
    whole.set_axis(1, &Axis::new(per_element, 0.0, 1.0).label("node"));
    whole.set_axis(2, &Axis::new(count, 0.0, 1.0).label("element"));
    whole.set_rank(2);
    Ok(whole)
}

/// Writes the mesh: the elements to standard output, and everything else to files with these names, which are written
/// into the header of the elements.
///
/// # Errors
/// Returns an error for a file that cannot be written.
pub fn write(job: &mut Job, names: &Names, mesh: &RawMesh) -> Result<()> {
    let mut whole = elements(job, mesh.per_element, mesh.len())?;
    let axes = ["x y z", "x z"][3 - mesh.ndim];
    let origin = origin(mesh);
    let zero = vec![0.0; mesh.ndim];
    let from = origin.as_ref().unwrap_or(&zero);
    let relative = |(x, o): (&f64, &f64)| (x - o) as f32;
    let coordinates: Vec<f32> = mesh.nodes.iter().zip(from.iter().cycle()).map(relative).collect();
    let mut nodes = dataset(
        job,
        names,
        ("nodes", mesh.ndim, axes),
        &Numbers::Real(&coordinates),
    )?;
    if let Some(origin) = &origin {
        let words: Vec<String> = origin.iter().map(f64::to_string).collect();
        nodes.put_text(ORIGIN, &words.join(","));
    }
    nodes.write_f32(&coordinates)?;
    nodes.finish()?;
    let mut put = |word: &str| whole.put_text(word, &names.of_file(word).1);
    put("nodes");
    save(
        job,
        names,
        ("regions", 1, "region"),
        Numbers::Whole(&mesh.regions),
    )?;
    put("regions");
    if !mesh.materials.is_empty() {
        let row = |m: &Material| {
            [m.density, m.vp, m.vs, m.q_kappa, m.q_mu, f64::from(m.anisotropic)].map(|v| v as f32)
        };
        let rows: Vec<f32> = mesh.materials.iter().flat_map(row).collect();
        save(
            job,
            names,
            ("materials", 6, "rho vp vs qkappa qmu ccc"),
            Numbers::Real(&rows),
        )?;
        put("materials");
    }
    for (word, list, label) in [
        ("absorbing", &mesh.absorbing, "element face"),
        ("free", &mesh.free, "element face"),
        ("pml", &mesh.layers, "element axes"),
    ] {
        if !list.is_empty() {
            save(job, names, (word, 2, label), Numbers::Whole(list.as_flattened()))?;
            put(word);
        }
    }
    if let Some(radius) = mesh.radius {
        whole.put_text("radius", &radius.to_string());
    }
    whole.write_i32(&mesh.elements)?;
    Ok(whole.finish()?)
}

enum Numbers<'a> {
    Real(&'a [f32]),
    Whole(&'a [i32]),
}

/// The parameter of a file, the number of values in a row and their label.
type Rows<'a> = (&'a str, usize, &'a str);

/// Writes one dataset of rows.
fn save(job: &mut Job, names: &Names, rows: Rows, numbers: Numbers) -> Result<()> {
    let mut output = dataset(job, names, rows, &numbers)?;
    match numbers {
        Numbers::Real(v) => output.write_f32(v)?,
        Numbers::Whole(v) => output.write_i32(v)?,
    }
    Ok(output.finish()?)
}

/// Opens one of these datasets and sets its axes.
fn dataset(job: &mut Job, names: &Names, (word, columns, label): Rows, numbers: &Numbers) -> Result<Output> {
    let (path, _) = names.of_file(word);
    let mut output = job.output_to(path.display().to_string(), path)?;
    let (kind, len) = match numbers {
        Numbers::Real(v) => (Kind::Float, v.len()),
        Numbers::Whole(v) => (Kind::Int, v.len()),
    };
    output.set_kind(kind);
    output.set_axis(1, &Axis::new(columns, 0.0, 1.0).label(label));
    output.set_axis(2, &Axis::new(len / columns, 0.0, 1.0));
    output.set_rank(2);
    Ok(output)
}
