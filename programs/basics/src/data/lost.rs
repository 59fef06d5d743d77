//! Numbers that are converted to an integer type that cannot represent them.

use rsf_io::{Job, Kind};

/// Counts of numbers that an integer type cannot represent.
#[derive(Default)]
pub struct Lost {
    nan: u64,
    beyond: u64,
}

impl Lost {
    /// Counts how many of these whole numbers are NaN, and how many are outside a range.
    pub fn look(&mut self, numbers: &[f64], [least, most]: [f64; 2]) {
        let count = |is: &dyn Fn(f64) -> bool| numbers.iter().filter(|number| is(**number)).count() as u64;
        self.nan += count(&f64::is_nan);
        self.beyond += count(&|number| number < least || number > most);
    }

    /// Warns of the counted numbers; `subject` begins the sentence and `noun` names the numbers.
    pub fn warn(&self, job: &Job, subject: &str, noun: &str) {
        for (count, what) in [
            (self.nan, "NaN, and became 0"),
            (self.beyond, "beyond the range of the type, and became its limit"),
        ] {
            if count > 0 {
                job.warn(&format!("{subject}: {count} of the {noun} are {what}"));
            }
        }
    }
}

/// The smallest and the largest number of an integer type; `None` for other types.
pub fn range(kind: Kind) -> Option<[f64; 2]> {
    Some(match kind {
        Kind::Int => [f64::from(i32::MIN), f64::from(i32::MAX)],
        Kind::Short => [f64::from(i16::MIN), f64::from(i16::MAX)],
        Kind::Long => [i64::MIN as f64, i64::MAX as f64],
        Kind::Uchar | Kind::Char => [0.0, f64::from(u8::MAX)],
        _ => return None,
    })
}
