//! Datasets that go to and come from other programs through pipes.

use std::fs::File;
use std::io::BufReader;
use std::os::fd::OwnedFd;

use super::Job;
use crate::input::Cut;
use crate::place::Place;
use crate::{Input, Output, Result};

/// The number of bytes that are read at a time.
const BUFFER: usize = 1 << 20;

impl Job {
    /// The dataset that another program writes to `pipe`; messages call it `name`. The call waits for its
    /// header.
    ///
    /// # Errors
    /// Returns an error if the pipe holds no dataset.
    pub fn input_from(&self, name: &str, pipe: impl Into<OwnedFd>) -> Result<Input> {
        let reader = BufReader::with_capacity(BUFFER, File::from(pipe.into()));
        Input::from_reader(name.into(), reader, None, Cut::Refused)
    }

    /// A dataset for another program, which reads it from `pipe`; messages call it `name`. It has the axes of
    /// the dataset that was given to [`Job::follow`].
    ///
    /// # Errors
    /// Returns an error if the history is not a header.
    pub fn output_into(&mut self, name: &str, pipe: impl Into<OwnedFd>) -> Result<Output> {
        self.new_output(name.into(), Place::Stream, File::from(pipe.into()), None)
    }
}
