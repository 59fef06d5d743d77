//! What the parameters of all pictures ([`STANDARD`](super::words::STANDARD)) make of a frame.

use anyhow::{Context, Result, bail, ensure};
use rsf_io::{Axis as DataAxis, Header, Job};

use super::axes::{Axis, Edge, Style};
use super::colours::{PALE, WHITE, pen};
use super::drawing::{Rgb, Stroke};
use super::frame::{Frame, Grid, Room, Sizing};
use super::ticks::{Format, TickRule};

/// Pixels of one of Madagascar's inches, and of letters of its size 1.
pub const INCH: f64 = 66.0;
const LETTER: f64 = INCH / 33.0;
/// Madagascar's page, in its inches, and the part of it that the box of the axes takes.
const SCREEN_HEIGHT: f64 = 10.24;
const SCREEN_RATIO: f64 = 0.75;
const CROWD: f64 = 0.75;
/// Pixels of a picture whose size nobody asks for.
const USUAL_WIDTH: f64 = 900.0;

/// Sizes of letters and their colour.
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

/// Label and unit that the user or else the header gives to the axis of data with this number.
pub fn named(job: &Job, axis: &DataAxis, number: usize) -> Result<(String, String)> {
    let label = job
        .text(&format!("label{number}"))?
        .or_else(|| axis.label.clone());
    let unit = job.text(&format!("unit{number}"))?.or_else(|| axis.unit.clone());
    Ok((label.unwrap_or_default(), unit.unwrap_or_default()))
}

/// What the user wants of the numbers of the axis called `which`: 1 (horizontal), 2 (vertical), 3 or bar.
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
        "the interval between the numbers on an axis (d1num= d2num= d3num= dbarnum=) must not be 0"
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

/// The shown part of an axis: `min#=` to `max#=` where given, else from `first` to `last`.
pub fn window(job: &Job, number: usize, first: f64, last: f64) -> Result<(f64, f64)> {
    let min = job.double_opt(&format!("min{number}"))?;
    let max = job.double_opt(&format!("max{number}"))?;
    if let (Some(min), Some(max)) = (min, max) {
        ensure!(
            min < max,
            "min{number}={min} is not below max{number}={max}; to turn an axis round use xreverse= or yreverse="
        );
    }
    // Axes whose sampling is negative run from large to small.
    let (low, high) = (min.unwrap_or(first.min(last)), max.unwrap_or(first.max(last)));
    ensure!(
        low < high,
        "axis {number} would run from {low} to {high}: min{number}= or max{number}= lies outside the data"
    );
    Ok(if first <= last { (low, high) } else { (high, low) })
}

/// Which of the two screen axes shows axis 1 of the data, and which axes grow against the usual direction.
#[derive(Clone, Copy, Debug)]
pub struct Turns {
    /// Axis 1 runs along the vertical axis of the picture.
    pub transp: bool,
    /// The vertical axis grows downwards.
    pub yreverse: bool,
    /// The horizontal axis grows leftwards.
    pub xreverse: bool,
}

impl Turns {
    /// As `transp=`, `yreverse=` and `xreverse=` say.
    pub fn of(job: &Job) -> Result<Self> {
        Ok(Self {
            transp: job.flag("transp")?,
            yreverse: job.flag("yreverse")?,
            xreverse: job.flag("xreverse")?,
        })
    }

    /// The axes of the picture, across and down, from the coordinates at which axes 1 and 2 of the data begin and end.
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
        // On the screen coordinates grow upwards unless yreverse=y.
        Ok((
            axis(across, "1", self.xreverse)?,
            axis(down, "2", !self.yreverse)?,
        ))
    }

    /// Where the axes of the picture, across and down, are written, if at all.
    fn edges(&self, job: &Job) -> Result<(Option<Edge>, Option<Edge>)> {
        let want = |name: &str| -> Result<bool> { Ok(job.flag("wantaxis")? && job.flag(name)?) };
        let (one, two) = (want("wantaxis1")?, want("wantaxis2")?);
        let (across, down) = if self.transp { (two, one) } else { (one, two) };
        let across_edge = side(job, "wherexlabel", [('b', Edge::Below), ('t', Edge::Above)])?;
        let down_edge = side(job, "whereylabel", [('l', Edge::Left), ('r', Edge::Right)])?;
        Ok((across.then_some(across_edge), down.then_some(down_edge)))
    }

    /// The frame around data with these axes 1 and 2: three quarters as high as wide, no lines across unless asked for.
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

/// An axis of the data as it shall be seen.
#[derive(Clone, Debug)]
pub struct ScreenAxis {
    /// Coordinates at which it begins and ends.
    pub ends: (f64, f64),
    /// Its label.
    pub label: String,
    /// Its unit.
    pub unit: String,
}

impl ScreenAxis {
    /// Axis `number` of the data from `ends.0` to `ends.1`, named by the user or `axis`.
    pub fn new(job: &Job, axis: &DataAxis, number: usize, ends: (f64, f64)) -> Result<Self> {
        let (label, unit) = named(job, axis, number)?;
        Ok(Self { ends, label, unit })
    }
}

/// The side that a word of the user means; the first one by default.
fn side(job: &Job, name: &str, sides: [(char, Edge); 2]) -> Result<Edge> {
    let Some(text) = job.text(name)?.filter(|text| !text.is_empty()) else {
        return Ok(sides[0].1);
    };
    let letter = text.chars().next().unwrap_or_default().to_ascii_lowercase();
    let found = sides.iter().find(|(known, _)| *known == letter);
    let words = |edge: Edge| match edge {
        Edge::Above => "top",
        Edge::Below => "bottom",
        Edge::Left => "left",
        Edge::Right => "right",
    };
    found.map(|(_, edge)| *edge).with_context(|| {
        format!(
            "{name}={text}: take {} or {}",
            words(sides[0].1),
            words(sides[1].1)
        )
    })
}

/// The title and where it stands.
pub fn title(job: &Job, header: &Header) -> Result<Option<(String, Edge)>> {
    let title = job
        .text("title")?
        .or_else(|| header.text("title"))
        .unwrap_or_default();
    // Madagascar also knows left and right, where a title has no room here.
    let edge = match job.text("wheretitle")?.and_then(|text| text.chars().next()) {
        Some('b' | 'B') => Edge::Below,
        None | Some('t' | 'T' | 'l' | 'L' | 'r' | 'R') => Edge::Above,
        Some(_) => bail!("wheretitle= must be top or bottom"),
    };
    Ok((job.flag("wanttitle")? && !title.trim().is_empty()).then_some((title, edge)))
}

/// Grid lines; `usual` says for the horizontal and the vertical axis whether they are drawn unless the user objects.
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

/// Width of a line from Madagascar's number for it, at most that of a page.
pub fn thickness(fat: i64) -> f64 {
    (1.0 + INCH / 200.0 * fat.max(0) as f64).min(USUAL_WIDTH)
}

/// Size of letters or symbols from Madagascar's number for it, at most that of a page.
pub fn letter_size(size: f64) -> f64 {
    (size * LETTER).clamp(0.0, USUAL_WIDTH)
}

/// The size that the user asks for; else the usual width with `ratio` of height to width of the box.
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
                "{}= has no effect: height= sets the height of the whole picture, and the box gets what axes, title and bar leave; leave out height= for a box of that shape",
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
        // width= is that of the whole picture, whose box has the shape that these parameters ask for.
        true => Sizing::Width(across, height / width),
        false => Sizing::Box(width * INCH, height * INCH),
    })
}

/// The paper.
pub fn background(job: &Job) -> Result<Option<Rgb>> {
    if job.flag("transparent")? {
        return Ok(None);
    }
    Ok(Some(match job.int("bgcolor")? {
        0 => WHITE,
        number => pen(number),
    }))
}
