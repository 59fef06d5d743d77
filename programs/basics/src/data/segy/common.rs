//! Values that all trace headers have in common: number of samples, interval and delay.

use anyhow::{Context, Result, ensure};
use rsf_io::{Axis, Input, Job, format_g};

use super::geometry::Geometry;
use super::keys::Field;
use super::samples::Order;
use super::{DELRT, DT, NS, TSCALAR, factor};

/// Units of length that the axes of models have.
const LENGTHS: [&str; 4] = ["m", "km", "ft", "feet"];

/// Values that all trace headers have in common.
pub struct Common {
    pub order: Order,
    pub samples: usize,
    /// Sampling interval in microseconds, and its value for a field of two bytes: 0 if that cannot hold it within 1 %.
    pub exact: f64,
    pub interval: i32,
    /// Delay in milliseconds, and its value for a header without a time scalar.
    pub first: f64,
    pub delay: i32,
    /// The number that is added to the delays of all headers, in their unit, so that the first delay is that
    /// of the data.
    pub shift: i32,
}

impl Common {
    /// The values of the data.
    ///
    /// # Errors
    /// Returns an error if headers cannot hold the number of samples, the interval or the delay.
    pub fn of(job: &Job, input: &Input, su: bool) -> Result<Self> {
        let axis = input.axis(1);
        ensure!(
            axis.n
                <= if su {
                    usize::from(u16::MAX)
                } else {
                    i32::MAX as usize
                },
            "n1={}: trace headers of SU hold at most 65535 samples (sfwindow takes a part, sfput n1= n2= \
            splits traces, and sfsegywrite writes longer ones)",
            axis.n
        );
        let milliseconds = match axis.unit.as_deref() {
            Some("s") => false,
            Some("ms") => true,
            _ => axis.d >= 1.0,
        };
        let scale = if milliseconds { 1.0 } else { 1000.0 };
        warn_of_lengths(job, &axis, scale);
        // Use all digits of the header: 0.1 in single precision is a little more than 0.1.
        let d = input.header().double("d1").unwrap_or(f64::from(axis.d));
        let (exact, interval) = interval(job, (d, d * scale * 1000.0), su)?;
        let first = f64::from(axis.o) * scale;
        // This is not -0.
        let delay = first.round() + 0.0;
        ensure!(
            (-32768.0..=32767.0).contains(&delay),
            "o1={} is a delay of {delay} ms, but headers hold -32768 to 32767 ms (sfput o1= sets another)",
            axis.o
        );
        // The headers of tfile= may count delays in fractions of a millisecond.
        if !job.has_input("tfile") && (delay - first).abs() > 1e-5 * first.abs() {
            job.warn(&format!(
                "o1={} becomes a delay of {delay} ms, because new headers hold whole milliseconds{}",
                axis.o,
                match su {
                    true => "",
                    false => " (a table tfile= whose tscalar is -10, -100 or -1000 keeps fractions)",
                }
            ));
        }
        Ok(Self {
            order: if job.flag("endian")? {
                Order::Big
            } else {
                Order::Little
            },
            samples: axis.n,
            exact,
            interval,
            first: format_g(first, 6).parse()?,
            delay: delay as i32,
            shift: 0,
        })
    }

    /// Whether only a file of revision 2.1 can hold the number of samples or the interval.
    pub fn is_new(&self) -> bool {
        self.short() == 0 || self.exact != f64::from(self.interval)
    }

    /// The number of samples for a field of two bytes: 0 if it is too large, because revision 2 has a longer field.
    pub fn short(&self) -> i32 {
        u16::try_from(self.samples).map_or(0, i32::from)
    }

    /// Computes the shift of the delays from the delay of the data and the delay in the first header.
    pub fn begin_at(&mut self, job: &Job, fields: &[Field], keys: &[i32]) -> Result<()> {
        let place = fields
            .iter()
            .position(|field| field.at == DELRT)
            .context("delrt")?;
        let scalar = fields.iter().position(|field| field.at == TSCALAR);
        let factor = factor(scalar.map_or(0, |scalar| keys[scalar]));
        let exact = self.first / factor;
        self.shift = exact.round() as i32 - keys[place];
        if (exact - exact.round()).abs() * factor > 1e-5 * self.first.abs() {
            job.warn(&format!(
                "o1 is {} ms, but tscalar of the first trace header means that delays are in units of \
                {factor} ms: it becomes {} ms",
                self.first,
                format_g(exact.round() * factor + 0.0, 6)
            ));
        }
        if self.shift != 0 && keys[place] != 0 {
            job.warn(&format!(
                "delrt of the first trace header is {} ms, but the data begin at {} ms (o1): {} ms were added to all delays",
                format_g(f64::from(keys[place]) * factor, 6),
                self.first,
                format_g(f64::from(self.shift) * factor, 6)
            ));
        }
        Ok(())
    }

    /// Fills a trace header with keys of `tfile=`; returns 1 if it had to be corrected, else 0.
    pub fn fill(&self, header: &mut [u8], fields: &[Field], keys: &[i32]) -> u64 {
        for (field, value) in fields.iter().zip(keys) {
            let shift = if field.at == DELRT { self.shift } else { 0 };
            self.order.put_int(header, field.at, field.size, *value + shift);
        }
        let mut corrected = 0;
        for (at, value) in [(NS, self.short()), (DT, self.interval)] {
            let stated = self.order.count(header, at) as i32;
            self.order.put_int(header, at, 2, value);
            corrected |= u64::from(stated != 0 && stated != value);
        }
        corrected
    }

    /// Fills a trace header without `tfile=`.
    pub fn make(&self, header: &mut [u8], trace: u64, geometry: Option<&Geometry>) {
        const TRID: usize = 28;
        let number = i32::try_from(trace + 1).unwrap_or(i32::MAX);
        for (at, size, value) in [
            (0, 4, number),
            (4, 4, number),
            (TRID, 2, 1),
            (DELRT, 2, self.delay),
            (NS, 2, self.short()),
            (DT, 2, self.interval),
        ] {
            self.order.put_int(header, at, size, value);
        }
        if let Some(geometry) = geometry {
            geometry.fill(self.order, header, trace);
        }
    }
}

/// Warns if the unit of axis 1 is a unit of length.
fn warn_of_lengths(job: &Job, axis: &Axis, scale: f64) {
    let unit = axis.unit.as_deref().unwrap_or_default();
    if LENGTHS.contains(&unit.to_lowercase().as_str()) {
        job.warn(&format!(
            "unit1={unit}: trace headers hold times, so d1={} {unit} is written as {} ms; after sfsegyread, sfput d1={} o1={} unit1={unit} restores the axis",
            axis.d,
            f64::from(axis.d) * scale,
            axis.d,
            axis.o
        ));
    }
}

/// The exact interval in microseconds and its value for a field of two bytes, from `d1` and `d1` in
/// microseconds. An interval that two bytes cannot hold requires a file of revision 2.1, with a warning; SU
/// has no longer field.
fn interval(job: &Job, (d1, exact): (f64, f64), su: bool) -> Result<(f64, i32)> {
    // This gives 123.7, not 123.69999999999999.
    let exact: f64 = format_g(exact, 12).parse()?;
    ensure!(
        exact > 0.0 && exact.is_finite(),
        "d1={d1}: the interval between samples must be more than 0 (sfput d1= sets another interval; unit1=ms means \
        that d1 is in milliseconds)",
    );
    let whole = exact.round();
    let apart = (whole / exact - 1.0).abs();
    let fits = (1.0..=65535.0).contains(&whole);
    if fits && apart <= 1e-5 {
        return Ok((whole, whole as i32));
    }
    let message = format!("d1={d1} is {exact} microseconds");
    if su {
        ensure!(
            fits && apart < 0.01,
            "{message}, but headers of SU hold whole microseconds from 1 to 65535 (sfsegywrite writes other intervals \
            into a file of revision 2.1; sfput d1= sets another interval; unit1=ms means that d1 is in milliseconds)"
        );
        job.warn(&format!(
            "{message} and becomes {whole}, because headers of SU hold whole microseconds"
        ));
        return Ok((whole, whole as i32));
    }
    let short = if fits && apart < 0.01 { whole } else { 0.0 };
    job.warn(&format!(
        "{message}, but the usual fields hold whole microseconds from 1 to 65535: the file is of revision 2.1, which \
        has a longer field, and older programs read {short} (sfput d1= sets another interval; unit1=ms means that d1 \
        is in milliseconds)"
    ));
    Ok((exact, short as i32))
}
