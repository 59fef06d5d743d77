//! The files of sources, and the origin time in them.

use anyhow::{Context, Result};
use rsf_io::{Header, Job};

use super::ground::SOURCES;
use super::{cmt, read_text, xml};

/// The file of sources: the parameter that names it, its name and its text.
pub(super) fn listed(job: &Job) -> Result<Option<(&'static str, String, String)>> {
    for word in SOURCES {
        if let Some(name) = job.text(word)? {
            let text = read_text(&name).with_context(|| format!("cannot read {word}={name}"))?;
            return Ok(Some((word, name, text)));
        }
    }
    Ok(None)
}

/// The origin time of the first event of cmt= or quakeml=, for the header of the data, and the seconds from
/// it to the time 0 of the data, which is the earliest of all centroid times.
///
/// # Errors
/// Returns an error for a file that cannot be read.
pub fn origin_time(job: &Job) -> Result<Option<OriginTime>> {
    let (time, events) = match listed(job)? {
        Some(("cmt", name, text)) => {
            let time = cmt::origin_time(&text).unwrap_or_else(|error| {
                job.warn(&format!("cmt={name}: {error}. The data have no origin_time"));
                None
            });
            (time, cmt::read(&text)?)
        }
        Some(("quakeml", _, text)) => {
            let catalogue = xml::quakes(&text)?;
            (Some(catalogue.time), catalogue.events)
        }
        _ => (None, Vec::new()),
    };
    Ok(time.map(|origin| OriginTime {
        origin,
        shift: earliest(&events),
    }))
}

/// The origin time of the first event of cmt= or quakeml=, in seconds since the beginning of 1970; `None` if there is
/// no file or no time in it, which [`origin_time`] reports.
///
/// # Errors
/// Returns an error for a file that cannot be read.
pub(super) fn time_of_sources(job: &Job) -> Result<Option<f64>> {
    let time = match listed(job)? {
        Some(("cmt", _, text)) => cmt::origin_time(&text).ok().flatten(),
        Some(("quakeml", _, text)) => xml::quakes(&text).ok().map(|catalogue| catalogue.time),
        _ => None,
    };
    Ok(time.and_then(|time| Some(xml::seconds(&time)?.0)))
}

/// The time 0 of the data of earthquakes.
pub struct OriginTime {
    /// The origin time of the first event, as in `2026-03-04T05:06:07.500000`.
    pub origin: String,
    /// Seconds from it to the earliest centroid time, which is the time 0 of the data.
    pub shift: f64,
}

impl OriginTime {
    /// The origin time in a header, if it has one.
    pub fn of_header(header: &Header) -> Option<Self> {
        let shift = header
            .text("time_shift")
            .and_then(|shift| shift.trim().parse().ok());
        Some(Self {
            origin: header.text("origin_time").filter(|time| !time.is_empty())?,
            shift: shift.unwrap_or(0.0),
        })
    }

    /// The time 0 of the data in seconds since the beginning of 1970; `None` if the origin time cannot be
    /// read.
    pub fn zero(&self) -> Option<f64> {
        Some(xml::seconds(&self.origin)?.0 + self.shift)
    }

    /// The time 0 of the data, for messages.
    pub fn words(&self) -> String {
        match self.shift {
            0.0 => self.origin.clone(),
            shift => format!("{} + {shift} s", self.origin),
        }
    }

    /// The keys of a header and their values as written there.
    pub fn keys(&self) -> [(&'static str, String); 2] {
        [
            ("origin_time", format!("\"{}\"", self.origin)),
            ("time_shift", self.shift.to_string()),
        ]
    }
}

/// The earliest centroid time, in seconds after the origin time of the file.
pub(super) fn earliest(events: &[cmt::Event]) -> f64 {
    let shifts = events.iter().map(|event| event.shift);
    shifts.fold(f64::INFINITY, f64::min)
}
