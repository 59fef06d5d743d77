//! Checksums that identify runs and files.

use xxhash_rust::xxh3::Xxh3;

/// A checksum of numbers.
pub struct Checksum(Xxh3);

impl Checksum {
    /// The checksum of no numbers.
    pub fn new() -> Self {
        Self(Xxh3::new())
    }

    /// Adds numbers.
    pub fn with<T: bytemuck::NoUninit>(mut self, numbers: &[T]) -> Self {
        self.0.update(bytemuck::cast_slice(numbers));
        self
    }

    /// Adds a text.
    pub fn with_text(mut self, text: &str) -> Self {
        self.0.update(text.as_bytes());
        self
    }

    /// The value of the checksum.
    pub fn end(self) -> u64 {
        self.0.digest()
    }
}
