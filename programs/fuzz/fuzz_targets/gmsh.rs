//! Reads any bytes as a mesh of Gmsh, text or binary.
#![no_main]
#![allow(dead_code)] // only a part of the included sources is used here

use libfuzzer_sys::fuzz_target;

mod look;
#[path = "../../src/meshing/mod.rs"]
mod meshing;

fuzz_target!(|bytes: &[u8]| {
    // The first byte of a file must be `$`, so the parity of the length chooses the direction of the axis.
    let up = bytes.len() % 2 == 1;
    look::look(meshing::gmsh::read("fuzz.msh", bytes, up).map(|(raw, _)| raw));
});
