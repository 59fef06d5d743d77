//! Linearised shots that run side by side on an accelerator: adjoints, gradients and images of each shot have the same
//! bits as in a separate run, whichever parts of the steps are kept and however many shots there are.

use crate::bench::{Case, Random, plain};
use crate::devices::{Open, any};
use kernels::device::accelerator::Accelerator;
use kernels::methods::velocity_stress::Shot;
use kernels::methods::velocity_stress::born::{Born, CheckpointSchedule, ImageRequest, Kind};

/// `count` shots of a case, each with other positions of sources and receivers.
fn shots(case: &Case, count: usize) -> Vec<Shot> {
    let moved = |number: usize| {
        let mut shot = case.shot();
        for source in &mut shot.sources {
            source.point[1] += 0.7 * number as f32;
        }
        for point in &mut shot.receivers {
            point[1] += 0.4 * number as f32;
        }
        // The time series have different lengths, too.
        let length = shot.nt - 3 * number;
        shot.series.iter_mut().for_each(|series| series.truncate(length));
        shot
    };
    (0..count).map(moved).collect()
}

/// The results of the shots by a schedule: adjoints, gradients and, if these have a schedule, images, in this order.
fn all(
    born: &Born<f32>,
    (schedule, of_images): (&CheckpointSchedule, Option<&CheckpointSchedule>),
    data: &[Vec<f32>],
) -> Vec<Vec<f32>> {
    let mut results = born.adjoints(data, schedule).expect("adjoints");
    let mut residuals = |records: Vec<Vec<f32>>| {
        let of = |(records, data): (Vec<f32>, &Vec<f32>)| {
            assert_eq!(records.len(), data.len());
            records.iter().zip(data).map(|(a, b)| a - 0.1 * b).collect()
        };
        Ok(records.into_iter().zip(data).map(of).collect())
    };
    results.extend(born.gradients(&mut residuals, schedule).expect("gradients"));
    let Some(of_images) = of_images else {
        return results;
    };
    let images = born
        .images_of_shots(data, of_images, &images())
        .expect("images of all shots");
    results.extend(images.into_iter().map(|pictures| {
        let parts = pictures
            .into_iter()
            .flat_map(|picture| [picture.image, picture.light]);
        parts.flatten().collect()
    }));
    results
}

fn images() -> ImageRequest {
    ImageRequest {
        kinds: vec![Kind::Pp, Kind::Ps, Kind::Sp, Kind::Ss, Kind::Energy],
        lags: vec![[0; 3], [0, 1, 0]],
    }
}

/// Two operators of a case on devices.
fn pair<A: Accelerator>(open: Open<A>, case: &Case) -> [Born<f32>; 2] {
    [(); 2].map(|()| {
        let mut born = case.born::<f32>(&case.shot(), case.medium());
        born.run_on(vec![open()]).expect("a device with memory");
        born
    })
}

/// Compares `count` shots side by side with the same shots one by one.
fn compare<A: Accelerator>(open: Open<A>, (case, count): (&Case, usize), random: &mut Random) {
    let [mut alone, mut company] = pair(open, case);
    let (shots, nt) = (shots(case, count), case.nt);
    let of = |sizes: [usize; 2], segment: usize| {
        let memory = if segment < nt { 4 } else { 2 } * sizes[0] + segment * sizes[1];
        CheckpointSchedule::choose(nt, sizes, memory).expect("it fits")
    };
    let mut schedules = vec![of(alone.sizes(), nt), of(alone.sizes(), nt / 5)];
    schedules[1].on_host = 1;
    if let Ok((sizes, _)) = alone.boundary_sizes() {
        schedules.push(of(sizes, nt / 3).with_boundary_saving());
    }
    let images = of(alone.sizes_of_images(&images()), nt / 4);
    let data = (0..count).map(|_| {
        let one = (0..alone.records() * alone.values()).map(|_| random.next() as f32);
        one.collect::<Vec<_>>()
    });
    let data: Vec<_> = data.collect();
    let mut one_by_one = |schedule: &CheckpointSchedule, of_images: Option<&CheckpointSchedule>| {
        let one = |(shot, data)| {
            alone.next_shot(shot).expect("points in the grid");
            all(&alone, (schedule, of_images), std::slice::from_ref(data))
        };
        shots.iter().zip(&data).map(one).collect::<Vec<_>>()
    };
    let first = one_by_one(&schedules[0], Some(&images));
    let by_boundaries = schedules.get(2).map(|schedule| one_by_one(schedule, None));
    for (number, schedule) in schedules.iter().enumerate() {
        // The number of whole steps that are kept does not change any bit, so that the single shots need only the first
        // schedule; images have another schedule.
        let expected = by_boundaries.as_ref().filter(|_| number == 2).unwrap_or(&first);
        let of_images = (number == 0).then_some(&images);
        company.next_shots(&shots).expect("points in the grid");
        let results = all(&company, (schedule, of_images), &data);
        let kinds = if number == 0 { 3 } else { 2 };
        assert_eq!(results.len(), kinds * count);
        for (shot, expected) in expected.iter().enumerate() {
            for (kind, expected) in expected[..kinds].iter().enumerate() {
                assert!(expected.iter().any(|&x| x != 0.0), "the result is zero: {case:?}");
                let result = &results[kind * count + shot];
                println!(
                    "shot {shot} result {kind}: {:e}",
                    crate::shots::relative_difference(expected, result)
                );
                assert!(
                    result == expected,
                    "shot {shot} of {count}, result {kind}, {schedule:?}: {case:?}"
                );
            }
        }
    }
    // Fewer shots follow the first ones, in the same memory but at other places in it.
    company.next_shots(&shots[1..]).expect("points in the grid");
    let results = all(&company, (&schedules[0], Some(&images)), &data[1..]);
    for (kind, expected) in first[1].iter().enumerate() {
        assert!(
            &results[kind * (count - 1)] == expected,
            "after others, result {kind}: {case:?}"
        );
    }
}

fn shots_side_by_side_have_the_bits_of_one<A: Accelerator>(open: Open<A>) {
    let mut random = Random(2119);
    for round in 0..3 {
        let mut case = any(&mut random);
        // Images of converted waves need an isotropic medium.
        case.anisotropic = false;
        case.nt = if case.ndim == 3 { 10 } else { 20 };
        compare(open, (&case, 2 + round % 3), &mut random);
    }
    // The grid is large enough for the kernels of the interior.
    for ndim in [2, 3] {
        let case = Case {
            more: 9,
            nt: 10,
            ..plain(ndim)
        };
        compare(open, (&case, 2), &mut random);
    }
}

/// A shot whose waves are not finite makes all shots that run with it fail, and does not affect the next shots.
fn a_shot_that_fails_leaves_nothing_behind<A: Accelerator>(open: Open<A>) {
    let case = plain(2);
    let [mut alone, mut company] = pair(open, &case);
    let mut shots = shots(&case, 3);
    let data = vec![vec![1.0; alone.records() * alone.values()]; 3];
    let schedule = CheckpointSchedule::choose(case.nt, alone.sizes(), usize::MAX / 4).expect("it fits");
    // The force is so large that the fields overflow in the cells where it acts.
    shots[1].series.iter_mut().flatten().for_each(|x| *x = f32::MAX);
    company.next_shots(&shots).expect("points in the grid");
    let why = company
        .adjoints(&data, &schedule)
        .expect_err("not finite")
        .to_string();
    assert!(why.contains("not finite at step"), "{why}");
    for shot in [0, 2] {
        alone.next_shot(&shots[shot]).expect("points in the grid");
        company.next_shot(&shots[shot]).expect("points in the grid");
        let [expected, computed] =
            [&alone, &company].map(|born| born.adjoint(&data[0], &schedule).expect("an adjoint"));
        assert!(expected == computed, "shot {shot}");
    }
}

/// Shots with different numbers of receivers cannot share launches, and processors run one shot at a time.
#[test]
fn company_that_cannot_be_is_refused() {
    let case = plain(2);
    let mut born = case.born::<f32>(&case.shot(), case.medium());
    let why = born
        .next_shots(&shots(&case, 2))
        .expect_err("two shots")
        .to_string();
    assert!(why.contains("2 shots") && why.contains("one at a time"), "{why}");
    let Some(open) = crate::devices::emulated::open("company_that_cannot_be_is_refused") else {
        return;
    };
    let [_, mut company] = pair(open, &case);
    let mut uneven = shots(&case, 2);
    uneven[1].receivers.pop();
    let why = company
        .next_shots(&uneven)
        .expect_err("other receivers")
        .to_string();
    assert!(why.contains("different lengths"), "{why}");
}

/// If a device has room for a reverse sweep but not for a run with a perturbation in addition, a message says so.
#[test]
fn a_perturbation_wants_room_for_two_runs() {
    let case = plain(3);
    let mut born = case.born::<f32>(&case.shot(), case.medium());
    let model = case.perturbation(&born, &mut Random(3));
    let free = born.device_bytes(1);
    born.plan_on(1, free).expect("room for what every run takes");
    let run = |born: &Born<f32>| born.forward(Some(&model), &mut |_, _, _| Ok(()));
    let why = run(&born).expect_err("too little memory").to_string();
    assert!(why.contains("a run with its scattered field needs"), "{why}");
    let [state, _] = born.sizes();
    born.plan_on(1, free + 4 * state).expect("room for more");
    run(&born).expect("room for both");
}

macro_rules! side_by_side_on {
    ($open:expr) => {
        on! { $open;
            shots_side_by_side_have_the_bits_of_one
            a_shot_that_fails_leaves_nothing_behind
        }
    };
}

/// On an emulated accelerator.
mod emulated {
    use crate::devices::emulated::open;

    side_by_side_on!(open);
}

/// On the first GPU of this machine.
mod gpus {
    use crate::devices::gpus::open;

    side_by_side_on!(open);
}
