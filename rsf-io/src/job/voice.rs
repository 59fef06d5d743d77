//! What a run says on standard error.

use std::io::Write;
use std::sync::PoisonError;

use super::Job;

impl Job {
    /// A warning on stderr, `prog: warning: text`, the first time that the run has reason to; silent in a dry run.
    pub fn warn(&self, text: &str) {
        if self.dry {
            return;
        }
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        if warned.insert(text.to_string()) {
            self.say(&format!("warning: {text}"));
        }
    }

    /// A line on stderr: `prog: text`; nothing from a process that is not the one that speaks ([`crate::second`]).
    pub fn say(&self, text: &str) {
        if !self.mute {
            self.tell(text);
        }
    }

    /// A line on stderr, whoever this process is.
    pub fn tell(&self, text: &str) {
        // In one piece, whatever other threads say; a closed stderr is no reason to stop.
        let line = format!("{}: {text}\n", self.name);
        let _ = std::io::stderr().lock().write_all(line.as_bytes());
    }
}
