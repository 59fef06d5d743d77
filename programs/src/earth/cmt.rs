//! Earthquakes in CMTSOLUTION files, the format of SPECFEM3D and of Harvard's catalogue.

use anyhow::{Result, bail};

use super::blocks::{self, Block};

/// The factor from dyne cm to N m.
const DYNE_CM: f64 = 1e-7;

/// The moment tensor or the force of a source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mechanism {
    /// Elements rr tt pp rt rp tp, N m: r is up, t south, p east.
    Moment([f64; 6]),
    /// Components east, north and up, N.
    Force([f64; 3]),
}

/// A source time function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SourceTime {
    /// The rate of a moment, or a force, as a Gaussian of area one with this half duration, s.
    HalfDuration(f64),
    /// A Ricker wavelet with this peak frequency, Hz.
    Peak(f64),
    /// A force that grows to one as the integral of that Gaussian, with this half duration, s.
    Step(f64),
    /// A sine with this period, s.
    Sine(f64),
    /// sqrt(pi)/T exp(-(pi t/T)^2) with this T, s (Meschede, Myhrvold & Tromp 2011).
    Impact(f64),
}

/// One source of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Seconds after the origin time of the first line.
    pub shift: f64,
    /// Its source time function.
    pub source_time: SourceTime,
    /// True if the file has `latorUTM:`, as in the Cartesian version of SPECFEM3D.
    pub is_local: bool,
    /// Degrees, or y of a local mesh.
    pub latitude: f64,
    /// Degrees, or x of a local mesh.
    pub longitude: f64,
    /// Depth, m.
    pub depth: f64,
    /// Its mechanism.
    pub mechanism: Mechanism,
    /// The file of its time function, if a line after the moments names one.
    pub history: Option<String>,
}

/// The keywords of a file; the Cartesian version of SPECFEM3D has different ones for the position.
const WORDS: [&[&str]; 11] = [
    &["time shift"],
    &["half duration"],
    &["latitude", "latorUTM"],
    &["longitude", "longorUTM"],
    &["depth"],
    &["Mrr"],
    &["Mtt"],
    &["Mpp"],
    &["Mrt"],
    &["Mrp"],
    &["Mtp"],
];

/// Reads events from text.
///
/// # Errors
/// Returns an error for a keyword that is missing or has no number, or a file of forces.
pub fn read(text: &str) -> Result<Vec<Event>> {
    if text.contains("factor force source:") {
        bail!("it is a FORCESOLUTION file; give it as force=");
    }
    if super::xml::is_xml(text) {
        bail!("it is XML; give a QuakeML file as quakeml=");
    }
    let blocks = blocks::read(text, "CMTSOLUTION", &WORDS)?;
    blocks.into_iter().map(event).collect()
}

/// The time of the first line, as in ` PDE 2003  9  2 18 28  3.90 ...`; `None` if it has no date.
///
/// # Errors
/// Returns an error for a date or time that does not exist.
pub fn origin_time(text: &str) -> Result<Option<String>> {
    let first = text.lines().next().unwrap_or_default();
    let Some((date, seconds)) = date(first) else {
        return Ok(None);
    };
    let [year, month, day, hour, minute] = date;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let known = (1..=12).contains(&month) && (1..=days).contains(&day);
    if !known || hour > 23 || minute > 59 || !(0.0..61.0).contains(&seconds) {
        bail!(
            "its first line has the date {year}-{month}-{day} and the time {hour}:{minute}:{seconds}, which do not exist; the line must have year month day hour minute second"
        );
    }
    Ok(Some(format!(
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{seconds:09.6}"
    )))
}

/// The scalar moment of a tensor rr tt pp rt rp tp, in its unit (Silver & Jordan 1982).
pub fn scalar_moment([rr, tt, pp, rt, rp, tp]: [f64; 6]) -> f64 {
    ((rr * rr + tt * tt + pp * pp) / 2.0 + rt * rt + rp * rp + tp * tp).sqrt()
}

/// The largest difference allowed between the magnitude of an event's moment and the magnitudes of its first
/// line. A moment in N m instead of dyne cm differs by 4.7.
const SIZES: f64 = 3.0;

/// A warning if the moments of a file are far from the magnitudes of its first line. There is none for
/// positions in metres, because there the magnitudes are usually invented.
pub fn other_size(text: &str, events: &[Event]) -> Option<String> {
    let first = text.lines().next().filter(|line| date(line).is_some())?;
    let event = events.first().filter(|event| !event.is_local)?;
    let Mechanism::Moment(tensor) = event.mechanism else {
        return None;
    };
    // The date, whose year may follow the name of the catalogue without a blank, is followed by latitude, longitude,
    // depth, mb and Ms.
    let words = first.split_whitespace();
    let numbers: Vec<f64> = words.filter_map(|word| word.parse().ok()).collect();
    let date = if numbers.first()? > &1000.0 { 6 } else { 5 };
    let magnitude = numbers.get(date + 3..date + 5)?.iter().copied();
    let magnitude = magnitude.fold(0.0, f64::max);
    let moment = scalar_moment(tensor);
    let size = 2.0 / 3.0 * (moment.log10() - 9.1);
    let is_far = magnitude > 0.0 && magnitude < 10.0 && (size - magnitude).abs() > SIZES;
    is_far.then(|| {
        format!(
            "the first source has a moment of {moment:.3e} N m, magnitude {size:.1}, but its first line says \
            {magnitude}: moments must be in dyne cm, and 1 N m is 1e7 dyne cm"
        )
    })
}

/// Year, month, day, hour, minute and second of a line, if it has them.
fn date(line: &str) -> Option<([u32; 5], f64)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    // The name of the catalogue may touch the year.
    let first = words.first()?.trim_start_matches(|c: char| !c.is_ascii_digit());
    let rest = if first.is_empty() { &words[1..] } else { &words[..] };
    let mut numbers = [0; 5];
    for (k, number) in numbers.iter_mut().enumerate() {
        let word = if k == 0 && !first.is_empty() {
            first
        } else {
            rest.get(k)?
        };
        *number = word.parse().ok()?;
    }
    Some((numbers, rest.get(5)?.parse().ok()?))
}

fn event(block: Block<11>) -> Result<Event> {
    let [shift, half, latitude, longitude, depth, moments @ ..] = block.values;
    if half < 0.0 {
        bail!("`half duration:` is {half}; it must be zero or more seconds");
    }
    Ok(Event {
        shift,
        source_time: SourceTime::HalfDuration(half),
        is_local: block.spellings[2] + block.spellings[3] > 0,
        latitude,
        longitude,
        depth: 1000.0 * depth,
        mechanism: Mechanism::Moment(moments.map(|m| m * DYNE_CM)),
        history: block.history,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_has_the_time() {
        let time = Some("2003-09-02T18:28:03.900000".to_string());
        let time_of = |line: &str| origin_time(line).unwrap();
        assert_eq!(
            time_of(" PDE 2003  9  2 18 28  3.90 -15.2 -173.2 5.0\nevent name: x"),
            time
        );
        assert_eq!(time_of("PDEQ2003 09 02 18 28 03.9 1 2 3"), time);
        assert_eq!(time_of("event name: x"), None);
        assert!(time_of("PDE 2000 2 29 0 0 0").is_some());
        for line in [
            "2003 13 2 18 28 3.9",
            "2003 2 29 0 0 0",
            "2003 4 31 0 0 0",
            "2003 6 31 0 0 0",
            "2003 9 31 0 0 0",
            "2003 11 31 0 0 0",
            "2003 9 2 24 0 0",
            "2003 9 2 0 0 61",
        ] {
            let error = origin_time(&format!("PDE {line}")).unwrap_err().to_string();
            assert!(error.contains("the date 2003-"), "{error}");
        }
        assert_eq!(time_of(""), None);
    }

    pub(in crate::earth) const BOLIVIA: &str = "\
 PDE 1994  6  9  0 33 16.40 -13.8300  -67.5600 637.0 6.9 6.8 NORTHERN BOLIVIA
event name:     060994A
time shift:     29.0000
half duration:  20.0000
latitude:      -13.8200
longitude:     -67.2500
depth:         647.1000
Mrr:      -7.590000e+27
Mtt:       7.750000e+27
Mpp:      -1.600000e+26
Mrt:      -2.503000e+28
Mrp:       4.200000e+26
Mtp:      -2.480000D+27
";

    #[test]
    fn an_event_is_read_in_si_units() {
        let events = read(&BOLIVIA.repeat(2)).unwrap();
        assert_eq!(events.len(), 2);
        let event = &events[0];
        assert_eq!((event.latitude, event.depth), (-13.82, 647_100.0));
        let Mechanism::Moment(tensor) = event.mechanism else {
            panic!("{event:?}")
        };
        assert!((tensor[3] + 2.503e21).abs() < 1e6 && (tensor[5] + 2.48e20).abs() < 1e6);
        // The moment and magnitude of the catalogue: 2.63e28 dyne cm, Mw 8.2.
        let [rr, tt, pp, rt, rp, tp] = tensor;
        let moment = ((rr * rr + tt * tt + pp * pp) / 2.0 + rt * rt + rp * rp + tp * tp).sqrt();
        assert!((moment / 2.63e21 - 1.0).abs() < 0.01, "{moment}");
        assert!((2.0 / 3.0 * (moment.log10() - 9.1) - 8.2).abs() < 0.05);
    }

    /// Moments given in N m are read as dyne cm, which makes them 4.7 units of magnitude too small.
    #[test]
    fn moments_in_other_units_are_warned_of() {
        let warning = |text: &str| other_size(text, &read(text).unwrap());
        assert_eq!(warning(BOLIVIA), None);
        let in_newtons = BOLIVIA
            .replace("e+27", "e+20")
            .replace("e+28", "e+21")
            .replace("e+26", "e+19")
            .replace("D+27", "D+20");
        for text in [in_newtons.clone(), in_newtons.replace("PDE 1994", "PDEQ1994")] {
            let warning = warning(&text).unwrap();
            assert!(
                warning.contains("magnitude 3.5, but its first line says 6.9"),
                "{warning}"
            );
            // The catalogue has 2.63e28 dyne cm; seven powers of ten are missing, and seven more make N m of dyne cm.
            let moment = warning.split_once("a moment of ").unwrap().1;
            let (moment, unit) = moment.split_once(' ').unwrap();
            let moment: f64 = moment.parse().unwrap();
            assert!((moment / 2.63e14 - 1.0).abs() < 0.01, "{warning}");
            assert!(unit.starts_with("N m, "), "{warning}");
        }
        assert_eq!(warning(&in_newtons.replace("6.9 6.8", "0 0")), None);
        assert_eq!(warning(LOCAL), None);
    }

    /// An event of the Cartesian version of SPECFEM3D, with its own time function.
    const LOCAL: &str = "\
PDE  1999 01 01 00 00 00.00  750 500 -700 1.0 1.0 test
event name:       test
time shift:       0.0000
half duration:    0.08
latorUTM:         750.0
longorUTM:        500.0
depth:            1.5
Mrr:    -7.400000e+19
Mtt:    -1.130000e+21
Mpp:    1.210000e+21
Mrt:    3.810000e+20
Mrp:    -8.000000e+18
Mtp:    1.170000e+21
DATA/stf.dat
";

    #[test]
    fn local_events_are_marked_and_name_their_time_function() {
        let events = read(&LOCAL.repeat(2)).unwrap();
        assert_eq!(events.len(), 2);
        for event in events {
            assert_eq!(
                (event.latitude, event.longitude, event.depth),
                (750.0, 500.0, 1500.0)
            );
            assert!(event.is_local);
            assert_eq!(event.history.as_deref(), Some("DATA/stf.dat"));
        }
        let global = &read(BOLIVIA).unwrap()[0];
        assert!(!global.is_local && global.history.is_none());
    }

    #[test]
    fn what_is_missing_is_named() {
        let error = |text: &str| format!("{:#}", read(text).unwrap_err());
        assert!(error("").contains("`time shift:`"));
        assert!(error(&BOLIVIA.replace("Mrt:", "Mxx:")).contains("no `Mrt:`"));
        assert!(error(&BOLIVIA.replace("647.1000", "deep")).contains("line 7"));
        assert!(error(&LOCAL.replace("latorUTM", "lat")).contains("no `latitude:` or `latorUTM:`"));
        assert!(error("factor force source: 1").contains("give it as force="));
        let cut = BOLIVIA.replace("Mtp", "none");
        assert!(error(&cut.repeat(2)).contains("`Mtp:`"));
    }
}
