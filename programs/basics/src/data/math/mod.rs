//! `sfmath`: evaluating a formula for every element.

mod formula;
mod number;

use anyhow::{Result, bail, ensure};
use num_complex::Complex32;
use rayon::prelude::*;
use rsf_io::{Axis, Input, Job, Kind, MAX_AXES, Output, Param, Program};

pub use self::formula::Formula;
pub use self::number::Column;
use self::number::Number;
use super::cube::{self, PIECE, write_axes};

pub static SPEC: Program = Program {
    name: "sfmath",
    about: "Evaluate a formula for every element.",
    usage: "[< in.rsf] [NAME=file.rsf ...] output='sin(input+2*NAME*x1)' > out.rsf",
    comments: "Variables: input (the dataset on standard input), the datasets given by NAME=, and x1, x2, ... (the \
coordinates along the axes). All datasets must have the same shape and the same type, float or complex. pi is \
the number 3.14159..., and for complex data I is the imaginary unit. Without datasets, n#, o# and d# define the \
axes.\n\n\
Operators: + - * / ^ (power) and, for float data, y&x (angle of the point x, y). Functions: abs, acos, acosh, asin, \
asinh, atan, atanh, cos, cosh, exp, log, sin, sinh, sqrt, tan, tanh; for float data erf, erfc, int (without the \
fraction), round (halves away from 0), sign (1 or -1); for complex data arg, conj, imag, real. A power is evaluated \
before a sign: -x1^2 is -(x1^2). Operators of equal precedence are evaluated from left to right: 2^3^2 is (2^3)^2 = \
64.",
    example: "sfmath n1=100 d1=0.01 output='exp(-(x1-0.5)^2)' > gauss.rsf\nsfmath < vp.rsf ro=ro.rsf output='input^2*ro' > c33.rsf",
    params: &PARAMS,
};

static PARAMS: [Param; 11] = [
    Param::string("output").required().doc("the formula"),
    Param::keys("NAME").doc("a dataset, and its name in the formula"),
    Param::int("n#")
        .default_text("none")
        .range(">= 1", Some(1.0), None)
        .doc("number of samples of axis #, without datasets"),
    Param::float("o#")
        .default("0")
        .doc("origin of axis #, without datasets"),
    Param::float("d#")
        .default("1")
        .doc("sampling of axis #, without datasets"),
    Param::string("label#")
        .default_text("none")
        .doc("label of axis #, without datasets"),
    Param::string("unit#")
        .default_text("none")
        .doc("unit of axis #, without datasets"),
    Param::string("label")
        .default_text("none")
        .doc("label of the values"),
    Param::string("unit")
        .default_text("none")
        .doc("unit of the values"),
    Param::choice("type", &["float", "complex"])
        .default_text("of the datasets, otherwise float")
        .doc("type of the data"),
    Param::bool("nostdin")
        .default("n")
        .doc("y: do not read standard input"),
];

/// The number of elements of a block, which is small enough for the first-level caches.
const BLOCK: usize = 4096;

/// A named dataset.
struct Source {
    name: String,
    input: Input,
}

pub fn run(job: &mut Job) -> Result<()> {
    let sources = sources(job)?;
    let requested = job.given("type").then(|| job.choice("type")).transpose()?;
    let (axes, kind) = match sources.first() {
        Some(first) => (agreed_axes(job, &sources)?, first.input.format().kind),
        None => (
            given_axes(job)?,
            if requested == Some("complex") {
                Kind::Complex
            } else {
                Kind::Float
            },
        ),
    };
    ensure!(
        matches!(kind, Kind::Float | Kind::Complex),
        "{} holds {} data, but formulas need float or complex data (sfdd type=float converts)",
        sources[0].input.name(),
        kind.word()
    );
    ensure!(
        requested.is_none_or(|requested| requested == kind.word()),
        "type={} does not agree with {}, which holds {} data: leave out type=",
        requested.unwrap_or_default(),
        sources[0].input.name(),
        kind.word()
    );
    let mut output = job.output()?;
    write_axes(&mut output, &axes);
    for key in ["label", "unit"] {
        if let Some(text) = job.text(key)? {
            output.put_text(key, &text);
        }
    }
    let text = job.text("output")?.unwrap_or_default();
    match kind {
        Kind::Complex => compute::<Complex32>(&text, sources, &axes, &mut output)?,
        _ => compute::<f32>(&text, sources, &axes, &mut output)?,
    }
    .warn(job, &axes);
    Ok(output.finish()?)
}

fn sources(job: &mut Job) -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    if !job.flag("nostdin")?
        && let Some(input) = job.stdin_if_any()?
    {
        sources.push(Source {
            name: "input".into(),
            input,
        });
    }
    for (name, path) in job.keys().to_vec() {
        let coordinate = matches!(name.as_bytes(), [b'x', b'1'..=b'9']);
        ensure!(
            !coordinate && name != "I",
            "{name}= cannot name a dataset, because {name} has another meaning in formulas"
        );
        ensure!(
            name != "input" || sources.is_empty(),
            "input= names a second dataset in addition to standard input, which formulas call input, too: leave out one of them, or choose another name"
        );
        let input = job.open_as(format!("{name}={}", path.to_string_lossy()), &path)?;
        if sources.is_empty() {
            job.follow(&input);
        }
        sources.push(Source { name, input });
    }
    Ok(sources)
}

/// The axes that all datasets share. Warns of different origins and samplings.
///
/// # Errors
/// Returns an error if the types or the lengths of axes differ.
fn agreed_axes(job: &Job, sources: &[Source]) -> Result<Vec<Axis>> {
    let first = &sources[0].input;
    for i in 1..=MAX_AXES {
        for key in ["n", "o", "d", "label", "unit"].map(|key| format!("{key}{i}")) {
            if job.given(&key) {
                job.warn(&format!(
                    "{key}= has no effect: the axes are taken from {}",
                    first.name()
                ));
            }
        }
    }
    for source in &sources[1..] {
        cube::agree(job, first, &source.input, None)?;
    }
    // Formulas may also use the coordinates of axes of one sample.
    cube::shape_to(first, cube::present(first))
}

fn given_axes(job: &Job) -> Result<Vec<Axis>> {
    let mut axes = Vec::new();
    for i in 1..=MAX_AXES {
        match job.int_opt(&format!("n{i}"))? {
            Some(n) if axes.len() + 1 == i => axes.push(Axis {
                n: n as usize,
                o: job.float(&format!("o{i}"))?,
                d: job.float(&format!("d{i}"))?,
                label: job.text(&format!("label{i}"))?,
                unit: job.text(&format!("unit{i}"))?,
            }),
            Some(_) => bail!("n{i}= is given, but n{}= is missing", axes.len() + 1),
            None => {}
        }
    }
    ensure!(
        !axes.is_empty(),
        "n1= is missing: give n1=, or a dataset on standard input or by NAME=file.rsf"
    );
    Ok(axes)
}

fn compute<T: Number>(
    text: &str,
    mut sources: Vec<Source>,
    axes: &[Axis],
    output: &mut Output,
) -> Result<Strange> {
    let mut names: Vec<String> = sources.iter().map(|source| source.name.clone()).collect();
    names.extend((1..=axes.len()).map(|i| format!("x{i}")));
    names.extend(T::IMAGINARY.map(|_| "I".to_string()));
    let formula = Formula::<T>::read(text, &names)?;
    let total = cube::count(axes);
    let piece = PIECE.min(total);
    let mut read = vec![vec![T::zeroed(); piece]; sources.len()];
    let mut result = vec![T::zeroed(); piece];
    let mut strange = Strange::default();
    for start in (0..total).step_by(piece) {
        let now = piece.min(total - start);
        for (source, values) in sources.iter_mut().zip(&mut read) {
            source
                .input
                .read::<T::Stored>(bytemuck::cast_slice_mut(&mut values[..now]))?;
        }
        result[..now]
            .par_chunks_mut(BLOCK)
            .enumerate()
            .for_each(|(block, result)| {
                let first = block * BLOCK;
                let mut variables: Vec<Column<T>> = read
                    .iter()
                    .map(|values| Column::Many(values[first..first + result.len()].into()))
                    .collect();
                for i in 0..axes.len() {
                    variables.push(match formula.uses(variables.len()) {
                        true => Column::Many(coordinates(axes, i, start + first, result.len()).into()),
                        false => Column::One(T::from_real(0.0)),
                    });
                }
                variables.extend(T::IMAGINARY.map(Column::One));
                match formula.values(&variables) {
                    Column::One(value) => result.fill(value),
                    Column::Many(values) => result.copy_from_slice(&values),
                }
            });
        strange.look(&result[..now], start);
        output.write::<T::Stored>(bytemuck::cast_slice(&result[..now]))?;
    }
    Ok(strange)
}

/// Counts of results that are infinite or NaN.
#[derive(Default)]
struct Strange {
    infinite: usize,
    no_number: usize,
    /// The index of the first such result.
    first: usize,
}

impl Strange {
    /// Counts such results in a piece that begins with element `start`.
    fn look<T: Number>(&mut self, values: &[T], start: usize) {
        let (infinite, no_number) = values
            .par_chunks(BLOCK)
            .map(|block| {
                let odd = block.iter().filter(|value| !value.is_finite());
                odd.fold((0, 0), |(i, n), value| match value.is_nan() {
                    true => (i, n + 1),
                    false => (i + 1, n),
                })
            })
            .reduce(|| (0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        if self.infinite + self.no_number == 0 {
            let place = values.iter().position(|value| !value.is_finite());
            self.first = start + place.unwrap_or(0);
        }
        self.infinite += infinite;
        self.no_number += no_number;
    }

    /// Warns of all such results at once.
    fn warn(&self, job: &Job, axes: &[Axis]) {
        let count = self.infinite + self.no_number;
        if count == 0 {
            return;
        }
        let rank = 1 + axes.iter().rposition(|axis| axis.n > 1).unwrap_or(0);
        let mut left = self.first;
        let places = axes[..rank].iter().zip(1..).map(|(axis, i)| {
            let place = left % axis.n;
            left /= axis.n;
            (
                format!("x{i}={}", axis.o + place as f32 * axis.d),
                format!("f{i}={place}"),
            )
        });
        let (coordinates, windows): (Vec<String>, Vec<String>) = places.unzip();
        job.warn(&format!(
            "{count} of {} results are not finite ({} infinite, {} NaN), the first where {} (sfwindow {} \
            shows it): check for divisions by 0, roots or logarithms of negative numbers, and for such \
            values in the data",
            cube::count(axes),
            self.infinite,
            self.no_number,
            coordinates.join(", "),
            windows.join(" ")
        ));
    }
}

/// The coordinates on axis `i` (counted from 0) of `count` elements from element `first` on.
fn coordinates<T: Number>(axes: &[Axis], i: usize, first: usize, count: usize) -> Vec<T> {
    let below = cube::count(&axes[..i]);
    let Axis { n, o, d, .. } = axes[i];
    let mut values = Vec::with_capacity(count);
    let (mut left, mut at) = (below - first % below, first / below % n);
    while values.len() < count {
        let value = T::from_real(f64::from(o + at as f32 * d));
        let now = left.min(count - values.len());
        values.resize(values.len() + now, value);
        (left, at) = (below, (at + 1) % n);
    }
    values
}
