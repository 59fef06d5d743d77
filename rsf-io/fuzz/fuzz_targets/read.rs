//! Reads any bytes as a dataset: the header, every getter, and the elements as a stream and by position.
//!
//! `rsf-io/fuzz/run 600` builds it with a stable toolchain and runs it for ten minutes.
#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use rsf_io::{Complex, Element, Header, Input, Kind};

/// One file per process, in shared memory (/dev/shm) if there is any.
fn scratch() -> &'static PathBuf {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| {
        let shm = PathBuf::from("/dev/shm");
        let dir = if shm.is_dir() { shm } else { std::env::temp_dir() };
        dir.join(format!("rsf-fuzz-{}.rsf", std::process::id()))
    })
}

fn getters(header: &Header) {
    for (key, _) in header.entries() {
        let key = String::from_utf8_lossy(key);
        let _ = (
            header.int(&key),
            header.large_int(&key),
            header.float(&key),
            header.double(&key),
        );
        let _ = (header.flag(&key), header.text(&key), header.path(&key));
        for length in [0, 1, 7] {
            assert!(header.ints(&key, length).is_none_or(|list| list.len() == length));
            assert!(
                header
                    .floats(&key, length)
                    .is_none_or(|list| list.len() == length)
            );
            assert!(header.flags(&key, length).is_none_or(|list| list.len() == length));
        }
    }
    (1..=9).for_each(|i| drop(header.axis(i)));
    let _ = (header.elements(), header.rank(), header.format(), header.sizes());
}

/// Reads the elements of the input, at most a few thousand.
fn elements<T: Element>(input: &mut Input) {
    let mut piece = vec![T::zeroed(); 97];
    if input.is_seekable() && input.len() >= 97 {
        input
            .read_at(input.len() - 97, &mut piece)
            .expect("the length was checked at opening");
    }
    let _ = input.skip(1);
    for _ in 0..40 {
        let now = input.remaining().min(97) as usize;
        if now == 0 || input.read(&mut piece[..now]).is_err() {
            break;
        }
    }
    if input.len() < 10_000 {
        let _ = input.read_all::<T>();
    }
}

fuzz_target!(|bytes: &[u8]| {
    if let Ok(header) = Header::parse(bytes) {
        getters(&header);
        // Reading the history of a header again gives the same header.
        let again = Header::parse(header.history()).expect("a history is a header");
        assert!(again.entries().eq(header.entries()));
    }
    fs::write(scratch(), bytes).expect("the scratch file is writable");
    let Ok(mut input) = Input::open(scratch()) else {
        return;
    };
    let kind = input.format().kind;
    let supported = input.format().to_string();
    if matches!(supported.as_str(), "xdr_long" | "xdr_double") {
        return;
    }
    match kind {
        Kind::Float => elements::<f32>(&mut input),
        Kind::Int => elements::<i32>(&mut input),
        Kind::Complex => elements::<Complex>(&mut input),
        Kind::Uchar | Kind::Char => elements::<u8>(&mut input),
        Kind::Short => elements::<i16>(&mut input),
        Kind::Long => elements::<i64>(&mut input),
        Kind::Double => elements::<f64>(&mut input),
    }
});
