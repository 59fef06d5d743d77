//! Loading of a state into subdomains.

use super::format::{LEAD, Places, TRAILER, block_sum, checked_sum, text_bytes};
use super::{State, StateArray, StateHeader, StateSource};
use crate::Error;
use crate::communicator::{Communicator, agree};
use crate::error::StateError;
use std::ops::Range;

/// Bytes that are read at a time; at least one block is read.
const PIECE: usize = 8 << 20;

/// Reads the header of a state, and checks its length and the header's checksum.
///
/// # Errors
/// Returns an error if the source cannot be read, or is not an intact state.
pub fn read_header(source: &mut dyn StateSource) -> Result<StateHeader, StateError> {
    opened(source).map(|opened| opened.header)
}

struct Opened {
    header: StateHeader,
    places: Places,
    sum: u64,
}

fn opened(source: &mut dyn StateSource) -> Result<Opened, StateError> {
    let bytes = source.bytes()?;
    let mut lead = vec![0; LEAD.min(bytes as usize)];
    source.read_at(0, &mut lead)?;
    let short = |expected: u64| StateError::Short { bytes, expected };
    if lead.len() < LEAD {
        let magic = super::format::MAGIC.as_bytes();
        let known = lead.len().min(magic.len());
        return Err(match lead[..known] == magic[..known] {
            true => short(LEAD as u64),
            false => StateError::NotAState,
        });
    }
    let length = LEAD + text_bytes(&lead)?;
    if (length as u64) > bytes {
        return Err(short(length as u64));
    }
    let mut whole = vec![0; length];
    source.read_at(0, &mut whole)?;
    let header = StateHeader::decode(&whole[LEAD..])?;
    let places = Places::new(length, &header.arrays);
    if places.bytes() > bytes {
        return Err(short(places.bytes()));
    }
    let mut trailer = [0; TRAILER];
    source.read_at(places.end, &mut trailer)?;
    let sum = checked_sum(&trailer, &whole)?;
    Ok(Opened { header, places, sum })
}

/// Collective: loads a state into the subdomains of all ranks, each of which has its own source of the same bytes, and
/// returns its header.
///
/// # Errors
/// Returns an error if the state cannot be used; the message is the same on all ranks. The contents of the subdomains
/// are then undefined.
pub fn load<S: State>(
    ranks: &dyn Communicator,
    source: &mut dyn StateSource,
    subdomains: &mut [S],
) -> Result<StateHeader, Error> {
    let filled = fill(source, subdomains);
    // A single rank keeps the type of its error.
    let (header, sum, own) = match ranks.size() {
        1 => filled?,
        _ => agree(ranks, filled)?,
    };
    let sums = ranks.all_gather(&own.to_le_bytes())?;
    let numbers = sums.iter().filter_map(|s| s.as_slice().try_into().ok());
    let whole = numbers.map(u64::from_le_bytes).fold(0, u64::wrapping_add);
    if whole != sum {
        return Err(StateError::Damaged {
            part: "what it holds",
        }
        .into());
    }
    Ok(header)
}

/// Loads the subdomains. Returns the header, the checksum in the file, and the contribution of the blocks that are
/// owned here.
fn fill<S: State>(
    source: &mut dyn StateSource,
    subdomains: &mut [S],
) -> Result<(StateHeader, u64, u64), Error> {
    let Opened { header, places, sum } = opened(source)?;
    let mut own = 0u64;
    let mut buffer = Vec::new();
    for subdomain in subdomains {
        same_arrays(&header.arrays, &subdomain.arrays())?;
        for (number, array) in header.arrays.iter().enumerate() {
            let owned = subdomain.owned(number);
            let step = (PIECE / array.block.max(1)).max(1);
            for range in subdomain.needed(number) {
                for first in range.clone().step_by(step) {
                    let blocks = first..range.end.min(first + step);
                    buffer.resize(blocks.len() * array.block, 0);
                    source
                        .read_at(places.block(number, first), &mut buffer)
                        .map_err(StateError::Io)?;
                    own = own.wrapping_add(sum_of(number, array, &blocks, &owned, &buffer));
                    subdomain.load(number, blocks, &buffer)?;
                }
            }
        }
    }
    Ok((header, sum, own))
}

/// The contribution of the owned blocks to the checksum.
fn sum_of(
    number: usize,
    array: &StateArray,
    blocks: &Range<usize>,
    owned: &[Range<usize>],
    bytes: &[u8],
) -> u64 {
    let mut sum = 0u64;
    for range in owned {
        for block in range.start.max(blocks.start)..range.end.min(blocks.end) {
            let from = (block - blocks.start) * array.block;
            sum = sum.wrapping_add(block_sum(number, block, &bytes[from..from + array.block]));
        }
    }
    sum
}

/// Checks that the arrays of the state match the arrays of the run.
fn same_arrays(saved: &[StateArray], expected: &[StateArray]) -> Result<(), StateError> {
    let names = |arrays: &[StateArray]| {
        let all: Vec<&str> = arrays.iter().map(|a| a.name.as_str()).collect();
        all.join(", ")
    };
    if names(saved) != names(expected) {
        return Err(StateError::Arrays {
            saved: names(saved),
            expected: names(expected),
        });
    }
    for (a, b) in saved.iter().zip(expected) {
        if a.number != b.number {
            return Err(StateError::Number {
                saved: a.number,
                expected: b.number,
            });
        }
        let size = |a: &StateArray| format!("{} blocks of {} bytes", a.blocks, a.block);
        if a != b {
            return Err(StateError::Size {
                name: a.name.clone(),
                saved: size(a),
                expected: size(b),
            });
        }
    }
    Ok(())
}
