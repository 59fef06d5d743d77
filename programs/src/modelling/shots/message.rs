//! Messages from other ranks to rank 0 with the outcome of a shot, or of the sum of several shots.

use super::{Outcome, ShotResult};
use crate::modelling::words::explained;
use crate::modelling::world::{World, of_another};
use anyhow::{bail, ensure};
use kernels::communicator::{PIECE, Topic};
use rsf_io::Signal;

/// Sends an outcome to rank 0: first a message that describes it, then messages with its values.
pub fn send(world: &World, outcome: Outcome) -> anyhow::Result<()> {
    let (head, values) = split(outcome, &world.name());
    world.ranks().send_to_root(Topic::Traces, head)?;
    let mut pieces = bytemuck::cast_slice::<f32, u8>(&values).chunks(PIECE);
    pieces.try_for_each(|piece| world.ranks().send_to_root(Topic::Traces, piece.to_vec()))?;
    Ok(world.ranks().flush()?)
}

/// Receives the next outcome of another rank, on rank 0.
pub fn receive(world: &World, from: usize) -> anyhow::Result<Outcome> {
    let next = || world.ranks().receive_from(Topic::Traces, from);
    let Some((mut outcome, count)) = of_head(&next()?) else {
        bail!("ranks disagree");
    };
    if let Outcome::Done(result) = &mut outcome {
        result.values.reserve_exact(count);
        while result.values.len() < count {
            let piece: Vec<f32> = bytemuck::pod_collect_to_vec(&next()?);
            ensure!(!piece.is_empty(), "ranks disagree");
            result.values.extend_from_slice(&piece);
        }
    }
    Ok(outcome)
}

/// The first message of the rank `name`, and the values that follow.
fn split(outcome: Outcome, name: &str) -> (Vec<u8>, Vec<f32>) {
    match outcome {
        Outcome::Done(ShotResult { values, own, words }) => {
            let lens = [words.len(), own.len(), values.len()].map(|len| len as u64);
            let words = lens.iter().chain(&words).flat_map(|word| word.to_le_bytes());
            let mut bytes: Vec<u8> = std::iter::once(0).chain(words).collect();
            bytes.extend_from_slice(bytemuck::cast_slice(&own));
            (bytes, values)
        }
        Outcome::Failed(error) => (
            format!("\u{1}{name}: {}", explained(&error)).into_bytes(),
            Vec::new(),
        ),
        Outcome::Stopped(signal) => (vec![2, signal.number()], Vec::new()),
    }
}

/// The outcome in the first message, without the values, and the number of values that follow.
fn of_head(bytes: &[u8]) -> Option<(Outcome, usize)> {
    let (&kind, rest) = bytes.split_first()?;
    let outcome = match kind {
        0 => {
            let (lens, rest) = rest.split_at_checked(24)?;
            let len = |k: usize| usize::try_from(u64::from_le_bytes(lens.as_chunks::<8>().0[k])).ok();
            let (words, own) = rest.split_at_checked(len(0)?.checked_mul(8)?)?;
            if own.len() != len(1)?.checked_mul(4)? {
                return None;
            }
            let words = words.as_chunks::<8>().0.iter();
            let result = ShotResult {
                values: Vec::new(),
                own: bytemuck::pod_collect_to_vec(own),
                words: words.map(|&word| u64::from_le_bytes(word)).collect(),
            };
            return Some((Outcome::Done(result), len(2)?));
        }
        1 => Outcome::Failed(of_another(String::from_utf8_lossy(rest).into_owned())),
        _ => Outcome::Stopped(Signal::of(*rest.first()?)?),
    };
    Some((outcome, 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    #[test]
    fn outcomes_travel_as_bytes() {
        let result = |values: Vec<f32>| ShotResult {
            values,
            own: vec![-7.25, 0.5],
            words: vec![7, u64::MAX],
        };
        let values = vec![1.5, -0.0, f32::MIN_POSITIVE];
        let (head, sent) = split(Outcome::Done(result(values.clone())), "rank 1");
        assert_eq!(sent, values);
        let read = of_head(&head);
        assert!(matches!(read, Some((Outcome::Done(read), 3)) if read == result(Vec::new())));
        let (none, _) = split(Outcome::Done(ShotResult::default()), "rank 1");
        assert!(matches!(of_head(&none), Some((Outcome::Done(read), 0)) if read == ShotResult::default()));
        let (failed, _) = split(Outcome::Failed(anyhow!("not finite")), "rank 1 on a");
        let Some((Outcome::Failed(error), 0)) = of_head(&failed) else {
            panic!("another outcome");
        };
        assert_eq!(error.to_string(), "rank 1 on a: not finite");
        let signal = Signal::of(15).unwrap();
        let (stopped, _) = split(Outcome::Stopped(signal), "rank 1");
        assert!(matches!(of_head(&stopped), Some((Outcome::Stopped(read), 0)) if read == signal));
        let long = [&[0, 9][..], &[0; 23], &[1]].concat();
        for damaged in [&[][..], &[0, 1], &long, &[2], &[2, 9], &head[..head.len() - 1]] {
            assert!(of_head(damaged).is_none(), "{damaged:?}");
        }
    }
}
