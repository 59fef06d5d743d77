//! Flat layers in a text file: a one-dimensional model, as catalogues and papers print it.

use anyhow::{Context, Result, bail};

use super::read_text;

/// The rock of a layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rock {
    /// P and S velocity, m/s; S is 0 in a fluid.
    pub speeds: [f32; 2],
    /// Density, kg/m3.
    pub density: f32,
    /// Quality factors of P and S waves; 0 means no attenuation. `None` if the table has no such columns.
    pub quality: Option<[f32; 2]>,
}

/// Flat layers, from the top down.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// z of the top of each layer, m, ascending; the first layer extends up to the top of the model.
    tops: Vec<f64>,
    rocks: Vec<Rock>,
}

impl Table {
    /// The layers of a file: rows of depth of the top (m), vp, vs (m/s), density (kg/m3) and, optionally, Qp and Qs (0:
    /// no attenuation), from the top down. Commas are treated as spaces; empty lines and lines that begin with # are
    /// skipped. The first remaining line may be a heading, which begins with a letter; if it names the columns, they
    /// may be in another order.
    ///
    /// # Errors
    /// Returns an error for a file that cannot be read, or a row that does not describe a layer.
    pub fn open(name: &str) -> Result<Self> {
        let text = read_text(name).with_context(|| format!("cannot read layers={name}"))?;
        Self::read(&text).with_context(|| format!("layers={name}"))
    }

    fn read(text: &str) -> Result<Self> {
        let mut table = Self {
            tops: Vec::new(),
            rocks: Vec::new(),
        };
        let lines = text.lines().enumerate().map(|(k, line)| (k + 1, line.trim()));
        let rows = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let mut places = None;
        for (k, (number, line)) in rows.enumerate() {
            if line.starts_with(char::is_alphabetic) {
                if k == 0 {
                    places = places_of(line).with_context(|| format!("line {number} is `{line}`"))?;
                    continue;
                }
                bail!(
                    "line {number} is `{line}`; after the first line, which may be a heading, rows are \
                    numbers: depth vp vs rho [qp qs]. Begin comments with #"
                );
            }
            if has_decimal_commas(line) {
                bail!(
                    "line {number} is `{line}`; it has 4 or 6 numbers if its commas are decimal ones, but in \
                    this file commas separate columns: write a point in their place, as in 2.5"
                );
            }
            let words = line.split([',', ' ', '\t', ';']).filter(|word| !word.is_empty());
            let numbers: Option<Vec<f64>> = words.map(|word| word.parse().ok()).collect();
            let Some(row) = numbers.filter(|row| row.iter().all(|x| x.is_finite())) else {
                bail!("line {number} is `{line}`; rows are numbers: depth vp vs rho [qp qs]");
            };
            let ordered = match &places {
                Some(places) if places.len() == row.len() => places.iter().map(|k| row[*k]).collect(),
                Some(places) => bail!(
                    "line {number} has {} numbers, but the heading names {} columns",
                    row.len(),
                    places.len()
                ),
                None => row,
            };
            table
                .add(&ordered)
                .with_context(|| format!("line {number} is `{line}`"))?;
        }
        if table.rocks.is_empty() {
            bail!(
                "it has no layers; rows are depth of the top in m, vp and vs in m/s, density in kg/m3 [, Qp and Qs]"
            );
        }
        Ok(table)
    }

    fn add(&mut self, row: &[f64]) -> Result<()> {
        let (&[top, vp, vs, density], quality) = match row.len() {
            4 | 6 => row.split_first_chunk().expect("four numbers"),
            n => bail!("it has {n} numbers; rows have 4 or 6: depth vp vs rho [qp qs]"),
        };
        let quality = <[f64; 2]>::try_from(quality).ok();
        if self
            .rocks
            .first()
            .is_some_and(|first| first.quality.is_some() != quality.is_some())
        {
            bail!("either all rows have Qp and Qs, or none: write 0 where there is no attenuation");
        }
        if self.tops.last().is_some_and(|last| top <= *last) {
            bail!("its depth is not below that of the previous layer: rows must go from the top down");
        }
        if !(vp > 0.0 && density > 0.0 && vs >= 0.0 && 4.0 * vs * vs < 3.0 * vp * vp) {
            bail!(
                "no rock has these properties: vp and the density must be above 0, and vs must be from 0 (a \
                fluid) to 0.866 of vp"
            );
        }
        self.tops.push(top);
        self.rocks.push(Rock {
            speeds: [vp, vs].map(|v| v as f32),
            density: density as f32,
            quality: quality.map(|both| both.map(|q| q as f32)),
        });
        Ok(())
    }

    /// z of the top of the lowest layer, m.
    pub fn lowest(&self) -> f64 {
        self.tops.last().copied().unwrap_or_default()
    }

    /// Whether the layers have quality factors.
    pub fn has_quality(&self) -> bool {
        self.rocks[0].quality.is_some()
    }

    /// z of the top of the first layer, m.
    pub fn top(&self) -> f64 {
        self.tops[0]
    }

    /// The rocks of `n` nodes at z = first, first + step, ... A node on an interface belongs to the layer
    /// below it.
    pub fn column(&self, n: usize, first: f64, step: f64) -> Vec<Rock> {
        let rock = |k: usize| {
            // Rounding of the axes must not move an interface by a node.
            let z = first + (k as f64 + 1e-4) * step;
            self.rocks[self.tops.partition_point(|top| *top <= z).saturating_sub(1)]
        };
        (0..n).map(rock).collect()
    }
}

/// Whether the numbers of a row contain decimal commas, while other characters separate its columns.
fn has_decimal_commas(line: &str) -> bool {
    let cells: Vec<&str> = line
        .split([' ', '\t', ';'])
        .filter(|cell| !cell.is_empty())
        .collect();
    let inside = |cell: &&str| {
        cell.split_once(',').is_some_and(|(before, after)| {
            before.ends_with(|c: char| c.is_ascii_digit()) && after.starts_with(|c: char| c.is_ascii_digit())
        })
    };
    matches!(cells.len(), 4 | 6) && cells.iter().any(inside)
}

/// Names of the columns in headings, in the order of [`Table::open`].
const COLUMNS: [&[&str]; 6] = [
    &["depth", "top", "z"],
    &["vp", "alpha"],
    &["vs", "beta"],
    &["rho", "density", "den", "ro"],
    &["qp", "qkappa", "qalpha"],
    &["qs", "qmu", "qbeta"],
];

/// The position of each of [`COLUMNS`] in a heading; `None` if a word does not name a column, which makes the
/// line a comment.
///
/// # Errors
/// Returns an error for a column that is missing or named twice, or a column of thicknesses.
fn places_of(heading: &str) -> Result<Option<Vec<usize>>> {
    let words: Vec<String> = heading
        .split([',', ' ', '\t', ';'])
        .map(|word| {
            word.split(['(', '[', '/', '_'])
                .next()
                .unwrap_or_default()
                .to_lowercase()
        })
        .filter(|word| !word.is_empty())
        .collect();
    if words
        .iter()
        .any(|word| ["thickness", "thick"].contains(&word.as_str()))
    {
        bail!(
            "rows must have the depth of the top of a layer, not its thickness: add up the thicknesses \
            above it"
        );
    }
    let column = |word: &String| COLUMNS.iter().position(|names| names.contains(&word.as_str()));
    let positions: Vec<Option<usize>> = words.iter().map(column).collect();
    let Some(columns) = positions.iter().copied().collect::<Option<Vec<_>>>() else {
        // In a heading with unknown names, known names must be in their usual columns.
        if let Some(k) = (0..positions.len()).find(|k| positions[*k].is_some_and(|column| column != *k)) {
            bail!(
                "column {} is called {} and would be read as {}: name all columns depth, vp, vs, rho, qp and \
                qs, which may then be in any order, or begin a comment with #",
                k + 1,
                words[k],
                COLUMNS.get(k).map_or("nothing", |names| names[0])
            );
        }
        return Ok(None);
    };
    let places: Option<Vec<usize>> = (0..columns.len())
        .map(|k| columns.iter().position(|column| *column == k))
        .collect();
    match places {
        Some(places) if [4, 6].contains(&places.len()) => Ok(Some(places)),
        _ => bail!(
            "a heading must name the columns depth, vp, vs, rho and, if present, qp and qs, in any order"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A heading sets the order of the columns, and a heading that names none of them is a comment.
    #[test]
    fn headings_name_the_columns() {
        let rock = |text: &str| Table::read(text).unwrap().rocks[0];
        let usual = rock("0 5000 2900 2700 100 50");
        for heading in [
            "Depth(m) Vp(m/s) rho(kg/m3) vs qs qp\n0 5000 2700 2900 50 100",
            "vs,vp,top,qmu,qkappa,density\n2900,5000,0,50,100,2700",
            "a crust after Somebody (1999)\n0 5000 2900 2700 100 50",
        ] {
            assert_eq!(rock(heading), usual, "{heading}");
        }
    }

    #[test]
    fn nodes_have_the_rock_of_their_layer() {
        let table = Table::read(
            "depth vp vs rho qp qs\n# sediment\n0, 2000, 1000, 2000, 80, 40\n300 5000 2900 2700 0 0\n",
        )
        .unwrap();
        let column = table.column(5, -100.0, 100.0);
        let speeds: Vec<f32> = column.iter().map(|rock| rock.speeds[0]).collect();
        assert_eq!(speeds, [2000.0, 2000.0, 2000.0, 2000.0, 5000.0]);
        assert!(table.has_quality() && column[4].quality == Some([0.0, 0.0]));
        assert!(!Table::read("0 5000 2900 2700").unwrap().has_quality());
        assert_eq!(table.top(), 0.0);
    }

    #[test]
    fn what_is_no_layer_gets_a_sentence() {
        for (text, word) in [
            ("# nothing\n", "no layers"),
            ("0 5000 2900", "4 or 6"),
            ("0 5000 2900 2700 100", "4 or 6"),
            ("0 5000 x 2700", "rows are numbers"),
            ("x 5000 2900 2700", "no layers"),
            (
                "depth vp vs rho\n# a remark\nx 5000 2900 2700",
                "line 3 is `x 5000",
            ),
            (
                "0 5000 2900 2700\nbasement\n9 6000 3000 2800",
                "line 2 is `basement`",
            ),
            ("0 5000 4900 2700", "no rock"),
            ("0,5 1500,5 800 2000", "commas are decimal ones"),
            ("0,0; 1500; 800,2; 2000", "write a point in their place"),
            ("thickness vp vs rho\n400 5000 2900 2700", "not its thickness"),
            (
                "top vp density vs q1 q2\n0 5000 2700 2900 80 40",
                "column 3 is called density and would be read as vs",
            ),
            (
                "depth vp rho vs\n0 5000 2700 2900 80 40",
                "line 2 has 6 numbers, but the heading names 4 columns",
            ),
            (
                "depth vp vs vs\n0 5000 2900 2700",
                "a heading must name the columns",
            ),
            ("10 5000 2900 2700\n0 6000 3000 2800", "from the top down"),
            ("0 5000 2900 2700 100 50\n10 6000 3000 2800", "all rows have Qp"),
        ] {
            let error = format!("{:#}", Table::read(text).unwrap_err());
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
