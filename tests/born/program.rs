//! The linearised engine runs the same background: its records agree with a simulation to rounding.

use crate::bench::{Case, plain, records};
use crate::shots::{Tape, relative_difference};
use kernels::device::cpu::Cpu;
use kernels::medium::attenuation::Mechanisms;
use kernels::methods::velocity_stress::born::Parameters;
use kernels::methods::velocity_stress::{Quantity, SLABS, Simulation};

/// The largest difference between the two records, relative to the largest value.
fn apart(case: &Case) -> f64 {
    let shot = case.shot();
    let born = case.born::<f32>(&shot, case.medium());
    let [got, _] = records(&born, None);
    let padded = shot.frame.around(&case.grid());
    let slabs = SLABS.partition(padded.planes(), 1).expect("a slab");
    let cpu = Cpu::new(1).expect("threads start");
    let mut tape = Tape::<f32>::default();
    let simulation = Simulation::new(&shot, case.medium::<f32>(), case.class(), cpu, slabs);
    simulation.expect("a valid shot").run(&mut tape).expect("it runs");
    let expected = tape.traces.concat();
    relative_difference(got, &expected)
}

#[test]
fn records_are_those_of_a_simulation() {
    let all = |ndim: usize| {
        let base = plain(ndim);
        [
            base.clone(),
            Case {
                order: 2,
                surface: true,
                quantity: Quantity::Pressure,
                ..base.clone()
            },
            Case {
                order: 8,
                surface: true,
                quantity: Quantity::Displacement,
                jdata: 3,
                ..base.clone()
            },
            Case {
                sponge: true,
                surface: true,
                quantity: Quantity::Strain,
                ..base.clone()
            },
            Case {
                frame: 0,
                fluid: true,
                quantity: Quantity::Acceleration,
                jdata: 2,
                ..base.clone()
            },
            Case {
                mechanisms: Some(Mechanisms::Everywhere(2)),
                surface: true,
                order: 8,
                ..base.clone()
            },
            Case {
                mechanisms: Some(Mechanisms::Coarse),
                sponge: true,
                ..base.clone()
            },
            Case {
                anisotropic: true,
                parameters: Parameters::Stiffness,
                surface: true,
                depth: 1.0,
                ..base.clone()
            },
        ]
    };
    for case in all(2).into_iter().chain(all(3)) {
        let apart = apart(&case);
        println!("{apart:.1e} {case:?}");
        assert!(apart <= 1e-5, "{case:?}: {apart}");
    }
}
