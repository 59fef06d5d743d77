//! Signals that end a run: SIGINT (Ctrl-C), SIGTERM and SIGHUP.
//!
//! A program that must not end in the middle of its work holds a [`Watch`] and calls [`interrupted`] between two steps.
//! Any other program ends at once, and so does a program with a watch at a second signal; each prints one message. In
//! the end the signal itself ends the process, so that the shell reports 130, 143 or 129 and ends its loops, too.

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
    /// The exit code that a shell reports for a program ended by this signal.
    pub fn exit_code(self) -> u8 {
        128 + self.0 as u8
    }

    /// The number of the signal, to be sent to another process.
    pub fn number(self) -> u8 {
        self.0 as u8
    }

    /// The signal with this number; `None` unless it is SIGINT, SIGTERM or SIGHUP.
    pub fn of(number: u8) -> Option<Self> {
        let number = i32::from(number);
        [SIGINT, SIGTERM, SIGHUP]
            .contains(&number)
            .then_some(Self(number))
    }

    /// Ends the process as the signal does without a handler.
    pub(crate) fn end_process(self) {
        // If the signal cannot be raised, the exit code reports it.
        let _ = low_level::emulate_default_handler(self.0);
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(low_level::signal_name(self.0).unwrap_or("a signal"))
    }
}

/// The first signal that came during a [`Watch`]; 0 for none.
static CAUGHT: AtomicI32 = AtomicI32::new(0);

/// Whether a [`Watch`] exists.
static WATCHED: AtomicBool = AtomicBool::new(false);

/// While a value of this type exists, the first signal does not end the process; [`interrupted`] returns it.
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

/// The signal that arrived during a [`Watch`], if there was one. The caller must then end the run soon, with
/// [`Error::Interrupted`](crate::Error::Interrupted). The call costs one atomic load.
pub fn interrupted() -> Option<Signal> {
    match CAUGHT.load(Ordering::Relaxed) {
        0 => None,
        signal => Some(Signal(signal)),
    }
}

/// Makes SIGINT, SIGTERM and SIGHUP end the program `name` with a message, which is left out if `mute` is set or a
/// launcher started the program. A signal that is ignored at the start (`nohup`) stays ignored.
pub(crate) fn end_on_signals(name: &str, mute: bool) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // If a file reaches its size limit (ulimit -f), the write fails and the process continues. SAFETY: the handler
        // does nothing.
        let _ = unsafe { low_level::register(SIGXFSZ, || ()) };
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            if is_ignored(signal) {
                continue;
            }
            let mut sentence = format!(
                "{name}: ended by {}; what it was writing is not complete\n",
                Signal(signal)
            );
            // When one process ends, a launcher ends the other processes and reports this itself.
            if mute || launched().is_some() {
                sentence.clear();
            }
            // SAFETY: the handler does only what handlers may do: it reads and sets atomic variables, writes bytes
            // that exist already, and raises the signal.
            let registered = unsafe { low_level::register(signal, move || came(signal, &sentence)) };
            // A signal whose handler cannot be registered ends the program without a message.
            let _ = registered;
        }
    });
}

/// The signal handler: during a [`Watch`] it notes the first signal, otherwise it ends the process.
fn came(signal: i32, sentence: &str) {
    let first = WATCHED.load(Ordering::SeqCst)
        && CAUGHT
            .compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok();
    if !first {
        // SAFETY: the bytes live as long as the handler. If standard error is closed, the process must end
        // nevertheless.
        unsafe { libc::write(libc::STDERR_FILENO, sentence.as_ptr().cast(), sentence.len()) };
        Signal(signal).end_process();
    }
}

fn is_ignored(signal: i32) -> bool {
    // SAFETY: an all-zero action is valid (numbers and null pointers).
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: with a null pointer the call only queries; the other pointer is to a live local.
    let status = unsafe { libc::sigaction(signal, std::ptr::null(), &mut action) };
    status == 0 && action.sa_sigaction == libc::SIG_IGN
}
