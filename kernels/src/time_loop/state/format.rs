//! The format of a state: header, positions of the arrays, checksums.

use super::StateArray;
use crate::error::StateError;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// The first line, without its version.
pub(super) const MAGIC: &str = "SIFAKA STATE ";
const VERSION: &str = "1";
/// Bytes of the first two lines.
pub(super) const LEAD: usize = MAGIC.len() + VERSION.len() + 1 + DIGITS + 1;
const DIGITS: usize = 12;
const ALIGN: u64 = 4096;
const END: &[u8; 16] = b"SIFAKA STATE END";
/// Bytes after the arrays.
pub(super) const TRAILER: usize = 8 + 8 + END.len();
/// Largest number of bytes of a header's text; a larger number means a damaged header.
const LONGEST: usize = 1 << 27;

/// The header of a state: its step, arrays and labels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateHeader {
    /// Number of steps done.
    pub step: usize,
    /// Arrays of the state.
    pub arrays: Vec<StateArray>,
    /// Labels of the program, as key and value, in the program's order; keys must not contain `=`.
    pub labels: Vec<(String, String)>,
}

impl StateHeader {
    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        let label = self.labels.iter().find(|(k, _)| k == key);
        label.map(|(_, value)| value.as_str())
    }

    /// Encodes the header, including the magic line and the length.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut text = format!("step={}\n", self.step);
        for a in &self.arrays {
            text += &format!(
                "array={} {} {} {}\n",
                a.blocks,
                a.block,
                a.number,
                escape(&a.name)
            );
        }
        for (key, value) in &self.labels {
            text += &format!("label={}={}\n", escape(key), escape(value));
        }
        format!("{MAGIC}{VERSION}\n{:0DIGITS$}\n{text}", text.len()).into_bytes()
    }

    /// Decodes the text after the first two lines.
    pub(super) fn decode(text: &[u8]) -> Result<Self, StateError> {
        let damaged = || StateError::Damaged { part: "the header" };
        let text = std::str::from_utf8(text).map_err(|_| damaged())?;
        let mut header = Self::default();
        for line in text.lines() {
            let (key, value) = line.split_once('=').ok_or_else(damaged)?;
            match key {
                "step" => header.step = value.parse().map_err(|_| damaged())?,
                "array" => header.arrays.push(array(value).ok_or_else(damaged)?),
                "label" => {
                    let (key, value) = value.split_once('=').ok_or_else(damaged)?;
                    header.labels.push((unescape(key), unescape(value)));
                }
                _ => return Err(damaged()),
            }
        }
        Ok(header)
    }
}

fn array(words: &str) -> Option<StateArray> {
    let mut words = words.splitn(4, ' ');
    let mut number = || words.next()?.parse::<usize>().ok();
    let (blocks, block, number) = (number()?, number()?, number()?);
    blocks.checked_mul(block).filter(|&bytes| bytes < 1 << 60)?;
    Some(StateArray {
        blocks,
        block,
        number,
        name: unescape(words.next()?),
    })
}

/// Bytes of the header's text, from the first [`LEAD`] bytes of a file.
pub(super) fn text_bytes(lead: &[u8]) -> Result<usize, StateError> {
    let rest = lead.strip_prefix(MAGIC.as_bytes()).ok_or(StateError::NotAState)?;
    let line = rest.split(|&b| b == b'\n').next().unwrap_or(rest);
    if line != VERSION.as_bytes() {
        let version = String::from_utf8_lossy(line).into_owned();
        return Err(StateError::Version { version });
    }
    let digits = &lead[LEAD - DIGITS - 1..LEAD - 1];
    let length = std::str::from_utf8(digits).ok().and_then(|d| d.parse().ok());
    length
        .filter(|&n: &usize| n <= LONGEST)
        .ok_or(StateError::Damaged { part: "the header" })
}

/// Escapes backslashes and line ends.
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('\n', "\\n")
        .replace('\r', "\\r")
}

fn unescape(text: &str) -> String {
    let (mut plain, mut letters) = (String::new(), text.chars());
    while let Some(letter) = letters.next() {
        plain.push(match letter {
            '\\' => match letters.next() {
                Some('n') => '\n',
                Some('r') => '\r',
                other => other.unwrap_or('\\'),
            },
            other => other,
        });
    }
    plain
}

/// Positions of the arrays in the file.
pub(super) struct Places {
    starts: Vec<u64>,
    blocks: Vec<u64>,
    /// Offset of the trailer.
    pub end: u64,
}

impl Places {
    /// Positions after a header of `header_bytes` bytes.
    pub fn new(header_bytes: usize, arrays: &[StateArray]) -> Self {
        let (mut starts, mut end) = (Vec::new(), header_bytes as u64);
        for a in arrays {
            end = end.next_multiple_of(ALIGN);
            starts.push(end);
            end = end.saturating_add(a.bytes() as u64).min(u64::MAX / 2);
        }
        Self {
            starts,
            blocks: arrays.iter().map(|a| a.block as u64).collect(),
            end,
        }
    }

    /// Offset of a block.
    pub fn block(&self, array: usize, block: usize) -> u64 {
        self.starts[array] + block as u64 * self.blocks[array]
    }

    /// Bytes of the whole file.
    pub fn bytes(&self) -> u64 {
        self.end + TRAILER as u64
    }
}

/// Contribution of a block to the checksum, which is a sum over all blocks and thus independent of their order.
pub(super) fn block_sum(array: usize, block: usize, bytes: &[u8]) -> u64 {
    // Multiplication by an odd number with well-mixed bits makes the seeds of neighbouring blocks very different.
    let seed = (array as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ block as u64;
    xxh3_64_with_seed(bytes, seed)
}

/// The trailer of a state: both checksums and the end mark.
pub(super) fn trailer(sum: u64, header: &[u8]) -> [u8; TRAILER] {
    let mut bytes = [0; TRAILER];
    bytes[..8].copy_from_slice(&sum.to_le_bytes());
    bytes[8..16].copy_from_slice(&xxh3_64(header).to_le_bytes());
    bytes[16..].copy_from_slice(END);
    bytes
}

/// The checksum of the blocks, after a check of the end mark and of the header's checksum.
pub(super) fn checked_sum(trailer: &[u8; TRAILER], header: &[u8]) -> Result<u64, StateError> {
    if trailer[16..] != END[..] {
        return Err(StateError::Damaged { part: "the end" });
    }
    if trailer[8..16] != xxh3_64(header).to_le_bytes() {
        return Err(StateError::Damaged { part: "the header" });
    }
    let sum = trailer[..8].try_into().expect("eight bytes");
    Ok(u64::from_le_bytes(sum))
}
