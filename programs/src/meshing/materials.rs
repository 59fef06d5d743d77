//! The table of materials in a folder of SPECFEM3D: rows of numbers, and tomography files.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, bail};
use kernels::mesh::Material;

use super::scanner::Scanner;
use super::{LOSSLESS, Tomography};

/// Folders that are searched for tomography files.
const TOMOGRAPHY: [&str; 5] = [
    "",
    "tomo_files/",
    "../tomo_files/",
    "DATA/tomo_files/",
    "../DATA/tomo_files/",
];

/// Two functions: one gives the name of a file in messages, and the other gives its bytes.
pub(super) type Opening<'a> = (
    &'a dyn Fn(&str) -> String,
    &'a dyn Fn(&str) -> Result<Option<Vec<u8>>>,
);

/// Reads the tomography files that elements use.
pub(super) fn open_tomography(table: &mut [Row], numbers: &[i64], (shown, open): Opening) -> Result<()> {
    for row in table {
        let Matter::Named(domain, file) = &row.matter else {
            continue;
        };
        if !numbers.contains(&row.number) {
            continue;
        }
        let mut tomography = None;
        for folder in TOMOGRAPHY {
            let place = format!("{folder}{file}");
            if let (None, Some(bytes)) = (&tomography, open(&place)?) {
                tomography = Some(Tomography::read(&shown(&place), &bytes)?);
            }
        }
        let Some(model) = tomography else {
            bail!(
                "material {} is defined by the tomography file {}, which was not found there, nor in \
                tomo_files or DATA/tomo_files inside the mesh folder or next to it; put it into the mesh \
                folder",
                row.number,
                shown(file)
            );
        };
        let [vp, vs, density] = model.least();
        if *domain == 2 && vs <= 0.0 {
            bail!(
                "{} has vs={vs}, but material {} is elastic: vs must be above zero at all nodes",
                model.name,
                row.number
            );
        }
        let material = Material {
            density,
            vp,
            vs: if *domain == 2 { vs } else { 0.0 },
            q_kappa: LOSSLESS,
            q_mu: LOSSLESS,
            anisotropic: false,
        };
        row.matter = Matter::Model(material, Arc::new(model));
    }
    Ok(())
}

/// A row of the table of materials.
pub(super) struct Row {
    pub(super) number: i64,
    pub(super) matter: Matter,
}

/// The material of a row.
pub(super) enum Matter {
    Rock(Material),
    /// The domain, and the tomography file.
    Named(i64, String),
    /// The smallest values in a tomography file, and its model.
    Model(Material, Arc<Tomography>),
    /// A material that is not supported, described by the end of a message.
    Unread(&'static str),
}

/// Materials with their numbers, in the order of the file.
pub(super) fn materials(scanner: &mut Scanner) -> Result<Vec<Row>> {
    let mut rows: Vec<Row> = Vec::new();
    while let Some(word) = scanner.peek() {
        let mut line = scanner.this_line();
        scanner.line();
        if word.starts_with(b"#") || word.starts_with(b"!") {
            continue;
        }
        let domain: i64 = line.number("domain, 1 acoustic or 2 elastic")?;
        let number: i64 = line.number("number of a material")?;
        let matter = match (domain, number) {
            (1..=3, ..0) => from_file(&mut line, domain),
            (1..=3, 0) => {
                return Err(
                    line.wrong("a material has the number 0; they are numbered from 1, or from -1 downwards")
                );
            }
            (1 | 2, _) => Matter::Rock(rock(&mut line, domain, number)?),
            (3, _) => Matter::Unread(
                "which is poroelastic; only acoustic (1) and elastic (2) materials are supported",
            ),
            _ => return Err(line.wrong(format!("domain {domain} is not known; 1 is acoustic, 2 elastic"))),
        };
        if rows.iter().any(|row| row.number == number) {
            return Err(line.wrong(format!("material {number} is given twice")));
        }
        rows.push(Row { number, matter });
    }
    Ok(rows)
}

/// Reads the remaining words in the row of a material with a negative number: `tomography elastic name`.
fn from_file(line: &mut Scanner, domain: i64) -> Matter {
    let mut word = || line.word("").unwrap_or_default().to_string();
    let (kind, _, file) = (word(), word(), word());
    let last = Path::new(&file)
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    match (kind.as_str(), domain, last) {
        ("tomography", 1 | 2, Some(file)) => Matter::Named(domain, file),
        _ => Matter::Unread(
            "of interfaces or poroelastic, which is not supported; give the region its own row, and its \
            speeds later as vp=, vs=, den=",
        ),
    }
}

/// Reads the remaining values of a row; words after them are ignored, as in SPECFEM3D.
fn rock(line: &mut Scanner, domain: i64, number: i64) -> Result<Material> {
    let mut row = [0.0; 6];
    for (value, what) in row
        .iter_mut()
        .zip(["density", "vp", "vs", "Q_kappa", "Q_mu", "anisotropy flag"])
    {
        if line.peek().is_none() {
            return Err(line.wrong(format!(
                "material {number} ends where {what} should be; a row has domain, number, density, vp, vs, Q_kappa, Q_mu and an anisotropy flag"
            )));
        }
        *value = line.real(what)?;
    }
    let [density, vp, vs, q_kappa, q_mu, flag] = row;
    if !(density > 0.0 && vp > 0.0 && vs >= 0.0 && (domain == 2) == (vs > 0.0)) {
        return Err(line.wrong(format!(
            "material {number} has rho={density} vp={vp} vs={vs}; they must be above zero, except that vs \
            may be zero in domain 1"
        )));
    }
    Ok(Material {
        density,
        vp,
        vs,
        q_kappa,
        q_mu,
        anisotropic: flag > 0.0,
    })
}
