//! Keys whose bytes were counted from 1, as the standard counts them, and that were therefore read one byte too late.

use rsf_io::Job;

use super::keys::{Field, trace_fields};

/// The bits of the values of each key that are set in any trace.
#[derive(Default)]
pub struct Shifted(Vec<i32>);

impl Shifted {
    /// Looks at the values of `keys` keys of some traces.
    pub fn look(&mut self, values: &[i32], keys: usize) {
        self.0.resize(keys, 0);
        for trace in values.chunks_exact(keys) {
            self.0
                .iter_mut()
                .zip(trace)
                .for_each(|(bits, value)| *bits |= value);
        }
    }

    /// Warns of keys that the user places at a byte at which no key of the standard begins, if the last byte of all
    /// their values is 0, because it then seems to be the first byte of the next number.
    pub fn warn(&self, job: &Job, fields: &[Field]) {
        let standard = trace_fields();
        for (Field { name, at, given, .. }, bits) in fields.iter().zip(&self.0) {
            let begins = standard.iter().any(|field| field.at == *at);
            if *given && !begins && *bits != 0 && bits & 0xff == 0 {
                job.warn(&format!(
                    "all values of {name}={at} are multiples of 256, as if the key began a byte earlier: bytes are counted from 0, \
                    so byte {at} of a description that counts from 1 is {name}={}",
                    at - 1
                ));
            }
        }
    }
}
