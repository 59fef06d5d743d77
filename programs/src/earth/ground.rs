//! Where a mesh has latitudes and depths: on a globe, or in a box with local coordinates.

use std::fs;

use anyhow::{Context, Result, bail};
use kernels::earth::Frame;
use kernels::earth::globe::geocentric;
use rsf_io::Job;

use super::{cmt, stations};

/// What latitude, longitude and depth mean.
#[derive(Clone, Copy, Debug)]
pub enum Ground {
    /// Degrees on a globe of a radius (m), in geocentric axes.
    Globe {
        /// Of the surface, m.
        radius: f64,
        /// True where latitudes of files are geographic ones.
        geographic: bool,
    },
    /// y and x of a mesh whose z axis points downwards from the surface; x to the east, y to the north.
    Box,
}

/// What a list of earthquakes makes of the sources.
pub struct Quakes {
    /// x, y, z, m.
    pub points: Vec<[f64; 3]>,
    /// Moment tensors in the axes of the mesh, N m.
    pub tensors: Vec<[[f64; 3]; 3]>,
    /// When each is half done, s behind the first.
    pub shifts: Vec<f64>,
    /// Half durations, s.
    pub half_durations: Vec<f64>,
}

/// What a list of stations makes of the receivers.
pub struct Sites {
    /// x, y, z, m.
    pub points: Vec<[f64; 3]>,
    /// Up, north and east of each.
    pub frames: Vec<Frame>,
}

/// Axes of a box whose z axis points downwards.
const LOCAL: Frame = Frame {
    up: [0.0, 0.0, -1.0],
    north: [0.0, 1.0, 0.0],
    east: [1.0, 0.0, 0.0],
};

impl Ground {
    /// That of a mesh whose header has a `radius` or has none; radius= of the command line goes before it.
    ///
    /// # Errors
    /// A radius that is none.
    pub fn of(job: &Job, radius: Option<f64>) -> Result<Self> {
        let Some(radius) = job.double_opt("radius")?.or(radius) else {
            return Ok(Self::Box);
        };
        if !(radius > 0.0 && radius.is_finite()) {
            bail!("radius={radius}: the surface of a globe has a positive radius in m");
        }
        Ok(Self::Globe {
            radius,
            geographic: job.choice("latitude")? == "geographic",
        })
    }

    /// The place and its axes at a depth (m); `what` is for the sentence.
    fn place(self, what: &str, latitude: f64, longitude: f64, depth: f64) -> Result<([f64; 3], Frame)> {
        match self {
            Self::Box => Ok(([longitude, latitude, depth], LOCAL)),
            Self::Globe { radius, geographic } => {
                if latitude.abs() > 90.0 || longitude.abs() > 360.0 || depth >= radius {
                    bail!(
                        "{what} is at latitude {latitude}, longitude {longitude} and a depth of {depth} m: on a globe of {} km latitudes are from -90 to 90 degrees",
                        radius / 1e3
                    );
                }
                let latitude = if geographic {
                    geocentric(latitude)
                } else {
                    latitude
                };
                let frame = Frame::at(latitude, longitude);
                Ok((frame.up.map(|c| c * (radius - depth)), frame))
            }
        }
    }

    /// The sources of cmt=, if it is given.
    ///
    /// # Errors
    /// A file that cannot be read, or an event that is nowhere.
    pub fn quakes(self, job: &Job) -> Result<Option<Quakes>> {
        let Some(name) = job.text("cmt")? else {
            return Ok(None);
        };
        let text = fs::read_to_string(&name).with_context(|| format!("cannot read cmt={name}"))?;
        let events = cmt::read(&text).with_context(|| format!("cmt={name}"))?;
        let first = events
            .iter()
            .map(|event| event.shift)
            .fold(f64::INFINITY, f64::min);
        let mut quakes = Quakes {
            points: Vec::new(),
            tensors: Vec::new(),
            shifts: events.iter().map(|event| event.shift - first).collect(),
            half_durations: events.iter().map(|event| event.half_duration).collect(),
        };
        for (k, event) in events.iter().enumerate() {
            let what = format!("cmt={name}: source {}", k + 1);
            let (point, frame) = self.place(&what, event.latitude, event.longitude, event.depth)?;
            quakes.points.push(point);
            quakes.tensors.push(frame.tensor(event.tensor));
        }
        Ok(Some(quakes))
    }

    /// The receivers of stations=, if it is given.
    ///
    /// # Errors
    /// A file that cannot be read, or a station that is nowhere.
    pub fn sites(self, job: &Job) -> Result<Option<Sites>> {
        let Some(name) = job.text("stations")? else {
            return Ok(None);
        };
        let text = fs::read_to_string(&name).with_context(|| format!("cannot read stations={name}"))?;
        let stations = stations::read(&text).with_context(|| format!("stations={name}"))?;
        let mut sites = Sites {
            points: Vec::new(),
            frames: Vec::new(),
        };
        for station in stations {
            // A globe has no mountains: its ground is its surface. In a box heights are heights.
            let depth = match self {
                Self::Globe { .. } => station.burial,
                Self::Box => station.burial - station.elevation,
            };
            let what = format!("stations={name}: {}", station.name);
            let (point, frame) = self.place(&what, station.latitude, station.longitude, depth)?;
            sites.points.push(point);
            sites.frames.push(frame);
        }
        Ok(Some(sites))
    }
}

/// What the header of the data tells of the files: the names of stations=, and of cmt= the origin time of the first line with the
/// seconds that the first source lies behind it, where time is 0.
///
/// # Errors
/// A file that cannot be read.
pub fn names(job: &Job) -> Result<Vec<(&'static str, String)>> {
    let text = |key: &str| -> Result<Option<String>> {
        let Some(name) = job.text(key)? else {
            return Ok(None);
        };
        let text = fs::read_to_string(&name).with_context(|| format!("cannot read {key}={name}"))?;
        Ok(Some(text))
    };
    let mut found = Vec::new();
    if let Some(text) = text("stations")? {
        let names: Vec<String> = stations::read(&text)?
            .into_iter()
            .map(|station| station.name)
            .collect();
        found.push(("stations", names.join(",")));
    }
    if let Some(text) = text("cmt")?
        && let Some(time) = cmt::origin_time(&text)
    {
        found.push(("origin_time", time));
        found.push(("time_shift", cmt::read(&text)?[0].shift.to_string()));
    }
    Ok(found)
}
