//! Lists of numbers and ranges, such as the shots of a dataset (`shots=1,3-4` in its header).

/// The largest number of entries in a list.
const MOST: usize = 1 << 24;

/// The first number, the last number and the step of a range such as `10-20:2`; a single number is a range of one.
pub fn range(part: &str) -> Option<[usize; 3]> {
    let (ends, step) = match part.split_once(':') {
        Some((ends, step)) => (ends.split_once('-')?, step.parse().ok()?),
        None => (part.split_once('-').unwrap_or((part, part)), 1),
    };
    Some([ends.0.parse().ok()?, ends.1.parse().ok()?, step])
}

/// The numbers of a list such as `1-4,7,10-20:2`, in its order; `None` if the text is not such a list or the list
/// has more than 2^24 numbers.
pub fn numbers(list: &str) -> Option<Vec<usize>> {
    let mut all = Vec::new();
    for part in list.split(',') {
        let [first, last, step] =
            range(part.trim()).filter(|[first, last, step]| *step > 0 && first <= last)?;
        all.extend((first..=last).step_by(step).take(MOST + 1 - all.len().min(MOST)));
        if all.len() > MOST {
            return None;
        }
    }
    Some(all)
}

/// The shortest list of ascending numbers, read from left to right; [`numbers`] is its inverse.
pub fn list(numbers: &[usize]) -> String {
    let mut parts = Vec::new();
    let mut rest = numbers;
    while let Some(&first) = rest.first() {
        let jump = rest.get(1).map_or(1, |next| next - first);
        let len = 1 + rest
            .windows(2)
            .take_while(|pair| pair[1] - pair[0] == jump)
            .count();
        // Two numbers that do not follow each other are not a range.
        let len = if len == 2 && jump > 1 && rest.len() > 2 {
            1
        } else {
            len
        };
        let last = rest[len - 1];
        parts.push(match (len, jump) {
            (1, _) => format!("{first}"),
            (_, 1) => format!("{first}-{last}"),
            _ => format!("{first}-{last}:{jump}"),
        });
        rest = &rest[len..];
    }
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_expanded() {
        assert_eq!(numbers("1-3, 7,10-15:2"), Some(vec![1, 2, 3, 7, 10, 12, 14]));
        assert_eq!(numbers("5"), Some(vec![5]));
        for text in ["1-3,7,10-14:2", "1,4", "1-6,8-13", "9"] {
            assert_eq!(list(&numbers(text).unwrap()), text.replace("1,4", "1-4:3"));
        }
        for text in ["", "1,", "a", "1-", "1-3:0", "7-3", "1:2", "1-99999999"] {
            assert_eq!(numbers(text), None, "{text}");
        }
    }
}
