//! Texts of pictures, with the markup that Madagascar's flows use in labels and titles: `km\^2\_`, `v\_p\^`.

use skrifa::instance::{LocationRef, Size};
use skrifa::{FontRef, MetadataProvider};

use super::drawing::{FONT, Place, Rgb};

const RAISED: (&str, &str) = ("0123456789+-=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ");
/// Characters and their subscripts. The font of the pictures has no subscript letters.
const LOWERED: (&str, &str) = ("0123456789+-=()", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎");

/// A run of consecutive letters at the same height.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The letters.
    pub letters: String,
    /// Above the line (1), on it (0) or below it (-1); raised and lowered letters have the relative size [`SMALL`].
    pub height: i32,
}

/// The size of raised and lowered letters relative to other letters.
pub const SMALL: f64 = 0.7;

/// Splits a text into pieces. Letters are raised after `\^` and lowered after `\_` (each ends the other);
/// markup of font, size, colour and thickness (`\F5 `, `\s120 `, `\c3 `, `\f2 `) is removed. A letter that
/// has a superscript or subscript form in the font is replaced by that form, on the line.
pub fn pieces(text: &str) -> Vec<Piece> {
    let (mut pieces, mut height) = (Vec::new(), 0);
    let digit = |letter: char| letter.is_ascii_digit();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('\\') {
        set(&mut pieces, before, height);
        let mut letters = behind.chars();
        rest = match letters.next() {
            Some('^') => {
                height += 1;
                letters.as_str()
            }
            Some('_') => {
                height -= 1;
                letters.as_str()
            }
            Some('F' | 's' | 'c' | 'f') if letters.as_str().starts_with(digit) => {
                let behind = letters.as_str().trim_start_matches(digit);
                behind.strip_prefix(' ').unwrap_or(behind)
            }
            Some('\\') => {
                set(&mut pieces, "\\", height);
                letters.as_str()
            }
            Some(_) | None => {
                set(&mut pieces, "\\", height);
                behind
            }
        };
    }
    set(&mut pieces, rest, height);
    pieces
}

/// Appends `part` at `height`: above (positive), below (negative) or on the line (0).
fn set(pieces: &mut Vec<Piece>, part: &str, height: i32) {
    let (from, to) = match height {
        0 => ("", ""),
        1.. => RAISED,
        _ => LOWERED,
    };
    let small = |letter: char| {
        let place = from.chars().position(|known| known == letter)?;
        to.chars().nth(place)
    };
    let (letters, height) = match part.chars().map(small).collect::<Option<String>>() {
        Some(small) if height != 0 => (small, 0),
        _ => (part.to_string(), height.signum()),
    };
    match pieces.last_mut() {
        Some(last) if last.height == height => last.letters += &letters,
        _ if letters.is_empty() => {}
        _ => pieces.push(Piece { letters, height }),
    }
}

/// The part of a text that is placed at its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// The beginning.
    Start,
    /// The middle.
    Middle,
    /// The end.
    End,
}

/// A text of one line.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    /// The position, on the base line.
    pub at: Place,
    /// The letters.
    pub words: &'a str,
    /// Size of the letters.
    pub size: f64,
    /// The part of the text that lies at `at`.
    pub anchor: Anchor,
    /// The angle by which the line is rotated clockwise about `at`, in degrees.
    pub turned: f64,
    /// Extra thickness of the letters.
    pub fat: f64,
    /// Colour of the letters.
    pub colour: Rgb,
}

/// Width of `words` in letters of size 1.
pub fn text_width(words: &str) -> f64 {
    let Ok(font) = FontRef::new(FONT) else {
        return 0.6 * words.chars().count() as f64;
    };
    let letters = font.charmap();
    let sizes = font.glyph_metrics(Size::new(1.0), LocationRef::default());
    let advance = |letter| sizes.advance_width(letters.map(letter).unwrap_or_default());
    let width = |letters: &str| -> f64 {
        let each = letters.chars();
        each.map(|letter| f64::from(advance(letter).unwrap_or(0.6))).sum()
    };
    let sized = pieces(words).into_iter();
    sized
        .map(|piece| width(&piece.letters) * if piece.height == 0 { 1.0 } else { SMALL })
        .sum()
}

/// The distance above the line of letters at a height, for letters of size 1.
pub fn lift(height: i32) -> f64 {
    match height {
        0 => 0.0,
        1.. => 0.38,
        _ => -0.18,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_small_letters_or_go() {
        for (text, shown) in [
            ("depth", "depth"),
            (r"N\^3\_", "N³"),
            (r"v\_p\^ (km s\^-1\_)", "v[-1 p] (km s⁻¹)"),
            (r"c\_11\^", "c₁₁"),
            (r"a\^T\_ b", "a[1 T] b"),
            (r"x\_max\^\^2\_", "x[-1 max]²"),
            (r"\F5 \s120 big\s100  end", "big end"),
            (r"a\\b", r"a\b"),
            (r"C:\", r"C:\"),
            (r"\sigma", r"\sigma"),
        ] {
            let marked = |piece: Piece| match piece.height {
                0 => piece.letters,
                height => format!("[{height} {}]", piece.letters),
            };
            let all: String = pieces(text).into_iter().map(marked).collect();
            assert_eq!(all, shown, "{text}");
        }
    }
}
