//! `sfheadermath`: evaluation of a formula of trace headers.

use anyhow::{Context, Result, ensure};
use rsf_io::{Job, Kind, Param, Program};

use super::cube::{self, PIECE};
use super::headers;
use super::lost::{Lost, range};
use super::math::{Column, Formula};

pub static SPEC: Program = Program {
    name: "sfheadermath",
    about: "Evaluate a formula of trace headers, for every trace.",
    usage: "< headers.rsf output='(sx+gx)/2' [key=offset] > values.rsf",
    comments: "Axis 1 holds the keys of a trace, as sfsegyread writes them to tfile=. Variables are the names of the \
keys (sfheaderattr desc=y lists them; key1=, key2=, ... name keys after the 91 or, with segy=n, all keys), N \
(number of the trace, from 0), T (its coordinate on axis 2) and input (the first key). Operators and functions are the \
same as in sfmath. The result replaces the key that key= or nkey= (counted from 0) names; otherwise it is a dataset \
of one value for each trace. Without an axis 2 of two or more samples, axis 1 holds one key of many traces. The \
exception is int data with n1=91 (or 91 plus the number of keys that key1=, key2=, ... name), which are the keys of \
a single trace; with segy=n these, too, are one key of 91 traces. Results that int headers cannot hold become the \
limit of the type, with a warning.\n\n\
Differs from Madagascar: integer headers are computed in double precision and only the result is truncated (in \
Madagascar every step is); int data of 91 keys without axis 2 are one trace (in Madagascar 91 traces).",
    example: "sfheadermath < headers.rsf output='abs(gx-sx)' key=offset > new.rsf\nsfheadermath < headers.rsf output='sx/100' | sfdd type=float > x.rsf",
    params: &PARAMS,
};

static PARAMS: [Param; 5] = [
    Param::string("output").required().doc("the formula"),
    Param::string("key")
        .default_text("none")
        .doc("key that the result replaces"),
    Param::int("nkey")
        .default_text("none")
        .range(">= 0", Some(0.0), None)
        .doc("number of that key, counted from 0, instead of key="),
    Param::bool("segy")
        .default("y")
        .doc("y: the first 91 keys are the standard keys of SEG-Y"),
    Param::string("key#")
        .default_text("of the header")
        .doc("name of key # after the keys of SEG-Y"),
];

pub fn run(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    let kind = headers::kind(&input)?;
    let axes = cube::shape_to(&input, 2)?;
    // If axis 2 has one sample, axis 1 holds one key of many traces, unless its length is the number of keys in the
    // table of SEG-Y.
    let alone = kind == Kind::Int && job.flag("segy")? && axes[0].n == headers::keys_of_segy(job, &input)?;
    let (count, along) = if axes[1].n > 1 || alone {
        (axes[0].n, &axes[1])
    } else {
        (1, &axes[0])
    };
    let mut names = headers::names(job, &input, count)?;
    let row = match (job.text("key")?, job.int_opt("nkey")?) {
        (Some(name), _) => Some(names.iter().position(|known| *known == name).with_context(|| {
            format!("key={name}: the headers have no key of this name; sfheaderattr desc=y lists them")
        })?),
        (None, number) => number.map(|number| number as usize),
    };
    ensure!(
        row.is_none_or(|row| row < count),
        "nkey={}: the headers have the keys 0 to {}",
        row.unwrap_or(0),
        count - 1
    );
    names.extend(["N", "T", "input"].map(String::from));
    let formula = Formula::<f64>::read(&job.text("output")?.unwrap_or_default(), &names)?;
    let mut output = job.output()?;
    if row.is_none() && count > 1 {
        output.put_int("n1", 1);
    }
    let (mut values, mut trace) = (Vec::new(), 0usize);
    let mut lost = Lost::default();
    while input.remaining() > 0 {
        let now = (input.remaining() / count as u64).min((PIECE / count).max(1) as u64) as usize;
        cube::read_as_f64(&mut input, now * count, &mut values)?;
        let key = |k: usize| {
            Column::Many(
                (0..now)
                    .map(|i| values[i * count + k])
                    .collect::<Vec<f64>>()
                    .into(),
            )
        };
        let mut columns: Vec<Column<f64>> = (0..count)
            .map(|k| if formula.uses(k) { key(k) } else { Column::One(0.0) })
            .collect();
        let numbers: Vec<f64> = (trace..trace + now).map(|i| i as f64).collect();
        let places: Vec<f64> = numbers
            .iter()
            .map(|i| f64::from(along.o) + i * f64::from(along.d))
            .collect();
        columns.extend([Column::Many(numbers.into()), Column::Many(places.into()), key(0)]);
        let results = match formula.values(&columns) {
            Column::One(value) => vec![value; now],
            Column::Many(numbers) => numbers.into_owned(),
        };
        if let Some(range) = range(kind) {
            let whole: Vec<f64> = results.iter().map(|x| x.trunc()).collect();
            lost.look(&whole, range);
        }
        if let Some(row) = row {
            values
                .iter_mut()
                .skip(row)
                .step_by(count)
                .zip(&results)
                .for_each(|(old, new)| *old = *new);
        }
        let written = if row.is_some() { &values } else { &results };
        match kind {
            Kind::Int => output.write_i32(&written.iter().map(|x| *x as i32).collect::<Vec<i32>>())?,
            _ => output.write_f32(&written.iter().map(|x| *x as f32).collect::<Vec<f32>>())?,
        }
        trace += now;
    }
    lost.warn(job, "output= becomes int, the type of the headers", "values");
    Ok(output.finish()?)
}
