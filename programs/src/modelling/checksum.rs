//! Checksums by which runs and files are known again.

use xxhash_rust::xxh3::Xxh3;

/// A checksum of numbers.
pub struct Checksum(Xxh3);

impl Checksum {
    /// Of no numbers.
    pub fn new() -> Self {
        Self(Xxh3::new())
    }

    /// With these numbers, too.
    pub fn with<T: bytemuck::NoUninit>(mut self, numbers: &[T]) -> Self {
        self.0.update(bytemuck::cast_slice(numbers));
        self
    }

    /// With this text, too.
    pub fn with_text(mut self, text: &str) -> Self {
        self.0.update(text.as_bytes());
        self
    }

    /// The sum.
    pub fn end(self) -> u64 {
        self.0.digest()
    }
}
