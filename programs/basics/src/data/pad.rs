//! `sfpad`: padding a dataset with zeros.

use anyhow::{Result, ensure};
use rsf_io::{Axis, Element, Input, Job, MAX_AXES, Output, Param, Program};

use super::cube::{self, by_kind, write_axes};

pub static SPEC: Program = Program {
    name: "sfpad",
    about: "Pad a dataset with zeros.",
    usage: "< in.rsf beg1= end1= n2= > out.rsf",
    comments: "beg# zeros are added before the samples of axis # and end# after them; instead of end#, n# (or n#out) can \
give the length of the result. n#=0 is the next power of 2. The origin moves with beg#.\n\n\
Other keys are written to the header, as with sfput; one that differs from a parameter by one letter causes a warning, \
or is refused under RSF_STRICT=1.",
    example: "sfpad < in.rsf beg1=50 end1=50 n2=256 > out.rsf",
    params: &PARAMS,
};

static PARAMS: [Param; 5] = [
    Param::keys("KEY").doc("keys that are written to the header: title=, label1= or anything else"),
    Param::int("beg#")
        .default_text("0")
        .range(">= 0", Some(0.0), None)
        .doc("number of zeros before axis #"),
    Param::int("end#")
        .default_text("0")
        .range(">= 0", Some(0.0), None)
        .doc("number of zeros after axis #"),
    Param::int("n#")
        .default_text("as it comes")
        .range(">= 0", Some(0.0), None)
        .doc("length of axis # in the result, instead of end#; 0: the next power of 2"),
    Param::int("n#out")
        .default_text("as it comes")
        .range(">= 0", Some(0.0), None)
        .doc("length of axis # in the result, as n#"),
];

/// One axis of the output: zeros, samples of the input, zeros.
struct Side {
    before: usize,
    n: usize,
    axis: Axis,
}

pub fn run(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    let mut sides: Vec<Side> = (1..)
        .zip(cube::shape_to(&input, MAX_AXES)?)
        .map(|(i, axis)| side(job, i, axis))
        .collect::<Result<_>>()?;
    let rank = cube::shape(&input)?.len();
    let last = (rank..MAX_AXES).rev().find(|&i| sides[i].axis.n > 1);
    sides.truncate(last.map_or(rank, |last| last + 1));
    let mut output = job.output()?;
    let axes: Vec<Axis> = sides.iter().map(|side| side.axis.clone()).collect();
    write_axes(&mut output, &axes);
    cube::put_keys(job, &mut output, |key| {
        let moved = |axis: &str| {
            axis.parse()
                .is_ok_and(|i: usize| sides.get(i.wrapping_sub(1)).is_some_and(|side| side.before > 0))
        };
        !key.strip_prefix('o').is_some_and(moved)
    })?;
    by_kind!(input.format().kind, stream(&mut input, &mut output, &sides))?;
    Ok(output.finish()?)
}

fn side(job: &Job, i: usize, axis: Axis) -> Result<Side> {
    let int = |key: String| -> Result<Option<usize>> { Ok(job.int_opt(&key)?.map(|value| value as usize)) };
    let before = int(format!("beg{i}"))?.unwrap_or(0);
    let n = axis.n;
    let total = match (
        int(format!("end{i}"))?,
        int(format!("n{i}out"))?.or(int(format!("n{i}"))?),
    ) {
        (Some(end), given) => {
            let total = before + n + end;
            if given.is_some_and(|given| given != total) {
                job.warn(&format!(
                    "n{i}= has no effect with end{i}={end}: axis {i} becomes {total} samples long"
                ));
            }
            total
        }
        (None, Some(0)) => n.next_power_of_two(),
        (None, Some(total)) => total,
        (None, None) => before + n,
    };
    ensure!(
        total >= before + n,
        "n{i}={total}: axis {i} has {} samples including beg{i}={before}, and padding cannot shorten it (sfwindow can)",
        before + n
    );
    let o = axis.at(-(before as f64));
    Ok(Side {
        before,
        n,
        axis: Axis { n: total, o, ..axis },
    })
}

fn stream<T: Element>(input: &mut Input, output: &mut Output, sides: &[Side]) -> Result<()> {
    // The leading axes that do not change form a block, which is copied as a whole.
    let same = sides.iter().take_while(|side| side.axis.n == side.n).count();
    let block: usize = sides[..same].iter().map(|side| side.n).product();
    fill::<T>(input, output, &sides[same..], block as u64)
}

/// Writes the axes `sides`, slowest axis last, with `block` elements for each sample of the first.
fn fill<T: Element>(input: &mut Input, output: &mut Output, sides: &[Side], block: u64) -> Result<()> {
    let Some((side, inner)) = sides.split_last() else {
        return cube::copy::<T>(input, output, block);
    };
    let unit = inner.iter().map(|side| side.axis.n as u64).product::<u64>() * block;
    cube::zeros::<T>(output, unit * side.before as u64)?;
    if inner.is_empty() {
        cube::copy::<T>(input, output, unit * side.n as u64)?;
    } else {
        for _ in 0..side.n {
            fill::<T>(input, output, inner, block)?;
        }
    }
    cube::zeros::<T>(output, unit * (side.axis.n - side.before - side.n) as u64)
}
