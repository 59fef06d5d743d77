//! Reads numbers one after another from the text of a file; errors name the line.

use anyhow::{Result, anyhow};

/// A position in the bytes of a file.
#[derive(Clone, Debug)]
pub(super) struct Scanner<'a> {
    name: &'a str,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    /// The beginning of a file; messages call it `name`.
    pub(super) fn new(name: &'a str, bytes: &'a [u8]) -> Self {
        Self { name, bytes, at: 0 }
    }

    /// An error at the line where the scanner is.
    pub(super) fn wrong(&self, sentence: impl std::fmt::Display) -> anyhow::Error {
        let before = &self.bytes[..self.at.min(self.bytes.len())];
        let line = 1 + before.iter().filter(|b| **b == b'\n').count();
        anyhow!("{}: line {line}: {sentence}", self.name)
    }

    /// The number of bytes that have not been read, which is an upper limit of the numbers that they can contain.
    pub(super) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    fn skip_space(&mut self) {
        let space = self.bytes[self.at..]
            .iter()
            .take_while(|b| b.is_ascii_whitespace());
        self.at += space.count();
    }

    /// The next word, without consuming it; `None` at the end.
    pub(super) fn peek(&mut self) -> Option<&'a [u8]> {
        self.skip_space();
        let rest = &self.bytes[self.at..];
        let end = rest
            .iter()
            .position(u8::is_ascii_whitespace)
            .unwrap_or(rest.len());
        (end > 0).then_some(&rest[..end])
    }

    /// The next word.
    pub(super) fn word(&mut self, what: &str) -> Result<&'a str> {
        let word = self
            .peek()
            .ok_or_else(|| self.wrong(format!("the file ends where {what} should be")))?;
        let text = std::str::from_utf8(word)
            .map_err(|_| self.wrong(format!("{what} is not text; is the file binary or damaged?")))?;
        self.at += word.len();
        Ok(text)
    }

    /// The next number of a type.
    pub(super) fn number<T: std::str::FromStr>(&mut self, what: &str) -> Result<T> {
        let before = self.clone();
        let word = self.word(what)?;
        word.parse().map_err(|_| {
            before
                .after_space()
                .wrong(format!("`{}` is not a valid {what}", shortened(word)))
        })
    }

    /// The next real number; Fortran's D for the exponent is accepted.
    pub(super) fn real(&mut self, what: &str) -> Result<f64> {
        let before = self.clone();
        let word = self.word(what)?;
        let value = word.parse().or_else(|_| word.replace(['d', 'D'], "e").parse());
        let finite = value.ok().filter(|v: &f64| v.is_finite());
        finite.ok_or_else(|| {
            before
                .after_space()
                .wrong(format!("`{}` is not a valid {what}", shortened(word)))
        })
    }

    fn after_space(mut self) -> Self {
        self.skip_space();
        self
    }

    /// The rest of the line, without its end; `None` if nothing follows.
    pub(super) fn line(&mut self) -> Option<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        if rest.is_empty() {
            return None;
        }
        let end = rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
        self.at += (end + 1).min(rest.len());
        Some(&rest[..end])
    }

    /// A scanner that ends where this line does.
    pub(super) fn this_line(&self) -> Self {
        let rest = self.bytes[self.at..].iter().position(|b| *b == b'\n');
        Self {
            bytes: &self.bytes[..rest.map_or(self.bytes.len(), |length| self.at + length)],
            ..self.clone()
        }
    }

    /// The next `N` bytes, unchanged.
    pub(super) fn bytes<const N: usize>(&mut self, what: &str) -> Result<[u8; N]> {
        let slice = self
            .bytes
            .get(self.at..self.at + N)
            .and_then(|b| b.try_into().ok());
        let slice = slice.ok_or_else(|| anyhow!("{}: the file ends where {what} should be", self.name))?;
        self.at += N;
        Ok(slice)
    }

    /// The number of words that are left.
    pub(super) fn words_left(&self) -> usize {
        self.bytes[self.at..]
            .split(u8::is_ascii_whitespace)
            .filter(|w| !w.is_empty())
            .count()
    }

    /// Moves past the next line that is equal to `text`; false if there is none.
    pub(super) fn skip_past(&mut self, text: &str) -> bool {
        let start = self.at;
        while let Some(line) = self.line() {
            if line.trim_ascii() == text.as_bytes() {
                return true;
            }
        }
        self.at = start;
        false
    }
}

/// A word for a message.
fn shortened(word: &str) -> String {
    let mut text: String = word.chars().take(40).collect();
    if text.len() < word.len() {
        text.push_str("...");
    }
    text
}
