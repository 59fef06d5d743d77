//! `sfbasics grey`: a plane of an RSF file as a PNG on standard output.

use std::io::{IsTerminal, Write};

use anyhow::{Context, Result, ensure};
use rsf_io::{Axis, Input, Job, Param, Program};

use super::picture::{Colours, Picture, Side};
use super::plane::Selection;

/// What the user sees.
pub static SPEC: Program = Program {
    name: "sfgrey",
    about: "Draw a plane of a dataset in colours, as a PNG.",
    usage: "< plane.rsf title= color=bluered > plane.png",
    comments: "Axis 1 runs down and axis 2 to the right, as in Madagascar's sfgrey. A plane of a larger dataset is \
chosen by vertical=, horizontal= and frame=: seismograms of a modelling program (receiver, component, time) show \
their vertical component with vertical=3 horizontal=1 frame=0.\n\nWhere both axes have the same unit, both have \
the same scale, unless height= is given. What is not a number is drawn in magenta.",
    example: "sfbasics grey < wfl.rsf frame=0,12 color=bluered title=\"Vertical\" > wfl.png",
    params: &PARAMS,
};

static PARAMS: [Param; 28] = [
    Param::string("title").default("").doc("text above the picture"),
    Param::string("label1").default_text("from the header").doc("text beside the vertical axis"),
    Param::string("unit1").default_text("from the header").doc("unit of the vertical axis"),
    Param::string("label2").default_text("from the header").doc("text below the horizontal axis"),
    Param::string("unit2").default_text("from the header").doc("unit of the horizontal axis"),
    Param::int("vertical").default("1").range("1 to 9", Some(1.0), Some(9.0)).doc("axis that runs down"),
    Param::int("horizontal").default("2").range("1 to 9", Some(1.0), Some(9.0)).doc("axis that runs to the right"),
    Param::ints("frame").default_text("0,0,...").doc("index, counted from 0, on each axis that is not shown"),
    Param::float("min1").default_text("all").doc("smallest coordinate shown of the vertical axis"),
    Param::float("max1").default_text("all").doc("largest coordinate shown of the vertical axis"),
    Param::float("min2").default_text("all").doc("smallest coordinate shown of the horizontal axis"),
    Param::float("max2").default_text("all").doc("largest coordinate shown of the horizontal axis"),
    Param::bool("transp").default("y").doc("y: vertical= runs down; n: the two axes change places"),
    Param::bool("yreverse").default("y").doc("y: the vertical axis grows downwards; n: upwards"),
    Param::bool("xreverse").default("n").doc("y: the horizontal axis grows leftwards; n: rightwards"),
    Param::string("color")
        .default("grey")
        .doc("grey, bluered, purpleorange, viridis, cividis, inferno, magma or plasma; i and j mean grey and viridis"),
    Param::bool("polarity").default("n").doc("y: the colours run the other way"),
    Param::bool("allpos").default("n").doc("y: colours from bias= up; n: to both sides of bias="),
    Param::float("bias").default("0").doc("value in the middle of the colours (with allpos=y: of the first)"),
    Param::float("clip").default_text("from pclip=").doc("distance from bias= at which the colours end, more than 0"),
    Param::float("pclip").default("99").range("0 to 100", Some(0.0), Some(100.0)).doc("percentage of values within clip"),
    Param::choice("gainpanel", &["each", "all", "e", "a"])
        .default("each")
        .doc("values that pclip= looks at: each, this plane only; all, the whole dataset"),
    Param::bool("scalebar").default("y").doc("draw the colour bar"),
    Param::string("barlabel").default_text("from the header").doc("text beside the colour bar"),
    Param::string("barunit").default_text("from the header").doc("unit beside the colour bar"),
    Param::int("width").default("900").range("200 to 20000", Some(200.0), Some(20000.0)).doc("pixels"),
    Param::int("height").default_text("from the axes").range("150 to 20000", Some(150.0), Some(20000.0)).doc("pixels"),
    Param::bool("verb").default("n").doc("y: print the range of the colours"),
];

/// Draws.
pub fn run(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    let selection = select(job, &input)?;
    let colours = Colours::named(&job.text("color")?.unwrap_or_default())?;
    ensure!(
        !std::io::stdout().is_terminal(),
        "the picture would go to the terminal; send it to a file: > picture.png"
    );

    let mut all = matches!(job.choice("gainpanel")?, "all" | "a").then(Vec::new);
    let plane = selection.read(&mut input, all.as_mut())?;
    let (low, high) = range(job, all.unwrap_or_else(|| plane.clone()))?;
    if job.flag("verb")? {
        job.say(&format!("colours from {low} to {high}"));
    }

    let (down, across) = (
        named(job, selection.down(), "1")?,
        named(job, selection.across(), "2")?,
    );
    let picture = Picture {
        values: &plane,
        size: size(job, &down, &across)?,
        down: side(down, !job.flag("yreverse")?),
        across: side(across, job.flag("xreverse")?),
        title: job.text("title")?.unwrap_or_default(),
        bar: if job.flag("scalebar")? {
            Some(bar_label(job, &input)?)
        } else {
            None
        },
        colours: if job.flag("polarity")? {
            colours.turned()
        } else {
            colours
        },
        low,
        high,
    };
    let mut stdout = std::io::stdout().lock();
    stdout
        .write_all(&picture.png()?)
        .and_then(|()| stdout.flush())
        .context("the picture could not be written")
}

fn select(job: &Job, input: &Input) -> Result<Selection> {
    let (down, across) = (job.int("vertical")?, job.int("horizontal")?);
    let (down, across) = if job.flag("transp")? {
        (down, across)
    } else {
        (across, down)
    };
    let mut selection = Selection::new(input, down, across, &job.ints("frame")?)?;
    selection.narrow_down(job.float_opt("min1")?, job.float_opt("max1")?)?;
    selection.narrow_across(job.float_opt("min2")?, job.float_opt("max2")?)?;
    Ok(selection)
}

/// Values of the first and the last colour.
fn range(job: &Job, values: Vec<f32>) -> Result<(f32, f32)> {
    let (bias, allpos) = (job.float("bias")?, job.flag("allpos")?);
    let clip = match job.float_opt("clip")? {
        Some(clip) => {
            ensure!(
                clip > 0.0,
                "clip={clip}: it must be more than 0; leave it out to take it from pclip="
            );
            clip
        }
        None => quantile(
            values.iter().map(|value| (value - bias).abs()),
            job.float("pclip")?,
        ),
    };
    if clip == 0.0 {
        job.warn(&format!(
            "nothing to see: the values are {bias} wherever pclip= looks; try pclip=100"
        ));
    }
    // The colours need a length that float32 can tell from bias.
    let clip = if clip > 0.0 {
        clip.max(bias.abs() * 1e-6)
    } else {
        1.0
    };
    Ok((if allpos { bias } else { bias - clip }, bias + clip))
}

/// The value below which `percent` of the finite values lie; 0 when none is finite.
fn quantile(values: impl Iterator<Item = f32>, percent: f32) -> f32 {
    let mut values: Vec<f32> = values.filter(|value| value.is_finite()).collect();
    let Some(last) = values.len().checked_sub(1) else {
        return 0.0;
    };
    let place = (last as f64 * f64::from(percent) / 100.0).round() as usize;
    *values.select_nth_unstable_by(place.min(last), f32::total_cmp).1
}

/// Pixels of the picture: equal scales when both axes have the same unit and no height is asked for.
fn size(job: &Job, down: &Axis, across: &Axis) -> Result<(u32, u32)> {
    let width = job.int("width")? as u32;
    let usual = 0.75;
    let length = |axis: &Axis| axis.n as f64 * f64::from(axis.d.abs());
    let ratio = match (&down.unit, &across.unit) {
        (Some(one), Some(other)) if one == other && !one.is_empty() => length(down) / length(across),
        _ => usual,
    };
    let ratio = if ratio.is_finite() {
        ratio.clamp(0.2, 2.0)
    } else {
        usual
    };
    let own = || {
        let (beside, above) = Picture::around();
        (f64::from(width.saturating_sub(beside)) * ratio) as u32 + above
    };
    Ok((
        width,
        job.int_opt("height")?.map_or_else(own, |height| height as u32),
    ))
}

/// The axis with the label and the unit that the user gave for it.
fn named(job: &Job, mut axis: Axis, number: &str) -> Result<Axis> {
    axis.label = job.text(&format!("label{number}"))?.or(axis.label);
    axis.unit = job.text(&format!("unit{number}"))?.or(axis.unit);
    Ok(axis)
}

fn side(axis: Axis, backwards: bool) -> Side {
    let step = if axis.d == 0.0 { 1.0 } else { f64::from(axis.d) };
    Side {
        n: axis.n,
        first: f64::from(axis.o),
        step,
        label: with_unit(axis.label, axis.unit),
        backwards,
    }
}

fn bar_label(job: &Job, input: &Input) -> Result<String> {
    let label = job.text("barlabel")?.or_else(|| input.header().text("label"));
    let unit = job.text("barunit")?.or_else(|| input.header().text("unit"));
    Ok(with_unit(label, unit))
}

fn with_unit(label: Option<String>, unit: Option<String>) -> String {
    let label = label.unwrap_or_default();
    match unit.filter(|unit| !unit.is_empty()) {
        Some(unit) => format!("{label} ({unit})").trim_start().to_string(),
        None => label,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_ignore_what_is_not_finite() {
        let values = || [3.0, 1.0, f32::NAN, 2.0, f32::INFINITY, 4.0, 5.0].into_iter();
        assert_eq!(quantile(values(), 100.0), 5.0);
        assert_eq!(quantile(values(), 0.0), 1.0);
        assert_eq!(quantile(values(), 50.0), 3.0);
        assert_eq!(quantile([f32::NAN].into_iter(), 50.0), 0.0);
    }

    #[test]
    fn labels_carry_their_unit() {
        let text = |t: &str| Some(t.to_string());
        assert_eq!(with_unit(text("z"), text("km")), "z (km)");
        assert_eq!(with_unit(text("z"), text("")), "z");
        assert_eq!(with_unit(None, text("s")), "(s)");
    }
}
