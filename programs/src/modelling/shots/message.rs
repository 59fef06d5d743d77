//! What became of a shot, or the sum of several, on its way from another rank to rank 0.

use super::{Made, Outcome};
use crate::modelling::world::{World, of_another};
use anyhow::bail;
use kernels::parallel::communicator::{PIECE, Topic};
use rsf_io::Signal;

/// Sends what became of a shot to rank 0, in messages that say whether another one follows.
pub fn send(world: &World, outcome: Outcome) -> anyhow::Result<()> {
    let bytes = to_bytes(outcome, &world.name());
    let last = bytes.len().div_ceil(PIECE) - 1;
    for (k, piece) in bytes.chunks(PIECE).enumerate() {
        let message = [&[u8::from(k < last)], piece].concat();
        world.ranks().send_to_root(Topic::Traces, message)?;
    }
    Ok(world.ranks().flush()?)
}

/// On rank 0: what became of the next shot of another rank.
pub fn receive(world: &World, from: usize) -> anyhow::Result<Outcome> {
    let mut bytes = Vec::new();
    loop {
        let message = world.ranks().receive_from(Topic::Traces, from)?;
        let Some((&more, piece)) = message.split_first() else {
            break;
        };
        bytes.extend_from_slice(piece);
        if more == 0 {
            break;
        }
    }
    match from_bytes(&bytes) {
        Some(outcome) => Ok(outcome),
        None => bail!("ranks do not understand each other"),
    }
}

/// Of `name`, the rank.
fn to_bytes(outcome: Outcome, name: &str) -> Vec<u8> {
    match outcome {
        Outcome::Made(Made { values, own, words }) => {
            let mut bytes = vec![0];
            bytes.reserve(17 + 8 * words.len() + 4 * (own.len() + values.len()));
            bytes.extend(
                [words.len(), own.len()]
                    .into_iter()
                    .flat_map(|len| (len as u64).to_le_bytes()),
            );
            bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
            bytes.extend_from_slice(bytemuck::cast_slice(&own));
            bytes.extend_from_slice(bytemuck::cast_slice(&values));
            bytes
        }
        Outcome::Failed(error) => format!("\u{1}{name}: {error:#}").into_bytes(),
        Outcome::Stopped(signal) => vec![2, signal.number()],
    }
}

/// What [`to_bytes`] wrote.
fn from_bytes(bytes: &[u8]) -> Option<Outcome> {
    let (&kind, rest) = bytes.split_first()?;
    Some(match kind {
        0 => {
            let (lens, rest) = rest.split_at_checked(16)?;
            let len = |k: usize| usize::try_from(u64::from_le_bytes(lens.as_chunks::<8>().0[k])).ok();
            let (words, rest) = rest.split_at_checked(len(0)?.checked_mul(8)?)?;
            let (own, values) = rest.split_at_checked(len(1)?.checked_mul(4)?)?;
            let words = words.as_chunks::<8>().0.iter();
            Outcome::Made(Made {
                values: bytemuck::pod_collect_to_vec(values),
                own: bytemuck::pod_collect_to_vec(own),
                words: words.map(|&word| u64::from_le_bytes(word)).collect(),
            })
        }
        1 => Outcome::Failed(of_another(String::from_utf8_lossy(rest).into_owned())),
        _ => Outcome::Stopped(Signal::of(*rest.first()?)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    #[test]
    fn outcomes_travel_as_bytes() {
        let made = Made {
            values: vec![1.5, -0.0, f32::MIN_POSITIVE],
            own: vec![-7.25, 0.5],
            words: vec![7, u64::MAX],
        };
        let bytes = to_bytes(
            Outcome::Made(Made {
                values: made.values.clone(),
                own: made.own.clone(),
                words: made.words.clone(),
            }),
            "rank 1",
        );
        assert!(matches!(from_bytes(&bytes), Some(Outcome::Made(found)) if found == made));
        let none = to_bytes(Outcome::Made(Made::default()), "rank 1");
        assert!(matches!(from_bytes(&none), Some(Outcome::Made(found)) if found == Made::default()));
        let failed = to_bytes(Outcome::Failed(anyhow!("not finite")), "rank 1 on a");
        let Some(Outcome::Failed(error)) = from_bytes(&failed) else {
            panic!("another outcome");
        };
        assert_eq!(error.to_string(), "rank 1 on a: not finite");
        let signal = Signal::of(15).unwrap();
        let stopped = to_bytes(Outcome::Stopped(signal), "rank 1");
        assert!(matches!(from_bytes(&stopped), Some(Outcome::Stopped(found)) if found == signal));
        let long = [&[0, 9][..], &[0; 15], &[1]].concat();
        for damaged in [&[][..], &[0, 1], &long, &[2], &[2, 9]] {
            assert!(from_bytes(damaged).is_none(), "{damaged:?}");
        }
    }
}
