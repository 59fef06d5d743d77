//! An axis with its numbers and its label, drawn along a horizontal, vertical or slanted line.

use super::colours::BLACK;
use super::drawing::{Anchor, CAPITAL, Drawing, Place, Rgb, Stroke, Text, path_through, text_width};
use super::ticks::{TickRule, Ticks};

/// The length of a tick, and the distance from a tick to its number, in units of the drawing.
const TICK: f64 = 5.0;
const TO_NUMBER: f64 = 4.0;
/// The distance from the numbers to the label, as a fraction of the size of letters.
const TO_LABEL: f64 = 0.55;
/// The fraction of the size of letters that extends below the base line.
const DESCENT: f64 = 0.24;

/// Sizes and thickness of letters, and the colour of axes.
#[derive(Clone, Debug)]
pub struct Style {
    /// Size of numbers and labels.
    pub label: f64,
    /// Size of the title.
    pub title: f64,
    /// Size of the letters of a colour bar.
    pub bar: f64,
    /// Extra thickness of numbers and labels.
    pub label_fat: f64,
    /// Extra thickness of the title.
    pub title_fat: f64,
    /// Colour of axes and letters.
    pub colour: Rgb,
}

impl Default for Style {
    fn default() -> Self {
        Self {
            label: 16.0,
            title: 20.0,
            bar: 16.0,
            label_fat: 0.0,
            title_fat: 0.0,
            colour: BLACK,
        }
    }
}

/// The side of its line on which an axis is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// Right of a vertical line.
    Right,
    /// Left of a vertical line.
    Left,
    /// Above a horizontal line.
    Above,
    /// Below a horizontal line.
    Below,
}

impl Edge {
    /// Whether the axis runs along a horizontal line.
    pub fn is_level(self) -> bool {
        matches!(self, Self::Above | Self::Below)
    }
}

/// An axis: the coordinates of both ends of its line, and its texts.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Coordinate at the left or upper end of the line.
    pub low: f64,
    /// Coordinate at the right or lower end of the line; may be less than `low`.
    pub high: f64,
    /// The label.
    pub label: String,
    /// The unit.
    pub unit: String,
    /// The user's choices for the numbers along the axis.
    pub rule: TickRule,
}

impl Axis {
    /// The position of `value` as a fraction of the line, from 0 to 1.
    pub fn share(&self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
    }

    /// The numbers that fit on a line of `length` in letters of `size` without overlapping.
    pub fn ticks(&self, length: f64, edge: Edge, size: f64) -> Ticks {
        let spacing = if edge.is_level() { 4.0 * size } else { 2.6 * size };
        let mut most = ((length / spacing) as usize).clamp(1, 10);
        loop {
            let mut ticks = Ticks::new(self.low, self.high, most, &self.rule);
            ticks
                .marks
                .retain(|(value, _)| self.rule.clear <= 0.0 || self.share(*value) >= self.rule.clear);
            if most == 1 || self.rule.most.is_some() || !edge.is_level() || self.fits(&ticks, length, size) {
                return ticks;
            }
            most -= 1;
        }
    }

    fn fits(&self, ticks: &Ticks, length: f64, size: f64) -> bool {
        let at = |value: f64| self.share(value) * length;
        ticks.marks.windows(2).all(|pair| {
            let widths = pair.iter().map(|(_, text)| text_width(text) * size).sum::<f64>();
            (at(pair[1].0) - at(pair[0].0)).abs() > 0.5 * widths + 0.7 * size
        })
    }

    /// The width of the strip along the line that ticks, numbers and label need.
    pub fn depth(&self, ticks: &Ticks, edge: Edge, size: f64) -> f64 {
        let label = match ticks.label(&self.label, &self.unit).as_str() {
            "" => 0.0,
            _ => (1.0 + TO_LABEL) * size,
        };
        TICK + TO_NUMBER + numbers_depth(ticks, edge, size) + label
    }

    /// The lengths by which numbers extend beyond the beginning and the end of a line of `length`.
    pub fn overhang(&self, ticks: &Ticks, length: f64, edge: Edge, size: f64) -> (f64, f64) {
        let mut over = (0.0f64, 0.0f64);
        for (value, text) in &ticks.marks {
            let half = if edge.is_level() {
                0.5 * text_width(text) * size
            } else {
                0.5 * size
            };
            let at = self.share(*value) * length;
            over = (over.0.max(half - at), over.1.max(at + half - length));
        }
        over
    }

    /// Draws the axis along the line from `begin` to `end`.
    pub fn draw(&self, drawing: &mut Drawing, line: [Place; 2], edge: Edge, letters: Letters) {
        let [begin, end] = line;
        let length = (end.0 - begin.0).hypot(end.1 - begin.1);
        let ticks = self.ticks(length, edge, letters.size);
        let size = letters.size;
        let mut marks = String::new();
        for (value, text) in &ticks.marks {
            let share = self.share(*value);
            let at = (
                begin.0 + share * (end.0 - begin.0),
                begin.1 + share * (end.1 - begin.1),
            );
            marks.push_str(&path_through(&[at, beside(at, edge, TICK)]));
            let (x, y) = beside(at, edge, TICK + TO_NUMBER);
            let (at, anchor) = match edge {
                Edge::Below => ((x, y + CAPITAL * size), Anchor::Middle),
                Edge::Above => ((x, y), Anchor::Middle),
                Edge::Left => ((x, y + 0.5 * CAPITAL * size), Anchor::End),
                Edge::Right => ((x, y + 0.5 * CAPITAL * size), Anchor::Start),
            };
            drawing.text(&letters.text(text, at, anchor, 0.0));
        }
        drawing.path(&marks, Some(&Stroke::crisp(letters.colour, 1.0)), None);

        self.draw_label(drawing, line, edge, (&ticks, letters));
    }

    fn draw_label(
        &self,
        drawing: &mut Drawing,
        line: [Place; 2],
        edge: Edge,
        (ticks, letters): (&Ticks, Letters),
    ) {
        let [begin, end] = line;
        let (dx, dy) = (end.0 - begin.0, end.1 - begin.1);
        let (length, size) = (dx.hypot(dy), letters.size);
        let label = ticks.label(&self.label, &self.unit);
        let middle = (0.5 * (begin.0 + end.0), 0.5 * (begin.1 + end.1));
        let numbers = TICK + TO_NUMBER + numbers_depth(ticks, edge, size);
        if dx.abs() > 1.0 && dy.abs() > 1.0 {
            // The line is slanted; its numbers are on the right.
            let (sine, cosine) = (-dy / length, dx / length);
            let away = numbers * sine.abs() + 0.5 * CAPITAL * size * cosine + (1.0 + TO_LABEL) * size;
            let at = (middle.0 + away * sine, middle.1 + away * cosine);
            drawing.text(&letters.text(&label, at, Anchor::Middle, dy.atan2(dx).to_degrees()));
            return;
        }
        let distance = numbers + TO_LABEL * size;
        // Which side of the letters faces the axis depends on the edge.
        let (distance, turned) = match edge {
            Edge::Below => (distance + (1.0 - DESCENT) * size, 0.0),
            Edge::Above => (distance + DESCENT * size, 0.0),
            Edge::Left => (distance + DESCENT * size, -90.0),
            Edge::Right => (distance + (1.0 - DESCENT) * size, -90.0),
        };
        let fitted = Letters {
            size: fitting(&label, size, length + size),
            ..letters
        };
        drawing.text(&fitted.text(&label, beside(middle, edge, distance), Anchor::Middle, turned));
    }
}

/// The appearance of letters.
#[derive(Clone, Copy, Debug)]
pub struct Letters {
    /// Size of the letters, in units of the drawing.
    pub size: f64,
    /// Extra thickness of the letters.
    pub fat: f64,
    /// Colour in which the letters are drawn.
    pub colour: Rgb,
}

impl Letters {
    /// A text in these letters.
    pub fn text<'a>(&self, words: &'a str, at: Place, anchor: Anchor, turned: f64) -> Text<'a> {
        Text {
            at,
            words,
            size: self.size,
            anchor,
            turned,
            fat: self.fat,
            colour: self.colour,
        }
    }
}

/// The largest letter size, between half of `size` and `size`, in which `words` fit into `room`; half of `size` if none
/// does.
pub fn fitting(words: &str, size: f64, room: f64) -> f64 {
    let width = text_width(words) * size;
    if width > room {
        (size * room / width).max(0.5 * size)
    } else {
        size
    }
}

fn numbers_depth(ticks: &Ticks, edge: Edge, size: f64) -> f64 {
    if edge.is_level() {
        return CAPITAL * size;
    }
    let widths = ticks.marks.iter().map(|(_, text)| text_width(text) * size);
    widths.fold(0.0, f64::max)
}

fn beside((x, y): Place, edge: Edge, distance: f64) -> Place {
    match edge {
        Edge::Below => (x, y + distance),
        Edge::Above => (x, y - distance),
        Edge::Left => (x - distance, y),
        Edge::Right => (x + distance, y),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_shrink_to_their_room_and_no_further_than_to_half() {
        let width = text_width("a long label") * 20.0;
        assert_eq!(fitting("a long label", 20.0, width), 20.0);
        assert!((fitting("a long label", 20.0, 0.75 * width) - 15.0).abs() < 1e-9);
        assert_eq!(fitting("a long label", 20.0, 0.1 * width), 10.0);
    }
}
