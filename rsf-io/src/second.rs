//! Whether this process is one of several of which another speaks.

use std::sync::atomic::{AtomicBool, Ordering};

/// This process is not the one that speaks.
static SECOND: AtomicBool = AtomicBool::new(false);

/// Says whether this process is one of several with the same command line another of which speaks: then it warns of
/// nothing and shows no documentation. Call it before [`crate::attempt`].
pub fn second(is_second: bool) {
    SECOND.store(is_second, Ordering::Relaxed);
}

pub(crate) fn is_second() -> bool {
    SECOND.load(Ordering::Relaxed)
}
