//! Keys of trace headers that do not fit into their two bytes.

use anyhow::{Result, ensure};
use rsf_io::Job;

use super::keys::Field;
use super::{DELRT, DT, NS};

/// Keys above 32767 in two bytes, which most programs read as negative numbers.
#[derive(Default)]
pub struct Narrow {
    count: u64,
    /// Name, trace (counted from 1) and value of the first key above 32767.
    first: Option<(String, u64, i32)>,
}

impl Narrow {
    /// Examines the keys of a trace (counted from 0), whose delays are moved by `shift`. The number of samples and the
    /// interval are ignored, because the values of the data are written.
    ///
    /// # Errors
    /// Returns an error if a key is too large for two bytes.
    pub fn look(&mut self, fields: &[Field], keys: &[i32], shift: i32, trace: u64) -> Result<()> {
        let short = fields.iter().zip(keys).filter(|(field, _)| field.size == 2);
        for (field, key) in short.filter(|(field, _)| ![NS, DT].contains(&field.at)) {
            let moved = if field.at == DELRT { shift } else { 0 };
            let value = key.saturating_add(moved);
            let most = if field.at == DELRT { 32_767 } else { 65_535 };
            ensure!(
                (-32_768..=most).contains(&value),
                "{}={value} of trace {} does not fit into the two bytes of this key of a trace header (sfheadermath key={} changes it in tfile=)",
                field.name,
                trace + 1,
                field.name
            );
            if value > 32_767 {
                self.count += 1;
                self.first
                    .get_or_insert_with(|| (field.name.clone(), trace + 1, value));
            }
        }
        Ok(())
    }

    /// Warns of these keys, and of the number of samples and the interval of all traces (0 if two bytes cannot
    /// represent them).
    pub fn warn(self, job: &Job, of_all: [(&str, i32); 2]) {
        for (name, value) in of_all.into_iter().filter(|(_, value)| *value > 32_767) {
            job.warn(&format!(
                "{name}={value} of all traces is above 32767, the largest number that two signed bytes can hold: some \
                programs read it as {}, and so does the header table of sfsegyread",
                value - 65_536
            ));
        }
        if let Some((name, trace, value)) = self.first {
            job.warn(&format!(
                "{} keys of trace headers are above 32767, the largest number that two signed bytes hold; \
                the first is {name}={value} of trace {trace}: most programs, including sfsegyread, read it \
                as {}",
                self.count,
                value - 65_536
            ));
        }
    }
}
