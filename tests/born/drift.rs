//! The drift is the largest velocity that remains when waves have run backwards to time zero, relative to the largest
//! velocity of the run. It is due to rounding, and has the same size on processors and on devices.

use crate::bench::{Case, plain};
use crate::devices::{Open, both, emulated, gpus};
use crate::shots::{largest, medium};
use kernels::device::accelerator::Accelerator;
use kernels::medium::{Medium, Stiffness};
use kernels::methods::velocity_stress::born::{Born, CheckpointSchedule, Parameters};
use kernels::source::Action;

/// The drift on processors and on a device.
fn drifts<A: Accelerator>(open: Open<A>, case: &Case) -> [f64; 2] {
    both(open, case).map(|mut born| {
        let data = vec![1.0; born.records() * born.values()];
        let all =
            CheckpointSchedule::choose(case.nt, born.sizes(), usize::MAX / 4).expect("unlimited memory");
        let schedule = all.with_boundary_saving();
        born.adjoint(&data, &schedule).expect("the reverse sweep");
        let first = born.drift().expect("waves have run backwards");
        // The reported drift is the drift of the worst shot.
        let mut silent = case.shot();
        silent.series.iter_mut().flatten().for_each(|x| *x = 0.0);
        born.next_shot(&silent).expect("points in the grid");
        born.adjoint(&data, &schedule).expect("the reverse sweep");
        assert_eq!(born.drift(), Some(first), "after a silent shot");
        first
    })
}

fn agree<A: Accelerator>(open: Open<A>) {
    // Cases whose interior has special kernels, and a case without special kernels.
    let deep = Case {
        more: 12,
        depth: 9.0,
        ..plain(3)
    };
    let anisotropic = Case {
        anisotropic: true,
        parameters: Parameters::Stiffness,
        frame: 1,
        ..deep.clone()
    };
    for case in [plain(2), deep, anisotropic] {
        let [on_cpu, on_device] = drifts(open, &case);
        println!(
            "{}-D: {on_cpu:.2e} on processors, {on_device:.2e} on the device",
            case.ndim
        );
        assert!(largest([on_cpu, on_device]) < 1e-5);
        assert!(
            on_device > 0.5 * on_cpu && on_device < 2.0 * on_cpu,
            "{on_cpu:e} {on_device:e}"
        );
    }
}

/// A medium in which the components of velocity are not coupled: each has waves only along its own axis.
fn apart(case: &Case) -> Medium<f32> {
    let padded = case.shot().frame.around(&case.grid());
    medium(&padded, |at| {
        let (c, density) = case.cell(at);
        let own = Stiffness {
            c12: 0.0,
            c13: 0.0,
            c23: 0.0,
            c44: 0.0,
            c55: 0.0,
            c66: 0.0,
            ..c
        };
        (own, density)
    })
}

/// The drift includes waves of every component of velocity.
fn sees_every_component<A: Accelerator>(open: Open<A>, ndim: usize) {
    let case = Case {
        anisotropic: true,
        parameters: Parameters::Stiffness,
        ..plain(ndim)
    };
    for axis in 0..ndim {
        let mut shot = case.shot();
        let mut force = [0.0; 3];
        force[if axis == 0 { 2 } else { axis - 1 }] = 1.0;
        shot.sources.truncate(1);
        shot.sources[0].action = Action::Force(force);
        let drift = |born: Born<f32>| {
            let data = vec![1.0; born.records() * born.values()];
            let all =
                CheckpointSchedule::choose(case.nt, born.sizes(), usize::MAX / 4).expect("unlimited memory");
            born.adjoint(&data, &all.with_boundary_saving())
                .expect("the reverse sweep");
            born.drift().expect("waves have run backwards")
        };
        let [cpu, mut device] = [(); 2].map(|()| case.born::<f32>(&shot, apart(&case)));
        device.run_on(vec![open()]).expect("a device with memory");
        let [on_cpu, on_device] = [cpu, device].map(drift);
        println!("{ndim}-D, component {axis}: {on_cpu:.2e} on processors, {on_device:.2e} on the device");
        for drift in [on_cpu, on_device] {
            assert!(drift > 1e-8 && drift < 1e-5, "component {axis}: {drift:e}");
        }
    }
}

#[test]
fn an_emulated_device_sees_the_drift_of_every_component() {
    if let Some(open) = emulated::open("an_emulated_device_sees_the_drift_of_every_component") {
        sees_every_component(open, 2);
        sees_every_component(open, 3);
    }
}

#[test]
fn an_emulated_device_has_the_drift_of_processors() {
    if let Some(open) = emulated::open("an_emulated_device_has_the_drift_of_processors") {
        agree(open);
    }
}

#[test]
fn a_gpu_has_the_drift_of_processors() {
    if let Some(open) = gpus::open("a_gpu_has_the_drift_of_processors") {
        agree(open);
    }
}
