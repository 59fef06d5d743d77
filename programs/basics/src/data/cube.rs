//! The shape of a dataset, and operations on elements of any type.

use std::io::{BufWriter, ErrorKind, Stdout, Write, stdout};

use anyhow::{Context, Result, bail, ensure};
use rsf_io::{Axis, Element, Input, Job, Kind, MAX_AXES, Output};

/// The number of elements that are read or written at a time.
pub const PIECE: usize = 1 << 18;

/// Calls a function that is generic over the element type, with the type of the data: `by_kind!(kind,
/// copy(input, output))`.
macro_rules! by_kind {
    ($kind:expr, $run:ident($($argument:expr),* $(,)?)) => {
        match $kind {
            rsf_io::Kind::Float => $run::<f32>($($argument),*),
            rsf_io::Kind::Int => $run::<i32>($($argument),*),
            rsf_io::Kind::Complex => $run::<rsf_io::Complex>($($argument),*),
            rsf_io::Kind::Uchar | rsf_io::Kind::Char => $run::<u8>($($argument),*),
            rsf_io::Kind::Short => $run::<i16>($($argument),*),
            rsf_io::Kind::Long => $run::<i64>($($argument),*),
            rsf_io::Kind::Double => $run::<f64>($($argument),*),
        }
    };
}
pub(crate) use by_kind;

/// The axes of a dataset without axes of one sample at the end, but at least one axis. Their lengths multiply to the
/// number of elements.
///
/// # Errors
/// Returns an error if the dataset has no elements.
pub fn shape(input: &Input) -> Result<Vec<Axis>> {
    let rank = present(input).min(input.rank());
    ensure!(
        !input.is_empty(),
        "{}: there are no elements ({}), so there is nothing to do",
        input.name(),
        input.header().sizes()
    );
    Ok((1..=rank).map(|i| input.axis(i)).collect())
}

/// The number of consecutive axes, from axis 1 on, whose lengths the header gives; at least 1.
pub fn present(input: &Input) -> usize {
    let present = (1..=MAX_AXES).take_while(|i| input.header().raw(&format!("n{i}")).is_some());
    present.count().max(1)
}

/// The axes of [`shape`], followed by axes of length 1 up to `rank`, with the origins, samplings, labels and units of
/// the header.
pub fn shape_to(input: &Input, rank: usize) -> Result<Vec<Axis>> {
    let mut axes = shape(input)?;
    for i in axes.len() + 1..=rank {
        let axis = input.axis(i);
        axes.push(Axis { n: 1, ..axis });
    }
    Ok(axes)
}

/// A message with a remedy if axis 1 is not time (or a coordinate in space) and a later axis is.
pub fn across_time(axes: &[Axis]) -> Option<String> {
    let label = |axis: &Axis| axis.label.as_deref().unwrap_or_default().trim().to_lowercase();
    let unit = |axis: &Axis| axis.unit.as_deref().unwrap_or_default().trim().to_lowercase();
    let is_time = |axis: &Axis| {
        ["t", "time"].contains(&label(axis).as_str()) || ["s", "ms"].contains(&unit(axis).as_str())
    };
    let is_place = |axis: &Axis| ["x", "y", "z", "depth"].contains(&label(axis).as_str());
    let (first, later) = axes.split_first()?;
    let time = 2 + later.iter().position(is_time)?;
    let alone = first.n == 1 && axes[time - 1].n == 1;
    if is_time(first) || is_place(first) || alone {
        return None;
    }
    let way = match time {
        2 => "sftransp".to_string(),
        3 => format!(
            "sftransp plane=13 | sfwindow n2=1 f2=0 (one of the {} of axis 2), or sftransp plane=13 (all)",
            axes[1].n
        ),
        _ => format!("sftransp plane=1{time}"),
    };
    Some(format!(
        "axis 1 of the data is {}, and time is axis {time}, but traces must run along axis 1. This \
        transposes the data: {way}",
        first
            .label
            .as_deref()
            .map_or("no time".into(), |label| format!("`{label}`"))
    ))
}

/// The end of a message about the values of a plane, if the file has further planes; otherwise empty.
pub fn of_planes(input: &Input) -> String {
    let planes: usize = (3..=input.rank()).map(|number| input.axis(number).n).product();
    match planes {
        0 | 1 => String::new(),
        _ => format!(
            " in the plane that is drawn; the file has {planes} planes, and frame= selects another (sfmovie \
            shows all planes along axis=)"
        ),
    }
}

/// Warns if axis 1 is not time and a later axis is ([`across_time`]); returns whether it warned.
pub fn warn_of_time_axis(job: &Job, input: &Input) -> Result<bool> {
    let odd = across_time(&shape(input)?);
    odd.iter().for_each(|odd| job.warn(odd));
    Ok(odd.is_some())
}

/// Warns if axis 1 is in milliseconds; `other` names the quantities that are combined with these times, usually in
/// metres and metres per second.
pub fn warn_of_milliseconds(job: &Job, input: &Input, other: &str) {
    let axis = input.axis(1);
    let unit = axis.unit.as_deref().unwrap_or_default().trim();
    if ["ms", "msec", "millisecond", "milliseconds"].contains(&unit.to_lowercase().as_str()) {
        job.warn(&format!(
            "unit1={unit}: times are not converted before they are combined with {other}, so metres and \
            metres per second require seconds: sfput o1={} d1={} unit1=s corrects the header",
            axis.o / 1000.0,
            axis.d / 1000.0
        ));
    }
}

/// The product of the lengths of the axes.
pub fn count(axes: &[Axis]) -> usize {
    axes.iter().map(|axis| axis.n).product()
}

/// A vector of zeros.
///
/// # Errors
/// Returns an error if there is not enough memory, for instance because of a wrong header or a mistyped
/// parameter.
pub fn room<T: Element>(elements: usize) -> Result<Vec<T>> {
    let mut values = reserved(elements)?;
    values.resize(elements, T::zeroed());
    Ok(values)
}

/// Checks that memory could hold `elements` elements, and releases it.
///
/// # Errors
/// Returns an error if there is not enough memory.
pub fn ensure_room<T: Element>(elements: usize) -> Result<()> {
    reserved::<T>(elements).map(drop)
}

fn reserved<T: Element>(elements: usize) -> Result<Vec<T>> {
    let mut values = Vec::new();
    let taken = values.try_reserve_exact(elements);
    taken.with_context(|| format!("there is not enough memory for {elements} elements at once"))?;
    Ok(values)
}

/// Copies the next `elements` elements.
pub fn copy<T: Element>(input: &mut Input, output: &mut Output, elements: u64) -> Result<()> {
    let mut buffer = vec![T::zeroed(); elements.min(PIECE as u64) as usize];
    let mut left = elements;
    while left > 0 {
        let now = left.min(buffer.len() as u64) as usize;
        input.read(&mut buffer[..now])?;
        output.write(&buffer[..now])?;
        left -= now as u64;
    }
    Ok(())
}

/// Reads the remaining elements in pieces, changes each piece in place and writes it.
pub fn map<T: Element>(
    input: &mut Input,
    output: &mut Output,
    mut change: impl FnMut(&mut [T]),
) -> Result<()> {
    let mut buffer = vec![T::zeroed(); input.remaining().min(PIECE as u64) as usize];
    while input.remaining() > 0 {
        let now = input.remaining().min(buffer.len() as u64) as usize;
        input.read(&mut buffer[..now])?;
        change(&mut buffer[..now]);
        output.write(&buffer[..now])?;
    }
    Ok(())
}

/// Writes `elements` zeros.
pub fn zeros<T: Element>(output: &mut Output, elements: u64) -> Result<()> {
    let buffer = vec![T::zeroed(); elements.min(PIECE as u64) as usize];
    let mut left = elements;
    while left > 0 {
        let now = left.min(buffer.len() as u64) as usize;
        output.write(&buffer[..now])?;
        left -= now as u64;
    }
    Ok(())
}

/// Writes all axes to the header.
pub fn write_axes(output: &mut Output, axes: &[Axis]) {
    for (i, axis) in axes.iter().enumerate() {
        output.set_axis(i + 1, axis);
    }
}

/// Writes the undeclared keys of the command line for which `is_key` is true to the header, as `sfput` does. Warns of
/// a key that is unusual in headers, because it may be a mistyped parameter.
/// Under RSF_STRICT=1, returns an error for a key that is one letter away from a parameter.
pub fn put_keys(job: &Job, output: &mut Output, is_key: impl Fn(&str) -> bool) -> Result<()> {
    for (key, value) in job.keys().iter().filter(|(key, _)| is_key(key)) {
        let name = key.trim_end_matches(|c: char| c.is_ascii_digit());
        let usual = matches!(name, "o" | "d" | "label" | "unit" | "title");
        let unknown = format!("{key}= is not a parameter of this program");
        match job.slip_of(key) {
            _ if usual => {}
            Some(meant) => {
                let meant = format!("did you mean {meant}= ?");
                job.refuse_word(&format!("{unknown} ({meant}); sfput writes it to a header"))?;
                job.warn(&format!(
                    "{unknown}: it is written to the header ({meant}); RSF_STRICT=1 makes this an error"
                ));
            }
            None => job.warn(&format!("{unknown}: it is written to the header")),
        }
        output.put_raw(key, &value.to_string_lossy());
    }
    Ok(())
}

/// Warns of numbered parameters of axes after the `last` one, unless their values are `idle`, which has no
/// effect in any case.
pub fn warn_of_axes_beyond(
    job: &Job,
    last: usize,
    names: &[&str],
    idle: impl Fn(&str, usize) -> Result<bool>,
) -> Result<()> {
    for i in last + 1..=MAX_AXES {
        for name in names {
            let key = format!("{name}{i}");
            if job.given(&key) && !idle(&key, i)? {
                job.warn(&format!(
                    "{key}= has no effect: there {}",
                    if last == 1 {
                        "is one axis".to_string()
                    } else {
                        format!("are {last} axes")
                    }
                ));
            }
        }
    }
    Ok(())
}

/// Advances an index on some axes, the first axis fastest; returns false when it wraps around to the beginning.
pub fn step(place: &mut [usize], axes: &[Axis]) -> bool {
    for (at, axis) in place.iter_mut().zip(axes) {
        *at += 1;
        if *at < axis.n {
            return true;
        }
        *at = 0;
    }
    false
}

/// Checks that two datasets have the same type and the same lengths of all axes except axis `except` (counted from 1).
/// Warns of different origins and samplings.
///
/// # Errors
/// Returns an error if the types or the lengths differ.
pub fn agree(job: &Job, first: &Input, other: &Input, except: Option<usize>) -> Result<()> {
    let (kind, second) = (first.format().kind, other.format().kind);
    ensure!(
        kind == second,
        "{} holds {} data and {} holds {} data: all datasets must have the same type (sfdd converts)",
        first.name(),
        kind.word(),
        other.name(),
        second.word()
    );
    let rank = shape(first)?.len().max(shape(other)?.len());
    for i in (1..=rank).filter(|i| Some(*i) != except) {
        let (a, b) = (first.axis(i), other.axis(i));
        ensure!(
            a.n == b.n,
            "n{i}={} in {} and n{i}={} in {}: the lengths must be equal",
            a.n,
            first.name(),
            b.n,
            other.name()
        );
        let far = |a: f32, b: f32| (a - b).abs() > 1e-3 * first.axis(i).d.abs();
        for (key, a, b) in [("o", a.o, b.o), ("d", a.d, b.d)] {
            if far(a, b) {
                job.warn(&format!(
                    "{key}{i}={a} in {} and {key}{i}={b} in {}: the first is used",
                    first.name(),
                    other.name()
                ));
            }
        }
    }
    Ok(())
}

/// Checks that a file of values for the data, which has the right number of values, has its axes in the same order as
/// the data. It lacks axis `lacking` of the data (1 if it has one value for each trace, 0 if it has all axes). Axes of
/// one sample do not count, and axes may be joined, as in a list of all traces.
///
/// # Errors
/// Returns an error if axis 1 has another number of samples, unless the file lacks it, or if the axes are in another
/// order.
pub fn in_order(file: &Input, data: &Input, lacking: usize) -> Result<()> {
    let (n, expected) = (file.axis(1).n, data.axis(1).n);
    if lacking != 1 && n != expected {
        let way = match (2..=file.rank()).find(|number| file.axis(*number).n == expected) {
            Some(number) => format!("sftransp plane=1{number} exchanges axes 1 and {number} of the file"),
            None => "sftransp exchanges the axes of a file, and sfremap1 resamples axis 1".into(),
        };
        bail!(
            "{} has n1={n}, but {} has n1={expected}: axis 1 of both must be the same ({way})",
            file.name(),
            data.name()
        );
    }
    let long = |input: &Input, lacking: usize| -> Vec<(usize, usize)> {
        let axes = input.long_axes().into_iter();
        axes.filter(|(number, _)| *number != lacking).collect()
    };
    let lengths = |axes: &[(usize, usize)]| -> Vec<usize> { axes.iter().map(|(_, n)| *n).collect() };
    let sorted = |axes: &[(usize, usize)]| {
        let mut lengths = lengths(axes);
        lengths.sort_unstable();
        lengths
    };
    let (own, theirs) = (long(file, 0), long(data, lacking));
    ensure!(
        lengths(&own) == lengths(&theirs) || sorted(&own) != sorted(&theirs),
        "{} has {}, but {} has {}: the axes of both must be in the same order (sftransp exchanges axes)",
        file.name(),
        rsf_io::lengths_in_words(&own),
        data.name(),
        rsf_io::lengths_in_words(&theirs)
    );
    Ok(())
}

/// Checks the type of a dataset.
///
/// # Errors
/// Returns an error if the type is not `kind`.
pub fn expect(input: &Input, kind: Kind) -> Result<()> {
    let given = input.format().kind;
    ensure!(
        given == kind,
        "{} holds {} data, but {} data are needed ({})",
        input.name(),
        given.word(),
        kind.word(),
        given.to(kind)
    );
    Ok(())
}

/// Reads `count` elements of any type as real numbers, two for each complex number.
pub fn read_as_f64(input: &mut Input, count: usize, numbers: &mut Vec<f64>) -> Result<()> {
    fn read<T: Element>(
        input: &mut Input,
        count: usize,
        numbers: &mut Vec<f64>,
        to: impl Fn(T) -> f64,
    ) -> Result<()> {
        let mut values = vec![T::zeroed(); count];
        input.read(&mut values)?;
        numbers.clear();
        numbers.extend(values.into_iter().map(to));
        Ok(())
    }
    match input.format().kind {
        Kind::Float => read(input, count, numbers, |x: f32| f64::from(x)),
        Kind::Int => read(input, count, numbers, |x: i32| f64::from(x)),
        Kind::Short => read(input, count, numbers, |x: i16| f64::from(x)),
        Kind::Long => read(input, count, numbers, |x: i64| x as f64),
        Kind::Double => read(input, count, numbers, |x: f64| x),
        Kind::Uchar => read(input, count, numbers, |x: u8| f64::from(x)),
        Kind::Char => read(input, count, numbers, |x: u8| f64::from(x as i8)),
        Kind::Complex => {
            let mut values = vec![[0.0f32; 2]; count];
            input.read_complex(&mut values)?;
            numbers.clear();
            numbers.extend(values.as_flattened().iter().map(|x| f64::from(*x)));
            Ok(())
        }
    }
}

/// Text on standard output. A reader that closes the pipe early (`| head`) is not an error.
pub struct Printer {
    sink: BufWriter<Stdout>,
    open: bool,
}

impl Printer {
    /// A printer that has not written anything.
    pub fn stdout() -> Self {
        Self {
            sink: BufWriter::new(stdout()),
            open: true,
        }
    }

    /// Writes text and a line break.
    pub fn line(&mut self, text: &str) -> Result<()> {
        self.bytes(format!("{text}\n").as_bytes())
    }

    /// Writes text unchanged.
    pub fn bytes(&mut self, text: &[u8]) -> Result<()> {
        let done = if self.open {
            self.sink.write_all(text)
        } else {
            Ok(())
        };
        self.check(done)
    }

    /// Flushes the buffer.
    ///
    /// # Errors
    /// Returns an error if standard output was closed when the program began, or cannot be written to.
    pub fn finish(mut self) -> Result<()> {
        rsf_io::ensure_stdout("file.txt")?;
        let done = if self.open { self.sink.flush() } else { Ok(()) };
        self.check(done)
    }

    fn check(&mut self, done: std::io::Result<()>) -> Result<()> {
        match done {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.open = false;
                Ok(())
            }
            other => other.context("cannot write to standard output"),
        }
    }
}

/// Copies all elements; numbers in text form keep their digits.
pub fn copy_all(input: &mut Input, output: &mut Output) -> Result<()> {
    let (format, elements) = (input.format(), input.remaining());
    if !format.is_binary() {
        let text = input.text_left()?;
        return Ok(output.write_text(&text, elements)?);
    }
    by_kind!(format.kind, copy(input, output, elements))
}
