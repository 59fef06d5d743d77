//! The checksum of a model that is read only for this purpose.

use super::{Planes, Source, Volumes};
use crate::modelling::checksum::Checksum;

/// The number of values that are read together.
const BLOCK: usize = 1 << 20;

impl Volumes {
    /// A checksum of all numbers of the model, which are read once.
    pub fn checksum(&self) -> anyhow::Result<u64> {
        let mut all = match &self.planes {
            Planes::Stiffness(file, _) => vec![file],
            Planes::Speeds([vp, vs]) => vec![vp, vs],
        };
        all.push(&self.density);
        let mut sum = Checksum::new();
        for source in all {
            sum = source.add_to(sum)?;
        }
        Ok(sum.end())
    }
}

impl Source {
    /// Adds the numbers of the source to the checksum.
    fn add_to(&self, mut sum: Checksum) -> anyhow::Result<Checksum> {
        let input = match self {
            Self::Held(all) | Self::Column(all) => return Ok(sum.with(all)),
            Self::File(input) => input,
        };
        let whole = input.len();
        let mut block = vec![0.0; whole.min(BLOCK as u64) as usize];
        for first in (0..whole).step_by(BLOCK) {
            let count = (whole - first).min(BLOCK as u64) as usize;
            input.read_f32_at(first, &mut block[..count])?;
            sum = sum.with(&block[..count]);
        }
        Ok(sum)
    }
}
