//! `sfin`: printing a description of datasets.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use rsf_io::{Format, Header, Job, MAX_AXES, Param, Program, data_file, format_g, shortest_g};

use super::cube::Printer;

pub static SPEC: Program = Program {
    name: "sfin",
    about: "Print type, axes and size of datasets.",
    usage: "file.rsf ...    or    < file.rsf",
    comments: "Data that are shorter or longer than the header says, and data that begin with zeros, are reported on \
standard error.",
    example: "sfin vp.rsf ccc.rsf",
    params: &PARAMS,
};

static PARAMS: [Param; 4] = [
    Param::words("file.rsf ...").doc("the datasets"),
    Param::bool("info")
        .default("y")
        .doc("n: print only the names of the data files"),
    Param::float("check")
        .default("2")
        .range(">= 0", Some(0.0), None)
        .doc("number of megabytes of data that are checked for zeros"),
    Param::bool("trail")
        .default("y")
        .doc("n: leave out axes of one sample after the last longer axis"),
];

pub fn run(job: &mut Job) -> Result<()> {
    let mut out = Printer::stdout();
    let words = job.words().to_vec();
    if words.is_empty() {
        let input = job.stdin_if_any()?;
        ensure!(
            input.is_some(),
            "no dataset is given: name files, or give one with < file.rsf"
        );
        if let Some(input) = input {
            describe(job, &mut out, "in", input.header())?;
        }
    }
    for word in words {
        let (name, path) = (word.to_string_lossy().into_owned(), Path::new(&word));
        let file = File::open(path).with_context(|| format!("cannot read {name}"))?;
        let mut reader = BufReader::new(file);
        let header = Header::read(&mut reader).with_context(|| name.clone())?;
        check_header(&name, path, &header)?;
        if job.flag("info")? {
            describe(job, &mut out, &name, &header)?;
        } else {
            out.bytes(format!("{} ", header.text("in").unwrap_or_default()).as_bytes())?;
            continue;
        }
        match data_file(path, &header).with_context(|| name.clone())? {
            Some(data) => {
                let shown = data.path.display().to_string();
                if let Some(doubt) = data.doubt {
                    job.warn(&format!("{name}: {doubt}"));
                }
                let file = File::open(data.path)
                    .with_context(|| format!("{name}: cannot read data file {shown}"))?;
                look_at(job, &header, BufReader::new(file)).with_context(|| format!("{name}: {shown}"))?;
            }
            None => look_at(job, &header, reader).with_context(|| name.clone())?,
        }
    }
    if !job.flag("info")? {
        out.line("")?;
    }
    out.finish()
}

/// Checks that a file is the header of a dataset.
///
/// # Errors
/// Returns an error if the header has no `in=`.
pub fn check_header(name: &str, path: &Path, header: &Header) -> Result<()> {
    if header.path("in").is_some() {
        return Ok(());
    }
    ensure!(
        !path
            .metadata()
            .is_ok_and(|file| file.is_file() && file.len() == 0),
        "{name} is empty, but an RSF header was expected (the program that should have written it failed or was killed)"
    );
    bail!("{name} has no in=, so it is not the header of a dataset")
}

/// Prints type, axes and size of a dataset.
fn describe(job: &Job, out: &mut Printer, name: &str, header: &Header) -> Result<()> {
    let Format { form, kind } = header.format().with_context(|| name.to_string())?;
    out.line(&format!("{name}:"))?;
    out.line(&format!("    in=\"{}\"", header.text("in").unwrap_or_default()))?;
    let esize = header
        .int("esize")
        .map_or(format!("{}?", kind.size()), |esize| esize.to_string());
    let named = |key: &str| {
        header
            .text(key)
            .map_or(String::new(), |text| format!("{key}=\"{text}\" "))
    };
    out.line(&format!(
        "    esize={esize} type={} form={} {}{}",
        kind.word(),
        form.word(),
        named("label"),
        named("unit")
    ))?;
    let shown = if job.flag("trail")? {
        MAX_AXES
    } else {
        header.rank()
    };
    for i in (1..=shown).take_while(|i| header.raw(&format!("n{i}")).is_some()) {
        let number = |key: String| format!("{key}={} ", header.float(&key).map_or("?".into(), shortest_g));
        let n = format!("n{i}={}", header.large_int(&format!("n{i}")).unwrap_or(0));
        let (d, o) = (number(format!("d{i}")), number(format!("o{i}")));
        out.line(&format!(
            "    {n:<14} {d:<14} {o:<14}{}{}",
            named(&format!("label{i}")),
            named(&format!("unit{i}"))
        ))?;
    }
    let elements = header.elements().with_context(|| name.to_string())?;
    match esize.trim_end_matches('?').parse::<u64>().unwrap_or(0) {
        0 => out.line(&format!("\t{elements} elements")),
        esize => out.line(&format!("\t{elements} elements {} bytes", elements * esize)),
    }
}

/// Warns if the length of the data differs from the length in the header, and if the data begin with zeros.
fn look_at(job: &Job, header: &Header, mut data: BufReader<File>) -> Result<()> {
    let format = header.format()?;
    let meta = data.get_ref().metadata()?;
    if !meta.is_file() || !format.is_binary() {
        return Ok(());
    }
    let expected = header.elements()? * format.kind.size() as u64;
    let present = meta.len().saturating_sub(data.stream_position()?);
    if present != expected {
        let percent = format_g(100.0 * present as f64 / expected as f64, 6);
        let whole = header.whole_records(present / format.kind.size() as u64);
        let whole = whole.filter(|records| records.whole < records.of);
        let whole = whole.map_or(String::new(), |records| format!(": {records}"));
        job.warn(&format!(
            "the data have {present} bytes, {percent}% of the {expected} that the header states{whole}"
        ));
    }
    let limit = (f64::from(job.float("check")?) * 1024.0 * 1024.0) as u64;
    let mut left = (&mut data).take(limit.min(present));
    let mut zeros = 0;
    loop {
        let buffer = left.fill_buf()?;
        let run = buffer.iter().take_while(|byte| **byte == 0).count();
        zeros += run as u64;
        if run < buffer.len() || buffer.is_empty() {
            break;
        }
        left.consume(run);
    }
    if zeros > 0 && zeros == present {
        job.warn("all of the data are zeros");
    } else if zeros >= limit && limit > 0 {
        job.warn(&format!(
            "the data may contain only zeros ({zeros} bytes were checked)"
        ));
    } else if zeros >= 8192 {
        job.warn(&format!("the first {zeros} bytes of the data are zeros"));
    }
    Ok(())
}
