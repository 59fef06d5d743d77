//! How the records of a mesh are compared with data, and their weights.

use super::super::Run;
use super::readout::Readout;
use crate::modelling::observed;
use crate::modelling::picks::Picks;
use kernels::misfit::{Misfit, Observed};
use rsf_io::{Input, Job};

/// The data, and what is made of records before they are compared with them.
pub struct Compared {
    kind: Misfit,
    data: Input,
    weight: Option<Input>,
    /// Numbers of a shot.
    count: usize,
    picks: Picks,
    readout: Readout,
}

impl Compared {
    /// As the command line and the header of the data say.
    pub fn read<const D: usize>(job: &mut Job, run: &Run<D>, data: Input) -> anyhow::Result<Self> {
        let readout = Readout::of_data(job, run, &data)?;
        let weight = observed::weight(job, &data)?;
        Ok(Self {
            kind: observed::kind(job)?,
            count: (1..=3).map(|axis| data.axis(axis).n).product(),
            picks: run.spreads.picks.clone(),
            readout,
            data,
            weight,
        })
    }

    /// The data of a shot, with their weights, and whether any of them counts.
    pub fn observed(&mut self, shot: usize) -> anyhow::Result<(Observed<f32>, bool)> {
        let (count, picks) = (self.count, &self.picks);
        let of = |input: &mut Input| observed::of_shot(input, picks, count, shot);
        let values = of(&mut self.data)?;
        let weight = self.weight.as_mut().map(of).transpose()?;
        let heard = observed::is_heard(&values, weight.as_deref());
        let observed = Observed::new(self.readout.values(), values, weight)?;
        Ok((observed, heard))
    }

    /// The misfit of the records of a shot, `[record][component][receiver]`, and its derivative by them.
    pub fn judge(&self, records: Vec<f32>, observed: &Observed<f32>) -> (f64, Vec<f32>) {
        let (misfit, residual) = self.kind.of(&self.readout.of(records), observed);
        (misfit, self.readout.transposed(residual))
    }
}
