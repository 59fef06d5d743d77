//! The marks that labels and titles of Madagascar's flows may hold: `km\^2\_`, `v\_p\^`.

use std::borrow::Cow;

const RAISED: (&str, &str) = ("0123456789+-=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ");
/// The font of the pictures has no small letters for below.
const LOWERED: (&str, &str) = ("0123456789+-=()", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎");

/// The text with letters raised behind `\^` and lowered behind `\_` (each ends the other); marks of font, size, colour and
/// thickness (`\F5 `, `\s120 `, `\c3 `, `\f2 `) are left out. Letters that have no small form keep their height, behind a `^` or `_`.
pub fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let (mut made, mut height) = (String::with_capacity(text.len()), 0);
    let digit = |letter: char| letter.is_ascii_digit();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('\\') {
        set(&mut made, before, height);
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
                made.push('\\');
                letters.as_str()
            }
            Some(_) | None => {
                made.push('\\');
                behind
            }
        };
    }
    set(&mut made, rest, height);
    Cow::Owned(made)
}

/// Appends `part` at `height`: above (more than 0), below or on the line.
fn set(made: &mut String, part: &str, height: i32) {
    let (sign, (from, to)) = match height {
        0 => return made.push_str(part),
        1.. => ('^', RAISED),
        _ => ('_', LOWERED),
    };
    let small = |letter: char| {
        let place = from.chars().position(|known| known == letter)?;
        to.chars().nth(place)
    };
    match part.chars().map(small).collect::<Option<String>>() {
        Some(part) => made.push_str(&part),
        None => {
            made.push(sign);
            made.push_str(part);
        }
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
            (r"v\_p\^ (km s\^-1\_)", "v_p (km s⁻¹)"),
            (r"c\_11\^", "c₁₁"),
            (r"a\^T\_ b", "a^T b"),
            (r"\F5 \s120 big\s100  end", "big end"),
            (r"a\\b", r"a\b"),
            (r"C:\", r"C:\"),
            (r"\sigma", r"\sigma"),
        ] {
            assert_eq!(plain(text), shown, "{text}");
        }
    }
}
