//! Silences all but one of several processes.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether another process prints the messages.
static SECOND: AtomicBool = AtomicBool::new(false);

/// Sets whether another process of the same run prints the messages: this process then prints no warnings and no
/// documentation. Call it before [`crate::attempt`].
pub fn second(is_second: bool) {
    SECOND.store(is_second, Ordering::Relaxed);
}

pub(crate) fn is_second() -> bool {
    SECOND.load(Ordering::Relaxed)
}
