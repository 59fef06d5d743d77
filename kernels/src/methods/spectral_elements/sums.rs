//! The sums of the contributions of elements to their points.

use super::Number;
use std::mem::take;

use super::assembly::{Block, place};
use super::lanes::LANES;
use crate::{Error, Hint, message};

/// Consecutive points with the same number of contributions, such as the points on faces or edges of the mesh.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// The first point, and the point after the last one.
    first: u32,
    end: u32,
    /// The number of contributions to each of them.
    each: u32,
    /// The index of their first place; the places of a point are consecutive.
    places: u32,
}

/// The places of the contributions to every point, in the order of the global element numbers.
#[derive(Clone, Debug)]
pub(super) struct Sums {
    runs: Vec<Run>,
    /// Places of the subdomain's own contributions, followed by the places of incoming contributions.
    places: Vec<u32>,
}

/// The subdomain's own contributions and the incoming ones.
type Terms<'a, const C: usize> = (&'a [[Number; C]], &'a [[Number; C]]);

impl Sums {
    /// Prepares the sums over blocks of elements, of which `kept` have their contributions in memory at once, and over
    /// incoming contributions, which are given as (point, element, place).
    ///
    /// # Errors
    /// Returns an error for more contributions than 32 bits can count.
    pub(super) fn new<const D: usize>(
        (blocks, kept): (&[Block<D>], usize),
        points: usize,
        arrived: &[(u32, u32, u32)],
    ) -> Result<Self, Error> {
        let mut all: Vec<(u32, u32, u32)> = Vec::new();
        let per_block = LANES * blocks.first().map_or(0, |block| block.points.len());
        if u32::try_from(blocks.len() * per_block + arrived.len()).is_err() {
            return Err(Error::setup(message![
                "a subdomain has more than 4294967295 points of elements; ",
                Hint::MoreSubdomains,
            ]));
        }
        for (k, block) in blocks.iter().enumerate() {
            let count = block.points.len();
            for (local, numbers) in block.points.iter().enumerate() {
                for (lane, element) in block.elements.iter().enumerate() {
                    let place = place((k % kept, lane), local, count);
                    all.push((numbers[lane], *element, place as u32));
                }
            }
        }
        let own = (kept * per_block) as u32;
        let behind = |(point, element, place): &(u32, u32, u32)| (*point, *element, own + place);
        all.extend(arrived.iter().map(behind));
        all.sort_unstable();
        let mut each = vec![0; points];
        all.iter().for_each(|entry| each[entry.0 as usize] += 1);
        let mut runs: Vec<Run> = Vec::new();
        let mut places = 0;
        for (point, each) in each.into_iter().enumerate() {
            match runs.last_mut() {
                Some(last) if last.each == each => last.end += 1,
                _ => runs.push(Run {
                    first: point as u32,
                    end: point as u32 + 1,
                    each,
                    places,
                }),
            }
            places += each;
        }
        Ok(Self {
            runs,
            places: all.into_iter().map(|entry| entry.2).collect(),
        })
    }

    /// Writes the sums of all contributions to the points `first ..`.
    #[inline(always)]
    pub(super) fn write<const C: usize>(&self, first: usize, terms: Terms<'_, C>, out: &mut [[Number; C]]) {
        let mut point = first;
        let mut out = out;
        let begin = self.runs.partition_point(|run| run.end as usize <= first);
        for run in &self.runs[begin..] {
            let count = (run.end as usize - point).min(out.len());
            let (now, later) = take(&mut out).split_at_mut(count);
            let each = run.each as usize;
            let places = run.places as usize + (point - run.first as usize) * each;
            let places = &self.places[places..][..count * each];
            // Loops of constant length need no branch prediction.
            match each {
                0 => now.fill([0.0; C]),
                1 => add_up(places, 1, terms, now),
                2 => add_up(places, 2, terms, now),
                4 => add_up(places, 4, terms, now),
                each => add_up(places, each, terms, now),
            }
            (point, out) = (point + count, later);
            if out.is_empty() {
                break;
            }
        }
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.runs[..]) + size_of_val(&self.places[..])
    }
}

/// Writes the sums of `each` contributions to every point.
#[inline(always)]
fn add_up<const C: usize>(places: &[u32], each: usize, terms: Terms<'_, C>, out: &mut [[Number; C]]) {
    for (out, places) in out.iter_mut().zip(places.chunks_exact(each)) {
        let mut sum = [0.0; 4];
        for place in places {
            add(&mut sum, *place as usize, terms);
        }
        out.copy_from_slice(&sum[..C]);
    }
}

/// Adds a contribution.
#[inline(always)]
fn add<const C: usize>(sum: &mut [Number; 4], place: usize, (own, arrived): Terms<'_, C>) {
    if C == 3 {
        // Three numbers and the next one fill a register; the fourth sum is not used.
        let more = own.as_flattened().get(3 * place..3 * place + 4);
        if let Some(more) = more.and_then(<[Number]>::first_chunk::<4>) {
            (0..4).for_each(|c| sum[c] += more[c]);
            return;
        }
    }
    let more = match place.checked_sub(own.len()) {
        None => &own[place],
        Some(behind) => &arrived[behind],
    };
    (0..C).for_each(|c| sum[c] += more[c]);
}
