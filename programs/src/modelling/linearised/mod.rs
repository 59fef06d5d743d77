//! Linearised modelling, gradients and images of surveys: what all methods share. A method computes a shot; here shots are shared out
//! among ranks, added by the tree of their numbers, and their sums are saved.

pub mod kept;
pub mod params;
pub mod records;
pub mod survey;

use super::world::{World, share_stdin};
use rsf_io::Job;

/// Several ranks must have one command line, and the data of rank 0; all of them call it before anything else.
pub fn meet(job: &mut Job, world: &World) -> anyhow::Result<()> {
    world.same_shot(job)?;
    match job.flag("plan")? {
        true => Ok(()),
        false => share_stdin(job, world),
    }
}
