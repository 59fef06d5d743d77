//! Threads: the work is distributed differently every time, but the results are the same.

use crate::cases::{World, difference, settings};

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    for (ndim, steps) in [(2, 40), (3, 20)] {
        let world = World::wide(ndim, steps);
        for setting in [settings()[0], settings()[3], settings()[11]] {
            let shot = world.shot(setting);
            let one = world.run(&shot, 1, &[]);
            for threads in [2, 3, 4] {
                let first_difference = difference(&one, &world.run(&shot, threads, &[]));
                assert!(
                    first_difference.is_none(),
                    "{ndim}-D {setting:?}, {threads} threads: {}",
                    first_difference.unwrap_or_default()
                );
            }
        }
    }
}

#[test]
fn threads_and_slabs_together_give_the_same_bits() {
    for (world, slabs) in [
        (World::plane(), vec![8, 31, 21]),
        (World::volume(), vec![8, 9, 10, 8, 17]),
    ] {
        for setting in settings() {
            let shot = world.shot(setting);
            let first_difference = difference(&world.run(&shot, 1, &[]), &world.run(&shot, 3, &slabs));
            assert!(
                first_difference.is_none(),
                "{setting:?}: {}",
                first_difference.unwrap_or_default()
            );
        }
    }
}

#[test]
fn a_run_may_be_repeated() {
    let world = World::volume();
    let shot = world.shot(settings()[2]);
    assert_eq!(
        difference(&world.run(&shot, 2, &[20, 32]), &world.run(&shot, 2, &[20, 32])),
        None
    );
}
