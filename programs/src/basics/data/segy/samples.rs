//! Samples and whole numbers as SEG-Y and SU write them.

use anyhow::{Result, bail};

/// Order of the bytes of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The largest byte first, as SEG-Y has it.
    Big,
    /// The smallest byte first.
    Little,
}

/// How samples are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// 1: reals of IBM's mainframes.
    Ibm,
    /// 2: whole numbers of 4 bytes.
    Int4,
    /// 3: whole numbers of 2 bytes.
    Int2,
    /// 5: reals of IEEE 754.
    Ieee,
    /// 8: whole numbers of 1 byte.
    Int1,
}

impl Coding {
    /// The coding with this number in the binary header. Errors: another number.
    pub fn of(number: i64) -> Result<Self> {
        Ok(match number {
            1 => Self::Ibm,
            2 => Self::Int4,
            3 => Self::Int2,
            5 => Self::Ieee,
            8 => Self::Int1,
            _ => bail!(
                "format {number} cannot be read or written: allowed are 1 (IBM reals), 2, 3 and 8 (integers of 4, 2 and 1 bytes) and \
5 (IEEE reals); format= replaces what the binary header says"
            ),
        })
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Ibm => "IBM reals",
            Self::Int4 => "integers of 4 bytes",
            Self::Int2 => "integers of 2 bytes",
            Self::Ieee => "IEEE reals",
            Self::Int1 => "integers of 1 byte",
        }
    }

    /// Bytes of a sample.
    pub fn size(self) -> usize {
        match self {
            Self::Ibm | Self::Int4 | Self::Ieee => 4,
            Self::Int2 => 2,
            Self::Int1 => 1,
        }
    }

    /// Reads samples from `bytes` into `values`.
    pub fn decode(self, order: Order, bytes: &[u8], values: &mut [f32]) {
        let four = bytes.chunks_exact(4).map(|b| order.word(b));
        match self {
            Self::Ibm => fill(values, four.map(from_ibm)),
            Self::Int4 => fill(values, four.map(|word| word as i32 as f32)),
            Self::Ieee => fill(values, four.map(f32::from_bits)),
            Self::Int2 => fill(values, bytes.chunks_exact(2).map(|b| order.half(b) as i16 as f32)),
            Self::Int1 => fill(values, bytes.iter().map(|b| f32::from(*b as i8))),
        }
    }

    /// Writes samples of `values` into `bytes`. Integers are rounded; what does not fit becomes the largest or smallest, and
    /// what is not a number becomes 0, except in IEEE reals.
    pub fn encode(self, order: Order, values: &[f32], bytes: &mut [u8]) {
        let four = |bytes: &mut [u8], word: &dyn Fn(f32) -> u32| {
            for (b, x) in bytes.chunks_exact_mut(4).zip(values) {
                order.put_word(b, word(*x));
            }
        };
        match self {
            Self::Ibm => four(bytes, &to_ibm),
            Self::Int4 => four(bytes, &|x| x.round_ties_even() as i32 as u32),
            Self::Ieee => four(bytes, &f32::to_bits),
            Self::Int2 => {
                for (b, x) in bytes.chunks_exact_mut(2).zip(values) {
                    order.put_half(b, x.round_ties_even() as i16 as u16);
                }
            }
            Self::Int1 => {
                for (b, x) in bytes.iter_mut().zip(values) {
                    *b = x.round_ties_even() as i8 as u8;
                }
            }
        }
    }

    /// Largest and smallest whole number, for integers.
    fn range(self) -> Option<(f32, f32)> {
        match self {
            Self::Ibm | Self::Ieee => None,
            Self::Int4 => Some((i32::MIN as f32, i32::MAX as f32)),
            Self::Int2 => Some((f32::from(i16::MIN), f32::from(i16::MAX))),
            Self::Int1 => Some((f32::from(i8::MIN), f32::from(i8::MAX))),
        }
    }
}

/// What a coding changes in the samples that it writes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Losses {
    /// Samples that are not numbers, infinite ones, finite ones out of range.
    pub not_numbers: u64,
    pub infinite: u64,
    pub clipped: u64,
    /// The largest sample, and the largest difference that rounding made.
    pub largest: f32,
    pub rounding: f32,
}

impl Losses {
    /// Adds what `coding` does to `values`.
    pub fn look(&mut self, coding: Coding, values: &[f32]) {
        let (low, high) = coding.range().unwrap_or((f32::MIN, f32::MAX));
        for x in values {
            if x.is_nan() {
                self.not_numbers += 1;
            } else if x.is_infinite() {
                self.infinite += 1;
            } else {
                let fits = (low..=high).contains(&x.round_ties_even());
                self.clipped += u64::from(!fits);
                self.largest = self.largest.max(x.abs());
                if coding.range().is_some() {
                    self.rounding = self.rounding.max((x - x.round_ties_even()).abs());
                }
            }
        }
    }

    /// A sentence for each kind of loss.
    pub fn words(&self, coding: Coding) -> Vec<String> {
        let Self {
            not_numbers,
            infinite,
            clipped,
            largest,
            rounding,
        } = *self;
        let mut words = Vec::new();
        let holds = coding == Coding::Ieee;
        if not_numbers > 0 {
            let what = if holds {
                "were written as they are"
            } else {
                "became 0"
            };
            words.push(format!("{not_numbers} samples are not numbers (NaN) and {what}"));
        }
        if infinite > 0 {
            let what = if holds {
                "were written as they are"
            } else {
                "became the largest number"
            };
            words.push(format!(
                "{infinite} samples are infinite and {what} of {}",
                coding.words()
            ));
        }
        if let Some((_, high)) = coding.range().filter(|_| clipped > 0) {
            words.push(format!(
                "{clipped} samples were clipped at {high}, the largest of {}; the largest of the data is {largest}: sfscale rscale= \
makes them smaller, format=5 writes reals",
                coding.words()
            ));
        }
        // Rounding by half a unit is 2 % of 25 units.
        if rounding > 0.02 * largest {
            words.push(format!(
                "the largest sample is {largest}, and {} round to whole numbers: little or nothing is left of the data; sfscale \
rscale= makes them larger, format=5 writes reals",
                coding.words()
            ));
        }
        words
    }
}

fn fill(values: &mut [f32], samples: impl Iterator<Item = f32>) {
    values
        .iter_mut()
        .zip(samples)
        .for_each(|(value, sample)| *value = sample);
}

impl Order {
    fn word(self, bytes: &[u8]) -> u32 {
        let bytes = [bytes[0], bytes[1], bytes[2], bytes[3]];
        match self {
            Self::Big => u32::from_be_bytes(bytes),
            Self::Little => u32::from_le_bytes(bytes),
        }
    }

    fn half(self, bytes: &[u8]) -> u16 {
        let bytes = [bytes[0], bytes[1]];
        match self {
            Self::Big => u16::from_be_bytes(bytes),
            Self::Little => u16::from_le_bytes(bytes),
        }
    }

    fn put_word(self, bytes: &mut [u8], word: u32) {
        bytes.copy_from_slice(&match self {
            Self::Big => word.to_be_bytes(),
            Self::Little => word.to_le_bytes(),
        });
    }

    fn put_half(self, bytes: &mut [u8], half: u16) {
        bytes.copy_from_slice(&match self {
            Self::Big => half.to_be_bytes(),
            Self::Little => half.to_le_bytes(),
        });
    }

    /// A real of 8 bytes at byte `at` of a header.
    pub fn real(self, header: &[u8], at: usize) -> f64 {
        f64::from_bits(self.long(header, at))
    }

    /// A whole number of 8 bytes without a sign at byte `at` of a header.
    pub fn long(self, header: &[u8], at: usize) -> u64 {
        let (first, second) = (self.word(&header[at..at + 4]), self.word(&header[at + 4..at + 8]));
        let (high, low) = match self {
            Self::Big => (first, second),
            Self::Little => (second, first),
        };
        u64::from(high) << 32 | u64::from(low)
    }

    /// The other one.
    pub fn turned(self) -> Self {
        match self {
            Self::Big => Self::Little,
            Self::Little => Self::Big,
        }
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Big => "big-endian",
            Self::Little => "little-endian",
        }
    }

    /// A signed whole number of `size` bytes (2 or 4) at byte `at` of a header.
    pub fn int(self, header: &[u8], at: usize, size: usize) -> i32 {
        match size {
            2 => i32::from(self.half(&header[at..at + 2]) as i16),
            _ => self.word(&header[at..at + 4]) as i32,
        }
    }

    /// A whole number of 2 bytes without a sign.
    pub fn count(self, header: &[u8], at: usize) -> usize {
        usize::from(self.half(&header[at..at + 2]))
    }

    /// Puts a whole number of `size` bytes (2 or 4) at byte `at` of a header; of 2 bytes its lower half.
    pub fn put_int(self, header: &mut [u8], at: usize, size: usize, value: i32) {
        match size {
            2 => self.put_half(&mut header[at..at + 2], value as u16),
            _ => self.put_word(&mut header[at..at + 4], value as u32),
        }
    }
}

/// 16^power as a double, whose exponent it is: powers of IBM reals lie between -64 and 64.
fn sixteen_to(power: i32) -> f64 {
    f64::from_bits(((1023 + 4 * power) as u64) << 52)
}

/// Sign, 7 bits of a power of 16 (64 is 0), 24 bits of a fraction. Exact where float32 can hold the number; beyond its range
/// the largest one, below its normal numbers as near as they come.
fn from_ibm(word: u32) -> f32 {
    let fraction = f64::from(word & 0x00ff_ffff) / f64::from(1 << 24);
    let power = ((word >> 24) & 0x7f) as i32 - 64;
    let size = (fraction * sixteen_to(power)).min(f64::from(f32::MAX)) as f32;
    if word >> 31 == 1 { -size } else { size }
}

/// The IBM real next to `x` towards zero (three bits of float32 can be lost). Infinity becomes its largest number, and what is
/// not a number becomes 0; float32 has no other numbers out of its range.
fn to_ibm(x: f32) -> u32 {
    let sign = x.to_bits() & 0x8000_0000;
    if x == 0.0 || x.is_nan() {
        return sign;
    }
    if x.is_infinite() {
        return sign | 0x7fff_ffff;
    }
    let size = f64::from(x.abs());
    // size = fraction 16^power with 1/16 <= fraction < 1; the exponent of a double tells the power.
    let exponent = ((size.to_bits() >> 52) & 0x7ff) as i32 - 1022;
    let power = (exponent + 3).div_euclid(4);
    let fraction = size * sixteen_to(-power) * f64::from(1 << 24);
    sign | (((power + 64) as u32) << 24) | fraction as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ibm_reals_from_the_books() {
        for (x, word) in [
            (0.0, 0x0000_0000),
            (1.0, 0x4110_0000),
            (-118.625, 0xc276_a000),
            (0.15625, 0x4028_0000),
            (100.0, 0x4264_0000),
            (0.0625, 0x4010_0000),
            (-0.5, 0xc080_0000),
        ] {
            assert_eq!((to_ibm(x), from_ibm(word)), (word, x), "{x}");
        }
        // The largest of IBM is beyond float32.
        assert_eq!(from_ibm(0x7fff_ffff), f32::MAX);
        assert_eq!(to_ibm(f32::NEG_INFINITY), 0xffff_ffff);
        assert_eq!(to_ibm(f32::NAN), 0);
        // A fraction that begins with zeros.
        assert_eq!(from_ibm(0x4201_0000), 1.0);
    }

    #[test]
    fn ibm_reals_lose_three_bits_at_most() {
        for bits in (0x0080_0000u32..0x7f80_0000).step_by(65_521) {
            let x = f32::from_bits(bits);
            let back = from_ibm(to_ibm(x));
            assert!(back <= x && x - back <= x * 2f32.powi(-20), "{x} {back}");
            assert_eq!(to_ibm(back), to_ibm(x), "{x}");
        }
    }

    #[test]
    fn integers_stop_at_their_ends() {
        let values = [1e9, -1e9, 1.5, 2.5, f32::NAN];
        let mut bytes = [0; 10];
        Coding::Int2.encode(Order::Little, &values, &mut bytes);
        let mut back = [0.0; 5];
        Coding::Int2.decode(Order::Little, &bytes, &mut back);
        assert_eq!(back, [32767.0, -32768.0, 2.0, 2.0, 0.0]);
    }
}
