//! Data as text: numbers separated by white space, found in pieces of a stream.

use std::io::{self, BufRead};

use crate::data::Element;
use crate::number::is_space;

/// The longest text of a number, in bytes; a longer word is an error.
const LONGEST: usize = 4096;

/// A number, the end of the data, or a word that is not a number.
pub(crate) enum Scan<T> {
    Value(T),
    End,
    Bad(String),
}

/// Reads numbers as `fscanf` does: a number ends at the first byte that cannot continue it, so `7-8` is two numbers.
#[derive(Debug, Default)]
pub(crate) struct Scanner {
    text: Vec<u8>,
    at: usize,
}

impl Scanner {
    /// The next number of the stream.
    pub(crate) fn next<T: Element>(&mut self, reader: &mut impl BufRead) -> io::Result<Scan<T>> {
        // A complex number consists of two words.
        let words = if T::KIND == crate::Kind::Complex { 2 } else { 1 };
        self.gather(reader, words)?;
        let rest = &self.text[self.at..];
        if rest.iter().all(|b| is_space(*b)) {
            return Ok(Scan::End);
        }
        let (value, used) = T::scan(rest);
        if used == 0 {
            let parts: Vec<&[u8]> = rest
                .split(|b| is_space(*b))
                .filter(|word| !word.is_empty())
                .collect();
            let parts = parts[..parts.len().min(words)].join(&b' ');
            let shown = &parts[..parts.len().min(40)];
            return Ok(Scan::Bad(String::from_utf8_lossy(shown).into_owned()));
        }
        self.at += used;
        Ok(Scan::Value(value))
    }

    /// The bytes that were taken from the stream but belong to no number yet.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        let rest = self.text.split_off(self.at);
        self.text.clear();
        self.at = 0;
        rest
    }

    /// Makes sure that `words` complete words, or all that are left, follow `at`.
    fn gather(&mut self, reader: &mut impl BufRead, words: usize) -> io::Result<()> {
        if self.at > 0 {
            self.text.drain(..self.at);
            self.at = 0;
        }
        while complete_words(&self.text) < words && self.text.len() < LONGEST {
            let buffer = reader.fill_buf()?;
            if buffer.is_empty() {
                return Ok(());
            }
            // Takes the bytes up to the end of the next word, or all of the buffer.
            let blank = buffer.iter().take_while(|b| is_space(**b)).count();
            let word = buffer[blank..].iter().take_while(|b| !is_space(**b)).count();
            let end = (blank + word + 1).min(buffer.len());
            // Long runs of blanks need not be kept.
            let from = if self.text.last().is_none_or(|b| is_space(*b)) {
                blank
            } else {
                0
            };
            let end = end.min(from + LONGEST);
            self.text.extend_from_slice(&buffer[from.min(end)..end]);
            reader.consume(end);
        }
        Ok(())
    }
}

/// The number of words that are followed by white space.
fn complete_words(text: &[u8]) -> usize {
    text.windows(2)
        .filter(|pair| !is_space(pair[0]) && is_space(pair[1]))
        .count()
}

/// The number of items on a line of text data.
const PER_LINE: u64 = 8;

/// Appends `data` as text: a blank after each item, a newline after every eighth item, counted from
/// the start of the dataset; `written` is the number of items before. Bytes are written as they are.
pub(crate) fn print<T: Element>(data: &[T], written: u64, text: &mut Vec<u8>) {
    if T::KIND == crate::Kind::Uchar {
        text.extend_from_slice(bytemuck::cast_slice(data));
        return;
    }
    for (i, item) in data.iter().enumerate() {
        item.print(text);
        text.push(b' ');
        if (written + i as u64 + 1).is_multiple_of(PER_LINE) {
            text.push(b'\n');
        }
    }
}

/// True if the last line, after `written` items, has not yet ended with a newline.
pub(crate) fn line_is_open(written: u64) -> bool {
    !written.is_multiple_of(PER_LINE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    fn all<T: Element + PartialEq>(text: &str, capacity: usize) -> (Vec<T>, Option<String>) {
        let mut reader = BufReader::with_capacity(capacity, text.as_bytes());
        let mut scanner = Scanner::default();
        let mut values = Vec::new();
        loop {
            match scanner.next::<T>(&mut reader).unwrap() {
                Scan::Value(value) => values.push(value),
                Scan::End => return (values, None),
                Scan::Bad(word) => return (values, Some(word)),
            }
        }
    }

    #[test]
    fn numbers_in_pieces_of_any_size() {
        for capacity in [1, 2, 3, 7, 100] {
            let text = "  1.5 -2e3\n\n7-8\t.25   \n";
            assert_eq!(
                all::<f32>(text, capacity),
                (vec![1.5, -2000.0, 7.0, -8.0, 0.25], None)
            );
            assert_eq!(
                all::<crate::Complex>("1 2i\n3   -4i", capacity),
                (vec![[1.0, 2.0], [3.0, -4.0]], None)
            );
            assert_eq!(all::<i32>("4 five 6", capacity), (vec![4], Some("five".into())));
        }
    }

    #[test]
    fn eight_on_a_line() {
        let mut text = Vec::new();
        print(&[1i32, 2, 3], 6, &mut text);
        assert_eq!(text, b"1 2 \n3 ");
        assert!(line_is_open(9) && !line_is_open(8));
    }

    #[test]
    fn bytes_stay_and_numbers_stand_eight_in_a_line() {
        let mut text = Vec::new();
        print(&[0u8, 200, 10], 0, &mut text);
        assert_eq!(text, [0, 200, 10]);
        text.clear();
        print(&[1i32, 2, 3], 6, &mut text);
        assert_eq!(text, b"1 2 \n3 ");
    }
}
