//! The report on a reverse sweep: the memory that it needs, and how far from rest the waves are after they have run
//! backwards.

use crate::bench::plain;
use crate::shots::magnitude;
use kernels::methods::velocity_stress::born::CheckpointSchedule;

/// In addition to its checkpoints and recorded steps, a reverse sweep stores the current fields and the beginning of
/// the run.
#[test]
fn memory_that_is_just_enough_is_taken_as_a_whole() {
    let (steps, sizes) = (60, [700, 90]);
    let [state, tape] = sizes;
    let all = 2 * state + steps * tape;
    let schedule = CheckpointSchedule::choose(steps, sizes, all).expect("it fits");
    assert_eq!((schedule.segments, schedule.extra(steps)), (1, 0));
    assert_eq!(schedule.bytes(sizes), all);
    let least = 2 * state + tape;
    let schedule = CheckpointSchedule::choose(steps, sizes, least).expect("it fits");
    assert_eq!((schedule.segment, schedule.bytes(sizes)), (1, least));
    assert!(CheckpointSchedule::choose(steps, sizes, least - 1).is_err());
    let checkpoint = CheckpointSchedule {
        checkpoints: 3,
        ..schedule
    };
    assert_eq!(checkpoint.bytes(sizes), least + 3 * state);
}

/// The largest drift of several shots is reported.
#[test]
fn the_largest_drift_of_several_shots_is_reported() {
    let case = plain(2);
    let first = case.shot();
    let mut born = case.born::<f32>(&first, case.medium());
    let data = vec![1.0f32; born.records() * born.values()];
    let sizes = born.sizes();
    let schedule = CheckpointSchedule::choose(case.nt, sizes, 2 * sizes[0] + case.nt * sizes[1])
        .expect("it fits")
        .with_boundary_saving();
    let mut reported = Vec::new();
    for shift in 0..6 {
        let mut shot = first.clone();
        shot.sources[0].point[1] += 0.3 * shift as f32;
        // This is the drift of the shot by itself.
        let lone = case.born::<f32>(&shot, case.medium());
        lone.adjoint(&data, &schedule).expect("the reverse sweep");
        born.next_shot(&shot).expect("points in the grid");
        born.adjoint(&data, &schedule).expect("the reverse sweep");
        reported.push([&lone, &born].map(|born| born.drift().expect("waves have run backwards")));
    }
    let lone = |k: usize| &reported[..=k];
    for (k, [_, drift]) in reported.iter().enumerate() {
        assert_eq!(
            *drift,
            magnitude(lone(k).iter().map(|[lone, _]| *lone)),
            "{reported:?}"
        );
    }
    // The largest drift is not simply the drift of the last shot.
    assert!(reported[5][0] < reported[5][1], "{reported:?}");
}
