//! `sfpoints`: lists of the coordinates of sources and receivers.

use anyhow::{Context, Result, ensure};
use rsf_io::{Axis, Job, Param, Program};

use super::rounding::Rounding;

pub static SPEC: Program = Program {
    name: "sfpoints",
    about: "Make a list of points for sou= and rec= of the modelling programs.",
    usage: "x=0:2000:10 z=20 > rec.rsf",
    comments: "A coordinate is a number, a list of numbers (x=100,250,400) or a range first:last:step, whose last number \
is included if a step ends there. A single number applies to all points; lists and ranges must have the same length, \
or with grid=y each value of one is combined with each of the others, as on a map of stations. Axis 1 holds x, z or, \
with y=, x, y, z; axis 2 counts the points.\n\n\
With n= all points are repeated for n shots on axis 3, and dx=, dy= and dz= move them from shot to shot, as a ship moves \
its streamer. For shots of one source each, give one point with n=, or the list without n= and | sftransp plane=23, which \
makes every point of the list a shot.\n\n\
Files hold numbers of four bytes, about seven digits. Subtract an origin from large coordinates such as those of UTM, \
and from the axes of the model, too; a warning reports where rounding exceeds 0.01 or a thousandth of the distance \
between points.",
    example: "sfpoints x=0:2000:10 z=20 > rec.rsf\nsfpoints x=100 z=10 n=20 dx=50 > sou.rsf\n\
sfpoints x=0:2000:100 y=0:1000:100 z=0 grid=y > stations.rsf",
    params: &PARAMS,
};

static PARAMS: [Param; 8] = [
    Param::string("x").required().doc("x of the points"),
    Param::string("y")
        .default_text("none: points in 2-D")
        .doc("y of the points"),
    Param::string("z")
        .required()
        .doc("z of the points, positive downwards"),
    Param::bool("grid")
        .default("n")
        .doc("y: combine each x with each y and each z, x changing fastest, then y"),
    Param::int("n")
        .default_text("no axis of shots")
        .range(">= 1", Some(1.0), None)
        .doc("number of shots, each of which has all points"),
    Param::float("dx")
        .default("0")
        .doc("change of x from shot to shot"),
    Param::float("dy")
        .default("0")
        .doc("change of y from shot to shot"),
    Param::float("dz")
        .default("0")
        .doc("change of z from shot to shot"),
];

/// The largest number of points.
const MOST: f64 = 1e8;

pub fn run(job: &mut Job) -> Result<()> {
    let mut lists: Vec<(&str, Vec<f64>, f64)> = Vec::new();
    for (key, step) in [("x", "dx"), ("y", "dy"), ("z", "dz")] {
        match job.text(key)? {
            Some(text) => lists.push((key, values(key, &text)?, job.double(step)?)),
            None => ensure!(
                !job.given(step),
                "{step}= moves {key}=, which is not given: give {key}=, too"
            ),
        }
    }
    if job.flag("grid")? {
        meet(&mut lists)?;
    }
    let count = lists.iter().map(|(_, list, _)| list.len()).max().unwrap_or(0);
    for (key, list, _) in &lists {
        ensure!(
            list.len() == 1 || list.len() == count,
            "{key}= has {} values and another coordinate has {count}: give one for all points, or one for each; grid=y combines each value with each of the others",
            list.len()
        );
    }
    let shots = job.int_opt("n")?;
    ensure!(
        shots.is_some() || lists.iter().all(|(.., step)| *step == 0.0),
        "dx=, dy= and dz= move the points from shot to shot: give the number of shots as n="
    );
    if count > 1 && shots == Some(count as i64) && lists.iter().all(|(.., step)| *step == 0.0) {
        job.warn(&format!(
            "n={count} repeats all {count} points in each of {count} shots: for one point in each shot leave out n= and \
            add | sftransp plane=23, or give only the first point, with dx=, dy= or dz="
        ));
    }
    let mut rounding = Rounding::default();
    for (key, list, step) in &lists {
        let last = (shots.unwrap_or(1) - 1) as f64 * step;
        rounding.see(|_| key.to_string(), list.iter().map(|x| x + last));
        rounding.see(
            |_| key.to_string(),
            (0..shots.unwrap_or(1)).map(|shot| list[0] + shot as f64 * step),
        );
    }
    rounding.warn(job);
    let mut output = job.output()?;
    output.set_axis(1, &Axis::new(lists.len(), 0.0, 1.0));
    output.set_axis(2, &Axis::new(count, 0.0, 1.0));
    if let Some(shots) = shots {
        // The label distinguishes shots that sfwindow moves to axis 2 from several sources of one shot.
        output.set_axis(3, &Axis::new(shots as usize, 0.0, 1.0).label("shot"));
    }
    for shot in 0..shots.unwrap_or(1) {
        for point in 0..count {
            let value = |(_, list, step): &(&str, Vec<f64>, f64)| {
                (list[point.min(list.len() - 1)] + shot as f64 * step) as f32
            };
            output.write_f32(&lists.iter().map(value).collect::<Vec<f32>>())?;
        }
    }
    Ok(output.finish()?)
}

/// Extends the lists so that each value of one is combined with each of the others, the first list changing fastest.
fn meet(lists: &mut [(&str, Vec<f64>, f64)]) -> Result<()> {
    let sizes: Vec<usize> = lists.iter().map(|(_, list, _)| list.len()).collect();
    let count: f64 = sizes.iter().map(|size| *size as f64).product();
    ensure!(
        count < MOST,
        "grid=y makes {count:e} points of these lists, but at most {MOST:e} are allowed: give fewer values"
    );
    let mut before = 1;
    for ((_, list, _), size) in lists.iter_mut().zip(sizes) {
        *list = (0..count as usize)
            .map(|point| list[point / before % size])
            .collect();
        before *= size;
    }
    Ok(())
}

/// The numbers of a list or a range.
fn values(key: &str, text: &str) -> Result<Vec<f64>> {
    let number = |word: &str| {
        let value = word.trim().parse::<f64>().ok().filter(|x| x.is_finite());
        value.with_context(|| {
            format!(
                "{key}={text}: `{word}` is not a number; give 100, 100,250,400 or 0:2000:10, for instance"
            )
        })
    };
    let parts: Vec<&str> = text.split(':').collect();
    if parts.len() == 1 {
        return text.split(',').map(number).collect();
    }
    ensure!(
        parts.len() == 3,
        "{key}={text}: a range has three numbers, first:last:step, as in 0:2000:10"
    );
    let (first, last, step) = (number(parts[0])?, number(parts[1])?, number(parts[2])?);
    ensure!(
        step != 0.0 && (last - first) * step >= 0.0,
        "{key}={text}: steps of {step} do not reach {last} from {first}; a range is first:last:step, as in 0:2000:10 or \
        2000:0:-10"
    );
    // A last point that lies beyond the end only because of rounding is included.
    let steps = ((last - first) / step + 1e-6).floor();
    ensure!(
        steps < MOST,
        "{key}={text}: steps of {step} reach {last} from {first} only after {MOST:e} steps or more; take longer steps"
    );
    Ok((0..=steps as usize).map(|i| first + i as f64 * step).collect())
}
