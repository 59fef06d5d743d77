//! A recorder that changes the records of receivers and passes everything else on to another one.

use kernels::Error;
use kernels::time_loop::Recorder;

/// Passes on the result of `change` for the record after a step, unless it is `None`.
pub struct Changing<'a, C> {
    pub change: C,
    pub to: &'a mut dyn Recorder<f32>,
}

impl<C: FnMut(usize, &[f32]) -> Option<Vec<f32>>> Recorder<f32> for Changing<'_, C> {
    fn traces(&mut self, step: usize, traces: &[f32]) -> Result<(), Error> {
        match (self.change)(step, traces) {
            Some(changed) => self.to.traces(step, &changed),
            None => Ok(()),
        }
    }

    fn snapshot(&mut self, step: usize, piece: &[f32]) -> Result<(), Error> {
        self.to.snapshot(step, piece)
    }

    fn empty_snapshot(&mut self, step: usize) -> Result<(), Error> {
        self.to.empty_snapshot(step)
    }

    fn is_prompt(&self) -> bool {
        self.to.is_prompt()
    }

    fn step(&mut self, step: usize) -> Result<(), Error> {
        self.to.step(step)
    }

    fn sync(&mut self) -> Result<(), Error> {
        self.to.sync()
    }

    fn end(&mut self) -> Result<(), Error> {
        self.to.end()
    }
}
