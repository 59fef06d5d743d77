//! A box between surfaces, cut into elements.

use anyhow::{Result, bail};
use kernels::mesh::Order;
use rsf_io::{Job, format_g};

use super::cut::{self, Plan};
use super::lattice::{Kind, Place, ROW, Row, UNIT};
use crate::meshing::{RawMesh, countable};
use crate::surfaces::Surface;

/// The longest upright edge for a level one of length 1 with which a box is cut. Elements of use have 10 at most.
const LONGEST: f64 = 1000.0;

/// The box that the parameters describe; none in a dry run.
///
/// # Errors
/// Parameters that do not fit together, surfaces that cross or end too early, more elements than can be counted.
pub(super) fn make(job: &mut Job) -> Result<Option<RawMesh>> {
    let shape = Shape::of(job)?;
    shape.refuse_needles()?;
    let total = shape.rows.iter().map(Row::elements).sum();
    let total = countable("the box", total)?;
    let ndim = if shape.top[1] == 0 { 2 } else { 3 };
    if !cut::room(job, total, shape.order, ndim)? {
        return Ok(None);
    }
    let plan = Plan {
        rows: &shape.rows,
        top: shape.top,
        order: shape.order,
        absorb: &cut::absorbing(job)?,
        mirrored: false,
    };
    let mesh = match ndim {
        2 => plan.cut(|place, layer| shape.coordinates::<2>(place, layer)),
        _ => plan.cut(|place, layer| shape.coordinates::<3>(place, layer)),
    };
    mesh.map(Some)
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
            .map(|word| Surface::open(job, "surfaces", word.trim()))
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
        if flat {
            surfaces.iter().try_for_each(|s| s.refuse_rows("ny"))?;
        }
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

    /// Refuses elements whose sides differ so much that x, y and z cannot be in one unit.
    fn refuse_needles(&self) -> Result<()> {
        let ndim = if self.top[1] == 0 { 1 } else { 2 };
        let widths =
            (0..ndim).map(|axis| (self.spans[axis][1] - self.spans[axis][0]) / self.top[axis] as f64);
        let middle = self.spans.map(|[low, high]| 0.5 * (low + high));
        let depths: Vec<f64> = self
            .surfaces
            .iter()
            .map(|s| s.at(middle))
            .collect::<Result<_>>()?;
        let heights = depths.windows(2).zip(&self.layers);
        let heights = heights.map(|(pair, rows)| (pair[0] - pair[1]).abs() / *rows as f64);
        let (width, height) = (widths.fold(f64::INFINITY, f64::min), heights.fold(0.0, f64::max));
        if height <= LONGEST * width {
            return Ok(());
        }
        let degrees =
            self.spans[0].iter().all(|x| x.abs() <= 360.0) && self.spans[1].iter().all(|y| y.abs() <= 90.0);
        let advice = match degrees {
            true => {
                "if x and y are degrees, give metres of a projection (111200 m for a degree of latitude, times the cosine of the \
latitude for one of longitude), or take sphere=y with lat=, lon= and width="
            }
            false => "x, y and z have one unit, metres",
        };
        bail!(
            "elements would be {} wide and {} high: {advice}",
            format_g(width, 3),
            format_g(height, 3)
        );
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
