//! The geometry of sources and receivers: conversion between trace headers and the lists of points of the modelling
//! programs.

use anyhow::{Context, Result, bail, ensure};
use rsf_io::{Axis, Job};

use super::super::cube;
use super::super::rounding::Rounding;
use super::coordinates::{
    COUNIT, EP, FLDR, GELEV, OFFSET, Place, RECEIVER, SCALCO, SCALEL, SDEPTH, SELEV, SOURCE, TRACF, divisor,
    places, unit_of,
};
use super::layout::Layout;
use super::samples::Order;

/// The parameter, and the key in headers of lists of points, that gives the origin of x and y.
const ORIGIN: &str = "origin";
/// If points lie farther apart than this (in m), no origin lets all of them keep centimetres in single precision.
const WIDE: f64 = 1.3e5;

/// The sources of all shots, and the receivers of one shot (if all have the same) or of all shots.
pub struct Geometry {
    sources: Vec<Place>,
    receivers: Vec<Place>,
    /// The number of receivers of a shot.
    spread: usize,
    /// The divisors of coordinates, and of elevations and depths, in headers: 1, 10, 100, 1000 or 10000.
    divisors: [f64; 2],
    /// The x and y that were subtracted from the points of headers, or that are added to the points of lists.
    origin: Option<[f64; 2]>,
    /// The length in m of the unit of `origin=` on the command line, if points were converted to metres; otherwise 1.
    unit: f64,
}

/// The value of `origin=`.
fn given_origin(job: &Job) -> Result<Option<[f64; 2]>> {
    job.text(ORIGIN)?.map(|text| parsed(&text)).transpose()
}

/// Reads two numbers separated by a comma.
fn parsed(text: &str) -> Result<[f64; 2]> {
    let numbers: Vec<f64> = text
        .split(',')
        .filter_map(|word| word.trim().parse().ok())
        .collect();
    match numbers[..] {
        [x, y] if x.is_finite() && y.is_finite() && text.matches(',').count() == 1 => Ok([x, y]),
        _ => bail!(
            "origin={text}: it must be an x and a y in the unit of the coordinates, as in origin=465000,4728000"
        ),
    }
}

/// Determines the geometry and writes the lists of points, if `sou=` and `rec=` are given.
pub fn geometry(
    job: &mut Job,
    layout: &Layout,
    traces: u64,
    mask: Option<&[bool]>,
) -> Result<Option<Geometry>> {
    match (job.given("sou"), job.given("rec")) {
        (false, false) => {
            if job.given("origin") {
                job.warn("origin= has no effect without sou= and rec=");
            }
            if job.given("feet") {
                job.warn("feet= has no effect without sou= and rec=");
            }
            return Ok(None);
        }
        (true, true) => (),
        _ => bail!(
            "only one of sou= (points of sources) and rec= (points of receivers) is given: give both or neither"
        ),
    }
    let mut geometry = Geometry::of_headers(job, layout, traces, mask)?;
    let nowhere = geometry.is_nowhere();
    geometry.count_from_origin(job)?;
    if nowhere {
        job.warn(
            "all coordinates of sources and receivers are 0 in the trace headers, so all points of sou= and \
            rec= are 0: make the points with other programs (sfmath, sfcsv2rsf)",
        );
    }
    if !job.is_dry_run() {
        geometry.write_lists(job)?;
    }
    Ok(Some(geometry))
}

impl Geometry {
    /// Reads the lists of points that `sou=` and `rec=` name, for data with these axes after the time axis.
    ///
    /// # Errors
    /// Returns an error if only one list is given, the lists do not fit each other or the number or the order
    /// of the traces, or coordinates are too large.
    pub fn of_lists(job: &mut Job, axes: &[Axis]) -> Result<Option<Self>> {
        if !job.has_input("sou") && !job.has_input("rec") {
            return Ok(None);
        }
        ensure!(
            job.has_input("sou") && job.has_input("rec") && !job.has_input("tfile"),
            "sou= and rec= must be given together and without tfile=, because they make the trace headers"
        );
        let (each, shots, mut sources, from) = list(job, "sou")?;
        let (spread, spreads, mut receivers, other) = list(job, "rec")?;
        let given = given_origin(job)?;
        ensure!(
            given.is_some() || from == other,
            "the headers of sou= and rec= have different origins ({} and {}): give the origin of both by origin=",
            origin_words(from),
            origin_words(other)
        );
        ensure!(
            each == 1 || shots == 1,
            "sou= has {each} points in each of {shots} shots, but a trace header holds one source: give one point for each shot"
        );
        let shots = sources.len();
        ensure!(
            spreads == 1 || spreads == shots,
            "rec= has receivers of {spreads} shots (n3), but sou= has {shots} sources: rec= must contain the receivers \
            of one shot or of all shots"
        );
        let traces: usize = axes.iter().map(|axis| axis.n).product();
        ensure!(
            traces == spread * shots,
            "the data have {traces} traces, but {spread} receivers (rec=) in each shot (n3={shots} of sou=) need {}: one trace for \
            each, receivers fastest; sfwindow takes one of several components",
            spread * shots
        );
        if let Some(odd) = other_order(axes, spread, shots) {
            bail!(odd);
        }
        if let Some(own) = given.and(from).filter(|_| given != from) {
            job.warn(&format!(
                "origin={} replaces origin={}, which the header of sou= has: the coordinates that are \
                written differ from those that sfsegyread read by the difference of the origins; leave out \
                origin= to write the original ones",
                origin_words(given),
                origin_words(Some(own))
            ));
        }
        let origin = given.or(from);
        let added = |a: usize| origin.filter(|_| a < 2).map_or(0.0, |o| o[a]);
        let numbers = |axes: std::ops::Range<usize>| -> Vec<(f64, f64)> {
            let places = sources.iter().chain(&receivers);
            places
                .flat_map(|place| axes.clone().map(|a| (place[a], added(a))))
                .collect()
        };
        let (of_coordinates, off) = divisor(&numbers(0..2))?;
        let (of_depths, off_depths) = divisor(&numbers(2..3))?;
        let moved = |place: &mut Place| (0..2).for_each(|a| place[a] += added(a));
        sources.iter_mut().chain(&mut receivers).for_each(moved);
        // An error of half a thousandth of the unit does not matter.
        let off = off.max(off_depths);
        if off > 5e-4 {
            job.warn(&format!(
                "coordinates are rounded by up to {off:.3}, because four bytes of a header hold no more digits of the largest one: give sou= and rec= relative to a nearby origin, and origin= with fewer decimals"
            ));
        }
        let geometry = Self {
            sources,
            receivers,
            spread,
            divisors: [of_coordinates, of_depths],
            origin,
            unit: 1.0,
        };
        geometry.warn_of_offsets(job, shots);
        Ok(Some(geometry))
    }

    /// Warns if rounding to integers changes offsets much, as for offsets in kilometres.
    fn warn_of_offsets(&self, job: &Job, shots: usize) {
        let traces = 0..self.spread * shots;
        let offsets = || traces.clone().map(|trace| self.offset(trace));
        let largest = offsets().fold(0.0, |most: f64, x| most.max(x.abs()));
        let off = offsets().fold(0.0, |most: f64, x| most.max((x - x.round()).abs()));
        if off > 0.01 * largest {
            job.warn(&format!(
                "offsets are rounded by up to {off:.3}, and the largest is {largest:.3}: headers hold \
                offsets as whole numbers without a scalar; give sou= and rec= in metres"
            ));
        }
    }

    /// The offset of a trace; if source and receiver have the same y, it has the sign of the direction in x.
    fn offset(&self, trace: usize) -> f64 {
        let source = self.sources[trace / self.spread];
        let receiver = self.receivers[trace % self.receivers.len()];
        match (receiver[0] - source[0], receiver[1] - source[1]) {
            (x, 0.0) => x,
            (x, y) => x.hypot(y),
        }
    }

    /// Whether all coordinates are 0, as in headers without geometry.
    pub fn is_nowhere(&self) -> bool {
        let mut points = self.sources.iter().chain(&self.receivers).flatten();
        points.all(|x| *x == 0.0)
    }

    /// Writes the geometry of trace number `trace` (from 0) into its header.
    pub fn fill(&self, order: Order, header: &mut [u8], trace: u64) {
        let trace = trace as usize;
        let (shot, of_shot) = (trace / self.spread, trace % self.spread);
        let source = self.sources[shot];
        let receiver = self.receivers[trace % self.receivers.len()];
        let [of_coordinates, of_depths] = self.divisors;
        let scaled = |x: f64| (x * of_coordinates).round() as i32;
        let scaled_depth = |x: f64| (x * of_depths).round() as i32;
        // A source above the datum lies on the surface there; of other sources the surface is not known.
        let above = (-source[2]).max(0.0);
        for (at, value) in [
            (FLDR, shot as i32 + 1),
            (TRACF, of_shot as i32 + 1),
            (EP, shot as i32 + 1),
            (OFFSET, self.offset(trace).round() as i32),
            (GELEV, scaled_depth(-receiver[2])),
            (SELEV, scaled_depth(above)),
            (SDEPTH, scaled_depth(source[2] + above)),
            (SOURCE, scaled(source[0])),
            (SOURCE + 4, scaled(source[1])),
            (RECEIVER, scaled(receiver[0])),
            (RECEIVER + 4, scaled(receiver[1])),
        ] {
            order.put_int(header, at, 4, value);
        }
        let scale = |divisor: f64| match divisor > 1.0 {
            true => -divisor as i32,
            false => 1,
        };
        for (at, value) in [
            (SCALEL, scale(of_depths)),
            (SCALCO, scale(of_coordinates)),
            (COUNIT, 1),
        ] {
            order.put_int(header, at, 2, value);
        }
    }

    /// Reads the geometry from the headers of the traces that are kept. Consecutive traces with the same source form a
    /// shot.
    ///
    /// # Errors
    /// Returns an error if the input is a pipe, or shots have different numbers of traces.
    pub fn of_headers(job: &mut Job, layout: &Layout, traces: u64, mask: Option<&[bool]>) -> Result<Self> {
        let (mut sources, mut receivers, mut sizes): (Vec<Place>, Vec<Place>, Vec<usize>) =
            Default::default();
        let (mut unit, mut record, mut again) = (1, 0, 0u64);
        layout.each_header(job, "sou= and rec= need", (traces, mask), |_, header| {
            let standard = layout.standard(header);
            unit = unit.max(layout.order.int(&standard, COUNIT, 2));
            let (source, receiver) = places(layout.order, &standard);
            let before = std::mem::replace(&mut record, layout.order.int(&standard, FLDR, 4));
            if sources.last() == Some(&source) {
                again += u64::from(before != record);
            } else {
                sources.push(source);
                sizes.push(0);
            }
            receivers.push(receiver);
            if let Some(size) = sizes.last_mut() {
                *size += 1;
            }
        })?;
        if again > 0 && sources.iter().any(|place| place[..2] != [0.0; 2]) {
            job.warn(&format!(
                "{again} times the field record (fldr) of a trace differs from that of the previous trace, \
                although the source has the same position: a shot of sou= and rec= consists of all \
                consecutive traces with the same source position, so these records form one shot; select \
                single records by mask=, or read all without sou= and rec="
            ));
        }
        let arc = match unit {
            2 => Some("seconds of arc"),
            3 => Some("decimal degrees"),
            4 => Some("degrees, minutes and seconds"),
            _ => None,
        };
        if let Some(arc) = arc {
            job.warn(&format!(
                "coordinates are {arc} (counit={unit} in the trace headers), but sou= and rec= hold them \
                unchanged: the modelling programs need metres, so project them (with pyproj or the like) and \
                make the points with sfcsv2rsf"
            ));
        }
        if sources
            .iter()
            .chain(&receivers)
            .all(|place| place[..2] == [0.0; 2])
        {
            job.warn(
                "all coordinates of the trace headers are 0, and so are x and y of sou= and rec=: the \
                file has no geometry at the bytes of the standard; read coordinates at other bytes by name \
                (sfsegyread tfile= sx=BYTE gx=BYTE), or make points with sfpoints or sfcsv2rsf",
            );
        }
        let unit = unit_of(job, layout, arc)?;
        for place in sources.iter_mut().chain(&mut receivers) {
            *place = place.map(|x| x * unit);
        }
        let spread = sizes[0];
        if let Some(odd) = sizes.iter().position(|size| *size != spread) {
            bail!(
                "shot 1 has {spread} traces, but shot {} has {} (a shot consists of consecutive traces with the same source): sou= and rec= need \
                the same number in each; leave out traces by mask=, or read all without sou= and rec=",
                odd + 1,
                sizes[odd]
            );
        }
        // Receivers that are the same for all shots are stored once.
        if receivers.chunks(spread).all(|shot| *shot == receivers[..spread]) {
            receivers.truncate(spread);
        }
        Ok(Self {
            sources,
            receivers,
            spread,
            divisors: [1.0; 2],
            origin: None,
            unit,
        })
    }

    /// Subtracts `origin=` from all points.
    pub fn count_from_origin(&mut self, job: &Job) -> Result<()> {
        self.origin = given_origin(job)?.map(|origin| origin.map(|x| x * self.unit));
        let Some(origin) = self.origin else { return Ok(()) };
        for place in self.sources.iter_mut().chain(&mut self.receivers) {
            (0..2).for_each(|a| place[a] -= origin[a]);
        }
        Ok(())
    }

    /// Advice for coordinates that lose digits in single precision.
    fn advice(&self) -> String {
        let mut ends = [[f64::INFINITY, f64::NEG_INFINITY]; 2];
        for place in self.sources.iter().chain(&self.receivers) {
            for (end, x) in ends.iter_mut().zip(place) {
                *end = [end[0].min(*x), end[1].max(*x)];
            }
        }
        let apart = ends.iter().map(|[least, most]| most - least).fold(0.0, f64::max);
        if apart > WIDE {
            return format!(
                "the points lie up to {} km apart, too far for a nearby origin; leave out traces with wrong headers by mask=",
                (apart / 1000.0).round()
            );
        }
        let before = self.origin.unwrap_or_default();
        // Rounding removes the digits that the conversion from feet leaves.
        let given = |a: usize| (before[a] / self.unit * 1e6).round() / 1e6;
        let near = |a: usize| (ends[a][0] / self.unit / 1000.0).floor() * 1000.0 + given(a);
        format!(
            "origin={},{} subtracts these from all x and y (subtract them from the coordinates of the model, \
            too; sfsegywrite sou= rec= adds them again)",
            near(0),
            near(1)
        )
    }

    /// The axes of the data after the time axis: receivers and shots.
    pub fn axes(&self) -> [Axis; 2] {
        [
            Axis::new(self.spread, 0.0, 1.0).label("Receiver"),
            Axis::new(self.sources.len(), 1.0, 1.0).label("Shot"),
        ]
    }

    /// Writes the lists of points: x, z if all y are equal, otherwise x, y, z.
    pub fn write_lists(&self, job: &mut Job) -> Result<()> {
        let y = self.sources[0][1];
        let plane = self
            .sources
            .iter()
            .chain(&self.receivers)
            .all(|place| place[1] == y);
        // Points of x, z are relative to an origin that has their y.
        let origin = match (plane, self.origin) {
            (true, origin) if y != 0.0 => {
                let [x, before] = origin.unwrap_or_default();
                // Rounding removes the digits that the difference in double precision leaves.
                Some([x, ((before + y) * 1e6).round() / 1e6])
            }
            (_, origin) => origin,
        };
        let mut rounding = Rounding::default();
        for (name, places) in [("source", &self.sources), ("receiver", &self.receivers)] {
            let written = "xyz".chars().enumerate().filter(|(_, key)| !plane || *key != 'y');
            for (i, key) in written {
                rounding.see(
                    |place| format!("{name} {}: {key}", place + 1),
                    places.iter().map(|place| place[i]),
                );
            }
        }
        rounding.warn_with(job, &self.advice());
        for (name, places, each) in [("sou", &self.sources, 1), ("rec", &self.receivers, self.spread)] {
            let mut output = job.tagged_output(name)?;
            let values = places.iter().flat_map(|place| match plane {
                true => vec![place[0] as f32, place[2] as f32],
                false => place.iter().map(|x| *x as f32).collect(),
            });
            let values: Vec<f32> = values.collect();
            let lengths = [if plane { 2 } else { 3 }, each, places.len() / each];
            for (i, n) in (1..3).zip(lengths) {
                output.set_axis(i, &Axis::new(n, 0.0, 1.0));
            }
            // The axis of shots has the same coordinates as in the data, so that modelling with these points keeps
            // them.
            let shots = self.axes()[1].clone();
            output.set_axis(
                3,
                &Axis {
                    n: lengths[2],
                    ..shots
                },
            );
            if let Some([x, y]) = origin {
                output.put_text(ORIGIN, &format!("{x},{y}"));
            }
            output.write_f32(&values)?;
            output.finish()?;
        }
        Ok(())
    }
}

/// The message for data whose traces are not ordered by shot, then by receiver: according to the labels the axis of
/// shots comes before the axis of receivers, or the lengths of the first axes do not multiply to the number of
/// receivers of a shot.
fn other_order(axes: &[Axis], spread: usize, shots: usize) -> Option<String> {
    let long: Vec<(usize, &Axis)> = (2..).zip(axes).filter(|(_, axis)| axis.n > 1).collect();
    if long.len() < 2 {
        return None;
    }
    let named = |words: &[&str]| {
        let label = |axis: &Axis| axis.label.as_deref().unwrap_or_default().trim().to_lowercase();
        long.iter()
            .position(|(_, axis)| words.contains(&label(axis).as_str()))
    };
    let turned = named(&["shot", "shots", "source", "sources"])
        .zip(named(&["r", "receiver", "receivers"]))
        .is_some_and(|(shot, receiver)| shot < receiver);
    let ends = long.iter().scan(1, |product, (_, axis)| {
        *product *= axis.n;
        Some(*product)
    });
    if !turned && (spread == 1 || ends.into_iter().any(|end| end == spread)) {
        return None;
    }
    let shown = |(i, axis): &(usize, &Axis)| match axis.label.as_deref() {
        Some(label) if !label.is_empty() => format!("axis {i} ({label}) has {}", axis.n),
        _ => format!("axis {i} has {}", axis.n),
    };
    let lengths: Vec<String> = long.iter().map(shown).collect();
    let way = match long[..] {
        [(i, _), (j, _)] => format!("sftransp plane={i}{j} exchanges these axes"),
        _ => "reorder them with sftransp".into(),
    };
    Some(format!(
        "the traces are in the wrong order: {}, but headers of {spread} receivers (rec=) and {shots} shots (sou=) need receivers fastest, then shots; {way}",
        lengths.join(", ")
    ))
}

/// An origin as text.
fn origin_words(origin: Option<[f64; 2]>) -> String {
    origin.map_or("none".into(), |[x, y]| format!("{x},{y}"))
}

/// The number of points of a shot, the number of shots, all points of a list, and the origin in its header.
type List = (usize, usize, Vec<Place>, Option<[f64; 2]>);

fn list(job: &mut Job, name: &str) -> Result<List> {
    let mut input = job.input(name)?;
    let axes = cube::shape_to(&input, 3)?;
    let n = axes[0].n;
    ensure!(
        n == 2 || n == 3,
        "{}: n1={n}, but points have the coordinates x, z or x, y, z",
        input.name()
    );
    let values = input.read_all_f32()?;
    ensure!(
        values.iter().all(|x| x.is_finite()),
        "{} has coordinates that are not finite",
        input.name()
    );
    let place = |p: &[f32]| [p[0], if n == 3 { p[1] } else { 0.0 }, p[n - 1]].map(f64::from);
    let places: Vec<Place> = values.chunks_exact(n).map(place).collect();
    let origin = input.header().text(ORIGIN);
    let origin = origin.map(|text| parsed(&text).with_context(|| format!("the header of {}", input.name())));
    Ok((axes[1].n, axes[2].n, places, origin.transpose()?))
}
