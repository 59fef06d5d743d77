//! Messages on standard error.

use std::io::Write;
use std::sync::PoisonError;

use super::Job;

impl Job {
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
            self.tell(text);
        }
    }

    /// Prints the line `prog: text` on stderr, in every process.
    pub fn tell(&self, text: &str) {
        // One write keeps lines of several threads apart; a closed stderr is no reason to stop.
        let line = format!("{}: {text}\n", self.name);
        let _ = std::io::stderr().lock().write_all(line.as_bytes());
    }
}
