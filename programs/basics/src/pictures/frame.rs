//! The frame of a picture: a box with two axes, title, grid and colour bar, laid out so that nothing overlaps.

use anyhow::{Result, ensure};

use super::axes::{Axis, Edge, Letters, Style, fitting};
use super::drawing::{Anchor, CAPITAL, Drawing, Place, Rect, Rgb, Stroke, Svg, path_through};
use super::pixels::raster_png;

/// The margin around the picture.
const MARGIN: f64 = 12.0;
/// The distance between the box and the colour bar, and between texts.
const GAP: f64 = 18.0;
const SMALL_GAP: f64 = 8.0;
/// The smallest width and height of the box.
const SMALLEST_BOX: f64 = 40.0;
/// The number of colours in a bar.
pub const BAR_STEPS: usize = 256;

/// The size of the picture.
#[derive(Clone, Copy, Debug)]
pub enum Sizing {
    /// Width and height of the box of the axes; the picture grows around it.
    Box(f64, f64),
    /// Width of the whole picture and the ratio of height to width of the box.
    Width(f64, f64),
    /// Width and height of the whole picture.
    Whole(f64, f64),
}

/// A colour bar.
#[derive(Clone, Debug)]
pub struct Bar {
    /// The axis of the bar, which begins at the top (or at the left).
    pub axis: Axis,
    /// The colours in the direction of the axis.
    pub colours: Vec<Rgb>,
    /// Thickness of the bar.
    pub width: f64,
    /// Whether the bar is horizontal, below the box, instead of vertical, next to it.
    pub level: bool,
}

/// Grid lines at the numbers of the axes.
#[derive(Clone, Debug)]
pub struct Grid {
    /// Lines at the numbers of the horizontal axis, if any; `Some(Some(step))` for an interval other than the interval
    /// of the numbers.
    pub across: Option<Option<f64>>,
    /// Lines at the numbers of the vertical axis, if any; its values are the same as for the horizontal axis.
    pub down: Option<Option<f64>>,
    /// The appearance of the lines.
    pub stroke: Stroke,
    /// Whether the lines lie below the data instead of above them.
    pub behind: bool,
}

/// Everything around the data.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The horizontal axis.
    pub across: Axis,
    /// The vertical axis.
    pub down: Axis,
    /// The side on which the horizontal axis is written, if at all.
    pub across_edge: Option<Edge>,
    /// The side on which the vertical axis is written, if at all.
    pub down_edge: Option<Edge>,
    /// The title, and whether it is above or below the picture.
    pub title: Option<(String, Edge)>,
    /// A smaller line under the title.
    pub note: Option<String>,
    /// The colour bar.
    pub bar: Option<Bar>,
    /// Grid lines.
    pub grid: Grid,
    /// Letters and colours.
    pub style: Style,
    /// The size.
    pub sizing: Sizing,
    /// The background; transparent if `None`.
    pub background: Option<Rgb>,
    /// Additional room around the box for marks that the program draws there.
    pub extra: Room,
    /// Whether the outline of the box is drawn.
    pub boxed: bool,
}

/// A picture with its layout, ready for the data to be drawn.
pub struct Page<'a> {
    frame: &'a Frame,
    /// The drawing for the marks.
    pub drawing: Drawing,
    /// The box of the axes.
    pub rect: Rect,
}

/// Room needed on the four sides of the box.
#[derive(Clone, Copy, Debug, Default)]
pub struct Room {
    /// Left of the box.
    pub left: f64,
    /// Right of the box.
    pub right: f64,
    /// Above the box.
    pub top: f64,
    /// Below the box.
    pub bottom: f64,
}

impl Frame {
    /// Computes the layout and begins the drawing.
    ///
    /// # Errors
    /// Returns an error if no room is left for the box.
    pub fn open(&self) -> Result<Page<'_>> {
        let mut rect = match self.sizing {
            Sizing::Box(width, height) => (width, height),
            Sizing::Width(width, ratio) => (0.75 * width, 0.75 * width * ratio),
            Sizing::Whole(width, height) => (0.75 * width, 0.75 * height),
        };
        let mut room = self.room(rect);
        // The room depends on the numbers, and the numbers on the box; a few iterations make them agree.
        for _ in 0..3 {
            rect = match self.sizing {
                Sizing::Box(..) => rect,
                Sizing::Width(width, ratio) => {
                    let inner = width - room.left - room.right;
                    (inner, inner * ratio)
                }
                Sizing::Whole(width, height) => {
                    (width - room.left - room.right, height - room.top - room.bottom)
                }
            };
            rect = (rect.0.round().max(1.0), rect.1.round().max(1.0));
            room = self.room(rect);
        }
        ensure!(
            rect.0 >= SMALLEST_BOX && rect.1 >= SMALLEST_BOX,
            "axes, title and bar leave no room for the data, whose box would be {} x {}: make the picture larger \
(width= height= screenht=) or the letters smaller (labelsz= titlesz=)",
            rect.0,
            rect.1
        );
        let rect = Rect {
            x: room.left.round(),
            y: room.top.round(),
            width: rect.0,
            height: rect.1,
        };
        let mut size = (rect.right() + room.right, rect.bottom() + room.bottom);
        if let Sizing::Width(width, _) | Sizing::Whole(width, _) = self.sizing {
            size.0 = width;
        }
        if let Sizing::Whole(_, height) = self.sizing {
            size.1 = height;
        }
        let mut page = Page {
            frame: self,
            drawing: Drawing::new(size, rect, self.background),
            rect,
        };
        if self.grid.behind {
            page.grid();
        }
        Ok(page)
    }

    fn letters(&self) -> Letters {
        Letters {
            size: self.style.label,
            fat: self.style.label_fat,
            colour: self.style.colour,
        }
    }

    fn bar_letters(&self) -> Letters {
        Letters {
            size: self.style.bar,
            ..self.letters()
        }
    }

    fn room(&self, (width, height): (f64, f64)) -> Room {
        let size = self.style.label;
        let mut room = self.extra;
        if let Some(edge) = self.across_edge {
            let ticks = self.across.ticks(width, edge, size);
            let (left, right) = self.across.overhang(&ticks, width, edge, size);
            (room.left, room.right) = (room.left.max(left), room.right.max(right));
            let depth = self.across.depth(&ticks, edge, size);
            if edge == Edge::Above {
                room.top += depth;
            } else {
                room.bottom += depth;
            }
        }
        if let Some(edge) = self.down_edge {
            let ticks = self.down.ticks(height, edge, size);
            let (top, bottom) = self.down.overhang(&ticks, height, edge, size);
            (room.top, room.bottom) = (room.top.max(top), room.bottom.max(bottom));
            let depth = self.down.depth(&ticks, edge, size);
            if edge == Edge::Left {
                room.left = room.left.max(depth);
            } else {
                room.right = room.right.max(depth);
            }
        }
        self.add_bar(&mut room, (width, height));
        if let Some((_, edge)) = &self.title {
            let title = self.style.title + SMALL_GAP;
            if *edge == Edge::Below {
                room.bottom += title;
            } else {
                room.top += title;
            }
        }
        if self.note.is_some() {
            room.top += size + SMALL_GAP;
        }
        Room {
            left: room.left + MARGIN,
            right: room.right + MARGIN,
            top: room.top + MARGIN,
            bottom: room.bottom + MARGIN,
        }
    }

    fn add_bar(&self, room: &mut Room, (width, height): (f64, f64)) {
        let Some(bar) = &self.bar else { return };
        let size = self.style.bar;
        let (edge, length) = if bar.level {
            (Edge::Below, width)
        } else {
            (Edge::Right, height)
        };
        let ticks = bar.axis.ticks(length, edge, size);
        let depth = GAP + bar.width + bar.axis.depth(&ticks, edge, size);
        let (begin, end) = bar.axis.overhang(&ticks, length, edge, size);
        if bar.level {
            room.bottom += depth;
            (room.left, room.right) = (room.left.max(begin), room.right.max(end));
        } else {
            // An axis on this side lies between the box and the bar.
            let axis = if self.down_edge == Some(Edge::Right) {
                room.right
            } else {
                self.extra.right
            };
            room.right = room.right.max(axis + depth);
            (room.top, room.bottom) = (room.top.max(begin), room.bottom.max(end));
        }
    }
}

impl Page<'_> {
    /// The letters of the labels.
    pub fn letters(&self) -> Letters {
        self.frame.letters()
    }

    /// The place in the drawing of coordinates on the horizontal and the vertical axis.
    pub fn place(&self, across: f64, down: f64) -> Place {
        (
            self.rect.x + self.frame.across.share(across) * self.rect.width,
            self.rect.y + self.frame.down.share(down) * self.rect.height,
        )
    }

    fn grid(&mut self) {
        let (frame, rect) = (self.frame, self.rect);
        let size = frame.style.label;
        let with = |axis: &Axis, step: Option<f64>| {
            let mut axis = axis.clone();
            axis.rule.step = step.or(axis.rule.step);
            axis
        };
        let mut lines = String::new();
        if let Some(step) = frame.grid.across {
            let axis = with(&frame.across, step);
            for (value, _) in axis.ticks(rect.width, Edge::Below, size).marks {
                let x = rect.x + axis.share(value) * rect.width;
                lines.push_str(&path_through(&[(x, rect.y), (x, rect.bottom())]));
            }
        }
        if let Some(step) = frame.grid.down {
            let axis = with(&frame.down, step);
            for (value, _) in axis.ticks(rect.height, Edge::Left, size).marks {
                let y = rect.y + axis.share(value) * rect.height;
                lines.push_str(&path_through(&[(rect.x, y), (rect.right(), y)]));
            }
        }
        self.drawing.path(&lines, Some(&frame.grid.stroke), None);
    }

    /// Draws everything around the data, and finishes the picture.
    pub fn close(mut self) -> Result<Svg> {
        let (frame, rect) = (self.frame, self.rect);
        if !frame.grid.behind {
            self.grid();
        }
        let line = Stroke::crisp(frame.style.colour, 1.0);
        if frame.boxed {
            self.drawing.rect(rect, Some(&line), None);
        }
        let (left, right, top, bottom) = (rect.x, rect.right(), rect.y, rect.bottom());
        if let Some(edge) = frame.across_edge {
            let y = if edge == Edge::Above { top } else { bottom };
            let line = [(left, y), (right, y)];
            frame.across.draw(&mut self.drawing, line, edge, frame.letters());
        }
        if let Some(edge) = frame.down_edge {
            let x = if edge == Edge::Right { right } else { left };
            let line = [(x, top), (x, bottom)];
            frame.down.draw(&mut self.drawing, line, edge, frame.letters());
        }
        self.bar()?;
        self.title();
        Ok(self.drawing.finish())
    }

    fn bar(&mut self) -> Result<()> {
        let (frame, rect) = (self.frame, self.rect);
        let Some(bar) = &frame.bar else { return Ok(()) };
        let room = frame.room((rect.width, rect.height));
        let mut around = Room::default();
        frame.add_bar(&mut around, (rect.width, rect.height));
        let (place, columns, edge) = if bar.level {
            let title = match &frame.title {
                Some((_, Edge::Below)) => frame.style.title + SMALL_GAP,
                _ => 0.0,
            };
            // `add_bar` includes the room of the bar; the axis lies between the bar and the box.
            let y = rect.bottom() + room.bottom - MARGIN - title - around.bottom + GAP;
            let place = Rect {
                y,
                height: bar.width,
                ..rect
            };
            (place, bar.colours.len(), Edge::Below)
        } else {
            let axis = match frame.down_edge {
                Some(Edge::Right) => frame.down.depth(
                    &frame.down.ticks(rect.height, Edge::Right, frame.style.label),
                    Edge::Right,
                    frame.style.label,
                ),
                _ => frame.extra.right,
            };
            let place = Rect {
                x: rect.right() + axis + GAP,
                width: bar.width,
                ..rect
            };
            (place, 1, Edge::Right)
        };
        let colours: Vec<_> = bar.colours.iter().map(|[r, g, b]| [*r, *g, *b, 255]).collect();
        let raster = raster_png(columns, &colours)?;
        self.drawing.image("png", &raster, place);
        let line = Stroke::crisp(frame.style.colour, 1.0);
        self.drawing.rect(place, Some(&line), None);
        let line = match edge {
            Edge::Below => [(place.x, place.bottom()), (place.right(), place.bottom())],
            _ => [(place.right(), place.y), (place.right(), place.bottom())],
        };
        bar.axis.draw(&mut self.drawing, line, edge, frame.bar_letters());
        Ok(())
    }

    fn title(&mut self) {
        let (frame, rect) = (self.frame, self.rect);
        let room = frame.room((rect.width, rect.height));
        let above = rect.y - room.top + MARGIN;
        let below = rect.bottom() + room.bottom - MARGIN;
        let (middle, _) = rect.middle();
        let most = 2.0
            * (middle - MARGIN)
                .min(rect.right() + room.right - MARGIN - middle)
                .max(0.4 * rect.width);
        let mut note_top = above;
        if let Some((title, edge)) = &frame.title {
            let size = frame.style.title;
            let y = if *edge == Edge::Below {
                below - 0.24 * size
            } else {
                note_top += size + SMALL_GAP;
                above + (0.5 + 0.5 * CAPITAL) * size
            };
            let letters = Letters {
                size: fitting(title, size, most),
                fat: frame.style.title_fat,
                colour: frame.style.colour,
            };
            self.drawing
                .text(&letters.text(title, (middle, y), Anchor::Middle, 0.0));
        }
        if let Some(note) = &frame.note {
            let letters = frame.letters();
            let letters = Letters {
                size: fitting(note, letters.size, most),
                ..letters
            };
            let y = note_top + (0.5 + 0.5 * CAPITAL) * letters.size;
            self.drawing
                .text(&letters.text(note, (middle, y), Anchor::Middle, 0.0));
        }
    }
}
