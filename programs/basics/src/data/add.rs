//! `sfadd`: sums, products and quotients of datasets.

use anyhow::{Result, bail, ensure};
use num_complex::Complex32;
use rsf_io::{Complex, Element, Input, Job, Kind, Output, Param, Program};

use super::cube::{self, PIECE};

pub static SPEC: Program = Program {
    name: "sfadd",
    about: "Add, multiply or divide datasets.",
    usage: "[< first.rsf] second.rsf third.rsf ... scale=1,-1 mode=add > out.rsf",
    comments: "Each dataset is changed first, in this order: absolute value (abs=), number added (add=), logarithm \
(log=), square root (sqrt=), factor (scale=), exponential (exp=). Then the datasets are added or multiplied, or \
the first is divided by the others; where a divisor is zero the number is not changed. The lists hold one value \
for each dataset; the last value of a shorter list also applies to the datasets that follow.\n\n\
All datasets must have the same shape and the same type: float, complex or int.",
    example: "sfadd gpu.rsf cpu.rsf scale=1,-1 > difference.rsf",
    params: &PARAMS,
};

pub static MUL: Program = Program {
    name: "sfmul",
    about: "Multiply datasets.",
    usage: "[< first.rsf] second.rsf third.rsf ... scale= > out.rsf",
    comments: "This is sfadd with mode=multiply. The other parameters change each dataset before it is multiplied.",
    example: "sfmul vp.rsf vp.rsf ro.rsf > c33.rsf",
    params: ALONE,
};

pub static DIV: Program = Program {
    name: "sfdiv",
    about: "Divide a dataset by others.",
    usage: "[< first.rsf] second.rsf third.rsf ... scale= > out.rsf",
    comments: "This is sfadd with mode=divide: where a divisor is zero the number is not changed. The other parameters \
change each dataset before the division.",
    example: "sfdiv < vp.rsf vs.rsf > ratio.rsf",
    params: ALONE,
};

static PARAMS: [Param; 8] = [
    WORDS,
    CHANGES[0],
    CHANGES[1],
    CHANGES[2],
    CHANGES[3],
    CHANGES[4],
    CHANGES[5],
    Param::string("mode")
        .default("add")
        .doc("add, product (or multiply), divide; the first letter is enough"),
];

/// The parameters of the programs whose names give the mode.
const ALONE: &[Param] = &[
    WORDS, CHANGES[0], CHANGES[1], CHANGES[2], CHANGES[3], CHANGES[4], CHANGES[5],
];

const WORDS: Param = Param::words("file.rsf ...").doc("the datasets");

const CHANGES: [Param; 6] = [
    Param::floats("scale").default("1").doc("factors"),
    Param::floats("add").default("0").doc("numbers that are added"),
    Param::string("sqrt")
        .default("n")
        .doc("y,n,...: take the square root"),
    Param::string("abs")
        .default("n")
        .doc("y,n,...: take the absolute value"),
    Param::string("log")
        .default("n")
        .doc("y,n,...: take the natural logarithm"),
    Param::string("exp")
        .default("n")
        .doc("y,n,...: take the exponential"),
];

/// The operations on one dataset before it is added, multiplied or divided.
#[derive(Clone, Copy, Debug)]
struct Change {
    abs: bool,
    add: f32,
    log: bool,
    sqrt: bool,
    scale: f32,
    exp: bool,
}

#[derive(Clone, Copy, Debug)]
enum Mode {
    Add,
    Multiply,
    Divide,
}

/// An element type that `sfadd`, `sfmul` and `sfdiv` support.
trait Cell: Element {
    /// The type of an intermediate result, before it is converted to the type of the output.
    type Changed;
    fn change(self, change: Change) -> Self::Changed;
    fn first(changed: Self::Changed) -> Self;
    fn join(self, other: Self::Changed, mode: Mode) -> Self;
}

pub fn run(job: &mut Job) -> Result<()> {
    let mode = match job.text("mode")?.unwrap_or_default().as_bytes().first() {
        Some(b'a') => Mode::Add,
        Some(b'p' | b'm') => Mode::Multiply,
        Some(b'd') => Mode::Divide,
        _ => bail!("mode= must be add, product, multiply or divide"),
    };
    all(job, mode)
}

pub fn mul(job: &mut Job) -> Result<()> {
    all(job, Mode::Multiply)
}

pub fn div(job: &mut Job) -> Result<()> {
    all(job, Mode::Divide)
}

fn all(job: &mut Job, mode: Mode) -> Result<()> {
    let mut inputs: Vec<Input> = job.stdin_if_any()?.into_iter().collect();
    for path in job.words().to_vec() {
        let input = job.open_as(path.to_string_lossy().into_owned(), &path)?;
        match inputs.first() {
            Some(first) => cube::agree(job, first, &input, None)?,
            None => job.follow(&input),
        }
        inputs.push(input);
    }
    ensure!(
        !inputs.is_empty(),
        "no dataset is given: name files, or give one on standard input"
    );
    let changes = changes(job, inputs.len())?;
    let kind = inputs[0].format().kind;
    let mut output = job.output()?;
    match kind {
        Kind::Float => join::<f32>(&mut inputs, &mut output, &changes, mode)?,
        Kind::Complex => join::<Complex>(&mut inputs, &mut output, &changes, mode)?,
        Kind::Int => join::<i32>(&mut inputs, &mut output, &changes, mode)?,
        other => bail!(
            "{} holds {} data, but {} takes float, complex and int only (sfdd converts)",
            inputs[0].name(),
            other.word(),
            job.program()
        ),
    }
    Ok(output.finish()?)
}

fn changes(job: &Job, count: usize) -> Result<Vec<Change>> {
    let spare = |key: &str, length: usize| {
        if length > count {
            job.warn(&format!(
                "{key}= holds {length} values for {count} datasets: only the first {count} are used"
            ));
        }
    };
    let reals = |key: &str, usual: f32| -> Result<Vec<f32>> {
        let list = job.floats(key)?;
        spare(key, list.len());
        let last = list.last().copied().unwrap_or(usual);
        Ok((0..count).map(|i| list.get(i).copied().unwrap_or(last)).collect())
    };
    let flags = |key: &str| -> Result<Vec<bool>> {
        let text = job.text(key)?.unwrap_or_default();
        let list: Vec<bool> = text
            .split(',')
            .map(|word| match word.trim() {
                "y" | "Y" | "1" => Ok(true),
                "n" | "N" | "0" => Ok(false),
                _ => bail!("{key}={text} is not allowed: {key}= must be y or n, or several of them separated by commas"),
            })
            .collect::<Result<_>>()?;
        spare(key, list.len());
        let last = list.last().copied().unwrap_or(false);
        Ok((0..count).map(|i| list.get(i).copied().unwrap_or(last)).collect())
    };
    let (scale, add) = (reals("scale", 1.0)?, reals("add", 0.0)?);
    let (abs, log, sqrt, exp) = (flags("abs")?, flags("log")?, flags("sqrt")?, flags("exp")?);
    let change = |i| Change {
        abs: abs[i],
        add: add[i],
        log: log[i],
        sqrt: sqrt[i],
        scale: scale[i],
        exp: exp[i],
    };
    Ok((0..count).map(change).collect())
}

fn join<T: Cell>(inputs: &mut [Input], output: &mut Output, changes: &[Change], mode: Mode) -> Result<()> {
    let total = inputs[0].len() as usize;
    let mut sum = vec![T::zeroed(); PIECE.min(total)];
    let mut next = sum.clone();
    while inputs[0].remaining() > 0 {
        let now = sum.len().min(inputs[0].remaining() as usize);
        for (i, (input, change)) in inputs.iter_mut().zip(changes).enumerate() {
            input.read(&mut next[..now])?;
            let pairs = sum[..now].iter_mut().zip(&next);
            match i {
                0 => pairs.for_each(|(sum, value)| *sum = T::first(value.change(*change))),
                _ => pairs.for_each(|(sum, value)| *sum = sum.join(value.change(*change), mode)),
            }
        }
        output.write(&sum[..now])?;
    }
    Ok(())
}

impl Cell for f32 {
    type Changed = f32;

    fn first(changed: f32) -> f32 {
        changed
    }

    fn change(self, change: Change) -> f32 {
        let value = if change.abs { self.abs() } else { self } + change.add;
        let value = if change.log { value.ln() } else { value };
        let value = if change.sqrt { value.sqrt() } else { value };
        let value = value * change.scale;
        if change.exp { value.exp() } else { value }
    }

    fn join(self, other: f32, mode: Mode) -> f32 {
        match mode {
            Mode::Add => self + other,
            Mode::Multiply => self * other,
            Mode::Divide if other == 0.0 => self,
            Mode::Divide => self / other,
        }
    }
}

/// Integers are computed as floats, and each result is truncated, as in Madagascar.
impl Cell for i32 {
    type Changed = f32;

    fn first(changed: f32) -> i32 {
        changed as i32
    }

    fn change(self, change: Change) -> f32 {
        (self as f32).change(change)
    }

    fn join(self, other: f32, mode: Mode) -> i32 {
        (self as f32).join(other, mode) as i32
    }
}

impl Cell for Complex {
    type Changed = Complex;

    fn first(changed: Complex) -> Complex {
        changed
    }

    fn change(self, change: Change) -> Complex {
        let value = Complex32::new(self[0], self[1]);
        let value = if change.abs { value.norm().into() } else { value } + change.add;
        let value = if change.log { value.ln() } else { value };
        let value = if change.sqrt { value.sqrt() } else { value };
        let value = value * change.scale;
        let value = if change.exp { value.exp() } else { value };
        [value.re, value.im]
    }

    fn join(self, other: Complex, mode: Mode) -> Complex {
        let (left, right) = (
            Complex32::new(self[0], self[1]),
            Complex32::new(other[0], other[1]),
        );
        let value = match mode {
            Mode::Add => left + right,
            Mode::Multiply => left * right,
            Mode::Divide if right.norm() == 0.0 => left,
            Mode::Divide => left / right,
        };
        [value.re, value.im]
    }
}
