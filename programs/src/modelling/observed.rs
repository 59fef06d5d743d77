//! Observed data: the misfit with which they are compared, their weights, and the times and shots in their
//! headers.

use super::acquisition::finite;
use super::exact_time::CLOCK;
use super::picks::Picks;
use anyhow::ensure;
use kernels::misfit::Misfit;
use rsf_io::{Axis, Input, Job, Output, lengths_in_words};

/// The misfit of records and data, by `kind=`.
pub fn kind(job: &Job) -> anyhow::Result<Misfit> {
    Ok(match job.choice("kind")? {
        "correlation" => Misfit::Correlation,
        "envelope" => Misfit::Envelope,
        _ => Misfit::Squares,
    })
}

/// The file of `weight=`, if there is one.
///
/// # Errors
/// Returns an error if the number of values or the axes differ from those of the data.
pub fn weight(job: &mut Job, data: &Input) -> anyhow::Result<Option<Input>> {
    if !job.has_input("weight") {
        return Ok(None);
    }
    let weight = job.input("weight")?;
    ensure!(
        weight.len() == data.len(),
        "{} has {} values, but the data have {}: weights need one value for each",
        weight.name(),
        weight.len(),
        data.len()
    );
    let (own, theirs) = (weight.long_axes(), data.long_axes());
    ensure!(
        own.iter().map(|(_, n)| n).eq(theirs.iter().map(|(_, n)| n)),
        "{} has {}, but {} has {}: weights need the axes of the data in the same order, receivers, components, \
        time[, shots] (sftransp exchanges axes)",
        weight.name(),
        lengths_in_words(&own),
        data.name(),
        lengths_in_words(&theirs)
    );
    Ok(Some(weight))
}

/// The `count` numbers of a shot, from a file of the picked shots or of all shots.
pub fn of_shot(input: &mut Input, picks: &Picks, count: usize, shot: usize) -> anyhow::Result<Vec<f32>> {
    let place = match input.len() == (picks.whole() * count) as u64 {
        true => picks.number(shot) - 1,
        false => shot,
    };
    finite(input, (place * count) as u64, count)
}

/// Warns of data in exact time if the run has the time of its steps.
pub fn warn_of_clock(job: &Job, data: &Input, exact: bool) {
    if data.header().text(CLOCK).is_some() && !exact {
        job.warn(&format!(
            "{} has exact time, but the waves of this run have the time of their steps: tdc=y gives them exact time, \
            too",
            data.name()
        ));
    }
}

/// The times at which the records of a run are taken, in s.
pub struct Recorded {
    /// The time at which the run begins, and the time of its first record.
    pub begin: f64,
    pub first: f64,
    /// The time step.
    pub dt: f64,
    /// The number of steps of the run, and the number from record to record.
    pub steps: usize,
    pub jdata: usize,
}

/// The times of data, in s.
#[derive(Clone, Copy)]
pub struct DataTimes {
    pub first: f64,
    pub step: f64,
    pub count: usize,
}

impl DataTimes {
    /// The times of the third axis of the data.
    pub fn of(data: &Input) -> Self {
        let Axis { n, o, d, .. } = data.axis(3);
        // These are the decimal numbers of the header, not the nearest single-precision numbers.
        let [first, step] = [o, d].map(|x| format!("{x}").parse().unwrap_or(f64::from(x)));
        Self {
            first,
            step,
            count: n,
        }
    }
}

/// The way in which records become data.
#[derive(Clone, Copy)]
pub enum DataSampling {
    /// All records are the data.
    AsTheyAre,
    /// The first records are the data, which end before the run.
    OfTheFirst(DataTimes),
    /// The records are resampled to the times of the data.
    Resampled(DataTimes),
}

/// The way in which the records of a run become data, by the times in the header of the data.
///
/// # Errors
/// Returns an error if the data have more samples than the run has records at the same times, if their times are
/// invalid, or if they extend beyond the end of the run.
pub fn times(job: &Job, data: &Input, run: &Recorded) -> anyhow::Result<DataSampling> {
    let times @ DataTimes {
        first: o,
        step: d,
        count: n,
    } = DataTimes::of(data);
    let (name, step) = (data.name(), run.dt * run.jdata as f64);
    if (d - step).abs() <= 1e-3 * step && (o - run.first).abs() <= 0.1 * run.dt {
        let records = run.steps.div_ceil(run.jdata);
        ensure!(
            n <= records,
            "{name} has n3={n} records, but this run has {records} at the same times: give nt={} or more, or \
            cut the data with sfwindow n3={records}",
            (n - 1) * run.jdata + 1
        );
        return Ok(match n < records {
            true => DataSampling::OfTheFirst(times),
            false => DataSampling::AsTheyAre,
        });
    }
    ensure!(
        !job.given("jdata"),
        "{name} has o3={o} d3={d}, and with jdata={} the records of this run begin at {} s and are {} s \
        apart: leave out jdata=, and they are resampled to the times of the data",
        run.jdata,
        run.first as f32,
        step as f32
    );
    ensure!(
        d > 0.0 && d.is_finite() && o.is_finite(),
        "{name} has o3={o} d3={d}: its third axis must be time in s, with d3 above 0"
    );
    ensure!(
        o >= run.begin - 0.5 * d.max(run.dt),
        "{name} begins at {o} s but this run at {} s: if its times are relative to another time, such as the \
        middle of a wavelet or the origin time of an earthquake, sfput o3= makes them times of the run; \
        otherwise sfwindow min3={} removes the earlier records",
        run.begin as f32,
        run.begin as f32
    );
    let (last, whole) = (o + (n as f64 - 1.0) * d, run.begin + run.steps as f64 * run.dt);
    ensure!(
        last <= whole + 1e-3 * run.dt,
        "{name} ends at {} s (n3={n} o3={o} d3={d}) but this run at {} s: give nt={} or more, or cut the \
        data with sfwindow n3={}",
        last as f32,
        whole as f32,
        ((last - run.begin) / run.dt * (1.0 - 1e-9)).ceil(),
        lost_times(run, &times, step)
    );
    Ok(DataSampling::Resampled(times))
}

/// Advice for data that end after the run and have as many records as the run, or a header without times:
/// their header has lost its times, as happens with plain arrays.
fn lost_times(run: &Recorded, times: &DataTimes, step: f64) -> String {
    if times.count != run.steps.div_ceil(run.jdata) {
        return match (times.first, times.step) {
            (0.0, 1.0) => {
                ". Their header seems to have no times (o3=0 d3=1): sfput o3= d3= sets them".to_string()
            }
            _ => String::new(),
        };
    }
    let [step, first] = [step as f32, run.first as f32];
    format!(
        ". The data have as many records as this run: if they were recorded by its steps, sfput o3={first} d3={step} gives them its times"
    )
}

/// The error message for data that do not have the axes of a survey: receivers, components, times and shots. `expected`
/// contains the numbers of receivers and components, and `shots` the numbers of shots of the run and of the whole
/// survey.
pub fn of_another_survey(data: &Input, what: &str, expected: [usize; 2], shots: [usize; 2]) -> String {
    let lengths = [1, 2, 3, 4].map(|i| data.axis(i).n);
    let of_shots = match shots {
        [1, 1] => String::new(),
        [run, whole] if run == whole => format!(", n4={run} shots"),
        [run, whole] => format!(", n4={run} shots (or all {whole})"),
    };
    let [receivers, components] = expected;
    let hint = match turned(lengths, expected, shots) {
        Some(words) => format!(
            ". These seem to be such data with their axes in another order: {words} \
            transposes them"
        ),
        None if lengths[..2] == expected && lengths[3] < shots[0] => {
            let example = if lengths[3] == 1 {
                "1".into()
            } else {
                format!("1-{}", lengths[3])
            };
            format!(". shots= names the shots that the data hold, as in shots={example}")
        }
        None if lengths[0] == receivers && lengths[1] < components => format!(
            ". The components are z, x and, in 3-D, y: add zeros for those that were not recorded, as sfpad \
            n2={components} does after the vertical one (if data are compared, give these a weight= of 0, as \
            sfmath output=1-x2 computes it from the data, because otherwise the modelled components count as \
            misfit); data=pressure has one component"
        ),
        None => String::new(),
    };
    format!(
        "{} has n1={} n2={} n3={} n4={} and {} values; {what} takes data of this survey: n1={receivers} receivers, n2={components} components, n3 times{of_shots}{hint}",
        data.name(),
        lengths[0],
        lengths[1],
        lengths[2],
        lengths[3],
        data.len()
    )
}

/// The programs that bring data with these axes into the order receiver, component, time, shot, if the data
/// have these axes in another order.
fn turned(n: [usize; 4], [receivers, components]: [usize; 2], shots: [usize; 2]) -> Option<&'static str> {
    let (is_receivers, is_components) = (|i: usize| n[i] == receivers, |i: usize| n[i] == components);
    let counts_shots = |i: usize| shots.contains(&n[i]);
    let without_components = components == 1 && counts_shots(2) && n[3] == 1;
    if is_components(1) && is_receivers(2) && counts_shots(3) {
        Some("sftransp plane=13")
    } else if is_receivers(1) && is_components(2) && counts_shots(3) {
        Some("sftransp plane=12 | sftransp plane=23")
    } else if is_receivers(1) && without_components {
        Some("sftransp plane=12 | sfspray axis=2 n=1")
    } else if is_receivers(0) && is_components(2) && counts_shots(3) {
        Some("sftransp plane=23")
    } else if is_receivers(0) && without_components {
        Some("sfspray axis=2 n=1")
    } else if is_components(0) && is_receivers(1) && counts_shots(3) {
        Some("sftransp plane=12")
    } else {
        None
    }
}

/// The fraction of the largest value of a shot below which a trace may be the rounding noise of a run in
/// single precision.
const FAINT: f32 = 1e-6;

/// The contribution of the data of a shot to the misfit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contribution {
    /// All samples with a weight are zero.
    Zero,
    /// All weights are zero.
    Unweighted,
    /// Some samples with a weight are not zero; `faint` is the number of traces that are not zero, but below
    /// [`FAINT`] of the largest value.
    Nonzero { faint: u64 },
}

impl Contribution {
    /// Classifies data `[sample][trace]`, where `traces` is the number of traces.
    pub fn of(values: &[f32], weight: Option<&[f32]>, traces: usize) -> Self {
        if weight.is_some_and(|weight| weight.iter().all(|w| *w == 0.0)) {
            return Self::Unweighted;
        }
        let mut largest = vec![0.0f32; traces.max(1)];
        for (i, value) in values.iter().enumerate() {
            let weight = weight.map_or(1.0, |weight| weight.get(i).map_or(0.0, |w| w.abs()));
            let most = &mut largest[i % traces.max(1)];
            *most = most.max(value.abs() * weight);
        }
        let most = largest.iter().copied().fold(0.0, f32::max);
        let is_faint = |size: &&f32| **size > 0.0 && **size < FAINT * most;
        match most > 0.0 {
            true => Self::Nonzero {
                faint: largest.iter().filter(is_faint).count() as u64,
            },
            false => Self::Zero,
        }
    }

    /// The contribution as a number, for sums over shots and saved states.
    pub fn code(self) -> u64 {
        match self {
            Self::Zero => 0,
            Self::Unweighted => 1,
            Self::Nonzero { faint } => 2 + faint,
        }
    }

    /// The contribution with this code.
    fn of_code(code: u64) -> Self {
        match code {
            0 => Self::Zero,
            1 => Self::Unweighted,
            _ => Self::Nonzero { faint: code - 2 },
        }
    }
}

/// Warns of shots, by their numbers in the survey, whose data do not contribute, and of noise that contributes. `codes`
/// has the code of the [`Contribution`] of each shot.
pub fn warn_of_silent_data(job: &Job, codes: &[u64], picks: &Picks) -> anyhow::Result<()> {
    let contributions: Vec<Contribution> = codes.iter().map(|code| Contribution::of_code(*code)).collect();
    if let Some(whose) = whose_data(
        &contributions,
        |contribution| contribution == Contribution::Unweighted,
        picks,
    ) {
        job.warn(&format!(
            "all weights of {whose} are zero: they add nothing to misfit and gradient"
        ));
    }
    let correlates = job.choice("kind")? == "correlation";
    let effect = match correlates {
        true => {
            "kind=correlation ignores traces that are zero, so that they add nothing to misfit and gradient"
        }
        false => "their misfit is due to the modelled records alone",
    };
    if let Some(whose) = whose_data(
        &contributions,
        |contribution| contribution == Contribution::Zero,
        picks,
    ) {
        let place = if job.given("weight") {
            "wherever they have a weight"
        } else {
            "everywhere"
        };
        job.warn(&format!("{whose} are zero {place}: {effect}"));
    }
    let is_noisy = |contribution| matches!(contribution, Contribution::Nonzero { faint } if faint > 0);
    if let Some(whose) = whose_data(&contributions, is_noisy, picks).filter(|_| correlates) {
        job.warn(&format!(
            "some traces in {whose} stay below a millionth of the largest value of their shot, which may be \
            rounding noise, and kind=correlation counts them as much as all others: give them the weight 0 \
            (weight=) if they are noise"
        ));
    }
    Ok(())
}

/// The data of the shots for which `is` is true, in words.
fn whose_data(
    contributions: &[Contribution],
    is: impl Fn(Contribution) -> bool,
    picks: &Picks,
) -> Option<String> {
    let shots = (0..contributions.len()).filter(|shot| is(contributions[*shot]));
    let numbers: Vec<usize> = shots.map(|shot| picks.number(shot)).collect();
    match numbers[..] {
        [] => None,
        _ if numbers.len() == contributions.len() => Some("the data".to_string()),
        [one] => Some(format!("the data of shot {one}")),
        [first, ..] => Some(format!(
            "the data of {} shots (the first is {first})",
            numbers.len()
        )),
    }
}

/// Sets the quantity of an output, whose history contains the quantity of the data.
pub fn name(output: &mut Output, label: &str, quantity: &str) {
    for (key, text) in [("quantity", quantity), ("label", label), ("unit", "")] {
        output.put_text(key, text);
    }
}

/// Sets the quantity of an output that contains a gradient.
pub fn name_gradient(output: &mut Output) {
    name(output, "Derivative of the misfit", "derivative of the misfit");
}

/// Sets the quantity of an output that contains the transpose applied to data.
pub fn name_transposed(output: &mut Output) {
    name(
        output,
        "Transposed data",
        "transpose of linearised modelling, applied to data",
    );
}

/// Writes the misfit of every shot.
pub fn write_misfits(mut file: Output, shots: &Axis, misfits: &[f64]) -> anyhow::Result<()> {
    name(&mut file, "Misfit", "misfit of every shot");
    file.set_axis(1, shots);
    file.end_axes(1);
    let values: Vec<f32> = misfits.iter().map(|&x| x as f32).collect();
    file.write_f32(&values)?;
    Ok(file.finish()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The run has four receivers, two components, nine times and three shots. Data of one component may lack
    /// the axis of components.
    #[test]
    fn axes_of_data_are_turned_into_their_order() {
        let of = |n: [usize; 4]| turned(n, [4, 2], [3, 5]);
        assert_eq!(of([9, 2, 4, 3]), Some("sftransp plane=13"));
        assert_eq!(of([9, 4, 2, 3]), Some("sftransp plane=12 | sftransp plane=23"));
        assert_eq!(of([4, 9, 2, 3]), Some("sftransp plane=23"));
        assert_eq!(of([2, 4, 9, 3]), Some("sftransp plane=12"));
        // Data of all shots of the survey are recognised, too; data of another number of shots are not.
        assert_eq!(of([2, 4, 9, 5]), Some("sftransp plane=12"));
        assert_eq!(of([2, 4, 9, 4]), None);
        assert_eq!(of([9, 9, 4, 3]), None);
        let of = |n: [usize; 4]| turned(n, [4, 1], [3, 3]);
        assert_eq!(of([9, 4, 3, 1]), Some("sftransp plane=12 | sfspray axis=2 n=1"));
        assert_eq!(of([4, 9, 3, 1]), Some("sfspray axis=2 n=1"));
        assert_eq!(of([4, 9, 2, 1]), None);
    }

    #[test]
    fn data_count_where_a_weight_lets_them() {
        let (some, faint) = (
            Contribution::Nonzero { faint: 0 },
            Contribution::Nonzero { faint: 1 },
        );
        assert_eq!(Contribution::of(&[0.0, -1e-30], None, 1), some);
        assert_eq!(Contribution::of(&[0.0, -0.0], None, 2), Contribution::Zero);
        assert_eq!(Contribution::of(&[0.0, 2.0], Some(&[0.0, 0.5]), 1), some);
        assert_eq!(
            Contribution::of(&[3.0, 0.0], Some(&[0.0, 0.5]), 1),
            Contribution::Zero
        );
        assert_eq!(
            Contribution::of(&[3.0, 0.0], Some(&[0.0, 0.0]), 1),
            Contribution::Unweighted
        );
        assert_eq!(Contribution::of(&[], None, 1), Contribution::Zero);
        // There are two samples of three traces, of which the last is zero and the second is faint without
        // its weight.
        let values = [1.0, 1e-7, 0.0, -3.0, 2e-6, 0.0];
        assert_eq!(Contribution::of(&values, None, 3), faint);
        assert_eq!(
            Contribution::of(&values, Some(&[1.0, 1e3, 1.0, 1.0, 1e3, 1.0]), 3),
            some
        );
        for contribution in [some, faint, Contribution::Zero, Contribution::Unweighted] {
            assert_eq!(Contribution::of_code(contribution.code()), contribution);
        }
    }

    /// Data with as many records as the run that end after it have lost their times: the header has no times, or wrong
    /// times.
    #[test]
    fn lost_times_are_named_with_those_of_the_run() {
        let run = Recorded {
            begin: 0.0,
            first: 0.0005,
            dt: 0.001,
            steps: 61,
            jdata: 2,
        };
        let times = |first: f64, step: f64, count: usize| DataTimes { first, step, count };
        let words = lost_times(&run, &times(0.0, 0.004, 31), 0.002);
        assert!(
            words.contains("as many records as this run")
                && words.ends_with("sfput o3=0.0005 d3=0.002 gives them its times"),
            "{words}"
        );
        let words = lost_times(&run, &times(0.0, 1.0, 30), 0.002);
        assert!(words.contains("seems to have no times"), "{words}");
        assert_eq!(lost_times(&run, &times(0.0, 0.004, 30), 0.002), "");
        assert_eq!(lost_times(&run, &times(0.5, 1.0, 30), 0.002), "");
    }
}
