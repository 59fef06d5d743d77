//! What a run on a mesh writes.

use super::Run;
use super::maps::Peaks;
use crate::modelling::record::{Films, Outputs, Records};
use crate::modelling::turn::Turn;
use crate::modelling::world::World;
use kernels::methods::spectral_elements::Quantity;
use rsf_io::{Axis, Job};

/// Axes of the data and the snapshots.
pub fn records<const D: usize>(run: &Run<D>) -> Records {
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
    Records {
        time: time.clone(),
        receivers: run.receivers.clone(),
        components: match run.fibre {
            Some(_) => Axis::new(1, 0.0, 1.0).label("along the fibre"),
            None => components(shot.quantity),
        },
        jdata: run.peaks.as_ref().map_or(shot.jdata, Peaks::every),
        snapshots: shot.jsnap.map(|every| Films {
            time,
            every,
            window: run.window.clone(),
            components: components(shot.filmed()),
        }),
    }
}

/// Opens data and snapshots.
pub fn open<const D: usize>(job: &mut Job, run: &Run<D>, world: &World) -> anyhow::Result<Outputs> {
    let (shot, mut records) = (&run.shot, records(run));
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
    run.spreads.head(&mut outputs);
    Ok(outputs)
}
