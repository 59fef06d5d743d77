//! A chunk of the cubed sphere between two radii, whose rows of elements follow the discontinuities of a model.

use anyhow::{Context, Result, bail};
use kernels::earth::{Chunk, Matter, Radial};
use kernels::mesh::{Material, Order};
use rsf_io::Job;

use super::cut::{self, BOTTOM, Plan};
use super::lattice::{Kind, Place, ROW, Row, UNIT};
use super::shells::{Shells, Wish};
use super::stages::Stages;
use crate::earth;
use crate::meshing::{LOSSLESS, RawMesh, countable};

/// The chunk that the parameters describe.
///
/// # Errors
/// Returns an error for parameters that do not fit together or do not fit the model, or more elements than
/// can be counted.
pub(super) fn make(job: &mut Job, stages: &Stages) -> Result<Option<RawMesh>> {
    let model = earth::open_model(&job.text("model")?.unwrap_or_default())?;
    let globe = Globe::of(job, &model)?;
    let mut absorb = cut::absorbing(job)?;
    // A fluid below the mantle does not support shear, so the bottom of the mantle is closer to a free boundary than to
    // an absorbing boundary.
    let foot = globe.shells.radii[0];
    if !job.given("absorb")
        && model.seen_from(0.0, foot).vsv == 0.0
        && model.seen_from(2.0 * foot, foot).vsv > 0.0
    {
        absorb.retain(|side| *side != BOTTOM);
    }
    let total = countable("the chunk", globe.rows.iter().map(Row::elements).sum())?;
    if !cut::room(job, total, Order::Quadratic, 3)? {
        return Ok(None);
    }
    let plan = Plan {
        rows: &globe.rows,
        top: globe.top,
        order: Order::Quadratic,
        absorb: &absorb,
        mirrored: true,
        stages,
    };
    let mut mesh = plan.cut(|place, layer| Ok(globe.coordinates(place, layer)))?;
    mesh.materials = globe.materials(&model, job.flag("q")?);
    mesh.radius = Some(model.surface());
    for line in globe.shells.lines(&globe.rows) {
        job.say(&line);
    }
    Ok(Some(mesh))
}

/// A chunk before it is divided into elements.
struct Globe {
    chunk: Chunk,
    shells: Shells,
    rows: Vec<Row>,
    top: [usize; 2],
}

impl Globe {
    fn of(job: &Job, model: &Radial) -> Result<Self> {
        let widths = job
            .floats("width")?
            .into_iter()
            .map(f64::from)
            .collect::<Vec<_>>();
        let widths = match widths[..] {
            [] => [90.0; 2],
            [one] => [one; 2],
            [a, b] => [a, b],
            _ => bail!(
                "width= has {} numbers; it takes one or two, degrees along x and y",
                widths.len()
            ),
        };
        if !widths.iter().all(|w| *w > 0.0 && *w <= 120.0) {
            bail!(
                "width={},{} degrees: the width of a chunk must be above 0 and at most 120 degrees; 90 \
                degrees give a sixth of the sphere",
                widths[0],
                widths[1]
            );
        }
        let nx = job
            .int_opt("nx")?
            .context("nx= is missing: the number of elements along x at the surface")?;
        let even = (nx as f64 * widths[1] / widths[0]).round() as i64;
        let top = [nx, job.int_opt("ny")?.unwrap_or(even.max(1))].map(|n| n as usize);
        let (lat, lon, turn) = (job.double("lat")?, job.double("lon")?, job.double("turn")?);
        if !(-90.0..=90.0).contains(&lat) || !lon.is_finite() || !turn.is_finite() {
            bail!("lat={lat} lon={lon} turn={turn}: a latitude must be from -90 to 90 degrees");
        }
        let chunk = Chunk::new(lat, lon, turn, widths);
        let list =
            |word: &str| -> Result<Vec<f64>> { Ok(job.floats(word)?.into_iter().map(f64::from).collect()) };
        let counts = |word: &str| -> Result<Option<Vec<usize>>> {
            let given = job.given(word).then(|| job.ints(word)).transpose()?;
            Ok(given.map(|list| list.into_iter().map(|n| n as usize).collect()))
        };
        let wish = Wish {
            bottom: job.double("bottom")?,
            skip: list("skip")?,
            layers: counts("layers")?,
            doubling: counts("doubling")?,
            top,
            arc: chunk.arc(),
        };
        let shells = Shells::of(model, &wish)?;
        let rows = rows(&shells, top)?;
        Ok(Self {
            chunk,
            shells,
            rows,
            top,
        })
    }

    /// x, y, z of a place.
    fn coordinates(&self, place: Place, layer: usize) -> [f64; 3] {
        let part = |axis: usize, at: i64| 2.0 * at as f64 / (UNIT * self.top[axis] as i64) as f64 - 1.0;
        let Shells { radii, rows, .. } = &self.shells;
        let foot = rows[..layer].iter().sum::<usize>() as i64 * ROW;
        let height = (place[1] - foot) as f64 / (rows[layer] as i64 * ROW) as f64;
        let radius = radii[layer] + (radii[layer + 1] - radii[layer]) * height;
        self.chunk
            .position([part(0, place[0]), part(1, place[2])], radius)
    }

    /// The material in the middle of every layer.
    fn materials(&self, model: &Radial, losses: bool) -> Vec<Material> {
        let of = |ends: &[f64]| {
            let middle = (ends[0] + ends[1]) / 2.0;
            let Matter {
                density,
                q_kappa,
                q_mu,
                ..
            } = model.seen_from(middle, middle);
            let [vp, vs] = model.seen_from(middle, middle).mean_speeds();
            let q = |q: f64| {
                if losses && q.is_finite() {
                    q.min(LOSSLESS)
                } else {
                    LOSSLESS
                }
            };
            Material {
                density,
                vp,
                vs,
                q_kappa: q(q_kappa),
                q_mu: q(q_mu),
                anisotropic: false,
            }
        };
        self.shells.radii.windows(2).map(of).collect()
    }
}

/// The rows, from the bottom up; bricks need a multiple of two elements below them along x and y.
fn rows(shells: &Shells, top: [usize; 2]) -> Result<Vec<Row>> {
    let factor = 1_usize << shells.doubling.len().min(32);
    for (word, n) in [("nx", top[0]), ("ny", top[1])] {
        if factor > 1 && n % (2 * factor) != 0 {
            bail!(
                "{word}={n} cannot be halved for every doubling, of which there are {}: give a multiple of \
                {}, or doubling= with fewer rows",
                shells.doubling.len(),
                2 * factor
            );
        }
    }
    let mut counts = top.map(|n| n / factor);
    let mut rows = Vec::new();
    for (layer, height) in shells.rows.iter().enumerate() {
        for _ in 0..*height {
            let kind = match shells.doubling.contains(&(rows.len() + 1)) {
                true => Kind::Brick,
                false => Kind::Plain,
            };
            let row = Row { kind, layer, counts };
            counts = row.above();
            rows.push(row);
        }
    }
    Ok(rows)
}
