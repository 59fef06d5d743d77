//! `sfunif2`: layered models from interfaces.

use anyhow::{Result, ensure};
use rsf_io::{Axis, Job, Kind, Param, Program};

use super::cube;

pub static SPEC: Program = Program {
    name: "sfunif2",
    about: "Make a layered model in 2-D from its interfaces.",
    usage: "< interfaces.rsf n1= d1= v00=1500,2000,... > model.rsf",
    comments: "Axis 1 of the input is x, and axis 2 numbers the interfaces from top to bottom; its values are depths. \
Layer i lies above interface i, and one more layer lies below the last interface. In a layer the value is v00 + \
(x-x0) dvdx + (z-z0) dvdz, with one number of each list for each layer.\n\n\
Differs from Madagascar: a list whose length is not the number of layers is an error (Madagascar ignores it), and so \
are depths that are NaN.",
    example: "sfunif2 < horizons.rsf n1=201 d1=10 v00=1500,2500,4000 > vp.rsf",
    params: &PARAMS,
};

static PARAMS: [Param; 8] = [
    Param::int("n1")
        .required()
        .range(">= 1", Some(1.0), None)
        .doc("number of samples in depth"),
    Param::float("d1").required().doc("sampling in depth"),
    Param::float("o1").default("0").doc("first depth"),
    Param::floats("v00")
        .default_text("1500,2000,2500,...")
        .doc("value of each layer at x0, z0"),
    Param::floats("x0")
        .default_text("0,0,...")
        .doc("x at which the values of v00= apply"),
    Param::floats("z0")
        .default_text("0,0,...")
        .doc("depth at which the values of v00= apply"),
    Param::floats("dvdx")
        .default_text("0,0,...")
        .doc("gradient with x"),
    Param::floats("dvdz")
        .default_text("0,0,...")
        .doc("gradient with depth"),
];

pub fn run(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    cube::expect(&input, Kind::Float)?;
    let shape = cube::shape_to(&input, 2)?;
    let (along, interfaces) = (&shape[0], shape[1].n);
    ensure!(
        input.len() == (along.n * interfaces) as u64,
        "{} has {}, but only two axes are allowed: axis 1 is x and axis 2 the interfaces",
        input.name(),
        input.header().sizes()
    );
    let depths = input.read_all_f32()?;
    ensure!(
        !depths.iter().any(|z| z.is_nan()),
        "{} has depths that are NaN: give each interface a depth at every x",
        input.name()
    );
    let layers = interfaces + 1;
    let list = |key: &str, usual: &dyn Fn(usize) -> f32| -> Result<Vec<f32>> {
        if !job.given(key) {
            return Ok((0..layers).map(usual).collect());
        }
        let values = job.floats(key)?;
        ensure!(
            values.len() == layers,
            "{key}= has {} numbers, but {interfaces} interfaces make {layers} layers, and each needs one",
            values.len()
        );
        Ok(values)
    };
    let v00 = list("v00", &|i| 1500.0 + 500.0 * i as f32)?;
    let (x0, z0) = (list("x0", &|_| 0.0)?, list("z0", &|_| 0.0)?);
    let (dvdx, dvdz) = (list("dvdx", &|_| 0.0)?, list("dvdz", &|_| 0.0)?);
    let down = Axis::new(job.int("n1")? as usize, job.float("o1")?, job.float("d1")?);
    let mut output = job.output()?;
    output.set_axis(1, &down.clone().label("Depth"));
    output.set_axis(2, along);
    let mut column = vec![0.0f32; down.n];
    for ix in 0..along.n {
        let x = along.o + ix as f32 * along.d;
        for (i, value) in column.iter_mut().enumerate() {
            let z = down.o + i as f32 * down.d;
            let layer = (0..interfaces)
                .find(|k| z < depths[k * along.n + ix])
                .unwrap_or(interfaces);
            *value = v00[layer] + (x - x0[layer]) * dvdx[layer] + (z - z0[layer]) * dvdz[layer];
        }
        output.write_f32(&column)?;
    }
    Ok(output.finish()?)
}
