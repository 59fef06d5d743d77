//! Determines the layout of an SU file from its first trace.

use std::cmp::Ordering;

use anyhow::{Result, bail, ensure};
use rsf_io::Job;

use super::keys::TRACE_HEADER;
use super::layout::{Layout, Spacing};
use super::samples::{Coding, Order};
use super::tape::Tape;
use super::text;
use super::{D1, DT, NS, TRID};

/// Reads the layout of an SU file from its first trace header.
pub fn su_layout(job: &Job, tape: &mut Tape) -> Result<Layout> {
    ensure!(
        !job.given("format"),
        "format= applies to SEG-Y only: samples of SU are IEEE reals of 4 bytes"
    );
    let first = tape.ahead(TRACE_HEADER)?;
    ensure!(
        first.len() == TRACE_HEADER,
        "{} has no trace: it holds {} bytes, but a trace header alone has {TRACE_HEADER}",
        tape.name,
        first.len()
    );
    if text::is_text(&first) {
        bail!(
            "{} begins with text, so it is SEG-Y and not SU: sfsegyread reads it",
            tape.name
        );
    }
    let is_given = !job.flag("endian")? || job.flag("suxdr")?;
    let order = if !job.flag("endian")? {
        Order::Little
    } else if job.flag("suxdr")? {
        Order::Big
    } else {
        likely(&first, job.int_opt("ns")?, tape.length)
    };
    let samples = job.int_opt("ns")?.map_or(order.count(&first, NS), |n| n as usize);
    ensure!(
        samples > 0,
        "{}: the first trace header has 0 samples; give the number of samples by ns=",
        tape.name
    );
    let mut layout = Layout {
        order,
        samples_order: order,
        coding: Coding::Ieee,
        samples,
        step: order.count(&first, DT) as f64 / 1e6,
        step_of: "the first trace",
        spacing: None,
        step_is_long: false,
        before: 0,
        behind: 0,
        between: 0,
        map: None,
        lengths: 0,
    };
    if !is_given && mixed(&tape.ahead(layout.size())?[TRACE_HEADER..], order) {
        layout.samples_order = order.turned();
        job.warn(&format!(
            "headers are {} and samples {}, as Madagascar's sfsuwrite writes them, and are read accordingly (suxdr=y or \
            endian=n declares that both have the same byte order)",
            order.words(),
            layout.samples_order.words()
        ));
    }
    if layout.step == 0.0 {
        spacing_of_su(job, &mut layout, &first);
    }
    Ok(layout)
}

/// Uses the spacing that Seismic Unix stores as a real in bytes 181 to 184 of a trace header, followed by the
/// coordinate of the first sample.
fn spacing_of_su(job: &Job, layout: &mut Layout, first: &[u8]) {
    let real = |at: usize| f64::from(f32::from_bits(layout.order.int(first, at, 4) as u32));
    let (step, begin) = (real(D1), real(D1 + 4));
    // SEG-Y has integers at this place, which are tiny if they are read as reals.
    if !(1e-9..1e9).contains(&step) {
        return;
    }
    let begin = if begin.abs() < 1e9 { begin } else { 0.0 };
    let is_time = layout.order.int(first, TRID, 2) <= 1;
    job.warn(&format!(
        "the first trace has no sampling interval (dt=0): d1={} from its bytes 181 to 184, where Seismic Unix stores the spacing, is used{}",
        step as f32,
        if is_time { " as seconds" } else { " without a unit (sfput label1= unit1= sets it)" }
    ));
    layout.step = step;
    layout.spacing = Some(Spacing {
        first: begin,
        is_time,
    });
}

/// The byte order of the headers: the order with which the file consists of a whole number of traces. If this is true
/// of both orders or of neither, as for a truncated file, it is the order in which more fields of the first header are
/// plausible.
fn likely(header: &[u8], ns: Option<i64>, length: Option<u64>) -> Order {
    let size = |order: Order| {
        let samples = ns.map_or(order.count(header, NS), |n| n as usize);
        (samples > 0).then_some((TRACE_HEADER + 4 * samples) as u64)
    };
    let fits = |order| size(order).is_some_and(|size| length.is_none_or(|length| length % size == 0));
    match (fits(Order::Little), fits(Order::Big)) {
        (true, false) => return Order::Little,
        (false, true) => return Order::Big,
        _ => {}
    }
    let holds = |order| size(order).is_some_and(|size| length.is_none_or(|length| length >= size));
    // The number of the trace, its identification code, the number of samples and the sampling interval in
    // microseconds are small numbers; in the wrong byte order most small numbers become large.
    let fields: [&dyn Fn(Order) -> u64; 4] = [
        &|order| u64::from(order.int(header, 0, 4) as u32),
        &|order| order.count(header, TRID) as u64,
        &|order| order.count(header, NS) as u64,
        &|order| order.count(header, DT) as u64,
    ];
    let vote = |field: &&dyn Fn(Order) -> u64| match field(Order::Big).cmp(&field(Order::Little)) {
        Ordering::Less => 1,
        Ordering::Equal => 0,
        Ordering::Greater => -1,
    };
    let votes: i32 = fields.iter().map(vote).sum();
    let whole = i32::from(holds(Order::Big)) - i32::from(holds(Order::Little));
    if votes + whole > 0 {
        Order::Big
    } else {
        Order::Little
    }
}

/// Whether the byte order of the samples differs from the byte order of the headers. In the wrong order the last
/// mantissa bits become the exponent, so magnitudes lie anywhere between 1e-38 and 1e38, or are denormal.
fn mixed(samples: &[u8], order: Order) -> bool {
    let usual = |order: Order| {
        let values = samples
            .chunks_exact(4)
            .map(|bytes| f32::from_bits(order.int(bytes, 0, 4) as u32));
        let usual = |x: f32| x == 0.0 || (1e-15..1e15).contains(&x.abs());
        values.filter(|x| usual(*x)).count()
    };
    let (in_order, turned) = (usual(order), usual(order.turned()));
    turned > in_order && 10 * in_order < 9 * (samples.len() / 4)
}
