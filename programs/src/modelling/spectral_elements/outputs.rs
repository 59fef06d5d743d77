//! What a run on a mesh writes.

use super::Run;
use crate::modelling::record::{Films, Outputs, Records, steps_between};
use crate::modelling::turn::Turn;
use crate::modelling::world::World;
use anyhow::bail;
use kernels::grid::AXES;
use kernels::mesh::Mesh;
use kernels::methods::spectral_elements::{Quantity, Shot};
use rsf_io::{Axis, Job};

/// Points along an axis of the snapshots where nothing is said.
const USUAL: usize = 101;

/// Most points of a component of the snapshots: each keeps the weights of its element, a kilobyte in 3-D.
const MOST: usize = 1 << 24;

/// The regular grid of the snapshots, if any: puts its points into the shot and returns its axes z, x[, y].
pub fn window<const D: usize>(job: &Job, mesh: &Mesh<D>, shot: &mut Shot<D>) -> anyhow::Result<Vec<Axis>> {
    if !job.flag("snap")? {
        if job.given("wfl") {
            job.warn("wfl= is given but snap=n: no snapshots are written; add snap=y");
        }
        return Ok(Vec::new());
    }
    let mut axes = Vec::new();
    for (a, name) in AXES.iter().enumerate().take(D) {
        let c = (a + D - 1) % D;
        let bounds = mesh.nodes().iter().map(|x| x[c]);
        let (low, high) = bounds.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| {
            (l.min(x), h.max(x))
        });
        let n = job
            .int_opt(&format!("nq{name}"))?
            .map_or(Ok(USUAL), usize::try_from)?;
        let o = job.float_opt(&format!("oq{name}"))?.unwrap_or(low as f32);
        let usual = ((high - f64::from(o)) / (n.max(2) - 1) as f64) as f32;
        let d = job.float_opt(&format!("dq{name}"))?.unwrap_or(usual);
        if !(d > 0.0 && d.is_finite() && o.is_finite()) {
            bail!(
                "snapshots have oq{name}={o} and dq{name}={d}; the step must be a positive number (the mesh reaches from {low} to {high} along {name})"
            );
        }
        let mut axis = Axis::new(n, o, d);
        (axis.label, axis.unit) = (Some((*name).into()), Some("m".into()));
        axes.push(axis);
    }
    let points = axes
        .iter()
        .try_fold(1usize, |product, axis| product.checked_mul(axis.n));
    let Some(points) = points.filter(|points| *points <= MOST) else {
        bail!("the snapshots have more than {MOST} points: give smaller nqz=, nqx= or nqy=");
    };
    let at = |number: usize| {
        let mut rest = number;
        let mut point = [0.0; D];
        for (a, axis) in axes.iter().enumerate() {
            point[(a + D - 1) % D] = f64::from(axis.o) + (rest % axis.n) as f64 * f64::from(axis.d);
            rest /= axis.n;
        }
        point
    };
    shot.film = (0..points).map(at).collect();
    shot.jsnap = Some(steps_between(job, "jsnap", shot.nt)?);
    Ok(axes)
}

/// Opens data and snapshots.
pub fn open<const D: usize>(job: &mut Job, run: &Run<D>, world: &World) -> anyhow::Result<Outputs> {
    let shot = &run.shot;
    let components = |quantity: Quantity| {
        let order = match (quantity, D) {
            (Quantity::Pressure, _) => "pressure",
            (Quantity::Strain, 3) => "zz xx yy zx zy xy",
            (Quantity::Strain, _) => "zz xx zx",
            (Quantity::Rotation, 2) => "y",
            (_, 3) => "z x y",
            _ => "z x",
        };
        Axis::new(quantity.components(D), 0.0, 1.0).label(order)
    };
    let time = Axis::new(shot.nt, run.begin as f32, run.dt as f32).unit("s");
    let mut records = Records {
        time: time.clone(),
        receivers: run.receivers.clone(),
        components: match run.fibre {
            Some(_) => Axis::new(1, 0.0, 1.0).label("along the fibre"),
            None => components(shot.quantity),
        },
        jdata: shot.jdata,
        snapshots: shot.jsnap.map(|every| Films {
            time,
            every,
            window: run.window.clone(),
            components: components(shot.filmed()),
        }),
    };
    let turned = !matches!(
        shot.quantity,
        Quantity::Pressure | Quantity::Strain | Quantity::Rotation
    ) && !run.frames.is_empty();
    if turned {
        records.components.label = Some("Z N E".into());
    }
    let mut outputs = Outputs::open(job, &records, world)?;
    if turned {
        outputs.turn(Turn::new(&run.frames));
    }
    outputs.tell_quantity(run.quantity);
    outputs.tell_quantity_of_snapshots(match shot.filmed() {
        Quantity::Pressure => "pressure in Pa",
        _ => "velocity in m/s",
    });
    outputs.tell(
        "convention",
        match turned {
            true => "SI units; components up, north and east",
            false => "SI units, z down; moment tensors and forces along the axes of the mesh",
        },
    );
    Ok(outputs)
}
