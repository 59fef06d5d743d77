//! `sfreverse` and `sfrotate`: reversing and rotating axes.

use anyhow::{Result, bail, ensure};
use rsf_io::{Axis, Element, Input, Job, Output, Param, Program};

use super::cube::{self, by_kind, write_axes};
use super::shots::{Shots, is_of_shots};

pub static REVERSE: Program = Program {
    name: "sfreverse",
    about: "Reverse axes.",
    usage: "< in.rsf which=1 opt=y > out.rsf",
    comments: "which= is a sum of 1 for axis 1, 2 for axis 2, 4 for axis 3, 8 for axis 4 and so on; which=5 reverses \
axes 1 and 3.",
    example: "sfreverse < in.rsf which=2 > out.rsf",
    params: &[
        Param::int("which")
            .default("-1")
            .range("-1 to 511", Some(-1.0), Some(511.0))
            .doc("axes to reverse, as a sum of powers of 2; -1: the last axis"),
        Param::string("opt").default("y").doc(
            "y: o# and d# describe the reversed axis; n: d# is kept and o# becomes minus the \
            coordinate of the last sample; i: both are kept",
        ),
        MEMORY,
        Param::bool("verb")
            .default("n")
            .doc("y: print which axes are reversed"),
    ],
};

pub static ROTATE: Program = Program {
    name: "sfrotate",
    about: "Move samples from the end of an axis to its beginning.",
    usage: "< in.rsf rot1= rot2= > out.rsf",
    comments: "rot1=2 turns 0 1 2 3 4 5 into 4 5 0 1 2 3, and rot1=-2 turns it into 2 3 4 5 0 1. Origins do \
    not change.",
    example: "sfrotate < in.rsf rot1=50 > out.rsf",
    params: &[
        Param::int("rot#")
            .default_text("0")
            .doc("number of samples of axis # that move from the end to the beginning; negative: in the other direction; \
fewer than the length of the axis"),
        MEMORY,
        Param::bool("verb").default("n").doc("accepted without effect").ignored(),
    ],
};

const MEMORY: Param = Param::int("memsize")
    .default("1024")
    .range(">= 1", Some(1.0), None)
    .doc("megabytes of memory to use");

/// The new order of the samples of an axis.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    Same,
    Reversed,
    /// Rotated; the value is the index of the sample that comes first.
    From(usize),
}

impl Order {
    fn source(self, at: usize, n: usize) -> usize {
        match self {
            Self::Same => at,
            Self::Reversed => n - 1 - at,
            Self::From(first) => (at + first) % n,
        }
    }
}

pub fn reverse(job: &mut Job) -> Result<()> {
    let input = job.stdin()?;
    let mut axes = cube::shape(&input)?;
    let which = match job.int("which")? {
        -1 => 1 << (axes.len() - 1),
        which => which,
    };
    let orders: Vec<Order> = (0..axes.len())
        .map(|i| {
            if which >> i & 1 == 1 && axes[i].n > 1 {
                Order::Reversed
            } else {
                Order::Same
            }
        })
        .collect();
    let last = cube::present(&input);
    if which >> last != 0 {
        job.warn(&format!(
            "which={which} names an axis after the {last} axes of the data ({}), which is ignored. which= is \
            a sum of 1 for axis 1, 2 for axis 2, 4 for axis 3 and so on",
            input.header().sizes()
        ));
    }
    let old = axes.clone();
    for (i, axis) in axes
        .iter_mut()
        .enumerate()
        .filter(|(i, _)| orders[*i] == Order::Reversed)
    {
        let end = axis.at((axis.n - 1) as f64);
        match job.text("opt")?.unwrap_or_default().as_bytes().first() {
            Some(b'y') => (axis.o, axis.d) = (end, -axis.d),
            Some(b'n') => axis.o = -end,
            Some(b'i') => {}
            _ => bail!("opt= must be y, n or i"),
        }
        if job.flag("verb")? {
            job.say(&format!("axis {} is reversed", i + 1));
        }
    }
    warn_of_names(job, &input, orders[0] == Order::Same);
    reorder(job, input, &old, &axes, &orders)
}

/// Warns that the names of stations keep their order although the order of the receivers on axis 1 changes.
fn warn_of_names(job: &Job, input: &Input, same: bool) {
    let names = input
        .header()
        .text("stations")
        .filter(|names| !same && !names.is_empty());
    if let Some(names) = names.filter(|names| names.split(',').count() == input.axis(1).n) {
        job.warn(&format!(
            "stations={names} in the header keeps this order, but the receivers of axis 1 change theirs: sfput stations= writes the names in the new order, or removes them"
        ));
    }
}

pub fn rotate(job: &mut Job) -> Result<()> {
    let input = job.stdin()?;
    let axes = cube::shape(&input)?;
    cube::warn_of_axes_beyond(job, cube::present(&input), &["rot"], |key, _| {
        Ok(job.int_opt(key)? == Some(0))
    })?;
    let mut orders = Vec::new();
    for (i, axis) in (1..).zip(&axes) {
        let (shift, n) = (job.int_opt(&format!("rot{i}"))?.unwrap_or(0), axis.n as i64);
        ensure!(
            (-n..=n).contains(&shift) && shift != n,
            "rot{i}={shift}: axis {i} has {n} samples, so rot{i}= can be -{n} to {}",
            n - 1
        );
        orders.push(match (-shift).rem_euclid(n) as usize {
            0 => Order::Same,
            first => Order::From(first),
        });
    }
    warn_of_names(job, &input, orders.first() == Some(&Order::Same));
    reorder(job, input, &axes, &axes, &orders)
}

fn reorder(job: &mut Job, mut input: Input, old: &[Axis], new: &[Axis], orders: &[Order]) -> Result<()> {
    let mut output = job.output()?;
    write_axes(&mut output, new);
    let moves_shots = old
        .iter()
        .zip(orders)
        .any(|(axis, order)| is_of_shots(axis) && *order != Order::Same);
    if moves_shots && Shots::of(input.header()).is_some() {
        Shots::put_unknown(&mut output);
        job.warn(
            "shots= is left out of the header, because a list of shots is ascending and these shots no longer are: sfput shots= sets it when they are in that order again",
        );
    }
    let kind = input.format().kind;
    let last = orders.iter().rposition(|order| *order != Order::Same);
    let Some(last) = last else {
        cube::copy_all(&mut input, &mut output)?;
        return Ok(output.finish()?);
    };
    let (axes, orders) = (&old[..=last], &orders[..=last]);
    let room = job.int("memsize")? as usize * (1 << 20) / kind.size();
    if cube::count(axes) <= room {
        by_kind!(kind, in_memory(&mut input, &mut output, axes, orders))?;
    } else {
        let input = job.by_position(input)?;
        by_kind!(kind, by_position(&input, &mut output, axes, orders))?;
    }
    Ok(output.finish()?)
}

/// The number of elements in a block of the leading axes, whose order does not change, and the position in
/// the file of the first element of every block, in the new order.
fn blocks(axes: &[Axis], orders: &[Order]) -> (usize, impl Iterator<Item = usize>) {
    let same = orders.iter().take_while(|order| **order == Order::Same).count();
    let block = cube::count(&axes[..same]);
    let (axes, orders) = (axes[same..].to_vec(), orders[same..].to_vec());
    let mut place = vec![0; axes.len()];
    let mut more = true;
    let starts = std::iter::from_fn(move || {
        if !more {
            return None;
        }
        let (mut start, mut stride) = (0, block);
        for ((at, axis), order) in place.iter().zip(&axes).zip(&orders) {
            start += order.source(*at, axis.n) * stride;
            stride *= axis.n;
        }
        more = cube::step(&mut place, &axes);
        Some(start)
    });
    (block, starts)
}

fn in_memory<T: Element>(
    input: &mut Input,
    output: &mut Output,
    axes: &[Axis],
    orders: &[Order],
) -> Result<()> {
    let mut group = vec![T::zeroed(); cube::count(axes)];
    let mut piece: Vec<T> = Vec::new();
    while input.remaining() > 0 {
        input.read(&mut group)?;
        let (block, starts) = blocks(axes, orders);
        for start in starts {
            piece.extend_from_slice(&group[start..start + block]);
            if piece.len() >= cube::PIECE {
                output.write(&piece)?;
                piece.clear();
            }
        }
        output.write(&piece)?;
        piece.clear();
    }
    Ok(())
}

fn by_position<T: Element>(
    input: &Input,
    output: &mut Output,
    axes: &[Axis],
    orders: &[Order],
) -> Result<()> {
    let group = cube::count(axes) as u64;
    for above in 0..input.len() / group {
        let (block, starts) = blocks(axes, orders);
        let mut piece = vec![T::zeroed(); block.min(cube::PIECE)];
        for start in starts {
            for at in (0..block).step_by(piece.len()) {
                let now = piece.len().min(block - at);
                input.read_at(above * group + (start + at) as u64, &mut piece[..now])?;
                output.write(&piece[..now])?;
            }
        }
    }
    Ok(())
}
