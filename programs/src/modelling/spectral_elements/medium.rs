//! The media of the regions: materials, tables of constants, attenuation, models on grids.

use super::grids;
use super::quality::{self, Fit};
use super::tomography;
use crate::meshing::RawMesh;
use crate::modelling::exact_time::Timing;
use crate::modelling::model::{IN_PLACE, SHEARS};
use anyhow::{bail, ensure};
use kernels::mesh::step::{Law, Medium};
use kernels::mesh::{Basis, Material, Mesh};
use kernels::methods::spectral_elements::{
    Attenuation, Followed, Grain, GridModel, Lattice, Pml, PointMedia, Relaxation, not_definite,
};
use rsf_io::{Input, Job};

/// The quality factor at and above which there is no attenuation.
pub const LOSSLESS: f64 = 9000.0;

/// The media of the regions, and a model that varies inside them.
pub struct Rocks<const D: usize> {
    /// One medium for each region.
    pub media: Vec<Medium>,
    /// P and S velocity of each region, m/s.
    pub speeds: Vec<[f64; 2]>,
    /// Attenuation, if sls= or quality factors give it, and the distribution of its mechanisms.
    pub relaxations: Option<Vec<Relaxation>>,
    pub grain: Grain,
    /// The strain to which its mechanisms respond.
    pub followed: Followed,
    /// The quality factors qp= and qs=, each a single number or one number for each node.
    pub quality: Option<[Vec<f32>; 2]>,
    /// Whether a model varies within the regions.
    pub varies: bool,
    /// The media of points, if they differ from the media of the regions.
    pub model: Option<Box<dyn PointMedia<D>>>,
    /// The grid of the model, if it is on one, and the number of such grids.
    pub lattice: Option<(Lattice<D>, usize)>,
    /// Row and column (from 0) in the Voigt matrix of the constants on that grid, in the order of their
    /// planes.
    pub constants: Vec<[usize; 2]>,
    /// The number of bytes of the model, and its checksum.
    pub held: usize,
    pub sum: u64,
}

/// The largest fraction of a modulus that one coarse-grained mechanism may take at its point.
const MOST_COARSE: f64 = 0.15;

/// Opens constants on a grid, all of which must be those at the nodes.
fn on_nodes(file: Input) -> anyhow::Result<Input> {
    ensure!(
        file.header().text(SHEARS).as_deref() != Some(IN_PLACE),
        "ccc= has shears=staggered in its header: its shear stiffnesses are half a cell beyond the nodes, \
        for sfvsfd2d-gpu and sfvsfd3d-gpu; make the model for meshes (sflayers or sfupscale with \
        scheme=collocated)"
    );
    Ok(file)
}

/// Reads the media of the mesh: its materials, ccc=, sls=, and models on grids. Relaxation times are
/// corrected for the time of the steps.
pub fn read<const D: usize>(
    job: &mut Job,
    raw: &RawMesh,
    (mesh, basis, layers): (&Mesh<D>, &Basis, Option<&Pml<D>>),
    timing: &Timing,
) -> anyhow::Result<Rocks<D>> {
    let regions = raw.materials.len();
    let (mut tables, mut planes) = (None, None);
    if job.has_input("ccc") {
        let file = job.input("ccc")?;
        match grids::constants_on_a_grid(&file, regions) {
            true => planes = Some(on_nodes(file)?),
            false => tables = Some(rows("ccc", file, 21, regions)?),
        }
    }
    let on_a_grid = planes.is_some();
    let laws = match job.has_input("sls") {
        true => {
            let file = job.input("sls")?;
            Some(rows("sls", file, 11, regions)?)
        }
        false => None,
    };
    if laws.is_some() && (job.given("qp") || job.given("qs")) {
        bail!("sls= and qp=, qs= both describe the attenuation: leave out one of them");
    }
    let model = match raw.tomography.is_empty() {
        true => grids::read(job, (mesh, basis), (&raw.materials, layers), planes, |job| {
            quality::band(job, timing)
        })?,
        false => Some(tomography::read(job, raw, mesh, basis)?),
    };
    let (model, sum) = model.map_or((None, 0), |(model, sum)| (Some(model), sum));
    let anisotropic = raw.materials.iter().position(|m| m.anisotropic);
    if let (Some(region), None, false) = (anisotropic, &tables, on_a_grid) {
        bail!(
            "region {region} takes its constants from a table (column 6 of materials=), but ccc= is missing"
        );
    }
    if tables.is_some() && anisotropic.is_none() {
        job.warn("ccc= has no effect: no row of materials= has a 1 in column 6");
    }
    if let (Some(_), Some(_)) = (&tables, &model) {
        bail!(
            "ccc= with one row per region and models on grids both fill the mesh: give ccc= on the grid, \
            too, or leave out one of them"
        );
    }
    let relaxations = match laws {
        Some(laws) => {
            for word in ["qband", "qref", "qfit"]
                .into_iter()
                .filter(|word| job.given(word))
            {
                job.warn(&format!(
                    "{word}= has no effect with sls=, which defines the whole attenuation"
                ));
            }
            Some(relaxations(&laws, timing)?)
        }
        None if job.given("qp") => model.as_ref().and_then(GridModel::relaxations),
        None => constant(job, raw, (mesh, basis), timing)?,
    };
    Ok(Rocks {
        media: media(&raw.materials, tables.as_deref(), on_a_grid)?,
        speeds: raw.materials.iter().map(|m| [m.vp, m.vs]).collect(),
        grain: grain::<D>(job, relaxations.as_deref(), basis)?,
        followed: followed(timing),
        relaxations,
        lattice: model.as_ref().and_then(GridModel::lattice),
        quality: model.as_ref().and_then(GridModel::quality).cloned(),
        varies: model.as_ref().is_some_and(|model| model.lattice().is_some()),
        constants: model.as_ref().map_or_else(Vec::new, GridModel::constants),
        held: model.as_ref().map_or(0, GridModel::bytes),
        model: model.map(|model| Box::new(model) as Box<dyn PointMedia<D>>),
        sum,
    })
}

/// The media of the regions, some of which have rows of `tables`.
fn media(materials: &[Material], tables: Option<&[f64]>, on_a_grid: bool) -> anyhow::Result<Vec<Medium>> {
    let medium = |(region, m): (usize, &Material)| {
        let mut medium = Medium::isotropic(m.density, m.vp, m.vs);
        if let Some(tables) = tables.filter(|_| m.anisotropic) {
            medium.law = Law::Anisotropic(Box::new(constants(&tables[region * 21..][..21], region)?));
        }
        if on_a_grid && m.vs > 0.0 {
            // The law is of the same kind as the law of the points; the constants come from the grid.
            medium.law = Law::Anisotropic(Box::new([[0.0; 6]; 6]));
        }
        Ok(medium)
    };
    materials.iter().enumerate().map(medium).collect()
}

impl<const D: usize> Rocks<D> {
    /// The attenuation in the form that the method needs.
    pub fn attenuation(&self) -> Option<Attenuation<'_>> {
        self.relaxations.as_deref().map(|regions| Attenuation {
            regions,
            grain: self.grain,
            followed: self.followed,
        })
    }
}

/// The strain to which the mechanisms respond.
fn followed(timing: &Timing) -> Followed {
    match timing.exact {
        Some(_) => Followed::OfNow,
        None => Followed::Predicted,
    }
}

/// The distribution of the mechanisms, by qmech=.
fn grain<const D: usize>(job: &Job, laws: Option<&[Relaxation]>, basis: &Basis) -> anyhow::Result<Grain> {
    let choice = job.choice("qmech")?;
    let Some(laws) = laws else {
        if job.given("qmech") {
            job.warn("qmech= has no effect: there is no attenuation");
        }
        return Ok(Grain::Fine);
    };
    if choice != "coarse" {
        return Ok(Grain::Fine);
    }
    let most = laws
        .iter()
        .map(|law| law.coarse_share::<D>(basis))
        .fold(0.0, f64::max);
    if most >= MOST_COARSE {
        bail!(
            "qmech=coarse: a mechanism takes {:.0} % of the modulus at its point, but at most {:.0} % are \
            accurate: the quality factors are too low for one mechanism per point; qmech=3 has all three at \
            each point",
            100.0 * most,
            100.0 * MOST_COARSE
        );
    }
    Ok(Grain::Coarse)
}

/// The laws of constant Q from the materials, if any solid attenuates.
fn constant<const D: usize>(
    job: &Job,
    raw: &RawMesh,
    (mesh, basis): (&Mesh<D>, &Basis),
    timing: &Timing,
) -> anyhow::Result<Option<Vec<Relaxation>>> {
    let mut lossy = false;
    for (region, m) in raw.materials.iter().enumerate().filter(|(_, m)| m.vs > 0.0) {
        for (name, q) in [("Qkappa", m.q_kappa), ("Qmu", m.q_mu)] {
            if q.is_nan() || q < 1.0 {
                bail!(
                    "region {region} has {name}={q} in materials=: quality factors must be 1 or more (rock \
                    has 20 to 1000), and 9999 means no attenuation"
                );
            }
            lossy |= q < LOSSLESS;
        }
    }
    if !lossy {
        for word in ["qband", "qref", "qfit"]
            .into_iter()
            .filter(|word| job.given(word))
        {
            job.warn(&format!(
                "{word}= has no effect: no solid of materials= has a quality factor below {LOSSLESS}"
            ));
        }
        return Ok(None);
    }
    let fit = Fit::of(job)?;
    let law = quality::law(job, timing, fit, || quality::resolved(raw, mesh, basis))?;
    let of = |m: &Material| {
        law(if m.vs > 0.0 {
            [m.q_mu, m.q_kappa]
        } else {
            [LOSSLESS; 2]
        })
    };
    Ok(Some(raw.materials.iter().map(of).collect()))
}

/// The numbers of a file with `columns` numbers for each region.
fn rows(word: &str, mut file: Input, columns: usize, regions: usize) -> anyhow::Result<Vec<f64>> {
    let (name, n1) = (file.name(), file.axis(1).n);
    if n1 != columns || file.len() != (columns * regions) as u64 {
        bail!(
            "{name} has n1={n1} and {} values; {word}= takes n1={columns} for each of the {regions} regions of the mesh",
            file.len()
        );
    }
    let values = file.read_all_f32()?;
    if let Some(bad) = values.iter().position(|v| !v.is_finite()) {
        bail!(
            "{name}: value {} is {}; all must be finite numbers",
            bad + 1,
            values[bad]
        );
    }
    Ok(values.into_iter().map(f64::from).collect())
}

/// A symmetric table, from its upper triangle row by row.
fn constants(row: &[f64], region: usize) -> anyhow::Result<[[f64; 6]; 6]> {
    let mut table = [[0.0; 6]; 6];
    let pairs = (0..6).flat_map(|i| (i..6).map(move |j| (i, j)));
    for ((i, j), c) in pairs.zip(row) {
        (table[i][j], table[j][i]) = (*c, *c);
    }
    if let Some(row) = not_definite::<3>(&table) {
        bail!(
            "ccc=: the constants of region {region} are not positive definite (row {row}), which is \
            impossible for rock; check the order c11 c12 c13 ... c66 and the unit, Pa"
        );
    }
    Ok(table)
}

/// Reads rows of tau_sigma (3), tau_epsilon of mu (3) and of kappa (3), and factors on mu and kappa.
fn relaxations(rows: &[f64], timing: &Timing) -> anyhow::Result<Vec<Relaxation>> {
    let row = |(region, r): (usize, &[f64])| {
        if r.iter().any(|v| *v <= 0.0) {
            bail!(
                "sls=: row {region} has a number that is not above zero: it takes tau_sigma, tau_epsilon of mu and of kappa (three each, s), and the factors on mu and kappa"
            );
        }
        let three = |k: usize| [r[k], r[k + 1], r[k + 2]].map(|time| time * timing.relaxation());
        Ok(Relaxation {
            tau_stress: three(0),
            tau_shear: three(3),
            tau_bulk: three(6),
            factors: [r[9], r[10]],
        })
    };
    rows.chunks_exact(11).enumerate().map(row).collect()
}
