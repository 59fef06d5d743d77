//! Earthquakes in QuakeML, and functions for all XML files of data centres (`epochs.rs` reads StationXML).

use anyhow::{Context, Result, bail};
use roxmltree::{Document, Node};

use super::cmt::{Event, Mechanism, SourceTime, scalar_moment};

/// Days from the first of March of the year 0, counted from 1, to the beginning of 1970.
const TO_1970: i64 = 719_469;

/// The half duration in s divided by the cube root of the moment in N m, as the Global CMT catalogue assumes
/// it: 1.05e-8 for moments in dyne cm (Ekstrom, Nettles & Dziewonski 2012).
const HALF_DURATION: f64 = 1.05e-8 * 215.443_469_003_188_4;

/// True if a text is XML.
pub fn is_xml(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with('<')
}

pub(super) fn parsed(text: &str) -> Result<Document<'_>> {
    Document::parse(text.trim_start_matches('\u{feff}')).context("it is not XML that can be read")
}

/// The child elements with this name.
pub(super) fn children<'a, 'b>(node: Node<'a, 'b>, name: &'static str) -> impl Iterator<Item = Node<'a, 'b>> {
    node.children().filter(move |child| is(child, name))
}

/// Whether an element has this name. Namespaces are ignored, because they differ between versions.
pub(super) fn is(node: &Node, name: &str) -> bool {
    node.is_element() && node.tag_name().name() == name
}

/// The text of the element at the end of a path of names.
pub(super) fn text<'a>(node: Node<'a, '_>, path: &[&'static str]) -> Option<&'a str> {
    let end = path
        .iter()
        .try_fold(node, |node, name| children(node, name).next())?;
    end.text().map(str::trim)
}

/// The number in the element at the end of a path of names.
pub(super) fn number(node: Node, path: &[&'static str], what: &str) -> Result<f64> {
    let word = text(node, path).with_context(|| format!("{what} has no {}", path.join("/")))?;
    let value = word.parse().ok().filter(|value: &f64| value.is_finite());
    value.with_context(|| format!("{what}: {} is {word}, but must be a number", path.join("/")))
}

/// The earthquakes of a QuakeML file, with the time of the first.
pub struct Catalogue {
    /// Sources; their shifts are the centroid times in seconds after `time`.
    pub events: Vec<Event>,
    /// The origin time of the first event, as in `2026-03-04T05:06:07.500000`.
    pub time: String,
}

/// Reads the events of a QuakeML file, which must have moment tensors. The origin is the one for which the tensor was
/// derived; if there is none, the preferred origin; otherwise the first.
///
/// # Errors
/// Returns an error for text that is not QuakeML, or an event without moment tensor, place or time.
pub fn quakes(text_of_file: &str) -> Result<Catalogue> {
    if !is_xml(text_of_file) && text_of_file.contains("Mrr:") {
        bail!("it is a CMTSOLUTION file; give it as cmt=");
    }
    let document = parsed(text_of_file)?;
    let all: Vec<Node> = document.descendants().filter(|n| is(n, "event")).collect();
    if all.is_empty() {
        bail!("it has no <event>: a QuakeML file has one for every earthquake");
    }
    let mut quakes = Vec::new();
    for (k, event) in all.iter().enumerate() {
        quakes.push(quake(*event, &format!("event {}", k + 1))?);
    }
    let (first, time) = (quakes[0].1, quakes[0].2.clone());
    let events = quakes.into_iter().map(|(mut event, begin, _)| {
        event.shift += whole_microseconds(begin - first);
        event
    });
    Ok(Catalogue {
        events: events.collect(),
        time,
    })
}

/// A source, its origin time in seconds since 1970, and that time as text.
fn quake(event: Node, what: &str) -> Result<(Event, f64, String)> {
    let preferred = |list: &'static str, key: &'static str| {
        let id = text(event, &[key]);
        let same = |node: &Node| id.is_some() && node.attribute("publicID") == id;
        children(event, list).find(same).or(children(event, list).next())
    };
    let mechanism = preferred("focalMechanism", "preferredFocalMechanismID");
    let tensor = mechanism.and_then(|mechanism| children(mechanism, "momentTensor").next());
    let Some(moment) = tensor.filter(|moment| children(*moment, "tensor").next().is_some()) else {
        bail!(
            "{what} has no moment tensor (focalMechanism/momentTensor/tensor): give its mechanism by sou= and src=dc, strike=, dip=, rake= and m0="
        );
    };
    let hypocentre =
        preferred("origin", "preferredOriginID").with_context(|| format!("{what} has no origin"))?;
    let derived = text(moment, &["derivedOriginID"]);
    let is_derived = |node: &Node| derived.is_some() && node.attribute("publicID") == derived;
    let centroid = children(event, "origin").find(is_derived).unwrap_or(hypocentre);
    let time = |origin: Node| -> Result<(f64, String)> {
        let word = text(origin, &["time", "value"]).with_context(|| format!("{what} has no time/value"))?;
        seconds(word)
            .with_context(|| format!("{what}: its time is {word}, but must be as in 2026-03-04T05:06:07.5Z"))
    };
    let ((begin, shown), (middle, _)) = (time(hypocentre)?, time(centroid)?);
    let mut elements = [0.0; 6];
    for (element, name) in elements
        .iter_mut()
        .zip(["Mrr", "Mtt", "Mpp", "Mrt", "Mrp", "Mtp"])
    {
        *element = number(moment, &["tensor", name, "value"], what)?;
    }
    let half = match text(moment, &["sourceTimeFunction", "duration"]) {
        Some(_) => number(moment, &["sourceTimeFunction", "duration"], what)? / 2.0,
        None => HALF_DURATION * scalar_moment(elements).cbrt(),
    };
    let depth = match text(centroid, &["depth", "value"]) {
        Some(_) => number(centroid, &["depth", "value"], what)?,
        None => bail!("{what} has no depth/value"),
    };
    let source = Event {
        shift: whole_microseconds(middle - begin),
        source_time: SourceTime::HalfDuration(half.max(0.0)),
        is_local: false,
        latitude: number(centroid, &["latitude", "value"], what)?,
        longitude: number(centroid, &["longitude", "value"], what)?,
        depth,
        mechanism: Mechanism::Moment(elements),
        history: None,
    };
    Ok((source, begin, shown))
}

/// Rounds a difference of times to microseconds, the precision of times in files.
fn whole_microseconds(seconds: f64) -> f64 {
    (seconds * 1e6).round() / 1e6
}

/// A time in seconds since the beginning of 1970, and the same time as headers write it. Times without a zone
/// are UTC.
pub fn seconds(word: &str) -> Option<(f64, String)> {
    let (date, clock) = word.strip_suffix('Z').unwrap_or(word).split_once('T')?;
    let date: Vec<i64> = date
        .split('-')
        .map(|part| part.parse().ok())
        .collect::<Option<_>>()?;
    let clock: Vec<f64> = clock
        .split(':')
        .map(|part| part.parse().ok())
        .collect::<Option<_>>()?;
    let (&[year, month, day], &[hour, minute, second]) = (&date[..], &clock[..]) else {
        return None;
    };
    let known = (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (0.0..24.0).contains(&hour)
        && (0.0..60.0).contains(&minute)
        && (0.0..61.0).contains(&second);
    known.then_some(())?;
    // The days of the Gregorian calendar are counted in years that begin in March.
    let (years, months) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let days = 365 * years + years.div_euclid(4) - years.div_euclid(100)
        + years.div_euclid(400)
        + (153 * months + 2) / 5
        + day
        - TO_1970;
    let shown = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:09.6}");
    Some((
        86400.0 * days as f64 + 3600.0 * hour + 60.0 * minute + second,
        shown,
    ))
}

#[cfg(test)]
mod tests {
    use super::{Mechanism, SourceTime, quakes, seconds};

    /// The half duration of an earthquake with this moment tensor and without a source time function.
    fn half_duration(tensor: [f64; 6]) -> f64 {
        let value = |(name, x): (&str, f64)| format!("<{name}><value>{x:e}</value></{name}>");
        let names = ["Mrr", "Mtt", "Mpp", "Mrt", "Mrp", "Mtp"];
        let tensor: String = names.into_iter().zip(tensor).map(value).collect();
        let place: String = [("latitude", 1.0), ("longitude", 2.0), ("depth", 1e4)]
            .map(value)
            .concat();
        let text = format!(
            "<quakeml><event><origin><time><value>2026-03-04T05:06:07Z</value></time>{place}</origin>\
<focalMechanism><momentTensor><tensor>{tensor}</tensor></momentTensor></focalMechanism></event></quakeml>"
        );
        match quakes(&text).expect("QuakeML").events[0].source_time {
            SourceTime::HalfDuration(half) => half,
            _ => panic!("no half duration"),
        }
    }

    /// Moments of 1e18 N m (1e25 dyne cm) have a half duration of 1.05e-8 times the cube root of 1e25, in s,
    /// whichever elements of the tensor they consist of.
    #[test]
    fn earthquakes_without_a_duration_take_as_long_as_their_moment_lets_expect() {
        let (m, half) = (1e18, 1.05e-8 * 1e25f64.cbrt());
        let cut = m / 3.0f64.sqrt();
        for tensor in [
            [m, -m, 0.0, 0.0, 0.0, 0.0],
            [0.0, m, -m, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, m, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, -m, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, m],
            [0.0, 0.0, 0.0, cut, cut, -cut],
        ] {
            let result = half_duration(tensor);
            assert!(
                (result / half - 1.0).abs() < 1e-9,
                "{tensor:?}: {result} and not {half}"
            );
        }
    }

    /// If there are several mechanisms, the preferred one is used, otherwise the first; its elements must be numbers.
    #[test]
    fn the_preferred_mechanism_is_taken() {
        let value = |name: &str, x: &str| format!("<{name}><value>{x}</value></{name}>");
        let mechanism = |id: &str, x: &str| {
            let tensor = ["Mrr", "Mtt", "Mpp", "Mrt", "Mrp", "Mtp"].map(|name| value(name, x));
            format!(
                "<focalMechanism publicID=\"{id}\"><momentTensor><tensor>{}</tensor></momentTensor></focalMechanism>",
                tensor.concat()
            )
        };
        let origin = value("time", "2026-03-04T05:06:07Z")
            + &["latitude", "longitude", "depth"]
                .map(|name| value(name, "1"))
                .concat();
        let of = |event: &str, x: &str| {
            let (first, second) = (mechanism("first", "1e16"), mechanism("second", x));
            let text =
                format!("<quakeml><event>{event}<origin>{origin}</origin>{first}{second}</event></quakeml>");
            quakes(&text).map(|catalogue| match catalogue.events[0].mechanism {
                Mechanism::Moment(elements) => elements[0],
                _ => panic!("no moment tensor"),
            })
        };
        let preferred = "<preferredFocalMechanismID>second</preferredFocalMechanismID>";
        assert_eq!(of("", "2e16").expect("QuakeML"), 1e16);
        assert_eq!(of(preferred, "2e16").expect("QuakeML"), 2e16);
        for word in ["NaN", "inf", "2e16?"] {
            let message = of(preferred, word).expect_err("no number").to_string();
            let expected = format!("tensor/Mrr/value is {word}, but must be a number");
            assert!(message.contains(&expected), "{message}");
        }
    }

    #[test]
    fn times_of_other_days_months_and_years_are_apart_as_clocks_say() {
        let at = |word: &str| seconds(word).expect("a time").0;
        for (early, late, apart) in [
            ("2026-03-04T23:59:58Z", "2026-03-05T00:00:01.5", 3.5),
            ("2025-12-31T23:00:00Z", "2026-01-01T01:00:30Z", 7230.0),
            ("2024-02-28T12:00:00Z", "2024-03-01T12:00:00Z", 2.0 * 86_400.0),
            ("2100-02-28T12:00:00Z", "2100-03-01T12:00:00Z", 86_400.0),
            ("1999-03-01T00:00:00Z", "2000-03-01T00:00:00Z", 366.0 * 86_400.0),
        ] {
            assert_eq!(at(late) - at(early), apart, "{early} {late}");
        }
        let shown = seconds("2026-03-04T05:06:07.5Z").map(|(_, shown)| shown);
        assert_eq!(shown.as_deref(), Some("2026-03-04T05:06:07.500000"));
        for word in [
            "2026-13-04T05:06:07Z",
            "2026-03-04T24:00:00Z",
            "2026-03-04",
            "2026-03T05:06:07Z",
        ] {
            assert_eq!(seconds(word), None, "{word}");
        }
    }
}
