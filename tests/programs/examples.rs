//! The examples of the help in 3-D: each line is planned unchanged, and run with fewer steps.

use crate::desk::Desk;
use programs::modelling::{spectral_elements as elements, velocity_stress as staggered};
use rsf_io::Program;

/// The warning about time functions that continue after the end of a run.
const CUT: &str = "raise nt=";

/// True for programs that run through `sfbasics`; the other programs of the examples have their own executables.
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
        let short = line.replace(" nt=400 ", " nt=100 ");
        if short != line && !is_everyday(name) {
            let plan = desk.sh(&format!("{line} plan=y"));
            assert!(
                plan.code == 0 && !plan.err.contains("warning") && plan.err.contains(": device "),
                "{line}: {plan:?}"
            );
        }
        let run = match is_everyday(name) {
            true => desk.sh(&format!("sfbasics {short}")),
            false => desk.sh(&short),
        };
        assert!(run.code == 0, "{line}: {run:?}");
        let warned = run.err.lines().filter(|text| text.contains("warning"));
        let others = warned.filter(|text| short == line || !text.contains(CUT)).count();
        assert_eq!(others, 0, "{line}: {run:?}");
        own += usize::from(name == program.name || line.contains(&format!(" {} ", program.name)));
    }
    assert!(own > 0, "{} is not used in its example", program.name);
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
