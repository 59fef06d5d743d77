//! `sfput`: keys into the header.

use anyhow::{Result, ensure};
use rsf_io::{Job, MAX_AXES, Param, Program};

use super::cube;

/// What the user sees.
pub static SPEC: Program = Program {
    name: "sfput",
    about: "Put keys into the header of a dataset.",
    usage: "< in.rsf key=value ... > out.rsf",
    comments: "Every key=value of the command line goes into the header as it is written; the data are copied. A \
value with blanks gets double quotes. n# may give the dataset another shape, as long as the number of elements stays.",
    example: "sfput < in.rsf n1=100 n2=50 label1=Depth unit1=km > out.rsf",
    params: &PARAMS,
};

static PARAMS: [Param; 1] =
    [Param::keys("KEY").doc("what goes into the header: n1=, o1=, label1= or anything else")];

/// Copies with new keys.
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
            "{key}= got `{value}`, allowed is a whole number >= 1"
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
    let product = lengths
        .iter()
        .try_fold(1u64, |product, n| product.checked_mul(*n));
    let shown: Vec<String> = lengths
        .iter()
        .enumerate()
        .map(|(i, n)| format!("n{}={n}", i + 1))
        .collect();
    ensure!(
        product == Some(input.len()),
        "the shape {} does not fit the {} elements of the input ({}); sfwindow and sfpad change the number of elements",
        shown.join(" "),
        input.len(),
        input.header().sizes()
    );
    let mut output = job.output()?;
    for (key, value) in job.keys() {
        output.put_raw(key, &value.to_string_lossy());
    }
    cube::copy_all(&mut input, &mut output)?;
    Ok(output.finish()?)
}
