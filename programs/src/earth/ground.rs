//! Positions of sources and stations in a mesh: on a globe, or in a box with local coordinates.

use anyhow::{Context, Result, bail};
use kernels::earth::Frame;
use kernels::earth::globe::geocentric;
use rsf_io::Job;
use std::collections::HashSet;

use super::cmt::{Mechanism, SourceTime};
use super::origin::{self, earliest, listed};
use super::{Projection, cmt, epochs, force, read_text, stations, xml};

/// The parameters that name files of sources.
pub const SOURCES: [&str; 3] = ["cmt", "force", "quakeml"];

/// The meaning of latitude, longitude and depth.
#[derive(Clone, Copy, Debug)]
pub enum Ground {
    /// Degrees on a globe of this radius, in geocentric axes.
    Globe {
        /// Radius of the surface, m.
        radius: f64,
        /// True if latitudes in files are geographic.
        geographic: bool,
    },
    /// y and x of a mesh with x to the east, y to the north and z downwards from the surface; with utm= or
    /// epsg=, degrees that the projection converts to metres.
    Box,
}

/// A function that gives z of the top of a mesh (m) at positions x, y; `None` outside the mesh.
type Tops<'a> = dyn Fn(&[[f64; 2]]) -> Vec<Option<f64>> + 'a;

/// The top and the extent of a mesh in a box.
pub struct Terrain<'a> {
    /// Its name in messages.
    pub what: &'a str,
    /// Gives z of the top of the mesh (m) at positions x, y; `None` outside the mesh.
    pub tops: &'a Tops<'a>,
    /// The lowest and the highest x, and y, of the mesh, m.
    pub reach: [[f64; 2]; 2],
}

/// A position in a file.
struct Place {
    /// Its name in messages.
    what: String,
    /// Degrees, or y of a box.
    latitude: f64,
    /// Degrees, or x of a box.
    longitude: f64,
    /// Depth below the ground, m.
    depth: f64,
}

/// The mechanism of a source in the axes of the mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TurnedMechanism {
    /// Moment tensor, N m.
    Moment([[f64; 3]; 3]),
    /// Force, N.
    Force([f64; 3]),
}

/// The sources of an earthquake file or a file of forces.
pub struct Quakes {
    /// Positions x, y, z, m.
    pub points: Vec<[f64; 3]>,
    /// Moment tensors or forces, rotated to the axes of the mesh.
    pub mechanisms: Vec<TurnedMechanism>,
    /// Centroid times, s after the earliest.
    pub shifts: Vec<f64>,
    /// Source time functions.
    pub source_times: Vec<SourceTime>,
    /// Names in messages.
    pub names: Vec<String>,
    /// Files of their time functions.
    pub histories: Vec<Option<String>>,
}

/// The receivers of a list of stations.
pub struct Sites {
    /// Positions x, y, z, m.
    pub points: Vec<[f64; 3]>,
    /// Directions up, north and east at each.
    pub frames: Vec<Frame>,
    /// Names in messages.
    pub names: Vec<String>,
    /// Network and name, as in `II.OBN`.
    pub codes: Vec<String>,
}

/// A function that takes the name and position of a point and returns its new position, or `None` to drop it.
type Settled<'a> = dyn FnMut(&str, [f64; 3]) -> Result<Option<[f64; 3]>> + 'a;

/// Keeps the entries of `list` for which `stays` is true.
fn only<T>(list: &mut Vec<T>, stays: &[bool]) {
    let mut stays = stays.iter();
    list.retain(|_| stays.next() == Some(&true));
}

/// Moves points, which messages call `what`, and returns which of them remain.
///
/// # Errors
/// Returns the errors of `settle`, and an error if no point is left.
fn settled(
    what: &str,
    (points, names): (&mut [[f64; 3]], &[String]),
    settle: &mut Settled,
) -> Result<Vec<bool>> {
    let each = points.iter_mut().zip(names).map(|(point, name)| {
        let place = settle(name, *point)?;
        *point = place.unwrap_or(*point);
        Ok(place.is_some())
    });
    let stays: Vec<bool> = each.collect::<Result<_>>()?;
    if !stays.contains(&true) {
        bail!("{}: all {what} are outside the mesh", names[0]);
    }
    Ok(stays)
}

impl Quakes {
    /// Moves sources with `settle`, which may drop some of them, but not all.
    ///
    /// # Errors
    /// Returns the errors of `settle`, and an error if no source is left.
    pub fn settle(
        &mut self,
        mut settle: impl FnMut(&str, [f64; 3]) -> Result<Option<[f64; 3]>>,
    ) -> Result<()> {
        let stays = settled("sources", (&mut self.points, &self.names), &mut settle)?;
        only(&mut self.points, &stays);
        only(&mut self.mechanisms, &stays);
        only(&mut self.shifts, &stays);
        only(&mut self.source_times, &stays);
        only(&mut self.names, &stays);
        only(&mut self.histories, &stays);
        Ok(())
    }
}

impl Sites {
    /// Moves stations with `settle`, which may drop some of them, but not all.
    ///
    /// # Errors
    /// Returns the errors of `settle`, and an error if no station is left.
    pub fn settle(
        &mut self,
        mut settle: impl FnMut(&str, [f64; 3]) -> Result<Option<[f64; 3]>>,
    ) -> Result<()> {
        let stays = settled("stations", (&mut self.points, &self.names), &mut settle)?;
        only(&mut self.points, &stays);
        only(&mut self.frames, &stays);
        only(&mut self.names, &stays);
        only(&mut self.codes, &stays);
        Ok(())
    }
}

/// Axes of a box whose z axis points downwards.
const LOCAL: Frame = Frame {
    up: [0.0, 0.0, -1.0],
    north: [0.0, 1.0, 0.0],
    east: [1.0, 0.0, 0.0],
};

impl Ground {
    /// The ground of a mesh: a globe if radius= or the mesh's header (`radius`) gives a radius, where radius=
    /// takes precedence; otherwise a box.
    ///
    /// # Errors
    /// Returns an error for a radius that is not positive.
    pub fn of(job: &Job, radius: Option<f64>) -> Result<Self> {
        let Some(radius) = job.double_opt("radius")?.or(radius) else {
            return Ok(Self::Box);
        };
        if !(radius > 0.0 && radius.is_finite()) {
            bail!("radius={radius}: the radius of a globe's surface must be a positive number in m");
        }
        Ok(Self::Globe {
            radius,
            geographic: job.choice("latitude")? == "geographic",
        })
    }

    /// The points and their axes. In a box, depths are measured from the top of the mesh above the point or,
    /// with depth=z, from z = 0.
    fn place(self, job: &Job, places: &[Place], terrain: &Terrain) -> Result<Vec<([f64; 3], Frame)>> {
        let Self::Globe { radius, geographic } = self else {
            let over = match Projection::of(job)? {
                None => places.iter().map(|p| Ok([p.longitude, p.latitude])).collect(),
                Some(map) => places
                    .iter()
                    .map(|p| map.place(&p.what, [p.latitude, p.longitude]))
                    .collect::<Result<Vec<_>>>(),
            };
            return in_box(places, over?, terrain, job.choice("depth")? == "ground");
        };
        if let Some(word) = ["utm", "epsg"].into_iter().find(|word| job.given(word)) {
            bail!(
                "{word}= is for meshes in metres of a map projection, but this mesh is of the Earth: leave \
                it out"
            );
        }
        if job.given("depth") {
            job.warn("depth= has no effect on a globe: depths are measured from its surface");
        }
        let place = |place: &Place| {
            let Place {
                what,
                latitude,
                longitude,
                depth,
            } = place;
            if latitude.abs() > 90.0 || longitude.abs() > 360.0 || *depth >= radius {
                bail!(
                    "{what} is at latitude {latitude}, longitude {longitude} and a depth of {depth} m: on a globe of {} km latitudes are from -90 to 90 degrees, longitudes from -360 to 360, and depths less than the radius",
                    radius / 1e3
                );
            }
            let latitude = if geographic {
                geocentric(*latitude)
            } else {
                *latitude
            };
            let frame = Frame::at(latitude, *longitude);
            Ok((frame.up.map(|c| c * (radius - depth)), frame))
        };
        places.iter().map(place).collect()
    }

    /// The sources of cmt=, force= or quakeml=, if one is given.
    ///
    /// # Errors
    /// Returns an error for a file that cannot be read, or an event outside the globe or box.
    pub fn quakes(self, job: &Job, terrain: &Terrain) -> Result<Option<Quakes>> {
        let Some((word, name, text)) = listed(job)? else {
            return Ok(None);
        };
        let events = match word {
            "cmt" => cmt::read(&text),
            "force" => force::read(&text),
            _ => xml::quakes(&text).map(|catalogue| catalogue.events),
        };
        let events = events.with_context(|| format!("{word}={name}"))?;
        if word == "quakeml" {
            self.wants_a_map(job, &format!("quakeml={name}"))?;
            let shallow = |event: &&cmt::Event| event.depth > 0.0 && event.depth < SHALLOW;
            if let Some(event) = events.iter().find(shallow) {
                job.warn(&format!(
                    "quakeml={name} has an earthquake at a depth of {} m, because depths in QuakeML are in \
                    metres: if this depth is in km, write {}",
                    event.depth,
                    event.depth * 1e3
                ));
            }
        }
        let first = earliest(&events);
        let mut places = Vec::new();
        for (k, event) in events.iter().enumerate() {
            let what = format!("{word}={name}: source {}", k + 1);
            if event.is_local && matches!(self, Self::Globe { .. }) {
                bail!(
                    "{what} has latorUTM: and longorUTM:, metres in a box, but the mesh is one of the Earth: give latitude: and longitude: in degrees"
                );
            }
            places.push(Place {
                what,
                latitude: event.latitude,
                longitude: event.longitude,
                depth: event.depth,
            });
        }
        let placed = self.place(job, &places, terrain)?;
        if word == "cmt"
            && let Some(words) = cmt::other_size(&text, &events)
        {
            job.warn(&format!("cmt={name}: {words}"));
        }
        if word != "quakeml" {
            self.warn_of_degrees(job, &places);
        }
        let turned = |frame: &Frame, mechanism: Mechanism| match mechanism {
            Mechanism::Moment(tensor) => TurnedMechanism::Moment(frame.tensor(tensor)),
            Mechanism::Force([east, north, up]) => TurnedMechanism::Force(std::array::from_fn(|c| {
                east * frame.east[c] + north * frame.north[c] + up * frame.up[c]
            })),
        };
        let both = placed.iter().zip(&events);
        Ok(Some(Quakes {
            mechanisms: both
                .map(|((_, frame), event)| turned(frame, event.mechanism))
                .collect(),
            points: placed.iter().map(|(point, _)| *point).collect(),
            names: places.into_iter().map(|place| place.what).collect(),
            shifts: events.iter().map(|event| event.shift - first).collect(),
            source_times: events.iter().map(|event| event.source_time).collect(),
            histories: events.into_iter().map(|event| event.history).collect(),
        }))
    }

    /// Refuses degrees, which XML files have, in a box without a projection.
    fn wants_a_map(self, job: &Job, what: &str) -> Result<()> {
        if matches!(self, Self::Box) && !job.given("utm") && !job.given("epsg") {
            bail!(
                "{what} has latitudes and longitudes: give the projection of the model by utm= (as utm=33) or epsg="
            );
        }
        Ok(())
    }

    /// Warns of positions in a box without a projection that look like degrees, because they are taken as
    /// metres.
    fn warn_of_degrees(self, job: &Job, places: &[Place]) {
        if !matches!(self, Self::Box) || job.given("utm") || job.given("epsg") {
            return;
        }
        // Coordinates in metres are usually whole numbers, and few boxes are that small.
        let odd = |x: f64| x.fract() != 0.0;
        let mut like_degrees = places.iter().filter(|place| {
            place.latitude.abs() <= 90.0
                && place.longitude.abs() <= 180.0
                && (odd(place.latitude) || odd(place.longitude))
        });
        if let Some(place) = like_degrees.next() {
            job.warn(&format!(
                "{} has latitude {} and longitude {}, which are taken as y and x in metres: if they are degrees, give the projection of the model by utm= (as utm=33) or epsg=",
                place.what, place.latitude, place.longitude
            ));
        }
    }

    /// The receivers of stations=, if it is given.
    ///
    /// # Errors
    /// Returns an error for a file that cannot be read, or a station outside the globe or box.
    pub fn sites(self, job: &Job, terrain: &Terrain) -> Result<Option<Sites>> {
        let Some(name) = job.text("stations")? else {
            return Ok(None);
        };
        let text = read_text(&name).with_context(|| format!("cannot read stations={name}"))?;
        let what = format!("stations={name}");
        let stations = if xml::is_xml(&text) {
            let when = origin::time_of_sources(job)?;
            let selection = epochs::stations(&text, when).with_context(|| what.clone())?;
            self.wants_a_map(job, &what)?;
            selection.warn(job, &what, when.is_some());
            selection.stations
        } else {
            stations::read(&text).with_context(|| what.clone())?
        };
        // The ground of a globe is its surface, without mountains. Elevations matter for depths that are
        // measured from z = 0, not for those from the ground.
        let heights = matches!(self, Self::Box) && job.choice("depth")? == "z";
        let place = |station: &stations::Station| Place {
            what: format!("stations={name}: {}", station.name),
            latitude: station.latitude,
            longitude: station.longitude,
            depth: station.burial - if heights { station.elevation } else { 0.0 },
        };
        let places: Vec<Place> = stations.iter().map(place).collect();
        let (points, frames) = self.place(job, &places, terrain)?.into_iter().unzip();
        self.warn_of_degrees(job, &places);
        let mut seen = HashSet::new();
        if let Some(twice) = stations.iter().find(|station| !seen.insert(&station.name)) {
            job.warn(&format!(
                "stations={name} has {} more than once: the traces of both would have this name, so remove \
                one or rename it",
                twice.name
            ));
        }
        Ok(Some(Sites {
            points,
            frames,
            names: places.into_iter().map(|place| place.what).collect(),
            codes: stations.into_iter().map(|station| station.name).collect(),
        }))
    }
}

/// Points of a box at x and y, whose depths are measured from its top or from z = 0.
fn in_box(
    places: &[Place],
    over: Vec<[f64; 2]>,
    terrain: &Terrain,
    from_top: bool,
) -> Result<Vec<([f64; 3], Frame)>> {
    let tops = match from_top {
        true => (terrain.tops)(&over),
        false => vec![Some(0.0); places.len()],
    };
    let placed = places.iter().zip(over).zip(tops).map(|((place, [x, y]), top)| {
        let Some(top) = top else {
            // Coordinates are rounded to centimetres, because projections give fifteen digits.
            let short = |x: f64| (x * 100.0).round() / 100.0;
            let [[x0, x1], [y0, y1]] = terrain.reach.map(|ends| ends.map(short));
            let [x, y] = [x, y].map(short);
            bail!(
                "{} is at x={x}, y={y}: the {} has no ground there; it extends from {x0} to {x1} along x and \
                from {y0} to {y1} along y. Positions are x and y in metres, or degrees with utm= or epsg=; \
                with depth=z, depths are measured from z=0",
                place.what,
                terrain.what
            );
        };
        Ok(([x, y, top + place.depth], LOCAL))
    });
    placed.collect()
}

/// Refuses two parameters that both give the sources, or the receivers.
///
/// # Errors
/// Returns an error if two of cmt=, force=, quakeml= and sou= are given, or both stations= and rec=.
pub fn refuse_pairs(job: &Job) -> Result<()> {
    let sources = SOURCES.into_iter().chain(["sou"]);
    for words in [sources.collect(), vec!["stations", "rec"]] {
        let given: Vec<&str> = words.into_iter().filter(|word| job.given(word)).collect();
        if let [word, other, ..] = given[..] {
            bail!("{word}= and {other}= are given together; give one of them");
        }
    }
    Ok(())
}

/// Depths below this number are more likely in km than in m: the deepest earthquakes lie at about 700 km.
const SHALLOW: f64 = 700.0;
