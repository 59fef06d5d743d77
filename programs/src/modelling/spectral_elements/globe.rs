//! Reads files about the Earth: earthquakes, stations, radial models.

use super::medium::Rocks;
use super::outside::Outside;
use crate::earth::{self, Ground, Quakes, Terrain, TurnedMechanism};
use crate::meshing::RawMesh;
use crate::modelling::checksum::Checksum;
use crate::modelling::sources::quakes::{self, Placed};
use anyhow::bail;
use kernels::earth::{Frame, Layer, Radial};
use kernels::mesh::step::Law;
use kernels::mesh::{Locator, Mesh, ground};
use kernels::methods::spectral_elements::{PointMedia, PointMedium};
use rsf_io::Job;

/// Sources and receivers of cmt=, force=, quakeml= and stations=.
pub struct Places<const D: usize> {
    /// The sources, and their positions in double precision, m ([`Placed`] has single precision).
    pub quakes: Option<Placed>,
    pub centres: Vec<[f64; D]>,
    /// The positions of the receivers of stations=, m.
    pub sites: Option<Vec<[f64; D]>>,
    /// Directions up, north and east at each of these receivers.
    pub frames: Vec<Frame>,
    /// Network and name of each receiver.
    pub codes: Vec<String>,
}

impl<const D: usize> Places<D> {
    /// True if the sources have samples of the moments themselves, regardless of rate=.
    pub fn have_samples(&self) -> bool {
        self.quakes.as_ref().is_some_and(Placed::has_samples)
    }
}

/// Reads cmt=, force=, quakeml= and stations=, which 3-D programs have.
///
/// # Errors
/// Returns an error for a file that cannot be read, or a place outside the mesh.
pub fn places<const D: usize>(
    job: &Job,
    raw: &RawMesh,
    mesh: &Mesh<D>,
    outside: &mut Outside<'_, D>,
) -> anyhow::Result<Places<D>> {
    let mut places = Places {
        quakes: None,
        centres: Vec::new(),
        sites: None,
        frames: Vec::new(),
        codes: Vec::new(),
    };
    if D == 3 {
        let place = Ground::of(job, raw.radius)?;
        earth::refuse_pairs(job)?;
        let reach = [0, 1].map(|c| reach(mesh, c));
        let is_lenient = outside.is_lenient();
        let terrain = Terrain {
            what: "mesh",
            tops: &|places| match is_lenient {
                true => tops_beside(mesh, reach, places),
                false => ground::tops(mesh, places),
            },
            reach,
        };
        let events = place.quakes(job, &terrain)?;
        let sites = place.sites(job, &terrain)?;
        if let Some(mut events) = events {
            events.settle(|name, x| within(outside, name, x))?;
            let in_fluids = in_fluids(raw, mesh, &events);
            let bells = |own| bells(job, &events, &in_fluids, own);
            places.quakes = Some(quakes::placed(job, &events, bells)?);
            places.centres = events.points.iter().map(along).collect();
        }
        if let Some(mut sites) = sites {
            sites.settle(|name, x| within(outside, name, x))?;
            places.sites = Some(sites.points.iter().map(along).collect());
            places.frames = sites.frames;
            places.codes = sites.codes;
        }
    }
    for (missing, word, other) in [
        (places.quakes.is_none(), "sou", "cmt=, force= or quakeml"),
        (places.sites.is_none(), "rec", "stations"),
    ] {
        if missing && !job.given(word) && !std::path::Path::new(word).exists() {
            let or = if D == 3 {
                format!(", or {other}=")
            } else {
                String::new()
            };
            bail!("{word}= is missing (an RSF file of points){or}");
        }
    }
    Ok(places)
}

/// The position in the mesh of a point of a file; `None` if it is left out.
fn within<const D: usize>(
    outside: &mut Outside<'_, D>,
    name: &str,
    point: [f64; 3],
) -> anyhow::Result<Option<[f64; 3]>> {
    let placed = outside.place(name, along(&point))?;
    Ok(placed.map(|x| std::array::from_fn(|c| x[c])))
}

/// z of the top of a mesh; outside it, z at the nearest place of the rectangle that the mesh spans.
fn tops_beside<const D: usize>(
    mesh: &Mesh<D>,
    reach: [[f64; 2]; 2],
    places: &[[f64; 2]],
) -> Vec<Option<f64>> {
    let beside = |x: &[f64; 2]| std::array::from_fn(|c| x[c].clamp(reach[c][0], reach[c][1]));
    let near: Vec<[f64; 2]> = places.iter().map(beside).collect();
    ground::tops(mesh, &near)
}

/// Which sources are in fluids.
fn in_fluids<const D: usize>(raw: &RawMesh, mesh: &Mesh<D>, quakes: &Quakes) -> Vec<bool> {
    if raw.materials.iter().all(|m| m.vs > 0.0) {
        return vec![false; quakes.points.len()];
    }
    let locator = Locator::new(mesh);
    let is_fluid = |point: &[f64; 3]| {
        let at = locator.find(along(point))?;
        let region = mesh.regions()[at.element] as usize;
        Some(raw.materials.get(region)?.vs == 0.0)
    };
    quakes.points.iter().map(|x| is_fluid(x) == Some(true)).collect()
}

/// The lowest and the highest coordinate of a mesh along an axis.
fn reach<const D: usize>(mesh: &Mesh<D>, c: usize) -> [f64; 2] {
    let ends = [f64::INFINITY, f64::NEG_INFINITY];
    mesh.nodes()
        .iter()
        .fold(ends, |[low, high], x| [low.min(x[c]), high.max(x[c])])
}

/// A point with three coordinates in the axes of a mesh.
fn along<const D: usize>(point: &[f64; 3]) -> [f64; D] {
    std::array::from_fn(|c| point[c])
}

/// For each moment, whether it follows the Gaussian itself: with fluid=specfem this is true of moments in fluids whose
/// time function comes from the file.
fn bells(job: &Job, quakes: &Quakes, in_fluids: &[bool], own: bool) -> anyhow::Result<Vec<bool>> {
    let wet = |k: usize| own && in_fluids[k] && matches!(quakes.mechanisms[k], TurnedMechanism::Moment(_));
    let wet: Vec<bool> = (0..quakes.mechanisms.len()).map(wet).collect();
    let Some(first) = wet.iter().position(|wet| *wet) else {
        if job.given("fluid") {
            job.warn(
                "fluid= has no effect: no moment tensor of cmt= with its own half duration is in a fluid",
            );
        }
        return Ok(vec![false; wet.len()]);
    };
    if job.given("fluid") {
        return Ok(wet
            .iter()
            .map(|wet| *wet && job.choice("fluid").is_ok_and(|word| word == "specfem"))
            .collect());
    }
    job.warn(&format!(
        "{} is in a fluid: its moment grows to its value as in a solid, whereas in SPECFEM3D a moment in a \
        fluid follows a Gaussian, so that the pressure is the derivative of the pressure here; fluid=specfem does \
        the same, and fluid=moment keeps the growing moment without a warning",
        quakes.names[first]
    ));
    Ok(vec![false; wet.len()])
}

/// A radial model at the points of elements.
struct Earth {
    model: Radial,
    /// For each region, whether its solids have 21 constants.
    general: Vec<bool>,
}

impl<const D: usize> PointMedia<D> for Earth {
    fn of_element(&self, _: usize, region: usize, positions: &[[f64; D]]) -> Option<Vec<PointMedium>> {
        let point = |(medium, speeds)| PointMedium {
            medium,
            speeds,
            loss: None,
        };
        let media = self.model.media(positions, self.general[region]);
        Some(media.into_iter().map(point).collect())
    }
}

fn radius<const D: usize>(x: &[f64; D]) -> f64 {
    x.iter().map(|c| c * c).sum::<f64>().sqrt()
}

/// Fills the regions with the model of model=, if it is given; `radius=` or the mesh gives the radius of its
/// surface.
pub fn fill<const D: usize>(
    job: &Job,
    raw: &RawMesh,
    mesh: &Mesh<D>,
    rocks: &mut Rocks<D>,
) -> anyhow::Result<()> {
    let word = match D {
        3 => job.text("model")?,
        _ => None,
    };
    let Some(word) = word else {
        return Ok(());
    };
    if rocks.model.is_some() || rocks.media.iter().any(|m| matches!(m.law, Law::Anisotropic(_))) {
        bail!(
            "model= and vp=, vs=, den=, qp=, qs= or ccc= all fill the mesh: leave out model= or the others"
        );
    }
    let model = earth::open_model(&word)?;
    let Ground::Globe { radius: surface, .. } = Ground::of(job, raw.radius)? else {
        bail!(
            "model= needs a mesh of the Earth (sfhexmesh sphere=y), or radius=, the radius of its surface in m"
        );
    };
    if (surface / model.surface() - 1.0).abs() > 1e-6 {
        bail!(
            "the surface of the mesh has a radius of {surface} m, the surface of model={word} one of {} m: they must \
            be the same",
            model.surface()
        );
    }
    let mut general = vec![false; rocks.media.len()];
    for (element, region) in mesh.regions().iter().enumerate() {
        let nodes = mesh.coordinates(element);
        let inside = nodes.iter().map(radius).sum::<f64>() / nodes.len() as f64;
        for node in &nodes {
            let matter = model.seen_from(inside, radius(node));
            general[*region as usize] |= !matter.is_isotropic();
            let fluid = matches!(rocks.media[*region as usize].law, Law::Fluid(_));
            if fluid != (matter.vsv == 0.0) {
                bail!(
                    "element {element} at a radius of {inside} m is {} in materials= but {} in model={word}: faces of elements must lie on the boundaries between the fluids and solids of the model (sfhexmesh sphere=y model= makes such a mesh)",
                    if fluid { "fluid" } else { "solid" },
                    if fluid { "solid" } else { "fluid" }
                );
            }
        }
    }
    for (medium, general) in rocks.media.iter_mut().zip(&general) {
        if *general {
            // The law is of the same kind as the law of the points; the constants come from the model.
            medium.law = Law::Anisotropic(Box::new([[0.0; 6]; 6]));
        }
    }
    rocks.sum = checksum(&model);
    rocks.varies = true;
    rocks.model = Some(Box::new(Earth { model, general }));
    Ok(())
}

/// A checksum of a model.
fn checksum(model: &Radial) -> u64 {
    let sample = |layer: &Layer| {
        let at = |k: u32| layer.bottom + (layer.top - layer.bottom) * f64::from(k) / 64.0;
        let seen = |k: u32| model.seen_from((layer.bottom + layer.top) / 2.0, at(k));
        format!(
            "{} {} {:?}",
            layer.bottom,
            layer.top,
            (0..=64).map(seen).collect::<Vec<_>>()
        )
    };
    let all = model.layers().iter();
    all.fold(Checksum::new(), |sum, layer| sum.with_text(&sample(layer)))
        .end()
}

/// Refuses outputs on the ground of a globe.
pub fn refuse_ground(job: &Job, raw: &RawMesh) -> anyhow::Result<()> {
    if raw.radius.is_some() && ["ground", "pgd", "pgv", "pga"].iter().any(|word| job.given(word)) {
        bail!(
            "ground=, pgd=, pgv= and pga= are for meshes with z downwards: on a globe give places by stations= or rec="
        );
    }
    Ok(())
}
