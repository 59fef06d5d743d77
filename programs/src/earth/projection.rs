//! Converts latitude and longitude to metres of a map projection, for meshes with such coordinates.

use anyhow::{Context, Result, bail};
use proj4rs::Proj;
use proj4rs::transform::transform;
use rsf_io::Job;

/// Converts degrees of WGS84 to x (east) and y (north) of a map.
pub struct Projection {
    /// The parameter that sets it, for messages.
    name: String,
    degrees: Proj,
    map: Proj,
}

impl Projection {
    /// The projection of utm= or epsg=, if one is given.
    ///
    /// # Errors
    /// Returns an error for an unknown zone or code, or a map that is not in metres.
    pub fn of(job: &Job) -> Result<Option<Self>> {
        let (name, map) = match (
            job.text("utm")?,
            job.given("epsg").then(|| job.int("epsg")).transpose()?,
        ) {
            (None, None) => return Ok(None),
            (Some(_), Some(_)) => {
                bail!("utm= and epsg= both name a projection: leave out one of them")
            }
            (Some(zone), None) => (format!("utm={zone}"), utm(&zone)?),
            (None, Some(code)) => (format!("epsg={code}"), epsg(code)?),
        };
        if map.is_latlong() || map.is_geocent() {
            bail!(
                "{name} is not a map projection: its coordinates are degrees or geocentric. Give the code of \
                a projection in metres"
            );
        }
        if (map.to_meter() - 1.0).abs() > 1e-12 {
            bail!(
                "{name} has units of {} m, but meshes are in metres: give the code of a projection in metres",
                map.to_meter()
            );
        }
        let degrees = Proj::from_proj_string("+proj=longlat +datum=WGS84 +no_defs")
            .context("cannot define the geographic coordinates of WGS84")?;
        Ok(Some(Self { name, degrees, map }))
    }

    /// x and y of a place in metres; `what` names the place in messages.
    ///
    /// # Errors
    /// Returns an error for a place that the map does not cover.
    pub fn place(&self, what: &str, [latitude, longitude]: [f64; 2]) -> Result<[f64; 2]> {
        if latitude.abs() > 90.0 || longitude.abs() > 360.0 {
            bail!(
                "{what} is at latitude {latitude} and longitude {longitude}: {} takes degrees; leave it out \
                if the coordinates in the file are in metres",
                self.name
            );
        }
        let mut point = (longitude.to_radians(), latitude.to_radians(), 0.0);
        let outcome = transform(&self.degrees, &self.map, &mut point);
        match (outcome, [point.0, point.1]) {
            (Ok(()), [x, y]) if x.is_finite() && y.is_finite() => Ok([x, y]),
            _ => bail!(
                "{what} is at latitude {latitude} and longitude {longitude}, which {} does not cover: check \
                the zone or code",
                self.name
            ),
        }
    }
}

/// A zone of the universal transverse Mercator projection of WGS84: 11 or 11N in the north, 11S or -11 in the south.
fn utm(text: &str) -> Result<Proj> {
    let upper = text.trim().to_uppercase();
    let (number, is_south) = match (upper.strip_suffix('S'), upper.strip_prefix('-')) {
        (Some(number), _) | (None, Some(number)) => (number, true),
        _ => (upper.strip_suffix('N').unwrap_or(&upper), false),
    };
    let zone = number.parse().ok().filter(|zone| (1..=60).contains(zone));
    let Some(zone): Option<u8> = zone else {
        bail!(
            "utm={text}: zones are 1 to 60, as in utm=11 for the north and utm=11S (or utm=-11) for the south"
        );
    };
    let south = if is_south { " +south" } else { "" };
    Proj::from_proj_string(&format!(
        "+proj=utm +zone={zone}{south} +datum=WGS84 +units=m +no_defs"
    ))
    .with_context(|| format!("utm={text}"))
}

/// A map projection by its EPSG code.
fn epsg(code: i64) -> Result<Proj> {
    let known = u16::try_from(code)
        .ok()
        .and_then(|code| Proj::from_epsg_code(code).ok());
    known.with_context(|| {
        format!(
            "epsg={code} is not a code of a projection that this program knows; look it up in the EPSG \
            registry, or give the UTM zone by utm= (epsg=32611 is utm=11)"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn projection(map: Result<Proj>) -> Projection {
        Projection {
            name: "it".into(),
            degrees: Proj::from_proj_string("+proj=longlat +datum=WGS84 +no_defs").unwrap(),
            map: map.unwrap(),
        }
    }

    /// Along the central meridian the easting is 500 km and the northing 0.9996 times the arc of the meridian, whose quarter is
    /// 10001965.729 m for WGS84; the arc to 45 degrees is 4984944.378 m.
    #[test]
    fn zones_have_the_arc_of_the_meridian() {
        for (zone, latitude, northing) in [
            ("11", 45.0, 0.9996 * 4_984_944.378),
            ("11N", 0.0, 0.0),
            ("11S", -45.0, 1e7 - 0.9996 * 4_984_944.378),
            ("-11", -45.0, 1e7 - 0.9996 * 4_984_944.378),
        ] {
            let [x, y] = projection(utm(zone)).place("S", [latitude, -117.0]).unwrap();
            assert!(
                (x - 5e5).abs() < 1e-3 && (y - northing).abs() < 2e-3,
                "{zone}: {x} {y}"
            );
        }
    }

    #[test]
    fn codes_of_zones_are_the_zones() {
        for (code, zone) in [(32611, "11"), (32733, "33S")] {
            let place = [
                if code == 32611 { 34.05 } else { -33.9 },
                if code == 32611 { -118.25 } else { 18.4 },
            ];
            let by = |map| projection(map).place("S", place).unwrap();
            let (a, b) = (by(epsg(code)), by(utm(zone)));
            assert!((a[0] - b[0]).hypot(a[1] - b[1]) < 1e-3, "{code}: {a:?} {b:?}");
        }
    }

    #[test]
    fn what_is_no_map_gets_a_sentence() {
        let error = |map: Result<Proj>| format!("{:#}", map.err().unwrap());
        assert!(error(utm("61")).contains("zones are 1 to 60"));
        assert!(error(utm("north")).contains("zones are 1 to 60"));
        assert!(error(epsg(1)).contains("epsg=1 is not a code"));
        assert!(error(epsg(999_999)).contains("epsg=999999 is not a code"));
        let far = projection(utm("11")).place("station XX.A", [4.1e6, 5e5]);
        assert!(format!("{:#}", far.unwrap_err()).contains("takes degrees"));
    }
}
