//! The examples of the help in 3-D: each line runs as it stands.

use crate::desk::Desk;
use programs::modelling::{spectral_elements as elements, velocity_stress as staggered};
use rsf_io::Program;

/// Programs with files of their own beside `sfbasics`.
fn is_everyday(name: &str) -> bool {
    !name.ends_with("-gpu") && name != "sfhexmesh"
}

#[track_caller]
fn runs(program: &Program) {
    let desk = Desk::new();
    let lines = program.example.lines().filter(|line| !line.starts_with('#'));
    let mut own = 0;
    for line in lines {
        let name = line.split(' ').next().unwrap();
        let run = match is_everyday(name) {
            true => desk.sh(&format!("sfbasics {line}")),
            false => desk.sh(line),
        };
        assert!(run.code == 0 && !run.err.contains("warning"), "{line}: {run:?}");
        own += usize::from(name == program.name || line.contains(&format!(" {} ", program.name)));
    }
    assert!(own > 0, "{} is not called in its example", program.name);
}

#[test]
fn examples_of_grids_run() {
    runs(&staggered::born::PROGRAM_3D);
    runs(&staggered::born::gradient::PROGRAM_3D);
    runs(&staggered::born::image::PROGRAM_3D);
}

#[test]
fn examples_of_meshes_run() {
    runs(&elements::PROGRAM_3D);
    runs(&elements::adjoint::gradient::PROGRAM_3D);
    runs(&elements::adjoint::born::PROGRAM_3D);
}
