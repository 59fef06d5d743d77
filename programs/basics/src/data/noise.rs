//! `sfnoise`: random noise.

use std::f64::consts::PI;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, ensure};
use rand_mt::Mt;
use rsf_io::{Complex, Job, Kind, Param, Program};

use super::cube;

pub static SPEC: Program = Program {
    name: "sfnoise",
    about: "Add random noise to data.",
    usage: "< in.rsf seed=2013 var=0.01 > out.rsf",
    comments: "The same seed= gives the same numbers on every machine. They come from a Mersenne twister, with the \
method of Box and Muller for the normal distribution. Noise is added to both parts of complex data, the real part first.",
    example: "sfspike n1=1000 | sfnoise rep=y seed=1 > noise.rsf",
    params: &PARAMS,
};

static PARAMS: [Param; 6] = [
    Param::int("seed")
        .default_text("the time")
        .doc("seed of the random numbers"),
    Param::bool("type")
        .default("y")
        .doc("y: normal distribution; n: uniform"),
    Param::float("var")
        .default_text("from range=")
        .range(">= 0", Some(0.0), None)
        .doc("variance"),
    Param::float("range")
        .default_text("none")
        .doc("half of the width of a uniform distribution, or 4.5 standard deviations of a normal one"),
    Param::float("mean").default("0").doc("mean"),
    Param::bool("rep")
        .default("n")
        .doc("y: the noise replaces the data"),
];

pub fn run(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    let kind = input.format().kind;
    ensure!(
        matches!(kind, Kind::Float | Kind::Complex),
        "the input holds {} data, but sfnoise takes float and complex only (sfdd type=float converts)",
        kind.word()
    );
    let time = || {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |time| time.as_secs() as i64)
    };
    let seed = job.int_opt("seed")?.unwrap_or_else(time);
    let normal = job.flag("type")?;
    let width = match (job.float_opt("var")?, job.float_opt("range")?, normal) {
        (Some(variance), _, true) => variance.sqrt(),
        (Some(variance), _, false) => (12.0 * variance).sqrt(),
        (None, Some(range), true) => 2.0 * range / 9.0,
        (None, Some(range), false) => 2.0 * range,
        (None, None, _) => 1.0,
    };
    let mean = job.float("mean")?;
    let mut random = Random {
        bits: Mt::new(seed as u32),
        second: None,
    };
    let mut next = move || match normal {
        true => width * random.normal() + mean,
        false => (f64::from(width) * random.uniform() + f64::from(mean - 0.5 * width)) as f32,
    };
    let replace = job.flag("rep")?;
    let mut output = job.output()?;
    let mut fill = |values: &mut [f32]| {
        for value in values {
            *value = if replace { next() } else { *value + next() };
        }
    };
    match kind {
        Kind::Complex => cube::map::<Complex>(&mut input, &mut output, |values| {
            fill(values.as_flattened_mut());
        })?,
        _ => cube::map::<f32>(&mut input, &mut output, fill)?,
    }
    Ok(output.finish()?)
}

/// A source of random numbers: a Mersenne twister.
struct Random {
    bits: Mt,
    /// The second of the two numbers that the method of Box and Muller yields at a time.
    second: Option<f32>,
}

impl Random {
    /// A uniform random number from 0 to 1, both included.
    fn uniform(&mut self) -> f64 {
        f64::from(self.bits.next_u32()) * (1.0 / f64::from(u32::MAX))
    }

    /// A normally distributed random number of mean 0 and variance 1.
    fn normal(&mut self) -> f32 {
        if let Some(second) = self.second.take() {
            return second;
        }
        let mut radius = self.uniform();
        while radius == 0.0 {
            radius = self.uniform();
        }
        let (radius, angle) = ((-2.0 * radius.ln()).sqrt(), 2.0 * PI * self.uniform());
        self.second = Some((radius * angle.cos()) as f32);
        (radius * angle.sin()) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_twister_is_the_published_one() {
        // The C++ standard gives the 10000th number for the seed 5489 (rand.predef).
        let mut bits = Mt::new(5489);
        let last = (0..10_000).map(|_| bits.next_u32()).last();
        assert_eq!(last, Some(4_123_659_995));
    }
}
