//! Traces that begin at times of their own: their delay (delrt) differs.

use anyhow::{Result, ensure};
use rsf_io::Job;

use super::keys::TRACE_HEADER;
use super::layout::Layout;
use super::{DELRT, TSCALAR, factor};

/// When the first sample of a trace is taken, in ms: revision 1 gives times a factor.
pub fn delay(layout: &Layout, header: &[u8]) -> f64 {
    if header.len() < TRACE_HEADER {
        return 0.0;
    }
    let header = &layout.standard(&header[..TRACE_HEADER]);
    f64::from(layout.order.int(header, DELRT, 2)) * factor(layout.order.int(header, TSCALAR, 2))
}

/// One axis of time for traces of several delays.
pub struct Alignment {
    /// The smallest delay, in ms, at which the axis begins.
    pub earliest: f64,
    /// Samples from there to the end of the last trace.
    pub samples: usize,
    /// Samples of the axis before each kept trace.
    pub before: Vec<usize>,
}

impl Alignment {
    /// The axis of the kept traces of a file. Errors: a pipe, no sampling interval, delays that differ by parts of samples.
    pub fn of_headers(job: &mut Job, layout: &Layout, kept: (u64, Option<&[bool]>)) -> Result<Self> {
        ensure!(
            layout.step > 0.0,
            "align=y needs a sampling interval, and neither the binary header nor that of the first trace has one"
        );
        let mut delays = Vec::new();
        layout.each_header(job, "align=y needs", kept, |trace, header| {
            delays.push((trace, delay(layout, header)));
        })?;
        let earliest = delays
            .iter()
            .map(|(_, delay)| *delay)
            .reduce(f64::min)
            .unwrap_or(0.0);
        let step = 1e3 * layout.step;
        let mut before = Vec::with_capacity(delays.len());
        for (trace, delay) in delays {
            let samples = ((delay - earliest) / step).round();
            // Headers hold whole milliseconds.
            ensure!(
                (samples * step - (delay - earliest)).abs() <= 0.5,
                "align=y: trace {} begins {} ms after the earliest one, which is no whole number of samples of {step} ms: read the file without align=y and shift the traces by sfdatstretch datum=",
                trace + 1,
                delay - earliest
            );
            before.push(samples as usize);
        }
        Ok(Self {
            earliest,
            samples: layout.samples + before.iter().max().copied().unwrap_or(0),
            before,
        })
    }
}
