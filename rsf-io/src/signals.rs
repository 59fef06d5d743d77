//! Signals that end a run: SIGINT (Ctrl-C), SIGTERM and SIGHUP.
//!
//! A program that has a better end than the middle of its work takes a [`Watch`] and asks [`interrupted`] between two
//! steps. Every other program ends at once, and so does that one at a second signal; all of them say so in one sentence.
//! In the end the signal itself ends the process, so that the shell reports 130, 143 or 129 and ends its loops, too.

use crate::launcher::launched;
use std::fmt;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::low_level;

/// A signal that ends a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal(i32);

impl Signal {
    /// What a shell reports of a program that it has ended.
    pub fn exit_code(self) -> u8 {
        128 + self.0 as u8
    }

    /// Its number, for another process.
    pub fn number(self) -> u8 {
        self.0 as u8
    }

    /// The signal of this number, if it is one of the three.
    pub fn of(number: u8) -> Option<Self> {
        let number = i32::from(number);
        [SIGINT, SIGTERM, SIGHUP]
            .contains(&number)
            .then_some(Self(number))
    }

    /// Does what the signal does without a handler: ends the process.
    pub(crate) fn end_process(self) {
        // A signal that cannot be raised leaves the exit code to tell.
        let _ = low_level::emulate_default_handler(self.0);
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(low_level::signal_name(self.0).unwrap_or("a signal"))
    }
}

/// The first signal that came while somebody watched; 0 for none.
static CAUGHT: AtomicI32 = AtomicI32::new(0);

/// Somebody watches.
static WATCHED: AtomicBool = AtomicBool::new(false);

/// While it lives the first signal does not end the process but is told by [`interrupted`].
#[derive(Debug)]
#[must_use = "signals are watched only while this lives"]
pub struct Watch(());

impl Watch {
    /// Begins to watch for signals; only one watch may exist at a time.
    pub fn begin() -> Self {
        WATCHED.store(true, Ordering::SeqCst);
        Self(())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        WATCHED.store(false, Ordering::SeqCst);
    }
}

/// The signal that came while a [`Watch`] lived, if one did: end the run soon, with
/// [`Error::Interrupted`](crate::Error::Interrupted). It costs no more than reading a number.
pub fn interrupted() -> Option<Signal> {
    match CAUGHT.load(Ordering::Relaxed) {
        0 => None,
        signal => Some(Signal(signal)),
    }
}

/// Lets the three signals end the program `name` with a sentence, unless `mute` or started by a launcher. A signal that whoever started the
/// program has it ignore (`nohup`) stays ignored.
pub(crate) fn tell_of_signals(name: &str, mute: bool) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // A file that grows beyond what the user allows (ulimit -f) is a failed write, not the end of the process.
        // SAFETY: the handler does nothing.
        let _ = unsafe { low_level::register(SIGXFSZ, || ()) };
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            if is_ignored(signal) {
                continue;
            }
            let mut sentence = format!(
                "{name}: ended by {}; what it was writing is not complete\n",
                Signal(signal)
            );
            // A launcher ends the others when one process ends, and says so itself.
            if mute || launched().is_some() {
                sentence.clear();
            }
            // SAFETY: the handler does what handlers may do: it reads and sets atomic numbers, writes bytes that are
            // there already, and raises the signal.
            let registered = unsafe { low_level::register(signal, move || came(signal, &sentence)) };
            // Where it cannot be registered the signal ends the program without a word.
            let _ = registered;
        }
    });
}

/// The handler.
fn came(signal: i32, sentence: &str) {
    let first = WATCHED.load(Ordering::SeqCst)
        && CAUGHT
            .compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok();
    if !first {
        // SAFETY: the bytes live as long as the handler; a closed standard error is no reason to stay.
        unsafe { libc::write(libc::STDERR_FILENO, sentence.as_ptr().cast(), sentence.len()) };
        Signal(signal).end_process();
    }
}

fn is_ignored(signal: i32) -> bool {
    // SAFETY: an all-zero action is valid (numbers and null pointers).
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: a null pointer asks without setting; the other one is to a live local.
    let asked = unsafe { libc::sigaction(signal, std::ptr::null(), &mut action) };
    asked == 0 && action.sa_sigaction == libc::SIG_IGN
}
