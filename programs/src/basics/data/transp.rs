//! `sftransp`: two axes change places.

use anyhow::{Result, ensure};
use rsf_io::{Element, Input, Job, MAX_AXES, Output, Param, Program};

use super::cube::{self, by_kind, copy, write_axes};

/// What the user sees.
pub static SPEC: Program = Program {
    name: "sftransp",
    about: "Let two axes change places.",
    usage: "< in.rsf plane=12 memsize=1024 > out.rsf",
    comments: "What fits into memsize= is turned in memory. Larger data are read from their file in several passes; data \
of a pipe go into a temporary file in the data path first.",
    example: "sftransp < in.rsf plane=23 > out.rsf",
    params: &PARAMS,
};

static PARAMS: [Param; 2] = [
    Param::int("plane")
        .default("12")
        .range("of two digits, such as 12 or 13", Some(12.0), Some(98.0))
        .doc("the two axes"),
    Param::int("memsize")
        .default("1024")
        .range(">= 1", Some(1.0), None)
        .doc("megabytes of memory to use"),
];

/// Lengths around the two axes, from the fastest: below the first, the first, between, the second, above.
#[derive(Clone, Copy)]
struct Turn {
    below: usize,
    first: usize,
    between: usize,
    second: usize,
    above: usize,
}

/// Transposes.
pub fn run(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    let plane = job.int("plane")? as usize;
    let (a, b) = ((plane / 10).min(plane % 10), (plane / 10).max(plane % 10));
    ensure!(
        a >= 1 && a < b,
        "plane={plane}: two different axes from 1 to {MAX_AXES} are wanted, such as plane=12"
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
    if turn.moves_nothing() {
        by_kind!(kind, copy(&mut input, &mut output, elements))?;
    } else if turn.group() <= room / 2 {
        by_kind!(kind, in_memory(&mut input, &mut output, turn))?;
    } else {
        let input = job.by_position(input)?;
        by_kind!(kind, in_passes(&input, &mut output, turn, room))?;
    }
    Ok(output.finish()?)
}

impl Turn {
    /// Elements that change places among themselves.
    fn group(self) -> usize {
        self.below * self.first * self.between * self.second
    }

    /// True when the order of the elements stays: only axes of one sample are passed.
    fn moves_nothing(self) -> bool {
        self.between == 1 && self.first.min(self.second) == 1 || self.first * self.between * self.second == 1
    }
}

fn in_memory<T: Element>(input: &mut Input, output: &mut Output, turn: Turn) -> Result<()> {
    let mut old = vec![T::zeroed(); turn.group()];
    let mut new = vec![T::zeroed(); turn.group()];
    for _ in 0..turn.above {
        input.read(&mut old)?;
        place(&old, &mut new, turn);
        output.write(&new)?;
    }
    Ok(())
}

/// From `[second][between][first][below]` (the last fastest) to `[first][between][second][below]`.
fn place<T: Element>(old: &[T], new: &mut [T], turn: Turn) {
    /// Side of the squares that are turned one by one, so that both sides stay in the cache.
    const SIDE: usize = 32;
    let Turn {
        below,
        first,
        between,
        second,
        ..
    } = turn;
    for top in (0..second).step_by(SIDE) {
        for left in (0..first).step_by(SIDE) {
            for m in 0..between {
                for s in top..second.min(top + SIDE) {
                    for f in left..first.min(left + SIDE) {
                        let from = ((s * between + m) * first + f) * below;
                        let to = ((f * between + m) * second + s) * below;
                        new[to..to + below].copy_from_slice(&old[from..from + below]);
                    }
                }
            }
        }
    }
}

/// Each pass reads what becomes a run of samples of the slowest axis of a group. One sample of it is always held.
fn in_passes<T: Element>(input: &Input, output: &mut Output, turn: Turn, room: usize) -> Result<()> {
    let slab = turn.group() / turn.first;
    let at_once = (room / 2 / slab).clamp(1, turn.first);
    let mut old = vec![T::zeroed(); slab * at_once];
    let mut new = vec![T::zeroed(); slab * at_once];
    for above in 0..turn.above {
        for start in (0..turn.first).step_by(at_once) {
            let part = Turn {
                first: at_once.min(turn.first - start),
                ..turn
            };
            let run = part.first * turn.below;
            for strip in 0..turn.second * turn.between {
                let from = above * turn.group() + (strip * turn.first + start) * turn.below;
                input.read_at(from as u64, &mut old[strip * run..(strip + 1) * run])?;
            }
            place(&old[..part.group()], &mut new[..part.group()], part);
            output.write(&new[..part.group()])?;
        }
    }
    Ok(())
}
