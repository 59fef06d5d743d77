//! `sfmask` and `sfclip2`: masking and clipping values by two limits.

use anyhow::{Result, ensure};
use rsf_io::{Job, Kind, Param, Program};

use super::cube::{self, PIECE};

pub static MASK: Program = Program {
    name: "sfmask",
    about: "Make a mask: 1 where a value lies between min and max, 0 elsewhere.",
    usage: "< in.rsf min= max= > mask.rsf",
    comments: "Both limits are inclusive. NaN gives 0. The output consists of integers.\n\n\
Differs from Madagascar: integers, bytes and double-precision numbers are accepted as well as single-precision ones.",
    example: "sfmask < offset.rsf min=0 max=2 > near.rsf",
    params: &MASK_PARAMS,
};

static MASK_PARAMS: [Param; 2] = [
    Param::float("min")
        .default_text("no limit")
        .doc("smallest value that gives 1"),
    Param::float("max")
        .default_text("no limit")
        .doc("largest value that gives 1"),
];

pub static CLIP2: Program = Program {
    name: "sfclip2",
    about: "Clip values above and below.",
    usage: "< in.rsf upper= lower= > out.rsf",
    comments: "Values above upper= become upper=, then values below lower= become lower=. NaN is not changed.\n\n\
Differs from Madagascar: lower= above upper= is an error.",
    example: "sfclip2 < vp.rsf lower=1.5 upper=5 > sane.rsf",
    params: &CLIP2_PARAMS,
};

static CLIP2_PARAMS: [Param; 2] = [
    Param::float("upper")
        .default_text("no limit")
        .doc("largest value that is kept"),
    Param::float("lower")
        .default_text("no limit")
        .doc("smallest value that is kept"),
];

/// The lower and the upper limit, infinite if not given.
fn limits(job: &Job, low: &str, high: &str) -> Result<(f32, f32)> {
    let (least, most) = (job.float_opt(low)?, job.float_opt(high)?);
    let both = (least.unwrap_or(f32::NEG_INFINITY), most.unwrap_or(f32::INFINITY));
    ensure!(
        both.0 <= both.1,
        "{low}={} is above {high}={}: no value lies between them",
        both.0,
        both.1
    );
    Ok(both)
}

pub fn mask(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    ensure!(
        input.format().kind != Kind::Complex,
        "{} holds complex data, but limits need real data (sfreal, sfimag or sfmath output='abs(input)' convert them)",
        input.name()
    );
    cube::shape(&input)?;
    let (least, most) = limits(job, "min", "max")?;
    let inside = f64::from(least)..=f64::from(most);
    let mut output = job.output()?;
    output.set_kind(Kind::Int);
    let mut values = Vec::new();
    while input.remaining() > 0 {
        let now = input.remaining().min(PIECE as u64) as usize;
        cube::read_as_f64(&mut input, now, &mut values)?;
        let mask: Vec<i32> = values.iter().map(|x| i32::from(inside.contains(x))).collect();
        output.write(&mask)?;
    }
    Ok(output.finish()?)
}

pub fn clip2(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    cube::expect(&input, Kind::Float)?;
    let (least, most) = limits(job, "lower", "upper")?;
    let mut output = job.output()?;
    cube::map(&mut input, &mut output, |piece: &mut [f32]| {
        // Unlike clamp(), this preserves the sign of a zero and keeps NaN.
        piece.iter_mut().for_each(|x| {
            if *x > most {
                *x = most;
            } else if *x < least {
                *x = least;
            }
        });
    })?;
    Ok(output.finish()?)
}
