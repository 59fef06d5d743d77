//! The header of a dataset: reading its lines, and its values by the rules of the C library.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, BufRead, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::data::Format;
use crate::number::{is_space, leading_f64, leading_int, stored_f32, stored_f64};
use crate::{Error, Result};

/// Two form feeds and EOT at the start of a line: the data follow in the same stream.
pub const TERMINATOR: [u8; 3] = [0x0c, 0x0c, 0x04];

/// The longest header, in bytes (64 MiB).
const LONGEST: u64 = 64 << 20;

/// The keys of a dataset and the text that they came from.
///
/// Values are kept as written, quotes included; every conversion is one of C's prefix conversions, so that an
/// unparsable number is 0 and not an error. Keys need not be UTF-8, but the getters take keys that are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Header {
    text: Vec<u8>,
    keys: BTreeMap<Vec<u8>, Vec<u8>>,
    inline: bool,
    /// Its file, if it was read from one.
    pub(crate) path: Option<PathBuf>,
}

impl Header {
    /// Reads a header from a stream and leaves the stream at the first byte of the data, if the data
    /// follow in it (see [`Header::is_inline`]).
    /// Returns an error for an open quote at the end of a line, a header longer than 64 MiB, or a failed read.
    pub fn read(reader: &mut impl BufRead) -> Result<Self> {
        let mut header = Self::default();
        let mut line = Vec::new();
        let mut number = 1usize;
        loop {
            line.clear();
            if at_terminator(reader, &mut line).map_err(unreadable)? {
                header.inline = true;
                return Ok(header);
            }
            let left = LONGEST.saturating_sub((header.text.len() + line.len()) as u64);
            reader
                .take(left)
                .read_until(b'\n', &mut line)
                .map_err(unreadable)?;
            if line.is_empty() {
                if left == 0 {
                    return Err(Error::new(
                        "is not an RSF header: it has 64 MiB of text without an end mark",
                    ));
                }
                return Ok(header);
            }
            header
                .add_line(&line)
                .map_err(|what| Error::new(format!("line {number} of the header: {what}")))?;
            number += 1;
        }
    }

    /// Reads a header from bytes; anything after a terminator is not read.
    pub fn parse(mut bytes: &[u8]) -> Result<Self> {
        Self::read(&mut bytes)
    }

    /// Adds the keys of a line, and the line itself to the history.
    fn add_line(&mut self, line: &[u8]) -> std::result::Result<(), &'static str> {
        for token in tokens(line)? {
            if let Some(at) = token.iter().position(|b| *b == b'=') {
                self.keys.insert(token[..at].to_vec(), token[at + 1..].to_vec());
            }
        }
        self.text.extend_from_slice(line);
        Ok(())
    }

    /// Appends a line of keys, whose values must have no quotes.
    pub(crate) fn append(&mut self, line: &str) {
        if self.text.last().is_some_and(|last| *last != b'\n') {
            self.text.push(b'\n');
        }
        // A line without quotes cannot be refused.
        let _ = self.add_line(format!("{line}\n").as_bytes());
    }

    /// The history of the dataset: every line as it was read, without the terminator.
    pub fn history(&self) -> &[u8] {
        &self.text
    }

    /// True when a terminator ended the header, so that more bytes follow in the same stream.
    pub fn is_inline(&self) -> bool {
        self.inline
    }

    /// True if the header has no text.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Every key with its value as written, sorted by the bytes of the keys.
    pub fn entries(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.keys
            .iter()
            .map(|(key, value)| (key.as_slice(), value.as_slice()))
    }

    /// The value as written, quotes included.
    pub fn raw(&self, key: &str) -> Option<&[u8]> {
        self.keys.get(key.as_bytes()).map(Vec::as_slice)
    }

    /// The value as C's `strtol` reads it in base 10, 0 if it is not a number; `None` if the key is absent or the value
    /// does not fit in 32 bits.
    pub fn int(&self, key: &str) -> Option<i32> {
        self.large_int(key).and_then(|value| i32::try_from(value).ok())
    }

    /// Like [`Header::int`], with 64 bits.
    pub fn large_int(&self, key: &str) -> Option<i64> {
        leading_int(self.raw(key)?).0
    }

    /// The value as C's `strtod` reads it, rounded to f32, 0 if it is not a number; `None` if the key is absent or the
    /// value infinite or out of range.
    pub fn float(&self, key: &str) -> Option<f32> {
        stored_f32(self.raw(key)?)
    }

    /// The value as C's `strtod` reads it; `None` if the key is absent or the value out of range.
    pub fn double(&self, key: &str) -> Option<f64> {
        stored_f64(self.raw(key)?)
    }

    /// True if and only if the first character inside the quotes is `y`, `Y` or `1`.
    pub fn flag(&self, key: &str) -> Option<bool> {
        Some(is_yes(unquoted(self.raw(key)?)))
    }

    /// The bytes between the first and the last double quote, or the whole value if there are none.
    pub fn bytes(&self, key: &str) -> Option<&[u8]> {
        Some(unquoted(self.raw(key)?))
    }

    /// Like [`Header::bytes`], as text; invalid UTF-8 is replaced.
    pub fn text(&self, key: &str) -> Option<String> {
        self.bytes(key)
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    /// The value as a path.
    pub fn path(&self, key: &str) -> Option<PathBuf> {
        self.bytes(key)
            .map(|bytes| PathBuf::from(OsStr::from_bytes(bytes)))
    }

    /// A list of `length` whole numbers; the last one is repeated when there are fewer.
    pub fn ints(&self, key: &str, length: usize) -> Option<Vec<i32>> {
        self.list(key, length, |item| leading_int(item).0.unwrap_or(0) as i32)
    }

    /// A list of `length` real numbers; if the header has fewer, the last number is repeated.
    pub fn floats(&self, key: &str, length: usize) -> Option<Vec<f32>> {
        self.list(key, length, |item| leading_f64(item).0 as f32)
    }

    /// A list of `length` flags; if the header has fewer, the last flag is repeated.
    pub fn flags(&self, key: &str, length: usize) -> Option<Vec<bool>> {
        self.list(key, length, is_yes)
    }

    fn list<T: Clone>(&self, key: &str, length: usize, convert: impl Fn(&[u8]) -> T) -> Option<Vec<T>> {
        let mut values = Vec::new();
        for item in unquoted(self.raw(key)?)
            .split(|b| *b == b',')
            .filter(|item| !item.is_empty())
        {
            let (count, item) = repeated(item);
            let room = length - values.len();
            values.resize(values.len() + count.min(room as u64) as usize, convert(item));
        }
        let last = values.last()?.clone();
        values.resize(length, last);
        Some(values)
    }

    /// Form and type of the data. Without `data_format` only `esize=0` is understood (ascii float).
    pub fn format(&self) -> Result<Format> {
        if let Some(text) = self.text("data_format") {
            return Ok(Format::from_text(&text));
        }
        match self.int("esize") {
            Some(0) => Ok(Format::from_text("ascii_float")),
            _ if self.raw("in").is_none() => Err(Error::new(
                "is not the header of a dataset: it has neither in=, which names the data, nor data_format=, which is their type",
            )),
            _ => Err(Error::new(
                "the header has no data_format=, so the type of the data is unknown",
            )),
        }
    }
}

fn unreadable(cause: io::Error) -> Error {
    Error::os("cannot read the header", cause)
}

/// Consumes the terminator if the stream is at one. If only its first bytes match, these are consumed, too,
/// and appended to `line`.
fn at_terminator(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    for byte in TERMINATOR {
        let next = loop {
            match reader.fill_buf() {
                Ok(buffer) => break buffer.first().copied(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        };
        if next != Some(byte) {
            return Ok(false);
        }
        reader.consume(1);
        line.push(byte);
    }
    Ok(true)
}

/// Splits a line at white space outside double quotes.
fn tokens(line: &[u8]) -> std::result::Result<Vec<&[u8]>, &'static str> {
    let mut tokens = Vec::new();
    let mut start = None;
    let mut quoted = false;
    for (at, byte) in line.iter().enumerate() {
        if !quoted && is_space(*byte) {
            if let Some(from) = start.take() {
                tokens.push(&line[from..at]);
            }
            continue;
        }
        start.get_or_insert(at);
        quoted ^= *byte == b'"';
    }
    if quoted {
        return Err("unterminated string (a double quote is opened and not closed)");
    }
    tokens.extend(start.map(|from| &line[from..]));
    Ok(tokens)
}

/// Text between the first and the last double quote, or all of it.
pub(crate) fn unquoted(value: &[u8]) -> &[u8] {
    let first = value.iter().position(|b| *b == b'"');
    let last = value.iter().rposition(|b| *b == b'"');
    match (first, last) {
        (Some(first), Some(last)) if first < last => &value[first + 1..last],
        _ => value,
    }
}

fn is_yes(value: &[u8]) -> bool {
    matches!(value.first(), Some(b'y' | b'Y' | b'1'))
}

/// Splits `count*value` or `countxvalue`; without a count it is 1.
pub(crate) fn repeated(item: &[u8]) -> (u64, &[u8]) {
    let digits = item.iter().take_while(|b| b.is_ascii_digit()).count();
    match item.get(digits) {
        Some(b'*' | b'x') if digits > 0 => (
            leading_int(&item[..digits]).0.unwrap_or(i64::MAX) as u64,
            &item[digits + 1..],
        ),
        _ => (1, item),
    }
}

/// Bytes as text for messages.
pub(crate) fn shown(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(text: &str) -> Header {
        Header::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn tokens_and_quotes() {
        let h = header("a=1 words b=\"x y\" c= \"d=5\" k=He\" s\"aid\r\nn1 = 5 a=2 e=f=g\n");
        assert_eq!(h.int("a"), Some(2));
        assert_eq!(h.text("b").as_deref(), Some("x y"));
        assert_eq!(h.raw("c"), Some(&b""[..]));
        assert_eq!(h.raw("\"d"), Some(&b"5\""[..]));
        assert_eq!(h.raw("n1"), None);
        assert_eq!(h.raw("e"), Some(&b"f=g"[..]));
        assert!(
            Header::parse(b"a=\"b\n\"")
                .unwrap_err()
                .to_string()
                .contains("line 1")
        );
    }

    #[test]
    fn text_lies_between_the_outer_quotes() {
        let h = header("a=\"x\"y\"z\" b=\"\"");
        assert_eq!(h.text("a").as_deref(), Some("x\"y\"z"));
        assert_eq!(h.text("b").as_deref(), Some(""));
    }

    #[test]
    fn flags_as_in_c() {
        for (text, value) in [
            ("y", true),
            ("Y", true),
            ("1", true),
            ("10", true),
            ("\"y\"", true),
            ("true", false),
            ("no", false),
        ] {
            assert_eq!(header(&format!("k={text}")).flag("k"), Some(value), "{text}");
        }
        assert_eq!(header("").flag("k"), None);
    }

    #[test]
    fn numbers_as_in_c() {
        let h = header("a=7.9 b=\"5\" c=3000000000 d=1e39 e=0x10");
        assert_eq!((h.int("a"), h.int("b"), h.int("c")), (Some(7), Some(0), None));
        assert_eq!(h.large_int("c"), Some(3_000_000_000));
        assert_eq!(
            (h.float("d"), h.double("d"), h.float("e")),
            (None, Some(1e39), Some(16.0))
        );
    }

    #[test]
    fn lists_repeat() {
        let h = header("a=2,3 b=3*1.5,,2 c=2xy,n d=99999999999999999999*1 e=, f=0*1");
        assert_eq!(h.ints("a", 4), Some(vec![2, 3, 3, 3]));
        assert_eq!(h.floats("b", 4), Some(vec![1.5, 1.5, 1.5, 2.0]));
        assert_eq!(h.flags("c", 3), Some(vec![true, true, false]));
        assert_eq!(h.ints("d", 3), Some(vec![1, 1, 1]));
        assert_eq!(h.ints("e", 3), None);
        assert_eq!(h.ints("f", 3), None);
    }

    #[test]
    fn the_terminator_counts_at_a_line_start_only() {
        let mut bytes: &[u8] = b"a=1\x0c\x0c\x04b=2\n\x0c\x0cc=3\n\x0c\x0c\x04rest";
        let h = Header::read(&mut bytes).unwrap();
        assert_eq!(bytes, b"rest");
        assert!(h.is_inline());
        assert_eq!((h.raw("a"), h.int("c")), (Some(&b"1"[..]), Some(3)));
        // The control bytes end a=1 (form feeds are white space); EOT begins the next token.
        assert_eq!(h.raw("\u{4}b"), Some(&b"2"[..]));
    }

    #[test]
    fn lines_are_added_behind_whole_ones() {
        for text in ["n1=3 n2=2", "n1=3 n2=2\n"] {
            let mut header = Header::parse(text.as_bytes()).unwrap();
            header.append("\tn2=1");
            assert_eq!(header.history(), b"n1=3 n2=2\n\tn2=1\n");
            assert_eq!((header.int("n1"), header.int("n2")), (Some(3), Some(1)));
        }
    }
}
