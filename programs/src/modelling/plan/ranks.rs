//! The part of `plan=y` about several ranks.

use crate::modelling::machine::Machine;
use crate::modelling::world::World;
use kernels::parallel::rank_halo::trial;
use rsf_io::Job;

/// The plan of all ranks.
pub struct All {
    /// A line for each slab, in the order of the planes.
    pub lines: Vec<String>,
    /// The seconds that the slowest rank needs to compute a step.
    pub step: f64,
}

/// Collects the lines of all ranks, and the time of a step on the slowest.
pub fn lines(world: &World, machine: &Machine, lines: &[String], seconds: f64) -> anyhow::Result<All> {
    if world.is_alone() {
        return Ok(All {
            lines: lines.to_vec(),
            step: seconds,
        });
    }
    let mut words = seconds.to_le_bytes().to_vec();
    words.extend(
        machine
            .describe(None)
            .split_once(": ")
            .map_or("", |d| d.1)
            .bytes(),
    );
    lines
        .iter()
        .for_each(|line| words.extend(format!("\n{line}").bytes()));
    let hosts = world.ranks().all_gather(world.ranks().host().as_bytes())?;
    let all = world.ranks().all_gather(&words)?;
    Ok(together(&hosts, &all))
}

/// Decodes the messages of the ranks on these hosts.
fn together(hosts: &[Vec<u8>], all: &[Vec<u8>]) -> All {
    let (mut lines, mut step) = (Vec::new(), 0.0f64);
    for (rank, words) in all.iter().enumerate() {
        let (first, text) = words.split_first_chunk::<8>().unwrap_or((&[0; 8], &[]));
        step = step.max(f64::from_le_bytes(*first));
        let host = String::from_utf8_lossy(&hosts[rank]);
        let text = String::from_utf8_lossy(text);
        lines.push(format!(
            "rank {rank} on {host}: {}",
            text.lines().next().unwrap_or_default()
        ));
        lines.extend(text.lines().skip(1).map(str::to_string));
    }
    All { lines, step }
}

/// Times a few exchanges from host to host, with `pieces` pieces of `bytes` bytes in each stage of a step,
/// and prints the time. All ranks call it.
pub fn exchange(job: &Job, pieces: &[usize], bytes: usize, world: &World) -> anyhow::Result<()> {
    let seconds = longest(pieces, bytes, world)?;
    job.say(&format!("{} (timed now)", exchange_words(pieces, bytes, seconds)));
    Ok(())
}

/// The seconds that the exchanges of a step take on the slowest rank.
fn longest(pieces: &[usize], bytes: usize, world: &World) -> anyhow::Result<f64> {
    let stages = pieces.iter().map(|&count| trial(world.ranks(), bytes, count));
    let seconds = stages.sum::<Result<f64, kernels::Error>>();
    let seconds = world.agree(seconds.map_err(Into::into))?;
    let all = world.numbers(&[seconds.to_bits()])?;
    let each = all.iter().flatten().map(|&bits| f64::from_bits(bits));
    Ok(each.fold(0.0, f64::max))
}

fn exchange_words(pieces: &[usize], bytes: usize, seconds: f64) -> String {
    format!(
        "exchange {:.2} MB per step to and from each neighbour, {:.2} ms from host to host",
        (pieces.iter().sum::<usize>() * bytes) as f64 / 1e6,
        1e3 * seconds
    )
}

/// Prints the exchange and the fraction of a step that it takes. A step takes `step` seconds, and the fraction `hides`
/// of it is spent on cells that do not depend on a neighbour.
pub fn share_of_step(
    job: &Job,
    (pieces, bytes): (&[usize], usize),
    (step, hides): (f64, f64),
    world: &World,
) -> anyhow::Result<()> {
    let longest = longest(pieces, bytes, world)?;
    job.say(&share_words((pieces, bytes), longest, (step, hides)));
    Ok(())
}

fn share_words((pieces, bytes): (&[usize], usize), longest: f64, (step, hides): (f64, f64)) -> String {
    let word = if longest < step * hides {
        "hidden behind the interior"
    } else {
        "longer than the interior can hide"
    };
    format!(
        "{} (timed now), {:.0} % of a step of {:.2} ms: {word}",
        exchange_words(pieces, bytes, longest),
        100.0 * longest / step,
        1e3 * step
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_rank_makes_the_step() {
        let words = |seconds: f64, text: &str| [&seconds.to_le_bytes()[..], text.as_bytes()].concat();
        let hosts = ["one", "two"].map(|host| host.as_bytes().to_vec());
        let all = together(
            &hosts,
            &[words(0.5, "16 cores\nplanes 0 to 9"), words(0.25, "8 cores")],
        );
        assert_eq!(all.step, 0.5);
        let expected = [
            "rank 0 on one: 16 cores",
            "planes 0 to 9",
            "rank 1 on two: 8 cores",
        ];
        assert_eq!(all.lines, expected);
    }

    #[test]
    fn exchanges_are_given_in_megabytes_and_as_shares_of_a_step() {
        let text = |hides: f64| share_words((&[2, 1], 500_000), 0.002, (0.008, hides));
        let expected = "exchange 1.50 MB per step to and from each neighbour, 2.00 ms from host to host (timed now), 25 % of a step of 8.00 ms";
        assert_eq!(text(0.5), format!("{expected}: hidden behind the interior"));
        assert_eq!(
            text(0.2),
            format!("{expected}: longer than the interior can hide")
        );
    }
}
