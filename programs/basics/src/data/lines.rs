//! Processing of a dataset in one pass, either of whole lines of axis 1 by all threads or of runs of elements with
//! their indices. The memory does not grow with the dataset.

use anyhow::{Result, ensure};
use rayon::prelude::*;
use rsf_io::{Axis, Element, Input, Job, MAX_AXES, Output};

use super::cube::{self, PIECE};

/// Reads all remaining lines of `lengths.0` elements and writes for each a line of `lengths.1` elements, in the same
/// order. `work` receives the state that `state` creates for a thread, the number of the line, the line, and a line of
/// zeros to fill.
pub fn each<A, B, S>(
    input: &mut Input,
    output: &mut Output,
    lengths: (usize, usize),
    state: impl Fn() -> S + Send + Sync,
    work: impl Fn(&mut S, u64, &[A], &mut [B]) -> Result<()> + Send + Sync,
) -> Result<()>
where
    A: Element + Send + Sync,
    B: Element + Send + Sync,
{
    let (before, after) = lengths;
    let together = (PIECE / before.max(after)).max(1) as u64;
    let mut done = 0;
    let (mut lines, mut results): (Vec<A>, Vec<B>) = (Vec::new(), Vec::new());
    while input.remaining() > 0 {
        let now = (input.remaining() / before as u64).min(together) as usize;
        if lines.len() != now * before {
            lines = cube::room(now * before)?;
            results = cube::room(now * after)?;
        }
        input.read(&mut lines)?;
        results
            .par_chunks_exact_mut(after)
            .zip(lines.par_chunks_exact(before))
            .enumerate()
            .try_for_each_init(&state, |state, (i, (result, line))| {
                result.fill(B::zeroed());
                work(state, done + i as u64, line, result)
            })?;
        output.write(&results)?;
        done += now as u64;
    }
    Ok(())
}

/// Reads all elements and writes them after `change` has changed them run by run. A run lies within a line of axis 1;
/// `change` receives the index of the line on the other axes, the index of the first sample of the run on axis 1, and
/// the run.
pub fn runs<T: Element>(
    input: &mut Input,
    output: &mut Output,
    axes: &[Axis],
    mut change: impl FnMut(&[usize], usize, &mut [T]),
) -> Result<()> {
    let (n, outer) = (axes[0].n, &axes[1..]);
    let (mut at, mut place) = (0, vec![0; outer.len()]);
    cube::map(input, output, |mut rest: &mut [T]| {
        while !rest.is_empty() {
            let (run, left) = rest.split_at_mut((n - at).min(rest.len()));
            change(&place, at, run);
            at += run.len();
            rest = left;
            if at == n {
                at = 0;
                cube::step(&mut place, outer);
            }
        }
    })
}

/// Checks that `name` is not given with the number of an axis that the data do not have.
pub fn refuse_beyond(job: &Job, name: &str, axes: &[Axis]) -> Result<()> {
    for i in axes.len() + 1..=MAX_AXES {
        ensure!(
            !job.given(&format!("{name}{i}")),
            "{name}{i}= is given, but the data have {} axes: the axis must be 1 to {}",
            axes.len(),
            axes.len()
        );
    }
    Ok(())
}
