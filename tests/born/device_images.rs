//! Images of all kinds on accelerators: they agree with images on processors, have the same bits for every amount of
//! memory and any order of blocks, and use as much memory as predicted.

use crate::bench::{Case, Random, plain, records};
use crate::devices::{Open, any, both};
use crate::emulator::Emulator;
use crate::shots::{largest, relative_difference};
use kernels::device::accelerator::Accelerator;
use kernels::medium::attenuation::Mechanisms;
use kernels::methods::velocity_stress::Quantity;
use kernels::methods::velocity_stress::born::{Born, CheckpointSchedule, ImageRequest, Kind, Picture};
use std::sync::Arc;

const KINDS: [Kind; 5] = [Kind::Pp, Kind::Ps, Kind::Sp, Kind::Ss, Kind::Energy];

/// Lags along every axis in both directions, one of them so large that only a small part of the grid remains.
fn lags(ndim: usize) -> Vec<[isize; 3]> {
    match ndim {
        3 => vec![[0; 3], [2, 0, 0], [-1, 1, 0], [0, -2, 1], [0, 0, -2], [4, 4, -4]],
        _ => vec![[0; 3], [2, 0, 0], [-1, 1, 0], [0, -3, 0], [8, 10, 0]],
    }
}

fn request(kinds: &[Kind], ndim: usize) -> ImageRequest {
    ImageRequest {
        kinds: kinds.to_vec(),
        lags: lags(ndim),
    }
}

/// A schedule with segments of `segment` steps and few checkpoints.
fn schedule(born: &Born<f32>, nt: usize, segment: usize, request: &ImageRequest) -> CheckpointSchedule {
    let [state, tape] = born.sizes_of_images(request);
    let memory = if segment < nt { 4 } else { 2 } * state + segment * tape;
    CheckpointSchedule::choose(nt, [state, tape], memory).expect("it fits")
}

/// Data as large as a perturbation's, with a random factor for every sample.
fn data(born: &Born<f32>, case: &Case, random: &mut Random) -> Vec<f32> {
    let model = case.perturbation(born, random);
    let [_, change] = records(born, Some(&model));
    change.iter().map(|x| x * (0.5 + random.next() as f32)).collect()
}

/// Compares images: the largest difference is small compared with the largest value.
fn compare(case: &Case, kinds: &[Kind], [a, b]: [&[Picture<f32>]; 2]) {
    assert_eq!((a.len(), b.len()), (kinds.len(), kinds.len()));
    for ((kind, a), b) in kinds.iter().zip(a).zip(b) {
        for (name, a, b) in [
            ("image", &a.image, &b.image),
            ("illumination", &a.light, &b.light),
        ] {
            let apart = relative_difference(b, a);
            println!("{}-D {kind:?} {name}: {apart:.1e}", case.ndim);
            assert!(apart <= 1e-5, "{kind:?} {name}: {apart:e} {case:?}");
        }
        // The image at every lag must be nonzero, so that lags along a wrong axis are found; only fluids have no S
        // waves.
        let cells = case.grid().cells();
        assert_eq!(a.image.len(), lags(case.ndim).len() * cells);
        let mut all = a.image.chunks(cells);
        assert!(
            case.fluid || all.all(|lag| largest(lag) > 0.0),
            "{kind:?} {case:?}"
        );
    }
}

fn agree<A: Accelerator>(open: Open<A>, case: &Case, kinds: &[Kind], random: &mut Random) {
    let [cpu, device] = both(open, case);
    let (data, request) = (data(&cpu, case, random), request(kinds, case.ndim));
    let [whole, pieces] = [(&cpu, case.nt), (&device, case.nt / 5)].map(|(born, segment)| {
        let schedule = schedule(born, case.nt, segment, &request);
        born.images(&data, &schedule, &request).expect("images")
    });
    compare(case, kinds, [&whole, &pieces]);
}

/// Every kind of image with every option of the program; images that separate P and S waves are made only in isotropic
/// media.
fn images_agree_with_the_processor<A: Accelerator>(open: Open<A>) {
    let mut random = Random(2114);
    for _ in 0..12 {
        let case = any(&mut random);
        let kinds = if case.anisotropic {
            &[Kind::Pp, Kind::Energy][..]
        } else {
            &KINDS
        };
        agree(open, &case, kinds, &mut random);
    }
}

/// The image of a kind has the same bits alone and together with others, so no kind depends on the data that another
/// keeps.
fn kinds_do_not_touch_each_other<A: Accelerator>(open: Open<A>) {
    for ndim in [2, 3] {
        let case = plain(ndim);
        let [cpu, device] = both(open, &case);
        let data = data(&cpu, &case, &mut Random(4));
        let images = |kinds: &[Kind]| {
            let request = request(kinds, ndim);
            let schedule = schedule(&device, case.nt, case.nt, &request);
            device.images(&data, &schedule, &request).expect("images")
        };
        let mut order = KINDS;
        order.reverse();
        let all = images(&order);
        for (kind, all) in order.iter().zip(&all) {
            let alone = images(&[*kind]);
            assert!(
                alone[0].image == all.image && alone[0].light == all.light,
                "{ndim}-D {kind:?}"
            );
        }
    }
}

/// Every amount of memory gives the same bits, including the illumination, and so does a second run after a gradient
/// and another shot.
fn images_take_any_memory<A: Accelerator>(open: Open<A>) {
    let case = Case {
        surface: true,
        mechanisms: Some(Mechanisms::Everywhere(2)),
        quantity: Quantity::Displacement,
        jdata: 2,
        ..plain(2)
    };
    let [cpu, mut device] = both(open, &case);
    let (data, request) = (data(&cpu, &case, &mut Random(8)), request(&KINDS, 2));
    let images = |born: &Born<f32>, segment: usize| {
        let schedule = schedule(born, case.nt, segment, &request);
        let pictures = born.images(&data, &schedule, &request).expect("images");
        let numbers = pictures.into_iter().map(|picture| (picture.image, picture.light));
        numbers.collect::<Vec<_>>()
    };
    let all = images(&device, case.nt);
    for segment in [case.nt / 4, 3, 1] {
        assert!(all == images(&device, segment), "segments of {segment} steps");
    }
    let plain = CheckpointSchedule::choose(case.nt, device.sizes(), usize::MAX / 4).expect("it fits");
    device.adjoint(&data, &plain).expect("the reverse sweep");
    let mut second = case.shot();
    second.sources[0].point[1] += 2.3;
    device.next_shot(&second).expect("points in the grid");
    assert!(all != images(&device, case.nt), "another shot has other images");
    device.next_shot(&case.shot()).expect("points in the grid");
    assert!(all == images(&device, case.nt / 3), "after another shot");
}

/// A few steps that use every kernel of images, for tools that watch each access.
fn every_kernel_of_images<A: Accelerator>(open: Open<A>) {
    for (ndim, surface) in [(2, true), (3, false), (3, true)] {
        let case = Case {
            order: 8,
            surface,
            nt: 24,
            depth: 1.0,
            ..plain(ndim)
        };
        agree(open, &case, &KINDS, &mut Random(6));
    }
}

/// A step keeps only the fields that its kinds need, and every lag takes one number per cell of the model.
#[test]
fn memory_is_predicted() {
    for ndim in [2, 3] {
        let case = plain(ndim);
        let mut born = case.born::<f32>(&case.shot(), case.medium());
        born.plan_on(1, 1 << 40).expect("room for what every run takes");
        let [state, tape] = born.sizes();
        let of = |kinds: &[Kind], lags: usize| ImageRequest {
            kinds: kinds.to_vec(),
            lags: vec![[0; 3]; lags],
        };
        let kept = |kinds: &[Kind]| {
            let [a, b] = born.sizes_of_images(&of(kinds, 1));
            assert_eq!(a, state);
            b - tape
        };
        let field = kept(&[Kind::Pp]);
        let stresses = if ndim == 3 { 6 } else { 3 };
        assert!(field >= size_of::<f32>() * case.grid().cells());
        assert_eq!(kept(&[Kind::Ss]), 0, "velocities are recorded anyway");
        assert_eq!(kept(&[Kind::Ps, Kind::Pp]), field);
        assert_eq!(kept(&[Kind::Sp]), ndim * field);
        assert_eq!(kept(&[Kind::Energy]), stresses * field);
        assert_eq!(kept(&KINDS), (1 + ndim + stresses) * field);
        let bytes = |lags: usize| born.device_bytes_of_images(&of(&KINDS, lags), 1);
        let numbers = KINDS.len() * case.grid().cells() + 3;
        assert_eq!(bytes(5000) - bytes(4000), 1000 * numbers * size_of::<f32>());
        let free = bytes(5000);
        born.plan_on(1, free).expect("room for what every run takes");
        assert_eq!(born.room_of_images(&of(&KINDS, 5000), 1).expect("room"), Some(0));
        let why = born
            .room_of_images(&of(&KINDS, 5001), 1)
            .expect_err("too little memory");
        assert!(why.to_string().contains("fewer images or lags"), "{why}");
    }
}

/// A device that has exactly the predicted memory can make images whose lags need more than half of it.
#[test]
fn predicted_memory_is_enough() {
    if !Emulator::ready() {
        return;
    }
    let case = Case { nt: 1, ..plain(3) };
    let request = ImageRequest {
        kinds: vec![Kind::Ss],
        lags: vec![[0; 3]; 54_000],
    };
    let mut born = case.born::<f32>(&case.shot(), case.medium());
    born.plan_on(1, 1 << 40).expect("room for what every run takes");
    let schedule = schedule(&born, case.nt, case.nt, &request);
    let predicted = born.device_bytes_of_images(&request, 1) + schedule.bytes(born.sizes_of_images(&request));
    let lags = 4 * request.lags.len() * case.grid().cells();
    assert!(lags > predicted / 2, "{lags} of the predicted {predicted} bytes");
    born.run_on(vec![Arc::new(Emulator::new().with_memory(predicted))])
        .expect("a device with memory");
    let data = vec![1.0; born.records() * born.values()];
    born.images(&data, &schedule, &request).expect("images");
}

macro_rules! images_on {
    ($open:expr) => {
        on! { $open;
            images_agree_with_the_processor
            kinds_do_not_touch_each_other
            images_take_any_memory
            every_kernel_of_images
        }
    };
}

/// On an emulated accelerator.
mod emulated {
    use super::{Arc, Case, Emulator, KINDS, Random, both, data, plain, request, schedule};
    use crate::devices::emulated::open;

    images_on!(open);

    #[test]
    fn images_with_blocks_and_threads_in_reverse_have_the_same_bits() {
        let Some(forth) = open("images_with_blocks_and_threads_in_reverse_have_the_same_bits") else {
            return;
        };
        let back = || Arc::new(Emulator::new().reversed());
        for ndim in [2, 3] {
            let case = Case {
                surface: true,
                depth: 1.0,
                ..plain(ndim)
            };
            let [a, b] = [forth, back].map(|open| {
                let [cpu, device] = both(open, &case);
                let (data, request) = (data(&cpu, &case, &mut Random(9)), request(&KINDS, ndim));
                let schedule = schedule(&device, case.nt, 5, &request);
                let pictures = device.images(&data, &schedule, &request).expect("images");
                let numbers = pictures.into_iter().map(|picture| (picture.image, picture.light));
                numbers.collect::<Vec<_>>()
            });
            assert!(a == b, "{ndim}-D");
        }
    }
}

/// On the first GPU of this machine.
mod gpus {
    use crate::devices::gpus::open;

    images_on!(open);
}
