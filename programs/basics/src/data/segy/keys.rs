//! Fields of the trace header and of the binary header, under the names of Seismic Unix, from the SEG-Y standard (SEG
//! Technical Standards Committee, revision 1, 2002) and its readers.

use anyhow::{Result, ensure};
use rsf_io::{Header, Job};

/// Length of a trace header in bytes.
pub const TRACE_HEADER: usize = 240;

/// An integer field of a header.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The name of Seismic Unix, or of the user.
    pub name: String,
    /// The first byte, counted from 0.
    pub at: usize,
    /// The number of bytes: 2 or 4.
    pub size: usize,
    /// The meaning.
    pub about: &'static str,
    /// Whether the user gives the place of the field, which takes precedence over a map in the file.
    pub given: bool,
}

/// Names, lengths in bytes and meanings of the fields of the trace header, in order and without gaps.
#[rustfmt::skip]
const TRACE: [(&str, usize, &str); 91] = [
    ("tracl", 4, "number of the trace in the line"),
    ("tracr", 4, "number of the trace in the file"),
    ("fldr", 4, "number of the field record"),
    ("tracf", 4, "number of the trace in the field record"),
    ("ep", 4, "number of the energy source point"),
    ("cdp", 4, "number of the ensemble (midpoint)"),
    ("cdpt", 4, "number of the trace in the ensemble"),
    ("trid", 2, "kind of trace: 1 seismic, 2 dead, 3 dummy, 4 time break, 5 uphole, 6 sweep, 7 timing, 8 water break"),
    ("nvs", 2, "traces summed vertically"),
    ("nhs", 2, "traces summed horizontally"),
    ("duse", 2, "use of the data: 1 production, 2 test"),
    ("offset", 4, "distance from the source to the receiver"),
    ("gelev", 4, "elevation of the receiver"),
    ("selev", 4, "elevation of the surface at the source"),
    ("sdepth", 4, "depth of the source below the surface"),
    ("gdel", 4, "elevation of the datum at the receiver"),
    ("sdel", 4, "elevation of the datum at the source"),
    ("swdep", 4, "depth of the water at the source"),
    ("gwdep", 4, "depth of the water at the receiver"),
    ("scalel", 2, "factor of the seven elevations and depths before it: multiply by it, or divide if it is negative"),
    ("scalco", 2, "factor of the four coordinates after it: multiply by it, or divide if it is negative"),
    ("sx", 4, "x (or longitude) of the source"),
    ("sy", 4, "y (or latitude) of the source"),
    ("gx", 4, "x (or longitude) of the receiver"),
    ("gy", 4, "y (or latitude) of the receiver"),
    ("counit", 2, "unit of the coordinates: 1 length, 2 seconds of arc, 3 degrees, 4 degrees, minutes and seconds"),
    ("wevel", 2, "velocity of the weathered layer"),
    ("swevel", 2, "velocity below the weathered layer"),
    ("sut", 2, "uphole time at the source, in ms"),
    ("gut", 2, "uphole time at the receiver, in ms"),
    ("sstat", 2, "static correction of the source, in ms"),
    ("gstat", 2, "static correction of the receiver, in ms"),
    ("tstat", 2, "static correction applied, in ms"),
    ("laga", 2, "lag A: from the end of the trace header to the time break, in ms"),
    ("lagb", 2, "lag B: from the time break to the start of the source, in ms"),
    ("delrt", 2, "delay: from the start of the source to the first sample, in ms"),
    ("muts", 2, "start of the mute, in ms"),
    ("mute", 2, "end of the mute, in ms"),
    ("ns", 2, "samples of this trace"),
    ("dt", 2, "sampling interval of this trace, in microseconds"),
    ("gain", 2, "gain of the instruments: 1 fixed, 2 binary, 3 floating point"),
    ("igc", 2, "gain constant of the instrument, in dB"),
    ("igi", 2, "early gain of the instrument, in dB"),
    ("corr", 2, "correlated: 1 no, 2 yes"),
    ("sfs", 2, "frequency of the sweep at its start, in Hz"),
    ("sfe", 2, "frequency of the sweep at its end, in Hz"),
    ("slen", 2, "length of the sweep, in ms"),
    ("styp", 2, "kind of sweep: 1 linear, 2 parabolic, 3 exponential, 4 other"),
    ("stas", 2, "taper of the sweep at its start, in ms"),
    ("stae", 2, "taper of the sweep at its end, in ms"),
    ("tatyp", 2, "kind of taper: 1 linear, 2 squared cosine, 3 other"),
    ("afilf", 2, "frequency of the alias filter, in Hz"),
    ("afils", 2, "slope of the alias filter, in dB per octave"),
    ("nofilf", 2, "frequency of the notch filter, in Hz"),
    ("nofils", 2, "slope of the notch filter, in dB per octave"),
    ("lcf", 2, "low-cut frequency, in Hz"),
    ("hcf", 2, "high-cut frequency, in Hz"),
    ("lcs", 2, "slope of the low cut, in dB per octave"),
    ("hcs", 2, "slope of the high cut, in dB per octave"),
    ("year", 2, "year of the recording"),
    ("day", 2, "day of the year"),
    ("hour", 2, "hour of the day"),
    ("minute", 2, "minute of the hour"),
    ("sec", 2, "second of the minute"),
    ("timbas", 2, "time zone: 1 local, 2 Greenwich, 3 other, 4 UTC"),
    ("trwf", 2, "weight of the trace: N for 2^-N volts"),
    ("grnors", 2, "group number of the first roll switch position"),
    ("grnofr", 2, "group number of the first trace of the field record"),
    ("grnlof", 2, "group number of the last trace of the field record"),
    ("gaps", 2, "size of the gap: groups dropped"),
    ("otrav", 2, "overtravel at the taper: 1 down or behind, 2 up or ahead"),
    ("cdpx", 4, "x of the ensemble"),
    ("cdpy", 4, "y of the ensemble"),
    ("iline", 4, "number of the in-line"),
    ("xline", 4, "number of the cross-line"),
    ("shnum", 4, "number of the shot point"),
    ("shsca", 2, "factor of the shot point number"),
    ("tval", 2, "unit of the samples: 1 pascal, 2 volt, 4 ampere, 5 metre, 6 m/s, 7 m/s^2"),
    ("tconst4", 4, "transduction constant, mantissa"),
    ("tconst2", 2, "transduction constant, power of ten"),
    ("tunits", 2, "unit after the transduction"),
    ("device", 2, "device or trace identifier"),
    ("tscalar", 2, "factor of times"),
    ("stype", 2, "kind and orientation of the source"),
    ("sendir", 4, "direction of the source's energy, first four bytes"),
    ("unknown", 2, "direction of the source's energy, last two bytes"),
    ("smeas4", 4, "size of the source, mantissa"),
    ("smeas2", 2, "size of the source, power of ten"),
    ("smeasu", 2, "unit of the size of the source"),
    ("unass1", 4, "not assigned"),
    ("unass2", 4, "not assigned"),
];

/// Name, length in bytes and meaning of the fields of the binary header that parameters can set.
#[rustfmt::skip]
const BINARY: [(&str, usize, &str); 27] = [
    ("jobid", 4, "number of the job"),
    ("lino", 4, "number of the line"),
    ("reno", 4, "number of the reel"),
    ("ntrpr", 2, "number of traces per ensemble"),
    ("nart", 2, "number of auxiliary traces per ensemble"),
    ("hdt", 2, "sampling interval in microseconds"),
    ("dto", 2, "sampling interval of the field recording"),
    ("hns", 2, "number of samples per trace"),
    ("nso", 2, "number of samples per trace in the field"),
    ("format", 2, "code of the sample format"),
    ("fold", 2, "fold of an ensemble"),
    ("tsort", 2, "order of the traces"),
    ("vscode", 2, "vertical sum"),
    ("hsfs", 2, "frequency of the sweep at its start"),
    ("hsfe", 2, "frequency of the sweep at its end"),
    ("hslen", 2, "length of the sweep"),
    ("hstyp", 2, "kind of sweep"),
    ("schn", 2, "trace of the sweep channel"),
    ("hstas", 2, "taper of the sweep at its start"),
    ("hstae", 2, "taper of the sweep at its end"),
    ("htatyp", 2, "kind of taper"),
    ("hcorr", 2, "correlated"),
    ("bgrcv", 2, "binary gain recovered"),
    ("rcvm", 2, "amplitude recovery"),
    ("mfeet", 2, "1 metres, 2 feet"),
    ("polyt", 2, "polarity of impulses"),
    ("vpol", 2, "polarity of vibrators"),
];

fn laid_out(table: &[(&'static str, usize, &'static str)]) -> Vec<Field> {
    let mut next = 0;
    let lay = |(name, size, about): &(&'static str, usize, &'static str)| {
        let at = next;
        next += size;
        Field {
            name: (*name).into(),
            at,
            size: *size,
            about,
            given: false,
        }
    };
    table.iter().map(lay).collect()
}

/// The 91 fields of a trace header, in order.
pub fn trace_fields() -> Vec<Field> {
    laid_out(&TRACE)
}

/// The fields of the binary header that parameters can set, in order.
pub fn binary_fields() -> Vec<Field> {
    laid_out(&BINARY)
}

/// All keys of a trace, at the places given by the user or otherwise by the standard.
///
/// # Errors
/// Returns an error if a key does not lie within the trace header.
pub fn fields(job: &Job) -> Result<Vec<Field>> {
    let mut fields = trace_fields();
    for field in &mut fields {
        if let Some(at) = byte(job, &field.name)? {
            ensure!(
                at >= 0 && at as usize + field.size <= TRACE_HEADER,
                "{}={at}: a key of {} bytes must begin at one of the bytes 0 to {}",
                field.name,
                field.size,
                TRACE_HEADER - field.size
            );
            field.at = at as usize;
            field.given = true;
        }
    }
    fields.extend(extra_fields(job, None)?);
    Ok(fields)
}

/// The fields that the user, or the RSF header of a file of trace headers, adds to the 91: `key1=name name=byte
/// key1_len=4`.
///
/// # Errors
/// Returns an error if a name has no byte, a length is neither 2 nor 4, or a field extends beyond the trace
/// header.
pub fn extra_fields(job: &Job, header: Option<&Header>) -> Result<Vec<Field>> {
    let mut fields = Vec::new();
    for i in 1..=9 {
        let named = |key: &str| header.and_then(|header| header.text(key));
        let Some(name) = job
            .text(&format!("key{i}"))?
            .or_else(|| named(&format!("key{i}")))
        else {
            break;
        };
        let given = job.int_opt(&format!("key{i}_len"))?;
        let size = given.or_else(|| header.and_then(|header| header.large_int(&format!("key{i}_len"))));
        let at = byte(job, &name)?.or_else(|| header.and_then(|header| header.large_int(&name)));
        let Some(at) = at else {
            anyhow::bail!(
                "key{i}={name} needs {name}=, the byte of the trace header (counted from 0) at which it begins"
            );
        };
        fields.push(field(&name, at, size.unwrap_or(4))?);
    }
    Ok(fields)
}

fn field(name: &str, at: i64, size: i64) -> Result<Field> {
    ensure!(
        (size == 2 || size == 4) && at >= 0 && at + size <= TRACE_HEADER as i64,
        "the key {name} has {size} bytes from byte {at} of the trace header on, but it must have 2 or 4 of the bytes 0 to {}",
        TRACE_HEADER - 1
    );
    Ok(Field {
        name: name.into(),
        at: at as usize,
        size: size as usize,
        about: "an additional key (key#=)",
        given: true,
    })
}

/// The integer that the user gives as the undeclared parameter `name=`.
pub fn byte(job: &Job, name: &str) -> Result<Option<i64>> {
    let Some((_, text)) = job.keys().iter().rev().find(|(key, _)| key == name) else {
        return Ok(None);
    };
    let text = text.to_string_lossy();
    let number = text.trim().parse();
    ensure!(
        number.is_ok(),
        "{name}={text} is not allowed: {name}= must be a whole number"
    );
    Ok(number.ok())
}
