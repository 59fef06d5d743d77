//! Several quantities of one run, and records at other times than those of the steps: `velocity=FILE` and the like, `dtout=`.

use crate::modelling::divide::{How, Made, When};
use crate::modelling::resample::Times;
use anyhow::{bail, ensure};
use kernels::methods::velocity_stress::{Quantity, Readings};
use rsf_io::{Axis, Job};

/// Quantities by the words for them, and what their numbers are.
pub const QUANTITIES: [(&str, Quantity, &str); 5] = [
    ("velocity", Quantity::Velocity, "velocity in m/s"),
    ("displacement", Quantity::Displacement, "displacement in m"),
    ("acceleration", Quantity::Acceleration, "acceleration in m/s2"),
    ("pressure", Quantity::Pressure, "pressure in Pa"),
    ("strain", Quantity::Strain, "strain"),
];

/// What receivers record, and what the user calls it.
pub fn of_data(job: &Job) -> anyhow::Result<(Quantity, &'static str)> {
    let text = job.text("data")?.unwrap_or_default();
    if let Some((first, rest)) = text.split_once(',') {
        let words: Vec<String> = rest.split(',').map(|word| format!("{word}={word}.rsf")).collect();
        bail!(
            "data={text}: standard output takes one quantity, and each further one goes into a file that is named by it: data={first} {}",
            words.join(" ")
        );
    }
    match QUANTITIES.iter().find(|(word, ..)| *word == text) {
        Some(&(_, quantity, words)) => Ok((quantity, words)),
        None => {
            let words = QUANTITIES.map(|(word, ..)| word);
            bail!("data={text}: receivers record {}", words.join(", "))
        }
    }
}

/// A quantity that is written.
pub struct Wanted {
    /// What it is.
    pub quantity: Quantity,
    /// In words.
    pub words: &'static str,
    /// The parameter that names its file; none of the data.
    pub key: Option<&'static str>,
}

/// Several quantities, or other times.
pub struct Several {
    /// The data first.
    pub wanted: Vec<Wanted>,
    /// What is read in every step.
    pub readings: Readings,
    steps: usize,
    dt: f64,
    jdata: usize,
    dtout: Option<f64>,
}

impl Several {
    /// What the command line asks for beside the `data` of one record in `jdata` steps; `None` where that is all.
    pub fn read(
        job: &Job,
        (quantity, words): (Quantity, &'static str),
        (steps, dt, jdata): (usize, f64, usize),
    ) -> anyhow::Result<Option<Self>> {
        let dtout = job.double_opt("dtout")?;
        let mut wanted = vec![Wanted {
            quantity,
            words,
            key: None,
        }];
        for (key, other, words) in QUANTITIES {
            if job.given(key) {
                ensure!(
                    other != quantity,
                    "{key}= names a file for what standard output has: leave it out, or say another data="
                );
                wanted.push(Wanted {
                    quantity: other,
                    words,
                    key: Some(key),
                });
            }
        }
        if wanted.len() == 1 && dtout.is_none() {
            return Ok(None);
        }
        let what = if dtout.is_some() {
            "dtout="
        } else {
            "more than one quantity"
        };
        for key in ["checkpoint", "resume"] {
            ensure!(
                !job.given(key),
                "{key}= goes with one quantity at the times of the steps, and {what} is asked for: leave out one of them"
            );
        }
        if let Some(step) = dtout {
            ensure!(
                !job.given("jdata"),
                "dtout= and jdata= both say which records are written: give one of them"
            );
            let whole = steps as f64 * dt;
            ensure!(
                step > 0.0 && step <= whole,
                "dtout={step}: it is the time from record to record in s, above 0 and not above the {whole} s of the run"
            );
        }
        let has = |quantities: &[Quantity]| wanted.iter().any(|w| quantities.contains(&w.quantity));
        Ok(Some(Self {
            readings: Readings {
                velocity: has(&[Quantity::Velocity, Quantity::Displacement, Quantity::Acceleration]),
                pressure: has(&[Quantity::Pressure]),
                strain: has(&[Quantity::Strain]),
                films_pressure: quantity == Quantity::Pressure,
            },
            wanted,
            steps,
            dt,
            jdata,
            dtout,
        }))
    }

    /// Which records of a quantity are written, and their axis.
    fn when(&self, quantity: Quantity) -> (When, Axis) {
        let first = quantity.first_time() * self.dt;
        let axis = |n, o: f64, d: f64| Axis::new(n, o as f32, d as f32).label("t").unit("s");
        let Some(step) = self.dtout else {
            let (n, d) = (self.steps.div_ceil(self.jdata), self.dt * self.jdata as f64);
            return (When::Every(self.jdata), axis(n, first, d));
        };
        // As many as there are until the end of the last step.
        let count = (self.steps as f64 * self.dt / step * (1.0 + 1e-9)) as usize + 1;
        let times = Times {
            first,
            dt: self.dt,
            step,
            count,
        };
        (When::At(times), axis(count, 0.0, step))
    }

    /// How a quantity of so many receivers is made, and the axis of its times.
    pub fn made(&self, quantity: Quantity, ndim: usize, receivers: usize) -> (Made, Axis) {
        let (read, how) = match quantity {
            Quantity::Displacement => (Quantity::Velocity, How::Sum),
            Quantity::Acceleration => (Quantity::Velocity, How::Difference),
            Quantity::Strain => (Quantity::Strain, How::Sum),
            other => (other, How::AsRead),
        };
        let before = self.readings.all().take_while(|&q| q != read);
        let from: usize = before.map(|q| q.components(ndim) * receivers).sum();
        let (when, axis) = self.when(quantity);
        let made = Made {
            numbers: from..from + read.components(ndim) * receivers,
            how,
            dt: self.dt,
            when,
        };
        (made, axis)
    }
}
