//! A shot that several devices share: records, changes, adjoints, gradients and images have the same bits as on one
//! device, wherever the grid is cut, whichever parts of the steps are kept, and in whatever order the devices run.

use crate::bench::{Case, Random, plain};
use crate::devices::any;
use kernels::communicator::{Alone, Communicator};
use kernels::device::accelerator::Accelerator;
use kernels::medium::attenuation::Mechanisms;
use kernels::methods::velocity_stress::born::{Born, CheckpointSchedule, ImageRequest, Kind, Parameters};
use kernels::methods::velocity_stress::{Quantity, Shot};
use std::sync::Arc;

/// A function that opens a number of devices.
type OpenAll<A> = fn(usize) -> Vec<Arc<A>>;

/// The shot of a case, with sources and receivers on both sides of any cut.
pub fn shot(case: &Case) -> Shot {
    let mut shot = case.shot();
    let grid = case.grid();
    let axis = grid.ndim - 1;
    let extent = grid.n[axis] as f32;
    let at = |cells: f32| grid.o[axis] + cells * grid.d[axis];
    for k in 0..12 {
        let mut point = shot.receivers[0];
        point[axis] = at(extent * (k as f32 + 0.35) / 12.0);
        shot.receivers.push(point);
    }
    for k in 0..3 {
        let mut source = shot.sources[k % 2].clone();
        source.point[axis] = at(extent * (k as f32 + 0.9) / 4.0);
        shot.sources.push(source);
    }
    shot
}

/// The images of a case; images of converted waves need an isotropic medium.
fn images(case: &Case) -> ImageRequest {
    ImageRequest {
        kinds: match case.anisotropic {
            true => vec![Kind::Pp, Kind::Energy],
            false => vec![Kind::Pp, Kind::Ps, Kind::Sp, Kind::Ss, Kind::Energy],
        },
        lags: match case.ndim {
            3 => vec![[0; 3], [0, 1, 0], [1, 0, -3]],
            _ => vec![[0; 3], [0, 3, 0], [2, -1, 0]],
        },
    }
}

/// All results of an operator with the devices of these ranks.
pub fn all(
    born: &Born<f32>,
    (ranks, case): (&dyn Communicator, &Case),
    [model, data]: [&[f32]; 2],
    schedules: &[CheckpointSchedule],
) -> Vec<Vec<f32>> {
    let mut results = vec![Vec::new(), Vec::new()];
    let mut take = |_: usize, background: &[f32], change: &[f32]| {
        results[0].extend_from_slice(background);
        results[1].extend_from_slice(change);
        Ok(())
    };
    born.forward_among(ranks, Some(model), &mut take)
        .expect("records");
    let data = [data.to_vec()];
    for schedule in schedules {
        let adjoints = born.adjoints_among(ranks, &data, schedule);
        results.extend(adjoints.expect("an adjoint").by_parameters());
        let residual = |modelled: Vec<f32>| modelled.iter().map(|x| 0.5 * x - 0.01).collect();
        let mut residuals = |modelled: Vec<Vec<f32>>| Ok(modelled.into_iter().map(residual).collect());
        let gradients = born.gradients_among(ranks, &mut residuals, schedule);
        results.extend(gradients.expect("a gradient").by_parameters());
    }
    let request = images(case);
    let sizes = born.sizes_of_images(&request);
    let schedule = CheckpointSchedule::choose(case.nt, sizes, 3 * sizes[0] + (case.nt / 4) * sizes[1]);
    let pictures = born.images_among(ranks, &data, (&schedule.expect("it fits"), &request));
    for picture in pictures.expect("images").into_iter().flatten() {
        results.extend([picture.image, picture.light]);
    }
    results
}

/// All results of one device. The second schedule is left out and the results of the first are repeated, because it
/// gives the same bits: how many whole steps are kept does not change the results.
pub fn all_of_one(
    born: &Born<f32>,
    case: &Case,
    given: [&[f32]; 2],
    schedules: &[CheckpointSchedule],
) -> Vec<Vec<f32>> {
    let [first, _, others @ ..] = schedules else {
        panic!("at least two schedules")
    };
    let mut results = all(born, (&Alone, case), given, &[&[*first], others].concat());
    // The adjoint and the gradient follow the records of the background and of the change.
    let again = results[2..4].to_vec();
    results.splice(4..4, again);
    results
}

/// Random data, and schedules that keep all steps, some of them, and, if waves can run backwards, their boundaries.
pub fn data_and_schedules(
    one: &Born<f32>,
    case: &Case,
    random: &mut Random,
) -> (Vec<f32>, Vec<CheckpointSchedule>) {
    let data = (0..one.records() * one.values()).map(|_| random.next() as f32);
    let data: Vec<f32> = data.collect();
    let of = |sizes: [usize; 2], segment: usize| {
        let memory = 4 * sizes[0] + segment * sizes[1];
        CheckpointSchedule::choose(case.nt, sizes, memory).expect("it fits")
    };
    let mut schedules = vec![of(one.sizes(), case.nt), of(one.sizes(), case.nt / 5)];
    schedules[1].on_host = 1;
    if let Ok((sizes, _)) = one.boundary_sizes() {
        schedules.push(of(sizes, case.nt / 3).with_boundary_saving());
    }
    (data, schedules)
}

/// Asserts that results of several devices have the same bits as the results of one device, and are not zero.
pub fn assert_same_bits(expected: &[Vec<f32>], computed: &[Vec<f32>], what: &str) {
    assert_eq!(expected.len(), computed.len());
    for (k, (expected, computed)) in expected.iter().zip(computed).enumerate() {
        assert!(
            expected.iter().any(|&x| x != 0.0),
            "result {k} is zero everywhere: {what}"
        );
        let bits = |numbers: &[f32]| numbers.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        let apart = crate::shots::relative_difference(expected, computed);
        assert!(
            bits(expected) == bits(computed),
            "result {k} differs by {apart:e}: {what}"
        );
    }
}

/// Compares several devices with one device.
fn compare<A: Accelerator>(open: OpenAll<A>, case: &Case, devices: usize, random: &mut Random) {
    let shot = shot(case);
    let [mut one, mut several] = [(); 2].map(|()| case.born::<f32>(&shot, case.medium()));
    one.run_on(open(1)).expect("a device with memory");
    several
        .run_on(open(devices))
        .expect("devices that can share the grid");
    let model = case.perturbation(&one, random);
    let (data, schedules) = data_and_schedules(&one, case, random);
    assert_eq!(one.boundary_sizes().is_ok(), several.boundary_sizes().is_ok());
    let of_one = all_of_one(&one, case, [&model, &data], &schedules);
    let of_several = all(&several, (&Alone, case), [&model, &data], &schedules);
    let what = format!("{devices} devices, {schedules:?}: {case:?}");
    assert_same_bits(&of_one, &of_several, &what);
    assert_eq!(one.drift(), several.drift());
}

fn shared_shots_have_the_bits_of_one_device<A: Accelerator>(open: OpenAll<A>) {
    let mut random = Random(2120);
    for round in 0..4 {
        let mut case = any(&mut random);
        case.more = if case.ndim == 3 { 9 } else { 14 };
        case.nt = if case.ndim == 3 { 10 } else { 24 };
        compare(open, &case, 2 + round % 2, &mut random);
    }
    // The random cases may leave out these kinds of runs: an interior with special kernels, a surface above layers,
    // a surface with a sponge and attenuation, records of stresses.
    let quantities = [Quantity::Velocity, Quantity::Pressure, Quantity::Displacement];
    for ndim in [2, 3] {
        let plain = Case {
            more: if ndim == 3 { 12 } else { 14 },
            nt: 12,
            parameters: Parameters::Impedances,
            ..plain(ndim)
        };
        for (number, quantity) in quantities.into_iter().enumerate() {
            let case = Case {
                quantity,
                surface: number > 0,
                sponge: number == 2,
                ..plain.clone()
            };
            compare(open, &case, 2, &mut random);
        }
    }
    // Mechanisms alternate from plane to plane; the number of planes in the middle is even, then odd.
    for more in [14, 16] {
        let case = Case {
            more,
            nt: 16,
            mechanisms: Some(Mechanisms::Coarse),
            ..plain(2)
        };
        compare(open, &case, 2, &mut random);
    }
    // The first and the last device have only planes of the frame, where no waves run backwards.
    for surface in [false, true] {
        let case = Case {
            surface,
            sponge: true,
            frame: 16,
            nt: 20,
            ..plain(2)
        };
        compare(open, &case, 4, &mut random);
    }
}

/// A device whose waves are not finite stops the others with its error, and the next shot is not affected.
fn a_device_that_fails_stops_the_others<A: Accelerator>(open: OpenAll<A>) {
    let case = Case { more: 14, ..plain(2) };
    let plainly = shot(&case);
    let mut grown = plainly.clone();
    grown.series.iter_mut().flatten().for_each(|x| *x = f32::MAX);
    let [mut one, mut several] = [(); 2].map(|()| case.born::<f32>(&plainly, case.medium()));
    one.run_on(open(1)).expect("a device with memory");
    several.run_on(open(2)).expect("devices that can share the grid");
    let schedule = CheckpointSchedule::choose(case.nt, one.sizes(), usize::MAX / 4).expect("it fits");
    let data = vec![1.0; one.records() * one.values()];
    let expected = one.adjoint(&data, &schedule).expect("an adjoint");
    several.next_shot(&grown).expect("points in the grid");
    let why = several
        .adjoint(&data, &schedule)
        .expect_err("not finite")
        .to_string();
    assert!(why.contains("not finite at step"), "{why}");
    several.next_shot(&plainly).expect("points in the grid");
    let mut refuse = |_: &[f32]| Err(kernels::Error::setup("no residual today"));
    let why = several.gradient(&mut refuse, &schedule).expect_err("no residual");
    assert!(why.to_string().contains("no residual today"), "{why}");
    let adjoint = several.adjoint(&data, &schedule).expect("an adjoint");
    assert!(expected == adjoint);
}

/// Several shots side by side on devices that share each of them.
fn shared_shots_run_side_by_side<A: Accelerator>(open: OpenAll<A>) {
    let mut random = Random(2121);
    for ndim in [2, 3] {
        let case = Case {
            more: if ndim == 3 { 9 } else { 14 },
            nt: 16,
            ..plain(ndim)
        };
        let mut shots = [shot(&case), shot(&case)];
        shots[1].sources[0].point[ndim - 1] += 1.3;
        shots[1]
            .receivers
            .iter_mut()
            .for_each(|point| point[ndim - 1] -= 0.8);
        let [mut one, mut several] = [(); 2].map(|()| case.born::<f32>(&shots[0], case.medium()));
        one.run_on(open(1)).expect("a device with memory");
        several.run_on(open(2)).expect("devices that can share the grid");
        let values = one.records() * one.values();
        let data = [(); 2].map(|()| (0..values).map(|_| random.next() as f32).collect::<Vec<_>>());
        let schedule =
            CheckpointSchedule::choose(case.nt, one.sizes(), 4 * one.sizes()[0] + 4 * one.sizes()[1]);
        let schedule = schedule.expect("it fits");
        several.next_shots(&shots).expect("points in the grid");
        let adjoints = several.adjoints(&data, &schedule).expect("adjoints");
        for (shot, adjoint) in adjoints.iter().enumerate() {
            one.next_shot(&shots[shot]).expect("points in the grid");
            let expected = one.adjoint(&data[shot], &schedule).expect("an adjoint");
            assert!(
                expected.iter().any(|&x| x != 0.0) && expected == *adjoint,
                "shot {shot}, {ndim}-D"
            );
        }
    }
}

/// More devices than there are planes for, and lags that reach beyond the planes that devices exchange, are refused.
#[test]
fn what_devices_cannot_share_is_refused() {
    let case = plain(2);
    let mut born = case.born::<f32>(&shot(&case), case.medium());
    let why = born
        .plan_on(8, 1 << 40)
        .expect_err("too many devices")
        .to_string();
    assert!(
        why.contains("8 devices cannot share the") && why.contains("fewer devices"),
        "{why}"
    );
    if crate::devices::emulated::open("what_devices_cannot_share_is_refused").is_none() {
        return;
    }
    born.run_on(emulated::all(2))
        .expect("devices that can share the grid");
    let request = ImageRequest {
        kinds: vec![Kind::Pp],
        lags: vec![[0, 4, 0]],
    };
    let schedule = CheckpointSchedule::choose(case.nt, born.sizes_of_images(&request), usize::MAX / 4);
    let data = vec![1.0; born.records() * born.values()];
    let why = born.images(&data, &schedule.expect("it fits"), &request);
    let why = why.err().expect("a lag across the cut").to_string();
    assert!(
        why.contains("a lag of 4 cells") && why.contains("one GPU for a shot"),
        "{why}"
    );
}

macro_rules! shared_on {
    ($open:expr) => {
        on! { $open;
            shared_shots_have_the_bits_of_one_device
            a_device_that_fails_stops_the_others
            shared_shots_run_side_by_side
        }
    };
}

/// On emulated accelerators.
pub mod emulated {
    use super::{Arc, OpenAll, Random, plain};
    use crate::emulator::Emulator;

    pub fn all(count: usize) -> Vec<Arc<Emulator>> {
        (0..count)
            .map(|number| Arc::new(Emulator::new().numbered(number)))
            .collect()
    }

    fn open(test: &str) -> Option<OpenAll<Emulator>> {
        crate::devices::emulated::open(test).map(|_| all as OpenAll<Emulator>)
    }

    shared_on!(open);

    /// Devices whose streams run late.
    #[test]
    fn devices_in_any_order_give_the_same_bits() {
        if open("devices_in_any_order_give_the_same_bits").is_none() {
            return;
        }
        let late: [OpenAll<Emulator>; 2] = [
            |count| {
                (0..count)
                    .map(|k| Arc::new(Emulator::new().numbered(k).late(k as u64)))
                    .collect()
            },
            |count| {
                (0..count)
                    .map(|k| Arc::new(Emulator::new().numbered(k).late(7 - k as u64)))
                    .collect()
            },
        ];
        for open in late {
            for ndim in [2, 3] {
                let case = super::Case {
                    more: if ndim == 3 { 9 } else { 14 },
                    nt: 9,
                    ..plain(ndim)
                };
                super::compare(open, &case, 3, &mut Random(2122));
            }
        }
    }
}

/// Tests on the GPUs of this machine; a single GPU serves as several devices.
mod gpus {
    use super::{Arc, OpenAll};
    use crate::real;
    use kernels::device::gpu::Gpu;

    fn all(count: usize) -> Vec<Arc<Gpu>> {
        let there = real::gpus("shared_shots").max(1);
        let open = |k: usize| Arc::new(Gpu::open(k % there).expect("a device that was found opens"));
        (0..count).map(open).collect()
    }

    fn open(test: &str) -> Option<OpenAll<Gpu>> {
        (real::gpus(test) > 0).then_some(all as OpenAll<Gpu>)
    }

    shared_on!(open);
}
