//! The data that linearised shots use: the data with which their records are compared, or the data on which the
//! transpose acts.

use crate::modelling::checksum::Checksum;
use crate::modelling::observed::of_shot;
use crate::modelling::picks::Picks;
use rsf_io::{Input, Job};
use std::sync::{Mutex, PoisonError};

/// The data of several shots, and checksums of every input for each of them.
type Given = (Vec<Vec<f32>>, Vec<Vec<u64>>);

/// The data of a survey and further inputs of the same shape, such as weights, which several readers share.
pub struct Records {
    inputs: Mutex<Vec<Input>>,
    /// The number of values of a shot.
    count: usize,
    picks: Picks,
    names: Vec<String>,
}

impl Records {
    /// Records from inputs that contain the picked shots, or all shots of the survey, with `count` numbers each. With
    /// `several` readers, shots are read in any order.
    ///
    /// # Errors
    /// Returns an error for an input that cannot be read by position and cannot be copied into a temporary
    /// file.
    pub fn new(
        job: &mut Job,
        inputs: Vec<Input>,
        picks: &Picks,
        (count, several): (usize, bool),
    ) -> anyhow::Result<Self> {
        let names = inputs.iter().map(Input::name).collect();
        let inputs = inputs.into_iter().map(|input| match several {
            true => Ok(job.by_position(input)?),
            false => Ok(input),
        });
        Ok(Self {
            inputs: Mutex::new(inputs.collect::<anyhow::Result<_>>()?),
            count,
            picks: picks.clone(),
            names,
        })
    }

    /// Names of the inputs.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The numbers of several shots (for each shot, the numbers of all inputs one after another), and their checksums.
    pub fn of_shots(&self, numbers: &[usize]) -> anyhow::Result<Given> {
        let (mut all, mut sums) = (Vec::new(), Vec::new());
        for &number in numbers {
            let (given, of_shot) = self.shot(number)?;
            all.push(given.concat());
            sums.push(of_shot);
        }
        Ok((all, sums))
    }

    /// The numbers of a shot in every input, and their checksums. A pipe or text must be read in order.
    pub fn shot(&self, number: usize) -> anyhow::Result<(Vec<Vec<f32>>, Vec<u64>)> {
        let mut inputs = self.inputs.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut all, mut sums) = (Vec::new(), Vec::new());
        for input in inputs.iter_mut() {
            let values = of_shot(input, &self.picks, self.count, number)?;
            sums.push(Checksum::new().with(&values).end());
            all.push(values);
        }
        Ok((all, sums))
    }
}
