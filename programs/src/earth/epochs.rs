//! Stations in StationXML, with the epochs during which they were at their positions.

use anyhow::{Result, bail};
use roxmltree::Node;
use rsf_io::Job;

use super::stations::Station;
use super::xml::{children, is, number, parsed, seconds, text};

/// The stations of a file.
#[derive(Debug)]
pub struct StationSelection {
    /// One entry for every location code of a station, in the order of the file.
    pub stations: Vec<Station>,
    /// Names of stations that had several positions, among which only the time of the source can decide.
    moved: Vec<String>,
    /// Names of stations without an epoch at the requested time.
    outside: Vec<String>,
}

impl StationSelection {
    /// Warns of stations whose position is not certain; `what` names the file, and `timed` is true if the
    /// sources have a time.
    pub fn warn(&self, job: &Job, what: &str, timed: bool) {
        let subject = |names: &[String]| match names {
            [one] => format!("{what}: {one}"),
            [first, ..] => format!("{what}: {} stations, {first} the first of them,", names.len()),
            [] => String::new(),
        };
        if !timed && !self.moved.is_empty() {
            job.warn(&format!(
                "{} had different positions in several epochs, and there is no time of a source (cmt=, \
                quakeml=) to choose one: the latest epoch is taken",
                subject(&self.moved)
            ));
        }
        if !self.outside.is_empty() {
            job.warn(&format!(
                "{} had no epoch at the time of the source: the latest epoch is taken",
                subject(&self.outside)
            ));
        }
    }
}

/// A station at one position, with the beginning and the end of the epoch in seconds since 1970.
struct Stay {
    station: Station,
    epoch: [f64; 2],
}

impl Stay {
    /// Whether the epoch contains a time.
    fn holds(&self, when: Option<f64>) -> bool {
        when.is_some_and(|when| (self.epoch[0]..=self.epoch[1]).contains(&when))
    }

    /// Whether this stay is preferred to `other`: a stay that contains the time precedes one that does not; otherwise
    /// the stay that ends later precedes, then the one that begins later.
    fn before(&self, other: &Self, when: Option<f64>) -> bool {
        let rank = |stay: &Self| (stay.holds(when), stay.epoch[1], stay.epoch[0]);
        rank(self) > rank(other)
    }
}

/// Reads the stations of a StationXML file: one for every location code among a station's channels, with the position
/// and depth of the first channel with that code in the epoch that contains the time `when` (seconds since 1970), or
/// otherwise in the latest epoch. A station without channels counts as one receiver on the ground.
///
/// # Errors
/// Returns an error for text that is not StationXML, or a station without a position.
pub fn stations(text_of_file: &str, when: Option<f64>) -> Result<StationSelection> {
    let document = parsed(text_of_file)?;
    // The stays of each name. There is one list for every element of a station, because two elements whose
    // epochs overlap may be two stations with the same name, which the caller reports.
    let mut all: Vec<(String, Vec<Vec<Stay>>)> = Vec::new();
    for network in document.descendants().filter(|n| is(n, "Network")) {
        let of = network.attribute("code").unwrap_or_default();
        for station in children(network, "Station") {
            let mut own: Vec<(String, Vec<Stay>)> = Vec::new();
            for stay in stays(of, station)? {
                let name = &stay.station.name;
                match own.iter_mut().find(|(known, _)| known == name) {
                    Some((_, list)) => list.push(stay),
                    None => own.push((name.clone(), vec![stay])),
                }
            }
            for (name, list) in own {
                match all.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, lists)) => lists.push(list),
                    None => all.push((name, vec![list])),
                }
            }
        }
    }
    if all.is_empty() {
        bail!("it has no <Network> with a <Station>: give a StationXML file with stations");
    }
    let mut selection = StationSelection {
        stations: Vec::new(),
        moved: Vec::new(),
        outside: Vec::new(),
    };
    for (name, lists) in all {
        if has_moved(&lists) {
            selection.moved.push(name.clone());
        }
        let chosen: Vec<Stay> = lists.into_iter().filter_map(|list| best(list, when)).collect();
        let Some(latest) = chosen.iter().reduce(|a, b| if b.before(a, when) { b } else { a }) else {
            continue;
        };
        if when.is_some() && !latest.holds(when) {
            selection.outside.push(name);
        }
        let (held, end) = (latest.holds(when), latest.epoch[1]);
        let kept = chosen
            .into_iter()
            .filter(|stay| stay.holds(when) == held && (held || stay.epoch[1] == end));
        selection.stations.extend(kept.map(|stay| stay.station));
    }
    Ok(selection)
}

/// Whether the position in a later epoch differs from the position in an earlier epoch.
fn has_moved(lists: &[Vec<Stay>]) -> bool {
    let all = || lists.iter().flatten();
    all().any(|a| all().any(|b| a.epoch[1] <= b.epoch[0] && a.station != b.station))
}

/// The stay that is used: the first of several that are equally good.
fn best(list: Vec<Stay>, when: Option<f64>) -> Option<Stay> {
    list.into_iter()
        .reduce(|a, b| if b.before(&a, when) { b } else { a })
}

/// The stays of a station element: the stays of its channels or, without channels, its own.
fn stays(network: &str, station: Node) -> Result<Vec<Stay>> {
    let code = format!("{network}.{}", station.attribute("code").unwrap_or_default());
    let mut channels: Vec<Node> = children(station, "Channel").collect();
    if channels.is_empty() {
        channels.push(station);
    }
    let own = epoch(station);
    let stay = |place: Node| -> Result<Stay> {
        let value = |name: &'static str| {
            // A channel without a position has the position of its station.
            let of = if text(place, &[name]).is_some() {
                place
            } else {
                station
            };
            number(of, &[name], &format!("station {code}"))
        };
        let location = place.attribute("locationCode").unwrap_or_default().trim();
        let [begin, end] = epoch(place);
        Ok(Stay {
            station: Station {
                latitude: value("Latitude")?,
                longitude: value("Longitude")?,
                elevation: value("Elevation")?,
                burial: text(place, &["Depth"]).map_or(Ok(0.0), |_| value("Depth"))?,
                name: match location.is_empty() {
                    true => code.clone(),
                    false => format!("{code}.{location}"),
                },
            },
            epoch: [begin.max(own[0]), end.min(own[1])],
        })
    };
    channels.into_iter().map(stay).collect()
}

/// The beginning and the end of the epoch of an element; infinite if the element does not give them.
fn epoch(node: Node) -> [f64; 2] {
    let time = |key: &str| {
        let word = node.attribute(key)?.trim();
        Some(seconds(word.strip_suffix("+00:00").unwrap_or(word))?.0)
    };
    [
        time("startDate").unwrap_or(f64::NEG_INFINITY),
        time("endDate").unwrap_or(f64::INFINITY),
    ]
}

#[cfg(test)]
mod tests {
    use super::{seconds, stations};

    /// A channel at a latitude, with its epoch as attributes.
    fn channel(latitude: f64, epoch: &str) -> String {
        format!(
            "<Channel code=\"HHZ\" locationCode=\"\" {epoch}><Latitude>{latitude}</Latitude><Longitude>13</Longitude>\
<Elevation>500</Elevation><Depth>0</Depth></Channel>"
        )
    }

    fn station(channels: &str, epoch: &str) -> String {
        format!(
            "<Station code=\"A\" {epoch}><Latitude>1</Latitude><Longitude>13</Longitude><Elevation>0</Elevation>{channels}</Station>"
        )
    }

    const OLD: &str = "startDate=\"2010-01-01T00:00:00\" endDate=\"2015-01-01T00:00:00.0000Z\"";
    const NEW: &str = "startDate=\"2015-01-01T00:00:00+00:00\"";

    #[track_caller]
    fn latitudes(stations_of: &str, time: &str) -> (Vec<f64>, usize, usize) {
        let when = seconds(time).map(|(seconds, _)| seconds);
        let text = format!("<FDSNStationXML><Network code=\"XX\">{stations_of}</Network></FDSNStationXML>");
        let selection = stations(&text, when).expect("StationXML");
        assert!(selection.stations.iter().all(|station| station.name == "XX.A"));
        let places = selection
            .stations
            .iter()
            .map(|station| station.latitude)
            .collect();
        (places, selection.moved.len(), selection.outside.len())
    }

    #[test]
    fn the_epoch_of_the_time_counts_and_without_a_time_the_latest() {
        let within = station(&(channel(42.70, OLD) + &channel(42.71, NEW)), "");
        let turned = station(&(channel(42.71, NEW) + &channel(42.70, OLD)), "");
        let apart = station(&channel(42.70, ""), OLD) + &station(&channel(42.71, ""), NEW);
        for text in [&within, &turned, &apart] {
            assert_eq!(
                latitudes(text, "2012-03-04T05:06:07Z"),
                (vec![42.70], 1, 0),
                "{text}"
            );
            assert_eq!(
                latitudes(text, "2026-03-04T05:06:07Z"),
                (vec![42.71], 1, 0),
                "{text}"
            );
            assert_eq!(
                latitudes(text, "2001-03-04T05:06:07Z"),
                (vec![42.71], 1, 1),
                "{text}"
            );
            assert_eq!(latitudes(text, ""), (vec![42.71], 1, 0), "{text}");
        }
    }

    #[test]
    fn channels_that_share_a_place_or_a_time_are_no_move() {
        let same = station(&(channel(42.70, OLD) + &channel(42.70, NEW)), "");
        let together = station(&(channel(42.70, NEW) + &channel(42.71, NEW)), "");
        for text in [&same, &together] {
            assert_eq!(latitudes(text, ""), (vec![42.70], 0, 0));
        }
        // Two stations with the same name at the same time are reported by the caller.
        let twice = station(&channel(42.70, NEW), "") + &station(&channel(42.71, NEW), "");
        assert_eq!(
            latitudes(&twice, "2026-03-04T05:06:07Z"),
            (vec![42.70, 42.71], 0, 0)
        );
    }
}
