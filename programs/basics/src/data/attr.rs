//! `sfattr`: statistics of a dataset.

use anyhow::Result;
use rsf_io::{Axis, Input, Job, Kind, Param, Program, format_g};

use super::cube::{self, PIECE, Printer};

pub static SPEC: Program = Program {
    name: "sfattr",
    about: "Print statistics of a dataset: mean, norm, extremes and others.",
    usage: "< in.rsf want=all lval=2",
    comments: "rms is the root mean square. norm is the lval-th root of the sum of |value|^lval, or with lval=0 the \
number of values that are not 0. var is the variance with n-1 in the denominator, and std is its square root. \
For complex numbers these use the absolute value. The positions of the extremes are counted from 1.",
    example: "sfattr < in.rsf\nsfattr < in.rsf want=max",
    params: &PARAMS,
};

static PARAMS: [Param; 2] = [
    Param::choice(
        "want",
        &[
            "all", "rms", "mean", "norm", "var", "std", "max", "min", "nonzero", "samples", "short",
        ],
    )
    .default("all")
    .doc("what to print; short is one line"),
    Param::int("lval")
        .default("2")
        .range(">= 0", Some(0.0), None)
        .doc("power of the norm"),
];

/// An extreme value (real and imaginary part of a complex one) and the index of its element.
#[derive(Clone, Copy)]
struct Extreme {
    value: [f64; 2],
    at: u64,
}

/// Sums and extremes from one pass over the data.
struct Totals {
    sum: f64,
    squares: f64,
    powers: f64,
    zeros: u64,
    /// The number of NaN values, which the extremes ignore.
    nan: u64,
    /// The element with the largest real part and, for complex data, the one with the largest imaginary part.
    largest: Vec<Extreme>,
    smallest: Vec<Extreme>,
}

pub fn run(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    let axes = cube::shape(&input)?;
    let lval = job.int("lval")?;
    let totals = gather(&mut input, lval)?;
    if totals.nan > 0 {
        job.warn(&format!(
            "{} of {} samples {} NaN: the extremes are taken over the other samples, and sums and means are NaN",
            totals.nan,
            cube::count(&axes),
            if totals.nan == 1 { "is" } else { "are" }
        ));
    }
    let mut out = Printer::stdout();
    for line in report(&totals, &axes, lval, job.choice("want")?) {
        out.line(&line)?;
    }
    out.finish()
}

fn gather(input: &mut Input, lval: i64) -> Result<Totals> {
    let parts = if input.format().kind == Kind::Complex {
        2
    } else {
        1
    };
    let start = |value: f64| {
        vec![
            Extreme {
                value: [value; 2],
                at: 0
            };
            parts
        ]
    };
    let mut totals = Totals {
        sum: 0.0,
        squares: 0.0,
        powers: 0.0,
        zeros: 0,
        nan: 0,
        largest: start(f64::NAN),
        smallest: start(f64::NAN),
    };
    let (mut numbers, mut at) = (Vec::new(), 0u64);
    while input.remaining() > 0 {
        let now = (PIECE as u64).min(input.remaining()) as usize;
        cube::read_as_f64(input, now, &mut numbers)?;
        for number in numbers.chunks_exact(parts) {
            let both = [number[0], number.get(1).copied().unwrap_or(0.0)];
            let size = if parts == 2 {
                both[0].hypot(both[1])
            } else {
                both[0]
            };
            totals.sum += size;
            totals.squares += size * size;
            if !matches!(lval, 0 | 2) {
                totals.powers += size.abs().powi(lval as i32);
            }
            totals.zeros += u64::from(size == 0.0);
            totals.nan += u64::from(size.is_nan());
            for part in 0..parts {
                let beyond = |so_far: f64, is: bool| (so_far.is_nan() || is) && !both[part].is_nan();
                let [largest, smallest] =
                    [&totals.largest, &totals.smallest].map(|all| all[part].value[part]);
                if beyond(largest, both[part] > largest) {
                    totals.largest[part] = Extreme { value: both, at };
                }
                if beyond(smallest, both[part] < smallest) {
                    totals.smallest[part] = Extreme { value: both, at };
                }
            }
            at += 1;
        }
    }
    Ok(totals)
}

fn report(totals: &Totals, axes: &[Axis], lval: i64, want: &str) -> Vec<String> {
    const RULE: &str = "******************************************* ";
    let count = cube::count(axes) as f64;
    let number = |value: f64| format!("{:>13}", short(value));
    let mean = totals.sum / count;
    // Rounding can make a variance of 0 negative.
    let variance = match (totals.squares - count * mean * mean) / (count - 1.0) {
        _ if count <= 1.0 => 0.0,
        variance if variance < 0.0 => 0.0,
        variance => variance,
    };
    let norm = match lval {
        0 => count - totals.zeros as f64,
        2 => totals.squares.sqrt(),
        _ => totals.powers.powf(1.0 / lval as f64),
    };
    let complex = totals.largest.len() == 2;
    let all = want == "all";
    let mut lines = Vec::new();
    if all {
        lines.push(RULE.to_string());
        if complex {
            lines.push("   rms, mean, norm, var, and std refer to amplitude\n".to_string());
        }
    }
    for (name, line) in [
        (
            "rms",
            format!("     rms = {} ", number((totals.squares / count).sqrt())),
        ),
        ("mean", format!("    mean = {} ", number(mean))),
        ("norm", format!("  {lval}-norm = {} ", number(norm))),
        ("var", format!("variance = {} ", number(variance))),
        ("std", format!(" std dev = {} ", number(variance.sqrt()))),
    ] {
        if all || want == name {
            lines.push(line);
        }
    }
    for (name, extremes) in [("max", &totals.largest), ("min", &totals.smallest)] {
        if all || want == name {
            for (part, extreme) in ["real", "imag"].iter().zip(extremes) {
                let shown = if complex {
                    format!(
                        "{name} {part} = ({},{})",
                        short(extreme.value[0]),
                        short(extreme.value[1])
                    )
                } else {
                    format!("     {name} = {}", number(extreme.value[0]))
                };
                lines.push(format!("{shown} at {}", place(extreme.at, axes)));
            }
        }
    }
    if all || want == "nonzero" {
        lines.push(format!("nonzero samples = {} ", count as u64 - totals.zeros));
    }
    if all || want == "samples" {
        lines.push(format!("  total samples = {} ", count as u64));
    }
    if all {
        lines.push(RULE.to_string());
    }
    if want == "short" {
        let zeros = 100.0 * totals.zeros as f64 / count;
        let (low, high) = (totals.smallest[0].value[0], totals.largest[0].value[0]);
        lines.push(format!(
            "{zeros:6.2}% zeros; min: {}; max: {} ",
            short(low),
            short(high)
        ));
    }
    lines
}

fn short(value: f64) -> String {
    format_g(value, 6)
}

/// The index on every axis, counted from 1.
fn place(at: u64, axes: &[Axis]) -> String {
    let mut left = at;
    let mut text = String::new();
    for axis in axes {
        text.push_str(&format!("{} ", 1 + left % axis.n as u64));
        left /= axis.n as u64;
    }
    text
}
