//! `sfput`: writing keys to the header.

use anyhow::{Result, ensure};
use rsf_io::{Element, Form, Format, Input, Job, MAX_AXES, Output, Param, Program};

use super::cube::{self, PIECE, by_kind};

pub static SPEC: Program = Program {
    name: "sfput",
    about: "Put keys into the header of a dataset.",
    usage: "< in.rsf key=value ... > out.rsf",
    comments: "Each key=value of the command line is written to the header unchanged, and the data are copied. A value \
that contains blanks is put in double quotes. n# may change the shape of the dataset if the number of elements \
stays the same.\n\n\
data_format= and esize= together declare that the bytes have another type; the n# must then multiply to the same number \
of bytes. data_format= or esize= alone has no effect (sfdd converts types), nor has in=.",
    example: "sfput < in.rsf n1=100 n2=50 label1=Depth unit1=km > out.rsf",
    params: &PARAMS,
};

static PARAMS: [Param; 1] =
    [Param::keys("KEY").doc("keys that are written to the header: n1=, o1=, label1= or anything else")];

pub fn run(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    let length = |i: usize| -> Result<Option<u64>> {
        let key = format!("n{i}");
        let given = job.keys().iter().find(|(name, _)| *name == key);
        let Some((_, value)) = given else {
            return Ok(input.header().large_int(&key).map(|n| n.max(0) as u64));
        };
        let value = value.to_string_lossy();
        let n = value.parse::<u64>().ok().filter(|n| *n > 0);
        ensure!(
            n.is_some(),
            "{key}={value} is not allowed: {key}= must be a whole number >= 1"
        );
        Ok(n)
    };
    let mut lengths = Vec::new();
    for i in 1..=MAX_AXES {
        match length(i)? {
            Some(n) => lengths.push(n),
            None => break,
        }
    }
    let new = another_type(job, &input)?;
    let (old, size) = (
        input.format().kind.size() as u64,
        new.unwrap_or(input.format()).kind.size() as u64,
    );
    let product = lengths
        .iter()
        .try_fold(size, |product, n| product.checked_mul(*n));
    let shown: Vec<String> = lengths
        .iter()
        .enumerate()
        .map(|(i, n)| format!("n{}={n}", i + 1))
        .collect();
    ensure!(
        product == Some(input.len() * old),
        "the shape {} of elements of {size} bytes does not fit the {} elements of {old} bytes of the input ({}); sfwindow and \
sfpad change the number of elements",
        shown.join(" "),
        input.len(),
        input.header().sizes()
    );
    for (key, value) in job.keys() {
        let of_axis = key.starts_with(['o', 'd'])
            && key[1..]
                .parse::<usize>()
                .is_ok_and(|i| (1..=MAX_AXES).contains(&i));
        let (text, number) = (value.to_string_lossy(), value.to_string_lossy().parse::<f64>());
        ensure!(
            !of_axis || number.is_ok_and(f64::is_finite),
            "{key}={text} is not allowed: {key}= must be a number"
        );
    }
    if job.keys().iter().any(|(key, _)| key == "in") {
        job.warn("in= has no effect: the data are copied to a new file, which out= or datapath= can name");
    }
    let mut output = job.output()?;
    for (key, value) in job.keys() {
        output.put_raw(key, &value.to_string_lossy());
    }
    match new {
        Some(format) => reread(&mut input, &mut output, format)?,
        None => cube::copy_all(&mut input, &mut output)?,
    }
    Ok(output.finish()?)
}

/// The type that `data_format=` and `esize=` declare for the bytes, if it differs from the type of the input.
///
/// # Errors
/// Returns an error if `esize=` is not the size of that type, or the data are not native bytes.
fn another_type(job: &Job, input: &Input) -> Result<Option<Format>> {
    let given = |key: &str| {
        let value = job.keys().iter().find(|(name, _)| name == key);
        value.map(|(_, value)| value.to_string_lossy().into_owned())
    };
    let (size, old) = (given("esize"), input.format());
    let Some(text) = given("data_format") else {
        if let Some(size) = size.filter(|size| *size != old.kind.size().to_string()) {
            job.warn(&format!(
                "esize={size} has no effect without data_format=: the data are {old}, and an element has {} bytes (sfdd converts them)",
                old.kind.size()
            ));
        }
        return Ok(None);
    };
    let new = Format::from_text(text.trim_matches('"'));
    let Some(size) = size else {
        if new != old {
            job.warn(&format!(
                "data_format={text} has no effect without esize=: the data are {old} (sfdd converts them)"
            ));
        }
        return Ok(None);
    };
    if new == old {
        return Ok(None);
    }
    ensure!(
        new.form == Form::Native && old.form == Form::Native,
        "data_format={text}: the input is {old}, but only native bytes can be declared as another type (sfdd converts)"
    );
    ensure!(
        size == new.kind.size().to_string(),
        "esize={size}: an element of {new} has {} bytes",
        new.kind.size()
    );
    Ok(Some(new))
}

/// Copies bytes as elements of another type.
fn reread(input: &mut Input, output: &mut Output, format: Format) -> Result<()> {
    output.set_format(format);
    let mut bytes = Vec::new();
    while input.remaining() > 0 {
        let now = (PIECE as u64).min(input.remaining()) as usize;
        by_kind!(input.format().kind, read_bytes(input, now, &mut bytes))?;
        by_kind!(format.kind, write_bytes(output, &bytes))?;
    }
    Ok(())
}

fn read_bytes<T: Element>(input: &mut Input, count: usize, bytes: &mut Vec<u8>) -> Result<()> {
    let mut values = vec![T::zeroed(); count];
    input.read(&mut values)?;
    bytes.clear();
    bytes.extend_from_slice(bytemuck::cast_slice(&values));
    Ok(())
}

/// Writes bytes as elements of type `T`. Pieces are multiples of the size of every type, so no element is cut.
fn write_bytes<T: Element>(output: &mut Output, bytes: &[u8]) -> Result<()> {
    Ok(output.write::<T>(&bytemuck::pod_collect_to_vec(bytes))?)
}
