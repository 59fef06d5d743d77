//! Cuts a box between surfaces into elements, with perfectly matched layers around it if cpml= requests them.

use anyhow::{Result, bail};
use kernels::mesh::Order;
use rsf_io::{Job, format_g};

use super::cut::{self, Plan};
use super::lattice::{Kind, Place, ROW, Row, UNIT};
use super::stages::Stages;
use crate::meshing::{RawMesh, countable};
use crate::surfaces::Surface;

/// The largest ratio of height to width of a box's elements; useful elements have at most 10.
const LONGEST: f64 = 1000.0;

/// The number of elements across a perfectly matched layer that suffices for a reflection of less than a
/// thousandth.
const ENOUGH: usize = 3;

/// The box that the parameters describe; `None` in a dry run.
///
/// # Errors
/// Returns an error for parameters that do not fit together, surfaces that cross or do not cover the box, or
/// more elements than can be counted.
pub(super) fn make(job: &mut Job, stages: &Stages) -> Result<Option<RawMesh>> {
    let mut shape = Shape::of(job)?;
    shape.refuse_needles()?;
    let absorb = cut::absorbing(job)?;
    let doubling: Vec<usize> = job.ints("doubling")?.into_iter().map(|n| n as usize).collect();
    let thickness = job.double("cpml")?;
    if thickness > 0.0 {
        if !doubling.is_empty() {
            bail!(
                "cpml= and doubling= are given together, but doublings have slanted elements, which \
                perfectly matched layers cannot contain: leave out doubling=, or use sponge= of the \
                modelling programs instead of cpml="
            );
        }
        shape.add_frame(thickness, &absorb)?;
    }
    shape.rows = rows(&shape.layers, &doubling, shape.top)?;
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
        absorb: &absorb,
        mirrored: false,
        stages,
    };
    let mut mesh = match ndim {
        2 => plan.cut(|place, layer| shape.coordinates::<2>(place, layer)),
        _ => plan.cut(|place, layer| shape.coordinates::<3>(place, layer)),
    }?;
    if thickness > 0.0 {
        shape.mark_frame(&mut mesh);
        job.say(&format!("perfectly matched layers: {}", shape.frame.shown()));
        if shape
            .frame
            .sides
            .iter()
            .any(|(_, elements, _)| *elements < ENOUGH)
        {
            job.warn(&format!(
                "cpml={thickness} m makes layers of fewer than {ENOUGH} elements, which reflect up to a \
                tenth of the waves: {ENOUGH} or more reflect less than a thousandth"
            ));
        }
    }
    Ok(Some(mesh))
}

/// A box before it is divided into elements.
struct Shape {
    surfaces: Vec<Surface>,
    rows: Vec<Row>,
    /// The number of rows of each layer.
    layers: Vec<usize>,
    /// The number of elements along x and y at the top; 0 along y in 2-D.
    top: [usize; 2],
    /// First and last coordinate along x and y.
    spans: [[f64; 2]; 2],
    order: Order,
    frame: Frame,
}

/// Perfectly matched layers around a box.
#[derive(Default)]
struct Frame {
    /// First and last coordinate of the box itself along x and y.
    inner: [[f64; 2]; 2],
    /// Side, number of elements and thickness (m) of every layer.
    sides: Vec<(usize, usize, f64)>,
}

impl Frame {
    /// The number of elements across the layer at a side; 0 without a layer.
    fn elements(&self, side: usize) -> usize {
        let own = self.sides.iter().find(|(own, ..)| *own == side);
        own.map_or(0, |(_, elements, _)| *elements)
    }

    /// The layers in words.
    fn shown(&self) -> String {
        let side = |(side, elements, thickness): &(usize, usize, f64)| {
            let elements = if *elements == 1 {
                "1 element".into()
            } else {
                format!("{elements} elements")
            };
            format!(
                "{elements} ({} m) at {}",
                format_g(*thickness, 6),
                cut::SIDES[*side]
            )
        };
        let all: Vec<String> = self.sides.iter().map(side).collect();
        all.join(", ")
    }
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
                "surfaces= has {} entries but layers= {}; a box of n layers has n + 1 surfaces, from the bottom up",
                surfaces.len(),
                layers.len()
            );
        }
        let nx = job.int_opt("nx")?.map(|n| n as usize);
        let top = [nx.unwrap_or(0), job.int_opt("ny")?.unwrap_or(0) as usize];
        if top[0] == 0 {
            bail!("nx= is missing: the number of elements along x at the top of the box");
        }
        let span = |axis: usize, low: &str, high: &str| -> Result<[f64; 2]> {
            let maps = surfaces.iter().find_map(|s| s.span(axis));
            let end = |word: &str, k: usize| -> Result<f64> {
                match (job.double_opt(word)?, maps) {
                    (Some(x), _) => Ok(x),
                    (None, Some(span)) => Ok(span[k]),
                    (None, None) => {
                        bail!("{word}= is missing, and surfaces= has no map that gives the extent of the box")
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
            rows: Vec::new(),
            layers,
            top,
            spans,
            frame: Frame {
                inner: spans,
                sides: Vec::new(),
            },
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
            false => "x, y and z must all be in metres",
        };
        bail!(
            "elements would be {} wide and {} high: {advice}",
            format_g(width, 3),
            format_g(height, 3)
        );
    }

    /// Adds layers that are at least `thickness` (m) thick outside the absorbing sides. Their elements are as
    /// large as their neighbours.
    ///
    /// # Errors
    /// Returns an error if there is no absorbing side, or if an absorbing bottom or top is not flat.
    fn add_frame(&mut self, thickness: f64, absorb: &[usize]) -> Result<()> {
        let count = |length: f64| (thickness / length - 1e-6).ceil().max(1.0) as usize;
        for (axis, [low, high]) in self.frame.inner.into_iter().enumerate() {
            if self.top[axis] == 0 {
                continue;
            }
            let width = (high - low) / self.top[axis] as f64;
            let (more, thick) = (count(width), count(width) as f64 * width);
            for end in (0..2).filter(|end| absorb.contains(&(2 * axis + end))) {
                self.spans[axis][end] += [-thick, thick][end];
                self.top[axis] = self.top[axis].saturating_add(more);
                self.frame.sides.push((2 * axis + end, more, thick));
            }
        }
        let middle = self.frame.inner.map(|[low, high]| 0.5 * (low + high));
        for side in [cut::BOTTOM, cut::TOP]
            .into_iter()
            .filter(|side| absorb.contains(side))
        {
            let is_top = side == cut::TOP;
            let (edge, next) = match (is_top, self.surfaces.len()) {
                (true, n) => (n - 1, n - 2),
                (false, _) => (0, 1),
            };
            if !self.surfaces[edge].is_flat() {
                bail!(
                    "the {} of the box absorbs and is a map that is not flat, and cpml= adds layers only to \
                    flat sides: give a number in surfaces=, remove {} from absorb=, or use sponge= of the \
                    modelling programs instead of cpml=",
                    cut::SIDES[side],
                    cut::SIDES[side]
                );
            }
            let [z, beside] = [edge, next].map(|k| self.surfaces[k].at(middle));
            let (z, layer) = (z?, edge.min(self.layers.len() - 1));
            let height = (z - beside?) / self.layers[layer] as f64;
            let more = count(height.abs());
            let beyond = Surface::Flat(z + height * more as f64);
            let at = if is_top { self.surfaces.len() } else { 0 };
            self.surfaces.insert(at, beyond);
            self.layers.insert(at.min(self.layers.len()), more);
            self.frame.sides.push((side, more, height.abs() * more as f64));
        }
        if self.frame.sides.is_empty() {
            bail!(
                "cpml= adds layers outside the sides that absorb, but absorb= has none: leave out cpml=, or \
                name sides in absorb="
            );
        }
        Ok(())
    }

    /// Gives elements of layers below and above the box the regions next to them, and lists all elements of
    /// layers with their axes.
    fn mark_frame(&self, mesh: &mut RawMesh) {
        let [below, above] = [cut::BOTTOM, cut::TOP].map(|side| usize::from(self.frame.elements(side) > 0));
        let last = (self.layers.len() - 1 - below - above) as i32;
        let count = mesh.len();
        for element in 0..count {
            let nodes = &mesh.elements[element * mesh.per_element..][..mesh.per_element];
            let middle = |axis: usize| {
                let own = nodes
                    .iter()
                    .map(|node| mesh.nodes[*node as usize * mesh.ndim + axis]);
                own.sum::<f64>() / mesh.per_element as f64
            };
            let outside = |axis: usize| {
                let [low, high] = self.frame.inner[axis];
                !(low..=high).contains(&middle(axis))
            };
            let region = mesh.regions[element] - below as i32;
            // Bits for x, y and z; SPECFEM3D numbers the combinations x, y, z, xy, xz, yz, xyz.
            let is_in = [
                outside(0),
                mesh.ndim == 3 && outside(1),
                !(0..=last).contains(&region),
            ];
            let axes = (0..3)
                .filter(|axis| is_in[*axis])
                .map(|axis| 1 << axis)
                .sum::<usize>();
            mesh.regions[element] = region.clamp(0, last);
            if axes > 0 {
                mesh.layers.push([element as i32, [0, 1, 2, 4, 3, 5, 6, 7][axes]]);
            }
        }
    }

    /// Coordinates of a place: x[, y], z.
    fn coordinates<const D: usize>(&self, place: Place, layer: usize) -> Result<[f64; D]> {
        let along = |axis: usize, at: i64| {
            let [low, high] = self.spans[axis];
            low + (high - low) * at as f64 / (UNIT * self.top[axis].max(1) as i64) as f64
        };
        let (x, y) = (along(0, place[0]), along(1, place[2]));
        // In layers around the box, maps continue with the values at their edges.
        let inner = |axis: usize, x: f64| x.clamp(self.frame.inner[axis][0], self.frame.inner[axis][1]);
        let within = [inner(0, x), inner(1, y)];
        let (low, high) = (
            self.surfaces[layer].at(within)?,
            self.surfaces[layer + 1].at(within)?,
        );
        // z grows downwards.
        if low <= high {
            let shown = if D == 2 {
                format!("x={x}")
            } else {
                format!("x={x}, y={y}")
            };
            bail!(
                "surface {} of surfaces= (z={high}) is not above surface {} (z={low}) at {shown}; z grows \
                downwards, surfaces= and layers= are lists from the bottom up, and a layer cannot pinch out",
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

/// The rows of all layers from the bottom up, with their doublings.
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
                "doubling= has layer {layer}, which has {} row of elements; a doubling needs {needed}",
                layers[layer - 1]
            );
        }
    }
    let factor = 1_usize << doubling.len().min(32);
    for (word, n) in [("nx", top[0]), ("ny", top[1])] {
        if !doubling.is_empty() && n % (2 * factor) != 0 {
            bail!(
                "{word}={n} cannot be halved for every doubling, of which there are {}; it must be a \
                multiple of {}",
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
