//! Linearised modelling, gradients and images of surveys, for all methods. A method computes a shot; this
//! module distributes the shots among ranks, adds them up in a tree over their numbers, and saves the sums.

pub mod kept;
pub mod params;
pub mod records;
pub mod survey;

use super::world::{World, share_stdin};
use crate::modelling::words::counted;
use rsf_io::Job;
use std::time::Instant;

/// The time at which the set-up of a survey began.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// Starts the clock.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Calls `make`, which computes `shots` shots, after the set-up. With `verb=y` it prints the time that
    /// each of them took.
    ///
    /// # Errors
    /// Returns the errors of `make`.
    pub fn shots<R>(
        self,
        job: &Job,
        shots: usize,
        make: impl FnOnce() -> anyhow::Result<R>,
    ) -> anyhow::Result<R> {
        let (result, [set_up, own]) = self.timed(make)?;
        if job.flag("verb")? {
            job.say(&format!(
                "set-up {set_up:.2} s; {} in {own:.2} s",
                counted(shots, "shot")
            ));
        }
        Ok(result)
    }

    /// The result of `make`, and the seconds before and during the call.
    fn timed<R>(self, make: impl FnOnce() -> anyhow::Result<R>) -> anyhow::Result<(R, [f64; 2])> {
        let (set_up, begun) = (self.0.elapsed().as_secs_f64(), Instant::now());
        let result = make()?;
        Ok((result, [set_up, begun.elapsed().as_secs_f64()]))
    }
}

/// Checks that all ranks have the same command line, and gives them the data of rank 0. All ranks call it
/// before anything else.
pub fn meet(job: &mut Job, world: &World) -> anyhow::Result<()> {
    world.same_shot(job)?;
    match job.flag("plan")? {
        true => Ok(()),
        false => share_stdin(job, world),
    }
}

#[cfg(test)]
mod tests {
    use super::Clock;
    use std::time::{Duration, Instant};

    /// The times of the set-up and of the shots are parts of the whole time.
    #[test]
    fn shots_begin_when_the_set_up_ends() {
        let begun = Instant::now();
        let pause = || {
            std::thread::sleep(Duration::from_millis(20));
            Ok(())
        };
        let clock = Clock::start();
        pause().unwrap();
        let ((), [set_up, shots]) = clock.timed(pause).unwrap();
        let whole = begun.elapsed().as_secs_f64();
        assert!(set_up >= 0.02 && shots >= 0.02, "{set_up} {shots}");
        assert!(set_up + shots <= whole, "{set_up} + {shots} of {whole}");
    }
}
