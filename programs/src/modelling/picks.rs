//! The shots of a survey that a run models: `shots=`.

use super::words::counted;
use anyhow::{Context, bail, ensure};
use rsf_io::ranges;
use rsf_io::{Axis, Job};

/// Some shots of a survey, or all of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Picks {
    /// Numbers of the shots in the order of the survey, counted from 0.
    numbers: Vec<usize>,
    /// The number of shots of the survey.
    whole: usize,
    /// The list as headers have it; `None` if `shots=` is not given.
    listed: Option<String>,
}

impl Picks {
    /// The shots that `shots=` picks from a survey of `whole` shots.
    pub fn read(job: &Job, whole: usize) -> anyhow::Result<Self> {
        match job.text("shots")? {
            Some(text) => Self::parse(&text, whole),
            None => Ok(Self::all(whole)),
        }
    }

    /// All shots of a survey of `whole` shots.
    pub fn all(whole: usize) -> Self {
        Self {
            numbers: (0..whole).collect(),
            whole,
            listed: None,
        }
    }

    /// Reads `1-4,7,10-20:2`: shots are counted from 1, as in all messages.
    fn parse(text: &str, whole: usize) -> anyhow::Result<Self> {
        let mut taken = vec![false; whole];
        for part in text.split(',').map(str::trim) {
            let Some([first, last, step]) = ranges::range(part) else {
                bail!(
                    "shots={text}: `{part}` is neither the number of a shot nor a range of them: there {} (n3= of sou= and rec=), and shots=1-4,7,10-20:2 takes the shots 1 to 4, 7, and every second one from 10 to 20",
                    there_are(whole)
                );
            };
            ensure!(
                step > 0 && first <= last,
                "shots={text}: the range {part} has no shots: it must go from a smaller number to a larger \
                one in steps of at least one, as in 10-20:2"
            );
            if let Some(bad) = [first, last].into_iter().find(|&n| n == 0 || n > whole) {
                bail!(
                    "shots={text}: there is no shot {bad}: there {} (n3= of sou= and rec=), counted from 1",
                    there_are(whole)
                );
            }
            (first..=last).step_by(step).for_each(|n| taken[n - 1] = true);
        }
        let numbers: Vec<usize> = (0..whole).filter(|&n| taken[n]).collect();
        Ok(Self {
            listed: Some(listed(&numbers)),
            numbers,
            whole,
        })
    }

    /// Number of picked shots.
    pub fn count(&self) -> usize {
        self.numbers.len()
    }

    /// The number of shots of the survey.
    pub fn whole(&self) -> usize {
        self.whole
    }

    /// The list as headers have it; `None` if `shots=` is not given.
    pub fn listed(&self) -> Option<&str> {
        self.listed.as_deref()
    }

    /// The entries of `all` that belong to the picked shots; a single entry belongs to all of them.
    pub fn of<T>(&self, all: Vec<T>) -> Vec<T> {
        if all.len() <= 1 {
            return all;
        }
        let mut next = self.numbers.iter().peekable();
        let picked = all
            .into_iter()
            .enumerate()
            .filter(|(k, _)| next.next_if_eq(&k).is_some());
        picked.map(|(_, one)| one).collect()
    }

    /// The number of a picked shot for users, who count from 1.
    pub fn number(&self, place: usize) -> usize {
        self.numbers.get(place).map_or(place, |n| *n) + 1
    }

    /// The number of a picked shot and of all shots, as in `7 of 20`.
    pub fn name(&self, place: usize) -> String {
        format!("{} of {}", self.number(place), self.whole)
    }

    /// The axis of the picked shots, given the axis of all shots; unevenly spaced shots are counted from 0.
    pub fn axis(&self, axis: &Axis) -> Axis {
        let n = self.count();
        match (step(&self.numbers), self.numbers.first()) {
            (Some(step), Some(&first)) => Axis {
                n,
                o: axis.at(first as f64),
                d: step as f32 * axis.d,
                ..axis.clone()
            },
            // Numbers of shots have no unit.
            _ => Axis {
                label: axis.label.clone(),
                ..Axis::new(n, 0.0, 1.0)
            },
        }
    }

    /// Refuses data that, according to their header and their axis of shots, contain other shots. `name` is the name of
    /// the data.
    pub fn same(&self, name: &str, entry: Option<&str>, [own, expected]: [&Axis; 2]) -> anyhow::Result<()> {
        known(name, entry)?;
        // Only evenly spaced shots have an axis that identifies them.
        let even = entry.is_none_or(|list| {
            let others = Self::parse(list, self.whole);
            others.is_ok_and(|others| step(&others.numbers).is_some())
        });
        let near = |a: f32, b: f32| (a - b).abs() <= 1e-3 * expected.d.abs();
        let places =
            even && step(&self.numbers).is_some() && near(own.o, expected.o) && near(own.d, expected.d);
        // Data without a list that do not contain all shots can be identified only by their axis.
        let by_axis = entry.is_none() && own.n != self.whole;
        let words = |list: Option<&str>, axis: &Axis| {
            let list = list.map_or("all shots".into(), |list| format!("shots={list}"));
            let axis = format!("with o4={} d4={}", axis.o, axis.d);
            match list.as_str() {
                _ if !by_axis => list,
                "all shots" => format!("shots {axis}"),
                _ => format!("{list} {axis}"),
            }
        };
        let same = match (entry, self.listed()) {
            (Some(list), Some(_)) => {
                Self::parse(list, self.whole).is_ok_and(|others| others.numbers == self.numbers)
            }
            (entry, listed) => entry == listed,
        };
        ensure!(
            same || places,
            "{name} is of {}, but this run of {}: give the data of a run with the same shots",
            words(entry, own),
            words(self.listed(), expected)
        );
        Ok(())
    }

    /// The shots of this survey that the header of a file lists.
    pub fn of_header(&self, name: &str, entry: Option<&str>) -> anyhow::Result<Self> {
        known(name, entry)?;
        match entry {
            Some(list) => Self::parse(list, self.whole).with_context(|| format!("the header of {name}")),
            None => Ok(Self::all(self.whole)),
        }
    }

    /// The index among the picked shots of the shot with this number in the survey, counted from 1.
    pub fn place(&self, number: usize) -> Option<usize> {
        self.numbers.binary_search(&(number - 1)).ok()
    }

    /// The indices of the picked shots in data, given the list in their header and their axis of shots;
    /// `None` for a shot that is missing. `name` is the name of the data.
    pub fn places_in(
        &self,
        name: &str,
        entry: Option<&str>,
        [own, expected]: [&Axis; 2],
    ) -> anyhow::Result<Vec<Option<usize>>> {
        let near = |a: f32, b: f32| (a - b).abs() <= 1e-3 * expected.d.abs();
        if self.same(name, entry, [own, expected]).is_ok()
            && near(own.o, expected.o)
            && near(own.d, expected.d)
        {
            return Ok((0..self.count()).map(Some).collect());
        }
        let others = self.of_header(name, entry)?;
        // A list with a number for each shot of the data says which they are. Otherwise shots may have been removed
        // from the data: if the picked shots are evenly spaced, so is the survey, and the data must have the axis of
        // their shots.
        let is_complete = entry.is_some() && others.count() == own.n;
        if !is_complete && let (Some(step), Some(&first)) = (step(&self.numbers), self.numbers.first()) {
            let d = expected.d / step as f32;
            let all = Axis {
                o: expected.o - first as f32 * d,
                d,
                ..expected.clone()
            };
            let axis = others.axis(&all);
            ensure!(
                near(own.o, axis.o) && (near(own.d, axis.d) || own.n == 1),
                "{name} has o4={} d4={}, but {} have o4={} d4={}: shots were removed from it, and its header \
                does not say which; give the data as they were written",
                own.o,
                own.d,
                entry.map_or("all shots".into(), |list| format!("shots={list}")),
                axis.o,
                axis.d
            );
        }
        let place = |number: &usize| others.numbers.binary_search(number).ok();
        Ok(self.numbers.iter().map(place).collect())
    }
}

/// The end of a message, such as `are 20 shots` or `is 1 shot`.
fn there_are(shots: usize) -> String {
    format!(
        "{} {}",
        if shots == 1 { "is" } else { "are" },
        counted(shots, "shot")
    )
}

/// The common difference of the numbers, if there is one; 1 for a single number.
fn step(numbers: &[usize]) -> Option<usize> {
    let step = numbers.windows(2).next().map_or(1, |pair| pair[1] - pair[0]);
    let regular = numbers.windows(2).all(|pair| pair[1] - pair[0] == step);
    regular.then_some(step)
}

/// The list of shots with these numbers, which are counted from 0.
fn listed(numbers: &[usize]) -> String {
    let counted_from_1: Vec<usize> = numbers.iter().map(|number| number + 1).collect();
    ranges::list(&counted_from_1)
}

/// Refuses the empty list that `sfcat` and `sfreverse` leave.
fn known(name: &str, entry: Option<&str>) -> anyhow::Result<()> {
    ensure!(
        entry != Some(""),
        "the header of {name} has an empty shots=, because its shots were reversed or joined in an order that is not that of their numbers: put them into ascending order, and set the list with sfput shots="
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read() {
        for (text, expected, again) in [
            (
                "1-4,7,10-20:2",
                vec![0, 1, 2, 3, 6, 9, 11, 13, 15, 17, 19],
                "1-4,7,10-20:2",
            ),
            ("20", vec![19], "20"),
            ("3,1,2,2", vec![0, 1, 2], "1-3"),
            ("1-20:7", vec![0, 7, 14], "1-15:7"),
            ("5-5:3, 9", vec![4, 8], "5-9:4"),
            ("1,5,6,7", vec![0, 4, 5, 6], "1,5-7"),
        ] {
            let picks = Picks::parse(text, 20).unwrap();
            assert_eq!(picks.numbers, expected, "{text}");
            assert_eq!(picks.listed(), Some(again), "{text}");
            assert_eq!(Picks::parse(again, 20).unwrap(), picks);
            let all: Vec<usize> = (0..20).collect();
            assert_eq!(picks.of(all), expected);
            assert_eq!(picks.of(vec![7]), [7]);
        }
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for (text, expected) in [
            (
                "0-3",
                "there is no shot 0: there are 20 shots (n3= of sou= and rec=), counted from 1",
            ),
            ("1-21", "there is no shot 21: there are 20 shots"),
            ("7-3", "the range 7-3 has no shots"),
            ("1-9:0", "the range 1-9:0 has no shots"),
            (
                "1-",
                "`1-` is neither the number of a shot nor a range of them: there are 20 shots",
            ),
            ("", "`` is neither"),
            ("4:2", "`4:2` is neither"),
            ("-3", "`-3` is neither"),
            ("two", "`two` is neither"),
            ("1,,2", "`` is neither"),
        ] {
            let message = Picks::parse(text, 20).unwrap_err().to_string();
            assert!(
                message.contains(&format!("shots={text}: ")) && message.contains(expected),
                "{message}"
            );
        }
    }

    #[test]
    fn the_axis_is_that_of_the_picked_shots() {
        let axis = Axis::new(20, 100.0, 25.0).label("x").unit("m");
        for (text, n, o, d, unit) in [
            ("3", 1, 150.0, 25.0, Some("m")),
            ("2-8", 7, 125.0, 25.0, Some("m")),
            ("2-8:3", 3, 125.0, 75.0, Some("m")),
            ("1,2,4", 3, 0.0, 1.0, None),
        ] {
            let own = Picks::parse(text, 20).unwrap().axis(&axis);
            assert_eq!(
                (own.n, own.o, own.d, own.label.as_deref(), own.unit.as_deref()),
                (n, o, d, Some("x"), unit),
                "{text}"
            );
        }
    }

    #[test]
    fn data_of_other_shots_are_refused() {
        let (all, axis) = (Axis::new(20, 100.0, 25.0), |text: &str| {
            Picks::parse(text, 20).unwrap().axis(&Axis::new(20, 100.0, 25.0))
        });
        let picks = Picks::parse("2-8:3", 20).unwrap();
        let own = axis("2-8:3");
        picks.same("d", Some("2-8:3"), [&own, &own]).unwrap();
        // These data were joined from pieces and have the header of the first piece.
        picks.same("d", Some("2-5:3"), [&own, &own]).unwrap();
        // These data were cut out of the data of all shots.
        let two = Picks::parse("1,3", 20).unwrap();
        two.same("d", None, [&axis("1,3"), &axis("1,3")]).unwrap();
        for (list, places) in [
            (None, &all),
            (Some("1-7:3"), &axis("1-7:3")),
            (Some("2-5,8"), &own),
            // These ranges of shots begin at the same place.
            (Some("2-6:2"), &axis("2-6:2")),
        ] {
            let message = picks.same("d", list, [places, &own]).unwrap_err().to_string();
            assert!(message.contains("but this run of shots=2-8:3"), "{message}");
        }
    }
}
