//! `sfheaderattr`: statistics of trace headers.

use anyhow::{Result, ensure};
use rsf_io::{Job, Kind, Param, Program, format_g};

use super::cube::{self, PIECE, Printer};
use super::headers;
use super::segy::keys;

pub static SPEC: Program = Program {
    name: "sfheaderattr",
    about: "Print smallest, largest and mean values of trace headers.",
    usage: "< headers.rsf segy=y desc=n, or desc=y alone",
    comments: "Axis 1 holds the keys of a trace, as sfsegyread writes them to tfile=, and axis 2 the traces. One line is \
printed for each key that is not 0 in all traces, and with desc=y for every key: name, number, smallest value @ its \
trace, largest value @ its trace, mean. Keys and traces are counted from 0, as in f1= of sfwindow, but k1= of \
sfspike counts from 1: key 23 (gx) is f1=23 of sfwindow and k1=24 of sfspike. Names follow SEG-Y, and desc=y \
without input lists them with their meanings. Keys after the 91 of SEG-Y, and with segy=n all keys, have the names \
key1=, key2=, ... of the header or the command line.",
    example: "sfsegyread tape=line.sgy tfile=headers.rsf read=h; sfheaderattr < headers.rsf",
    params: &PARAMS,
};

static PARAMS: [Param; 3] = [
    Param::bool("segy")
        .default("y")
        .doc("y: the keys are the standard keys of SEG-Y"),
    Param::bool("desc")
        .default("n")
        .doc("y: print every key with its meaning, including those that are 0"),
    Param::string("key#")
        .default_text("of the header")
        .doc("name of key # after the keys of SEG-Y"),
];

/// Statistics of a key: smallest and largest value with their traces, and the sum.
#[derive(Clone, Copy)]
struct Seen {
    least: (f64, u64),
    most: (f64, u64),
    sum: f64,
}

pub fn run(job: &mut Job) -> Result<()> {
    let desc = job.flag("desc")?;
    let input = if desc {
        job.stdin_if_any()?
    } else {
        Some(job.stdin()?)
    };
    let Some(mut input) = input else {
        return explain(job);
    };
    let kind = headers::kind(&input)?;
    let keys = cube::shape(&input)?[0].n;
    if kind == Kind::Float && job.flag("segy")? && keys < 91 {
        job.warn(&format!(
            "the input holds float data with n1={keys}, but trace headers of SEG-Y are integers with n1=91 \
            or more: check that these are headers and not traces"
        ));
    }
    let traces = input.len() / keys as u64;
    let start = Seen {
        least: (f64::INFINITY, 0),
        most: (f64::NEG_INFINITY, 0),
        sum: 0.0,
    };
    let mut seen = vec![start; keys];
    let (mut trace, mut values) = (0, Vec::new());
    while input.remaining() > 0 {
        let now = (input.remaining() / keys as u64).min((PIECE / keys).max(1) as u64) as usize;
        cube::read_as_f64(&mut input, now * keys, &mut values)?;
        for row in values.chunks_exact(keys) {
            for (seen, value) in seen.iter_mut().zip(row) {
                if *value < seen.least.0 {
                    seen.least = (*value, trace);
                }
                if *value > seen.most.0 {
                    seen.most = (*value, trace);
                }
                seen.sum += value;
            }
            trace += 1;
        }
    }
    let names = headers::meanings(job, &input, keys, |_| "?".into())?;
    let number = |value: f64| format_g(value, 6);
    let mut out = Printer::stdout();
    out.line(&format!("{keys} headers, {traces} traces"))?;
    out.line(&format!("{} ", "*".repeat(79)))?;
    out.line("     key     \t            min     \t              max    \t          mean")?;
    out.line(&format!("{} ", "-".repeat(79)))?;
    for (i, (seen, (name, about))) in seen.iter().zip(&names).enumerate() {
        let Seen { least, most, sum } = seen;
        if least.0 == 0.0 && most.0 == 0.0 && !desc {
            continue;
        }
        out.line(&format!(
            "{name:<8} {i:4} {:>14} @ {}\t{:>14} @ {}\t{:>14}",
            whole(kind, least.0),
            least.1,
            whole(kind, most.0),
            most.1,
            number(sum / traces as f64)
        ))?;
        if desc {
            out.line(&format!("[{about}]"))?;
        }
    }
    out.line(&format!("{} ", "*".repeat(79)))?;
    out.finish()
}

/// Prints the keys of SEG-Y with their numbers and meanings.
fn explain(job: &Job) -> Result<()> {
    ensure!(
        job.flag("segy")?,
        "with segy=n the names of the keys come from the headers, but there are no headers: sfheaderattr \
        < headers.rsf segy=n desc=y"
    );
    let mut out = Printer::stdout();
    for (i, field) in keys::trace_fields().into_iter().enumerate() {
        out.line(&format!("{:<8} {i:4}  {}", field.name, field.about))?;
    }
    out.finish()
}

/// A value of a key as text; integers with all their digits.
fn whole(kind: Kind, value: f64) -> String {
    match kind {
        Kind::Int => (value as i64).to_string(),
        _ => format_g(value, 6),
    }
}
