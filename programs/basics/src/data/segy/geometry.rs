//! Where sources and receivers are: lists of points, as the modelling programs read them, to trace headers and back.

use anyhow::{Context, Result, bail, ensure};
use rsf_io::{Axis, Job};

use super::super::cube;
use super::super::rounding::Rounding;
use super::layout::Layout;
use super::samples::Order;

/// A place: x, y and z, z downwards.
type Place = [f64; 3];

/// The parameter, and the key of the headers of points, that says from where x and y count.
const ORIGIN: &str = "origin";
/// Points farther from each other than this have no origin from which all of them keep their centimetres.
const WIDE: f64 = 1.3e5;

/// Bytes of the trace header: record, trace of the record, source point, offset, heights and depths, their scale, the scale
/// of coordinates, the coordinates, their unit.
const FLDR: usize = 8;
const TRACF: usize = 12;
const EP: usize = 16;
const OFFSET: usize = 36;
const GELEV: usize = 40;
const SELEV: usize = 44;
const SDEPTH: usize = 48;
const SCALEL: usize = 68;
const SCALCO: usize = 70;
const SOURCE: usize = 72;
const RECEIVER: usize = 80;
const COUNIT: usize = 88;

/// Sources of all shots, and receivers of one shot or of all.
pub struct Geometry {
    sources: Vec<Place>,
    receivers: Vec<Place>,
    /// Receivers of a shot.
    spread: usize,
    /// Coordinates are divided by it in headers: 1, 10, 100, 1000 or 10000.
    divisor: f64,
    /// What has been subtracted from x and y of the points, or is added to those of files.
    origin: Option<[f64; 2]>,
}

/// What `origin=` says.
fn asked_origin(job: &Job) -> Result<Option<[f64; 2]>> {
    job.text(ORIGIN)?.map(|text| parsed(&text)).transpose()
}

/// Two numbers with a comma between them.
fn parsed(text: &str) -> Result<[f64; 2]> {
    let numbers: Vec<f64> = text
        .split(',')
        .filter_map(|word| word.trim().parse().ok())
        .collect();
    match numbers[..] {
        [x, y] if x.is_finite() && y.is_finite() && text.matches(',').count() == 1 => Ok([x, y]),
        _ => bail!(
            "origin={text}: it is an x and a y in the unit of the coordinates, as in origin=465000,4728000"
        ),
    }
}

/// Where sources and receivers are, if sou= and rec= ask for it; the lists are written.
pub fn geometry(
    job: &mut Job,
    layout: &Layout,
    traces: u64,
    mask: Option<&[bool]>,
) -> Result<Option<Geometry>> {
    match (job.given("sou"), job.given("rec")) {
        (false, false) => {
            if job.given("origin") {
                job.warn("origin= has no effect without sou= and rec=, whose points count from it");
            }
            return Ok(None);
        }
        (true, true) => (),
        _ => bail!("sou= and rec= go together: the points of the sources and those of the receivers"),
    }
    let mut found = Geometry::of_headers(job, layout, traces, mask)?;
    let nowhere = found.is_nowhere();
    found.count_from_origin(job)?;
    if nowhere {
        job.warn(
            "all coordinates of sources and receivers are 0 in the trace headers, so sou= and rec= hold points at 0 alone: write the points by hand (sfmath, sfcsv2rsf)",
        );
    }
    if !job.is_dry_run() {
        found.write_lists(job)?;
    }
    Ok(Some(found))
}

impl Geometry {
    /// The lists that `sou=` and `rec=` name. Errors: one without the other, another number of traces than theirs.
    pub fn of_lists(job: &mut Job, traces: u64) -> Result<Option<Self>> {
        if !job.has_input("sou") && !job.has_input("rec") {
            return Ok(None);
        }
        ensure!(
            job.has_input("sou") && job.has_input("rec") && !job.has_input("tfile"),
            "sou= and rec= go together, and without tfile=: they make the headers of the traces"
        );
        let (each, shots, mut sources, from) = list(job, "sou")?;
        let (spread, spreads, mut receivers, other) = list(job, "rec")?;
        let asked = asked_origin(job)?;
        ensure!(
            asked.is_some() || from == other,
            "the headers of sou= and rec= have different origins ({} and {}): origin= says which x and y both count from",
            told(from),
            told(other)
        );
        ensure!(
            each == 1 || shots == 1,
            "sou= has {each} points in each of {shots} shots: one is needed, for a header holds one source"
        );
        let shots = sources.len();
        ensure!(
            spreads == 1 || spreads == shots,
            "rec= has receivers of {spreads} shots (n3) and sou= has {shots} sources: rec= needs those of one shot or of all"
        );
        ensure!(
            traces == (spread * shots) as u64,
            "the data have {traces} traces, but {spread} receivers (rec=) of {shots} shots (sou=) are {}: one trace is needed for \
each, receivers first; of several components sfwindow takes one",
            spread * shots
        );
        let all: Vec<f64> = sources.iter().chain(&receivers).flatten().copied().collect();
        let origin = asked.or(from);
        let moved = |place: &mut Place| (0..2).for_each(|a| place[a] += origin.map_or(0.0, |o| o[a]));
        sources.iter_mut().chain(&mut receivers).for_each(moved);
        let moved = sources.iter().chain(&receivers).flatten();
        let largest = moved.fold(0.0f64, |most, x| most.max(x.abs()));
        let (divisor, off) = divisor(&all, largest)?;
        // Half a millimetre, or of whatever they are in, is nothing.
        if off > 5e-4 {
            job.warn(&format!(
                "coordinates are rounded by up to {off:.3}: four bytes of a header do not hold more digits of the largest one; give sou= and rec= from an origin nearby"
            ));
        }
        let found = Self {
            sources,
            receivers,
            spread,
            divisor,
            origin,
        };
        found.tell_offsets(job, shots);
        Ok(Some(found))
    }

    /// Warns of offsets that whole numbers do not hold, as those in kilometres.
    fn tell_offsets(&self, job: &Job, shots: usize) {
        let traces = 0..self.spread * shots;
        let offsets = || traces.clone().map(|trace| self.offset(trace));
        let largest = offsets().fold(0.0, |most: f64, x| most.max(x.abs()));
        let off = offsets().fold(0.0, |most: f64, x| most.max((x - x.round()).abs()));
        if off > 0.01 * largest {
            job.warn(&format!(
                "offsets are rounded by up to {off:.3}, the largest is {largest:.3}: their bytes hold whole numbers without a scale; give sou= and rec= in metres"
            ));
        }
    }

    /// From the source to the receiver of a trace. In a plane the offset has the sign of its direction.
    fn offset(&self, trace: usize) -> f64 {
        let source = self.sources[trace / self.spread];
        let receiver = self.receivers[trace % self.receivers.len()];
        match (receiver[0] - source[0], receiver[1] - source[1]) {
            (x, 0.0) => x,
            (x, y) => x.hypot(y),
        }
    }

    /// Whether all points are 0, as where headers have no coordinates.
    pub fn is_nowhere(&self) -> bool {
        let mut points = self.sources.iter().chain(&self.receivers).flatten();
        points.all(|x| *x == 0.0)
    }

    /// Writes what belongs to trace number `trace` into its header.
    pub fn fill(&self, order: Order, header: &mut [u8], trace: u64) {
        let trace = trace as usize;
        let (shot, of_shot) = (trace / self.spread, trace % self.spread);
        let source = self.sources[shot];
        let receiver = self.receivers[trace % self.receivers.len()];
        let scaled = |x: f64| (x * self.divisor).round() as i32;
        for (at, value) in [
            (FLDR, shot as i32 + 1),
            (TRACF, of_shot as i32 + 1),
            (EP, shot as i32 + 1),
            (OFFSET, self.offset(trace).round() as i32),
            (GELEV, scaled(-receiver[2])),
            (SELEV, 0),
            (SDEPTH, scaled(source[2])),
            (SOURCE, scaled(source[0])),
            (SOURCE + 4, scaled(source[1])),
            (RECEIVER, scaled(receiver[0])),
            (RECEIVER + 4, scaled(receiver[1])),
        ] {
            order.put_int(header, at, 4, value);
        }
        let scale = if self.divisor > 1.0 {
            -self.divisor as i32
        } else {
            1
        };
        for (at, value) in [(SCALEL, scale), (SCALCO, scale), (COUNIT, 1)] {
            order.put_int(header, at, 2, value);
        }
    }

    /// The places that the headers of the kept traces tell, shot after shot: traces that follow each other with one source are a
    /// shot. Errors: a pipe, shots of different numbers of traces.
    pub fn of_headers(job: &mut Job, layout: &Layout, traces: u64, mask: Option<&[bool]>) -> Result<Self> {
        let (mut sources, mut receivers, mut sizes): (Vec<Place>, Vec<Place>, Vec<usize>) =
            Default::default();
        let mut unit = 1;
        layout.each_header(job, "sou= and rec= need", (traces, mask), |_, header| {
            let standard = layout.standard(header);
            unit = unit.max(layout.order.int(&standard, COUNIT, 2));
            let (source, receiver) = places(layout.order, &standard);
            if sources.last() != Some(&source) {
                sources.push(source);
                sizes.push(0);
            }
            receivers.push(receiver);
            if let Some(size) = sizes.last_mut() {
                *size += 1;
            }
        })?;
        let arc = match unit {
            2 => Some("seconds of arc"),
            3 => Some("decimal degrees"),
            4 => Some("degrees, minutes and seconds"),
            _ => None,
        };
        if let Some(arc) = arc {
            job.warn(&format!(
                "coordinates are {arc} (counit={unit} in the trace headers), and sou= and rec= hold them as they are: the modelling programs take metres, so project them (by pyproj or the like) and give the points by sfcsv2rsf"
            ));
        }
        if sources
            .iter()
            .chain(&receivers)
            .all(|place| place[..2] == [0.0; 2])
        {
            job.warn("all coordinates of the trace headers are 0, and so are x and y of sou= and rec=: the file has no geometry; headers of other keys or places are read by their names (sfsegyread tfile= sx=BYTE gx=BYTE), and points are made by sfpoints or sfcsv2rsf");
        }
        if layout.feet && arc.is_none() {
            job.warn("the binary header says that lengths are in feet (mfeet=2), and sou= and rec= hold coordinates as they are: the modelling programs take metres, sfmath output=\"0.3048*input\" makes them");
        }
        let spread = sizes[0];
        if let Some(odd) = sizes.iter().position(|size| *size != spread) {
            bail!(
                "shot 1 has {spread} traces and shot {} has {} (traces that follow each other with one source are a shot): sou= and rec= need \
as many in each; mask= leaves traces out, and without sou= and rec= all traces are read",
                odd + 1,
                sizes[odd]
            );
        }
        // The same spread for all shots is given once.
        if receivers.chunks(spread).all(|shot| *shot == receivers[..spread]) {
            receivers.truncate(spread);
        }
        Ok(Self {
            sources,
            receivers,
            spread,
            divisor: 1.0,
            origin: None,
        })
    }

    /// Lets x and y count from where `origin=` says.
    pub fn count_from_origin(&mut self, job: &Job) -> Result<()> {
        self.origin = asked_origin(job)?;
        let Some(origin) = self.origin else { return Ok(()) };
        for place in self.sources.iter_mut().chain(&mut self.receivers) {
            (0..2).for_each(|a| place[a] -= origin[a]);
        }
        Ok(())
    }

    /// What to do with coordinates that lose digits.
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
                "the points lie up to {} km from each other, too far for one origin nearby; mask= leaves out traces with headers that are wrong",
                (apart / 1000.0).round()
            );
        }
        let before = self.origin.unwrap_or_default();
        let near = |a: usize| (ends[a][0] / 1000.0).floor() * 1000.0 + before[a];
        format!(
            "origin={},{} here subtracts these from all x and y (subtract them from the coordinates of the model, too; sfsegywrite sou= rec= adds them again)",
            near(0),
            near(1)
        )
    }

    /// Axes of the data behind that of time.
    pub fn axes(&self) -> [Axis; 2] {
        [
            Axis::new(self.spread, 0.0, 1.0).label("Receiver"),
            Axis::new(self.sources.len(), 1.0, 1.0).label("Shot"),
        ]
    }

    /// Writes the lists of points: x, z where all y are equal, else x, y, z.
    pub fn write_lists(&self, job: &mut Job) -> Result<()> {
        let y = self.sources[0][1];
        let plane = self
            .sources
            .iter()
            .chain(&self.receivers)
            .all(|place| place[1] == y);
        let mut rounding = Rounding::default();
        for (name, places) in [("source", &self.sources), ("receiver", &self.receivers)] {
            for (i, key) in "xyz".chars().enumerate() {
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
            // Shots have the numbers of the data, so that runs with these points know them.
            let shots = self.axes()[1].clone();
            output.set_axis(
                3,
                &Axis {
                    n: lengths[2],
                    ..shots
                },
            );
            if let Some([x, y]) = self.origin {
                output.put_text(ORIGIN, &format!("{x},{y}"));
            }
            output.write_f32(&values)?;
            output.finish()?;
        }
        Ok(())
    }
}

/// An origin in words.
fn told(origin: Option<[f64; 2]>) -> String {
    origin.map_or("none".into(), |[x, y]| format!("{x},{y}"))
}

/// Points of a shot, shots, all points of a list, and from where its header says that they count.
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

/// The smallest power of ten with which all coordinates come back as they are in single precision, or else are whole within its last
/// digit; at most 10000, and less where four bytes would not hold the largest number that is written. With it how far a coordinate is rounded beyond that digit.
fn divisor(all: &[f64], largest: f64) -> Result<(f64, f64)> {
    let largest = all.iter().fold(largest, |most, x| most.max(x.abs()));
    ensure!(
        largest < f64::from(i32::MAX),
        "a coordinate of {largest} does not fit into the four bytes of a header"
    );
    let back = |x: f64, by: f64| (x * by).round() / by;
    let same = |by: f64| all.iter().all(|&x| back(x, by) as f32 == x as f32);
    let off = |x: f64, by: f64| (x - back(x, by)).abs() - x.abs() * f64::from(f32::EPSILON);
    let whole = |by: f64| all.iter().all(|&x| off(x, by) <= 1e-9);
    let fits = |by: &f64| largest * by < f64::from(i32::MAX);
    let powers: Vec<f64> = [1.0, 10.0, 100.0, 1000.0, 10000.0]
        .into_iter()
        .filter(fits)
        .collect();
    let last = powers.last().copied().unwrap_or(1.0);
    let by = powers.iter().copied().find(|&by| same(by));
    let by = by
        .or_else(|| powers.iter().copied().find(|&by| whole(by)))
        .unwrap_or(last);
    let rounded = all.iter().map(|&x| off(x, by)).fold(0.0, f64::max);
    Ok((by, if rounded > 1e-9 { rounded } else { 0.0 }))
}

/// Source and receiver of a trace header.
fn places(order: Order, header: &[u8]) -> (Place, Place) {
    let scale = |at: usize| match order.int(header, at, 2) {
        0 => 1.0,
        by if by > 0 => f64::from(by),
        by => -1.0 / f64::from(by),
    };
    let (heights, coordinates) = (scale(SCALEL), scale(SCALCO));
    let value = |at: usize, scale: f64| f64::from(order.int(header, at, 4)) * scale;
    let depth = value(SDEPTH, heights) - value(SELEV, heights);
    let source = [value(SOURCE, coordinates), value(SOURCE + 4, coordinates), depth];
    let z = value(GELEV, heights);
    // A minus before zero is of no use.
    let z = if z == 0.0 { 0.0 } else { -z };
    (
        source,
        [value(RECEIVER, coordinates), value(RECEIVER + 4, coordinates), z],
    )
}
