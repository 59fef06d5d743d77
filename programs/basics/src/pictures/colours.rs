//! Colour tables that colour-blind readers can distinguish, with their own names and Madagascar's letters.

use anyhow::{Result, anyhow};

use super::drawing::Rgb;

/// Number of colours of a table. It is odd, so that the middle of the range has a colour and rounding noise
/// about it does not change the colour.
const LENGTH: usize = 511;
/// The colour of NaN, which no table contains.
pub const NOT_A_NUMBER: Rgb = [255, 0, 255];
/// The colour of values beyond the range of a table, if the user chooses to mark them.
const BEYOND: Rgb = [213, 94, 0];

/// Black.
pub const BLACK: Rgb = [0, 0, 0];
/// White.
pub const WHITE: Rgb = [255, 255, 255];
/// The colour of grid lines and zero lines.
pub const PALE: Rgb = [205, 205, 205];

/// The colours of a scale from its low to its high end, and whether values beyond the ends are marked.
#[derive(Clone, Debug)]
pub struct Colours {
    table: Vec<Rgb>,
    mark_beyond: bool,
}

/// The name, the gradient (linear grey if `None`), and whether the gradient is reversed, so that low values
/// are dark or cold.
const TABLES: [(&str, Option<colorous::Gradient>, bool); 9] = [
    ("grey", None, false),
    ("bluered", Some(colorous::RED_BLUE), true),
    ("purpleorange", Some(colorous::PURPLE_ORANGE), false),
    ("browngreen", Some(colorous::BROWN_GREEN), true),
    ("viridis", Some(colorous::VIRIDIS), false),
    ("cividis", Some(colorous::CIVIDIS), false),
    ("inferno", Some(colorous::INFERNO), false),
    ("magma", Some(colorous::MAGMA), false),
    ("plasma", Some(colorous::PLASMA), false),
];

/// Other names of tables, such as Madagascar's letters, and the tables that they stand for.
const OTHER_NAMES: [(&str, &str); 16] = [
    ("gray", "grey"),
    ("i", "grey"),
    ("j", "viridis"),
    ("jet", "viridis"),
    ("a", "viridis"),
    ("h", "inferno"),
    ("hot", "inferno"),
    ("p", "magma"),
    ("b", "cividis"),
    ("bone", "cividis"),
    ("l", "plasma"),
    ("c", "browngreen"),
    ("f", "purpleorange"),
    ("t", "bluered"),
    ("seismic", "bluered"),
    ("redblue", "bluered"),
];

impl Colours {
    /// The table called `name`. A capital letter reverses it, as in Madagascar; a `C` after the letter marks
    /// values beyond the range.
    ///
    /// # Errors
    /// Returns an error if there is no such table.
    pub fn named(name: &str) -> Result<Self> {
        let (base, mark_beyond) = match name.strip_suffix('C') {
            Some(letter) if letter.len() == 1 => (letter, true),
            _ => (name, false),
        };
        let capital = base.len() == 1 && base.chars().all(char::is_uppercase);
        let small = base.to_lowercase();
        let other = OTHER_NAMES.iter().find(|(known, _)| *known == small);
        let own = other.map_or(small.as_str(), |(_, own)| own);
        let row = TABLES.iter().find(|(known, ..)| *known == own);
        let (_, gradient, from_its_end) = row.copied().ok_or_else(|| {
            let known = TABLES.map(|(known, ..)| known).join(", ");
            anyhow!(
                "color={name} is unknown; colour tables are {known} and the letters of Madagascar (i, j, h, ...)"
            )
        })?;
        let colour = |number: usize| {
            let share = number as f64 / (LENGTH - 1) as f64;
            let share = if from_its_end != capital {
                1.0 - share
            } else {
                share
            };
            match gradient {
                Some(gradient) => {
                    let rgba = gradient.eval_continuous(share);
                    [rgba.r, rgba.g, rgba.b]
                }
                None => [(share * 255.0).round() as u8; 3],
            }
        };
        Ok(Self {
            table: (0..LENGTH).map(colour).collect(),
            mark_beyond,
        })
    }

    /// The table in reverse order.
    pub fn turned(mut self) -> Self {
        self.table.reverse();
        self
    }

    /// The colour at `share`, which is 0 for the lowest value and 1 for the highest; NaN has its own colour.
    pub fn at(&self, share: f32) -> Rgb {
        if share.is_nan() {
            return NOT_A_NUMBER;
        }
        if self.mark_beyond && !(0.0..=1.0).contains(&share) {
            return BEYOND;
        }
        let last = LENGTH - 1;
        self.table[((share.clamp(0.0, 1.0) * last as f32).round() as usize).min(last)]
    }
}

/// The colour of a pen by Madagascar's number, from eight colours that colour-blind readers can distinguish. On paper
/// Madagascar's white (7) is black and its black (0) is white.
pub fn pen(number: i64) -> Rgb {
    match number.rem_euclid(8) {
        0 => WHITE,
        1 => [0, 114, 178],
        2 => [213, 94, 0],
        3 => [204, 121, 167],
        4 => [0, 158, 115],
        5 => [86, 180, 233],
        6 => [230, 159, 0],
        _ => BLACK,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(colour: Rgb) -> u32 {
        colour.iter().map(|&part| u32::from(part)).sum()
    }

    #[test]
    fn low_is_dark_or_cold() {
        for name in [
            "grey", "i", "viridis", "j", "cividis", "inferno", "magma", "plasma",
        ] {
            let colours = Colours::named(name).unwrap();
            assert!(sum(colours.at(0.0)) < sum(colours.at(0.5)), "{name}");
            assert!(sum(colours.at(0.5)) < sum(colours.at(1.0)), "{name}");
            let turned = colours.clone().turned();
            assert_eq!(
                (turned.at(0.0), turned.at(1.0)),
                (colours.at(1.0), colours.at(0.0)),
                "{name}"
            );
        }
        for name in ["bluered", "purpleorange", "seismic", "redblue"] {
            let colours = Colours::named(name).unwrap();
            let (cold, warm) = (colours.at(0.0), colours.at(1.0));
            assert!(
                cold[2] > cold[0] && warm[0] > warm[2],
                "{name}: {cold:?} {warm:?}"
            );
        }
        // Blue contains more green than red, and purple less; red contains more blue than green, and orange
        // less.
        for name in ["bluered", "seismic", "redblue", "t"] {
            let colours = Colours::named(name).unwrap();
            let (cold, warm) = (colours.at(0.0), colours.at(1.0));
            assert!(
                cold[1] > cold[0] && warm[2] > warm[1],
                "{name}: {cold:?} {warm:?}"
            );
        }
        assert_eq!(Colours::named("grey").unwrap().at(0.5), [128; 3]);
    }

    #[test]
    fn noise_about_the_middle_has_one_colour() {
        for (name, ..) in TABLES {
            let colours = Colours::named(name).unwrap();
            for table in [colours.clone(), colours.turned()] {
                assert_eq!(table.at(0.5 - 5e-4), table.at(0.5), "{name}");
                assert_eq!(table.at(0.5 + 5e-4), table.at(0.5), "{name}");
            }
        }
    }

    /// Infinite values have the colours of the ends, and only NaN has its own colour.
    #[test]
    fn infinite_values_have_the_colours_of_the_ends() {
        let plain = Colours::named("viridis").unwrap();
        assert_eq!(plain.at(f32::INFINITY), plain.at(1.0));
        assert_eq!(plain.at(f32::NEG_INFINITY), plain.at(0.0));
        assert_eq!(plain.at(f32::NAN), NOT_A_NUMBER);
        let marked = Colours::named("iC").unwrap();
        assert_eq!(
            [f32::INFINITY, f32::NEG_INFINITY].map(|share| marked.at(share)),
            [BEYOND; 2]
        );
    }

    #[test]
    fn letters_of_madagascar() {
        for letter in "ijahpblcft".chars() {
            let small = Colours::named(&letter.to_string()).unwrap();
            let capital = Colours::named(&letter.to_uppercase().to_string()).unwrap();
            assert_eq!(small.at(0.0), capital.at(1.0), "{letter}");
            let marked = Colours::named(&format!("{letter}C")).unwrap();
            assert_eq!(
                (marked.at(1.5), marked.at(0.5)),
                (BEYOND, small.at(0.5)),
                "{letter}"
            );
        }
        assert!(
            Colours::named("rainbow")
                .unwrap_err()
                .to_string()
                .contains("cividis")
        );
        assert_eq!(Colours::named("j").unwrap().at(f32::NAN), NOT_A_NUMBER);
    }

    #[test]
    fn pens_differ() {
        let pens: std::collections::BTreeSet<Rgb> = (0..8).map(pen).collect();
        assert_eq!(pens.len(), 8);
        assert_eq!((pen(7), pen(0), pen(9)), (BLACK, WHITE, pen(1)));
    }
}
