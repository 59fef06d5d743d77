//! Axes of a dataset and the number of its elements.

use crate::header::{shown, unquoted};
use crate::number::{leading_f64, leading_int};
use crate::{Error, Header, Result};

/// The largest number of axes of a dataset.
pub const MAX_AXES: usize = 9;

/// One axis: `n` samples at `o + i d`.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Number of samples.
    pub n: usize,
    /// Origin, in the axis' unit.
    pub o: f32,
    /// Sampling, in the axis' unit.
    pub d: f32,
    /// The quantity along the axis.
    pub label: Option<String>,
    /// Unit of `o` and `d`.
    pub unit: Option<String>,
}

impl Axis {
    /// An axis without label and unit.
    pub fn new(n: usize, o: f32, d: f32) -> Self {
        Self {
            n,
            o,
            d,
            label: None,
            unit: None,
        }
    }

    /// The coordinate of a sample, computed from the shortest decimal numbers of `o` and `d`: with a sampling of 0.004,
    /// sample 5 lies at 0.02, whereas the product in single precision is 0.0200000014. Samples before the first one
    /// have negative numbers.
    pub fn at(&self, sample: f64) -> f32 {
        (decimal(self.o) + sample * decimal(self.d)) as f32
    }

    /// The same axis with a label.
    pub fn label(mut self, label: &str) -> Self {
        self.label = Some(label.to_string());
        self
    }

    /// The same axis with a unit.
    pub fn unit(mut self, unit: &str) -> Self {
        self.unit = Some(unit.to_string());
        self
    }
}

/// The shortest decimal number that reads as `value`.
fn decimal(value: f32) -> f64 {
    leading_f64(value.to_string().as_bytes()).0
}

impl Default for Axis {
    /// The axis for which a header has no keys: one sample at 0, with a sampling of 1.
    fn default() -> Self {
        Self::new(1, 0.0, 1.0)
    }
}

/// The complete records in data that are shorter than their header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WholeRecords {
    /// The axis along which records are counted, from 1. A record holds all samples of the axes before it.
    pub axis: usize,
    /// The number of complete records.
    pub whole: u64,
    /// The number of records that the header declares.
    pub of: u64,
}

impl std::fmt::Display for WholeRecords {
    /// A clause for the end of a message: `57 of the 100 records along axis 3 are complete`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { axis, whole, of } = self;
        let are = if *whole == 1 { "is" } else { "are" };
        write!(f, "{whole} of the {of} records along axis {axis} {are} complete")
    }
}

impl Header {
    /// Axis `i`, counted from 1; absent keys give n=1, o=0, d=1 and no label or unit.
    /// A negative n reads as 0 here; [`Header::elements`] refuses it.
    pub fn axis(&self, i: usize) -> Axis {
        let n = self.large_int(&format!("n{i}")).unwrap_or(1);
        Axis {
            n: usize::try_from(n).unwrap_or(0),
            o: self.float(&format!("o{i}")).unwrap_or(0.0),
            d: self.float(&format!("d{i}")).unwrap_or(1.0),
            label: self.text(&format!("label{i}")),
            unit: self.text(&format!("unit{i}")),
        }
    }

    /// The index of the last axis longer than 1; 1 if there is none.
    pub fn rank(&self) -> usize {
        (2..=MAX_AXES).rev().find(|i| self.axis(*i).n > 1).unwrap_or(1)
    }

    /// Number of elements: `n1 n2 ...`, stopping before the first absent n.
    /// Returns an error for an n that is negative or not a number, or for more elements than 64 bits can count.
    pub fn elements(&self) -> Result<u64> {
        let mut product = 1u64;
        let mut overflow = false;
        for i in 1..=MAX_AXES {
            let key = format!("n{i}");
            let Some(raw) = self.raw(&key) else { break };
            match leading_int(raw).0 {
                Some(n) if n < 0 => {
                    return Err(Error::new(format!(
                        "{key}={} in the header is negative",
                        shown(raw)
                    )));
                }
                // As in Madagascar's library, a number in quotes reads as 0; a word is an error.
                Some(0) if leading_int(unquoted(raw)).1 == 0 => {
                    return Err(Error::new(format!(
                        "{key}={} in the header is not a whole number",
                        shown(raw)
                    )));
                }
                // A single zero makes the dataset empty, however large the other lengths are.
                Some(n) => match product.checked_mul(n as u64) {
                    Some(p) => product = p,
                    None => overflow = true,
                },
                None => {
                    return Err(Error::new(format!(
                        "{key}={} in the header is too large",
                        shown(raw)
                    )));
                }
            }
            if product == 0 {
                return Ok(0);
            }
        }
        // The size in bytes must fit i64 even for 8-byte elements.
        if overflow || product > (i64::MAX as u64) / 8 {
            return Err(Error::new(format!(
                "{} is more elements than can be counted",
                self.sizes()
            )));
        }
        Ok(product)
    }

    /// The number of axes that have a length, up to the first gap.
    fn present(&self) -> usize {
        let present = (1..=MAX_AXES).take_while(|i| self.raw(&format!("n{i}")).is_some());
        present.count()
    }

    /// The complete records in data that end after `elements` elements: along the last axis longer than 1 or,
    /// if none of its records is complete, along an axis before it. `None` if no record is complete.
    pub fn whole_records(&self, elements: u64) -> Option<WholeRecords> {
        let mut inside = self.elements().ok()?;
        for axis in (1..=self.present()).rev() {
            let of = self.axis(axis).n as u64;
            inside /= of.max(1);
            let whole = elements.checked_div(inside)?;
            if whole > 0 && of > 1 {
                let whole = whole.min(of);
                return Some(WholeRecords { axis, whole, of });
            }
        }
        None
    }

    /// The records along `axis`, which is longer than 1, that are complete in the first `elements` elements;
    /// there may be none.
    pub(crate) fn whole_records_along(&self, axis: usize, elements: u64) -> Option<WholeRecords> {
        let of = self.axis(axis).n as u64;
        let inside: u64 = (1..axis).map(|i| self.axis(i).n as u64).product();
        let whole = elements.checked_div(inside)?.min(of);
        (of > 1).then_some(WholeRecords { axis, whole, of })
    }

    /// Appends a line that reduces the lengths to the number of complete records.
    pub(crate) fn keep(&mut self, records: &WholeRecords) {
        let mut line = format!("\tn{}={}", records.axis, records.whole);
        for axis in records.axis + 1..=self.present() {
            line += &format!(" n{axis}=1");
        }
        self.append(&line);
    }

    /// The lengths in the form `n1=10 n2=20`, for messages.
    pub fn sizes(&self) -> String {
        let keys: Vec<String> = (1..=MAX_AXES)
            .map(|i| format!("n{i}"))
            .map_while(|key| self.raw(&key).map(|raw| format!("{key}={}", shown(raw))))
            .collect();
        if keys.is_empty() {
            "a header without n1=".into()
        } else {
            keys.join(" ")
        }
    }
}

/// The numbers and lengths of axes for a message: `n1=3 n3=50`.
pub fn lengths_in_words(axes: &[(usize, usize)]) -> String {
    let words = axes.iter().map(|(number, n)| format!("n{number}={n}"));
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(text: &str) -> Header {
        Header::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn places_of_samples() {
        let axis = Axis::new(9, -0.5, 0.004);
        assert_eq!(
            [0.0, 3.0, -2.0, 250.0].map(|i| axis.at(i)),
            [-0.5, -0.488, -0.508, 0.5]
        );
        assert_eq!(Axis::new(9, 0.0, 0.1).at(7.0), 0.7);
        assert_eq!(Axis::new(9, 4_726_277.0, 10.0).at(3.0), 4_726_307.0);
    }

    #[test]
    fn lengths() {
        assert_eq!(header("").elements().unwrap(), 1);
        assert_eq!(header("n1=7 n3=5").elements().unwrap(), 7);
        assert_eq!(header("n1=\"7\" n2=5").elements().unwrap(), 0);
        for bad in ["n1=\"x\"", "n1=4 n2=forty", "n1="] {
            let error = header(bad).elements().unwrap_err().to_string();
            assert!(error.ends_with("in the header is not a whole number"), "{error}");
        }
        assert_eq!(header("n1=7 n3=5").rank(), 3);
        assert_eq!(header("n1=7 n2=5 n3=1").rank(), 2);
        assert_eq!(
            header("n1=1000000 n2=1000000 n3=100000").elements().unwrap(),
            100_000_000_000_000_000
        );
        assert!(header("n1=-2").elements().is_err());
        assert!(header("n1=99999999999999999999").elements().is_err());
        let error = header("n1=10000000000 n2=10000000000 n3=10")
            .elements()
            .unwrap_err()
            .to_string();
        assert!(error.contains("n2=10000000000 n3=10 is more elements"), "{error}");
        assert_eq!(
            header("n1=10000000000 n2=10000000000 n3=0")
                .elements()
                .unwrap_or(9),
            0
        );
    }

    #[test]
    fn records_that_are_whole() {
        let h = header("n1=4 n2=3 n3=5 n4=1");
        let whole = |elements| h.whole_records(elements).map(|w| (w.axis, w.whole, w.of));
        assert_eq!(whole(59), Some((3, 4, 5)));
        assert_eq!(whole(12), Some((3, 1, 5)));
        assert_eq!(whole(11), Some((2, 2, 3)));
        assert_eq!(whole(3), Some((1, 3, 4)));
        assert_eq!(whole(0), None);
        let gap = header("n1=7 n3=5").whole_records(6).unwrap();
        assert_eq!((gap.axis, gap.whole), (1, 6));
        let mut cut = h.clone();
        cut.keep(&h.whole_records(9).unwrap());
        assert_eq!(cut.sizes(), "n1=4 n2=2 n3=1 n4=1");
        assert_eq!(Header::parse(cut.history()).unwrap(), cut);
    }

    #[test]
    fn records_along_an_axis() {
        let header = Header::parse(b"n1=3 n2=4 n3=1\n").unwrap();
        let along = |axis, elements| {
            let records = header.whole_records_along(axis, elements);
            records.map(|records| (records.axis, records.whole, records.of))
        };
        assert_eq!(along(2, 0), Some((2, 0, 4)));
        assert_eq!(along(2, 8), Some((2, 2, 4)));
        assert_eq!(along(2, 100), Some((2, 4, 4)));
        assert_eq!(along(1, 2), Some((1, 2, 3)));
        assert_eq!(along(3, 12), None);
    }
}
