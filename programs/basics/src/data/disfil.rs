//! `sfdisfil`: printing the values of a dataset.

use anyhow::{Context, Result};
use rsf_io::{Job, Kind, Param, Program};

use super::cube::{self, PIECE, Printer};
use super::pattern::Pattern;

pub static SPEC: Program = Program {
    name: "sfdisfil",
    about: "Print the values of a dataset.",
    usage: "< in.rsf col=5 number=y",
    comments: "",
    example: "sfwindow < in.rsf n1=10 | sfdisfil",
    params: &PARAMS,
};

static PARAMS: [Param; 5] = [
    Param::bool("number")
        .default("y")
        .doc("y: begin each line with the number of its first element, counted from 0"),
    Param::int("col")
        .default_text("10, 5 for reals, 3 for complex numbers")
        .range(">= 1", Some(1.0), None)
        .doc("number of numbers on a line"),
    Param::string("format")
        .default_text("%4d , %13.4g or %10.4g,%10.4gi")
        .doc("format of a number, as in C's printf"),
    Param::string("header")
        .default_text("none")
        .doc("a line before the numbers"),
    Param::string("trailer")
        .default_text("none")
        .doc("a line after the numbers"),
];

pub fn run(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    let kind = input.format().kind;
    let (columns, usual, parts) = match kind {
        Kind::Float | Kind::Double => (5, "%13.4g", 1),
        Kind::Complex => (3, "%10.4g,%10.4gi", 2),
        _ => (10, "%4d ", 1),
    };
    let columns = job.int_opt("col")?.unwrap_or(columns) as u64;
    let pattern = Pattern::read(&job.text("format")?.unwrap_or_else(|| usual.into())).context("format=")?;
    let number = job.flag("number")?;
    let mut out = Printer::stdout();
    if let Some(text) = job.text("header")? {
        out.line(&text)?;
    }
    let (mut at, mut values, mut line) = (0u64, Vec::new(), Vec::new());
    while input.remaining() > 0 {
        let now = (PIECE as u64 / 16).min(input.remaining()) as usize;
        cube::read_as_f64(&mut input, now, &mut values)?;
        for value in values.chunks_exact(parts) {
            if at.is_multiple_of(columns) {
                if at > 0 {
                    line.push(b'\n');
                }
                if number {
                    line.extend_from_slice(format!("{at:4}: ").as_bytes());
                }
            }
            pattern.write(value, &mut line)?;
            at += 1;
        }
        out.bytes(&line)?;
        line.clear();
    }
    out.line("")?;
    if let Some(text) = job.text("trailer")? {
        out.line(&text)?;
    }
    out.finish()
}
