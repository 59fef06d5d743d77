//! `sftransp`: exchanging two axes.

use anyhow::{Result, ensure};
use rayon::prelude::*;
use rsf_io::{Element, Input, Job, MAX_AXES, Output, Param, Program};

use super::cube::{self, PIECE, by_kind, copy, write_axes};

pub static SPEC: Program = Program {
    name: "sftransp",
    about: "Exchange two axes (transpose).",
    usage: "< in.rsf plane=12 memsize=1024 > out.rsf",
    comments: "A file is read in several passes, using an eighth of its size (or 64 MB) as memory, but at most memsize=. \
If whole lines are exchanged (plane=23), hardly any memory is needed. Data from a pipe are transposed in memory if \
they fit into memsize=; otherwise they are first written to a temporary file in the data path.",
    example: "sftransp < in.rsf plane=23 > out.rsf",
    params: &PARAMS,
};

static PARAMS: [Param; 2] = [
    Param::int("plane")
        .default("12")
        .range("of two digits, such as 12 or 13", Some(10.0), Some(99.0))
        .doc("the two axes"),
    Param::int("memsize")
        .default("1024")
        .range(">= 1", Some(1.0), None)
        .doc("memory to use, in megabytes"),
];

/// Groups of at most this number of bytes are transposed in memory, whether they come from a file or from a
/// pipe.
const SMALL: usize = 64 << 20;
/// Contiguous runs of at least this number of bytes are read one by one.
const LINE: usize = 1024;

/// The shape of the data as five axes, fastest first: the axes below the first one that is exchanged, the first, the
/// axes between, the second, and the axes above.
#[derive(Clone, Copy)]
struct Turn {
    below: usize,
    first: usize,
    between: usize,
    second: usize,
    above: usize,
}

pub fn run(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    let plane = job.int("plane")? as usize;
    let (a, b) = ((plane / 10).min(plane % 10), (plane / 10).max(plane % 10));
    ensure!(
        a >= 1 && a < b,
        "plane={plane}: two different axes from 1 to {MAX_AXES} are needed, such as plane=12"
    );
    let mut axes = cube::shape_to(&input, b)?;
    let turn = Turn {
        below: cube::count(&axes[..a - 1]),
        first: axes[a - 1].n,
        between: cube::count(&axes[a..b - 1]),
        second: axes[b - 1].n,
        above: cube::count(&axes[b..]),
    };
    axes.swap(a - 1, b - 1);
    let mut output = job.output()?;
    write_axes(&mut output, &axes);
    let (kind, elements) = (input.format().kind, input.len());
    let room = job.int("memsize")? as usize * (1 << 20) / kind.size();
    let small = turn.group() <= room.min(SMALL / kind.size());
    let large = !small && (input.is_seekable() || turn.group() > room);
    if turn.moves_nothing() {
        by_kind!(kind, copy(&mut input, &mut output, elements))?;
    } else if !large {
        by_kind!(kind, in_memory(&mut input, &mut output, turn))?;
    } else {
        let input = job.by_position(input)?;
        if turn.below * kind.size() >= LINE {
            by_kind!(kind, by_lines(&input, &mut output, turn))?;
        } else {
            by_kind!(kind, in_passes(&input, &mut output, turn, room))?;
        }
    }
    Ok(output.finish()?)
}

impl Turn {
    /// The number of elements of a group, which spans all axes up to the second one that is exchanged.
    fn group(self) -> usize {
        self.below * self.first * self.between * self.second
    }

    /// Whether the order of the elements stays the same, because axes have one sample.
    fn moves_nothing(self) -> bool {
        self.between == 1 && self.first.min(self.second) == 1 || self.first * self.between * self.second == 1
    }
}

/// The number of elements in the read buffer. The buffer of a file fits into the caches of a core; the buffer of a pipe
/// is larger, because it stores whole lines.
const HELD: usize = 1 << 18;
const HELD_OF_PIPE: usize = 1 << 22;
/// The number of samples of the second axis that are written together, which fill a few cache lines.
const TOGETHER: usize = 64;

/// Transposes each group in memory, reading it once in the order of the file.
fn in_memory<T: Element + Send + Sync>(input: &mut Input, output: &mut Output, turn: Turn) -> Result<()> {
    let line = turn.first * turn.below;
    let whole = turn.between * line;
    // A tile consists of several samples of the second axis, or of a part of one.
    let tile = if whole <= HELD_OF_PIPE {
        Tile::new((HELD_OF_PIPE / whole).min(TOGETHER), turn.between, turn)
    } else {
        Tile::new(1, HELD_OF_PIPE / line, turn)
    };
    let mut new: Vec<T> = cube::room(turn.group())?;
    let mut old: Vec<T> = cube::room(tile.second * tile.between * line)?;
    for _ in 0..turn.above {
        for at in tile.places(turn) {
            let held = &mut old[..at.lines() * line];
            input.read(held)?;
            place(held, &mut new, at, turn);
        }
        output.write(&new)?;
    }
    Ok(())
}

/// Transposes in several passes, each of which reads and writes a range of at least one sample of the first axis.
fn in_passes<T: Element + Send + Sync>(
    input: &Input,
    output: &mut Output,
    turn: Turn,
    room: usize,
) -> Result<()> {
    let slab = turn.group() / turn.first;
    let bytes = (turn.group() / 8).max(SMALL / size_of::<T>()).min(room);
    let at_once = (bytes / slab).clamp(1, turn.first);
    let mut new: Vec<T> = cube::room(slab * at_once)?;
    let line = at_once * turn.below;
    let tile = Tile::new(TOGETHER, HELD / TOGETHER / line, turn);
    let mut old: Vec<T> = cube::room(tile.second * tile.between * line)?;
    for above in 0..turn.above {
        for start in (0..turn.first).step_by(at_once) {
            let part = Turn {
                first: at_once.min(turn.first - start),
                ..turn
            };
            let line = part.first * turn.below;
            for at in tile.places(part) {
                for (number, held) in old[..at.lines() * line].chunks_exact_mut(line).enumerate() {
                    let (s, m) = (at.s + number / at.between, at.m + number % at.between);
                    let strip = (above * turn.second + s) * turn.between + m;
                    input.read_at(((strip * turn.first + start) * turn.below) as u64, held)?;
                }
                place(&old[..at.lines() * line], &mut new, at, part);
            }
            output.write(&new[..part.group()])?;
        }
    }
    Ok(())
}

/// Reads contiguous runs in the new order.
fn by_lines<T: Element>(input: &Input, output: &mut Output, turn: Turn) -> Result<()> {
    let below = turn.below;
    let mut held: Vec<T> = cube::room(HELD.max(below.min(PIECE)) / below.min(PIECE) * below.min(PIECE))?;
    let mut filled = 0;
    for above in 0..turn.above {
        for to in 0..turn.group() / below {
            let (s, rest) = (to % turn.second, to / turn.second);
            let (m, f) = (rest % turn.between, rest / turn.between);
            let from = (((above * turn.second + s) * turn.between + m) * turn.first + f) * below;
            for start in (0..below).step_by(PIECE) {
                let now = PIECE.min(below - start);
                if filled + now > held.len() {
                    output.write(&held[..filled])?;
                    filled = 0;
                }
                input.read_at((from + start) as u64, &mut held[filled..filled + now])?;
                filled += now;
            }
        }
    }
    Ok(output.write(&held[..filled])?)
}

/// The number of lines that fit into the read buffer, along the second axis and along the axes between. A line spans
/// the first axis and the axes below it.
#[derive(Clone, Copy)]
struct Tile {
    second: usize,
    between: usize,
}

/// A tile in the data: the index of its first line on the second axis (`s`) and on the axes between (`m`), and its
/// size.
#[derive(Clone, Copy)]
struct At {
    s: usize,
    m: usize,
    second: usize,
    between: usize,
}

impl At {
    fn lines(self) -> usize {
        self.second * self.between
    }
}

impl Tile {
    fn new(second: usize, between: usize, turn: Turn) -> Self {
        Self {
            second: second.clamp(1, turn.second),
            between: between.clamp(1, turn.between),
        }
    }

    /// All tiles; the index on the axes between varies fastest.
    fn places(self, turn: Turn) -> impl Iterator<Item = At> {
        (0..turn.second).step_by(self.second).flat_map(move |s| {
            (0..turn.between).step_by(self.between).map(move |m| At {
                s,
                m,
                second: self.second.min(turn.second - s),
                between: self.between.min(turn.between - m),
            })
        })
    }
}

/// Copies the lines of a tile, `[second][between][first][below]` (the last fastest), to their positions in
/// `[first][between][second][below]`.
fn place<T: Element + Send + Sync>(old: &[T], new: &mut [T], at: At, turn: Turn) {
    let (below, line) = (turn.below, turn.first * turn.below);
    let slab = turn.between * turn.second * below;
    let samples = new[..turn.first * slab]
        .par_chunks_mut(slab)
        .with_min_len(256)
        .enumerate();
    samples.for_each(|(f, slab)| {
        for m in 0..at.between {
            let to = (at.m + m) * turn.second + at.s;
            let lines = old[m * line..].chunks(at.between * line);
            if below == 1 {
                let to = slab[to..to + at.second].iter_mut();
                to.zip(lines).for_each(|(to, line)| *to = line[f]);
                continue;
            }
            let to = slab[to * below..(to + at.second) * below].chunks_exact_mut(below);
            to.zip(lines)
                .for_each(|(to, line)| to.copy_from_slice(&line[f * below..(f + 1) * below]));
        }
    });
}
