//! Messages on standard error.

use std::io::Write;
use std::sync::PoisonError;

use super::Job;
use crate::command::{slip, strict};
use crate::output::Output;
use crate::place::Layout;
use crate::{Error, Result};

impl Job {
    /// Reports a word that the program does not know: a warning, and under RSF_STRICT=1 an error.
    ///
    /// # Errors
    /// Returns an error under RSF_STRICT=1.
    pub fn warn_of_word(&self, text: &str) -> Result<()> {
        self.refuse_word(text)?;
        self.warn(&format!("{text}; RSF_STRICT=1 makes this an error"));
        Ok(())
    }

    /// Refuses a word that the program does not know under RSF_STRICT=1.
    ///
    /// # Errors
    /// Returns an error under RSF_STRICT=1.
    pub fn refuse_word(&self, text: &str) -> Result<()> {
        match strict() {
            true => Err(Error::new(format!("{text} (RSF_STRICT is set)"))),
            false => Ok(()),
        }
    }

    /// The parameter that an undeclared key differs from by one letter.
    pub fn slip_of(&self, key: &str) -> Option<String> {
        slip(self.program, key)
    }

    /// Prints the line `prog: warning: text` on stderr, once for each text; silent in a dry run.
    pub fn warn(&self, text: &str) {
        if self.dry {
            return;
        }
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        if warned.insert(text.to_string()) {
            self.say(&format!("warning: {text}"));
        }
    }

    /// Prints the line `prog: text` on stderr; silent if another process prints the messages ([`crate::second`]).
    pub fn say(&self, text: &str) {
        if !self.mute {
            self.print_line(text);
        }
    }

    /// Prints the line `prog: text` on stderr, in every process.
    pub fn print_line(&self, text: &str) {
        // One write keeps lines of several threads apart; a closed stderr is no reason to stop.
        let line = format!("{}: {text}\n", self.name);
        let _ = std::io::stderr().lock().write_all(line.as_bytes());
    }

    /// Warns once if the data path is used and looks wrong.
    pub(super) fn warn_of_the_data_path(&mut self, output: &Output) {
        let used = output.layout() != &Layout::Stream && self.places.out.is_none();
        if used
            && !self.path_reported
            && let Some(remark) = self.places.remark()
        {
            self.path_reported = true;
            self.warn(&remark);
        }
    }
}
