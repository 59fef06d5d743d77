//! Chooses the rows of elements between the discontinuities of a model of the Earth.

use anyhow::{Result, bail};
use kernels::earth::Radial;

use super::lattice::{Kind, Row};

/// Radii that differ by less than this are the same, m.
const SAME: f64 = 1.0;

/// The radii (km) of PREM's discontinuities from the core-mantle boundary up, and the number of rows above
/// each of them in a mesh with 256 elements across a right angle (Komatitsch et al. 2010).
const MANTLE: [(f64, usize); 10] = [
    (3480.0, 2),
    (3630.0, 22),
    (5600.0, 1),
    (5701.0, 1),
    (5771.0, 3),
    (5971.0, 3),
    (6151.0, 2),
    (6291.0, 1),
    (6346.6, 1),
    (6356.0, 1),
];
/// The number of elements across a right angle in that mesh.
const FINE: f64 = 256.0;
/// The row of the lower mantle that doubles in that mesh, counted from 1.
const LOWER_BRICK: usize = 12;
/// Indices of the lower mantle and the lid in [`MANTLE`]; one row of each doubles.
const LOWER: usize = 1;
const LID: usize = 7;
/// The width of elements at the surface (m) above which the mantle has no doublings: elements of this width are already
/// as wide as the waves at depth allow.
const COARSE: f64 = 100e3;

/// The layers that the parameters request.
pub(super) struct Wish {
    /// Radius of the bottom, m.
    pub(super) bottom: f64,
    /// Depths (m) of discontinuities that the mesh does not follow.
    pub(super) skip: Vec<f64>,
    /// The number of rows of every layer.
    pub(super) layers: Option<Vec<usize>>,
    /// The rows that double; the lowest row is 1.
    pub(super) doubling: Option<Vec<usize>>,
    /// The number of elements along x and y at the surface.
    pub(super) top: [usize; 2],
    /// The width along x, radians.
    pub(super) arc: f64,
}

/// The radii between which the layers lie, and the rows of the layers.
pub(super) struct Shells {
    /// Radii from the bottom up, m; their number is one more than the number of layers.
    pub(super) radii: Vec<f64>,
    /// The number of rows of every layer.
    pub(super) rows: Vec<usize>,
    /// The rows that double; the lowest row is 1.
    pub(super) doubling: Vec<usize>,
}

impl Shells {
    /// The shells of a model.
    ///
    /// # Errors
    /// Returns an error for a bottom outside the model, depths that are not at a discontinuity, or lists that do not
    /// fit the layers.
    pub(super) fn of(model: &Radial, wish: &Wish) -> Result<Self> {
        let radii = radii(model, wish)?;
        let (mut rows, mut doubling) = chosen(&radii, wish);
        if let Some(layers) = &wish.layers {
            if layers.len() + 1 != radii.len() {
                bail!(
                    "layers= has {} numbers; the model has {} layers between the radii {} m; give the rows of each from the bottom up",
                    layers.len(),
                    radii.len() - 1,
                    radii.iter().map(f64::to_string).collect::<Vec<_>>().join(", ")
                );
            }
            (rows, doubling) = (layers.clone(), Vec::new());
        }
        if let Some(given) = &wish.doubling {
            let all: usize = rows.iter().sum();
            for (k, row) in given.iter().enumerate() {
                if *row > all || given[..k].contains(row) {
                    bail!("doubling= has row {row}; the rows 1 (the lowest) to {all} can each double once");
                }
            }
            doubling.clone_from(given);
        }
        Ok(Self {
            radii,
            rows,
            doubling,
        })
    }

    /// A description of each layer, from the top down.
    pub(super) fn lines(&self, rows: &[Row]) -> Vec<String> {
        let line = |layer: usize| {
            let own = || rows.iter().filter(|row| row.layer == layer);
            let counts = own().next().map_or([0; 2], |row| row.counts);
            let bricks = own().filter(|row| row.kind == Kind::Brick).count();
            format!(
                "region {layer}: radius {} to {} km, {} of {} x {} elements{}",
                self.radii[layer] / 1e3,
                self.radii[layer + 1] / 1e3,
                match self.rows[layer] {
                    1 => "1 row".into(),
                    n => format!("{n} rows"),
                },
                counts[0],
                counts[1],
                if bricks > 0 { ", doubled upwards" } else { "" }
            )
        };
        (0..self.rows.len()).rev().map(line).collect()
    }
}

/// The radii of the bottom, of the discontinuities that the mesh follows, and of the surface.
fn radii(model: &Radial, wish: &Wish) -> Result<Vec<f64>> {
    let (low, surface) = (model.layers()[0].bottom, model.surface());
    if !(wish.bottom > low.max(0.01 * surface) && wish.bottom < surface - SAME) {
        bail!(
            "bottom={} m: the radius of the bottom must lie between {} m (the deepest radius of the model, \
            at least a hundredth of that of its surface) and the surface, {surface} m",
            wish.bottom,
            low.max(0.01 * surface)
        );
    }
    let all = model.discontinuities();
    for depth in &wish.skip {
        if !all.iter().any(|r| (surface - depth - r).abs() < SAME) {
            bail!(
                "skip= has the depth {depth} m; the discontinuities of the model are at {} m",
                all.iter()
                    .rev()
                    .map(|r| (surface - r).round().to_string())
                    .collect::<Vec<_>>()
                    .join(", ")
            );
        }
    }
    let skipped = |r: f64| wish.skip.iter().any(|depth| (surface - depth - r).abs() < SAME);
    let inner = all
        .into_iter()
        .filter(|r| *r > wish.bottom + SAME && !skipped(*r));
    Ok([wish.bottom].into_iter().chain(inner).chain([surface]).collect())
}

/// The number of rows of a layer, and the row that doubles, where the lowest is 1.
struct Part {
    rows: usize,
    brick: Option<usize>,
}

/// Rows and doublings. PREM's mantle has the rows and doublings of the paper's mesh, refined or coarsened; otherwise
/// rows are as high as elements are wide, and there is a doubling in the middle of a fluid core.
fn chosen(radii: &[f64], wish: &Wish) -> (Vec<usize>, Vec<usize>) {
    let layers = radii.len() - 1;
    let fine = wish.top[0] as f64 * std::f64::consts::FRAC_PI_2 / wish.arc / FINE;
    let first = radii.iter().position(|r| (r - 1e3 * MANTLE[0].0).abs() < SAME);
    let mantle = first.map(|first| &radii[first..layers]).unwrap_or_default();
    let same = |(r, row): (&f64, &(f64, usize))| (r - 1e3 * row.0).abs() < SAME;
    let is_prem = mantle.len() == MANTLE.len() && mantle.iter().zip(&MANTLE).all(same);
    let divisible = |doublings: usize| wish.top.iter().all(|n| n % (2 << doublings) == 0);
    let wide = |r: f64, count: usize| r * wish.arc / count as f64;
    let doubles = is_prem && wide(radii[layers], wish.top[0]) < COARSE && divisible(2);
    let foot = first.unwrap_or(0);
    let (mut count, mut doublings) = (wish.top[0], 0);
    let mut parts = Vec::with_capacity(layers);
    // Layers are treated from the surface down, because the doublings above a layer determine the width of
    // its elements.
    for k in (0..layers).rev() {
        let (low, high) = (radii[k], radii[k + 1]);
        let part = if doubles && k >= foot {
            let rows = (MANTLE[k - foot].1 as f64 * fine).ceil() as usize;
            let brick = match k - foot {
                LID => Some(1),
                LOWER => Some((rows * LOWER_BRICK).div_ceil(MANTLE[LOWER].1)),
                _ => None,
            };
            Part { rows, brick }
        } else {
            let rows = (((high - low) / wide((low + high) / 2.0, count)).round() as usize).max(1);
            match k < foot && rows > 2 && low < 0.5 * high && divisible(doublings + 1) {
                true => Part {
                    rows: (3 * rows).div_ceil(4),
                    brick: Some((3 * rows).div_ceil(8)),
                },
                false => Part { rows, brick: None },
            }
        };
        if part.brick.is_some() {
            (count, doublings) = (count / 2, doublings + 1);
        }
        parts.push(part);
    }
    parts.reverse();
    let (mut below, mut bricks) = (0, Vec::new());
    for part in &parts {
        bricks.extend(part.brick.map(|row| below + row));
        below += part.rows;
    }
    (parts.iter().map(|part| part.rows).collect(), bricks)
}
