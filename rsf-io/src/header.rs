//! Header of a dataset.
use crate::{Axis, Format, Result};

/// Keys and history of a dataset.
#[derive(Clone, Debug, Default)]
pub struct Header {}

impl Header {
    /// Value of `key` by the rules of C's strtol; `None` when absent or outside the 32-bit range.
    pub fn int(&self, _key: &str) -> Option<i32> {
        unimplemented!()
    }
    /// Value of `key` by the rules of C's strtod, narrowed; `None` when absent or not finite.
    pub fn float(&self, _key: &str) -> Option<f32> {
        unimplemented!()
    }
    /// True iff the value starts with y, Y or 1.
    pub fn flag(&self, _key: &str) -> Option<bool> {
        unimplemented!()
    }
    /// Text without its quotes.
    pub fn text(&self, _key: &str) -> Option<String> {
        unimplemented!()
    }
    /// Axis `i`, counted from 1.
    pub fn axis(&self, _i: usize) -> Axis {
        unimplemented!()
    }
    /// Form and type.
    pub fn format(&self) -> Result<Format> {
        unimplemented!()
    }
}
