//! The frame of a picture from the parameters that all pictures share ([`STANDARD`](super::words::STANDARD)).

use anyhow::{Context, Result, bail, ensure};
use rsf_io::{Axis as DataAxis, Header, Job};

use super::axes::{Axis, Edge, Style};
use super::colours::{PALE, WHITE, pen};
use super::drawing::{Rgb, Stroke};
use super::frame::{Frame, Grid, Room, Sizing};
use super::ticks::{Format, TickRule};

/// The number of pixels in one of Madagascar's inches.
pub const INCH: f64 = 66.0;
const LETTER: f64 = INCH / 33.0;
/// Height of Madagascar's page in inches, its ratio of height to width, and the fraction of it that the box of the axes
/// occupies.
const SCREEN_HEIGHT: f64 = 10.24;
const SCREEN_RATIO: f64 = 0.75;
const CROWD: f64 = 0.75;
/// Default width of a picture, in pixels.
const USUAL_WIDTH: f64 = 900.0;

/// Sizes, thickness and colour of letters.
pub fn style(job: &Job) -> Result<Style> {
    let sized = |name: &str, default: f64| -> Result<f64> {
        Ok(job.double_opt(name)?.map_or(default, |size| size * LETTER))
    };
    let fat = |name: &str| -> Result<f64> { Ok((0.15 * job.int(name)? as f64).clamp(0.0, USUAL_WIDTH)) };
    let usual = Style::default();
    let label = sized("labelsz", usual.label)?;
    Ok(Style {
        label,
        title: sized("titlesz", usual.title)?,
        bar: sized("barlabelsz", label)?,
        label_fat: fat("labelfat")?,
        title_fat: fat("titlefat")?,
        colour: pen(job.int("axiscol")?),
    })
}

/// Label and unit of axis `number` of the data, from the user or, otherwise, from the header.
pub fn named(job: &Job, axis: &DataAxis, number: usize) -> Result<(String, String)> {
    let label = job
        .text(&format!("label{number}"))?
        .or_else(|| axis.label.clone());
    let unit = job.text(&format!("unit{number}"))?.or_else(|| axis.unit.clone());
    Ok((label.unwrap_or_default(), unit.unwrap_or_default()))
}

/// The user's choices for the numbers along the axis called `which`: 1 (horizontal), 2 (vertical), 3 or bar.
pub fn rule(job: &Job, which: &str) -> Result<TickRule> {
    let (step, origin, most) = match which {
        "bar" => ("dbarnum".into(), "obarnum".into(), "nbartic".into()),
        _ => (
            format!("d{which}num"),
            format!("o{which}num"),
            format!("n{which}tic"),
        ),
    };
    let step = job.double_opt(&step)?;
    ensure!(
        step.is_none_or(|step| step != 0.0 && step.is_finite()),
        "the interval between the numbers on an axis (d1num= d2num= d3num= dbarnum=) must be finite and not 0"
    );
    let format = job
        .text(&format!("format{which}"))?
        .filter(|text| !text.is_empty());
    Ok(TickRule {
        step,
        origin: job.double_opt(&origin)?,
        most: job.int_opt(&most)?.map(|most| most as usize),
        format: format.map(|text| Format::parse(&text)).transpose()?,
        ..TickRule::default()
    })
}

/// The part of an axis that is shown: from `min#=` to `max#=` if they are given, otherwise from `first` to `last`.
pub fn window(job: &Job, number: usize, first: f64, last: f64) -> Result<(f64, f64)> {
    let min = job.double_opt(&format!("min{number}"))?;
    let max = job.double_opt(&format!("max{number}"))?;
    if let (Some(min), Some(max)) = (min, max) {
        ensure!(
            min < max,
            "min{number}={min} is not below max{number}={max}; to reverse an axis, use xreverse= or yreverse="
        );
    }
    // An axis with a negative sampling interval runs from large to small coordinates.
    let (low, high) = (min.unwrap_or(first.min(last)), max.unwrap_or(first.max(last)));
    ensure!(
        low < high,
        "axis {number} would run from {low} to {high}: min{number}= or max{number}= lies outside the data"
    );
    Ok(if first <= last { (low, high) } else { (high, low) })
}

/// The orientation of the axes of the picture.
#[derive(Clone, Copy, Debug)]
pub struct Turns {
    /// Whether axis 1 is the vertical axis of the picture.
    pub transp: bool,
    /// Whether the vertical axis increases downwards.
    pub yreverse: bool,
    /// Whether the horizontal axis increases to the left.
    pub xreverse: bool,
}

impl Turns {
    /// Reads `transp=`, `yreverse=` and `xreverse=`.
    pub fn of(job: &Job) -> Result<Self> {
        Ok(Self {
            transp: job.flag("transp")?,
            yreverse: job.flag("yreverse")?,
            xreverse: job.flag("xreverse")?,
        })
    }

    /// The horizontal and the vertical axis of the picture, from axes 1 and 2 of the data.
    pub fn axes(&self, job: &Job, one: ScreenAxis, two: ScreenAxis) -> Result<(Axis, Axis)> {
        let (across, down) = if self.transp { (two, one) } else { (one, two) };
        let axis = |from: ScreenAxis, which: &str, turned: bool| -> Result<Axis> {
            let (low, high) = from.ends;
            let (low, high) = if turned { (high, low) } else { (low, high) };
            Ok(Axis {
                low,
                high,
                label: from.label,
                unit: from.unit,
                rule: rule(job, which)?,
            })
        };
        // Vertical coordinates increase upwards unless yreverse=y.
        Ok((
            axis(across, "1", self.xreverse)?,
            axis(down, "2", !self.yreverse)?,
        ))
    }

    /// The sides on which the horizontal and the vertical axis are drawn, if at all.
    fn edges(&self, job: &Job) -> Result<(Option<Edge>, Option<Edge>)> {
        let want = |name: &str| -> Result<bool> { Ok(job.flag("wantaxis")? && job.flag(name)?) };
        let (one, two) = (want("wantaxis1")?, want("wantaxis2")?);
        let (across, down) = if self.transp { (two, one) } else { (one, two) };
        let across_edge = side(job, "wherexlabel", [('b', Edge::Below), ('t', Edge::Above)])?;
        let down_edge = side(job, "whereylabel", [('l', Edge::Left), ('r', Edge::Right)])?;
        Ok((across.then_some(across_edge), down.then_some(down_edge)))
    }

    /// The frame around data with axes `one` and `two`: the height of its box is three quarters of its width, and by
    /// default it has no grid.
    pub fn frame(&self, job: &Job, header: &Header, one: ScreenAxis, two: ScreenAxis) -> Result<Frame> {
        let (across, down) = self.axes(job, one, two)?;
        let (across_edge, down_edge) = self.edges(job)?;
        Ok(Frame {
            across,
            down,
            across_edge,
            down_edge,
            title: title(job, header)?,
            note: None,
            bar: None,
            grid: grid(job, (false, false), true)?,
            style: style(job)?,
            sizing: sizing(job, 0.75)?,
            background: background(job)?,
            extra: Room::default(),
            boxed: true,
        })
    }
}

/// The part of an axis of the data that is shown, with its label.
#[derive(Clone, Debug)]
pub struct ScreenAxis {
    /// Coordinates of its ends.
    pub ends: (f64, f64),
    /// Label, from the user or the header.
    pub label: String,
    /// Unit, from the user or the header.
    pub unit: String,
}

impl ScreenAxis {
    /// Axis `number` of the data from `ends.0` to `ends.1`, with label and unit from the user or `axis`.
    pub fn new(job: &Job, axis: &DataAxis, number: usize, ends: (f64, f64)) -> Result<Self> {
        let (label, unit) = named(job, axis, number)?;
        Ok(Self { ends, label, unit })
    }
}

/// The side that parameter `name` selects by the first letter of its value; by default the first of `sides`.
fn side(job: &Job, name: &str, sides: [(char, Edge); 2]) -> Result<Edge> {
    let Some(text) = job.text(name)?.filter(|text| !text.is_empty()) else {
        return Ok(sides[0].1);
    };
    let letter = text.chars().next().unwrap_or_default().to_ascii_lowercase();
    let row = sides.iter().find(|(known, _)| *known == letter);
    let words = |edge: Edge| match edge {
        Edge::Above => "top",
        Edge::Below => "bottom",
        Edge::Left => "left",
        Edge::Right => "right",
    };
    row.map(|(_, edge)| *edge).with_context(|| {
        format!(
            "{name}={text} is not allowed: {name}= must be {} or {}",
            words(sides[0].1),
            words(sides[1].1)
        )
    })
}

/// The title and its side.
pub fn title(job: &Job, header: &Header) -> Result<Option<(String, Edge)>> {
    let title = job
        .text("title")?
        .or_else(|| header.text("title"))
        .unwrap_or_default();
    // Madagascar also allows left and right; here these titles are drawn at the top.
    let edge = match job.text("wheretitle")?.and_then(|text| text.chars().next()) {
        Some('b' | 'B') => Edge::Below,
        None | Some('t' | 'T' | 'l' | 'L' | 'r' | 'R') => Edge::Above,
        Some(_) => bail!("wheretitle= must be top or bottom"),
    };
    Ok((job.flag("wanttitle")? && !title.trim().is_empty()).then_some((title, edge)))
}

/// Grid lines; `usual` is the default for the horizontal and the vertical axis.
pub fn grid(job: &Job, usual: (bool, bool), behind: bool) -> Result<Grid> {
    let both = job.flag_opt("grid")?;
    let want =
        |name: &str, usual: bool| -> Result<bool> { Ok(both.or(job.flag_opt(name)?).unwrap_or(usual)) };
    let step = |name: &str| -> Result<Option<f64>> { Ok(job.double_opt(name)?.filter(|step| *step > 0.0)) };
    let colour = job.int_opt("gridcol")?.map_or(PALE, pen);
    Ok(Grid {
        across: want("grid1", usual.0)?.then_some(step("g1num")?),
        down: want("grid2", usual.1)?.then_some(step("g2num")?),
        stroke: Stroke::crisp(colour, thickness(job.int("gridfat")?)),
        behind,
    })
}

/// The width of a line with Madagascar's thickness `fat`, at most the width of a page.
pub fn thickness(fat: i64) -> f64 {
    (1.0 + INCH / 200.0 * fat.max(0) as f64).min(USUAL_WIDTH)
}

/// The size of letters or symbols with Madagascar's size `size`, at most the size of a page.
pub fn letter_size(size: f64) -> f64 {
    (size * LETTER).clamp(0.0, USUAL_WIDTH)
}

/// The size of the picture from the parameters. By default it has the usual width, and `ratio` is the ratio
/// of height to width of the box.
pub fn sizing(job: &Job, ratio: f64) -> Result<Sizing> {
    let (width, height) = (job.int_opt("width")?, job.int_opt("height")?);
    let page = [
        "screenratio",
        "screenht",
        "screenwd",
        "crowd",
        "crowd1",
        "crowd2",
        "xinch",
        "yinch",
    ];
    let page: Vec<&str> = page.into_iter().filter(|name| job.given(name)).collect();
    let across = width.map_or(USUAL_WIDTH, |width| width as f64);
    if let Some(height) = height {
        if !page.is_empty() {
            job.warn(&format!(
                "{}= has no effect: height= sets the height of the whole picture, and the box fills the room \
                between axes, title and bar; leave out height= to get a box of that shape",
                page.join("=, ")
            ));
        }
        return Ok(Sizing::Whole(across, height as f64));
    }
    if page.is_empty() {
        return Ok(Sizing::Width(across, ratio));
    }
    let value = |name: &str, default: f64| -> Result<f64> { Ok(job.double_opt(name)?.unwrap_or(default)) };
    let ratio = value("screenratio", SCREEN_RATIO)?;
    ensure!(
        ratio > 0.0 && ratio.is_finite(),
        "screenratio={ratio}: it must be more than 0"
    );
    let height = value("screenht", SCREEN_HEIGHT)?;
    let width = value("screenwd", height / ratio)?;
    let crowd = value("crowd", CROWD)?;
    let width = value("xinch", width * value("crowd1", crowd)?)?;
    let height = value("yinch", height * value("crowd2", crowd)?)?;
    Ok(match job.given("width") {
        // width= is the width of the whole picture, and the other parameters only set the shape of its box.
        true => Sizing::Width(across, height / width),
        false => Sizing::Box(width * INCH, height * INCH),
    })
}

/// The background colour; `None` if it is transparent.
pub fn background(job: &Job) -> Result<Option<Rgb>> {
    if job.flag("transparent")? {
        return Ok(None);
    }
    Ok(Some(match job.int("bgcolor")? {
        0 => WHITE,
        number => pen(number),
    }))
}
