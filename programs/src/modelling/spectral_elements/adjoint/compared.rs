//! The comparison of records on a mesh with data and their weights.

use super::super::Run;
use super::readout::Readout;
use crate::modelling::linearised::records::Records;
use crate::modelling::observed::{self, Contribution};
use kernels::misfit::{Misfit, Observed};
use rsf_io::{Input, Job};

/// The way in which records are converted to data and compared with them.
pub struct Compared {
    kind: Misfit,
    readout: Readout,
}

/// The data of a shot.
pub struct OfShot {
    observed: Observed<f32>,
    /// The contribution of these data to the misfit.
    pub contribution: Contribution,
    /// Checksums of the numbers that were read.
    pub sums: Vec<u64>,
}

impl Compared {
    /// Reads the comparison from the parameters and the header of the data. Also returns the data and their
    /// weights for all shots, of which `several` may run at the same time.
    pub fn read<const D: usize>(
        job: &mut Job,
        (run, several): (&Run<D>, bool),
        data: Input,
    ) -> anyhow::Result<(Self, Records)> {
        let readout = Readout::of_data(job, run, &data)?;
        let kind = observed::kind(job)?;
        let weight = observed::weight(job, &data)?;
        let count = (1..=3).map(|axis| data.axis(axis).n).product();
        let inputs = [data].into_iter().chain(weight).collect();
        let records = Records::new(job, inputs, &run.spreads.picks, (count, several))?;
        Ok((Self { kind, readout }, records))
    }

    /// The data of a shot, with their weights.
    pub fn observed(&self, records: &Records, shot: usize) -> anyhow::Result<OfShot> {
        let (given, sums) = records.shot(shot)?;
        let mut given = given.into_iter();
        let (values, weight) = (given.next().unwrap_or_default(), given.next());
        Ok(OfShot {
            contribution: Contribution::of(&values, weight.as_deref(), self.readout.values()),
            observed: Observed::new(self.readout.values(), values, weight)?,
            sums,
        })
    }

    /// The misfit of the records of a shot, `[record][component][receiver]`, and its derivative with respect to them.
    pub fn judge(&self, records: Vec<f32>, of_shot: &OfShot) -> (f64, Vec<f32>) {
        let (misfit, residual) = self.kind.of(&self.readout.of(records), &of_shot.observed);
        (misfit, self.readout.transposed(residual))
    }
}
