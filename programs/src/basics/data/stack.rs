//! `sfstack`: one axis becomes a sum, a mean, an extreme.

use anyhow::{Result, bail, ensure};
use rsf_io::{Axis, Job, Kind, Param, Program};

use super::cube::{self, PIECE};

/// What the user sees.
pub static SPEC: Program = Program {
    name: "sfstack",
    about: "Stack data over an axis: mean, sum, root of the mean square, product, smallest or largest value.",
    usage: "< in.rsf axis=2 > out.rsf",
    comments: "The axis goes, the axes behind it move up. A mean is taken over the samples that are not 0 (the fold), so \
muted ones do not count; with norm=n the sum is written. Of complex data the two parts are stacked, each on its own.",
    example: "sfstack < gather.rsf axis=2 rms=y > strength.rsf",
    params: &PARAMS,
};

static PARAMS: [Param; 6] = [
    Param::int("axis")
        .default("2")
        .range(">= 1", Some(1.0), None)
        .doc("axis that is stacked"),
    Param::bool("norm").default("y").doc("y: the mean; n: the sum"),
    Param::bool("rms")
        .default("n")
        .doc("y: root of the mean of the squares; norm= has no effect then"),
    Param::bool("min")
        .default("n")
        .doc("y: smallest value; norm= and rms= have no effect then"),
    Param::bool("max")
        .default("n")
        .doc("y: largest value; norm= and rms= have no effect then"),
    Param::bool("prod")
        .default("n")
        .doc("y: product; norm= and rms= have no effect then"),
];

/// What becomes of the samples.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Mean,
    Sum,
    Rms,
    Least,
    Most,
    Product,
}

/// Stacks.
pub fn run(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    let parts = match input.format().kind {
        Kind::Float => 1,
        Kind::Complex => 2,
        other => bail!(
            "the input holds {} data, sfstack takes float and complex (sfdd converts)",
            other.word()
        ),
    };
    let axis = job.int("axis")? as usize;
    // Axes of one sample at the end are axes, if the header names them.
    let mut axes = cube::shape_to(&input, axis.min(cube::present(&input)))?;
    ensure!(
        axis <= axes.len(),
        "axis={axis}: the input has {} axes ({})",
        axes.len(),
        input.header().sizes()
    );
    let way = way(job)?;
    let row = cube::count(&axes[..axis - 1]);
    let rows = axes.remove(axis - 1).n;
    if axes.is_empty() {
        axes.push(Axis {
            n: 1,
            ..input.axis(2)
        });
    }
    let mut output = job.output()?;
    cube::write_axes(&mut output, &axes);
    output.set_rank(axes.len());
    let mut pile = Pile::new(way, row * parts)?;
    let at_once = (PIECE / row).clamp(1, rows);
    let mut floats: Vec<f32> = cube::room(if parts == 1 { at_once * row } else { 0 })?;
    let mut pairs: Vec<[f32; 2]> = cube::room(if parts == 2 { at_once * row } else { 0 })?;
    while input.remaining() > 0 {
        pile.clear();
        for start in (0..rows).step_by(at_once) {
            let now = at_once.min(rows - start) * row;
            if parts == 1 {
                input.read_f32(&mut floats[..now])?;
                pile.add(&floats[..now]);
            } else {
                input.read_complex(&mut pairs[..now])?;
                pile.add(pairs[..now].as_flattened());
            }
        }
        let result = pile.result();
        if parts == 1 {
            output.write_f32(&result)?;
        } else {
            output.write_complex(result.as_chunks().0)?;
        }
    }
    Ok(output.finish()?)
}

fn way(job: &Job) -> Result<Way> {
    let asked = [("min", Way::Least), ("max", Way::Most), ("prod", Way::Product)];
    let mut chosen = Vec::new();
    for (name, way) in asked {
        if job.flag(name)? {
            chosen.push(way);
        }
    }
    ensure!(chosen.len() < 2, "only one of min=y, max=y and prod=y can be had");
    Ok(match chosen.first() {
        Some(way) => *way,
        None if job.flag("rms")? => Way::Rms,
        None if job.flag("norm")? => Way::Mean,
        None => Way::Sum,
    })
}

/// One row of what has been seen, in double precision.
struct Pile {
    way: Way,
    values: Vec<f64>,
    fold: Vec<u64>,
}

impl Pile {
    fn new(way: Way, row: usize) -> Result<Self> {
        Ok(Self {
            way,
            values: cube::room(row)?,
            fold: vec![0; row],
        })
    }

    fn clear(&mut self) {
        let begin = match self.way {
            Way::Least => f64::INFINITY,
            Way::Most => f64::NEG_INFINITY,
            Way::Product => 1.0,
            Way::Mean | Way::Sum | Way::Rms => 0.0,
        };
        self.values.fill(begin);
        self.fold.fill(0);
    }

    /// Adds whole rows.
    fn add(&mut self, rows: &[f32]) {
        for row in rows.chunks_exact(self.values.len()) {
            for ((value, fold), new) in self.values.iter_mut().zip(&mut self.fold).zip(row) {
                let new = f64::from(*new);
                *value = match self.way {
                    Way::Mean | Way::Sum => *value + new,
                    Way::Rms => *value + new * new,
                    Way::Least => value.min(new),
                    Way::Most => value.max(new),
                    Way::Product => *value * new,
                };
                *fold += u64::from(new != 0.0);
            }
        }
    }

    fn result(&self) -> Vec<f32> {
        let mean = |value: f64, fold: u64| value / fold.max(1) as f64;
        let both = self.values.iter().zip(&self.fold);
        both.map(|(value, fold)| match self.way {
            Way::Mean => mean(*value, *fold) as f32,
            Way::Rms => mean(*value, *fold).sqrt() as f32,
            _ => *value as f32,
        })
        .collect()
    }
}
