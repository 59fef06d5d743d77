//! Replaces records if the environment requests it: `SPOIL=nan`, `zero`, `empty` or `short`. Functions that measure
//! errors and functions that deliver records to tests call this, and `tests/spoil` names the tests that still pass.
#![allow(dead_code)] // not every file that includes this one uses all of it

use std::cell::Cell;
use std::io::Write;

/// The replacement of records.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spoil {
    /// The same number of NaNs.
    Nan,
    /// The same number of zeros.
    Zero,
    /// No values.
    Empty,
    /// All values but the last.
    Short,
}

/// All replacements.
pub const ALL: [Spoil; 4] = [Spoil::Nan, Spoil::Zero, Spoil::Empty, Spoil::Short];

thread_local! {
    /// The replacement that a test requests on its thread, instead of the environment's.
    pub static HERE: Cell<Option<Spoil>> = const { Cell::new(None) };
}

fn requested() -> Option<Spoil> {
    let named = match std::env::var("SPOIL").as_deref() {
        Err(_) | Ok("") => None,
        Ok("nan") => Some(Spoil::Nan),
        Ok("zero") => Some(Spoil::Zero),
        Ok("empty") => Some(Spoil::Empty),
        Ok("short") => Some(Spoil::Short),
        Ok(other) => panic!("SPOIL={other} is not known; give nan, zero, empty or short"),
    };
    HERE.get().or(named)
}

/// The numbers, or their replacement if it is one of the kinds in `seen`, which the caller can detect.
pub fn spoiled<V: Copy>(mut values: Vec<V>, (nan, zero): (V, V), seen: &[Spoil]) -> Vec<V> {
    let Some(kind) = requested().filter(|kind| seen.contains(kind)) else {
        return values;
    };
    note();
    match kind {
        Spoil::Nan => values.fill(nan),
        Spoil::Zero => values.fill(zero),
        Spoil::Empty => values.clear(),
        Spoil::Short => drop(values.pop()),
    }
    values
}

/// Appends the name of the test, which is also the name of its thread, to the file SPOIL_LOG.
fn note() {
    let Ok(path) = std::env::var("SPOIL_LOG") else {
        return;
    };
    let mut file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .unwrap_or_else(|e| panic!("SPOIL_LOG={path}: {e}"));
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("a thread without a name");
    file.write_all(format!("{name}\n").as_bytes())
        .unwrap_or_else(|e| panic!("SPOIL_LOG={path}: {e}"));
}
