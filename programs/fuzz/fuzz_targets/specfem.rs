//! Reads any bytes as a folder of SPECFEM3D's mesh files, separated by zero bytes, which text does not contain.
#![no_main]
#![allow(dead_code)] // only a part of the included sources is used here

use libfuzzer_sys::fuzz_target;

mod look;
#[path = "../../src/meshing/mod.rs"]
mod meshing;

/// The files, in the order of their contents in the input.
const FILES: [&str; 8] = [
    "nodes_coords_file",
    "mesh_file",
    "materials_file",
    "nummaterial_velocity_file",
    "free_or_absorbing_surface_file_zmax",
    "absorbing_surface_file_bottom",
    "absorbing_cpml_file",
    "tomography_model.xyz",
];

fuzz_target!(|bytes: &[u8]| {
    let files: Vec<&[u8]> = bytes.split(|byte| *byte == 0).collect();
    let open = |file: &str| {
        let number = FILES.iter().position(|name| *name == file);
        Ok(number.and_then(|k| files.get(k)).map(|bytes| bytes.to_vec()))
    };
    look::look(meshing::specfem::read_files(&|file| file.to_string(), &open));
});
