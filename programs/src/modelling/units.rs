//! Warns, before a run, of numbers that seem not to be in SI units.

use rsf_io::{Input, Job};

/// A P velocity, in m/s, lower than in any rock or fluid; a slower model is probably in km/s.
const SLOW: f64 = 100.0;
/// A wave speed, in m/s, above any in the Earth, with some margin.
pub const FASTEST: f64 = 3e4;
/// A density, in kg/m3, lower than in any rock; a lighter model is probably in g/cm3.
const LIGHT: f64 = 50.0;

/// An S velocity, in m/s, lower than in any ground; a slower model is probably in km/s.
const SOFT: f64 = 20.0;
/// Units in headers that are not SI, in lower case and without blanks, with the corresponding SI unit and the
/// factor to it.
const OTHERS: [(&[&str], &str, &str); 9] = [
    (&["km/s", "kms-1", "km.s-1", "km*s^-1", "kms^-1"], "m/s", "1000"),
    (&["ft/s", "feet/s"], "m/s", "0.3048"),
    (&["kft/s"], "m/s", "304.8"),
    (
        &[
            "g/cm3", "g/cm^3", "g/cm**3", "g/cc", "gm/cc", "gcm-3", "g.cm-3", "t/m3", "kg/l",
        ],
        "kg/m3",
        "1000",
    ),
    (&["gpa"], "Pa", "1e9"),
    (&["km"], "m", "1000"),
    (&["ft", "feet", "foot"], "m", "0.3048"),
    (&["ms", "msec"], "s", "0.001"),
    (&["us", "usec", "\u{b5}s", "\u{3bc}s"], "s", "1e-6"),
];

/// The SI unit that corresponds to a unit of a header that is not SI, and the factor to it.
fn other(unit: &str) -> Option<(&'static str, &'static str)> {
    let plain = unit.to_lowercase().replace([' ', '\\'], "");
    let known = OTHERS.iter().find(|(words, ..)| words.contains(&plain.as_str()));
    known.map(|(_, si, factor)| (*si, *factor))
}

/// Warns of a volume or a map of the model whose header says that its numbers are not SI.
pub fn header(job: &Job, input: &Input) {
    let unit = input.header().text("unit").unwrap_or_default();
    if let Some((si, factor)) = other(&unit) {
        job.warn(&format!(
            "the header of {} says unit={unit}, but its numbers are taken as {si}: if they are in {unit}, \
            multiply them (sfscale dscale={factor} | sfput unit={si}); if they are already in {si}, correct \
            the header (sfput unit={si})",
            input.name()
        ));
    }
}

/// Warns of a model whose axes are in feet by their header.
pub fn lengths(job: &Job, input: &Input) {
    let unit = input.axis(1).unit.unwrap_or_default();
    if ["ft", "feet", "foot"].contains(&unit.to_lowercase().as_str()) {
        job.warn(&format!(
            "the header of {} says unit1={unit}, but lengths are taken as m: speeds, times and the shape of \
            waves are right if speeds are in {unit}/s and points in {unit}, but amplitudes and densities are \
            not; to correct them, multiply lengths by 0.3048 (sfput d1= d2= unit1=m unit2=m)",
            input.name()
        ));
    }
}

/// Warns of a time axis 1 whose header says that it is not in seconds.
pub fn times(job: &Job, input: &Input) {
    let axis = input.axis(1);
    if let Some(("s", factor)) = axis.unit.as_deref().and_then(other) {
        job.warn(&format!(
            "the header of {} says unit1={}, but its times are taken as s: d1={} is {} s (sfput d1= o1= unit1=s)",
            input.name(),
            axis.unit.as_deref().unwrap_or_default(),
            axis.d,
            f64::from(axis.d) * factor.parse::<f64>().unwrap_or(1.0)
        ));
    }
}

/// Warns of an S velocity, in m/s, below any in the Earth.
pub fn shear(job: &Job, slowest: f64, place: &str) {
    if slowest > 0.0 && slowest < SOFT {
        job.warn(&format!(
            "vs is {} m/s {place}: units are SI; speeds in km/s must be multiplied by 1000",
            slowest as f32
        ));
    }
}

/// Warns if the fastest wave of a model, in m/s, is slower than any in the Earth, and returns whether it is.
pub fn speed(job: &Job, fastest: f64) -> bool {
    if fastest < SLOW {
        job.warn(&format!(
            "the fastest wave of the model has a speed of {fastest:.4} m/s: units are SI, m/s and m (Pa for \
            ccc=); a model in km/s must be multiplied by 1000, and so must its axes and points"
        ));
    }
    fastest < SLOW
}

/// Warns of a density in kg/m3 that no rock has, at a place or in a part of the model.
pub fn density(job: &Job, density: f64, place: &str) {
    if density < LIGHT {
        job.warn(&format!(
            "the density is {} kg/m3 {place}: units are SI; a density in g/cm3 must be multiplied by 1000, or amplitudes are wrong",
            density as f32
        ));
    }
}

/// Warns of implausible P velocities and densities of regions, `[vp, density]` of each; `checks` says which of
/// the two to check.
pub fn regions(job: &Job, regions: &[[f64; 2]], checks: [bool; 2]) {
    let fastest = regions.iter().map(|[vp, _]| *vp).max_by(f64::total_cmp);
    fastest
        .filter(|_| checks[0])
        .into_iter()
        .for_each(|vp| _ = speed(job, vp));
    let densities = regions.iter().map(|[_, density]| *density).enumerate();
    let least = densities.min_by(|a, b| a.1.total_cmp(&b.1)).filter(|_| checks[1]);
    if let Some((region, least)) = least {
        density(job, least, &format!("in region {region}"));
    }
}

/// Warns if all sources lie as close to the origin as in a model whose coordinates are in km.
pub fn sources(job: &Job, count: usize) {
    let who = if count == 1 {
        "the source lies".into()
    } else {
        format!("all {count} sources lie")
    };
    job.warn(&format!(
        "{who} within one cell of the origin: check that sou= is in the unit of the model, m"
    ));
}

/// Warns that all receivers lie in a part of the model as small as `part`.
pub fn receivers(job: &Job, count: usize, part: &str) {
    job.warn(&format!(
        "all {count} receivers lie within {part}: check that rec= is in the unit of the model, m"
    ));
}

#[cfg(test)]
mod tests {
    use super::other;

    /// The factors convert the units: a foot is 0.3048 m, and a kilofoot is a thousand feet.
    #[test]
    fn units_of_headers_have_their_factors() {
        for (words, si, factor) in [
            (
                &["km/s", "KM/S", "km / s", "kms-1", "km.s-1", "km*s^-1", "km s^-1"][..],
                "m/s",
                1000.0,
            ),
            (&["ft/s", "feet/s"], "m/s", 0.3048),
            (&["kft/s"], "m/s", 304.8),
            (
                &[
                    "g/cm3", "g/cm^3", "g/cm\\^3", "g/cm**3", "g/cc", "gm/cc", "t/m3", "kg/l",
                ],
                "kg/m3",
                1000.0,
            ),
            (&["GPa"], "Pa", 1e9),
            (&["km", " km"], "m", 1000.0),
            (&["ft", "Feet", "foot"], "m", 0.3048),
            (&["ms", "msec"], "s", 1e-3),
            (&["us", "usec", "\u{b5}s", "\u{3bc}s"], "s", 1e-6),
        ] {
            for word in words {
                let (unit, text) = other(word).unwrap_or_else(|| panic!("{word} is not known"));
                assert_eq!((unit, text.parse::<f64>()), (si, Ok(factor)), "{word}");
            }
        }
        for word in ["", "m", "m/s", "s", "kg/m3", "kg/m^3", "Pa"] {
            assert!(other(word).is_none(), "{word}");
        }
    }
}
