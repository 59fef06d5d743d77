//! What fills the regions: materials, tables of constants, attenuation.

use crate::meshing::RawMesh;
use anyhow::bail;
use kernels::mesh::Material;
use kernels::mesh::step::{Law, Medium};
use kernels::methods::spectral_elements::Relaxation;
use rsf_io::{Input, Job};

/// The quality factor from which on there is no loss.
const LOSSLESS: f64 = 9000.0;

/// The media of the regions.
pub struct Rocks {
    /// One a region.
    pub media: Vec<Medium>,
    /// P and S speed, m/s.
    pub speeds: Vec<[f64; 2]>,
    /// Attenuation, where sls= or quality factors give it.
    pub relaxations: Option<Vec<Relaxation>>,
}

impl Rocks {
    /// The media with the unrelaxed moduli, which are the largest.
    pub fn unrelaxed(&self) -> Vec<Medium> {
        let Some(relaxations) = &self.relaxations else {
            return self.media.clone();
        };
        let stiffen = |(medium, relaxation): (&Medium, &Relaxation)| {
            let mut medium = medium.clone();
            if let Law::Isotropic { lambda, mu } = &mut medium.law {
                let bulk = (*lambda + 2.0 / 3.0 * *mu) * relaxation.factors[1];
                *mu *= relaxation.factors[0];
                *lambda = bulk - 2.0 / 3.0 * *mu;
            }
            medium
        };
        self.media.iter().zip(relaxations).map(stiffen).collect()
    }
}

/// The lower end of the band of constant Q as a share of the upper one.
const BAND: f64 = 1.0 / 12.0;

/// Reads ccc= and sls= beside the materials of the mesh; `highest` is the highest frequency of the sources, Hz.
pub fn read(job: &mut Job, raw: &RawMesh, highest: f64) -> anyhow::Result<Rocks> {
    let regions = raw.materials.len();
    let tables = rows(job, "ccc", 21, regions)?;
    let laws = rows(job, "sls", 11, regions)?;
    let anisotropic = raw.materials.iter().position(|m| m.anisotropic);
    if let (Some(region), None) = (anisotropic, &tables) {
        bail!(
            "region {region} takes its constants from a table (column 6 of materials=), and ccc= is missing"
        );
    }
    if tables.is_some() && anisotropic.is_none() {
        job.warn("ccc= has no effect: no row of materials= has a 1 in column 6");
    }
    let relaxations = match laws {
        Some(laws) => {
            for word in ["qband", "qref"].into_iter().filter(|word| job.given(word)) {
                job.warn(&format!(
                    "{word}= has no effect beside sls=, which says all of attenuation"
                ));
            }
            Some(relaxations(&laws)?)
        }
        None => constant(job, raw, highest)?,
    };
    let mut media = Vec::with_capacity(regions);
    for (region, m) in raw.materials.iter().enumerate() {
        let mut medium = Medium::isotropic(m.density, m.vp, m.vs);
        if let Some(tables) = tables.as_ref().filter(|_| m.anisotropic) {
            medium.law = Law::Anisotropic(Box::new(constants(&tables[region * 21..][..21], region)?));
        }
        media.push(medium);
    }
    Ok(Rocks {
        media,
        speeds: raw.materials.iter().map(|m| [m.vp, m.vs]).collect(),
        relaxations,
    })
}

/// Laws of constant Q from the materials, where any solid has losses.
fn constant(job: &Job, raw: &RawMesh, highest: f64) -> anyhow::Result<Option<Vec<Relaxation>>> {
    let mut lossy = false;
    for (region, m) in raw.materials.iter().enumerate().filter(|(_, m)| m.vs > 0.0) {
        for (name, q) in [("Qkappa", m.q_kappa), ("Qmu", m.q_mu)] {
            if q.is_nan() || q <= 0.0 {
                bail!(
                    "region {region} has {name}={q} in materials=: quality factors are above zero, and 9999 is no loss"
                );
            }
            lossy |= q < LOSSLESS;
        }
    }
    let band = match job.floats("qband")?.as_slice() {
        [] => [BAND * highest, highest],
        &[low, high] => [f64::from(low), f64::from(high)],
        list => bail!(
            "qband= has {} numbers; it takes two, lowest and highest frequency",
            list.len()
        ),
    };
    if !lossy {
        for word in ["qband", "qref"].into_iter().filter(|word| job.given(word)) {
            job.warn(&format!(
                "{word}= has no effect: no solid of materials= has a quality factor below {LOSSLESS}"
            ));
        }
        return Ok(None);
    }
    let reference = job.double_opt("qref")?.unwrap_or((band[0] * band[1]).sqrt());
    if !(band[0] > 0.0 && band[1] >= band[0] && band[1].is_finite() && reference > 0.0) {
        bail!(
            "the band of constant Q is {} to {} Hz with the reference {reference} Hz: they must be positive and in this order; give qband= and qref=",
            band[0],
            band[1]
        );
    }
    let quality = |q: f64| if q < LOSSLESS { q } else { f64::INFINITY };
    let law = |m: &Material| match m.vs > 0.0 {
        true => Relaxation::constant([quality(m.q_mu), quality(m.q_kappa)], band, reference),
        false => Relaxation::constant([f64::INFINITY; 2], band, reference),
    };
    Ok(Some(raw.materials.iter().map(law).collect()))
}

/// The numbers of a file of `columns` a region, if it is given.
fn rows(job: &mut Job, word: &str, columns: usize, regions: usize) -> anyhow::Result<Option<Vec<f64>>> {
    if !job.has_input(word) {
        return Ok(None);
    }
    let mut file: Input = job.input(word)?;
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
    Ok(Some(values.into_iter().map(f64::from).collect()))
}

/// The whole of a symmetric table, from its upper triangle row by row.
fn constants(row: &[f64], region: usize) -> anyhow::Result<[[f64; 6]; 6]> {
    let mut table = [[0.0; 6]; 6];
    let pairs = (0..6).flat_map(|i| (i..6).map(move |j| (i, j)));
    for ((i, j), c) in pairs.zip(row) {
        (table[i][j], table[j][i]) = (*c, *c);
    }
    // Cholesky: every pivot of a stable medium is above zero.
    let mut rest = table;
    for k in 0..6 {
        let pivot = rest[k][k];
        if pivot <= 1e-9 * table[k][k].abs() {
            bail!(
                "ccc=: the constants of region {region} are not positive definite (row {}): no rock is like that; look at the order c11 c12 c13 ... c66 and at the unit, Pa",
                k + 1
            );
        }
        for i in k + 1..6 {
            for j in k + 1..6 {
                rest[i][j] -= rest[i][k] * rest[k][j] / pivot;
            }
        }
    }
    Ok(table)
}

/// Rows of tau_sigma (3), tau_epsilon of mu (3) and of kappa (3), factors on mu and kappa.
fn relaxations(rows: &[f64]) -> anyhow::Result<Vec<Relaxation>> {
    let row = |(region, r): (usize, &[f64])| {
        if r.iter().any(|v| *v <= 0.0) {
            bail!(
                "sls=: row {region} has a number that is not above zero: it takes tau_sigma, tau_epsilon of mu and of kappa (three each, s), and the factors on mu and kappa"
            );
        }
        let three = |k: usize| [r[k], r[k + 1], r[k + 2]];
        Ok(Relaxation {
            tau_stress: three(0),
            tau_shear: three(3),
            tau_bulk: three(6),
            factors: [r[9], r[10]],
        })
    };
    rows.chunks_exact(11).enumerate().map(row).collect()
}
