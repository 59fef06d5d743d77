//! `sfdd`: conversion of the form and the type of data.

use anyhow::{Context, Result, ensure};
use rsf_io::{Complex, Element, Form, Format, Input, Job, Kind, Output, Param, Program};

use super::cube::{self, PIECE, by_kind};
use super::lost::{Lost, range};
use super::parts;
use super::pattern::Pattern;

pub static SPEC: Program = Program {
    name: "sfdd",
    about: "Convert data to another form or type.",
    usage: "< in.rsf form=ascii type=float > out.rsf",
    comments: "Forms: native (the byte order of this machine), xdr (big endian), ascii (text). Types: float, int, \
complex, short, long, double, uchar. When real numbers become complex or the reverse, two neighbours on axis 1 \
correspond to one complex number. Real numbers become integers by rounding to the nearest, or with trunc=y towards 0; \
numbers that are too large become the largest integer.",
    example: "sfdd < in.rsf form=ascii format='%12.5e ' line=1 --out=numbers.txt > out.rsf",
    params: &PARAMS,
};

static PARAMS: [Param; 7] = [
    Param::string("form")
        .default_text("of the input")
        .doc("native, xdr or ascii; the first letters are enough"),
    Param::string("type")
        .default_text("of the input")
        .doc("float, int, complex, short, long, double or uchar; the first letters are enough"),
    Param::int("line")
        .default("8")
        .range(">= 1", Some(1.0), None)
        .doc("number of numbers on a line of text"),
    Param::string("format")
        .default_text("%g or %d")
        .doc("format of a number in text, as in C's printf: one conversion, or two for complex numbers"),
    Param::int("strip")
        .default("0")
        .range(">= 0", Some(0.0), None)
        .doc("number of characters to remove at the end of each line of text"),
    Param::bool("trunc")
        .default("n")
        .doc("y: real numbers are truncated; n: they are rounded"),
    Param::bool("ibm")
        .default("n")
        .doc("y: the integers are the bits of IBM floats, with type=float"),
];

pub fn run(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    let old = input.format();
    let (form, kind) = (job.text("form")?, job.text("type")?);
    ensure!(
        form.is_some() || kind.is_some(),
        "neither form= nor type= is given, so nothing changes; sfcp copies"
    );
    let form = form.map_or(Ok(old.form), |word| meant("form", &word, &FORMS))?;
    let kind = kind.map_or(Ok(old.kind), |word| meant("type", &word, &KINDS))?;
    let mut output = job.output()?;
    output.set_format(Format { form, kind });
    match (old.kind == Kind::Complex, kind == Kind::Complex) {
        (true, false) => output.put_int("n1", 2 * input.axis(1).n as i64),
        (false, true) => parts::halve(&input, &mut output)?,
        _ => {}
    }
    let text = match form {
        Form::Ascii if kind != Kind::Uchar => Some(Text::new(job)?),
        _ => None,
    };
    let mut sink = Sink {
        output,
        kind,
        text,
        trunc: job.flag("trunc")?,
        written: 0,
    };
    let ibm = job.flag("ibm")?;
    if ibm && (old.kind, kind) == (Kind::Int, Kind::Float) {
        from_ibm(&mut input, &mut sink)?;
    } else if old.kind == kind {
        by_kind!(kind, same(&mut input, &mut sink))?;
    } else {
        let lost = convert(&mut input, &mut sink)?;
        lost.warn(job, &format!("type={}", kind.word()), "samples");
    }
    Ok(sink.output.finish()?)
}

const FORMS: [(&str, Form); 3] = [
    ("native", Form::Native),
    ("xdr", Form::Xdr),
    ("ascii", Form::Ascii),
];

const KINDS: [(&str, Kind); 7] = [
    ("float", Kind::Float),
    ("int", Kind::Int),
    ("complex", Kind::Complex),
    ("short", Kind::Short),
    ("long", Kind::Long),
    ("double", Kind::Double),
    ("uchar", Kind::Uchar),
];

/// The meaning of a word that abbreviates a known name or, as `integer`, extends it.
fn meant<T: Copy>(key: &str, word: &str, known: &[(&str, T)]) -> Result<T> {
    let row = known
        .iter()
        .find(|(name, _)| !word.is_empty() && (name.starts_with(word) || word.starts_with(name)));
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    row.map(|(_, meaning)| *meaning).with_context(|| {
        format!(
            "{key}={word} is not allowed: {key}= must be {}",
            names.join(" or ")
        )
    })
}

/// The layout of numbers in text form.
struct Text {
    line: u64,
    strip: usize,
    pattern: Option<Pattern>,
}

impl Text {
    fn new(job: &Job) -> Result<Self> {
        let pattern = job.text("format")?.map(|text| Pattern::read(&text)).transpose();
        Ok(Self {
            line: job.int("line")? as u64,
            strip: job.int("strip")? as usize,
            pattern: pattern.context("format=")?,
        })
    }
}

/// The destination of the numbers.
struct Sink {
    output: Output,
    kind: Kind,
    text: Option<Text>,
    trunc: bool,
    written: u64,
}

impl Sink {
    fn write<T: Shown>(&mut self, numbers: &[T]) -> Result<()> {
        let Some(text) = &self.text else {
            return Ok(self.output.write(numbers)?);
        };
        let mut words = Vec::new();
        for number in numbers {
            number.show(text.pattern.as_ref(), &mut words)?;
            self.written += 1;
            if self.written.is_multiple_of(text.line) || self.written == self.output.declared()? {
                words.truncate(words.len() - text.strip.min(words.len()));
                words.push(b'\n');
            }
        }
        Ok(self.output.write_text(&words, numbers.len() as u64)?)
    }
}

/// A number that can be written as text.
trait Shown: Element {
    /// Appends the number, formatted by the pattern or, without one, in its default form with a blank after
    /// it.
    fn show(self, pattern: Option<&Pattern>, text: &mut Vec<u8>) -> Result<()>;
}

macro_rules! shown {
    ($type:ty, $number:ident => $values:expr) => {
        impl Shown for $type {
            fn show(self, pattern: Option<&Pattern>, text: &mut Vec<u8>) -> Result<()> {
                let $number = self;
                match pattern {
                    Some(pattern) => pattern.write(&$values, text),
                    None => {
                        self.print(text);
                        text.push(b' ');
                        Ok(())
                    }
                }
            }
        }
    };
}

shown!(f32, number => [f64::from(number)]);
shown!(f64, number => [number]);
shown!(i32, number => [f64::from(number)]);
shown!(i16, number => [f64::from(number)]);
shown!(i64, number => [number as f64]);
shown!(u8, number => [f64::from(number)]);
shown!(Complex, number => number.map(f64::from));

fn same<T: Shown>(input: &mut Input, sink: &mut Sink) -> Result<()> {
    let mut numbers = vec![T::zeroed(); PIECE.min(input.len() as usize)];
    while input.remaining() > 0 {
        let now = numbers.len().min(input.remaining() as usize);
        input.read(&mut numbers[..now])?;
        sink.write(&numbers[..now])?;
    }
    Ok(())
}

/// Reads integers as the bits of IBM floats.
fn from_ibm(input: &mut Input, sink: &mut Sink) -> Result<()> {
    let mut bits = vec![0i32; PIECE.min(input.len() as usize)];
    while input.remaining() > 0 {
        let now = bits.len().min(input.remaining() as usize);
        input.read_i32(&mut bits[..now])?;
        let numbers: Vec<f32> = bits[..now].iter().map(|bits| ibm(*bits as u32)).collect();
        sink.write(&numbers)?;
    }
    Ok(())
}

/// The value of an IBM float: a sign bit, seven bits of an exponent to the base 16 and a fraction of 24 bits.
/// Values that are too large become the largest float, and values that are too small become zero.
fn ibm(bits: u32) -> f32 {
    let exponent = (bits >> 24 & 0x7f) as i32 - 64;
    let size = f64::from(bits & 0xff_ffff) * 16f64.powi(exponent - 6);
    let size = if size < f64::from(f32::MIN_POSITIVE) {
        0.0
    } else {
        size.min(f64::from(f32::MAX)) as f32
    };
    if bits >> 31 == 1 { -size } else { size }
}

/// Converts by way of f64, which represents every number of 32 bits exactly.
fn convert(input: &mut Input, sink: &mut Sink) -> Result<Lost> {
    let (mut numbers, mut lost) = (Vec::new(), Lost::default());
    while input.remaining() > 0 {
        // `PIECE` is even, so pairs stay together.
        let now = (PIECE as u64).min(input.remaining()) as usize;
        cube::read_as_f64(input, now, &mut numbers)?;
        if let Some(range) = range(sink.kind) {
            let whole = if sink.trunc { f64::trunc } else { f64::round };
            numbers.iter_mut().for_each(|number| *number = whole(*number));
            lost.look(&numbers, range);
        }
        match sink.kind {
            Kind::Float => sink.write(&cast(&numbers, |x| x as f32))?,
            Kind::Int => sink.write(&cast(&numbers, |x| x as i32))?,
            Kind::Short => sink.write(&cast(&numbers, |x| x as i16))?,
            Kind::Long => sink.write(&cast(&numbers, |x| x as i64))?,
            Kind::Double => sink.write(&numbers)?,
            Kind::Uchar | Kind::Char => sink.write(&cast(&numbers, |x| x as u8))?,
            Kind::Complex => {
                let pairs = numbers
                    .chunks_exact(2)
                    .map(|pair| [pair[0] as f32, pair[1] as f32]);
                sink.write(&pairs.collect::<Vec<Complex>>())?;
            }
        }
    }
    Ok(lost)
}

fn cast<T>(numbers: &[f64], to: impl Fn(f64) -> T) -> Vec<T> {
    numbers.iter().map(|number| to(*number)).collect()
}

#[cfg(test)]
mod tests {
    use super::ibm;

    #[test]
    fn ibm_floats() {
        // -118.625 is the example of the format's manual.
        for (bits, value) in [
            (0xC276_A000, -118.625),
            (0x4110_0000, 1.0),
            (0x0000_0000, 0.0),
            (0x7fff_ffff, f32::MAX),
            (0xffff_ffd6, -f32::MAX),
            (0x0010_0000, 0.0),
        ] {
            assert_eq!(ibm(bits), value, "{bits:x}");
        }
    }
}
