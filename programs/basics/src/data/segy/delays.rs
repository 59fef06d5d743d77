//! Traces with different delays (`delrt`).

use anyhow::{Result, ensure};
use rsf_io::Job;

use super::keys::TRACE_HEADER;
use super::layout::Layout;
use super::{DELRT, TSCALAR, factor};

/// The time of the first sample of a trace, in ms, with the time scalar of revision 1.
pub fn delay(layout: &Layout, header: &[u8]) -> f64 {
    if header.len() < TRACE_HEADER {
        return 0.0;
    }
    let header = &layout.standard(&header[..TRACE_HEADER]);
    f64::from(layout.order.int(header, DELRT, 2)) * factor(layout.order.int(header, TSCALAR, 2))
}

/// A common time axis for traces of different delays.
pub struct Alignment {
    /// The smallest delay, in ms, at which the time axis begins.
    pub earliest: f64,
    /// The number of samples of the time axis, up to the latest end of a trace.
    pub samples: usize,
    /// The number of samples of the time axis before each trace that is kept.
    pub before: Vec<usize>,
}

impl Alignment {
    /// Determines the time axis from the headers of the traces that are kept.
    ///
    /// # Errors
    /// Returns an error if the file is a pipe, has no sampling interval, or has delays that differ by
    /// fractions of samples.
    pub fn of_headers(job: &mut Job, layout: &Layout, kept: (u64, Option<&[bool]>)) -> Result<Self> {
        ensure!(
            layout.step > 0.0,
            "align=y needs a sampling interval, and neither the binary header nor the header of the first trace has one"
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
            // Headers store whole milliseconds, so half a millisecond is within rounding.
            ensure!(
                (samples * step - (delay - earliest)).abs() <= 0.5,
                "align=y: trace {} begins {} ms after the earliest one, which is not a whole number of \
                samples of {step} ms: read the file without align=y and shift the traces with sfdatstretch \
                datum=",
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
