//! Sums over the shots of a survey, in the shape of a binary tree over the numbers of the shots: the bits of
//! a sum do not depend on which rank adds which part of it, and a rank can send one sum of several shots to
//! rank 0 instead of each shot.

use super::{Outcome, ShotResult};
use crate::modelling::world::World;
use std::ops::Range;

/// The largest number of shots that a rank adds before it sends their sum.
const MOST: usize = 8;

/// The nodes of the tree: the sum of `2^k` shots, the first of which is a multiple of `2^k`, is the sum of
/// its two halves. The nodes that are left at the end of a survey are added from the last shots to the first.
#[derive(Debug, Default)]
pub struct TreeSum {
    /// The nodes, from the first shots to the last.
    nodes: Vec<(Range<usize>, Vec<f32>)>,
}

impl TreeSum {
    /// The sum of the first `shots` shots, with `numbers` zeros in each node, into which a saved state is
    /// loaded.
    pub fn of_first(shots: usize, numbers: usize) -> Self {
        let node = |shots: Range<usize>| (shots, vec![0.0; numbers]);
        Self {
            nodes: nodes(0..shots, usize::MAX).into_iter().map(node).collect(),
        }
    }

    /// Adds a node, which follows the previous nodes.
    pub fn add(&mut self, shots: Range<usize>, values: Vec<f32>) {
        self.nodes.push((shots, values));
        while let [.., (first, _), (second, _)] = self.nodes.as_slice()
            && first.len() == second.len()
            && first.end == second.start
            && first.start.is_multiple_of(2 * first.len())
        {
            self.join();
        }
    }

    /// Adds the last two nodes.
    fn join(&mut self) {
        let Some((second, values)) = self.nodes.pop() else {
            return;
        };
        match self.nodes.last_mut() {
            Some((shots, sum)) => {
                sum.iter_mut().zip(values).for_each(|(sum, x)| *sum += x);
                shots.end = second.end;
            }
            None => self.nodes.push((second, values)),
        }
    }

    /// The sum of all shots; empty if there are none.
    pub fn total(mut self) -> Vec<f32> {
        while self.nodes.len() > 1 {
            self.join();
        }
        self.nodes.pop().map(|(_, sum)| sum).unwrap_or_default()
    }

    /// The shots of each node, and their sum.
    pub fn nodes_mut(&mut self) -> impl Iterator<Item = (&Range<usize>, &mut [f32])> {
        self.nodes.iter_mut().map(|(shots, sum)| (&*shots, &mut sum[..]))
    }
}

/// The largest number of nodes that rank 0 stores while it adds `shots` shots.
pub fn most_nodes(shots: usize) -> usize {
    (usize::BITS - shots.leading_zeros()) as usize
}

/// The nodes of the tree, of at most `most` shots each, that together cover these shots, in order.
pub fn nodes(shots: Range<usize>, most: usize) -> Vec<Range<usize>> {
    let (mut all, mut from) = (Vec::new(), shots.start);
    while from < shots.end {
        let aligned = 1usize << from.trailing_zeros().min(usize::BITS - 2);
        let fits = 1usize << (shots.end - from).ilog2();
        let size = aligned.min(fits).min(1 << most.ilog2());
        all.push(from..from + size);
        from += size;
    }
    all
}

/// The nodes of a survey for all ranks: the largest nodes with which no rank has more work than with single shots, but
/// none with more than `most` shots.
pub fn nodes_of_ranks(shots: Range<usize>, most: usize, world: &World) -> Vec<Range<usize>> {
    let ranks = world.ranks().size();
    let longest = |nodes: &[Range<usize>]| {
        let of_rank = |rank| -> usize { nodes.iter().skip(rank).step_by(ranks).map(Range::len).sum() };
        (0..ranks).map(of_rank).max()
    };
    let single = nodes(shots.clone(), 1);
    if world.is_alone() {
        return single;
    }
    let sizes = (1..=most.clamp(1, MOST).ilog2()).rev().map(|k| 1 << k);
    let mut several = sizes.map(|size| nodes(shots.clone(), size));
    let shorter = several.find(|nodes| longest(nodes) <= longest(&single));
    shorter.unwrap_or(single)
}

/// The outcome of a node: the sum of its shots, which `next` returns in order, and the further results of each of
/// them, one after the other.
pub(super) fn of_node(node: &Range<usize>, next: &mut dyn FnMut() -> Outcome) -> Outcome {
    let (mut sum, mut all) = (TreeSum::default(), ShotResult::default());
    for number in node.clone() {
        match next() {
            Outcome::Done(result) => {
                sum.add(number..number + 1, result.values);
                all.own.extend(result.own);
                all.words.extend(result.words);
            }
            ended => return ended,
        }
    }
    all.values = sum.total();
    Outcome::Done(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values whose sums depend on the order of addition.
    fn values(shot: usize) -> Vec<f32> {
        let large = if shot.is_multiple_of(4) { 1e8 } else { -1e8 };
        let second = if shot.is_multiple_of(2) {
            large
        } else {
            3.0 + shot as f32
        };
        vec![1.0 / (3.0 + shot as f32), second]
    }

    fn of_single(shots: Range<usize>) -> TreeSum {
        let mut sum = TreeSum::default();
        shots.for_each(|shot| sum.add(shot..shot + 1, values(shot)));
        sum
    }

    /// Sums of 2^24 and several ones: in single precision 2^24 + 1 is 2^24, so ones that are added singly have no
    /// effect. In the tree ((2^24 + 1) + (1 + 1)) + ((1 + 1) + 1) two of them are added first, and three, whose sum
    /// with 2^24 + 2 is rounded to 2^24 + 4.
    #[test]
    fn a_sum_has_the_shape_of_its_tree() {
        let value = |shot: usize| if shot == 0 { 16_777_216.0 } else { 1.0f32 };
        let mut sum = TreeSum::default();
        (0..7).for_each(|shot| sum.add(shot..shot + 1, vec![value(shot)]));
        assert_eq!(sum.total(), [16_777_220.0]);
        assert_eq!((0..7).map(value).sum::<f32>(), 16_777_216.0);
        assert_eq!(TreeSum::default().total(), Vec::<f32>::new());
        assert_eq!(of_single(0..1).total(), values(0));
    }

    #[test]
    fn parts_of_any_size_add_up_to_the_same_bits() {
        for shots in [1, 2, 5, 8, 13, 16, 31] {
            let expected = of_single(0..shots).total();
            for most in [1, 2, 3, 4, 8, 64] {
                // A state is saved after the first shots, then the remaining shots are added.
                for done in 0..shots {
                    let mut sum = of_single(0..done);
                    for node in nodes(done..shots, most) {
                        assert!(node.len() <= most);
                        sum.add(node.clone(), of_single(node).total());
                    }
                    assert_eq!(sum.total(), expected, "{done} of {shots} shots, {most}");
                }
            }
        }
    }

    #[test]
    fn a_state_holds_as_many_sums_as_are_predicted() {
        for shots in 1..70 {
            let mut most = 0;
            let mut sum = TreeSum::default();
            for shot in 0..shots {
                sum.add(shot..shot + 1, values(shot));
                most = most.max(sum.nodes_mut().count());
                let mut loaded = TreeSum::of_first(shot + 1, 2);
                let ranges = |sum: &mut TreeSum| -> Vec<Range<usize>> {
                    sum.nodes_mut().map(|(shots, _)| shots.clone()).collect()
                };
                assert_eq!(ranges(&mut loaded), ranges(&mut sum));
            }
            assert!(most <= most_nodes(shots), "{most} sums of {shots} shots");
        }
    }

    #[test]
    fn a_shot_that_fails_ends_its_node() {
        let one = |number: usize| match number {
            6 => Outcome::Failed(anyhow::anyhow!("no memory")),
            _ => Outcome::Done(ShotResult {
                values: values(number),
                own: vec![number as f32],
                words: vec![number as u64, 9],
            }),
        };
        let (mut computed, mut shot) = (0, 4..);
        let mut next = || {
            computed += 1;
            one(shot.next().unwrap_or_default())
        };
        let Outcome::Done(of_two) = of_node(&(4..6), &mut next) else {
            panic!("both are made");
        };
        assert_eq!(of_two.values, of_single(4..6).total());
        assert_eq!(of_two.own, [4.0, 5.0]);
        assert_eq!(of_two.words, [4, 9, 5, 9]);
        let ended = of_node(&(6..8), &mut next);
        assert!(matches!(ended, Outcome::Failed(error) if error.to_string() == "no memory"));
        assert_eq!(computed, 3, "nothing is made after a fault");
    }
}
