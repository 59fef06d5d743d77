//! Formats of samples and integers in SEG-Y and SU.

use anyhow::{Result, bail};

/// The byte order of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The most significant byte first, the usual order of SEG-Y.
    Big,
    /// The least significant byte first.
    Little,
}

/// The format of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// IBM floating-point numbers of 4 bytes.
    Ibm,
    /// Reals of IEEE 754, 4 bytes.
    Ieee,
    /// Reals of IEEE 754, 8 bytes.
    Ieee8,
    /// Signed integers of this number of bytes.
    Int(usize),
    /// Unsigned integers of this number of bytes.
    Unsigned(usize),
}

/// The formats and their codes in the binary header.
const CODINGS: [(i64, Coding); 13] = [
    (1, Coding::Ibm),
    (2, Coding::Int(4)),
    (3, Coding::Int(2)),
    (5, Coding::Ieee),
    (6, Coding::Ieee8),
    (7, Coding::Int(3)),
    (8, Coding::Int(1)),
    (9, Coding::Int(8)),
    (10, Coding::Unsigned(4)),
    (11, Coding::Unsigned(2)),
    (12, Coding::Unsigned(8)),
    (15, Coding::Unsigned(3)),
    (16, Coding::Unsigned(1)),
];

impl Coding {
    /// The format with this code in the binary header.
    ///
    /// # Errors
    /// Returns an error if the code is not one of the supported formats.
    pub fn of(number: i64) -> Result<Self> {
        if let Some((_, coding)) = CODINGS.iter().find(|(own, _)| *own == number) {
            return Ok(*coding);
        }
        let why = match number {
            4 => " (fixed point with a gain code, which the standard calls obsolete)",
            _ if !(0..1000).contains(&number) => " (is this SU, which has no such header? sfsuread reads it)",
            _ => "",
        };
        bail!(
            "format {number}{why} cannot be read or written: formats are 1 (IBM reals), 5 and 6 (IEEE reals of 4 and 8 \
            bytes), 2, 3, 7, 8 and 9 (integers of 4, 2, 3, 1 and 8 bytes) and 10, 11, 12, 15 and 16 (unsigned integers \
            of 4, 2, 8, 3 and 1 bytes); format= replaces the format of the binary header"
        )
    }

    /// Whether the format is new in revision 2 of the standard.
    pub fn is_new(self) -> bool {
        !matches!(
            self,
            Self::Ibm | Self::Ieee | Self::Int(1) | Self::Int(2) | Self::Int(4)
        )
    }

    /// A description for messages.
    pub fn words(self) -> String {
        let bytes = |size: usize| {
            if size == 1 {
                "1 byte".into()
            } else {
                format!("{size} bytes")
            }
        };
        match self {
            Self::Ibm => "IBM reals".into(),
            Self::Ieee => "IEEE reals".into(),
            Self::Ieee8 => "IEEE reals of 8 bytes".into(),
            Self::Int(size) => format!("integers of {}", bytes(size)),
            Self::Unsigned(size) => format!("unsigned integers of {}", bytes(size)),
        }
    }

    /// Length of a sample in bytes.
    pub fn size(self) -> usize {
        match self {
            Self::Ibm | Self::Ieee => 4,
            Self::Ieee8 => 8,
            Self::Int(size) | Self::Unsigned(size) => size,
        }
    }

    /// Reads samples from `bytes` into `values`, rounded to single precision.
    pub fn decode(self, order: Order, bytes: &[u8], values: &mut [f32]) {
        let four = bytes.chunks_exact(4).map(|b| order.word(b));
        let whole = bytes.chunks_exact(self.size()).map(|b| order.whole(b));
        // This shifts the sign to the highest of 64 bits.
        let shift = 64 - 8 * self.size() as u32;
        match self {
            Self::Ibm => fill(values, four.map(from_ibm)),
            Self::Ieee => fill(values, four.map(f32::from_bits)),
            Self::Ieee8 => fill(values, whole.map(|bits| f64::from_bits(bits) as f32)),
            Self::Int(_) => fill(values, whole.map(|bits| ((bits << shift) as i64 >> shift) as f32)),
            Self::Unsigned(_) => fill(values, whole.map(|bits| bits as f32)),
        }
    }

    /// Writes the samples `values` into `bytes`. Integers are rounded. Values out of range become the largest or
    /// smallest number of the format, and NaN becomes 0, except in IEEE reals.
    pub fn encode(self, order: Order, values: &[f32], bytes: &mut [u8]) {
        let shift = 64 - 8 * self.size() as u32;
        let bits = |x: f32| -> u64 {
            match self {
                Self::Ibm => to_ibm(x).into(),
                Self::Ieee => x.to_bits().into(),
                Self::Ieee8 => f64::from(x).to_bits(),
                Self::Int(_) => {
                    let (low, high) = (i64::MIN >> shift, i64::MAX >> shift);
                    (x.round_ties_even() as i64).clamp(low, high) as u64
                }
                Self::Unsigned(_) => (x.round_ties_even() as u64).min(u64::MAX >> shift),
            }
        };
        for (bytes, x) in bytes.chunks_exact_mut(self.size()).zip(values) {
            order.put_whole(bytes, bits(*x));
        }
    }

    /// Smallest and largest number of an integer format.
    fn range(self) -> Option<(f32, f32)> {
        let shift = 64 - 8 * self.size() as u32;
        match self {
            Self::Ibm | Self::Ieee | Self::Ieee8 => None,
            Self::Int(_) => Some(((i64::MIN >> shift) as f32, (i64::MAX >> shift) as f32)),
            Self::Unsigned(_) => Some((0.0, (u64::MAX >> shift) as f32)),
        }
    }
}

/// Counts of samples that a format cannot represent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Losses {
    /// Numbers of samples that are NaN, that are infinite, and that are finite but out of range.
    pub not_numbers: u64,
    pub infinite: u64,
    pub clipped: u64,
    /// The largest magnitude of a sample, and the largest rounding error.
    pub largest: f32,
    pub rounding: f32,
}

impl Losses {
    /// Adds the losses of `values` in the format `coding`.
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

    /// A message for each kind of loss.
    pub fn words(&self, coding: Coding) -> Vec<String> {
        let Self {
            not_numbers,
            infinite,
            clipped,
            largest,
            rounding,
        } = *self;
        let mut words = Vec::new();
        let holds = matches!(coding, Coding::Ieee | Coding::Ieee8);
        if not_numbers > 0 {
            let what = if holds {
                "were written as they are"
            } else {
                "became 0"
            };
            words.push(format!("{not_numbers} samples are NaN and {what}"));
        }
        if infinite > 0 {
            let what = match holds {
                true => "were written as they are".to_string(),
                false => format!("became the largest number of {}", coding.words()),
            };
            words.push(format!("{infinite} samples are infinite and {what}"));
        }
        if let Some((low, high)) = coding.range().filter(|_| clipped > 0) {
            words.push(format!(
                "{clipped} samples were clipped at {} the largest of {}; the largest of the data is {largest}: scale \
                them down with sfscale rscale=, or write reals with format=5",
                match low {
                    0.0 => format!("0 and {high}, the smallest and"),
                    _ => format!("{high},"),
                },
                coding.words()
            ));
        }
        // Rounding by half a unit is 2 % of 25 units.
        if rounding > 0.02 * largest {
            words.push(format!(
                "the largest sample is {largest}, and {} are whole numbers: rounding leaves little or nothing of the \
                data; scale them up with sfscale rscale=, or write reals with format=5",
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

    /// An unsigned integer of up to 8 bytes.
    fn whole(self, bytes: &[u8]) -> u64 {
        let join = |bits: u64, byte: &u8| bits << 8 | u64::from(*byte);
        match self {
            Self::Big => bytes.iter().fold(0, join),
            Self::Little => bytes.iter().rev().fold(0, join),
        }
    }

    /// Writes the lowest bytes of a number, as many as fit into `bytes`.
    fn put_whole(self, bytes: &mut [u8], bits: u64) {
        let size = bytes.len();
        match self {
            Self::Big => bytes.copy_from_slice(&bits.to_be_bytes()[8 - size..]),
            Self::Little => bytes.copy_from_slice(&bits.to_le_bytes()[..size]),
        }
    }

    /// Writes a number of 8 bytes at byte `at` of a header.
    pub fn put_long(self, header: &mut [u8], at: usize, bits: u64) {
        self.put_whole(&mut header[at..at + 8], bits);
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

    /// Reads an eight-byte real at byte `at` of a header.
    pub fn real(self, header: &[u8], at: usize) -> f64 {
        f64::from_bits(self.long(header, at))
    }

    /// Reads an unsigned integer of 8 bytes at byte `at` of a header.
    pub fn long(self, header: &[u8], at: usize) -> u64 {
        self.whole(&header[at..at + 8])
    }

    /// The opposite byte order.
    pub fn turned(self) -> Self {
        match self {
            Self::Big => Self::Little,
            Self::Little => Self::Big,
        }
    }

    /// A description for messages.
    pub fn words(self) -> &'static str {
        match self {
            Self::Big => "big-endian",
            Self::Little => "little-endian",
        }
    }

    /// Reads a signed integer of `size` bytes (2 or 4) at byte `at` of a header.
    pub fn int(self, header: &[u8], at: usize, size: usize) -> i32 {
        match size {
            2 => i32::from(self.half(&header[at..at + 2]) as i16),
            _ => self.word(&header[at..at + 4]) as i32,
        }
    }

    /// Reads an unsigned integer of 2 bytes at byte `at` of a header.
    pub fn count(self, header: &[u8], at: usize) -> usize {
        usize::from(self.half(&header[at..at + 2]))
    }

    /// Writes an integer of `size` bytes (2 or 4) at byte `at` of a header; two bytes contain its lower half.
    pub fn put_int(self, header: &mut [u8], at: usize, size: usize, value: i32) {
        match size {
            2 => self.put_half(&mut header[at..at + 2], value as u16),
            _ => self.put_word(&mut header[at..at + 4], value as u32),
        }
    }
}

/// 16^power as a double, built from its exponent bits; powers of IBM reals lie between -64 and 64.
fn sixteen_to(power: i32) -> f64 {
    f64::from_bits(((1023 + 4 * power) as u64) << 52)
}

/// Converts an IBM real: a sign bit, 7 bits of a power of 16 with a bias of 64, and 24 bits of a fraction. The result
/// is exact if float32 can represent it, and otherwise the nearest float32; beyond the range it is the largest float32.
fn from_ibm(word: u32) -> f32 {
    let fraction = f64::from(word & 0x00ff_ffff) / f64::from(1 << 24);
    let power = ((word >> 24) & 0x7f) as i32 - 64;
    let size = (fraction * sixteen_to(power)).min(f64::from(f32::MAX)) as f32;
    if word >> 31 == 1 { -size } else { size }
}

/// Converts to the next IBM real towards zero (up to three bits of float32 are lost). Infinity becomes the largest IBM
/// real, and NaN becomes 0; all other float32 numbers are within the range of IBM reals.
fn to_ibm(x: f32) -> u32 {
    let sign = x.to_bits() & 0x8000_0000;
    if x == 0.0 || x.is_nan() {
        return sign;
    }
    if x.is_infinite() {
        return sign | 0x7fff_ffff;
    }
    let size = f64::from(x.abs());
    // size = fraction 16^power with 1/16 <= fraction < 1; the power follows from the exponent of the double.
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
        // The largest IBM real is beyond the range of float32.
        assert_eq!(from_ibm(0x7fff_ffff), f32::MAX);
        assert_eq!(to_ibm(f32::NEG_INFINITY), 0xffff_ffff);
        assert_eq!(to_ibm(f32::NAN), 0);
        // The fraction may begin with zeros.
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
        Coding::Int(2).encode(Order::Little, &values, &mut bytes);
        let mut back = [0.0; 5];
        Coding::Int(2).decode(Order::Little, &bytes, &mut back);
        assert_eq!(back, [32767.0, -32768.0, 2.0, 2.0, 0.0]);
    }

    #[test]
    fn all_integers_there_and_back_in_both_orders() {
        for (_, coding) in CODINGS {
            let Some((low, high)) = coding.range() else {
                continue;
            };
            let values = [0.0, 1.0, 100.0, low, low / 2.0, f32::NAN, f32::INFINITY, -1.0];
            for order in [Order::Big, Order::Little] {
                let (mut bytes, mut back) = (vec![0; 8 * coding.size()], [0.0; 8]);
                coding.encode(order, &values, &mut bytes);
                coding.decode(order, &bytes, &mut back);
                let least = if low == 0.0 { 0.0 } else { -1.0 };
                assert_eq!(
                    back,
                    [0.0, 1.0, 100.0, low, low / 2.0, 0.0, high, least],
                    "{coding:?}"
                );
            }
        }
        let mut bytes = [0; 3];
        Coding::Int(3).encode(Order::Big, &[-2.0], &mut bytes);
        assert_eq!(bytes, [0xff, 0xff, 0xfe]);
    }
}
