//! Models that depend on the radius alone: PREM by its name, and others from text.

use anyhow::{Context, Result, bail};

use super::read_text;
use kernels::earth::{Layer, Matter, Profile, Radial};

/// The least thickness of a layer, m; a thinner one is considered a mistake.
const THINNEST: f64 = 1.0;

/// The model that a word names: `prem`, `prem-ti` (transversely isotropic), or a file.
///
/// A file has rows of radius (m, ascending from the centre), density (kg/m3), P and S velocity (m/s); then, optionally,
/// the quality factors of bulk and shear modulus; then, optionally, horizontal P and S velocity and eta. This is the
/// order of a Mineos deck. Two rows with the same radius form a discontinuity. Lines that begin with # and the first
/// three lines of a deck are skipped.
///
/// # Errors
/// Returns an error for a file that cannot be read, or a row with impossible properties.
pub fn open(word: &str) -> Result<Radial> {
    match word {
        "prem" => Ok(Radial::prem(true)),
        "prem-ti" => Ok(Radial::prem(false)),
        file => {
            let text = read_text(file)
                .with_context(|| format!("cannot read model={file}; models by name are prem and prem-ti"))?;
            read(&text).with_context(|| format!("model={file}"))
        }
    }
}

/// Reads a model from text.
fn read(text: &str) -> Result<Radial> {
    let lines = text.lines().enumerate().map(|(k, line)| (k + 1, line.trim()));
    let mut rows: Vec<(f64, Matter)> = Vec::new();
    let mut columns = 0;
    let title = text.lines().next().is_some_and(|first| {
        let first = first.trim();
        !first.is_empty() && !first.starts_with('#') && numbers(first).is_none()
    });
    for (number, line) in lines.skip(if title { 3 } else { 0 }) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let Some(row) = numbers(line) else {
            bail!("line {number} is `{line}`; rows are numbers: radius rho vp vs [qkappa qmu [vph vsh eta]]");
        };
        if ![4, 6, 9].contains(&row.len()) || (columns != 0 && row.len() != columns) {
            bail!(
                "line {number} has {} numbers; all rows have 4, all 6 or all 9: radius rho vp vs [qkappa qmu [vph vsh eta]]",
                row.len()
            );
        }
        columns = row.len();
        let (radius, matter) = matter(&row, number)?;
        if let Some(last) = rows.last().filter(|last| radius < last.0) {
            bail!(
                "line {number} has the radius {radius} m after {} m; rows go from the centre to the surface",
                last.0
            );
        }
        rows.push((radius, matter));
    }
    layers(&rows)
}

fn numbers(line: &str) -> Option<Vec<f64>> {
    line.split_whitespace().map(|word| word.parse().ok()).collect()
}

/// A row as radius and matter.
fn matter(row: &[f64], number: usize) -> Result<(f64, Matter)> {
    let quality = |k: usize| match row.get(k) {
        Some(q) if *q > 0.0 => *q,
        _ => f64::INFINITY,
    };
    let mut matter = Matter::isotropic(row[1], row[2], row[3], [quality(4), quality(5)]);
    if let [vph, vsh, eta] = row[row.len().min(6)..] {
        (matter.vph, matter.vsh, matter.eta) = (vph, vsh, eta);
    }
    let Matter {
        density,
        vpv,
        vph,
        vsv,
        vsh,
        eta,
        ..
    } = matter;
    let solid = 4.0 * vsv * vsv < 3.0 * vpv * vpv && 4.0 * vsh * vsh < 3.0 * vph * vph;
    let sound =
        row[0] >= 0.0 && density > 0.0 && vpv > 0.0 && vph > 0.0 && vsv >= 0.0 && vsh >= 0.0 && eta > 0.0;
    if !sound || !solid || (vsv == 0.0) != (vsh == 0.0) || row[..4].iter().any(|v| !v.is_finite()) {
        bail!(
            "line {number} has radius {} m, rho {density}, P speeds {vpv} and {vph}, S speeds {vsv} and \
            {vsh}, eta {eta}: no material has these properties; units are m, kg/m3 and m/s, and S speeds must \
            be below 0.866 of P speeds",
            row[0]
        );
    }
    Ok((row[0], matter))
}

/// The layers between the discontinuities.
fn layers(rows: &[(f64, Matter)]) -> Result<Radial> {
    let mut layers = Vec::new();
    for rows in rows.chunk_by(|a, b| a.0 < b.0) {
        let (bottom, top) = (rows[0].0, rows[rows.len() - 1].0);
        if top - bottom < THINNEST {
            bail!(
                "the layer at the radius {bottom} m is {} m thick: a discontinuity is two rows with the same \
                radius",
                top - bottom
            );
        }
        if rows
            .iter()
            .any(|row| (row.1.vsv == 0.0) != (rows[0].1.vsv == 0.0))
        {
            bail!(
                "between {bottom} and {top} m solid rows follow fluid ones: there must be a discontinuity, \
                which is two rows with the same radius"
            );
        }
        layers.push(Layer {
            bottom,
            top,
            profile: Profile::Table(rows.to_vec()),
        });
    }
    Radial::new(layers).context(
        "it has fewer than two rows; give at least the centre (or the deepest radius) and the surface",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_and_decks_are_read_alike() {
        let plain = "# a ball\n0 5000 9000 5000\n3000 5000 9000 5000\n3000 3000 6000 0\n\n4000 2000 5000 0\n";
        let model = read(plain).unwrap();
        assert_eq!(model.discontinuities(), [3000.0]);
        assert_eq!(model.seen_from(3500.0, 3500.0).vpv, 5500.0);
        assert_eq!(model.seen_from(3500.0, 3000.0).vsv, 0.0);
        let deck = "a ball\n 1 1. 1\n 4 1 2\n0. 5000. 9000. 5000. 57823. 312. 9100. 5100. 1.0\n4000. 5000. 9000. 5000. 0 0 9100. 5100. 0.9";
        let matter = read(deck).unwrap().seen_from(1.0, 0.0);
        assert_eq!((matter.vph, matter.vsh, matter.q_mu), (9100.0, 5100.0, 312.0));
        assert!(!matter.is_isotropic());
    }

    #[test]
    fn what_is_no_model_gets_a_sentence() {
        for (text, word) in [
            ("", "fewer than two rows"),
            ("0 5000 9000 5000\n", "thick"),
            ("0 5000 9000 5000\n100 5000 9000\n", "3 numbers"),
            (
                "0 5000 9000 5000\n100 5000 9000 5000 600 300\n",
                "all rows have 4",
            ),
            ("0 5000 9000 5000\n100 5000 x 3\n", "line 2"),
            ("0 5000 9000 5000\n100 5000 9000 9000\n", "no material"),
            ("0 5000 9000 5000\n100 5000 9000 0\n", "discontinuity"),
            ("100 5000 9000 5000\n0 5000 9000 5000\n", "from the centre"),
            ("nan 5000 9000 5000\n0 5000 9000 5000\n", "no material"),
        ] {
            let error = format!("{:#}", read(text).unwrap_err());
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
