//! The output files of a velocity-stress run, with the conventions in their headers.

use super::Run;
use super::several::Several;
use crate::earth::{OriginTime, SOURCES, origin_time};
use crate::modelling::divide::{Divide, put_quantity};
use crate::modelling::exact_time::CLOCK;
use crate::modelling::quantity::What;
use crate::modelling::record::{Outputs, Records, SnapshotAxes};
use crate::modelling::survey::Survey;
use crate::modelling::survey::finished;
use crate::modelling::turn::Turn;
use crate::modelling::world::World;
use kernels::grid::AXES;
use kernels::methods::velocity_stress::Quantity;
use rsf_io::{Axis, Job, Output};

/// Opens the map of the largest horizontal speeds.
pub fn peaks(job: &mut Job, run: &Run) -> anyhow::Result<Output> {
    let grid = &run.padded.model;
    let mut file = job.tagged_output("pgv")?;
    for a in 1..grid.ndim {
        file.set_axis(
            a,
            &Axis::new(grid.n[a], grid.o[a], grid.d[a])
                .label(AXES[a])
                .unit("m"),
        );
    }
    file.set_rank(grid.ndim - 1);
    file.put_text("label", "Peak ground velocity");
    file.put_text("unit", "m/s");
    file.put_text(
        "quantity",
        "largest horizontal speed in m/s at the top nodes of the model",
    );
    if let Some(clock) = run.timing.clock_of_steps() {
        file.put_text(CLOCK, &clock);
    }
    Ok(file)
}

/// Opens the files of all quantities except the first, whose components have these axes.
fn divided(
    job: &mut Job,
    run: &Run,
    several: &Several,
    components: impl Fn(What) -> Axis,
) -> anyhow::Result<Divide> {
    let (ndim, receivers) = (run.padded.ndim(), run.receivers.n);
    let mut all = Vec::new();
    for output in &several.outputs {
        let (derivation, time) = several.derivation(output.what, ndim, receivers);
        let time = run.later(time);
        let mut file = output.key.map(|key| job.tagged_output(key)).transpose()?;
        if let Some(file) = &mut file {
            file.set_axis(1, &run.receivers);
            file.set_axis(2, &components(output.what));
            file.set_axis(3, &time);
            file.set_rank(3);
            put_quantity(file, output.words);
        }
        all.push((derivation, file));
    }
    Ok(Divide::new(all))
}

/// The quantities that have a file, the data first, and the axes of a shot.
pub fn data_files(run: &Run) -> Vec<finished::DataFile> {
    let (shot, ndim) = (&run.shot, run.padded.ndim());
    let axes = |components: usize, time: Axis| {
        let components = Axis::new(components, 0.0, 1.0);
        [run.receivers.clone(), components, time]
    };
    match &run.several {
        Some(several) => {
            let files = several.outputs.iter().map(|output| finished::DataFile {
                words: output.words,
                key: output.key,
                axes: axes(
                    output.what.components(ndim),
                    run.later(several.derivation(output.what, ndim, run.receivers.n).1),
                ),
            });
            files.collect()
        }
        None => {
            let first = (shot.quantity.first_time() * shot.dt) as f32;
            let step = (shot.dt * run.jdata as f64) as f32;
            let time = Axis::new(run.timing.steps.div_ceil(run.jdata), first, step);
            vec![finished::DataFile {
                words: run.quantity,
                key: None,
                axes: axes(shot.quantity.components(ndim), run.later(time)),
            }]
        }
    }
}

/// Names the axes of snapshots.
pub fn name_axes(window: &mut [Axis]) {
    for (axis, name) in window.iter_mut().zip(AXES) {
        axis.label = Some(name.into());
        axis.unit = Some("m".into());
    }
}

/// Writes the names of stations and the origin time of an earthquake to the headers.
fn names(job: &Job, run: &Run, outputs: &mut Outputs) -> anyhow::Result<()> {
    if !run.stations.codes.is_empty() {
        outputs.put_text("stations", &run.stations.codes.join(","));
    }
    // Other programs have no such parameters.
    if SOURCES.iter().any(|word| job.given(word)) {
        for (key, value) in origin_time(job)?.iter().flat_map(OriginTime::keys) {
            outputs.put_raw(key, &value);
        }
    }
    Ok(())
}

/// The axes of the times and of the components of a quantity; `turned` says whether the components are up,
/// north and east.
fn axes(run: &Run, what: What, turned: bool) -> (Axis, Axis) {
    let ndim = run.padded.ndim();
    let order = match turned {
        true => "Z N E",
        false => what.names(ndim),
    };
    let dt = run.shot.dt;
    let time = Axis::new(run.timing.steps, (what.first_time() * dt) as f32, dt as f32);
    let components = Axis::new(what.components(ndim), 0.0, 1.0).label(order);
    (run.later(time.unit("s")), components)
}

/// The names of the components of the data.
pub fn components(run: &Run) -> String {
    let what = What::At(run.shot.quantity);
    let turned = !run.stations.codes.is_empty() && what.is_vector();
    axes(run, what, turned).1.label.unwrap_or_default()
}

/// Opens data and snapshots.
pub fn open(job: &mut Job, run: &Run, world: &World) -> anyhow::Result<Outputs> {
    let (shot, ndim) = (&run.shot, run.padded.ndim());
    let is_turned = !run.stations.codes.is_empty();
    let of = |what: What| axes(run, what, is_turned && what.is_vector());
    let (time, components) = of(What::At(shot.quantity));
    let snapshots = shot.snapshots.as_ref().map(|s| {
        let (time, components) = axes(run, What::At(shot.quantity.of_snapshots()), false);
        SnapshotAxes {
            time,
            every: s.every,
            window: run.window.clone(),
            components,
        }
    });
    let (mut time, mut components, mut jdata) = (time, components, run.jdata);
    if let Some(several) = &run.several {
        let first = several.outputs[0].what;
        (time, components, jdata) = (run.later(several.derivation(first, ndim, 0).1), of(first).1, 1);
    }
    let records = Records {
        time,
        receivers: run.receivers.clone(),
        components,
        jdata,
        snapshots,
    };
    let mut outputs = Outputs::open(job, &records, world)?;
    outputs.put_quantity(run.quantity);
    let is_first = match &run.several {
        Some(several) => several.readings.velocity,
        None => What::At(shot.quantity).is_vector(),
    };
    if is_turned && is_first {
        outputs.turn(Turn::new(&run.stations.frames));
    }
    if let Some(several) = run.several.as_ref().filter(|_| !job.is_dry_run()) {
        let opened = match world.leads() {
            true => divided(job, run, several, |what| of(what).1).map(Some),
            false => Ok(None),
        };
        if let Some(divide) = world.agree(opened)? {
            outputs.divide(divide);
        }
    }
    if let Some(correction) = run.correction() {
        outputs.divide(Divide::of_corrected(correction, Survey::records(run)[0]));
    }
    outputs.put_clock(&run.timing);
    let (quantity, nodes) = match shot.quantity.of_snapshots() {
        Quantity::Pressure => ("pressure in Pa", "on the nodes of the axes"),
        _ if ndim == 3 => (
            "velocity in m/s",
            "raw staggered fields: z half a cell below the nodes of the axes, x and y half a cell beyond them along x and y",
        ),
        _ => (
            "velocity in m/s",
            "raw staggered fields: z half a cell below the nodes of the axes, x half a cell beyond them along x",
        ),
    };
    outputs.put_quantity_of_snapshots(quantity);
    outputs.put_text_of_snapshots("nodes", nodes);
    outputs.put_text(
        "convention",
        match is_turned {
            true => "SI units; components up, north and east; snapshots z down",
            false => "SI units, z down; moment tensors and forces along the axes of the grid",
        },
    );
    names(job, run, &mut outputs)?;
    run.spreads.head(job, &mut outputs)?;
    Ok(outputs)
}
