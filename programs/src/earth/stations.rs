//! Stations in STATIONS files, the format of SPECFEM3D.

use anyhow::{Context, Result, bail};

/// One line of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Station {
    /// Network and name, as in `II.OBN`.
    pub name: String,
    /// Degrees, or y of a local mesh.
    pub latitude: f64,
    /// Degrees, or x of a local mesh.
    pub longitude: f64,
    /// Height above sea level, m.
    pub elevation: f64,
    /// Depth below the ground, m.
    pub burial: f64,
}

/// Reads stations from text. Each line has name, network, latitude, longitude, elevation and burial.
///
/// # Errors
/// Returns an error for a line with fewer words or without numbers, or text without stations.
pub fn read(text: &str) -> Result<Vec<Station>> {
    let mut stations = Vec::new();
    for (number, line) in text.lines().enumerate().map(|(k, line)| (k + 1, line.trim())) {
        if line.is_empty() || line.starts_with('#') || line.starts_with('!') {
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, network, numbers @ ..] = &words[..] else {
            bail!(
                "line {number} is `{line}`; a station has name, network, latitude, longitude, elevation and burial"
            );
        };
        let value = |k: usize, what: &str| -> Result<f64> {
            let word = numbers
                .get(k)
                .with_context(|| format!("line {number} is `{line}`: {what} is missing"))?;
            let value = word.parse().ok().filter(|v: &f64| v.is_finite());
            value
                .with_context(|| format!("line {number} is `{line}`: {what} is {word}, but must be a number"))
        };
        stations.push(Station {
            name: format!("{network}.{name}"),
            latitude: value(0, "the latitude")?,
            longitude: value(1, "the longitude")?,
            elevation: value(2, "the elevation in m")?,
            burial: value(3, "the burial in m")?,
        });
    }
    if stations.is_empty() {
        bail!(
            "it has no stations; each line has name, network, latitude, longitude, elevation and burial (m)"
        );
    }
    Ok(stations)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stations_are_read_with_their_networks() {
        let stations =
            read("# name\n! a remark\nOBN II  55.1146 36.5674 160.0 30.0\n\nST04 XX -18.82 -67.25 0 0 \n")
                .unwrap();
        assert_eq!(stations.len(), 2);
        let station = Station {
            name: "II.OBN".into(),
            latitude: 55.1146,
            longitude: 36.5674,
            elevation: 160.0,
            burial: 30.0,
        };
        assert_eq!(stations[0], station);
        assert_eq!(
            (stations[1].name.as_str(), stations[1].latitude),
            ("XX.ST04", -18.82)
        );
    }

    #[test]
    fn what_is_no_station_gets_a_sentence() {
        for (text, word) in [
            ("", "no stations"),
            ("OBN", "name, network"),
            ("OBN II 55 36 160", "burial"),
            ("OBN II north 36 160 0", "latitude is north"),
            ("OBN II nan 36 160 0", "latitude is nan, but must be a number"),
            ("OBN II 55 36 160 inf", "burial in m is inf, but must be a number"),
        ] {
            let error = format!("{:#}", read(text).unwrap_err());
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
