//! `sfdottest`: the dot-product test of a linear operator and its adjoint.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, ensure};
use rand_mt::Mt;
use rsf_io::{Input, Job, Kind, Output, Param, Program, format_g};

use super::cube::{self, PIECE};
use super::operator::{self, Operator};

pub static SPEC: Program = Program {
    name: "sfdottest",
    about: "Dot-product test of a linear operator and its adjoint.",
    usage: "PROGRAM mod=model.rsf dat=data.rsf key=value ...",
    comments: "Draws a random model m and random data d, both uniform from 0 to 1, with the axes of mod= and dat=. It \
prints the dot product of L m with d, the dot product of L'd with m, and their difference as a fraction of the first. \
For an operator L and its exact adjoint L' both products are equal except for rounding.\n\n\
PROGRAM is the name or path of the operator, and the parameters after it are passed on. It is started with adj=n (model \
in, data out) and with adj=y (data in, model out), and must read standard input and write standard output. The axes of dat= \
must be those that PROGRAM writes with adj=n, times (o3=, d3= of modelling programs) included; a warning names others.\n\n\
Differs from Madagascar: mod=, dat=, seed= and tol= are not passed on to PROGRAM; a program that fails is an error; \
seed=, tol= and the third line are new.",
    example: "sfspike n1=100 > d.rsf\nsfdottest sfcausint mod=d.rsf dat=d.rsf",
    params: &PARAMS,
};

static PARAMS: [Param; 6] = [
    Param::words("PROGRAM").doc("the operator, and its arguments without ="),
    Param::keys("key").doc("parameters of the operator"),
    Param::input("mod")
        .required()
        .doc("a dataset with the axes of the model; its elements are not used"),
    Param::input("dat")
        .required()
        .doc("a dataset with the axes of the data; its elements are not used"),
    Param::int("seed")
        .default_text("from the time; it is printed")
        .doc("seed of the random numbers"),
    Param::float("tol")
        .default_text("none")
        .range("> 0", Some(0.0), None)
        .doc("largest difference of the dot products, as a fraction of the first, for which the test passes"),
];

/// Random numbers, uniform from 0 to 1.
struct Random(Mt);

impl Random {
    fn new(seed: u32) -> Self {
        Self(Mt::new(seed))
    }

    fn next(&mut self) -> f32 {
        (f64::from(self.0.next_u32()) / f64::from(u32::MAX)) as f32
    }

    /// Writes `elements` random numbers.
    fn write(mut self, output: &mut Output, elements: u64) -> Result<()> {
        let mut left = elements;
        while left > 0 {
            let now = left.min(PIECE as u64);
            let values: Vec<f32> = (0..now).map(|_| self.next()).collect();
            output.write(&values)?;
            left -= now;
        }
        Ok(())
    }
}

pub fn run(job: &mut Job) -> Result<()> {
    let operator = Operator::of(job)?;
    let (model, data) = (job.input("mod")?, job.input("dat")?);
    cube::expect(&model, Kind::Float)?;
    cube::expect(&data, Kind::Float)?;
    let time = || {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.map_or(0, |time| time.as_secs() as i64)
    };
    let seed = job.int_opt("seed")?.unwrap_or_else(time);
    let mut seeds = Mt::new(seed as u32);
    let (seed_of_model, seed_of_data) = (seeds.next_u32(), seeds.next_u32());
    let mut product = |adjoint: bool| {
        let (from, to, from_seed, to_seed) = match adjoint {
            false => (&model, &data, seed_of_model, seed_of_data),
            true => (&data, &model, seed_of_data, seed_of_model),
        };
        let elements = from.len();
        let give = move |output: &mut Output| Random::new(from_seed).write(output, elements);
        let take = |mut result: Input| {
            let (mut random, mut sum) = (Random::new(to_seed), 0.0);
            operator::pieces(&mut result, |values| {
                for &value in values {
                    sum += f64::from(value) * f64::from(random.next());
                }
            })?;
            Ok(sum)
        };
        operator.apply(job, adjoint, (from, give), (to, take))
    };
    let (forward, adjoint) = (product(false)?, product(true)?);
    job.say(&format!(" L[m]*d={}", format_g(forward, 9)));
    job.say(&format!("L'[d]*m={}", format_g(adjoint, 9)));
    let apart = (forward - adjoint).abs() / forward.abs().max(f64::MIN_POSITIVE);
    job.say(&format!("relative difference {}", format_g(apart, 3)));
    if !job.given("seed") {
        job.say(&format!("seed={seed} gives the same random numbers again"));
    }
    ensure!(
        forward.is_finite() && adjoint.is_finite(),
        "the dot products are {forward} and {adjoint}, which are not both finite: check the parameters of the operator"
    );
    if forward == 0.0 && adjoint == 0.0 {
        job.warn("both products are zero, which tests nothing: check the parameters of the operator");
    }
    if let Some(tolerance) = job.double_opt("tol")? {
        ensure!(
            apart <= tolerance,
            "the relative difference of the dot products is {}, more than tol={tolerance}: the program with \
            adj=y is not the adjoint of the program with adj=n, or the program is not linear",
            format_g(apart, 3)
        );
    }
    Ok(())
}
