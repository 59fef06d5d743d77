//! Lists of numbers and ranges, such as the shots of a dataset (`shots=1,3-4` in its header).

/// The most numbers of a list.
const MOST: usize = 1 << 24;

/// The first number, the last number and the step of a range such as `10-20:2`; a single number is a range of one.
pub fn range(part: &str) -> Option<[usize; 3]> {
    let (ends, step) = match part.split_once(':') {
        Some((ends, step)) => (ends.split_once('-')?, step.parse().ok()?),
        None => (part.split_once('-').unwrap_or((part, part)), 1),
    };
    Some([ends.0.parse().ok()?, ends.1.parse().ok()?, step])
}

/// The numbers of a list such as `1-4,7,10-20:2`, in its order; `None` if the text is no such list, or a list of more
/// than 2^24 numbers.
pub fn numbers(list: &str) -> Option<Vec<usize>> {
    let mut all = Vec::new();
    for part in list.split(',') {
        let [first, last, step] = range(part.trim()).filter(|range| range[2] > 0)?;
        all.extend((first..=last).step_by(step).take(MOST + 1 - all.len().min(MOST)));
        if all.len() > MOST {
            return None;
        }
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_expanded() {
        assert_eq!(numbers("1-3, 7,10-15:2"), Some(vec![1, 2, 3, 7, 10, 12, 14]));
        assert_eq!(numbers("5"), Some(vec![5]));
        for text in ["", "1,", "a", "1-", "1-3:0", "1:2", "1-99999999"] {
            assert_eq!(numbers(text), None, "{text}");
        }
    }
}
