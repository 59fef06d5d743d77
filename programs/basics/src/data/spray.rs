//! `sfspray`: repeating the data along a new axis.

use anyhow::{Result, ensure};
use rsf_io::{Axis, Element, Input, Job, MAX_AXES, Output, Param, Program};

use super::cube::{self, PIECE, by_kind};

pub static SPEC: Program = Program {
    name: "sfspray",
    about: "Insert an axis and repeat the data along it (the adjoint of stacking).",
    usage: "< in.rsf axis=2 n= o= d= label= unit= > out.rsf",
    comments: "The axes from number axis= on move up by one. The data may have any type.\n\n\
Differs from Madagascar: without o=, d=, label= and unit= the new axis has o=0, d=1 and neither label nor unit (in \
Madagascar it inherits the values of the axis that previously had this number).",
    example: "sfspray < trace.rsf axis=2 n=50 d=0.025 label=Distance unit=km > section.rsf",
    params: &PARAMS,
};

static PARAMS: [Param; 6] = [
    Param::int("n")
        .required()
        .range(">= 1", Some(1.0), None)
        .doc("length of the new axis"),
    Param::int("axis")
        .default("2")
        .range("1 to 9", Some(1.0), Some(9.0))
        .doc("number of the new axis"),
    Param::float("o").default("0").doc("origin of the new axis"),
    Param::float("d").default("1").doc("sampling of the new axis"),
    Param::string("label")
        .default_text("none")
        .doc("label of the new axis"),
    Param::string("unit")
        .default_text("none")
        .doc("unit of the new axis"),
];

pub fn run(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    let (n, number) = (job.int("n")? as usize, job.int("axis")? as usize);
    let present = cube::present(&input).min(MAX_AXES - 1);
    let mut axes = cube::shape_to(&input, present.max(number - 1))?;
    ensure!(
        axes.len() < MAX_AXES,
        "the data have {} axes ({}), and a dataset has at most {MAX_AXES}, so no axis can be inserted",
        axes.len(),
        input.header().sizes()
    );
    let block = cube::count(&axes[..number - 1]);
    let axis = Axis {
        n,
        o: job.float("o")?,
        d: job.float("d")?,
        label: job.text("label")?,
        unit: job.text("unit")?,
    };
    axes.insert(number - 1, axis);
    let mut output = job.output()?;
    cube::write_axes(&mut output, &axes);
    let kind = input.format().kind;
    by_kind!(kind, repeat(&mut input, &mut output, block, n))?;
    Ok(output.finish()?)
}

/// Writes every block of the input `n` times.
fn repeat<T: Element>(input: &mut Input, output: &mut Output, block: usize, n: usize) -> Result<()> {
    let together = (PIECE / block).max(1);
    let copies = together.min(n);
    let mut piece: Vec<T> = cube::room(block * together.min((input.remaining() / block as u64) as usize))?;
    let mut row: Vec<T> = cube::room(block * copies)?;
    while input.remaining() > 0 {
        let now = input.remaining().min(piece.len() as u64) as usize;
        input.read(&mut piece[..now])?;
        for values in piece[..now].chunks_exact(block) {
            row.chunks_exact_mut(block)
                .for_each(|copy| copy.copy_from_slice(values));
            let mut left = n;
            while left > 0 {
                let some = left.min(copies);
                output.write(&row[..some * block])?;
                left -= some;
            }
        }
    }
    Ok(())
}
