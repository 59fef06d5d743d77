//! Shots that an earlier run of a survey has finished: `finished=`.

mod inputs;

use crate::modelling::exact_time::CLOCK;
use crate::modelling::settings::{self, SETTINGS};
use crate::modelling::spreads::Spreads;
use crate::modelling::words::counted;
use anyhow::{Context, bail, ensure};
use rsf_io::{Axis, Input, Job};
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

pub use inputs::InputChecksums;

/// The number of values that are read together.
const LOOK: usize = 1 << 16;

/// The axis of the shots.
const SHOTS: usize = 4;

/// The largest number of differences that a message lists.
const MOST_DIFFERENCES: usize = 3;

/// The meaning of finished=, for the end of a message.
const TAKES: &str = "finished= takes the data of an earlier run of the survey";

/// A file of a survey's data.
pub struct DataFile {
    /// Its quantity, as in the header.
    pub words: &'static str,
    /// The parameter that names it; `None` for standard output.
    pub key: Option<&'static str>,
    /// Axes of a shot.
    pub axes: [Axis; 3],
}

impl DataFile {
    /// The number of values of a shot.
    fn numbers(&self) -> usize {
        self.axes.iter().map(|axis| axis.n).product()
    }
}

/// A file of an earlier run.
struct Held {
    input: Input,
    /// The number of values of a shot.
    numbers: usize,
    /// The index in the file of each shot of this run; `None` if the file does not have it.
    places: Vec<Option<usize>>,
}

/// The data of an earlier run.
#[derive(Default)]
pub struct Finished {
    /// One file per quantity.
    files: Vec<Held>,
    /// The shots that need not be computed again, in ascending order.
    pub shots: Vec<usize>,
}

impl Finished {
    /// Opens the files of `finished=`, which must be data like this run's, with the shots of `spreads` along the last
    /// axis. The first file corresponds to standard output; the others are recognised by the quantities in their
    /// headers. `exact` says whether this run has exact time, and `checksums` identifies its shots.
    pub fn open(
        job: &mut Job,
        quantities: &[DataFile],
        ((spreads, exact), checksums): ((&Spreads, bool), &InputChecksums),
    ) -> anyhow::Result<Self> {
        let Some(text) = job.text("finished")? else {
            return Ok(Self::default());
        };
        // A run that was killed leaves fewer numbers than its header says, perhaps none.
        job.accept_cut_along(SHOTS);
        let mut inputs = Vec::new();
        for path in named(&text) {
            ensure!(
                !fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() == 0),
                "finished={path} is empty. Either the earlier run ended before its first shot was complete, \
                and finished= must be left out; or the file is also the output of this run, which the shell \
                empties before the program starts, and the output needs another name"
            );
            inputs.push(
                job.open_as(format!("finished={path}"), OsStr::new(path))
                    .context(TAKES)?,
            );
        }
        let mut files = Vec::new();
        for (k, quantity) in quantities.iter().enumerate() {
            let input = chosen(&mut inputs, quantity, k)?;
            let places = held(&input, quantity, spreads)?;
            same_settings(job, &input)?;
            same_clock(&input, exact)?;
            checksums.compare(job, &input, &places)?;
            files.push(Held {
                input: job.by_position(input)?,
                numbers: quantity.numbers(),
                places,
            });
        }
        if let Some(rest) = inputs.first() {
            bail!(
                "{} is not a file of this run, which writes {}: leave it out",
                rest.name(),
                listed(quantities)
            );
        }
        let mut finished = Self {
            files,
            shots: Vec::new(),
        };
        for number in 0..spreads.count() {
            let is_there = finished.files.iter().all(|file| file.places[number].is_some());
            if is_there && finished.has_data(number)? {
                finished.shots.push(number);
            }
        }
        Ok(finished)
    }

    /// Whether a shot has values other than zero; a shot of zeros has failed.
    fn has_data(&self, number: usize) -> anyhow::Result<bool> {
        for file in &self.files {
            let mut values = vec![0.0; LOOK.min(file.numbers)];
            for first in (0..file.numbers).step_by(LOOK) {
                let count = LOOK.min(file.numbers - first);
                file.read(number, first, &mut values[..count])?;
                if values[..count].iter().any(|&x| x != 0.0) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// The data of a shot that is finished, by quantity.
    pub fn of(&self, shot: usize) -> anyhow::Result<Vec<Vec<f32>>> {
        let whole = |file: &Held| {
            let mut values = vec![0.0; file.numbers];
            file.read(shot, 0, &mut values)?;
            Ok(values)
        };
        self.files.iter().map(whole).collect()
    }

    /// The numbers of the shots, out of `shots`, that remain to be computed.
    pub fn todo(&self, shots: usize) -> Vec<usize> {
        (0..shots).filter(|shot| !self.shots.contains(shot)).collect()
    }
}

impl Held {
    /// Reads numbers of a shot, which the file must have, from its number `first` on.
    fn read(&self, shot: usize, first: usize, values: &mut [f32]) -> rsf_io::Result<()> {
        let place = self.places[shot].expect("a shot that the file has");
        let at = place as u64 * self.numbers as u64 + first as u64;
        self.input.read_f32_at(at, values)
    }
}

/// The files of a list. If it names only one file, the name may contain commas.
fn named(text: &str) -> Vec<&str> {
    match Path::new(text).exists() {
        true => vec![text],
        false => text.split(',').collect(),
    }
}

/// The file of quantity number `k` among the files that remain.
fn chosen(inputs: &mut Vec<Input>, quantity: &DataFile, k: usize) -> anyhow::Result<Input> {
    let is_it = |input: &Input| input.header().text("quantity").as_deref() == Some(quantity.words);
    let place = match k {
        0 => Some(0).filter(|_| !inputs.is_empty()),
        _ => inputs.iter().position(is_it),
    };
    match place {
        Some(place) => Ok(inputs.remove(place)),
        None => bail!(
            "finished= names no file with the {} of the earlier run, which {}= requires: name the data and \
            then the files of further quantities, as in finished=data.rsf,further.rsf, or leave out {}=",
            quantity.words,
            quantity.key.unwrap_or("data"),
            quantity.key.unwrap_or("data")
        ),
    }
}

/// The indices of the shots of this run in a file, which must contain this quantity of this survey.
fn held(input: &Input, quantity: &DataFile, spreads: &Spreads) -> anyhow::Result<Vec<Option<usize>>> {
    let name = input.name();
    let near = |a: f32, b: f32, d: f32| (a - b).abs() <= 1e-3 * d.abs();
    for (k, axis) in quantity.axes.iter().enumerate() {
        let i = k + 1;
        let own = input.axis(i);
        ensure!(
            own.n == axis.n && near(own.d, axis.d, axis.d) && near(own.o, axis.o, axis.d),
            "{name} has n{i}={} o{i}={} d{i}={}, but the {} of this run has n{i}={} o{i}={} d{i}={}: {TAKES}",
            own.n,
            own.o,
            own.d,
            match quantity.key {
                Some(_) => quantity.words,
                None => "data",
            },
            axis.n,
            axis.o,
            axis.d
        );
    }
    let listed = input.header().text("shots");
    let axes = [&input.axis(SHOTS), &spreads.axis];
    let mut places = spreads
        .picks
        .places_in(&name, listed.as_deref(), axes)
        .context(TAKES)?;
    let held = (input.len() / quantity.numbers().max(1) as u64) as usize;
    let whole = spreads.picks.whole();
    ensure!(
        held <= whole,
        "{name} has {}, but this survey has {whole}: {TAKES}",
        counted(held, "shot")
    );
    for place in &mut places {
        *place = place.filter(|place| *place < held);
    }
    Ok(places)
}

/// Refuses data of a run with other parameters, if their header lists them.
fn same_settings(job: &Job, input: &Input) -> anyhow::Result<()> {
    let Some(text) = input.header().text(SETTINGS) else {
        return Ok(());
    };
    let there: Vec<(&str, &str)> = text.split(' ').filter_map(|word| word.split_once('=')).collect();
    let here = settings::of(job)?;
    let mut differences = Vec::new();
    for (name, value) in &here {
        match there.iter().find(|(other, _)| other == name) {
            Some((_, other)) if other == value => {}
            Some((_, other)) => differences.push(format!("{name}= is {other} in it and {value} here")),
            None => differences.push(format!("{name}= is {value} here and not given in it")),
        }
    }
    for (name, value) in &there {
        if !here.iter().any(|(own, _)| own == name) {
            differences.push(format!("{name}= is {value} in it and not given here"));
        }
    }
    differences.truncate(MOST_DIFFERENCES);
    ensure!(
        differences.is_empty(),
        "{} comes from a run with other parameters: {}; {TAKES}",
        input.name(),
        differences.join("; ")
    );
    Ok(())
}

/// Refuses data with exact time if this run has the time of its steps, and the other way round.
fn same_clock(input: &Input, expected: bool) -> anyhow::Result<()> {
    let exact = input.header().text(CLOCK).is_some();
    let word = |exact| if exact { "tdc=y" } else { "tdc=n" };
    ensure!(
        exact == expected,
        "{} comes from a run with {}, but this one has {}: {TAKES}",
        input.name(),
        word(exact),
        word(expected)
    );
    Ok(())
}

/// The quantities in words, as in `velocity in m/s, pressure in Pa`.
fn listed(quantities: &[DataFile]) -> String {
    let words: Vec<&str> = quantities.iter().map(|quantity| quantity.words).collect();
    words.join(", ")
}
