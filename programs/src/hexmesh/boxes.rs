//! A box between surfaces, cut into elements.

use std::collections::HashMap;

use anyhow::{Result, bail};
use kernels::mesh::{Order, cell};
use rsf_io::Job;

use super::lattice::{self, Kind, Place, ROW, Row, UNIT};
use super::surfaces::Surface;
use crate::meshing::{RawMesh, countable};

const SIDES: [&str; 6] = ["xmin", "xmax", "ymin", "ymax", "bottom", "top"];

/// The box that the parameters describe.
///
/// # Errors
/// Parameters that do not fit together, surfaces that cross or end too early, more elements than can be counted.
pub(super) fn make(job: &mut Job) -> Result<RawMesh> {
    let shape = Shape::of(job)?;
    let absorb = absorbing(job)?;
    let total = shape.rows.iter().map(Row::elements).sum();
    countable("the box", total)?;
    match shape.top[1] {
        0 => shape.cut::<2>(&absorb),
        _ => shape.cut::<3>(&absorb),
    }
}

/// Sides of the box that absorb, as numbers of `SIDES`.
fn absorbing(job: &Job) -> Result<Vec<usize>> {
    let text = job.text("absorb")?.unwrap_or_default();
    let words = text
        .split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty() && *word != "none");
    words
        .map(|word| match SIDES.iter().position(|side| *side == word) {
            Some(side) => Ok(side),
            None => bail!("absorb= has `{word}`; allowed are {} and none", SIDES.join(", ")),
        })
        .collect()
}

/// Everything that is known of a box before it is cut.
struct Shape {
    surfaces: Vec<Surface>,
    rows: Vec<Row>,
    /// Rows of each layer.
    layers: Vec<usize>,
    /// Elements along x and y at the top; y: 0 in 2-D.
    top: [usize; 2],
    /// First and last coordinate along x and y.
    spans: [[f64; 2]; 2],
    order: Order,
}

impl Shape {
    fn of(job: &mut Job) -> Result<Self> {
        let text = job.text("surfaces")?.unwrap_or_default();
        let surfaces: Vec<Surface> = text
            .split(',')
            .map(|word| Surface::open(job, word.trim()))
            .collect::<Result<_>>()?;
        let layers: Vec<usize> = job.ints("layers")?.into_iter().map(|n| n as usize).collect();
        if layers.len() + 1 != surfaces.len() || layers.is_empty() {
            bail!(
                "surfaces= has {} entries and layers= {}; a box of n layers has n + 1 surfaces, from the bottom up",
                surfaces.len(),
                layers.len()
            );
        }
        let nx = job.int_opt("nx")?.map(|n| n as usize);
        let top = [nx.unwrap_or(0), job.int_opt("ny")?.unwrap_or(0) as usize];
        if top[0] == 0 {
            bail!("nx= is missing: the elements along x at the top of the box");
        }
        let doubling: Vec<usize> = job.ints("doubling")?.into_iter().map(|n| n as usize).collect();
        let rows = rows(&layers, &doubling, top)?;
        let span = |axis: usize, low: &str, high: &str| -> Result<[f64; 2]> {
            let maps = surfaces.iter().find_map(|s| s.span(axis));
            let end = |word: &str, k: usize| -> Result<f64> {
                match (job.double_opt(word)?, maps) {
                    (Some(x), _) => Ok(x),
                    (None, Some(span)) => Ok(span[k]),
                    (None, None) => {
                        bail!("{word}= is missing: no map of surfaces= tells how far the box goes")
                    }
                }
            };
            let span = [end(low, 0)?, end(high, 1)?];
            if span[0] >= span[1] {
                bail!("{low}={} is not below {high}={}", span[0], span[1]);
            }
            Ok(span)
        };
        let flat = top[1] == 0;
        let spans = [
            span(0, "xmin", "xmax")?,
            if flat { [0.0; 2] } else { span(1, "ymin", "ymax")? },
        ];
        Ok(Self {
            surfaces,
            rows,
            layers,
            top,
            spans,
            order: if job.flag("curved")? {
                Order::Quadratic
            } else {
                Order::Linear
            },
        })
    }

    /// Coordinates of a place: x[, y], z.
    fn coordinates<const D: usize>(&self, place: Place, layer: usize) -> Result<[f64; D]> {
        let along = |axis: usize, at: i64| {
            let [low, high] = self.spans[axis];
            low + (high - low) * at as f64 / (UNIT * self.top[axis].max(1) as i64) as f64
        };
        let (x, y) = (along(0, place[0]), along(1, place[2]));
        let (low, high) = (
            self.surfaces[layer].at([x, y])?,
            self.surfaces[layer + 1].at([x, y])?,
        );
        // z grows downwards.
        if low <= high {
            let shown = if D == 2 {
                format!("x={x}")
            } else {
                format!("x={x}, y={y}")
            };
            bail!(
                "surface {} of surfaces= (z={high}) is not above surface {} (z={low}) at {shown}; z grows downwards and a layer cannot end",
                layer + 2,
                layer + 1
            );
        }
        let foot = self.layers[..layer].iter().sum::<usize>() as i64 * ROW;
        let part = (place[1] - foot) as f64 / (self.layers[layer] as i64 * ROW) as f64;
        let z = low + (high - low) * part;
        Ok(std::array::from_fn(|c| if c == D - 1 { z } else { [x, y][c] }))
    }

    fn cut<const D: usize>(&self, absorb: &[usize]) -> Result<RawMesh> {
        let per_element = self.order.nodes::<D>();
        let mut mesh = RawMesh {
            ndim: D,
            per_element,
            ..RawMesh::default()
        };
        let mut known: HashMap<Place, i32> = HashMap::new();
        let ends = [
            self.top[0] as i64 * UNIT,
            self.rows.len() as i64 * ROW,
            self.top[1] as i64 * UNIT,
        ];
        for (k, row) in self.rows.iter().enumerate() {
            for corners in lattice::corners(row, self.top, k as i64 * ROW) {
                let element = mesh.regions.len() as i32;
                for node in 0..per_element {
                    let place = middle::<D>(&corners, node);
                    let next = known.len() as i32;
                    let number = match known.get(&place) {
                        Some(number) => *number,
                        None => {
                            mesh.nodes.extend(self.coordinates::<D>(place, row.layer)?);
                            known.insert(place, next);
                            next
                        }
                    };
                    mesh.elements.push(number);
                }
                mesh.regions.push(row.layer as i32);
                for face in 0..cell::faces::<D>() {
                    match side::<D>(&corners, face, ends) {
                        Some(side) if absorb.contains(&side) => mesh.absorbing.push([element, face as i32]),
                        Some(5) => mesh.free.push([element, face as i32]),
                        _ => {}
                    }
                }
            }
        }
        Ok(mesh)
    }
}

/// The place of a node between the corners of its element.
fn middle<const D: usize>(corners: &[Place], node: usize) -> Place {
    let code = cell::place::<D>(node);
    let mut sum = [0; 3];
    for (corner, place) in corners.iter().enumerate() {
        let at = cell::place::<D>(corner);
        let weight: i64 = (0..D)
            .map(|a| i64::from(if at[a] == 2 { code[a] } else { 2 - code[a] }))
            .product();
        (0..3).for_each(|c| sum[c] += weight * place[c]);
    }
    sum.map(|s| s / (1 << D))
}

/// The side of the box on which a face lies, if it does.
fn side<const D: usize>(corners: &[Place], face: usize, ends: Place) -> Option<usize> {
    let own = cell::corners(cell::face::<D>(face).code::<D>());
    let all = |axis: usize, at: i64| own.iter().all(|k| corners[*k][axis] == at);
    let lies = |side: usize| match side {
        0 => all(0, 0),
        1 => all(0, ends[0]),
        2 => D == 3 && all(2, 0),
        3 => D == 3 && all(2, ends[2]),
        4 => all(1, 0),
        _ => all(1, ends[1]),
    };
    (0..SIDES.len()).find(|side| lies(*side))
}

/// The rows of all layers from the bottom up, with what doubles where.
fn rows(layers: &[usize], doubling: &[usize], top: [usize; 2]) -> Result<Vec<Row>> {
    let flat = top[1] == 0;
    let needed = if flat { 1 } else { 2 };
    for (k, layer) in doubling.iter().enumerate() {
        if *layer > layers.len() || doubling[..k].contains(layer) {
            bail!(
                "doubling= has layer {layer}; the layers 1 to {} can each double once",
                layers.len()
            );
        }
        if layers[layer - 1] < needed {
            bail!(
                "doubling= has layer {layer}, which has {} row of elements; a doubling takes {needed}",
                layers[layer - 1]
            );
        }
    }
    let factor = 1_usize << doubling.len().min(32);
    for (word, n) in [("nx", top[0]), ("ny", top[1])] {
        if !doubling.is_empty() && n % (2 * factor) != 0 {
            bail!(
                "{word}={n} cannot be halved for {} doublings; it must be a multiple of {}",
                doubling.len(),
                2 * factor
            );
        }
    }
    let total: u128 = layers.iter().map(|n| *n as u128).sum();
    countable(
        "the box",
        total * (top[0] / factor).max(1) as u128 * (top[1] / factor).max(1) as u128,
    )?;
    let mut counts = top.map(|n| n / factor);
    let mut rows = Vec::new();
    for (layer, height) in layers.iter().enumerate() {
        let doubles = doubling.contains(&(layer + 1));
        for k in 0..*height {
            let kind = match k {
                0 if doubles => Kind::DoubleX,
                1 if doubles && !flat => Kind::DoubleY,
                _ => Kind::Plain,
            };
            let row = Row { kind, layer, counts };
            counts = row.above();
            rows.push(row);
        }
    }
    Ok(rows)
}
