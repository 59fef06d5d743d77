//! The outputs of a run on a mesh.

use super::Run;
use super::several::Several;
use crate::earth::{OriginTime, origin_time};
use crate::modelling::divide::{Divide, put_quantity};
use crate::modelling::exact_time::{Correction, Timing};
use crate::modelling::quantity::{What, of_data};
use crate::modelling::record::{Outputs, Records, SnapshotAxes, thinned};
use crate::modelling::survey::Survey;
use crate::modelling::turn::Turn;
use crate::modelling::world::World;
use fourier::time_dispersion::Reading;
use kernels::methods::spectral_elements::{Quantity, Shot};
use rsf_io::{Axis, Job};

/// The quantity that receivers record for data=, and its name in headers.
///
/// # Errors
/// Returns an error for an unknown quantity, and for several quantities, because standard output takes only
/// one.
pub fn recorded(job: &Job) -> anyhow::Result<(Quantity, &'static str)> {
    let (_, what, words) = of_data(job)?;
    Ok(match what {
        What::At(quantity) => (quantity, words),
        What::Das => (Quantity::Strain, words),
    })
}

/// The time of the first record in steps, and the way in which records are taken: velocities of this scheme
/// are means over two times.
pub fn taken<const D: usize>(shot: &Shot<D>) -> (f64, Reading) {
    let reading = match shot.quantity {
        Quantity::Velocity => Reading::OfTwoTimes,
        _ => Reading::OfOneTime,
    };
    (0.0, reading)
}

/// Sets the steps that exact time needs, and the steps between records if one in `jdata` is requested.
pub fn correct<const D: usize>(
    job: &Job,
    timing: &Timing,
    (shot, jdata): (&mut Shot<D>, usize),
    channels: usize,
    several: Option<&Several>,
) -> anyhow::Result<()> {
    let correction = correct_steps(timing, (shot, jdata));
    if let Some(several) = several {
        (shot.quantity, shot.jdata) = (several.read, 1);
        return several.check_states(job, channels * D, (timing, jdata));
    }
    match correction {
        Some(correction) => correction.check_states(job, channels * shot.quantity.components(D)),
        None => Ok(()),
    }
}

/// Sets the steps that exact time needs, and the steps between records; returns the correction.
pub fn correct_steps<const D: usize>(
    timing: &Timing,
    (shot, jdata): (&mut Shot<D>, usize),
) -> Option<Correction> {
    (shot.nt, shot.jdata) = (timing.all_steps(), jdata);
    let correction = timing.correction(taken(shot), jdata)?;
    shot.jdata = correction.every();
    Some(correction)
}

/// Whether the data are along up, north and east.
pub fn is_turned<const D: usize>(run: &Run<D>) -> bool {
    What::At(run.shot.quantity).is_vector() && !run.frames.is_empty()
}

/// Axes of the data and the snapshots.
pub fn records<const D: usize>(run: &Run<D>) -> Records {
    let shot = &run.shot;
    let components =
        |quantity: Quantity| Axis::new(quantity.components(D), 0.0, 1.0).label(What::At(quantity).names(D));
    let time = Axis::new(run.timing.steps, run.begin as f32, run.dt as f32).unit("s");
    Records {
        time: match run.several {
            Some(_) => thinned(&time, run.jdata),
            None => time.clone(),
        },
        receivers: run.receivers.clone(),
        components: match run.fibre {
            Some(_) => Axis::new(1, 0.0, 1.0).label("along the fibre"),
            None if is_turned(run) => components(shot.quantity).label("Z N E"),
            None => components(shot.quantity),
        },
        jdata: if run.several.is_some() { 1 } else { run.jdata },
        snapshots: shot.jsnap.map(|every| SnapshotAxes {
            time,
            every,
            window: run.window.clone(),
            components: components(shot.snapshot_quantity()),
        }),
    }
}

/// Opens the files of all quantities except the data.
fn divided<const D: usize>(
    job: &mut Job,
    run: &Run<D>,
    several: &Several,
    records: &Records,
) -> anyhow::Result<Divide> {
    let mut all = Vec::new();
    for output in &several.outputs {
        let derivation = several.derivation(output.quantity, run.receivers.n * D, (&run.timing, run.jdata));
        let mut file = output.key.map(|key| job.tagged_output(key)).transpose()?;
        if let Some(file) = &mut file {
            file.set_axis(1, &records.receivers);
            file.set_axis(2, &records.components);
            file.set_axis(3, &records.time);
            file.set_rank(3);
            put_quantity(file, output.words);
        }
        all.push((derivation, file));
    }
    Ok(Divide::new(all))
}

/// Opens data and snapshots.
pub fn open<const D: usize>(job: &mut Job, run: &Run<D>, world: &World) -> anyhow::Result<Outputs> {
    let (shot, records, turned) = (&run.shot, records(run), is_turned(run));
    let mut outputs = Outputs::open(job, &records, world)?;
    if turned {
        outputs.turn(Turn::new(&run.frames));
    }
    if let Some(several) = run.several.as_ref().filter(|_| !job.is_dry_run()) {
        let opened = match world.leads() {
            true => divided(job, run, several, &records).map(Some),
            false => Ok(None),
        };
        if let Some(divide) = world.agree(opened)? {
            outputs.divide(divide);
        }
    } else if let Some(correction) = run.timing.correction(taken(shot), run.jdata) {
        outputs.divide(Divide::of_corrected(correction, Survey::records(run)[0]));
    }
    outputs.put_clock(&run.timing);
    outputs.put_quantity(run.quantity);
    outputs.put_quantity_of_snapshots(match shot.snapshot_quantity() {
        Quantity::Pressure => "pressure in Pa",
        _ => "velocity in m/s",
    });
    outputs.put_text(
        "convention",
        match turned {
            true => "SI units; components up, north and east",
            false => "SI units, z down; moment tensors and forces along the axes of the mesh",
        },
    );
    if D == 3 {
        if !run.stations.is_empty() {
            outputs.put_text("stations", &run.stations.join(","));
        }
        for (key, value) in origin_time(job)?.iter().flat_map(OriginTime::keys) {
            outputs.put_raw(key, &value);
        }
    }
    run.spreads.head(job, &mut outputs)?;
    Ok(outputs)
}
