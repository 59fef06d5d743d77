//! Compares the quantity and the components of data with the quantity and the components that a run models.

use anyhow::{bail, ensure};
use rsf_io::Input;

/// Names of components in labels: of axes, of the compass, of channels and of tensors.
const WORDS: [&str; 19] = [
    "z", "x", "y", "Z", "X", "Y", "N", "E", "R", "T", "1", "2", "3", "zz", "xx", "yy", "zx", "zy", "xy",
];

/// For each component, those from which it can be made, with factors; the first of them that the data have is
/// used.
const CONVERSIONS: [(&str, &[(&str, f32)]); 6] = [
    ("z", &[("z", 1.0), ("Z", -1.0)]),
    ("x", &[("x", 1.0), ("X", 1.0), ("E", 1.0), ("1", 1.0), ("R", 1.0)]),
    ("y", &[("y", 1.0), ("Y", 1.0), ("N", 1.0), ("2", 1.0)]),
    ("Z", &[("Z", 1.0), ("z", -1.0)]),
    ("N", &[("N", 1.0), ("y", 1.0), ("2", 1.0)]),
    ("E", &[("E", 1.0), ("x", 1.0), ("1", 1.0)]),
];

/// The quantity and the components that a run models.
pub struct Modelled<'a> {
    /// The quantity in the form of headers: `velocity in m/s`.
    pub quantity: &'a str,
    /// The components in the form of the label of their axis: `z x y`.
    pub components: &'a str,
    /// The other way to give receivers, which models other components, if the program has one.
    pub or: Option<&'a str>,
}

/// Refuses data whose header says that they are another quantity or have other components; a header that
/// gives neither is accepted.
pub fn same_kind(data: &Input, run: &Modelled<'_>) -> anyhow::Result<()> {
    let name = data.name();
    if let Some(quantity) = other_quantity(data, run.quantity) {
        let (label, unit) = run.quantity.split_once(" in ").unwrap_or((run.quantity, ""));
        bail!(
            "{name} holds {quantity}, but this run models {}: give the quantity of the data as data=; if the \
            header is wrong, sfput quantity=\"{}\" label={label} unit={unit} corrects it",
            run.quantity,
            run.quantity
        );
    }
    let label = data.axis(2).label.unwrap_or_default();
    let (Some(given), Some(modelled)) = (words(&label), words(run.components)) else {
        return Ok(());
    };
    let same = given.iter().zip(&modelled).all(|(a, b)| a == b);
    ensure!(
        same,
        "{name} has the components {}, but this run models {}: {}",
        describe(&given),
        describe(&modelled),
        way(&given, &modelled, run.or)
    );
    Ok(())
}

/// The quantity in a header, if it is not the `modelled` one. Label and unit are examined, too, because users set them.
fn other_quantity(data: &Input, modelled: &str) -> Option<String> {
    let text = |key: &str| data.header().text(key).filter(|text| !text.is_empty());
    let by_label = text("label").map(|label| match text("unit") {
        Some(unit) => format!("{} in {unit}", label.to_lowercase()),
        None => label.to_lowercase(),
    });
    let given = text("quantity").or_else(|| by_label.clone().filter(|words| is_known(words)));
    given.filter(|given| given != modelled && by_label.as_deref() != Some(modelled))
}

/// Whether label and unit, `words`, name a quantity that receivers record.
fn is_known(words: &str) -> bool {
    let known = [
        "velocity in m/s",
        "displacement in m",
        "acceleration in m/s2",
        "pressure in Pa",
    ];
    known.contains(&words)
}

/// The components that a label names; `None` if it has other words.
fn words(label: &str) -> Option<Vec<&str>> {
    let components: Vec<&str> = label.split_whitespace().collect();
    (!components.is_empty() && components.iter().all(|word| WORDS.contains(word))).then_some(components)
}

/// The components in words, such as `Z N E (Z is up)`.
fn describe(components: &[&str]) -> String {
    let sign = if components.contains(&"Z") {
        " (Z is up)"
    } else if components.contains(&"z") {
        " (z is down)"
    } else {
        ""
    };
    components.join(" ") + sign
}

/// Advice on how to make the `modelled` components from the `given` ones.
fn way(given: &[&str], modelled: &[&str], or: Option<&str>) -> String {
    let or = or.map_or(String::new(), |word| format!("{word}, or "));
    let label = modelled.join(" ");
    let Some(conversions) = modelled
        .iter()
        .map(|word| conversion(word, given))
        .collect::<Option<Vec<_>>>()
    else {
        return format!(
            "{or}bring them into that order, with z down, and name them accordingly (sfput label2=\"{label}\")"
        );
    };
    let mut line = Vec::new();
    let mut if_so = Vec::new();
    for (word, (place, factor)) in modelled.iter().zip(conversions) {
        let scaled = if factor < 0.0 { " | sfscale dscale=-1" } else { "" };
        line.push(format!(
            "sfwindow < data.rsf n2=1 f2={place} squeeze=n{scaled} > c{word}.rsf"
        ));
        if !given[place].eq_ignore_ascii_case(word) {
            if_so.push(format!("{} is {word}", given[place]));
        }
    }
    let parts: Vec<String> = modelled.iter().map(|word| format!("c{word}.rsf")).collect();
    let if_so = match if_so.is_empty() {
        true => String::new(),
        false => format!("where {}, ", if_so.join(" and ")),
    };
    format!(
        "{or}{if_so}{}; sfcat {} axis=2 | sfput o2=0 d2=1 label2=\"{label}\" > turned.rsf makes them from a \
        file data.rsf (if only the names are wrong, that sfput alone corrects them)",
        line.join("; "),
        parts.join(" ")
    )
}

/// The index in `given` of a component from which `word` can be made, and the factor.
fn conversion(word: &str, given: &[&str]) -> Option<(usize, f32)> {
    let (_, of) = CONVERSIONS.iter().find(|(name, _)| *name == word)?;
    let place = |(name, factor): &(&str, f32)| Some((given.iter().position(|own| own == name)?, *factor));
    of.iter().find_map(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_converted_from_others() {
        let given = ["Z", "N", "E"];
        assert_eq!(
            ["z", "x", "y"].map(|word| conversion(word, &given)),
            [Some((0, -1.0)), Some((2, 1.0)), Some((1, 1.0))]
        );
        assert_eq!(conversion("zz", &["zz"]), None);
        assert_eq!(words("Z 1 2"), Some(vec!["Z", "1", "2"]));
        assert!(
            [words(""), words("component"), words("offset x")]
                .iter()
                .all(Option::is_none)
        );
    }
}
