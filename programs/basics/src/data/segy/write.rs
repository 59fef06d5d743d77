//! `sfsegywrite` and `sfsuwrite`.

use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use rsf_io::{Input, Job, Kind, Param, Program};

use super::super::cube;
use super::common::Common;
use super::geometry::Geometry;
use super::keys::{Field, TRACE_HEADER, binary_fields, byte, extra_fields, trace_fields};
use super::layout::major;
use super::narrow::Narrow;
use super::revision::{self, second_revision};
use super::samples::{Coding, Losses};
use super::text::{self, TEXT_HEADER};
use super::{BINARY_HEADER, BLOCK, FORMAT, HDT, HNS};

pub static SEGYWRITE: Program = Program {
    name: "sfsegywrite",
    about: "Convert RSF to SEG-Y (or with su=y SU), with trace headers from an RSF file.",
    usage: "< data.rsf tape=line.sgy tfile=headers.rsf hfile=text bfile=binary format=1",
    comments: COMMENTS,
    example: "sfsegywrite < line.rsf tape=line.sgy tfile=headers.rsf hfile=header bfile=binary",
    params: &PARAMS,
};

pub static SUWRITE: Program = Program {
    name: "sfsuwrite",
    about: "Convert RSF to SU, with trace headers from an RSF file (sfsegywrite su=y).",
    usage: "< data.rsf tape=line.su tfile=headers.rsf",
    comments: COMMENTS,
    example: "sfsuwrite < line.rsf tape=line.su tfile=headers.rsf endian=n",
    params: &PARAMS,
};

const COMMENTS: &str = "tfile= holds the 91 keys of SEG-Y for every trace, as sfsegyread writes them, and any keys that \
were added to them. Without tfile= the headers contain the number of the trace (tracl, tracr), the code for seismic \
data (trid), ns, dt and delrt. ns, dt and delrt are taken from the data: they replace zeros in tfile=, and a header \
with other values is corrected, with a warning. Delays that differ between traces keep their differences from the \
first delay, which becomes o1. They are in the unit that tscalar gives, so that -10 keeps tenths of a millisecond; new \
headers contain whole milliseconds. A number that does not fit into the two bytes of its key is an error; one above 32767, \
which most programs read as negative, is reported.\n\n\
sou= and rec= make headers from the points of the modelling programs (x, z or x, y, z; z downwards; n3 counts shots): \
fldr, ep, tracf, offset, sx, sy, gx, gy, sdepth, gelev (for a source above z=0 selev instead of sdepth), and in scalco and scalel the power of ten that keeps their \
digits. The traces must be ordered by shot, then by receiver, for instance with sftransp < data.rsf plane=13 | sfwindow \
n2=1 f2=0 | sfsegywrite sou=sou.rsf rec=rec.rsf, for one shot or several.\n\n\
The textual header comes from hfile= (3200 bytes, or up to 40 lines of up to 80 characters), the binary one from bfile= \
(400 bytes). Without these parameters, files named header and binary in the current folder are used if they have those \
lengths; otherwise new headers are made. Names of fields of the binary header (jobid=, lino=, reno=, ntrpr=, hdt=, hns=, \
fold=, tsort=, mfeet=, ...) set these fields; hns= must be n1 of the data.\n\n\
d1 is taken to be in s if it is below 1 and in ms otherwise, unless unit1 is s or ms.\n\n\
Samples that the format cannot hold are reported with their number: NaN becomes 0 except in IEEE reals, and numbers that \
are too large become the largest of the format.\n\n\
Differs from Madagascar: jobid, lino and reno of bfile= are kept unless they are set; tfile= can be left out; integers \
are rounded (in Madagascar truncated); SU is written from data in any form, big-endian unless endian=n; a delay that two \
bytes cannot hold is an error. A SEG-Y file is of revision 2.1, which older programs cannot read, if it has more than \
65535 samples per trace, if its format is 6, 7, or 9 or higher, or if two bytes cannot hold its interval: more than \
65535 microseconds, less than 1, or not a whole number. In SU more than 65535 samples are an error, and so is an \
interval whose rounding changes it by more than 1 %.";

static PARAMS: [Param; 14] = [
    Param::string("tape")
        .default_text("standard output")
        .doc("the SEG-Y or SU file"),
    Param::input("tfile")
        .default_text("made")
        .doc("headers of the traces, as RSF"),
    Param::input("sou").recipe("sfpoints x= z= makes one from coordinates (with y= in three \
    dimensions)").doc("points of the sources, one for each shot, instead of tfile="),
    Param::input("rec").recipe("sfpoints x= z= makes one from coordinates (with y= in three \
    dimensions)").doc("points of the receivers, of one shot or of all"),
    Param::string("origin")
        .default_text("of the headers of sou= and rec=")
        .doc("x and y that are added to the points of sou= and rec="),
    Param::string("hfile")
        .default_text("header, else made")
        .doc("file with the textual header, in ASCII (SEG-Y)"),
    Param::string("bfile")
        .default_text("binary, else made")
        .doc("file with the binary header (SEG-Y)"),
    Param::bool("su")
        .default_text("by the name of the program")
        .doc("y: SU; n: SEG-Y"),
    Param::bool("endian")
        .default("y")
        .doc("y: big-endian; n: little-endian"),
    Param::int("format")
        .default_text("of bfile=, else 1")
        .doc("1 IBM reals, 5 or 6 IEEE reals of 4 or 8 bytes, 2, 3, 7, 8 or 9 integers, 10, 11, 12, 15 or 16 unsigned ones (SEG-Y)"),
    Param::bool("verb").default("n").doc("y: print what is written"),
    Param::string("key#")
        .default_text("of tfile=")
        .doc("name of a key after the 91"),
    Param::int("key#_len")
        .default_text("of tfile=, else 4")
        .doc("length of that key in bytes, 2 or 4"),
    Param::keys("KEY").doc("value of a field of the binary header, or the byte at which a key after the 91 begins"),
];

pub fn segywrite(job: &mut Job) -> Result<()> {
    let su = job.flag_opt("su")?.unwrap_or(false);
    write(job, su)
}

pub fn suwrite(job: &mut Job) -> Result<()> {
    let su = job.flag_opt("su")?.unwrap_or(true);
    write(job, su)
}

fn write(job: &mut Job, su: bool) -> Result<()> {
    let mut input = job.stdin()?;
    cube::expect(&input, Kind::Float)?;
    if let Some(odd) = cube::across_time(&cube::shape(&input)?) {
        bail!(odd);
    }
    let mut common = Common::of(job, &input, su)?;
    let traces = input.len() / common.samples as u64;
    let geometry = Geometry::of_lists(job, &cube::shape(&input)?[1..])?;
    let mut headers = headers(job, traces)?;
    let fields = fields(job, headers.as_ref())?;
    let (begin, coding) = beginning(job, (traces, su), &common)?;
    refuse_strange_words(job, &fields)?;
    if job.flag("verb")? {
        job.say(&format!(
            "{traces} traces of {} samples, {}",
            common.samples,
            coding.words()
        ));
    }
    if job.is_dry_run() {
        return Ok(());
    }
    let (mut tape, name) = open(job)?;
    let checked = |done: io::Result<()>| done.with_context(|| format!("cannot write {name}"));
    checked(tape.write_all(&begin))?;
    let size = TRACE_HEADER + common.samples * coding.size();
    let together = (BLOCK / size).max(1) as u64;
    let (mut trace, mut corrected) = (0, 0);
    let (mut losses, mut narrow) = (Losses::default(), Narrow::default());
    while trace < traces {
        let now = together.min(traces - trace) as usize;
        let mut values = vec![0.0f32; now * common.samples];
        input.read_f32(&mut values)?;
        losses.look(coding, &values);
        let mut keys = vec![0i32; headers.as_ref().map_or(0, |_| now * fields.len())];
        if let Some(headers) = &mut headers {
            headers.read_i32(&mut keys)?;
            if trace == 0 {
                common.begin_at(job, &fields, &keys)?;
            }
        }
        let mut block = vec![0u8; now * size];
        for (i, bytes) in block.chunks_exact_mut(size).enumerate() {
            let (header, samples) = bytes.split_at_mut(TRACE_HEADER);
            match headers {
                Some(_) => {
                    let keys = &keys[i * fields.len()..];
                    narrow.look(&fields, keys, common.shift, trace + i as u64)?;
                    corrected += common.fill(header, &fields, keys);
                }
                None => common.make(header, trace + i as u64, geometry.as_ref()),
            }
            coding.encode(
                common.order,
                &values[i * common.samples..][..common.samples],
                samples,
            );
        }
        checked(tape.write_all(&block))?;
        trace += now as u64;
    }
    checked(tape.flush())?;
    if corrected > 0 {
        job.warn(&format!(
            "{corrected} trace headers had an ns or dt that differs from the data ({} samples, {} microseconds): they \
            were corrected",
            common.samples, common.exact
        ));
    }
    narrow.warn(job, [("ns", common.short()), ("dt", common.interval)]);
    losses.words(coding).iter().for_each(|words| job.warn(words));
    Ok(())
}

/// The bytes before the first trace, and the format of samples.
fn beginning(job: &mut Job, (traces, su): (u64, bool), common: &Common) -> Result<(Vec<u8>, Coding)> {
    if su {
        ensure!(
            job.int_opt("format")?.is_none(),
            "format= applies to SEG-Y only: samples of SU are IEEE reals of 4 bytes"
        );
        return Ok((Vec::new(), Coding::Ieee));
    }
    let mut begin = textual(job, traces, common)?;
    let binary = binary(job, common)?;
    let coding = Coding::of(i64::from(common.order.int(&binary, FORMAT, 2)))?;
    begin.extend(binary);
    Ok((begin, coding))
}

/// The file of trace headers, if one is given.
fn headers(job: &mut Job, traces: u64) -> Result<Option<Input>> {
    if !job.has_input("tfile") {
        return Ok(None);
    }
    let input = job.input("tfile")?;
    cube::expect(&input, Kind::Int)?;
    let (keys, least) = (input.axis(1).n as u64, trace_fields().len() as u64);
    ensure!(
        keys >= least && input.len() == keys * traces,
        "{} holds the headers of {} traces, with {keys} keys each, but {traces} traces need one header each, \
        with {least} keys or more",
        input.name(),
        input.len().checked_div(keys).unwrap_or(0)
    );
    Ok(Some(input))
}

/// The keys in the file of trace headers.
fn fields(job: &Job, headers: Option<&Input>) -> Result<Vec<Field>> {
    let mut fields = trace_fields();
    let Some(input) = headers else { return Ok(fields) };
    fields.extend(extra_fields(job, Some(input.header()))?);
    ensure!(
        fields.len() == input.axis(1).n,
        "{} has {} keys, but the 91 keys of SEG-Y and those named by key1=, key2=, ... are {} in all: give one key#= for \
        each further key",
        input.name(),
        input.axis(1).n,
        fields.len()
    );
    Ok(fields)
}

/// The name and the contents of the file that `key=` names, or of the file `usual` if it has this length.
fn part(job: &mut Job, key: &str, usual: &str, length: usize) -> Result<Option<(String, Vec<u8>)>> {
    if let Some(path) = job.text(key)? {
        let bytes = fs::read(&path).with_context(|| format!("cannot read {key}={path}"))?;
        job.reads(&File::open(&path)?, &format!("{key}={path}"))?;
        return Ok(Some((format!("{key}={path}"), bytes)));
    }
    let fits = fs::metadata(usual).is_ok_and(|meta| meta.is_file() && meta.len() == length as u64);
    if !fits {
        return Ok(None);
    }
    if job.flag("verb")? {
        job.say(&format!("{key}= is not given: the file {usual} is used"));
    }
    let bytes = fs::read(usual).with_context(|| format!("cannot read {usual}"))?;
    Ok(Some((usual.into(), bytes)))
}

fn textual(job: &mut Job, traces: u64, common: &Common) -> Result<Vec<u8>> {
    if let Some((name, text)) = part(job, "hfile", "header", TEXT_HEADER)? {
        return text::to_ebcdic(&text, &name);
    }
    let mut lines = vec![
        format!("WRITTEN BY {}", rsf_io::version()),
        format!(
            "{traces} TRACES OF {} SAMPLES, ONE EVERY {} MICROSECONDS",
            common.samples, common.exact
        ),
        format!("THE FIRST SAMPLE IS TAKEN AT {} MS", common.first),
    ];
    if job.given("sou") {
        lines.push("COORDINATES ARE THOSE OF A MODEL IN METRES, DEPTHS POSITIVE DOWNWARDS".into());
    }
    Ok(text::new_header(&lines))
}

fn binary(job: &mut Job, common: &Common) -> Result<Vec<u8>> {
    let order = common.order;
    let given = part(job, "bfile", "binary", BINARY_HEADER)?;
    let is_default = given.is_none();
    let mut header = match given {
        Some((name, bytes)) => {
            ensure!(
                bytes.len() == BINARY_HEADER,
                "{name} has {} bytes, but a binary header has {BINARY_HEADER}",
                bytes.len()
            );
            revision::check_order(&name, &bytes, order)?;
            bytes
        }
        None => vec![0; BINARY_HEADER],
    };
    for field in binary_fields() {
        let usual = match field.name.as_str() {
            "jobid" | "lino" | "reno" | "format" if is_default => Some(1),
            // The coordinates of the modelling programs are in metres.
            "mfeet" if is_default && job.given("sou") => Some(1),
            _ => None,
        };
        let word = if field.name == "format" {
            job.int_opt("format")?
        } else {
            byte(job, &field.name)?
        };
        if let Some(value) = word.or(usual) {
            let bits = 8 * field.size as u32;
            ensure!(
                (-(1i64 << (bits - 1))..1i64 << bits).contains(&value),
                "{}={value} does not fit into {} bytes",
                field.name,
                field.size
            );
            ensure!(
                field.at != HNS || value == common.samples as i64,
                "hns={value}: the binary header must contain the length of the traces, which is {} samples \
                (n1); leave out hns= (sfwindow n1= or sfpad n1= changes the length of traces)",
                common.samples
            );
            order.put_int(&mut header, field.at, field.size, value as i32);
        }
    }
    order.put_int(&mut header, HNS, 2, common.short());
    if byte(job, "hdt")?.is_none() {
        order.put_int(&mut header, HDT, 2, common.interval);
    }
    revision::count_no_texts(job, &mut header, order);
    let stated = i64::from(order.int(&header, FORMAT, 2));
    let new = common.is_new() || Coding::of(stated).is_ok_and(Coding::is_new);
    if new || major(order, &header) == 2 {
        second_revision(&mut header, order, common.samples, common.exact);
    }
    Ok(header)
}

/// Warns of undeclared parameters that are not fields of the binary header.
fn refuse_strange_words(job: &Job, fields: &[Field]) -> Result<()> {
    let known = |key: &str| {
        binary_fields()
            .iter()
            .chain(fields)
            .any(|field| field.name == key)
    };
    for (key, _) in job.keys() {
        if !known(key) {
            job.warn_of_word(&format!(
                "{key}= is neither a parameter nor a field of the binary header"
            ))?;
        }
    }
    Ok(())
}

fn open(job: &mut Job) -> Result<(BufWriter<File>, String)> {
    let (file, name) = match job.text("tape")? {
        Some(path) => {
            job.will_write(Path::new(&path), &format!("tape={path}"))?;
            let file = File::create(&path).with_context(|| format!("cannot write tape={path}"))?;
            (file, format!("tape={path}"))
        }
        None => {
            ensure!(
                !io::stdout().is_terminal(),
                "standard output is a terminal: give a file with tape=file.sgy or > file.sgy"
            );
            (
                File::from(io::stdout().as_fd().try_clone_to_owned()?),
                "standard output".into(),
            )
        }
    };
    Ok((BufWriter::with_capacity(BLOCK, file), name))
}
