//! `sfreal`, `sfimag`, `sfcmplx`, `sfrtoc`: conversion between complex numbers and their real and imaginary parts.

use anyhow::{Result, bail, ensure};
use rsf_io::{Axis, Complex, Input, Job, Kind, Output, Param, Program};

use super::cube::{self, PIECE};

pub static REAL: Program = Program {
    name: "sfreal",
    about: "Take the real part of complex data.",
    usage: "< complex.rsf > real.rsf",
    comments: "",
    example: "sfreal < spectrum.rsf > real.rsf",
    params: &[],
};

pub static IMAG: Program = Program {
    name: "sfimag",
    about: "Take the imaginary part of complex data.",
    usage: "< complex.rsf > imag.rsf",
    example: "sfimag < spectrum.rsf > imag.rsf",
    ..REAL
};

pub static CMPLX: Program = Program {
    name: "sfcmplx",
    about: "Make complex data from a real and an imaginary part.",
    usage: "real.rsf imag.rsf > complex.rsf    or    < real.rsf imag.rsf > complex.rsf",
    comments: "",
    example: "sfcmplx real.rsf imag.rsf > complex.rsf",
    params: &[Param::words("file.rsf ...")
        .doc("the real part (unless it comes on standard input) and the imaginary part")],
};

pub static RTOC: Program = Program {
    name: "sfrtoc",
    about: "Turn real data into complex data.",
    usage: "< real.rsf > complex.rsf",
    comments: "",
    example: "sfrtoc < real.rsf > complex.rsf",
    params: &[Param::bool("pair").default("n").doc(
        "y: two neighbours on axis 1 become the real and the imaginary part, and an axis 1 of two samples is \
        removed; n: the imaginary part is 0",
    )],
};

pub fn real(job: &mut Job) -> Result<()> {
    one_part(job, 0)
}

pub fn imag(job: &mut Job) -> Result<()> {
    one_part(job, 1)
}

fn one_part(job: &mut Job, part: usize) -> Result<()> {
    let mut input = job.stdin()?;
    cube::expect(&input, Kind::Complex)?;
    let mut output = job.output()?;
    let mut numbers = vec![[0.0f32; 2]; PIECE.min(input.len() as usize)];
    let mut reals = vec![0.0; numbers.len()];
    while input.remaining() > 0 {
        let now = numbers.len().min(input.remaining() as usize);
        input.read_complex(&mut numbers[..now])?;
        reals
            .iter_mut()
            .zip(&numbers[..now])
            .for_each(|(real, number)| *real = number[part]);
        output.write_f32(&reals[..now])?;
    }
    Ok(output.finish()?)
}

pub fn cmplx(job: &mut Job) -> Result<()> {
    let mut inputs: Vec<Input> = Vec::new();
    let mut words = job.words().to_vec();
    ensure!(
        !words.is_empty(),
        "no file is given, but two are needed: the real and the imaginary part"
    );
    if words.len() == 1 {
        inputs.push(job.stdin()?);
    }
    // Flows of Madagascar append the files on which the command depends.
    for word in words.drain(2.min(words.len())..) {
        job.warn(&format!(
            "{} is not read: the first two files are the real and the imaginary part",
            word.to_string_lossy()
        ));
    }
    for path in words {
        let input = job.open_as(path.to_string_lossy().into_owned(), &path)?;
        match inputs.first() {
            Some(first) => cube::agree(job, first, &input, None)?,
            None => job.follow(&input),
        }
        inputs.push(input);
    }
    let [real, imag] = &mut inputs[..] else {
        bail!("two files are needed: the real and the imaginary part")
    };
    cube::expect(real, Kind::Float)?;
    let mut output = job.output()?;
    let mut values = vec![0.0f32; PIECE.min(real.len() as usize)];
    let mut numbers = vec![[0.0f32; 2]; values.len()];
    while real.remaining() > 0 {
        let now = values.len().min(real.remaining() as usize);
        for (part, input) in [&mut *real, &mut *imag].into_iter().enumerate() {
            input.read_f32(&mut values[..now])?;
            numbers
                .iter_mut()
                .zip(&values[..now])
                .for_each(|(number, value)| number[part] = *value);
        }
        output.write_complex(&numbers[..now])?;
    }
    Ok(output.finish()?)
}

pub fn rtoc(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    cube::expect(&input, Kind::Float)?;
    let pair = job.flag("pair")?;
    let mut output = job.output()?;
    if pair && input.axis(1).n == 2 {
        // The two samples of axis 1 become one complex number, so the axis is removed.
        let mut axes = cube::shape(&input)?;
        axes.remove(0);
        let rank = axes.len().max(1);
        axes.push(Axis {
            n: 1,
            ..input.axis(rank + 1)
        });
        cube::write_axes(&mut output, &axes);
    } else if pair {
        halve(&input, &mut output)?;
    }
    let step = if pair { 2 } else { 1 };
    let mut values = vec![0.0f32; (2 * PIECE).min(input.len() as usize)];
    let mut numbers: Vec<Complex> = Vec::new();
    while input.remaining() > 0 {
        let now = values.len().min(input.remaining() as usize);
        input.read_f32(&mut values[..now])?;
        numbers.clear();
        numbers.extend(
            values[..now]
                .chunks(step)
                .map(|parts| [parts[0], parts.get(1).copied().unwrap_or(0.0)]),
        );
        output.write_complex(&numbers)?;
    }
    Ok(output.finish()?)
}

/// Halves the length of axis 1 in the output, because two neighbours become one complex number.
///
/// # Errors
/// Returns an error if the length of axis 1 is odd.
pub fn halve(input: &Input, output: &mut Output) -> Result<()> {
    let n = input.axis(1).n;
    ensure!(
        n.is_multiple_of(2),
        "n1={n} is odd: pairs of neighbours on axis 1 become one complex number"
    );
    output.put_int("n1", n as i64 / 2);
    Ok(())
}
