//! `sfsegyread` and `sfsuread`.

use anyhow::{Result, bail, ensure};
use rayon::prelude::*;
use rsf_io::{Axis, Job, Output, Param, Program};

use super::delays::{Alignment, delay};
use super::geometry::geometry;
use super::keys::{Field, TRACE_HEADER, fields, trace_fields};
use super::layout::{Layout, segy_layout};
use super::shifted::Shifted;
use super::su::su_layout;
use super::tape::Tape;
use super::{BLOCK, DELRT, NS, TSCALAR, factor};

pub static SEGYREAD: Program = Program {
    name: "sfsegyread",
    about: "Convert SEG-Y (or with su=y SU) to RSF: data and trace headers.",
    usage: "tape=line.sgy tfile=headers.rsf hfile=text bfile=binary > data.rsf",
    comments: COMMENTS,
    example: "sfsegyread tape=line.sgy tfile=headers.rsf hfile=header bfile=binary > line.rsf",
    params: &PARAMS,
};

pub static SUREAD: Program = Program {
    name: "sfsuread",
    about: "Convert SU to RSF: data and trace headers (sfsegyread su=y).",
    usage: "tape=line.su tfile=headers.rsf > data.rsf",
    comments: COMMENTS,
    example: "sfsuread tape=line.su tfile=headers.rsf > line.rsf",
    params: &PARAMS,
};

const COMMENTS: &str = "The data become reals, with time in s (from delrt and dt) along axis 1 and traces along axis 2. The header of \
every trace is written to tfile= as integers, one for each of the 91 keys of SEG-Y, with the names of Seismic Unix: tracl tracr fldr \
tracf ep cdp cdpt trid ... cdpx cdpy iline xline ... (sfheaderattr desc=y explains them). A key on the command line (iline=220) is read \
from another byte, counted from 0 (cdp=180 for bytes 181 to 184 of the standard, which counts from 1); key1=name name=byte key1_len=4 adds a key after the 91.\n\n\
SEG-Y of revisions 0 to 2.1 is read: formats 1 (IBM reals), 5 and 6 (IEEE reals of 4 and 8 bytes), 2, 3, 7, 8 and 9 \
(integers of 4, 2, 3, 1 and 8 bytes), 10, 11, 12, 15 and 16 (unsigned ones of 4, 2, 8, 3 and 1 bytes), rounded to \
single precision; textual headers in EBCDIC or ASCII, including extended ones; big-endian or little-endian files \
(endian=y detects the byte order, endian=n declares little-endian). Additional trace headers of revision 2 are \
skipped. If the file has a map of the trace headers (stanza SEG:Layout of revision 2.1), keys come from the bytes and \
types that it gives, and keys that it does not list are 0. All traces must have the same length; headers that give \
another length are reported, and so are different delays (delrt), which align=y takes into account. If the binary \
header has no number of samples or no sampling interval, the values of the first trace are used; SU without dt uses d1 \
and f1 (reals at bytes 181 to 188). The memory used does not depend on the size of the file.\n\n\
sou= and rec= name files for the points of sources and receivers, as the modelling programs read them (x, z or, if y varies, x, y, z; z \
downwards; from sx, sy, selev, sdepth, gx, gy, gelev with scalco and scalel). For points x, z the common y is added to origin= in the \
headers of both files, so that sfsegywrite writes it again. The data then have the axes time, receiver and shot; a shot consists of \
consecutive traces with the same source. sftransp plane=12 | sfspray axis=2 n=1 converts them to receiver, component, time, shot; for \
data with only vertical velocity, sfpad n2=2 (n2=3 in 3-D) adds the other components as zeros.\n\n\
An SU file whose samples and headers differ in byte order, as Madagascar's sfsuwrite writes it by default, is recognised by its first \
trace unless suxdr=y or endian=n is given.\n\n\
Differs from Madagascar: endian=y examines the file instead of the machine; with n2= the file may come through a pipe; traces may have \
more than 32767 samples; samples of all formats but 4 are read; a file that ends in the middle of a trace is reported; text is in code \
page 037 (which has its own codes for brackets and some other characters).";

static PARAMS: [Param; 22] = [
    Param::string("tape")
        .default_text("standard input")
        .doc("the SEG-Y or SU file"),
    Param::output("tfile")
        .default_text("tfile")
        .doc("headers of the traces, as RSF"),
    Param::output("sou").doc("points of the sources, one for each shot"),
    Param::output("rec").doc("points of the receivers, of one shot if all have the same"),
    Param::string("origin")
        .default_text("0,0")
        .doc("x and y that are subtracted from the points of sou= and rec=, in the unit of the file, so that UTM coordinates keep their digits in four bytes; sfsegywrite adds them again"),
    Param::string("feet")
        .default("keep")
        .doc("convert: convert points of sou= and rec= and origin= from feet to metres; keep: leave them unchanged, with a warning if the binary header says feet (mfeet=2)"),
    Param::string("hfile")
        .default_text("not written")
        .doc("file for the textual header, in ASCII (SEG-Y)"),
    Param::string("bfile")
        .default_text("not written")
        .doc("file for the binary header, unchanged (SEG-Y)"),
    Param::input("mask")
        .default_text("all traces")
        .doc("an integer for every trace; traces with 0 are left out"),
    Param::bool("su")
        .default_text("by the name of the program")
        .doc("y: SU; n: SEG-Y"),
    Param::bool("suxdr")
        .default("n")
        .doc("y: the SU file is big-endian"),
    Param::bool("endian")
        .default("y")
        .doc("y: detect the byte order; n: little-endian"),
    Param::bool("layout")
        .default("y")
        .doc("y: use a map of the trace headers in the file (stanza SEG:Layout of revision 2.1); n: read keys at the bytes of the standard"),
    Param::int("format")
        .default_text("of the binary header")
        .doc("1 IBM reals, 5 or 6 IEEE reals of 4 or 8 bytes, 2, 3, 7, 8 or 9 integers, 10, 11, 12, 15 or 16 unsigned ones (SEG-Y)"),
    Param::int("ns")
        .default_text("of the headers")
        .range(">= 1", Some(1.0), None)
        .doc("number of samples of a trace"),
    Param::bool("align")
        .default("n")
        .doc("y: place traces with different delays (delrt) on a common time axis, with zeros before and \
        after them; n: all traces begin at o1"),
    Param::int("n2")
        .default_text("0: all")
        .range(">= 0", Some(0.0), None)
        .doc("number of traces to read"),
    Param::string("read")
        .default("b")
        .doc("b: data and headers of traces; d: data only; h: headers only"),
    Param::string("key#")
        .default_text("none")
        .doc("name of a key to add after the 91"),
    Param::int("key#_len")
        .default_text("4")
        .doc("length of that key in bytes, 2 or 4"),
    Param::keys("KEY").doc("byte of the trace header, counted from 0, at which a key begins"),
    Param::bool("verb").default("n").doc("y: print what is found"),
];

pub fn segyread(job: &mut Job) -> Result<()> {
    let su = job.flag_opt("su")?.unwrap_or(false);
    read(job, su)
}

pub fn suread(job: &mut Job) -> Result<()> {
    let su = job.flag_opt("su")?.unwrap_or(true);
    read(job, su)
}

fn read(job: &mut Job, su: bool) -> Result<()> {
    let way = job.text("read")?.unwrap_or_default();
    let (headers, data) = match way.chars().next() {
        Some('b') => (true, true),
        Some('h') => (true, false),
        Some('d') => (false, true),
        _ => bail!("read={way} is not allowed: read= must be b (both), d (data) or h (headers)"),
    };
    let mut tape = Tape::open(job)?;
    let layout = if su {
        su_layout(job, &mut tape)?
    } else {
        segy_layout(job, &mut tape)?
    };
    let size = layout.size();
    let traces = count(job, &tape, &layout, size)?;
    let mask = mask(job, traces)?;
    let kept = mask
        .as_ref()
        .map_or(traces, |mask| mask.iter().filter(|keep| **keep).count() as u64);
    if job.flag("verb")? {
        job.say(&format!(
            "{traces} traces of {} samples, {}, {}; {kept} are read",
            layout.samples,
            layout.coding.words(),
            layout.order.words()
        ));
    }
    let fields = fields(job)?;
    let geometry = geometry(job, &layout, traces, mask.as_deref())?;
    let first = delay(&layout, &tape.ahead(TRACE_HEADER)?);
    let aligned = (data && job.flag("align")?)
        .then(|| Alignment::of_headers(job, &layout, (traces, mask.as_deref())))
        .transpose()?;
    let mut outputs = Outputs {
        data: data.then(|| job.output()).transpose()?,
        headers: headers.then(|| job.tagged_output("tfile")).transpose()?,
        others: Others {
            delay: first,
            ..Others::default()
        },
        aligned,
        shifted: Shifted::default(),
        written: 0,
    };
    if let Some(output) = &mut outputs.data {
        let (samples, begin) = match &outputs.aligned {
            Some(aligned) => (aligned.samples, aligned.earliest),
            None => (layout.samples, first),
        };
        output.set_axis(1, &time_axis(job, &layout, (samples, begin / 1e3)));
        match &geometry {
            Some(geometry) => (2..)
                .zip(geometry.axes())
                .for_each(|(i, axis)| output.set_axis(i, &axis)),
            None => output.set_axis(2, &Axis::new(kept as usize, 0.0, 1.0).label("Trace")),
        }
        if headers {
            let name = job.text("tfile")?.unwrap_or_else(|| "tfile".into());
            output.put_text("head", &name);
        }
    }
    if let Some(output) = &mut outputs.headers {
        describe(job, output, &fields, kept)?;
    }
    let size = (size, traces);
    outputs.copy(&mut tape, &layout, &fields, (size, mask.as_deref()))?;
    outputs
        .others
        .warn(job, &layout, outputs.aligned.is_some() || !data);
    if let Some(map) = &layout.map {
        map.warn(job, outputs.others.changed);
    }
    outputs.shifted.warn(job, &fields);
    outputs.finish()
}

/// The time axis of the data, with a number of samples and a delay in s; without a sampling interval in the headers it
/// counts samples.
fn time_axis(job: &Job, layout: &Layout, (samples, delay): (usize, f64)) -> Axis {
    if let Some(spacing) = &layout.spacing {
        let begin = if delay == 0.0 { spacing.first } else { delay };
        let axis = Axis::new(samples, begin as f32, layout.step as f32);
        return if spacing.is_time {
            axis.label("Time").unit("s")
        } else {
            axis
        };
    }
    if layout.step > 0.0 {
        let time = Axis::new(samples, delay as f32, layout.step as f32);
        return time.label("Time").unit("s");
    }
    job.warn(
        "neither the binary header nor the header of the first trace has a sampling interval: axis 1 counts samples, \
        with d1=1 \
(sfput d1=0.004 label1=Time unit1=s sets a known interval)",
    );
    Axis::new(samples, 0.0, 1.0).label("Sample")
}

/// Writes the axes of the file of trace headers, and the names and places of the keys that were added.
fn describe(job: &Job, output: &mut Output, fields: &[Field], traces: u64) -> Result<()> {
    output.set_kind(rsf_io::Kind::Int);
    output.set_axis(1, &Axis::new(fields.len(), 0.0, 1.0));
    output.set_axis(2, &Axis::new(traces as usize, 0.0, 1.0));
    for (i, field) in (1..).zip(&fields[trace_fields().len()..]) {
        output.put_text(&format!("key{i}"), &field.name);
        output.put_int(&format!("key{i}_len"), field.size as i64);
        output.put_int(&field.name, field.at as i64);
    }
    for (key, _) in job.keys() {
        if !fields.iter().any(|field| field.name == *key) {
            job.warn_of_word(&format!(
                "{key}= is neither a parameter nor a key of trace headers"
            ))?;
        }
    }
    Ok(())
}

/// The number of traces: `n2=` or, without it, all traces of the file.
fn count(job: &Job, tape: &Tape, layout: &Layout, size: usize) -> Result<u64> {
    let given = job.int_opt("n2")?.unwrap_or(0) as u64;
    let Some(length) = tape.length else {
        ensure!(
            given > 0,
            "{} is a pipe, whose length is unknown: give the number of traces by n2=",
            tape.name
        );
        return Ok(given);
    };
    let (there, rest) = {
        let bytes = length.saturating_sub(layout.before + layout.behind);
        (bytes / size as u64, bytes % size as u64)
    };
    let sizes = || {
        format!(
            "a trace of {} samples has {size} bytes ({}); if the headers are wrong, give {}",
            layout.samples,
            layout.coding.words(),
            // SU has a single format, and nothing before its traces.
            if layout.before == 0 {
                "ns="
            } else {
                "ns= and format="
            }
        )
    };
    ensure!(there > 0, "{} has no complete trace: {}", tape.name, sizes());
    ensure!(
        given <= there,
        "n2={given}: {} has only {there} traces: {}",
        tape.name,
        sizes()
    );
    if given == 0 && rest > 0 {
        job.warn(&format!(
            "{} has {rest} bytes after its last complete trace: {}",
            tape.name,
            sizes()
        ));
    }
    Ok(if given > 0 { given } else { there })
}

/// Whether each trace is read, if `mask=` is given.
fn mask(job: &mut Job, traces: u64) -> Result<Option<Vec<bool>>> {
    if !job.has_input("mask") {
        return Ok(None);
    }
    let mut input = job.input("mask")?;
    ensure!(
        input.len() == traces,
        "{} holds {} integers, but one is needed for each of {traces} traces",
        input.name(),
        input.len()
    );
    let mask: Vec<i32> = input.read_all()?;
    ensure!(
        mask.iter().any(|keep| *keep != 0),
        "mask= keeps no trace: all its values are 0"
    );
    Ok(Some(mask.iter().map(|keep| *keep != 0).collect()))
}

/// The output files and the state of the conversion.
struct Outputs {
    data: Option<Output>,
    headers: Option<Output>,
    others: Others,
    /// The common time axis, with `align=y`.
    aligned: Option<Alignment>,
    shifted: Shifted,
    /// Number of traces written.
    written: usize,
}

/// Inconsistencies of trace headers.
#[derive(Default)]
struct Others {
    /// Traces whose headers give another number of samples.
    lengths: Odd,
    /// Traces whose headers give another sampling interval.
    intervals: Odd,
    /// The delay of the first trace, in ms, and traces with another delay.
    delay: f64,
    delays: Odd,
    /// The number of values, read by the map of the headers, that the integers of keys cannot represent exactly.
    changed: u64,
}

/// Traces whose headers contradict the value that is used.
#[derive(Default)]
struct Odd {
    count: u64,
    /// The number of the first such trace, and its value.
    first: (u64, f64),
}

impl Odd {
    fn add(&mut self, trace: u64, value: f64) {
        if self.count == 0 {
            self.first = (trace + 1, value);
        }
        self.count += 1;
    }
}

impl Others {
    fn look(&mut self, layout: &Layout, header: &[u8], trace: u64) {
        let header = &header[..TRACE_HEADER];
        let stated = layout.order.count(&layout.standard(header), NS);
        if stated != 0 && stated != layout.samples {
            self.lengths.add(trace, stated as f64);
        }
        if let Some(stated) = layout.other_interval(header) {
            self.intervals.add(trace, stated as f64);
        }
        let stated = delay(layout, header);
        if stated != self.delay {
            self.delays.add(trace, stated);
        }
    }

    /// Warns of inconsistencies; `in_place` says whether delays need no warning.
    fn warn(&self, job: &Job, layout: &Layout, in_place: bool) {
        let Odd { count, first } = self.lengths;
        if count > 0 {
            job.warn(&format!(
                "{count} trace headers give a number of samples other than the {} with which all traces are read; the \
                first is in trace {}, with {}: if these traces have that length, all later traces are wrong (ns= sets \
                the number for all)",
                layout.samples, first.0, first.1
            ));
        }
        let Odd { count, first } = self.intervals;
        if count > 0 {
            job.warn(&format!(
                "the sampling interval is taken from {}, {} microseconds, but {count} trace headers have another one; \
                the first is in trace {}, with {}: if these are right, sfput d1={} corrects it",
                layout.step_of,
                (layout.step * 1e6) as f32,
                first.0,
                first.1,
                first.1 as f32 / 1e6
            ));
        }
        let Odd { count, first } = self.delays;
        if count > 0 && !in_place {
            job.warn(&format!(
                "the first trace begins at {} ms (delrt) but {count} others at other times; the first of these is trace {} at {} ms: all traces are written from o1 on, so these are shifted by the difference (align=y places every trace at its time)",
                self.delay, first.0, first.1
            ));
        }
    }
}

impl Outputs {
    /// Converts all traces that are kept, block after block.
    fn copy(
        &mut self,
        tape: &mut Tape,
        layout: &Layout,
        fields: &[Field],
        ((size, traces), mask): ((usize, u64), Option<&[bool]>),
    ) -> Result<()> {
        let together = (BLOCK / size).max(1);
        // If only headers are read, the samples are skipped.
        let read = if self.data.is_some() { size } else { TRACE_HEADER };
        let mut block = vec![0u8; together * read];
        let mut held = 0;
        for trace in 0..traces {
            let is_read = mask.is_none_or(|mask| mask[trace as usize]);
            if is_read {
                let what = || format!("trace {} of {traces}", trace + 1);
                let bytes = &mut block[held * read..][..read];
                tape.fill(bytes, &what)?;
                self.others.look(layout, bytes, trace);
                held += 1;
            }
            tape.pass((if is_read { size - read } else { size }) as u64)?;
            if held == together || trace + 1 == traces {
                self.write(layout, fields, &block[..held * read], read)?;
                held = 0;
            }
        }
        Ok(())
    }

    fn write(&mut self, layout: &Layout, fields: &[Field], block: &[u8], size: usize) -> Result<()> {
        let (traces, first) = (block.len() / size, self.written);
        self.written += traces;
        if let Some(output) = &mut self.data {
            let aligned = self.aligned.as_ref();
            let long = aligned.map_or(layout.samples, |aligned| aligned.samples);
            let mut values = vec![0.0f32; traces * long];
            let rows = values.par_chunks_exact_mut(long);
            rows.zip(block.par_chunks_exact(size))
                .enumerate()
                .for_each(|(i, (row, trace))| {
                    let before = aligned.map_or(0, |aligned| aligned.before[first + i]);
                    let samples = &trace[TRACE_HEADER + layout.between..];
                    let row = &mut row[before..][..layout.samples];
                    layout.coding.decode(layout.samples_order, samples, row);
                });
            output.write_f32(&values)?;
        }
        if let Some(output) = &mut self.headers {
            let mut values = Vec::with_capacity(traces * fields.len());
            for trace in block.chunks_exact(size) {
                let mapped = layout
                    .map
                    .as_ref()
                    .map(|map| map.to_standard(layout.order, &trace[..TRACE_HEADER]));
                self.others.changed += mapped.as_ref().map_or(0, |(_, changed)| *changed);
                let header = |field: &Field| match &mapped {
                    Some((standard, _)) if !field.given => standard,
                    _ => trace,
                };
                values.extend(fields.iter().map(|field| {
                    let value = |at, size| layout.order.int(header(field), at, size);
                    match (&self.aligned, field.at) {
                        // The headers describe the traces that are written, which begin and end together.
                        (Some(aligned), NS) if !field.given => aligned.samples as i32,
                        (Some(aligned), DELRT) if !field.given => {
                            (aligned.earliest / factor(value(TSCALAR, 2))).round() as i32
                        }
                        _ => value(field.at, field.size),
                    }
                }));
            }
            self.shifted.look(&values, fields.len());
            output.write_i32(&values)?;
        }
        Ok(())
    }

    fn finish(self) -> Result<()> {
        for output in [self.data, self.headers].into_iter().flatten() {
            output.finish()?;
        }
        Ok(())
    }
}
