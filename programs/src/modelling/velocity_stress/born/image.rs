//! Images by reverse-time migration: what `sfvsrtm2d-gpu` and `sfvsrtm3d-gpu` share.

use super::params;
use super::set_up::{self, SetUp};
use crate::modelling::world::World;
pub use params::{IMAGE_2D as PROGRAM_2D, IMAGE_3D as PROGRAM_3D};
use rsf_io::{Job, Output};

/// Runs `sfvsrtm2d-gpu`.
pub fn run_2d(job: &mut Job, world: &World) -> anyhow::Result<()> {
    run(job, 2, world)
}

/// Runs `sfvsrtm3d-gpu`.
pub fn run_3d(job: &mut Job, world: &World) -> anyhow::Result<()> {
    run(job, 3, world)
}

fn run(job: &mut Job, ndim: usize, world: &World) -> anyhow::Result<()> {
    if job.flag("plan")? {
        return SetUp::read_plain(job, ndim, world)?.plan_survey(job, world);
    }
    let mut data = job.stdin()?;
    let mut made = SetUp::read_plain(job, ndim, world)?;
    made.check_data(&data, "this program")?;
    let mut output = job.output()?;
    set_up::model_axes(&mut output, &made.run.padded.model, &[]);
    name(&mut output, "Image", "image of P waves by P waves");
    output.put_note(&rsf_io::version(), &made.machine.describe(None));
    if job.is_dry_run() {
        return Ok(output.finish()?);
    }
    let mut born = made.born(job, world)?;
    let ladder = set_up::ladder(job, made.run.shot.nt, &born)?;
    if job.flag("verb")? {
        made.summary(job);
        job.say(&set_up::way_back(&ladder, made.run.shot.nt, born.sizes()));
    }
    let cells = made.run.padded.model.cells();
    let (mut image, mut light) = (vec![0.0f64; cells], vec![0.0f64; cells]);
    made.each_shot(&mut born, |_, born| {
        let given = set_up::finite(&mut data, born.records() * born.values())?;
        let found = born.image(&given, &ladder)?;
        add(&mut image, &found.pp);
        add(&mut light, &found.illumination);
        Ok(())
    })?;
    if image.iter().all(|&x| x == 0.0) {
        job.warn("the image is zero: no wave of the data met one of the sources; look at the data and the number of steps");
    }
    if job.flag("norm")? {
        let least = job.double("eps")? * light.iter().copied().fold(0.0, f64::max);
        let least = least.max(f64::MIN_POSITIVE);
        image
            .iter_mut()
            .zip(&light)
            .for_each(|(image, light)| *image /= light + least);
    }
    if job.given("illum") {
        let mut file = job.tagged_output("illum")?;
        set_up::model_axes(&mut file, &made.run.padded.model, &[]);
        name(&mut file, "Illumination", "squared pressure of the sources");
        file.write_f32(&rounded(&light))?;
        file.finish()?;
    }
    output.write_f32(&rounded(&image))?;
    Ok(output.finish()?)
}

/// Says what the numbers are: the history says what the data were.
fn name(output: &mut Output, label: &str, quantity: &str) {
    output.put_text("quantity", quantity);
    output.put_text("label", label);
    output.put_text("unit", "");
}

fn add(sum: &mut [f64], values: &[f32]) {
    sum.iter_mut()
        .zip(values)
        .for_each(|(sum, &x)| *sum += f64::from(x));
}

fn rounded(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&x| x as f32).collect()
}
