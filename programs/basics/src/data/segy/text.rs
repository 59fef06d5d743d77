//! The textual header: 40 lines of 80 characters, in EBCDIC (code page 037) or ASCII.

use anyhow::{Context, Result, ensure};

/// Length of a textual header in bytes.
pub const TEXT_HEADER: usize = 3200;
const LINE: usize = 80;

/// The EBCDIC codes of the ASCII characters 32 to 126.
#[rustfmt::skip]
const EBCDIC: [u8; 95] = [
    0x40, 0x5a, 0x7f, 0x7b, 0x5b, 0x6c, 0x50, 0x7d, 0x4d, 0x5d, 0x5c, 0x4e, 0x6b, 0x60, 0x4b, 0x61,
    0xf0, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0x7a, 0x5e, 0x4c, 0x7e, 0x6e, 0x6f,
    0x7c, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xd1, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6,
    0xd7, 0xd8, 0xd9, 0xe2, 0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8, 0xe9, 0xba, 0xe0, 0xbb, 0xb0, 0x6d,
    0x79, 0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x91, 0x92, 0x93, 0x94, 0x95, 0x96,
    0x97, 0x98, 0x99, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xc0, 0x4f, 0xd0, 0xa1,
];
const NEW_LINE: u8 = 0x25;

/// Converts an EBCDIC character to ASCII; characters that ASCII lacks become blanks.
fn ascii(byte: u8) -> u8 {
    match EBCDIC.iter().position(|code| *code == byte) {
        Some(i) => 32 + i as u8,
        None if byte == NEW_LINE || byte == 0x15 => b'\n',
        None => b' ',
    }
}

fn ebcdic(byte: u8) -> u8 {
    match byte {
        b'\n' => NEW_LINE,
        32..=126 => EBCDIC[byte as usize - 32],
        _ => EBCDIC[0],
    }
}

/// Whether at least nine of ten bytes are printable characters of ASCII or EBCDIC; binary headers are mostly zeros.
pub fn is_text(bytes: &[u8]) -> bool {
    let most = |letters: usize| 10 * letters >= 9 * bytes.len();
    let in_ascii = |byte: &&u8| matches!(byte, 32..=126 | b'\n' | b'\r');
    most(bytes.iter().filter(in_ascii).count())
        || most(bytes.iter().filter(|byte| EBCDIC.contains(byte)).count())
}

/// Converts a textual header to ASCII. A header with more ASCII blanks than EBCDIC blanks is in ASCII already.
pub fn to_ascii(header: &[u8]) -> Vec<u8> {
    let count = |blank: u8| header.iter().filter(|byte| **byte == blank).count();
    if count(b' ') > count(EBCDIC[0]) {
        let letter = |byte: &u8| {
            if matches!(byte, 32..=126 | b'\n') {
                *byte
            } else {
                b' '
            }
        };
        return header.iter().map(letter).collect();
    }
    header.iter().map(|byte| ascii(*byte)).collect()
}

/// The name of the stanza with which a textual header (in ASCII) begins, in lower case and without blanks:
/// `seg:layout:text/xml` for `((SEG:Layout:text/xml))`.
pub fn name_of_stanza(text: &str) -> Option<String> {
    let (name, _) = text.trim_start().strip_prefix("((")?.split_once("))")?;
    Some(name.to_lowercase().replace([' ', '\n'], ""))
}

/// The content of the first stanza with the name `title`, from all textual headers over which it extends. The name may
/// be followed by the type of the content and its length in bytes.
pub fn stanza(texts: &[String], title: &str) -> Option<String> {
    let names: Vec<Option<String>> = texts.iter().map(|text| name_of_stanza(text)).collect();
    let is_own = |name: &str| {
        name.strip_prefix(title)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
    };
    let first = names
        .iter()
        .position(|name| name.as_deref().is_some_and(is_own))?;
    let own = (first + 1..texts.len())
        .find(|i| names[*i].is_some())
        .unwrap_or(texts.len());
    let text = texts[first..own].concat();
    let (name, content) = text.split_once("))")?;
    let bytes = name.split(':').nth(3).and_then(|bytes| bytes.trim().parse().ok());
    let content = bytes.and_then(|bytes| content.get(..bytes)).unwrap_or(content);
    Some(content.trim().into())
}

/// Makes a textual header in EBCDIC from text: either 3200 bytes or up to 40 lines of up to 80 characters.
///
/// # Errors
/// Returns an error if the text does not fit, or is not UTF-8.
pub fn to_ebcdic(text: &[u8], name: &str) -> Result<Vec<u8>> {
    if text.len() == TEXT_HEADER {
        return Ok(text.iter().map(|byte| ebcdic(*byte)).collect());
    }
    let text = std::str::from_utf8(text).ok().with_context(|| {
        format!(
            "{name} has {} bytes and is not text: a textual header must have {TEXT_HEADER} bytes, or be text \
            in lines",
            text.len()
        )
    })?;
    let lines: Vec<&str> = text.lines().collect();
    ensure!(
        lines.len() <= TEXT_HEADER / LINE && lines.iter().all(|line| line.chars().count() <= LINE),
        "{name} has {} lines, the longest with {} characters, but a textual header holds {} lines of {LINE}",
        lines.len(),
        lines.iter().map(|line| line.chars().count()).max().unwrap_or(0),
        TEXT_HEADER / LINE
    );
    Ok(cards(&lines))
}

/// Pads lines to a header of 40 lines of 80 characters in EBCDIC.
fn cards(lines: &[&str]) -> Vec<u8> {
    let mut header = Vec::with_capacity(TEXT_HEADER);
    for i in 0..TEXT_HEADER / LINE {
        let mut letters = lines.get(i).copied().unwrap_or("").chars();
        let letter = |c: Option<char>| c.and_then(|c| u8::try_from(c).ok()).unwrap_or(b' ');
        header.extend((0..LINE).map(|_| ebcdic(letter(letters.next()))));
    }
    header
}

/// A new textual header with `facts` in its first lines.
pub fn new_header(facts: &[String]) -> Vec<u8> {
    let line = |i: usize| {
        let text = facts.get(i).map_or("", String::as_str);
        format!("C{:<2} {text}", i + 1)
    };
    let mut lines: Vec<String> = (0..TEXT_HEADER / LINE).map(line).collect();
    lines[TEXT_HEADER / LINE - 1] = "C40 END TEXTUAL HEADER".into();
    cards(&lines.iter().map(String::as_str).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_go_there_and_back() {
        let text: Vec<u8> = (32..127u8).chain([b'\n']).cycle().take(TEXT_HEADER).collect();
        assert_eq!(to_ascii(&to_ebcdic(&text, "x").unwrap()), text);
        // SEG-Y files begin with the letter C.
        assert_eq!(ebcdic(b'C'), 0xc3);
        assert_eq!(to_ascii(&text), text);
    }

    #[test]
    fn stanzas_go_over_several_headers() {
        let texts = [
            "((SEGYIO: one)) a",
            "((SEG:Lay out:text/xml:6)) <a>",
            "</a> junk",
            "((SEG: EndText))",
        ]
        .map(String::from);
        assert_eq!(name_of_stanza(&texts[3]).as_deref(), Some("seg:endtext"));
        assert_eq!(name_of_stanza("(( none"), None);
        assert_eq!(stanza(&texts, "seg:layout").as_deref(), Some("<a></"));
        assert_eq!(stanza(&texts[..1], "seg:layout"), None);
        assert_eq!(stanza(&texts, "segyio:one").as_deref(), Some("a"));
    }

    #[test]
    fn lines_are_filled_up() {
        let header = to_ascii(&to_ebcdic("C 1 ONE\nC 2 TWO\n".as_bytes(), "x").unwrap());
        assert_eq!(header.len(), TEXT_HEADER);
        assert!(header.starts_with(b"C 1 ONE ") && header[80..].starts_with(b"C 2 TWO  "));
        assert!(to_ebcdic(&[b'a'; 81], "x").is_err());
        assert!(to_ebcdic("\n".repeat(41).as_bytes(), "x").is_err());
        assert!(to_ascii(&new_header(&["HELLO".into()])).starts_with(b"C1  HELLO"));
    }
}
