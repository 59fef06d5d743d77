//! Tomography files of SPECFEM3D: velocities and density on a regular grid, one row for each node.
//!
//! The head has the first and the last position (x, y, z up), the spacings, the numbers of nodes, and the
//! least and largest vp, vs and rho. The rows have x, y, z, vp, vs and rho, and may have quality factors of P
//! and S, which are not used.

use anyhow::Result;

use super::scanner::Scanner;

/// The largest number of nodes of a grid.
const MOST_NODES: f64 = 4e9;

/// A model on a grid.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tomography {
    /// Name of the file in messages.
    pub name: String,
    /// The number of nodes along x, y and z.
    pub n: [usize; 3],
    /// The first node, m, z downwards.
    pub o: [f64; 3],
    /// Spacing, m.
    pub d: [f64; 3],
    /// vp and vs (m/s) and density (kg/m3), z fastest, then x, then y.
    pub values: [Vec<f32>; 3],
    /// True if rows have quality factors.
    pub has_quality: bool,
}

impl Tomography {
    /// Reads the bytes of a file, which messages call `name`.
    ///
    /// # Errors
    /// Returns an error for a number that is missing or invalid, or a node beyond the grid or given twice.
    pub fn read(name: &str, bytes: &[u8]) -> Result<Self> {
        let scanner = &mut Scanner::new(name, bytes);
        let first = three(scanner, "position of the first node")?;
        let last = three(scanner, "position of the last node")?;
        let steps = three(scanner, "grid spacing")?;
        let n = three(scanner, "number of nodes")?;
        for _ in 0..6 {
            number(scanner, "minimum or maximum value")?;
        }
        let fits = |c: usize| n[c] == 1.0 || ((last[c] - first[c]) / steps[c] + 1.0 - n[c]).abs() < 0.5;
        if !n.iter().all(|n| *n >= 1.0 && n.fract() == 0.0) || n.iter().product::<f64>() > MOST_NODES {
            return Err(scanner.wrong(format!("{n:?} are not numbers of nodes along x, y and z")));
        }
        if (0..3).any(|c| n[c] > 1.0 && steps[c] <= 0.0) || !(0..3).all(fits) {
            return Err(scanner.wrong(format!(
                "{n:?} nodes with steps of {steps:?} m do not reach from {first:?} to {last:?} m"
            )));
        }
        let n = n.map(|n| n as usize);
        let d = std::array::from_fn(|c| if n[c] > 1 { steps[c] } else { 1.0 });
        let mut model = Self {
            name: name.to_string(),
            n,
            o: [first[0], first[1], -(first[2] + (n[2] - 1) as f64 * d[2])],
            d,
            ..Self::default()
        };
        model.fill(scanner, first)?;
        Ok(model)
    }

    fn fill(&mut self, scanner: &mut Scanner, first: [f64; 3]) -> Result<()> {
        let all = self.n.iter().product::<usize>();
        if all > scanner.left() / 12 + 1 {
            return Err(scanner.wrong(format!(
                "the file has fewer rows than its {all} nodes need; is it cut short?"
            )));
        }
        self.values = std::array::from_fn(|_| vec![f32::NAN; all]);
        for _ in 0..all {
            skip_remarks(scanner);
            let mut row = scanner.this_line();
            let mut read = [0.0; 6];
            for (value, what) in read.iter_mut().zip(["x", "y", "z", "vp", "vs", "density"]) {
                if row.peek().is_none() {
                    return Err(row.wrong(format!(
                        "the row ends where {what} should be; each node has x, y, z, vp, vs and density"
                    )));
                }
                *value = row.real(what)?;
            }
            self.has_quality |= row.peek().is_some();
            let place = |c: usize| {
                let at = ((read[c] - first[c]) / self.d[c]).round();
                ((0.0..self.n[c] as f64).contains(&at)).then_some(at as usize)
            };
            let (Some(x), Some(y), Some(z)) = (place(0), place(1), place(2)) else {
                return Err(row.wrong("the node lies beyond the grid that the head describes"));
            };
            let node = (y * self.n[0] + x) * self.n[2] + self.n[2] - 1 - z;
            if !self.values[0][node].is_nan() {
                return Err(row.wrong("the node is given twice"));
            }
            for (plane, value) in self.values.iter_mut().zip(&read[3..]) {
                plane[node] = *value as f32;
            }
            scanner.line();
        }
        Ok(())
    }

    /// The smallest values of vp, vs and density.
    pub fn least(&self) -> [f64; 3] {
        let of = |plane: &Vec<f32>| f64::from(plane.iter().copied().fold(f32::INFINITY, f32::min));
        std::array::from_fn(|k| of(&self.values[k]))
    }

    /// The grid extended by `low` and `high` nodes at its ends along x, y and z, with the values at its sides
    /// repeated.
    pub fn grown(&self, low: [usize; 3], high: [usize; 3]) -> Self {
        let n: [usize; 3] = std::array::from_fn(|c| low[c] + self.n[c] + high[c]);
        let old = |k: usize| {
            let at = [k / n[2] % n[0], k / n[2] / n[0], k % n[2]];
            let [x, y, z] = std::array::from_fn(|c| at[c].saturating_sub(low[c]).min(self.n[c] - 1));
            (y * self.n[0] + x) * self.n[2] + z
        };
        let all = n.iter().product::<usize>();
        Self {
            name: self.name.clone(),
            n,
            o: std::array::from_fn(|c| self.o[c] - low[c] as f64 * self.d[c]),
            d: self.d,
            values: std::array::from_fn(|k| (0..all).map(|node| self.values[k][old(node)]).collect()),
            has_quality: self.has_quality,
        }
    }
}

/// Skips lines of comments.
fn skip_remarks(scanner: &mut Scanner) {
    while scanner
        .peek()
        .is_some_and(|word| word.starts_with(b"#") || word.starts_with(b"!"))
    {
        scanner.line();
    }
}

fn number(scanner: &mut Scanner, what: &str) -> Result<f64> {
    skip_remarks(scanner);
    scanner.real(what)
}

fn three(scanner: &mut Scanner, what: &str) -> Result<[f64; 3]> {
    Ok([
        number(scanner, what)?,
        number(scanner, what)?,
        number(scanner, what)?,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "0 0 -200 100 50 0\n100 50 200\n2 2 2\n1 2 1 2 1 2\n";

    fn rows() -> String {
        let row = |k: usize| {
            let (x, y, z) = (100 * (k % 2), 50 * (k / 2 % 2), 200 * (k / 4) as i64 - 200);
            format!("{x} {y} {z} {} {} {}\n", 3000 + k, 1500 + k, 2000 + k)
        };
        (0..8).map(row).collect()
    }

    #[test]
    fn nodes_are_turned_down() {
        let text = format!("# a model\n{HEAD}! rows\n{}", rows());
        let model = Tomography::read("tomo", text.as_bytes()).unwrap();
        assert_eq!(
            (model.n, model.o, model.d),
            ([2; 3], [0.0; 3], [100.0, 50.0, 200.0])
        );
        // The first two values are those at x = 0, y = 0: at the surface, then 200 m below.
        assert_eq!(model.values[0][..4], [3004.0, 3000.0, 3005.0, 3001.0]);
        assert_eq!(model.least(), [3000.0, 1500.0, 2000.0]);
        let grown = model.grown([1, 0, 0], [0, 0, 2]);
        assert_eq!((grown.n, grown.o), ([3, 2, 4], [-100.0, 0.0, 0.0]));
        assert_eq!(
            grown.values[0][..8],
            [3004.0, 3000.0, 3000.0, 3000.0, 3004.0, 3000.0, 3000.0, 3000.0]
        );
    }

    #[test]
    fn what_is_no_grid_gets_a_sentence() {
        let error = |text: String| format!("{:#}", Tomography::read("tomo", text.as_bytes()).unwrap_err());
        assert!(error(HEAD.replace("100 50 200", "30 50 200") + &rows()).contains("do not reach"));
        assert!(error(HEAD.replace("2 2 2", "2 2 9") + &rows()).contains("do not reach"));
        assert!(error(format!("{HEAD}{}", rows().replace("100 50 0", "0 50 0"))).contains("given twice"));
        assert!(
            error(format!("{HEAD}{}", rows().replace("100 50 0", "900 50 0"))).contains("beyond the grid")
        );
        assert!(error(format!("{HEAD}0 0 0 1 2")).contains("tomo: line"));
    }
}
