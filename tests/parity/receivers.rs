//! Receivers compared with the snapshot of the same step: on cells, between cells, on cuts of slabs, at the nearest
//! cell.

use crate::cases::{World, settings};
use crate::shots::{Tape, largest_difference};

/// Component `c` of the field at padded plane `plane`, on the line of the receivers of a world, from a snapshot. The
/// line is between cells along `z` (weight 0.3) and on cells along the rows.
fn on_line(world: &World, snapshot: &[f32], c: usize, plane: usize) -> f64 {
    let p = &world.padded;
    let (z, row, rows) = match p.ndim() {
        2 => (p.nb + 9, 0, 1),
        _ => (p.nb + 5, p.nb + 4, p.n[1]),
    };
    let start = ((c * p.planes() + plane) * rows + row) * p.n[0];
    0.7 * f64::from(snapshot[start + z]) + 0.3 * f64::from(snapshot[start + z + 1])
}

/// The largest difference between receivers and `expect(field at a plane, number of the receiver)`, relative to the
/// peak.
fn worst(world: &World, tape: &Tape<f32>, expect: impl Fn(&dyn Fn(usize) -> f64, usize) -> f64) -> f64 {
    let count = world.receivers.len();
    let (mut recorded, mut expected) = (Vec::new(), Vec::new());
    for (it, snapshot) in tape.snapshots.iter().filter(|(it, _)| *it > 0) {
        for k in 0..world.padded.ndim() * count {
            let field = |plane: usize| on_line(world, snapshot, k / count, plane);
            recorded.push(tape.traces[*it][k]);
            expected.push(expect(&field, k % count));
        }
    }
    largest_difference(recorded, expected) / tape.peak()
}

/// Slabs whose cuts are at receivers (even numbers) and between two of them (odd numbers), including in the frame and
/// at the source.
fn cases() -> [(World, Vec<usize>); 2] {
    [
        (World::plane(), vec![8, 17, 12, 10, 13]),
        (World::volume(), vec![8, 9, 10, 8, 17]),
    ]
}

#[test]
fn receivers_at_cuts_read_both_slabs() {
    for (world, slabs) in cases() {
        let tape = world.run(&world.shot(settings()[0]), 1, &slabs);
        let halfway = |field: &dyn Fn(usize) -> f64, k: usize| 0.5 * (field(k / 2) + field(k.div_ceil(2)));
        let apart = worst(&world, &tape, halfway);
        println!(
            "{}-D interpolated receivers: {apart:.1e} of the maximum",
            world.padded.ndim()
        );
        assert!(apart < 1e-5, "{apart}");
    }
}

#[test]
fn the_nearest_cell_is_read_without_interpolation() {
    for (mut world, slabs) in cases() {
        // The receivers are a tenth of a cell beyond the middle, so that the upper plane is the nearest one.
        let axis = world.padded.ndim() - 1;
        let d = world.padded.d()[axis];
        world.receivers.iter_mut().for_each(|r| r[axis] += 0.1 * d);
        world.receivers.pop();
        let mut shot = world.shot(settings()[1]);
        shot.interpolate = false;
        let tape = world.run(&shot, 1, &slabs);
        let p = &world.padded;
        for (it, snapshot) in tape.snapshots.iter().filter(|(it, _)| *it > 0) {
            for (k, &got) in tape.traces[*it].iter().enumerate() {
                let (c, plane) = (k / world.receivers.len(), (k % world.receivers.len()).div_ceil(2));
                let at = match axis {
                    1 => (c * p.planes() + plane) * p.n[0] + p.nb + 9,
                    _ => ((c * p.planes() + plane) * p.n[1] + p.nb + 4) * p.n[0] + p.nb + 5,
                };
                assert_eq!(
                    got.to_bits(),
                    snapshot[at].to_bits(),
                    "component {c}, plane {plane}, step {it}"
                );
            }
        }
    }
}

#[test]
fn every_jdata_th_step_is_recorded_from_step_zero_on() {
    let world = World::plane();
    let mut shot = world.shot(settings()[0]);
    let all = world.run(&shot, 1, &[]);
    shot.jdata = 7;
    let some = world.run(&shot, 1, &[30, 30]);
    assert_eq!(some.steps, (0..90).step_by(7).collect::<Vec<_>>());
    assert!(
        some.steps
            .iter()
            .zip(&some.traces)
            .all(|(&it, record)| *record == all.traces[it])
    );
    assert_eq!(
        some.snapshots.iter().map(|s| s.0).collect::<Vec<_>>(),
        (0..90).step_by(19).collect::<Vec<_>>()
    );
}
