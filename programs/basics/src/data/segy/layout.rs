//! The layout of a SEG-Y or SU file, and how the layout of a SEG-Y file is determined from its headers (`su.rs` does so
//! for SU files).

use std::borrow::Cow;
use std::fs::File;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use rsf_io::Job;

use super::keys::TRACE_HEADER;
use super::map::Map;
use super::samples::{Coding, Order};
use super::tape::Tape;
use super::text::{self, TEXT_HEADER};
use super::{
    BINARY_HEADER, DT, EXTENDED, FIRST_TRACE, FORMAT, FURTHER, HDT, HNS, LONG_HNS, MFEET, NS, ORDER_CONSTANT,
    REAL_HDT, REVISION, TRAILERS,
};

/// The largest number of extended textual headers that are read if the binary header gives the byte at which traces
/// begin.
const MOST_TEXTS: u64 = 1000;

/// Codes of the unit of lengths in the binary header.
pub const METRES: i64 = 1;
pub const FEET: i64 = 2;

/// The layout of a file.
pub struct Layout {
    /// The byte order of headers.
    pub order: Order,
    /// The byte order of samples.
    pub samples_order: Order,
    /// Format of samples.
    pub coding: Coding,
    /// The number of samples of a trace.
    pub samples: usize,
    /// Sampling interval in s; 0 if no header has one.
    pub step: f64,
    /// The name of the header from which `step` comes.
    pub step_of: &'static str,
    /// Axis 1 from `d1` and `f1` of Seismic Unix, for traces without a sampling interval.
    pub spacing: Option<Spacing>,
    /// Whether `step` comes from the 8-byte field of revision 2.
    pub(super) step_is_long: bool,
    /// The number of bytes before the first trace.
    pub before: u64,
    /// The number of bytes after the last trace.
    pub behind: u64,
    /// The number of bytes between the header of a trace and its samples.
    pub between: usize,
    /// The map of the trace headers, if the file has one.
    pub map: Option<Map>,
    /// The code of the unit of lengths in the binary header: [`METRES`], [`FEET`], or another number if it is unknown.
    pub lengths: i64,
}

/// The origin of axis 1, which `d1` and `f1` of Seismic Unix give in place of `dt` and `delrt`.
pub struct Spacing {
    /// Coordinate of the first sample.
    pub first: f64,
    /// Whether the axis is time.
    pub is_time: bool,
}

impl Layout {
    /// Calls `visit` with the number and the header of every trace that is kept, before the traces themselves
    /// are read. `who` begins the error message for a pipe.
    ///
    /// # Errors
    /// Returns an error if the input is a pipe, which cannot be read twice, or the file is too short.
    pub fn each_header(
        &self,
        job: &mut Job,
        who: &str,
        (traces, mask): (u64, Option<&[bool]>),
        mut visit: impl FnMut(u64, &[u8]),
    ) -> Result<()> {
        let mut tape = Tape::open(job)?;
        ensure!(
            tape.length.is_some(),
            "{who} a file that can be read twice, but {} is a pipe: give a file by tape=",
            tape.name
        );
        tape.pass(self.before)?;
        let mut header = [0u8; TRACE_HEADER];
        for trace in 0..traces {
            tape.fill(&mut header, &|| format!("the header of trace {}", trace + 1))?;
            tape.pass((self.size() - TRACE_HEADER) as u64)?;
            if mask.is_none_or(|mask| mask[trace as usize]) {
                visit(trace, &header);
            }
        }
        Ok(())
    }

    /// The sampling interval of a trace header in microseconds, if it differs from the interval that is used. Intervals
    /// of 0 are ignored, and intervals above 32767, which look negative, have a separate warning.
    pub fn other_interval(&self, header: &[u8]) -> Option<usize> {
        let stated = self.order.count(&self.standard(header), DT);
        let taken = self.step * 1e6;
        ((1..1 << 15).contains(&stated) && taken < 32768.0 && (stated as f64 - taken).abs() >= 1.0)
            .then_some(stated)
    }

    /// Length of a trace in bytes, with its headers.
    pub fn size(&self) -> usize {
        self.size_of(self.samples)
    }

    fn size_of(&self, samples: usize) -> usize {
        TRACE_HEADER + self.between + samples * self.coding.size()
    }

    /// A trace header in the standard layout.
    pub fn standard<'a>(&self, header: &'a [u8]) -> Cow<'a, [u8]> {
        match &self.map {
            Some(map) => map.to_standard(self.order, header).0.into(),
            None => header.into(),
        }
    }
}

/// Reads the textual and binary headers of a SEG-Y file.
pub fn segy_layout(job: &mut Job, tape: &mut Tape) -> Result<Layout> {
    let (mut text, mut binary) = (vec![0; TEXT_HEADER], vec![0; BINARY_HEADER]);
    tape.fill(&mut text, &|| "the 3200 bytes of the textual header".into())?;
    tape.fill(&mut binary, &|| "the 400 bytes of the binary header".into())?;
    let order = order(job, &binary)?;
    let stated = i64::from(order.int(&binary, FORMAT, 2));
    let coding = Coding::of(job.int_opt("format")?.unwrap_or(stated))
        .with_context(|| format!("{} has no known sample format", tape.name))?;
    if Coding::of(stated).is_ok_and(|stated| stated != coding) {
        job.warn(&format!(
            "the binary header has format {stated} ({}), but samples are read as {} because of format=",
            Coding::of(stated)?.words(),
            coding.words()
        ));
    }
    for (key, bytes) in [("hfile", text::to_ascii(&text)), ("bfile", binary.clone())] {
        if let Some(path) = job.text(key)?.filter(|_| !job.is_dry_run()) {
            job.will_write(Path::new(&path), &format!("{key}={path}"))?;
            let written = File::create(&path).and_then(|mut file| file.write_all(&bytes));
            written.with_context(|| format!("cannot write {key}={path}"))?;
        }
    }
    let mut layout = Layout {
        order,
        samples_order: order,
        coding,
        samples: order.count(&binary, HNS),
        step: order.count(&binary, HDT) as f64 / 1e6,
        step_of: "the binary header",
        spacing: None,
        step_is_long: false,
        before: (TEXT_HEADER + BINARY_HEADER) as u64,
        behind: 0,
        between: 0,
        map: None,
        lengths: i64::from(order.int(&binary, MFEET, 2)),
    };
    if major(order, &binary) == 2 {
        second_revision(&mut layout, &binary)?;
    }
    let texts = pass_text(tape, &mut layout, &binary, job.int_opt("ns")?)?;
    if job.flag("layout")? {
        let map = text::stanza(&texts, "seg:layout");
        layout.map = map.map(|text| Map::of(job, &text)).transpose()?;
    }
    let first = tape.ahead(TRACE_HEADER)?;
    if first.len() == TRACE_HEADER {
        samples_of_traces(job, tape, &mut layout, &first);
    }
    if let Some(samples) = job.int_opt("ns")? {
        layout.samples = samples as usize;
    }
    ensure!(
        layout.samples > 0,
        "{}: neither the binary header nor the first trace has the number of samples per trace; give it by ns=",
        tape.name
    );
    Ok(layout)
}

/// Reads the fields that revision 2 adds (SEG-Y revision 2.1, table 2): long numbers, additional trace headers, data
/// trailers.
fn second_revision(layout: &mut Layout, binary: &[u8]) -> Result<()> {
    let order = layout.order;
    let (samples, step) = (order.int(binary, LONG_HNS, 4), order.real(binary, REAL_HDT));
    if samples > 0 {
        layout.samples = samples as usize;
    }
    if step.is_finite() && step > 0.0 {
        (layout.step, layout.step_is_long) = (step / 1e6, true);
    }
    let further = order.int(binary, FURTHER, 4);
    ensure!(
        (0..1000).contains(&further),
        "the binary header announces {further} additional headers of 240 bytes for each trace (bytes 3507 to 3510), but only 0 to 999 are supported"
    );
    layout.between = further as usize * TRACE_HEADER;
    layout.behind = order.int(binary, TRAILERS, 4).max(0) as u64 * TEXT_HEADER as u64;
    Ok(())
}

/// The sampling interval in microseconds from the two-byte fields of the binary header and the first trace header. In
/// the standard these fields are unsigned; if one of two values would be negative as a signed number and the other
/// would not, the other is used.
fn interval(job: &Job, binary: usize, trace: usize) -> usize {
    const NEGATIVE: usize = 1 << 15;
    let signed = |n: usize| n as i64 - if n < NEGATIVE { 0 } else { 1 << 16 };
    let taken = match (binary, trace) {
        (0, _) => trace,
        (NEGATIVE.., 1..NEGATIVE) => trace,
        _ => binary,
    };
    if binary >= NEGATIVE || taken >= NEGATIVE {
        job.warn(&format!(
            "the sampling interval of the binary header is {}, that of the first trace {}: {taken} microseconds are used, because these two bytes \
have no sign (sfput d1= sets another)",
            signed(binary),
            signed(trace)
        ));
    }
    taken
}

/// Takes the number of samples and the sampling interval from the first trace header, if the binary header has none, or
/// if the file contains a whole number of traces only with the values of the trace header.
fn samples_of_traces(job: &Job, tape: &Tape, layout: &mut Layout, first: &[u8]) {
    let first = &layout.standard(first).into_owned();
    let (samples, step) = (layout.order.count(first, NS), layout.order.count(first, DT));
    if !layout.step_is_long {
        let stated = (layout.step * 1e6).round() as usize;
        let taken = interval(job, stated, step);
        if taken != stated {
            layout.step_of = "the first trace";
        }
        layout.step = taken as f64 / 1e6;
    }
    let fills = |layout: &Layout| {
        let traces = tape
            .length
            .map(|length| length.saturating_sub(layout.before + layout.behind));
        traces.is_some_and(|bytes| bytes > 0 && bytes.is_multiple_of(layout.size() as u64))
    };
    let stated = layout.samples;
    if samples == 0 || samples == stated || stated > 0 && fills(layout) {
        return;
    }
    layout.samples = samples;
    if stated > 0 && !fills(layout) {
        layout.samples = stated;
    } else if stated > 0 && !job.given("ns") {
        job.warn(&format!(
            "the binary header has {stated} samples per trace, but the first trace header {samples}: {samples} are used, because the file \
            holds a whole number of such traces"
        ));
    }
}

/// The major revision number: either a separate byte, or the upper byte of a two-byte number, whose place
/// depends on the byte order.
pub fn major(order: Order, binary: &[u8]) -> usize {
    match binary[REVISION] {
        0 => order.count(binary, REVISION) >> 8,
        major => major.into(),
    }
}

/// The byte order: little-endian with `endian=n`, otherwise the byte order of the binary header, otherwise big-endian.
fn order(job: &Job, binary: &[u8]) -> Result<Order> {
    if !job.flag("endian")? {
        return Ok(Order::Little);
    }
    Ok(order_of(binary).unwrap_or(Order::Big))
}

/// The byte order of a binary header, if its byte-order constant gives it or its format code is valid in only
/// one order.
pub fn order_of(binary: &[u8]) -> Option<Order> {
    match &binary[ORDER_CONSTANT..ORDER_CONSTANT + 4] {
        [1, 2, 3, 4] => return Some(Order::Big),
        [4, 3, 2, 1] => return Some(Order::Little),
        _ => {}
    }
    let sane = |order: Order| (1..=16).contains(&order.int(binary, FORMAT, 2));
    match (sane(Order::Big), sane(Order::Little)) {
        (true, false) => Some(Order::Big),
        (false, true) => Some(Order::Little),
        _ => None,
    }
}

/// Reads the extended textual headers after the binary header and returns them in ASCII. Their number in the binary
/// header is valid from revision 1 on. In older files it is arbitrary. It is then used only if a stanza follows, which
/// begins with `((`, or if the file holds a whole number of traces only with these headers.
fn pass_text(tape: &mut Tape, layout: &mut Layout, binary: &[u8], ns: Option<i64>) -> Result<Vec<String>> {
    let order = layout.order;
    let (major, stated) = (major(order, binary), order.int(binary, EXTENDED, 2));
    let size = layout.size_of(ns.map_or(layout.samples, |ns| ns as usize)) as u64;
    let fills = |number: u64| {
        let before = layout.before + number * TEXT_HEADER as u64;
        tape.length
            .is_some_and(|length| length > before && (length - before).is_multiple_of(size))
    };
    let alone = stated > 0 && fills(stated as u64) && !fills(0);
    let first_trace = match major {
        2 => order.long(binary, FIRST_TRACE),
        _ => 0,
    };
    if first_trace > layout.before {
        let between = first_trace - layout.before;
        // These bytes may be textual headers with stanzas; a plausible number of them is read.
        let blocks = (between / TEXT_HEADER as u64).min(MOST_TEXTS);
        let texts = (0..blocks).map(|i| block_of_text(tape, &|| format!("textual header {}", i + 1)));
        let texts = texts.collect::<Result<_>>()?;
        tape.pass(between - blocks * TEXT_HEADER as u64)?;
        layout.before = first_trace;
        return Ok(texts);
    }
    let stanza = starts_stanza(&tape.ahead(2)?);
    let announced = matches!(major, 1 | 2);
    let count = if stated > 0 && (announced || stanza || alone) {
        stated as usize
    } else if stanza || stated < 0 && announced {
        // The number is unknown: read up to the stanza that marks the end.
        usize::MAX
    } else {
        0
    };
    let mut texts: Vec<String> = Vec::new();
    while texts.len() < count {
        let what = || match count {
            usize::MAX => {
                "textual headers up to `((SEG: EndText))`, which the binary header announces".into()
            }
            _ => format!("extended textual header {} of {count}", texts.len() + 1),
        };
        let text = block_of_text(tape, &what)?;
        let last = text::name_of_stanza(&text).is_some_and(|name| name == "seg:endtext");
        texts.push(text);
        if count == usize::MAX && last {
            break;
        }
    }
    layout.before += (texts.len() * TEXT_HEADER) as u64;
    Ok(texts)
}

/// The next textual header in ASCII.
fn block_of_text(tape: &mut Tape, what: &dyn Fn() -> String) -> Result<String> {
    let mut block = vec![0; TEXT_HEADER];
    tape.fill(&mut block, what)?;
    Ok(String::from_utf8_lossy(&text::to_ascii(&block)).into_owned())
}

/// Whether the bytes begin a stanza of a textual header, in ASCII or EBCDIC.
fn starts_stanza(bytes: &[u8]) -> bool {
    matches!(bytes, [b'(', b'('] | [0x4d, 0x4d])
}
