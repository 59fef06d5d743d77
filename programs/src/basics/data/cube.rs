//! The shape of a dataset, and work on elements whose type does not matter.

use anyhow::{Result, ensure};
use rsf_io::{Axis, Element, Input, Job, MAX_AXES, Output};

/// Elements moved at a time.
pub const PIECE: usize = 1 << 18;

/// Runs a function that is generic over the element, with the type of the data:
/// `by_kind!(kind, copy(input, output))`.
macro_rules! by_kind {
    ($kind:expr, $run:ident($($argument:expr),* $(,)?)) => {
        match $kind {
            rsf_io::Kind::Float => $run::<f32>($($argument),*),
            rsf_io::Kind::Int => $run::<i32>($($argument),*),
            rsf_io::Kind::Complex => $run::<rsf_io::Complex>($($argument),*),
            rsf_io::Kind::Uchar | rsf_io::Kind::Char => $run::<u8>($($argument),*),
            rsf_io::Kind::Short => $run::<i16>($($argument),*),
            rsf_io::Kind::Long => $run::<i64>($($argument),*),
            rsf_io::Kind::Double => $run::<f64>($($argument),*),
        }
    };
}
pub(crate) use by_kind;

/// The axes of a dataset up to the last that counts: at least one, and their lengths multiply to the number of elements.
/// Errors: a dataset without elements.
pub fn shape(input: &Input) -> Result<Vec<Axis>> {
    let present = (1..=MAX_AXES).take_while(|i| input.header().raw(&format!("n{i}")).is_some());
    let rank = present.count().min(input.rank()).max(1);
    ensure!(
        !input.is_empty(),
        "{}: there are no elements ({}), so there is nothing to do",
        input.name(),
        input.header().sizes()
    );
    Ok((1..=rank).map(|i| input.axis(i)).collect())
}

/// The axes of [`shape`], followed by axes of length 1 (with what the header says of them) up to `rank`.
pub fn shape_to(input: &Input, rank: usize) -> Result<Vec<Axis>> {
    let mut axes = shape(input)?;
    for i in axes.len() + 1..=rank {
        let axis = input.axis(i);
        axes.push(Axis { n: 1, ..axis });
    }
    Ok(axes)
}

/// Number of elements on some axes.
pub fn count(axes: &[Axis]) -> usize {
    axes.iter().map(|axis| axis.n).product()
}

/// Copies the next `elements` elements.
pub fn copy<T: Element>(input: &mut Input, output: &mut Output, elements: u64) -> Result<()> {
    let mut buffer = vec![T::zeroed(); elements.min(PIECE as u64) as usize];
    let mut left = elements;
    while left > 0 {
        let now = left.min(buffer.len() as u64) as usize;
        input.read(&mut buffer[..now])?;
        output.write(&buffer[..now])?;
        left -= now as u64;
    }
    Ok(())
}

/// Reads what is left in pieces, changes each in place and writes it.
pub fn map<T: Element>(
    input: &mut Input,
    output: &mut Output,
    mut change: impl FnMut(&mut [T]),
) -> Result<()> {
    let mut buffer = vec![T::zeroed(); input.remaining().min(PIECE as u64) as usize];
    while input.remaining() > 0 {
        let now = input.remaining().min(buffer.len() as u64) as usize;
        input.read(&mut buffer[..now])?;
        change(&mut buffer[..now]);
        output.write(&buffer[..now])?;
    }
    Ok(())
}

/// Writes `elements` zeros.
pub fn zeros<T: Element>(output: &mut Output, elements: u64) -> Result<()> {
    let buffer = vec![T::zeroed(); elements.min(PIECE as u64) as usize];
    let mut left = elements;
    while left > 0 {
        let now = left.min(buffer.len() as u64) as usize;
        output.write(&buffer[..now])?;
        left -= now as u64;
    }
    Ok(())
}

/// Writes all axes into the header.
pub fn write_axes(output: &mut Output, axes: &[Axis]) {
    for (i, axis) in axes.iter().enumerate() {
        output.set_axis(i + 1, axis);
    }
}

/// Moves to the next place on some axes, the first fastest; false when it wraps around to the beginning.
pub fn step(place: &mut [usize], axes: &[Axis]) -> bool {
    for (at, axis) in place.iter_mut().zip(axes) {
        *at += 1;
        if *at < axis.n {
            return true;
        }
        *at = 0;
    }
    false
}

/// Checks that two datasets have the same type and the same axes, but for the length of axis `except` (counted from 1).
/// Errors: another type, another length. Other origins and samplings are warned of.
pub fn agree(job: &Job, first: &Input, other: &Input, except: Option<usize>) -> Result<()> {
    let (kind, found) = (first.format().kind, other.format().kind);
    ensure!(
        kind == found,
        "{} holds {} data and {} holds {} data: all datasets must have one type (sfdd converts)",
        first.name(),
        kind.word(),
        other.name(),
        found.word()
    );
    let rank = shape(first)?.len().max(shape(other)?.len());
    for i in (1..=rank).filter(|i| Some(*i) != except) {
        let (a, b) = (first.axis(i), other.axis(i));
        ensure!(
            a.n == b.n,
            "n{i}={} in {} and n{i}={} in {}: the lengths must be equal",
            a.n,
            first.name(),
            b.n,
            other.name()
        );
        let far = |a: f32, b: f32| (a - b).abs() > 1e-3 * first.axis(i).d.abs();
        for (key, a, b) in [("o", a.o, b.o), ("d", a.d, b.d)] {
            if far(a, b) {
                job.warn(&format!(
                    "{key}{i}={a} in {} and {key}{i}={b} in {}: the first is taken",
                    first.name(),
                    other.name()
                ));
            }
        }
    }
    Ok(())
}
