//! Point forces in FORCESOLUTION files, the format of SPECFEM3D.

use anyhow::{Result, bail};

use super::blocks::{self, Block};
use super::cmt::{Event, Mechanism, SourceTime};

/// The keywords of a file, and the keywords of older versions.
const WORDS: [&[&str]; 10] = [
    &["time shift"],
    &["hdurorf0", "hdur", "f0"],
    &["latorUTM", "latitude"],
    &["longorUTM", "longitude"],
    &["depth"],
    &["source time function"],
    &["factor force source"],
    &["component dir vect source E"],
    &["component dir vect source N"],
    &["component dir vect source Z_UP"],
];

/// Reads forces from text.
///
/// # Errors
/// Returns an error for a keyword that is missing or has no number, an unknown time function, a force without
/// direction, or a file of moments.
pub fn read(text: &str) -> Result<Vec<Event>> {
    if text.contains("Mrr:") {
        bail!("it is a CMTSOLUTION file; give it as cmt=");
    }
    let blocks = blocks::read(text, "FORCESOLUTION", &WORDS)?;
    blocks.into_iter().map(event).collect()
}

fn event(block: Block<10>) -> Result<Event> {
    let [
        shift,
        span,
        latitude,
        longitude,
        depth,
        kind,
        factor,
        direction @ ..,
    ] = block.values;
    let source_time = match kind {
        0.0 if span >= 0.0 => SourceTime::HalfDuration(span),
        1.0 if span > 0.0 => SourceTime::Peak(span),
        2.0 if span >= 0.0 => SourceTime::Step(span),
        3.0 if span > 0.0 => SourceTime::Sine(span),
        4.0 if span > 0.0 => SourceTime::Impact(span),
        0.0 | 1.0 | 2.0 | 3.0 | 4.0 => {
            bail!(
                "`hdurorf0:` is {span}; a half duration must be zero or more seconds, and a period (s) or a \
                frequency (Hz) must be above zero"
            )
        }
        _ => bail!(
            "`source time function:` is {kind}; 0 (Gaussian), 1 (Ricker), 2 (step), 3 (sine) and 4 (Gaussian of \
            Meschede et al. 2011) are supported: write one of them, or give another time function by series="
        ),
    };
    let length = direction.iter().map(|c| c * c).sum::<f64>().sqrt();
    if length == 0.0 {
        bail!(
            "all components of the direction of a force are zero; at least one must be different from zero"
        );
    }
    Ok(Event {
        shift,
        source_time,
        is_local: block.spellings[2] + block.spellings[3] < 2,
        latitude,
        longitude,
        depth: 1000.0 * depth,
        mechanism: Mechanism::Force(direction.map(|c| factor * c / length)),
        history: block.history,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUSH: &str = "\
FORCE  001
time shift:     0.5
hdurorf0:       2.0
latorUTM:       67000.0
longorUTM:      66000.0
depth:          0.03
source time function:            1
factor force source:             1.d15
component dir vect source E:     3.d0
component dir vect source N:     0.d0
component dir vect source Z_UP:  -4.d0
";

    #[test]
    fn forces_are_read_along_their_directions() {
        let events = read(&PUSH.repeat(2)).unwrap();
        assert_eq!(events.len(), 2);
        let event = &events[1];
        assert_eq!((event.latitude, event.longitude, event.depth), (67e3, 66e3, 30.0));
        assert!(event.is_local && event.shift == 0.5 && event.source_time == SourceTime::Peak(2.0));
        let Mechanism::Force([east, north, up]) = event.mechanism else {
            panic!("{event:?}")
        };
        assert!((east / 6e14 - 1.0).abs() < 1e-12 && north == 0.0 && (up / -8e14 - 1.0).abs() < 1e-12);
        // A position is on a globe only if both keywords belong to a globe.
        let half = PUSH.replace("latorUTM", "latitude");
        for (text, is_local) in [
            (half.clone(), true),
            (half.replace("longorUTM", "longitude"), false),
        ] {
            assert_eq!(read(&text).unwrap()[0].is_local, is_local, "{text}");
        }
    }

    #[test]
    fn time_functions_have_the_numbers_of_specfem3d() {
        for (number, expected) in [
            (0, SourceTime::HalfDuration(2.0)),
            (2, SourceTime::Step(2.0)),
            (3, SourceTime::Sine(2.0)),
            (4, SourceTime::Impact(2.0)),
        ] {
            let text = PUSH.replace("function:            1", &format!("function: {number}"));
            assert_eq!(read(&text).unwrap()[0].source_time, expected);
        }
    }

    #[test]
    fn what_is_no_force_gets_a_sentence() {
        let error = |from: &str, to: &str| {
            assert!(PUSH.contains(from));
            format!("{:#}", read(&PUSH.replace(from, to)).unwrap_err())
        };
        assert!(error("longorUTM", "x").contains("no `longorUTM:` or `longitude:`"));
        assert!(error("function:            1", "function: 7").contains("is 7; 0 (Gaussian), 1 (Ricker)"));
        assert!(error("2.0", "0").contains("`hdurorf0:` is 0"));
        let still = PUSH.replace("-4.d0", "0").replace("3.d0", "0");
        assert!(format!("{:#}", read(&still).unwrap_err()).contains("direction of a force are zero"));
        assert!(error("FORCE", "Mrr:").contains("give it as cmt="));
    }
}
