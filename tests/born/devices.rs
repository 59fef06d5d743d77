//! Linearised velocity-stress modelling on accelerators: the data, gradients and images agree with the results on
//! processors; the adjoint is the transpose of the operator on the device; and the reverse sweep gives the same bits
//! for every amount of memory.

use crate::bench::{Case, Random, dot, plain, records, with_segments};
use crate::emulator::Emulator;
use crate::real;
use crate::shots::{largest, magnitude, relative_difference};
use kernels::device::accelerator::Accelerator;
use kernels::device::gpu::Gpu;
use kernels::medium::attenuation::Mechanisms;
use kernels::methods::velocity_stress::Quantity;
use kernels::methods::velocity_stress::born::{Born, CheckpointSchedule, ImageRequest, Parameters};
use std::io::Write;
use std::sync::Arc;

/// A function that opens a device.
pub type Open<A> = fn() -> Arc<A>;

/// A random set-up.
pub fn any(random: &mut Random) -> Case {
    let mut pick = |n: usize| (random.next() * n as f64) as usize;
    let parameters = [
        Parameters::Speeds,
        Parameters::Lame,
        Parameters::Impedances,
        Parameters::Stiffness,
    ][pick(4)];
    let quantities = [
        Quantity::Velocity,
        Quantity::Displacement,
        Quantity::Acceleration,
        Quantity::Pressure,
        Quantity::Strain,
    ];
    let mechanisms = match pick(6) {
        0..3 => None,
        5 => Some(Mechanisms::Coarse),
        _ => Some(Mechanisms::Everywhere(1 + pick(4))),
    };
    Case {
        order: [2, 4, 8][pick(3)],
        sponge: pick(2) == 1,
        frame: pick(6),
        surface: pick(2) == 1,
        mechanisms,
        fluid: pick(2) == 1,
        anisotropic: parameters == Parameters::Stiffness && pick(2) == 1,
        quantity: quantities[pick(5)],
        parameters,
        jdata: 1 + pick(3),
        off: pick(100) as f32 / 100.0 - 0.5,
        depth: 0.6 + pick(54) as f32 / 10.0,
        ..plain(2 + pick(2))
    }
}

/// The operators of a set-up on processors and on a device.
pub fn both<A: Accelerator>(open: Open<A>, case: &Case) -> [Born<f32>; 2] {
    let shot = case.shot();
    let [cpu, mut device] = [(); 2].map(|()| case.born::<f32>(&shot, case.medium()));
    device.run_on(vec![open()]).expect("a device with memory");
    [cpu, device]
}

/// The largest difference, relative to the largest value.
pub fn apart(a: &[f32], b: &[f32]) -> f64 {
    relative_difference(b, a)
}

/// Schedules that keep all steps, and a few of them.
fn schedules(born: &Born<f32>, nt: usize) -> [CheckpointSchedule; 2] {
    let [state, tape] = born.sizes();
    [2 * state + nt * tape, 4 * state + (nt / 6) * tape]
        .map(|memory| CheckpointSchedule::choose(nt, [state, tape], memory).expect("it fits"))
}

/// Compares data, the adjoint applied to data, a gradient and an image.
fn agree<A: Accelerator>(open: Open<A>, case: &Case, random: &mut Random) {
    let [cpu, device] = both(open, case);
    let model = case.perturbation(&cpu, random);
    let [on_cpu, on_device] = [&cpu, &device].map(|born| records(born, Some(&model)));
    let mut all = vec![
        ("background", apart(&on_cpu[0], &on_device[0])),
        ("change", apart(&on_cpu[1], &on_device[1])),
    ];
    let data: Vec<f32> = on_cpu[1]
        .iter()
        .map(|x| x * (0.5 + random.next() as f32))
        .collect();
    let (known, few) = (schedules(&cpu, case.nt)[0], schedules(&device, case.nt)[1]);
    let back = [(&cpu, &known), (&device, &few)].map(|(born, schedule)| {
        let adjoint = born.adjoint(&data, schedule).expect("the reverse sweep");
        let mut residual = |modelled: &[f32]| Ok(modelled.iter().zip(&data).map(|(a, b)| a - b).collect());
        let gradient = born.gradient(&mut residual, schedule).expect("a gradient");
        (
            adjoint,
            gradient,
            born.images(&data, schedule, &ImageRequest::plain())
                .expect("an image")
                .remove(0),
        )
    });
    let cells = case.grid().cells();
    let [on_cpu, on_device] = &back;
    for (name, a, b) in [
        ("adjoint", &on_cpu.0, &on_device.0),
        ("gradient", &on_cpu.1, &on_device.1),
    ] {
        for (a, b) in a.chunks(cells).zip(b.chunks(cells)) {
            if a.iter().any(|&x| x != 0.0) {
                all.push((name, apart(a, b)));
            }
        }
    }
    all.push(("image", apart(&on_cpu.2.image, &on_device.2.image)));
    all.push(("illumination", apart(&on_cpu.2.light, &on_device.2.light)));
    for (name, apart) in all {
        println!("{name}: {apart:.1e}");
        assert!(apart <= 1e-5, "{name}: {apart:e} {case:?}");
    }
}

fn runs_agree_with_the_processor<A: Accelerator>(open: Open<A>) {
    let mut random = Random(2112);
    for _ in 0..16 {
        let case = any(&mut random);
        agree(open, &case, &mut random);
    }
}

/// `<L m, d> = <m, L' d>` to the rounding of single precision.
fn products_are_equal<A: Accelerator>(open: Open<A>) {
    let mut random = Random(2113);
    for _ in 0..60 {
        let case = any(&mut random);
        let [_, born] = both(open, &case);
        let model = case.perturbation(&born, &mut random);
        let [_, change] = records(&born, Some(&model));
        let most = f64::from(magnitude(&change));
        let mut mix = |x: &f32| (f64::from(*x) / most + 0.5 * random.next()) as f32;
        let data: Vec<f32> = change.iter().map(&mut mix).collect();
        let back = born.adjoint(&data, &schedules(&born, case.nt)[0]);
        let (forward, adjoint) = (
            dot(&change, &data),
            dot(&model, &back.expect("the reverse sweep")),
        );
        let apart = (forward - adjoint).abs() / forward.abs();
        println!("products: {apart:.1e}");
        assert!(apart <= 1e-5, "{apart:e} {case:?}");
    }
}

/// Every amount of memory gives the same bits, and so do checkpoints on the host and a run after another shot.
fn runs_take_any_memory<A: Accelerator>(open: Open<A>) {
    let case = Case {
        surface: true,
        mechanisms: Some(Mechanisms::Everywhere(2)),
        quantity: Quantity::Displacement,
        jdata: 2,
        ..plain(2)
    };
    let [_, mut born] = both(open, &case);
    let mut random = Random(7);
    let data: Vec<f32> = (0..born.records() * born.values())
        .map(|_| random.next() as f32)
        .collect();
    let [state, tape] = born.sizes();
    let back = |born: &Born<f32>, memory: usize| {
        let schedule = CheckpointSchedule::choose(case.nt, [state, tape], memory).expect("it fits");
        let mut residual =
            |modelled: &[f32]| Ok(modelled.iter().zip(&data).map(|(a, b)| a - 0.1 * b).collect());
        let gradient = born.gradient(&mut residual, &schedule).expect("a gradient");
        (
            gradient,
            born.adjoint(&data, &schedule).expect("the reverse sweep"),
        )
    };
    let all = back(&born, 2 * state + case.nt * tape);
    for memory in [2 * state + case.nt * tape / 5, 4 * state + tape, 2 * state + tape] {
        assert!(all == back(&born, memory), "{memory} bytes");
    }
    let beside = [3 * state + 2 * tape, usize::MAX / 4];
    let schedule = CheckpointSchedule::choose_beside(case.nt, [state, tape], beside).expect("it fits");
    let schedule = CheckpointSchedule {
        on_host: 3,
        checkpoints: 4,
        ..schedule
    };
    let on_host = born.adjoint(&data, &schedule).expect("the reverse sweep");
    assert!(all.1 == on_host, "checkpoints on the host");
    // The operator runs another shot, and then the first one again.
    let mut second = case.shot();
    second.sources[0].point[1] += 2.3;
    second.receivers.truncate(2);
    born.next_shot(&second).expect("points in the grid");
    assert_eq!(records(&born, None)[0].len(), born.records() * born.values());
    born.next_shot(&case.shot()).expect("points in the grid");
    assert!(all == back(&born, 3 * state + 9 * tape), "after another shot");
}

/// The differences of adjoint and gradient between boundary saving, with each of these numbers of segments, and whole
/// steps on the same device, and how far the waves are from rest at the end.
fn backwards<A: Accelerator>(open: Open<A>, case: &Case, segments: &[usize]) -> Vec<[f64; 3]> {
    let mut random = Random(2114);
    let [_, born] = both(open, case);
    let count = born.records() * born.values();
    let data: Vec<f32> = (0..count).map(|_| random.next() as f32).collect();
    let all = schedules(&born, case.nt)[0];
    let mut residual = |modelled: &[f32]| Ok(modelled.iter().zip(&data).map(|(a, b)| a - 0.1 * b).collect());
    let whole_steps = [
        born.adjoint(&data, &all).expect("the reverse sweep"),
        born.gradient(&mut residual, &all).expect("a gradient"),
    ];
    let (sizes, _) = born.boundary_sizes().expect("waves that can run backwards");
    assert!(sizes[0] == born.sizes()[0] && sizes[1] < born.sizes()[1]);
    assert!(born.drift().is_none());
    let cells = case.grid().cells();
    let mut in_segments = |&segments: &usize| {
        let [_, born] = both(open, case);
        let schedule = with_segments(all, case.nt, [segments, segments.min(2) - 1]);
        let by_boundaries = [
            born.adjoint(&data, &schedule).expect("the reverse sweep"),
            born.gradient(&mut residual, &schedule).expect("a gradient"),
        ];
        let off = |k: usize| {
            let planes = by_boundaries[k].chunks(cells).zip(whole_steps[k].chunks(cells));
            let some = planes.filter(|(_, whole_steps)| whole_steps.iter().any(|&x| x != 0.0));
            largest(some.map(|(by_boundaries, whole_steps)| apart(by_boundaries, whole_steps)))
        };
        [off(0), off(1), born.drift().expect("waves have run backwards")]
    };
    segments.iter().map(&mut in_segments).collect()
}

/// Boundary saving gives the same results as whole steps to rounding, with special kernels for the interior and
/// without.
fn waves_run_backwards<A: Accelerator>(open: Open<A>) {
    for ndim in [2, 3] {
        let base = Case {
            more: if ndim == 3 { 9 } else { 0 },
            nt: if ndim == 3 { 18 } else { 45 },
            ..plain(ndim)
        };
        let inside = [
            base.clone(),
            Case {
                order: 2,
                parameters: Parameters::Lame,
                quantity: Quantity::Displacement,
                jdata: 3,
                ..base.clone()
            },
            Case {
                order: 2,
                frame: 0,
                parameters: Parameters::Impedances,
                quantity: Quantity::Acceleration,
                ..base.clone()
            },
            Case {
                sponge: true,
                quantity: Quantity::Strain,
                ..base.clone()
            },
            Case {
                order: if ndim == 2 { 8 } else { 4 },
                frame: 6,
                off: -0.4,
                ..base.clone()
            },
        ];
        let elsewhere = [
            Case {
                quantity: Quantity::Pressure,
                ..base.clone()
            },
            Case {
                fluid: true,
                ..base.clone()
            },
            Case {
                anisotropic: true,
                parameters: Parameters::Stiffness,
                frame: 1,
                ..base.clone()
            },
            Case {
                order: 2,
                surface: true,
                quantity: Quantity::Displacement,
                jdata: 2,
                ..base.clone()
            },
            Case {
                surface: true,
                fluid: true,
                depth: 0.8,
                ..base.clone()
            },
        ];
        for (number, case) in inside.into_iter().chain(elsewhere).enumerate() {
            // Schedules do not depend on the number of dimensions: in 3-D, which takes longer, each case has one
            // of the two schedules.
            let segments = match ndim {
                2 => &[1, 4][..],
                _ => &[[1], [4]][number % 2][..],
            };
            for (segments, differences) in segments.iter().zip(backwards(open, &case, segments)) {
                let [adjoint, gradient, drift] = differences;
                println!("{segments} segments: {adjoint:.1e} {gradient:.1e}, {drift:.1e} left: {case:?}");
                assert!(adjoint <= 1e-5 && gradient <= 1e-5 && drift <= 1e-5, "{case:?}");
            }
        }
    }
}

/// With boundary saving, checkpoints on the host and another shot with other receivers in between do not change any
/// bit.
fn boundaries_take_any_place<A: Accelerator>(open: Open<A>) {
    let case = plain(2);
    let [_, mut born] = both(open, &case);
    let mut random = Random(8);
    let count = born.records() * born.values();
    let data: Vec<f32> = (0..count).map(|_| random.next() as f32).collect();
    let few = with_segments(schedules(&born, case.nt)[0], case.nt, [6, 3]);
    let expected = born.adjoint(&data, &few).expect("the reverse sweep");
    for on_host in 1..=few.checkpoints {
        let schedule = CheckpointSchedule { on_host, ..few };
        assert!(born.adjoint(&data, &schedule).expect("the reverse sweep") == expected);
    }
    let mut second = case.shot();
    second.sources[0].point[1] += 2.3;
    second.receivers.truncate(2);
    born.next_shot(&second).expect("points in the grid");
    let other = vec![1.0; born.records() * born.values()];
    assert!(born.adjoint(&other, &few).expect("the reverse sweep") != expected);
    born.next_shot(&case.shot()).expect("points in the grid");
    assert!(born.adjoint(&data, &few).expect("the reverse sweep") == expected);
}

/// Two devices give the same bits.
fn bits_are_those_of<A: Accelerator>(one: Open<A>, other: Open<A>, ndim: usize) {
    let case = Case {
        order: 8,
        surface: true,
        quantity: Quantity::Strain,
        depth: 1.0,
        ..plain(ndim)
    };
    let [a, b] = [one, other].map(|open| {
        let [_, born] = both(open, &case);
        let model = case.perturbation(&born, &mut Random(3));
        let [_, change] = records(&born, Some(&model));
        let back = born.adjoint(&change, &schedules(&born, case.nt)[1]);
        (change, back.expect("the reverse sweep"))
    });
    assert!(a == b, "{ndim}-D");
}

/// A run whose waves become infinite ends with an error, after the same step as on processors.
fn a_run_that_grows_is_noticed<A: Accelerator>(open: Open<A>) {
    let case = Case { nt: 400, ..plain(2) };
    let mut shot = case.shot();
    shot.dt *= 6.0;
    shot.jcheck = 50;
    let mut born = case.born::<f32>(&shot, case.medium());
    let why = |born: &Born<f32>| born.forward(None, &mut |_, _, _| Ok(())).unwrap_err().to_string();
    let expected = why(&born);
    assert!(expected.contains("not finite at step"), "{expected}");
    born.run_on(vec![open()]).expect("a device with memory");
    assert_eq!(why(&born), expected);
}

/// A few steps of set-ups that use every kernel, for tools that watch each access. Rows are whole vectors here:
/// otherwise the last thread of a row reads an uninitialised number next to the layers and discards the result, which
/// `initcheck` cannot know (the emulator fills such memory with NaN, so that it would show in the results).
fn every_kernel<A: Accelerator>(open: Open<A>) {
    for (ndim, surface, fluid) in [(2, true, false), (3, false, false), (2, false, true)] {
        let case = Case {
            more: if ndim == 3 { 10 } else { 0 },
            surface,
            fluid,
            nt: 12,
            ..plain(ndim)
        };
        let [adjoint, gradient, _] = backwards(open, &case, &[2])[0];
        assert!(adjoint <= 1e-5 && gradient <= 1e-5, "{case:?}");
    }
    for (ndim, mechanisms) in [(2, Some(Mechanisms::Everywhere(2))), (3, None)] {
        let case = Case {
            order: 8,
            surface: true,
            mechanisms,
            quantity: Quantity::Displacement,
            jdata: 2,
            nt: 24,
            depth: 1.0,
            ..plain(ndim)
        };
        agree(open, &case, &mut Random(5));
    }
}

/// Defines a test for each body. `$open` is called with the test's name and returns the function that opens a device,
/// or reports why there is none.
macro_rules! on {
    ($open:expr; $($body:ident)*) => {
        $(#[test]
        fn $body() {
            if let Some(open) = $open(stringify!($body)) {
                super::$body(open);
            }
        })*
    };
    ($open:expr) => {
        on! { $open;
            runs_agree_with_the_processor
            products_are_equal
            runs_take_any_memory
            waves_run_backwards
            boundaries_take_any_place
            a_run_that_grows_is_noticed
            every_kernel
        }
    };
}

/// On an emulated accelerator.
pub mod emulated {
    use super::{Arc, Case, Emulator, Open, Random, Write, plain};

    pub fn open(test: &str) -> Option<Open<Emulator>> {
        match Emulator::available() {
            Ok(()) => Some(|| Arc::new(Emulator::new())),
            Err(why) => {
                let _ = writeln!(std::io::stderr(), "skipped emulated::{test}: {why}");
                None
            }
        }
    }

    on!(open);

    /// With boundary saving, the interior and the cells around it run in separate streams.
    #[test]
    fn streams_in_any_order_give_the_same_bits() {
        let Some(plainly) = open("streams_in_any_order_give_the_same_bits") else {
            return;
        };
        let late: [Open<Emulator>; 2] = [
            || Arc::new(Emulator::new().late(1)),
            || Arc::new(Emulator::new().late(2)),
        ];
        let back = |open: Open<Emulator>, case: &Case| {
            let [_, born] = super::both(open, case);
            let mut random = Random(4);
            let count = born.records() * born.values();
            let data: Vec<f32> = (0..count).map(|_| random.next() as f32).collect();
            let schedule = super::schedules(&born, case.nt)[0].with_boundary_saving();
            born.adjoint(&data, &schedule).expect("the reverse sweep")
        };
        for ndim in [2, 3] {
            let case = Case {
                more: if ndim == 3 { 9 } else { 0 },
                frame: 5,
                nt: 30 / ndim,
                ..plain(ndim)
            };
            let expected = back(plainly, &case);
            for open in late {
                assert!(back(open, &case) == expected, "{ndim}-D");
            }
        }
    }

    #[test]
    fn blocks_and_threads_in_reverse_give_the_same_bits() {
        let Some(forth) = open("blocks_and_threads_in_reverse_give_the_same_bits") else {
            return;
        };
        for ndim in [2, 3] {
            super::bits_are_those_of(forth, || Arc::new(Emulator::new().reversed()), ndim);
        }
    }
}

/// On the first GPU of this machine.
pub mod gpus {
    use super::{Arc, Gpu, Open, real};

    pub fn open(test: &str) -> Option<Open<Gpu>> {
        (real::gpus(test) > 0).then_some(|| Arc::new(Gpu::open(0).expect("a device that was found opens")))
    }

    on!(open);
}
